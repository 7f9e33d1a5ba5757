/*
 * Completions in anybody's words: "wc.status=5 vendor_err=0xf9", "bad completion with status: 0xc, vendor syndrome:
 * 0x81", names of statuses, and lines that only announce a completion. Each application prints the fields of ibv_wc or
 * of mlx5_err_cqe in its own way; the words are those of the structures.
 */
#include <string.h>

#include "sim/bytes.h"
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

#define GAP 24u /* characters between a field's word and its number */

/* Linux include/linux/mlx5/device.h, rdma-core providers/mlx5/mlx5dv.h. */
static const struct {
	const char *text;
	uint8_t syndrome;
} syndrome_names[] = {
	{ "SYNDROME_LOCAL_LENGTH_ERR", 0x01 },
	{ "SYNDROME_LOCAL_QP_OP_ERR", 0x02 },
	{ "SYNDROME_LOCAL_PROT_ERR", 0x04 },
	{ "SYNDROME_WR_FLUSH_ERR", 0x05 },
	{ "SYNDROME_MW_BIND_ERR", 0x06 },
	{ "SYNDROME_BAD_RESP_ERR", 0x10 },
	{ "SYNDROME_LOCAL_ACCESS_ERR", 0x11 },
	{ "SYNDROME_REMOTE_INVAL_REQ_ERR", 0x12 },
	{ "SYNDROME_REMOTE_ACCESS_ERR", 0x13 },
	{ "SYNDROME_REMOTE_OP_ERR", 0x14 },
	{ "SYNDROME_TRANSPORT_RETRY_EXC_ERR", 0x15 },
	{ "SYNDROME_RNR_RETRY_EXC_ERR", 0x16 },
	{ "SYNDROME_REMOTE_ABORTED_ERR", 0x22 },
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The number of a field whose word begins before `p`: behind the rest of the word, separators, "is", "byte", "value".
 */
static int64_t number_behind(const struct bf_line *l, const char *p)
{
	const char *stop = (size_t)(l->end - p) > GAP ? p + GAP : l->end;

	while (p < stop && (is_letter(*p) || strchr(" =:(\"'\t", *p)))
		p++;
	return p < stop && *p >= '0' && *p <= '9' ? bf_line_number(l, p, 0) : -1;
}

/* "vendor_err", "vendor syndrome", "vendor_err_synd", "vendor error". -1: none, or none that one byte holds. */
static int64_t vendor_of(const struct bf_line *l)
{
	const char *p = bf_line_find(l, "vendor_|vendor ");
	int64_t vendor;

	if (!p || l->end - p < 5 || (memcmp(p, "err", 3) != 0 && memcmp(p, "syn", 3) != 0))
		return -1;
	vendor = number_behind(l, p);
	return vendor <= 0xff ? vendor : -1;
}

/* "status: 0xc", "status=5", ".status 9", "status (4)"; "syndrome 0x4" is the device's own number. */
static void set_status(const struct bf_line *l, struct bf_evidence *e)
{
	const char *p = bf_line_find(l, "status");
	int64_t value = p ? number_behind(l, p) : -1;

	if (value >= 0 && value < 64)
		e->fact[BF_FACT_VERBS] = value;
	p = l->at;
	while (p < l->end && (p = memmem(p, (size_t)(l->end - p), "syndrome", 8)) != NULL) {
		const bool vendors = p - l->at > 6 && (memcmp(p - 7, "vendor", 6) == 0);

		p += 8;
		value = vendors ? -1 : number_behind(l, p);
		if (value >= 0 && value <= 0xff)
			e->fact[BF_FACT_SYNDROME] = value;
	}
}

static bool take_syndrome_name(const struct bf_line *l, struct bf_evidence *e)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(syndrome_names); i++) {
		if (!bf_line_find(l, syndrome_names[i].text))
			continue;
		e->fact[BF_FACT_SYNDROME] = syndrome_names[i].syndrome;
		e->fact[BF_FACT_VENDOR] = vendor_of(l);
		return true;
	}
	return false;
}

/* A vendor's number beside a status or syndrome that is not success; alone it is a part of what another line says. */
static bool take_vendor(const struct bf_line *l, struct bf_evidence *e)
{
	e->fact[BF_FACT_VENDOR] = vendor_of(l);
	if (e->fact[BF_FACT_VENDOR] <= 0)
		return false;
	if (take_syndrome_name(l, e))
		return true;
	set_status(l, e);
	if (e->fact[BF_FACT_VERBS] < 0 && e->fact[BF_FACT_SYNDROME] < 0 && !bf_take_verbs_text(l, e))
		e->kind = BF_EVIDENCE_ANNOUNCED;
	return e->fact[BF_FACT_VERBS] != 0 && e->fact[BF_FACT_SYNDROME] != 0;
}

/* "Got bad completion status 10", "completion with status: 0xc". */
static bool take_bad_completion(const struct bf_line *l, struct bf_evidence *e)
{
	set_status(l, e);
	if (e->fact[BF_FACT_VERBS] < 0)
		return bf_take_verbs_text(l, e);
	return e->fact[BF_FACT_VERBS] > 0;
}

#define MLX5 BF_EVIDENCE_NIC
#define QP                                                                                                             \
	{                                                                                                              \
		"qp_num=|qp_num = |qpn |qpn=|QPN ", BF_FACT_QPN, 0                                                     \
	}
#define WR_ID                                                                                                          \
	{                                                                                                              \
		"wr_id=|wr_id = |wr_id |wrid ", BF_FACT_WR_ID, 0                                                       \
	}

static const struct bf_evidence_form forms[] = {
	{ "a completion's fields", "vendor", MLX5, BF_EVIDENCE_COMPLETION, { QP, WR_ID }, take_vendor },
	{ "a bad completion", "bad completion", MLX5, BF_EVIDENCE_COMPLETION, { QP, WR_ID }, take_bad_completion },
	{ "a syndrome in words", "CQE_SYNDROME_", MLX5, BF_EVIDENCE_COMPLETION, { QP }, take_syndrome_name },
	/* DPDK drivers/net/mlx5/mlx5_tx.c */
	{ "DPDK's completion with error",
	  "CQE error syndrome ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "CQE error syndrome ", BF_FACT_SYNDROME, 0 },
	    { "CQN = ", BF_FACT_CQN, 10 },
	    { "SQN = ", BF_FACT_QPN, 10 },
	    { "wqe_counter = ", BF_FACT_COUNTER, 10 } },
	  NULL },
	/* rdma-core providers/mlx4/cq.c, dump_cqe(): the same statuses */
	{ "libmlx4's completion with error",
	  " err (QPN ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "(QPN ", BF_FACT_QPN, 16 } },
	  bf_take_verbs_text },
	/* What stands in front of a dump, or of the line that says more: rdma-core, Linux, DPDK, perftest */
	{ "an error completion's announcement",
	  "got completion with error:",
	  MLX5,
	  BF_EVIDENCE_ANNOUNCED,
	  { { 0 } },
	  bf_take_always },
	{ "an error completion's announcement",
	  "rror cqe on cqn 0x",
	  MLX5,
	  BF_EVIDENCE_ANNOUNCED,
	  { { "on cqn ", BF_FACT_CQN, 0 } },
	  NULL },
	{ "an error completion's announcement",
	  "dump error cqe",
	  MLX5,
	  BF_EVIDENCE_ANNOUNCED,
	  { { 0 } },
	  bf_take_always },
	{ "an error completion's announcement",
	  "Error CQE: at [",
	  MLX5,
	  BF_EVIDENCE_ANNOUNCED,
	  { { 0 } },
	  bf_take_always },
	{ "an error completion's announcement",
	  "ERR CQE on ",
	  MLX5,
	  BF_EVIDENCE_ANNOUNCED,
	  { { "SQ: |RQ: |SQ |RQ ", BF_FACT_QPN, 0 } },
	  NULL },
	{ "an error completion's announcement",
	  "ompletion with error at ",
	  MLX5,
	  BF_EVIDENCE_ANNOUNCED,
	  { { 0 } },
	  bf_take_always },
};
const struct bf_evidence_forms bf_forms_words = { forms, BF_ARRAY_LEN(forms) };
