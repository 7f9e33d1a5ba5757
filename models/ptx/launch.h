/*
 * A GPU that runs PTX: modules, grids, streams.
 *
 * A device belongs to one simulation and one address space. Its .global variables, constants, parameters and heap are
 * regions of that space (memory that NICs and other devices reach); blocks have shared memory and barriers in a Hopper
 * GPU of its own (models/hopper). A warp is one agent; what its lanes store, load and fence goes through a view of each
 * lane (sim/view.h), lane by lane, as soon as the ordering is not sc or memory accesses are recorded.
 *
 *	bf_ptx_device_create(sim, &opts, &device);
 *	bf_ptx_device_load(device, modules, 1, &library);
 *	bf_ptx_device_launch(device, library, &launch);   // any number
 *	bf_sim_run(sim, BF_NEVER);
 *	bf_ptx_device_fault(device);                      // NULL: all kernels ended well
 *
 * Global addresses that programs use are simulated ones (bf_va()); the host's address of a byte in a region of the
 * space means the same byte, so that structures of host code may be read as they are.
 *
 * One thread: the simulation's. Calls may come from outside a run and from events and agents in it.
 */
#ifndef BELFRY_MODELS_PTX_LAUNCH_H
#define BELFRY_MODELS_PTX_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/compiler.h"
#include "sim/error.h"
#include "sim/mem.h"
#include "sim/view.h"

struct bf_hopper_profile;
struct bf_ptx_func;
struct bf_ptx_program;
struct bf_ptx_stmt;
struct bf_ptx_strays;

BF_API_BEGIN

struct bf_ptx_device;  /* opaque */
struct bf_ptx_library; /* modules that were linked and loaded together; opaque */

/* Where a kernel's printf goes. `text` has `len` bytes and a final NUL. */
typedef void bf_ptx_print_fn(void *arg, const char *text, size_t len);

struct bf_ptx_device_opts {
	const char *name; /* before the names of its warps: "pe0." gives pe0.b2.w1.l7; NULL: nothing */
	struct bf_space *space;
	struct bf_domain *domain; /* the GPU's level of visibility; NULL: one of its own */
	enum bf_ordering ordering;
	const struct bf_cost *cost;              /* NULL: bf_cost_gpu */
	const struct bf_hopper_profile *profile; /* NULL: bf_hopper_h200 */
	uint64_t heap_bytes;                     /* of malloc; 0: 8 MiB */
	uint32_t stack_bytes;                    /* .local memory of a thread for recursion and alloca; 0: 16 KiB */
	bf_ptx_print_fn *print;                  /* NULL: standard output */
	void *print_arg;
};

/* 0, -EINVAL or -ENOMEM with sim->error set. */
int bf_ptx_device_create(struct bf_sim *sim, const struct bf_ptx_device_opts *opts, struct bf_ptx_device **out);

/* After the run, while the space exists; grids that have not ended are given up. NULL is fine. */
void bf_ptx_device_destroy(struct bf_ptx_device *d);

/* A region of the space is about to be freed: running warps look it up again, and accesses to it then fault. */
void bf_ptx_device_forget(struct bf_ptx_device *d, const struct bf_region *region);

/*
 * Bytes of the heap and of a thread's stack, for kernels that are launched from now on. -EBUSY: a kernel has taken
 * memory of the heap already, which stays as it is.
 */
int bf_ptx_device_set_heap(struct bf_ptx_device *d, uint64_t bytes);
void bf_ptx_device_set_stack(struct bf_ptx_device *d, uint32_t bytes);

/* Text of one module. */
struct bf_ptx_source {
	const char *name; /* for messages; copied */
	const char *text;
	size_t len;
	struct bf_ptx_strays
	    *strays; /* zeroed: an excerpt, of which strays are passed over (module.h); NULL: a module */
};

/*
 * Reads, links and loads modules: their .global variables and constants get memory and first values. -EINVAL, -ENOENT,
 * -EEXIST, -E2BIG with sim->error saying which module, line and symbol; -ENOMEM. The device owns the library.
 */
int bf_ptx_device_load(struct bf_ptx_device *d, const struct bf_ptx_source *sources, uint32_t count,
		       struct bf_ptx_library **out);

/*
 * The same modules for another device of the simulation: they are not read again, and decoded again only where this
 * device's addresses differ. Its memory has its first values. -ENOMEM with sim->error.
 */
int bf_ptx_device_load_again(struct bf_ptx_device *d, const struct bf_ptx_library *other, struct bf_ptx_library **out);

/*
 * Unloads a library and frees its variables. -EBUSY: a kernel of it still runs. While a trace names lines, their names
 * stay until the device is destroyed.
 */
int bf_ptx_device_unload(struct bf_ptx_device *d, struct bf_ptx_library *lib);

/* Its variables and constants have their first values again. No kernel runs from it. */
void bf_ptx_library_renew(struct bf_ptx_library *lib);

/* The linked modules, to look into. */
const struct bf_ptx_program *bf_ptx_library_program(const struct bf_ptx_library *lib);

/* A .global variable or constant: where it is. -ENOENT. Local ones are found, too. */
int bf_ptx_library_variable(const struct bf_ptx_library *lib, const char *name, uint64_t *va, uint64_t *size);

/* What a kernel takes and needs. */
struct bf_ptx_kernel_info {
	uint32_t params;      /* how many */
	uint32_t param_bytes; /* of the block that holds them */
	uint32_t static_shared;
	uint32_t max_threads; /* of a block: .maxntid, .reqntid; 1024 */
	uint32_t cluster[3];  /* that the kernel fixes; 0: it does not */
	uint32_t local_bytes; /* of a thread, without a stack for recursion and alloca */
};
int bf_ptx_library_kernel(const struct bf_ptx_library *lib, const char *name, struct bf_ptx_kernel_info *out);

/*
 * Why bf_ptx_device_launch() would refuse a kernel with -ENOTSUP: the first thing that it can reach and the machine
 * does not run, with its line, into `why`. 0: it would not.
 */
int bf_ptx_library_refusal(const struct bf_ptx_library *lib, const char *kernel, char *why, size_t cap);

/* Parameter `index` of a kernel: its place in the block and its size. -ENOENT. */
int bf_ptx_library_param(const struct bf_ptx_library *lib, const char *kernel, uint32_t index, uint32_t *offset,
			 uint32_t *size);

struct bf_ptx_launch {
	const char *kernel;
	uint32_t grid[3], block[3]; /* 0 counts as 1 */
	uint32_t cluster[3];        /* 0: as the kernel says, or no clusters */
	uint32_t shared_bytes;      /* dynamic shared memory of a block */
	const void *params;         /* bytes as the kernel's parameters lie, copied */
	size_t param_bytes;
	uint32_t stream;  /* grids of one stream run one after the other; 0 is a stream like the others */
	bool cooperative; /* all blocks are resident at once; %envreg1 and 2 name its workspace */
	/* When it has ended: `failed`, the device has a fault. From an agent or an event. May launch. NULL: nothing. */
	void (*done)(void *arg, bool failed);
	void *arg;
};

/*
 * Starts a grid as soon as its stream permits. Refuses with sim->error set: -ENOENT (no such kernel), -EINVAL (shape,
 * parameters), -ENOTSUP (the kernel can reach something that the machine does not run: named with its line), -ENOSPC
 * (a block does not fit into an SM, or a cooperative grid not on the GPU), -EIO after a fault, -ENOMEM.
 */
int bf_ptx_device_launch(struct bf_ptx_device *d, struct bf_ptx_library *lib, const struct bf_ptx_launch *launch);

/* Grids that have not ended; those of one stream. */
uint32_t bf_ptx_device_busy(const struct bf_ptx_device *d);
bool bf_ptx_stream_busy(const struct bf_ptx_device *d, uint32_t stream);

/* Why a grid died; the device runs nothing any more. Numbers of CUDA's driver API, cuda.h: enum CUresult. */
enum bf_ptx_fault_kind {
	BF_PTX_FAULT_NONE,
	BF_PTX_FAULT_ADDRESS = 700,    /* illegal address */
	BF_PTX_FAULT_ASSERT = 710,     /* __assertfail */
	BF_PTX_FAULT_STACK = 714,      /* a thread's stack overflowed (hardware stack error) */
	BF_PTX_FAULT_ILLEGAL = 715,    /* an instruction that the machine refuses */
	BF_PTX_FAULT_MISALIGNED = 716, /* an access that is not aligned to its size */
	BF_PTX_FAULT_SPACE = 717,      /* an address of a space that the instruction does not take */
	BF_PTX_FAULT_TRAP = 719,       /* trap; a rule of barriers or copies was broken */
};

struct bf_ptx_fault {
	enum bf_ptx_fault_kind kind;
	uint64_t when_ps;
	uint32_t block, thread; /* numbers in the grid and in the block */
	uint64_t address;       /* that was accessed, 0: none */
	char kernel[128];
	char file[256]; /* of the source, or of the PTX text */
	uint32_t line;
	char text[640]; /* all of it, for people */
};
const struct bf_ptx_fault *bf_ptx_device_fault(const struct bf_ptx_device *d);

/*
 * Decodes all functions of a linked program and calls `told` for each statement that the machine would refuse when a
 * lane gets there: those that bf_ptx_next_refusal() tells, and forms and operands that only the decoder looks at. By
 * functions. `why` names the instruction and lasts for the call. 0, or -ENOMEM with `err`.
 */
typedef void bf_ptx_refused_fn(void *arg, const struct bf_ptx_func *f, const struct bf_ptx_stmt *s, const char *why);
int bf_ptx_each_refused(const struct bf_ptx_program *p, bf_ptx_refused_fn *told, void *arg, struct bf_error *err);

/*
 * A fault has been: the simulation's run ends, and sim->error says why (-EFAULT, or -ENOMEM). For `done` functions.
 */
void bf_ptx_device_stop_run(struct bf_ptx_device *d);

/* What has been run so far. */
struct bf_ptx_counts {
	uint64_t grids, blocks, warps;
	uint64_t instructions; /* of all lanes, of warps that have ended */
};
const struct bf_ptx_counts *bf_ptx_device_counts(const struct bf_ptx_device *d); /* lasts as long as the device */

BF_API_END

#endif
