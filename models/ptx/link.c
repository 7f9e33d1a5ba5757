#include "models/ptx/link_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which definition each name means: strong before weak before common, PTX ISA 11.6. */

void bf_ptx_link_fail(struct bf_ptx_linker *l, int code, const char *fmt, ...)
{
	char text[sizeof(l->p->pub.error.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bf_fail(&l->p->pub.error, code, "%s", text);
	longjmp(l->leave, EINVAL);
}

const char *bf_ptx_place_of(const struct bf_ptx_program *p, uint32_t module, uint32_t line, char *buf, size_t cap)
{
	snprintf(buf, cap, "%.60s:%u", p->modules[module]->name, line);
	return buf;
}

static int rank(uint8_t linkage)
{
	return linkage == BF_PTX_LINK_VISIBLE ? 3 : linkage == BF_PTX_LINK_WEAK ? 2 : 1;
}

static struct bf_ptx_name *name_of(struct bf_ptx_linker *l, const char *text)
{
	return bf_ptx_name_get(&l->p->names, &l->p->arena, text, strlen(text));
}

static _Noreturn void twice(struct bf_ptx_linker *l, const char *name, uint32_t module_a, uint32_t line_a,
			    uint32_t module_b, uint32_t line_b)
{
	char a[80], b[80];

	bf_ptx_link_fail(l, -EEXIST, "`%.60s` is defined twice: %s and %s", name,
			 bf_ptx_place_of(&l->p->pub, module_a, line_a, a, sizeof(a)),
			 bf_ptx_place_of(&l->p->pub, module_b, line_b, b, sizeof(b)));
}

static bool has_body(const struct bf_ptx_func *f)
{
	return f->defined || bf_ptx_func_block_const(f)->alias != BF_PTX_NONE;
}

static void offer_func(struct bf_ptx_linker *l, struct bf_ptx_func *f)
{
	struct bf_ptx_func **funcs = l->p->pub.funcs, *best;
	struct bf_ptx_name *n;

	if (!has_body(f) || f->linkage == BF_PTX_LINK_LOCAL)
		return;
	n = name_of(l, f->name);
	best = n->best_func == BF_PTX_NONE ? NULL : funcs[n->best_func];
	if (best && rank(best->linkage) == 3 && rank(f->linkage) == 3)
		twice(l, f->name, best->module, best->line, f->module, f->line);
	if (!best || rank(f->linkage) > rank(best->linkage))
		n->best_func = f->number;
}

/* Of several common ones the largest, with what one of them begins with. */
static void join_common(struct bf_ptx_linker *l, struct bf_ptx_name *n, struct bf_ptx_var *best, struct bf_ptx_var *v)
{
	struct bf_ptx_var_block *b = bf_ptx_var_block(best), *c = bf_ptx_var_block(v);
	uint64_t size = best->size > v->size ? best->size : v->size;
	uint32_t align = best->align > v->align ? best->align : v->align;

	if ((b->runs || b->relocs) && (c->runs || c->relocs))
		twice(l, v->name, best->module, best->line, v->module, v->line);
	if (c->runs || c->relocs) {
		n->best_var = v->number;
		best = v;
	}
	best->size = size;
	best->align = align;
}

static void offer_var(struct bf_ptx_linker *l, struct bf_ptx_var *v)
{
	struct bf_ptx_var *best;
	struct bf_ptx_name *n;

	if (v->func != BF_PTX_NONE || v->linkage == BF_PTX_LINK_LOCAL || v->linkage == BF_PTX_LINK_EXTERN)
		return;
	n = name_of(l, v->name);
	best = n->best_var == BF_PTX_NONE ? NULL : l->p->pub.vars[n->best_var];
	if (best && rank(best->linkage) == 3 && rank(v->linkage) == 3)
		twice(l, v->name, best->module, best->line, v->module, v->line);
	if (best && best->linkage == BF_PTX_LINK_COMMON && v->linkage == BF_PTX_LINK_COMMON)
		join_common(l, n, best, v);
	else if (!best || rank(v->linkage) > rank(best->linkage))
		n->best_var = v->number;
}

static void choose_func(struct bf_ptx_linker *l, struct bf_ptx_func *f)
{
	const struct bf_ptx_link_opts *o = l->opts;

	f->def = f->linkage == BF_PTX_LINK_LOCAL && has_body(f) ? f->number : name_of(l, f->name)->best_func;
	for (uint32_t i = 0; f->def == BF_PTX_NONE && o && i < o->builtin_count; i++)
		if (strcmp(o->builtins[i], f->name) == 0) {
			f->builtin = i;
			return;
		}
}

/* An alias stands for its aim, which is defined in the same module and is no alias itself. */
static void follow_alias(struct bf_ptx_linker *l, struct bf_ptx_func *f)
{
	const struct bf_ptx_func_block *def;

	if (f->def == BF_PTX_NONE)
		return;
	def = bf_ptx_func_block(l->p->pub.funcs[f->def]);
	if (!def->pub.defined)
		f->def = def->alias;
}

static void choose_var(struct bf_ptx_linker *l, struct bf_ptx_var *v)
{
	if (v->func != BF_PTX_NONE || v->linkage == BF_PTX_LINK_LOCAL || v->dynamic)
		return;
	v->def = name_of(l, v->name)->best_var;
	if (v->def != BF_PTX_NONE && l->p->pub.vars[v->def]->space != v->space) {
		const struct bf_ptx_var *d = l->p->pub.vars[v->def];
		char a[80], b[80];

		bf_ptx_link_fail(l, -EINVAL, "`%.60s` is in .%s (%s) and in .%s (%s)", v->name,
				 bf_ptx_space_text((enum bf_ptx_space)v->space),
				 bf_ptx_place_of(&l->p->pub, v->module, v->line, a, sizeof(a)),
				 bf_ptx_space_text((enum bf_ptx_space)d->space),
				 bf_ptx_place_of(&l->p->pub, d->module, d->line, b, sizeof(b)));
	}
}

static void want_func(struct bf_ptx_linker *l, uint32_t number, const struct bf_ptx_func *from)
{
	const struct bf_ptx_func *f = l->p->pub.funcs[number];
	char place[80];

	if (f->def == BF_PTX_NONE && f->builtin == BF_PTX_NONE)
		bf_ptx_link_fail(l, -ENOENT, "no module defines the function `%.100s` that %s speaks of", f->name,
				 from ? bf_ptx_place_of(&l->p->pub, from->module, from->line, place, sizeof(place))
				      : "an initialiser");
}

static void want_var(struct bf_ptx_linker *l, uint32_t number)
{
	const struct bf_ptx_var *v = l->p->pub.vars[number];
	char place[80];

	if (v->def == BF_PTX_NONE)
		bf_ptx_link_fail(l, -ENOENT, "no module defines the variable `%.100s`, declared in %s", v->name,
				 bf_ptx_place_of(&l->p->pub, v->module, v->line, place, sizeof(place)));
}

/* What bodies and initialisers speak of must be there; declarations that nobody uses need not. */
static void want_all(struct bf_ptx_linker *l)
{
	const struct bf_ptx_program *p = &l->p->pub;

	for (uint32_t i = 0; i < p->func_count; i++)
		for (const struct bf_ptx_ref *r = bf_ptx_func_block(p->funcs[i])->refs; r; r = r->next) {
			if (r->kind == BF_PTX_REF_CALL || r->kind == BF_PTX_REF_TAKEN)
				want_func(l, r->index, p->funcs[i]);
			else if (r->kind == BF_PTX_REF_VAR)
				want_var(l, r->index);
		}
	for (uint32_t i = 0; i < p->var_count; i++)
		for (const struct bf_ptx_reloc *r = bf_ptx_var_block(p->vars[i])->relocs; r; r = r->next) {
			if (r->func)
				want_func(l, r->index, NULL);
			else
				want_var(l, r->index);
		}
}

static void link_all(struct bf_ptx_linker *l)
{
	struct bf_ptx_program *p = &l->p->pub;

	for (uint32_t i = 0; i < p->func_count; i++)
		offer_func(l, p->funcs[i]);
	for (uint32_t i = 0; i < p->var_count; i++)
		offer_var(l, p->vars[i]);
	for (uint32_t i = 0; i < p->func_count; i++)
		choose_func(l, p->funcs[i]);
	for (uint32_t i = 0; i < p->func_count; i++)
		follow_alias(l, p->funcs[i]);
	for (uint32_t i = 0; i < p->var_count; i++)
		choose_var(l, p->vars[i]);
	if (!l->opts || !l->opts->allow_unresolved)
		want_all(l);
	bf_ptx_layout_images(l);
	bf_ptx_reach(l);
	bf_ptx_layout_shared(l);
	p->linked = true;
}

int bf_ptx_link(struct bf_ptx_program *pub, const struct bf_ptx_link_opts *opts)
{
	struct bf_ptx_program_block *p = BF_CONTAINER_OF(pub, struct bf_ptx_program_block, pub);
	struct bf_ptx_linker *l;
	int rc;

	if (pub->linked || pub->error.code)
		return pub->error.code ? pub->error.code
				       : bf_fail(&pub->error, -EBUSY, "the program is linked already");
	l = calloc(1, sizeof(*l));
	if (!l)
		return bf_fail(&pub->error, -ENOMEM, "out of memory");
	l->p = p;
	l->opts = opts;
	p->arena.out_of_memory = &l->leave;
	rc = setjmp(l->leave);
	if (rc == 0)
		link_all(l);
	else if (rc == ENOMEM)
		bf_fail(&pub->error, -ENOMEM, "out of memory");
	p->arena.out_of_memory = NULL;
	free(l);
	return pub->error.code;
}
