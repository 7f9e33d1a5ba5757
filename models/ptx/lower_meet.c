/* Instructions among lanes. */
#include "models/ptx/decode_internal.h"

#define NONE BF_PTX_REF_NONE

static uint32_t members_of(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	return bf_ptx_read(d, &s->operands[s->operand_count - 1], BF_PTX_B32);
}

/* What d, or d|p, writes. */
static void targets(struct bf_ptx_decoder *d, const struct bf_ptx_operand *o, enum bf_ptx_class cls, uint32_t *to,
		    uint32_t *pred)
{
	*to = *pred = NONE;
	if (o->kind == BF_PTX_OPERAND_PAIR) {
		if (o->elems[1].kind != BF_PTX_OPERAND_SINK)
			*pred = bf_ptx_written(d, &o->elems[1], BF_PTX_CLASS_PRED);
		o = &o->elems[0];
	}
	if (o->kind == BF_PTX_OPERAND_SINK)
		return;
	*(cls == BF_PTX_CLASS_PRED ? pred : to) = bf_ptx_written(d, o, cls);
}

void bf_ptx_lower_meet(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s)
{
	const struct bf_ptx_form *f = s->form;
	const enum bf_ptx_type type = f->type_count != 0 ? (enum bf_ptx_type)f->types[0] : BF_PTX_B32;
	struct bf_ptx_meet *x = bf_ptx_body_alloc(d, sizeof(*x));
	uint32_t to = NONE, pred = NONE, value = NONE, lane = NONE, bounds = NONE;

	if (x == NULL)
		return;
	const bool synced = f->op == BF_PTX_OP_BAR_WARP_SYNC || (f->flags & BF_PTX_FLAG(SYNC)) != 0;
	if (!synced) {
		d->refused = "the form without .sync is not in sm_70 and later";
		return;
	}
	x->op = (uint8_t)f->op;
	x->sub = f->sub;
	x->kind = BF_PTX_PIECE_SINK;
	x->is_signed = bf_ptx_type_letter(type) == 's';
	const uint32_t members = members_of(d, s);
	switch (f->op) {
	case BF_PTX_OP_VOTE:
		targets(d, &s->operands[0], f->sub == BF_PTX_SUB_BALLOT ? BF_PTX_CLASS_32 : BF_PTX_CLASS_PRED, &to,
			&pred);
		value = bf_ptx_read(d, &s->operands[1], BF_PTX_PRED);
		x->negate = s->operands[1].kind == BF_PTX_OPERAND_REG && s->operands[1].negate;
		x->kind = BF_PTX_PIECE_PRED;
		break;
	case BF_PTX_OP_MATCH:
		targets(d, &s->operands[0], BF_PTX_CLASS_32, &to, &pred);
		value = bf_ptx_read(d, &s->operands[1], type);
		x->kind = bf_ptx_class_of(type) == BF_PTX_CLASS_64 ? BF_PTX_PIECE_64 : BF_PTX_PIECE_32;
		break;
	case BF_PTX_OP_SHFL:
		targets(d, &s->operands[0], BF_PTX_CLASS_32, &to, &pred);
		value = bf_ptx_read(d, &s->operands[1], BF_PTX_B32);
		lane = bf_ptx_read(d, &s->operands[2], BF_PTX_B32);
		bounds = bf_ptx_read(d, &s->operands[3], BF_PTX_B32);
		x->kind = BF_PTX_PIECE_32;
		break;
	case BF_PTX_OP_REDUX:
		x->is_float = bf_ptx_type_letter(type) == 'f';
		x->nan_wins = (f->flags & BF_PTX_FLAG(NAN_OUT)) != 0;
		x->absolute = (f->flags & BF_PTX_FLAG(ABS_MOD)) != 0;
		targets(d, &s->operands[0], BF_PTX_CLASS_32, &to, &pred);
		value = bf_ptx_read(d, &s->operands[1], type);
		x->kind = BF_PTX_PIECE_32;
		break;
	case BF_PTX_OP_ELECT:
		targets(d, &s->operands[0], BF_PTX_CLASS_32, &to, &pred);
		break;
	default:
		break;
	}
	struct bf_ptx_operation *o = bf_ptx_emit(d, true, BF_PTX_CONTROL_MEET);
	o->more = x;
	o->mark = true;
	const struct {
		uint32_t v, *patch;
		enum bf_ptx_role role;
	} all[] = {
		{ value, &x->value, BF_PTX_ROLE_USE },   { lane, &x->lane, BF_PTX_ROLE_USE },
		{ bounds, &x->bounds, BF_PTX_ROLE_USE }, { members, &x->members, BF_PTX_ROLE_USE },
		{ to, &x->to, BF_PTX_ROLE_DEF },         { pred, &x->to_pred, BF_PTX_ROLE_DEF },
	};
	for (uint32_t k = 0; k < BF_ARRAY_LEN(all); k++) {
		*all[k].patch = NONE;
		if (all[k].v != NONE)
			bf_ptx_list_add(d, all[k].v, all[k].role, all[k].patch);
	}
}
