/* What rocm_bandwidth_test, TransferBench and DMA-Latte measure on SDMA engines. */
#include <string.h>

#include "tools/timing/copier.h"
#include "tools/timing/trial_internal.h"

#define LARGE (256u << 20) /* where a rate is printed without a size */
#define PEERS 7u           /* of a GPU among eight */
#define RECT_ROWS 970u     /* what time and rate of the rows in rocm-systems#5646 give together */

static bool engine_of(struct bf_timing_trial *t, enum bf_timing_engine *out)
{
	static const struct {
		const char *says;
		enum bf_timing_engine engine;
	} names[] = { { "MI50", BF_ENGINE_MI50 },    { "gfx906", BF_ENGINE_MI50 },  { "MI60", BF_ENGINE_MI50 },
		      { "MI350", BF_ENGINE_MI350X }, { "MI355", BF_ENGINE_MI350X }, { "MI300", BF_ENGINE_MI300X },
		      { "MI325", BF_ENGINE_MI300X }, { "MI308", BF_ENGINE_MI300X }, { "MI2", BF_ENGINE_MI200 } };

	for (size_t i = 0; i < BF_ARRAY_LEN(names); i++)
		if (bf_figure_says(t->figure->hardware, names[i].says)) {
			*out = names[i].engine;
			return true;
		}
	bf_trial_cannot(t, "no profile of this part: %.100s", t->figure->hardware);
	return false;
}

static bool copy_of(struct bf_timing_trial *t, struct bf_copier_run *run)
{
	const char *op = t->figure->op;
	enum bf_timing_engine engine;

	if (bf_figure_says(op, "kernel") || bf_trial_condition(t, "engine", "kernel")) {
		bf_trial_cannot(t, "compute units copy, not an engine");
		return false;
	}
	if (bf_figure_says(op, "on device") || bf_figure_says(op, "degraded")) {
		bf_trial_cannot(t, "what copies, and how, is not stated");
		return false;
	}
	if (!engine_of(t, &engine))
		return false;
	*run =
	    (struct bf_copier_run){ .engine = &t->model->engines.engine[engine], .size = t->figure->size, .copies = 1 };
	run->to_host = bf_figure_says(op, "device to host");
	run->from_host = !run->to_host && bf_figure_says(op, "host");
	return true;
}

static int copy(struct bf_timing_trial *t)
{
	const bool is_rate = strstr(t->figure->metric, "bandwidth");
	const double ways = bf_figure_says(t->figure->op, "bidirectional") ? 2 : 1;
	struct bf_copier_run run;
	uint64_t ps;
	int rc;

	if (!copy_of(t, &run))
		return 0;
	if (!run.size && !is_rate)
		return bf_trial_cannot(t, "no size");
	run.size = run.size ? run.size : LARGE;
	rc = bf_copier_measure(&run, &ps, t->err);
	if (rc)
		return rc;
	ps += t->model->sw.rocr_copy;
	/* Two engines, one a direction: neither waits for the other. */
	return is_rate ? bf_trial_rate(t, BF_TRIAL_RUN, (double)ps, ways * (double)run.size)
		       : bf_trial_time(t, BF_TRIAL_RUN, (double)ps);
}

static int rows(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	const double row = bf_figure_condition_number(t->figure, "row_bytes", 0);
	const double count = bf_figure_condition_number(t->figure, "rows", RECT_ROWS);
	struct bf_copier_run run;
	uint64_t ps;
	double all;
	int rc;

	if (row < 1 || count < 1 || row * count > 1e9)
		return bf_trial_cannot(t, "rows or their length are not stated");
	if (!copy_of(t, &run))
		return 0;
	run.size = (uint64_t)(row * count);
	rc = bf_copier_measure(&run, &ps, t->err);
	if (rc)
		return rc;
	all = bf_trial_condition(t, "alignment", "not a multiple") ? count * (double)sw->hip_row
								   : (double)ps + (double)sw->hip_copy;
	return strstr(t->figure->metric, "bandwidth") ? bf_trial_rate(t, BF_TRIAL_PHASES, all, row * count)
						      : bf_trial_time(t, BF_TRIAL_PHASES, all);
}

/* DMA-Latte: a copy between two GPUs, and what of it is copying. */
static int share(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	const double control = (double)sw->dma_control, schedule = (double)sw->dma_schedule,
		     sync = (double)sw->dma_sync;
	const char *op = t->figure->op;
	struct bf_copier_run run;
	double all, part;
	uint64_t ps;
	int rc;

	if (!t->figure->size || !copy_of(t, &run))
		return t->figure->size ? 0 : bf_trial_cannot(t, "no size");
	rc = bf_copier_measure(&run, &ps, t->err);
	if (rc)
		return rc;
	all = control + schedule + sync + (double)ps;
	part = !strcmp(op, "copy")       ? (double)ps
	       : !strcmp(op, "control")  ? control
	       : !strcmp(op, "schedule") ? schedule
					 : sync;
	t->value = 100 * part / all;
	t->how = BF_TRIAL_PHASES;
	return 0;
}

/* A collective among eight GPUs: `engines` are launched and waited for, one after the other; they copy together. */
static double collective(const struct bf_timing_software *sw, double engines, bool prelaunched, double copy_ps)
{
	const double launch = prelaunched ? (double)sw->dma_control : (double)(sw->dma_control + sw->dma_schedule);

	return launch + (prelaunched ? 0 : (engines - 1) * (double)sw->dma_each) + copy_ps + (double)sw->dma_sync +
	       (engines - 1) * (double)sw->dma_each / 2;
}

static int speedup(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	const char *op = t->figure->op;
	const bool b2b = bf_figure_says(op, "b2b"), ahead = bf_figure_says(op, "+PL");
	const bool pairs = bf_figure_says(op, "bcst") || bf_figure_says(op, "swap");
	struct bf_copier_run run;
	uint64_t plain, with;
	int rc;

	if (!t->figure->size || !copy_of(t, &run))
		return t->figure->size ? 0 : bf_trial_cannot(t, "no size");
	/* The size is that of the result: a GPU sends an eighth of it to each other. */
	run.size = t->figure->size / (PEERS + 1);
	rc = bf_copier_measure(&run, &plain, t->err);
	run.copies = b2b ? PEERS : 1;
	if (pairs)
		run.size *= 2; /* one engine moves what two did */
	if (!rc)
		rc = bf_copier_measure(&run, &with, t->err);
	if (rc)
		return rc;
	t->value = collective(sw, PEERS, false, (double)plain) / collective(sw,
									    b2b     ? 1
									    : pairs ? (PEERS + 1) / 2
										    : PEERS,
									    ahead, (double)with);
	t->how = BF_TRIAL_PHASES;
	return 0;
}

const struct bf_trial_rule bf_trials_copier[] = {
	{ "sdma", "copy_time", NULL, copy, NULL },
	{ "sdma", "copy_bandwidth", NULL, copy, NULL },
	{ "sdma", "rect_copy_time", NULL, rows, NULL },
	{ "sdma", "rect_copy_bandwidth", NULL, rows, NULL },
	{ "sdma", "phase_share", NULL, share, NULL },
	{ "sdma", "speedup", NULL, speedup, NULL },
	{ 0 },
};
