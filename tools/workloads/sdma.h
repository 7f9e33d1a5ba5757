/*
 * SDMA workloads: what `belfry run sdma-...` runs.
 *
 * A workload is a plan: for each thread a list of steps, and beside it what every byte of every heap must be in the
 * end, computed by plain loops while the plan is made.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_SDMA_H
#define BELFRY_TOOLS_WORKLOADS_SDMA_H

#include "drivers/backend/backend.h"
#include "drivers/sdma/host.h"
#include "models/sdma/sdma.h"
#include "tools/workloads/family.h"

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
	uint64_t bugs;    /* BF_SDMA_BUG_* */
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

/* O(name, kind, argument, default, help, least, most, member): options that are members of struct bf_sdma_workload. */
#define BF_SDMA_OPTIONS(O)                                                                                             \
	O("gen", ENUM, "v4|v5|v6|v7|v7.1", "v6", "generation: gfx9, gfx10, gfx11, gfx12, gfx1250", 0, 0, gen)          \
	O("ordering", ENUM, "sc|tso|gpu|adversarial", "gpu", "how late stores become visible", 0, 0, ordering)         \
	O("seed", U64, "N", "1", "seed of everything random", 0, 0, seed)                                              \
	O("limit", TIME, "TIME", "100s", "simulated time after which a run counts as hung", 0, 0, limit_ps)            \
	O("pes", U64, "N", "0", "processing elements, each with memory and a copy engine; 0: as the workload has it",  \
	  0, 16, pes)                                                                                                  \
	O("queues", U64, "N", "0", "user queues of each engine; 0: as the workload has it", 0, 64, queues)             \
	O("producers", U64, "N", "0", "threads that submit, on queue i % queues; 0: as the workload has it", 0, 256,   \
	  producers)                                                                                                   \
	O("commands", U64, "N", "0", "submissions of each thread; 0: as the workload has it", 0, 1u << 20, commands)   \
	O("size", U64, "BYTES", "0", "of one transfer, a multiple of 8; 0: as the workload has it", 0, 1u << 30, size) \
	O("hops", U64, "N", "0", "sdma-copy: copies in a row, each of what the one before wrote", 0, 8, hops)          \
	O("gang", U64, "N", "0", "sdma-fence: copies on other queues that a completion waits for", 0, 4, gang)         \
	O("element", U64, "BYTES", "0", "sdma-rect: element size 1, 2, 4, 8 or 16; 0: each of them", 0, 16, element)   \
	O("ring", U64, "BYTES", "0", "of a ring, power of two; 0: as the workload has it", 0, 1u << 30, ring)          \
	O("place", ENUM, "host|gpu", "host", "where the data lie", 0, 0, place)                                        \
	O("wrapped", FLAG, NULL, NULL, "indices of 32 bits that wrap, as before gfx9", 0, 0, wrapped)                  \
	O("exact-fit", FLAG, NULL, NULL, "fill the ring to its last dword, as KFDTest does and ROCr does not", 0, 0,   \
	  exact_fit)                                                                                                   \
	O("wait-idle", FLAG, NULL, NULL, "let the engine catch up before each doorbell (HSA_SDMA_WAIT_IDLE)", 0, 0,    \
	  wait_idle)                                                                                                   \
	O("fences", FLAG, NULL, NULL, "signal by FENCE, as without 64-bit PCIe atomics", 0, 0, fences)                 \
	O("strict", FLAG, NULL, NULL, "what no document defines (overlap, rows run together) stops the queue", 0, 0,   \
	  strict)

/* The options that bf_sdma_workload_parse() reads, and --trace and --list: rows of a table. */
#define BF_SDMA_OPT_(oname, okind, oarg, odefault, ohelp, omin, omax, member)                                          \
	{ .name = oname,                                                                                               \
	  .kind = BF_OPT_##okind,                                                                                      \
	  .arg = oarg,                                                                                                 \
	  .initial = odefault,                                                                                         \
	  .help = ohelp,                                                                                               \
	  .min = omin,                                                                                                 \
	  .max = omax },
#define BF_SDMA_OPT_TEXT(oname, okind, oarg, odefault, ohelp)                                                          \
	{                                                                                                              \
		.name = oname, .kind = BF_OPT_##okind, .arg = oarg, .initial = odefault, .help = ohelp                 \
	}
#define BF_SDMA_OPT_TABLE                                                                                              \
	BF_SDMA_OPTIONS(BF_SDMA_OPT_)                                                                                  \
	BF_SDMA_OPT_TEXT("bug", MULTI, "NAME", NULL, "a step done wrong on purpose"),                                  \
	    BF_SDMA_OPT_TEXT("backend", TEXT, "NAME", "sim", "who provides the engines, or auto"),                     \
	    BF_SDMA_OPT_TEXT("part", TEXT, "gfxNNN", NULL,                                                             \
			     "what ROCr does for this part, and its generation: gfx900, gfx908, gfx90a, ..."),         \
	    BF_SDMA_OPT_TEXT("profile", TEXT, "NAME[,FIELD=N]", NULL,                                                  \
			     "engine timing; the generation's own if not given"),                                      \
	    BF_SDMA_OPT_TEXT("faults", TEXT, "PLAN|@FILE", NULL, "fault plan, e.g. 'dma-fault prob=0.01'"),            \
	    BF_SDMA_OPT_TEXT("trace", OUT, "FILE", NULL, "write a trace; *.jsonl: as JSON Lines"),                    \
	    BF_SDMA_OPT_TEXT("list", FLAG, NULL, NULL, "list the SDMA workloads and bugs")

/*
 * Fills `w` from the command line, records and counts left out. Returns BF_EXIT_GOOD, or the exit code after reporting
 * what is wrong; `w->faults` is the caller's to free either way.
 */
int bf_sdma_workload_parse(const struct bf_args *args, struct bf_sdma_workload *w);
/* What --list prints. Exit code. */
int bf_sdma_workload_list(const struct bf_args *args);

const char *bf_sdma_work_name(enum bf_sdma_work work); /* "sdma-rect"; NULL past the last */
const char *bf_sdma_work_summary(enum bf_sdma_work work);

/* The command line that runs `w` again, options at their default left out. Truncated to `cap`. */
void bf_sdma_workload_command(const void *w, char *buf, size_t cap);

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
const char *bf_sdma_verdict_name(uint32_t v);

/* What `belfry run` and `belfry explore` know of them: below, `w` is one, `result` a bf_sdma_result. */
extern const struct bf_family bf_sdma_family;

/* Where a queue stands: its producers, and the engine. */
struct bf_sdma_queue_standing {
	uint32_t pe, queue;
	uint64_t reserved, published, wptr, rptr; /* wptr and rptr as they lie in memory */
	struct bf_sdma_standing engine;
};

#define BF_SDMA_QUEUES_SHOWN 16u

struct bf_sdma_result {
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
	struct bf_sdma_queue_standing queues[BF_SDMA_QUEUES_SHOWN];
	char info[4096]; /* what the workload has to say of its parameters */
};

/*
 * Runs `w` in a world of its own, records going to `sink` (may be NULL). 0 when it ran, however it ended; a negative
 * errno with `err` set when it could not start.
 */
int bf_sdma_workload_run(const void *w, struct bf_sink *sink, void *result, struct bf_error *err);

/* Of a failure: what is wrong, and where queues stand. Nothing for a good run. */
void bf_sdma_print_failure(FILE *out, const void *result);
void bf_sdma_json_failure(struct bf_json *j, const void *result);

#endif
