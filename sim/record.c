/* The record stream: actors, declarations, the buffer of records, the hash, sinks. */
#include "sim/record.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/grow.h"

/* Small enough to leave most of a first-level cache to the simulation, large enough to make a flush rare. */
#define BUFFER_SIZE (16u << 10)

struct bf_actor {
	const char *kind; /* the name follows it */
};

/* Texts of actors, of which there are three for each queue pair of a large job. */
struct bf_actor_text {
	struct bf_actor_text *next;
	size_t used, size;
	char bytes[];
};
#define TEXT_BLOCK 4096u

static const char *name_of(const struct bf_actor *actor)
{
	return actor->kind + strlen(actor->kind) + 1;
}

/*
 * The hash. A record's words are taken in pairs; the two keys of a pair depend on its place, so the products do not
 * depend on each other and a processor works on several at once. Records are then chained by a step that is a
 * bijection of either input, so nothing that was said is ever lost from the chain.
 */
#define KEY_A 0x9e3779b97f4a7c15ull
#define KEY_B 0xd1b54a32d192ed03ull
#define KEY_C 0x8bb84b93962eacc9ull

__extension__ typedef unsigned __int128 wide;

static inline uint64_t fold(uint64_t x, uint64_t y)
{
	wide product = (wide)x * y;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_words(const uint8_t *p, size_t len)
{
	uint64_t a = KEY_A, b = KEY_B, sum = 0;
	for (; len >= 16; len -= 16, p += 16) {
		sum += fold(bf_get_le64(p) ^ a, bf_get_le64(p + 8) ^ b);
		a += KEY_A;
		b += KEY_B;
	}
	if (len)
		sum += fold(bf_get_le64(p) ^ a, b);
	return sum;
}

static inline uint64_t scramble(uint64_t x)
{
	x = (x ^ (x >> 32)) * KEY_C;
	x = (x ^ (x >> 29)) * KEY_A;
	return x ^ (x >> 32);
}

uint64_t bf_hash_bytes(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	size_t whole = len & ~(size_t)15;
	uint8_t last[16] = { 0 };
	uint64_t place = whole / 16 + 1;
	if (len > whole)
		memcpy(last, p + whole, len - whole);
	uint64_t sum = hash_words(p, whole);
	sum += fold(bf_get_le64(last) ^ (place * KEY_A), bf_get_le64(last + 8) ^ (place * KEY_B));
	return scramble(sum + len * KEY_C);
}

uint64_t bf_hash_records(uint64_t chain, const void *records, size_t len)
{
	const uint8_t *p = records;
	for (size_t at = 0, span; at < len; at += span) {
		struct bf_rec_header head;
		memcpy(&head, p + at, sizeof(head));
		span = bf_record_span(&head);
		chain = (((chain << 29) | (chain >> 35)) ^ hash_words(p + at, span)) * KEY_C;
	}
	return chain;
}

uint64_t bf_hash_declaration(const void *block, size_t len)
{
	return scramble(hash_words(block, len));
}

uint64_t bf_hash_finish(uint64_t chain, uint64_t decls)
{
	return scramble(chain ^ decls);
}

uint64_t bf_stream_hash(const struct bf_stream *st)
{
	if (st->take)
		return 0;
	return bf_hash_finish(bf_hash_records(st->hash, st->buf, st->used), st->decls);
}

/* Declarations as bytes. */

struct encoder {
	uint8_t *out;
	size_t cap, len;
	bool too_long;
};

static void put(struct encoder *e, const void *bytes, size_t n)
{
	if (n && e->len + n <= e->cap)
		memcpy(e->out + e->len, bytes, n);
	e->len += n;
}

static void put16(struct encoder *e, uint16_t v)
{
	put(e, &v, sizeof(v));
}

static void put32(struct encoder *e, uint32_t v)
{
	put(e, &v, sizeof(v));
}

static void put_text(struct encoder *e, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	if (n > UINT16_MAX) {
		e->too_long = true;
		n = UINT16_MAX;
	}
	put16(e, (uint16_t)n);
	put(e, text, n);
}

static size_t end_block(struct encoder *e)
{
	static const uint8_t zeros[8];
	size_t body = e->len - 8;
	put(e, zeros, -e->len & 7);
	if (e->too_long)
		return 0;
	if (e->cap >= 8)
		bf_put_le32(e->out + 4, (uint32_t)body);
	return e->len;
}

size_t bf_type_block(const struct bf_rec_schema *schema, uint8_t *out, size_t cap)
{
	struct encoder e = { .out = out, .cap = cap };
	put32(&e, BF_BLOCK_TYPE);
	put32(&e, 0);
	put16(&e, schema->id);
	put16(&e, schema->size);
	put32(&e, schema->class_);
	put16(&e, schema->nfields);
	put_text(&e, schema->name);
	for (unsigned i = 0; i < schema->nfields; i++) {
		const struct bf_rec_field *f = &schema->fields[i];
		put16(&e, f->offset);
		put16(&e, f->size);
		put16(&e, f->kind);
		put_text(&e, f->name);
		put_text(&e, f->unit);
		put_text(&e, f->names);
	}
	return end_block(&e);
}

size_t bf_actor_block(uint32_t actor, const char *kind, const char *name, uint8_t *out, size_t cap)
{
	struct encoder e = { .out = out, .cap = cap };
	put32(&e, BF_BLOCK_ACTOR);
	put32(&e, 0);
	put32(&e, actor);
	put_text(&e, kind);
	put_text(&e, name);
	return end_block(&e);
}

/* No type is wanted of a stream that is off. One without a choosy sink has no room left instead. */
static void want_nothing(struct bf_stream *st)
{
	static bf_take_fn *const none[BF_RECORD_TYPES];

	if (st->take)
		st->take = none;
}

/* Keeps the first error and switches the stream off; records are dropped from here on. */
static int fail(struct bf_stream *st, int status)
{
	if (!st->status)
		st->status = status;
	st->mask = 0;
	st->cap = st->used;
	want_nothing(st);
	return status;
}

static int declare_type(struct bf_stream *st, const struct bf_rec_schema *schema)
{
	assert(schema->id < BF_RECORD_TYPES);
	size_t len = bf_type_block(schema, NULL, 0);
	if (!len)
		return -EMSGSIZE;
	uint8_t *block = malloc(len);
	if (!block)
		return -ENOMEM;
	bf_type_block(schema, block, len);
	st->decls += bf_hash_declaration(block, len);
	free(block);
	st->declared[schema->id / 8] |= (uint8_t)(1u << (schema->id % 8));
	return st->sink ? st->sink->declare_type(st->sink, schema) : 0;
}

static int declare_actor(struct bf_stream *st, uint32_t number, const struct bf_actor *actor)
{
	size_t len = bf_actor_block(number, actor->kind, name_of(actor), NULL, 0);
	if (!len)
		return -EMSGSIZE;
	uint8_t *block = malloc(len);
	if (!block)
		return -ENOMEM;
	bf_actor_block(number, actor->kind, name_of(actor), block, len);
	st->decls += bf_hash_declaration(block, len);
	free(block);
	return st->sink ? st->sink->declare_actor(st->sink, number, actor->kind, name_of(actor)) : 0;
}

/* Switching on and off. */

int bf_stream_open(struct bf_stream *st, const uint64_t *clock_ps, uint32_t mask, struct bf_sink *sink)
{
	assert(!st->buf);
	st->buf = malloc(BUFFER_SIZE);
	if (!st->buf)
		return -ENOMEM;
	st->status = 0;
	st->clock_ps = clock_ps;
	st->cap = BUFFER_SIZE;
	st->used = 0;
	st->hash = BF_HASH_START;
	st->decls = 0;
	st->count = 0;
	st->sink = sink;
	st->take = sink ? sink->take : NULL;
	st->mask = mask;
	memset(st->declared, 0, sizeof(st->declared));
	for (uint32_t i = 0; i < st->nactors && !st->status; i++) {
		int rc = declare_actor(st, i + 1, &st->actors[i]);
		if (rc)
			fail(st, rc);
	}
	if (st->status)
		bf_stream_close(st);
	return st->status;
}

int bf_stream_flush(struct bf_stream *st)
{
	if (st->nameless && st->buf && !st->status)
		fail(st, -ENOMEM);
	if (!st->used)
		return st->status;
	st->hash = bf_hash_records(st->hash, st->buf, st->used);
	size_t len = st->used;
	st->used = 0;
	if (st->status) {
		st->cap = 0;
		return st->status;
	}
	int rc = st->sink ? st->sink->write(st->sink, st->buf, len) : 0;
	return rc ? fail(st, rc) : 0;
}

int bf_stream_close(struct bf_stream *st)
{
	bf_stream_flush(st);
	st->mask = 0;
	st->sink = NULL;
	want_nothing(st);
	free(st->buf);
	st->buf = NULL;
	st->cap = 0;
	return st->status;
}

void bf_stream_fini(struct bf_stream *st)
{
	free(st->buf);
	while (st->texts) {
		struct bf_actor_text *text = st->texts;

		st->texts = text->next;
		free(text);
	}
	free(st->actors);
	*st = (struct bf_stream){ 0 };
}

/* Kind and name, one behind the other; NULL on lack of memory. */
static const char *keep_text(struct bf_stream *st, const char *kind, const char *name)
{
	const size_t kind_size = strlen(kind) + 1, name_size = strlen(name) + 1, len = kind_size + name_size;
	struct bf_actor_text *block = st->texts;
	char *text;

	if (!block || len > block->size - block->used) {
		const size_t size = len > TEXT_BLOCK ? len : TEXT_BLOCK;

		block = malloc(sizeof(*block) + size);
		if (!block)
			return NULL;
		*block = (struct bf_actor_text){ .next = st->texts, .size = size };
		st->texts = block;
	}
	text = block->bytes + block->used;
	block->used += len;
	memcpy(text, kind, kind_size);
	memcpy(text + kind_size, name, name_size);
	return text;
}

uint32_t bf_stream_actor(struct bf_stream *st, const char *kind, const char *name)
{
	if (BF_GROW(st->actors, st->actors_cap, st->nactors + 1))
		return st->nameless = true, 0;
	const char *text = keep_text(st, kind, name);
	if (!text)
		return st->nameless = true, 0;
	struct bf_actor *actor = &st->actors[st->nactors++];
	*actor = (struct bf_actor){ .kind = text };
	if (st->buf && !st->status) {
		int rc = declare_actor(st, st->nactors, actor);
		if (rc)
			fail(st, rc);
	}
	return st->nactors;
}

const char *bf_stream_actor_name(const struct bf_stream *st, uint32_t actor)
{
	return actor && actor <= st->nactors ? name_of(&st->actors[actor - 1]) : "-";
}

/* Recording. */

/* Room for `span` bytes, and the type declared. False: drop the record. */
static BF_NOINLINE bool make_ready(struct bf_stream *st, const struct bf_rec_schema *schema, uint32_t tail_len,
				   size_t span)
{
	if (!st->buf || st->status)
		return false;
	if (tail_len > BF_RECORD_TAIL_MAX) {
		bf_stream_flush(st); /* what came before is good */
		return fail(st, -EMSGSIZE), false;
	}
	if (!(st->declared[schema->id / 8] & (1u << (schema->id % 8)))) {
		int rc = declare_type(st, schema);
		if (rc)
			return fail(st, rc), false;
	}
	if (span <= st->cap - st->used)
		return true;
	if (bf_stream_flush(st))
		return false;
	if (span > st->cap) {
		uint8_t *more = realloc(st->buf, span);
		if (!more)
			return fail(st, -ENOMEM), false;
		st->buf = more;
		st->cap = span;
	}
	return true;
}

/* memcpy() of a length that is small and unknown costs a call; most fixed parts are a few words. */
static inline void copy_small(uint8_t *to, const uint8_t *from, size_t len)
{
	if (len < 8 || len > 64) {
		memcpy(to, from, len);
		return;
	}
	for (size_t i = 0; i < len - 8; i += 8)
		bf_put_le64(to + i, bf_get_le64(from + i));
	bf_put_le64(to + len - 8, bf_get_le64(from + len - 8));
}

/* To a sink that is choosy. */
static BF_NOINLINE void hand_over(struct bf_stream *st, const struct bf_rec_schema *schema, uint32_t actor,
				  const void *fixed, const void *tail, uint32_t tail_len)
{
	bf_take_fn *const take = st->take[schema->id];
	struct bf_rec_header head;
	int rc;

	if (!take)
		return;
	head = (struct bf_rec_header){
		.time_ps = *st->clock_ps, .actor = actor, .type = schema->id, .fixed = schema->size, .tail = tail_len
	};
	st->count++;
	rc = tail_len > BF_RECORD_TAIL_MAX ? -EMSGSIZE : take(st->sink, schema, &head, fixed, tail);
	if (BF_UNLIKELY(rc != 0))
		fail(st, rc);
}

static BF_NOINLINE void append(struct bf_stream *st, const struct bf_rec_schema *schema, uint32_t actor,
			       const void *fixed, const void *tail, uint32_t tail_len)
{
	size_t span = (sizeof(struct bf_rec_header) + schema->size + (size_t)tail_len + 7) & ~(size_t)7;
	if (BF_UNLIKELY(span > st->cap - st->used || !(st->declared[schema->id / 8] & (1u << (schema->id % 8)))) &&
	    !make_ready(st, schema, tail_len, span))
		return;
	uint8_t *p = st->buf + st->used;
	bf_put_le64(p + span - 8, 0); /* the padding, before what may overlap it */
	/* struct bf_rec_header by words: narrow stores that are soon read as words stall the processor. */
	bf_put_le64(p, *st->clock_ps);
	bf_put_le64(p + 8, actor | (uint64_t)schema->id << 32 | (uint64_t)schema->size << 48);
	bf_put_le64(p + 16, tail_len);
	copy_small(p + sizeof(struct bf_rec_header), fixed, schema->size);
	if (tail_len)
		memcpy(p + sizeof(struct bf_rec_header) + schema->size, tail, tail_len);
	st->used += span;
	st->count++;
}

void bf_record(struct bf_stream *st, const struct bf_rec_schema *schema, uint32_t actor, const void *fixed,
	       const void *tail, uint32_t tail_len)
{
	if (st->take)
		hand_over(st, schema, actor, fixed, tail, tail_len);
	else
		append(st, schema, actor, fixed, tail, tail_len);
}

/* Reading records by their schema. */

const struct bf_rec_field *bf_schema_field(const struct bf_rec_schema *schema, const char *name)
{
	for (unsigned i = 0; i < schema->nfields; i++) {
		if (!strcmp(schema->fields[i].name, name))
			return &schema->fields[i];
	}
	return NULL;
}

uint64_t bf_field_u64(const struct bf_rec_field *field, const void *fixed)
{
	if (field->kind == BF_FIELD_TEXT || field->size > 8)
		return 0;
	uint64_t v = 0;
	memcpy(&v, (const uint8_t *)fixed + field->offset, field->size);
	if (field->kind == BF_FIELD_INT && field->size < 8 && v >> (field->size * 8 - 1))
		v |= ~0ull << (field->size * 8);
	return v;
}

const char *bf_field_enum_name(const struct bf_rec_field *field, uint64_t value, size_t *len)
{
	const char *p = field->kind == BF_FIELD_ENUM && field->names ? field->names : "";
	while (*p) {
		char *name;
		unsigned long long number = strtoull(p, &name, 0);
		size_t item = strcspn(p, ";");
		if (name > p && *name == '=' && number == value) {
			*len = item - (size_t)(name + 1 - p);
			return name + 1;
		}
		p += item + (p[item] == ';');
	}
	return NULL;
}

/* The tee. */

static int tee_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	struct bf_sink_tee *tee = BF_CONTAINER_OF(s, struct bf_sink_tee, sink);
	int rc = tee->a->declare_type(tee->a, schema);
	return rc ? rc : tee->b->declare_type(tee->b, schema);
}

static int tee_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	struct bf_sink_tee *tee = BF_CONTAINER_OF(s, struct bf_sink_tee, sink);
	int rc = tee->a->declare_actor(tee->a, actor, kind, name);
	return rc ? rc : tee->b->declare_actor(tee->b, actor, kind, name);
}

static int tee_write(struct bf_sink *s, const void *records, size_t len)
{
	struct bf_sink_tee *tee = BF_CONTAINER_OF(s, struct bf_sink_tee, sink);
	int rc = tee->a->write(tee->a, records, len);
	return rc ? rc : tee->b->write(tee->b, records, len);
}

void bf_sink_tee_init(struct bf_sink_tee *tee, struct bf_sink *a, struct bf_sink *b)
{
	*tee = (struct bf_sink_tee){
		.sink = { .declare_type = tee_type, .declare_actor = tee_actor, .write = tee_write },
		.a = a,
		.b = b,
	};
}
