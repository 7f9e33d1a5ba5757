/* What processors and GPUs measure across PCIe itself. */
#include <string.h>

#include "sim/pcie.h"
#include "tools/timing/trial_internal.h"

#define WC_BYTES 64u   /* a write-combining buffer */
#define LOAD_BYTES 32u /* a streaming load of AVX */

static const struct bf_link_profile gen3_x16 = { .latency_ps = 250 * BF_NS,
						 .mem_ps = 200 * BF_NS,
						 .ps_per_kib = 65000,
						 .max_payload = 256,
						 .max_read_request = 512,
						 .tlp_overhead = 24 };

/* Bytes that cross the link, each request of `step` bytes with its overhead. */
static double crossing(const struct bf_link_profile *p, uint64_t bytes, uint32_t step)
{
	const uint64_t requests = (bytes + step - 1) / step;

	return (double)(bytes + requests * p->tlp_overhead) * (double)p->ps_per_kib / 1024;
}

/* Stores leave a buffer after the other; the call ends when the last one has been taken. */
static int bar_store(struct bf_timing_trial *t, double *ps)
{
	*ps = (double)t->model->sw.bar_store;
	if (t->figure->size > WC_BYTES)
		*ps += crossing(&gen3_x16, t->figure->size - WC_BYTES, WC_BYTES);
	return 0;
}

/* Loads that wait for each other in part: as many as fill buffers are under way at a time. */
static int bar_load(struct bf_timing_trial *t, double *ps)
{
	const uint64_t loads = (t->figure->size + LOAD_BYTES - 1) / LOAD_BYTES;

	*ps = (double)(t->model->sw.bar_load + 2 * gen3_x16.latency_ps + loads * t->model->sw.bar_line);
	return 0;
}

static int bar(struct bf_timing_trial *t)
{
	const bool load = bf_figure_says(t->figure->op, "load") || bf_figure_says(t->figure->op, "read");
	double ps = 0;

	if (!t->figure->size)
		return bf_trial_cannot(t, "no size");
	(load ? bar_load : bar_store)(t, &ps);
	return strstr(t->figure->metric, "bandwidth") ? bf_trial_rate(t, BF_TRIAL_PHASES, ps, (double)t->figure->size)
						      : bf_trial_time(t, BF_TRIAL_PHASES, ps);
}

struct reader {
	struct bf_dma_op op;
	uint64_t done_ps;
	struct bf_sim *sim;
};

static void read_done(struct bf_dma_op *op)
{
	struct reader *r = BF_CONTAINER_OF(op, struct reader, op);

	r->done_ps = r->sim->now_ps;
}

/* A read of host memory by something behind `profile`, there and back. */
static int round_trip(const struct bf_link_profile *profile, uint32_t len, uint64_t *ps, struct bf_error *err)
{
	const struct bf_region_opts mem = { .name = "host", .size = 65536 };
	uint8_t bytes[4096];
	struct reader r = { .op = { .len = len, .dst = bytes, .done = read_done } };
	struct bf_region *region;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_link link;
	struct bf_dma_port port;
	int rc = bf_sim_create(1, &r.sim);

	if (rc)
		return bf_fail(err, rc, "no memory");
	rc = bf_space_init(&space, r.sim, "host", 0);
	if (!rc && !(rc = bf_ioas_init(&ioas, r.sim, "gpu", 4096))) {
		rc = bf_region_create(&space, &mem, &region);
		if (!rc)
			rc = bf_ioas_map_region(&ioas, region, BF_IOMMU_READ);
		if (!rc && !(rc = bf_link_init(&link, r.sim, "gpu.pcie", profile))) {
			rc = bf_dma_port_init(&port, r.sim, "gpu.dma", &link, &ioas);
			if (!rc) {
				r.op.iova = region->va;
				bf_dma_read(&port, &r.op);
				bf_sim_run(r.sim, BF_S);
				bf_dma_port_fini(&port);
			}
			bf_link_fini(&link);
		}
		bf_ioas_fini(&ioas);
	}
	if (!rc)
		bf_space_fini(&space);
	*ps = r.done_ps;
	rc = rc ? bf_fail(err, rc, "%s", r.sim->error.text) : 0;
	bf_sim_destroy(r.sim);
	return rc;
}

static int gpu_access(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	struct bf_link_profile link = bf_link_profile_gen5_x16;
	uint64_t ps;
	int rc;

	if (bf_figure_says(t->figure->op, "no fence"))
		return bf_trial_time(t, BF_TRIAL_PHASES, (double)sw->gpu_store);
	link.ps_per_kib *= 2;
	if (bf_trial_condition(t, "numa", "other"))
		link.latency_ps += sw->far_socket / 2;
	rc = round_trip(&link, 32, &ps, t->err);
	return rc ? rc : bf_trial_time(t, BF_TRIAL_RUN, (double)(ps + sw->gpu_load));
}

/* A fence that waits until the store has arrived, and the answer is back: a round trip. */
static int gpu_doorbell(struct bf_timing_trial *t)
{
	struct bf_link_profile link = bf_link_profile_gen5_x16;
	uint64_t ps;
	int rc;

	link.ps_per_kib *= 2;
	rc = round_trip(&link, 4, &ps, t->err);
	return rc ? rc : bf_trial_time(t, BF_TRIAL_RUN, (double)(ps + t->model->sw.gpu_bell));
}

static int ping_pong(struct bf_timing_trial *t)
{
	const struct bf_timing_software *sw = &t->model->sw;
	const struct bf_link_profile *p = &bf_link_profile_gen5_x16;

	return bf_trial_time(t, BF_TRIAL_PHASES,
			     (double)(sw->bar_store + 2 * p->latency_ps + sw->gpu_spin + sw->cpu_poll));
}

static int cpu_post(struct bf_timing_trial *t)
{
	return bf_trial_time(t, BF_TRIAL_PHASES, (double)t->model->sw.cpu_post);
}

const struct bf_trial_rule bf_trials_pcie[] = {
	{ "pcie", "bar_copy_time", NULL, bar, NULL },
	{ "pcie", "bar_copy_bandwidth", NULL, bar, NULL },
	{ "pcie", "gpu_access_time", NULL, gpu_access, NULL },
	{ "pcie", "substep_time", "doorbell", gpu_doorbell, NULL },
	{ "pcie", "pingpong_rtt", NULL, ping_pong, NULL },
	{ "pcie", "proxy_post_time", NULL, cpu_post, NULL },
	{ "pcie", "api_time", NULL, NULL, "a kernel driver's set-up: no device takes part" },
	{ "pcie", "dma_read_latency", NULL, NULL, "second-hand: the card's own part is not stated" },
	{ "pcie", "dma_latency_delta", NULL, NULL, "caches of the host are not modelled" },
	{ "pcie", "dma_bandwidth_loss", NULL, NULL, "second-hand: the card's own part is not stated" },
	{ "pcie", "link_rate", NULL, NULL, "a specification" },
	{ 0 },
};
