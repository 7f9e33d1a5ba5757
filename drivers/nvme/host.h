/*
 * NVMe, host side: memory for queues and state, and the controller from reset to I/O queues and back, through nothing
 * but the backend's memory, BAR0 and threads (libnvm's src/ctrl.c and src/rpc do the same through ioctls).
 *
 * The bring-up itself is device code (admin.h) that one thread of the PE's CPU runs, so that every backend runs the
 * same instructions. One thread, while no other kernel runs. Memory belongs to the world and goes with it.
 */
#ifndef BELFRY_DRIVERS_NVME_HOST_H
#define BELFRY_DRIVERS_NVME_HOST_H

#include "drivers/backend/backend.h"
#include "drivers/nvme/kernels.h"

struct bf_nvme_drv_host_opts {
	bf_nvme_drv_bug_set bugs; /* BF_NVME_DRV_BUG_* */
	uint32_t nqps;            /* I/O queue pairs, 1 up; one more belongs to the host side */
	uint32_t entries;         /* of each submission queue, 2..65536; 0: 64 */
	uint32_t cq_entries;      /* of each completion queue; 0: as many */
	uint32_t cids;            /* shared queue pairs: identifiers in each; 0: they are not shared */
	uint32_t page;            /* of CC.MPS, a power of two from 4096; 0: 4096 */
	uint32_t nsid;            /* 0: the first active namespace */
	enum bf_placement place;  /* of the queues */
	enum bf_placement data;   /* of what threads will read, and of Identify data */
	bool dbbuf;               /* shadow doorbells */
	uint64_t timeout_ns;      /* for each command; 0: 1 s */
};

struct bf_nvme_drv_host; /* opaque */

/*
 * Brings the controller of PE `pe` up. On failure returns a negative errno, and `err` names the step, the queue and
 * what the controller said; the caller closes the world.
 */
int bf_nvme_drv_host_open(const struct bf_backend *be, struct bf_world *w, uint32_t pe,
			  const struct bf_nvme_drv_host_opts *opts, struct bf_error *err,
			  struct bf_nvme_drv_host **out);

/* Deletes the queues, shuts the controller down and frees `h`. 0, or what failed, with the text in the caller's `err`.
 */
int bf_nvme_drv_host_close(struct bf_nvme_drv_host *h);
/* Only frees: after a run that did not end. */
void bf_nvme_drv_host_abandon(struct bf_nvme_drv_host *h);

/* What device code works on. The queue pair behind the last is the host side's own: never shared, in host memory. */
struct bf_nvme_drv_ctrl *bf_nvme_drv_host_ctrl(struct bf_nvme_drv_host *h);
struct bf_nvme_drv_qp *bf_nvme_drv_host_qps(struct bf_nvme_drv_host *h);

/* Memory for threads and controller, page-aligned as the controller counts pages. 0 or negative errno. */
int bf_nvme_drv_host_room(struct bf_nvme_drv_host *h, enum bf_placement place, uint64_t bytes, const char *name,
			  struct bf_nvme_drv_room *out);

/* "invalid field in command", "timed out": a status (SCT << 8 | SC) or BF_NVME_DRV_*. "status 0x123" is written to
 * `buf`. */
const char *bf_nvme_drv_failure_text(int failure, char *buf, size_t cap);
const char *bf_nvme_drv_step_name(uint32_t step);

#endif
