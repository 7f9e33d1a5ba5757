/*
 * drivers/ibgda against the bytes that NVSHMEM's own device functions left on a GPU: entries, records, doorbells and
 * counters, for each call, on the same state. nvshmem_gpu.txt is what an H100 did (NVSHMEM 3.5.1, CUDA 13.0);
 * tests/long/nvshmem_bytes.sh records it, and compares it with the same code under `belfry exec --gpu`.
 */
#include <check.h>
#include <stdlib.h>

#include "drivers/platform/platform_native.h"

#include "drivers/ibgda/device.h"
#include "tests/drivers/rig.h"

#include "tests/drivers/nvshmem_calls.h"

#define RECORDED BELFRY_SOURCE_DIR "/tests/drivers/nvshmem_gpu.txt"

struct hand {
	struct bf_ibgda_state state;
	struct bf_ibgda_qp rcs[2], dci;
	struct bf_ibgda_cq cq[HAND_QUEUES];
	uint64_t peer_va[2];
	uint8_t switches[16];
	uint64_t cqe[HAND_QUEUES][8];
	uint32_t record[HAND_QUEUES][2];
	uint64_t doorbell[HAND_QUEUES];
	_Alignas(64) uint8_t ring[HAND_QUEUES][HAND_WQES * 64];
	_Alignas(64) uint8_t ibuf[HAND_QUEUES][(HAND_IBUF_SLOTS + 1) * HAND_IBUF_SLOT];
	int call;
};

/* All that is posted is complete. */
static void make_queue(struct hand *h, struct bf_ibgda_qp *qp, int queue, uint64_t index)
{
	struct bf_ibgda_cq *cq = &h->cq[queue];

	qp->qp_type = queue == HAND_QUEUE_RC ? BF_IBGDA_RC : BF_IBGDA_DCI;
	qp->peer = 1;
	qp->qpn = hand_qpns[queue];
	qp->ibuf.nslots = HAND_IBUF_SLOTS;
	qp->ibuf.lkey = bf_htobe32(0x3300 + (uint32_t)queue);
	qp->ibuf.rkey = bf_htobe32(0x4400 + (uint32_t)queue);
	qp->ibuf.buf = h->ibuf[queue];
	qp->ibuf.va = HAND_IBUF;
	qp->tx_wq.nwqes = HAND_WQES;
	qp->tx_wq.wqe = h->ring[queue];
	qp->tx_wq.dbrec = &h->record[queue][0];
	qp->tx_wq.bf = &h->doorbell[queue];
	qp->tx_wq.cq = cq;
	qp->tx_wq.prod_idx = &qp->mvars.prod_idx;
	qp->mvars.resv_head = qp->mvars.ready_head = qp->mvars.prod_idx = index;
	qp->mvars.get_head = qp->mvars.get_tail = index;
	qp->mvars.cons_idx = index + 1000000;
	cq->qp_type = qp->qp_type;
	cq->cqe = h->cqe[queue];
	cq->prod_idx = &qp->mvars.prod_idx;
	cq->cons_idx = &qp->mvars.cons_idx;
	cq->resv_head = &qp->mvars.resv_head;
	cq->ready_head = &qp->mvars.ready_head;
	cq->ncqes = HAND_WQES;
	cq->qpn = qp->qpn;
}

static void make_state(struct hand *h, int mode)
{
	struct bf_ibgda_state *s = &h->state;

	s->flavour = BF_IBGDA_NVSHMEM;
	s->layout = BF_IBGDA_L1;
	s->npes = 2;
	s->num_devices = 1;
	s->num_rc_per_pe = s->num_default_rc_per_pe = mode == HAND_RC || mode == HAND_RC_SKIP;
	s->num_dci = s->num_shared_dci = s->num_dct_per_pe = 1;
	s->batch = HAND_BATCH;
	s->log2_granularity = HAND_LOG2_GRANULE;
	s->support_half_av_seg = mode != HAND_DC_WHOLE;
	s->may_skip_cst = mode == HAND_RC_SKIP;
	s->heap = (void *)(uintptr_t)HAND_HEAP;
	s->heap_va = HAND_HEAP;
	s->heap_size = HAND_HEAP_BYTES;
	for (uint32_t g = 0; g < HAND_GRANULES; g++) {
		s->constmem.lkeys[g].key = hand_lkey(g);
		s->constmem.lkeys[g].end = HAND_HEAP + ((uint64_t)(g + 1) << HAND_LOG2_GRANULE);
		for (uint32_t pe = 0; pe < 2; pe++) {
			s->constmem.rkeys[2 * g + pe].key = hand_rkey(g, pe);
			s->constmem.rkeys[2 * g + pe].end = (uint64_t)(g + 1) << HAND_LOG2_GRANULE;
		}
	}
	for (uint32_t pe = 0; pe < 2; pe++)
		hand_dct(pe, mode == HAND_DC_WHOLE, s->constmem.dcts[pe].w);
	h->peer_va[0] = HAND_HEAP;
	h->peer_va[1] = HAND_PEER_HEAP;
	s->globalmem.peer_heap_va = h->peer_va;
	s->globalmem.rcs = h->rcs;
	s->globalmem.dcis = &h->dci;
	s->globalmem.cqs = h->cq;
	s->globalmem.qp_group_switches = h->switches;
}

static void post(struct bf_thread *t, void *arg)
{
	struct hand *h = arg;
	const struct nvshmem_work w = hand_work();

	if (nvshmem_by_warp(h->call) || bf_lane(t) == 0)
		nvshmem_ours(t, &h->state, &w, h->call);
}

static void show(FILE *out, int mode, int call)
{
	struct hand *h = aligned_alloc(64, (sizeof(*h) + 63) / 64 * 64);
	struct bf_native_warp_end end;
	atomic_bool stop = false;
	atomic_uint fence = 0;
	const struct bf_native_warp_opts opts = {
		.warps = 1, .blocks = 1, .kernel = post, .arg = h, .stop = &stop, .fence = &fence
	};

	ck_assert_ptr_nonnull(h);
	memset(h, 0, sizeof(*h));
	h->call = call;
	make_state(h, mode);
	make_queue(h, &h->rcs[1], HAND_QUEUE_RC, hand_index(call));
	make_queue(h, &h->dci, HAND_QUEUE_DCI, hand_index(call));
	ck_assert_int_eq(bf_native_warp_run(&opts, &end), 0);
	ck_assert_uint_eq(end.unfinished, 0);
	fprintf(out, "%s, %s\n", nvshmem_names[call], hand_modes[mode]);
	for (int queue = 0; queue < HAND_QUEUES; queue++) {
		const struct bf_ibgda_mvars *v = queue == HAND_QUEUE_RC ? &h->rcs[1].mvars : &h->dci.mvars;
		const struct hand_posted posted = {
			.ring = h->ring[queue],
			.record = (const uint8_t *)&h->record[queue][0],
			.doorbell = (const uint8_t *)&h->doorbell[queue],
			.index = hand_index(call),
			.reserved = v->resv_head,
			.ready = v->ready_head,
			.rung = v->prod_idx,
			/* Where what was read needs no DUMP, NVSHMEM does not count it. No device sees this counter. */
			.get_head = mode == HAND_RC_SKIP ? 0 : v->get_head,
			.ibuf_head = v->ibuf_head,
			.ibuf_tail = v->ibuf_tail,
		};

		hand_show(out, hand_queues[queue], &posted);
	}
	free(h);
}

/* Line by line, so that the first that differs says which call it is. */
START_TEST(as_on_a_gpu)
{
	FILE *ours = tmpfile(), *gpu = fopen(RECORDED, "r");
	char line[8192], want[8192], call[128] = "";
	uint32_t lines = 0;

	ck_assert_ptr_nonnull(ours);
	ck_assert_msg(gpu, RECORDED);
	for (int mode = 0; mode < HAND_MODES; mode++)
		for (int i = 0; i < NVSHMEM_CALLS; i++)
			show(ours, mode, i);
	rewind(ours);
	while (fgets(line, sizeof(line), ours)) {
		lines++;
		ck_assert_msg(fgets(want, sizeof(want), gpu), "line %u: the GPU has no more", lines);
		if (line[0] != ' ')
			snprintf(call, sizeof(call), "%.100s", line);
		ck_assert_msg(!strcmp(line, want), "line %u, %sdrivers/ibgda: %sGPU:           %s", lines, call, line,
			      want);
	}
	ck_assert_msg(!fgets(want, sizeof(want), gpu), "the GPU has more: %s", want);
	ck_assert_uint_ge(lines, 900);
	fclose(ours);
	fclose(gpu);
}
END_TEST

RIG_MAIN("ibgda_gpu_bytes", as_on_a_gpu)
