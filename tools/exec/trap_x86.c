/*
 * Stores of x86-64 (Intel SDM vol. 2: chapter 2 for prefixes and operands, chapters 3 to 6 for the instructions).
 *
 * A row of the table is an instruction that moves something to or from memory and does nothing else. Flags are never
 * touched by any of them. Addresses relative to FS or GS are left to single steps, as are masked vector stores.
 */
#if defined(__x86_64__)

#include "tools/exec/trap_store.h"

#include <cpuid.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "sim/bytes.h"

enum { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A, MAPS };
enum { PP_NONE = 1, PP_66 = 2, PP_F3 = 4, PP_F2 = 8, PP_ANY = 15 };
enum { LEGACY = 1, VEX = 2, EVEX = 4 };
enum size { BYTE, WORD, OPERAND, DWORD_QWORD, DWORD, QWORD, VECTOR, LINE };
enum source { REGISTER, SWAPPED, IMMEDIATE, XMM, XMM_HIGH, MMX, MEMORY };

struct row {
	uint8_t map, opcode, encodings, pp;
	enum bf_store_kind kind;
	enum size size;
	enum source source;
};

static const struct row rows[] = {
	{ MAP_ONE, 0x88, LEGACY, PP_ANY, BF_STORE_STORE, BYTE, REGISTER },                       /* MOV */
	{ MAP_ONE, 0x89, LEGACY, PP_ANY, BF_STORE_STORE, OPERAND, REGISTER },                    /* MOV */
	{ MAP_ONE, 0x8a, LEGACY, PP_ANY, BF_STORE_LOAD, BYTE, REGISTER },                        /* MOV */
	{ MAP_ONE, 0x8b, LEGACY, PP_ANY, BF_STORE_LOAD, OPERAND, REGISTER },                     /* MOV */
	{ MAP_ONE, 0xc6, LEGACY, PP_ANY, BF_STORE_STORE, BYTE, IMMEDIATE },                      /* MOV */
	{ MAP_ONE, 0xc7, LEGACY, PP_ANY, BF_STORE_STORE, OPERAND, IMMEDIATE },                   /* MOV */
	{ MAP_ONE, 0x86, LEGACY, PP_ANY, BF_STORE_EXCHANGE, BYTE, REGISTER },                    /* XCHG */
	{ MAP_ONE, 0x87, LEGACY, PP_ANY, BF_STORE_EXCHANGE, OPERAND, REGISTER },                 /* XCHG */
	{ MAP_ONE, 0x63, LEGACY, PP_NONE | PP_66, BF_STORE_LOAD, DWORD, REGISTER },              /* MOVSXD */
	{ MAP_0F, 0xb6, LEGACY, PP_NONE | PP_66, BF_STORE_LOAD, BYTE, REGISTER },                /* MOVZX */
	{ MAP_0F, 0xb7, LEGACY, PP_NONE | PP_66, BF_STORE_LOAD, WORD, REGISTER },                /* MOVZX */
	{ MAP_0F, 0xbe, LEGACY, PP_NONE | PP_66, BF_STORE_LOAD, BYTE, REGISTER },                /* MOVSX */
	{ MAP_0F, 0xbf, LEGACY, PP_NONE | PP_66, BF_STORE_LOAD, WORD, REGISTER },                /* MOVSX */
	{ MAP_0F, 0xc3, LEGACY, PP_NONE, BF_STORE_STORE, DWORD_QWORD, REGISTER },                /* MOVNTI */
	{ MAP_0F38, 0xf0, LEGACY, PP_NONE | PP_66, BF_STORE_LOAD, OPERAND, SWAPPED },            /* MOVBE */
	{ MAP_0F38, 0xf1, LEGACY, PP_NONE | PP_66, BF_STORE_STORE, OPERAND, SWAPPED },           /* MOVBE */
	{ MAP_0F38, 0xf8, LEGACY, PP_66, BF_STORE_STORE, LINE, MEMORY },                         /* MOVDIR64B */
	{ MAP_0F38, 0xf9, LEGACY, PP_NONE, BF_STORE_STORE, DWORD_QWORD, REGISTER },              /* MOVDIRI */
	{ MAP_0F, 0x11, LEGACY | VEX | EVEX, PP_NONE | PP_66, BF_STORE_STORE, VECTOR, XMM },     /* MOVUPS, MOVUPD */
	{ MAP_0F, 0x11, LEGACY | VEX | EVEX, PP_F3, BF_STORE_STORE, DWORD, XMM },                /* MOVSS */
	{ MAP_0F, 0x11, LEGACY | VEX | EVEX, PP_F2, BF_STORE_STORE, QWORD, XMM },                /* MOVSD */
	{ MAP_0F, 0x13, LEGACY | VEX | EVEX, PP_NONE | PP_66, BF_STORE_STORE, QWORD, XMM },      /* MOVLPS, MOVLPD */
	{ MAP_0F, 0x17, LEGACY | VEX | EVEX, PP_NONE | PP_66, BF_STORE_STORE, QWORD, XMM_HIGH }, /* MOVHPS, MOVHPD */
	{ MAP_0F, 0x29, LEGACY | VEX | EVEX, PP_NONE | PP_66, BF_STORE_STORE, VECTOR, XMM },     /* MOVAPS, MOVAPD */
	{ MAP_0F, 0x2b, LEGACY | VEX | EVEX, PP_NONE | PP_66, BF_STORE_STORE, VECTOR, XMM },     /* MOVNTPS, MOVNTPD */
	{ MAP_0F, 0x7f, LEGACY | VEX | EVEX, PP_66 | PP_F3, BF_STORE_STORE, VECTOR, XMM },       /* MOVDQA, MOVDQU */
	{ MAP_0F, 0x7f, EVEX, PP_F2, BF_STORE_STORE, VECTOR, XMM },                              /* MOVDQU8, MOVDQU16 */
	{ MAP_0F, 0xe7, LEGACY | VEX | EVEX, PP_66, BF_STORE_STORE, VECTOR, XMM },               /* MOVNTDQ */
	{ MAP_0F, 0x7e, LEGACY | VEX | EVEX, PP_66, BF_STORE_STORE, DWORD_QWORD, XMM },          /* MOVD, MOVQ */
	{ MAP_0F, 0xd6, LEGACY | VEX | EVEX, PP_66, BF_STORE_STORE, QWORD, XMM },                /* MOVQ */
	{ MAP_0F, 0x7f, LEGACY, PP_NONE, BF_STORE_STORE, QWORD, MMX },                           /* MOVQ */
	{ MAP_0F, 0xe7, LEGACY, PP_NONE, BF_STORE_STORE, QWORD, MMX },                           /* MOVNTQ */
	{ MAP_0F, 0x7e, LEGACY, PP_NONE, BF_STORE_STORE, DWORD_QWORD, MMX },                     /* MOVD, MOVQ */
};

/* Everything in front of the operands, whatever way it was encoded. */
struct prefixes {
	uint8_t map, opcode, encoding, pp;
	bool operand16, address32, rep, has_rex;
	bool wide;                /* W */
	uint32_t vector;          /* bytes */
	uint8_t reg, index, base; /* bit 3 (reg: also 4) of the register numbers */
};

struct cursor {
	const uint8_t *code;
	uint32_t len, at;
	bool over; /* more was asked for than there is */
};

static uint8_t next(struct cursor *c)
{
	if (c->at < c->len)
		return c->code[c->at++];
	c->over = true;
	return 0;
}

/* A little-endian number of `len` bytes, its sign extended. */
static int64_t next_signed(struct cursor *c, uint32_t len)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < len; i++)
		value |= (uint64_t)next(c) << 8 * i;
	return len < 8 ? (int64_t)(value << (64 - 8 * len)) >> (64 - 8 * len) : (int64_t)value;
}

static const int greg_of[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
				 REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };

static uint64_t gpr(const ucontext_t *uc, uint32_t reg)
{
	return (uint64_t)uc->uc_mcontext.gregs[greg_of[reg & 15]];
}

static void read_vex(struct cursor *c, struct prefixes *p, bool three)
{
	static const uint8_t pps[4] = { PP_NONE, PP_66, PP_F3, PP_F2 };
	uint8_t b = next(c);

	p->encoding = VEX;
	p->map = MAP_0F;
	p->reg = b & 0x80 ? 0 : 8;
	if (three) {
		p->index = b & 0x40 ? 0 : 8;
		p->base = b & 0x20 ? 0 : 8;
		p->map = (b & 31) < MAPS ? b & 31 : 0;
		b = next(c);
		p->wide = b & 0x80;
	}
	p->vector = b & 4 ? 32 : 16;
	p->pp = pps[b & 3];
	p->opcode = next(c);
}

/* False: it stores under a mask, or broadcasts. */
static bool read_evex(struct cursor *c, struct prefixes *p)
{
	static const uint8_t pps[4] = { PP_NONE, PP_66, PP_F3, PP_F2 };
	const uint8_t p0 = next(c), p1 = next(c), p2 = next(c);

	p->encoding = EVEX;
	p->reg = (uint8_t)((p0 & 0x80 ? 0 : 8) | (p0 & 0x10 ? 0 : 16));
	p->index = p0 & 0x40 ? 0 : 8;
	p->base = p0 & 0x20 ? 0 : 8;
	p->map = (p0 & 7) < MAPS ? p0 & 7 : 0;
	p->wide = p1 & 0x80;
	p->pp = pps[p1 & 3];
	p->vector = 16u << (p2 >> 5 & 3);
	p->opcode = next(c);
	return !(p2 & 0x17) && p->vector <= 64; /* aaa, b */
}

static void read_opcode(struct cursor *c, struct prefixes *p, uint8_t b)
{
	if (b == 0x0f) {
		p->map = MAP_0F;
		b = next(c);
		if (b == 0x38 || b == 0x3a) {
			p->map = b == 0x38 ? MAP_0F38 : MAP_0F3A;
			b = next(c);
		}
	}
	p->opcode = b;
}

/* Reads up to the opcode. False: something that none of the rows has. */
static bool read_prefixes(struct cursor *c, struct prefixes *p)
{
	uint8_t b = next(c), rex = 0;

	*p = (struct prefixes){ .encoding = LEGACY, .pp = PP_NONE, .vector = 16 };
	for (; !c->over; b = next(c)) {
		if (b == 0x66)
			p->operand16 = true;
		else if (b == 0x67)
			p->address32 = true;
		else if (b == 0xf2 || b == 0xf3)
			p->pp = b == 0xf2 ? PP_F2 : PP_F3;
		else if (b != 0xf0 && b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26)
			break;
	}
	p->rep = p->pp != PP_NONE;
	if (p->operand16 && !p->rep)
		p->pp = PP_66;
	if (b == 0x64 || b == 0x65)
		return false;
	if (b == 0xc5 || b == 0xc4)
		return read_vex(c, p, b == 0xc4), !c->over;
	if (b == 0x62)
		return read_evex(c, p) && !c->over;
	if ((b & 0xf0) == 0x40) {
		rex = b;
		b = next(c);
	}
	p->has_rex = rex;
	p->wide = rex & 8;
	p->reg = rex & 4 ? 8 : 0;
	p->index = rex & 2 ? 8 : 0;
	p->base = rex & 1 ? 8 : 0;
	read_opcode(c, p, b);
	return !c->over;
}

/* A memory operand; the registers in it are those of the instruction's start. */
struct operand {
	uint8_t reg;
	bool memory, relative; /* to the end of the instruction */
	uint64_t address;
};

/* `scale`: what a one-byte displacement counts in (EVEX), else 1. */
static void read_operand(struct cursor *c, const struct prefixes *p, const ucontext_t *uc, uint32_t scale,
			 struct operand *o)
{
	const uint8_t modrm = next(c), mod = modrm >> 6, rm = modrm & 7;
	bool no_base = mod == 0 && rm == 5;
	uint64_t at = 0;
	uint8_t base = rm;

	*o = (struct operand){ .reg = (uint8_t)((modrm >> 3 & 7) | p->reg), .memory = mod != 3 };
	if (!o->memory)
		return;
	o->relative = no_base;
	if (rm == 4) {
		const uint8_t sib = next(c), index = (uint8_t)((sib >> 3 & 7) | p->index);

		base = sib & 7;
		no_base = mod == 0 && base == 5;
		if (index != 4)
			at = gpr(uc, index) << (sib >> 6);
	}
	if (!no_base)
		at += gpr(uc, base | p->base);
	if (mod == 1)
		at += (uint64_t)(next_signed(c, 1) * (int64_t)scale);
	else if (mod == 2 || no_base)
		at += (uint64_t)next_signed(c, 4);
	o->address = at;
}

static uint32_t size_of(enum size size, const struct prefixes *p)
{
	switch (size) {
	case BYTE:
		return 1;
	case WORD:
		return 2;
	case OPERAND:
		return p->wide ? 8 : p->operand16 ? 2 : 4;
	case DWORD_QWORD:
		return p->wide ? 8 : 4;
	case DWORD:
		return 4;
	case QWORD:
		return 8;
	case VECTOR:
		return p->vector;
	case LINE:
		return 64;
	}
	return 0;
}

/*
 * The XSAVE area of a signal frame is in the standard format (Intel SDM vol. 1 section 13.4); components that are in
 * their initial state are zero and marked so in XSTATE_BV. Linux says how much there is: arch/x86/include/uapi/asm/
 * sigcontext.h, struct _fpx_sw_bytes.
 */
#define FX_ST 32u
#define FX_XMM 160u
#define FX_SW_MAGIC 464u
#define FX_SW_XSTATE_SIZE 480u
#define FX_XSTATE_BV 512u
#define MAGIC1 0x46505853u
enum { STATE_SSE = 1, STATE_YMM = 2, STATE_ZMM_HIGH = 6, STATE_ZMM_UPPER = 7 };

static bool read_state(const uint8_t *fx, uint32_t component, uint32_t at, uint32_t len, uint8_t *out)
{
	const bool extended = bf_get_le32(fx + FX_SW_MAGIC) == MAGIC1;

	if (component >= STATE_YMM && (!extended || !at || at + len > bf_get_le32(fx + FX_SW_XSTATE_SIZE)))
		return false;
	if (extended && !(bf_get_le64(fx + FX_XSTATE_BV) >> component & 1))
		memset(out, 0, len);
	else
		memcpy(out, fx + at, len);
	return true;
}

static bool read_vector(const struct bf_store_cpu *cpu, const ucontext_t *uc, uint32_t reg, uint8_t out[64])
{
	const uint8_t *fx = (const uint8_t *)uc->uc_mcontext.fpregs;

	if (!fx)
		return false;
	if (reg >= 16)
		return read_state(fx, STATE_ZMM_UPPER, cpu->zmm_upper + 64 * (reg - 16), 64, out);
	read_state(fx, STATE_SSE, FX_XMM + 16 * reg, 16, out);
	if (!read_state(fx, STATE_YMM, cpu->ymm_high ? cpu->ymm_high + 16 * reg : 0, 16, out + 16))
		memset(out + 16, 0, 16);
	if (!read_state(fx, STATE_ZMM_HIGH, cpu->zmm_high ? cpu->zmm_high + 32 * reg : 0, 32, out + 32))
		memset(out + 32, 0, 32);
	return true;
}

/* MMX registers do not move with the x87 stack, their image does. */
static bool read_mmx(const ucontext_t *uc, uint32_t reg, uint8_t out[8])
{
	const uint8_t *fx = (const uint8_t *)uc->uc_mcontext.fpregs;

	if (!fx)
		return false;
	memcpy(out, fx + FX_ST + 16 * ((reg - (bf_get_le16(fx + 2) >> 11)) & 7), 8);
	return true;
}

/* Without REX the byte registers 4 to 7 are AH, CH, DH, BH. */
static bool is_high_byte(const struct prefixes *p, uint32_t reg)
{
	return !p->has_rex && reg >= 4 && reg < 8;
}

static void read_register(const struct row *row, const struct prefixes *p, const ucontext_t *uc,
			  struct bf_trap_store *s)
{
	const bool high = row->size == BYTE && is_high_byte(p, s->reg);
	const uint64_t value = high ? gpr(uc, s->reg - 4u) >> 8 : gpr(uc, s->reg);

	bf_put_le64(s->data, value);
	if (row->source != SWAPPED)
		return;
	for (uint32_t i = 0; i < s->len; i++)
		s->data[i] = (uint8_t)(value >> 8 * (s->len - 1 - i));
}

/* What a load changes: as wide as the operand, and wider than what was loaded where it extends. */
static void note_target(const struct row *row, const struct prefixes *p, struct bf_trap_store *s)
{
	const bool extends = row->map == MAP_0F || row->opcode == 0x63;

	s->reg_len = (uint8_t)(row->size == BYTE && !extends ? 1 : size_of(OPERAND, p));
	s->reg_high = s->reg_len == 1 && is_high_byte(p, s->reg);
	if (s->reg_high)
		s->reg = (uint8_t)(s->reg - 4);
}

static bool read_data(const struct bf_store_cpu *cpu, const struct row *row, const struct prefixes *p,
		      const ucontext_t *uc, struct cursor *c, struct bf_trap_store *s)
{
	uint8_t vector[64];

	switch (row->source) {
	case REGISTER:
	case SWAPPED:
		if (row->kind != BF_STORE_LOAD)
			read_register(row, p, uc, s);
		if (row->kind != BF_STORE_STORE)
			note_target(row, p, s);
		return true;
	case IMMEDIATE:
		if (s->reg & 7)
			return false; /* another instruction of the group */
		bf_put_le64(s->data, (uint64_t)next_signed(c, s->len < 4 ? s->len : 4));
		return true;
	case XMM:
	case XMM_HIGH:
		if (!read_vector(cpu, uc, s->reg, vector))
			return false;
		memcpy(s->data, vector + (row->source == XMM_HIGH ? 8 : 0), row->source == XMM_HIGH ? 8 : 64);
		return true;
	case MMX:
		return read_mmx(uc, s->reg & 7, s->data);
	case MEMORY:
		s->moves = true;
		return true;
	}
	return false;
}

static const struct row *find_row(const struct prefixes *p)
{
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].map == p->map && rows[i].opcode == p->opcode && rows[i].encodings & p->encoding &&
		    rows[i].pp & p->pp)
			return &rows[i];
	return NULL;
}

static bool decode_row(const struct bf_store_cpu *cpu, const struct row *row, const struct prefixes *p,
		       const ucontext_t *uc, struct cursor *c, struct bf_trap_store *s)
{
	struct operand o;

	s->kind = row->kind;
	s->len = size_of(row->size, p);
	s->count = 1;
	read_operand(c, p, uc, p->encoding == EVEX ? s->len : 1, &o);
	s->reg = o.reg;
	if (!o.memory || !read_data(cpu, row, p, uc, c, s))
		return false;
	if (o.relative)
		o.address += (uint64_t)uc->uc_mcontext.gregs[REG_RIP] + c->at;
	if (p->address32)
		o.address = (uint32_t)o.address;
	s->address = o.address;
	if (row->source == MEMORY) {
		s->source = o.address;
		s->address = p->address32 ? (uint32_t)gpr(uc, o.reg) : gpr(uc, o.reg);
	}
	return true;
}

/* STOS and MOVS. */
static bool decode_string(const struct prefixes *p, const ucontext_t *uc, struct bf_trap_store *s)
{
	s->kind = BF_STORE_STORE;
	s->len = p->opcode & 1 ? size_of(OPERAND, p) : 1;
	s->step = uc->uc_mcontext.gregs[REG_EFL] & 0x400 ? -(int32_t)s->len : (int32_t)s->len;
	s->string = true;
	s->repeats = p->rep;
	s->count = p->rep ? (uint64_t)uc->uc_mcontext.gregs[REG_RCX] : 1;
	s->address = (uint64_t)uc->uc_mcontext.gregs[REG_RDI];
	s->moves = (p->opcode & 0xfe) == 0xa4;
	s->source = (uint64_t)uc->uc_mcontext.gregs[REG_RSI];
	bf_put_le64(s->data, (uint64_t)uc->uc_mcontext.gregs[REG_RAX]);
	return !p->address32;
}

/* MOV between the accumulator and an absolute address. */
static bool decode_absolute(const struct prefixes *p, const ucontext_t *uc, struct cursor *c, struct bf_trap_store *s)
{
	s->kind = p->opcode & 2 ? BF_STORE_STORE : BF_STORE_LOAD;
	s->len = p->opcode & 1 ? size_of(OPERAND, p) : 1;
	s->reg_len = (uint8_t)s->len;
	s->count = 1;
	s->address = (uint64_t)next_signed(c, p->address32 ? 4 : 8);
	if (p->address32)
		s->address = (uint32_t)s->address;
	bf_put_le64(s->data, gpr(uc, 0));
	return true;
}

/* Instructions may end with their page, and the next may be none. */
static uint32_t read_code(const uint8_t *at, uint8_t copy[BF_STORE_CODE_MAX], const uint8_t **code)
{
	const uintptr_t left = 4096 - ((uintptr_t)at & 4095);
	struct iovec own = { copy, BF_STORE_CODE_MAX },
		     theirs[2] = { { (void *)(uintptr_t)at, left },
				   { (void *)((uintptr_t)at + left), BF_STORE_CODE_MAX } };
	ssize_t got;

	*code = at;
	if (left >= BF_STORE_CODE_MAX)
		return BF_STORE_CODE_MAX;
	*code = copy;
	got = process_vm_readv(getpid(), &own, 1, theirs, 2, 0);
	if (got > 0)
		return (uint32_t)got;
	memcpy(copy, at, left);
	return (uint32_t)left;
}

bool bf_store_decode_code(const struct bf_store_cpu *cpu, const uint8_t *code, uint32_t len, const void *context,
			  struct bf_trap_store *out)
{
	const ucontext_t *uc = context;
	struct cursor c = { .code = code, .len = len };
	struct prefixes p;
	const struct row *row;
	bool known;

	*out = (struct bf_trap_store){ 0 };
	if (!read_prefixes(&c, &p))
		return false;
	row = find_row(&p);
	if (row)
		known = decode_row(cpu, row, &p, uc, &c, out);
	else if (p.encoding == LEGACY && p.map == MAP_ONE && ((p.opcode & 0xfe) == 0xa4 || (p.opcode & 0xfe) == 0xaa))
		known = decode_string(&p, uc, out);
	else if (p.encoding == LEGACY && p.map == MAP_ONE && (p.opcode & 0xfc) == 0xa0)
		known = decode_absolute(&p, uc, &c, out);
	else
		known = false;
	out->code = c.at;
	return known && !c.over;
}

bool bf_store_decode(const struct bf_store_cpu *cpu, const void *context, uint64_t fault, struct bf_trap_store *out)
{
	uint8_t copy[BF_STORE_CODE_MAX];
	const uint8_t *code;
	const uint32_t len = read_code((const uint8_t *)(uintptr_t)bf_store_ip(context), copy, &code);

	return bf_store_decode_code(cpu, code, len, context, out) && fault - out->address < out->len;
}

void bf_store_finish(const struct bf_trap_store *s, void *context)
{
	ucontext_t *uc = context;
	greg_t *r = uc->uc_mcontext.gregs;
	bool done = true;

	if (s->string) {
		const int64_t moved = (int64_t)s->count * s->step;

		r[REG_RDI] += moved;
		if (s->moves)
			r[REG_RSI] += moved;
		if (s->repeats)
			r[REG_RCX] -= (int64_t)s->count;
		done = !s->repeats || !r[REG_RCX];
	}
	if (s->kind != BF_STORE_STORE) {
		greg_t *reg = &r[greg_of[s->reg & 15]];

		if (s->reg_high)
			*reg &= ~0xff00ll;
		else if (s->reg_len < 4)
			*reg &= ~((1ll << 8 * s->reg_len) - 1);
		else
			*reg = 0;
	}
	if (done)
		r[REG_RIP] += s->code;
}

uint64_t bf_store_ip(const void *context)
{
	return (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

/* Bit 1 of the page fault's error code (Intel SDM vol. 3, "Page-Fault Exception"). */
bool bf_store_was_write(const void *context)
{
	return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2;
}

#define TRAP_FLAG 0x100

bool bf_store_single_step(void *context, bool on)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	*flags = on ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
	return true;
}

static uint32_t state_offset(uint32_t component)
{
	uint32_t a, b, c, d;

	return __get_cpuid_count(0xd, component, &a, &b, &c, &d) && a ? b : 0;
}

void bf_store_cpu_init(struct bf_store_cpu *cpu)
{
	*cpu = (struct bf_store_cpu){
		.ymm_high = state_offset(STATE_YMM),
		.zmm_high = state_offset(STATE_ZMM_HIGH),
		.zmm_upper = state_offset(STATE_ZMM_UPPER),
	};
}

#else

/* A translation unit must not be empty. */
typedef int bf_no_x86;

#endif
