/* From records of any stream to the fields that rules read, by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "traces/rules/engine_internal.h"

struct shape {
	const char *name;
	const char *fields; /* separated by blanks */
	const char *key;
};

#define TEXT(name) #name " "
#define SHAPE(name, FIELDS, key) [BF_SEEN_##name] = { #name, FIELDS(TEXT), #key },
static const struct shape shapes[] = { BF_SEEN_ALL(SHAPE) };

#define FITS(name, FIELDS, key)                                                                                        \
	BF_STATIC_ASSERT(sizeof(struct bf_seen_##name) <= BF_SEEN_FIELDS_MAX * sizeof(uint64_t), #name " is too "      \
												       "long");
BF_SEEN_ALL(FITS)

const char *bf_seen_name(enum bf_seen_kind kind)
{
	return kind > BF_SEEN_NONE && kind < BF_SEEN_KINDS ? shapes[kind].name : "?";
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

int bf_plan_make(const struct bf_rec_schema *type, struct bf_plan **out)
{
	enum bf_seen_kind kind = BF_SEEN_NONE + 1;
	struct bf_plan *p;
	const char *at;

	*out = NULL;
	while (kind < BF_SEEN_KINDS && strcmp(shapes[kind].name, type->name) != 0)
		kind++;
	if (kind == BF_SEEN_KINDS)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->kind = kind;
	p->fixed_len = type->size;
	p->key = strcmp(shapes[kind].key, "actor") == 0 ? -2 : -1;
	for (at = shapes[kind].fields; *at; at += strcspn(at, " ") + 1) {
		const size_t len = strcspn(at, " ");
		const struct bf_rec_field *f = find_field(type, at, len);

		p->field[p->nfields].at = -8;
		if (f && f->kind != BF_FIELD_TEXT && is_word(f->size) && f->offset + f->size <= type->size) {
			p->field[p->nfields].at = (int16_t)(f->offset + f->size - 8);
			p->field[p->nfields].shift = (uint8_t)(64 - 8 * f->size);
			p->field[p->nfields].mask = ~0ull >> p->field[p->nfields].shift;
			p->field[p->nfields].sign = f->kind == BF_FIELD_INT ? 1ull << (8 * f->size - 1) : 0;
		}
		if (strlen(shapes[kind].key) == len && strncmp(shapes[kind].key, at, len) == 0)
			p->key = (int32_t)p->nfields;
		p->nfields++;
	}
	*out = p;
	return 0;
}

/*
 * Each field is in the upper bytes of a word of 8 that ends with it: what lies before the first one is the record's
 * header. Of one that the stream lacks nothing is left by the mask.
 */
void bf_plan_read(const struct bf_plan *p, const uint8_t *fixed, struct bf_seen *e)
{
	for (uint32_t i = 0; i < p->nfields; i++) {
		const uint64_t word = bf_get_le64(fixed + p->field[i].at) >> p->field[i].shift & p->field[i].mask;

		e->field[i] = (word ^ p->field[i].sign) - p->field[i].sign;
	}
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
