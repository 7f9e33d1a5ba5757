/* Reading the JSON Lines form. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "traces/container/json_line.h"
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

#define LINE_MAX_BYTES (64u << 20)
#define FIELDS_MAX 256u
#define TEXT_MORE 6u /* bytes that bf_json_line_text() wants beside those of the text */

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

static bool get_number(const struct bf_json_member *m, uint64_t *value, bool *negative)
{
	char text[32];
	if (!m || m->token == BF_JSON_OTHER || m->value_len >= sizeof(text))
		return false;
	memcpy(text, m->value, m->value_len);
	text[m->value_len] = '\0';
	/* Hexadecimal digits need quotes. */
	return (m->token == BF_JSON_STRING || text[1] != 'x') && parse_number(text, value, negative);
}

static bool get_unsigned(const struct bf_json_member *m, uint64_t max, uint64_t *value)
{
	bool negative;
	return get_number(m, value, &negative) && !negative && *value <= max;
}

/* Hexadecimal digits in pairs, `len` bytes of them. */
static bool get_hex(const struct bf_json_member *m, uint8_t *out, size_t len)
{
	if (!m || m->token != BF_JSON_STRING || m->value_len != len * 2)
		return false;
	for (size_t i = 0; i < len; i++) {
		int high = bf_hex_digit(m->value[2 * i]), low = bf_hex_digit(m->value[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* The text of a string; it stays until the next line. NULL when it is none, or for want of memory. */
static const char *get_text(struct bf_trace *t, const struct bf_json_member *m, size_t *len)
{
	/* Its escapes are only counted against their own line. */
	struct bf_json_line quiet = { 0 };
	if (!m || m->token != BF_JSON_STRING || t->texts.len + m->value_len + TEXT_MORE > t->texts.cap)
		return NULL;
	char *at = (char *)t->texts.at + t->texts.len;
	quiet.start = m->value;
	const int64_t n = bf_json_line_text(&quiet, m, "", at, m->value_len + TEXT_MORE);
	if (n < 0)
		return NULL;
	t->texts.len += (size_t)n + 1;
	if (len)
		*len = (size_t)n;
	return at;
}

static bool get_text_field(struct bf_trace *t, const struct bf_json_line *l, const struct bf_json_member *m,
			   uint8_t *out, size_t size)
{
	size_t len;
	if (m->token == BF_JSON_OTHER && *m->value == '{') {
		struct bf_json_line hex = bf_json_line_within(l, m);
		hex.err = NULL;
		return bf_json_line_scan(&hex) == 0 && get_hex(bf_json_line_find(&hex, "hex"), out, size);
	}
	const char *text = get_text(t, m, &len);
	if (!text || len > size)
		return false;
	memcpy(out, text, len);
	return true;
}

static bool get_field(struct bf_trace *t, const struct bf_rec_field *f, const struct bf_json_line *l,
		      const struct bf_json_member *m, uint8_t *fixed)
{
	uint8_t *out = fixed + f->offset;
	uint64_t value;
	bool negative = false;
	if (f->kind == BF_FIELD_TEXT)
		return get_text_field(t, l, m, out, f->size);
	bool named = f->kind == BF_FIELD_ENUM && m->token == BF_JSON_STRING &&
		     bf_json_enum_value(f, m->value, m->value_len, &value);
	if (!named && !get_number(m, &value, &negative))
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

static const char *text_of(struct bf_trace *t, const struct bf_json_line *l, const char *name)
{
	return get_text(t, bf_json_line_find(l, name), NULL);
}

static bool unsigned_of(const struct bf_json_line *l, const char *name, uint64_t max, uint64_t *value)
{
	return get_unsigned(bf_json_line_find(l, name), max, value);
}

static int read_header(struct bf_trace *t, const struct bf_json_line *l, struct bf_error *err)
{
	uint64_t version;
	if (!unsigned_of(l, "belfry_trace", UINT32_MAX, &version))
		return bf_fail(err, -EBADMSG, "no version");
	if (version != BF_TRACE_MAJOR)
		return bf_fail(err, -ENOTSUP, "%s: trace format %" PRIu64 "; this build reads %u", t->name, version,
			       BF_TRACE_MAJOR);
	return 0;
}

static int read_meta(struct bf_trace *t, const struct bf_json_line *l, struct bf_error *err)
{
	const char *key = text_of(t, l, "meta"), *value = text_of(t, l, "value");
	if (!key || !value)
		return bf_fail(err, -EBADMSG, "a parameter is a key and a text");
	int rc = bf_decls_add_meta(&t->decls, key, value, err);
	return rc == -EINVAL ? -EBADMSG : rc;
}

static int read_actor(struct bf_trace *t, const struct bf_json_line *l, struct bf_error *err)
{
	uint64_t number;
	const char *kind = text_of(t, l, "kind"), *name = text_of(t, l, "name");
	if (!unsigned_of(l, "number", UINT32_MAX, &number) || !kind || !name)
		return bf_fail(err, -EBADMSG, "an actor is a number, a kind and a name");
	int rc = bf_decls_add_actor(&t->decls, (uint32_t)number, kind, name, err);
	return rc == -EMSGSIZE ? -EBADMSG : rc;
}

static bool get_declared_field(struct bf_trace *t, struct bf_json_line *l, struct bf_rec_field *f, unsigned offset)
{
	uint64_t size;
	if (bf_json_line_scan(l))
		return false;
	const char *kind = text_of(t, l, "kind");
	f->name = text_of(t, l, "name");
	f->unit = text_of(t, l, "unit");
	f->names = text_of(t, l, "names");
	for (uint8_t i = BF_FIELD_DEC; kind && i <= BF_FIELD_ENUM; i++) {
		if (!strcmp(kind, bf_json_kinds[i]))
			f->kind = i;
	}
	if (!f->name || !f->kind || !unsigned_of(l, "size", UINT16_MAX, &size))
		return false;
	f->size = (uint16_t)size;
	f->offset = (uint16_t)offset;
	return offset <= UINT16_MAX;
}

/* The fields of a type, up to FIELDS_MAX. Their number, or -EBADMSG. */
static int read_declared(struct bf_trace *t, const struct bf_json_line *l, const char *type, struct bf_rec_field *list,
			 struct bf_error *err)
{
	const struct bf_json_member *fields = bf_json_line_find(l, "fields");
	struct bf_json_member m;
	unsigned n = 0, offset = 0;
	int rc = fields && *fields->value == '[' ? 0 : -EBADMSG;
	if (rc)
		return bf_fail(err, rc, "a type is a name, id, class, size and up to %u fields", FIELDS_MAX);
	struct bf_json_line array = bf_json_line_within(l, fields);
	array.err = NULL;
	while ((rc = bf_json_line_element(&array, &m)) > 0) {
		struct bf_json_line one = bf_json_line_within(&array, &m);
		if (n == FIELDS_MAX || !get_declared_field(t, &one, &list[n], offset))
			return bf_fail(err, -EBADMSG, "type \"%.64s\": field %u is malformed", type, n);
		offset += list[n++].size;
	}
	return rc < 0 ? bf_fail(err, rc, "type \"%.64s\": the fields are malformed", type) : (int)n;
}

static int read_type(struct bf_trace *t, const struct bf_json_line *l, struct bf_error *err)
{
	uint64_t id, class_, size;
	struct bf_rec_field list[FIELDS_MAX] = { { 0 } };
	struct bf_rec_schema schema = { .name = text_of(t, l, "name"), .fields = list };
	if (!schema.name || !unsigned_of(l, "id", UINT16_MAX, &id) || !unsigned_of(l, "class", UINT32_MAX, &class_) ||
	    !unsigned_of(l, "size", UINT16_MAX, &size))
		return bf_fail(err, -EBADMSG, "a type is a name, id, class, size and up to %u fields", FIELDS_MAX);
	int n = read_declared(t, l, schema.name, list, err);
	if (n < 0)
		return n;
	schema.id = (uint16_t)id;
	schema.class_ = (uint32_t)class_;
	schema.size = (uint16_t)size;
	schema.nfields = (uint16_t)n;
	int rc = bf_decls_add_type(&t->decls, &schema, err);
	return rc == -EMSGSIZE ? -EBADMSG : rc;
}

/* Room for all texts of a line, which must not move. */
static int room_for_texts(struct bf_trace *t, const struct bf_json_line *l)
{
	t->texts.len = 0;
	return bf_bytes_room(&t->texts, (size_t)(l->end - l->start) + TEXT_MORE * 4 * (FIELDS_MAX + 2));
}

static int read_declaration(struct bf_trace *t, const struct bf_json_line *l, struct bf_error *err)
{
	const char *what = text_of(t, l, "declare");
	if (what && !strcmp(what, "type"))
		return read_type(t, l, err);
	if (what && !strcmp(what, "actor"))
		return read_actor(t, l, err);
	return bf_fail(err, -EBADMSG, "neither a type nor an actor is declared");
}

/* Which field of the type is called so: mostly the one behind the last. */
static unsigned field_named(const struct bf_rec_schema *schema, const struct bf_json_member *m, unsigned guess)
{
	for (unsigned i = 0; i < schema->nfields; i++) {
		const unsigned at = (guess + i) % schema->nfields;
		const char *name = schema->fields[at].name;
		/* A zero byte in the line ends neither name. */
		if (strncmp(name, m->name, m->name_len) == 0 && strnlen(name, m->name_len + 1) == m->name_len)
			return at;
	}
	return schema->nfields;
}

static int read_fields(struct bf_trace *t, const struct bf_rec_schema *schema, const struct bf_json_line *l,
		       uint8_t *fixed, struct bf_error *err)
{
	const struct bf_json_member *fields = bf_json_line_find(l, "fields");
	uint64_t seen[FIELDS_MAX / 64] = { 0 };
	struct bf_json_member m;
	unsigned n = 0, at = 0;
	int rc;
	if (!fields || *fields->value != '{')
		return bf_fail(err, -EBADMSG, "a record of type \"%s\" without fields", schema->name);
	struct bf_json_line object = bf_json_line_within(l, fields);
	object.err = NULL;
	for (; (rc = bf_json_line_member(&object, &m)) > 0; at++, n++) {
		at = schema->nfields ? field_named(schema, &m, at) : 0;
		if (at >= schema->nfields || at >= FIELDS_MAX || seen[at / 64] >> at % 64 & 1)
			return bf_fail(err, -EBADMSG, "type \"%s\" has no such field, or it is there twice",
				       schema->name);
		seen[at / 64] |= 1ull << at % 64;
		if (!get_field(t, &schema->fields[at], &object, &m, fixed))
			return bf_fail(err, -EBADMSG, "field \"%s\" of type \"%s\": the value does not fit",
				       schema->fields[at].name, schema->name);
	}
	if (rc < 0 || n != schema->nfields)
		return bf_fail(err, -EBADMSG, "type \"%s\" has %u fields", schema->name, schema->nfields);
	return 0;
}

static int read_record(struct bf_trace *t, const struct bf_json_line *l, struct bf_trace_record *rec,
		       struct bf_error *err)
{
	struct bf_rec_header head = { 0 };
	uint64_t actor;
	const char *name = text_of(t, l, "type");
	const struct bf_decl_type *type = name ? bf_decls_type_named(&t->decls, name) : NULL;
	const struct bf_json_member *tail = bf_json_line_find(l, "tail");
	if (!type)
		return bf_fail(err, -EBADMSG, "a record of a type that is not declared");
	if (!unsigned_of(l, "time_ps", UINT64_MAX, &head.time_ps) || !unsigned_of(l, "actor", UINT32_MAX, &actor) ||
	    (tail && tail->value_len / 2 > BF_RECORD_TAIL_MAX))
		return bf_fail(err, -EBADMSG, "time, actor or tail of the record is malformed");
	head.actor = (uint32_t)actor;
	head.type = type->schema.id;
	head.fixed = type->schema.size;
	head.tail = tail ? (uint32_t)(tail->value_len / 2) : 0;
	size_t span = bf_record_span(&head);
	t->record.len = 0;
	if (bf_bytes_room(&t->record, span))
		return -ENOMEM;
	uint8_t *out = memset(t->record.at, 0, span);
	memcpy(out, &head, sizeof(head));
	if (tail && !get_hex(tail, out + sizeof(head) + head.fixed, head.tail))
		return bf_fail(err, -EBADMSG, "the tail is not bytes in hexadecimal");
	int rc = read_fields(t, &type->schema, l, out + sizeof(head), err);
	return rc ? rc : bf_decls_record(&t->decls, out, span, rec, err);
}

static int read_end(struct bf_trace *t, const struct bf_json_line *l, struct bf_error *err)
{
	uint64_t records, hash;
	t->ended = true;
	if (!unsigned_of(l, "records", UINT64_MAX, &records) || !unsigned_of(l, "hash", UINT64_MAX, &hash))
		return bf_fail(err, -EBADMSG, "records or hash of the end line is malformed");
	if (t->whole && (records != t->records || hash != bf_trace_hash(t)))
		return bf_fail(err, -EBADMSG, "the hash of all records is not the end line's");
	return 0;
}

static bool has(const struct bf_json_line *l, const char *name)
{
	return bf_json_line_find(l, name) != NULL;
}

/* 1: a record in `rec`. */
static int read_line(struct bf_trace *t, const struct bf_json_line *l, struct bf_trace_record *rec,
		     struct bf_error *err)
{
	if (room_for_texts(t, l))
		return -ENOMEM;
	if (has(l, "time_ps")) {
		int rc = read_record(t, l, rec, err);
		return rc ? rc : 1;
	}
	if (has(l, "declare"))
		return read_declaration(t, l, err);
	if (has(l, "meta"))
		return read_meta(t, l, err);
	if (has(l, "end"))
		return read_end(t, l, err);
	if (has(l, "belfry_trace"))
		return read_header(t, l, err);
	return bf_fail(err, -EBADMSG, "a line of unknown kind");
}

/* The line that starts here, an object whose members all have names of their own. */
static int scan_line(struct bf_trace *t, size_t len, struct bf_json_line *l, struct bf_error *err)
{
	const char *at = (const char *)bf_trace_here(t);
	*l = (struct bf_json_line){ .start = at, .p = at, .end = at + len, .number = (uint32_t)t->line, .err = err };
	int rc = bf_json_line_scan(l);
	for (unsigned i = 1; !rc && i < l->count; i++)
		for (unsigned k = 0; k < i; k++)
			if (l->members[i].name_len == l->members[k].name_len &&
			    memcmp(l->members[i].name, l->members[k].name, l->members[i].name_len) == 0)
				rc = bf_fail(err, -EBADMSG, "a name is there twice");
	return rc;
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
	struct bf_error err = { 0 };
	struct bf_json_line l;
	int64_t len = line_length(t);
	if (len < 0)
		return (int)len;
	if (!len)
		return lost_line(t, 0, "the file is truncated: it has no end line");
	int rc = scan_line(t, (size_t)len, &l, &err);
	if (!rc)
		rc = read_line(t, &l, rec, &err);
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
		struct bf_error err = { 0 };
		struct bf_json_line l;
		int64_t len = line_length(t);
		if (len <= 0)
			return (int)len;
		int rc = scan_line(t, (size_t)len, &l, &err);
		if (!rc && ((!has(&l, "declare") && !has(&l, "meta")) || has(&l, "time_ps")))
			rc = -EBADMSG;
		if (!rc)
			rc = read_line(t, &l, NULL, &err);
		if (rc)
			return rc == -EBADMSG ? 0 : bf_fail(t->err, rc, "%s: no memory", t->name);
		bf_trace_consume(t, (size_t)len);
		t->line++;
	}
}

int bf_jsonl_open(struct bf_trace *t)
{
	struct bf_error err = { 0 };
	struct bf_json_line l;
	t->next = next_record;
	t->seek = seek_time;
	t->line = 1;
	t->whole = true;
	int64_t len = line_length(t);
	if (len < 0)
		return (int)len;
	int rc = scan_line(t, (size_t)len, &l, &err);
	if (!rc)
		rc = has(&l, "belfry_trace") ? read_header(t, &l, t->err) : -EBADMSG;
	if (rc == -EBADMSG)
		return bf_fail(t->err, rc, "%s: not a Belfry trace: the first line does not say so", t->name);
	if (rc)
		return rc;
	bf_trace_consume(t, (size_t)len);
	t->line++;
	return read_preamble(t);
}
