#include "traces/import/litmus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct word {
	const char *text;
	uint32_t value;
};

/* A reader within one thread, or in none. */
struct reader {
	struct bf_litmus *t;
	struct bf_litmus_thread *thread;
	char label[BF_LITMUS_OPS][BF_LITMUS_TEXT]; /* of each op: its own, or its branch's target */
};

static const struct bf_json_member *member(struct bf_json_line *l, const char *name, int *rc)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);

	if (!m && !*rc)
		*rc = bf_fail(l->err, -EBADMSG, "line %u, column %zu: field \"%s\" is missing", l->number,
			      (size_t)(l->p > l->start ? l->p - l->start : 0), name);
	return m;
}

static bool is_null(const struct bf_json_member *m)
{
	return m->token == BF_JSON_OTHER && m->value_len == 4 && !memcmp(m->value, "null", 4);
}

/* The member, unless it is missing or null. */
static const struct bf_json_member *given(const struct bf_json_line *l, const char *name)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);

	return m && !is_null(m) ? m : NULL;
}

static int read_text(struct bf_json_line *l, const char *name, char *out, size_t cap)
{
	int rc = 0;
	const struct bf_json_member *m = member(l, name, &rc);

	if (rc)
		return rc;
	if (m->token != BF_JSON_STRING)
		return bf_json_line_fail(l, m, name, "wants a text");
	return bf_json_line_text(l, m, name, out, cap) < 0 ? (l->err && l->err->code ? l->err->code : -EBADMSG) : 0;
}

static int read_word(struct bf_json_line *l, const char *name, const struct word *words, uint32_t *out)
{
	char text[BF_LITMUS_TEXT];
	int rc = read_text(l, name, text, sizeof(text));

	for (; !rc && words->text; words++) {
		if (!strcmp(words->text, text)) {
			*out = words->value;
			return 0;
		}
	}
	return rc ? rc : bf_json_line_fail(l, bf_json_line_find(l, name), name, "is not known");
}

static int signed_of(struct bf_json_line *l, const struct bf_json_member *m, const char *name, int64_t *out)
{
	struct bf_json_member digits = *m;
	const bool minus = m->token == BF_JSON_NUMBER && m->value_len > 1 && m->value[0] == '-';
	uint64_t v = 0;
	int rc;

	if (minus) {
		digits.value++;
		digits.value_len--;
	}
	rc = bf_json_line_integer(l, &digits, name, BF_JSON_DECIMAL, INT64_MAX, &v);
	*out = minus ? -(int64_t)v : (int64_t)v;
	return rc;
}

static int read_signed(struct bf_json_line *l, const char *name, int64_t *out)
{
	int rc = 0;
	const struct bf_json_member *m = member(l, name, &rc);

	return rc ? rc : signed_of(l, m, name, out);
}

/* Each element of an array that is an object. */
static int each(struct bf_json_line *l, const char *name, struct reader *x,
		int (*take)(struct reader *x, struct bf_json_line *element))
{
	int rc = 0, more;
	const struct bf_json_member *m = member(l, name, &rc);
	struct bf_json_member e;
	struct bf_json_line array, element;

	if (rc)
		return rc;
	array = bf_json_line_within(l, m);
	while ((more = bf_json_line_element(&array, &e)) > 0) {
		element = bf_json_line_within(l, &e);
		rc = bf_json_line_scan(&element);
		if (!rc)
			rc = take(x, &element);
		if (rc)
			return rc;
	}
	return more;
}

static int too_many(struct bf_json_line *l, const char *what, uint32_t most)
{
	return bf_fail(l->err, -EBADMSG, "line %u, column %zu: more than %u %s", l->number,
		       l->p > l->start ? (size_t)(l->p - l->start) : 1, most, what);
}

/* ---- names ---- */

static uint32_t find_location(const struct bf_litmus *t, const char *name)
{
	uint32_t i = 0;

	while (i < t->nlocations && strcmp(t->location[i].name, name) != 0)
		i++;
	return i;
}

static int read_location(struct bf_json_line *l, const char *name, const struct bf_litmus *t, uint32_t *out)
{
	char text[BF_LITMUS_TEXT];
	int rc = read_text(l, name, text, sizeof(text));

	if (rc)
		return rc;
	*out = find_location(t, text);
	return *out < t->nlocations ? 0 : bf_json_line_fail(l, bf_json_line_find(l, name), name, "names no location");
}

static int find_register(struct bf_json_line *l, struct bf_litmus_thread *t, const char *name, uint32_t *out)
{
	for (*out = 0; *out < t->nregisters; ++*out)
		if (!strcmp(t->reg[*out], name))
			return 0;
	if (t->nregisters == BF_LITMUS_REGISTERS)
		return too_many(l, "registers in a thread", BF_LITMUS_REGISTERS);
	memcpy(t->reg[t->nregisters++], name, strlen(name) + 1);
	return 0;
}

static int read_register(struct bf_json_line *l, const char *name, struct bf_litmus_thread *t, uint32_t *out)
{
	char text[BF_LITMUS_TEXT];
	int rc = read_text(l, name, text, sizeof(text));

	return rc ? rc : find_register(l, t, text, out);
}

static int read_operand(struct bf_json_line *l, const char *name, struct bf_litmus_thread *t,
			struct bf_litmus_operand *out)
{
	int rc = 0;
	const struct bf_json_member *m = member(l, name, &rc);

	if (rc)
		return rc;
	out->is_register = m->token == BF_JSON_STRING;
	return out->is_register ? read_register(l, name, t, &out->reg) : signed_of(l, m, name, &out->number);
}

/* ---- locations ---- */

/* Names first: an alias may come before what it names. */
static int take_name(struct reader *x, struct bf_json_line *l)
{
	struct bf_litmus *t = x->t;
	struct bf_litmus_location *loc = &t->location[t->nlocations];
	int rc;

	if (t->nlocations == BF_LITMUS_LOCATIONS)
		return too_many(l, "locations", BF_LITMUS_LOCATIONS);
	rc = read_text(l, "name", loc->name, sizeof(loc->name));
	if (rc)
		return rc;
	if (find_location(t, loc->name) < t->nlocations)
		return bf_json_line_fail(l, bf_json_line_find(l, "name"), "name", "was there before");
	t->nlocations++;
	return given(l, "init") ? read_signed(l, "init", &loc->initial) : 0;
}

static int take_memory(struct reader *x, struct bf_json_line *l)
{
	struct bf_litmus *t = x->t;
	uint32_t i = 0;
	int rc = read_location(l, "name", t, &i);

	t->location[i].memory = t->location[i].generic = i;
	if (!rc && given(l, "phys"))
		rc = read_location(l, "phys", t, &t->location[i].memory);
	if (!rc && given(l, "vaddr"))
		rc = read_location(l, "vaddr", t, &t->location[i].generic);
	return rc;
}

/* ---- operations ---- */

static const struct word sems[] = { { "weak", BF_WEAK },       { "relaxed", BF_RELAXED }, { "acquire", BF_ACQUIRE },
				    { "release", BF_RELEASE }, { "acq_rel", BF_ACQ_REL }, { 0 } };
static const struct word scopes[] = {
	{ "cta", BF_SCOPE_CTA }, { "gpu", BF_SCOPE_GPU }, { "sys", BF_SCOPE_SYS }, { 0 }
};
static const struct word proxies[] = { { "generic", BF_PROXY_GENERIC }, { "texture", BF_PROXY_TEXTURE },
				       { "surface", BF_PROXY_SURFACE }, { "constant", BF_PROXY_CONSTANT },
				       { "async", BF_PROXY_ASYNC },     { 0 } };
static const struct word fences[] = { { "generic", BF_PROXY_GENERIC },
				      { "texture", BF_PROXY_TEXTURE },
				      { "surface", BF_PROXY_SURFACE },
				      { "constant", BF_PROXY_CONSTANT },
				      { "async", BF_PROXY_ASYNC },
				      { "alias", BF_PROXY_ALIAS },
				      { 0 } };
static const struct word functions[] = { { "add", BF_LITMUS_ADD }, { "sub", BF_LITMUS_SUB },
					 { "mul", BF_LITMUS_MUL }, { "div", BF_LITMUS_DIV },
					 { "and", BF_LITMUS_AND }, { "or", BF_LITMUS_OR },
					 { "xor", BF_LITMUS_XOR }, { "exch", BF_LITMUS_EXCH },
					 { "cas", BF_LITMUS_CAS }, { 0 } };
static const struct word compares[] = { { "eq", BF_LITMUS_EQ },
					{ "ne", BF_LITMUS_NE },
					{ "lt", BF_LITMUS_LT },
					{ "le", BF_LITMUS_LE },
					{ "gt", BF_LITMUS_GT },
					{ "ge", BF_LITMUS_GE },
					{ 0 } };

static int read_scope(struct bf_json_line *l, struct bf_litmus_op *op)
{
	uint32_t scope = BF_SCOPE_SYS;
	int rc = given(l, "scope") ? read_word(l, "scope", scopes, &scope) : 0;

	if (!rc && !given(l, "scope") && op->sem != BF_WEAK)
		return bf_fail(l->err, -EBADMSG, "line %u: a strong operation has no scope", l->number);
	op->scope = (enum bf_scope)scope;
	return rc;
}

static int read_access(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	uint32_t sem = BF_WEAK, proxy = BF_PROXY_GENERIC;
	int rc = read_word(l, "sem", sems, &sem);

	op->sem = (enum bf_sem)sem;
	if (!rc)
		rc = read_scope(l, op);
	if (!rc && given(l, "proxy"))
		rc = read_word(l, "proxy", proxies, &proxy);
	op->proxy = (enum bf_proxy)proxy;
	return rc ? rc : read_location(l, "loc", x->t, &op->location);
}

static int take_load(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	int rc = read_access(x, l, op);

	op->has_result = true;
	return rc ? rc : read_register(l, "reg", x->thread, &op->result);
}

static int take_store(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	int rc = read_access(x, l, op);

	return rc ? rc : read_operand(l, "value", x->thread, &op->a);
}

static int take_red(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	uint32_t function = 0;
	int rc = read_access(x, l, op);

	if (!rc)
		rc = read_word(l, "fn", functions, &function);
	op->function = (enum bf_litmus_function)function;
	if (!rc && op->function == BF_LITMUS_CAS)
		rc = read_operand(l, "compare", x->thread, &op->b);
	return rc ? rc : read_operand(l, "value", x->thread, &op->a);
}

static int take_atom(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	int rc = take_red(x, l, op);

	op->has_result = true;
	return rc ? rc : read_register(l, "reg", x->thread, &op->result);
}

static int take_fence(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	static const struct word kinds[] = { { "acq_rel", 0 }, { "sc", 1 }, { 0 } };
	uint32_t sc = 0;
	int rc = read_word(l, "sem", kinds, &sc);

	(void)x;
	op->sc = sc;
	op->sem = BF_ACQ_REL;
	return rc ? rc : read_scope(l, op);
}

static int take_fence_proxy(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	uint32_t proxy = 0;
	int rc = read_word(l, "kind", fences, &proxy);

	(void)x;
	op->proxy = (enum bf_proxy)proxy;
	return rc;
}

static int take_barrier(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	static const struct word modes[] = { { "sync", 0 }, { "arrive", 1 }, { 0 } };
	uint32_t arrives = 0;
	int rc = read_word(l, "mode", modes, &arrives);

	op->arrives = arrives;
	op->has_id = given(l, "id") != NULL;
	op->has_quorum = given(l, "quorum") != NULL;
	if (!rc && given(l, "instance"))
		rc = read_signed(l, "instance", &op->instance);
	if (!rc && op->has_id)
		rc = read_operand(l, "id", x->thread, &op->id);
	return !rc && op->has_quorum ? read_operand(l, "quorum", x->thread, &op->quorum) : rc;
}

static int take_mov(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	int rc = read_register(l, "reg", x->thread, &op->result);

	op->function = BF_LITMUS_ADD;
	return rc ? rc : read_operand(l, "value", x->thread, &op->a);
}

static int take_compute(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	uint32_t function = 0;
	int rc = read_word(l, "op", functions, &function);

	op->function = (enum bf_litmus_function)function;
	if (!rc)
		rc = read_register(l, "reg", x->thread, &op->result);
	if (!rc)
		rc = read_operand(l, "a", x->thread, &op->a);
	return rc ? rc : read_operand(l, "b", x->thread, &op->b);
}

static int take_label(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	(void)op;
	return read_text(l, "name", x->label[x->thread->nops], BF_LITMUS_TEXT);
}

static int take_jump(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	op->compare = BF_LITMUS_EQ;
	return read_text(l, "target", x->label[x->thread->nops], BF_LITMUS_TEXT);
}

static int take_branch(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op)
{
	uint32_t compare = 0;
	int rc = read_word(l, "cond", compares, &compare);

	if (!rc)
		rc = read_operand(l, "a", x->thread, &op->a);
	if (!rc)
		rc = read_operand(l, "b", x->thread, &op->b);
	if (!rc)
		rc = take_jump(x, l, op);
	op->compare = (enum bf_litmus_compare)compare;
	return rc;
}

static const struct {
	const char *name;
	enum bf_litmus_kind kind;
	int (*take)(struct reader *x, struct bf_json_line *l, struct bf_litmus_op *op);
} ops[] = {
	{ "ld", BF_LITMUS_LOAD, take_load },
	{ "st", BF_LITMUS_STORE, take_store },
	{ "atom", BF_LITMUS_ATOMIC, take_atom },
	{ "red", BF_LITMUS_ATOMIC, take_red },
	{ "fence", BF_LITMUS_FENCE, take_fence },
	{ "fence_proxy", BF_LITMUS_FENCE_PROXY, take_fence_proxy },
	{ "barrier", BF_LITMUS_BARRIER, take_barrier },
	{ "mov", BF_LITMUS_COMPUTE, take_mov },
	{ "add", BF_LITMUS_COMPUTE, take_compute },
	{ "sub", BF_LITMUS_COMPUTE, take_compute },
	{ "mul", BF_LITMUS_COMPUTE, take_compute },
	{ "div", BF_LITMUS_COMPUTE, take_compute },
	{ "label", BF_LITMUS_LABEL, take_label },
	{ "branch", BF_LITMUS_BRANCH, take_branch },
	{ "jump", BF_LITMUS_BRANCH, take_jump },
};

static int take_op(struct reader *x, struct bf_json_line *l)
{
	struct bf_litmus_thread *t = x->thread;
	char name[BF_LITMUS_TEXT];
	int rc = read_text(l, "op", name, sizeof(name));

	if (rc)
		return rc;
	if (t->nops == BF_LITMUS_OPS)
		return too_many(l, "operations in a thread", BF_LITMUS_OPS);
	for (size_t i = 0; i < BF_ARRAY_LEN(ops); i++) {
		if (strcmp(ops[i].name, name) != 0)
			continue;
		t->op[t->nops].kind = ops[i].kind;
		rc = ops[i].take(x, l, &t->op[t->nops]);
		t->nops++;
		return rc;
	}
	return bf_json_line_fail(l, bf_json_line_find(l, "op"), "op", "is no operation that is known");
}

/* ---- threads ---- */

static int find_targets(struct reader *x, struct bf_json_line *l)
{
	struct bf_litmus_thread *t = x->thread;

	for (uint32_t i = 0; i < t->nops; i++) {
		uint32_t k = 0;

		if (t->op[i].kind != BF_LITMUS_BRANCH)
			continue;
		while (k < t->nops && (t->op[k].kind != BF_LITMUS_LABEL || strcmp(x->label[k], x->label[i]) != 0))
			k++;
		if (k == t->nops)
			return bf_fail(l->err, -EBADMSG,
				       "line %u: thread %u branches to \"%s\", which is no label of it", l->number,
				       x->t->nthreads, x->label[i]);
		t->op[i].target = k;
	}
	return 0;
}

static int read_initial(struct bf_json_line *l, struct bf_litmus_thread *t)
{
	const struct bf_json_member *m = given(l, "init");
	struct bf_json_line init;
	int rc;

	if (!m)
		return 0;
	init = bf_json_line_within(l, m);
	rc = bf_json_line_scan(&init);
	for (unsigned i = 0; !rc && i < init.count; i++) {
		char name[BF_LITMUS_TEXT];
		uint32_t reg = 0;

		if (init.members[i].name_len >= sizeof(name))
			return bf_json_line_fail(l, &init.members[i], "init", "has a name that is too long");
		memcpy(name, init.members[i].name, init.members[i].name_len);
		name[init.members[i].name_len] = '\0';
		rc = find_register(l, t, name, &reg);
		if (!rc)
			rc = signed_of(&init, &init.members[i], name, &t->initial[reg]);
	}
	return rc;
}

static int take_thread(struct reader *x, struct bf_json_line *l)
{
	struct bf_litmus *t = x->t;
	int64_t cta = 0, gpu = 0;
	int rc;

	if (t->nthreads == BF_LITMUS_THREADS)
		return too_many(l, "threads", BF_LITMUS_THREADS);
	x->thread = &t->thread[t->nthreads];
	memset(x->label, 0, sizeof(x->label));
	rc = given(l, "cta") ? read_signed(l, "cta", &cta) : 0;
	if (!rc && given(l, "gpu"))
		rc = read_signed(l, "gpu", &gpu);
	if (!rc && (cta < 0 || cta > UINT16_MAX || gpu < 0 || gpu > UINT16_MAX))
		rc = bf_fail(l->err, -EBADMSG, "line %u: a thread's cta and gpu are from 0 to %u", l->number,
			     UINT16_MAX);
	x->thread->cta = (uint32_t)cta;
	x->thread->gpu = (uint32_t)gpu;
	if (!rc)
		rc = read_initial(l, x->thread);
	if (!rc)
		rc = each(l, "ops", x, take_op);
	if (!rc)
		rc = find_targets(x, l);
	t->nthreads++;
	return rc;
}

/* ---- the outcome ---- */

static int read_value(struct bf_json_line *l, const char *name, struct bf_litmus *t, struct bf_litmus_value *out)
{
	int rc = 0;
	const struct bf_json_member *m = member(l, name, &rc);
	struct bf_json_line v;
	int64_t thread = 0;

	if (rc)
		return rc;
	v = bf_json_line_within(l, m);
	rc = bf_json_line_scan(&v);
	if (rc)
		return rc;
	if (bf_json_line_find(&v, "const")) {
		out->kind = BF_LITMUS_CONST;
		return read_signed(&v, "const", &out->number);
	}
	if (bf_json_line_find(&v, "loc")) {
		out->kind = BF_LITMUS_MEMORY;
		return read_location(&v, "loc", t, &out->index);
	}
	out->kind = BF_LITMUS_REGISTER;
	rc = read_signed(&v, "thread", &thread);
	if (!rc && (thread < 0 || thread >= t->nthreads))
		return bf_json_line_fail(&v, bf_json_line_find(&v, "thread"), "thread", "names no thread");
	out->thread = (uint32_t)thread;
	return rc ? rc : read_register(&v, "reg", &t->thread[thread], &out->index);
}

static int take_node(struct reader *x, struct bf_json_line *l)
{
	static const struct word kinds[] = { { "and", BF_LITMUS_AND_ALL }, { "or", BF_LITMUS_OR_ANY },
					     { "not", BF_LITMUS_NOT },     { "eq", BF_LITMUS_COMPARE },
					     { "ne", BF_LITMUS_COMPARE },  { "lt", BF_LITMUS_COMPARE },
					     { "le", BF_LITMUS_COMPARE },  { "gt", BF_LITMUS_COMPARE },
					     { "ge", BF_LITMUS_COMPARE },  { 0 } };
	struct bf_litmus *t = x->t;
	struct bf_litmus_node *n = &t->node[t->nnodes];
	uint32_t kind = 0, compare = 0, first;
	int rc;

	if (t->nnodes == BF_LITMUS_NODES)
		return too_many(l, "parts of an outcome", BF_LITMUS_NODES);
	rc = read_word(l, "op", kinds, &kind);
	if (rc)
		return rc;
	first = ++t->nnodes;
	n->kind = (enum bf_litmus_node_kind)kind;
	if (n->kind == BF_LITMUS_COMPARE) {
		rc = read_word(l, "op", compares, &compare);
		n->compare = (enum bf_litmus_compare)compare;
		if (!rc)
			rc = read_value(l, "a", t, &n->a);
		if (!rc)
			rc = read_value(l, "b", t, &n->b);
	} else {
		rc = each(l, "args", x, take_node);
		if (!rc && n->kind == BF_LITMUS_NOT && (t->nnodes == first || t->node[first].next != t->nnodes))
			rc = bf_fail(l->err, -EBADMSG, "line %u: \"not\" takes one argument", l->number);
	}
	n->next = t->nnodes;
	return rc;
}

static int read_outcome(struct reader *x, struct bf_json_line *l)
{
	int rc = 0;
	const struct bf_json_member *m = member(l, "outcome", &rc);
	struct bf_json_line o;

	if (rc)
		return rc;
	o = bf_json_line_within(l, m);
	rc = bf_json_line_scan(&o);
	return rc ? rc : take_node(x, &o);
}

static int read_verdict(struct bf_json_line *l, struct bf_litmus *t)
{
	const struct bf_json_member *m = given(l, "outcome_allowed");

	t->has_verdict = m != NULL;
	if (!m)
		return 0;
	t->allowed = m->value_len == 4 && !memcmp(m->value, "true", 4);
	return m->token == BF_JSON_OTHER && (t->allowed || !memcmp(m->value, "false", 5))
		   ? 0
		   : bf_json_line_fail(l, m, "outcome_allowed", "wants true, false or null");
}

int bf_litmus_read(struct bf_json_line *l, struct bf_litmus *out)
{
	static const struct word models[] = { { "ptx", BF_ORDER_GPU }, { "tso", BF_ORDER_TSO }, { 0 } };
	struct reader x = { .t = out };
	uint32_t ordering = BF_ORDER_GPU;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = read_text(l, "name", out->name, sizeof(out->name));
	if (!rc && given(l, "model"))
		rc = read_word(l, "model", models, &ordering);
	out->ordering = (enum bf_ordering)ordering;
	if (!rc)
		rc = each(l, "locations", &x, take_name);
	if (!rc)
		rc = each(l, "locations", &x, take_memory);
	if (!rc)
		rc = each(l, "threads", &x, take_thread);
	if (!rc)
		rc = read_outcome(&x, l);
	return rc ? rc : read_verdict(l, out);
}
