/*
 * Blocks in the order in which readers want them: header, changes of all signals, geometry (how wide signals are),
 * hierarchy (how they are called). Numbers of a block's frame are big-endian, those inside of data are LEB128.
 */
#include "traces/export/fst.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/export/waves_internal.h"

enum block { HEADER = 0, GEOMETRY = 3, CHANGES = 5, HIERARCHY_LZ4 = 6 };
enum { SCOPE = 254, UPSCOPE = 255, SCOPE_MODULE = 0, VAR_REG = 5, DIRECTION_IMPLICIT = 0 };

#define HEADER_LEN 329u
#define TIMESCALE_PS -12
#define VERSION_LEN 128u
#define DATE_LEN 119u

struct bytes {
	uint8_t *at;
	size_t len, cap;
	bool failed;
};

struct chain {
	struct bytes changes;
	uint64_t last_time; /* index of its last change in the table of times */
};

struct fst {
	struct bf_waves waves; /* first: it gets this pointer */
	struct chain *chains;  /* of each signal that has changed */
	uint32_t nchains;
	struct bytes times; /* differences */
	uint64_t ntimes, first_ps, now_ps;
};

/* ---- bytes ---- */

static void put(struct bytes *b, const void *bytes, size_t len)
{
	if (BF_GROW(b->at, b->cap, b->len + len)) {
		b->failed = true;
		return;
	}
	if (len)
		memcpy(b->at + b->len, bytes, len);
	b->len += len;
}

static void put_u8(struct bytes *b, uint8_t v)
{
	put(b, &v, 1);
}

static void put_varint(struct bytes *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_u8(b, (uint8_t)(v | 0x80));
	put_u8(b, (uint8_t)v);
}

static void put_u64(struct bytes *b, uint64_t v)
{
	for (int i = 56; i >= 0; i -= 8)
		put_u8(b, (uint8_t)(v >> i));
}

static void put_text(struct bytes *b, const char *text)
{
	put(b, text, strlen(text) + 1);
}

/* Kind, length of what follows (itself included), and the data. */
static int write_block(struct fst *f, FILE *out, enum block kind, const struct bytes *data)
{
	struct bytes head = { 0 };
	bool bad;

	put_u8(&head, (uint8_t)kind);
	put_u64(&head, data->len + 8);
	bad = head.failed || data->failed;
	if (!bad && (fwrite(head.at, 1, head.len, out) != head.len || fwrite(data->at, 1, data->len, out) != data->len))
		bad = true;
	free(head.at);
	if (data->failed)
		return bf_waves_no_memory(&f->waves);
	return bad ? bf_fail(f->waves.err, -EIO, "cannot write the waveforms: %s", strerror(errno)) : 0;
}

/* ---- what the timeline tells ---- */

/* The table of times holds each time once, as the difference to the one before. */
static void note_time(struct fst *f, uint64_t time_ps)
{
	if (f->ntimes && time_ps == f->now_ps)
		return;
	if (!f->ntimes)
		f->first_ps = time_ps;
	put_varint(&f->times, f->ntimes ? time_ps - f->now_ps : time_ps);
	f->now_ps = time_ps;
	f->ntimes++;
}

/* A change: how many times later than the one before, and the value's bits. */
static int change(struct bf_waves *w, uint32_t signal, uint64_t time_ps, uint64_t value)
{
	struct fst *f = (struct fst *)w;
	const uint32_t bits = w->signals[signal].bits;
	struct chain *c;
	uint64_t later;

	if (BF_GROW(f->chains, f->nchains, (size_t)signal + 1))
		return bf_waves_no_memory(w);
	c = &f->chains[signal];
	note_time(f, time_ps);
	later = f->ntimes - 1 - c->last_time;
	if (bits == 1) {
		put_varint(&c->changes, later << 2 | (value & 1) << 1);
	} else {
		const uint32_t len = (bits + 7) / 8;
		const uint64_t left = value << (8 * len - bits); /* packed from the most significant bit on */

		put_varint(&c->changes, later << 1);
		for (uint32_t i = len; i-- > 0;)
			put_u8(&c->changes, (uint8_t)(left >> 8 * i));
	}
	c->last_time = f->ntimes - 1;
	return c->changes.failed || f->times.failed ? bf_waves_no_memory(w) : 0;
}

/* ---- blocks ---- */

static int write_header(struct fst *f, FILE *out, uint32_t scopes)
{
	static const double endian_test = 2.7182818284590452354;
	char version[VERSION_LEN] = "Belfry", date[DATE_LEN] = "";
	struct bytes b = { 0 };
	int rc;

	put_u64(&b, f->first_ps);
	put_u64(&b, f->now_ps);
	put(&b, &endian_test, sizeof(endian_test)); /* in the writer's order, so that readers can tell it */
	put_u64(&b, 0);                             /* the writer's memory */
	put_u64(&b, scopes);
	put_u64(&b, f->waves.nsignals);
	put_u64(&b, f->waves.nsignals);
	put_u64(&b, 1); /* sections of changes */
	put_u8(&b, (uint8_t)TIMESCALE_PS);
	put(&b, version, sizeof(version));
	put(&b, date, sizeof(date));
	put_u8(&b, 0);  /* made of Verilog's types */
	put_u64(&b, 0); /* time zero */
	rc = write_block(f, out, HEADER, &b);
	free(b.at);
	return rc;
}

/* What all signals are before their first change: unknown. */
static void put_frame(struct fst *f, struct bytes *b)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < f->waves.nsignals; i++)
		bits += f->waves.signals[i].bits;
	put_varint(b, bits);
	put_varint(b, bits); /* as long as before: not compressed */
	put_varint(b, f->waves.nsignals);
	for (uint64_t i = 0; i < bits; i++)
		put_u8(b, 'x');
}

/* The signals' chains one behind the other, each with a 0 in front (not compressed), then where each begins. */
static void put_chains(struct fst *f, struct bytes *b)
{
	struct bytes places = { 0 };
	const size_t begin = b->len;
	uint64_t last = 0, none = 0;

	put_u8(b, '4');
	for (uint32_t i = 0; i < f->waves.nsignals; i++) {
		const struct bytes *c = i < f->nchains ? &f->chains[i].changes : &(struct bytes){ 0 };

		if (!c->len) {
			none++;
			continue;
		}
		if (none)
			put_varint(&places, none << 1);
		none = 0;
		put_varint(&places, (b->len - begin - last) << 1 | 1);
		last = b->len - begin;
		put_u8(b, 0);
		put(b, c->at, c->len);
	}
	if (none)
		put_varint(&places, none << 1);
	put(b, places.at, places.len);
	put_u64(b, places.len);
	b->failed |= places.failed;
	free(places.at);
}

static int write_changes(struct fst *f, FILE *out)
{
	struct bytes b = { 0 };
	int rc;

	put_u64(&b, f->first_ps);
	put_u64(&b, f->now_ps);
	put_u64(&b, f->waves.nchanges * 16); /* memory that a reader wants */
	put_frame(f, &b);
	put_varint(&b, f->waves.nsignals);
	put_chains(f, &b);
	put(&b, f->times.at, f->times.len);
	put_u64(&b, f->times.len);
	put_u64(&b, f->times.len);
	put_u64(&b, f->ntimes);
	rc = write_block(f, out, CHANGES, &b);
	free(b.at);
	return rc;
}

static int write_geometry(struct fst *f, FILE *out)
{
	struct bytes widths = { 0 }, b = { 0 };
	int rc;

	for (uint32_t i = 0; i < f->waves.nsignals; i++)
		put_varint(&widths, f->waves.signals[i].bits);
	put_u64(&b, widths.len);
	put_u64(&b, f->waves.nsignals);
	put(&b, widths.at, widths.len);
	b.failed |= widths.failed;
	rc = write_block(f, out, GEOMETRY, &b);
	free(widths.at);
	free(b.at);
	return rc;
}

/* Scopes are left and entered on the way from one signal to the next, which stand in order of their numbers. */
static void enter(struct fst *f, struct bytes *b, uint32_t track, uint32_t *scopes)
{
	if (f->waves.scopes[track].parent)
		enter(f, b, f->waves.scopes[track].parent, scopes);
	put_u8(b, SCOPE);
	put_u8(b, SCOPE_MODULE);
	put_text(b, f->waves.scopes[track].name);
	put_text(b, "");
	++*scopes;
}

static void leave(struct fst *f, struct bytes *b, uint32_t track)
{
	for (; track; track = f->waves.scopes[track].parent)
		put_u8(b, UPSCOPE);
}

static void put_hierarchy(struct fst *f, struct bytes *b, uint32_t *scopes)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < f->waves.nsignals; i++) {
		const struct bf_wave_signal *s = &f->waves.signals[i];

		if (s->track != at) {
			leave(f, b, at);
			enter(f, b, s->track, scopes);
			at = s->track;
		}
		put_u8(b, VAR_REG);
		put_u8(b, DIRECTION_IMPLICIT);
		put_text(b, s->name);
		put_varint(b, s->bits);
		put_varint(b, 0); /* no alias: the next number */
	}
	leave(f, b, at);
}

/* An LZ4 block of one sequence: how many literals, and they. */
static int write_hierarchy(struct fst *f, FILE *out, const struct bytes *h)
{
	struct bytes b = { 0 };
	size_t left = h->len;
	int rc;

	put_u64(&b, h->len);
	put_u8(&b, (uint8_t)((left < 15 ? left : 15) << 4));
	if (left >= 15) {
		for (left -= 15; left >= 255; left -= 255)
			put_u8(&b, 255);
		put_u8(&b, (uint8_t)left);
	}
	put(&b, h->at, h->len);
	b.failed |= h->failed;
	rc = write_block(f, out, HIERARCHY_LZ4, &b);
	free(b.at);
	return rc;
}

static int write_all(struct fst *f, FILE *out)
{
	struct bytes hierarchy = { 0 };
	uint32_t scopes = 0;
	int rc;

	/* A file without a change is none that readers take. */
	if (!f->ntimes)
		note_time(f, 0);
	put_hierarchy(f, &hierarchy, &scopes);
	rc = write_header(f, out, scopes);
	if (!rc)
		rc = write_changes(f, out);
	if (!rc)
		rc = write_geometry(f, out);
	if (!rc)
		rc = write_hierarchy(f, out, &hierarchy);
	free(hierarchy.at);
	if (!rc && fflush(out))
		rc = bf_fail(f->waves.err, -EIO, "cannot write the waveforms: %s", strerror(errno));
	return rc;
}

int bf_fst_export(struct bf_trace *t, FILE *out, struct bf_vcd_result *result, struct bf_error *err)
{
	struct fst f = { 0 };
	int rc, written = 0;

	bf_waves_init(&f.waves, change, err);
	rc = bf_timeline_read(t, NULL, &f.waves.out, err);
	if (!rc || rc == -EBADMSG)
		written = write_all(&f, out);
	if (result)
		*result = (struct bf_vcd_result){ .signals = f.waves.nsignals, .changes = f.waves.nchanges };
	for (uint32_t i = 0; i < f.nchains; i++)
		free(f.chains[i].changes.at);
	free(f.chains);
	free(f.times.at);
	bf_waves_fini(&f.waves);
	return written ? written : rc;
}
