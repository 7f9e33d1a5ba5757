#include "models/fabric/frame.h"

#include "sim/bytes.h"

#define IPV4_HEADER 20u
#define IPV6_HEADER 40u
#define IPV6_ADDRESSES 8u
#define MAX_EXTENSIONS 4u

/* Headers of IPv6 that may lie before the protocol's own (RFC 8200 section 4). */
enum { HOP_BY_HOP = 0, ROUTING = 43, FRAGMENT = 44, DESTINATION = 60 };

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void read_ipv4(const uint8_t *data, uint32_t len, struct bf_eth_frame *f)
{
	const uint8_t *ip = data + f->l3;
	const uint32_t header = (ip[0] & 15u) * 4u, total = bf_get_be16(ip + 2);

	if (ip[0] >> 4 != 4 || header < IPV4_HEADER || len - f->l3 < header || total < header)
		return;
	f->ip = 4;
	f->protocol = ip[9];
	f->end = (uint16_t)least(len, f->l3 + total);
	f->fragment = (bf_get_be16(ip + 6) & 0x3fff) != 0; /* more fragments, or an offset */
	if (!(bf_get_be16(ip + 6) & 0x1fff))
		f->l4 = (uint16_t)(f->l3 + header);
}

static void read_ipv6(const uint8_t *data, uint32_t len, struct bf_eth_frame *f)
{
	const uint8_t *ip = data + f->l3;
	uint32_t at = f->l3 + IPV6_HEADER;
	bool first = true; /* of the fragments, if it is one */

	if (len - f->l3 < IPV6_HEADER || ip[0] >> 4 != 6)
		return;
	f->ip = 6;
	f->end = (uint16_t)least(len, at + bf_get_be16(ip + 4));
	f->protocol = ip[6];
	for (uint32_t n = 0; n < MAX_EXTENSIONS && at + 8 <= f->end; n++) {
		const uint8_t *extension = data + at;

		if (f->protocol == FRAGMENT) {
			f->fragment = (bf_get_be16(extension + 2) & 0xfff9) != 0;
			first = !(bf_get_be16(extension + 2) & 0xfff8);
		} else if (f->protocol != HOP_BY_HOP && f->protocol != ROUTING && f->protocol != DESTINATION) {
			break;
		}
		at += f->protocol == FRAGMENT ? 8 : (extension[1] + 1u) * 8;
		f->protocol = extension[0];
	}
	if (first && at < f->end)
		f->l4 = (uint16_t)at;
}

void bf_frame_read(const uint8_t *data, uint32_t len, struct bf_eth_frame *f)
{
	uint32_t at = BF_ETH_HEADER;

	*f = (struct bf_eth_frame){ .end = (uint16_t)len };
	if (len < BF_ETH_HEADER)
		return;
	f->ethertype = bf_get_be16(data + 12);
	while ((f->ethertype == BF_ETHERTYPE_CVLAN || f->ethertype == BF_ETHERTYPE_SVLAN) && f->tags < 2 &&
	       len >= at + 4) {
		if (!f->tags) {
			f->vlan = bf_get_be16(data + at);
			f->svlan = f->ethertype == BF_ETHERTYPE_SVLAN;
		}
		f->tags++;
		f->ethertype = bf_get_be16(data + at + 2);
		at += 4;
	}
	if (at >= len)
		return;
	f->l3 = (uint16_t)at;
	if (f->ethertype == BF_ETHERTYPE_IPV4 && len - at >= IPV4_HEADER)
		read_ipv4(data, len, f);
	else if (f->ethertype == BF_ETHERTYPE_IPV6)
		read_ipv6(data, len, f);
	/* A port number that is cut off is none. */
	if (f->l4 && f->end < f->l4 + 4u)
		f->l4 = 0;
}

uint32_t bf_checksum_add(uint32_t sum, const uint8_t *data, uint32_t len)
{
	for (; len > 1; len -= 2, data += 2)
		sum += bf_get_be16(data);
	if (len)
		sum += (uint32_t)data[0] << 8;
	return (sum & 0xffff) + (sum >> 16);
}

uint16_t bf_checksum_fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

uint32_t bf_frame_pseudo_sum(const uint8_t *data, const struct bf_eth_frame *f)
{
	const uint8_t *ip = data + f->l3;
	const uint32_t sum = f->protocol + (uint32_t)(f->end - f->l4);

	return f->ip == 4 ? bf_checksum_add(sum, ip + 12, 8) : bf_checksum_add(sum, ip + IPV6_ADDRESSES, 32);
}

bool bf_frame_l3_good(const uint8_t *data, const struct bf_eth_frame *f)
{
	if (f->ip != 4)
		return f->ip == 6;
	return !bf_checksum_fold(bf_checksum_add(0, data + f->l3, (data[f->l3] & 15u) * 4u));
}

bool bf_frame_l4_good(const uint8_t *data, const struct bf_eth_frame *f)
{
	const uint32_t len = (uint32_t)(f->end - f->l4);

	if (!f->l4 || f->fragment || (f->protocol != BF_IP_TCP && f->protocol != BF_IP_UDP) || len < 8)
		return false;
	if (f->protocol == BF_IP_UDP && f->ip == 4 && !bf_get_be16(data + f->l4 + 6))
		return true;
	return !bf_checksum_fold(bf_checksum_add(bf_frame_pseudo_sum(data, f), data + f->l4, len));
}
