#include "tools/replay/mlx5_completion_diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "tools/replay/compare.h"
#include "tools/replay/mlx5_queue_steps.h"

#define OWNER 0x01u
#define FROM_RECEIVES UINT8_MAX /* in answer.entry_opcode */

/* A kind of entry and what came of it, without gaps, so that bytes can be compared. */
struct answer {
	uint32_t length;
	uint8_t entry_opcode, flags, reserved[2];
	uint32_t byte_cnt;
	uint8_t opcode, wqe_opcode, syndrome, reserved2;
};
BF_STATIC_ASSERT(sizeof(struct answer) == 16, "an answer has no gaps");
#define KIND_BYTES offsetof(struct answer, byte_cnt)

struct answers {
	struct answer *at;
	size_t n;
};

static bool of_receive(const struct bf_queue_completion *c)
{
	return (c->opcode >= BF_MLX5_CQE_RESP_WRITE_IMM && c->opcode <= BF_MLX5_CQE_RESP_SEND_INV) ||
	       c->opcode == BF_MLX5_CQE_RESP_ERR;
}

/* Whether the owner bits of two are to be the same: they say how often a CQ went around. */
static bool own_ring(const struct bf_queue_side *sa, const struct bf_queue_completion *a,
		     const struct bf_queue_side *sb, const struct bf_queue_completion *b)
{
	return a->cq < sa->ncqs && b->cq < sb->ncqs && !sa->cq[a->cq].shared && !sb->cq[b->cq].shared &&
	       sa->cq[a->cq].entries == sb->cq[b->cq].entries;
}

static bool same(const struct bf_queue_side *sa, const struct bf_queue_completion *a, const struct bf_queue_side *sb,
		 const struct bf_queue_completion *b)
{
	return a->opcode == b->opcode && a->wqe_opcode == b->wqe_opcode && a->index == b->index &&
	       a->byte_cnt == b->byte_cnt && a->syndrome == b->syndrome &&
	       (!own_ring(sa, a, sb, b) || (a->op_own & OWNER) == (b->op_own & OWNER));
}

/* Where the two part; the length of both when they do not. */
static size_t first_difference(const struct bf_queue_side *sa, const struct bf_queue_completions *a,
			       const struct bf_queue_side *sb, const struct bf_queue_completions *b)
{
	size_t i = 0;

	while (i < a->n && i < b->n && same(sa, &a->at[i], sb, &b->at[i]))
		i++;
	return i;
}

static bool used(const struct bf_step_queue *q)
{
	return q->entries.n || q->completions.n;
}

static bool same_work(const struct bf_step_queue *a, const struct bf_step_queue *b)
{
	if (a->entries.n != b->entries.n)
		return false;
	for (size_t i = 0; i < a->entries.n; i++) {
		const struct bf_queue_entry *x = &a->entries.at[i], *y = &b->entries.at[i];

		if (x->opcode != y->opcode || x->flags != y->flags || x->length != y->length || x->index != y->index)
			return false;
	}
	return true;
}

/* ---- kinds ---- */

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct answer));
}

/*
 * Each completion with the entry that it is of, sorted. Completions of a send queue come in the order of its entries;
 * -EBADMSG: one is of no entry behind the one before.
 */
static int collect(const struct bf_step_queue *q, struct answers *out)
{
	size_t e = 0;

	out->n = 0;
	out->at = calloc(q->completions.n + 1, sizeof(*out->at));
	if (!out->at)
		return -ENOMEM;
	for (size_t i = 0; i < q->completions.n; i++) {
		const struct bf_queue_completion *c = &q->completions.at[i];
		struct answer *a = &out->at[out->n++];

		*a = (struct answer){ .byte_cnt = c->byte_cnt,
				      .entry_opcode = FROM_RECEIVES,
				      .opcode = c->opcode,
				      .wqe_opcode = c->wqe_opcode,
				      .syndrome = c->syndrome };
		if (of_receive(c))
			continue;
		while (e < q->entries.n && q->entries.at[e].index != c->index)
			e++;
		if (e == q->entries.n)
			return -EBADMSG;
		a->length = q->entries.at[e].length;
		a->entry_opcode = q->entries.at[e].opcode;
		a->flags = q->entries.at[e++].flags;
	}
	qsort(out->at, out->n, sizeof(*out->at), by_bytes);
	return 0;
}

/* Only what differs from the one before is left. */
static void drop_repeated(struct answers *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		if (!n || memcmp(&a->at[n - 1], &a->at[i], sizeof(*a->at)) != 0)
			a->at[n++] = a->at[i];
	a->n = n;
}

/* Where the kind that begins at `i` ends. */
static size_t kind_end(const struct answers *a, size_t i)
{
	const struct answer *first = &a->at[i];

	while (i < a->n && memcmp(&a->at[i], first, KIND_BYTES) == 0)
		i++;
	return i;
}

/* Whether every kind that is in both lists, without repetitions, has the same answers. */
static bool kinds_agree(const struct answers *a, const struct answers *b)
{
	size_t i = 0, k = 0;

	while (i < a->n && k < b->n) {
		const size_t ends_a = kind_end(a, i), ends_b = kind_end(b, k);
		const int order = memcmp(&a->at[i], &b->at[k], KIND_BYTES);

		if (!order && (ends_a - i != ends_b - k || memcmp(&a->at[i], &b->at[k], (ends_a - i) * sizeof(*a->at))))
			return false;
		i = order <= 0 ? ends_a : i;
		k = order >= 0 ? ends_b : k;
	}
	return true;
}

enum verdict { ALIKE, REORDERED, OTHER_WORK, DIFFERENT };

/* Of two queue pairs whose completions are not the same in order. Or a negative errno. */
static int judge(const struct bf_step_queue *a, const struct bf_step_queue *b)
{
	struct answers x = { 0 }, y = { 0 };
	int rc = collect(a, &x), verdict = DIFFERENT;

	if (!rc)
		rc = collect(b, &y);
	if (!rc && x.n == y.n && memcmp(x.at, y.at, x.n * sizeof(*x.at)) == 0 && !same_work(a, b)) {
		verdict = REORDERED;
	} else if (!rc && !same_work(a, b)) {
		drop_repeated(&x);
		drop_repeated(&y);
		verdict = kinds_agree(&x, &y) ? OTHER_WORK : DIFFERENT;
	}
	free(x.at);
	free(y.at);
	return rc == -ENOMEM ? rc : verdict;
}

/* ---- all of them ---- */

static void print_completion(FILE *out, const char *which, const struct bf_step_queue *q, size_t i)
{
	const struct bf_queue_completion *c = &q->completions.at[i];

	if (i >= q->completions.n)
		fprintf(out, "    %s: none\n", which);
	else
		fprintf(out,
			"    %s: opcode %u of entry %u (opcode 0x%02x), %" PRIu32
			" bytes, syndrome 0x%02x, op_own 0x%02x\n",
			which, c->opcode, c->index, c->wqe_opcode, c->byte_cnt, c->syndrome, c->op_own);
}

static int compare_queue(const struct bf_queue_side *sa, const struct bf_step_queue *a, const struct bf_queue_side *sb,
			 const struct bf_step_queue *b, FILE *out, struct bf_completion_diff *r)
{
	static const char *const words[] = { "alike", "in another order, with the same answers",
					     "other work, each kind with the same answers", "DIFFERENT" };
	const size_t part = first_difference(sa, &a->completions, sb, &b->completions);
	const bool alike = part == a->completions.n && part == b->completions.n;
	const int verdict = alike ? ALIKE : judge(a, b);
	char name[64];

	if (verdict < 0)
		return verdict;
	r->queues++;
	r->completions += a->completions.n;
	r->reordered += verdict == REORDERED;
	r->other_work += verdict == OTHER_WORK;
	r->different += verdict == DIFFERENT;
	if (!out)
		return 0;
	bf_queue_name(a, name, sizeof(name));
	fprintf(out, "  %s: %zu completions %s\n", name, a->completions.n, words[verdict]);
	if (verdict != DIFFERENT)
		return 0;
	fprintf(out, "    after %zu alike:\n", part);
	print_completion(out, "first", a, part);
	print_completion(out, "second", b, part);
	return 0;
}

/* The next queue pair of the context that queue pair `of` is one of, connected or not. NULL: no more. */
static struct bf_step_queue *next(const struct bf_queue_side *s, const struct bf_step_queue *of, bool connected,
				  size_t *from)
{
	while (*from < s->n) {
		struct bf_step_queue *q = &s->queue[(*from)++];

		if (q->pd == of->pd && !q->remote == !connected && strcmp(q->device, of->device) == 0)
			return q;
	}
	return NULL;
}

/* Two contexts, each by a queue pair of its own: those to a peer in order of their making, then the others. */
static int compare_contexts(const struct bf_queue_side *sa, const struct bf_step_queue *a,
			    const struct bf_queue_side *sb, const struct bf_step_queue *b, FILE *out,
			    struct bf_completion_diff *r)
{
	int rc = 0;

	for (int connected = 1; !rc && connected >= 0; connected--) {
		size_t i = 0, k = 0;
		struct bf_step_queue *x, *y;

		do {
			x = next(sa, a, connected, &i);
			y = next(sb, b, connected, &k);
			r->unmatched += !x != !y;
			if (x && y && (used(x) || used(y)))
				rc = compare_queue(sa, x, sb, y, out, r);
		} while (!rc && (x || y));
	}
	return rc;
}

static void mark(const struct bf_queue_side *s, const struct bf_step_queue *of)
{
	for (int connected = 0; connected <= 1; connected++) {
		struct bf_step_queue *q;
		size_t i = 0;

		while ((q = next(s, of, connected, &i)))
			q->matched = true;
	}
}

/* The context of `sb` that has not been matched and fits best: by its device's name, or by what it did. */
static int best(const struct bf_queue_side *sa, const struct bf_step_queue *a, const struct bf_queue_side *sb,
		struct bf_step_queue **found)
{
	uint64_t least = UINT64_MAX, misfit;
	int rc;

	*found = NULL;
	for (size_t i = 0; i < sb->n && least; i++) {
		struct bf_completion_diff r = { 0 };

		if (sb->queue[i].matched)
			continue;
		if (strcmp(sb->queue[i].device, a->device) == 0) {
			*found = &sb->queue[i];
			return 0;
		}
		rc = compare_contexts(sa, a, sb, &sb->queue[i], NULL, &r);
		if (rc)
			return rc;
		misfit = r.unmatched + r.other_work + r.different;
		if (misfit < least)
			*found = &sb->queue[i];
		least = misfit < least ? misfit : least;
	}
	return 0;
}

static int compare_sides(const struct bf_queue_side *a, const struct bf_queue_side *b, FILE *out,
			 struct bf_completion_diff *r)
{
	struct bf_step_queue *other;
	int rc = 0;

	for (size_t i = 0; !rc && i < a->n; i++) {
		if (a->queue[i].matched)
			continue;
		rc = best(a, &a->queue[i], b, &other);
		if (rc || !other)
			continue;
		rc = compare_contexts(a, &a->queue[i], b, other, out, r);
		mark(a, &a->queue[i]);
		mark(b, other);
	}
	for (size_t i = 0; i < a->n; i++)
		r->unmatched += !a->queue[i].matched;
	for (size_t i = 0; i < b->n; i++)
		r->unmatched += !b->queue[i].matched;
	return rc;
}

static void print_totals(FILE *out, const struct bf_completion_diff *r)
{
	fprintf(out, "%" PRIu64 " queue pairs matched, %" PRIu64 " without a match; %" PRIu64 " completions\n",
		r->queues, r->unmatched, r->completions);
	fprintf(out, "%" PRIu64 " in another order, %" PRIu64 " with other work, %" PRIu64 " different\n", r->reordered,
		r->other_work, r->different);
}

static void json_totals(struct bf_json *j, const struct bf_completion_diff *r)
{
	bf_json_u64(j, "queues", r->queues);
	bf_json_u64(j, "unmatched", r->unmatched);
	bf_json_u64(j, "completions", r->completions);
	bf_json_u64(j, "reordered", r->reordered);
	bf_json_u64(j, "other_work", r->other_work);
	bf_json_u64(j, "different", r->different);
}

int bf_completion_diff(struct bf_trace *a, struct bf_trace *b, FILE *out, struct bf_json *j,
		       struct bf_completion_diff *result, struct bf_error *err)
{
	struct bf_queue_side sa = { 0 }, sb = { 0 };
	int rc = bf_queue_side_read(a, &sa, err);

	*result = (struct bf_completion_diff){ 0 };
	if (!rc)
		rc = bf_queue_side_read(b, &sb, err);
	if (!rc) {
		rc = compare_sides(&sa, &sb, j ? NULL : out, result);
		if (rc)
			bf_fail(err, rc, "no memory to compare completions");
	}
	if (!rc) {
		if (j)
			json_totals(j, result);
		else
			print_totals(out, result);
		rc = result->unmatched || result->other_work || result->different ? 1 : 0;
	}
	bf_queue_side_free(&sa);
	bf_queue_side_free(&sb);
	return rc;
}

static int compare_traces(struct bf_trace *a, struct bf_trace *b, FILE *out, struct bf_json *j, struct bf_error *err)
{
	struct bf_completion_diff r;
	const int rc = bf_completion_diff(a, b, out, j, &r, err);

	if (rc >= 0 && !r.completions)
		return bf_fail(err, -ENOENT, "--completions: the first trace has none of mlx5's");
	return rc;
}

const struct bf_compare_form bf_compare_mlx5_completions = {
	.form = { .name = "--completions",
		  .details =
		      "compares a model with a real device, or two devices, for one driver. Queue pairs are matched in "
		      "order "
		      "of creation, and each must have the same completions in order: opcodes, entries, byte counts, "
		      "syndromes, owner bits. If threads filled a ring in another order, each kind of entry must have "
		      "the "
		      "same answers, the same number of times. If the entries themselves differ, the exit code is 1, "
		      "and "
		      "\"other work\" says that the answers to each kind are the same in both.",
		  .example = "  belfry exec --trace mlx5.bft -- belfry run ibgda-mixed --backend mlx5\n"
			     "  belfry diff --completions l3.bft mlx5.bft" },
	.compare = compare_traces,
};
