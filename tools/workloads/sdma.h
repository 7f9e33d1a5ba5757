/*
 * SDMA workloads: what `belfry run sdma-...` runs.
 *
 * A workload is a plan: for each thread a list of steps, and beside it what every byte of every heap must be in the
 * end, computed by plain loops while the plan is made.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_SDMA_H
#define BELFRY_TOOLS_WORKLOADS_SDMA_H

#include "drivers/backend/backend.h"
#include "drivers/backend/sdma_world.h"
#include "drivers/sdma/host.h"
#include "models/sdma/sdma.h"
#include "tools/report/findings.h"
#include "tools/workloads/family.h"

enum bf_sdma_drv_work {
	BF_SDMA_WORK_RECT,
	BF_SDMA_WORK_TILES,
	BF_SDMA_WORK_COPY,
	BF_SDMA_WORK_FILL,
	BF_SDMA_WORK_WRITE,
	BF_SDMA_WORK_FENCE,
	BF_SDMA_WORK_QUEUES,
	BF_SDMA_WORK_CONCURRENT,
	BF_SDMA_WORK_WRAP,
	BF_SDMA_WORK_PAUSE,
	BF_SDMA_WORK_DOORBELL,
	BF_SDMA_WORK_BROADCAST,
	BF_SDMA_WORK_RESET,
	BF_SDMA_WORK_MEMCPY3D,
	BF_SDMA_WORK_WORKS
};

/* Every choice of a command line; 0 in `commands` to `ring` is the workload's own default, put in by the parser. */
struct bf_sdma_workload {
	enum bf_sdma_drv_work work;
	const struct bf_backend *backend;
	enum bf_ordering ordering;
	struct bf_chooser *chooser; /* NULL: the seed */
	struct bf_stacks *stacks;   /* of earlier runs */
	uint32_t records;           /* BF_CLASS_* */
	uint64_t bugs;              /* BF_SDMA_BUG_* */
	struct bf_sdma_profile profile;
	struct bf_sdma_drv_caps caps;
	const char *profile_text; /* what was asked for; NULL: the generation's own */
	const char *part;         /* likewise */
	char *faults;             /* owned text of the plan, NULL = none */
	uint32_t gen;
	uint64_t seed, limit_ps;
	uint32_t pes, producers, queues, commands, hops;
	uint32_t gang; /* sdma-fence: engines' copies that a submission waits for */
	uint64_t size, ring;
	uint32_t element; /* sdma-rect: bytes; 0: each of the five sizes */
	uint32_t place;
	bool wrapped, strict, exact_fit, wait_idle, fences;
	bool counts;
};

extern const struct bf_work bf_sdma_work_works[]; /* in the order of enum bf_sdma_drv_work */

enum bf_sdma_work_verdict {
	BF_SDMA_WORK_GOOD,
	BF_SDMA_WORK_WRONG_DATA, /* some byte is not what it must be */
	BF_SDMA_WORK_STOPPED,    /* an engine stopped at a packet */
	BF_SDMA_WORK_DEADLOCK,
	BF_SDMA_WORK_LIMIT,
	BF_SDMA_WORK_REFUSED, /* a submission was too large for the ring */
};
const char *bf_sdma_work_verdict_name(uint32_t v);

/* What `belfry run` and `belfry explore` know of them: below, `choices` is one, `result` a bf_sdma_work_result. */
extern const struct bf_family bf_sdma_work_family;

/* Where a queue stands: its producers, and the engine. */
struct bf_sdma_work_queue_standing {
	uint32_t pe, queue;
	uint64_t reserved, published, wptr, rptr; /* wptr and rptr as they lie in memory */
	struct bf_sdma_standing engine;
};

#define BF_SDMA_WORK_QUEUES_SHOWN 16u

struct bf_sdma_work_result {
	struct bf_result base; /* BF_SDMA_* */
	struct bf_world_result world;
	uint64_t submissions, packets; /* packets in bodies */
	uint64_t moved;                /* bytes that copies, fills and writes had to put somewhere */
	uint64_t verified;             /* bytes of all heaps that were compared */
	uint64_t paths[5];             /* sdma-memcpy3d: calls by path (enum bf_hip_path) */
	uint64_t wrong;                /* bytes */
	char wrong_text[240];          /* the first of them */
	uint64_t wrong_va;             /* its address; 0 when it is no byte */
	struct bf_cause cause;         /* what the standing of queues tells */
	uint32_t nqueues, unfinished;
	struct bf_sdma_work_queue_standing queues[BF_SDMA_WORK_QUEUES_SHOWN];
	char info[4096]; /* what the workload has to say of its parameters */
};

/*
 * Runs them in a world of its own, records going to `sink` (may be NULL). 0 when it ran, however it ended; a
 * negative errno with `err` set when it could not start.
 */
int bf_sdma_workload_run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err);

/* Of a failure: what is wrong, and where queues stand. Nothing for a good run. */
void bf_sdma_work_print_failure(FILE *out, const void *result);
void bf_sdma_work_json_failure(struct bf_json *j, const void *result);

#endif
