/* Comparisons, predicates, carries, and everything else that is one operation for each lane. */
#include "models/ptx/decode_internal.h"

static uint32_t combine_of(uint32_t sub)
{
	return sub == BF_PTX_SUB_AND  ? BF_PTX_COMBINE_AND
	       : sub == BF_PTX_SUB_OR ? BF_PTX_COMBINE_OR
				      : BF_PTX_COMBINE_XOR;
}

/* Predicates to (and its complement to `other`) of the comparison of a and b. */
static void emit_compare(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s, enum bf_ptx_type type, uint32_t a,
			 uint32_t b, uint32_t to, uint32_t other)
{
	struct bf_ptx_pick p;

	if (!bf_ptx_select_compare(s->form, type, &p)) {
		d->refused = "a comparison of this type";
		return;
	}
	uint32_t c = BF_PTX_REF_NONE, combine = BF_PTX_COMBINE_NONE;
	if (s->operand_count > 3) {
		const struct bf_ptx_operand *third = &s->operands[3];
		c = bf_ptx_read(d, third, BF_PTX_PRED);
		combine = combine_of(s->form->sub);
		if (third->kind == BF_PTX_OPERAND_REG && third->negate)
			combine |= BF_PTX_COMBINE_INVERT;
	}
	struct bf_ptx_operation *o = bf_ptx_emit_lanes(d, p.op, to, p.swap ? b : a, p.swap ? a : b, BF_PTX_REF_NONE);
	o->mode = p.mode | combine;
	bf_ptx_field(o, BF_PTX_FIELD_C, c != BF_PTX_REF_NONE ? BF_PTX_ROLE_USE : BF_PTX_ROLE_NONE, c);
	bf_ptx_field(o, BF_PTX_FIELD_E, other != BF_PTX_REF_NONE ? BF_PTX_ROLE_DEF : BF_PTX_ROLE_NONE, other);
}

/* The type of one half of a packed pair, or NONE. */
static enum bf_ptx_type half_of(uint32_t type)
{
	return type == BF_PTX_F16X2 ? BF_PTX_F16 : type == BF_PTX_BF16X2 ? BF_PTX_BF16 : BF_PTX_TYPE_NONE;
}

/* One half of a packed pair: 0 the lower one. */
static uint32_t emit_half(struct bf_ptx_decoder *d, uint32_t v, uint32_t half)
{
	const uint32_t to = bf_ptx_vreg_new(d, BF_PTX_CLASS_32);

	bf_ptx_emit_lanes(d, half == 0 ? BF_PTX_LANE_EXTEND_U16 : BF_PTX_LANE_HIGH_16, to, v, BF_PTX_REF_NONE,
			  BF_PTX_REF_NONE);
	return to;
}

static void emit_move_pred(struct bf_ptx_decoder *d, uint32_t to, uint32_t from)
{
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_PRED);

	o->simple = true;
	o->mode = BF_PTX_PRED_MOV;
	bf_ptx_field(o, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, to);
	bf_ptx_field(o, BF_PTX_FIELD_A, BF_PTX_ROLE_USE, from);
	bf_ptx_field(o, BF_PTX_FIELD_B, BF_PTX_ROLE_USE, from);
}

void bf_ptx_lower_setp(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const struct bf_ptx_operand *to = &s->operands[0];
	uint32_t first, second = BF_PTX_REF_NONE;

	if (to->kind == BF_PTX_OPERAND_PAIR) {
		first = bf_ptx_written(d, &to->elems[0], BF_PTX_CLASS_PRED);
		second = bf_ptx_written(d, &to->elems[1], BF_PTX_CLASS_PRED);
	} else {
		first = bf_ptx_written(d, to, BF_PTX_CLASS_PRED);
	}
	const enum bf_ptx_type type = (enum bf_ptx_type)s->form->types[0], half = half_of(type);
	const uint32_t a = bf_ptx_read(d, &s->operands[1], type), b = bf_ptx_read(d, &s->operands[2], type);
	if (half == BF_PTX_TYPE_NONE) {
		emit_compare(d, s, type, a, b, first, second);
		return;
	}
	/* Of packed pairs p is the lower comparison, q the upper one. */
	const uint32_t low = bf_ptx_vreg_new(d, BF_PTX_CLASS_PRED);
	emit_compare(d, s, half, emit_half(d, a, 0), emit_half(d, b, 0), low, BF_PTX_REF_NONE);
	if (second != BF_PTX_REF_NONE)
		emit_compare(d, s, half, emit_half(d, a, 1), emit_half(d, b, 1), second, BF_PTX_REF_NONE);
	emit_move_pred(d, first, low);
}

static void emit_selp(struct bf_ptx_decoder *d, uint32_t to, enum bf_ptx_class cls, uint32_t a, uint32_t b, uint32_t p,
		      bool negate)
{
	struct bf_ptx_operation *o =
	    bf_ptx_emit_lanes(d, cls == BF_PTX_CLASS_64 ? BF_PTX_LANE_SELP_64 : BF_PTX_LANE_SELP_32, to, a, b, p);
	o->mode = negate;
}

/* What set gives where the comparison holds. */
static uint64_t truth_of(uint32_t type)
{
	switch (type) {
	case BF_PTX_F32:
		return 0x3f800000u;
	case BF_PTX_F16:
		return 0x3c00u;
	case BF_PTX_BF16:
		return 0x3f80u;
	default:
		return bf_ptx_bits(type) < 32 ? 0xffffu : 0xffffffffu;
	}
}

static uint32_t emit_set(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s, enum bf_ptx_type type, uint32_t a,
			 uint32_t b, uint32_t truth, uint32_t to)
{
	const uint32_t p = bf_ptx_vreg_new(d, BF_PTX_CLASS_PRED);

	if (to == BF_PTX_REF_NONE)
		to = bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
	emit_compare(d, s, type, a, b, p, BF_PTX_REF_NONE);
	emit_selp(d, to, BF_PTX_CLASS_32, bf_ptx_constant(d, BF_PTX_CLASS_32, truth),
		  bf_ptx_constant(d, BF_PTX_CLASS_32, 0), p, false);
	return to;
}

void bf_ptx_lower_set(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const enum bf_ptx_type type = (enum bf_ptx_type)s->form->types[1], half = half_of(type);
	const uint32_t a = bf_ptx_read(d, &s->operands[1], type), b = bf_ptx_read(d, &s->operands[2], type);
	const uint32_t to = bf_ptx_written(d, &s->operands[0], BF_PTX_CLASS_32);

	if (half == BF_PTX_TYPE_NONE) {
		emit_set(d, s, type, a, b, (uint32_t)truth_of(s->form->types[0]), to);
		return;
	}
	/* Packed pairs: the two halves, each 1.0, or all ones for .u32 and .s32. */
	const enum bf_ptx_type to_half = half_of(s->form->types[0]);
	const uint32_t truth = to_half == BF_PTX_TYPE_NONE ? 0xffffu : (uint32_t)truth_of(to_half);
	const uint32_t low = emit_set(d, s, half, emit_half(d, a, 0), emit_half(d, b, 0), truth, BF_PTX_REF_NONE);
	const uint32_t high = emit_set(d, s, half, emit_half(d, a, 1), emit_half(d, b, 1), truth, BF_PTX_REF_NONE);
	bf_ptx_emit_lanes(d, BF_PTX_LANE_PACK_32, to, low, high, BF_PTX_REF_NONE);
}

void bf_ptx_lower_selp(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const enum bf_ptx_type type = (enum bf_ptx_type)s->form->types[0];
	const enum bf_ptx_class cls = bf_ptx_class_of(type);

	const uint32_t a = bf_ptx_read(d, &s->operands[1], type), b = bf_ptx_read(d, &s->operands[2], type);
	const uint32_t p = bf_ptx_read(d, &s->operands[3], BF_PTX_PRED);
	emit_selp(d, bf_ptx_written(d, &s->operands[0], cls), cls, a, b, p,
		  s->operands[3].kind == BF_PTX_OPERAND_REG && s->operands[3].negate);
}

void bf_ptx_lower_pred(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s, enum bf_ptx_pred_mode mode)
{
	const uint32_t a = bf_ptx_read_pred(d, &s->operands[1]);
	const uint32_t b = s->operand_count > 2 ? bf_ptx_read_pred(d, &s->operands[2]) : a;
	const uint32_t to = bf_ptx_written(d, &s->operands[0], BF_PTX_CLASS_PRED);
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_PRED);

	o->simple = true;
	o->mode = mode;
	bf_ptx_field(o, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, to);
	bf_ptx_field(o, BF_PTX_FIELD_A, BF_PTX_ROLE_USE, a);
	bf_ptx_field(o, BF_PTX_FIELD_B, BF_PTX_ROLE_USE, b);
}

/* add.cc, addc, sub.cc, subc, mad.cc, madc: the carry flag is a predicate of the function. */
void bf_ptx_lower_carry(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const struct bf_ptx_form *f = s->form;
	const enum bf_ptx_type type = (enum bf_ptx_type)f->types[0];
	const bool wide = bf_ptx_bits(type) == 64, out = (f->flags & BF_PTX_FLAG(CC)) != 0;
	const bool is_signed = bf_ptx_type_letter(type) == 's';
	uint32_t op, mode = BF_PTX_CARRY_IN;

	switch (f->op) {
	case BF_PTX_OP_ADD:
		mode = BF_PTX_CARRY_ZERO;
		/* fall through */
	case BF_PTX_OP_ADDC:
		op = wide ? BF_PTX_LANE_ADDC_64 : BF_PTX_LANE_ADDC_32;
		break;
	case BF_PTX_OP_SUB:
		mode = BF_PTX_CARRY_ONE;
		/* fall through */
	case BF_PTX_OP_SUBC:
		op = wide ? BF_PTX_LANE_SUBC_64 : BF_PTX_LANE_SUBC_32;
		break;
	default:
		if (f->op == BF_PTX_OP_MAD)
			mode = BF_PTX_CARRY_ZERO;
		if (f->flags & BF_PTX_FLAG(HI_HALF))
			op = wide ? (is_signed ? BF_PTX_LANE_MADC_HI_S64 : BF_PTX_LANE_MADC_HI_U64)
				  : (is_signed ? BF_PTX_LANE_MADC_HI_S32 : BF_PTX_LANE_MADC_HI_U32);
		else
			op = wide ? BF_PTX_LANE_MADC_LO_64 : BF_PTX_LANE_MADC_LO_32;
	}
	if (d->carry == BF_PTX_REF_NONE)
		d->carry = bf_ptx_vreg_new(d, BF_PTX_CLASS_PRED);
	const uint32_t a = bf_ptx_read(d, &s->operands[1], type), b = bf_ptx_read(d, &s->operands[2], type);
	const uint32_t c = s->operand_count > 3 ? bf_ptx_read(d, &s->operands[3], type) : a;
	struct bf_ptx_operation *o =
	    bf_ptx_emit_lanes(d, op, bf_ptx_written(d, &s->operands[0], bf_ptx_class_of(type)), a, b, c);
	o->mode = mode | (out ? BF_PTX_CARRY_OUT : 0);
	bf_ptx_field(o, BF_PTX_FIELD_E, BF_PTX_ROLE_BOTH, d->carry);
}

/* min and max of three: of two, and of that and the third. .abs: of magnitudes. False: no such form. */
static bool lower_three(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const uint32_t op = s->form->op;
	struct bf_ptx_pick p;
	uint32_t v[3];

	if ((op != BF_PTX_OP_MIN && op != BF_PTX_OP_MAX) || s->operand_count != 4 || s->form->types[0] != BF_PTX_F32 ||
	    !bf_ptx_select(s->form, 3, &p))
		return false;
	for (uint32_t k = 0; k < 3; k++) {
		v[k] = bf_ptx_read(d, &s->operands[k + 1], BF_PTX_F32);
		if (s->form->flags & BF_PTX_FLAG(ABS_MOD)) {
			const uint32_t abs = bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
			bf_ptx_emit_lanes(d, BF_PTX_LANE_ABS_F32, abs, v[k], BF_PTX_REF_NONE, BF_PTX_REF_NONE);
			v[k] = abs;
		}
	}
	const uint32_t two = bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
	bf_ptx_emit_lanes(d, p.op, two, v[0], v[1], BF_PTX_REF_NONE)->mode = p.mode;
	bf_ptx_emit_lanes(d, p.op, bf_ptx_written(d, &s->operands[0], BF_PTX_CLASS_32), two, v[2], BF_PTX_REF_NONE)
	    ->mode = p.mode;
	return true;
}

/* One result of elementwise operands. False: no such form. */
bool bf_ptx_lower_lanes(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	struct bf_ptx_pick p;
	uint32_t v[4] = { BF_PTX_REF_NONE, BF_PTX_REF_NONE, BF_PTX_REF_NONE, BF_PTX_REF_NONE };

	if (lower_three(d, s))
		return true;
	if (!bf_ptx_select(s->form, s->operand_count, &p))
		return false;
	for (uint32_t k = 0; k < p.sources; k++)
		v[k] = bf_ptx_read(d, &s->operands[k + 1], (enum bf_ptx_type)p.types[k + 1]);
	struct bf_ptx_operation *o = bf_ptx_emit_lanes(
	    d, p.op, bf_ptx_written(d, &s->operands[0], bf_ptx_class_of(p.types[0])), v[0], v[1], v[2]);
	o->mode = p.mode;
	if (p.sources == 4)
		bf_ptx_field(o, BF_PTX_FIELD_E, BF_PTX_ROLE_USE, v[3]);
	return true;
}

/* lop3: frequent tables have operations of their own. With a Boolean operator, d|p: p is (d != 0) op q. */
void bf_ptx_lower_lop3(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const struct bf_ptx_operand *to = &s->operands[0];
	const bool pair = to->kind == BF_PTX_OPERAND_PAIR;
	uint32_t v[3], op;

	if (s->operands[4].kind != BF_PTX_OPERAND_IMM || bf_ptx_bits(s->form->types[0]) != 32 ||
	    pair != (s->operand_count == 6)) {
		d->refused = "lop3 of this shape";
		return;
	}
	const uint32_t table = (uint32_t)s->operands[4].bits & 0xff;
	for (uint32_t k = 0; k < 3; k++)
		v[k] = bf_ptx_read(d, &s->operands[k + 1], BF_PTX_B32);
	switch (table) {
	case 0x96:
		op = BF_PTX_LANE_LOP3_XOR;
		break;
	case 0xca:
		op = BF_PTX_LANE_LOP3_SELECT;
		break;
	case 0xe8:
		op = BF_PTX_LANE_LOP3_MAJORITY;
		break;
	default:
		op = BF_PTX_LANE_LOP3;
	}
	const uint32_t row = bf_ptx_written(d, pair ? &to->elems[0] : to, BF_PTX_CLASS_32);
	struct bf_ptx_operation *o = bf_ptx_emit_lanes(d, op, row, v[0], v[1], v[2]);
	o->mode = table;
	if (!pair)
		return;
	const struct bf_ptx_operand *q = &s->operands[5];
	const uint32_t c = bf_ptx_read(d, q, BF_PTX_PRED);
	const uint32_t p = bf_ptx_written(d, &to->elems[1], BF_PTX_CLASS_PRED);
	o = bf_ptx_emit_lanes(d, BF_PTX_LANE_NE_32, p, row, bf_ptx_constant(d, BF_PTX_CLASS_32, 0), BF_PTX_REF_NONE);
	o->mode = combine_of(s->form->sub) | (q->kind == BF_PTX_OPERAND_REG && q->negate ? BF_PTX_COMBINE_INVERT : 0);
	bf_ptx_field(o, BF_PTX_FIELD_C, BF_PTX_ROLE_USE, c);
}

/* f32x2: the two halves as numbers of their own. False: no such form. */
bool bf_ptx_lower_f32x2(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	struct bf_ptx_form form = *s->form;
	struct bf_ptx_pick p;
	uint32_t v[3], half[2];

	form.types[0] = BF_PTX_F32;
	if (s->form->type_count != 1 || s->form->types[0] != BF_PTX_F32X2 ||
	    !bf_ptx_select(&form, s->operand_count, &p) || p.sources > 3)
		return false;
	for (uint32_t k = 0; k < p.sources; k++)
		v[k] = bf_ptx_read(d, &s->operands[k + 1], BF_PTX_B64);
	for (uint32_t h = 0; h < 2; h++) {
		uint32_t part[3] = { BF_PTX_REF_NONE, BF_PTX_REF_NONE, BF_PTX_REF_NONE };
		for (uint32_t k = 0; k < p.sources; k++) {
			part[k] = bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
			bf_ptx_emit_lanes(d, h == 0 ? BF_PTX_LANE_LOW_32 : BF_PTX_LANE_HIGH_32, part[k], v[k],
					  BF_PTX_REF_NONE, BF_PTX_REF_NONE);
		}
		half[h] = bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
		bf_ptx_emit_lanes(d, p.op, half[h], part[0], part[1], part[2])->mode = p.mode;
	}
	bf_ptx_emit_lanes(d, BF_PTX_LANE_PACK_64, bf_ptx_written(d, &s->operands[0], BF_PTX_CLASS_64), half[0], half[1],
			  BF_PTX_REF_NONE);
	return true;
}
