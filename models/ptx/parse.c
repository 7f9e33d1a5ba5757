#include "models/ptx/parse_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A module: PTX ISA 11.1 (.version, .target, .address_size) and 11.6 (linkage). */

/* The word as "9.0" or "9": a real number to the lexer. */
static void version(struct bf_ptx_reader *r)
{
	unsigned major = 0, minor = 0;
	const char *p = r->tok.text, *end = p + r->tok.len;

	if (r->tok.kind != BF_PTX_TOKEN_REAL)
		bf_ptx_expected(r, "a version like 8.4");
	for (; p < end && *p >= '0' && *p <= '9' && major < 1000; p++)
		major = major * 10 + (unsigned)(*p - '0');
	for (p += p < end; p < end && *p >= '0' && *p <= '9' && minor < 1000; p++)
		minor = minor * 10 + (unsigned)(*p - '0');
	if (p != end)
		bf_ptx_expected(r, "a version like 8.4");
	r->module->version_major = major;
	r->module->version_minor = minor;
	bf_ptx_next(r);
}

static void target_word(struct bf_ptx_reader *r)
{
	static const char *const others[] = { "debug", "texmode_unified", "texmode_independent", "map_f64_to_f32",
					      NULL };
	const struct bf_ptx_token tok = r->tok;
	struct bf_ptx_name *n = bf_ptx_want_name(r, "sm_ and a number");
	char *end;
	unsigned long sm;

	for (uint32_t i = 0; others[i]; i++)
		if (strcmp(n->text, others[i]) == 0) {
			r->module->debug |= i == 0;
			return;
		}
	sm = strncmp(n->text, "sm_", 3) == 0 ? strtoul(n->text + 3, &end, 10) : 0;
	if (!sm || sm > 999 || (*end && (end[1] || (*end != 'a' && *end != 'f'))))
		bf_ptx_fail(r, tok.line, tok.column, "a target `%.60s`; sm_ and a number expected", n->text);
	r->module->sm = (uint32_t)sm;
	r->module->sm_suffix = *end;
}

static void head(struct bf_ptx_reader *r)
{
	bf_ptx_next(r);
	if (!bf_ptx_take_dot(r, "version"))
		bf_ptx_expected(r, ".version, with which PTX begins,");
	version(r);
	r->module->pointer = 64;
	if (!bf_ptx_take_dot(r, "target"))
		bf_ptx_expected(r, ".target");
	do
		target_word(r);
	while (bf_ptx_take(r, ','));
	if (bf_ptx_take_dot(r, "address_size")) {
		uint32_t line = r->tok.line, column = r->tok.column;

		r->module->pointer = (uint32_t)bf_ptx_want_int(r, 64, "the size of an address");
		if (r->module->pointer != 64)
			bf_ptx_fail(r, line, column, "addresses of %u bits: only modules with 64 are read",
				    r->module->pointer);
	}
}

/* .alias a, b; a was declared, b is defined. */
static void alias(struct bf_ptx_reader *r)
{
	struct bf_ptx_token where = r->tok;
	struct bf_ptx_name *a = bf_ptx_want_name(r, "the name of a function"), *b;

	bf_ptx_want(r, ',', "`,`");
	b = bf_ptx_want_name(r, "the name of a function");
	bf_ptx_want(r, ';', "`;`");
	if (b->kind != BF_PTX_SYMBOL_FUNC || b->module != r->number || !r->p->pub.funcs[b->index]->defined)
		bf_ptx_fail(r, where.line, where.column, "`%.80s` is to be an alias of `%.80s`, which is not defined",
			    a->text, b->text);
	if (a == b || r->p->pub.funcs[b->index]->linkage == BF_PTX_LINK_WEAK)
		bf_ptx_fail(r, where.line, where.column, "an alias of `%.100s`, which %s", b->text,
			    a == b ? "it is itself" : "is weak");
	bf_ptx_func_named(r, a)->alias = b->index;
}

static bool linkage_word(struct bf_ptx_reader *r, enum bf_ptx_linkage *l)
{
	static const struct {
		const char *word;
		enum bf_ptx_linkage linkage;
	} words[] = { { "extern", BF_PTX_LINK_EXTERN },
		      { "visible", BF_PTX_LINK_VISIBLE },
		      { "weak", BF_PTX_LINK_WEAK },
		      { "common", BF_PTX_LINK_COMMON } };

	for (size_t i = 0; i < BF_ARRAY_LEN(words); i++)
		if (bf_ptx_take_dot(r, words[i].word)) {
			*l = words[i].linkage;
			return true;
		}
	return false;
}

static void declaration(struct bf_ptx_reader *r)
{
	static const enum bf_ptx_space spaces[] = { BF_PTX_GLOBAL, BF_PTX_CONST, BF_PTX_SHARED, BF_PTX_LOCAL,
						    BF_PTX_PARAM };
	struct bf_ptx_decl d = { .linkage = BF_PTX_LINK_LOCAL };

	while (linkage_word(r, &d.linkage))
		;
	if (bf_ptx_take_dot(r, "entry")) {
		bf_ptx_parse_func(r, d.linkage, true);
		return;
	}
	if (bf_ptx_take_dot(r, "func")) {
		bf_ptx_parse_func(r, d.linkage, false);
		return;
	}
	for (size_t i = 0; i < BF_ARRAY_LEN(spaces); i++)
		if (bf_ptx_take_dot(r, bf_ptx_space_text(spaces[i]))) {
			d.space = spaces[i];
			bf_ptx_parse_vars(r, &d);
			return;
		}
	bf_ptx_expected(r, "a directive of a module (.entry, .func, .global, ...)");
}

/* The rest of a body whose head is missing, to its brace. */
static void skip_stray(struct bf_ptx_reader *r)
{
	r->strays->count++;
	if (!r->strays->line)
		r->strays->line = r->tok.line;
	for (uint32_t depth = 1; depth && r->tok.kind != BF_PTX_TOKEN_END; bf_ptx_next(r)) {
		r->strays->lines += r->tok.line != r->stray_line;
		r->stray_line = r->tok.line;
		if (bf_ptx_is(r, '{'))
			depth++;
		else if (bf_ptx_is(r, '}'))
			depth--;
	}
}

static bool is_stray(const struct bf_ptx_reader *r)
{
	return r->strays && (r->tok.kind == BF_PTX_TOKEN_NAME || bf_ptx_is(r, '@') || bf_ptx_is_dot(r, "reg"));
}

static void module(struct bf_ptx_reader *r)
{
	head(r);
	while (r->tok.kind != BF_PTX_TOKEN_END) {
		if (bf_ptx_take(r, ';'))
			continue;
		if (is_stray(r))
			skip_stray(r);
		else if (bf_ptx_take_dot(r, "file"))
			bf_ptx_parse_file(r);
		else if (bf_ptx_take_dot(r, "section"))
			bf_ptx_parse_section(r);
		else if (bf_ptx_take_dot(r, "pragma"))
			bf_ptx_parse_pragma(r);
		else if (bf_ptx_take_dot(r, "alias"))
			alias(r);
		else if (bf_ptx_take_dot(r, "loc"))
			bf_ptx_parse_loc(r);
		else if (bf_ptx_is_dot(r, "loc_intermediate") || bf_ptx_is_dot(r, "language"))
			bf_ptx_skip_loc(r);
		else
			declaration(r);
	}
	bf_ptx_resolve_locs(r);
}

/* The text, with room behind it for a look ahead, and without what fat binaries leave at its end. */
static void take_text(struct bf_ptx_reader *r, const char *text, size_t len)
{
	char *copy;

	while (len && text[len - 1] == 0)
		len--;
	copy = bf_ptx_arena_take(&r->p->arena, len + 16);
	memcpy(copy, text, len);
	r->at = r->line_start = copy;
	r->end = copy + len;
	r->line = 1;
}

static void read_module(struct bf_ptx_reader *r, const char *name, const char *text, size_t len)
{
	struct bf_ptx_program_block *p = r->p;
	struct bf_ptx_name *n = bf_ptx_name_get(&p->names, &p->arena, name, strlen(name));

	r->name = n->text;
	r->number = p->pub.module_count;
	r->module = bf_ptx_arena_take(&p->arena, sizeof(*r->module));
	r->module->name = n->text;
	r->module->bytes = len;
	bf_ptx_grow(&p->arena, (void **)&p->pub.modules, &p->module_room, p->pub.module_count, sizeof(*p->pub.modules));
	p->pub.modules[p->pub.module_count++] = r->module;
	take_text(r, text, len);
	module(r);
	r->module->lines = r->line - (r->at == r->line_start);
}

static void free_reader(struct bf_ptx_reader *r)
{
	void *arrays[] = { r->stmts,   r->labels, r->ranges, r->protos, r->fixups,  r->blocks,     r->operands,
			   r->formals, r->vars,   r->locs,   r->files,  r->strings, r->debug_texts };

	for (size_t i = 0; i < BF_ARRAY_LEN(arrays); i++)
		free(arrays[i]);
	free(r);
}

int bf_ptx_program_add_excerpt(struct bf_ptx_program *pub, const char *name, const char *text, size_t len,
			       struct bf_ptx_strays *strays)
{
	struct bf_ptx_program_block *p = BF_CONTAINER_OF(pub, struct bf_ptx_program_block, pub);
	struct bf_ptx_reader *r;
	int rc;

	if (pub->linked)
		return bf_fail(&pub->error, -EBUSY, "%.100s: the program is linked already", name);
	if (pub->error.code)
		return pub->error.code;
	if (len > UINT32_MAX - 16)
		return bf_fail(&pub->error, -EINVAL, "%.100s: more than 4 GiB of text", name);
	r = calloc(1, sizeof(*r));
	if (!r)
		return bf_fail(&pub->error, -ENOMEM, "out of memory");
	r->p = p;
	r->strays = strays;
	p->arena.out_of_memory = &r->leave;
	rc = setjmp(r->leave);
	if (rc == 0)
		read_module(r, name, text, len);
	else if (rc == ENOMEM)
		bf_fail(&pub->error, -ENOMEM, "%.100s: out of memory", name);
	p->arena.out_of_memory = NULL;
	free_reader(r);
	return pub->error.code;
}

int bf_ptx_program_add(struct bf_ptx_program *p, const char *name, const char *text, size_t len)
{
	return bf_ptx_program_add_excerpt(p, name, text, len, NULL);
}

void bf_ptx_add_form(struct bf_ptx_reader *r, struct bf_ptx_form *f)
{
	struct bf_ptx_program_block *p = r->p;

	bf_ptx_grow(&p->arena, (void **)&p->pub.forms, &p->form_room, p->pub.form_count, sizeof(*p->pub.forms));
	f->number = p->pub.form_count;
	p->pub.forms[p->pub.form_count++] = f;
}
