/* Reading the JSON Lines form, by libjansson. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifdef BELFRY_HAVE_JANSSON
#include <jansson.h>
#endif

#include "traces/container/trace_internal.h"

bool bf_json_enum_value(const struct bf_rec_field *f, const char *name, size_t len, uint64_t *value)
{
	if (!len || isdigit((unsigned char)*name) || *name == '-')
		return false;
	for (const char *p = f->names ? f->names : ""; *p;) {
		char *end;
		*value = strtoull(p, &end, 0);
		size_t item = strcspn(p, ";");
		if (end > p && *end == '=' && item - (size_t)(end + 1 - p) == len && !memcmp(end + 1, name, len))
			return true;
		p += item + (p[item] == ';');
	}
	return false;
}

#ifndef BELFRY_HAVE_JANSSON

int bf_jsonl_open(struct bf_trace *t)
{
	return bf_fail(t->err, -ENOTSUP, "%s: JSON Lines: this build lacks libjansson", t->name);
}

#else

#define LINE_MAX_BYTES (64u << 20)

/* Values. */

/* Exactly "0x" and hexadecimal digits, or decimal ones with a sign if `negative` takes one. */
static bool parse_number(const char *text, uint64_t *value, bool *negative)
{
	bool hex = text[0] == '0' && text[1] == 'x';
	*negative = text[0] == '-';
	const char *digits = text + (hex ? 2 : *negative);
	size_t n = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
	if (!n || digits[n])
		return false;
	errno = 0;
	*value = strtoull(digits, NULL, hex ? 16 : 10);
	return !errno;
}

static bool get_number(const json_t *v, uint64_t *value, bool *negative)
{
	if (json_is_string(v))
		return parse_number(json_string_value(v), value, negative);
	if (!json_is_integer(v))
		return false;
	json_int_t i = json_integer_value(v);
	*negative = i < 0;
	*value = *negative ? 0 - (uint64_t)i : (uint64_t)i;
	return true;
}

static bool get_unsigned(const json_t *v, uint64_t max, uint64_t *value)
{
	bool negative;
	return get_number(v, value, &negative) && !negative && *value <= max;
}

/* Hexadecimal digits in pairs, `len` bytes of them. */
static bool get_hex(const json_t *v, uint8_t *out, size_t len)
{
	if (!json_is_string(v) || json_string_length(v) != len * 2)
		return false;
	const char *p = json_string_value(v);
	for (size_t i = 0; i < len; i++) {
		int high = bf_hex_digit(p[2 * i]), low = bf_hex_digit(p[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool get_text_field(const json_t *v, uint8_t *out, size_t size)
{
	if (json_is_object(v))
		return get_hex(json_object_get(v, "hex"), out, size);
	if (!json_is_string(v) || json_string_length(v) > size)
		return false;
	memcpy(out, json_string_value(v), json_string_length(v));
	return true;
}

static bool get_field(const struct bf_rec_field *f, const json_t *v, uint8_t *fixed)
{
	uint8_t *out = fixed + f->offset;
	uint64_t value;
	bool negative = false;
	if (f->kind == BF_FIELD_TEXT)
		return get_text_field(v, out, f->size);
	bool named = f->kind == BF_FIELD_ENUM && json_is_string(v) &&
		     bf_json_enum_value(f, json_string_value(v), json_string_length(v), &value);
	if (!named && !get_number(v, &value, &negative))
		return false;
	uint64_t max = ~0ull >> (64 - f->size * 8);
	if (f->kind == BF_FIELD_INT)
		max = (max >> 1) + negative;
	else if (negative)
		return false;
	if (value > max)
		return false;
	if (negative)
		value = 0 - value;
	memcpy(out, &value, f->size);
	return true;
}

/* Lines. Each reader returns 0, or -EBADMSG with what is wrong in `err`, or another error. */

static int read_header(struct bf_trace *t, const json_t *line, struct bf_error *err)
{
	uint64_t version;
	if (!get_unsigned(json_object_get(line, "belfry_trace"), UINT32_MAX, &version))
		return bf_fail(err, -EBADMSG, "no version");
	if (version != BF_TRACE_MAJOR)
		return bf_fail(err, -ENOTSUP, "%s: trace format %" PRIu64 "; this build reads %u", t->name, version,
			       BF_TRACE_MAJOR);
	return 0;
}

static int read_meta(struct bf_trace *t, const json_t *line, struct bf_error *err)
{
	const char *key = json_string_value(json_object_get(line, "meta"));
	const char *value = json_string_value(json_object_get(line, "value"));
	if (!key || !value)
		return bf_fail(err, -EBADMSG, "a parameter is a key and a text");
	int rc = bf_decls_add_meta(&t->decls, key, value, err);
	return rc == -EINVAL ? -EBADMSG : rc;
}

static int read_actor(struct bf_trace *t, const json_t *line, struct bf_error *err)
{
	uint64_t number;
	const char *kind = json_string_value(json_object_get(line, "kind"));
	const char *name = json_string_value(json_object_get(line, "name"));
	if (!get_unsigned(json_object_get(line, "number"), UINT32_MAX, &number) || !kind || !name)
		return bf_fail(err, -EBADMSG, "an actor is a number, a kind and a name");
	int rc = bf_decls_add_actor(&t->decls, (uint32_t)number, kind, name, err);
	return rc == -EMSGSIZE ? -EBADMSG : rc;
}

static bool get_declared_field(const json_t *v, struct bf_rec_field *f, unsigned offset)
{
	const char *kind = json_string_value(json_object_get(v, "kind"));
	uint64_t size;
	f->name = json_string_value(json_object_get(v, "name"));
	f->unit = json_string_value(json_object_get(v, "unit"));
	f->names = json_string_value(json_object_get(v, "names"));
	for (uint8_t i = BF_FIELD_DEC; kind && i <= BF_FIELD_ENUM; i++) {
		if (!strcmp(kind, bf_json_kinds[i]))
			f->kind = i;
	}
	if (!f->name || !f->kind || !get_unsigned(json_object_get(v, "size"), UINT16_MAX, &size))
		return false;
	f->size = (uint16_t)size;
	f->offset = (uint16_t)offset;
	return offset <= UINT16_MAX;
}

static int read_type(struct bf_trace *t, const json_t *line, struct bf_error *err)
{
	uint64_t id, class_, size;
	const json_t *fields = json_object_get(line, "fields");
	size_t nfields = json_array_size(fields);
	struct bf_rec_field list[256] = { { 0 } };
	struct bf_rec_schema schema = { .name = json_string_value(json_object_get(line, "name")), .fields = list };
	if (!schema.name || !json_is_array(fields) || nfields > BF_ARRAY_LEN(list) ||
	    !get_unsigned(json_object_get(line, "id"), UINT16_MAX, &id) ||
	    !get_unsigned(json_object_get(line, "class"), UINT32_MAX, &class_) ||
	    !get_unsigned(json_object_get(line, "size"), UINT16_MAX, &size))
		return bf_fail(err, -EBADMSG, "a type is a name, id, class, size and up to 256 fields");
	unsigned offset = 0;
	for (unsigned i = 0; i < nfields; i++) {
		if (!get_declared_field(json_array_get(fields, i), &list[i], offset))
			return bf_fail(err, -EBADMSG, "type \"%.64s\": field %u is malformed", schema.name, i);
		offset += list[i].size;
	}
	schema.id = (uint16_t)id;
	schema.class_ = (uint32_t)class_;
	schema.size = (uint16_t)size;
	schema.nfields = (uint16_t)nfields;
	int rc = bf_decls_add_type(&t->decls, &schema, err);
	return rc == -EMSGSIZE ? -EBADMSG : rc;
}

static int read_declaration(struct bf_trace *t, const json_t *line, const char *what, struct bf_error *err)
{
	if (what && !strcmp(what, "type"))
		return read_type(t, line, err);
	if (what && !strcmp(what, "actor"))
		return read_actor(t, line, err);
	return bf_fail(err, -EBADMSG, "neither a type nor an actor is declared");
}

static int read_fields(const struct bf_rec_schema *schema, const json_t *fields, uint8_t *fixed, struct bf_error *err)
{
	if (json_object_size(fields) != schema->nfields)
		return bf_fail(err, -EBADMSG, "type \"%s\" has %u fields", schema->name, schema->nfields);
	for (unsigned i = 0; i < schema->nfields; i++) {
		const struct bf_rec_field *f = &schema->fields[i];
		const json_t *v = json_object_get(fields, f->name);
		if (!v || !get_field(f, v, fixed))
			return bf_fail(err, -EBADMSG, "field \"%s\" of type \"%s\": %s", f->name, schema->name,
				       v ? "the value does not fit" : "missing");
	}
	return 0;
}

static int read_record(struct bf_trace *t, const json_t *line, struct bf_trace_record *rec, struct bf_error *err)
{
	struct bf_rec_header head = { 0 };
	uint64_t actor;
	const char *name = json_string_value(json_object_get(line, "type"));
	const struct bf_decl_type *type = name ? bf_decls_type_named(&t->decls, name) : NULL;
	const json_t *tail = json_object_get(line, "tail");
	if (!type)
		return bf_fail(err, -EBADMSG, "a record of a type that is not declared");
	if (!get_unsigned(json_object_get(line, "time_ps"), UINT64_MAX, &head.time_ps) ||
	    !get_unsigned(json_object_get(line, "actor"), UINT32_MAX, &actor) ||
	    json_string_length(tail) / 2 > BF_RECORD_TAIL_MAX)
		return bf_fail(err, -EBADMSG, "time, actor or tail of the record is malformed");
	head.actor = (uint32_t)actor;
	head.type = type->schema.id;
	head.fixed = type->schema.size;
	head.tail = (uint32_t)(json_string_length(tail) / 2);
	size_t span = bf_record_span(&head);
	t->record.len = 0;
	if (bf_bytes_room(&t->record, span))
		return -ENOMEM;
	uint8_t *out = memset(t->record.at, 0, span);
	memcpy(out, &head, sizeof(head));
	if (tail && !get_hex(tail, out + sizeof(head) + head.fixed, head.tail))
		return bf_fail(err, -EBADMSG, "the tail is not bytes in hexadecimal");
	int rc = read_fields(&type->schema, json_object_get(line, "fields"), out + sizeof(head), err);
	return rc ? rc : bf_decls_record(&t->decls, out, span, rec, err);
}

static int read_end(struct bf_trace *t, const json_t *line, struct bf_error *err)
{
	uint64_t records, hash;
	t->ended = true;
	if (!get_unsigned(json_object_get(line, "records"), UINT64_MAX, &records) ||
	    !get_unsigned(json_object_get(line, "hash"), UINT64_MAX, &hash))
		return bf_fail(err, -EBADMSG, "records or hash of the end line is malformed");
	if (t->whole && (records != t->records || hash != bf_trace_hash(t)))
		return bf_fail(err, -EBADMSG, "the hash of all records is not the end line's");
	return 0;
}

/* 1: a record in `rec`. */
static int read_line(struct bf_trace *t, const json_t *line, struct bf_trace_record *rec, struct bf_error *err)
{
	const json_t *v;
	if (json_object_get(line, "time_ps")) {
		int rc = read_record(t, line, rec, err);
		return rc ? rc : 1;
	}
	if ((v = json_object_get(line, "declare")))
		return read_declaration(t, line, json_string_value(v), err);
	if (json_object_get(line, "meta"))
		return read_meta(t, line, err);
	if (json_object_get(line, "end"))
		return read_end(t, line, err);
	if (json_object_get(line, "belfry_trace"))
		return read_header(t, line, err);
	return bf_fail(err, -EBADMSG, "a line of unknown kind");
}

/* Length of the line that starts here, its newline included; 0 at the end of the file. */
static int64_t line_length(struct bf_trace *t)
{
	for (size_t want = 4096, seen = 0;; want *= 2) {
		int64_t n = bf_trace_need(t, want);
		if (n <= 0)
			return n;
		const uint8_t *here = bf_trace_here(t), *newline = memchr(here + seen, '\n', (size_t)n - seen);
		if (newline)
			return newline - here + 1;
		if ((size_t)n < want || want >= LINE_MAX_BYTES)
			return n;
		seen = (size_t)n;
	}
}

static int lost_line(struct bf_trace *t, size_t len, const char *why)
{
	struct bf_trace_loss loss = { t->line, t->offset, len, BF_TRACE_UNKNOWN };
	t->whole = false;
	if (!len)
		t->ended = true;
	int rc = bf_trace_lost(t, &loss, why);
	bf_trace_consume(t, len);
	t->line += len != 0;
	return rc;
}

/* One line; 1 with a record, 0 when it was something else, -EBADMSG when it was bad. */
static int step(struct bf_trace *t, struct bf_trace_record *rec)
{
	int64_t len = line_length(t);
	if (len < 0)
		return (int)len;
	if (!len)
		return lost_line(t, 0, "the file is truncated: it has no end line");
	json_error_t syntax;
	json_t *line = json_loadb((const char *)bf_trace_here(t), (size_t)len, JSON_REJECT_DUPLICATES, &syntax);
	if (!line)
		return lost_line(t, (size_t)len, syntax.text);
	struct bf_error err = { 0 };
	int rc = read_line(t, line, rec, &err);
	json_decref(line);
	if (rc == -EBADMSG)
		return lost_line(t, (size_t)len, err.text);
	if (rc < 0)
		return bf_fail(t->err, rc, "%s", rc == -ENOMEM ? "no memory" : err.text);
	bf_trace_consume(t, (size_t)len);
	t->line++;
	return rc;
}

static int next_record(struct bf_trace *t, struct bf_trace_record *rec)
{
	while (!t->ended) {
		int rc = step(t, rec);
		if (rc < 0)
			return rc;
		if (rc) {
			rec->number = t->records++;
			t->chain = bf_hash_records(t->chain, rec->raw, rec->raw_len);
			return 1;
		}
	}
	return 0;
}

static int seek_time(struct bf_trace *t, uint64_t time_ps)
{
	(void)time_ps; /* the caller passes over what is earlier */
	t->line = 1;
	t->records = 0;
	t->chain = BF_HASH_START;
	t->ended = false;
	t->whole = true;
	return bf_trace_goto(t, 0);
}

/* Takes in what stands before the first record, so that parameters can be looked up at once. Stops at a bad line. */
static int read_preamble(struct bf_trace *t)
{
	for (;;) {
		int64_t len = line_length(t);
		if (len <= 0)
			return (int)len;
		json_t *line = json_loadb((const char *)bf_trace_here(t), (size_t)len, JSON_REJECT_DUPLICATES, NULL);
		struct bf_error err = { 0 };
		bool preamble = json_object_get(line, "declare") || json_object_get(line, "meta");
		int rc = preamble && !json_object_get(line, "time_ps") ? read_line(t, line, NULL, &err) : -EBADMSG;
		json_decref(line);
		if (rc)
			return rc == -EBADMSG ? 0 : bf_fail(t->err, rc, "%s: no memory", t->name);
		bf_trace_consume(t, (size_t)len);
		t->line++;
	}
}

int bf_jsonl_open(struct bf_trace *t)
{
	t->next = next_record;
	t->seek = seek_time;
	t->line = 1;
	t->whole = true;
	int64_t len = line_length(t);
	if (len < 0)
		return (int)len;
	json_t *line = json_loadb((const char *)bf_trace_here(t), (size_t)len, JSON_REJECT_DUPLICATES, NULL);
	int rc = line && json_object_get(line, "belfry_trace") ? read_header(t, line, t->err) : -EBADMSG;
	json_decref(line);
	if (rc == -EBADMSG)
		return bf_fail(t->err, rc, "%s: not a Belfry trace: the first line does not say so", t->name);
	if (rc)
		return rc;
	bf_trace_consume(t, (size_t)len);
	t->line++;
	return read_preamble(t);
}

#endif
