/*
 * Measurements on a modelled NVMe drive, as fio and its kin make them: queues that are kept full, random or sequential.
 * Software is the time it takes: it is not run. One thread per call.
 */
#ifndef BELFRY_TOOLS_TIMING_STORAGE_H
#define BELFRY_TOOLS_TIMING_STORAGE_H

#include "models/nvme/nvme.h"

struct bf_storage_run {
	const struct bf_nvme_profile *drive;
	uint64_t size; /* bytes of a request, whole blocks of 512 */
	uint32_t queues, depth;
	bool write, sequential;
	bool batches;         /* all of a queue's requests are put together, and none before the last batch is over */
	uint64_t submit_ps;   /* software before each request */
	uint64_t complete_ps; /* software behind each completion */
};

struct bf_storage_result {
	uint64_t mean_ps, min_ps; /* from the decision to submit to the completion seen; of a batch: its last */
	uint64_t interval_ps;     /* from one completion to the next */
};

/* 0, or a negative errno with `err` set. */
int bf_storage_measure(const struct bf_storage_run *run, struct bf_storage_result *out, struct bf_error *err);

#endif
