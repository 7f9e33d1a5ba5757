/* Commands on completion queues: create, modify (another ring, moderation of events), query, destroy. */
#include "models/mlx5/device_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#define LOG_BLOCK_MIN 4u /* of a ring of compressed CQEs: assumed */
#define LOG_SIZE_MAX 22u
/* CQC.cqe_sz: the second kind fills each entry, so that a cache line is never written in part. */
#define CQE_128 1u
#define CQE_128_PAD 2u

/* CQC.st (mlx5_ifc.h MLX5_CQC_ST_*). */
enum { CQ_ST_SOLICITED = 6, CQ_ST_ARMED = 9, CQ_ST_FIRED = 10 };

/*
 * The device keeps where in its first page a ring begins in 64ths of 4 KiB, so it cannot begin further on in a larger
 * page (ucx#11103; docs/hardware/mlx5.md#gpu-initiated-11). Seen of a CQ of one entry, so asked of those alone.
 */
static bool begins_too_far(const struct bf_mlx5_mail *m, const uint8_t *cqc)
{
	const struct bf_mlx5_umem *u = bf_mlx5_umem_find(m->dev, BF_MLX5_GET(m->in, BF_CREATE_CQ_UMEM_ID));
	uint64_t at = bf_get_be64(m->in + BF_CREATE_CQ_UMEM_OFFSET);

	if (!u || BF_MLX5_GET(cqc, BF_CQC_LOG_SIZE) || m->dev->profile.traits.any_cq_offset)
		return false;
	return ((u->page_offset + at) & ((1ull << u->log_page) - 1)) >= 64 * BF_MLX5_WQEBB;
}

static uint8_t ring(const struct bf_mlx5_mail *m, struct bf_mlx5_buf *b, const uint8_t *cqc, uint64_t bytes)
{
	const bool valid = BF_MLX5_GET(m->in, BF_CREATE_CQ_UMEM_VALID);

	if (valid && begins_too_far(m, cqc))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "umem_offset 0x%" PRIx64
				      ": a ring of one entry must begin in the first 4096 bytes "
				      "of a page",
				      bf_get_be64(m->in + BF_CREATE_CQ_UMEM_OFFSET));
	if (!valid && bf_mlx5_has_pages(m))
		return bf_mlx5_buf_pages(m, b, BF_MLX5_GET(cqc, BF_CQC_LOG_PAGE_SIZE),
					 BF_MLX5_GET(cqc, BF_CQC_PAGE_OFFSET), bytes);
	return bf_mlx5_buf_init(m->dev, b, valid, BF_MLX5_GET(m->in, BF_CREATE_CQ_UMEM_ID),
				bf_get_be64(m->in + BF_CREATE_CQ_UMEM_OFFSET), bytes);
}

static uint8_t cq_buffers(struct bf_mlx5 *dev, struct bf_mlx5_cq *cq, const struct bf_mlx5_mail *m, const uint8_t *cqc)
{
	uint64_t bytes = cq->collapsed ? cq->cqe_size : (uint64_t)cq->cqe_size << BF_MLX5_GET(cqc, BF_CQC_LOG_SIZE);
	uint64_t dbr = bf_get_be64(cqc + BF_CQC_DBR_ADDR);
	struct bf_mlx5_buf record;
	uint8_t status;

	if (dbr & 7)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM,
				      "doorbell record at 0x%" PRIx64 ": must be a multiple of 8", dbr);
	status = ring(m, &cq->buf, cqc, bytes);
	if (!status)
		status = bf_mlx5_buf_init(dev, &record, BF_MLX5_GET(cqc, BF_CQC_DBR_UMEM_VALID),
					  BF_MLX5_GET(cqc, BF_CQC_DBR_UMEM_ID), dbr, BF_MLX5_DBR_BYTES);
	if (!status && cq->extra)
		cq->extra->dbr = record;
	return status;
}

/* The context lies behind the queue. */
static struct bf_mlx5_packed *packed_of(const struct bf_mlx5_cq *cq)
{
	return (struct bf_mlx5_packed *)(uintptr_t)(cq + 1);
}

static void hold(struct bf_mlx5 *dev, const struct bf_mlx5_cq *cq, uint32_t by)
{
	uint8_t cqc[BF_CQC_LEN];

	bf_mlx5_unpack(packed_of(cq), cqc, sizeof(cqc));
	if (BF_MLX5_GET(cqc, BF_CQC_DBR_UMEM_VALID)) {
		struct bf_mlx5_umem *u = bf_mlx5_table_get(&dev->umems, BF_MLX5_GET(cqc, BF_CQC_DBR_UMEM_ID));

		u->users += by;
	}
	bf_mlx5_buf_hold(dev, &cq->buf, by);
	dev->uars[cq->uar]->users += by;
	if (cq->extra && cq->extra->eq)
		cq->extra->eq->users += by;
}

static void record_config(const struct bf_mlx5_cq *cq, const uint8_t *cqc)
{
	BF_EMIT(cq->dev->sim, cq->actor, cq_config, .dbrec = bf_get_be64(cqc + BF_CQC_DBR_ADDR), .cqn = cq->cqn,
		.cqes = cq->mask + 1, .cqe_size = cq->cqe_size, .uar = cq->uar, .collapsed = cq->collapsed,
		.overrun_ignore = cq->ignore_overrun);
}

/* A CQ with its context, and with what it needs for events or against overrun. NULL: no memory. */
static struct bf_mlx5_cq *make(struct bf_mlx5 *dev, const uint8_t *cqc)
{
	struct bf_mlx5_eq *eq = bf_mlx5_table_get(&dev->eqs, BF_MLX5_GET(cqc, BF_CQC_EQN));
	const size_t bytes = sizeof(struct bf_mlx5_cq) + bf_mlx5_packed_size(cqc, BF_CQC_LEN);
	struct bf_mlx5_cq *cq = bf_pool_take(dev->sim, bytes);

	if (!cq)
		return NULL;
	cq->dev = dev;
	cq->bytes = (uint16_t)bytes;
	bf_mlx5_pack(packed_of(cq), cqc, BF_CQC_LEN);
	cq->ignore_overrun = BF_MLX5_GET(cqc, BF_CQC_OI);
	if (cq->ignore_overrun && !eq)
		return cq;
	if (!bf_mlx5_cq_extend(cq)) {
		bf_mlx5_cq_free(cq);
		return NULL;
	}
	cq->extra->eq = eq;
	return cq;
}

uint8_t bf_mlx5_cmd_create_cq(struct bf_mlx5_mail *m)
{
	struct bf_mlx5 *dev = m->dev;
	const uint8_t *cqc = m->in + BF_CREATE_CQ_CQC;
	uint32_t uar = BF_MLX5_GET(cqc, BF_CQC_UAR_PAGE), log_size = BF_MLX5_GET(cqc, BF_CQC_LOG_SIZE);
	uint32_t eqn = BF_MLX5_GET(cqc, BF_CQC_EQN), cqe_sz = BF_MLX5_GET(cqc, BF_CQC_CQE_SZ);
	const bool compressed = BF_MLX5_GET(cqc, BF_CQC_COMP_EN);
	struct bf_mlx5_cq *cq;
	char name[64];
	uint8_t status;

	/* Event queue 0 is none: drivers that never arm need not make one (the model's own liberty). */
	if (!bf_mlx5_uar_find(dev, uar))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "uar_page 0x%x: there is no such doorbell page", uar);
	if (eqn && !bf_mlx5_table_get(&dev->eqs, eqn))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "c_eqn %u: there is no such event queue", eqn);
	if (log_size > LOG_SIZE_MAX)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "log_cq_size %u: at most %u", log_size, LOG_SIZE_MAX);
	if (cqe_sz > CQE_128_PAD)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "cqe_sz %u: the model has 0 to %u", cqe_sz,
				      CQE_128_PAD);
	if (compressed && (cqe_sz == CQE_128_PAD || BF_MLX5_GET(cqc, BF_CQC_CC) ||
			   BF_MLX5_GET(cqc, BF_CQC_MINI_FORMAT) > BF_MLX5_MINI_CHECKSUM))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM,
				      "cqe_comp_en: neither padded nor collapsed, formats 0 and 1");
	cq = make(dev, cqc);
	if (!cq)
		return BF_MLX5_CMD_NO_RES;
	cq->uar = uar;
	cq->mask = (1u << log_size) - 1;
	cq->cqe_size = cqe_sz ? 128 : 64;
	cq->pad = cqe_sz == CQE_128_PAD;
	cq->collapsed = BF_MLX5_GET(cqc, BF_CQC_CC);
	status = cq_buffers(dev, cq, m, cqc);
	if (!status && !bf_mlx5_cq_moderate(cq, BF_MLX5_GET(cqc, BF_CQC_PERIOD), BF_MLX5_GET(cqc, BF_CQC_MAX_COUNT)))
		status = BF_MLX5_CMD_NO_RES;
	if (!status && compressed && log_size >= LOG_BLOCK_MIN && !bf_mlx5_session_open(cq))
		status = BF_MLX5_CMD_NO_RES;
	if (!status && bf_mlx5_table_add(&dev->cqs, cq, &cq->cqn))
		status = BF_MLX5_CMD_LIM;
	if (status) {
		bf_mlx5_buf_hold(dev, &cq->buf, 0);
		bf_mlx5_cq_free(cq);
		return status;
	}
	hold(dev, cq, 1);
	snprintf(name, sizeof(name), "%s.cq0x%x", dev->name, cq->cqn);
	cq->actor = bf_stream_actor(&dev->sim->rec, "queue", name);
	record_config(cq, cqc);
	m->number = cq->cqn;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_destroy_cq(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_cq *cq = bf_mlx5_table_get(&m->dev->cqs, m->number);

	if (!cq)
		return BF_MLX5_CMD_BAD_RES;
	if (cq->users)
		return BF_MLX5_CMD_RES_BUSY;
	hold(m->dev, cq, UINT32_MAX); /* minus one */
	bf_mlx5_table_remove(&m->dev->cqs, cq->cqn);
	if (cq->extra && cq->extra->reading) {
		cq->dead = true;
		cq->extra->next_zombie = m->dev->zombie_cqs;
		m->dev->zombie_cqs = cq;
	} else {
		bf_mlx5_cq_free(cq);
	}
	return BF_MLX5_CMD_OK;
}

static void record_resize(const struct bf_mlx5_cq *cq, uint32_t from)
{
	BF_EMIT(cq->dev->sim, cq->actor, cq_resize, .ring = bf_mlx5_buf_linear(&cq->buf) ? cq->buf.at : 0,
		.cqn = cq->cqn, .producer = (cq->producer - 1) & 0xffffff, .from = from, .to = cq->mask + 1,
		.cqe_size = cq->cqe_size);
}

/* Another ring, of another size. What is in the old one stays there: moving it is the driver's business. */
static uint8_t resize(struct bf_mlx5_cq *cq, const struct bf_mlx5_mail *m, const uint8_t *cqc)
{
	uint32_t log_size = BF_MLX5_GET(cqc, BF_CQC_LOG_SIZE), cqe_sz = BF_MLX5_GET(cqc, BF_CQC_CQE_SZ);
	uint32_t from = cq->mask + 1, cqe_size = cqe_sz ? 128 : 64;
	struct bf_mlx5_buf to;
	uint8_t status;

	if (!(BF_MLX5_GET(m->in, BF_MODIFY_CQ_SELECT) & BF_MODIFY_CQ_LOG_SIZE) || log_size > LOG_SIZE_MAX ||
	    cqe_sz > CQE_128_PAD || cq->collapsed)
		return bf_mlx5_refuse(
		    m->dev, BF_MLX5_CMD_BAD_PARAM,
		    "log_cq_size %u, cqe_sz %u%s: must be selected, %u at most and %u at most, of a CQ that "
		    "is not collapsed",
		    log_size, cqe_sz, cq->collapsed ? ", collapsed" : "", LOG_SIZE_MAX, CQE_128_PAD);
	if (cq->error)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES_STATE, "CQ 0x%x is in error: it cannot be resized",
				      cq->cqn);
	if (cq->extra && cq->extra->session) { /* the new one may be of another kind */
		bf_mlx5_session_flush(cq);
		if (cqe_sz == CQE_128_PAD || log_size < LOG_BLOCK_MIN)
			return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
					      "cqe_sz %u, log_cq_size %u: with compression no padding, and %u at least",
					      cqe_sz, log_size, LOG_BLOCK_MIN);
	}
	status = ring(m, &to, cqc, (uint64_t)cqe_size << log_size);
	if (status)
		return status;
	if (!bf_mlx5_cq_end_ring(cq)) {
		bf_mlx5_buf_hold(cq->dev, &to, 0);
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES_STATE,
				      "CQ 0x%x has no room for the completion that ends its old ring", cq->cqn);
	}
	bf_mlx5_buf_hold(cq->dev, &to, 1);
	bf_mlx5_buf_hold(cq->dev, &cq->buf, UINT32_MAX);
	cq->buf = to;
	cq->mask = (1u << log_size) - 1;
	cq->cqe_size = (uint8_t)cqe_size;
	cq->pad = cqe_sz == CQE_128_PAD;
	record_resize(cq, from);
	return BF_MLX5_CMD_OK;
}

static uint8_t change_moderation(struct bf_mlx5_cq *cq, uint32_t select, const uint8_t *cqc)
{
	const struct bf_mlx5_cq_extra *x = cq->extra;
	uint32_t period = select & BF_MODIFY_CQ_PERIOD ? BF_MLX5_GET(cqc, BF_CQC_PERIOD) : x ? x->period_us : 0;
	uint32_t count = select & BF_MODIFY_CQ_COUNT ? BF_MLX5_GET(cqc, BF_CQC_MAX_COUNT) : x ? x->max_count : 0;

	return bf_mlx5_cq_moderate(cq, period, count) ? BF_MLX5_CMD_OK : BF_MLX5_CMD_NO_RES;
}

/* Whether overrun is ignored is decided once, at creation. */
uint8_t bf_mlx5_cmd_modify_cq(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_cq *cq = bf_mlx5_table_get(&m->dev->cqs, m->number);
	const uint8_t *cqc = m->in + BF_CREATE_CQ_CQC;
	uint32_t select = BF_MLX5_GET(m->in, BF_MODIFY_CQ_SELECT), op_mod = BF_MLX5_GET(m->in, BF_CMD_OP_MOD);

	if (!cq)
		return BF_MLX5_CMD_BAD_RES;
	if (op_mod == BF_MODIFY_CQ_RESIZE)
		return resize(cq, m, cqc);
	if (op_mod || select & ~(BF_MODIFY_CQ_PERIOD | BF_MODIFY_CQ_COUNT))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "op_mod %u, field_select 0x%x: only period and count (0x%x) can be changed",
				      op_mod, select, BF_MODIFY_CQ_PERIOD | BF_MODIFY_CQ_COUNT);
	return change_moderation(cq, select, cqc);
}

uint8_t bf_mlx5_cmd_query_cq(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_cq *cq = bf_mlx5_table_get(&m->dev->cqs, m->number);
	uint8_t *cqc = m->out + 16;

	if (!cq)
		return BF_MLX5_CMD_BAD_RES;
	bf_mlx5_unpack(packed_of(cq), cqc, BF_CQC_LEN);
	BF_MLX5_SET(cqc, BF_CQC_STATUS, cq->status);
	BF_MLX5_SET(cqc, BF_CQC_ST,
		    cq->arm == ARMED_ANY         ? CQ_ST_ARMED
		    : cq->arm == ARMED_SOLICITED ? CQ_ST_SOLICITED
						 : CQ_ST_FIRED);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, (uint32_t)__builtin_popcount(cq->mask));
	BF_MLX5_SET(cqc, BF_CQC_CQE_SZ, cq->pad ? CQE_128_PAD : cq->cqe_size == 128 ? CQE_128 : 0);
	BF_MLX5_SET(cqc, BF_CQC_PERIOD, cq->extra ? cq->extra->period_us : 0);
	BF_MLX5_SET(cqc, BF_CQC_MAX_COUNT, cq->extra ? cq->extra->max_count : 0);
	BF_MLX5_SET(cqc, BF_CQC_LAST_NOTIFIED, cq->notified_end);
	BF_MLX5_SET(cqc, BF_CQC_LAST_SOLICIT, cq->solicited_end);
	BF_MLX5_SET(cqc, BF_CQC_CONSUMER, cq->extra ? cq->extra->consumer : 0);
	BF_MLX5_SET(cqc, BF_CQC_PRODUCER, cq->producer & 0xffffff);
	return BF_MLX5_CMD_OK;
}
