/* Who waits for what, as text. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "models/hopper/bulk.h"
#include "models/hopper/hopper_internal.h"

struct text {
	char *buf;
	size_t cap, len;
};

static void BF_PRINTF(2, 3) add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->len < t->cap ? t->buf + t->len : NULL, t->len < t->cap ? t->cap - t->len : 0, fmt, ap);
	va_end(ap);
	t->len += n > 0 ? (size_t)n : 0;
}

/* The block whose window holds an address of the SM; NULL: none. */
static const struct bf_hopper_cta *owner(const struct bf_hopper_sm *sm, uint32_t address)
{
	for (const struct bf_hopper_cta *c = sm->gpu->ctas; c; c = c->next)
		if (c->sm == sm && address - c->base < c->bytes)
			return c;
	return NULL;
}

static uint32_t waiter_address(const struct bf_sync_instr *in)
{
	return in->base + (in->address[__builtin_ctz(in->active)] & BF_HOPPER_OFFSET);
}

static void add_waiters(struct text *t, const struct bf_hopper_cta *cta, uint32_t address)
{
	const struct bf_sync_instr *w;
	uint32_t n = 0;

	for (uint32_t i = 0; (w = bf_sync_waiter(cta->sm->unit, i)); i++)
		if (waiter_address(w) == address)
			add(t, "%s%" PRIu32, n++ ? ", " : "; waits: warp ", w->warp - cta->first_warp);
	if (n == 0)
		add(t, "; nobody is parked there");
}

static void add_barrier(struct text *t, const struct bf_hopper_cta *cta, uint32_t address)
{
	const struct bf_hopper_sm *sm = cta->sm;
	const uint64_t word = bf_sync_peek(sm->unit, address, NULL);
	const struct bf_sync_history h = bf_sync_history(sm->unit, address);

	add(t, "%s.sm%" PRIu32 ", block %" PRIu32 " (rank %" PRIu32 "), barrier 0x%" PRIx32 ": ", sm->gpu->name, sm->id,
	    cta->number, cta->rank, address - cta->base);
	if (word == 0) {
		add(t, "not initialised");
	} else {
		add(t,
		    "phase %" PRIu32 " (parity %" PRIu32 "), %" PRIu32 " of %" PRIu32 " arrivals missing, %" PRId32
		    " B outstanding",
		    h.phases, bf_mbar_phase(word), bf_mbar_pending(word), bf_mbar_expected(word), bf_mbar_tx(word));
	}
	add_waiters(t, cta, address);
	if (h.warp == UINT32_MAX)
		add(t, "; nobody has arrived since init\n");
	else
		add(t, "; last arrival: %swarp slot %" PRIu32 " at %" PRIu64 ".%03" PRIu64 " ns\n",
		    h.remote ? "remote " : "", h.warp, h.when_ps / 1000, h.when_ps % 1000);
}

static void add_fault(struct text *t, const struct bf_hopper *gpu)
{
	static const char *const kinds[] = {
		[BF_HOPPER_FAULT_NONE] = "none",
		[BF_HOPPER_FAULT_BARRIER] = "illegal barrier operation",
		[BF_HOPPER_FAULT_ADDRESS] = "address outside the window or misaligned",
		[BF_HOPPER_FAULT_GONE] = "the block addressed is not there (any more)",
		[BF_HOPPER_FAULT_REMOTE] = "not possible on another block's barrier",
		[BF_HOPPER_FAULT_COPY] = "a copy that breaks a rule or leads nowhere",
	};
	const struct bf_hopper_fault *f = &gpu->fault;

	add(t,
	    "%s.sm%" PRIu32 ": unspecified launch failure at %" PRIu64 ".%03" PRIu64 " ns: %s of warp slot %" PRIu32
	    ", lane %" PRIu32 ", address 0x%" PRIx32 ": %s",
	    gpu->name, f->sm, f->when_ps / 1000, f->when_ps % 1000, bf_sync_op_name(f->op), f->warp, f->lane,
	    f->address, kinds[f->kind]);
	if (gpu->bulk && bf_bulk_fault(gpu->bulk))
		add(t, ": %s", bf_bulk_fault_name(bf_bulk_fault(gpu->bulk)));
	if (f->kind == BF_HOPPER_FAULT_BARRIER)
		add(t, ": %s (word 0x%016" PRIx64 ")", bf_mbar_fault_name(f->barrier), f->word);
	add(t, "\n");
}

static void add_sm(struct text *t, const struct bf_hopper_sm *sm)
{
	const struct bf_sync_instr *w, *before;
	const struct bf_hopper_cta *cta;

	for (uint32_t i = 0; (w = bf_sync_waiter(sm->unit, i)); i++) {
		uint32_t j = 0;

		while ((before = bf_sync_waiter(sm->unit, j)) != w && waiter_address(before) != waiter_address(w))
			j++;
		cta = before == w ? owner(sm, waiter_address(w)) : NULL;
		if (cta)
			add_barrier(t, cta, waiter_address(w));
	}
}

size_t bf_hopper_describe(const struct bf_hopper *gpu, char *buf, size_t cap)
{
	struct text t = { .buf = buf, .cap = cap };

	if (gpu->fault.kind)
		add_fault(&t, gpu);
	for (uint32_t i = 0; i < gpu->profile.sms; i++)
		if (gpu->sm[i].unit)
			add_sm(&t, &gpu->sm[i]);
	return t.len;
}
