/*
 * Stores of aarch64 (Arm Architecture Reference Manual, C4.1 "A64 instruction set encoding", loads and stores): single
 * registers and pairs, general and SIMD, in all addressing forms. There are no single steps here: the processor has
 * them, but not for a signal handler to switch on.
 */
#if defined(__aarch64__)

#include "tools/exec/trap_store.h"

#include <asm/sigcontext.h>
#include <string.h>
#include <ucontext.h>

#include "sim/bytes.h"

void bf_store_cpu_init(struct bf_store_cpu *cpu)
{
	*cpu = (struct bf_store_cpu){ 0 };
}

/* A record of the signal frame by its magic (Linux arch/arm64/include/uapi/asm/sigcontext.h). NULL: not there. */
static const void *find_record(const ucontext_t *uc, uint32_t magic)
{
	const uint8_t *at = (const uint8_t *)uc->uc_mcontext.__reserved;
	const uint8_t *end = at + sizeof(uc->uc_mcontext.__reserved);

	while ((size_t)(end - at) >= sizeof(struct _aarch64_ctx)) {
		struct _aarch64_ctx head;

		memcpy(&head, at, sizeof(head));
		if (head.magic == magic)
			return at;
		if (!head.magic || head.size < sizeof(head) || head.size > (size_t)(end - at))
			return NULL;
		at += head.size;
	}
	return NULL;
}

static uint64_t gpr(const ucontext_t *uc, uint32_t reg)
{
	return reg == 31 ? 0 : uc->uc_mcontext.regs[reg];
}

static bool read_reg(const ucontext_t *uc, bool simd, uint32_t reg, uint32_t len, uint8_t *out)
{
	const struct fpsimd_context *fp = simd ? find_record(uc, FPSIMD_MAGIC) : NULL;
	uint8_t bytes[16] = { 0 };

	if (simd && !fp)
		return false;
	if (simd)
		memcpy(bytes, &fp->vregs[reg], 16);
	else
		bf_put_le64(bytes, gpr(uc, reg));
	memcpy(out, bytes, len);
	return true;
}

/* STP, STNP, LDP, LDNP: opc 101 V ... imm7 Rt2 Rn Rt. */
static bool decode_pair(const ucontext_t *uc, uint32_t op, struct bf_trap_store *s)
{
	const uint32_t opc = op >> 30, each = op >> 26 & 1 ? 4u << opc : opc & 2 ? 8 : 4;
	const bool simd = op >> 26 & 1;

	s->len = 2 * each;
	if (op >> 22 & 1 || opc == 3 || (!simd && opc == 1) || (op >> 23 & 1))
		return false; /* loads of pairs, and those that change their base */
	return read_reg(uc, simd, op & 31, each, s->data) && read_reg(uc, simd, op >> 10 & 31, each, s->data + each);
}

/* STR, STUR, LDR, LDUR: size 111 V 0x opc ... Rn Rt. Forms that change their base (post-, pre-indexed) are not here. */
static bool decode_single(const ucontext_t *uc, uint32_t op, struct bf_trap_store *s)
{
	const bool simd = op >> 26 & 1, scaled = op >> 24 & 1;
	const uint32_t size = op >> 30, opc = op >> 22 & 3, form = op >> 10 & 3;
	const bool by_register = !scaled && op >> 21 & 1;

	if (!scaled && !(by_register ? form == 2 : form == 0))
		return false;
	s->len = simd && opc & 2 ? 16 : 1u << size;
	if (simd ? opc & 1 : opc != 0) {
		s->kind = BF_STORE_LOAD;
		s->reg = op & 31;
		s->reg_len = 8;
		return !simd && !(size == 3 && opc == 2); /* not a prefetch */
	}
	return read_reg(uc, simd, op & 31, s->len, s->data);
}

bool bf_store_decode(const struct bf_store_cpu *cpu, const void *context, uint64_t fault, struct bf_trap_store *out)
{
	const ucontext_t *uc = context;
	uint32_t op;

	(void)cpu;
	memcpy(&op, (const void *)(uintptr_t)uc->uc_mcontext.pc, sizeof(op));
	*out = (struct bf_trap_store){ .kind = BF_STORE_STORE, .address = fault, .count = 1, .code = 4 };
	if ((op & 0x3a000000) == 0x28000000)
		return decode_pair(uc, op, out);
	return (op & 0x3a000000) == 0x38000000 && decode_single(uc, op, out);
}

void bf_store_finish(const struct bf_trap_store *s, void *context)
{
	ucontext_t *uc = context;

	if (s->kind == BF_STORE_LOAD && s->reg != 31)
		uc->uc_mcontext.regs[s->reg] = 0;
	uc->uc_mcontext.pc += s->code;
}

uint64_t bf_store_ip(const void *context)
{
	return ((const ucontext_t *)context)->uc_mcontext.pc;
}

/* ESR_EL1.WnR of a data abort. */
bool bf_store_was_write(const void *context)
{
	const struct esr_context *esr = find_record(context, ESR_MAGIC);

	return esr && esr->esr >> 6 & 1;
}

bool bf_store_single_step(void *context, bool on)
{
	(void)context;
	(void)on;
	return false;
}

#else

typedef int bf_no_a64;

#endif
