/*
 * Grids of clusters whose device code is PTX: what nvcc made of our drivers, run by models/ptx on the same kind of GPU,
 * in the same memory and under the same ordering as the C code's lanes. Its blocks have units and copy engines in a GPU
 * of the PTX device's own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/cluster_internal.h"
#include "drivers/backend/ptx.h"
#include "drivers/backend/ptx_world_internal.h"
#include "sim/stats.h"

/* A kernel's fault ends the run. */
static void grid_ended(void *arg, bool failed)
{
	if (failed)
		bf_ptx_device_stop_run(arg);
}

static int load(struct bf_cluster_world *w)
{
	const struct bf_ptx_device_opts opts = {
		.space = w->space, .domain = w->domain, .ordering = w->opts.ordering, .profile = w->opts.profile
	};
	struct bf_ptx_source source = { .name = w->opts.ptx };
	char *text;
	int rc = bf_ptx_drivers_read(w->opts.ptx, w->err, &text, &source.len);

	if (rc)
		return rc;
	source.text = text;
	rc = bf_ptx_device_create(w->sim, &opts, &w->ptx);
	if (!rc)
		rc = bf_ptx_device_load(w->ptx, &source, 1, &w->drivers);
	free(text);
	return rc ? bf_fail(w->err, rc, "%s", w->sim->error.text) : 0;
}

/* What the device's units have done, by the names of their statistics. */
static void count(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *hist)
{
	struct bf_cluster_result *out = arg;
	const struct {
		const char *name;
		uint64_t *to;
	} counts[] = { { "gpu.barrier_ops", &out->barrier_ops }, { "gpu.phases", &out->phases },
		       { "gpu.parked", &out->parked },           { "gpu.woken", &out->waits },
		       { "gpu.expired", &out->waits },           { "gpu.refused", &out->waits },
		       { "gpu.bulk_bytes", &out->bulk_bytes } };

	(void)unit;
	(void)hist;
	for (size_t i = 0; counter && i < BF_ARRAY_LEN(counts); i++)
		if (strcmp(name, counts[i].name) == 0)
			*counts[i].to += *counter;
}

int bf_cluster_ptx_start(struct bf_cluster_world *w, const struct bf_cluster_grid *grid)
{
	/* The block takes its shared memory from a multiple of 1024 on, and lies anywhere. */
	struct bf_ptx_launch launch = { .kernel = grid->ptx_kernel,
					.grid = { grid->clusters * grid->ctas },
					.block = { grid->threads ? grid->threads : grid->warps * BF_LANES },
					.cluster = { grid->ctas },
					.shared_bytes = grid->shared_bytes + 1024,
					.params = grid->arg,
					.param_bytes = grid->arg_bytes,
					.done = grid_ended };
	int rc = w->ptx ? 0 : load(w);

	if (rc)
		return rc;
	launch.arg = w->ptx;
	rc = bf_ptx_device_launch(w->ptx, w->drivers, &launch);
	return rc ? bf_fail(w->err, rc, "cannot start the grid: %s", w->sim->error.text) : 0;
}

void bf_cluster_ptx_report(struct bf_cluster_world *w, struct bf_cluster_result *out)
{
	bf_stats_each(w->sim, count, out);
	if (bf_ptx_device_fault(w->ptx))
		snprintf(out->report, sizeof(out->report), "%s\n", bf_ptx_device_fault(w->ptx)->text);
	else if (bf_ptx_device_busy(w->ptx))
		bf_agents_describe(w->sim, out->report, sizeof(out->report));
}

void bf_cluster_ptx_close(struct bf_cluster_world *w)
{
	bf_ptx_device_destroy(w->ptx);
	w->ptx = NULL;
}
