/*
 * Memory keys that translate: by pages, or by pieces of other keys.
 *
 * Most keys do not: an address in a request is the IOVA. Keys of pages are those whose addresses are not the program's
 * (zero-based regions). Keys of KLMs are memory windows and the layouts that UMR WQEs make: each byte lies in another
 * key, which must allow the access as if it were local (Linux drivers/infiniband/hw/mlx5: windows translate by the key
 * of their region).
 */
#include "models/mlx5/device_internal.h"

#include <stdlib.h>

/* Keys of keys: ConnectX devices report how deep they go (mlx5_ifc.h max_indirection); this depth is assumed. */
#define MAX_DEPTH 4u
#define NOWHERE (UINT64_MAX - UINT32_MAX) /* no IOAS maps it: an access that cannot be translated faults there */

struct bf_mlx5_xlat *bf_mlx5_xlat_new(struct bf_mlx5 *dev, uint32_t count)
{
	struct bf_mlx5_xlat *x =
	    count <= BF_MLX5_ENTRIES - dev->entries ? calloc(1, sizeof(*x) + count * sizeof(x->part[0])) : NULL;

	if (!x)
		return NULL;
	x->count = x->room = count;
	dev->entries += count;
	return x;
}

void bf_mlx5_xlat_free(struct bf_mlx5 *dev, struct bf_mlx5_xlat *x)
{
	if (!x)
		return;
	dev->entries -= x->room;
	free(x);
}

/* The part that byte `at` of a round lies in: the last one that does not begin behind it. */
static const struct bf_mlx5_part *find(const struct bf_mlx5_xlat *x, uint64_t at)
{
	uint32_t low = 0, high = x->count;

	/* Pages are of one size: a first guess that is nearly always right. */
	if (high > 1 && x->part[1].from) {
		const uint64_t guess = at / x->part[1].from;

		if (guess < high && x->part[guess].from <= at && at - x->part[guess].from < x->part[guess].len)
			return &x->part[guess];
	}
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (x->part[middle].from <= at)
			low = middle;
		else
			high = middle;
	}
	return &x->part[low];
}

/* One step: byte `at` of the key is byte `*va` of key `*key` (0: an IOVA), and so are `*len` bytes from there on. */
static bool step(const struct bf_mlx5_xlat *x, uint64_t at, uint32_t *key, uint64_t *va, uint32_t *len)
{
	const uint64_t round = at < x->round ? 0 : at / x->round;
	uint64_t into = at - round * x->round, left;
	const struct bf_mlx5_part *p;

	if (round >= x->rounds)
		return false;
	p = find(x, into);
	into -= p->from;
	left = p->len - into;
	*key = p->key;
	*va = p->at + round * p->stride + into;
	if (left < *len)
		*len = (uint32_t)left;
	return true;
}

static enum bf_mlx5_key_fault map(const struct bf_mlx5 *dev, const struct bf_mlx5_mkey *k, uint64_t va, uint32_t access,
				  uint64_t *iova, uint32_t *len, const struct bf_mlx5_mkey **last)
{
	for (uint32_t depth = 0; k->xlat; depth++) {
		uint64_t at = va - k->start + k->xlat->offset;
		enum bf_mlx5_key_fault f;
		uint32_t key;

		if (depth == MAX_DEPTH || !k->xlat->round || !step(k->xlat, at, &key, &va, len))
			return BF_MLX5_KEY_BOUNDS;
		if (!key)
			break;
		f = bf_mlx5_mkey_allows(dev, k->pd, 0, key, va, *len, access, &k);
		if (f)
			return f;
	}
	*iova = va;
	*last = k;
	return BF_MLX5_KEY_OK;
}

/* Of other keys the rights for local accesses count. */
static uint32_t local(uint32_t access)
{
	const uint32_t writes = BF_MLX5_ACCESS_LOCAL_WRITE | BF_MLX5_ACCESS_REMOTE_WRITE | BF_MLX5_ACCESS_ATOMIC;

	return access & writes ? BF_MLX5_ACCESS_LOCAL_WRITE : BF_MLX5_ACCESS_LOCAL_READ;
}

enum bf_mlx5_key_fault bf_mlx5_map_check(struct bf_mlx5 *dev, const struct bf_mlx5_mkey *k, uint64_t va, uint64_t len,
					 uint32_t access)
{
	enum bf_mlx5_key_fault f = BF_MLX5_KEY_OK;
	const struct bf_mlx5_mkey *last;

	while (len && !f) {
		uint32_t run = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
		uint64_t iova;

		f = map(dev, k, va, local(access), &iova, &run, &last);
		if (!f && last->paging)
			f = bf_mlx5_pages_check(dev, last, iova, run);
		va += run;
		len -= run;
	}
	return f;
}

uint64_t bf_mlx5_map(const struct bf_mlx5 *dev, uint32_t key, uint64_t va, uint32_t access, uint32_t *len)
{
	const struct bf_mlx5_mkey *k = bf_mlx5_table_get(&dev->mkeys, key >> 8), *last;
	uint64_t iova;

	if (!k || map(dev, k, va, local(access), &iova, len, &last))
		return NOWHERE;
	return iova;
}

int bf_mlx5_key_write(struct bf_mlx5 *dev, uint32_t key, uint64_t va, const uint8_t *data, uint32_t len)
{
	const struct bf_mlx5_mkey *k = bf_mlx5_table_get(&dev->mkeys, key >> 8);
	const uint32_t flags = k && k->relaxed ? BF_DMA_RELAXED : 0;
	int status = 0;

	if (BF_LIKELY(!k || !k->xlat))
		return bf_dma_write(&dev->dma, va, data, len, flags);
	while (len && !status) {
		uint32_t run = len;
		uint64_t iova = bf_mlx5_map(dev, key, va, BF_MLX5_ACCESS_LOCAL_WRITE, &run);

		status = bf_dma_write(&dev->dma, iova, data, run, flags);
		va += run;
		data += run;
		len -= run;
	}
	return status;
}
