/*
 * What libbelfry-plain has for CUDA by source (tools/plain/cuda.h, which is C++): its own C sees the same.
 */
#ifndef BELFRY_TOOLS_PLAIN_CUDA_CALLS_H
#define BELFRY_TOOLS_PLAIN_CUDA_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct bf_trial;

#ifdef __cplusplus
extern "C" {
#else
/* CUDA's are classes of the same three words. */
typedef struct {
	uint32_t x, y, z;
} uint3, dim3;
#endif

/* The calling thread of a kernel. */
struct belfry_cuda_thread {
	uint3 thread, block;
	dim3 threads, blocks;
};
const struct belfry_cuda_thread *belfry_cuda_self(void);

/*
 * Starts a grid on the GPU of `pe` when setup has returned: each thread calls run(closure). `code` is an address in the
 * module that has the kernel's __shared__ variables. The closure is dropped when the trial ends. Returns 0 or a
 * negative errno, which is the trial's reason.
 */
int belfry_cuda_start(struct bf_trial *t, uint32_t pe, const unsigned blocks[3], const unsigned threads[3],
		      size_t shared, void (*run)(void *), void *closure, void (*drop)(void *), const void *code);

/* Scopes as drivers/platform/platform.h counts them: block, GPU, system. Orders as compilers number C11's. */
enum { BELFRY_CTA, BELFRY_GPU, BELFRY_SYS };
enum belfry_change {
	BELFRY_ADD,
	BELFRY_SUB,
	BELFRY_AND,
	BELFRY_OR,
	BELFRY_XOR,
	BELFRY_EXCHANGE,
	BELFRY_CAS,
	BELFRY_MIN,
	BELFRY_MAX,
	BELFRY_MIN_SIGNED,
	BELFRY_MAX_SIGNED,
	BELFRY_INC,
	BELFRY_DEC,
	BELFRY_ADD_FLOAT,
	BELFRY_ADD_DOUBLE
};
uint64_t belfry_cuda_change(volatile void *p, uint32_t len, enum belfry_change what, uint64_t operand, uint64_t compare,
			    int order, int scope);
uint64_t belfry_cuda_load(const volatile void *p, uint32_t len, int order, int scope);
void belfry_cuda_store(volatile void *p, uint32_t len, uint64_t value, int order, int scope);
void belfry_cuda_fence(int order, int scope);
void belfry_cuda_sync_block(void);
int belfry_cuda_sync_count(int predicate, int *threads);
void belfry_cuda_sync_named(unsigned id, unsigned threads);
void belfry_cuda_sync_warp(unsigned mask);
uint64_t belfry_cuda_shuffle(unsigned mask, uint64_t value, unsigned lane);
unsigned belfry_cuda_ballot(unsigned mask, int predicate);
unsigned belfry_cuda_match(unsigned mask, uint64_t value);
unsigned belfry_cuda_active(void);
unsigned belfry_cuda_lane(void);
uint64_t belfry_cuda_clock(void);
void belfry_cuda_sleep(unsigned ns);
void *belfry_cuda_dynamic(void);

#ifdef __cplusplus
}
#endif

#endif
