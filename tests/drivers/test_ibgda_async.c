/*
 * What goes on beside the posting thread: the CPU proxy that rings in its place, receive entries that tell a target of
 * data, and the two variants that concern them. Also which queue a thread is given, and local memory outside the heap.
 */
#include "drivers/platform/platform_sim.h"

#include "drivers/ibgda/device.h"
#include "tests/drivers/rig.h"

static void proxy_thread(struct bf_thread *t, void *arg)
{
	bf_ibgda_proxy_run(t, arg);
}

/* The workload's kernels end by themselves; the last lane to leave stops the proxies. */
struct work {
	struct rig *r;
	uint32_t left;
};

static void work_and_stop(struct bf_thread *t, void *arg)
{
	struct work *w = arg;

	bf_ibgda_kernels(BF_PLATFORM_SIM)->run[w->r->work](t, &w->r->job[0]);
	if (--w->left == 0)
		bf_ibgda_host_proxy(w->r->h, 0)->stop = 1;
}

/* PE 0 sends to PE 1, which does nothing. True when every byte is right. */
static bool run_with_proxy(struct rig *r)
{
	struct work w = { .r = r, .left = BF_LANES * r->shape.warps };
	uint64_t wrong = 0;

	rig_open(r);
	ck_assert_int_eq(r->be->launch_cpu(r->w, 0, 1, proxy_thread, bf_ibgda_host_proxy(r->h, 0)), 0);
	ck_assert_int_eq(r->be->launch(r->w, 0, 1, r->shape.warps, work_and_stop, &w), 0);
	ck_assert_int_eq(r->be->run(r->w, &r->result), 0);
	for (uint32_t i = 0; i < r->at.issuers * r->shape.window; i++) {
		const uint64_t key =
		    bf_ibgda_pattern_key(r->work == BF_IBGDA_GET, i / r->shape.window, i % r->shape.window);
		const uint8_t *there = r->heap[r->work != BF_IBGDA_GET];

		there += (r->work == BF_IBGDA_GET ? r->at.get_dst : r->at.put_dst) + i * r->shape.stride;
		wrong += bf_get_le64(there) != bf_ibgda_pattern_word(key, 0) ||
			 bf_get_le64(there + 56) != bf_ibgda_pattern_word(key, 7);
	}
	return !wrong && r->result.end == BF_END_DONE;
}

static struct rig proxied(enum bf_ibgda_work work)
{
	struct rig r = rig_default(work);

	r.world.limit_ps = 20 * BF_MS;
	r.host.cpu_proxy = true;
	r.host.no_dc = true;
	r.host.num_rc_per_pe = 1;
	r.host.qp_depth = 64;
	r.host.batch = 16;
	r.shape.warps = 4;
	r.shape.messages = 40;
	return r;
}

START_TEST(proxy_rings)
{
	for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct rig r = proxied(seed % 2 ? BF_IBGDA_PUT : BF_IBGDA_GET);
			const struct bf_ibgda_qp *qp;

			r.world.ordering = (enum bf_ordering)o;
			r.world.seed = seed;
			ck_assert_msg(run_with_proxy(&r), "%s", r.result.report);
			qp = bf_ibgda_host_qp(r.h, 0, 1, 0);
			ck_assert_uint_ge(qp->mvars.prod_idx, 160);
			ck_assert_uint_eq(qp->mvars.cons_idx, qp->mvars.prod_idx);
			rig_close(&r);
		}
}
END_TEST

/* With turns taken by prod_idx, ready_head stays 0: quiet has nothing to wait for and returns before the data. */
static void put_async(struct bf_thread *t, void *arg)
{
	struct work *w = arg;
	const struct bf_ibgda_state *st = w->r->job[0].state;
	struct bf_ibgda_qp *qp = bf_ibgda_rc(st, 1, 0);

	bf_ibgda_put_nbi_warp(t, st, qp, (uint8_t *)st->heap + 0x4000, (const uint8_t *)st->heap + 0x1000, 64,
			      BF_IBGDA_ALWAYS_POST);
	if (bf_lane(t))
		return;
	ck_assert_int_eq(bf_ibgda_quiet(t, st, qp), 0);
	w->left = ((uint8_t *)w->r->heap[1])[0x4000];
	bf_pause(t, 100000);
	bf_ibgda_host_proxy(w->r->h, 0)->stop = 1;
}

START_TEST(async_cas_prod)
{
	for (int wrong = 0; wrong < 2; wrong++) {
		struct rig r = proxied(BF_IBGDA_PUT);
		struct work w = { .r = &r };

		r.host.suspects = wrong ? BF_IBGDA_SUSPECT_ASYNC_CAS_PROD : 0;
		rig_open(&r);
		memset((uint8_t *)r.heap[0] + 0x1000, 0x77, 64);
		ck_assert_int_eq(r.be->launch_cpu(r.w, 0, 1, proxy_thread, bf_ibgda_host_proxy(r.h, 0)), 0);
		ck_assert_int_eq(r.be->launch(r.w, 0, 1, 1, put_async, &w), 0);
		ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
		ck_assert_msg(r.result.end == BF_END_DONE, "%s", r.result.report);
		ck_assert_uint_eq(w.left, wrong ? 0 : 0x77);
		ck_assert_uint_eq(((uint8_t *)r.heap[1])[0x4000], 0x77);
		rig_close(&r);
	}
}
END_TEST

#define NOTES 300u

/* PE 1 hears of each of PE 0's values by a receive completion; the ring of entries is filled again as it empties. */
static void tell(struct bf_thread *t, void *arg)
{
	const struct bf_ibgda_job *job = arg;
	const struct bf_ibgda_state *st = job->state;
	struct bf_ibgda_qp *qp = bf_ibgda_rc(st, 1 - st->mype, 0);
	uint8_t *heap = st->heap;

	if (bf_lane(t))
		return;
	if (st->mype == 0) {
		bf_pause(t, 5000); /* the first entries are there */
		for (uint32_t i = 0; i < NOTES; i++)
			bf_ibgda_p(t, 1, st, qp, heap + 0x4000 + i * 8, i + 1, 8, i, BF_IBGDA_ALWAYS_POST);
		ck_assert_int_eq(bf_ibgda_quiet(t, st, qp), 0);
		return;
	}
	bf_ibgda_post_recv(t, st, qp, 32);
	for (uint32_t i = 0; i < NOTES; i++) {
		ck_assert_int_eq(bf_ibgda_poll_recv(t, st, qp, i + 1), 0);
		ck_assert_uint_eq(bf_ld_relaxed64(t, heap + 0x4000 + i * 8, BF_AT_SYS), i + 1);
		bf_ibgda_post_recv(t, st, qp, 1);
	}
}

START_TEST(receives_tell_of_data)
{
	for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++) {
		struct rig r = rig_default(BF_IBGDA_PUT);
		const struct bf_ibgda_qp *qp;

		r.world.ordering = (enum bf_ordering)o;
		r.host.heap_bytes = 1 << 16;
		r.host.qp_depth = 64;
		rig_open(&r);
		rig_run_kernel(&r, tell);
		ck_assert_msg(r.result.end == BF_END_DONE, "%s", r.result.report);
		qp = bf_ibgda_host_qp(r.h, 1, 0, 0);
		ck_assert_uint_eq(qp->mvars.rx_cons_idx, NOTES);
		ck_assert_uint_eq(qp->mvars.rx_resv_head, NOTES + 32);
		rig_close(&r);
	}
}
END_TEST

static void post_one_recv(struct bf_thread *t, void *arg)
{
	const struct bf_ibgda_job *job = arg;

	if (bf_lane(t) == 0)
		bf_ibgda_post_recv(t, job->state, bf_ibgda_rc(job->state, 1, 0), 1);
}

START_TEST(recv_lkey_swap)
{
	static const uint8_t ends[16] = { [6] = 1 }; /* no bytes, key 0x100 */
	static const uint8_t zero[16];

	for (int wrong = 0; wrong < 2; wrong++) {
		struct rig r = rig_default(BF_IBGDA_PUT);

		r.host.suspects = wrong ? BF_IBGDA_SUSPECT_RECV_LKEY_SWAP : 0;
		rig_open(&r);
		ck_assert_int_eq(r.be->launch(r.w, 0, 1, 1, post_one_recv, &r.job[0]), 0);
		ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
		ck_assert_mem_eq(bf_ibgda_host_qp(r.h, 0, 1, 0)->rx_wq.wqe, wrong ? zero : ends, 16);
		rig_close(&r);
	}
}
END_TEST

/* Which DCI each of four blocks of two warps gets, by policy. */
struct dealt {
	const struct bf_ibgda_job *job;
	uint32_t dci[8], dct[8];
};

static void deal(struct bf_thread *t, void *arg)
{
	struct dealt *d = arg;
	const uint32_t i = bf_block(t) * bf_warps(t) + bf_warp(t);
	const struct bf_ibgda_to to = bf_ibgda_select(t, d->job->state, 1, BF_IBGDA_QP_DEFAULT);

	if (bf_lane(t))
		return;
	d->dci[i] = to.qp->ordinal;
	d->dct[i] = to.dct;
}

START_TEST(initiators_by_policy)
{
	/* Six: four exclusive, two shared. By DCT: PE 1 has targets 2 and 3. */
	static const uint32_t want[][8] = {
		[BF_IBGDA_MAP_CTA] = { 0, 0, 1, 1, 2, 2, 3, 3 },
		[BF_IBGDA_MAP_SM] = { 0, 0, 1, 1, 2, 2, 3, 3 },
		[BF_IBGDA_MAP_WARP] = { 0, 1, 2, 3, 4, 5, 4, 5 },
		[BF_IBGDA_MAP_DCT] = { 2, 2, 3, 3, 2, 2, 3, 3 },
	};

	for (uint32_t map = BF_IBGDA_MAP_CTA; map <= BF_IBGDA_MAP_DCT; map++) {
		struct rig r = rig_default(BF_IBGDA_PUT);
		struct dealt d;

		r.host.no_rc = true;
		r.host.num_dci = 6;
		r.host.num_shared_dci = 2;
		r.host.num_dct = 2;
		r.host.dci_map = (enum bf_ibgda_dci_map)map;
		rig_open(&r);
		d.job = &r.job[0];
		ck_assert_int_eq(r.be->launch(r.w, 0, 4, 2, deal, &d), 0);
		ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
		for (uint32_t i = 0; i < 8; i++) {
			ck_assert_msg(d.dci[i] == want[map][i], "policy %u, warp %u: %u", map, i, d.dci[i]);
			ck_assert_uint_eq(d.dct[i], 2 + i / 2 % 2);
		}
		rig_close(&r);
	}
}
END_TEST

/* Turns among the default RCs, among all, and none for a handle; the counter wraps at 256. */
static void turns(struct bf_thread *t, void *arg)
{
	const struct bf_ibgda_job *job = arg;
	const struct bf_ibgda_state *st = job->state;
	uint32_t seen[2] = { 0, 0 };

	if (bf_lane(t))
		return;
	for (uint32_t i = 0; i < 512; i++)
		seen[bf_ibgda_select(t, st, 1, BF_IBGDA_QP_DEFAULT).qp == bf_ibgda_rc(st, 1, 0)]++;
	ck_assert_uint_eq(seen[0], 256);
	ck_assert_uint_eq(seen[1], 256);
	ck_assert_ptr_eq(bf_ibgda_select(t, st, 1, BF_IBGDA_QP_ANY).qp, bf_ibgda_rc(st, 1, 1));
	ck_assert_ptr_eq(bf_ibgda_select(t, st, 1, 1 * 2).qp, bf_ibgda_rc(st, 1, 1));
	ck_assert_ptr_eq(bf_ibgda_select(t, st, 0, 0).qp, &st->globalmem.dcis[0]);
}

START_TEST(queues_by_handle)
{
	struct rig r = rig_default(BF_IBGDA_PUT);

	r.host.num_dci = 1;
	r.host.num_dct = 1;
	rig_open(&r);
	ck_assert_int_eq(r.be->launch(r.w, 0, 1, 1, turns, &r.job[0]), 0);
	ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
	ck_assert_int_eq(r.result.end, BF_END_DONE);
	rig_close(&r);
}
END_TEST

/* From and to memory that is only registered: the first and the last byte belong to it, the one behind does not. */
struct outside {
	struct rig *r;
	uint8_t *memory;
	int last, behind;
};

static void use_outside(struct bf_thread *t, void *arg)
{
	struct outside *o = arg;
	const struct bf_ibgda_state *st = o->r->job[0].state;
	uint8_t *heap = st->heap;
	struct bf_ibgda_qp *qp = bf_ibgda_rc(st, 1, 0);

	if (bf_lane(t) == 0)
		bf_st_weak64(t, o->memory, 0x1122334455667788);
	bf_warp_sync(t, BF_FULL_WARP);
	bf_ibgda_put_nbi_warp(t, st, qp, heap + 0x4000, o->memory, 4096, BF_IBGDA_ALWAYS_POST);
	if (bf_lane(t))
		return;
	ck_assert_int_eq(bf_ibgda_quiet(t, st, qp), 0);
	o->last = bf_ibgda_get(t, 1, st, qp, o->memory + 4095, heap + 0x3000, 1, 1, BF_IBGDA_ALWAYS_POST);
	o->behind = bf_ibgda_get(t, 1, st, qp, o->memory + 4096, heap + 0x3000, 1, 1, BF_IBGDA_ALWAYS_POST);
}

START_TEST(local_memory_outside_the_heap)
{
	for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++) {
		struct rig r = rig_default(BF_IBGDA_PUT);
		struct outside out = { .r = &r };
		struct bf_memory m, two;

		r.world.ordering = (enum bf_ordering)o;
		r.host.heap_bytes = 1 << 16;
		rig_open(&r);
		for (uint32_t i = 0; i < 2; i++) {
			ck_assert_int_eq(
			    r.be->alloc(r.w, 0, BF_PLACE_HOST, 8192, i ? "more" : "outside", i ? &two : &m), 0);
			memset(i ? two.ptr : m.ptr, 0x21 + (int)i, 8192);
		}
		m.size = two.size = 4096;
		ck_assert_int_eq(bf_ibgda_host_register(r.h, 0, &m, true), 0);
		ck_assert_int_eq(bf_ibgda_host_register(r.h, 0, &two, true), 0);
		((uint8_t *)r.heap[1])[0x3000] = 0x99;
		out.memory = m.ptr;
		ck_assert_int_eq(r.be->launch(r.w, 0, 1, 1, use_outside, &out), 0);
		ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
		ck_assert_msg(r.result.end == BF_END_DONE, "%s", r.result.report);
		ck_assert_uint_eq(bf_get_le64((uint8_t *)r.heap[1] + 0x4000), 0x1122334455667788);
		ck_assert_uint_eq(((uint8_t *)r.heap[1])[0x4fff], 0x21);
		ck_assert_int_eq(out.last, 0);
		ck_assert_uint_eq(((uint8_t *)m.ptr)[4095], 0x99);
		ck_assert_int_eq(out.behind, BF_IBGDA_FAILED);
		ck_assert_uint_eq(((uint8_t *)m.ptr)[4096], 0x21);
		rig_close(&r);
	}
}
END_TEST

RIG_MAIN("ibgda_async", proxy_rings, async_cas_prod, receives_tell_of_data, recv_lkey_swap, initiators_by_policy,
	 queues_by_handle, local_memory_outside_the_heap)
