/* Scatter/gather lists of send WQEs, read piece by piece from the device's copy of the ring. */
#include "models/mlx5/device_internal.h"

/* Data segments are 16 bytes at multiples of 16, so none straddles the ring's end. */
static void read_sge(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, uint32_t i, struct bf_mlx5_piece *out)
{
	const struct bf_mlx5_data *seg;

	if (!i) {
		*out = (struct bf_mlx5_piece){ .va = s->va, .lkey = s->lkey, .len = s->length - s->inline_len };
		if (s->nsge == 1)
			return;
	}
	seg =
	    (const void *)(qp->sq_bytes + ((((uint32_t)s->index << BF_MLX5_WQEBB_SHIFT) + s->payload + i * BF_MLX5_DS) &
					   (((uint32_t)qp->sq_mask << BF_MLX5_WQEBB_SHIFT) | (BF_MLX5_WQEBB - 1))));
	out->va = bf_be64(seg->va);
	out->lkey = bf_be32(seg->lkey);
	out->len = bf_be32(seg->byte_count);
	if (!out->len)
		out->len = 1u << 31;
}

void bf_mlx5_copy_wqe(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, uint32_t at, uint8_t *to, uint32_t len)
{
	uint32_t size = (qp->sq_mask + 1u) << BF_MLX5_WQEBB_SHIFT, first;

	at = (((uint32_t)s->index << BF_MLX5_WQEBB_SHIFT) + at) & (size - 1);
	first = len < size - at ? len : size - at;
	memcpy(to, qp->sq_bytes + at, first);
	memcpy(to + first, qp->sq_bytes, len - first);
}

static uint32_t access_of(const struct bf_mlx5_send *s)
{
	return s->flags & BF_SEND_RDATOMIC ? BF_MLX5_ACCESS_LOCAL_WRITE : BF_MLX5_ACCESS_LOCAL_READ;
}

/* The next piece of at most `want` bytes. False at the end of the list. */
bool bf_mlx5_walk_next(struct bf_mlx5_walk *w, uint32_t want, struct bf_mlx5_piece *out)
{
	while (w->at < w->send->nsge) {
		read_sge(w->qp, w->send, w->at, out);
		if (w->skip >= out->len) {
			w->skip -= out->len;
			w->at++;
			continue;
		}
		out->va += w->skip;
		out->len -= (uint32_t)w->skip;
		if (out->len > want)
			out->len = want;
		if (BF_UNLIKELY(w->send->mapped))
			out->va = bf_mlx5_map(w->qp->dev, out->lkey, out->va, access_of(w->send), &out->len);
		w->skip += out->len;
		return true;
	}
	return false;
}

enum bf_mlx5_key_fault bf_mlx5_check_sges(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, uint32_t access)
{
	enum bf_mlx5_key_fault f = BF_MLX5_KEY_OK;
	const struct bf_mlx5_mkey *k;
	struct bf_mlx5_piece p;

	for (uint32_t i = 0; i < s->nsge && !f; i++) {
		read_sge(qp, s, i, &p);
		f = bf_mlx5_mkey_check(qp, p.lkey, p.va, p.len, access, s->index, &k);
		s->mapped |= !f && k->xlat;
	}
	return f;
}
