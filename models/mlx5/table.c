/* Objects by number. */
#include "models/mlx5/device_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes the directory reach leaf `at`: upwards it doubles, downwards (numbers that were forced) it grows as needed. */
static bool reserve(struct bf_mlx5_table *t, uint32_t at)
{
	const uint32_t before = t->leaves && at < t->first ? t->first - at : 0;
	const uint32_t end = t->leaves && at >= t->first ? at - t->first + 1 : 1;
	uint32_t grown = t->leaves + before;
	void ***leaf;

	if (end > t->leaves)
		grown = end < 2 * t->leaves ? 2 * t->leaves : end;
	leaf = bf_pool_take(t->sim, grown * sizeof(void **));
	if (!leaf)
		return false;
	if (t->leaves)
		memcpy(leaf + before, t->leaf, t->leaves * sizeof(void **));
	bf_pool_give(t->sim, t->leaf, t->leaves * sizeof(void **));
	t->first = t->leaves && !before ? t->first : at;
	t->leaf = leaf;
	t->leaves = grown;
	return true;
}

static int set(struct bf_mlx5_table *t, uint32_t number, void *obj)
{
	const uint32_t at = number >> BF_MLX5_TABLE_SHIFT;
	void ***leaf;

	if (at - t->first >= t->leaves && !reserve(t, at))
		return -ENOMEM;
	leaf = &t->leaf[at - t->first];
	if (!*leaf)
		*leaf = bf_pool_take(t->sim, BF_MLX5_TABLE_LEAF * sizeof(void *));
	if (!*leaf)
		return -ENOMEM;
	(*leaf)[number & (BF_MLX5_TABLE_LEAF - 1)] = obj;
	return 0;
}

void bf_mlx5_table_init(struct bf_mlx5_table *t, struct bf_sim *sim, uint32_t low, uint32_t high, uint32_t limit)
{
	*t = (struct bf_mlx5_table){ .sim = sim, .next = low, .low = low, .high = high, .limit = limit };
	if (limit > high - low)
		t->limit = high - low + 1;
}

int bf_mlx5_table_add(struct bf_mlx5_table *t, void *obj, uint32_t *number)
{
	uint32_t n = t->has_forced ? t->forced : t->next;
	int status;

	if (t->count >= t->limit)
		return -ENOSPC;
	while (bf_mlx5_table_get(t, n))
		n = n < t->high ? n + 1 : t->low;
	status = set(t, n, obj);
	if (status)
		return status;
	if (!t->has_forced)
		t->next = n < t->high ? n + 1 : t->low;
	t->has_forced = false;
	t->count++;
	*number = n;
	return 0;
}

void bf_mlx5_table_remove(struct bf_mlx5_table *t, uint32_t number)
{
	t->leaf[(number >> BF_MLX5_TABLE_SHIFT) - t->first][number & (BF_MLX5_TABLE_LEAF - 1)] = NULL;
	t->count--;
}

void *bf_mlx5_table_next(const struct bf_mlx5_table *t, uint32_t *number)
{
	uint32_t n = *number >> BF_MLX5_TABLE_SHIFT < t->first ? t->first << BF_MLX5_TABLE_SHIFT : *number;

	while ((n >> BF_MLX5_TABLE_SHIFT) - t->first < t->leaves) {
		void **leaf = t->leaf[(n >> BF_MLX5_TABLE_SHIFT) - t->first];

		if (!leaf) {
			n = (n | (BF_MLX5_TABLE_LEAF - 1)) + 1;
			continue;
		}
		if (leaf[n & (BF_MLX5_TABLE_LEAF - 1)]) {
			*number = n;
			return leaf[n & (BF_MLX5_TABLE_LEAF - 1)];
		}
		n++;
	}
	return NULL;
}

void bf_mlx5_table_fini(struct bf_mlx5_table *t)
{
	for (uint32_t i = 0; i < t->leaves; i++)
		bf_pool_give(t->sim, t->leaf[i], BF_MLX5_TABLE_LEAF * sizeof(void *));
	bf_pool_give(t->sim, t->leaf, t->leaves * sizeof(void **));
}
