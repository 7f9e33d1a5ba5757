/* What CPUs measure on a ConnectX: perftest, MPI, transfer libraries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/timing/trial_rdma.h"

#define DEPTH 128u       /* perftest's --tx-depth */
#define ATOMIC_DEPTH 16u /* and its most for READ and atomics */
#define INLINE 220u      /* perftest's for WRITE latency; SEND has 236 */

/* The number before " Gb/s"; 0 when there is none. */
static double stated_rate(const char *text)
{
	const char *unit = strstr(text, " Gb/s"), *at = unit;

	while (at && at > text && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at && at < unit ? atof(at) : 0;
}

static const char *foreign_part(const char *hardware)
{
	static const char *const parts[] = { "EFA", "Thor2", "Pollara", "BCM57", "Pensando", "AINIC", "Slingshot" };

	for (size_t i = 0; i < BF_ARRAY_LEN(parts); i++)
		if (bf_figure_says(hardware, parts[i]))
			return parts[i];
	return NULL;
}

static enum bf_timing_nic part_of(const char *hw, double rate)
{
	if (bf_figure_says(hw, "ConnectX-7") || bf_figure_says(hw, "NDR") || bf_figure_says(hw, "ConnectX-8"))
		return BF_NIC_CX7;
	if (bf_figure_says(hw, "ConnectX-6") || bf_figure_says(hw, "HDR"))
		return BF_NIC_CX6;
	if (bf_figure_says(hw, "ConnectX-5") || bf_figure_says(hw, "EDR") || (rate > 0 && rate <= 100))
		return BF_NIC_CX5;
	return rate > 0 && rate <= 200 ? BF_NIC_CX6 : BF_NIC_CX7;
}

static uint32_t mtu_of(const char *hw)
{
	if (bf_figure_says(hw, "MTU 1024") || bf_figure_says(hw, "RoCEv2 loopback"))
		return 3;
	if (bf_figure_says(hw, "MTU 2048"))
		return 4;
	return 5;
}

bool bf_trial_nic(struct bf_timing_trial *t, struct bf_mlx5_profile *nic, struct bf_perf_run *run)
{
	const struct bf_timing_model *m = t->model;
	const char *hw = t->figure->hardware, *foreign = foreign_part(hw);
	double rate = stated_rate(hw);

	if (foreign) {
		bf_trial_cannot(t, "not a ConnectX: %s", foreign);
		return false;
	}
	if (bf_figure_says(hw, "NVLink only") || bf_figure_says(hw, "one node")) {
		bf_trial_cannot(t, "no NIC takes part");
		return false;
	}
	*nic = m->nics.nic[part_of(hw, rate)];
	if (rate > 0 && rate <= 1600)
		nic->port_ps_per_kib = (uint64_t)(8192e3 / rate);
	else if (bf_figure_says(hw, "HDR"))
		nic->port_ps_per_kib = 40960;
	*run = (struct bf_perf_run){ .nic = nic,
				     .size = t->figure->size,
				     .qps = 1,
				     .depth = 1,
				     .mtu = mtu_of(hw),
				     .blueflame = true,
				     .post_ps = m->sw.cpu_post,
				     .poll_ps = m->sw.cpu_poll,
				     .interval_ps = m->sw.cpu_interval };
	if (bf_trial_condition(t, "path", "loopback on one node")) /* within the card: no port takes part */
		nic->port_latency_ps = 0;
	/* The processor that posts, and its memory, on the other socket than the NIC. */
	if (bf_figure_says(t->figure->source, "numa0"))
		nic->pcie.latency_ps += m->sw.far_socket;
	/* The GPU: on the other socket, or beside the NIC. */
	if (bf_trial_says(t, "different sockets") || bf_trial_says(t, "socket 1")) {
		nic->pcie.vram_ps += m->sw.gpu_path_late;
	}
	if (bf_figure_says(hw, "virtual machine")) {
		nic->pcie.mem_ps += m->sw.vm_extra;
		run->interval_ps = m->sw.vm_interval;
	} else if (!bf_figure_says(hw, "ConnectX") && bf_figure_says(hw, "InfiniBand")) {
		run->interval_ps = m->sw.vm_interval;
	}
	run->gpu_data = bf_figure_says(t->figure->op, "GPU memory") || bf_figure_says(t->figure->op, "GPU to GPU") ||
			bf_trial_condition(t, "memory", "GPU");
	return true;
}

int bf_trial_measured(struct bf_timing_trial *t, enum bf_trial_how how, bf_perf_fn *measure,
		      const struct bf_perf_run *run, uint64_t more)
{
	uint64_t ps;
	int rc = measure(run, &ps, t->err);

	return rc ? rc : bf_trial_time(t, how, (double)(ps + more));
}

int bf_trial_measured_rate(struct bf_timing_trial *t, bf_perf_fn *measure, const struct bf_perf_run *run)
{
	uint64_t ps;
	int rc = measure(run, &ps, t->err);

	return rc ? rc : bf_trial_rate(t, BF_TRIAL_RUN, (double)ps, (double)run->size);
}

static enum bf_perf_op op_of(const char *op)
{
	if (bf_figure_says(op, "FETCH") || bf_figure_says(op, "atomic") || bf_figure_says(op, "FAA"))
		return BF_PERF_FETCH_ADD;
	if (bf_figure_says(op, "READ"))
		return BF_PERF_READ;
	if (bf_figure_says(op, "immediate"))
		return BF_PERF_WRITE_IMM;
	return bf_figure_says(op, "SEND") ? BF_PERF_SEND : BF_PERF_WRITE;
}

/* perftest's latencies: a full round for what pulls, half of one for what pushes. */
static int latency(struct bf_timing_trial *t)
{
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;

	if (!t->figure->has_size)
		return bf_trial_cannot(t, "no size");
	if (!bf_trial_nic(t, &nic, &run))
		return 0;
	run.op = op_of(t->figure->op);
	run.inline_max = run.gpu_data ? 0 : (uint32_t)bf_figure_condition_number(t->figure, "inline_threshold", INLINE);
	return bf_trial_measured(
	    t, BF_TRIAL_RUN,
	    run.op == BF_PERF_READ || run.op == BF_PERF_FETCH_ADD ? bf_perf_completion : bf_perf_half_round, &run, 0);
}

static int stream(struct bf_timing_trial *t)
{
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;

	if (!t->figure->size)
		return bf_trial_cannot(t, "no size");
	if (!bf_trial_nic(t, &nic, &run))
		return 0;
	run.op = op_of(t->figure->op);
	run.qps = t->figure->qps ? (uint32_t)t->figure->qps : 1;
	run.depth = t->figure->depth ? (uint32_t)t->figure->depth : DEPTH;
	if (run.op == BF_PERF_FETCH_ADD && run.depth > ATOMIC_DEPTH)
		run.depth = ATOMIC_DEPTH;
	if (run.qps > 256 || run.depth > 4096)
		return bf_trial_cannot(t, "%u queue pairs of depth %u", run.qps, run.depth);
	return bf_trial_measured_rate(t, bf_perf_interval, &run);
}

/* Many queue pairs, posters that are never late. */
static int most_messages(struct bf_timing_trial *t)
{
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;

	if (!bf_trial_nic(t, &nic, &run))
		return 0;
	run.size = t->figure->size ? t->figure->size : 8;
	run.qps = t->figure->qps ? (uint32_t)t->figure->qps : 32;
	run.depth = 64;
	run.interval_ps = BF_NS;
	return bf_trial_measured_rate(t, bf_perf_interval, &run);
}

static int mpi(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;

	if (!t->figure->has_size)
		return bf_trial_cannot(t, "no size");
	if (!bf_trial_nic(t, &nic, &run))
		return 0;
	run.op = BF_PERF_SEND;
	run.inline_max = 64;
	run.post_ps += sw->mpi_way + sw->mpi_copy * run.size / 1024;
	return bf_trial_measured(t, BF_TRIAL_RUN, bf_perf_half_round, &run, 0);
}

/* A library that is called from a script: one transfer at a time. */
static int transfer(struct bf_timing_trial *t)
{
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;

	if (!t->figure->size)
		return bf_trial_cannot(t, "no size");
	if (t->figure->depth > 1 || bf_figure_says(t->figure->op, "batch"))
		return bf_trial_cannot(t, "how the library splits a batch is not stated");
	if (!bf_trial_nic(t, &nic, &run))
		return 0;
	run.op = op_of(t->figure->op);
	run.post_ps = t->model->sw.script_post;
	return strstr(t->figure->metric, "bandwidth") ? bf_trial_measured_rate(t, bf_perf_completion, &run)
						      : bf_trial_measured(t, BF_TRIAL_RUN, bf_perf_completion, &run, 0);
}

/* One WRITE, from the store to the doorbell to its completion seen. */
static int post_to_cqe(struct bf_timing_trial *t)
{
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;

	if (!bf_trial_nic(t, &nic, &run))
		return 0;
	run.gpu_data = false;
	run.gpu_source = bf_trial_condition(t, "payload_source", "GPU");
	run.inline_max = bf_trial_condition(t, "payload_source", "inline") ? INLINE : 0;
	run.blueflame = !bf_trial_condition(t, "doorbell", "BlueFlame off");
	return bf_trial_measured(t, BF_TRIAL_RUN, bf_perf_completion, &run, 0);
}

/* A CPU posts for a GPU: its part, and with what the two tell each other. */
static int proxy(struct bf_timing_trial *t)
{
	struct bf_mlx5_profile nic;
	struct bf_perf_run run;

	if (!bf_trial_nic(t, &nic, &run))
		return 0;
	run.gpu_source = true;
	return bf_trial_measured(t, BF_TRIAL_RUN, bf_perf_completion, &run,
				 strstr(t->figure->metric, "put") ? t->model->sw.proxy_hop : 0);
}

const struct bf_trial_rule bf_trials_rdma[] = {
	{ "mlx5", "perftest_latency", NULL, latency, NULL },
	{ "mlx5", "perftest_bandwidth", NULL, stream, NULL },
	{ "mlx5", "message_rate", "maximum", most_messages, NULL },
	{ "mlx5", "message_rate", "NIC limit", most_messages, NULL },
	{ "mlx5", "message_rate", "RDMA", stream, NULL },
	{ "mlx5", "message_rate", "SEND", stream, NULL },
	{ "mlx5", "message_rate", "FETCH", stream, NULL },
	{ "mlx5", "mpi_latency", NULL, mpi, NULL },
	{ "mlx5", "transfer_latency", NULL, transfer, NULL },
	{ "mlx5", "transfer_bandwidth", NULL, transfer, NULL },
	{ "mlx5", "post_to_cqe_latency", NULL, post_to_cqe, NULL },
	{ "mlx5", "proxy_poll_time", NULL, proxy, NULL },
	{ "mlx5", "proxy_put_latency", NULL, proxy, NULL },
	{ 0 },
};
