/* The device: creation, destruction, and what reports may ask. */
#include "models/nvme/device_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const struct bf_nvme_ns_opts default_ns = { .bytes = 64u << 20, .lba = BF_NVME_LBA_512 };

static bool is_serial(const char *text)
{
	const size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return len >= 1 && len <= 20;
}

static int check_opts(struct bf_sim *sim, const struct bf_nvme_opts *opts, const struct bf_nvme_profile *p)
{
	if (!p->max_io_queues || p->max_io_queues > 65535 || !p->mqes || p->mqes > 65535 || p->dstrd > 8 ||
	    p->mpsmax > 15 || !p->vectors || p->vectors > 2048)
		return bf_fail(&sim->error, -EINVAL, "%s: profile '%s' has a limit out of range", opts->name, p->name);
	if (opts->nns > BF_NVME_NS_MAX)
		return bf_fail(&sim->error, -EINVAL, "%s: %u namespaces: at most %u", opts->name, opts->nns,
			       BF_NVME_NS_MAX);
	if (opts->serial && !is_serial(opts->serial))
		return bf_fail(&sim->error, -EINVAL, "%s: '%s' is not a serial number of 1 to 20 printable characters",
			       opts->name, opts->serial);
	return 0;
}

static int open_bar(struct bf_nvme *dev, const struct bf_nvme_opts *opts)
{
	char name[40];
	struct bf_link *link = opts->direct ? NULL : &dev->link;
	int status;

	snprintf(name, sizeof(name), "%s.pcie", dev->name);
	status = bf_link_init(&dev->link, dev->sim, name, &dev->profile.pcie);
	if (status)
		return status;
	snprintf(name, sizeof(name), "%s.dma", dev->name);
	status = bf_dma_port_init(&dev->dma, dev->sim, name, &dev->link, opts->ioas);
	if (status)
		return status;
	snprintf(name, sizeof(name), "%s.bar0", dev->name);
	status = bf_region_create(opts->space,
				  &(struct bf_region_opts){ .name = name,
							    .kind = BF_MEM_MMIO,
							    .size = bf_nvme_bar_size(dev),
							    .mmio = &bf_nvme_bar0_ops,
							    .owner = dev,
							    .link = link },
				  &dev->bar0);
	return status ? status : bf_nvme_cmb_open(dev, opts->space, opts->cmb_bytes, link);
}

static int open_namespaces(struct bf_nvme *dev, const struct bf_nvme_opts *opts)
{
	const struct bf_nvme_ns_opts *ns = opts->nns ? opts->ns : &default_ns;
	uint32_t count = opts->nns ? opts->nns : 1;
	int status = bf_nvme_media_open(dev, opts->media_errors);

	for (uint32_t i = 0; i < count && !status; i++) {
		status = bf_nvme_ns_open(dev, i + 1, &ns[i]);
		if (!status)
			dev->capacity += dev->ns[i]->bytes;
	}
	return status;
}

/* Made from the name where none is given. */
static void set_serial(struct bf_nvme *dev, const char *serial)
{
	if (serial)
		snprintf(dev->serial, sizeof(dev->serial), "%s", serial);
	else
		snprintf(dev->serial, sizeof(dev->serial), "BF%016llX", (unsigned long long)bf_fnv1a64(dev->name));
}

static int open_parts(struct bf_nvme *dev, const struct bf_nvme_opts *opts)
{
	int status = bf_nvme_stats_open(dev);

	if (!status)
		status = open_bar(dev, opts);
	if (!status)
		status = bf_nvme_queue_open(dev);
	if (!status)
		status = bf_nvme_sq_open(dev);
	if (!status)
		status = bf_nvme_cq_open(dev);
	if (!status)
		status = open_namespaces(dev, opts);
	if (!status)
		status = bf_nvme_admin_open(dev);
	return status;
}

int bf_nvme_create(struct bf_sim *sim, const struct bf_nvme_opts *opts, struct bf_nvme **out)
{
	const struct bf_nvme_profile *profile = opts->profile ? opts->profile : &bf_nvme_970pro;
	struct bf_nvme *dev;
	int status;

	*out = NULL;
	status = check_opts(sim, opts, profile);
	if (status)
		return status;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return bf_fail(&sim->error, -ENOMEM, "%s: no memory", opts->name);
	dev->sim = sim;
	dev->live = opts->live;
	dev->profile = *profile;
	dev->bus_master = true;
	dev->interrupt = opts->interrupt;
	dev->interrupt_arg = opts->interrupt_arg;
	snprintf(dev->name, sizeof(dev->name), "%s", opts->name);
	set_serial(dev, opts->serial);
	dev->actor = bf_stream_actor(&sim->rec, "device", dev->name);
	bf_nvme_admin_init(dev);
	bf_nvme_sq_init(dev);
	bf_nvme_request_init(dev);
	bf_nvme_cq_init(dev);
	bf_nvme_ctrl_init(dev);
	status = open_parts(dev, opts);
	if (status) {
		bf_nvme_destroy(dev);
		return status;
	}
	dev->smart.power_cycles = 1;
	bf_nvme_ctrl_init(dev); /* CAP tells of the memory buffer that is there now */
	*out = dev;
	return 0;
}

/* File operations that are under way hold requests, so media goes before the pool. */
void bf_nvme_destroy(struct bf_nvme *dev)
{
	if (!dev)
		return;
	bf_sim_cancel(dev->sim, &dev->ctrl_event);
	bf_sim_cancel(dev->sim, &dev->shutdown_event);
	if (dev->vectors)
		bf_nvme_drop_queues(dev);
	if (dev->dma.rings)
		bf_dma_port_fini(&dev->dma);
	for (uint32_t i = 0; i < BF_NVME_NS_MAX; i++)
		if (dev->ns[i])
			bf_nvme_ns_close(dev, i + 1);
	bf_nvme_media_close(dev);
	bf_nvme_admin_close(dev);
	bf_nvme_request_close(dev);
	bf_nvme_cq_close(dev);
	bf_nvme_sq_close(dev);
	bf_nvme_queue_close(dev);
	bf_nvme_dma_close(dev);
	bf_nvme_cmb_close(dev);
	if (dev->bar0)
		bf_region_destroy(dev->bar0);
	if (dev->link.mmio)
		bf_link_fini(&dev->link);
	bf_nvme_stats_close(dev);
	free(dev);
}

struct bf_region *bf_nvme_bar0(struct bf_nvme *dev)
{
	return dev->bar0;
}

struct bf_region *bf_nvme_cmb(struct bf_nvme *dev)
{
	return dev->cmb;
}

struct bf_dma_port *bf_nvme_dma(struct bf_nvme *dev)
{
	return &dev->dma;
}
