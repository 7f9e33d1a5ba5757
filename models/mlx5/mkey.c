/* Memory keys: the checks, and the commands that make and destroy keys. */
#include "models/mlx5/device_internal.h"

#include <stdlib.h>

static enum bf_mlx5_key_fault check(const struct bf_mlx5_qp *qp, const struct bf_mlx5_mkey *k, uint32_t key,
				    uint64_t va, uint64_t len, uint32_t access)
{
	if (!k)
		return BF_MLX5_KEY_UNKNOWN;
	if (k->variant != (key & 0xff))
		return BF_MLX5_KEY_VARIANT;
	if (k->free)
		return BF_MLX5_KEY_FREE;
	if (k->pd != qp->pd)
		return BF_MLX5_KEY_PD;
	if (k->qpn != 0xffffff && k->qpn != qp->qpn)
		return BF_MLX5_KEY_QP;
	if (!k->length64 && (va < k->start || va - k->start > k->len || len > k->len - (va - k->start)))
		return BF_MLX5_KEY_BOUNDS;
	if ((k->access & access) != access)
		return BF_MLX5_KEY_ACCESS;
	return BF_MLX5_KEY_OK;
}

/* The order of the checks is that of mlx5.md section 7. */
enum bf_mlx5_key_fault bf_mlx5_mkey_check(struct bf_mlx5_qp *qp, uint32_t key, uint64_t va, uint64_t len,
					  uint32_t access, uint16_t index, const struct bf_mlx5_mkey **out)
{
	const struct bf_mlx5_mkey *k = bf_mlx5_table_get(&qp->dev->mkeys, key >> 8);
	enum bf_mlx5_key_fault f = check(qp, k, key, va, len, access);

	if (out)
		*out = k;
	if (BF_UNLIKELY(f) && bf_probe(qp->dev->sim, BF_CLASS_FAULT)) {
		struct bf_rec_mkey_error rec = {
			.va = va, .start = k ? k->start : 0, .size = k ? k->len : 0, .qpn = qp->qpn, .key = key,
			.length = (uint32_t)len, .access = (uint8_t)access, .why = (uint8_t)f, .index = index,
		};

		bf_record(&qp->dev->sim->rec, &bf_rec_mkey_error_schema, qp->actor, &rec, NULL, 0);
	}
	return f;
}

/*
 * 0x52: the key was not found or not valid (ucx#6414, spdk#961); 0x53: it was, and does not allow this (warp17#81,
 * spdk#507). mlx5.md section 4.7.
 */
struct bf_mlx5_err bf_mlx5_local_fault(enum bf_mlx5_key_fault f)
{
	if (f <= BF_MLX5_KEY_FREE)
		return (struct bf_mlx5_err){ BF_MLX5_SYND_LOCAL_PROT, 0x52, 0x92 };
	return (struct bf_mlx5_err){ BF_MLX5_SYND_LOCAL_PROT, 0x53, 0x9d };
}

/* Mkey contexts whose access mode says how to translate: physical (0) and MTT (1) both mean the device's IOAS here. */
#define ACCESS_MODES 2u

static uint32_t access_of(const uint8_t *mkc)
{
	return (BF_MLX5_GET(mkc, BF_MKC_LR) ? BF_MLX5_ACCESS_LOCAL_READ : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_LW) ? BF_MLX5_ACCESS_LOCAL_WRITE : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_RR) ? BF_MLX5_ACCESS_REMOTE_READ : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_RW) ? BF_MLX5_ACCESS_REMOTE_WRITE : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_A) ? BF_MLX5_ACCESS_ATOMIC : 0);
}

uint8_t bf_mlx5_cmd_create_mkey(struct bf_mlx5_mail *m)
{
	const uint8_t *mkc = m->in + BF_CREATE_MKEY_MKC;
	struct bf_mlx5_pd *pd = bf_mlx5_table_get(&m->dev->pds, BF_MLX5_GET(mkc, BF_MKC_PD));
	uint64_t start = bf_get_be64(mkc + BF_MKC_START), len = bf_get_be64(mkc + BF_MKC_SIZE);
	bool length64 = BF_MLX5_GET(mkc, BF_MKC_LENGTH64);
	struct bf_mlx5_mkey *k;

	if (!pd)
		return BF_MLX5_CMD_BAD_RES;
	if (BF_MLX5_GET(mkc, BF_MKC_ACCESS_MODE) >= ACCESS_MODES || (!length64 && start + len < start))
		return BF_MLX5_CMD_BAD_PARAM;
	k = calloc(1, sizeof(*k));
	if (!k)
		return BF_MLX5_CMD_NO_RES;
	*k = (struct bf_mlx5_mkey){
		.start = start, .len = len, .pd = pd->number, .qpn = BF_MLX5_GET(mkc, BF_MKC_QPN),
		.access = access_of(mkc), .variant = (uint8_t)BF_MLX5_GET(mkc, BF_MKC_KEY),
		.free = BF_MLX5_GET(mkc, BF_MKC_FREE), .length64 = length64,
		.relaxed = BF_MLX5_GET(mkc, BF_MKC_RELAXED_WRITE),
	};
	memcpy(k->context, mkc, sizeof(k->context));
	if (bf_mlx5_table_add(&m->dev->mkeys, k, &k->index)) {
		free(k);
		return BF_MLX5_CMD_LIM;
	}
	pd->users++;
	m->number = k->index;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_destroy_mkey(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_mkey *k = bf_mlx5_table_get(&m->dev->mkeys, m->number);
	struct bf_mlx5_pd *pd;

	if (!k)
		return BF_MLX5_CMD_BAD_RES;
	pd = bf_mlx5_table_get(&m->dev->pds, k->pd);
	pd->users--;
	m->dev->key_changes++;
	bf_mlx5_table_remove(&m->dev->mkeys, k->index);
	free(k);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_mkey(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_mkey *k = bf_mlx5_table_get(&m->dev->mkeys, m->number);

	if (!k)
		return BF_MLX5_CMD_BAD_RES;
	memcpy(m->out + 16, k->context, sizeof(k->context));
	BF_MLX5_SET(m->out + 16, BF_MKC_FREE, k->free);
	return BF_MLX5_CMD_OK;
}
