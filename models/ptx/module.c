#include "models/ptx/parse_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bf_ptx_program *bf_ptx_program_create(void)
{
	struct bf_ptx_program_block *p = calloc(1, sizeof(*p));

	return p ? &p->pub : NULL;
}

void bf_ptx_program_destroy(struct bf_ptx_program *pub)
{
	struct bf_ptx_program_block *p;

	if (!pub)
		return;
	p = BF_CONTAINER_OF(pub, struct bf_ptx_program_block, pub);
	bf_ptx_arena_destroy(&p->arena);
	free(p->names.slots);
	free(pub->modules);
	free(pub->funcs);
	free(pub->vars);
	free(pub->forms);
	free(p);
}

const struct bf_ptx_func *bf_ptx_find_func(const struct bf_ptx_program *p, const char *name)
{
	for (uint32_t i = 0; i < p->func_count; i++)
		if (p->funcs[i]->def != BF_PTX_NONE && strcmp(p->funcs[i]->name, name) == 0)
			return p->funcs[p->funcs[i]->def];
	return NULL;
}

const struct bf_ptx_var *bf_ptx_find_var(const struct bf_ptx_program *p, const char *name)
{
	for (uint32_t i = 0; i < p->var_count; i++)
		if (p->vars[i]->func == BF_PTX_NONE && p->vars[i]->def != BF_PTX_NONE &&
		    strcmp(p->vars[i]->name, name) == 0)
			return p->vars[p->vars[i]->def];
	return NULL;
}

uint64_t bf_ptx_func_value(const struct bf_ptx_program *p, uint32_t func)
{
	uint32_t def = p->funcs[func]->def;

	/* A built-in function has a value of its own. */
	return 8 * ((uint64_t)(def == BF_PTX_NONE ? func : def) + 1);
}

const struct bf_ptx_func *bf_ptx_func_of_value(const struct bf_ptx_program *p, uint64_t value)
{
	return value && value % 8 == 0 && value / 8 <= p->func_count ? p->funcs[value / 8 - 1] : NULL;
}

const struct bf_ptx_loc *bf_ptx_loc(const struct bf_ptx_program *p, const struct bf_ptx_func *f,
				    const struct bf_ptx_stmt *s)
{
	const struct bf_ptx_module *m = p->modules[f->module];

	return s->loc < m->loc_count ? &m->locs[s->loc] : NULL;
}

const char *bf_ptx_where(const struct bf_ptx_program *p, const struct bf_ptx_func *f, const struct bf_ptx_stmt *s,
			 char *buf, size_t cap)
{
	const struct bf_ptx_loc *l = s ? bf_ptx_loc(p, f, s) : NULL;

	if (l)
		snprintf(buf, cap, "%s:%" PRIu32, l->file, l->line);
	else
		snprintf(buf, cap, "%s:%" PRIu32, p->modules[f->module]->name, s ? s->line : f->line);
	return buf;
}

const char *bf_ptx_reg_name(const struct bf_ptx_func *f, uint32_t reg, char *buf, size_t cap)
{
	for (uint32_t i = 0; i < f->range_count; i++) {
		const struct bf_ptx_reg_range *g = &f->ranges[i];
		uint32_t at = reg - g->first;

		if (at >= g->count)
			continue;
		if (g->single && g->vec == 1)
			snprintf(buf, cap, "%s", g->name);
		else if (g->vec == 1)
			snprintf(buf, cap, "%s%" PRIu32, g->name, at);
		else if (g->single)
			snprintf(buf, cap, "%s.%c", g->name, "xyzw"[at % g->vec % 4]);
		else
			snprintf(buf, cap, "%s%" PRIu32 ".%c", g->name, at / g->vec, "xyzw"[at % g->vec % 4]);
		return buf;
	}
	snprintf(buf, cap, "?");
	return buf;
}
