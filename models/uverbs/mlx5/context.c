/*
 * A program's context: what mlx5_ib_alloc_ucontext() (Linux drivers/infiniband/hw/mlx5/main.c) makes of the file. Later
 * libmlx5 takes UAR pages as it needs them; where the ioctl ABI is refused, all are given out here.
 */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#define REQ_V1 offsetof(struct mlx5_ib_alloc_ucontext_req_v2, flags)
#define REQ_V2 offsetof(struct mlx5_ib_alloc_ucontext_req_v2, max_cqe_version)
#define CACHE_LINE 64u
#define MAX_DYN_BFREGS 512u
#define MAX_BFREGS 512u
#define LOG_UAR_SIZE 12u
#define MAX_SQ_DESC 1024u
#define MAX_RQ_DESC 512u

static int take_request(struct bf_uv_call *c, struct mlx5_ib_alloc_ucontext_req_v2 *req)
{
	int err;

	if (c->uhw_in.len != REQ_V1 && c->uhw_in.len < REQ_V2)
		return -EINVAL;
	err = bf_uv_get_strict(c, &c->uhw_in, req, sizeof(*req));
	if (err)
		return err;
	if (req->flags & ~(uint32_t)MLX5_IB_ALLOC_UCTX_DEVX)
		return -EINVAL;
	if (req->comp_mask || req->reserved0 || req->reserved1 || req->reserved2)
		return -EOPNOTSUPP;
	if (!req->total_num_bfregs || req->total_num_bfregs > MAX_BFREGS)
		return req->total_num_bfregs ? -ENOMEM : -EINVAL;
	req->total_num_bfregs = (req->total_num_bfregs + BF_MLX5_IB_KERNEL_REGS - 1) & ~(BF_MLX5_IB_KERNEL_REGS - 1);
	return req->num_low_latency_bfregs > req->total_num_bfregs - 1 ? -EINVAL : 0;
}

static void fill_answer(struct bf_uverbs_file *f, const struct mlx5_ib_alloc_ucontext_req_v2 *req,
			struct mlx5_ib_alloc_ucontext_resp *resp, uint32_t room)
{
	uint8_t cap[BF_HCA_CAP_LEN];

	bf_mlx5_ib_caps(f->u, BF_HCA_CAP_GENERAL, cap);
	*resp = (struct mlx5_ib_alloc_ucontext_resp){
		.qp_tab_size = 1u << BF_MLX5_GET(cap, BF_CAP_LOG_MAX_QP),
		.bf_reg_size = f->u->opts.blueflame ? BF_MLX5_BF_REG : 0,
		.tot_bfregs = bf_mlx5_ib_file_of(f)->dynamic ? 0 : req->total_num_bfregs,
		.cache_line_size = CACHE_LINE,
		.max_sq_desc_sz = MAX_SQ_DESC,
		.max_rq_desc_sz = MAX_RQ_DESC,
		.max_send_wqebb = 1u << BF_MLX5_IB_LOG_MAX_QP_SZ,
		.max_recv_wr = 1u << BF_MLX5_IB_LOG_MAX_QP_SZ,
		.max_srq_recv_wr = BF_MLX5_IB_MAX_SRQ_WR,
		.num_ports = (uint16_t)BF_MLX5_GET(cap, BF_CAP_NUM_PORTS),
		.response_length = room < sizeof(*resp) ? room : sizeof(*resp),
		.cqe_version = (uint8_t)(req->max_cqe_version < 1 ? req->max_cqe_version : 1),
		.cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
		.eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
		.log_uar_size = LOG_UAR_SIZE,
		.num_uars_per_page = 1,
		.num_dyn_bfregs = MAX_DYN_BFREGS,
		.clock_info_versions = 1u << MLX5_IB_CLOCK_INFO_V1,
	};
}

static int make(struct bf_uv_call *c)
{
	struct bf_uverbs_file *f = c->f;
	struct mlx5_ib_alloc_ucontext_req_v2 req;
	struct mlx5_ib_alloc_ucontext_resp resp;
	int err;

	if (f->context)
		return -EINVAL;
	err = take_request(c, &req);
	if (err)
		return err;
	bf_mlx5_ib_file_of(f)->dynamic = (req.lib_caps & MLX5_LIB_CAP_DYN_UAR) && !f->u->opts.no_ioctl;
	bf_mlx5_ib_file_of(f)->cqe_version = req.max_cqe_version >= 1;
	if (!bf_mlx5_ib_file_of(f)->dynamic)
		err = bf_mlx5_ib_static_uars(f, req.total_num_bfregs);
	if (err)
		return err;
	fill_answer(f, &req, &resp, c->uhw_out.len);
	err = bf_uv_put(c, &c->uhw_out, &resp, sizeof(resp));
	if (err) {
		bf_mlx5_ib_static_uars_free(f);
		return err;
	}
	bf_mlx5_ib_file_of(f)->devx = req.flags & MLX5_IB_ALLOC_UCTX_DEVX;
	f->context = true;
	bf_mlx5_ib_file_of(f)->answer = resp;
	return 0;
}

int bf_mlx5_ib_get_context(struct bf_uv_call *c)
{
	uint64_t support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	uint32_t vectors = BF_UV_VECTORS;
	int err = bf_uv_attr_put(c, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));

	if (!err)
		err = bf_uv_attr_put(c, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &support, sizeof(support));
	return err ? err : make(c);
}

/* The older command makes the channel of asynchronous events, too. */
int bf_mlx5_ib_get_context_write(struct bf_uv_call *c)
{
	struct ib_uverbs_get_context_resp resp = { .num_comp_vectors = BF_UV_VECTORS };
	struct ib_uverbs_get_context cmd;
	struct bf_uv_channel *ch;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (c->f->context)
		return -EINVAL;
	ch = bf_uv_channel_new(c, UVERBS_OBJECT_ASYNC_EVENT, &err);
	if (!ch)
		return err;
	resp.async_fd = (uint32_t)ch->fd;
	err = bf_uv_response(c, &resp, sizeof(resp));
	if (!err)
		err = make(c);
	if (err) {
		bf_uv_channel_destroy(ch);
		return err;
	}
	c->f->async = ch;
	return 0;
}

/* For a program that got the descriptor of a context (ibv_import_device(3)). */
int bf_mlx5_ib_query_context(struct bf_uv_call *c)
{
	uint64_t support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	uint32_t vectors = BF_UV_VECTORS;
	int err;

	if (!c->f->context)
		return -EINVAL;
	err = bf_uv_attr_put(c, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	if (!err)
		err = bf_uv_attr_put(c, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, &support, sizeof(support));
	return err ? err
		   : bf_uv_attr_put(c, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &bf_mlx5_ib_file_of(c->f)->answer,
				    sizeof(bf_mlx5_ib_file_of(c->f)->answer));
}

void bf_mlx5_ib_context_close(struct bf_uverbs_file *f)
{
	bf_mlx5_ib_domain_close(f);
	bf_mlx5_ib_static_uars_free(f);
}
