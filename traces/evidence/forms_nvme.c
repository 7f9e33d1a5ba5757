/* What is printed of NVMe controllers, by Linux' driver, SPDK and nvme-cli. */
#include <string.h>

#include "sim/bytes.h"
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

/*
 * Linux blk_mq: a status of type and code behind each other, as 0xTCC with flags above (NVMe Base 2.0, 3.3.3.2.1).
 * False: it is none, or that of success.
 */
static bool set_status(struct bf_evidence *e, int64_t status)
{
	if (status <= 0)
		return false;
	e->fact[BF_FACT_STATUS] = status & 0x7ff;
	e->fact[BF_FACT_DNR] = status >> 14 & 1;
	return true;
}

/* nvme-cli: "NVMe status: PRP Offset Invalid: ...(0x2013)". */
static bool take_nvme_cli(const struct bf_line *l, struct bf_evidence *e)
{
	const char *p = bf_line_find(l, "NVMe status: |NVMe Status:|INVALID_FIELD: |INVALID_OPCODE: "), *open = NULL;
	int64_t status;

	for (const char *q = p; q && q < l->end && (q = memmem(q, (size_t)(l->end - q), "(0x", 3)) != NULL; q++)
		open = q;
	status = open ? bf_line_number(l, open + 1, 16) : -1;
	return set_status(e, status);
}

/* Type and code as two numbers. False: they are none of a status, or of success. */
static bool set_type_and_code(struct bf_evidence *e, int64_t type, int64_t code)
{
	if (type < 0 || type > 7 || code < 0 || code > 0xff || type + code == 0)
		return false;
	e->fact[BF_FACT_STATUS] = type << 8 | code;
	return true;
}

/* SPDK: "INVALID FIELD (00/02) sqid:5 cid:191 cdw0:0 sqhd:0001 p:1 m:1 dnr:0". */
static bool take_spdk_status(const struct bf_line *l, struct bf_evidence *e)
{
	const char *sqid = bf_line_find(l, ") sqid:|) qid:"), *open;

	open = sqid ? memrchr(l->at, '(', (size_t)(sqid - l->at)) : NULL;
	if (!open || l->end - open < 7)
		return false;
	return set_type_and_code(e, bf_line_number(l, open + 1, 16), bf_line_number(l, open + 4, 16));
}

/* Linux nvme_log_error(): "I/O Error (sct 0x2 / sc 0x81)". */
static bool take_sct_sc(const struct bf_line *l, struct bf_evidence *e)
{
	const char *sct = bf_line_find(l, "sct 0x"), *sc = bf_line_find(l, "/ sc 0x");

	e->fact[BF_FACT_DNR] = bf_line_find(l, "DNR") != NULL;
	return sct && sc && set_type_and_code(e, bf_line_number(l, sct - 2, 16), bf_line_number(l, sc - 2, 16));
}

/* SPDK's perf and fio plugin: "Read completed with error (sct=0, sc=8)". */
static bool take_sct_equals(const struct bf_line *l, struct bf_evidence *e)
{
	const char *sct = bf_line_find(l, "(sct="), *sc = bf_line_find(l, ", sc=");

	return sct && sc && set_type_and_code(e, bf_line_number(l, sct, 10), bf_line_number(l, sc, 10));
}

/*
 * Linux' trace event, also as a comment of function_graph: "nvme_complete_rq: nvme0: qid=0, cmdid=5, ...
 * status=0x4002"; its abort_endio(): "nvme nvme0: Abort status: 0x7", where 0 says that the command was aborted as
 * asked.
 */
static bool take_status(const struct bf_line *l, struct bf_evidence *e)
{
	(void)l;
	return set_status(e, e->fact[BF_FACT_STATUS]);
}

/* nvme-cli before 2.0: "NVME Admin command error:ABORT_REQ(7)", "NVME IO command error:INVALID_FIELD(4002)". */
static bool take_old_nvme_cli(const struct bf_line *l, struct bf_evidence *e)
{
	const char *p = bf_line_find(l, "command error:"), *open = p ? memchr(p, '(', (size_t)(l->end - p)) : NULL;
	const int64_t status = open ? bf_line_number(l, open + 1, 16) : -1;

	return set_status(e, status);
}

#define NVME BF_EVIDENCE_DRIVE

static const struct bf_evidence_form forms[] = {
	/* spdk/spdk lib/nvme/nvme_ctrlr.c, nvme_qpair.c */
	{ "SPDK's controller that does not start",
	  "initialization timed out in state",
	  NVME,
	  BF_EVIDENCE_DOWN,
	  { { 0 } },
	  bf_take_always },
	{ "SPDK's controller that was given up", "in failed state", NVME, BF_EVIDENCE_DOWN, { { 0 } }, bf_take_always },
	{ "SPDK's transport error",
	  "CQ transport error ",
	  NVME,
	  BF_EVIDENCE_DOWN,
	  { { "error -", BF_FACT_ERRNO, 10 }, { "qpair id ", BF_FACT_QID, 10 } },
	  bf_take_always },
	/* Linux: drivers/nvme/host/pci.c, core.c */
	{ "Linux' controller that is removed",
	  "after probe failure",
	  NVME,
	  BF_EVIDENCE_DOWN,
	  { { "status: -", BF_FACT_ERRNO, 10 } },
	  bf_take_always },
	{ "Linux' NVMe time-out",
	  " timeout, ",
	  NVME,
	  BF_EVIDENCE_TIMEOUT,
	  { { "QID ", BF_FACT_QID, 10 }, { "I/O tag |I/O ", BF_FACT_CID, 10 } },
	  NULL },
	{ "Linux' completion of nothing",
	  "completed on queue ",
	  NVME,
	  BF_EVIDENCE_STRAY,
	  { { "invalid id ", BF_FACT_CID, 10 }, { "completed on queue ", BF_FACT_QID, 10 } },
	  NULL },
	{ "Linux' controller that is gone",
	  "controller is down",
	  NVME,
	  BF_EVIDENCE_DOWN,
	  { { "CSTS=", BF_FACT_CSTS, 0 } },
	  NULL },
	{ "Linux' controller that is not ready",
	  "Device not ready",
	  NVME,
	  BF_EVIDENCE_DOWN,
	  { { "CSTS=", BF_FACT_CSTS, 0 } },
	  bf_take_always },
	{ "Linux' NVMe error", "/ sc 0x", NVME, BF_EVIDENCE_COMPLETION, { { " LBA ", BF_FACT_LBA, 10 } }, take_sct_sc },
	{ "Linux' trace of a completion",
	  "nvme_complete_rq:",
	  NVME,
	  BF_EVIDENCE_COMPLETION,
	  { { "status=", BF_FACT_STATUS, 0 }, { "qid=", BF_FACT_QID, 10 }, { "cmdid=", BF_FACT_CID, 10 } },
	  take_status },
	/* spdk/spdk lib/nvme/nvme_qpair.c */
	{ "SPDK's print of a completion",
	  ") sqid:",
	  NVME,
	  BF_EVIDENCE_COMPLETION,
	  { { "sqid:", BF_FACT_QID, 10 }, { "cid:", BF_FACT_CID, 10 }, { "dnr:", BF_FACT_DNR, 10 } },
	  take_spdk_status },
	{ "SPDK's print of a completion",
	  ") qid:",
	  NVME,
	  BF_EVIDENCE_COMPLETION,
	  { { "qid:", BF_FACT_QID, 10 }, { "cid:", BF_FACT_CID, 10 }, { "dnr:", BF_FACT_DNR, 10 } },
	  take_spdk_status },
	{ "SPDK's print of a command",
	  " nsid:",
	  NVME,
	  BF_EVIDENCE_ENTRY,
	  { { "nsid:", BF_FACT_NSID, 10 },
	    { "sqid:|qid:", BF_FACT_QID, 10 },
	    { "cid:", BF_FACT_CID, 10 },
	    { "lba:", BF_FACT_LBA, 10 } },
	  NULL },
	{ "SPDK's I/O that failed", "(sct=", NVME, BF_EVIDENCE_COMPLETION, { { 0 } }, take_sct_equals },
	{ "Linux' answer to an abort",
	  "Abort status: ",
	  NVME,
	  BF_EVIDENCE_COMPLETION,
	  { { "Abort status: ", BF_FACT_STATUS, 0 } },
	  take_status },
	{ "Linux' scan of a namespace",
	  "dentify Descriptors failed (",
	  NVME,
	  BF_EVIDENCE_COMPLETION,
	  { { "status=|failed (", BF_FACT_STATUS, 0 }, { "nsid=", BF_FACT_NSID, 10 } },
	  take_status },
	{ "Linux' scan of a namespace",
	  "dentify namespace failed (",
	  NVME,
	  BF_EVIDENCE_COMPLETION,
	  { { "failed (", BF_FACT_STATUS, 0 } },
	  take_status },
	/* linux-nvme/nvme-cli */
	{ "nvme-cli's status", "command error:", NVME, BF_EVIDENCE_COMPLETION, { { 0 } }, take_old_nvme_cli },
	{ "nvme-cli's status", "NVMe status: ", NVME, BF_EVIDENCE_COMPLETION, { { 0 } }, take_nvme_cli },
	{ "nvme-cli's status", "NVMe Status:", NVME, BF_EVIDENCE_COMPLETION, { { 0 } }, take_nvme_cli },
	{ "nvme-cli's status", "INVALID_FIELD: ", NVME, BF_EVIDENCE_COMPLETION, { { 0 } }, take_nvme_cli },
	{ "nvme-cli's status", "INVALID_OPCODE: ", NVME, BF_EVIDENCE_COMPLETION, { { 0 } }, take_nvme_cli },
	/* Linux drivers/nvme/host/core.c, pci.c; block/blk-core.c */
	{ "Linux' controller that does not start",
	  "dentify controller failed",
	  NVME,
	  BF_EVIDENCE_DOWN,
	  { { 0 } },
	  bf_take_always },
	{ "Linux' controller that does not start",
	  "dentify Controller failed",
	  NVME,
	  BF_EVIDENCE_DOWN,
	  { { "failed (-", BF_FACT_ERRNO, 10 } },
	  bf_take_always },
	{ "Linux' controller that is given up",
	  "evice after reset failure",
	  NVME,
	  BF_EVIDENCE_DOWN,
	  { { "failure: -|status: -", BF_FACT_ERRNO, 10 } },
	  bf_take_always },
	{ "the block layer's error",
	  "error, dev nvme",
	  NVME,
	  BF_EVIDENCE_COMPLETION,
	  { { ", sector ", BF_FACT_LBA, 10 } },
	  NULL },
};
const struct bf_evidence_forms bf_forms_drive = { forms, BF_ARRAY_LEN(forms) };
