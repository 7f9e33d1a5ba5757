/* From records of any stream to the fields that rules read, by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "traces/rules/engine_internal.h"

#define BF_RECORDS_DEF "traces/records/all.def"
#include "sim/record_declare.h"

#define BF_NAMES(...)
#define BF_TEXTS(...)

/* Two types with one number have two members of one name here. */
struct numbers_differ {
#define BF_RECORD(rec, number, ...) char type_##number;
#include "traces/records/all.def"
#undef BF_RECORD
};

/* Reads a record of this program's own: its fields are where the compiler knows them to be. */
#define FIELD(name) to->name = (uint64_t)from->name;
#define BF_RECORD(rec, number, cls, queue, ...)                                                                        \
	static void read_##rec(const void *fixed, struct bf_seen *e)                                                   \
	{                                                                                                              \
		const struct bf_rec_##rec *from = fixed;                                                               \
		struct bf_seen_##rec *to = &e->rec;                                                                    \
                                                                                                                       \
		BF_SEEN_FIELDS_(FIELD, __VA_ARGS__)                                                                    \
	}                                                                                                              \
	BF_STATIC_ASSERT(sizeof(struct bf_seen_##rec) <= BF_SEEN_FIELDS_MAX * sizeof(uint64_t), #rec " is too long");
#include "traces/records/all.def"
#undef BF_RECORD

#define TEXT(name) #name " "
#define BF_RECORD(rec, number, cls, queue, ...)                                                                        \
	[BF_SEEN_##rec] = { &bf_rec_##rec##_schema, read_##rec, BF_SEEN_FIELDS_(TEXT, __VA_ARGS__), #queue },
static const struct shape {
	const struct bf_rec_schema *own;
	bf_seen_read_fn *read;
	const char *fields; /* separated by blanks */
	const char *key;
} shapes[] = {
#include "traces/records/all.def"
};
#undef BF_RECORD
#undef BF_NAMES
#undef BF_TEXTS

const char *bf_seen_name(enum bf_seen_kind kind)
{
	return kind > BF_SEEN_NONE && kind < BF_SEEN_KINDS ? shapes[kind].own->name : "?";
}

const char *bf_record_type_at(uint32_t i)
{
	return i < BF_SEEN_KINDS - 1 ? bf_seen_name((enum bf_seen_kind)(i + 1)) : NULL;
}

static const struct bf_rec_field *find_field(const struct bf_rec_schema *type, const char *name, size_t len)
{
	for (uint32_t i = 0; i < type->nfields; i++)
		if (strlen(type->fields[i].name) == len && strncmp(type->fields[i].name, name, len) == 0)
			return &type->fields[i];
	return NULL;
}

static bool is_word(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* The order of fields in a plan. */
enum part { LONG, WORD, OTHER, LACKING };

static enum part part_of(const struct bf_rec_field *f, const struct bf_rec_schema *type)
{
	if (!f || f->kind == BF_FIELD_TEXT || !is_word(f->size) || f->offset + f->size > type->size)
		return LACKING;
	if (f->size == 8)
		return LONG;
	return f->size == 4 && f->kind != BF_FIELD_INT ? WORD : OTHER;
}

/* Adds the fields of one part; their number behind that. */
static uint8_t add_part(struct bf_plan *p, const struct bf_rec_schema *type, enum part part, uint8_t n)
{
	uint8_t to = 0;

	for (const char *at = shapes[p->kind].fields; *at; at += strcspn(at, " ") + 1, to++) {
		const struct bf_rec_field *f = find_field(type, at, strcspn(at, " "));

		if (part_of(f, type) != part)
			continue;
		p->field[n].to = to;
		if (f) {
			p->field[n].at = f->offset;
			p->field[n].size = (uint8_t)f->size;
			p->field[n].is_signed = f->kind == BF_FIELD_INT;
		}
		n++;
	}
	return n;
}

/* The field that names the queue; -1: none does, -2: the actor's name does. */
static int32_t key_of(enum bf_seen_kind kind)
{
	const char *key = shapes[kind].key;
	int32_t n = 0;

	if (strcmp(key, "actor") == 0)
		return -2;
	for (const char *at = shapes[kind].fields; *at; at += strcspn(at, " ") + 1, n++)
		if (strlen(key) == strcspn(at, " ") && strncmp(key, at, strlen(key)) == 0)
			return n;
	return -1;
}

int bf_plan_make(const struct bf_rec_schema *type, struct bf_plan **out)
{
	enum bf_seen_kind kind = BF_SEEN_NONE + 1;
	struct bf_plan *p;

	*out = NULL;
	while (kind < BF_SEEN_KINDS && strcmp(shapes[kind].own->name, type->name) != 0)
		kind++;
	if (kind == BF_SEEN_KINDS)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->kind = kind;
	p->read = type == shapes[kind].own ? shapes[kind].read : NULL;
	p->key = key_of(kind);
	p->nlong = add_part(p, type, LONG, 0);
	p->nword = add_part(p, type, WORD, p->nlong);
	p->nother = add_part(p, type, OTHER, p->nword);
	p->nfields = add_part(p, type, LACKING, p->nother);
	*out = p;
	return 0;
}

uint64_t bf_plan_read_other(const struct bf_plan_field *f, const uint8_t *fixed)
{
	const uint64_t sign = f->is_signed ? 1ull << (8 * f->size - 1) : 0;
	const uint64_t v = f->size == 4   ? bf_get_le32(fixed + f->at)
			   : f->size == 2 ? bf_get_le16(fixed + f->at)
					  : fixed[f->at];

	return (v ^ sign) - sign;
}

uint64_t bf_seen_u64(const struct bf_seen *e, const char *field)
{
	const struct bf_rec_field *f = bf_schema_field(e->type, field);

	return f ? bf_field_u64(f, e->fixed) : 0;
}

const char *bf_seen_text(const struct bf_seen *e, const char *field, char *buf, size_t cap)
{
	const struct bf_rec_field *f = bf_schema_field(e->type, field);
	const char *name;
	size_t len = 0;

	buf[0] = '\0';
	if (!f)
		return buf;
	if (f->kind == BF_FIELD_TEXT) {
		name = (const char *)e->fixed + f->offset;
		len = strnlen(name, f->size);
	} else {
		name = bf_field_enum_name(f, bf_field_u64(f, e->fixed), &len);
	}
	if (name)
		snprintf(buf, cap, "%.*s", (int)len, name);
	else
		snprintf(buf, cap, "%llu", (unsigned long long)bf_field_u64(f, e->fixed));
	return buf;
}
