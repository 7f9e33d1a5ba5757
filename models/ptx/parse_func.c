#include "models/ptx/parse_internal.h"

#include <string.h>

/* Functions and kernels: PTX ISA 11.1 (entry and func), 11.4 and 11.7 (what they say of launches). */

#define ENTRY_PARAM_BYTES_MOST 32764u /* PTX ISA 7.1, from 8.1 on */

struct bf_ptx_func_block *bf_ptx_func_named(struct bf_ptx_reader *r, struct bf_ptx_name *name)
{
	struct bf_ptx_program_block *p = r->p;
	struct bf_ptx_func_block *f;

	if (name->kind && name->module == r->number) {
		if (name->kind != BF_PTX_SYMBOL_FUNC)
			bf_ptx_fail_here(r, "`%.100s` is a variable already", name->text);
		return BF_CONTAINER_OF(p->pub.funcs[name->index], struct bf_ptx_func_block, pub);
	}
	f = bf_ptx_arena_take(&p->arena, sizeof(*f));
	f->alias = BF_PTX_NONE;
	f->pub.name = name->text;
	f->pub.number = p->pub.func_count;
	f->pub.module = r->number;
	f->pub.def = BF_PTX_NONE;
	f->pub.builtin = BF_PTX_NONE;
	bf_ptx_grow(&p->arena, (void **)&p->pub.funcs, &p->func_room, p->pub.func_count, sizeof(*p->pub.funcs));
	p->pub.funcs[p->pub.func_count++] = &f->pub;
	name->kind = BF_PTX_SYMBOL_FUNC;
	name->module = r->number;
	name->index = f->pub.number;
	return f;
}

/* One to three numbers; those that are missing are 1. */
static void three(struct bf_ptx_reader *r, uint32_t out[3])
{
	out[0] = out[1] = out[2] = 1;
	for (uint32_t i = 0; i < 3; i++) {
		out[i] = (uint32_t)bf_ptx_want_int(r, UINT32_MAX, "a size");
		if (i == 2 || !bf_ptx_take(r, ','))
			return;
	}
}

static uint32_t one(struct bf_ptx_reader *r)
{
	return (uint32_t)bf_ptx_want_int(r, UINT32_MAX, "a number");
}

void bf_ptx_parse_pragma(struct bf_ptx_reader *r)
{
	do {
		if (r->tok.kind != BF_PTX_TOKEN_STRING)
			bf_ptx_expected(r, "a string");
		bf_ptx_next(r);
	} while (bf_ptx_take(r, ','));
	bf_ptx_want(r, ';', "`;` behind .pragma");
}

/* Between the parameters and the body. False: no such directive. */
static bool directive(struct bf_ptx_reader *r, struct bf_ptx_func *f)
{
	if (bf_ptx_take_dot(r, "maxntid"))
		three(r, f->maxntid);
	else if (bf_ptx_take_dot(r, "reqntid"))
		three(r, f->reqntid);
	else if (bf_ptx_take_dot(r, "reqnctapercluster"))
		three(r, f->cluster);
	else if (bf_ptx_take_dot(r, "explicitcluster"))
		f->explicit_cluster = true;
	else if (bf_ptx_take_dot(r, "blocksareclusters"))
		f->blocks_are_clusters = true;
	else if (bf_ptx_take_dot(r, "maxclusterrank"))
		f->max_cluster_rank = one(r);
	else if (bf_ptx_take_dot(r, "minnctapersm"))
		f->min_ctas_per_sm = one(r);
	else if (bf_ptx_take_dot(r, "maxnreg"))
		f->max_regs = one(r);
	else if (bf_ptx_take_dot(r, "maxnctapersm") || bf_ptx_take_dot(r, "abi_preserve") ||
		 bf_ptx_take_dot(r, "abi_preserve_control") || bf_ptx_take_dot(r, "minperctamemory"))
		one(r);
	else if (bf_ptx_take_dot(r, "noreturn"))
		f->noreturn = true;
	else if (bf_ptx_take_dot(r, "pragma"))
		bf_ptx_parse_pragma(r);
	else
		return false;
	return true;
}

static void place_formal(struct bf_ptx_reader *r, struct bf_ptx_func *f, struct bf_ptx_formal *formal, bool returns)
{
	uint64_t offset = ((uint64_t)f->param_size + formal->align - 1) & ~(uint64_t)(formal->align - 1);
	uint64_t end = offset + formal->size;

	if (end > (f->entry ? ENTRY_PARAM_BYTES_MOST : 1u << 30))
		bf_ptx_fail_here(r, "%llu bytes of %s", (unsigned long long)end,
				 returns ? "return values" : "parameters");
	formal->offset = (uint32_t)offset;
	f->param_size = (uint32_t)end;
	if (formal->align > f->param_align)
		f->param_align = formal->align;
}

static const struct bf_ptx_formal *take_formals(struct bf_ptx_reader *r, struct bf_ptx_func *f, uint32_t from,
						uint32_t count, bool returns)
{
	struct bf_ptx_formal *out = bf_ptx_arena_take(&r->p->arena, count * sizeof(*out));

	for (uint32_t i = 0; i < count; i++) {
		out[i] = r->formals[from + i].pub;
		place_formal(r, f, &out[i], returns);
	}
	return out;
}

/* Names of formals, in the body's outermost block. */
static void bind_formals(struct bf_ptx_reader *r, const struct bf_ptx_formal *formals, uint32_t from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		/* Made by take_formals() for this function. */
		struct bf_ptx_formal *f = (struct bf_ptx_formal *)(uintptr_t)&formals[i];
		struct bf_ptx_formal_decl d = r->formals[from + i];
		struct bf_ptx_token where = { .line = d.decl.line, .column = d.decl.column };
		struct bf_ptx_var_block *v;

		if (d.decl.space == BF_PTX_REG) {
			struct bf_ptx_name *n = d.name ? d.name : bf_ptx_name_get(&r->p->names, &r->p->arena, "_", 1);

			f->reg = bf_ptx_new_regs(r, n, &d.decl, 1, true);
			if (d.name)
				bf_ptx_declare(r, d.name, BF_PTX_LOCAL_REG, f->reg, d.decl.vec, &where);
			continue;
		}
		v = bf_ptx_new_var(r, d.name, &d.decl, f->size);
		v->pub.formal = true;
		v->pub.offset = f->offset;
		f->var = v->pub.number;
		*BF_PTX_PUSH(r, var) = f->var;
		if (d.name)
			bf_ptx_declare(r, d.name, BF_PTX_LOCAL_VAR, f->var, 1, &where);
	}
}

static void *kept(struct bf_ptx_reader *r, const void *array, uint32_t count, size_t element)
{
	void *copy = bf_ptx_arena_take(&r->p->arena, count * element);

	if (count)
		memcpy(copy, array, count * element);
	return copy;
}

#define KEEP(r, what) kept(r, (r)->what##s, (r)->what##_count, sizeof(*(r)->what##s))

/* What the growing arrays hold goes to the function. */
static void keep_body(struct bf_ptx_reader *r, struct bf_ptx_func *f)
{
	uint8_t *types = bf_ptx_arena_take(&r->p->arena, f->reg_count);

	for (uint32_t i = 0; i < r->range_count; i++)
		memset(types + r->ranges[i].first, r->ranges[i].type, r->ranges[i].count);
	f->reg_types = types;
	f->stmts = KEEP(r, stmt);
	f->stmt_count = r->stmt_count;
	f->labels = KEEP(r, label);
	f->label_count = r->label_count;
	f->ranges = KEEP(r, range);
	f->range_count = r->range_count;
	f->protos = KEEP(r, proto);
	f->proto_count = r->proto_count;
	f->vars = KEEP(r, var);
	f->var_count = r->var_count;
}

static void body(struct bf_ptx_reader *r, struct bf_ptx_func_block *f, uint32_t first)
{
	struct bf_ptx_signature *s = &f->pub.signature;

	r->func = f;
	r->last_ref = &f->refs;
	r->loc = BF_PTX_NONE;
	r->call_size = 0;
	r->stmt_count = r->label_count = r->range_count = r->proto_count = r->fixup_count = r->var_count = 0;
	f->pub.defined = true;
	bf_ptx_block_open(r);
	bind_formals(r, s->returns, first, s->return_count);
	bind_formals(r, s->params, first + s->return_count, s->param_count);
	bf_ptx_parse_body(r);
	bf_ptx_block_close(r);
	keep_body(r, &f->pub);
	r->func = NULL;
}

static void read_signature(struct bf_ptx_reader *r, struct bf_ptx_func *f, uint32_t first, uint32_t returns)
{
	struct bf_ptx_signature *s = &f->signature;
	bool variadic = false;

	if (bf_ptx_is(r, '('))
		bf_ptx_parse_formals(r, &variadic);
	if (f->defined) /* a prototype behind the definition says nothing new */
		return;
	f->param_size = f->param_align = 0;
	*s = (struct bf_ptx_signature){ .return_count = returns,
					.param_count = r->formal_count - first - returns,
					.variadic = variadic };
	s->returns = take_formals(r, f, first, s->return_count, true);
	s->params = take_formals(r, f, first + returns, s->param_count, false);
}

void bf_ptx_parse_func(struct bf_ptx_reader *r, enum bf_ptx_linkage linkage, bool entry)
{
	uint32_t first = r->formal_count, returns;
	struct bf_ptx_decl ignored = { .space = BF_PTX_GLOBAL };
	struct bf_ptx_func_block *f;
	struct bf_ptx_token where;
	bool unused = false;

	if (bf_ptx_take_dot(r, "attribute"))
		bf_ptx_parse_attribute(r, &ignored);
	if (!entry && bf_ptx_is(r, '('))
		bf_ptx_parse_formals(r, &unused);
	returns = r->formal_count - first;
	where = r->tok;
	f = bf_ptx_func_named(r, bf_ptx_want_name(r, "the name of a function"));
	if (!f->pub.defined) {
		f->pub.entry = entry;
		f->pub.linkage = (uint8_t)(linkage == BF_PTX_LINK_EXTERN && f->pub.linkage ? f->pub.linkage : linkage);
		f->pub.line = where.line;
		f->pub.column = (uint16_t)(where.column < UINT16_MAX ? where.column : UINT16_MAX);
	}
	read_signature(r, &f->pub, first, returns);
	while (r->tok.kind == BF_PTX_TOKEN_DOT)
		if (!directive(r, &f->pub))
			bf_ptx_expected(r, "`{`, `;` or a directive for this function");
	if (!bf_ptx_take(r, ';')) {
		bf_ptx_want(r, '{', "`{` or `;`");
		if (f->pub.defined)
			bf_ptx_fail(r, where.line, where.column, "`%.100s` has a second body, the first is in line %u",
				    f->pub.name, f->pub.line);
		body(r, f, first);
	}
	r->formal_count = first;
}
