/*
 * A host for the controller model, as far as a replay needs one: registers by loads and stores, queues in memory,
 * completions polled. It runs between events, on no clock of its own.
 */
#ifndef BELFRY_TRACES_REPLAY_NVME_HOST_INTERNAL_H
#define BELFRY_TRACES_REPLAY_NVME_HOST_INTERNAL_H

#include "models/nvme/nvme.h"
#include "sim/iommu.h"

#define BF_NVME_REPLAY_HOST_QUEUES 256u

struct bf_nvme_replay_host_queue {
	struct bf_region *sq, *cq;
	uint32_t entries;
	uint32_t tail, head, phase; /* next SQE; next CQE and its phase tag */
	bool ready;                 /* the controller has it */
};

struct bf_nvme_replay_host {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_nvme *dev;
	struct bf_region *bar;
	struct bf_region *scratch; /* pages for data: the first two hold them, the rest lists that name them */
	struct bf_nvme_replay_host_queue queue[BF_NVME_REPLAY_HOST_QUEUES];
	uint16_t cid; /* of the host's own commands */
	bool has_space, has_ioas;
};

/* `index` separates the hosts of one simulation. 0 or negative errno with sim->error set; fini() in every case. */
int bf_nvme_replay_host_init(struct bf_nvme_replay_host *h, struct bf_sim *sim, uint32_t index, const char *name,
			     const struct bf_nvme_profile *profile, const struct bf_nvme_ns_opts *ns, uint32_t nns);
void bf_nvme_replay_host_fini(struct bf_nvme_replay_host *h);

uint64_t bf_nvme_replay_host_read(struct bf_nvme_replay_host *h, uint32_t offset, uint32_t len);
void bf_nvme_replay_host_write(struct bf_nvme_replay_host *h, uint32_t offset, uint64_t value, uint32_t len);

/* Gives the controller an admin queue of 32 entries, before somebody else enables it. */
int bf_nvme_replay_host_prepare(struct bf_nvme_replay_host *h);

/* Enables the controller with an admin queue of 32 entries, as Linux does. -EIO when it does not become ready. */
int bf_nvme_replay_host_enable(struct bf_nvme_replay_host *h);

/* Memory for queue `qid`; with `create` the controller gets it too. */
int bf_nvme_replay_host_queue(struct bf_nvme_replay_host *h, uint32_t qid, uint32_t entries, bool create);

/* Puts an SQE into the ring, which must have room, and rings the doorbell. */
void bf_nvme_replay_host_post(struct bf_nvme_replay_host *h, uint32_t qid, const struct bf_nvme_sqe *sqe);

/* The next completion of `qid`, while the simulation has work left. False when none comes. */
bool bf_nvme_replay_host_poll(struct bf_nvme_replay_host *h, uint32_t qid, struct bf_nvme_cqe *out);

/* Points PRP1 and PRP2 of a command at `len` bytes of scratch memory. */
void bf_nvme_replay_host_data(struct bf_nvme_replay_host *h, struct bf_nvme_sqe *sqe, uint64_t len);

#endif
