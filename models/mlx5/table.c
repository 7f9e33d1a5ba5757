/* Objects by number. */
#include "models/mlx5/device_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct bf_mlx5_table *t, uint32_t leaves)
{
	const uint32_t grown = leaves < 2 * t->leaves ? 2 * t->leaves : leaves;
	void ***leaf = realloc(t->leaf, grown * sizeof(void **));

	if (!leaf)
		return false;
	memset(leaf + t->leaves, 0, (grown - t->leaves) * sizeof(void **));
	t->leaf = leaf;
	t->leaves = grown;
	return true;
}

static int set(struct bf_mlx5_table *t, uint32_t number, void *obj)
{
	const uint32_t at = number >> BF_MLX5_TABLE_SHIFT;
	void ***leaf;

	if (at >= t->leaves && !reserve(t, at + 1))
		return -ENOMEM;
	leaf = &t->leaf[at];
	if (!*leaf)
		*leaf = calloc(BF_MLX5_TABLE_LEAF, sizeof(void *));
	if (!*leaf)
		return -ENOMEM;
	(*leaf)[number & (BF_MLX5_TABLE_LEAF - 1)] = obj;
	return 0;
}

void bf_mlx5_table_init(struct bf_mlx5_table *t, uint32_t low, uint32_t high, uint32_t limit)
{
	*t = (struct bf_mlx5_table){ .next = low, .low = low, .high = high, .limit = limit };
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
	t->leaf[number >> BF_MLX5_TABLE_SHIFT][number & (BF_MLX5_TABLE_LEAF - 1)] = NULL;
	t->count--;
}

void *bf_mlx5_table_next(const struct bf_mlx5_table *t, uint32_t *number)
{
	for (uint32_t n = *number; n >> BF_MLX5_TABLE_SHIFT < t->leaves;) {
		void **leaf = t->leaf[n >> BF_MLX5_TABLE_SHIFT];

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
		free(t->leaf[i]);
	free(t->leaf);
}
