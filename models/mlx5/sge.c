/* Scatter/gather lists of send WQEs, read piece by piece from the device's copy of the ring. */
#include "models/mlx5/device_internal.h"

/* Data segments are 16 bytes at multiples of 16, so none straddles the ring's end. */
static void read_sge(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, uint32_t i, struct bf_mlx5_sge *out)
{
	const struct bf_mlx5_data *seg;

	if (!i) {
		*out = (struct bf_mlx5_sge){ .va = s->va, .lkey = s->lkey, .len = s->rdma.length - s->rdma.inline_len };
		if (s->nsge == 1)
			return;
	}
	seg = (const void *)(qp->sq_bytes +
			     ((((uint32_t)s->index << BF_MLX5_WQEBB_SHIFT) + s->payload + i * BF_MLX5_DS) &
			      (((uint32_t)qp->rdma.sq_mask << BF_MLX5_WQEBB_SHIFT) | (BF_MLX5_WQEBB - 1))));
	out->va = bf_be64(seg->va);
	out->lkey = bf_be32(seg->lkey);
	out->len = bf_be32(seg->byte_count);
	if (!out->len)
		out->len = 1u << 31;
}

void bf_mlx5_copy_wqe(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, uint32_t at, uint8_t *to, uint32_t len)
{
	uint32_t size = (qp->rdma.sq_mask + 1u) << BF_MLX5_WQEBB_SHIFT, first;

	at = (((uint32_t)s->index << BF_MLX5_WQEBB_SHIFT) + at) & (size - 1);
	first = len < size - at ? len : size - at;
	memcpy(to, qp->sq_bytes + at, first);
	memcpy(to + first, qp->sq_bytes, len - first);
}

static uint32_t access_of(const struct bf_mlx5_send *s)
{
	return s->rdma.flags & BF_RDMA_SEND_RDATOMIC ? BF_MLX5_ACCESS_LOCAL_WRITE : BF_MLX5_ACCESS_LOCAL_READ;
}

/* As bf_mlx5_next_piece(), with the key; `va` becomes an IOVA. */
static bool next_sge(struct bf_rdma_walk *w, uint32_t want, struct bf_mlx5_sge *out)
{
	const struct bf_mlx5_send *s = bf_mlx5_send_of(w->send);
	const struct bf_mlx5_qp *qp = bf_mlx5_qp_of(w->qp);

	while (w->at < s->nsge) {
		read_sge(qp, s, w->at, out);
		if (w->skip >= out->len) {
			w->skip -= out->len;
			w->at++;
			continue;
		}
		out->va += w->skip;
		out->len -= (uint32_t)w->skip;
		if (out->len > want)
			out->len = want;
		if (BF_UNLIKELY(s->mapped))
			out->va = bf_mlx5_map(qp->dev, out->lkey, out->va, access_of(s), &out->len);
		w->skip += out->len;
		return true;
	}
	return false;
}

bool bf_mlx5_next_piece(struct bf_rdma_walk *w, uint32_t want, struct bf_rdma_piece *out)
{
	struct bf_mlx5_sge sge;

	if (!next_sge(w, want, &sge))
		return false;
	out->iova = sge.va;
	out->len = sge.len;
	return true;
}

int bf_mlx5_scatter(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, uint32_t offset, const uint8_t *data, uint32_t len)
{
	struct bf_rdma_walk w = { .qp = &qp->rdma, .send = &s->rdma, .skip = offset };
	struct bf_mlx5_sge sge;
	int status = 0;

	while (len && !status && next_sge(&w, len, &sge)) {
		/* The piece is where its bytes go; the key says only how. */
		const struct bf_mlx5_mkey *k = bf_mlx5_table_get(&qp->dev->mkeys, sge.lkey >> 8);

		status = bf_dma_write(&qp->dev->dma, sge.va, data, sge.len, k && k->relaxed ? BF_DMA_RELAXED : 0);
		data += sge.len;
		len -= sge.len;
	}
	return status;
}

enum bf_mlx5_key_fault bf_mlx5_check_sges(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, uint32_t access)
{
	enum bf_mlx5_key_fault f = BF_MLX5_KEY_OK;
	const struct bf_mlx5_mkey *k;
	struct bf_mlx5_sge p;

	s->rdma.direct = false;
	for (uint32_t i = 0; i < s->nsge && !f; i++) {
		read_sge(qp, s, i, &p);
		f = bf_mlx5_mkey_check(qp, p.lkey, p.va, p.len, access, s->index, &k);
		s->mapped |= !f && k->xlat;
	}
	if (BF_LIKELY(s->nsge == 1 && !s->mapped && !s->rdma.inline_len)) {
		s->rdma.direct = true;
		s->rdma.iova = s->va;
	}
	return f;
}
