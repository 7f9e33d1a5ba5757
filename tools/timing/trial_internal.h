/* What the experiments of all devices share. Not installed. */
#ifndef BELFRY_TOOLS_TIMING_TRIAL_INTERNAL_H
#define BELFRY_TOOLS_TIMING_TRIAL_INTERNAL_H

#include "tools/timing/trial.h"

typedef int bf_trial_fn(struct bf_timing_trial *t);

/* An experiment for figures of that metric whose `op` says the word (NULL: any); the first that fits is taken. */
struct bf_trial_rule {
	const char *device, *metric, *op;
	bf_trial_fn *run;
	const char *cannot; /* in place of `run`: why not */
};

/* Each ends with device NULL. */
extern const struct bf_trial_rule bf_trials_rdma[], bf_trials_gpu[], bf_trials_ep[], bf_trials_storage[],
    bf_trials_copier[], bf_trials_pcie[], bf_trials_sm[];

/* It cannot be run. Returns 0. */
int bf_trial_cannot(struct bf_timing_trial *t, const char *fmt, ...) BF_PRINTF(2, 3);

/* A time, or the time in which `bytes` pass (a unit of a rate) or one of something happens, in the figure's unit. */
int bf_trial_time(struct bf_timing_trial *t, enum bf_trial_how how, double ps);
int bf_trial_rate(struct bf_timing_trial *t, enum bf_trial_how how, double ps, double bytes);

/* Whether hardware, operation or conditions of the figure say the word. */
bool bf_trial_says(const struct bf_timing_trial *t, const char *word);
/* Whether condition `name` is there and says the word. */
bool bf_trial_condition(const struct bf_timing_trial *t, const char *name, const char *word);

#endif
