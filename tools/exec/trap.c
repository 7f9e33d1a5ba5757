/*
 * Faults: stores of the program to its doorbell pages, and accesses of the model to memory that is gone.
 *
 * A store to a page that nobody may access stops the thread before anything has happened. What it would have stored is
 * decoded (store.h) and given to the device under the lock, and the thread goes on behind the instruction: each store
 * arrives once, in the order of its thread. An instruction that is not known runs by itself with the page open: the
 * thread steps over it and what has changed in the page since is what it has stored. The lock is kept meanwhile.
 *
 * An instruction that does so again and again gets a jump in its place (trap_patch.h), by which its stores come here
 * without a fault; all else is the same.
 *
 * A handler of the program's that rings while its thread is inside (the engine's callers block signals, but a program
 * has its ways) must not wait for itself: the store is kept and arrives when the thread leaves.
 *
 * Nothing here allocates or takes another lock, but the model may: the interrupted code is a store to a device, not
 * something inside malloc().
 */
#include "tools/exec/engine_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "sim/pcie.h"
#include "traces/records/exec.h"
#include "tools/exec/trap_patch.h"

/* Frames that a thread takes along, since it is here already and the engine's own may be waiting for a processor. */
#define FRAMES 16u

/* Fills a page before a step: what differs afterwards was stored. Neither a count, nor a QPN, nor zeros, looks like it.
 */
#define PATTERN 0x9du

void bf_engine_deliver(struct bf_engine *e, struct bf_region *region, uint64_t offset, const void *data, uint32_t len,
		       uint64_t ip)
{
	e->count.stores++;
	e->count.bytes += len;
	BF_EMIT_TAIL(e->sim, e->actor, exec_store, data, len, .ip = ip, .va = region->va + offset,
		     .offset = (uint32_t)offset, .len = len);
	bf_mmio_post(region, offset, data, len);
}

/* Later, when this thread leaves the model. */
static void keep(struct bf_engine *e, struct bf_region *region, uint64_t offset, const void *data, uint32_t len,
		 uint64_t ip)
{
	struct bf_engine_late *l;

	if (e->nlate == BF_ENGINE_LATE) {
		e->count.lost++;
		return;
	}
	l = &e->late[e->nlate++];
	*l = (struct bf_engine_late){ .region = region, .offset = offset, .ip = ip, .len = len };
	memcpy(l->data, data, len);
	e->count.late++;
}

/* The part of a store that lies in the page; `inside`: the thread is in the model. */
static void put(struct bf_engine *e, const struct bf_engine_page *page, const struct bf_trap_store *s, uint64_t address,
		const uint8_t *data, uint64_t ip, bool inside)
{
	uint64_t offset = address - page->at;
	uint32_t len = s->len;

	if (address < page->at || offset >= BF_PAGE)
		return;
	if (len > BF_PAGE - offset)
		len = (uint32_t)(BF_PAGE - offset);
	if (inside)
		keep(e, page->region, offset, data, len, ip);
	else
		bf_engine_deliver(e, page->region, offset, data, len, ip);
}

/*
 * Carries an instruction out. A repeated one ends where it leaves the page, and faults again if the rest is on another
 * page of ours.
 */
static void carry_out(struct bf_engine *e, const struct bf_engine_page *page, struct bf_trap_store *s, void *context,
		      bool inside)
{
	const uint64_t ip = bf_store_ip(context);
	uint64_t done = 0;

	for (; done < s->count; done++) {
		const uint64_t address = s->address + (uint64_t)((int64_t)done * s->step);
		uint8_t data[BF_STORE_MAX];

		if (address < page->at || address - page->at >= BF_PAGE)
			break;
		if (s->moves)
			memcpy(data, (const void *)(uintptr_t)(s->source + (uint64_t)((int64_t)done * s->step)),
			       s->len);
		else
			memcpy(data, s->data, s->len);
		if (s->kind != BF_STORE_LOAD)
			put(e, page, s, address, data, ip, inside);
		else
			e->count.loads++;
	}
	s->count = s->repeats ? done : 1;
	bf_store_finish(s, context);
}

/*
 * The model needs more stack than a program may have set aside for its handlers (sigaltstack(), often 8 KiB): then it
 * runs on one of ours. The alternate stack is off meanwhile, or a fault of the model's own would begin at its top
 * again, over the frame that we return to.
 */
#define STACK_ENOUGH (64u << 10)

static bool on_small_stack(const void *context)
{
	const stack_t *stack = &((const ucontext_t *)context)->uc_stack;
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return here - (uintptr_t)stack->ss_sp < stack->ss_size && stack->ss_size < STACK_ENOUGH;
}

struct aside {
	void (*fn)(void *arg);
	void *arg;
};

static void on_own_stack(void *arg)
{
	const struct aside *a = arg;
	const stack_t none = { .ss_flags = SS_DISABLE };
	stack_t before;

	sigaltstack(&none, &before);
	a->fn(a->arg);
	sigaltstack(&before, NULL);
}

/* Calls `fn` with enough stack, under the lock. */
static void call(struct bf_engine *e, const void *context, void (*fn)(void *arg), void *arg)
{
	struct aside a = { fn, arg };

	if (!on_small_stack(context)) {
		fn(arg);
		return;
	}
	bf_coro_reset(e->aside, on_own_stack, &a);
	bf_coro_enter(e->aside);
}

static void catch_up(void *engine)
{
	bf_engine_catch_up(engine);
}

static void run_due(void *engine)
{
	bf_engine_run(engine);
}

/* A store that is known, from its arrival at the device to the last thing that follows at once. */
struct arrival {
	struct bf_engine *e;
	const struct bf_engine_page *page;
	struct bf_trap_store *store;
	void *context;
};

static void arrive(void *arg)
{
	struct arrival *a = arg;

	bf_engine_catch_up(a->e);
	bf_engine_glance_rings(a->e, a->store->address - a->page->at);
	carry_out(a->e, a->page, a->store, a->context, false);
	bf_outside_poll(a->e->outside, FRAMES);
	bf_engine_run(a->e);
}

static void take(struct bf_engine *e, const struct bf_engine_page *page, struct bf_trap_store *s, void *context)
{
	struct arrival a = { e, page, s, context };

	call(e, context, arrive, &a);
	bf_engine_leave(e);
}

/* The kernel's signal set in a frame is eight bytes, whatever the C library's type says. */
static uint64_t *mask_of(void *context)
{
	return (uint64_t *)(void *)&((ucontext_t *)context)->uc_sigmask;
}

#define BIT(signal) (1ull << ((signal)-1))

/* Opens the page for one instruction. The lock stays ours until it has run. */
static bool step_begin(struct bf_engine *e, const struct bf_engine_page *page, uint64_t fault, void *context)
{
	if (!bf_store_single_step(context, true))
		return false;
	memset(page->region->bytes, bf_store_was_write(context) ? PATTERN : 0, BF_PAGE);
	if (mprotect((void *)page->at, BF_PAGE, PROT_READ | PROT_WRITE)) {
		bf_store_single_step(context, false);
		return false;
	}
	e->step = (struct bf_engine_step){ .at = page->at,
					   .region = page->region,
					   .fault = fault,
					   .ip = bf_store_ip(context),
					   .mask = *mask_of(context),
					   .write = bf_store_was_write(context) };
	*mask_of(context) = ~(BIT(SIGTRAP) | BIT(SIGSEGV) | BIT(SIGBUS));
	e->count.steps++;
	return true;
}

/*
 * Where a run of changes begins and ends: from the first byte that differs to the last within 64, made whole words.
 * Bytes that were stored and look like the pattern are in there as they are.
 */
static uint32_t find_run(const uint8_t *bytes, uint32_t *from)
{
	uint32_t at = *from, last;

	while (at < BF_PAGE && bytes[at] == PATTERN)
		at++;
	if (at == BF_PAGE)
		return 0;
	*from = at;
	for (uint32_t i = last = at; i < BF_PAGE && i < at + BF_STORE_MAX; i++)
		if (bytes[i] != PATTERN)
			last = i;
	return last + 1 - at;
}

static void step_end(struct bf_engine *e, void *context)
{
	const struct bf_engine_step step = e->step;
	uint8_t *bytes = step.region->bytes;
	uint32_t first = (uint32_t)(step.fault - step.at), at = 0, len;

	bf_store_single_step(context, false);
	*mask_of(context) = step.mask;
	e->step.at = 0;
	call(e, context, catch_up, e);
	mprotect((void *)step.at, BF_PAGE, PROT_NONE);
	while (step.write && (len = find_run(bytes, &at))) {
		uint32_t whole = 1;

		if (at > first && at - first < BF_STORE_MAX) {
			len += at - first;
			at = first; /* its first bytes look like the pattern */
		}
		first = BF_PAGE;
		while (whole < len)
			whole *= 2;
		if (whole > BF_PAGE - at)
			whole = len;
		bf_engine_deliver(e, step.region, at, bytes + at, whole, step.ip);
		at += whole;
	}
	memset(bytes, 0, BF_PAGE);
	call(e, context, run_due, e);
	bf_engine_leave(e);
}

/*
 * The model wants memory that the program has unmapped, protected or truncated away. Hardware has pages pinned and goes
 * on with them; what was in them is lost here, so zeros have to do.
 */
static bool bring_back(struct bf_engine *e, int signal, const siginfo_t *info)
{
	void *at = (void *)((uintptr_t)info->si_addr & ~(uintptr_t)(BF_PAGE - 1));
	const bool protected = signal == SIGSEGV && info->si_code == SEGV_ACCERR;
	struct bf_rec_exec_missing rec = { .address = (uintptr_t)at, .why = protected ? 1 : signal == SIGBUS ? 2 : 0 };

	if (!at || (signal == SIGSEGV && info->si_code != SEGV_MAPERR && !protected))
		return false;
	if (protected ? mprotect(at, BF_PAGE, PROT_READ | PROT_WRITE) != 0
		      : mmap(at, BF_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
			    MAP_FAILED)
		return false;
	e->count.missing++;
	if (bf_probe(e->sim, BF_CLASS_FAULT))
		BF_EMIT_MADE(e->sim, e->actor, exec_missing, rec, NULL, 0);
	return true;
}

/* `p`: where a jump is now was the instruction; or NULL. */
static bool decode(struct bf_engine *e, const struct bf_patch *p, const void *context, uint64_t fault,
		   struct bf_trap_store *out)
{
	if (!p)
		return bf_store_decode(&e->cpu, context, fault, out);
	return bf_patch_decode(p, &e->cpu, context, out) && fault - out->address < out->len;
}

/* This thread is in the model: its own fault, or that of a handler on top of it. */
static bool fault_inside(struct bf_engine *e, const struct bf_patch *p, int signal, const siginfo_t *info,
			 void *context)
{
	const uint64_t fault = (uintptr_t)info->si_addr;
	const struct bf_engine_page *page = bf_engine_page_find(e, fault);
	struct bf_trap_store s;

	if (!page)
		return bring_back(e, signal, info);
	if (!decode(e, p, context, fault, &s))
		return false;
	carry_out(e, page, &s, context, true);
	return true;
}

/* After the end: what other threads of the program still store goes nowhere. */
static bool fault_after(struct bf_engine *e, const struct bf_patch *p, const siginfo_t *info, void *context)
{
	const uint64_t fault = (uintptr_t)info->si_addr;
	struct bf_trap_store s;

	if (!e->pages || !bf_engine_page_find(e, fault) || !decode(e, p, context, fault, &s))
		return false;
	bf_store_finish(&s, context);
	return true;
}

/* Rings there often. */
static void note(struct bf_engine *e, const struct bf_patch *p, const void *context, const struct bf_trap_store *s)
{
	struct bf_rec_exec_patch rec = { .ip = bf_store_ip(context), .len = s->code };

	if (e->opts.no_patch || !bf_patch_note(e, p, context, s))
		return;
	e->count.patches++;
	if (bf_probe(e->sim, BF_CLASS_META))
		BF_EMIT_MADE(e->sim, e->actor, exec_patch, rec, NULL, 0);
}

static bool fault(struct bf_engine *e, const struct bf_patch *p, int signal, const siginfo_t *info, void *context)
{
	const uint64_t address = (uintptr_t)info->si_addr;
	const struct bf_engine_page *page;
	struct bf_trap_store s;
	bool known;

	if (bf_engine_inside(e)) {
		if (e->step.at && signal == SIGTRAP) {
			step_end(e, context);
			return true;
		}
		return signal != SIGTRAP && fault_inside(e, p, signal, info, context);
	}
	if (signal == SIGTRAP || info->si_code <= 0)
		return false; /* not ours, or sent by kill() */
	if (!bf_engine_lock(e))
		return fault_after(e, p, info, context);
	page = bf_engine_page_find(e, address);
	known = page && decode(e, p, context, address, &s);
	if (!known) {
		if (page && step_begin(e, page, address, context))
			return true;
		bf_engine_unlock(e);
		return false;
	}
	note(e, p, context, &s);
	take(e, page, &s, context);
	return true;
}

bool bf_engine_fault(struct bf_engine *e, int signal, siginfo_t *info, void *context)
{
	const int error = errno;
	const struct bf_patch *p = bf_patch_find(context, signal);
	bool ours = (p && signal == SIGTRAP) || (e && fault(e, p, signal, info, context));

	errno = error;
	return ours;
}

bool bf_engine_stored(struct bf_engine *e, const struct bf_patch *p, ucontext_t *context)
{
	const struct bf_engine_page *page;
	struct bf_engine_caller c;
	struct bf_trap_store s;
	bool ours = false;

	if (!bf_patch_decode(p, &e->cpu, context, &s))
		return false;
	if (bf_engine_inside(e)) {
		page = bf_engine_page_find(e, s.address);
		if (page)
			carry_out(e, page, &s, context, true);
		return page;
	}
	if (e->pid != getpid())
		return false;
	sigaltstack(NULL, &context->uc_stack);
	bf_engine_block(&c);
	if (bf_engine_lock(e)) {
		page = bf_engine_page_find(e, s.address);
		ours = page;
		if (page)
			take(e, page, &s, context);
		else
			bf_engine_unlock(e);
	}
	bf_engine_unblock(&c);
	return ours;
}
