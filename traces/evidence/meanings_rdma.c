/* What packets of RDMA say. */
#include "models/fabric/roce.h"
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

static const struct bf_meaning_row rows[] = {
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  BF_AETH_NAK_SEQ,
	  -1,
	  { "NAK 0x60, PSN sequence error",
	    "NAK_SEQ|PSN_SEQUENCE|NAK 60",
	    "The responder got a packet whose sequence number is above the expected one: those in between were lost or "
	    "come late. The requester resends from the NAK's PSN on, which uses up one retry each time.",
	    { { "MLX5-RETRANSMITS",
		"The capture has this PSN before the NAK: the packet was lost after the capturing port." },
	      { NO_RULE, "It arrives after later ones: the path reorders (several links, adaptive routing), and the "
			 "queue pair does not allow that." },
	      { "MLX5-PEER-PSN",
		"The first requests of a connection already get it: rq_psn and the peer's sq_psn differ." } },
	    "ethtool -S: rx_discards_phy, out_of_sequence, packet_seq_err; drops of the switch's ports; PFC and ECN of "
	    "the lossless class." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  BF_AETH_NAK_INV_REQ,
	  -1,
	  { "NAK 0x61, invalid request",
	    "NAK_INV_REQ|NAK 61",
	    "The responder understood the packet but refuses the operation. The requester's completion has syndrome "
	    "12; the responder's queue pair is in error.",
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
	    "operation. The requester's completion has syndrome 13.",
	    { { "MLX5-REMOTE-ACCESS", "The responder does not accept the request's key and address." },
	      { "MLX5-KEY-UNKNOWN",
		"The region was deregistered, the key's bytes are swapped, or it is the local key." },
	      { "MLX5-KEY-BOUNDS", "The access goes beyond the region (an offset meant for another rank's buffer)." },
	      { "MLX5-ASTRAY", "The key is right for another peer: the entry is on the wrong queue pair." } },
	    "Compare the rkey and remote address shown here with what the responder registered and told its peer." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  BF_AETH_NAK_OP,
	  -1,
	  { "NAK 0x63, remote operational error",
	    "NAK_OP|NAK 63",
	    "The responder accepted the request, but could not complete it. The requester's completion has syndrome "
	    "14.",
	    { { "MLX5-REMOTE-OPERATION", "The responder's key is good, but its memory cannot be accessed: it was "
					 "unmapped, or PCIe to its GPU is broken." },
	      { "MLX5-CQ-OVERRUN", "The responder's completion queue overran." } },
	    "The responder's dmesg of that second: IOMMU and PCIe faults, its own completions with error." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  BF_AETH_RNR,
	  -1,
	  { "RNR NAK, no receive entry",
	    "RNR_NAK",
	    "A SEND or a WRITE with immediate arrived, but the responder had no receive entry. The requester waits for "
	    "the time that the NAK names and resends; when its RNR retries run out, its completion has syndrome 16.",
	    { { "MLX5-RNR-EXCEEDED", "The responder posts receives too slowly or not at all." },
	      { "MLX5-RNR-FINITE", "rnr_retry of the requester is below 7 (7: forever)." } },
	    "Whether receives are posted before the peer sends; the depth of the receive queue; rnr_nak_retry_err, "
	    "out_of_buffer of the port." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  AGAIN,
	  -1,
	  { "packet sent again",
	    "REPEATED_PSN|RETRANSMIT",
	    "The requester sent a sequence number twice. After a NAK that is expected. Without one the requester's "
	    "timer ran out: the request or its acknowledgement was lost, or nobody answers.",
	    { { "MLX5-RETRANSMITS", "Some packets are resent and the connection goes on: the path loses packets." },
	      { "MLX5-RETRY-EXCEEDED", "The same PSN comes about 7 times at equal intervals: nobody answers. The "
				       "requester's completion will have syndrome 15." },
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
	    "A sequence number appears for the first time after higher ones: packets overtake each other, or the first "
	    "copy is not in the capture.",
	    { { NO_RULE, "The path has several links and spreads packets of one conversation over them." },
	      { "MLX5-RETRANSMITS",
		"A NAK 0x60 for this PSN came before: the packet was lost before the capturing port and is resent." } },
	    "Adaptive routing and the hash of link groups; out_of_sequence of the receiver." } },
	{ BF_EVIDENCE_ROCE,
	  BF_EVIDENCE_PACKET,
	  CNP,
	  -1,
	  { "CNP, congestion notification",
	    "CNP|CONGESTION",
	    "A receiver saw packets with an ECN mark and asks the sender to slow down. DCQCN works that way, so this "
	    "is no error; but many of them mean that throughput is lost here.",
	    { { NO_RULE, "Several senders share the receiver's link (incast)." },
	      { NO_RULE, "A switch marks too early: its ECN thresholds are below what the round trip needs." } },
	    "np_cnp_sent, rp_cnp_handled, np_ecn_marked_roce_packets of both ports; queue depths of the switch." } },
};

const struct bf_meaning_table bf_meanings_packets = { rows, BF_ARRAY_LEN(rows) };

static const char *const known[] = {
	"packets  (pcap, pcapng) RoCE's NAKs and RNR NAKs, packets sent again or late, CNPs", NULL
};

const struct bf_evidence_about bf_about_packets = { .name = "roce", .known = known };
