/*
 * TIRs: where a flow ends. A frame goes to one receive queue, or to that of a table which a hash of its addresses
 * chooses; there it takes a receive WQE and completes.
 */
#include "models/fabric/frame.h"
#include "models/mlx5/device_internal.h"
#include "models/mlx5/prm_eth.h"

#include <stdlib.h>

/* An indirection table. */
struct bf_mlx5_rqt {
	uint32_t number, users, count;
	uint32_t rqn[];
};

struct bf_mlx5_tir {
	uint32_t number, users;
	uint32_t rqn;            /* without a table */
	struct bf_mlx5_rqt *rqt; /* NULL: none */
	uint8_t hash, block_self;
	bool symmetric;
	uint32_t fields; /* BF_RX_HASH_* with the two bits of what they are of */
	uint8_t key[BF_TIRC_KEY_LEN];
};

/* What the hash of a frame was made of. */
struct digest {
	uint32_t hash;
	uint8_t type; /* of CQEs */
};

static struct bf_mlx5_qp *queue(const struct bf_mlx5 *dev, uint32_t rqn)
{
	struct bf_mlx5_qp *qp = bf_mlx5_table_get(&dev->qps, rqn);

	return qp && qp->raw == BF_MLX5_RAW_RQ ? qp : NULL;
}

/* ---- commands ---- */

static void hold_queues(struct bf_mlx5 *dev, const struct bf_mlx5_rqt *t, uint32_t by)
{
	for (uint32_t i = 0; i < t->count; i++)
		queue(dev, t->rqn[i])->raw_users += by;
}

uint8_t bf_mlx5_cmd_create_rqt(struct bf_mlx5_mail *m)
{
	const uint8_t *rqtc = m->in + BF_ETH_CONTEXT;
	const uint32_t count = BF_MLX5_GET(rqtc, BF_RQTC_COUNT), most = BF_MLX5_GET(rqtc, BF_RQTC_MAX);
	struct bf_mlx5_rqt *t;
	uint8_t status;

	if (!count || count > most || most > 1u << BF_RQT_LOG_MAX || (count & (count - 1)))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "rqt_actual_size %u of %u: a power of two, %u at most", count, most,
				      1u << BF_RQT_LOG_MAX);
	if (m->in_len < BF_ETH_CONTEXT + BF_RQTC_RQNS + (size_t)count * 4)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_INP_LEN,
				      "rqt_actual_size %u: beyond the mailbox of %zu bytes", count, m->in_len);
	t = calloc(1, sizeof(*t) + count * sizeof(t->rqn[0]));
	if (!t)
		return BF_MLX5_CMD_NO_RES;
	t->count = count;
	for (uint32_t i = 0; i < count; i++) {
		t->rqn[i] = bf_get_be32(rqtc + BF_RQTC_RQNS + (size_t)i * 4) & 0xffffff;
		if (!queue(m->dev, t->rqn[i])) {
			const uint32_t rqn = t->rqn[i];

			free(t);
			return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "rq_num[%u] 0x%x: there is none", i, rqn);
		}
	}
	status = bf_mlx5_cmd_add(m, &m->dev->eth.rqts, t, &t->number);
	if (!status)
		hold_queues(m->dev, t, 1);
	return status;
}

uint8_t bf_mlx5_cmd_destroy_rqt(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_rqt *t = bf_mlx5_table_get(&m->dev->eth.rqts, m->number);

	if (!t)
		return BF_MLX5_CMD_BAD_RES;
	if (t->users)
		return BF_MLX5_CMD_RES_BUSY;
	hold_queues(m->dev, t, UINT32_MAX); /* minus one */
	return bf_mlx5_cmd_remove(m, &m->dev->eth.rqts);
}

/* What the model does not do, by name. */
static uint8_t check(struct bf_mlx5 *dev, const uint8_t *tirc)
{
	const uint32_t type = BF_MLX5_GET(tirc, BF_TIRC_TYPE), hash = BF_MLX5_GET(tirc, BF_TIRC_HASH);
	const uint32_t fields = BF_MLX5_GET(tirc + BF_TIRC_FIELDS, BF_RX_HASH_FIELDS);

	if (type > BF_TIRC_INDIRECT)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "disp_type %u: direct 0, indirect 1", type);
	if (BF_MLX5_GET(tirc, BF_TIRC_MERGE) || BF_MLX5_GET(tirc, BF_TIRC_TUNNELED))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "%s: not modelled",
				      BF_MLX5_GET(tirc, BF_TIRC_MERGE) ? "packet_merge_mask (LRO)"
								       : "tunneled_offload_en");
	if (hash > BF_TIRC_HASH_TOEPLITZ)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "rx_hash_fn %u: none 0, XOR 1, Toeplitz 2", hash);
	if (fields & ~(BF_RX_HASH_SRC_IP | BF_RX_HASH_DST_IP | BF_RX_HASH_SRC_PORT | BF_RX_HASH_DST_PORT))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM,
				      "selected_fields 0x%x: addresses and ports alone (0xf)", fields);
	/* Without one a TIR does as well: rdma-core's own tests of DEVX give none. */
	if (BF_MLX5_GET(tirc, BF_TIRC_DOMAIN) &&
	    !bf_mlx5_table_get(&dev->eth.domains, BF_MLX5_GET(tirc, BF_TIRC_DOMAIN)))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "transport_domain 0x%x: there is none",
				      BF_MLX5_GET(tirc, BF_TIRC_DOMAIN));
	return BF_MLX5_CMD_OK;
}

static void hold(struct bf_mlx5 *dev, const struct bf_mlx5_tir *t, uint32_t by)
{
	if (t->rqt)
		t->rqt->users += by;
	else
		queue(dev, t->rqn)->raw_users += by;
}

uint8_t bf_mlx5_cmd_create_tir(struct bf_mlx5_mail *m)
{
	const uint8_t *tirc = m->in + BF_ETH_CONTEXT;
	const uint32_t rqn = BF_MLX5_GET(tirc, BF_TIRC_RQN), rqt = BF_MLX5_GET(tirc, BF_TIRC_RQT);
	const bool direct = BF_MLX5_GET(tirc, BF_TIRC_TYPE) == BF_TIRC_DIRECT;
	uint8_t status = check(m->dev, tirc);
	struct bf_mlx5_tir *t;

	if (status)
		return status;
	if (direct ? !queue(m->dev, rqn) : !bf_mlx5_table_get(&m->dev->eth.rqts, rqt))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "%s 0x%x: there is none",
				      direct ? "inline_rqn" : "indirect_table", direct ? rqn : rqt);
	t = calloc(1, sizeof(*t));
	if (!t)
		return BF_MLX5_CMD_NO_RES;
	t->rqn = rqn;
	t->rqt = direct ? NULL : bf_mlx5_table_get(&m->dev->eth.rqts, rqt);
	t->hash = (uint8_t)BF_MLX5_GET(tirc, BF_TIRC_HASH);
	t->block_self = (uint8_t)BF_MLX5_GET(tirc, BF_TIRC_BLOCK_SELF);
	t->symmetric = BF_MLX5_GET(tirc, BF_TIRC_SYMMETRIC);
	t->fields = bf_get_be32(tirc + BF_TIRC_FIELDS);
	memcpy(t->key, tirc + BF_TIRC_KEY, sizeof(t->key));
	status = bf_mlx5_cmd_add(m, &m->dev->eth.tirs, t, &t->number);
	if (!status)
		hold(m->dev, t, 1);
	return status;
}

uint8_t bf_mlx5_cmd_destroy_tir(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_tir *t = bf_mlx5_table_get(&m->dev->eth.tirs, m->number);

	if (!t)
		return BF_MLX5_CMD_BAD_RES;
	if (t->users)
		return BF_MLX5_CMD_RES_BUSY;
	hold(m->dev, t, UINT32_MAX); /* minus one */
	return bf_mlx5_cmd_remove(m, &m->dev->eth.tirs);
}

bool bf_mlx5_tir_hold(struct bf_mlx5 *dev, uint32_t number, uint32_t by)
{
	struct bf_mlx5_tir *t = bf_mlx5_table_get(&dev->eth.tirs, number);

	if (t)
		t->users += by;
	return t != NULL;
}

void bf_mlx5_tirs_free(struct bf_mlx5 *dev)
{
	void *obj;

	for (uint32_t n = 0; (obj = bf_mlx5_table_next(&dev->eth.tirs, &n)); n++)
		free(obj);
	for (uint32_t n = 0; (obj = bf_mlx5_table_next(&dev->eth.rqts, &n)); n++)
		free(obj);
}

/* ---- the hash ---- */

/* Of `len` bytes, most significant bit first (Microsoft's RSS specification, whose vectors the tests have). */
uint32_t bf_mlx5_toeplitz(const uint8_t key[40], const uint8_t *data, uint32_t len)
{
	uint32_t hash = 0, window = bf_get_be32(key);

	for (uint32_t i = 0; i < len; i++)
		for (uint32_t bit = 0; bit < 8; bit++) {
			const uint32_t next = i * 8 + bit + 32;

			if (data[i] >> (7 - bit) & 1)
				hash ^= window;
			window = window << 1 | (key[next / 8 % BF_TIRC_KEY_LEN] >> (7 - next % 8) & 1);
		}
	return hash;
}

/* The addresses and ports that the TIR selects, in order; 0: the frame has not what it wants. */
static uint32_t gather(const struct bf_mlx5_tir *t, const uint8_t *data, const struct bf_eth_frame *f, uint8_t *out)
{
	const bool six = t->fields >> 31, udp = t->fields >> 30 & 1;
	const uint32_t at = f->ip == 4 ? 12 : 8, bytes = f->ip == 4 ? 4 : 16;
	uint32_t len = 0;

	if (f->ip != (six ? 6 : 4))
		return 0;
	if (t->fields & BF_RX_HASH_SRC_IP)
		memcpy(out, data + f->l3 + at, bytes), len += bytes;
	if (t->fields & BF_RX_HASH_DST_IP)
		memcpy(out + len, data + f->l3 + at + bytes, bytes), len += bytes;
	if (!(t->fields & (BF_RX_HASH_SRC_PORT | BF_RX_HASH_DST_PORT)))
		return len;
	if (!f->l4 || f->fragment || f->protocol != (udp ? BF_IP_UDP : BF_IP_TCP))
		return 0;
	if (t->fields & BF_RX_HASH_SRC_PORT)
		memcpy(out + len, data + f->l4, 2), len += 2;
	if (t->fields & BF_RX_HASH_DST_PORT)
		memcpy(out + len, data + f->l4 + 2, 2), len += 2;
	return len;
}

/* Both directions of a connection hash alike: the XOR of the two stands for each. */
static void fold(const struct bf_mlx5_tir *t, const struct bf_eth_frame *f, uint8_t *in, uint32_t len)
{
	const uint32_t bytes = f->ip == 4 ? 4 : 16, addresses = len >= 2 * bytes ? 2 * bytes : 0;

	if (!t->symmetric)
		return;
	for (uint32_t i = 0; addresses && i < bytes; i++)
		in[i] = in[bytes + i] = in[i] ^ in[bytes + i];
	for (uint32_t i = addresses; len == addresses + 4 && i < addresses + 2; i++)
		in[i] = in[i + 2] = in[i] ^ in[i + 2];
}

static struct digest digest(const struct bf_mlx5_tir *t, const uint8_t *data, const struct bf_eth_frame *f)
{
	const bool ports = t->fields & (BF_RX_HASH_SRC_PORT | BF_RX_HASH_DST_PORT);
	struct digest d = { 0 };
	uint8_t in[36];
	uint32_t len;

	if (!t->hash)
		return d;
	len = gather(t, data, f, in);
	if (!len)
		return d;
	fold(t, f, in, len);
	if (t->hash == BF_TIRC_HASH_TOEPLITZ)
		d.hash = bf_mlx5_toeplitz(t->key, in, len);
	else
		for (uint32_t i = 0; i < len; i++)
			d.hash ^= in[i];
	d.type = (uint8_t)((f->ip == 4 ? 1u : 2u) << 2 | (!ports ? 0u : f->protocol == BF_IP_UDP ? 2u : 1u) << 6);
	return d;
}

/* ---- a frame arrives ---- */

static uint8_t header_types(const uint8_t *data, const struct bf_eth_frame *f)
{
	const uint8_t l3 = f->ip == 4 ? 2 : f->ip == 6 ? 1 : 0;
	uint8_t l4 = 0;

	if (f->l4 && !f->fragment && f->protocol == BF_IP_UDP)
		l4 = 2;
	else if (f->l4 && !f->fragment && f->protocol == BF_IP_TCP && f->end >= f->l4 + 20)
		l4 = !(data[f->l4 + 13] & 0x10) ? 1 : f->end > f->l4 + (data[f->l4 + 12] >> 4) * 4 ? 4 : 3;
	return (uint8_t)(l4 << 4 | l3 << 2);
}

/* Into the queue that the TIR says. Keeps the packet. */
void bf_mlx5_tir_receive(struct bf_mlx5_port *port, uint32_t number, uint32_t tag, const struct bf_packet *pkt)
{
	struct bf_mlx5 *dev = port->dev;
	const struct bf_mlx5_tir *t = bf_mlx5_table_get(&dev->eth.tirs, number);
	struct bf_packet *copy;
	struct bf_eth_frame f;
	struct bf_mlx5_qp *qp;
	struct digest d;

	if (t->block_self & (pkt->data[0] & 1 ? 2 : 1) && pkt->from == port->port)
		return;
	bf_frame_read(pkt->data, pkt->len, &f);
	d = digest(t, pkt->data, &f);
	qp = queue(dev, t->rqt ? t->rqt->rqn[d.hash & (t->rqt->count - 1)] : t->rqn);
	if (qp->rdma.state != BF_MLX5_QPS_RTS) {
		bf_rdma_drop(&dev->rdma, qp->rdma.actor, pkt, 0, BF_RDMA_DROP_STATE);
		return;
	}
	copy = bf_packet_alloc(dev->fabric);
	if (!copy)
		return; /* lost, as by a NIC whose buffer is full */
	copy->id = pkt->id;
	copy->len = pkt->len;
	/* What the CQE will say stays with the frame, which may wait for a receive WQE. */
	copy->at_ps = (uint64_t)d.hash << 32 | (uint32_t)d.type << 24 | tag;
	memcpy(copy->data, pkt->data, pkt->len);
	bf_rdma_rx_request(&qp->rdma, copy);
}

static void complete(struct bf_mlx5_qp *qp, const struct bf_packet *pkt, const struct bf_eth_frame *f)
{
	struct bf_mlx5_completion c = {
		.opcode = BF_MLX5_CQE_RESP_SEND, .index = qp->rq_index, .byte_cnt = pkt->len, .is_frame = true
	};

	c.frame.hash = (uint32_t)(pkt->at_ps >> 32);
	c.frame.hash_type = (uint8_t)(pkt->at_ps >> 24);
	c.frame.tag = (uint32_t)pkt->at_ps & 0xffffff;
	c.frame.checks = (uint8_t)(BF_MLX5_CQE_L2_OK | (bf_frame_l3_good(pkt->data, f) ? BF_MLX5_CQE_L3_OK : 0) |
				   (bf_frame_l4_good(pkt->data, f) ? BF_MLX5_CQE_L4_OK : 0));
	c.frame.types = header_types(pkt->data, f);
	qp->rdma.rx_has_receive = false;
	bf_mlx5_cq_write(qp->recv_cq, qp, &c);
}

static void fail(struct bf_mlx5_qp *qp, enum bf_rdma_cause cause)
{
	const struct bf_mlx5_completion c = { .opcode = BF_MLX5_CQE_RESP_ERR,
					      .index = qp->rq_index,
					      .err = bf_mlx5_err_of(cause) };

	bf_mlx5_qp_report(qp, 1, qp->rq_index, 0, 0, 0, c.err, "frame cannot be placed");
	qp->rdma.rx_has_receive = false;
	bf_mlx5_cq_write(qp->recv_cq, qp, &c);
	bf_mlx5_qp_error(qp, BF_MLX5_BY_RESPONDER);
}

/* The queue has a receive WQE for the frame, or will. A frame that does not fit fails the queue (assumed, as a UD). */
void bf_mlx5_raw_request(struct bf_mlx5_qp *qp, struct bf_packet *pkt)
{
	enum bf_rdma_cause cause;
	struct bf_eth_frame f;

	qp->dev->rdma.rx.dest_qp = qp->rdma.qpn; /* for what is recorded of it */
	qp->dev->rdma.rx.psn = 0;
	qp->dev->rdma.rx.opcode = 0;
	if (!qp->rdma.rx_has_receive && !bf_rdma_rx_take(&qp->rdma, pkt, &qp->dev->rdma.rx))
		return;
	bf_frame_read(pkt->data, pkt->len, &f);
	cause = qp->rdma.rx_room < pkt->len ? BF_RDMA_RECEIVE_SHORT : bf_mlx5_rq_scatter(qp, pkt->data, pkt->len);
	if (cause)
		fail(qp, cause);
	else
		complete(qp, pkt, &f);
	bf_packet_free(pkt);
}
