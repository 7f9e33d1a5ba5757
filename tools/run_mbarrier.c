/*
 * belfry run mbarrier-...: the options of the barrier workloads, and what a run prints.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/choice.h"
#include "tools/workload.h"
#include "tools/workload_mbarrier.h"
#include "traces/trace.h"

/* O(name, kind, argument, default, help, least, most, member): members of struct bf_mbar_workload. */
#define MBAR_OPTIONS(O)                                                                                                \
	O("ordering", ENUM, "sc|tso|gpu|adversarial", "gpu", "how late stores become visible, how long warps stall",   \
	  0, 0, ordering)                                                                                              \
	O("seed", U64, "N", "1", "seed of everything random", 0, UINT32_MAX, seed)                                     \
	O("limit", TIME, "TIME", "1s", "simulated time after which a run counts as hung", 0, 0, limit_ps)              \
	O("ctas", U64, "N", "0", "blocks, one an SM; 0: one cluster", 0, 132, blocks)                                  \
	O("cluster", U64, "N", "0", "blocks of a cluster; 0: as the workload has it", 0, 16, cluster)                  \
	O("stages", U64, "N", "0", "stages of the pipeline; 0: as the workload has it", 0, 16, job.stages)             \
	O("bytes", U64, "BYTES", "0", "of a tile; 0: 4096", 0, 1u << 20, job.bytes)                                    \
	O("warps", U64, "N", "0", "consumer warps (of each group); 0: as the workload has it", 0, 31, job.consumers)   \
	O("producers", U64, "N", "0", "mbarrier-ring: producer warps; 0: 2", 0, 30, job.producers)                     \
	O("iterations", U64, "N", "0", "tiles of each block, or rounds; 0: 16", 0, 1u << 24, job.iterations)           \
	O("barriers", U64, "N", "0", "mbarrier-stress: shared barriers; 0: 24", 0, 64, job.barriers)                   \
	O("style", ENUM, "one|guide", "one",                                                                           \
	  "mbarrier-pipeline: who arrives on a full barrier, the thread that loads or all threads", 0, 0, job.style)   \
	O("by-barrier", FLAG, NULL, NULL, "mbarrier-ampere: barriers that are polled in place of groups", 0, 0,        \
	  job.by_barrier)                                                                                              \
	O("lane-waits", FLAG, NULL, NULL, "one lane of a warp waits (and polls) for 32 that would park", 0, 0,         \
	  job.lane_waits)                                                                                              \
	O("pace", TIME, "TIME", "0ps", "pause of the producer before each tile", 0, 0, pace_ps)                        \
	O("lag", U64, "N", "0", "mbarrier-ring: 1 in N tiles takes a consumer 2 us longer; 0: none", 0, 1u << 20,      \
	  job.lag)

#define CHOICE(oname, okind, oarg, odefault, ohelp, omin, omax, member)                                                \
	{ oname, BF_OPT_##okind, oarg, odefault, BF_MEMBER(struct bf_mbar_workload, member) },

static const struct bf_choice choices[] = { MBAR_OPTIONS(CHOICE) };

/* Numbers that the workload has of its own were not asked for. */
static void forget(uint32_t *v, uint32_t own)
{
	*v = *v == own ? 0 : *v;
}

void bf_mbar_workload_command(const struct bf_mbar_workload *w, char *buf, size_t cap)
{
	struct bf_mbar_workload own = { .job = { .work = w->job.work, .style = w->job.style, .bugs = w->job.bugs } };
	struct bf_mbar_workload asked = *w;

	bf_mbar_defaults(&own.job, &own.cluster, &own.blocks);
	own.blocks = w->cluster;
	forget(&asked.blocks, own.blocks);
	forget(&asked.cluster, own.cluster);
	forget(&asked.job.stages, own.job.stages);
	forget(&asked.job.bytes, own.job.bytes);
	forget(&asked.job.consumers, own.job.consumers);
	forget(&asked.job.producers, own.job.producers);
	forget(&asked.job.iterations, own.job.iterations);
	forget(&asked.job.barriers, own.job.barriers);
	asked.job.by_barrier = w->job.by_barrier && !own.job.by_barrier;
	asked.pace_ps = w->job.pace_ns == own.job.pace_ns ? 0 : w->job.pace_ns * BF_NS;
	snprintf(buf, cap, "belfry run mbarrier-%s", bf_mbar_work_name((enum bf_mbar_work)w->job.work));
	bf_choices_command(choices, BF_ARRAY_LEN(choices), &asked, buf, cap);
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++)
		if (w->job.bugs & b->bit)
			bf_command_append(buf, cap, "bug", b->name, false);
	if (w->profile_text)
		bf_command_append(buf, cap, "profile", w->profile_text, false);
}

/* ---- parsing ---- */

static int parse_work(const struct bf_args *args, struct bf_mbar_workload *w)
{
	const char *name = bf_arg_positional(args, 0) + strlen("mbarrier-");
	char known[200] = "";

	for (w->job.work = 0; w->job.work < BF_MBAR_WORKS; w->job.work++) {
		const char *work = bf_mbar_work_name((enum bf_mbar_work)w->job.work);

		if (strcmp(work, name) == 0)
			return BF_EXIT_GOOD;
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%smbarrier-%s", w->job.work ? ", " : "",
			 work);
	}
	return bf_cli_error(args, BF_EXIT_USAGE, "workload \"mbarrier-%s\" is not known; there are %s", name, known);
}

static int parse_bugs(const struct bf_args *args, struct bf_mbar_workload *w)
{
	for (unsigned i = 0; i < bf_arg_count(args, "bug"); i++) {
		const char *name = bf_arg_nth(args, "bug", i);
		const struct bf_mbar_bug *b = bf_mbar_bugs;

		while (b->name && strcmp(b->name, name) != 0)
			b++;
		if (!b->name)
			return bf_cli_error(args, BF_EXIT_USAGE,
					    "bug \"%s\" is not known; `belfry run %s --list` lists them", name,
					    bf_arg_positional(args, 0));
		if (!(b->works >> w->job.work & 1))
			return bf_cli_error(args, BF_EXIT_USAGE, "bug \"%s\" means nothing to mbarrier-%s", name,
					    bf_mbar_work_name((enum bf_mbar_work)w->job.work));
		w->job.bugs |= b->bit;
	}
	return BF_EXIT_GOOD;
}

static int parse(const struct bf_args *args, struct bf_mbar_workload *w)
{
	const char *profile = bf_arg_text(args, "profile");
	struct bf_error err = { 0 };
	int code;

	*w = (struct bf_mbar_workload){ 0 };
	bf_choices_parse(args, choices, BF_ARRAY_LEN(choices), w);
	code = parse_work(args, w);
	if (code == BF_EXIT_GOOD)
		code = parse_bugs(args, w);
	if (code != BF_EXIT_GOOD)
		return code;
	w->job.seed = (uint32_t)w->seed;
	w->job.pace_ns = (uint32_t)(w->pace_ps / BF_NS);
	w->profile_text = bf_arg_given(args, "profile") ? profile : NULL;
	w->counts = bf_arg_flag(args, "stats");
	bf_mbar_defaults(&w->job, &w->cluster, &w->blocks);
	if (bf_mbar_check(&w->job, w->cluster, w->blocks, &err) ||
	    bf_hopper_profile_parse(profile, w->profile_name, &w->profile, &err) ||
	    bf_records_parse(bf_arg_text(args, "records"), &w->records, &err))
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	return BF_EXIT_GOOD;
}

/* ---- what a run prints ---- */

static uint64_t rate(uint64_t n, uint64_t ns)
{
	return ns ? (uint64_t)((bf_u128)n * 1000000000u / ns) : 0;
}

static void print_lines(FILE *out, const char *text)
{
	while (*text) {
		const size_t len = strcspn(text, "\n");

		fprintf(out, "  %.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

void bf_mbar_print_failure(FILE *out, const struct bf_mbar_result *r)
{
	if (r->verdict.wrong)
		fprintf(out, "wrong: %" PRIu64 " place%s, the first: %s\n", r->verdict.wrong,
			r->verdict.wrong == 1 ? "" : "s", r->verdict.text);
	if (r->world.report[0]) {
		fprintf(out, "at the end:\n");
		print_lines(out, r->world.report);
	}
}

static void print_result(const struct bf_mbar_workload *w, const struct bf_mbar_result *r, const struct bf_cause *cause,
			 bool stats)
{
	const uint64_t cycles = r->world.time_ps / w->profile.cycle_ps;
	char command[2048];

	bf_mbar_workload_command(w, command, sizeof(command));
	printf("%s\n%s", command, bf_mbar_end_name(r->end));
	if (r->end == BF_MBAR_GOOD)
		printf(": %" PRIu64 " bytes, %" PRIu64 " barrier words and %" PRIu64
		       " tokens compared, all as they must be",
		       r->verdict.bytes, r->verdict.words, r->verdict.tokens);
	printf("\nsimulated time          %" PRIu64 ".%03" PRIu64 " us, %" PRIu64 " cycles, %" PRIu64 " events\n",
	       (uint64_t)(r->world.time_ps / BF_US), (uint64_t)(r->world.time_ps % BF_US / BF_NS), cycles,
	       r->world.events);
	printf("barriers                %" PRIu64 " operations, %" PRIu64 " phases, %" PRIu64 " waits parked; %" PRIu64
	       " bytes in bulk\n",
	       r->world.barrier_ops, r->world.phases, r->world.parked, r->world.bulk_bytes);
	if (r->end == BF_MBAR_GOOD || r->end == BF_MBAR_WRONG_DATA)
		printf("words and tokens        hash %016" PRIx64 "\n", r->notes_hash);
	if (w->records)
		printf("records                 %" PRIu64 ", hash %016" PRIx64 "\n", r->world.records, r->world.hash);
	printf("wall clock              %" PRIu64 ".%03" PRIu64 " ms, %" PRIu64 " barrier operations/s\n",
	       r->wall_ns / 1000000, r->wall_ns / 1000 % 1000, rate(r->world.barrier_ops, r->wall_ns));
	if (r->end != BF_MBAR_GOOD) {
		bf_mbar_print_failure(stdout, r);
		bf_cause_print(stdout, cause);
	}
	if (r->counts && stats)
		bf_counts_print_stats(stdout, r->counts);
}

static void json_options(struct bf_json *j, const struct bf_mbar_workload *w)
{
	bf_json_open(j, "options", '{');
	bf_choices_json(j, choices, BF_ARRAY_LEN(choices), w);
	bf_json_open(j, "bugs", '[');
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++)
		if (w->job.bugs & b->bit)
			bf_json_text(j, NULL, b->name);
	bf_json_close(j, ']');
	bf_json_text(j, "profile", w->profile.name);
	bf_json_close(j, '}');
}

void bf_mbar_json_failure(struct bf_json *j, const struct bf_mbar_result *r)
{
	if (r->verdict.wrong) {
		bf_json_open(j, "wrong", '{');
		bf_json_u64(j, "places", r->verdict.wrong);
		bf_json_text(j, "first", r->verdict.text);
		bf_json_close(j, '}');
	}
	if (r->world.report[0])
		bf_json_text(j, "report", r->world.report);
}

/* Wall-clock figures have a key of their own: everything else is the same in every run. */
static void json_result(const struct bf_mbar_workload *w, const struct bf_mbar_result *r, const struct bf_cause *cause,
			bool stats)
{
	char command[2048];
	struct bf_json j;

	bf_mbar_workload_command(w, command, sizeof(command));
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "workload", bf_mbar_work_name((enum bf_mbar_work)w->job.work));
	bf_json_text(&j, "command", command);
	json_options(&j, w);
	bf_json_text(&j, "verdict", bf_mbar_end_name(r->end));
	bf_json_u64(&j, "verified_bytes", r->verdict.bytes);
	bf_json_u64(&j, "verified_words", r->verdict.words);
	bf_json_u64(&j, "verified_tokens", r->verdict.tokens);
	bf_json_u64(&j, "time_ps", r->world.time_ps);
	bf_json_u64(&j, "cycles", r->world.time_ps / w->profile.cycle_ps);
	bf_json_u64(&j, "events", r->world.events);
	bf_json_u64(&j, "barrier_operations", r->world.barrier_ops);
	bf_json_u64(&j, "phases", r->world.phases);
	bf_json_u64(&j, "parked", r->world.parked);
	bf_json_u64(&j, "bulk_bytes", r->world.bulk_bytes);
	bf_json_hex(&j, "notes_hash", r->notes_hash);
	bf_json_u64(&j, "records", r->world.records);
	if (w->records)
		bf_json_hex(&j, "hash", r->world.hash);
	if (r->end != BF_MBAR_GOOD)
		bf_mbar_json_failure(&j, r);
	if (cause->text[0])
		bf_cause_json(&j, cause);
	if (r->counts && stats)
		bf_counts_json_stats(&j, r->counts);
	bf_json_open(&j, "wall", '{');
	bf_json_u64(&j, "ns", r->wall_ns);
	bf_json_u64(&j, "barrier_operations_per_second", rate(r->world.barrier_ops, r->wall_ns));
	bf_json_close(&j, '}');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

/* ---- --list ---- */

static void works_text(uint32_t works, char *buf, size_t cap)
{
	*buf = 0;
	for (uint32_t k = 0; k < BF_MBAR_WORKS; k++)
		if (works >> k & 1)
			snprintf(buf + strlen(buf), cap - strlen(buf), "%s%s", *buf ? ", " : "",
				 bf_mbar_work_name((enum bf_mbar_work)k));
}

static void list_text(void)
{
	char works[100];

	puts("Workloads");
	for (uint32_t k = 0; k < BF_MBAR_WORKS; k++)
		printf("  mbarrier-%-10s %s\n", bf_mbar_work_name((enum bf_mbar_work)k),
		       bf_mbar_work_summary((enum bf_mbar_work)k));
	puts("Profiles");
	for (const struct bf_hopper_profile *const *p = bf_hopper_profiles(); *p; p++)
		printf("  %s\n", (*p)->name);
	puts("  FILE.json, as calibrate writes it");
	puts("Bugs");
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++) {
		works_text(b->works, works, sizeof(works));
		printf("  %-17s %s (%s)\n", b->name, b->summary, works);
	}
}

static int list(const struct bf_args *args)
{
	struct bf_json j;
	char works[100];

	if (!bf_arg_json(args)) {
		list_text();
		return BF_EXIT_GOOD;
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, "workloads", '[');
	for (uint32_t k = 0; k < BF_MBAR_WORKS; k++)
		bf_json_text(&j, NULL, bf_mbar_work_name((enum bf_mbar_work)k));
	bf_json_close(&j, ']');
	bf_json_open(&j, "bugs", '[');
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++) {
		works_text(b->works, works, sizeof(works));
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "name", b->name);
		bf_json_text(&j, "summary", b->summary);
		bf_json_text(&j, "workloads", works);
		bf_json_close(&j, '}');
	}
	bf_json_close(&j, ']');
	bf_json_close(&j, '}');
	bf_json_end(&j);
	return BF_EXIT_GOOD;
}

/* ---- the command ---- */

static int run_and_report(const struct bf_args *args, const struct bf_mbar_workload *w, struct bf_trace_writer *trace,
			  struct bf_error *err)
{
	struct bf_cause cause = { 0 };
	struct bf_mbar_result r;
	int rc = bf_mbar_workload_run(w, trace ? bf_trace_sink(trace) : NULL, NULL, &r, err);
	int trace_rc = 0;

	if (trace) {
		bf_trace_meta(trace, "verdict", rc ? "not run" : bf_mbar_end_name(r.end));
		trace_rc = bf_trace_close(trace);
	}
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	if (r.end != BF_MBAR_GOOD)
		bf_mbar_cause_of(w, &cause);
	if (!bf_arg_json(args))
		print_result(w, &r, &cause, bf_arg_flag(args, "stats"));
	else if (!trace_rc)
		json_result(w, &r, &cause, bf_arg_flag(args, "stats"));
	bf_counts_free(r.counts);
	if (trace_rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	return r.end == BF_MBAR_GOOD ? BF_EXIT_GOOD : BF_EXIT_FAILED;
}

static int run_mbarrier(const struct bf_args *args)
{
	struct bf_trace_writer *trace = NULL;
	struct bf_error err = { 0 };
	struct bf_mbar_workload w;
	char command[2048];
	int code;

	if (bf_arg_flag(args, "list"))
		return list(args);
	code = parse(args, &w);
	if (code != BF_EXIT_GOOD)
		return code;
	bf_mbar_workload_command(&w, command, sizeof(command));
	if (bf_begin_trace(args, command, &trace, &err))
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	return run_and_report(args, &w, trace, &err);
}

#define OPTION(oname, okind, oarg, odefault, ohelp, omin, omax, member)                                                \
	{ .name = oname,                                                                                               \
	  .kind = BF_OPT_##okind,                                                                                      \
	  .arg = oarg,                                                                                                 \
	  .initial = odefault,                                                                                         \
	  .help = ohelp,                                                                                               \
	  .min = omin,                                                                                                 \
	  .max = omax },

static const struct bf_opt options[] = {
	MBAR_OPTIONS(OPTION){
	    .name = "bug", .kind = BF_OPT_MULTI, .arg = "NAME", .help = "a step done wrong on purpose" },
	{ .name = "profile",
	  .kind = BF_OPT_TEXT,
	  .arg = "NAME[,FIELD=N]|FILE.json",
	  .initial = "h200",
	  .help = "sizes and timing of the sync unit and copy engine" },
	{ .name = "records",
	  .kind = BF_OPT_TEXT,
	  .arg = "CLASS[,CLASS]",
	  .initial = "all",
	  .help = "what to record: meta, agent, mem, mmio, dma, queue, net, fault, driver, all, none" },
	{ .name = "trace", .kind = BF_OPT_TEXT, .arg = "FILE", .help = "write a trace; *.jsonl: as JSON Lines" },
	{ .name = "stats", .kind = BF_OPT_FLAG, .help = "print what sync units and copy engines counted" },
	{ .name = "list", .kind = BF_OPT_FLAG, .help = "list the barrier workloads, profiles and bugs" },
	{ .name = NULL },
};

const struct bf_command bf_cmd_run_mbarrier = {
	.name = "run",
	.prefix = "mbarrier-",
	.usage = "run mbarrier-WORKLOAD [options]",
	.summary = "run a barrier workload and check every byte, barrier word and token",
	.details =
	    "Workloads: mbarrier-pipeline, -ring, -pingpong, -cluster, -ampere, -stress (belfry run mbarrier-ring "
	    "--list\n"
	    "says more). Warps of simulated thread blocks synchronise through Hopper's barriers; tiles travel by bulk\n"
	    "copies, plain stores or cp.async, and every byte is compared in the end.\n"
	    "\n"
	    "A run that hangs or faults says which barrier, which phase, what is missing and who should have come; "
	    "the\n"
	    "likely cause is named.\n"
	    "\n"
	    "Exit code 0: all as it must be. 1: wrong data, a deadlock, a fault or the time limit. 2: bad options.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry run mbarrier-pipeline --stages 8 --bytes 16K --iterations 64\n"
	    "  belfry run mbarrier-cluster --cluster 4 --bug trips\n"
	    "  belfry run mbarrier-ring --ordering adversarial --bug no-warp-sync\n"
	    "  belfry run mbarrier-stress --profile patent --stats",
	.words = "mbarrier-pipeline|mbarrier-ring|mbarrier-pingpong|mbarrier-cluster|mbarrier-ampere|mbarrier-stress",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run_mbarrier,
};
