/* Key errors: one sentence about what was asked for and what the key covers, for the rules that tell them apart. */
#ifndef BELFRY_TRACES_RULES_MLX5_KEY_H
#define BELFRY_TRACES_RULES_MLX5_KEY_H

#include "traces/rules/mlx5/mlx5.h"

/* The finding of rule `r` about the mkey_error record `e`, with its sentence. */
void bf_mlx5_rule_key_finding(struct bf_rule_run *r, const struct bf_seen *e);

#endif
