/* What a device counts, by name. */
#include "models/mlx5/device_internal.h"

#include <errno.h>

static const char *const nak_names[BF_MLX5_NAK_KINDS] = {
	"rnr", "sequence", "invalid_request", "access", "operation", "reserved",
};

/* In the order of the drop record's reasons (records.h). */
static const char *const drop_names[BF_MLX5_DROPS] = {
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
	char name[40];
	int status = 0;

#define C(counter) status = status ? status : attach(dev, #counter, &n->counter);
	BF_MLX5_COUNTERS(C)
#undef C
	if (!status)
		status = attach_each(dev, "naks_sent", nak_names, n->naks_sent, BF_MLX5_NAK_KINDS);
	if (!status)
		status = attach_each(dev, "naks_received", nak_names, n->naks_received, BF_MLX5_NAK_KINDS);
	if (!status)
		status = attach_each(dev, "rx_drops", drop_names, n->rx_drops, BF_MLX5_DROPS);
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
