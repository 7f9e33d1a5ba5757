/* Loads and stores, and what is the machine's: operands as the port takes them. */
#include "models/ptx/decode_internal.h"

#include <string.h>

#define NONE BF_PTX_REF_NONE

/* How a loaded value fills a wider register. */
static uint8_t extend_of(enum bf_ptx_type type, uint32_t reg_bits)
{
	const uint32_t bits = bf_ptx_bits(type);

	if (bf_ptx_type_letter(type) != 's' || bits >= reg_bits)
		return BF_PTX_EXTEND_NONE;
	switch (bits) {
	case 8:
		return reg_bits == 16 ? BF_PTX_EXTEND_S8_16 : BF_PTX_EXTEND_S8;
	case 16:
		return BF_PTX_EXTEND_S16;
	default:
		return BF_PTX_EXTEND_S32;
	}
}

/* Operands that become rows, collected before the operation that they belong to. */
struct rows {
	struct {
		uint32_t v;
		uint8_t kind, extend;
	} row[24];
	uint32_t count;
};

static void add_row(struct bf_ptx_decoder *d, struct rows *r, uint32_t v, uint8_t extend)
{
	if (r->count == BF_ARRAY_LEN(r->row)) {
		d->refused = "too many operands";
		return;
	}
	const uint8_t cls = v & BF_PTX_REF_CONST ? (uint8_t)BF_PTX_CLASS_32 : d->vregs[v].cls;
	r->row[r->count].v = v;
	r->row[r->count].kind = cls == BF_PTX_CLASS_64     ? BF_PTX_PIECE_64
				: cls == BF_PTX_CLASS_PRED ? BF_PTX_PIECE_PRED
							   : BF_PTX_PIECE_32;
	r->row[r->count++].extend = extend;
}

static void add_constant(struct bf_ptx_decoder *d, struct rows *r, uint64_t bits)
{
	add_row(d, r, bf_ptx_constant(d, BF_PTX_CLASS_64, bits), BF_PTX_EXTEND_NONE);
	r->row[r->count - 1].kind = BF_PTX_PIECE_64;
}

/* A register, immediate or address of a variable as a source; `type` is the instruction's. */
static void add_source(struct bf_ptx_decoder *d, struct rows *r, const struct bf_ptx_operand *o, enum bf_ptx_type type)
{
	switch (o->kind) {
	case BF_PTX_OPERAND_VECTOR:
	case BF_PTX_OPERAND_PAIR:
		for (uint32_t k = 0; k < o->count; k++)
			add_source(d, r, &o->elems[k], type);
		break;
	case BF_PTX_OPERAND_REG: {
		const uint32_t v = d->reg_first[o->index], bits = bf_ptx_bits(d->fn->reg_types[o->index]);
		add_row(d, r, o->negate && bits == 1 ? bf_ptx_read_pred(d, o) : v, BF_PTX_EXTEND_NONE);
		if (bits == 128)
			add_row(d, r, v + 1, BF_PTX_EXTEND_NONE);
		break;
	}
	case BF_PTX_OPERAND_IMM:
		if (o->real) {
			const uint32_t v = bf_ptx_read(d, o, type);
			add_row(d, r, v, BF_PTX_EXTEND_NONE);
			r->row[r->count - 1].kind =
			    bf_ptx_class_of(type) == BF_PTX_CLASS_64 ? BF_PTX_PIECE_64 : BF_PTX_PIECE_32;
			break;
		}
		add_constant(d, r, o->bits);
		if (bf_ptx_bits(type) == 128)
			add_constant(d, r, (int64_t)o->bits < 0 ? ~0ull : 0);
		break;
	case BF_PTX_OPERAND_SINK:
	case BF_PTX_OPERAND_SREG: /* the statement says which */
		break;
	default: {
		const uint32_t v = bf_ptx_read(d, o, BF_PTX_U64);
		add_row(d, r, v, BF_PTX_EXTEND_NONE);
		r->row[r->count - 1].kind = BF_PTX_PIECE_64;
	}
	}
}

static void add_target(struct bf_ptx_decoder *d, struct rows *r, const struct bf_ptx_operand *o, enum bf_ptx_type type)
{
	if (o->kind == BF_PTX_OPERAND_VECTOR || o->kind == BF_PTX_OPERAND_PAIR) {
		for (uint32_t k = 0; k < o->count; k++)
			add_target(d, r, &o->elems[k], type);
	} else if (o->kind == BF_PTX_OPERAND_REG) {
		const uint32_t v = d->reg_first[o->index], bits = bf_ptx_bits(d->fn->reg_types[o->index]);
		add_row(d, r, v, extend_of(type, bits));
		if (bits == 128)
			add_row(d, r, v + 1, BF_PTX_EXTEND_NONE);
	} else {
		for (uint32_t k = 0; k < (bf_ptx_bits(type) == 128 ? 2u : 1u); k++) {
			add_row(d, r, bf_ptx_vreg_new(d, BF_PTX_CLASS_64), BF_PTX_EXTEND_NONE);
			r->row[r->count - 1].kind = BF_PTX_PIECE_SINK;
		}
	}
}

/* The base register and constant part of an address operand. */
static void set_address(struct bf_ptx_decoder *d, struct bf_ptx_access *x, const struct bf_ptx_operand *o,
			uint32_t *base)
{
	x->address = true;
	*base = NONE;
	switch (o->kind) {
	case BF_PTX_OPERAND_AT_REG:
		*base = d->reg_first[o->index];
		x->base_wide = d->vregs[*base].cls == BF_PTX_CLASS_64;
		x->offset = (uint64_t)o->offset;
		if (d->vregs[*base].cls == BF_PTX_CLASS_PRED)
			d->refused = "an address in a predicate";
		break;
	case BF_PTX_OPERAND_AT_VAR:
		x->offset = bf_ptx_var_address(d, o->index, o->offset, &x->origin);
		break;
	case BF_PTX_OPERAND_AT_IMM:
		x->offset = (uint64_t)o->offset;
		break;
	default:
		d->refused = "an address of this kind";
	}
}

/* Another address than the first becomes a row of its own. */
static void add_address(struct bf_ptx_decoder *d, struct rows *r, const struct bf_ptx_operand *o)
{
	struct bf_ptx_access x = { 0 };
	uint32_t base;

	if (o->kind == BF_PTX_OPERAND_AT_VAR) {
		const uint32_t v = bf_ptx_emit_place(d, o->index, o->offset, false, NONE, BF_PTX_CLASS_64);
		add_row(d, r, v, BF_PTX_EXTEND_NONE);
		r->row[r->count - 1].kind = BF_PTX_PIECE_64;
		return;
	}
	set_address(d, &x, o, &base);
	if (base == NONE) {
		add_constant(d, r, x.offset);
		return;
	}
	if (x.offset != 0) {
		const uint32_t sum = bf_ptx_vreg_new(d, x.base_wide ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32);
		bf_ptx_emit_lanes(d, x.base_wide ? BF_PTX_LANE_ADD_64 : BF_PTX_LANE_ADD_32, sum, base,
				  bf_ptx_constant(d, x.base_wide ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32, x.offset), NONE);
		base = sum;
	}
	add_row(d, r, base, BF_PTX_EXTEND_NONE);
}

static bool is_address(const struct bf_ptx_operand *o)
{
	return o->kind == BF_PTX_OPERAND_AT_REG || o->kind == BF_PTX_OPERAND_AT_VAR || o->kind == BF_PTX_OPERAND_AT_IMM;
}

/* Gives the operation emitted last its rows. */
static void attach(struct bf_ptx_decoder *d, struct bf_ptx_access *x, uint32_t base, const struct rows *out,
		   const struct rows *in)
{
	struct bf_ptx_piece *pieces = bf_ptx_body_alloc(d, (out->count + in->count + 1u) * sizeof(*pieces));

	if (pieces == NULL)
		return;
	x->base = NONE;
	x->out = pieces;
	x->in = pieces + out->count;
	x->out_count = (uint8_t)out->count;
	x->in_count = (uint8_t)in->count;
	if (base != NONE)
		bf_ptx_list_add(d, base, BF_PTX_ROLE_USE, &x->base);
	for (uint32_t k = 0; k < out->count; k++) {
		pieces[k].kind = out->row[k].kind;
		pieces[k].extend = out->row[k].extend;
		bf_ptx_list_add(d, out->row[k].v, BF_PTX_ROLE_DEF, &pieces[k].ref);
	}
	for (uint32_t k = 0; k < in->count; k++) {
		pieces[out->count + k].kind = in->row[k].kind;
		bf_ptx_list_add(d, in->row[k].v, BF_PTX_ROLE_USE, &pieces[out->count + k].ref);
	}
}

static bool prepare(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s, struct bf_ptx_prepared *p)
{
	const struct bf_ptx_code_opts *opts = &d->code->opts;

	p->stmt = s;
	if (opts->port->prepare(opts->machine, s, p) == 0)
		return true;
	d->refused = p->text[0] != 0 ? p->text : "an instruction that is not there";
	return false;
}

/* ld.param of a kernel's parameter at a constant offset. */
static void lower_entry_param(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const struct bf_ptx_operand *to = &s->operands[0], *at = &s->operands[1];
	const enum bf_ptx_type type = (enum bf_ptx_type)s->form->types[0];
	const uint32_t bytes = bf_ptx_bits(type) / 8, count = to->kind == BF_PTX_OPERAND_VECTOR ? to->count : 1;
	uint64_t offset = d->program->vars[at->index]->offset + (uint64_t)at->offset;

	for (uint32_t k = 0; k < count; k++) {
		const struct bf_ptx_operand *o = to->kind == BF_PTX_OPERAND_VECTOR ? &to->elems[k] : to;
		const uint32_t parts = bytes == 16 ? 2 : 1;
		for (uint32_t n = 0; n < parts; n++, offset += bytes / parts) {
			if (o->kind != BF_PTX_OPERAND_REG)
				continue;
			const uint32_t bits = bf_ptx_bits(d->fn->reg_types[o->index]);
			struct bf_ptx_operation *p = bf_ptx_emit(d, true, BF_PTX_CONTROL_PARAM);
			p->simple = true;
			p->mode = bytes / parts;
			p->imm = offset;
			bf_ptx_field(p, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, d->reg_first[o->index] + n);
			bf_ptx_field(p, BF_PTX_FIELD_E, BF_PTX_ROLE_RAW, bits > 32);
			bf_ptx_field(p, BF_PTX_FIELD_B, BF_PTX_ROLE_RAW, extend_of(type, bits));
		}
	}
}

static bool is_param_space(uint32_t space)
{
	return space == BF_PTX_PARAM || space == BF_PTX_PARAM_ENTRY || space == BF_PTX_PARAM_FUNC;
}

void bf_ptx_lower_access(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const bool store = s->form->op == BF_PTX_OP_ST;
	const struct bf_ptx_operand *at = &s->operands[!store], *value = &s->operands[store];
	const enum bf_ptx_type type = (enum bf_ptx_type)s->form->types[0];
	struct bf_ptx_param *param = NULL;
	struct rows out = { .count = 0 }, in = { .count = 0 };
	uint32_t space = s->form->space, base;

	if (s->form->type_count == 0 || s->form->unknown != NULL || bf_ptx_bits(type) < 8) {
		d->refused = "an access of this type";
		return;
	}
	if (is_param_space(space)) {
		if (bf_ptx_is_func_param(d, at, &param) && !param->local) {
			bf_ptx_lower_param(d, s);
			return;
		}
		if (param != NULL) {
			space = BF_PTX_LOCAL;
		} else if (at->kind == BF_PTX_OPERAND_AT_VAR && !store) {
			lower_entry_param(d, s);
			return;
		} else if (store || !d->fn->entry) {
			d->refused = "an address of a parameter that is not its name and a number";
			return;
		}
	}
	struct bf_ptx_access *x = bf_ptx_body_alloc(d, sizeof(*x));
	if (x == NULL)
		return;
	x->prepared.stmt = s;
	if (space != BF_PTX_LOCAL && !is_param_space(space) && !prepare(d, s, &x->prepared))
		return;
	if (is_param_space(space))
		x->prepared.plain = true;
	x->space = (uint8_t)space;
	x->bytes = (uint8_t)(bf_ptx_bits(type) / 8);
	x->count = value->kind == BF_PTX_OPERAND_VECTOR ? value->count : 1;
	x->store = store;
	if (x->bytes > 8)
		x->prepared.plain = false;
	set_address(d, x, at, &base);
	if (store)
		add_source(d, &in, value, type);
	else
		add_target(d, &out, value, type);
	for (uint32_t k = 2; k < s->operand_count; k++)
		add_source(d, &in, &s->operands[k], BF_PTX_B64);
	if (in.count + 1 > 24 || out.count > 10)
		d->refused = "too many operands";
	struct bf_ptx_operation *o = bf_ptx_emit(d, false, store ? BF_PTX_LANE_STORE : BF_PTX_LANE_LOAD);
	o->more = x;
	/* The machine may let others run, or wait, in what is not plain. */
	o->simple = x->prepared.plain || space == BF_PTX_LOCAL;
	attach(d, x, base, &out, &in);
}

/* Whether the first operand is a destination. */
static bool has_target(const struct bf_ptx_stmt *s)
{
	if (s->operand_count == 0 || is_address(&s->operands[0]))
		return false;
	switch (s->form->op) {
	case BF_PTX_OP_MOV:
	case BF_PTX_OP_ATOM:
	case BF_PTX_OP_BAR_RED:
	case BF_PTX_OP_BARRIER_RED:
	case BF_PTX_OP_MBARRIER_ARRIVE:
	case BF_PTX_OP_MBARRIER_ARRIVE_DROP:
	case BF_PTX_OP_MBARRIER_TEST_WAIT:
	case BF_PTX_OP_MBARRIER_TRY_WAIT:
	case BF_PTX_OP_MBARRIER_PENDING_COUNT:
	case BF_PTX_OP_CREATEPOLICY:
	case BF_PTX_OP_MULTIMEM_LD_REDUCE:
	case BF_PTX_OP_CLUSTERLAUNCHCONTROL_QUERY_CANCEL:
		return true;
	default:
		return false;
	}
}

/* Whether lanes that were apart may stand together behind it. */
static bool is_barrier(uint32_t op)
{
	switch (op) {
	case BF_PTX_OP_BAR_SYNC:
	case BF_PTX_OP_BAR_RED:
	case BF_PTX_OP_BARRIER_SYNC:
	case BF_PTX_OP_BARRIER_RED:
	case BF_PTX_OP_BARRIER_CLUSTER_WAIT:
		return true;
	default:
		return false;
	}
}

void bf_ptx_lower_perform(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const enum bf_ptx_type type = s->form->type_count != 0 ? (enum bf_ptx_type)s->form->types[0] : BF_PTX_B32;
	struct rows out = { .count = 0 }, in = { .count = 0 };
	struct bf_ptx_access *x = bf_ptx_body_alloc(d, sizeof(*x));
	const uint32_t first = has_target(s) ? 1 : 0;
	uint32_t base = NONE;

	if (x == NULL || !prepare(d, s, &x->prepared))
		return;
	x->space = s->form->space;
	if (first != 0)
		add_target(d, &out, &s->operands[0], type);
	for (uint32_t k = first; k < s->operand_count && d->refused == NULL; k++) {
		const struct bf_ptx_operand *o = &s->operands[k];
		if (!is_address(o))
			add_source(d, &in, o, type);
		else if (k == first)
			set_address(d, x, o, &base);
		else
			add_address(d, &in, o);
	}
	if (in.count + 1 > 24 || out.count > 10)
		d->refused = "too many operands";
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_PERFORM);
	o->more = x;
	o->mark = is_barrier(s->form->op);
	attach(d, x, base, &out, &in);
}
