/* Reading the binary form: chunks in order, finding the next one behind damage, the index. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/container/trace_internal.h"

/* How far into a file without a good header a chunk must begin for the file to count as a trace. */
#define SEARCH_LIMIT (1u << 20)

static uint32_t stored_size(const struct bf_chunk_header *head)
{
	return bf_get_le32(head->stored.b);
}

/* Whether a chunk that may come next starts at `p`: numbers never go back. */
static bool chunk_at(const struct bf_trace *t, const uint8_t *p, struct bf_chunk_header *head)
{
	memcpy(head, p, sizeof(*head));
	return bf_chunk_header_ok(head) && bf_get_le64(head->number.b) >= t->chunk &&
	       bf_get_le64(head->first_record.b) >= t->records;
}

/* Consumes `skip` bytes and then all up to the next chunk: 1, 0 at the end of the file, or a negative errno. */
static int resync(struct bf_trace *t, size_t skip, struct bf_chunk_header *head)
{
	for (;;) {
		bf_trace_consume(t, skip);
		int64_t n = bf_trace_need(t, 65536);
		if (n < (int64_t)sizeof(*head)) {
			bf_trace_consume(t, n < 0 ? 0 : (size_t)n);
			return n < 0 ? (int)n : 0;
		}
		const uint8_t *here = bf_trace_here(t), *hit = memmem(here, (size_t)n, BF_CHUNK_MAGIC, 8);
		if (!hit)
			skip = (size_t)n - 7;
		else if (hit > here)
			skip = (size_t)(hit - here);
		else if (chunk_at(t, here, head))
			return 1;
		else
			skip = 1;
	}
}

/* Steps over damage that starts here and begins with `skip` bytes; reports it. */
static int step_over(struct bf_trace *t, size_t skip, const char *why)
{
	char reason[72];
	snprintf(reason, sizeof(reason), "%s", why); /* `why` may be the error text itself */
	struct bf_trace_loss loss = { .chunk = t->chunk, .offset = t->offset, .records = BF_TRACE_UNKNOWN };
	struct bf_chunk_header head;
	int rc = resync(t, skip, &head);
	if (rc < 0)
		return rc;
	loss.bytes = t->offset - loss.offset;
	if (rc) {
		loss.records = bf_get_le64(head.first_record.b) - t->records;
		t->chunk = bf_get_le64(head.number.b);
		t->records = bf_get_le64(head.first_record.b);
	} else {
		t->ended = true;
	}
	t->whole = false;
	return bf_trace_lost(t, &loss, reason);
}

static int end_early(struct bf_trace *t, uint64_t bytes, uint64_t records, const char *why)
{
	t->ended = true;
	t->whole = false;
	return bf_trace_lost(t, &(struct bf_trace_loss){ t->chunk, t->offset, bytes, records }, why);
}

/* The chunk that starts here has a good header and a bad payload. */
static int step_over_payload(struct bf_trace *t, const struct bf_chunk_header *head, const char *why)
{
	size_t size = sizeof(*head) + stored_size(head);
	struct bf_chunk_header next;
	int64_t n = bf_trace_need(t, size + sizeof(next));
	if (n >= 0 && head->kind == BF_CHUNK_FOOTER)
		return end_early(t, (uint64_t)n, 0, why); /* its header has told that no record is missing */
	bool next_ok = n == (int64_t)(size + sizeof(next)) && chunk_at(t, bf_trace_here(t) + size, &next);
	return n < 0 ? (int)n : step_over(t, next_ok ? size : 8, why);
}

/* Declarations. */

static int read_decls(struct bf_trace *t, const uint8_t *p, size_t len, bool footer, struct bf_error *err)
{
	for (size_t at = 0, block; at < len; at += block) {
		if (len - at < 8)
			return bf_fail(err, -EBADMSG, "a declaration is cut off");
		block = (8 + (size_t)bf_get_le32(p + at + 4) + 7) & ~(size_t)7;
		if (block > len - at)
			return bf_fail(err, -EBADMSG, "a declaration is cut off");
		/* The footer has the last value of each parameter and may have been read first. */
		if (bf_get_le32(p + at) == BF_BLOCK_META && t->footer_known && !footer)
			continue;
		int rc = bf_decls_add(&t->decls, p + at, block, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Chunks. */

/* The file ends inside the chunk that starts here; `n` bytes are there. Yields the whole records among them. */
static int take_truncated(struct bf_trace *t, const struct bf_chunk_header *head, size_t n)
{
	const uint8_t *payload = bf_trace_here(t) + sizeof(*head);
	size_t decls = bf_get_le32(head->decls.b);
	int rc = bf_chunk_unpack(head, payload, n - sizeof(*head), &t->raw, t->err);
	if (rc == -ENOMEM || rc == -ENOTSUP)
		return rc;
	t->truncated = true;
	t->at = t->raw_end = 0;
	if (!rc && head->kind == BF_CHUNK_DATA && t->raw.len >= decls) {
		rc = read_decls(t, t->raw.at, decls, false, NULL);
		if (rc == -ENOMEM)
			return bf_fail(t->err, rc, "%s: no memory", t->name);
	} else {
		rc = -EBADMSG;
	}
	if (!rc) {
		t->at = decls;
		t->raw_end = t->raw.len;
	}
	t->chunk_left = bf_get_le32(head->records.b);
	return 0;
}

static int take_footer(struct bf_trace *t, const struct bf_chunk_header *head)
{
	size_t decls = bf_get_le32(head->decls.b);
	struct bf_footer foot;
	int rc = t->raw.len < decls + sizeof(foot) ? -EBADMSG : read_decls(t, t->raw.at, decls, true, NULL);
	if (rc == -ENOMEM)
		return bf_fail(t->err, rc, "%s: no memory", t->name);
	if (rc)
		return step_over_payload(t, head, "the footer is malformed");
	memcpy(&foot, t->raw.at + decls, sizeof(foot));
	bf_trace_consume(t, sizeof(*head) + stored_size(head));
	t->ended = true;
	if (t->whole && (bf_get_le64(foot.records.b) != t->records || bf_get_le64(foot.hash.b) != bf_trace_hash(t)))
		return end_early(t, 0, 0, "the hash of all records is not the footer's");
	int64_t n = bf_trace_need(t, sizeof(struct bf_trailer));
	if (n < 0)
		return (int)n;
	if (n < (int64_t)sizeof(struct bf_trailer) ||
	    memcmp(bf_trace_here(t) + offsetof(struct bf_trailer, magic), BF_TRAILER_MAGIC, 8))
		return end_early(t, (uint64_t)n, 0, "no trailer behind the footer");
	return 0;
}

static int take_data(struct bf_trace *t, const struct bf_chunk_header *head)
{
	size_t decls = bf_get_le32(head->decls.b);
	struct bf_error err = { 0 };
	int rc = read_decls(t, t->raw.at, decls, false, &err);
	if (rc == -EBADMSG)
		return step_over_payload(t, head, err.text);
	if (rc)
		return bf_fail(t->err, rc, "%s: no memory", t->name);
	t->at = decls;
	t->raw_end = t->raw.len;
	t->chunk_left = bf_get_le32(head->records.b);
	t->chunk_offset = t->offset;
	bf_trace_consume(t, sizeof(*head) + stored_size(head));
	t->chunk++;
	return 0;
}

static int load_payload(struct bf_trace *t, const struct bf_chunk_header *head)
{
	size_t size = sizeof(*head) + stored_size(head);
	struct bf_chunk_header later;
	int64_t n = bf_trace_need(t, size);
	if (n < 0)
		return (int)n;
	if (n < (int64_t)size) {
		/* Bytes may be missing from the middle instead: then other chunks follow. */
		for (size_t at = 8; at + sizeof(later) <= (size_t)n; at++) {
			if (bf_trace_here(t)[at] == (uint8_t)BF_CHUNK_MAGIC[0] &&
			    chunk_at(t, bf_trace_here(t) + at, &later))
				return step_over(t, at, "bytes are missing");
		}
		return take_truncated(t, head, (size_t)n);
	}
	struct bf_error err = { 0 };
	int rc = bf_chunk_unpack(head, bf_trace_here(t) + sizeof(*head), stored_size(head), &t->raw, &err);
	if (rc == -EBADMSG)
		return step_over_payload(t, head, err.text);
	if (rc)
		return bf_fail(t->err, rc, "%s: %s", t->name, rc == -ENOMEM ? "no memory" : err.text);
	if (head->kind == BF_CHUNK_FOOTER)
		return take_footer(t, head);
	if (head->kind == BF_CHUNK_DATA)
		return take_data(t, head);
	bf_trace_consume(t, size); /* of a later minor version */
	t->chunk++;
	return 0;
}

static int load_chunk(struct bf_trace *t)
{
	struct bf_chunk_header head;
	int64_t n = bf_trace_need(t, sizeof(head));
	if (n < 0)
		return (int)n;
	if (n < (int64_t)sizeof(head))
		return end_early(t, (uint64_t)n, BF_TRACE_UNKNOWN, "the file is truncated: it ends without a footer");
	if (!chunk_at(t, bf_trace_here(t), &head))
		return step_over(t, 1, "no chunk starts here");
	uint64_t number = bf_get_le64(head.number.b), first = bf_get_le64(head.first_record.b);
	if (number > t->chunk || first > t->records) {
		struct bf_trace_loss gap = { t->chunk, t->offset, 0, first - t->records };
		t->chunk = number;
		t->records = first;
		t->whole = false;
		return bf_trace_lost(t, &gap, "chunks or records are missing before this one");
	}
	return load_payload(t, &head);
}

/* Records. */

/* The records of a truncated chunk are used up. */
static int end_truncated(struct bf_trace *t)
{
	t->truncated = false;
	t->at = t->raw_end;
	int64_t n = bf_trace_need(t, BF_CHUNK_MAX + sizeof(struct bf_chunk_header));
	return n < 0 ? (int)n : end_early(t, (uint64_t)n, BF_TRACE_UNKNOWN, "the file is truncated inside this chunk");
}

static int bad_record(struct bf_trace *t, const char *why)
{
	struct bf_trace_loss loss = { t->chunk - 1, t->chunk_offset, t->raw_end - t->at, t->chunk_left };
	t->at = t->raw_end;
	t->records += t->chunk_left;
	t->chunk_left = 0;
	t->whole = false;
	return bf_trace_lost(t, &loss, why);
}

static int next_record(struct bf_trace *t, struct bf_trace_record *rec)
{
	while (t->at == t->raw_end) {
		if (t->truncated)
			return end_truncated(t);
		if (t->ended)
			return 0;
		int rc = load_chunk(t);
		if (rc)
			return rc;
	}
	struct bf_error err = { 0 };
	int rc = t->chunk_left ? bf_decls_record(&t->decls, t->raw.at + t->at, t->raw_end - t->at, rec, &err)
			       : bf_fail(&err, -EBADMSG, "more records than the chunk says");
	if (rc)
		return t->truncated ? end_truncated(t) : bad_record(t, err.text);
	t->at += rec->raw_len;
	t->chunk_left--;
	rec->number = t->records++;
	t->chain = bf_hash_records(t->chain, rec->raw, rec->raw_len);
	return 1;
}

/* The index. */

static int index_add(struct bf_trace *t, const struct bf_index_entry *e)
{
	if (BF_GROW(t->index, t->index_cap, t->nindex + 1))
		return bf_fail(t->err, -ENOMEM, "%s: no memory", t->name);
	t->index[t->nindex++] = *e;
	return 0;
}

/* Reads the footer through the trailer, if both are sound; if not, the trace is read without. */
static int read_footer(struct bf_trace *t)
{
	struct bf_trailer trailer;
	struct bf_chunk_header head;
	struct bf_footer foot;
	if (t->size < t->first_chunk + sizeof(head) + sizeof(trailer))
		return 0;
	if (bf_trace_goto(t, t->size - sizeof(trailer)) || bf_trace_need(t, sizeof(trailer)) != sizeof(trailer))
		return 0;
	memcpy(&trailer, bf_trace_here(t), sizeof(trailer));
	uint64_t at = bf_get_le64(trailer.footer.b);
	if (memcmp(trailer.magic, BF_TRAILER_MAGIC, 8) || at > t->size - sizeof(head) || bf_trace_goto(t, at) ||
	    bf_trace_need(t, sizeof(head)) != sizeof(head) || !chunk_at(t, bf_trace_here(t), &head) ||
	    head.kind != BF_CHUNK_FOOTER)
		return 0;
	size_t size = sizeof(head) + stored_size(&head), decls = bf_get_le32(head.decls.b);
	if (bf_trace_need(t, size) != (int64_t)size ||
	    bf_chunk_unpack(&head, bf_trace_here(t) + sizeof(head), stored_size(&head), &t->raw, NULL) ||
	    t->raw.len < decls + sizeof(foot) || read_decls(t, t->raw.at, decls, true, NULL))
		return 0;
	for (size_t i = decls + sizeof(foot); t->raw.len - i >= sizeof(struct bf_index_entry);
	     i += sizeof(struct bf_index_entry)) {
		struct bf_index_entry e;
		memcpy(&e, t->raw.at + i, sizeof(e));
		int rc = index_add(t, &e);
		if (rc)
			return rc;
	}
	t->footer_known = true;
	return 0;
}

/* Without a footer: finds all chunks by their headers. */
static int scan_index(struct bf_trace *t)
{
	struct bf_chunk_header head;
	t->chunk = t->records = 0;
	int rc = bf_trace_goto(t, t->first_chunk);
	if (rc)
		return rc;
	while ((rc = resync(t, 0, &head)) == 1) {
		struct bf_index_entry e = { .number = head.number,
					    .first_record = head.first_record,
					    .time_min = head.time_min,
					    .time_max = head.time_max };
		bf_put_le64(e.offset.b, t->offset);
		rc = head.kind == BF_CHUNK_DATA ? index_add(t, &e) : 0;
		uint64_t next = t->offset + sizeof(head) + stored_size(&head);
		if (rc || next >= t->size)
			return rc;
		/* A chunk whose successor is not where it should be may be damaged: look inside it. */
		struct bf_chunk_header after;
		rc = bf_trace_goto(t, next);
		if (!rc && bf_trace_need(t, sizeof(after)) == sizeof(after) && chunk_at(t, bf_trace_here(t), &after))
			continue;
		rc = bf_trace_goto(t, bf_get_le64(e.offset.b) + 8);
		if (rc)
			return rc;
	}
	return rc;
}

static int seek_time(struct bf_trace *t, uint64_t time_ps)
{
	int rc = !t->nindex && time_ps ? scan_index(t) : 0;
	size_t i = 0;
	while (i < t->nindex && bf_get_le64(t->index[i].time_max.b) < time_ps)
		i++;
	t->at = t->raw_end = 0;
	t->truncated = false;
	t->ended = rc || (time_ps && i == t->nindex);
	t->chunk = t->records = 0;
	t->whole = !time_ps;
	t->chain = BF_HASH_START;
	if (t->ended)
		return rc;
	if (!time_ps)
		return bf_trace_goto(t, t->first_chunk);
	t->chunk = bf_get_le64(t->index[i].number.b);
	t->records = bf_get_le64(t->index[i].first_record.b);
	return bf_trace_goto(t, bf_get_le64(t->index[i].offset.b));
}

/* Opening. */

/* Takes in the declarations of the first chunk without consuming it. */
static void peek_decls(struct bf_trace *t)
{
	struct bf_chunk_header head;
	if (bf_trace_need(t, sizeof(head)) != sizeof(head) || !chunk_at(t, bf_trace_here(t), &head))
		return;
	size_t size = sizeof(head) + stored_size(&head), decls = bf_get_le32(head.decls.b);
	if (head.kind == BF_CHUNK_DATA && bf_trace_need(t, size) == (int64_t)size &&
	    !bf_chunk_unpack(&head, bf_trace_here(t) + sizeof(head), stored_size(&head), &t->raw, NULL) &&
	    t->raw.len >= decls)
		read_decls(t, t->raw.at, decls, false, NULL);
}

/* A file whose header is damaged is a trace if a chunk follows soon. */
static int check_without_header(struct bf_trace *t)
{
	struct bf_chunk_header head;
	int64_t n = bf_trace_need(t, SEARCH_LIMIT);
	for (int64_t i = 0; i + (int64_t)sizeof(head) <= n; i++) {
		const uint8_t *p = bf_trace_here(t) + i;
		if (*p == (uint8_t)BF_CHUNK_MAGIC[0] && chunk_at(t, p, &head))
			return 0;
	}
	return n < 0 ? (int)n : bf_fail(t->err, -EBADMSG, "%s: not a Belfry trace", t->name);
}

int bf_binary_open(struct bf_trace *t)
{
	struct bf_file_header head = { 0 };
	int64_t n = bf_trace_need(t, sizeof(head));
	if (n < 0)
		return (int)n;
	memcpy(&head, bf_trace_here(t), (size_t)n);
	t->next = next_record;
	t->seek = seek_time;
	t->whole = true;
	uint32_t size = bf_get_le32(head.size.b);
	if (n < (int64_t)sizeof(head) || memcmp(head.magic, BF_TRACE_MAGIC, 8) || size < sizeof(head) || size > 4096) {
		int rc = check_without_header(t);
		if (rc)
			return rc;
		size = 0; /* the damage is reported where reading starts */
	} else if (bf_get_le16(head.major.b) != BF_TRACE_MAJOR) {
		return bf_fail(t->err, -ENOTSUP, "%s: trace format %u.%u; this build reads %u", t->name,
			       bf_get_le16(head.major.b), bf_get_le16(head.minor.b), BF_TRACE_MAJOR);
	} else if (bf_trace_need(t, size) != size) {
		return bf_fail(t->err, -EBADMSG, "%s: truncated inside the file header", t->name);
	}
	t->first_chunk = size;
	int rc = t->can_seek ? read_footer(t) : 0;
	if (!rc && t->can_seek)
		rc = bf_trace_goto(t, size);
	else
		bf_trace_consume(t, size);
	if (!rc && !t->footer_known)
		peek_decls(t);
	return rc;
}
