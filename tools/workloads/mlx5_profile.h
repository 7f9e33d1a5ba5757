/*
 * Device profiles by name, with fields set by hand: "cx7", "cx7,icrc=0,wqe_ps=5000".
 */
#ifndef BELFRY_TOOLS_WORKLOADS_MLX5_PROFILE_H
#define BELFRY_TOOLS_WORKLOADS_MLX5_PROFILE_H

#include "models/mlx5/mlx5.h"
#include "tools/cli/cli.h"

/*
 * Parses NAME[,FIELD=VALUE]... into `out`. Fields are the numbers of struct bf_mlx5_profile by their names there
 * ("pcie.latency_ps"); values are decimal or 0x, within what the model takes. -EINVAL with `err` naming what is wrong
 * and what is known.
 */
int bf_mlx5_work_profile_parse(const char *text, struct bf_mlx5_profile *out, struct bf_error *err);

/* All fields of a profile with their values: one member each of the open object, or one line each. */
void bf_mlx5_work_profile_json(struct bf_json *j, const struct bf_mlx5_profile *profile);
void bf_mlx5_work_profile_print(FILE *out, const struct bf_mlx5_profile *profile);

/* The profiles that have a name, NULL-terminated. */
const struct bf_mlx5_profile *const *bf_mlx5_work_profiles(void);
/* The same for shells that complete (struct bf_opt). */
const char *bf_mlx5_work_profile_name(const void *own, uint32_t i);

#endif
