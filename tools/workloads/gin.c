/* belfry run gin-..., belfry explore gin-...: GPUNetIO's posting and NCCL's GIN on the ConnectX model. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/gin/host.h"
#include "sim/clock.h"
#include "tools/workloads/family.h"
#include "tools/workloads/mlx5_profile.h"
#include "traces/records/ibgda.h"

struct choices {
	struct bf_gin_shape shape;
	uint32_t pes, contexts, depth, handler, sharing;
	uint64_t seed, bugs, limit_ps;
	enum bf_ordering ordering;
	struct bf_chooser *chooser; /* NULL: the seed */
	struct bf_stacks *stacks;   /* of earlier runs */
	uint32_t records;
	struct bf_mlx5_profile profile;
	const char *profile_text, *ptx;
	uint32_t agent;
	char ptx_path[512];
	char *faults;
	bool counts;
	const struct bf_backend *backend;
};

enum { AGENT_GPU, AGENT_PTX };

enum end { GOOD, WRONG_DATA, ERROR, DEADLOCK, LIMIT };

struct outcome {
	struct bf_result base; /* enum end */
	struct bf_world_result world;
	uint64_t messages, bytes, wrong;
	char text[160];
};

static const struct bf_work works[] = {
	[BF_GIN_PUT] = { "gin-put", "puts to the next PE, flush at the end" },
	[BF_GIN_SIGNAL] = { "gin-signal", "put and signal: after the signal the data are there" },
	[BF_GIN_COUNTER] = { "gin-counter", "put with counter: after the counter the source is overwritten" },
	[BF_GIN_GET] = { "gin-get", "gets from the next PE, flush at the end" },
	[BF_GIN_BARRIER] = { "gin-barrier", "a word to all PEs, barrier, check" },
	[BF_GIN_EXCHANGE] = { "gin-exchange", "DeepEP V2's dispatch and combine: counts, tokens, closing barriers" },
	[BF_GIN_HYBRID] = { "gin-hybrid", "DeepEP V2's hybrid mode: aggregated tokens and packed tails" },
	[BF_GIN_WORKS] = { NULL, NULL },
};

#define O(...) BF_OPT_OF(struct choices, __VA_ARGS__)
static const struct bf_opt options[] = {
	O("ordering", ENUM, "sc|tso|gpu|adversarial", "gpu", "how late stores become visible", 0, 0, ordering),
	O("seed", U64, "N", "1", "seed of everything random", 0, UINT32_MAX, seed),
	O("pes", U64, "N", "2", "number of PEs, each with a GPU and a NIC", 2, 64, pes),
	O("blocks", U64, "N", "1", "blocks of warps on each PE", 1, 64, shape.blocks),
	O("warps", U64, "N", "1", "warps in a block; lane 0 of each issues", 1, 32, shape.warps),
	O("messages", U64, "N", "16", "messages or tokens of each warp", 1, 100000, shape.messages),
	O("size", U64, "BYTES", "64", "of a message, a multiple of 8", 8, 1u << 20, shape.bytes),
	O("batch", U64, "N", "1", "operations to a doorbell, tokens to a tail", 1, 1024, shape.batch),
	O("prepared", FLAG, NULL, NULL, "gin-put: sources are ready before the first message, as ibgda-put's are", 0, 0,
	  shape.prepared),
	O("contexts", U64, "N", "1", "queue pairs to each peer, which warps use in turn", 1, 16, contexts),
	O("depth", U64, "N", "128", "entries of a send queue, a power of two", 4, 32768, depth),
	O("handler", ENUM, "db|no-record|bf|proxy|gfd|d2p", "db",
	  "how queue pairs are rung; no-record needs cx8; gfd: NCCL's proxy posts, d2p: UCX's", 0, 0, handler),
	O("sharing", ENUM, "exclusive|cta|gpu", "gpu", "who may use a queue pair", 0, 0, sharing),
	O("limit", TIME, "TIME", "1s", "time after which a run counts as hung", 0, 0, limit_ps),
	BF_OPT_NAMING(struct choices, "profile", "NAME[,FIELD=N]", "cx7", "what the NIC can, and its timing",
		      profile_text, bf_mlx5_work_profile_name),
	O("agent", ENUM, "gpu|ptx", "gpu",
	  "who runs the GPU threads: our code as C, or as nvcc compiled it (ptx); the proxy's thread is C", 0, 0,
	  agent),
	O("ptx", TEXT, "FILE", NULL,
	  "with --agent ptx: our device code as PTX; default: belfry-drivers.ptx next to the program", 0, 0, ptx),
	{ .name = NULL },
};
#undef O

static const struct bf_words words[] = {
	{ BF_WORDS("bug", "Bugs", bf_gin_bugs, struct bf_gin_bug, struct choices, bugs) },
	{ .option = NULL },
};

static int check(const void *choices, struct bf_error *err)
{
	const struct choices *w = choices;
	const uint32_t issuers = w->shape.blocks * w->shape.warps;
	const uint32_t sharers = (issuers + w->contexts - 1) / w->contexts;

	if (w->depth & (w->depth - 1))
		return bf_fail(err, -EINVAL, "--depth %" PRIu32 " is not a power of two", w->depth);
	if (w->shape.bytes % 8)
		return bf_fail(err, -EINVAL, "--size %" PRIu32 " is not a multiple of 8", w->shape.bytes);
	if (w->shape.batch >= w->depth)
		return bf_fail(err, -EINVAL, "--batch %" PRIu32 " fills a queue of %" PRIu32 " before it rings",
			       w->shape.batch, w->depth);
	if ((uint64_t)sharers * (w->shape.batch - 1) >= w->depth)
		return bf_fail(err, -EINVAL,
			       "--batch %" PRIu32 ": %" PRIu32 " warps on a queue pair of %" PRIu32
			       " fill it before one of them rings",
			       w->shape.batch, sharers, w->depth);
	if (w->sharing == BF_GIN_EXCLUSIVE && issuers > w->contexts)
		return bf_fail(err, -EINVAL, "--sharing exclusive: %" PRIu32 " warps share %" PRIu32 " contexts",
			       issuers, w->contexts);
	if (w->sharing == BF_GIN_CTA && w->shape.blocks > 1 && w->contexts % w->shape.warps)
		return bf_fail(err, -EINVAL, "--sharing cta: blocks would share queue pairs");
	if (w->bugs & BF_GIN_BUG_SIGNAL_OTHER_QP && w->contexts < 2)
		return bf_fail(err, -EINVAL, "a signal on another context needs --contexts 2");
	if (w->handler == BF_GIN_D2P && w->shape.work != BF_GIN_PUT && w->shape.work != BF_GIN_SIGNAL &&
	    w->shape.work != BF_GIN_HYBRID)
		return bf_fail(err, -EINVAL,
			       "--handler d2p: UCX's descriptors are puts and adds, as in gin-put, gin-signal "
			       "and gin-hybrid");
	if (w->handler == BF_GIN_NO_RECORD && !w->profile.traits.no_record)
		return bf_fail(err, -EINVAL, "--handler no-record: profile %s has no such queue pairs; cx8 has",
			       w->profile.name);
	return 0;
}

static int fill(const struct bf_family *f, const struct bf_args *args, void *choices, struct bf_error *err)
{
	struct choices *w = choices;
	const int rc = bf_mlx5_work_profile_parse(w->profile_text, &w->profile, err);

	(void)f;
	(void)args;
	w->shape.seed = w->seed;
	return rc ? rc : check(w, err);
}

static int settle(const struct bf_args *args, void *choices)
{
	struct choices *w = choices;

	if (w->agent != AGENT_PTX)
		return BF_EXIT_GOOD;
	return bf_choose_ptx(args, w->backend, w->ptx, false, w->ptx_path, sizeof(w->ptx_path));
}

/* ---- a run ---- */

struct arena {
	const struct choices *w;
	struct bf_world *world;
	struct bf_gin_host *host;
	struct bf_gin_layout at;
	struct bf_gin_job *jobs;
};

static uint64_t *word_at(const struct arena *a, uint32_t pe, uint64_t offset)
{
	return (uint64_t *)(void *)(bf_gin_host_heap(a->host, pe) + offset);
}

/* Gets find their sources ready, and puts do with --prepared. */
static void prepare(const struct arena *a)
{
	const struct choices *w = a->w;

	if (w->shape.work != BF_GIN_GET && !(w->shape.work == BF_GIN_PUT && w->shape.prepared))
		return;
	for (uint32_t pe = 0; pe < w->pes; pe++)
		for (uint32_t i = 0; i < a->at.issuers; i++)
			for (uint32_t m = 0; m < w->shape.messages; m++)
				for (uint32_t k = 0; k * 8 < w->shape.bytes; k++)
					*word_at(a, pe,
						 a->at.src + ((uint64_t)i * w->shape.messages + m) * a->at.stride +
						     k * 8) = bf_gin_word(pe, i, m, k);
}

static int launch(struct arena *a, uint32_t pe, struct bf_error *err)
{
	const struct choices *w = a->w;
	const struct bf_gin_kernels *k = bf_gin_kernels(w->backend->platform);
	struct bf_gin_proxy *proxy = bf_gin_host_proxy(a->host, pe);
	int rc;

	a->jobs[pe] = (struct bf_gin_job){ .state = bf_gin_host_state(a->host, pe), .shape = w->shape, .at = a->at };
	rc = w->backend->launch(a->world, pe, w->shape.blocks, w->shape.warps, k->run, &a->jobs[pe]);
	if (!rc && proxy)
		rc = w->backend->launch_cpu(a->world, pe, 1, k->proxy, proxy);
	return rc ? bf_fail(err, rc, "PE %" PRIu32 ": the grid cannot be launched", pe) : 0;
}

static int set_up(struct arena *a, struct bf_sink *sink, struct bf_error *err)
{
	const struct choices *w = a->w;
	const struct bf_world_opts opts = {
		.seed = w->seed,
		.ordering = w->ordering,
		.chooser = w->chooser,
		.stacks = w->stacks,
		.device_opts[BF_DEVICE_AT_MLX5] = &w->profile,
		.faults = w->faults,
		.npes = w->pes,
		.lanes = w->bugs & BF_GIN_BUG_GROUP ? 2 : 1,
		.limit_ps = w->limit_ps,
		.record_mask = w->records,
		.sink = sink,
		.ptx = w->agent == AGENT_PTX ? w->ptx_path : NULL,
	};
	struct bf_gin_opts gin = { .npes = w->pes,
				   .contexts = w->contexts,
				   .depth = w->depth,
				   .handler = (enum bf_gin_handler)w->handler,
				   .sharing = (enum bf_gin_sharing)w->sharing,
				   .counters = w->shape.work == BF_GIN_COUNTER && w->handler < BF_GIN_GFD,
				   .bugs = w->bugs };
	int rc = w->backend->open(&opts, err, &a->world);

	if (rc)
		return rc;
	bf_gin_layout(&w->shape, w->pes, &a->at);
	gin.heap_bytes = a->at.end;
	gin.sink = a->at.sink;
	gin.issuers = a->at.issuers;
	a->jobs = calloc(w->pes, sizeof(*a->jobs));
	if (!a->jobs)
		return bf_fail(err, -ENOMEM, "no memory for %" PRIu32 " PEs", w->pes);
	rc = bf_gin_host_open(w->backend, a->world, &gin, err, &a->host);
	if (!rc)
		prepare(a);
	for (uint32_t pe = 0; !rc && pe < w->pes; pe++)
		rc = launch(a, pe, err);
	return rc;
}

static void wrong(struct outcome *r, uint64_t n, const char *what, uint32_t pe, uint32_t issuer, uint32_t m)
{
	if (n && !r->wrong)
		snprintf(r->text, sizeof(r->text), "%s: PE %" PRIu32 ", warp %" PRIu32 ", message %" PRIu32, what, pe,
			 issuer, m);
	r->wrong += n;
}

/*
 * Where the first of them lies, for rules: what wrote it last is in the trace. Keys count from the beginning of the
 * heap, and so do the addresses of entries. Threads tell of theirs themselves.
 */
static void tell_wrong(const struct arena *a, uint32_t pe, uint64_t offset, const char *text)
{
	struct bf_sim *sim = a->w->backend->sim ? a->w->backend->sim(a->world) : NULL;

	if (sim && bf_probe(sim, BF_CLASS_DRIVER))
		BF_EMIT_TAIL(sim, bf_stream_actor(&sim->rec, "host", "workload"), ibgda_mismatch, text,
			     (uint32_t)strlen(text), .va = offset, .pe = pe);
}

/* What was put, on the PE that it was put to; a source that was written over early shows here. */
static void check_landed(const struct arena *a, uint32_t pe, uint32_t i, bool tell, struct outcome *r)
{
	const struct bf_gin_shape *s = &a->w->shape;
	const uint32_t to = (pe + 1) % a->w->pes;
	const uint64_t area = (uint64_t)a->at.issuers * s->messages * a->at.stride;

	if (s->work != BF_GIN_PUT && s->work != BF_GIN_SIGNAL && s->work != BF_GIN_COUNTER)
		return;
	for (uint32_t m = 0; m < s->messages; m++) {
		const uint64_t at = a->at.dst + pe * area + ((uint64_t)i * s->messages + m) * a->at.stride;
		const bool first = !r->wrong;
		uint64_t bad = 0, where = 0;

		for (uint32_t k = 0; k * 8 < s->bytes; k++)
			if (*word_at(a, to, at + k * 8) != bf_gin_word(pe, i, m, k) && !bad++)
				where = at + k * 8;
		wrong(r, bad, "not what was put", to, i, m);
		if (bad && first && tell)
			tell_wrong(a, to, where, r->text);
	}
}

static enum end judge(const struct arena *a, struct outcome *r)
{
	bool error = false;

	if (r->world.end == BF_END_DEADLOCK)
		return DEADLOCK;
	if (r->world.end == BF_END_LIMIT)
		return LIMIT;
	for (uint32_t pe = 0; pe < a->w->pes; pe++)
		for (uint32_t i = 0; i < a->at.issuers; i++)
			error |= *word_at(a, pe, a->at.done + i * 8ull) != 1;
	for (uint32_t pe = 0; pe < a->w->pes; pe++) {
		for (uint32_t i = 0; i < a->at.issuers; i++) {
			wrong(r, *word_at(a, pe, a->at.bad + i * 8ull), "a thread found wrong data", pe, i, 0);
			check_landed(a, pe, i, !error, r); /* what an error cost is no news */
		}
	}
	r->messages = (uint64_t)a->w->pes * a->at.issuers * a->w->shape.messages;
	r->bytes = r->messages * a->w->shape.bytes;
	return error ? ERROR : r->wrong ? WRONG_DATA : GOOD;
}

static int run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err)
{
	const struct choices *w = choices;
	struct outcome *r = result;
	struct arena a = { .w = w };
	uint64_t began;
	int rc;

	memset(r, 0, sizeof(*r));
	rc = set_up(&a, sink, err);
	began = bf_monotonic_ns();
	if (!rc)
		rc = w->backend->run(a.world, &r->world);
	r->base.wall_ns = bf_monotonic_ns() - began;
	if (!rc)
		r->base.verdict = judge(&a, r);
	if (!rc && r->wrong && w->backend->sim(a.world))
		bf_stream_flush(&w->backend->sim(a.world)->rec);
	if (!rc && w->counts && w->backend->sim(a.world))
		r->base.counts = bf_counts_take(w->backend->sim(a.world));
	bf_gin_host_close(a.host);
	free(a.jobs);
	if (a.world)
		w->backend->close(a.world);
	return rc;
}

/* ---- what came of it ---- */

static const char *verdict_name(uint32_t verdict)
{
	static const char *const names[] = { [GOOD] = "good",
					     [WRONG_DATA] = "wrong data",
					     [ERROR] = "error completion",
					     [DEADLOCK] = "deadlock",
					     [LIMIT] = "time limit" };

	return names[verdict];
}

static void print(const void *choices, const void *result, bool stats)
{
	const struct outcome *r = result;

	(void)choices;
	(void)stats;
	bf_cli_put_verdict(stdout, verdict_name(r->base.verdict), r->base.verdict == GOOD);
	if (r->base.verdict == GOOD)
		printf(": %" PRIu64 " messages, %" PRIu64 " bytes, all correct", r->messages, r->bytes);
	putchar('\n');
}

static void print_failure(FILE *out, const void *result)
{
	const struct outcome *r = result;

	if (r->wrong)
		fprintf(out, "wrong: %" PRIu64 " words, the first: %s\n", r->wrong, r->text);
	if (r->base.verdict != GOOD && r->world.report[0]) {
		fprintf(out, "at the end:\n");
		bf_print_lines(out, r->world.report);
	}
}

static void json(struct bf_json *j, const void *choices, const void *result)
{
	const struct choices *w = choices;
	const struct outcome *r = result;

	bf_json_u64(j, "messages", r->messages);
	bf_json_u64(j, "time_ps", r->world.time_ps);
	bf_json_u64(j, "wrong_words", r->wrong);
	bf_json_u64(j, "records", r->world.records);
	if (w->records)
		bf_json_hex(j, "hash", r->world.hash);
}

static void json_options(struct bf_json *j, const void *choices)
{
	bf_json_text(j, "profile", ((const struct choices *)choices)->profile.name);
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct choices, member), least                                                               \
	}
static const struct bf_search_part parts[] = {
	PART(shape.messages, 1), PART(shape.blocks, 1), PART(shape.warps, 1), PART(pes, 2),
	PART(shape.bytes, 8),    PART(contexts, 1),
};

static const struct bf_shape full_ring[] = { { "depth", 4, NULL },
					     { "faults", 0, "delay prob=0.3 delay=20us" },
					     { .option = NULL } };
static const struct bf_shape lossy[] = { { "faults", 0, "drop prob=0.01; delay prob=0.05 delay=3us" },
					 { .option = NULL } };
static const struct bf_shape wide[] = { { "blocks", 3, NULL }, { .option = NULL } };
static const struct bf_shape *const shapes[] = { full_ring, lossy, wide, NULL };
static const char *const small[] = { "messages", "1", NULL };

const struct bf_family bf_gin_family = {
	BF_FAMILY_STRUCTS(struct choices, struct outcome),
	BF_FAMILY_CHOOSER(struct choices),
	.prefix = "gin-",
	.shapes = shapes,
	.small = small,
	.works = works,
	.options = options,
	.words = words,
	.run = { .summary = "check what NCCL's GIN promises, on GPUNetIO's queues",
		 .details =
		     "Lane 0 of each warp issues. Queue pairs are rung in GPUNetIO's ways (--handler) and shared "
		     "as its modes\n"
		     "say (--sharing). docs/gin.md",
		 .examples = "  belfry run gin-put --messages 1000 --batch 8\n"
			     "  belfry run gin-hybrid --pes 4 --warps 4 --batch 4 --handler no-record --profile cx8\n"
			     "  belfry run gin-counter --bug gin-counter-no-wait" },
	.explore = { .summary = "find a seed and an ordering with which GIN's calls fail",
		     .examples = "  belfry explore gin-signal --bug gin-relaxed-window --ordering sc" },
	.device = BF_DEVICE_MLX5,
	.work = { BF_MEMBER(struct choices, shape.work), 0 },
	.backend = { BF_MEMBER(struct choices, backend), 0 },
	.faults = { BF_MEMBER(struct choices, faults), 0 },
	.search.parts = parts,
	.search.nparts = BF_ARRAY_LEN(parts),
	.search.check = check,
	.search.run = run,
	.fill = fill,
	.settle = settle,
	.verdict_name = verdict_name,
	.print = print,
	.json = json,
	.json_options = json_options,
	.print_failure = print_failure,
	.done = { BF_MEMBER(struct outcome, messages), 0 },
	.per_second = "messages_per_second",
};
