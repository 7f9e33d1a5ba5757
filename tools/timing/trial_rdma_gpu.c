/* What GPU threads measure that post by themselves, or through a proxy: NVSHMEM's and DeepEP's puts. */
#include <string.h>

#include "tools/timing/trial_rdma.h"

#define MESSAGES_MOST 512u /* of a batch that is run; what is larger is as many times longer behind its first half */

static uint64_t post_time(const struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;

	if (bf_figure_says(t->figure->op, "DeepEP"))
		return sw->gpu_post_deepep;
	return bf_figure_says(t->figure->op, "one thread") ? sw->gpu_post_thread : sw->gpu_post_warp;
}

static bool machine(struct bf_timing_trial *t, struct bf_mlx5_profile *nic, struct bf_perf_run *run)
{
	if (!bf_trial_nic(t, nic, run))
		return false;
	run->gpu_data = run->gpu_queue = true;
	run->blueflame = false;
	run->post_ps = post_time(t);
	run->poll_ps = t->model->sw.gpu_poll;
	run->qps = t->figure->qps ? (uint32_t)t->figure->qps : 1;
	return true;
}

static int put_latency(struct bf_timing_trial *t)
{
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;

	if (!machine(t, &nic, &run))
		return 0;
	return bf_trial_measured(t, BF_TRIAL_RUN, bf_perf_completion, &run, 0);
}

static int get_latency(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;
	const uint64_t more = t->figure->size > 8 ? (t->figure->size / 8 - 1) * sw->gpu_scalar_more : 0;

	if (!machine(t, &nic, &run))
		return 0;
	run.op = BF_PERF_READ;
	run.size = 8;
	run.post_ps = sw->gpu_scalar_get;
	return bf_trial_measured(t, t->figure->size > 8 ? BF_TRIAL_PHASES : BF_TRIAL_RUN, bf_perf_completion, &run,
				 more);
}

/* The put returns once the entry is written and the doorbell rung. */
static int returns(struct bf_timing_trial *t)
{
	return bf_trial_time(t, BF_TRIAL_PHASES, (double)post_time(t));
}

static int round_trip(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;
	uint64_t ps, first;
	int rc;

	if (bf_figure_says(t->figure->op, "scalar"))
		return bf_trial_time(t, BF_TRIAL_PHASES,
				     (double)(sw->gpu_scalar_round + t->figure->size / 4 * sw->gpu_scalar_put));
	if (!machine(t, &nic, &run))
		return 0;
	rc = bf_perf_completion(&run, &ps, t->err);
	run.size = 8;
	if (!rc)
		rc = bf_perf_completion(&run, &first, t->err);
	return rc ? rc : bf_trial_time(t, BF_TRIAL_PHASES, (double)sw->gpu_signal_round + 2 * (double)(ps - first));
}

/* `n` messages: those that are too many to run are as long as the last ones that did. */
static int batch_time(struct bf_timing_trial *t, const struct bf_perf_run *run, uint64_t n, double *ps)
{
	uint64_t whole, half;
	uint32_t least = MESSAGES_MOST;
	int rc;

	while (least > 32 && (uint64_t)least * run->size > (8u << 20))
		least /= 2;
	if (n <= least) {
		rc = bf_perf_batch(run, (uint32_t)n, &whole, t->err);
		*ps = (double)whole;
		return rc;
	}
	rc = bf_perf_batch(run, least / 2, &half, t->err);
	if (!rc)
		rc = bf_perf_batch(run, least, &whole, t->err);
	if (!rc)
		*ps = (double)whole + (double)(whole - half) * (double)(n - least) / (least / 2.0);
	return rc;
}

static uint32_t blocks_of(const struct bf_timing_trial *t)
{
	double n = bf_figure_condition_number(t->figure, "ctas", 1);

	return n < 1 ? 1 : n > 256 ? 256 : (uint32_t)n;
}

/* Scalar puts of many threads: the threads' pace, and what all of them share, both at random times. */
static int scalar_rate(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	const double own = (double)sw->gpu_scalar_put / blocks_of(t), all = (double)sw->gpu_scalar_floor;
	const double larger = own > all ? own : all, smaller = own > all ? all : own;

	if (bf_trial_condition(t, "transport", "IBRC"))
		return bf_trial_rate(t, BF_TRIAL_PHASES, (double)sw->proxy_scalar, (double)t->figure->size);
	return bf_trial_rate(t, BF_TRIAL_PHASES, larger + smaller * smaller / (2 * larger), (double)t->figure->size);
}

/* shmem_put_bw: blocks that each put their part of the message, again and again. */
static int block_puts(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	const uint32_t blocks = blocks_of(t);
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;
	double software = (double)(sw->gpu_block_put + blocks * sw->gpu_block_more), wire;
	uint64_t ps;
	int rc;

	if (!machine(t, &nic, &run))
		return 0;
	run.size = t->figure->size ? t->figure->size : 1u << 20;
	run.depth = 16;
	run.interval_ps = BF_NS;
	rc = bf_perf_interval(&run, &ps, t->err);
	if (rc)
		return rc;
	wire = (double)ps;
	if (!t->figure->size)
		return bf_trial_rate(t, BF_TRIAL_RUN, wire, (double)run.size);
	if (bf_trial_condition(t, "transport", "IBRC"))
		software = (double)sw->proxy_put;
	return bf_trial_rate(t, BF_TRIAL_PHASES, software > wire ? software : wire, (double)run.size);
}

/* Each block puts a message and waits for it, at a pace that the program is told. */
static int posted_puts(struct bf_timing_trial *t)
{
	const double target = bf_figure_condition_number(t->figure, "target_GBps", 0);
	const uint32_t blocks = blocks_of(t);
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;
	double ps = 0;
	int rc;

	if (!machine(t, &nic, &run))
		return 0;
	run.interval_ps = BF_NS;
	rc = batch_time(t, &run, blocks, &ps);
	if (rc)
		return rc;
	if (strstr(t->figure->metric, "quiet"))
		return bf_trial_time(t, BF_TRIAL_RUN, ps - (double)run.post_ps);
	rc = bf_trial_rate(t, BF_TRIAL_RUN, ps, (double)run.size * blocks);
	if (target > 0 && t->value > target)
		t->value = target;
	return rc;
}

static int warps_rate(struct bf_timing_trial *t)
{
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;

	if (!machine(t, &nic, &run))
		return 0;
	run.qps = 24;
	run.depth = 64;
	run.interval_ps = t->model->sw.gpu_warp_message;
	return bf_trial_measured_rate(t, bf_perf_interval, &run);
}

/* 16 puts in order, the last one seen at the other end. */
static int ordered_puts(struct bf_timing_trial *t)
{
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;
	double ps;
	int rc;

	if (!machine(t, &nic, &run))
		return 0;
	run.post_ps = t->model->sw.gpu_post_deepep;
	run.interval_ps = t->model->sw.gpu_warp_message;
	rc = batch_time(t, &run, 16, &ps);
	return rc ? rc : bf_trial_time(t, BF_TRIAL_RUN, ps);
}

/* Tokens go to their experts' ranks: one message each, or packed into one for each rank. */
static int dispatch(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	const double tokens = bf_figure_condition_number(t->figure, "tokens", 0);
	const double topk = bf_figure_condition_number(t->figure, "topk", 1);
	const bool packed = bf_figure_says(t->figure->op, "packed");
	const uint64_t ranks = t->figure->ranks ? t->figure->ranks : 8;
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;
	uint64_t messages = (uint64_t)(tokens * topk), rest;
	double ps;
	int rc;

	if (tokens < 1 || topk < 1 || tokens * topk > 1e7 || !t->figure->size || t->figure->size > 1u << 20)
		return bf_trial_cannot(t, "tokens, experts a token or size are not stated");
	if (!machine(t, &nic, &run))
		return 0;
	run.qps = 24;
	run.post_ps = 0;
	run.interval_ps = sw->gpu_warp_message;
	rest = bf_figure_says(t->figure->op, "DeepEP") ? sw->dispatch_deepep : sw->dispatch_puts;
	if (packed) {
		rest = bf_figure_says(t->figure->op, "proxy") ? sw->dispatch_proxy : sw->dispatch_packed;
		run.size = run.size * messages / ranks;
		messages = ranks;
		while (run.size > 8u << 20) {
			run.size /= 2;
			messages *= 2;
		}
	}
	rc = batch_time(t, &run, messages, &ps);
	return rc ? rc : bf_trial_time(t, BF_TRIAL_PHASES, ps + (double)rest);
}

const struct bf_trial_rule bf_trials_gpu[] = {
	{ "mlx5", "ibgda_put_latency", NULL, put_latency, NULL },
	{ "mlx5", "ibgda_get_latency", NULL, get_latency, NULL },
	{ "mlx5", "gpu_post_time", NULL, returns, NULL },
	{ "mlx5", "nvshmem_pingpong_rtt", NULL, round_trip, NULL },
	{ "mlx5", "message_rate", "scalar put", scalar_rate, NULL },
	{ "mlx5", "message_rate", "warps", warps_rate, NULL },
	{ "mlx5", "put_bandwidth", "shmem_put_bw", block_puts, NULL },
	{ "mlx5", "put_bandwidth", NULL, posted_puts, NULL },
	{ "mlx5", "quiet_time_per_put", NULL, posted_puts, NULL },
	{ "mlx5", "one_way_latency", NULL, ordered_puts, NULL },
	{ "mlx5", "dispatch_time", NULL, dispatch, NULL },
	{ "mlx5", "saturation_message_size", NULL, NULL, "a size, read off a curve that is not printed" },
	{ "mlx5", "quoted_latency", NULL, NULL, "quoted without its conditions" },
	{ "mlx5", "quoted_bandwidth", NULL, NULL, "quoted without its conditions" },
	{ 0 },
};
