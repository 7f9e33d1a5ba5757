/*
 * belfry check hopper-timing: each measured row run as the same experiment on the model.
 *
 * A line is {"exp": KIND, parameters and measured values...}. A row is within bounds when each of its values is within
 * 5 % or 3 cycles; capacities and counts must be equal. What varies from run to run on silicon is compared as a
 * distribution. An unknown kind fails.
 *
 * Rows that say the same experiment are compared with each other, too, as if one were the model of the other: where
 * silicon is not within the bounds of itself, no model can be.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/record.h"
#include "tools/checks/check.h"
#include "tools/calibrate/hopper_rows.h"

/* The kinds of rows there are, with the members that say the experiment: rows equal in these are twins. */
static const struct kind {
	const char *name, *parameters;
	bf_row_fn *run;
} kinds[] = {
	{ "arrive_cycle", "barriers dependent", bf_row_arrive_cycle },
	{ "test_cycle", "barriers", bf_row_test_cycle },
	{ "stride", "stride barriers op", bf_row_stride },
	{ "plain", "", bf_row_plain },
	{ "merge", "barriers", bf_row_merge },
	{ "arrive_throughput", "warps same_barrier", bf_row_arrive_throughput },
	{ "single_latency", "round", bf_row_single_latency },
	{ "stale", "name n op wait touch", bf_row_stale },
	{ "replacement", "retouched op new_pairs", bf_row_replacement },
	{ "plain_store", "v0", bf_row_plain_store },
	{ "cta_exit", "read", bf_row_cta_exit },
	{ "pingpong", "mode", bf_row_pingpong },
	{ "wake", "warps barriers delay", bf_row_wake },
	{ "wake_lanes", "warps lanes", bf_row_wake_lanes },
	{ "noise", "barriers ops", bf_row_noise },
	{ "wake_order", "waiters gap", bf_row_wake_order },
	{ "evict_parked", "waiters other_pairs rounds op", bf_row_evict_parked },
	{ "park_shape", "shape", bf_row_park_shape },
	{ "timeout", "hint", bf_row_timeout },
	{ "timeout_bg", "bg_warps bg_barriers", bf_row_timeout_bg },
	{ "limit_spread", "runs seed", bf_row_limit_spread },
	{ "limit_many", "waiters gap runs", bf_row_limit_many },
	{ "limit_pair", "gap runs starts", bf_row_limit_pair },
	{ "hint_arrive", "hint lanes delay", bf_row_hint_arrive },
	{ "wait62", "barriers_per_block delay_ns", bf_row_wait62 },
	{ "pool", "partition_mask delay waiters", bf_row_pool },
	{ "remote_pingpong", "mode other_lanes cluster peer", bf_row_remote_pingpong },
	{ "remote_throughput", "cluster senders warps lanes same_barrier sem loop each", bf_row_remote_throughput },
	{ "cluster_remote_arrive", "", bf_row_cluster_remote_arrive },
	{ "gpu_post_host_48B", "", bf_row_gpu_post_host },
	{ "gpu_cpu_pingpong", "", bf_row_gpu_cpu_pingpong },
	{ "bulk", "bytes", bf_row_bulk },
	{ "bulk_pipe", "ctas threads stages bytes", bf_row_bulk_pipe },
	{ "tx_partial", "bytes src_offset from step values copies", bf_row_tx_partial },
	{ "evict_bulk", "bytes copies other_pairs", bf_row_evict_bulk },
};

#define UNKNOWN BF_ARRAY_LEN(kinds)

#define BUCKETS 1024u
#define TWINS 64u /* a row is compared with so many earlier ones at most */

/* A row that was read: what its twins are compared with. */
struct twin {
	uint64_t parameters; /* a hash of them */
	struct bf_row_value *value;
	uint32_t values, next; /* of its bucket, plus 1 */
};

struct tally {
	struct bf_check base; /* of rows */
	struct twin *twin;
	uint32_t twins, twin_cap, bucket[BUCKETS]; /* the newest row of each, plus 1 */
	uint64_t pairs[BF_ARRAY_LEN(kinds) + 1], near[BF_ARRAY_LEN(kinds) + 1];
	uint64_t rows[BF_ARRAY_LEN(kinds) + 1], good[BF_ARRAY_LEN(kinds) + 1];
	uint64_t values, values_out;
};

static size_t find_kind(const char *name)
{
	size_t i = 0;

	while (i < UNKNOWN && strcmp(kinds[i].name, name) != 0)
		i++;
	return i;
}

/* Thousandths as text with two decimals. */
static const char *number(int64_t v, char *buf, size_t cap)
{
	const uint64_t a = (uint64_t)llabs(v) + 5;

	snprintf(buf, cap, "%s%" PRIu64 ".%02" PRIu64, v < 0 ? "-" : "", a / 1000, a % 1000 / 10);
	return buf;
}

static int64_t error_of(const struct bf_row *r)
{
	const int64_t error = r->model - r->silicon, most = INT64_MAX / 100000;

	return r->silicon && llabs(error) < most ? error * 100000 / llabs(r->silicon) : 0;
}

static void print_row(const struct bf_row *r, const char *kind, const char *problem, bool good)
{
	char s[32], m[32], e[32];

	if (problem)
		printf("%4" PRIu32 " %-17s %s: OUT\n", r->line->number, kind, problem);
	else if (r->text[0])
		printf("%4" PRIu32 " %-17s %-24s silicon %s: OUT\n", r->line->number, kind, r->field, r->text);
	else
		printf("%4" PRIu32 " %-17s %-24s silicon %10s  model %10s  %8s %%  %s\n", r->line->number, kind,
		       r->field, number(r->silicon, s, sizeof(s)), number(r->model, m, sizeof(m)),
		       number(error_of(r), e, sizeof(e)), good ? "ok" : "OUT");
}

static void json_row(struct bf_json *j, const struct bf_row *r, const char *kind, const char *problem, bool good)
{
	char text[32];

	bf_json_open(j, NULL, '{');
	bf_json_u64(j, "line", r->line->number);
	bf_json_text(j, "exp", kind);
	bf_json_bool(j, "within", good);
	if (problem) {
		bf_json_text(j, "problem", problem);
	} else {
		bf_json_text(j, "field", r->field);
		bf_json_text(j, "silicon", number(r->silicon, text, sizeof(text)));
		bf_json_text(j, "model", number(r->model, text, sizeof(text)));
		bf_json_text(j, "error_percent", number(error_of(r), text, sizeof(text)));
	}
	bf_json_close(j, '}');
}

/* ---- silicon against itself ---- */

/* Of the kind and of what the row says of its experiment; the text of a member is hashed as it stands. */
static uint64_t parameters_of(const struct bf_row *r, size_t k)
{
	uint64_t parts[16] = { k };
	size_t n = 1;

	for (const char *p = kinds[k].parameters; *p && n < BF_ARRAY_LEN(parts);) {
		const size_t len = strcspn(p, " ");
		const struct bf_json_member *m = NULL;

		for (unsigned i = 0; i < r->line->count && !m; i++)
			if (r->line->members[i].name_len == len && memcmp(r->line->members[i].name, p, len) == 0)
				m = &r->line->members[i];
		parts[n++] = m ? bf_hash_bytes(m->value, m->value_len) : 0;
		p += len + (p[len] == ' ');
	}
	return bf_hash_bytes(parts, n * sizeof(*parts));
}

static bool all_near(const struct twin *a, const struct twin *b)
{
	for (uint32_t i = 0; i < a->values; i++)
		if (!bf_row_value_near(&a->value[i], &b->value[i]))
			return false;
	return true;
}

/* Compares the row with its twins, each with the bounds of either, and keeps its values. */
static int meet_twins(struct tally *t, struct bf_row *r, size_t k)
{
	const struct twin new = { .parameters = parameters_of(r, k), .value = r->value, .values = r->values };
	uint32_t *bucket = &t->bucket[new.parameters % BUCKETS], met = 0;

	if (BF_GROW(t->twin, t->twin_cap, t->twins + 1))
		return bf_fail(r->line->err, -ENOMEM, "out of memory");
	for (uint32_t at = *bucket; at && met < TWINS; at = t->twin[at - 1].next) {
		const struct twin *old = &t->twin[at - 1];

		if (old->parameters != new.parameters || old->values != new.values)
			continue;
		met++;
		t->pairs[k] += 2;
		t->near[k] += (uint64_t)all_near(old, &new) + all_near(&new, old);
	}
	t->twin[t->twins] = new;
	t->twin[t->twins].next = *bucket;
	*bucket = ++t->twins;
	r->value = NULL;
	return 0;
}

bool bf_row_run(struct bf_row *r, char *kind, size_t cap, size_t *number)
{
	size_t k;

	*number = UNKNOWN;
	bf_row_text(r, "exp", kind, (uint32_t)cap);
	if (r->rc)
		return false;
	*number = k = find_kind(kind);
	if (k == UNKNOWN)
		r->problem = "there is no experiment of this kind";
	else
		kinds[k].run(r);
	return !r->rc && !r->problem && r->values && !r->out;
}

static int judge_row(struct tally *t, struct bf_row *r)
{
	const char *problem;
	char kind[40];
	size_t k;
	const bool good = bf_row_run(r, kind, sizeof(kind), &k);

	if (r->rc)
		return r->rc;
	problem = r->problem;
	t->rows[k]++;
	t->good[k] += good;
	t->base.taken++;
	t->base.bad += !good;
	t->values += r->values;
	t->values_out += r->out;
	if (t->base.json)
		json_row(t->base.json, r, kind, problem, good);
	else
		print_row(r, kind, problem, good);
	return problem || !r->values ? 0 : meet_twins(t, r, k);
}

static int take(void *tally, struct bf_json_line *l)
{
	struct bf_row r = { .line = l, .profile = &bf_hopper_h200, .code = &bf_row_code };
	const int rc = judge_row(tally, &r);

	free(r.value);
	return rc;
}

static uint64_t within(const struct tally *t)
{
	return t->base.taken - t->base.bad;
}

static void print_summary(const void *tally)
{
	const struct tally *t = tally;
	const uint64_t total = t->base.taken;

	for (size_t i = 0; i <= UNKNOWN; i++) {
		if (!t->rows[i])
			continue;
		printf("%-22s %4" PRIu64 " of %4" PRIu64, i < UNKNOWN ? kinds[i].name : "(unknown kinds)", t->good[i],
		       t->rows[i]);
		if (t->pairs[i])
			printf("; silicon against itself %" PRIu64 " of %" PRIu64, t->near[i], t->pairs[i]);
		printf("\n");
	}
	printf("%" PRIu64 " of %" PRIu64 " rows within 5 %% or 3 cycles (%" PRIu64 ".%" PRIu64 " %%); %" PRIu64
	       " values compared, %" PRIu64 " out\n",
	       within(t), total, within(t) * 100 / total, within(t) * 1000 / total % 10, t->values, t->values_out);
}

static void json_summary(struct bf_json *j, const void *tally)
{
	const struct tally *t = tally;

	bf_json_u64(j, "rows", t->base.taken);
	bf_json_u64(j, "within", within(t));
	bf_json_u64(j, "values", t->values);
	bf_json_u64(j, "values_out", t->values_out);
	bf_json_open(j, "itself", '[');
	for (size_t i = 0; i < UNKNOWN; i++) {
		if (!t->pairs[i])
			continue;
		bf_json_open(j, NULL, '{');
		bf_json_text(j, "exp", kinds[i].name);
		bf_json_u64(j, "pairs", t->pairs[i]);
		bf_json_u64(j, "within", t->near[i]);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

static void free_twins(void *tally)
{
	struct tally *t = tally;

	for (uint32_t i = 0; i < t->twins; i++)
		free(t->twin[i].value);
	free(t->twin);
}

const struct bf_check_form bf_check_hopper_timing = {
	.form = { .name = "hopper-timing",
		  .details = "FILE is JSON Lines with rows that a probe measured on a GPU; each is run as the same "
			     "experiment on the model. A row is within bounds if its values are within 5 % or 3 cycles "
			     "and its counts are equal. Rows with equal parameters are compared with each other, too, "
			     "by the same bounds: a model cannot be closer to silicon than silicon is to itself." },
	.each = "row",
	.list = "rows",
	.tally_bytes = sizeof(struct tally),
	.take = take,
	.end = free_twins,
	.print = print_summary,
	.summary = json_summary,
};
