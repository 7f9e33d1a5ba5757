/*
 * Facts about Hopper's barriers that several rules need: what has come to each since its init and from whom, what
 * copies bring it, who waits there at the end; and what each warp is at.
 *
 * A barrier is a queue of the family: `pe` is its SM, `number` its address in the SM's shared memory. Warps are slots
 * of an SM in records and numbers in their block in sentences.
 */
#ifndef BELFRY_TRACES_RULES_HOPPER_HOPPER_H
#define BELFRY_TRACES_RULES_HOPPER_HOPPER_H

#include "models/hopper/bulk.h"
#include "models/hopper/hopper.h"
#include "models/hopper/records.h"
#include "models/hopper/records_bulk.h"
#include "models/hopper/unit.h"
#include "models/hopper/word.h"
#include "traces/records/cluster.h"
#include "traces/rules/rule.h"

#define BF_HOPPER_SMS 256u
#define BF_HOPPER_SLOTS 64u
#define BF_HOPPER_COPIES 1024u
#define BF_HOPPER_RANKS 16u

/* Values of the records' fields. */

/* A block, by its number. */
struct bf_hopper_rule_block {
	bool known, here;
	uint32_t sm, rank, base, bytes, first_slot;
};

/* What one warp of the cluster has done at a barrier since its init; records are places in the stream plus one. */
struct bf_hopper_rule_party {
	uint32_t arrivals, passed;       /* waits that were over */
	uint32_t since_wait, waits;      /* arrivals since the warp's wait number `waits` */
	uint64_t arrived, armed, copied; /* the latest arrival, expectation, copy */
};

struct bf_hopper_rule_barrier {
	uint32_t sm, address; /* of the SM */
	uint32_t block;       /* number, UINT32_MAX: not known */
	uint64_t word;
	bool known, alive, fenced, labelled, inited;
	uint32_t init_slot;
	uint64_t init_ps, init_record;
	/* The label; see struct bf_bar_label. */
	char name[32], who[32];
	uint32_t index, ranks, warps, each, free, expected;
	uint32_t phases, seen;                      /* completed since init; those that some wait saw */
	uint64_t armed, brought, landed, completed; /* bytes: expected, of copies issued, signalled, complete_tx */
	uint64_t armed_before, brought_before;      /* when the phase began */
	uint64_t last_armed, last_brought;          /* of the phase before */
	uint32_t copies, last_copies;               /* issued for the phase, and for the one before */
	uint32_t expects, incs; /* expect_tx without an arrival; cp.async arrivals that count themselves */
	struct bf_hopper_rule_party *parties; /* [ranks * BF_HOPPER_SLOTS], owned */
	uint32_t nranks, parties_cap;
	/* At the end of a run that failed. */
	uint32_t nwaiting, waiter_slot, waiter_parity, waiter_lanes;
	uint64_t waiting_since;
};

struct bf_hopper_rule_warp {
	/* Its last wait: where, by whom, and how it came back. */
	uint64_t wait_address, wait_record;
	uint32_t wait_lanes, parity; /* the latter 2 and more: by token */
	bool parked;
	uint8_t came_back; /* BF_HOPPER_*; BF_HOPPER_PARKED: as one that may not park */
	/* Its last wait that was over, and whether it has arrived anywhere since. */
	uint64_t passed_address;
	uint32_t passed_parity, passes;
	bool arrived_since;
	uint64_t arrived_at; /* the barrier it arrived on last, plus one; 0 for one of another block */
	uint32_t init_lanes; /* those that have initialised barriers */
	/* Lanes with cp.async that no group and no arrival covers, that have covered nothing, and both in that order.
	 */
	uint32_t open, empty, uncovered;
	uint32_t stores_open; /* lanes with bulk stores in no group */
	uint32_t groups[32];  /* of bulk stores that each lane has committed */
	uint64_t first_uncovered;
	/* At the end. */
	bool stands;
	uint32_t block, rank, warp, waits, meets, ended, at;
};

struct bf_hopper_rule_sm {
	struct bf_hopper_rule_warp warp[BF_HOPPER_SLOTS];
	uint32_t block[32], nblocks;
	uint64_t ops, misses; /* of the barrier cache */
	uint64_t va, bytes;   /* where its shared memory lies for plain accesses */
};

struct bf_hopper_rule_copy {
	struct bf_seen_hopper_bulk rec;
	uint32_t sm, group; /* the latter of a store: the lane's groups before it */
	uint64_t at_ps, record;
	bool set, read, ended;
};

struct bf_hopper_rule_run {
	struct bf_hopper_rule_sm *sm[BF_HOPPER_SMS]; /* owned */
	struct bf_hopper_rule_block *blocks;         /* owned */
	uint32_t nblocks;
	uint32_t actor, actor_sm; /* the last one looked up */
	struct bf_hopper_rule_copy copies[BF_HOPPER_COPIES];
	uint16_t reading[BF_HOPPER_COPIES]; /* places of bulk stores whose source has not been read */
	uint32_t nreading;
	uint16_t unwaited[BF_HOPPER_COPIES]; /* those whose bytes nobody has waited for */
	uint32_t nunwaited;
	bool faulted, failed, fault_remote; /* the last: by another block */
	uint32_t store_sm;                  /* of the last plain store */
	/* A remote operation has reached an SM: its operation's record is next. */
	bool remote;
	uint32_t remote_sm, remote_slot;
	/* What the record at hand is about; see bf_hopper_rule_now(). */
	struct bf_hopper_rule_now {
		struct bf_rule_queue *queue;
		struct bf_hopper_rule_barrier *bar;
		struct bf_hopper_rule_warp *warp;   /* who did it; NULL for a copy's signal */
		struct bf_hopper_rule_party *party; /* NULL: not known */
		uint32_t sm, slot;                  /* of who did it */
		uint32_t arrivals, flips;
		bool by_copy, was_alive, was_other; /* an init: over a live barrier, of another warp */
		char was[40]; /* a label: what the live barrier was called before, where that was another name */
		bool late_expect;
		bool extra;         /* arrivals beyond the warp's share of a phase, with no wait in between */
		bool too_soon;      /* arrivals for a phase that nobody can know to have begun */
		bool foreign;       /* arrivals for other blocks on the own barrier */
		uint64_t in_flight; /* bytes that copies still had to bring before the record */
	} now;
};

extern const struct bf_rule_family bf_rules_hopper;

static inline struct bf_hopper_rule_run *bf_hopper_rule_run(struct bf_rule_run *r)
{
	return r->facts;
}

static inline struct bf_hopper_rule_barrier *bf_hopper_rule_bar(const struct bf_rule_queue *q)
{
	return bf_rule_facts(q);
}

/* The barrier, warps and counts that a hopper_op, hopper_label or hopper_hazard record is about. */
static inline const struct bf_hopper_rule_now *bf_hopper_rule_now(struct bf_rule_run *r)
{
	return &bf_hopper_rule_run(r)->now;
}

/* The barrier at an address of an SM; NULL when it was never spoken of. */
struct bf_rule_queue *bf_hopper_rule_barrier(struct bf_rules *r, uint32_t sm, uint64_t address);

/* The warp in a slot; NULL when its SM never spoke. */
struct bf_hopper_rule_warp *bf_hopper_rule_warp(const struct bf_hopper_rule_run *run, uint32_t sm, uint32_t slot);

/* "full[1] of block 0", "warp 2 of block 0". */
struct bf_hopper_rule_text {
	char s[80];
};
struct bf_hopper_rule_text bf_hopper_rule_bar_text(const struct bf_hopper_rule_barrier *b);
struct bf_hopper_rule_text bf_hopper_rule_warp_text(const struct bf_hopper_rule_run *run, uint32_t sm, uint32_t slot);

/* What a barrier that is waited for lacks: the one thing that says most about it. */
enum bf_hopper_rule_lack {
	BF_LACK_NONE,        /* nobody waits */
	BF_LACK_FIRST_PHASE, /* the first wait has the parity of what is not there yet */
	BF_LACK_ARRIVAL,     /* bytes were expected and came; nobody arrived */
	BF_LACK_COUNTED,     /* arrivals that count themselves */
	BF_LACK_PARITY,      /* a phase ended that nobody has waited for */
	BF_LACK_COMPLETE,    /* complete_tx in software says something else than expect_tx */
	BF_LACK_EXPECT,      /* bytes came that nobody expected */
	BF_LACK_TILE,        /* fewer bytes came than in the phases before */
	BF_LACK_FEWER,       /* more bytes are expected than copies bring */
	BF_LACK_MORE,        /* fewer */
	BF_LACK_OWN_LANE,    /* a lane of the waiting warp has yet to arrive */
	BF_LACK_OWN,         /* the waiting warp has yet to arrive */
	BF_LACK_SECOND_WAIT, /* the warp has waited here before and used nothing */
	BF_LACK_ENDED,       /* a party has ended */
	BF_LACK_SKIPPED,     /* a party has arrived on the next ones, not here */
	BF_LACK_SOMETHING,   /* arrivals of whoever waits for something else, or of nobody */
};
enum bf_hopper_rule_lack bf_hopper_rule_lack(struct bf_rules *r, const struct bf_rule_queue *q, uint32_t *rank,
					     uint32_t *warp);

/*
 * A rule about a barrier that is waited for at the end: its finding when that is what it lacks, or NULL. `block` and
 * `warp`: the party that has not come, or who waits; n[0] of the finding is how often it has arrived.
 */
struct bf_finding *bf_hopper_rule_find_lack(struct bf_rule_run *r, struct bf_rule_queue *q,
					    enum bf_hopper_rule_lack lack, uint32_t *block, uint32_t *warp);

/* A copy by its number; NULL when it is no longer known. */
const struct bf_hopper_rule_copy *bf_hopper_rule_copy(const struct bf_hopper_rule_run *run, uint64_t number);

/* The barrier that a fault is about, and where it lies; NULL on lack of memory. */
struct bf_rule_queue *bf_hopper_rule_fault_at(struct bf_rule_run *r, const struct bf_seen *e, uint32_t *sm,
					      uint32_t *address);

/* Who met a barrier before its init. */
enum bf_hopper_rule_early {
	BF_EARLY_CLUSTER, /* another block of the cluster */
	BF_EARLY_OWNER,   /* the lane that has initialised others */
	BF_EARLY_OTHER,   /* another thread of the block */
};

/* A rule about such a hopper_fault record: its finding when it was `who`, or NULL. `sm`: where the barrier lies. */
struct bf_finding *bf_hopper_rule_find_early(struct bf_rule_run *r, const struct bf_seen *e,
					     enum bf_hopper_rule_early who, uint32_t *sm);

/* The bulk store whose source, not yet read, this `store` record overwrites; NULL. */
const struct bf_hopper_rule_copy *bf_hopper_rule_overwrites(struct bf_rule_run *r, const struct bf_seen *e);

/* The bulk store, not waited for by its thread, that writes what this `dma_read` record has read; NULL. */
const struct bf_hopper_rule_copy *bf_hopper_rule_read_early(struct bf_rule_run *r, const struct bf_seen *e);

/* The SM has a block of a cluster of more than one. */
bool bf_hopper_rule_clustered(const struct bf_hopper_rule_run *run, uint32_t sm);

/* A hopper_bulk_fault record: finds the copy that was refused. */
void bf_hopper_rule_copy_refused(struct bf_rule_run *r, const struct bf_seen *e);

/* A hazard at an address that the block, which is there, does not have: its shared memory ends before. */
bool bf_hopper_rule_beyond(const struct bf_hopper_rule_run *run, const struct bf_seen *e);

#endif
