/*
 * The library that `belfry exec` loads into a program: it stands between the program and the C library where a program
 * touches an RDMA device, and hands that to the engine.
 *
 *   paths.c     names below /sys and /dev that belong to our devices lead to the folders that the command made
 *   device.c    open, ioctl, write, mmap, close of a device file; descriptors that are copies of it
 *   files.c     which descriptors are device files
 *   interface.c what sockets and names tell of the devices' network interfaces
 *   signals.c   faults at doorbells come here first, the program's handlers get the rest
 *   symbols.c   what the CUDA driver is told about doorbell pages, and asked for DMA-BUFs (dmabufs.c)
 *   process.c   start at the first open, fork, exit, and children that are to have this library as well
 *
 * What a program calls may be called by any thread at any time: in signal handlers, between vfork() and exec, and by
 * other libraries' constructors before ours ran. So nothing here allocates or takes a lock outside the first open, and
 * errno is what the call itself says.
 */
#ifndef BELFRY_TOOLS_EXEC_EXEC_INTERNAL_H
#define BELFRY_TOOLS_EXEC_EXEC_INTERNAL_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tools/exec/engine.h"
#include "tools/exec/identity.h"
#include "tools/exec/tree.h"

/* ---- process.c ---- */

/* The engine of this process, started if it is not yet. NULL: it cannot be, errno says why. */
struct bf_engine *bf_exec_engine(void);
/* The engine, if it is of this very process and not of one that shares its memory or was forked from it; or NULL. */
struct bf_engine *bf_exec_running(void);
/* What is there, for a look that costs nothing: bf_exec_running() says whether it is this process's. */
struct bf_engine *bf_exec_maybe_running(void);

/* The way out: the trace gets its end. Once. */
void bf_exec_stop(void);

/* Leaves a note for the command, which looks when all is over. */
void bf_exec_note(const char *name);

/* ---- paths.c ---- */

/* The folder; empty until the constructor ran or when the environment names none. */
const char *bf_exec_dir(void);
void bf_exec_set_dir(const char *dir);
/* Where `path` leads: itself, or into the folder, in `buf`. */
const char *bf_exec_path(const char *path, char buf[PATH_MAX]);
/* The number of the device that a path which bf_exec_path() gave is the file of, BF_EXEC_MANAGER, or -1. */
#define BF_EXEC_MANAGER 1000
int bf_exec_device_of(const char *path);

/* ---- files.c ---- */

/* A device file as opened; its copies share it. */
struct bf_exec_file {
	atomic_bool taken;
	atomic_uint refs; /* descriptors, and calls that are under way */
	struct bf_engine *engine;
	struct bf_uverbs_file *file;    /* of a device; NULL: */
	struct bf_rdmacm_file *manager; /* of the connection manager */
	int events;                     /* the latter's, to wait at: the program may close its own meanwhile */
	dev_t dev;                      /* what the descriptor really is */
	ino_t ino;
};

/* Makes `fd` a descriptor of a file of either kind. Returns 0, -EMFILE or -ENFILE. */
int bf_exec_files_add(int fd, struct bf_engine *e, struct bf_uverbs_file *file, struct bf_rdmacm_file *manager);
/* The file that `fd` is of, to be given back with bf_exec_files_put(); NULL for every other descriptor. */
struct bf_exec_file *bf_exec_files_get(int fd);
void bf_exec_files_put(struct bf_exec_file *f);
/* True when a descriptor may be one: a look that costs nothing. */
bool bf_exec_files_maybe(int fd);
/* `to` is a copy of `from` (which may be no device file). */
void bf_exec_files_copy(int from, int to);
/* `fd`, or all from `first` to `last`, are about to be closed. */
void bf_exec_files_forget(int fd);
void bf_exec_files_forget_range(unsigned first, unsigned last);

/* ---- interface.c ---- */

/* True when a socket's request is about an interface of ours: `*rc` is 0 or a negative errno. */
bool bf_exec_interface_ioctl(unsigned long what, void *arg, int *rc);
/* True when `index` is one of ours: its name. */
bool bf_exec_interface_name(unsigned index, char name[BF_EXEC_INTERFACE_ROOM]);

/* ---- signals.c ---- */

/* Ours are first from now on. */
void bf_exec_signals_start(void);

#endif
