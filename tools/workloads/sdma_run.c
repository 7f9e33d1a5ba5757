/*
 * Running an SDMA plan: from the choices to a world, through its phases, to a result.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "traces/records/sdma_driver.h"
#include "sim/clock.h"
#include "tools/workloads/sdma_plan.h"

struct arena {
	const struct bf_sdma_workload *w;
	struct bf_world *world;
	struct bf_sdma_drv_host *host;
	struct bf_sdma_work_plan plan;
	struct bf_sdma_drv_thread *threads; /* of the phase that runs */
	struct bf_sdma_drv_job jobs[64];
	uint8_t *before; /* PE 0's heap when a queue was paused */
	struct bf_sdma_work_result *r;
};

static int open_world(struct arena *a, struct bf_sink *sink, struct bf_error *err)
{
	const struct bf_sdma_workload *w = a->w;
	const struct bf_world_opts opts = {
		.seed = w->seed,
		.ordering = w->ordering,
		.chooser = w->chooser,
		.stacks = w->stacks,
		.faults = w->faults,
		.devices = BF_DEVICE_SDMA,
		.device_opts[BF_DEVICE_AT_SDMA] = &w->profile,
		.npes = w->pes,
		.limit_ps = w->limit_ps,
		.record_mask = w->records,
		.sink = sink,
	};
	const struct bf_sdma_drv_host_opts host = {
		.caps = &w->caps,
		.bugs = w->bugs,
		.queues = w->queues,
		.ring_bytes = w->ring,
		.heap_bytes = bf_sdma_work_heap(w),
		.place = (enum bf_placement)w->place,
		.wrapped = w->wrapped,
		.strict = w->strict,
		.exact_fit = w->exact_fit,
		.wait_idle = w->wait_idle,
	};
	int rc;

	if (!bf_sdma_drv_kernel(w->backend->platform))
		return bf_fail(err, -ENOTSUP, "this build has no SDMA kernel for backend %s", w->backend->name);
	rc = w->backend->open(&opts, err, &a->world);
	return rc ? rc : bf_sdma_drv_host_open(w->backend, a->world, w->pes, &host, err, &a->host);
}

static int make_plan(struct arena *a, struct bf_error *err)
{
	int rc = bf_sdma_work_plan_begin(&a->plan, a->w, a->host, a->r);

	if (!rc) {
		bf_sdma_work_plan(&a->plan);
		rc = a->plan.rc;
	}
	if (rc == -ENOTSUP)
		return bf_fail(err, rc, "%s", a->plan.refused);
	if (rc)
		return bf_fail(err, rc, rc == -ENOSPC ? "the plan does not fit its heap" : "no memory for the plan");
	a->threads = calloc(a->plan.nthreads + 1, sizeof(*a->threads));
	return a->threads ? 0 : bf_fail(err, -ENOMEM, "no memory for %u threads", a->plan.nthreads);
}

/* ---- what must hold ---- */

static const struct bf_sdma_work_plan_area *area_of(const struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at)
{
	for (uint32_t i = 0; i < p->nareas; i++)
		if (p->areas[i].pe == pe && at >= p->areas[i].at && at < p->areas[i].at + p->areas[i].bytes)
			return &p->areas[i];
	return NULL;
}

static void keep_hash(struct arena *a, struct bf_sim *sim)
{
	bf_stream_flush(&sim->rec);
	a->r->world.hash = bf_stream_hash(&sim->rec);
	a->r->world.records = sim->rec.count;
}

static void record_mismatch(struct arena *a, uint8_t is, uint8_t should)
{
	struct bf_rec_sdma_mismatch rec = { .va = a->r->wrong_va, .wanted = should, .found = is };
	struct bf_sim *sim = a->w->backend->sim(a->world);

	if (!sim || !bf_probe(sim, BF_CLASS_DRIVER))
		return;
	BF_EMIT_MADE(sim, bf_stream_actor(&sim->rec, "host", "workload"), sdma_mismatch, rec, NULL, 0);
	keep_hash(a, sim);
}

static void wrong_at(struct arena *a, uint32_t pe, uint64_t at, uint8_t is, uint8_t should)
{
	const struct bf_sdma_work_plan_area *area = area_of(&a->plan, pe, at);

	if (!a->r->wrong_va) {
		a->r->wrong_va = bf_sdma_work_plan_va(&a->plan, pe, at);
		record_mismatch(a, is, should);
	}
	if (a->r->wrong++)
		return;
	snprintf(a->r->wrong_text, sizeof(a->r->wrong_text),
		 "PE %" PRIu32 ", heap offset 0x%" PRIx64 ", byte %" PRIu64 " of %s: is 0x%02x, should be 0x%02x", pe,
		 at, area ? at - area->at : 0, area ? area->name : "no area", is, should);
}

/* Two timestamps in order; then they count as foretold. */
static void check_times(struct arena *a)
{
	for (uint32_t i = 0; i < a->plan.ntimes; i++) {
		const struct bf_sdma_work_plan_times *t = &a->plan.times[i];
		const uint8_t *heap = a->plan.heap[t->pe].ptr;
		const uint64_t first = bf_get_le64(heap + t->first), second = bf_get_le64(heap + t->second);

		if (!first || second < first) {
			if (!a->r->wrong++)
				snprintf(a->r->wrong_text, sizeof(a->r->wrong_text),
					 "PE %" PRIu32 ": timestamps %" PRIu64 " and %" PRIu64
					 " at heap offset 0x%" PRIx64 " are not in order",
					 t->pe, first, second, t->first);
			continue;
		}
		bf_put_le64(a->plan.shadow[t->pe] + t->first, first);
		bf_put_le64(a->plan.shadow[t->pe] + t->second, second);
	}
}

/*
 * Threads look at what they waited for as soon as they are told that it is there. What they say of it is no byte that
 * is wrong.
 */
static void check_threads(struct arena *a)
{
	for (uint32_t i = 0; i < a->plan.nthreads; i++) {
		const struct bf_sdma_work_plan_thread *t = &a->plan.threads[i];
		const uint8_t *heap = a->plan.heap[t->pe].ptr;

		if (bf_get_le64(t->status) != BF_SDMA_DRV_THREAD_WRONG)
			continue;
		memcpy(a->plan.shadow[t->pe] + ((const uint8_t *)t->status - heap), t->status, 8);
		if (!a->r->wrong++)
			snprintf(a->r->wrong_text, sizeof(a->r->wrong_text),
				 "thread %" PRIu32 " of PE %" PRIu32
				 " was told that a transfer is done and did not find its data",
				 i, t->pe);
	}
}

static void check_heaps(struct arena *a)
{
	check_threads(a);
	check_times(a);
	for (uint32_t pe = 0; pe < a->w->pes; pe++) {
		const uint8_t *is = a->plan.heap[pe].ptr, *should = a->plan.shadow[pe];

		if (memcmp(is, should, a->plan.used[pe]) != 0)
			for (uint64_t i = 0; i < a->plan.used[pe]; i++)
				if (is[i] != should[i])
					wrong_at(a, pe, i, is[i], should[i]);
		a->r->verified += a->plan.used[pe];
	}
}

static int check_traps(struct arena *a)
{
	uint64_t traps = 0;
	int rc;

	if (!bf_sdma_world(a->w->backend)->traps)
		return 0;
	rc = bf_sdma_world(a->w->backend)->traps(a->world, 0, BF_SDMA_WORK_PLAN_EVENT, &traps);
	if (!rc && traps != a->plan.traps && !a->r->wrong++)
		snprintf(a->r->wrong_text, sizeof(a->r->wrong_text),
			 "event 0x%x was signalled %" PRIu64 " times, should be %" PRIu64, BF_SDMA_WORK_PLAN_EVENT,
			 traps, a->plan.traps);
	return rc;
}

/* Nothing but what threads store themselves may have changed while the queue was paused. */
static void check_untouched(struct arena *a)
{
	const uint8_t *heap = a->plan.heap[0].ptr;

	for (uint32_t i = 0; i < a->plan.nthreads; i++)
		memcpy(a->before + ((const uint8_t *)a->plan.threads[i].status - heap), a->plan.threads[i].status, 8);
	for (uint64_t i = 0; i < a->plan.used[0]; i++)
		if (heap[i] != a->before[i])
			wrong_at(a, 0, i, heap[i], a->before[i]);
}

static int standing_of(struct arena *a, uint32_t pe, uint32_t queue, struct bf_sdma_work_queue_standing *out)
{
	const struct bf_sdma_drv_writer *w = bf_sdma_drv_host_writer(a->host, pe, queue);

	*out = (struct bf_sdma_work_queue_standing){
		.pe = pe,
		.queue = queue,
		.reserved = w->reserve,
		.published = w->commit,
		.wptr = bf_get_le64(w->wptr),
		.rptr = bf_get_le64(w->rptr),
	};
	if (!bf_sdma_world(a->w->backend)->standing)
		return 0;
	return bf_sdma_world(a->w->backend)
	    ->standing(a->world, pe, bf_sdma_drv_host_ring(a->host, pe, queue)->id, &out->engine);
}

/* ---- phases ---- */

static int act(struct arena *a, const struct bf_sdma_work_plan_action *what, struct bf_error *err)
{
	struct bf_sdma_work_queue_standing s;
	int rc;

	switch (what->kind) {
	case BF_SDMA_WORK_ACT_PAUSE:
		a->before = malloc(a->plan.used[0]);
		if (!a->before)
			return bf_fail(err, -ENOMEM, "no memory for a copy of the heap");
		memcpy(a->before, a->plan.heap[0].ptr, a->plan.used[0]);
		return bf_sdma_drv_host_pause(a->host, what->pe, what->queue);
	case BF_SDMA_WORK_ACT_UNTOUCHED:
		check_untouched(a);
		return 0;
	case BF_SDMA_WORK_ACT_RESUME:
		return bf_sdma_drv_host_resume(a->host, what->pe, what->queue);
	case BF_SDMA_WORK_ACT_HUNG:
		rc = standing_of(a, what->pe, what->queue, &s);
		if (!rc && s.engine.retired == s.engine.doorbell && !a->r->wrong++)
			snprintf(a->r->wrong_text, sizeof(a->r->wrong_text),
				 "queue %" PRIu32 " should hang at a truncated packet and does not", what->queue);
		if (!rc)
			bf_sdma_work_plan_say(&a->plan, "queue %" PRIu32 " hung           %s%s\n", what->queue,
					      s.engine.stopped, s.engine.waits);
		return rc;
	case BF_SDMA_WORK_ACT_RESET:
	default:
		return bf_sdma_drv_host_reset(a->host, what->pe, what->queue);
	}
}

static int launch(struct arena *a, uint32_t pe, const struct bf_sdma_drv_job *job)
{
	const struct bf_backend *be = a->w->backend;
	bf_kernel_fn *kernel = bf_sdma_drv_kernel(be->platform);

	if (be->launch_cpu)
		return be->launch_cpu(a->world, pe, job->nthreads, kernel, (void *)job);
	return be->launch(a->world, pe, job->nthreads, 1, kernel, (void *)job);
}

static int launch_phase(struct arena *a, uint32_t phase)
{
	uint32_t used = 0;
	int rc = 0;

	for (uint32_t pe = 0; !rc && pe < a->w->pes; pe++) {
		struct bf_sdma_drv_job *job = &a->jobs[pe];

		*job = (struct bf_sdma_drv_job){ .threads = &a->threads[used] };
		for (uint32_t i = 0; i < a->plan.nthreads; i++) {
			const struct bf_sdma_work_plan_thread *t = &a->plan.threads[i];

			if (t->pe != pe || t->phase != phase)
				continue;
			a->threads[used + job->nthreads++] =
			    (struct bf_sdma_drv_thread){ .steps = t->steps, .nsteps = t->nsteps, .status = t->status };
		}
		used += job->nthreads;
		if (job->nthreads)
			rc = launch(a, pe, job);
	}
	return rc;
}

static int run_phases(struct arena *a, struct bf_error *err)
{
	uint64_t time_ps = 0;
	int rc = 0;

	for (uint32_t phase = 0; !rc && phase <= a->plan.phase; phase++) {
		uint64_t began;

		for (uint32_t i = 0; !rc && i < a->plan.nactions; i++)
			if (a->plan.actions[i].phase == phase)
				rc = act(a, &a->plan.actions[i], err);
		if (!rc)
			rc = launch_phase(a, phase);
		if (rc)
			break;
		began = bf_monotonic_ns();
		rc = a->w->backend->run(a->world, &a->r->world);
		a->r->base.wall_ns += bf_monotonic_ns() - began;
		time_ps += a->r->world.time_ps;
		if (a->r->world.end != BF_END_DONE)
			break;
	}
	a->r->world.time_ps = time_ps;
	return rc && !err->code ? bf_fail(err, rc, "the run failed: %s", strerror(-rc)) : rc;
}

/* ---- the verdict ---- */

static int collect_queues(struct arena *a)
{
	int rc = 0;

	for (uint32_t pe = 0; !rc && pe < a->w->pes; pe++) {
		for (uint32_t q = 0; !rc && q < a->w->queues; q++) {
			struct bf_sdma_work_queue_standing s;

			rc = standing_of(a, pe, q, &s);
			if (rc || (s.engine.retired == s.reserved && !s.engine.stopped[0]))
				continue;
			if (a->r->nqueues < BF_SDMA_WORK_QUEUES_SHOWN)
				a->r->queues[a->r->nqueues++] = s;
			a->r->unfinished++;
		}
	}
	return rc;
}

static bool any_stopped(const struct bf_sdma_work_result *r)
{
	for (uint32_t i = 0; i < r->nqueues; i++)
		if (r->queues[i].engine.stopped[0])
			return true;
	return false;
}

static bool any_refused(const struct arena *a)
{
	for (uint32_t i = 0; i < a->plan.nthreads; i++)
		if (bf_get_le64(a->plan.threads[i].status) == BF_SDMA_DRV_THREAD_REFUSED)
			return true;
	return false;
}

/* What a stop says of the code that submitted. */
static const char *cause_of(uint32_t reason)
{
	switch (reason) {
	case BF_SDMA_BAD_OPCODE:
	case BF_SDMA_RESERVED:
	case BF_SDMA_PRIVILEGED:
		return "the engine read something that is no packet: ring bytes that were not stored yet, bytes of an "
		       "earlier lap, or a packet that was built wrong";
	case BF_SDMA_STRADDLES:
		return "a packet runs over the end of the ring: the rest of the ring must be filled with NOPs, and the "
		       "packet begin at offset 0";
	case BF_SDMA_TRUNCATED:
		return "a doorbell value ends inside a packet: its count is too large, or somebody rang for less than "
		       "a submission";
	case BF_SDMA_DOORBELL_BACK:
		return "a doorbell value is below the one before, or more than a ring above: an offset was published "
		       "in place of an index that grows, submissions were published out of order, or the ring was "
		       "overwritten before the engine had read it";
	case BF_SDMA_MEMORY:
		return "a packet names an address that is not mapped for the engine";
	case BF_SDMA_MISALIGNED:
		return "a packet's address is not aligned as its kind needs";
	case BF_SDMA_OVERLAP:
	case BF_SDMA_OUT_OF_SURFACE:
		return "a copy whose result no document defines (--strict)";
	default:
		return NULL;
	}
}

static bool any_wrong_thread(const struct arena *a)
{
	for (uint32_t i = 0; i < a->plan.nthreads; i++)
		if (bf_get_le64(a->plan.threads[i].status) == BF_SDMA_DRV_THREAD_WRONG)
			return true;
	return false;
}

/* What the standing of queues and data tells; nothing when it does not. */
static void name_cause(struct arena *a)
{
	const struct bf_sdma_work_result *r = a->r;
	const char *cause = NULL;

	for (uint32_t i = 0; !cause && i < r->nqueues; i++) {
		const struct bf_sdma_work_queue_standing *q = &r->queues[i];

		cause = cause_of(q->engine.reason);
		if (!cause && r->base.verdict != BF_SDMA_WORK_WRONG_DATA && q->engine.retired == q->engine.doorbell &&
		    q->engine.doorbell < q->published)
			cause = "a doorbell is missing: the engine has done all that it was told of";
		if (!cause && strcmp(q->engine.waits, "POLL_REGMEM") == 0)
			cause = "the engine polls a word that is never set to the reference";
	}
	if (!cause && r->base.verdict == BF_SDMA_WORK_WRONG_DATA && any_wrong_thread(a))
		cause =
		    "completion was signalled before the data were there, or a copy read its source too early: only "
		    "FENCE, ATOMIC, TRAP and NOP wait for the copies before them";
	if (!cause && r->base.verdict == BF_SDMA_WORK_DEADLOCK && !r->nqueues)
		cause = "the engine has retired everything and a thread still waits: the packets that it read are not "
			"those that were stored, or the word that it waits for was overwritten";
	if (cause)
		snprintf(a->r->cause.text, sizeof(a->r->cause.text), "%s", cause);
}

static int judge(struct arena *a)
{
	struct bf_sdma_work_result *r = a->r;
	int rc = collect_queues(a);

	if (any_stopped(r))
		r->base.verdict = BF_SDMA_WORK_STOPPED;
	else if (r->world.end == BF_END_DEADLOCK)
		r->base.verdict = BF_SDMA_WORK_DEADLOCK;
	else if (r->world.end == BF_END_LIMIT)
		r->base.verdict = BF_SDMA_WORK_LIMIT;
	else if (any_refused(a))
		r->base.verdict = BF_SDMA_WORK_REFUSED;
	if (!rc && r->base.verdict == BF_SDMA_WORK_GOOD) {
		check_heaps(a);
		rc = check_traps(a);
		if (r->wrong)
			r->base.verdict = BF_SDMA_WORK_WRONG_DATA;
	}
	if (r->base.verdict != BF_SDMA_WORK_GOOD)
		name_cause(a);
	return rc;
}

/* The destinations as they are now, for pictures of the trace. */
static void record_surfaces(struct arena *a)
{
	struct bf_sim *sim = a->w->backend->sim(a->world);
	uint32_t actor;

	if (!sim || !a->plan.npictures || !bf_probe(sim, BF_CLASS_DRIVER))
		return;
	actor = bf_stream_actor(&sim->rec, "host", "workload");
	for (uint32_t i = 0; i < a->plan.npictures; i++) {
		const struct bf_sdma_work_plan_picture *pic = &a->plan.pictures[i];
		const uint8_t *at = (const uint8_t *)a->plan.heap[0].ptr + pic->at;
		const uint32_t bytes = pic->side * pic->side;
		struct bf_rec_sdma_surface rec = {
			.va = a->plan.heap[0].va + pic->at,
			.pitch = pic->side,
			.rows = pic->side,
			.element = 1u << pic->element,
			.x = pic->x,
			.y = pic->y,
			.width = pic->width,
			.height = pic->height,
			.right = memcmp(at, a->plan.shadow[0] + pic->at, bytes) == 0,
		};

		snprintf(rec.what, sizeof(rec.what), "element of %u byte%s", rec.element, rec.element > 1 ? "s" : "");
		BF_EMIT_MADE(sim, actor, sdma_surface, rec, at, bytes);
	}
	keep_hash(a, sim);
}

static void close_all(struct arena *a)
{
	bf_sdma_work_plan_free(&a->plan);
	bf_sdma_drv_host_close(a->host);
	if (a->world)
		a->w->backend->close(a->world);
	free(a->threads);
	free(a->before);
}

int bf_sdma_workload_run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err)
{
	const struct bf_sdma_workload *w = choices;
	struct bf_sdma_work_result *out = result;
	struct arena *a = calloc(1, sizeof(*a));
	int rc;

	*out = (struct bf_sdma_work_result){ 0 };
	if (!a)
		return bf_fail(err, -ENOMEM, "no memory for a run");
	a->w = w;
	a->r = out;
	rc = open_world(a, sink, err);
	if (!rc)
		rc = make_plan(a, err);
	if (!rc)
		rc = run_phases(a, err);
	if (!rc)
		rc = judge(a);
	if (!rc)
		record_surfaces(a);
	if (!rc && w->counts && w->backend->sim(a->world)) {
		out->base.counts = bf_counts_take(w->backend->sim(a->world));
		if (!out->base.counts)
			rc = bf_fail(err, -ENOMEM, "no memory for statistics");
	}
	close_all(a);
	free(a);
	return rc;
}
