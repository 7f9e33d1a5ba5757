#include "models/ptx/parse_internal.h"

#include <string.h>

/* Operands: PTX ISA 6. */

#define NESTING_MOST 8

const struct bf_ptx_operand *bf_ptx_keep_operands(struct bf_ptx_reader *r, const struct bf_ptx_operand *from,
						  uint32_t count)
{
	struct bf_ptx_operand *kept = bf_ptx_arena_take(&r->p->arena, count * sizeof(*kept));

	if (count)
		memcpy(kept, from, count * sizeof(*kept));
	return kept;
}

/* Pushes elements to r->operands until `end`; those from `first` on leave it again as one operand. */
static struct bf_ptx_operand list(struct bf_ptx_reader *r, const struct bf_ptx_form *form,
				  enum bf_ptx_operand_kind kind, uint32_t first, int end, const char *what)
{
	struct bf_ptx_operand o = { .kind = (uint8_t)kind };
	uint32_t count;

	if (++r->nesting > NESTING_MOST)
		bf_ptx_fail_here(r, "braces and brackets are nested deeper than %d", NESTING_MOST);
	while (!bf_ptx_is(r, end)) {
		struct bf_ptx_operand e = bf_ptx_operand(r, form);

		*BF_PTX_PUSH(r, operand) = e;
		if (!bf_ptx_take(r, ','))
			break;
	}
	r->nesting--;
	bf_ptx_want(r, end, what);
	count = r->operand_count - first;
	if (count > UINT8_MAX)
		bf_ptx_fail_here(r, "a list of %u operands, at most %d are possible", count, UINT8_MAX);
	o.count = (uint8_t)count;
	o.elems = bf_ptx_keep_operands(r, count ? r->operands + first : NULL, count);
	r->operand_count = first;
	return o;
}

static struct bf_ptx_operand constant(struct bf_ptx_reader *r)
{
	struct bf_ptx_const_value v = bf_ptx_expression(r, false);
	struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_IMM, .real = v.real, .width = 64 };

	o.bits = v.bits;
	if (v.real) {
		memcpy(&o.bits, &v.number, sizeof(v.number));
		o.width = v.width;
		o.single = v.single;
	}
	return o;
}

/* .x of %tid.x or of a vector register: 0 to 3; -1: it is no such word. */
static int part_word(struct bf_ptx_reader *r)
{
	static const char parts[] = "xyzwrgba";
	const char *p = r->tok.kind == BF_PTX_TOKEN_DOT && r->tok.len == 1 ? strchr(parts, *r->tok.text) : NULL;

	if (!p || !*p)
		return -1;
	bf_ptx_next(r);
	return (int)(p - parts) & 3;
}

static struct bf_ptx_operand vector_register(struct bf_ptx_reader *r, uint32_t first, uint32_t count)
{
	struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_REG, .index = first }, elems[8] = { 0 };
	int part = part_word(r);

	if (part >= (int)count)
		bf_ptx_fail_here(r, "a vector register of %u elements has no such one", count);
	if (part >= 0) {
		o.index = first + (uint32_t)part;
		return o;
	}
	for (uint32_t i = 0; i < count; i++)
		elems[i] = (struct bf_ptx_operand){ .kind = BF_PTX_OPERAND_REG, .index = first + i };
	o.kind = BF_PTX_OPERAND_VECTOR;
	o.count = (uint8_t)count;
	o.elems = bf_ptx_keep_operands(r, elems, count);
	return o;
}

/* A variable of the module or function: its address and what is added. */
static struct bf_ptx_operand variable(struct bf_ptx_reader *r, uint32_t number)
{
	struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_VAR, .index = number };
	struct bf_ptx_var *v = r->p->pub.vars[number];

	o.offset = bf_ptx_displacement(r);
	v->addressed = true;
	if (v->func == BF_PTX_NONE || v->space == BF_PTX_SHARED)
		bf_ptx_refer(r, BF_PTX_REF_VAR, number);
	return o;
}

static struct bf_ptx_operand local(struct bf_ptx_reader *r, const struct bf_ptx_form *form,
				   const struct bf_ptx_local *l, uint32_t index)
{
	struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_REG, .index = index };

	switch (l->kind) {
	case BF_PTX_LOCAL_REG:
		if (l->count > 1)
			return vector_register(r, index, l->count);
		break;
	case BF_PTX_LOCAL_RANGE:
		break;
	case BF_PTX_LOCAL_VAR:
		return variable(r, index);
	case BF_PTX_LOCAL_LABEL:
		bf_ptx_fail_here(r, "a label is for branches");
	case BF_PTX_LOCAL_PROTO:
		bf_ptx_fail_here(r, "a prototype or table is for calls and brx.idx");
	}
	/* Bytes and halves of registers, which video instructions select. */
	if (r->tok.kind == BF_PTX_TOKEN_DOT && bf_ptx_form_refusal(form))
		bf_ptx_next(r);
	return o;
}

/* A family's number: %pm3, %pm3_64, %envreg12, %reserved_smem_offset_1. */
static bool in_family(enum bf_ptx_sreg s, const char *digits, size_t len, int64_t *number)
{
	bool wide = s == BF_PTX_SREG_PM_64;

	if (s != BF_PTX_SREG_PM && !wide && s != BF_PTX_SREG_ENVREG && s != BF_PTX_SREG_RESERVED_SMEM_OFFSET)
		return false;
	if (wide && (len < 4 || memcmp(digits + len - 3, "_64", 3) != 0))
		return false;
	len -= wide ? 3 : 0;
	if (len < 1 || len > 2)
		return false;
	*number = 0;
	for (size_t i = 0; i < len; i++) {
		if (digits[i] < '0' || digits[i] > '9')
			return false;
		*number = *number * 10 + digits[i] - '0';
	}
	return *number < 32;
}

static const struct {
	const char *name;
	uint8_t parts;
} sregs[] = {
#define X(name, word, bits, parts) { word, parts },
	BF_PTX_SREGS(X)
#undef X
};

static bool find_special(const char *text, size_t len, struct bf_ptx_operand *o)
{
	for (uint32_t i = 0; i < BF_PTX_SREGS_COUNT; i++) {
		/* %pm3_64 begins as %pm3 does. */
		size_t head = i == BF_PTX_SREG_PM_64 ? 3 : strlen(sregs[i].name);

		*o = (struct bf_ptx_operand){ .kind = BF_PTX_OPERAND_SREG, .index = i };
		if (len < head || memcmp(text, sregs[i].name, head) != 0)
			continue;
		if ((len == head && i != BF_PTX_SREG_PM_64) ||
		    in_family((enum bf_ptx_sreg)i, text + head, len - head, &o->offset))
			return true;
	}
	return false;
}

static bool special(struct bf_ptx_reader *r, struct bf_ptx_operand *o)
{
	int part;

	if (!find_special(r->tok.text, r->tok.len, o))
		return false;
	bf_ptx_next(r);
	if (sregs[o->index].parts == 1)
		return true;
	part = part_word(r);
	if (part < 0) {
		/* All four: mov.v4.u32 {a, b, c, d}, %tid. */
		struct bf_ptx_operand all[4];

		for (uint8_t i = 0; i < 4; i++) {
			all[i] = *o;
			all[i].part = i;
		}
		*o = (struct bf_ptx_operand){ .kind = BF_PTX_OPERAND_VECTOR, .count = 4 };
		o->elems = bf_ptx_keep_operands(r, all, 4);
		return true;
	}
	o->part = (uint8_t)part;
	return true;
}

static bool is_word(const struct bf_ptx_reader *r, const char *word)
{
	return r->tok.len == strlen(word) && memcmp(r->tok.text, word, r->tok.len) == 0;
}

/* A symbol of the module; false: there is none of this name. */
static bool symbol(struct bf_ptx_reader *r, struct bf_ptx_operand *o)
{
	const struct bf_ptx_name *n = bf_ptx_name_find(&r->p->names, r->tok.text, r->tok.len,
						       bf_ptx_hash(BF_PTX_HASH_SEED, r->tok.text, r->tok.len));

	if (!n || !n->kind || n->module != r->number)
		return false;
	bf_ptx_next(r);
	if (n->kind == BF_PTX_SYMBOL_VAR) {
		*o = variable(r, n->index);
		return true;
	}
	*o = (struct bf_ptx_operand){ .kind = BF_PTX_OPERAND_FUNC, .index = n->index };
	r->p->pub.funcs[n->index]->addressed = true;
	bf_ptx_refer(r, BF_PTX_REF_TAKEN, n->index);
	return true;
}

void bf_ptx_not_declared(struct bf_ptx_reader *r)
{
	bf_ptx_fail_here(r, "`%.*s` is not declared", r->tok.len < 100 ? (int)r->tok.len : 100, r->tok.text);
}

static struct bf_ptx_operand named(struct bf_ptx_reader *r, const struct bf_ptx_form *form)
{
	struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_SINK };
	const struct bf_ptx_local *l;
	uint32_t index = 0;

	if (is_word(r, "_")) {
		bf_ptx_next(r);
		return o;
	}
	if (is_word(r, "WARP_SZ"))
		return constant(r);
	l = bf_ptx_find_local(r, &index);
	if (l) {
		bf_ptx_next(r);
		return local(r, form, l, index);
	}
	if (symbol(r, &o) || special(r, &o))
		return o;
	if (!bf_ptx_form_refusal(form))
		bf_ptx_not_declared(r);
	o.kind = BF_PTX_OPERAND_NAME;
	bf_ptx_next(r);
	while (r->tok.kind == BF_PTX_TOKEN_DOT)
		bf_ptx_next(r);
	return o;
}

/* Behind `[`: a register, a name or a number, and what is added. */
static struct bf_ptx_operand address(struct bf_ptx_reader *r, const struct bf_ptx_form *form)
{
	struct bf_ptx_operand o = { .kind = BF_PTX_OPERAND_AT_IMM };
	const struct bf_ptx_local *l = NULL;
	uint32_t index = 0;

	if (r->tok.kind == BF_PTX_TOKEN_NAME && !is_word(r, "WARP_SZ"))
		l = bf_ptx_find_local(r, &index);
	if (l && (l->kind == BF_PTX_LOCAL_REG || l->kind == BF_PTX_LOCAL_RANGE)) {
		bf_ptx_next(r);
		o = local(r, form, l, index);
		if (o.kind != BF_PTX_OPERAND_REG)
			bf_ptx_fail_here(r, "an address is one register");
		o.kind = BF_PTX_OPERAND_AT_REG;
		o.offset = bf_ptx_displacement(r);
	} else if (r->tok.kind == BF_PTX_TOKEN_NAME && !is_word(r, "WARP_SZ")) {
		bool was = false;
		struct bf_ptx_var *v;

		/* `addressed` is for names outside of brackets. */
		if (l && l->kind == BF_PTX_LOCAL_VAR)
			was = r->p->pub.vars[index]->addressed;
		o = named(r, form);
		if (o.kind == BF_PTX_OPERAND_NAME)
			return o;
		if (o.kind != BF_PTX_OPERAND_VAR)
			bf_ptx_fail_here(r, "an address begins with a register, a variable or a number");
		o.kind = BF_PTX_OPERAND_AT_VAR;
		v = r->p->pub.vars[o.index];
		if (l)
			v->addressed = was;
	} else {
		o.offset = bf_ptx_integer(r);
	}
	return o;
}

static struct bf_ptx_operand bracketed(struct bf_ptx_reader *r, const struct bf_ptx_form *form)
{
	struct bf_ptx_operand o = address(r, form);

	if (bf_ptx_is(r, ',')) {
		uint32_t first = r->operand_count;

		bf_ptx_next(r);
		*BF_PTX_PUSH(r, operand) = o;
		return list(r, form, BF_PTX_OPERAND_AT_LIST, first, ']', "`]` or `,`");
	}
	bf_ptx_want(r, ']', "`]`, `+` or `-`");
	o.unified = bf_ptx_take_dot(r, "unified");
	return o;
}

/* -%r1: of video instructions; anything else behind a sign is a constant. */
static bool negated_register(struct bf_ptx_reader *r, int sign, struct bf_ptx_operand *o,
			     const struct bf_ptx_form *form)
{
	struct bf_ptx_token tok = r->tok;
	const char *at = r->at, *line_start = r->line_start;
	uint32_t line = r->line, index = 0;

	if (!bf_ptx_take(r, sign))
		return false;
	if (r->tok.kind == BF_PTX_TOKEN_NAME && bf_ptx_find_local(r, &index)) {
		*o = named(r, form);
		if (o->kind != BF_PTX_OPERAND_REG || (sign == '-' && !bf_ptx_form_refusal(form)))
			bf_ptx_fail(r, tok.line, tok.column, "`%c` is not allowed before this register", sign);
		o->negate = true;
		return true;
	}
	r->tok = tok;
	r->at = at;
	r->line = line;
	r->line_start = line_start;
	return false;
}

/* d|p */
static struct bf_ptx_operand pair(struct bf_ptx_reader *r, const struct bf_ptx_form *form, struct bf_ptx_operand first)
{
	struct bf_ptx_operand both[2] = { first }, o = { .kind = BF_PTX_OPERAND_PAIR, .count = 2 };

	if (r->tok.kind != BF_PTX_TOKEN_NAME)
		bf_ptx_expected(r, "a register behind `|`");
	both[1] = named(r, form);
	o.elems = bf_ptx_keep_operands(r, both, 2);
	return o;
}

struct bf_ptx_operand bf_ptx_operand(struct bf_ptx_reader *r, const struct bf_ptx_form *form)
{
	struct bf_ptx_operand o = { 0 };

	if (bf_ptx_take(r, '['))
		return bracketed(r, form);
	if (bf_ptx_take(r, '{'))
		return list(r, form, BF_PTX_OPERAND_VECTOR, r->operand_count, '}', "`}` or `,`");
	if (r->tok.kind == BF_PTX_TOKEN_NAME) {
		o = named(r, form);
		if ((o.kind == BF_PTX_OPERAND_REG || o.kind == BF_PTX_OPERAND_SINK) && bf_ptx_take(r, '|'))
			return pair(r, form, o);
		return o;
	}
	if (negated_register(r, '!', &o, form) || negated_register(r, '-', &o, form))
		return o;
	return constant(r);
}

static void label(struct bf_ptx_reader *r, bool table)
{
	struct bf_ptx_operand o = { .kind = table ? BF_PTX_OPERAND_PROTO : BF_PTX_OPERAND_LABEL, .index = BF_PTX_NONE };

	r->label = (struct bf_ptx_fixup){ .table = table, .line = r->tok.line, .column = r->tok.column };
	r->label.name = bf_ptx_want_name(r, table ? "a table of labels" : "a label");
	*BF_PTX_PUSH(r, operand) = o;
}

void bf_ptx_parse_operand(struct bf_ptx_reader *r, const struct bf_ptx_form *form)
{
	struct bf_ptx_operand o;

	if (form->op == BF_PTX_OP_BRA && !r->label.name) {
		label(r, false);
		return;
	}
	if (form->op == BF_PTX_OP_BRX_IDX && r->operand_count == 1) {
		label(r, true);
		return;
	}
	o = bf_ptx_operand(r, form);
	*BF_PTX_PUSH(r, operand) = o;
}
