/*
 * .param memory of functions: formals, returns, and the blocks in which calls pass them. A variable is kept in slots:
 * one of 64 bits for a scalar of that size, else words of 32. One whose address is taken is copied into the frame's
 * .local memory.
 */
#include "models/ptx/decode_internal.h"

#define NONE BF_PTX_REF_NONE

bool bf_ptx_is_func_param(struct bf_ptx_decoder *d, const struct bf_ptx_operand *o, struct bf_ptx_param **out)
{
	const struct bf_ptx_func *fn = d->fn;

	if (o->kind != BF_PTX_OPERAND_VAR && o->kind != BF_PTX_OPERAND_AT_VAR)
		return false;
	const struct bf_ptx_var *v = d->program->vars[o->index];
	if (v->space != BF_PTX_PARAM || (fn->entry && v->formal))
		return false;
	/* Variables of a function are numbered in a row, most of the time. */
	uint32_t place = fn->var_count != 0 ? o->index - fn->vars[0] : 0;
	if (place >= fn->var_count || fn->vars[place] != o->index)
		for (place = 0; place < fn->var_count && fn->vars[place] != o->index; place++)
			;
	if (place >= fn->var_count)
		return false;
	struct bf_ptx_param *p = &d->params[place];
	if (p->count == 0) {
		p->wide = v->size == 8 && bf_ptx_bits(v->type) == 64;
		p->count = p->wide ? 1 : (uint32_t)((v->size + 3) / 4);
		p->local = v->addressed;
		if (p->count == 0)
			p->count = 1;
		p->first = bf_ptx_vreg_new(d, p->wide ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32);
		for (uint32_t k = 1; k < p->count; k++)
			bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
		if (p->local) {
			const uint32_t align = v->align > 8 ? v->align : 8;
			d->local_bytes = (d->local_bytes + align - 1) & ~(align - 1);
			p->offset = d->local_bytes;
			d->local_bytes += p->wide ? 8 : 4 * p->count;
		}
	}
	*out = p;
	return true;
}

/* A value of `bytes` (1 to 8) at `at` of a parameter, zero-extended: a row of 64 bits for 8 bytes, else of 32. */
static uint32_t get(struct bf_ptx_decoder *d, const struct bf_ptx_param *p, uint32_t at, uint32_t bytes)
{
	const uint32_t w = p->first + at / 4, bit = 8 * (at & 3);

	if (p->wide && bytes == 8)
		return p->first;
	const uint32_t to = bf_ptx_vreg_new(d, bytes == 8 ? BF_PTX_CLASS_64 : BF_PTX_CLASS_32);
	if (p->wide) {
		bf_ptx_emit_lanes(d, at >= 4 ? BF_PTX_LANE_HIGH_32 : BF_PTX_LANE_LOW_32, to, p->first, NONE, NONE);
		if (bytes == 4)
			return to;
		const uint32_t part = bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
		bf_ptx_emit_lanes(d, BF_PTX_LANE_BFE_U32, part, to, bf_ptx_constant(d, BF_PTX_CLASS_32, bit),
				  bf_ptx_constant(d, BF_PTX_CLASS_32, 8 * bytes));
		return part;
	}
	if (bytes == 8)
		bf_ptx_emit_lanes(d, BF_PTX_LANE_PACK_64, to, w, w + 1, NONE);
	else if (bytes == 4)
		return w;
	else
		bf_ptx_emit_lanes(d, BF_PTX_LANE_BFE_U32, to, w, bf_ptx_constant(d, BF_PTX_CLASS_32, bit),
				  bf_ptx_constant(d, BF_PTX_CLASS_32, 8 * bytes));
	return to;
}

static void put(struct bf_ptx_decoder *d, const struct bf_ptx_param *p, uint32_t at, uint32_t bytes, uint32_t v)
{
	const uint32_t w = p->first + at / 4;

	if (p->wide && bytes == 8) {
		bf_ptx_emit_lanes(d, BF_PTX_LANE_MOV_64, p->first, v, NONE, NONE);
	} else if (p->wide) {
		const uint32_t row = bf_ptx_vreg_new(d, BF_PTX_CLASS_64);
		bf_ptx_emit_lanes(d, BF_PTX_LANE_WIDEN_U32, row, v, NONE, NONE);
		struct bf_ptx_operation *o = bf_ptx_emit_lanes(d, BF_PTX_LANE_BFI_64, p->first, row, p->first,
							       bf_ptx_constant(d, BF_PTX_CLASS_32, 8 * (uint64_t)at));
		bf_ptx_field(o, BF_PTX_FIELD_E, BF_PTX_ROLE_USE,
			     bf_ptx_constant(d, BF_PTX_CLASS_32, 8 * (uint64_t)bytes));
	} else if (bytes == 8) {
		bf_ptx_emit_lanes(d, BF_PTX_LANE_LOW_32, w, v, NONE, NONE);
		bf_ptx_emit_lanes(d, BF_PTX_LANE_HIGH_32, w + 1, v, NONE, NONE);
	} else if (bytes == 4) {
		bf_ptx_emit_lanes(d, BF_PTX_LANE_MOV_32, w, v, NONE, NONE);
	} else {
		struct bf_ptx_operation *o = bf_ptx_emit_lanes(
		    d, BF_PTX_LANE_BFI_32, w, v, w, bf_ptx_constant(d, BF_PTX_CLASS_32, 8 * (uint64_t)(at & 3)));
		bf_ptx_field(o, BF_PTX_FIELD_E, BF_PTX_ROLE_USE,
			     bf_ptx_constant(d, BF_PTX_CLASS_32, 8 * (uint64_t)bytes));
	}
}

/* One element between a register and a parameter. */
static void move_element(struct bf_ptx_decoder *d, const struct bf_ptx_param *p, uint32_t at, enum bf_ptx_type type,
			 const struct bf_ptx_operand *o, bool store)
{
	const uint32_t bytes = bf_ptx_bits(type) / 8;

	if (bytes == 16) {
		if (o->kind != BF_PTX_OPERAND_REG || bf_ptx_bits(d->fn->reg_types[o->index]) != 128) {
			d->refused = "an operand of another size than 128 bits";
			return;
		}
		const uint32_t v = d->reg_first[o->index];
		for (uint32_t k = 0; k < 2; k++) {
			if (store)
				put(d, p, at + 8 * k, 8, v + k);
			else
				bf_ptx_emit_lanes(d, BF_PTX_LANE_MOV_64, v + k, get(d, p, at + 8 * k, 8), NONE, NONE);
		}
		return;
	}
	if (store) {
		put(d, p, at, bytes, bf_ptx_read(d, o, type));
		return;
	}
	if (o->kind != BF_PTX_OPERAND_REG)
		return;
	const uint32_t size = bf_ptx_bits(d->fn->reg_types[o->index]);
	if (size < 8 * bytes || size > 64) {
		d->refused = "a destination of another size than the instruction's";
		return;
	}
	bf_ptx_emit_extend(d, d->reg_first[o->index], size, get(d, p, at, bytes), 8 * bytes,
			   bf_ptx_type_letter(type) == 's');
}

/* ld.param and st.param of what is kept in slots, at a constant offset. */
void bf_ptx_lower_param(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const bool store = s->form->op == BF_PTX_OP_ST;
	const struct bf_ptx_operand *at = &s->operands[!store], *value = &s->operands[store];
	const enum bf_ptx_type type = (enum bf_ptx_type)s->form->types[0];
	const uint32_t bytes = bf_ptx_bits(type) / 8;
	struct bf_ptx_param *p;

	if (!bf_ptx_is_func_param(d, at, &p)) {
		d->refused = "an address of a parameter that is not its name and a number";
		return;
	}
	const uint32_t count = value->kind == BF_PTX_OPERAND_VECTOR ? value->count : 1;
	const uint32_t size = p->wide ? 8 : 4 * p->count;
	if (at->offset < 0 || (uint64_t)at->offset + (uint64_t)bytes * count > size || bytes == 0 ||
	    ((uint64_t)at->offset & ((bytes < 4 ? bytes : 4) - 1)) != 0) {
		d->refused = "a place outside the parameter, or misaligned";
		return;
	}
	for (uint32_t k = 0; k < count; k++)
		move_element(d, p, (uint32_t)at->offset + k * bytes, type,
			     value->kind == BF_PTX_OPERAND_VECTOR ? &value->elems[k] : value, store);
}

/* An array of pieces for `count` virtual registers from `first` on, patched when the last operation gets its slots. */
static void pieces_of(struct bf_ptx_decoder *d, struct bf_ptx_value *out, uint32_t first, uint32_t count,
		      enum bf_ptx_role role)
{
	struct bf_ptx_piece *pieces = bf_ptx_body_alloc(d, count * sizeof(*pieces));

	if (pieces == NULL)
		return;
	for (uint32_t k = 0; k < count; k++) {
		const uint32_t v = first + k;
		const bool wide = (v & BF_PTX_REF_CONST) == 0 && d->vregs[v].cls == BF_PTX_CLASS_64;
		pieces[k].kind = wide ? BF_PTX_PIECE_64 : BF_PTX_PIECE_32;
		bf_ptx_list_add(d, v, role, &pieces[k].ref);
	}
	out->pieces = pieces;
	out->count = count;
}

static uint32_t reg_pieces(const struct bf_ptx_decoder *d, uint32_t reg)
{
	return bf_ptx_bits(d->fn->reg_types[reg]) == 128 ? 2 : 1;
}

/* A load or store between a parameter's slots and its place in local memory. */
static void spill(struct bf_ptx_decoder *d, const struct bf_ptx_param *p, bool store)
{
	for (uint32_t k = 0; k < p->count; k++) {
		struct bf_ptx_access *x = bf_ptx_body_alloc(d, sizeof(*x));
		struct bf_ptx_piece *piece = bf_ptx_body_alloc(d, sizeof(*piece));
		if (x == NULL || piece == NULL)
			return;
		piece->kind = p->wide ? BF_PTX_PIECE_64 : BF_PTX_PIECE_32;
		*x = (struct bf_ptx_access){
			.space = BF_PTX_LOCAL,
			.bytes = p->wide ? 8 : 4,
			.count = 1,
			.store = store,
			.address = true,
			.origin = BF_PTX_ORIGIN_LOCAL,
			.base = NONE,
			.offset = p->offset + 4 * k,
			.out_count = !store,
			.in_count = store,
			.out = piece,
			.in = piece,
		};
		struct bf_ptx_operation *o = bf_ptx_emit(d, false, store ? BF_PTX_LANE_STORE : BF_PTX_LANE_LOAD);
		o->more = x;
		bf_ptx_list_add(d, p->first + k, store ? BF_PTX_ROLE_USE : BF_PTX_ROLE_DEF, &piece->ref);
	}
}

void bf_ptx_lower_formals(struct bf_ptx_decoder *d)
{
	const struct bf_ptx_signature *sig = &d->fn->signature;

	if (d->fn->entry)
		return;
	struct bf_ptx_value *params = bf_ptx_body_alloc(d, (sig->param_count + 1) * sizeof(*params));
	struct bf_ptx_value *rets = bf_ptx_body_alloc(d, (sig->return_count + 1) * sizeof(*rets));
	if (params == NULL || rets == NULL)
		return;
	d->body->params = params;
	d->body->rets = rets;
	d->body->param_count = sig->param_count;
	d->body->ret_count = sig->return_count;
	bf_ptx_emit(d, true, BF_PTX_CONTROL_MARK);
	for (uint32_t k = 0; k < sig->param_count; k++) {
		const struct bf_ptx_formal *f = &sig->params[k];
		const struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_VAR, .index = f->var };
		struct bf_ptx_param *p;
		if (f->reg != BF_PTX_NONE)
			pieces_of(d, &params[k], d->reg_first[f->reg], reg_pieces(d, f->reg), BF_PTX_ROLE_DEF);
		else if (f->var != BF_PTX_NONE && bf_ptx_is_func_param(d, &o, &p))
			pieces_of(d, &params[k], p->first, p->count, BF_PTX_ROLE_DEF);
	}
	for (uint32_t k = 0; k < sig->param_count; k++) {
		const struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_VAR, .index = sig->params[k].var };
		struct bf_ptx_param *p;
		if (o.index != BF_PTX_NONE && bf_ptx_is_func_param(d, &o, &p) && p->local)
			spill(d, p, true);
	}
}

void bf_ptx_lower_ret(struct bf_ptx_decoder *d)
{
	const struct bf_ptx_signature *sig = &d->fn->signature;
	struct bf_ptx_param *p;

	if (d->fn->entry) {
		bf_ptx_emit(d, true, BF_PTX_CONTROL_RET);
		return;
	}
	for (uint32_t k = 0; k < sig->return_count; k++) {
		const struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_VAR, .index = sig->returns[k].var };
		if (o.index != BF_PTX_NONE && bf_ptx_is_func_param(d, &o, &p) && p->local)
			spill(d, p, false);
	}
	bf_ptx_emit(d, true, BF_PTX_CONTROL_RET);
	struct bf_ptx_value *rets = (struct bf_ptx_value *)d->body->rets;
	for (uint32_t k = 0; k < sig->return_count && rets != NULL; k++) {
		const struct bf_ptx_formal *f = &sig->returns[k];
		const struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_VAR, .index = f->var };
		struct bf_ptx_value own;
		struct bf_ptx_value *out = rets[k].pieces == NULL ? &rets[k] : &own;
		/* Every return has the same pieces, for liveness. */
		if (f->reg != BF_PTX_NONE)
			pieces_of(d, out, d->reg_first[f->reg], reg_pieces(d, f->reg), BF_PTX_ROLE_USE);
		else if (f->var != BF_PTX_NONE && bf_ptx_is_func_param(d, &o, &p))
			pieces_of(d, out, p->first, p->count, BF_PTX_ROLE_USE);
	}
}

/* An argument or a place for a result. */
static void call_value(struct bf_ptx_decoder *d, struct bf_ptx_value *out, const struct bf_ptx_operand *o,
		       uint32_t constant, enum bf_ptx_role role)
{
	struct bf_ptx_param *p;

	if (bf_ptx_is_func_param(d, o, &p))
		pieces_of(d, out, p->first, p->count, role);
	else if (o->kind == BF_PTX_OPERAND_REG)
		pieces_of(d, out, d->reg_first[o->index], reg_pieces(d, o->index), role);
	else if (constant != NONE)
		pieces_of(d, out, constant, 1, role);
	else if (o->kind != BF_PTX_OPERAND_SINK)
		d->refused = "an argument of this kind";
}

/* The signature that a call is made by. */
static const struct bf_ptx_signature *signature_of(const struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	if (s->operands[1].kind == BF_PTX_OPERAND_FUNC)
		return &d->program->funcs[s->operands[1].index]->signature;
	if (s->operand_count > 3 && s->operands[3].kind == BF_PTX_OPERAND_PROTO) {
		const struct bf_ptx_proto *proto = &d->fn->protos[s->operands[3].index];
		if (proto->kind == BF_PTX_PROTO_CALL)
			return &proto->signature;
		if (proto->target_count != 0)
			return &d->program->funcs[proto->targets[0]]->signature;
	}
	return NULL;
}

void bf_ptx_lower_call(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const struct bf_ptx_operand *to = &s->operands[0], *callee = &s->operands[1], *from = &s->operands[2];
	const struct bf_ptx_signature *sig = signature_of(d, s);
	struct bf_ptx_call *call = bf_ptx_body_alloc(d, sizeof(*call));
	struct bf_ptx_value *args = bf_ptx_body_alloc(d, (from->count + 1u) * sizeof(*args));
	struct bf_ptx_value *rets = bf_ptx_body_alloc(d, (to->count + 1u) * sizeof(*rets));
	uint32_t constants[256];

	if (call == NULL || args == NULL || rets == NULL)
		return;
	/* What has to be computed comes before the call. */
	for (uint32_t k = 0; k < from->count; k++) {
		const struct bf_ptx_operand *o = &from->elems[k];
		struct bf_ptx_param *p;
		constants[k] = NONE;
		if (o->kind == BF_PTX_OPERAND_REG || bf_ptx_is_func_param(d, o, &p))
			continue;
		const enum bf_ptx_type type =
		    sig != NULL && k < sig->param_count ? (enum bf_ptx_type)sig->params[k].type : BF_PTX_B32;
		constants[k] = bf_ptx_read(d, o, type);
	}
	const uint32_t value = callee->kind == BF_PTX_OPERAND_FUNC ? NONE : bf_ptx_read(d, callee, BF_PTX_U64);
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_CALL);
	o->more = call;
	o->mark = true;
	call->callee = callee->kind == BF_PTX_OPERAND_FUNC ? d->program->funcs[callee->index] : NULL;
	call->value = NONE;
	call->arg_count = from->count;
	call->ret_count = to->count;
	call->args = args;
	call->rets = rets;
	if (value != NONE)
		bf_ptx_list_add(d, value, BF_PTX_ROLE_USE, &call->value);
	for (uint32_t k = 0; k < from->count; k++)
		call_value(d, &args[k], &from->elems[k], constants[k], BF_PTX_ROLE_USE);
	for (uint32_t k = 0; k < to->count; k++)
		call_value(d, &rets[k], &to->elems[k], NONE, BF_PTX_ROLE_DEF);
}
