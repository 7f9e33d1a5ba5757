/* What a device counts, by name. */
#include "models/mlx5/device_internal.h"

#include <errno.h>

static const char *const nak_names[BF_RDMA_NAK_KINDS] = {
	"rnr", "sequence", "invalid_request", "access", "operation", "reserved",
};

/* In the order of the drop record's reasons (records.h). */
static const char *const drop_names[BF_RDMA_DROPS] = {
	"not_roce", "length", "icrc",       "no_qp",  "peer", "state",
	"sequence", "stale",  "unexpected", "memory", "qkey", "no_receive",
};

static int attach(struct bf_mlx5 *dev, const char *name, const uint64_t *field)
{
	return bf_stats_attach_part(dev->sim, dev, dev->name, name, "", field);
}

static int attach_each(struct bf_mlx5 *dev, const char *what, const char *const *names, const uint64_t *fields,
		       uint32_t count)
{
	int status = 0;

	for (uint32_t i = 0; i < count && !status; i++) {
		char name[48];

		snprintf(name, sizeof(name), "%s.%s", what, names[i]);
		status = attach(dev, name, &fields[i]);
	}
	return status;
}

int bf_mlx5_stats_open(struct bf_mlx5 *dev)
{
	const struct bf_mlx5_counts *n = &dev->count;
	const struct bf_rdma_counts *t = &dev->rdma.count;
	char name[40];
	int status = 0;

#define C(counter) status = status ? status : attach(dev, #counter, &n->counter);
	BF_MLX5_COUNTERS(C)
#undef C
	status = status ? status : attach(dev, "packets_resent", &t->packets_resent);
	status = status ? status : attach(dev, "timeouts", &t->timeouts);
	status = status ? status : attach(dev, "acks_sent", &t->acks_sent);
	status = status ? status : attach(dev, "acks_received", &t->acks_received);
	if (!status)
		status = attach_each(dev, "naks_sent", nak_names, t->naks_sent, BF_RDMA_NAK_KINDS);
	if (!status)
		status = attach_each(dev, "naks_received", nak_names, t->naks_received, BF_RDMA_NAK_KINDS);
	if (!status)
		status = attach_each(dev, "rx_drops", drop_names, t->rx_drops, BF_RDMA_DROPS);
	snprintf(name, sizeof(name), "%s.latency", dev->name);
	dev->latency = bf_stats_hist(dev->sim, name, "ps");
	if (!status && !dev->latency)
		status = bf_fail(&dev->sim->error, -ENOMEM, "statistic '%s': no memory", name);
	return status;
}

void bf_mlx5_stats_close(struct bf_mlx5 *dev)
{
	bf_stats_detach(dev->sim, dev);
}
