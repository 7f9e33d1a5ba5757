/* Reading traces: input, what both forms share, and the lookups. binary.c and jsonl_reader.c know the forms. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/container/trace_internal.h"

/* Input. */

int64_t bf_trace_need(struct bf_trace *t, size_t n)
{
	size_t have = t->in.len - t->pos;
	if (have >= n)
		return (int64_t)n;
	if (t->pos) {
		memmove(t->in.at, t->in.at + t->pos, have);
		t->in.len = have;
		t->pos = 0;
	}
	/* Sizes come from the file: ask for memory as bytes arrive, not as they are promised; for a short file for
	 * little. */
	const size_t most = t->can_seek && t->size < (1u << 20) ? (size_t)t->size / 4096 * 4096 + 4096 : 1u << 20;
	while (have < n) {
		size_t step = n - have < 65536 ? 65536 : n - have;
		step = step > most ? most : step;
		if (bf_bytes_room(&t->in, step))
			return bf_fail(t->err, -ENOMEM, "%s: no memory", t->name);
		size_t got = fread(t->in.at + have, 1, step, t->file);
		if (!got && ferror(t->file))
			return bf_fail(t->err, errno ? -errno : -EIO, "%s: read error at offset %" PRIu64, t->name,
				       t->offset + have);
		have = t->in.len += got;
		if (!got)
			break;
	}
	return (int64_t)(have < n ? have : n);
}

void bf_trace_consume(struct bf_trace *t, size_t n)
{
	t->pos += n;
	t->offset += n;
}

int bf_trace_goto(struct bf_trace *t, uint64_t offset)
{
	t->in.len = t->pos = 0;
	t->offset = offset;
	if (offset > INT64_MAX - t->start || fseeko(t->file, (off_t)(t->start + offset), SEEK_SET))
		return bf_fail(t->err, -EIO, "%s: cannot seek to offset %" PRIu64, t->name, offset);
	return 0;
}

int bf_trace_lost(struct bf_trace *t, const struct bf_trace_loss *loss, const char *why)
{
	if (BF_GROW(t->losses, t->losses_cap, t->nlosses + 1))
		return bf_fail(t->err, -ENOMEM, "%s: no memory", t->name);
	t->losses[t->nlosses++] = *loss;
	char records[32];
	snprintf(records, sizeof(records), "%" PRIu64, loss->records);
	return bf_fail(t->err, -EBADMSG,
		       "%.80s: %s %" PRIu64 " at offset %" PRIu64 ": %.70s; lost: %" PRIu64 " bytes, %s records",
		       t->name, t->line ? "line" : "chunk", loss->chunk, loss->offset, why, loss->bytes,
		       loss->records == BF_TRACE_UNKNOWN ? "an unknown number of" : records);
}

/* Opening. */

static int open_form(struct bf_trace *t)
{
	int64_t n = bf_trace_need(t, 1);
	if (n < 0)
		return (int)n;
	if (!n)
		return bf_fail(t->err, -EBADMSG, "%s: the file is empty", t->name);
	return *bf_trace_here(t) == '{' ? bf_jsonl_open(t) : bf_binary_open(t);
}

static int open_input(struct bf_trace *t, const char *path, FILE *file)
{
	bool std = !file && !strcmp(path, "-");
	t->file = file ? file : std ? stdin : fopen(path, "rb");
	if (!t->file)
		return bf_fail(t->err, -errno, "%s: %s", path, strerror(errno));
	t->own_file = !file && !std;
	off_t here = ftello(t->file), end = -1;
	if (here >= 0 && !fseeko(t->file, 0, SEEK_END))
		end = ftello(t->file);
	t->can_seek = end >= here && here >= 0 && !fseeko(t->file, here, SEEK_SET);
	clearerr(t->file);
	if (t->can_seek) {
		t->start = (uint64_t)here;
		t->size = (uint64_t)(end - here);
	}
	return 0;
}

int bf_trace_open(const char *path, FILE *file, struct bf_trace **out, struct bf_error *err)
{
	*out = NULL;
	if (!path)
		path = "trace";
	size_t name_size = strlen(path) + 1;
	struct bf_trace *t = calloc(1, sizeof(*t) + name_size);
	if (!t)
		return bf_fail(err, -ENOMEM, "no memory for a trace reader");
	t->name = memcpy(t + 1, path, name_size);
	t->err = err ? err : &t->own_err;
	t->chain = BF_HASH_START;
	int rc = open_input(t, path, file);
	if (!rc)
		rc = open_form(t);
	if (rc) {
		bf_trace_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

int bf_trace_open_memory(const void *bytes, size_t len, struct bf_trace **out, struct bf_error *err)
{
	*out = NULL;
	if (!len)
		return bf_fail(err, -EBADMSG, "memory: the file is empty");
	FILE *file = fmemopen((void *)(uintptr_t)bytes, len, "rb");
	if (!file)
		return bf_fail(err, -errno, "memory: %s", strerror(errno));
	int rc = bf_trace_open("memory", file, out, err);
	if (rc)
		fclose(file);
	else
		(*out)->own_file = true;
	return rc;
}

void bf_trace_close(struct bf_trace *t)
{
	if (!t)
		return;
	if (t->own_file)
		fclose(t->file);
	bf_decls_free(&t->decls);
	free(t->losses);
	free(t->in.at);
	free(t->raw.at);
	free(t->index);
	free(t->record.at);
	free(t->texts.at);
	free(t);
}

/* Reading. */

int bf_trace_next(struct bf_trace *t, struct bf_trace_record *rec)
{
	int rc;
	do {
		rc = t->next(t, rec);
	} while (rc == 1 && rec->time_ps < t->skip_until);
	if (rc == 1)
		t->skip_until = 0;
	if (rc < 0 && rc != -EBADMSG) {
		t->ended = true;
		t->at = t->raw_end;
	}
	return rc;
}

int bf_trace_next_good(struct bf_trace *t, struct bf_trace_record *rec, int *damage)
{
	int rc;

	while ((rc = bf_trace_next(t, rec)) == -EBADMSG)
		*damage = rc;
	return rc;
}

int bf_trace_seek_time(struct bf_trace *t, uint64_t time_ps)
{
	if (!t->can_seek)
		return bf_fail(t->err, -ESPIPE, "%s: cannot seek in this input", t->name);
	int rc = t->seek(t, time_ps);
	t->skip_until = time_ps;
	return rc;
}

/* Lookups. */

const struct bf_rec_schema *bf_trace_type_at(const struct bf_trace *t, size_t i)
{
	return i < t->decls.ntypes ? &t->decls.types[i]->schema : NULL;
}

const struct bf_trace_meta_entry *bf_trace_meta_at(const struct bf_trace *t, size_t i)
{
	return i < t->decls.nmetas ? &t->decls.metas[i]->entry : NULL;
}

const struct bf_rec_schema *bf_trace_type(const struct bf_trace *t, const char *name)
{
	const struct bf_decl_type *type = bf_decls_type_named(&t->decls, name);
	return type ? &type->schema : NULL;
}

const char *bf_trace_meta_get(const struct bf_trace *t, const char *key)
{
	const struct bf_decl_meta *meta = bf_decls_meta(&t->decls, key);
	return meta ? meta->entry.value : NULL;
}

const struct bf_trace_actor *bf_trace_actor(const struct bf_trace *t, uint32_t number)
{
	const struct bf_decl_actor *actor = bf_decls_actor(&t->decls, number);
	return actor ? &actor->actor : NULL;
}

const char *bf_trace_actor_name(const struct bf_trace *t, uint32_t number)
{
	const struct bf_decl_actor *actor = bf_decls_actor(&t->decls, number);
	return actor ? actor->actor.name : "-";
}

const struct bf_trace_loss *bf_trace_losses(const struct bf_trace *t, size_t *count)
{
	*count = t->nlosses;
	return t->losses;
}

uint64_t bf_trace_hash(const struct bf_trace *t)
{
	return bf_hash_finish(t->chain, t->decls.hash);
}

bool bf_trace_field_u64(const struct bf_trace_record *rec, const char *name, uint64_t *value)
{
	const struct bf_rec_field *f = bf_schema_field(rec->type, name);
	if (!f || f->kind == BF_FIELD_TEXT)
		return false;
	*value = bf_field_u64(f, rec->fixed);
	return true;
}

bool bf_trace_field_text(const struct bf_trace_record *rec, const char *name, char *out, size_t size)
{
	const struct bf_rec_field *f = bf_schema_field(rec->type, name);
	if (!f || f->kind != BF_FIELD_TEXT || !size)
		return false;
	size_t n = strnlen((const char *)rec->fixed + f->offset, f->size);
	if (n > size - 1)
		n = size - 1;
	memcpy(out, rec->fixed + f->offset, n);
	out[n] = 0;
	return true;
}

/* Copying. */

/* Hands on what `t` has declared since the last call; the counts say how much that was. */
static int copy_declarations(struct bf_trace *t, struct bf_trace_writer *w, size_t *types, size_t *actors)
{
	struct bf_sink *sink = bf_trace_sink(w);
	int rc = 0;
	for (; !rc && *types < t->decls.ntypes; ++*types)
		rc = sink->declare_type(sink, &t->decls.types[*types]->schema);
	for (; !rc && *actors < t->decls.nactors; ++*actors) {
		const struct bf_trace_actor *a = &t->decls.actors[*actors]->actor;
		rc = sink->declare_actor(sink, a->number, a->kind, a->name);
	}
	return rc;
}

static int copy_metas(struct bf_trace *t, struct bf_trace_writer *w)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < t->decls.nmetas; i++)
		rc = bf_trace_meta(w, t->decls.metas[i]->entry.key, t->decls.metas[i]->entry.value);
	return rc;
}

int bf_trace_copy(struct bf_trace *t, struct bf_trace_writer *w)
{
	struct bf_sink *sink = bf_trace_sink(w);
	size_t types = 0, actors = 0;
	int lost = 0, rc = copy_metas(t, w);
	while (!rc) {
		struct bf_trace_record rec;
		int step = bf_trace_next(t, &rec);
		rc = copy_declarations(t, w, &types, &actors);
		if (!step || rc)
			break;
		if (step == -EBADMSG)
			lost = step;
		else
			rc = step < 0 ? step : sink->write(sink, rec.raw, rec.raw_len);
	}
	if (!rc)
		rc = copy_metas(t, w);
	return rc ? rc : lost;
}
