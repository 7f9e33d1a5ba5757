/*
 * The integer, logic, bit and byte instructions of PTX as functions of bits, with the results of an H100 also where the
 * PTX ISA (9.2, section 9.7.1 and 9.7.8) leaves them open: what was seen is in tests/models/test_ptx_int.c.
 *
 * One function an instruction and type: bf_ptx_<op>_<type>. Operands and results are the register's bits as unsigned
 * integers of the instruction's width, for .s types too. What C computes alike (add, sub, mul.lo, and, or, xor, not)
 * has no function here. All are pure, for any thread, and without a branch where a loop over lanes has to become vector
 * code.
 */
#ifndef BELFRY_PTX_INT_H
#define BELFRY_PTX_INT_H

#include "models/ptx/vocabulary.h"
#include "sim/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/* A carry, and the result that came with it: what an instruction with .cc leaves in CC.CF. */
struct bf_ptx_carry32 {
	uint32_t value;
	uint32_t carry; /* 0 or 1 */
};
struct bf_ptx_carry64 {
	uint64_t value;
	uint32_t carry; /* 0 or 1 */
};

/* abs, neg, min, max, cnot; MIN's absolute value and negation is MIN. clang-format would set these families apart. */
#define BF_PTX_INT_FAMILY(bits)                                                                                        \
	static inline uint##bits##_t bf_ptx_neg_s##bits(uint##bits##_t a)                                              \
	{                                                                                                              \
		return (uint##bits##_t)(0u - a);                                                                       \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_abs_s##bits(uint##bits##_t a)                                              \
	{                                                                                                              \
		return (uint##bits##_t)((int##bits##_t)a < 0 ? 0u - a : a);                                            \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_min_s##bits(uint##bits##_t a, uint##bits##_t b)                            \
	{                                                                                                              \
		return (int##bits##_t)a < (int##bits##_t)b ? a : b;                                                    \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_max_s##bits(uint##bits##_t a, uint##bits##_t b)                            \
	{                                                                                                              \
		return (int##bits##_t)a > (int##bits##_t)b ? a : b;                                                    \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_min_u##bits(uint##bits##_t a, uint##bits##_t b)                            \
	{                                                                                                              \
		return a < b ? a : b;                                                                                  \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_max_u##bits(uint##bits##_t a, uint##bits##_t b)                            \
	{                                                                                                              \
		return a > b ? a : b;                                                                                  \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_cnot_b##bits(uint##bits##_t a)                                             \
	{                                                                                                              \
		return a == 0;                                                                                         \
	}                                                                                                              \
	/* sad: c + |a - b|, compared in the type's own signedness. */                                                 \
	static inline uint##bits##_t bf_ptx_sad_s##bits(uint##bits##_t a, uint##bits##_t b, uint##bits##_t c)          \
	{                                                                                                              \
		return (uint##bits##_t)(c + ((int##bits##_t)a < (int##bits##_t)b ? b - a : a - b));                    \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_sad_u##bits(uint##bits##_t a, uint##bits##_t b, uint##bits##_t c)          \
	{                                                                                                              \
		return (uint##bits##_t)(c + (a < b ? b - a : a - b));                                                  \
	}                                                                                                              \
	/* div and rem: by zero all ones, both; MIN / -1 is MIN and MIN % -1 is 0. */                                  \
	static inline uint##bits##_t bf_ptx_div_u##bits(uint##bits##_t a, uint##bits##_t b)                            \
	{                                                                                                              \
		return b == 0 ? (uint##bits##_t) ~0ull : (uint##bits##_t)(a / b);                                      \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_rem_u##bits(uint##bits##_t a, uint##bits##_t b)                            \
	{                                                                                                              \
		return b == 0 ? (uint##bits##_t) ~0ull : (uint##bits##_t)(a % b);                                      \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_div_s##bits(uint##bits##_t a, uint##bits##_t b)                            \
	{                                                                                                              \
		if ((uint##bits##_t)(b + 1u) <= 1u)                                                                    \
			return b == 0 ? (uint##bits##_t) ~0ull : bf_ptx_neg_s##bits(a);                                \
		return (uint##bits##_t)((int##bits##_t)a / (int##bits##_t)b);                                          \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_rem_s##bits(uint##bits##_t a, uint##bits##_t b)                            \
	{                                                                                                              \
		if ((uint##bits##_t)(b + 1u) <= 1u)                                                                    \
			return (uint##bits##_t)(b == 0 ? ~0ull : 0ull);                                                \
		return (uint##bits##_t)((int##bits##_t)a % (int##bits##_t)b);                                          \
	}                                                                                                              \
	/* shl and shr: the amount is an unsigned 32-bit number; from the width on nothing but zeros or signs. */      \
	static inline uint##bits##_t bf_ptx_shl_b##bits(uint##bits##_t a, uint32_t amount)                             \
	{                                                                                                              \
		return (uint##bits##_t)(amount < bits ? (uint##bits##_t)(a << (amount & (bits - 1u))) : 0u);           \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_shr_u##bits(uint##bits##_t a, uint32_t amount)                             \
	{                                                                                                              \
		return amount < bits ? (uint##bits##_t)(a >> (amount & (bits - 1u))) : 0;                              \
	}                                                                                                              \
	static inline uint##bits##_t bf_ptx_shr_s##bits(uint##bits##_t a, uint32_t amount)                             \
	{                                                                                                              \
		return (uint##bits##_t)((int##bits##_t)a >> (amount < bits ? amount : bits - 1u));                     \
	}

BF_PTX_INT_FAMILY(16)
BF_PTX_INT_FAMILY(32)
BF_PTX_INT_FAMILY(64)

/* mul.hi: the upper half of the product. mad.hi is this plus c. */
static inline uint16_t bf_ptx_mul_hi_u16(uint16_t a, uint16_t b)
{
	return (uint16_t)((uint32_t)a * b >> 16);
}
static inline uint16_t bf_ptx_mul_hi_s16(uint16_t a, uint16_t b)
{
	return (uint16_t)((uint32_t)((int16_t)a * (int16_t)b) >> 16);
}
static inline uint32_t bf_ptx_mul_hi_u32(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)a * b >> 32);
}
static inline uint32_t bf_ptx_mul_hi_s32(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)((int64_t)(int32_t)a * (int32_t)b) >> 32);
}
static inline uint64_t bf_ptx_mul_hi_u64(uint64_t a, uint64_t b)
{
	return (uint64_t)((bf_u128)a * b >> 64);
}
static inline uint64_t bf_ptx_mul_hi_s64(uint64_t a, uint64_t b)
{
	return bf_ptx_mul_hi_u64(a, b) - ((int64_t)a < 0 ? b : 0) - ((int64_t)b < 0 ? a : 0);
}

/* mul.wide: the whole product. mad.wide is this plus a c of twice the width. */
static inline uint32_t bf_ptx_mul_wide_u16(uint16_t a, uint16_t b)
{
	return (uint32_t)a * b;
}
static inline uint32_t bf_ptx_mul_wide_s16(uint16_t a, uint16_t b)
{
	return (uint32_t)((int16_t)a * (int16_t)b);
}
static inline uint64_t bf_ptx_mul_wide_u32(uint32_t a, uint32_t b)
{
	return (uint64_t)a * b;
}
static inline uint64_t bf_ptx_mul_wide_s32(uint32_t a, uint32_t b)
{
	return (uint64_t)((int64_t)(int32_t)a * (int32_t)b);
}

/* The sign-extended low 24 bits, of which mul24.s32 and mad24.s32 make their products. */
static inline int32_t bf_ptx_low24_s32(uint32_t a)
{
	return (int32_t)(a << 8) >> 8;
}

/* mul24: product of the low 24 bits; .lo its bits 31:0, .hi its bits 47:16. mad24 is this plus c. */
static inline uint32_t bf_ptx_mul24_lo_u32(uint32_t a, uint32_t b)
{
	return (a & 0xffffffu) * (b & 0xffffffu);
}
static inline uint32_t bf_ptx_mul24_hi_u32(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)(a & 0xffffffu) * (b & 0xffffffu) >> 16);
}
static inline uint32_t bf_ptx_mul24_lo_s32(uint32_t a, uint32_t b)
{
	return (uint32_t)bf_ptx_low24_s32(a) * (uint32_t)bf_ptx_low24_s32(b);
}
static inline uint32_t bf_ptx_mul24_hi_s32(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)((int64_t)bf_ptx_low24_s32(a) * bf_ptx_low24_s32(b)) >> 16);
}

/* A signed sum clamped to 32 bits. */
static inline uint32_t bf_ptx_clamp_s32(int64_t value)
{
	return (uint32_t)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value);
}

/* add.sat.s32, sub.sat.s32, mad.hi.sat.s32, mad24.hi.sat.s32: only the final sum is clamped. */
static inline uint32_t bf_ptx_add_sat_s32(uint32_t a, uint32_t b)
{
	return bf_ptx_clamp_s32((int64_t)(int32_t)a + (int32_t)b);
}
static inline uint32_t bf_ptx_sub_sat_s32(uint32_t a, uint32_t b)
{
	return bf_ptx_clamp_s32((int64_t)(int32_t)a - (int32_t)b);
}
static inline uint32_t bf_ptx_mad_hi_sat_s32(uint32_t a, uint32_t b, uint32_t c)
{
	return bf_ptx_add_sat_s32(bf_ptx_mul_hi_s32(a, b), c);
}
static inline uint32_t bf_ptx_mad24_hi_sat_s32(uint32_t a, uint32_t b, uint32_t c)
{
	return bf_ptx_add_sat_s32(bf_ptx_mul24_hi_s32(a, b), c);
}

/*
 * Extended precision. `carry` is CC.CF, 0 or 1. After a subtraction it holds NOT borrow, as on an H100 (the ISA speaks
 * of a borrow): so sub.cc is a + ~b + 1 and subc is a + ~b + carry. add.cc is addc with carry 0, and sub.cc is subc
 * with carry 1. mad.lo.cc and madc.hi.cc are addc of the product's half and c.
 */
static inline struct bf_ptx_carry32 bf_ptx_addc_b32(uint32_t a, uint32_t b, uint32_t carry)
{
	const uint64_t sum = (uint64_t)a + b + carry;
	const struct bf_ptx_carry32 result = { (uint32_t)sum, (uint32_t)(sum >> 32) };
	return result;
}
static inline struct bf_ptx_carry32 bf_ptx_subc_b32(uint32_t a, uint32_t b, uint32_t carry)
{
	return bf_ptx_addc_b32(a, ~b, carry);
}
static inline struct bf_ptx_carry64 bf_ptx_addc_b64(uint64_t a, uint64_t b, uint32_t carry)
{
	const uint64_t part = a + b, sum = part + carry;
	const struct bf_ptx_carry64 result = { sum, (uint32_t)(part < a) | (uint32_t)(sum < part) };
	return result;
}
static inline struct bf_ptx_carry64 bf_ptx_subc_b64(uint64_t a, uint64_t b, uint32_t carry)
{
	return bf_ptx_addc_b64(a, ~b, carry);
}

/* shf: the middle of {b:a} shifted; .clamp takes an amount above 32 as 32, .wrap takes it modulo 32. */
static inline uint32_t bf_ptx_shf_l_wrap(uint32_t a, uint32_t b, uint32_t amount)
{
	return b << (amount & 31) | a >> 1 >> (~amount & 31);
}
static inline uint32_t bf_ptx_shf_r_wrap(uint32_t a, uint32_t b, uint32_t amount)
{
	return a >> (amount & 31) | b << 1 << (~amount & 31);
}
static inline uint32_t bf_ptx_shf_l_clamp(uint32_t a, uint32_t b, uint32_t amount)
{
	return amount >= 32 ? a : bf_ptx_shf_l_wrap(a, b, amount);
}
static inline uint32_t bf_ptx_shf_r_clamp(uint32_t a, uint32_t b, uint32_t amount)
{
	return amount >= 32 ? b : bf_ptx_shf_r_wrap(a, b, amount);
}

/*
 * bfe: `length` bits from `position` on. The 32-bit forms take the low 8 bits of both; the 64-bit forms of an H100 take
 * them whole, against the manual. A field past the top is filled with zeros, or for .s with the sign: that of the
 * field's last bit, or of the register where the field passes it.
 */
static inline uint64_t bf_ptx_bfe_u64(uint64_t a, uint32_t position, uint32_t length)
{
	return bf_ptx_shr_u64(a, position) & (length < 64 ? (1ull << (length & 63)) - 1 : ~0ull);
}
static inline uint64_t bf_ptx_bfe_s64(uint64_t a, uint32_t position, uint32_t length)
{
	const uint64_t field = bf_ptx_shr_s64(a, position);
	const uint32_t above = length < 64 ? 64 - length : 0;
	return length == 0 ? 0 : (uint64_t)((int64_t)(field << above) >> above);
}
static inline uint32_t bf_ptx_bfe_u32(uint32_t a, uint32_t position, uint32_t length)
{
	position &= 255;
	length &= 255;
	return bf_ptx_shr_u32(a, position) & (length < 32 ? (1u << (length & 31)) - 1 : ~0u);
}
static inline uint32_t bf_ptx_bfe_s32(uint32_t a, uint32_t position, uint32_t length)
{
	position &= 255;
	length &= 255;
	const uint32_t field = bf_ptx_shr_s32(a, position);
	const uint32_t above = length < 32 ? (32 - length) & 31 : 0;
	return length == 0 ? 0 : (uint32_t)((int32_t)(field << above) >> above);
}

/* bfi: the low `length` bits of a put into b at `position`. Widths as for bfe. */
static inline uint32_t bf_ptx_bfi_b32(uint32_t a, uint32_t b, uint32_t position, uint32_t length)
{
	position &= 255;
	length &= 255;
	const uint32_t mask = bf_ptx_shl_b32(length < 32 ? (1u << (length & 31)) - 1 : ~0u, position);
	return (b & ~mask) | (bf_ptx_shl_b32(a, position) & mask);
}
static inline uint64_t bf_ptx_bfi_b64(uint64_t a, uint64_t b, uint32_t position, uint32_t length)
{
	const uint64_t mask = bf_ptx_shl_b64(length < 64 ? (1ull << (length & 63)) - 1 : ~0ull, position);
	return (b & ~mask) | (bf_ptx_shl_b64(a, position) & mask);
}

/* clz, popc, brev: counts are 32-bit, of a 64-bit register too; clz of 0 is the width. */
static inline uint32_t bf_ptx_clz_b32(uint32_t a)
{
	return a == 0 ? 32 : (uint32_t)__builtin_clz(a);
}
static inline uint32_t bf_ptx_clz_b64(uint64_t a)
{
	return a == 0 ? 64 : (uint32_t)__builtin_clzll(a);
}
static inline uint32_t bf_ptx_popc_b32(uint32_t a)
{
	a -= a >> 1 & 0x55555555u;
	a = (a & 0x33333333u) + (a >> 2 & 0x33333333u);
	return ((a + (a >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
static inline uint32_t bf_ptx_popc_b64(uint64_t a)
{
	return bf_ptx_popc_b32((uint32_t)a) + bf_ptx_popc_b32((uint32_t)(a >> 32));
}
static inline uint32_t bf_ptx_brev_b32(uint32_t a)
{
	a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
	a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
	a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
	return __builtin_bswap32(a);
}
static inline uint64_t bf_ptx_brev_b64(uint64_t a)
{
	return (uint64_t)bf_ptx_brev_b32((uint32_t)a) << 32 | bf_ptx_brev_b32((uint32_t)(a >> 32));
}

/* bfind: place of the highest bit that differs from the sign (.u: highest set bit), all ones if none. */
static inline uint32_t bf_ptx_bfind_u32(uint32_t a)
{
	return 31 - bf_ptx_clz_b32(a);
}
static inline uint32_t bf_ptx_bfind_u64(uint64_t a)
{
	return 63 - bf_ptx_clz_b64(a);
}
static inline uint32_t bf_ptx_bfind_s32(uint32_t a)
{
	return bf_ptx_bfind_u32(a ^ (uint32_t)((int32_t)a >> 31));
}
static inline uint32_t bf_ptx_bfind_s64(uint64_t a)
{
	return bf_ptx_bfind_u64(a ^ (uint64_t)((int64_t)a >> 63));
}

/* bfind.shiftamt: by how much to shift left so that the bit found becomes the highest, all ones if none. `place` is
 * what bfind without .shiftamt gives, `width` 32 or 64. */
static inline uint32_t bf_ptx_bfind_shiftamt(uint32_t place, uint32_t width)
{
	return place == ~0u ? place : width - 1 - place;
}

/* fns: place of the |offset|-th set bit of `mask` from `base` up (offset above 0) or down; base counts. */
uint32_t bf_ptx_fns_b32(uint32_t mask, uint32_t base, uint32_t offset);

/* szext: a's low n bits extended; .wrap takes n modulo 32, .clamp as 32 if above. */
static inline uint32_t bf_ptx_szext_clamp_u32(uint32_t a, uint32_t n)
{
	return n >= 32 ? a : a & ((1u << (n & 31)) - 1);
}
static inline uint32_t bf_ptx_szext_clamp_s32(uint32_t a, uint32_t n)
{
	const uint32_t above = (32 - n) & 31;
	return n >= 32 ? a : n == 0 ? 0 : (uint32_t)((int32_t)(a << above) >> above);
}
static inline uint32_t bf_ptx_szext_wrap_u32(uint32_t a, uint32_t n)
{
	return bf_ptx_szext_clamp_u32(a, n & 31);
}
static inline uint32_t bf_ptx_szext_wrap_s32(uint32_t a, uint32_t n)
{
	return bf_ptx_szext_clamp_s32(a, n & 31);
}

/* bmsk: n ones from bit a up; .wrap takes both modulo 32. */
static inline uint32_t bf_ptx_bmsk_clamp_b32(uint32_t a, uint32_t n)
{
	return bf_ptx_shl_b32(n >= 32 ? ~0u : (1u << (n & 31)) - 1, a);
}
static inline uint32_t bf_ptx_bmsk_wrap_b32(uint32_t a, uint32_t n)
{
	return bf_ptx_bmsk_clamp_b32(a & 31, n & 31);
}

/* lop3.b32: bit (a << 2 | b << 1 | c) of `table`, for each place. */
static inline uint32_t bf_ptx_lop3_b32(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
	uint32_t result = 0;
	for (uint32_t row = 0; row < 8; row++)
		result |= (0u - (table >> row & 1)) & (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
	return result;
}

/* prmt.b32 without a mode: nibble i of `selector` picks byte i of the result out of {b:a}; its bit 3 spreads the sign
 * of that byte. */
static inline uint32_t bf_ptx_prmt_b32(uint32_t a, uint32_t b, uint32_t selector)
{
	const uint64_t both = (uint64_t)b << 32 | a;
	uint32_t result = 0;
	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t pick = selector >> 4 * i;
		const uint32_t byte = (uint32_t)(both >> 8 * (pick & 7)) & 0xff;
		const uint32_t sign = 0xffu * (byte >> 7);
		result |= (pick & 8 ? sign : byte) << 8 * i;
	}
	return result;
}

/* The selector with which bf_ptx_prmt_b32() does what `mode` (BF_PTX_SUB_F4E to _RC16) does for c, of which bits 1:0
 * count. */
static inline uint32_t bf_ptx_prmt_selector(enum bf_ptx_sub mode, uint32_t c)
{
	static const uint16_t selectors[6][4] = {
		{ 0x3210, 0x4321, 0x5432, 0x6543 }, { 0x5670, 0x6701, 0x7012, 0x0123 },
		{ 0x0000, 0x1111, 0x2222, 0x3333 }, { 0x3210, 0x3211, 0x3222, 0x3333 },
		{ 0x0000, 0x1110, 0x2210, 0x3210 }, { 0x1010, 0x3232, 0x1010, 0x3232 },
	};
	return selectors[mode - BF_PTX_SUB_F4E][c & 3];
}

/* The `index`-th byte or half of a register, extended by its sign if `sign`. */
static inline uint32_t bf_ptx_byte(uint32_t a, uint32_t index, bool sign)
{
	const uint32_t byte = a >> 8 * index & 0xff;
	return sign ? (byte ^ 0x80u) - 0x80u : byte;
}
static inline uint32_t bf_ptx_half(uint32_t a, uint32_t index, bool sign)
{
	const uint32_t half = a >> 16 * index & 0xffff;
	return sign ? (half ^ 0x8000u) - 0x8000u : half;
}

/* dp4a: c plus the four products of bytes of a and b, each signed or not. */
static inline uint32_t bf_ptx_dp4a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, uint32_t c)
{
	for (uint32_t i = 0; i < 4; i++)
		c += bf_ptx_byte(a, i, a_signed) * bf_ptx_byte(b, i, b_signed);
	return c;
}

/* dp2a: c plus the two products of a's halves with bytes 0 and 1 of b (.lo), or with bytes 2 and 3 (.hi). */
static inline uint32_t bf_ptx_dp2a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, uint32_t c, bool hi)
{
	for (uint32_t i = 0; i < 2; i++)
		c += bf_ptx_half(a, i, a_signed) * bf_ptx_byte(b, i + (hi ? 2 : 0), b_signed);
	return c;
}

/* add, min, max of packed halves (.u16x2, .s16x2); .relu makes negative results 0 and exists for .s alone. */
static inline uint32_t bf_ptx_add_u16x2(uint32_t a, uint32_t b)
{
	return ((a & 0x7fff7fffu) + (b & 0x7fff7fffu)) ^ ((a ^ b) & 0x80008000u);
}
static inline uint32_t bf_ptx_pack16(uint32_t low, uint32_t high)
{
	return (low & 0xffff) | high << 16;
}
static inline uint32_t bf_ptx_min_u16x2(uint32_t a, uint32_t b)
{
	return bf_ptx_pack16(bf_ptx_min_u16((uint16_t)a, (uint16_t)b),
			     bf_ptx_min_u16((uint16_t)(a >> 16), (uint16_t)(b >> 16)));
}
static inline uint32_t bf_ptx_max_u16x2(uint32_t a, uint32_t b)
{
	return bf_ptx_pack16(bf_ptx_max_u16((uint16_t)a, (uint16_t)b),
			     bf_ptx_max_u16((uint16_t)(a >> 16), (uint16_t)(b >> 16)));
}
static inline uint32_t bf_ptx_min_s16x2(uint32_t a, uint32_t b)
{
	return bf_ptx_pack16(bf_ptx_min_s16((uint16_t)a, (uint16_t)b),
			     bf_ptx_min_s16((uint16_t)(a >> 16), (uint16_t)(b >> 16)));
}
static inline uint32_t bf_ptx_max_s16x2(uint32_t a, uint32_t b)
{
	return bf_ptx_pack16(bf_ptx_max_s16((uint16_t)a, (uint16_t)b),
			     bf_ptx_max_s16((uint16_t)(a >> 16), (uint16_t)(b >> 16)));
}
static inline uint32_t bf_ptx_relu_s16x2(uint32_t a)
{
	return bf_ptx_max_s16x2(a, 0);
}
static inline uint32_t bf_ptx_relu_s32(uint32_t a)
{
	return bf_ptx_max_s32(a, 0);
}

/* A comparison of integers: of types up to 64 bits the operands extended to 64, by sign for .s and by zeros else. */
static inline bool bf_ptx_compare_u64(enum bf_ptx_cmp compare, uint64_t a, uint64_t b)
{
	switch (compare) {
	case BF_PTX_CMP_EQ:
		return a == b;
	case BF_PTX_CMP_NE:
		return a != b;
	case BF_PTX_CMP_LT:
	case BF_PTX_CMP_LO:
		return a < b;
	case BF_PTX_CMP_LE:
	case BF_PTX_CMP_LS:
		return a <= b;
	case BF_PTX_CMP_GT:
	case BF_PTX_CMP_HI:
		return a > b;
	default:
		return a >= b;
	}
}
static inline bool bf_ptx_compare_s64(enum bf_ptx_cmp compare, uint64_t a, uint64_t b)
{
	return bf_ptx_compare_u64(compare, a ^ 1ull << 63, b ^ 1ull << 63);
}

/* The SIMD video instructions of one byte (v...4) or half (v...2) a lane, for the operations below. */
enum bf_ptx_video_op {
	BF_PTX_VADD,
	BF_PTX_VSUB,
	BF_PTX_VAVRG,
	BF_PTX_VABSDIFF,
	BF_PTX_VMIN,
	BF_PTX_VMAX,
	BF_PTX_VSET,
};
struct bf_ptx_video {
	enum bf_ptx_video_op op;
	enum bf_ptx_cmp compare; /* of VSET */
	uint8_t lanes;           /* 2 or 4 */
	bool a_signed;
	bool b_signed;
	bool d_signed;
	bool saturate;
	bool add;     /* .add: c plus the sum of all lanes' results; else c gives the lanes that `mask` leaves out */
	uint8_t mask; /* lanes that are written; all where the instruction names none */
	uint16_t a_select; /* four nibbles, which byte (or half) of {b:a} each lane takes; 0x3210 where not named, */
	uint16_t b_select; /* and 0x7654 for b; for halves 0x10 and 0x32 */
};

/* One SIMD video instruction. */
uint32_t bf_ptx_video(const struct bf_ptx_video *form, uint32_t a, uint32_t b, uint32_t c);

#endif
