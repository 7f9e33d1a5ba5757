/*
 * The controller's states: enable, ready, disable, fatal, shutdown, resets (Base specification, sections 3.5 to 3.7).
 *
 * What survives: a controller reset (CC.EN 1 -> 0) keeps AQA, ASQ, ACQ, CMBMSC, namespaces, saved features and logs; a
 * subsystem reset and a function-level reset keep namespaces, saved features and logs only.
 */
#include "models/nvme/device_internal.h"

/* CC.CSS: NVM command set only, or all that are supported (section 3.1.3.5). */
#define CSS_NVM 0u
#define CSS_ALL 6u
#define AMS_RR 0u
#define AMS_WRR 1u

enum { SHST_NORMAL, SHST_OCCURRING, SHST_COMPLETE };

static void on_ctrl(struct bf_event *ev);
static void on_shutdown(struct bf_event *ev);

static void record_state(struct bf_nvme *dev, uint16_t state, uint16_t reason, uint64_t value, uint32_t dropped)
{
	BF_EMIT(dev->sim, dev->actor, nvme_state, .value = value, .cc = dev->regs.cc, .csts = dev->regs.csts,
		.dropped = dropped, .state = state, .reason = reason);
}

static void set_phase(struct bf_nvme *dev, enum bf_nvme_phase phase)
{
	dev->phase = phase;
	record_state(dev, (uint16_t)phase, 0, 0, 0);
}

static uint32_t shst(const struct bf_nvme *dev)
{
	return (uint32_t)BF_FIELD_GET(BF_NVME_CSTS_SHST, dev->regs.csts);
}

static void set_shst(struct bf_nvme *dev, uint32_t value)
{
	dev->regs.csts &= ~(uint32_t)BF_NVME_CSTS_SHST;
	dev->regs.csts |= (uint32_t)BF_FIELD_PREP(BF_NVME_CSTS_SHST, value);
}

/*
 * Both command set bits: NVM, and "one or more I/O command sets", which makes hosts use Identify CNS 05h to 08h. Any
 * NVM subsystem of version 2.0 has controllers with ready modes (CAP.CRMS).
 */
void bf_nvme_ctrl_init(struct bf_nvme *dev)
{
	const struct bf_nvme_profile *p = &dev->profile;

	dev->regs.cap = BF_FIELD_PREP(BF_NVME_CAP_MQES, p->mqes) | BF_FIELD_PREP(BF_NVME_CAP_CQR, p->cqr) |
			BF_FIELD_PREP(BF_NVME_CAP_AMS, 1) | BF_FIELD_PREP(BF_NVME_CAP_TO, BF_NVME_READY_TIMEOUT) |
			BF_FIELD_PREP(BF_NVME_CAP_DSTRD, p->dstrd) | BF_FIELD_PREP(BF_NVME_CAP_NSSRS, 1) |
			BF_FIELD_PREP(BF_NVME_CAP_CSS, 0x41) | BF_FIELD_PREP(BF_NVME_CAP_MPSMAX, p->mpsmax) |
			BF_FIELD_PREP(BF_NVME_CAP_CMBS, dev->cmb_size != 0) | BF_FIELD_PREP(BF_NVME_CAP_CRWMS, 1);
	dev->regs.vs = BF_NVME_VERSION;
	bf_event_init(&dev->ctrl_event, on_ctrl);
	bf_event_init(&dev->shutdown_event, on_shutdown);
}

/* Everything that the controller was doing is gone; no completion comes of it. */
static uint32_t drop_all(struct bf_nvme *dev)
{
	uint32_t dropped;

	dev->count.resets++;
	bf_sim_cancel(dev->sim, &dev->shutdown_event);
	dropped = bf_nvme_drop_queues(dev);
	bf_nvme_event_reset(dev);
	bf_nvme_admin_reset(dev);
	dev->dbbuf_shadow = dev->dbbuf_event = 0;
	dev->regs.intms = 0;
	return dropped;
}

static void start_enabling(struct bf_nvme *dev)
{
	set_shst(dev, SHST_NORMAL);
	set_phase(dev, BF_NVME_ENABLING);
	bf_sim_after(dev->sim, &dev->ctrl_event, dev->profile.ready_ps);
}

void bf_nvme_fatal(struct bf_nvme *dev, enum bf_nvme_fatal_reason why, uint64_t value)
{
	if (dev->phase == BF_NVME_FAILED)
		return;
	dev->regs.csts |= (uint32_t)BF_NVME_CSTS_CFS;
	dev->phase = BF_NVME_FAILED;
	record_state(dev, BF_NVME_FAILED, (uint16_t)why, value, 0);
	bf_nvme_publish(dev);
}

/*
 * What keeps a controller from becoming ready. Entry sizes are not among it: the admin queue's are fixed and hosts may
 * set CC.IOSQES and IOCQES until they create I/O queues (section 3.1.3.5).
 */
static enum bf_nvme_fatal_reason check_config(const struct bf_nvme *dev, uint64_t *value)
{
	const struct bf_nvme_regs *r = &dev->regs;
	uint64_t mps = BF_FIELD_GET(BF_NVME_CC_MPS, r->cc), css = BF_FIELD_GET(BF_NVME_CC_CSS, r->cc);
	uint64_t ams = BF_FIELD_GET(BF_NVME_CC_AMS, r->cc), mask = (1ull << (12 + mps)) - 1;

	*value = mps;
	if (mps > dev->profile.mpsmax)
		return BF_NVME_FATAL_MPS;
	*value = css;
	if (css != CSS_NVM && css != CSS_ALL)
		return BF_NVME_FATAL_CSS;
	*value = ams;
	if (ams != AMS_RR && ams != AMS_WRR)
		return BF_NVME_FATAL_AMS;
	*value = r->asq;
	if (!r->asq || r->asq & mask)
		return BF_NVME_FATAL_ASQ;
	*value = r->acq;
	if (!r->acq || r->acq & mask)
		return BF_NVME_FATAL_ACQ;
	*value = r->aqa;
	return BF_FIELD_GET(BF_NVME_AQA_ASQS, r->aqa) && BF_FIELD_GET(BF_NVME_AQA_ACQS, r->aqa) ? BF_NVME_FATAL_NONE
												: BF_NVME_FATAL_AQA;
}

static void become_ready(struct bf_nvme *dev)
{
	uint64_t value;
	enum bf_nvme_fatal_reason why = check_config(dev, &value);

	dev->page_shift = 12 + (uint32_t)BF_FIELD_GET(BF_NVME_CC_MPS, dev->regs.cc);
	if (!why && bf_nvme_admin_queues(dev))
		why = BF_NVME_FATAL_MEMORY;
	if (why) {
		bf_nvme_fatal(dev, why, value);
		return;
	}
	dev->unclean = true;
	dev->regs.csts |= (uint32_t)BF_NVME_CSTS_RDY;
	set_phase(dev, BF_NVME_ON);
}

static void on_ctrl(struct bf_event *ev)
{
	struct bf_nvme *dev = BF_CONTAINER_OF(ev, struct bf_nvme, ctrl_event);

	if (dev->phase == BF_NVME_ENABLING) {
		become_ready(dev);
	} else if (dev->phase == BF_NVME_DISABLING) {
		dev->regs.csts &= ~(uint32_t)(BF_NVME_CSTS_RDY | BF_NVME_CSTS_CFS);
		set_phase(dev, BF_NVME_OFF);
		if (dev->regs.cc & BF_NVME_CC_EN)
			start_enabling(dev);
	}
	bf_nvme_publish(dev);
}

/* A normal shutdown waits for the write cache; an abrupt one does not (section 3.6.1). */
static void start_shutdown(struct bf_nvme *dev, uint32_t kind)
{
	uint64_t at = dev->sim->now_ps + dev->profile.disable_ps, settled = bf_nvme_media_settled_ps(dev);

	if (kind == 1 && settled > at)
		at = settled;
	set_shst(dev, SHST_OCCURRING);
	record_state(dev, BF_NVME_SHUTTING_DOWN, 0, kind, 0);
	bf_sim_at(dev->sim, &dev->shutdown_event, at);
}

static void on_shutdown(struct bf_event *ev)
{
	struct bf_nvme *dev = BF_CONTAINER_OF(ev, struct bf_nvme, shutdown_event);

	set_shst(dev, SHST_COMPLETE);
	dev->unclean = false;
	record_state(dev, BF_NVME_SHUT_DOWN, 0, 0, 0);
	bf_nvme_publish(dev);
}

/* The reset ends a shutdown, too; one that the same write asks for begins after it. */
static void disable(struct bf_nvme *dev)
{
	uint32_t dropped = drop_all(dev);

	set_shst(dev, SHST_NORMAL);
	dev->phase = BF_NVME_DISABLING;
	record_state(dev, BF_NVME_DISABLING, 0, 0, dropped);
	bf_sim_after(dev->sim, &dev->ctrl_event, dev->profile.disable_ps);
}

/* Fields that a host sets while the controller is disabled; CC.IOSQES and IOCQES it may set later. */
#define CC_FIXED (BF_NVME_CC_CSS | BF_NVME_CC_MPS | BF_NVME_CC_AMS)
#define CC_WRITABLE (BF_NVME_CC_EN | CC_FIXED | BF_NVME_CC_SHN | BF_NVME_CC_IOSQES | BF_NVME_CC_IOCQES)

void bf_nvme_write_cc(struct bf_nvme *dev, uint32_t value)
{
	uint32_t old = dev->regs.cc, shn = (uint32_t)BF_FIELD_GET(BF_NVME_CC_SHN, value);
	bool was = old & BF_NVME_CC_EN, is = value & BF_NVME_CC_EN;

	value &= (uint32_t)CC_WRITABLE;
	if (was && is && (old ^ value) & CC_FIXED) {
		bf_nvme_driver_error(dev, BF_NVME_WRONG_CONFIG, 0, value, old);
		value = (value & ~(uint32_t)CC_FIXED) | (old & (uint32_t)CC_FIXED);
	}
	dev->regs.cc = value;
	if (!was && is) {
		if (dev->phase == BF_NVME_OFF)
			start_enabling(dev);
		else
			bf_nvme_driver_error(dev, BF_NVME_WRONG_ENABLE, 0, value, dev->regs.csts);
	} else if (was && !is) {
		disable(dev);
	}
	if ((shn == 1 || shn == 2) && shn != BF_FIELD_GET(BF_NVME_CC_SHN, old) && shst(dev) == SHST_NORMAL)
		start_shutdown(dev, shn);
}

static void reset_registers(struct bf_nvme *dev)
{
	dev->regs.cc = dev->regs.csts = dev->regs.aqa = dev->regs.cmbsts = 0;
	dev->regs.asq = dev->regs.acq = dev->regs.cmbmsc = 0;
	bf_sim_cancel(dev->sim, &dev->ctrl_event);
	dev->phase = BF_NVME_OFF;
}

void bf_nvme_subsystem_reset(struct bf_nvme *dev)
{
	uint32_t dropped = drop_all(dev);

	reset_registers(dev);
	dev->regs.csts = (uint32_t)BF_NVME_CSTS_NSSRO;
	record_state(dev, BF_NVME_SUBSYSTEM_RESET, 0, 0, dropped);
}

void bf_nvme_reset(struct bf_nvme *dev)
{
	uint32_t dropped = drop_all(dev);

	reset_registers(dev);
	record_state(dev, BF_NVME_RESET, 0, 0, dropped);
	bf_nvme_publish(dev);
}

/* Section 5.16.1.3, "Unsafe Shutdowns": power that goes without a shutdown notification before it. */
void bf_nvme_power_cycle(struct bf_nvme *dev)
{
	dev->smart.power_cycles++;
	dev->smart.unsafe_shutdowns += dev->unclean;
	dev->unclean = false;
	bf_nvme_reset(dev);
}

void bf_nvme_bus_master(struct bf_nvme *dev, bool on)
{
	if (dev->bus_master == on)
		return;
	dev->bus_master = on;
	record_state(dev, BF_NVME_BUS_MASTER, 0, on, 0);
	if (!on)
		return;
	bf_nvme_cq_resume(dev);
	bf_nvme_arbitrate(dev);
}

uint32_t bf_nvme_csts(const struct bf_nvme *dev)
{
	return dev->regs.csts;
}
