/* belfry stats: how long entries took, stage by stage, and how busy the engines were, from a trace. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/cli.h"
#include "tools/cli/input.h"
#include "tools/report/basis.h"
#include "tools/report/stats.h"

#define BAR 40u

/* "1.803 us" in the unit that leaves up to four digits before the point. */
static const char *span(uint64_t ps, char out[32])
{
	if (ps < 10000)
		snprintf(out, 32, "%" PRIu64 " ps", ps);
	else if (ps < 10000000)
		snprintf(out, 32, "%" PRIu64 ".%03" PRIu64 " ns", ps / 1000, ps % 1000);
	else if (ps < UINT64_C(10000000000))
		snprintf(out, 32, "%" PRIu64 ".%03" PRIu64 " us", ps / 1000000, ps / 1000 % 1000);
	else
		snprintf(out, 32, "%" PRIu64 ".%03" PRIu64 " ms", ps / UINT64_C(1000000000), ps / 1000000 % 1000);
	return out;
}

static void print_row(const char *name, const struct bf_hist *h, uint64_t whole)
{
	static const uint32_t ppm[] = { 500000, 900000, 990000, 1000000 };
	char text[32];

	if (!h->count)
		return;
	printf("    %-12s %8" PRIu64 " %12s", name, h->count, span(h->min, text));
	for (size_t i = 0; i < BF_ARRAY_LEN(ppm); i++)
		printf(" %12s", span(bf_hist_quantile(h, ppm[i]), text));
	if (whole)
		printf("  %3" PRIu64 " %%", (uint64_t)((double)h->sum * 100 / (double)whole + 0.5));
	putchar('\n');
}

/* A bar for each power of two that has something. */
static void print_histogram(const struct bf_hist *h)
{
	uint64_t of[64], most = 0;

	bf_hist_by_power(h, of);
	for (uint32_t i = 0; i < 63; i++)
		most = of[i] > most ? of[i] : most;
	for (uint32_t i = 0; i < 63; i++) {
		char text[32];

		if (!of[i])
			continue;
		printf("      below %12s %8" PRIu64 "  ", span(2ull << i, text), of[i]);
		for (uint64_t n = (of[i] * BAR + most - 1) / most; n; n--)
			putchar('#');
		putchar('\n');
	}
}

static void print_queue(const struct bf_stage_queue *q, bool histogram)
{
	printf("\n  %s (%s): %" PRIu64 " entries", q->name, q->kind, q->entries);
	if (q->unfinished)
		printf(", %" PRIu64 " of them unfinished when the trace ends", q->unfinished);
	printf("\n    %-12s %8s %12s %12s %12s %12s %12s  share\n", "until", "count", "min", "50 %", "90 %", "99 %",
	       "max");
	for (uint32_t i = 0; i < q->nstages; i++)
		print_row(q->stage[i], &q->hist[i], q->whole.sum);
	print_row("all of it", &q->whole, 0);
	if (histogram)
		print_histogram(&q->whole);
}

static void print_stats(const struct bf_stages *s, const struct bf_basis_share *basis, const char *queue,
			bool histogram)
{
	const struct bf_stage_queue *q;
	const struct bf_stage_busy *b;
	const uint64_t end_ps = bf_stages_end_ps(s);
	char text[32];

	printf("Time from the point before, for each queue\n");
	for (uint32_t i = 0; (q = bf_stages_queue(s, i)); i++) {
		if (q->entries && (!queue || strstr(q->name, queue)))
			print_queue(q, histogram);
	}
	if (!bf_stages_queue(s, 0))
		printf("\n  nothing: the trace has no records of entries\n");
	else if (basis->told) {
		char stands[96];

		bf_basis_text(basis, stands, sizeof(stands));
		printf("\nWhat these times stand on: constants that are %s\n", stands);
	}
	if (!bf_stages_busy(s, 0))
		return;
	printf("\nHow busy engines were, of %s\n\n  %-20s %8s %12s %12s %7s\n", span(end_ps, text), "", "times",
	       "bytes", "busy", "share");
	for (uint32_t i = 0; (b = bf_stages_busy(s, i)); i++)
		printf("  %-20s %8" PRIu64 " %12" PRIu64 " %12s %5.1f %%\n", b->name, b->count, b->bytes,
		       span(b->busy_ps, text), end_ps ? (double)b->busy_ps * 100 / (double)end_ps : 0);
}

static void json_stats(const struct bf_stages *s, const struct bf_basis_share *basis, const char *queue,
		       const char *damage)
{
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	if (damage)
		bf_json_text(&j, "damage", damage);
	bf_json_u64(&j, "end_ps", bf_stages_end_ps(s));
	bf_basis_json(&j, basis);
	bf_stats_json(&j, s, queue);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

static bool has_queue(const struct bf_stages *s, const char *queue)
{
	const struct bf_stage_queue *q;

	for (uint32_t i = 0; (q = bf_stages_queue(s, i)); i++)
		if (strstr(q->name, queue))
			return true;
	return false;
}

/* What can be read of a damaged trace is told, the damage after it. */
static int tell(const struct bf_args *args, const struct bf_stages *s, const struct bf_trace *t, const char *damage)
{
	const char *queue = bf_arg_text(args, "queue");
	struct bf_basis_share basis;

	if (queue && !has_queue(s, queue))
		return bf_cli_error(args, BF_EXIT_FAILED, "no queue of the trace has \"%s\" in its name", queue);
	bf_basis_share(s, t, queue, &basis);
	if (bf_arg_json(args))
		json_stats(s, &basis, queue, damage);
	else
		print_stats(s, &basis, queue, bf_arg_flag(args, "histogram"));
	if (!damage)
		return BF_EXIT_GOOD;
	fflush(stdout);
	fprintf(stderr, "belfry stats: %s\n", damage);
	return BF_EXIT_USAGE;
}

static int stats(const struct bf_args *args)
{
	struct bf_error err = { 0 };
	struct bf_stages *s = NULL;
	struct bf_input in;
	int rc = bf_input_open(bf_arg_positional(args, 0), &in, &err), code;

	if (!rc)
		rc = bf_stages_read(in.trace, &s, &err);
	if (s)
		code = tell(args, s, in.trace, rc ? err.text : in.damage ? in.damage_error.text : NULL);
	else
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	bf_stages_destroy(s);
	bf_input_close(&in);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "queue", .kind = BF_OPT_TEXT, .arg = "NAME", .help = "only queues whose names contain this" },
	{ .name = "histogram",
	  .kind = BF_OPT_FLAG,
	  .help = "print a histogram of the total time, with a bar for each power of two" },
	{ 0 },
};

extern const struct bf_command bf_cmd_stats;
const struct bf_command bf_cmd_stats = {
	.name = "stats",
	.usage = "stats TRACE [options]",
	.summary = "print how long entries took, stage by stage, and how busy engines were",
	.details = "For each queue of a trace: the time that entries spent between two points of their lives, from "
		   "the reservation of a slot to the poll that sees the completion. For barriers: how long warps "
		   "were parked. For bulk copies: the time until the source was read and until everything had "
		   "landed. Points that a trace lacks are left out: a capture has only the device's side. For a "
		   "simulated run it also prints how much of these times comes from constants that are measured, "
		   "sourced, fitted or assumed (docs/timing.md).\n"
		   "\n"
		   "Examples:\n"
		   "  belfry run ibgda-put --messages 1000 --trace put.bft\n"
		   "  belfry stats put.bft --histogram",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = stats,
};
