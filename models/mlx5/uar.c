/* Doorbells: stores to UAR pages. */
#include "models/mlx5/device_internal.h"

#include <stdlib.h>

#include "sim/fault.h"

#define RING_BYTES 0xffull /* bits of struct bf_mlx5_bf.have: the eight bytes that ring */

/* The device stopped looking at doorbells for this long, unless the plan says otherwise. */
#define STALL_PS (100 * BF_US)

static uint8_t bell_verdict(const struct bf_mlx5_qp *qp, const struct bf_mlx5_uar *uar, uint32_t offset, uint32_t word)
{
	const struct bf_mlx5_traits *traits = &uar->dev->profile.traits;

	if (!qp)
		return BF_MLX5_BELL_NO_QP;
	if (qp->uar != uar->index)
		return BF_MLX5_BELL_WRONG_UAR;
	if (!qp->has_sq)
		return BF_MLX5_BELL_NO_SQ;
	if (BF_UNLIKELY(qp->no_record != (offset == BF_MLX5_UAR_NO_RECORD)) && !traits->any_register)
		return BF_MLX5_BELL_REGISTER;
	if (BF_UNLIKELY(traits->bell_opmod) && BF_FIELD_GET(BF_MLX5_CTRL_OPMOD, word))
		return BF_MLX5_BELL_OPMOD;
	return qp->rdma.state < BF_MLX5_QPS_RTS ? BF_MLX5_BELL_NOT_READY : BF_MLX5_BELL_OK;
}

/* As if the queue pair had met something that it cannot go on from. */
static void fail(struct bf_mlx5_qp *qp)
{
	bf_mlx5_event_qp(qp, BF_MLX5_EVENT_WQ_CATAS_ERROR);
	bf_mlx5_qp_error(qp, BF_MLX5_BY_REQUESTER);
}

void bf_mlx5_failure_due(struct bf_event *ev)
{
	struct bf_mlx5 *dev = BF_CONTAINER_OF(ev, struct bf_mlx5, failure.event);
	struct bf_mlx5_qp *qp;
	struct bf_fault broken;

	for (uint32_t n = 0; (qp = bf_mlx5_table_next(&dev->qps, &n)); n++)
		if (qp->rdma.state == BF_MLX5_QPS_RTS &&
		    bf_fault_check_at(dev->sim, &dev->failure, qp->rdma.actor, qp->rdma.qpn, &broken))
			fail(qp);
	bf_fault_timer_next(dev->sim, &dev->failure);
}

/* Of two doorbells that have the index in them, one behind the other, the older index may come last. */
static bool keeps_index(const struct bf_mlx5_qp *qp, uint16_t index)
{
	return qp->no_record && bf_event_pending(&qp->bell_event) && (int16_t)(index - qp->bell_index) < 0 &&
	       !qp->dev->profile.traits.bell_back;
}

/*
 * The first eight bytes of a control segment are in: take the QPN from them and look at the doorbell record. A queue
 * pair answers only to its own UAR page (that is what keeps processes apart) and sends only from RTS on; what a too
 * early ring announced is found by the next one (docs/hardware/mlx5.md#posting-order-5). `bf`: the BlueFlame buffer
 * that was stored to, if it was one.
 */
static void ring(struct bf_mlx5_uar *uar, uint32_t offset, const uint8_t *bytes, struct bf_mlx5_bf *bf, uint32_t len)
{
	struct bf_mlx5 *dev = uar->dev;
	uint32_t qpn = bf_get_be32(bytes + 4) >> 8;
	uint32_t word = bf_get_be32(bytes);
	struct bf_mlx5_qp *qp = bf_mlx5_table_get(&dev->qps, qpn);
	uint8_t verdict = bell_verdict(qp, uar, offset, word);
	struct bf_fault stall = { 0 }, broken;

	BF_EMIT(dev->sim, qp ? qp->rdma.actor : dev->actor, doorbell, .qpn = qpn, .uar = uar->index, .offset = offset,
		.len = len, .index = (uint16_t)BF_FIELD_GET(BF_MLX5_CTRL_INDEX, word), .opcode = (uint8_t)word,
		.verdict = verdict);
	if (verdict != BF_MLX5_BELL_OK) {
		dev->count.doorbells_ignored++;
		return;
	}
	dev->count.doorbells++;
	qp->doorbells++;
	if (!keeps_index(qp, (uint16_t)BF_FIELD_GET(BF_MLX5_CTRL_INDEX, word)))
		qp->bell_index = (uint16_t)BF_FIELD_GET(BF_MLX5_CTRL_INDEX, word);
	if (bf)
		qp->bf = bf;
	if (bf_fault_check(dev->sim, BF_FAULT_QP_ERROR, qp->rdma.actor, qpn, &broken) &&
	    qp->rdma.state == BF_MLX5_QPS_RTS)
		fail(qp);
	if (bf_fault_check(dev->sim, BF_FAULT_DEVICE_STALL, dev->actor, qpn, &stall))
		dev->rdma.tx_busy_ps = dev->sim->now_ps + (stall.delay_ps ? stall.delay_ps : STALL_PS);
	if (bf_event_pending(&qp->bell_event)) {
		if (!qp->bell_again)
			qp->again_ps = dev->sim->now_ps;
		qp->bell_again = true;
		return;
	}
	qp->bell_ps = dev->sim->now_ps;
	bf_sim_at(dev->sim, &qp->bell_event,
		  (dev->rdma.tx_busy_ps > dev->sim->now_ps ? dev->rdma.tx_busy_ps : dev->sim->now_ps) +
		      dev->profile.doorbell_ps);
}

/* The buffer at `offset`, from its first store on; NULL on lack of memory. */
static struct bf_mlx5_bf *buffer(struct bf_mlx5_uar *uar, uint32_t offset)
{
	struct bf_mlx5_bf *bf = uar->bf;

	while (bf && bf->at != offset)
		bf = bf->next;
	if (BF_LIKELY(bf != NULL))
		return bf;
	bf = bf_pool_take(uar->dev->sim, sizeof(*bf));
	if (!bf)
		return NULL;
	bf->at = offset;
	bf->next = uar->bf;
	return uar->bf = bf;
}

/*
 * What comes behind the first 64 bytes of a WQE that is there (docs/hardware/mlx5.md#doorbell-7). Pieces that came
 * before those are not kept, nor less than whole words of eight bytes: the device then fetches.
 */
static void tail_write(struct bf_mlx5_uar *uar, struct bf_mlx5_bf *bf, uint32_t at, const uint8_t *data, uint32_t len)
{
	const uint32_t size = uar->dev->profile.bf_bytes - (uint32_t)sizeof(bf->bytes);

	at -= (uint32_t)sizeof(bf->bytes);
	if (bf->have != ~0ull || at >= size)
		return;
	if (!bf->tail)
		bf->tail = bf_pool_take(uar->dev->sim, size);
	if (!bf->tail)
		return;
	len = len < size - at ? len : size - at;
	memcpy(bf->tail + at, data, len);
	for (uint32_t word = (at + 7) / 8; word < (at + len) / 8; word++)
		bf->tail_have |= 1u << word;
}

/*
 * BlueFlame registers: 0x800 + k * 512, each of two halves of 256 bytes. A ring is the arrival of the half's first
 * eight bytes, in one store or two; what a write-combining buffer sends around them, before or after and in pieces, is
 * the rest of the first WQEBB. The device may use it instead of fetching (see sq.c), so 64 bytes are kept: those of the
 * last WQE that came whole, which a ring of eight bytes behind it leaves alone (docs/hardware/mlx5.md#gpu-initiated-7);
 * and by profile more.
 */
static void bf_write(struct bf_mlx5_uar *uar, uint32_t offset, const uint8_t *data, uint32_t len)
{
	uint32_t at = offset % BF_MLX5_BF_BUF;
	struct bf_mlx5_bf *bf;
	uint64_t fresh;

	if (at >= sizeof(bf->bytes) && uar->dev->profile.bf_bytes <= sizeof(bf->bytes))
		return;
	bf = buffer(uar, offset - at);
	if (!bf)
		return; /* a doorbell that is lost: the next one tells more */
	if (at >= sizeof(bf->bytes)) {
		tail_write(uar, bf, at, data, len);
		return;
	}
	if (len > sizeof(bf->bytes) - at)
		len = (uint32_t)sizeof(bf->bytes) - at;
	fresh = (len == 64 ? ~0ull : (1ull << len) - 1) << at;
	if (bf->have == ~0ull || (bf->have & fresh & RING_BYTES))
		bf->have = bf->tail_have = 0; /* a new WQE begins: what is left of the last one is void */
	if (BF_UNLIKELY(!bf->have && uar->dev->profile.traits.ring_voids_copy))
		bf->whole = false;
	memcpy(bf->bytes + at, data, len);
	bf->have |= fresh;
	if (bf->have == ~0ull && !bf->copy)
		bf->copy = bf_pool_take(uar->dev->sim, sizeof(bf->bytes));
	if (bf->have == ~0ull && bf->copy) {
		memcpy(bf->copy, bf->bytes, sizeof(bf->bytes));
		bf->whole = true;
	}
	if ((fresh & RING_BYTES) && (bf->have & RING_BYTES) == RING_BYTES)
		ring(uar, offset & ~7u, bf->bytes, bf, len);
}

/*
 * The CQ arm doorbell is eight bytes; 32-bit hosts send it in two stores, high word first (rdma-core util/mmio.h).
 * Those of event queues are four.
 */
static void arm_write(struct bf_mlx5_uar *uar, uint32_t offset, const uint8_t *data, uint32_t len)
{
	if (offset == BF_MLX5_UAR_CQ_ARM && len >= 8) {
		bf_mlx5_cq_arm(uar, bf_get_be64(data));
	} else if (offset == BF_MLX5_UAR_CQ_ARM && len == 4) {
		uar->arm_word = bf_get_be32(data);
		uar->arm_half = true;
	} else if (offset == BF_MLX5_UAR_CQ_ARM + 4 && len == 4 && uar->arm_half) {
		uar->arm_half = false;
		bf_mlx5_cq_arm(uar, (uint64_t)uar->arm_word << 32 | bf_get_be32(data));
	} else if ((offset == BF_MLX5_UAR_EQ_ARM || offset == BF_MLX5_UAR_EQ_NO_ARM) && len >= 4) {
		bf_mlx5_eq_update(uar, bf_get_be32(data), offset == BF_MLX5_UAR_EQ_ARM);
	}
}

static void uar_write(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	struct bf_mlx5_uar *uar = region->owner;

	if (!uar->allocated)
		return;
	if (offset >= BF_MLX5_UAR_BF)
		bf_write(uar, (uint32_t)offset, data, len);
	else if (offset == BF_MLX5_UAR_NO_RECORD && len >= 8)
		ring(uar, (uint32_t)offset, data, NULL, len);
	else
		arm_write(uar, (uint32_t)offset, data, len);
}

/* In a large job it has been long since the queue pair that is rung for was looked at. */
static void uar_expect(const struct bf_region *region, const void *data, uint32_t len)
{
	const struct bf_mlx5_uar *uar = region->owner;
	const struct bf_mlx5_qp *qp;

	if (len < 8)
		return;
	__builtin_prefetch(uar->bf, 1);
	qp = bf_mlx5_table_get(&uar->dev->qps, bf_get_be32((const uint8_t *)data + 4) >> 8);
	if (qp)
		bf_mlx5_qp_prefetch(qp, BF_MLX5_QP_REQUESTER);
}

const struct bf_mmio_ops bf_mlx5_uar_ops = { .write = uar_write, .expect = uar_expect };

/* In live mode stores land in shared memory: a cell that is not zero has rung. */
static int poll_cell(struct bf_mlx5_uar *uar, uint32_t offset)
{
	uint64_t *cell = (uint64_t *)(void *)(uar->region->bytes + offset);
	uint64_t value;

	if (!__atomic_load_n(cell, __ATOMIC_RELAXED))
		return 0;
	value = __atomic_exchange_n(cell, 0, __ATOMIC_ACQ_REL);
	if (value)
		uar_write(uar->region, offset, &value, sizeof(value));
	return value != 0;
}

/* A word of a doorbell record, looked at as a processor would; false when it is not there. */
static bool look(struct bf_mlx5 *dev, uint64_t iova, uint32_t *word)
{
	struct bf_region *region;
	void *record;

	if (bf_ioas_lookup(dev->dma.ioas, iova, 4, BF_IOMMU_READ, dev->dma.actor, &record, &region) != 4)
		return false;
	if (region->kind != BF_MEM_MMIO)
		*word = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
	else if (!region->far || !region->far->get ||
		 region->far->get(region, (uint64_t)((uint8_t *)record - region->bytes), word, 4))
		return false;
	*word = bf_swap32(*word);
	return true;
}

/*
 * Queue pairs may share a page, and even a cell: of two rings between two looks only the last is there. So all of the
 * page's queue pairs count as rung whose doorbell records have moved on. Of those without a record, what the last store
 * did not say is not to be had: they need a page each in live mode.
 */
static void ring_others(struct bf_mlx5_uar *uar)
{
	struct bf_mlx5 *dev = uar->dev;
	const struct bf_mlx5_qp *qp;
	uint32_t run;

	for (uint32_t n = dev->qps.low; (qp = bf_mlx5_table_next(&dev->qps, &n)); n++) {
		uint8_t bell[8] = { 0 };
		uint16_t producer;
		uint32_t word;

		if (qp->no_record || bell_verdict(qp, uar, BF_MLX5_UAR_BF, 0) != BF_MLX5_BELL_OK ||
		    bf_event_pending(&qp->bell_event) ||
		    !look(dev, bf_mlx5_buf_iova(&qp->dbr, 4 * BF_MLX5_DBR_SND, 4, &run), &word))
			continue;
		producer = (uint16_t)word;
		if (producer == qp->producer)
			continue;
		bf_put_be32(bell, (uint32_t)BF_FIELD_PREP(BF_MLX5_CTRL_INDEX, producer));
		bf_put_be32(bell + 4, qp->rdma.qpn << 8);
		uar_write(uar->region, BF_MLX5_UAR_BF, bell, sizeof(bell));
	}
}

/*
 * The same for arming, of which all CQs of a page share one cell. A CQ that was never armed may have been now: the
 * first arm record is zero, as the record was before. An event too many is one that a program must expect anyway.
 */
static void arm_others(struct bf_mlx5_uar *uar)
{
	struct bf_mlx5 *dev = uar->dev;
	const struct bf_mlx5_cq *cq;
	uint32_t run;

	for (uint32_t n = dev->cqs.low; (cq = bf_mlx5_table_next(&dev->cqs, &n)); n++) {
		uint32_t word;

		if (cq->uar != uar->index || cq->dead || !bf_mlx5_cq_has_record(cq) ||
		    !look(dev, bf_mlx5_buf_iova(&cq->extra->dbr, 4 * BF_MLX5_CQ_DBR_ARM, 4, &run), &word))
			continue;
		if (word != cq->extra->arm_word)
			bf_mlx5_cq_arm(uar, (uint64_t)word << 32 | cq->cqn);
	}
}

int bf_mlx5_poll_uar(struct bf_region *region)
{
	struct bf_mlx5_uar *uar = region->owner;
	int rung = 0;

	if (!uar->allocated)
		return 0;
	rung |= poll_cell(uar, BF_MLX5_UAR_NO_RECORD);
	for (uint32_t at = BF_MLX5_UAR_BF; at < BF_MLX5_UAR_BYTES; at += BF_MLX5_BF_BUF)
		rung |= poll_cell(uar, at);
	if (rung && uar->users > 1)
		ring_others(uar);
	if (!poll_cell(uar, BF_MLX5_UAR_CQ_ARM))
		return rung;
	arm_others(uar);
	return 1;
}

int bf_mlx5_poll_uars(void *arg)
{
	struct bf_mlx5 *dev = arg;
	int rung = 0;

	for (uint32_t i = 0; i < dev->uar_end; i++) {
		struct bf_mlx5_uar *uar = bf_mlx5_uar_find(dev, i);

		if (uar)
			rung |= bf_mlx5_poll_uar(uar->region);
	}
	return rung;
}
