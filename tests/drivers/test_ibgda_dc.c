/*
 * Operations by PE over RCs and over DC initiators, with compact and with full address vectors, to another PE and to
 * oneself: what they do to memory, how many blocks their entries take, and where the address vector lies in them.
 */
#include "drivers/platform/platform_sim.h"

#include "drivers/ibgda/device.h"
#include "tests/drivers/rig.h"

enum kind { OVER_RC, COMPACT, FULL, KINDS };

#define AT_SRC 0x1000u
#define AT_PUT 0x10000u   /* 200 bytes by a warp */
#define AT_LANES 0x11000u /* 40 bytes by each lane */
#define AT_P 0x12000u     /* values of bytes * 0x100 + lane */
#define AT_COUNT 0x14000u
#define AT_SIGNAL 0x15000u /* a word for each lane, data at AT_PAIR */
#define AT_PAIR 0x16000u
#define AT_GET 0x18000u  /* of this PE: what was fetched */
#define AT_TOLD 0x20000u /* of this PE: what g and a fetching add returned, and blocks of operations */

/* Operations to `pe` whose results the host checks. Lanes act together or each for itself. */
static int operate(struct bf_thread *t, const struct bf_ibgda_state *st, uint32_t pe)
{
	uint8_t *heap = st->heap;
	const uint32_t lane = bf_lane(t);
	const uint32_t mine = st->mype == pe ? 0x40000 : 0; /* areas of a PE's own traffic lie apart */
	struct bf_ibgda_signal add = { .addr = heap + mine + AT_SIGNAL + lane * 8, .value = 3 };
	struct bf_ibgda_amo amo = { .op = BF_IBGDA_AMO_ADD, .bytes = 8, .addr = heap + mine + AT_COUNT, .operand = 1 };
	uint64_t v = 0, old = 0;
	int bad = 0;

	add.op = BF_IBGDA_AMO_ADD;
	bad |= bf_ibgda_pe_put_nbi_warp(t, st, pe, BF_IBGDA_QP_ANY, heap + mine + AT_PUT, heap + AT_SRC, 200);
	bad |= bf_ibgda_pe_put_nbi(t, BF_FULL_WARP, st, pe, BF_IBGDA_QP_DEFAULT, heap + mine + AT_LANES + lane * 40,
				   heap + AT_SRC + lane, 40);
	for (uint32_t bytes = 1; bytes <= 8; bytes *= 2)
		bad |= bf_ibgda_pe_p(t, BF_FULL_WARP, st, pe, BF_IBGDA_QP_DEFAULT,
				     heap + mine + AT_P + bytes * 0x200 + lane * bytes, 0x0807060504030200ull + lane,
				     bytes);
	bad |= bf_ibgda_pe_put_signal(t, BF_FULL_WARP, st, pe, BF_IBGDA_QP_DEFAULT, heap + mine + AT_PAIR + lane * 16,
				      heap + AT_SRC + lane * 16, 16, &add);
	bad |= bf_ibgda_pe_amo_nonfetch(t, BF_FULL_WARP, st, pe, BF_IBGDA_QP_DEFAULT, &amo);
	amo.op = BF_IBGDA_AMO_SET;
	amo.addr = heap + mine + AT_COUNT + 64 + lane * 8;
	amo.operand = 1000 + lane;
	bad |= bf_ibgda_pe_amo_nonfetch(t, BF_FULL_WARP, st, pe, BF_IBGDA_QP_DEFAULT, &amo);
	bad |= bf_ibgda_pe_quiet(t, BF_FULL_WARP, st);
	bad |= bf_ibgda_pe_get(t, BF_FULL_WARP, st, pe, BF_IBGDA_QP_DEFAULT, heap + mine + AT_GET + lane * 24,
			       heap + AT_SRC + lane * 8, 24, 1);
	bad |=
	    bf_ibgda_pe_get_warp(t, st, pe, BF_IBGDA_QP_DEFAULT, heap + mine + AT_GET + 0x400, heap + AT_SRC, 300, 1);
	bad |= bf_ibgda_pe_g(t, BF_FULL_WARP, st, pe, BF_IBGDA_QP_DEFAULT, heap + AT_SRC + lane * 8, 8, &v);
	amo.op = BF_IBGDA_AMO_ADD;
	amo.addr = heap + mine + AT_COUNT + 8;
	amo.operand = 1;
	bad |= bf_ibgda_pe_amo_fetch(t, BF_FULL_WARP, st, pe, BF_IBGDA_QP_DEFAULT, &amo, &old);
	bf_st_relaxed64(t, heap + mine + AT_TOLD + lane * 16, v, BF_AT_SYS);
	bf_st_relaxed64(t, heap + mine + AT_TOLD + lane * 16 + 8, old, BF_AT_SYS);
	return bad;
}

static void both_ways(struct bf_thread *t, void *arg)
{
	const struct bf_ibgda_job *job = arg;

	ck_assert_int_eq(operate(t, job->state, 1 - job->state->mype), 0);
	ck_assert_int_eq(operate(t, job->state, job->state->mype), 0);
	ck_assert_int_eq(bf_ibgda_enforce_consistency(t, job->state, 1), 0);
}

static struct rig rig_of(enum kind kind)
{
	struct rig r = rig_default(BF_IBGDA_PUT);

	r.world.limit_ps = 100 * BF_MS;
	r.host.heap_bytes = 1 << 20;
	r.host.num_dct = 2;
	r.host.num_dci = 1;
	r.host.no_rc = kind != OVER_RC;
	r.host.full_av = kind == FULL;
	r.host.qp_depth = 256;
	return r;
}

static uint8_t *fill(struct rig *r, uint32_t pe)
{
	uint8_t *heap = r->heap[pe];

	memset(heap, 0, 1 << 20);
	for (uint32_t i = 0; i < 0x400; i++)
		heap[AT_SRC + i] = (uint8_t)(i * 7 + pe * 3 + (i >> 8));
	return heap;
}

/* What `from` did is in the heap `there`; its own results are in `here`. */
static void check(const uint8_t *here, const uint8_t *there, uint32_t mine)
{
	const uint8_t *src = here + AT_SRC;
	uint64_t olds = 0;

	ck_assert_mem_eq(there + mine + AT_PUT, src, 200);
	ck_assert_uint_eq(there[mine + AT_PUT + 200], 0);
	ck_assert_uint_eq(bf_get_le64(there + mine + AT_COUNT), 32);
	ck_assert_uint_eq(bf_get_le64(there + mine + AT_COUNT + 8), 32);
	for (uint32_t i = 0; i < BF_LANES; i++) {
		ck_assert_mem_eq(there + mine + AT_LANES + i * 40, src + i, 40);
		for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
			const uint64_t want = 0x0807060504030200ull + i;

			ck_assert_mem_eq(there + mine + AT_P + bytes * 0x200 + i * bytes, &want, bytes);
		}
		ck_assert_mem_eq(there + mine + AT_PAIR + i * 16, src + i * 16, 16);
		ck_assert_uint_eq(bf_get_le64(there + mine + AT_SIGNAL + i * 8), 3);
		ck_assert_uint_eq(bf_get_le64(there + mine + AT_COUNT + 64 + i * 8), 1000 + i);
		ck_assert_mem_eq(here + mine + AT_GET + i * 24, there + AT_SRC + i * 8, 24);
		ck_assert_uint_eq(bf_get_le64(here + mine + AT_TOLD + i * 16), bf_get_le64(there + AT_SRC + i * 8));
		olds |= 1ull << bf_get_le64(here + mine + AT_TOLD + i * 16 + 8);
	}
	ck_assert_mem_eq(here + mine + AT_GET + 0x400, there + AT_SRC, 300);
	ck_assert_uint_eq(olds, 0xffffffffu);
}

START_TEST(every_operation_over_every_transport)
{
	for (uint32_t kind = 0; kind < KINDS; kind++)
		for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
			for (uint64_t seed = 1; seed <= 3; seed++) {
				struct rig r = rig_of((enum kind)kind);
				uint8_t *heap[2];

				r.world.ordering = (enum bf_ordering)o;
				r.world.seed = seed;
				rig_open(&r);
				heap[0] = fill(&r, 0);
				heap[1] = fill(&r, 1);
				rig_run_kernel(&r, both_ways);
				ck_assert_msg(r.result.end == BF_END_DONE, "%s", r.result.report);
				check(heap[0], heap[1], 0);
				check(heap[1], heap[0], 0);
				check(heap[0], heap[0], 0x40000);
				check(heap[1], heap[1], 0x40000);
				rig_close(&r);
			}
}
END_TEST

static struct bf_ibgda_qp *only_qp(struct bf_ibgda_job *job)
{
	const struct bf_ibgda_state *st = job->state;

	return st->num_rc_per_pe ? bf_ibgda_rc(st, 1 - st->mype, 0) : &st->globalmem.dcis[0];
}

/* Blocks of one call of lane 0, or of the warp. */
static void count_blocks(struct bf_thread *t, void *arg)
{
	struct bf_ibgda_job *job = arg;
	const struct bf_ibgda_state *st = job->state;
	uint64_t *head = &only_qp(job)->mvars.resv_head;
	uint8_t *heap = st->heap;
	struct bf_ibgda_amo amo = { .op = BF_IBGDA_AMO_ADD, .bytes = 8, .addr = heap + AT_COUNT, .operand = 1 };
	struct bf_ibgda_signal signal = { .addr = heap + AT_SIGNAL, .value = 1 };
	uint64_t at[12], v;
	uint32_t n = 0;

	signal.op = BF_IBGDA_AMO_SET;
	for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
		at[n++] = *head;
		bf_ibgda_pe_p(t, BF_FULL_WARP, st, 1, 0, heap + AT_P + bf_lane(t) * bytes, 1, bytes);
		bf_warp_sync(t, BF_FULL_WARP);
	}
	if (bf_lane(t) == 0) {
		at[n++] = *head;
		bf_ibgda_pe_put_nbi(t, 1, st, 1, 0, heap + AT_PUT, heap + AT_SRC, 64);
		at[n++] = *head;
		bf_ibgda_pe_p(t, 1, st, 1, 0, heap + AT_P, 1, 4);
		at[n++] = *head;
		bf_ibgda_pe_amo_nonfetch(t, 1, st, 1, 0, &amo);
		at[n++] = *head;
		amo.op = BF_IBGDA_AMO_SET;
		bf_ibgda_pe_amo_nonfetch(t, 1, st, 1, 0, &amo);
		at[n++] = *head;
		bf_ibgda_pe_put_signal(t, 1, st, 1, 0, heap + AT_PUT, heap + AT_SRC, 64, &signal);
		at[n++] = *head;
		bf_ibgda_pe_g(t, 1, st, 1, 0, heap + AT_SRC, 4, &v);
		at[n++] = *head;
		for (uint32_t i = 0; i + 1 < n; i++)
			bf_st_relaxed64(t, heap + AT_TOLD + i * 8, at[i + 1] - at[i], BF_AT_SYS);
	}
}

START_TEST(blocks_of_entries)
{
	/* p of a warp: 1, 2, 4, 8 bytes; put; p; add; set; put with signal; g: each with what completes it. */
	static const uint32_t want[KINDS][10] = {
		[OVER_RC] = { 3, 3, 4, 6, 1, 1, 1, 3, 4, 2 },
		[COMPACT] = { 3, 3, 4, 8, 1, 1, 3, 3, 4, 2 },
		[FULL] = { 65, 65, 65, 65, 3, 3, 3, 3, 5, 3 },
	};

	for (uint32_t kind = 0; kind < KINDS; kind++) {
		struct rig r = rig_of((enum kind)kind);
		const uint8_t *heap;

		r.host.num_rc_per_pe = 1;
		rig_open(&r);
		heap = fill(&r, 0);
		ck_assert_int_eq(r.be->launch(r.w, 0, 1, 1, count_blocks, &r.job[0]), 0);
		ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
		ck_assert_msg(r.result.end == BF_END_DONE, "%s", r.result.report);
		for (uint32_t i = 0; i < 10; i++)
			ck_assert_msg(bf_get_le64(heap + AT_TOLD + i * 8) == want[kind][i], "kind %u, operation %u: %u",
				      kind, i, (unsigned)bf_get_le64(heap + AT_TOLD + i * 8));
		rig_close(&r);
	}
}
END_TEST

static void one_put(struct bf_thread *t, void *arg)
{
	const struct bf_ibgda_job *job = arg;
	uint8_t *heap = job->state->heap;

	if (bf_lane(t))
		return;
	bf_ibgda_pe_put_nbi(t, 1, job->state, 1, 0, heap + AT_PUT, heap + AT_SRC, 64);
	ck_assert_int_eq(bf_ibgda_pe_quiet(t, 1, job->state), 0);
}

/* Control segment, address vector, remote address, data; with the long vector the remote address begins block two. */
START_TEST(address_vector_in_entries)
{
	for (uint32_t kind = COMPACT; kind <= FULL; kind++) {
		const uint32_t av = kind == COMPACT ? 1 : 3;
		struct rig r = rig_of((enum kind)kind);
		const struct bf_ibgda_qp *dci;
		const struct bf_ibgda_dct *dct;
		const uint8_t *e;

		rig_open(&r);
		fill(&r, 0);
		ck_assert_int_eq(r.be->launch(r.w, 0, 1, 1, one_put, &r.job[0]), 0);
		ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
		ck_assert_int_eq(r.result.end, BF_END_DONE);
		dci = bf_ibgda_host_dci(r.h, 0, 0);
		ck_assert_ptr_nonnull(dci);
		ck_assert_int_eq(dci->qp_type, BF_IBGDA_DCI);
		e = dci->tx_wq.wqe;
		dct = bf_ibgda_dct_at(r.job[0].state, r.job[0].state->num_dct_per_pe); /* the first of PE 1 */
		ck_assert_uint_eq(bf_get_be32(e), BF_MLX5_OP_RDMA_WRITE);
		ck_assert_uint_eq(bf_get_be32(e + 4), dci->qpn << 8 | (3 + av));
		ck_assert_uint_eq(e[11], kind == COMPACT ? BF_IBGDA_SIGNALLED : 0);
		ck_assert_mem_eq(e + 16, dct->w, av * 16);
		ck_assert_uint_eq(bf_get_be64(e + 16), BF_IBGDA_DC_KEY);
		ck_assert_uint_eq(bf_get_be32(e + 24) >> 31, kind == FULL);
		ck_assert_uint_eq(bf_get_be64(e + 16 + av * 16), r.job[0].state->globalmem.peer_heap_va[1] + AT_PUT);
		ck_assert_uint_eq(bf_get_be32(e + 32 + av * 16), 64);
		if (kind == FULL)
			ck_assert_uint_eq(bf_get_be32(e + 128), 2u << 8 | BF_MLX5_OP_NOP);
		rig_close(&r);
	}
}
END_TEST

RIG_MAIN("ibgda_dc", every_operation_over_every_transport, blocks_of_entries, address_vector_in_entries)
