#include "tools/queue_diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/ibgda.h"
#include "models/mlx5/wqe.h"

/* An entry as fetched, without the queue pair's number; or a completion. */
struct step {
	uint8_t bytes[64];
	uint32_t len;
};

struct steps {
	struct step *step;
	size_t n, cap;
};

struct queue {
	char device[32];
	uint32_t remote, nth;
	uint32_t qpn, send_cqn, recv_cqn;
	bool connected, matched;
	uint64_t wrong;
	struct steps entries, completions;
};

/* One trace, read to its end. */
struct side {
	struct queue *queue;
	size_t n, cap;
	uint64_t cqs;
	const char *layout; /* as the trace's command says it */
	uint32_t npes, rcs; /* rcs: connections to each PE */
};

static void *grow(void *items, size_t *cap, size_t n, size_t size)
{
	void *grown;

	if (n < *cap)
		return items;
	grown = realloc(items, (*cap * 2 + 16) * size);
	if (grown)
		*cap = *cap * 2 + 16;
	return grown;
}

static int add_step(struct steps *s, const uint8_t *bytes, uint32_t len)
{
	struct step *grown = grow(s->step, &s->cap, s->n, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	s->step = grown;
	s->step[s->n] = (struct step){ .len = len < sizeof(grown->bytes) ? len : (uint32_t)sizeof(grown->bytes) };
	memcpy(s->step[s->n].bytes, bytes, s->step[s->n].len);
	s->n++;
	return 0;
}

static uint64_t field(const struct bf_trace_record *rec, const char *name)
{
	uint64_t v = 0;

	bf_trace_field_u64(rec, name, &v);
	return v;
}

/* The part of "nic0.qp0x101" that names the device. */
static void device_of(struct bf_trace *t, const struct bf_trace_record *rec, char *out, size_t cap)
{
	const char *name = bf_trace_actor_name(t, rec->actor), *end = strstr(name, ".qp");

	if (!end)
		end = strstr(name, ".cq");
	snprintf(out, cap, "%.*s", end ? (int)(end - name) : (int)strlen(name), name);
}

static struct queue *find(struct side *s, const char *device, uint32_t qpn)
{
	for (size_t i = s->n; i-- > 0;)
		if (s->queue[i].qpn == qpn && strcmp(s->queue[i].device, device) == 0)
			return &s->queue[i];
	return NULL;
}

static int take_config(struct side *s, struct bf_trace *t, const struct bf_trace_record *rec)
{
	struct queue *grown = grow(s->queue, &s->cap, s->n, sizeof(*grown)), *q;

	if (!grown)
		return -ENOMEM;
	s->queue = grown;
	q = &s->queue[s->n++];
	*q = (struct queue){ .qpn = (uint32_t)field(rec, "qpn"),
			     .send_cqn = (uint32_t)field(rec, "send_cqn"),
			     .recv_cqn = (uint32_t)field(rec, "recv_cqn") };
	device_of(t, rec, q->device, sizeof(q->device));
	return 0;
}

static void take_path(struct side *s, struct queue *q, const struct bf_trace_record *rec)
{
	const uint32_t remote = (uint32_t)field(rec, "remote_ipv4");

	if (q->connected)
		return;
	for (size_t i = 0; i < s->n; i++)
		q->nth +=
		    s->queue[i].connected && s->queue[i].remote == remote && strcmp(s->queue[i].device, q->device) == 0;
	q->remote = remote;
	q->connected = true;
	if (remote && q->nth + 1 > s->rcs)
		s->rcs = q->nth + 1;
}

/* What one record adds to the picture. */
static int take(struct side *s, struct bf_trace *t, const struct bf_trace_record *rec)
{
	const char *type = rec->type->name;
	struct queue *q;
	char device[32];

	if (strcmp(type, "cq_config") == 0)
		s->cqs++;
	if (strcmp(type, "qp_config") == 0)
		return take_config(s, t, rec);
	if (strcmp(type, "qp_path") != 0 && strcmp(type, "wqe_fetch") != 0 && strcmp(type, "cqe") != 0)
		return 0;
	device_of(t, rec, device, sizeof(device));
	q = find(s, device, (uint32_t)field(rec, "qpn"));
	if (!q)
		return 0;
	if (strcmp(type, "qp_path") == 0) {
		take_path(s, q, rec);
	} else if (strcmp(type, "wqe_fetch") == 0) {
		uint8_t bytes[64] = { 0 };

		memcpy(bytes, rec->tail, rec->tail_len < sizeof(bytes) ? rec->tail_len : sizeof(bytes));
		memset(bytes + 4, 0, 3); /* the control segment's QP number */
		return add_step(&q->entries, bytes, rec->tail_len);
	} else {
		const uint8_t cqe[4] = { (uint8_t)field(rec, "index"), (uint8_t)(field(rec, "index") >> 8),
					 (uint8_t)field(rec, "opcode"), (uint8_t)field(rec, "syndrome") };

		return add_step(&q->completions, cqe, sizeof(cqe));
	}
	return 0;
}

static const char *layout_of(struct bf_trace *t)
{
	const char *command = bf_trace_meta_get(t, "command"), *at = command ? strstr(command, "--layout l") : NULL;

	return !at ? "l3" : at[10] == '1' ? "l1" : at[10] == '2' ? "l2" : "l3";
}

static int read_side(struct bf_trace *t, struct side *s, struct bf_error *err)
{
	struct bf_trace_record rec;
	int rc;

	while ((rc = bf_trace_next(t, &rec)) != 0) {
		if (rc < 0)
			return rc;
		if (take(s, t, &rec) != 0)
			return bf_fail(err, -ENOMEM, "no memory to compare queues");
	}
	s->layout = layout_of(t);
	for (size_t i = 0; i < s->n; i++)
		if (s->queue[i].remote && (s->queue[i].remote & 0xffff) > s->npes)
			s->npes = s->queue[i].remote & 0xffff;
	return 0;
}

static void free_side(struct side *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->queue[i].entries.step);
		free(s->queue[i].completions.step);
	}
	free(s->queue);
}

/* ---- comparing ---- */

/*
 * The entry of the table of connections that this queue pair takes, as its layout orders it. With one NIC of one port a
 * PE's address is 10.0.0.0 and its number, from 1.
 */
static uint32_t table_entry(const struct side *s, const struct queue *q)
{
	const enum bf_ibgda_layout_id layout = (enum bf_ibgda_layout_id)(BF_IBGDA_L1 + (s->layout[1] - '1'));

	return bf_ibgda_rc_index(layout, s->npes, s->rcs, (q->remote & 0xffff) - 1, q->nth);
}

/* Where the first difference of two entries lies: the last segment says where results land. */
static bool results_elsewhere(const struct step *a, const struct step *b)
{
	return a->len == b->len && a->len >= 48 && memcmp(a->bytes, b->bytes, a->len - 16) == 0;
}

static void compare_steps(const struct steps *a, const struct steps *b, uint64_t *all, uint64_t *elsewhere,
			  uint64_t *different)
{
	const size_t n = a->n < b->n ? a->n : b->n;

	*all += a->n > b->n ? a->n : b->n;
	*different += (a->n > b->n ? a->n : b->n) - n;
	for (size_t i = 0; i < n; i++) {
		const struct step *x = &a->step[i], *y = &b->step[i];

		if (x->len == y->len && memcmp(x->bytes, y->bytes, x->len) == 0)
			continue;
		if (elsewhere && results_elsewhere(x, y))
			++*elsewhere;
		else
			++*different;
	}
}

static struct queue *match(struct side *s, const struct queue *q)
{
	for (size_t i = 0; i < s->n; i++) {
		struct queue *other = &s->queue[i];

		if (!other->matched && other->connected == q->connected && other->remote == q->remote &&
		    other->nth == q->nth && strcmp(other->device, q->device) == 0)
			return other;
	}
	return NULL;
}

/* A pair of numbers, named when they differ. */
static bool name_pair(FILE *out, const char *what, uint32_t a, uint32_t b, bool any)
{
	if (a == b)
		return any;
	if (out)
		fprintf(out, "%s%s 0x%" PRIx32 " -> 0x%" PRIx32, any ? ", " : "", what, a, b);
	return true;
}

static void print_name(FILE *out, const struct queue *q)
{
	if (q->remote)
		fprintf(out, "%s to %u.%u.%u.%u #%" PRIu32, q->device, q->remote >> 24, q->remote >> 16 & 255,
			q->remote >> 8 & 255, q->remote & 255, q->nth);
	else
		fprintf(out, "%s DC #%" PRIu32, q->device, q->nth);
}

static void compare_queue(const struct side *sa, const struct side *sb, const struct queue *a, const struct queue *b,
			  FILE *out, struct bf_queue_diff *r)
{
	const uint64_t before = r->different + r->completions;
	const bool entries = a->remote && a->remote >> 16 == 0x0a00;
	uint64_t none = 0;
	bool any;

	if (out)
		fputs("  ", out);
	if (out)
		print_name(out, a);
	if (out)
		fputs(": ", out);
	any = name_pair(out, "QP", a->qpn, b->qpn, false);
	any = name_pair(out, "send CQ", a->send_cqn, b->send_cqn, any);
	any = name_pair(out, "receive CQ", a->recv_cqn, b->recv_cqn, any);
	if (entries)
		any = name_pair(out, "table entry", table_entry(sa, a), table_entry(sb, b), any);
	r->renumbered += any;
	compare_steps(&a->entries, &b->entries, &r->entries, &r->elsewhere, &r->different);
	compare_steps(&a->completions, &b->completions, &none, NULL, &r->completions);
	if (out)
		fprintf(out, "%s%zu entries%s\n", any ? "; " : "", a->entries.n,
			r->different + r->completions == before ? " alike" : ", DIFFERENT");
}

static void print_totals(FILE *out, const struct side *a, const struct side *b, const struct bf_queue_diff *r)
{
	fprintf(out, "%" PRIu64 " queue pairs matched, %" PRIu64 " with other numbers; %" PRIu64 " without a match\n",
		r->queues, r->renumbered, r->unmatched);
	fprintf(out, "%" PRIu64 " -> %" PRIu64 " completion queues\n", a->cqs, b->cqs);
	fprintf(out, "%" PRIu64 " entries compared: %" PRIu64 " different", r->entries, r->different);
	if (r->elsewhere)
		fprintf(out, ", %" PRIu64 " only in where results land", r->elsewhere);
	fprintf(out, "; completions: %" PRIu64 " different\n", r->completions);
}

static void json_totals(struct bf_json *j, const struct side *a, const struct side *b, const struct bf_queue_diff *r)
{
	bf_json_text(j, "layout_a", a->layout);
	bf_json_text(j, "layout_b", b->layout);
	bf_json_u64(j, "completion_queues_a", a->cqs);
	bf_json_u64(j, "completion_queues_b", b->cqs);
	bf_json_u64(j, "queues", r->queues);
	bf_json_u64(j, "unmatched", r->unmatched);
	bf_json_u64(j, "renumbered", r->renumbered);
	bf_json_u64(j, "entries", r->entries);
	bf_json_u64(j, "results_elsewhere", r->elsewhere);
	bf_json_u64(j, "entries_different", r->different);
	bf_json_u64(j, "completions_different", r->completions);
}

static void compare_sides(struct side *a, struct side *b, FILE *out, struct bf_queue_diff *r)
{
	for (size_t i = 0; i < a->n; i++) {
		struct queue *other = match(b, &a->queue[i]);

		if (!other) {
			r->unmatched++;
			continue;
		}
		other->matched = true;
		r->queues++;
		compare_queue(a, b, &a->queue[i], other, out, r);
	}
	for (size_t i = 0; i < b->n; i++)
		r->unmatched += !b->queue[i].matched;
}

int bf_queue_diff(struct bf_trace *a, struct bf_trace *b, FILE *out, struct bf_json *j, struct bf_queue_diff *result,
		  struct bf_error *err)
{
	struct side sa = { 0 }, sb = { 0 };
	int rc = read_side(a, &sa, err);

	*result = (struct bf_queue_diff){ 0 };
	if (!rc)
		rc = read_side(b, &sb, err);
	if (!rc) {
		if (!j)
			fprintf(out, "layout %s -> %s\n", sa.layout, sb.layout);
		compare_sides(&sa, &sb, j ? NULL : out, result);
		if (j)
			json_totals(j, &sa, &sb, result);
		else
			print_totals(out, &sa, &sb, result);
		rc = result->unmatched || result->different || result->completions ? 1 : 0;
	}
	free_side(&sa);
	free_side(&sb);
	return rc;
}
