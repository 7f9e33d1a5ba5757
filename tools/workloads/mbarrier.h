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
	uint64_t seed, limit_ps, pace_ps;
	uint32_t records; /* BF_CLASS_* */
	struct bf_hopper_profile profile;
	char profile_name[BF_HOPPER_PROFILE_NAME];
	const char *profile_text; /* as it was asked for; NULL: the default */
	bool counts;
};

/* O(name, kind, argument, default, help, least, most, member): the numeric options, in text order of the help. */
#define BF_MBAR_OPTIONS(O)                                                                                             \
	O("seed", U64, "N", "1", "seed of everything random", 0, UINT32_MAX, seed)                                     \
	O("limit", TIME, "TIME", "1s", "simulated time after which a run counts as hung", 0, 0, limit_ps)              \
	O("ctas", U64, "N", "0", "blocks, one an SM; 0: one cluster", 0, 132, blocks)                                  \
	O("cluster", U64, "N", "0", "blocks of a cluster; 0: as the workload has it", 0, 16, cluster)                  \
	O("stages", U64, "N", "0", "stages of the pipeline; 0: as the workload has it", 0, 16, job.stages)             \
	O("bytes", U64, "BYTES", "0", "of a tile; 0: 4096", 0, 1u << 20, job.bytes)                                    \
	O("warps", U64, "N", "0", "consumer warps (of each group); 0: as the workload has it", 0, 31, job.consumers)   \
	O("producers", U64, "N", "0", "mbarrier-ring: producer warps; 0: 2", 0, 30, job.producers)                     \
	O("iterations", U64, "N", "0", "tiles of each block, or rounds; 0: 16", 0, 1u << 24, job.iterations)           \
	O("barriers", U64, "N", "0", "mbarrier-stress: shared barriers; 0: 24", 0, 64, job.barriers)                   \
	O("style", ENUM, "one|guide", "one",                                                                           \
	  "mbarrier-pipeline: who arrives on a full barrier, the thread that loads or all threads", 0, 0, job.style)   \
	O("by-barrier", FLAG, NULL, NULL, "mbarrier-ampere: barriers that are polled in place of groups", 0, 0,        \
	  job.by_barrier)                                                                                              \
	O("lane-waits", FLAG, NULL, NULL, "one lane of a warp waits (and polls) for 32 that would park", 0, 0,         \
	  job.lane_waits)                                                                                              \
	O("pace", TIME, "TIME", "0ps", "pause of the producer before each tile", 0, 0, pace_ps)                        \
	O("lag", U64, "N", "0", "mbarrier-ring: 1 in N tiles takes a consumer 2 us longer; 0: none", 0, 1u << 20,      \
	  job.lag)

/* The options that bf_mbar_workload_parse() reads, and --trace and --list: rows of a table. */
#define BF_MBAR_OPT_(oname, okind, oarg, odefault, ohelp, omin, omax, member)                                          \
	{ .name = oname,                                                                                               \
	  .kind = BF_OPT_##okind,                                                                                      \
	  .arg = oarg,                                                                                                 \
	  .initial = odefault,                                                                                         \
	  .help = ohelp,                                                                                               \
	  .min = omin,                                                                                                 \
	  .max = omax },
#define BF_MBAR_OPT_TEXT(oname, okind, oarg, odefault, ohelp)                                                          \
	{                                                                                                              \
		.name = oname, .kind = BF_OPT_##okind, .arg = oarg, .initial = odefault, .help = ohelp                 \
	}
#define BF_MBAR_OPT_TABLE                                                                                              \
	BF_MBAR_OPTIONS(BF_MBAR_OPT_)                                                                                  \
	BF_MBAR_OPT_TEXT("bug", MULTI, "NAME", NULL, "a step done wrong on purpose"),                                  \
	    BF_MBAR_OPT_TEXT("profile", TEXT, "NAME[,FIELD=N]|FILE.json", "h200",                                      \
			     "sizes and timing of the sync unit and copy engine"),                                     \
	    BF_MBAR_OPT_TEXT("trace", OUT, "FILE", NULL, "write a trace; *.jsonl: as JSON Lines"),                    \
	    BF_MBAR_OPT_TEXT("list", FLAG, NULL, NULL, "list the barrier workloads, profiles and bugs")

/* What --list prints. Exit code. */
int bf_mbar_workload_list(const struct bf_args *args);

/*
 * Fills `w` from the command line; ordering and records are left at their defaults. Returns BF_EXIT_GOOD, or the exit
 * code after reporting what is wrong.
 */
int bf_mbar_workload_parse(const struct bf_args *args, struct bf_mbar_workload *w);

/* Each choice as a member of the open JSON object. */
void bf_mbar_workload_json(struct bf_json *j, const struct bf_mbar_workload *w);

enum bf_mbar_end { BF_MBAR_GOOD, BF_MBAR_WRONG_DATA, BF_MBAR_DEADLOCK, BF_MBAR_FAULT, BF_MBAR_LIMIT };
const char *bf_mbar_end_name(uint32_t end); /* "wrong data" */

/* What `belfry run` and `belfry explore` know of them: below, `w` is one, `result` a bf_mbar_result. */
extern const struct bf_family bf_mbar_family;

struct bf_mbar_result {
	struct bf_result base; /* BF_MBAR_* */
	struct bf_cluster_result world;
	struct bf_mbar_verdict verdict; /* of a run that came to its end */
	uint64_t notes_hash;            /* of all words and tokens */
};

/* The command line that runs `w` again, options at their default left out. Truncated to `cap`. */
void bf_mbar_workload_command(const void *w, char *buf, size_t cap);

/*
 * Runs `w` in a world of its own, records going to `sink` (may be NULL). 0 when it ran, however it ended; negative
 * errno with `err` set otherwise.
 */
int bf_mbar_workload_run(const void *w, struct bf_sink *sink, void *result, struct bf_error *err);

#endif
