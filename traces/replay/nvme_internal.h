/* What the parts of the replay share. */
#ifndef BELFRY_TRACES_REPLAY_NVME_INTERNAL_H
#define BELFRY_TRACES_REPLAY_NVME_INTERNAL_H

#include "traces/replay/nvme.h"

/* Types of fabrics commands (NVMe over Fabrics specification, figure "Fabrics Command Types"). */
#define BF_NVME_REPLAY_FABRICS_SET 0
#define BF_NVME_REPLAY_FABRICS_CONNECT 1
#define BF_NVME_REPLAY_FABRICS_GET 4

/* A command of the trace that has been posted and not yet been completed there. */
struct bf_nvme_replay_flight {
	uint32_t cid, line, opcode;
	int32_t fctype;
	struct bf_nvme_sqe sqe;
	bool done;      /* in the simulation */
	uint64_t order; /* of its completion in the queue */
	uint32_t status, sqhd;
	uint64_t result;
};

/* A status that comes from the captured device's inside, or that Linux made up. */
bool bf_nvme_replay_device_own(uint32_t status);
enum bf_nvme_replay_verdict bf_nvme_replay_judge_register(const struct bf_nvme_replay_flight *f, uint64_t captured);
enum bf_nvme_replay_verdict bf_nvme_replay_judge_status(const struct bf_ftrace_event *ev,
							const struct bf_nvme_replay_flight *f);

#endif
