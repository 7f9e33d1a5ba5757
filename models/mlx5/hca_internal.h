/* The inside of the PCI front of the mlx5 device (hca.h). */
#ifndef BELFRY_MODELS_MLX5_HCA_INTERNAL_H
#define BELFRY_MODELS_MLX5_HCA_INTERNAL_H

#include "models/mlx5/device_internal.h"
#include "models/mlx5/hca.h"
#include "models/mlx5/prm_hca.h"

#define BF_HCA_FIRST_UAR 16u /* pages of the BAR that the initialization segment has */
#define BF_HCA_LOG_ENTRIES 5u
#define BF_HCA_ENTRIES (1u << BF_HCA_LOG_ENTRIES)

enum bf_hca_state { BF_HCA_DISABLED, BF_HCA_ENABLED, BF_HCA_INITIALIZED };

/* The command at hand. */
struct bf_hca_command {
	struct bf_dma_op op;
	uint32_t slot;
	bool busy;
	bool had_listener; /* its end is an event for whoever listened when it began */
	struct bf_mlx5_cmd_entry entry;
	struct bf_mlx5_cmd_block block; /* of its messages, the one that is being read */
	uint8_t *in, *out;              /* messages as a whole */
	uint32_t in_len, out_len;
	uint64_t *out_block; /* IOVAs of the mailboxes that the answer goes into */
	uint32_t blocks, at; /* of the message that is being read: how many, which */
};

struct bf_mlx5_hca {
	struct bf_sim *sim;
	struct bf_mlx5_opts opts;
	struct bf_mlx5_profile profile;
	struct bf_mlx5 *dev;
	struct bf_region *bar;
	struct bf_ioas nothing; /* what it sees of the host without bus mastering */
	char name[24];
	uint32_t actor;
	enum bf_hca_state state;
	bool master;
	bool renewing; /* what TEARDOWN_HCA leaves is about to be cleared away */
	struct bf_event renew;
	/* Initialization segment. */
	uint64_t queue; /* IOVA of the command queue; 0: not told yet */
	uint8_t nic;    /* BF_SEG_NIC_* */
	/* Command queue. */
	uint32_t pending; /* entries that were rung for */
	struct bf_hca_command cmd;
	/* What the host gave. */
	uint64_t *pages;
	uint32_t npages, pages_cap;
	char driver[BF_DRIVER_VERSION_LEN + 1];
	struct {
		uint64_t doorbells, commands, refused, events, lost, pages;
	} count;
};

/* hca_seg.c. The host-order value of a dword; a dword was stored. */
uint32_t bf_hca_seg_read(const struct bf_mlx5_hca *hca, uint32_t offset);
void bf_hca_seg_write(struct bf_mlx5_hca *hca, uint32_t offset, uint32_t value);

/* hca_cmdq.c */
void bf_hca_ring(struct bf_mlx5_hca *hca, uint32_t entries);
void bf_hca_next(struct bf_mlx5_hca *hca); /* takes up a command that waits, if it may */
void bf_hca_drop(struct bf_mlx5_hca *hca); /* forgets all; the DMA port has gone, or goes */

/* hca_cmd.c. Executes a command; `out` is zero, and gets status and syndrome. Returns the status. */
uint8_t bf_hca_execute(struct bf_mlx5_hca *hca, const uint8_t *in, uint32_t in_len, uint8_t *out, uint32_t out_len);

/* hca.c. In a moment, when the command that asks for it has been answered. */
void bf_hca_renew_later(struct bf_mlx5_hca *hca);

#endif
