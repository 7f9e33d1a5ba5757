/*
 * The DC target: its commands, and the responder contexts that initiators connect to.
 *
 * A context is a queue pair without queues: what models/rdma knows of the initiator. A target has a bounded
 * number. A new initiator gets a fresh one, or that of an initiator that has disconnected, or that of one that was
 * silent for the profile's dct_idle_ps; otherwise it is told to come again. Contexts of closed connections stay until
 * their place is needed, but for their queue pairs, so that late copies of old packets are known as such. Behind an
 * eviction they are not, when only half a handshake was made: a copy of an old CONNECT opens a connection then, and
 * what follows it is executed again. A full handshake closes that hole, because data carry a number that the target
 * gave (US patent 8,761,189).
 *
 * SEND and WRITE with immediate take WQEs of the target's shared receive queue; without one they are refused as invalid
 * requests.
 */
#include "models/mlx5/device_internal.h"

#include <stdio.h>

#define LOG_ANSWERS 4u /* READs and atomics of one context at a time: assumed, as devices report max_res for RC */
#define MTU_MIN 1u
#define MTU_MAX 5u
#define TTL 64u
#define DRAIN_LOOK_PS (1 * BF_US)  /* how often a draining target looks whether it is drained: assumed */
#define DRAIN_LIMIT_PS (1 * BF_MS) /* messages that have not ended by then never will: assumed */

#define STATE_DESTROYED 3u

static struct bf_mlx5_dc_context **bucket_of(struct bf_mlx5_dct *dct, uint32_t ipv4, uint32_t qpn, uint32_t stream)
{
	uint32_t h = (ipv4 * 31 + qpn) * 31 + stream;

	return &dct->bucket[(h ^ h >> 8) % BF_MLX5_DCT_BUCKETS];
}

static struct bf_mlx5_dc_context *find(struct bf_mlx5_dct *dct, const struct bf_roce *r)
{
	struct bf_mlx5_dc_context *c = *bucket_of(dct, r->src_ipv4, r->src_qp, r->stream);

	while (c && (c->ipv4 != r->src_ipv4 || c->qpn != r->src_qp || c->stream != r->stream))
		c = c->next;
	return c;
}

/* Of a frame to a target: what connects it to whom it is from, and the target itself. */
void bf_mlx5_dct_expect(struct bf_mlx5 *dev, const uint8_t *frame)
{
	const struct bf_mlx5_dct *dct = bf_mlx5_table_get(
	    &dev->dcts, bf_get_be24(frame + BF_ROCE_BTH_OFFSET + offsetof(struct bf_roce_bth, dest_qp)));

	if (!dct)
		return;
	for (size_t at = 0; at < offsetof(struct bf_mlx5_dct, bucket); at += 64)
		__builtin_prefetch((const uint8_t *)dct + at, 1);
	__builtin_prefetch(&dct->newest);
}

static void record_context(const struct bf_mlx5_dct *dct, const struct bf_roce *r, uint32_t what)
{
	BF_EMIT(dct->dev->sim, dct->actor, dc_context, .dct = dct->dctn, .qpn = r->src_qp, .ipv4 = r->src_ipv4,
		.session = r->session, .psn = r->psn, .stream = r->stream, .contexts = (uint16_t)dct->contexts,
		.what = what);
}

static void record_state(const struct bf_mlx5_dct *dct, uint8_t to)
{
	BF_EMIT(dct->dev->sim, dct->actor, dct_state, .dct = dct->dctn, .contexts = (uint16_t)dct->contexts, .to = to);
}

/* The way back to whom a frame came from. */
static void way_back(const struct bf_mlx5_dct *dct, const struct bf_packet *pkt, struct bf_roce_path *path)
{
	struct bf_roce_path_opts opts = {
		.src_ipv4 = dct->port->ipv4,
		.dst_ipv4 = dct->dev->rdma.rx.src_ipv4,
		.udp_src_port = (uint16_t)(0xc000 | (dct->dctn & 0x3fff)),
		.ecn = bf_port_ecn(dct->port->port),
		.dscp = (uint8_t)BF_MLX5_GET(dct->context, BF_DCTC_DSCP),
		.ttl = (uint8_t)BF_MLX5_GET(dct->context, BF_DCTC_HOP_LIMIT),
	};

	if (!opts.ttl)
		opts.ttl = TTL;
	memcpy(opts.src_mac, dct->port->mac, sizeof(opts.src_mac));
	memcpy(opts.dst_mac, pkt->data + 6, sizeof(opts.dst_mac));
	bf_roce_path_init(path, &opts);
}

/* An answer about the connection itself. On lack of memory there is none: the initiator asks again. */
static void reply(struct bf_mlx5_dct *dct, const struct bf_packet *to, uint8_t opcode, uint32_t info)
{
	struct bf_mlx5 *dev = dct->dev;
	const struct bf_roce *r = &dev->rdma.rx;
	struct bf_packet *pkt = bf_packet_alloc_for(dev->fabric, 0);
	struct bf_roce out = {
		.opcode = opcode,
		.dc = true,
		.pkey = r->pkey,
		.dest_qp = r->src_qp,
		.psn = r->psn,
		.src_qp = dct->dctn,
		.session = r->session,
		.stream = r->stream,
		.attempt = r->attempt,
		.dc_info = info,
	};
	struct bf_roce_path path;

	if (!pkt)
		return;
	way_back(dct, to, &path);
	pkt->len = bf_roce_finish(pkt->data, &out, bf_roce_build(pkt->data, &path, &out), dev->profile.icrc);
	bf_port_send(dct->port->port, pkt);
}

static void refuse(struct bf_mlx5_dct *dct, const struct bf_packet *pkt, uint32_t reason, uint32_t what)
{
	record_context(dct, &dct->dev->rdma.rx, what);
	dct->dev->count.dc_cnaks_sent++;
	reply(dct, pkt, BF_DC_CNAK, reason);
}

static bool is_quiet(const struct bf_mlx5_qp *qp)
{
	/* After a refusal the rest of a message does not come. */
	const bool receives = qp->rdma.rx_op && qp->rdma.state != BF_RDMA_ERR;

	return !qp->rdma.inflight && !qp->rdma.txq && !qp->rdma.hold && !bf_rdma_answers_pending(&qp->rdma) &&
	       !receives;
}

static uint32_t expected_psn(const struct bf_mlx5_dc_context *c)
{
	return c->qp ? c->qp->rdma.expected_psn : c->psn;
}

static void free_qp(struct bf_mlx5_qp *qp)
{
	bf_mlx5_qp_reset(qp);
	if (!qp->rdma.inflight) {
		bf_mlx5_qp_free(qp);
		return;
	}
	qp->rdma.dead = true;
	qp->next_zombie = qp->dev->zombie_qps;
	qp->dev->zombie_qps = qp;
}

static struct bf_mlx5_qp *make_qp(struct bf_mlx5_dct *dct, struct bf_mlx5_dc_context *c)
{
	struct bf_mlx5_qp *qp = bf_pool_take(dct->dev->sim, sizeof(*qp));
	const uint8_t *dctc = dct->context;

	if (!qp)
		return NULL;
	bf_mlx5_qp_init(qp, dct->dev);
	bf_mlx5_qp_use_port(qp, dct->port);
	qp->rdma.qpn = dct->dctn;
	qp->rdma.actor = dct->actor;
	qp->pd = dct->pd;
	qp->send_cq = qp->recv_cq = dct->cq;
	qp->srq = dct->srq;
	qp->user_index = BF_MLX5_GET(dctc, BF_DCTC_USER_INDEX);
	qp->rdma.mtu_shift = (uint8_t)(7 + BF_MLX5_GET(dctc, BF_DCTC_MTU));
	qp->rdma.log_msg_max = 30;
	qp->rdma.max_answers = 1u << LOG_ANSWERS;
	qp->rdma.min_rnr_nak = (uint8_t)BF_MLX5_GET(dctc, BF_DCTC_MIN_RNR_NAK);
	qp->rdma.atomic_mode = (uint8_t)BF_MLX5_GET(dctc, BF_DCTC_ATOMIC_MODE);
	qp->rdma.access = (uint8_t)((BF_MLX5_GET(dctc, BF_DCTC_RRE) ? BF_MLX5_ACCESS_REMOTE_READ : 0) |
				    (BF_MLX5_GET(dctc, BF_DCTC_RWE) ? BF_MLX5_ACCESS_REMOTE_WRITE : 0) |
				    (BF_MLX5_GET(dctc, BF_DCTC_RAE) ? BF_MLX5_ACCESS_ATOMIC : 0));
	qp->rdma.remote_ipv4 = c->ipv4;
	qp->rdma.remote_qpn = c->qpn;
	qp->context_of = c;
	qp->rdma.asks = BF_RDMA_ASKS_ADDRESS;
	qp->rdma.receives = dct->srq != NULL;
	return qp;
}

static void unlist(struct bf_mlx5_dct *dct, struct bf_mlx5_dc_context *c)
{
	*(c->older ? &c->older->newer : &dct->oldest[c->open]) = c->newer;
	*(c->newer ? &c->newer->older : &dct->newest[c->open]) = c->older;
}

/* Of those that are open, or closed, this one was used last. */
static void list_newest(struct bf_mlx5_dct *dct, struct bf_mlx5_dc_context *c, bool open)
{
	c->open = open;
	c->newer = NULL;
	c->older = dct->newest[open];
	*(c->older ? &c->older->newer : &dct->oldest[open]) = c;
	dct->newest[open] = c;
}

static void used(struct bf_mlx5_dct *dct, struct bf_mlx5_dc_context *c, bool open)
{
	if (c->open == open && dct->newest[open] == c)
		return;
	unlist(dct, c);
	list_newest(dct, c, open);
}

static void take_out(struct bf_mlx5_dct *dct, struct bf_mlx5_dc_context *c)
{
	struct bf_mlx5_dc_context **link = bucket_of(dct, c->ipv4, c->qpn, c->stream);

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	unlist(dct, c);
	dct->contexts--;
}

/* The one that was closed first; if there is none, the one that was used longest ago among those that may go. */
static struct bf_mlx5_dc_context *victim(const struct bf_mlx5_dct *dct)
{
	const uint64_t now = dct->dev->sim->now_ps, idle = dct->dev->profile.dct_idle_ps;

	for (uint32_t open = 0; open < 2; open++)
		for (struct bf_mlx5_dc_context *c = dct->oldest[open]; c; c = c->newer) {
			if (open && now - c->used_ps < idle)
				break; /* and so were all behind it */
			if (!c->qp || is_quiet(c->qp))
				return c;
		}
	return NULL;
}

static struct bf_mlx5_dc_context *evict(struct bf_mlx5_dct *dct)
{
	struct bf_mlx5_dc_context *c = victim(dct);

	if (!c)
		return NULL;
	take_out(dct, c);
	dct->dev->count.dct_evictions++;
	if (bf_probe(dct->dev->sim, BF_CLASS_QUEUE)) {
		struct bf_roce who = { .src_qp = c->qpn,
				       .src_ipv4 = c->ipv4,
				       .session = c->session,
				       .stream = c->stream,
				       .psn = expected_psn(c) };

		record_context(dct, &who, BF_MLX5_DC_EVICTED);
	}
	if (c->qp)
		free_qp(c->qp);
	return c;
}

/* A context for the initiator of the CONNECT at hand; NULL: none can be had now. */
static struct bf_mlx5_dc_context *new_context(struct bf_mlx5_dct *dct, const struct bf_roce *r)
{
	struct bf_mlx5_dc_context **bucket = bucket_of(dct, r->src_ipv4, r->src_qp, r->stream);
	struct bf_mlx5_dc_context *c =
	    dct->contexts < dct->dev->profile.dct_contexts ? bf_pool_take(dct->dev->sim, sizeof(*c)) : evict(dct);

	if (!c)
		return NULL;
	*c = (struct bf_mlx5_dc_context){
		.next = *bucket,
		.ipv4 = r->src_ipv4,
		.qpn = r->src_qp,
		.stream = r->stream,
	};
	*bucket = c;
	dct->contexts++;
	list_newest(dct, c, false);
	return c;
}

/* False on lack of memory. */
static bool begin(struct bf_mlx5_dct *dct, struct bf_mlx5_dc_context *c, const struct bf_packet *pkt)
{
	const struct bf_roce *r = &dct->dev->rdma.rx;

	if (c->qp)
		bf_mlx5_qp_reset(c->qp);
	else
		c->qp = make_qp(dct, c);
	if (!c->qp)
		return false;
	way_back(dct, pkt, &c->qp->rdma.path);
	c->qp->rdma.state = BF_MLX5_QPS_RTR;
	c->qp->rdma.expected_psn = r->psn;
	c->session = r->session;
	c->full = r->dc_flags & BF_DCETH_FULL;
	c->my_session = ++dct->sessions;
	c->used_ps = dct->dev->sim->now_ps;
	used(dct, c, true);
	return true;
}

static void connect(struct bf_mlx5_dct *dct, struct bf_mlx5_dc_context *c, const struct bf_packet *pkt)
{
	const struct bf_roce *r = &dct->dev->rdma.rx;
	int32_t newer = c ? (int32_t)(r->session - c->session) : 1;

	if (dct->state != BF_DCTC_STATE_ACTIVE) {
		bf_rdma_drop(&dct->dev->rdma, dct->actor, pkt, 0, BF_RDMA_DROP_STATE);
	} else if (newer < 0 || (!newer && !c->open)) {
		bf_rdma_drop(&dct->dev->rdma, dct->actor, pkt, expected_psn(c), BF_RDMA_DROP_STALE);
	} else if (r->dc_key != bf_get_be64(dct->context + BF_DCTC_ACCESS_KEY)) {
		dct->violations++;
		refuse(dct, pkt, BF_CNAK_KEY, BF_MLX5_DC_KEY_VIOLATION);
	} else if (BF_MLX5_GET(dct->context, BF_DCTC_FULL_HANDSHAKE) && !(r->dc_flags & BF_DCETH_FULL)) {
		refuse(dct, pkt, BF_CNAK_HANDSHAKE, BF_MLX5_DC_WANTS_FULL);
	} else if (newer) {
		bool again = c != NULL;

		if (!again)
			c = new_context(dct, r);
		if (!c || !begin(dct, c, pkt)) {
			refuse(dct, pkt, BF_CNAK_BUSY, BF_MLX5_DC_ALL_BUSY);
			return;
		}
		record_context(dct, r, again ? BF_MLX5_DC_OPENED_AGAIN : BF_MLX5_DC_OPENED);
	}
	if (c && c->open && c->session == r->session && c->full)
		reply(dct, pkt, BF_DC_CONNECT_ACK, c->my_session);
}

/* An acknowledgement may still be owed for a copy of a packet: the queue pair stays then until its place is needed. */
static void disconnect(struct bf_mlx5_dct *dct, struct bf_mlx5_dc_context *c)
{
	const struct bf_roce *r = &dct->dev->rdma.rx;

	if (!c || c->session != r->session || !c->open)
		return;
	used(dct, c, false);
	record_context(dct, r, BF_MLX5_DC_CLOSED);
	if (!is_quiet(c->qp) || c->qp->rdma.acks_owed || c->qp->rdma.nak)
		return;
	c->psn = c->qp->rdma.expected_psn;
	free_qp(c->qp);
	c->qp = NULL;
}

/* A request on a connection. */
static void request(struct bf_mlx5_dct *dct, struct bf_mlx5_dc_context *c, struct bf_packet *pkt)
{
	struct bf_mlx5 *dev = dct->dev;
	const struct bf_roce *r = &dev->rdma.rx;
	const int32_t newer = c ? (int32_t)(r->session - (c->full ? c->my_session : c->session)) : 1;

	if (newer > 0) {
		refuse(dct, pkt, BF_CNAK_NO_CONTEXT, BF_MLX5_DC_NO_CONTEXT);
	} else if (newer < 0 || !c->open) {
		bf_rdma_drop(&dev->rdma, dct->actor, pkt, expected_psn(c), BF_RDMA_DROP_STALE);
	} else if (c->qp->rdma.state == BF_MLX5_QPS_ERR) {
		bf_rdma_drop(&dev->rdma, dct->actor, pkt, expected_psn(c), BF_RDMA_DROP_STATE);
	} else {
		c->used_ps = dev->sim->now_ps;
		used(dct, c, true);
		bf_rdma_rx_request(&c->qp->rdma, pkt);
		return;
	}
	bf_packet_free(pkt);
}

void bf_mlx5_dct_rx(struct bf_mlx5 *dev, struct bf_mlx5_port *port, struct bf_packet *pkt)
{
	const struct bf_roce *r = &dev->rdma.rx;
	struct bf_mlx5_dct *dct = bf_mlx5_table_get(&dev->dcts, r->dest_qp);

	if (!dct || dct->port != port || dct->state == BF_DCTC_STATE_DRAINED) {
		bf_rdma_drop(&dev->rdma, dct ? dct->actor : dev->actor, pkt, 0,
			     !dct                ? BF_RDMA_DROP_NO_QP
			     : dct->port != port ? BF_RDMA_DROP_PEER
						 : BF_RDMA_DROP_STATE);
		bf_packet_free(pkt);
	} else if (r->opcode == BF_DC_CONNECT || r->opcode == BF_DC_DISCONNECT) {
		if (r->opcode == BF_DC_CONNECT)
			connect(dct, find(dct, r), pkt);
		else
			disconnect(dct, find(dct, r));
		bf_packet_free(pkt);
	} else {
		request(dct, find(dct, r), pkt);
	}
}

static bool all_quiet(const struct bf_mlx5_dct *dct)
{
	for (uint32_t i = 0; i < BF_MLX5_DCT_BUCKETS; i++)
		for (const struct bf_mlx5_dc_context *c = dct->bucket[i]; c; c = c->next)
			if (c->qp && !is_quiet(c->qp))
				return false;
	return true;
}

/* A target that drains is drained when nothing is going on in any context. */
static void settle(struct bf_mlx5_dct *dct)
{
	struct bf_sim *sim = dct->dev->sim;

	if (dct->state != BF_DCTC_STATE_DRAINING)
		return;
	if (!all_quiet(dct) && sim->now_ps < dct->drain_ps + DRAIN_LIMIT_PS) {
		bf_sim_after(sim, &dct->drain, DRAIN_LOOK_PS);
		return;
	}
	bf_sim_cancel(sim, &dct->drain);
	dct->state = BF_DCTC_STATE_DRAINED;
	record_state(dct, dct->state);
	bf_mlx5_event_number(dct->dev, BF_MLX5_EVENT_DCT_DRAINED, dct->dctn);
}

static void drain_fired(struct bf_event *ev)
{
	settle(BF_CONTAINER_OF(ev, struct bf_mlx5_dct, drain));
}

/* Whether its context names what is there, and values that a target can have. */
static uint8_t check_context(struct bf_mlx5 *dev, const uint8_t *dctc)
{
	const uint32_t pd = BF_MLX5_GET(dctc, BF_DCTC_PD), cqn = BF_MLX5_GET(dctc, BF_DCTC_CQN);
	const uint32_t srqn = BF_MLX5_GET(dctc, BF_DCTC_SRQN), port = BF_MLX5_GET(dctc, BF_DCTC_PORT);
	const uint32_t mtu = BF_MLX5_GET(dctc, BF_DCTC_MTU);

	if (!bf_mlx5_table_get(&dev->pds, pd))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "pd 0x%x: there is no such protection domain", pd);
	if (!bf_mlx5_table_get(&dev->cqs, cqn))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "cqn 0x%x: there is no such completion queue", cqn);
	if (srqn && !bf_mlx5_table_get(&dev->srqs, srqn))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "srqn 0x%x: there is no such shared receive queue",
				      srqn);
	if (port > dev->port_count)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "port %u: the device has ports 1 to %u", port,
				      dev->port_count);
	if (mtu < MTU_MIN || mtu > MTU_MAX)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "mtu %u: must be %u to %u, for 256 bytes to 4096",
				      mtu, MTU_MIN, MTU_MAX);
	return 0;
}

uint8_t bf_mlx5_cmd_create_dct(struct bf_mlx5_mail *m)
{
	struct bf_mlx5 *dev = m->dev;
	const uint8_t *dctc = m->in + BF_DCT_DCTC;
	const uint32_t port = BF_MLX5_GET(dctc, BF_DCTC_PORT);
	struct bf_mlx5_pd *pd = bf_mlx5_table_get(&dev->pds, BF_MLX5_GET(dctc, BF_DCTC_PD));
	struct bf_mlx5_cq *cq = bf_mlx5_table_get(&dev->cqs, BF_MLX5_GET(dctc, BF_DCTC_CQN));
	struct bf_mlx5_srq *srq = bf_mlx5_table_get(&dev->srqs, BF_MLX5_GET(dctc, BF_DCTC_SRQN));
	struct bf_mlx5_dct *dct;
	uint8_t status;
	char name[64];

	if (!dev->profile.dct_contexts)
		return BF_MLX5_CMD_BAD_OP;
	status = check_context(dev, dctc);
	if (status)
		return status;
	dct = bf_pool_take(dev->sim, sizeof(*dct));
	if (!dct)
		return BF_MLX5_CMD_NO_RES;
	if (bf_mlx5_table_add(&dev->dcts, dct, &dct->dctn)) {
		bf_pool_give(dev->sim, dct, sizeof(*dct));
		return BF_MLX5_CMD_LIM;
	}
	dct->dev = dev;
	bf_event_init(&dct->drain, drain_fired);
	dct->port = &dev->ports[port ? port - 1 : 0];
	dct->cq = cq;
	dct->srq = srq;
	dct->pd = pd->number;
	memcpy(dct->context, dctc, sizeof(dct->context));
	pd->users++;
	cq->users++;
	if (srq)
		srq->users++;
	snprintf(name, sizeof(name), "%s.dct0x%x", dev->name, dct->dctn);
	dct->actor = bf_stream_actor(&dev->sim->rec, "queue", name);
	record_state(dct, BF_DCTC_STATE_ACTIVE);
	m->number = dct->dctn;
	return BF_MLX5_CMD_OK;
}

/* New connections are refused from now on: the initiator sees a peer that does not answer (assumed). */
uint8_t bf_mlx5_cmd_drain_dct(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_dct *dct = bf_mlx5_table_get(&m->dev->dcts, m->number);

	if (!dct)
		return BF_MLX5_CMD_BAD_RES;
	if (dct->state != BF_DCTC_STATE_ACTIVE)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES_STATE, "DCT 0x%x is drained already", dct->dctn);
	dct->state = BF_DCTC_STATE_DRAINING;
	dct->drain_ps = dct->dev->sim->now_ps;
	record_state(dct, dct->state);
	settle(dct);
	return BF_MLX5_CMD_OK;
}

void bf_mlx5_dct_free(struct bf_mlx5_dct *dct)
{
	for (uint32_t i = 0; i < BF_MLX5_DCT_BUCKETS; i++) {
		while (dct->bucket[i]) {
			struct bf_mlx5_dc_context *c = dct->bucket[i];

			take_out(dct, c);
			if (c->qp)
				free_qp(c->qp);
			bf_pool_give(dct->dev->sim, c, sizeof(*c));
		}
	}
	bf_sim_cancel(dct->dev->sim, &dct->drain);
	bf_pool_give(dct->dev->sim, dct, sizeof(*dct));
}

uint8_t bf_mlx5_cmd_destroy_dct(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_dct *dct = bf_mlx5_table_get(&m->dev->dcts, m->number);
	struct bf_mlx5_pd *pd;

	if (!dct)
		return BF_MLX5_CMD_BAD_RES;
	settle(dct);
	/* Linux drains first and waits for the event that says so (drivers/infiniband/hw/mlx5/qpc.c). */
	if (dct->state != BF_DCTC_STATE_DRAINED)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES_STATE,
				      "DCT 0x%x is not drained: DRAIN_DCT goes first, and its event says when",
				      dct->dctn);
	record_state(dct, STATE_DESTROYED);
	pd = bf_mlx5_table_get(&m->dev->pds, dct->pd);
	pd->users--;
	dct->cq->users--;
	if (dct->srq)
		dct->srq->users--;
	bf_mlx5_table_remove(&m->dev->dcts, dct->dctn);
	bf_mlx5_dct_free(dct);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_dct(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_dct *dct = bf_mlx5_table_get(&m->dev->dcts, m->number);
	uint8_t *dctc = m->out + BF_DCT_DCTC;

	if (!dct)
		return BF_MLX5_CMD_BAD_RES;
	settle(dct);
	memcpy(dctc, dct->context, sizeof(dct->context));
	BF_MLX5_SET(dctc, BF_DCTC_STATE, dct->state);
	BF_MLX5_SET(dctc, BF_DCTC_KEY_VIOLATIONS, dct->violations);
	return BF_MLX5_CMD_OK;
}
