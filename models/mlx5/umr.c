/*
 * UMR: work requests that change memory keys. Memory windows are bound and invalidated by them, and keys laid out over
 * pieces of others. A SEND with invalidate does from afar what a local invalidation does here.
 */
#include "models/mlx5/device_internal.h"

#include <stdlib.h>

/* Vendor codes are not evidenced. */
static const struct bf_mlx5_err err_bind = { BF_MLX5_SYND_MW_BIND, 0x00, 0x00 };
static const struct bf_mlx5_err err_opcode = { BF_MLX5_SYND_LOCAL_QP_OP, 0x61, 0x01 };

static const char *const reasons[] = {
	[BF_MLX5_UMR_NO_SUCH_KEY] = "UMR: no such key",
	[BF_MLX5_UMR_OTHER_PD] = "UMR: key of another protection domain",
	[BF_MLX5_UMR_DISABLED] = "UMR: key that UMR may not change",
	[BF_MLX5_UMR_NOT_FREE] = "UMR: key is not free",
	[BF_MLX5_UMR_OTHER_QP] = "UMR: key of another queue pair",
	[BF_MLX5_UMR_NOT_MODELLED] = "UMR: not modelled",
};

#define KNOWN_MASK                                                                                                     \
	(BF_MLX5_UMR_MASK_LEN | BF_MLX5_UMR_MASK_START | BF_MLX5_UMR_MASK_EN_RINVAL | BF_MLX5_UMR_MASK_KEY |           \
	 BF_MLX5_UMR_MASK_QPN | BF_MLX5_UMR_MASK_LR | BF_MLX5_UMR_MASK_LW | BF_MLX5_UMR_MASK_RR |                      \
	 BF_MLX5_UMR_MASK_RW | BF_MLX5_UMR_MASK_A | BF_MLX5_UMR_MASK_SMALL_FENCE | BF_MLX5_UMR_MASK_RELAXED_WRITE |    \
	 BF_MLX5_UMR_MASK_FREE)

static void record(const struct bf_mlx5_qp *qp, const struct bf_mlx5_mkey *k, uint32_t key, uint16_t index, uint8_t by,
		   uint8_t verdict)
{
	struct bf_rec_umr rec = { .qpn = qp->rdma.qpn, .key = key, .index = index, .by = by, .verdict = verdict };

	if (!bf_probe(qp->dev->sim, BF_CLASS_QUEUE))
		return;
	if (k) {
		rec.start = k->start;
		rec.size = k->len;
		rec.key = k->index << 8 | k->variant;
		rec.owner = k->qpn;
		rec.klms = (uint16_t)(k->xlat ? k->xlat->count : 0);
		rec.access = (uint8_t)k->access;
		rec.free = k->free;
	}
	BF_EMIT_MADE(qp->dev->sim, qp->rdma.actor, umr, rec, NULL, 0);
}

/* The kernel's queue pair for keys may change those of all protection domains, and which one they are of. */
static bool is_kernels(const struct bf_mlx5_qp *qp)
{
	uint8_t qpc[BF_QPC_LEN];

	if (BF_LIKELY(qp->rdma.service != BF_RDMA_UD))
		return false;
	bf_mlx5_unpack(qp->context, qpc, sizeof(qpc));
	return BF_MLX5_GET(qpc, BF_QPC_ST) == BF_QPC_ST_REG_UMR;
}

/* A local invalidation names the key as it is now; what makes a key valid may give it a new variant. */
static uint8_t check(const struct bf_mlx5_qp *qp, const struct bf_mlx5_mkey *k, uint32_t key, uint8_t flags,
		     uint64_t mask)
{
	if (!k || (flags & BF_MLX5_UMR_CHECK_QPN && k->variant != (key & 0xff)))
		return BF_MLX5_UMR_NO_SUCH_KEY;
	if (k->pd != qp->pd && !is_kernels(qp))
		return BF_MLX5_UMR_OTHER_PD;
	if (!k->umr_en)
		return BF_MLX5_UMR_DISABLED;
	if (flags & BF_MLX5_UMR_CHECK_FREE && !k->free)
		return BF_MLX5_UMR_NOT_FREE;
	if (flags & BF_MLX5_UMR_CHECK_QPN && k->qpn != BF_MLX5_ANY_QP && k->qpn != qp->rdma.qpn)
		return BF_MLX5_UMR_OTHER_QP;
	if (mask & BF_MLX5_UMR_MASK_PD && is_kernels(qp))
		mask &= ~(uint64_t)BF_MLX5_UMR_MASK_PD;
	return mask & ~(uint64_t)KNOWN_MASK ? BF_MLX5_UMR_NOT_MODELLED : BF_MLX5_UMR_OK;
}

/* A key of nobody's, for entries that name key 0: to parts of pages that means an IOVA. */
#define NOBODYS 0xffu

static uint32_t key_of(struct bf_be32 mkey)
{
	return bf_be32(mkey) ? bf_be32(mkey) : NOBODYS;
}

/* KLMs one behind the other; entries of zeros fill the list up. */
static bool read_klms(struct bf_mlx5_xlat *x, const uint8_t *list, uint32_t n)
{
	uint64_t from = 0;

	x->count = 0;
	x->rounds = 1;
	for (uint32_t i = 0; i < n; i++) {
		const struct bf_mlx5_klm *klm = (const void *)(list + i * sizeof(*klm));

		if (!bf_be32(klm->byte_count))
			continue;
		x->part[x->count++] = (struct bf_mlx5_part){
			.at = bf_be64(klm->va), .from = from, .len = bf_be32(klm->byte_count), .key = key_of(klm->mkey)
		};
		from += bf_be32(klm->byte_count);
	}
	x->round = from;
	return true;
}

static bool read_strided(struct bf_mlx5_xlat *x, const uint8_t *list, uint32_t n)
{
	const struct bf_mlx5_strided *head = (const void *)list;
	const struct bf_mlx5_strided_entry *e = (const void *)(head + 1);
	uint64_t from = 0;

	if (bf_be16(head->entries) > n - 1)
		return false;
	x->count = bf_be16(head->entries);
	x->rounds = bf_be32(head->repeat_count);
	for (uint32_t i = 0; i < x->count; i++, e++) {
		x->part[i] = (struct bf_mlx5_part){
			.at = bf_be64(e->va),
			.from = from,
			.len = bf_be16(e->byte_count),
			.stride = bf_be16(e->stride),
			.key = key_of(e->mkey),
		};
		from += bf_be16(e->byte_count);
	}
	x->round = from;
	return from == bf_be32(head->byte_count);
}

/* What a key translates by, from `n` entries of 16 bytes. NULL: no memory, or a list that cannot be. */
struct bf_mlx5_xlat *bf_mlx5_read_list(struct bf_mlx5 *dev, const uint8_t *list, uint32_t n)
{
	struct bf_mlx5_xlat *x = bf_mlx5_xlat_new(dev, n);
	bool strided = n && bf_get_be32(list + 4) == BF_MLX5_STRIDED;

	if (!x || (strided ? read_strided : read_klms)(x, list, n))
		return x;
	bf_mlx5_xlat_free(dev, x);
	return NULL;
}

struct bf_mlx5_xlat *bf_mlx5_read_ksms(struct bf_mlx5 *dev, const uint8_t *list, uint32_t n, uint32_t log_size)
{
	struct bf_mlx5_xlat *x = bf_mlx5_xlat_new(dev, n);

	if (!x)
		return NULL;
	x->rounds = 1;
	x->round = (uint64_t)n << log_size;
	for (uint32_t i = 0; i < n; i++) {
		const struct bf_mlx5_klm *ksm = (const void *)(list + i * sizeof(*ksm));

		x->part[i] = (struct bf_mlx5_part){ .at = bf_be64(ksm->va),
						    .from = (uint64_t)i << log_size,
						    .len = 1ull << log_size,
						    .key = key_of(ksm->mkey) };
	}
	return x;
}

/* The part of the WQE behind the control segment decides; its list replaces what the key had. */
static uint8_t take_list(struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, struct bf_mlx5_mkey *k, uint32_t n)
{
	uint8_t list[BF_MLX5_MAX_DS * BF_MLX5_DS];
	struct bf_mlx5_xlat *x;

	if (!n)
		return BF_MLX5_UMR_OK;
	bf_mlx5_copy_wqe(qp, s, BF_MLX5_UMR_LIST_AT, list, n * BF_MLX5_DS);
	x = k->klm ? bf_mlx5_read_list(qp->dev, list, n) : NULL;
	if (!x)
		return BF_MLX5_UMR_NOT_MODELLED;
	bf_mlx5_xlat_free(qp->dev, k->xlat);
	k->xlat = x;
	return BF_MLX5_UMR_OK;
}

static bool take_pd(const struct bf_mlx5 *dev, struct bf_mlx5_mkey *k, uint32_t number)
{
	struct bf_mlx5_pd *from = bf_mlx5_table_get(&dev->pds, k->pd), *to = bf_mlx5_table_get(&dev->pds, number);

	if (!to)
		return false;
	from->users--;
	to->users++;
	k->pd = number;
	return true;
}

static void take_context(struct bf_mlx5_mkey *k, const uint8_t *mkc, uint64_t mask)
{
	const uint32_t rights = (mask & BF_MLX5_UMR_MASK_LR ? BF_MLX5_ACCESS_LOCAL_READ : 0) |
				(mask & BF_MLX5_UMR_MASK_LW ? BF_MLX5_ACCESS_LOCAL_WRITE : 0) |
				(mask & BF_MLX5_UMR_MASK_RR ? BF_MLX5_ACCESS_REMOTE_READ : 0) |
				(mask & BF_MLX5_UMR_MASK_RW ? BF_MLX5_ACCESS_REMOTE_WRITE : 0) |
				(mask & BF_MLX5_UMR_MASK_A ? BF_MLX5_ACCESS_ATOMIC : 0);

	k->access = (k->access & ~rights) | (bf_mlx5_mkc_access(mkc) & rights);
	if (mask & BF_MLX5_UMR_MASK_LEN)
		k->len = bf_get_be64(mkc + BF_MKC_SIZE);
	if (mask & BF_MLX5_UMR_MASK_START)
		k->start = bf_get_be64(mkc + BF_MKC_START);
	if (mask & BF_MLX5_UMR_MASK_EN_RINVAL)
		k->en_rinval = BF_MLX5_GET(mkc, BF_MKC_EN_RINVAL);
	if (mask & BF_MLX5_UMR_MASK_KEY)
		k->variant = (uint8_t)BF_MLX5_GET(mkc, BF_MKC_KEY);
	if (mask & BF_MLX5_UMR_MASK_QPN)
		k->qpn = BF_MLX5_GET(mkc, BF_MKC_QPN);
	if (mask & BF_MLX5_UMR_MASK_RELAXED_WRITE)
		k->relaxed = BF_MLX5_GET(mkc, BF_MKC_RELAXED_WRITE);
	if (mask & BF_MLX5_UMR_MASK_FREE)
		k->free = BF_MLX5_GET(mkc, BF_MKC_FREE);
}

bool bf_mlx5_umr(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	struct bf_mlx5_mkey *k = bf_mlx5_table_get(&qp->dev->mkeys, s->rdma.imm >> 8);
	uint8_t bytes[BF_MLX5_UMR_LIST_AT], verdict;
	const struct bf_mlx5_umr_ctrl *ctrl = (const void *)(bytes + BF_MLX5_UMR_CTRL_AT);
	uint64_t mask;

	bf_mlx5_copy_wqe(qp, s, 0, bytes, sizeof(bytes));
	mask = bf_be64(ctrl->mkey_mask);
	verdict = check(qp, k, s->rdma.imm, ctrl->flags, mask);
	if (!verdict && ctrl->flags & BF_MLX5_UMR_OFFSET && bf_be16(ctrl->offset))
		verdict = BF_MLX5_UMR_NOT_MODELLED;
	if (!verdict && mask & BF_MLX5_UMR_MASK_PD &&
	    !take_pd(qp->dev, k, BF_MLX5_GET(bytes + BF_MLX5_UMR_MKC_AT, BF_MKC_PD)))
		verdict = BF_MLX5_UMR_OTHER_PD;
	if (!verdict)
		verdict = take_list(qp, s, k, bf_be16(ctrl->klm_octowords));
	if (!verdict) {
		take_context(k, bytes + BF_MLX5_UMR_MKC_AT, mask);
		qp->dev->rdma.key_changes++;
	}
	record(qp, k, s->rdma.imm, s->index, BF_MLX5_BY_UMR, verdict);
	if (verdict)
		bf_mlx5_send_fail(qp, s, verdict == BF_MLX5_UMR_NOT_MODELLED ? err_opcode : err_bind, reasons[verdict]);
	return !verdict;
}

/* The key must allow it, and be of this queue pair if it is of one (IBA vol. 1 section 10.6.5.2). */
bool bf_mlx5_remote_invalidate(struct bf_mlx5_qp *qp, uint32_t key)
{
	struct bf_mlx5_mkey *k = bf_mlx5_table_get(&qp->dev->mkeys, key >> 8);

	if (!k || k->free || !k->en_rinval || k->variant != (key & 0xff) || k->pd != qp->pd ||
	    (k->qpn != BF_MLX5_ANY_QP && k->qpn != qp->rdma.qpn))
		return false;
	k->free = true;
	qp->dev->rdma.key_changes++;
	record(qp, k, key, 0, BF_MLX5_BY_SEND, BF_MLX5_UMR_OK);
	return true;
}
