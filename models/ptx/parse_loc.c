#include "models/ptx/parse_internal.h"

#include <string.h>

/* Places in the source: .file, .loc and what they need of .debug_str. PTX ISA 11.5. */

struct bf_ptx_file {
	uint64_t number;
	const char *path;
};

struct bf_ptx_loc_block {
	struct bf_ptx_loc pub;
	uint64_t file;
	const struct bf_ptx_name *label; /* of a text in .debug_str, or NULL */
	uint64_t label_offset;
};

/* A label within .debug_str. */
struct bf_ptx_string {
	const struct bf_ptx_name *name;
	uint32_t offset;
};

static const char *text_of(struct bf_ptx_reader *r, const struct bf_ptx_token *a, const struct bf_ptx_token *b)
{
	char *path = bf_ptx_arena_take(&r->p->arena, (size_t)a->len + b->len + 2);

	memcpy(path, a->text, a->len);
	if (b->len) {
		path[a->len] = '/';
		memcpy(path + a->len + 1, b->text, b->len);
	}
	return path;
}

/* .file 1 "path", time, size; or a directory and a name. */
void bf_ptx_parse_file(struct bf_ptx_reader *r)
{
	struct bf_ptx_token first, second = { 0 };
	struct bf_ptx_file f = { .number = bf_ptx_want_int(r, UINT64_MAX, "the number of a file") };

	if (r->tok.kind != BF_PTX_TOKEN_STRING)
		bf_ptx_expected(r, "the name of a file");
	first = r->tok;
	bf_ptx_next(r);
	if (r->tok.kind == BF_PTX_TOKEN_STRING) {
		second = r->tok;
		bf_ptx_next(r);
	}
	while (bf_ptx_take(r, ','))
		bf_ptx_want_int(r, UINT64_MAX, "a number");
	f.path = text_of(r, &first, &second);
	*BF_PTX_PUSH(r, file) = f;
}

/* The record under which the newest loc of a place is found: a spelling that no name has. */
static struct bf_ptx_name *by_place(struct bf_ptx_reader *r, uint64_t file, uint32_t line, uint32_t column)
{
	char key[1 + 8 + 4 + 4] = { 1 };

	memcpy(key + 1, &file, 8);
	memcpy(key + 9, &line, 4);
	memcpy(key + 13, &column, 4);
	return bf_ptx_name_get(&r->p->names, &r->p->arena, key, sizeof(key));
}

static uint32_t push_loc(struct bf_ptx_reader *r, const struct bf_ptx_loc_block *l)
{
	struct bf_ptx_name *n = by_place(r, l->file, l->pub.line, l->pub.column);

	n->kind = BF_PTX_SYMBOL_LOC;
	n->module = r->number;
	n->index = r->loc_count;
	*BF_PTX_PUSH(r, loc) = *l;
	return n->index;
}

static void place(struct bf_ptx_reader *r, struct bf_ptx_loc_block *l)
{
	l->file = bf_ptx_want_int(r, UINT64_MAX, "the number of a file");
	l->pub.line = (uint32_t)bf_ptx_want_int(r, UINT32_MAX, "a line");
	l->pub.column = (uint32_t)bf_ptx_want_int(r, UINT32_MAX, "a column");
	l->pub.inlined_at = BF_PTX_NONE;
}

static bool take_word(struct bf_ptx_reader *r, const char *word)
{
	if (r->tok.kind != BF_PTX_TOKEN_NAME || r->tok.len != strlen(word) ||
	    memcmp(r->tok.text, word, r->tok.len) != 0)
		return false;
	bf_ptx_next(r);
	return true;
}

/* function_name $L__info_string0+8 */
static void function_name(struct bf_ptx_reader *r, struct bf_ptx_loc_block *l)
{
	l->label = bf_ptx_want_name(r, "a label in .debug_str");
	if (bf_ptx_is(r, '+'))
		l->label_offset = (uint64_t)bf_ptx_displacement(r);
}

/* The call's place: its own .loc stands before this one and says where that is inlined in turn. */
static uint32_t caller(struct bf_ptx_reader *r)
{
	struct bf_ptx_loc_block at = { 0 };
	const struct bf_ptx_name *n;

	place(r, &at);
	n = by_place(r, at.file, at.pub.line, at.pub.column);
	if (n->kind == BF_PTX_SYMBOL_LOC && n->module == r->number)
		return n->index;
	return push_loc(r, &at);
}

void bf_ptx_parse_loc(struct bf_ptx_reader *r)
{
	struct bf_ptx_loc_block l = { 0 };

	place(r, &l);
	while (bf_ptx_take(r, ',')) {
		if (take_word(r, "function_name"))
			function_name(r, &l);
		else if (take_word(r, "inlined_at"))
			l.pub.inlined_at = caller(r);
		else
			bf_ptx_expected(r, "function_name or inlined_at");
	}
	r->loc = push_loc(r, &l);
}

/* .loc_intermediate, PTX ISA 9.4: a step on the way between two places. To the end of its line. */
void bf_ptx_skip_loc(struct bf_ptx_reader *r)
{
	uint32_t line = r->tok.line;

	while (r->tok.line == line && r->tok.kind != BF_PTX_TOKEN_END)
		bf_ptx_next(r);
}

/* Bytes and labels of .debug_str, to its closing brace. */
static void debug_texts(struct bf_ptx_reader *r)
{
	while (!bf_ptx_is(r, '}')) {
		if (r->tok.kind == BF_PTX_TOKEN_INT) {
			*BF_PTX_PUSH(r, debug_text) = (char)r->tok.bits;
		} else if (r->tok.kind == BF_PTX_TOKEN_NAME) {
			struct bf_ptx_string s = { .name = bf_ptx_token_name(r), .offset = r->debug_text_count };

			*BF_PTX_PUSH(r, string) = s;
		} else if (r->tok.kind == BF_PTX_TOKEN_END) {
			bf_ptx_expected(r, "`}`");
		}
		bf_ptx_next(r);
	}
}

static void skip_braces(struct bf_ptx_reader *r)
{
	for (uint32_t depth = 1;; bf_ptx_next(r)) {
		if (r->tok.kind == BF_PTX_TOKEN_END)
			bf_ptx_expected(r, "`}`");
		if (bf_ptx_is(r, '{'))
			depth++;
		else if (bf_ptx_is(r, '}') && --depth == 0)
			return;
	}
}

void bf_ptx_parse_section(struct bf_ptx_reader *r)
{
	bool texts = bf_ptx_is_dot(r, "debug_str");

	while (!bf_ptx_is(r, '{')) {
		if (r->tok.kind == BF_PTX_TOKEN_END)
			bf_ptx_expected(r, "`{` of the section");
		bf_ptx_next(r);
	}
	bf_ptx_next(r);
	if (texts)
		debug_texts(r);
	else
		skip_braces(r);
	bf_ptx_want(r, '}', "`}`");
}

static const char *path_of(const struct bf_ptx_reader *r, uint64_t number)
{
	for (uint32_t i = 0; i < r->file_count; i++)
		if (r->files[i].number == number)
			return r->files[i].path;
	return "?";
}

/* The text under a label, if it ends within the section. */
static const char *debug_text(struct bf_ptx_reader *r, const struct bf_ptx_loc_block *l)
{
	for (uint32_t i = 0; l->label && i < r->string_count; i++) {
		uint64_t at = r->strings[i].offset + l->label_offset;

		if (r->strings[i].name == l->label && at < r->debug_text_count &&
		    memchr(r->debug_texts + at, 0, r->debug_text_count - at))
			return bf_ptx_name_get(&r->p->names, &r->p->arena, r->debug_texts + at,
					       strlen(r->debug_texts + at))
			    ->text;
	}
	return NULL;
}

void bf_ptx_resolve_locs(struct bf_ptx_reader *r)
{
	struct bf_ptx_loc *locs = bf_ptx_arena_take(&r->p->arena, r->loc_count * sizeof(*locs));

	for (uint32_t i = 0; i < r->loc_count; i++) {
		locs[i] = r->locs[i].pub;
		locs[i].file = path_of(r, r->locs[i].file);
		locs[i].function = debug_text(r, &r->locs[i]);
	}
	r->module->locs = locs;
	r->module->loc_count = r->loc_count;
}
