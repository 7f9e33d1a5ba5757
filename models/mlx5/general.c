/*
 * General objects. Of all their kinds there is one: a block of queue pair numbers that no queue pair gets, for whoever
 * connects something else by such a number (libmlx5 mlx5dv_reserved_qpn_alloc()).
 */
#include "models/mlx5/device_internal.h"

uint8_t bf_mlx5_cmd_create_object(struct bf_mlx5_mail *m)
{
	uint32_t block;

	if (BF_MLX5_GET(m->in, BF_OBJ_TYPE) != BF_OBJ_RESERVED_QPN ||
	    BF_MLX5_GET(m->in, BF_OBJ_LOG_RANGE) != BF_MLX5_LOG_RESERVED_QPNS)
		return BF_MLX5_CMD_BAD_PARAM;
	if (bf_mlx5_table_add(&m->dev->reserved, m->dev, &block))
		return BF_MLX5_CMD_LIM;
	m->number = block << BF_MLX5_LOG_RESERVED_QPNS;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_destroy_object(struct bf_mlx5_mail *m)
{
	const uint32_t block = m->number >> BF_MLX5_LOG_RESERVED_QPNS;

	if (BF_MLX5_GET(m->in, BF_OBJ_TYPE) != BF_OBJ_RESERVED_QPN)
		return BF_MLX5_CMD_BAD_PARAM;
	if (m->number != block << BF_MLX5_LOG_RESERVED_QPNS || !bf_mlx5_table_get(&m->dev->reserved, block))
		return BF_MLX5_CMD_BAD_RES;
	bf_mlx5_table_remove(&m->dev->reserved, block);
	return BF_MLX5_CMD_OK;
}
