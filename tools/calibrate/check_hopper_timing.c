/*
 * belfry check hopper-timing: each measured row run as the same experiment on the model.
 *
 * A line is {"exp": KIND, parameters and measured values...}. A row is within bounds when each of its values is within
 * 5 % or 3 cycles; capacities and counts must be equal. What varies from run to run on silicon is compared as a
 * distribution. An unknown kind fails.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/checks/check.h"
#include "tools/calibrate/hopper_rows.h"

/* The kinds of rows there are: each with the file that has its experiment. */
static const struct kind {
	const char *name;
	bf_row_fn *run;
} kinds[] = {
	{ "arrive_cycle", bf_row_arrive_cycle },
	{ "test_cycle", bf_row_test_cycle },
	{ "stride", bf_row_stride },
	{ "plain", bf_row_plain },
	{ "merge", bf_row_merge },
	{ "arrive_throughput", bf_row_arrive_throughput },
	{ "single_latency", bf_row_single_latency },
	{ "stale", bf_row_stale },
	{ "replacement", bf_row_replacement },
	{ "plain_store", bf_row_plain_store },
	{ "cta_exit", bf_row_cta_exit },
	{ "pingpong", bf_row_pingpong },
	{ "wake", bf_row_wake },
	{ "wake_lanes", bf_row_wake_lanes },
	{ "noise", bf_row_noise },
	{ "wake_order", bf_row_wake_order },
	{ "evict_parked", bf_row_evict_parked },
	{ "park_shape", bf_row_park_shape },
	{ "timeout", bf_row_timeout },
	{ "timeout_bg", bf_row_timeout_bg },
	{ "limit_spread", bf_row_limit_spread },
	{ "limit_many", bf_row_limit_many },
	{ "limit_pair", bf_row_limit_pair },
	{ "hint_arrive", bf_row_hint_arrive },
	{ "wait62", bf_row_wait62 },
	{ "pool", bf_row_pool },
	{ "remote_pingpong", bf_row_remote_pingpong },
	{ "remote_throughput", bf_row_remote_throughput },
	{ "cluster_remote_arrive", bf_row_cluster_remote_arrive },
	{ "gpu_post_host_48B", bf_row_gpu_post_host },
	{ "gpu_cpu_pingpong", bf_row_gpu_cpu_pingpong },
	{ "bulk", bf_row_bulk },
	{ "bulk_pipe", bf_row_bulk_pipe },
	{ "tx_partial", bf_row_tx_partial },
	{ "evict_bulk", bf_row_evict_bulk },
};

#define UNKNOWN BF_ARRAY_LEN(kinds)

struct tally {
	struct bf_check base; /* of rows */
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

static int take(void *tally, struct bf_json_line *l)
{
	struct tally *t = tally;
	struct bf_row r = { .line = l, .profile = &bf_hopper_h200 };
	const char *problem = NULL;
	char kind[40];
	size_t k;
	bool good;

	bf_row_text(&r, "exp", kind, sizeof(kind));
	if (r.rc)
		return r.rc;
	k = find_kind(kind);
	if (k == UNKNOWN)
		problem = "there is no experiment of this kind";
	else
		kinds[k].run(&r);
	if (r.rc)
		return r.rc;
	problem = r.problem ? r.problem : problem;
	good = !problem && r.values && !r.out;
	t->rows[k]++;
	t->good[k] += good;
	t->base.taken++;
	t->base.bad += !good;
	t->values += r.values;
	t->values_out += r.out;
	if (t->base.json)
		json_row(t->base.json, &r, kind, problem, good);
	else
		print_row(&r, kind, problem, good);
	return 0;
}

static uint64_t within(const struct tally *t)
{
	return t->base.taken - t->base.bad;
}

static void print_summary(const void *tally)
{
	const struct tally *t = tally;
	const uint64_t total = t->base.taken;

	for (size_t i = 0; i <= UNKNOWN; i++)
		if (t->rows[i])
			printf("%-22s %4" PRIu64 " of %4" PRIu64 "\n", i < UNKNOWN ? kinds[i].name : "(unknown kinds)",
			       t->good[i], t->rows[i]);
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
}

const struct bf_check_form bf_check_hopper_timing = {
	.form = { "hopper-timing",
		  "FILE is JSON Lines with rows that a probe measured on a GPU; each is run as the same "
		  "experiment on the model. A row is within bounds if its values are within 5 % or 3 cycles "
		  "and its counts are equal." },
	.each = "row",
	.list = "rows",
	.tally_bytes = sizeof(struct tally),
	.take = take,
	.print = print_summary,
	.summary = json_summary,
};
