/* For trials: an NVMe controller brought up to its I/O queues (drivers/nvme/host.h). */
#ifndef BELFRY_DRIVERS_TRIAL_NVME_H
#define BELFRY_DRIVERS_TRIAL_NVME_H

#include "drivers/trial/trial.h"

BF_API_BEGIN

struct bf_trial_nvme_opts {
	uint32_t queues;         /* I/O queue pairs; 0: 1 */
	uint32_t entries;        /* of each queue, 2..65536; 0: 64 */
	enum bf_placement place; /* of the queues; BF_PLACE_HOST is 0 */
};

/* Once a PE, in setup, before any launch: brings it up by running a thread. spec.world.devices has BF_DEVICE_NVME. */
int bf_trial_nvme(struct bf_trial *t, uint32_t pe, const struct bf_trial_nvme_opts *opts);

struct bf_trial_nvme_queue {
	uint32_t id, entries;
	uint8_t *sq;                 /* entries of 64 bytes */
	uint8_t *cq;                 /* entries of 16 bytes, zeroed; the first lap's phase is 1 */
	uint32_t *sq_tail, *cq_head; /* doorbell registers, stored by bf_mmio_st32() */
	uint32_t nsid, block_bytes;
	uint64_t blocks; /* of the namespace */
};

/* I/O queue pair `i` of `pe`. */
int bf_trial_nvme_queue(struct bf_trial *t, uint32_t pe, uint32_t i, struct bf_trial_nvme_queue *out);

BF_API_END

#endif
