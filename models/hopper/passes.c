/*
 * Waits whose lanes name several barriers (row kinds wake_lanes, park_shape): the unit looks at one barrier a pass. An
 * instruction's passes are lane_test apart, or come later when others' stand before them, and each sees its barrier as
 * it is then. A sub-partition has one such instruction under way: the next one's first pass comes behind its last.
 * Passes of the four sub-partitions go in between each other, each of them takes the unit for test_op. Other
 * instructions of the sub-partition wait for the one under way, but not for those behind it.
 *
 * A warp branches on its answer, and the branch is behind the waits that stand in the queue by then: of warps that ask
 * together, all go on when the last one has its answer.
 */
#include "models/hopper/unit_internal.h"

static struct bf_sync_instr **queue_of(struct bf_sync_unit *u, const struct bf_sync_instr *in)
{
	return &u->passing[in->warp % BF_SYNC_PARTS];
}

/* `in` has had its last pass: the next one of its sub-partition begins at `at_ps`. */
static void next_one(struct bf_sync_unit *u, struct bf_sync_instr *in, uint64_t at_ps)
{
	struct bf_sync_instr **queue = queue_of(u, in);

	*queue = in->next_waiter;
	if (*queue)
		bf_sim_at(u->sim, &(*queue)->event, at_ps);
}

/* Those that `in` holds up go on with it. */
static void release_held(struct bf_sync_unit *u, struct bf_sync_instr *in, uint64_t start_ps, uint64_t done_ps)
{
	for (struct bf_sync_instr *held = in->held, *next; held; held = next) {
		next = held->next_waiter;
		held->killed = u->killed;
		if (u->killed)
			bf_sync_finish(u, held, done_ps);
		else
			bf_sync_answer(u, held, start_ps, done_ps);
	}
}

/* `in` has its answer, and goes on behind `queue`, of which the last one holds it. */
static void hold(struct bf_sync_instr *in, struct bf_sync_instr *queue)
{
	struct bf_sync_instr **end;

	while (queue->next_waiter)
		queue = queue->next_waiter;
	for (end = &queue->held; *end; end = &(*end)->next_waiter)
		;
	in->next_waiter = NULL;
	*end = in;
}

static void pass(struct bf_event *ev)
{
	struct bf_sync_instr *in = BF_CONTAINER_OF(ev, struct bf_sync_instr, event);
	struct bf_sync_unit *u = in->unit;
	const uint64_t now = u->sim->now_ps, start = u->free_ps > now ? u->free_ps : now;
	const uint32_t same = bf_sync_same_barrier(in, in->left);
	struct bf_sync_instr *queue;
	uint64_t done;
	bool hit;

	if (u->killed) {
		in->killed = true;
		next_one(u, in, now);
		release_held(u, in, now, now);
		bf_sync_finish(u, in, now);
		return;
	}
	u->free_ps = start + u->t.test_op;
	if (!bf_sync_wait_barrier(u, in, same, start, &hit)) {
		next_one(u, in, start + u->t.lane_test);
		release_held(u, in, start, start + u->t.test);
		bf_sync_finish(u, in, start + u->t.test);
		return;
	}
	if (in->left == in->active)
		in->late_ps = hit ? 0 : u->t.miss;
	in->left &= ~same;
	if (in->left) {
		bf_sim_at(u->sim, ev, start + u->t.lane_test);
		return;
	}
	queue = in->next_waiter;
	next_one(u, in, start + u->t.lane_test);
	done = start + in->late_ps + u->t.test;
	release_held(u, in, start, done);
	if (queue)
		hold(in, queue);
	else
		bf_sync_answer(u, in, start, done);
}

uint64_t bf_sync_behind(const struct bf_sync_unit *u, const struct bf_sync_instr *in)
{
	const struct bf_sync_instr *busy = u->passing[in->warp % BF_SYNC_PARTS];
	uint64_t passes = 0, parts = 0, each;

	for (uint32_t left = busy->left; left; left &= ~bf_sync_same_barrier(busy, left))
		passes++;
	for (uint32_t p = 0; p < BF_SYNC_PARTS; p++)
		parts += u->passing[p] != NULL;
	each = parts * u->t.test_op > u->t.lane_test ? parts * u->t.test_op : u->t.lane_test;
	return u->sim->now_ps + passes * each;
}

void bf_sync_passes(struct bf_sync_unit *u, struct bf_sync_instr *in)
{
	struct bf_sync_instr **end = queue_of(u, in);
	const bool first = !*end;

	in->left = in->active;
	in->next_waiter = in->held = NULL;
	bf_event_init(&in->event, pass);
	while (*end)
		end = &(*end)->next_waiter;
	*end = in;
	if (first)
		bf_sim_at(u->sim, &in->event, u->sim->now_ps);
}
