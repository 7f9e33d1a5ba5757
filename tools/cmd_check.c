/*
 * belfry check: completions that others recorded, decoded, against what is said of them; other forms have files of their
 * own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/wqe.h"
#include "tools/check.h"
#include "tools/cli.h"
#include "tools/cqe_note.h"
#include "tools/hex.h"
#include "traces/json_line.h"

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
	struct bf_json *json; /* NULL: text */
	unsigned vectors, good, bad, silent;
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
	int rc = bf_json_line_scan(l);

	bf_cqe_expect_none(&v->expect);
	if (!rc)
		rc = read_bytes(l, v->cqe);
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
		printf("          as said: %s\n", o->checked);
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

static int take_line(struct bf_json_line *l, struct tally *t)
{
	struct vector v;
	struct outcome o;
	int rc;

	if (bf_json_line_blank(l))
		return 0;
	rc = read_vector(l, &v);
	if (rc)
		return rc;
	check_vector(&v, &o);
	t->vectors++;
	t->bad += o.mismatch;
	t->silent += !o.checked[0];
	t->good += !o.mismatch && o.checked[0];
	if (t->json)
		json_vector(t->json, &v, &o);
	else
		print_vector(&v, &o);
	return 0;
}

static int take_file(FILE *f, struct tally *t, struct bf_error *err)
{
	char *text = NULL;
	size_t cap = 0;
	uint32_t number = 0;
	ssize_t n;
	int rc = 0;

	while (!rc && (n = getline(&text, &cap, f)) > 0) {
		struct bf_json_line l = { .start = text, .p = text, .number = ++number, .err = err };

		l.end = text + n - (text[n - 1] == '\n');
		rc = take_line(&l, t);
	}
	if (!rc && ferror(f))
		rc = bf_fail(err, -EIO, "cannot read: %s", strerror(errno));
	if (!rc && t->vectors == 0)
		rc = bf_fail(err, -EBADMSG, "there is no completion in it");
	free(text);
	return rc;
}

static int check_cqes(const struct bf_args *args, const char *path, FILE *f)
{
	struct bf_error err = { 0 };
	struct bf_json j;
	struct tally t = { .json = bf_arg_json(args) ? &j : NULL };
	int rc;

	if (t.json) {
		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		bf_json_open(&j, "vectors", '[');
	}
	rc = take_file(f, &t, &err);
	if (t.json) {
		bf_json_close(&j, ']');
		bf_json_u64(&j, "good", t.good);
		bf_json_u64(&j, "mismatches", t.bad);
		bf_json_u64(&j, "unsaid", t.silent);
		if (rc)
			bf_json_text(&j, "error", err.text);
		bf_json_close(&j, '}');
		bf_json_end(&j);
	} else if (!rc) {
		printf("%u completions: %u as said, %u not, %u of which nothing is said\n", t.vectors, t.good, t.bad,
		       t.silent);
	}
	if (rc) {
		fflush(stdout);
		fprintf(stderr, "belfry check: %s: %s\n", path, err.text);
		return BF_EXIT_USAGE;
	}
	return t.bad ? BF_EXIT_FAILED : BF_EXIT_GOOD;
}

static const struct {
	const char *name;
	int (*check)(const struct bf_args *args, const char *path, FILE *f);
} forms[] = {
	{ "mlx5-cqe", check_cqes },
	{ "nvme", bf_check_nvme },
	{ "hopper-mbarrier", bf_check_hopper_mbarrier },
	{ "hopper-timing", bf_check_hopper_timing },
	{ "sdma-rect", bf_check_sdma_rect },
};

static int check_file(const struct bf_args *args)
{
	const char *form = bf_arg_positional(args, 0), *path = bf_arg_positional(args, 1);
	char known[128] = "";
	FILE *f;
	int code;

	for (size_t i = 0; i < BF_ARRAY_LEN(forms); i++) {
		if (strcmp(form, forms[i].name) != 0) {
			size_t n = strlen(known);

			snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", forms[i].name);
			continue;
		}
		f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
		if (!f)
			return bf_cli_error(args, BF_EXIT_USAGE, "cannot open %s: %s", path, strerror(errno));
		code = forms[i].check(args, path, f);
		if (f != stdin)
			fclose(f);
		return code;
	}
	return bf_cli_error(args, BF_EXIT_USAGE, "there is no form '%s'; known: %s", form, known);
}

static const struct bf_opt options[] = { { 0 } };

const struct bf_command bf_cmd_check = {
	.name = "check",
	.usage = "check mlx5-cqe|nvme|sdma-rect|hopper-mbarrier|hopper-timing FILE",
	.summary = "compare the models with what was recorded of real devices",
	.details = "mlx5-cqe: FILE is JSON Lines: \"words\" (16 big-endian words) or \"bytes\" (hex), and what they should be: a "
		   "\"note\" in\n"
		   "words (\"remote access error\", \"vendor_err 0x88\", \"qpn 0x6214\", \"CQ slot 2\"), or \"expect\" "
		   "with syndrome,\n"
		   "vendor, qpn, opcode, status and slot. With the slot known the signature is checked as well. Exit "
		   "code 1: some\n"
		   "completion is not what it should be.\n"
		   "\n"
		   "nvme: FILE is JSON Lines with what Linux, nvme-cli and smartctl printed (\"kind\", \"source\", "
		   "\"text\"). Traces\n"
		   "run on the model: status, order and queue heads are compared. Identify data and logs are read to "
		   "bytes and\n"
		   "printed again, then the model's own are printed in the same form.\n"
		   "\n"
		   "sdma-rect: FILE is JSON Lines with requests for sub-window copies and the packets that they become.\n"
		   "Packets are compared dword by dword; then they run on the model, and the result is compared with a\n"
		   "plain loop.\n"
		   "\n"
		   "hopper-mbarrier: FILE is JSON Lines with sequences of barrier operations that a GPU ran; words, "
		   "tokens,\n"
		   "results and faults are compared step by step.\n"
		   "\n"
		   "hopper-timing: FILE is JSON Lines with rows that a probe measured on a GPU; each is run as the same "
		   "experiment on\n"
		   "the model. A row is within bounds when its values are within 5 % or 3 cycles, and counts equal.\n"
		   "\n"
		   "  belfry check mlx5-cqe traces/samples/mlx5_cqe_dumps.jsonl\n"
		   "  belfry check nvme traces/samples/nvme_captures.jsonl\n"
		   "  belfry check sdma-rect traces/samples/sdma_rect_tiles.jsonl\n"
		   "  belfry check hopper-mbarrier traces/samples/hopper_mbarrier_edges_h200.jsonl",
	.words = "mlx5-cqe|nvme|sdma-rect|hopper-mbarrier|hopper-timing",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = check_file,
};
