#include "models/ptx/link_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Places of variables, and the first contents of .global and .const. */

#define CONST_BYTES_MOST (64u << 10)
#define IMAGE_BYTES_MOST (UINT64_C(1) << 46)
#define SHARED_BYTES_MOST (UINT64_C(1) << 30)

static uint64_t align_up(uint64_t v, uint64_t align)
{
	return (v + align - 1) & ~(align - 1);
}

/* At least as its elements lie. */
static uint32_t align_of(const struct bf_ptx_var *v)
{
	uint32_t natural = bf_ptx_type_bits((enum bf_ptx_type)v->type) / 8;

	return natural > v->align && !(natural & (natural - 1)) ? natural : v->align;
}

static void append(struct bf_ptx_linker *l, struct bf_ptx_var *v, uint64_t *size, uint64_t most)
{
	uint64_t offset = align_up(*size, align_of(v));

	if (offset + v->size > most)
		bf_ptx_link_fail(l, -E2BIG, "`%.100s` does not fit: .%s has %llu bytes, %llu are used", v->name,
				 bf_ptx_space_text((enum bf_ptx_space)v->space), (unsigned long long)most,
				 (unsigned long long)*size);
	v->offset = offset;
	*size = offset + v->size;
}

void bf_ptx_layout_images(struct bf_ptx_linker *l)
{
	struct bf_ptx_program *p = &l->p->pub;

	p->global_align = 1;
	for (uint32_t i = 0; i < p->var_count; i++) {
		struct bf_ptx_var *v = p->vars[i];

		if (v->def != v->number)
			continue;
		if (v->space == BF_PTX_CONST)
			append(l, v, &p->const_size, CONST_BYTES_MOST);
		if (v->space != BF_PTX_GLOBAL)
			continue;
		append(l, v, &p->global_size, IMAGE_BYTES_MOST);
		if (align_of(v) > p->global_align)
			p->global_align = align_of(v);
	}
}

/* A shared variable and the kernels that reach it: `kernels` of them from `first` on in a list of all pairs. */
struct shared {
	struct bf_ptx_var *var;
	uint32_t kernels, first;
};

/* Those of many kernels first, so that one kernel's own follow without a gap; then as they were declared. */
static int by_kernels(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;

	if (x->kernels != y->kernels)
		return x->kernels < y->kernels ? 1 : -1;
	return x->var->number < y->var->number ? -1 : 1;
}

/* Behind everything that any of its kernels has so far. */
static void place_shared(struct bf_ptx_linker *l, const struct shared *s, struct bf_ptx_kernel *const *kernels)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < s->kernels; i++)
		if (kernels[s->first + i]->static_shared > at)
			at = kernels[s->first + i]->static_shared;
	s->var->offset = align_up(at, align_of(s->var));
	if (s->var->offset + s->var->size > SHARED_BYTES_MOST)
		bf_ptx_link_fail(l, -E2BIG, "`%.100s` does not fit: more than %llu bytes of .shared", s->var->name,
				 (unsigned long long)SHARED_BYTES_MOST);
	for (uint32_t i = 0; i < s->kernels; i++)
		kernels[s->first + i]->static_shared = (uint32_t)(s->var->offset + s->var->size);
}

typedef void visit(void *arg, struct bf_ptx_kernel *k, struct bf_ptx_var *v);

/* Each shared variable that a kernel reaches, once. */
static void shared_of(struct bf_ptx_linker *l, struct bf_ptx_kernel *k, uint32_t *stamps, uint32_t stamp, visit *fn,
		      void *arg)
{
	struct bf_ptx_program *p = &l->p->pub;

	for (uint32_t i = 0; i < k->func_count; i++)
		for (const struct bf_ptx_ref *r = bf_ptx_func_block(p->funcs[k->funcs[i]])->refs; r; r = r->next) {
			uint32_t def = r->kind == BF_PTX_REF_VAR ? p->vars[r->index]->def : BF_PTX_NONE;

			if (def == BF_PTX_NONE || p->vars[def]->space != BF_PTX_SHARED || stamps[def] == stamp)
				continue;
			stamps[def] = stamp;
			fn(arg, k, p->vars[def]);
		}
}

struct pairs {
	struct shared *by_var; /* by number */
	struct bf_ptx_kernel **kernels;
};

static void count_pair(void *arg, struct bf_ptx_kernel *k, struct bf_ptx_var *v)
{
	struct pairs *p = arg;

	p->by_var[v->number].var = v;
	if (v->dynamic) {
		if (align_of(v) > k->dynamic_align)
			k->dynamic_align = align_of(v);
		return;
	}
	p->by_var[v->number].kernels++;
}

static void note_pair(void *arg, struct bf_ptx_kernel *k, struct bf_ptx_var *v)
{
	struct pairs *p = arg;
	struct shared *s = &p->by_var[v->number];

	if (!v->dynamic)
		p->kernels[s->first + s->kernels++] = k;
}

/* The kernels are the program's; only their makers write them. */
static struct bf_ptx_kernel *kernel_of(const struct bf_ptx_func *f)
{
	return (struct bf_ptx_kernel *)(uintptr_t)f->kernel;
}

static void each_kernel(struct bf_ptx_linker *l, uint32_t *stamps, uint32_t round, visit *fn, void *arg)
{
	struct bf_ptx_program *p = &l->p->pub;

	for (uint32_t i = 0; i < p->func_count; i++)
		if (p->funcs[i]->kernel)
			shared_of(l, kernel_of(p->funcs[i]), stamps, round * p->func_count + i + 1, fn, arg);
}

void bf_ptx_layout_shared(struct bf_ptx_linker *l)
{
	struct bf_ptx_program *p = &l->p->pub;
	struct bf_ptx_arena *a = &l->p->arena;
	struct pairs pairs = { .by_var = bf_ptx_arena_take(a, p->var_count * sizeof(struct shared)) };
	uint32_t *stamps = bf_ptx_arena_take(a, p->var_count * sizeof(*stamps)), count = 0, total = 0;

	each_kernel(l, stamps, 0, count_pair, &pairs);
	for (uint32_t i = 0; i < p->var_count; i++) {
		pairs.by_var[i].first = total;
		total += pairs.by_var[i].kernels;
		pairs.by_var[i].kernels = 0;
	}
	pairs.kernels = bf_ptx_arena_take(a, total * sizeof(struct bf_ptx_kernel *));
	each_kernel(l, stamps, 1, note_pair, &pairs);
	for (uint32_t i = 0; i < p->var_count; i++)
		if (pairs.by_var[i].kernels)
			pairs.by_var[count++] = pairs.by_var[i];
	qsort(pairs.by_var, count, sizeof(struct shared), by_kernels);
	for (uint32_t i = 0; i < count; i++)
		place_shared(l, &pairs.by_var[i], pairs.kernels);
	for (uint32_t i = 0; i < p->func_count; i++) {
		struct bf_ptx_kernel *k = kernel_of(p->funcs[i]);

		if (k)
			k->dynamic_offset =
			    (uint32_t)align_up(k->static_shared, k->dynamic_align ? k->dynamic_align : 1);
	}
}

static void put_reloc(const struct bf_ptx_program *p, const struct bf_ptx_reloc *r, uint64_t global_base,
		      uint64_t const_base, unsigned char *out)
{
	uint64_t value = 0;

	if (r->func) {
		value = bf_ptx_func_value(p, r->index);
	} else if (p->vars[r->index]->def != BF_PTX_NONE) {
		const struct bf_ptx_var *v = p->vars[p->vars[r->index]->def];

		value = v->offset + (v->space == BF_PTX_GLOBAL ? global_base : r->generic ? const_base : 0);
	}
	value = (value + (uint64_t)r->addend) >> r->shift;
	for (uint32_t i = 0; i < r->width; i++)
		out[r->offset + i] = (unsigned char)(value >> 8 * i);
}

void bf_ptx_image(const struct bf_ptx_program *p, enum bf_ptx_space space, uint64_t global_base, uint64_t const_base,
		  void *out)
{
	unsigned char *bytes = out;

	memset(bytes, 0, space == BF_PTX_GLOBAL ? p->global_size : p->const_size);
	for (uint32_t i = 0; i < p->var_count; i++) {
		const struct bf_ptx_var *v = p->vars[i];
		const struct bf_ptx_var_block *b;

		if (v->space != space || v->def != v->number)
			continue;
		b = bf_ptx_var_block(p->vars[i]);
		for (const struct bf_ptx_run *r = b->runs; r; r = r->next)
			memcpy(bytes + v->offset + r->offset, r->bytes, r->len);
		for (const struct bf_ptx_reloc *r = b->relocs; r; r = r->next)
			put_reloc(p, r, global_base, const_base, bytes + v->offset);
	}
}
