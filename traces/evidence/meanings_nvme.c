/* Statuses of NVMe, and what Linux says when there is none. */
#include <stdio.h>

#include "models/nvme/text.h"
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

static const struct bf_meaning_row rows[] = {
	{ BF_EVIDENCE_DRIVE,
	  BF_EVIDENCE_TIMEOUT,
	  -1,
	  -1,
	  { "NVMe timeout",
	    "NVME_TIMEOUT",
	    "The driver saw no completion of a command in time. \"completion polled\": it had completed, and the "
	    "interrupt "
	    "was lost.",
	    { { "NVME-NO-INTERRUPT", "\"completion polled\": the completion was in memory, but no interrupt came." },
	      { "NVME-NOT-RUNG", "The doorbell was not rung, or an older tail was written last." },
	      { "NVME-DOORBELL-LOST", "The doorbell write never arrived." },
	      { "NVME-COMPLETION-LOST", "The controller completed it, but the completion is not in memory." },
	      { "NVME-NO-ANSWER", "The controller fetched it, but never completes it." } },
	    "nvme error-log, CSTS (nvme show-regs); /proc/interrupts of the queue's vector; power states (APST, "
	    "ASPM)." } },
	{ BF_EVIDENCE_DRIVE,
	  BF_EVIDENCE_STRAY,
	  -1,
	  -1,
	  { "invalid id completed",
	    "INVALID_ID",
	    "A completion names a command that is not in flight.",
	    { { "NVME-PHASE", "An old entry was taken for a new one." },
	      { "NVME-PHASE-WRAP", "The phase was not inverted where the queue wraps." },
	      { "NVME-TAKEN-TWICE", "Two pollers consumed the same completion." },
	      { "NVME-CID-IN-USE", "An identifier was reused while its command was in flight." },
	      { "NVME-CQE-MISREAD", "The completion was read before all of it was written (or a speculative read "
				    "overtook the phase's)." } },
	    "The completion queue's memory around the head; whether the platform's DMA is coherent." } },
	{ BF_EVIDENCE_DRIVE,
	  BF_EVIDENCE_DOWN,
	  -1,
	  -1,
	  { "controller down",
	    "CSTS",
	    "The controller does not answer. CSTS of all ones: its registers cannot be read, the device left the bus; "
	    "bit 1: it reports a fatal status.",
	    { { NO_RULE, "CSTS=0xffffffff: link down, power lost, or the BAR is unmapped." },
	      { "NVME-ENABLE-REFUSED", "CSTS.RDY is not set after CC.EN: the controller refuses the configuration." },
	      { "NVME-RESET-EARLY", "It was enabled again before it had stopped." } },
	    "dmesg for AER and link messages; lspci -vv; CC and CSTS." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  0x002,
	  -1,
	  { "00/02",
	    "INVALID_FIELD",
	    "A field of the command is invalid.",
	    { { "NVME-ENTRY-FIELD", "The field still holds what the slot's previous command left." },
	      { "NVME-MDTS", "The transfer is longer than MDTS." },
	      { "NVME-PROTECTION", "PRINFO is set, but the namespace's format has no protection information." },
	      { "NVME-CNS", "Identify asks for a structure that the controller does not have." },
	      { "NVME-SGL", "The data pointer is read as an SGL." } },
	    "The command's dwords: belfry decode nvme-sqe." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  0x003,
	  -1,
	  { "00/03",
	    "CID_CONFLICT",
	    "The identifier is in use.",
	    { { "NVME-CID-IN-USE", "Two commands in flight have it." } },
	    "How the driver allocates and frees identifiers." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  0x004,
	  -1,
	  { "00/04",
	    "DATA_TRANSFER_ERROR",
	    "The controller could not move the data.",
	    { { "NVME-UNMAPPED", "A PRP names memory that the controller cannot reach." } },
	    "dmesg for IOMMU faults at that address." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  0x00b,
	  -1,
	  { "00/0b",
	    "INVALID_NS|INVALID_NAMESPACE",
	    "There is no such namespace.",
	    { { "NVME-NSID", "The command's NSID is wrong." } },
	    "nvme list-ns -a." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  0x00c,
	  -1,
	  { "00/0c",
	    "CMD_SEQ_ERROR",
	    "The command came out of sequence.",
	    { { "NVME-SEQUENCE", "A command that has to come first is missing." },
	      { "NVME-FUSED-HALF", "Only half of a fused pair was submitted." } },
	    "The commands before it in the queue." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  0x013,
	  -1,
	  { "00/13",
	    "PRP_OFFSET_INVALID",
	    "A PRP entry after the first has an offset within its page, or is not aligned to a dword.",
	    { { "NVME-PRP-ALIGN", "An entry after the first does not point to the start of a page." },
	      { "NVME-PRP-OFFSET", "PRP2 points to the list's page, not to the list's start within it." } },
	    "Check PRP1, PRP2 and the list against CC.MPS, the page size." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  0x080,
	  -1,
	  { "00/80",
	    "LBA_RANGE",
	    "The command goes beyond the end of the namespace.",
	    { { "NVME-LBA-RANGE", "SLBA plus NLB is too large." }, { "NVME-NLB", "NLB is 0-based: 0 is one block." } },
	    "nvme id-ns: NSZE, and the LBA format." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  0x100,
	  -1,
	  { "01/00",
	    "CQ_INVALID",
	    "The submission queue names a completion queue that does not exist.",
	    { { "NVME-QUEUE-ORDER", "The completion queue is created later, or was deleted." } },
	    "The order of Create I/O commands." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  0x101,
	  -1,
	  { "01/01",
	    "QID_INVALID",
	    "The queue's number is invalid or in use.",
	    { { "NVME-QUEUE-ID", "The number is 0, above the limit, or in use." } },
	    "Feature 7: how many queues were granted." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  0x102,
	  -1,
	  { "01/02",
	    "QUEUE_SIZE",
	    "The queue's size is invalid.",
	    { { "NVME-QUEUE-SIZE", "The size is 0 or above CAP.MQES; both are 0-based." } },
	    "CAP.MQES." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  0x108,
	  -1,
	  { "01/08",
	    "INVALID_VECTOR",
	    "The interrupt vector does not exist.",
	    { { "NVME-VECTOR", "IV in Create I/O Completion Queue is too large." } },
	    "lspci -vv: MSI-X count." } },
	{ BF_EVIDENCE_DRIVE,
	  -1,
	  -1,
	  -1,
	  { "NVMe status",
	    "NVME_STATUS",
	    "The controller answered with an error.",
	    { { "NVME-ERROR-STATUS", "Status type and code say which." },
	      { "NVME-STATUS-IGNORED", "The driver used the data all the same." } },
	    "nvme error-log; the command's dwords." } },

};

const struct bf_meaning_table bf_meanings_drive = { rows, BF_ARRAY_LEN(rows) };

/* ---- about it ---- */

static bool status(const struct bf_evidence *e, char *text, size_t cap)
{
	const int64_t code = e->fact[BF_FACT_STATUS];

	if (code < 0)
		return false;
	snprintf(text, cap, "%02x/%02x, %s", (unsigned)(code >> 8), (unsigned)(code & 0xff),
		 bf_nvme_status_text((uint32_t)code));
	return true;
}

static bool is_of(const struct bf_evidence *e, const struct bf_evidence *entry)
{
	return entry->fact[BF_FACT_CID] == e->fact[BF_FACT_CID] && entry->fact[BF_FACT_QID] == e->fact[BF_FACT_QID];
}

static const char *const known[] = {
	"NVMe     time-outs, statuses and trace events of Linux, SPDK and nvme-cli; rings of commands", NULL
};

const struct bf_evidence_about bf_about_drive = {
	.name = "nvme",
	.status = status,
	.is_of = is_of,
	.known = known,
	.blocked = { "NVME-UNMAPPED", "An NVMe controller: a PRP names unmapped memory." },
};
