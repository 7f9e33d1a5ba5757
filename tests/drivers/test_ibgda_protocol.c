/* The steps of the send path by themselves: reservation, order of publication, batches, ibuf tickets, records of it
 * all. */
#include "drivers/platform/platform_sim.h"

#include "drivers/ibgda/device.h"
#include "tests/drivers/rig.h"

static struct bf_ibgda_qp *first_qp(const struct bf_ibgda_job *job)
{
	return bf_ibgda_rc(job->state, 1 - job->state->mype, 0);
}

/* A NOP from each lane, one reservation each; lanes of two warps interleave. */
static void nops(struct bf_thread *t, void *arg)
{
	const struct bf_ibgda_job *job = arg;
	struct bf_ibgda_qp *qp = first_qp(job);

	for (uint32_t i = 0; i < job->shape.messages; i++) {
		const uint64_t idx = bf_ibgda_reserve(t, job->state, qp, 1);
		struct bf_ibgda_wqe w;

		bf_ibgda_wqe_nop(&w, qp->qpn, idx, 2, BF_IBGDA_SIGNALLED);
		bf_ibgda_wqe_store(t, qp, idx, &w, 1);
		bf_ibgda_submit(t, job->state, qp, idx, 1, BF_IBGDA_ALWAYS_POST);
	}
	ck_assert_int_eq(bf_ibgda_quiet(t, job->state, qp), 0);
}

/* A sink that follows one queue's counters through the driver's own records. */
struct follow {
	struct bf_sink sink;
	uint32_t qpn;
	uint64_t reserved, published, posted, done;
	uint32_t posts, publishes, builds, wrong;
};

static int follow_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	(void)s, (void)schema;
	return 0;
}

static int follow_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	(void)s, (void)actor, (void)kind, (void)name;
	return 0;
}

static void follow_one(struct follow *f, uint16_t type, const void *fixed)
{
	if (type == BF_REC_ID_ibgda_reserve) {
		const struct bf_rec_ibgda_reserve *r = fixed;

		if (r->qpn == f->qpn)
			f->reserved += r->count;
	} else if (type == BF_REC_ID_ibgda_build) {
		const struct bf_rec_ibgda_build *r = fixed;

		f->builds += r->qpn == f->qpn;
	} else if (type == BF_REC_ID_ibgda_publish) {
		const struct bf_rec_ibgda_publish *r = fixed;

		if (r->qpn != f->qpn)
			return;
		f->published += r->count;
		f->publishes++;
		f->wrong += r->base + r->count > f->reserved;
	} else if (type == BF_REC_ID_ibgda_post) {
		const struct bf_rec_ibgda_post *r = fixed;

		if (r->qpn != f->qpn)
			return;
		f->posts++;
		f->wrong += r->from != f->posted || r->dbrec != (r->to & 0xffff);
		f->posted = r->to;
	} else if (type == BF_REC_ID_ibgda_poll) {
		const struct bf_rec_ibgda_poll *r = fixed;

		if (r->qpn == f->qpn && r->done > f->done)
			f->done = r->done;
	}
}

static int follow_write(struct bf_sink *s, const void *records, size_t len)
{
	struct follow *f = BF_CONTAINER_OF(s, struct follow, sink);

	for (size_t at = 0; at < len;) {
		struct bf_rec_header head;

		memcpy(&head, (const uint8_t *)records + at, sizeof(head));
		follow_one(f, head.type, (const uint8_t *)records + at + sizeof(head));
		at += bf_record_span(&head);
	}
	return 0;
}

static struct follow follow_new(void)
{
	return (struct follow){
		.sink = { .declare_type = follow_type, .declare_actor = follow_actor, .write = follow_write }
	};
}

/* Slots go out in order, each once; every entry is reserved, built, published, posted and returned. */
START_TEST(life_of_entries_is_whole)
{
	for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++) {
		struct follow f = follow_new();
		struct rig r = rig_default(BF_IBGDA_PUT);
		const struct bf_ibgda_mvars *mv;

		r.world.ordering = (enum bf_ordering)o;
		r.world.record_mask = BF_CLASS_DRIVER;
		r.world.sink = &f.sink;
		r.shape.warps = 2;
		r.shape.messages = 30;
		r.host.num_rc_per_pe = 1;
		rig_open(&r);
		f.qpn = bf_ibgda_host_qp(r.h, 0, 1, 0)->qpn;
		ck_assert_uint_ne(f.qpn, 0);
		ck_assert_int_eq(r.be->launch(r.w, 0, 1, 2, nops, &r.job[0]), 0);
		ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
		ck_assert_int_eq(r.result.end, BF_END_DONE);
		mv = &bf_ibgda_host_qp(r.h, 0, 1, 0)->mvars;
		ck_assert_uint_eq(mv->resv_head, 64 * 30);
		ck_assert_uint_eq(mv->ready_head, 64 * 30);
		ck_assert_uint_eq(mv->prod_idx, 64 * 30);
		ck_assert_uint_eq(mv->cons_idx, 64 * 30);
		ck_assert_uint_eq(f.reserved, 64 * 30);
		ck_assert_uint_eq(f.builds, 64 * 30);
		ck_assert_uint_eq(f.published, 64 * 30);
		ck_assert_uint_eq(f.posted, 64 * 30);
		ck_assert_uint_eq(f.done, 64 * 30);
		ck_assert_uint_eq(f.wrong, 0);
		/* Many submitters leave the ringing to those behind them. */
		ck_assert_uint_lt(f.posts, f.publishes);
		rig_close(&r);
	}
}
END_TEST

/* NVSHMEM's three conditions for ringing, and DeepEP's two. */
static void batching(struct bf_thread *t, void *arg)
{
	const struct bf_ibgda_job *job = arg;
	struct bf_ibgda_state st = *job->state;
	struct bf_ibgda_mvars *mv = &first_qp(job)->mvars;

	if (bf_lane(t))
		return;
	st.batch = 32;
	mv->resv_head = 100;
	ck_assert_int_eq(bf_ibgda_batch_rings(t, &st, first_qp(job), 97, 3), 1); /* nobody behind */
	ck_assert_int_eq(bf_ibgda_batch_rings(t, &st, first_qp(job), 97, 2), 0); /* somebody behind */
	ck_assert_int_eq(bf_ibgda_batch_rings(t, &st, first_qp(job), 94, 2), 1); /* reaches batch 96.. */
	ck_assert_int_eq(bf_ibgda_batch_rings(t, &st, first_qp(job), 94, 1), 0);
	ck_assert_int_eq(bf_ibgda_batch_rings(t, &st, first_qp(job), 32, 32), 1); /* a batch by itself */
	mv->resv_head = 0;
	for (uint32_t m = 0; m < 12; m++)
		ck_assert_int_eq(bf_ibgda_message_rings(&st, m), m % 4 == 3);
	ck_assert_int_eq(bf_ibgda_message_rings(&st, BF_IBGDA_ALWAYS_POST), 1);
}

/* Tickets of 40 lanes on 32 slots: never more than 32 out, given back in order, slots never shared. */
struct tickets {
	struct bf_ibgda_job *job;
	uint32_t out, most, owner[64], clashes;
};

static void take_and_give(struct bf_thread *t, void *arg)
{
	struct tickets *k = arg;
	struct bf_ibgda_qp *qp = first_qp(k->job);

	for (uint32_t i = 0; i < 20; i++) {
		const uint32_t n = 1 + (bf_lane(t) + i) % 5;
		const uint64_t base = bf_ibgda_ibuf_take(t, k->job->state, qp, n);

		for (uint32_t j = 0; j < n; j++)
			k->clashes += k->owner[(base + j) % 32]++ != 0;
		k->out += n;
		k->most = k->out > k->most ? k->out : k->most;
		bf_pause(t, 100 + (bf_lane(t) * 37 + i * 11) % 300);
		for (uint32_t j = 0; j < n; j++)
			k->owner[(base + j) % 32]--;
		k->out -= n;
		bf_ibgda_ibuf_give(t, qp, base, n);
	}
}

START_TEST(batching_rules)
{
	struct rig r = rig_default(BF_IBGDA_PUT);

	rig_open(&r);
	ck_assert_int_eq(r.be->launch(r.w, 0, 1, 1, batching, &r.job[0]), 0);
	ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
	rig_close(&r);
}
END_TEST

START_TEST(ibuf_tickets)
{
	struct rig r = rig_default(BF_IBGDA_PUT);
	struct tickets k = { 0 };
	const struct bf_ibgda_qp *qp;

	r.host.ibuf_slots = 32;
	rig_open(&r);
	k.job = &r.job[0];
	ck_assert_int_eq(r.be->launch(r.w, 0, 1, 2, take_and_give, &k), 0);
	ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
	ck_assert_int_eq(r.result.end, BF_END_DONE);
	qp = bf_ibgda_host_qp(r.h, 0, 1, 0);
	ck_assert_uint_eq(k.clashes, 0);
	ck_assert_uint_gt(k.most, 24);
	ck_assert_uint_le(k.most, 32);
	ck_assert_uint_eq(qp->mvars.ibuf_head, qp->mvars.ibuf_tail);
	/* Slot 0 of the buffer is nobody's: tickets begin behind it. */
	ck_assert_uint_eq(bf_ibgda_ibuf_offset(qp, 0), 256);
	ck_assert_uint_eq(bf_ibgda_ibuf_offset(qp, 31), 256 * 32);
	ck_assert_uint_eq(bf_ibgda_ibuf_offset(qp, 32), 256);
	rig_close(&r);
}
END_TEST

/* What the workloads do not use: a warp's combined p of each size around the ring's end, g, put-with-signal that sets.
 */
static void others(struct bf_thread *t, void *arg)
{
	const struct bf_ibgda_job *job = arg;
	const struct bf_ibgda_state *st = job->state;
	struct bf_ibgda_qp *qp = first_qp(job);
	uint8_t *heap = st->heap;
	const uint32_t lane = bf_lane(t);
	struct bf_ibgda_signal set = { .addr = heap + 0xa000, .value = 0x1234, .op = BF_IBGDA_AMO_SET };
	uint64_t v;

	for (uint32_t round = 0; round < 20; round++)
		for (uint32_t bytes = 1; bytes <= 8; bytes *= 2)
			bf_ibgda_p_warp(t, st, qp, heap + bytes * 0x1000, 0x0102030405060700ull + lane + round, bytes,
					BF_IBGDA_ALWAYS_POST);
	bf_ibgda_put_signal_warp(t, st, qp, heap + 0x9000, heap + 0xb000, 64, &set, BF_IBGDA_ALWAYS_POST);
	if (lane == 0)
		ck_assert_int_eq(bf_ibgda_quiet(t, st, qp), 0);
	bf_warp_sync(t, BF_FULL_WARP);
	ck_assert_int_eq(bf_ibgda_g(t, BF_FULL_WARP, st, qp, heap + 0xc000 + lane * 8, 4, &v), 0);
	ck_assert_uint_eq(v, 0xabcd0000u + lane);
}

START_TEST(other_operations)
{
	for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++) {
		struct rig r = rig_default(BF_IBGDA_PUT);
		uint8_t *there;

		r.world.ordering = (enum bf_ordering)o;
		r.host.heap_bytes = 1 << 20;
		r.host.qp_depth = 64;
		r.host.num_rc_per_pe = 1;
		rig_open(&r);
		there = r.heap[1];
		memset(r.heap[0], 0, 1 << 20);
		memset(there, 0, 1 << 20);
		memset((uint8_t *)r.heap[0] + 0xb000, 0x5a, 64);
		for (uint32_t i = 0; i < BF_LANES; i++)
			bf_put_le64(there + 0xc000 + i * 8, 0x99999999abcd0000ull + i);
		ck_assert_int_eq(r.be->launch(r.w, 0, 1, 1, others, &r.job[0]), 0);
		ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
		ck_assert_msg(r.result.end == BF_END_DONE, "%s", r.result.report);
		for (uint32_t i = 0; i < BF_LANES; i++) {
			const uint64_t want = 0x0102030405060700ull + i + 19;

			ck_assert_uint_eq(there[0x1000 + i], want & 0xff);
			ck_assert_uint_eq(bf_get_le16(there + 0x2000 + i * 2), want & 0xffff);
			ck_assert_uint_eq(bf_get_le32(there + 0x4000 + i * 4), want & 0xffffffffu);
			ck_assert_uint_eq(bf_get_le64(there + 0x8000 + i * 8), want);
		}
		ck_assert_uint_eq(bf_get_le64(there + 0xa000), 0x1234);
		ck_assert_uint_eq(there[0x9000], 0x5a);
		ck_assert_uint_eq(there[0x903f], 0x5a);
		ck_assert_uint_eq(there[0x9040], 0);
		rig_close(&r);
	}
}
END_TEST

RIG_MAIN("ibgda_protocol", life_of_entries_is_whole, batching_rules, ibuf_tickets, other_operations)
