#include "drivers/ibgda/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/host_internal.h"

#define PAGE_SHIFT 12u

/* For those who read the error text; names of Linux drivers/net/ethernet/mellanox/mlx5/core/cmd.c. */
static const char *status_text(uint32_t status)
{
	switch (status) {
	case BF_MLX5_CMD_INT_ERR:
		return "internal error";
	case BF_MLX5_CMD_BAD_OP:
		return "bad operation";
	case BF_MLX5_CMD_BAD_PARAM:
		return "bad parameter";
	case BF_MLX5_CMD_BAD_SYS_STATE:
		return "bad system state";
	case BF_MLX5_CMD_BAD_RES:
		return "bad resource";
	case BF_MLX5_CMD_RES_BUSY:
		return "resource busy";
	case BF_MLX5_CMD_LIM:
		return "limits exceeded";
	case BF_MLX5_CMD_BAD_RES_STATE:
		return "bad resource state";
	case BF_MLX5_CMD_IX:
		return "bad index";
	case BF_MLX5_CMD_NO_RES:
		return "no resources";
	case BF_MLX5_CMD_BAD_INP_LEN:
		return "bad input length";
	case BF_MLX5_CMD_BAD_OUTP_LEN:
		return "bad output length";
	case BF_MLX5_CMD_BAD_QP_STATE:
		return "bad QP state";
	case BF_MLX5_CMD_BAD_SIZE:
		return "bad size";
	default:
		return "unknown status";
	}
}

int bf_ibgda_cmd(struct bf_ibgda_host *h, uint32_t pe, enum bf_mlx5_cmd_op op, const char *name, void *in, size_t len,
		 uint32_t *number)
{
	uint8_t out[272] = { 0 };
	uint32_t status;
	int rc;

	BF_MLX5_SET(in, BF_CMD_OPCODE, (uint32_t)op);
	rc = h->be->command(h->world, pe, 0, in, len, out, sizeof(out));
	if (rc)
		return bf_fail(h->err, rc, "PE %u: %s did not reach the device", pe, name);
	status = BF_MLX5_GET(out, BF_CMD_OUT_STATUS);
	if (status != BF_MLX5_CMD_OK)
		return bf_fail(h->err, -EIO, "PE %u: %s failed: status 0x%x (%s), syndrome 0x%x", pe, name, status,
			       status_text(status), BF_MLX5_GET(out, BF_CMD_OUT_SYNDROME));
	if (number)
		*number = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return 0;
}

int bf_ibgda_cmd_number(struct bf_ibgda_host *h, uint32_t pe, enum bf_mlx5_cmd_op op, const char *name, uint32_t number)
{
	uint8_t in[16] = { 0 };

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, number);
	return bf_ibgda_cmd(h, pe, op, name, in, sizeof(in), NULL);
}

int bf_ibgda_create_key(struct bf_ibgda_host *h, uint32_t pe, uint64_t va, uint64_t size, uint8_t variant,
			uint32_t *key)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 };
	uint8_t *mkc = in + BF_CREATE_MKEY_MKC;
	uint32_t index;
	int rc;

	BF_MLX5_SET(mkc, BF_MKC_A, 1);
	BF_MLX5_SET(mkc, BF_MKC_RW, 1);
	BF_MLX5_SET(mkc, BF_MKC_RR, 1);
	BF_MLX5_SET(mkc, BF_MKC_LW, 1);
	BF_MLX5_SET(mkc, BF_MKC_LR, 1);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff); /* any */
	BF_MLX5_SET(mkc, BF_MKC_KEY, variant);
	BF_MLX5_SET(mkc, BF_MKC_PD, h->pe[pe].pd);
	bf_put_be64(mkc + BF_MKC_START, va);
	bf_put_be64(mkc + BF_MKC_SIZE, size);
	rc = bf_ibgda_cmd(h, pe, BF_MLX5_CMD_CREATE_MKEY, "CREATE_MKEY", in, sizeof(in), &index);
	if (!rc)
		*key = index << 8 | variant;
	return rc;
}

/* Registers memory for queues: its pages, one by one, readable and writable. */
static int create_umem(struct bf_ibgda_host *h, uint32_t pe, const struct bf_memory *m, uint32_t *number)
{
	const uint64_t pages = m->size >> PAGE_SHIFT;
	const size_t len = BF_CREATE_UMEM_MTT + pages * 8;
	uint8_t *in = calloc(1, len);
	int rc;

	if (!in)
		return bf_fail(h->err, -ENOMEM, "no memory for a list of %" PRIu64 " pages", pages);
	/* log_page_size counts from the adapter's 4 KiB pages: 0 is PAGE_SHIFT. */
	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT, (uint32_t)pages);
	for (uint64_t i = 0; i < pages; i++)
		bf_put_be64(in + BF_CREATE_UMEM_MTT + i * 8, (m->va + (i << PAGE_SHIFT)) | 3);
	rc = bf_ibgda_cmd(h, pe, BF_MLX5_CMD_CREATE_UMEM, "CREATE_UMEM", in, len, number);
	free(in);
	return rc;
}

static bool power_of_two(uint32_t v)
{
	return v && !(v & (v - 1));
}

static int check_options(struct bf_ibgda_host *h)
{
	struct bf_ibgda_host_opts *o = &h->opts;

	if (!o->log2_granularity)
		o->log2_granularity = 21;
	if (!o->num_rc_per_pe)
		o->num_rc_per_pe = 2;
	if (!o->qp_depth)
		o->qp_depth = 1024;
	if (!o->batch)
		o->batch = o->qp_depth >= 128 ? 32 : o->qp_depth / 4;
	if (!o->ibuf_slots)
		o->ibuf_slots = 1024;
	if (h->npes < 2)
		return bf_fail(h->err, -EINVAL, "%u PEs: queue pairs need at least two", h->npes);
	if (o->log2_granularity < PAGE_SHIFT || o->log2_granularity > 40 || !o->heap_bytes ||
	    o->heap_bytes > 1ull << 38)
		return bf_fail(h->err, -EINVAL, "heap of %" PRIu64 " bytes in granules of 2^%u", o->heap_bytes,
			       o->log2_granularity);
	if (!power_of_two(o->qp_depth) || o->qp_depth < 16 || o->qp_depth > 32768)
		return bf_fail(h->err, -EINVAL, "queue depth %u: must be a power of two, 16 to 32768", o->qp_depth);
	if (!power_of_two(o->batch) || o->batch > o->qp_depth / 2)
		return bf_fail(h->err, -EINVAL, "batch %u: must be a power of two up to half the queue depth",
			       o->batch);
	if (!power_of_two(o->ibuf_slots) || o->ibuf_slots < 32 || o->ibuf_slots > 65536)
		return bf_fail(h->err, -EINVAL, "%u ibuf slots: must be a power of two, 32 to 65536", o->ibuf_slots);
	if (o->num_rc_per_pe > 64)
		return bf_fail(h->err, -EINVAL, "%u queue pairs to each PE: at most 64", o->num_rc_per_pe);
	if (o->ack_timeout > 31 || o->retry_count > 7)
		return bf_fail(h->err, -EINVAL, "ACK timeout %u (at most 31), retries %u (at most 7)", o->ack_timeout,
			       o->retry_count);
	return 0;
}

static int alloc_heap(struct bf_ibgda_host *h, uint32_t pe)
{
	return h->be->alloc(h->world, pe, BF_PLACE_GPU, h->granules << h->opts.log2_granularity, "heap",
			    &h->pe[pe].heap);
}

struct bf_ibgda_counts bf_ibgda_counts_of(const struct bf_ibgda_host *h, uint32_t pe)
{
	return (struct bf_ibgda_counts){
		.layout = BF_IBGDA_L3,
		.mype = pe,
		.npes = h->npes,
		.num_rc_per_pe = h->opts.num_rc_per_pe,
	};
}

/* Entries of a key table that do not fit into the state itself. */
static uint64_t overflow(uint64_t entries)
{
	return entries > BF_IBGDA_CONST_KEYS ? entries - BF_IBGDA_CONST_KEYS : 0;
}

/* Tables for device code, one behind the other; 64-byte aligned where counters are. */
static int alloc_tables(struct bf_ibgda_host *h, uint32_t pe)
{
	struct bf_ibgda_pe *p = &h->pe[pe];
	const uint32_t nqp = h->npes * h->opts.num_rc_per_pe;
	const struct bf_ibgda_counts counts = bf_ibgda_counts_of(h, pe);
	const uint64_t rcs = (sizeof(*p->state) + 63) & ~63ull;
	const uint64_t cqs = rcs + nqp * sizeof(*p->rcs);
	const uint64_t rkeys = cqs + bf_ibgda_cq_count(&counts) * sizeof(*p->cqs);
	const uint64_t lkeys = rkeys + overflow(h->granules * h->npes) * sizeof(*p->rkeys);
	const uint64_t heaps = lkeys + overflow(h->granules) * sizeof(*p->lkeys);
	const uint64_t switches = heaps + h->npes * sizeof(uint64_t);
	uint8_t *base;
	int rc;

	rc = h->be->alloc(h->world, pe, BF_PLACE_GPU, switches + BF_IBGDA_SWITCHES, "ibgda state", &p->tables);
	if (rc)
		return rc;
	base = p->tables.ptr;
	p->state = (struct bf_ibgda_state *)(void *)base;
	p->rcs = (struct bf_ibgda_qp *)(void *)(base + rcs);
	p->cqs = (struct bf_ibgda_cq *)(void *)(base + cqs);
	p->rkeys = (struct bf_ibgda_rkey *)(void *)(base + rkeys);
	p->lkeys = (struct bf_ibgda_lkey *)(void *)(base + lkeys);
	p->peer_heap_va = (uint64_t *)(void *)(base + heaps);
	p->switches = base + switches;
	for (uint32_t i = 0; i < nqp; i++)
		p->rcs[i].qpn = BF_IBGDA_UNUSED;
	return 0;
}

/* NVSHMEM puts control buffers into GPU memory unless told otherwise; then fences of GPU scope do. */
static int alloc_control(struct bf_ibgda_host *h, uint32_t pe)
{
	static const char *const names[BF_IBGDA_UMEMS] = { "send rings", "doorbell records", "completion queues" };
	struct bf_ibgda_pe *p = &h->pe[pe];
	const uint64_t nqp = (uint64_t)h->npes * h->opts.num_rc_per_pe;
	const uint64_t size[BF_IBGDA_UMEMS] = { nqp * h->opts.qp_depth * BF_MLX5_WQEBB, nqp * 128,
						nqp * bf_ibgda_cq_bytes(h) };
	const enum bf_placement place = h->opts.system_scope ? BF_PLACE_HOST : BF_PLACE_GPU;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < BF_IBGDA_UMEMS; i++) {
		rc = h->be->alloc(h->world, pe, place, size[i], names[i], &p->mem[i]);
		if (!rc)
			rc = create_umem(h, pe, &p->mem[i], &p->umem[i]);
	}
	if (rc)
		return rc;
	return h->be->alloc(h->world, pe, BF_PLACE_GPU, nqp * (h->opts.ibuf_slots + 1) * 256, "ibuf", &p->ibuf);
}

/* One key for each registration of the heap; variants differ so that keys of different PEs do not pass for each other.
 */
static int register_heap(struct bf_ibgda_host *h, uint32_t pe)
{
	struct bf_ibgda_pe *p = &h->pe[pe];
	const uint64_t heap = h->granules << h->opts.log2_granularity;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < h->nregs; i++) {
		const uint64_t at = i * h->reg_bytes;
		const uint64_t left = heap - at;

		rc = bf_ibgda_create_key(h, pe, p->heap.va + at, left < h->reg_bytes ? left : h->reg_bytes,
					 (uint8_t)((pe * 16 + i) % 0x7f + 1), &p->keys[i]);
	}
	return rc;
}

static int open_pe(struct bf_ibgda_host *h, uint32_t pe)
{
	struct bf_ibgda_pe *p = &h->pe[pe];
	const uint32_t nqp = h->npes * h->opts.num_rc_per_pe;
	uint8_t in[16] = { 0 };
	int rc;

	p->pd = BF_IBGDA_NONE;
	memset(p->umem, 0xff, sizeof(p->umem));
	p->keys = malloc(h->nregs * sizeof(*p->keys));
	p->obj = malloc(nqp * sizeof(*p->obj));
	if (p->keys)
		memset(p->keys, 0xff, h->nregs * sizeof(*p->keys));
	if (p->obj)
		memset(p->obj, 0xff, nqp * sizeof(*p->obj));
	if (!p->keys || !p->obj)
		return bf_fail(h->err, -ENOMEM, "no memory for %u queue pairs", nqp);
	rc = bf_ibgda_cmd(h, pe, BF_MLX5_CMD_ALLOC_PD, "ALLOC_PD", in, sizeof(in), &p->pd);
	if (!rc)
		rc = h->be->address(h->world, pe, 0, 0, p->gid, p->mac);
	if (!rc)
		rc = alloc_heap(h, pe);
	if (!rc)
		rc = alloc_tables(h, pe);
	if (!rc)
		rc = alloc_control(h, pe);
	if (!rc)
		rc = register_heap(h, pe);
	if (!rc)
		rc = bf_ibgda_create_queues(h, pe);
	return rc;
}

static struct bf_ibgda_lkey *lkey_at(struct bf_ibgda_pe *p, uint64_t i)
{
	return i < BF_IBGDA_CONST_KEYS ? &p->state->constmem.lkeys[i] : &p->lkeys[i - BF_IBGDA_CONST_KEYS];
}

static struct bf_ibgda_rkey *rkey_at(struct bf_ibgda_pe *p, uint64_t i)
{
	return i < BF_IBGDA_CONST_KEYS ? &p->state->constmem.rkeys[i] : &p->rkeys[i - BF_IBGDA_CONST_KEYS];
}

/* Every granule's entry says where its whole registration ends: an address for local keys, an offset for remote ones.
 */
static void fill_keys(struct bf_ibgda_host *h, uint32_t pe)
{
	struct bf_ibgda_pe *p = &h->pe[pe];
	const uint64_t heap = h->granules << h->opts.log2_granularity;

	for (uint64_t g = 0; g < h->granules; g++) {
		const uint64_t reg = (g << h->opts.log2_granularity) / h->reg_bytes;
		const uint64_t end = (reg + 1) * h->reg_bytes < heap ? (reg + 1) * h->reg_bytes : heap;

		*lkey_at(p, g) = (struct bf_ibgda_lkey){ .key = bf_htobe32(p->keys[reg]), .end = p->heap.va + end };
		for (uint32_t peer = 0; peer < h->npes; peer++)
			*rkey_at(p, g * h->npes + peer) =
			    (struct bf_ibgda_rkey){ .key = bf_htobe32(h->pe[peer].keys[reg]), .end = end };
	}
	for (uint32_t peer = 0; peer < h->npes; peer++)
		p->peer_heap_va[peer] = h->pe[peer].heap.va;
}

static void fill_state(struct bf_ibgda_host *h, uint32_t pe)
{
	struct bf_ibgda_pe *p = &h->pe[pe];

	*p->state = (struct bf_ibgda_state){
		.version = BF_IBGDA_VERSION(BF_IBGDA_L3, *p->state),
		.flavour = h->opts.flavour,
		.layout = BF_IBGDA_L3,
		.bugs = h->opts.bugs,
		.mype = pe,
		.npes = h->npes,
		.num_devices = 1,
		.num_rc_per_pe = h->opts.num_rc_per_pe,
		.num_default_rc_per_pe = h->opts.num_rc_per_pe,
		.batch = h->opts.batch,
		.log2_granularity = h->opts.log2_granularity,
		.system_scope = h->opts.system_scope,
		.heap_va = p->heap.va,
		.heap_size = h->granules << h->opts.log2_granularity,
		.heap = p->heap.ptr,
		.globalmem = {
			.lkeys = p->lkeys,
			.rkeys = p->rkeys,
			.peer_heap_va = p->peer_heap_va,
			.rcs = p->rcs,
			.cqs = p->cqs,
			.qp_group_switches = p->switches,
		},
	};
	fill_keys(h, pe);
}

static int connect_all(struct bf_ibgda_host *h)
{
	int rc = 0;

	for (uint32_t pe = 0; !rc && pe < h->npes; pe++) {
		for (uint32_t i = 0; !rc && i < h->npes * h->opts.num_rc_per_pe; i++)
			if (bf_ibgda_rc_pe(BF_IBGDA_L3, h->npes, h->opts.num_rc_per_pe, i) != pe)
				rc = bf_ibgda_connect(h, pe, i);
		if (!rc)
			fill_state(h, pe);
	}
	return rc;
}

int bf_ibgda_host_open(const struct bf_backend *be, struct bf_world *w, uint32_t npes,
		       const struct bf_ibgda_host_opts *opts, struct bf_error *err, struct bf_ibgda_host **out)
{
	struct bf_ibgda_host *h = calloc(1, sizeof(*h));
	uint64_t granule;
	int rc;

	*out = NULL;
	if (!h)
		return bf_fail(err, -ENOMEM, "no memory for IBGDA's host side");
	h->be = be;
	h->world = w;
	h->err = err;
	h->npes = npes;
	h->opts = *opts;
	rc = check_options(h);
	if (rc)
		goto fail;
	granule = 1ull << h->opts.log2_granularity;
	h->granules = (h->opts.heap_bytes + granule - 1) >> h->opts.log2_granularity;
	h->reg_bytes = h->opts.granules_per_mr ? h->opts.granules_per_mr * granule : h->granules * granule;
	h->nregs = (uint32_t)((h->granules * granule + h->reg_bytes - 1) / h->reg_bytes);
	h->pe = calloc(npes, sizeof(*h->pe));
	rc = h->pe ? 0 : bf_fail(err, -ENOMEM, "no memory for %u PEs", npes);
	for (uint32_t i = 0; !rc && i < npes; i++)
		rc = open_pe(h, i);
	if (!rc)
		rc = connect_all(h);
	if (!rc) {
		*out = h;
		return 0;
	}
fail:
	h->err = NULL; /* the first failure is the one to tell */
	bf_ibgda_host_close(h);
	return rc;
}

static void close_pe(struct bf_ibgda_host *h, uint32_t pe)
{
	struct bf_ibgda_pe *p = &h->pe[pe];

	if (!p->keys || !p->obj)
		goto out;
	bf_ibgda_destroy_queues(h, pe);
	for (uint32_t i = 0; i < BF_IBGDA_UMEMS; i++)
		if (p->umem[i] != BF_IBGDA_NONE)
			bf_ibgda_cmd_number(h, pe, BF_MLX5_CMD_DESTROY_UMEM, "DESTROY_UMEM", p->umem[i]);
	for (uint32_t i = 0; i < h->nregs; i++)
		if (p->keys[i] != BF_IBGDA_NONE)
			bf_ibgda_cmd_number(h, pe, BF_MLX5_CMD_DESTROY_MKEY, "DESTROY_MKEY", p->keys[i] >> 8);
	if (p->pd != BF_IBGDA_NONE)
		bf_ibgda_cmd_number(h, pe, BF_MLX5_CMD_DEALLOC_PD, "DEALLOC_PD", p->pd);
out:
	free(p->keys);
	free(p->obj);
}

void bf_ibgda_host_close(struct bf_ibgda_host *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; h->pe && i < h->npes; i++)
		close_pe(h, i);
	free(h->pe);
	free(h);
}

struct bf_ibgda_state *bf_ibgda_host_state(struct bf_ibgda_host *h, uint32_t pe)
{
	return pe < h->npes ? h->pe[pe].state : NULL;
}

struct bf_memory bf_ibgda_host_heap(const struct bf_ibgda_host *h, uint32_t pe)
{
	return pe < h->npes ? h->pe[pe].heap : (struct bf_memory){ 0 };
}

struct bf_ibgda_qp *bf_ibgda_host_qp(struct bf_ibgda_host *h, uint32_t pe, uint32_t peer, uint32_t i)
{
	if (pe >= h->npes || peer >= h->npes || pe == peer || i >= h->opts.num_rc_per_pe)
		return NULL;
	return &h->pe[pe].rcs[bf_ibgda_rc_index(BF_IBGDA_L3, h->npes, h->opts.num_rc_per_pe, peer, i)];
}
