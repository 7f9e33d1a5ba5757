#include "models/ptx/parse_internal.h"

#include <string.h>

/* Initialisers, PTX ISA 5.4.4: numbers become bytes in runs, addresses are noted for linking. */

#define RUN_BYTES 256u

struct init {
	struct bf_ptx_var_block *var;
	const struct bf_ptx_decl *decl;
	const struct bf_ptx_dims *dims;
	struct bf_ptx_run *run; /* the last one, with room up to RUN_BYTES */
	struct bf_ptx_reloc **last_reloc;
	uint64_t most; /* the elements reached so far */
	uint32_t bytes;
};

static void put_bytes(struct bf_ptx_reader *r, struct init *in, uint64_t offset, const void *bytes, uint32_t len)
{
	struct bf_ptx_run *run = in->run;

	if (!run || run->offset + run->len != offset || run->len + len > RUN_BYTES) {
		run = bf_ptx_arena_take(&r->p->arena, sizeof(*run) + RUN_BYTES);
		run->offset = offset;
		*(in->run ? &in->run->next : &in->var->runs) = run;
		in->run = run;
	}
	memcpy(run->bytes + run->len, bytes, len);
	run->len += len;
}

static void put_address(struct bf_ptx_reader *r, struct init *in, uint64_t offset, const struct bf_ptx_const_value *v)
{
	struct bf_ptx_reloc *reloc;
	bool old = r->module->version_major < 3 || (r->module->version_major == 3 && r->module->version_minor < 1);

	if (!v->masked && in->bytes != 4 && in->bytes != 8)
		bf_ptx_fail_here(r, "an address needs elements of 4 or 8 bytes, or a mask");
	if (v->masked && in->bytes != 1)
		bf_ptx_fail_here(r, "a byte of an address needs elements of 1 byte");
	if (v->symbol == BF_PTX_SYMBOL_VAR) {
		const struct bf_ptx_var *var = r->p->pub.vars[v->index];

		if (var->space != BF_PTX_GLOBAL && var->space != BF_PTX_CONST)
			bf_ptx_fail_here(r, "the address of `%.100s` in .%s is not known before a launch", var->name,
					 bf_ptx_space_text((enum bf_ptx_space)var->space));
	} else {
		r->p->pub.funcs[v->index]->addressed = true;
	}
	reloc = bf_ptx_arena_take(&r->p->arena, sizeof(*reloc));
	reloc->offset = offset;
	reloc->addend = (int64_t)v->bits;
	reloc->index = v->index;
	reloc->width = (uint8_t)in->bytes;
	reloc->shift = v->shift;
	reloc->func = v->symbol == BF_PTX_SYMBOL_FUNC;
	reloc->generic = v->generic || old;
	*in->last_reloc = reloc;
	in->last_reloc = &reloc->next;
}

/* The low bytes of an integer, or the bits of a real number in the element's format. */
static void put_number(struct bf_ptx_reader *r, struct init *in, uint64_t offset, const struct bf_ptx_const_value *v)
{
	unsigned char bytes[16] = { 0 };
	uint64_t bits = v->bits;

	if (v->real && in->bytes == 4) {
		float f = (float)v->number;

		memcpy(bytes, &f, sizeof(f));
		if (v->width == 32)
			memcpy(bytes, &v->single, sizeof(v->single));
	} else if (v->real && in->bytes == 8) {
		memcpy(bytes, &v->number, sizeof(v->number));
	} else if (v->real) {
		bf_ptx_fail_here(r, "a floating-point number for elements of .%s", bf_ptx_type_text(in->decl->type));
	} else {
		for (uint32_t i = 0; i < 8; i++, bits >>= 8)
			bytes[i] = (unsigned char)bits;
		if (in->bytes == 16 && !v->is_unsigned && (int64_t)v->bits < 0)
			memset(bytes + 8, 0xff, 8);
	}
	put_bytes(r, in, offset, bytes, in->bytes);
}

static void element(struct bf_ptx_reader *r, struct init *in, uint64_t at)
{
	struct bf_ptx_token where = r->tok;
	struct bf_ptx_const_value v = bf_ptx_expression(r, true);

	if (!in->dims->unsized && at >= in->dims->elements * in->decl->vec)
		bf_ptx_fail(r, where.line, where.column, "more values than the variable has elements");
	if (v.symbol)
		put_address(r, in, at * in->bytes, &v);
	else
		put_number(r, in, at * in->bytes, &v);
	if (at + 1 > in->most)
		in->most = at + 1;
}

/* Braces at `depth` begin at element `at`; within, each further brace takes the stride of its dimension. */
static void braces(struct bf_ptx_reader *r, struct init *in, uint32_t depth, uint64_t at)
{
	uint64_t stride = depth < in->dims->count ? in->dims->strides[depth] * in->decl->vec : 1;

	if (depth > in->dims->count)
		bf_ptx_fail_here(r, "braces nested deeper than the array has dimensions");
	bf_ptx_want(r, '{', "`{`");
	while (!bf_ptx_is(r, '}')) {
		if (bf_ptx_is(r, '{')) {
			braces(r, in, depth + 1, at);
			at += stride;
		} else {
			element(r, in, at++);
		}
		if (!bf_ptx_take(r, ','))
			break;
	}
	bf_ptx_want(r, '}', "`}` or `,`");
}

uint64_t bf_ptx_parse_init(struct bf_ptx_reader *r, struct bf_ptx_var_block *v, const struct bf_ptx_decl *d,
			   const struct bf_ptx_dims *dims)
{
	struct init in = { .var = v, .decl = d, .dims = dims, .bytes = bf_ptx_type_bits(d->type) / 8 };
	uint64_t row = dims->count ? dims->strides[0] * d->vec : d->vec;

	v->runs = NULL;
	v->relocs = NULL;
	in.last_reloc = &v->relocs;
	if (bf_ptx_is(r, '{'))
		braces(r, &in, 0, 0);
	else
		element(r, &in, 0);
	if (!row)
		bf_ptx_fail_here(r, "an initialiser for an array without elements");
	return (in.most + row - 1) / row * (row / d->vec);
}
