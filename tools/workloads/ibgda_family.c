/* belfry run ibgda-..., belfry explore: what is particular to these workloads. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/bootstrap.h"
#include "tools/workloads/mlx5_profile.h"
#include "tools/workloads/ibgda.h"

static const struct bf_work works[] = {
	[BF_IBGDA_PUT] = { "ibgda-put", "each warp puts messages into its peer's memory; every byte is compared" },
	[BF_IBGDA_GET] = { "ibgda-get", "each warp gets messages from its peer's memory; every byte is compared" },
	[BF_IBGDA_AMO] = { "ibgda-amo", "atomics on the peer's counters; sums, and with --fetch the old values" },
	[BF_IBGDA_MIXED] = { "ibgda-mixed", "puts, gets, inline puts, puts with signal and atomics, drawn by seed" },
	[BF_IBGDA_WORKS] = { NULL, NULL },
};

/* Defaults are written as the command line prints numbers, so that it can leave out what is not needed. */
#define O(...) BF_OPT_OF(struct bf_workload, __VA_ARGS__)
static const struct bf_opt options[] = {
	O("seed", U64, "N", "1", "seed of everything random; explore starts with it", 0, 0, seed),
	O("limit", TIME, "TIME", "100s", "simulated time after which a run counts as hung", 0, 0, limit_ps),
	O("pes", U64, "N", "2", "processing elements, each with memory, GPU and NICs", 2, 4096, pes),
	O("nics", U64, "N", "1", "NICs of each PE", 1, 8, nics),
	O("ports", U64, "N", "1", "ports of each NIC", 1, 2, ports),
	O("qps", U64, "N", "1", "queue pairs from each PE to each other, on each port", 1, 16, qps),
	O("blocks", U64, "N", "1", "blocks of warps on each PE", 1, 1024, blocks),
	O("warps", U64, "N", "1", "warps in a block", 1, 32, warps),
	O("per-lane", FLAG, NULL, NULL, "each lane issues its own messages", 0, 0, per_lane),
	O("lanes", U64, "N", "0", "with --per-lane: lanes of each warp that take part; 0: all", 0, 32, lanes),
	O("messages", U64, "N", "16", "messages of each warp (or lane)", 1, 1u << 30, messages),
	O("window", U64, "N", "0", "message slots of each warp, used in turn; 0: one for each message", 0, 1u << 30,
	  window),
	O("size", U64, "BYTES", "64", "payload of a put or get", 1, 1u << 30, size),
	O("route", ENUM, "ring|all|pair", "ring", "which peers: the next, all in turn, or PE ^ 1", 0, 0, route),
	O("qp-choice", ENUM, "warp|message|first", "warp", "how messages spread over the queue pairs", 0, 0, qp_choice),
	O("quiet-every", U64, "N", "0", "wait for completion after N messages; 0: at the end", 0, 1u << 30,
	  quiet_every),
	O("pe-quiet", FLAG, NULL, NULL, "quiets cover all queue pairs of the PE, as nvshmem_quiet() does", 0, 0,
	  pe_quiet),
	O("pace", TIME, "TIME", "0ps", "pause before each message", 0, 0, pace_ps),
	O("fill", FLAG, NULL, NULL, "warps write the payload themselves right before each put", 0, 0, fill),
	O("imm", FLAG, NULL, NULL, "ibgda-put: puts carry an immediate, and their targets post and await receives", 0,
	  0, imm),
	O("blocking-get", FLAG, NULL, NULL, "each get waits for its data", 0, 0, blocking_get),
	O("op", ENUM, "inc|add|set|swap|and|or|xor|cas|fetch", "add", "ibgda-amo: which atomic", 0, 0, op),
	O("op-bytes", U64, "4|8", "8", "ibgda-amo: width", 4, 8, op_bytes),
	O("fetch", FLAG, NULL, NULL, "ibgda-amo: fetch and check old values", 0, 0, fetch),
	O("counters", U64, "N", "1", "words on each PE that atomics hit", 1, 1u << 20, counters),
	O("flavour", ENUM, "nvshmem|deepep", "nvshmem", "whose rules the device code follows", 0, 0, flavour),
	O("layout", ENUM, "l1|l2|l3", "l3", "order of the queue tables: as NVSHMEM 3.5, as 3.4, or with receive queues",
	  0, 0, layout),
	O("transport", ENUM, "rc|dc", "rc", "a connection to each peer, or one DC initiator to all", 0, 0, transport),
	O("full-av", FLAG, NULL, NULL, "with --transport dc: full address vectors, also where compact ones would do", 0,
	  0, full_av),
	O("place", ENUM, "host|gpu", "gpu", "where rings, records and completion queues are", 0, 0, place),
	O("heap", ENUM, "auto|host|gpu", "auto",
	  "with --backend mlx5: where the data are; gpu: in a real GPU's memory; auto: gpu if the GPU's "
	  "threads ring",
	  0, 0, heap),
	O("depth", U64, "N", "1024", "WQEBBs in a send ring, power of two", 16, 32768, depth),
	O("batch", U64, "N", "32", "requests per doorbell, power of two", 1, 32768, batch),
	O("ibuf-slots", U64, "N", "1024", "slots for fetched results, power of two", 32, 1u << 20, ibuf_slots),
	O("granule", U64, "BYTES", "2097152", "granule of the key tables, power of two", 4096, 1u << 30, granule),
	O("granules-per-mr", U64, "N", "0", "granules in each memory region; 0: one region in all", 0, 1u << 20,
	  granules_per_mr),
	O("plain-cq", FLAG, NULL, NULL, "completion queues are rings instead of one entry that is overwritten", 0, 0,
	  plain_cq),
	O("ack-timeout", U64, "N", "20", "retransmission time-out: 4.096 us * 2^N", 1, 31, ack_timeout),
	O("retries", U64, "N", "7", "retransmissions before a queue pair fails", 1, 7, retries),
	O("backup", FLAG, NULL, NULL,
	  "add a backup queue pair for each, on the neighbour port or NIC, and a supervisor that moves "
	  "traffic when a link is cut",
	  0, 0, backup),
	O("must-move", FLAG, NULL, NULL, "with --backup: fail a run in which no traffic had to move", 0, 0, must_move),
	O("proxy", FLAG, NULL, NULL, "a CPU thread rings doorbells for the GPU's threads", 0, 0, proxy),
	O("agent", ENUM, "gpu|cuda|ptx", "gpu",
	  "who runs the GPU threads: our code as C, or as nvcc compiled it (ptx), or a real GPU (with --backend mlx5, "
	  "or "
	  "with --backend live, which is the same as --backend cuda)",
	  0, 0, agent),
	O("ptx", TEXT, "FILE", NULL,
	  "with --agent ptx: our device code as PTX; default: belfry-drivers.ptx next to the program", 0, 0, ptx),
	BF_OPT_NAMING(struct bf_workload, "profile", "NAME[,FIELD=N]", "cx7", "device timing", profile_text,
		      bf_mlx5_work_profile_name),
	O("topology", TEXT, "TEXT", "switch", "switches, e.g. 'leaf-spine leaves=4 spines=2'", 0, 0, topology),
	{ .name = NULL },
};
#undef O

static const struct bf_words words[] = {
	{ BF_WORDS("bug", "Bugs", bf_ibgda_bugs, struct bf_ibgda_bug, struct bf_workload, bugs) },
	{ BF_WORDS("bug", "Suspected bugs of NVSHMEM and DeepEP", bf_ibgda_suspects, struct bf_ibgda_suspect,
		   struct bf_workload, suspects) },
	{ BF_WORDS("without", "What --without can remove", bf_ibgda_lacks, struct bf_ibgda_bug, struct bf_workload,
		   lacks) },
	{ .option = NULL },
};

/* ---- choices ---- */

/* An option that the workload does not look at was meant for another one. */
static int check_meant(const struct bf_args *args, const struct bf_workload *w, struct bf_error *err)
{
	static const char *const atomics[] = { "op", "op-bytes", "fetch", "counters" };

	for (size_t i = 0; i < BF_ARRAY_LEN(atomics); i++) {
		const bool looks =
		    w->work == BF_IBGDA_AMO || (w->work == BF_IBGDA_MIXED && strcmp(atomics[i], "counters") == 0);

		if (!looks && bf_arg_given(args, atomics[i]))
			return bf_fail(err, -EINVAL, "--%s does not apply to %s: it is for ibgda-amo", atomics[i],
				       works[w->work].name);
	}
	if (w->lanes && !w->per_lane)
		return bf_fail(err, -EINVAL, "--lanes needs --per-lane");
	return 0;
}

static int fill(const struct bf_family *f, const struct bf_args *args, void *choices, struct bf_error *err)
{
	struct bf_workload *w = choices;
	int rc = check_meant(args, w, err);

	(void)f;
	if (!rc)
		rc = bf_mlx5_work_profile_parse(w->profile_text, &w->profile, err);
	if (!rc)
		rc = bf_check_topology(&w->topology, w->pes, err);
	return rc ? rc : bf_workload_check(w, err);
}

/* What a real NIC works on: data in a GPU's memory, rings there only when its own threads fill them. */
static int choose_memory(const struct bf_args *args, struct bf_workload *w)
{
	char why[256] = "";

	if (!w->backend->probe_gpu && w->heap != BF_HEAP_AUTO)
		return bf_cli_error(args, BF_EXIT_USAGE, "--heap: a choice of backend mlx5 only");
	if (!w->backend->probe_gpu)
		return BF_EXIT_GOOD;
	if (!w->gpu && bf_arg_given(args, "place") && w->place != BF_PLACE_HOST)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--place gpu: no processor reaches a GPU's memory, so rings there "
				    "are for its own threads (--agent cuda)");
	if (!w->gpu && w->heap == BF_HEAP_GPU && w->fill)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--fill: no processor writes into a GPU's memory while others work on "
				    "it; its own threads do (--agent cuda)");
	if (w->gpu && w->heap == BF_HEAP_AUTO)
		w->heap = BF_HEAP_GPU;
	if (w->gpu && w->backup)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--backup: supervisors look at rings, which are the real GPU's");
	if (w->heap != BF_HEAP_GPU && (!w->gpu || w->place == BF_PLACE_HOST))
		return BF_EXIT_GOOD;
	if (w->backend->probe_gpu(false, why, sizeof(why)) != 0)
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE, "no GPU memory: %s", why);
	return BF_EXIT_GOOD;
}

/* A real GPU reaches rings and records where the models' processor does: in host memory. */
static int settle(const struct bf_args *args, void *choices)
{
	struct bf_workload *w = choices;
	int code = w->agent == BF_AGENT_CUDA ? bf_choose_gpu(args, &w->backend) : BF_EXIT_GOOD;

	if (w->agent == BF_AGENT_PTX)
		return bf_choose_ptx(args, w->backend, w->ptx, !w->bugs && !w->suspects, w->ptx_path,
				     sizeof(w->ptx_path));
	w->gpu = w->agent && w->backend->probe_gpu;
	if (!w->gpu)
		w->agent = 0; /* the backend says it */
	if (code == BF_EXIT_GOOD)
		code = choose_memory(args, w);
	if (code != BF_EXIT_GOOD || strcmp(w->backend->name, "cuda") != 0)
		return code;
	if (bf_arg_given(args, "place") && w->place != BF_PLACE_HOST)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--place: the rings of a real GPU's threads lie in host memory");
	w->place = BF_PLACE_HOST;
	return BF_EXIT_GOOD;
}

/* ---- what came of it ---- */

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
	printf(", all correct");
}

/* Record streams of several processes have no order among each other, so only hashes of PEs say that they agree. */
static void print_hashes(const struct bf_workload *w, const struct bf_run_result *r)
{
	if (w->records)
		printf("records                    %" PRIu64, r->world.records);
	if (w->records && !w->ranks && w->cores <= 1)
		printf(", hash %016" PRIx64, r->world.hash);
	if (w->records)
		putchar('\n');
	for (uint32_t pe = 0; r->pe_hashes && pe < w->pes; pe++)
		printf("PE %-4" PRIu32 "                    hash %016" PRIx64 "\n", pe, r->pe_hashes[pe]);
	if (r->pe_hashes)
		printf("all PEs                    hash %016" PRIx64 "\n", bf_run_pes_hash(r->pe_hashes, w->pes));
}

/* What meetings themselves cost comes on top. */
static void print_windows(const struct bf_world_result *r)
{
	if (!r->windows)
		return;
	printf("windows                    %" PRIu64 ", %" PRIu64 " events in each, %" PRIu64
	       " of the busiest part: at most %" PRIu64 ".%02" PRIu64 " times as fast as one\n",
	       r->windows, r->events / r->windows, r->busiest_events / r->windows, r->events / r->busiest_events,
	       r->events * 100 / r->busiest_events % 100);
}

static void print(const void *choices, const void *result, bool stats)
{
	const struct bf_workload *w = choices;
	const struct bf_run_result *r = result;
	(void)stats;
	bf_cli_put_verdict(stdout, bf_verdict_name(r->base.verdict), r->base.verdict == BF_VERDICT_GOOD);
	if (r->base.verdict == BF_VERDICT_GOOD)
		print_checked(w, r);
	print_time(w->backend->platform == BF_PLATFORM_SIM ? "\nsimulated time            "
							   : "\nelapsed time              ",
		   r->world.time_ps);
	if (r->messages)
		printf(", %" PRIu64 " messages/s", bf_rate(r->messages, r->world.time_ps / BF_NS));
	printf(", %" PRIu64 " events\n", r->world.events);
	print_windows(&r->world);
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

static void json(struct bf_json *j, const void *choices, const void *result)
{
	const struct bf_workload *w = choices;
	const struct bf_run_result *r = result;

	bf_json_u64(j, "messages", r->messages);
	bf_json_u64(j, "verified_bytes", r->verified_bytes);
	bf_json_u64(j, "verified_values", r->verified_values);
	bf_json_u64(j, "time_ps", r->world.time_ps);
	bf_json_u64(j, "messages_per_second", bf_rate(r->messages, r->world.time_ps / BF_NS));
	bf_json_u64(j, "events", r->world.events);
	bf_json_u64(j, "records", r->world.records);
	if (r->world.windows) {
		bf_json_u64(j, "windows", r->world.windows);
		bf_json_u64(j, "busiest_events", r->world.busiest_events);
	}
	if (r->device[0])
		bf_json_text(j, "device", r->device);
	if (w->records && !w->ranks && w->cores <= 1)
		bf_json_hex(j, "hash", r->world.hash);
	json_hashes(j, w, r);
}

/* One process is enough for one more run: the PEs do the same however they are spread. */
static void alone(void *choices)
{
	struct bf_workload *w = choices;

	w->ranks = NULL;
	w->cores = 1;
	w->hashes = false;
}

static void release(void *result)
{
	free(((struct bf_run_result *)result)->pe_hashes);
}

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

	bf_family_command(&bf_ibgda_family, w, command, sizeof(command));
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

/* Whether threads of this process share it. Exit code. */
static int choose_cores(const struct bf_args *args, struct bf_workload *w)
{
	w->cores = (uint32_t)bf_arg_u64(args, "cores");
	if (w->cores == 1)
		return BF_EXIT_GOOD;
	if (w->cores > w->pes)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--cores: %" PRIu32 " PEs cannot be spread over %" PRIu32 " cores", w->pes,
				    w->cores);
	if (w->ranks)
		return bf_cli_error(args, BF_EXIT_USAGE, "--cores: this is one of several processes already");
	if (strcmp(w->backend->name, "sim") != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "--cores: backend %s has threads of its own",
				    w->backend->name);
	if (bf_arg_text(args, "trace") || bf_arg_flag(args, "lint"))
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--cores: a trace, and rules, need the records of all PEs in one order, so one "
				    "core, on which the PEs do the same");
	if (bf_arg_text(args, "choices"))
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--cores: choices are numbered in the order of all PEs, so one core");
	return BF_EXIT_GOOD;
}

static int run_joined(const struct bf_args *args, const struct bf_workload *w, struct bf_run *run)
{
	if (bf_arg_flag(args, "lint") && w->ranks && w->ranks->npes > 1)
		return bf_cli_error(args, BF_EXIT_USAGE, "--lint: rules need the records of all PEs, so one process");
	if (bf_arg_text(args, "choices") && w->ranks && w->ranks->npes > 1)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--choices: they are numbered in the order of all PEs, so one process");
	run->silent = !speaks(w);
	return bf_run_once(args, run);
}

static int run_once(const struct bf_args *args, void *choices, struct bf_run *run)
{
	struct bf_workload *w = choices;
	/* Peers that go are told in the error that they were given. */
	int code = join_ranks(args, w, &run->err);

	if (code == BF_EXIT_GOOD)
		code = choose_cores(args, w);
	if (code == BF_EXIT_GOOD)
		code = run_joined(args, w, run);
	bf_boot_close(w->ranks);
	return code;
}

/* ---- the row ---- */

static void list_json(struct bf_json *j)
{
	bf_json_open(j, "backends", '[');
	for (const struct bf_backend *const *b = bf_backends(); *b; b++)
		bf_json_text(j, NULL, (*b)->name);
	bf_json_close(j, ']');
	bf_json_open(j, "orderings", '[');
	for (enum bf_ordering o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
		bf_json_text(j, NULL, bf_ordering_name(o));
	bf_json_close(j, ']');
	bf_json_open(j, "profiles", '[');
	for (const struct bf_mlx5_profile *const *p = bf_mlx5_work_profiles(); *p; p++) {
		bf_json_open(j, NULL, '{');
		bf_mlx5_work_profile_json(j, *p);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

static void list(struct bf_json *j)
{
	if (j) {
		list_json(j);
		return;
	}
	puts("Backends (belfry doctor says which work here)");
	for (const struct bf_backend *const *b = bf_backends(); *b; b++)
		printf("  %-24s %s\n", (*b)->name, (*b)->summary);
	puts("Orderings\n"
	     "  sc                       stores are visible at once, in order\n"
	     "  tso                      stores wait in a buffer and leave in order (x86)\n"
	     "  gpu                      stores leave in any order; fences have scopes\n"
	     "  adversarial              as gpu, but each store becomes visible at once or as late as possible");
	for (const struct bf_mlx5_profile *const *p = bf_mlx5_work_profiles(); *p; p++) {
		printf("Profile %s\n", (*p)->name);
		bf_mlx5_work_profile_print(stdout, *p);
	}
}

static void json_options(struct bf_json *j, const void *choices)
{
	const struct bf_workload *w = choices;

	bf_json_open(j, "profile", '{');
	bf_mlx5_work_profile_json(j, &w->profile);
	bf_json_close(j, '}');
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_workload, member), least                                                           \
	}

static const struct bf_search_part parts[] = {
	PART(messages, 1), PART(blocks, 1), PART(warps, 1), PART(lanes, 1),
	PART(pes, 2),      PART(qps, 1),    PART(size, 1),  PART(counters, 1),
};

static const struct bf_opt run_options[] = {
	{ .name = "hashes",
	  .kind = BF_OPT_FLAG,
	  .help = "print a hash of each PE's records; it does not depend on how PEs are spread over processes" },
	{ .name = "cores",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "1",
	  .min = 1,
	  .max = 64,
	  .help = "threads that share the PEs, on as many processors; each PE does the same" },
	{ .name = "boot",
	  .kind = BF_OPT_ENUM,
	  .arg = "auto|none|socket|mpi",
	  .initial = "auto",
	  .help = "how the processes of one simulation find each other; auto: as belfry launch or mpirun tells them" },
	{ .name = "stats",
	  .kind = BF_OPT_FLAG,
	  .help = "print the devices' counters, and the time from doorbell to completion" },
	{ .name = NULL },
};

/* Some mistakes show only between threads that see different caches. */
static const char *const explore_initial[] = { "blocks", "2", "warps", "2", "qp-choice", "first", NULL };

static const struct bf_shape full_ring[] = {
	{ "depth", 16, NULL }, { "batch", 4, NULL }, { "faults", 0, "delay prob=0.3 delay=20us" }, { .option = NULL }
};
static const struct bf_shape lossy[] = { { "faults", 0, "drop prob=0.01; delay prob=0.05 delay=3us" },
					 { "ack-timeout", 4, NULL },
					 { .option = NULL } };
static const struct bf_shape wide[] = { { "blocks", 4, NULL }, { "warps", 1, NULL }, { .option = NULL } };
static const struct bf_shape crowded[] = { { "batch", 1, NULL }, { "warps", 4, NULL }, { .option = NULL } };
static const struct bf_shape *const shapes[] = { crowded, full_ring, lossy, wide, NULL };
static const char *const small[] = { "messages", "1", "blocks", "2", "warps", "1", "qp-choice", "first", NULL };

const struct bf_family bf_ibgda_family = {
	BF_FAMILY_STRUCTS(struct bf_workload, struct bf_run_result),
	BF_FAMILY_CHOOSER(struct bf_workload),
	.prefix = "ibgda-",
	.shapes = shapes,
	.small = small,
	.works = works,
	.options = options,
	.words = words,
	.ranks = true,
	.run = { .summary = "run a workload and check every byte that it moved",
		 .details =
		     "The same options and seed give the same run, record for record, as its hash shows. A run that "
		     "fails is repeated with all records to find the cause. With --faults, the result says how often "
		     "each rule of the plan fired.",
		 .exit_codes =
		     "Exit code 0: all data are correct. 1: wrong data, an error completion, a deadlock or the time "
		     "limit. "
		     "2: bad options, or --without removed something that the workload needs. 3: all data are correct, "
		     "but --lint found something.",
		 .examples =
		     "  belfry run ibgda-put --pes 4 --warps 8 --messages 100 --size 4096\n"
		     "  belfry run ibgda-put --bug dbrec-index\n"
		     "  belfry run ibgda-mixed --faults 'drop prob=0.01' --trace mixed.bft\n"
		     "  belfry launch -n 2 -- belfry run ibgda-put --pes 8 --hashes\n"
		     "  belfry run ibgda-put --ordering sc --records none --profile cx7,icrc=0 --messages 10000",
		 .options = run_options },
	.explore = { .summary = "find a seed and an ordering with which a workload fails",
		     .details =
			 "By default, several blocks and warps share one queue pair, because some mistakes show only "
			 "between threads behind different caches.",
		     .examples =
			 "  belfry explore ibgda-mixed --seeds 1000 --pes 4 --warps 4\n"
			 "  belfry explore ibgda-put --bug no-wqe-fence --blocks 2 --qp-choice first --trace late.bft",
		     .initial = explore_initial },
	.work = { BF_MEMBER(struct bf_workload, work), 0 },
	.top = { BF_MEMBER(struct bf_workload, top), 0 },
	.backend = { BF_MEMBER(struct bf_workload, backend), 0 },
	.faults = { BF_MEMBER(struct bf_workload, faults), 0 },
	.device = BF_DEVICE_MLX5,
	.search.parts = parts,
	.search.nparts = BF_ARRAY_LEN(parts),
	.search.check = bf_workload_check,
	.search.run = bf_workload_run,
	.fill = fill,
	.settle = settle,
	.run_once = run_once,
	.alone = alone,
	.verdict_name = bf_verdict_name,
	.print = print,
	.json = json,
	.json_options = json_options,
	.print_failure = bf_run_print_failure,
	.json_failure = bf_run_json_failure,
	.release = release,
	.list = list,
	.done = { BF_MEMBER(struct bf_run_result, messages), 0 },
	.per_second = "messages_per_second",
};
