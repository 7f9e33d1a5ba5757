#include "drivers/backend/workers_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drivers/platform/platform_native.h"
#include "sim/clock.h"

struct bf_worker {
	struct bf_workers *all;
	struct bf_native_warp_opts opts;
	struct bf_native_warp_end end;
	pthread_t thread;
	uint32_t pe;
	bool cpu;
	int rc;
};

int bf_workers_init(struct bf_workers *w)
{
	pthread_condattr_t attr;

	memset(w, 0, sizeof(*w));
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->ended, &attr);
	pthread_condattr_destroy(&attr);
	return -pthread_mutex_init(&w->lock, NULL);
}

void bf_workers_fini(struct bf_workers *w)
{
	bf_workers_clear(w);
	pthread_cond_destroy(&w->ended);
	pthread_mutex_destroy(&w->lock);
}

void bf_workers_clear(struct bf_workers *w)
{
	free(w->warps);
	w->warps = NULL;
	w->count = w->started = 0;
}

static void *worker_main(void *arg)
{
	struct bf_worker *p = arg;
	struct bf_workers *w = p->all;

	p->rc = bf_native_warp_run(&p->opts, &p->end);
	pthread_mutex_lock(&w->lock);
	if (!--w->running)
		pthread_cond_signal(&w->ended);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* One entry for each warp of all waiting grids. */
static int plan(struct bf_workers *w, struct bf_world *m)
{
	struct bf_grid *g;
	uint32_t n = 0;

	for (g = m->grids; g; g = g->next)
		n += g->blocks * g->warps;
	if (n > BF_WORKERS_MAX)
		return bf_fail(m->err, -E2BIG, "%u warps: on the wall clock there are at most %u, each a thread", n,
			       BF_WORKERS_MAX);
	w->warps = calloc(n ? n : 1, sizeof(*w->warps));
	if (!w->warps)
		return bf_fail(m->err, -ENOMEM, "no memory for %u warps", n);
	while ((g = bf_machine_next_grid(m))) {
		for (uint32_t i = 0; i < g->blocks * g->warps; i++)
			w->warps[w->count++] = (struct bf_worker){
				.all = w,
				.pe = g->pe,
				.cpu = g->cpu,
				.opts = { .lanes = g->cpu ? 1 : m->lanes,
					  .warp = i % g->warps,
					  .warps = g->warps,
					  .block = i / g->warps,
					  .blocks = g->blocks,
					  .kernel = g->kernel,
					  .arg = g->arg,
					  .stop = &w->stop,
					  .fence = &w->fence },
			};
		free(g);
	}
	return 0;
}

int bf_workers_start(struct bf_workers *w, struct bf_world *m)
{
	int rc;

	bf_workers_clear(w);
	atomic_store(&w->stop, false);
	rc = plan(w, m);
	if (rc)
		return rc;
	w->running = w->count;
	for (; !rc && w->started < w->count; w->started += !rc)
		rc = -pthread_create(&w->warps[w->started].thread, NULL, worker_main, &w->warps[w->started]);
	if (rc) {
		atomic_store_explicit(&w->stop, true, memory_order_relaxed);
		pthread_mutex_lock(&w->lock);
		w->running -= w->count - w->started;
		pthread_mutex_unlock(&w->lock);
		bf_fail(m->err, rc, "cannot start thread %u of %u for warps", w->started, w->count);
	}
	return rc;
}

bool bf_workers_wait(struct bf_workers *w, uint64_t limit_ps)
{
	const uint64_t limit_ns = limit_ps / BF_NS;
	struct timespec until;
	bool late;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(limit_ns / 1000000000u);
	until.tv_nsec += (long)(limit_ns % 1000000000u);
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&w->lock);
	while (w->running && rc != ETIMEDOUT)
		rc = limit_ps == BF_NEVER ? pthread_cond_wait(&w->ended, &w->lock)
					  : pthread_cond_timedwait(&w->ended, &w->lock, &until);
	late = w->running != 0;
	pthread_mutex_unlock(&w->lock);
	if (late)
		atomic_store_explicit(&w->stop, true, memory_order_relaxed);
	return late;
}

int bf_workers_join(struct bf_workers *w, struct bf_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < w->started; i++) {
		pthread_join(w->warps[i].thread, NULL);
		if (!rc && w->warps[i].rc)
			rc = bf_fail(err, w->warps[i].rc, "no memory for the lanes of a warp");
	}
	return rc;
}

void bf_workers_describe(const struct bf_workers *w, char *report, size_t cap)
{
	for (uint32_t i = 0; i < w->count; i++) {
		const struct bf_worker *p = &w->warps[i];
		const size_t used = strlen(report);

		if (p->end.unfinished && p->cpu)
			snprintf(report + used, cap - used, "pe%u.cpu%u waits for %s\n", p->pe, p->opts.block,
				 p->end.waits_for ? p->end.waits_for : "its turn");
		else if (p->end.unfinished)
			snprintf(report + used, cap - used, "pe%u.b%u.w%u: lanes 0x%x wait for %s\n", p->pe,
				 p->opts.block, p->opts.warp, p->end.unfinished,
				 p->end.waits_for ? p->end.waits_for : "their turn");
	}
}

int bf_workers_run(struct bf_workers *w, struct bf_world *m, struct bf_world_result *out)
{
	const uint64_t began = bf_monotonic_ns() * BF_NS;
	bool late = false;
	int rc, joined;

	memset(out, 0, sizeof(*out));
	rc = bf_workers_start(w, m);
	if (!rc)
		late = bf_workers_wait(w, m->limit_ps);
	joined = bf_workers_join(w, m->err);
	out->end = late ? BF_END_LIMIT : BF_END_DONE;
	if (late)
		bf_workers_describe(w, out->report, sizeof(out->report));
	out->time_ps = bf_monotonic_ns() * BF_NS - began;
	bf_workers_clear(w);
	return rc ? rc : joined;
}
