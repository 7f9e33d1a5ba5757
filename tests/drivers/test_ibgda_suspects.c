/*
 * What the reference sources are suspected to get wrong on the device side: what each variant does, and that the
 * correct twin under the same circumstances does not.
 */
#include "drivers/platform/platform_sim.h"

#include "drivers/ibgda/device.h"
#include "tests/drivers/rig.h"

#define AT 0x8000u
#define SRC 0x1000u

static struct rig rig_with(uint64_t suspects)
{
	struct rig r = rig_default(BF_IBGDA_PUT);

	r.world.npes = 3;
	r.world.limit_ps = 20 * BF_MS;
	r.host.suspects = suspects;
	r.host.num_rc_per_pe = 2;
	r.host.heap_bytes = 1 << 20;
	r.host.log2_granularity = 12;
	r.host.granules_per_mr = 1;
	return r;
}

/* Runs `kernel` as one warp of PE 0. */
static void run_on_0(struct rig *r, bf_kernel_fn *kernel, void *arg)
{
	rig_open(r);
	for (uint32_t pe = 0; pe < r->world.npes; pe++)
		memset(r->heap[pe], 0, 1 << 20);
	for (uint32_t i = 0; i < 0x3000; i++)
		((uint8_t *)r->heap[0])[SRC + i] = (uint8_t)(i * 5 + 1);
	ck_assert_int_eq(r->be->launch(r->w, 0, 1, 1, kernel, arg), 0);
	ck_assert_int_eq(r->be->run(r->w, &r->result), 0);
}

static bool arrived(const struct rig *r, uint32_t pe, uint32_t bytes)
{
	return !memcmp((uint8_t *)r->heap[pe] + AT, (uint8_t *)r->heap[0] + SRC, bytes);
}

static uint64_t posted(struct rig *r, uint32_t peer, uint32_t i)
{
	return bf_ibgda_host_qp(r->h, 0, peer, i)->mvars.ready_head;
}

/* A slow peer would still be at work when fence returns: so it is on a queue that fence skips. */
struct fenced {
	struct rig *r;
	int status;
	uint64_t done[3][2], ready[3][2];
};

static void put_and_fence(struct bf_thread *t, void *arg)
{
	struct fenced *f = arg;
	const struct bf_ibgda_state *st = f->r->job[0].state;

	for (uint32_t pe = 1; pe < 3; pe++)
		for (uint32_t i = 0; i < 2; i++)
			bf_ibgda_put_nbi_warp(t, st, bf_ibgda_rc(st, pe, i), (uint8_t *)st->heap + AT,
					      (const uint8_t *)st->heap + SRC, 0x3000, BF_IBGDA_ALWAYS_POST);
	f->status = bf_ibgda_pe_fence(t, BF_FULL_WARP, st);
	if (bf_lane(t))
		return;
	for (uint32_t pe = 1; pe < 3; pe++)
		for (uint32_t i = 0; i < 2; i++) {
			f->done[pe][i] = bf_ibgda_rc(st, pe, i)->mvars.cons_idx;
			f->ready[pe][i] = bf_ibgda_rc(st, pe, i)->mvars.ready_head;
		}
}

START_TEST(fence_divides)
{
	for (int wrong = 0; wrong < 2; wrong++) {
		struct rig r = rig_with(wrong ? BF_IBGDA_SUSPECT_FENCE_DIVIDES : 0);
		struct fenced f = { .r = &r };
		uint32_t left = 0;

		r.host.no_dc = true;
		run_on_0(&r, put_and_fence, &f);
		ck_assert_int_eq(r.result.end, BF_END_DONE);
		for (uint32_t pe = 1; pe < 3; pe++)
			for (uint32_t i = 0; i < 2; i++)
				left += f.done[pe][i] < f.ready[pe][i];
		/* Entries 0 and 1 are skipped, of which 1 leads to PE 1; entry 3, the PE's own, is touched. */
		ck_assert_uint_eq(left, wrong ? 1 : 0);
		ck_assert_int_eq(f.status, wrong ? BF_IBGDA_FAILED : 0);
		rig_close(&r);
	}
}
END_TEST

struct quieted {
	struct rig *r;
	uint32_t handles[1];
	bool complete;
};

static void put_and_qp_quiet(struct bf_thread *t, void *arg)
{
	struct quieted *q = arg;
	const struct bf_ibgda_state *st = q->r->job[0].state;
	const struct bf_ibgda_qp *qp = bf_ibgda_rc(st, 2, q->handles[0] / 3);

	ck_assert_int_eq(bf_ibgda_pe_put_nbi_warp(t, st, 2, q->handles[0], (uint8_t *)st->heap + AT,
						  (const uint8_t *)st->heap + SRC, 0x3000),
			 0);
	ck_assert_int_eq(bf_ibgda_qp_quiet(t, BF_FULL_WARP, st, q->handles, 1), 0);
	if (bf_lane(t) == 0)
		q->complete = qp->mvars.ready_head && qp->mvars.cons_idx == qp->mvars.ready_head;
}

START_TEST(qp_quiet_ignores_handle)
{
	for (int wrong = 0; wrong < 2; wrong++) {
		struct rig r = rig_with(wrong ? BF_IBGDA_SUSPECT_QP_QUIET_IGNORES_HANDLE : 0);
		struct quieted q = { .r = &r, .handles = { 1 * 3 } };

		run_on_0(&r, put_and_qp_quiet, &q);
		ck_assert_int_eq(r.result.end, BF_END_DONE);
		ck_assert_int_eq(q.complete, !wrong);
		rig_close(&r);
	}
}
END_TEST

/* Twenty pages between places that are half a page apart: 40 pieces by the first queue, which the caller named. */
static void many_pieces(struct bf_thread *t, void *arg)
{
	const struct rig *r = arg;
	const struct bf_ibgda_state *st = r->job[0].state;

	ck_assert_int_eq(bf_ibgda_pe_put_nbi_warp(t, st, 1, 0, (uint8_t *)st->heap + AT + 0x800,
						  (const uint8_t *)st->heap + SRC, 20 * 4096),
			 0);
	ck_assert_int_eq(bf_ibgda_pe_quiet(t, BF_FULL_WARP, st), 0);
}

/* The default's first turn is the second queue. */
START_TEST(put_loses_qp_index)
{
	for (int wrong = 0; wrong < 2; wrong++) {
		struct rig r = rig_with(wrong ? BF_IBGDA_SUSPECT_PUT_LOSES_QP_INDEX : 0);

		run_on_0(&r, many_pieces, &r);
		ck_assert_int_eq(r.result.end, BF_END_DONE);
		ck_assert(!memcmp((uint8_t *)r.heap[1] + AT + 0x800, (uint8_t *)r.heap[0] + SRC, 0x3000));
		ck_assert_uint_eq(posted(&r, 1, 0), wrong ? 0 : 40);
		ck_assert_uint_eq(posted(&r, 1, 1), wrong ? 40 : 0);
		rig_close(&r);
	}
}
END_TEST

static void signal_in_pieces(struct bf_thread *t, void *arg)
{
	const struct rig *r = arg;
	const struct bf_ibgda_state *st = r->job[0].state;
	struct bf_ibgda_signal add = { .addr = (uint8_t *)st->heap + 0x20000, .value = 1, .op = BF_IBGDA_AMO_ADD };

	if (bf_lane(t))
		return;
	ck_assert_int_eq(bf_ibgda_pe_put_signal(t, 1, st, 1, 0, (uint8_t *)st->heap + AT,
						(const uint8_t *)st->heap + SRC, 0x3000, &add),
			 0);
	ck_assert_int_eq(bf_ibgda_pe_quiet(t, 1, st), 0);
}

/* On two queues nothing keeps the signal behind the data; on one, the connection does. */
START_TEST(signal_loses_qp_index)
{
	for (int wrong = 0; wrong < 2; wrong++) {
		struct rig r = rig_with(wrong ? BF_IBGDA_SUSPECT_SIGNAL_LOSES_QP_INDEX : 0);

		run_on_0(&r, signal_in_pieces, &r);
		ck_assert_int_eq(r.result.end, BF_END_DONE);
		ck_assert(arrived(&r, 1, 0x3000));
		ck_assert_uint_eq(bf_get_le64((uint8_t *)r.heap[1] + 0x20000), 1);
		/* Source and target begin on granules: three pieces and the signal. */
		ck_assert_uint_eq(posted(&r, 1, 0), wrong ? 1 : 4);
		ck_assert_uint_eq(posted(&r, 1, 1), wrong ? 3 : 0);
		rig_close(&r);
	}
}
END_TEST

static void pairs(struct bf_thread *t, void *arg)
{
	const struct rig *r = arg;
	const struct bf_ibgda_state *st = r->job[0].state;
	uint8_t *heap = st->heap;
	const uint32_t lane = bf_lane(t);
	struct bf_ibgda_signal add = { .addr = heap + 0x20000 + lane * 8, .value = 1, .op = BF_IBGDA_AMO_ADD };

	/* Something before, so that the group does not begin at slot 0. */
	bf_ibgda_put_nbi_warp(t, st, bf_ibgda_rc(st, 1, 0), heap + 0x30000, heap + SRC, 64, BF_IBGDA_ALWAYS_POST);
	bf_ibgda_put_signal(t, BF_FULL_WARP, st, bf_ibgda_rc(st, 1, 0), heap + AT + lane * 16, heap + SRC + lane * 16,
			    16, &add, BF_IBGDA_ALWAYS_POST);
	if (lane == 0)
		bf_ibgda_quiet(t, st, bf_ibgda_rc(st, 1, 0));
}

START_TEST(base_not_broadcast)
{
	for (int wrong = 0; wrong < 2; wrong++)
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct rig r = rig_with(wrong ? BF_IBGDA_SUSPECT_BASE_NOT_BROADCAST : 0);
			uint32_t signals = 0;

			r.world.seed = seed;
			run_on_0(&r, pairs, &r);
			for (uint32_t i = 0; i < BF_LANES; i++)
				signals += bf_get_le64((uint8_t *)r.heap[1] + 0x20000 + i * 8) == 1;
			ck_assert_int_eq(arrived(&r, 1, 512) && signals == BF_LANES && r.result.end == BF_END_DONE,
					 !wrong);
			rig_close(&r);
		}
}
END_TEST

/* The source lies in granule 100: its key is in the overflow table. */
static void put_from_far(struct bf_thread *t, void *arg)
{
	const struct rig *r = arg;
	const struct bf_ibgda_state *st = r->job[0].state;
	uint8_t *heap = st->heap;
	struct bf_ibgda_qp *qp = bf_ibgda_rc(st, 1, 0);

	bf_ibgda_put_nbi_warp(t, st, qp, heap + AT, heap + 100 * 4096, 64, BF_IBGDA_ALWAYS_POST);
	if (bf_lane(t) == 0)
		bf_ibgda_quiet(t, st, qp);
}

START_TEST(lkey_no_overflow)
{
	for (int wrong = 0; wrong < 2; wrong++) {
		struct rig r = rig_with(wrong ? BF_IBGDA_SUSPECT_LKEY_NO_OVERFLOW : 0);

		rig_open(&r);
		memset(r.heap[0], 0x33, 1 << 20);
		memset(r.heap[1], 0, 1 << 20);
		ck_assert_int_eq(r.be->launch(r.w, 0, 1, 1, put_from_far, &r), 0);
		ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
		ck_assert_uint_eq(((uint8_t *)r.heap[1])[AT + 63], wrong ? 0 : 0x33);
		ck_assert_uint_eq(bf_ibgda_host_qp(r.h, 0, 1, 0)->mvars.status, wrong ? BF_MLX5_SYND_LOCAL_PROT : 0);
		rig_close(&r);
	}
}
END_TEST

static void put_to_2(struct bf_thread *t, void *arg)
{
	const struct rig *r = arg;
	const struct bf_ibgda_state *st = r->job[0].state;
	struct bf_ibgda_qp *qp = bf_ibgda_rc(st, 2, 1);

	if (!qp->tx_wq.cq)
		return; /* a GPU would fault */
	bf_ibgda_put_nbi_warp(t, st, qp, (uint8_t *)st->heap + AT, (const uint8_t *)st->heap + SRC, 64,
			      BF_IBGDA_ALWAYS_POST);
	if (bf_lane(t) == 0)
		ck_assert_int_eq(bf_ibgda_quiet(t, st, qp), 0);
}

/* Number 0 of PE 1 is entry 1 by (i, PE), and entry 2, which is PE 2's, by (PE, i). Number 1 of PE 2 is entry 5 both
 * ways. */
static void put_to_1(struct bf_thread *t, void *arg)
{
	const struct rig *r = arg;
	const struct bf_ibgda_state *st = r->job[0].state;
	struct bf_ibgda_qp *qp = bf_ibgda_rc(st, 1, 0);

	bf_ibgda_put_nbi_warp(t, st, qp, (uint8_t *)st->heap + AT, (const uint8_t *)st->heap + SRC, 64,
			      BF_IBGDA_ALWAYS_POST);
	if (bf_lane(t) == 0)
		ck_assert_int_eq(bf_ibgda_quiet(t, st, qp), 0);
}

START_TEST(rc_order_v1)
{
	for (int wrong = 0; wrong < 2; wrong++) {
		struct rig r = rig_with(wrong ? BF_IBGDA_SUSPECT_RC_ORDER_V1 : 0);

		run_on_0(&r, put_to_1, &r);
		ck_assert_int_eq(r.result.end, BF_END_DONE);
		ck_assert_int_eq(arrived(&r, 1, 64), !wrong);
		ck_assert_int_eq(arrived(&r, 2, 64), wrong);
		rig_close(&r);
		/* Where both orders agree nothing shows. */
		r = rig_with(wrong ? BF_IBGDA_SUSPECT_RC_ORDER_V1 : 0);
		run_on_0(&r, put_to_2, &r);
		ck_assert(arrived(&r, 2, 64));
		rig_close(&r);
	}
}
END_TEST

START_TEST(every_bit_has_a_name)
{
	uint64_t all = 0;

	for (const struct bf_ibgda_suspect *s = bf_ibgda_suspects; s->name; s++) {
		ck_assert_uint_eq(all & s->bit, 0);
		ck_assert_ptr_nonnull(s->summary);
		ck_assert_int_eq(s->side, s->bit < BF_IBGDA_SUSPECT_EPS_INDEX_DEVICE0 ? BF_IBGDA_DEVICE_SIDE
										      : BF_IBGDA_HOST_SIDE);
		all |= s->bit;
	}
	ck_assert_uint_eq(all, 0x1ff01ffull);
}
END_TEST

RIG_MAIN("ibgda_suspects", fence_divides, qp_quiet_ignores_handle, put_loses_qp_index, signal_loses_qp_index,
	 base_not_broadcast, lkey_no_overflow, rc_order_v1, every_bit_has_a_name)
