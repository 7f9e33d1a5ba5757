/* What an identifier knows: its addresses, its device, its path (core/ucma.c ucma_query_route() and ucma_query()). */
#include "models/rdmacm/rdmacm_internal.h"

#define RATE_PORT_CURRENT 0u /* IB_RATE_PORT_CURRENT */
#define EXACTLY 2u           /* IB_SA_EQ */
#define PATHS_MAX 1u

static void fill_path(const struct bf_cm_id *id, struct ib_user_path_rec *r)
{
	memcpy(r->dgid, id->path.dgid, sizeof(r->dgid));
	memcpy(r->sgid, id->path.sgid, sizeof(r->sgid));
	r->slid = htons(id->path.slid);
	r->dlid = htons(id->path.dlid);
	r->flow_label = htonl(id->path.flow_label);
	r->reversible = 1;
	r->mtu = id->path.mtu;
	r->pkey = htons(BF_CM_PKEY);
	r->hop_limit = id->path.hop_limit;
	r->traffic_class = id->path.traffic_class;
	r->sl = id->path.sl;
	r->mtu_selector = EXACTLY;
	r->rate_selector = EXACTLY;
	r->rate = RATE_PORT_CURRENT;
	r->packet_life_time_selector = EXACTLY;
	r->packet_life_time = BF_CM_PACKET_LIFETIME;
}

/* A path is told as soon as its route is resolved; its GIDs before, as far as there is a device. */
static bool routed(const struct bf_cm_id *id)
{
	return id->has_path && id->cma != BF_CMA_ADDR && id->cma != BF_CMA_BOUND;
}

static void fill_gids(const struct bf_cm_id *id, uint8_t sgid[16], uint8_t dgid[16])
{
	if (id->has_path) {
		memcpy(sgid, id->path.sgid, 16);
		memcpy(dgid, id->path.dgid, 16);
	} else if (id->device) {
		bf_cm_gid(id->device, id->device->ipv4, sgid);
	}
}

static uint32_t index_of(const struct bf_cm_id *id)
{
	return (uint32_t)(id->device - id->cm->opts.device);
}

int bf_cm_query_route(struct bf_cm_call *c)
{
	const struct rdma_ucm_query cmd = c->in.query;
	struct rdma_ucm_query_route_resp resp;
	struct bf_cm_id *id;
	int err = bf_cm_find(c, cmd.id, &id);

	if (err)
		return err;
	memset(&resp, 0, sizeof(resp));
	memcpy(&resp.src_addr, &id->src, sizeof(resp.src_addr));
	memcpy(&resp.dst_addr, &id->dst, sizeof(resp.dst_addr));
	if (id->device) {
		resp.node_guid = bf_htobe64(id->device->node_guid);
		resp.ibdev_index = index_of(id);
		resp.port_num = 1;
		resp.num_paths = routed(id);
		fill_gids(id, resp.ib_route[0].sgid, resp.ib_route[0].dgid);
		resp.ib_route[0].pkey = htons(BF_CM_PKEY);
		if (routed(id))
			fill_path(id, &resp.ib_route[0]);
	}
	return bf_cm_answer(c, cmd.response, &resp, sizeof(resp));
}

static void fill_device(const struct bf_cm_id *id, struct rdma_ucm_query_addr_resp *r)
{
	memset(r, 0, sizeof(*r));
	if (!id->device)
		return;
	r->node_guid = bf_htobe64(id->device->node_guid);
	r->ibdev_index = index_of(id);
	r->port_num = 1;
	r->pkey = htons(BF_CM_PKEY);
}

static int query_addr(struct bf_cm_call *c, const struct bf_cm_id *id, uint64_t response)
{
	struct rdma_ucm_query_addr_resp resp;

	if (c->out_len < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	fill_device(id, &resp);
	resp.src_size = (uint16_t)bf_cm_addr_size(&id->src);
	resp.dst_size = (uint16_t)bf_cm_addr_size(&id->dst);
	memcpy(&resp.src_addr, &id->src, resp.src_size);
	memcpy(&resp.dst_addr, &id->dst, resp.dst_size);
	return bf_cm_answer(c, response, &resp, sizeof(resp));
}

/* An address of the kind that has a GID in it (rdma/ib.h struct sockaddr_ib). */
static void fill_ib_address(const struct bf_cm_id *id, const struct sockaddr *a, const uint8_t gid[16], uint8_t *to)
{
	const uint16_t family = BF_AF_IB, pkey = id->device ? htons(BF_CM_PKEY) : 0;

	memcpy(to, &family, sizeof(family));
	memcpy(to + 2, &pkey, sizeof(pkey));
	memcpy(to + 8, gid, 16);
	bf_put_be64(to + 24, bf_cm_service(id->ps, bf_cm_addr_port(a)));
}

static int query_gid(struct bf_cm_call *c, const struct bf_cm_id *id, uint64_t response)
{
	const sa_family_t ib = BF_AF_IB;
	struct rdma_ucm_query_addr_resp resp;
	uint8_t sgid[16] = { 0 }, dgid[16] = { 0 };

	if (c->out_len < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	fill_device(id, &resp);
	resp.src_size = resp.dst_size = (uint16_t)bf_cm_addr_size(&ib);
	fill_gids(id, sgid, dgid);
	fill_ib_address(id, &id->src.sa, sgid, (uint8_t *)&resp.src_addr);
	fill_ib_address(id, &id->dst.sa, dgid, (uint8_t *)&resp.dst_addr);
	return bf_cm_answer(c, response, &resp, sizeof(resp));
}

/* As subnet administrators send it (IBA vol. 1 section 15.2.5.16, PathRecord). */
static void pack_path(const struct bf_cm_id *id, uint8_t *r)
{
	memcpy(r + 8, id->path.dgid, 16);
	memcpy(r + 24, id->path.sgid, 16);
	bf_put_be16(r + 40, id->path.dlid);
	bf_put_be16(r + 42, id->path.slid);
	bf_put_be32(r + 44, id->path.flow_label << 8 | id->path.hop_limit);
	r[48] = id->path.traffic_class;
	r[49] = 0x80; /* reversible */
	bf_put_be16(r + 50, BF_CM_PKEY);
	bf_put_be16(r + 52, id->path.sl);
	r[54] = (uint8_t)(EXACTLY << 6 | id->path.mtu);
	r[55] = EXACTLY << 6 | RATE_PORT_CURRENT;
	r[56] = EXACTLY << 6 | BF_CM_PACKET_LIFETIME;
}

static int query_path(struct bf_cm_call *c, const struct bf_cm_id *id, uint64_t response)
{
	struct { /* struct rdma_ucm_query_path_resp, which has room for any number */
		uint32_t num_paths, reserved;
		struct ib_path_rec_data path[PATHS_MAX];
	} resp;
	const uint32_t paths = routed(id);

	if (c->out_len < sizeof(struct rdma_ucm_query_path_resp))
		return -ENOSPC;
	memset(&resp, 0, sizeof(resp));
	resp.num_paths = paths;
	resp.path[0].flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	pack_path(id, (uint8_t *)resp.path[0].path_rec);
	if (!paths || c->out_len < sizeof(resp))
		return bf_cm_answer(c, response, &resp, sizeof(struct rdma_ucm_query_path_resp));
	return bf_cm_answer(c, response, &resp, sizeof(resp));
}

int bf_cm_query(struct bf_cm_call *c)
{
	const struct rdma_ucm_query cmd = c->in.query;
	struct bf_cm_id *id;
	int err = bf_cm_find(c, cmd.id, &id);

	if (err)
		return err;
	switch (cmd.option) {
	case RDMA_USER_CM_QUERY_ADDR:
		return query_addr(c, id, cmd.response);
	case RDMA_USER_CM_QUERY_PATH:
		return query_path(c, id, cmd.response);
	case RDMA_USER_CM_QUERY_GID:
		return query_gid(c, id, cmd.response);
	default:
		return -ENOSYS;
	}
}
