/*
 * Which delays somebody would have noticed.
 *
 * A search through delays (drivers/trial/exhaust.h) runs a machine whose stores drain at once and whose loads leave no
 * copies, and must know which of the delays that it did not make could have changed that run. So each one leaves a
 * shadow: the bytes that it would have withheld, from whom, and until when. Whoever reads or writes such bytes
 * meanwhile notices the delay; one that nobody notices before a fence ends it leaves the run as it is, whatever else is
 * late.
 *
 *   a store     would wait in a buffer: noticed by accesses of those who do not look through this buffer
 *   a copy      would stay in a block: noticed by its weak loads that find other bytes now
 *   a stall     would make a thread's next accesses late: noticed by accesses of others that they cannot pass
 *
 * All calls but the first cost one branch unless sim->chooser notices.
 */
#ifndef BELFRY_SIM_NOTICE_INTERNAL_H
#define BELFRY_SIM_NOTICE_INTERNAL_H

#include "sim/sim.h"

struct bf_agent;
struct bf_buffer;
struct bf_buffered;
struct bf_notice;
struct bf_view;

void bf_notice_free(struct bf_notice *n);

static inline bool bf_noticing(const struct bf_sim *sim)
{
	return BF_UNLIKELY(sim->slow & BF_SLOW_NOTICE);
}

/*
 * Asks for a delay that is told by its shadows when it is noticed. `key`: of the choice, the same in all runs as long
 * as this thread's history is.
 */
uint32_t bf_choose_watched(struct bf_sim *sim, enum bf_choice_kind kind, uint64_t key);

/* The store `e` could have waited in `b` until `until_ps`: it has just arrived there. */
void bf_notice_store(struct bf_buffer *b, const struct bf_buffered *e, uint64_t key, uint64_t until_ps);
/* `e` arrives in `b`, from below or by being stored: it would wait behind what it must follow, or take its place. */
void bf_notice_arrival(struct bf_buffer *b, const struct bf_buffered *e, uint64_t until_ps);
/* The thread with buffer `thread` stores `e`, or pushes it: after its last stall. */
void bf_notice_issue(struct bf_sim *sim, const struct bf_buffer *thread, const struct bf_buffered *e);
/* Stores between `b` and `level` are pushed, of one line only when `line` is set. */
void bf_notice_push(const struct bf_buffer *b, int level, const uint8_t *line);
/* What somebody with this view looks through. */
const struct bf_buffer *bf_view_buffer(struct bf_view *v);

/* Bytes are read, or change, for somebody who looks through `from` (NULL: a device, which looks at memory). */
void bf_notice_read(struct bf_sim *sim, const struct bf_buffer *from, const void *p, uint64_t len);
void bf_notice_write(struct bf_sim *sim, const struct bf_buffer *from, const void *p, uint64_t len);

/* A weak load could have left a copy of `line` in its block; a later one finds `fresh` bytes there; it is dropped. */
void bf_notice_copy(struct bf_buffer *block, const uint8_t *line, const uint8_t *bytes, uint64_t key,
		    uint64_t until_ps);
void bf_notice_copy_read(struct bf_buffer *block, const uint8_t *p, uint32_t len, const uint8_t *fresh);
void bf_notice_copy_drop(struct bf_buffer *block, const uint8_t *line);

/*
 * The thread with buffer `thread` could have stalled here, before an access to `len` bytes at `p` (0: after one), which
 * only loads them or not.
 */
void bf_notice_stall(struct bf_sim *sim, const struct bf_buffer *thread, const void *p, uint32_t len, bool loads,
		     uint64_t key, uint64_t until_ps);

#endif
