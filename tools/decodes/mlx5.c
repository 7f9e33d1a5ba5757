/* The forms of mlx5: send entries of each transport, and completions. */
#include "models/mlx5/wqe.h"
#include "tools/decodes/decode.h"

/* A send entry of one transport: nothing in its bytes says which it is. */
struct entry {
	int (*decode)(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err);
	void (*print)(FILE *out, const void *bytes, uint32_t len);
	bool datagram;
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

static int decode_wqe(const struct bf_args *args, const void *form, const uint8_t *bytes, size_t len)
{
	const struct entry *entry = form;
	struct bf_mlx5_wqe w;
	struct bf_error err = { 0 };
	struct bf_json j;
	int rc = entry->decode(bytes, (uint32_t)len, &w, &err);

	if (!bf_arg_json(args))
		entry->print(stdout, bytes, (uint32_t)len);
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "malformed entry: %s", err.text);
	if (!bf_arg_json(args))
		return BF_EXIT_GOOD;
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	json_wqe(&j, &w, bytes, entry->datagram);
	bf_json_close(&j, '}');
	bf_json_end(&j);
	return BF_EXIT_GOOD;
}

static int decode_cqe(const struct bf_args *args, const void *form, const uint8_t *bytes, size_t len)
{
	struct bf_json j;

	(void)form;
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

static const struct entry connected = { bf_mlx5_wqe_decode, bf_mlx5_wqe_print, false },
			  initiator = { bf_mlx5_dc_wqe_decode, bf_mlx5_dc_wqe_print, false },
			  datagram = { bf_mlx5_ud_wqe_decode, bf_mlx5_ud_wqe_print, true };

const struct bf_decode_form bf_decode_wqe = {
	.form = { .name = "mlx5-wqe",
		  .details = "a send entry of a connected queue pair.\n\n"
			     "  belfry decode mlx5-wqe 0000010a 10100102 00000008 00000000 00000040 00001000 00005605 "
			     "1da51000" },
	.kind = BF_EVIDENCE_ENTRY,
	.decode = decode_wqe,
	.own = &connected,
};

const struct bf_decode_form bf_decode_dc_wqe = {
	.form = { .name = "mlx5-dc-wqe",
		  .details =
		      "a send entry of a DC initiator. It has an address vector, which its bytes do not announce." },
	.kind = BF_EVIDENCE_ENTRY,
	.decode = decode_wqe,
	.own = &initiator,
};

const struct bf_decode_form bf_decode_ud_wqe = {
	.form = { .name = "mlx5-ud-wqe",
		  .details = "a send entry of a datagram queue, which has an address vector, too." },
	.kind = BF_EVIDENCE_ENTRY,
	.decode = decode_wqe,
	.own = &datagram,
};

const struct bf_decode_form bf_decode_cqe = {
	.form = { .name = "mlx5-cqe",
		  .details = "a completion of 64 or 128 bytes.\n\n"
			     "  dmesg | belfry decode mlx5-cqe -" },
	.kind = BF_EVIDENCE_COMPLETION,
	.lengths = { 64, 128 },
	.decode = decode_cqe,
};
