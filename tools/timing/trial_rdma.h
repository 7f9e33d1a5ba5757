/* What the experiments with NICs share. Not installed. */
#ifndef BELFRY_TOOLS_TIMING_TRIAL_RDMA_H
#define BELFRY_TOOLS_TIMING_TRIAL_RDMA_H

#include "tools/timing/rdma.h"
#include "tools/timing/trial_internal.h"

/* NIC, link and placement of the figure's machine. False: it cannot be run, and t->why says why. */
bool bf_trial_nic(struct bf_timing_trial *t, struct bf_mlx5_profile *nic, struct bf_perf_run *run);

/* What `measure` says of the run, as a time with `more` ps of software behind it, or as the rate of its messages. */
int bf_trial_measured(struct bf_timing_trial *t, enum bf_trial_how how, bf_perf_fn *measure,
		      const struct bf_perf_run *run, uint64_t more);
int bf_trial_measured_rate(struct bf_timing_trial *t, bf_perf_fn *measure, const struct bf_perf_run *run);

#endif
