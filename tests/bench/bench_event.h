/*
 * What bench_event.c and its peers in C++ agree on. The load, in both kinds of run: `pending` actors, each of which is
 * due, is taken up, and is due again after the next increment of the table. `rearm` adds one time-out for each
 * actor, cancelled and set again `timeout_ps` ahead each time the actor is taken up. Increments are shorter, so that it
 * never expires.
 */
#ifndef BELFRY_TESTS_BENCH_EVENT_H
#define BELFRY_TESTS_BENCH_EVENT_H

#include <stdint.h>

#define BENCH_INCREMENTS 65536u

struct bench_load {
	const uint64_t *increments_ps; /* BENCH_INCREMENTS of them, used in turn */
	uint32_t pending;
	uint32_t rearm; /* bool */
	uint64_t timeout_ps;
	uint64_t warm_up, count; /* operations before and while the clock runs */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds of processor time: everything here has one thread and never sleeps. */
double bench_seconds(void);

/*
 * The time in seconds that `count` operations took, 0 when the run failed. Each runs in a process of its own:
 * SystemC has one simulation a process. ns-3 is told which of its schedulers to use.
 */
double bench_systemc(const struct bench_load *load, const char *variant);
double bench_ns3(const struct bench_load *load, const char *variant);

#ifdef __cplusplus
}
#endif

#endif
