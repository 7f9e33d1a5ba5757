/*
 * What NVSHMEM's device functions leave in rings, records and doorbells, as text: NVSHMEM's own device code
 * (ibgda_device.cuh and what includes it) on a state made by hand, with queues in plain memory that no device reads, so
 * that a GPU needs no NIC and no NVSHMEM beside it. ../nvshmem_bytes.sh runs it on a GPU and under `belfry exec --gpu`.
 */
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>
#define NVSHMEM_ENABLE_ALL_DEVICE_INLINING
#include <nvshmem.h>
#include <nvshmemx.h>
#include <device_host_transport/nvshmem_common_ibgda.h>
#include <non_abi/device/pt-to-pt/transfer_device.cuh>

#include "drivers/platform/platform_cuda.h"

#include "drivers/ibgda/device.h"

#include "tests/drivers/nvshmem_calls.h"

#include "tests/long/cuda/nvshmem_calls.cuh"

__constant__ nvshmemi_ibgda_device_state_t nvshmemi_ibgda_device_state_d;
__constant__ nvshmemi_device_host_state_t nvshmemi_device_state_d;

/* In the GPU's memory. */
struct memory {
	nvshmemi_ibgda_device_qp_t rcs[2], dci;
	nvshmemi_ibgda_device_cq_t cq[HAND_QUEUES];
	void *p2p[2], *remote[2];
	uint8_t switches[16];
	uint32_t cqe[HAND_QUEUES][16];
	uint32_t record[HAND_QUEUES][2];
	uint64_t doorbell[HAND_QUEUES];
	alignas(4096) uint8_t ring[HAND_QUEUES][HAND_WQES * 64];
	alignas(4096) uint8_t ibuf[HAND_QUEUES][(HAND_IBUF_SLOTS + 1) * HAND_IBUF_SLOT];
};

__global__ void post(nvshmem_work w, int call)
{
	if (nvshmem_by_warp(call) || !threadIdx.x)
		nvshmem_theirs(w, call);
}

static void need(cudaError_t rc, const char *what)
{
	if (rc == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(rc));
	exit(1);
}

/* All that is posted is complete, so that calls that wait do not. */
static void make_queue(nvshmemi_ibgda_device_qp_t *q, memory *at, int queue, uint64_t index)
{
	nvshmemi_ibgda_device_qp_t *there = queue == HAND_QUEUE_RC ? &at->rcs[1] : &at->dci;

	nvshmemi_init_ibgda_device_qp((*q));
	q->qp_type = queue == HAND_QUEUE_RC ? NVSHMEMI_IBGDA_DEVICE_QP_TYPE_RC : NVSHMEMI_IBGDA_DEVICE_QP_TYPE_DCI;
	q->qpn = hand_qpns[queue];
	q->dev_idx = 0;
	q->ibuf.nslots = HAND_IBUF_SLOTS;
	q->ibuf.buf = at->ibuf[queue];
	q->ibuf.lkey = bf_htobe32(0x3300 + queue);
	q->ibuf.rkey = bf_htobe32(0x4400 + queue);
	q->tx_wq.nwqes = HAND_WQES;
	q->tx_wq.wqe = at->ring[queue];
	q->tx_wq.dbrec = (__be32 *)&at->record[queue][0];
	q->tx_wq.bf = &at->doorbell[queue];
	q->tx_wq.cq = &at->cq[queue];
	q->tx_wq.prod_idx = &there->mvars.tx_wq.prod_idx;
	q->mvars.post_send_lock = 0;
	q->mvars.tx_wq.resv_head = q->mvars.tx_wq.ready_head = q->mvars.tx_wq.prod_idx = index;
	q->mvars.tx_wq.cons_idx = index + 1000000;
	q->mvars.tx_wq.get_head = q->mvars.tx_wq.get_tail = index;
	q->mvars.ibuf.head = q->mvars.ibuf.tail = 0;
}

static void make_cq(nvshmemi_ibgda_device_cq_t *c, memory *at, int queue)
{
	nvshmemi_ibgda_device_qp_t *there = queue == HAND_QUEUE_RC ? &at->rcs[1] : &at->dci;

	nvshmemi_init_ibgda_device_cq((*c));
	c->qp_type = queue == HAND_QUEUE_RC ? NVSHMEMI_IBGDA_DEVICE_QP_TYPE_RC : NVSHMEMI_IBGDA_DEVICE_QP_TYPE_DCI;
	c->cqe = at->cqe[queue];
	c->prod_idx = &there->mvars.tx_wq.prod_idx;
	c->cons_idx = &there->mvars.tx_wq.cons_idx;
	c->resv_head = &there->mvars.tx_wq.resv_head;
	c->ready_head = &there->mvars.tx_wq.ready_head;
	c->ncqes = HAND_WQES;
	c->qpn = hand_qpns[queue];
}

static void make_states(memory *at, int mode)
{
	static nvshmemi_ibgda_device_state_t s;
	static nvshmemi_device_host_state_t d;

	memset(&s, 0, sizeof(s));
	memset(&d, 0, sizeof(d));
	nvshmemi_init_ibgda_device_state(s);
	s.num_shared_dcis = 1;
	s.num_exclusive_dcis = 0;
	s.dci_map_type = s.rc_map_type = NVSHMEMI_IBGDA_DEVICE_QP_MAP_TYPE_CTA;
	s.ndcts_per_pe = s.num_qp_groups = s.num_dct_groups = 1;
	s.num_rc_per_pe = s.num_default_rc_per_pe = mode == HAND_RC || mode == HAND_RC_SKIP;
	s.num_requests_in_batch = HAND_BATCH;
	s.log2_cumem_granularity = HAND_LOG2_GRANULE;
	s.num_devices_initialized = 1;
	s.nic_buf_on_gpumem = true;
	s.support_half_av_seg = mode != HAND_DC_WHOLE;
	s.may_skip_cst = mode == HAND_RC_SKIP;
	s.use_async_postsend = false;
	for (uint32_t g = 0; g < HAND_GRANULES; g++) {
		s.constmem.lkeys[g].key = hand_lkey(g);
		s.constmem.lkeys[g].next_addr = HAND_HEAP + ((uint64_t)(g + 1) << HAND_LOG2_GRANULE);
		for (uint32_t pe = 0; pe < 2; pe++) {
			s.constmem.rkeys[2 * g + pe].key = hand_rkey(g, pe);
			s.constmem.rkeys[2 * g + pe].next_addr = (uint64_t)(g + 1) << HAND_LOG2_GRANULE;
		}
	}
	for (uint32_t pe = 0; pe < 2; pe++) {
		uint32_t w[12];

		hand_dct(pe, mode == HAND_DC_WHOLE, w);
		memcpy(&s.constmem.dcts[pe], w, sizeof(w));
	}
	s.globalmem.qp_group_switches = at->switches;
	s.globalmem.cqs = at->cq;
	s.globalmem.dcis = &at->dci;
	s.globalmem.rcs = at->rcs;
	need(cudaMemcpyToSymbol(nvshmemi_ibgda_device_state_d, &s, sizeof(s)), "the state of IBGDA");

	d.mype = 0;
	d.npes = 2;
	d.node_npes = 1;
	d.job_connectivity = NVSHMEMI_JOB_GPU_PROXY;
	d.heap_base = (void *)HAND_HEAP;
	d.heap_size = HAND_HEAP_BYTES;
	d.peer_heap_base_p2p = at->p2p;
	d.peer_heap_base_remote = at->remote;
	d.ibgda_is_initialized = true;
	d.nvshmemi_is_nvshmem_initialized = d.nvshmemi_is_nvshmem_bootstrapped = true;
	need(cudaMemcpyToSymbol(nvshmemi_device_state_d, &d, sizeof(d)), "the state of NVSHMEM");
}

/* Addresses of results, which are this machine's, become those that all have. */
static void rename_results(uint8_t *ring, const uint8_t *ibuf)
{
	for (uint32_t at = 0; at < HAND_WQES * 64; at += 8) {
		const uint64_t offset = bf_get_be64(ring + at) - (uintptr_t)ibuf;

		if (offset < (HAND_IBUF_SLOTS + 1) * HAND_IBUF_SLOT)
			bf_put_be64(ring + at, HAND_IBUF + offset);
	}
}

int main(void)
{
	memory *at, *m = new memory;

	need(cudaMalloc(&at, sizeof(*at)), "memory");
	for (int mode = 0; mode < HAND_MODES; mode++) {
		make_states(at, mode);
		for (int call = 0; call < NVSHMEM_CALLS; call++) {
			const uint64_t index = hand_index(call);

			memset(m, 0, sizeof(*m));
			make_queue(&m->rcs[0], at, HAND_QUEUE_RC, index); /* of oneself: not used */
			make_queue(&m->rcs[1], at, HAND_QUEUE_RC, index);
			make_queue(&m->dci, at, HAND_QUEUE_DCI, index);
			for (int queue = 0; queue < HAND_QUEUES; queue++)
				make_cq(&m->cq[queue], at, queue);
			m->remote[0] = (void *)HAND_HEAP;
			m->remote[1] = (void *)HAND_PEER_HEAP;
			need(cudaMemcpy(at, m, sizeof(*m), cudaMemcpyHostToDevice), "memory");
			post<<<1, 32>>>(hand_work(), call);
			need(cudaDeviceSynchronize(), nvshmem_names[call]);
			need(cudaMemcpy(m, at, sizeof(*m), cudaMemcpyDeviceToHost), "memory");
			printf("%s, %s\n", nvshmem_names[call], hand_modes[mode]);
			for (int queue = 0; queue < HAND_QUEUES; queue++) {
				const nvshmemi_ibgda_device_qp_management_t *v =
				    queue == HAND_QUEUE_RC ? &m->rcs[1].mvars : &m->dci.mvars;
				const hand_posted posted = { m->ring[queue],
							     (uint8_t *)&m->record[queue][0],
							     (uint8_t *)&m->doorbell[queue],
							     index,
							     v->tx_wq.resv_head,
							     v->tx_wq.ready_head,
							     v->tx_wq.prod_idx,
							     v->tx_wq.get_head,
							     v->ibuf.head,
							     v->ibuf.tail };

				rename_results(m->ring[queue], at->ibuf[queue]);
				hand_show(stdout, hand_queues[queue], &posted);
			}
		}
	}
	return 0;
}
