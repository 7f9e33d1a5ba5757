/*
 * Barrier workloads: what `belfry run mbarrier-...` runs.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_MBARRIER_H
#define BELFRY_TOOLS_WORKLOADS_MBARRIER_H

#include "drivers/backend/cluster.h"
#include "drivers/mbarrier/host.h"
#include "tools/workloads/family.h"
#include "tools/workloads/hopper_profile.h"

/* Every choice of a command line; 0 where the workload has a number of its own. */
struct bf_mbar_workload {
	struct bf_mbar_job job;
	uint32_t blocks, cluster;
	enum bf_ordering ordering;
	struct bf_chooser *chooser; /* NULL: the seed */
	struct bf_stacks *stacks;   /* of earlier runs */
	char *faults;               /* NULL: none */
	uint64_t seed, limit_ps, pace_ps;
	uint32_t records; /* BF_CLASS_* */
	struct bf_hopper_profile profile;
	char profile_name[BF_HOPPER_PROFILE_NAME];
	const char *profile_text; /* as it was asked for */
	bool counts;
	uint32_t agent;     /* enum bf_mbar_agent */
	const char *ptx;    /* the file that was asked for; NULL: none */
	char ptx_path[512]; /* with BF_MBAR_AGENT_PTX: the file */
};

/* Who runs the warps: our code as C, or as nvcc compiled it. */
enum bf_mbar_agent { BF_MBAR_AGENT_GPU, BF_MBAR_AGENT_PTX };

enum bf_mbar_end { BF_MBAR_GOOD, BF_MBAR_WRONG_DATA, BF_MBAR_DEADLOCK, BF_MBAR_FAULT, BF_MBAR_LIMIT };
const char *bf_mbar_end_name(uint32_t end); /* "wrong data" */

/* What `belfry run` and `belfry explore` know of them: below, `choices` is one, `result` a bf_mbar_result. */
extern const struct bf_family bf_mbar_family;

struct bf_mbar_result {
	struct bf_result base; /* BF_MBAR_* */
	struct bf_cluster_result world;
	struct bf_mbar_verdict verdict; /* of a run that came to its end */
	uint64_t notes_hash;            /* of all words and tokens */
};

/*
 * Runs them in a world of its own, records going to `sink` (may be NULL). 0 when it ran, however it ended;
 * negative errno with `err` set otherwise.
 */
int bf_mbar_workload_run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err);

#endif
