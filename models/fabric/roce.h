/*
 * RoCEv2 packets: layout, building, parsing, ICRC.
 *
 * Ethernet / IPv4 / UDP 4791 / BTH / extension headers / payload / pad / ICRC (InfiniBand Architecture Specification
 * vol. 1 section 9 and annex A17 "RoCEv2"). Everything works on raw bytes; nothing here knows queue pairs.
 * Facts and sources: docs/hardware/roce.md. No state: any thread.
 */
#ifndef BELFRY_MODELS_FABRIC_ROCE_H
#define BELFRY_MODELS_FABRIC_ROCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/bytes.h"
#include "sim/error.h"

#define BF_ROCE_UDP_PORT 4791u
#define BF_ROCE_ETH_LEN 14u
#define BF_ROCE_BTH_OFFSET (14u + 20u + 8u)
#define BF_ROCE_ICRC_LEN 4u
#define BF_ROCE_GROUP_QPN 0xffffffu /* where multicast goes (IBA vol. 1 section 10.5.1) */

/*
 * BTH opcodes (IBA vol. 1, table "OpCode field"): those of the RC transport, the two of UD, and what vendors add. SENDs
 * and WRITEs of UC have the numbers of RC's, from BF_UC_FIRST on.
 */
enum bf_roce_opcode {
	BF_RC_SEND_FIRST = 0x00,
	BF_RC_SEND_MIDDLE = 0x01,
	BF_RC_SEND_LAST = 0x02,
	BF_RC_SEND_LAST_IMM = 0x03,
	BF_RC_SEND_ONLY = 0x04,
	BF_RC_SEND_ONLY_IMM = 0x05,
	BF_RC_WRITE_FIRST = 0x06,
	BF_RC_WRITE_MIDDLE = 0x07,
	BF_RC_WRITE_LAST = 0x08,
	BF_RC_WRITE_LAST_IMM = 0x09,
	BF_RC_WRITE_ONLY = 0x0a,
	BF_RC_WRITE_ONLY_IMM = 0x0b,
	BF_RC_READ_REQUEST = 0x0c,
	BF_RC_READ_RESP_FIRST = 0x0d,
	BF_RC_READ_RESP_MIDDLE = 0x0e,
	BF_RC_READ_RESP_LAST = 0x0f,
	BF_RC_READ_RESP_ONLY = 0x10,
	BF_RC_ACK = 0x11,
	BF_RC_ATOMIC_ACK = 0x12,
	BF_RC_COMPARE_SWAP = 0x13,
	BF_RC_FETCH_ADD = 0x14,
	BF_RC_SEND_LAST_INV = 0x16,
	BF_RC_SEND_ONLY_INV = 0x17,
	BF_UC_FIRST = 0x20,
	BF_UC_LAST = 0x20 + BF_RC_WRITE_ONLY_IMM,
	BF_UD_SEND_ONLY = 0x64,
	BF_UD_SEND_ONLY_IMM = 0x65,
	/* XRC: all opcodes of RC, 0xa0 above them (annex A14); requests have struct bf_roce_xrceth behind BTH. */
	BF_XRC_FIRST = 0xa0,
	BF_XRC_LAST = 0xa0 + BF_RC_SEND_ONLY_INV,
	/*
	 * Extended and masked atomics travel in vendor opcodes whose values are not public; these two are the model's
	 * own, from the manufacturer range 0xc0-0xff (docs/hardware/roce.md#vendor-packets-1). Header: struct
	 * bf_roce_ext_atomic_eth.
	 */
	BF_RC_EXT_COMPARE_SWAP = 0xd3,
	BF_RC_EXT_FETCH_ADD = 0xd4,
	/*
	 * The DC transport. It is known what it does, but not what its packets look like
	 * (docs/hardware/roce.md#vendor-packets-2 and 3). These opcodes are the model's own, from the manufacturer
	 * range: requests and responses are those of RC, each 0xe0 above it, with struct bf_roce_dceth behind BTH.
	 */
	BF_DC_FIRST = 0xe0,
	BF_DC_LAST_RC = 0xe0 + BF_RC_SEND_ONLY_INV,
	BF_DC_EXT_COMPARE_SWAP = 0xf9,
	BF_DC_EXT_FETCH_ADD = 0xfa,
	BF_DC_CONNECT = 0xfc,     /* struct bf_roce_dc_key follows; PSN: the first that will be sent */
	BF_DC_CONNECT_ACK = 0xfd, /* 4 bytes follow: the responder's session number */
	BF_DC_DISCONNECT = 0xfe,
	BF_DC_CNAK = 0xff, /* 4 bytes follow: enum bf_roce_cnak */
};

/* Why a DC target refuses a packet. */
enum bf_roce_cnak {
	BF_CNAK_NO_CONTEXT = 1, /* not connected, or no longer: connect again */
	BF_CNAK_BUSY = 2,       /* all responder contexts are in use: later */
	BF_CNAK_KEY = 3,        /* access key violation */
	BF_CNAK_HANDSHAKE = 4,  /* the target wants a full handshake */
};

struct bf_roce_bth {
	uint8_t opcode;
	uint8_t flags; /* SE[7] M[6] Pad[5:4] TVer[3:0] */
	struct bf_be16 pkey;
	uint8_t ecn; /* FECN[7] BECN[6] */
	struct bf_be24 dest_qp;
	uint8_t ack_req; /* A[7] */
	struct bf_be24 psn;
};
BF_STATIC_ASSERT(sizeof(struct bf_roce_bth) == 12, "BTH");

struct bf_roce_reth {
	struct bf_be64 va;
	struct bf_be32 rkey;
	struct bf_be32 len;
};
BF_STATIC_ASSERT(sizeof(struct bf_roce_reth) == 16, "RETH");

struct bf_roce_atomic_eth {
	struct bf_be64 va;
	struct bf_be32 rkey;
	struct bf_be64 swap_add;
	struct bf_be64 compare;
};
BF_STATIC_ASSERT(sizeof(struct bf_roce_atomic_eth) == 28, "AtomicETH");

/* The model's own header for extended atomics: `size` 4 or 8; for FETCH_ADD `compare_mask` is the field boundary. */
struct bf_roce_ext_atomic_eth {
	struct bf_be64 va;
	struct bf_be32 rkey;
	struct bf_be32 size;
	struct bf_be64 swap_add;
	struct bf_be64 compare;
	struct bf_be64 swap_mask;
	struct bf_be64 compare_mask;
};
BF_STATIC_ASSERT(sizeof(struct bf_roce_ext_atomic_eth) == 48, "ExtAtomicETH");

/*
 * Behind BTH in every DC packet. Requests name the initiator and its session; responses the target, and the session of
 * the request. In a full handshake requests carry the session that the target gave, so that old packets cannot pass.
 */
struct bf_roce_dceth {
	uint8_t flags; /* BF_DCETH_* */
	struct bf_be24 src_qp;
	struct bf_be16 stream;
	struct bf_be16 attempt; /* counts connects of a session; a CNAK repeats that of the packet it refuses */
	struct bf_be32 session;
};
BF_STATIC_ASSERT(sizeof(struct bf_roce_dceth) == 12, "DCETH");
#define BF_DCETH_FULL 1u /* full handshake */

struct bf_roce_dc_key {
	struct bf_be64 key;
};

struct bf_roce_aeth {
	uint8_t syndrome; /* 000ccccc ACK, 001ttttt RNR NAK, 011nnnnn NAK */
	struct bf_be24 msn;
};
BF_STATIC_ASSERT(sizeof(struct bf_roce_aeth) == 4, "AETH");

/* Behind BTH in every datagram (IBA vol. 1 section 9.3.1). */
struct bf_roce_deth {
	struct bf_be32 qkey;
	uint8_t reserved;
	struct bf_be24 src_qp;
};
BF_STATIC_ASSERT(sizeof(struct bf_roce_deth) == 8, "DETH");

/* Behind BTH in every XRC request: the shared receive queue that it is for (IBA vol. 1 annex A14). */
struct bf_roce_xrceth {
	uint8_t reserved;
	struct bf_be24 srqn;
};
BF_STATIC_ASSERT(sizeof(struct bf_roce_xrceth) == 4, "XRCETH");

#define BF_AETH_ACK 0x1f /* ACK, credits "no limit" */
#define BF_AETH_RNR 0x20 /* | timer */
#define BF_AETH_NAK_SEQ 0x60
#define BF_AETH_NAK_INV_REQ 0x61
#define BF_AETH_NAK_ACCESS 0x62
#define BF_AETH_NAK_OP 0x63

/* One packet, decoded. On building: set what the opcode needs, leave the rest zero. */
struct bf_roce {
	uint8_t opcode; /* of DC, UC and XRC: the RC opcode that it corresponds to, or BF_DC_CONNECT and above */
	bool dc;        /* with DCETH */
	bool uc, xrc;
	bool solicited, ack_req;
	uint8_t pad;
	uint16_t pkey;
	uint32_t dest_qp, psn;
	uint64_t va;                /* RETH, AtomicETH */
	uint32_t rkey, dma_len;     /* RETH; rkey also AtomicETH */
	uint64_t swap_add, compare; /* AtomicETH */
	uint64_t swap_mask, compare_mask;
	uint32_t atomic_size;  /* extended atomics: 4 or 8 */
	uint8_t aeth_syndrome; /* AETH */
	uint32_t msn;          /* AETH */
	uint64_t atomic_orig;  /* AtomicAckETH */
	uint32_t imm;          /* ImmDt or IETH (invalidated rkey), host order */
	uint32_t src_ipv4, dst_ipv4;
	uint16_t src_port;       /* UDP source port */
	uint32_t payload_offset; /* from the start of the frame */
	uint32_t payload_len;    /* without pad */
	uint32_t qkey;           /* DETH; src_qp also */
	uint32_t src_qp;
	uint32_t xrc_srqn; /* XRCETH */
	/* DCETH (src_qp also) and what follows it; parsing leaves them alone unless `dc`. */
	uint32_t session;
	uint16_t stream, attempt;
	uint8_t dc_flags;
	uint32_t dc_info; /* CONNECT_ACK: session; CNAK: reason */
	uint64_t dc_key;  /* CONNECT */
};

/* What each opcode carries. */
#define BF_ROCE_HAS_RETH 1u
#define BF_ROCE_HAS_ATOMIC 2u
#define BF_ROCE_HAS_EXT_ATOMIC 4u
#define BF_ROCE_HAS_AETH 8u
#define BF_ROCE_HAS_ATOMIC_ACK 16u
#define BF_ROCE_HAS_IMM 32u
#define BF_ROCE_HAS_IETH 64u
#define BF_ROCE_HAS_PAYLOAD 128u
#define BF_ROCE_HAS_DCETH 256u
#define BF_ROCE_HAS_DC_KEY 512u
#define BF_ROCE_HAS_DC_INFO 1024u
#define BF_ROCE_HAS_DETH 2048u
#define BF_ROCE_IS_UC 4096u
#define BF_ROCE_HAS_XRCETH 8192u
#define BF_ROCE_IS_XRC 16384u
#define BF_ROCE_KNOWN 0x8000u

/* Bits above for an opcode as it is on the wire; 0 for one that is not RC, UC, UD, XRC or DC or not known. */
uint32_t bf_roce_opcode_info(uint8_t opcode);
const char *bf_roce_opcode_name(uint8_t opcode); /* "WRITE_ONLY", "DC_WRITE_ONLY", "UD_SEND_ONLY", or "UNKNOWN" */
/* The opcode of `r` on the wire, and what one on the wire corresponds to (RC and UD opcodes: themselves). */
uint8_t bf_roce_wire_opcode(const struct bf_roce *r);
uint8_t bf_roce_rc_opcode(uint8_t wire);

/* A path: what is the same in every packet of a QP. Made once when the QP's address is set. */
struct bf_roce_path {
	uint8_t headers[BF_ROCE_BTH_OFFSET]; /* Ethernet, IPv4, UDP with lengths zero */
	uint32_t ip_sum;                     /* partial IPv4 header checksum */
};
struct bf_roce_path_opts {
	uint8_t src_mac[6], dst_mac[6];
	uint32_t src_ipv4, dst_ipv4;
	uint16_t udp_src_port; /* 0xc000..0xffff (annex A17: flow entropy) */
	uint8_t dscp, ecn, ttl;
};
void bf_roce_path_init(struct bf_roce_path *path, const struct bf_roce_path_opts *opts);

/* Bytes of headers that a packet with this opcode on the wire has, Ethernet to the last extension header. */
uint32_t bf_roce_header_len(uint8_t opcode);

/*
 * Writes all headers of `r` into `frame` (payload_len must be set: it goes into the length fields and the pad count).
 * Returns the payload's offset. The caller puts the payload there, then bf_roce_finish() pads and appends the ICRC and
 * returns the frame's length. With `icrc` false four zero bytes stand in its place (a speed option; receivers that
 * check would drop the packet).
 */
uint32_t bf_roce_build(uint8_t *frame, const struct bf_roce_path *path, const struct bf_roce *r);
uint32_t bf_roce_finish(uint8_t *frame, const struct bf_roce *r, uint32_t payload_offset, bool icrc);

/*
 * Decodes a frame of `len` bytes. Returns 0, -EPROTONOSUPPORT (not IPv4/UDP/4791, IP options or fragments, an opcode
 * that bf_roce_opcode_info() does not know), -EBADMSG (lengths do not fit, IP checksum wrong, wrong TVer, bad pad),
 * -EILSEQ (ICRC wrong, checked when `check_icrc`). Bytes behind the IP packet are ignored. `err` may be NULL.
 */
int bf_roce_parse(const uint8_t *frame, uint32_t len, bool check_icrc, struct bf_roce *out, struct bf_error *err);

/* Writes the lengths in the IP and UDP headers of a frame of `len` bytes, and the IP checksum. */
void bf_roce_set_lengths(uint8_t *frame, uint32_t len);

/* ICRC of a frame whose IP total length is right; `len` excludes the ICRC itself. Annex A17 and A16 give the masks. */
uint32_t bf_roce_icrc(const uint8_t *frame, uint32_t len);

/* CRC-32 (reflected 0xedb88320) of `len` bytes continuing from `crc` (not inverted before or after). */
uint32_t bf_crc32(uint32_t crc, const void *data, size_t len);

/* The same with the bits of `mask` set in the first bytes of `data`, of which there are at least BF_CRC32_MASK. */
#define BF_CRC32_MASK 48u
uint32_t bf_crc32_masked(uint32_t crc, const void *data, size_t len, const uint8_t mask[BF_CRC32_MASK]);

#endif
