/* mlx5_ib, the driver of the ConnectX below the verbs: a provider for struct bf_uverbs_opts. */
#ifndef BELFRY_MODELS_UVERBS_MLX5_MLX5_IB_H
#define BELFRY_MODELS_UVERBS_MLX5_MLX5_IB_H

struct bf_uv_provider;

/* Its device is a struct bf_mlx5. */
extern const struct bf_uv_provider bf_mlx5_ib;

#endif
