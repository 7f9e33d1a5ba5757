/* The kernel's half by the ioctl ABI: what libmlx5 sends, and what it may get wrong. */
#include <check.h>

#include "tests/models/uverbs_program.h"

static bool empty(const struct bf_uverbs_counts *n)
{
	return !(n->pds | n->mrs | n->dms | n->xrcds | n->mws | n->cqs | n->qps | n->srqs | n->ahs | n->channels |
		 n->uars | n->umems | n->devx_objects | n->files | n->flows);
}

static void close_all(struct uv_rig *r)
{
	struct bf_uverbs_counts n;

	while (r->f) {
		bf_uverbs_close(r->f);
		r->f = NULL;
	}
	bf_uverbs_counts(r->u, &n);
	ck_assert(empty(&n));
	uv_rig_close(r);
}

/* libibverbs asks for a command without bytes, and believes in the ABI when the answer is about their number. */
START_TEST(probe_and_open)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_begin(&r, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	uv_in64(&r, UVERBS_ATTR_WRITE_CMD, 1);
	ck_assert_int_eq(uv_call(&r), -ENOSPC);
	ck_assert_int_eq(uv_context(&r, true), 0);
	memcpy(&resp, uv_answer(&r, UVERBS_ATTR_UHW_OUT), sizeof(resp));
	ck_assert_uint_eq(resp.response_length, 72);
	ck_assert_uint_eq(resp.tot_bfregs, 0);
	ck_assert_uint_eq(resp.bf_reg_size, 512);
	ck_assert_uint_eq(resp.cqe_version, 1);
	ck_assert_uint_eq(resp.num_ports, 1);
	ck_assert_uint_eq(uv_answer32(&r, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS), 4);
	ck_assert_uint_eq(uv_find(&r, UVERBS_ATTR_UHW_OUT)->flags & UVERBS_ATTR_F_VALID_OUTPUT, 2);
	ck_assert_int_eq(uv_context(&r, true), -EINVAL);
	close_all(&r);
}
END_TEST

static int header(struct uv_rig *r, struct uv_head h)
{
	memcpy(uv_host(r, r->request), &h, sizeof(h));
	return bf_uverbs_ioctl(r->f, RDMA_VERBS_IOCTL, r->request);
}

START_TEST(headers)
{
	struct uv_head h = { .length = 24, .object_id = UVERBS_OBJECT_PD, .driver_id = RDMA_DRIVER_MLX5 };
	struct bf_uverbs_counts n;
	struct uv_rig r;

	uv_rig_open(&r, false);
	ck_assert_int_eq(bf_uverbs_ioctl(r.f, 0x1234, r.request), -ENOTTY);
	ck_assert_int_eq(bf_uverbs_ioctl(r.f, RDMA_VERBS_IOCTL, 8), -EFAULT);
	ck_assert_int_eq(header(&r, h), -EINVAL); /* no handle */
	h.length = 25;
	ck_assert_int_eq(header(&r, h), -EINVAL);
	h.length = 24;
	h.reserved1 = 1;
	ck_assert_int_eq(header(&r, h), -EPROTONOSUPPORT);
	h.reserved1 = 0;
	h.driver_id = RDMA_DRIVER_MLX4;
	ck_assert_int_eq(header(&r, h), -EINVAL);
	h.driver_id = RDMA_DRIVER_MLX5;
	h.method_id = 77;
	ck_assert_int_eq(header(&r, h), -EPROTONOSUPPORT);
	h.object_id = 999;
	ck_assert_int_eq(header(&r, h), -EPROTONOSUPPORT);
	bf_uverbs_counts(r.u, &n);
	ck_assert_uint_eq(n.unknown, 2);
	close_all(&r);
}
END_TEST

/* Unknown attributes count when they are mandatory; none may come twice; spare room becomes zeros. */
START_TEST(attributes)
{
	const uint8_t *port;
	struct uv_rig r;

	uv_rig_open(&r, false);
	ck_assert_int_eq(uv_context(&r, false), 0);
	uv_begin(&r, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	uv_in64(&r, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
	uv_out(&r, UVERBS_ATTR_QUERY_PORT_RESP, 64);
	uv_in32(&r, 500, 1);
	ck_assert_int_eq(uv_call(&r), -EPROTONOSUPPORT);
	r.attr[2].flags = 0;
	ck_assert_int_eq(uv_call(&r), 0);
	port = uv_answer(&r, UVERBS_ATTR_QUERY_PORT_RESP);
	ck_assert_uint_eq(port[26], 4); /* active */
	ck_assert_uint_eq(port[37], 2); /* Ethernet */
	for (uint32_t i = 48; i < 64; i++)
		ck_assert_uint_eq(port[i], 0);
	r.attr[2] = r.attr[0];
	ck_assert_int_eq(uv_call(&r), -EINVAL);
	r.head.num_attrs = 1;
	ck_assert_int_eq(uv_call(&r), -EINVAL);
	r.head.num_attrs = 2;
	r.attr[0].data = 2;
	ck_assert_int_eq(uv_call(&r), -EINVAL);
	r.attr[0].data = 1;
	r.attr[0].attr_data.reserved = 1;
	ck_assert_int_eq(uv_call(&r), -EINVAL);
	r.attr[0].attr_data.reserved = 0;
	r.attr[1].data = 16;
	ck_assert_int_eq(uv_call(&r), -EFAULT);
	close_all(&r);
}
END_TEST

/* Open, connect by every GID, write, look at the bytes, close: the life of a program. */
START_TEST(traffic)
{
	struct ib_uverbs_destroy_cq_resp gone;
	uint32_t events;
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, (uint32_t)_i);
	memset(uv_host(&r, w.data), 0xa5, 4096);
	uv_post_write(&r, &w.qp[0], &w.uar, w.data, w.mr.lkey, w.data + 8192, w.mr.rkey, 4096);
	ck_assert_ptr_nonnull(uv_poll(&r, &w.scq));
	ck_assert_ptr_null(uv_poll(&r, &w.scq));
	ck_assert_mem_eq(uv_host(&r, w.data + 8192), uv_host(&r, w.data), 4096);
	ck_assert_int_eq(UV_DESTROY_QP(&r, w.qp[0].handle, &events), 0);
	ck_assert_int_eq(UV_DESTROY_QP(&r, w.qp[0].handle, &events), -ENOENT);
	ck_assert_int_eq(UV_DESTROY_QP(&r, w.qp[1].handle, &events), 0);
	ck_assert_int_eq(UV_DESTROY_CQ(&r, w.scq.handle, &gone), 0);
	ck_assert_int_eq(UV_DESTROY_CQ(&r, w.rcq.handle, &gone), 0);
	ck_assert_int_eq(UV_DESTROY_MR(&r, w.mr.handle), 0);
	ck_assert_int_eq(UV_DESTROY_PD(&r, w.pd.handle), 0);
	ck_assert_int_eq(UV_DESTROY_UAR(&r, w.uar.handle), 0);
	close_all(&r);
}
END_TEST

/* Only events that were read are to be acknowledged; the others are taken back. */
START_TEST(completion_events)
{
	struct ib_uverbs_destroy_cq_resp gone;
	uint64_t user = 0;
	uint32_t events;
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	uv_arm(&r, &w.scq, &w.uar, 0);
	ck_assert_uint_eq(uv_read(&r, w.channel, &user, 8), 0);
	uv_post_write(&r, &w.qp[0], &w.uar, w.data, w.mr.lkey, w.data + 8192, w.mr.rkey, 64);
	ck_assert_uint_eq(uv_read(&r, w.channel, &user, 8), 8);
	ck_assert_uint_eq(user, w.scq.user);
	/* One event an arming. */
	uv_post_write(&r, &w.qp[0], &w.uar, w.data, w.mr.lkey, w.data + 8192, w.mr.rkey, 64);
	ck_assert_uint_eq(uv_read(&r, w.channel, &user, 8), 0);
	/* What came since the consumer looked is an event at once. */
	ck_assert_ptr_nonnull(uv_poll(&r, &w.scq));
	uv_arm(&r, &w.scq, &w.uar, 1);
	ck_assert_uint_eq(r.fd[w.channel - UV_FIRST_FD].n, 1);
	UV_MUST(!UV_DESTROY_QP(&r, w.qp[0].handle, &events) && !UV_DESTROY_QP(&r, w.qp[1].handle, &events));
	ck_assert_int_eq(UV_DESTROY_CQ(&r, w.scq.handle, &gone), 0);
	ck_assert_uint_eq(gone.comp_events_reported, 1);
	ck_assert_uint_eq(gone.async_events_reported, 0);
	ck_assert_uint_eq(r.fd[w.channel - UV_FIRST_FD].n, 0);
	close_all(&r);
}
END_TEST

/* A responder whose key refuses tells its program; the requester gets the completion. */
START_TEST(asynchronous_events)
{
	struct ib_uverbs_async_event_desc event = { 0 };
	const struct bf_mlx5_err_cqe *e;
	uint32_t events;
	struct uv_world w;
	struct uv_rig r;
	bool seen = false;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 1);
	uv_post_write(&r, &w.qp[0], &w.uar, w.data, w.mr.lkey, w.data + 8192, w.mr.rkey + 1, 64);
	e = (const void *)uv_poll(&r, &w.scq);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->syndrome, BF_MLX5_SYND_REM_ACCESS);
	while (uv_read(&r, w.async, &event, sizeof(event)))
		seen = seen || (event.element == 0x901 && event.event_type == 3);
	ck_assert(seen); /* IBV_EVENT_QP_ACCESS_ERR */
	ck_assert_int_eq(UV_DESTROY_QP(&r, w.qp[1].handle, &events), 0);
	ck_assert_uint_ge(events, 1);
	close_all(&r);
}
END_TEST

START_TEST(busy_and_foreign)
{
	struct ib_uverbs_destroy_cq_resp gone;
	struct bf_uverbs_file *first, *second;
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	ck_assert_int_eq(UV_DESTROY_PD(&r, w.pd.handle), -EBUSY);
	ck_assert_int_eq(UV_DESTROY_CQ(&r, w.scq.handle, &gone), -EBUSY);
	ck_assert_int_eq(UV_DESTROY_UAR(&r, w.uar.handle), -EBUSY);
	ck_assert_int_eq(UV_DESTROY_PD(&r, w.scq.handle), -EINVAL); /* of another kind */
	ck_assert_int_eq(UV_DESTROY_PD(&r, 5000), -ENOENT);
	first = r.f;
	ck_assert_int_eq(bf_uverbs_open(r.u, &second), 0);
	r.f = second;
	ck_assert_int_eq(UV_DESTROY_PD(&r, w.pd.handle), -ENOENT); /* no context yet */
	ck_assert_int_eq(uv_context(&r, true), 0);
	ck_assert_int_eq(UV_DESTROY_PD(&r, w.pd.handle), -ENOENT);
	ck_assert_int_eq(bf_uverbs_mmap(r.f, 0, 4096, &w.uar.map), -EINVAL);
	bf_uverbs_close(second);
	r.f = first;
	close_all(&r);
}
END_TEST

/* Closing in whatever order things were made. */
START_TEST(close_with_everything_open)
{
	struct ib_uverbs_alloc_mw mw = { .mw_type = 2 };
	struct uv_cmd alloc = { IB_USER_VERBS_CMD_ALLOC_MW, &mw, sizeof(mw), 8, NULL, 0, 0 };
	uint32_t out[2];
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	mw.pd_handle = w.pd.handle;
	ck_assert_int_eq(uv_invoke(&r, &alloc, out, NULL), 0);
	ck_assert_uint_ne(out[1], 0);
	uv_post_write(&r, &w.qp[0], &w.uar, w.data, w.mr.lkey, w.data + 8192, w.mr.rkey, 4096);
	close_all(&r);
}
END_TEST

START_TEST(regions)
{
	struct ib_uverbs_rereg_mr re = { .flags = 4, .access_flags = 1 };
	struct uv_cmd rereg = { IB_USER_VERBS_CMD_REREG_MR, &re, sizeof(re), 8, NULL, 0, 0 };
	struct uv_mr mr, shifted;
	uint64_t iova = 0x123000;
	uint32_t keys[2];
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	ck_assert_int_eq(uv_reg(&r, w.pd.handle, w.data, 64, w.data + 1, 1, &mr), -EINVAL);
	ck_assert_int_eq(uv_reg(&r, w.pd.handle, w.data, 64, w.data, 2, &mr), -EINVAL); /* remote without local */
	ck_assert_int_eq(uv_reg(&r, w.pd.handle, w.data, 64, w.data + 4096, 64, &mr), -EOPNOTSUPP); /* on demand */
	ck_assert_int_eq(uv_reg(&r, w.pd.handle, w.data, 64, w.data, 1u << 31, &mr), -EINVAL);
	ck_assert_int_eq(uv_reg(&r, w.pd.handle, w.data, 64, w.data, 1u << 25, &mr), 0); /* optional, unknown */
	ck_assert_int_eq(uv_reg(&r, w.pd.handle, w.data, UV_MEM, w.data, 1, &mr), -EFAULT);
	ck_assert_int_eq(uv_reg(&r, w.pd.handle, w.data, UINT64_MAX - 4096, w.data, 1, &mr), -EINVAL);
	ck_assert_int_eq(uv_reg(&r, 4000, w.data, 64, w.data, 1, &mr), -EINVAL);
	/* Other addresses in requests than in the program. */
	ck_assert_int_eq(uv_reg(&r, w.pd.handle, w.data, UV_DATA, iova, UV_ALL_ACCESS, &shifted), 0);
	memset(uv_host(&r, w.data + 5000), 0x77, 300);
	uv_post_write(&r, &w.qp[0], &w.uar, iova + 5000, shifted.lkey, iova + 30000, shifted.rkey, 300);
	ck_assert_uint_eq(uv_poll(&r, &w.scq)->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_mem_eq(uv_host(&r, w.data + 30000), uv_host(&r, w.data + 5000), 300);
	/* The key stays, and refuses now. */
	re.mr_handle = shifted.handle;
	ck_assert_int_eq(uv_invoke(&r, &rereg, keys, NULL), 0);
	ck_assert_uint_eq(keys[0], shifted.lkey);
	uv_post_write(&r, &w.qp[0], &w.uar, iova + 5000, shifted.lkey, iova + 30000, shifted.rkey, 300);
	ck_assert_uint_eq(uv_poll(&r, &w.scq)->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	re.flags = 8;
	ck_assert_int_eq(uv_invoke(&r, &rereg, keys, NULL), -EOPNOTSUPP);
	re.flags = 0;
	ck_assert_int_eq(uv_invoke(&r, &rereg, keys, NULL), -EINVAL);
	close_all(&r);
}
END_TEST

/* Steps that the rules forbid, and what a query tells after each that they allow. */
START_TEST(states)
{
	struct ib_uverbs_query_qp q = { 0 };
	struct uv_cmd query = { IB_USER_VERBS_CMD_QUERY_QP, &q, sizeof(q), 128, NULL, 0, 0 };
	struct ib_uverbs_query_qp_resp got;
	struct ib_uverbs_modify_qp m;
	struct uv_qp_opts o;
	struct uv_world w;
	struct uv_qp qp;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	o = (struct uv_qp_opts){
		.pd = w.pd.handle, .send_cq = w.scq.handle, .recv_cq = w.rcq.handle, .page = w.uar.page
	};
	qp = uv_qp(&r, &o);
	q.qp_handle = qp.handle;
	m = uv_step(&qp, 3, w.qp[0].qpn, 3);
	ck_assert_int_eq(uv_modify(&r, &m), -EINVAL);
	m = uv_step(&qp, 1, 0, 3);
	m.attr_mask &= ~8u;
	ck_assert_int_eq(uv_modify(&r, &m), -EINVAL); /* access flags are missing */
	m.attr_mask |= 8 | 1u << 16;
	ck_assert_int_eq(uv_modify(&r, &m), -EINVAL); /* the PSN comes later */
	m = uv_step(&qp, 1, 0, 3);
	m.port_num = 2;
	ck_assert_int_eq(uv_modify(&r, &m), -EINVAL);
	for (uint32_t to = 1; to <= 3; to++) {
		m = uv_step(&qp, to, w.qp[0].qpn, 3);
		m.sq_psn = 0x1234;
		m.rq_psn = 0x4321;
		ck_assert_int_eq(uv_modify(&r, &m), 0);
		ck_assert_int_eq(uv_invoke(&r, &query, &got, NULL), 0);
		ck_assert_uint_eq(got.qp_state, to);
	}
	ck_assert_uint_eq(got.sq_psn, 0x1234);
	ck_assert_uint_eq(got.rq_psn, 0x4321);
	ck_assert_uint_eq(got.dest_qp_num, w.qp[0].qpn);
	ck_assert_uint_eq(got.qp_access_flags, UV_ALL_ACCESS & ~1u);
	ck_assert_uint_eq(got.timeout, 14);
	ck_assert_uint_eq(got.retry_cnt, 7);
	ck_assert_uint_eq(got.max_rd_atomic, 16);
	ck_assert_uint_eq(got.path_mtu, 5);
	ck_assert_uint_eq(got.dest.sgid_index, 3);
	ck_assert_uint_eq(got.max_send_wr, UV_SQ);
	m = uv_step(&qp, 6, 0, 3);
	ck_assert_int_eq(uv_modify(&r, &m), 0);
	m = uv_step(&qp, 0, 0, 3);
	ck_assert_int_eq(uv_modify(&r, &m), 0);
	ck_assert_int_eq(uv_invoke(&r, &query, &got, NULL), 0);
	ck_assert_uint_eq(got.qp_state, 0);
	uv_connect(&r, &qp, w.qp[0].qpn, 3);
	close_all(&r);
}
END_TEST

static int query_gid(struct uv_rig *r, uint32_t index)
{
	uv_begin(r, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);
	uv_in32(r, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1);
	uv_in32(r, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, index);
	uv_in32(r, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0);
	uv_out(r, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, 32);
	return uv_call(r);
}

/* A place of the table that nothing has taken is there; one behind its end is not. */
START_TEST(gid_table)
{
	struct ib_uverbs_query_port_resp_ex port;
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	uv_begin(&r, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	uv_in64(&r, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
	uv_out(&r, UVERBS_ATTR_QUERY_PORT_RESP, sizeof(port));
	ck_assert_int_eq(uv_call(&r), 0);
	memcpy(&port, uv_answer(&r, UVERBS_ATTR_QUERY_PORT_RESP), sizeof(port));
	ck_assert_int_eq(query_gid(&r, 3), 0);
	ck_assert_int_eq(query_gid(&r, 4), -ENODATA);
	ck_assert_int_eq(query_gid(&r, (uint32_t)port.legacy_resp.gid_tbl_len - 1), -ENODATA);
	ck_assert_int_eq(query_gid(&r, (uint32_t)port.legacy_resp.gid_tbl_len), -EINVAL);
	close_all(&r);
}
END_TEST

/* What a program needs to turn time stamps into the time of day. */
START_TEST(clock_info)
{
	const uint64_t at = (MLX5_IB_MMAP_CLOCK_INFO << 8 | MLX5_IB_CLOCK_INFO_V1) * 4096ull;
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct bf_uverbs_mapping map;
	struct mlx5_ib_clock_info info;
	struct uv_rig r;

	uv_rig_open(&r, false);
	ck_assert_int_eq(bf_uverbs_mmap(r.f, at, 4096, &map), -EINVAL); /* before there is a context */
	ck_assert_int_eq(uv_context(&r, true), 0);
	memcpy(&resp, uv_answer(&r, UVERBS_ATTR_UHW_OUT), sizeof(resp));
	ck_assert_uint_eq(resp.clock_info_versions, 1u << MLX5_IB_CLOCK_INFO_V1);
	ck_assert_int_eq(bf_uverbs_mmap(r.f, at, 4096, &map), 0);
	ck_assert_ptr_null(map.region);
	memcpy(&info, map.page, sizeof(info));
	ck_assert_uint_eq(info.sign & MLX5_IB_CLOCK_INFO_KERNEL_UPDATING, 0);
	/* rdma-core mlx5dv_ts_to_ns(), of a stamp 77 ns after the beginning. */
	ck_assert_uint_eq(info.nsec + ((((77 - info.cycles) & info.mask) * info.mult + info.frac) >> info.shift),
			  UV_EPOCH + 77);
	ck_assert_int_eq(bf_uverbs_mmap(r.f, at + 4096, 4096, &map), -EINVAL);
	close_all(&r);
}
END_TEST

/* A completion queue of entries of `size` bytes, with flags of the driver's part. */
static int make_cq(struct uv_rig *r, const struct uv_world *w, uint32_t size, uint32_t flags)
{
	struct mlx5_ib_create_cq *uhw;
	struct uv_cq cq;

	uv_cq_request(r, &cq, 7, 0, 0, w->uar.page, 0);
	uhw = uv_answer(r, UVERBS_ATTR_UHW_IN);
	uhw->cqe_size = size;
	uhw->flags |= (uint16_t)flags;
	return uv_call(r);
}

START_TEST(forms_of_completions)
{
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	ck_assert_int_eq(make_cq(&r, &w, 64, 0), 0);
	ck_assert_int_eq(make_cq(&r, &w, 128, 0), 0);
	ck_assert_int_eq(make_cq(&r, &w, 100, 0), -EINVAL);
	ck_assert_int_eq(make_cq(&r, &w, 128, MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD), 0);
	ck_assert_int_eq(make_cq(&r, &w, 64, MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD), -EINVAL);
	ck_assert_int_eq(make_cq(&r, &w, 64, 1u << 15), -EINVAL);
	close_all(&r);
}
END_TEST

START_TEST(refusals)
{
	static const struct {
		uint16_t object, method;
	} none[] = {
		{ UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_CREATE },
		{ UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE },
		{ MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC },
		{ MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC },
		{ MLX5_IB_OBJECT_STEERING_ANCHOR, MLX5_IB_METHOD_STEERING_ANCHOR_CREATE },
	};
	static const uint32_t flags[] = { IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK, IB_UVERBS_QP_CREATE_SCATTER_FCS,
					  IB_UVERBS_QP_CREATE_CVLAN_STRIPPING };
	struct ib_uverbs_open_xrcd xrcd = { 0 };
	struct uv_cmd open_xrcd = { IB_USER_VERBS_CMD_OPEN_XRCD, &xrcd, sizeof(xrcd), 4, NULL, 0, 0 };
	struct uv_qp_opts o;
	struct uv_world w;
	struct uv_qp qp;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	for (size_t i = 0; i < BF_ARRAY_LEN(none); i++) {
		uv_begin(&r, none[i].object, none[i].method);
		r.head.num_attrs = 0;
		ck_assert_int_eq(uv_call(&r), -EOPNOTSUPP);
	}
	o = (struct uv_qp_opts){ .pd = w.pd.handle,
				 .send_cq = w.scq.handle,
				 .recv_cq = w.rcq.handle,
				 .page = w.uar.page,
				 .type = IB_UVERBS_QPT_UD };
	for (size_t i = 0; i < BF_ARRAY_LEN(flags); i++) {
		uv_qp_request(&r, &qp, &o);
		uv_in32(&r, UVERBS_ATTR_CREATE_QP_FLAGS, flags[i]);
		ck_assert_int_eq(uv_call(&r), i ? -EOPNOTSUPP : 0);
	}
	ck_assert_int_eq(uv_invoke(&r, &open_xrcd, NULL, NULL), -EBADF); /* this rig has no files to name domains by */
	close_all(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("uverbs");
	TCase *t = tcase_create("ioctl");

	tcase_add_test(t, probe_and_open);
	tcase_add_test(t, headers);
	tcase_add_test(t, attributes);
	tcase_add_loop_test(t, traffic, 0, 4);
	tcase_add_test(t, completion_events);
	tcase_add_test(t, asynchronous_events);
	tcase_add_test(t, busy_and_foreign);
	tcase_add_test(t, close_with_everything_open);
	tcase_add_test(t, regions);
	tcase_add_test(t, states);
	tcase_add_test(t, gid_table);
	tcase_add_test(t, clock_info);
	tcase_add_test(t, forms_of_completions);
	tcase_add_test(t, refusals);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
