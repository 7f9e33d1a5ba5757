/*
 * Statements become operations on virtual registers. What cannot be run becomes a trap that says why, so that it is
 * refused when a lane gets there.
 */
#include "models/ptx/decode_internal.h"

#include <stdio.h>
#include <string.h>

static void lower_branch(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	struct bf_ptx_operation *o;

	if (s->guard == BF_PTX_NONE) {
		o = bf_ptx_emit(d, true, BF_PTX_CONTROL_JUMP);
	} else {
		o = bf_ptx_emit(d, true, BF_PTX_CONTROL_BRANCH);
		bf_ptx_field(o, BF_PTX_FIELD_D, BF_PTX_ROLE_USE, d->guard);
		o->mode = d->negate;
		o->guard = BF_PTX_REF_NONE;
	}
	o->label = s->operands[0].index;
}

static void lower_switch(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const uint32_t index = bf_ptx_read(d, &s->operands[0], BF_PTX_U32);
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_SWITCH);

	if (s->guard != BF_PTX_NONE)
		d->refused = "a guard before brx.idx";
	if (s->operands[1].kind != BF_PTX_OPERAND_PROTO ||
	    d->fn->protos[s->operands[1].index].kind != BF_PTX_PROTO_BRANCH_TARGETS) {
		d->refused = "no list of branch targets";
		return;
	}
	bf_ptx_field(o, BF_PTX_FIELD_C, BF_PTX_ROLE_USE, index);
	o->more = &d->fn->protos[s->operands[1].index];
}

static void lower_trap(struct bf_ptx_decoder *d, enum bf_ptx_trap kind, const char *text)
{
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_TRAP);

	o->mode = kind;
	o->more = text;
}

static void lower_isspacep(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const uint32_t a = bf_ptx_read(d, &s->operands[1], BF_PTX_U64);
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_SPACE);

	o->simple = true;
	o->mode = s->form->space;
	bf_ptx_field(o, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, bf_ptx_written(d, &s->operands[0], BF_PTX_CLASS_PRED));
	bf_ptx_field(o, BF_PTX_FIELD_A, BF_PTX_ROLE_USE, a);
}

/* mapa puts a rank into bits 31:24 of a shared address, getctarank reads it. */
static void lower_rank(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const enum bf_ptx_type type = (enum bf_ptx_type)s->form->types[0];
	const enum bf_ptx_class cls = bf_ptx_class_of(type);
	const uint32_t at = bf_ptx_constant(d, BF_PTX_CLASS_32, 24), bits = bf_ptx_constant(d, BF_PTX_CLASS_32, 8);
	const uint32_t a = bf_ptx_read(d, &s->operands[1], type);

	if (s->form->op == BF_PTX_OP_GETCTARANK) {
		uint32_t low = a;
		if (cls == BF_PTX_CLASS_64) {
			low = bf_ptx_vreg_new(d, BF_PTX_CLASS_32);
			bf_ptx_emit_lanes(d, BF_PTX_LANE_LOW_32, low, a, BF_PTX_REF_NONE, BF_PTX_REF_NONE);
		}
		bf_ptx_emit_lanes(d, BF_PTX_LANE_BFE_U32, bf_ptx_written(d, &s->operands[0], BF_PTX_CLASS_32), low, at,
				  bits);
		return;
	}
	const bool wide = cls == BF_PTX_CLASS_64;
	uint32_t rank = bf_ptx_read(d, &s->operands[2], BF_PTX_U32);
	if (wide) {
		const uint32_t row = bf_ptx_vreg_new(d, BF_PTX_CLASS_64);
		bf_ptx_emit_lanes(d, BF_PTX_LANE_WIDEN_U32, row, rank, BF_PTX_REF_NONE, BF_PTX_REF_NONE);
		rank = row;
	}
	struct bf_ptx_operation *o = bf_ptx_emit_lanes(d, wide ? BF_PTX_LANE_BFI_64 : BF_PTX_LANE_BFI_32,
						       bf_ptx_written(d, &s->operands[0], cls), rank, a, at);
	bf_ptx_field(o, BF_PTX_FIELD_E, BF_PTX_ROLE_USE, bits);
}

static void lower_stack(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const enum bf_ptx_type type = (enum bf_ptx_type)s->form->types[0];
	const enum bf_ptx_class cls = bf_ptx_class_of(type);
	const bool is_alloca = s->form->op == BF_PTX_OP_ALLOCA, restore = s->form->op == BF_PTX_OP_STACKRESTORE;
	const uint32_t a = is_alloca ? bf_ptx_read(d, &s->operands[1], type)
			   : restore ? bf_ptx_read(d, &s->operands[0], type)
				     : BF_PTX_REF_NONE;
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, is_alloca ? BF_PTX_CONTROL_ALLOCA : BF_PTX_CONTROL_STACK);

	o->mode = restore;
	o->imm = is_alloca && s->operand_count > 2 ? s->operands[2].bits : 8;
	if (o->imm == 0 || (o->imm & (o->imm - 1)) != 0)
		d->refused = "an alignment that is not a power of two";
	bf_ptx_field(o, BF_PTX_FIELD_E, BF_PTX_ROLE_RAW, cls == BF_PTX_CLASS_64);
	if (a != BF_PTX_REF_NONE)
		bf_ptx_field(o, BF_PTX_FIELD_A, BF_PTX_ROLE_USE, a);
	if (!restore)
		bf_ptx_field(o, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, bf_ptx_written(d, &s->operands[0], cls));
}

static bool is_pred(const struct bf_ptx_stmt *s)
{
	return s->form->type_count != 0 && s->form->types[0] == BF_PTX_PRED;
}

static void lower_stmt(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	switch (s->form->op) {
	case BF_PTX_OP_MOV:
		bf_ptx_lower_mov(d, s);
		return;
	case BF_PTX_OP_CVT:
		bf_ptx_lower_cvt(d, s);
		return;
	case BF_PTX_OP_CVTA:
		bf_ptx_lower_cvta(d, s);
		return;
	case BF_PTX_OP_LD:
	case BF_PTX_OP_LDU:
	case BF_PTX_OP_ST:
		bf_ptx_lower_access(d, s);
		return;
	case BF_PTX_OP_SETP:
		bf_ptx_lower_setp(d, s);
		return;
	case BF_PTX_OP_SET:
		bf_ptx_lower_set(d, s);
		return;
	case BF_PTX_OP_SELP:
		bf_ptx_lower_selp(d, s);
		return;
	case BF_PTX_OP_NOT:
		if (is_pred(s)) {
			bf_ptx_lower_pred(d, s, BF_PTX_PRED_NOT);
			return;
		}
		break;
	case BF_PTX_OP_AND:
	case BF_PTX_OP_OR:
	case BF_PTX_OP_XOR:
		if (is_pred(s)) {
			bf_ptx_lower_pred(d, s,
					  s->form->op == BF_PTX_OP_AND  ? BF_PTX_PRED_AND
					  : s->form->op == BF_PTX_OP_OR ? BF_PTX_PRED_OR
									: BF_PTX_PRED_XOR);
			return;
		}
		break;
	case BF_PTX_OP_ADD:
	case BF_PTX_OP_SUB:
	case BF_PTX_OP_MAD:
		if (s->form->flags & BF_PTX_FLAG(CC)) {
			bf_ptx_lower_carry(d, s);
			return;
		}
		break;
	case BF_PTX_OP_ADDC:
	case BF_PTX_OP_SUBC:
	case BF_PTX_OP_MADC:
		bf_ptx_lower_carry(d, s);
		return;
	case BF_PTX_OP_LOP3:
		bf_ptx_lower_lop3(d, s);
		return;
	case BF_PTX_OP_BRA:
		lower_branch(d, s);
		return;
	case BF_PTX_OP_BRX_IDX:
		lower_switch(d, s);
		return;
	case BF_PTX_OP_CALL:
		bf_ptx_lower_call(d, s);
		return;
	case BF_PTX_OP_RET:
		bf_ptx_lower_ret(d);
		return;
	case BF_PTX_OP_EXIT:
		bf_ptx_emit(d, true, BF_PTX_CONTROL_EXIT);
		return;
	case BF_PTX_OP_TRAP:
	case BF_PTX_OP_BRKPT:
		lower_trap(d, BF_PTX_TRAP, NULL);
		return;
	case BF_PTX_OP_VOTE:
	case BF_PTX_OP_MATCH:
	case BF_PTX_OP_SHFL:
	case BF_PTX_OP_REDUX:
	case BF_PTX_OP_ELECT:
	case BF_PTX_OP_BAR_WARP_SYNC:
		bf_ptx_lower_meet(d, s);
		return;
	case BF_PTX_OP_ACTIVEMASK: {
		struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_ACTIVE);
		o->simple = true;
		bf_ptx_field(o, BF_PTX_FIELD_D, BF_PTX_ROLE_DEF, bf_ptx_written(d, &s->operands[0], BF_PTX_CLASS_32));
		return;
	}
	case BF_PTX_OP_ISSPACEP:
		lower_isspacep(d, s);
		return;
	case BF_PTX_OP_MAPA:
	case BF_PTX_OP_GETCTARANK:
		lower_rank(d, s);
		return;
	case BF_PTX_OP_ALLOCA:
	case BF_PTX_OP_STACKSAVE:
	case BF_PTX_OP_STACKRESTORE:
		lower_stack(d, s);
		return;
	default:
		break;
	}
	if (!bf_ptx_lower_f32x2(d, s) && !bf_ptx_lower_lanes(d, s))
		bf_ptx_lower_perform(d, s);
}

/* What a statement that cannot be run becomes. */
static void refuse(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s, const char *why)
{
	const size_t size = strlen(s->form->text) + strlen(why) + 32;
	char *text = bf_ptx_body_alloc(d, size);

	if (text == NULL)
		return;
	snprintf(text, size, "%s: %s", s->form->text, why);
	lower_trap(d, BF_PTX_TRAP_REFUSE, text);
}

void bf_ptx_lower(struct bf_ptx_decoder *d)
{
	const struct bf_ptx_func *fn = d->fn;

	d->guard = BF_PTX_REF_NONE;
	bf_ptx_lower_formals(d);
	for (uint32_t n = 0; n < fn->stmt_count && !d->failed; n++) {
		const struct bf_ptx_stmt *s = &fn->stmts[n];
		const uint32_t first = d->op_count, list = d->list_count;
		d->stmt = n;
		d->stmt_op[n] = first;
		d->guard = s->guard != BF_PTX_NONE ? d->reg_first[s->guard] : BF_PTX_REF_NONE;
		d->negate = s->guard_negate;
		d->refused = bf_ptx_form_refusal(s->form);
		/* NVIDIA's driver 580 drops the guard of a testp when it compiles for an H100: 51 random kernels of 51.
		 */
		if (s->form->op == BF_PTX_OP_TESTP)
			d->guard = BF_PTX_REF_NONE;
		if (d->refused == NULL)
			lower_stmt(d, s);
		if (d->refused != NULL && !d->failed) {
			d->op_count = first;
			d->list_count = list;
			refuse(d, s, d->refused);
		}
	}
	/* Falling off the end returns. */
	d->stmt_op[fn->stmt_count] = d->op_count;
	d->stmt = fn->stmt_count != 0 ? fn->stmt_count - 1 : 0;
	d->guard = BF_PTX_REF_NONE;
	d->negate = false;
	bf_ptx_lower_ret(d);
}
