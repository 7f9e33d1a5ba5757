/* Running a barrier workload: a world, its memory, the grid, and what came out of it. */
#include "tools/workloads/mbarrier.h"

#include <errno.h>
#include <string.h>

#include "drivers/mbarrier/kernels.h"
#include "sim/clock.h"

const char *bf_mbar_end_name(uint32_t end)
{
	static const char *const names[] = {
		[BF_MBAR_GOOD] = "good",   [BF_MBAR_WRONG_DATA] = "wrong data", [BF_MBAR_DEADLOCK] = "deadlock",
		[BF_MBAR_FAULT] = "fault", [BF_MBAR_LIMIT] = "time limit",
	};

	return names[end];
}

/* FNV-1a, over bytes. */
static uint64_t hash_of(const void *data, size_t len)
{
	const uint8_t *at = data;
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ at[i]) * 0x100000001b3u;
	return h;
}

/* Input, output and notes, in memory of the world. */
struct arena {
	struct bf_cluster_world *world;
	struct bf_memory in, out, notes;
	struct bf_mbar_job job;
};

static int set_up(struct arena *a, const struct bf_mbar_workload *w, struct bf_sink *sink, struct bf_error *err)
{
	const struct bf_cluster_opts opts = {
		.seed = w->seed,
		.ordering = w->ordering,
		.chooser = w->chooser,
		.stacks = w->stacks,
		.faults = w->faults,
		.profile = &w->profile,
		.limit_ps = w->limit_ps,
		.record_mask = w->records,
		.sink = sink,
		.ptx = w->agent == BF_MBAR_AGENT_PTX ? w->ptx_path : NULL,
	};
	const uint64_t bytes = bf_mbar_data_bytes(&w->job, w->blocks);
	const uint64_t notes = (uint64_t)bf_mbar_notes(&w->job) * w->blocks * sizeof(struct bf_mbar_note);
	int rc = bf_cluster_open(&opts, err, &a->world);

	if (!rc)
		rc = bf_cluster_alloc(a->world, bytes, "input", &a->in);
	if (!rc)
		rc = bf_cluster_alloc(a->world, bytes, "output", &a->out);
	if (!rc)
		rc = bf_cluster_alloc(a->world, notes, "notes", &a->notes);
	if (rc)
		return rc;
	a->job = w->job;
	a->job.seed = (uint32_t)w->seed;
	a->job.in = a->in.ptr;
	a->job.out = a->out.ptr;
	a->job.notes = a->notes.ptr;
	bf_mbar_fill(&a->job, w->blocks, a->in.ptr);
	return 0;
}

static enum bf_mbar_end judge(const struct arena *a, const struct bf_mbar_workload *w, struct bf_mbar_result *r)
{
	switch (r->world.end) {
	case BF_CLUSTER_HUNG:
		return BF_MBAR_DEADLOCK;
	case BF_CLUSTER_FAULT:
		return BF_MBAR_FAULT;
	case BF_CLUSTER_LIMIT:
		return BF_MBAR_LIMIT;
	case BF_CLUSTER_DONE:
		break;
	}
	bf_mbar_verify(&a->job, w->cluster, w->blocks, a->in.ptr, a->out.ptr, a->notes.ptr, &r->verdict);
	r->notes_hash = hash_of(a->notes.ptr, (size_t)bf_mbar_notes(&w->job) * w->blocks * sizeof(struct bf_mbar_note));
	return r->verdict.wrong ? BF_MBAR_WRONG_DATA : BF_MBAR_GOOD;
}

int bf_mbar_workload_run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err)
{
	const struct bf_mbar_workload *w = choices;
	struct bf_mbar_result *out = result;
	struct arena a = { 0 };
	const uint64_t began = bf_monotonic_ns();
	int rc = set_up(&a, w, sink, err);

	memset(out, 0, sizeof(*out));
	if (!rc) {
		const struct bf_cluster_grid grid = {
			.clusters = w->blocks / w->cluster,
			.ctas = w->cluster,
			.warps = bf_mbar_warps(&a.job),
			.shared_bytes = bf_mbar_shared_bytes(&a.job),
			.kernel = bf_mbar_kernel(BF_PLATFORM_SIM),
			.arg = &a.job,
			.ptx_kernel = "belfry_mbarrier",
			.arg_bytes = sizeof(a.job),
		};

		rc = bf_cluster_run(a.world, &grid, &out->world);
	}
	out->base.wall_ns = bf_monotonic_ns() - began;
	if (!rc) {
		out->base.verdict = judge(&a, w, out);
		if (w->counts) {
			out->base.counts = bf_counts_take(bf_cluster_sim(a.world));
			if (!out->base.counts)
				rc = bf_fail(err, -ENOMEM, "no memory for statistics");
		}
	}
	bf_cluster_close(a.world);
	return rc;
}
