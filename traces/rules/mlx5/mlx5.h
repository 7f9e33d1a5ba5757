/*
 * Facts about mlx5 queue pairs that several rules need: entries as the driver built and the device fetched them, what
 * doorbell records said, how far a queue has come. Indices are unwrapped.
 *
 * The ring's depth and address come from the device's qp_config record (or a capture's); where that has no address,
 * from the first entry that a driver says it has built.
 */
#ifndef BELFRY_TRACES_RULES_MLX5_MLX5_H
#define BELFRY_TRACES_RULES_MLX5_MLX5_H

#include "models/mlx5/records.h"
#include "models/rdma/records.h"
#include "traces/rules/way.h"

#define BF_MLX5_RING_MAX 65536u

/* The last two entries that a driver built in a slot: [0] the last, [1] the one before. `index` is plus 1, 0: none. */
struct bf_mlx5_rule_built {
	uint64_t index, at_ps, record;
	uint32_t actor;
	uint16_t ds;        /* 16-byte segments that were stored */
	bool after_publish; /* it had been published before */
};
struct bf_mlx5_rule_slot {
	struct bf_mlx5_rule_built built[2];
	/* A fetch that came before its entry was built; index plus one. */
	uint64_t early_index, early_ps, early_record;
	bool early_wrong, early_published; /* its own thread had published it */
	bool early_beyond;                 /* nobody had published it, nor a later one */
	uint64_t published;                /* the last entry here that was published, index plus one */
	/* The last time that this slot was reserved, index plus one: by whom, with how many from which on, how often.
	 */
	uint64_t reserved, first;
	uint32_t reserver, count, times;
	uint32_t begun; /* the first word of a control segment, as a store laid it here */
	uint32_t laid;  /* index of the last entry that stores laid here, plus one; 0: none */
	/* The same, unwrapped, and whose stores they were. */
	uint64_t laid_index, laid_ps, laid_record;
	uint32_t laid_actor;
};

/* The last control segment that stores have laid into the ring, whoever made them. */
struct bf_mlx5_rule_laid {
	uint64_t index, at_ps, record;
	uint32_t actor;
};

/* What facts notice in a record. */
enum {
	BF_MLX5_TO_DBREC = 16,   /* store, store_visible: its place is a doorbell record's index */
	BF_MLX5_TO_ENTRY = 32,   /* store: it completes a control segment in the ring, bf_mlx5_rule_queue.laid */
	BF_MLX5_TOOK_EARLY = 64, /* store: more completions were taken than there are (polls.h) */
};

/* What was wrong with a fetched entry. */
enum bf_mlx5_rule_fetched {
	BF_MLX5_FETCHED_GOOD,
	BF_MLX5_FETCHED_OVERWRITTEN, /* a later lap's entry was there already */
	BF_MLX5_FETCHED_UNBUILT,     /* its own entry had not been built */
	BF_MLX5_FETCHED_LATE,        /* part of it was still in a store buffer */
	BF_MLX5_FETCHED_OTHER,       /* the device says its bytes are not those that belong there */
};

struct bf_mlx5_rule_fetch {
	uint64_t index;
	uint32_t blocks;
	enum bf_mlx5_rule_fetched what;
	uint64_t sampled_ps, record;    /* when its bytes left memory */
	uint64_t slot_va;               /* 0: not known */
	struct bf_mlx5_rule_built own;  /* index 0: none */
	struct bf_mlx5_rule_built over; /* OVERWRITTEN: by this one */
	struct bf_store late;           /* LATE */
};

/* A store into the doorbell record. */
struct bf_mlx5_rule_dbrec_store {
	struct bf_store store;
	uint16_t value;
	bool set, rang_before; /* its thread had rung the doorbell for this index before */
};

/* What a queue pair recorded as the responder (far.c). */
struct bf_mlx5_rule_answers {
	bool refused;
	uint64_t taken; /* messages that were carried out */
	uint8_t refused_nak, drop_why, drop_state, nak_syndrome;
	uint32_t refused_psn, drop_psn, drop_expected, nak_psn;
	uint64_t refused_ps, refused_record, drops, drop_ps, drop_record, first_drop_record, naks;
	char refused_why[33], drop_text[33];
};

/* The last times that it was told to wait for a receive and went back, with nothing done in between. */
struct bf_mlx5_rule_rnr {
	uint64_t times, first_ps, first_record, last_ps, last_record;
	uint32_t psn;
};

/* Two threads laid an entry of the same index: the first time. */
struct bf_mlx5_rule_laid_twice {
	bool set;
	uint64_t index, first_ps, first_record, ps;
	uint32_t first, second;
};

struct bf_mlx5_rule_queue {
	struct bf_ring *ring, *dbrec_ring;
	uint64_t sq;                     /* where the device has the ring; 0: not known */
	struct bf_mlx5_rule_slot *slots; /* owned */
	uint32_t depth;
	bool driver_speaks; /* it says which entries it has built */
	bool assumed;       /* `ring` is what the device has, and the driver has not said otherwise */
	bool rung;          /* a thread whose stores are recorded has rung for it */
	struct bf_mlx5_rule_laid laid;
	struct bf_mlx5_rule_laid_twice twice;
	uint64_t seen_done; /* entries below are complete, and some thread has seen their completions (polls.h) */
	struct bf_mlx5_rule_fetch fetch; /* the last one */
	/* The doorbell record as the device read it last. */
	struct {
		uint64_t at_ps, sampled_ps, record;
		uint16_t producer, doorbell;
		bool set;
	} dbrec;
	struct bf_mlx5_rule_dbrec_store most; /* the furthest index that was stored */
	struct bf_mlx5_rule_dbrec_store
	    swapped;                           /* one whose bytes stand in the CPU's order; `value` is what was meant */
	struct bf_mlx5_rule_dbrec_store after; /* the first one that the device has not looked at since */
	struct bf_mlx5_rule_dbrec_store receive; /* the last one into the receive word */
	/* GPUNetIO's driver says that it rings before it does: what it said last. */
	struct {
		bool first; /* it is such a driver */
		uint32_t actor;
		uint64_t record; /* 0: nothing yet */
		uint16_t value;
	} tells;
	bool dbrec_shown; /* a recorded store was visible there, or may have been before the place was known */
	/* How far the driver and the device have come. */
	struct bf_rule_way reserved, published, posted, fetched, done, polled;
	uint64_t doorbells;   /* that reached the device */
	uint16_t cqe_counter; /* of the last completion */
	uint8_t cqe_verdict, cqe_opcode, cqe_syndrome;
	uint64_t cqe_record, cqes;
	/* The first error completion; syndrome 0: none. */
	uint64_t error_index, error_ps, error_record;
	uint8_t error_syndrome;
	/* Configuration. */
	bool configured, connected;
	uint64_t again_record; /* the first time that it sent anew; 0: it has not */
	uint64_t made;         /* the record that told of it: its memory may have been another's before. 0: not known */
	uint32_t send_cqn, pd, remote_qpn, remote_ipv4, ipv4, max_reads, max_answers, retries, rnr_retries, timeout,
	    mtu, access;
	uint8_t state;
	bool failed;      /* it has had an error */
	bool destroyed;   /* by its owner */
	uint64_t covered; /* entries below are covered by a completion */
	bool started;     /* then these are the PSNs of its packets so far, the last one excluded */
	uint32_t first_psn, end_psn;
	uint32_t lkey; /* of the entry that started last */
	struct bf_mlx5_rule_rnr rnr;
	uint64_t sent; /* messages of its own, WRITE or SEND, that were acknowledged; none counts after a reset */
	uint64_t dbrec_stored, dbrec_read; /* its send word: where the driver stores it, where the device reads it */
	bool was_reset;
	bool begins;  /* it was reset, and its driver has said nothing since */
	bool moved;   /* its traffic goes by another one */
	bool waits;   /* it has WAITs: what it does behind them is what somebody waits for, not its completions */
	bool stopped; /* a command moved it to error: what is flushed then is no error */
	struct bf_mlx5_rule_answers answers;
};

extern const struct bf_rule_family bf_rules_mlx5;

static inline struct bf_mlx5_rule_queue *bf_mlx5_rule_of(const struct bf_rule_queue *q)
{
	return bf_rule_facts(q);
}

/*
 * No thread of the run fences for anybody outside its block, and this one has fenced after `record`: the reason why its
 * stores are late. Known at the end only.
 */
bool bf_mlx5_rule_fences_in_block(struct bf_rules *r, uint32_t actor, uint64_t record);

/* At the end: all threads of the run have ended. False, too, where nobody says so, as with real threads. */
bool bf_mlx5_rule_all_ended(struct bf_rules *r);

/* The thread of the PE that waits longest for a completion, and has not ended; NULL. Known at the end only. */
struct bf_machine_thread;
const struct bf_machine_thread *bf_mlx5_rule_completion_awaited(struct bf_rules *r, uint32_t pe);

/* Whether what a thread says that it waits for is a completion. */
bool bf_mlx5_rule_is_completion(const char *what);

/* "WQE 3 of QP 0x101 on PE 0". */
struct bf_mlx5_rule_name {
	char text[64];
};
struct bf_mlx5_rule_name bf_mlx5_rule_entry(const struct bf_rule_queue *q, uint64_t index);

/* A qp_error record: finds the requester's entry that failed with `syndrome`; `more` ends the sentence. */
void bf_mlx5_rule_failed_with(struct bf_rule_run *r, const struct bf_seen *e, uint32_t syndrome, const char *more);

/* Both rules about entries that were announced before they were written: which of them is up to whose word it was. */
void bf_mlx5_rule_early_build(struct bf_rule_run *r, const struct bf_seen *e, bool published);

/* What an error syndrome of a completion means. */
const char *bf_mlx5_rule_syndrome(uint64_t syndrome);

#endif
