/*
 * The event queue beside what others use: SystemC, ns-3 and a plain binary heap, all in the same run.
 *
 * The hold model: `pending` events; the earliest is taken out and put back an increment later. "run" is a whole
 * simulation step (queue, clock, a call of the event's function which schedules it again) and compares with SystemC and
 * ns-3; "queue" is the queue alone and compares with the heap. Numbers are million operations a second, the best of
 * three passes by processor time, since a machine that does something else in between only makes them smaller.
 *
 *   bench_event [--quick]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench_event.h"
#include "sim/event_queue.h"
#include "sim/sim.h"
#include "tests/bench/limit.h"

#define MEAN_PS 1000000u

double bench_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* An owner of the size of a small model object. */
struct actor {
	struct bf_event ev, timeout;
	struct hold *hold;
};

struct hold {
	const struct bench_load *load;
	struct bf_sim *sim;
	struct actor *actors;
	uint64_t done;
	uint32_t next;
	double start, taken;
};

static void *checked(void *memory)
{
	if (!memory) {
		fprintf(stderr, "bench_event: out of memory\n");
		exit(1);
	}
	return memory;
}

static uint64_t next_increment(const struct bench_load *load, uint32_t *next)
{
	return load->increments_ps[(*next)++ % BENCH_INCREMENTS];
}

static void expired(struct bf_event *ev)
{
	(void)ev;
}

static void act(struct bf_event *ev)
{
	struct actor *a = BF_CONTAINER_OF(ev, struct actor, ev);
	struct hold *h = a->hold;
	const struct bench_load *load = h->load;

	if (h->done == load->warm_up)
		h->start = bench_seconds();
	if (h->done++ == load->warm_up + load->count) {
		h->taken = bench_seconds() - h->start;
		bf_sim_stop(h->sim);
		return;
	}
	if (load->rearm) {
		bf_sim_cancel(h->sim, &a->timeout);
		bf_sim_after(h->sim, &a->timeout, load->timeout_ps);
	}
	bf_sim_after(h->sim, ev, next_increment(load, &h->next));
}

static double run_sim(const struct bench_load *load, const char *variant)
{
	struct hold h = { .load = load, .actors = checked(calloc(load->pending, sizeof(struct actor))) };

	(void)variant;
	if (bf_sim_create(1, &h.sim))
		checked(NULL);
	for (uint32_t i = 0; i < load->pending; i++) {
		h.actors[i].hold = &h;
		bf_event_init(&h.actors[i].ev, act);
		bf_event_init(&h.actors[i].timeout, expired);
		bf_sim_after(h.sim, &h.actors[i].ev, next_increment(load, &h.next));
	}
	bf_sim_run(h.sim, BF_NEVER);
	bf_sim_destroy(h.sim);
	free(h.actors);
	return h.taken;
}

static double run_queue(const struct bench_load *load, const char *variant)
{
	struct bf_queue *q = checked(malloc(sizeof(*q)));
	struct actor *actors = checked(calloc(load->pending, sizeof(*actors)));
	uint32_t next = 0;
	double start = 0;

	(void)variant;
	bf_queue_init(q);
	for (uint32_t i = 0; i < load->pending; i++) {
		bf_event_init(&actors[i].ev, expired);
		bf_event_init(&actors[i].timeout, expired);
		bf_queue_insert(q, &actors[i].ev, next_increment(load, &next));
	}
	for (uint64_t op = 0; op < load->warm_up + load->count; op++) {
		const uint64_t now = bf_queue_next(q);
		struct actor *a = BF_CONTAINER_OF(bf_queue_pop(q, now), struct actor, ev);

		if (op == load->warm_up)
			start = bench_seconds();
		if (load->rearm) {
			if (bf_event_pending(&a->timeout))
				bf_queue_remove(q, &a->timeout);
			bf_queue_insert(q, &a->timeout, now + load->timeout_ps);
		}
		bf_queue_insert(q, &a->ev, now + next_increment(load, &next));
	}
	start = bench_seconds() - start;
	free(actors);
	free(q);
	return start;
}

/* A binary heap of (time, insertion, owner), as one writes it by hand. Cancelled entries stay until they surface. */
struct node {
	uint64_t when, seq;
	uint32_t actor;
	bool timeout;
};

struct heap {
	struct node *at; /* from 1 */
	uint32_t count, cap;
	uint64_t seq;
};

static bool before(const struct node *a, const struct node *b)
{
	return a->when < b->when || (a->when == b->when && a->seq < b->seq);
}

static void heap_push(struct heap *h, struct node n)
{
	uint32_t i = ++h->count;

	if (i == h->cap)
		h->at = checked(realloc(h->at, (h->cap *= 2) * sizeof(struct node)));
	while (i > 1 && before(&n, &h->at[i / 2])) {
		h->at[i] = h->at[i / 2];
		i /= 2;
	}
	h->at[i] = n;
}

static struct node heap_pop(struct heap *h)
{
	const struct node top = h->at[1], last = h->at[h->count--];
	uint32_t i = 1, child;

	while ((child = 2 * i) <= h->count) {
		if (child < h->count && before(&h->at[child + 1], &h->at[child]))
			child++;
		if (!before(&h->at[child], &last))
			break;
		h->at[i] = h->at[child];
		i = child;
	}
	h->at[i] = last;
	return top;
}

static double run_heap(const struct bench_load *load, const char *variant)
{
	struct heap h = { .cap = 2 * load->pending + 2 };
	uint64_t *armed = checked(calloc(load->pending, sizeof(*armed))); /* seq of the time-out that counts */
	uint32_t next = 0;
	double start = 0;

	(void)variant;
	h.at = checked(malloc(h.cap * sizeof(struct node)));
	for (uint32_t i = 0; i < load->pending; i++)
		heap_push(&h, (struct node){ .when = next_increment(load, &next), .seq = h.seq++, .actor = i });
	for (uint64_t op = 0; op < load->warm_up + load->count; op++) {
		struct node n = heap_pop(&h);

		while (n.timeout && n.seq != armed[n.actor])
			n = heap_pop(&h);
		if (op == load->warm_up)
			start = bench_seconds();
		if (load->rearm) {
			armed[n.actor] = h.seq;
			heap_push(&h, (struct node){ n.when + load->timeout_ps, h.seq++, n.actor, true });
		}
		heap_push(&h, (struct node){ n.when + next_increment(load, &next), h.seq++, n.actor, false });
	}
	start = bench_seconds() - start;
	free(armed);
	free(h.at);
	return start;
}

typedef double runner(const struct bench_load *load, const char *variant);

/* In a child, since SystemC can simulate but once a process, and so that no peer inherits another's heap. */
static double in_child(runner *run, const struct bench_load *load, const char *variant)
{
	double taken = 0;
	int fds[2];
	pid_t pid;

	fflush(stdout);
	if (pipe(fds) || (pid = fork()) < 0)
		return 0;
	if (pid == 0) {
		taken = run(load, variant);
		_exit(write(fds[1], &taken, sizeof(taken)) != (ssize_t)sizeof(taken));
	}
	close(fds[1]);
	if (read(fds[0], &taken, sizeof(taken)) != (ssize_t)sizeof(taken))
		taken = 0;
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return taken;
}

/* Million operations a second, the best of three; 0 when it cannot be measured. */
static double measure(runner *run, const struct bench_load *load, const char *variant)
{
	double best = 0;

	for (int pass = 0; pass < 3; pass++) {
		const double taken = in_child(run, load, variant);
		const double rate = taken > 0 ? (double)load->count / taken * 1e-6 : 0;

		best = rate > best ? rate : best;
	}
	return best;
}

static double measure_systemc(const struct bench_load *load)
{
#ifdef BENCH_HAVE_SYSTEMC
	return measure(bench_systemc, load, NULL);
#else
	(void)load;
	return 0;
#endif
}

/*
 * The fastest of ns-3's schedulers; `which` is its name. Not its List, which is for a handful of events, nor its
 * Calendar, which takes minutes when all increments are equal and was never the fastest.
 */
static double measure_ns3(const struct bench_load *load, const char **which)
{
	double best = 0;

	*which = "-";
#ifdef BENCH_HAVE_NS3
	static const char *const schedulers[] = { "Map", "Heap", "PriorityQueue" };

	for (size_t i = 0; i < BF_ARRAY_LEN(schedulers); i++) {
		const double rate = measure(bench_ns3, load, schedulers[i]);

		if (rate > best) {
			best = rate;
			*which = schedulers[i];
		}
	}
#else
	(void)load;
#endif
	return best;
}

/* Ways in which increments are distributed. */
static uint64_t exponential(struct bf_rng *r)
{
	return (uint64_t)(-log1p(-(double)(bf_rng_next(r) >> 11) * 0x1p-53) * MEAN_PS);
}

static uint64_t uniform(struct bf_rng *r)
{
	return bf_rng_below(r, 2 * MEAN_PS);
}

static uint64_t bimodal(struct bf_rng *r)
{
	return bf_rng_chance(r, 900000) ? bf_rng_below(r, 1000) : bf_rng_below(r, 20ull * MEAN_PS);
}

static uint64_t equal(struct bf_rng *r)
{
	(void)r;
	return MEAN_PS;
}

static uint64_t near_sorted(struct bf_rng *r)
{
	return MEAN_PS + bf_rng_below(r, 1000);
}

static uint64_t ns_to_hours(struct bf_rng *r)
{
	return (bf_rng_next(r) | 1ull << 63) >> (10 + bf_rng_below(r, 44));
}

static const struct {
	const char *name;
	uint64_t (*draw)(struct bf_rng *r);
	bool peers; /* SystemC and ns-3 too */
} distributions[] = {
	{ "exponential", exponential, true },  { "uniform", uniform, false },
	{ "bimodal", bimodal, true },          { "equal", equal, true },
	{ "near-sorted", near_sorted, false }, { "ns to hours", ns_to_hours, false },
};

static void ratio(double ours, double theirs)
{
	if (theirs > 0)
		printf(" %6.1fx", ours / theirs);
	else
		printf(" %7s", "-");
}

static void rate(double value)
{
	if (value > 0)
		printf(" %8.1f", value);
	else
		printf(" %8s", "-");
}

/* Those that a limit is set for. */
static bool judge(const char *name, const struct bench_load *load, double queue)
{
	char what[64];

	if (load->rearm || strcmp(name, "exponential") || (load->pending != 100 && load->pending != 10000))
		return true;
	snprintf(what, sizeof(what), "event queue, %u pending", load->pending);
	return bench_at_least(what, queue, load->pending == 100 ? 40 : 30, "M/s");
}

/* Of the same loads, where the peer is there. */
static void tell_peer(const char *name, const struct bench_load *load, double run, double theirs, const char *who)
{
	char what[64];

	if (theirs <= 0 || load->rearm || strcmp(name, "exponential") ||
	    (load->pending != 100 && load->pending != 10000))
		return;
	snprintf(what, sizeof(what), "simulation step, %u pending", load->pending);
	bench_peer(what, run, theirs, "M/s", who);
}

/* `worst`: of the queue against the heap. */
static bool line(const char *name, const struct bench_load *load, bool peers, double *worst)
{
	const char *which = "-";
	const double run = measure(run_sim, load, NULL), queue = measure(run_queue, load, NULL);
	const double heap = measure(run_heap, load, NULL);
	const double systemc = peers ? measure_systemc(load) : 0, ns3 = peers ? measure_ns3(load, &which) : 0;

	printf("%-12s %8u", name, load->pending);
	rate(run);
	rate(queue);
	rate(heap);
	rate(systemc);
	rate(ns3);
	ratio(run, systemc);
	ratio(run, ns3);
	ratio(queue, heap);
	printf("  %s\n", which);
	if (heap > 0 && queue / heap < *worst)
		*worst = queue / heap;
	tell_peer(name, load, run, systemc, "SystemC");
	tell_peer(name, load, run, ns3, "ns-3");
	return judge(name, load, queue);
}

static void headline(const char *text)
{
	printf("\n%s\n%-12s %8s %8s %8s %8s %8s %8s %7s %7s %7s  %s\n", text, "increments", "pending", "run", "queue",
	       "heap", "SystemC", "ns-3", "run/SC", "run/ns3", "q/heap", "ns-3's best scheduler");
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = { 1, 10, 100, 1000, 10000, 100000 };
	static uint64_t increments[BENCH_INCREMENTS];
	const bool quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
	struct bench_load load = { .increments_ps = increments, .timeout_ps = 8 * MEAN_PS };
	struct bf_rng rng;
	double worst = 1e9;
	bool met = true;

	if (argc > 1 && !quick) {
		fprintf(stderr, "usage: bench_event [--quick]\n");
		return 2;
	}
	load.count = quick ? 200000 : 1000000;
	printf("Event queue, million operations a second (%s)\n", quick ? "quick: rough numbers" : "best of three");
#ifndef BENCH_HAVE_SYSTEMC
	printf("left out: SystemC (no C++ compiler or no libsystemc when this was configured)\n");
#endif
#ifndef BENCH_HAVE_NS3
	printf("left out: ns-3 (no C++ compiler or no libns3-core when this was configured)\n");
#endif
	for (int rearm = 0; rearm < 2; rearm++) {
		load.rearm = rearm != 0;
		headline(rearm ? "Hold, and each operation also cancels a pending time-out and sets it again" : "Hold");
		for (uint32_t d = 0; d < (rearm ? 1 : BF_ARRAY_LEN(distributions)); d++) {
			bf_rng_init(&rng, d, "increments");
			for (uint32_t i = 0; i < BENCH_INCREMENTS; i++) {
				increments[i] = distributions[d].draw(&rng);
				if (rearm && increments[i] >= load.timeout_ps)
					increments[i] = load.timeout_ps - 1;
			}
			for (uint32_t i = 0; i < BF_ARRAY_LEN(sizes); i++) {
				load.pending = sizes[i];
				load.warm_up = load.count / 4 + 2 * sizes[i];
				if (!quick || sizes[i] == 100 || sizes[i] == 10000)
					met &= line(distributions[d].name, &load, distributions[d].peers, &worst);
			}
		}
	}
	met &= bench_at_least("event queue, the worst of these loads", worst, 1, "of a heap");
	return met ? 0 : 1;
}
