/* belfry run sdma-..., belfry explore sdma-...: what is particular to these workloads. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/spell.h"
#include "tools/pictures/sdma.h"
#include "tools/workloads/sdma.h"
#include "tools/workloads/sdma_plan.h"

static const char *profile_name(const void *own, uint32_t i)
{
	const struct bf_sdma_profile *p = bf_sdma_profile_at(i);

	(void)own;
	return p ? p->name : NULL;
}

#define O(...) BF_OPT_OF(struct bf_sdma_workload, __VA_ARGS__)
static const struct bf_opt options[] = {
	O("gen", ENUM, "v4|v5|v6|v7|v7.1", "v6", "generation: gfx9, gfx10, gfx11, gfx12, gfx1250", 0, 0, gen),
	O("ordering", ENUM, "sc|tso|gpu|adversarial", "gpu", "how late stores become visible", 0, 0, ordering),
	O("seed", U64, "N", "1", "seed of everything random", 0, 0, seed),
	O("limit", TIME, "TIME", "1s", "simulated time after which a run counts as hung; live: 100s of wall clock", 0,
	  0, limit_ps),
	O("pes", U64, "N", "0", "processing elements, each with memory and a copy engine; 0: the workload's default", 0,
	  16, pes),
	O("queues", U64, "N", "0", "user queues of each engine; 0: the workload's default", 0, 64, queues),
	O("producers", U64, "N", "0", "threads that submit, on queue i % queues; 0: the workload's default", 0, 256,
	  producers),
	O("commands", U64, "N", "0", "submissions of each thread; 0: the workload's default", 0, 1u << 20, commands),
	O("size", U64, "BYTES", "0", "size of one transfer, a multiple of 8; 0: the workload's default", 0, 1u << 30,
	  size),
	O("hops", U64, "N", "0", "sdma-copy: copies in a row, each of what the one before wrote", 0, 8, hops),
	O("gang", U64, "N", "0", "sdma-fence: copies on other queues that a completion waits for", 0, 4, gang),
	O("element", U64, "BYTES", "0", "sdma-rect: element size 1, 2, 4, 8 or 16; 0: each of them", 0, 16, element),
	O("ring", U64, "BYTES", "0", "size of a ring, power of two; 0: the workload's default", 0, 1u << 30, ring),
	O("place", ENUM, "host|gpu", "host", "where the data are", 0, 0, place),
	O("wrapped", FLAG, NULL, NULL, "indices of 32 bits that wrap, as before gfx9", 0, 0, wrapped),
	O("exact-fit", FLAG, NULL, NULL, "fill the ring to its last dword, as KFDTest does and ROCr does not", 0, 0,
	  exact_fit),
	O("wait-idle", FLAG, NULL, NULL, "wait for the engine before each doorbell (HSA_SDMA_WAIT_IDLE)", 0, 0,
	  wait_idle),
	O("fences", FLAG, NULL, NULL, "signal by FENCE, as without 64-bit PCIe atomics", 0, 0, fences),
	O("strict", FLAG, NULL, NULL, "undocumented cases (overlap, rows that run into each other) stop the queue", 0,
	  0, strict),
	BF_OPT_WORDED("backend", "NAME", "sim", bf_backend_names, "which backend provides the engines, or auto"),
	O("part", TEXT, "gfxNNN", NULL,
	  "do what ROCr does for this part; also sets the generation: gfx900, gfx908, gfx90a, ...", 0, 0, part),
	BF_OPT_NAMING(struct bf_sdma_workload, "profile", "NAME[,FIELD=N]", NULL,
		      "engine timing; the generation's own if not given", profile_text, profile_name),
	{ .name = "faults",
	  .kind = BF_OPT_TEXT,
	  .arg = "PLAN|@FILE",
	  .help = "fault plan, e.g. 'dma-fault prob=0.01'",
	  .names = bf_fault_names },
	{ .name = NULL },
};
#undef O

static const struct bf_words words[] = {
	{ BF_WORDS("bug", "Bugs", bf_sdma_drv_bugs, struct bf_sdma_drv_bug, struct bf_sdma_workload, bugs) },
	{ .option = NULL },
};

/* ---- profiles and parts ---- */

/* Fields of a profile that --profile may set. */
#define TIME_FIELD(name, member)                                                                                       \
	{                                                                                                              \
		name, BF_MEMBER(struct bf_sdma_profile, member)                                                        \
	}
static const struct {
	const char *name;
	size_t offset, size;
} fields[] = {
	TIME_FIELD("doorbell-ps", doorbell_ps),
	TIME_FIELD("packet-ps", packet_ps),
	TIME_FIELD("row-ps", row_ps),
	TIME_FIELD("link-ps-per-kib", link_ps_per_kib),
	TIME_FIELD("vram-ps-per-kib", vram_ps_per_kib),
	TIME_FIELD("rptr-lag-ps", rptr_lag_ps),
	TIME_FIELD("poll-ps", poll_ps),
	TIME_FIELD("fetch-bytes", fetch_bytes),
	TIME_FIELD("copies", copies),
	TIME_FIELD("wide-rect", wide_rect),
};

static int set_field(struct bf_sdma_profile *p, const char *text, size_t len, struct bf_error *err)
{
	const char *equals = memchr(text, '=', len);
	const size_t name = equals ? (size_t)(equals - text) : len;
	char *end;
	uint64_t value;

	for (size_t i = 0; equals && i < BF_ARRAY_LEN(fields); i++) {
		if (strlen(fields[i].name) != name || strncmp(fields[i].name, text, name) != 0)
			continue;
		value = strtoull(equals + 1, &end, 10);
		if (equals[1] < '0' || equals[1] > '9' || end != text + len ||
		    (fields[i].size == 4 && value > UINT32_MAX) || (fields[i].size == 1 && value > 1))
			break;
		bf_member_set(p, fields[i].offset, fields[i].size, value);
		return 0;
	}
	return bf_fail(err, -EINVAL,
		       "--profile: \"%.*s\" is not FIELD=N; there are doorbell-ps, packet-ps, row-ps, link-ps-per-kib, "
		       "vram-ps-per-kib, rptr-lag-ps, poll-ps, fetch-bytes, copies and wide-rect",
		       (int)len, text);
}

/* A part by name: what ROCr does for it, and its generation. */
static int parse_part(const struct bf_args *args, struct bf_sdma_workload *w, struct bf_error *err)
{
	const struct bf_sdma_drv_caps *caps;
	char known[160] = "";

	for (uint32_t i = BF_SDMA_GENS; w->part && (caps = bf_sdma_drv_caps_at(i)); i++) {
		if (strcmp(caps->name, w->part) == 0) {
			if (bf_arg_given(args, "gen") && w->gen != (uint32_t)caps->gen)
				return bf_fail(err, -EINVAL, "--part %s is of another generation than --gen", w->part);
			w->gen = (uint32_t)caps->gen;
			w->caps = *caps;
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", known[0] ? ", " : "",
			 caps->name);
	}
	w->caps = *bf_sdma_drv_caps_of((enum bf_sdma_gen)w->gen);
	return w->part ? bf_fail(err, -EINVAL, "part \"%s\" is not known; there are %s", w->part, known) : 0;
}

/* "v4" or "v4,copies=8": the name chooses the generation, unless --gen or --part did. */
static int parse_profile(const struct bf_args *args, struct bf_sdma_workload *w, struct bf_error *err)
{
	const char *text = w->profile_text;
	size_t len = text ? strcspn(text, ",") : 0;
	const struct bf_sdma_profile *p;
	char name[16] = "";
	int rc = parse_part(args, w, err);

	if (rc)
		return rc;
	if (text)
		snprintf(name, sizeof(name), "%.*s", (int)len, text);
	else
		snprintf(name, sizeof(name), "%s", bf_sdma_drv_caps_of((enum bf_sdma_gen)w->gen)->name);
	p = bf_sdma_profile_find(name);
	if (!p) {
		struct bf_spell s = { .word = name, .len = strlen(name) };
		char hint[64];

		for (uint32_t i = 0; profile_name(NULL, i); i++)
			bf_spell_try(&s, profile_name(NULL, i));
		return bf_fail(err, -EINVAL, "profile \"%s\" is not known%s there are v4, v5, v6, v7 and v7.1", name,
			       s.best ? bf_spell_hint(&s, hint, sizeof(hint)) : ";");
	}
	if (text && (bf_arg_given(args, "gen") || w->part) && w->gen != (uint32_t)p->gen)
		return bf_fail(err, -EINVAL, "--profile %s is of another generation than --%s", name,
			       w->part ? "part" : "gen");
	w->profile = *p;
	w->gen = (uint32_t)p->gen;
	for (const char *at = text; !rc && at && at[len]; len = strcspn(at, ",")) {
		at += len + 1;
		rc = set_field(&w->profile, at, strcspn(at, ","), err);
	}
	if (!w->part)
		w->caps = *bf_sdma_drv_caps_of(p->gen);
	w->caps.wide_rect = w->profile.wide_rect;
	if (w->part && !rc && !bf_sdma_profile_of_part(w->part, &w->profile))
		rc = bf_fail(err, -EINVAL, "part \"%s\": its engine's limits are not known", w->part);
	if (w->fences)
		w->caps.atomics = 0;
	return rc;
}

static int check_meant(const struct bf_sdma_workload *w, struct bf_error *err)
{
	if (w->gang && w->work != BF_SDMA_WORK_FENCE)
		return bf_fail(err, -EINVAL, "--gang does not apply to %s: it is for sdma-fence",
			       bf_sdma_work_works[w->work].name);
	if (w->gang && w->fences)
		return bf_fail(err, -EINVAL,
			       "--gang with --fences: what a FENCE stores is computed before the members are "
			       "done, so engines that share a signal need atomics");
	if (w->hops && w->work != BF_SDMA_WORK_COPY)
		return bf_fail(err, -EINVAL, "--hops does not apply to %s: it is for sdma-copy",
			       bf_sdma_work_works[w->work].name);
	if (w->element && w->work != BF_SDMA_WORK_RECT)
		return bf_fail(err, -EINVAL, "--element does not apply to %s: it is for sdma-rect",
			       bf_sdma_work_works[w->work].name);
	if (w->element & (w->element - 1))
		return bf_fail(err, -EINVAL, "--element %" PRIu32 ": an element has 1, 2, 4, 8 or 16 bytes",
			       w->element);
	return 0;
}

/* ---- choices ---- */

static int fill(const struct bf_family *f, const struct bf_args *args, void *choices, struct bf_error *err)
{
	struct bf_sdma_workload *w = choices;
	int rc = check_meant(w, err);

	(void)f;
	if (!rc)
		rc = parse_profile(args, w, err);
	return rc ? rc : bf_sdma_work_defaults(w, err);
}

static int settle(const struct bf_args *args, void *choices)
{
	struct bf_sdma_workload *w = choices;

	if (!bf_sdma_world(w->backend))
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE, "backend %s has no copy engines", w->backend->name);
	/* The wall clock also counts what other programs take. */
	if (w->backend->platform != BF_PLATFORM_SIM && !bf_arg_given(args, "limit"))
		w->limit_ps = 100 * BF_S;
	return BF_EXIT_GOOD;
}

/* A workload's own numbers were not asked for. */
static void forget_own(uint32_t *v, uint32_t own)
{
	*v = *v == own ? 0 : *v;
}

static void forget(void *choices)
{
	struct bf_sdma_workload *w = choices, own = { .work = w->work };
	struct bf_error err = { 0 };

	bf_sdma_work_defaults(&own, &err);
	forget_own(&w->pes, own.pes);
	forget_own(&w->queues, own.queues);
	forget_own(&w->producers, own.producers);
	forget_own(&w->commands, own.commands);
	forget_own(&w->hops, own.hops);
	w->size = w->size == own.size ? 0 : w->size;
	w->ring = w->ring == own.ring ? 0 : w->ring;
	if (w->profile_text || w->part) /* they say which generation */
		w->gen = BF_SDMA_V6;
}

/* Whatever does not fit shows when the run is planned: then it cannot start, and a smaller run is not taken. */
static int check(const void *choices, struct bf_error *err)
{
	struct bf_sdma_workload copy = *(const struct bf_sdma_workload *)choices;

	return bf_sdma_work_defaults(&copy, err);
}

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

static int run_once(const struct bf_args *args, void *choices, struct bf_run *run)
{
	const struct bf_sdma_workload *w = choices;
	struct drawn d = { .run = *run, .path = bf_arg_text(args, "picture") };
	int code;

	if (d.path && w->work != BF_SDMA_WORK_RECT)
		return bf_cli_error(args, BF_EXIT_USAGE, "--picture does not apply to %s: it is for sdma-rect",
				    bf_sdma_work_works[w->work].name);
	if (!d.path)
		return bf_run_once(args, run);
	bf_picture_init(&d.picture);
	d.run.sink = &d.picture.sink;
	d.run.write = draw;
	code = bf_run_once(args, &d.run);
	bf_picture_free(&d.picture);
	return code;
}

/* ---- what came of it ---- */

static void print(const void *choices, const void *result, bool stats)
{
	const struct bf_sdma_workload *w = choices;
	const struct bf_sdma_work_result *r = result;
	const uint64_t ns = r->world.time_ps / BF_NS;

	(void)stats;
	printf("%s", r->info);
	bf_cli_put_verdict(stdout, bf_sdma_work_verdict_name(r->base.verdict), r->base.verdict == BF_SDMA_WORK_GOOD);
	if (r->base.verdict == BF_SDMA_WORK_GOOD)
		printf(": %" PRIu64 " submissions, %" PRIu64 " bytes moved, %" PRIu64 " compared, all correct",
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

static void json(struct bf_json *j, const void *choices, const void *result)
{
	const struct bf_sdma_workload *w = choices;
	const struct bf_sdma_work_result *r = result;
	const uint64_t ns = r->world.time_ps / BF_NS;

	if (r->info[0])
		bf_json_text(j, "info", r->info);
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
	*out = ((const struct bf_sdma_work_result *)result)->cause;
}

/* ---- the row ---- */

static void json_options(struct bf_json *j, const void *choices)
{
	bf_json_text(j, "profile", ((const struct bf_sdma_workload *)choices)->profile.name);
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_sdma_workload, member), least                                                      \
	}

static const struct bf_search_part parts[] = {
	PART(commands, 1), PART(producers, 1), PART(queues, 1), PART(pes, 1), PART(hops, 1), PART(size, 8),
};

static const struct bf_opt run_options[] = {
	BF_OPT_NAMED("picture", OUT, "FILE", NULL, "sdma-rect: draw the destinations, as SVG"),
	BF_OPT_NAMED("stats", FLAG, NULL, NULL, "print the engines' counters"),
	{ .name = NULL },
};

static const struct bf_shape full_ring[] = { { "ring", 1024, NULL }, { .option = NULL } };
static const struct bf_shape wide[] = { { "producers", 2, NULL }, { .option = NULL } };
static const struct bf_shape *const shapes[] = { full_ring, wide, NULL };
static const char *const small[] = { "commands", "1", NULL };

const struct bf_family bf_sdma_work_family = {
	BF_FAMILY_STRUCTS(struct bf_sdma_workload, struct bf_sdma_work_result),
	BF_FAMILY_CHOOSER(struct bf_sdma_workload),
	.prefix = "sdma-",
	.shapes = shapes,
	.small = small,
	.works = bf_sdma_work_works,
	.options = options,
	.words = words,
	.run = { .summary = "run an SDMA workload and check every byte that it moved",
		 .details = "Threads of the processor submit to user queues as ROCr does; sdma-rect runs one "
			    "sub-window copy for each\n"
			    "element size.",
		 .exit_codes =
		     "Exit code 0: all data are correct. 1: wrong data, a stopped queue, a deadlock or the time "
		     "limit.\n"
		     "2: bad options. 3: all data are correct, but --lint found something.",
		 .examples = "  belfry run sdma-rect --picture rect.svg\n"
			     "  belfry run sdma-wrap --bug straddle\n"
			     "  belfry run sdma-copy --hops 3 --producers 4 --ordering adversarial --bug no-copy-order",
		 .options = run_options },
	.explore = { .summary = "find a seed and an ordering with which an SDMA workload fails",
		     .examples = "  belfry explore sdma-copy --bug no-copy-order --hops 3 --producers 4\n"
				 "  belfry explore sdma-concurrent --producers 8 --queues 1 --seeds 1000" },
	.work = { BF_MEMBER(struct bf_sdma_workload, work), 0 },
	.backend = { BF_MEMBER(struct bf_sdma_workload, backend), 0 },
	.faults = { BF_MEMBER(struct bf_sdma_workload, faults), 0 },
	.device = BF_DEVICE_SDMA,
	.search.parts = parts,
	.search.nparts = BF_ARRAY_LEN(parts),
	.search.check = check,
	.search.run = bf_sdma_workload_run,
	.fill = fill,
	.settle = settle,
	.run_once = run_once,
	.forget = forget,
	.verdict_name = bf_sdma_work_verdict_name,
	.print = print,
	.json = json,
	.json_options = json_options,
	.print_failure = bf_sdma_work_print_failure,
	.json_failure = bf_sdma_work_json_failure,
	.guess = guess,
	.done = { BF_MEMBER(struct bf_sdma_work_result, submissions), 0 },
	.per_second = "submissions_per_second",
};
