/* Expert parallelism between GPUs: the NIC's share is run, SMs and NVLink are phases (docs/timing.md). */
#include <string.h>

#include "tools/timing/trial_rdma.h"

#define NODE 8.0 /* GPUs that reach each other without a NIC */

struct work {
	double tokens, topk, ranks, token_bytes;
	bool normal;
};

static bool read_work(struct bf_timing_trial *t, struct work *w)
{
	const double hidden = bf_figure_condition_number(t->figure, "hidden", 7168);

	w->tokens = bf_figure_condition_number(t->figure, "tokens_per_rank", 0);
	w->topk = bf_figure_condition_number(t->figure, "topk", 8);
	w->ranks = (double)t->figure->ranks;
	/* FP8 with a scale of four bytes for 128 values; BF16. */
	w->token_bytes = bf_figure_says(t->figure->op, "FP8") ? hidden + hidden / 32 : 2 * hidden;
	w->normal = w->tokens > 1024;
	if (w->tokens < 1 || w->topk < 1 || w->ranks < 1 || hidden < 1 || hidden > 65536) {
		bf_trial_cannot(t, "tokens or ranks are not stated");
		return false;
	}
	return true;
}

/* 1 KiB of tokens through the NIC, in ps, with work for all of it. */
static int nic_rate(struct bf_timing_trial *t, const struct work *w, double *ps_per_kib)
{
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;
	uint64_t ps;
	int rc;

	*ps_per_kib = 0;
	if (!bf_trial_nic(t, &nic, &run))
		return 0;
	run.size = (uint64_t)w->token_bytes;
	run.qps = 8;
	run.depth = 16;
	run.interval_ps = BF_NS;
	run.gpu_data = run.gpu_queue = true;
	run.blueflame = false;
	rc = bf_perf_interval(&run, &ps, t->err);
	*ps_per_kib = (double)ps * 1024 / w->token_bytes;
	return rc;
}

/* What holds for all of them: bytes that leave the node, and bytes that stay. */
static int low_latency(struct bf_timing_trial *t, const struct work *w, double nic_ps, double *ps)
{
	const struct bf_timing_software *sw = &t->model->sw;
	const double bytes = w->tokens * w->topk * w->token_bytes;
	const double stay = w->ranks > NODE ? NODE / w->ranks : 1;

	*ps = (double)sw->ep_base + (double)sw->ep_peer * w->ranks + bytes * stay / 1024 * (double)sw->ep_local +
	      bytes * (1 - stay) / 1024 * nic_ps * (double)sw->ep_remote / 20480;
	if (bf_figure_says(t->figure->source, "mori"))
		*ps *= (double)sw->ep_mori / 1000;
	return 0;
}

static int run_ep(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	struct work w;
	double nic_ps = 0, ps = 0, logical = 1;
	int rc;

	if (bf_trial_says(t, "not stated"))
		return bf_trial_cannot(t, "neither GPU nor NIC is stated");
	if (bf_trial_condition(t, "leg", "NVLink") || bf_trial_condition(t, "leg", "xGMI") ||
	    bf_trial_condition(t, "bottleneck", "NVLink") || bf_trial_condition(t, "bottleneck", "xGMI"))
		return bf_trial_cannot(t, "bound by the GPUs' own links, which are not modelled");
	if (bf_trial_says(t, "abnormal"))
		return bf_trial_cannot(t, "reported as abnormal by who measured it");
	if (bf_figure_says(t->figure->op, "dispatch + combine") || bf_figure_says(t->figure->op, "notify"))
		return bf_trial_cannot(t, "which part of the kernels it is, is not stated");
	if (!read_work(t, &w))
		return 0;
	rc = nic_rate(t, &w, &nic_ps);
	if (rc || nic_ps <= 0)
		return rc;
	if (!w.normal) {
		rc = low_latency(t, &w, nic_ps, &ps);
		if (rc || strstr(t->figure->metric, "latency"))
			return rc ? rc : bf_trial_time(t, BF_TRIAL_PHASES, ps);
		return bf_trial_rate(t, BF_TRIAL_PHASES, ps, w.tokens * w.topk * w.token_bytes);
	}
	if (strstr(t->figure->metric, "latency"))
		return bf_trial_cannot(t, "the kernel's part of the time is not stated");
	/* Some count what stays in the node, too, as if it had passed the NIC. */
	if ((bf_trial_says(t, "logical") || bf_figure_says(t->figure->source, "uccl")) && w.ranks > NODE)
		logical = w.ranks / (w.ranks - NODE);
	return bf_trial_rate(t, BF_TRIAL_PHASES, nic_ps * (double)sw->ep_normal_remote / 20480, 1024 * logical);
}

const struct bf_trial_rule bf_trials_ep[] = {
	{ "mlx5", "ep_latency", NULL, run_ep, NULL },
	{ "mlx5", "ep_bandwidth", NULL, run_ep, NULL },
	{ "mlx5", "alltoall_latency", NULL, run_ep, NULL },
	{ 0 },
};
