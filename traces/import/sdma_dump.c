#include "traces/import/sdma_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/grow.h"
#include "traces/container/text.h"
#include "traces/container/trace.h"
#include "traces/records/sdma_dump.h"

/* A ring is at most 1 GiB. */
#define DWORDS_MAX (1u << 28)

struct line {
	const char *start, *p, *end;
	uint32_t number;
	struct bf_error *err;
};

static int fail_at(const struct line *l, const char *p, const char *what)
{
	return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ", column %zu: %s", l->number, (size_t)(p - l->start) + 1,
		       what);
}

static void skip_blanks(struct line *l)
{
	while (l->p < l->end && (*l->p == ' ' || *l->p == '\t' || *l->p == ','))
		l->p++;
}

/* Decimal, or hexadecimal with 0x or in `base` 16. False when there is none or it needs more than 32 bits. */
static bool read_number(struct line *l, unsigned base, uint32_t *out)
{
	const char *first;
	uint64_t v = 0;

	if (l->end - l->p > 2 && l->p[0] == '0' && (l->p[1] == 'x' || l->p[1] == 'X')) {
		base = 16;
		l->p += 2;
	}
	for (first = l->p; l->p < l->end; l->p++) {
		const unsigned d = (unsigned)bf_hex_digit(*l->p); /* -1: larger than any base */

		if (d >= base)
			break;
		v = v * base + d;
		if (v > UINT32_MAX)
			return false;
	}
	*out = (uint32_t)v;
	return l->p > first;
}

/* ---- storage ---- */

/* `index` is where the dword stands in the ring. */
static int append(struct bf_sdma_dump *d, uint32_t index, uint32_t value, struct line *l, const char *at)
{
	const uint64_t next = d->first + d->count;

	if (d->count == 0) {
		d->first = index;
	} else if (index == 0 && !d->ring_dwords && next >= 2) {
		if (next & (next - 1))
			return fail_at(l, at, "the ring ends here, but its size is not a power of two");
		d->ring_dwords = (uint32_t)next;
	} else if (index != (d->ring_dwords ? next % d->ring_dwords : next)) {
		return fail_at(l, at, "this dword does not follow the one before");
	}
	if (d->count == DWORDS_MAX || (d->ring_dwords && d->count == d->ring_dwords))
		return fail_at(l, at, "more dwords than the ring has");
	if (BF_GROW(d->dw, d->cap, d->count + 1))
		return bf_fail(l->err, -ENOMEM, "out of memory at line %" PRIu32, l->number);
	d->dw[d->count++] = value;
	return 0;
}

void bf_sdma_dump_free(struct bf_sdma_dump *d)
{
	if (d)
		free(d->dw);
	free(d);
}

/* ---- umr's form ---- */

/* Colours, if it was printed to a terminal, are not text. */
static size_t strip_colours(const char *p, const char *end, char *out, size_t cap)
{
	size_t n = 0;

	while (p < end && n + 1 < cap) {
		if (*p == '\033' && p + 1 < end && p[1] == '[') {
			for (p += 2; p < end && *p != 'm'; p++)
				;
			p += p < end;
			continue;
		}
		out[n++] = *p++;
	}
	out[n] = '\0';
	return n;
}

static const char *find(const char *text, const char *what, size_t *len)
{
	*len = strlen(what);
	return strstr(text, what);
}

static void take_name(struct bf_sdma_dump *d, const char *start, const char *dot)
{
	while (start < dot && (*start == ' ' || *start == '\t'))
		start++;
	if (!d->name[0])
		snprintf(d->name, sizeof(d->name), "%.*s", (int)(dot - start < 31 ? dot - start : 31), start);
}

/* 1: a line of umr's; 0: another; negative errno. `text` is the line without colours. */
static int take_umr(struct bf_sdma_dump *d, struct line *l, char *text, size_t n)
{
	struct line t = { .start = text, .end = text + n, .number = l->number, .err = l->err };
	uint32_t index, value;
	size_t len;
	const char *at;
	bool read;

	if ((at = find(text, ".ring[", &len))) {
		t.p = at + len;
		skip_blanks(&t);
		if (!read_number(&t, 10, &index) || index >= DWORDS_MAX || t.p == t.end || *t.p++ != ']')
			return fail_at(&t, t.p, "an index and ']' is expected here");
		skip_blanks(&t);
		if (t.end - t.p < 2 || memcmp(t.p, "==", 2) != 0)
			return fail_at(&t, t.p, "'==' is expected here");
		t.p += 2;
		skip_blanks(&t);
		if (!read_number(&t, 16, &value))
			return fail_at(&t, t.p, "32 bits in hexadecimal is expected here");
		take_name(d, text, at);
		index = (uint32_t)append(d, index, value, &t, at);
		return index ? (int)index : 1;
	}
	if ((at = find(text, ".drv_wptr == ", &len)))
		return 1; /* the driver's copy says what will be published, not what was */
	read = (at = find(text, ".rptr == ", &len)) != NULL;
	if (!read && !(at = find(text, ".wptr == ", &len)))
		return 0;
	t.p = at + len;
	if (!read_number(&t, 10, read ? &d->rptr : &d->wptr))
		return fail_at(&t, t.p, "a number is expected here");
	take_name(d, text, at);
	d->has_rptr |= read;
	d->has_wptr |= !read;
	return 1;
}

/* ---- the plain form ---- */

static int take_plain(struct bf_sdma_dump *d, struct line *l)
{
	const char *colon = memchr(l->start, ':', (size_t)(l->end - l->start)), *at;
	uint32_t index = (uint32_t)(d->first + d->count), value;
	int rc = 0;

	if (d->ring_dwords)
		index %= d->ring_dwords;
	l->p = l->start;
	skip_blanks(l);
	if (colon) {
		at = l->p;
		if (!read_number(l, 16, &value) || l->p != colon || value % 4)
			return fail_at(l, at, "an offset in bytes, a multiple of 4, is expected before ':'");
		index = value / 4;
		l->p = colon + 1;
		skip_blanks(l);
	}
	for (; !rc && l->p < l->end && *l->p != '#'; skip_blanks(l)) {
		at = l->p;
		if (!read_number(l, 16, &value) ||
		    (l->p < l->end && *l->p != ' ' && *l->p != '\t' && *l->p != ',' && *l->p != '#'))
			return fail_at(l, at, "32 bits in hexadecimal is expected here");
		rc = append(d, index++, value, l, at);
	}
	return rc;
}

static int take_line(struct bf_sdma_dump *d, struct line *l)
{
	char text[512];
	size_t n = strip_colours(l->start, l->end, text, sizeof(text));
	int rc = take_umr(d, l, text, n);

	if (rc)
		return rc < 0 ? rc : 0;
	return take_plain(d, l);
}

int bf_sdma_dump_parse(const char *text, size_t len, struct bf_sdma_dump **out, struct bf_error *err)
{
	struct bf_sdma_dump *d = calloc(1, sizeof(*d));
	const char *p = text, *end = text + len;
	uint32_t number = 0;
	int rc = 0;

	*out = d;
	if (!d)
		return bf_fail(err, -ENOMEM, "out of memory");
	while (!rc && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
		struct line l = { .start = p,
				  .end = stop > p && stop[-1] == '\r' ? stop - 1 : stop,
				  .number = ++number,
				  .err = err };

		rc = take_line(d, &l);
		p = newline ? newline + 1 : end;
	}
	if (!rc && d->count == 0)
		rc = bf_fail(err, -EBADMSG, "there is no dword in it");
	if (rc == -ENOMEM) {
		bf_sdma_dump_free(d);
		*out = NULL;
	}
	return rc;
}

bool bf_sdma_dump_probe(const char *text, size_t len)
{
	const char *newline = len ? memrchr(text, '\n', len) : NULL;
	struct bf_error err = { 0 };
	struct bf_sdma_dump *d;
	bool found;

	if (memchr(text, '\0', len))
		return false;
	bf_sdma_dump_parse(text, newline ? (size_t)(newline - text) : len, &d, &err);
	found = d && (d->count > 0 || d->has_rptr);
	bf_sdma_dump_free(d);
	return found;
}

/* ---- traces ---- */

static int from_trace(struct bf_trace *t, struct bf_sdma_dump **out, struct bf_error *err)
{
	struct bf_trace_record rec;
	struct bf_sdma_dump *d;
	uint64_t v;
	int rc;

	while ((rc = bf_trace_next(t, &rec)) > 0 && strcmp(rec.type->name, "sdma_dump") != 0)
		;
	if (rc < 0)
		return rc;
	if (rc == 0 || rec.tail_len == 0 || rec.tail_len % 4)
		return bf_fail(err, -EBADMSG, "the trace holds no dump of a ring");
	d = calloc(1, sizeof(*d));
	if (d)
		d->dw = malloc(rec.tail_len);
	if (!d || !d->dw) {
		bf_sdma_dump_free(d);
		return bf_fail(err, -ENOMEM, "out of memory");
	}
	memcpy(d->dw, rec.tail, rec.tail_len);
	d->count = d->cap = rec.tail_len / 4;
	if (bf_trace_field_u64(&rec, "first", &v))
		d->first = (uint32_t)v & (DWORDS_MAX - 1);
	if (bf_trace_field_u64(&rec, "ring_dwords", &v) && v <= DWORDS_MAX && (v & (v - 1)) == 0 && v >= d->count)
		d->ring_dwords = (uint32_t)v;
	d->has_rptr = bf_trace_field_u64(&rec, "rptr", &v) && v <= UINT32_MAX;
	d->rptr = d->has_rptr ? (uint32_t)v : 0;
	d->has_wptr = bf_trace_field_u64(&rec, "wptr", &v) && v <= UINT32_MAX;
	d->wptr = d->has_wptr ? (uint32_t)v : 0;
	bf_trace_field_text(&rec, "name", d->name, sizeof(d->name));
	*out = d;
	return 0;
}

int bf_sdma_dump_load_file(FILE *f, const char *path, struct bf_sdma_dump **out, struct bf_error *err)
{
	char head[4096], *text;
	size_t n = fread(head, 1, sizeof(head), f);
	struct bf_trace *t;
	int rc;

	*out = NULL;
	rewind(f);
	if (!bf_sdma_dump_probe(head, n) && bf_trace_open(path, f, &t, err) == 0) {
		rc = from_trace(t, out, err);
		bf_trace_close(t);
		return rc;
	}
	rewind(f);
	rc = bf_text_whole(f, path, &text, &n, err);
	if (!rc && memchr(text, '\0', n))
		rc = bf_fail(err, -EBADMSG, "this is not text");
	if (!rc)
		rc = bf_sdma_dump_parse(text, n, out, err);
	free(text);
	return rc;
}

int bf_sdma_dump_emit(const struct bf_sdma_dump *d, struct bf_sink *sink, struct bf_error *err)
{
	struct bf_rec_sdma_dump r = { .rptr = d->has_rptr ? (int64_t)d->rptr : -1,
				      .wptr = d->has_wptr ? (int64_t)d->wptr : -1,
				      .first = d->first,
				      .ring_dwords = d->ring_dwords };
	struct bf_stream st = { 0 };
	uint64_t clock_ps = 0;
	int rc, closed;

	if (d->count > BF_RECORD_TAIL_MAX / 4)
		return bf_fail(err, -EMSGSIZE, "%zu dwords: a record holds %u", d->count, BF_RECORD_TAIL_MAX / 4);
	memcpy(r.name, d->name, strnlen(d->name, sizeof(r.name)));
	rc = bf_stream_open(&st, &clock_ps, BF_CLASS_ALL, sink);
	if (!rc)
		bf_record(&st, &bf_rec_sdma_dump_schema, bf_stream_actor(&st, "queue", d->name[0] ? d->name : "sdma"),
			  &r, d->dw, (uint32_t)(d->count * 4));
	closed = bf_stream_close(&st);
	bf_stream_fini(&st);
	rc = rc ? rc : closed;
	return rc ? bf_fail(err, rc, "cannot write the record: %s", strerror(-rc)) : 0;
}
