/* Writing traces: the sink that fills chunks, and the footer with the index. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/container/trace_internal.h"

/* Keeps the first error. `what` NULL: the text is there already. */
static int fail(struct bf_trace_writer *w, int rc, const char *what)
{
	if (rc && !w->status) {
		w->status = rc;
		if (what)
			bf_fail(w->err, rc, "writing a trace: %s: %s", what, strerror(-rc));
	}
	return w->status;
}

static int fail_declaration(struct bf_trace_writer *w, int rc)
{
	return fail(w, rc, rc == -ENOMEM ? "declaration" : NULL);
}

static int put(struct bf_trace_writer *w, const void *bytes, size_t len)
{
	if (len && fwrite(bytes, 1, len, w->file) != len)
		return fail(w, errno ? -errno : -EIO, w->name);
	w->offset += len;
	return 0;
}

/* Chunks. */

void bf_writer_index(const struct bf_trace_writer *w, uint64_t offset, struct bf_index_entry *e)
{
	bf_put_le64(e->offset.b, offset);
	bf_put_le64(e->number.b, w->chunk);
	bf_put_le64(e->first_record.b, w->records - w->chunk_records);
	bf_put_le64(e->time_min.b, w->time_min);
	bf_put_le64(e->time_max.b, w->time_max);
}

static int note_index(struct bf_trace_writer *w)
{
	struct bf_index_entry e;
	bf_writer_index(w, w->offset, &e);
	return bf_bytes_add(&w->index, &e, sizeof(e));
}

void bf_writer_chunk(const struct bf_trace_writer *w, enum bf_chunk_kind kind, size_t decls,
		     struct bf_chunk_header *head)
{
	*head = (struct bf_chunk_header){ .magic = BF_CHUNK_MAGIC, .kind = (uint8_t)kind };
	bf_put_le64(head->number.b, w->chunk);
	bf_put_le64(head->first_record.b, w->records - w->chunk_records);
	bf_put_le32(head->records.b, w->chunk_records);
	bf_put_le32(head->decls.b, (uint32_t)decls);
	bf_put_le64(head->time_min.b, w->time_min);
	bf_put_le64(head->time_max.b, w->time_max);
}

/* Writes `payload`, whose first `decls` bytes are declarations. */
static int write_chunk(struct bf_trace_writer *w, enum bf_chunk_kind kind, const struct bf_bytes *payload, size_t decls)
{
	struct bf_chunk_header head;
	const uint8_t *stored;
	bf_writer_chunk(w, kind, decls, &head);
	int rc = bf_chunk_pack(&head, payload->at, payload->len, w->level, w->zstd, &w->room, &stored);
	if (rc)
		return fail(w, rc, "compression");
	rc = put(w, &head, sizeof(head));
	return rc ? rc : put(w, stored, bf_get_le32(head.stored.b));
}

static int end_chunk(struct bf_trace_writer *w)
{
	size_t decls = w->new_decls.len;
	if (!decls && !w->data.len)
		return 0;
	if (note_index(w) || bf_bytes_add(&w->new_decls, w->data.at, w->data.len))
		return fail(w, -ENOMEM, "chunk");
	int rc = write_chunk(w, BF_CHUNK_DATA, &w->new_decls, decls);
	/* What a signal handler would write has to be either here or in the file. */
	if (!rc && w->kept && fflush(w->file))
		rc = fail(w, -errno, w->name);
	bf_writer_next_chunk(w);
	return rc;
}

void bf_writer_next_chunk(struct bf_trace_writer *w)
{
	w->chunk++;
	w->new_decls.len = 0;
	w->data.len = 0;
	w->chunk_records = 0;
	w->time_min = w->time_max = 0;
	w->whole = w->offset;
}

/* Every chunk declares what its records use, so each can be read without the others. */
static int declare(struct bf_trace_writer *w, const uint8_t *block, size_t len, uint64_t *chunk)
{
	if (*chunk == w->chunk + 1)
		return 0;
	*chunk = w->chunk + 1;
	return fail(w, bf_bytes_add(&w->new_decls, block, len), "declaration");
}

static int declare_new(struct bf_trace_writer *w, const uint8_t *block, size_t len, uint64_t *chunk)
{
	if (w->new_decls.len + w->data.len + len > w->chunk_bytes && end_chunk(w))
		return w->status;
	return declare(w, block, len, chunk);
}

/* The sink. */

static int sink_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	struct bf_trace_writer *w = BF_CONTAINER_OF(s, struct bf_trace_writer, sink);
	int rc = w->status ? w->status : bf_decls_add_type(&w->decls, schema, w->err);
	if (rc)
		return fail_declaration(w, rc);
	struct bf_decl_type *type = bf_decls_type(&w->decls, schema->id);
	return declare_new(w, type->block, type->block_len, &type->chunk);
}

static int sink_actor(struct bf_sink *s, uint32_t number, const char *kind, const char *name)
{
	struct bf_trace_writer *w = BF_CONTAINER_OF(s, struct bf_trace_writer, sink);
	int rc = w->status ? w->status : bf_decls_add_actor(&w->decls, number, kind, name, w->err);
	if (rc)
		return fail_declaration(w, rc);
	struct bf_decl_actor *actor = bf_decls_actor(&w->decls, number);
	return declare_new(w, actor->block, actor->block_len, &actor->chunk);
}

static int meta_added(struct bf_trace_writer *w, struct bf_decl_meta *meta)
{
	return declare_new(w, meta->block, meta->block_len, &meta->chunk);
}

void bf_writer_count(struct bf_trace_writer *w, uint64_t time_ps)
{
	if (!w->chunk_records || time_ps < w->time_min)
		w->time_min = time_ps;
	if (!w->chunk_records || time_ps > w->time_max)
		w->time_max = time_ps;
	w->chunk_records++;
	w->records++;
}

static int add_record(struct bf_trace_writer *w, const struct bf_trace_record *rec)
{
	if (w->data.len && w->new_decls.len + w->data.len + rec->raw_len > w->chunk_bytes && end_chunk(w))
		return w->status;
	struct bf_decl_type *type = bf_decls_type(&w->decls, rec->type->id);
	if (declare(w, type->block, type->block_len, &type->chunk))
		return w->status;
	struct bf_decl_actor *actor = rec->actor ? bf_decls_actor(&w->decls, rec->actor) : NULL;
	if (actor && declare(w, actor->block, actor->block_len, &actor->chunk))
		return w->status;
	bf_writer_count(w, rec->time_ps);
	return fail(w, bf_bytes_add(&w->data, rec->raw, rec->raw_len), "record");
}

static int sink_write(struct bf_sink *s, const void *records, size_t len)
{
	struct bf_trace_writer *w = BF_CONTAINER_OF(s, struct bf_trace_writer, sink);
	const uint8_t *p = records;
	for (size_t at = 0; at < len && !w->status;) {
		struct bf_trace_record rec;
		int rc = bf_decls_record(&w->decls, p + at, len - at, &rec, w->err);
		if (rc)
			return fail(w, rc, NULL);
		if (add_record(w, &rec))
			break;
		w->chain = bf_hash_records(w->chain, rec.raw, rec.raw_len);
		at += rec.raw_len;
	}
	return w->status;
}

/* The end. */

static int add_all_decls(struct bf_trace_writer *w, struct bf_bytes *to)
{
	int rc = 0;
	for (size_t i = 0; i < w->decls.nmetas && !rc; i++)
		rc = bf_bytes_add(to, w->decls.metas[i]->block, w->decls.metas[i]->block_len);
	for (size_t i = 0; i < w->decls.ntypes && !rc; i++)
		rc = bf_bytes_add(to, w->decls.types[i]->block, w->decls.types[i]->block_len);
	for (size_t i = 0; i < w->decls.nactors && !rc; i++)
		rc = bf_bytes_add(to, w->decls.actors[i]->block, w->decls.actors[i]->block_len);
	return rc;
}

void bf_writer_footer(const struct bf_trace_writer *w, struct bf_footer *foot)
{
	bf_put_le64(foot->records.b, w->records);
	bf_put_le64(foot->hash.b, bf_hash_finish(w->chain, w->decls.hash));
	bf_put_le64(foot->chunks.b, w->chunk);
}

static int finish(struct bf_trace_writer *w)
{
	if (end_chunk(w))
		return w->status;
	struct bf_bytes payload = { 0 };
	int rc = add_all_decls(w, &payload);
	/* So many that they do not fit: the data chunks have them all. */
	if (payload.len + sizeof(struct bf_footer) + w->index.len > BF_CHUNK_MAX)
		payload.len = 0;
	size_t decls = payload.len;
	struct bf_footer foot;
	bf_writer_footer(w, &foot);
	if (!rc)
		rc = bf_bytes_add(&payload, &foot, sizeof(foot));
	if (!rc)
		rc = bf_bytes_add(&payload, w->index.at, w->index.len);
	struct bf_trailer trailer = { .magic = BF_TRAILER_MAGIC };
	bf_put_le64(trailer.footer.b, w->offset);
	if (rc)
		fail(w, rc, "footer");
	else if (!write_chunk(w, BF_CHUNK_FOOTER, &payload, decls))
		put(w, &trailer, sizeof(trailer));
	free(payload.at);
	return w->status;
}

static int flush(struct bf_trace_writer *w)
{
	return end_chunk(w);
}

static int start_binary(struct bf_trace_writer *w, const struct bf_trace_options *options)
{
	w->sink = (struct bf_sink){ .declare_type = sink_type, .declare_actor = sink_actor, .write = sink_write };
	w->flush = flush;
	w->finish = finish;
	w->meta_added = meta_added;
	w->level = options->level ? options->level : 1;
	w->chunk_bytes = options->chunk_bytes ? options->chunk_bytes : BF_CHUNK_DEFAULT;
	if (w->chunk_bytes > BF_CHUNK_MAX / 2)
		w->chunk_bytes = BF_CHUNK_MAX / 2;
	w->zstd = w->level > 0 ? bf_chunk_packer() : NULL;
	struct bf_file_header head = { .magic = BF_TRACE_MAGIC };
	bf_put_le16(head.major.b, BF_TRACE_MAJOR);
	bf_put_le16(head.minor.b, BF_TRACE_MINOR);
	bf_put_le32(head.size.b, sizeof(head));
	return put(w, &head, sizeof(head));
}

static void free_writer(struct bf_trace_writer *w)
{
	if (w->own_file)
		fclose(w->file);
	bf_chunk_packer_free(w->zstd);
	bf_decls_free(&w->decls);
	free(w->new_decls.at);
	free(w->data.at);
	free(w->room.at);
	free(w->index.at);
	free(w);
}

int bf_trace_writer_open(const char *path, FILE *file, const struct bf_trace_options *options,
			 struct bf_trace_writer **out, struct bf_error *err)
{
	static const struct bf_trace_options defaults;
	if (!options)
		options = &defaults;
	*out = NULL;
	const char *name = path ? path : "output";
	size_t name_size = strlen(name) + 1;
	struct bf_trace_writer *w = calloc(1, sizeof(*w) + name_size);
	if (!w)
		return bf_fail(err, -ENOMEM, "no memory for a trace writer");
	w->name = memcpy(w + 1, name, name_size);
	w->err = err;
	w->chain = BF_HASH_START;
	w->file = file ? file : fopen(path, "wb");
	w->own_file = !file;
	if (!w->file) {
		int rc = -errno;
		free(w);
		return bf_fail(err, rc, "%s: %s", path, strerror(-rc));
	}
	int rc = options->jsonl ? bf_jsonl_start(w) : start_binary(w, options);
	if (rc) {
		free_writer(w);
		return rc;
	}
	*out = w;
	return 0;
}

struct bf_sink *bf_trace_sink(struct bf_trace_writer *w)
{
	return &w->sink;
}

int bf_trace_meta(struct bf_trace_writer *w, const char *key, const char *value)
{
	if (w->status)
		return w->status;
	const struct bf_decl_meta *old = bf_decls_meta(&w->decls, key);
	if (old && !strcmp(old->entry.value, value))
		return 0;
	int rc = bf_decls_add_meta(&w->decls, key, value, w->err);
	if (rc)
		return rc == -ENOMEM ? fail_declaration(w, rc) : rc; /* a bad text leaves the trace as it was */
	return w->meta_added(w, bf_decls_meta(&w->decls, key));
}

int bf_trace_flush(struct bf_trace_writer *w)
{
	if (!w->status && !w->flush(w) && fflush(w->file))
		fail(w, -errno, w->name);
	return w->status;
}

int bf_trace_writer_close(struct bf_trace_writer *w)
{
	if (!w->status)
		w->finish(w);
	if (fflush(w->file))
		fail(w, -errno, w->name);
	int rc = w->status;
	free_writer(w);
	return rc;
}
