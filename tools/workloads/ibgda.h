/*
 * IBGDA workloads: what `belfry run ibgda-...` and `belfry explore` run. A struct bf_workload holds every choice that a
 * command line can make; the same choices give the same run.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_IBGDA_H
#define BELFRY_TOOLS_WORKLOADS_IBGDA_H

#include "drivers/backend/backend.h"
#include "drivers/ibgda/host.h"
#include "drivers/ibgda/kernels.h"
#include "models/mlx5/mlx5.h"
#include "tools/report/counts.h"
#include "tools/workloads/family.h"

/* What carries messages to other PEs: values of --transport. */
enum bf_transport { BF_TRANSPORT_RC, BF_TRANSPORT_DC };

/* Where heaps lie: values of --heap. */
enum bf_heap { BF_HEAP_AUTO, BF_HEAP_HOST, BF_HEAP_GPU };

/* Most are members of rows of the options (ibgda_family.c), in their order; meanings stand there. */
/* Choices of --agent. */
#define BF_AGENT_CUDA 1u
#define BF_AGENT_PTX 2u

struct bf_workload {
	enum bf_ibgda_work work;
	const struct bf_backend *backend;
	enum bf_ordering ordering;
	struct bf_chooser *chooser; /* NULL: the seed */
	struct bf_stacks *stacks;   /* of earlier runs */
	uint32_t records;           /* BF_CLASS_* */
	uint64_t bugs;              /* BF_IBGDA_BUG_* */
	uint64_t suspects;          /* BF_IBGDA_SUSPECT_* */
	uint64_t lacks;             /* BF_IBGDA_LACKS_* */
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
	bool fill, blocking_get, imm, pe_quiet, full_av, must_move;
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
	uint32_t agent; /* BF_AGENT_*; CUDA: the backend is "cuda" then, or `gpu` is set */
	const char *ptx;
	char ptx_path[512]; /* of the drivers as PTX, with BF_AGENT_PTX; no option of its own */
	bool gpu;           /* no option: a real GPU's threads ring a real NIC */
	/* No options of the table: the processes that share the simulation (NULL: this one), hashes of PEs are wanted.
	 */
	struct bf_boot *ranks;
	uint32_t cores; /* threads of this process that share it; 0: one */
	bool hashes;
	bool top;    /* show what devices do while they do it; live only */
	bool counts; /* no option of its own: somebody wants bf_result.counts */
};

/* What `belfry run` and `belfry explore` know of these workloads: below, `choices` is one, `result` a bf_run_result. */
extern const struct bf_family bf_ibgda_family;

/* Whether the choices fit each other. 0, or -EINVAL with what does not in `err`. */
int bf_workload_check(const void *choices, struct bf_error *err);

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
 * Runs them in a world of its own, records going to `sink` (may be NULL). 0 when it ran, however it ended; a
 * negative errno with `err` set when it could not start. Runs on any thread, several at a time.
 */
int bf_workload_run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err);

/*
 * Puts the queues with an error or unfinished work into the result; an error makes a good verdict one of an error
 * completion. `qps` queue pairs from each PE to each other.
 */
void bf_run_collect_queues(struct bf_ibgda_host *host, uint32_t pes, uint32_t qps, struct bf_run_result *r);

/* Records the first wrong byte, which a check of the world's heaps has found. */
void bf_run_record_mismatch(const struct bf_backend *be, struct bf_world *world, struct bf_ibgda_host *host,
			    struct bf_run_result *r);

/*
 * Of workloads whose PEs are spread over processes (workload_ranks.c): what the check needs of other PEs' heaps, sums
 * of all processes' numbers, and one result for all. Collective.
 */
int bf_workload_fetch_remote(const struct bf_workload *w, uint64_t from, uint64_t to, void **heaps,
			     struct bf_error *err);
int bf_workload_add_up(const struct bf_workload *w, uint64_t *sums, uint32_t n, struct bf_error *err);
int bf_workload_merge(const struct bf_workload *w, struct bf_run_result *r, struct bf_error *err);

/* bf_workload_run() on w->cores threads, without records for anybody. */
int bf_workload_run_on_cores(const struct bf_workload *w, struct bf_run_result *out, struct bf_error *err);

/* Whether this process simulates PE `pe`. */
bool bf_workload_has_pe(const struct bf_workload *w, uint32_t pe);

/* The hashes of all PEs as one number. */
uint64_t bf_run_pes_hash(const uint64_t *pe_hashes, uint32_t pes);

/* What failed and where every unfinished queue stands, as text. Prints nothing for a good run. */
void bf_run_print_failure(FILE *out, const void *result);
void bf_run_json_failure(struct bf_json *j, const void *result);

#endif
