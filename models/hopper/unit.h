/*
 * The sync unit (SYNCS) of one SM: mbarrier operations in shared memory, the barrier cache, the try-wait buffer.
 *
 * Granularity is one warp instruction: the lanes of `active` do one operation, each on its own address. Nothing of the
 * warp is modelled but that it issues and that it gets results: who issues is anything with a callback (program.h's
 * warps, agents, a bench).
 *
 * Order. The unit takes instructions, remote requests and signals of copies in the order in which they reach it, and
 * that order is all there is to its values: so the effect of an instruction on words happens inside bf_sync_issue(),
 * while its results and wake-ups come at their times. Waits alone, whose lanes name several barriers, look at them one
 * after the other. (A look from outside the simulation therefore sees a word as much
 * as the length of the unit's queue too early; no instruction can.)
 *
 * Sources: what an H200 did when it was measured (traces/samples/hopper_*_h200), PTX ISA 9.0 section 9.7.13.15, and
 * US20230289242A1 for the `patent` profile; fact by fact in docs/hardware/hopper.md. One thread: the simulation's.
 */
#ifndef BELFRY_MODELS_HOPPER_UNIT_H
#define BELFRY_MODELS_HOPPER_UNIT_H

#include "models/hopper/profile.h"
#include "models/hopper/word.h"
#include "sim/sim.h"

#define BF_WARP_LANES 32u

/* Operations on barriers, and plain accesses of shared memory (which know nothing of the barrier cache). */
enum bf_sync_op {
	BF_SYNC_INIT,        /* count */
	BF_SYNC_INVAL,       /* the word is written back and leaves the cache */
	BF_SYNC_ARRIVE,      /* count arrivals after tx more bytes are expected; token out */
	BF_SYNC_ARRIVE_DROP, /* the same, and for good */
	BF_SYNC_EXPECT_TX,   /* tx */
	BF_SYNC_COMPLETE_TX, /* tx */
	BF_SYNC_TEST_PARITY, /* count = parity; result out */
	BF_SYNC_TEST_STATE,  /* token in; result out */
	BF_SYNC_TRY_PARITY,  /* the same, but may park */
	BF_SYNC_TRY_STATE,
	BF_SYNC_ST_ASYNC, /* remote store of `tx` bytes (4, 8) of token to `data`, then complete_tx at `address` */
	BF_SYNC_LOAD,     /* plain 64-bit load: token out */
	BF_SYNC_STORE,    /* plain 64-bit store of token */
	BF_SYNC_ADD,      /* plain 64-bit atomic add of token; old value out */
	BF_SYNC_OPS
};
const char *bf_sync_op_name(enum bf_sync_op op); /* "arrive_drop" */

struct bf_sync_unit;

/*
 * How data that arrive are combined with what lies there: of an asynchronous reduction (red.async,
 * cp.reduce.async.bulk). `how` is the issuer's; `shared`: the destination is shared memory. Whole elements, aligned.
 */
typedef void bf_hopper_combine_fn(uint32_t how, bool shared, void *at, const void *data, uint32_t len);

/*
 * One warp instruction. The issuer owns it, fills in the first part, and keeps it until `done`; with no `done` (nobody
 * uses a result; not for try_wait) it may be reused as soon as the issuing call has returned.
 */
struct bf_sync_instr {
	uint8_t op;      /* enum bf_sync_op */
	bool release;    /* .release or .acquire at cluster scope; CTA scope costs nothing and needs no flag */
	bool hinted;     /* try_wait has a suspendTimeHint (its value changes nothing) */
	uint8_t warp;    /* slot of the SM (bf_hopper_cta_slot()); its sub-partition is the slot modulo 4 */
	uint32_t active; /* lanes that are in this instruction */
	uint32_t exited; /* lanes of the warp that are gone for good: only active | exited == all may park */
	void (*done)(struct bf_sync_instr *instr);

	uint32_t address[BF_WARP_LANES]; /* of the barrier (or plain word): 8-byte aligned */
	uint32_t count[BF_WARP_LANES];
	uint32_t tx[BF_WARP_LANES];
	uint32_t data[BF_WARP_LANES];
	uint64_t token[BF_WARP_LANES];
	bf_hopper_combine_fn *combine; /* ST_ASYNC: NULL, or its data do not replace what is there */
	uint32_t how;                  /* ... first argument */

	uint32_t
	    base; /* where the block's window lies in the SM's shared memory: added to the low 24 bits of addresses */

	/* Results, valid in `done`. */
	uint32_t result; /* lanes whose wait is over */
	uint8_t fault;   /* enum bf_mbar_fault: no lane has a result */
	uint8_t fault_lane;
	bool killed;          /* another instruction's fault has ended the kernel */
	bool parked;          /* the wait held an entry of the try-wait buffer */
	uint64_t next_ps;     /* set before the issuing call returns: when this warp may issue again */
	uint64_t operands_ps; /* ... and when the registers of its operands may be written again */

	/* The unit's. */
	struct bf_event event;
	struct bf_sync_unit *unit;
	struct bf_sync_instr *next_waiter, **waiter_link;
	uint64_t limit_ps;
	uint32_t left;              /* of a wait on several barriers: lanes that have not had their look */
	uint64_t late_ps;           /* ... a miss of the first one */
	struct bf_sync_instr *held; /* ... those that have had theirs, and whose warps go on when this one has */
	uint64_t flip_ps, wake_ps;  /* once `called`: when its phase is over; from being found to its turn */
	bool called;
};

/* How a fault is told: the instruction has `fault` set. Before `done`; the unit does nothing more. */
typedef void bf_sync_fault_fn(void *arg, struct bf_sync_unit *unit, const struct bf_sync_instr *instr);

/* A barrier of the unit has completed a phase, just now; for who does not wait in the unit. `address` in the SM's
 * memory. */
typedef void bf_sync_phase_fn(void *arg, struct bf_sync_unit *unit, uint32_t address);

struct bf_sync_opts {
	const struct bf_hopper_profile *profile; /* borrowed */
	uint8_t *shared;                         /* the SM's shared memory, profile->shared_bytes, borrowed */
	uint32_t actor;                          /* of records */
	bf_sync_fault_fn *fault;                 /* may be NULL */
	bf_sync_phase_fn *phase;                 /* likewise */
	void *arg;
};

/* Returns 0, -ENOMEM, or -EINVAL with sim->error set when the profile's values are out of range. */
int bf_sync_create(struct bf_sim *sim, const struct bf_sync_opts *opts, struct bf_sync_unit **out);
void bf_sync_destroy(struct bf_sync_unit *unit);

/*
 * Issues `instr` now. Addresses are in the window at `base`, within shared memory (the caller has checked) and aligned.
 * Results come by `done` at their time, never from inside this call.
 */
void bf_sync_issue(struct bf_sync_unit *unit, struct bf_sync_instr *instr);

/*
 * The same for an instruction of which only the lanes `own` are for this unit: the others have left for other SMs, the
 * last of them at `sent_ps`.
 */
void bf_sync_issue_sent(struct bf_sync_unit *unit, struct bf_sync_instr *instr, uint32_t own, uint64_t sent_ps);

/*
 * A request that is no instruction of this SM reaches the unit now: a remote operation (INIT, waits and plain accesses
 * are not possible), or the signal of a copy (COMPLETE_TX, or ARRIVE of an Ampere-style copy). `from` is the warp that
 * caused it, for reports. Returns when the unit has done it, or 0 when it faulted (opts.fault was not called).
 */
uint64_t bf_sync_update(struct bf_sync_unit *unit, enum bf_sync_op op, uint32_t address, uint32_t count, uint32_t tx,
			uint32_t from, enum bf_mbar_fault *fault);

/* Drops cached lines of the range without writing them back, and its waiters: what a CTA's exit does. */
void bf_sync_drop(struct bf_sync_unit *unit, uint32_t address, uint32_t bytes);

/* Ends everything: waiters and later instructions get `killed`. */
void bf_sync_kill(struct bf_sync_unit *unit);

/* The word as the unit has it, and whether from its cache (may be NULL); for reports and tests. Not a use. */
uint64_t bf_sync_peek(const struct bf_sync_unit *unit, uint32_t address, bool *cached);

/* Who waits in the try-wait buffer, in order of parking; NULL after the last. */
const struct bf_sync_instr *bf_sync_waiter(const struct bf_sync_unit *unit, uint32_t index);

struct bf_sync_counts {
	uint64_t instrs; /* warp instructions issued */
	uint64_t ops;    /* barrier operations: lanes of them, and updates */
	uint64_t hits, misses, evictions;
	uint64_t merged;    /* arrivals that joined one waiting for the unit */
	uint64_t completed; /* phases */
	uint64_t parked, refused, expired, woken;
	uint64_t faults;
};
const struct bf_sync_counts *bf_sync_counts(const struct bf_sync_unit *unit);

/* What a barrier's word does not say: for reports. `warp` is UINT32_MAX when nobody has arrived since init. */
struct bf_sync_history {
	uint64_t when_ps; /* of the last arrival */
	uint32_t warp;    /* that made it: a slot; of another SM when `remote` */
	uint32_t phases;  /* completed since init */
	bool remote;
};
struct bf_sync_history bf_sync_history(const struct bf_sync_unit *unit, uint32_t address);

#endif
