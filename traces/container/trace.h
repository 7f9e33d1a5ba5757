/*
 * Traces: a record stream in a file, with everything needed to read it.
 *
 * A trace holds the declarations of its record types and actors, the parameters of the run as key and value texts, and
 * the records. It comes in two forms with the same content: the binary form (chunks, compressed, checksummed,
 * seekable) and JSON Lines (sim/record.h's terms spelled out, for exchange). Readers take either form and know nothing
 * of the program that wrote it: field names, sizes and units come from the trace. docs/trace-format.md is the complete
 * description.
 *
 * One thread per reader or writer.
 */
#ifndef BELFRY_TRACES_CONTAINER_TRACE_H
#define BELFRY_TRACES_CONTAINER_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/compiler.h"
#include "sim/error.h"
#include "sim/record.h"

BF_API_BEGIN

/* Writing. */

struct bf_trace_writer;

struct bf_trace_options {
	uint32_t chunk_bytes; /* raw bytes after which a chunk is written; 0: 256 KiB */
	int level;            /* zstd level; 0: 1; negative: store uncompressed */
	bool jsonl;           /* the JSON Lines form; the other options do not matter then */
};

/*
 * Starts a trace in the file `path` (replaced) or, when `file` is not NULL, at the current position of `file`, which
 * may be a pipe and stays the caller's. `options` may be NULL. `err` may be NULL; it is kept and takes the text of
 * later failures. Returns 0 or a negative errno.
 */
int bf_trace_writer_open(const char *path, FILE *file, const struct bf_trace_options *options,
			 struct bf_trace_writer **out, struct bf_error *err);

/* The sink to give to bf_stream_open(). Lives as long as the writer. */
struct bf_sink *bf_trace_sink(struct bf_trace_writer *w);

/*
 * Puts a parameter of the run (seed, command line, version, profile, ...) into the trace. Both texts are UTF-8 and
 * copied. The same key again replaces the value. -EINVAL for an empty key or text that is not UTF-8.
 */
int bf_trace_meta(struct bf_trace_writer *w, const char *key, const char *value);

/* Writes out what is buffered, so that a reader of the unfinished file sees every record so far. */
int bf_trace_flush(struct bf_trace_writer *w);

/* Finishes the trace and frees the writer, also after errors. Returns the first error of the writer's life. */
int bf_trace_writer_close(struct bf_trace_writer *w);

/* Reading. */

struct bf_trace;

/* One record. All pointers are valid until the next call that moves the reader. */
struct bf_trace_record {
	uint64_t number; /* place in the trace, from 0; counts lost records too */
	uint64_t time_ps;
	uint32_t actor;
	uint32_t tail_len;
	const struct bf_rec_schema *type; /* valid until bf_trace_close() */
	const uint8_t *fixed;             /* type->size bytes */
	const uint8_t *tail;
	const void *raw; /* header to padding, as sinks take it: 8-byte aligned, bf_rec_header first */
	size_t raw_len;
};

struct bf_trace_actor {
	uint32_t number;
	const char *kind;
	const char *name;
};

struct bf_trace_meta_entry {
	const char *key;
	const char *value;
};

/* A stretch of the file that could not be used. */
struct bf_trace_loss {
	uint64_t chunk;  /* number of the first lost chunk, or of the line in JSON Lines, from 0 */
	uint64_t offset; /* in the file */
	uint64_t bytes;
	uint64_t records; /* lost; BF_TRACE_UNKNOWN if the rest of the file does not tell */
};
#define BF_TRACE_UNKNOWN UINT64_MAX

/*
 * Opens the trace `path` ("-": standard input) or, when `file` is not NULL, what follows in `file`, which stays the
 * caller's and is called `path` in messages. The first bytes decide which form it is. `err` is kept and takes the texts
 * of later failures; it may be NULL. Returns 0 or a negative errno: -EBADMSG when no part of the file is a trace,
 * -ENOTSUP when it needs a newer version or a library that this build lacks.
 */
int bf_trace_open(const char *path, FILE *file, struct bf_trace **out, struct bf_error *err);

/* The same with `len` bytes in memory, which must outlive the reader. */
int bf_trace_open_memory(const void *bytes, size_t len, struct bf_trace **out, struct bf_error *err);

void bf_trace_close(struct bf_trace *t);

/*
 * Steps to the next record. Returns 1 with the record in `rec`, 0 at the end, or a negative errno with a text that says
 * what was lost and where. Damage is reported once for each stretch, as -EBADMSG, and the next call goes on behind it;
 * after any other error the trace is at its end. So `while ((rc = bf_trace_next(t, &rec)) != 0)` ends always.
 */
int bf_trace_next(struct bf_trace *t, struct bf_trace_record *rec);

/*
 * The same for those who take what there is: damage is passed over, and noted as -EBADMSG in `*damage`, which is left
 * alone otherwise. Returns 1, 0 at the end, or a negative errno.
 */
int bf_trace_next_good(struct bf_trace *t, struct bf_trace_record *rec, int *damage);

/*
 * Makes bf_trace_next() return the first record, in the order of the trace, whose time is `time_ps` or later; 0 goes
 * back to the start. Needs a file that can seek, -ESPIPE otherwise. Uses the index at the end of the file, or builds
 * it from the chunk headers where that is missing; JSON Lines are read from the start.
 */
int bf_trace_seek_time(struct bf_trace *t, uint64_t time_ps);

/*
 * What the trace declares, in order of appearance; NULL past the last. With a finished binary trace in a file that can
 * seek all of it is known from the start, otherwise it grows with bf_trace_next().
 */
const struct bf_rec_schema *bf_trace_type_at(const struct bf_trace *t, size_t i);
const struct bf_trace_meta_entry *bf_trace_meta_at(const struct bf_trace *t, size_t i);

/* By name, key or number; NULL if the trace has no such thing. A value of meta lasts until the next bf_trace_next(). */
const struct bf_rec_schema *bf_trace_type(const struct bf_trace *t, const char *name);
const char *bf_trace_meta_get(const struct bf_trace *t, const char *key);
const struct bf_trace_actor *bf_trace_actor(const struct bf_trace *t, uint32_t number);

/* The actor's name, "-" if unknown. */
const char *bf_trace_actor_name(const struct bf_trace *t, uint32_t number);

/* All stretches lost so far. `*count` gets their number. */
const struct bf_trace_loss *bf_trace_losses(const struct bf_trace *t, size_t *count);

/* bf_stream_hash() of the records and declarations read so far. Means little after a seek. */
uint64_t bf_trace_hash(const struct bf_trace *t);

/*
 * The integer field `name` of the record; false if its type has none. In loops, look the field up once with
 * bf_schema_field(rec->type, name) and use bf_field_u64(field, rec->fixed).
 */
bool bf_trace_field_u64(const struct bf_trace_record *rec, const char *name, uint64_t *value);

/* A text field, copied with a NUL into `out`; false if the type has none. */
bool bf_trace_field_text(const struct bf_trace_record *rec, const char *name, char *out, size_t size);

/*
 * Copies everything from `t` to `w`: parameters, declarations, records. Damage in `t` is skipped. Returns 0, -EBADMSG
 * when something was lost (the rest is copied), or another error.
 */
int bf_trace_copy(struct bf_trace *t, struct bf_trace_writer *w);

BF_API_END

#endif
