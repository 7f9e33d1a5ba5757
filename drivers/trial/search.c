#include "drivers/trial/search.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sim/coro.h"

#define SHAPE_EVERY 4u

/*
 * What the threads of a search share. Run k is seed k / norders and ordering k % norders; each thread takes the next k.
 * Nobody starts a run above the lowest failure so far, and all below it are finished, so the outcome is that of one
 * thread.
 */
struct search {
	const struct bf_search *s;
	const struct bf_search_family *f;
	const void *base;
	pthread_mutex_t lock;
	uint64_t next, total, done;
	uint64_t lowest; /* failing run, or `total` */
	void *result;
	struct bf_error err; /* of the run `lowest`, when it could not start */
};

static uint64_t get(const void *w, const struct bf_search_part *p)
{
	return bf_member_get(w, p->offset, p->size);
}

static void set(void *w, const struct bf_search_part *p, uint64_t value)
{
	bf_member_set(w, p->offset, p->size, value);
}

static void nth_run(const struct search *x, uint64_t k, void *w)
{
	const uint64_t nth = k / x->s->norders;
	const bool other = x->s->nshapes && nth % SHAPE_EVERY == SHAPE_EVERY - 1;

	memcpy(w, other ? x->s->shapes[nth / SHAPE_EVERY % x->s->nshapes] : x->base, x->f->choice_bytes);
	set(w, &x->f->seed, get(x->base, &x->f->seed) + nth);
	set(w, &x->f->ordering, x->s->orders[k % x->s->norders]);
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

static void deliver(struct search *x, uint64_t k, bool counts, const void *result, const struct bf_error *err)
{
	pthread_mutex_lock(&x->lock);
	x->done++;
	if (counts && k < x->lowest) {
		x->lowest = k;
		memcpy(x->result, result, x->f->result_bytes);
		x->err = *err;
	}
	if (x->s->progress)
		x->s->progress(x->s->owner, x->done, x->total);
	pthread_mutex_unlock(&x->lock);
}

/* Its own workload and result: runs go on side by side. NULL on lack of memory: the others do the work. */
static void *worker(void *arg)
{
	struct search *x = arg;
	void *w = malloc(x->f->choice_bytes), *r = calloc(1, x->f->result_bytes);
	struct bf_stacks stacks = { 0 }, *mine = &stacks;
	uint64_t k;

	while (w && r && take(x, &k)) {
		struct bf_error err = { 0 };
		uint32_t verdict;
		int rc;

		nth_run(x, k, w);
		if (x->f->stacks.size)
			memcpy((char *)w + x->f->stacks.offset, &mine, sizeof(mine));
		rc = x->f->run(w, NULL, r, &err);
		if (!rc) /* it says what could not be had, too, and was done without */
			err = (struct bf_error){ 0 };
		verdict = rc ? 0 : x->f->verdict(r);
		deliver(x, k, rc || (verdict && (!x->s->want || verdict == x->s->want)), r, &err);
	}
	bf_stacks_free(&stacks);
	free(w);
	free(r);
	return NULL;
}

int bf_search_run(const struct bf_search *s, const void *base, void *found, void *result, uint64_t *runs,
		  struct bf_error *err)
{
	enum { THREADS_MAX = 256 };
	struct search x = { .s = s, .f = s->family, .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[THREADS_MAX];
	void *from = malloc(s->family->choice_bytes); /* `found` may be `base` */
	uint32_t n = 0;

	if (!from)
		return bf_fail(err, -ENOMEM, "no memory for a search");
	memcpy(from, base, s->family->choice_bytes);
	x.base = from;
	x.result = result;
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
	if (x.lowest < x.total && !x.err.code)
		nth_run(&x, x.lowest, found);
	free(from);
	if (x.lowest == x.total)
		return x.done == x.total ? 0 : bf_fail(err, -ENOMEM, "no memory for a search");
	return x.err.code ? bf_fail(err, x.err.code, "%s", x.err.text) : 1;
}

/* 1, 2, 3, 4, 6, 8, 12, 16, ...: the next candidate above `v`. */
static uint64_t next_size(uint64_t v)
{
	if (v < 4)
		return v + 1;
	return (v & (v - 1)) == 0 ? v + v / 2 : v / 3 * 4;
}

/* What shrinking works on, and room for what it tries. */
struct shrink {
	struct bf_search s;
	uint64_t first_seed, *runs;
	void *w, *result;
	void *candidate, *outcome;
	struct bf_error *err;
};

/* Searches for the failure with the candidate; takes it over when it is still there. */
static int attempt(struct shrink *x)
{
	const struct bf_search_family *f = x->s.family;
	struct bf_error unfit = { 0 };
	int rc;

	set(x->candidate, &f->seed, x->first_seed);
	if (f->check && f->check(x->candidate, &unfit) != 0)
		return 0;
	rc = bf_search_run(&x->s, x->candidate, x->candidate, x->outcome, x->runs, &unfit);
	if (rc == -EINVAL) /* what does not fit shows only when it starts */
		return 0;
	if (rc != 1)
		return rc < 0 ? bf_fail(x->err, rc, "%s", unfit.text) : 0;
	memcpy(x->w, x->candidate, f->choice_bytes);
	memcpy(x->result, x->outcome, f->result_bytes);
	return 1;
}

static int attempt_with(struct shrink *x, const struct bf_search_part *p, uint64_t value)
{
	memcpy(x->candidate, x->w, x->s.family->choice_bytes);
	set(x->candidate, p, value);
	return attempt(x);
}

/* One pass over the parts. Returns how many became smaller, or a negative errno. */
static int shrink_pass(struct shrink *x)
{
	const struct bf_search_family *f = x->s.family;
	int smaller = 0;

	for (uint32_t i = 0; i < f->nparts; i++) {
		const uint64_t now = get(x->w, &f->parts[i]);
		int rc = 0;

		for (uint64_t v = f->parts[i].least; v < now && !rc; v = next_size(v))
			rc = attempt_with(x, &f->parts[i], v);
		if (rc < 0)
			return rc;
		smaller += rc;
	}
	return smaller;
}

static int shrink(struct shrink *x)
{
	enum { PASSES = 4 };
	const struct bf_search all = x->s;
	const struct bf_search_part *ordering = &all.family->ordering;
	int rc = 0;

	x->s.want = all.family->verdict(x->result);
	x->s.norders = 1;
	for (uint32_t i = 0; i < all.norders && all.orders[i] < get(x->w, ordering) && !rc; i++) {
		x->s.orders[0] = all.orders[i];
		rc = attempt_with(x, ordering, all.orders[i]);
	}
	x->s.orders[0] = (enum bf_ordering)get(x->w, ordering);
	for (int pass = 0; rc >= 0 && pass < PASSES; pass++) {
		rc = shrink_pass(x);
		if (rc == 0)
			break;
	}
	if (rc >= 0) /* the lowest seed that fails in this size */
		rc = attempt_with(x, ordering, get(x->w, ordering));
	return rc < 0 ? rc : 0;
}

int bf_search_shrink(const struct bf_search *s, uint64_t first_seed, void *w, void *result, uint64_t *runs,
		     struct bf_error *err)
{
	struct shrink x = { .s = *s, .first_seed = first_seed, .runs = runs, .w = w, .result = result, .err = err };
	int rc;

	x.s.nshapes = 0;
	x.candidate = malloc(s->family->choice_bytes);
	x.outcome = malloc(s->family->result_bytes);
	rc = x.candidate && x.outcome ? shrink(&x) : bf_fail(err, -ENOMEM, "no memory for a search");
	free(x.candidate);
	free(x.outcome);
	return rc;
}
