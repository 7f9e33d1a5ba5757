/* The driver of ring64, as a family of workloads, and a `belfry` that has it. */
#include "ring64.h"

#include <errno.h>

#include "tools/cli/program.h"
#include "tools/workloads/family.h"

#define BUG_NO_FENCE 1u
#define BUG_NO_WAIT 2u

static const struct bf_bug bugs[] = {
	{ "no-fence", "no fence between an entry and its doorbell", BUG_NO_FENCE },
	{ "no-wait", "slots are filled again before their entries are complete", BUG_NO_WAIT },
	{ NULL, NULL, 0 },
};

/* Every choice of a command line, and what came of it. */
struct choices {
	uint32_t work;
	uint64_t seed, bugs;
	enum bf_ordering ordering;
	uint32_t records, copies, entries, bytes;
	bool counts;
	const struct bf_backend *backend;
};
struct outcome {
	struct bf_result base; /* 0: good, 1: wrong data, 2: it did not come to its end */
	struct bf_world_result world;
};

/* The driver: the code under test. */
struct driver {
	const struct choices *w;
	uint8_t *regs;
	struct bf_memory ring, done, from, to;
};

static void wait_for(struct bf_thread *t, const struct driver *d, uint64_t count)
{
	const uint8_t *at = (uint8_t *)d->done.ptr + (count - 1) % d->w->entries * RING64_CQE + RING64_CQE_COUNT;

	while (bf_ld_acquire32(t, at, BF_AT_SYS) != (uint32_t)count)
		bf_spin(t, at, "completion");
}

static void submit(struct bf_thread *t, void *arg)
{
	const struct driver *d = arg;
	const struct choices *w = d->w;

	bf_mmio_st64(t, d->regs + RING64_REG_BASE, d->ring.va);
	bf_mmio_st64(t, d->regs + RING64_REG_COMPLETIONS, d->done.va);
	bf_mmio_st32(t, d->regs + RING64_REG_ENTRIES, w->entries);
	for (uint64_t i = 0; i < w->copies; i++) {
		uint8_t *entry = (uint8_t *)d->ring.ptr + i % w->entries * RING64_ENTRY;

		if (i >= w->entries && !(w->bugs & BUG_NO_WAIT))
			wait_for(t, d, i - w->entries + 1);
		bf_st_weak64(t, entry + RING64_OPCODE, RING64_OP_COPY | (uint64_t)w->bytes << 32);
		bf_st_weak64(t, entry + RING64_SRC, d->from.va + i * w->bytes);
		bf_st_weak64(t, entry + RING64_DST, d->to.va + i * w->bytes);
		if (!(w->bugs & BUG_NO_FENCE))
			bf_fence_sys(t);
		bf_mmio_st64(t, d->regs + RING64_REG_DOORBELL, i + 1);
	}
	wait_for(t, d, w->copies);
}

/* One run. */
static int set_up(struct driver *d, struct bf_world *world)
{
	const struct choices *w = d->w;
	const struct bf_backend *be = w->backend;
	const uint64_t bytes = (uint64_t)w->copies * w->bytes;

	if (be->alloc(world, 0, BF_PLACE_HOST, w->entries * RING64_ENTRY, "ring", &d->ring) ||
	    be->alloc(world, 0, BF_PLACE_HOST, w->entries * RING64_CQE, "completions", &d->done) ||
	    be->alloc(world, 0, BF_PLACE_HOST, bytes, "from", &d->from) ||
	    be->alloc(world, 0, BF_PLACE_HOST, bytes, "to", &d->to))
		return -ENOMEM;
	for (uint64_t i = 0; i < bytes; i++)
		((uint8_t *)d->from.ptr)[i] = (uint8_t)(i * 7 + 1);
	d->regs = ring64_registers(be->model(world, 0));
	return be->launch_cpu(world, 0, 1, submit, d);
}

static int run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err)
{
	const struct choices *w = choices;
	struct outcome *r = result;
	const struct bf_world_opts opts = { .seed = w->seed,
					    .ordering = w->ordering,
					    .npes = 1,
					    .record_mask = w->records,
					    .sink = sink,
					    .model = &ring64_model };
	struct driver d = { .w = w };
	struct bf_world *world;
	int rc = w->backend->open(&opts, err, &world);

	if (rc)
		return rc;
	rc = set_up(&d, world);
	if (!rc)
		rc = w->backend->run(world, &r->world);
	if (!rc && r->world.end != BF_END_DONE)
		r->base.verdict = 2;
	else if (!rc)
		r->base.verdict = memcmp(d.to.ptr, d.from.ptr, (size_t)w->copies * w->bytes) != 0;
	if (!rc && w->counts)
		r->base.counts = bf_counts_take(w->backend->sim(world));
	w->backend->close(world);
	return rc;
}

static const char *verdict_name(uint32_t verdict)
{
	return verdict == 0 ? "good" : verdict == 1 ? "wrong data" : "did not come to its end";
}

/* The row. */
#define O(...) BF_OPT_OF(struct choices, __VA_ARGS__)
static const struct bf_opt options[] = {
	O("seed", U64, "N", "1", "seed of everything random", 0, 0, seed),
	O("copies", U64, "N", "16", "entries to submit", 1, 1u << 16, copies),
	O("entries", U64, "N", "8", "of the ring", 1, 1024, entries),
	O("bytes", U64, "BYTES", "64", "of each copy", 1, RING64_MAX, bytes),
	{ .name = NULL },
};
static const struct bf_words words[] = { { BF_WORDS("bug", "Bugs", bugs, struct bf_bug, struct choices, bugs) },
					 { .option = NULL } };
static const struct bf_work works[] = { { "ring64-copy", "copies, each compared" }, { NULL, NULL } };
static const struct bf_search_part parts[] = { { BF_MEMBER(struct choices, copies), 1 },
					       { BF_MEMBER(struct choices, bytes), 1 } };

static const struct bf_family family = {
	BF_FAMILY_STRUCTS(struct choices, struct outcome),
	.prefix = "ring64-",
	.works = works,
	.options = options,
	.words = words,
	.run = { .summary = "run copies on a ring64", .examples = "  belfry run ring64-copy --copies 100" },
	.explore = { .summary = "look for a seed under which copies fail",
		     .examples = "  belfry explore ring64-copy --bug no-fence" },
	.work = { BF_MEMBER(struct choices, work), 0 },
	.backend = { BF_MEMBER(struct choices, backend), 0 },
	.search.parts = parts,
	.search.nparts = BF_ARRAY_LEN(parts),
	.search.run = run,
	.verdict_name = verdict_name,
};

int main(int argc, char **argv)
{
	static const struct bf_family *const families[] = { &family, NULL };

	return bf_main(argc, argv, families);
}
