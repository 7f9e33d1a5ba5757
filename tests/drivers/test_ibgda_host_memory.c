/* IBGDA's host side: registrations, key tables with what is beyond the constant part, growth of the heap, other memory.
 */
#include "tests/drivers/host_rig.h"

#define GRANULE 4096u

static const struct bf_ibgda_lkey *lkey(const struct bf_ibgda_state *s, uint64_t i)
{
	return i < 64 ? &s->constmem.lkeys[i] : &s->globalmem.lkeys[i - 64];
}

static const struct bf_ibgda_rkey *rkey(const struct bf_ibgda_state *s, uint64_t i)
{
	return i < 64 ? &s->constmem.rkeys[i] : &s->globalmem.rkeys[i - 64];
}

/* Asks the device what a key covers. */
static void check_key(struct host_rig *r, uint32_t pe, uint32_t nic, uint32_t be_key, uint64_t first, uint64_t end)
{
	const uint32_t key = bf_get_be32(&be_key);
	uint8_t in[16] = { 0 }, out[16 + 64] = { 0 };

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_MKEY);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, key >> 8);
	ck_assert_int_eq(r->be->command(r->w, pe, nic, in, sizeof(in), out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_CMD_OUT_STATUS), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(BF_MLX5_GET(out + 16, BF_MKC_KEY), key & 0xff);
	ck_assert_uint_eq(bf_get_be64(out + 16 + BF_MKC_START), first);
	ck_assert_uint_eq(bf_get_be64(out + 16 + BF_MKC_START) + bf_get_be64(out + 16 + BF_MKC_SIZE), end);
}

/* Every entry of both tables against the devices themselves, for registrations of `each` granules from `from` on. */
static void check_tables(struct host_rig *r, uint32_t npes, uint32_t devs, uint64_t from, uint64_t to, uint64_t each)
{
	for (uint32_t pe = 0; pe < npes; pe++) {
		const struct bf_ibgda_state *s = bf_ibgda_host_state(r->h, pe);

		for (uint64_t g = from; g < to; g++) {
			const uint64_t first = (from + (g - from) / each * each) * GRANULE;
			const uint64_t end =
			    first + each * GRANULE < to * GRANULE ? first + each * GRANULE : to * GRANULE;

			for (uint32_t d = 0; d < devs; d++) {
				const struct bf_ibgda_lkey *l = lkey(s, g * devs + d);

				ck_assert_uint_eq(l->end, s->heap_va + end);
				check_key(r, pe, d, l->key, s->heap_va + first, s->heap_va + end);
				for (uint32_t peer = 0; peer < npes; peer++) {
					const struct bf_ibgda_rkey *k = rkey(s, (g * npes + peer) * devs + d);
					const uint64_t va = bf_ibgda_host_state(r->h, peer)->heap_va;

					ck_assert_uint_eq(k->end, end);
					ck_assert_uint_eq(s->globalmem.peer_heap_va[peer], va);
					check_key(r, peer, d, k->key, va + first, va + end);
				}
			}
		}
	}
}

/* Small ones, and such as the PEs have one of until they differ: here when they register one piece after the other. */
START_TEST(tables_beyond_the_constant_part)
{
	static const uint32_t each[] = { 0, 7, 0, 90 };
	const uint32_t granules = _i < 2 ? 50 : 200;
	struct host_rig r = host_rig(3);

	r.world.nics = 2;
	r.opts.devices = 2;
	r.opts.heap_bytes = granules * GRANULE;
	r.opts.granules_per_mr = each[_i];
	host_open(&r);
	ck_assert_uint_eq(watch.images, _i < 2 ? 0 : 3);
	ck_assert_uint_eq(bf_ibgda_host_state(r.h, 1)->heap_size, granules * GRANULE);
	check_tables(&r, 3, 2, 0, granules, each[_i] ? each[_i] : granules);
	host_close(&r);
}
END_TEST

START_TEST(heap_grows_by_registrations)
{
	struct host_rig r = host_rig(2);
	int64_t before;

	r.opts.heap_bytes = (_i ? 700 : 64) * GRANULE; /* the second: with one table for both PEs, until it grows */
	r.opts.heap_first_bytes = 10 * GRANULE - 5;
	r.opts.granules_per_mr = 30;
	host_open(&r);
	check_tables(&r, 2, 1, 0, 10, 10);
	ck_assert_uint_eq(watch.images, _i ? 2 : 0);
	ck_assert_uint_eq(rkey(bf_ibgda_host_state(r.h, 0), 20)->key, 0);
	ck_assert_int_eq(bf_ibgda_host_grow_heap(r.h, 30 * GRANULE), 0);
	check_tables(&r, 2, 1, 0, 10, 10);
	check_tables(&r, 2, 1, 10, 40, 30);
	ck_assert_int_eq(bf_ibgda_host_grow_heap(r.h, GRANULE / 2), -EINVAL);
	ck_assert_int_eq(bf_ibgda_host_grow_heap(r.h, 0), -EINVAL);
	ck_assert_int_eq(bf_ibgda_host_grow_heap(r.h, 665 * GRANULE), -ENOSPC);
	ck_assert_msg(strstr(r.err.text, _i ? "2703360 are reserved" : "98304 are reserved"), "%s", r.err.text);
	/* A key that one PE does not get leaves the heap of all as it was. */
	before = watch.objects;
	watch.commands = 0;
	watch.fail_at = 2;
	ck_assert_int_eq(bf_ibgda_host_grow_heap(r.h, 20 * GRANULE), -EIO);
	watch.fail_at = 0;
	for (uint32_t pe = 0; pe < 2; pe++)
		ck_assert_uint_eq(bf_ibgda_host_state(r.h, pe)->heap_size, 40 * GRANULE);
	ck_assert_int_eq(watch.objects, before);
	ck_assert_int_eq(bf_ibgda_host_grow_heap(r.h, 24 * GRANULE), 0);
	check_tables(&r, 2, 1, 40, 64, 24);
	host_close(&r);
}
END_TEST

static uint32_t nodes(const struct bf_ibgda_state *s, uint64_t *vas)
{
	uint32_t n = 0;

	for (const struct bf_ibgda_local_only *l = s->globalmem.local_only; l; l = l->next)
		vas[n++] = l->va;
	return n;
}

START_TEST(other_memory)
{
	struct host_rig r = host_rig(2);
	struct bf_ibgda_state *s;
	struct bf_memory m[3];
	uint64_t vas[4];

	r.world.nics = 2;
	r.opts.devices = 2;
	host_open(&r);
	s = bf_ibgda_host_state(r.h, 1);
	for (uint32_t i = 0; i < 3; i++) {
		const struct bf_ibgda_local_only *l;

		ck_assert_int_eq(r.be->alloc(r.w, 1, i ? BF_PLACE_GPU : BF_PLACE_HOST, 8192, "buffer", &m[i]), 0);
		ck_assert_int_eq(bf_ibgda_host_register(r.h, 1, &m[i], !i), 0);
		l = s->globalmem.local_only;
		ck_assert_ptr_eq(l->first, m[i].ptr);
		ck_assert_ptr_eq(l->last, (uint8_t *)m[i].ptr + 8191);
		ck_assert_uint_eq(l->sysmem, !i);
		for (uint32_t d = 0; d < 2; d++)
			check_key(&r, 1, d, l->lkeys[d], m[i].va, m[i].va + 8192);
	}
	ck_assert_uint_eq(nodes(s, vas), 3);
	ck_assert_uint_eq(vas[0], m[2].va); /* newest first */
	ck_assert_int_eq(bf_ibgda_host_unregister(r.h, 1, &m[1]), 0);
	ck_assert_int_eq(bf_ibgda_host_unregister(r.h, 1, &m[1]), -ENOENT);
	ck_assert_uint_eq(nodes(s, vas), 2);
	ck_assert_uint_eq(vas[1], m[0].va);
	ck_assert_int_eq(bf_ibgda_host_unregister(r.h, 1, &m[2]), 0);
	ck_assert_int_eq(bf_ibgda_host_register(r.h, 2, &m[2], false), -EINVAL);
	ck_assert_int_eq(bf_ibgda_host_register(r.h, 1, &(struct bf_memory){ 0 }, false), -EINVAL);
	ck_assert_uint_eq(nodes(bf_ibgda_host_state(r.h, 0), vas), 0);
	host_close(&r); /* the last one goes with the rest */
}
END_TEST

/* A failed registration of other memory leaves nothing, not even on the device where it had worked. */
START_TEST(other_memory_fails_whole)
{
	struct host_rig r = host_rig(2);
	struct bf_memory m;
	uint64_t vas[4];

	r.world.nics = 2;
	r.opts.devices = 2;
	host_open(&r);
	ck_assert_int_eq(r.be->alloc(r.w, 0, BF_PLACE_GPU, 4096, "buffer", &m), 0);
	for (uint32_t k = 1; k <= 2; k++) {
		const int64_t before = watch.objects;

		watch.commands = 0;
		watch.fail_at = k;
		ck_assert_int_eq(bf_ibgda_host_register(r.h, 0, &m, false), -EIO);
		watch.fail_at = 0;
		ck_assert_int_eq(watch.objects, before);
		ck_assert_uint_eq(nodes(bf_ibgda_host_state(r.h, 0), vas), 0);
	}
	watch.allocs = 0;
	watch.fail_alloc = 1;
	ck_assert_int_eq(bf_ibgda_host_register(r.h, 0, &m, false), -ENOMEM);
	host_close(&r);
}
END_TEST

/* DC targets beyond the constant 128, in the compact and in the full form. */
START_TEST(targets_beyond_the_constant_part)
{
	const uint32_t each = _i < 2 ? 30 : 90, of_pe = 2 * each, full = _i % 2 != 0;
	struct host_rig r = host_rig(3);

	r.world.nics = 2;
	r.opts.devices = 2;
	r.opts.num_dct = each;
	r.opts.full_av = full;
	host_open(&r);
	ck_assert_uint_eq(watch.images, _i < 2 ? 0 : 3);
	for (uint32_t pe = 0; pe < 3; pe++) {
		const struct bf_ibgda_state *s = bf_ibgda_host_state(r.h, pe);

		ck_assert_uint_eq(s->num_dct_per_pe, of_pe);
		ck_assert_uint_eq(s->support_half_av_seg, !full);
		for (uint32_t i = 0; i < 3 * of_pe; i++) {
			const struct bf_ibgda_dct *d = i < 128 ? &s->constmem.dcts[i] : &s->globalmem.dcts[i - 128];
			const uint32_t word = bf_get_be32(&d->w[2]);
			uint8_t in[16] = { 0 }, out[16 + 64] = { 0 }, gid[16], mac[6];

			ck_assert_uint_eq(word >> 31, full);
			ck_assert_uint_eq(bf_get_be64(d->w), BF_IBGDA_DC_KEY);
			ck_assert_int_eq(r.be->address(r.w, i / of_pe, i % 2, 0, gid, mac), 0);
			ck_assert_mem_eq((const uint8_t *)d->w + 32, gid, 16);
			ck_assert_mem_eq((const uint8_t *)d->w + 20, mac, 6);
			BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_DCT);
			BF_MLX5_SET(in, BF_CMD_IN_NUMBER, word & 0xffffff);
			ck_assert_int_eq(r.be->command(r.w, i / of_pe, i % 2, in, sizeof(in), out, sizeof(out)), 0);
			ck_assert_uint_eq(BF_MLX5_GET(out, BF_CMD_OUT_STATUS), BF_MLX5_CMD_OK);
			ck_assert_uint_eq(BF_MLX5_GET(out + BF_DCT_DCTC, BF_DCTC_USER_INDEX), i % of_pe);
		}
	}
	host_close(&r);
}
END_TEST

static const struct {
	enum bf_ibgda_dci_map map;
	int32_t num, shared;
	uint32_t want;
} dcis[] = {
	{ BF_IBGDA_MAP_CTA, -1, 1, 11 }, { BF_IBGDA_MAP_SM, -1, 2, 12 }, { BF_IBGDA_MAP_WARP, -1, 1, 321 },
	{ BF_IBGDA_MAP_DCT, -1, 3, 9 },  { BF_IBGDA_MAP_CTA, 5, 2, 5 },  { BF_IBGDA_MAP_WARP, 1, 1, 1 },
	{ BF_IBGDA_MAP_CTA, 2, 3, 0 },
};

/* Automatic counts have one for each user that the mapping tells apart, and the shared ones. Neighbours alternate. */
START_TEST(initiators_by_mapping)
{
	struct host_rig r = host_rig(3);
	const struct bf_ibgda_state *s;

	r.world.nics = 2;
	r.opts.devices = 2;
	r.opts.no_rc = true;
	r.opts.qps_per_uar = 32;
	r.opts.sms = 10;
	r.opts.dci_map = dcis[_i].map;
	r.opts.num_dci = dcis[_i].num;
	r.opts.num_shared_dci = (uint32_t)dcis[_i].shared;
	if (!dcis[_i].want) {
		ck_assert_int_eq(host_try(&r), -EINVAL);
		ck_assert_msg(strstr(r.err.text, "IBGDA_NUM_SHARED_DCI"), "%s", r.err.text);
		r.be->close(r.w);
		return;
	}
	host_open(&r);
	s = bf_ibgda_host_state(r.h, 2);
	ck_assert_uint_eq(s->num_dci, 2 * dcis[_i].want);
	ck_assert_uint_eq(s->num_shared_dci, 2 * (uint32_t)dcis[_i].shared);
	ck_assert_uint_eq(s->num_rc_per_pe, 0);
	ck_assert_int_eq(s->dci_map, dcis[_i].map);
	for (uint32_t i = 0; i < s->num_dci; i++) {
		const struct bf_ibgda_qp *qp = bf_ibgda_host_dci(r.h, 2, i);

		ck_assert_ptr_eq(qp, &s->globalmem.dcis[i]);
		ck_assert_uint_eq(qp->dev_idx, i % 2);
		ck_assert_uint_eq(qp->qp_type, BF_IBGDA_DCI);
		ck_assert_ptr_eq(qp->tx_wq.cq, &s->globalmem.cqs[i]);
		ck_assert_uint_eq(device_qp(&r, 2, i % 2, qp->qpn, BF_QPC_USER_INDEX), i);
		ck_assert_uint_eq(device_qp(&r, 2, i % 2, qp->qpn, BF_QPC_STATE), BF_MLX5_QPS_RTS);
	}
	ck_assert_ptr_null(bf_ibgda_host_dci(r.h, 2, s->num_dci));
	ck_assert_int_eq(bf_ibgda_host_add_qps(r.h, 3, NULL), 0); /* without RCs there is nothing to add to */
	host_close(&r);
}
END_TEST

/* ---- memory of a real GPU ---- */

#define FAR_MAX 32u

static struct {
	struct bf_memory memory[FAR_MAX];
	const char *name[FAR_MAX];
	uint32_t count;
} far_memory;

/* As a backend with a real GPU gives it: host code has the models' bytes for its copy. */
static int alloc_far(struct bf_world *w, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
		     struct bf_memory *out)
{
	int rc = watch.real->alloc(w, pe, place == BF_PLACE_CUDA ? BF_PLACE_GPU : place, size, name, out);

	if (rc || place != BF_PLACE_CUDA)
		return rc;
	ck_assert_uint_lt(far_memory.count, FAR_MAX);
	out->far = true;
	far_memory.memory[far_memory.count] = *out;
	far_memory.name[far_memory.count++] = name;
	return 0;
}

/* Which of it a GPU's thread finds at `p`: the name. */
static const char *far_at(const void *p)
{
	for (uint32_t i = 0; i < far_memory.count; i++)
		if ((uintptr_t)p - far_memory.memory[i].va < far_memory.memory[i].size)
			return far_memory.name[i];
	return "none";
}

static const void *look_far(struct bf_world *w, const void *p)
{
	(void)w;
	for (uint32_t i = 0; i < far_memory.count; i++)
		if ((uintptr_t)p - far_memory.memory[i].va < far_memory.memory[i].size)
			return (uint8_t *)far_memory.memory[i].ptr + ((uintptr_t)p - far_memory.memory[i].va);
	return p;
}

/* Device state has what the GPU's threads dereference; entries are where host code wrote them. */
START_TEST(far_memory_is_shown_as_the_gpu_has_it)
{
	struct host_rig r = host_rig(2);
	const struct bf_ibgda_state *s;

	far_memory.count = 0;
	watch.be.alloc = alloc_far;
	watch.be.look = look_far;
	r.opts.cuda_rings = _i & 1;
	r.opts.cuda_heap = _i & 2;
	r.opts.system_scope = _i != 3;
	host_open(&r);
	s = bf_ibgda_host_state(r.h, 0);
	ck_assert_str_eq(far_at(s->heap), _i & 2 ? "heap" : "none");
	ck_assert_str_eq(far_at((void *)(uintptr_t)s->heap_va), _i & 2 ? "heap" : "none");
	ck_assert_ptr_eq(bf_ibgda_host_look(r.h, s->heap), bf_ibgda_host_heap(r.h, 0).ptr);
	for (uint32_t i = 0; i < s->num_rc_per_pe; i++) {
		const struct bf_ibgda_qp *qp = bf_ibgda_host_qp(r.h, 0, 1, i);
		const struct bf_mlx5_cqe *cqe = bf_ibgda_host_look(r.h, qp->tx_wq.cq->cqe);

		ck_assert_str_eq(far_at(qp->tx_wq.wqe), _i & 1 ? "rings" : "none");
		ck_assert_str_eq(far_at(qp->rx_wq.wqe), _i & 1 ? "rings" : "none");
		ck_assert_str_eq(far_at(qp->tx_wq.dbrec), _i & 1 ? "doorbell records" : "none");
		ck_assert_str_eq(far_at(qp->tx_wq.cq->cqe), _i & 1 ? "completion queues" : "none");
		ck_assert_str_eq(far_at(qp->tx_wq.cq->dbrec), _i & 1 ? "doorbell records" : "none");
		ck_assert_str_eq(far_at(qp->ibuf.buf), _i & 1 ? "ibuf" : "none");
		ck_assert_str_eq(far_at(qp->tx_wq.cq), "none");
		ck_assert_uint_eq(cqe->op_own, 0xff);
	}
	host_close(&r);
}
END_TEST

/* Models have none; what the backend says of it reaches the caller. */
START_TEST(models_have_no_real_gpu)
{
	struct host_rig r = host_rig(2);

	r.opts.cuda_rings = _i == 0;
	r.opts.cuda_heap = _i == 1;
	ck_assert_int_eq(host_try(&r), -ENOTSUP);
	ck_assert_msg(strstr(r.err.text, "no real GPU's memory") && strstr(r.err.text, _i ? "'heap'" : "'"), "%s",
		      r.err.text);
	r.be->close(r.w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ibgda_host_memory");
	TCase *tc = tcase_create("ibgda_host_memory");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, tables_beyond_the_constant_part, 0, 4);
	tcase_add_loop_test(tc, heap_grows_by_registrations, 0, 2);
	tcase_add_test(tc, other_memory);
	tcase_add_test(tc, other_memory_fails_whole);
	tcase_add_loop_test(tc, targets_beyond_the_constant_part, 0, 4);
	tcase_add_loop_test(tc, initiators_by_mapping, 0, (int)BF_ARRAY_LEN(dcis));
	tcase_add_loop_test(tc, far_memory_is_shown_as_the_gpu_has_it, 0, 4);
	tcase_add_loop_test(tc, models_have_no_real_gpu, 0, 2);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
