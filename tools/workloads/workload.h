/*
 * Workloads: what `belfry run` and `belfry explore` run.
 *
 * A struct bf_workload holds every choice that a command line can make; the same choices give the same run. Options
 * that both commands share come from one table, from which parsing, the options' help and the command line that
 * reproduces a run are made.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_WORKLOAD_H
#define BELFRY_TOOLS_WORKLOADS_WORKLOAD_H

#include "drivers/backend/backend.h"
#include "drivers/ibgda/host.h"
#include "drivers/ibgda/kernels.h"
#include "models/mlx5/mlx5.h"
#include "tools/workloads/choice.h"
#include "tools/cli/cli.h"
#include "tools/report/counts.h"
#include "tools/workloads/family.h"

/* What carries messages to other PEs: values of --transport. */
enum bf_transport { BF_TRANSPORT_RC, BF_TRANSPORT_DC };

/* Where heaps lie: values of --heap. */
enum bf_heap { BF_HEAP_AUTO, BF_HEAP_HOST, BF_HEAP_GPU };

/* Fields in the order of BF_WORKLOAD_OPTIONS, whose members they are; meanings stand there. */
struct bf_workload {
	enum bf_ibgda_work work;
	const struct bf_backend *backend;
	enum bf_ordering ordering;
	uint32_t records;  /* BF_CLASS_* */
	uint64_t bugs;     /* BF_IBGDA_BUG_* */
	uint64_t suspects; /* BF_IBGDA_SUSPECT_* */
	uint64_t lacks;    /* BF_IBGDA_LACKS_* */
	struct bf_mlx5_profile profile;
	const char *profile_text;
	char *faults;         /* owned text of the plan, NULL = none */
	const char *topology; /* NULL: one ideal switch */
	uint64_t seed, limit_ps;
	uint32_t pes, nics, ports, qps, blocks, warps, messages, window;
	uint64_t size;
	bool per_lane;
	uint32_t lanes;
	uint32_t route, qp_choice;
	uint32_t quiet_every;
	uint64_t pace_ps;
	bool fill, blocking_get;
	uint32_t op, op_bytes;
	bool fetch;
	uint32_t counters;
	uint32_t flavour, layout, place, heap, transport;
	uint32_t depth, batch, ibuf_slots;
	uint64_t granule;
	uint32_t granules_per_mr;
	bool plain_cq;
	uint32_t ack_timeout, retries;
	bool backup, proxy;
	uint32_t agent; /* 1: a real GPU; the backend is "cuda" then, or `gpu` is set */
	bool gpu;       /* no option: a real GPU's threads ring a real NIC */
	/* No options of the table: the processes that share the simulation (NULL: this one), hashes of PEs are wanted.
	 */
	struct bf_boot *ranks;
	bool hashes;
	bool top;    /* show what devices do while they do it; live only */
	bool counts; /* no option of its own: somebody wants bf_result.counts */
};

/*
 * O(name, kind, argument, default, help, least, most, member): the numeric options. Defaults are written as
 * bf_workload_command() prints numbers, so that it can leave out what is not needed. In text order of the help. How
 * many threads share a queue pair by default is the command's to say.
 */
#define BF_WORKLOAD_OPTIONS(O, BLOCKS, WARPS, CHOICE)                                                                  \
	O("seed", U64, "N", "1", "seed of everything random; explore: the first one", 0, 0, seed)                      \
	O("limit", TIME, "TIME", "100s", "simulated time after which a run counts as hung", 0, 0, limit_ps)            \
	O("pes", U64, "N", "2", "processing elements, each with memory, GPU and NICs", 2, 4096, pes)                   \
	O("nics", U64, "N", "1", "NICs of each PE", 1, 8, nics)                                                        \
	O("ports", U64, "N", "1", "ports of each NIC", 1, 2, ports)                                                    \
	O("qps", U64, "N", "1", "queue pairs from each PE to each other, on each port", 1, 16, qps)                    \
	O("blocks", U64, "N", BLOCKS, "blocks of warps on each PE", 1, 1024, blocks)                                   \
	O("warps", U64, "N", WARPS, "warps in a block", 1, 32, warps)                                                  \
	O("per-lane", FLAG, NULL, NULL, "each lane issues messages of its own", 0, 0, per_lane)                        \
	O("lanes", U64, "N", "0", "with --per-lane: lanes of each warp that take part; 0: all", 0, 32, lanes)          \
	O("messages", U64, "N", "16", "messages of each warp (or lane)", 1, 1u << 30, messages)                        \
	O("window", U64, "N", "0", "message slots of each warp, used in turn; 0: one for each message", 0, 1u << 30,   \
	  window)                                                                                                      \
	O("size", U64, "BYTES", "64", "payload of a put or get", 1, 1u << 30, size)                                    \
	O("route", ENUM, "ring|all|pair", "ring", "which peers: the next, all in turn, or PE ^ 1", 0, 0, route)        \
	O("qp-choice", ENUM, "warp|message|first", CHOICE, "how messages spread over the queue pairs", 0, 0,           \
	  qp_choice)                                                                                                   \
	O("quiet-every", U64, "N", "0", "wait for completion after N messages; 0: at the end", 0, 1u << 30,            \
	  quiet_every)                                                                                                 \
	O("pace", TIME, "TIME", "0ps", "pause before each message", 0, 0, pace_ps)                                     \
	O("fill", FLAG, NULL, NULL, "warps write the payload themselves right before each put", 0, 0, fill)            \
	O("blocking-get", FLAG, NULL, NULL, "each get waits for its data", 0, 0, blocking_get)                         \
	O("op", ENUM, "inc|add|set|swap|and|or|xor|cas|fetch", "add", "ibgda-amo: which atomic", 0, 0, op)             \
	O("op-bytes", U64, "4|8", "8", "ibgda-amo: width", 4, 8, op_bytes)                                             \
	O("fetch", FLAG, NULL, NULL, "ibgda-amo: fetch and check old values", 0, 0, fetch)                             \
	O("counters", U64, "N", "1", "words on each PE that atomics hit", 1, 1u << 20, counters)                       \
	O("flavour", ENUM, "nvshmem|deepep", "nvshmem", "whose rules the device code follows", 0, 0, flavour)          \
	O("layout", ENUM, "l1|l2|l3", "l3",                                                                            \
	  "order of the tables of queues: of NVSHMEM 3.5, of 3.4, or with receive "                                    \
	  "queues",                                                                                                    \
	  0, 0, layout)                                                                                                \
	O("transport", ENUM, "rc|dc", "rc", "a connection to each peer, or one DC initiator to all", 0, 0, transport)  \
	O("place", ENUM, "host|gpu", "gpu", "where rings, records and completion queues lie", 0, 0, place)             \
	O("heap", ENUM, "auto|host|gpu", "auto",                                                                       \
	  "with --backend mlx5: where the data lie, gpu: in a real GPU's "                                             \
	  "memory; auto: there when its threads ring",                                                                 \
	  0, 0, heap)                                                                                                  \
	O("depth", U64, "N", "1024", "WQEBBs in a send ring, power of two", 16, 32768, depth)                          \
	O("batch", U64, "N", "32", "requests per doorbell, power of two", 1, 32768, batch)                             \
	O("ibuf-slots", U64, "N", "1024", "slots for fetched results, power of two", 32, 1u << 20, ibuf_slots)         \
	O("granule", U64, "BYTES", "2097152", "granule of the key tables, power of two", 4096, 1u << 30, granule)      \
	O("granules-per-mr", U64, "N", "0", "granules in each memory region; 0: one region in all", 0, 1u << 20,       \
	  granules_per_mr)                                                                                             \
	O("plain-cq", FLAG, NULL, NULL, "completion queues are rings, not one entry written over", 0, 0, plain_cq)     \
	O("ack-timeout", U64, "N", "20", "retransmission time-out: 4.096 us * 2^N", 1, 31, ack_timeout)                \
	O("retries", U64, "N", "7", "retransmissions before a queue pair fails", 1, 7, retries)                        \
	O("backup", FLAG, NULL, NULL,                                                                                  \
	  "a second queue pair behind each on the neighbour port or NIC, and a "                                       \
	  "supervisor that moves traffic when a link is cut",                                                          \
	  0, 0, backup)                                                                                                \
	O("proxy", FLAG, NULL, NULL, "a thread of the CPU rings doorbells for the GPU's", 0, 0, proxy)                 \
	O("agent", ENUM, "gpu|cuda", "gpu",                                                                            \
	  "who runs the GPU's threads: a model of it, or a real one (with "                                            \
	  "--backend mlx5, or with --backend live, the same as --backend cuda)",                                       \
	  0, 0, agent)

/* The numeric options, then those that are texts; both as members of a struct bf_opt array. */
#define BF_WORKLOAD_OPT_(oname, okind, oarg, odefault, ohelp, omin, omax, member)                                      \
	{ .name = oname,                                                                                               \
	  .kind = BF_OPT_##okind,                                                                                      \
	  .arg = oarg,                                                                                                 \
	  .initial = odefault,                                                                                         \
	  .help = ohelp,                                                                                               \
	  .min = omin,                                                                                                 \
	  .max = omax },
#define BF_WORKLOAD_OPT_TEXT_(oname, okind, oarg, odefault, ohelp)                                                     \
	{                                                                                                              \
		.name = oname, .kind = BF_OPT_##okind, .arg = oarg, .initial = odefault, .help = ohelp                 \
	}
#define BF_WORKLOAD_OPT_TABLE(BLOCKS, WARPS, CHOICE)                                                                   \
	BF_WORKLOAD_OPTIONS(BF_WORKLOAD_OPT_, BLOCKS, WARPS, CHOICE)                                                   \
	BF_WORKLOAD_OPT_TEXT_("bug", MULTI, "NAME", NULL, "a step done wrong on purpose"),                             \
	    BF_WORKLOAD_OPT_TEXT_("without", MULTI, "NAME", NULL, "what the machine is to lack"),                      \
	    BF_WORKLOAD_OPT_TEXT_("backend", TEXT, "NAME", "sim", "who provides the devices, or auto"),                \
	    BF_WORKLOAD_OPT_TEXT_("profile", TEXT, "NAME[,FIELD=N]", "cx7", "device timing"),                          \
	    BF_WORKLOAD_OPT_TEXT_("topology", TEXT, "TEXT", "switch",                                                  \
				  "switches, e.g. 'leaf-spine leaves=4 spines=2'"),                                    \
	    BF_WORKLOAD_OPT_TEXT_("faults", TEXT, "PLAN|@FILE", NULL, "fault plan, e.g. 'drop prob=0.01'"),            \
	    BF_WORKLOAD_OPT_TEXT_("trace", OUT, "FILE", NULL, "write a trace; *.jsonl: as JSON Lines"),               \
	    BF_WORKLOAD_OPT_TEXT_("list", FLAG, NULL, NULL, "list workloads, backends, orderings, profiles and bugs")

/*
 * Fills `w` from the command line: its workload name and all shared options; ordering and records are left at their
 * defaults. Returns BF_EXIT_GOOD, or the exit code after reporting what is wrong. Free with bf_workload_free().
 */
int bf_workload_parse(const struct bf_args *args, struct bf_workload *w);
void bf_workload_free(struct bf_workload *w);

/* What `belfry run` and `belfry explore` know of these workloads: below, `w` is one, `result` a bf_run_result. */
extern const struct bf_family bf_ibgda_family;

/* Whether the choices fit each other. 0, or -EINVAL with what does not in `err`. */
int bf_workload_check(const void *w, struct bf_error *err);

/* "all", "none" or class names separated by commas ("queue,net"). -EINVAL with `err` set. */
int bf_records_parse(const char *text, uint32_t *mask, struct bf_error *err);

/* "ibgda-put" and so on; NULL past the last. */
const char *bf_workload_name(enum bf_ibgda_work work);

/* The command line that runs `w` again, options at their default left out. Truncated to `cap`. */
void bf_workload_command(const void *w, char *buf, size_t cap);

/* Each choice as a member of the open JSON object. */
void bf_workload_json(struct bf_json *j, const struct bf_workload *w);

/* Prints what --list shows; returns the exit code. */
int bf_workload_list(const struct bf_args *args);

/* How a run ended. */
enum bf_verdict {
	BF_VERDICT_GOOD,
	BF_VERDICT_WRONG_DATA, /* everything ended, some byte or count is not what it must be */
	BF_VERDICT_ERROR,      /* a poller saw an error completion */
	BF_VERDICT_DEADLOCK,
	BF_VERDICT_LIMIT,
};
const char *bf_verdict_name(uint32_t v); /* "good", "wrong data", ... */

/* A send queue as its driver sees it, for reports. */
struct bf_queue_standing {
	uint32_t pe, peer, index, qpn;
	uint64_t reserved, ready, doorbelled, completed; /* mvars */
	uint16_t dbrec;                                  /* in memory, host order */
	uint16_t cqe_counter; /* last completed WQE as the completion entry says it; 0xffff before the first */
	uint8_t cqe_opcode;
	uint32_t syndrome; /* 0 = none */
};

#define BF_RUN_QUEUES 16

struct bf_run_result {
	struct bf_result base; /* BF_VERDICT_* */
	struct bf_world_result world;
	struct bf_ibgda_mismatch mismatch;
	uint64_t messages;            /* issued by all PEs if the run came to its end */
	uint64_t verified_bytes;      /* payload bytes that were compared */
	uint64_t verified_values;     /* counters and fetched values that were checked */
	uint32_t nqueues, unfinished; /* queues that have work left or an error; the first are in `queues` */
	struct bf_queue_standing queues[BF_RUN_QUEUES];
	char device[240];    /* which real one it was, and what it worked on; "": models */
	uint64_t *pe_hashes; /* [pes], owned; NULL unless the workload asks */
};

/*
 * Runs `w` in a world of its own, records going to `sink` (may be NULL). 0 when it ran, however it ended; a negative
 * errno with `err` set when it could not start. Runs on any thread, several at a time.
 */
int bf_workload_run(const void *w, struct bf_sink *sink, void *result, struct bf_error *err);

/*
 * Puts the queues with an error or unfinished work into the result; an error makes a good verdict one of an error
 * completion. `qps` queue pairs from each PE to each other.
 */
void bf_run_collect_queues(struct bf_ibgda_host *host, uint32_t pes, uint32_t qps, struct bf_run_result *r);

/*
 * Of workloads whose PEs are spread over processes (workload_ranks.c): what the check needs of other PEs' heaps, sums
 * of all processes' numbers, and one result for all. Collective.
 */
int bf_workload_fetch_remote(const struct bf_workload *w, uint64_t from, uint64_t to, void **heaps,
			     struct bf_error *err);
int bf_workload_add_up(const struct bf_workload *w, uint64_t *sums, uint32_t n, struct bf_error *err);
int bf_workload_merge(const struct bf_workload *w, struct bf_run_result *r, struct bf_error *err);

/* Whether this process simulates PE `pe`. */
bool bf_workload_has_pe(const struct bf_workload *w, uint32_t pe);

/* The hashes of all PEs as one number. */
uint64_t bf_run_pes_hash(const uint64_t *pe_hashes, uint32_t pes);

/* What failed and where every unfinished queue stands, as text. Prints nothing for a good run. */
void bf_run_print_failure(FILE *out, const void *result);
void bf_run_json_failure(struct bf_json *j, const void *result);

#endif
