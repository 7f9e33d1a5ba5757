/* Memory of the device (MEMIC), and regions whose pages come on demand. */
#include <check.h>

#include "sim/stats.h"
#include "tests/models/uverbs_program.h"

#define DM_BYTES 6000u
#define MMAP_MEMIC (8ull << 8 << 12)

struct dm {
	uint32_t handle;
	uint64_t offset;
	uint16_t page;
};

static int alloc_dm(struct uv_rig *r, uint64_t len, struct dm *dm)
{
	int rc;

	uv_begin(r, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
	uv_handle(r, UVERBS_ATTR_ALLOC_DM_HANDLE, 0);
	uv_in64(r, UVERBS_ATTR_ALLOC_DM_LENGTH, len);
	uv_in32(r, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, 0);
	uv_out(r, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, 8);
	uv_out(r, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, 2);
	rc = uv_call(r);
	if (rc)
		return rc;
	dm->handle = (uint32_t)uv_find(r, UVERBS_ATTR_ALLOC_DM_HANDLE)->data;
	dm->offset = bf_get_le64(uv_answer(r, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET));
	dm->page = bf_get_le16(uv_answer(r, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX));
	return 0;
}

static int free_dm(struct uv_rig *r, uint32_t handle)
{
	uv_begin(r, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE);
	uv_handle(r, UVERBS_ATTR_FREE_DM_HANDLE, handle);
	return uv_call(r);
}

static int reg_dm(struct uv_rig *r, uint32_t pd, uint32_t dm, uint64_t at, uint64_t len, uint32_t access,
		  struct uv_mr *out)
{
	int rc;

	uv_begin(r, UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
	uv_handle(r, UVERBS_ATTR_REG_DM_MR_HANDLE, 0);
	uv_in64(r, UVERBS_ATTR_REG_DM_MR_OFFSET, at);
	uv_in64(r, UVERBS_ATTR_REG_DM_MR_LENGTH, len);
	uv_handle(r, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, pd);
	uv_in32(r, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, access);
	uv_handle(r, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, dm);
	uv_out(r, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, 4);
	uv_out(r, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, 4);
	rc = uv_call(r);
	if (rc)
		return rc;
	out->handle = (uint32_t)uv_find(r, UVERBS_ATTR_REG_DM_MR_HANDLE)->data;
	out->lkey = uv_answer32(r, UVERBS_ATTR_REG_DM_MR_RESP_LKEY);
	out->rkey = uv_answer32(r, UVERBS_ATTR_REG_DM_MR_RESP_RKEY);
	return 0;
}

static void end(struct uv_rig *r)
{
	struct bf_uverbs_counts n;

	bf_uverbs_close(r->f);
	bf_uverbs_counts(r->u, &n);
	ck_assert_uint_eq(n.dms | n.mrs | n.qps | n.files, 0);
	uv_rig_close(r);
}

/* The program writes through its mapping, the device reads that, and the other way round. */
START_TEST(device_memory)
{
	const uint32_t zero_based = UV_ALL_ACCESS | IB_UVERBS_ACCESS_ZERO_BASED;
	struct bf_uverbs_mapping map;
	struct uv_world w;
	struct uv_rig r;
	struct uv_mr mr;
	struct dm dm, other;
	uint8_t *bytes;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 1);
	ck_assert_int_eq(alloc_dm(&r, 0, &dm), -EINVAL);
	ck_assert_int_eq(alloc_dm(&r, 1u << 20, &dm), -EINVAL);
	ck_assert_int_eq(alloc_dm(&r, DM_BYTES, &dm), 0);
	ck_assert_int_eq(alloc_dm(&r, 64, &other), 0);
	ck_assert_uint_eq(other.page, dm.page + 2u); /* whole pages */
	ck_assert_int_eq(bf_uverbs_mmap(r.f, MMAP_MEMIC + ((uint64_t)dm.page << 12), 3 * 4096, &map), -EINVAL);
	ck_assert_int_eq(bf_uverbs_mmap(r.f, MMAP_MEMIC + ((dm.page + 1ull) << 12), 4096, &map), -EINVAL);
	ck_assert_int_eq(bf_uverbs_mmap(r.f, MMAP_MEMIC + ((uint64_t)dm.page << 12), 2 * 4096, &map), 0);
	ck_assert(map.memory);
	bytes = map.region->bytes + map.offset;
	ck_assert_uint_eq(dm.offset, 0);
	ck_assert_int_eq(reg_dm(&r, w.pd.handle, dm.handle, 0, 64, UV_ALL_ACCESS, &mr), -EINVAL);
	ck_assert_int_eq(reg_dm(&r, w.pd.handle, dm.handle, DM_BYTES, 1, zero_based, &mr), -EINVAL);
	ck_assert_int_eq(reg_dm(&r, w.pd.handle, dm.handle, 64, DM_BYTES - 64, zero_based, &mr), 0);
	ck_assert_int_eq(free_dm(&r, dm.handle), -EBUSY);

	for (uint32_t i = 0; i < 4096; i++)
		bytes[64 + i] = (uint8_t)(i * 7);
	uv_post_write(&r, &w.qp[0], &w.uar, 0, mr.lkey, w.data, w.mr.rkey, 4096);
	ck_assert_uint_eq(uv_poll(&r, &w.scq)->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_mem_eq(uv_host(&r, w.data), bytes + 64, 4096);
	memset(uv_host(&r, w.data), 0xa5, 4096);
	uv_post_write(&r, &w.qp[0], &w.uar, w.data, w.mr.lkey, 100, mr.rkey, 4096);
	ck_assert_uint_eq(uv_poll(&r, &w.scq)->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_uint_eq(bytes[163], (uint8_t)(99 * 7));
	ck_assert_mem_eq(bytes + 164, uv_host(&r, w.data), 4096);
	/* Behind its end. */
	uv_post_write(&r, &w.qp[0], &w.uar, w.data, w.mr.lkey, DM_BYTES - 64 - 4095, mr.rkey, 4096);
	ck_assert_uint_eq(uv_poll(&r, &w.scq)->op_own >> 4, BF_MLX5_CQE_REQ_ERR);

	ck_assert_int_eq(UV_DESTROY_MR(&r, mr.handle), 0);
	ck_assert_int_eq(free_dm(&r, dm.handle), 0);
	ck_assert_int_eq(bf_uverbs_mmap(r.f, MMAP_MEMIC + ((uint64_t)dm.page << 12), 4096, &map), -EINVAL);
	/* Nobody finds what another has left. */
	ck_assert_int_eq(alloc_dm(&r, DM_BYTES, &dm), 0);
	ck_assert_uint_eq(bytes[164], 0);
	end(&r);
}
END_TEST

struct wanted {
	const char *name;
	uint64_t value;
	bool found;
};

static void look(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *hist)
{
	struct wanted *w = arg;

	(void)unit;
	(void)hist;
	if (!counter || strcmp(name, w->name))
		return;
	w->value = *counter;
	w->found = true;
}

static uint64_t stat_of(struct uv_rig *r, const char *name)
{
	struct wanted w = { .name = name };

	bf_stats_each(r->sim, look, &w);
	ck_assert_msg(w.found, "no counter %s", name);
	return w.value;
}

/* Each side takes its fault: the sender before it sends, the receiver by asking to come again. Once a page. */
START_TEST(pages_on_demand)
{
	const uint32_t access = UV_ALL_ACCESS | IB_UVERBS_ACCESS_ON_DEMAND;
	const bool implicit = _i;
	struct uv_world w;
	struct uv_rig r;
	struct uv_mr mr;
	uint64_t at;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 1);
	at = uv_alloc(&r, 8 * 4096);
	r.pins = 0;
	if (implicit)
		ck_assert_int_eq(uv_reg(&r, w.pd.handle, 0, UINT64_MAX, 0, access, &mr), 0);
	else
		ck_assert_int_eq(uv_reg(&r, w.pd.handle, at, 8 * 4096, at, access, &mr), 0);
	ck_assert_uint_eq(r.pins, 0);
	for (uint32_t i = 0; i < 6000; i++)
		((uint8_t *)uv_host(&r, at + 100))[i] = (uint8_t)(i * 3);
	uv_post_write(&r, &w.qp[0], &w.uar, at + 100, mr.lkey, at + 4 * 4096, mr.rkey, 6000);
	ck_assert_uint_eq(uv_poll(&r, &w.scq)->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_mem_eq(uv_host(&r, at + 4 * 4096), uv_host(&r, at + 100), 6000);
	ck_assert_uint_eq(stat_of(&r, "nic0.page_faults"), 2);
	ck_assert_uint_eq(stat_of(&r, "nic0.naks_sent.rnr"), 1);
	ck_assert_uint_eq(r.pins, 2);
	uv_post_write(&r, &w.qp[0], &w.uar, at + 100, mr.lkey, at + 4 * 4096, mr.rkey, 6000);
	ck_assert_uint_eq(uv_poll(&r, &w.scq)->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_uint_eq(stat_of(&r, "nic0.page_faults"), 2);
	ck_assert_int_eq(UV_DESTROY_MR(&r, mr.handle), 0);
	end(&r);
}
END_TEST

/* The driver has no such page: the sender's own says so with ODP's vendor code, the receiver's is an access error. */
START_TEST(no_such_page)
{
	const uint32_t access = UV_ALL_ACCESS | IB_UVERBS_ACCESS_ON_DEMAND;
	const uint64_t nowhere = 1ull << 46;
	const bool remote = _i;
	const struct bf_mlx5_err_cqe *e;
	struct uv_world w;
	struct uv_rig r;
	struct uv_mr mr;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 1);
	ck_assert_int_eq(uv_reg(&r, w.pd.handle, 0, UINT64_MAX, 0, access, &mr), 0);
	if (remote)
		uv_post_write(&r, &w.qp[0], &w.uar, w.data, w.mr.lkey, nowhere, mr.rkey, 64);
	else
		uv_post_write(&r, &w.qp[0], &w.uar, nowhere, mr.lkey, w.data, w.mr.rkey, 64);
	e = (const void *)uv_poll(&r, &w.scq);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	ck_assert_uint_eq(e->syndrome, remote ? BF_MLX5_SYND_REM_ACCESS : BF_MLX5_SYND_LOCAL_PROT);
	if (!remote)
		ck_assert_uint_eq(e->vendor_err_synd, 0x93);
	end(&r);
}
END_TEST

static int advise(struct uv_rig *r, uint32_t pd, uint64_t advice, uint32_t key, uint64_t at, uint32_t len)
{
	const struct ib_uverbs_sge sge = { at, len, key };

	uv_begin(r, UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
	uv_handle(r, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, pd);
	uv_in64(r, UVERBS_ATTR_ADVISE_MR_ADVICE, advice);
	uv_in32(r, UVERBS_ATTR_ADVISE_MR_FLAGS, 0);
	uv_in(r, UVERBS_ATTR_ADVISE_MR_SGE_LIST, &sge, sizeof(sge));
	return uv_call(r);
}

START_TEST(advice)
{
	const uint32_t access = UV_ALL_ACCESS | IB_UVERBS_ACCESS_ON_DEMAND;
	struct uv_world w;
	struct uv_rig r;
	struct uv_mr mr;
	uint64_t at;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 1);
	at = uv_alloc(&r, 4 * 4096);
	ck_assert_int_eq(uv_reg(&r, w.pd.handle, at, 4 * 4096, at, access, &mr), 0);
	ck_assert_int_eq(advise(&r, w.pd.handle, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, mr.lkey, at, 4 * 4096), 0);
	ck_assert_int_eq(advise(&r, w.pd.handle, 9, mr.lkey, at, 4096), -EOPNOTSUPP);
	ck_assert_int_eq(advise(&r, w.pd.handle, 0, w.mr.lkey, w.data, 4096), -EINVAL); /* its pages never go */
	ck_assert_int_eq(advise(&r, w.pd.handle, 0, mr.lkey, at, 5 * 4096), -EFAULT);
	ck_assert_int_eq(advise(&r, uv_pd(&r).handle, 0, mr.lkey, at, 4096), -EPERM);
	uv_post_write(&r, &w.qp[0], &w.uar, at, mr.lkey, at + 2 * 4096, mr.rkey, 8192);
	ck_assert_uint_eq(uv_poll(&r, &w.scq)->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_uint_eq(stat_of(&r, "nic0.page_faults"), 0);
	end(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("uverbs memory");
	TCase *t = tcase_create("memory");

	tcase_add_test(t, device_memory);
	tcase_add_loop_test(t, pages_on_demand, 0, 2);
	tcase_add_loop_test(t, no_such_page, 0, 2);
	tcase_add_test(t, advice);
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
