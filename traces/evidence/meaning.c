/*
 * What an error means, and its likely causes in order. Codes of ConnectX are known from public reports only
 * (docs/hardware/mlx5.md); a row without a vendor code is for those of its syndrome that nobody has explained.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "models/fabric/roce.h"
#include "sim/bytes.h"
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

/* Codes of packets: AETH syndromes without an RNR NAK's time, the opcode of a notice, and two of our own. */
#define CNP 0x81
#define AGAIN 0x100
#define LATE 0x101
#define OUT_OF_PLACE 0x102 /* likewise, of an entry in a ring */

/* enum ibv_wc_status to syndrome (rdma-core providers/mlx5/cq.c mlx5_handle_error_cqe, read backwards). */
static const int8_t syndrome_of[] = {
	[1] = 0x01, [2] = 0x02,  [4] = 0x04,  [5] = 0x05,  [6] = 0x06,  [7] = 0x10,  [8] = 0x11,
	[9] = 0x12, [10] = 0x13, [11] = 0x14, [12] = 0x15, [13] = 0x16, [16] = 0x22,
};

int64_t bf_evidence_syndrome(const struct bf_evidence *e)
{
	const int64_t verbs = e->fact[BF_FACT_VERBS];

	if (e->fact[BF_FACT_SYNDROME] >= 0)
		return e->fact[BF_FACT_SYNDROME];
	return verbs > 0 && verbs < (int64_t)BF_ARRAY_LEN(syndrome_of) && syndrome_of[verbs] ? syndrome_of[verbs] : -1;
}

bool bf_evidence_follows(const struct bf_evidence *e)
{
	return e->device == BF_EVIDENCE_MLX5 && e->kind == BF_EVIDENCE_COMPLETION && bf_evidence_syndrome(e) == 0x05;
}

bool bf_evidence_harmless(const struct bf_evidence *e)
{
	return e->kind == BF_EVIDENCE_ENTRY || (e->kind == BF_EVIDENCE_PACKET && e->fact[BF_FACT_BTH] == CNP);
}

struct row {
	enum bf_evidence_device device;
	int kind;             /* -1: a completion's status decides */
	int32_t code, vendor; /* syndrome or status; vendor -1: any */
	struct bf_meaning m;
};

#define NO_RULE NULL
#define PEER "The peer's own log: its first error of the same time; its queue pair's state (rdma res show qp)."

static const struct row rows[] = {
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_ENTRY,
	  OUT_OF_PLACE,
	  -1,
	  { "entry out of place",
	    "ENTRY_INDEX|WQE_INDEX",
	    "The entry has another index than the one that follows from the entry before it. The device names entries "
	    "in "
	    "completions by it.",
	    { { "MLX5-RING-OVERRUN", "The entries from here on are those of an earlier lap, by a whole ring: this is "
				     "where the producer stands." },
	      { "MLX5-ENTRY-INDEX",
		"The index is off by a little: it is counted in entries, not in blocks of 64 bytes." },
	      { "MLX5-SLOT-SHARED", "Two threads laid an entry in one place." } },
	    "The producer index in the doorbell record, and the driver's own, beside this dump." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x01,
	  -1,
	  { "01",
	    "LOC_LEN_ERR|LOCAL_LENGTH",
	    "The message does not fit: a send entry moves more than its queue pair may, or a receive buffer is too "
	    "small for what came.",
	    { { "MLX5-LOCAL-LENGTH",
		"A sender: the entry's byte count is above 2^log_msg_max, or a datagram's above the MTU." },
	      { NO_RULE, "A receiver: the receive entry is shorter than the message. Compare its length with the "
			 "peer's send." } },
	    "Sum the data segments of the entry at wqe_counter; compare with the peer's receive buffers." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x02,
	  0x61,
	  { "02/61",
	    "LOC_QP_OP_ERR",
	    "The device refused the entry: its opcode, size or segments do not fit the queue pair.",
	    { { "MLX5-LOCAL-QP-OP", "The opcode is none of this transport, or the segments do not fit it." },
	      { "MLX5-ENTRY-EARLY",
		"The ring holds a good entry now: the device read it before all of it was written." },
	      { "MLX5-ENTRY-ORDER", "No fence stands between the entry and the index that announces it." },
	      { "MLX5-ENTRY-SHAPE", "DS of the control segment does not match what follows." } },
	    "Dump the entry at wqe_counter from the ring: belfry decode mlx5-wqe." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x02,
	  -1,
	  { "02",
	    "LOC_QP_OP_ERR|LOCAL_QP_OP",
	    "The device could not execute the entry as it stands in the ring.",
	    { { "MLX5-LOCAL-QP-OP", "The opcode is none of this transport, or the segments do not fit it." },
	      { "MLX5-ENTRY-EARLY", "The ring holds a good entry now: it was read before all of it was written." },
	      { "MLX5-RING-OVERRUN", "The entry in the ring belongs to a later lap." } },
	    "Dump the entry at wqe_counter from the ring: belfry decode mlx5-wqe." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x04,
	  0x51,
	  { "04/51",
	    "LOC_PROT_ERR",
	    "The key was good, but reading local data over PCIe failed.",
	    { { NO_RULE, "The data are in GPU memory: ACS or an IOMMU stops peer-to-peer reads (no peer memory module "
			 "or DMA-BUF)." },
	      { "MLX5-LOCAL-PROTECTION", "The memory was unmapped or freed while its key was alive." } },
	    "dmesg for IOMMU faults and AER; lspci -vvv for ACSCtl; nvidia-smi topo -m; try host memory." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x04,
	  0x52,
	  { "04/52",
	    "LOC_PROT_ERR",
	    "The local key of a data segment was not found, or its translation failed.",
	    { { "MLX5-KEY-UNKNOWN", "No key has that number: freed, of another device, or its bytes are swapped." },
	      { "MLX5-KEY-ACCESS", "The key exists and lacks the access, or belongs to another protection domain." },
	      { "MLX5-ENTRY-EARLY", "The segment in the ring is right now: the device read it too early." } },
	    "The lkey of the entry at wqe_counter beside the list of registered keys." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x04,
	  0x53,
	  { "04/53",
	    "LOC_PROT_ERR",
	    "The local key was found and does not cover the access.",
	    { { "MLX5-KEY-BOUNDS", "Address and length leave the region." },
	      { "MLX5-KEY-ACCESS", "The region may not be written (READ, atomic or receive into it)." } },
	    "Address and length of each segment of the entry beside the region's begin and length." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x04,
	  -1,
	  { "04",
	    "LOC_PROT_ERR|LOCAL_PROTECTION",
	    "The device may not access local memory that an entry names.",
	    { { "MLX5-LOCAL-PROTECTION", "The access itself fails, although the key is good." },
	      { "MLX5-KEY-UNKNOWN", "The key does not exist (any more)." },
	      { "MLX5-KEY-BOUNDS", "The access leaves the region." },
	      { "MLX5-KEY-ACCESS", "The key does not allow it, or is of another protection domain." } },
	    "The data segments of the entry at wqe_counter beside the registered regions; dmesg for IOMMU faults." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x05,
	  -1,
	  { "05",
	    "WR_FLUSH_ERR|FLUSHED|05/f9|05/f4",
	    "Flushed: the queue pair was already in error. This completion says nothing of its own entry.",
	    { { "MLX5-FLUSHED",
		"Look for the first completion of this queue pair with another syndrome, here or at the peer." },
	      { NO_RULE, "None at all: the queue pair was closed or moved to error while entries were posted (a peer "
			 "that left)." } },
	    "The first error of this queue pair; with a collapsed completion queue it may be overwritten." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x06,
	  -1,
	  { "06",
	    "MW_BIND_ERR",
	    "A memory window could not be bound, or a UMR entry was refused.",
	    { { "MLX5-KEY-ACCESS", "The key under it does not allow binding or that access." } },
	    "The UMR entry at wqe_counter, and the region that it refers to." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x10,
	  -1,
	  { "10",
	    "BAD_RESP_ERR",
	    "An answer came that does not fit the request.",
	    { { "MLX5-WRONG-PEER", "The two ends are not connected to each other." } },
	    PEER } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x11,
	  -1,
	  { "11",
	    "LOC_ACCESS_ERR",
	    "The responder could not access its own memory for a request that it had accepted.",
	    { { "MLX5-KEY-ACCESS", "The receive buffer's key does not allow writing." } },
	    "The receive entry that was consumed." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x12,
	  -1,
	  { "12",
	    "REM_INV_REQ_ERR|12/8a|REMOTE_INVALID",
	    "The peer answered: invalid request. It understood the packet and refuses the operation, whatever its key.",
	    { { "MLX5-REMOTE-INVALID",
		"The peer's queue pair does not allow the operation (qp_access_flags lack remote write, read "
		"or atomic)." },
	      { NO_RULE, "The two ends have different path MTUs, or the message does not fit the receive buffer." },
	      { "MLX5-READ-DEPTH", "More READs and atomics in flight than the peer's max_dest_rd_atomic." },
	      { NO_RULE, "An atomic whose address is not aligned, or of a size that the peer does not take." } },
	    "The peer's queue pair: access flags, path MTU, max_dest_rd_atomic, receive buffers." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x13,
	  -1,
	  { "13",
	    "REM_ACCESS_ERR|13/88|REMOTE_ACCESS",
	    "The peer refused the access: the remote key does not cover it.",
	    { { "MLX5-REMOTE-ACCESS", "rkey and address as the entry has them fail at the peer." },
	      { "MLX5-KEY-UNKNOWN",
		"The region was deregistered, or the key has its bytes swapped or is the local one." },
	      { "MLX5-KEY-BOUNDS", "Address plus length leave the region (an offset of another rank's buffer)." },
	      { "MLX5-ASTRAY", "The key is right for another peer: the entry is on the wrong queue pair." },
	      { "MLX5-ENTRY-EARLY", "The entry in the ring is right now: it was read too early." } },
	    "raddr and rkey of the entry at wqe_counter beside the peer's regions, at that time." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x14,
	  -1,
	  { "14",
	    "REM_OP_ERR|14/89|REMOTE_OPERATION",
	    "The peer accepted the request and could not complete it.",
	    { { "MLX5-REMOTE-OPERATION",
		"The peer's memory failed underneath its key: unmapped, or PCIe to its GPU is broken." },
	      { NO_RULE, "The peer's receive queue or completion queue is broken or has overrun." },
	      { "MLX5-CQ-OVERRUN", "The peer's completion queue overran." } },
	    PEER } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x15,
	  -1,
	  { "15",
	    "RETRY_EXC_ERR|RETRY_EXC|15/81|TRANSPORT_RETRY",
	    "No retry was acknowledged.",
	    { { "MLX5-RETRY-EXCEEDED",
		"The peer is gone, its queue pair is not ready or in error, or packets are lost." },
	      { "MLX5-PEER-STATE", "The peer was not ready yet, or had failed before: it drops requests." },
	      { "MLX5-PEER-PSN", "Both ends begin with different packet sequence numbers." },
	      { "MLX5-PEER-GONE", "The peer has no queue pair of that number, or one that is another's." },
	      { NO_RULE, "The path does not carry RoCE: wrong GID index, VLAN, MTU of the network, no lossless class, "
			 "a link down." } },
	    "First the peer: did it fail before? Then counters out_of_sequence, local_ack_timeout_err, "
	    "rx_icrc_encapsulated; show_gids; the switch's drops." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x16,
	  -1,
	  { "16",
	    "RNR_RETRY_EXC_ERR|RNR|16/87",
	    "The peer had no receive buffer, and RNR retries are finite.",
	    { { "MLX5-RNR-EXCEEDED", "The peer posts receives too slowly or not at all." },
	      { "MLX5-RNR-FINITE", "rnr_retry is below 7 (7: for ever)." } },
	    "The peer's receive queue: what is posted, and who posts." } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  0x22,
	  -1,
	  { "22", "REM_ABORT_ERR", "The peer aborted the operation.", { { NO_RULE, PEER } }, PEER } },
	{ BF_EVIDENCE_MLX5,
	  -1,
	  -1,
	  -1,
	  { "completion with error",
	    "GENERAL_ERR",
	    "A completion reported an error, and the line does not say which.",
	    { { "MLX5-ERROR-IGNORED", "Whoever polled goes on as if it were good." },
	      { NO_RULE, "Print the completion itself: syndrome, vendor syndrome, wqe_counter and QP are in its last "
			 "16 bytes." } },
	    "The 64 bytes of the completion queue's entry, and the peer's log." } },
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_EVENT,
	  0,
	  -1,
	  { "event: CQ error",
	    "IBV_EVENT_CQ_ERR",
	    "A completion queue overran, or its memory cannot be written. Its queue pairs fail.",
	    { { "MLX5-CQ-OVERRUN", "More completions came than it has room for." },
	      { "MLX5-CQ-TOO-SMALL", "It has fewer entries than its queue pairs may have in flight." } },
	    "Entries of the completion queue beside the sum of what its queues may have in flight." } },
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_EVENT,
	  1,
	  -1,
	  { "event: QP fatal",
	    "IBV_EVENT_QP_FATAL",
	    "A queue pair failed and could not say so in a completion.",
	    { { "MLX5-CQ-OVERRUN", "Its completion queue had failed before." },
	      { "MLX5-LOCAL-PROTECTION", "The ring or its doorbell record cannot be read: freed, or unmapped." } },
	    "The completion queue's state, and dmesg for IOMMU faults at that time." } },
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_EVENT,
	  2,
	  -1,
	  { "event: invalid request",
	    "IBV_EVENT_QP_REQ_ERR",
	    "As the responder this queue pair refused a request of its peer, which gets 12/8a (remote invalid "
	    "request).",
	    { { "MLX5-REMOTE-INVALID", "What the peer asks for does not fit this end: path MTU, access flags, READs in "
				       "flight, length of the receive." } },
	    "Both ends' path MTU, qp_access_flags, max_rd_atomic and max_dest_rd_atomic; the receive's length." } },
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_EVENT,
	  3,
	  -1,
	  { "event: access violation",
	    "IBV_EVENT_QP_ACCESS_ERR",
	    "As the responder this queue pair refused a request of its peer for its key, which gets 13/88 (remote "
	    "access).",
	    { { "MLX5-KEY-UNKNOWN", "The region was deregistered here, or the peer has an old or swapped key." },
	      { "MLX5-KEY-BOUNDS", "The peer's address and length leave the region." },
	      { "MLX5-KEY-ACCESS", "The region was registered without that right." } },
	    "The peer's first error of the same time, its raddr and rkey; the regions registered here." } },
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_EVENT,
	  8,
	  -1,
	  { "event: device fatal",
	    "IBV_EVENT_DEVICE_FATAL",
	    "The device itself failed: all that is open on it is lost.",
	    { { NO_RULE, "Its firmware stopped, or it left the bus." } },
	    "dmesg: health of mlx5_core, AER, the link; the firmware's version." } },
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_EVENT,
	  10,
	  -1,
	  { "event: port error",
	    "IBV_EVENT_PORT_ERR",
	    "A port went down: what is in flight on it runs out of retries unless it comes back in time.",
	    { { "MLX5-RETRY-EXCEEDED", "Retries run out while the port is down." } },
	    "ethtool or ibstat of both ends of the cable; counters link_downed, symbol errors." } },
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_EVENT,
	  -1,
	  -1,
	  { "event",
	    "ASYNC_EVENT",
	    "The device says that something happened to a queue or a port, not to which entry.",
	    { { NO_RULE, "The first error completion of the same time says more." } },
	    PEER } },
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_DOWN,
	  -1,
	  -1,
	  { "mlx5 device down",
	    "HEALTH_COMPROMISED|FW_ASSERT",
	    "The device's firmware does not answer, or stopped at an assertion: commands and traffic get no answer "
	    "until "
	    "it is reset.",
	    { { NO_RULE, "Hardware or firmware: a known bug of that version, overheating, a bad PCIe link." },
	      { NO_RULE, "A probe that fails: the driver is older than the firmware, or a virtual function whose "
			 "physical one is not ready." } },
	    "fw_ver and synd of the dump beside the release notes; lspci -vv for the link; mstdump for support." } },
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_CALL,
	  -1,
	  -1,
	  { "failed verbs call",
	    "VERBS_CALL",
	    "A library's call failed. 22 (EINVAL): an attribute is wrong; 12 (ENOMEM): a ring is full, the queue pair "
	    "is "
	    "in error, or memory may not be locked; 110: the kernel waited for the address in vain.",
	    { { "MLX5-COMMAND-REFUSED", "ibv_modify_qp, ibv_create_*: the device refused a field of the context." },
	      { "MLX5-RING-OVERRUN", "ibv_post_*: more is posted than was completed and polled." },
	      { "MLX5-LEAK", "ibv_dealloc_pd: something of the domain is still alive." },
	      { NO_RULE, "ibv_reg_mr: RLIMIT_MEMLOCK, or GPU memory without a peer memory module or DMA-BUF." },
	      { NO_RULE, "ibv_create_ah: the GID index, the traffic class or rate is not of this link layer." } },
	    "errno, and dmesg: the kernel says which command and which syndrome." } },
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_COMMAND,
	  -1,
	  -1,
	  { "refused command",
	    "COMMAND",
	    "The device refused a command of the driver; it is in the state that it had before.",
	    { { "MLX5-COMMAND-REFUSED", "bad parameter (0x3): a field is wrong or out of what QUERY_HCA_CAP allows." },
	      { NO_RULE, "bad resource (0x5): a number in it names nothing. bad resource state (0x9): the object is in "
			 "another state." },
	      { NO_RULE, "no resources (0xf), limits (0x8): a count of the device is used up, or memory." } },
	    "The firmware's syndrome is the vendor's own; the same command here, belfry serve mlx5 or exec, says which "
	    "field." } },
	{ BF_EVIDENCE_MLX5,
	  BF_EVIDENCE_TIMEOUT,
	  -1,
	  -1,
	  { "DeepEP timeout",
	    "DEEPEP",
	    "A kernel waits for counts or tokens that do not come from some rank.",
	    { { "MLX5-NOT-RUNG", "The sender posted and never rang." },
	      { "MLX5-ERROR-IGNORED", "The sender's queue pair failed, and its kernel did not look." },
	      { "LL-COUNT-FIRST", "A count arrived before the data that it counts." },
	      { "MLX5-RETRY-EXCEEDED", "The path to that rank is dead." },
	      { NO_RULE, "That rank never launched the kernel, or failed first." } },
	    "The rank that is waited for: is it alive, does its kernel run, what does its queue pair say?" } },

	{ BF_EVIDENCE_NVME,
	  BF_EVIDENCE_TIMEOUT,
	  -1,
	  -1,
	  { "NVMe timeout",
	    "NVME_TIMEOUT",
	    "A command was not seen to complete in time. \"completion polled\": it had completed, and the interrupt "
	    "was lost.",
	    { { "NVME-NO-INTERRUPT", "\"completion polled\": the entry was there, and no interrupt came." },
	      { "NVME-NOT-RUNG", "The doorbell was not rung, or an older tail was written last." },
	      { "NVME-DOORBELL-LOST", "The doorbell's write never arrived." },
	      { "NVME-COMPLETION-LOST", "The controller completed it, and the entry is not in memory." },
	      { "NVME-NO-ANSWER", "The controller fetched it and never answers." } },
	    "nvme error-log, CSTS (nvme show-regs); /proc/interrupts of the queue's vector; power states (APST, "
	    "ASPM)." } },
	{ BF_EVIDENCE_NVME,
	  BF_EVIDENCE_STRAY,
	  -1,
	  -1,
	  { "invalid id completed",
	    "INVALID_ID",
	    "A completion names a command that nobody has in flight.",
	    { { "NVME-PHASE", "An old entry was taken for a new one." },
	      { "NVME-PHASE-WRAP", "The phase was not inverted where the queue wraps." },
	      { "NVME-TAKEN-TWICE", "Two pollers took one completion." },
	      { "NVME-CID-IN-USE", "An identifier was used again while in flight." },
	      { "NVME-CQE-MISREAD",
		"The entry was read before all of it was there (or a speculative read passed the phase)." } },
	    "The completion queue's memory around the head; whether the platform's DMA is coherent." } },
	{ BF_EVIDENCE_NVME,
	  BF_EVIDENCE_DOWN,
	  -1,
	  -1,
	  { "controller down",
	    "CSTS",
	    "The controller does not answer. CSTS of all ones: its registers cannot be read, the device left the bus; "
	    "bit 1: it reports a fatal status.",
	    { { NO_RULE, "CSTS=0xffffffff: link down, power lost, or the BAR is unmapped." },
	      { "NVME-ENABLE-REFUSED", "CSTS.RDY does not come after CC.EN: the configuration is refused." },
	      { "NVME-RESET-EARLY", "It was enabled again before it had stopped." } },
	    "dmesg for AER and link messages; lspci -vv; CC and CSTS." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  0x002,
	  -1,
	  { "00/02",
	    "INVALID_FIELD",
	    "A field of the command is invalid.",
	    { { "NVME-ENTRY-FIELD", "The field holds what the slot's last user left." },
	      { "NVME-MDTS", "The transfer is longer than MDTS." },
	      { "NVME-PROTECTION", "PRINFO without a format that has it." },
	      { "NVME-CNS", "Identify of a structure that is not there." },
	      { "NVME-SGL", "The data pointer is read as an SGL." } },
	    "The command's dwords: belfry decode nvme-sqe." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  0x003,
	  -1,
	  { "00/03",
	    "CID_CONFLICT",
	    "The identifier is in use.",
	    { { "NVME-CID-IN-USE", "Two commands in flight have it." } },
	    "How identifiers are given out and taken back." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  0x004,
	  -1,
	  { "00/04",
	    "DATA_TRANSFER_ERROR",
	    "The controller could not move the data.",
	    { { "NVME-UNMAPPED", "A PRP names memory that the controller cannot reach." } },
	    "dmesg for IOMMU faults at that address." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  0x00b,
	  -1,
	  { "00/0b",
	    "INVALID_NS|INVALID_NAMESPACE",
	    "There is no such namespace.",
	    { { "NVME-NSID", "NSID of the command." } },
	    "nvme list-ns -a." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  0x00c,
	  -1,
	  { "00/0c",
	    "CMD_SEQ_ERROR",
	    "The command came at the wrong time.",
	    { { "NVME-SEQUENCE", "What came before it." },
	      { "NVME-FUSED-HALF", "Half of a fused pair stands alone." } },
	    "The commands before it in the queue." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  0x013,
	  -1,
	  { "00/13",
	    "PRP_OFFSET_INVALID",
	    "A PRP entry behind the first has an offset within its page, or is not aligned to a dword.",
	    { { "NVME-PRP-ALIGN", "An entry behind the first is no page's begin." },
	      { "NVME-PRP-OFFSET", "PRP2 is the list's page, not where the list begins in it." } },
	    "PRP1, PRP2 and the list; CC.MPS, the page size that was agreed." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  0x080,
	  -1,
	  { "00/80",
	    "LBA_RANGE",
	    "The command goes beyond the end of the namespace.",
	    { { "NVME-LBA-RANGE", "SLBA and NLB of the command." }, { "NVME-NLB", "NLB counts from 0." } },
	    "nvme id-ns: NSZE, and the LBA format." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  0x100,
	  -1,
	  { "01/00",
	    "CQ_INVALID",
	    "The submission queue names a completion queue that does not exist.",
	    { { "NVME-QUEUE-ORDER", "It is created later, or was deleted." } },
	    "The order of Create I/O commands." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  0x101,
	  -1,
	  { "01/01",
	    "QID_INVALID",
	    "The queue's number is invalid or in use.",
	    { { "NVME-QUEUE-ID", "0, above the limit, or used." } },
	    "Feature 7: how many queues were granted." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  0x102,
	  -1,
	  { "01/02",
	    "QUEUE_SIZE",
	    "The queue's size is invalid.",
	    { { "NVME-QUEUE-SIZE", "0, or above CAP.MQES; sizes count from 0." } },
	    "CAP.MQES." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  0x108,
	  -1,
	  { "01/08",
	    "INVALID_VECTOR",
	    "The interrupt vector does not exist.",
	    { { "NVME-VECTOR", "IV of Create I/O Completion Queue." } },
	    "lspci -vv: MSI-X count." } },
	{ BF_EVIDENCE_NVME,
	  -1,
	  -1,
	  -1,
	  { "NVMe status",
	    "NVME_STATUS",
	    "The controller answered with an error.",
	    { { "NVME-ERROR-STATUS", "Status type and code say which." },
	      { "NVME-STATUS-IGNORED", "Somebody took the data all the same." } },
	    "nvme error-log; the command's dwords." } },

	{ BF_EVIDENCE_SDMA,
	  BF_EVIDENCE_FAULT,
	  -1,
	  -1,
	  { "SDMA fault",
	    "SRBM_WRITE",
	    "A packet of a user's queue asks for what only the kernel's may do.",
	    { { "SDMA-PRIVILEGED", "The packet writes a register or has the privileged bit." },
	      { "SDMA-OPCODE", "The engine read something else as a packet: a wrong length in front of it." } },
	    "The packets around the read pointer: belfry decode sdma." } },
	{ BF_EVIDENCE_SDMA,
	  BF_EVIDENCE_TIMEOUT,
	  -1,
	  -1,
	  { "SDMA ring timeout",
	    "RING_TIMEOUT",
	    "The engine has not reached a fence that was submitted.",
	    { { "SDMA-PACKET",
		"A packet that the engine cannot execute: a count that is off, another generation's layout." },
	      { "SDMA-POLL-STUCK", "A poll in the ring waits for a value that does not come." },
	      { "SDMA-UNMAPPED", "An address is not mapped: a page fault stops the engine." },
	      { "SDMA-NOT-RUNG", "The write pointer's doorbell did not arrive." } },
	    "amdgpu_ring_sdma0 in debugfs: the packets at the read pointer, belfry decode sdma; dmesg for page "
	    "faults." } },
	{ BF_EVIDENCE_GPU,
	  BF_EVIDENCE_TIMEOUT,
	  -1,
	  -1,
	  { "GPU ring timeout",
	    "GPU_RING_TIMEOUT",
	    "A ring of the GPU has not reached a fence that was submitted to it. With a page fault in front of it, "
	    "that is "
	    "the cause.",
	    { { NO_RULE, "The job itself: a shader without an end, or one that touches memory which is not mapped." },
	      { "SDMA-POLL-STUCK",
		"It waits for another ring, a copy engine's for instance, whose signal does not come." } },
	    "The first lines of dmesg before it; which ring and process it names; devcoredump of the card." } },
	{ BF_EVIDENCE_GPU,
	  BF_EVIDENCE_FAULT,
	  -1,
	  -1,
	  { "GPU fault",
	    "XID",
	    "A GPU's access was stopped. Xid 31: an address that is not mapped for it; 13: a kernel's exception; 79: "
	    "the GPU left the bus; 119, 120: its GSP does not answer.",
	    { { "SDMA-UNMAPPED", "A copy engine's packet names memory that is not mapped." },
	      { NO_RULE, "A kernel's pointer: of another device, freed, or host memory that is not registered." } },
	    "compute-sanitizer or a debugger for the kernel; which process and engine the message names." } },
	{ BF_EVIDENCE_PCIE,
	  BF_EVIDENCE_FAULT,
	  -1,
	  -1,
	  { "PCIe or IOMMU fault",
	    "IOMMU|AER",
	    "A device's access was stopped on its way, or a transfer on the link was bad.",
	    { { "NVME-UNMAPPED", "An NVMe controller: a PRP names what is not mapped." },
	      { "MLX5-LOCAL-PROTECTION", "A NIC: its memory was unmapped under a key that lives." } },
	    "The requester's number names the device (lspci); the address beside what was mapped for it." } },

	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  BF_AETH_NAK_SEQ,
	  -1,
	  { "NAK 0x60, PSN sequence error",
	    "NAK_SEQ|PSN_SEQUENCE|NAK 60",
	    "The responder saw a packet whose sequence number is above the one that it expects: those between were "
	    "lost "
	    "or came late. The requester goes back to the PSN of the NAK; each time takes one of its retries.",
	    { { "MLX5-RETRANSMITS", "The PSN is in this capture once before the NAK: lost behind the capturing port." },
	      { NO_RULE, "It comes behind later ones: the path reorders (several links, adaptive routing) and the "
			 "queue pair does not take that." },
	      { "MLX5-PEER-PSN", "The first requests of a connection already have it: rq_psn and the peer's sq_psn "
				 "differ." } },
	    "ethtool -S: rx_discards_phy, out_of_sequence, packet_seq_err; drops of the switch's ports; PFC and ECN of "
	    "the lossless class." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  BF_AETH_NAK_INV_REQ,
	  -1,
	  { "NAK 0x61, invalid request",
	    "NAK_INV_REQ|NAK 61",
	    "The responder understood the packet and refuses the operation. The requester completes with syndrome 12, "
	    "the "
	    "responder's queue pair is in error.",
	    { { "MLX5-REMOTE-INVALID",
		"The responder's access flags lack the operation (remote write, read, atomic)." },
	      { NO_RULE,
		"Payload of a first or middle packet is not the responder's path MTU, or a SEND is longer than "
		"the receive entry." },
	      { "MLX5-READ-DEPTH", "More READs and atomics are in flight than max_dest_rd_atomic." },
	      { NO_RULE, "An atomic whose address is not a multiple of its size." } },
	    "The refused packet: its opcode, length, address; qp_access_flags and path_mtu of both ends." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  BF_AETH_NAK_ACCESS,
	  -1,
	  { "NAK 0x62, remote access error",
	    "NAK_ACCESS|NAK 62",
	    "The responder refuses the access: the key of the request does not cover its address, length and "
	    "operation. The "
	    "requester completes with syndrome 13.",
	    { { "MLX5-REMOTE-ACCESS", "Key and address as the request has them fail at the responder." },
	      { "MLX5-KEY-UNKNOWN",
		"The region was deregistered, or the key has its bytes swapped or is the local one." },
	      { "MLX5-KEY-BOUNDS", "Address plus length leave the region (an offset of another rank's buffer)." },
	      { "MLX5-ASTRAY", "The key is right for another peer: the entry is on the wrong queue pair." } },
	    "The rkey and remote address that are shown here beside what the responder registered and sent." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  BF_AETH_NAK_OP,
	  -1,
	  { "NAK 0x63, remote operational error",
	    "NAK_OP|NAK 63",
	    "The responder took the request and could not complete it. The requester completes with syndrome 14.",
	    { { "MLX5-REMOTE-OPERATION",
		"The responder's memory failed underneath its key: unmapped, or PCIe to its GPU." },
	      { "MLX5-CQ-OVERRUN", "The responder's completion queue overran." } },
	    "The responder's dmesg of that second: IOMMU and PCIe faults, its own completions with error." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  BF_AETH_RNR,
	  -1,
	  { "RNR NAK, no receive entry",
	    "RNR_NAK",
	    "A SEND or a WRITE with immediate came and the responder had no receive entry. The requester waits for the "
	    "time "
	    "that the NAK names and sends again; when its RNR retries are used up it completes with syndrome 16.",
	    { { "MLX5-RNR-EXCEEDED", "The responder posts receives too slowly or not at all." },
	      { "MLX5-RNR-FINITE", "rnr_retry of the requester is below 7 (7: for ever)." } },
	    "Receives that are posted before the peer may send; the depth of the receive queue; rnr_nak_retry_err, "
	    "out_of_buffer of the port." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  AGAIN,
	  -1,
	  { "packet sent again",
	    "REPEATED_PSN|RETRANSMIT",
	    "The requester sent a sequence number twice. Behind a NAK this follows from it; with no NAK in front the "
	    "requester's timer ran out: request or acknowledgement was lost, or nobody answers.",
	    { { "MLX5-RETRANSMITS", "Some are sent again and the conversation goes on: loss on the path." },
	      { "MLX5-RETRY-EXCEEDED",
		"The same PSN comes about 7 times at even distance: nobody answers. The requester "
		"will complete with syndrome 15." },
	      { "MLX5-PEER-STATE", "Nobody answers, and the responder's queue pair is not ready or in error." },
	      { "MLX5-PEER-GONE", "Nobody answers, and the responder has no queue pair of that number." },
	      { NO_RULE, "The capture has each packet twice (both ports of a mirror, a bridge and its port)." } },
	    "Capture at both ends: does the request arrive, does an ACK leave? local_ack_timeout_err, packet_seq_err "
	    "of the "
	    "port." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  LATE,
	  -1,
	  { "packet behind later ones",
	    "LATE_PSN|OUT_OF_ORDER",
	    "A sequence number comes for the first time behind higher ones: packets overtake each other, or the first "
	    "one "
	    "is not in the capture.",
	    { { NO_RULE, "The path has several links and spreads packets of one conversation over them." },
	      { "MLX5-RETRANSMITS", "A NAK 0x60 of this PSN stands in front: it is sent again, and was lost before the "
				    "capturing port." } },
	    "Adaptive routing and the hash of link groups; out_of_sequence of the receiver." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  CNP,
	  -1,
	  { "CNP, congestion notification",
	    "CNP|CONGESTION",
	    "A receiver saw packets with an ECN mark and asks the sender to slow down. This is how DCQCN works and no "
	    "error; "
	    "many of them mean that throughput is lost here.",
	    { { NO_RULE, "Several senders share the receiver's link (incast)." },
	      { NO_RULE, "A switch marks too early: its ECN thresholds are below what the round trip needs." } },
	    "np_cnp_sent, rp_cnp_handled, np_ecn_marked_roce_packets of both ports; queue depths of the switch." } },
};

static const struct bf_meaning *find(const struct bf_evidence *e, int64_t code, int64_t vendor)
{
	const struct row *fallback = NULL;

	for (size_t i = 0; i < BF_ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];

		if (r->device != e->device || (r->kind >= 0 && r->kind != (int)e->kind) ||
		    (r->kind < 0 && e->kind != BF_EVIDENCE_COMPLETION))
			continue;
		if (r->code >= 0 ? r->code != code : fallback != NULL)
			continue;
		if (r->vendor >= 0 && r->vendor != vendor)
			continue;
		if (r->code >= 0)
			return &r->m;
		fallback = r;
	}
	return fallback ? &fallback->m : NULL;
}

static int64_t packet_code(const struct bf_evidence *e)
{
	const int64_t aeth = e->fact[BF_FACT_AETH];

	if (aeth >= 0)
		return aeth >> 5 == 1 ? BF_AETH_RNR : aeth;
	if (e->fact[BF_FACT_BTH] == CNP)
		return CNP;
	return e->fact[BF_FACT_LATE] == 1 ? LATE : AGAIN;
}

const struct bf_meaning *bf_evidence_meaning(const struct bf_evidence *e)
{
	return find(e,
		    e->kind == BF_EVIDENCE_EVENT    ? e->fact[BF_FACT_EVENT]
		    : e->kind == BF_EVIDENCE_PACKET ? packet_code(e)
		    : e->fact[BF_FACT_DUE] >= 0     ? OUT_OF_PLACE
		    : e->device == BF_EVIDENCE_MLX5 ? bf_evidence_syndrome(e)
						    : e->fact[BF_FACT_NVME],
		    e->fact[BF_FACT_VENDOR]);
}

/* ---- by what somebody types ---- */

/* "REM_ACCESS_ERR" is "IBV_WC_REM_ACCESS_ERR" is "rem_access". */
static bool same_name(const char *word, const char *also)
{
	if (strncasecmp(word, "IBV_WC_", 7) == 0)
		word += 7;
	for (size_t n; *also; also += n + (also[n] == '|')) {
		n = strcspn(also, "|");
		if (strlen(word) <= n && strlen(word) >= 3 && strncasecmp(word, also, strlen(word)) == 0)
			return true;
	}
	return false;
}

/* "13/88", "0x13/0x88" and "13" are of mlx5; "00/13" and "0x2013" of NVMe, since its types and flags stand in front. */
static const struct bf_meaning *by_code(const char *word)
{
	struct bf_evidence e = { .device = BF_EVIDENCE_MLX5, .kind = BF_EVIDENCE_COMPLETION };
	char *end;
	unsigned long first = strtoul(word, &end, 16), second;

	if (end == word || (*end && *end != '/'))
		return NULL;
	if (!*end) {
		e.device = first > 0xff ? BF_EVIDENCE_NVME : BF_EVIDENCE_MLX5;
		return find(&e, (int64_t)(first > 0xff ? first & 0x7ff : first), -1);
	}
	word = end + 1;
	second = strtoul(word, &end, 16);
	if (end == word || *end)
		return NULL;
	for (size_t i = 0; i < BF_ARRAY_LEN(rows); i++)
		if (rows[i].device == BF_EVIDENCE_MLX5 && rows[i].kind < 0 && rows[i].code == (int32_t)first && first)
			return find(&e, (int64_t)first, (int64_t)second);
	if (first > 7 || second > 0xff) /* a type has three bits, a code eight */
		return NULL;
	e.device = BF_EVIDENCE_NVME;
	return find(&e, (int64_t)(first << 8 | second), -1);
}

const struct bf_meaning *bf_meaning_find(const char *word)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(rows); i++)
		if (strcasecmp(word, rows[i].m.name) == 0)
			return &rows[i].m;
	for (size_t i = 0; i < BF_ARRAY_LEN(rows); i++)
		if (same_name(word, rows[i].m.also))
			return &rows[i].m;
	return by_code(word);
}
