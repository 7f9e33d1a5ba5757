/*
 * Paging on demand: keys whose pages come when they are needed.
 *
 * A request that needs an absent page waits. The driver hears of it by an event (Linux include/linux/mlx5/device.h
 * struct mlx5_eqe_page_fault, the memory scheme), brings the page in, and ends the fault by PAGE_FAULT_RESUME
 * (drivers/infiniband/hw/mlx5/odp.c). A requester does not start its WQE until then; a responder answers that it is not
 * ready, and the peer comes again. A queue pair has one fault at a time for each of its two sides.
 */
#include "models/mlx5/device_internal.h"
#include "models/mlx5/prm_hca.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/grow.h"

#define BLOCK_SHIFT 21u /* a block is a bit for each of the 512 pages of 2 MiB */
#define PAGE_SHIFT 12u

struct present {
	uint64_t number; /* address >> BLOCK_SHIFT */
	uint64_t bits[8];
};

struct bf_mlx5_paging {
	struct present *block; /* in order of number */
	uint32_t count, room;
};

struct bf_mlx5_page_fault {
	struct bf_mlx5_page_fault *next;
	struct bf_mlx5_qp *qp;
	uint64_t va, len;
	uint32_t key, token;
	enum bf_rdma_side side;
	bool refused; /* the driver has no such page: the request fails when it asks again */
};

/* Of a fault that cannot be mended: mlx5dv.h MLX5_CQE_VENDOR_SYNDROME_ODP_PFAULT; the syndrome is assumed. */
static const struct bf_mlx5_err err_page = { BF_MLX5_SYND_LOCAL_PROT, 0x93, 0x00 };

struct bf_mlx5_paging *bf_mlx5_paging_new(void)
{
	return calloc(1, sizeof(struct bf_mlx5_paging));
}

void bf_mlx5_paging_free(struct bf_mlx5_paging *p)
{
	if (p)
		free(p->block);
	free(p);
}

/* Index of the first block at or behind `number`. */
static uint32_t first_at(const struct bf_mlx5_paging *p, uint64_t number)
{
	uint32_t low = 0, high = p->count;

	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (p->block[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The bits of word `i` of a block that stand for pages of first .. last. */
static uint64_t bits_of(uint64_t number, uint32_t i, uint64_t first, uint64_t last)
{
	const uint64_t from = number << (BLOCK_SHIFT - PAGE_SHIFT) | i * 64u, to = from + 63;
	uint64_t bits = UINT64_MAX;

	if (last < from || first > to)
		return 0;
	if (first > from)
		bits &= UINT64_MAX << (first - from);
	if (last < to)
		bits &= UINT64_MAX >> (to - last);
	return bits;
}

static bool pages_there(const struct bf_mlx5_paging *p, uint64_t va, uint64_t len)
{
	const uint64_t first = va >> PAGE_SHIFT, last = len ? (va + len - 1) >> PAGE_SHIFT : first;
	const uint64_t end = (last << PAGE_SHIFT) >> BLOCK_SHIFT;
	uint32_t at = first_at(p, va >> BLOCK_SHIFT);

	if (!len)
		return true;
	for (uint64_t number = va >> BLOCK_SHIFT; number <= end; number++, at++) {
		if (at == p->count || p->block[at].number != number)
			return false;
		for (uint32_t i = 0; i < 8; i++)
			if (bits_of(number, i, first, last) & ~p->block[at].bits[i])
				return false;
	}
	return true;
}

enum bf_mlx5_key_fault bf_mlx5_pages_check(struct bf_mlx5 *dev, const struct bf_mlx5_mkey *k, uint64_t va, uint64_t len)
{
	if (BF_LIKELY(pages_there(k->paging, va, len)))
		return BF_MLX5_KEY_OK;
	dev->absent.va = va;
	dev->absent.len = len;
	dev->absent.key = k->index << 8 | k->variant;
	return BF_MLX5_KEY_ABSENT;
}

static struct present *block_for(struct bf_mlx5_paging *p, uint64_t number)
{
	const uint32_t at = first_at(p, number);

	if (at < p->count && p->block[at].number == number)
		return &p->block[at];
	if (BF_GROW(p->block, p->room, p->count + 1))
		return NULL;
	memmove(&p->block[at + 1], &p->block[at], (p->count - at) * sizeof(p->block[0]));
	p->count++;
	p->block[at] = (struct present){ .number = number };
	return &p->block[at];
}

int bf_mlx5_pages_come(struct bf_mlx5 *dev, uint32_t key, uint64_t va, uint64_t len)
{
	const struct bf_mlx5_mkey *k = bf_mlx5_table_get(&dev->mkeys, key >> 8);
	const uint64_t first = va >> PAGE_SHIFT, last = len ? (va + len - 1) >> PAGE_SHIFT : first;

	if (!k || !k->paging || !len || va + len < va)
		return -EINVAL;
	for (uint64_t number = va >> BLOCK_SHIFT; number <= (last << PAGE_SHIFT) >> BLOCK_SHIFT; number++) {
		struct present *b = block_for(k->paging, number);

		if (!b)
			return -ENOMEM;
		for (uint32_t i = 0; i < 8; i++)
			b->bits[i] |= bits_of(number, i, first, last);
	}
	return 0;
}

void bf_mlx5_paging_caps(const struct bf_mlx5 *dev, uint8_t *cap)
{
	if (!dev->paging)
		return;
	BF_MLX5_SET(cap, BF_ODP_CAP_RC, BF_ODP_ALL);
	BF_MLX5_SET(cap, BF_ODP_CAP_UD, BF_ODP_SEND);
	BF_MLX5_SET(cap, BF_ODP_CAP_XRC, BF_ODP_ALL);
}

static void record(const struct bf_mlx5 *dev, const struct bf_mlx5_page_fault *f, uint8_t what)
{
	BF_EMIT(dev->sim, f->qp->rdma.actor, page_fault, .va = f->va, .length = f->len, .token = f->token,
		.key = f->key, .qpn = f->qp->rdma.qpn, .side = (uint8_t)f->side, .what = what);
}

static void drop(struct bf_mlx5 *dev, struct bf_mlx5_page_fault **at)
{
	struct bf_mlx5_page_fault *f = *at;

	*at = f->next;
	bf_pool_give(dev->sim, f, sizeof(*f));
}

bool bf_mlx5_page_fault(struct bf_mlx5_qp *qp, enum bf_rdma_side side)
{
	struct bf_mlx5 *dev = qp->dev;
	struct bf_mlx5_page_fault *f;

	for (struct bf_mlx5_page_fault **at = &dev->page_faults; *at; at = &(*at)->next) {
		f = *at;
		if (f->qp != qp || f->side != side)
			continue;
		if (!f->refused)
			return true; /* the driver is at work */
		const bool same = f->key == dev->absent.key && f->va == dev->absent.va;

		drop(dev, at);
		if (same)
			return false;
		break;
	}
	f = bf_mlx5_event_wanted(dev, BF_MLX5_EVENT_PAGE_FAULT) ? bf_pool_take(dev->sim, sizeof(*f)) : NULL;
	if (!f)
		return false; /* nobody would bring it */
	*f = (struct bf_mlx5_page_fault){ .next = dev->page_faults,
					  .qp = qp,
					  .va = dev->absent.va,
					  .len = dev->absent.len,
					  .key = dev->absent.key,
					  .token = ++dev->page_fault_token,
					  .side = side };
	dev->page_faults = f;
	dev->count.page_faults++;
	record(dev, f, BF_MLX5_PAGE_ABSENT);
	bf_mlx5_event_page_fault(dev, f->key, f->va, f->len, f->token);
	return true;
}

void bf_mlx5_page_faults_forget(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_page_fault **at = &qp->dev->page_faults;

	while (*at)
		if ((*at)->qp == qp)
			drop(qp->dev, at);
		else
			at = &(*at)->next;
}

void bf_mlx5_page_fault_fail(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	bf_mlx5_send_fail(qp, s, err_page, "page fault: the driver has no such page");
}

uint8_t bf_mlx5_cmd_page_fault_resume(struct bf_mlx5_mail *m)
{
	const uint32_t token = BF_MLX5_GET(m->in, BF_RESUME_TOKEN);
	const bool error = BF_MLX5_GET(m->in, BF_RESUME_ERROR);
	struct bf_mlx5_page_fault **at = &m->dev->page_faults;
	struct bf_mlx5_qp *qp;
	enum bf_rdma_side side;

	while (*at && ((*at)->token != token || (*at)->refused))
		at = &(*at)->next;
	if (!*at)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "fault_token 0x%x: no such page fault", token);
	qp = (*at)->qp;
	side = (*at)->side;
	record(m->dev, *at, error ? BF_MLX5_PAGE_REFUSED : BF_MLX5_PAGE_CAME);
	if (error)
		(*at)->refused = true;
	else
		drop(m->dev, at);
	/* A responder's peer comes again by itself. */
	if (side == BF_RDMA_REQUESTER)
		bf_mlx5_sq_run(qp);
	return BF_MLX5_CMD_OK;
}
