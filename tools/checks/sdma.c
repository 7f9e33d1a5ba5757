/*
 * belfry check sdma-rect: requests and the packets that they must become, dword by dword; then the packets run on the
 * model and the result is compared with a plain loop.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/sdma/copy.h"
#include "tools/checks/check.h"
#include "tools/workloads/sdma_stand.h"

#define PACKETS_MAX 4096u

struct vector {
	char id[40], tag[96], error[24];
	bool wide, submit;
	struct bf_sdma_drv_rect rect;
	uint32_t npackets;
	uint32_t dw[PACKETS_MAX][BF_SDMA_RECT_DWORDS];
};

enum outcome { AS_IT_MUST, PACKETS_DIFFER, DATA_DIFFER, TOO_LARGE };

static enum outcome outcome_of(enum bf_stand_result r)
{
	return r == BF_STAND_SAME ? AS_IT_MUST : r == BF_STAND_DIFFERS ? DATA_DIFFER : TOO_LARGE;
}

struct tally {
	struct bf_check base;
	uint64_t good, run, large;
	struct vector vector;                           /* the line's, */
	uint32_t dw[PACKETS_MAX * BF_SDMA_RECT_DWORDS]; /* and what becomes of it */
};

/* ---- reading ---- */

static int read_text(struct bf_json_line *l, const char *name, char *out, size_t cap, bool needed)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);

	out[0] = '\0';
	if (!m)
		return needed ? bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": no \"%s\"", l->number, name) : 0;
	if (m->token != BF_JSON_STRING || m->value_len >= cap)
		return bf_json_line_fail(l, m, name, "is not text, or too long");
	snprintf(out, cap, "%.*s", (int)m->value_len, m->value);
	return 0;
}

static int read_number(struct bf_json_line *l, const char *name, uint64_t max, uint64_t *out)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);

	if (!m)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": no \"%s\"", l->number, name);
	return bf_json_line_integer(l, m, name, BF_JSON_DECIMAL, max, out);
}

/* Steps over blanks and `c`; false when something else stands there. */
static bool take(const char **p, const char *end, char c)
{
	while (*p < end && (**p == ' ' || **p == '\t'))
		++*p;
	if (*p == end || **p != c)
		return false;
	++*p;
	return true;
}

/* [x, y, z] */
static int read_triple(struct bf_json_line *l, const char *name, struct bf_sdma_drv_dim3 *out)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);
	uint32_t *const to[3] = { &out->x, &out->y, &out->z };
	const char *p, *end;
	bool good = m != NULL;

	if (!m)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": no \"%s\"", l->number, name);
	p = m->value;
	end = p + m->value_len;
	good = take(&p, end, '[');
	for (int i = 0; good && i < 3; i++) {
		uint64_t v = 0;
		unsigned digits = 0;

		while (p < end && *p == ' ')
			p++;
		for (; p < end && *p >= '0' && *p <= '9' && digits < 10; p++, digits++)
			v = v * 10 + (uint64_t)(*p - '0');
		good = digits && v <= UINT32_MAX && take(&p, end, i < 2 ? ',' : ']');
		*to[i] = (uint32_t)v;
	}
	return good ? 0 : bf_json_line_fail(l, m, name, "is not [x, y, z]");
}

/* ["80000401", ...]: thirteen of eight digits. */
static int read_dwords(struct bf_json_line *l, struct bf_json_line *in, uint32_t dw[BF_SDMA_RECT_DWORDS])
{
	const struct bf_json_member *m = bf_json_line_find(in, "dw");
	const char *p, *end;
	bool good;

	if (!m)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": a packet without \"dw\"", l->number);
	p = m->value;
	end = p + m->value_len;
	good = take(&p, end, '[');
	for (uint32_t i = 0; good && i < BF_SDMA_RECT_DWORDS; i++) {
		uint32_t v = 0;

		good = take(&p, end, '"') && end - p > 8;
		for (int k = 0; good && k < 8; k++, p++) {
			good = bf_hex_digit(*p) >= 0;
			v = v << 4 | (uint32_t)(bf_hex_digit(*p) & 15);
		}
		dw[i] = v;
		good = good && take(&p, end, '"') && take(&p, end, i + 1 < BF_SDMA_RECT_DWORDS ? ',' : ']');
	}
	return good ? 0 : bf_json_line_fail(in, m, "dw", "is not thirteen dwords of eight hexadecimal digits");
}

/* From `p` at a '{' to behind its '}'; NULL when it does not end. Strings may hold braces. */
static const char *object_end(const char *p, const char *end)
{
	unsigned depth = 0;
	bool quoted = false;

	for (; p < end; p++) {
		if (quoted && *p == '\\')
			p++;
		else if (*p == '"')
			quoted = !quoted;
		else if (!quoted && *p == '{')
			depth++;
		else if (!quoted && *p == '}' && !--depth)
			return p + 1;
	}
	return NULL;
}

static int read_packets(struct bf_json_line *l, struct vector *v)
{
	const struct bf_json_member *m = bf_json_line_find(l, "packets");
	const char *p, *end;
	int rc = 0;

	if (!m)
		return v->error[0] ? 0
				   : bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": neither \"packets\" nor \"error\"",
					     l->number);
	if (v->error[0])
		return bf_json_line_fail(l, m, "packets", "cannot go with an error");
	p = m->value;
	end = p + m->value_len;
	if (!take(&p, end, '['))
		return bf_json_line_fail(l, m, "packets", "is not a list");
	while (!rc && !take(&p, end, ']')) {
		struct bf_json_line in = { .start = l->start, .number = l->number, .err = l->err };

		while (p < end && (*p == ' ' || *p == ','))
			p++;
		in.p = p;
		in.end = p < end && *p == '{' ? object_end(p, end) : NULL;
		if (!in.end)
			return bf_json_line_fail(l, m, "packets", "is not a list of objects");
		if (v->npackets == PACKETS_MAX)
			return bf_json_line_fail(l, m, "packets", "has more than 4096 packets");
		p = in.end;
		rc = bf_json_line_scan(&in);
		if (!rc)
			rc = read_dwords(l, &in, v->dw[v->npackets++]);
	}
	return rc;
}

static int read_vector(struct bf_json_line *l, struct vector *v)
{
	struct bf_sdma_drv_rect *r = &v->rect;
	char gen[16], entry[16];
	int rc;

	v->npackets = 0;
	rc = read_text(l, "id", v->id, sizeof(v->id), true);
	rc = rc ? rc : read_text(l, "tag", v->tag, sizeof(v->tag), false);
	rc = rc ? rc : read_text(l, "gen", gen, sizeof(gen), true);
	rc = rc ? rc : read_text(l, "entry", entry, sizeof(entry), true);
	rc = rc ? rc : read_text(l, "error", v->error, sizeof(v->error), false);
	rc = rc ? rc : read_number(l, "src_base", UINT64_MAX, &r->src.base);
	rc = rc ? rc : read_number(l, "dst_base", UINT64_MAX, &r->dst.base);
	rc = rc ? rc : read_number(l, "src_pitch", UINT64_MAX, &r->src.pitch);
	rc = rc ? rc : read_number(l, "dst_pitch", UINT64_MAX, &r->dst.pitch);
	rc = rc ? rc : read_number(l, "src_slice", UINT64_MAX, &r->src.slice);
	rc = rc ? rc : read_number(l, "dst_slice", UINT64_MAX, &r->dst.slice);
	rc = rc ? rc : read_triple(l, "src_off", &r->src_off);
	rc = rc ? rc : read_triple(l, "dst_off", &r->dst_off);
	rc = rc ? rc : read_triple(l, "range", &r->range);
	if (rc)
		return rc;
	if (strcmp(gen, "gfx9") != 0 && strcmp(gen, "gfx12") != 0)
		return bf_json_line_fail(l, bf_json_line_find(l, "gen"), "gen", "is neither gfx9 nor gfx12");
	if (strcmp(entry, "build") != 0 && strcmp(entry, "submit") != 0)
		return bf_json_line_fail(l, bf_json_line_find(l, "entry"), "entry", "is neither build nor submit");
	v->wide = strcmp(gen, "gfx12") == 0;
	v->submit = strcmp(entry, "submit") == 0;
	return read_packets(l, v);
}

/* ---- the packets ---- */

static const struct bf_sdma_drv_caps *caps_of(const struct vector *v)
{
	return bf_sdma_drv_caps_of(v->wide ? BF_SDMA_V7 : BF_SDMA_V4);
}

static enum bf_sdma_drv_rect_error build(const struct vector *v, struct bf_sdma_drv_body *b)
{
	return v->submit ? bf_sdma_drv_rect_copy(b, &v->rect) : bf_sdma_drv_rect_tiles(b, &v->rect);
}

static enum outcome compare_packets(const struct vector *v, uint32_t *dw, char *wrong, size_t cap)
{
	const char *expected = v->error[0] ? v->error : "ok";
	struct bf_sdma_drv_body b;
	enum bf_sdma_drv_rect_error e;

	bf_sdma_drv_body_begin(&b, caps_of(v), 0, dw, PACKETS_MAX * BF_SDMA_RECT_DWORDS);
	e = build(v, &b);
	if (strcmp(bf_sdma_drv_rect_error_name(e), expected) != 0) {
		snprintf(wrong, cap, "is %s, should be %s", bf_sdma_drv_rect_error_name(e), expected);
		return PACKETS_DIFFER;
	}
	if (b.n != v->npackets * BF_SDMA_RECT_DWORDS) {
		snprintf(wrong, cap, "%" PRIu32 " packets, should be %" PRIu32, b.n / BF_SDMA_RECT_DWORDS, v->npackets);
		return PACKETS_DIFFER;
	}
	for (uint32_t i = 0; i < b.n; i++) {
		const uint32_t should = v->dw[i / BF_SDMA_RECT_DWORDS][i % BF_SDMA_RECT_DWORDS];

		if (dw[i] == should)
			continue;
		snprintf(wrong, cap, "packet %" PRIu32 ", dword %" PRIu32 ": is %08" PRIx32 ", should be %08" PRIx32,
			 i / BF_SDMA_RECT_DWORDS, i % BF_SDMA_RECT_DWORDS, dw[i], should);
		return PACKETS_DIFFER;
	}
	return AS_IT_MUST;
}

/* ---- telling ---- */

static void tell(const struct vector *v, const struct tally *t, enum outcome o, bool ran, const char *wrong)
{
	const char *how = o == AS_IT_MUST || o == TOO_LARGE ? "ok" : "MISMATCH";

	if (!t->base.json) {
		printf("%-9s %s %s: %s%s%" PRIu32 " packets%s\n", how, v->id, v->tag, v->error, v->error[0] ? ", " : "",
		       v->npackets,
		       ran              ? ", run"
		       : o == TOO_LARGE ? ", too large to run"
					: "");
		if (wrong[0])
			printf("          %s\n", wrong);
		return;
	}
	bf_json_open(t->base.json, NULL, '{');
	bf_json_text(t->base.json, "id", v->id);
	bf_json_u64(t->base.json, "packets", v->npackets);
	bf_json_bool(t->base.json, "ok", o == AS_IT_MUST || o == TOO_LARGE);
	bf_json_bool(t->base.json, "run", ran);
	if (v->error[0])
		bf_json_text(t->base.json, "error", v->error);
	if (wrong[0])
		bf_json_text(t->base.json, "wrong", wrong);
	bf_json_close(t->base.json, '}');
}

static int take_vector(void *tally, struct bf_json_line *l)
{
	struct tally *t = tally;
	const struct vector *v = &t->vector;
	char wrong[200] = "";
	enum outcome o;
	enum bf_stand_result r;
	bool ran = false;
	int rc = read_vector(l, &t->vector);

	if (rc)
		return rc;
	o = compare_packets(v, t->dw, wrong, sizeof(wrong));
	if (o == AS_IT_MUST && v->npackets) {
		rc = bf_sdma_work_stand_run(&v->rect, v->wide ? &bf_sdma_v7 : &bf_sdma_v4, t->dw,
					    v->npackets * BF_SDMA_RECT_DWORDS, &r, wrong, sizeof(wrong));
		if (rc)
			return bf_fail(l->err, rc, "%s: cannot run it: %s", v->id, strerror(-rc));
		o = outcome_of(r);
		ran = o != TOO_LARGE;
	}
	t->base.taken++;
	t->run += ran;
	t->large += o == TOO_LARGE;
	t->good += o == AS_IT_MUST || o == TOO_LARGE;
	t->base.bad += o == PACKETS_DIFFER || o == DATA_DIFFER;
	tell(v, t, o, ran, wrong);
	return 0;
}

static void print_summary(const void *tally)
{
	const struct tally *t = tally;

	printf("%" PRIu64 " of %" PRIu64 " correct; %" PRIu64 " run on the model, %" PRIu64 " too large for that\n",
	       t->good, t->base.taken, t->run, t->large);
}

static void json_summary(struct bf_json *j, const void *tally)
{
	const struct tally *t = tally;

	bf_json_u64(j, "good", t->good);
	bf_json_u64(j, "mismatches", t->base.bad);
	bf_json_u64(j, "run", t->run);
	bf_json_u64(j, "too_large_to_run", t->large);
}

const struct bf_check_form bf_check_sdma_rect = {
	.form = { .name = "sdma-rect",
		  .details = "FILE is JSON Lines with requests for sub-window copies and the packets that they become. "
			     "Packets are compared dword by dword; then they run on the model, and the result is "
			     "compared with a plain loop." },
	.each = "vector",
	.list = "vectors",
	.tally_bytes = sizeof(struct tally),
	.take = take_vector,
	.print = print_summary,
	.summary = json_summary,
};
