/* The first missing step of what is left, and what shows it. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "models/hopper/word.h"
#include "traces/explain_internal.h"
#include "traces/explain_stuck_internal.h"
#include "traces/rules/rules.h"

static const char *const point_names[BF_STUCK_POINTS] = {
	"reserve", "build", "publish", "ring", "doorbell", "fetch", "start", "done", "completion", "seen"
};

#define BIT(p) (1u << (p))
#define DEVICE_POINTS (BIT(BF_STUCK_DOORBELL) | BIT(BF_STUCK_FETCH) | BIT(BF_STUCK_START) | BIT(BF_STUCK_DONE) | \
		       BIT(BF_STUCK_COMPLETION))

/* The points that entries of a kind have. */
static const struct {
	const char *entry;
	uint32_t points;
} kinds[BF_STUCK_KINDS] = {
	[BF_STUCK_MLX5] = { "send entry", BIT(BF_STUCK_COMPLETION + 1) - 1 },
	[BF_STUCK_NVME] = { "command", BIT(BF_STUCK_BUILD) | BIT(BF_STUCK_RING) | BIT(BF_STUCK_DOORBELL) |
				       BIT(BF_STUCK_FETCH) | BIT(BF_STUCK_START) | BIT(BF_STUCK_COMPLETION) |
				       BIT(BF_STUCK_SEEN) },
	[BF_STUCK_SDMA] = { "submission", BIT(BF_STUCK_RESERVE) | BIT(BF_STUCK_RING) | BIT(BF_STUCK_DOORBELL) |
					  BIT(BF_STUCK_START) | BIT(BF_STUCK_DONE) | BIT(BF_STUCK_COMPLETION) },
	[BF_STUCK_CAPTURE] = { "captured entry", BIT(BF_STUCK_BUILD) | BIT(BF_STUCK_RING) | BIT(BF_STUCK_COMPLETION) },
	[BF_STUCK_FTRACE] = { "captured command", BIT(BF_STUCK_BUILD) | BIT(BF_STUCK_COMPLETION) },
};

/* ---- sentences ---- */

static void say(struct bf_stuck_group *g, const char *fmt, ...) BF_PRINTF(2, 3);
static void say(struct bf_stuck_group *g, const char *fmt, ...)
{
	const size_t used = strlen(g->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(g->text + used, sizeof(g->text) - used, fmt, ap);
	va_end(ap);
}

/* The name of an actor that an entry keeps plus one. */
static const char *name_of(const struct bf_stuck *s, uint32_t actor)
{
	return actor ? bf_trace_actor_name(s->trace, actor - 1) : "nobody";
}

/* What a thread does now: "; pe0.b0.w0.l0 waits for a free slot since 3.5 us". */
static void say_thread(const struct bf_stuck *s, struct bf_stuck_group *g, uint32_t actor)
{
	const uint64_t key[3] = { actor - 1, 0, 0 };
	const uint64_t at = actor ? bf_number_get(&s->threads, key) : 0;
	const struct bf_stuck_thread *t = at ? &s->thread[at - 1] : NULL;

	if (t && t->waits)
		say(g, "; %s waits for %s since %s", name_of(s, actor), t->what, bf_span_of(t->since_ps).text);
	else if (t && t->ended)
		say(g, "; %s has ended", name_of(s, actor));
}

/* ---- send entries ---- */

/* The lowest entry of the queue that is not published: what later ones wait for. */
static const struct bf_stuck_entry *first_unpublished(const struct bf_stuck *s, const struct bf_stuck_entry *e)
{
	const struct bf_stuck_entry *first = NULL;

	for (size_t i = 0; i < s->nentries; i++) {
		const struct bf_stuck_entry *x = &s->entry[i];

		if (x->open && x->key[0] == e->key[0] && !(x->points & ~(BIT(BF_STUCK_RESERVE) | BIT(BF_STUCK_BUILD))) &&
		    x->index < e->index && (!first || x->index < first->index))
			first = x;
	}
	return first;
}

static void unpublished_text(const struct bf_stuck *s, const struct bf_stuck_entry *e, struct bf_stuck_group *g)
{
	const struct bf_stuck_entry *before = first_unpublished(s, e);

	say(g, "reserved and built by %s, never published", name_of(s, e->who[BF_STUCK_BUILD]));
	if (before)
		say(g, ": %s waits for slot %" PRIu64 ", which %s reserved and never %s", name_of(s, e->who[BF_STUCK_BUILD]),
		    before->index, name_of(s, before->who[BF_STUCK_RESERVE]),
		    before->points & BIT(BF_STUCK_BUILD) ? "published" : "filled");
	else
		say_thread(s, g, e->who[BF_STUCK_BUILD]);
}

static void unrung_text(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
			struct bf_stuck_group *g)
{
	const uint32_t by = e->who[BF_STUCK_PUBLISH];

	say(g, "entry %" PRIu64 " was published by %s, which %s; ", e->index, name_of(s, by),
	    e->posts ? "was to ring and did not" : "left it to a later submission to ring");
	if (q->ringer)
		say(g, "the last doorbell, by %s, covered the entries below %" PRIu64, name_of(s, q->ringer), q->rung);
	else
		say(g, "nobody has ever rung this queue");
	say_thread(s, g, by);
}

static void unheard_text(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
			 struct bf_stuck_group *g)
{
	say(g, "%s rang for it; ", name_of(s, e->who[BF_STUCK_RING] ? e->who[BF_STUCK_RING] : q->ringer));
	if (!q->doorbells)
		say(g, "no doorbell of this queue has reached the device");
	else if (!q->known_dbrec)
		say(g, "%" PRIu64 " doorbells arrived, and the device has not read the doorbell record", q->doorbells);
	else
		say(g, "%" PRIu64 " doorbells arrived, and the doorbell record said %" PRIu64
		    " when the device read it last: entry %" PRIu64 " is not below that", q->doorbells, q->dbrec,
		    e->index);
	say_thread(s, g, e->who[BF_STUCK_RING]);
}

static void mlx5_text(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
		      enum bf_stuck_point missing, struct bf_stuck_group *g)
{
	static const char *const states[] = { "RST", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR" };

	switch (missing) {
	case BF_STUCK_BUILD:
		if (e->early) {
			say(g, "the device fetched entry %" PRIu64 " before %s had filled it", e->index,
			    name_of(s, e->who[BF_STUCK_RESERVE]));
			break;
		}
		say(g, "slot %" PRIu64 " was reserved by %s and never filled", e->index,
		    name_of(s, e->who[BF_STUCK_RESERVE]));
		say_thread(s, g, e->who[BF_STUCK_RESERVE]);
		break;
	case BF_STUCK_PUBLISH:
		unpublished_text(s, e, g);
		break;
	case BF_STUCK_RING:
		unrung_text(s, q, e, g);
		break;
	case BF_STUCK_DOORBELL:
		unheard_text(s, q, e, g);
		break;
	case BF_STUCK_FETCH:
		say(g, "the device knows of entry %" PRIu64 " and has not fetched it; the queue pair is in %s", e->index,
		    q->state < BF_ARRAY_LEN(states) ? states[q->state] : "an unknown state");
		break;
	case BF_STUCK_START:
		say(g, "entry %" PRIu64 " was fetched and has not been started: it waits behind others, or for a connection",
		    e->index);
		break;
	case BF_STUCK_DONE:
		say(g, "entry %" PRIu64 " was started%s and has not been acknowledged", e->index,
		    e->retried ? ", sent again" : "");
		break;
	case BF_STUCK_COMPLETION:
	default:
		say(g, "entry %" PRIu64 " is done; its completion %s", e->index,
		    e->lost ? "was lost on the way to memory" : "has not been written");
		break;
	}
}

/* ---- commands ---- */

static void nvme_text(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
		      enum bf_stuck_point missing, struct bf_stuck_group *g)
{
	const uint32_t by = e->who[BF_STUCK_BUILD];

	switch (missing) {
	case BF_STUCK_RING:
		say(g, "%s filled slot %u (CID 0x%x), and the controller was never told: ", name_of(s, by), e->slot, e->cid);
		if (q->ringer)
			say(g, "the last doorbell, by %s, said %" PRIu64, name_of(s, q->ringer), q->rung);
		else
			say(g, "nobody has rung this queue");
		break;
	case BF_STUCK_DOORBELL:
		say(g, "%s rang for slot %u (CID 0x%x); ", name_of(s, e->who[BF_STUCK_RING]), e->slot, e->cid);
		if (q->known_dbrec)
			say(g, "the last doorbell that arrived said %" PRIu64, q->dbrec);
		else
			say(g, "no doorbell has arrived");
		break;
	case BF_STUCK_FETCH:
		say(g, "the controller was told of slot %u (CID 0x%x) and has not fetched it", e->slot, e->cid);
		break;
	case BF_STUCK_START:
		say(g, "CID 0x%x was fetched from slot %u and has not begun", e->cid, e->slot);
		break;
	case BF_STUCK_COMPLETION:
		say(g, "CID 0x%x %s", e->cid,
		    e->held ? "is done, and its completion is kept: the completion queue is full" : "was begun and is not complete");
		break;
	case BF_STUCK_SEEN:
	default:
		say(g, "CID 0x%x is complete, and nobody has taken the completion", e->cid);
		break;
	}
	say_thread(s, g, by);
}

/* ---- submissions ---- */

static void sdma_text(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
		      enum bf_stuck_point missing, struct bf_stuck_group *g)
{
	const uint32_t by = e->who[BF_STUCK_RING] ? e->who[BF_STUCK_RING] : e->who[BF_STUCK_RESERVE];

	say(g, "bytes 0x%" PRIx64 " to 0x%" PRIx64 " ", e->index, e->to ? e->to - 1 : 0);
	switch (missing) {
	case BF_STUCK_RING:
		say(g, "were reserved by %s and never published: ", name_of(s, by));
		if (q->ringer)
			say(g, "the last doorbell, by %s, was for what lies below 0x%" PRIx64, name_of(s, q->ringer), q->rung);
		else
			say(g, "nobody has rung");
		break;
	case BF_STUCK_DOORBELL:
		say(g, "were published by %s: ", name_of(s, by));
		if (q->known_dbrec)
			say(g, "the last doorbell that arrived said 0x%" PRIx64, q->dbrec);
		else
			say(g, "no doorbell has arrived");
		break;
	case BF_STUCK_START:
		say(g, "were announced by a doorbell, and the engine has decoded no packet there; its read pointer is 0x%" PRIx64,
		    q->passed);
		break;
	case BF_STUCK_DONE:
		say(g, "are being executed: the read pointer is at 0x%" PRIx64, q->passed);
		break;
	case BF_STUCK_COMPLETION:
	default:
		say(g, "are behind the engine, which found nothing but NOPs there: no packet that signals");
		break;
	}
	say_thread(s, g, by);
}

/* What is wrong at the other end of a connection. */
static void say_peer(const struct bf_stuck *s, const struct bf_stuck_queue *q, struct bf_stuck_group *g)
{
	for (size_t i = 0; q->remote_qpn && i < s->nqueues; i++) {
		const struct bf_stuck_queue *x = &s->queue[i];

		if (x->kind == BF_STUCK_MLX5 && x->number == q->remote_qpn && x->ipv4 == q->remote_ipv4 && x->trouble[0])
			say(g, "; its peer %s: %s", x->name, x->trouble);
	}
}

static void entry_text(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
		       enum bf_stuck_point missing, struct bf_stuck_group *g)
{
	switch (q->kind) {
	case BF_STUCK_MLX5:
		mlx5_text(s, q, e, missing, g);
		break;
	case BF_STUCK_NVME:
		nvme_text(s, q, e, missing, g);
		break;
	case BF_STUCK_SDMA:
		sdma_text(s, q, e, missing, g);
		break;
	case BF_STUCK_CAPTURE:
		say(g, "entry %" PRIu64 " (line %u) asks for a completion, and ", e->index, e->line);
		if (missing == BF_STUCK_RING)
			say(g, "no doorbell covers it: the doorbell record said %" PRIu64 " last", q->dbrec);
		else
			say(g, "the capture has none");
		break;
	case BF_STUCK_FTRACE:
	case BF_STUCK_KINDS:
	default:
		say(g, "CID 0x%x was set up (line %u), and the trace has no completion of it", e->cid, e->line);
		break;
	}
	if (q->trouble[0])
		say(g, "; %s", q->trouble);
	else if (q->kind == BF_STUCK_MLX5 && (BIT(missing) & DEVICE_POINTS))
		say_peer(s, q, g);
}

/* ---- groups ---- */

static struct bf_stuck_group *new_group(struct bf_stuck *s)
{
	if (s->ngroups == s->cap_groups) {
		const uint32_t cap = s->cap_groups ? 2 * s->cap_groups : 16;
		struct bf_stuck_group *more = realloc(s->groups, cap * sizeof(*more));

		if (!more)
			return NULL;
		s->groups = more;
		s->cap_groups = cap;
	}
	s->groups[s->ngroups] = (struct bf_stuck_group){ .count = 0 };
	return &s->groups[s->ngroups++];
}

/* The first step after the last one that was taken; POINTS when nothing is missing, or nobody can tell. */
static enum bf_stuck_point missing_step(const struct bf_stuck *s, const struct bf_stuck_queue *q,
					const struct bf_stuck_entry *e)
{
	uint32_t left = kinds[q->kind].points;
	unsigned p = 0;

	if (q->kind == BF_STUCK_CAPTURE) {
		if (s->ran || !e->signalled)
			return BF_STUCK_POINTS;
		return q->known_dbrec && (int16_t)(uint16_t)(q->dbrec - e->index) > 0 ? BF_STUCK_COMPLETION : BF_STUCK_RING;
	}
	if (e->lost)
		return BF_STUCK_COMPLETION;
	if (e->early)
		return BF_STUCK_BUILD;
	while (e->points >> (p + 1))
		p++;
	left &= ~(BIT(p + 1) - 1);
	for (p = 0; p < BF_STUCK_POINTS && !(left & BIT(p)); p++)
		;
	/* The device's steps are missing from the stream, not from the device. */
	if (p < BF_STUCK_POINTS && (BIT(p) & DEVICE_POINTS) && !s->device && q->kind != BF_STUCK_FTRACE)
		return BF_STUCK_POINTS;
	return (enum bf_stuck_point)p;
}

static void set_target(const struct bf_stuck_queue *q, const struct bf_stuck_entry *e, struct bf_stuck_group *g)
{
	struct bf_explain_target *t = &g->oldest;

	g->explained = q->kind != BF_STUCK_CAPTURE && q->device[0];
	snprintf(t->device, sizeof(t->device), "%s", q->device);
	t->queue = q->number;
	t->index = e->index;
	t->nth = 1;
	t->kind = q->kind == BF_STUCK_MLX5 ? BF_EXPLAIN_MLX5 : q->kind == BF_STUCK_SDMA ? BF_EXPLAIN_SDMA : BF_EXPLAIN_NVME;
	if (t->kind == BF_EXPLAIN_NVME) {
		t->by_slot = q->kind == BF_STUCK_NVME;
		t->index = t->by_slot ? e->slot : e->cid;
		t->nth = e->nth;
	}
}

static int by_order(const void *a, const void *b)
{
	const struct bf_stuck_entry *const *x = a, *const *y = b;

	return (*x)->order < (*y)->order ? -1 : (*x)->order > (*y)->order;
}

/* The open entries, oldest first. NULL when there are none, or on lack of memory. */
static const struct bf_stuck_entry **open_entries(const struct bf_stuck *s, size_t *n)
{
	const struct bf_stuck_entry **list = s->nentries ? calloc(s->nentries, sizeof(*list)) : NULL;

	*n = 0;
	for (size_t i = 0; list && i < s->nentries; i++)
		if (s->entry[i].open)
			list[(*n)++] = &s->entry[i];
	if (*n)
		qsort(list, *n, sizeof(*list), by_order);
	return list;
}

static int group_entries(struct bf_stuck *s)
{
	struct bf_number_map groups = { 0 }; /* queue and step: group plus one */
	size_t n;
	const struct bf_stuck_entry **list = open_entries(s, &n);
	int rc = s->nentries && !list ? bf_stuck_no_memory(s) : 0;

	for (size_t i = 0; !rc && i < n; i++) {
		const struct bf_stuck_entry *e = list[i];
		const struct bf_stuck_queue *q = &s->queue[e->key[0]];
		const enum bf_stuck_point missing = missing_step(s, q, e);
		const uint64_t key[3] = { e->key[0], (uint64_t)missing, 0 };
		uint64_t at = bf_number_get(&groups, key);
		struct bf_stuck_group *g;

		if (missing >= BF_STUCK_POINTS)
			continue;
		if (at) {
			s->groups[at - 1].count++;
			continue;
		}
		g = new_group(s);
		if (!g || bf_number_put(&groups, key, s->ngroups)) {
			rc = bf_stuck_no_memory(s);
			break;
		}
		snprintf(g->where, sizeof(g->where), "%s", q->name);
		g->kind = kinds[q->kind].entry;
		g->missing = point_names[missing];
		g->count = 1;
		g->since_ps = e->last_ps;
		set_target(q, e, g);
		entry_text(s, q, e, missing, g);
	}
	bf_number_map_free(&groups);
	free(list);
	return rc;
}

/* ---- completions that are there and that nobody took ---- */

static const struct bf_stuck_thread *waiter_of(const struct bf_stuck *s, const struct bf_stuck_queue *q)
{
	for (size_t i = 0; i < s->nthreads; i++) {
		const struct bf_stuck_thread *t = &s->thread[i];

		if (t->waits && strstr(t->what, "completion") &&
		    bf_explain_pe(bf_trace_actor_name(s->trace, t->actor)) == (int64_t)q->pe)
			return t;
	}
	return NULL;
}

static int group_unseen(struct bf_stuck *s)
{
	for (size_t i = 0; i < s->nqueues; i++) {
		const struct bf_stuck_queue *q = &s->queue[i];
		const struct bf_stuck_thread *t = q->kind == BF_STUCK_MLX5 && q->completed > q->polled ? waiter_of(s, q) : NULL;
		struct bf_stuck_group *g;

		if (!t)
			continue;
		g = new_group(s);
		if (!g)
			return bf_stuck_no_memory(s);
		snprintf(g->where, sizeof(g->where), "%s", q->name);
		g->kind = kinds[q->kind].entry;
		g->missing = point_names[BF_STUCK_SEEN];
		g->count = q->completed - q->polled;
		g->since_ps = q->completed_ps;
		g->explained = q->device[0] != '\0';
		g->oldest = (struct bf_explain_target){ .kind = BF_EXPLAIN_MLX5, .queue = q->number, .index = q->polled, .nth = 1 };
		snprintf(g->oldest.device, sizeof(g->oldest.device), "%s", q->device);
		say(g, "the device has completed all entries below %" PRIu64 ", and pollers know of those below %" PRIu64,
		    q->completed, q->polled);
		say_thread(s, g, t->actor + 1);
	}
	return 0;
}

/* ---- barriers ---- */

static unsigned count_bits(uint64_t x)
{
	unsigned n = 0;

	for (; x; x &= x - 1)
		n++;
	return n;
}

static void say_warps(struct bf_stuck_group *g, uint64_t mask)
{
	const char *comma = "";

	for (unsigned w = 0; w < 64; w++) {
		if (!(mask >> w & 1))
			continue;
		say(g, "%s%u", comma, w);
		comma = ", ";
	}
}

/* Where warps wait that were to arrive here. */
static void say_elsewhere(const struct bf_stuck *s, const struct bf_stuck_barrier *b, uint64_t missing,
			  struct bf_stuck_group *g)
{
	for (size_t i = 0; i < s->nbarriers; i++) {
		const struct bf_stuck_barrier *x = &s->barrier[i];

		if (x == b || x->actor != b->actor || !((x->parked | x->asking) & missing))
			continue;
		say(g, " (at barrier 0x%" PRIx64 " waits ", x->address);
		say_warps(g, (x->parked | x->asking) & missing);
		say(g, ")");
	}
}

static void barrier_text(const struct bf_stuck *s, const struct bf_stuck_barrier *b, struct bf_stuck_group *g)
{
	const uint32_t pending = bf_mbar_pending(b->word);
	const int32_t tx = bf_mbar_tx(b->word);
	const uint64_t missing = b->arrived_before & ~b->arrived;

	say(g, "phase %" PRIu64 " of barrier 0x%" PRIx64 " does not end: ", b->phases, b->address);
	if (pending) {
		say(g, "%u of %u arrivals are missing", pending, bf_mbar_expected(b->word));
		if (b->arrived) {
			say(g, ", there have been those of warps ");
			say_warps(g, b->arrived);
		}
		if (missing) {
			say(g, "; of those who arrived in the phase before, these have not: warps ");
			say_warps(g, missing);
			say_elsewhere(s, b, missing, g);
		}
	}
	if (tx)
		say(g, "%s%u bytes %s", pending ? "; " : "", (unsigned int)(tx > 0 ? tx : -tx),
		    tx > 0 ? "are expected and have not come" : "have come that were not expected");
	if (!pending && !tx)
		say(g, "all has come; the wait is for another phase");
	say(g, "; waiting: warps ");
	say_warps(g, b->parked | b->asking);
}

static int by_since(const void *a, const void *b)
{
	const struct bf_stuck_group *x = a, *y = b;

	if (x->since_ps != y->since_ps)
		return x->since_ps < y->since_ps ? -1 : 1;
	return strcmp(x->where, y->where);
}

/* The one whose phase began first is what the others wait for, as a rule. */
static int group_barriers(struct bf_stuck *s)
{
	const uint32_t first = s->ngroups;

	for (size_t i = 0; i < s->nbarriers; i++) {
		const struct bf_stuck_barrier *b = &s->barrier[i];
		const uint64_t waiting = b->parked | b->asking;
		const char *actor = bf_trace_actor_name(s->trace, b->actor), *sm = strstr(actor, ".sm");
		struct bf_stuck_group *g;

		if (!b->live || !waiting)
			continue;
		g = new_group(s);
		if (!g)
			return bf_stuck_no_memory(s);
		snprintf(g->where, sizeof(g->where), "%.40s:0x%" PRIx64, actor, b->address);
		g->kind = "waiting warp";
		g->missing = bf_mbar_pending(b->word) ? "arrivals" : bf_mbar_tx(b->word) ? "bytes" : "phase";
		g->count = count_bits(waiting);
		g->since_ps = b->since_ps;
		g->explained = sm != NULL;
		g->oldest = (struct bf_explain_target){ .kind = BF_EXPLAIN_BARRIER, .index = b->address, .nth = 1 };
		if (sm) {
			snprintf(g->oldest.device, sizeof(g->oldest.device), "%.*s", (int)(sm - actor), actor);
			g->oldest.queue = strtoull(sm + 3, NULL, 10);
		}
		barrier_text(s, b, g);
	}
	if (s->ngroups > first)
		qsort(s->groups + first, s->ngroups - first, sizeof(*s->groups), by_since);
	return 0;
}

/* ---- threads ---- */

/* Threads that wait for others of their own kind say nothing new. */
static bool is_follower(const struct bf_stuck_thread *t)
{
	return strcmp(t->what, "its team") == 0 || strncmp(t->what, "other threads", 13) == 0;
}

static int group_threads(struct bf_stuck *s)
{
	const uint32_t first = s->ngroups;

	for (size_t i = 0; i < s->nthreads; i++) {
		const struct bf_stuck_thread *t = &s->thread[i];
		struct bf_stuck_group *g = NULL;

		/* In a run that has not come to a halt a wait is worth a word only beside something that is stuck. */
		if (!t->waits || is_follower(t) || !(t->deadlock || (first && !s->deadlock)))
			continue;
		for (uint32_t n = first; n < s->ngroups && !g; n++)
			if (strncmp(s->groups[n].text, t->what, strlen(t->what)) == 0 && s->groups[n].oldest.index == t->va)
				g = &s->groups[n];
		if (g) {
			g->count++;
			continue;
		}
		g = new_group(s);
		if (!g)
			return bf_stuck_no_memory(s);
		snprintf(g->where, sizeof(g->where), "%.60s", bf_trace_actor_name(s->trace, t->actor));
		g->kind = "waiting thread";
		g->missing = "wake-up";
		g->count = 1;
		g->since_ps = t->since_ps;
		g->oldest.index = t->va;
		say(g, "%s", t->what);
		if (t->va)
			say(g, ", at 0x%" PRIx64, t->va);
		if (t->va && t->deadlock)
			say(g, ", which holds 0x%" PRIx64, t->value);
	}
	return 0;
}

/* ---- what nobody can tell ---- */

static void unknown(struct bf_stuck *s, const char *fmt, ...) BF_PRINTF(2, 3);
static void unknown(struct bf_stuck *s, const char *fmt, ...)
{
	char(*more)[200] = realloc(s->unknown, (s->nunknown + 1) * sizeof(*more));
	va_list ap;

	if (!more)
		return;
	s->unknown = more;
	va_start(ap, fmt);
	vsnprintf(s->unknown[s->nunknown++], sizeof(*more), fmt, ap);
	va_end(ap);
}

static void note_unknown(struct bf_stuck *s)
{
	static const struct {
		enum bf_stuck_kind kind;
		const char *driver, *device;
	} types[] = {
		{ BF_STUCK_MLX5, "ibgda_reserve, ibgda_build, ibgda_publish, ibgda_post", "doorbell, dbrec, wqe_fetch, cqe" },
		{ BF_STUCK_NVME, "nvm_build, nvm_ring", "nvme_doorbell, nvme_fetch, nvme_completion" },
		{ BF_STUCK_SDMA, "sdma_reserve, sdma_publish", "sdma_doorbell, sdma_packet, sdma_rptr" },
	};
	bool seen[BF_STUCK_KINDS] = { false }, driver[BF_STUCK_KINDS] = { false };

	for (size_t i = 0; i < s->nqueues; i++) {
		seen[s->queue[i].kind] = true;
		driver[s->queue[i].kind] = driver[s->queue[i].kind] || s->queue[i].driver;
	}
	for (size_t i = 0; i < BF_ARRAY_LEN(types); i++) {
		if (seen[types[i].kind] && !driver[types[i].kind])
			unknown(s, "entries that never reached a device: the trace has no records %s", types[i].driver);
		if (seen[types[i].kind] && !s->device)
			unknown(s, "what devices did with what was rung for: the trace has no records %s", types[i].device);
	}
	if (seen[BF_STUCK_CAPTURE] && !s->ran)
		unknown(s, "who posted, what was visible, what the device read: a capture has entries, doorbells and "
			   "completions alone (capture_wqe, capture_doorbell, capture_cqe)");
	if (seen[BF_STUCK_FTRACE])
		unknown(s, "doorbells and what the controller fetched: kernel events tell of set-up and completion alone "
			   "(ftrace_setup, ftrace_complete)");
	if (!bf_trace_type(s->trace, "agent_start") && !bf_trace_type(s->trace, "agent_wait"))
		unknown(s, "which threads wait: the trace has no records agent_start, agent_wait");
}

int bf_stuck_conclude(struct bf_stuck *s)
{
	int rc = group_entries(s);

	if (!rc)
		rc = group_unseen(s);
	if (!rc)
		rc = group_barriers(s);
	if (!rc)
		rc = group_threads(s);
	if (!rc)
		note_unknown(s);
	return rc;
}
