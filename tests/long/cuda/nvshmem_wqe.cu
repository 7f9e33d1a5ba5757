/*
 * The entries that NVSHMEM's device functions post, compared byte by byte with those of drivers/ibgda for the same calls
 * on the same state: keys, addresses, queue, counters. Each step lets NVSHMEM post into its ring and then drivers/ibgda,
 * with NVSHMEM's state as it was before, into a copy of the ring; nobody rings for the copy. ../exec_nvshmem_gpu.sh runs it.
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

#include "tests/long/cuda/nvshmem_start.h"



enum call {
	PUT,
	PUT_WARP,
	PUT_LANES,
	PUT_SIGNAL_SET,
	PUT_SIGNAL_ADD_WARP,
	P4,
	P8_LANES,
	GET_NBI,
	GET,
	GET_WARP,
	G4,
	ADD4,
	ADD8,
	INC8,
	SET4,
	SET8,
	AND4,
	OR8,
	XOR4,
	FETCH_ADD4,
	FETCH_ADD8,
	FETCH_INC8,
	FETCH8,
	SWAP4,
	SWAP8,
	FETCH_AND8,
	FETCH_OR4,
	FETCH_XOR8,
	CAS4,
	CAS8,
	SIGNAL_SET,
	SIGNAL_ADD,
	ADD8_LANES,
	FETCH_ADD8_LANES,
	QUIET_AFTER_GET,
	CALLS
};

static const char *const names[CALLS] = {
	"putmem_nbi of 64", "putmem_nbi_warp of 4096", "putmem_nbi by 32 lanes", "putmem_signal_nbi, set",
	"putmem_signal_nbi_warp, add", "int_p", "uint64_p by 32 lanes", "getmem_nbi", "getmem", "getmem_warp", "int_g",
	"int_atomic_add", "uint64_atomic_add", "uint64_atomic_inc", "int_atomic_set", "uint64_atomic_set",
	"uint_atomic_and", "uint64_atomic_or", "uint_atomic_xor", "int_atomic_fetch_add", "uint64_atomic_fetch_add",
	"uint64_atomic_fetch_inc", "uint64_atomic_fetch", "int_atomic_swap", "uint64_atomic_swap",
	"uint64_atomic_fetch_and", "uint_atomic_fetch_or", "uint64_atomic_fetch_xor", "int_atomic_compare_swap",
	"uint64_atomic_compare_swap", "signal_op, set", "signal_op, add", "uint64_atomic_add by 32 lanes",
	"uint64_atomic_fetch_add by 32 lanes", "getmem_nbi and quiet",
};

#define RING (128u << 10) /* bytes kept of a ring, at most; NVSHMEM_QP_DEPTH says how many there are */

/* What both sides work with. */
struct work {
	char *dst, *src; /* symmetric, 8 KiB each */
	uint64_t *words; /* symmetric, 64 */
	char *copy[2];   /* rings like NVSHMEM's: of the queue to the peer, and of the DC initiator */
	int pe;
};


__device__ static bool by_lanes(int call)
{
	return call == PUT_LANES || call == P8_LANES || call == ADD8_LANES || call == FETCH_ADD8_LANES;
}

__device__ static bool by_warp(int call)
{
	return by_lanes(call) || call == PUT_WARP || call == PUT_SIGNAL_ADD_WARP || call == GET_WARP;
}

__device__ static void theirs(const work &w, int call)
{
	const int lane = threadIdx.x % 32, pe = w.pe;
	char *dst = w.dst, *src = w.src;
	uint64_t *u64 = w.words;
	unsigned *u32 = (unsigned *)(w.words + 8);
	int *i32 = (int *)(w.words + 8);

	switch (call) {
	case PUT:
		return nvshmem_putmem_nbi(dst, src, 64, pe);
	case PUT_WARP:
		return nvshmemx_putmem_nbi_warp(dst, src, 4096, pe);
	case PUT_LANES:
		return nvshmem_putmem_nbi(dst + 64 * lane, src + 128 * lane, 8 + lane, pe);
	case PUT_SIGNAL_SET:
		return nvshmem_putmem_signal_nbi(dst, src, 256, u64, 77, NVSHMEM_SIGNAL_SET, pe);
	case PUT_SIGNAL_ADD_WARP:
		return nvshmemx_putmem_signal_nbi_warp(dst, src, 1024, u64, 5, NVSHMEM_SIGNAL_ADD, pe);
	case P4:
		return nvshmem_int_p((int *)dst, 0x12345678, pe);
	case P8_LANES:
		return nvshmem_uint64_p((uint64_t *)dst + 3 * lane, 0x1122334455667788ull * (lane + 1), pe);
	case GET_NBI:
		return nvshmem_getmem_nbi(dst, src, 128, pe);
	case GET:
		return nvshmem_getmem(dst, src, 256, pe);
	case GET_WARP:
		return nvshmemx_getmem_warp(dst, src, 512, pe);
	case G4:
		(void)nvshmem_int_g((int *)src, pe);
		return;
	case ADD4:
		return nvshmem_int_atomic_add(i32, 5, pe);
	case ADD8:
		return nvshmem_uint64_atomic_add(u64, 0x100000005ull, pe);
	case INC8:
		return nvshmem_uint64_atomic_inc(u64, pe);
	case SET4:
		return nvshmem_int_atomic_set(i32, 0x1234567, pe);
	case SET8:
		return nvshmem_uint64_atomic_set(u64, 0x123456789abcdefull, pe);
	case AND4:
		return nvshmem_uint_atomic_and(u32, 0xff00ffu, pe);
	case OR8:
		return nvshmem_uint64_atomic_or(u64, 0x10000000001ull, pe);
	case XOR4:
		return nvshmem_uint_atomic_xor(u32, 0x1001u, pe);
	case FETCH_ADD4:
		(void)nvshmem_int_atomic_fetch_add(i32, 5, pe);
		return;
	case FETCH_ADD8:
		(void)nvshmem_uint64_atomic_fetch_add(u64, 0x500000001ull, pe);
		return;
	case FETCH_INC8:
		(void)nvshmem_uint64_atomic_fetch_inc(u64, pe);
		return;
	case FETCH8:
		(void)nvshmem_uint64_atomic_fetch(u64, pe);
		return;
	case SWAP4:
		(void)nvshmem_int_atomic_swap(i32, 0x7654321, pe);
		return;
	case SWAP8:
		(void)nvshmem_uint64_atomic_swap(u64, 0x76543210fedcba98ull, pe);
		return;
	case FETCH_AND8:
		(void)nvshmem_uint64_atomic_fetch_and(u64, 0xffff00000000ffffull, pe);
		return;
	case FETCH_OR4:
		(void)nvshmem_uint_atomic_fetch_or(u32, 0x110u, pe);
		return;
	case FETCH_XOR8:
		(void)nvshmem_uint64_atomic_fetch_xor(u64, 0x1010101010101010ull, pe);
		return;
	case CAS4:
		(void)nvshmem_int_atomic_compare_swap(i32, 3, 4, pe);
		return;
	case CAS8:
		(void)nvshmem_uint64_atomic_compare_swap(u64, 0x300000003ull, 0x400000004ull, pe);
		return;
	case SIGNAL_SET:
		return nvshmemx_signal_op(u64, 9, NVSHMEM_SIGNAL_SET, pe);
	case SIGNAL_ADD:
		return nvshmemx_signal_op(u64, 9, NVSHMEM_SIGNAL_ADD, pe);
	case ADD8_LANES:
		return nvshmem_uint64_atomic_add(u64 + lane, lane, pe);
	case FETCH_ADD8_LANES:
		(void)nvshmem_uint64_atomic_fetch_add(u64 + lane, lane, pe);
		return;
	case QUIET_AFTER_GET:
		nvshmem_getmem_nbi(dst, src, 32, pe);
		return nvshmem_quiet();
	default:
		return;
	}
}

__device__ static void ours(struct bf_thread *t, const struct bf_ibgda_state *s, const work &w, int call)
{
	const uint32_t lane = threadIdx.x % 32, pe = (uint32_t)w.pe, qp = BF_IBGDA_QP_DEFAULT;
	const uint32_t mask = by_lanes(call) ? BF_FULL_WARP : 1;
	char *dst = w.dst, *src = w.src;
	struct bf_ibgda_signal signal = { w.words, 0, BF_IBGDA_AMO_SET };
	struct bf_ibgda_amo a = { BF_IBGDA_AMO_ADD, 8, w.words, 0, 0 };
	uint64_t old;

#define AMO(fetch, what, size, value, expected)                                                                        \
	do {                                                                                                           \
		a.op = what;                                                                                           \
		a.bytes = size;                                                                                        \
		a.addr = size == 8 ? w.words : w.words + 8;                                                            \
		a.operand = value;                                                                                     \
		a.compare = expected;                                                                                  \
		if (by_lanes(call))                                                                                    \
			a.addr = w.words + lane;                                                                       \
		if (fetch)                                                                                             \
			bf_ibgda_pe_amo_fetch(t, mask, s, pe, qp, &a, &old);                                           \
		else                                                                                                   \
			bf_ibgda_pe_amo_nonfetch(t, mask, s, pe, qp, &a);                                              \
	} while (0)

	switch (call) {
	case PUT:
		bf_ibgda_pe_put_nbi(t, mask, s, pe, qp, dst, src, 64);
		break;
	case PUT_WARP:
		bf_ibgda_pe_put_nbi_warp(t, s, pe, qp, dst, src, 4096);
		break;
	case PUT_LANES:
		bf_ibgda_pe_put_nbi(t, mask, s, pe, qp, dst + 64 * lane, src + 128 * lane, 8 + lane);
		break;
	case PUT_SIGNAL_SET:
		signal.value = 77;
		bf_ibgda_pe_put_signal(t, mask, s, pe, qp, dst, src, 256, &signal);
		break;
	case PUT_SIGNAL_ADD_WARP:
		signal.value = 5;
		signal.op = BF_IBGDA_AMO_ADD;
		bf_ibgda_pe_put_signal_warp(t, s, pe, qp, dst, src, 1024, &signal);
		break;
	case P4:
		bf_ibgda_pe_p(t, mask, s, pe, qp, dst, 0x12345678, 4);
		break;
	case P8_LANES:
		bf_ibgda_pe_p(t, mask, s, pe, qp, (uint64_t *)dst + 3 * lane, 0x1122334455667788ull * (lane + 1), 8);
		break;
	case GET_NBI:
		bf_ibgda_pe_get(t, mask, s, pe, qp, dst, src, 128, 0);
		break;
	case GET:
		bf_ibgda_pe_get(t, mask, s, pe, qp, dst, src, 256, 1);
		break;
	case GET_WARP:
		bf_ibgda_pe_get_warp(t, s, pe, qp, dst, src, 512, 1);
		break;
	case G4:
		bf_ibgda_pe_g(t, mask, s, pe, qp, src, 4, &old);
		break;
	case ADD4:
		AMO(0, BF_IBGDA_AMO_ADD, 4, 5, 0);
		break;
	case ADD8:
		AMO(0, BF_IBGDA_AMO_ADD, 8, 0x100000005ull, 0);
		break;
	case INC8:
		AMO(0, BF_IBGDA_AMO_INC, 8, 1, 0);
		break;
	case SET4:
		AMO(0, BF_IBGDA_AMO_SET, 4, 0x1234567, 0);
		break;
	case SET8:
		AMO(0, BF_IBGDA_AMO_SET, 8, 0x123456789abcdefull, 0);
		break;
	case AND4:
		AMO(0, BF_IBGDA_AMO_AND, 4, 0xff00ffu, 0);
		break;
	case OR8:
		AMO(0, BF_IBGDA_AMO_OR, 8, 0x10000000001ull, 0);
		break;
	case XOR4:
		AMO(0, BF_IBGDA_AMO_XOR, 4, 0x1001u, 0);
		break;
	case FETCH_ADD4:
		AMO(1, BF_IBGDA_AMO_ADD, 4, 5, 0);
		break;
	case FETCH_ADD8:
		AMO(1, BF_IBGDA_AMO_ADD, 8, 0x500000001ull, 0);
		break;
	case FETCH_INC8:
		AMO(1, BF_IBGDA_AMO_INC, 8, 1, 0);
		break;
	case FETCH8:
		AMO(1, BF_IBGDA_AMO_OR, 8, 0, 0); /* what NVSHMEM makes of a fetch of 8 bytes */
		break;
	case SWAP4:
		AMO(1, BF_IBGDA_AMO_SWAP, 4, 0x7654321, 0);
		break;
	case SWAP8:
		AMO(1, BF_IBGDA_AMO_SWAP, 8, 0x76543210fedcba98ull, 0);
		break;
	case FETCH_AND8:
		AMO(1, BF_IBGDA_AMO_AND, 8, 0xffff00000000ffffull, 0);
		break;
	case FETCH_OR4:
		AMO(1, BF_IBGDA_AMO_OR, 4, 0x110u, 0);
		break;
	case FETCH_XOR8:
		AMO(1, BF_IBGDA_AMO_XOR, 8, 0x1010101010101010ull, 0);
		break;
	case CAS4:
		AMO(1, BF_IBGDA_AMO_CAS, 4, 4, 3);
		break;
	case CAS8:
		AMO(1, BF_IBGDA_AMO_CAS, 8, 0x400000004ull, 0x300000003ull);
		break;
	case SIGNAL_SET:
		AMO(0, BF_IBGDA_AMO_SET, 8, 9, 0);
		break;
	case SIGNAL_ADD:
		AMO(0, BF_IBGDA_AMO_ADD, 8, 9, 0);
		break;
	case ADD8_LANES:
		AMO(0, BF_IBGDA_AMO_ADD, 8, lane, 0);
		break;
	case FETCH_ADD8_LANES:
		AMO(1, BF_IBGDA_AMO_ADD, 8, lane, 0);
		break;
	case QUIET_AFTER_GET:
		bf_ibgda_pe_get(t, mask, s, pe, qp, dst, src, 32, 0);
		bf_ibgda_pe_quiet(t, mask, s);
		break;
	}
#undef AMO
}

/* One call by NVSHMEM; what its queues were before and are after: the one to the peer, and the DC initiator. */
__global__ void post(work w, int call, nvshmemi_ibgda_device_qp_management_t *before,
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
	if (by_warp(call) || !threadIdx.x)
		theirs(w, call);
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

__device__ static void take_over(twin *m, const work &w, const nvshmemi_ibgda_device_qp_management_t *before)
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
	take_over_queue(&m->rcs[w.pe], &m->cq, m, &n->globalmem.rcs[w.pe], &before[0], w.copy[0]);
	take_over_queue(&m->dci, &m->dci_cq, m, &n->globalmem.dcis[0], &before[1], w.copy[1]);
	m->rcs[w.pe].peer = (uint16_t)w.pe;
}

/* The same call by drivers/ibgda; then what is in NVSHMEM's ring comes to the host as well. */
__global__ void repeat(work w, int call, twin *m, const nvshmemi_ibgda_device_qp_management_t *before, char *rings)
{
	struct bf_thread t;

	if (!threadIdx.x)
		take_over(m, w, before);
	__syncwarp();
	if (by_warp(call) || !threadIdx.x)
		ours(&t, &m->state, w, call);
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
	work w;

	start(argc > 1 ? argv[1] : "id");
	w.dst = (char *)nvshmem_malloc(8192);
	w.src = (char *)nvshmem_malloc(8192);
	w.words = (uint64_t *)nvshmem_calloc(64, 8);
	need(w.dst && w.src && w.words, "nvshmem_malloc");
	need(!cudaMallocManaged(&mv, 4 * sizeof(*mv)) && !cudaMallocManaged(&m, sizeof(*m)) &&
		 !cudaMallocManaged(&rings, 2 * RING) && !cudaMallocManaged(&copies, 2 * RING),
	     "managed memory");
	w.copy[0] = (char *)copies;
	w.copy[1] = (char *)copies + RING;
	w.pe = (rank + 1) % ranks;
	nvshmem_barrier_all();
	for (int i = 0; i < 2 * CALLS && !rank; i++) {
		/* Then all of it again, as it is where completed reads are in order with loads: without DUMPs. */
		const char skip = i >= CALLS;
		const int call = i % CALLS, before = blocks;
		bool differ;

		need(!cudaMemcpyToSymbol(nvshmemi_ibgda_device_state_d, &skip, 1,
					 offsetof(nvshmemi_ibgda_device_state_t, may_skip_cst)),
		     "may_skip_cst");
		memset(copies, 0, 2 * RING);
		post<<<1, 32>>>(w, call, mv, mv + 2);
		repeat<<<1, 32>>>(w, call, m, mv, (char *)rings);
		need(!cudaDeviceSynchronize(), names[call]);
		need(m->rcs[w.pe].tx_wq.nwqes * 64u <= RING && m->dci.tx_wq.nwqes * 64u <= RING, "depth of the rings");
		differ = compare(names[call], "RC", &mv[0], &mv[2], &m->rcs[w.pe], rings, copies, &blocks);
		differ |= compare(names[call], "DCI", &mv[1], &mv[3], &m->dci, rings + RING, copies + RING, &blocks);
		wrong += differ;
		if (!differ)
			printf("%-36s %s %2d blocks, the same\n", names[call], skip ? "without DUMPs" : "             ",
			       blocks - before);
	}
	nvshmem_barrier_all();
	if (!rank)
		printf("%d of %d calls post the same bytes, %d blocks\n", 2 * CALLS - wrong, 2 * CALLS, blocks);
	nvshmem_finalize();
	return wrong ? 1 : 0;
}
