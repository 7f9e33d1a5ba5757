#include "tools/explore.h"

#include <pthread.h>

#include "tools/member.h"

/*
 * What the threads of a search share. Run k is seed k / norders and ordering k % norders; each thread takes the next k.
 * Nobody starts a run above the lowest failure so far, and all below it are finished, so the outcome is that of one
 * thread.
 */
struct search {
	const struct bf_search *s;
	const struct bf_workload *base;
	pthread_mutex_t lock;
	uint64_t next, total, done;
	uint64_t lowest; /* failing run, or `total` */
	struct bf_run_result result;
	struct bf_error err; /* of the run `lowest`, when it could not start */
	struct bf_progress *progress;
};

static struct bf_workload nth_run(const struct search *x, uint64_t k)
{
	struct bf_workload w = *x->base;

	w.seed += k / x->s->norders;
	w.ordering = x->s->orders[k % x->s->norders];
	return w;
}

static bool take(struct search *x, uint64_t *k)
{
	bool more;

	pthread_mutex_lock(&x->lock);
	more = x->next < x->lowest;
	if (more)
		*k = x->next++;
	pthread_mutex_unlock(&x->lock);
	return more;
}

static void deliver(struct search *x, uint64_t k, bool counts, const struct bf_run_result *r,
		    const struct bf_error *err)
{
	pthread_mutex_lock(&x->lock);
	x->done++;
	if (counts && k < x->lowest) {
		x->lowest = k;
		x->result = *r;
		x->err = *err;
	}
	if (x->progress)
		bf_progress_update(x->progress, x->done, x->total);
	pthread_mutex_unlock(&x->lock);
}

static void *worker(void *arg)
{
	struct search *x = arg;
	struct bf_run_result r;
	uint64_t k;

	while (take(x, &k)) {
		const struct bf_workload w = nth_run(x, k);
		struct bf_error err = { 0 };
		const int rc = bf_workload_run(&w, NULL, &r, &err);
		const bool failed =
		    r.verdict != BF_VERDICT_GOOD && (x->s->want == BF_VERDICT_GOOD || r.verdict == x->s->want);

		deliver(x, k, rc || failed, &r, &err);
	}
	return NULL;
}

int bf_search_run(const struct bf_search *s, const struct bf_workload *base, struct bf_workload *found,
		  struct bf_run_result *result, uint64_t *runs, struct bf_error *err)
{
	enum { THREADS_MAX = 256 };
	struct search x = { .s = s, .base = base, .lock = PTHREAD_MUTEX_INITIALIZER, .progress = s->progress };
	pthread_t threads[THREADS_MAX];
	uint32_t n = 0;

	x.total = s->seeds * s->norders;
	x.lowest = x.total;
	/* This thread is one of them, so a machine without threads still gets the work done. */
	while (n + 1 < s->jobs && n < THREADS_MAX && pthread_create(&threads[n], NULL, worker, &x) == 0)
		n++;
	worker(&x);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	pthread_mutex_destroy(&x.lock);
	*runs += x.lowest < x.total ? x.lowest + 1 : x.total;
	if (x.lowest == x.total)
		return 0;
	if (x.err.code)
		return bf_fail(err, x.err.code, "%s", x.err.text);
	*found = nth_run(&x, x.lowest);
	*result = x.result;
	return 1;
}

/* What may get smaller, in this order: the first ones shorten the story most. */
static const struct {
	size_t offset, size;
	uint64_t least;
} dimensions[] = {
	{ BF_MEMBER(struct bf_workload, messages), 1 }, { BF_MEMBER(struct bf_workload, blocks), 1 },
	{ BF_MEMBER(struct bf_workload, warps), 1 },    { BF_MEMBER(struct bf_workload, lanes), 1 },
	{ BF_MEMBER(struct bf_workload, pes), 2 },      { BF_MEMBER(struct bf_workload, qps), 1 },
	{ BF_MEMBER(struct bf_workload, size), 1 },     { BF_MEMBER(struct bf_workload, counters), 1 },
};

/* 1, 2, 3, 4, 6, 8, 12, 16, ...: the next candidate above `v`. */
static uint64_t next_size(uint64_t v)
{
	if (v < 4)
		return v + 1;
	return (v & (v - 1)) == 0 ? v + v / 2 : v / 3 * 4;
}

/* Searches for the failure with `candidate`; takes it over when it is still there. */
static int attempt(const struct bf_search *s, uint64_t first_seed, struct bf_workload candidate, struct bf_workload *w,
		   struct bf_run_result *result, uint64_t *runs, struct bf_error *err)
{
	struct bf_error unfit = { 0 };

	candidate.seed = first_seed;
	if (bf_workload_check(&candidate, &unfit) != 0)
		return 0;
	return bf_search_run(s, &candidate, w, result, runs, err);
}

/* One pass over the dimensions. Returns how many became smaller, or a negative errno. */
static int shrink_pass(const struct bf_search *s, uint64_t first_seed, struct bf_workload *w,
		       struct bf_run_result *result, uint64_t *runs, struct bf_error *err)
{
	int smaller = 0;

	for (size_t i = 0; i < BF_ARRAY_LEN(dimensions); i++) {
		const size_t offset = dimensions[i].offset, size = dimensions[i].size;
		const uint64_t now = bf_member_get(w, offset, size);

		for (uint64_t v = dimensions[i].least; v < now; v = next_size(v)) {
			struct bf_workload candidate = *w;
			int rc;

			bf_member_set(&candidate, offset, size, v);
			rc = attempt(s, first_seed, candidate, w, result, runs, err);
			if (rc < 0)
				return rc;
			smaller += rc;
			if (rc)
				break;
		}
	}
	return smaller;
}

int bf_search_shrink(const struct bf_search *s, uint64_t first_seed, struct bf_workload *w,
		     struct bf_run_result *result, uint64_t *runs, struct bf_error *err)
{
	enum { PASSES = 4 };
	struct bf_search one = *s;
	int rc = 0;

	one.want = result->verdict;
	one.norders = 1;
	for (uint32_t i = 0; i < s->norders && s->orders[i] < w->ordering; i++) {
		one.orders[0] = s->orders[i];
		rc = attempt(&one, first_seed, *w, w, result, runs, err);
		if (rc)
			break;
	}
	one.orders[0] = w->ordering;
	for (int pass = 0; rc >= 0 && pass < PASSES; pass++) {
		rc = shrink_pass(&one, first_seed, w, result, runs, err);
		if (rc == 0)
			break;
	}
	if (rc >= 0) /* the lowest seed that fails in this size */
		rc = attempt(&one, first_seed, *w, w, result, runs, err);
	return rc < 0 ? rc : 0;
}
