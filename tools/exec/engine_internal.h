/*
 * Inside the engine: the world, the lock, the pages that doorbells are stored to.
 *
 * A thread of the program comes in by bf_engine_call() (engine.c), does its work and leaves by bf_engine_return(),
 * which runs the model until nothing is due. Its stores to doorbell pages come in by trap.c.
 */
#ifndef BELFRY_TOOLS_EXEC_ENGINE_INTERNAL_H
#define BELFRY_TOOLS_EXEC_ENGINE_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <ucontext.h>

#include "models/fabric/outside.h"
#include "sim/coro.h"
#include "sim/fault.h"
#include "tools/exec/channels.h"
#include "tools/exec/engine.h"
#include "tools/exec/gpu.h"
#include "tools/exec/identity.h"
#include "tools/exec/trap_patch.h"
#include "tools/exec/trap_store.h"
#include "traces/container/keep.h"

#define BF_EXEC_IDLE_US 20u

/* What the environment asks for. Texts are the environment's own. */
struct bf_engine_opts {
	enum bf_exec_doorbells doorbells;
	bool infiniband; /* the link of all ports; otherwise Ethernet */
	bool blueflame, no_ioctl, no_patch, stats;
	const char *faults, *network;
	char trace[PATH_MAX]; /* empty: none */
	uint64_t seed;
	uint32_t udp_ipv4;
	uint16_t udp_port;
	uint64_t udp_mbits;
	uint32_t devices;
	uint32_t idle_us;
	uint32_t gpus; /* that run PTX, and what they are */
	const struct bf_exec_gpu_profile *gpu;
	enum bf_ordering ordering;
};

/* engine_env.c. 0 or -EINVAL, `why` says which variable and what may be there. */
int bf_engine_env(struct bf_engine_opts *opts, char *why, size_t cap);

/* A page of a device as a program sees it. */
struct bf_engine_page {
	uintptr_t at;
	struct bf_region *region;
	const struct bf_uverbs_file *file; /* whose mmap it was */
};

/* A store to a page that came while this thread was inside the model. */
struct bf_engine_late {
	struct bf_region *region;
	uint64_t offset, ip;
	uint32_t len;
	uint8_t data[BF_STORE_MAX];
};
#define BF_ENGINE_LATE 64u

/* The instruction that runs with its page open, under the lock. */
struct bf_engine_step {
	uintptr_t at; /* the page; 0: none */
	struct bf_region *region;
	uint64_t fault, ip, mask; /* where it faulted; where it is; the thread's signals before */
	bool write;
};

/*
 * What a thread of the program's does on its way when it polls (engine_glance.c). Threads race for these fields, of
 * which each only says when to look.
 */
#define BF_ENGINE_HOT 4u
struct bf_engine_glance {
	uint64_t *cell[BF_ENGINE_HOT]; /* doorbell cells that rang lately; NULL: none */
	uint64_t seen[BF_ENGINE_HOT];  /* what was in them at the last glance */
	uint32_t next;
	uint32_t count;       /* glances so far */
	uint32_t inside;      /* threads that look without the lock */
	uint64_t eighth_ns;   /* the clock at a glance, now and then */
	uint64_t said_ns;     /* when a program last looked again and again, or was about to */
	uint64_t distrust_ns; /* until then nothing is promised */
	int cpu;              /* where it looked; -1: nowhere */
	uint32_t patience;    /* glances at which a ring was new */
	bool answered;        /* a glance has taken frames since it last asked for an event */
	bool promised;        /* senders have been told that it looks */
	bool guarded;         /* the engine's thread looks after a program that glances */
	uint32_t quiet;       /* glances in a row at which nothing had rung */
	bool left;            /* poll mode: a ring was left for a later glance since the engine's thread last planned */
	bool relied;          /* poll mode: the engine's thread sleeps for long, since glances take all rings */
	uint64_t whole_ns;    /* poll mode: when a glance last led to a look at all pages */
};

struct bf_engine_counts {
	uint64_t stores, bytes, loads, steps, late, lost; /* accesses to pages in trap mode */
	uint64_t patches;                                 /* instructions that got a jump */
	uint64_t rings;                                   /* pages found rung, in poll mode */
	uint64_t glances;                                 /* at which a thread of the program's found something */
	uint64_t missing;       /* pages that the program took away and the model still used */
	uint64_t turns, sleeps; /* of the engine's thread */
};

#define BF_EXEC_MEMIC (128u << 10) /* bytes of device memory: what ibv_devinfo -v tells of a ConnectX-7 */
struct bf_engine_device {
	struct bf_mlx5 *nic;
	void *memic; /* shared, so that programs can map it once more */
	struct bf_uverbs *uverbs;
	struct bf_exec_identity id;
};

struct bf_engine {
	/* The lock: 0 free, 1 held, 2 held and somebody sleeps for it. `owner` is the holder's pthread_self(). */
	uint32_t lock;
	uint32_t wanted; /* threads of the program that wait for it: the engine's own lets them go first */
	uintptr_t owner;
	bool dead;    /* after fork, or after the end: nothing is there any more */
	bool stop;    /* the engine's thread ends */
	bool running; /* there is one */
	pid_t pid;

	struct bf_engine_opts opts;
	struct bf_sim *sim;
	struct bf_space memory, bars; /* the program's addresses; the devices' */
	struct bf_region *program;    /* all of the former */
	struct bf_space gpus;         /* those of the former at which there is memory of GPUs */
	struct bf_cuda *cuda;         /* NULL: the program has shown none yet */
	struct bf_engine_ptx *ptx;    /* GPUs of ours; NULL: nobody has wanted them yet */
	uint32_t drivers;             /* threads that wait for kernels, and run them */
	struct bf_ioas ioas;
	bool has_memory, has_bars, has_gpus, has_ioas;
	struct bf_fabric *fabric;
	struct bf_outside *outside;
	struct bf_channels *channels;
	struct bf_rdmacm *cm; /* NULL: nobody has wanted it yet */
	struct bf_engine_device device[BF_EXEC_DEVICES_MAX];
	struct bf_fault_plan *faults;
	struct bf_trace_writer *trace;
	struct bf_trace_keeper keeper;
	struct bf_error trace_error;
	uint32_t actor;

	uint64_t origin_ns;     /* clock when the simulation began */
	uint64_t epoch_ns;      /* and the time of day */
	uint64_t thread_due_ps; /* when the engine's thread looks next by itself; 0: it is awake */
	pthread_t thread;

	struct bf_engine_page *pages; /* sorted by address */
	uint32_t npages, pages_cap, last_page;

	struct bf_store_cpu cpu;
	struct bf_coro *aside; /* a stack, for handlers that run on a small one */
	struct bf_engine_step step;
	struct bf_engine_glance glance;
	struct bf_engine_late late[BF_ENGINE_LATE];
	uint32_t nlate;
	struct bf_engine_counts count;
};

/* engine_world.c: sim, memory, devices, network, trace. Open leaves what it made to close, which takes what is there.
 */
int bf_engine_world_open(struct bf_engine *e, char *why, size_t cap);
void bf_engine_world_close(struct bf_engine *e);

/* The simulated time that the clock shows. */
uint64_t bf_engine_now_ps(const struct bf_engine *e);

/*
 * engine.c: the lock, with the clock set and what was due done. Enter returns false, without the lock, when the engine
 * is dead. Leave carries out late stores, runs what is due, sends what goes outside and wakes the engine's thread if it
 * must look sooner.
 */
bool bf_engine_enter(struct bf_engine *e);
/* Its two halves. The clock goes on in the second, and what has become due since happens at its time. */
bool bf_engine_lock(struct bf_engine *e);
void bf_engine_catch_up(struct bf_engine *e);
void bf_engine_leave(struct bf_engine *e);
/* When the engine's thread has to look by itself, as things stand. Under the lock. */
uint64_t bf_engine_next_look(struct bf_engine *e);
/* The same without doorbells that nobody tells of. */
uint64_t bf_engine_next_due(struct bf_engine *e);
/* Threads that wait for kernels do the engine's thread's work. */
bool bf_engine_driven(const struct bf_engine *e);
/* Lets go without running anything. */
void bf_engine_unlock(struct bf_engine *e);
/* Fires what is due, with the clock as it was set on entering. Under the lock. */
void bf_engine_run(struct bf_engine *e);
/* The same for calls from the program, whose signals wait meanwhile. */
struct bf_engine_caller {
	sigset_t before;
	int cancel; /* a thread that is cancelled must not end with the lock */
};
void bf_engine_block(struct bf_engine_caller *c);
void bf_engine_unblock(const struct bf_engine_caller *c);
bool bf_engine_call(struct bf_engine *e, struct bf_engine_caller *c);
void bf_engine_return(struct bf_engine *e, const struct bf_engine_caller *c);
/* Is this thread inside? */
static inline bool bf_engine_inside(const struct bf_engine *e)
{
	return __atomic_load_n(&e->owner, __ATOMIC_RELAXED) == (uintptr_t)pthread_self();
}

/* engine_thread.c. 0 or -errno. */
int bf_engine_thread_start(struct bf_engine *e);
void bf_engine_thread_stop(struct bf_engine *e);

/* engine_pages.c: the page that holds `address`, or NULL; under the lock or inside. */
const struct bf_engine_page *bf_engine_page_find(struct bf_engine *e, uintptr_t address);
/* Forgets the pages of a file that is about to be closed. */
void bf_engine_pages_forget(struct bf_engine *e, const struct bf_uverbs_file *file);
/* Takes what is in the doorbell cells of all pages; on how many one had rung. */
uint32_t bf_engine_pages_poll(struct bf_engine *e);

/*
 * engine_gpu.c: makes [first, end), whole pages, reachable when all of it is memory of GPUs. 0, -EFAULT when it is not,
 * or -ENOMEM.
 */
int bf_engine_gpu_pin(struct bf_engine *e, uint64_t first, uint64_t end);
/* The program has ordinary memory there now. */
void bf_engine_gpu_forget(struct bf_engine *e, uint64_t first, uint64_t end);

/* engine_ptx.c: the calls of gpu.h, and what is due up to `until_ps`, a piece at a time. */
int bf_engine_ptx_give(struct bf_engine *e, void *at, uint64_t size, enum bf_exec_gpu_memory kind);
int bf_engine_ptx_give_doorbell(struct bf_engine *e, void *at, uint64_t size);
void bf_engine_ptx_take(struct bf_engine *e, void *at);
bool bf_engine_ptx_has(struct bf_engine *e, uint64_t first, uint64_t end); /* all of it is memory of these GPUs */
int bf_engine_ptx_load(struct bf_engine *e, uint32_t device, const struct bf_ptx_source *sources, uint32_t count,
		       struct bf_ptx_library **out, char *why, size_t cap);
int bf_engine_ptx_launch(struct bf_engine *e, uint32_t device, struct bf_ptx_library *lib,
			 const struct bf_ptx_launch *launch, char *why, size_t cap);
int bf_engine_ptx_unload(struct bf_engine *e, uint32_t device, struct bf_ptx_library *lib);
void bf_engine_ptx_renew(struct bf_engine *e, struct bf_ptx_library *lib);
int bf_engine_ptx_limits(struct bf_engine *e, uint32_t device, uint64_t heap, uint32_t stack);
const struct bf_ptx_fault *bf_engine_ptx_fault(struct bf_engine *e, uint32_t device);
void bf_engine_ptx_wait(struct bf_engine *e, const uint32_t *word, uint32_t value, uint64_t most_ns);
size_t bf_engine_ptx_printed(struct bf_engine *e, char *to, size_t cap);
void bf_engine_ptx_run(struct bf_engine *e, uint64_t until_ps);
void bf_engine_ptx_close(struct bf_engine *e);

/* engine_glance.c: a cell has rung. */
void bf_engine_glance_note(struct bf_engine *e, uint64_t *cell);
/*
 * A thread of the program has stored to `offset` of a doorbell page. Under the lock, by the clock on entering, as all
 * below.
 */
void bf_engine_glance_rings(struct bf_engine *e, uint64_t offset);
/* The engine's thread has found frames: should a glance have? */
void bf_engine_glance_late(struct bf_engine *e);
/* Does a program look by itself? */
bool bf_engine_glance_goes_on(const struct bf_engine *e);
/*
 * Poll mode, before the engine's thread sleeps: may it sleep for long? From then until it says that it is awake, it is
 * woken when a glance leaves a ring for later.
 */
bool bf_engine_glance_rely(struct bf_engine *e);
void bf_engine_glance_awake(struct bf_engine *e);
/* Senders are to wake the engine's thread again. Without the lock, too. */
void bf_engine_glance_end_promise(struct bf_engine *e);
/* The engine has been declared dead: until nobody looks at it any more. */
void bf_engine_glance_end(struct bf_engine *e);

/* engine_cm.c: the connection manager's end, while peers can still be told. */
void bf_engine_cm_end(struct bf_engine *e);

/* engine_host.c: what models/uverbs asks of its surroundings. */
void bf_engine_host_init(struct bf_engine *e, struct bf_uverbs_host *host);

/*
 * trap.c: the store of a patched instruction, with the thread's registers in `context`. True: it was for a doorbell
 * page and has been carried out. What the interrupted code may do while a fault is handled, it may do here.
 */
bool bf_engine_stored(struct bf_engine *e, const struct bf_patch *p, ucontext_t *context);

/* trap.c: a store arrives at the device, under the lock. `ip` is where in the program it was. */
void bf_engine_deliver(struct bf_engine *e, struct bf_region *region, uint64_t offset, const void *data, uint32_t len,
		       uint64_t ip);

#endif
