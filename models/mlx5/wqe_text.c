/* Names and printing of WQEs and CQEs. */
#include "models/mlx5/wqe.h"

const char *bf_mlx5_opcode_name(uint8_t opcode)
{
	switch (opcode) {
	case BF_MLX5_OP_NOP: return "NOP";
	case BF_MLX5_OP_SEND_INVAL: return "SEND_INVAL";
	case BF_MLX5_OP_RDMA_WRITE: return "RDMA_WRITE";
	case BF_MLX5_OP_RDMA_WRITE_IMM: return "RDMA_WRITE_IMM";
	case BF_MLX5_OP_SEND: return "SEND";
	case BF_MLX5_OP_SEND_IMM: return "SEND_IMM";
	case BF_MLX5_OP_RDMA_READ: return "RDMA_READ";
	case BF_MLX5_OP_ATOMIC_CS: return "ATOMIC_CS";
	case BF_MLX5_OP_ATOMIC_FA: return "ATOMIC_FA";
	case BF_MLX5_OP_ATOMIC_MASKED_CS: return "ATOMIC_MASKED_CS";
	case BF_MLX5_OP_ATOMIC_MASKED_FA: return "ATOMIC_MASKED_FA";
	case BF_MLX5_OP_DUMP: return "DUMP";
	case BF_MLX5_OP_UMR: return "UMR";
	default: return "?";
	}
}

const char *bf_mlx5_cqe_opcode_name(uint8_t opcode)
{
	switch (opcode) {
	case BF_MLX5_CQE_REQ: return "REQ";
	case BF_MLX5_CQE_RESP_WRITE_IMM: return "RESP_WRITE_IMM";
	case BF_MLX5_CQE_RESP_SEND: return "RESP_SEND";
	case BF_MLX5_CQE_RESP_SEND_IMM: return "RESP_SEND_IMM";
	case BF_MLX5_CQE_RESP_SEND_INV: return "RESP_SEND_INV";
	case BF_MLX5_CQE_RESIZE: return "RESIZE";
	case BF_MLX5_CQE_SIG_ERR: return "SIG_ERR";
	case BF_MLX5_CQE_REQ_ERR: return "REQ_ERR";
	case BF_MLX5_CQE_RESP_ERR: return "RESP_ERR";
	case BF_MLX5_CQE_INVALID: return "INVALID";
	default: return "?";
	}
}

/* mlx5.md section 4.7; the verbs status names are rdma-core's. */
const char *bf_mlx5_syndrome_text(uint8_t syndrome)
{
	switch (syndrome) {
	case BF_MLX5_SYND_LOCAL_LENGTH: return "local length error";
	case BF_MLX5_SYND_LOCAL_QP_OP: return "local QP operation error";
	case BF_MLX5_SYND_LOCAL_PROT: return "local protection error";
	case BF_MLX5_SYND_WR_FLUSH: return "work request flushed";
	case BF_MLX5_SYND_MW_BIND: return "memory window bind error";
	case BF_MLX5_SYND_BAD_RESP: return "bad response";
	case BF_MLX5_SYND_LOCAL_ACCESS: return "local access error";
	case BF_MLX5_SYND_REM_INV_REQ: return "remote invalid request error";
	case BF_MLX5_SYND_REM_ACCESS: return "remote access error";
	case BF_MLX5_SYND_REM_OP: return "remote operation error";
	case BF_MLX5_SYND_RETRY_EXC: return "transport retry counter exceeded";
	case BF_MLX5_SYND_RNR_EXC: return "RNR retry counter exceeded";
	case BF_MLX5_SYND_REM_ABORT: return "remote aborted";
	default: return "unknown syndrome";
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

static void print_ctrl(FILE *out, const uint8_t *b, const struct bf_mlx5_wqe *w, bool dc)
{
	static const char *const fences[8] = { "none",	     "initiator small fence", "fence", "strong ordering",
					       "fence + small", "reserved",	      "reserved", "reserved" };
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
	if (dc) {
		line(out, b, 9, 2, "dci_stream");
		fprintf(out, "%u\n", w->stream);
	}
	line(out, b, 11, 1, "fm_ce_se");
	fprintf(out, "fence: %s; completion: %s%s\n", fences[w->fm], ces[w->ce], w->solicited ? "; solicited" : "");
	line(out, b, 12, 4, "imm");
	fprintf(out, "0x%08x\n", w->imm);
}

static void print_av(FILE *out, const uint8_t *b, const struct bf_mlx5_wqe *w)
{
	line(out, b, 16, 8, "dc_key");
	fprintf(out, "0x%llx\n", (unsigned long long)w->dc_key);
	line(out, b, 24, 4, "dqp_dct");
	fprintf(out, "DCT 0x%x, %s address vector\n", w->dct, w->av_len == BF_MLX5_AV_FULL ? "full" : "compact");
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

static void print_wqe(FILE *out, const void *bytes, uint32_t len, bool dc)
{
	const uint8_t *b = bytes;
	struct bf_mlx5_wqe w;
	struct bf_error err = { 0 };
	int status = dc ? bf_mlx5_dc_wqe_decode(bytes, len, &w, &err) : bf_mlx5_wqe_decode(bytes, len, &w, &err);

	if (len >= sizeof(struct bf_mlx5_ctrl))
		print_ctrl(out, b, &w, dc);
	if (status) {
		fprintf(out, "malformed: %s\n", err.text);
		return;
	}
	if (w.opcode == BF_MLX5_OP_NOP || w.opcode == BF_MLX5_OP_UMR)
		return;
	if (w.av_len)
		print_av(out, b, &w);
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
	print_wqe(out, bytes, len, false);
}

void bf_mlx5_dc_wqe_print(FILE *out, const void *bytes, uint32_t len)
{
	print_wqe(out, bytes, len, true);
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
