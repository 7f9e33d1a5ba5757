/*
 * What is published of Hopper beside the rows of `belfry check hopper-timing`: bulk copies of many SMs, and copies by
 * the GPU's copy engine. One SM's ring of bulk loads runs on the model; what SMs share, DRAM and L2, is a rate, and
 * what is no part of the model (the program's own loop, the copy engine) a constant of software.h.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "models/hopper/bulk.h"
#include "models/hopper/program.h"
#include "tools/timing/trial_internal.h"

#define SMS_MOST 132u
#define DATA 1024u        /* in the block's window, behind its barriers */
#define SOURCE (1u << 20) /* bytes that the ring cycles through */
#define WARM 16u          /* stages before the clock starts */
#define STAGES_MOST 32u
#define STAGES_TIMED 96u

struct ring {
	struct bf_bulk *bulk;
	uint64_t source;
	uint32_t box, stages, timed;
	uint64_t begin, end; /* cycles */
};

static void expect(struct bf_warp *w, uint32_t barrier, uint32_t bytes)
{
	memset(w->instr.address, 0, sizeof(w->instr.address));
	w->instr.op = BF_SYNC_ARRIVE;
	w->instr.active = w->active;
	w->instr.exited = w->exited;
	w->instr.address[0] = barrier;
	w->instr.count[0] = 1;
	w->instr.tx[0] = bytes;
	bf_warp_push(w);
	w->instr.tx[0] = 0;
}

static void ring_main(struct bf_warp *w)
{
	struct ring *r = w->arg;
	const uint32_t n = WARM + r->timed;

	assert(r->stages);
	for (uint32_t s = 0; s < r->stages; s++)
		bf_warp_init(w, s * 8, 1);
	for (uint32_t i = 0; i < n + r->stages; i++) {
		const uint32_t s = i % r->stages;

		while (i >= r->stages && !bf_warp_try(w, s * 8, (i / r->stages - 1) & 1))
			if (w->killed)
				return;
		if (i == WARM + r->stages)
			r->begin = bf_warp_clock(w);
		if (i < n) {
			struct bf_bulk_copy c = {
				.kind = BF_BULK_LOAD,
				.global = r->source + (uint64_t)i * r->box % (SOURCE - r->box),
				.shared = DATA + s * r->box,
				.barrier = s * 8,
				.bytes = r->box,
			};

			c.global &= ~(uint64_t)127;
			expect(w, s * 8, r->box);
			bf_warp_copy(w, &c);
		}
	}
	r->end = bf_warp_clock(w);
}

/* One SM alone: `*ps` for each box of a ring, from L2. */
static int run_ring(struct bf_timing_trial *t, uint32_t box, uint32_t stages, double *ps)
{
	const struct bf_region_opts opts = { .name = "source", .kind = BF_MEM_VRAM, .size = SOURCE };
	const struct bf_hopper_launch launch = { .warps = 1, .shared_bytes = DATA + box * stages };
	struct ring r = { .box = box, .stages = stages, .timed = STAGES_TIMED };
	struct bf_hopper *gpu = NULL;
	struct bf_hopper_cta *cta = NULL;
	struct bf_region *source = NULL;
	struct bf_warp *warp = NULL;
	struct bf_sim *sim = NULL;
	struct bf_space space;
	bool spaced = false;
	int rc = bf_sim_create(1, &sim);

	if (!rc)
		rc = bf_hopper_create(sim, &(struct bf_hopper_opts){ .name = "gpu0" }, &gpu);
	if (!rc)
		rc = bf_space_init(&space, sim, "gpu0", 0);
	spaced = rc == 0;
	if (!rc && !(rc = bf_region_create(&space, &opts, &source)) && !(rc = bf_bulk_create(gpu, &space, &r.bulk)))
		rc = bf_hopper_launch(gpu, &launch, &cta);
	if (!rc) {
		r.source = source->va;
		rc = bf_warp_create(
		    &(struct bf_warp_opts){
			.cta = cta, .active = 1, .exited = UINT32_MAX - 1, .main = ring_main, .arg = &r },
		    &warp);
	}
	if (!rc)
		bf_sim_run(sim, 10 * BF_MS);
	*ps = (double)(r.end - r.begin) * bf_hopper_h200.cycle_ps / (r.timed - 1);
	if (!rc && r.end == 0)
		rc = bf_fail(t->err, -EIO, "a ring of bulk copies did not end");
	else if (rc)
		bf_fail(t->err, rc, "a ring of bulk copies: %s", sim ? sim->error.text : "out of memory");
	if (warp)
		bf_warp_destroy(warp);
	if (r.bulk)
		bf_bulk_destroy(r.bulk);
	if (spaced)
		bf_space_fini(&space);
	if (gpu)
		bf_hopper_destroy(gpu);
	if (sim)
		bf_sim_destroy(sim);
	return rc;
}

/* What DRAM gives, in bytes a second. */
static double dram_rate(const struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;

	return 1e9 * (double)(bf_trial_says(t, "H200") ? sw->hbm_h200 : sw->hbm_h100) * (double)sw->hbm_share / 1000;
}

/* The number that stands before `word`, or behind `label`; 0: there is none. */
static double number_before(const char *text, const char *word)
{
	const char *p = strstr(text, word);
	double v = 0;

	for (; p && p > text && strchr(" 0123456789.", p[-1]); p--)
		;
	while (p && *p == ' ')
		p++;
	return p && sscanf(p, "%lf", &v) == 1 ? v : 0;
}

static double blocks_of(const struct bf_timing_trial *t)
{
	double n = bf_figure_condition_number(t->figure, "ctas", 0);

	n = n > 0 ? n : bf_figure_condition_number(t->figure, "sms", 0);
	n = n > 0 ? n : number_before(t->figure->op, " CTA");
	n = n > 0 ? n : number_before(t->figure->op, " SM");
	if (n == 0 && bf_figure_says(t->figure->op, "one CTA"))
		n = 1;
	if (n == 0 && (bf_figure_says(t->figure->op, "over the GPU") || bf_figure_says(t->figure->op, "all SMs")))
		n = SMS_MOST;
	return n;
}

/* Several that share something of `all` bytes a second: what one lacks the others feel before it is all used. */
static double shared_rate(double n, double each, double all)
{
	return n * each / (1 + n * each / all);
}

static int bulk_rate(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	const double n = blocks_of(t), flight = number_before(t->figure->op, " KiB in flight") * 1024;
	const bool copies = bf_figure_says(t->figure->op, "copy"), l2 = bf_figure_says(t->figure->op, "from L2");
	const bool loop = !bf_figure_says(t->figure->op, " SM"); /* the program's own loop of one warp a block */
	uint32_t box = (uint32_t)(t->figure->size < 65536 ? t->figure->size : 0), stages = 4;
	double ps = 0, rate;
	int rc;

	if (n < 1 || n > SMS_MOST)
		return bf_trial_cannot(t, "how many SMs copy is not stated");
	if (copies)
		return bf_trial_rate(t, BF_TRIAL_PHASES, 1e12,
				     shared_rate(n, 32768e12 / (double)sw->tma_copy, dram_rate(t)));
	if (!loop && flight >= 1024) {
		stages = 2;
		box = (uint32_t)(flight / stages) & ~15u;
	} else if (!box || flight > 0) {
		box = 32768;
	}
	if (box < 16 || box % 16 || stages * box > 200u << 10)
		return bf_trial_cannot(t, "a ring of such boxes does not fit an SM");
	rc = run_ring(t, box, stages, &ps);
	if (rc)
		return rc;
	if (loop && ps < (double)sw->tma_step)
		ps = (double)sw->tma_step;
	rate = box * 1e12 / ps;
	if (l2)
		rate = shared_rate(n, rate, (double)sw->l2_all * 1e9);
	else
		rate = n * rate < dram_rate(t) ? n * rate : dram_rate(t);
	return bf_trial_rate(t, BF_TRIAL_PHASES, 1e12, rate);
}

/* A lone copy; its slope is that between 1 KiB and 32 KiB, its base what is left at 0. */
static int bulk_latency(struct bf_timing_trial *t)
{
	const bool slope = bf_figure_says(t->figure->metric, "slope");
	double small = 0, large = 0, each;
	int rc = run_ring(t, 1024, 1, &small);

	if (!rc)
		rc = run_ring(t, 32768, 1, &large);
	if (rc)
		return rc;
	each = (large - small) / 31;
	if (slope) {
		t->value = each / 1000;
		t->how = BF_TRIAL_RUN;
		return strcmp(t->figure->unit, "ns/KiB") ? bf_trial_cannot(t, "its unit is not ns/KiB") : 0;
	}
	if (t->figure->size > 256u << 10)
		return bf_trial_cannot(t, "larger than an SM's shared memory");
	return bf_trial_time(t, BF_TRIAL_PHASES,
			     small - each + each * (double)t->figure->size / 1024 + (double)t->model->sw.tma_code);
}

static int ring_step(struct bf_timing_trial *t)
{
	const double stages = bf_figure_condition_number(t->figure, "stages", 4);
	double ps = 0;
	int rc;

	if (t->figure->size < 16 || t->figure->size % 16 || stages < 1 || stages > STAGES_MOST ||
	    stages * (double)t->figure->size > 200 * 1024)
		return bf_trial_cannot(t, "a ring of such boxes does not fit an SM");
	rc = run_ring(t, (uint32_t)t->figure->size, (uint32_t)stages, &ps);
	if (rc)
		return rc;
	return bf_trial_time(t, BF_TRIAL_PHASES,
			     ps > (double)t->model->sw.tma_step ? ps : (double)t->model->sw.tma_step);
}

/* A plain load of shared memory is all that the model has of an SM's loads. */
static int load_latency(struct bf_timing_trial *t)
{
	if (!bf_figure_says(t->figure->op, "shared memory") || strcmp(t->figure->unit, "cycles"))
		return bf_trial_cannot(t, "caches of SMs are not modelled");
	t->value = bf_hopper_h200.load_mc / 1000.0;
	t->how = BF_TRIAL_RUN;
	return 0;
}

/* Loads and stores of SMs: a rate for each block, and DRAM for all. */
static int store_rate(struct bf_timing_trial *t)
{
	const double n = blocks_of(t);

	if (n < 1 || n > SMS_MOST)
		return bf_trial_cannot(t, "how many SMs copy is not stated");
	return bf_trial_rate(t, BF_TRIAL_PHASES, 1e12,
			     shared_rate(n, (double)t->model->sw.sm_copy * 1e6, dram_rate(t)));
}

static int memory_rate(struct bf_timing_trial *t)
{
	if (!bf_trial_says(t, "DRAM") || bf_trial_says(t, "write"))
		return bf_trial_cannot(t, "loads and stores of SMs have no rate in the model");
	return bf_trial_rate(t, BF_TRIAL_PHASES, 1e12, dram_rate(t));
}

/* ---- the copy engine ---- */

static bool in_gpu(const struct bf_timing_trial *t)
{
	return bf_figure_says(t->figure->op, "device to device") || bf_figure_says(t->figure->op, "within");
}

/* ps that a KiB takes; 0: the link is not stated, and t->why says so. */
static double engine_kib(struct bf_timing_trial *t)
{
	if (in_gpu(t))
		return (double)t->model->sw.ce_device_kib;
	if (!bf_trial_says(t, "Gen5 x8")) {
		bf_trial_cannot(t, "the GPU's link is not stated");
		return 0;
	}
	return (double)t->model->sw.ce_link_kib;
}

static int engine_time(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	const double kib = engine_kib(t), bytes = kib * (double)t->figure->size / 1024;

	if (kib <= 0)
		return 0;
	if (!t->figure->has_size)
		return bf_trial_cannot(t, "no size");
	if (bf_figure_says(t->figure->metric, "triggered"))
		return bf_trial_time(t, BF_TRIAL_PHASES,
				     bytes + (double)(in_gpu(t) ? sw->ce_trigger : sw->ce_trigger_host));
	if (bf_figure_says(t->figure->metric, "visible"))
		return bf_trial_time(t, BF_TRIAL_PHASES, bytes + (double)sw->ce_visible);
	return bf_trial_time(t, BF_TRIAL_PHASES, bytes + (double)sw->ce_sync);
}

static int engine_rate(struct bf_timing_trial *t)
{
	const double kib = engine_kib(t);

	return kib > 0 ? bf_trial_rate(t, BF_TRIAL_PHASES, kib, 1024) : 0;
}

const struct bf_trial_rule bf_trials_sm[] = {
	{ "hopper", "copy_engine_sync_latency", NULL, engine_time, NULL },
	{ "hopper", "copy_engine_visible_latency", NULL, engine_time, NULL },
	{ "hopper", "copy_engine_triggered_latency", NULL, engine_time, NULL },
	{ "hopper", "copy_engine_bandwidth", NULL, engine_rate, NULL },
	{ "hopper", "kernel_latency", NULL, NULL, "launches of kernels are not modelled" },
	{ "hopper", "store_bandwidth", NULL, store_rate, NULL },
	{ "hopper", "load_bandwidth", NULL, memory_rate, NULL },
	{ "hopper", "memory_bandwidth", NULL, memory_rate, NULL },
	{ "hopper", "atomic_rate", NULL, NULL, "atomics of SMs have no rate in the model" },
	{ "hopper", "load_latency", NULL, load_latency, NULL },
	{ "hopper", "signal_latency", NULL, NULL, "words in global memory have no latency in the model" },
	{ "hopper", "tma_bandwidth", NULL, bulk_rate, NULL },
	{ "hopper", "tma_latency", NULL, bulk_latency, NULL },
	{ "hopper", "tma_latency_slope", NULL, bulk_latency, NULL },
	{ "hopper", "tma_ring_step", NULL, ring_step, NULL },
	{ "hopper", "barrier_time", NULL, NULL, "barrier.cluster is not the sync unit's, and not modelled" },
	{ "hopper", "throughput", NULL, NULL, "loads and stores of SMs have no rate in the model" },
	{ "hopper", "dsm_latency", NULL, NULL, "loads from another SM's memory are not modelled" },
	{ "hopper", "dsm_throughput", NULL, NULL, "loads from another SM's memory are not modelled" },
	{ 0 },
};
