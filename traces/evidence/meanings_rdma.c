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
	      { "MLX5-RNR-FINITE", "rnr_retry of the requester is below 7 (7: forever)." } },
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

const struct bf_meaning_table bf_meanings_packets = { rows, BF_ARRAY_LEN(rows) };

const struct bf_evidence_about bf_about_packets = { .name = "roce" };
