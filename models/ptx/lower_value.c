/*
 * What statements become is made of: virtual registers, constants, operations, addresses of variables, and operands
 * that are read and written.
 */
#include "models/ptx/decode_internal.h"

#include <stdlib.h>
#include <string.h>

uint32_t bf_ptx_bits(uint32_t type)
{
	return bf_ptx_type_bits((enum bf_ptx_type)type);
}

enum bf_ptx_class bf_ptx_class_of(uint32_t type)
{
	const uint32_t bits = bf_ptx_bits(type);
	return type == BF_PTX_PRED ? BF_PTX_CLASS_PRED : bits > 32 ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32;
}

uint32_t bf_ptx_vreg_new(struct bf_ptx_decoder *d, enum bf_ptx_class cls)
{
	if (bf_ptx_reserve(d, (void **)&d->vregs, &d->vreg_cap, d->vreg_count + 1, sizeof(*d->vregs)) != 0)
		return 0;
	d->vregs[d->vreg_count] = (struct bf_ptx_vreg){ .cls = (uint8_t)cls, .block = BF_PTX_NONE };
	return d->vreg_count++;
}

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint32_t constant_new(struct bf_ptx_decoder *d, enum bf_ptx_class cls, uint64_t bits)
{
	const uint32_t size = cls == BF_PTX_CLASS_64 ? 256 : 128;
	const uint32_t at = cls == BF_PTX_CLASS_64 ? (d->constant_bytes + 255) & ~255u : d->constant_bytes;

	if (bf_ptx_reserve(d, (void **)&d->constants, &d->constant_cap, at + size, 1) != 0)
		return 0;
	memset(d->constants + d->constant_bytes, 0, at - d->constant_bytes);
	for (uint32_t l = 0; l < BF_PTX_LANES; l++) {
		const uint32_t low = (uint32_t)bits;
		if (cls == BF_PTX_CLASS_64)
			memcpy(d->constants + at + 8 * (size_t)l, &bits, 8);
		else
			memcpy(d->constants + at + 4 * (size_t)l, &low, 4);
	}
	d->constant_bytes = at + size;
	return at;
}

uint32_t bf_ptx_constant(struct bf_ptx_decoder *d, enum bf_ptx_class cls, uint64_t bits)
{
	if (cls == BF_PTX_CLASS_PRED) {
		cls = BF_PTX_CLASS_32;
		bits = bits != 0 ? ~0u : 0;
	}
	if (cls == BF_PTX_CLASS_32)
		bits = (uint32_t)bits;
	if (d->constant_count * 2 >= d->constant_table_size) {
		const uint32_t size = d->constant_table_size != 0 ? d->constant_table_size * 2 : 64;
		struct bf_ptx_constant_key *old = d->constant_table, *table = calloc(size, sizeof(*table));
		if (table == NULL) {
			d->failed = true;
			return BF_PTX_REF_CONST;
		}
		for (uint32_t k = 0; k < d->constant_table_size; k++) {
			if (old[k].at == 0)
				continue;
			uint32_t h = (uint32_t)mixed(old[k].bits + old[k].cls) & (size - 1);
			while (table[h].at != 0)
				h = (h + 1) & (size - 1);
			table[h] = old[k];
		}
		free(old);
		d->constant_table = table;
		d->constant_table_size = size;
	}
	uint32_t h = (uint32_t)mixed(bits + cls) & (d->constant_table_size - 1);
	while (d->constant_table[h].at != 0) {
		if (d->constant_table[h].bits == bits && d->constant_table[h].cls == cls)
			return BF_PTX_REF_CONST | (d->constant_table[h].at - 1);
		h = (h + 1) & (d->constant_table_size - 1);
	}
	const uint32_t at = constant_new(d, cls, bits);
	d->constant_table[h] = (struct bf_ptx_constant_key){ .bits = bits, .cls = cls, .at = at + 1 };
	d->constant_count++;
	return BF_PTX_REF_CONST | at;
}

struct bf_ptx_operation *bf_ptx_emit(struct bf_ptx_decoder *d, bool control, uint32_t op)
{
	if (bf_ptx_reserve(d, (void **)&d->ops, &d->op_cap, d->op_count + 1, sizeof(*d->ops)) != 0) {
		/* The caller fills it in, and nobody reads it: decoding has failed. */
		d->op_count = 0;
		if (d->op_cap == 0)
			return &d->nowhere;
	}
	struct bf_ptx_operation *o = &d->ops[d->op_count++];
	*o = (struct bf_ptx_operation){
		.control = control,
		.simple = !control,
		.negate = d->negate,
		.op = (uint16_t)op,
		.guard = d->guard,
		.stmt = d->stmt,
		.label = BF_PTX_NONE,
		.list = d->list_count,
	};
	for (uint32_t k = 0; k < BF_PTX_FIELDS; k++)
		o->v[k] = BF_PTX_REF_NONE;
	return o;
}

void bf_ptx_field(struct bf_ptx_operation *o, enum bf_ptx_field field, enum bf_ptx_role role, uint32_t v)
{
	o->roles[field] = (uint8_t)role;
	o->v[field] = v;
}

/* To the operation emitted last. */
void bf_ptx_list_add(struct bf_ptx_decoder *d, uint32_t v, enum bf_ptx_role role, uint32_t *patch)
{
	if (bf_ptx_reserve(d, (void **)&d->list, &d->list_cap, d->list_count + 1, sizeof(*d->list)) != 0)
		return;
	d->list[d->list_count++] = (struct bf_ptx_list_entry){ .v = v, .patch = patch, .role = (uint8_t)role };
	d->ops[d->op_count - 1].list_count++;
}

struct bf_ptx_operation *bf_ptx_emit_lanes(struct bf_ptx_decoder *d, uint32_t op, uint32_t to, uint32_t a, uint32_t b,
					   uint32_t c)
{
	struct bf_ptx_operation *o = bf_ptx_emit(d, false, op);

	bf_ptx_field(o, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, to);
	bf_ptx_field(o, BF_PTX_FIELD_A, BF_PTX_ROLE_USE, a);
	/* Handlers may look at every operand that the operation could have. */
	bf_ptx_field(o, BF_PTX_FIELD_B, BF_PTX_ROLE_USE, b != BF_PTX_REF_NONE ? b : a);
	bf_ptx_field(o, BF_PTX_FIELD_C, BF_PTX_ROLE_USE, c != BF_PTX_REF_NONE ? c : a);
	return o;
}

uint64_t bf_ptx_var_address(struct bf_ptx_decoder *d, uint32_t var, int64_t offset, uint8_t *origin)
{
	const struct bf_ptx_program *p = d->program;
	const struct bf_ptx_var *v = p->vars[var];

	if (v->def != BF_PTX_NONE)
		v = p->vars[v->def];
	*origin = BF_PTX_ORIGIN_NONE;
	switch (v->space) {
	case BF_PTX_GLOBAL:
		return d->code->opts.global_base + v->offset + (uint64_t)offset;
	case BF_PTX_SHARED:
		*origin = v->dynamic ? BF_PTX_ORIGIN_DYNAMIC : BF_PTX_ORIGIN_SHARED;
		return BF_PTX_SHARED_FIRST + (v->dynamic ? 0 : v->offset) + (uint64_t)offset;
	case BF_PTX_LOCAL:
		*origin = BF_PTX_ORIGIN_LOCAL;
		return v->offset + (uint64_t)offset;
	case BF_PTX_PARAM: {
		const struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_VAR, .index = var };
		struct bf_ptx_param *param;
		if (bf_ptx_is_func_param(d, &o, &param)) {
			*origin = BF_PTX_ORIGIN_LOCAL;
			if (!param->local)
				d->refused = "the address of a parameter of a call";
			return param->offset + (uint64_t)offset;
		}
		return v->offset + (uint64_t)offset;
	}
	default: /* CONST */
		return v->offset + (uint64_t)offset;
	}
}

/* What makes an address of a variable a generic one. */
static uint64_t window_of(const struct bf_ptx_decoder *d, uint32_t var, uint8_t *origin)
{
	const struct bf_ptx_var *v = d->program->vars[var];

	switch (v->space) {
	case BF_PTX_SHARED:
		return BF_PTX_SHARED_WINDOW;
	case BF_PTX_LOCAL:
		return BF_PTX_LOCAL_WINDOW;
	case BF_PTX_CONST:
		return d->code->opts.const_base;
	case BF_PTX_PARAM:
		if (*origin == BF_PTX_ORIGIN_LOCAL)
			return BF_PTX_LOCAL_WINDOW;
		*origin = BF_PTX_ORIGIN_PARAM;
		return 0;
	default:
		return 0;
	}
}

uint32_t bf_ptx_emit_place(struct bf_ptx_decoder *d, uint32_t var, int64_t offset, bool generic, uint32_t to,
			   enum bf_ptx_class cls)
{
	uint8_t origin;
	uint64_t address = bf_ptx_var_address(d, var, offset, &origin);

	if (generic)
		address += window_of(d, var, &origin);
	if (origin == BF_PTX_ORIGIN_NONE && to == BF_PTX_REF_NONE)
		return bf_ptx_constant(d, cls, address);
	if (to == BF_PTX_REF_NONE)
		to = bf_ptx_vreg_new(d, cls);
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_PLACE);
	o->simple = true;
	o->mode = origin;
	o->imm = address;
	bf_ptx_field(o, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, to);
	bf_ptx_field(o, BF_PTX_FIELD_E, BF_PTX_ROLE_RAW, cls == BF_PTX_CLASS_64);
	return to;
}

/* The bits of an immediate for a value of `type`. */
static uint64_t immediate(const struct bf_ptx_operand *o, enum bf_ptx_type type)
{
	const uint32_t bits = bf_ptx_bits(type);
	uint64_t v = o->bits;

	if (o->real && bits == 32) {
		double number;
		memcpy(&number, &v, 8);
		const float single = (float)number;
		uint32_t low;
		memcpy(&low, &single, 4);
		v = o->width == 32 ? o->single : low;
	}
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

/* Special registers that the core knows. */
static bool core_sreg(uint32_t sreg)
{
	switch (sreg) {
	case BF_PTX_SREG_TID:
	case BF_PTX_SREG_NTID:
	case BF_PTX_SREG_CTAID:
	case BF_PTX_SREG_NCTAID:
	case BF_PTX_SREG_CLUSTERID:
	case BF_PTX_SREG_NCLUSTERID:
	case BF_PTX_SREG_CLUSTER_CTAID:
	case BF_PTX_SREG_CLUSTER_NCTAID:
	case BF_PTX_SREG_CLUSTER_CTARANK:
	case BF_PTX_SREG_CLUSTER_NCTARANK:
	case BF_PTX_SREG_IS_EXPLICIT_CLUSTER:
	case BF_PTX_SREG_LANEID:
	case BF_PTX_SREG_LANEMASK_EQ:
	case BF_PTX_SREG_LANEMASK_LE:
	case BF_PTX_SREG_LANEMASK_LT:
	case BF_PTX_SREG_LANEMASK_GE:
	case BF_PTX_SREG_LANEMASK_GT:
	case BF_PTX_SREG_WARPID:
	case BF_PTX_SREG_GRIDID:
	case BF_PTX_SREG_DYNAMIC_SMEM_SIZE:
	case BF_PTX_SREG_TOTAL_SMEM_SIZE:
	case BF_PTX_SREG_AGGR_SMEM_SIZE:
		return true;
	default:
		return false;
	}
}

bool bf_ptx_emit_special(struct bf_ptx_decoder *d, const struct bf_ptx_operand *s, uint32_t to, enum bf_ptx_class cls)
{
	if (!core_sreg(s->index))
		return false;
	const uint32_t row = cls == BF_PTX_CLASS_PRED ? bf_ptx_vreg_new(d, BF_PTX_CLASS_32) : to;
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_SPECIAL);
	o->simple = true;
	o->mode = s->index;
	bf_ptx_field(o, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, row);
	bf_ptx_field(o, BF_PTX_FIELD_E, BF_PTX_ROLE_RAW, cls == BF_PTX_CLASS_64);
	bf_ptx_field(o, BF_PTX_FIELD_A, BF_PTX_ROLE_RAW, s->part);
	if (cls == BF_PTX_CLASS_PRED) {
		struct bf_ptx_operation *ne =
		    bf_ptx_emit_lanes(d, BF_PTX_LANE_NE_32, to, row, bf_ptx_constant(d, BF_PTX_CLASS_32, 0), row);
		bf_ptx_field(ne, BF_PTX_FIELD_C, BF_PTX_ROLE_NONE, BF_PTX_REF_NONE);
	}
	return true;
}

uint32_t bf_ptx_read(struct bf_ptx_decoder *d, const struct bf_ptx_operand *o, enum bf_ptx_type type)
{
	const enum bf_ptx_class cls = bf_ptx_class_of(type);

	switch (o->kind) {
	case BF_PTX_OPERAND_REG: {
		const uint32_t v = d->reg_first[o->index];
		if (d->vregs[v].cls == cls)
			return v;
		/* A wider register gives its low bits. */
		if (d->vregs[v].cls == BF_PTX_CLASS_64 && cls == BF_PTX_CLASS_32) {
			const uint32_t low = bf_ptx_vreg_new(d, cls);
			bf_ptx_emit_lanes(d, BF_PTX_LANE_LOW_32, low, v, BF_PTX_REF_NONE, BF_PTX_REF_NONE);
			return low;
		}
		if (d->vregs[v].cls == BF_PTX_CLASS_32 && cls == BF_PTX_CLASS_64) {
			const uint32_t wide = bf_ptx_vreg_new(d, cls);
			bf_ptx_emit_lanes(d, BF_PTX_LANE_WIDEN_U32, wide, v, BF_PTX_REF_NONE, BF_PTX_REF_NONE);
			return wide;
		}
		break;
	}
	case BF_PTX_OPERAND_IMM:
		return bf_ptx_constant(d, cls, immediate(o, type));
	case BF_PTX_OPERAND_VAR:
		return bf_ptx_emit_place(d, o->index, o->offset, false, BF_PTX_REF_NONE, cls);
	case BF_PTX_OPERAND_FUNC:
		return bf_ptx_constant(d, cls, bf_ptx_func_value(d->program, o->index));
	case BF_PTX_OPERAND_SREG: {
		const uint32_t to = bf_ptx_vreg_new(d, cls);
		if (bf_ptx_emit_special(d, o, to, cls))
			return to;
		break;
	}
	default:
		break;
	}
	d->refused = "an operand of a kind that the instruction does not take";
	return bf_ptx_constant(d, cls, 0);
}

uint32_t bf_ptx_read_pred(struct bf_ptx_decoder *d, const struct bf_ptx_operand *o)
{
	const uint32_t v = bf_ptx_read(d, o, BF_PTX_PRED);

	if (o->kind != BF_PTX_OPERAND_REG || !o->negate)
		return v;
	const uint32_t to = bf_ptx_vreg_new(d, BF_PTX_CLASS_PRED);
	struct bf_ptx_operation *n = bf_ptx_emit(d, true, BF_PTX_CONTROL_PRED);
	n->simple = true;
	n->mode = BF_PTX_PRED_NOT;
	bf_ptx_field(n, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, to);
	bf_ptx_field(n, BF_PTX_FIELD_A, BF_PTX_ROLE_USE, v);
	bf_ptx_field(n, BF_PTX_FIELD_B, BF_PTX_ROLE_USE, v);
	return to;
}

uint32_t bf_ptx_written(struct bf_ptx_decoder *d, const struct bf_ptx_operand *o, enum bf_ptx_class cls)
{
	if (o->kind == BF_PTX_OPERAND_SINK)
		return bf_ptx_vreg_new(d, cls);
	if (o->kind == BF_PTX_OPERAND_REG && d->vregs[d->reg_first[o->index]].cls == cls)
		return d->reg_first[o->index];
	d->refused = "a destination of another size than the instruction's";
	return bf_ptx_vreg_new(d, cls);
}

void bf_ptx_emit_extend(struct bf_ptx_decoder *d, uint32_t to, uint32_t to_bits, uint32_t v, uint32_t bits, bool sign)
{
	const bool wide_from = (v & BF_PTX_REF_CONST) == 0 && d->vregs[v].cls == BF_PTX_CLASS_64;

	if (bits > to_bits)
		bits = to_bits;
	if (wide_from && bits > 32) {
		bf_ptx_emit_lanes(d, BF_PTX_LANE_MOV_64, to, v, BF_PTX_REF_NONE, BF_PTX_REF_NONE);
		return;
	}
	if (wide_from) {
		const uint32_t low = bits == 32 && to_bits == 32 ? to : bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
		bf_ptx_emit_lanes(d, BF_PTX_LANE_LOW_32, low, v, BF_PTX_REF_NONE, BF_PTX_REF_NONE);
		if (low == to)
			return;
		v = low;
	}
	uint32_t op = BF_PTX_LANE_MOV_32;
	if (bits == 8)
		op = !sign ? BF_PTX_LANE_EXTEND_U8 : to_bits == 16 ? BF_PTX_LANE_EXTEND_S8_16 : BF_PTX_LANE_EXTEND_S8;
	else if (bits == 16)
		op = sign && to_bits > 16 ? BF_PTX_LANE_EXTEND_S16 : BF_PTX_LANE_EXTEND_U16;
	if (to_bits <= 32) {
		bf_ptx_emit_lanes(d, op, to, v, BF_PTX_REF_NONE, BF_PTX_REF_NONE);
		return;
	}
	if (bits < 32) {
		const uint32_t part = bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
		bf_ptx_emit_lanes(d, op, part, v, BF_PTX_REF_NONE, BF_PTX_REF_NONE);
		v = part;
	}
	bf_ptx_emit_lanes(d, sign ? BF_PTX_LANE_WIDEN_S32 : BF_PTX_LANE_WIDEN_U32, to, v, BF_PTX_REF_NONE,
			  BF_PTX_REF_NONE);
}
