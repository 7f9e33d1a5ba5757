/*
 * libbelfry-plain: plain loads and stores of C and C++ as those of a simulated thread.
 *
 * Code that is compiled with -fsanitize=thread calls a function before each load and store (gcc's tsan.cc, LLVM's
 * ThreadSanitizer.cpp; compiler-rt's tsan_interface.h has their names). Those functions stand here instead of in the
 * sanitizer's runtime. Called by an agent, for memory of its machine, they make the access through its view: the store
 * waits in a buffer, the load finds what the thread may see, a store to a register travels to the device. Anywhere else
 * they do nothing.
 *
 * A call only announces an access; the compiler's own instruction follows, on the bytes themselves. So a call lends:
 * for a load it puts what the view has into memory, for a store it remembers what was there. The next call, whatever it
 * is, settles: it takes the stored bytes, puts the old ones back and stores through the view. In between the thread
 * does not give way, so nobody else sees it.
 */
#include "tools/plain/plain.h"

#include <string.h>
#include <sys/mman.h>

#include "sim/agent.h"
#include "sim/mem.h"
#include "sim/sim.h"
#include "sim/view.h"
#include "tools/plain/plain_internal.h"

#define HERE __builtin_return_address(0)
#define WIDEST 16u       /* bytes that a processor stores at a time */
#define LOOKS 8u         /* places that a polling loop looks at */
#define IDLE_CALLS 4096u /* calls that touch nothing of the machine before a thread gives way all the same */
#define LEND_MAX 4096u   /* bytes of one access that is announced: a structure that is copied */
#define LEAST_NAP BF_US
#define LONGEST_NAP (100 * BF_US)

enum pending { NOTHING, LOADED, STORED };

/* What a thread that polls has seen: as long as nothing else happens, looking again tells nothing new. */
struct look {
	const void *at;
	uint64_t value;
};

/* Of the operating system's thread, on which one agent runs at a time. */
static _Thread_local struct {
	struct bf_agent *agent; /* whose these are */
	enum pending pending;
	uint8_t *at, *real; /* where the compiler's instruction goes, and what is meant: of __shared__ variables */
	uint32_t len;
	bool mmio;
	enum bf_sem sem;
	const void *from;
	uint8_t bytes[LEND_MAX]; /* that memory had */
	/* The store of a copy, announced before its load: both come before the instructions of either. */
	struct {
		uint8_t *at, *real;
		uint32_t len; /* 0: there is none */
		const void *from;
		uint8_t bytes[LEND_MAX];
	} copied;
	struct look look[LOOKS];
	uint32_t nlooks, looks, calls;
	uint64_t nap_ps;
} self;

static void forget_looks(void)
{
	self.nlooks = self.looks = 0;
	self.nap_ps = LEAST_NAP;
}

/* What the thread would find there. */
static void peek(const uint8_t *from, uint8_t *to, uint32_t len)
{
	for (uint32_t i = 0; i < len;) {
		const uint32_t room = BF_LINE - (uint32_t)(((uintptr_t)from + i) % BF_LINE);
		const uint32_t piece = len - i < room ? len - i : room;

		bf_load_peek(self.agent, from + i, to + i, piece);
		i += piece;
	}
}

static void open_page(const void *at, int prot)
{
	const uintptr_t page = (uintptr_t)at & ~(uintptr_t)(BF_PAGE - 1);

	mprotect((void *)page, BF_PAGE, prot); /* of a region, which is whole pages */
}

static void store(struct bf_agent *a, uint8_t *to, const uint8_t *from, uint32_t len, enum bf_sem sem)
{
	while (len) {
		const uint32_t room = WIDEST - (uint32_t)((uintptr_t)to % WIDEST), piece = len < room ? len : room;

		bf_store(a, to, from, piece, sem, BF_SCOPE_SYS);
		to += piece;
		from += piece;
		len -= piece;
	}
}

static void load(struct bf_agent *a, const uint8_t *from, uint8_t *to, uint32_t len, enum bf_sem sem)
{
	while (len) {
		const uint32_t room = BF_LINE - (uint32_t)((uintptr_t)from % BF_LINE), piece = len < room ? len : room;

		bf_load(a, from, to, piece, sem, BF_SCOPE_SYS);
		from += piece;
		to += piece;
		len -= piece;
	}
}

/* The access that was announced last has been made. */
static void settle_last(void)
{
	const enum pending was = self.pending;
	uint8_t now[LEND_MAX];

	if (was == NOTHING)
		return;
	self.pending = NOTHING;
	memcpy(now, self.at, self.len);
	if (!self.mmio)
		memcpy(self.at, self.bytes, self.len);
	else
		open_page(self.at, PROT_NONE);
	if (was == LOADED)
		return;
	self.agent->from = self.from;
	if (self.mmio)
		bf_mmio_store(self.agent, self.at, now, self.len, BF_RELAXED);
	else
		store(self.agent, self.real, now, self.len, self.sem);
	self.agent->from = NULL;
}

/* And the store of the copy that it was the load of. */
static void settle(void)
{
	const uint32_t len = self.copied.len;
	uint8_t now[LEND_MAX];

	settle_last();
	if (!len)
		return;
	self.copied.len = 0;
	memcpy(now, self.copied.at, len);
	memcpy(self.copied.at, self.copied.bytes, len);
	self.agent->from = self.copied.from;
	store(self.agent, self.copied.real, now, len, BF_WEAK);
	self.agent->from = NULL;
}

/* Not memory of the machine: of the program alone. */
static bool is_own(const struct bf_agent *a, const void *at)
{
	return !bf_space_find_host(a->view->space, a->mine ? belfry_plain_shared(a->mine, at) : at);
}

/*
 * A load is announced while a store is pending. Of a structure that is copied both are announced, the store first, and
 * then the instructions follow: true when it may be so, and the store has been put aside, or stays pending behind a
 * load of the thread's own memory, which needs nothing (`*done`). A store of the same bytes that has been made already
 * may be taken for one: it then settles a little later.
 */
static bool is_copy(const void *p, uint32_t len, bool *done)
{
	const struct bf_agent *a = bf_agent_here();
	uint8_t before[LEND_MAX];

	*done = false;
	if (self.pending != STORED || self.mmio || self.sem != BF_WEAK || self.copied.len || !a || a != self.agent)
		return false;
	if (is_own(a, p)) {
		*done = (self.calls + 1) % IDLE_CALLS != 0;
		self.calls += *done;
		return *done;
	}
	peek(self.real, before, self.len);
	if (len != self.len || len < WIDEST || memcmp(before, self.at, len))
		return false;
	self.pending = NOTHING;
	self.copied.at = self.at;
	self.copied.real = self.real;
	self.copied.len = len;
	self.copied.from = self.from;
	memcpy(self.copied.bytes, self.bytes, len);
	memcpy(self.at, self.bytes, len);
	return true;
}

/* The region that an access of the calling agent touches; NULL: none, or nobody runs. */
static struct bf_region *touched(const void *at, uint32_t len)
{
	struct bf_agent *a = bf_agent_here();
	struct bf_region *r;

	if (!a || !a->view || !a->view->space)
		return NULL;
	if (a != self.agent) {
		self.agent = a;
		self.calls = 0;
		forget_looks();
	}
	self.real = a->mine ? belfry_plain_shared(a->mine, at) : (uint8_t *)(uintptr_t)at;
	r = bf_space_find_host(a->view->space, self.real);
	if (r && (uint64_t)(self.real - r->bytes) + len <= r->size)
		return r;
	if (++self.calls % IDLE_CALLS == 0)
		bf_agent_delay(a, BF_US);
	return NULL;
}

static struct bf_region *begin(const void *at, uint32_t len)
{
	settle();
	return touched(at, len);
}
/* Sleeps when all that the loop looks at was seen before and is the same: until one of its lines changes, or a while.
 */
static void look_again(struct bf_agent *a, const void *at, const uint8_t *bytes, uint32_t len)
{
	const void *lines[LOOKS];
	uint64_t value = 0;
	uint32_t i = 0;

	memcpy(&value, bytes, len < 8 ? len : 8);
	while (i < self.nlooks && self.look[i].at != at)
		i++;
	if (i == self.nlooks || self.look[i].value != value) {
		if (i < self.nlooks || i == LOOKS)
			forget_looks();
		self.looks = 0;
		self.look[self.nlooks++] = (struct look){ at, value };
		return;
	}
	if (++self.looks <= 2 * LOOKS)
		return;
	for (i = 0; i < self.nlooks; i++)
		lines[i] = self.look[i].at;
	bf_agent_wait(a, lines, self.nlooks, self.nap_ps, a->view->cost->poll, "memory that it polls");
	if (self.nap_ps < LONGEST_NAP)
		self.nap_ps *= 2;
}

/* ---- loads and stores ---- */

static void lend(uint8_t *at, uint32_t len, enum pending what, enum bf_sem sem, const void *from)
{
	self.pending = what;
	self.at = at;
	self.len = len;
	self.sem = sem;
	self.from = from;
	self.mmio = false;
}

static void announce_load(const void *p, uint64_t size, enum bf_sem sem, const void *from)
{
	uint8_t *at = (uint8_t *)(uintptr_t)p, seen[LEND_MAX];
	const uint32_t len = size < LEND_MAX ? (uint32_t)size : LEND_MAX;
	const struct bf_region *r;
	struct bf_agent *a;
	uint64_t value;
	bool done;

	r = is_copy(p, len, &done) ? (done ? NULL : touched(p, len)) : begin(p, len);
	if (!r)
		return;
	a = self.agent;
	a->from = from;
	if (r->kind == BF_MEM_MMIO) {
		value = bf_mmio_read(a, p, len < 8 ? len : 8);
		open_page(at, PROT_READ | PROT_WRITE);
		memcpy(at, &value, len < 8 ? len : 8);
		lend(at, len < 8 ? len : 8, LOADED, sem, from);
		self.mmio = true;
	} else {
		load(a, self.real, seen, len, sem);
		look_again(a, self.real, seen, len);
		if (self.looks > 2 * LOOKS)
			load(a, self.real, seen, len, sem);
		if (memcmp(at, seen, len)) {
			lend(at, len, LOADED, sem, from);
			memcpy(self.bytes, at, len);
			memcpy(at, seen, len);
		}
	}
	a->from = NULL;
}

static void announce_store(void *p, uint64_t size, enum bf_sem sem, const void *from)
{
	const uint32_t len = size < LEND_MAX ? (uint32_t)size : LEND_MAX;
	const struct bf_region *r = begin(p, len);

	if (!r)
		return;
	forget_looks();
	lend(p, len, STORED, sem, from);
	if (r->kind == BF_MEM_MMIO) {
		open_page(p, PROT_READ | PROT_WRITE);
		self.mmio = true;
		return;
	}
	memcpy(self.bytes, p, len);
	/* A load that is part of the same statement is not always announced: it finds what the thread may see. */
	peek(self.real, p, len);
}

#define ACCESS(name, bytes)                                                                                            \
	void __tsan_##name##read##bytes(void *p);                                                                      \
	void __tsan_##name##read##bytes(void *p)                                                                       \
	{                                                                                                              \
		announce_load(p, bytes, BF_WEAK, HERE);                                                                \
	}                                                                                                              \
	void __tsan_##name##write##bytes(void *p);                                                                     \
	void __tsan_##name##write##bytes(void *p)                                                                      \
	{                                                                                                              \
		announce_store(p, bytes, BF_WEAK, HERE);                                                               \
	}                                                                                                              \
	void __tsan_##name##volatile_read##bytes(void *p);                                                             \
	void __tsan_##name##volatile_read##bytes(void *p)                                                              \
	{                                                                                                              \
		announce_load(p, bytes, BF_RELAXED, HERE);                                                             \
	}                                                                                                              \
	void __tsan_##name##volatile_write##bytes(void *p);                                                            \
	void __tsan_##name##volatile_write##bytes(void *p)                                                             \
	{                                                                                                              \
		announce_store(p, bytes, BF_RELAXED, HERE);                                                            \
	}                                                                                                              \
	void __tsan_##name##read_write##bytes(void *p);                                                                \
	void __tsan_##name##read_write##bytes(void *p)                                                                 \
	{                                                                                                              \
		announce_store(p, bytes, BF_WEAK, HERE);                                                               \
	}
#define ACCESSES(F)                                                                                                    \
	F(, 1) F(, 2) F(, 4) F(, 8) F(, 16) F(unaligned_, 2) F(unaligned_, 4) F(unaligned_, 8) F(unaligned_, 16)
ACCESSES(ACCESS)

void __tsan_read_range(void *p, unsigned long size);
void __tsan_read_range(void *p, unsigned long size)
{
	announce_load(p, size, BF_WEAK, HERE);
}

void __tsan_write_range(void *p, unsigned long size);
void __tsan_write_range(void *p, unsigned long size)
{
	announce_store(p, size, BF_WEAK, HERE);
}

/* Objects with virtual functions lie in the program's own memory. */
void __tsan_vptr_read(void **p);
void __tsan_vptr_read(void **p)
{
	(void)p;
}

void __tsan_vptr_update(void **p, void *now);
void __tsan_vptr_update(void **p, void *now)
{
	(void)p;
	(void)now;
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
	(void)pc;
	settle();
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
	settle();
}

/* ---- copies ---- */

/* A piece of `len` bytes, at most a line, of what the caller reads: memory of its machine or its own. */
static void take(const uint8_t *from, uint8_t *piece, uint32_t len, const void *pc)
{
	const struct bf_region *r = begin(from, len);
	uint64_t value;

	if (!r) {
		memcpy(piece, from, len);
		return;
	}
	self.agent->from = pc;
	for (uint32_t i = 0; r->kind == BF_MEM_MMIO && i < len; i += 8) {
		value = bf_mmio_read(self.agent, from + i, len - i < 8 ? len - i : 8);
		memcpy(piece + i, &value, len - i < 8 ? len - i : 8);
	}
	if (r->kind != BF_MEM_MMIO)
		load(self.agent, self.real, piece, len, BF_WEAK);
	self.agent->from = NULL;
}

static void give(uint8_t *to, const uint8_t *piece, uint32_t len, const void *pc)
{
	const struct bf_region *r = begin(to, len);

	if (!r) {
		memcpy(to, piece, len);
		return;
	}
	forget_looks();
	self.agent->from = pc;
	if (r->kind == BF_MEM_MMIO)
		bf_wc_store(self.agent, to, piece, len);
	else
		store(self.agent, self.real, piece, len, BF_WEAK);
	self.agent->from = NULL;
}

static void *copy(void *to, const void *from, size_t size, const void *pc)
{
	uint8_t piece[BF_LINE], *d = to;
	const uint8_t *s = from;
	const bool back = d > s && d < s + size;

	settle();
	if (!bf_agent_here())
		return memmove(to, from, size);
	for (size_t done = 0, n; done < size; done += n) {
		n = size - done < sizeof(piece) ? size - done : sizeof(piece);
		take(back ? s + size - done - n : s + done, piece, (uint32_t)n, pc);
		give(back ? d + size - done - n : d + done, piece, (uint32_t)n, pc);
	}
	return to;
}

void *belfry_plain_memcpy(void *to, const void *from, size_t size)
{
	return copy(to, from, size, HERE);
}

void *belfry_plain_memmove(void *to, const void *from, size_t size)
{
	return copy(to, from, size, HERE);
}

static void *set(void *to, int byte, size_t size, const void *pc)
{
	uint8_t piece[BF_LINE];

	settle();
	if (!bf_agent_here())
		return memset(to, byte, size);
	memset(piece, byte, sizeof(piece));
	for (size_t done = 0, n; done < size; done += n) {
		n = size - done < sizeof(piece) ? size - done : sizeof(piece);
		give((uint8_t *)to + done, piece, (uint32_t)n, pc);
	}
	return to;
}

void *belfry_plain_memset(void *to, int byte, size_t size)
{
	return set(to, byte, size, HERE);
}

/* LLVM from 15 on calls these itself. */
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memcpy(void *to, const void *from, size_t size)
{
	return copy(to, from, size, HERE);
}

void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size)
{
	return copy(to, from, size, HERE);
}

void *__tsan_memset(void *to, int byte, size_t size);
void *__tsan_memset(void *to, int byte, size_t size)
{
	return set(to, byte, size, HERE);
}

/* ---- accesses by name ---- */

bool belfry_plain_change(const void *p, uint32_t len, bf_atomic_fn *apply_to, void *arg, void *old, enum bf_sem sem,
			 enum bf_scope scope, const void *from)
{
	if (!begin(p, len))
		return false;
	forget_looks();
	self.agent->from = from;
	bf_atomic_apply(self.agent, self.real, len, apply_to, arg, old, sem, scope);
	self.agent->from = NULL;
	return true;
}

bool belfry_plain_load(const void *p, void *to, uint32_t len, enum bf_sem sem, enum bf_scope scope, const void *from)
{
	if (!begin(p, len))
		return false;
	self.agent->from = from;
	bf_load(self.agent, self.real, to, len, sem, scope);
	look_again(self.agent, self.real, to, len);
	if (self.looks > 2 * LOOKS)
		bf_load(self.agent, self.real, to, len, sem, scope);
	self.agent->from = NULL;
	return true;
}

bool belfry_plain_store(void *p, const void *value, uint32_t len, enum bf_sem sem, enum bf_scope scope,
			const void *from)
{
	const struct bf_region *r = begin(p, len);

	if (!r)
		return false;
	forget_looks();
	self.agent->from = from;
	if (r->kind == BF_MEM_MMIO)
		bf_mmio_store(self.agent, p, value, len, BF_RELAXED);
	else
		bf_store(self.agent, self.real, value, len, sem, scope);
	self.agent->from = NULL;
	return true;
}

void belfry_plain_settle(void)
{
	settle();
}

bool belfry_plain_reaches(const void *p, uint32_t len)
{
	return begin(p, len) != NULL;
}
