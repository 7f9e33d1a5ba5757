/*
 * What `belfry bench` collects: figures against their limits, "limit | WHAT | VALUE | LIMIT | met", and beside what
 * others reach, "peer | WHAT | VALUE | THEIRS | RATIO".
 */
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

/* `who` says where `theirs` is from; of one that was not measured in this run, that too. Both in `unit`. */
static inline void bench_peer(const char *what, double ours, double theirs, const char *unit, const char *who)
{
	printf("peer | %s | %.*f %s | %s: %g %s | %.*f times\n", what, ours < 10 ? 2 : 0, ours, unit, who, theirs, unit,
	       ours < 10 * theirs ? 1 : 0, ours / theirs);
}

#endif
