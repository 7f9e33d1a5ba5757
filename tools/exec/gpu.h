/*
 * The GPUs of `belfry exec --gpu`, as the CUDA driver library (tools/cuda) sees them: a table of calls that
 * libbelfry-exec.so gives to it by the one symbol belfry_exec_gpu().
 *
 * The GPUs run PTX (models/ptx) in the engine's simulation, beside the NIC, under its one lock and on the wall clock. A
 * kernel's addresses are the process's own. It reaches only what has been given to the GPUs: everything else is an
 * illegal address.
 *
 * Any thread may call at any time. Functions called back from the simulation (`done` of a launch) run under the
 * engine's lock, on whichever thread is inside: they may not call back.
 */
#ifndef BELFRY_TOOLS_EXEC_GPU_H
#define BELFRY_TOOLS_EXEC_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "models/ptx/launch.h"
#include "models/ptx/module.h"

#define BF_EXEC_ENV_GPU "BELFRY_EXEC_GPU"           /* N[:profile]; none: there are no GPUs */
#define BF_EXEC_ENV_ORDERING "BELFRY_EXEC_ORDERING" /* of the GPUs: sc (default), tso, gpu, adversarial */

#define BF_EXEC_GPUS_MAX 8u
#define BF_EXEC_GPU_CALLS 4u /* the table's version */

struct bf_exec_gpu_profile {
	const char *name, *title; /* as on the command line; what programs see */
	uint32_t major, minor;    /* compute capability */
	uint32_t sms;
	uint32_t threads;      /* of an SM */
	uint32_t blocks;       /* of an SM */
	uint32_t shared_sm;    /* bytes of shared memory of an SM */
	uint32_t shared_block; /* at most in one block */
	uint32_t clock_khz, memory_khz, bus_bits, l2_bytes;
	uint64_t memory;
};

/*
 * "N" or "N:profile": 0, or -EINVAL with a text in `why`. `profile` is static memory; NULL arguments are not filled.
 */
int bf_exec_gpu_parse(const char *text, uint32_t *count, const struct bf_exec_gpu_profile **profile, char *why,
		      size_t cap);

enum bf_exec_gpu_memory { BF_EXEC_GPU_DEVICE, BF_EXEC_GPU_HOST };

struct bf_exec_gpu_calls {
	uint32_t version;

	/* How many there are and what they are; without starting anything. */
	uint32_t (*count)(void);
	const struct bf_exec_gpu_profile *(*profile)(void);

	/* Which of several processes that were launched together this is; each has GPUs of its own. */
	uint32_t (*rank)(void);

	/* Starts the engine, if it is not running. 0, or a negative errno: a text is on standard error. */
	int (*start)(void);

	/* Whole pages of the process that kernels may use from now on. 0, -EEXIST (some are given), -ENOMEM, -EIO. */
	int (*give)(void *at, uint64_t size, enum bf_exec_gpu_memory kind);
	void (*take)(void *at);

	/* The same for doorbell pages of the NIC: kernels' stores go to it. -ENOENT: it is none. */
	int (*give_doorbell)(void *at, uint64_t size);

	/* `fd` is a DMA-BUF of memory at `address`. */
	void (*note_dmabuf)(int fd, uint64_t address, uint64_t bytes);

	/* As bf_ptx_device_load() and bf_ptx_device_launch(), `why` gets the text. */
	int (*load)(uint32_t device, const struct bf_ptx_source *sources, uint32_t count, struct bf_ptx_library **out,
		    char *why, size_t cap);
	int (*launch)(uint32_t device, struct bf_ptx_library *lib, const struct bf_ptx_launch *launch, char *why,
		      size_t cap);
	/* As bf_ptx_device_unload() and bf_ptx_library_renew(). */
	int (*unload)(uint32_t device, struct bf_ptx_library *lib);
	void (*renew)(struct bf_ptx_library *lib);

	/* Of a loaded library, which does not change. */
	const struct bf_ptx_program *(*program)(const struct bf_ptx_library *lib);
	int (*variable)(const struct bf_ptx_library *lib, const char *name, uint64_t *va, uint64_t *size);
	int (*kernel)(const struct bf_ptx_library *lib, const char *name, struct bf_ptx_kernel_info *out);
	int (*param)(const struct bf_ptx_library *lib, const char *kernel, uint32_t index, uint32_t *offset,
		     uint32_t *size);
	int (*refusal)(const struct bf_ptx_library *lib, const char *kernel, char *why, size_t cap);

	/* As bf_ptx_device_set_heap() and _set_stack(); 0: as it is. */
	int (*limits)(uint32_t device, uint64_t heap, uint32_t stack);

	/* Why a device died, or NULL; it runs nothing any more. */
	const struct bf_ptx_fault *(*fault)(uint32_t device);

	/* Runs the GPUs until `*word` is not `value`, or that many nanoseconds have passed. */
	void (*wait)(const uint32_t *word, uint32_t value, uint64_t most_ns);

	/* Takes what kernels have printed since: at most `cap` bytes; how many. */
	size_t (*printed)(char *to, size_t cap);
};

/* The table, or NULL: this process has no GPUs. */
const struct bf_exec_gpu_calls *belfry_exec_gpu(void);

#endif
