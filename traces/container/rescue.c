/*
 * The end of a trace whose process dies, written by a signal handler: one more chunk with all that is not in the file,
 * uncompressed, and the footer. Everything here is arithmetic on memory that is there, mmap(), pwrite() and
 * ftruncate().
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "traces/container/keep.h"
#include "traces/container/trace_internal.h"

/* Memory of the kernel's, for one chunk after the other. */
struct room {
	uint8_t *at;
	size_t len, cap;
};

static void add(struct room *r, const void *bytes, size_t len)
{
	if (len && len <= r->cap - r->len) {
		memcpy(r->at + r->len, bytes, len);
		r->len += len;
	}
}

/* All declarations: which of them a chunk needs would take longer to find than to write. */
static size_t size_of_decls(const struct bf_decls *d)
{
	size_t len = 0;

	for (size_t i = 0; i < d->nmetas; i++)
		len += d->metas[i]->block_len;
	for (size_t i = 0; i < d->ntypes; i++)
		len += d->types[i]->block_len;
	for (size_t i = 0; i < d->nactors; i++)
		len += d->actors[i]->block_len;
	return len;
}

static void add_decls(struct room *r, const struct bf_decls *d)
{
	for (size_t i = 0; i < d->nmetas; i++)
		add(r, d->metas[i]->block, d->metas[i]->block_len);
	for (size_t i = 0; i < d->ntypes; i++)
		add(r, d->types[i]->block, d->types[i]->block_len);
	for (size_t i = 0; i < d->nactors; i++)
		add(r, d->actors[i]->block, d->actors[i]->block_len);
}

/* What the stream holds: whole records, as far as they are whole. */
static void add_stream(struct room *r, struct bf_trace_writer *w, const struct bf_stream *st)
{
	for (size_t at = 0; st->buf && st->used - at >= sizeof(struct bf_rec_header);) {
		struct bf_rec_header head;
		size_t span;

		memcpy(&head, st->buf + at, sizeof(head));
		span = bf_record_span(&head);
		if (span > st->used - at || !bf_decls_type(&w->decls, head.type))
			return;
		add(r, st->buf + at, span);
		bf_writer_count(w, head.time_ps);
		w->chain = bf_hash_records(w->chain, st->buf + at, span);
		at += span;
	}
}

static bool put(int fd, uint64_t at, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len) {
		const ssize_t n = pwrite(fd, p, len, (off_t)at);

		if (n <= 0)
			return false;
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

/* Writes the room as a chunk behind the last whole one; `decls` bytes of it are declarations. */
static bool put_chunk(struct bf_trace_writer *w, int fd, enum bf_chunk_kind kind, const struct room *r, size_t decls)
{
	struct bf_chunk_header head;
	const uint8_t *stored;

	bf_writer_chunk(w, kind, decls, &head);
	if (bf_chunk_pack(&head, r->at, r->len, 0, NULL, NULL, &stored) || !put(fd, w->whole, &head, sizeof(head)) ||
	    !put(fd, w->whole + sizeof(head), stored, r->len))
		return false;
	w->offset = w->whole + sizeof(head) + r->len;
	return true;
}

static bool put_rest(struct bf_trace_writer *w, int fd, const struct bf_stream *st, struct room *r)
{
	struct bf_trailer trailer = { .magic = BF_TRAILER_MAGIC };
	struct bf_index_entry last;
	struct bf_footer foot;
	size_t decls;
	bool more;

	add_decls(r, &w->decls);
	decls = r->len;
	add(r, w->data.at, w->data.len);
	add_stream(r, w, st);
	more = r->len > decls;
	bf_writer_index(w, w->whole, &last);
	if (more) {
		if (!put_chunk(w, fd, BF_CHUNK_DATA, r, decls))
			return false;
		bf_writer_next_chunk(w);
	}
	r->len = decls;
	bf_writer_footer(w, &foot);
	add(r, &foot, sizeof(foot));
	add(r, w->index.at, w->index.len);
	if (more)
		add(r, &last, sizeof(last));
	bf_put_le64(trailer.footer.b, w->whole);
	return put_chunk(w, fd, BF_CHUNK_FOOTER, r, decls) && put(fd, w->offset, &trailer, sizeof(trailer)) &&
	       !ftruncate(fd, (off_t)(w->offset + sizeof(trailer)));
}

bool bf_trace_rescue(struct bf_trace_keeper *k)
{
	struct bf_trace_writer *w = k->sim ? k->writer : NULL;
	const struct bf_stream *st = k->sim ? &k->sim->rec : NULL;
	struct room r = { 0 };
	size_t decls;

	if (!w || __atomic_exchange_n(&k->rescued, true, __ATOMIC_RELAXED) || w->status || !w->whole || !w->own_file)
		return false;
	decls = size_of_decls(&w->decls);
	r.cap =
	    decls + w->data.len + st->used + sizeof(struct bf_footer) + w->index.len + sizeof(struct bf_index_entry);
	if (r.cap > BF_CHUNK_MAX)
		return false;
	r.at = mmap(NULL, r.cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return r.at != MAP_FAILED && put_rest(w, fileno(w->file), st, &r);
}
