/* Completion queues: rings of the program, told to the device by address. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include "sim/bits.h"

#define CQ_FLAGS (IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)
#define UHW_MIN offsetof(struct mlx5_ib_create_cq, flags)
#define CQ_MODERATE 1u /* IB_CQ_MODERATE */
#define MAX_PERIOD 0xfffu

struct cq_args {
	struct bf_uv_channel *channel, *async;
	uint64_t user_handle;
	uint32_t cqe, vector, flags;
};

/* The program wants room for `cqe` entries; a ring has one more than it holds (hw/mlx5/cq.c). */
static int ring_size(uint32_t cqe, uint32_t *log)
{
	if (cqe > 1u << BF_MLX5_IB_LOG_MAX_CQ_SZ)
		return -EINVAL;
	*log = bf_log2_up(cqe + 1);
	return *log > BF_MLX5_IB_LOG_MAX_CQ_SZ ? -EINVAL : 0;
}

/* CQC.cqe_sz; only entries of 128 bytes can be padded. */
static int cqe_size_code(uint32_t size, bool pad)
{
	if (size == 64)
		return pad ? -EINVAL : 0;
	return size != 128 ? -EINVAL : pad ? 2 : 1;
}

static bool pads(const struct mlx5_ib_create_cq *ucmd)
{
	return ucmd->flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD;
}

/* The UAR page whose register arms this queue. */
static int64_t uar_of(const struct bf_uverbs_file *f, const struct mlx5_ib_create_cq *ucmd)
{
	if (ucmd->flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX)
		return ucmd->uar_page_index;
	return bf_mlx5_ib_file_of(f)->static_uars ? (int64_t)bf_mlx5_ib_file_of(f)->uar[0] : -EINVAL;
}

static int take_uhw(struct bf_uv_call *c, struct mlx5_ib_create_cq *ucmd)
{
	const uint32_t known = MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD | MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX |
			       MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS;

	if (c->uhw_in.len < UHW_MIN)
		return -EINVAL;
	if (bf_uv_get(c, &c->uhw_in, ucmd, sizeof(*ucmd)))
		return -EFAULT;
	if (ucmd->flags & ~known || cqe_size_code(ucmd->cqe_size, pads(ucmd)) < 0)
		return -EINVAL;
	/* No wall clock in entries; compressed ones in two of the three formats. */
	if (ucmd->flags & MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS || (ucmd->cqe_comp_en && pads(ucmd)) ||
	    (ucmd->cqe_comp_en && ucmd->cqe_comp_res_format == MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX))
		return -EOPNOTSUPP;
	if (ucmd->cqe_comp_en > 1 || (ucmd->cqe_comp_en && ucmd->cqe_comp_res_format != MLX5_IB_CQE_RES_FORMAT_HASH &&
				      ucmd->cqe_comp_res_format != MLX5_IB_CQE_RES_FORMAT_CSUM))
		return -EINVAL;
	return 0;
}

static int command(struct bf_uv_call *c, const struct cq_args *a, const struct mlx5_ib_create_cq *ucmd, uint32_t log,
		   uint32_t *cqn)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 }, out[16], *cqc = in + BF_CREATE_CQ_CQC;
	int64_t uar = uar_of(c->f, ucmd);
	int err;

	if (uar < 0)
		return (int)uar;
	BF_MLX5_SET(cqc, BF_CQC_CQE_SZ, (uint32_t)cqe_size_code(ucmd->cqe_size, pads(ucmd)));
	BF_MLX5_SET(cqc, BF_CQC_COMP_EN, ucmd->cqe_comp_en);
	if (ucmd->cqe_comp_en)
		BF_MLX5_SET(cqc, BF_CQC_MINI_FORMAT,
			    ucmd->cqe_comp_res_format == MLX5_IB_CQE_RES_FORMAT_HASH ? BF_MLX5_MINI_HASH
										     : BF_MLX5_MINI_CHECKSUM);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, log);
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, (uint32_t)uar);
	BF_MLX5_SET(cqc, BF_CQC_EQN, bf_mlx5_ib_of(c->u)->eq[1 + a->vector].eqn);
	BF_MLX5_SET(cqc, BF_CQC_OI, !!(a->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN));
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, ucmd->db_addr);
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, ucmd->buf_addr);
	err = bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_CREATE_CQ, in, sizeof(in), out, sizeof(out));
	if (!err)
		*cqn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return err;
}

static int pin_ring(struct bf_uv_call *c, uint64_t buf, uint64_t len, uint64_t dbr)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;

	if (buf + len < buf || dbr + BF_MLX5_DBR_BYTES < dbr)
		return -EFAULT;
	return h->pin(h->arg, buf, len, true) || h->pin(h->arg, dbr, BF_MLX5_DBR_BYTES, true) ? -EFAULT : 0;
}

static void know(struct bf_uverbs *u, struct bf_uv_cq *cq)
{
	cq->next_by_number = bf_mlx5_ib_of(u)->cqs[cq->cqn % BF_MLX5_IB_BUCKETS];
	bf_mlx5_ib_of(u)->cqs[cq->cqn % BF_MLX5_IB_BUCKETS] = cq;
}

static void unknow(struct bf_uverbs *u, struct bf_uv_cq *cq)
{
	struct bf_uv_cq **at = &bf_mlx5_ib_of(u)->cqs[cq->cqn % BF_MLX5_IB_BUCKETS];

	while (*at != cq)
		at = &(*at)->next_by_number;
	*at = cq->next_by_number;
}

static int create(struct bf_uv_call *c, const struct cq_args *a, struct bf_uv_cq **out)
{
	struct mlx5_ib_create_cq_resp resp = { 0 };
	struct mlx5_ib_create_cq ucmd;
	struct bf_uv_cq *cq;
	uint32_t log;
	int err;

	if (a->vector >= BF_UV_VECTORS)
		return -EINVAL;
	if (a->flags & ~(uint32_t)CQ_FLAGS)
		return -EOPNOTSUPP;
	err = ring_size(a->cqe, &log);
	if (!err)
		err = take_uhw(c, &ucmd);
	if (!err)
		err = pin_ring(c, ucmd.buf_addr, (uint64_t)ucmd.cqe_size << log, ucmd.db_addr);
	if (err)
		return err;
	cq = bf_uv_new(c, UVERBS_OBJECT_CQ, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	err = command(c, a, &ucmd, log, &cq->cqn);
	if (err) {
		bf_uv_free(&cq->o);
		return err;
	}
	cq->cqe = (1u << log) - 1;
	cq->large = ucmd.cqe_size == 128;
	cq->pad = pads(&ucmd);
	cq->dbr = ucmd.db_addr;
	bf_uv_events_start(&cq->comp, a->channel, a->user_handle);
	bf_uv_events_start(&cq->async, a->async ? a->async : c->f->async, a->user_handle);
	know(c->u, cq);
	c->number = resp.cqn = cq->cqn;
	err = bf_uv_put(c, &c->uhw_out, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&cq->o, true);
	*out = cq;
	return err;
}

int bf_mlx5_ib_create_cq(struct bf_uv_call *c)
{
	struct cq_args a = { 0 };
	struct bf_uv_cq *cq;
	int err;

	if (bf_uv_attr_get(c, UVERBS_ATTR_CREATE_CQ_CQE, &a.cqe, sizeof(a.cqe)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &a.vector, sizeof(a.vector)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &a.user_handle, sizeof(a.user_handle)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_CREATE_CQ_FLAGS, &a.flags, sizeof(a.flags)))
		return -EFAULT;
	a.channel = (struct bf_uv_channel *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
	a.async = (struct bf_uv_channel *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_CQ_EVENT_FD);
	err = create(c, &a, &cq);
	if (err)
		return err;
	if (bf_uv_attr_put(c, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cq->cqe, sizeof(cq->cqe)) ||
	    bf_uv_attr_handle(c, UVERBS_ATTR_CREATE_CQ_HANDLE, cq->o.handle)) {
		bf_uv_destroy(&cq->o, true);
		return -EFAULT;
	}
	return 0;
}

/* Both commands; `channel` is a descriptor or negative. */
static int create_by_command(struct bf_uv_call *c, struct cq_args *a, int32_t channel, struct bf_uv_cq **cq)
{
	if (channel >= 0) {
		a->channel = bf_uv_channel_find(c->f, UVERBS_OBJECT_COMP_CHANNEL, channel);
		if (!a->channel)
			return -EBADF;
	}
	return create(c, a, cq);
}

int bf_mlx5_ib_create_cq_write(struct bf_uv_call *c)
{
	struct ib_uverbs_create_cq_resp resp = { 0 };
	struct ib_uverbs_create_cq cmd;
	struct cq_args a = { 0 };
	struct bf_uv_cq *cq;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	a.user_handle = cmd.user_handle;
	a.cqe = cmd.cqe;
	a.vector = cmd.comp_vector;
	err = create_by_command(c, &a, cmd.comp_channel, &cq);
	if (err)
		return err;
	resp.cq_handle = cq->o.handle;
	resp.cqe = cq->cqe;
	err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&cq->o, true);
	return err;
}

int bf_mlx5_ib_create_cq_ex(struct bf_uv_call *c)
{
	struct ib_uverbs_ex_create_cq_resp resp = { 0 };
	struct ib_uverbs_ex_create_cq cmd;
	struct cq_args a = { 0 };
	struct bf_uv_cq *cq;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (cmd.comp_mask || cmd.reserved)
		return -EINVAL;
	a.user_handle = cmd.user_handle;
	a.cqe = cmd.cqe;
	a.vector = cmd.comp_vector;
	a.flags = cmd.flags;
	err = create_by_command(c, &a, cmd.comp_channel, &cq);
	if (err)
		return err;
	resp.base.cq_handle = cq->o.handle;
	resp.base.cqe = cq->cqe;
	resp.response_length = c->core_out.len < sizeof(resp) ? c->core_out.len : sizeof(resp);
	err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&cq->o, true);
	return err;
}

/*
 * The firmware refuses a ring that is too small for what is in the old one. It would read the consumer's record to
 * know; the model does not, so that is done here.
 */
static int check_fits(struct bf_uv_call *c, const struct bf_uv_cq *cq, uint32_t entries)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;
	uint8_t in[16] = { 0 }, out[16 + BF_CQC_LEN], record[4];
	int err;

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, cq->cqn);
	err = bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_QUERY_CQ, in, sizeof(in), out, sizeof(out));
	if (!err)
		err = h->copy_in(h->arg, record, cq->dbr, sizeof(record));
	if (err)
		return err;
	return ((BF_MLX5_GET(out + 16, BF_CQC_PRODUCER) - bf_get_be32(record)) & 0xffffff) > entries ? -EINVAL : 0;
}

/* The device moves to the new ring and says where by an entry of its own; libmlx5 copies what is left of the old. */
int bf_mlx5_ib_resize_cq(struct bf_uv_call *c)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 }, out[16], *cqc = in + BF_CREATE_CQ_CQC;
	struct ib_uverbs_resize_cq_resp resp = { 0 };
	struct ib_uverbs_resize_cq cmd;
	struct mlx5_ib_resize_cq ucmd;
	struct bf_uv_cq *cq;
	uint32_t log;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	cq = bf_uv_get_object(c, UVERBS_OBJECT_CQ, cmd.cq_handle);
	if (!cq || !cmd.cqe || ring_size(cmd.cqe, &log))
		return -EINVAL;
	resp.cqe = (1u << log) - 1;
	c->number = cq->cqn;
	if (resp.cqe == cq->cqe)
		return bf_uv_response(c, &resp, sizeof(resp));
	if (bf_uv_get(c, &c->uhw_in, &ucmd, sizeof(ucmd)))
		return -EFAULT;
	if (ucmd.reserved0 || ucmd.reserved1 || cqe_size_code(ucmd.cqe_size, cq->pad) < 0)
		return -EINVAL;
	if (pin_ring(c, ucmd.buf_addr, (uint64_t)ucmd.cqe_size << log, ucmd.buf_addr))
		return -EFAULT;
	err = check_fits(c, cq, 1u << log);
	if (err)
		return err;
	BF_MLX5_SET(in, BF_CMD_OP_MOD, BF_MODIFY_CQ_RESIZE);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, cq->cqn);
	BF_MLX5_SET(in, BF_MODIFY_CQ_SELECT, BF_MODIFY_CQ_LOG_SIZE);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, log);
	BF_MLX5_SET(cqc, BF_CQC_CQE_SZ, (uint32_t)cqe_size_code(ucmd.cqe_size, cq->pad));
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, ucmd.buf_addr);
	err = bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_MODIFY_CQ, in, sizeof(in), out, sizeof(out));
	if (err)
		return err;
	cq->cqe = resp.cqe;
	cq->large = ucmd.cqe_size == 128;
	return bf_uv_response(c, &resp, sizeof(resp));
}

/* Moderation: how many completions, and for how long, an event may wait. */
int bf_mlx5_ib_modify_cq(struct bf_uv_call *c)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 }, out[16], *cqc = in + BF_CREATE_CQ_CQC;
	struct ib_uverbs_ex_modify_cq cmd;
	struct bf_uv_cq *cq;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (!cmd.attr_mask || cmd.reserved)
		return -EINVAL;
	if (cmd.attr_mask > CQ_MODERATE)
		return -EOPNOTSUPP;
	cq = bf_uv_get_object(c, UVERBS_OBJECT_CQ, cmd.cq_handle);
	if (!cq || cmd.attr.cq_period > MAX_PERIOD)
		return -EINVAL;
	c->number = cq->cqn;
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, cq->cqn);
	BF_MLX5_SET(in, BF_MODIFY_CQ_SELECT, BF_MODIFY_CQ_PERIOD | BF_MODIFY_CQ_COUNT);
	BF_MLX5_SET(cqc, BF_CQC_PERIOD, cmd.attr.cq_period);
	BF_MLX5_SET(cqc, BF_CQC_MAX_COUNT, cmd.attr.cq_count);
	return bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_MODIFY_CQ, in, sizeof(in), out, sizeof(out));
}

int bf_mlx5_ib_cq_destroy(struct bf_uv_object *o, bool forced)
{
	struct bf_uv_cq *cq = (struct bf_uv_cq *)o;
	int err = bf_mlx5_ib_simple(o->file->u, BF_MLX5_CMD_DESTROY_CQ, cq->cqn, NULL);

	if (err && !forced)
		return err;
	unknow(o->file->u, cq);
	bf_mlx5_ib_unsubscribe_object(o);
	o->file->comp_read = bf_uv_events_end(o->file, &cq->comp);
	o->file->async_read = bf_uv_events_end(o->file, &cq->async);
	return err;
}
