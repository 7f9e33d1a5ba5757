/* What the files of bulk copies share. Not installed. */
#ifndef BELFRY_MODELS_HOPPER_BULK_INTERNAL_H
#define BELFRY_MODELS_HOPPER_BULK_INTERNAL_H

#include "models/hopper/bulk.h"
#include "models/hopper/groups_internal.h"
#include "models/hopper/hopper_internal.h"
#include "sim/rng.h"

#define BF_BULK_LINE 128u /* of L2, and the most that one request carries */
#define BF_BULK_SECTOR 32u

struct bf_bulk_job;

/* A request's data on their way to one receiver. */
struct bf_bulk_piece {
	struct bf_event event; /* the first bytes land */
	struct bf_bulk_piece *next;
	struct bf_bulk_job *job;
	uint64_t global;
	uint64_t landed_ps;
	uint32_t shared;  /* offset in the block's window, not swizzled */
	uint32_t barrier; /* in the receiving SM's shared memory */
	uint16_t bytes;
	uint16_t signalled; /* bytes */
	uint8_t rank;       /* of the receiver */
	uint8_t lead;       /* bytes between the start of a source sector and the first byte */
	bool outside;       /* of the tensor */
	uint8_t data[BF_BULK_LINE];
};

/* A copy under way. */
struct bf_bulk_job {
	struct bf_bulk_copy copy;
	struct bf_tensor_map map;
	struct bf_tensor_walk walk;
	struct bf_tensor_run run; /* what is left of the current one */
	struct bf_bulk_job *next; /* in the engine, or idle */
	struct bf_bulk_job *all;
	struct bf_bulk_sm *from;
	struct bf_hopper_cluster *cluster;
	struct bf_group_item item;
	struct bf_event read; /* the source has been read */
	uint32_t slot;
	uint32_t base;   /* of the source's window: STORE, PEER */
	uint32_t left;   /* bytes of which no request has been made */
	uint32_t pieces; /* under way */
	uint16_t ranks;  /* receivers */
	bool cut;        /* into requests, all of them */
};

/* An SM's part. */
struct bf_bulk_sm {
	struct bf_bulk *bulk;
	struct bf_hopper_sm *sm;
	struct bf_rng rng;

	/* The engine. */
	struct bf_event step;
	struct bf_bulk_job *head, **tail;
	uint32_t under_way;
	bool stalled; /* the window is full */

	/* Landed bytes on their way to the sync unit. */
	struct bf_event signal;
	struct bf_bulk_piece *landing, **landing_tail;
	uint64_t signal_free_ps;

	/* The async proxy's view: what a byte was before plain stores that `owner` - 1 has not fenced. */
	uint8_t *old, *owner;
	uint32_t stale;
	struct {
		uint32_t low, high; /* where its unfenced stores lie; empty: low >= high */
	} unfenced[64];

	struct bf_groups groups;
	struct bf_groups async_groups; /* of cp.async */
};

struct bf_bulk_slab;

struct bf_bulk {
	struct bf_hopper *gpu;
	struct bf_space *global;
	struct bf_bulk_sm **sm;                          /* NULL: not used yet */
	uint64_t port_free_fs[BF_HOPPER_L2_PORTS_MAX];   /* when each port to L2 is free; femtoseconds */
	uint64_t slice_free_fs[BF_HOPPER_L2_SLICES_MAX]; /* ... and each slice */
	struct bf_bulk_job *jobs, *idle_jobs;
	struct bf_bulk_slab *slabs;
	struct bf_bulk_piece *idle;
	struct bf_ldgsts_txn *txns, *idle_txns; /* ldgsts.c */
	struct bf_ldgsts_mark *marks, *idle_marks;
	struct bf_bulk_counts counts;
	enum bf_bulk_fault fault;
	uint32_t last; /* copy */
};

/* The SM's part of the engines; NULL (and sim->error): no memory, or the GPU has no copy engines. */
struct bf_bulk_sm *bf_bulk_sm(struct bf_hopper_sm *sm);

/* Whose groups: of bulk stores, or of cp.async. The number stands in the records. */
enum bf_bulk_groups { BF_GROUPS_BULK, BF_GROUPS_ASYNC };

/* commit_group and wait_group of the lanes of a warp, with their records. A wait for sources alone has `read` set. */
void bf_bulk_group_commit(struct bf_hopper_cta *cta, enum bf_bulk_groups kind, uint32_t warp, uint32_t lanes);
void bf_bulk_group_wait(struct bf_hopper_cta *cta, enum bf_bulk_groups kind, struct bf_copy_wait *w);

static inline uint64_t bf_bulk_ps(const struct bf_bulk_sm *s, uint64_t mc)
{
	return bf_hopper_mc(s->bulk->gpu, mc);
}

/* The copy ends the kernel. */
void bf_bulk_raise(struct bf_bulk_sm *s, enum bf_bulk_fault why, const struct bf_bulk_copy *copy, uint32_t slot);

/* ---- bulk_engine.c ---- */
void bf_bulk_step(struct bf_event *ev);
void bf_bulk_read_done(struct bf_event *ev);
void bf_bulk_landed(struct bf_event *ev);
void bf_bulk_piece_done(struct bf_bulk_piece *p);
void bf_bulk_pieces_free(struct bf_bulk *b);

/* ---- bulk_signal.c ---- */
void bf_bulk_signal_later(struct bf_bulk_sm *s, struct bf_bulk_piece *p);
void bf_bulk_signal(struct bf_event *ev);

/* ---- bulk_proxy.c: addresses in the SM's shared memory ---- */
void bf_bulk_view_stored(void *arg, struct bf_hopper_cta *cta, uint32_t slot, uint32_t address, uint32_t len);
void bf_bulk_view_read(struct bf_bulk_sm *s, uint32_t address, void *data, uint32_t len, uint32_t copy);
void bf_bulk_view_write(struct bf_bulk_sm *s, uint32_t address, const void *data, uint32_t len);
void bf_bulk_view_forget(struct bf_bulk_sm *s, uint32_t address, uint32_t len);

/* ---- bulk.c: global memory; false: nothing is there ---- */
bool bf_bulk_global_read(struct bf_bulk_sm *s, uint64_t va, void *data, uint32_t len);
bool bf_bulk_global_write(struct bf_bulk_sm *s, uint64_t va, const void *data, uint32_t len);

/* ---- ldgsts.c ---- */
void bf_ldgsts_free(struct bf_bulk *b);

#endif
