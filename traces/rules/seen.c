/* From records of any stream to the fields that rules read, by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

		if (f && f->kind != BF_FIELD_TEXT && f->size <= 8 && f->offset + f->size <= type->size) {
			p->field[p->nfields].offset = f->offset;
			p->field[p->nfields].size = (uint8_t)f->size;
			p->field[p->nfields].is_signed = f->kind == BF_FIELD_INT;
		}
		if (strlen(shapes[kind].key) == len && strncmp(shapes[kind].key, at, len) == 0)
			p->key = (int32_t)p->nfields;
		p->nfields++;
	}
	*out = p;
	return 0;
}

void bf_plan_read(const struct bf_plan *p, const uint8_t *fixed, struct bf_seen *e)
{
	for (uint32_t i = 0; i < p->nfields; i++) {
		const uint8_t *at = fixed + p->field[i].offset;
		uint64_t v = 0;

		/* A field that the stream lacks has size 0. */
		switch (p->field[i].size) {
		case 8:
			memcpy(&v, at, 8);
			break;
		case 4: {
			uint32_t x;

			memcpy(&x, at, 4);
			v = p->field[i].is_signed ? (uint64_t)(int64_t)(int32_t)x : x;
			break;
		}
		case 2: {
			uint16_t x;

			memcpy(&x, at, 2);
			v = p->field[i].is_signed ? (uint64_t)(int64_t)(int16_t)x : x;
			break;
		}
		case 1:
			v = p->field[i].is_signed ? (uint64_t)(int64_t)(int8_t)*at : *at;
			break;
		default:
			break;
		}
		e->field[i] = v;
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
