/*
 * From a capture's lines to memory: what its entries and its keys reach, here and on the other side.
 */
#include <errno.h>
#include <inttypes.h>

#include "models/mlx5/wqe.h"
#include "sim/grow.h"
#include "traces/replay/mlx5_internal.h"

struct bf_replay_key *bf_replay_find_key(const struct bf_replay_keys *keys, uint32_t key)
{
	for (size_t i = 0; i < keys->count; i++) {
		if (keys->key[i].key == key)
			return &keys->key[i];
	}
	return NULL;
}

static int add_span(struct bf_replay_spans *s, uint64_t lo, uint64_t len)
{
	if (len == 0 || lo > UINT64_MAX - len - BF_PAGE)
		return 0; /* what wraps around belongs to nobody: the device's checks will say so */
	if (BF_GROW(s->span, s->cap, s->count + 1))
		return -ENOMEM;
	s->span[s->count++] = (struct bf_replay_span){ .lo = lo, .hi = lo + len };
	return 0;
}

static bool key_covers(const struct bf_replay_keys *keys, uint32_t key, uint64_t lo, uint64_t len)
{
	for (size_t i = 0; i < keys->count; i++) {
		const struct bf_replay_key *k = &keys->key[i];

		if (k->key == key && lo >= k->lo && lo <= k->hi && len <= k->hi - lo)
			return true;
	}
	return false;
}

int bf_replay_plan_sges(struct bf_replay *r, const struct bf_mlx5_sge *sge, uint32_t n)
{
	struct bf_replay_side_state *host = &r->host[0];

	for (uint32_t i = 0; i < n; i++) {
		if (key_covers(&host->keys, sge[i].lkey, sge[i].va, sge[i].len) &&
		    add_span(&host->memory, sge[i].va, sge[i].len))
			return bf_replay_no_memory(r);
	}
	return 0;
}

static int add_key(struct bf_replay_keys *keys, const struct bf_replay_key *k)
{
	if (BF_GROW(keys->key, keys->cap, keys->count + 1))
		return -ENOMEM;
	keys->key[keys->count++] = *k;
	return 0;
}

int bf_replay_plan_key(struct bf_replay *r, const struct bf_capture_event *ev)
{
	const struct bf_capture_mkey *m = &ev->mkey;
	struct bf_replay_keys *keys = &r->host[0].keys;
	struct bf_replay_key k = {
		.key = m->key,
		.access = m->access,
		.lo = m->addr,
		.hi = m->addr + m->length,
		.listed = true,
	};

	if (m->length == 0 || k.hi < k.lo)
		return bf_fail(r->err, -EBADMSG, "line %" PRIu32 ": key 0x%" PRIx32 " covers no valid range", ev->line,
			       m->key);
	for (size_t i = 0; i < keys->count; i++) {
		const struct bf_replay_key *old = &keys->key[i];

		if (old->key == k.key && old->access == k.access && old->lo == k.lo && old->hi == k.hi)
			return 0; /* captures list a key again for each queue pair */
	}
	return add_key(keys, &k) ? bf_replay_no_memory(r) : 0;
}

/* One index holds one key: another variant of it is a key that is no longer, or never was, valid. */
static bool index_taken(const struct bf_replay_keys *keys, uint32_t key)
{
	for (size_t i = 0; i < keys->count; i++) {
		if (keys->key[i].key >> 8 == key >> 8)
			return true;
	}
	return false;
}

/* What an entry reaches on the other side: memory, and a key that the capture does not list. */
static int plan_remote(struct bf_replay *r, const struct bf_replay_qp *q, const struct bf_replay_entry *e,
		       const struct bf_mlx5_wqe *w)
{
	struct bf_replay_side_state *host = &r->host[q->loop ? 0 : 1];
	uint64_t len = w->atomic_size ? w->atomic_size : w->length;
	struct bf_replay_key *k = bf_replay_find_key(&host->keys, w->rkey);

	/* A flushed entry reached nothing, and may have the key for which the one in front of it failed. */
	if (e->outcome == BF_MLX5_SYND_REM_ACCESS || e->outcome == BF_MLX5_SYND_WR_FLUSH ||
	    w->raddr > UINT64_MAX - len - BF_PAGE)
		return 0;
	if (k ? k->listed && !key_covers(&host->keys, w->rkey, w->raddr, len) : index_taken(&host->keys, w->rkey))
		return 0;
	if (!k) {
		struct bf_replay_key implied = {
			.key = w->rkey,
			.access = BF_CAPTURE_LOCAL_WRITE | BF_CAPTURE_REMOTE_WRITE | BF_CAPTURE_REMOTE_READ |
				  BF_CAPTURE_REMOTE_ATOMIC,
			.lo = w->raddr,
			.hi = w->raddr + len,
		};

		if (add_key(&host->keys, &implied))
			return bf_replay_no_memory(r);
	} else if (!k->listed) {
		k->lo = w->raddr < k->lo ? w->raddr : k->lo;
		k->hi = w->raddr + len > k->hi ? w->raddr + len : k->hi;
	}
	return add_span(&host->memory, w->raddr, len) ? bf_replay_no_memory(r) : 0;
}

static bool wants_remote_address(uint8_t opcode)
{
	switch (opcode) {
	case BF_MLX5_OP_RDMA_WRITE:
	case BF_MLX5_OP_RDMA_WRITE_IMM:
	case BF_MLX5_OP_RDMA_READ:
	case BF_MLX5_OP_ATOMIC_CS:
	case BF_MLX5_OP_ATOMIC_FA:
	case BF_MLX5_OP_ATOMIC_MASKED_CS:
	case BF_MLX5_OP_ATOMIC_MASKED_FA:
		return true;
	default:
		return false;
	}
}

static int plan_reach(struct bf_replay *r, struct bf_replay_qp *q, const struct bf_replay_entry *e)
{
	struct bf_mlx5_wqe w;
	int rc;

	if (bf_mlx5_wqe_decode(e->ev->bytes, e->ev->len, &w, NULL))
		return 0; /* the device says what is wrong with it */
	rc = bf_replay_plan_sges(r, w.sge, w.nsge);
	if (!rc && wants_remote_address(w.opcode))
		rc = plan_remote(r, q, e, &w);
	if (!q->loop && !wants_remote_address(w.opcode) && w.length > r->max_scratch)
		r->max_scratch = w.length;
	return rc;
}

int bf_replay_plan_memory(struct bf_replay *r)
{
	int rc = 0;

	for (size_t i = 0; i < r->nqps; i++) {
		struct bf_replay_qp *q = &r->qps[i];

		for (size_t k = 0; k < q->nentries && !rc; k++)
			rc = plan_reach(r, q, &q->entries[k]);
		for (uint32_t k = 0; k < q->nrecv && !rc; k++) {
			struct bf_mlx5_sge sge[BF_MLX5_MAX_SGE];
			uint64_t total;
			uint32_t n;

			if (!q->recv[k])
				continue;
			n = bf_mlx5_recv_decode(q->recv[k]->bytes, q->recv[k]->len, sge, BF_MLX5_MAX_SGE, &total);
			rc = bf_replay_plan_sges(r, sge, n < BF_MLX5_MAX_SGE ? n : BF_MLX5_MAX_SGE);
		}
	}
	return rc;
}
