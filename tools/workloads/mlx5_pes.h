/*
 * Workloads on PEs that have IBGDA and bring kernels and checks of their own: what `belfry run ll-...` and `shmem-...`
 * share. As tools/workloads/ibgda.h, which see: a struct holds every choice, the same choices give the same run. The
 * struct of a family begins with struct bf_pes, `pes`; the family says in a table what is its own.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_MLX5_PES_H
#define BELFRY_TOOLS_WORKLOADS_MLX5_PES_H

#include "tools/workloads/mlx5_profile.h"
#include "tools/workloads/ibgda.h"

struct bf_pes_family;

/* Most are members of the rows of BF_PES_OPTIONS; meanings stand there. */
struct bf_pes {
	const struct bf_pes_family *family;
	const char *name; /* of the workload */
	uint32_t work;    /* index into the family's */
	const struct bf_backend *backend;
	enum bf_ordering ordering;
	struct bf_chooser *chooser; /* NULL: the seed */
	struct bf_stacks *stacks;   /* of earlier runs */
	uint32_t records;           /* BF_CLASS_* */
	uint64_t bugs, own_bugs;    /* BF_IBGDA_BUG_*; the family's */
	uint64_t suspects;          /* BF_IBGDA_SUSPECT_* */
	struct bf_mlx5_profile profile;
	const char *profile_text;
	char *faults;         /* owned text of the plan, NULL = none */
	const char *topology; /* NULL: one ideal switch */
	uint64_t seed, limit_ps;
	uint32_t pes, qps, flavour, layout, place, depth, batch, ibuf_slots;
	uint64_t granule;
	uint32_t granules_per_mr;
	bool plain_cq;
	uint32_t ack_timeout, retries;
	bool counts; /* no option of its own: somebody wants bf_result.counts */
};

/* Rows of the options of a family whose choices are struct T, with its own defaults. */
#define BF_PES_OPTIONS(T, PES, QPS, FLAVOUR, DEPTH)                                                                    \
	BF_OPT_OF(T, "seed", U64, "N", "1", "seed of everything random; explore starts with it", 0, 0, pes.seed),      \
	    BF_OPT_OF(T, "limit", TIME, "TIME", "100s", "simulated time after which a run counts as hung", 0, 0,       \
		      pes.limit_ps),                                                                                   \
	    BF_OPT_OF(T, "pes", U64, "N", PES, "processing elements, each with memory, GPU and NIC", 2, 4096,          \
		      pes.pes),                                                                                        \
	    BF_OPT_OF(T, "qps", U64, "N", QPS, "queue pairs from each PE to each other; 0: what is needed", 0, 1024,   \
		      pes.qps),                                                                                        \
	    BF_OPT_OF(T, "flavour", ENUM, "nvshmem|deepep", FLAVOUR, "whose rules the device code follows", 0, 0,      \
		      pes.flavour),                                                                                    \
	    BF_OPT_OF(T, "layout", ENUM, "l1|l2|l3", "l3",                                                             \
		      "order of the queue tables: as NVSHMEM 3.5, as 3.4, or with receive queues", 0, 0, pes.layout),  \
	    BF_OPT_OF(T, "place", ENUM, "host|gpu", "gpu", "where rings, records and completion queues are", 0, 0,     \
		      pes.place),                                                                                      \
	    BF_OPT_OF(T, "depth", U64, "N", DEPTH, "WQEBBs in a send ring, power of two; 0: what is needed", 0, 32768, \
		      pes.depth),                                                                                      \
	    BF_OPT_OF(T, "batch", U64, "N", "32", "requests per doorbell, power of two", 1, 32768, pes.batch),         \
	    BF_OPT_OF(T, "ibuf-slots", U64, "N", "1024", "slots for fetched results, power of two", 32, 1u << 20,      \
		      pes.ibuf_slots),                                                                                 \
	    BF_OPT_OF(T, "granule", U64, "BYTES", "2097152", "granule of the key tables, power of two", 4096,          \
		      1u << 30, pes.granule),                                                                          \
	    BF_OPT_OF(T, "granules-per-mr", U64, "N", "0", "granules in each memory region; 0: one region in all", 0,  \
		      1u << 20, pes.granules_per_mr),                                                                  \
	    BF_OPT_OF(T, "plain-cq", FLAG, NULL, NULL,                                                                 \
		      "completion queues are rings instead of one entry that is overwritten", 0, 0, pes.plain_cq),     \
	    BF_OPT_OF(T, "ack-timeout", U64, "N", "20", "retransmission time-out: 4.096 us * 2^N", 1, 31,              \
		      pes.ack_timeout),                                                                                \
	    BF_OPT_OF(T, "retries", U64, "N", "7", "retransmissions before a queue pair fails", 1, 7, pes.retries),    \
	    BF_OPT_NAMING(T, "profile", "NAME[,FIELD=N]", "cx7", "device timing", pes.profile_text,                    \
			  bf_mlx5_work_profile_name),                                                                  \
	    BF_OPT_OF(T, "topology", TEXT, "TEXT", "switch", "switches, e.g. 'leaf-spine leaves=4 spines=2'", 0, 0,    \
		      pes.topology)

/* Words of the queues' own steps; a family has its own before them. */
#define BF_PES_WORDS(T)                                                                                                \
	{ BF_WORDS("bug", NULL, bf_ibgda_bugs, struct bf_ibgda_bug, T, pes.bugs) },                                    \
	    { BF_WORDS("bug", NULL, bf_ibgda_suspects, struct bf_ibgda_suspect, T, pes.suspects) },                    \
	{                                                                                                              \
		.option = NULL                                                                                         \
	}

#define BF_PES_FIGURES 512

/* `run` as ibgda.h says; figures are the family's own numbers. */
struct bf_pes_result {
	struct bf_run_result run;
	uint32_t nfigures;
	uint64_t figures[BF_PES_FIGURES];
};

/* A world with its driver state, while it lasts. */
struct bf_pes_arena {
	const struct bf_pes *p;
	struct bf_world *world;
	struct bf_ibgda_host *host;
	void **heaps; /* [pes] */
	void *own;    /* the family's */
};

struct bf_pes_family {
	void (*fill)(struct bf_pes *p); /* chooses what the command line left open; may be NULL */
	/* Whether the choices fit each other, beyond those of struct bf_pes. */
	int (*check)(const struct bf_pes *p, struct bf_error *err);
	uint64_t (*heap_bytes)(const struct bf_pes *p);
	/* Makes a->own, launches a kernel on each PE; a->heaps are zero. close() frees a->own, which may be NULL. */
	int (*launch)(struct bf_pes_arena *a, struct bf_error *err);
	void (*close)(struct bf_pes_arena *a);
	/* After a run that ended: fills in mismatch, what was verified, and figures. 0, -EBADMSG, -ENOMEM. */
	int (*verify)(const struct bf_pes_arena *a, struct bf_pes_result *r);
	/* After the common lines of a good run. */
	void (*print)(FILE *out, const struct bf_pes *p, const struct bf_pes_result *r);
	void (*json)(struct bf_json *j, const struct bf_pes *p, const struct bf_pes_result *r);
};

/*
 * The functions of the row. bf_pes_run() runs in a world of its own; `result` is a bf_pes_result. 0 when it ran,
 * however it ended; a negative errno with `err` set otherwise.
 */
int bf_pes_fill(const struct bf_family *f, const struct bf_args *args, void *choices, struct bf_error *err);
int bf_pes_settle(const struct bf_args *args, void *choices);
int bf_pes_check(const void *choices, struct bf_error *err);
int bf_pes_run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err);
void bf_pes_print(const void *choices, const void *outcome, bool stats);
void bf_pes_json(struct bf_json *j, const void *choices, const void *outcome);
void bf_pes_json_options(struct bf_json *j, const void *choices);
void bf_pes_list(struct bf_json *j);

/* What all rows of such families have; choices are struct T, which begins with struct bf_pes. */
#define BF_PES_ROW(T, parts_)                                                                                          \
	.search.choice_bytes = sizeof(T), .search.result_bytes = sizeof(struct bf_pes_result),                         \
	.search.seed = { BF_MEMBER(T, pes.seed), 0 }, .search.ordering = { BF_MEMBER(T, pes.ordering), 0 },            \
	.search.chooser = { BF_MEMBER(T, pes.chooser), 0 }, .search.stacks = { BF_MEMBER(T, pes.stacks), 0 },          \
	.search.verdict = bf_family_verdict, .search.check = bf_pes_check, .search.run = bf_pes_run,                   \
	.search.parts = parts_, .search.nparts = BF_ARRAY_LEN(parts_), .records = { BF_MEMBER(T, pes.records), 0 },    \
	.counts = { BF_MEMBER(T, pes.counts), 0 }, .work = { BF_MEMBER(T, pes.work), 0 },                              \
	.backend = { BF_MEMBER(T, pes.backend), 0 }, .faults = { BF_MEMBER(T, pes.faults), 0 },                        \
	.device = BF_DEVICE_MLX5, .fill = bf_pes_fill, .settle = bf_pes_settle, .verdict_name = bf_verdict_name,       \
	.print = bf_pes_print, .json = bf_pes_json, .json_options = bf_pes_json_options,                               \
	.print_failure = bf_run_print_failure, .json_failure = bf_run_json_failure, .list = bf_pes_list

#endif
