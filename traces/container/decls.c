/* Declarations: record types, actors and parameters, as the blocks that traces hold and as tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/container/trace_internal.h"

int bf_bytes_room(struct bf_bytes *b, size_t more)
{
	return more > SIZE_MAX - b->len ? -ENOMEM : BF_GROW(b->at, b->cap, b->len + more);
}

int bf_bytes_add(struct bf_bytes *b, const void *bytes, size_t len)
{
	int rc = bf_bytes_room(b, len);
	if (rc)
		return rc;
	if (len)
		memcpy(b->at + b->len, bytes, len);
	b->len += len;
	return 0;
}

/* Length of the UTF-8 sequence at `p`, 0 if it is not one (RFC 3629: no overlong forms, no surrogates). */
static size_t utf8_length(const uint8_t *p, size_t left)
{
	if (p[0] < 0x80)
		return p[0] != 0;
	size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

bool bf_text_ok(const char *text, size_t len)
{
	const uint8_t *p = (const uint8_t *)text;
	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_length(p + i, len - i);
		if (!n)
			return false;
	}
	return true;
}

/* Types and parameters are looked for one by one; a hostile file must not make that long. */
#define LIST_MAX 4096u

/* Reading a block. `bad` sticks; texts are copied, with a NUL, to `text`, which has room for the whole block. */
struct decoder {
	const uint8_t *p;
	size_t left;
	char *text;
	bool bad;
};

static uint64_t take(struct decoder *in, size_t n)
{
	uint64_t v = 0;
	if (in->left < n) {
		in->bad = true;
		return 0;
	}
	memcpy(&v, in->p, n);
	in->p += n;
	in->left -= n;
	return v;
}

static const char *take_bytes(struct decoder *in, size_t len)
{
	char *text = in->text;
	if (in->bad || in->left < len || !bf_text_ok((const char *)in->p, len)) {
		in->bad = true;
		return "";
	}
	memcpy(text, in->p, len);
	text[len] = 0;
	in->text += len + 1;
	in->p += len;
	in->left -= len;
	return text;
}

static const char *take_text(struct decoder *in)
{
	return take_bytes(in, (size_t)take(in, 2));
}

/* Names are words: they become JSON keys, options and columns. */
static bool name_ok(const char *name)
{
	size_t n = strlen(name);
	return n && n <= 64 && n == strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
}

static const char *field_fault(const struct bf_rec_schema *schema, unsigned i, unsigned offset)
{
	const struct bf_rec_field *f = &schema->fields[i];
	if (!name_ok(f->name))
		return "a field's name is not a word";
	if (f->offset != offset)
		return "fields leave a gap or overlap";
	if (f->kind < BF_FIELD_DEC || f->kind > BF_FIELD_ENUM)
		return "a field is of an unknown kind";
	if (f->kind != BF_FIELD_TEXT && f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)
		return "a number is not 1, 2, 4 or 8 bytes";
	if (!f->size)
		return "a text has no bytes";
	for (unsigned k = 0; k < i; k++) {
		if (!strcmp(schema->fields[k].name, f->name))
			return "two fields have the same name";
	}
	return NULL;
}

static const char *schema_fault(const struct bf_rec_schema *schema)
{
	unsigned offset = 0;
	if (!name_ok(schema->name))
		return "its name is not a word";
	if (schema->nfields > 256)
		return "more than 256 fields";
	for (unsigned i = 0; i < schema->nfields; i++) {
		const char *fault = field_fault(schema, i, offset);
		if (fault)
			return fault;
		offset += schema->fields[i].size;
	}
	return offset == schema->size ? NULL : "its fields do not add up to its size";
}

static int read_type(struct decoder *in, struct bf_decl_type *type, struct bf_rec_field *fields, struct bf_error *err)
{
	struct bf_rec_schema *s = &type->schema;
	s->id = (uint16_t)take(in, 2);
	s->size = (uint16_t)take(in, 2);
	s->class_ = (uint32_t)take(in, 4);
	s->nfields = (uint16_t)take(in, 2);
	s->name = take_text(in);
	s->fields = fields;
	for (unsigned i = 0; i < s->nfields && !in->bad; i++) {
		struct bf_rec_field *f = &fields[i];
		f->offset = (uint16_t)take(in, 2);
		f->size = (uint16_t)take(in, 2);
		uint16_t kind = (uint16_t)take(in, 2);
		f->kind = kind > UINT8_MAX ? UINT8_MAX : (uint8_t)kind;
		f->name = take_text(in);
		f->unit = take_text(in);
		f->names = take_text(in);
		if (!*f->names)
			f->names = NULL;
	}
	if (in->bad || in->left)
		return bf_fail(err, -EBADMSG, "declaration of type %u: block is malformed", s->id);
	const char *fault = schema_fault(s);
	if (fault)
		return bf_fail(err, -EBADMSG, "declaration of type %u \"%.64s\": %s", s->id, s->name, fault);
	return 0;
}

static int known(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len, const char *what, unsigned number,
		 struct bf_error *err)
{
	if (a_len == b_len && !memcmp(a, b, a_len))
		return 0;
	return bf_fail(err, -EBADMSG, "%s %u is declared twice, differently", what, number);
}

static int add_type(struct bf_decls *d, const uint8_t *block, size_t len, size_t body, struct bf_error *err)
{
	unsigned nfields = body >= 10 ? bf_get_le16(block + 16) : 0;
	if (nfields > body / 12)
		return bf_fail(err, -EBADMSG, "declaration of a type: %u fields in %zu bytes", nfields, body);
	size_t fields_size = nfields * sizeof(struct bf_rec_field);
	struct bf_decl_type *type = calloc(1, sizeof(*type) + fields_size + len + body + 3u * nfields + 1);
	if (!type)
		return -ENOMEM;
	struct bf_rec_field *fields = (struct bf_rec_field *)(void *)(type + 1);
	type->block = (uint8_t *)(type + 1) + fields_size;
	type->block_len = len;
	memcpy(type->block, block, len);
	struct decoder in = { .p = block + 8, .left = body, .text = (char *)type->block + len };
	int rc = read_type(&in, type, fields, err);
	if (rc)
		goto out;
	rc = -ENOMEM;
	if (BF_GROW(d->types, d->types_cap, d->ntypes + 1))
		goto out;
	const struct bf_decl_type *old = bf_decls_type(d, type->schema.id);
	if (old) {
		rc = known(old->block, old->block_len, block, len, "type", type->schema.id, err);
		goto out;
	}
	rc = -EBADMSG;
	if (bf_decls_type_named(d, type->schema.name) || d->ntypes == LIST_MAX) {
		bf_fail(err, rc, "type \"%s\": the name is taken, or too many types", type->schema.name);
		goto out;
	}
	if (!bf_numbering_add(&d->type_places, type->schema.id)) {
		rc = -ENOMEM;
		goto out;
	}
	d->types[d->ntypes++] = type;
	d->hash += bf_hash_declaration(block, len);
	return 0;
out:
	free(type);
	return rc;
}

static int add_actor(struct bf_decls *d, const uint8_t *block, size_t len, size_t body, struct bf_error *err)
{
	struct bf_decl_actor *actor = calloc(1, sizeof(*actor) + len + body + 2);
	if (!actor)
		return -ENOMEM;
	actor->block = (uint8_t *)(actor + 1);
	actor->block_len = len;
	memcpy(actor->block, block, len);
	struct decoder in = { .p = block + 8, .left = body, .text = (char *)actor->block + len };
	uint32_t number = actor->actor.number = (uint32_t)take(&in, 4);
	actor->actor.kind = take_text(&in);
	actor->actor.name = take_text(&in);
	int rc = -EBADMSG;
	if (in.bad || in.left || !number || number >= BF_ACTOR_MAX) {
		bf_fail(err, rc, "declaration of actor %u: %s", number,
			in.bad || in.left ? "block is malformed" : "number out of range");
		goto out;
	}
	const struct bf_decl_actor *old = bf_decls_actor(d, number);
	if (old) {
		rc = known(old->block, old->block_len, block, len, "actor", number, err);
		goto out;
	}
	rc = -ENOMEM;
	if (BF_GROW(d->actors, d->actors_cap, d->nactors + 1) || !bf_numbering_add(&d->actor_places, number))
		goto out;
	d->actors[d->nactors++] = actor;
	d->hash += bf_hash_declaration(block, len);
	return 0;
out:
	free(actor);
	return rc;
}

static int add_meta(struct bf_decls *d, const uint8_t *block, size_t len, size_t body, struct bf_error *err)
{
	struct bf_decl_meta *meta = calloc(1, sizeof(*meta) + len + body + 2);
	if (!meta)
		return -ENOMEM;
	meta->block = (uint8_t *)(meta + 1);
	meta->block_len = len;
	memcpy(meta->block, block, len);
	struct decoder in = { .p = block + 8, .left = body, .text = (char *)meta->block + len };
	meta->entry.key = take_text(&in);
	meta->entry.value = take_bytes(&in, in.left);
	if (in.bad || !*meta->entry.key) {
		free(meta);
		return bf_fail(err, -EBADMSG, "a parameter has no key or is not UTF-8");
	}
	for (size_t i = 0; i < d->nmetas; i++) {
		if (!strcmp(d->metas[i]->entry.key, meta->entry.key)) {
			free(d->metas[i]);
			d->metas[i] = meta;
			return 0;
		}
	}
	int rc = d->nmetas < LIST_MAX ? BF_GROW(d->metas, d->metas_cap, d->nmetas + 1)
				      : bf_fail(err, -EBADMSG, "more than %u parameters", LIST_MAX);
	if (rc) {
		free(meta);
		return rc;
	}
	d->metas[d->nmetas++] = meta;
	return 0;
}

int bf_decls_add(struct bf_decls *d, const uint8_t *block, size_t len, struct bf_error *err)
{
	uint32_t tag = bf_get_le32(block), body = bf_get_le32(block + 4);
	for (size_t i = 8 + (size_t)body; i < len; i++) {
		if (block[i]) /* the hash covers padding, so it must be what another writer would write */
			return bf_fail(err, -EBADMSG, "a declaration is padded with more than zeros");
	}
	switch (tag) {
	case BF_BLOCK_TYPE:
		return add_type(d, block, len, body, err);
	case BF_BLOCK_ACTOR:
		return add_actor(d, block, len, body, err);
	case BF_BLOCK_META:
		return add_meta(d, block, len, body, err);
	default:
		return 0; /* a later minor version may have more to say */
	}
}

int bf_decls_add_type(struct bf_decls *d, const struct bf_rec_schema *schema, struct bf_error *err)
{
	size_t len = bf_type_block(schema, NULL, 0);
	uint8_t *block = len ? malloc(len) : NULL;
	if (!block)
		return len ? -ENOMEM : bf_fail(err, -EMSGSIZE, "type \"%.64s\": a text is too long", schema->name);
	bf_type_block(schema, block, len);
	int rc = bf_decls_add(d, block, len, err);
	free(block);
	return rc;
}

int bf_decls_add_actor(struct bf_decls *d, uint32_t number, const char *kind, const char *name, struct bf_error *err)
{
	size_t len = bf_actor_block(number, kind, name, NULL, 0);
	uint8_t *block = len ? malloc(len) : NULL;
	if (!block)
		return len ? -ENOMEM : bf_fail(err, -EMSGSIZE, "actor %u: its name is too long", number);
	bf_actor_block(number, kind, name, block, len);
	int rc = bf_decls_add(d, block, len, err);
	free(block);
	return rc;
}

int bf_decls_add_meta(struct bf_decls *d, const char *key, const char *value, struct bf_error *err)
{
	size_t key_len = strlen(key), value_len = strlen(value), body = 2 + key_len + value_len;
	if (!key_len || key_len > UINT16_MAX || value_len > BF_CHUNK_MAX / 4)
		return bf_fail(err, -EINVAL, "a parameter's key is empty, or key or value too long");
	size_t len = (8 + body + 7) & ~(size_t)7;
	uint8_t *block = calloc(1, len);
	if (!block)
		return -ENOMEM;
	bf_put_le32(block, BF_BLOCK_META);
	bf_put_le32(block + 4, (uint32_t)body);
	bf_put_le16(block + 8, (uint16_t)key_len);
	memcpy(block + 10, key, key_len);
	memcpy(block + 10 + key_len, value, value_len);
	int rc = bf_decls_add(d, block, len, err);
	free(block);
	return rc == -EBADMSG ? bf_fail(err, -EINVAL, "a parameter is not UTF-8, or there are too many") : rc;
}

struct bf_decl_type *bf_decls_type(const struct bf_decls *d, uint16_t id)
{
	const uint32_t place = bf_numbering_find(&d->type_places, id);
	return place ? d->types[place - 1] : NULL;
}

struct bf_decl_type *bf_decls_type_named(const struct bf_decls *d, const char *name)
{
	for (size_t i = 0; i < d->ntypes; i++) {
		if (!strcmp(d->types[i]->schema.name, name))
			return d->types[i];
	}
	return NULL;
}

struct bf_decl_actor *bf_decls_actor(const struct bf_decls *d, uint32_t number)
{
	const uint32_t place = bf_numbering_find(&d->actor_places, number);
	return place ? d->actors[place - 1] : NULL;
}

struct bf_decl_meta *bf_decls_meta(const struct bf_decls *d, const char *key)
{
	for (size_t i = 0; i < d->nmetas; i++) {
		if (!strcmp(d->metas[i]->entry.key, key))
			return d->metas[i];
	}
	return NULL;
}

void bf_decls_free(struct bf_decls *d)
{
	for (size_t i = 0; i < d->ntypes; i++)
		free(d->types[i]);
	for (size_t i = 0; i < d->nactors; i++)
		free(d->actors[i]);
	for (size_t i = 0; i < d->nmetas; i++)
		free(d->metas[i]);
	free(d->types);
	free(d->actors);
	free(d->metas);
	bf_numbering_free(&d->type_places);
	bf_numbering_free(&d->actor_places);
}

int bf_decls_record(const struct bf_decls *d, const uint8_t *bytes, size_t len, struct bf_trace_record *rec,
		    struct bf_error *err)
{
	struct bf_rec_header head;
	if (len < sizeof(head))
		return bf_fail(err, -EBADMSG, "%zu bytes are too short for a record", len);
	memcpy(&head, bytes, sizeof(head));
	size_t span = bf_record_span(&head);
	if (head.tail > BF_RECORD_TAIL_MAX || span > len)
		return bf_fail(err, -EBADMSG, "a record of %zu bytes in %zu", span, len);
	const struct bf_decl_type *type = bf_decls_type(d, head.type);
	if (!type)
		return bf_fail(err, -EBADMSG, "a record of type %u, which is not declared", head.type);
	if (head.fixed != type->schema.size)
		return bf_fail(err, -EBADMSG, "a record of type \"%s\" with %u bytes instead of %u", type->schema.name,
			       head.fixed, type->schema.size);
	if (head.actor && !bf_decls_actor(d, head.actor))
		return bf_fail(err, -EBADMSG, "a record of actor %u, which is not declared", head.actor);
	size_t used = sizeof(head) + head.fixed + head.tail;
	bool clean = !head.reserved;
	while (used < span)
		clean &= !bytes[used++];
	if (!clean)
		return bf_fail(err, -EBADMSG, "a record with reserved bytes that are not zero");
	*rec = (struct bf_trace_record){
		.time_ps = head.time_ps,
		.actor = head.actor,
		.type = &type->schema,
		.fixed = bytes + sizeof(head),
		.tail = bytes + sizeof(head) + head.fixed,
		.tail_len = head.tail,
		.raw = bytes,
		.raw_len = span,
	};
	return 0;
}
