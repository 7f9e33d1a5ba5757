/*
 * Flows of verbs programs (ibv_create_flow(3)): entries of tables that the kernel's half keeps, one table for each
 * priority that is used, each of which leads to the next (Linux hw/mlx5/fs.c _create_flow_rule(); its tables are those
 * of the namespace MLX5_FLOW_NAMESPACE_BYPASS). Of flows of one priority the oldest that matches counts.
 *
 * Flows of matchers (matcher.c) stand in the same tables.
 *
 * What the device's tables do not have is refused: other directions, tunnels, counters by verbs, copies to sniffers.
 */
#include "models/mlx5/prm_eth.h"
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include <stdlib.h>

#define LOG_ENTRIES 12u
#define SPECS_MAX 16u
#define SPEC_BYTES_MAX 128u

/* enum ibv_flow_attr_type, ibv_flow_flags, ibv_flow_spec_type as the kernel numbers them (rdma/ib_verbs.h). */
enum { NORMAL, ALL_DEFAULT, MC_DEFAULT, SNIFFER };
enum { FLAG_DONT_TRAP = 1, FLAG_EGRESS = 2 };
enum {
	SPEC_ETH = 0x20,
	SPEC_IPV4 = 0x30,
	SPEC_IPV6 = 0x31,
	SPEC_TCP = 0x40,
	SPEC_UDP = 0x41,
	SPEC_TAG = 0x1000,
	SPEC_DROP = 0x1001
};

BF_STATIC_ASSERT(BF_MLX5_IB_PRIORITIES == BF_MLX5_IB_LAST_PRIORITY + 3,
		 "normal ones, those for multicasts, those for all");

/* ---- tables ---- */

static int set_root(struct bf_uverbs *u, uint32_t table)
{
	uint8_t in[0x18] = { 0 }, out[16];

	BF_MLX5_SET(in, BF_FT_ID, table);
	return bf_mlx5_ib_cmd(u, BF_MLX5_CMD_SET_FLOW_TABLE_ROOT, in, sizeof(in), out, sizeof(out));
}

/* The tables are made with the first flow, the last one first, since each names the next; the first is the root. */
static int open_tables(struct bf_uverbs *u)
{
	struct bf_mlx5_ib_flows *flows = &bf_mlx5_ib_of(u)->flows;
	int err = 0;

	for (uint32_t i = BF_MLX5_IB_PRIORITIES; i-- && !err;) {
		uint8_t in[BF_FT_CREATE_LEN] = { 0 }, out[16], *ftc = in + BF_FT_CONTEXT;

		if (flows->table[i])
			continue;
		BF_MLX5_SET(ftc, BF_FTC_LEVEL, i);
		BF_MLX5_SET(ftc, BF_FTC_LOG_SIZE, LOG_ENTRIES);
		if (i + 1 < BF_MLX5_IB_PRIORITIES) {
			BF_MLX5_SET(ftc, BF_FTC_MISS_ACTION, BF_FT_MISS_TABLE);
			BF_MLX5_SET(ftc, BF_FTC_MISS_ID, flows->table[i + 1]);
		}
		err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_CREATE_FLOW_TABLE, in, sizeof(in), out, sizeof(out));
		flows->table[i] = err ? 0 : BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	}
	return err || flows->count ? err : set_root(u, flows->table[0]);
}

void bf_mlx5_ib_flows_close(struct bf_uverbs *u)
{
	struct bf_mlx5_ib_flows *flows = &bf_mlx5_ib_of(u)->flows;

	for (uint32_t i = 0; i < BF_MLX5_IB_PRIORITIES; i++) {
		uint8_t in[0x18] = { 0 }, out[16];

		BF_MLX5_SET(in, BF_FT_ID, flows->table[i]);
		if (flows->table[i])
			bf_mlx5_ib_cmd(u, BF_MLX5_CMD_DESTROY_FLOW_TABLE, in, sizeof(in), out, sizeof(out));
	}
	free(flows->used);
}

/* ---- entries: each flow is a group of one entry, so that masks may differ ---- */

static int take_index(struct bf_mlx5_ib_flows *flows, uint32_t priority, uint32_t *index)
{
	const uint32_t words = BF_MLX5_IB_PRIORITIES << (LOG_ENTRIES - 6);
	uint64_t *of;

	if (!flows->used)
		flows->used = calloc(words, sizeof(flows->used[0]));
	if (!flows->used)
		return -ENOMEM;
	of = flows->used + ((size_t)priority << (LOG_ENTRIES - 6));
	for (uint32_t i = 0; i < 1u << LOG_ENTRIES; i++)
		if (!(of[i / 64] >> (i % 64) & 1)) {
			of[i / 64] |= 1ull << (i % 64);
			*index = i;
			return 0;
		}
	return -ENOSPC;
}

static void give_index(struct bf_mlx5_ib_flows *flows, uint32_t priority, uint32_t index)
{
	flows->used[((size_t)priority << (LOG_ENTRIES - 6)) + index / 64] &= ~(1ull << (index % 64));
}

static int make_group(struct bf_uverbs *u, struct bf_mlx5_ib_flow *flow, const struct bf_mlx5_ib_rule *r)
{
	uint8_t in[BF_FG_LEN] = { 0 }, out[16];
	int err;

	BF_MLX5_SET(in, BF_FT_ID, flow->table);
	BF_MLX5_SET(in, BF_FG_START, flow->index);
	BF_MLX5_SET(in, BF_FG_END, flow->index);
	BF_MLX5_SET(in, BF_FG_CRITERIA, r->criteria);
	memcpy(in + BF_FG_MASK, r->mask, sizeof(r->mask));
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_CREATE_FLOW_GROUP, in, sizeof(in), out, sizeof(out));
	flow->group = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return err;
}

static int make_entry(struct bf_uverbs *u, const struct bf_mlx5_ib_flow *flow, const struct bf_mlx5_ib_rule *r)
{
	uint8_t in[BF_FTE_LEN + 16] = { 0 }, out[16], *fc = in + BF_FTE_CONTEXT, *list = fc + BF_FTE_LIST;

	BF_MLX5_SET(in, BF_FT_ID, flow->table);
	BF_MLX5_SET(in, BF_FTE_INDEX, flow->index);
	BF_MLX5_SET(fc, BF_FTE_GROUP, flow->group);
	BF_MLX5_SET(fc, BF_FTE_TAG, r->tag);
	BF_MLX5_SET(fc, BF_FTE_ACTION, r->action);
	memcpy(fc + BF_FTE_VALUE, r->value, sizeof(r->value));
	if (r->action & BF_FTE_FORWARD) {
		BF_MLX5_SET(fc, BF_FTE_DESTINATIONS, 1);
		BF_MLX5_SET(list, BF_FD_TYPE, r->to_type);
		BF_MLX5_SET(list, BF_FD_ID, r->to);
		list += 8;
	}
	if (r->action & BF_FTE_COUNT) {
		BF_MLX5_SET(fc, BF_FTE_COUNTERS, 1);
		bf_put_be32(list, r->counter);
	}
	return bf_mlx5_ib_cmd(u, BF_MLX5_CMD_SET_FLOW_TABLE_ENTRY, in, sizeof(in), out, sizeof(out));
}

static void unmake_group(struct bf_uverbs *u, const struct bf_mlx5_ib_flow *flow)
{
	uint8_t in[0x1c] = { 0 }, out[16];

	BF_MLX5_SET(in, BF_FT_ID, flow->table);
	BF_MLX5_SET(in, BF_FG_ID, flow->group);
	bf_mlx5_ib_cmd(u, BF_MLX5_CMD_DESTROY_FLOW_GROUP, in, sizeof(in), out, sizeof(out));
}

int bf_mlx5_ib_flow_insert(struct bf_uverbs *u, struct bf_mlx5_ib_flow *flow, const struct bf_mlx5_ib_rule *r)
{
	struct bf_mlx5_ib_flows *flows = &bf_mlx5_ib_of(u)->flows;
	int err = open_tables(u);

	if (!err)
		err = take_index(flows, flow->priority, &flow->index);
	if (err)
		return err;
	flow->table = flows->table[flow->priority];
	err = make_group(u, flow, r);
	if (!err) {
		err = make_entry(u, flow, r);
		if (err)
			unmake_group(u, flow);
	}
	if (err)
		give_index(flows, flow->priority, flow->index);
	else
		flows->count++;
	return err;
}

int bf_mlx5_ib_flow_destroy(struct bf_uv_object *o, bool forced)
{
	struct bf_mlx5_ib_flow *flow = (struct bf_mlx5_ib_flow *)o;
	struct bf_uverbs *u = o->file->u;
	struct bf_mlx5_ib_flows *flows = &bf_mlx5_ib_of(u)->flows;
	uint8_t in[0x24] = { 0 }, out[16];
	int err;

	BF_MLX5_SET(in, BF_FT_ID, flow->table);
	BF_MLX5_SET(in, BF_FTE_INDEX, flow->index);
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_DELETE_FLOW_TABLE_ENTRY, in, sizeof(in), out, sizeof(out));
	if (err && !forced)
		return err;
	unmake_group(u, flow);
	give_index(flows, flow->priority, flow->index);
	for (uint32_t i = 0; i < flow->n_uses; i++)
		flow->uses[i]->users--;
	if (!--flows->count)
		set_root(u, 0); /* nobody listens any more */
	return 0;
}

/* ---- what a program asks for ---- */

static void put(uint8_t *to, uint32_t at, const void *from, uint32_t len)
{
	memcpy(to + at, from, len);
}

static int take_eth(struct bf_mlx5_ib_rule *r, const struct ib_uverbs_flow_spec_eth *s)
{
	const struct ib_uverbs_flow_eth_filter *half[] = { &s->mask, &s->val };
	uint8_t *to[] = { r->mask, r->value };

	for (uint32_t i = 0; i < 2; i++) {
		put(to[i], BF_MATCH_DMAC, half[i]->dst_mac, 6);
		put(to[i], BF_MATCH_SMAC, half[i]->src_mac, 6);
		BF_MLX5_SET(to[i], BF_MATCH_ETHERTYPE, bf_get_be16((const uint8_t *)&half[i]->ether_type));
		BF_MLX5_SET(to[i], BF_MATCH_VLAN, bf_get_be16((const uint8_t *)&half[i]->vlan_tag));
		BF_MLX5_SET(to[i], BF_MATCH_CVLAN_TAG, s->mask.vlan_tag != 0);
	}
	return 0;
}

static void want_version(struct bf_mlx5_ib_rule *r, uint32_t version)
{
	BF_MLX5_SET(r->mask, BF_MATCH_IP_VERSION, 15);
	BF_MLX5_SET(r->value, BF_MATCH_IP_VERSION, version);
}

static int take_ipv4(struct bf_mlx5_ib_rule *r, const struct ib_uverbs_flow_spec_ipv4 *s)
{
	const struct ib_uverbs_flow_ipv4_filter *half[] = { &s->mask, &s->val };
	uint8_t *to[] = { r->mask, r->value };

	if (s->mask.flags)
		return -EOPNOTSUPP;
	want_version(r, 4);
	for (uint32_t i = 0; i < 2; i++) {
		put(to[i], BF_MATCH_SRC_IP + 12, &half[i]->src_ip, 4);
		put(to[i], BF_MATCH_DST_IP + 12, &half[i]->dst_ip, 4);
		BF_MLX5_SET(to[i], BF_MATCH_PROTOCOL, half[i]->proto);
		BF_MLX5_SET(to[i], BF_MATCH_TOS, half[i]->tos);
		BF_MLX5_SET(to[i], BF_MATCH_TTL, half[i]->ttl);
	}
	return 0;
}

static int take_ipv6(struct bf_mlx5_ib_rule *r, const struct ib_uverbs_flow_spec_ipv6 *s)
{
	const struct ib_uverbs_flow_ipv6_filter *half[] = { &s->mask, &s->val };
	uint8_t *to[] = { r->mask, r->value };

	if (s->mask.flow_label)
		return -EOPNOTSUPP;
	want_version(r, 6);
	for (uint32_t i = 0; i < 2; i++) {
		put(to[i], BF_MATCH_SRC_IP, half[i]->src_ip, 16);
		put(to[i], BF_MATCH_DST_IP, half[i]->dst_ip, 16);
		BF_MLX5_SET(to[i], BF_MATCH_PROTOCOL, half[i]->next_hdr);
		BF_MLX5_SET(to[i], BF_MATCH_TOS, half[i]->traffic_class);
		BF_MLX5_SET(to[i], BF_MATCH_TTL, half[i]->hop_limit);
	}
	return 0;
}

static int take_ports(struct bf_mlx5_ib_rule *r, const struct ib_uverbs_flow_spec_tcp_udp *s, bool udp)
{
	const struct ib_uverbs_flow_tcp_udp_filter *half[] = { &s->mask, &s->val };
	uint8_t *to[] = { r->mask, r->value };

	BF_MLX5_SET(r->mask, BF_MATCH_PROTOCOL, 0xff);
	BF_MLX5_SET(r->value, BF_MATCH_PROTOCOL, udp ? 17 : 6);
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t from = bf_get_be16((const uint8_t *)&half[i]->src_port),
			       dest = bf_get_be16((const uint8_t *)&half[i]->dst_port);

		if (udp) {
			BF_MLX5_SET(to[i], BF_MATCH_UDP_SPORT, from);
			BF_MLX5_SET(to[i], BF_MATCH_UDP_DPORT, dest);
		} else {
			BF_MLX5_SET(to[i], BF_MATCH_TCP_SPORT, from);
			BF_MLX5_SET(to[i], BF_MATCH_TCP_DPORT, dest);
		}
	}
	return 0;
}

/* One specification of `len` bytes. */
static int take_spec(struct bf_mlx5_ib_rule *r, uint32_t type, const void *spec, uint32_t len)
{
	static const struct {
		uint32_t type, len;
	} sizes[] = {
		{ SPEC_ETH, sizeof(struct ib_uverbs_flow_spec_eth) },
		{ SPEC_IPV4, sizeof(struct ib_uverbs_flow_spec_ipv4) },
		{ SPEC_IPV6, sizeof(struct ib_uverbs_flow_spec_ipv6) },
		{ SPEC_TCP, sizeof(struct ib_uverbs_flow_spec_tcp_udp) },
		{ SPEC_UDP, sizeof(struct ib_uverbs_flow_spec_tcp_udp) },
		{ SPEC_TAG, sizeof(struct ib_uverbs_flow_spec_action_tag) },
		{ SPEC_DROP, sizeof(struct ib_uverbs_flow_spec_action_drop) },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(sizes); i++)
		if (sizes[i].type == type && sizes[i].len != len)
			return -EINVAL;
	switch (type) {
	case SPEC_ETH:
		return take_eth(r, spec);
	case SPEC_IPV4:
		return take_ipv4(r, spec);
	case SPEC_IPV6:
		return take_ipv6(r, spec);
	case SPEC_TCP:
	case SPEC_UDP:
		return take_ports(r, spec, type == SPEC_UDP);
	case SPEC_TAG:
		r->tag = ((const struct ib_uverbs_flow_spec_action_tag *)spec)->tag_id;
		return r->tag >> 24 ? -EINVAL : 0;
	case SPEC_DROP:
		r->action = BF_FTE_DROP;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* The specifications behind the request (core/uverbs_cmd.c ib_uverbs_ex_create_flow()). */
static int take_specs(struct bf_uv_call *c, const struct ib_uverbs_create_flow *cmd, struct bf_mlx5_ib_rule *r)
{
	uint64_t at = c->core_in.address + sizeof(*cmd);
	uint32_t left = cmd->flow_attr.size;
	const struct bf_uverbs_host *h = &c->u->opts.host;

	if (c->core_in.local || left != c->core_in.len - sizeof(*cmd) || cmd->flow_attr.num_of_specs > SPECS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < cmd->flow_attr.num_of_specs; i++) {
		union {
			struct ib_uverbs_flow_spec_hdr head;
			uint64_t align[SPEC_BYTES_MAX / 8];
		} spec;
		int err;

		if (left < sizeof(spec.head) || h->copy_in(h->arg, &spec, at, sizeof(spec.head)))
			return -EINVAL;
		if (spec.head.size < sizeof(spec.head) || spec.head.size > left || spec.head.size > sizeof(spec))
			return -EINVAL;
		if (h->copy_in(h->arg, &spec, at, spec.head.size))
			return -EFAULT;
		err = take_spec(r, spec.head.type, &spec, spec.head.size);
		if (err)
			return err;
		at += spec.head.size;
		left -= spec.head.size;
	}
	return left ? -EINVAL : 0;
}

/* The table's place: multicasts by default, then all by default, come after what somebody has asked for by name. */
static int choose_priority(const struct ib_uverbs_flow_attr *a, struct bf_mlx5_ib_rule *r, uint32_t *priority)
{
	switch (a->type) {
	case NORMAL:
		*priority = a->priority;
		return a->priority > BF_MLX5_IB_LAST_PRIORITY ? -EINVAL : 0;
	case MC_DEFAULT:
		*priority = BF_MLX5_IB_LAST_PRIORITY + 1;
		r->mask[BF_MATCH_DMAC] = r->value[BF_MATCH_DMAC] = 1;
		return a->num_of_specs ? -EINVAL : 0;
	case ALL_DEFAULT:
		*priority = BF_MLX5_IB_LAST_PRIORITY + 2;
		return a->num_of_specs ? -EINVAL : 0;
	default:
		return a->type == SNIFFER ? -EOPNOTSUPP : -EINVAL;
	}
}

int bf_mlx5_ib_create_flow(struct bf_uv_call *c)
{
	struct ib_uverbs_create_flow_resp resp = { 0 };
	struct ib_uverbs_create_flow cmd;
	struct bf_mlx5_ib_rule r = { .criteria = BF_FG_OUTER, .action = BF_FTE_FORWARD, .to_type = BF_FD_TIR };
	struct bf_mlx5_ib_flow *flow;
	struct bf_uv_qp *qp;
	uint32_t priority;
	int err = bf_uv_get(c, &c->core_in, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (cmd.comp_mask || cmd.flow_attr.port != 1)
		return -EINVAL;
	if (cmd.flow_attr.flags)
		return cmd.flow_attr.flags & ~(uint32_t)(FLAG_DONT_TRAP | FLAG_EGRESS) ? -EINVAL : -EOPNOTSUPP;
	err = choose_priority(&cmd.flow_attr, &r, &priority);
	if (!err)
		err = take_specs(c, &cmd, &r);
	if (err)
		return err;
	qp = bf_uv_get_object(c, UVERBS_OBJECT_QP, cmd.qp_handle);
	if (!qp || qp->type != IB_UVERBS_QPT_RAW_PACKET || !qp->raw.tirn)
		return -EINVAL;
	flow = bf_uv_new(c, UVERBS_OBJECT_FLOW, sizeof(*flow));
	if (!flow)
		return -ENOMEM;
	flow->priority = priority;
	r.to = qp->raw.tirn;
	err = bf_mlx5_ib_flow_insert(c->u, flow, &r);
	if (err) {
		bf_uv_free(&flow->o);
		return err;
	}
	bf_mlx5_ib_flow_use(flow, &qp->o);
	resp.flow_handle = flow->o.handle;
	err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&flow->o, true);
	return err;
}
