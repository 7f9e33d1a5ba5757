/*
 * Compressed CQEs: entries that come close together and differ in little take fewer bytes (prm_cqe.h has the layout).
 *
 * An entry that could begin a block waits a little for others of the same queue pair and kind. Then they are written,
 * the title last; one that stayed alone is written as it would be anyway. When a ConnectX compresses is not public:
 * time and number are assumed.
 */
#include "models/mlx5/device_internal.h"

#include <errno.h>
#include <stdlib.h>

struct bf_mlx5_session {
	struct bf_event timer;
	struct bf_mlx5_cq *cq;
	struct bf_mlx5_cqe_source from; /* of the first */
	uint32_t count, limit;
	struct bf_mlx5_completion c[BF_MLX5_BLOCK_MAX];
};

static void waited(struct bf_event *ev)
{
	bf_mlx5_session_flush(BF_CONTAINER_OF(ev, struct bf_mlx5_session, timer)->cq);
}

bool bf_mlx5_session_open(struct bf_mlx5_cq *cq)
{
	struct bf_mlx5_session *s = bf_mlx5_cq_extend(cq) ? calloc(1, sizeof(*s)) : NULL;

	if (!s) {
		bf_fail(&cq->dev->sim->error, -ENOMEM, "%s: no memory for a CQ", cq->dev->name);
		return false;
	}
	s->cq = cq;
	s->limit = (cq->mask + 1) / 2 < BF_MLX5_BLOCK_MAX ? (cq->mask + 1) / 2 : BF_MLX5_BLOCK_MAX;
	bf_event_init(&s->timer, waited);
	cq->extra->session = s;
	return true;
}

void bf_mlx5_session_close(struct bf_mlx5_cq *cq)
{
	if (!cq->extra->session)
		return;
	bf_sim_cancel(cq->dev->sim, &cq->extra->session->timer);
	free(cq->extra->session);
	cq->extra->session = NULL;
}

uint32_t bf_mlx5_session_count(const struct bf_mlx5_cq *cq)
{
	return cq->extra && cq->extra->session ? cq->extra->session->count : 0;
}

static bool may_be_compressed(const struct bf_mlx5_completion *c)
{
	return !c->err.syndrome && !c->data &&
	       (c->opcode == BF_MLX5_CQE_REQ || c->opcode == BF_MLX5_CQE_RESP_SEND ||
		c->opcode == BF_MLX5_CQE_RESP_WRITE_IMM || c->opcode == BF_MLX5_CQE_RESP_SEND_IMM);
}

/* What is not in a mini CQE must be the title's; receive WQEs must follow one another. */
static bool fits(const struct bf_mlx5_session *s, const struct bf_mlx5_cqe_source *from,
		 const struct bf_mlx5_completion *c)
{
	const struct bf_mlx5_completion *last = &s->c[s->count - 1];

	if (from->qpn != s->from.qpn || from->user_index != s->from.user_index || c->opcode != last->opcode ||
	    c->imm != last->imm || c->solicited != last->solicited || c->flags_rqpn != last->flags_rqpn ||
	    c->slid != last->slid)
		return false;
	return c->opcode == BF_MLX5_CQE_REQ || c->index == (uint16_t)(last->index + 1);
}

static struct bf_mlx5_mini_cqe mini(const struct bf_mlx5_completion *c)
{
	struct bf_mlx5_mini_cqe m = { .byte_cnt = bf_to_be32(c->byte_cnt) };

	if (c->opcode == BF_MLX5_CQE_REQ) {
		m.wqe_counter = bf_to_be16(c->index);
		m.wqe_opcode = c->wqe_opcode;
	}
	return m;
}

/* Bytes that cannot be written are found out by the title, which lies in the same ring. */
static void write_arrays(struct bf_mlx5_cq *cq, const struct bf_mlx5_session *s)
{
	for (uint32_t at = 0; at < s->count; at += BF_MLX5_MINI_CQES) {
		const uint32_t slot = (cq->producer + (at ? at : 1)) & cq->mask;
		const uint64_t into = (uint64_t)slot * cq->cqe_size + (cq->cqe_size - sizeof(struct bf_mlx5_cqe));
		struct bf_mlx5_mini_cqe array[BF_MLX5_MINI_CQES] = { 0 };
		uint32_t run;

		for (uint32_t i = 0; i < BF_MLX5_MINI_CQES && at + i < s->count; i++)
			array[i] = mini(&s->c[at + i]);
		bf_dma_write(&cq->dev->dma, bf_mlx5_buf_iova(&cq->buf, into, sizeof(array), &run), array, sizeof(array),
			     0);
	}
}

void bf_mlx5_session_flush(struct bf_mlx5_cq *cq)
{
	struct bf_mlx5_session *s = cq->extra ? cq->extra->session : NULL;
	struct bf_mlx5_completion title;
	struct bf_mlx5_cqe cqe;
	uint32_t n;

	if (!s || !s->count)
		return;
	bf_sim_cancel(cq->dev->sim, &s->timer);
	n = s->count;
	if (cq->error) {
		s->count = 0;
		return;
	}
	if (n == 1) {
		s->count = 0;
		bf_mlx5_cq_put(cq, &s->from, s->c);
		return;
	}
	write_arrays(cq, s);
	title = s->c[0];
	title.byte_cnt = n;
	bf_mlx5_cqe_build(cq, &s->from, &title, &cqe);
	cqe.op_own |= BF_MLX5_CQE_COMPRESSED;
	cqe.signature ^= BF_MLX5_CQE_COMPRESSED;
	s->count = 0;
	bf_mlx5_cq_put_block(cq, n, &s->from, s->c, &cqe);
}

void bf_mlx5_session_take(struct bf_mlx5_cq *cq, const struct bf_mlx5_cqe_source *from,
			  const struct bf_mlx5_completion *c)
{
	struct bf_mlx5_session *s = cq->extra->session;

	if (s->count && !(may_be_compressed(c) && fits(s, from, c)))
		bf_mlx5_session_flush(cq);
	if (!may_be_compressed(c)) {
		bf_mlx5_cq_put(cq, from, c);
		return;
	}
	if (!s->count)
		s->from = *from;
	s->c[s->count++] = *c;
	if (s->count == s->limit || !((cq->producer + s->count) & cq->mask)) /* no block goes round the ring's end */
		bf_mlx5_session_flush(cq);
	else if (s->count == 1)
		bf_sim_after(cq->dev->sim, &s->timer, BF_MLX5_BLOCK_US * BF_US);
}
