/*
 * The entries that NVSHMEM's device functions post, compared byte by byte with those of drivers/ibgda for the same
 * calls on the same state: keys, addresses, queue, counters. Each step lets NVSHMEM post into its ring and then
 * drivers/ibgda, with NVSHMEM's state as it was before, into a copy of the ring; nobody rings for the copy.
 * ../exec_nvshmem_gpu.sh runs it.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <device_host_transport/nvshmem_common_ibgda.h>

#include "drivers/platform/platform_cuda.h"

#include "drivers/ibgda/device.h"

#include "tests/drivers/nvshmem_calls.h"

#include "tests/long/cuda/nvshmem_calls.cuh"
#include "tests/long/cuda/nvshmem_start.h"

#define RING (128u << 10) /* bytes kept of a ring, at most; NVSHMEM_QP_DEPTH says how many there are */

/* One call by NVSHMEM; what its queues were before and are after: the one to the peer, and the DC initiator. */
__global__ void post(nvshmem_work w, int call, nvshmemi_ibgda_device_qp_management_t *before,
		     nvshmemi_ibgda_device_qp_management_t *after)
{
	const nvshmemi_ibgda_device_qp_t *q = &nvshmemi_ibgda_device_state_d.globalmem.rcs[w.pe];
	const nvshmemi_ibgda_device_qp_t *dci = &nvshmemi_ibgda_device_state_d.globalmem.dcis[0];

	if (!threadIdx.x) {
		nvshmem_quiet();
		before[0] = q->mvars;
		before[1] = dci->mvars;
	}
	__syncwarp();
	if (nvshmem_by_warp(call) || !threadIdx.x)
		nvshmem_theirs(w, call);
	__syncwarp();
	if (!threadIdx.x) {
		after[0] = q->mvars;
		after[1] = dci->mvars;
		nvshmem_quiet();
	}
}

/* What is there besides: the state as drivers/ibgda has it, and its own queue. */
struct twin {
	struct bf_ibgda_state state;
	struct bf_ibgda_qp rcs[8], dci;
	struct bf_ibgda_cq cq, dci_cq;
	uint64_t peer_va[8];
	uint64_t cqe[8];
	uint64_t doorbell;
	uint32_t dbrec[2];
	uint8_t switches[16];
};

/* NVSHMEM's queue as ours, with a ring, a record and a doorbell of its own. All that it will post is complete. */
__device__ static void take_over_queue(struct bf_ibgda_qp *qp, struct bf_ibgda_cq *cq, twin *m,
				       const nvshmemi_ibgda_device_qp_t *q,
				       const nvshmemi_ibgda_device_qp_management_t *before, char *ring)
{
	qp->qp_type = q->qp_type == NVSHMEMI_IBGDA_DEVICE_QP_TYPE_RC ? BF_IBGDA_RC : BF_IBGDA_DCI;
	qp->qpn = q->qpn;
	qp->dev_idx = q->dev_idx;
	qp->ibuf.nslots = q->ibuf.nslots;
	qp->ibuf.lkey = q->ibuf.lkey;
	qp->ibuf.rkey = q->ibuf.rkey;
	qp->ibuf.buf = q->ibuf.buf;
	qp->ibuf.va = (uint64_t)q->ibuf.buf;
	qp->tx_wq.nwqes = q->tx_wq.nwqes;
	qp->tx_wq.wqe = ring;
	qp->tx_wq.dbrec = m->dbrec;
	qp->tx_wq.bf = &m->doorbell;
	qp->tx_wq.cq = cq;
	qp->tx_wq.prod_idx = &qp->mvars.prod_idx;
	qp->mvars.resv_head = before->tx_wq.resv_head;
	qp->mvars.ready_head = before->tx_wq.ready_head;
	qp->mvars.prod_idx = before->tx_wq.prod_idx;
	qp->mvars.cons_idx = before->tx_wq.cons_idx + 1000000;
	qp->mvars.get_head = before->tx_wq.get_head;
	qp->mvars.get_tail = before->tx_wq.get_tail;
	qp->mvars.ibuf_head = before->ibuf.head;
	qp->mvars.ibuf_tail = before->ibuf.tail;
	cq->qp_type = qp->qp_type;
	cq->cqe = m->cqe;
	cq->prod_idx = &qp->mvars.prod_idx;
	cq->cons_idx = &qp->mvars.cons_idx;
	cq->resv_head = &qp->mvars.resv_head;
	cq->ready_head = &qp->mvars.ready_head;
	cq->ncqes = q->tx_wq.nwqes;
	cq->qpn = q->qpn;
}

__device__ static void take_over(twin *m, const nvshmem_work &w, char *copies,
				 const nvshmemi_ibgda_device_qp_management_t *before)
{
	const nvshmemi_ibgda_device_state_t *n = &nvshmemi_ibgda_device_state_d;
	struct bf_ibgda_state *s = &m->state;

	memset(m, 0, sizeof(*m));
	s->flavour = BF_IBGDA_NVSHMEM;
	s->layout = BF_IBGDA_L1;
	s->mype = (uint32_t)nvshmemi_device_state_d.mype;
	s->npes = (uint32_t)nvshmemi_device_state_d.npes;
	s->num_devices = (uint32_t)n->num_devices_initialized;
	s->num_rc_per_pe = s->num_default_rc_per_pe = 1;
	s->num_dci = s->num_shared_dci = 1;
	s->num_dct_per_pe = n->ndcts_per_pe;
	s->batch = n->num_requests_in_batch;
	s->log2_granularity = (uint32_t)n->log2_cumem_granularity;
	s->system_scope = !n->nic_buf_on_gpumem;
	s->support_half_av_seg = n->support_half_av_seg;
	s->may_skip_cst = n->may_skip_cst;
	s->heap = nvshmemi_device_state_d.heap_base;
	s->heap_va = (uint64_t)s->heap;
	s->heap_size = nvshmemi_device_state_d.heap_size;
	for (int i = 0; i < NVSHMEMI_IBGDA_MAX_CONST_LKEYS; i++) {
		s->constmem.lkeys[i].key = n->constmem.lkeys[i].key;
		s->constmem.lkeys[i].end = n->constmem.lkeys[i].next_addr;
		s->constmem.rkeys[i].key = n->constmem.rkeys[i].key;
		s->constmem.rkeys[i].end = n->constmem.rkeys[i].next_addr;
	}
	for (uint32_t pe = 0; pe < s->npes; pe++)
		m->peer_va[pe] = (uint64_t)nvshmemi_device_state_d.peer_heap_base_remote[pe];
	s->globalmem.peer_heap_va = m->peer_va;
	s->globalmem.rcs = m->rcs;
	s->globalmem.dcis = &m->dci;
	s->globalmem.cqs = &m->cq;
	s->globalmem.qp_group_switches = m->switches;
	take_over_queue(&m->rcs[w.pe], &m->cq, m, &n->globalmem.rcs[w.pe], &before[0], copies);
	take_over_queue(&m->dci, &m->dci_cq, m, &n->globalmem.dcis[0], &before[1], copies + RING);
	m->rcs[w.pe].peer = (uint16_t)w.pe;
}

/* The same call by drivers/ibgda; then what is in NVSHMEM's ring comes to the host as well. */
__global__ void repeat(nvshmem_work w, int call, twin *m, const nvshmemi_ibgda_device_qp_management_t *before,
		       char *copies, char *rings)
{
	struct bf_thread t;

	if (!threadIdx.x)
		take_over(m, w, copies, before);
	__syncwarp();
	if (nvshmem_by_warp(call) || !threadIdx.x)
		nvshmem_ours(&t, &m->state, &w, call);
	__syncwarp();
	for (unsigned queue = 0; queue < 2; queue++) {
		const nvshmemi_ibgda_device_qp_t *q = queue ? &nvshmemi_ibgda_device_state_d.globalmem.dcis[0]
							    : &nvshmemi_ibgda_device_state_d.globalmem.rcs[w.pe];

		for (unsigned i = threadIdx.x; i < q->tx_wq.nwqes * 16u; i += 32)
			((uint32_t *)(rings + queue * RING))[i] = ((volatile uint32_t *)q->tx_wq.wqe)[i];
	}
}

static void show(const char *who, const unsigned char *entry)
{
	printf("    %-8s", who);
	for (int i = 0; i < 64; i++)
		printf("%s%02x", i % 4 ? "" : " ", entry[i]);
	printf("\n");
}

/* What the call has put into a queue, by either side. Returns whether they differ. */
static bool compare(const char *name, const char *queue, const nvshmemi_ibgda_device_qp_management_t *before,
		    const nvshmemi_ibgda_device_qp_management_t *after, const struct bf_ibgda_qp *qp,
		    const unsigned char *ring, const unsigned char *copy, int *blocks)
{
	const int n = (int)(after->tx_wq.resv_head - before->tx_wq.resv_head);
	const int mine = (int)(qp->mvars.resv_head - before->tx_wq.resv_head);
	bool differ = n != mine;

	if (differ)
		printf("%s: %s: NVSHMEM posts %d blocks, drivers/ibgda %d\n", name, queue, n, mine);
	for (int i = 0; i < n && i < mine; i++) {
		const uint64_t at = (before->tx_wq.resv_head + i) % qp->tx_wq.nwqes * 64;
		/* Blocks of which an entry has only a part keep what was there before in the rest. */
		const int size = ring[at + 7] % 64 * 16, in = ring[at + 3] == 0 ? 16 : size && size < 64 ? size : 64;

		if (!memcmp(ring + at, copy + at, in))
			continue;
		printf("%s: %s: block %d of %d\n", name, queue, i, n);
		show("NVSHMEM", ring + at);
		show("ours", copy + at);
		differ = true;
	}
	*blocks += n;
	return differ;
}

int main(int argc, char **argv)
{
	nvshmemi_ibgda_device_qp_management_t *mv; /* before and after, of both queues */
	unsigned char *rings, *copies;
	int wrong = 0, blocks = 0;
	twin *m;
	nvshmem_work w;

	start(argc > 1 ? argv[1] : "id");
	w.dst = (char *)nvshmem_malloc(8192);
	w.src = (char *)nvshmem_malloc(8192);
	w.words = (uint64_t *)nvshmem_calloc(64, 8);
	need(w.dst && w.src && w.words, "nvshmem_malloc");
	need(!cudaMallocManaged(&mv, 4 * sizeof(*mv)) && !cudaMallocManaged(&m, sizeof(*m)) &&
		 !cudaMallocManaged(&rings, 2 * RING) && !cudaMallocManaged(&copies, 2 * RING),
	     "managed memory");
	w.pe = (rank + 1) % ranks;
	nvshmem_barrier_all();
	for (int i = 0; i < 2 * NVSHMEM_LIVE_CALLS && !rank; i++) {
		/* Then all of it again, as it is where completed reads are in order with loads: without DUMPs. */
		const char skip = i >= NVSHMEM_LIVE_CALLS;
		const int call = i % NVSHMEM_LIVE_CALLS, before = blocks;
		bool differ;

		need(!cudaMemcpyToSymbol(nvshmemi_ibgda_device_state_d, &skip, 1,
					 offsetof(nvshmemi_ibgda_device_state_t, may_skip_cst)),
		     "may_skip_cst");
		memset(copies, 0, 2 * RING);
		post<<<1, 32>>>(w, call, mv, mv + 2);
		repeat<<<1, 32>>>(w, call, m, mv, (char *)copies, (char *)rings);
		need(!cudaDeviceSynchronize(), nvshmem_names[call]);
		need(m->rcs[w.pe].tx_wq.nwqes * 64u <= RING && m->dci.tx_wq.nwqes * 64u <= RING, "depth of the rings");
		differ = compare(nvshmem_names[call], "RC", &mv[0], &mv[2], &m->rcs[w.pe], rings, copies, &blocks);
		differ |=
		    compare(nvshmem_names[call], "DCI", &mv[1], &mv[3], &m->dci, rings + RING, copies + RING, &blocks);
		wrong += differ;
		if (!differ)
			printf("%-36s %s %2d blocks, the same\n", nvshmem_names[call],
			       skip ? "without DUMPs" : "             ", blocks - before);
	}
	nvshmem_barrier_all();
	if (!rank)
		printf("%d of %d calls post the same bytes, %d blocks\n", 2 * NVSHMEM_LIVE_CALLS - wrong,
		       2 * NVSHMEM_LIVE_CALLS, blocks);
	nvshmem_finalize();
	return wrong ? 1 : 0;
}
