/*
 * One simulation on several cores: each thread has a part of the PEs, with a world of its own, as processes have under
 * `belfry launch`; they exchange what crosses a link at the end of each window.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/bootstrap.h"
#include "tools/workloads/ibgda.h"

/* What one thread made of its part. */
struct core {
	struct bf_run_result result;
	struct bf_error err;
	int rc;
};

struct cores {
	const struct bf_workload *w;
	struct core *core; /* [w->cores] */
};

static int run_part(struct bf_boot *boot, void *arg)
{
	struct cores *all = arg;
	struct core *c = &all->core[boot->pe];
	struct bf_workload part = *all->w;

	part.cores = 1;
	part.ranks = boot;
	part.stacks = NULL; /* they belong to one thread */
	c->rc = bf_workload_run(&part, NULL, &c->result, &c->err);
	return c->rc;
}

/* All tell the same result; of failures the one that others were only told of. */
static int take(struct cores *all, int rc, struct bf_run_result *out, struct bf_error *err)
{
	const uint32_t n = all->w->cores;
	uint32_t said = 0;

	*out = all->core[0].result;
	for (uint32_t i = 1; i < n; i++) {
		free(all->core[i].result.pe_hashes);
		bf_counts_free(all->core[i].result.base.counts);
	}
	if (!rc)
		return 0;
	while (said < n && (!all->core[said].rc || all->core[said].rc == -ECONNRESET))
		said++;
	return said < n ? bf_fail(err, all->core[said].rc, "%s", all->core[said].err.text) : rc;
}

int bf_workload_run_on_cores(const struct bf_workload *w, struct bf_run_result *out, struct bf_error *err)
{
	struct cores all = { .w = w, .core = calloc(w->cores, sizeof(*all.core)) };
	int rc;

	if (!all.core)
		return bf_fail(err, -ENOMEM, "no memory for %u cores", w->cores);
	rc = take(&all, bf_boot_threads_run(w->cores, run_part, &all, err), out, err);
	free(all.core);
	return rc;
}
