/* What reader, writer and the JSON Lines form share: the layout of the binary form, declarations, chunks. */
#ifndef BELFRY_TRACES_CONTAINER_TRACE_INTERNAL_H
#define BELFRY_TRACES_CONTAINER_TRACE_INTERNAL_H

#include "sim/bytes.h"
#include "traces/container/numbering_internal.h"
#include "traces/container/trace.h"

/* The layout. docs/trace-format.md describes it. */

#define BF_TRACE_MAGIC                                                                                                 \
	"\x89"                                                                                                         \
	"BFT\r\n\x1a\n"
#define BF_CHUNK_MAGIC                                                                                                 \
	"\xb5"                                                                                                         \
	"bfchk\r\n"
#define BF_TRAILER_MAGIC                                                                                               \
	"\xb5"                                                                                                         \
	"bfend\r\n"
#define BF_TRACE_MAJOR 1
#define BF_TRACE_MINOR 0

struct bf_file_header {
	uint8_t magic[8];
	struct bf_le16 major;
	struct bf_le16 minor;
	struct bf_le32 size; /* of this header; the first chunk follows */
	struct bf_le64 reserved;
};
BF_STATIC_ASSERT(sizeof(struct bf_file_header) == 24, "file header");

enum bf_chunk_kind { BF_CHUNK_DATA = 1, BF_CHUNK_FOOTER = 2 };
enum bf_chunk_codec { BF_CODEC_NONE = 0, BF_CODEC_ZSTD = 1 };
enum bf_chunk_sum { BF_SUM_XXH64 = 1, BF_SUM_FOLD = 2 };

struct bf_chunk_header {
	uint8_t magic[8];
	uint8_t kind;
	uint8_t codec;
	uint8_t sum_kind;
	uint8_t reserved;
	struct bf_le32 header_sum;   /* low half of bf_hash_bytes() of the header with this field 0 */
	struct bf_le32 stored;       /* bytes of payload in the file */
	struct bf_le32 raw;          /* bytes of payload when decompressed */
	struct bf_le64 number;       /* of the chunk, from 0 */
	struct bf_le64 first_record; /* number of its first record */
	struct bf_le32 records;
	struct bf_le32 decls;    /* bytes of declarations at the start of the raw payload */
	struct bf_le64 time_min; /* of its records; both 0 without records */
	struct bf_le64 time_max;
	struct bf_le64 sum; /* of the stored payload */
};
BF_STATIC_ASSERT(sizeof(struct bf_chunk_header) == 72, "chunk header");

/* The footer's payload after its declarations: this, then the index. */
struct bf_footer {
	struct bf_le64 records;
	struct bf_le64 hash;
	struct bf_le64 chunks;
};

struct bf_index_entry {
	struct bf_le64 offset;
	struct bf_le64 number;
	struct bf_le64 first_record;
	struct bf_le64 time_min;
	struct bf_le64 time_max;
};
BF_STATIC_ASSERT(sizeof(struct bf_index_entry) == 40, "index entry");

struct bf_trailer {
	struct bf_le64 footer; /* offset of the footer chunk from the file header */
	struct bf_le64 zero;
	uint8_t magic[8];
};
BF_STATIC_ASSERT(sizeof(struct bf_trailer) == 24, "trailer");

#define BF_CHUNK_DEFAULT (256u << 10)
#define BF_CHUNK_MAX (64u << 20) /* raw and stored; more is damage */
#define BF_BLOCK_META 3u

/* A buffer that grows. */

struct bf_bytes {
	uint8_t *at;
	size_t len, cap;
};

/* Room for `more` bytes behind `len`; 0 or -ENOMEM. */
int bf_bytes_room(struct bf_bytes *b, size_t more);
int bf_bytes_add(struct bf_bytes *b, const void *bytes, size_t len);

/* Declarations: what a trace has said so far about types, actors and parameters. */

struct bf_decl_type {
	struct bf_rec_schema schema;
	size_t block_len;
	uint64_t chunk; /* number + 1 of the chunk that has it already (writer) */
	uint8_t *block;
};

struct bf_decl_actor {
	struct bf_trace_actor actor;
	size_t block_len;
	uint64_t chunk;
	uint8_t *block;
};

struct bf_decl_meta {
	struct bf_trace_meta_entry entry;
	size_t block_len;
	uint64_t chunk;
	uint8_t *block;
};

#define BF_ACTOR_MAX (1u << 22)

struct bf_decls {
	struct bf_decl_type **types; /* by appearance */
	struct bf_decl_actor **actors;
	struct bf_decl_meta **metas;
	size_t ntypes, nactors, nmetas;
	size_t types_cap, actors_cap, metas_cap;
	struct bf_numbering type_places, actor_places; /* among `types` and `actors` */
	uint64_t hash;                                 /* sum of bf_hash_declaration() */
};

/*
 * Takes in one block: whole, header and padding included. A block already known is fine; the same type number, type
 * name or actor number with another meaning is -EBADMSG, as is any text or layout against the format's rules. A
 * parameter replaces the one with the same key.
 */
int bf_decls_add(struct bf_decls *d, const uint8_t *block, size_t len, struct bf_error *err);

/* The same from the terms of sim/record.h. */
int bf_decls_add_type(struct bf_decls *d, const struct bf_rec_schema *schema, struct bf_error *err);
int bf_decls_add_actor(struct bf_decls *d, uint32_t number, const char *kind, const char *name, struct bf_error *err);
int bf_decls_add_meta(struct bf_decls *d, const char *key, const char *value, struct bf_error *err);

struct bf_decl_type *bf_decls_type(const struct bf_decls *d, uint16_t id);
struct bf_decl_type *bf_decls_type_named(const struct bf_decls *d, const char *name);
struct bf_decl_actor *bf_decls_actor(const struct bf_decls *d, uint32_t number);
struct bf_decl_meta *bf_decls_meta(const struct bf_decls *d, const char *key);
void bf_decls_free(struct bf_decls *d);

/* UTF-8 without NUL. */
bool bf_text_ok(const char *text, size_t len);

/*
 * Checks the record that `bytes` start with, of which there are `len`, and fills `rec` but for its number. -EBADMSG
 * with the reason in `err` when it is not whole, against the rules, or of an unknown type.
 */
int bf_decls_record(const struct bf_decls *d, const uint8_t *bytes, size_t len, struct bf_trace_record *rec,
		    struct bf_error *err);

/* Chunks. */

/* Compresses when that helps and fills codec, sizes and sums of `head`. `*stored` is `raw` or `room->at`. */
int bf_chunk_pack(struct bf_chunk_header *head, const uint8_t *raw, size_t raw_len, int level, void *zstd,
		  struct bf_bytes *room, const uint8_t **stored);

/* Whether these 72 bytes are the header of a chunk that this build could take. */
bool bf_chunk_header_ok(const struct bf_chunk_header *head);

/*
 * Checks and decompresses a payload of which `len` bytes are there. When that is less than the header says, as much as
 * possible is decompressed unchecked. 0, -EBADMSG, -ENOTSUP (library not built in) or -ENOMEM.
 */
int bf_chunk_unpack(const struct bf_chunk_header *head, const uint8_t *stored, size_t len, struct bf_bytes *raw,
		    struct bf_error *err);

/* zstd's context for bf_chunk_pack(), NULL without the library or memory. */
void *bf_chunk_packer(void);
void bf_chunk_packer_free(void *zstd);

/* The two forms behind one writer and one reader. */

struct bf_trace_writer {
	struct bf_sink sink;
	int (*flush)(struct bf_trace_writer *w);
	int (*finish)(struct bf_trace_writer *w); /* writes the end; called once, without error so far */
	int (*meta_added)(struct bf_trace_writer *w, struct bf_decl_meta *meta);
	FILE *file;
	const char *name; /* of the file, for messages */
	bool own_file;
	int status; /* first error */
	struct bf_error *err;
	struct bf_decls decls;
	uint64_t records, chain; /* count, and their hash */

	/* binary */
	int level;
	size_t chunk_bytes;
	uint64_t offset, chunk;    /* where the next chunk goes, its number */
	struct bf_bytes new_decls; /* of the chunk being filled */
	struct bf_bytes data;
	struct bf_bytes room;
	struct bf_bytes index;
	uint32_t chunk_records;
	uint64_t time_min, time_max;
	void *zstd;
	bool kept;      /* every chunk reaches the file at once; keep.h */
	uint64_t whole; /* where the last whole chunk ends */
};

/*
 * writer.c, for the end that a signal handler writes (rescue.c), which may call nothing that takes memory or a lock:
 * the header of the chunk that is being filled, its entry in the index when it lies at `offset`, and the footer; one
 * record more in that chunk; the chunk is written.
 */
void bf_writer_chunk(const struct bf_trace_writer *w, enum bf_chunk_kind kind, size_t decls,
		     struct bf_chunk_header *head);
void bf_writer_index(const struct bf_trace_writer *w, uint64_t offset, struct bf_index_entry *e);
void bf_writer_footer(const struct bf_trace_writer *w, struct bf_footer *foot);
void bf_writer_count(struct bf_trace_writer *w, uint64_t time_ps);
void bf_writer_next_chunk(struct bf_trace_writer *w);

struct bf_trace {
	int (*next)(struct bf_trace *t, struct bf_trace_record *rec);
	int (*seek)(struct bf_trace *t, uint64_t time_ps);
	FILE *file;
	bool own_file, can_seek;
	bool ended;
	const char *name; /* of the file, for messages; follows the struct */
	uint64_t start, size;
	struct bf_error *err, own_err;
	struct bf_decls decls;
	struct bf_trace_loss *losses;
	size_t nlosses, losses_cap;
	uint64_t skip_until; /* records before this time are passed over */
	uint64_t chain;
	uint64_t records; /* number of the next record */

	/* Input: in.at[pos, in.len) has been read and not consumed; `offset` is the place of in.at[pos] in the file. */
	struct bf_bytes in;
	size_t pos;
	uint64_t offset;

	/* binary */
	bool footer_known;     /* declarations and index were read from the end of the file when it was opened */
	bool whole;            /* read from the start without loss: the footer's hash must come out */
	bool truncated;        /* the chunk being read was cut off */
	uint64_t chunk;        /* number of the next chunk */
	uint64_t chunk_offset; /* of the chunk in `raw` */
	uint64_t first_chunk;  /* offset */
	struct bf_bytes raw;
	size_t at, raw_end;  /* next record in raw, end of its records */
	uint32_t chunk_left; /* records that the chunk still owes */
	struct bf_index_entry *index;
	size_t nindex, index_cap;

	/* JSON Lines */
	uint64_t line; /* number of the next */
	struct bf_bytes record, texts;
};

int bf_jsonl_start(struct bf_trace_writer *w);
int bf_jsonl_open(struct bf_trace *t);
extern const char *const bf_json_kinds[BF_FIELD_ENUM + 1];

/* The value that `name` stands for in an enum field's names; the first, if several bear it. Numbers are no names. */
bool bf_json_enum_value(const struct bf_rec_field *f, const char *name, size_t len, uint64_t *value);
int bf_binary_open(struct bf_trace *t);

/* At least `n` bytes of input, if the file has them; returns how many there are, at most `n`, or a negative errno. */
int64_t bf_trace_need(struct bf_trace *t, size_t n);
void bf_trace_consume(struct bf_trace *t, size_t n);
int bf_trace_goto(struct bf_trace *t, uint64_t offset);
static inline const uint8_t *bf_trace_here(const struct bf_trace *t)
{
	return t->in.at + t->pos;
}

/* Notes a lost stretch, writes the error text that begins with `why` and returns -EBADMSG (or -ENOMEM). */
int bf_trace_lost(struct bf_trace *t, const struct bf_trace_loss *loss, const char *why);

#endif
