/*
 * Ethernet frames as they are: where their headers lie. RoCEv2 packets have a reader of their own (roce.h). Pure
 * functions, thread-safe.
 */
#ifndef BELFRY_MODELS_FABRIC_FRAME_H
#define BELFRY_MODELS_FABRIC_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* IEEE 802 numbers. */
#define BF_ETHERTYPE_IPV4 0x0800u
#define BF_ETHERTYPE_IPV6 0x86ddu
#define BF_ETHERTYPE_CVLAN 0x8100u
#define BF_ETHERTYPE_SVLAN 0x88a8u
#define BF_ETH_HEADER 14u
#define BF_ETH_MIN 60u /* bytes of a frame, without its FCS */
#define BF_IP_TCP 6u
#define BF_IP_UDP 17u

struct bf_eth_frame {
	uint16_t ethertype; /* behind the VLAN tags */
	uint16_t vlan;      /* the outermost tag: priority, drop eligibility, number */
	uint8_t tags;       /* of VLANs: 0, 1, 2 */
	bool svlan;         /* the outermost is a service tag */
	uint8_t ip;         /* 4, 6; 0: no IP, or its header is not whole */
	uint8_t protocol;   /* of IP; of IPv6 the header behind the extensions that are known */
	bool fragment;      /* and not the first with all of its header: there is no l4 */
	uint16_t l3, l4;    /* where the headers begin; 0: none */
	uint16_t end;       /* of what IP says belongs to it, at most `len` */
};

/* Reads `len` bytes; a frame of less than BF_ETH_HEADER bytes has nothing. */
void bf_frame_read(const uint8_t *data, uint32_t len, struct bf_eth_frame *f);

/* The checksum that Internet protocols use (RFC 1071) of `len` bytes, `sum` of others before included, not inverted. */
uint32_t bf_checksum_add(uint32_t sum, const uint8_t *data, uint32_t len);
uint16_t bf_checksum_fold(uint32_t sum); /* and inverted */
/* The sum of the pseudo header of TCP and UDP (RFC 9293 section 3.1, RFC 8200 section 8.1) of a frame that has one. */
uint32_t bf_frame_pseudo_sum(const uint8_t *data, const struct bf_eth_frame *f);
/* Are the checksums of IP, and of TCP or UDP, right? A UDP checksum of 0 over IPv4 is none, and right. */
bool bf_frame_l3_good(const uint8_t *data, const struct bf_eth_frame *f);
bool bf_frame_l4_good(const uint8_t *data, const struct bf_eth_frame *f);

#endif
