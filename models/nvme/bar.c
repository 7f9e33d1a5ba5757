/*
 * BAR0: registers and doorbells, as stores and loads reach them, and as memory that others store to (live mode).
 *
 * A register takes accesses of its own width (Base specification, section 3.1): 32-bit registers aligned 32-bit ones,
 * 64-bit registers one aligned 64-bit access or two 32-bit ones in either order, doorbells 32-bit ones. Others change
 * nothing.
 */
#include "models/nvme/device_internal.h"

#define QID_NONE 0xffffu
#define CELL_SEEN 0xffffffffu

/* The controller memory buffer is the whole of BAR 2. Queues, lists and data of both directions may lie in it. */
#define CMB_BIR 2u
#define CMB_UNIT 4096u
#define CMB_KINDS 0x1fu

uint32_t bf_nvme_bar_size(const struct bf_nvme *dev)
{
	uint32_t need = bf_nvme_sq_doorbell(dev->profile.max_io_queues + 1, dev->profile.dstrd);
	uint32_t size = 2 * BF_PAGE;

	while (size < need)
		size *= 2;
	return size;
}

void bf_nvme_driver_error(struct bf_nvme *dev, enum bf_nvme_wrong wrong, uint32_t qid, uint64_t value, uint64_t limit)
{
	dev->count.driver_errors++;
	BF_EMIT(dev->sim, dev->actor, nvme_driver_error, .value = value, .limit = limit, .qid = qid, .wrong = wrong);
}

static void ignored_doorbell(struct bf_nvme *dev, enum bf_nvme_wrong wrong, uint32_t qid, uint32_t value,
			     uint32_t limit)
{
	dev->count.doorbells_ignored++;
	bf_nvme_driver_error(dev, wrong, qid, value, limit);
	/* Asynchronous event of type error (section 5.2, figure "Error Status"): 0 wrong register, 1 wrong value. */
	if (wrong != BF_NVME_WRONG_NOT_READY)
		bf_nvme_async_event(dev, 0, wrong == BF_NVME_WRONG_NO_QUEUE ? 0 : 1, 1);
}

static void record_doorbell(struct bf_nvme *dev, uint32_t actor, const struct bf_rec_nvme_doorbell *rec)
{
	bf_record(&dev->sim->rec, &bf_rec_nvme_doorbell_schema, actor, rec, NULL, 0);
}

static void ring_sq(struct bf_nvme_sq *sq, uint32_t value, uint8_t source)
{
	struct bf_nvme *dev = sq->dev;
	uint32_t size = sq->ring.size, before = sq->tail, room, fresh;
	enum bf_nvme_wrong wrong = BF_NVME_WRONG_DOORBELL_VALUE;
	uint32_t limit = size;
	bool good = value < size;

	if (good) {
		room = size - 1 - bf_nvme_ahead(before, sq->head, size);
		fresh = bf_nvme_ahead(value, before, size);
		good = fresh && fresh <= room;
		wrong = fresh ? BF_NVME_WRONG_TAIL_OVERRUN : BF_NVME_WRONG_UNCHANGED;
		limit = room;
	}
	if (bf_probe(dev->sim, BF_CLASS_QUEUE)) {
		struct bf_rec_nvme_doorbell rec = {
			.qid = sq->qid,
			.value = value,
			.before = before,
			.source = source,
			.accepted = good,
			.pending = bf_nvme_ahead(good ? value : before, sq->head, size),
		};

		record_doorbell(dev, sq->actor, &rec);
	}
	if (!good) {
		ignored_doorbell(dev, source == BF_NVME_BELL_SHADOW ? BF_NVME_WRONG_SHADOW : wrong, sq->qid, value,
				 limit);
		return;
	}
	dev->count.doorbells += source != BF_NVME_BELL_SHADOW;
	bf_nvme_sq_tail(sq, value);
}

static void ring_cq(struct bf_nvme_cq *cq, uint32_t value, uint8_t source)
{
	struct bf_nvme *dev = cq->dev;
	uint32_t size = cq->ring.size, before = cq->head, posted = bf_nvme_ahead(cq->tail, before, size), returned;
	enum bf_nvme_wrong wrong = BF_NVME_WRONG_DOORBELL_VALUE;
	uint32_t limit = size;
	bool good = value < size;

	if (good) {
		returned = bf_nvme_ahead(value, before, size);
		good = returned && returned <= posted;
		wrong = returned ? BF_NVME_WRONG_HEAD_PAST_TAIL : BF_NVME_WRONG_UNCHANGED;
		limit = posted;
	}
	if (bf_probe(dev->sim, BF_CLASS_QUEUE)) {
		struct bf_rec_nvme_doorbell rec = {
			.qid = cq->qid,
			.value = value,
			.before = before,
			.queue = 1,
			.source = source,
			.accepted = good,
			.pending = bf_nvme_ahead(cq->tail, good ? value : before, size),
		};

		record_doorbell(dev, cq->actor, &rec);
	}
	if (!good) {
		ignored_doorbell(dev, source == BF_NVME_BELL_SHADOW ? BF_NVME_WRONG_SHADOW : wrong, cq->qid, value,
				 limit);
		return;
	}
	dev->count.doorbells += source != BF_NVME_BELL_SHADOW;
	cq->doorbells++;
	bf_nvme_cq_head(cq, value);
}

/*
 * With shadow doorbells in use a store to the register says: look at the shadow, where the newest value is. The value
 * itself may be one that was seen there already. The admin queue has no shadow.
 */
static void ring(struct bf_nvme *dev, uint32_t offset, uint32_t value, uint8_t source)
{
	uint32_t stride = 4u << dev->profile.dstrd, index = (offset - BF_NVME_DOORBELLS) / stride, qid = index / 2;
	bool completion = index & 1;

	if ((offset - BF_NVME_DOORBELLS) % stride) {
		bf_nvme_driver_error(dev, BF_NVME_WRONG_STRIDE, QID_NONE, offset, stride);
		return;
	}
	value &= 0xffff; /* bits 31:16 are reserved */
	if (dev->phase != BF_NVME_ON || dev->regs.csts & BF_NVME_CSTS_SHST) {
		ignored_doorbell(dev, BF_NVME_WRONG_NOT_READY, qid, value, 0);
	} else if (completion ? qid >= dev->max_cqs || !dev->cqs[qid] : qid >= dev->max_sqs || !dev->sqs[qid]) {
		ignored_doorbell(dev, BF_NVME_WRONG_NO_QUEUE, qid, value, 0);
	} else if (dev->dbbuf_shadow && qid) {
		dev->count.doorbells++;
		if (completion)
			bf_nvme_shadow_read_cq(dev->cqs[qid]);
		else
			bf_nvme_shadow_read_sq(dev->sqs[qid]);
	} else if (completion) {
		ring_cq(dev->cqs[qid], value, source);
	} else {
		ring_sq(dev->sqs[qid], value, source);
	}
}

void bf_nvme_shadow_sq(struct bf_nvme_sq *sq, uint32_t value)
{
	ring_sq(sq, value & 0xffff, BF_NVME_BELL_SHADOW);
}

void bf_nvme_shadow_cq(struct bf_nvme_cq *cq, uint32_t value)
{
	ring_cq(cq, value & 0xffff, BF_NVME_BELL_SHADOW);
}

/* A half or the whole of a 64-bit register. */
static uint64_t merge64(uint64_t old, uint32_t offset, uint64_t value, uint32_t len)
{
	if (len == 8)
		return value;
	if (offset & 4)
		return (old & 0xffffffffu) | value << 32;
	return (old & ~0xffffffffull) | value;
}

static void write_admin_queue(struct bf_nvme *dev, uint32_t offset, uint64_t value, uint32_t len)
{
	struct bf_nvme_regs *r = &dev->regs;

	if (r->cc & BF_NVME_CC_EN) {
		bf_nvme_driver_error(dev, BF_NVME_WRONG_CONFIG, 0, offset, 0);
		return;
	}
	if (offset == BF_NVME_AQA)
		r->aqa = (uint32_t)value & 0x0fff0fff;
	else if (offset < BF_NVME_ACQ)
		r->asq = merge64(r->asq, offset, value, len) & ~0xfffull;
	else
		r->acq = merge64(r->acq, offset, value, len) & ~0xfffull;
}

static void write32(struct bf_nvme *dev, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case BF_NVME_INTMS:
		dev->regs.intms |= value;
		break;
	case BF_NVME_INTMC:
		dev->regs.intms &= ~value;
		bf_nvme_unmasked(dev);
		break;
	case BF_NVME_CC:
		bf_nvme_write_cc(dev, value);
		break;
	case BF_NVME_CSTS:
		dev->regs.csts &= ~(value & (uint32_t)BF_NVME_CSTS_NSSRO);
		break;
	case BF_NVME_NSSR:
		if (value == BF_NVME_NSSR_RESET)
			bf_nvme_subsystem_reset(dev);
		break;
	case BF_NVME_AQA:
	case BF_NVME_ASQ:
	case BF_NVME_ASQ + 4:
	case BF_NVME_ACQ:
	case BF_NVME_ACQ + 4:
		write_admin_queue(dev, offset, value, 4);
		break;
	case BF_NVME_CMBMSC:
	case BF_NVME_CMBMSC + 4:
		bf_nvme_write_cmbmsc(dev, merge64(dev->regs.cmbmsc, offset, value, 4));
		break;
	default:
		break; /* read-only or reserved */
	}
}

static void bar_write(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	struct bf_nvme *dev = region->owner;
	uint32_t at = (uint32_t)offset;

	if (len == 4 && !(at & 3)) {
		if (at >= BF_NVME_DOORBELLS)
			ring(dev, at, bf_get_le32(data), BF_NVME_BELL_REGISTER);
		else
			write32(dev, at, bf_get_le32(data));
	} else if (len == 8 && (at == BF_NVME_ASQ || at == BF_NVME_ACQ)) {
		write_admin_queue(dev, at, bf_get_le64(data), 8);
	} else if (len == 8 && at == BF_NVME_CMBMSC) {
		bf_nvme_write_cmbmsc(dev, bf_get_le64(data));
	} else {
		bf_nvme_driver_error(dev, BF_NVME_WRONG_ACCESS, QID_NONE, at, len);
		return;
	}
	if (at < BF_NVME_DOORBELLS)
		bf_nvme_publish(dev);
}

static uint32_t read32(const struct bf_nvme *dev, uint32_t offset)
{
	const struct bf_nvme_regs *r = &dev->regs;
	bool cmb = dev->cmb && r->cmbmsc & BF_NVME_CMBMSC_CRE;

	switch (offset) {
	case BF_NVME_CAP:
		return (uint32_t)r->cap;
	case BF_NVME_CAP + 4:
		return (uint32_t)(r->cap >> 32);
	case BF_NVME_VS:
		return r->vs;
	case BF_NVME_INTMS:
	case BF_NVME_INTMC:
		return r->intms;
	case BF_NVME_CC:
		return r->cc;
	case BF_NVME_CSTS:
		return r->csts;
	case BF_NVME_AQA:
		return r->aqa;
	case BF_NVME_ASQ:
		return (uint32_t)r->asq;
	case BF_NVME_ASQ + 4:
		return (uint32_t)(r->asq >> 32);
	case BF_NVME_ACQ:
		return (uint32_t)r->acq;
	case BF_NVME_ACQ + 4:
		return (uint32_t)(r->acq >> 32);
	case BF_NVME_CMBLOC:
		return cmb ? CMB_BIR : 0;
	case BF_NVME_CMBSZ:
		return cmb ? (uint32_t)(dev->cmb_size / CMB_UNIT) << 12 | CMB_KINDS : 0;
	case BF_NVME_CMBMSC:
		return (uint32_t)r->cmbmsc;
	case BF_NVME_CMBMSC + 4:
		return (uint32_t)(r->cmbmsc >> 32);
	case BF_NVME_CMBSTS:
		return r->cmbsts;
	case BF_NVME_CRTO:
		return BF_NVME_READY_TIMEOUT;
	default:
		return 0; /* no boot partitions, no persistent memory region; doorbells read as 0 */
	}
}

static uint64_t bar_read(struct bf_region *region, uint64_t offset, uint32_t len)
{
	const struct bf_nvme *dev = region->owner;
	uint32_t at = (uint32_t)offset & ~3u, shift = 8 * ((uint32_t)offset & 3);
	uint64_t both = read32(dev, at) | (uint64_t)read32(dev, at + 4) << 32;

	both >>= shift;
	return len >= 8 ? both : both & ((1ull << 8 * len) - 1);
}

const struct bf_mmio_ops bf_nvme_bar0_ops = { .write = bar_write, .read = bar_read };

/* Live mode: BAR0 is memory. ------------------------------------------------------------------------------------- */

static uint32_t *cell(const struct bf_nvme *dev, uint32_t offset)
{
	return (uint32_t *)(void *)(dev->bar0->bytes + offset);
}

static uint32_t look(const struct bf_nvme *dev, uint32_t offset)
{
	return __atomic_load_n(cell(dev, offset), __ATOMIC_ACQUIRE);
}

/* Registers that hosts write. CC comes last: see poll_registers(). */
static const uint8_t writable[BF_NVME_CELLS] = {
	BF_NVME_AQA,   BF_NVME_ASQ,   BF_NVME_ASQ + 4, BF_NVME_ACQ,        BF_NVME_ACQ + 4,
	BF_NVME_INTMS, BF_NVME_INTMC, BF_NVME_CMBMSC,  BF_NVME_CMBMSC + 4, BF_NVME_CC,
};

/* What the host stored since the last look must not be lost: such a cell stays as it is until the next look. */
static void publish_writable(struct bf_nvme *dev)
{
	for (size_t i = 0; i < BF_NVME_CELLS; i++) {
		uint32_t want = read32(dev, writable[i]);

		if (want != dev->cells[i] && __atomic_compare_exchange_n(cell(dev, writable[i]), &dev->cells[i], want,
									 false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			dev->cells[i] = want;
	}
}

/* CSTS is the word that a host waits for, so it is stored last. */
void bf_nvme_publish(struct bf_nvme *dev)
{
	static const uint8_t constant[] = { BF_NVME_CAP,   BF_NVME_CAP + 4, BF_NVME_VS,  BF_NVME_CMBLOC,
					    BF_NVME_CMBSZ, BF_NVME_CMBSTS,  BF_NVME_CRTO };

	if (!dev->polled)
		return;
	for (size_t i = 0; i < sizeof(constant); i++)
		__atomic_store_n(cell(dev, constant[i]), read32(dev, constant[i]), __ATOMIC_RELAXED);
	publish_writable(dev);
	__atomic_store_n(cell(dev, BF_NVME_CSTS), dev->regs.csts, __ATOMIC_RELEASE);
}

void bf_nvme_clear_cell(struct bf_nvme *dev, uint32_t offset)
{
	if (dev->polled)
		__atomic_store_n(cell(dev, offset), 0, __ATOMIC_RELEASE);
}

/*
 * CC is looked at before the registers that a host sets up first and acted on after them: whoever sees CC.EN = 1 sees
 * what was stored before it.
 */
static int poll_registers(struct bf_nvme *dev)
{
	uint32_t now[BF_NVME_CELLS];
	int found = 0;

	for (size_t i = BF_NVME_CELLS; i-- > 0;)
		now[i] = look(dev, writable[i]);
	for (size_t i = 0; i < BF_NVME_CELLS; i++) {
		if (now[i] == dev->cells[i])
			continue;
		dev->cells[i] = now[i];
		write32(dev, writable[i], now[i]);
		found = 1;
	}
	if (look(dev, BF_NVME_NSSR) == BF_NVME_NSSR_RESET) {
		bf_nvme_clear_cell(dev, BF_NVME_NSSR);
		bf_nvme_subsystem_reset(dev);
		found = 1;
	}
	if (found)
		bf_nvme_publish(dev);
	return found;
}

static int poll_cell(struct bf_nvme *dev, uint32_t offset, uint32_t *seen)
{
	uint32_t value = look(dev, offset);

	if (value == *seen)
		return 0;
	*seen = value;
	ring(dev, offset, value, BF_NVME_BELL_MEMORY);
	return 1;
}

/*
 * With shadow doorbells the register says only: look. A host may store the value that it stored last, having gone once
 * around the ring without the register; so the cell is given a value that no host stores.
 */
static int poll_shadowed_cell(struct bf_nvme *dev, uint32_t offset)
{
	uint32_t value;

	if (look(dev, offset) == CELL_SEEN)
		return 0;
	value = __atomic_exchange_n(cell(dev, offset), CELL_SEEN, __ATOMIC_ACQ_REL);
	ring(dev, offset, value, BF_NVME_BELL_MEMORY);
	return 1;
}

static int poll_doorbell(struct bf_nvme *dev, uint32_t qid, uint32_t offset, uint32_t *seen)
{
	return BF_UNLIKELY(dev->dbbuf_shadow && qid) ? poll_shadowed_cell(dev, offset) : poll_cell(dev, offset, seen);
}

/* Completion queues first: what they give back makes room for what submission queues ask for. */
static int poll_doorbells(struct bf_nvme *dev)
{
	uint32_t stride = dev->profile.dstrd;
	int found = 0;

	for (uint32_t i = 0; i < dev->nlive_cqs; i++) {
		struct bf_nvme_cq *cq = dev->cqs[dev->live_cqs[i]];

		found |= poll_doorbell(dev, cq->qid, bf_nvme_cq_doorbell(cq->qid, stride), &cq->seen);
	}
	for (uint32_t i = 0; i < dev->nlive_sqs; i++) {
		struct bf_nvme_sq *sq = dev->sqs[dev->live_sqs[i]];

		found |= poll_doorbell(dev, sq->qid, bf_nvme_sq_doorbell(sq->qid, stride), &sq->seen);
	}
	return found;
}

int bf_nvme_poll_bar(void *arg)
{
	struct bf_nvme *dev = arg;
	int found;

	if (!dev->polled) {
		dev->polled = true;
		memset(dev->bar0->bytes, 0, bf_nvme_bar_size(dev));
		memset(dev->cells, 0, sizeof(dev->cells));
		bf_nvme_publish(dev);
		return 0;
	}
	found = poll_registers(dev);
	if (dev->phase == BF_NVME_ON)
		found |= poll_doorbells(dev);
	return found;
}
