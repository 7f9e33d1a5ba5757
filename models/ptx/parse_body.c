#include "models/ptx/parse_internal.h"

#include <string.h>

/* Bodies: declarations, labels, blocks, and statements as far as their operands. */

static void variable(struct bf_ptx_reader *r)
{
	static const enum bf_ptx_space spaces[] = { BF_PTX_PARAM, BF_PTX_LOCAL, BF_PTX_SHARED, BF_PTX_GLOBAL,
						    BF_PTX_CONST };
	struct bf_ptx_decl d = { .linkage = BF_PTX_LINK_LOCAL };

	for (size_t i = 0; i < BF_ARRAY_LEN(spaces); i++)
		if (bf_ptx_take_dot(r, bf_ptx_space_text(spaces[i]))) {
			d.space = spaces[i];
			bf_ptx_parse_vars(r, &d);
			return;
		}
	bf_ptx_expected(r, "an instruction, a label or a declaration");
}

static void directive(struct bf_ptx_reader *r)
{
	if (bf_ptx_take_dot(r, "reg"))
		bf_ptx_parse_regs(r);
	else if (bf_ptx_take_dot(r, "loc"))
		bf_ptx_parse_loc(r);
	else if (bf_ptx_take_dot(r, "loc_intermediate"))
		bf_ptx_skip_loc(r);
	else if (bf_ptx_take_dot(r, "pragma"))
		bf_ptx_parse_pragma(r);
	else if (bf_ptx_take_dot(r, "file"))
		bf_ptx_parse_file(r);
	else
		variable(r);
}

static void label(struct bf_ptx_reader *r, struct bf_ptx_name *name, const struct bf_ptx_token *where)
{
	if (bf_ptx_is_dot(r, "callprototype") || bf_ptx_is_dot(r, "calltargets") || bf_ptx_is_dot(r, "branchtargets")) {
		bf_ptx_parse_proto(r, name, where);
		return;
	}
	bf_ptx_declare(r, name, BF_PTX_LOCAL_LABEL, r->label_count, 1, where);
	*BF_PTX_PUSH(r, label) =
	    (struct bf_ptx_label){ .name = name->text, .stmt = r->stmt_count, .line = where->line };
}

/* The mnemonic and its modifiers, `first` and the dotted words behind it. They mostly stand without blanks. */
static struct bf_ptx_form *form(struct bf_ptx_reader *r, const struct bf_ptx_token *first)
{
	const char *end = first->text + first->len;
	char joined[256];
	size_t len = first->len;
	bool apart = false;

	if (len < sizeof(joined))
		memcpy(joined, first->text, len);
	while (r->tok.kind == BF_PTX_TOKEN_DOT) {
		apart |= r->tok.text - 1 != end;
		end = r->tok.text + r->tok.len;
		if (len + r->tok.len + 1 >= sizeof(joined))
			bf_ptx_fail(r, first->line, first->column, "an instruction of more than %zu letters",
				    sizeof(joined) - 2);
		joined[len] = '.';
		memcpy(joined + len + 1, r->tok.text, r->tok.len);
		len += r->tok.len + 1;
		bf_ptx_next(r);
	}
	if (len >= sizeof(joined))
		bf_ptx_fail(r, first->line, first->column, "an instruction of more than %zu letters",
			    sizeof(joined) - 2);
	return bf_ptx_form_get(r, apart ? joined : first->text, len);
}

static void check_count(struct bf_ptx_reader *r, const struct bf_ptx_form *f, const struct bf_ptx_token *first)
{
	uint32_t least, most;

	bf_ptx_form_operands(f, &least, &most);
	if (r->operand_count >= least && r->operand_count <= most)
		return;
	if (least == most)
		bf_ptx_fail(r, first->line, first->column, "`%.60s` takes %u operand%s, here %s %u", f->text, least,
			    least == 1 ? "" : "s", r->operand_count == 1 ? "is" : "are", r->operand_count);
	bf_ptx_fail(r, first->line, first->column, "`%.60s` takes %u to %u operands, here %s %u", f->text, least, most,
		    r->operand_count == 1 ? "is" : "are", r->operand_count);
}

static void operands(struct bf_ptx_reader *r, const struct bf_ptx_form *f)
{
	r->operand_count = 0;
	r->label.name = NULL;
	if (f->op == BF_PTX_OP_CALL) {
		bf_ptx_parse_call(r);
		return;
	}
	if (bf_ptx_is(r, ';') || bf_ptx_is(r, '}'))
		return;
	do
		bf_ptx_parse_operand(r, f);
	while (bf_ptx_take(r, ','));
	if (r->operand_count > UINT8_MAX)
		bf_ptx_fail_here(r, "more than %d operands", UINT8_MAX);
}

/* The operands go to the arena, where a label's later place can find them. */
static const struct bf_ptx_operand *keep_operands(struct bf_ptx_reader *r)
{
	uint32_t n = r->operand_count;
	struct bf_ptx_operand *kept = bf_ptx_arena_take(&r->p->arena, n * sizeof(*kept));

	if (n)
		memcpy(kept, r->operands, n * sizeof(*kept));
	if (r->label.name) {
		for (uint32_t i = 0; i < n; i++)
			if (kept[i].kind == BF_PTX_OPERAND_LABEL || kept[i].kind == BF_PTX_OPERAND_PROTO)
				r->label.operand = &kept[i];
		bf_ptx_fixup_later(r, &r->label);
	}
	return kept;
}

static void instruction(struct bf_ptx_reader *r, const struct bf_ptx_token *first, uint32_t guard, bool negate)
{
	struct bf_ptx_form *f = form(r, first);
	const struct bf_ptx_operand *kept;

	operands(r, f);
	if (!bf_ptx_form_refusal(f))
		check_count(r, f, first);
	else
		bf_ptx_refer(r, BF_PTX_REF_REFUSED, r->stmt_count);
	bf_ptx_want(r, ';', "`;` or `,`");
	kept = keep_operands(r);
	f->uses++;
	*BF_PTX_PUSH(r, stmt) = (struct bf_ptx_stmt){
		.form = f,
		.operands = kept,
		.operand_count = (uint8_t)r->operand_count,
		.guard = guard,
		.guard_negate = negate,
		.line = first->line,
		.column = (uint16_t)(first->column < UINT16_MAX ? first->column : UINT16_MAX),
		.loc = r->loc,
	};
}

static void want_name_token(struct bf_ptx_reader *r, const char *what)
{
	if (r->tok.kind != BF_PTX_TOKEN_NAME)
		bf_ptx_expected(r, what);
}

/* The type of a register of this function; ranges stand in order. */
static uint8_t type_of(const struct bf_ptx_reader *r, uint32_t reg)
{
	uint32_t low = 0, high = r->range_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (r->ranges[middle].first <= reg)
			low = middle;
		else
			high = middle;
	}
	return r->ranges[low].type;
}

/* @%p or @!%p, behind the sign. */
static uint32_t guard_register(struct bf_ptx_reader *r, bool *negate)
{
	const struct bf_ptx_local *l;
	uint32_t reg = BF_PTX_NONE;

	*negate = bf_ptx_take(r, '!');
	want_name_token(r, "a predicate");
	l = bf_ptx_find_local(r, &reg);
	if (!l || (l->kind != BF_PTX_LOCAL_REG && l->kind != BF_PTX_LOCAL_RANGE))
		bf_ptx_expected(r, "a predicate that is declared");
	if (type_of(r, reg) != BF_PTX_PRED)
		bf_ptx_fail_here(r, "`%.*s` is not a predicate", r->tok.len < 100 ? (int)r->tok.len : 100, r->tok.text);
	bf_ptx_next(r);
	return reg;
}

static void guarded(struct bf_ptx_reader *r)
{
	bool negate;
	uint32_t guard = guard_register(r, &negate);
	struct bf_ptx_token first = r->tok;

	want_name_token(r, "an instruction");
	bf_ptx_next(r);
	instruction(r, &first, guard, negate);
}

static void label_or_instruction(struct bf_ptx_reader *r)
{
	struct bf_ptx_token first = r->tok;

	bf_ptx_next(r);
	if (bf_ptx_take(r, ':')) {
		struct bf_ptx_name *n = bf_ptx_name_get(&r->p->names, &r->p->arena, first.text, first.len);

		label(r, n, &first);
		return;
	}
	instruction(r, &first, BF_PTX_NONE, false);
}

void bf_ptx_parse_body(struct bf_ptx_reader *r)
{
	for (uint32_t depth = 1; depth;) {
		if (r->tok.kind == BF_PTX_TOKEN_NAME) {
			label_or_instruction(r);
		} else if (r->tok.kind == BF_PTX_TOKEN_DOT) {
			directive(r);
		} else if (bf_ptx_take(r, '@')) {
			guarded(r);
		} else if (bf_ptx_take(r, '{')) {
			bf_ptx_block_open(r);
			depth++;
		} else if (bf_ptx_take(r, '}')) {
			if (--depth)
				bf_ptx_block_close(r);
		} else if (!bf_ptx_take(r, ';')) {
			bf_ptx_expected(r, "an instruction, a label, a declaration or `}`");
		}
	}
}
