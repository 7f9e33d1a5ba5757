/*
 * Backends: who provides the device.
 *
 * A world is N processing elements (PEs), each with memory, devices and threads that run driver code. The same driver
 * objects work in every backend: they see memory, registers and, of a NIC, a command channel and doorbell pages. A
 * backend that this machine lacks says what is missing and how to get it.
 *
 *   sim   models in virtual time; PE threads are agents (deterministic)
 *   live  models on the wall clock; PE threads are real threads
 *
 * The others (bf_backends()) drive real devices, with real threads.
 *
 * One thread calls these functions; kernels run where the backend runs them. While a grid runs, its threads on the CPU
 * may call command(), map_uar(), alloc() and port_up(): in virtual time these take none, so such a thread pauses for
 * what the command would have cost, and that also brings the simulation to its time.
 */
#ifndef BELFRY_DRIVERS_BACKEND_BACKEND_H
#define BELFRY_DRIVERS_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/backend/devices.h"
#include "drivers/platform/platform.h"
#include "sim/compiler.h"
#include "sim/error.h"
#include "sim/record.h"
#include "sim/view.h"

BF_API_BEGIN

struct bf_world;
struct bf_boot;
struct bf_fault_plan;
struct bf_image;
struct bf_gpu_profile;
struct bf_ptx_launch;
struct bf_ptx_library;
struct bf_ptx_source;

/* Where a device stands: in one PE of a modelled world. */
struct bf_device_place {
	struct bf_sim *sim;
	struct bf_space *space; /* for the region of its registers */
	struct bf_ioas *ioas;   /* which its DMA goes through: has all memory of the PE, at the addresses of that */
	uint32_t pe;
};

/* A model that a program brings along (docs/adding-a-device.md). */
struct bf_device_model {
	/* One for a PE. 0 with `*out`, which close() frees; or a negative errno, with a text in sim->error. */
	int (*open)(const struct bf_device_place *at, const void *opts, void **out);
	void (*close)(void *device);
	/* Where its queues stand that have work left, a line each, for the report of a run that hangs; may be NULL. */
	void (*describe)(const void *device, char *buf, size_t cap);
};

struct bf_world_opts {
	uint64_t seed;
	enum bf_ordering ordering;  /* sim only; live runs on the real machine's */
	struct bf_chooser *chooser; /* sim only: who answers choices (sim/choice.h); NULL: the seed. Borrowed. */
	struct bf_stacks
	    *stacks;        /* sim only: what threads run on, from world to world (sim/coro.h); or NULL. Borrowed */
	const char *faults; /* fault plan text or NULL; borrowed during open */
	uint32_t devices;   /* BF_DEVICE_* of each PE; 0: BF_DEVICE_DEFAULT, or `model` alone */
	const void *device_opts[BF_DEVICE_KINDS]; /* of each kind, as devices.h says; NULL: the defaults */
	const struct bf_gpu_profile *gpu;         /* NULL: the default */
	uint32_t npes;                            /* 1..4096; live: 1..64 */
	uint32_t nics;                            /* of each PE, each on a PCIe link of its own; 0: 1, at most 8 */
	uint32_t ports;                           /* of each NIC; 0: 1, at most 2 */
	const char *topology;                     /* models/fabric/topology.h; NULL: one ideal switch */
	/*
	 * sim only: the processes that share the simulation (drivers/bootstrap/bootstrap.h), each with an equal run of
	 * the PEs in order. NULL: all PEs are here. Calls for a PE of another process fail with -EREMOTE. Borrowed.
	 */
	struct bf_boot *ranks;
	/*
	 * Lanes that run of each warp of a GPU, the lowest; 0: all 32. A lane is an agent with a stack: a world of
	 * thousands of PEs whose kernels work with one lane (per_lane in drivers/ibgda/kernels.h) has only that one.
	 */
	uint32_t lanes;
	uint64_t limit_ps;    /* virtual time limit; live: wall-clock limit in the same unit */
	uint32_t record_mask; /* BF_CLASS_*; 0 = off */
	struct bf_sink *sink; /* borrowed; may be NULL with a mask: hash only */
	bool pe_hashes;       /* sim only: keep bf_backend.pe_hashes */
	bool system_scope;    /* rings and records in host memory: fences of system scope */
	bool cuda;            /* live, and real NICs: a real NVIDIA GPU runs the grids of the GPU */
	/*
	 * vfio: which controller, "0000:01:00.0", and by which interface, "0000:01:00.0,group" or ",cdev"; NULL: the
	 * first at vfio-pci. Its medium stays as it is; device_opts, ordering and records are ignored.
	 */
	const char *device;
	/* sim: one more device of each PE, of a model that comes with the program; bf_backend.model() gives it. */
	const struct bf_device_model *model;
	const void *model_opts; /* for model->open() */
	/*
	 * sim: the file with the drivers' device code as PTX (drivers/backend/ptx_agent.cu, compiled by nvcc), which
	 * the grids of GPUs then run, in place of the same code compiled as C. NULL: they do not. Borrowed during open.
	 */
	const char *ptx;
	/*
	 * sim: devices that read bytes which no record tells of are recorded (bf_space_know() in sim/mem.h), of what is
	 * written while run() runs. What host code writes before or between runs is known.
	 */
	bool unrecorded;
	/*
	 * sim: GPU threads of a PE reach the memory of all PEs of the process by its addresses, as over NVLink, where
	 * nvshmem_ptr() gives them (sim/mem.h, bf_space_map()). Without it such an access faults.
	 */
	bool nvlink;
};

/* The first PE of rank `rank` of `ranks`: equal blocks, as far as they can be equal (bf_world_opts.ranks). */
static inline uint32_t bf_ranks_first(uint32_t npes, uint32_t ranks, uint32_t rank)
{
	return (uint32_t)((uint64_t)npes * rank / ranks);
}

/* Which rank has PE `pe`. */
static inline uint32_t bf_ranks_of(uint32_t npes, uint32_t ranks, uint32_t pe)
{
	return (uint32_t)((((uint64_t)pe + 1) * ranks - 1) / npes);
}

/*
 * Memory of a PE. `ptr` is what code dereferences, `va` what goes on the wire and into keys. Far memory is a real
 * GPU's, whose threads dereference `va`; what `ptr` leads to is host code's copy (BF_PLACE_CUDA).
 */
struct bf_memory {
	void *ptr;
	uint64_t va;
	uint64_t size;
	bool far;
};

/* What the threads of the PE's GPU dereference. */
static inline void *bf_memory_of_gpu(const struct bf_memory *m)
{
	return m->far ? (void *)(uintptr_t)m->va : m->ptr;
}

/*
 * Where memory lies. GPU is memory whose caches DMA keeps coherent (as NVIDIA's is for PCIe). The next two are an AMD
 * GPU's VRAM (models/gpu): mapped cached, its L2 goes stale under DMA; mapped uncached (MTYPE UC), stores skip the L2.
 * Live threads have coherent memory whatever they ask for. CMB is the SSD's controller memory buffer. CUDA is memory of
 * a real NVIDIA GPU, which processors do not reach, so that host code and threads of the CPU have a copy: it goes to
 * the GPU when run() starts. When that ends the copy has what is there, but for bytes that such threads have changed.
 */
enum bf_placement { BF_PLACE_HOST, BF_PLACE_GPU, BF_PLACE_GPU_CACHED, BF_PLACE_GPU_UC, BF_PLACE_CMB, BF_PLACE_CUDA };

/* One NIC of a PE, as a driver finds it in the system. All of a PE's memory is reachable by all of its NICs. */
struct bf_nic_info {
	char name[16]; /* as the system calls it */
	uint32_t ports;
	char pcie[64];         /* path of its PCI function in sysfs */
	bool atomics;          /* 4 and 8 bytes, masked ones included */
	uint32_t max_qp_depth; /* in WQEBBs */
};

/*
 * A grid whose blocks have shared memory, block and cluster barriers, mbarriers and bulk copies
 * (drivers/platform/platform_mbarrier.h). Its threads use memory and devices of their PE as those of launch() do.
 */
#define BF_GRID_BLOCKS 132u /* at most in one grid: each stands alone on an SM */
struct bf_grid_opts {
	uint32_t blocks;       /* a multiple of `cluster` */
	uint32_t cluster;      /* blocks of a cluster, 0 or 1..16 */
	uint32_t threads;      /* of each block, 1..1024; the last warp may be part of one */
	uint32_t shared_bytes; /* of each block, at most 227 KiB */
};

struct bf_uar {
	uint32_t index; /* for the QP and CQ contexts */
	void *page;     /* 4096 bytes with the doorbell registers */
};

enum bf_world_end { BF_END_DONE, BF_END_DEADLOCK, BF_END_LIMIT };

struct bf_world_result {
	enum bf_world_end end;
	uint64_t time_ps; /* virtual, or elapsed wall-clock time */
	uint64_t events;  /* simulated events; 0 in live mode when not known */
	uint64_t hash;    /* of the record stream */
	uint64_t records;
	char report[4096]; /* deadlock or limit: who waits for what, and where each unfinished QP stands */
	/*
	 * Of a simulation that is spread over threads or processes: in how many windows between two meetings something
	 * happened, and the events of the busiest part of each, summed. 0: one part alone.
	 */
	uint64_t windows, busiest_events;
};

/*
 * A backend may come from code that was compiled with the headers of another version, so it says first how much of the
 * struct it fills. New members are added at the end. The version is counted up when a member goes or changes its
 * meaning.
 */
#define BF_BACKEND_VERSION 2u
#define BF_BACKEND_HEAD .size = sizeof(struct bf_backend), .version = BF_BACKEND_VERSION

/* Whether backend `b` is of the version of these headers and has `member`, which is not NULL or 0. */
#define BF_BACKEND_HAS(b, member)                                                                                      \
	((b)->version == BF_BACKEND_VERSION &&                                                                         \
	 (b)->size >= offsetof(struct bf_backend, member) + sizeof((b)->member) && (b)->member)

struct bf_backend {
	uint32_t size, version; /* BF_BACKEND_HEAD */
	const char *name;
	const char *summary; /* one line for help */
	uint32_t devices;    /* BF_DEVICE_*: of which it drives this machine's own; 0: models */
	uint32_t records;    /* BF_CLASS_*: what can go to bf_world_opts.sink; 0: a device that tells nothing */
	/*
	 * 0 when usable here. Otherwise a negative errno and in `why` (cap bytes) what is missing and how to get it;
	 * for backends that exist in name only in this build, -ENOTSUP.
	 */
	int (*probe)(char *why, size_t cap);
	/*
	 * Whether BF_PLACE_CUDA can be had here, likewise; `why` says of which GPU and how the device gets at it. With
	 * `threads` rather whether that GPU's threads can run grids (bf_world_opts.cuda). NULL: neither.
	 */
	int (*probe_gpu)(bool threads, char *why, size_t cap);
	/* 0 or negative errno with `err` set. The world keeps `err` for the texts of later failures, until close(). */
	int (*open)(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out);
	void (*close)(struct bf_world *w);
	/* Zeroed memory of PE `pe`, in host or GPU memory; reachable by its device. Freed at close. */
	int (*alloc)(struct bf_world *w, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
		     struct bf_memory *out);
	/*
	 * The same with the bytes of an image (sim/image.h), in GPU memory: a table that is the same for all PEs of
	 * this process is there once. NULL: this backend's memory cannot be; alloc(), then copy.
	 */
	int (*alloc_image)(struct bf_world *w, uint32_t pe, const struct bf_image *image, const char *name,
			   struct bf_memory *out);
	/* Where host code finds what a thread of a GPU finds at `p`. NULL: there. */
	const void *(*look)(struct bf_world *w, const void *p);
	int (*nic_info)(struct bf_world *w, uint32_t pe, uint32_t nic, struct bf_nic_info *out);
	/* Runs a command mailbox on NIC `nic` (from 0) of PE `pe`. */
	int (*command)(struct bf_world *w, uint32_t pe, uint32_t nic, const void *in, size_t in_len, void *out,
		       size_t out_len);
	int (*map_uar)(struct bf_world *w, uint32_t pe, uint32_t nic, struct bf_uar *out);
	/* Whether the port's link is up: 1 or 0, or a negative errno (ibv_query_port()). */
	int (*port_up)(struct bf_world *w, uint32_t pe, uint32_t nic, uint32_t port);
	/*
	 * Words between host sides of one driver in the processes of a spread simulation, beside the modelled network:
	 * say() tells the process of PE `pe` (UINT32_MAX: all others) `value` for `where`, and `hear` is called there
	 * some time before `at_ps`, which must be later than now by more than links take. -EINVAL: it was not, told by
	 * the run. Both NULL: this backend's worlds are not spread.
	 */
	void (*listen)(struct bf_world *w, void (*hear)(void *arg, uint64_t where, uint64_t value), void *arg);
	int (*say)(struct bf_world *w, uint32_t pe, uint64_t at_ps, uint64_t where, uint64_t value);
	/*
	 * A port's address as it stands in a QP's address path: GID (::ffff:a.b.c.d) and MAC. Ports count from 0; port
	 * q of NIC n of PE p has 10.(2n+q).(p>>8).(p&255) + 1 on the models' network.
	 */
	int (*address)(struct bf_world *w, uint32_t pe, uint32_t nic, uint32_t port, uint8_t gid[16], uint8_t mac[6]);
	/*
	 * Starts a grid on PE `pe` when run() is called: `blocks` x `warps` warps of 32 lanes (opts.lanes), each runs
	 * kernel(thread, arg) of the backend's platform. `kernel` comes from the kernel table of that platform
	 * (drivers/ibgda/kernels.h).
	 */
	int (*launch)(struct bf_world *w, uint32_t pe, uint32_t blocks, uint32_t warps, bf_kernel_fn *kernel,
		      void *arg);
	/*
	 * The same for `threads` threads on the CPU of PE `pe`: each is block `i` of `threads` with one warp, and lane
	 * 0 of it. NULL: this backend has no CPU threads of its own.
	 */
	int (*launch_cpu)(struct bf_world *w, uint32_t pe, uint32_t threads, bf_kernel_fn *kernel, void *arg);
	/*
	 * [BF_DEVICE_KINDS]: what drivers of a kind of device call beside the calls of NICs above, as devices.h says;
	 * by bf_backend_ops(). NULL, here or in it: there is none.
	 */
	const void *const *ops;
	/* Whether the PE's device may reach all of [va, va + bytes). NULL: its simulation tells. */
	bool (*reachable)(struct bf_world *w, uint32_t pe, uint64_t va, uint64_t bytes);
	/* Which device the PE has, for reports: "0000:01:00.0 by group, /dev/vfio/7". NULL: a model. */
	void (*describe)(struct bf_world *w, uint32_t pe, char *buf, size_t cap);
	/*
	 * Registers of the PE's GPU that invalidate its caches (models/gpu/prm.h); NULL when the backend has none. In
	 * live mode stores to them do nothing, and every request is acknowledged already.
	 */
	int (*gpu_regs)(struct bf_world *w, uint32_t pe, void **out);
	/* Runs everything that was launched to its end. May be called again after more launches. */
	int (*run)(struct bf_world *w, struct bf_world_result *out);
	/*
	 * A hash of what each PE ([npes]) and its devices recorded: times, names of actors and bytes, in order. The
	 * same however the PEs are spread over processes; all of which make this call. NULL: this backend has none.
	 */
	int (*pe_hashes)(struct bf_world *w, uint64_t *out);
	/* The simulation behind it, for statistics and stand-ins; NULL when there is none. */
	struct bf_sim *(*sim)(struct bf_world *w);
	enum bf_platform_id platform;
	/* The PE's device of bf_world_opts.model; NULL, or returns NULL: there is none. */
	void *(*model)(struct bf_world *w, uint32_t pe);
	/*
	 * A program's own device code: modules of PTX for the GPU of PE `pe`, loaded into its memory, and a kernel of
	 * them that starts when run() is called (models/ptx/launch.h). Where `done` is NULL a fault of the kernel ends
	 * the run with -EFAULT. NULL: this backend runs none.
	 */
	int (*ptx_load)(struct bf_world *w, uint32_t pe, const struct bf_ptx_source *sources, uint32_t count,
			struct bf_ptx_library **out);
	int (*ptx_launch)(struct bf_world *w, uint32_t pe, struct bf_ptx_library *lib,
			  const struct bf_ptx_launch *launch);
	/* As launch(), a grid with shared memory and block barriers. NULL: this backend has none. */
	int (*launch_grid)(struct bf_world *w, uint32_t pe, const struct bf_grid_opts *grid, bf_kernel_fn *kernel,
			   void *arg);
};

/* What the driver of a kind of device calls (enum bf_device_at); NULL: nothing, the backend has no such devices. */
static inline const void *bf_backend_ops(const struct bf_backend *b, enum bf_device_at kind)
{
	return BF_BACKEND_HAS(b, ops) ? b->ops[kind] : NULL;
}

/* All backends that this build knows, NULL-terminated: sim, live, then those that need something of the machine. */
const struct bf_backend *const *bf_backends(void);
const struct bf_backend *bf_backend_find(const char *name);

/*
 * The best that this machine has for `device` (one of BF_DEVICE_*): a real device that works rather than one that
 * others stand in for, and sim when there is none. In `why` (cap bytes) what its probe says.
 */
const struct bf_backend *bf_backend_auto(uint32_t device, char *why, size_t cap);

BF_API_END

#endif
