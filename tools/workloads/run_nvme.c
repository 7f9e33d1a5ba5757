/*
 * belfry run nvme-...: one NVMe workload, once, checked to the last byte.
 */
#include <inttypes.h>
#include <string.h>

#include "tools/report/lint_run.h"
#include "tools/workloads/nvme.h"

static void print_us(const char *what, uint64_t ps)
{
	printf("%s %llu.%03llu us", what, ps / BF_US, ps % BF_US / BF_NS);
}

/* Means of a command: what the protocol of queues costs, apart from what the medium does. */
static void print_split(const struct bf_nvme_split *s)
{
	print_us("a command, on average     ",
		 s->doorbell_ps + s->fetch_ps + s->data_ps + s->completion_ps + s->media_ps);
	print_us(": queue protocol", s->doorbell_ps + s->fetch_ps + s->data_ps + s->completion_ps);
	print_us(" (doorbell", s->doorbell_ps);
	print_us(", fetch", s->fetch_ps);
	print_us(", data", s->data_ps);
	print_us(", completion", s->completion_ps);
	print_us("), medium", s->media_ps);
	putchar('\n');
}

static void print_dmabuf(int64_t bytes)
{
	if (bytes < 0)
		printf("doorbells as DMA-BUF       no: %s\n", strerror((int)-bytes));
	else
		printf("doorbells as DMA-BUF       %" PRId64 " bytes\n", bytes);
}

static void print(const void *choices, const void *result, bool stats)
{
	const struct bf_nvme_workload *w = choices;
	const struct bf_nvme_run_result *r = result;
	char command[2048];

	bf_nvme_workload_command(w, command, sizeof(command));
	printf("%s\n%s", command, bf_nvme_outcome_name(r->base.verdict));
	if (r->base.verdict == BF_NVME_RUN_GOOD)
		printf(": %" PRIu64 " commands", r->commands);
	if (r->base.verdict == BF_NVME_RUN_GOOD && r->verified_bytes)
		printf(", %" PRIu64 " bytes compared", r->verified_bytes);
	print_us(w->backend->platform == BF_PLATFORM_SIM ? "\nsimulated time            "
							 : "\nelapsed time              ",
		 r->world.time_ps);
	if (r->commands)
		printf(", %" PRIu64 " IOPS", bf_rate(r->commands, r->world.time_ps / BF_NS));
	if (!r->device[0])
		printf(", %" PRIu64 " events", r->world.events);
	putchar('\n');
	if (r->device[0])
		printf("device                     %s: %s\n", r->device, r->model);
	if (r->device[0] && stats)
		print_dmabuf(r->dmabuf_bytes);
	if (w->records && !r->device[0])
		printf("records                    %" PRIu64 ", hash %016" PRIx64 "\n", r->world.records,
		       r->world.hash);
	printf("wall clock                 %" PRIu64 ".%03" PRIu64 " ms", r->base.wall_ns / 1000000,
	       r->base.wall_ns / 1000 % 1000);
	if (r->commands)
		printf(", %" PRIu64 " commands/s", bf_rate(r->commands, r->base.wall_ns));
	putchar('\n');
	if (r->split.count && stats)
		print_split(&r->split);
}

static void json_split(struct bf_json *j, const struct bf_nvme_split *s)
{
	bf_json_open(j, "mean_ps", '{');
	bf_json_u64(j, "queue_doorbell", s->doorbell_ps);
	bf_json_u64(j, "queue_fetch", s->fetch_ps);
	bf_json_u64(j, "queue_data", s->data_ps);
	bf_json_u64(j, "queue_completion", s->completion_ps);
	bf_json_u64(j, "media", s->media_ps);
	bf_json_close(j, '}');
}

static const char *name(const void *choices)
{
	return bf_nvme_workload_name(((const struct bf_nvme_workload *)choices)->work);
}

static void json(struct bf_json *j, const void *choices, const void *result)
{
	const struct bf_nvme_workload *w = choices;
	const struct bf_nvme_run_result *r = result;
	char text[2048];

	bf_json_text(j, "backend", w->backend->name);
	if (w->backend->platform == BF_PLATFORM_SIM)
		bf_json_text(j, "ordering", bf_ordering_name(w->ordering));
	bf_nvme_workload_command(w, text, sizeof(text));
	bf_json_text(j, "command", text);
	bf_json_open(j, "options", '{');
	bf_nvme_workload_json(j, w);
	bf_json_close(j, '}');
	bf_json_text(j, "verdict", bf_nvme_outcome_name(r->base.verdict));
	bf_json_text(j, "model", r->model);
	bf_json_text(j, "serial", r->serial);
	if (r->device[0])
		bf_json_text(j, "device", r->device);
	if (r->dmabuf_bytes > 0)
		bf_json_u64(j, "doorbells_dmabuf_bytes", (uint64_t)r->dmabuf_bytes);
	else if (r->dmabuf_bytes < 0)
		bf_json_text(j, "doorbells_dmabuf", strerror((int)-r->dmabuf_bytes));
	bf_json_u64(j, "commands", r->commands);
	bf_json_u64(j, "verified_bytes", r->verified_bytes);
	bf_json_u64(j, "time_ps", r->world.time_ps);
	bf_json_u64(j, "iops", bf_rate(r->commands, r->world.time_ps / BF_NS));
	bf_json_u64(j, "events", r->world.events);
	bf_json_u64(j, "records", r->world.records);
	if (w->records && !r->device[0])
		bf_json_hex(j, "hash", r->world.hash);
	if (r->split.count)
		json_split(j, &r->split);
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_nvme_workload, member), least                                                      \
	}

/* Batch before depth, which it may not exceed. */
static const struct bf_search_part parts[] = {
	PART(commands, 1), PART(threads, 1), PART(share, 1), PART(warps, 1),
	PART(lanes, 1),    PART(batch, 1),   PART(depth, 1), PART(size, 512),
};

const struct bf_family bf_nvme_family = {
	BF_FAMILY_STRUCTS(struct bf_nvme_workload, struct bf_nvme_run_result),
	.search.parts = parts,
	.search.nparts = BF_ARRAY_LEN(parts),
	.search.check = bf_nvme_workload_check,
	.search.run = bf_nvme_workload_run,
	.verdict_name = bf_nvme_outcome_name,
	.name = name,
	.command = bf_nvme_workload_command,
	.print = print,
	.json = json,
	.print_failure = bf_nvme_run_print_failure,
	.json_failure = bf_nvme_run_json_failure,
	.done = { BF_MEMBER(struct bf_nvme_run_result, commands), 0 },
	.per_second = "commands_per_second",
};

static void list_json(void)
{
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, "workloads", '[');
	for (enum bf_nvm_work k = BF_NVM_READ; k < BF_NVM_WORKS; k++)
		bf_json_text(&j, NULL, bf_nvme_workload_name(k));
	bf_json_close(&j, ']');
	bf_json_open(&j, "profiles", '[');
	for (const struct bf_nvme_profile *const *p = bf_nvme_profiles(); *p; p++)
		bf_json_text(&j, NULL, (*p)->name);
	bf_json_close(&j, ']');
	bf_json_open(&j, "bugs", '[');
	for (const struct bf_nvm_bug *b = bf_nvm_bugs; b->name; b++) {
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "name", b->name);
		bf_json_text(&j, "summary", b->summary);
		bf_json_close(&j, '}');
	}
	bf_json_close(&j, ']');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

int bf_nvme_workload_list(const struct bf_args *args)
{
	if (bf_arg_json(args)) {
		list_json();
		return BF_EXIT_GOOD;
	}
	puts("Workloads");
	for (enum bf_nvm_work k = BF_NVM_READ; k < BF_NVM_WORKS; k++)
		printf("  %-24s %s\n", bf_nvme_workload_name(k), bf_nvme_workload_summary(k));
	puts("Bugs");
	for (const struct bf_nvm_bug *b = bf_nvm_bugs; b->name; b++)
		printf("  %-24s %s\n", b->name, b->summary);
	puts("Profiles");
	for (const struct bf_nvme_profile *const *p = bf_nvme_profiles(); *p; p++)
		printf("  %s\n", (*p)->name);
	puts("Backends and orderings: belfry run --list");
	return BF_EXIT_GOOD;
}

static int run_run(const struct bf_args *args)
{
	struct bf_nvme_workload w;
	struct bf_run run = { .family = &bf_nvme_family, .w = &w };
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_nvme_workload_list(args);
	code = bf_nvme_workload_parse(args, &w);
	if (code != BF_EXIT_GOOD)
		return code;
	run.backend = w.backend;
	w.top = bf_arg_flag(args, "top");
	w.counts = bf_arg_flag(args, "stats") || w.faults;
	if (w.top && (w.backend->platform == BF_PLATFORM_SIM || !w.backend->sim))
		code = bf_cli_error(args, BF_EXIT_USAGE, "--top is for models on the wall clock: --backend live");
	else if (w.device && strcmp(w.backend->name, "vfio") != 0)
		code = bf_cli_error(args, BF_EXIT_USAGE, "--device: backend %s has no devices to choose from",
				    w.backend->name);
	else
		code = bf_choose_recording(args, w.backend, &w.ordering, &w.records);
	if (code == BF_EXIT_GOOD)
		code = bf_run_once(args, &run);
	bf_nvme_workload_free(&w);
	return code;
}

static const struct bf_opt options[] = {
	BF_NVME_OPT_TEXT("ordering", ENUM, "sc|tso|gpu|adversarial", "gpu",
			 "how late stores become visible; the CPU's are tso where the GPU's are gpu"),
	BF_NVME_OPT_TEXT("records", TEXT, "CLASS[,CLASS]", "all",
			 "what to record: meta, agent, mem, mmio, dma, queue, fault, driver, all, none"),
	BF_NVME_OPT_TEXT("top", FLAG, NULL, NULL, "live: show on standard error what devices do, as it goes on"),
	BF_NVME_OPT_TEXT("stats", FLAG, NULL, NULL,
			 "print what was counted, and the time of commands: queue protocol apart from the medium"),
	BF_LINT_RUN_OPTION,
	BF_NVME_OPT_TABLE,
	{ .name = NULL },
};

extern const struct bf_command bf_cmd_run_nvme;
const struct bf_command bf_cmd_run_nvme = {
	.name = "run",
	.prefix = "nvme-",
	.usage = "run nvme-WORKLOAD [options]",
	.summary = "run an NVMe workload and check every byte that it moved",
	.details =
	    "Workloads: nvme-read, nvme-write, nvme-verify, nvme-mixed, nvme-admin, nvme-file\n"
	    "(belfry run nvme- --list says more).\n"
	    "\n"
	    "A thread of the CPU brings the controller up; then each thread of the GPU (or CPU) drives a queue pair "
	    "of\n"
	    "its own, or shares one. The same options and seed give the same run, record for record: the hash says "
	    "so.\n"
	    "A run that fails is run once more with all records, and the cause is named from them.\n"
	    "\n"
	    "--backend vfio drives a real controller that vfio-pci has: what its medium holds is OVERWRITTEN, and\n"
	    "nvme-admin formats it.\n"
	    "\n"
	    "Exit code 0: all data as it must be. 1: wrong data, an unexpected completion, a timeout, no controller.\n"
	    "2: bad options. 3: good, and --lint found something. 77: the backend is not available here.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry run nvme-read --depth 32 --commands 1000 --stats\n"
	    "  belfry run nvme-file --threads 64 --queues-in vram-uc --data-in vram-uc\n"
	    "  belfry run nvme-verify --threads 256 --share 32 --size 128K\n"
	    "  belfry run nvme-mixed --bug cid-by-tail --depth 8 --commands 500\n"
	    "  belfry run nvme-verify --backend vfio --device 0000:01:00.0,cdev\n"
	    "  belfry run nvme-read --records none --ordering sc --agent cpu --commands 1000000 --capacity 64M",
	.words = "nvme-read|nvme-write|nvme-verify|nvme-mixed|nvme-admin|nvme-file",
	.options = options,
	.min_args = 0,
	.max_args = 1,
	.run = run_run,
};
