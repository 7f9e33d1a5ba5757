/* See trap_patch.h. In the order of a site's life: counted, judged, given a stub, changed, arrived at. */
#if defined(__x86_64__)

#include "tools/exec/trap_patch.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "sim/bytes.h"
#include "sim/compiler.h"
#include "tools/exec/engine_internal.h"

#define SITES 64u
#define COUNTERS 32u
#define JUMP 5u /* bytes: E9 and a distance */
#define BREAKPOINT 0xccu
#define PLACES 16u                /* that are tried in a window */
#define STACK_ROOM (256ull << 20) /* that a growing stack may need */

enum state { EMPTY, WRITING, STANDS };

struct bf_patch {
	atomic_int state;
	uint64_t ip;
	uint64_t copy; /* of the instruction, in the stub */
	uint8_t len;   /* of the instruction */
	uint8_t code[BF_STORE_CODE_MAX];
	uint8_t jump[JUMP];
	_Atomic(struct bf_engine *) engine; /* that had the last fault of it; NULL: it has ended */
};

static struct {
	atomic_flag busy;
	atomic_uint count;
	struct bf_patch site[SITES];
	struct {
		uint64_t ip;
		uint32_t faults;
	} counter[COUNTERS];
} patches = { .busy = ATOMIC_FLAG_INIT };

/* ---- signals ---- */

/* What is at the site now; code that was unloaded may have other code in its place. */
static bool stands(const struct bf_patch *p)
{
	return !memcmp((const void *)(uintptr_t)p->ip, p->jump, JUMP);
}

const struct bf_patch *bf_patch_find(void *context, int signal)
{
	greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	const uint64_t ip = (uint64_t)*rip;
	const unsigned count = atomic_load_explicit(&patches.count, memory_order_acquire);

	for (unsigned i = 0; i < count; i++) {
		const struct bf_patch *p = &patches.site[i];
		const int state = atomic_load_explicit(&p->state, memory_order_acquire);

		if (signal == SIGTRAP) {
			/* INT3 leaves the pointer behind it. While it is there the thread comes again and again. */
			if (ip != p->ip + 1 || state == EMPTY || (state == STANDS && !stands(p)))
				continue;
		} else if (ip != p->copy && (ip != p->ip || state == EMPTY || (state == STANDS && !stands(p)))) {
			continue;
		}
		*rip = (greg_t)p->ip;
		return p;
	}
	return NULL;
}

bool bf_patch_decode(const struct bf_patch *p, const struct bf_store_cpu *cpu, const void *context,
		     struct bf_trap_store *out)
{
	return bf_store_decode_code(cpu, p->code, p->len, context, out);
}

/* ---- is it one? ---- */

/* MOV of a general register of 4 or 8 bytes, its address not relative to itself: [REX] 89 /r (Intel SDM vol. 2, MOV).
 */
static bool is_plain(const uint8_t *code, const struct bf_trap_store *s)
{
	const uint32_t at = (code[0] & 0xf0) == 0x40;
	const uint8_t modrm = code[at + 1];

	return code[at] == 0x89 && modrm >> 6 != 3 && (modrm & 0xc7) != 5 && s->code >= 3 && s->len >= 4;
}

/* Would it change what another site's jump ends with? */
static bool is_tail(uint64_t ip, uint32_t len)
{
	const unsigned count = atomic_load(&patches.count);

	for (unsigned i = 0; i < count; i++) {
		const struct bf_patch *p = &patches.site[i];

		if (p->ip != ip && p->ip < ip + len && ip < p->ip + JUMP)
			return true;
	}
	return false;
}

/* The stub saves the state of all vector registers with XSAVEC (CPUID leaf 0xd, Intel SDM vol. 1 section 13.2). */
static bool has_xsavec(void)
{
	uint32_t a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c >> 27 & 1 && __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && a >> 1 & 1;
}

/* ---- its stub ---- */

/* trap_patch_entry.S: saves what a call may change, and returns what bf_patch_arrive() says in RCX. */
extern const uint8_t bf_patch_entry[];

/*
 * The red zone below the stack pointer stays (System V ABI for AMD64, section 3.2.2), flags are not touched:
 *
 *	lea -128(%rsp), %rsp; push %rax; push %rcx
 *	movabs $patch, %rax; call *entry(%rip); jrcxz done
 *	pop %rcx; pop %rax; lea 128(%rsp), %rsp; the instruction; jmp back
 * done:	pop %rcx; pop %rax; lea 128(%rsp), %rsp; jmp back
 * entry:	.quad bf_patch_entry
 */
static const uint8_t save[] = { 0x48, 0x8d, 0x64, 0x24, 0x80, 0x50, 0x51 };
static const uint8_t restore[] = { 0x59, 0x58, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0 };
#define MOVABS 10u
#define CALL 6u
#define JRCXZ 2u
#define COPY_AT (sizeof(save) + MOVABS + CALL + JRCXZ + sizeof(restore))
#define STUB_MAX 96u

static void put_jump(uint8_t *at, uint64_t from, uint64_t to)
{
	at[0] = 0xe9;
	bf_put_le32(at + 1, (uint32_t)(to - (from + JUMP)));
}

static uint32_t make_stub(const struct bf_patch *p, uint64_t at, uint8_t *stub)
{
	const uint64_t back = p->ip + p->len;
	const uint32_t done = (uint32_t)COPY_AT + p->len + JUMP, entry = done + (uint32_t)sizeof(restore) + JUMP;
	uint32_t n = sizeof(save);

	memcpy(stub, save, sizeof(save));
	stub[n] = 0x48;
	stub[n + 1] = 0xb8;
	bf_put_le64(stub + n + 2, (uintptr_t)p);
	n += MOVABS;
	stub[n] = 0xff;
	stub[n + 1] = 0x15;
	bf_put_le32(stub + n + 2, entry - (n + CALL));
	n += CALL;
	stub[n] = 0xe3;
	stub[n + 1] = (uint8_t)(done - (n + JRCXZ));
	n += JRCXZ;
	memcpy(stub + n, restore, sizeof(restore));
	memcpy(stub + COPY_AT, p->code, p->len);
	put_jump(stub + COPY_AT + p->len, at + COPY_AT + p->len, back);
	memcpy(stub + done, restore, sizeof(restore));
	put_jump(stub + done + sizeof(restore), at + done + sizeof(restore), back);
	bf_put_le64(stub + entry, (uintptr_t)bf_patch_entry);
	return entry + 8;
}

extern void *__libc_stack_end;

/* Nobody else's place, and none that the main stack grows into. */
static void *map_page(uint64_t at)
{
	const uint64_t stack = (uintptr_t)__libc_stack_end;
	void *want = (void *)(uintptr_t)at, *page;

	if (at < stack && stack - at < STACK_ROOM)
		return NULL;
	page = mmap(want, BF_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page != MAP_FAILED && page != want) { /* before Linux 4.17 the address is only a wish */
		munmap(page, BF_PAGE);
		return NULL;
	}
	return page == MAP_FAILED ? NULL : page;
}

/*
 * A page that a jump at the site reaches. Of the distance the low bytes are free, as many as the instruction has beside
 * the opcode; the others are what follows in the code.
 */
static uint64_t find_place(const struct bf_patch *p, const uint8_t *code)
{
	const uint32_t bits = 8 * ((p->len < JUMP ? p->len : JUMP) - 1);
	const uint64_t size = 1ull << bits;
	const int64_t high = bits == 32 ? INT32_MIN : (int64_t)(int32_t)(bf_get_le32(code + 1) & ~(uint32_t)(size - 1));
	const uint64_t window = p->ip + JUMP + (uint64_t)high;

	for (uint32_t i = 0; i < PLACES; i++) {
		const uint64_t at = (window + i * (size / PLACES) + BF_PAGE - 1) & ~(uint64_t)(BF_PAGE - 1);

		if (at - window < size && map_page(at))
			return at;
	}
	return 0;
}

/* ---- the change ---- */

/* /proc/self/mem writes where the program may not: code stays executable and not writable for everybody else. */
static bool poke(int mem, uint64_t at, const void *bytes, size_t len)
{
	return syscall(SYS_pwrite64, mem, bytes, len, at) == (long)len;
}

/* All processors that run this process's threads see the code as it is. */
static bool synchronize(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
}

/*
 * Other threads may be at the instruction. A breakpoint keeps them from it while its other bytes change (Intel SDM vol.
 * 3 section 9.1.3, "Handling Self- and Cross-Modifying Code"): they come to bf_patch_find() and go back until it is
 * done.
 */
static bool write_jump(int mem, struct bf_patch *p)
{
	const uint32_t len = p->len < JUMP ? p->len : JUMP;
	const uint8_t breakpoint = BREAKPOINT;

	if (!poke(mem, p->ip, &breakpoint, 1))
		return false;
	synchronize();
	poke(mem, p->ip + 1, p->jump + 1, len - 1);
	synchronize();
	poke(mem, p->ip, p->jump, 1);
	synchronize();
	return true;
}

static struct bf_patch *take_entry(uint64_t ip)
{
	const unsigned count = atomic_load(&patches.count);

	for (unsigned i = 0; i < count; i++)
		if (patches.site[i].ip == ip)
			return &patches.site[i]; /* of code that has been unloaded */
	return count < SITES ? &patches.site[count] : NULL;
}

static bool patch(int mem, struct bf_engine *e, uint64_t ip, const struct bf_trap_store *s)
{
	uint8_t code[BF_STORE_CODE_MAX] = { 0 }, stub[STUB_MAX];
	struct bf_patch *p = take_entry(ip);
	uint64_t at;

	if (!p || syscall(SYS_pread64, mem, code, sizeof(code), ip) < (long)JUMP || !is_plain(code, s) ||
	    is_tail(ip, s->code))
		return false;
	atomic_store(&p->state, EMPTY);
	p->ip = ip;
	p->len = (uint8_t)s->code;
	memcpy(p->code, code, sizeof(code));
	at = find_place(p, code);
	if (!at)
		return false;
	p->copy = at + COPY_AT;
	put_jump(p->jump, ip, at);
	atomic_store(&p->engine, e);
	if (!poke(mem, at, stub, make_stub(p, at, stub)) || !synchronize()) {
		munmap((void *)(uintptr_t)at, BF_PAGE);
		return false;
	}
	atomic_store(&p->state, WRITING);
	if (p == &patches.site[atomic_load(&patches.count)])
		atomic_fetch_add(&patches.count, 1);
	if (write_jump(mem, p))
		atomic_store(&p->state, STANDS);
	else
		atomic_store(&p->state, EMPTY);
	return atomic_load(&p->state) == STANDS;
}

static bool try_patch(struct bf_engine *e, uint64_t ip, const struct bf_trap_store *s)
{
	bool done = false;
	int mem;

	if (!has_xsavec() || syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		return false;
	mem = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	if (mem >= 0) {
		done = patch(mem, e, ip, s);
		syscall(SYS_close, mem);
	}
	return done;
}

bool bf_patch_note(struct bf_engine *e, const struct bf_patch *p, const void *context, const struct bf_trap_store *s)
{
	const uint64_t ip = bf_store_ip(context);
	uint32_t i = (uint32_t)(ip ^ ip >> 6) % COUNTERS;
	bool done = false;

	if (p) {
		atomic_store(&patches.site[p - patches.site].engine, e);
		return false;
	}
	if (atomic_flag_test_and_set(&patches.busy))
		return false;
	if (patches.counter[i].ip != ip) {
		patches.counter[i].ip = ip;
		patches.counter[i].faults = 0;
	}
	/* Where it cannot be done it is not tried again. */
	if (patches.counter[i].faults < BF_PATCH_AFTER && ++patches.counter[i].faults == BF_PATCH_AFTER) {
		done = try_patch(e, ip, s);
		if (done)
			patches.counter[i].faults = 0;
	}
	atomic_flag_clear(&patches.busy);
	return done;
}

void bf_patch_forget(const struct bf_engine *e)
{
	for (unsigned i = 0; i < atomic_load(&patches.count); i++)
		if (atomic_load(&patches.site[i].engine) == e)
			atomic_store(&patches.site[i].engine, NULL);
}

/* ---- a store ---- */

/* What trap_patch_entry.S calls. 0: carried out; else the stub is to do what the instruction does. */
uint64_t bf_patch_arrive(const struct bf_patch *p, ucontext_t *uc);
uint64_t bf_patch_arrive(const struct bf_patch *p, ucontext_t *uc)
{
	struct bf_engine *e = atomic_load_explicit(&p->engine, memory_order_acquire); /* the site is filled before */
	const int error = errno;
	bool done;

	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)p->ip;
	uc->uc_mcontext.fpregs = NULL;
	done = e && bf_engine_stored(e, p, uc);
	errno = error;
	return !done;
}

#else

typedef int bf_no_patches;

#endif
