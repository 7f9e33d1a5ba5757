#include "tools/calibrate/mbarrier_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/cluster.h"
#include "drivers/mbarrier/kernels.h"
#include "models/hopper/profile.h"

static int run(struct bf_cluster_world *world, struct bf_mbar_job *job, uint32_t ranks, uint32_t blocks,
	       struct bf_mbar_note **notes, uint64_t *cycles, struct bf_error *err)
{
	const size_t note_bytes = (size_t)bf_mbar_notes(job) * blocks * sizeof(**notes);
	const struct bf_cluster_grid grid = { .clusters = blocks / ranks,
					      .ctas = ranks,
					      .warps = bf_mbar_warps(job),
					      .shared_bytes = bf_mbar_shared_bytes(job),
					      .kernel = bf_mbar_kernel(BF_PLATFORM_SIM),
					      .arg = job };
	struct bf_cluster_result *result = calloc(1, sizeof(*result));
	struct bf_memory in, out, log;
	struct bf_mbar_verdict verdict;
	int rc = result ? 0 : -ENOMEM;

	if (!rc)
		rc = bf_cluster_alloc(world, bf_mbar_data_bytes(job, blocks), "input", &in);
	if (!rc)
		rc = bf_cluster_alloc(world, bf_mbar_data_bytes(job, blocks), "output", &out);
	if (!rc)
		rc = bf_cluster_alloc(world, note_bytes, "notes", &log);
	if (!rc) {
		job->in = in.ptr;
		job->out = out.ptr;
		job->notes = log.ptr;
		bf_mbar_fill(job, blocks, in.ptr);
		rc = bf_cluster_run(world, &grid, result);
	}
	if (!rc && result->end != BF_CLUSTER_DONE)
		rc = bf_fail(err, -EDEADLK, "the model's run did not end: %.400s", result->report);
	if (!rc) {
		bf_mbar_verify(job, ranks, blocks, in.ptr, out.ptr, log.ptr, &verdict);
		*cycles = result->time_ps / bf_hopper_h200.cycle_ps;
		*notes = malloc(note_bytes);
		if (!*notes)
			rc = bf_fail(err, -ENOMEM, "no memory for notes");
		else
			memcpy(*notes, log.ptr, note_bytes);
		if (verdict.wrong)
			rc = bf_fail(err, -EBADMSG, "the model: %s", verdict.text);
	}
	free(result);
	return rc;
}

int bf_calibrate_model(const struct bf_mbar_job *job, uint32_t ranks, uint32_t blocks, struct bf_mbar_note **notes,
		       uint64_t *cycles, struct bf_error *err)
{
	const struct bf_cluster_opts opts = { .seed = job->seed, .ordering = BF_ORDER_SC };
	struct bf_cluster_world *world;
	struct bf_mbar_job own = *job;
	int rc = bf_cluster_open(&opts, err, &world);

	*notes = NULL;
	if (rc)
		return rc;
	rc = run(world, &own, ranks, blocks, notes, cycles, err);
	bf_cluster_close(world);
	return rc;
}
