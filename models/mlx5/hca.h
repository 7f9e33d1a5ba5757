/*
 * The mlx5 device as a host's kernel finds it behind PCI: BAR 0 with the initialization segment and UAR pages, the
 * command queue in the host's memory, the life cycle from ENABLE_HCA to TEARDOWN_HCA. Behind that are the commands,
 * doorbells and interrupts of the device itself (models/mlx5/mlx5.h), which tells of InfiniBand ports: of these the
 * stock driver makes a device without a network interface.
 *
 * A command travels: hca.c (store to the BAR) -> hca_seg.c (doorbell) -> hca_cmdq.c (entry and mailboxes by DMA) ->
 * hca_cmd.c (life cycle) or cmd.c (everything else) -> hca_cmdq.c (answer, ownership, event).
 *
 * Commands are executed one after the other, those rung for at a time by the number of their entries. Mailboxes' own
 * signatures are not looked at, as the capability cmdif_checksum says; an entry's is. Pages that the host gives are
 * kept and given back, and never touched: the model has memory of its own. SR-IOV, the vendor-specific capability and
 * firmware tools are not there.
 *
 * One thread, the simulation's.
 */
#ifndef BELFRY_MODELS_MLX5_HCA_H
#define BELFRY_MODELS_MLX5_HCA_H

#include "models/mlx5/mlx5.h"

struct bf_mlx5_hca; /* opaque */

/* Mellanox, ConnectX-7 (Linux drivers/net/ethernet/mellanox/mlx5/core/main.c); an InfiniBand controller. */
#define BF_MLX5_PCI_VENDOR 0x15b3u
#define BF_MLX5_PCI_DEVICE 0x1021u
#define BF_MLX5_PCI_CLASS 0x020700u

/*
 * `device` is as for bf_mlx5_create(); `infiniband` and `first_uar` are set here, the rest is taken over, the profile
 * copied. It begins as after power-on, not bus master. Returns 0, -EINVAL or -ENOMEM, text in sim->error.
 */
int bf_mlx5_hca_create(struct bf_sim *sim, const struct bf_mlx5_opts *device, struct bf_mlx5_hca **out);
void bf_mlx5_hca_destroy(struct bf_mlx5_hca *hca);

/* BAR 0: MMIO. */
struct bf_region *bf_mlx5_hca_bar0(struct bf_mlx5_hca *hca);

/*
 * Power-on, as a function-level reset leaves it: objects, commands under way and the host's pages are forgotten. Not
 * from within the device (its interrupts).
 */
void bf_mlx5_hca_reset(struct bf_mlx5_hca *hca);

/* Without it the device reads and writes nothing of the host: commands wait, what queues want fails. */
void bf_mlx5_hca_bus_master(struct bf_mlx5_hca *hca, bool on);

/* The device behind it, another one after each reset and TEARDOWN_HCA; NULL when there was no memory for one. */
struct bf_mlx5 *bf_mlx5_hca_device(struct bf_mlx5_hca *hca);

/* What the driver called itself by SET_DRIVER_VERSION, "" if it did not. Valid until the next reset. */
const char *bf_mlx5_hca_driver(const struct bf_mlx5_hca *hca);

/*
 * Statistics behind the device's name: cmdq.doorbells, .commands, .refused (by their delivery status), .events, .lost
 * (entries that could not be read, or were the host's own) and .pages (that it holds). Record: cmd_entry (records.h).
 */

#endif
