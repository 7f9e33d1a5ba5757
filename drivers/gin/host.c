/*
 * GIN, host side.
 *
 * Each PE has a queue pair for each context and peer; with counters a companion beside it, on the same doorbell page,
 * which is connected to a queue pair of the own device. Rings, CQs and records lie in GPU memory, records that a thread
 * of the CPU writes in the host's. Keys begin at 0 (NCCL's gin_host_gdaki.cc).
 */
#include "drivers/gin/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/gin/d2p_words.h"
#include "models/mlx5/prm.h"

#define LOG_PAGE 12u
#define PAGE (1u << LOG_PAGE)
#define ACK_TIMEOUT 14u /* 67 ms */
#define DESCRIPTORS 32u /* of a queue of the CPU's; NCCL_NET_MAX_REQUESTS */
#define DESCRIPTOR_QUEUE (DESCRIPTORS * BF_GFD_WORDS * 8 + 64)

struct pe {
	struct bf_memory heap, queues, records, tables, descriptors;
	uint32_t pd, heap_umem, queue_umem, record_umem;
	uint32_t key, strict_key;
	struct bf_gin_state *state;
	struct bf_gin_proxy proxy;
	uint32_t *responders; /* numbers of the queue pairs that answer companions */
};

struct bf_gin_host {
	const struct bf_backend *be;
	struct bf_world *world;
	struct bf_gin_opts o;
	struct bf_error *err;
	uint32_t queues; /* of a PE: main ones, companions, responders */
	struct pe pe[];
};

static uint32_t mains(const struct bf_gin_host *h)
{
	return h->o.contexts * h->o.npes;
}

static int command(struct bf_gin_host *h, uint32_t pe, uint32_t opcode, const char *name, void *in, size_t len,
		   uint32_t *number)
{
	uint8_t out[272] = { 0 };
	int rc;

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	rc = h->be->command(h->world, pe, 0, in, len, out, sizeof(out));
	if (rc)
		return bf_fail(h->err, rc, "PE %u: %s did not reach the device", pe, name);
	if (BF_MLX5_GET(out, BF_CMD_OUT_STATUS))
		return bf_fail(h->err, -EIO, "PE %u: %s failed: status 0x%x", pe, name,
			       BF_MLX5_GET(out, BF_CMD_OUT_STATUS));
	if (number)
		*number = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return 0;
}

static int get_memory(struct bf_gin_host *h, uint32_t pe, enum bf_placement place, uint64_t bytes, const char *name,
		      struct bf_memory *out)
{
	const int rc = h->be->alloc(h->world, pe, place, (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1), name, out);

	return rc ? bf_fail(h->err, rc, "PE %u: no memory for '%s'", pe, name) : 0;
}

/* `log_page`: of its pages. The list begins with the page that the memory begins in. */
static int create_umem(struct bf_gin_host *h, uint32_t pe, const struct bf_memory *m, uint32_t log_page, uint32_t *id)
{
	const uint64_t page = 1ull << log_page, offset = m->va & (page - 1);
	const uint64_t pages = (offset + m->size + page - 1) / page;
	const size_t len = BF_CREATE_UMEM_MTT + pages * 8;
	uint8_t *in = calloc(1, len);
	int rc;

	if (!in)
		return bf_fail(h->err, -ENOMEM, "PE %u: no memory for a list of pages", pe);
	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT, (uint32_t)pages);
	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_LOG_PAGE_SIZE, log_page - LOG_PAGE);
	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_PAGE_OFFSET, (uint32_t)offset);
	for (uint64_t i = 0; i < pages; i++)
		bf_put_be64(in + BF_CREATE_UMEM_MTT + i * 8, (m->va - offset + i * page) | 3);
	rc = command(h, pe, BF_MLX5_CMD_CREATE_UMEM, "CREATE_UMEM", in, len, id);
	free(in);
	return rc;
}

/* A key of the whole heap, in which addresses are offsets. */
static int create_key(struct bf_gin_host *h, uint32_t pe, bool relaxed, uint32_t *key)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 }, *mkc = in + BF_CREATE_MKEY_MKC;
	const struct pe *p = &h->pe[pe];
	uint32_t index = 0;
	int rc;

	BF_MLX5_SET(in, BF_CREATE_MKEY_UMEM_VALID, 1);
	BF_MLX5_SET(in, BF_CREATE_MKEY_UMEM_ID, p->heap_umem);
	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_MTT);
	BF_MLX5_SET(mkc, BF_MKC_RELAXED_WRITE, relaxed);
	BF_MLX5_SET(mkc, BF_MKC_A, 1);
	BF_MLX5_SET(mkc, BF_MKC_RW, 1);
	BF_MLX5_SET(mkc, BF_MKC_RR, 1);
	BF_MLX5_SET(mkc, BF_MKC_LW, 1);
	BF_MLX5_SET(mkc, BF_MKC_LR, 1);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff);
	BF_MLX5_SET(mkc, BF_MKC_KEY, pe % 0x7f + 1);
	BF_MLX5_SET(mkc, BF_MKC_PD, p->pd);
	bf_put_be64(mkc + BF_MKC_SIZE, p->heap.size);
	rc = command(h, pe, BF_MLX5_CMD_CREATE_MKEY, "CREATE_MKEY", in, sizeof(in), &index);
	*key = index << 8 | (pe % 0x7f + 1);
	return rc;
}

static uint64_t ring_at(const struct bf_gin_host *h, uint32_t i)
{
	return (uint64_t)i * h->o.depth * 128;
}

/*
 * A companion has its main queue pair's doorbell page: 64 bytes of both, under two locks, would meet in one register.
 * GPUNetIO rings by doorbells alone then (submit_db_multi_qps).
 */
static uint32_t handler_of(const struct bf_gin_host *h)
{
	const bool meet = h->o.handler == BF_GIN_BF && h->o.counters && !(h->o.bugs & BF_GIN_BUG_BF_SHARED);

	return meet ? BF_GIN_DB : h->o.handler;
}

/* CQ and queue pair `i` of the PE, on a doorbell page. */
static int create_queue(struct bf_gin_host *h, uint32_t pe, uint32_t i, const struct bf_uar *uar, struct bf_gin_qp *qp)
{
	uint8_t cq[BF_CREATE_CQ_LEN] = { 0 }, *cqc = cq + BF_CREATE_CQ_CQC;
	uint8_t in[BF_CREATE_QP_LEN] = { 0 }, *qpc = in + BF_QP_QPC;
	const uint64_t ring = ring_at(h, i), cqes = ring + (uint64_t)h->o.depth * 64;
	const uint32_t log = (uint32_t)__builtin_ctz(h->o.depth);
	const bool main = i < mains(h) || i < 2 * mains(h);
	struct pe *p = &h->pe[pe];
	int rc;

	memset(qp, 0, sizeof(*qp));
	qp->cq.cqe = (uint8_t *)p->queues.ptr + cqes;
	qp->cq.cqe_num = qp->sq_wqe_num = h->o.depth;
	for (uint32_t n = 0; n < h->o.depth; n++)
		qp->cq.cqe[n * 64 + 63] = 0xf1;
	BF_MLX5_SET(cqc, BF_CQC_OI, 1);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, h->o.bugs & BF_GIN_BUG_CQ_PAGE ? 0 : log); /* one entry, as UCX has it */
	BF_MLX5_SET(cqc, BF_CQC_CC, (h->o.bugs & BF_GIN_BUG_CQ_PAGE) != 0);
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, uar->index);
	BF_MLX5_SET(cqc, BF_CQC_DBR_UMEM_VALID, 1);
	BF_MLX5_SET(cqc, BF_CQC_DBR_UMEM_ID, p->record_umem);
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, i * 64ull + 32);
	BF_MLX5_SET(cq, BF_CREATE_CQ_UMEM_VALID, 1);
	BF_MLX5_SET(cq, BF_CREATE_CQ_UMEM_ID, p->queue_umem);
	bf_put_be64(cq + BF_CREATE_CQ_UMEM_OFFSET, cqes);
	rc = command(h, pe, BF_MLX5_CMD_CREATE_CQ, "CREATE_CQ", cq, sizeof(cq), &qp->cq.cqn);
	if (rc)
		return rc;
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, 3);
	BF_MLX5_SET(qpc, BF_QPC_PD, p->pd);
	BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, BF_QPC_RQ_NONE);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, log);
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, uar->index);
	BF_MLX5_SET(qpc, BF_QPC_SEND_DBR_MODE, main && h->o.handler == BF_GIN_NO_RECORD ? BF_DBR_NONE : BF_DBR_VALID);
	BF_MLX5_SET(qpc, BF_QPC_CD_MASTER, i >= mains(h) && i < 2 * mains(h));
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, qp->cq.cqn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, qp->cq.cqn);
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_VALID, 1);
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_ID, p->record_umem);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, i * 64ull);
	BF_MLX5_SET(in, BF_CREATE_QP_UMEM_VALID, 1);
	BF_MLX5_SET(in, BF_CREATE_QP_UMEM_ID, p->queue_umem);
	bf_put_be64(in + BF_CREATE_QP_UMEM_OFFSET, ring);
	rc = command(h, pe, BF_MLX5_CMD_CREATE_QP, "CREATE_QP", in, sizeof(in), &qp->sq_num);
	qp->nic_handler = handler_of(h);
	qp->sq_wqe = (uint8_t *)p->queues.ptr + ring;
	qp->sq_dbrec = (uint32_t *)(void *)((uint8_t *)p->records.ptr + i * 64ull) + BF_MLX5_DBR_SND;
	qp->sq_db = (uint8_t *)uar->page + (h->o.handler == BF_GIN_NO_RECORD ? BF_MLX5_UAR_NO_RECORD : BF_MLX5_UAR_BF);
	return rc;
}

/* The slot that the CPU looks at, in place of the register. */
static void serve_by_proxy(struct bf_gin_host *h, uint32_t pe, uint32_t i, struct bf_gin_qp *qp)
{
	struct pe *p = &h->pe[pe];

	if (h->o.handler != BF_GIN_PROXY)
		return;
	p->proxy.registers[i] = qp->sq_db;
	p->proxy.slots[i] = (uint64_t *)(void *)((uint8_t *)p->records.ptr + i * 64ull + 48);
	qp->sq_db = p->proxy.slots[i];
}

/*
 * A queue of descriptors for each queue pair, in the host's memory, and what the CPU posts with: queue pairs of its own
 * view, on the same rings, that nobody else uses.
 */
static int lay_descriptors(struct bf_gin_host *h, uint32_t pe)
{
	const uint64_t queues = (uint64_t)mains(h) * DESCRIPTOR_QUEUE, own = queues + sizeof(struct bf_gin_state) + 64;
	struct pe *p = &h->pe[pe];
	struct bf_gin_proxy *proxy = &p->proxy;
	uint8_t *base;
	int rc;

	if (h->o.handler < BF_GIN_GFD)
		return 0;
	if (h->o.heap_bytes / 8 > BF_GFD_SIGNALS / 2)
		return bf_fail(h->err, -EINVAL,
			       "PE %u: words of a heap of %" PRIu64 " bytes have no number in a descriptor", pe,
			       h->o.heap_bytes);
	rc =
	    get_memory(h, pe, BF_PLACE_HOST, own + mains(h) * sizeof(struct bf_gin_qp), "descriptors", &p->descriptors);
	if (rc)
		return rc;
	base = p->descriptors.ptr;
	proxy->queues = mains(h);
	proxy->posts = (void *)(base + queues);
	*proxy->posts = *p->state;
	proxy->posts->sharing = BF_GIN_EXCLUSIVE;
	proxy->posts->qps = (void *)(base + ((own + 63) & ~63ull) - 64);
	proxy->posted = calloc((size_t)mains(h) * DESCRIPTORS, sizeof(*proxy->posted));
	proxy->head = calloc(2ul * mains(h), sizeof(*proxy->head));
	if (!proxy->posted || !proxy->head)
		return bf_fail(h->err, -ENOMEM, "PE %u: no memory for %u queues", pe, mains(h));
	proxy->tail = proxy->head + mains(h);
	for (uint32_t i = 0; i < mains(h); i++) {
		struct bf_gin_qp *qp = &p->state->qps[i];

		if (i % h->o.npes == pe)
			continue;
		proxy->posts->qps[i] = *qp;
		proxy->posts->qps[i].nic_handler = BF_GIN_DB;
		qp->gfd = (void *)(base + (uint64_t)i * DESCRIPTOR_QUEUE);
		qp->gfd->slots = (uint8_t *)qp->gfd + 64;
		qp->gfd->size = DESCRIPTORS;
		for (uint32_t n = 0; n < DESCRIPTORS && h->o.handler == BF_GIN_D2P; n++)
			qp->gfd->slots[n * BF_D2P_WORDS * 8] = 1; /* not the owner of the first lap */
	}
	return 0;
}

/* The device chooses. With the mistake all have one: GPUNetIO calls srand(time) before each rand(). */
static uint32_t sport_of(const struct bf_gin_host *h)
{
	return h->o.bugs & BF_GIN_BUG_ONE_SPORT ? 0xc123 : 0;
}

static int modify(struct bf_gin_host *h, uint32_t pe, uint32_t qpn, uint32_t to, uint32_t peer)
{
	static const struct {
		uint32_t opcode;
		const char *name;
	} steps[] = { { BF_MLX5_CMD_RST2INIT_QP, "RST2INIT_QP" },
		      { BF_MLX5_CMD_INIT2RTR_QP, "INIT2RTR_QP" },
		      { BF_MLX5_CMD_RTR2RTS_QP, "RTR2RTS_QP" } };
	int rc = 0;

	for (uint32_t i = 0; !rc && i < BF_ARRAY_LEN(steps); i++) {
		uint8_t in[BF_MODIFY_QP_LEN] = { 0 }, *qpc = in + BF_QP_QPC, *path = qpc + BF_QPC_PATH;
		uint8_t gid[16], mac[6];

		rc = h->be->address(h->world, to, 0, 0, gid, mac);
		if (rc)
			return bf_fail(h->err, rc, "PE %u has no address", to);
		BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qpn);
		BF_MLX5_SET(qpc, BF_QPC_PM_STATE, 3);
		BF_MLX5_SET(qpc, BF_QPC_RRE, 1);
		BF_MLX5_SET(qpc, BF_QPC_RWE, 1);
		BF_MLX5_SET(qpc, BF_QPC_RAE, 1);
		BF_MLX5_SET(qpc, BF_QPC_ATOMIC_MODE, 1);
		BF_MLX5_SET(qpc, BF_QPC_MTU, 5);
		BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, 30);
		BF_MLX5_SET(qpc, BF_QPC_REMOTE_QPN, peer);
		BF_MLX5_SET(qpc, BF_QPC_LOG_RRA_MAX, h->o.bugs & BF_GIN_BUG_DEPTH_1 ? 0 : 4);
		BF_MLX5_SET(qpc, BF_QPC_LOG_SRA_MAX, h->o.bugs & BF_GIN_BUG_DEPTH_1 ? 0 : 4);
		BF_MLX5_SET(qpc, BF_QPC_MIN_RNR_NAK, 12);
		BF_MLX5_SET(qpc, BF_QPC_RETRY_COUNT, 7);
		BF_MLX5_SET(qpc, BF_QPC_RNR_RETRY, 7);
		BF_MLX5_SET(path, BF_PATH_PORT, 1);
		BF_MLX5_SET(path, BF_PATH_ACK_TIMEOUT, ACK_TIMEOUT);
		BF_MLX5_SET(path, BF_PATH_HOP_LIMIT, 255);
		BF_MLX5_SET(path, BF_PATH_UDP_SPORT, sport_of(h));
		if (!(h->o.bugs & BF_GIN_BUG_NO_GID))
			memcpy(path + BF_PATH_RGID, gid, sizeof(gid));
		BF_MLX5_SET(path, BF_PATH_RMAC_HI, bf_get_be16(mac));
		BF_MLX5_SET(path, BF_PATH_RMAC_LO, bf_get_be32(mac + 2));
		rc = command(h, pe, steps[i].opcode, steps[i].name, in, sizeof(in), NULL);
	}
	return rc;
}

/* Tables: the state, main queue pairs and companions, keys, the count of issuers. */
static void lay_tables(struct bf_gin_host *h, uint32_t pe)
{
	struct pe *p = &h->pe[pe];
	uint8_t *at = p->tables.ptr;
	struct bf_gin_state *s = p->state = (void *)at;

	*s = (struct bf_gin_state){
		.bugs = h->o.bugs,
		.mype = pe,
		.npes = h->o.npes,
		.contexts = h->o.contexts,
		.sharing = h->o.sharing,
		.heap = p->heap.ptr,
		.window = p->heap.va,
		.udp_sport = sport_of(h),
		.sink = h->o.sink,
	};
	at += (sizeof(*s) + 63) & ~(size_t)63;
	s->qps = (void *)at;
	at += mains(h) * sizeof(struct bf_gin_qp);
	s->companions = (void *)at;
	at += mains(h) * sizeof(struct bf_gin_qp);
	s->rkeys = (void *)at;
	s->strict_rkeys = s->rkeys + h->o.npes;
	s->running = (uint32_t *)(void *)p->records.ptr + h->queues * 16;
	*s->running = h->o.issuers;
	p->proxy.state = s;
	p->proxy.qps = s->qps;
	p->proxy.count = h->o.handler == BF_GIN_PROXY ? 2 * mains(h) : 0;
}

static int create_queues(struct bf_gin_host *h, uint32_t pe)
{
	struct pe *p = &h->pe[pe];
	int rc = 0;

	for (uint32_t i = 0; !rc && i < mains(h); i++) {
		struct bf_gin_qp answers;
		struct bf_uar uar;

		if (i % h->o.npes == pe)
			continue;
		rc = h->be->map_uar(h->world, pe, 0, &uar);
		if (rc)
			return bf_fail(h->err, rc, "PE %u: no doorbell page", pe);
		rc = create_queue(h, pe, i, &uar, &p->state->qps[i]);
		if (!rc)
			serve_by_proxy(h, pe, i, &p->state->qps[i]);
		if (rc || !h->o.counters)
			continue;
		rc = create_queue(h, pe, mains(h) + i, &uar, &p->state->companions[i]);
		if (!rc)
			serve_by_proxy(h, pe, mains(h) + i, &p->state->companions[i]);
		if (!rc)
			rc = create_queue(h, pe, 2 * mains(h) + i, &uar, &answers);
		if (!rc)
			p->responders[i] = answers.sq_num;
	}
	return rc;
}

static int open_pe(struct bf_gin_host *h, uint32_t pe)
{
	const uint64_t tables = 4096 + 2ull * mains(h) * sizeof(struct bf_gin_qp) + 8ull * h->o.npes;
	/* With the mistake the heap lies a page behind the beginning of its allocation, which gets registered. */
	const uint32_t spare = h->o.bugs & BF_GIN_BUG_UMEM_OFFSET ? PAGE : 0;
	struct pe *p = &h->pe[pe];
	uint8_t in[16] = { 0 };
	int rc;

	p->responders = calloc(mains(h), sizeof(*p->responders));
	p->proxy.slots = calloc(h->queues, sizeof(*p->proxy.slots));
	p->proxy.registers = calloc(h->queues, sizeof(*p->proxy.registers));
	p->proxy.told = calloc(h->queues, sizeof(*p->proxy.told));
	if (!p->responders || !p->proxy.slots || !p->proxy.registers || !p->proxy.told)
		return bf_fail(h->err, -ENOMEM, "PE %u: no memory for %u queues", pe, h->queues);
	rc = command(h, pe, BF_MLX5_CMD_ALLOC_PD, "ALLOC_PD", in, sizeof(in), &p->pd);
	if (!rc)
		rc = get_memory(h, pe, BF_PLACE_GPU, h->o.heap_bytes + spare, "heap", &p->heap);
	if (!rc)
		rc = get_memory(h, pe, h->o.handler >= BF_GIN_GFD ? BF_PLACE_HOST : BF_PLACE_GPU, ring_at(h, h->queues),
				"queues", &p->queues);
	if (!rc)
		rc = get_memory(h, pe, h->o.handler >= BF_GIN_PROXY ? BF_PLACE_HOST : BF_PLACE_GPU,
				h->queues * 64ull + 64, "records", &p->records);
	if (!rc)
		rc = get_memory(h, pe, BF_PLACE_GPU, tables, "tables", &p->tables);
	if (!rc)
		rc = create_umem(h, pe, &p->heap, LOG_PAGE, &p->heap_umem);
	if (!rc)
		rc = create_umem(h, pe, &p->queues, h->o.bugs & BF_GIN_BUG_CQ_PAGE ? 16 : LOG_PAGE, &p->queue_umem);
	if (!rc)
		rc = create_umem(h, pe, &p->records, LOG_PAGE, &p->record_umem);
	if (!rc)
		rc = create_key(h, pe, h->o.bugs & BF_GIN_BUG_RELAXED_WINDOW, &p->key);
	if (!rc)
		rc = create_key(h, pe, false, &p->strict_key);
	if (rc)
		return rc;
	p->heap.ptr = (uint8_t *)p->heap.ptr + spare;
	p->heap.va += spare;
	lay_tables(h, pe);
	p->state->lkey = bf_htobe32(p->key);
	p->state->strict_lkey = bf_htobe32(p->strict_key);
	rc = create_queues(h, pe);
	return rc ? rc : lay_descriptors(h, pe);
}

static int connect_pe(struct bf_gin_host *h, uint32_t pe)
{
	struct pe *p = &h->pe[pe];
	uint32_t *rkeys = (uint32_t *)(uintptr_t)p->state->rkeys;
	int rc = 0;

	for (uint32_t peer = 0; peer < h->o.npes; peer++) {
		rkeys[peer] = bf_htobe32(h->pe[peer].key);
		rkeys[h->o.npes + peer] = bf_htobe32(h->pe[peer].strict_key);
	}
	for (uint32_t i = 0; !rc && i < mains(h); i++) {
		const uint32_t peer = i % h->o.npes, back = i - peer + pe;

		if (peer == pe)
			continue;
		rc = modify(h, pe, p->state->qps[i].sq_num, peer, h->pe[peer].state->qps[back].sq_num);
		if (rc || !h->o.counters)
			continue;
		rc = modify(h, pe, p->state->companions[i].sq_num, pe, p->responders[i]);
		if (!rc)
			rc = modify(h, pe, p->responders[i], pe, p->state->companions[i].sq_num);
	}
	return rc;
}

int bf_gin_host_open(const struct bf_backend *be, struct bf_world *world, const struct bf_gin_opts *opts,
		     struct bf_error *err, struct bf_gin_host **out)
{
	struct bf_gin_host *h = calloc(1, sizeof(*h) + opts->npes * sizeof(h->pe[0]));
	int rc = 0;

	*out = h;
	if (!h)
		return bf_fail(err, -ENOMEM, "no memory for %u PEs", opts->npes);
	h->be = be;
	h->world = world;
	h->o = *opts;
	h->err = err;
	h->queues = 3 * mains(h);
	for (uint32_t pe = 0; !rc && pe < opts->npes; pe++)
		rc = open_pe(h, pe);
	for (uint32_t pe = 0; !rc && pe < opts->npes; pe++)
		rc = connect_pe(h, pe);
	return rc;
}

void bf_gin_host_close(struct bf_gin_host *h)
{
	for (uint32_t pe = 0; h && pe < h->o.npes; pe++) {
		free(h->pe[pe].responders);
		free(h->pe[pe].proxy.slots);
		free(h->pe[pe].proxy.registers);
		free(h->pe[pe].proxy.told);
		free(h->pe[pe].proxy.posted);
		free(h->pe[pe].proxy.head);
	}
	free(h);
}

struct bf_gin_state *bf_gin_host_state(struct bf_gin_host *h, uint32_t pe)
{
	return h->pe[pe].state;
}

uint8_t *bf_gin_host_heap(struct bf_gin_host *h, uint32_t pe)
{
	return h->pe[pe].heap.ptr;
}

struct bf_gin_proxy *bf_gin_host_proxy(struct bf_gin_host *h, uint32_t pe)
{
	return h->o.handler >= BF_GIN_PROXY ? &h->pe[pe].proxy : NULL;
}
