#include "models/ptx/link_internal.h"

#include <stdlib.h>

/* What kernels can reach over calls. */

/* A function whose references are followed; `taken` goes over the candidates of an indirect call. */
struct step {
	uint32_t func;
	const struct bf_ptx_ref *ref;
	uint32_t taken;
};

enum { UNSEEN, OPEN, DONE };

struct walk {
	struct bf_ptx_linker *l;
	struct bf_ptx_kernel *k;
	uint32_t *taken; /* definitions whose value a register or a variable may hold */
	uint32_t taken_count;
	uint8_t *state; /* by function: UNSEEN, OPEN while its references are followed, DONE */
	struct step *steps;
	uint32_t step_count;
	uint32_t *found;
	uint32_t found_count;
};

static bool same_shape(const struct bf_ptx_signature *a, const struct bf_ptx_signature *b)
{
	if (a->return_count != b->return_count || a->variadic != b->variadic)
		return false;
	if (!a->variadic && a->param_count != b->param_count)
		return false;
	for (uint32_t i = 0; i < a->return_count; i++)
		if (a->returns[i].size != b->returns[i].size)
			return false;
	for (uint32_t i = 0; !a->variadic && i < a->param_count; i++)
		if (a->params[i].size != b->params[i].size)
			return false;
	return true;
}

/* Candidate number `i` of an indirect call; *skip: it is none, the next may be. BF_PTX_NONE: there are no more. */
static uint32_t candidate(const struct walk *w, const struct step *s, uint32_t i, bool *skip)
{
	const struct bf_ptx_program *p = &w->l->p->pub;
	const struct bf_ptx_func *f = p->funcs[s->func];
	const struct bf_ptx_proto *t = s->ref->index == BF_PTX_NONE ? NULL : &f->protos[s->ref->index];

	*skip = false;
	if (t && t->kind == BF_PTX_PROTO_CALL_TARGETS) {
		if (i >= t->target_count)
			return BF_PTX_NONE;
		*skip = p->funcs[t->targets[i]]->def == BF_PTX_NONE;
		return p->funcs[t->targets[i]]->def;
	}
	if (i >= w->taken_count)
		return BF_PTX_NONE;
	*skip = t && t->kind == BF_PTX_PROTO_CALL && !same_shape(&t->signature, &p->funcs[w->taken[i]]->signature);
	return w->taken[i];
}

/* The next function that the step leads to, BF_PTX_NONE at its end. */
static uint32_t next_callee(struct walk *w, struct step *s)
{
	const struct bf_ptx_program *p = &w->l->p->pub;

	for (; s->ref; s->ref = s->ref->next, s->taken = 0) {
		if (s->ref->kind == BF_PTX_REF_CALL && !s->taken++ && p->funcs[s->ref->index]->def != BF_PTX_NONE)
			return p->funcs[s->ref->index]->def;
		if (s->ref->kind != BF_PTX_REF_INDIRECT)
			continue;
		w->k->indirect = true;
		for (bool skip;;) {
			uint32_t def = candidate(w, s, s->taken, &skip);

			if (!skip && def == BF_PTX_NONE)
				break;
			s->taken++;
			if (!skip)
				return def;
		}
	}
	return BF_PTX_NONE;
}

static void enter(struct walk *w, uint32_t func)
{
	if (w->state[func] == OPEN)
		w->k->recursive = true;
	if (w->state[func] != UNSEEN)
		return;
	w->state[func] = OPEN;
	w->steps[w->step_count++] =
	    (struct step){ .func = func, .ref = bf_ptx_func_block(w->l->p->pub.funcs[func])->refs };
	w->found[w->found_count++] = func;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void follow(struct walk *w, struct bf_ptx_func *entry)
{
	struct bf_ptx_arena *a = &w->l->p->arena;
	uint32_t *kept;

	w->k = bf_ptx_arena_take(a, sizeof(*w->k));
	w->k->func = entry->number;
	entry->kernel = w->k;
	w->found_count = 0;
	enter(w, entry->number);
	while (w->step_count) {
		struct step *s = &w->steps[w->step_count - 1];
		uint32_t callee = next_callee(w, s);

		if (callee != BF_PTX_NONE) {
			enter(w, callee);
			continue;
		}
		w->state[s->func] = DONE;
		w->step_count--;
	}
	qsort(w->found + 1, w->found_count - 1, sizeof(*w->found), by_number);
	kept = bf_ptx_arena_take(a, w->found_count * sizeof(*kept));
	for (uint32_t i = 0; i < w->found_count; i++) {
		kept[i] = w->found[i];
		w->state[kept[i]] = UNSEEN;
	}
	w->k->funcs = kept;
	w->k->func_count = w->found_count;
}

/* Definitions whose value is taken anywhere, entries not among them: each once. */
static void collect_taken(struct walk *w)
{
	const struct bf_ptx_program *p = &w->l->p->pub;

	for (uint32_t i = 0; i < p->func_count; i++) {
		uint32_t def = p->funcs[i]->def;

		if (!p->funcs[i]->addressed || def == BF_PTX_NONE || p->funcs[def]->entry || w->state[def] == DONE)
			continue;
		w->state[def] = DONE;
		w->taken[w->taken_count++] = def;
	}
	for (uint32_t i = 0; i < w->taken_count; i++)
		w->state[w->taken[i]] = UNSEEN;
}

void bf_ptx_reach(struct bf_ptx_linker *l)
{
	struct bf_ptx_program *p = &l->p->pub;
	struct bf_ptx_arena *a = &l->p->arena;
	struct walk w = { .l = l };

	w.taken = bf_ptx_arena_take(a, p->func_count * sizeof(*w.taken));
	w.state = bf_ptx_arena_take(a, p->func_count);
	w.steps = bf_ptx_arena_take(a, p->func_count * sizeof(*w.steps));
	w.found = bf_ptx_arena_take(a, p->func_count * sizeof(*w.found));
	collect_taken(&w);
	for (uint32_t i = 0; i < p->func_count; i++)
		if (p->funcs[i]->entry && p->funcs[i]->def == i)
			follow(&w, p->funcs[i]);
}

/* What the machine refuses of one reference, or NULL. */
static const char *reason_of(const struct bf_ptx_program *p, const struct bf_ptx_func *f, const struct bf_ptx_ref *r,
			     const char **what)
{
	const struct bf_ptx_form *form;

	switch (r->kind) {
	case BF_PTX_REF_REFUSED:
		form = f->stmts[r->index].form;
		*what = form->text;
		return bf_ptx_form_refusal(form);
	case BF_PTX_REF_CALL:
	case BF_PTX_REF_TAKEN:
		*what = p->funcs[r->index]->name;
		return p->funcs[r->index]->def == BF_PTX_NONE && p->funcs[r->index]->builtin == BF_PTX_NONE
			   ? "a function that no module defines"
			   : NULL;
	case BF_PTX_REF_VAR:
		*what = p->vars[r->index]->name;
		return p->vars[r->index]->def == BF_PTX_NONE ? "a variable that no module defines" : NULL;
	default:
		return NULL;
	}
}

/* Function number `at` of those that the kernel (or without one the program) has; NULL: there are no more. */
static const struct bf_ptx_func *func_at(const struct bf_ptx_program *p, const struct bf_ptx_kernel *k, uint32_t at)
{
	if (at >= (k ? k->func_count : p->func_count))
		return NULL;
	return p->funcs[k ? k->funcs[at] : at];
}

bool bf_ptx_next_refusal(const struct bf_ptx_program *p, const struct bf_ptx_kernel *k, struct bf_ptx_refusal *it)
{
	const struct bf_ptx_ref *r = it->next;

	if (!it->func) {
		it->func = func_at(p, k, 0);
		r = it->func ? bf_ptx_func_block_const(it->func)->refs : NULL;
	}
	while (it->func) {
		for (; r; r = r->next) {
			it->reason = reason_of(p, it->func, r, &it->what);
			if (!it->reason)
				continue;
			it->stmt = r->stmt < it->func->stmt_count ? &it->func->stmts[r->stmt] : NULL;
			it->next = r->next;
			return true;
		}
		it->func = func_at(p, k, ++it->at);
		r = it->func ? bf_ptx_func_block_const(it->func)->refs : NULL;
	}
	return false;
}
