/*
 * belfry run: one workload, once, checked to the last byte.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/bootstrap.h"
#include "tools/report/lint_run.h"
#include "tools/workloads/workload.h"

static void print_time(const char *what, uint64_t ps)
{
	printf("%s %llu.%03llu us", what, ps / BF_US, ps % BF_US / BF_NS);
}

static void print_checked(const struct bf_workload *w, const struct bf_run_result *r)
{
	const char *values = w->work == BF_IBGDA_MIXED ? "counters and signals"
			     : w->fetch                ? "counters and old values"
						       : "counters";

	printf(": %" PRIu64 " messages", r->messages);
	if (r->verified_bytes)
		printf(", %" PRIu64 " bytes", r->verified_bytes);
	if (r->verified_values)
		printf(", %" PRIu64 " %s", r->verified_values, values);
	printf(", all as they must be");
}

/* Record streams of several processes have no order among each other, so only hashes of PEs say that they agree. */
static void print_hashes(const struct bf_workload *w, const struct bf_run_result *r)
{
	if (w->records)
		printf("records                    %" PRIu64, r->world.records);
	if (w->records && !w->ranks)
		printf(", hash %016" PRIx64, r->world.hash);
	if (w->records)
		putchar('\n');
	for (uint32_t pe = 0; r->pe_hashes && pe < w->pes; pe++)
		printf("PE %-4" PRIu32 "                    hash %016" PRIx64 "\n", pe, r->pe_hashes[pe]);
	if (r->pe_hashes)
		printf("all PEs                    hash %016" PRIx64 "\n", bf_run_pes_hash(r->pe_hashes, w->pes));
}

static void print(const void *choices, const void *result, bool stats)
{
	const struct bf_workload *w = choices;
	const struct bf_run_result *r = result;
	char command[2048];

	(void)stats;
	bf_workload_command(w, command, sizeof(command));
	printf("%s\n%s", command, bf_verdict_name(r->base.verdict));
	if (r->base.verdict == BF_VERDICT_GOOD)
		print_checked(w, r);
	print_time(w->backend->platform == BF_PLATFORM_SIM ? "\nsimulated time            "
							   : "\nelapsed time              ",
		   r->world.time_ps);
	if (r->messages)
		printf(", %" PRIu64 " messages/s", bf_rate(r->messages, r->world.time_ps / BF_NS));
	printf(", %" PRIu64 " events\n", r->world.events);
	if (r->device[0])
		printf("device                     %s\n", r->device);
	print_hashes(w, r);
	printf("wall clock                 %" PRIu64 ".%03" PRIu64 " ms", r->base.wall_ns / 1000000,
	       r->base.wall_ns / 1000 % 1000);
	if (r->messages)
		printf(", %" PRIu64 " messages/s", bf_rate(r->messages, r->base.wall_ns));
	putchar('\n');
}

static void json_hashes(struct bf_json *j, const struct bf_workload *w, const struct bf_run_result *r)
{
	if (!r->pe_hashes)
		return;
	bf_json_hex(j, "pes_hash", bf_run_pes_hash(r->pe_hashes, w->pes));
	bf_json_open(j, "pe_hashes", '[');
	for (uint32_t pe = 0; pe < w->pes; pe++)
		bf_json_hex(j, NULL, r->pe_hashes[pe]);
	bf_json_close(j, ']');
}

static const char *name(const void *choices)
{
	return bf_workload_name(((const struct bf_workload *)choices)->work);
}

static void json(struct bf_json *j, const void *choices, const void *result)
{
	const struct bf_workload *w = choices;
	const struct bf_run_result *r = result;
	char text[2048];

	bf_json_text(j, "backend", w->backend->name);
	if (w->backend->platform == BF_PLATFORM_SIM)
		bf_json_text(j, "ordering", bf_ordering_name(w->ordering));
	bf_workload_command(w, text, sizeof(text));
	bf_json_text(j, "command", text);
	bf_json_open(j, "options", '{');
	bf_workload_json(j, w);
	bf_json_close(j, '}');
	bf_json_text(j, "verdict", bf_verdict_name(r->base.verdict));
	bf_json_u64(j, "messages", r->messages);
	bf_json_u64(j, "verified_bytes", r->verified_bytes);
	bf_json_u64(j, "verified_values", r->verified_values);
	bf_json_u64(j, "time_ps", r->world.time_ps);
	bf_json_u64(j, "messages_per_second", bf_rate(r->messages, r->world.time_ps / BF_NS));
	bf_json_u64(j, "events", r->world.events);
	bf_json_u64(j, "records", r->world.records);
	if (r->device[0])
		bf_json_text(j, "device", r->device);
	if (w->records && !w->ranks)
		bf_json_hex(j, "hash", r->world.hash);
	json_hashes(j, w, r);
}

/* One process is enough for one more run: the PEs do the same however they are spread. */
static void alone(void *choices)
{
	struct bf_workload *w = choices;

	w->ranks = NULL;
	w->hashes = false;
}

static void release(void *result)
{
	free(((struct bf_run_result *)result)->pe_hashes);
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_workload, member), least                                                           \
	}

static const struct bf_search_part parts[] = {
	PART(messages, 1), PART(blocks, 1), PART(warps, 1), PART(lanes, 1),
	PART(pes, 2),      PART(qps, 1),    PART(size, 1),  PART(counters, 1),
};

const struct bf_family bf_ibgda_family = {
	BF_FAMILY_STRUCTS(struct bf_workload, struct bf_run_result),
	.search.parts = parts,
	.search.nparts = BF_ARRAY_LEN(parts),
	.search.check = bf_workload_check,
	.search.run = bf_workload_run,
	.verdict_name = bf_verdict_name,
	.name = name,
	.command = bf_workload_command,
	.alone = alone,
	.print = print,
	.json = json,
	.print_failure = bf_run_print_failure,
	.json_failure = bf_run_json_failure,
	.release = release,
	.done = { BF_MEMBER(struct bf_run_result, messages), 0 },
	.per_second = "messages_per_second",
};

/* Of several processes the first one tells what all have found. */
static bool speaks(const struct bf_workload *w)
{
	return !w->ranks || w->ranks->pe == 0;
}

/* What ranks with different commands simulate together means nothing. Exit code. */
static int compare_ranks(const struct bf_args *args, const struct bf_workload *w, struct bf_error *err)
{
	uint64_t mine, *all = calloc(w->ranks->npes, sizeof(*all));
	char command[2048];
	uint32_t other = 0;
	int rc = all ? 0 : -ENOMEM;

	bf_workload_command(w, command, sizeof(command));
	mine = bf_hash_bytes(command, strlen(command));
	if (all)
		rc = w->ranks->allgather(w->ranks, &mine, all, sizeof(mine));
	while (!rc && other < w->ranks->npes && all[other] == all[0])
		other++;
	free(all);
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->code ? err->text : strerror(-rc));
	if (other == w->ranks->npes)
		return BF_EXIT_GOOD;
	if (!speaks(w))
		return BF_EXIT_USAGE;
	return bf_cli_error(args, BF_EXIT_USAGE,
			    "rank %" PRIu32 " has other options than rank 0: all share one simulation", other);
}

/* Whether this process is one of several that share the simulation. Exit code. */
static int join_ranks(const struct bf_args *args, struct bf_workload *w, struct bf_error *err)
{
	static const char *const kinds[] = { "auto", "none", "socket", "mpi" };

	if (bf_boot_env_open(kinds[bf_arg_u64(args, "boot")], err, &w->ranks))
		return bf_cli_error(args, err->code == -ENOTSUP ? BF_EXIT_UNAVAILABLE : BF_EXIT_USAGE, "%s", err->text);
	w->hashes = bf_arg_flag(args, "hashes");
	if (w->hashes && (!w->records || !w->backend->pe_hashes))
		return bf_cli_error(args, BF_EXIT_USAGE, "--hashes: needs records, of a simulation (--backend sim)");
	if (!w->ranks || w->ranks->npes == 1)
		return BF_EXIT_GOOD;
	if (strcmp(w->backend->name, "sim") != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "backend %s cannot be spread over processes: only sim can",
				    w->backend->name);
	if (bf_arg_text(args, "trace"))
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--trace: a trace is of a simulation in one process, where the "
				    "PEs do the same");
	return compare_ranks(args, w, err);
}

static int run_joined(const struct bf_args *args, const struct bf_workload *w, struct bf_run *run)
{
	if (bf_arg_flag(args, "lint") && w->ranks && w->ranks->npes > 1)
		return bf_cli_error(args, BF_EXIT_USAGE, "--lint: rules want the records of all PEs, so one process");
	run->backend = w->backend;
	run->silent = !speaks(w);
	return bf_run_once(args, run);
}

static int run_run(const struct bf_args *args)
{
	struct bf_workload w;
	struct bf_run run = { .family = &bf_ibgda_family, .w = &w };
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_workload_list(args);
	code = bf_workload_parse(args, &w);
	if (code != BF_EXIT_GOOD)
		return code;
	w.top = bf_arg_flag(args, "top");
	w.counts = bf_arg_flag(args, "stats") || w.faults;
	if (w.top && (w.backend->platform == BF_PLATFORM_SIM || w.backend->describe))
		code = bf_cli_error(args, BF_EXIT_USAGE, "--top is for models on the wall clock: --backend live");
	else
		code = bf_choose_recording(args, w.backend, &w.ordering, &w.records);
	if (code == BF_EXIT_GOOD) /* peers that go are told in the error that they were given */
		code = join_ranks(args, &w, &run.err);
	if (code == BF_EXIT_GOOD)
		code = run_joined(args, &w, &run);
	bf_boot_close(w.ranks);
	bf_workload_free(&w);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "ordering",
	  .kind = BF_OPT_ENUM,
	  .arg = "sc|tso|gpu|adversarial",
	  .initial = "gpu",
	  .help = "how late stores become visible" },
	{ .name = "records",
	  .kind = BF_OPT_TEXT,
	  .arg = "CLASS[,CLASS]",
	  .initial = "all",
	  .help = "what to record: meta, agent, mem, mmio, dma, queue, net, fault, driver, all, none" },
	BF_LINT_RUN_OPTION,
	{ .name = "hashes",
	  .kind = BF_OPT_FLAG,
	  .help = "print a hash of each PE's records, which is the same however PEs are spread over processes" },
	{ .name = "boot",
	  .kind = BF_OPT_ENUM,
	  .arg = "auto|none|socket|mpi",
	  .initial = "auto",
	  .help =
	      "how the processes that share the simulation find each other; auto: as belfry launch or mpirun says" },
	{ .name = "top", .kind = BF_OPT_FLAG, .help = "live: show on standard error what devices do, as it goes on" },
	{ .name = "stats",
	  .kind = BF_OPT_FLAG,
	  .help = "print what the devices counted, and how long they took from doorbell to completion" },
	BF_WORKLOAD_OPT_TABLE("1", "1", "warp"),
	{ .name = NULL },
};

extern const struct bf_command bf_cmd_run_nvme, bf_cmd_run_nvme_gpu, bf_cmd_run_sdma;
extern const struct bf_command bf_cmd_run_mbarrier, bf_cmd_run_ll, bf_cmd_run_shmem;

/* Workloads of other devices, with options of their own. */
static const struct bf_command *const families[] = { &bf_cmd_run_nvme_gpu,
						     &bf_cmd_run_nvme,
						     &bf_cmd_run_sdma,
						     &bf_cmd_run_mbarrier,
						     &bf_cmd_run_ll,
						     &bf_cmd_run_shmem,
						     NULL };

const struct bf_command bf_cmd_run = {
	.name = "run",
	.usage = "run WORKLOAD [options]",
	.summary = "run a workload and check every byte that it moved",
	.details =
	    "Workloads: ibgda-put, ibgda-get, ibgda-amo, ibgda-mixed (belfry run --list says more). Of an NVMe\n"
	    "controller: nvme-read, nvme-write, nvme-verify, nvme-mixed, nvme-admin, nvme-file, which have options of\n"
	    "their own (belfry run nvme-read --help); of a copy engine: sdma-rect, sdma-copy and others, likewise\n"
	    "(belfry run sdma-rect --help); of a Hopper GPU's barriers: mbarrier-pipeline and others (belfry run\n"
	    "mbarrier-pipeline --help). DeepEP's low-latency exchange: ll-dispatch, ll-combine (belfry run ll- "
	    "--help).\n"
	    "NVSHMEM's calls, checked and measured: shmem-put, shmem-put-bw and others (belfry run shmem- --help).\n"
	    "\n"
	    "The same options and seed give the same run, record for record: the hash says so. A run that fails is\n"
	    "run once more with all records, and the cause is named from them. With --faults, each rule of the plan\n"
	    "says how often it fired.\n"
	    "\n"
	    "Exit code 0: all data as it must be. 1: wrong data, an error completion, a deadlock or the time limit.\n"
	    "2: bad options, or the machine is --without something that it takes. 3: good, and --lint found "
	    "something.\n"
	    "77: the backend is not available here.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry run ibgda-put --pes 4 --warps 8 --messages 100 --size 4096\n"
	    "  belfry run ibgda-put --bug dbrec-index\n"
	    "  belfry run ibgda-mixed --faults 'drop prob=0.01' --trace mixed.bft\n"
	    "  belfry launch -n 2 -- belfry run ibgda-put --pes 8 --hashes\n"
	    "  belfry run ibgda-put --ordering sc --records none --profile cx7,icrc=0 --messages 10000",
	.words = "ibgda-put|ibgda-get|ibgda-amo|ibgda-mixed",
	.families = families,
	.options = options,
	.min_args = 0,
	.max_args = 1,
	.run = run_run,
	.ranks = true,
};
