/*
 * Decoding of faulting stores against the processor itself: every instruction runs once on plain memory and once on an
 * inaccessible page, where the handler does what was decoded. Bytes, registers and flags must come out the same.
 *
 * Instructions are made here, in all addressing forms, into a page of code that loads all registers, runs one
 * instruction and saves them again. Without x86-64 there is nothing to test: aarch64 has no such page of code here.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "sim/bytes.h"
#include "tools/exec/trap_store.h"

#ifdef __x86_64__

#include <cpuid.h>

#define PAGE 4096u
#define FLAGS_KEPT 0xcd5u /* CF PF AF ZF SF DF OF */

/* One mapping, so that everything is near enough for addresses relative to the instruction. */
struct arena {
	struct {
		uint64_t in[16], out[16], flags, host_rsp;
		uint8_t vector[32][64];
	} state;
	uint8_t pad[PAGE - 16 * 8 * 2 - 16 - 32 * 64];
	uint8_t code[PAGE];
	uint8_t plain[PAGE];
	uint8_t trapped[PAGE];
	uint8_t behind[PAGE];
};
_Static_assert(offsetof(struct arena, code) == PAGE && offsetof(struct arena, trapped) == 3 * PAGE, "pages");

enum { SOURCE_BYTES = 64 };

static struct {
	struct arena *a;
	struct bf_store_cpu cpu;
	uint8_t shadow[PAGE]; /* what the decoded stores have made */
	uint32_t faults, unknown;
} t;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	const uint64_t at = (uintptr_t)info->si_addr, base = (uintptr_t)t.a->trapped;
	struct bf_trap_store s;

	if (sig != SIGSEGV || at - base >= PAGE)
		abort();
	t.faults++;
	if (!bf_store_decode(&t.cpu, context, at, &s)) {
		t.unknown++;
		/* Ends the instruction somewhere that is known: the code's epilogue. */
		((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)t.a->code + 2048;
		return;
	}
	for (uint64_t i = 0; i < s.count; i++) {
		const uint64_t address = s.address + (uint64_t)((int64_t)i * s.step);
		const uint8_t *from =
		    s.moves ? (const uint8_t *)(uintptr_t)(s.source + (uint64_t)((int64_t)i * s.step)) : s.data;

		if (address - base >= PAGE || address + s.len - base > PAGE)
			abort();
		if (s.kind != BF_STORE_LOAD)
			memcpy(t.shadow + (address - base), from, s.len);
	}
	bf_store_finish(&s, context);
}

struct out {
	uint8_t *at;
};

static void byte(struct out *o, unsigned value)
{
	*o->at++ = (uint8_t)value;
}

/* MOV between register `reg` and `where`, relative to the instruction. */
static void mov_state(struct out *o, unsigned opcode, unsigned reg, const void *where)
{
	int32_t rel;

	byte(o, 0x48 | (reg & 8) >> 1);
	byte(o, opcode);
	byte(o, (reg & 7) << 3 | 5);
	rel = (int32_t)((const uint8_t *)where - (o->at + 4));
	memcpy(o->at, &rel, 4);
	o->at += 4;
}

/* Loads vector register `reg` with all that this processor has of it. */
static void load_vector(struct out *o, unsigned reg)
{
	const bool zmm = t.cpu.zmm_upper != 0, ymm = t.cpu.ymm_high != 0;
	int32_t rel;

	if (zmm) { /* VMOVDQU64 zmm, [rip + rel] */
		byte(o, 0x62);
		byte(o, 0x61 | (reg & 8 ? 0 : 0x80) | (reg & 16 ? 0 : 0x10));
		byte(o, 0xfe);
		byte(o, 0x48);
		byte(o, 0x6f);
	} else if (ymm) { /* VMOVDQU ymm, [rip + rel] */
		byte(o, 0xc5);
		byte(o, 0x7e | (reg & 8 ? 0 : 0x80));
		byte(o, 0x6f);
	} else { /* MOVDQU xmm, [rip + rel] */
		byte(o, 0xf3);
		byte(o, 0x40 | (reg & 8) >> 1);
		byte(o, 0x0f);
		byte(o, 0x6f);
	}
	byte(o, (reg & 7) << 3 | 5);
	rel = (int32_t)(t.a->state.vector[reg] - (o->at + 4));
	memcpy(o->at, &rel, 4);
	o->at += 4;
}

/* Registers in, the instruction, registers out. Returns where the instruction is. */
static uint8_t *make_code(const uint8_t *insn, unsigned len)
{
	static const unsigned saved[] = { 3, 5, 12, 13, 14, 15 };
	struct out o = { t.a->code };
	uint8_t *at;

	memset(t.a->code, 0xcc, PAGE);
	for (unsigned i = 0; i < 6; i++) {
		byte(&o, 0x40 | (saved[i] & 8) >> 3);
		byte(&o, 0x50 | (saved[i] & 7));
	}
	mov_state(&o, 0x89, 4, &t.a->state.host_rsp);
	for (unsigned i = 0; i < (t.cpu.zmm_upper ? 32u : 16u); i++)
		load_vector(&o, i);
	for (unsigned i = 0; i < 16; i++)
		mov_state(&o, 0x8b, i, &t.a->state.in[i]);
	at = o.at;
	memcpy(o.at, insn, len);
	o.at += len;
	byte(&o, 0xe9);
	bf_put_le32(o.at, (uint32_t)(t.a->code + 2048 - (o.at + 4)));
	o.at = t.a->code + 2048;
	for (unsigned i = 0; i < 16; i++)
		mov_state(&o, 0x89, i, &t.a->state.out[i]);
	mov_state(&o, 0x8b, 4, &t.a->state.host_rsp);
	byte(&o, 0x9c); /* PUSHF, POP rax */
	byte(&o, 0x58);
	mov_state(&o, 0x89, 0, &t.a->state.flags);
	byte(&o, 0xfc); /* CLD */
	for (unsigned i = 6; i-- > 0;) {
		byte(&o, 0x40 | (saved[i] & 8) >> 3);
		byte(&o, 0x58 | (saved[i] & 7));
	}
	byte(&o, 0xc3);
	return at;
}

static void call_code(void)
{
	void (*run)(void);
	void *at = t.a->code;

	memcpy(&run, &at, sizeof(run));
	run();
}

struct outcome {
	uint8_t page[PAGE];
	uint64_t regs[16], flags;
};

static void fill_state(void)
{
	for (unsigned i = 0; i < 16; i++)
		t.a->state.in[i] = 0x1122334455667788ull * (i + 1) ^ (uint64_t)i << 60;
	for (unsigned i = 0; i < 32; i++)
		for (unsigned k = 0; k < 64; k++)
			t.a->state.vector[i][k] = (uint8_t)(i * 67 + k * 3 + 1);
}

/* One way to name memory: how the bytes behind the opcode are made. */
enum form { BASE, DISP8, DISP32, INDEX, INDEX_DISP8, NO_BASE, RELATIVE, FORMS };

struct insn {
	uint8_t prefix[4], prefixes;     /* before REX */
	int encoding;                    /* 0: legacy, 1: VEX, 2: EVEX */
	uint8_t map, pp, opcode, vector; /* vector: L */
	bool wide;
	uint8_t imm;  /* bytes */
	uint8_t size; /* of the access: EVEX counts displacements in it */
	int ext;      /* >= 0: in place of a register */
	uint8_t regs; /* how many registers there are */
};

/* A sensible place in the page for each case, so that cases differ. */
static uint64_t target_of(unsigned seed)
{
	return 0x800 + seed % 8 * 0x100;
}

static bool usable(const struct insn *n, enum form form, unsigned reg, unsigned base, unsigned index)
{
	const bool uses_index = form == INDEX || form == INDEX_DISP8 || form == NO_BASE;
	const bool uses_base = form != NO_BASE && form != RELATIVE;

	if (uses_index && (index == 4 || (uses_base && index == base)))
		return false;
	if ((form == BASE || form == INDEX) && (base & 7) == 5)
		return false; /* means something else */
	/* A register operand that is part of the address has another value on each page. */
	return n->ext >= 0 || n->encoding || n->regs > 16 ||
	       !((uses_base && reg == base) || (uses_index && reg == index));
}

/* Makes the instruction, sets the registers that address `to`. Returns its length. */
static unsigned make_insn(const struct insn *n, enum form form, unsigned reg, unsigned base, unsigned index,
			  const uint8_t *to, const uint8_t *insn_at, uint8_t *bytes)
{
	const bool has_index = form == INDEX || form == INDEX_DISP8 || form == NO_BASE;
	const bool sib = has_index || (form != RELATIVE && (base & 7) == 4);
	const unsigned r = n->ext >= 0 ? (unsigned)n->ext : reg, scale = index & 3;
	const unsigned b = form == RELATIVE || form == NO_BASE ? 5 : base, x = has_index ? index : 4;
	const unsigned mod = form == DISP8 || form == INDEX_DISP8 ? 1 : form == DISP32 ? 2 : 0;
	struct out o = { bytes };
	int64_t disp = 0;

	for (unsigned i = 0; i < n->prefixes; i++)
		byte(&o, n->prefix[i]);
	if (n->encoding == 0) {
		byte(&o, 0x40 | (n->wide ? 8u : 0) | (r & 8) >> 1 | (x & 8) >> 2 | (b & 8) >> 3);
		if (n->map)
			byte(&o, 0x0f);
		if (n->map == 2)
			byte(&o, 0x38);
	} else if (n->encoding == 1) {
		byte(&o, 0xc4);
		byte(&o, (r & 8 ? 0 : 0x80u) | (x & 8 ? 0 : 0x40u) | (b & 8 ? 0 : 0x20u) | n->map);
		byte(&o, (n->wide ? 0x80u : 0) | 0x78u | (unsigned)n->vector << 2 | n->pp);
	} else {
		byte(&o, 0x62);
		byte(&o,
		     (r & 8 ? 0 : 0x80u) | (x & 8 ? 0 : 0x40u) | (b & 8 ? 0 : 0x20u) | (r & 16 ? 0 : 0x10u) | n->map);
		byte(&o, (n->wide ? 0x80u : 0) | 0x7cu | n->pp);
		byte(&o, (unsigned)n->vector << 5 | 8);
	}
	byte(&o, n->opcode);
	byte(&o, mod << 6 | (r & 7) << 3 | (sib ? 4 : b & 7));
	if (sib)
		byte(&o, scale << 6 | (x & 7) << 3 | (b & 7));
	if (mod == 1) {
		disp = (int64_t)-5 * (n->encoding == 2 ? n->size : 1);
		byte(&o, (unsigned)-5 & 0xff);
	} else if (mod == 2 || form == RELATIVE || form == NO_BASE) {
		disp = form == RELATIVE ? to - (insn_at + (o.at - bytes) + 4 + n->imm) : -123456;
		bf_put_le32(o.at, (uint32_t)(int32_t)disp);
		o.at += 4;
	}
	for (unsigned i = 0; i < n->imm; i++)
		byte(&o, 0x81 + i * 5);
	if (has_index)
		t.a->state.in[x] = form == NO_BASE ? ((uint64_t)(uintptr_t)to - (uint64_t)disp) >> scale : 0x77;
	if (form != RELATIVE && form != NO_BASE)
		t.a->state.in[b] =
		    (uint64_t)(uintptr_t)to - (uint64_t)disp - (has_index ? t.a->state.in[x] << scale : 0);
	return (unsigned)(o.at - bytes);
}

static void run_on(uint8_t *page, struct outcome *out)
{
	memset(t.a->plain, 0, PAGE);
	memset(t.shadow, 0, PAGE);
	t.faults = t.unknown = 0;
	call_code();
	memcpy(out->page, page == t.a->trapped ? t.shadow : t.a->plain, PAGE);
	memcpy(out->regs, t.a->state.out, sizeof(out->regs));
	out->flags = t.a->state.flags & FLAGS_KEPT;
}

static void compare(const struct insn *n, enum form form, unsigned reg, unsigned base, unsigned index)
{
	static struct outcome plain, trapped; /* too large for the stack that the code uses */
	const uint64_t at = target_of(reg * 5 + base * 3 + index);
	uint64_t kept[16];
	uint8_t bytes[16];
	unsigned len;

	for (int pass = 0; pass < 2; pass++) {
		uint8_t *page = pass ? t.a->trapped : t.a->plain;
		uint8_t *insn_at;

		fill_state();
		insn_at = make_code(bytes, 0);
		len = make_insn(n, form, reg, base, index, page + at, insn_at, bytes);
		ck_assert_ptr_eq(make_code(bytes, len), insn_at);
		run_on(page, pass ? &trapped : &plain);
		memcpy(kept, t.a->state.in, sizeof(kept));
	}
	ck_assert_msg(!t.unknown && t.faults == 1, "opcode %02x map %u form %d reg %u base %u: %u faults, %u unknown",
		      n->opcode, n->map, form, reg, base, t.faults, t.unknown);
	ck_assert_msg(!memcmp(plain.page, trapped.page, PAGE),
		      "opcode %02x map %u enc %d form %d reg %u base %u index %u: other bytes", n->opcode, n->map,
		      n->encoding, form, reg, base, index);
	ck_assert_uint_eq(plain.flags, trapped.flags);
	for (unsigned i = 0; i < 16; i++) /* addresses differ by the distance of the pages */
		ck_assert_msg(plain.regs[i] == trapped.regs[i] || trapped.regs[i] == kept[i],
			      "opcode %02x reg %u: register %u is %llx, not %llx", n->opcode, reg, i,
			      (unsigned long long)trapped.regs[i], (unsigned long long)plain.regs[i]);
	(void)len;
}

static void all_forms(const struct insn *n)
{
	for (unsigned reg = 0; reg < (n->ext >= 0 ? 1 : n->regs); reg++)
		for (unsigned i = 0; i < 16; i += n->ext >= 0 ? 1 : 5) /* every base, with some register */
			for (int form = 0; form < FORMS; form++) {
				const unsigned base = (i + reg) % 16, index = (base + reg + 3) % 16;

				if (usable(n, (enum form)form, reg, base, index))
					compare(n, (enum form)form, reg, base, index);
			}
}

static const struct insn general[] = {
	{ .opcode = 0x88, .ext = -1, .regs = 16, .size = 1 },
	{ .opcode = 0x89, .ext = -1, .regs = 16, .size = 4 },
	{ .opcode = 0x89, .wide = true, .ext = -1, .regs = 16, .size = 8 },
	{ .prefix = { 0x66 }, .prefixes = 1, .opcode = 0x89, .ext = -1, .regs = 16, .size = 2 },
	{ .opcode = 0x8a, .ext = -1, .regs = 16, .size = 1 },
	{ .opcode = 0x8b, .ext = -1, .regs = 16, .size = 4 },
	{ .opcode = 0x8b, .wide = true, .ext = -1, .regs = 16, .size = 8 },
	{ .prefix = { 0x66 }, .prefixes = 1, .opcode = 0x8b, .ext = -1, .regs = 16, .size = 2 },
	{ .opcode = 0x86, .ext = -1, .regs = 16, .size = 1 },
	{ .opcode = 0x87, .ext = -1, .regs = 16, .size = 4 },
	{ .opcode = 0x87, .wide = true, .ext = -1, .regs = 16, .size = 8 },
	{ .opcode = 0xc6, .imm = 1, .ext = 0, .regs = 1, .size = 1 },
	{ .opcode = 0xc7, .imm = 4, .ext = 0, .regs = 1, .size = 4 },
	{ .opcode = 0xc7, .wide = true, .imm = 4, .ext = 0, .regs = 1, .size = 8 },
	{ .prefix = { 0x66 }, .prefixes = 1, .opcode = 0xc7, .imm = 2, .ext = 0, .regs = 1, .size = 2 },
	{ .opcode = 0x63, .wide = true, .ext = -1, .regs = 16, .size = 4 },
	{ .map = 1, .opcode = 0xb6, .ext = -1, .regs = 16, .size = 1 },
	{ .map = 1, .opcode = 0xb7, .wide = true, .ext = -1, .regs = 16, .size = 2 },
	{ .map = 1, .opcode = 0xbe, .ext = -1, .regs = 16, .size = 1 },
	{ .prefix = { 0x66 }, .prefixes = 1, .map = 1, .opcode = 0xb6, .ext = -1, .regs = 16, .size = 1 },
	{ .map = 1, .opcode = 0xc3, .ext = -1, .regs = 16, .size = 4 },
	{ .map = 1, .opcode = 0xc3, .wide = true, .ext = -1, .regs = 16, .size = 8 },
};

static const struct insn vectors[] = {
	{ .map = 1, .opcode = 0x11, .ext = -1, .regs = 16, .size = 16 },
	{ .prefix = { 0x66 }, .prefixes = 1, .map = 1, .opcode = 0x11, .ext = -1, .regs = 16, .size = 16 },
	{ .prefix = { 0xf3 }, .prefixes = 1, .map = 1, .opcode = 0x11, .ext = -1, .regs = 16, .size = 4 },
	{ .prefix = { 0xf2 }, .prefixes = 1, .map = 1, .opcode = 0x11, .ext = -1, .regs = 16, .size = 8 },
	{ .map = 1, .opcode = 0x13, .ext = -1, .regs = 16, .size = 8 },
	{ .map = 1, .opcode = 0x17, .ext = -1, .regs = 16, .size = 8 },
	{ .map = 1, .opcode = 0x29, .ext = -1, .regs = 16, .size = 16 },
	{ .map = 1, .opcode = 0x2b, .ext = -1, .regs = 16, .size = 16 },
	{ .prefix = { 0x66 }, .prefixes = 1, .map = 1, .opcode = 0x7f, .ext = -1, .regs = 16, .size = 16 },
	{ .prefix = { 0xf3 }, .prefixes = 1, .map = 1, .opcode = 0x7f, .ext = -1, .regs = 16, .size = 16 },
	{ .prefix = { 0x66 }, .prefixes = 1, .map = 1, .opcode = 0xe7, .ext = -1, .regs = 16, .size = 16 },
	{ .prefix = { 0x66 }, .prefixes = 1, .map = 1, .opcode = 0x7e, .ext = -1, .regs = 16, .size = 4 },
	{ .prefix = { 0x66 }, .prefixes = 1, .map = 1, .opcode = 0x7e, .wide = true, .ext = -1, .regs = 16, .size = 8 },
	{ .prefix = { 0x66 }, .prefixes = 1, .map = 1, .opcode = 0xd6, .ext = -1, .regs = 16, .size = 8 },
};

static const struct insn avx[] = {
	{ .encoding = 1, .map = 1, .pp = 0, .vector = 0, .opcode = 0x11, .ext = -1, .regs = 16, .size = 16 },
	{ .encoding = 1, .map = 1, .pp = 0, .vector = 1, .opcode = 0x11, .ext = -1, .regs = 16, .size = 32 },
	{ .encoding = 1, .map = 1, .pp = 2, .vector = 0, .opcode = 0x11, .ext = -1, .regs = 16, .size = 4 },
	{ .encoding = 1, .map = 1, .pp = 1, .vector = 1, .opcode = 0x7f, .ext = -1, .regs = 16, .size = 32 },
	{ .encoding = 1, .map = 1, .pp = 2, .vector = 1, .opcode = 0x7f, .ext = -1, .regs = 16, .size = 32 },
	{ .encoding = 1, .map = 1, .pp = 1, .vector = 1, .opcode = 0xe7, .ext = -1, .regs = 16, .size = 32 },
	{ .encoding = 1,
	  .map = 1,
	  .pp = 1,
	  .wide = true,
	  .vector = 0,
	  .opcode = 0x7e,
	  .ext = -1,
	  .regs = 16,
	  .size = 8 },
	{ .encoding = 1, .map = 1, .pp = 1, .vector = 0, .opcode = 0xd6, .ext = -1, .regs = 16, .size = 8 },
};

static const struct insn avx512[] = {
	{ .encoding = 2, .map = 1, .pp = 0, .vector = 2, .opcode = 0x11, .ext = -1, .regs = 32, .size = 64 },
	{ .encoding = 2,
	  .map = 1,
	  .pp = 2,
	  .wide = true,
	  .vector = 2,
	  .opcode = 0x7f,
	  .ext = -1,
	  .regs = 32,
	  .size = 64 },
	{ .encoding = 2, .map = 1, .pp = 1, .vector = 2, .opcode = 0xe7, .ext = -1, .regs = 32, .size = 64 },
};

START_TEST(general_registers)
{
	all_forms(&general[_i]);
}
END_TEST

START_TEST(vector_registers)
{
	all_forms(&vectors[_i]);
}
END_TEST

START_TEST(avx_registers)
{
	if (t.cpu.ymm_high)
		all_forms(&avx[_i]);
}
END_TEST

START_TEST(avx512_registers)
{
	if (t.cpu.zmm_upper)
		all_forms(&avx512[_i]);
}
END_TEST

/* AH to BH, which only instructions without REX can name: 88 /r [rdi]. */
START_TEST(high_bytes)
{
	static struct outcome got;

	for (unsigned reg = 4; reg < 8; reg++) {
		const uint8_t store[] = { 0x88, (uint8_t)(reg << 3 | 7) }, load[] = { 0x8a, (uint8_t)(reg << 3 | 7) };
		uint64_t before;

		fill_state();
		t.a->state.in[7] = (uintptr_t)t.a->trapped + 0x800;
		before = t.a->state.in[reg - 4];
		make_code(store, sizeof(store));
		run_on(t.a->trapped, &got);
		ck_assert_uint_eq(t.faults, 1);
		ck_assert_uint_eq(got.page[0x800], before >> 8 & 0xff);
		ck_assert_uint_eq(got.page[0x801], 0);
		make_code(load, sizeof(load));
		run_on(t.a->trapped, &got);
		ck_assert_uint_eq(got.regs[reg - 4], before & ~0xff00ull);
	}
}
END_TEST

/* STOS and MOVS of all sizes, alone and repeated, in both directions. */
START_TEST(strings)
{
	static struct outcome plain, trapped;

	for (unsigned variant = 0; variant < 32; variant++) {
		const unsigned opcode = variant & 1 ? 0xa4 : 0xaa, size = variant >> 1 & 3;
		const bool rep = variant >> 3 & 1, down = variant >> 4 & 1;
		uint8_t bytes[8];
		struct out o = { bytes };

		byte(&o, down ? 0xfd : 0xfc);
		if (size == 1)
			byte(&o, 0x66);
		if (rep)
			byte(&o, 0xf3);
		if (size == 3)
			byte(&o, 0x48);
		byte(&o, opcode | (size ? 1 : 0));
		for (int pass = 0; pass < 2; pass++) {
			fill_state();
			make_code(bytes, (unsigned)(o.at - bytes));
			t.a->state.in[1] = rep ? 7 : 0x55;
			t.a->state.in[6] = (uintptr_t)t.a->state.vector[8];
			t.a->state.in[7] = (uintptr_t)(pass ? t.a->trapped : t.a->plain) + 0x900;
			run_on(pass ? t.a->trapped : t.a->plain, pass ? &trapped : &plain);
		}
		ck_assert_msg(t.faults == 1 && !t.unknown, "variant %u: %u faults", variant, t.faults);
		ck_assert(!memcmp(plain.page, trapped.page, PAGE));
		ck_assert_uint_eq(plain.regs[1], trapped.regs[1]);
		ck_assert_uint_eq(plain.regs[6], trapped.regs[6]);
		ck_assert_uint_eq(plain.regs[7] - (uintptr_t)t.a->plain, trapped.regs[7] - (uintptr_t)t.a->trapped);
	}
}
END_TEST

/* 66 0F 38 F8: 64 bytes from memory, and MOVDIRI. */
START_TEST(direct_stores)
{
	static const uint8_t movdir64b[] = { 0x66, 0x0f, 0x38, 0xf8, 0x3e }; /* rdi <- [rsi] */
	static const uint8_t movdiri[] = { 0x48, 0x0f, 0x38, 0xf9, 0x07 };   /* [rdi] <- rax */
	static struct outcome got;
	const uint8_t *source = t.a->state.vector[4];
	uint32_t a, b, c, d;

	ck_assert(__get_cpuid_count(7, 0, &a, &b, &c, &d));
	fill_state();
	t.a->state.in[6] = (uintptr_t)source;
	t.a->state.in[7] = (uintptr_t)t.a->trapped + 0x800;
	if (c & 1u << 28) {
		make_code(movdir64b, sizeof(movdir64b));
		run_on(t.a->trapped, &got);
		ck_assert_uint_eq(t.faults, 1);
		ck_assert_uint_eq(t.unknown, 0);
		ck_assert(!memcmp(got.page + 0x800, source, 64));
	}
	if (c & 1u << 27) {
		make_code(movdiri, sizeof(movdiri));
		run_on(t.a->trapped, &got);
		ck_assert_uint_eq(t.unknown, 0);
		ck_assert_uint_eq(bf_get_le64(got.page + 0x800), t.a->state.in[0]);
	}
}
END_TEST

/* MOVBE, whose bytes are those of the register the other way round; and A2/A3 with their addresses of eight bytes. */
START_TEST(swapped_and_absolute)
{
	static const uint8_t movbe[] = { 0x49, 0x0f, 0x38, 0xf1, 0x07 }; /* [r15] <- rax */
	static struct outcome got;
	uint32_t a, b, c, d;
	uint8_t absolute[10] = { 0x48, 0xa3 };

	fill_state();
	t.a->state.in[15] = (uintptr_t)t.a->trapped + 0x8f8;
	if (__get_cpuid(1, &a, &b, &c, &d) && c & bit_MOVBE) {
		make_code(movbe, sizeof(movbe));
		run_on(t.a->trapped, &got);
		ck_assert_uint_eq(t.unknown, 0);
		ck_assert_uint_eq(bf_get_be64(got.page + 0x8f8), t.a->state.in[0]);
	}
	bf_put_le64(absolute + 2, (uintptr_t)t.a->trapped + 0x20);
	make_code(absolute, sizeof(absolute));
	run_on(t.a->trapped, &got);
	ck_assert_uint_eq(t.unknown, 0);
	ck_assert_uint_eq(bf_get_le64(got.page + 0x20), t.a->state.in[0]);
}
END_TEST

/* What is not in the table is said to be unknown, never guessed. */
START_TEST(unknown_instructions)
{
	static const uint8_t all[][8] = {
		{ 0x01, 0x07 },                         /* ADD [rdi], eax */
		{ 0xff, 0x07 },                         /* INC dword [rdi] */
		{ 0xf0, 0x0f, 0xc1, 0x07 },             /* LOCK XADD [rdi], eax */
		{ 0x64, 0x89, 0x07 },                   /* MOV fs:[rdi], eax */
		{ 0xc7, 0x0f, 1, 2, 3, 4 },             /* not MOV */
		{ 0x0f, 0xae, 0x07 },                   /* FXSAVE */
		{ 0x8f, 0x07 },                         /* POP [rdi] */
		{ 0x62, 0xf1, 0x7c, 0x4b, 0x11, 0x07 }, /* VMOVUPS [rdi]{k3}, zmm0 */
	};
	const uint64_t at = (uintptr_t)t.a->trapped;

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		ucontext_t uc = { 0 };
		uint8_t code[16] = { 0 };
		struct bf_trap_store s;

		memcpy(code, all[i], 8);
		uc.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)code;
		uc.uc_mcontext.gregs[REG_RDI] = (greg_t)at;
		ck_assert_msg(!bf_store_decode(&t.cpu, &uc, at, &s), "number %u", i);
	}
}
END_TEST

/* Whatever bytes stand at the instruction pointer, decoding ends and reads nothing beyond them. */
START_TEST(any_bytes)
{
	uint8_t *end = t.a->plain + PAGE; /* the next page is inaccessible */
	uint64_t x = 88172645463325252ull;

	for (unsigned i = 0; i < 200000; i++) {
		const unsigned len = 1 + i % 15;
		ucontext_t uc = { 0 };
		struct bf_trap_store s;

		for (unsigned k = 0; k < len; k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			end[-(int)len + (int)k] = (uint8_t)(x >> 24);
		}
		uc.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)(end - len);
		if (bf_store_decode(&t.cpu, &uc, x & 0xfff, &s))
			ck_assert_uint_le(s.code, len);
	}
}
END_TEST

static void setup(void)
{
	static uint8_t stack[64 << 10];
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	bf_store_cpu_init(&t.cpu);
	t.a = mmap(NULL, sizeof(*t.a), PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(t.a, MAP_FAILED);
	ck_assert_int_eq(mprotect(t.a->trapped, 2 * PAGE, PROT_NONE), 0);
	ck_assert_int_eq(sigaltstack(&alternate, NULL), 0);
	ck_assert_int_eq(sigaction(SIGSEGV, &act, NULL), 0);
}

static void teardown(void)
{
	const stack_t none = { .ss_flags = SS_DISABLE };

	signal(SIGSEGV, SIG_DFL);
	sigaltstack(&none, NULL);
	munmap(t.a, sizeof(*t.a));
}

int main(void)
{
	Suite *s = suite_create("exec_trap");
	TCase *tc = tcase_create("store");
	SRunner *runner = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, general_registers, 0, (int)(sizeof(general) / sizeof(general[0])));
	tcase_add_loop_test(tc, vector_registers, 0, (int)(sizeof(vectors) / sizeof(vectors[0])));
	tcase_add_loop_test(tc, avx_registers, 0, (int)(sizeof(avx) / sizeof(avx[0])));
	tcase_add_loop_test(tc, avx512_registers, 0, (int)(sizeof(avx512) / sizeof(avx512[0])));
	tcase_add_test(tc, high_bytes);
	tcase_add_test(tc, strings);
	tcase_add_test(tc, direct_stores);
	tcase_add_test(tc, swapped_and_absolute);
	tcase_add_test(tc, unknown_instructions);
	tcase_add_test(tc, any_bytes);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#else

int main(void)
{
	puts("only x86-64 has instructions made here");
	return 0;
}

#endif
