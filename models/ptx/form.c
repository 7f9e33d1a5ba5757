#include "models/ptx/parse_internal.h"

#include <string.h>

/* One spelling of an instruction, read word by word. */

struct word {
	const char *text;
	uint8_t value;
};

static const struct word types[] = {
#define X(name, word, bits, letter) { word, BF_PTX_##name },
	BF_PTX_TYPES(X)
#undef X
};
static const struct word spaces[] = {
#define X(name, word) { word, BF_PTX_##name },
	BF_PTX_SPACES(X)
#undef X
};
static const struct word sems[] = {
#define X(name, word) { word, BF_PTX_##name },
	BF_PTX_SEMS(X)
#undef X
};
static const struct word scopes[] = {
#define X(name, word) { word, BF_PTX_SCOPE_##name },
	BF_PTX_SCOPES(X)
#undef X
	    { "gl", BF_PTX_SCOPE_GPU },
};
static const struct word rounds[] = {
#define X(name, word) { word, BF_PTX_##name },
	BF_PTX_ROUNDS(X)
#undef X
};
static const struct word cmps[] = {
#define X(name, word) { word, BF_PTX_CMP_##name },
	BF_PTX_CMPS(X)
#undef X
};
static const struct word subs[] = {
#define X(name, word) { word, BF_PTX_SUB_##name },
	BF_PTX_SUBS(X)
#undef X
};
static const struct word flags[] = {
#define X(name, word) { word, BF_PTX_FLAG_BIT_##name },
	BF_PTX_FLAGS(X)
#undef X
};
static const struct word vecs[] = { { "v2", 2 }, { "v4", 4 }, { "v8", 8 } };
static const struct word hints[] = {
#define X(word) { word, 0 },
	BF_PTX_HINTS(X)
#undef X
};

BF_STATIC_ASSERT(BF_PTX_FLAGS_COUNT <= 64, "struct bf_ptx_form has 64 flags");

static const struct {
	const char *words;
	uint8_t least, most;
	bool refused;
} ops[] = { { "", 0, UINT8_MAX, true },
#define RUN false
#define REFUSE true
#define X(name, words, least, most, state) { words, least, most, state },
	    BF_PTX_OPS(X)
#undef X
#undef RUN
#undef REFUSE
};

static bool has(const struct word *list, size_t count, const char *at, size_t len, uint8_t *value)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].text[0] == at[0] && strlen(list[i].text) == len && memcmp(list[i].text, at, len) == 0) {
			*value = list[i].value;
			return true;
		}
	return false;
}

#define IN(list, value) has(list, BF_ARRAY_LEN(list), at, len, value)

/* Words that mean one thing to one operation and another one to others; true: taken. */
static bool take_by_op(struct bf_ptx_form *f, const char *at, size_t len)
{
	uint8_t value;

	switch (f->op) {
	case BF_PTX_OP_SETP:
	case BF_PTX_OP_SET:
		return !f->cmp && IN(cmps, &f->cmp);
	case BF_PTX_OP_VOTE:
	case BF_PTX_OP_CREATEPOLICY:
		if (!f->sub && IN(subs, &value)) {
			f->sub = value;
			return true;
		}
		return false;
	default:
		return false;
	}
}

static bool take_word(struct bf_ptx_form *f, const char *at, size_t len)
{
	uint8_t value;

	if (take_by_op(f, at, len))
		return true;
	if (IN(types, &value)) {
		if (f->type_count < BF_ARRAY_LEN(f->types))
			f->types[f->type_count++] = value;
		return true;
	}
	if (IN(spaces, &value)) {
		*(f->space ? &f->space2 : &f->space) = value;
		return true;
	}
	if (IN(flags, &value)) {
		f->flags |= UINT64_C(1) << value;
		return true;
	}
	return IN(sems, &f->sem) || IN(scopes, &f->scope) || IN(rounds, &f->round) || IN(subs, &f->sub) ||
	       IN(vecs, &f->vec) || IN(hints, &value);
}

/* The longest operation that `text` begins with; *end is where its modifiers begin. */
static enum bf_ptx_op find_op(const char *text, const char **end)
{
	enum bf_ptx_op best = BF_PTX_OP_UNKNOWN;
	size_t best_len = 0;

	for (size_t i = 1; i < BF_ARRAY_LEN(ops); i++) {
		size_t len = strlen(ops[i].words);

		if (len > best_len && strncmp(text, ops[i].words, len) == 0 && (text[len] == '.' || text[len] == 0)) {
			best = (enum bf_ptx_op)i;
			best_len = len;
		}
	}
	*end = best ? text + best_len : text + strcspn(text, ".");
	return best;
}

/* `barrier.cta.sync` is `barrier.sync`, and so on: the word adds nothing. */
static const char *without_cta(struct bf_ptx_reader *r, const char *text)
{
	size_t head = strncmp(text, "bar.cta.", 8) == 0 ? 4 : strncmp(text, "barrier.cta.", 12) == 0 ? 8 : 0;
	char *copy;

	if (!head)
		return text;
	copy = bf_ptx_arena_take(&r->p->arena, strlen(text));
	memcpy(copy, text, head);
	memcpy(copy + head, text + head + 4, strlen(text + head + 4) + 1);
	return copy;
}

struct bf_ptx_form *bf_ptx_form_get(struct bf_ptx_reader *r, const char *text, size_t len)
{
	struct bf_ptx_name *n = bf_ptx_name_get(&r->p->names, &r->p->arena, text, len);
	struct bf_ptx_form *f = n->form;
	const char *at;

	if (f)
		return f;
	f = bf_ptx_arena_take(&r->p->arena, sizeof(*f));
	f->text = n->text;
	f->vec = 1;
	f->op = find_op(without_cta(r, n->text), &at);
	if (!f->op)
		f->unknown = bf_ptx_name_get(&r->p->names, &r->p->arena, text, strcspn(n->text, "."))->text;
	while (*at) {
		size_t word = strcspn(++at, ".");

		if (!take_word(f, at, word) && !f->unknown)
			f->unknown = bf_ptx_name_get(&r->p->names, &r->p->arena, at, word)->text;
		at += word;
	}
	bf_ptx_add_form(r, f);
	n->form = f;
	return f;
}

const char *bf_ptx_form_refusal(const struct bf_ptx_form *f)
{
	if (!f->op)
		return "no such instruction";
	if (ops[f->op].refused)
		return "out of the machine's scope";
	return f->unknown ? "a modifier that is not known" : NULL;
}

void bf_ptx_form_operands(const struct bf_ptx_form *f, uint32_t *least, uint32_t *most)
{
	*least = ops[f->op].least;
	*most = ops[f->op].most;
}
