/* A figure against its limit, in the form that `belfry bench` collects: "limit | WHAT | VALUE | LIMIT | met". */
#ifndef BELFRY_TESTS_BENCH_LIMIT_H
#define BELFRY_TESTS_BENCH_LIMIT_H

#include <stdbool.h>
#include <stdio.h>

static inline bool bench_limit(const char *what, double value, const char *relation, double limit, const char *unit,
			       bool met)
{
	printf("limit | %s | %.*f %s | %s %g %s | %s\n", what, value < 10 ? 2 : 0, value, unit, relation, limit, unit,
	       met ? "met" : "missed");
	return met;
}

/* True when it is met. `unit` is of both. */
static inline bool bench_at_most(const char *what, double value, double limit, const char *unit)
{
	return bench_limit(what, value, "at most", limit, unit, value <= limit);
}

static inline bool bench_at_least(const char *what, double value, double limit, const char *unit)
{
	return bench_limit(what, value, "at least", limit, unit, value >= limit);
}

#endif
