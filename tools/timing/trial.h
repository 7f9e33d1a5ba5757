/*
 * Published figures as the experiments that they were, on the models. One thread per call.
 */
#ifndef BELFRY_TOOLS_TIMING_TRIAL_H
#define BELFRY_TOOLS_TIMING_TRIAL_H

#include "tools/timing/figure.h"
#include "tools/timing/model.h"

/* How a value came about. */
enum bf_trial_how {
	BF_TRIAL_NOT,    /* it cannot be run: `why` */
	BF_TRIAL_RUN,    /* the experiment ran on the model */
	BF_TRIAL_PHASES, /* software and other parts make most of it: a sum of phases, of which the model ran some */
};

struct bf_timing_trial {
	const struct bf_timing_model *model;
	const struct bf_figure *figure;
	struct bf_error *err;
	enum bf_trial_how how;
	double value; /* in the figure's unit */
	char why[160];
};

/* Runs `f`. 0, also when it cannot be run (t->how), or a negative errno with `err` set: the model failed. */
int bf_timing_trial_run(const struct bf_timing_model *m, const struct bf_figure *f, struct bf_timing_trial *t,
			struct bf_error *err);

#endif
