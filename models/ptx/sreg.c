/* Special registers that are the machine's: clocks, places, sizes, and what the driver sets. */
#include "models/ptx/machine_internal.h"

#define RESERVED_END 0x120u /* as an H100 says */
#define TIMER_STEP_NS 32u   /* of %globaltimer on an H100 */
#define WARPS_OF_SM 64u
#define CYCLE_READ_PS 20000u /* a read of the clock: about 40 cycles from one to the next */

static uint64_t clock_of(const struct bf_ptx_machine_warp *w)
{
	return bf_agent_now(w->agent) / bf_hopper_profile(w->device->gpu)->cycle_ps;
}

static uint64_t timer_of(const struct bf_ptx_machine_warp *w)
{
	return bf_agent_now(w->agent) / BF_NS / TIMER_STEP_NS * TIMER_STEP_NS;
}

/* 1 and 2: high and low half of the address of a cooperative grid's workspace. */
static uint64_t envreg(const struct bf_ptx_machine_warp *w, uint32_t number)
{
	const uint64_t at = bf_ptx_workspace(w->block->grid);

	return number == 1 ? at >> 32 : number == 2 ? (uint32_t)at : 0;
}

static uint64_t value_of(const struct bf_ptx_machine_warp *w, uint32_t sreg, uint32_t number)
{
	const struct bf_ptx_warp *c = &w->core;

	switch ((enum bf_ptx_sreg)sreg) {
	case BF_PTX_SREG_CLOCK:
		return (uint32_t)clock_of(w);
	case BF_PTX_SREG_CLOCK_HI:
		return clock_of(w) >> 32;
	case BF_PTX_SREG_CLOCK64:
		return clock_of(w);
	case BF_PTX_SREG_GLOBALTIMER:
		return timer_of(w);
	case BF_PTX_SREG_GLOBALTIMER_LO:
		return (uint32_t)timer_of(w);
	case BF_PTX_SREG_GLOBALTIMER_HI:
		return timer_of(w) >> 32;
	case BF_PTX_SREG_NWARPID:
		return WARPS_OF_SM;
	case BF_PTX_SREG_WARPID:
		return bf_hopper_cta_slot(w->block->cta, w->index);
	case BF_PTX_SREG_SMID:
		return w->block->sm;
	case BF_PTX_SREG_NSMID:
		return w->device->nsms;
	case BF_PTX_SREG_GRIDID:
		return c->gridid;
	case BF_PTX_SREG_ENVREG:
		return envreg(w, number);
	case BF_PTX_SREG_TOTAL_SMEM_SIZE:
		return c->total_smem;
	case BF_PTX_SREG_AGGR_SMEM_SIZE:
		return c->aggr_smem;
	case BF_PTX_SREG_DYNAMIC_SMEM_SIZE:
		return c->dynamic_smem;
	case BF_PTX_SREG_RESERVED_SMEM_OFFSET_END:
		return RESERVED_END;
	case BF_PTX_SREG_RESERVED_SMEM_OFFSET_CAP:
		return BF_PTX_SHARED_FIRST;
	default: /* performance counters, graphs, and what begins at 0 */
		return 0;
	}
}

void bf_ptx_do_sreg(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask, bf_ptx_row *out)
{
	const uint32_t sreg = op->words[BF_PTX_W_MORE];
	uint64_t v;

	if (sreg >= BF_PTX_SREG_CLOCK && sreg <= BF_PTX_SREG_GLOBALTIMER_HI) {
		w->core.polls++;
		for (uint32_t left = mask; left; left &= left - 1)
			w->lane[__builtin_ctz(left)].timed = w->round;
		bf_agent_delay(w->agent, CYCLE_READ_PS);
	}
	v = value_of(w, sreg, op->words[BF_PTX_W_MORE2]);
	for (uint32_t left = mask; left; left &= left - 1)
		out[0][__builtin_ctz(left)] = v;
}
