/*
 * Captured packets as evidence: files as tcpdump, Wireshark, tshark, ibdump and dumpcap write them (pcap, pcapng), and
 * what the RoCE packets in them tell of a failure: NAKs, RNR NAKs, packets sent again or late, congestion notices.
 */
#ifndef BELFRY_TRACES_EVIDENCE_PACKETS_H
#define BELFRY_TRACES_EVIDENCE_PACKETS_H

#include <stdio.h>

#include "traces/evidence/evidence.h"

/* What a file had. */
struct bf_packet_count {
	uint64_t frames;
	uint64_t roce;    /* RoCEv2 (UDP port 4791) and RoCEv1 packets whose BTH is there */
	uint64_t cut;     /* frames whose capture ends within the headers: not read */
	uint64_t unknown; /* frames of a link type or opcode that is not known: not read */
};

/* True if a file that begins with `len` bytes `head` has packets: pcap of either byte order, pcapng. */
bool bf_packets_probe(const void *head, size_t len);

/*
 * Adds what the packets of `f` tell to `list` (bf_evidence.packet says which), and to `count`, which begins as zeros.
 * ICRCs are not checked: captures are often cut. 0; -EBADMSG: the file is damaged or ends within a record, `err` says
 * where, and what stands before is in `list`; -EIO; -ENOMEM. `path` stands in messages.
 */
int bf_packets_read(FILE *f, const char *path, struct bf_evidence_list *list, struct bf_packet_count *count,
		    struct bf_error *err);

#endif
