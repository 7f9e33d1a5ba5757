/* What the files of flow tables share. */
#ifndef BELFRY_MODELS_MLX5_FLOW_INTERNAL_H
#define BELFRY_MODELS_MLX5_FLOW_INTERNAL_H

#include "models/mlx5/device_internal.h"
#include "models/mlx5/prm_eth.h"

#define BF_MATCH_WORDS (BF_MATCH_LEN / 8)

struct bf_mlx5_flow_counter {
	uint64_t packets, octets;
	uint32_t number, users;
};

struct bf_mlx5_flow_entry {
	struct bf_mlx5_flow_entry *next;      /* of the group, by index */
	struct bf_mlx5_flow_counter *counter; /* NULL: none */
	uint64_t value[BF_MATCH_WORDS];
	uint32_t index, tag;
	uint16_t action;
	uint16_t count;
	struct {
		uint32_t number;
		bool table; /* else a TIR */
	} to[BF_FTE_LIST_MAX];
};

struct bf_mlx5_flow_group {
	struct bf_mlx5_flow_group *next; /* of the table, by `start` */
	struct bf_mlx5_flow_entry *entries;
	uint64_t mask[BF_MATCH_WORDS];
	uint32_t start, end, number;
};

struct bf_mlx5_flow_table {
	struct bf_mlx5_flow_group *groups;
	struct bf_mlx5_flow_table *miss; /* NULL: none */
	uint32_t number, size, level;
	uint32_t users; /* entries and tables that lead here, and the root */
	uint32_t last_group;
};

/* The counter whose number stands at `from`; an entry that counts by it holds it. */
uint8_t bf_mlx5_flow_counter_take(struct bf_mlx5_mail *m, const uint8_t *from, struct bf_mlx5_flow_counter **out);
void bf_mlx5_flow_counters_free(struct bf_mlx5 *dev);

#endif
