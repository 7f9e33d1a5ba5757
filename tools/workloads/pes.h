/*
 * Workloads on PEs that have IBGDA and bring kernels and checks of their own: what `belfry run ll-...` and `shmem-...`
 * share. As tools/workloads/workload.h, which see: a struct holds every choice, the same choices give the same run. The
 * struct of a family begins with struct bf_pes; the family says in a table what is its own.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_PES_H
#define BELFRY_TOOLS_WORKLOADS_PES_H

#include "tools/workloads/explore.h"
#include "tools/workloads/workload.h"

struct bf_pes_family;

/* Fields in the order of BF_PES_OPTIONS, whose members they are; meanings stand there. */
struct bf_pes {
	const struct bf_pes_family *family;
	uint32_t work; /* index into the family's */
	const struct bf_backend *backend;
	enum bf_ordering ordering;
	uint32_t records;        /* BF_CLASS_* */
	uint64_t bugs, own_bugs; /* BF_IBGDA_BUG_*; the family's */
	uint64_t suspects;       /* BF_IBGDA_SUSPECT_* */
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

/* O(name, kind, argument, default, help, least, most, member); `P` leads to the struct bf_pes in the family's. */
#define BF_PES_OPTIONS(O, P, PES, QPS, FLAVOUR, DEPTH)                                                                 \
	O("seed", U64, "N", "1", "seed of everything random; explore: the first one", 0, 0, P.seed)                    \
	O("limit", TIME, "TIME", "100s", "simulated time after which a run counts as hung", 0, 0, P.limit_ps)          \
	O("pes", U64, "N", PES, "processing elements, each with memory, GPU and NIC", 2, 4096, P.pes)                  \
	O("qps", U64, "N", QPS, "queue pairs from each PE to each other; 0: what is needed", 0, 1024, P.qps)           \
	O("flavour", ENUM, "nvshmem|deepep", FLAVOUR, "whose rules the device code follows", 0, 0, P.flavour)          \
	O("layout", ENUM, "l1|l2|l3", "l3",                                                                            \
	  "order of the tables of queues: of NVSHMEM 3.5, of 3.4, or with receive "                                    \
	  "queues",                                                                                                    \
	  0, 0, P.layout)                                                                                              \
	O("place", ENUM, "host|gpu", "gpu", "where rings, records and completion queues lie", 0, 0, P.place)           \
	O("depth", U64, "N", DEPTH, "WQEBBs in a send ring, power of two; 0: what is needed", 0, 32768, P.depth)       \
	O("batch", U64, "N", "32", "requests per doorbell, power of two", 1, 32768, P.batch)                           \
	O("ibuf-slots", U64, "N", "1024", "slots for fetched results, power of two", 32, 1u << 20, P.ibuf_slots)       \
	O("granule", U64, "BYTES", "2097152", "granule of the key tables, power of two", 4096, 1u << 30, P.granule)    \
	O("granules-per-mr", U64, "N", "0", "granules in each memory region; 0: one region in all", 0, 1u << 20,       \
	  P.granules_per_mr)                                                                                           \
	O("plain-cq", FLAG, NULL, NULL, "completion queues are rings, not one entry written over", 0, 0, P.plain_cq)   \
	O("ack-timeout", U64, "N", "20", "retransmission time-out: 4.096 us * 2^N", 1, 31, P.ack_timeout)              \
	O("retries", U64, "N", "7", "retransmissions before a queue pair fails", 1, 7, P.retries)

/* Options that are texts: of both commands; of run alone. */
#define BF_PES_OPT_TEXTS                                                                                               \
	BF_WORKLOAD_OPT_TEXT_("bug", MULTI, "NAME", NULL, "a step done wrong on purpose"),                             \
	    BF_WORKLOAD_OPT_TEXT_("backend", TEXT, "NAME", "sim", "who provides the devices, or auto"),                \
	    BF_WORKLOAD_OPT_TEXT_("profile", TEXT, "NAME[,FIELD=N]", "cx7", "device timing"),                          \
	    BF_WORKLOAD_OPT_TEXT_("topology", TEXT, "TEXT", "switch",                                                  \
				  "switches, e.g. 'leaf-spine leaves=4 spines=2'"),                                    \
	    BF_WORKLOAD_OPT_TEXT_("faults", TEXT, "PLAN|@FILE", NULL, "fault plan, e.g. 'drop prob=0.01'"),            \
	    BF_WORKLOAD_OPT_TEXT_("trace", OUT, "FILE", NULL, "write a trace; *.jsonl: as JSON Lines"),               \
	    BF_WORKLOAD_OPT_TEXT_("list", FLAG, NULL, NULL, "list the workloads and bugs")
#define BF_PES_OPT_RUN                                                                                                 \
	BF_WORKLOAD_OPT_TEXT_("ordering", ENUM, "sc|tso|gpu|adversarial", "gpu", "how late stores become visible"),    \
	    BF_WORKLOAD_OPT_TEXT_(                                                                                     \
		"records", TEXT, "CLASS[,CLASS]", "all",                                                               \
		"what to record: meta, agent, mem, mmio, dma, queue, net, fault, driver, all, none"),                  \
	    BF_LINT_RUN_OPTION, BF_WORKLOAD_OPT_TEXT_("stats", FLAG, NULL, NULL, "print what the devices counted")

#define BF_PES_FIGURES 512

/* `run` as workload.h says; figures are the family's own numbers. */
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

struct bf_pes_work {
	const char *name, *summary;
};

struct bf_pes_family {
	const struct bf_pes_work *works; /* ends with a NULL name */
	const struct bf_ibgda_bug *bugs; /* of its own; ends with a NULL name */
	size_t choice_bytes;
	const struct bf_choice *rows; /* all numeric options */
	size_t nrows;
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
 * Fills the struct of `family` from the command line. BF_EXIT_GOOD, or the exit code after reporting what is wrong.
 * Free with bf_pes_free().
 */
int bf_pes_parse(const struct bf_args *args, const struct bf_pes_family *family, struct bf_pes *p);
void bf_pes_free(struct bf_pes *p);
/* Of a struct bf_pes. */
int bf_pes_check(const void *p, struct bf_error *err);
void bf_pes_command(const void *p, char *buf, size_t cap);

/*
 * Runs in a world of its own; `result` is a bf_pes_result. 0 when it ran, however it ended; a negative errno with `err`
 * set otherwise.
 */
int bf_pes_run(const void *p, struct bf_sink *sink, void *result, struct bf_error *err);

/* The whole of `belfry run` and `belfry explore` for a family; `p` has room for its struct. Exit code. */
int bf_pes_cmd_run(const struct bf_args *args, const struct bf_pes_family *family, struct bf_pes *p);
int bf_pes_cmd_explore(const struct bf_args *args, const struct bf_pes_family *family, struct bf_pes *p,
		       const struct bf_search_part *parts, uint32_t nparts);

#endif
