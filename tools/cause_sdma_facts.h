/*
 * What a log of records says about SDMA queues, in tables that can be searched: who had which bytes of a ring, what the
 * engine read there, which packets it found and what their copies moved.
 */
#ifndef BELFRY_TOOLS_CAUSE_SDMA_FACTS_H
#define BELFRY_TOOLS_CAUSE_SDMA_FACTS_H

#include "models/sdma/decode.h"
#include "models/sdma/records.h"
#include "tools/cause_facts.h"

/* A queue, from its creation on; the one that replaces it after a reset is another. */
struct bf_sdma_fact_queue {
	uint32_t actor, pe, id;
	uint64_t ring, bytes;
	uint64_t retired;                               /* how far the engine has come; while reading */
	uint64_t fetch_index, fetch_address, fetch_len; /* the fetch on its way; while reading */
};

/* Bytes from..to-1 of a ring that a thread reserved, or published. In order of queue and index. */
struct bf_sdma_fact_span {
	uint32_t queue, actor;
	uint64_t from, to, at_ps;
	uint64_t retired; /* of the queue at that time */
	bool pad;
};

/* Ring bytes as the engine sampled them. */
struct bf_sdma_fact_read {
	uint32_t queue;
	uint64_t index, va, len, at_ps;
};

/* A packet that began. `done_ps` of copies and fills: when their last byte was in memory, or BF_NEVER. */
struct bf_sdma_fact_packet {
	uint32_t queue;
	uint64_t index, indirect, at_ps, done_ps;
	struct bf_sdma_packet p;
};

/* Bytes that a copy or fill moved at one moment. `packet` is its number, SIZE_MAX while the copy is not done. */
struct bf_sdma_fact_piece {
	uint32_t pe;
	size_t packet;
	uint64_t at_ps;
	struct bf_rec_sdma_piece rec;
};

struct bf_sdma_facts {
	const struct bf_record_log *log;
	struct bf_facts stores; /* only these of its tables have something in them */
	struct bf_sdma_fact_queue *queues;
	struct bf_sdma_fact_span *reserves, *publishes;
	struct bf_sdma_fact_read *reads;
	struct bf_sdma_fact_packet *packets; /* in the order in which they began */
	struct bf_sdma_fact_piece *pieces;
	size_t nqueues, nreserves, npublishes, nreads, npackets, npieces;
};

/* Reads the log of a run; it must outlive the facts. 0 or -ENOMEM. */
int bf_sdma_facts_read(struct bf_sdma_facts *f, const struct bf_record_log *log);
void bf_sdma_facts_free(struct bf_sdma_facts *f);

/* The span of `list` that covers byte `index` of the queue; NULL when there is none. */
const struct bf_sdma_fact_span *bf_sdma_facts_span(const struct bf_sdma_fact_span *list, size_t n, uint32_t queue,
						   uint64_t index);

/* The number of the queue whose records have this actor, as it was last created; SIZE_MAX when there is none. */
size_t bf_sdma_facts_queue(const struct bf_sdma_facts *f, uint32_t actor);

#endif
