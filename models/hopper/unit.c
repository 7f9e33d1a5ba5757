#include "models/hopper/unit.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/hopper/records.h"
#include "models/hopper/unit_internal.h"

const char *bf_sync_op_name(enum bf_sync_op op)
{
	static const char *const names[BF_SYNC_OPS] = {
		"init",
		"inval",
		"arrive",
		"arrive_drop",
		"expect_tx",
		"complete_tx",
		"test_wait.parity",
		"test_wait",
		"try_wait.parity",
		"try_wait",
		"st.async",
		"load",
		"store",
		"add",
	};

	return (unsigned)op < BF_SYNC_OPS ? names[op] : "?";
}

/* ---- life ---- */

static void set_times(struct bf_sync_unit *u)
{
	const struct bf_hopper_profile *p = u->profile;
	const struct {
		uint64_t *ps;
		uint32_t mc;
	} times[] = {
		{ &u->t.limit, p->limit_mc },
		{ &u->t.limit_next, p->limit_next_mc },
		{ &u->t.arrive, p->arrive_mc },
		{ &u->t.test, p->test_mc },
		{ &u->t.init, p->init_mc },
		{ &u->t.expect, p->expect_mc },
		{ &u->t.refuse, p->refuse_mc },
		{ &u->t.refuse_op, p->refuse_op_mc },
		{ &u->t.wake_op, p->wake_op_mc },
		{ &u->t.miss, p->miss_mc },
		{ &u->t.ahead, p->ahead_mc },
		{ &u->t.enter, p->enter_mc },
		{ &u->t.op, p->op_mc },
		{ &u->t.lane, p->lane_mc },
		{ &u->t.lane_test, p->lane_test_mc },
		{ &u->t.test_op, p->test_op_mc },
		{ &u->t.merge, p->merge_mc },
		{ &u->t.operands, p->operands_mc },
		{ &u->t.remote_issue, p->remote_issue_mc },
		{ &u->t.remote_operands, p->remote_operands_mc },
		{ &u->t.issue, p->issue_mc },
		{ &u->t.load, p->load_mc },
		{ &u->t.atomic, p->atomic_mc },
		{ &u->t.recv, p->remote_recv_mc },
		{ &u->t.wake, p->wake_mc },
		{ &u->t.wake_begin, p->wake_begin_mc },
		{ &u->t.wake_again, p->wake_again_mc },
		{ &u->t.wake_found, p->wake_found_mc },
		{ &u->t.wake_join, p->wake_join_mc },
		{ &u->t.wake_scan, p->wake_scan_mc },
		{ &u->t.wake_next, p->wake_next_mc },
		{ &u->t.wake_part, p->wake_part_mc },
		{ &u->t.hint_true, p->hint_true_mc },
		{ &u->t.hint_false, p->hint_false_mc },
		{ &u->t.acquire, p->acquire_cluster_mc },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(times); i++)
		*times[i].ps = (uint64_t)times[i].mc * p->cycle_ps / 1000;
	u->t.wake_scan += u->t.wake_scan == 0;
	u->t.tick = (uint64_t)p->tick_cycles * p->cycle_ps;
}

int bf_sync_create(struct bf_sim *sim, const struct bf_sync_opts *opts, struct bf_sync_unit **out)
{
	const struct bf_hopper_profile *p = opts->profile;
	struct bf_sync_unit *u;
	int rc = bf_hopper_profile_check(p, &sim->error);

	if (rc)
		return rc;
	u = calloc(1, sizeof(*u));
	if (u) {
		u->line_of = calloc(p->shared_bytes / p->cache_line_bytes, 1);
		u->note = calloc(p->shared_bytes / 8, sizeof(*u->note));
	}
	if (!u || !u->line_of || !u->note) {
		bf_sync_destroy(u);
		return bf_fail(&sim->error, -ENOMEM, "out of memory");
	}
	u->sim = sim;
	u->profile = p;
	u->shared = opts->shared;
	u->opts = *opts;
	u->shift = (uint32_t)__builtin_ctz(p->cache_line_bytes);
	set_times(u);
	bf_sync_pool_init(u);
	*out = u;
	return 0;
}

void bf_sync_destroy(struct bf_sync_unit *u)
{
	if (!u)
		return;
	if (u->sim) {
		bf_sim_cancel(u->sim, &u->limit);
		bf_sim_cancel(u->sim, &u->search);
	}
	free(u->line_of);
	free(u->note);
	free(u);
}

/* ---- results ---- */

static void fire_done(struct bf_event *ev)
{
	struct bf_sync_instr *in = BF_CONTAINER_OF(ev, struct bf_sync_instr, event);

	in->done(in);
}

void bf_sync_finish(struct bf_sync_unit *u, struct bf_sync_instr *in, uint64_t at_ps)
{
	if (!in->done)
		return;
	bf_event_init(&in->event, fire_done);
	bf_sim_at(u->sim, &in->event, at_ps);
}

static void raise_fault(struct bf_sync_unit *u, struct bf_sync_instr *in, enum bf_mbar_fault fault, uint32_t lane)
{
	in->fault = (uint8_t)fault;
	in->fault_lane = (uint8_t)lane;
	u->counts.faults++;
	if (u->opts.fault)
		u->opts.fault(u->opts.arg, u, in);
}

/* ---- one barrier ---- */

/* What an operation does to a word: lanes, and requests from outside, differ only in where their operands are. */
struct operand {
	enum bf_sync_op op;
	uint32_t count, tx;
	uint64_t token;
};

static enum bf_mbar_fault apply(uint64_t *word, const struct operand *o, bool *flipped, bool *over)
{
	switch (o->op) {
	case BF_SYNC_INIT:
		return bf_mbar_init(word, o->count);
	case BF_SYNC_ARRIVE:
	case BF_SYNC_ARRIVE_DROP:
		return bf_mbar_arrive(word, o->count, o->op == BF_SYNC_ARRIVE_DROP, o->tx, flipped);
	case BF_SYNC_EXPECT_TX:
		return bf_mbar_expect_tx(word, o->tx, flipped);
	case BF_SYNC_COMPLETE_TX:
		return bf_mbar_complete_tx(word, o->tx, flipped);
	case BF_SYNC_TEST_PARITY:
	case BF_SYNC_TRY_PARITY:
		return bf_mbar_test_parity(*word, o->count, over);
	case BF_SYNC_TEST_STATE:
	case BF_SYNC_TRY_STATE:
		return bf_mbar_test_state(*word, o->token, over);
	default:
		return BF_MBAR_OK;
	}
}

static void note_op(struct bf_sync_unit *u, uint32_t address, enum bf_sync_op op, uint32_t warp, bool remote)
{
	struct bf_sync_note *n = &u->note[address / 8];

	if (op == BF_SYNC_INIT) {
		*n = (struct bf_sync_note){ 0 };
	} else if (op == BF_SYNC_ARRIVE || op == BF_SYNC_ARRIVE_DROP) {
		n->when_ps = u->sim->now_ps;
		n->warp = (uint16_t)(warp + 1);
		n->remote = remote;
	}
}

static void tell_phase(struct bf_sync_unit *u, uint32_t address, uint32_t flips)
{
	if (flips && u->opts.phase)
		u->opts.phase(u->opts.arg, u, address);
}

static bool changes(enum bf_sync_op op)
{
	return op <= BF_SYNC_COMPLETE_TX && op != BF_SYNC_INVAL;
}

static void record_op(const struct bf_sync_unit *u, const struct bf_rec_hopper_op *r)
{
	bf_record(&u->sim->rec, &bf_rec_hopper_op_schema, u->opts.actor, r, NULL, 0);
}

/*
 * The lanes `lanes` of `in`, which name one barrier, in order of lane. `*flips` counts completed phases. Each lane's
 * token is the word before its own arrival, as if the lanes came one after the other.
 */
static enum bf_mbar_fault do_barrier(struct bf_sync_unit *u, struct bf_sync_instr *in, uint32_t lanes, uint64_t at_ps,
				     bool *hit, uint32_t *flips)
{
	const uint32_t first = (uint32_t)__builtin_ctz(lanes), address = bf_sync_lane_address(in, first);
	const enum bf_sync_op op = (enum bf_sync_op)in->op;
	uint64_t *word = bf_sync_cache_use(u, address, hit);
	const uint64_t before = *word;

	*flips = 0;
	for (uint32_t left = lanes; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		const struct operand o = { op, in->count[lane], in->tx[lane], in->token[lane] };
		const uint64_t token = *word;
		bool flipped = false, over = false;
		const enum bf_mbar_fault fault = apply(word, &o, &flipped, &over);

		if (BF_UNLIKELY(fault)) {
			in->fault_lane = (uint8_t)lane;
			return fault;
		}
		if (op == BF_SYNC_ARRIVE || op == BF_SYNC_ARRIVE_DROP)
			in->token[lane] = token;
		in->result |= (uint32_t)over << lane;
		*flips += flipped;
		u->counts.ops++;
	}
	if (changes(op)) {
		bf_sync_cache_dirty(u, address);
		note_op(u, address, op, in->warp, false);
		u->note[address / 8].phases += *flips;
		u->counts.completed += *flips;
		tell_phase(u, address, *flips);
	}
	if (bf_probe(u->sim, BF_CLASS_QUEUE)) {
		const struct bf_rec_hopper_op r = {
			.before = before,
			.after = *word,
			.at_ps = at_ps,
			.address = address,
			.warp = in->warp,
			.lanes = lanes,
			.count = in->count[first],
			.tx = in->tx[first],
			.op = in->op,
			.result = (in->result & lanes) != 0,
			.hit = *hit,
		};

		record_op(u, &r);
	}
	return BF_MBAR_OK;
}

uint32_t bf_sync_same_barrier(const struct bf_sync_instr *in, uint32_t lanes)
{
	const uint32_t address = in->address[__builtin_ctz(lanes)];
	uint32_t same = 0;

	for (uint32_t left = lanes; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		same |= (uint32_t)(in->address[lane] == address) << lane;
	}
	return same;
}

/* ---- the unit's time ---- */

static bool is_wait(enum bf_sync_op op)
{
	return op >= BF_SYNC_TEST_PARITY && op <= BF_SYNC_TRY_STATE;
}

/*
 * When the unit takes an instruction that comes now. An arrival whose barrier is that of the last operation waiting for
 * the unit joins it (row kinds arrive_throughput, merge).
 */
static uint64_t take_turn(struct bf_sync_unit *u, const struct bf_sync_instr *in, uint32_t lanes)
{
	const uint64_t now = u->sim->now_ps;
	const uint32_t address = bf_sync_lane_address(in, (uint32_t)__builtin_ctz(lanes));

	if (in->op == BF_SYNC_ARRIVE && u->tail_start_ps > now && u->tail_address == address) {
		u->free_ps += u->t.merge;
		u->counts.merged++;
		return u->tail_start_ps;
	}
	u->tail_start_ps = u->free_ps > now ? u->free_ps : now;
	if (is_wait((enum bf_sync_op)in->op)) {
		u->tail_start_ps = u->waking_ps > u->tail_start_ps ? u->waking_ps : u->tail_start_ps;
		u->tail_address = UINT32_MAX;
		u->free_ps = (u->free_ps > now ? u->free_ps : now) + u->t.test_op;
		return u->tail_start_ps;
	}
	u->tail_address = in->op == BF_SYNC_ARRIVE ? address : UINT32_MAX;
	u->free_ps = u->tail_start_ps + u->t.op;
	return u->tail_start_ps;
}

/* From the unit's turn to the result, without misses and further barriers. */
static uint64_t latency(const struct bf_sync_unit *u, enum bf_sync_op op)
{
	switch (op) {
	case BF_SYNC_INIT:
	case BF_SYNC_INVAL:
		return u->t.init;
	case BF_SYNC_EXPECT_TX:
	case BF_SYNC_COMPLETE_TX:
		return u->t.expect;
	case BF_SYNC_ARRIVE:
	case BF_SYNC_ARRIVE_DROP:
		return u->t.arrive;
	default:
		return u->t.test;
	}
}

/* ---- plain accesses ---- */

static void plain(struct bf_sync_unit *u, struct bf_sync_instr *in, uint32_t lanes)
{
	const uint64_t now = u->sim->now_ps;

	for (uint32_t left = lanes; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		uint8_t *p = u->shared + bf_sync_lane_address(in, lane);
		uint64_t old, sum;

		memcpy(&old, p, 8);
		sum = in->op == BF_SYNC_ADD ? old + in->token[lane] : in->token[lane];
		if (in->op != BF_SYNC_LOAD)
			memcpy(p, &sum, 8);
		if (in->op != BF_SYNC_STORE)
			in->token[lane] = old;
	}
	in->operands_ps = in->next_ps = now + u->t.issue;
	bf_sync_finish(u, in, now + (in->op == BF_SYNC_LOAD ? u->t.load : in->op == BF_SYNC_ADD ? u->t.atomic : 0));
}

/* ---- waits that may park ---- */

static bool same_phase(const struct bf_sync_instr *in, uint32_t a, uint32_t b)
{
	if (in->op == BF_SYNC_TRY_PARITY)
		return !((in->count[a] ^ in->count[b]) & 1);
	return bf_mbar_phase(in->token[a]) == bf_mbar_phase(in->token[b]);
}

/*
 * Every lane that has not exited must be in this instruction, all on one barrier and for one phase (row kind
 * park_shape).
 */
static bool may_park(const struct bf_sync_instr *in)
{
	const uint32_t first = bf_sync_first_lane(in);

	if ((in->active | in->exited) != UINT32_MAX)
		return false;
	for (uint32_t left = in->active; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		if (in->address[lane] != in->address[first] || !same_phase(in, lane, first))
			return false;
	}
	return true;
}

static bool tries(const struct bf_sync_instr *in)
{
	return in->op == BF_SYNC_TRY_PARITY || in->op == BF_SYNC_TRY_STATE;
}

void bf_sync_answer(struct bf_sync_unit *u, struct bf_sync_instr *in, uint64_t start_ps, uint64_t done_ps)
{
	if (tries(in) && in->result != in->active) {
		if (!in->result && may_park(in) && bf_sync_pool_park(u, in, start_ps))
			return;
		done_ps += u->t.refuse;
	}
	if (in->result && in->release)
		done_ps += u->t.acquire;
	bf_sync_finish(u, in, done_ps);
}

/* ---- instructions ---- */

bool bf_sync_wait_barrier(struct bf_sync_unit *u, struct bf_sync_instr *in, uint32_t lanes, uint64_t at_ps, bool *hit)
{
	uint32_t flips;
	const enum bf_mbar_fault fault = do_barrier(u, in, lanes, at_ps, hit, &flips);

	u->last_ps = u->sim->now_ps;
	if (BF_UNLIKELY(fault))
		raise_fault(u, in, fault, in->fault_lane);
	return !fault;
}

/*
 * When the last of `more` further barriers of an instruction is done: `lane` apart, if not those of other warps go in
 * between.
 */
static uint64_t again(struct bf_sync_unit *u, uint64_t start_ps, uint32_t more)
{
	const uint64_t alone = start_ps + more * u->t.lane;

	u->again_ps = (u->again_ps > start_ps ? u->again_ps : start_ps) + more * u->t.op;
	return u->again_ps > alone ? u->again_ps : alone;
}

/* Lanes of `lanes`, barrier after barrier: each further barrier takes its time, a miss takes more. */
static void do_lanes(struct bf_sync_unit *u, struct bf_sync_instr *in, uint32_t lanes)
{
	const enum bf_sync_op op = (enum bf_sync_op)in->op;
	const bool ahead = u->sim->now_ps - u->last_ps < u->t.ahead;
	uint32_t same = lanes & (lanes - 1) ? bf_sync_same_barrier(in, lanes) : lanes, more = 0;
	uint64_t start, at, extra = 0;

	if (is_wait(op) && same != lanes) {
		in->operands_ps = in->next_ps = u->sim->now_ps + u->t.operands;
		bf_sync_passes(u, in);
		return;
	}
	start = take_turn(u, in, lanes);
	if (BF_UNLIKELY(u->passing[in->warp % BF_SYNC_PARTS] != NULL)) {
		const uint64_t behind = bf_sync_behind(u, in);

		start = behind > start ? behind : start;
	}
	at = start;
	for (uint32_t left = lanes;;) {
		enum bf_mbar_fault fault;
		uint32_t flips;
		bool hit;

		fault = do_barrier(u, in, same, at, &hit, &flips);
		if (BF_UNLIKELY(fault)) {
			raise_fault(u, in, fault, in->fault_lane);
			bf_sync_finish(u, in, at + latency(u, op));
			return;
		}
		extra += hit || ahead || more ? 0 : u->t.miss;
		if (flips && u->parked)
			bf_sync_pool_wake(u, bf_sync_lane_address(in, (uint32_t)__builtin_ctz(same)), at + extra,
					  u->t.wake);
		if (op == BF_SYNC_INVAL)
			bf_sync_cache_remove(u, bf_sync_lane_address(in, (uint32_t)__builtin_ctz(same)), true);
		left &= ~same;
		if (!left)
			break;
		same = left & (left - 1) ? bf_sync_same_barrier(in, left) : left;
		at += u->t.lane;
		more++;
	}
	u->last_ps = u->sim->now_ps;
	if (more)
		at = again(u, start, more);
	in->operands_ps = at - start + u->sim->now_ps + u->t.operands;
	in->next_ps = at - start + (start > u->sim->now_ps + u->t.issue ? start : u->sim->now_ps + u->t.issue);
	if (is_wait(op))
		bf_sync_answer(u, in, start, at + extra + u->t.test);
	else
		bf_sync_finish(u, in, at + extra + latency(u, op));
}

void bf_sync_issue_sent(struct bf_sync_unit *u, struct bf_sync_instr *in, uint32_t own, uint64_t sent_ps)
{
	in->unit = u;
	in->fault = BF_MBAR_OK;
	in->killed = u->killed;
	in->parked = false;
	in->result = 0;
	if (BF_UNLIKELY(u->killed)) {
		in->operands_ps = in->next_ps = u->sim->now_ps;
		bf_sync_finish(u, in, u->sim->now_ps);
		return;
	}
	u->counts.instrs++;
	if (BF_LIKELY(own == in->active)) {
		if (BF_UNLIKELY(in->op >= BF_SYNC_LOAD))
			plain(u, in, own);
		else
			do_lanes(u, in, own);
		return;
	}
	/* Remote operations have no result: the instruction is over when its last request has left. */
	if (own)
		do_lanes(u, in, own);
	else
		bf_sync_finish(u, in, sent_ps);
	in->next_ps = u->sim->now_ps + u->t.remote_issue;
	in->next_ps = in->next_ps > sent_ps ? in->next_ps : sent_ps;
	in->operands_ps = sent_ps + u->t.remote_operands;
}

void bf_sync_issue(struct bf_sync_unit *u, struct bf_sync_instr *in)
{
	bf_sync_issue_sent(u, in, in->active, 0);
}

uint64_t bf_sync_update(struct bf_sync_unit *u, enum bf_sync_op op, uint32_t address, uint32_t count, uint32_t tx,
			uint32_t from, enum bf_mbar_fault *fault)
{
	const struct operand o = { op, count, tx, 0 };
	const uint64_t now = u->sim->now_ps, start = u->recv_ps > now ? u->recv_ps : now;
	uint64_t before, *word;
	bool hit, flipped = false, over;

	*fault = BF_MBAR_OK;
	if (u->killed)
		return now;
	word = bf_sync_cache_use(u, address, &hit);
	before = *word;
	*fault = apply(word, &o, &flipped, &over);
	if (*fault) {
		u->counts.faults++;
		return 0;
	}
	bf_sync_cache_dirty(u, address);
	note_op(u, address, op, from, true);
	u->note[address / 8].phases += flipped;
	u->counts.completed += flipped;
	tell_phase(u, address, flipped);
	u->counts.ops++;
	u->recv_ps = start + u->t.recv;
	if (bf_probe(u->sim, BF_CLASS_QUEUE)) {
		const struct bf_rec_hopper_op r = {
			.before = before,
			.after = *word,
			.at_ps = start,
			.address = address,
			.warp = from,
			.count = count,
			.tx = tx,
			.op = (uint8_t)op,
			.hit = hit,
			.remote = 1,
		};

		record_op(u, &r);
	}
	if (flipped && u->parked)
		bf_sync_pool_wake(u, address, start + (hit ? 0 : u->t.miss), u->t.wake - u->t.enter);
	return start + u->t.recv;
}

/* ---- the end of a block, and of everything ---- */

void bf_sync_drop(struct bf_sync_unit *u, uint32_t address, uint32_t bytes)
{
	for (uint32_t i = u->lines; i-- > 0;)
		if ((u->line[i].tag << u->shift) - address < bytes)
			bf_sync_cache_remove(u, u->line[i].tag << u->shift, false);
	if (u->parked)
		bf_sync_pool_evict(u, address, bytes, true);
}

void bf_sync_kill(struct bf_sync_unit *u)
{
	u->killed = true;
	if (u->parked)
		bf_sync_pool_evict(u, 0, UINT32_MAX, true);
}

/* ---- looking in ---- */

uint64_t bf_sync_peek(const struct bf_sync_unit *u, uint32_t address, bool *cached)
{
	const uint32_t at = u->line_of[address >> u->shift];
	uint64_t word;

	if (cached)
		*cached = at != 0;
	if (at)
		return u->line[at - 1].word[address >> 3 & ((1u << (u->shift - 3)) - 1)];
	memcpy(&word, u->shared + address, 8);
	return word;
}

const struct bf_sync_counts *bf_sync_counts(const struct bf_sync_unit *u)
{
	return &u->counts;
}

struct bf_sync_history bf_sync_history(const struct bf_sync_unit *u, uint32_t address)
{
	const struct bf_sync_note *n = &u->note[address / 8];

	return (struct bf_sync_history){
		.when_ps = n->when_ps,
		.warp = n->warp ? n->warp - 1u : UINT32_MAX,
		.phases = n->phases,
		.remote = n->remote,
	};
}
