#include "models/fabric/roce.h"

#include <errno.h>
#include <string.h>

#define IP_OFFSET BF_ROCE_ETH_LEN
#define IP_LEN 20u
#define UDP_OFFSET (IP_OFFSET + IP_LEN)
#define UDP_LEN 8u
#define BTH_LEN 12u
#define EXT_OFFSET (BF_ROCE_BTH_OFFSET + BTH_LEN)

#define EXTENSION_LEN(info)                                                                                            \
	(((info)&BF_ROCE_HAS_RETH ? sizeof(struct bf_roce_reth) : 0) +                                                 \
	 ((info)&BF_ROCE_HAS_ATOMIC ? sizeof(struct bf_roce_atomic_eth) : 0) +                                         \
	 ((info)&BF_ROCE_HAS_EXT_ATOMIC ? sizeof(struct bf_roce_ext_atomic_eth) : 0) +                                 \
	 ((info)&BF_ROCE_HAS_AETH ? sizeof(struct bf_roce_aeth) : 0) + ((info)&BF_ROCE_HAS_ATOMIC_ACK ? 8 : 0) +       \
	 ((info) & (BF_ROCE_HAS_IMM | BF_ROCE_HAS_IETH) ? 4 : 0) +                                                     \
	 ((info)&BF_ROCE_HAS_DETH ? sizeof(struct bf_roce_deth) : 0) +                                                 \
	 ((info)&BF_ROCE_HAS_XRCETH ? sizeof(struct bf_roce_xrceth) : 0) +                                             \
	 ((info)&BF_ROCE_HAS_DCETH ? sizeof(struct bf_roce_dceth) : 0) +                                               \
	 ((info)&BF_ROCE_HAS_DC_KEY ? sizeof(struct bf_roce_dc_key) : 0) + ((info)&BF_ROCE_HAS_DC_INFO ? 4 : 0))

/* InfiniBand Architecture Specification vol. 1, tables "OpCode field" and "Packet headers by opcode". */
static const struct {
	const char *name;
	uint16_t info;
	uint8_t extension_len;
} opcodes[256] = {
#define ENTRY(name, bits)                                                                                              \
	{                                                                                                              \
		name, (bits) | BF_ROCE_KNOWN, EXTENSION_LEN(bits)                                                      \
	}
/* An opcode that RC, UC, DC and XRC have. */
#define ALL(op, bits) OP(op, bits), [BF_UC_FIRST + BF_RC_##op] = ENTRY("UC_" #op, (bits) | BF_ROCE_IS_UC)
/* An RC opcode and its twins in the DC transport and in XRC, whose requests name a shared receive queue. */
#define REQUEST(op) (BF_RC_##op < BF_RC_READ_RESP_FIRST || BF_RC_##op > BF_RC_ATOMIC_ACK)
#define OP(op, bits)                                                                                                   \
	[BF_RC_##op] = ENTRY(#op, bits), [BF_DC_FIRST + BF_RC_##op] = ENTRY("DC_" #op, (bits) | BF_ROCE_HAS_DCETH),    \
	[BF_XRC_FIRST + BF_RC_##op] =                                                                                  \
	    ENTRY("XRC_" #op, (bits) | BF_ROCE_IS_XRC | (REQUEST(op) ? BF_ROCE_HAS_XRCETH : 0))
	ALL(SEND_FIRST, BF_ROCE_HAS_PAYLOAD),
	ALL(SEND_MIDDLE, BF_ROCE_HAS_PAYLOAD),
	ALL(SEND_LAST, BF_ROCE_HAS_PAYLOAD),
	ALL(SEND_LAST_IMM, BF_ROCE_HAS_IMM | BF_ROCE_HAS_PAYLOAD),
	ALL(SEND_ONLY, BF_ROCE_HAS_PAYLOAD),
	ALL(SEND_ONLY_IMM, BF_ROCE_HAS_IMM | BF_ROCE_HAS_PAYLOAD),
	ALL(WRITE_FIRST, BF_ROCE_HAS_RETH | BF_ROCE_HAS_PAYLOAD),
	ALL(WRITE_MIDDLE, BF_ROCE_HAS_PAYLOAD),
	ALL(WRITE_LAST, BF_ROCE_HAS_PAYLOAD),
	ALL(WRITE_LAST_IMM, BF_ROCE_HAS_IMM | BF_ROCE_HAS_PAYLOAD),
	ALL(WRITE_ONLY, BF_ROCE_HAS_RETH | BF_ROCE_HAS_PAYLOAD),
	ALL(WRITE_ONLY_IMM, BF_ROCE_HAS_RETH | BF_ROCE_HAS_IMM | BF_ROCE_HAS_PAYLOAD),
	OP(READ_REQUEST, BF_ROCE_HAS_RETH),
	OP(READ_RESP_FIRST, BF_ROCE_HAS_AETH | BF_ROCE_HAS_PAYLOAD),
	OP(READ_RESP_MIDDLE, BF_ROCE_HAS_PAYLOAD),
	OP(READ_RESP_LAST, BF_ROCE_HAS_AETH | BF_ROCE_HAS_PAYLOAD),
	OP(READ_RESP_ONLY, BF_ROCE_HAS_AETH | BF_ROCE_HAS_PAYLOAD),
	OP(ACK, BF_ROCE_HAS_AETH),
	OP(ATOMIC_ACK, BF_ROCE_HAS_AETH | BF_ROCE_HAS_ATOMIC_ACK),
	OP(COMPARE_SWAP, BF_ROCE_HAS_ATOMIC),
	OP(FETCH_ADD, BF_ROCE_HAS_ATOMIC),
	OP(SEND_LAST_INV, BF_ROCE_HAS_IETH | BF_ROCE_HAS_PAYLOAD),
	OP(SEND_ONLY_INV, BF_ROCE_HAS_IETH | BF_ROCE_HAS_PAYLOAD),
#undef OP
#define OP(op, bits) [BF_RC_##op] = ENTRY(#op, bits), [BF_DC_##op] = ENTRY("DC_" #op, (bits) | BF_ROCE_HAS_DCETH)
	OP(EXT_COMPARE_SWAP, BF_ROCE_HAS_EXT_ATOMIC),
	OP(EXT_FETCH_ADD, BF_ROCE_HAS_EXT_ATOMIC),
#undef OP
#define OP(op, bits) [BF_DC_##op] = ENTRY("DC_" #op, (bits) | BF_ROCE_HAS_DCETH)
	OP(CONNECT, BF_ROCE_HAS_DC_KEY),
	OP(CONNECT_ACK, BF_ROCE_HAS_DC_INFO),
	OP(DISCONNECT, 0),
	OP(CNAK, BF_ROCE_HAS_DC_INFO),
#undef OP
	[BF_UD_SEND_ONLY] = ENTRY("UD_SEND_ONLY", BF_ROCE_HAS_DETH | BF_ROCE_HAS_PAYLOAD),
	[BF_UD_SEND_ONLY_IMM] = ENTRY("UD_SEND_ONLY_IMM", BF_ROCE_HAS_DETH | BF_ROCE_HAS_IMM | BF_ROCE_HAS_PAYLOAD),
#undef ALL
#undef ENTRY
};

uint32_t bf_roce_opcode_info(uint8_t opcode)
{
	return opcodes[opcode].info;
}

const char *bf_roce_opcode_name(uint8_t opcode)
{
	return opcodes[opcode].name ? opcodes[opcode].name : "UNKNOWN";
}

uint8_t bf_roce_wire_opcode(const struct bf_roce *r)
{
	if (BF_UNLIKELY(r->uc))
		return (uint8_t)(BF_UC_FIRST + r->opcode);
	if (BF_UNLIKELY(r->xrc))
		return (uint8_t)(BF_XRC_FIRST + r->opcode);
	if (BF_LIKELY(!r->dc) || r->opcode >= BF_DC_CONNECT)
		return r->opcode;
	if (r->opcode == BF_RC_EXT_COMPARE_SWAP)
		return BF_DC_EXT_COMPARE_SWAP;
	return r->opcode == BF_RC_EXT_FETCH_ADD ? BF_DC_EXT_FETCH_ADD : (uint8_t)(BF_DC_FIRST + r->opcode);
}

uint8_t bf_roce_rc_opcode(uint8_t wire)
{
	if (wire == BF_DC_EXT_COMPARE_SWAP)
		return BF_RC_EXT_COMPARE_SWAP;
	if (wire == BF_DC_EXT_FETCH_ADD)
		return BF_RC_EXT_FETCH_ADD;
	if (wire >= BF_UC_FIRST && wire <= BF_UC_LAST)
		return (uint8_t)(wire - BF_UC_FIRST);
	if (wire >= BF_XRC_FIRST && wire <= BF_XRC_LAST)
		return (uint8_t)(wire - BF_XRC_FIRST);
	return wire >= BF_DC_FIRST && wire <= BF_DC_LAST_RC ? (uint8_t)(wire - BF_DC_FIRST) : wire;
}

uint32_t bf_roce_header_len(uint8_t opcode)
{
	return EXT_OFFSET + opcodes[opcode].extension_len;
}

/* RFC 1071: sum of 16-bit words, carries not yet folded in. */
static uint32_t ip_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < IP_LEN; i += 2)
		sum += bf_get_be16(ip + i);
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

void bf_roce_path_init(struct bf_roce_path *path, const struct bf_roce_path_opts *opts)
{
	uint8_t *eth = path->headers, *ip = eth + IP_OFFSET, *udp = eth + UDP_OFFSET;

	memset(path, 0, sizeof(*path));
	memcpy(eth, opts->dst_mac, 6);
	memcpy(eth + 6, opts->src_mac, 6);
	bf_put_be16(eth + 12, 0x0800);
	ip[0] = 0x45;
	ip[1] = (uint8_t)((opts->dscp & 0x3f) << 2 | (opts->ecn & 3));
	ip[6] = 0x40; /* don't fragment: annex A17 forbids fragments */
	ip[8] = opts->ttl;
	ip[9] = 17;
	bf_put_be32(ip + 12, opts->src_ipv4);
	bf_put_be32(ip + 16, opts->dst_ipv4);
	bf_put_be16(udp, opts->udp_src_port);
	bf_put_be16(udp + 2, BF_ROCE_UDP_PORT); /* UDP checksum 0: not used over IPv4 (annex A17) */
	path->ip_sum = ip_sum(ip);
}

static uint32_t pad_of(uint32_t payload_len)
{
	return -payload_len & 3;
}

static void put_lengths(uint8_t *frame, const struct bf_roce_path *path, uint32_t after_ip)
{
	uint8_t *ip = frame + IP_OFFSET;

	bf_put_be16(ip + 2, (uint16_t)(IP_LEN + after_ip));
	bf_put_be16(ip + 10, (uint16_t)~fold(path->ip_sum + IP_LEN + after_ip));
	bf_put_be16(frame + UDP_OFFSET + 4, (uint16_t)after_ip);
}

void bf_roce_set_lengths(uint8_t *frame, uint32_t len)
{
	uint8_t *ip = frame + IP_OFFSET;

	bf_put_be16(ip + 2, (uint16_t)(len - IP_OFFSET));
	bf_put_be16(frame + UDP_OFFSET + 4, (uint16_t)(len - UDP_OFFSET));
	bf_put_be16(ip + 10, 0);
	bf_put_be16(ip + 10, (uint16_t)~fold(ip_sum(ip)));
}

static void put_bth(uint8_t *at, const struct bf_roce *r, uint8_t opcode)
{
	at[0] = opcode;
	at[1] = (uint8_t)((r->solicited ? 0x80 : 0) | 0x40 | pad_of(r->payload_len) << 4);
	bf_put_be16(at + 2, r->pkey);
	bf_put_be32(at + 4, r->dest_qp & 0xffffff); /* FECN and BECN 0 */
	bf_put_be32(at + 8, (r->ack_req ? 1u << 31 : 0) | (r->psn & 0xffffff));
}

static uint8_t *put_deth(uint8_t *at, const struct bf_roce *r)
{
	bf_put_be32(at, r->qkey);
	bf_put_be32(at + 4, r->src_qp & 0xffffff);
	return at + sizeof(struct bf_roce_deth);
}

static uint8_t *put_dceth(uint8_t *at, const struct bf_roce *r)
{
	at[0] = r->dc_flags;
	bf_put_be24(at + 1, r->src_qp & 0xffffff);
	bf_put_be16(at + 4, r->stream);
	bf_put_be16(at + 6, r->attempt);
	bf_put_be32(at + 8, r->session);
	return at + sizeof(struct bf_roce_dceth);
}

static uint8_t *put_reth(uint8_t *at, const struct bf_roce *r)
{
	bf_put_be64(at, r->va);
	bf_put_be32(at + 8, r->rkey);
	bf_put_be32(at + 12, r->dma_len);
	return at + sizeof(struct bf_roce_reth);
}

static uint8_t *put_atomic(uint8_t *at, const struct bf_roce *r)
{
	struct bf_roce_atomic_eth h = {
		.va = bf_to_be64(r->va),
		.rkey = bf_to_be32(r->rkey),
		.swap_add = bf_to_be64(r->swap_add),
		.compare = bf_to_be64(r->compare),
	};

	memcpy(at, &h, sizeof(h));
	return at + sizeof(h);
}

static uint8_t *put_ext_atomic(uint8_t *at, const struct bf_roce *r)
{
	struct bf_roce_ext_atomic_eth h = {
		.va = bf_to_be64(r->va),
		.rkey = bf_to_be32(r->rkey),
		.size = bf_to_be32(r->atomic_size),
		.swap_add = bf_to_be64(r->swap_add),
		.compare = bf_to_be64(r->compare),
		.swap_mask = bf_to_be64(r->swap_mask),
		.compare_mask = bf_to_be64(r->compare_mask),
	};

	memcpy(at, &h, sizeof(h));
	return at + sizeof(h);
}

static uint8_t *put_aeth(uint8_t *at, const struct bf_roce *r)
{
	at[0] = r->aeth_syndrome;
	bf_put_be24(at + 1, r->msn & 0xffffff);
	return at + sizeof(struct bf_roce_aeth);
}

uint32_t bf_roce_build(uint8_t *frame, const struct bf_roce_path *path, const struct bf_roce *r)
{
	uint8_t opcode = bf_roce_wire_opcode(r);
	uint32_t info = bf_roce_opcode_info(opcode), offset = bf_roce_header_len(opcode);
	uint8_t *at = frame + EXT_OFFSET;

	memcpy(frame, path->headers, sizeof(path->headers));
	put_lengths(frame, path, offset - UDP_OFFSET + r->payload_len + pad_of(r->payload_len) + BF_ROCE_ICRC_LEN);
	put_bth(frame + BF_ROCE_BTH_OFFSET, r, opcode);
	if (BF_UNLIKELY(info & BF_ROCE_HAS_DCETH))
		at = put_dceth(at, r);
	if (BF_UNLIKELY(info & BF_ROCE_HAS_DETH))
		at = put_deth(at, r);
	if (BF_UNLIKELY(info & BF_ROCE_HAS_XRCETH)) {
		bf_put_be32(at, r->xrc_srqn & 0xffffff);
		at += sizeof(struct bf_roce_xrceth);
	}
	if (info & BF_ROCE_HAS_RETH)
		at = put_reth(at, r);
	if (info & BF_ROCE_HAS_ATOMIC)
		at = put_atomic(at, r);
	if (info & BF_ROCE_HAS_EXT_ATOMIC)
		at = put_ext_atomic(at, r);
	if (info & BF_ROCE_HAS_AETH)
		at = put_aeth(at, r);
	if (info & BF_ROCE_HAS_ATOMIC_ACK) {
		bf_put_be64(at, r->atomic_orig);
		at += 8;
	}
	if (info & (BF_ROCE_HAS_IMM | BF_ROCE_HAS_IETH))
		bf_put_be32(at, r->imm);
	if (info & BF_ROCE_HAS_DC_KEY)
		bf_put_be64(at, r->dc_key);
	if (info & BF_ROCE_HAS_DC_INFO)
		bf_put_be32(at, r->dc_info);
	return offset;
}

uint32_t bf_roce_finish(uint8_t *frame, const struct bf_roce *r, uint32_t payload_offset, bool icrc)
{
	uint32_t end = payload_offset + r->payload_len, pad = pad_of(r->payload_len);

	memset(frame + end, 0, pad);
	end += pad;
	bf_put_le32(frame + end, icrc ? bf_roce_icrc(frame, end) : 0);
	return end + BF_ROCE_ICRC_LEN;
}

/*
 * Annex A17, "ICRC for RoCEv2": over eight bytes of ones in place of a local route header, then from the IP header on,
 * with ones where routers may change bytes: type of service, time to live, both checksums, and BTH's congestion byte.
 * The bytes of ones take the place of the eight before the IP header.
 */
uint32_t bf_roce_icrc(const uint8_t *frame, uint32_t len)
{
	enum { START = IP_OFFSET - 8, IP = 8, UDP = IP + IP_LEN, BTH = UDP + UDP_LEN };
	static const uint8_t ones[BF_CRC32_MASK] = {
		0xff,
		0xff,
		0xff,
		0xff,
		0xff,
		0xff,
		0xff,
		0xff,
		[IP + 1] = 0xff,
		[IP + 8] = 0xff,
		[IP + 10] = 0xff,
		[IP + 11] = 0xff,
		[UDP + 6] = 0xff,
		[UDP + 7] = 0xff,
		[BTH + 4] = 0xff,
	};

	BF_STATIC_ASSERT(EXT_OFFSET - START == BF_CRC32_MASK, "the mask covers the headers up to BTH");
	if (len < EXT_OFFSET)
		return 0;
	return ~bf_crc32_masked(~0u, frame + START, len - START, ones);
}

/* IPv4 and UDP. `*end` gets the offset behind the ICRC; bytes after it (padding, FCS of a capture) do not count. */
static int parse_ip(const uint8_t *frame, uint32_t len, struct bf_roce *out, uint32_t *end, struct bf_error *err)
{
	const uint8_t *ip = frame + IP_OFFSET, *udp = frame + UDP_OFFSET;
	uint32_t total;

	if (len < IP_OFFSET || bf_get_be16(frame + 12) != 0x0800)
		return bf_fail(err, -EPROTONOSUPPORT, "frame of %u bytes is not IPv4", len);
	if (len < BF_ROCE_BTH_OFFSET)
		return bf_fail(err, -EBADMSG, "frame of %u bytes ends in its IP or UDP header", len);
	if (ip[0] != 0x45 || ip[9] != 17 || bf_get_be16(ip + 6) & 0x3fff || bf_get_be16(udp + 2) != BF_ROCE_UDP_PORT)
		return bf_fail(err, -EPROTONOSUPPORT, "packet is not plain IPv4 and UDP to port %u", BF_ROCE_UDP_PORT);
	if (fold(ip_sum(ip)) != 0xffff)
		return bf_fail(err, -EBADMSG, "IP header checksum is wrong");
	total = bf_get_be16(ip + 2);
	if (total < IP_LEN || total > len - IP_OFFSET || bf_get_be16(udp + 4) != total - IP_LEN)
		return bf_fail(err, -EBADMSG, "IP length %u and UDP length %u do not fit a frame of %u bytes", total,
			       bf_get_be16(udp + 4), len);
	out->src_ipv4 = bf_get_be32(ip + 12);
	out->dst_ipv4 = bf_get_be32(ip + 16);
	out->src_port = bf_get_be16(udp);
	*end = IP_OFFSET + total;
	return 0;
}

static int parse_bth(const uint8_t *frame, uint32_t end, struct bf_roce *out, struct bf_error *err)
{
	const uint8_t *bth = frame + BF_ROCE_BTH_OFFSET;
	uint32_t info, body;

	if (end < EXT_OFFSET + BF_ROCE_ICRC_LEN)
		return bf_fail(err, -EBADMSG, "packet ends in its BTH or ICRC");
	info = bf_roce_opcode_info(bth[0]);
	out->opcode = bf_roce_rc_opcode(bth[0]);
	out->dc = info & BF_ROCE_HAS_DCETH;
	out->uc = info & BF_ROCE_IS_UC;
	out->xrc = info & BF_ROCE_IS_XRC;
	if (bth[1] & 0x0f)
		return bf_fail(err, -EBADMSG, "BTH version %u is not 0", bth[1] & 0x0f);
	if (!info)
		return bf_fail(err, -EPROTONOSUPPORT, "BTH opcode 0x%02x is not one of RC, UC, UD, XRC or DC", bth[0]);
	out->solicited = bth[1] >> 7;
	out->pad = bth[1] >> 4 & 3;
	out->pkey = bf_get_be16(bth + 2);
	out->dest_qp = bf_get_be24(bth + 5);
	out->ack_req = bth[8] >> 7;
	out->psn = bf_get_be24(bth + 9);
	out->payload_offset = bf_roce_header_len(bth[0]);
	if (end < out->payload_offset + out->pad + BF_ROCE_ICRC_LEN)
		return bf_fail(err, -EBADMSG, "%s packet of %u bytes is too short for its headers and pad",
			       bf_roce_opcode_name(bth[0]), end);
	body = end - out->payload_offset - out->pad - BF_ROCE_ICRC_LEN;
	if (body && !(info & BF_ROCE_HAS_PAYLOAD))
		return bf_fail(err, -EBADMSG, "%s packet carries %u bytes of payload", bf_roce_opcode_name(bth[0]),
			       body);
	if ((body + out->pad) & 3)
		return bf_fail(err, -EBADMSG, "payload of %u bytes and pad of %u are not multiples of 4", body,
			       out->pad);
	out->payload_len = body;
	return 0;
}

static const uint8_t *get_dceth(const uint8_t *at, struct bf_roce *out)
{
	out->dc_info = 0;
	out->dc_key = 0;
	out->dc_flags = at[0];
	out->src_qp = bf_get_be24(at + 1);
	out->stream = bf_get_be16(at + 4);
	out->attempt = bf_get_be16(at + 6);
	out->session = bf_get_be32(at + 8);
	return at + sizeof(struct bf_roce_dceth);
}

static const uint8_t *get_reth(const uint8_t *at, struct bf_roce *out)
{
	out->va = bf_get_be64(at);
	out->rkey = bf_get_be32(at + 8);
	out->dma_len = bf_get_be32(at + 12);
	return at + sizeof(struct bf_roce_reth);
}

static const uint8_t *get_atomic(const uint8_t *at, struct bf_roce *out)
{
	struct bf_roce_atomic_eth h;

	memcpy(&h, at, sizeof(h));
	out->va = bf_be64(h.va);
	out->rkey = bf_be32(h.rkey);
	out->swap_add = bf_be64(h.swap_add);
	out->compare = bf_be64(h.compare);
	return at + sizeof(h);
}

static const uint8_t *get_ext_atomic(const uint8_t *at, struct bf_roce *out)
{
	struct bf_roce_ext_atomic_eth h;

	memcpy(&h, at, sizeof(h));
	out->va = bf_be64(h.va);
	out->rkey = bf_be32(h.rkey);
	out->atomic_size = bf_be32(h.size);
	out->swap_add = bf_be64(h.swap_add);
	out->compare = bf_be64(h.compare);
	out->swap_mask = bf_be64(h.swap_mask);
	out->compare_mask = bf_be64(h.compare_mask);
	return at + sizeof(h);
}

/* The lengths were checked by parse_bth(). */
static void parse_extensions(const uint8_t *frame, struct bf_roce *out)
{
	uint32_t info = bf_roce_opcode_info(frame[BF_ROCE_BTH_OFFSET]);
	const uint8_t *at = frame + EXT_OFFSET;

	if (BF_UNLIKELY(out->dc))
		at = get_dceth(at, out);
	if (BF_UNLIKELY(info & BF_ROCE_HAS_DETH)) {
		out->qkey = bf_get_be32(at);
		out->src_qp = bf_get_be24(at + 5);
		at += sizeof(struct bf_roce_deth);
	}
	if (BF_UNLIKELY(info & BF_ROCE_HAS_XRCETH)) {
		out->xrc_srqn = bf_get_be24(at + 1);
		at += sizeof(struct bf_roce_xrceth);
	}
	if (info & BF_ROCE_HAS_RETH)
		at = get_reth(at, out);
	if (info & BF_ROCE_HAS_ATOMIC)
		at = get_atomic(at, out);
	if (info & BF_ROCE_HAS_EXT_ATOMIC)
		at = get_ext_atomic(at, out);
	if (info & BF_ROCE_HAS_AETH) {
		out->aeth_syndrome = at[0];
		out->msn = bf_get_be24(at + 1);
		at += sizeof(struct bf_roce_aeth);
	}
	if (info & BF_ROCE_HAS_ATOMIC_ACK) {
		out->atomic_orig = bf_get_be64(at);
		at += 8;
	}
	if (info & (BF_ROCE_HAS_IMM | BF_ROCE_HAS_IETH))
		out->imm = bf_get_be32(at);
	if (info & BF_ROCE_HAS_DC_KEY)
		out->dc_key = bf_get_be64(at);
	if (info & BF_ROCE_HAS_DC_INFO)
		out->dc_info = bf_get_be32(at);
}

int bf_roce_parse(const uint8_t *frame, uint32_t len, bool check_icrc, struct bf_roce *out, struct bf_error *err)
{
	uint32_t end = 0;
	int rc;

	memset(out, 0, offsetof(struct bf_roce, session));
	rc = parse_ip(frame, len, out, &end, err);
	if (!rc)
		rc = parse_bth(frame, end, out, err);
	if (rc)
		return rc;
	if (check_icrc && bf_get_le32(frame + end - BF_ROCE_ICRC_LEN) != bf_roce_icrc(frame, end - BF_ROCE_ICRC_LEN))
		return bf_fail(err, -EILSEQ, "ICRC of %s packet with PSN %u is wrong",
			       bf_roce_opcode_name(frame[BF_ROCE_BTH_OFFSET]), out->psn);
	parse_extensions(frame, out);
	return 0;
}
