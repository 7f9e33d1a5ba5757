/* Methods and commands that destroy, whatever the device: what they answer is what the object knew of its events. */
#include "models/uverbs/uverbs_internal.h"

int bf_uv_dealloc_pd(struct bf_uv_call *c)
{
	struct ib_uverbs_dealloc_pd cmd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	return err ? err : bf_uv_destroy_handle(c, UVERBS_OBJECT_PD, cmd.pd_handle);
}

int bf_uv_close_xrcd(struct bf_uv_call *c)
{
	struct ib_uverbs_close_xrcd cmd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	return err ? err : bf_uv_destroy_handle(c, UVERBS_OBJECT_XRCD, cmd.xrcd_handle);
}

int bf_uv_destroy_flow(struct bf_uv_call *c)
{
	struct ib_uverbs_destroy_flow cmd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	return cmd.comp_mask ? -EINVAL : bf_uv_destroy_handle(c, UVERBS_OBJECT_FLOW, cmd.flow_handle);
}

int bf_uv_destroy_wq(struct bf_uv_call *c)
{
	struct ib_uverbs_ex_destroy_wq_resp resp = { .response_length = sizeof(resp) };
	struct ib_uverbs_ex_destroy_wq cmd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (!err)
		err = cmd.comp_mask ? -EOPNOTSUPP : bf_uv_destroy_handle(c, UVERBS_OBJECT_WQ, cmd.wq_handle);
	resp.events_reported = c->f->async_read;
	return err ? err : bf_uv_response(c, &resp, sizeof(resp));
}

int bf_uv_destroy_rwq_ind_table(struct bf_uv_call *c)
{
	struct ib_uverbs_ex_destroy_rwq_ind_table cmd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	return cmd.comp_mask ? -EOPNOTSUPP : bf_uv_destroy_handle(c, UVERBS_OBJECT_RWQ_IND_TBL, cmd.ind_tbl_handle);
}

int bf_uv_destroy_ah(struct bf_uv_call *c)
{
	struct ib_uverbs_destroy_ah cmd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	return err ? err : bf_uv_destroy_handle(c, UVERBS_OBJECT_AH, cmd.ah_handle);
}

int bf_uv_dereg_mr(struct bf_uv_call *c)
{
	struct ib_uverbs_dereg_mr cmd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	return err ? err : bf_uv_destroy_handle(c, UVERBS_OBJECT_MR, cmd.mr_handle);
}

int bf_uv_dealloc_mw(struct bf_uv_call *c)
{
	struct ib_uverbs_dealloc_mw cmd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	return err ? err : bf_uv_destroy_handle(c, UVERBS_OBJECT_MW, cmd.mw_handle);
}

static int destroy_cq(struct bf_uv_call *c, struct bf_uv_object *o, struct ib_uverbs_destroy_cq_resp *resp)
{
	int err;

	c->number = ((struct bf_uv_cq *)o)->cqn;
	err = bf_uv_destroy(o, false);
	resp->comp_events_reported = c->f->comp_read;
	resp->async_events_reported = c->f->async_read;
	return err;
}

/* Destroys, and tells how many events of it the program has read. */
int bf_uv_destroy_cq(struct bf_uv_call *c)
{
	struct ib_uverbs_destroy_cq_resp resp;
	int err = destroy_cq(c, bf_uv_attr_object(c, UVERBS_ATTR_DESTROY_CQ_HANDLE), &resp);

	return err ? err : bf_uv_attr_put(c, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
}

int bf_uv_destroy_cq_write(struct bf_uv_call *c)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct ib_uverbs_destroy_cq cmd;
	struct bf_uv_object *o;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (!err)
		err = bf_uv_lookup(c->f, UVERBS_OBJECT_CQ, cmd.cq_handle, &o);
	c->handle = cmd.cq_handle;
	if (!err)
		err = destroy_cq(c, o, &resp);
	return err ? err : bf_uv_response(c, &resp, sizeof(resp));
}

static int destroy_qp(struct bf_uv_call *c, struct bf_uv_object *o, struct ib_uverbs_destroy_qp_resp *resp)
{
	int err;

	c->number = ((struct bf_uv_qp *)o)->qpn;
	err = bf_uv_destroy(o, false);
	resp->events_reported = c->f->async_read;
	return err;
}

int bf_uv_destroy_qp(struct bf_uv_call *c)
{
	struct ib_uverbs_destroy_qp_resp resp;
	int err = destroy_qp(c, bf_uv_attr_object(c, UVERBS_ATTR_DESTROY_QP_HANDLE), &resp);

	return err ? err : bf_uv_attr_put(c, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
}

int bf_uv_destroy_qp_write(struct bf_uv_call *c)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct ib_uverbs_destroy_qp cmd;
	struct bf_uv_object *o;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (!err)
		err = bf_uv_lookup(c->f, UVERBS_OBJECT_QP, cmd.qp_handle, &o);
	c->handle = cmd.qp_handle;
	if (!err)
		err = destroy_qp(c, o, &resp);
	return err ? err : bf_uv_response(c, &resp, sizeof(resp));
}

static int destroy_srq(struct bf_uv_call *c, struct bf_uv_object *o, struct ib_uverbs_destroy_srq_resp *resp)
{
	int err;

	c->number = ((struct bf_uv_srq *)o)->srqn;
	err = bf_uv_destroy(o, false);
	resp->events_reported = c->f->async_read;
	return err;
}

int bf_uv_destroy_srq(struct bf_uv_call *c)
{
	struct ib_uverbs_destroy_srq_resp resp;
	int err = destroy_srq(c, bf_uv_attr_object(c, UVERBS_ATTR_DESTROY_SRQ_HANDLE), &resp);

	return err ? err : bf_uv_attr_put(c, UVERBS_ATTR_DESTROY_SRQ_RESP, &resp, sizeof(resp));
}

int bf_uv_destroy_srq_write(struct bf_uv_call *c)
{
	struct ib_uverbs_destroy_srq_resp resp;
	struct ib_uverbs_destroy_srq cmd;
	struct bf_uv_object *o;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (!err)
		err = bf_uv_lookup(c->f, UVERBS_OBJECT_SRQ, cmd.srq_handle, &o);
	c->handle = cmd.srq_handle;
	if (!err)
		err = destroy_srq(c, o, &resp);
	return err ? err : bf_uv_response(c, &resp, sizeof(resp));
}
