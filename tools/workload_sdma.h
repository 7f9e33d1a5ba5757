/*
 * SDMA workloads: what `belfry run sdma-...` runs.
 *
 * A workload is a plan: for each thread a list of steps, and beside it what every byte of every heap must be in the
 * end, computed by plain loops while the plan is made.
 */
#ifndef BELFRY_TOOLS_WORKLOAD_SDMA_H
#define BELFRY_TOOLS_WORKLOAD_SDMA_H

#include "drivers/backend/backend.h"
#include "drivers/sdma/host.h"
#include "models/sdma/sdma.h"
#include "tools/cause.h"
#include "tools/cli.h"
#include "tools/counts.h"

enum bf_sdma_work {
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
	BF_SDMA_WORKS
};

/* Every choice of a command line; 0 in `commands` to `ring` is the workload's own default, put in by the parser. */
struct bf_sdma_workload {
	enum bf_sdma_work work;
	const struct bf_backend *backend;
	enum bf_ordering ordering;
	uint32_t records; /* BF_CLASS_* */
	uint32_t bugs;    /* BF_SDMA_BUG_* */
	struct bf_sdma_profile profile;
	struct bf_sdma_caps caps;
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

const char *bf_sdma_work_name(enum bf_sdma_work work); /* "sdma-rect"; NULL past the last */
const char *bf_sdma_work_summary(enum bf_sdma_work work);

/* The command line that runs `w` again, options at their default left out. Truncated to `cap`. */
void bf_sdma_workload_command(const struct bf_sdma_workload *w, char *buf, size_t cap);

/* The same as a member "options" of the open object. */
void bf_sdma_workload_json(struct bf_json *j, const struct bf_sdma_workload *w);

enum bf_sdma_verdict {
	BF_SDMA_GOOD,
	BF_SDMA_WRONG_DATA, /* some byte is not what it must be */
	BF_SDMA_STOPPED,    /* an engine stopped at a packet */
	BF_SDMA_DEADLOCK,
	BF_SDMA_LIMIT,
	BF_SDMA_REFUSED, /* a submission was too large for the ring */
};
const char *bf_sdma_verdict_name(enum bf_sdma_verdict v);

/* Where a queue stands: its producers, and the engine. */
struct bf_sdma_queue_standing {
	uint32_t pe, queue;
	uint64_t reserved, published, wptr, rptr; /* wptr and rptr as they lie in memory */
	struct bf_sdma_standing engine;
};

#define BF_SDMA_QUEUES_SHOWN 16u

struct bf_sdma_result {
	enum bf_sdma_verdict verdict;
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
	struct bf_sdma_queue_standing queues[BF_SDMA_QUEUES_SHOWN];
	uint64_t wall_ns;
	char info[4096];          /* what the workload has to say of its parameters */
	struct bf_counts *counts; /* the caller's to free; NULL unless the workload asks */
};

/*
 * Runs `w` in a world of its own, records going to `sink` (may be NULL). 0 when it ran, however it ended; a negative
 * errno with `err` set when it could not start.
 */
int bf_sdma_workload_run(const struct bf_sdma_workload *w, struct bf_sink *sink, struct bf_sdma_result *out,
			 struct bf_error *err);

/* What a run has to say, on standard output; `stats`: what the engines counted, too. */
void bf_sdma_print_result(const struct bf_sdma_workload *w, const struct bf_sdma_result *r, bool stats);
void bf_sdma_json_result(const struct bf_sdma_workload *w, const struct bf_sdma_result *r, bool stats);

/*
 * The cause that a log of all records shows; `out` stays empty when it shows none. `wrong_va`: the first byte that is not
 * what it must be; NULL when the data are right or were not looked at.
 */
struct bf_record_log;
void bf_sdma_cause_read(const struct bf_record_log *log, const uint64_t *wrong_va, struct bf_cause *out);

/* Runs `w`, which ended in `r`, once more with all records and reads the cause from them; empty as with bf_cause_of(). */
void bf_sdma_cause_of(const struct bf_sdma_workload *w, const struct bf_sdma_result *r, struct bf_cause *out);

#endif
