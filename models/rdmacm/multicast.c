/*
 * Multicast groups that identifiers have joined (core/ucma.c ucma_process_join(), core/cma.c
 * cma_iboe_join_multicast()). On Ethernet nobody has to be asked: a group's GID is made of its address, and the program
 * hears of it at once. The network learns who wants a group's frames from the devices, when librdmacm attaches a queue
 * pair (models/fabric).
 */
#include <stdlib.h>

#include "models/rdmacm/rdmacm_internal.h"

#define FIRST_MLID 0xc000u /* IBA vol. 1 section 4.1.3; which a group gets is the subnet manager's choice */
#define GROUP_QPN 0xffffffu
#define KERNEL_ENOTSUPP 524 /* include/linux/errno.h: not for programs, but cma.c gives it to them */

/* As an array of the lowest free number each: the list is in order of numbers. */
static bool give_number(struct bf_rdmacm *cm, struct bf_cm_group *g)
{
	struct bf_cm_group **at = &cm->groups;

	for (; *at && (*at)->number == g->number; at = &(*at)->next)
		g->number++;
	g->next = *at;
	if (g->number < BF_CM_IDS_MAX)
		*at = g;
	return *at == g;
}

static void end(struct bf_cm_group *g)
{
	struct bf_cm_group **at = &g->id->cm->groups;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	bf_cm_forget_events(g);
	free(g);
}

void bf_cm_leave_groups(struct bf_cm_id *id)
{
	for (struct bf_cm_group *g = id->cm->groups, *next; g; g = next) {
		next = g->next;
		if (g->id == id)
			end(g);
	}
}

/*
 * RoCE v2 has the group's IPv4 address in its GID, and knows no groups of IPv6. InfiniBand has 28 bits of it behind a
 * prefix of RFC 4391 with the connection manager's mark in it (core/cma.c cma_set_mgid()).
 */
static int make_gid(const struct bf_cm_id *id, const struct sockaddr *address, uint8_t gid[16])
{
	static const uint8_t prefix[12] = { 0xff, 0x12, 0x40, 0x01, BF_CM_PKEY >> 8, BF_CM_PKEY & 0xff };
	uint32_t ipv4;

	if (bf_cm_addr_any(address))
		return -EINVAL;
	if (address->sa_family != AF_INET)
		return -KERNEL_ENOTSUPP;
	ipv4 = ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr);
	bf_cm_mapped_gid(gid, ipv4);
	if (id->device->infiniband) {
		memcpy(gid, prefix, sizeof(prefix));
		bf_put_be32(gid + 12, ipv4 & 0x0fffffff);
	}
	return 0;
}

static void tell_joined(struct bf_cm_group *g, const uint8_t gid[16])
{
	struct rdma_ucm_event_resp resp = { 0 };
	struct rdma_ucm_ud_param *p = &resp.param.ud;
	struct bf_cm_id *id = g->id;

	if (!id->conn.qkey)
		id->conn.qkey = BF_CM_UDP_QKEY;
	p->qp_num = GROUP_QPN;
	p->qkey = id->conn.qkey;
	memcpy(p->ah_attr.grh.dgid, gid, sizeof(p->ah_attr.grh.dgid));
	p->ah_attr.grh.sgid_index = BF_CM_SGID_INDEX;
	p->ah_attr.grh.hop_limit = BF_CM_HOP_LIMIT;
	p->ah_attr.is_global = 1;
	if (id->device->infiniband) {
		p->ah_attr.grh.sgid_index = 0;
		p->ah_attr.grh.hop_limit = 0;
		p->ah_attr.dlid = (uint16_t)(FIRST_MLID | (gid[14] << 8 & 0x3f00) | gid[15]);
	}
	p->ah_attr.port_num = 1;
	bf_cm_tell_group(g, BF_CM_MULTICAST_JOIN, &resp);
}

static int join(struct bf_cm_call *c, const struct rdma_ucm_join_mcast *cmd)
{
	const struct sockaddr *address = (const struct sockaddr *)&cmd->addr;
	struct rdma_ucm_create_id_resp resp;
	struct bf_cm_group *g;
	struct bf_cm_id *id;
	uint8_t gid[16];
	int err;

	if (!cmd->addr_size || cmd->addr_size != bf_cm_addr_size(address) ||
	    cmd->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return -EINVAL;
	err = bf_cm_find_ready(c, cmd->id, &id);
	if (err)
		return err;
	if ((id->cma != BF_CMA_BOUND && id->cma != BF_CMA_ADDR) || id->qp_type != BF_CM_QPT_UD)
		return -EINVAL;
	err = make_gid(id, address, gid);
	if (err)
		return err;
	g = malloc(sizeof(*g));
	if (!g)
		return -ENOMEM;
	*g = (struct bf_cm_group){ .id = id, .uid = cmd->uid };
	if (!give_number(c->cm, g)) {
		free(g);
		return -ENOMEM;
	}
	resp.id = g->number;
	err = bf_cm_answer(c, cmd->response, &resp, sizeof(resp));
	if (err)
		end(g);
	else
		tell_joined(g, gid);
	return err;
}

int bf_cm_join_ip_mcast(struct bf_cm_call *c)
{
	const struct rdma_ucm_join_ip_mcast *old = &c->in.join_ip_mcast;
	struct rdma_ucm_join_mcast cmd = { .response = old->response, .uid = old->uid, .id = old->id };

	if (old->addr.sin6_family != AF_INET && old->addr.sin6_family != AF_INET6)
		return -EINVAL;
	cmd.addr_size = (uint16_t)bf_cm_addr_size(&old->addr);
	memcpy(&cmd.addr, &old->addr, cmd.addr_size);
	return join(c, &cmd);
}

int bf_cm_join_mcast(struct bf_cm_call *c)
{
	return join(c, &c->in.join_mcast);
}

/* The command has the group's number where others have an identifier's. */
int bf_cm_leave_mcast(struct bf_cm_call *c)
{
	const struct rdma_ucm_destroy_id cmd = c->in.destroy_id;
	struct rdma_ucm_destroy_id_resp resp;
	struct bf_cm_group *g = c->cm->groups;

	while (g && g->number != cmd.id)
		g = g->next;
	if (!g)
		return -ENOENT;
	c->number = g->id->number;
	if (g->id->file != c->f)
		return -EINVAL;
	resp.events_reported = g->reported;
	end(g);
	return bf_cm_answer(c, cmd.response, &resp, sizeof(resp));
}
