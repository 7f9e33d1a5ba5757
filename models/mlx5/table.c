/* Objects by number. */
#include "models/mlx5/device_internal.h"

#include <errno.h>
#include <stdlib.h>

static int set(struct bf_mlx5_table *t, uint32_t number, void *obj)
{
	void ***leaf = &t->leaf[number >> 12];

	if (!*leaf)
		*leaf = calloc(BF_MLX5_TABLE_LEAF, sizeof(void *));
	if (!*leaf)
		return -ENOMEM;
	(*leaf)[number & (BF_MLX5_TABLE_LEAF - 1)] = obj;
	return 0;
}

int bf_mlx5_table_add(struct bf_mlx5_table *t, void *obj, uint32_t *number)
{
	uint32_t n = t->has_forced ? t->forced : t->next;
	int status;

	if (t->count >= t->limit)
		return -ENOSPC;
	while (bf_mlx5_table_get(t, n))
		n = (n + 1) & 0xffffff;
	status = set(t, n, obj);
	if (status)
		return status;
	if (!t->has_forced)
		t->next = (n + 1) & 0xffffff;
	t->has_forced = false;
	t->count++;
	*number = n;
	return 0;
}

void bf_mlx5_table_remove(struct bf_mlx5_table *t, uint32_t number)
{
	t->leaf[number >> 12][number & (BF_MLX5_TABLE_LEAF - 1)] = NULL;
	t->count--;
}

void *bf_mlx5_table_next(const struct bf_mlx5_table *t, uint32_t *number)
{
	for (uint32_t n = *number; n <= 0xffffff;) {
		void **leaf = t->leaf[n >> 12];

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
	for (uint32_t i = 0; i < BF_ARRAY_LEN(t->leaf); i++)
		free(t->leaf[i]);
}
