/*
 * NVMe workloads: what `belfry run nvme-...` and `belfry explore` run. A struct holds every choice; the same choices
 * give the same run.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_NVME_H
#define BELFRY_TOOLS_WORKLOADS_NVME_H

#include "drivers/nvme/host.h"
#include "models/nvme/nvme.h"
#include "tools/workloads/family.h"

/* Who runs the threads, as --agent counts them. */
enum bf_nvme_agent { BF_NVME_AGENT_GPU, BF_NVME_AGENT_CPU, BF_NVME_AGENT_CUDA, BF_NVME_AGENT_PTX };

/* Most are members of rows of the options (nvme_family.c); meanings stand there. */
struct bf_nvme_workload {
	enum bf_nvme_drv_work work;
	const struct bf_backend *backend;
	enum bf_ordering ordering;
	struct bf_chooser *chooser; /* NULL: the seed */
	struct bf_stacks *stacks;   /* of earlier runs */
	uint32_t records;           /* BF_CLASS_* */
	bf_nvme_drv_bug_set bugs;   /* BF_NVME_DRV_BUG_* */
	struct bf_nvme_profile profile;
	const char *profile_text, *media, *media_errors, *file; /* borrowed; NULL: none */
	const char *device; /* of a backend whose controller is real; NULL: its choice */
	char *faults;       /* owned text of the plan, NULL = none */
	const char *ptx;    /* file with the drivers as PTX; NULL: beside the program */
	char ptx_path[512]; /* the one that GPU threads run; empty: they run C. No option of its own */
	uint64_t seed, limit_ps, timeout_ps;
	uint32_t agent; /* enum bf_nvme_agent */
	uint32_t threads, lanes, warps, share;
	uint32_t depth, batch, commands, entries, cq_entries;
	uint64_t size, capacity;
	uint32_t lba, queues_in, data_in, page;
	uint32_t offset, list_offset;
	bool scatter, check, dbbuf;
	bool top;    /* show what devices do while they do it; live only */
	bool counts; /* no option of its own: somebody wants bf_result.counts */
};

/* What `belfry run` and `belfry explore` know of them: below, `choices` is one, `result` a bf_nvme_work_run_result. */
extern const struct bf_family bf_nvme_work_family;

enum bf_nvme_work_outcome {
	BF_NVME_WORK_RUN_GOOD,
	BF_NVME_WORK_RUN_WRONG_DATA, /* everything ended, some byte is not what it must be */
	BF_NVME_WORK_RUN_ERROR,      /* a completion that the thread did not expect */
	BF_NVME_WORK_RUN_TIMEOUT,    /* a thread gave up waiting */
	BF_NVME_WORK_RUN_NOT_READY,  /* the bring-up or the shutdown failed */
	BF_NVME_WORK_RUN_DEADLOCK,
	BF_NVME_WORK_RUN_LIMIT,
};
const char *bf_nvme_work_outcome_name(uint32_t v);

/* An entry that names an address which nobody mapped for the controller. */
struct bf_nvme_work_unmapped {
	uint32_t slot, cid;
	uint32_t prp; /* 1 or 2; 0: there is none */
	uint64_t iova;
};

/* A thread that did not come to a good end, and its queue pair as it sees it. */
struct bf_nvme_work_standing {
	uint32_t thread, qid;
	struct bf_nvme_drv_result result;
	uint32_t sq_head, sq_tail, sq_rung, cq_head, cq_phase;
	struct bf_nvme_work_unmapped unmapped;
};

#define BF_NVME_WORK_STANDINGS 16

/* Where the time of commands went: means over all, from the model's statistics. */
struct bf_nvme_work_split {
	uint64_t count;
	uint64_t doorbell_ps, fetch_ps, data_ps, completion_ps, media_ps;
};

struct bf_nvme_work_run_result {
	struct bf_result base;        /* BF_NVME_RUN_* */
	struct bf_world_result world; /* of the work itself: bring-up, preparation and check left out */
	struct bf_error bring_up;     /* NOT_READY: what failed */
	uint64_t commands;            /* completed */
	uint64_t verified_bytes;
	uint64_t mismatches;
	uint32_t nstandings, bad_threads;
	struct bf_nvme_work_standing standings[BF_NVME_WORK_STANDINGS];
	char model[41], serial[21];
	char device[64];      /* a real controller, and how it was reached; "": a model */
	int64_t dmabuf_bytes; /* of its doorbells as DMA-BUF; negative errno: cannot be had; 0: nobody asked */
	struct bf_nvme_work_split split;
};

/*
 * Runs them in a world of its own, records going to `sink` (may be NULL). 0 when it ran, however it ended; a
 * negative errno with `err` set when it could not start. Runs on any thread, several at a time.
 */
int bf_nvme_workload_run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err);

/* Which controller it is, if it is a real one; with `export`, how much of its doorbells can be had as DMA-BUF. */
void bf_nvme_work_device_describe(const struct bf_backend *be, struct bf_world *world, bool export,
				  struct bf_nvme_work_run_result *out);

/* Looks through the slots of a submission queue; false when all addresses are mapped, or the backend cannot tell. */
bool bf_nvme_work_device_find_unmapped(const struct bf_backend *be, struct bf_world *world,
				       const struct bf_nvme_drv_queue *sq, struct bf_nvme_work_unmapped *out);

/* What failed and where threads and queues stand. Prints nothing for a good run. */
void bf_nvme_work_run_print_failure(FILE *out, const void *result);
void bf_nvme_work_run_json_failure(struct bf_json *j, const void *result);

#endif
