/* The mlx5 device behind PCI: creation, BAR 0, resets. */
#include "models/mlx5/hca.h"

#include <errno.h>
#include <stdlib.h>

#include "models/mlx5/hca_internal.h"

#define UAR_PAGES 2032u /* with those before them the BAR has 8 MiB, as far as UARs go */

/* What TEARDOWN_HCA leaves goes this much later, when its answer is in the host's memory. */
#define RENEW_PS (10 * BF_US)

static uint64_t bar_read(struct bf_region *region, uint64_t offset, uint32_t len)
{
	const struct bf_mlx5_hca *hca = region->owner;
	uint8_t bytes[8] = { 0 };
	uint64_t value;

	if (!hca->dev)
		return UINT64_MAX;
	/* UAR pages are for stores. */
	for (uint32_t i = 0; i < len; i++) {
		const uint64_t at = offset + i;

		if (at < BF_SEG_BYTES)
			bytes[i] = (uint8_t)(bf_hca_seg_read(hca, (uint32_t)at & ~3u) >> (24 - 8 * (at & 3)));
	}
	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Doorbell pages are regions of their own, but stores come by the BAR. */
static void uar_write(struct bf_mlx5_hca *hca, uint64_t offset, const void *data, uint32_t len)
{
	const uint32_t at = (uint32_t)(offset % BF_MLX5_UAR_BYTES);
	struct bf_mlx5_uar *uar = bf_mlx5_uar_find(hca->dev, (uint32_t)(offset / BF_MLX5_UAR_BYTES));

	if (uar && at + len <= BF_MLX5_UAR_BYTES)
		bf_mlx5_uar_ops.write(uar->region, at, data, len);
}

static void bar_write(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	struct bf_mlx5_hca *hca = region->owner;

	if (!hca->dev)
		return;
	if (offset >= BF_HCA_FIRST_UAR * BF_MLX5_UAR_BYTES)
		uar_write(hca, offset, data, len);
	else if (offset < BF_SEG_BYTES && !(offset & 3))
		for (uint32_t i = 0; i + 4 <= len; i += 4)
			bf_hca_seg_write(hca, (uint32_t)offset + i, bf_get_be32((const uint8_t *)data + i));
}

static const struct bf_mmio_ops bar_ops = { .write = bar_write, .read = bar_read };

static int make_device(struct bf_mlx5_hca *hca)
{
	int rc = bf_mlx5_create(hca->sim, &hca->opts, &hca->dev);

	if (!rc)
		bf_mlx5_hca_bus_master(hca, hca->master);
	return rc;
}

static void renew_device(struct bf_mlx5_hca *hca)
{
	bf_hca_drop(hca);
	bf_mlx5_destroy(hca->dev);
	hca->dev = NULL;
	(void)make_device(hca); /* without memory it is dead: its registers read as ones */
}

static void on_renew(struct bf_event *ev)
{
	struct bf_mlx5_hca *hca = BF_CONTAINER_OF(ev, struct bf_mlx5_hca, renew);
	const uint32_t pending = hca->pending;

	hca->renewing = false;
	renew_device(hca);
	hca->pending = pending;
	bf_hca_next(hca);
}

void bf_hca_renew_later(struct bf_mlx5_hca *hca)
{
	hca->renewing = true;
	bf_sim_after(hca->sim, &hca->renew, RENEW_PS);
}

static int attach_stats(struct bf_mlx5_hca *hca)
{
	const struct {
		const char *name;
		const uint64_t *field;
	} stats[] = {
		{ "cmdq.doorbells", &hca->count.doorbells }, { "cmdq.commands", &hca->count.commands },
		{ "cmdq.refused", &hca->count.refused },     { "cmdq.events", &hca->count.events },
		{ "cmdq.lost", &hca->count.lost },           { "cmdq.pages", &hca->count.pages },
	};

	for (uint32_t i = 0; i < BF_ARRAY_LEN(stats); i++)
		if (bf_stats_attach_part(hca->sim, hca, hca->name, stats[i].name, "", stats[i].field))
			return -ENOMEM;
	return 0;
}

static int build(struct bf_mlx5_hca *hca)
{
	struct bf_region_opts bar = {
		.kind = BF_MEM_MMIO,
		.size = (uint64_t)hca->opts.uar_pages * BF_MLX5_UAR_BYTES,
		.mmio = &bar_ops,
		.owner = hca,
	};
	char name[40];
	int rc;

	snprintf(name, sizeof(name), "%s.bar0", hca->name);
	bar.name = name;
	hca->actor = bf_stream_actor(&hca->sim->rec, "device", hca->name);
	rc = attach_stats(hca);
	rc = rc ? rc : bf_ioas_init(&hca->nothing, hca->sim, "nothing", BF_PAGE);
	rc = rc ? rc : bf_region_create(hca->opts.space, &bar, &hca->bar);
	return rc ? rc : make_device(hca);
}

int bf_mlx5_hca_create(struct bf_sim *sim, const struct bf_mlx5_opts *device, struct bf_mlx5_hca **out)
{
	struct bf_mlx5_hca *hca = calloc(1, sizeof(*hca));
	int rc;

	*out = NULL;
	if (!hca)
		return bf_fail(&sim->error, -ENOMEM, "%s: no memory", device->name);
	hca->sim = sim;
	hca->profile = *(device->profile ? device->profile : &bf_mlx5_cx7);
	snprintf(hca->name, sizeof(hca->name), "%s", device->name);
	hca->opts = *device;
	hca->opts.name = hca->name;
	hca->opts.profile = &hca->profile;
	hca->opts.infiniband = true;
	hca->opts.first_uar = BF_HCA_FIRST_UAR;
	hca->opts.uar_pages = BF_HCA_FIRST_UAR + UAR_PAGES;
	bf_event_init(&hca->renew, on_renew);
	rc = build(hca);
	if (rc) {
		bf_mlx5_hca_destroy(hca);
		return rc;
	}
	*out = hca;
	return 0;
}

void bf_mlx5_hca_destroy(struct bf_mlx5_hca *hca)
{
	if (!hca)
		return;
	bf_sim_cancel(hca->sim, &hca->renew);
	bf_hca_drop(hca);
	bf_mlx5_destroy(hca->dev);
	if (hca->bar)
		bf_region_destroy(hca->bar);
	if (hca->nothing.sim)
		bf_ioas_fini(&hca->nothing);
	bf_stats_detach(hca->sim, hca);
	free(hca->pages);
	free(hca);
}

void bf_mlx5_hca_reset(struct bf_mlx5_hca *hca)
{
	bf_sim_cancel(hca->sim, &hca->renew);
	hca->renewing = false;
	hca->state = BF_HCA_DISABLED;
	hca->queue = 0;
	hca->nic = BF_SEG_NIC_FULL;
	hca->npages = 0;
	hca->count.pages = 0;
	hca->driver[0] = '\0';
	renew_device(hca);
}

void bf_mlx5_hca_bus_master(struct bf_mlx5_hca *hca, bool on)
{
	hca->master = on;
	if (!hca->dev)
		return;
	bf_mlx5_dma(hca->dev)->ioas = on ? hca->opts.ioas : &hca->nothing;
	if (on)
		bf_hca_next(hca);
}

struct bf_region *bf_mlx5_hca_bar0(struct bf_mlx5_hca *hca)
{
	return hca->bar;
}

struct bf_mlx5 *bf_mlx5_hca_device(struct bf_mlx5_hca *hca)
{
	return hca->dev;
}

const char *bf_mlx5_hca_driver(const struct bf_mlx5_hca *hca)
{
	return hca->driver;
}
