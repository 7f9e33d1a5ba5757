/* belfry run sdma-...: one SDMA workload, once, checked to the last byte. */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/report/lint_run.h"
#include "tools/pictures/sdma.h"
#include "tools/workloads/sdma_plan.h"
#include "tools/workloads/sdma.h"

static void print(const void *choices, const void *result, bool stats)
{
	const struct bf_sdma_workload *w = choices;
	const struct bf_sdma_result *r = result;
	const uint64_t ns = r->world.time_ps / BF_NS;
	char command[2048];

	(void)stats;
	bf_sdma_workload_command(w, command, sizeof(command));
	printf("%s\n%s%s", command, r->info, bf_sdma_verdict_name(r->base.verdict));
	if (r->base.verdict == BF_SDMA_GOOD)
		printf(": %" PRIu64 " submissions, %" PRIu64 " bytes moved, %" PRIu64 " compared, all as they must be",
		       r->submissions, r->moved, r->verified);
	printf("\n%s %llu.%03llu us",
	       w->backend->platform == BF_PLATFORM_SIM ? "simulated time         " : "elapsed time           ",
	       r->world.time_ps / BF_US, r->world.time_ps % BF_US / BF_NS);
	printf(", %" PRIu64 " submissions/s, %" PRIu64 " MB/s, %" PRIu64 " events\n", bf_rate(r->submissions, ns),
	       bf_rate(r->moved, ns) / 1000000, r->world.events);
	if (w->records)
		printf("records                 %" PRIu64 ", hash %016" PRIx64 "\n", r->world.records, r->world.hash);
	printf("wall clock              %" PRIu64 ".%03" PRIu64 " ms, %" PRIu64 " submissions/s\n",
	       r->base.wall_ns / 1000000, r->base.wall_ns / 1000 % 1000, bf_rate(r->submissions, r->base.wall_ns));
}

static const char *name(const void *choices)
{
	return bf_sdma_work_name(((const struct bf_sdma_workload *)choices)->work);
}

static void json(struct bf_json *j, const void *choices, const void *result)
{
	const struct bf_sdma_workload *w = choices;
	const struct bf_sdma_result *r = result;
	const uint64_t ns = r->world.time_ps / BF_NS;
	char command[2048];

	bf_sdma_workload_command(w, command, sizeof(command));
	bf_json_text(j, "backend", w->backend->name);
	bf_json_text(j, "command", command);
	bf_sdma_workload_json(j, w);
	if (r->info[0])
		bf_json_text(j, "info", r->info);
	bf_json_text(j, "verdict", bf_sdma_verdict_name(r->base.verdict));
	bf_json_u64(j, "submissions", r->submissions);
	bf_json_u64(j, "packets", r->packets);
	bf_json_u64(j, "moved_bytes", r->moved);
	bf_json_u64(j, "verified_bytes", r->verified);
	bf_json_u64(j, "time_ps", r->world.time_ps);
	bf_json_u64(j, "submissions_per_second", bf_rate(r->submissions, ns));
	bf_json_u64(j, "bytes_per_second", bf_rate(r->moved, ns));
	bf_json_u64(j, "events", r->world.events);
	bf_json_u64(j, "records", r->world.records);
	if (w->records)
		bf_json_hex(j, "hash", r->world.hash);
}

static void guess(const void *result, struct bf_cause *out)
{
	*out = ((const struct bf_sdma_result *)result)->cause;
}

/* Whatever does not fit shows when the run is planned: then it cannot start, and a smaller run is not taken. */
static int check(const void *choices, struct bf_error *err)
{
	struct bf_sdma_workload copy = *(const struct bf_sdma_workload *)choices;

	return bf_sdma_work_defaults(&copy, err);
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_sdma_workload, member), least                                                      \
	}

static const struct bf_search_part parts[] = {
	PART(commands, 1), PART(producers, 1), PART(queues, 1), PART(pes, 1), PART(hops, 1), PART(size, 8),
};

const struct bf_family bf_sdma_family = {
	BF_FAMILY_STRUCTS(struct bf_sdma_workload, struct bf_sdma_result),
	.search.parts = parts,
	.search.nparts = BF_ARRAY_LEN(parts),
	.search.check = check,
	.search.run = bf_sdma_workload_run,
	.verdict_name = bf_sdma_verdict_name,
	.name = name,
	.command = bf_sdma_workload_command,
	.print = print,
	.json = json,
	.print_failure = bf_sdma_print_failure,
	.json_failure = bf_sdma_json_failure,
	.guess = guess,
	.done = { BF_MEMBER(struct bf_sdma_result, submissions), 0 },
	.per_second = "submissions_per_second",
};

/* ---- the command ---- */

/* A run that is drawn. */
struct drawn {
	struct bf_run run;
	struct bf_picture picture;
	const char *path;
};

static int draw(struct bf_run *run, struct bf_error *err)
{
	struct drawn *d = (struct drawn *)run;

	return bf_picture_write(&d->picture, d->path, err);
}

static int run_once(const struct bf_args *args, const struct bf_sdma_workload *w)
{
	struct drawn d = { .run = { .family = &bf_sdma_family, .w = w, .backend = w->backend } };
	int code;

	d.path = bf_arg_text(args, "picture");
	if (!d.path)
		return bf_run_once(args, &d.run);
	bf_picture_init(&d.picture);
	d.run.sink = &d.picture.sink;
	d.run.write = draw;
	code = bf_run_once(args, &d.run);
	bf_picture_free(&d.picture);
	return code;
}

static int run_sdma(const struct bf_args *args)
{
	struct bf_sdma_workload w;
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_sdma_workload_list(args);
	code = bf_sdma_workload_parse(args, &w);
	w.counts = bf_arg_flag(args, "stats") || w.faults;
	if (code == BF_EXIT_GOOD)
		code = bf_choose_recording(args, w.backend, &w.ordering, &w.records);
	if (code == BF_EXIT_GOOD && bf_arg_given(args, "picture") && w.work != BF_SDMA_WORK_RECT)
		code = bf_cli_error(args, BF_EXIT_USAGE, "--picture means nothing to %s: it is for sdma-rect",
				    bf_sdma_work_name(w.work));
	if (code == BF_EXIT_GOOD)
		code = run_once(args, &w);
	free(w.faults);
	return code;
}

static const struct bf_opt options[] = {
	BF_SDMA_OPT_TABLE,
	BF_LINT_RUN_OPTION,
	{ .name = "records",
	  .kind = BF_OPT_TEXT,
	  .arg = "CLASS[,CLASS]",
	  .initial = "all",
	  .help = "what to record: meta, agent, mem, mmio, dma, queue, net, fault, driver, all, none" },
	{ .name = "picture", .kind = BF_OPT_OUT, .arg = "FILE", .help = "sdma-rect: draw the destinations, as SVG" },
	{ .name = "stats", .kind = BF_OPT_FLAG, .help = "print what the engines counted" },
	{ .name = NULL },
};

const struct bf_command bf_cmd_run_sdma = {
	.name = "run",
	.prefix = "sdma-",
	.usage = "run sdma-WORKLOAD [options]",
	.summary = "run an SDMA workload and check every byte that it moved",
	.details =
	    "Workloads: sdma-rect, -tiles, -copy, -fill, -write, -fence, -queues, -concurrent, -wrap, -pause, "
	    "-doorbell,\n"
	    "-broadcast, -reset, -memcpy3d (belfry run sdma-rect --list says more). Threads of the processor submit "
	    "to\n"
	    "user queues as ROCr does; sdma-rect runs one sub-window copy for each element size.\n"
	    "\n"
	    "Exit code 0: all data as it must be. 1: wrong data, a stopped queue, a deadlock or the time limit.\n"
	    "2: bad options. 77: the backend is not available here.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry run sdma-rect --picture rect.svg\n"
	    "  belfry run sdma-wrap --bug straddle\n"
	    "  belfry run sdma-copy --hops 3 --producers 4 --ordering adversarial --bug no-copy-order",
	.words = "sdma-rect|sdma-tiles|sdma-copy|sdma-fill|sdma-write|sdma-fence|sdma-queues|sdma-concurrent|sdma-wrap|"
		 "sdma-pause|sdma-doorbell|sdma-broadcast|sdma-reset|sdma-memcpy3d",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run_sdma,
};
