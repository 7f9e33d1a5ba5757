/* belfry run mbarrier-..., belfry explore mbarrier-...: what is particular to these workloads. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/workloads/choice.h"
#include "tools/workloads/mbarrier.h"

static const struct bf_work works[] = {
	[BF_MBAR_PIPELINE] = { "mbarrier-pipeline",
			       "a producer thread loads tiles in bulk, consumer warps transform and store them" },
	[BF_MBAR_RING] = { "mbarrier-ring", "producer warps store tiles into the stages themselves" },
	[BF_MBAR_PINGPONG] = { "mbarrier-pingpong", "two groups of consumers take tiles and turns alternately" },
	[BF_MBAR_CLUSTER] = { "mbarrier-cluster",
			      "blocks load a share of each tile for all; releases and a halo cross blocks" },
	[BF_MBAR_AMPERE] = { "mbarrier-ampere", "cp.async, by groups or (--by-barrier) by barriers that are polled" },
	[BF_MBAR_STRESS] = { "mbarrier-stress",
			     "random operations of all warps on shared barriers, and of each on its own" },
	[BF_MBAR_WORKS] = { NULL, NULL },
};

#define O(...) BF_OPT_OF(struct bf_mbar_workload, __VA_ARGS__)
static const struct bf_opt options[] = {
	O("ordering", ENUM, "sc|tso|gpu|adversarial", "gpu", "how late stores become visible, how long warps stall", 0,
	  0, ordering),
	O("seed", U64, "N", "1", "seed of everything random", 0, UINT32_MAX, seed),
	O("limit", TIME, "TIME", "1s", "simulated time after which a run counts as hung", 0, 0, limit_ps),
	O("ctas", U64, "N", "0", "blocks, one per SM; 0: one cluster", 0, 132, blocks),
	O("cluster", U64, "N", "0", "blocks of a cluster; 0: the workload's default", 0, 16, cluster),
	O("stages", U64, "N", "0", "stages of the pipeline; 0: the workload's default", 0, 16, job.stages),
	O("bytes", U64, "BYTES", "0", "size of a tile; 0: 4096", 0, 1u << 20, job.bytes),
	O("warps", U64, "N", "0", "consumer warps (of each group); 0: the workload's default", 0, 31, job.consumers),
	O("producers", U64, "N", "0", "mbarrier-ring: producer warps; 0: 2", 0, 30, job.producers),
	O("iterations", U64, "N", "0", "tiles of each block, or rounds; 0: 16", 0, 1u << 24, job.iterations),
	O("barriers", U64, "N", "0", "mbarrier-stress: shared barriers; 0: 24", 0, 64, job.barriers),
	O("style", ENUM, "one|guide", "one",
	  "mbarrier-pipeline: who arrives on a full barrier, the thread that loads or all threads", 0, 0, job.style),
	O("by-barrier", FLAG, NULL, NULL, "mbarrier-ampere: barriers that are polled in place of groups", 0, 0,
	  job.by_barrier),
	O("lane-waits", FLAG, NULL, NULL, "one lane of a warp waits (and polls) instead of 32 that would park", 0, 0,
	  job.lane_waits),
	O("pace", TIME, "TIME", "0ps", "pause of the producer before each tile", 0, 0, pace_ps),
	O("lag", U64, "N", "0", "mbarrier-ring: a consumer takes 2 us longer for 1 in N tiles; 0: for none", 0,
	  1u << 20, job.lag),
	BF_OPT_NAMING(struct bf_mbar_workload, "profile", "NAME[,FIELD=N]|FILE.json", "h200",
		      "sizes and timing of the sync unit and copy engine", profile_text, bf_hopper_profile_name),
	O("agent", ENUM, "gpu|ptx", "gpu", "who runs the warps: our code as C, or as nvcc compiled it (ptx)", 0, 0,
	  agent),
	O("ptx", TEXT, "FILE", NULL,
	  "with --agent ptx: our device code as PTX; default: belfry-drivers.ptx next to the program", 0, 0, ptx),
	{ .name = NULL },
};
#undef O

static void works_of(const void *row, char *buf, size_t cap)
{
	const uint32_t only = ((const struct bf_mbar_bug *)row)->works;

	*buf = 0;
	for (uint32_t k = 0; k < BF_MBAR_WORKS; k++)
		if (only >> k & 1)
			snprintf(buf + strlen(buf), cap - strlen(buf), "%s%s", *buf ? ", " : "",
				 bf_mbar_work_name((enum bf_mbar_work)k));
}

static const struct bf_words words[] = {
	{ BF_WORDS("bug", "Bugs", bf_mbar_bugs, struct bf_mbar_bug, struct bf_mbar_workload, job.bugs),
	  .works = works_of },
	{ .option = NULL },
};

/* ---- choices ---- */

static int check(const void *choices, struct bf_error *err)
{
	const struct bf_mbar_workload *w = choices;

	return bf_mbar_check(&w->job, w->cluster, w->blocks, err);
}

static int check_bugs(const struct bf_mbar_workload *w, struct bf_error *err)
{
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++)
		if (w->job.bugs & b->bit && !(b->works >> w->job.work & 1))
			return bf_fail(err, -EINVAL, "bug \"%s\" does not apply to %s", b->name,
				       works[w->job.work].name);
	return 0;
}

static int fill(const struct bf_family *f, const struct bf_args *args, void *choices, struct bf_error *err)
{
	struct bf_mbar_workload *w = choices;
	int rc = check_bugs(w, err);

	(void)f;
	(void)args;
	if (rc)
		return rc;
	w->job.pace_ns = (uint32_t)(w->pace_ps / BF_NS);
	bf_mbar_defaults(&w->job, &w->cluster, &w->blocks);
	rc = check(w, err);
	return rc ? rc : bf_hopper_profile_parse(w->profile_text, w->profile_name, &w->profile, err);
}

static int settle(const struct bf_args *args, void *choices)
{
	struct bf_mbar_workload *w = choices;

	if (w->agent != BF_MBAR_AGENT_PTX)
		return BF_EXIT_GOOD;
	return bf_choose_ptx(args, bf_backend_find("sim"), w->ptx, false, w->ptx_path, sizeof(w->ptx_path));
}

/* Numbers that the workload has of its own were not asked for. */
static void forget_own(uint32_t *v, uint32_t own)
{
	*v = *v == own ? 0 : *v;
}

static void forget(void *choices)
{
	struct bf_mbar_workload *w = choices;
	struct bf_mbar_workload own = { .job = { .work = w->job.work, .style = w->job.style, .bugs = w->job.bugs } };

	bf_mbar_defaults(&own.job, &own.cluster, &own.blocks);
	own.blocks = w->cluster;
	forget_own(&w->blocks, own.blocks);
	forget_own(&w->cluster, own.cluster);
	forget_own(&w->job.stages, own.job.stages);
	forget_own(&w->job.bytes, own.job.bytes);
	forget_own(&w->job.consumers, own.job.consumers);
	forget_own(&w->job.producers, own.job.producers);
	forget_own(&w->job.iterations, own.job.iterations);
	forget_own(&w->job.barriers, own.job.barriers);
	w->job.by_barrier = w->job.by_barrier && !own.job.by_barrier;
	w->pace_ps = w->job.pace_ns == own.job.pace_ns ? 0 : w->job.pace_ns * BF_NS;
}

/* ---- what came of it ---- */

static void print_failure(FILE *out, const void *result)
{
	const struct bf_mbar_result *r = result;

	if (r->base.verdict == BF_MBAR_GOOD)
		return;
	if (r->verdict.wrong)
		fprintf(out, "wrong: %" PRIu64 " place%s, the first: %s\n", r->verdict.wrong,
			r->verdict.wrong == 1 ? "" : "s", r->verdict.text);
	if (r->world.report[0]) {
		fprintf(out, "at the end:\n");
		bf_print_lines(out, r->world.report);
	}
}

static void print(const void *choices, const void *result, bool stats)
{
	const struct bf_mbar_workload *w = choices;
	const struct bf_mbar_result *r = result;
	const uint64_t cycles = r->world.time_ps / w->profile.cycle_ps;

	(void)stats;
	printf("%s", bf_mbar_end_name(r->base.verdict));
	if (r->base.verdict == BF_MBAR_GOOD)
		printf(": %" PRIu64 " bytes, %" PRIu64 " barrier words and %" PRIu64 " tokens compared, all correct",
		       r->verdict.bytes, r->verdict.words, r->verdict.tokens);
	printf("\nsimulated time          %" PRIu64 ".%03" PRIu64 " us, %" PRIu64 " cycles, %" PRIu64 " events\n",
	       (uint64_t)(r->world.time_ps / BF_US), (uint64_t)(r->world.time_ps % BF_US / BF_NS), cycles,
	       r->world.events);
	printf("barriers                %" PRIu64 " operations, %" PRIu64 " phases, %" PRIu64 " waits parked; %" PRIu64
	       " bytes in bulk\n",
	       r->world.barrier_ops, r->world.phases, r->world.parked, r->world.bulk_bytes);
	if (r->base.verdict == BF_MBAR_GOOD || r->base.verdict == BF_MBAR_WRONG_DATA)
		printf("words and tokens        hash %016" PRIx64 "\n", r->notes_hash);
	if (w->records)
		printf("records                 %" PRIu64 ", hash %016" PRIx64 "\n", r->world.records, r->world.hash);
	printf("wall clock              %" PRIu64 ".%03" PRIu64 " ms, %" PRIu64 " barrier operations/s\n",
	       r->base.wall_ns / 1000000, r->base.wall_ns / 1000 % 1000,
	       bf_rate(r->world.barrier_ops, r->base.wall_ns));
}

static void json_failure(struct bf_json *j, const void *result)
{
	const struct bf_mbar_result *r = result;

	if (r->base.verdict == BF_MBAR_GOOD)
		return;
	if (r->verdict.wrong) {
		bf_json_open(j, "wrong", '{');
		bf_json_u64(j, "places", r->verdict.wrong);
		bf_json_text(j, "first", r->verdict.text);
		bf_json_close(j, '}');
	}
	if (r->world.report[0])
		bf_json_text(j, "report", r->world.report);
}

static void json(struct bf_json *j, const void *choices, const void *result)
{
	const struct bf_mbar_workload *w = choices;
	const struct bf_mbar_result *r = result;

	bf_json_u64(j, "verified_bytes", r->verdict.bytes);
	bf_json_u64(j, "verified_words", r->verdict.words);
	bf_json_u64(j, "verified_tokens", r->verdict.tokens);
	bf_json_u64(j, "time_ps", r->world.time_ps);
	bf_json_u64(j, "cycles", r->world.time_ps / w->profile.cycle_ps);
	bf_json_u64(j, "events", r->world.events);
	bf_json_u64(j, "barrier_operations", r->world.barrier_ops);
	bf_json_u64(j, "phases", r->world.phases);
	bf_json_u64(j, "parked", r->world.parked);
	bf_json_u64(j, "bulk_bytes", r->world.bulk_bytes);
	bf_json_hex(j, "notes_hash", r->notes_hash);
	bf_json_u64(j, "records", r->world.records);
	if (w->records)
		bf_json_hex(j, "hash", r->world.hash);
}

/* ---- the row ---- */

static void list(struct bf_json *j)
{
	if (j)
		return;
	puts("Profiles");
	for (const struct bf_hopper_profile *const *p = bf_hopper_profiles(); *p; p++)
		printf("  %s\n", (*p)->name);
	puts("  FILE.json, as calibrate writes it");
}

static void json_options(struct bf_json *j, const void *choices)
{
	bf_json_text(j, "profile", ((const struct bf_mbar_workload *)choices)->profile.name);
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_mbar_workload, member), least                                                      \
	}

/* What a workload does not have stays as it is: a change makes no difference. Blocks come in clusters. */
static const struct bf_search_part parts[] = {
	PART(job.iterations, 1), PART(blocks, 1),        PART(cluster, 1),
	PART(blocks, 1),         PART(job.consumers, 1), PART(job.producers, 1),
	PART(job.barriers, 1),   PART(job.stages, 1),    PART(job.bytes, 512),
};

static const struct bf_opt run_options[] = {
	BF_OPT_NAMED("stats", FLAG, NULL, NULL, "print the counters of sync units and copy engines"),
	{ .name = NULL },
};

static const struct bf_shape full_ring[] = { { "stages", 1, NULL }, { .option = NULL } };
static const struct bf_shape *const shapes[] = { full_ring, NULL };
static const char *const small[] = { "stages", "1", "warps", "1", "bytes", "128", "iterations", "2", NULL };

const struct bf_family bf_mbar_family = {
	BF_FAMILY_STRUCTS(struct bf_mbar_workload, struct bf_mbar_result),
	BF_FAMILY_CHOOSER(struct bf_mbar_workload),
	.prefix = "mbarrier-",
	.shapes = shapes,
	.small = small,
	.works = works,
	.options = options,
	.words = words,
	.run = { .summary = "run a barrier workload and check every byte, barrier word and token",
		 .details =
		     "Warps of simulated thread blocks synchronise through Hopper's barriers; tiles travel by bulk "
		     "copies, plain\n"
		     "stores or cp.async, and every byte is compared in the end.\n"
		     "\n"
		     "A run that hangs or faults says which barrier, which phase, what is missing and who should have "
		     "come. The cause comes from the records of a second run.",
		 .exit_codes =
		     "Exit code 0: everything is correct. 1: wrong data, a deadlock, a fault or the time limit. 2: "
		     "bad options.\n"
		     "3: all data are correct, but --lint found something.",
		 .examples = "  belfry run mbarrier-pipeline --stages 8 --bytes 16K --iterations 64\n"
			     "  belfry run mbarrier-cluster --cluster 4 --bug trips\n"
			     "  belfry run mbarrier-ring --ordering adversarial --bug no-warp-sync\n"
			     "  belfry run mbarrier-stress --profile patent --stats",
		 .options = run_options },
	.explore = { .summary = "find a seed and an ordering with which a barrier workload fails",
		     .examples = "  belfry explore mbarrier-ring --bug no-warp-sync\n"
				 "  belfry explore mbarrier-cluster --bug early-exit --seeds 1000" },
	.work = { BF_MEMBER(struct bf_mbar_workload, job.work), 0 },
	.faults = { BF_MEMBER(struct bf_mbar_workload, faults), 0 },
	.search.parts = parts,
	.search.nparts = BF_ARRAY_LEN(parts),
	.search.check = check,
	.search.run = bf_mbar_workload_run,
	.fill = fill,
	.settle = settle,
	.forget = forget,
	.verdict_name = bf_mbar_end_name,
	.print = print,
	.json = json,
	.json_options = json_options,
	.print_failure = print_failure,
	.json_failure = json_failure,
	.list = list,
	.done = { BF_MEMBER(struct bf_mbar_result, world.barrier_ops), 0 },
	.per_second = "barrier_operations_per_second",
};
