/*
 * Paging on demand (Linux hw/mlx5/odp.c): regions whose pages the device asks for when it needs them. The answer to its
 * event is to bring the pages of the program in, to tell the device that they are there, and to let the request go on.
 *
 * mlx5_ib gives an implicit region, which is the program's whole address space, a key of keys that it makes as pages
 * come; here it is one key. Pages never go again while the region is there: what a program unmaps shows as an access
 * that fails. Where mlx5_ib tells the device of pages by UMR WQEs of a queue pair of its own, here it is a call.
 */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include "models/mlx5/prm_hca.h"

#define GENERAL_CAPS 3u /* IB_ODP_SUPPORT, IB_ODP_SUPPORT_IMPLICIT */
#define PAGE_BASE(a) ((a) & ~(uint64_t)(BF_UV_PAGE - 1))

bool bf_mlx5_ib_pages(struct bf_uverbs *u)
{
	uint8_t cap[BF_HCA_CAP_LEN];

	bf_mlx5_ib_caps(u, BF_HCA_CAP_GENERAL, cap);
	return BF_MLX5_GET(cap, BF_CAP_PG);
}

/* The verbs number the operations from the lowest bit on, the device from the highest. */
static uint32_t operations(uint32_t cap)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < 6; i++)
		bits |= (cap >> (5 - i) & 1) << i;
	return bits;
}

void bf_mlx5_ib_fill_odp_caps(struct bf_uverbs *u, struct ib_uverbs_odp_caps *caps, uint32_t *xrc)
{
	uint8_t cap[BF_HCA_CAP_LEN];

	if (!bf_mlx5_ib_pages(u))
		return;
	bf_mlx5_ib_caps(u, BF_HCA_CAP_ODP, cap);
	caps->general_caps = GENERAL_CAPS;
	*xrc = operations(BF_MLX5_GET(cap, BF_ODP_CAP_XRC));
	caps->per_transport_caps.rc_odp_caps = operations(BF_MLX5_GET(cap, BF_ODP_CAP_RC));
	caps->per_transport_caps.uc_odp_caps = operations(BF_MLX5_GET(cap, BF_ODP_CAP_UC));
	caps->per_transport_caps.ud_odp_caps = operations(BF_MLX5_GET(cap, BF_ODP_CAP_UD));
}

static struct bf_uv_mr *find_in(const struct bf_uverbs_file *f, uint32_t key)
{
	for (struct bf_uv_object *o = f->oldest; o; o = o->next)
		if (o->type == UVERBS_OBJECT_MR && ((struct bf_uv_mr *)o)->key == key)
			return (struct bf_uv_mr *)o;
	return NULL;
}

/* Brings pages in, and tells the device. 0 or a negative errno. */
static int bring(struct bf_uverbs *u, const struct bf_uv_mr *mr, uint64_t address, uint64_t len, bool write)
{
	const struct bf_uverbs_host *h = &u->opts.host;
	const uint64_t first = PAGE_BASE(address), end = PAGE_BASE(address + len + BF_UV_PAGE - 1);
	int err;

	if (!(mr->access & IB_UVERBS_ACCESS_ON_DEMAND) || address + len < address || end < first)
		return -EINVAL;
	if (!bf_mlx5_ib_is_implicit(mr) &&
	    (address < mr->address || len > mr->length || address - mr->address > mr->length - len))
		return -EFAULT;
	err = h->pin(h->arg, address, len, write);
	return err ? err : bf_mlx5_pages_come(u->opts.device, mr->key, first, end - first);
}

void bf_mlx5_ib_page_fault(struct bf_uverbs *u, const struct bf_mlx5_eqe *e)
{
	const uint64_t va = bf_get_be64(e->data + BF_EQE_PAGE_FAULT_VA);
	const uint64_t end = PAGE_BASE(va) + (bf_get_be32(e->data + BF_EQE_PAGE_FAULT_PAGES) & 0xfffff000u);
	uint8_t in[16] = { 0 }, out[16];
	const struct bf_uv_mr *mr = NULL;
	uint64_t len = end - va;

	for (const struct bf_uverbs_file *f = u->files; f && !mr; f = f->next)
		mr = find_in(f, bf_get_be32(e->data + BF_EQE_PAGE_FAULT_MKEY));
	if (mr && !bf_mlx5_ib_is_implicit(mr) && mr->address + mr->length < end)
		len = mr->address + mr->length - va; /* the event counts whole pages */
	BF_MLX5_SET(in, BF_RESUME_TOKEN, bf_get_be32(e->data + BF_EQE_PAGE_FAULT_TOKEN));
	BF_MLX5_SET(in, BF_RESUME_ERROR, !mr || bring(u, mr, va, len, mr->access & BF_MLX5_IB_WRITES));
	bf_mlx5_ib_cmd(u, BF_MLX5_CMD_PAGE_FAULT_RESUME, in, sizeof(in), out, sizeof(out));
}

/* Pages that the program knows it will need. Only regions of the domain that it names, and only such ones. */
int bf_mlx5_ib_advise_mr(struct bf_uv_call *c)
{
	const struct bf_uv_pd *pd = (struct bf_uv_pd *)bf_uv_attr_object(c, UVERBS_ATTR_ADVISE_MR_PD_HANDLE);
	const struct bf_uv_bytes *list = &bf_uv_attr(c, UVERBS_ATTR_ADVISE_MR_SGE_LIST)->bytes;
	uint64_t advice;
	uint32_t flags;

	if (bf_uv_attr_get(c, UVERBS_ATTR_ADVISE_MR_ADVICE, &advice, sizeof(advice)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_ADVISE_MR_FLAGS, &flags, sizeof(flags)))
		return -EFAULT;
	if (!bf_mlx5_ib_pages(c->u) || advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	if (flags & ~(uint32_t)IB_UVERBS_ADVISE_MR_FLAG_FLUSH || list->len % sizeof(struct ib_uverbs_sge))
		return -EINVAL;
	for (uint32_t at = 0; at < list->len; at += (uint32_t)sizeof(struct ib_uverbs_sge)) {
		struct bf_uv_bytes one = { .local = list->local ? list->local + at : NULL,
					   .address = list->address + at,
					   .len = sizeof(struct ib_uverbs_sge) };
		const struct bf_uv_mr *mr;
		struct ib_uverbs_sge sge;
		int err;

		if (bf_uv_get(c, &one, &sge, sizeof(sge)))
			return -EFAULT;
		mr = find_in(c->f, sge.lkey);
		if (!mr || !(mr->access & IB_UVERBS_ACCESS_ON_DEMAND))
			return -EINVAL;
		if (mr->pd != pd ||
		    (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE && !(mr->access & BF_MLX5_IB_WRITES)))
			return -EPERM;
		if (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
			continue; /* pages that are there by chance may be told: none are */
		err = bring(c->u, mr, sge.addr, sge.length, advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE);
		if (err)
			return err;
	}
	return 0;
}
