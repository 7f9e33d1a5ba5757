/*
 * What rules cost: the same IBGDA traffic with records off, with the records that rules of such a world look at and
 * nobody listening, and with those rules and nobody else listening. Rules and the records that they want are to take
 * about 30 % of the speed without records; a third, with room for noise, is the limit.
 *
 *   bench_rules [MESSAGES]
 *
 * Each figure is the best of five; times are of the processor. Exit code 1: the limit is missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "drivers/platform/platform_sim.h"

#include "drivers/backend/backend.h"
#include "drivers/ibgda/device.h"
#include "drivers/ibgda/host.h"
#include "traces/rules/rules.h"

#define PES 2u
#define WARPS 8u
#define MESSAGE 256u
#define LIMIT 0.66
#define FAMILIES "mlx5 ll shmem"

struct job {
	const struct bf_ibgda_state *state;
	uint8_t *heap;
	uint32_t count;
};

struct figure {
	double seconds;
	uint64_t records, events;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what, const struct bf_error *err)
{
	fprintf(stderr, "bench_rules: %s: %s\n", what, err->text);
	exit(2);
}

/* Puts to the other PE, each warp from and to a place of its own, quiet at the end. */
static void puts_to_peer(struct bf_thread *t, void *arg)
{
	const struct job *j = arg;
	const uint32_t peer = j->state->mype ^ 1;

	for (uint32_t n = 0; n < j->count; n++)
		if (bf_ibgda_pe_put_nbi(t, 1, j->state, peer, 0, j->heap + MESSAGE, j->heap, MESSAGE))
			return;
	bf_ibgda_pe_quiet(t, 1, j->state);
}

static struct figure measure(uint32_t messages, struct bf_sink *sink, uint32_t classes)
{
	const struct bf_backend *be = bf_backend_find("sim");
	const struct bf_world_opts wo = {
		.seed = 1, .npes = PES, .lanes = 1, .ordering = BF_ORDER_GPU, .record_mask = classes, .sink = sink
	};
	struct bf_ibgda_host_opts ho = { .num_rc_per_pe = 1, .heap_bytes = 2 * MESSAGE };
	struct bf_world_result result;
	struct bf_ibgda_host *h;
	struct job job[PES];
	struct bf_world *w;
	struct bf_error err = { 0 };
	struct figure f;

	if (be->open(&wo, &err, &w))
		die("world", &err);
	if (bf_ibgda_host_open(be, w, PES, &ho, &err, &h))
		die("connecting", &err);
	f.seconds = now_s();
	for (uint32_t pe = 0; pe < PES; pe++) {
		job[pe] = (struct job){ bf_ibgda_host_state(h, pe), bf_ibgda_host_heap(h, pe).ptr, messages / WARPS };
		be->launch(w, pe, 1, WARPS, puts_to_peer, &job[pe]);
	}
	if (be->run(w, &result) || result.end != BF_END_DONE) {
		fprintf(stderr, "bench_rules: end %d\n%s", (int)result.end, result.report);
		exit(2);
	}
	f.seconds = now_s() - f.seconds;
	f.records = result.records;
	f.events = result.events;
	bf_ibgda_host_close(h);
	be->close(w);
	return f;
}

/* The best of five: off, records only, or with rules. */
enum listener { OFF, RECORDS, RULES };
static struct figure best(uint32_t messages, enum listener who, uint32_t classes)
{
	const struct bf_rules_opts opts = { .families = FAMILIES };
	struct figure least = { 0 };

	for (int i = 0; i < 5; i++) {
		struct bf_rules *rules = NULL;
		struct bf_error err = { 0 };
		struct figure f;

		if (who == RULES && bf_rules_open(&opts, &rules, &err))
			die("rules", &err);
		f = measure(messages, rules ? bf_rules_only_sink(rules) : NULL, who == OFF ? 0 : classes);
		if (rules) {
			bf_rules_finish(rules, true);
			if (bf_rules_problems(rules)) {
				fprintf(stderr, "bench_rules: %s\n", bf_rules_root(rules)->text);
				exit(2);
			}
		}
		bf_rules_free(rules);
		if (!i || f.seconds < least.seconds)
			least = f;
	}
	return least;
}

int main(int argc, char **argv)
{
	const uint32_t messages = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 40000;
	struct figure off, records, rules;
	const struct bf_rules_opts opts = { .families = FAMILIES };
	struct bf_rules *all;
	uint32_t classes;
	double speed;

	if (bf_rules_open(&opts, &all, NULL))
		return 2;
	classes = bf_rules_classes(all);
	bf_rules_free(all);
	off = best(messages, OFF, classes);
	records = best(messages, RECORDS, classes);
	rules = best(messages, RULES, classes);
	speed = off.seconds / rules.seconds;
	printf("records off             %8.3f s   %5.0f ns an event\n", off.seconds,
	       off.seconds * 1e9 / (double)off.events);
	printf("records, nobody listens %8.3f s   %.2f of that speed, %.1f ns a record\n", records.seconds,
	       off.seconds / records.seconds, (records.seconds - off.seconds) * 1e9 / (double)records.records);
	printf("records, all rules      %8.3f s   %.2f of that speed (limit %.2f), %.2f of the speed with records\n",
	       rules.seconds, speed, LIMIT, records.seconds / rules.seconds);
	return speed < LIMIT;
}
