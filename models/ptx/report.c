/* What went wrong, and who waits for what, in words: kernel, line, lanes, address. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/ptx/machine_internal.h"

/* "kernel put at my_kernel.cu:41" for what a warp executes. */
static void say_place(const struct bf_ptx_machine_warp *w, const struct bf_ptx_stmt *stmt, char *buf, size_t cap)
{
	const struct bf_ptx_grid *g = w->block->grid;
	const struct bf_ptx_func *f = stmt ? bf_ptx_func_of(g->lib, stmt) : NULL;
	const char *file;
	uint32_t line;

	bf_ptx_line(g->lib, stmt, &file, &line);
	snprintf(buf, cap, "kernel %s at %s:%u%s%s (%s)", g->fn->name, file, line, f && f != g->fn ? " in " : "",
		 f && f != g->fn ? f->name : "", stmt ? stmt->form->text : "its end");
}

enum bf_ptx_result bf_ptx_fault_at(struct bf_ptx_machine_warp *w, uint32_t mask, enum bf_ptx_fault_kind kind,
				   uint64_t address, const char *fmt, ...)
{
	struct bf_ptx_device *d = w->device;
	struct bf_ptx_fault *f = &d->fault;
	const uint32_t lane = mask ? (uint32_t)__builtin_ctz(mask) : 0;
	const struct bf_ptx_stmt *stmt = w->core.at;
	char what[256], place[300];
	const char *file;
	va_list ap;

	bf_ptx_as_warp(w);
	if (bf_ptx_is_dead(d))
		return BF_PTX_FAULT;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	f->kind = kind;
	f->when_ps = w->agent ? bf_agent_now(w->agent) : d->sim->now_ps;
	f->block = w->block->index;
	f->thread = w->index * BF_PTX_LANES + lane;
	f->address = address;
	snprintf(f->kernel, sizeof(f->kernel), "%s", w->block->grid->fn->name);
	bf_ptx_line(w->block->grid->lib, stmt, &file, &f->line);
	snprintf(f->file, sizeof(f->file), "%s", file);
	say_place(w, stmt, place, sizeof(place));
	snprintf(f->text, sizeof(f->text), "%sb%u.w%u.l%u: %s; %s, block (%u,%u,%u), thread (%u,%u,%u)", d->name,
		 w->block->index, w->index, lane, what, place, w->block->ctaid[0], w->block->ctaid[1],
		 w->block->ctaid[2], w->core.tid[0][lane], w->core.tid[1][lane], w->core.tid[2][lane]);
	bf_ptx_give_up(d);
	return BF_PTX_FAULT;
}

enum bf_ptx_result bf_ptx_fault_memory(struct bf_ptx_machine_warp *w, uint32_t mask)
{
	struct bf_sim *sim = w->device->sim;

	if (sim->error.code != -ENOMEM)
		bf_fail(&sim->error, -ENOMEM, BF_PTX_NO_MEMORY);
	bf_sim_stop(sim);
	return bf_ptx_fault_at(w, mask, BF_PTX_FAULT_STACK, 0, BF_PTX_NO_MEMORY);
}

enum bf_ptx_result bf_ptx_fault_hopper(struct bf_ptx_machine_warp *w, uint32_t mask)
{
	const struct bf_hopper_fault *h = bf_hopper_fault(w->device->gpu);
	const enum bf_bulk_fault copy = bf_bulk_fault(w->device->bulk);
	const uint32_t address = h ? h->address + BF_PTX_SHARED_FIRST : 0;

	if (!h)
		return bf_ptx_fault_at(w, mask, BF_PTX_FAULT_TRAP, 0, "the kernel has ended in a fault");
	switch (h->kind) {
	case BF_HOPPER_FAULT_BARRIER:
		return bf_ptx_fault_at(w, mask, BF_PTX_FAULT_TRAP, address, "mbarrier at 0x%x: %s", address,
				       bf_mbar_fault_name(h->barrier));
	case BF_HOPPER_FAULT_COPY:
		return bf_ptx_fault_at(w, mask, BF_PTX_FAULT_TRAP, address, "a bulk copy broke a rule: %s",
				       bf_bulk_fault_name(copy));
	case BF_HOPPER_FAULT_GONE:
		return bf_ptx_fault_at(w, mask, BF_PTX_FAULT_ADDRESS, address,
				       "0x%x is of a block that has ended or never was", address);
	case BF_HOPPER_FAULT_REMOTE:
		return bf_ptx_fault_at(w, mask, BF_PTX_FAULT_SPACE, address,
				       "0x%x is in another block, where this instruction does not reach", address);
	default:
		return bf_ptx_fault_at(w, mask, BF_PTX_FAULT_ADDRESS, address,
				       "0x%x is outside of shared memory or misaligned", address);
	}
}

/* ---- who waits ---- */

struct text {
	char *buf;
	size_t cap, len;
};

static void BF_PRINTF(2, 3) add(struct text *t, const char *fmt, ...)
{
	const size_t room = t->len < t->cap ? t->cap - t->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? t->buf + t->len : NULL, room, fmt, ap);
	va_end(ap);
	t->len += n > 0 ? (size_t)n : 0;
}

/* What it waits for: the last that it looked at. */
static const struct bf_ptx_look *look_of(const struct bf_ptx_machine_warp *w, uint32_t lane)
{
	const struct bf_ptx_look *last = NULL;

	for (uint32_t i = 0; i < w->nlooks[lane]; i++)
		if (!last || w->looks[lane][i].round >= last->round)
			last = &w->looks[lane][i];
	return last;
}

static void say_wait(struct text *t, const struct bf_ptx_machine_warp *w, uint32_t lane)
{
	const struct bf_ptx_machine_lane *l = &w->lane[lane];
	const struct bf_ptx_look *k = look_of(w, lane);
	uint64_t value = 0;

	switch ((enum bf_ptx_waits)l->waits) {
	case BF_PTX_AT_BARRIER:
		if (l->barrier == BF_PTX_BARRIERS)
			add(t, "barrier of the cluster, %u of %u threads have come", w->block->cluster->come,
			    w->block->cluster->live);
		else
			add(t, "barrier %u, %u warps have come", l->barrier, w->block->barrier[l->barrier].come);
		break;
	case BF_PTX_AT_UNIT:
		add(t, "an mbarrier or a copy");
		break;
	case BF_PTX_POLLING:
		if (k && k->at) {
			memcpy(&value, k->value, k->len < 8 ? k->len : 8);
			add(t, "%spolls %u bytes, which hold 0x%llx", k->shared ? "shared memory: " : "", k->len,
			    (unsigned long long)value);
		} else {
			add(t, "polls an mbarrier");
		}
		break;
	case BF_PTX_SLEEPING:
		add(t, "sleeps");
		break;
	case BF_PTX_AWAKE:
		add(t, "goes on");
		break;
	}
}

static bool together(const struct bf_ptx_machine_warp *w, uint32_t a, uint32_t b)
{
	return w->lane[a].waits == w->lane[b].waits && w->lane[a].barrier == w->lane[b].barrier &&
	       bf_ptx_warp_where(&w->core, a) == bf_ptx_warp_where(&w->core, b);
}

int bf_ptx_describe(const struct bf_agent *a, void *arg, char *buf, size_t cap)
{
	const struct bf_ptx_machine_warp *w = arg;
	struct text t = { .buf = buf, .cap = cap };
	uint32_t told = 0;

	(void)a;
	for (uint32_t lane = 0; lane < BF_PTX_LANES; lane++) {
		uint32_t lanes = 0;
		char place[300];

		if (told >> lane & 1 || !(w->live >> lane & 1))
			continue;
		for (uint32_t i = lane; i < BF_PTX_LANES; i++)
			if (w->live >> i & 1 && together(w, lane, i))
				lanes |= 1u << i;
		say_place(w, bf_ptx_warp_where(&w->core, lane), place, sizeof(place));
		add(&t, "%s %s, lanes 0x%x: ", told ? ";" : ":", place, lanes);
		say_wait(&t, w, lane);
		told |= lanes;
	}
	return (int)t.len;
}
