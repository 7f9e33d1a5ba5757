/*
 * A NIC of nobody's make, on the RDMA transport: proof that the transport knows no vendor. One queue pair, one ring of
 * 32-byte little-endian entries, one ring of 16-byte receives, one ring of 8-byte completions; a doorbell is a call
 * with the producer index. Its keys name windows: an address is an offset in the key's window, so that each is mapped.
 */
#ifndef BELFRY_TESTS_MODELS_TOY_NIC_H
#define BELFRY_TESTS_MODELS_TOY_NIC_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/rdma/rdma.h"
#include "sim/pcie.h"
#include "sim/sim.h"

#define TOY_SLOTS 16u
#define TOY_ENTRY 32u   /* op u8, key u8, rkey u8, 0, length u32, address u64, remote address u64, operand u64 */
#define TOY_RECEIVE 16u /* address u64, length u32, key u32 */
#define TOY_QPN 0x77u
#define TOY_KEYS 4u
#define TOY_PIECE 300u   /* most bytes that it reads at once */
#define TOY_BAD_KEY 100u /* in a completion, beside enum bf_rdma_cause */
#define TOY_FLUSHED 101u
#define TOY_LOCAL 0x80u /* with a key: what its owner may do, all else are a peer's rights */

struct toy_send {
	struct bf_rdma_send rdma;
	uint64_t at, operand;
	uint32_t key, cause;
};

struct toy_key {
	uint64_t iova, len;
	uint32_t rights; /* BF_RDMA_ACCESS_*; 0: there is no such key */
};

struct toy_nic {
	struct bf_rdma rdma;
	struct bf_rdma_qp qp;
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_region *mem;
	struct bf_link link;
	struct bf_dma_port dma;
	struct bf_port *port;
	struct toy_key keys[TOY_KEYS];
	struct toy_send sends[TOY_SLOTS];
	struct bf_dma_op fetch, receive;
	uint8_t bytes[TOY_SLOTS][TOY_ENTRY], receive_bytes[TOY_RECEIVE];
	uint64_t ring, receives, completions; /* I/O addresses */
	uint16_t producer, fetched, receive_producer, receive_consumed, completed;
	bool fetching, running, looked;
	uint64_t into; /* of the receive at hand */
	uint32_t into_done, refused;
};

static inline struct toy_nic *toy_of(const struct bf_rdma_qp *qp)
{
	return BF_CONTAINER_OF(qp, struct toy_nic, qp);
}

static inline struct toy_send *toy_send_of(const struct bf_rdma_send *s)
{
	return BF_CONTAINER_OF(s, struct toy_send, rdma);
}

/* Where byte `va` of a key is; `len` bytes must be there. */
static inline bool toy_find(struct toy_nic *n, uint32_t key, uint64_t va, uint64_t len, uint32_t rights, uint64_t *iova)
{
	const struct toy_key *k = key < TOY_KEYS ? &n->keys[key] : NULL;

	if (!k || (k->rights & rights) != rights || va > k->len || len > k->len - va)
		return false;
	*iova = k->iova + va;
	return true;
}

static inline bool toy_check(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	struct toy_send *t = toy_send_of(s);

	const bool found = toy_find(toy_of(qp), t->key, t->at, s->length, TOY_LOCAL, &s->iova);

	s->direct = found && s->length <= TOY_PIECE;
	if (!found && bf_rdma_send_halt(qp, s))
		t->cause = TOY_BAD_KEY;
	return found;
}

static inline bool toy_piece(struct bf_rdma_walk *w, uint32_t want, struct bf_rdma_piece *out)
{
	*out = (struct bf_rdma_piece){ .iova = w->send->iova + w->skip, .len = want < TOY_PIECE ? want : TOY_PIECE };
	w->skip += out->len;
	return true;
}

static inline void toy_operands(const struct bf_rdma_qp *qp, const struct bf_rdma_send *s, struct bf_roce *r)
{
	(void)qp;
	r->swap_add = toy_send_of(s)->operand;
	r->compare = r->swap_mask = r->compare_mask = 0;
}

static inline int toy_scatter(struct bf_rdma_qp *qp, struct bf_rdma_send *s, uint32_t offset, const uint8_t *data,
			      uint32_t len)
{
	return bf_dma_write(&toy_of(qp)->dma, s->iova + offset, data, len, 0);
}

static inline int toy_result(struct bf_rdma_qp *qp, struct bf_rdma_send *s, uint64_t value)
{
	uint8_t bytes[8];

	bf_put_le64(bytes, value);
	return toy_scatter(qp, s, 0, bytes, sizeof(bytes));
}

static inline void toy_failed(struct bf_rdma_qp *qp, struct bf_rdma_send *s, enum bf_rdma_cause cause, const char *why)
{
	(void)qp;
	(void)why;
	toy_send_of(s)->cause = cause;
}

/* A completion: what it is of, and how it ended. */
static inline void toy_post(struct toy_nic *n, uint32_t what, uint32_t end)
{
	uint8_t c[8];

	bf_put_le32(c, what);
	bf_put_le32(c + 4, end);
	ck_assert_int_eq(bf_dma_write(&n->dma, n->completions + 8u * n->completed++, c, sizeof(c), 0), 0);
}

static inline void toy_complete(struct bf_rdma_qp *qp, struct bf_rdma_send *s, enum bf_rdma_end end)
{
	const uint32_t ends[] = {
		[BF_RDMA_DONE] = 0,
		[BF_RDMA_FAILED] = toy_send_of(s)->cause,
		[BF_RDMA_FLUSHED] = TOY_FLUSHED,
	};

	toy_post(toy_of(qp), s->slot, ends[end]);
}

static inline bool toy_remote(struct bf_rdma_qp *qp, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access,
			      uint8_t *memory)
{
	uint64_t iova;

	*memory = BF_RDMA_MEMORY_MAPPED;
	return toy_find(toy_of(qp), rkey, va, len, access, &iova);
}

static inline uint64_t toy_map(struct bf_rdma_qp *qp, uint32_t rkey, uint64_t va, uint32_t access, uint32_t *len)
{
	uint64_t iova = 0;

	ck_assert(toy_find(toy_of(qp), rkey, va, 1, access, &iova));
	*len = *len < TOY_PIECE ? *len : TOY_PIECE;
	return iova;
}

static inline int toy_write(struct bf_rdma_qp *qp, uint32_t rkey, uint64_t va, const uint8_t *data, uint32_t len)
{
	uint64_t iova = 0;

	ck_assert(toy_find(toy_of(qp), rkey, va, len, BF_RDMA_ACCESS_REMOTE_WRITE, &iova));
	return bf_dma_write(&toy_of(qp)->dma, iova, data, len, 0);
}

static inline void toy_receive_read(struct bf_dma_op *op)
{
	struct toy_nic *n = BF_CONTAINER_OF(op, struct toy_nic, receive);

	n->qp.inflight--;
	n->looked = true;
	bf_rdma_rx_resume(&n->qp);
	n->looked = false;
}

/* A receive is read when a request asks for one: the request waits. */
static inline enum bf_rdma_take toy_take(struct bf_rdma_qp *qp)
{
	struct toy_nic *n = toy_of(qp);

	if (n->receive_consumed == n->receive_producer)
		return BF_RDMA_TAKE_EMPTY;
	if (!n->looked) {
		n->receive.iova = n->receives + TOY_RECEIVE * (n->receive_consumed % TOY_SLOTS);
		n->receive.len = TOY_RECEIVE;
		n->receive.dst = n->receive_bytes;
		n->receive.done = toy_receive_read;
		qp->inflight++;
		bf_dma_read(&n->dma, &n->receive);
		return BF_RDMA_TAKE_WAIT;
	}
	n->looked = false; /* the next request needs the next one */
	n->receive_consumed++;
	n->into_done = 0;
	qp->rx_room = bf_get_le32(n->receive_bytes + 8);
	qp->rx_has_receive = true;
	return BF_RDMA_TAKE_TAKEN;
}

static inline bool toy_place(struct bf_rdma_qp *qp, const uint8_t *data, uint32_t len, bool whole,
			     enum bf_rdma_cause *cause)
{
	struct toy_nic *n = toy_of(qp);
	const uint64_t at = bf_get_le64(n->receive_bytes) + n->into_done;

	(void)whole;
	n->into_done += len;
	if (!toy_find(n, bf_get_le32(n->receive_bytes + 12), at, len, TOY_LOCAL, &n->into))
		*cause = BF_RDMA_RECEIVE_KEY;
	else if (bf_dma_write(&n->dma, n->into, data, len, 0))
		*cause = BF_RDMA_RECEIVE_WRITE;
	return !*cause;
}

static inline void toy_received(struct bf_rdma_qp *qp, const struct bf_roce *r)
{
	(void)r;
	toy_post(toy_of(qp), 0x80000000u | qp->rx_done, 0);
}

static inline void toy_refused(struct bf_rdma_qp *qp, const struct bf_rdma_refusal *x)
{
	toy_of(qp)->refused++;
	if (x->cause)
		toy_post(toy_of(qp), 0x80000000u, x->cause);
}

static inline void toy_enter(struct bf_rdma_qp *qp, enum bf_rdma_state state, enum bf_rdma_side by)
{
	(void)by;
	qp->state = (uint8_t)state;
	bf_rdma_stop(qp);
}

static inline void toy_decode(struct toy_nic *n)
{
	while (n->qp.decoded != n->fetched) {
		const uint8_t *b = n->bytes[n->qp.decoded % TOY_SLOTS];
		const bool answered = b[0] == BF_RDMA_OP_READ || b[0] == BF_RDMA_OP_FETCH_ADD;

		n->sends[n->qp.decoded % TOY_SLOTS] = (struct toy_send){
			.rdma = { .op = b[0],
				  .rkey = b[2],
				  .length = bf_get_le32(b + 4),
				  .raddr = bf_get_le64(b + 16),
				  .slot = n->qp.decoded,
				  .slots = 1,
				  .atomic_size = b[0] == BF_RDMA_OP_FETCH_ADD ? 8 : 0,
				  .flags = answered ? BF_RDMA_SEND_RDATOMIC : 0 },
			.key = b[1],
			.at = bf_get_le64(b + 8),
			.operand = bf_get_le64(b + 24),
		};
		n->qp.decoded++;
	}
}

static inline void toy_run(struct bf_rdma_qp *qp);

static inline void toy_fetched(struct bf_dma_op *op)
{
	struct toy_nic *n = BF_CONTAINER_OF(op, struct toy_nic, fetch);

	n->qp.inflight--;
	n->fetching = false;
	n->fetched++;
	toy_decode(n);
	toy_run(&n->qp);
}

static inline void toy_run(struct bf_rdma_qp *qp)
{
	struct toy_nic *n = toy_of(qp);

	if (n->running)
		return;
	n->running = true;
	bf_rdma_progress(qp);
	n->running = false;
	if (n->fetching || n->fetched == n->producer || (uint16_t)(n->fetched - qp->head) == TOY_SLOTS)
		return;
	n->fetching = true;
	n->fetch.iova = n->ring + TOY_ENTRY * (n->fetched % TOY_SLOTS);
	n->fetch.len = TOY_ENTRY;
	n->fetch.dst = n->bytes[n->fetched % TOY_SLOTS];
	n->fetch.done = toy_fetched;
	qp->inflight++;
	bf_dma_read(&n->dma, &n->fetch);
}

static inline void toy_release(struct bf_rdma_qp *qp)
{
	(void)qp;
}

static const struct bf_rdma_ops toy_ops = {
	.check = toy_check,
	.piece = toy_piece,
	.operands = toy_operands,
	.scatter = toy_scatter,
	.result = toy_result,
	.failed = toy_failed,
	.complete = toy_complete,
	.remote = toy_remote,
	.map = toy_map,
	.write = toy_write,
	.take = toy_take,
	.place = toy_place,
	.received = toy_received,
	.refused = toy_refused,
	.enter = toy_enter,
	.run = toy_run,
	.release = toy_release,
};

static inline void toy_rx(void *owner, struct bf_packet *pkt)
{
	struct toy_nic *n = owner;

	if (bf_rdma_parse(&n->rdma, pkt))
		bf_rdma_deliver(&n->rdma, n->rdma.rx.dest_qp == TOY_QPN ? &n->qp : NULL, n->port, pkt);
}

#endif
