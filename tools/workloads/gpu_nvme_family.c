/*
 * belfry run nvme-gpu-...: the experiment of an NVMe controller driven by an AMD GPU, told step by step.
 */
#include <inttypes.h>
#include <string.h>

#include "tools/workloads/gpu_nvme.h"
#include "tools/workloads/family.h"
#include "traces/container/trace.h"

static const struct bf_work works[] = {
	[BF_GPU_NVME_IDENTIFY] = { "nvme-gpu-identify", "Identify into VRAM; a GPU thread rings, the CPU polls" },
	[BF_GPU_NVME_FILE] = { "nvme-gpu-file",
			       "GPU threads write a file and read it back, a queue pair each, in VRAM" },
	[BF_GPU_NVME_POLL] = { "nvme-gpu-poll", "GPU threads poll completion queues in VRAM; --table tries every way" },
	[BF_GPU_NVME_MOVED] = { "nvme-gpu-moved", "a buffer moves after its physical addresses were handed out" },
	{ NULL, NULL },
};

static void print_lines(const char *prefix, const char *text)
{
	while (*text) {
		const size_t n = strcspn(text, "\n");

		printf("%s%.*s\n", prefix, (int)n, text);
		text += n + (text[n] == '\n');
	}
}

static int report(const struct bf_args *args, const struct bf_gpu_nvme_opts *o, const struct bf_gpu_nvme_result *r)
{
	struct bf_json j;

	if (!bf_arg_json(args)) {
		printf("%s: %s\n", works[o->work].name, r->verdict);
		print_lines("cause: ", r->cause);
		printf("simulated time %llu.%03llu us, %" PRIu64 " records, hash %016" PRIx64 "\n", r->time_ps / BF_US,
		       r->time_ps % BF_US / BF_NS, r->records, r->hash);
		return r->good ? BF_EXIT_GOOD : BF_EXIT_FAILED;
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "workload", works[o->work].name);
	bf_json_bool(&j, "good", r->good);
	bf_json_text(&j, "verdict", r->verdict);
	bf_json_text(&j, "cause", r->cause[0] ? r->cause : NULL);
	bf_json_u64(&j, "time_ps", r->time_ps);
	bf_json_u64(&j, "records", r->records);
	bf_json_hex(&j, "hash", r->hash);
	bf_json_close(&j, '}');
	bf_json_end(&j);
	return r->good ? BF_EXIT_GOOD : BF_EXIT_FAILED;
}

/* Mapping, load and request, each with its outcome. */
struct way {
	enum bf_gpu_mtype mtype;
	bool plain, no_flush, mm;
	uint32_t engine, flush_type, vmids;
};

static void describe_way(const struct way *w, char *buf, size_t cap)
{
	if (w->no_flush)
		snprintf(buf, cap, "none");
	else
		snprintf(buf, cap, "%s_INVALIDATE_ENG%u flush_type %u VMIDs 0x%x", w->mm ? "MMVM" : "GCVM", w->engine,
			 w->flush_type, w->vmids);
}

static int try_way(const struct bf_args *args, const struct bf_gpu_nvme_opts *base, const struct way *w,
		   struct bf_json *j)
{
	struct bf_gpu_nvme_opts o = *base;
	struct bf_gpu_nvme_result r;
	struct bf_error err = { 0 };
	char request[64];

	o.mtype = w->mtype;
	o.plain = w->plain;
	o.no_flush = w->no_flush;
	o.mm = w->mm;
	o.engine = w->engine;
	o.flush_type = w->flush_type;
	o.vmids = w->vmids;
	if (bf_gpu_nvme_run(&o, &r, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	describe_way(w, request, sizeof(request));
	if (!j) {
		printf("%-9s %-12s %-48s %s\n", w->mtype == BF_GPU_MTYPE_UC ? "MTYPE_UC" : "MTYPE_RW",
		       w->plain ? "plain" : "glc slc dlc", request, r.good ? "progress" : "timeout");
		return BF_EXIT_GOOD;
	}
	bf_json_open(j, NULL, '{');
	bf_json_text(j, "mtype", w->mtype == BF_GPU_MTYPE_UC ? "UC" : "RW");
	bf_json_text(j, "load", w->plain ? "plain" : "glc slc dlc");
	bf_json_text(j, "request", request);
	bf_json_bool(j, "progress", r.good);
	bf_json_close(j, '}');
	return BF_EXIT_GOOD;
}

static int table(const struct bf_args *args, const struct bf_gpu_nvme_opts *base)
{
	static const struct way requests[] = {
		{ .no_flush = true },
		{ .engine = 17, .flush_type = 0, .vmids = 1 },
		{ .engine = 17, .flush_type = 1, .vmids = 1 },
		{ .engine = 17, .flush_type = 2, .vmids = 0 },
		{ .engine = 0, .flush_type = 2, .vmids = 1 },
		{ .engine = 17, .flush_type = 2, .vmids = 1, .mm = true },
		{ .engine = 17, .flush_type = 2, .vmids = 1 },
		{ .engine = 17, .flush_type = 2, .vmids = 0x8000 },
	};
	struct bf_json j;
	int code = BF_EXIT_GOOD;

	if (bf_arg_json(args)) {
		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '[');
	} else {
		printf("%-9s %-12s %-48s %s\n", "mapping", "load", "request", "outcome");
	}
	for (uint32_t i = 0; i < 4 * BF_ARRAY_LEN(requests) && code == BF_EXIT_GOOD; i++) {
		struct way w = requests[i % BF_ARRAY_LEN(requests)];

		w.mtype = i / BF_ARRAY_LEN(requests) < 2 ? BF_GPU_MTYPE_RW : BF_GPU_MTYPE_UC;
		w.plain = i / BF_ARRAY_LEN(requests) % 2 == 0;
		code = try_way(args, base, &w, bf_arg_json(args) ? &j : NULL);
	}
	if (bf_arg_json(args) && code == BF_EXIT_GOOD) {
		bf_json_close(&j, ']');
		bf_json_end(&j);
	}
	return code;
}

static void parse(const struct bf_args *args, struct bf_gpu_nvme_opts *o)
{
	o->ordering = (enum bf_ordering)bf_arg_u64(args, "ordering");
	o->seed = bf_arg_u64(args, "seed");
	o->threads =
	    o->work == BF_GPU_NVME_POLL && !bf_arg_given(args, "threads") ? 1 : (uint32_t)bf_arg_u64(args, "threads");
	o->pages = (uint32_t)bf_arg_u64(args, "pages");
	o->mtype = bf_arg_u64(args, "mtype") ? BF_GPU_MTYPE_RW : BF_GPU_MTYPE_UC;
	o->plain = bf_arg_u64(args, "load") == 1;
	o->no_fence = bf_arg_flag(args, "no-fence");
	o->no_flush = bf_arg_flag(args, "no-flush");
	o->mm = bf_arg_u64(args, "hub") == 1;
	o->engine = (uint32_t)bf_arg_u64(args, "engine");
	o->flush_type = (uint32_t)bf_arg_u64(args, "flush-type");
	o->vmids = (uint32_t)bf_arg_u64(args, "vmids");
	o->pin = bf_arg_flag(args, "pin") || o->work != BF_GPU_NVME_MOVED;
	o->story = bf_arg_json(args) || bf_arg_flag(args, "table") ? NULL : stdout;
}

static int command_line(const struct bf_args *args)
{
	const char *name = bf_arg_positional_count(args) ? bf_arg_positional(args, 0) : "";
	struct bf_gpu_nvme_opts o = bf_gpu_nvme_default;
	struct bf_trace_writer *trace = NULL;
	struct bf_error err = { 0 };
	struct bf_gpu_nvme_result r;
	uint32_t work = 0;
	int rc, trace_rc = 0;

	while (works[work].name && strcmp(works[work].name, name) != 0)
		work++;
	if (!works[work].name)
		return bf_family_refuse(bf_arg_own(args), args);
	o.work = (enum bf_gpu_nvme_work)work;
	parse(args, &o);
	if (bf_arg_flag(args, "table"))
		return o.work == BF_GPU_NVME_POLL ? table(args, &o)
						  : bf_cli_error(args, BF_EXIT_USAGE, "--table: of nvme-gpu-poll only");
	if (bf_begin_trace(args, name, &trace, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	o.sink = trace ? bf_trace_sink(trace) : NULL;
	rc = bf_gpu_nvme_run(&o, &r, &err);
	if (trace) {
		bf_trace_meta(trace, "verdict", rc ? "not run" : r.verdict);
		trace_rc = bf_trace_writer_close(trace);
	}
	if (rc || trace_rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	return report(args, &o, &r);
}

static const struct bf_opt options[] = {
	{ .name = "ordering",
	  .kind = BF_OPT_ENUM,
	  .arg = "sc|tso|gpu|adversarial",
	  .initial = "gpu",
	  .help = "how late stores become visible; with gpu, the CPU's stores follow tso" },
	{ .name = "seed", .kind = BF_OPT_U64, .arg = "N", .initial = "1", .help = "seed of everything random" },
	{ .name = "threads",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "8",
	  .min = 1,
	  .max = 64,
	  .help = "GPU threads, each with a queue pair; one for nvme-gpu-poll" },
	{ .name = "pages",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "4",
	  .min = 1,
	  .max = 1024,
	  .help = "pages that each thread transfers" },
	{ .name = "mtype",
	  .kind = BF_OPT_ENUM,
	  .arg = "uc|rw",
	  .initial = "uc",
	  .help = "how VRAM is mapped: past the L2, or through it" },
	{ .name = "load",
	  .kind = BF_OPT_ENUM,
	  .arg = "past-caches|plain",
	  .initial = "past-caches",
	  .help = "kind of load that polls: with glc slc dlc, or without" },
	{ .name = "no-fence", .kind = BF_OPT_FLAG, .help = "no fence between an entry and its doorbell" },
	{ .name = "no-flush", .kind = BF_OPT_FLAG, .help = "the host never stores to the register" },
	{ .name = "hub", .kind = BF_OPT_ENUM, .arg = "gcvm|mmvm", .initial = "gcvm", .help = "whose register" },
	{ .name = "engine",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "17",
	  .min = 0,
	  .max = 17,
	  .help = "INVALIDATE_ENGn_REQ" },
	{ .name = "flush-type",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "2",
	  .min = 0,
	  .max = 7,
	  .help = "its field; 2: heavyweight" },
	{ .name = "vmids",
	  .kind = BF_OPT_U64,
	  .arg = "MASK",
	  .initial = "1",
	  .min = 0,
	  .max = 0xffff,
	  .help = "its field" },
	{ .name = "pin", .kind = BF_OPT_FLAG, .help = "nvme-gpu-moved: the exporter pins what it hands out" },
	{ .name = "table",
	  .kind = BF_OPT_FLAG,
	  .help = "nvme-gpu-poll: try every combination and print which ones make progress" },
	{ .name = NULL },
};

const struct bf_family bf_nvme_work_gpu_family = {
	.prefix = "nvme-gpu-",
	.works = works,
	.options = options,
	.run = { .summary = "drive an NVMe controller from an AMD GPU, step by step",
		 .details =
		     "Repeats a published experiment with an RX 7900 XTX, on models of both devices and of IOMMUFD "
		     "and DMA-BUF between them. What the SSD writes into VRAM stays invisible to the GPU until the "
		     "right value is stored to the right register. A run that hangs or goes wrong says why.",
		 .exit_codes =
		     "Exit code 0: good. 1: the run hung, or data are wrong; the cause is printed. 2: bad options.",
		 .examples = "  belfry run nvme-gpu-identify\n"
			     "  belfry run nvme-gpu-file --threads 16\n"
			     "  belfry run nvme-gpu-poll --no-flush\n"
			     "  belfry run nvme-gpu-poll --table\n"
			     "  belfry run nvme-gpu-moved" },
	.command_line = command_line,
};
