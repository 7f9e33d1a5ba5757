/* mov with packing and unpacking, cvt, cvta. */
#include "models/ptx/decode_internal.h"
#include "models/ptx/float.h"

#define NONE BF_PTX_REF_NONE

static uint32_t reg_bits(const struct bf_ptx_decoder *d, const struct bf_ptx_operand *o, uint32_t otherwise)
{
	return o->kind == BF_PTX_OPERAND_REG ? bf_ptx_bits(d->fn->reg_types[o->index]) : otherwise;
}

/* `width` bits of v from `at` on, into `to`. */
static void extract(struct bf_ptx_decoder *d, uint32_t to, uint32_t v, uint32_t at, uint32_t width)
{
	const bool wide = (v & BF_PTX_REF_CONST) == 0 && d->vregs[v].cls == BF_PTX_CLASS_64;

	if (wide) {
		const uint32_t half = width == 32 ? to : bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
		bf_ptx_emit_lanes(d, at >= 32 ? BF_PTX_LANE_HIGH_32 : BF_PTX_LANE_LOW_32, half, v, NONE, NONE);
		if (width == 32)
			return;
		v = half;
		at &= 31;
	}
	if (width == 16)
		bf_ptx_emit_lanes(d, at == 0 ? BF_PTX_LANE_EXTEND_U16 : BF_PTX_LANE_HIGH_16, to, v, NONE, NONE);
	else
		bf_ptx_emit_lanes(d, BF_PTX_LANE_BFE_U32, to, v, bf_ptx_constant(d, BF_PTX_CLASS_32, at),
				  bf_ptx_constant(d, BF_PTX_CLASS_32, width));
}

/* Parts are equal, of 8 to 64 bits, and as many as a power of two (PTX ISA, "mov"). */
static bool is_vector_of(struct bf_ptx_decoder *d, uint32_t bits, uint32_t count)
{
	const bool good = count <= 8 && __builtin_popcount(count) == 1 && bits / count >= 8 && bits / count <= 64;

	if (!good)
		d->refused = "a vector of this size";
	return good;
}

/* {a, b, ..} = v. Elements may be the register that is taken apart: each is copied from what it was before. */
static void unpack(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s, uint32_t bits)
{
	const struct bf_ptx_operand *to = &s->operands[0], *from = &s->operands[1];
	const uint32_t width = bits / to->count;
	uint32_t v[2], out[8];

	if (!is_vector_of(d, bits, to->count))
		return;
	if (bits == 128 && from->kind != BF_PTX_OPERAND_REG) {
		d->refused = "a source that is not a register of 128 bits";
		return;
	}
	if (bits == 128) {
		v[0] = d->reg_first[from->index];
		v[1] = v[0] + 1;
	} else {
		v[0] = bf_ptx_read(d, from, (enum bf_ptx_type)s->form->types[0]);
		v[1] = v[0];
	}
	for (uint32_t k = 0; k < to->count; k++) {
		const struct bf_ptx_operand *e = &to->elems[k];
		const enum bf_ptx_class cls = width > 32 ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32;
		const uint32_t at = width * k, part = v[bits == 128 && at >= 64];
		out[k] = NONE;
		if (e->kind == BF_PTX_OPERAND_SINK)
			continue;
		out[k] = bf_ptx_vreg_new(d, cls);
		if (width == 64)
			bf_ptx_emit_lanes(d, BF_PTX_LANE_MOV_64, out[k], part, NONE, NONE);
		else
			extract(d, out[k], part, at & 63, width);
	}
	for (uint32_t k = 0; k < to->count; k++) {
		const enum bf_ptx_class cls = width > 32 ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32;
		if (out[k] != NONE)
			bf_ptx_emit_lanes(d, cls == BF_PTX_CLASS_64 ? BF_PTX_LANE_MOV_64 : BF_PTX_LANE_MOV_32,
					  bf_ptx_written(d, &to->elems[k], cls), out[k], NONE, NONE);
	}
}

/* Two halves of `width` bits each. */
static uint32_t join(struct bf_ptx_decoder *d, uint32_t to, uint32_t low, uint32_t high, uint32_t width)
{
	const uint32_t op = width == 8 ? BF_PTX_LANE_PACK_16 : width == 16 ? BF_PTX_LANE_PACK_32 : BF_PTX_LANE_PACK_64;

	if (to == NONE)
		to = bf_ptx_vreg_new(d, width == 32 ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32);
	bf_ptx_emit_lanes(d, op, to, low, high, NONE);
	return to;
}

static void pack(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s, uint32_t bits)
{
	const struct bf_ptx_operand *to = &s->operands[0], *from = &s->operands[1];
	uint32_t width = bits / from->count, count = from->count, v[8];

	if (!is_vector_of(d, bits, count))
		return;
	for (uint32_t k = 0; k < count; k++)
		v[k] = bf_ptx_read(d, &from->elems[k],
				   width == 64   ? BF_PTX_B64
				   : width == 32 ? BF_PTX_B32
				   : width == 16 ? BF_PTX_B16
						 : BF_PTX_B8);
	const uint32_t whole = bits == 128 ? 64 : bits;
	for (; width < whole; width *= 2, count /= 2)
		for (uint32_t k = 0; k < count; k += 2) {
			const bool last = bits != 128 && width * 2 == whole;
			v[k / 2] = join(d, last ? bf_ptx_written(d, to, bf_ptx_class_of(s->form->types[0])) : NONE,
					v[k], v[k + 1], width);
		}
	if (bits != 128)
		return;
	if (to->kind != BF_PTX_OPERAND_REG || reg_bits(d, to, 0) != 128) {
		d->refused = "a destination of another size than 128 bits";
		return;
	}
	bf_ptx_emit_lanes(d, BF_PTX_LANE_MOV_64, d->reg_first[to->index], v[0], NONE, NONE);
	bf_ptx_emit_lanes(d, BF_PTX_LANE_MOV_64, d->reg_first[to->index] + 1, v[1], NONE, NONE);
}

static void move_pred(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const struct bf_ptx_operand *from = &s->operands[1];
	const uint32_t to = bf_ptx_written(d, &s->operands[0], BF_PTX_CLASS_PRED);

	if (from->kind == BF_PTX_OPERAND_SREG) {
		if (!bf_ptx_emit_special(d, from, to, BF_PTX_CLASS_PRED))
			d->refused = "a special register that is not a predicate";
		return;
	}
	const uint32_t v = bf_ptx_read_pred(d, from);
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_PRED);
	o->simple = true;
	o->mode = BF_PTX_PRED_MOV;
	bf_ptx_field(o, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, to);
	bf_ptx_field(o, BF_PTX_FIELD_A, BF_PTX_ROLE_USE, v);
	bf_ptx_field(o, BF_PTX_FIELD_B, BF_PTX_ROLE_USE, v);
}

void bf_ptx_lower_mov(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const enum bf_ptx_type type = (enum bf_ptx_type)s->form->types[0];
	const uint32_t bits = bf_ptx_bits(type);
	const struct bf_ptx_operand *to = &s->operands[0], *from = &s->operands[1];
	const enum bf_ptx_class cls = bf_ptx_class_of(type);

	if (type == BF_PTX_PRED) {
		move_pred(d, s);
	} else if (to->kind == BF_PTX_OPERAND_VECTOR) {
		unpack(d, s, bits);
	} else if (from->kind == BF_PTX_OPERAND_VECTOR) {
		pack(d, s, bits);
	} else if (bits == 128) {
		if (reg_bits(d, to, 0) != 128 || reg_bits(d, from, 0) != 128) {
			d->refused = "an operand of another size than 128 bits";
			return;
		}
		for (uint32_t k = 0; k < 2; k++)
			bf_ptx_emit_lanes(d, BF_PTX_LANE_MOV_64, d->reg_first[to->index] + k,
					  d->reg_first[from->index] + k, NONE, NONE);
	} else if (from->kind == BF_PTX_OPERAND_SREG) {
		const uint32_t size = reg_bits(d, to, bits);
		if (!bf_ptx_emit_special(d, from, bf_ptx_written(d, to, size > 32 ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32),
					 size > 32 ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32))
			bf_ptx_lower_perform(d, s);
	} else if (from->kind == BF_PTX_OPERAND_VAR) {
		bf_ptx_emit_place(d, from->index, from->offset, false, bf_ptx_written(d, to, cls), cls);
	} else {
		const uint32_t v = bf_ptx_read(d, from, type);
		bf_ptx_emit_lanes(d, cls == BF_PTX_CLASS_64 ? BF_PTX_LANE_MOV_64 : BF_PTX_LANE_MOV_32,
				  bf_ptx_written(d, to, cls), v, NONE, NONE);
	}
}

static bool is_integer(uint32_t type)
{
	const char letter = bf_ptx_type_letter((enum bf_ptx_type)type);
	return (letter == 'b' || letter == 'u' || letter == 's') && bf_ptx_bits(type) >= 8 && bf_ptx_bits(type) <= 64;
}

static bool is_signed(uint32_t type)
{
	return bf_ptx_type_letter((enum bf_ptx_type)type) == 's';
}

/* Between integers without .sat: cut, then extended. */
static void convert_integers(struct bf_ptx_decoder *d, uint32_t to, uint32_t to_reg, uint32_t v, uint32_t to_type,
			     uint32_t from_type)
{
	const uint32_t from = bf_ptx_bits(from_type), bits = bf_ptx_bits(to_type);

	if (bits <= from) {
		bf_ptx_emit_extend(d, to, to_reg, v, bits, is_signed(to_type));
	} else if (is_signed(from_type) && !is_signed(to_type) && bits < to_reg) {
		const uint32_t part = bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
		bf_ptx_emit_extend(d, part, 32, v, from, true);
		bf_ptx_emit_extend(d, to, to_reg, part, bits, false);
	} else {
		bf_ptx_emit_extend(d, to, to_reg, v, from, is_signed(from_type));
	}
}

/* Frequent conversions that are vector code; 0: none (operation 0 is a move). */
static uint32_t quick(uint32_t to, uint32_t from, uint32_t mode)
{
	if (mode != 0)
		return 0;
	if (to == BF_PTX_F32)
		switch (from) {
		case BF_PTX_S32:
			return BF_PTX_LANE_CVT_F32_S32;
		case BF_PTX_U32:
			return BF_PTX_LANE_CVT_F32_U32;
		case BF_PTX_BF16:
			return BF_PTX_LANE_CVT_F32_BF16;
		case BF_PTX_F16:
			return BF_PTX_LANE_CVT_F32_F16;
		default:
			return 0;
		}
	if (from == BF_PTX_F32)
		return to == BF_PTX_BF16 ? BF_PTX_LANE_CVT_BF16_F32 : to == BF_PTX_F16 ? BF_PTX_LANE_CVT_F16_F32 : 0;
	return 0;
}

void bf_ptx_lower_cvt(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const struct bf_ptx_form *f = s->form;
	const uint32_t to_type = f->types[0], from_type = f->types[1];
	const struct bf_ptx_operand *to = &s->operands[0], *from = &s->operands[1];
	uint32_t mode = bf_ptx_mode_of(f);

	if (f->type_count != 2 || f->round == BF_PTX_RS || to_type == BF_PTX_PRED || from_type == BF_PTX_PRED) {
		d->refused = "a conversion that is not there";
		return;
	}
	if (s->operand_count == 3) {
		const uint32_t a = bf_ptx_read(d, from, (enum bf_ptx_type)from_type);
		const uint32_t b = bf_ptx_read(d, &s->operands[2], (enum bf_ptx_type)from_type);
		struct bf_ptx_operation *o =
		    bf_ptx_emit_lanes(d, BF_PTX_LANE_CVT_PAIR, bf_ptx_written(d, to, BF_PTX_CLASS_32), a, b, NONE);
		o->mode = to_type << 24 | mode;
		return;
	}
	const uint32_t to_bits = bf_ptx_bits(to_type), to_reg = reg_bits(d, to, to_bits);
	const uint32_t from_reg = reg_bits(d, from, bf_ptx_bits(from_type));
	const enum bf_ptx_class cls = to_reg > 32 ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32;
	const enum bf_ptx_class from_cls = from_reg > 32 ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32;
	const uint32_t v = from->kind == BF_PTX_OPERAND_REG ? d->reg_first[from->index]
							    : bf_ptx_read(d, from, (enum bf_ptx_type)from_type);
	const uint32_t target = bf_ptx_written(d, to, cls);

	if (to_reg < to_bits || from_reg < bf_ptx_bits(from_type)) {
		d->refused = "an operand narrower than its type";
		return;
	}
	if (is_integer(to_type) && is_integer(from_type) && !(mode & BF_PTX_MODE_SAT)) {
		convert_integers(d, target, to_reg, v, to_type, from_type);
		return;
	}
	if (f->round >= BF_PTX_RNI && f->round <= BF_PTX_RPI && !is_integer(to_type))
		mode |= BF_PTX_MODE_INTEGER;
	uint32_t op = from_cls == BF_PTX_CLASS_32 && cls == BF_PTX_CLASS_32 ? quick(to_type, from_type, mode) : 0;
	if (op == 0)
		op = cls == BF_PTX_CLASS_64
			 ? (from_cls == BF_PTX_CLASS_64 ? BF_PTX_LANE_CVT_64_64 : BF_PTX_LANE_CVT_64_32)
			 : (from_cls == BF_PTX_CLASS_64 ? BF_PTX_LANE_CVT_32_64 : BF_PTX_LANE_CVT_32_32);
	/* A register of 16 bits keeps zeros above them. */
	const bool cut = to_reg < 32 && is_signed(to_type);
	const uint32_t result = cut ? bf_ptx_vreg_new(d, BF_PTX_CLASS_32) : target;
	struct bf_ptx_operation *o = bf_ptx_emit_lanes(d, op, result, v, NONE, NONE);
	o->mode = to_type << 24 | from_type << 16 | mode;
	if (cut)
		bf_ptx_emit_lanes(d, BF_PTX_LANE_EXTEND_U16, target, result, NONE, NONE);
}

void bf_ptx_lower_cvta(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const struct bf_ptx_operand *from = &s->operands[1];
	const bool back = (s->form->flags & BF_PTX_FLAG(TO)) != 0;
	const uint32_t to = bf_ptx_written(d, &s->operands[0], BF_PTX_CLASS_64);
	uint32_t base;

	if (bf_ptx_bits(s->form->types[0]) != 64) {
		d->refused = "generic addresses of 32 bits";
		return;
	}
	const uint32_t a = bf_ptx_read(d, from, BF_PTX_U64);
	switch (s->form->space) {
	case BF_PTX_SHARED:
	case BF_PTX_SHARED_CTA:
	case BF_PTX_SHARED_CLUSTER:
		base = bf_ptx_constant(d, BF_PTX_CLASS_64, BF_PTX_SHARED_WINDOW);
		break;
	case BF_PTX_LOCAL:
		base = bf_ptx_constant(d, BF_PTX_CLASS_64, BF_PTX_LOCAL_WINDOW);
		break;
	case BF_PTX_CONST:
		base = bf_ptx_constant(d, BF_PTX_CLASS_64, d->code->opts.const_base);
		break;
	case BF_PTX_PARAM:
	case BF_PTX_PARAM_ENTRY: {
		base = bf_ptx_vreg_new(d, BF_PTX_CLASS_64);
		struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_PLACE);
		o->simple = true;
		o->mode = BF_PTX_ORIGIN_PARAM;
		bf_ptx_field(o, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, base);
		bf_ptx_field(o, BF_PTX_FIELD_E, BF_PTX_ROLE_RAW, 1);
		break;
	}
	default:
		bf_ptx_emit_lanes(d, BF_PTX_LANE_MOV_64, to, a, NONE, NONE);
		return;
	}
	bf_ptx_emit_lanes(d, back ? BF_PTX_LANE_SUB_64 : BF_PTX_LANE_ADD_64, to, a, base, NONE);
}
