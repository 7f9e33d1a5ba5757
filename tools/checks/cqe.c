/* belfry check mlx5-cqe: completions that others recorded, decoded, against what is said of them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "models/mlx5/wqe.h"
#include "tools/checks/check.h"
#include "tools/checks/cqe_note.h"
#include "tools/cli/hex.h"

struct vector {
	uint8_t cqe[64];
	char source[96], note[512];
	struct bf_cqe_expect expect;
};

/* The fields that are checked, and the signature. */
struct outcome {
	char checked[160];
	char wrong[256];
	bool mismatch;
};

struct tally {
	struct bf_check base;
	uint64_t good, silent;
};

/* ---- reading ---- */

static void copy_text(const struct bf_json_member *m, char *out, size_t cap)
{
	snprintf(out, cap, "%.*s", m ? (int)(m->value_len < cap ? m->value_len : cap - 1) : 0, m ? m->value : "");
}

static int read_expect_field(struct bf_json_line *l, const char *name, int64_t *out)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);
	uint64_t v;
	int rc;

	if (!m)
		return 0;
	rc = bf_json_line_integer(l, m, name, m->token == BF_JSON_STRING ? BF_JSON_HEX : BF_JSON_DECIMAL, UINT32_MAX,
				  &v);
	if (!rc)
		*out = (int64_t)v;
	return rc;
}

/* {"expect": {"syndrome": 19, "vendor": "0x88", ...}}: said outright, so it outweighs the note. */
static int read_expect(struct bf_json_line *l, struct bf_cqe_expect *e)
{
	const struct bf_json_member *m = bf_json_line_find(l, "expect");
	struct bf_json_line inner = { .number = l->number, .err = l->err };
	int rc;

	if (!m)
		return 0;
	inner.start = l->start;
	inner.p = m->value;
	inner.end = m->value + m->value_len;
	rc = bf_json_line_scan(&inner);
	if (!rc)
		rc = read_expect_field(&inner, "syndrome", &e->syndrome);
	if (!rc)
		rc = read_expect_field(&inner, "vendor", &e->vendor);
	if (!rc)
		rc = read_expect_field(&inner, "qpn", &e->qpn);
	if (!rc)
		rc = read_expect_field(&inner, "opcode", &e->wqe_opcode);
	if (!rc)
		rc = read_expect_field(&inner, "status", &e->status);
	return rc ? rc : read_expect_field(&inner, "slot", &e->slot);
}

static int read_bytes(struct bf_json_line *l, uint8_t cqe[64])
{
	const struct bf_json_member *m = bf_json_line_find(l, "words");
	const char *name = m ? "words" : "bytes";
	struct bf_error err = { 0 };
	char text[1024];
	size_t len = 0;

	if (!m)
		m = bf_json_line_find(l, "bytes");
	if (!m)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": neither \"words\" nor \"bytes\"", l->number);
	if (m->value_len >= sizeof(text))
		return bf_json_line_fail(l, m, name, "is longer than a completion");
	copy_text(m, text, sizeof(text));
	if (bf_hex_append(text, cqe, 64, &len, &err))
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": \"%s\": %.150s", l->number, name, err.text);
	if (len != 64)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": \"%s\" has %zu bytes, a completion has 64",
			       l->number, name, len);
	return 0;
}

static int read_vector(struct bf_json_line *l, struct vector *v)
{
	int rc = read_bytes(l, v->cqe);

	bf_cqe_expect_none(&v->expect);
	if (rc)
		return rc;
	copy_text(bf_json_line_find(l, "source"), v->source, sizeof(v->source));
	copy_text(bf_json_line_find(l, "note"), v->note, sizeof(v->note));
	bf_cqe_note_read(v->note, &v->expect);
	return read_expect(l, &v->expect);
}

/* ---- checking ---- */

static void check(struct outcome *o, const char *name, int64_t expected, int64_t found)
{
	size_t n;

	if (expected < 0)
		return;
	n = strlen(o->checked);
	snprintf(o->checked + n, sizeof(o->checked) - n, "%s%s", n ? ", " : "", name);
	if (expected == found)
		return;
	o->mismatch = true;
	n = strlen(o->wrong);
	snprintf(o->wrong + n, sizeof(o->wrong) - n, "%s%s should be 0x%" PRIx64 ", is 0x%" PRIx64, n ? "; " : "", name,
		 (uint64_t)expected, (uint64_t)found);
}

/*
 * XOR of all 64 bytes is 0xff XOR the bytes of the entry's running number (inferred from field dumps: Juniper/warp17#81
 * has two whose place in the queue is known). What software wrote over the entry afterwards does not count.
 */
static uint8_t signature_residue(const uint8_t *cqe, bool marked)
{
	uint8_t x = 0xff;

	for (int i = marked ? 8 : 0; i < 64; i++)
		x ^= cqe[i];
	return x;
}

static uint8_t fold(uint32_t number)
{
	return (uint8_t)(number ^ number >> 8 ^ number >> 16 ^ number >> 24);
}

static void check_vector(const struct vector *v, struct outcome *o)
{
	const struct bf_mlx5_err_cqe *e = (const void *)v->cqe;
	uint32_t sop_qpn = bf_be32(e->s_wqe_opcode_qpn);

	*o = (struct outcome){ 0 };
	check(o, "syndrome", v->expect.syndrome, e->syndrome);
	check(o, "vendor syndrome", v->expect.vendor, e->vendor_err_synd);
	check(o, "QP", v->expect.qpn, (int64_t)BF_FIELD_GET(BF_MLX5_CQE_QPN, sop_qpn));
	check(o, "WQE opcode", v->expect.wqe_opcode, (int64_t)BF_FIELD_GET(BF_MLX5_CQE_SOP, sop_qpn));
	check(o, "verbs status", v->expect.status, bf_cqe_verbs_status(e->syndrome));
	if (v->expect.slot >= 0)
		check(o, "signature", fold((uint32_t)v->expect.slot), signature_residue(v->cqe, v->expect.marked));
}

/* ---- telling ---- */

static void print_vector(const struct vector *v, const struct outcome *o)
{
	const struct bf_mlx5_err_cqe *e = (const void *)v->cqe;
	uint32_t sop_qpn = bf_be32(e->s_wqe_opcode_qpn);
	const char *vendor = bf_mlx5_vendor_text(e->syndrome, e->vendor_err_synd);

	printf("%-9s %s\n", o->mismatch ? "MISMATCH" : o->checked[0] ? "ok" : "unsaid", v->source);
	printf("          %s of %s, QP 0x%06" PRIx32 ", entry %u: syndrome 0x%02x (%s)\n",
	       bf_mlx5_cqe_opcode_name((uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, e->op_own)),
	       bf_mlx5_opcode_name((uint8_t)BF_FIELD_GET(BF_MLX5_CQE_SOP, sop_qpn)),
	       (uint32_t)BF_FIELD_GET(BF_MLX5_CQE_QPN, sop_qpn), bf_be16(e->wqe_counter), e->syndrome,
	       bf_mlx5_syndrome_text(e->syndrome));
	printf("          vendor syndrome 0x%02x, hw syndrome 0x%02x, signature residue 0x%02x\n", e->vendor_err_synd,
	       e->hw_err_synd, signature_residue(v->cqe, v->expect.marked));
	if (*vendor)
		printf("          %s\n", vendor);
	if (o->mismatch)
		printf("          %s\n", o->wrong);
	else if (o->checked[0])
		printf("          as expected: %s\n", o->checked);
	else
		printf("          the note says nothing that could be checked\n");
}

static void json_vector(struct bf_json *j, const struct vector *v, const struct outcome *o)
{
	const struct bf_mlx5_err_cqe *e = (const void *)v->cqe;
	uint32_t sop_qpn = bf_be32(e->s_wqe_opcode_qpn);

	bf_json_open(j, NULL, '{');
	bf_json_text(j, "source", v->source);
	bf_json_hex(j, "qpn", BF_FIELD_GET(BF_MLX5_CQE_QPN, sop_qpn));
	bf_json_text(j, "opcode", bf_mlx5_cqe_opcode_name((uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, e->op_own)));
	bf_json_text(j, "wqe_opcode", bf_mlx5_opcode_name((uint8_t)BF_FIELD_GET(BF_MLX5_CQE_SOP, sop_qpn)));
	bf_json_u64(j, "wqe_counter", bf_be16(e->wqe_counter));
	bf_json_hex(j, "syndrome", e->syndrome);
	bf_json_text(j, "syndrome_text", bf_mlx5_syndrome_text(e->syndrome));
	bf_json_hex(j, "vendor_syndrome", e->vendor_err_synd);
	bf_json_text(j, "vendor_text", bf_mlx5_vendor_text(e->syndrome, e->vendor_err_synd));
	bf_json_hex(j, "signature_residue", signature_residue(v->cqe, v->expect.marked));
	bf_json_text(j, "checked", o->checked);
	bf_json_text(j, "wrong", o->wrong);
	bf_json_bool(j, "ok", !o->mismatch);
	bf_json_close(j, '}');
}

static int take(void *tally, struct bf_json_line *l)
{
	struct tally *t = tally;
	struct vector v;
	struct outcome o;
	int rc = read_vector(l, &v);

	if (rc)
		return rc;
	check_vector(&v, &o);
	t->base.taken++;
	t->base.bad += o.mismatch;
	t->silent += !o.checked[0];
	t->good += !o.mismatch && o.checked[0];
	if (t->base.json)
		json_vector(t->base.json, &v, &o);
	else
		print_vector(&v, &o);
	return 0;
}

static void print_summary(const void *tally)
{
	const struct tally *t = tally;

	printf("%" PRIu64 " completions: %" PRIu64 " as expected, %" PRIu64 " not, %" PRIu64
	       " without an expectation\n",
	       t->base.taken, t->good, t->base.bad, t->silent);
}

static void json_summary(struct bf_json *j, const void *tally)
{
	const struct tally *t = tally;

	bf_json_u64(j, "good", t->good);
	bf_json_u64(j, "mismatches", t->base.bad);
	bf_json_u64(j, "unsaid", t->silent);
}

const struct bf_check_form bf_check_cqe = {
	.form = { .name = "mlx5-cqe",
		  .details = "FILE is JSON Lines with \"words\" (16 big-endian words) or \"bytes\" (hex), and the "
			     "expected result: a \"note\" in words (\"remote access error\", \"vendor_err 0x88\", "
			     "\"qpn 0x6214\", \"CQ slot 2\"), or \"expect\" with syndrome, vendor, qpn, opcode, status "
			     "and slot. If the slot is known, the signature is checked too. Exit code 1: some "
			     "completion differs from what is expected.",
		  .example = "  belfry check mlx5-cqe traces/samples/mlx5_cqe_dumps.jsonl" },
	.each = "completion",
	.list = "vectors",
	.tally_bytes = sizeof(struct tally),
	.take = take,
	.print = print_summary,
	.summary = json_summary,
};
