/*
 * Barrier workloads: what `belfry run mbarrier-...` runs.
 */
#ifndef BELFRY_TOOLS_WORKLOAD_MBARRIER_H
#define BELFRY_TOOLS_WORKLOAD_MBARRIER_H

#include "drivers/backend/cluster.h"
#include "drivers/mbarrier/host.h"
#include "tools/cli.h"
#include "tools/counts.h"
#include "tools/findings.h"
#include "tools/hopper_profile.h"

/* Every choice of a command line; 0 where the workload has a number of its own. */
struct bf_mbar_workload {
	struct bf_mbar_job job;
	uint32_t blocks, cluster;
	enum bf_ordering ordering;
	uint64_t seed, limit_ps, pace_ps;
	uint32_t records; /* BF_CLASS_* */
	struct bf_hopper_profile profile;
	char profile_name[BF_HOPPER_PROFILE_NAME];
	const char *profile_text; /* as it was asked for; NULL: the default */
	bool counts;
};

enum bf_mbar_end { BF_MBAR_GOOD, BF_MBAR_WRONG_DATA, BF_MBAR_DEADLOCK, BF_MBAR_FAULT, BF_MBAR_LIMIT };
const char *bf_mbar_end_name(enum bf_mbar_end end); /* "wrong data" */

struct bf_mbar_result {
	enum bf_mbar_end end;
	struct bf_cluster_result world;
	struct bf_mbar_verdict verdict; /* of a run that came to its end */
	uint64_t notes_hash;            /* of all words and tokens */
	uint64_t wall_ns;
	struct bf_counts *counts; /* the caller's to free; NULL unless asked for */
};

/* The command line that runs `w` again, options at their default left out. Truncated to `cap`. */
void bf_mbar_workload_command(const struct bf_mbar_workload *w, char *buf, size_t cap);

/*
 * Runs `w` in a world of its own, records going to `sink` (may be NULL). `notes`, if not NULL, gets a copy of what the
 * threads noted, which the caller frees. 0 when it ran, however it ended; negative errno with `err` set otherwise.
 */
int bf_mbar_workload_run(const struct bf_mbar_workload *w, struct bf_sink *sink, struct bf_mbar_note **notes,
			 struct bf_mbar_result *out, struct bf_error *err);

/* Runs `w` once more with all records that rules ask for; `out` stays empty when they find nothing. */
void bf_mbar_cause_of(const struct bf_mbar_workload *w, struct bf_cause *out);

/* What is wrong with a run that did not end well, and how its barriers and warps stand; nothing for one that did. */
void bf_mbar_print_failure(FILE *out, const struct bf_mbar_result *r);
void bf_mbar_json_failure(struct bf_json *j, const struct bf_mbar_result *r);

#endif
