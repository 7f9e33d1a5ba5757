/*
 * The engine of `belfry exec`: the ConnectX model and the kernel's half of it inside a foreign program, on the wall
 * clock.
 *
 * One lock guards the simulation. A thread of the program enters for an ioctl or a doorbell (trap mode: from the fault
 * handler, at the store itself) and runs the model until nothing is due; a thread of the engine's own looks after
 * timers, packets from other processes and, in poll mode, doorbell cells. Times are those of the monotonic clock.
 *
 *   doorbells   trap: UAR pages are inaccessible, each store faults, is decoded and handed over exactly and in order.
 *               An instruction that rings often is replaced by a jump to the engine, with the same effect.
 *               poll: UAR pages are memory, the engine's thread takes what is not zero. Stores of GPUs and vector
 *                     stores work; rings between two looks become one.
 *               direct: the program calls belfry_exec_ring() after its store (our own drivers).
 *
 * Memory: the whole address space of the program is one region whose simulated addresses are the addresses themselves.
 */
#ifndef BELFRY_TOOLS_EXEC_ENGINE_H
#define BELFRY_TOOLS_EXEC_ENGINE_H

#include <signal.h>

#include "models/mlx5/mlx5.h"
#include "models/rdmacm/rdmacm.h"
#include "models/uverbs/mlx5/mlx5_ib.h"
#include "models/uverbs/uverbs.h"

enum bf_exec_doorbells { BF_EXEC_TRAP, BF_EXEC_POLL, BF_EXEC_DIRECT };

/* How `belfry exec` tells the library inside the program what to do: environment variables. */
#define BF_EXEC_ENV_DOORBELLS "BELFRY_EXEC_DOORBELLS" /* trap (default), poll, direct */
#define BF_EXEC_ENV_BLUEFLAME "BELFRY_EXEC_BLUEFLAME" /* 1: BlueFlame registers are offered */
#define BF_EXEC_ENV_NO_PATCH "BELFRY_EXEC_NO_PATCH"   /* 1: trap mode leaves the program's code as it is */
#define BF_EXEC_ENV_TRACE "BELFRY_EXEC_TRACE"         /* trace file; "%p" in it becomes the process id */
#define BF_EXEC_ENV_FAULTS "BELFRY_EXEC_FAULTS"       /* fault plan, as --faults of run */
#define BF_EXEC_ENV_SEED "BELFRY_EXEC_SEED"
#define BF_EXEC_ENV_NET "BELFRY_EXEC_NET"           /* name of the network that processes of this machine share */
#define BF_EXEC_ENV_UDP "BELFRY_EXEC_UDP"           /* ADDRESS[:PORT]: RoCEv2 over UDP from that local address */
#define BF_EXEC_ENV_UDP_RATE "BELFRY_EXEC_UDP_RATE" /* Mb/s to each address by UDP; 0 or none: no limit */
#define BF_EXEC_ENV_DEVICES "BELFRY_EXEC_DEVICES"   /* number of devices, mlx5_0 and up; default 1 */
#define BF_EXEC_ENV_SYSFS "SYSFS_PATH"              /* libibverbs' own: where the generated tree lies */
#define BF_EXEC_ENV_LINK "BELFRY_EXEC_LINK"         /* "ib": ports of InfiniBand */
#define BF_EXEC_ENV_ABI "BELFRY_EXEC_ABI"           /* "write": every ioctl answers ENOTTY */
#define BF_EXEC_ENV_STATS "BELFRY_EXEC_STATS"       /* 1: counters on standard error at the end */
#define BF_EXEC_ENV_IDLE "BELFRY_EXEC_IDLE_US"      /* poll mode: how long the thread sleeps after an idle look */

struct bf_engine; /* opaque; one a process */

/* Reads the environment and builds the world. 0 or a negative errno, `why` gets the text. */
int bf_engine_start(struct bf_engine **out, char *why, size_t cap);
/* At exit: ends the thread, closes what is open, writes the trace's end and the statistics. */
void bf_engine_stop(struct bf_engine *e);
/* In the handler of a signal that is about to end the process, wherever it came: writes the trace's end. */
void bf_engine_rescue(struct bf_engine *e);

uint32_t bf_engine_devices(const struct bf_engine *e);

/* Doorbells `direct`: the program says that it has stored to its doorbell pages. */
void bf_engine_ring(struct bf_engine *e);

/*
 * A thread of the program is about to look again for what it waits for: it takes rings and frames along that are there,
 * which saves a way through the engine's thread. Costs next to nothing when there are none.
 */
void bf_engine_glance(struct bf_engine *e);

/*
 * A file of device `index`. All of these take the lock, run the model until nothing is due, and give the lock back.
 * Errors as of bf_uverbs_*.
 */
int bf_engine_open(struct bf_engine *e, uint32_t index, struct bf_uverbs_file **out);
void bf_engine_close(struct bf_engine *e, struct bf_uverbs_file *f);
int bf_engine_ioctl(struct bf_engine *e, struct bf_uverbs_file *f, uint64_t request, uint64_t arg);
int64_t bf_engine_write(struct bf_engine *e, struct bf_uverbs_file *f, uint64_t address, uint64_t len);

/*
 * A file of the connection manager, whose descriptor is `*fd`: -EAGAIN from a write asks to wait until that is
 * readable, unless the program wants no waiting.
 */
int bf_engine_cm_open(struct bf_engine *e, struct bf_rdmacm_file **out, int *fd);
void bf_engine_cm_close(struct bf_engine *e, struct bf_rdmacm_file *f);
int64_t bf_engine_cm_write(struct bf_engine *e, struct bf_rdmacm_file *f, uint64_t address, uint64_t len);

/*
 * mmap of a UAR page: returns where the program sees it (inaccessible in trap mode, memory otherwise), or of a page to
 * read; or MAP_FAILED
 * with errno. `hint` and `flags` as mmap got them. The program may munmap it as any mapping.
 */
void *bf_engine_mmap(struct bf_engine *e, struct bf_uverbs_file *f, void *hint, size_t len, int prot, int flags,
		     uint64_t offset);

/* Is this in a doorbell page that the program has mapped? */
bool bf_engine_has_page(struct bf_engine *e, const void *address);

/*
 * A SIGSEGV, SIGBUS or SIGTRAP (`e` may be NULL: no engine): true when it was a store (or load) of the program's to a
 * doorbell page, which has been carried out, or a fault of the model's own on memory that the program took away; the
 * thread goes on. False: it is the program's own, for its handler. Async-signal-safe as far as the engine needs: see
 * trap.c.
 */
bool bf_engine_fault(struct bf_engine *e, int signal, siginfo_t *info, void *context);

/* After fork() in the child: devices are dead there (every call answers -EIO), nothing is shared any more. */
void bf_engine_forked(struct bf_engine *e);

#endif
