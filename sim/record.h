/*
 * The record stream: everything that happens, as typed records with their schema as data.
 *
 * A record is a fixed little-endian struct (its type's schema names each field, its kind and unit) plus an optional
 * tail of raw bytes (a WQE, a packet). Emitting is off by default: a probe is one load and one predicted branch
 * (bf_probe()). When on, records go to a sink (the trace writer, a rule engine, both) and into a rolling hash; the hash
 * depends on the records alone, never on addresses or on how they are buffered. One thread per stream.
 *
 * A type is stated once, in a .def file of its module:
 *
 *   BF_NAMES(dma_status, (BF_DMA_DONE, 0, "done"), (BF_DMA_FAULT, 1, "fault"))
 *
 *   BF_RECORD(dma_read, 12, DMA, none,
 *           (u64, iova, HEX),
 *           (u32, len, DEC, "B"),
 *           (u8, status, NAMES, dma_status),
 *           (u8, last, ENUM, "0=no;1=yes"),
 *           (u16, reserved, PAD))
 *
 * A record has a name, a number, a class (here BF_CLASS_DMA), the queue that it is about, and fields: type, name, kind
 * and, where there is one, the unit. The queue is `actor`, when the record's actor is one, or the field that holds its
 * number, or `none`. Kinds are those of enum bf_field_kind, and PAD: a number that is always 0. Values that code knows
 * by name have a list BF_NAMES: it becomes enum bf_dma_status and the texts; BF_TEXTS(), in the same form, gives
 * texts alone to constants that stand elsewhere: the .c file includes their header, and they must agree.
 *
 * A header makes of the file struct bf_rec_dma_read and a declaration of bf_rec_dma_read_schema; a .c file defines it:
 *
 *   #define BF_RECORDS_DEF "models/x/records.def"
 *   #include "sim/record_declare.h"                   in the .c file: "sim/record_define.h", behind the header
 *
 * traces/records/all.def lists all .def files: two types with one number, or a file that it lacks, do not build.
 *
 * Emitting: BF_EMIT(sim, port->actor, dma_read, .iova = iova, .len = len). If no sink wants the record, not even its
 * fields are computed.
 */
#ifndef BELFRY_SIM_RECORD_H
#define BELFRY_SIM_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/compiler.h"
#include "sim/each.h"
#include "sim/error.h"

BF_API_BEGIN

/* Classes of records, to switch on in groups. */
#define BF_CLASS_META (1u << 0)   /* names of actors, run parameters, verdicts */
#define BF_CLASS_AGENT (1u << 1)  /* agents start, sleep, wake, end; deadlock */
#define BF_CLASS_MEM (1u << 2)    /* stores, loads, fences, atomics of drivers; when a store became visible */
#define BF_CLASS_MMIO (1u << 3)   /* doorbells */
#define BF_CLASS_DMA (1u << 4)    /* DMA reads, writes, translation faults */
#define BF_CLASS_QUEUE (1u << 5)  /* entries fetched, decoded, executed, completions */
#define BF_CLASS_NET (1u << 6)    /* packets */
#define BF_CLASS_FAULT (1u << 7)  /* injected faults, error states */
#define BF_CLASS_DRIVER (1u << 8) /* what the driver says of itself: reserve, publish, poll, return */
#define BF_CLASS_WHERE (1u << 9)  /* where in its code a driver made an access; differs from build to build */
#define BF_CLASS_ALL (~BF_CLASS_WHERE)

enum bf_field_kind {
	BF_FIELD_DEC = 1, /* unsigned decimal */
	BF_FIELD_INT,     /* signed decimal */
	BF_FIELD_HEX,     /* hexadecimal */
	BF_FIELD_TIME,    /* picoseconds */
	BF_FIELD_TEXT,    /* char[n], NUL-padded */
	BF_FIELD_ENUM,    /* index into the type's enum names, see struct bf_rec_field.names */
};

struct bf_rec_field {
	const char *name;
	const char *unit;
	const char *names; /* BF_FIELD_ENUM: "0=NOP;8=RDMA_WRITE;..." ; NULL otherwise */
	uint16_t offset;
	uint16_t size;
	uint8_t kind;
};

struct bf_rec_schema {
	const char *name;
	const struct bf_rec_field *fields;
	uint16_t id;
	uint16_t nfields;
	uint16_t size; /* of the fixed part */
	uint32_t class_;
};

/* What precedes every record. Little-endian in files as in memory. */
struct bf_rec_header {
	uint64_t time_ps;
	uint32_t actor; /* number from bf_stream_actor(), 0 = none */
	uint16_t type;
	uint16_t fixed; /* bytes of the fixed part */
	uint32_t tail;  /* bytes of the tail */
	uint32_t reserved;
};
BF_STATIC_ASSERT(sizeof(struct bf_rec_header) == 24, "record header");

/* Type numbers are below this. */
#define BF_RECORD_TYPES 1024u

struct bf_stream;
struct bf_sink;
typedef int bf_take_fn(struct bf_sink *s, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		       const void *fixed, const void *tail);

/*
 * Where records go. `write` gets whole records, back to back, each 8-byte aligned and padded with zeros to 8 bytes; it
 * is called when the stream's buffer fills and on flush. `declare` is called once per schema and per actor before the
 * first record that needs it. Neither may emit records. Errors are negative errno and switch the stream off; the first
 * one is kept in stream->status.
 */
struct bf_sink {
	int (*declare_type)(struct bf_sink *s, const struct bf_rec_schema *schema);
	int (*declare_actor)(struct bf_sink *s, uint32_t actor, const char *kind, const char *name);
	int (*write)(struct bf_sink *s, const void *records, size_t len);
	/*
	 * NULL, or the sink is choosy: BF_RECORD_TYPES functions, one for each type number, which records of the type
	 * get as they are made, in place of `write`. The bytes may be read during the call only.
	 * NULL: they are dropped. Types are not declared, since each record comes with its own, and nothing is hashed.
	 * The sink may change the functions at any time.
	 */
	bf_take_fn *const *take;
};

/* A declare_actor() for sinks that do not care whose a record is. */
static inline int bf_sink_ignore_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	(void)s;
	(void)actor;
	(void)kind;
	(void)name;
	return 0;
}

/* Fields belong to record.c except `mask`, which probes read. */
struct bf_stream {
	uint32_t mask; /* BF_CLASS_* that are wanted; 0 = off */
	int status;
	const uint64_t *clock_ps;
	uint8_t *buf;
	size_t used, cap;
	uint64_t hash;  /* chain over the flushed records */
	uint64_t decls; /* sum over the declarations */
	uint64_t count;
	struct bf_sink *sink;
	bf_take_fn *const *take; /* the sink's */
	struct bf_actor *actors;
	struct bf_actor_text *texts;
	uint32_t nactors, actors_cap;
	bool nameless;                         /* an actor could not be kept: its records have no name */
	uint8_t declared[BF_RECORD_TYPES / 8]; /* bit per type number */
};

/* True when some class in `classes` is wanted. */
#define bf_probe(sim, classes) BF_UNLIKELY(((sim)->rec.mask & (classes)) != 0)

/* The same for records of type `type`: false, too, when the sink does not want it. */
#define bf_probe_type(sim, type) (bf_probe(sim, BF_REC_CLASS_##type) && bf_stream_wants(&(sim)->rec, BF_REC_ID_##type))
static inline bool bf_stream_wants(const struct bf_stream *st, uint32_t type)
{
	return !st->take || st->take[type];
}

/*
 * Switches the stream on for `mask`. `clock_ps` is read for each record's time. `sink` may be NULL: then only the hash
 * and the count are kept. Borrowed until bf_stream_close(). Returns 0, -ENOMEM, or what the sink said; then it is off.
 */
int bf_stream_open(struct bf_stream *st, const uint64_t *clock_ps, uint32_t mask, struct bf_sink *sink);

/* Flushes and switches off. Returns the first error of the sink, if any. Hash and count stay readable. */
int bf_stream_close(struct bf_stream *st);
int bf_stream_flush(struct bf_stream *st);
void bf_stream_fini(struct bf_stream *st);

/*
 * Gives the actor called `name` (copied) of kind `kind` ("agent", "device", "queue", "link"; copied) its number, from
 * 1 up in order of the calls. Works with the stream off, so numbers do not depend on tracing. 0 on lack of memory.
 */
uint32_t bf_stream_actor(struct bf_stream *st, const char *kind, const char *name);
const char *bf_stream_actor_name(const struct bf_stream *st, uint32_t actor);

/* A tail may be this long; a longer one fails the stream with -EMSGSIZE. */
#define BF_RECORD_TAIL_MAX (16u << 20)

/*
 * Appends a record (unchecked against the mask: probe first). `tail` may be NULL when `tail_len` is 0. On a stream that
 * is off the record is dropped. The tail follows the fixed part without a gap.
 */
void bf_record(struct bf_stream *st, const struct bf_rec_schema *schema, uint32_t actor, const void *fixed,
	       const void *tail, uint32_t tail_len);

/*
 * Emits a record of type `type` by `actor`, with 0 in fields that are not named, if a sink wants it. `sim` has the
 * stream (sim->rec). BF_EMIT_TAIL(): with `len` bytes at `bytes` for its tail. BF_EMIT_MADE(): a struct bf_rec_<type>
 * that the caller has filled in, and has probed for.
 */
#define BF_EMIT(sim, actor, type, ...) BF_EMIT_TAIL(sim, actor, type, NULL, 0, __VA_ARGS__)
#define BF_EMIT_TAIL(sim, actor, type, bytes, len, ...)                                                                \
	do {                                                                                                           \
		if (bf_probe_type(sim, type)) {                                                                        \
			const struct bf_rec_##type emit_ = { __VA_ARGS__ };                                            \
			BF_EMIT_MADE(sim, actor, type, emit_, bytes, len);                                             \
		}                                                                                                      \
	} while (0)
#define BF_EMIT_MADE(sim, actor, type, made, bytes, len)                                                               \
	bf_record(&(sim)->rec, &bf_rec_##type##_schema, actor, &(made), bytes, len)

/*
 * Hash of everything emitted so far: 64 bits, equal for equal record sequences and declarations. Covers the padded
 * bytes of each record in order, and each type used and each actor once, whenever it was declared. docs/trace-format.md
 * gives the function, for those who recompute it from a file. 0 when the sink wants some types only.
 */
uint64_t bf_stream_hash(const struct bf_stream *st);

/* The parts of that hash, for readers of records: a chain over the records, a plain sum over the declarations. */
#define BF_HASH_START 0x6265726c66727931ull
uint64_t bf_hash_records(uint64_t chain, const void *records, size_t len);
uint64_t bf_hash_declaration(const void *block, size_t len);
uint64_t bf_hash_finish(uint64_t chain, uint64_t decls);

/* A fold of any bytes into 64 bits; the step that the hash of a record is made of. Not for hostile input. */
uint64_t bf_hash_bytes(const void *bytes, size_t len);

/* Bytes that a record takes in a buffer of records. */
static inline size_t bf_record_span(const struct bf_rec_header *head)
{
	return (sizeof(*head) + head->fixed + (size_t)head->tail + 7) & ~(size_t)7;
}

/*
 * Declarations as bytes: what the hash covers and what trace files hold. A block is its tag and the length of its body,
 * 4 bytes each, the body, and zeros up to a multiple of 8. Both functions return the size of the block and write it
 * when it fits into `cap`; 0 when a text is longer than 65535 bytes.
 */
#define BF_BLOCK_TYPE 1u
#define BF_BLOCK_ACTOR 2u
size_t bf_type_block(const struct bf_rec_schema *schema, uint8_t *out, size_t cap);
size_t bf_actor_block(uint32_t actor, const char *kind, const char *name, uint8_t *out, size_t cap);

/* The field called `name`, NULL if the schema has none. Look it up once, outside loops. */
const struct bf_rec_field *bf_schema_field(const struct bf_rec_schema *schema, const char *name);

/* The value of an integer field in a fixed part; BF_FIELD_INT is sign-extended. 0 for BF_FIELD_TEXT. */
uint64_t bf_field_u64(const struct bf_rec_field *field, const void *fixed);

/* The name of `value` in a BF_FIELD_ENUM field: not NUL-terminated, `*len` bytes; NULL if it has none. */
const char *bf_field_enum_name(const struct bf_rec_field *field, uint64_t value, size_t *len);

/* A sink that hands everything to two others, `a` first. Stops at the first error. Both are borrowed. */
struct bf_sink_tee {
	struct bf_sink sink;
	struct bf_sink *a, *b;
};
void bf_sink_tee_init(struct bf_sink_tee *tee, struct bf_sink *a, struct bf_sink *b);

/* Types of fields. Texts are padded with zeros. */
typedef uint8_t bf_ft_u8;
typedef uint16_t bf_ft_u16;
typedef uint32_t bf_ft_u32;
typedef uint64_t bf_ft_u64;
typedef int32_t bf_ft_i32;
typedef int64_t bf_ft_i64;
typedef char bf_ft_text16[16];
typedef char bf_ft_text32[32];

/* The struct and the numbers of a type. Its fields must stand widest first, so that it has no padding. */
#define BF_RECORD_DECLARE(rec, number, cls, ...)                                                                       \
	struct bf_rec_##rec {                                                                                          \
		BF_EACH(BF_RECORD_MEMBER_, rec, __VA_ARGS__)                                                           \
	};                                                                                                             \
	BF_STATIC_ASSERT(sizeof(struct bf_rec_##rec) == 0 BF_EACH(BF_RECORD_SIZE_, rec, __VA_ARGS__),                  \
			 #rec " has padding");                                                                         \
	BF_STATIC_ASSERT((number) < BF_RECORD_TYPES, #rec ": the number is too high");                                 \
	enum { BF_REC_ID_##rec = (number), BF_REC_CLASS_##rec = (int)(cls) };                                          \
	extern const struct bf_rec_schema bf_rec_##rec##_schema

#define BF_RECORD_MEMBER_(rec, field) BF_RECORD_MEMBER_OF_(BF_BARE field)
#define BF_RECORD_MEMBER_OF_(...) BF_RECORD_MEMBER_BY_(__VA_ARGS__)
#define BF_RECORD_MEMBER_BY_(type, name, ...) bf_ft_##type name;
#define BF_RECORD_SIZE_(rec, field) BF_RECORD_SIZE_OF_(BF_BARE field)
#define BF_RECORD_SIZE_OF_(...) BF_RECORD_SIZE_BY_(__VA_ARGS__)
#define BF_RECORD_SIZE_BY_(type, ...) +sizeof(bf_ft_##type)

/* The schema, with the same fields. */
#define BF_RECORD_DEFINE(rec, ...)                                                                                     \
	static const struct bf_rec_field bf_rec_##rec##_fields_[] = { BF_EACH(BF_RECORD_ROW_, rec, __VA_ARGS__) };     \
	const struct bf_rec_schema bf_rec_##rec##_schema = {                                                           \
		.name = #rec,                                                                                          \
		.fields = bf_rec_##rec##_fields_,                                                                      \
		.id = BF_REC_ID_##rec,                                                                                 \
		.nfields = BF_ARRAY_LEN(bf_rec_##rec##_fields_),                                                       \
		.size = sizeof(struct bf_rec_##rec),                                                                   \
		.class_ = (uint32_t)BF_REC_CLASS_##rec,                                                                \
	}

#define BF_RECORD_ROW_(rec, field) BF_RECORD_ROW_OF_(rec, BF_BARE field)
#define BF_RECORD_ROW_OF_(...) BF_RECORD_ROW_BY_(__VA_ARGS__)
#define BF_RECORD_ROW_BY_(rec, type, fname, ...)                                                                       \
	{ .name = #fname,                                                                                              \
	  .offset = offsetof(struct bf_rec_##rec, fname),                                                              \
	  .size = sizeof(bf_ft_##type),                                                                                \
	  BF_RECORD_KIND_(__VA_ARGS__, "") },
#define BF_RECORD_KIND_(kind, ...) BF_RECORD_KIND_##kind##_(__VA_ARGS__, "")
#define BF_RECORD_KIND_DEC_(u, ...) .unit = (u), .kind = BF_FIELD_DEC
#define BF_RECORD_KIND_INT_(u, ...) .unit = (u), .kind = BF_FIELD_INT
#define BF_RECORD_KIND_HEX_(u, ...) .unit = (u), .kind = BF_FIELD_HEX
#define BF_RECORD_KIND_TIME_(u, ...) .unit = (u), .kind = BF_FIELD_TIME
#define BF_RECORD_KIND_TEXT_(u, ...) .unit = (u), .kind = BF_FIELD_TEXT
#define BF_RECORD_KIND_PAD_(u, ...) .unit = (u), .kind = BF_FIELD_DEC
#define BF_RECORD_KIND_ENUM_(texts, ...) .unit = "", .names = (texts), .kind = BF_FIELD_ENUM
#define BF_RECORD_KIND_NAMES_(list, ...) .unit = "", .names = bf_names_##list, .kind = BF_FIELD_ENUM

/* Named values: an enumeration, and their texts as the schema has them. */
#define BF_NAMES_DECLARE(list, ...)                                                                                    \
	enum bf_##list{ BF_EACH(BF_NAMES_VALUE_, list, __VA_ARGS__) };                                                 \
	extern const char bf_names_##list[]
#define BF_NAMES_DEFINE(list, first, ...)                                                                              \
	const char bf_names_##list[] = BF_NAMES_TEXT_OF_(BF_BARE first) BF_EACH(BF_NAMES_TEXT_, list, __VA_ARGS__)

#define BF_TEXTS_DEFINE(list, ...)                                                                                     \
	BF_EACH(BF_TEXTS_AGREE_, list, __VA_ARGS__)                                                                    \
	BF_NAMES_DEFINE(list, __VA_ARGS__)
#define BF_TEXTS_AGREE_(list, value) BF_TEXTS_AGREE_OF_(BF_BARE value)
#define BF_TEXTS_AGREE_OF_(...) BF_TEXTS_AGREE_BY_(__VA_ARGS__)
#define BF_TEXTS_AGREE_BY_(constant, number, text) BF_STATIC_ASSERT((constant) == (number), #constant);

#define BF_NAMES_VALUE_(list, value) BF_NAMES_VALUE_OF_(BF_BARE value)
#define BF_NAMES_VALUE_OF_(...) BF_NAMES_VALUE_BY_(__VA_ARGS__)
#define BF_NAMES_VALUE_BY_(constant, number, text) constant = (number),
#define BF_NAMES_TEXT_(list, value) ";" BF_NAMES_TEXT_OF_(BF_BARE value)
#define BF_NAMES_TEXT_OF_(...) BF_NAMES_TEXT_BY_(__VA_ARGS__)
#define BF_NAMES_TEXT_BY_(constant, number, text) #number "=" text

BF_API_END

#endif
