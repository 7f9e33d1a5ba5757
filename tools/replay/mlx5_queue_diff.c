#include "tools/replay/mlx5_queue_diff.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "drivers/ibgda/ibgda.h"
#include "tools/replay/compare.h"
#include "tools/replay/mlx5_queue_steps.h"

/*
 * The entry of the table of connections that this queue pair takes, as its layout orders it. With one NIC of one port a
 * PE's address is 10.0.0.0 and its number, from 1.
 */
static uint32_t table_entry(const struct bf_queue_side *s, const struct bf_step_queue *q)
{
	const enum bf_ibgda_layout_id layout = (enum bf_ibgda_layout_id)(BF_IBGDA_L1 + (s->layout[1] - '1'));

	return bf_ibgda_rc_index(layout, s->npes, s->rcs, (q->remote & 0xffff) - 1, q->nth);
}

/* Whether two entries differ only in the last segment, which says where results land. */
static bool results_elsewhere(const struct bf_queue_entry *a, const struct bf_queue_entry *b)
{
	return a->len == b->len && a->len >= 48 && memcmp(a->bytes, b->bytes, a->len - 16) == 0;
}

static void compare_entries(const struct bf_queue_entries *a, const struct bf_queue_entries *b, struct bf_queue_diff *r)
{
	const size_t n = a->n < b->n ? a->n : b->n, all = a->n + b->n - n;

	r->entries += all;
	r->different += all - n;
	for (size_t i = 0; i < n; i++) {
		const struct bf_queue_entry *x = &a->at[i], *y = &b->at[i];

		if (x->len == y->len && memcmp(x->bytes, y->bytes, x->len) == 0)
			continue;
		if (results_elsewhere(x, y))
			r->elsewhere++;
		else
			r->different++;
	}
}

static void compare_completions(const struct bf_queue_completions *a, const struct bf_queue_completions *b,
				struct bf_queue_diff *r)
{
	const size_t n = a->n < b->n ? a->n : b->n;

	r->completions += a->n + b->n - 2 * n;
	for (size_t i = 0; i < n; i++)
		r->completions += a->at[i].index != b->at[i].index || a->at[i].opcode != b->at[i].opcode ||
				  a->at[i].syndrome != b->at[i].syndrome;
}

static struct bf_step_queue *match(struct bf_queue_side *s, const struct bf_step_queue *q)
{
	for (size_t i = 0; i < s->n; i++) {
		struct bf_step_queue *other = &s->queue[i];

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

static void compare_queue(const struct bf_queue_side *sa, const struct bf_queue_side *sb, const struct bf_step_queue *a,
			  const struct bf_step_queue *b, FILE *out, struct bf_queue_diff *r)
{
	const uint64_t before = r->different + r->completions;
	const bool entries = a->remote && a->remote >> 16 == 0x0a00;
	char name[64];
	bool any;

	bf_queue_name(a, name, sizeof(name));
	if (out)
		fprintf(out, "  %s: ", name);
	any = name_pair(out, "QP", a->qpn, b->qpn, false);
	any = name_pair(out, "send CQ", a->send_cqn, b->send_cqn, any);
	any = name_pair(out, "receive CQ", a->recv_cqn, b->recv_cqn, any);
	if (entries)
		any = name_pair(out, "table entry", table_entry(sa, a), table_entry(sb, b), any);
	r->renumbered += any;
	compare_entries(&a->entries, &b->entries, r);
	compare_completions(&a->completions, &b->completions, r);
	if (out)
		fprintf(out, "%s%zu entries%s\n", any ? "; " : "", a->entries.n,
			r->different + r->completions == before ? " alike" : ", DIFFERENT");
}

static void print_totals(FILE *out, const struct bf_queue_side *a, const struct bf_queue_side *b,
			 const struct bf_queue_diff *r)
{
	fprintf(out, "%" PRIu64 " queue pairs matched, %" PRIu64 " with other numbers; %" PRIu64 " without a match\n",
		r->queues, r->renumbered, r->unmatched);
	fprintf(out, "%zu -> %zu completion queues\n", a->ncqs, b->ncqs);
	fprintf(out, "%" PRIu64 " entries compared: %" PRIu64 " different", r->entries, r->different);
	if (r->elsewhere)
		fprintf(out, ", %" PRIu64 " only in where results land", r->elsewhere);
	fprintf(out, "; completions: %" PRIu64 " different\n", r->completions);
}

static void json_totals(struct bf_json *j, const struct bf_queue_side *a, const struct bf_queue_side *b,
			const struct bf_queue_diff *r)
{
	bf_json_text(j, "layout_a", a->layout);
	bf_json_text(j, "layout_b", b->layout);
	bf_json_u64(j, "completion_queues_a", a->ncqs);
	bf_json_u64(j, "completion_queues_b", b->ncqs);
	bf_json_u64(j, "queues", r->queues);
	bf_json_u64(j, "unmatched", r->unmatched);
	bf_json_u64(j, "renumbered", r->renumbered);
	bf_json_u64(j, "entries", r->entries);
	bf_json_u64(j, "results_elsewhere", r->elsewhere);
	bf_json_u64(j, "entries_different", r->different);
	bf_json_u64(j, "completions_different", r->completions);
}

static void compare_sides(struct bf_queue_side *a, struct bf_queue_side *b, FILE *out, struct bf_queue_diff *r)
{
	for (size_t i = 0; i < a->n; i++) {
		struct bf_step_queue *other = match(b, &a->queue[i]);

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
	struct bf_queue_side sa = { 0 }, sb = { 0 };
	int rc = bf_queue_side_read(a, &sa, err);

	*result = (struct bf_queue_diff){ 0 };
	if (!rc)
		rc = bf_queue_side_read(b, &sb, err);
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
	bf_queue_side_free(&sa);
	bf_queue_side_free(&sb);
	return rc;
}

static int compare_traces(struct bf_trace *a, struct bf_trace *b, FILE *out, struct bf_json *j, struct bf_error *err)
{
	struct bf_queue_diff r;
	const int rc = bf_queue_diff(a, b, out, j, &r, err);

	if (rc >= 0 && !r.queues && !r.unmatched)
		return bf_fail(err, -ENOENT, "--queues: neither trace has a queue pair of mlx5");
	return rc;
}

const struct bf_compare_form bf_compare_mlx5_queues = {
	.form = { .name = "--queues",
		  .details =
		      "compares runs whose tables have different orders (belfry run --layout). Queue pairs are matched "
		      "by "
		      "what they connect. Differing numbers of queue pairs, completion queues and table entries are "
		      "listed; "
		      "entries and completions must be equal. belfry replay TRACE --layout runs and compares in one "
		      "step.",
		  .example = "  belfry run ibgda-mixed --trace l3.bft\n"
			     "  belfry run ibgda-mixed --layout l2 --trace l2.bft\n"
			     "  belfry diff --queues l3.bft l2.bft" },
	.compare = compare_traces,
};
