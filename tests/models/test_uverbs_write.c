/* The kernel's half by write(2), and both ABIs cut short at every length. */
#include <check.h>

#include "tests/models/uverbs_program.h"

#define EXTENDED IB_USER_VERBS_CMD_FLAG_EXTENDED

struct objects {
	uint32_t pd, mr, cq, qp, key;
};

static void context_by_write(struct uv_rig *r, struct mlx5_ib_alloc_ucontext_resp *resp)
{
	struct mlx5_ib_alloc_ucontext_req_v2 uhw = { .total_num_bfregs = 16,
						     .num_low_latency_bfregs = 4,
						     .max_cqe_version = 1,
						     .lib_caps = MLX5_LIB_CAP_DYN_UAR };
	struct ib_uverbs_get_context in = { 0 };
	struct uv_cmd c = { IB_USER_VERBS_CMD_GET_CONTEXT, &in, sizeof(in), 8, &uhw, sizeof(uhw), sizeof(*resp) };
	uint32_t core[2];

	ck_assert_int_eq(uv_write(r, &c, core, resp), 0);
	ck_assert_uint_eq(core[1], 4);
	ck_assert_int_ge((int)core[0], UV_FIRST_FD);
}

/* Objects of each kind, by commands alone; `commands` gets those that made them. */
static void make_objects(struct uv_rig *r, struct objects *o)
{
	struct ib_uverbs_alloc_pd pd = { 0 };
	struct uv_cmd c = { IB_USER_VERBS_CMD_ALLOC_PD, &pd, sizeof(pd), 4, NULL, 0, 4 };
	struct ib_uverbs_reg_mr mr = { .start = r->request, .length = 4096, .hca_va = r->request, .access_flags = 1 };
	struct ib_uverbs_create_cq cq = { .cqe = 15, .comp_channel = -1, .user_handle = 7 };
	struct mlx5_ib_create_cq cq_uhw = { .cqe_size = 64 };
	struct ib_uverbs_create_qp qp = { .max_send_wr = 16, .max_recv_wr = 8, .qp_type = 2 };
	struct mlx5_ib_create_qp qp_uhw = { .sq_wqe_count = 16, .rq_wqe_count = 8, .rq_wqe_shift = 5, .uidx = 1 };
	struct mlx5_ib_create_qp_resp qp_out;
	uint32_t out[16], uhw[4];

	ck_assert_int_eq(uv_write(r, &c, &o->pd, uhw), 0);
	mr.pd_handle = qp.pd_handle = o->pd;
	c = (struct uv_cmd){ IB_USER_VERBS_CMD_REG_MR, &mr, sizeof(mr), 12, NULL, 0, 0 };
	ck_assert_int_eq(uv_write(r, &c, out, NULL), 0);
	o->mr = out[0];
	o->key = out[1];
	cq_uhw.buf_addr = uv_alloc(r, 4096);
	cq_uhw.db_addr = uv_alloc(r, 8);
	c = (struct uv_cmd){ IB_USER_VERBS_CMD_CREATE_CQ, &cq, sizeof(cq), 8, &cq_uhw, sizeof(cq_uhw), 8 };
	ck_assert_int_eq(uv_write(r, &c, out, uhw), 0);
	ck_assert_uint_eq(out[1], 15);
	o->cq = qp.send_cq_handle = qp.recv_cq_handle = out[0];
	qp_uhw.buf_addr = uv_alloc(r, 4096);
	qp_uhw.db_addr = uv_alloc(r, 8);
	c = (struct uv_cmd){ IB_USER_VERBS_CMD_CREATE_QP, &qp, sizeof(qp), 32, &qp_uhw, sizeof(qp_uhw), 40 };
	ck_assert_int_eq(uv_write(r, &c, out, &qp_out), 0);
	o->qp = out[0];
	/* The first register is for all, so the first to be dealt is the second of page 0. */
	ck_assert_uint_eq(qp_out.bfreg_index, 1);
}

/* Where every ioctl is refused, UAR pages come with the context. */
START_TEST(by_write_alone)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct bf_uverbs_mapping map;
	struct ib_uverbs_destroy_qp gone = { 0 };
	struct uv_cmd destroy = { IB_USER_VERBS_CMD_DESTROY_QP, &gone, sizeof(gone), 4, NULL, 0, 0 };
	struct ib_uverbs_dealloc_pd dealloc;
	struct uv_cmd dealloc_pd = { IB_USER_VERBS_CMD_DEALLOC_PD, &dealloc, sizeof(dealloc), 0, NULL, 0, 0 };
	struct bf_uverbs_counts n;
	struct objects o = { 0 };
	uint32_t events;
	struct uv_rig r;

	uv_rig_open(&r, true);
	ck_assert_int_eq(uv_context(&r, false), -ENOTTY);
	context_by_write(&r, &resp);
	ck_assert_uint_eq(resp.tot_bfregs, 16);
	for (uint64_t i = 0; i < 8; i++)
		ck_assert_int_eq(bf_uverbs_mmap(r.f, i << 12, 4096, &map), 0);
	ck_assert_int_eq(bf_uverbs_mmap(r.f, 8 << 12, 4096, &map), -EINVAL);
	ck_assert_int_eq(bf_uverbs_mmap(r.f, 0x300 << 12, 4096, &map), 0);
	ck_assert(!map.write_combining);
	ck_assert_int_eq(bf_uverbs_mmap(r.f, 100, 4096, &map), -EINVAL);
	ck_assert_int_eq(bf_uverbs_mmap(r.f, 0, 8192, &map), -EINVAL);
	make_objects(&r, &o);
	dealloc.pd_handle = o.pd;
	ck_assert_int_eq(uv_write(&r, &dealloc_pd, NULL, NULL), -EBUSY);
	gone.qp_handle = o.qp;
	ck_assert_int_eq(uv_write(&r, &destroy, &events, NULL), 0);
	ck_assert_int_eq(uv_write(&r, &destroy, &events, NULL), -ENOENT);
	bf_uverbs_close(r.f);
	bf_uverbs_counts(r.u, &n);
	ck_assert_uint_eq(n.pds + n.mrs + n.cqs + n.qps + n.channels + n.files, 0);
	uv_rig_close(&r);
}
END_TEST

/* The length must be what the header says, and the header's what the command needs. */
START_TEST(write_headers)
{
	struct ib_uverbs_alloc_pd pd = { 0 };
	struct uv_cmd c = { IB_USER_VERBS_CMD_ALLOC_PD, &pd, sizeof(pd), 4, NULL, 0, 4 };
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct bf_uverbs_counts before, after;
	uint32_t len;
	uint8_t *at;
	struct uv_rig r;

	uv_rig_open(&r, true);
	len = uv_write_build(&r, &c);
	ck_assert_int_eq(bf_uverbs_write(r.f, r.request, len), -EINVAL); /* no context */
	context_by_write(&r, &resp);
	bf_uverbs_counts(r.u, &before);
	len = uv_write_build(&r, &c);
	at = uv_host(&r, r.request);
	for (uint32_t cut = 0; cut < len; cut++)
		ck_assert_int_lt(bf_uverbs_write(r.f, r.request, cut), 0);
	ck_assert_int_eq(bf_uverbs_write(r.f, r.request, len + 4), -EINVAL);
	ck_assert_int_eq(bf_uverbs_write(r.f, 16, len), -EFAULT);
	bf_put_le16(at + 6, 0); /* no room for the answer */
	ck_assert_int_eq(bf_uverbs_write(r.f, r.request, len), -ENOSPC);
	bf_put_le16(at + 6, 2);
	bf_put_le16(at + 4, 2);
	ck_assert_int_eq(bf_uverbs_write(r.f, r.request, 8), -ENOSPC);
	bf_put_le32(at, 49);
	ck_assert_int_eq(bf_uverbs_write(r.f, r.request, 8), -EOPNOTSUPP);
	bf_put_le32(at, 0x40000003);
	ck_assert_int_eq(bf_uverbs_write(r.f, r.request, 8), -EINVAL);
	bf_uverbs_counts(r.u, &after);
	ck_assert_uint_eq(after.unknown - before.unknown, 2);
	ck_assert_uint_eq(after.pds, before.pds);
	uv_rig_close(&r);
}
END_TEST

/* Extended commands count in words of eight bytes, and keep the driver's part apart. */
START_TEST(extended)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct uv_rig r;
	uint8_t *at;

	uv_rig_open(&r, true);
	context_by_write(&r, &resp);
	at = uv_host(&r, r.request);
	memset(at, 0, 64);
	bf_put_le32(at, EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE);
	bf_put_le16(at + 4, 1);       /* in */
	bf_put_le16(at + 6, 304 / 8); /* out */
	bf_put_le64(at + 8, r.request + 4096);
	bf_put_le16(at + 18, 104 / 8); /* the driver's out */
	ck_assert_int_eq(bf_uverbs_write(r.f, r.request, 32), 32);
	ck_assert_uint_eq(bf_get_le32(uv_host(&r, r.request + 4096 + 180)), 304);
	ck_assert_uint_eq(bf_get_le32(uv_host(&r, r.request + 4096 + 304 + 4)), 104);
	for (uint32_t cut = 0; cut < 32; cut++)
		ck_assert_int_eq(bf_uverbs_write(r.f, r.request, cut), -EINVAL);
	bf_put_le32(at + 20, 1); /* reserved */
	ck_assert_int_eq(bf_uverbs_write(r.f, r.request, 32), -EINVAL);
	bf_put_le32(at + 20, 0);
	bf_put_le64(at + 8, 0); /* room without a place */
	ck_assert_int_eq(bf_uverbs_write(r.f, r.request, 32), -EINVAL);
	bf_put_le64(at + 8, r.request + 4096);
	bf_put_le16(at + 6, 16); /* too little room */
	ck_assert_int_eq(bf_uverbs_write(r.f, r.request, 32), -ENOSPC);
	uv_rig_close(&r);
}
END_TEST

/* ---- cut short ---- */

static bool same(const struct bf_uverbs_counts *a, const struct bf_uverbs_counts *b)
{
	return a->pds == b->pds && a->mrs == b->mrs && a->dms == b->dms && a->mws == b->mws && a->cqs == b->cqs &&
	       a->qps == b->qps && a->srqs == b->srqs && a->ahs == b->ahs && a->channels == b->channels &&
	       a->uars == b->uars && a->umems == b->umems && a->devx_objects == b->devx_objects;
}

/* Each attribute of the request at hand with fewer bytes, left out, and with a wrong kind of place. */
static void cut_attributes(struct uv_rig *r)
{
	const struct uv_head head = r->head;
	struct ib_uverbs_attr attr[UV_ATTRS];
	struct bf_uverbs_counts before, after;

	memcpy(attr, r->attr, sizeof(attr));
	for (uint32_t i = 0; i < head.num_attrs; i++) {
		bool uhw_out = attr[i].attr_id == UVERBS_ATTR_UHW_OUT;

		for (uint32_t len = 0; len < attr[i].len && !uhw_out; len++) {
			bf_uverbs_counts(r->u, &before);
			r->head = head;
			memcpy(r->attr, attr, sizeof(attr));
			r->attr[i].len = (uint16_t)len;
			if (!uv_call(r))
				continue; /* a driver's part may be an older, shorter one */
			bf_uverbs_counts(r->u, &after);
			ck_assert(same(&before, &after));
			ck_assert(len < attr[i].len);
		}
		r->head = head;
		memcpy(r->attr, attr, sizeof(attr));
		r->attr[i] = attr[head.num_attrs - 1];
		r->head.num_attrs--;
		bf_uverbs_counts(r->u, &before);
		if (uv_call(r)) {
			bf_uverbs_counts(r->u, &after);
			ck_assert(same(&before, &after));
		}
		for (uint32_t bad = 0; bad < 3; bad++) {
			static const uint64_t nowhere[] = { 0, 16, UINT64_MAX - 8 };

			r->head = head;
			memcpy(r->attr, attr, sizeof(attr));
			r->attr[i].data = nowhere[bad];
			bf_uverbs_counts(r->u, &before);
			if (uv_call(r)) {
				bf_uverbs_counts(r->u, &after);
				ck_assert(same(&before, &after));
			}
		}
	}
	r->head = head;
	memcpy(r->attr, attr, sizeof(attr));
}

START_TEST(every_request_cut_short)
{
	struct uv_qp_opts o;
	struct uv_world w;
	struct uv_cq cq;
	struct uv_qp qp;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	uv_cq_request(&r, &cq, 7, w.channel, w.async, w.uar.page, 1);
	cut_attributes(&r);
	o = (struct uv_qp_opts){ .pd = w.pd.handle,
				 .send_cq = w.scq.handle,
				 .recv_cq = w.rcq.handle,
				 .page = w.uar.page,
				 .async = w.async };
	uv_qp_request(&r, &qp, &o);
	cut_attributes(&r);
	uv_begin(&r, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);
	uv_in32(&r, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1);
	uv_in32(&r, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 3);
	uv_in32(&r, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0);
	uv_out(&r, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, 32);
	cut_attributes(&r);
	ck_assert_int_eq(uv_call(&r), 0);
	ck_assert_uint_eq(bf_get_be32((uint8_t *)uv_answer(&r, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY) + 12), UV_IPV4);
	uv_begin(&r, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	uv_handle(&r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0);
	uv_in64(&r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, 1);
	uv_out(&r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, 8);
	uv_out(&r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, 4);
	uv_out(&r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, 4);
	cut_attributes(&r);
	uv_rig_close(&r);
}
END_TEST

/* The commands that take bytes alone: each shorter form must leave things as they are. */
START_TEST(every_command_cut_short)
{
	static const uint8_t zeros[256];
	uint8_t out[256], uhw[64];
	struct bf_uverbs_counts before, after;
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	bf_uverbs_counts(r.u, &before);
	for (uint32_t number = 1; number < 41; number++) {
		for (uint16_t len = 0; len < 128; len = (uint16_t)(len + 4)) {
			struct uv_cmd c = { number, zeros, len, 0, NULL, 0, 0 };
			int rc = uv_invoke(&r, &c, out, uhw);

			ck_assert(rc <= 0);
		}
	}
	bf_uverbs_counts(r.u, &after);
	/* Handle 0 is the UAR, which no command destroys. */
	ck_assert(same(&before, &after));
	uv_rig_close(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("uverbs_write");
	TCase *t = tcase_create("write");

	tcase_add_test(t, by_write_alone);
	tcase_add_test(t, write_headers);
	tcase_add_test(t, extended);
	tcase_add_test(t, every_request_cut_short);
	tcase_add_test(t, every_command_cut_short);
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
