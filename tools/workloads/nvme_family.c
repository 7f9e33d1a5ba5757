/* belfry run nvme-..., belfry explore nvme-...: what is particular to these workloads. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/spell.h"
#include "tools/workloads/nvme.h"

static const struct bf_work works[] = {
	[BF_NVME_DRV_READ] = { "nvme-read", "random reads of a medium that was filled before; every byte is compared" },
	[BF_NVME_DRV_WRITE] = { "nvme-write",
				"sequential writes, each thread to blocks of its own; all read back at the end" },
	[BF_NVME_DRV_VERIFY] = { "nvme-verify", "writes, a flush, reads; each thread compares every byte" },
	[BF_NVME_DRV_MIXED] = { "nvme-mixed", "writes, reads, flushes, write zeroes and compares, drawn by seed" },
	[BF_NVME_DRV_ADMIN] = { "nvme-admin",
				"identify, logs, features and format; answers are compared with the first" },
	[BF_NVME_DRV_FILE] = { "nvme-file", "a file split over the threads, written and read back into other memory" },
	[BF_NVME_DRV_WORKS] = { NULL, NULL },
};

static const char *profile_name(const void *own, uint32_t i);

#define O(...) BF_OPT_OF(struct bf_nvme_workload, __VA_ARGS__)
static const struct bf_opt options[] = {
	O("seed", U64, "N", "1", "seed of everything random", 0, 0, seed),
	O("limit", TIME, "TIME", "100s", "simulated time after which a run counts as hung", 0, 0, limit_ps),
	O("timeout", TIME, "TIME", "1s", "how long a thread waits for a completion", 0, 0, timeout_ps),
	O("threads", U64, "N", "1", "threads that submit commands", 1, 1u << 16, threads),
	O("agent", ENUM, "gpu|cpu|cuda|ptx", "gpu",
	  "where the threads run; ptx: our code as nvcc compiled it; cuda: on a real GPU (with --backend live, "
	  "which is the same as --backend cuda). nvme-admin: who rings the doorbell",
	  0, 0, agent),
	O("ptx", TEXT, "FILE", NULL,
	  "with --agent ptx: our device code as PTX; default: belfry-drivers.ptx next to the program", 0, 0, ptx),
	O("lanes", U64, "N", "32", "GPU: threads in each warp", 1, 32, lanes),
	O("warps", U64, "N", "4", "GPU: warps in a block", 1, 32, warps),
	O("share", U64, "N", "1", "threads that share a queue pair", 1, 1024, share),
	O("depth", U64, "N", "32", "commands that each thread keeps in flight", 1, 16384, depth),
	O("batch", U64, "N", "1", "commands to a doorbell", 1, 16384, batch),
	O("commands", U64, "N", "64", "commands of each thread", 1, 1u << 30, commands),
	O("size", U64, "BYTES", "4096", "data of a command", 512, 1u << 27, size),
	O("entries", U64, "N", "0", "slots of a submission queue; 0: just enough", 0, 65536, entries),
	O("cq-entries", U64, "N", "0", "slots of a completion queue; 0: as many", 0, 65536, cq_entries),
	O("queues-in", ENUM, "host|gpu|vram|vram-uc|cmb", "host",
	  "where queues are: host memory, coherent GPU memory, VRAM behind a cache or uncached, the SSD's "
	  "memory buffer",
	  0, 0, queues_in),
	O("data-in", ENUM, "host|gpu|vram|vram-uc", "host", "where data are", 0, 0, data_in),
	O("offset", U64, "BYTES", "0", "offset of data in the first page, a multiple of 16", 0, 65528, offset),
	O("list-offset", U64, "BYTES", "0", "offset of PRP lists in their first page, a multiple of 8", 0, 65528,
	  list_offset),
	O("scatter", FLAG, NULL, NULL, "the pages of a command are in reverse order in memory", 0, 0, scatter),
	O("check", FLAG, NULL, NULL, "threads compare data as they read them", 0, 0, check),
	O("dbbuf", FLAG, NULL, NULL, "shadow doorbells", 0, 0, dbbuf),
	O("page", U64, "BYTES", "4096", "page size for the controller (CC.MPS)", 4096, 65536, page),
	O("lba", ENUM, "512|4096", "512", "block size of the medium", 0, 0, lba),
	O("capacity", U64, "BYTES", "0", "size of the medium; 0: what the workload needs, at least 64 MiB", 0, 0,
	  capacity),
	BF_OPT_WORDED("backend", "NAME", "sim", bf_backend_names, "which backend provides the controller, or auto"),
	O("device", TEXT, "ADDRESS[,group|,cdev]", NULL,
	  "vfio: which controller, and through which interface; without it: the first that is bound to "
	  "vfio-pci",
	  0, 0, device),
	BF_OPT_NAMING(struct bf_nvme_workload, "profile", "NAME[,FIELD=N]", "970pro",
		      "timing and limits of the controller", profile_text, profile_name),
	O("media", TEXT, "FILE", NULL, "keep the medium's data in this file", 0, 0, media),
	O("media-errors", TEXT, "MAP", NULL, "blocks that fail, e.g. 'read 100-107'", 0, 0, media_errors),
	O("file", TEXT, "FILE", NULL, "nvme-file: what to write; without it: bytes derived from the seed", 0, 0, file),
	{ .name = NULL },
};
#undef O

static const struct bf_words words[] = {
	{ BF_WORDS("bug", "Bugs", bf_nvme_drv_bugs, struct bf_nvme_drv_bug, struct bf_nvme_workload, bugs) },
	{ .option = NULL },
};

/* ---- profiles ---- */

/* Fields of a profile that a command line may set. */
#define FIELD(name)                                                                                                    \
	{                                                                                                              \
#name, BF_MEMBER(struct bf_nvme_profile, name)                                                         \
	}
static const struct {
	const char *name;
	size_t offset, size;
} fields[] = {
	FIELD(pcie.latency_ps), FIELD(pcie.mem_ps),   FIELD(pcie.ps_per_kib), FIELD(doorbell_ps),
	FIELD(command_ps),      FIELD(completion_ps), FIELD(ready_ps),        FIELD(fetch_entries),
	FIELD(read_ps),         FIELD(program_ps),    FIELD(erase_ps),        FIELD(cache_write_ps),
	FIELD(ps_per_kib),      FIELD(channels),      FIELD(media_page),      FIELD(cache_bytes),
	FIELD(max_io_queues),   FIELD(mqes),          FIELD(dstrd),           FIELD(mdts),
	FIELD(mpsmax),          FIELD(vectors),       FIELD(ahead_ps),
};

static const struct bf_nvme_profile *const *profiles(void)
{
	static const struct bf_nvme_profile *const all[] = { &bf_nvme_970pro,
							     &bf_nvme_980pro,
							     &bf_nvme_pm1733,
							     &bf_nvme_optane,
							     &bf_nvme_p3700,
							     &bf_nvme_m9100,
							     &bf_nvme_p4510,
							     &bf_nvme_sn850x,
							     &bf_nvme_mtr,
							     &bf_nvme_instant,
							     NULL };

	return all;
}

static int set_field(const char *text, size_t len, struct bf_nvme_profile *p, struct bf_error *err)
{
	const char *equals = memchr(text, '=', len);
	unsigned long long value;
	char *end;

	for (size_t i = 0; equals && i < BF_ARRAY_LEN(fields); i++) {
		if (strlen(fields[i].name) != (size_t)(equals - text) ||
		    strncmp(fields[i].name, text, strlen(fields[i].name)) != 0)
			continue;
		errno = 0;
		value = strtoull(equals + 1, &end, 0);
		if (end != text + len || end == equals + 1 || errno || equals[1] == '-' ||
		    (fields[i].size == 4 && value > UINT32_MAX))
			break;
		bf_member_set(p, fields[i].offset, fields[i].size, value);
		return 0;
	}
	return bf_fail(err, -EINVAL, "--profile: \"%.*s\" is not FIELD=NUMBER of an NVMe profile", (int)len, text);
}

static const char *profile_name(const void *own, uint32_t i)
{
	const struct bf_nvme_profile *const *p = profiles();

	(void)own;
	while (*p && i-- > 0)
		p++;
	return *p ? (*p)->name : NULL;
}

static int unknown_profile(const char *text, size_t len, struct bf_error *err)
{
	struct bf_spell s = { .word = text, .len = len };
	char hint[64];

	for (uint32_t i = 0; profile_name(NULL, i); i++)
		bf_spell_try(&s, profile_name(NULL, i));
	return bf_fail(err, -EINVAL, "--profile: there is no NVMe profile \"%.*s\"%s; `belfry run --list` shows all",
		       (int)len, text, bf_spell_hint(&s, hint, sizeof(hint)));
}

static int parse_profile(const char *text, struct bf_nvme_profile *out, struct bf_error *err)
{
	const struct bf_nvme_profile *const *p = profiles();
	size_t len = strcspn(text, ",");

	while (*p && (strlen((*p)->name) != len || strncmp((*p)->name, text, len) != 0))
		p++;
	if (!*p)
		return unknown_profile(text, len, err);
	*out = **p;
	for (text += len; *text; text += len) {
		int rc;

		text++;
		len = strcspn(text, ",");
		rc = set_field(text, len, out, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- choices ---- */

static int check(const void *choices, struct bf_error *err)
{
	const struct bf_nvme_workload *w = choices;
	const uint32_t block = w->lba ? 4096 : 512, share = w->share < w->threads ? w->share : w->threads;

	if (w->size % block)
		return bf_fail(err, -EINVAL, "--size %" PRIu64 " is not a multiple of the block size, %" PRIu32,
			       w->size, block);
	if (w->batch > w->depth)
		return bf_fail(err, -EINVAL, "--batch %" PRIu32 " is more than --depth %" PRIu32 " lets be in flight",
			       w->batch, w->depth);
	if ((uint64_t)share * w->depth > 65535)
		return bf_fail(err, -EINVAL,
			       "--share %" PRIu32 " threads with --depth %" PRIu32
			       " each: a queue pair has 65535 command identifiers",
			       share, w->depth);
	if (w->page & (w->page - 1))
		return bf_fail(err, -EINVAL, "--page %" PRIu32 " is not a power of two", w->page);
	if (w->offset % 16 || w->list_offset % 8 || w->offset >= w->page || w->list_offset >= w->page)
		return bf_fail(err, -EINVAL,
			       "--offset must be a multiple of 16 and --list-offset one of 8, below the page size");
	if (w->entries && w->entries <= w->depth && w->share == 1)
		return bf_fail(err, -EINVAL,
			       "--entries %" PRIu32 " cannot hold %" PRIu32 " commands in flight: one slot "
			       "stays empty",
			       w->entries, w->depth);
	if (w->entries == 1 || w->cq_entries == 1)
		return bf_fail(err, -EINVAL, "a queue has at least 2 entries");
	if (w->capacity % 4096)
		return bf_fail(err, -EINVAL, "--capacity must be a multiple of 4096");
	if (w->file && w->work != BF_NVME_DRV_FILE)
		return bf_fail(err, -EINVAL, "--file does not apply to %s", works[w->work].name);
	if (w->agent == BF_NVME_AGENT_CPU && (w->queues_in > 1 && w->queues_in < 4))
		return bf_fail(err, -EINVAL, "--agent cpu does not work on queues in VRAM");
	return 0;
}

static int fill(const struct bf_family *f, const struct bf_args *args, void *choices, struct bf_error *err)
{
	struct bf_nvme_workload *w = choices;
	int rc;

	(void)f;
	(void)args;
	if (w->agent == BF_NVME_AGENT_CUDA)
		w->agent = BF_NVME_AGENT_GPU; /* the backend says it */
	rc = parse_profile(w->profile_text, &w->profile, err);
	return rc ? rc : check(w, err);
}

static int settle(const struct bf_args *args, void *choices)
{
	struct bf_nvme_workload *w = choices;

	if (bf_arg_u64(args, "agent") == BF_NVME_AGENT_PTX)
		return bf_choose_ptx(args, w->backend, w->ptx, false, w->ptx_path, sizeof(w->ptx_path));
	return bf_arg_u64(args, "agent") == BF_NVME_AGENT_CUDA ? bf_choose_gpu(args, &w->backend) : BF_EXIT_GOOD;
}

/* Each run of a search must begin with the same medium. */
static int admit(const struct bf_args *args, const void *choices)
{
	const struct bf_nvme_workload *w = choices;

	if (!w->media)
		return BF_EXIT_GOOD;
	return bf_cli_error(args, BF_EXIT_USAGE, "--media: a medium that outlasts its run cannot be explored");
}

static int run_once(const struct bf_args *args, void *choices, struct bf_run *run)
{
	const struct bf_nvme_workload *w = choices;

	if (w->device && strcmp(w->backend->name, "vfio") != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "--device: backend %s has no devices to choose from",
				    w->backend->name);
	return bf_run_once(args, run);
}

/* ---- what came of it ---- */

static void print_us(const char *what, uint64_t ps)
{
	printf("%s %llu.%03llu us", what, ps / BF_US, ps % BF_US / BF_NS);
}

/* Means of a command: what the protocol of queues costs, apart from what the medium does. */
static void print_split(const struct bf_nvme_work_split *s)
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
	const struct bf_nvme_work_run_result *r = result;

	printf("%s", bf_nvme_work_outcome_name(r->base.verdict));
	if (r->base.verdict == BF_NVME_WORK_RUN_GOOD)
		printf(": %" PRIu64 " commands", r->commands);
	if (r->base.verdict == BF_NVME_WORK_RUN_GOOD && r->verified_bytes)
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

static void json_split(struct bf_json *j, const struct bf_nvme_work_split *s)
{
	bf_json_open(j, "mean_ps", '{');
	bf_json_u64(j, "queue_doorbell", s->doorbell_ps);
	bf_json_u64(j, "queue_fetch", s->fetch_ps);
	bf_json_u64(j, "queue_data", s->data_ps);
	bf_json_u64(j, "queue_completion", s->completion_ps);
	bf_json_u64(j, "media", s->media_ps);
	bf_json_close(j, '}');
}

static void json(struct bf_json *j, const void *choices, const void *result)
{
	const struct bf_nvme_workload *w = choices;
	const struct bf_nvme_work_run_result *r = result;

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

/* ---- the row ---- */

static void list(struct bf_json *j)
{
	if (j)
		bf_json_open(j, "profiles", '[');
	else
		puts("Profiles");
	for (const struct bf_nvme_profile *const *p = profiles(); *p; p++)
		if (j)
			bf_json_text(j, NULL, (*p)->name);
		else
			printf("  %s\n", (*p)->name);
	if (j)
		bf_json_close(j, ']');
	else
		puts("Backends and orderings: belfry run --list");
}

static void json_options(struct bf_json *j, const void *choices)
{
	const struct bf_nvme_workload *w = choices;

	bf_json_open(j, "profile", '{');
	bf_json_text(j, "name", w->profile.name);
	for (size_t i = 0; i < BF_ARRAY_LEN(fields); i++)
		bf_json_u64(j, fields[i].name, bf_member_get(&w->profile, fields[i].offset, fields[i].size));
	bf_json_close(j, '}');
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

static const struct bf_opt run_options[] = {
	BF_OPT_NAMED("ordering", ENUM, "sc|tso|gpu|adversarial", "gpu",
		     "how late stores become visible; with gpu, the CPU's stores follow tso"),
	BF_OPT_NAMED("stats", FLAG, NULL, NULL,
		     "print counters and the time of commands, with queue protocol and medium apart"),
	{ .name = NULL },
};

static const struct bf_shape full_ring[] = { { "depth", 2, NULL }, { "batch", 2, NULL }, { .option = NULL } };
static const struct bf_shape wide[] = { { "threads", 2, NULL }, { .option = NULL } };
static const struct bf_shape *const shapes[] = { full_ring, wide, NULL };
static const char *const small[] = { "commands", "1", "delays", "1", NULL };

const struct bf_family bf_nvme_work_family = {
	BF_FAMILY_STRUCTS(struct bf_nvme_workload, struct bf_nvme_work_run_result),
	BF_FAMILY_CHOOSER(struct bf_nvme_workload),
	.prefix = "nvme-",
	.shapes = shapes,
	.small = small,
	.works = works,
	.options = options,
	.words = words,
	.run = { .summary = "run an NVMe workload and check every byte that it moved",
		 .details =
		     "A CPU thread initialises the controller. Then each GPU (or CPU) thread drives its own queue "
		     "pair, or shares one. The same options and seed give the same run, record for record, as its "
		     "hash shows. A run that fails is repeated with all records to find the cause.\n"
		     "\n"
		     "--backend vfio drives a real controller that is bound to vfio-pci. It OVERWRITES the medium, "
		     "and nvme-admin formats it.",
		 .exit_codes =
		     "Exit code 0: all data are correct. 1: wrong data, an unexpected completion, a timeout, no "
		     "controller. 2: bad options. 3: all data are correct, but --lint found something.",
		 .examples = "  belfry run nvme-read --depth 32 --commands 1000 --stats\n"
			     "  belfry run nvme-file --threads 64 --queues-in vram-uc --data-in vram-uc\n"
			     "  belfry run nvme-verify --threads 256 --share 32 --size 128K\n"
			     "  belfry run nvme-mixed --bug cid-by-tail --depth 8 --commands 500\n"
			     "  belfry run nvme-verify --backend vfio --device 0000:01:00.0,cdev\n"
			     "  belfry run nvme-read --records none --ordering sc --agent cpu --commands 1000000 "
			     "--capacity 64M",
		 .options = run_options },
	.explore = { .summary = "find a seed and an ordering with which an NVMe workload fails",
		     .examples =
			 "  belfry explore nvme-verify --bug no-fence-before-doorbell --threads 4 --commands 16\n"
			 "  belfry explore nvme-mixed --threads 8 --share 4 --seeds 1000" },
	.work = { BF_MEMBER(struct bf_nvme_workload, work), 0 },
	.top = { BF_MEMBER(struct bf_nvme_workload, top), 0 },
	.backend = { BF_MEMBER(struct bf_nvme_workload, backend), 0 },
	.faults = { BF_MEMBER(struct bf_nvme_workload, faults), 0 },
	.device = BF_DEVICE_NVME,
	.search.parts = parts,
	.search.nparts = BF_ARRAY_LEN(parts),
	.search.check = check,
	.search.run = bf_nvme_workload_run,
	.fill = fill,
	.settle = settle,
	.admit = admit,
	.run_once = run_once,
	.verdict_name = bf_nvme_work_outcome_name,
	.print = print,
	.json = json,
	.json_options = json_options,
	.print_failure = bf_nvme_work_run_print_failure,
	.json_failure = bf_nvme_work_run_json_failure,
	.list = list,
	.done = { BF_MEMBER(struct bf_nvme_work_run_result, commands), 0 },
	.per_second = "commands_per_second",
};
