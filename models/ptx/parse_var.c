#include "models/ptx/parse_internal.h"

/* Variables: PTX ISA 5.2 to 5.4. */

#define ALIGN_MOST (1u << 20)
#define BYTES_MOST (UINT64_C(1) << 40)       /* .global and .const */
#define FRAME_BYTES_MOST (UINT64_C(1) << 30) /* .shared, .local, .param: offsets have 32 bits */

/* A type, or .v2 and its like. */
static bool type_word(struct bf_ptx_reader *r, struct bf_ptx_decl *d)
{
	for (uint32_t t = 1; t < BF_PTX_TYPES_COUNT; t++)
		if (bf_ptx_take_dot(r, bf_ptx_type_text((enum bf_ptx_type)t))) {
			if (d->type)
				bf_ptx_fail_here(r, "a second type in one declaration");
			d->type = (enum bf_ptx_type)t;
			return true;
		}
	for (uint32_t v = 2; v <= 8; v *= 2)
		if (bf_ptx_take_dot(r, v == 2 ? "v2" : v == 4 ? "v4" : "v8")) {
			d->vec = v;
			return true;
		}
	return false;
}

/* .attribute(.managed), .attribute(.unified(1, 2)) */
void bf_ptx_parse_attribute(struct bf_ptx_reader *r, struct bf_ptx_decl *d)
{
	bf_ptx_want(r, '(', "`(` behind .attribute");
	do {
		if (bf_ptx_take_dot(r, "managed")) {
			d->managed = true;
		} else if (bf_ptx_take_dot(r, "unified")) {
			bf_ptx_want(r, '(', "`(`");
			bf_ptx_want_int(r, UINT64_MAX, "a number");
			bf_ptx_want(r, ',', "`,`");
			bf_ptx_want_int(r, UINT64_MAX, "a number");
			bf_ptx_want(r, ')', "`)`");
		} else {
			bf_ptx_expected(r, "an attribute, .managed or .unified,");
		}
	} while (bf_ptx_take(r, ','));
	bf_ptx_want(r, ')', "`)`");
}

static uint32_t align_word(struct bf_ptx_reader *r)
{
	struct bf_ptx_token where = r->tok;
	uint32_t align = (uint32_t)bf_ptx_want_int(r, ALIGN_MOST, "an alignment");

	if (!align || align & (align - 1))
		bf_ptx_fail(r, where.line, where.column, "an alignment of %u is not a power of two", align);
	return align;
}

/* What an entry's parameter points to, `.ptr .global .align 8`: nothing that running needs. */
static void pointer_words(struct bf_ptx_reader *r)
{
	while (bf_ptx_take_dot(r, "global") || bf_ptx_take_dot(r, "shared") || bf_ptx_take_dot(r, "local") ||
	       bf_ptx_take_dot(r, "const"))
		;
	if (bf_ptx_take_dot(r, "align"))
		align_word(r);
}

void bf_ptx_parse_decl(struct bf_ptx_reader *r, struct bf_ptx_decl *d)
{
	uint32_t natural;

	d->vec = 1;
	while (r->tok.kind == BF_PTX_TOKEN_DOT) {
		if (bf_ptx_take_dot(r, "align"))
			d->align = align_word(r);
		else if (bf_ptx_take_dot(r, "attribute"))
			bf_ptx_parse_attribute(r, d);
		else if (bf_ptx_take_dot(r, "ptr"))
			pointer_words(r);
		else if (!type_word(r, d))
			bf_ptx_expected(r, "a type, .align or .attribute");
	}
	if (!d->type)
		bf_ptx_expected(r, "a type");
	natural = bf_ptx_type_bits(d->type) * d->vec / 8;
	if (bf_ptx_type_bits(d->type) % 8 && !(d->space == BF_PTX_REG && d->type == BF_PTX_PRED))
		bf_ptx_fail_here(r, "a variable of type .%s", bf_ptx_type_text(d->type));
	if (!d->align)
		d->align = natural ? natural : 1;
}

void bf_ptx_parse_dims(struct bf_ptx_reader *r, const struct bf_ptx_decl *d, struct bf_ptx_dims *dims)
{
	uint64_t sizes[BF_ARRAY_LEN(dims->strides)];

	*dims = (struct bf_ptx_dims){ .elements = 1 };
	while (bf_ptx_take(r, '[')) {
		if (dims->count == BF_ARRAY_LEN(sizes))
			bf_ptx_fail_here(r, "an array of more than %zu dimensions", BF_ARRAY_LEN(sizes));
		sizes[dims->count] = 0;
		if (dims->count == 0 && bf_ptx_is(r, ']'))
			dims->unsized = true;
		else
			sizes[dims->count] = (uint64_t)bf_ptx_integer(r);
		dims->count++;
		bf_ptx_want(r, ']', "`]`");
	}
	for (uint32_t i = dims->count; i-- > 0;) {
		dims->strides[i] = dims->elements;
		if (sizes[i] > BYTES_MOST / (dims->elements ? dims->elements : 1))
			bf_ptx_fail(r, d->line, d->column, "an array of more than %llu elements",
				    (unsigned long long)BYTES_MOST);
		dims->elements *= sizes[i];
	}
	if (dims->unsized)
		dims->elements = 0;
}

uint64_t bf_ptx_decl_bytes(struct bf_ptx_reader *r, const struct bf_ptx_decl *d, uint64_t elements)
{
	uint64_t each = bf_ptx_type_bits(d->type) * d->vec / 8;
	uint64_t most = d->space == BF_PTX_GLOBAL || d->space == BF_PTX_CONST ? BYTES_MOST : FRAME_BYTES_MOST;

	if (elements > most / each)
		bf_ptx_fail(r, d->line, d->column, "a variable of more than %llu bytes in .%s",
			    (unsigned long long)most, bf_ptx_space_text(d->space));
	return elements * each;
}

struct bf_ptx_var_block *bf_ptx_new_var(struct bf_ptx_reader *r, struct bf_ptx_name *name, const struct bf_ptx_decl *d,
					uint64_t size)
{
	struct bf_ptx_program_block *p = r->p;
	struct bf_ptx_var_block *v = bf_ptx_arena_take(&p->arena, sizeof(*v));

	v->pub = (struct bf_ptx_var){ .name = name ? name->text : "_",
				      .number = p->pub.var_count,
				      .module = r->number,
				      .def = p->pub.var_count,
				      .func = r->func ? r->func->pub.number : BF_PTX_NONE,
				      .space = (uint8_t)d->space,
				      .type = (uint8_t)d->type,
				      .linkage = (uint8_t)d->linkage,
				      .managed = d->managed,
				      .align = d->align,
				      .size = size,
				      .line = d->line,
				      .column = (uint16_t)(d->column < UINT16_MAX ? d->column : UINT16_MAX) };
	bf_ptx_grow(&p->arena, (void **)&p->pub.vars, &p->var_room, p->pub.var_count, sizeof(*p->pub.vars));
	p->pub.vars[p->pub.var_count++] = &v->pub;
	return v;
}

static uint64_t align_up(uint64_t v, uint64_t align)
{
	return (v + align - 1) & ~(align - 1);
}

static void frame_place(struct bf_ptx_reader *r, struct bf_ptx_var *v, uint32_t *at, uint32_t *align)
{
	uint64_t offset = align_up(*at, v->align);

	if (offset + v->size > FRAME_BYTES_MOST)
		bf_ptx_fail(r, v->line, v->column, "more than %llu bytes of .%s in one function",
			    (unsigned long long)FRAME_BYTES_MOST, bf_ptx_space_text((enum bf_ptx_space)v->space));
	v->offset = offset;
	*at = (uint32_t)(offset + v->size);
	if (v->align > *align)
		*align = v->align;
}

/* Frames are laid out here; .global, .const and .shared when the program is linked. */
static void place_in_function(struct bf_ptx_reader *r, struct bf_ptx_var *v)
{
	struct bf_ptx_func *f = &r->func->pub;

	if (v->space == BF_PTX_LOCAL)
		frame_place(r, v, &f->local_size, &f->local_align);
	if (v->space == BF_PTX_PARAM)
		frame_place(r, v, &r->call_size, &f->call_align);
	if (r->call_size > f->call_size)
		f->call_size = r->call_size;
	*BF_PTX_PUSH(r, var) = v->number;
}

/* A declaration of the module that was there before: one of them may be .extern. */
static struct bf_ptx_var_block *again(struct bf_ptx_reader *r, struct bf_ptx_name *name, const struct bf_ptx_decl *d,
				      uint64_t size)
{
	struct bf_ptx_var *v;

	if (name->kind != BF_PTX_SYMBOL_VAR)
		bf_ptx_fail(r, d->line, d->column, "`%.100s` is a function already", name->text);
	v = r->p->pub.vars[name->index];
	if (v->linkage != BF_PTX_LINK_EXTERN && d->linkage != BF_PTX_LINK_EXTERN)
		bf_ptx_fail(r, d->line, d->column, "`%.100s` is declared twice, first in line %u", name->text, v->line);
	if (v->space != d->space)
		bf_ptx_fail(r, d->line, d->column, "`%.100s` is in .%s, in line %u it is in .%s", name->text,
			    bf_ptx_space_text(d->space), v->line, bf_ptx_space_text((enum bf_ptx_space)v->space));
	if (d->linkage != BF_PTX_LINK_EXTERN) {
		v->linkage = (uint8_t)d->linkage;
		v->type = (uint8_t)d->type;
		v->align = d->align;
		v->size = size;
		v->line = d->line;
	}
	return BF_CONTAINER_OF(v, struct bf_ptx_var_block, pub);
}

static struct bf_ptx_var_block *declare_var(struct bf_ptx_reader *r, struct bf_ptx_name *name,
					    const struct bf_ptx_decl *d, uint64_t size,
					    const struct bf_ptx_token *where)
{
	struct bf_ptx_var_block *v;

	if (r->func) {
		v = bf_ptx_new_var(r, name, d, size);
		bf_ptx_declare(r, name, BF_PTX_LOCAL_VAR, v->pub.number, 1, where);
		place_in_function(r, &v->pub);
		return v;
	}
	if (name->kind && name->module == r->number)
		return again(r, name, d, size);
	v = bf_ptx_new_var(r, name, d, size);
	name->kind = BF_PTX_SYMBOL_VAR;
	name->module = r->number;
	name->index = v->pub.number;
	return v;
}

static void init_var(struct bf_ptx_reader *r, struct bf_ptx_var_block *v, const struct bf_ptx_decl *d,
		     const struct bf_ptx_dims *dims)
{
	uint64_t elements;

	if (d->space != BF_PTX_GLOBAL && d->space != BF_PTX_CONST)
		bf_ptx_fail_here(r, "variables in .%s cannot have an initialiser", bf_ptx_space_text(d->space));
	if (d->linkage == BF_PTX_LINK_EXTERN)
		bf_ptx_fail_here(r, "an .extern variable cannot have an initialiser");
	elements = bf_ptx_parse_init(r, v, d, dims);
	if (dims->unsized)
		v->pub.size = bf_ptx_decl_bytes(r, d, elements);
}

static void one_var(struct bf_ptx_reader *r, struct bf_ptx_decl *d)
{
	struct bf_ptx_token where = r->tok;
	struct bf_ptx_name *name = bf_ptx_want_name(r, "the name of a variable");
	struct bf_ptx_var_block *v;
	struct bf_ptx_dims dims;

	d->line = where.line;
	d->column = where.column;
	bf_ptx_parse_dims(r, d, &dims);
	v = declare_var(r, name, d, bf_ptx_decl_bytes(r, d, dims.elements), &where);
	if (bf_ptx_take(r, '='))
		init_var(r, v, d, &dims);
	else if (dims.unsized && d->linkage != BF_PTX_LINK_EXTERN)
		bf_ptx_fail(r, where.line, where.column, "`%.100s` has neither a size nor an initialiser", name->text);
	v->pub.dynamic = d->space == BF_PTX_SHARED && dims.unsized;
}

void bf_ptx_parse_vars(struct bf_ptx_reader *r, struct bf_ptx_decl *d)
{
	bf_ptx_parse_decl(r, d);
	do
		one_var(r, d);
	while (bf_ptx_take(r, ','));
	bf_ptx_want(r, ';', "`;` behind the variable");
}
