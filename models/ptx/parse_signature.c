#include "models/ptx/parse_internal.h"

#include <stdio.h>
#include <string.h>

/* Formal parameters, and the tables that bodies have under a label: PTX ISA 7.1, 11.2. */

static void one_formal(struct bf_ptx_reader *r, bool *variadic)
{
	struct bf_ptx_formal_decl f = { .pub = { .var = BF_PTX_NONE, .reg = BF_PTX_NONE } };
	struct bf_ptx_dims dims;
	uint64_t bytes;

	if (bf_ptx_take_dot(r, "param"))
		f.decl.space = BF_PTX_PARAM;
	else if (bf_ptx_take_dot(r, "reg"))
		f.decl.space = BF_PTX_REG;
	else
		bf_ptx_expected(r, ".param or .reg");
	bf_ptx_parse_decl(r, &f.decl);
	f.decl.line = r->tok.line;
	f.decl.column = r->tok.column;
	if (r->tok.kind != BF_PTX_TOKEN_NAME)
		bf_ptx_expected(r, "the name of a parameter");
	if (r->tok.len > 1 || *r->tok.text != '_')
		f.name = bf_ptx_token_name(r);
	bf_ptx_next(r);
	bf_ptx_parse_dims(r, &f.decl, &dims);
	bytes = f.decl.type == BF_PTX_PRED ? 1 : bf_ptx_decl_bytes(r, &f.decl, dims.elements);
	*variadic |= dims.unsized;
	f.pub.size = (uint32_t)bytes;
	f.pub.align = f.decl.align;
	f.pub.type = (uint8_t)f.decl.type;
	f.pub.array = dims.count > 0;
	*BF_PTX_PUSH(r, formal) = f;
}

void bf_ptx_parse_formals(struct bf_ptx_reader *r, bool *variadic)
{
	bf_ptx_want(r, '(', "`(`");
	if (bf_ptx_take(r, ')'))
		return;
	do
		one_formal(r, variadic);
	while (bf_ptx_take(r, ','));
	bf_ptx_want(r, ')', "`)` or `,`");
}

static const struct bf_ptx_formal *keep(struct bf_ptx_reader *r, uint32_t from, uint32_t count)
{
	struct bf_ptx_formal *kept = bf_ptx_arena_take(&r->p->arena, count * sizeof(*kept));

	for (uint32_t i = 0; i < count; i++)
		kept[i] = r->formals[from + i].pub;
	return kept;
}

/* Behind a label: ( .param .b32 _ ) _ ( .param .b64 _ ) .noreturn; either list may be missing. */
static void call_prototype(struct bf_ptx_reader *r, struct bf_ptx_signature *s)
{
	uint32_t first = r->formal_count;

	if (bf_ptx_is(r, '('))
		bf_ptx_parse_formals(r, &s->variadic);
	s->return_count = r->formal_count - first;
	if (r->tok.kind != BF_PTX_TOKEN_NAME)
		bf_ptx_expected(r, "`_`");
	bf_ptx_next(r);
	if (bf_ptx_is(r, '('))
		bf_ptx_parse_formals(r, &s->variadic);
	s->param_count = r->formal_count - first - s->return_count;
	s->returns = keep(r, first, s->return_count);
	s->params = keep(r, first + s->return_count, s->param_count);
	r->formal_count = first;
	while (r->tok.kind == BF_PTX_TOKEN_DOT) {
		bf_ptx_next(r); /* .noreturn, .abi_preserve 4 */
		if (r->tok.kind == BF_PTX_TOKEN_INT)
			bf_ptx_next(r);
	}
}

static uint32_t push_target(struct bf_ptx_reader *r, uint32_t value)
{
	*BF_PTX_PUSH(r, var) = value;
	return r->var_count - 1;
}

/* Functions by name. */
static void call_targets(struct bf_ptx_reader *r)
{
	do {
		struct bf_ptx_token where = r->tok;
		struct bf_ptx_name *n = bf_ptx_want_name(r, "the name of a function");

		if (n->kind != BF_PTX_SYMBOL_FUNC || n->module != r->number)
			bf_ptx_fail(r, where.line, where.column, "no function `%.100s`", n->text);
		push_target(r, n->index);
	} while (bf_ptx_take(r, ','));
}

/* Labels, or L<4> for L0 to L3. They may stand further down. */
static void branch_targets(struct bf_ptx_reader *r, struct bf_ptx_fixup **fixups, uint32_t *count)
{
	uint32_t room = 0;

	do {
		struct bf_ptx_fixup f = { .line = r->tok.line, .column = r->tok.column };
		struct bf_ptx_name *n = bf_ptx_want_name(r, "a label");
		uint32_t many = 1;
		bool range = bf_ptx_take(r, '<');

		if (range) {
			many = (uint32_t)bf_ptx_want_int(r, 4096, "the number of labels");
			bf_ptx_want(r, '>', "`>`");
		}
		for (uint32_t i = 0; i < many; i++) {
			char text[1100];

			snprintf(text, sizeof(text), "%.1024s%u", n->text, i);
			f.name = range ? bf_ptx_name_get(&r->p->names, &r->p->arena, text, strlen(text)) : n;
			if (*count == room) {
				struct bf_ptx_fixup *wider;

				room = room ? room * 2 : 16;
				wider = bf_ptx_arena_take(&r->p->arena, room * sizeof(f));
				if (*count)
					memcpy(wider, *fixups, *count * sizeof(f));
				*fixups = wider;
			}
			(*fixups)[(*count)++] = f;
		}
	} while (bf_ptx_take(r, ','));
}

void bf_ptx_parse_proto(struct bf_ptx_reader *r, struct bf_ptx_name *name, const struct bf_ptx_token *where)
{
	struct bf_ptx_proto t = { .name = name->text, .kind = BF_PTX_PROTO_CALL };
	struct bf_ptx_fixup *fixups = NULL;
	uint32_t first = r->var_count, *targets;

	if (bf_ptx_take_dot(r, "callprototype")) {
		call_prototype(r, &t.signature);
	} else if (bf_ptx_take_dot(r, "calltargets")) {
		t.kind = BF_PTX_PROTO_CALL_TARGETS;
		call_targets(r);
		t.target_count = r->var_count - first;
	} else {
		bf_ptx_next(r);
		t.kind = BF_PTX_PROTO_BRANCH_TARGETS;
		branch_targets(r, &fixups, &t.target_count);
	}
	targets = bf_ptx_arena_take(&r->p->arena, t.target_count * sizeof(*targets));
	for (uint32_t i = 0; i < t.target_count; i++) {
		if (!fixups) {
			targets[i] = r->vars[first + i];
			continue;
		}
		fixups[i].target = &targets[i];
		bf_ptx_fixup_later(r, &fixups[i]);
	}
	r->var_count = first;
	t.targets = targets;
	bf_ptx_declare(r, name, BF_PTX_LOCAL_PROTO, r->proto_count, 1, where);
	*BF_PTX_PUSH(r, proto) = t;
	bf_ptx_want(r, ';', "`;`");
}
