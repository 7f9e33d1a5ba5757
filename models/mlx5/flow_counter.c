/* Counters of frames and bytes, for entries of flow tables. */
#include <stdlib.h>

#include "models/mlx5/flow_internal.h"

uint8_t bf_mlx5_cmd_alloc_flow_counter(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_flow_counter *counter = calloc(1, sizeof(*counter));

	if (!counter)
		return BF_MLX5_CMD_NO_RES;
	return bf_mlx5_cmd_add(m, &m->dev->eth.counters, counter, &counter->number);
}

uint8_t bf_mlx5_cmd_dealloc_flow_counter(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_flow_counter *counter = bf_mlx5_table_get(&m->dev->eth.counters, m->number);

	if (!counter)
		return BF_MLX5_CMD_BAD_RES;
	if (counter->users)
		return BF_MLX5_CMD_RES_BUSY;
	return bf_mlx5_cmd_remove(m, &m->dev->eth.counters);
}

uint8_t bf_mlx5_cmd_query_flow_counter(struct bf_mlx5_mail *m)
{
	const uint32_t id = BF_MLX5_GET(m->in, BF_FC_ID), n = BF_MLX5_GET(m->in, BF_FC_COUNT);
	struct bf_mlx5_flow_counter *counter = bf_mlx5_table_get(&m->dev->eth.counters, id);

	if (!counter)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "flow_counter_id 0x%x: there is none", id);
	if (n > 1)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "num_of_counters %u: the model has them one by one", n);
	bf_put_be64(m->out + BF_FC_PACKETS, counter->packets);
	bf_put_be64(m->out + BF_FC_OCTETS, counter->octets);
	if (BF_MLX5_GET(m->in, BF_FC_CLEAR))
		counter->packets = counter->octets = 0;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_flow_counter_take(struct bf_mlx5_mail *m, const uint8_t *from, struct bf_mlx5_flow_counter **out)
{
	const uint32_t id = bf_get_be32(from);
	struct bf_mlx5_flow_counter *counter = bf_mlx5_table_get(&m->dev->eth.counters, id);

	if (!counter)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "flow_counter_id 0x%x: there is none", id);
	counter->users++;
	*out = counter;
	return BF_MLX5_CMD_OK;
}

void bf_mlx5_flow_counters_free(struct bf_mlx5 *dev)
{
	struct bf_mlx5_flow_counter *counter;

	for (uint32_t n = 0; (counter = bf_mlx5_table_next(&dev->eth.counters, &n)); n++)
		free(counter);
}
