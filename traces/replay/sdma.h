/*
 * Replay of a dumped SDMA ring: its packets through the engine model, from the read pointer (or the dump's first dword)
 * to the write pointer (or behind its last).
 *
 * Memory is made up wherever the packets point, filled by seed; a poll finds what it waits for, unless nothing can be
 * that. Indirect buffers are not in a dump: they hold NOPs. The dump's places in the ring are kept, so that a packet
 * that runs over the ring's end does so here. When the dumped engine had stopped before its write pointer, the result
 * says whether the model stops there too, and why.
 */
#ifndef BELFRY_TRACES_REPLAY_SDMA_H
#define BELFRY_TRACES_REPLAY_SDMA_H

#include "models/sdma/decode.h"
#include "models/sdma/sdma.h"
#include "traces/import/sdma_dump.h"

struct bf_sdma_replay_opts {
	uint64_t seed;
	const struct bf_sdma_profile *profile; /* NULL: bf_sdma_v6 */
	uint64_t memory_max;                   /* most bytes of memory to make up; 0: 1 GiB */
	bool strict;
	uint32_t record_mask; /* BF_CLASS_*; 0 = off */
	struct bf_sink *sink; /* borrowed; may be NULL */
};

enum bf_sdma_replay_fate { BF_SDMA_EXECUTED, BF_SDMA_STOPPED, BF_SDMA_WAITING, BF_SDMA_NOT_REACHED };

struct bf_sdma_replayed {
	uint32_t place; /* in the ring, in dwords */
	uint32_t dwords;
	struct bf_sdma_packet packet;
	enum bf_sdma_replay_fate fate;
};

struct bf_sdma_replay_result {
	struct bf_sdma_replayed *packets; /* runs of zero dwords count as one NOP */
	size_t npackets, packets_cap;
	struct bf_sdma_queue_info end;
	uint32_t ring_dwords, from, to; /* places */
	bool dump_stopped;              /* the dumped engine had not fetched all */
	uint64_t bytes, memory;         /* moved; made up */
	uint64_t time_ps, events, records, hash;
};

/*
 * 0 with the result in `*out` (free with bf_sdma_replay_free()), -EBADMSG when pointers and dump do not fit, -E2BIG
 * when the packets reach more memory than that, -ENOMEM; `err` says what. A packet that stops the queue is no error.
 */
int bf_sdma_replay_run(const struct bf_sdma_dump *d, const struct bf_sdma_replay_opts *opts,
		       struct bf_sdma_replay_result **out, struct bf_error *err);
void bf_sdma_replay_free(struct bf_sdma_replay_result *r);

const char *bf_sdma_replay_fate_name(enum bf_sdma_replay_fate f); /* "executed", "stopped the queue", ... */

#endif
