/* Memory keys: the checks, and the commands that make and destroy keys. */
#include "models/mlx5/device_internal.h"

#include <inttypes.h>
#include <stdlib.h>

/* The order of the checks is that of docs/hardware/mlx5.md#checks. */
enum bf_mlx5_key_fault bf_mlx5_mkey_allows(const struct bf_mlx5 *dev, uint32_t pd, uint32_t qpn, uint32_t key,
					   uint64_t va, uint64_t len, uint32_t access, const struct bf_mlx5_mkey **out)
{
	const struct bf_mlx5_mkey *k = *out = bf_mlx5_table_get(&dev->mkeys, key >> 8);

	if (!k)
		return BF_MLX5_KEY_UNKNOWN;
	if (k->variant != (key & 0xff))
		return BF_MLX5_KEY_VARIANT;
	if (k->free)
		return BF_MLX5_KEY_FREE;
	if (k->pd != pd)
		return BF_MLX5_KEY_PD;
	if (k->qpn != BF_MLX5_ANY_QP && k->qpn != qpn && qpn)
		return BF_MLX5_KEY_QP;
	if (!k->length64 && (va < k->start || va - k->start > k->len || len > k->len - (va - k->start)))
		return BF_MLX5_KEY_BOUNDS;
	if ((k->access & access) != access)
		return BF_MLX5_KEY_ACCESS;
	return BF_MLX5_KEY_OK;
}

enum bf_mlx5_key_fault bf_mlx5_mkey_check(struct bf_mlx5_qp *qp, uint32_t key, uint64_t va, uint64_t len,
					  uint32_t access, uint16_t index, const struct bf_mlx5_mkey **out)
{
	const struct bf_mlx5_mkey *k;
	enum bf_mlx5_key_fault f = bf_mlx5_mkey_allows(qp->dev, qp->pd, qp->rdma.qpn, key, va, len, access, &k);

	if (BF_UNLIKELY(!f && k->xlat))
		f = bf_mlx5_map_check(qp->dev, k, va, len, access);
	else if (BF_UNLIKELY(!f && k->paging))
		f = bf_mlx5_pages_check(qp->dev, k, va, len);
	if (out)
		*out = k;
	if (BF_UNLIKELY(f && f != BF_MLX5_KEY_ABSENT) && bf_probe(qp->dev->sim, BF_CLASS_FAULT)) {
		struct bf_rec_mkey_error rec = {
			.va = va,
			.start = k ? k->start : 0,
			.size = k ? k->len : 0,
			.qpn = qp->rdma.qpn,
			.key = key,
			.length = (uint32_t)len,
			.access = (uint8_t)access,
			.why = (uint8_t)f,
			.index = index,
		};

		BF_EMIT_MADE(qp->dev->sim, qp->rdma.actor, mkey_error, rec, NULL, 0);
	}
	return f;
}

/*
 * 0x52: the key was not found or not valid (ucx#6414, spdk#961); 0x53: it was, and does not allow this (warp17#81,
 * spdk#507). docs/hardware/mlx5.md#vendor-syndromes-3.
 */
struct bf_mlx5_err bf_mlx5_local_fault(enum bf_mlx5_key_fault f)
{
	if (f <= BF_MLX5_KEY_FREE)
		return (struct bf_mlx5_err){ BF_MLX5_SYND_LOCAL_PROT, 0x52, 0x92 };
	return (struct bf_mlx5_err){ BF_MLX5_SYND_LOCAL_PROT, 0x53, 0x9d };
}

uint32_t bf_mlx5_mkc_access(const uint8_t *mkc)
{
	return (BF_MLX5_GET(mkc, BF_MKC_LR) ? BF_MLX5_ACCESS_LOCAL_READ : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_LW) ? BF_MLX5_ACCESS_LOCAL_WRITE : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_RR) ? BF_MLX5_ACCESS_REMOTE_READ : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_RW) ? BF_MLX5_ACCESS_REMOTE_WRITE : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_A) ? BF_MLX5_ACCESS_ATOMIC : 0);
}

void bf_mlx5_mkey_free(struct bf_mlx5 *dev, struct bf_mlx5_mkey *k)
{
	bf_mlx5_xlat_free(dev, k->xlat);
	bf_mlx5_paging_free(k->paging);
	bf_pool_give(dev->sim, k, sizeof(*k));
}

/* Pages one behind the other are one part. */
static uint8_t take_pages(struct bf_mlx5 *dev, struct bf_mlx5_mkey *k, const uint8_t *list, uint32_t n,
			  uint32_t log_page)
{
	const uint64_t page = 1ull << log_page;
	struct bf_mlx5_xlat *x = bf_mlx5_xlat_new(dev, n);

	if (!x)
		return BF_MLX5_CMD_NO_RES;
	k->xlat = x;
	x->offset = k->start & (page - 1);
	x->round = n * page;
	x->rounds = 1;
	x->count = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct bf_mlx5_part *last = x->count ? &x->part[x->count - 1] : NULL;
		uint64_t at = bf_get_be64(list + 8ull * i) & ~(page - 1);

		if (last && last->at + last->len == at)
			last->len += page;
		else
			x->part[x->count++] = (struct bf_mlx5_part){ .at = at, .from = i * page, .len = page };
	}
	if (x->offset + k->len < k->len || x->offset + k->len > x->round)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM,
				      "len 0x%" PRIx64 ": translations_octword_actual_size has %u pages of 2^%u bytes",
				      k->len, n, log_page);
	x = realloc(k->xlat, sizeof(*x) + x->count * sizeof(x->part[0]));
	if (!x)
		return BF_MLX5_CMD_OK; /* it stays as large as it was */
	k->xlat = x;
	dev->entries -= x->room - x->count;
	x->room = x->count;
	return BF_MLX5_CMD_OK;
}

/* Pages of a UMEM, whose byte at the offset is the key's first. */
static uint8_t take_umem(const struct bf_mlx5_mail *m, struct bf_mlx5_mkey *k)
{
	const uint32_t id = BF_MLX5_GET(m->in, BF_CREATE_MKEY_UMEM_ID);
	struct bf_mlx5_umem *u = bf_mlx5_umem_find(m->dev, id);
	const uint64_t offset = bf_get_be64(m->in + BF_CREATE_MKEY_UMEM_OFFSET);
	const struct bf_mlx5_buf all = { .umem = u, .at = BF_MLX5_BUF_SCATTERED };
	struct bf_mlx5_xlat *x;
	uint32_t run;

	if (!u)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "mkey_umem_id 0x%x: there is no such memory", id);
	if (k->length64 || !k->len || offset > u->size || k->len > u->size - offset)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_SIZE,
				      "len 0x%" PRIx64 " at mkey_umem_offset 0x%" PRIx64
				      ": must be 1 byte or more, within the 0x%" PRIx64 " of umem 0x%x",
				      k->len, offset, u->size, id);
	k->umem = u;
	if (u->contiguous && bf_mlx5_buf_iova(&all, offset, 1, &run) == k->start)
		return BF_MLX5_CMD_OK;
	x = k->xlat = bf_mlx5_xlat_new(m->dev, (uint32_t)((k->len >> u->log_page) + 2));
	if (!x)
		return BF_MLX5_CMD_NO_RES;
	x->round = k->len;
	x->rounds = 1;
	x->count = 0;
	for (uint64_t from = 0; from < k->len; from += run) {
		const uint32_t most = k->len - from < 1u << 31 ? (uint32_t)(k->len - from) : 1u << 31;
		const uint64_t at = bf_mlx5_buf_iova(&all, offset + from, most, &run);

		x->part[x->count++] = (struct bf_mlx5_part){ .at = at, .from = from, .len = run };
	}
	return BF_MLX5_CMD_OK;
}

/* Pieces of other keys: of their own sizes, or all of one. */
static uint8_t take_pieces(struct bf_mlx5 *dev, struct bf_mlx5_mkey *k, const uint8_t *list, uint32_t n, bool ksm,
			   uint32_t log_size)
{
	if (n > 1u << BF_MLX5_LOG_MAX_KLM)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM,
				      "translations_octword_actual_size %u: must be %u at most", n,
				      1u << BF_MLX5_LOG_MAX_KLM);
	if (ksm && (!n || k->length64 || k->len > (uint64_t)n << log_size))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_SIZE,
				      "len 0x%" PRIx64 ": must be within %u entries of 2^%u bytes each", k->len, n,
				      log_size);
	k->klm = !ksm;
	k->xlat = ksm ? bf_mlx5_read_ksms(dev, list, n, log_size) : bf_mlx5_read_list(dev, list, n);
	return k->xlat
		   ? BF_MLX5_CMD_OK
		   : bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM,
				    "%u entries of an indirect key: one names no key, or their sizes are beyond 2^64",
				    n);
}

/* What follows the context: nothing, pages, or pieces of other keys. */
static uint8_t take_translation(const struct bf_mlx5_mail *m, struct bf_mlx5_mkey *k)
{
	const uint8_t *mkc = m->in + BF_CREATE_MKEY_MKC, *list = m->in + BF_CREATE_MKEY_XLT;
	uint32_t mode = BF_MLX5_GET(mkc, BF_MKC_ACCESS_MODE), log_page = BF_MLX5_GET(mkc, BF_MKC_LOG_PAGE_SIZE);
	uint32_t n = m->in_len >= BF_CREATE_MKEY_XLT ? BF_MLX5_GET(m->in, BF_CREATE_MKEY_XLT_ACTUAL) : 0;
	uint64_t pages;

	if ((mode | BF_MLX5_GET(mkc, BF_MKC_ACCESS_MODE_HIGH) << 2) == BF_MKC_ACCESS_MEMIC && !n)
		return bf_mlx5_memic_key(m->dev, k);
	if (BF_MLX5_GET(mkc, BF_MKC_ACCESS_MODE_HIGH) || BF_MLX5_GET(mkc, BF_MKC_BSF_EN))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "access_mode %u, bsf_en %u: modes above 3 and signatures are not modelled",
				      mode | BF_MLX5_GET(mkc, BF_MKC_ACCESS_MODE_HIGH) << 2,
				      BF_MLX5_GET(mkc, BF_MKC_BSF_EN));
	if (m->dev->paging && BF_MLX5_GET(m->in, BF_CREATE_MKEY_PG_ACCESS) && mode == BF_MKC_ACCESS_MTT && !n) {
		k->paging = bf_mlx5_paging_new();
		return k->paging ? BF_MLX5_CMD_OK : BF_MLX5_CMD_NO_RES;
	}
	if (BF_MLX5_GET(m->in, BF_CREATE_MKEY_UMEM_VALID))
		return mode == BF_MKC_ACCESS_MTT
			   ? take_umem(m, k)
			   : bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
					    "access_mode %u with mkey_umem_valid: must be MTT, %u", mode,
					    BF_MKC_ACCESS_MTT);
	if (n > (m->in_len - BF_CREATE_MKEY_XLT) / 16 && n)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_INP_LEN,
				      "translations_octword_actual_size %u: the mailbox of %zu bytes has %zu", n,
				      m->in_len, (m->in_len - BF_CREATE_MKEY_XLT) / 16);
	if (mode == BF_MKC_ACCESS_KLM || mode == BF_MKC_ACCESS_KSM)
		return take_pieces(m->dev, k, list, n, mode == BF_MKC_ACCESS_KSM, log_page);
	if (!n || mode == BF_MKC_ACCESS_PA)
		return BF_MLX5_CMD_OK;
	/* Entries come in pairs; whether the last one counts shows in the length. */
	pages = ((k->start & ((1ull << log_page) - 1)) + k->len + (1ull << log_page) - 1) >> log_page;
	return take_pages(m->dev, k, list, pages == 2ull * n - 1 ? 2 * n - 1 : 2 * n, log_page);
}

uint8_t bf_mlx5_cmd_create_mkey(struct bf_mlx5_mail *m)
{
	const uint8_t *mkc = m->in + BF_CREATE_MKEY_MKC;
	struct bf_mlx5_pd *pd = bf_mlx5_table_get(&m->dev->pds, BF_MLX5_GET(mkc, BF_MKC_PD));
	uint64_t start = bf_get_be64(mkc + BF_MKC_START), len = bf_get_be64(mkc + BF_MKC_SIZE);
	bool length64 = BF_MLX5_GET(mkc, BF_MKC_LENGTH64);
	struct bf_mlx5_mkey *k;
	uint8_t status;

	if (!pd)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "pd 0x%x: there is no such protection domain",
				      BF_MLX5_GET(mkc, BF_MKC_PD));
	if (!length64 && start + len < start)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "start_addr 0x%" PRIx64 " and len 0x%" PRIx64 ": beyond 2^64", start, len);
	k = bf_pool_take(m->dev->sim, sizeof(*k));
	if (!k)
		return BF_MLX5_CMD_NO_RES;
	*k = (struct bf_mlx5_mkey){
		.start = start,
		.len = len,
		.pd = pd->number,
		.qpn = BF_MLX5_GET(mkc, BF_MKC_QPN),
		.access = bf_mlx5_mkc_access(mkc),
		.variant = (uint8_t)BF_MLX5_GET(mkc, BF_MKC_KEY),
		.free = BF_MLX5_GET(mkc, BF_MKC_FREE),
		.length64 = length64,
		.relaxed = BF_MLX5_GET(mkc, BF_MKC_RELAXED_WRITE),
		.umr_en = BF_MLX5_GET(mkc, BF_MKC_UMR_EN),
		.en_rinval = BF_MLX5_GET(mkc, BF_MKC_EN_RINVAL),
	};
	memcpy(k->context, mkc, sizeof(k->context));
	status = take_translation(m, k);
	if (!status && bf_mlx5_table_add(&m->dev->mkeys, k, &k->index))
		status = BF_MLX5_CMD_LIM;
	if (status) {
		bf_mlx5_mkey_free(m->dev, k);
		return status;
	}
	pd->users++;
	if (k->umem)
		k->umem->users++;
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
	if (k->umem)
		k->umem->users--;
	m->dev->rdma.key_changes++;
	bf_mlx5_table_remove(&m->dev->mkeys, k->index);
	bf_mlx5_mkey_free(m->dev, k);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_mkey(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_mkey *k = bf_mlx5_table_get(&m->dev->mkeys, m->number);

	if (!k)
		return BF_MLX5_CMD_BAD_RES;
	memcpy(m->out + 16, k->context, sizeof(k->context));
	BF_MLX5_SET(m->out + 16, BF_MKC_FREE, k->free);
	BF_MLX5_SET(m->out + 16, BF_MKC_KEY, k->variant);
	BF_MLX5_SET(m->out + 16, BF_MKC_QPN, k->qpn);
	bf_put_be64(m->out + 16 + BF_MKC_START, k->start);
	bf_put_be64(m->out + 16 + BF_MKC_SIZE, k->len);
	return BF_MLX5_CMD_OK;
}
