/* Names and printing of WQEs and CQEs. */
#include "models/mlx5/wqe.h"

const char *bf_mlx5_opcode_name(uint8_t opcode)
{
	switch (opcode) {
	case BF_MLX5_OP_NOP:
		return "NOP";
	case BF_MLX5_OP_SEND_INVAL:
		return "SEND_INVAL";
	case BF_MLX5_OP_RDMA_WRITE:
		return "RDMA_WRITE";
	case BF_MLX5_OP_RDMA_WRITE_IMM:
		return "RDMA_WRITE_IMM";
	case BF_MLX5_OP_SEND:
		return "SEND";
	case BF_MLX5_OP_SEND_IMM:
		return "SEND_IMM";
	case BF_MLX5_OP_WAIT:
		return "WAIT";
	case BF_MLX5_OP_RDMA_READ:
		return "RDMA_READ";
	case BF_MLX5_OP_ATOMIC_CS:
		return "ATOMIC_CS";
	case BF_MLX5_OP_ATOMIC_FA:
		return "ATOMIC_FA";
	case BF_MLX5_OP_ATOMIC_MASKED_CS:
		return "ATOMIC_MASKED_CS";
	case BF_MLX5_OP_ATOMIC_MASKED_FA:
		return "ATOMIC_MASKED_FA";
	case BF_MLX5_OP_DUMP:
		return "DUMP";
	case BF_MLX5_OP_UMR:
		return "UMR";
	case BF_MLX5_OP_TSO:
		return "TSO";
	case BF_MLX5_OP_SET_PSV:
		return "SET_PSV";
	case BF_MLX5_OP_TAG_MATCHING:
		return "TAG_MATCHING";
	case BF_MLX5_OP_FLOW_TBL_ACCESS:
		return "FLOW_TBL_ACCESS";
	case BF_MLX5_OP_MMO:
		return "MMO";
	default:
		return "?";
	}
}

const char *bf_mlx5_cqe_opcode_name(uint8_t opcode)
{
	switch (opcode) {
	case BF_MLX5_CQE_REQ:
		return "REQ";
	case BF_MLX5_CQE_RESP_WRITE_IMM:
		return "RESP_WRITE_IMM";
	case BF_MLX5_CQE_RESP_SEND:
		return "RESP_SEND";
	case BF_MLX5_CQE_RESP_SEND_IMM:
		return "RESP_SEND_IMM";
	case BF_MLX5_CQE_RESP_SEND_INV:
		return "RESP_SEND_INV";
	case BF_MLX5_CQE_RESIZE:
		return "RESIZE";
	case BF_MLX5_CQE_SIG_ERR:
		return "SIG_ERR";
	case BF_MLX5_CQE_REQ_ERR:
		return "REQ_ERR";
	case BF_MLX5_CQE_RESP_ERR:
		return "RESP_ERR";
	case BF_MLX5_CQE_INVALID:
		return "INVALID";
	default:
		return "?";
	}
}

/* docs/hardware/mlx5.md#vendor-syndromes; the verbs status names are rdma-core's. */
const char *bf_mlx5_syndrome_text(uint8_t syndrome)
{
	switch (syndrome) {
	case BF_MLX5_SYND_LOCAL_LENGTH:
		return "local length error";
	case BF_MLX5_SYND_LOCAL_QP_OP:
		return "local QP operation error";
	case BF_MLX5_SYND_LOCAL_PROT:
		return "local protection error";
	case BF_MLX5_SYND_WR_FLUSH:
		return "work request flushed";
	case BF_MLX5_SYND_MW_BIND:
		return "memory window bind error";
	case BF_MLX5_SYND_BAD_RESP:
		return "bad response";
	case BF_MLX5_SYND_LOCAL_ACCESS:
		return "local access error";
	case BF_MLX5_SYND_REM_INV_REQ:
		return "remote invalid request error";
	case BF_MLX5_SYND_REM_ACCESS:
		return "remote access error";
	case BF_MLX5_SYND_REM_OP:
		return "remote operation error";
	case BF_MLX5_SYND_RETRY_EXC:
		return "transport retry counter exceeded";
	case BF_MLX5_SYND_RNR_EXC:
		return "RNR retry counter exceeded";
	case BF_MLX5_SYND_REM_ABORT:
		return "remote aborted";
	default:
		return "unknown syndrome";
	}
}

static const struct {
	uint8_t syndrome, vendor; /* syndrome 0: any */
	const char *text;
} vendor_texts[] = {
	{ BF_MLX5_SYND_LOCAL_PROT, 0x51,
	  "data could not be read from local memory over PCIe (GPUDirect with ACS or IOMMU, or the wrong topology)" },
	{ BF_MLX5_SYND_LOCAL_PROT, 0x52, "lkey look-up or translation failed on the gather path" },
	{ BF_MLX5_SYND_LOCAL_PROT, 0x53, "lkey does not allow this access (bounds, rights or protection domain)" },
	{ BF_MLX5_SYND_LOCAL_PROT, 0x32, "lkey of a receive buffer failed" },
	{ BF_MLX5_SYND_LOCAL_QP_OP, 0x61, "requester rejected the WQE" },
	{ BF_MLX5_SYND_LOCAL_QP_OP, 0xd6, "malformed receive WQE" },
	{ BF_MLX5_SYND_REM_INV_REQ, 0x8a, "NAK: invalid request" },
	{ BF_MLX5_SYND_REM_ACCESS, 0x88, "NAK: remote access error (rkey, bounds or rights at the peer)" },
	{ BF_MLX5_SYND_REM_OP, 0x89, "NAK: remote operational error" },
	{ BF_MLX5_SYND_RETRY_EXC, 0x81, "no acknowledgement within the retries: peer dead, unreachable or not ready" },
	{ BF_MLX5_SYND_RETRY_EXC, 0x83,
	  "no answer to an atomic within the retries: the peer may have executed it all the same" },
	{ BF_MLX5_SYND_RNR_EXC, 0x87, "peer had no receive posted within the RNR retries" },
	{ BF_MLX5_SYND_WR_FLUSH, 0xf9, "flushed because the queue pair was in error: look for an earlier completion" },
	{ BF_MLX5_SYND_WR_FLUSH, 0xf4, "flushed because the queue pair was in error: look for an earlier completion" },
	{ 0, 0x93, "on-demand paging fault" },
};

const char *bf_mlx5_vendor_text(uint8_t syndrome, uint8_t vendor)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(vendor_texts); i++)
		if (vendor_texts[i].vendor == vendor &&
		    (!vendor_texts[i].syndrome || vendor_texts[i].syndrome == syndrome))
			return vendor_texts[i].text;
	return "";
}

/* One line: where, which bytes, what they mean. */
static void line(FILE *out, const uint8_t *bytes, uint32_t at, uint32_t len, const char *name)
{
	int width = 0;

	fprintf(out, "%4u  ", at);
	for (uint32_t i = 0; i < len && i < 8; i++)
		width += fprintf(out, "%02x", bytes[at + i]);
	fprintf(out, "%*s  %-14s ", 16 - width, "", name);
}

enum transport { RC, DC, UD };

static void print_ctrl(FILE *out, const uint8_t *b, const struct bf_mlx5_wqe *w, enum transport t)
{
	static const char *const fences[8] = { "none",          "initiator small fence",
					       "fence",         "strong ordering",
					       "fence + small", "reserved",
					       "reserved",      "reserved" };
	static const char *const ces[4] = { "CQE on error only", "CQE on first error", "CQE always", "CQE and EQE" };

	line(out, b, 0, 1, "opmod");
	fprintf(out, "0x%02x\n", w->opmod);
	line(out, b, 1, 2, "index");
	fprintf(out, "%u\n", w->index);
	line(out, b, 3, 1, "opcode");
	fprintf(out, "0x%02x %s\n", w->opcode, bf_mlx5_opcode_name(w->opcode));
	line(out, b, 4, 3, "qpn");
	fprintf(out, "0x%x\n", w->qpn);
	line(out, b, 7, 1, "ds");
	fprintf(out, "%u (%u bytes, %u WQEBB)\n", w->ds, w->ds * BF_MLX5_DS, w->wqebbs);
	line(out, b, 8, 1, "signature");
	fprintf(out, "0x%02x\n", w->signature);
	if (t == DC) {
		line(out, b, 9, 2, "dci_stream");
		fprintf(out, "%u\n", w->stream);
	}
	line(out, b, 11, 1, "fm_ce_se");
	fprintf(out, "fence: %s; completion: %s%s\n", fences[w->fm], ces[w->ce], w->solicited ? "; solicited" : "");
	line(out, b, 12, 4, "imm");
	fprintf(out, "0x%08x\n", w->imm);
}

static void print_av(FILE *out, const uint8_t *b, const struct bf_mlx5_wqe *w, enum transport t)
{
	line(out, b, 16, t == UD ? 4 : 8, t == UD ? "qkey" : "dc_key");
	fprintf(out, "0x%llx\n", (unsigned long long)(t == UD ? w->dc_key >> 32 : w->dc_key));
	line(out, b, 24, 4, "dqp_dct");
	fprintf(out, "%s 0x%x, %s address vector\n", t == UD ? "QP" : "DCT", w->dct,
		w->av_len == BF_MLX5_AV_FULL ? "full" : "compact");
	line(out, b, 30, 2, w->av_len == BF_MLX5_AV_FULL ? "udp_sport" : "rlid");
	fprintf(out, "0x%x\n", w->udp_sport);
	if (w->av_len == BF_MLX5_AV_COMPACT)
		return;
	line(out, b, 36, 6, "rmac");
	fprintf(out, "%02x:%02x:%02x:%02x:%02x:%02x\n", w->rmac[0], w->rmac[1], w->rmac[2], w->rmac[3], w->rmac[4],
		w->rmac[5]);
	line(out, b, 42, 1, "tclass");
	fprintf(out, "0x%02x\n", w->tclass);
	line(out, b, 43, 1, "hop_limit");
	fprintf(out, "%u\n", w->hop_limit);
	line(out, b, 48, 8, "rgid");
	fprintf(out, "%08x:%08x:%08x:%08x\n", bf_get_be32(w->rgid), bf_get_be32(w->rgid + 4), bf_get_be32(w->rgid + 8),
		bf_get_be32(w->rgid + 12));
}

static void print_atomic(FILE *out, const uint8_t *b, const struct bf_mlx5_wqe *w)
{
	bool cs = w->opcode == BF_MLX5_OP_ATOMIC_CS || w->opcode == BF_MLX5_OP_ATOMIC_MASKED_CS;
	bool masked = w->opcode == BF_MLX5_OP_ATOMIC_MASKED_CS || w->opcode == BF_MLX5_OP_ATOMIC_MASKED_FA;
	uint32_t at = 32u + w->av_len, n = w->atomic_size;

	line(out, b, at, n, cs ? "swap" : "add");
	fprintf(out, "0x%llx\n", (unsigned long long)w->swap_add);
	at += n;
	if (cs) {
		line(out, b, at, n, "compare");
		fprintf(out, "0x%llx\n", (unsigned long long)w->compare);
		at += n;
	}
	if (masked && cs) {
		line(out, b, at, n, "swap_mask");
		fprintf(out, "0x%llx\n", (unsigned long long)w->swap_mask);
		at += n;
	}
	if (masked) {
		line(out, b, at, n, cs ? "compare_mask" : "field_boundary");
		fprintf(out, "0x%llx\n", (unsigned long long)w->compare_mask);
	}
}

static void print_payload(FILE *out, const uint8_t *b, const struct bf_mlx5_wqe *w)
{
	uint32_t at = (w->ds - w->nsge) * BF_MLX5_DS;

	if (w->has_inline) {
		line(out, b, w->inline_offset - 4, 4, "inline");
		fprintf(out, "%u bytes at byte %u\n", w->inline_len, w->inline_offset);
	}
	for (uint32_t i = 0; i < w->nsge; i++, at += BF_MLX5_DS) {
		line(out, b, at, 4, "byte_count");
		fprintf(out, "%u\n", w->sge[i].len);
		line(out, b, at + 4, 4, "lkey");
		fprintf(out, "0x%x\n", w->sge[i].lkey);
		line(out, b, at + 8, 8, "va");
		fprintf(out, "0x%llx\n", (unsigned long long)w->sge[i].va);
	}
}

/* Which fields of the context a UMR WQE sets, and to what. */
static void print_umr_context(FILE *out, const uint8_t *b, const struct bf_mlx5_wqe *w)
{
	const uint8_t *mkc = b + BF_MLX5_UMR_MKC_AT;

	if (w->umr_mask & BF_MLX5_UMR_MASK_FREE) {
		line(out, b, 64, 1, "free");
		fprintf(out, "%u\n", BF_MLX5_GET(mkc, BF_MKC_FREE));
	}
	if (w->umr_mask & (BF_MLX5_UMR_MASK_LR | BF_MLX5_UMR_MASK_LW | BF_MLX5_UMR_MASK_RR | BF_MLX5_UMR_MASK_RW |
			   BF_MLX5_UMR_MASK_A)) {
		line(out, b, 66, 1, "access");
		fprintf(out, "%s%s%s%s%s\n", BF_MLX5_GET(mkc, BF_MKC_LR) ? "local-read " : "",
			BF_MLX5_GET(mkc, BF_MKC_LW) ? "local-write " : "",
			BF_MLX5_GET(mkc, BF_MKC_RR) ? "remote-read " : "",
			BF_MLX5_GET(mkc, BF_MKC_RW) ? "remote-write " : "",
			BF_MLX5_GET(mkc, BF_MKC_A) ? "atomic " : "");
	}
	if (w->umr_mask & (BF_MLX5_UMR_MASK_KEY | BF_MLX5_UMR_MASK_QPN)) {
		line(out, b, 68, 4, "qpn_mkey");
		fprintf(out, "qpn 0x%x, variant 0x%02x\n", BF_MLX5_GET(mkc, BF_MKC_QPN), BF_MLX5_GET(mkc, BF_MKC_KEY));
	}
	if (w->umr_mask & BF_MLX5_UMR_MASK_START) {
		line(out, b, 80, 8, "start_addr");
		fprintf(out, "0x%llx\n", (unsigned long long)bf_get_be64(mkc + BF_MKC_START));
	}
	if (w->umr_mask & BF_MLX5_UMR_MASK_LEN) {
		line(out, b, 88, 8, "len");
		fprintf(out, "%llu\n", (unsigned long long)bf_get_be64(mkc + BF_MKC_SIZE));
	}
}

static void print_umr_list(FILE *out, const uint8_t *b, const struct bf_mlx5_wqe *w)
{
	uint32_t at = BF_MLX5_UMR_LIST_AT, end = at + w->umr_octowords * 16u;
	bool strided = at < end && bf_get_be32(b + at + 4) == BF_MLX5_STRIDED;

	if (strided) {
		line(out, b, at, 8, "strided");
		fprintf(out, "%u bytes a round, %u rounds, %u entries\n", bf_get_be32(b + at), bf_get_be32(b + at + 8),
			bf_get_be16(b + at + 14));
		at += 16;
	}
	for (; at < end; at += 16) {
		if (!bf_get_be64(b + at) && !bf_get_be64(b + at + 8))
			continue; /* the list is filled up to a multiple of four */
		line(out, b, at, 8, strided ? "entry" : "klm");
		if (strided)
			fprintf(out, "%u bytes every %u", bf_get_be16(b + at + 2), bf_get_be16(b + at));
		else
			fprintf(out, "%u bytes", bf_get_be32(b + at));
		fprintf(out, " of key 0x%x at 0x%llx\n", bf_get_be32(b + at + 4),
			(unsigned long long)bf_get_be64(b + at + 8));
	}
}

static void print_umr(FILE *out, const uint8_t *b, const struct bf_mlx5_wqe *w)
{
	line(out, b, 16, 1, "umr_flags");
	fprintf(out, "0x%02x%s%s%s\n", w->umr_flags, w->umr_flags & BF_MLX5_UMR_INLINE ? " inline" : "",
		w->umr_flags & BF_MLX5_UMR_CHECK_FREE ? " check-free" : "",
		w->umr_flags & BF_MLX5_UMR_CHECK_QPN ? " check-qpn" : "");
	line(out, b, 20, 2, "klm_octowords");
	fprintf(out, "%u\n", w->umr_octowords);
	line(out, b, 24, 8, "mkey_mask");
	fprintf(out, "0x%llx\n", (unsigned long long)w->umr_mask);
	print_umr_context(out, b, w);
	print_umr_list(out, b, w);
}

static int decode_as(enum transport t, const void *bytes, uint32_t len, struct bf_mlx5_wqe *w, struct bf_error *err)
{
	return t == DC   ? bf_mlx5_dc_wqe_decode(bytes, len, w, err)
	       : t == UD ? bf_mlx5_ud_wqe_decode(bytes, len, w, err)
			 : bf_mlx5_wqe_decode(bytes, len, w, err);
}

static void print_wqe(FILE *out, const void *bytes, uint32_t len, enum transport t)
{
	const uint8_t *b = bytes;
	struct bf_mlx5_wqe w;
	struct bf_error err = { 0 };
	int status = decode_as(t, bytes, len, &w, &err);

	if (len >= sizeof(struct bf_mlx5_ctrl))
		print_ctrl(out, b, &w, t);
	if (status) {
		fprintf(out, "malformed: %s\n", err.text);
		return;
	}
	if (w.opcode == BF_MLX5_OP_NOP)
		return;
	if (w.opcode == BF_MLX5_OP_UMR) {
		print_umr(out, b, &w);
		return;
	}
	if (w.av_len)
		print_av(out, b, &w, t);
	if (w.opcode == BF_MLX5_OP_RDMA_WRITE || w.opcode == BF_MLX5_OP_RDMA_WRITE_IMM ||
	    w.opcode == BF_MLX5_OP_RDMA_READ || w.atomic_size) {
		line(out, b, 16u + w.av_len, 8, "raddr");
		fprintf(out, "0x%llx\n", (unsigned long long)w.raddr);
		line(out, b, 24u + w.av_len, 4, "rkey");
		fprintf(out, "0x%x\n", w.rkey);
	}
	if (w.atomic_size)
		print_atomic(out, b, &w);
	print_payload(out, b, &w);
}

void bf_mlx5_wqe_print(FILE *out, const void *bytes, uint32_t len)
{
	print_wqe(out, bytes, len, RC);
}

void bf_mlx5_dc_wqe_print(FILE *out, const void *bytes, uint32_t len)
{
	print_wqe(out, bytes, len, DC);
}

void bf_mlx5_ud_wqe_print(FILE *out, const void *bytes, uint32_t len)
{
	print_wqe(out, bytes, len, UD);
}

static void print_error(FILE *out, const uint8_t *b)
{
	const struct bf_mlx5_err_cqe *e = (const void *)b;
	const char *vendor = bf_mlx5_vendor_text(e->syndrome, e->vendor_err_synd);

	line(out, b, 52, 1, "hw_err_synd");
	fprintf(out, "0x%02x\n", e->hw_err_synd);
	line(out, b, 53, 1, "hw_synd_type");
	fprintf(out, "0x%02x\n", e->hw_synd_type);
	line(out, b, 54, 1, "vendor_synd");
	fprintf(out, "0x%02x%s%s\n", e->vendor_err_synd, *vendor ? " " : "", vendor);
	line(out, b, 55, 1, "syndrome");
	fprintf(out, "0x%02x %s\n", e->syndrome, bf_mlx5_syndrome_text(e->syndrome));
}

static void print_success(FILE *out, const uint8_t *b)
{
	line(out, b, 36, 4, "imm");
	fprintf(out, "0x%08x\n", bf_get_be32(b + 36));
	line(out, b, 44, 4, "byte_cnt");
	fprintf(out, "%u\n", bf_get_be32(b + 44));
	line(out, b, 48, 8, "timestamp");
	fprintf(out, "%llu\n", (unsigned long long)bf_get_be64(b + 48));
}

void bf_mlx5_cqe_print(FILE *out, const void *cqe64)
{
	const uint8_t *b = cqe64;
	const struct bf_mlx5_cqe *c = cqe64;
	uint8_t opcode = (uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, c->op_own);
	uint32_t sop_qpn = bf_be32(c->sop_drop_qpn);

	line(out, b, 32, 4, "srqn_uidx");
	fprintf(out, "0x%x\n", bf_be32(c->srqn_uidx));
	if ((c->op_own & BF_MLX5_CQE_COMPRESSED) == BF_MLX5_CQE_COMPRESSED) {
		line(out, b, 44, 4, "block");
		fprintf(out, "%u entries: this is their title, what each has of its own lies in the slot behind it\n",
			bf_be32(c->byte_cnt));
	}
	if (opcode == BF_MLX5_CQE_REQ_ERR || opcode == BF_MLX5_CQE_RESP_ERR)
		print_error(out, b);
	else
		print_success(out, b);
	line(out, b, 56, 1, "wqe_opcode");
	fprintf(out, "0x%02x %s\n", sop_qpn >> 24, bf_mlx5_opcode_name((uint8_t)(sop_qpn >> 24)));
	line(out, b, 57, 3, "qpn");
	fprintf(out, "0x%x\n", sop_qpn & 0xffffff);
	line(out, b, 60, 2, "wqe_counter");
	fprintf(out, "%u\n", bf_be16(c->wqe_counter));
	line(out, b, 62, 1, "signature");
	fprintf(out, "0x%02x\n", c->signature);
	line(out, b, 63, 1, "op_own");
	fprintf(out, "0x%02x %s, format %u, %sowner %u\n", c->op_own, bf_mlx5_cqe_opcode_name(opcode),
		(unsigned)BF_FIELD_GET(BF_MLX5_CQE_FORMAT, c->op_own), c->op_own & BF_MLX5_CQE_SE ? "solicited, " : "",
		c->op_own & BF_MLX5_CQE_OWNER);
}
