/*
 * What a log of records says about send queues, in tables that can be searched: stores and when they became visible,
 * entries as the driver built and the device fetched them, doorbell records as the device read them.
 */
#ifndef BELFRY_TOOLS_CAUSE_FACTS_H
#define BELFRY_TOOLS_CAUSE_FACTS_H

#include "tools/record_log.h"

/*
 * A store, buffered or not, to memory or to a device. `visible_ps` is BF_NEVER if it was still in a buffer when the
 * records end. Stores became visible in order of `turn`, also where their times are equal.
 */
struct bf_fact_store {
	uint32_t actor;
	uint64_t seq; /* counts its actor's stores */
	uint64_t va, len;
	uint64_t issued_ps, visible_ps;
	uint64_t turn;
	const uint8_t *bytes; /* in the log */
};

/* An entry that the driver stored into the ring. */
struct bf_fact_build {
	uint32_t actor, pe, qpn;
	uint64_t index, blocks;
	uint64_t at_ps;
};

/* An entry that the device fetched. `index` is unwrapped; `sampled_ps` is when its bytes left memory. */
struct bf_fact_fetch {
	uint32_t actor, pe, qpn; /* the queue */
	uint64_t index, blocks;
	uint16_t ctrl_index; /* what its bytes say */
	uint64_t sampled_ps, at_ps;
	uint64_t slot_va;    /* 0 if no store told where the ring lies */
	bool wrong;          /* its bytes are not those of the entry that belongs there */
};

/* A doorbell record that the device read. */
struct bf_fact_dbrec {
	uint32_t actor, pe, qpn;
	uint16_t producer, doorbell;
	uint64_t sampled_ps, at_ps;
	uint64_t va; /* of the send word; 0 if unknown */
};

struct bf_facts {
	const struct bf_record_log *log;
	struct bf_fact_store *stores; /* in order of the records */
	struct bf_fact_build *builds;
	struct bf_fact_fetch *fetches;
	struct bf_fact_dbrec *dbrecs;
	size_t nstores, nbuilds, nfetches, ndbrecs;
	uint64_t end_ps; /* of the last record */
	/* Places in `stores` by address, in `builds` by PE, queue and index. */
	uint32_t *by_va, *by_index;
};

/* Reads the log of a run whose rings have `depth` blocks; the log must outlive the facts. 0 or -ENOMEM. */
int bf_facts_read(struct bf_facts *f, const struct bf_record_log *log, uint32_t depth);
void bf_facts_free(struct bf_facts *f);

/* The entry `index` of a queue as the driver built it; NULL if it never did. */
const struct bf_fact_build *bf_facts_build(const struct bf_facts *f, uint32_t pe, uint32_t qpn, uint64_t index);

/*
 * The store into [va, va + len) that was issued at or before `at_ps`, became visible after it, and did so last; NULL if
 * all that had been stored there was visible.
 */
const struct bf_fact_store *bf_facts_late(const struct bf_facts *f, uint64_t va, uint64_t len, uint64_t at_ps);

/* The processing element that an agent or device belongs to, by its name. */
uint32_t bf_facts_pe(const struct bf_facts *f, uint32_t actor);

#endif
