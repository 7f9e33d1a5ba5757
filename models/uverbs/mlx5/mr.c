/* Memory regions: keys whose translation is by address, or, where the program's addresses are others, by pages. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include <stdlib.h>

#define KNOWN_ACCESS (0xffu | IB_UVERBS_ACCESS_OPTIONAL_RANGE)
#define DMABUF_ACCESS                                                                                                  \
	(uint32_t)(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_WRITE |       \
		   IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_RELAXED_ORDERING)
#define LOG_PAGE_MAX 31u
#define LOG_PAGE_MIN 12u
#define ANY_QP 0xffffffu
#define REREG_TRANS 1u
#define REREG_PD 2u
#define REREG_ACCESS 4u

static bool same_place_in_page(uint64_t a, uint64_t b)
{
	return !((a ^ b) & (BF_UV_PAGE - 1));
}

/* Linux include/rdma/ib_verbs.h ib_check_mr_access(). */
static int check_access(struct bf_uverbs *u, uint32_t access)
{
	if ((access & (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IB_UVERBS_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (access & ~KNOWN_ACCESS)
		return -EINVAL;
	return access & IB_UVERBS_ACCESS_ON_DEMAND && !bf_mlx5_ib_pages(u) ? -EOPNOTSUPP : 0;
}

static int check_range(struct bf_uv_call *c, const struct bf_uv_mr *mr)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;

	if (bf_mlx5_ib_is_implicit(mr))
		return 0;
	if (!same_place_in_page(mr->address, mr->iova))
		return -EINVAL;
	if (mr->address + mr->length < mr->address || mr->address + mr->length > UINT64_MAX - BF_UV_PAGE ||
	    mr->iova + mr->length < mr->iova)
		return -EINVAL;
	if (!mr->length && !(mr->address & (BF_UV_PAGE - 1)))
		return -EINVAL; /* not even a page */
	/* Pages come when they are needed, where they are in the program. */
	if (mr->access & IB_UVERBS_ACCESS_ON_DEMAND)
		return mr->address == mr->iova ? 0 : -EOPNOTSUPP;
	return h->pin(h->arg, mr->address, mr->length, mr->access & BF_MLX5_IB_WRITES);
}

void bf_mlx5_ib_fill_key(struct bf_uverbs *u, const struct bf_uv_mr *mr, const struct bf_uv_pd *pd, uint8_t *mkc)
{
	uint32_t access = mr->access;

	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_MTT);
	BF_MLX5_SET(mkc, BF_MKC_LR, 1);
	BF_MLX5_SET(mkc, BF_MKC_LW, !!(access & IB_UVERBS_ACCESS_LOCAL_WRITE));
	BF_MLX5_SET(mkc, BF_MKC_RR, !!(access & IB_UVERBS_ACCESS_REMOTE_READ));
	BF_MLX5_SET(mkc, BF_MKC_RW, !!(access & IB_UVERBS_ACCESS_REMOTE_WRITE));
	BF_MLX5_SET(mkc, BF_MKC_A, !!(access & IB_UVERBS_ACCESS_REMOTE_ATOMIC));
	BF_MLX5_SET(mkc, BF_MKC_RELAXED_WRITE, !!(access & IB_UVERBS_ACCESS_RELAXED_ORDERING));
	BF_MLX5_SET(mkc, BF_MKC_UMR_EN, 1);
	BF_MLX5_SET(mkc, BF_MKC_QPN, ANY_QP);
	BF_MLX5_SET(mkc, BF_MKC_KEY, bf_mlx5_ib_of(u)->key_variant);
	BF_MLX5_SET(mkc, BF_MKC_PD, pd->pdn);
	bf_put_be64(mkc + BF_MKC_START, mr->iova);
	bf_put_be64(mkc + BF_MKC_SIZE, mr->length);
	BF_MLX5_SET(mkc, BF_MKC_LENGTH64, bf_mlx5_ib_is_implicit(mr));
}

/* The largest page in which addresses of the program and of requests have the same offset. */
static uint32_t page_shift(const struct bf_uv_mr *mr)
{
	uint64_t differ = mr->address ^ mr->iova;
	uint32_t shift = LOG_PAGE_MIN;

	while (shift < LOG_PAGE_MAX && !(differ >> shift & 1))
		shift++;
	return shift;
}

/* A key for the region; its number with the variant goes to `key`. */
static int make_key(struct bf_uv_call *c, const struct bf_uv_mr *mr, const struct bf_uv_pd *pd, uint32_t *key)
{
	uint32_t shift = page_shift(mr);
	uint64_t first = mr->address >> shift, end = (mr->address + mr->length + (1ull << shift) - 1) >> shift;
	uint64_t n = mr->address == mr->iova ? 0 : end - first; /* paging on demand has none either */
	size_t len = BF_CREATE_MKEY_LEN + ((n + 1) & ~1ull) * 8;
	uint8_t *in = n > UINT32_MAX / 8 ? NULL : calloc(1, len), out[16];
	int err;

	if (!in)
		return -ENOMEM;
	bf_mlx5_ib_fill_key(c->u, mr, pd, in + BF_CREATE_MKEY_MKC);
	BF_MLX5_SET(in + BF_CREATE_MKEY_MKC, BF_MKC_LOG_PAGE_SIZE, shift);
	BF_MLX5_SET(in, BF_CREATE_MKEY_PG_ACCESS, !!(mr->access & IB_UVERBS_ACCESS_ON_DEMAND));
	BF_MLX5_SET(in, BF_CREATE_MKEY_XLT_ACTUAL, (uint32_t)((n + 1) / 2));
	for (uint64_t i = 0; i < n; i++)
		bf_put_be64(in + BF_CREATE_MKEY_XLT + 8 * i, (first + i) << shift);
	err = bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_CREATE_MKEY, in, len, out, sizeof(out));
	free(in);
	if (!err)
		*key = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER) << 8 | bf_mlx5_ib_of(c->u)->key_variant++;
	return err;
}

void bf_mlx5_ib_record_mr(struct bf_uverbs *u, const struct bf_uv_mr *mr)
{
	BF_EMIT(u->sim, u->actor, uverbs_mr, .address = mr->address, .length = mr->length, .iova = mr->iova,
		.lkey = mr->key, .access = mr->access);
}

/* A region's key and object, which `*out` gets. After a failure there is neither. */
static int add_region(struct bf_uv_call *c, struct bf_uv_mr *want, struct bf_uv_pd *pd, struct bf_uv_mr **out)
{
	struct bf_uv_object o;
	struct bf_uv_mr *mr;
	int err = check_range(c, want);

	if (!err)
		err = make_key(c, want, pd, &want->key);
	if (err)
		return err;
	mr = bf_uv_new(c, UVERBS_OBJECT_MR, sizeof(*mr));
	if (!mr) {
		bf_mlx5_ib_simple(c->u, BF_MLX5_CMD_DESTROY_MKEY, want->key >> 8, NULL);
		return -ENOMEM;
	}
	o = mr->o;
	*mr = *want;
	mr->o = o;
	mr->pd = pd;
	pd->o.users++;
	c->number = mr->key;
	bf_mlx5_ib_record_mr(c->u, mr);
	*out = mr;
	return 0;
}

int bf_mlx5_ib_reg_mr(struct bf_uv_call *c)
{
	struct ib_uverbs_reg_mr_resp resp = { 0 };
	struct ib_uverbs_reg_mr cmd;
	struct bf_uv_mr *mr, want;
	struct bf_uv_pd *pd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	pd = bf_uv_get_object(c, UVERBS_OBJECT_PD, cmd.pd_handle);
	want = (struct bf_uv_mr){
		.address = cmd.start, .length = cmd.length, .iova = cmd.hca_va, .access = cmd.access_flags
	};
	err = check_access(c->u, cmd.access_flags);
	if (!err && !pd)
		err = -EINVAL;
	if (!err)
		err = add_region(c, &want, pd, &mr);
	if (err)
		return err;
	resp.lkey = resp.rkey = mr->key;
	resp.mr_handle = mr->o.handle;
	err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&mr->o, true);
	return err;
}

/* Linux drivers/infiniband/core/uverbs_std_types_mr.c; the access that it takes is less than that of other regions. */
int bf_mlx5_ib_reg_dmabuf_mr(struct bf_uv_call *c)
{
	struct bf_uv_pd *pd = (struct bf_uv_pd *)bf_uv_attr_object(c, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE);
	struct bf_uv_mr *mr, want = { 0 };
	int err, fd;

	if (bf_uv_attr_get(c, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &want.address, sizeof(want.address)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &want.length, sizeof(want.length)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &want.iova, sizeof(want.iova)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_REG_DMABUF_MR_FD, &fd, sizeof(fd)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &want.access, sizeof(want.access)))
		return -EFAULT;
	if (!same_place_in_page(want.address, want.iova) || want.access & ~DMABUF_ACCESS)
		return -EINVAL;
	err = check_access(c->u, want.access);
	if (!err)
		err = bf_uv_dmabuf(c, fd, &want.address, want.length);
	if (!err)
		err = add_region(c, &want, pd, &mr);
	if (err)
		return err;
	if (!bf_uv_attr_put(c, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &mr->key, sizeof(mr->key)) &&
	    !bf_uv_attr_put(c, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &mr->key, sizeof(mr->key)) &&
	    !bf_uv_attr_handle(c, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, mr->o.handle))
		return 0;
	bf_uv_destroy(&mr->o, true);
	return -EFAULT;
}

/* What the region is to become; `*pd` gets its domain. */
static int wanted(struct bf_uv_call *c, const struct ib_uverbs_rereg_mr *cmd, const struct bf_uv_mr *mr,
		  struct bf_uv_mr *want, struct bf_uv_pd **pd)
{
	int err;

	*want = *mr;
	*pd = cmd->flags & REREG_PD ? bf_uv_get_object(c, UVERBS_OBJECT_PD, cmd->pd_handle) : mr->pd;
	if (!*pd)
		return -EINVAL;
	if (cmd->flags & REREG_TRANS) {
		want->address = cmd->start;
		want->length = cmd->length;
		want->iova = cmd->hca_va;
	}
	if (cmd->flags & REREG_ACCESS)
		want->access = cmd->access_flags;
	err = check_access(c->u, want->access);
	return err ? err : check_range(c, want);
}

/*
 * The key stays what it is (hw/mlx5/mr.c changes it in place by UMR). Here it goes and comes again; when there is no
 * memory for that, the region is left without one.
 */
static int replace_key(struct bf_uv_call *c, struct bf_uv_mr *want, const struct bf_uv_pd *pd)
{
	uint8_t variant = bf_mlx5_ib_of(c->u)->key_variant;
	int err = bf_mlx5_ib_simple(c->u, BF_MLX5_CMD_DESTROY_MKEY, want->key >> 8, NULL);

	if (err)
		return err;
	bf_mlx5_ib_of(c->u)->key_variant = (uint8_t)want->key;
	bf_mlx5_next_number(c->u->opts.device, BF_MLX5_OBJ_MKEY, want->key >> 8);
	err = make_key(c, want, pd, &want->key);
	if (err)
		want->key = 0;
	bf_mlx5_ib_of(c->u)->key_variant = variant;
	return err;
}

int bf_mlx5_ib_rereg_mr(struct bf_uv_call *c)
{
	struct ib_uverbs_rereg_mr_resp resp = { 0 };
	struct ib_uverbs_rereg_mr cmd;
	struct bf_uv_mr *mr, want;
	struct bf_uv_pd *pd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (!cmd.flags)
		return -EINVAL;
	if (cmd.flags & ~(REREG_TRANS | REREG_PD | REREG_ACCESS))
		return -EOPNOTSUPP;
	mr = bf_uv_get_object(c, UVERBS_OBJECT_MR, cmd.mr_handle);
	if (!mr || !mr->key)
		return -EINVAL;
	if (mr->dm)
		return -EOPNOTSUPP; /* hw/mlx5/mr.c mlx5_ib_rereg_user_mr(): it has no pages */
	err = wanted(c, &cmd, mr, &want, &pd);
	if (err)
		return err;
	err = replace_key(c, &want, pd);
	if (err) {
		mr->key = want.key;
		return err;
	}
	mr->pd->o.users--;
	pd->o.users++;
	want.pd = pd;
	*mr = want;
	bf_mlx5_ib_record_mr(c->u, mr);
	c->number = resp.lkey = resp.rkey = mr->key;
	return bf_uv_response(c, &resp, sizeof(resp));
}

int bf_mlx5_ib_mr_destroy(struct bf_uv_object *o, bool forced)
{
	struct bf_uv_mr *mr = (struct bf_uv_mr *)o;
	int err = mr->key ? bf_mlx5_ib_simple(o->file->u, BF_MLX5_CMD_DESTROY_MKEY, mr->key >> 8, NULL) : 0;

	if (err && !forced)
		return err;
	mr->pd->o.users--;
	if (mr->dm)
		mr->dm->o.users--;
	return err;
}

int bf_mlx5_ib_query_mr(struct bf_uv_call *c)
{
	const struct bf_uv_mr *mr = (struct bf_uv_mr *)bf_uv_attr_object(c, UVERBS_ATTR_QUERY_MR_HANDLE);

	if (bf_uv_attr_put(c, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &mr->key, sizeof(mr->key)) ||
	    bf_uv_attr_put(c, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &mr->key, sizeof(mr->key)) ||
	    bf_uv_attr_put(c, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &mr->length, sizeof(mr->length)))
		return -EFAULT;
	return bf_uv_attr_put(c, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &mr->iova, sizeof(mr->iova));
}
