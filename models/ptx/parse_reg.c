#include "models/ptx/parse_internal.h"

#include <stdio.h>
#include <string.h>

/* Registers: PTX ISA 5.1.1 and 5.4.6 (parameterised names). */

#define REGS_MOST (1u << 18) /* of one function; ptxas stops far earlier */

uint32_t bf_ptx_new_regs(struct bf_ptx_reader *r, struct bf_ptx_name *name, const struct bf_ptx_decl *d, uint32_t count,
			 bool single)
{
	struct bf_ptx_func *f = &r->func->pub;
	uint32_t first = f->reg_count;

	if (count > (REGS_MOST - first) / d->vec)
		bf_ptx_fail(r, d->line, d->column, "more than %u registers in one function", REGS_MOST);
	*BF_PTX_PUSH(r, range) = (struct bf_ptx_reg_range){ .name = name->text,
							    .first = first,
							    .count = count * d->vec,
							    .type = (uint8_t)d->type,
							    .vec = (uint8_t)d->vec,
							    .single = single };
	f->reg_count += count * d->vec;
	return first;
}

static void declare_regs(struct bf_ptx_reader *r, struct bf_ptx_decl *d)
{
	struct bf_ptx_token where = r->tok;
	struct bf_ptx_name *name = bf_ptx_want_name(r, "the name of a register");
	uint32_t count = 1, first;
	bool single = !bf_ptx_take(r, '<');

	d->line = where.line;
	d->column = where.column;
	if (!single) {
		count = (uint32_t)bf_ptx_want_int(r, REGS_MOST, "the number of registers");
		bf_ptx_want(r, '>', "`>`");
	}
	first = bf_ptx_new_regs(r, name, d, count, single);
	bf_ptx_declare(r, name, single ? BF_PTX_LOCAL_REG : BF_PTX_LOCAL_RANGE, first, single ? d->vec : count, &where);
}

void bf_ptx_parse_regs(struct bf_ptx_reader *r)
{
	struct bf_ptx_decl d = { .space = BF_PTX_REG };

	bf_ptx_parse_decl(r, &d);
	do
		declare_regs(r, &d);
	while (bf_ptx_take(r, ','));
	bf_ptx_want(r, ';', "`;` behind the registers");
}

/* %r57 may be number 57 of %r<100>, and number 7 of %r5<10>. */
static const struct bf_ptx_local *in_range(const struct bf_ptx_reader *r, uint32_t prefix, uint32_t hash,
					   uint32_t *index)
{
	const char *digits = r->tok.text + prefix;
	uint32_t len = r->tok.len - prefix, number = 0;
	const struct bf_ptx_name *n;
	const struct bf_ptx_local *l;

	if (len > 6 || (digits[0] == '0' && len > 1))
		return NULL;
	n = bf_ptx_name_find(&r->p->names, r->tok.text, prefix, hash);
	for (l = n ? n->local : NULL; l && l->kind != BF_PTX_LOCAL_RANGE;)
		l = l->outer;
	if (!l)
		return NULL;
	for (uint32_t i = 0; i < len; i++)
		number = number * 10 + (uint32_t)(digits[i] - '0');
	if (number >= l->count)
		return NULL;
	*index = l->index + number;
	return l;
}

const struct bf_ptx_local *bf_ptx_find_local(struct bf_ptx_reader *r, uint32_t *index)
{
	const char *text = r->tok.text;
	uint32_t len = r->tok.len, prefix = len, hash;
	const struct bf_ptx_local *best = NULL;
	const struct bf_ptx_name *n;

	while (prefix > 1 && text[prefix - 1] >= '0' && text[prefix - 1] <= '9')
		prefix--;
	hash = bf_ptx_hash(BF_PTX_HASH_SEED, text, prefix);
	for (; prefix < len; hash = bf_ptx_hash(hash, &text[prefix], 1), prefix++) {
		uint32_t number;
		const struct bf_ptx_local *l = in_range(r, prefix, hash, &number);

		if (l && (!best || l->depth > best->depth)) {
			best = l;
			*index = number;
		}
	}
	n = bf_ptx_name_find(&r->p->names, text, len, hash);
	if (n && n->local && n->local->kind != BF_PTX_LOCAL_RANGE && (!best || n->local->depth >= best->depth)) {
		best = n->local;
		*index = best->index;
	}
	return best;
}
