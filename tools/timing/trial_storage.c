/* What CPUs and GPUs measure on NVMe drives. */
#include <string.h>

#include "tools/timing/storage.h"
#include "tools/timing/trial_internal.h"

#define UNDER_WAY_MOST 8192u /* requests: a drive is full long before */

struct drive_name {
	const char *says;
	enum bf_timing_drive drive;
};
static const struct drive_name drives[] = {
	{ "970 PRO", BF_DRIVE_970PRO },    { "970 EVO", BF_DRIVE_970PRO }, { "980 Pro", BF_DRIVE_980PRO },
	{ "PM1733", BF_DRIVE_PM1733 },     { "PM1735", BF_DRIVE_PM1733 },  { "Optane", BF_DRIVE_OPTANE },
	{ "P5800X", BF_DRIVE_OPTANE },     { "P4800X", BF_DRIVE_OPTANE },  { "P3700", BF_DRIVE_P3700 },
	{ "Micron 9100", BF_DRIVE_M9100 }, { "P4510", BF_DRIVE_P4510 },    { "8086:0a54", BF_DRIVE_P4510 },
	{ "SN850X", BF_DRIVE_SN850X },     { "MTR_SLC", BF_DRIVE_MTR },
};

static bool drive_of(struct bf_timing_trial *t, enum bf_timing_drive *out)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(drives); i++)
		if (bf_figure_says(t->figure->hardware, drives[i].says)) {
			*out = drives[i].drive;
			return true;
		}
	bf_trial_cannot(t, "no profile of this drive, or none is stated: %.90s", t->figure->hardware);
	return false;
}

static bool load_of(struct bf_timing_trial *t, struct bf_storage_run *run)
{
	const struct bf_figure *f = t->figure;
	enum bf_timing_drive drive;

	if (!drive_of(t, &drive))
		return false;
	if (!f->size || f->size % 512 || f->size > 4u << 20) {
		bf_trial_cannot(t, "requests of %llu bytes", (unsigned long long)f->size);
		return false;
	}
	*run = (struct bf_storage_run){ .drive = &t->model->drives.drive[drive],
					.size = f->size,
					.queues = f->qps ? (uint32_t)(f->qps < 128 ? f->qps : 128) : 1,
					.depth = f->depth ? (uint32_t)(f->depth < 1024 ? f->depth : 1024) : 1,
					.write = bf_figure_says(f->op, "write"),
					.sequential = bf_figure_says(f->op, "seq") };
	while (run->queues > 1 && run->queues * run->depth > UNDER_WAY_MOST)
		run->queues = (run->queues + 1) / 2;
	while (run->queues * run->depth > UNDER_WAY_MOST)
		run->depth = (run->depth + 1) / 2;
	return true;
}

/* Who submits, and what that takes. */
static void software_of(const struct bf_timing_trial *t, struct bf_storage_run *run)
{
	const struct bf_timing_software *sw = &t->model->sw;

	if (bf_trial_says(t, "spdk") || bf_figure_says(t->figure->source, "spdk") || bf_trial_says(t, "core")) {
		run->submit_ps = run->complete_ps = sw->spdk_io;
	} else if (bf_figure_says(t->figure->source, "bam") ||
		   bf_figure_says(t->figure->metric, "gpu_initiated_iops")) {
		run->submit_ps = sw->bam_io;
		run->complete_ps = 0;
	} else {
		run->submit_ps = run->depth > 1 ? sw->fio_async : sw->fio_sync;
		run->complete_ps = run->submit_ps;
	}
}

static int measure(struct bf_timing_trial *t, struct bf_storage_run *run, struct bf_storage_result *r, double *drives_n)
{
	*drives_n = bf_figure_condition_number(t->figure, "drives", 1);
	if (!load_of(t, run)) {
		*drives_n = 0;
		return 0;
	}
	software_of(t, run);
	return bf_storage_measure(run, r, t->err);
}

/* Many drives that one core drives go no faster than the core; which drives they are does not matter. */
static int one_core(struct bf_timing_trial *t)
{
	if (bf_figure_condition_number(t->figure, "threads", 1) > 1)
		return bf_trial_cannot(t, "what two hardware threads of a core make is not stated");
	if (!bf_trial_says(t, "spdk") && !bf_figure_says(t->figure->source, "spdk"))
		return bf_trial_cannot(t, "the core is the limit, and its software's share of a request is not stated");
	return bf_trial_rate(t, BF_TRIAL_PHASES, 2.0 * (double)t->model->sw.spdk_io, (double)t->figure->size);
}

static int rate(struct bf_timing_trial *t)
{
	struct bf_storage_run run;
	struct bf_storage_result r;
	double n, ps;
	int rc;

	if (bf_figure_says(t->figure->op, "one core") || bf_trial_says(t, "one core"))
		return one_core(t);
	rc = measure(t, &run, &r, &n);
	if (rc || n <= 0)
		return rc;
	ps = (double)r.interval_ps / n;
	return bf_trial_rate(t, BF_TRIAL_RUN, ps, (double)run.size);
}

static int latency(struct bf_timing_trial *t)
{
	struct bf_storage_run run;
	struct bf_storage_result r;
	double n;
	int rc = measure(t, &run, &r, &n);

	if (rc || n <= 0)
		return rc;
	return bf_trial_time(t, BF_TRIAL_RUN,
			     (double)(bf_figure_says(t->figure->metric, "min") ? r.min_ps : r.mean_ps));
}

/* So many requests, as fast as they go. */
static int run_time(struct bf_timing_trial *t)
{
	double count = bf_figure_condition_number(t->figure, "io_count", 0), n;
	struct bf_storage_run run;
	struct bf_storage_result r;
	int rc;

	if (count <= 0)
		count = bf_figure_condition_number(t->figure, "threads", 0) *
			bf_figure_condition_number(t->figure, "requests_per_thread", 1);
	if (count < 1)
		return bf_trial_cannot(t, "no request reaches a drive, or their number is not stated");
	if (bf_figure_says(t->figure->hardware, "+"))
		return bf_trial_cannot(t, "two drives of different kinds");
	rc = measure(t, &run, &r, &n);
	if (rc || n <= 0)
		return rc;
	return bf_trial_time(t, BF_TRIAL_RUN, (double)r.mean_ps + (count - 1) * (double)r.interval_ps / n);
}

/* rocm-xio, step by step: a GPU thread reads block after block, which the drive has read ahead. */
static int gpu_step(struct bf_timing_trial *t)
{
	struct bf_storage_run run;
	struct bf_storage_result r;
	int rc;

	if (!load_of(t, &run))
		return 0;
	run.sequential = true;
	run.submit_ps = bf_figure_says(t->figure->op, "Total") ? t->model->sw.gpu_nvme_step : 0;
	rc = bf_storage_measure(&run, &r, t->err);
	if (rc)
		return rc;
	return bf_trial_time(t, run.submit_ps ? BF_TRIAL_PHASES : BF_TRIAL_RUN, (double)r.mean_ps);
}

/*
 * rocm-xio: a GPU thread reads. The least is a lone request's; the mean of a batch is that of requests which follow
 * each other, since the next one is put when the last has been seen.
 */
static int gpu_read(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	const bool batch = bf_figure_says(t->figure->op, "batch"), least = bf_trial_condition(t, "stat", "min");
	struct bf_storage_run run;
	struct bf_storage_result r;
	double depth;
	int rc;

	if (!load_of(t, &run))
		return 0;
	depth = run.depth;
	run.depth = 1;
	run.submit_ps = batch ? sw->gpu_nvme_batch : sw->gpu_nvme;
	run.queues = 1;
	if (batch && least)
		run.submit_ps = sw->gpu_nvme;
	rc = bf_storage_measure(&run, &r, t->err);
	if (rc)
		return rc;
	return bf_trial_time(t, BF_TRIAL_PHASES, batch && !least ? depth * (double)r.mean_ps : (double)r.mean_ps);
}

const struct bf_trial_rule bf_trials_storage[] = {
	{ "nvme", "iops", NULL, rate, NULL },
	{ "nvme", "iops_spec", NULL, rate, NULL },
	{ "nvme", "bandwidth", NULL, rate, NULL },
	{ "nvme", "gpu_initiated_iops", NULL, rate, NULL },
	{ "nvme", "gpu_initiated_bandwidth", NULL, rate, NULL },
	{ "nvme", "latency_mean", NULL, latency, NULL },
	{ "nvme", "latency_median", NULL, latency, NULL },
	{ "nvme", "latency_min", NULL, latency, NULL },
	{ "nvme", "latency_spec", NULL, latency, NULL },
	{ "nvme", "run_time", NULL, run_time, NULL },
	{ "nvme", "gpu_initiated_latency", NULL, gpu_read, NULL },
	{ "nvme", "gpu_overhead_per_io", NULL, NULL, "instructions of a GPU thread: no device takes part" },
	{ "nvme", "substep_time", "CQ poll", gpu_step, NULL },
	{ "nvme", "substep_time", "Total", gpu_step, NULL },
	{ "nvme", "substep_time", NULL, NULL, "instructions of a GPU thread: no device takes part" },
	{ 0 },
};
