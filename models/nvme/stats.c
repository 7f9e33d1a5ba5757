/* What a controller counts, by name, and the parts of a command's time. */
#include "models/nvme/device_internal.h"

#include <errno.h>
#include <stdio.h>

static int attach(struct bf_nvme *dev, const char *name, const uint64_t *field)
{
	return bf_stats_attach_part(dev->sim, dev, dev->name, name, "", field);
}

static int histogram(struct bf_nvme *dev, const char *part, struct bf_hist **out)
{
	char name[48];

	snprintf(name, sizeof(name), "%s.%s", dev->name, part);
	*out = bf_stats_hist(dev->sim, name, "ps");
	return *out ? 0 : bf_fail(&dev->sim->error, -ENOMEM, "statistic '%s': no memory", name);
}

int bf_nvme_stats_open(struct bf_nvme *dev)
{
	const struct bf_nvme_counts *n = &dev->count;
	int status = 0;

#define C(counter) status = status ? status : attach(dev, #counter, &n->counter);
	BF_NVME_COUNTERS(C)
#undef C
	if (!status)
		status = histogram(dev, "queue.doorbell", &dev->hist_doorbell);
	if (!status)
		status = histogram(dev, "queue.fetch", &dev->hist_fetch);
	if (!status)
		status = histogram(dev, "queue.data", &dev->hist_data);
	if (!status)
		status = histogram(dev, "queue.completion", &dev->hist_completion);
	if (!status)
		status = histogram(dev, "media", &dev->hist_media);
	return status;
}

void bf_nvme_stats_close(struct bf_nvme *dev)
{
	bf_stats_detach(dev->sim, dev);
}
