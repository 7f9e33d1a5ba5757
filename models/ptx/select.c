/* From the form of an instruction to the elementwise operation that does it, and the types of its operands. */
#include "models/ptx/decode_internal.h"
#include "models/ptx/float.h"

#include <string.h>

#define FLAG(f, name) (((f)->flags & BF_PTX_FLAG(name)) != 0)

uint32_t bf_ptx_mode_of(const struct bf_ptx_form *f)
{
	uint32_t mode = 0;

	switch (f->round) {
	case BF_PTX_RZ:
	case BF_PTX_RZI:
		mode = BF_PTX_MODE_RZ;
		break;
	case BF_PTX_RM:
	case BF_PTX_RMI:
		mode = BF_PTX_MODE_RM;
		break;
	case BF_PTX_RP:
	case BF_PTX_RPI:
		mode = BF_PTX_MODE_RP;
		break;
	case BF_PTX_RNA:
		mode = BF_PTX_MODE_RNA;
		break;
	default:
		break;
	}
	mode |= FLAG(f, FTZ) ? BF_PTX_MODE_FTZ : 0;
	mode |= FLAG(f, SAT) ? BF_PTX_MODE_SAT : 0;
	mode |= FLAG(f, RELU) ? BF_PTX_MODE_RELU : 0;
	mode |= FLAG(f, SATFINITE) ? BF_PTX_MODE_SATFINITE : 0;
	mode |= FLAG(f, NAN_OUT) ? BF_PTX_MODE_NAN : 0;
	mode |= FLAG(f, XORSIGN) ? BF_PTX_MODE_XORSIGN : 0;
	mode |= FLAG(f, OOB) ? BF_PTX_MODE_OOB : 0;
	return mode;
}

/* One operation for each size or format of a type; 0 stands for none (operation 0 is a move, which nobody picks). */
struct family {
	uint16_t b16, b32, b64, f16, bf16, f16x2, bf16x2, f32, f64;
};

static uint16_t member(const struct family *m, uint32_t type)
{
	switch (type) {
	case BF_PTX_F16:
		return m->f16;
	case BF_PTX_BF16:
		return m->bf16;
	case BF_PTX_F16X2:
		return m->f16x2;
	case BF_PTX_BF16X2:
		return m->bf16x2;
	case BF_PTX_F32:
		return m->f32;
	case BF_PTX_F64:
		return m->f64;
	case BF_PTX_B16:
	case BF_PTX_U16:
	case BF_PTX_S16:
		return m->b16;
	case BF_PTX_B32:
	case BF_PTX_U32:
	case BF_PTX_S32:
		return m->b32;
	case BF_PTX_B64:
	case BF_PTX_U64:
	case BF_PTX_S64:
		return m->b64;
	default:
		return 0;
	}
}

#define OP(name) BF_PTX_LANE_##name
/* Operations that differ by sign for integers. */
#define SIGNED(t, name) (bf_ptx_type_letter((enum bf_ptx_type)(t)) == 's' ? OP(name##_S) : OP(name##_U))
#define INTEGERS(name)                                                                                                 \
	(struct family)                                                                                                \
	{                                                                                                              \
		.b16 = OP(name##16), .b32 = OP(name##32), .b64 = OP(name##64)                                          \
	}

static bool is_signed(uint32_t type)
{
	return bf_ptx_type_letter((enum bf_ptx_type)type) == 's';
}

static bool is_float(uint32_t type)
{
	return bf_ptx_type_letter((enum bf_ptx_type)type) == 'f';
}

static struct family by_sign(uint32_t type, struct family s, struct family u)
{
	return is_signed(type) ? s : u;
}

/* All operands are of one type. */
static bool alike(struct bf_ptx_pick *p, uint32_t op, uint32_t type, uint32_t sources, uint32_t mode)
{
	p->op = (uint16_t)op;
	p->mode = mode;
	p->sources = (uint8_t)sources;
	memset(p->types, (int)type, sizeof(p->types));
	return op != 0;
}

static bool typed(struct bf_ptx_pick *p, uint32_t to, uint32_t a, uint32_t b, uint32_t c, uint32_t e)
{
	p->types[0] = (uint8_t)to;
	p->types[1] = (uint8_t)a;
	p->types[2] = (uint8_t)b;
	p->types[3] = (uint8_t)c;
	p->types[4] = (uint8_t)e;
	return p->op != 0;
}

/* An f32 or f64 operation that has a form for the usual mode, one for .ftz, and one that looks at its mode. */
static uint32_t by_mode(uint32_t mode, uint32_t usual, uint32_t ftz, uint32_t other)
{
	return mode == 0 ? usual : mode == BF_PTX_MODE_FTZ && ftz != 0 ? ftz : other;
}

static bool select_add(const struct bf_ptx_form *f, struct bf_ptx_pick *p)
{
	const uint32_t t = f->types[0], mode = bf_ptx_mode_of(f);

	if (!is_float(t) && FLAG(f, SAT))
		return alike(p, t == BF_PTX_S32 ? OP(ADD_SAT_S32) : 0, t, 2, 0);
	if (t == BF_PTX_U16X2 || t == BF_PTX_S16X2)
		return alike(p, OP(ADD_U16X2), t, 2, 0);
	struct family m = INTEGERS(ADD_);
	m.f32 = (uint16_t)by_mode(mode, OP(ADD_F32), OP(ADD_FTZ_F32), OP(ADD_F32_MODE));
	m.f64 = (uint16_t)by_mode(mode, OP(ADD_F64), 0, OP(ADD_F64_MODE));
	m.f16 = OP(ADD_F16);
	m.bf16 = OP(ADD_BF16);
	m.f16x2 = OP(ADD_F16X2);
	m.bf16x2 = OP(ADD_BF16X2);
	return alike(p, member(&m, t), t, 2, mode);
}

static bool select_sub(const struct bf_ptx_form *f, struct bf_ptx_pick *p)
{
	const uint32_t t = f->types[0], mode = bf_ptx_mode_of(f);

	if (!is_float(t) && FLAG(f, SAT))
		return alike(p, t == BF_PTX_S32 ? OP(SUB_SAT_S32) : 0, t, 2, 0);
	struct family m = INTEGERS(SUB_);
	m.f32 = (uint16_t)by_mode(mode, OP(SUB_F32), OP(SUB_FTZ_F32), OP(SUB_F32_MODE));
	m.f64 = (uint16_t)by_mode(mode, OP(SUB_F64), 0, OP(SUB_F64_MODE));
	m.f16 = OP(SUB_F16);
	m.bf16 = OP(SUB_BF16);
	m.f16x2 = OP(SUB_F16X2);
	m.bf16x2 = OP(SUB_BF16X2);
	return alike(p, member(&m, t), t, 2, mode);
}

static bool select_mul(const struct bf_ptx_form *f, struct bf_ptx_pick *p)
{
	const uint32_t t = f->types[0], mode = bf_ptx_mode_of(f);

	if (FLAG(f, WIDE)) {
		const bool s = is_signed(t), half = bf_ptx_bits(t) == 16;
		alike(p,
		      half ? (s ? OP(MUL_WIDE_S16) : OP(MUL_WIDE_U16))
		      : s  ? OP(MUL_WIDE_S32)
			   : OP(MUL_WIDE_U32),
		      t, 2, 0);
		return typed(p, half ? BF_PTX_U32 : BF_PTX_U64, t, t, t, t) && bf_ptx_bits(t) <= 32;
	}
	struct family m = INTEGERS(MUL_);
	if (FLAG(f, HI_HALF))
		m = by_sign(t, INTEGERS(MUL_HI_S), INTEGERS(MUL_HI_U));
	m.f32 = (uint16_t)by_mode(mode, OP(MUL_F32), OP(MUL_FTZ_F32), OP(MUL_F32_MODE));
	m.f64 = (uint16_t)by_mode(mode, OP(MUL_F64), 0, OP(MUL_F64_MODE));
	m.f16 = OP(MUL_F16);
	m.bf16 = OP(MUL_BF16);
	m.f16x2 = OP(MUL_F16X2);
	m.bf16x2 = OP(MUL_BF16X2);
	return alike(p, member(&m, t), t, 2, mode);
}

static bool select_fma(const struct bf_ptx_form *f, struct bf_ptx_pick *p)
{
	const uint32_t t = f->types[0], mode = bf_ptx_mode_of(f);
	const struct family m = {
		.f32 = (uint16_t)by_mode(mode, OP(FMA_F32), OP(FMA_FTZ_F32), OP(FMA_F32_MODE)),
		.f64 = OP(FMA_F64),
		.f16 = OP(FMA_F16),
		.bf16 = OP(FMA_BF16),
		.f16x2 = OP(FMA_F16X2),
		.bf16x2 = OP(FMA_BF16X2),
	};
	return alike(p, member(&m, t), t, 3, mode);
}

static bool select_mad(const struct bf_ptx_form *f, struct bf_ptx_pick *p)
{
	const uint32_t t = f->types[0];

	if (is_float(t))
		return select_fma(f, p);
	if (FLAG(f, WIDE)) {
		const bool s = is_signed(t), half = bf_ptx_bits(t) == 16;
		const uint32_t to = half ? BF_PTX_U32 : BF_PTX_U64;
		alike(p,
		      half ? (s ? OP(MAD_WIDE_S16) : OP(MAD_WIDE_U16))
		      : s  ? OP(MAD_WIDE_S32)
			   : OP(MAD_WIDE_U32),
		      t, 3, 0);
		return typed(p, to, t, t, to, t) && bf_ptx_bits(t) <= 32;
	}
	if (FLAG(f, SAT))
		return alike(p, FLAG(f, HI_HALF) && t == BF_PTX_S32 ? OP(MAD_HI_SAT_S32) : 0, t, 3, 0);
	const struct family m = FLAG(f, HI_HALF) ? by_sign(t, INTEGERS(MAD_HI_S), INTEGERS(MAD_HI_U)) : INTEGERS(MAD_);
	return alike(p, member(&m, t), t, 3, 0);
}

static bool select_mul24(const struct bf_ptx_form *f, struct bf_ptx_pick *p)
{
	const bool s = f->types[0] == BF_PTX_S32, hi = FLAG(f, HI_HALF), mad = f->op == BF_PTX_OP_MAD24;

	if (FLAG(f, SAT))
		return alike(p, mad && hi && s ? OP(MAD24_HI_SAT_S32) : 0, f->types[0], 3, 0);
	if (mad)
		return alike(p,
			     hi  ? (s ? OP(MAD24_HI_S32) : OP(MAD24_HI_U32))
			     : s ? OP(MAD24_LO_S32)
				 : OP(MAD24_LO_U32),
			     f->types[0], 3, 0);
	return alike(p,
		     hi  ? (s ? OP(MUL24_HI_S32) : OP(MUL24_HI_U32))
		     : s ? OP(MUL24_LO_S32)
			 : OP(MUL24_LO_U32),
		     f->types[0], 2, 0);
}

static bool select_div(const struct bf_ptx_form *f, struct bf_ptx_pick *p)
{
	const uint32_t t = f->types[0];
	struct family m = by_sign(t, INTEGERS(DIV_S), INTEGERS(DIV_U));

	m.f32 = FLAG(f, APPROX) ? OP(DIV_APPROX_F32) : FLAG(f, FULL) ? OP(DIV_FULL_F32) : OP(DIV_F32);
	m.f64 = OP(DIV_F64);
	return alike(p, member(&m, t), t, 2, bf_ptx_mode_of(f));
}

static bool select_min_max(const struct bf_ptx_form *f, uint32_t operands, struct bf_ptx_pick *p)
{
	const uint32_t t = f->types[0], mode = bf_ptx_mode_of(f);
	const bool max = f->op == BF_PTX_OP_MAX, relu = FLAG(f, RELU);

	if (operands != 3)
		return false;
	if (t == BF_PTX_U16X2)
		return alike(p, max ? OP(MAX_U16X2) : OP(MIN_U16X2), t, 2, 0);
	if (t == BF_PTX_S16X2)
		return alike(p,
			     relu  ? (max ? OP(MAX_RELU_S16X2) : OP(MIN_RELU_S16X2))
			     : max ? OP(MAX_S16X2)
				   : OP(MIN_S16X2),
			     t, 2, 0);
	if (relu && t == BF_PTX_S32)
		return alike(p, max ? OP(MAX_RELU_S32) : OP(MIN_RELU_S32), t, 2, 0);
	if (relu && !is_float(t))
		return false;
	struct family m =
	    max ? by_sign(t, INTEGERS(MAX_S), INTEGERS(MAX_U)) : by_sign(t, INTEGERS(MIN_S), INTEGERS(MIN_U));
	m.f32 = (uint16_t)(mode == 0 ? (max ? OP(MAX_F32) : OP(MIN_F32)) : max ? OP(MAX_F32_MODE) : OP(MIN_F32_MODE));
	m.f64 = max ? OP(MAX_F64) : OP(MIN_F64);
	m.f16 = max ? OP(MAX_F16) : OP(MIN_F16);
	m.bf16 = max ? OP(MAX_BF16) : OP(MIN_BF16);
	m.f16x2 = max ? OP(MAX_F16X2) : OP(MIN_F16X2);
	m.bf16x2 = max ? OP(MAX_BF16X2) : OP(MIN_BF16X2);
	return alike(p, member(&m, t), t, 2, mode);
}

static bool select_sign(const struct bf_ptx_form *f, struct bf_ptx_pick *p)
{
	const uint32_t t = f->types[0], mode = bf_ptx_mode_of(f);
	const bool neg = f->op == BF_PTX_OP_NEG;
	struct family m = neg ? INTEGERS(NEG_S) : INTEGERS(ABS_S);

	if (!is_float(t) && !is_signed(t))
		return false;
	m.f32 = (uint16_t)(mode == 0 ? (neg ? OP(NEG_F32) : OP(ABS_F32)) : neg ? OP(NEG_F32_MODE) : OP(ABS_F32_MODE));
	m.f64 = neg ? OP(NEG_F64) : OP(ABS_F64);
	m.f16 = neg ? OP(NEG_F16) : OP(ABS_F16);
	m.bf16 = neg ? OP(NEG_BF16) : OP(ABS_BF16);
	m.f16x2 = neg ? OP(NEG_F16X2) : OP(ABS_F16X2);
	m.bf16x2 = neg ? OP(NEG_BF16X2) : OP(ABS_BF16X2);
	return alike(p, member(&m, t), t, 1, mode);
}

/* Functions of one floating-point number. */
static bool select_function(const struct bf_ptx_form *f, struct bf_ptx_pick *p)
{
	const uint32_t t = f->types[0];
	const bool approx = FLAG(f, APPROX);
	struct family m = { 0 };

	switch (f->op) {
	case BF_PTX_OP_RCP:
		m.f32 = approx ? OP(RCP_APPROX_F32) : OP(RCP_F32);
		m.f64 = approx ? OP(RCP_APPROX_F64) : OP(RCP_F64);
		break;
	case BF_PTX_OP_SQRT:
		m.f32 = approx ? OP(SQRT_APPROX_F32) : OP(SQRT_F32);
		m.f64 = approx ? 0 : OP(SQRT_F64);
		break;
	case BF_PTX_OP_RSQRT:
		m.f32 = OP(RSQRT_F32);
		m.f64 = OP(RSQRT_F64);
		break;
	case BF_PTX_OP_EX2:
		m = (struct family){ .f32 = OP(EX2_F32),
				     .f16 = OP(EX2_F16),
				     .bf16 = OP(EX2_BF16),
				     .f16x2 = OP(EX2_F16X2),
				     .bf16x2 = OP(EX2_BF16X2) };
		break;
	case BF_PTX_OP_TANH:
		m = (struct family){ .f32 = OP(TANH_F32),
				     .f16 = OP(TANH_F16),
				     .bf16 = OP(TANH_BF16),
				     .f16x2 = OP(TANH_F16X2),
				     .bf16x2 = OP(TANH_BF16X2) };
		break;
	case BF_PTX_OP_LG2:
		m.f32 = OP(LG2_F32);
		break;
	case BF_PTX_OP_SIN:
		m.f32 = OP(SIN_F32);
		break;
	default:
		m.f32 = OP(COS_F32);
	}
	return alike(p, member(&m, t), t, 1, bf_ptx_mode_of(f));
}

static bool select_bits(const struct bf_ptx_form *f, struct bf_ptx_pick *p)
{
	const uint32_t t = f->types[0], bits = bf_ptx_bits(t);
	const bool wide = bits == 64, s = is_signed(t), wrap = FLAG(f, WRAP);
	struct family m;

	switch (f->op) {
	case BF_PTX_OP_AND:
		return alike(p, wide ? OP(AND_64) : OP(AND_32), t, 2, 0);
	case BF_PTX_OP_OR:
		return alike(p, wide ? OP(OR_64) : OP(OR_32), t, 2, 0);
	case BF_PTX_OP_XOR:
		return alike(p, wide ? OP(XOR_64) : OP(XOR_32), t, 2, 0);
	case BF_PTX_OP_NOT:
		m = INTEGERS(NOT_);
		return alike(p, member(&m, t), t, 1, 0);
	case BF_PTX_OP_CNOT:
		m = INTEGERS(CNOT_);
		return alike(p, member(&m, t), t, 1, 0);
	case BF_PTX_OP_SHL:
	case BF_PTX_OP_SHR:
		m = f->op == BF_PTX_OP_SHL ? INTEGERS(SHL_) : by_sign(t, INTEGERS(SHR_S), INTEGERS(SHR_U));
		alike(p, member(&m, t), t, 2, 0);
		return typed(p, t, t, BF_PTX_U32, t, t);
	case BF_PTX_OP_SHF:
		return alike(p,
			     FLAG(f, LEFT) ? (wrap ? OP(SHF_L_WRAP) : OP(SHF_L_CLAMP))
			     : wrap        ? OP(SHF_R_WRAP)
					   : OP(SHF_R_CLAMP),
			     BF_PTX_B32, 3, 0);
	case BF_PTX_OP_BFE:
		alike(p, wide ? (s ? OP(BFE_S64) : OP(BFE_U64)) : s ? OP(BFE_S32) : OP(BFE_U32), t, 3, 0);
		return typed(p, t, t, BF_PTX_U32, BF_PTX_U32, BF_PTX_U32);
	case BF_PTX_OP_BFI:
		alike(p, wide ? OP(BFI_64) : OP(BFI_32), t, 4, 0);
		return typed(p, t, t, t, BF_PTX_U32, BF_PTX_U32);
	case BF_PTX_OP_BFIND:
		alike(p,
		      wide ? (s ? OP(BFIND_S64) : OP(BFIND_U64))
		      : s  ? OP(BFIND_S32)
			   : OP(BFIND_U32),
		      t, 1, FLAG(f, SHIFTAMT));
		return typed(p, BF_PTX_U32, t, t, t, t);
	case BF_PTX_OP_CLZ:
		alike(p, wide ? OP(CLZ_64) : OP(CLZ_32), t, 1, 0);
		return typed(p, BF_PTX_U32, t, t, t, t);
	case BF_PTX_OP_POPC:
		alike(p, wide ? OP(POPC_64) : OP(POPC_32), t, 1, 0);
		return typed(p, BF_PTX_U32, t, t, t, t);
	case BF_PTX_OP_BREV:
		return alike(p, wide ? OP(BREV_64) : OP(BREV_32), t, 1, 0);
	case BF_PTX_OP_FNS:
		return alike(p, OP(FNS), BF_PTX_B32, 3, 0);
	case BF_PTX_OP_SZEXT:
		return alike(p,
			     wrap ? (s ? OP(SZEXT_WRAP_S32) : OP(SZEXT_WRAP_U32))
			     : s  ? OP(SZEXT_CLAMP_S32)
				  : OP(SZEXT_CLAMP_U32),
			     BF_PTX_B32, 2, 0);
	case BF_PTX_OP_BMSK:
		return alike(p, wrap ? OP(BMSK_WRAP) : OP(BMSK_CLAMP), BF_PTX_B32, 2, 0);
	case BF_PTX_OP_PRMT:
		return alike(p, f->sub == BF_PTX_SUB_NONE ? OP(PRMT) : OP(PRMT_MODE), BF_PTX_B32, 3, f->sub);
	case BF_PTX_OP_LOP3:
		return alike(p, OP(LOP3), BF_PTX_B32, 3, 0);
	default:
		return false;
	}
}

static bool select_rest(const struct bf_ptx_form *f, struct bf_ptx_pick *p)
{
	const uint32_t t = f->types[0];
	struct family m;

	switch (f->op) {
	case BF_PTX_OP_REM:
		m = by_sign(t, INTEGERS(REM_S), INTEGERS(REM_U));
		return alike(p, member(&m, t), t, 2, 0);
	case BF_PTX_OP_SAD:
		m = by_sign(t, INTEGERS(SAD_S), INTEGERS(SAD_U));
		return alike(p, member(&m, t), t, 3, 0);
	case BF_PTX_OP_COPYSIGN:
		return alike(p, t == BF_PTX_F64 ? OP(COPYSIGN_F64) : OP(COPYSIGN_F32), t, 2, 0);
	case BF_PTX_OP_DP4A:
	case BF_PTX_OP_DP2A:
		return alike(p, f->op == BF_PTX_OP_DP4A ? OP(DP4A) : OP(DP2A), BF_PTX_B32, 3,
			     (is_signed(t) ? 1u : 0u) | (is_signed(f->types[1]) ? 2u : 0u) |
				 (FLAG(f, HI_HALF) ? 4u : 0u));
	case BF_PTX_OP_VABSDIFF4:
		return alike(p, OP(VABSDIFF4), BF_PTX_B32, 3,
			     (is_signed(f->types[1]) ? 1u : 0u) | (is_signed(f->types[2]) ? 2u : 0u) |
				 (is_signed(t) ? 4u : 0u) | (FLAG(f, SAT) ? 8u : 0u) |
				 (f->sub == BF_PTX_SUB_ADD ? 16u : 0u));
	case BF_PTX_OP_SLCT: {
		const bool by_float = f->types[1] == BF_PTX_F32, wide = bf_ptx_bits(t) == 64;
		alike(p,
		      by_float ? (wide ? OP(SLCT_64_F32) : OP(SLCT_32_F32))
		      : wide   ? OP(SLCT_64_S32)
			       : OP(SLCT_32_S32),
		      t, 3, bf_ptx_mode_of(f));
		return typed(p, t, t, t, f->types[1], t);
	}
	case BF_PTX_OP_CVT_PACK:
		alike(p, OP(CVT_PACK), BF_PTX_B32, f->type_count > 2 ? 3 : 2, t << 24 | is_signed(f->types[1]));
		return true;
	default:
		return false;
	}
}

bool bf_ptx_select(const struct bf_ptx_form *f, uint32_t operands, struct bf_ptx_pick *out)
{
	*out = (struct bf_ptx_pick){ 0 };
	if (f->type_count == 0 || f->unknown != NULL)
		return false;
	switch (f->op) {
	case BF_PTX_OP_ADD:
		return select_add(f, out);
	case BF_PTX_OP_SUB:
		return select_sub(f, out);
	case BF_PTX_OP_MUL:
		return select_mul(f, out);
	case BF_PTX_OP_FMA:
		return select_fma(f, out);
	case BF_PTX_OP_MAD:
		return select_mad(f, out);
	case BF_PTX_OP_MUL24:
	case BF_PTX_OP_MAD24:
		return select_mul24(f, out);
	case BF_PTX_OP_DIV:
		return select_div(f, out);
	case BF_PTX_OP_MIN:
	case BF_PTX_OP_MAX:
		return select_min_max(f, operands, out);
	case BF_PTX_OP_NEG:
	case BF_PTX_OP_ABS:
		return select_sign(f, out);
	case BF_PTX_OP_RCP:
	case BF_PTX_OP_SQRT:
	case BF_PTX_OP_RSQRT:
	case BF_PTX_OP_EX2:
	case BF_PTX_OP_LG2:
	case BF_PTX_OP_SIN:
	case BF_PTX_OP_COS:
	case BF_PTX_OP_TANH:
		return select_function(f, out);
	case BF_PTX_OP_TESTP:
		alike(out, f->types[0] == BF_PTX_F64 ? OP(TESTP_F64) : OP(TESTP_F32), f->types[0], 1, 0);
		out->mode = (uint32_t)f->sub << 8;
		out->types[0] = BF_PTX_PRED;
		return true;
	default:
		return select_bits(f, out) || select_rest(f, out);
	}
}

/* A comparison of integers: less and less-or-equal, with operands in either order. */
static bool select_integers(const struct bf_ptx_form *f, uint32_t type, struct bf_ptx_pick *p)
{
	const bool wide = bf_ptx_bits(type) == 64, half = bf_ptx_bits(type) == 16, s = is_signed(type);
	bool less = false;

	switch (f->cmp) {
	case BF_PTX_CMP_EQ:
		return alike(p, wide ? OP(EQ_64) : OP(EQ_32), type, 2, 0);
	case BF_PTX_CMP_NE:
		return alike(p, wide ? OP(NE_64) : OP(NE_32), type, 2, 0);
	case BF_PTX_CMP_GT:
	case BF_PTX_CMP_HI:
		p->swap = true;
		less = true;
		break;
	case BF_PTX_CMP_LT:
	case BF_PTX_CMP_LO:
		less = true;
		break;
	case BF_PTX_CMP_GE:
	case BF_PTX_CMP_HS:
		p->swap = true;
		break;
	case BF_PTX_CMP_LE:
	case BF_PTX_CMP_LS:
		break;
	default:
		return false;
	}
	if (wide)
		return alike(p, less ? (s ? OP(LT_S64) : OP(LT_U64)) : s ? OP(LE_S64) : OP(LE_U64), type, 2, 0);
	if (half && s)
		return alike(p, less ? OP(LT_S16) : OP(LE_S16), type, 2, 0);
	return alike(p, less ? (s ? OP(LT_S32) : OP(LT_U32)) : s ? OP(LE_S32) : OP(LE_U32), type, 2, 0);
}

bool bf_ptx_select_compare(const struct bf_ptx_form *f, enum bf_ptx_type type, struct bf_ptx_pick *out)
{
	const uint32_t mode = bf_ptx_mode_of(f) << 16 | (uint32_t)f->cmp << 8;

	*out = (struct bf_ptx_pick){ 0 };
	switch (type) {
	case BF_PTX_F16:
		return alike(out, OP(COMPARE_F16), type, 2, mode);
	case BF_PTX_BF16:
		return alike(out, OP(COMPARE_BF16), type, 2, mode);
	case BF_PTX_F64:
		return alike(out, OP(COMPARE_F64), type, 2, mode);
	case BF_PTX_F32:
		if (mode >> 16 == 0) {
			switch (f->cmp) {
			case BF_PTX_CMP_EQ:
				return alike(out, OP(EQ_F32), type, 2, 0);
			case BF_PTX_CMP_NE:
				return alike(out, OP(NE_F32), type, 2, 0);
			case BF_PTX_CMP_LT:
				return alike(out, OP(LT_F32), type, 2, 0);
			case BF_PTX_CMP_LE:
				return alike(out, OP(LE_F32), type, 2, 0);
			case BF_PTX_CMP_GT:
				return alike(out, OP(GT_F32), type, 2, 0);
			case BF_PTX_CMP_GE:
				return alike(out, OP(GE_F32), type, 2, 0);
			default:
				break;
			}
		}
		return alike(out, OP(COMPARE_F32), type, 2, mode);
	default:
		return !is_float(type) && bf_ptx_bits(type) >= 16 && select_integers(f, type, out);
	}
}
