/*
 * Bulk copies (cp.async.bulk, and the tensor form): the copy engine of each SM, what it signals, and what it sees.
 *
 * A copy travels bf_bulk_issue() -> the engine of the issuing SM, which cuts it into requests of at most one 128-byte
 * line and sends them out at its rate -> the L2 that all SMs share, or the cluster network -> the data land in shared
 * memory, late by an amount that varies from line to line, hence out of order -> their bytes are signalled to the sync
 * unit as complete_tx, in 32-byte sectors that merge while the unit is busy. Stores and their groups go the other way.
 *
 * Async proxy. Copies read shared memory as it was before plain stores that their warps have not fenced
 * (bf_bulk_fence(), PTX's fence.proxy.async): a missing fence sends stale bytes, always. What copies write is plain
 * memory at once; the wait that sees their completion needs no fence. Global memory has no such view here: copies
 * see a region's bytes.
 *
 * Measured on an H200 where profile.c names a row; PTX ISA 9.0, "Data Movement and Conversion Instructions: Bulk copy"
 * for rules. A copy that breaks them ends the kernel (BF_HOPPER_FAULT_COPY). One thread: the simulation's.
 */
#ifndef BELFRY_MODELS_HOPPER_BULK_H
#define BELFRY_MODELS_HOPPER_BULK_H

#include "models/hopper/groups.h"
#include "models/hopper/hopper.h"
#include "models/hopper/tensor.h"
#include "sim/mem.h"

struct bf_bulk; /* the engines of a GPU; opaque */

/*
 * Gives `gpu` copy engines that reach the regions of `global` (borrowed; VRAM and DRAM). At most once a GPU, before or
 * after its blocks are launched. Destroy before the GPU; copies under way end in nothing. Returns 0, -EEXIST, or
 * -ENOMEM.
 */
int bf_bulk_create(struct bf_hopper *gpu, struct bf_space *global, struct bf_bulk **out);
void bf_bulk_destroy(struct bf_bulk *bulk);

enum bf_bulk_kind {
	BF_BULK_LOAD,  /* global to shared; completes a barrier beside the destination */
	BF_BULK_STORE, /* shared to global; completes the issuing thread's group */
	BF_BULK_PEER,  /* own shared memory to that of a block of the cluster; completes a barrier there */
};

/* One thread's instruction; copied by bf_bulk_issue(). */
struct bf_bulk_copy {
	enum bf_bulk_kind kind;
	uint32_t warp, lane; /* who issues: number in its block */
	uint64_t global;     /* LOAD: source, STORE: destination; plain form */
	uint32_t shared;     /* destination of LOAD and PEER, source of STORE: shared::cluster address */
	uint32_t source;     /* PEER: in the own block */
	uint32_t barrier;    /* LOAD, PEER: in the block of the destination */
	uint32_t bytes;      /* plain form; a multiple of 16; 0 does nothing */
	/*
	 * LOAD with .multicast::cluster: bit r is the block of rank r; data and signal go to the offsets of `shared`
	 * and `barrier` in each. 0: the block that both name.
	 */
	uint16_t multicast;
	bf_hopper_combine_fn *combine; /* STORE and PEER, plain form: of a reduction. NULL: the bytes replace others */
	uint32_t how;                  /* ... first argument */
	const struct bf_tensor_map *map; /* tensor form of LOAD and STORE; copied. NULL: plain form */
	int32_t at[BF_TENSOR_RANK_MAX];  /* corner of the box, in elements */

	uint64_t next_ps; /* set: when the thread may issue its next instruction */
	uint32_t number;  /* set: of the copy, as records have it; from 1 */
};

/* Why a copy was refused, or failed on its way. */
enum bf_bulk_fault {
	BF_BULK_OK,
	BF_BULK_FAULT_SIZE,   /* not a multiple of 16, or above what an operation can count */
	BF_BULK_FAULT_ALIGN,  /* an address not of 16 (tensor form in shared memory: 128), or a barrier not of 8 */
	BF_BULK_FAULT_WINDOW, /* outside the block's shared memory */
	BF_BULK_FAULT_TARGET, /* a block that this kind cannot write to, or none of that rank */
	BF_BULK_FAULT_MAP,    /* tensor map or form is wrong */
	BF_BULK_FAULT_GLOBAL, /* nothing is at the global address */
	BF_BULK_FAULT_GONE,   /* the destination's block exited while the copy was under way */
	BF_BULK_FAULTS
};
const char *bf_bulk_fault_name(enum bf_bulk_fault f); /* "size" */

/* The first one; BF_BULK_OK: none. The GPU's fault (bf_hopper_fault()) has where. */
enum bf_bulk_fault bf_bulk_fault(const struct bf_bulk *bulk);

/* A thread of `cta` issues the copy now. */
void bf_bulk_issue(struct bf_hopper_cta *cta, struct bf_bulk_copy *copy);

/* cp.async.bulk.commit_group of the threads `lanes` of a warp, and wait_group. */
void bf_bulk_commit(struct bf_hopper_cta *cta, uint32_t warp, uint32_t lanes);
void bf_bulk_wait(struct bf_hopper_cta *cta, struct bf_copy_wait *wait);

/* Whether stores of that warp are under way, committed or not. */
bool bf_bulk_storing(const struct bf_hopper_cta *cta, uint32_t warp);

/* ---- the async proxy ---- */

/*
 * fence.proxy.async by a warp: its plain stores to shared memory up to now are there for copies. Returns when the warp
 * may issue again.
 */
uint64_t bf_bulk_fence(struct bf_hopper_cta *cta, uint32_t warp);

/*
 * A plain store of `len` bytes by a warp (`warp`: number in its block) into its block's window, now. Stores issued to
 * the sync unit (BF_SYNC_STORE) need no such call.
 */
void bf_bulk_plain_store(struct bf_hopper_cta *cta, uint32_t warp, uint32_t address, const void *data, uint32_t len);

/* Bytes of the block's window that copies would read otherwise than plain loads. */
uint32_t bf_bulk_stale(const struct bf_hopper_cta *cta);

/* ---- warps that run a program (program.h) ---- */

struct bf_warp;

/* Self: the first active lane issues a copy; goes on when the thread may. Sets copy->warp and lane. */
void bf_warp_copy(struct bf_warp *w, struct bf_bulk_copy *copy);

/* Self: wait_group of all active lanes. False: the kernel has ended in a fault. */
bool bf_warp_copy_wait(struct bf_warp *w, uint32_t keep, bool read);

/* Self: fence.proxy.async. */
void bf_warp_copy_fence(struct bf_warp *w);

/* ---- counts ---- */

struct bf_bulk_counts {
	uint64_t copies, bytes; /* issued; landed, each receiver's */
	uint64_t requests;
	uint64_t signals; /* updates of barriers */
	uint64_t merged;  /* requests whose last bytes were signalled together with another one's */
	uint64_t stale;   /* bytes that were read stale */
};
const struct bf_bulk_counts *bf_bulk_counts(const struct bf_bulk *bulk);
/* Statistics by the same names behind "<gpu>.bulk_"; records: models/hopper/records_bulk.h. */

#endif
