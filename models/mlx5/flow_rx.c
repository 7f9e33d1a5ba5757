/* A frame arrives: through which entries of the flow tables it goes, and to whom. */
#include "models/fabric/frame.h"
#include "models/mlx5/flow_internal.h"

/* Its headers as masks and values have them. */
static void read_match(const uint8_t *data, uint32_t len, const struct bf_eth_frame *f, uint8_t out[BF_MATCH_LEN])
{
	const uint8_t *ip = data + f->l3;
	const bool ports = f->l4 && (f->protocol == BF_IP_TCP || f->protocol == BF_IP_UDP);

	memset(out, 0, BF_MATCH_LEN);
	memcpy(out + BF_MATCH_SMAC, data + 6, 6);
	memcpy(out + BF_MATCH_DMAC, data, 6);
	BF_MLX5_SET(out, BF_MATCH_ETHERTYPE, f->ethertype);
	BF_MLX5_SET(out, BF_MATCH_VLAN, f->vlan);
	BF_MLX5_SET(out, BF_MATCH_CVLAN_TAG, f->tags && !f->svlan);
	BF_MLX5_SET(out, BF_MATCH_SVLAN_TAG, f->tags && f->svlan);
	if (!f->ip)
		return;
	BF_MLX5_SET(out, BF_MATCH_IP_VERSION, f->ip);
	BF_MLX5_SET(out, BF_MATCH_PROTOCOL, f->protocol);
	BF_MLX5_SET(out, BF_MATCH_FRAGMENT, f->fragment);
	if (f->ip == 4) {
		BF_MLX5_SET(out, BF_MATCH_TOS, ip[1]);
		BF_MLX5_SET(out, BF_MATCH_TTL, ip[8]);
		memcpy(out + BF_MATCH_SRC_IP + 12, ip + 12, 4);
		memcpy(out + BF_MATCH_DST_IP + 12, ip + 16, 4);
	} else {
		BF_MLX5_SET(out, BF_MATCH_TOS, bf_get_be16(ip) >> 4 & 0xff);
		BF_MLX5_SET(out, BF_MATCH_TTL, ip[7]);
		memcpy(out + BF_MATCH_SRC_IP, ip + 8, 32);
	}
	if (!ports)
		return;
	if (f->protocol == BF_IP_UDP) {
		BF_MLX5_SET(out, BF_MATCH_UDP_SPORT, bf_get_be16(data + f->l4));
		BF_MLX5_SET(out, BF_MATCH_UDP_DPORT, bf_get_be16(data + f->l4 + 2));
	} else {
		BF_MLX5_SET(out, BF_MATCH_TCP_SPORT, bf_get_be16(data + f->l4));
		BF_MLX5_SET(out, BF_MATCH_TCP_DPORT, bf_get_be16(data + f->l4 + 2));
		if (f->l4 + 14u <= len)
			BF_MLX5_SET(out, BF_MATCH_TCP_FLAGS, bf_get_be16(data + f->l4 + 12) & 0x1ff);
	}
}

static const struct bf_mlx5_flow_entry *look_up(const struct bf_mlx5_flow_table *t,
						const uint64_t frame[BF_MATCH_WORDS])
{
	for (const struct bf_mlx5_flow_group *g = t->groups; g; g = g->next)
		for (const struct bf_mlx5_flow_entry *e = g->entries; e; e = e->next) {
			uint64_t differ = 0;

			for (uint32_t i = 0; i < BF_MATCH_WORDS; i++)
				differ |= (frame[i] & g->mask[i]) ^ e->value[i];
			if (!differ)
				return e;
		}
	return NULL;
}

/* Through a table, and what it leads to. A later table's tag takes the place of an earlier one's. */
static bool go(struct bf_mlx5_port *port, const struct bf_mlx5_flow_table *t, uint32_t tag,
	       const uint64_t frame[BF_MATCH_WORDS], const struct bf_packet *pkt)
{
	const struct bf_mlx5_flow_entry *e = NULL;
	bool taken = false;

	for (; t && !e; t = t->miss)
		e = look_up(t, frame);
	if (e && e->counter) {
		e->counter->packets++;
		e->counter->octets += pkt->len;
	}
	if (!e || e->action == BF_FTE_ALLOW)
		return false;
	tag = e->tag ? e->tag : tag;
	for (uint32_t i = 0; i < e->count; i++) {
		if (e->to[i].table) {
			taken |= go(port, bf_mlx5_table_get(&port->dev->eth.tables, e->to[i].number), tag, frame, pkt);
		} else {
			bf_mlx5_tir_receive(port, e->to[i].number, tag, pkt);
			taken = true;
		}
	}
	return taken || e->action == BF_FTE_DROP;
}

void bf_mlx5_flow_rx(struct bf_mlx5_port *port, struct bf_packet *pkt)
{
	uint64_t words[BF_MATCH_WORDS];
	struct bf_eth_frame f;
	bool taken = false;

	if (port->dev->eth.root && pkt->len >= BF_ETH_HEADER) {
		bf_frame_read(pkt->data, pkt->len, &f);
		read_match(pkt->data, pkt->len, &f, (uint8_t *)words);
		taken = go(port, port->dev->eth.root, 0, words, pkt);
	}
	port->dev->count.frames_unmatched += !taken;
	bf_packet_free(pkt);
}
