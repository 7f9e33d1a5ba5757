#include <errno.h>

#include "tools/timing/rdma_internal.h"

#define LIMIT_PS (10 * BF_S)
#define ROUNDS 2u /* the first warms nothing up, but fills queues: it does not count */
#define RATE_BYTES (12u << 20)
#define RATE_LEAST 24u
#define RATE_MOST 1800u
#define CQ_MODERATION 100u /* perftest's default: one signalled entry of so many */

/* How often somebody who waits looks: often against what is waited for, and not at all for nothing. */
static uint64_t look_again(uint64_t since_ps, uint64_t now_ps)
{
	uint64_t step = (now_ps - since_ps) / 512;

	return step < 2 * BF_NS ? 2 * BF_NS : step;
}

static int run_sim(struct bf_perf_pair *p, const char *what)
{
	enum bf_run_end end = bf_sim_run(p->sim, p->sim->now_ps + LIMIT_PS);

	if (p->err->code)
		return p->err->code;
	if (end != BF_RUN_STOPPED)
		return bf_fail(p->err, -ETIMEDOUT, "%s did not end", what);
	return 0;
}

/* ---- one message after the other ---- */

struct solo {
	struct bf_perf_pair pair;
	struct bf_event event;
	uint64_t since_ps, sum_ps;
	uint32_t rounds;
	bool posted;
};

static void solo_step(struct bf_event *ev)
{
	struct solo *s = BF_CONTAINER_OF(ev, struct solo, event);
	struct bf_sim *sim = s->pair.sim;
	int n;

	if (!s->posted) {
		s->posted = true;
		bf_perf_post(&s->pair, 0, 0, true, (uint8_t)s->rounds);
		bf_sim_after(sim, ev, 2 * BF_NS);
		return;
	}
	n = bf_perf_sends_done(&s->pair, 0, 0);
	if (n < 0) {
		bf_sim_stop(sim);
	} else if (!n) {
		bf_sim_after(sim, ev, look_again(s->since_ps, sim->now_ps));
	} else {
		const uint64_t took = sim->now_ps + s->pair.run.poll_ps - s->since_ps;

		if (s->rounds)
			s->sum_ps += took;
		if (++s->rounds == ROUNDS) {
			bf_sim_stop(sim);
			return;
		}
		s->posted = false;
		s->since_ps = sim->now_ps + s->pair.run.poll_ps;
		if (s->pair.run.op == BF_PERF_SEND || s->pair.run.op == BF_PERF_WRITE_IMM)
			bf_perf_post_recv(&s->pair, 1, 0);
		bf_sim_after(sim, ev, s->pair.run.poll_ps + s->pair.run.post_ps);
	}
}

int bf_perf_completion(const struct bf_perf_run *run, uint64_t *ps, struct bf_error *err)
{
	struct solo s = { 0 };
	int rc = bf_perf_pair_open(&s.pair, run, err);

	if (rc)
		return rc;
	bf_perf_post_recv(&s.pair, 1, 0);
	bf_event_init(&s.event, solo_step);
	bf_sim_after(s.pair.sim, &s.event, run->post_ps);
	rc = run_sim(&s.pair, "a message");
	bf_sim_cancel(s.pair.sim, &s.event);
	*ps = s.sum_ps / (ROUNDS - 1);
	bf_perf_pair_close(&s.pair);
	return rc;
}

/* ---- two who answer each other ---- */

struct ping;
struct player {
	struct bf_event event;
	struct ping *ping;
	uint32_t me;
	uint8_t round;
	bool posts;
	uint64_t since_ps;
};
struct ping {
	struct bf_perf_pair pair;
	struct player player[2];
	uint64_t first_ps, last_ps;
};

/* Whether what the other one sent in this round has come. */
static int has_come(struct ping *g, const struct player *p)
{
	const struct bf_perf_node *n = &g->pair.node[p->me];
	const uint64_t size = g->pair.run.size;

	if (g->pair.run.op != BF_PERF_WRITE || !size)
		return bf_perf_recvs_done(&g->pair, p->me, 0);
	return n->in[size - 1] == p->round;
}

static void player_step(struct bf_event *ev)
{
	struct player *p = BF_CONTAINER_OF(ev, struct player, event);
	struct ping *g = p->ping;
	struct bf_sim *sim = g->pair.sim;
	int come;

	if (p->posts) {
		p->posts = false;
		bf_perf_post(&g->pair, p->me, 0, true, p->round);
		p->since_ps = sim->now_ps;
		p->round = (uint8_t)(p->round + (p->me ? 1 : 0));
		bf_sim_after(sim, ev, 2 * BF_NS);
		return;
	}
	come = has_come(g, p);
	if (come < 0) {
		bf_sim_stop(sim);
	} else if (!come) {
		bf_sim_after(sim, ev, look_again(p->since_ps, sim->now_ps));
	} else {
		bf_perf_post_recv(&g->pair, p->me, 0);
		if (bf_perf_sends_done(&g->pair, p->me, 0) < 0) {
			bf_sim_stop(sim);
			return;
		}
		if (!p->me) {
			if (p->round == 1)
				g->first_ps = sim->now_ps;
			g->last_ps = sim->now_ps;
			if (p->round++ == ROUNDS) {
				bf_sim_stop(sim);
				return;
			}
		}
		p->posts = true;
		bf_sim_after(sim, ev, g->pair.run.poll_ps + g->pair.run.post_ps);
	}
}

int bf_perf_half_round(const struct bf_perf_run *run, uint64_t *ps, struct bf_error *err)
{
	struct ping g = { 0 };
	int rc = bf_perf_pair_open(&g.pair, run, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < 2; i++) {
		g.player[i] = (struct player){ .ping = &g, .me = i, .round = 1, .posts = !i };
		bf_event_init(&g.player[i].event, player_step);
		bf_perf_post_recv(&g.pair, i, 0);
		bf_perf_post_recv(&g.pair, i, 0);
		bf_sim_after(g.pair.sim, &g.player[i].event, BF_NS);
	}
	rc = run_sim(&g.pair, "a round trip");
	for (uint32_t i = 0; i < 2; i++)
		bf_sim_cancel(g.pair.sim, &g.player[i].event);
	*ps = (g.last_ps - g.first_ps) / (2 * (ROUNDS - 1));
	bf_perf_pair_close(&g.pair);
	return rc;
}

/* ---- many under way ---- */

struct stream {
	struct bf_perf_pair pair;
	struct bf_event event;
	uint32_t next, every;
	uint64_t total, posted, done, count_from, from_done, from_ps, since_ps;
};

/* The next queue pair that has room, in turn; the number of queue pairs when none has. */
static uint32_t with_room(struct stream *s)
{
	const uint32_t n = s->pair.run.qps;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t q = (s->next + i) % n;
		const struct bf_perf_qp *qp = &s->pair.node[0].qp[q];

		if (qp->posted - qp->done < s->pair.run.depth)
			return q;
	}
	return n;
}

static int collect(struct stream *s)
{
	for (uint32_t q = 0; q < s->pair.run.qps; q++) {
		struct bf_perf_qp *qp = &s->pair.node[0].qp[q];
		int n = bf_perf_sends_done(&s->pair, 0, q);

		if (n < 0)
			return n;
		for (int i = 0; i < n; i++) {
			const uint64_t before = qp->done;

			qp->done = (before / s->every + 1) * s->every;
			s->done += qp->done - before;
		}
	}
	for (int n = bf_perf_recvs_done(&s->pair, 1, 0); n > 0; n--)
		bf_perf_post_recv(&s->pair, 1, 0);
	/* From when all queue pairs have done the same to when they have again: completions come in bunches. */
	if (!s->from_ps && s->done >= s->count_from && s->done % (s->every * s->pair.run.qps) == 0) {
		s->from_ps = s->pair.sim->now_ps;
		s->from_done = s->done;
	}
	return 0;
}

static void stream_step(struct bf_event *ev)
{
	struct stream *s = BF_CONTAINER_OF(ev, struct stream, event);
	struct bf_sim *sim = s->pair.sim;
	const uint64_t before = s->done;
	uint32_t q;

	if (collect(s) || s->done >= s->total) {
		bf_sim_stop(sim);
		return;
	}
	if (s->done != before)
		s->since_ps = sim->now_ps;
	q = with_room(s);
	if (q == s->pair.run.qps) {
		bf_sim_after(sim, ev, look_again(s->since_ps, sim->now_ps));
		return;
	}
	bf_perf_post(&s->pair, 0, q, (s->pair.node[0].qp[q].posted + 1) % s->every == 0, 1);
	s->next = q + 1;
	bf_sim_after(sim, ev, s->pair.run.interval_ps ? s->pair.run.interval_ps : BF_NS);
}

int bf_perf_interval(const struct bf_perf_run *run, uint64_t *ps, struct bf_error *err)
{
	struct stream s = { 0 };
	int rc = bf_perf_pair_open(&s.pair, run, err);
	uint64_t each;

	if (rc)
		return rc;
	each = s.pair.run.size ? RATE_BYTES / s.pair.run.size : RATE_MOST;
	each = each < RATE_LEAST ? RATE_LEAST : each > RATE_MOST ? RATE_MOST : each;
	s.every = s.pair.run.depth < CQ_MODERATION ? (s.pair.run.depth + 3) / 4 : CQ_MODERATION;
	if (s.every > each / 6)
		s.every = (uint32_t)(each / 6);
	s.total = each / s.every * s.every * s.pair.run.qps;
	s.count_from = s.total / 3;
	/* Receives first: as many as the ring holds. */
	for (uint32_t i = 0; i < 60; i++)
		bf_perf_post_recv(&s.pair, 1, 0);
	bf_event_init(&s.event, stream_step);
	bf_sim_after(s.pair.sim, &s.event, BF_NS);
	rc = run_sim(&s.pair, "a stream of messages");
	bf_sim_cancel(s.pair.sim, &s.event);
	if (!rc && s.done <= s.from_done)
		rc = bf_fail(err, -ERANGE, "too few messages for a rate");
	if (!rc)
		*ps = (s.pair.sim->now_ps - s.from_ps) / (s.done - s.from_done);
	bf_perf_pair_close(&s.pair);
	return rc;
}

/* ---- a batch ---- */

struct batch {
	struct bf_perf_pair pair;
	struct bf_event event;
	uint32_t count, posted, done;
};

static void batch_step(struct bf_event *ev)
{
	struct batch *b = BF_CONTAINER_OF(ev, struct batch, event);
	struct bf_sim *sim = b->pair.sim;

	if (b->posted < b->count) {
		bf_perf_post(&b->pair, 0, b->posted % b->pair.run.qps, true, 1);
		b->posted++;
		bf_sim_after(sim, ev, b->pair.run.interval_ps ? b->pair.run.interval_ps : BF_NS);
		return;
	}
	for (uint32_t q = 0; q < b->pair.run.qps; q++) {
		int n = bf_perf_sends_done(&b->pair, 0, q);

		if (n < 0) {
			bf_sim_stop(sim);
			return;
		}
		b->done += (uint32_t)n;
	}
	if (b->done >= b->count)
		bf_sim_stop(sim);
	else
		bf_sim_after(sim, ev, look_again(0, sim->now_ps));
}

int bf_perf_batch(const struct bf_perf_run *run, uint32_t messages, uint64_t *ps, struct bf_error *err)
{
	struct bf_perf_run deep = *run;
	struct batch b = { .count = messages };
	int rc;

	deep.depth = messages / (run->qps ? run->qps : 1) + 1;
	rc = bf_perf_pair_open(&b.pair, &deep, err);
	if (rc)
		return rc;
	bf_event_init(&b.event, batch_step);
	bf_sim_after(b.pair.sim, &b.event, run->post_ps);
	rc = run_sim(&b.pair, "a batch of messages");
	bf_sim_cancel(b.pair.sim, &b.event);
	*ps = b.pair.sim->now_ps + run->poll_ps;
	bf_perf_pair_close(&b.pair);
	return rc;
}
