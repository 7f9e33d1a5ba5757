/* belfry decode: bytes of one entry or completion, field by field. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/wqe.h"
#include "sim/spell.h"
#include "tools/cli/cli.h"
#include "traces/device.h"
#include "traces/evidence/evidence.h"
#include "tools/cli/hex.h"

#define BYTES_MAX (BF_MLX5_MAX_WQEBBS * BF_MLX5_WQEBB)

/* The forms of a send entry: nothing in its bytes says which it is. */
static const struct form {
	const char *name;
	int (*decode)(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err);
	void (*print)(FILE *out, const void *bytes, uint32_t len);
	bool datagram;
} forms[] = {
	{ "mlx5-wqe", bf_mlx5_wqe_decode, bf_mlx5_wqe_print, false },
	{ "mlx5-dc-wqe", bf_mlx5_dc_wqe_decode, bf_mlx5_dc_wqe_print, false },
	{ "mlx5-ud-wqe", bf_mlx5_ud_wqe_decode, bf_mlx5_ud_wqe_print, true },
};

static void json_umr(struct bf_json *j, const struct bf_mlx5_wqe *w, const uint8_t *bytes)
{
	const uint8_t *mkc = bytes + BF_MLX5_UMR_MKC_AT;

	bf_json_hex(j, "umr_flags", w->umr_flags);
	bf_json_hex(j, "mkey_mask", w->umr_mask);
	bf_json_u64(j, "klm_octowords", w->umr_octowords);
	bf_json_bool(j, "free", BF_MLX5_GET(mkc, BF_MKC_FREE) != 0);
	bf_json_hex(j, "key_variant", BF_MLX5_GET(mkc, BF_MKC_KEY));
	bf_json_hex(j, "key_qpn", BF_MLX5_GET(mkc, BF_MKC_QPN));
	bf_json_hex(j, "start", bf_get_be64(mkc + BF_MKC_START));
	bf_json_u64(j, "size", bf_get_be64(mkc + BF_MKC_SIZE));
}

static void json_wqe(struct bf_json *j, const struct bf_mlx5_wqe *w, const uint8_t *bytes, bool datagram)
{
	bf_json_text(j, "opcode", bf_mlx5_opcode_name(w->opcode));
	bf_json_hex(j, "opcode_value", w->opcode);
	bf_json_hex(j, "opmod", w->opmod);
	bf_json_u64(j, "index", w->index);
	bf_json_hex(j, "qpn", w->qpn);
	bf_json_u64(j, "ds", w->ds);
	bf_json_u64(j, "wqebbs", w->wqebbs);
	bf_json_hex(j, "signature", w->signature);
	bf_json_u64(j, "fence", w->fm);
	bf_json_u64(j, "completion", w->ce);
	bf_json_bool(j, "solicited", w->solicited);
	bf_json_hex(j, "immediate", w->imm);
	if (w->opcode == BF_MLX5_OP_UMR)
		json_umr(j, w, bytes);
	if (w->av_len && datagram) {
		bf_json_hex(j, "destination_qp", w->dct);
		bf_json_hex(j, "qkey", w->dc_key >> 32);
	} else if (w->av_len) {
		bf_json_u64(j, "stream", w->stream);
		bf_json_hex(j, "dct", w->dct);
		bf_json_hex(j, "dc_key", w->dc_key);
	}
	if (w->av_len) {
		bf_json_u64(j, "address_vector", w->av_len);
		bf_json_hex(j, w->av_len == BF_MLX5_AV_FULL ? "udp_source_port" : "lid", w->udp_sport);
	}
	bf_json_hex(j, "remote_address", w->raddr);
	bf_json_hex(j, "rkey", w->rkey);
	if (w->atomic_size) {
		bf_json_u64(j, "atomic_size", w->atomic_size);
		bf_json_hex(j, "swap_add", w->swap_add);
		bf_json_hex(j, "compare", w->compare);
		bf_json_hex(j, "swap_mask", w->swap_mask);
		bf_json_hex(j, "compare_mask", w->compare_mask);
	}
	bf_json_u64(j, "length", w->length);
	if (w->has_inline) {
		bf_json_u64(j, "inline_length", w->inline_len);
		bf_json_u64(j, "inline_offset", w->inline_offset);
	}
	bf_json_open(j, "segments", '[');
	for (uint32_t i = 0; i < w->nsge; i++) {
		bf_json_open(j, NULL, '{');
		bf_json_hex(j, "address", w->sge[i].va);
		bf_json_u64(j, "length", w->sge[i].len);
		bf_json_hex(j, "lkey", w->sge[i].lkey);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

static void json_cqe(struct bf_json *j, const struct bf_mlx5_cqe *c)
{
	const struct bf_mlx5_err_cqe *e = (const void *)c;
	uint8_t opcode = (uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, c->op_own);
	uint32_t sop_qpn = bf_be32(c->sop_drop_qpn);

	bf_json_text(j, "opcode", bf_mlx5_cqe_opcode_name(opcode));
	bf_json_u64(j, "opcode_value", opcode);
	bf_json_u64(j, "owner", c->op_own & BF_MLX5_CQE_OWNER);
	bf_json_bool(j, "solicited", (c->op_own & BF_MLX5_CQE_SE) != 0);
	bf_json_u64(j, "format", BF_FIELD_GET(BF_MLX5_CQE_FORMAT, c->op_own));
	bf_json_hex(j, "qpn", BF_FIELD_GET(BF_MLX5_CQE_QPN, sop_qpn));
	bf_json_text(j, "wqe_opcode", bf_mlx5_opcode_name((uint8_t)BF_FIELD_GET(BF_MLX5_CQE_SOP, sop_qpn)));
	bf_json_u64(j, "wqe_counter", bf_be16(c->wqe_counter));
	bf_json_hex(j, "signature", c->signature);
	bf_json_hex(j, "user_index", bf_be32(c->srqn_uidx) & 0xffffff);
	if (opcode == BF_MLX5_CQE_REQ_ERR || opcode == BF_MLX5_CQE_RESP_ERR) {
		bf_json_hex(j, "syndrome", e->syndrome);
		bf_json_text(j, "syndrome_text", bf_mlx5_syndrome_text(e->syndrome));
		bf_json_hex(j, "vendor_syndrome", e->vendor_err_synd);
		bf_json_text(j, "vendor_text", bf_mlx5_vendor_text(e->syndrome, e->vendor_err_synd));
		bf_json_hex(j, "hw_syndrome", e->hw_err_synd);
		bf_json_hex(j, "hw_syndrome_type", e->hw_synd_type);
	} else {
		bf_json_u64(j, "byte_count", bf_be32(c->byte_cnt));
		bf_json_hex(j, "immediate", bf_be32(c->imm_inval_pkey));
		bf_json_hex(j, "timestamp", bf_be64(c->timestamp));
	}
}

static int decode_wqe(const struct bf_args *args, const uint8_t *bytes, size_t len, const struct form *form)
{
	struct bf_mlx5_wqe w;
	struct bf_error err = { 0 };
	struct bf_json j;
	int rc = form->decode(bytes, (uint32_t)len, &w, &err);

	if (!bf_arg_json(args))
		form->print(stdout, bytes, (uint32_t)len);
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "malformed entry: %s", err.text);
	if (!bf_arg_json(args))
		return BF_EXIT_GOOD;
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	json_wqe(&j, &w, bytes, form->datagram);
	bf_json_close(&j, '}');
	bf_json_end(&j);
	return BF_EXIT_GOOD;
}

static int decode_cqe(const struct bf_args *args, const uint8_t *bytes, size_t len)
{
	struct bf_json j;

	if (len != 64 && len != 128)
		return bf_cli_error(args, BF_EXIT_USAGE, "a completion has 64 bytes (or 128), not %zu", len);
	bytes += len - 64; /* the long form has its fields in the second half (mlx5dv.h, struct mlx5_cqe128) */
	if (!bf_arg_json(args)) {
		bf_mlx5_cqe_print(stdout, bytes);
		return BF_EXIT_GOOD;
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	json_cqe(&j, (const void *)bytes);
	bf_json_close(&j, '}');
	bf_json_end(&j);
	return BF_EXIT_GOOD;
}

/* ---- what was pasted ---- */

/* The arguments, or standard input for '-', in one text. */
static int gather(const struct bf_args *args, char **text, size_t *len, struct bf_error *err)
{
	const unsigned n = bf_arg_positional_count(args);
	FILE *out = open_memstream(text, len);
	char part[4096];
	size_t got;

	if (!out)
		return bf_fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 1; i < n; i++) {
		const char *word = bf_arg_positional(args, i);

		if (strcmp(word, "-") != 0)
			fprintf(out, "%s%s", i > 1 ? " " : "", word);
		while (strcmp(word, "-") == 0 && (got = fread(part, 1, sizeof(part), stdin)) > 0)
			fwrite(part, 1, got, out);
	}
	return fclose(out) == 0 && *text ? 0 : bf_fail(err, -ENOMEM, "out of memory");
}

/* The next dump of the kind that `form` is, from `*at` on; NULL: no other. */
static const struct bf_evidence *next_dump(const struct bf_evidence_list *list, const struct form *form, size_t *at)
{
	const enum bf_evidence_kind kind = form ? BF_EVIDENCE_ENTRY : BF_EVIDENCE_COMPLETION;

	while (*at < list->count) {
		const struct bf_evidence *e = &list->item[(*at)++];

		if (e->kind == kind && e->have)
			return e;
	}
	return NULL;
}

/*
 * Lines of a log, as `belfry why` takes them: each dump in them is decoded. -1: there is none. Of a completion whose
 * last row alone is there, the other bytes are zero.
 */
static int decode_log(const struct bf_args *args, const char *text, size_t len, const struct form *form)
{
	struct bf_evidence_list list = { 0 };
	struct bf_error err = { 0 };
	const struct bf_evidence *e;
	size_t at = 0, dumps = 0;
	int code = -1;

	if (bf_evidence_read(text, len, &list, &err))
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	while (code < 0 && next_dump(&list, form, &at))
		dumps++;
	if (dumps > 1 && bf_arg_json(args))
		code = bf_cli_error(args, BF_EXIT_USAGE, "%zu dumps; --json takes one", dumps);
	for (at = 0; code <= 0 && (e = next_dump(&list, form, &at)) != NULL;) {
		if (dumps > 1)
			printf("%sline %llu:\n", code < 0 ? "" : "\n", (unsigned long long)e->line);
		code = form ? decode_wqe(args, e->bytes, sizeof(e->bytes), form)
			    : decode_cqe(args, e->bytes, sizeof(e->bytes));
	}
	bf_evidence_free(&list);
	return code;
}

/* A layout of a device that has some in its descriptor; NULL. With `known` set, their names. */
static const struct bf_device_form *device_form(const char *what, char *known, size_t cap)
{
	const struct bf_device *d;

	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++)
		for (const struct bf_device_form *f = d->forms; f && f->name; f++) {
			if (strcmp(f->name, what) == 0)
				return f;
			snprintf(known + strlen(known), cap - strlen(known), ", %s", f->name);
		}
	return NULL;
}

static int decode_device(const struct bf_args *args, const struct bf_device_form *form, const uint8_t *bytes,
			 size_t len)
{
	char *text = NULL;
	size_t size;
	FILE *out;
	struct bf_json j;

	if (len < form->bytes)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s has %zu bytes; these are %zu", form->name, form->bytes,
				    len);
	if (!bf_arg_json(args)) {
		form->print(stdout, bytes, len);
		return BF_EXIT_GOOD;
	}
	out = open_memstream(&text, &size);
	if (!out)
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	form->print(out, bytes, len);
	if (fclose(out) != 0 || !text) {
		free(text);
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "form", form->name);
	bf_json_text(&j, "text", text);
	bf_json_close(&j, '}');
	bf_json_end(&j);
	free(text);
	return BF_EXIT_GOOD;
}

static int decode(const struct bf_args *args)
{
	const struct bf_device_form *device;
	char known[256] = "";
	const char *what = bf_arg_positional(args, 0);
	uint8_t bytes[BYTES_MAX];
	struct bf_error err = { 0 };
	size_t len = 0, size = 0;
	char *text = NULL;
	struct bf_spell near = { .word = what, .len = strlen(what) };
	const struct form *form = NULL;
	char hint[64];
	int rc, code = -1;

	for (size_t i = 0; i < BF_ARRAY_LEN(forms); i++)
		form = strcmp(what, forms[i].name) == 0 ? &forms[i] : form;
	device = device_form(what, known, sizeof(known));
	if (!form && !device && strcmp(what, "mlx5-cqe") != 0) {
		for (size_t i = 0; i < BF_ARRAY_LEN(forms); i++)
			bf_spell_try(&near, forms[i].name);
		bf_spell_try(&near, "mlx5-cqe");
		bf_spell_hint(&near, hint, sizeof(hint));
		return bf_cli_error(
		    args, BF_EXIT_USAGE,
		    "there is no form '%s'%s mlx5-wqe, mlx5-dc-wqe, mlx5-ud-wqe, mlx5-cqe, sdma%s are known", what,
		    *hint ? hint : ";", known);
	}
	if (gather(args, &text, &size, &err)) {
		free(text);
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	}
	rc = bf_hex_append(text, bytes, BYTES_MAX, &len, &err);
	if (!device && (rc || (!form && len != 64 && len != 128)))
		code = decode_log(args, text, size, form);
	free(text);
	if (code >= 0)
		return code;
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (len == 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "there are no bytes to decode");
	if (device)
		return decode_device(args, device, bytes, len);
	return form ? decode_wqe(args, bytes, len, form) : decode_cqe(args, bytes, len);
}

static const struct bf_opt options[] = { { 0 } };

extern const struct bf_command bf_cmd_decode_sdma;

static const struct bf_command *const families[] = { &bf_cmd_decode_sdma, NULL };

const struct bf_command bf_cmd_decode = {
	.name = "decode",
	.usage = "decode mlx5-wqe|mlx5-dc-wqe|mlx5-ud-wqe|mlx5-cqe HEX...",
	.summary = "print the fields of a work-queue entry or a completion",
	.details =
	    "HEX may contain blanks, colons, commas and 0x, in one or more arguments; '-' reads standard "
	    "input. Lines of a log do, too, as `belfry why` takes them: with clocks, ranks and offsets in front, "
	    "several dumps in one paste. "
	    "Use mlx5-dc-wqe or mlx5-ud-wqe for entries of a DC initiator or a datagram queue: they have an "
	    "address vector, and nothing in the bytes says so.\n"
	    "\n"
	    "Other devices have forms, too; a name that is none lists them all.\n"
	    "\n"
	    "  dmesg | belfry decode mlx5-cqe -\n"
	    "  belfry decode mlx5-wqe 0000010a 10100102 00000008 00000000 00000040 00001000 00005605 1da51000",
	.options = options,
	.min_args = 1,
	.max_args = 1024,
	.run = decode,
	.words = "mlx5-wqe|mlx5-dc-wqe|mlx5-ud-wqe|mlx5-cqe|sdma",
	.families = families,
};
