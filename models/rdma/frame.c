/* Frames of raw queues before they leave: what a NIC fills in. */
#include "models/fabric/frame.h"
#include "models/rdma/transport_internal.h"

#define IP_CHECKSUM 10u
#define TCP_CHECKSUM 16u
#define UDP_CHECKSUM 6u

static void put_l3(uint8_t *data, const struct bf_eth_frame *f)
{
	if (f->ip != 4)
		return;
	bf_put_be16(data + f->l3 + IP_CHECKSUM, 0);
	bf_put_be16(data + f->l3 + IP_CHECKSUM,
		    bf_checksum_fold(bf_checksum_add(0, data + f->l3, (data[f->l3] & 15u) * 4u)));
}

static void put_l4(uint8_t *data, const struct bf_eth_frame *f)
{
	const uint32_t at = f->l4 + (f->protocol == BF_IP_TCP ? TCP_CHECKSUM : UDP_CHECKSUM);
	uint16_t sum;

	if (!f->l4 || f->fragment || (f->protocol != BF_IP_TCP && f->protocol != BF_IP_UDP) || at + 2 > f->end)
		return;
	bf_put_be16(data + at, 0);
	sum = bf_checksum_fold(bf_checksum_add(bf_frame_pseudo_sum(data, f), data + f->l4, (uint32_t)(f->end - f->l4)));
	/* 0 says that there is none (RFC 768). */
	bf_put_be16(data + at, f->protocol == BF_IP_UDP && !sum ? 0xffff : sum);
}

void bf_rdma_frame_finish(struct bf_packet *pkt, uint32_t len, uint32_t flags)
{
	struct bf_eth_frame f;

	pkt->len = len;
	if (flags & (BF_RDMA_SEND_L3_CHECKSUM | BF_RDMA_SEND_L4_CHECKSUM)) {
		bf_frame_read(pkt->data, pkt->len, &f);
		if (flags & BF_RDMA_SEND_L3_CHECKSUM)
			put_l3(pkt->data, &f);
		if (flags & BF_RDMA_SEND_L4_CHECKSUM)
			put_l4(pkt->data, &f);
	}
	if (pkt->len < BF_ETH_MIN) {
		memset(pkt->data + pkt->len, 0, BF_ETH_MIN - pkt->len);
		pkt->len = BF_ETH_MIN;
	}
}
