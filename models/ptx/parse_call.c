#include "models/ptx/parse_internal.h"

/* Operands of calls: PTX ISA 7.1 and 9.7.12 (call). */

/* An argument of a call, or what takes its result: a .param block by its name, a register, a constant. */
static struct bf_ptx_operand argument(struct bf_ptx_reader *r, const struct bf_ptx_form *form)
{
	uint32_t index = 0;
	const struct bf_ptx_local *l = r->tok.kind == BF_PTX_TOKEN_NAME ? bf_ptx_find_local(r, &index) : NULL;
	struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_VAR, .index = index };

	if (!l || l->kind != BF_PTX_LOCAL_VAR)
		return bf_ptx_operand(r, form);
	bf_ptx_next(r);
	return o;
}

static struct bf_ptx_operand arguments(struct bf_ptx_reader *r, const struct bf_ptx_form *form)
{
	struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_LIST };
	uint32_t first = r->operand_count;

	bf_ptx_want(r, '(', "`(`");
	while (!bf_ptx_is(r, ')')) {
		struct bf_ptx_operand e = argument(r, form);

		*BF_PTX_PUSH(r, operand) = e;
		if (!bf_ptx_take(r, ','))
			break;
	}
	bf_ptx_want(r, ')', "`)` or `,`");
	if (r->operand_count - first > UINT8_MAX)
		bf_ptx_fail_here(r, "a call with more than %d arguments", UINT8_MAX);
	o.count = (uint8_t)(r->operand_count - first);
	o.elems = bf_ptx_keep_operands(r, o.count ? r->operands + first : NULL, o.count);
	r->operand_count = first;
	return o;
}

/* The function by name, or the register of an indirect call. */
static struct bf_ptx_operand callee(struct bf_ptx_reader *r)
{
	struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_FUNC };
	const struct bf_ptx_local *l;
	const struct bf_ptx_name *n;

	if (r->tok.kind != BF_PTX_TOKEN_NAME)
		bf_ptx_expected(r, "the name of a function, or a register");
	l = bf_ptx_find_local(r, &o.index);
	n = bf_ptx_name_find(&r->p->names, r->tok.text, r->tok.len,
			     bf_ptx_hash(BF_PTX_HASH_SEED, r->tok.text, r->tok.len));
	if (l && (l->kind == BF_PTX_LOCAL_REG || l->kind == BF_PTX_LOCAL_RANGE))
		o.kind = BF_PTX_OPERAND_REG;
	else if (n && n->kind == BF_PTX_SYMBOL_FUNC && n->module == r->number)
		o.index = n->index;
	else
		bf_ptx_not_declared(r);
	bf_ptx_next(r);
	return o;
}

/* What an indirect call may reach: a prototype or table under a label, or a variable that is a table. */
static void targets(struct bf_ptx_reader *r)
{
	const struct bf_ptx_name *n = bf_ptx_name_find(&r->p->names, r->tok.text, r->tok.len,
						       bf_ptx_hash(BF_PTX_HASH_SEED, r->tok.text, r->tok.len));
	uint32_t index = 0;
	const struct bf_ptx_local *l = bf_ptx_find_local(r, &index);
	struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_VAR };

	if (l && l->kind == BF_PTX_LOCAL_PROTO) {
		o.kind = BF_PTX_OPERAND_PROTO;
		o.index = index;
		bf_ptx_refer(r, BF_PTX_REF_INDIRECT, index);
	} else if (n && n->kind == BF_PTX_SYMBOL_VAR && n->module == r->number) {
		o.index = n->index;
		bf_ptx_refer(r, BF_PTX_REF_VAR, o.index);
		bf_ptx_refer(r, BF_PTX_REF_INDIRECT, BF_PTX_NONE);
	} else {
		bf_ptx_not_declared(r);
	}
	bf_ptx_next(r);
	*BF_PTX_PUSH(r, operand) = o;
}

static void check_arguments(struct bf_ptx_reader *r, const struct bf_ptx_token *where)
{
	const struct bf_ptx_operand *o = r->operands;
	const struct bf_ptx_func *f;
	const struct bf_ptx_signature *s;

	f = r->p->pub.funcs[o[1].index];
	s = &f->signature;
	if (o[0].count > s->return_count || o[2].count > s->param_count ||
	    (o[2].count < s->param_count && !(s->variadic && o[2].count + 1u == s->param_count)))
		bf_ptx_fail(r, where->line, where->column,
			    "`%.80s` takes %u arguments and returns %u, this call has %u and %u", f->name,
			    s->param_count, s->return_count, o[2].count, o[0].count);
}

void bf_ptx_parse_call(struct bf_ptx_reader *r)
{
	static const struct bf_ptx_form form = { .op = BF_PTX_OP_CALL };
	struct bf_ptx_operand o[3] = { { .kind = BF_PTX_OPERAND_LIST }, { 0 }, { .kind = BF_PTX_OPERAND_LIST } };
	struct bf_ptx_token where;
	bool more;

	if (bf_ptx_is(r, '(')) {
		o[0] = arguments(r, &form);
		bf_ptx_want(r, ',', "`,`");
	}
	where = r->tok;
	o[1] = callee(r);
	more = bf_ptx_take(r, ',');
	if (more && bf_ptx_is(r, '(')) {
		o[2] = arguments(r, &form);
		more = bf_ptx_take(r, ',');
	}
	for (uint32_t i = 0; i < BF_ARRAY_LEN(o); i++)
		*BF_PTX_PUSH(r, operand) = o[i];
	if (o[1].kind == BF_PTX_OPERAND_FUNC) {
		bf_ptx_refer(r, BF_PTX_REF_CALL, o[1].index);
		check_arguments(r, &where);
	}
	if (more)
		targets(r);
	else if (o[1].kind == BF_PTX_OPERAND_REG)
		bf_ptx_refer(r, BF_PTX_REF_INDIRECT, BF_PTX_NONE);
}
