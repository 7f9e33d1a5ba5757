#include "drivers/backend/ranks_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/fabric.h"
#include "sim/agent_internal.h"
#include "sim/bytes.h"
#include "sim/grow.h"
#include "sim/sim_internal.h"

/* What a rank says in a round, in front of its messages. The array has one entry for each rank. */
struct round_head {
	uint64_t next_ps; /* its next event, BF_NEVER: none */
	uint64_t now_ps;
	uint64_t agents;    /* not yet done */
	uint64_t stopped;   /* its simulation was stopped, or it has failed: the error as a positive number */
	uint64_t events;    /* that it has had in all */
	uint64_t sent_ps[]; /* when the first message in this round matters at each rank, BF_NEVER: none goes there */
};

/* In front of each message; both are whole words. */
struct message_head {
	uint64_t at_ps;
	uint64_t len; /* of a frame; WORD: a word of a driver's follows */
};
#define WORD UINT64_MAX

struct word {
	uint64_t where, value;
};

/* What goes to a rank in this round: a round_head, then messages. */
struct outgoing {
	uint8_t *data;
	size_t len, cap;
};

struct bf_ranks {
	struct bf_world *m;
	struct bf_boot *boot;
	uint64_t lookahead_ps; /* of all ranks; 0: not yet asked for */
	size_t head_bytes;
	int failed; /* this rank cannot go on */
	struct round_head *head;
	struct outgoing *out;       /* [ranks] */
	struct bf_boot_part *parts; /* [ranks] */
	struct bf_boot_buf *in;     /* [ranks] */
	uint64_t *next_ps;          /* [ranks] next event of each, messages on the way included */
	uint64_t *events;           /* [ranks] of each, up to this round */
	uint64_t windows, busiest_events;
	void (*hear)(void *arg, uint64_t where, uint64_t value);
	void *hear_arg;
};

static void fail(struct bf_ranks *r, int rc, const char *text)
{
	if (!r->failed)
		r->failed = bf_fail(&r->m->sim->error, rc, "%s", text);
	bf_sim_stop(r->m->sim);
}

static bool reserve(struct outgoing *o, size_t more)
{
	return BF_GROW(o->data, o->cap, o->len + more) == 0;
}

/* The fabric's: something leaves for `rank`. */
static void on_leave(void *owner, uint32_t rank, uint64_t at_ps, const void *bytes, size_t len)
{
	struct bf_ranks *r = owner;
	struct outgoing *o = &r->out[rank];
	const struct message_head h = { .at_ps = at_ps, .len = len };
	const size_t span = sizeof(h) + ((len + 7) & ~(size_t)7);

	if (!reserve(o, span)) {
		fail(r, -ENOMEM, "no memory for frames to another rank");
		return;
	}
	bf_put_le64(o->data + o->len + span - 8, 0); /* the padding, before what may overlap it */
	memcpy(o->data + o->len, &h, sizeof(h));
	memcpy(o->data + o->len + sizeof(h), bytes, len);
	o->len += span;
	if (at_ps < r->head->sent_ps[rank])
		r->head->sent_ps[rank] = at_ps;
}

void bf_ranks_listen(struct bf_ranks *r, void (*hear)(void *arg, uint64_t where, uint64_t value), void *arg)
{
	r->hear = hear;
	r->hear_arg = arg;
}

/* No event there: whoever it is for looks at it from time to time. */
int bf_ranks_say(struct bf_ranks *r, uint32_t rank, uint64_t at_ps, uint64_t where, uint64_t value)
{
	const struct message_head h = { .at_ps = at_ps, .len = WORD };
	const struct word w = { where, value };

	for (uint32_t i = 0; i < r->boot->npes; i++) {
		struct outgoing *o = &r->out[i];

		if (i == r->boot->pe || (rank != UINT32_MAX && i != rank))
			continue;
		if (!reserve(o, sizeof(h) + sizeof(w))) {
			fail(r, -ENOMEM, "no memory for words to another rank");
			return -ENOMEM;
		}
		memcpy(o->data + o->len, &h, sizeof(h));
		memcpy(o->data + o->len + sizeof(h), &w, sizeof(w));
		o->len += sizeof(h) + sizeof(w);
	}
	return 0;
}

uint32_t bf_ranks_count(const struct bf_ranks *r)
{
	return r->boot->npes;
}

static void begin_round(struct bf_ranks *r)
{
	for (uint32_t i = 0; i < r->boot->npes; i++) {
		r->head->sent_ps[i] = BF_NEVER;
		r->out[i].len = r->head_bytes; /* filled in at the end of the round */
	}
}

void bf_ranks_close(struct bf_ranks *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->boot->npes; i++) {
		if (r->out)
			free(r->out[i].data);
		if (r->in)
			free(r->in[i].data);
	}
	free(r->out);
	free(r->in);
	free(r->parts);
	free(r->next_ps);
	free(r->events);
	free(r->head);
	free(r);
}

int bf_ranks_open(struct bf_world *m, struct bf_boot *boot, struct bf_ranks **out)
{
	const uint32_t n = boot->npes;
	struct bf_ranks *r;
	bool good;

	*out = NULL;
	if (n > m->npes)
		return bf_fail(m->err, -EINVAL, "%u PEs cannot be spread over %u ranks", m->npes, n);
	r = calloc(1, sizeof(*r));
	if (!r)
		return bf_fail(m->err, -ENOMEM, "no memory for %u ranks", n);
	r->m = m;
	r->boot = boot;
	r->head_bytes = sizeof(*r->head) + n * sizeof(r->head->sent_ps[0]);
	r->head = calloc(1, r->head_bytes);
	r->out = calloc(n, sizeof(*r->out));
	r->in = calloc(n, sizeof(*r->in));
	r->parts = calloc(n, sizeof(*r->parts));
	r->next_ps = calloc(n, sizeof(*r->next_ps));
	r->events = calloc(n, sizeof(*r->events));
	good = r->head && r->out && r->in && r->parts && r->next_ps && r->events;
	for (uint32_t i = 0; good && i < n; i++)
		good = reserve(&r->out[i], r->head_bytes);
	if (!good) {
		bf_ranks_close(r);
		return bf_fail(m->err, -ENOMEM, "no memory for %u ranks", n);
	}
	begin_round(r);
	bf_fabric_set_gateway(m->fabric, boot->pe, on_leave, r);
	*out = r;
	return 0;
}

/* ---- a round ---- */

static int bad_round(struct bf_ranks *r, uint32_t rank)
{
	return bf_fail(r->m->err, -EPROTO, "rank %u sends what is no round of a simulation", rank);
}

static int take_word(struct bf_ranks *r, uint64_t at_ps, const uint8_t *body)
{
	struct word w;

	memcpy(&w, body, sizeof(w));
	if (at_ps <= r->m->sim->now_ps)
		return bf_fail(&r->m->sim->error, -EINVAL, "a word between ranks is faster than their links");
	if (r->hear)
		r->hear(r->hear_arg, w.where, w.value);
	return 0;
}

/* Hands the messages of `rank` to the fabric. A failure is told to all in the next round. */
static int deliver(struct bf_ranks *r, uint32_t rank)
{
	const uint8_t *data = r->in[rank].data;
	const size_t len = r->in[rank].bytes;
	size_t at = r->head_bytes;

	while (at < len) {
		struct message_head h;
		size_t span, body;

		if (len - at < sizeof(h))
			return bad_round(r, rank);
		memcpy(&h, data + at, sizeof(h));
		at += sizeof(h);
		if (h.len != WORD && h.len > len - at)
			return bad_round(r, rank);
		body = h.len == WORD ? sizeof(struct word) : (size_t)h.len;
		span = (body + 7) & ~(size_t)7;
		if (span > len - at)
			return bad_round(r, rank);
		if (!r->failed) {
			const int rc = h.len == WORD ? take_word(r, h.at_ps, data + at)
						     : bf_fabric_deliver(r->m->fabric, data + at, body);

			if (rc)
				r->failed = rc;
		}
		at += span;
	}
	return 0;
}

/* What all ranks have said: next events, with the messages on their way, and the sums. */
struct round {
	uint64_t first_ps, now_ps, agents;
	uint32_t stopped; /* ranks: the first one that was, plus 1 */
};

static int hear(struct bf_ranks *r, struct round *all)
{
	const uint32_t n = r->boot->npes;
	uint64_t most = 0;

	*all = (struct round){ .first_ps = BF_NEVER };
	for (uint32_t i = 0; i < n; i++)
		r->next_ps[i] = BF_NEVER;
	for (uint32_t i = 0; i < n; i++) {
		struct round_head h;
		uint64_t sent;

		if (r->in[i].bytes < r->head_bytes)
			return bad_round(r, i);
		memcpy(&h, r->in[i].data, sizeof(h));
		r->next_ps[i] = h.next_ps < r->next_ps[i] ? h.next_ps : r->next_ps[i];
		for (uint32_t to = 0; to < n; to++) {
			memcpy(&sent, (const uint8_t *)r->in[i].data + sizeof(h) + to * sizeof(sent), sizeof(sent));
			r->next_ps[to] = sent < r->next_ps[to] ? sent : r->next_ps[to];
		}
		most = h.events - r->events[i] > most ? h.events - r->events[i] : most;
		r->events[i] = h.events;
		all->agents += h.agents;
		all->now_ps = h.now_ps > all->now_ps ? h.now_ps : all->now_ps;
		if (h.stopped && !all->stopped)
			all->stopped = i + 1;
	}
	r->windows += most > 0;
	r->busiest_events += most;
	for (uint32_t i = 0; i < n; i++)
		all->first_ps = r->next_ps[i] < all->first_ps ? r->next_ps[i] : all->first_ps;
	return 0;
}

/* Tells and hears, and takes over the frames that have come. */
static int meet(struct bf_ranks *r, struct round *all)
{
	struct bf_sim *sim = r->m->sim;
	const uint32_t n = r->boot->npes;
	int rc;

	r->head->next_ps = bf_sim_next(sim);
	r->head->now_ps = sim->now_ps;
	r->head->agents = bf_agents_alive(sim);
	r->head->events = sim->events;
	r->head->stopped = r->failed ? (uint64_t)-r->failed : sim->stopped ? ECANCELED : 0;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(r->out[i].data, r->head, r->head_bytes);
		r->parts[i] = (struct bf_boot_part){ r->out[i].data, r->out[i].len };
	}
	rc = bf_boot_exchange(r->boot, r->parts, r->in);
	if (rc)
		return r->m->err && r->m->err->code == rc ? rc : bf_fail(r->m->err, rc, "a rank is gone");
	rc = hear(r, all);
	begin_round(r);
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = deliver(r, i);
	return rc;
}

static uint64_t later(uint64_t ps, uint64_t by)
{
	return by < BF_NEVER - ps ? ps + by : BF_NEVER;
}

/* Before this time nothing can come from another rank. */
static uint64_t horizon(const struct bf_ranks *r)
{
	uint64_t ps = later(r->next_ps[r->boot->pe], 2 * r->lookahead_ps);

	for (uint32_t i = 0; i < r->boot->npes; i++) {
		const uint64_t other = i == r->boot->pe ? BF_NEVER : later(r->next_ps[i], r->lookahead_ps);

		ps = other < ps ? other : ps;
	}
	return ps;
}

/* The shortest of all ranks: a frame counts from where it is sent. */
static int agree_on_lookahead(struct bf_ranks *r)
{
	const uint64_t mine = bf_fabric_lookahead_ps(r->m->fabric);
	uint64_t *all = malloc(r->boot->npes * sizeof(*all));
	int rc = all ? r->boot->allgather(r->boot, &mine, all, sizeof(mine)) : -ENOMEM;

	r->lookahead_ps = BF_NEVER / 4;
	for (uint32_t i = 0; !rc && i < r->boot->npes; i++)
		r->lookahead_ps = all[i] < r->lookahead_ps ? all[i] : r->lookahead_ps;
	free(all);
	if (rc == -ENOMEM)
		r->boot->abort(r->boot);
	if (!rc && r->lookahead_ps == 0)
		rc = bf_fail(r->m->err, -EINVAL, "links without latency cannot lie between ranks");
	return rc;
}

/* Somebody was stopped: all hear why. */
static int tell_why(struct bf_ranks *r, uint32_t rank)
{
	const uint32_t n = r->boot->npes;
	struct bf_error *all = malloc(n * sizeof(*all));
	int rc = all ? r->boot->allgather(r->boot, &r->m->sim->error, all, sizeof(*all)) : -ENOMEM;

	if (!rc)
		rc = bf_fail(r->m->err, all[rank].code < 0 ? all[rank].code : -ECANCELED,
			     "the run was stopped on rank %u: %.*s", rank, (int)sizeof(all->text) - 1, all[rank].text);
	else if (!all)
		r->boot->abort(r->boot);
	free(all);
	return rc;
}

int bf_ranks_run(struct bf_ranks *r, uint64_t until_ps, enum bf_run_end *end)
{
	struct bf_sim *sim = r->m->sim;
	struct round all = { 0 };
	int rc = r->lookahead_ps ? 0 : agree_on_lookahead(r);

	sim->stopped = false;
	while (!rc) {
		uint64_t to;

		rc = meet(r, &all);
		if (rc)
			break;
		if (all.stopped)
			return tell_why(r, all.stopped - 1);
		if (all.first_ps > until_ps || all.first_ps == BF_NEVER) {
			*end = all.first_ps != BF_NEVER ? BF_RUN_LIMIT : all.agents ? BF_RUN_DEADLOCK : BF_RUN_IDLE;
			sim->now_ps = *end == BF_RUN_LIMIT && until_ps > all.now_ps ? until_ps : all.now_ps;
			if (*end == BF_RUN_DEADLOCK && bf_agents_alive(sim))
				bf_agents_report(sim, &sim->error); /* as bf_sim_run() does */
			return 0;
		}
		to = horizon(r);
		if (to && !r->failed)
			bf_sim_fire_due(sim, to - 1 < until_ps ? to - 1 : until_ps);
	}
	return rc;
}

/* ---- results ---- */

int bf_ranks_merge(struct bf_ranks *r, struct bf_world_result *out)
{
	const uint32_t n = r->boot->npes;
	struct bf_world_result *all = malloc(n * sizeof(*all));
	int rc = all ? r->boot->allgather(r->boot, out, all, sizeof(*out)) : -ENOMEM;
	size_t used = 0;

	if (rc) {
		if (!all)
			r->boot->abort(r->boot);
		free(all);
		return bf_fail(r->m->err, rc, "the results of the ranks do not come together");
	}
	out->events = out->records = 0;
	out->windows = r->windows;
	out->busiest_events = r->busiest_events;
	out->report[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		out->events += all[i].events;
		out->records += all[i].records;
		if (used < sizeof(out->report))
			used += (size_t)snprintf(out->report + used, sizeof(out->report) - used, "%.*s",
						 (int)sizeof(all->report) - 1, all[i].report);
	}
	free(all);
	return 0;
}

int bf_ranks_merge_pes(struct bf_ranks *r, uint64_t *of_pe)
{
	const uint32_t n = r->boot->npes, npes = r->m->npes;
	uint64_t *all = malloc((size_t)n * npes * sizeof(*all));
	int rc = all ? r->boot->allgather(r->boot, of_pe, all, npes * sizeof(*all)) : -ENOMEM;

	if (!all)
		r->boot->abort(r->boot);
	for (uint32_t pe = 0; !rc && pe < npes; pe++)
		of_pe[pe] = all[(size_t)bf_ranks_of(npes, n, pe) * npes + pe];
	free(all);
	return rc ? bf_fail(r->m->err, rc, "the hashes of the ranks do not come together") : 0;
}
