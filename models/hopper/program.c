#include "models/hopper/program.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

struct warp_block {
	struct bf_warp warp;
	jmp_buf end; /* where a warp goes whose kernel has ended in a fault */
};

static void warp_main(struct bf_agent *self, void *arg)
{
	struct warp_block *b = arg;

	b->warp.agent = self;
	if (setjmp(b->end) == 0)
		b->warp.main(&b->warp);
}

int bf_warp_create(const struct bf_warp_opts *opts, struct bf_warp **out)
{
	struct bf_hopper *gpu = bf_hopper_cta_gpu(opts->cta);
	struct bf_sim *sim = bf_hopper_sim(gpu);
	struct warp_block *b = calloc(1, sizeof(*b));
	struct bf_agent_opts agent = { .main = warp_main, .arg = b, .stack_bytes = 16384 };
	char name[64];
	int rc;

	if (!b)
		return bf_fail(&sim->error, -ENOMEM, "out of memory");
	b->warp.cta = opts->cta;
	b->warp.gpu = gpu;
	b->warp.warp = opts->warp;
	b->warp.active = opts->active ? opts->active : UINT32_MAX & ~opts->exited;
	b->warp.exited = opts->exited;
	b->warp.main = opts->main;
	b->warp.arg = opts->arg;
	bf_event_init(&b->warp.instr.event, NULL);
	snprintf(name, sizeof(name), "sm%" PRIu32 ".w%" PRIu32, bf_hopper_cta_sm(opts->cta),
		 bf_hopper_cta_slot(opts->cta, opts->warp));
	agent.name = name;
	rc = bf_agent_create(sim, &agent, &b->warp.agent);
	if (rc) {
		free(b);
		return rc;
	}
	*out = &b->warp;
	return 0;
}

void bf_warp_destroy(struct bf_warp *w)
{
	if (w)
		free(BF_CONTAINER_OF(w, struct warp_block, warp));
}

uint64_t bf_warp_clock(const struct bf_warp *w)
{
	return bf_agent_now(w->agent) / bf_hopper_profile(w->gpu)->cycle_ps;
}

void bf_warp_spend(struct bf_warp *w, uint64_t cycles)
{
	bf_agent_delay(w->agent, bf_hopper_ps(w->gpu, cycles));
}

static void instr_done(struct bf_sync_instr *instr)
{
	struct bf_warp *w = BF_CONTAINER_OF(instr, struct bf_warp, instr);

	w->waits = false;
	bf_agent_unpark(w->agent);
}

static void issue(struct bf_warp *w)
{
	bf_agent_sync(w->agent);
	w->instr.warp = (uint8_t)bf_hopper_cta_slot(w->cta, w->warp);
	w->instr.exited = w->exited;
	bf_hopper_issue(w->cta, &w->instr);
}

void bf_warp_do(struct bf_warp *w)
{
	w->instr.done = instr_done;
	w->waits = true;
	issue(w);
	while (w->waits)
		bf_agent_park(w->agent, "a result of the sync unit");
	if (w->instr.killed || w->instr.fault)
		longjmp(BF_CONTAINER_OF(w, struct warp_block, warp)->end, 1);
}

void bf_warp_push(struct bf_warp *w)
{
	w->instr.done = NULL;
	issue(w);
	if (w->instr.killed || w->instr.fault)
		longjmp(BF_CONTAINER_OF(w, struct warp_block, warp)->end, 1);
	bf_agent_delay(w->agent, w->instr.next_ps - bf_agent_now(w->agent));
}

void bf_warp_push_rolled(struct bf_warp *w)
{
	bf_warp_push(w);
	if (w->instr.operands_ps > bf_agent_now(w->agent))
		bf_agent_delay(w->agent, w->instr.operands_ps - bf_agent_now(w->agent));
}

static uint32_t prepare(struct bf_warp *w, enum bf_sync_op op, uint32_t address, uint32_t count)
{
	w->instr.op = (uint8_t)op;
	w->instr.active = w->active;
	for (uint32_t left = w->active; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		w->instr.address[lane] = address;
		w->instr.count[lane] = count;
		w->instr.tx[lane] = 0;
	}
	return (uint32_t)__builtin_ctz(w->active);
}

void bf_warp_init(struct bf_warp *w, uint32_t address, uint32_t count)
{
	prepare(w, BF_SYNC_INIT, address, count);
	bf_warp_do(w);
}

uint64_t bf_warp_arrive(struct bf_warp *w, uint32_t address)
{
	const uint32_t first = prepare(w, BF_SYNC_ARRIVE, address, 1);

	bf_warp_do(w);
	return w->instr.token[first];
}

bool bf_warp_test(struct bf_warp *w, uint32_t address, uint32_t parity)
{
	const uint32_t first = prepare(w, BF_SYNC_TEST_PARITY, address, parity);

	bf_warp_do(w);
	return w->instr.result >> first & 1;
}

bool bf_warp_try(struct bf_warp *w, uint32_t address, uint32_t parity)
{
	const uint32_t first = prepare(w, BF_SYNC_TRY_PARITY, address, parity);

	bf_warp_do(w);
	return w->instr.result >> first & 1;
}

uint64_t bf_warp_load(struct bf_warp *w, uint32_t address)
{
	const uint32_t first = prepare(w, BF_SYNC_LOAD, address, 0);

	bf_warp_do(w);
	return w->instr.token[first];
}
