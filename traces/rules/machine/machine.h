/* Facts of threads, whatever they drive: who has not ended, and what it waits for. */
#ifndef BELFRY_TRACES_RULES_MACHINE_MACHINE_H
#define BELFRY_TRACES_RULES_MACHINE_MACHINE_H

#include "traces/rules/rule.h"

/* A thread that has begun. Threads that share a place are forgotten but for the last one. */
#define BF_MACHINE_THREADS 4096u
struct bf_machine_thread {
	uint32_t actor, pe;
	bool runs, waits;
	uint64_t since_ps, record; /* of the wait */
	char what[33];             /* that it waits for */
};

struct bf_machine {
	struct bf_machine_thread thread[BF_MACHINE_THREADS];
	uint64_t started, ended, deadlocked;
	bool failed; /* set-up was refused, or the run was stopped */
};

extern const struct bf_rule_family bf_rules_machine;

/* The thread that has waited longest without having ended; NULL: none waits. `*n`: how many wait. */
const struct bf_machine_thread *bf_machine_waits(const struct bf_machine *m, uint64_t *n);

#endif
