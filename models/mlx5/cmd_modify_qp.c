/* The state machine of queue pairs: what each modify command needs, takes and leads to. */
#include <inttypes.h>

#include "models/mlx5/device_internal.h"

#define PM_STATE_MIGRATED 3u
#define MTU_MIN 1u
#define MTU_MAX 5u
#define LOG_MSG_MAX 30u

/* Optional parameters of the modify commands (Linux include/linux/mlx5/qp.h enum mlx5_qp_optpar). */
#define OPTPAR_RRE (1u << 1)
#define OPTPAR_RAE (1u << 2)
#define OPTPAR_RWE (1u << 3)
#define OPTPAR_PKEY_INDEX (1u << 4)
#define OPTPAR_Q_KEY (1u << 5)
#define OPTPAR_RNR_TIMEOUT (1u << 6)
#define OPTPAR_PRIMARY_PATH (1u << 7)
#define OPTPAR_SRA_MAX (1u << 8)
#define OPTPAR_RRA_MAX (1u << 9)
#define OPTPAR_RETRY_COUNT (1u << 12)
#define OPTPAR_RNR_RETRY (1u << 13)
#define OPTPAR_ACK_TIMEOUT (1u << 14)
#define OPTPAR_PRI_PORT (1u << 16)
#define OPT_PARAM_MASK 0x10, 0xffffffffu

static uint8_t with(uint32_t set, uint32_t bit, bool on)
{
	return (uint8_t)(on ? set | bit : set & ~bit);
}

static void take_access(struct bf_mlx5_qp *qp, const uint8_t *qpc, uint32_t which)
{
	if (which & OPTPAR_RRE)
		qp->rdma.access = with(qp->rdma.access, BF_MLX5_ACCESS_REMOTE_READ, BF_MLX5_GET(qpc, BF_QPC_RRE));
	if (which & OPTPAR_RWE)
		qp->rdma.access = with(qp->rdma.access, BF_MLX5_ACCESS_REMOTE_WRITE, BF_MLX5_GET(qpc, BF_QPC_RWE));
	if (which & OPTPAR_RAE) {
		qp->rdma.access = with(qp->rdma.access, BF_MLX5_ACCESS_ATOMIC, BF_MLX5_GET(qpc, BF_QPC_RAE));
		qp->rdma.atomic_mode = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_ATOMIC_MODE);
	}
	if (which & OPTPAR_RNR_TIMEOUT)
		qp->rdma.min_rnr_nak = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_MIN_RNR_NAK);
	if (which & OPTPAR_Q_KEY)
		qp->qkey = BF_MLX5_GET(qpc, BF_QPC_Q_KEY);
}

/* Port 0 in a path leaves what was said before; at first that is port 1. */
static uint8_t set_port(struct bf_mlx5_qp *qp, uint8_t *kept, uint32_t port)
{
	if (!port)
		return BF_MLX5_CMD_OK;
	if (port > qp->dev->port_count)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM, "vhca_port_num %u: the device has ports 1 to %u",
				      port, qp->dev->port_count);
	bf_mlx5_qp_use_port(qp, &qp->dev->ports[port - 1]);
	BF_MLX5_SET(kept + BF_QPC_PATH, BF_PATH_PORT, port);
	return BF_MLX5_CMD_OK;
}

static void take_pkey(uint8_t *kept, const uint8_t *qpc, uint32_t which)
{
	if (which & OPTPAR_PKEY_INDEX)
		BF_MLX5_SET(kept + BF_QPC_PATH, BF_PATH_PKEY_INDEX, BF_MLX5_GET(qpc + BF_QPC_PATH, BF_PATH_PKEY_INDEX));
}

static uint8_t rst_to_init(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	uint32_t port = BF_MLX5_GET(qpc + BF_QPC_PATH, BF_PATH_PORT);

	(void)optional;
	/* Said here, as Linux does, or at creation, as DEVX programs do (rdma-core tests/mlx5_base.py). */
	if (set_port(qp, kept, port ? port : 1))
		return BF_MLX5_CMD_BAD_PARAM; /* said */
	if (BF_MLX5_GET(qpc, BF_QPC_PM_STATE) != PM_STATE_MIGRATED &&
	    BF_MLX5_GET(kept, BF_QPC_PM_STATE) != PM_STATE_MIGRATED)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM, "pm_state %u: must be MIGRATED, %u",
				      BF_MLX5_GET(qpc, BF_QPC_PM_STATE), PM_STATE_MIGRATED);
	if (bf_mlx5_qp_prepare(qp))
		return BF_MLX5_CMD_NO_RES;
	BF_MLX5_SET(kept, BF_QPC_PM_STATE, PM_STATE_MIGRATED);
	take_access(qp, qpc, OPTPAR_RRE | OPTPAR_RWE | OPTPAR_RAE | OPTPAR_Q_KEY);
	take_pkey(kept, qpc, OPTPAR_PKEY_INDEX);
	bf_mlx5_special_open(qp, kept);
	return BF_MLX5_CMD_OK;
}

static uint8_t init_to_init(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	if (optional & OPTPAR_PRI_PORT && set_port(qp, kept, BF_MLX5_GET(qpc + BF_QPC_PATH, BF_PATH_PORT)))
		return BF_MLX5_CMD_BAD_PARAM; /* said */
	take_access(qp, qpc, optional);
	take_pkey(kept, qpc, optional);
	return BF_MLX5_CMD_OK;
}

/*
 * A GID is ::ffff:a.b.c.d, or the link-local one that is made of the MAC of a port whose MAC is made of its address
 * (RFC 4291 appendix A, fabric.h). Frames are RoCEv2 over IPv4 either way (the model's own liberty).
 */
uint32_t bf_mlx5_gid_ipv4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	static const uint8_t local[10] = { 0xfe, 0x80 };

	if (!memcmp(gid, mapped, sizeof(mapped)))
		return bf_get_be32(gid + 12);
	if (memcmp(gid, local, sizeof(local)) || gid[11] != 0xff || gid[12] != 0xfe)
		return 0;
	return (uint32_t)gid[10] << 24 | (bf_get_be32(gid + 12) & 0xffffff);
}

/* Address and MAC of the peer: by GID, or, of an InfiniBand port, by LID. Hosts of those know no MACs. */
static void set_peer(const struct bf_mlx5_port *from, const uint8_t *path, struct bf_roce_path_opts *opts)
{
	opts->dst_ipv4 = bf_mlx5_gid_ipv4(path + BF_PATH_RGID);
	if (!from->dev->infiniband) {
		bf_put_be16(opts->dst_mac, (uint16_t)BF_MLX5_GET(path, BF_PATH_RMAC_HI));
		bf_put_be32(opts->dst_mac + 2, BF_MLX5_GET(path, BF_PATH_RMAC_LO));
		return;
	}
	opts->udp_src_port = 0;
	opts->dscp = 0;
	if (!BF_MLX5_GET(path, BF_PATH_GRH))
		opts->dst_ipv4 = bf_mlx5_lid_ipv4(from, (uint16_t)BF_MLX5_GET(path, BF_PATH_RLID));
	bf_mlx5_peer_mac(from, opts->dst_ipv4, opts->dst_mac);
}

static uint64_t mac_of(const uint8_t mac[6])
{
	return (uint64_t)bf_get_be16(mac) << 32 | bf_get_be32(mac + 2);
}

/* The modelled network looks at addresses alone, where a real one would not bring the frames there. */
static void compare_mac(const struct bf_mlx5_qp *qp, const struct bf_roce_path_opts *opts)
{
	const struct bf_port *to = bf_fabric_find(qp->dev->fabric, opts->dst_ipv4);
	struct bf_port_info info;

	if (!to)
		return;
	bf_port_info(to, &info);
	if (memcmp(info.mac, opts->dst_mac, sizeof(info.mac)) != 0)
		BF_EMIT(qp->dev->sim, qp->rdma.actor, path_mac, .mac = mac_of(opts->dst_mac),
			.theirs = mac_of(info.mac), .qpn = qp->rdma.qpn, .remote_ipv4 = opts->dst_ipv4);
}

/*
 * The address path. A source port of 0 leaves the choice to the device; it takes one from the range that annex A17
 * names.
 */
static uint8_t set_path(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *path)
{
	uint32_t port = BF_MLX5_GET(path, BF_PATH_PORT);
	struct bf_roce_path_opts opts = {
		.udp_src_port = (uint16_t)BF_MLX5_GET(path, BF_PATH_UDP_SPORT),
		.dscp = (uint8_t)BF_MLX5_GET(path, BF_PATH_DSCP),
		.ttl = (uint8_t)BF_MLX5_GET(path, BF_PATH_HOP_LIMIT),
	};

	if (port > qp->dev->port_count)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM, "vhca_port_num %u: the device has ports 1 to %u",
				      port, qp->dev->port_count);
	set_peer(port ? &qp->dev->ports[port - 1] : qp->port, path, &opts);
	if (!opts.dst_ipv4)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM,
				      "rgid_rip of the primary path: no IPv4 address, ::ffff:a.b.c.d");
	if (!opts.udp_src_port)
		opts.udp_src_port = (uint16_t)(0xc000 | (qp->rdma.qpn & 0x3fff));
	set_port(qp, kept, port);
	opts.ecn = bf_port_ecn(qp->port->port);
	port = BF_MLX5_GET(kept + BF_QPC_PATH, BF_PATH_PORT);
	memcpy(kept + BF_QPC_PATH, path, BF_PATH_LEN);
	BF_MLX5_SET(kept + BF_QPC_PATH, BF_PATH_PORT, port);
	opts.src_ipv4 = qp->port->ipv4;
	memcpy(opts.src_mac, qp->port->mac, sizeof(opts.src_mac));
	qp->rdma.remote_ipv4 = opts.dst_ipv4;
	if (bf_probe(qp->dev->sim, BF_CLASS_QUEUE))
		compare_mac(qp, &opts);
	bf_roce_path_init(&qp->rdma.path, &opts);
	return BF_MLX5_CMD_OK;
}

static uint8_t init_to_rtr(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	uint32_t mtu = BF_MLX5_GET(qpc, BF_QPC_MTU), msg = BF_MLX5_GET(qpc, BF_QPC_LOG_MSG_MAX);

	if (mtu < MTU_MIN || mtu > MTU_MAX)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM, "mtu %u: must be %u to %u, for 256 bytes to 4096",
				      mtu, MTU_MIN, MTU_MAX);
	if (!msg || msg > LOG_MSG_MAX)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM, "log_msg_max %u: must be 1 to %u", msg,
				      LOG_MSG_MAX);
	/* DC initiators and datagrams get their address from each WQE. */
	if (!qp->dci && qp->rdma.service != BF_RDMA_UD && set_path(qp, kept, qpc + BF_QPC_PATH))
		return BF_MLX5_CMD_BAD_PARAM; /* said */
	qp->rdma.mtu_shift = (uint8_t)(7 + mtu);
	qp->rdma.log_msg_max = (uint8_t)msg;
	qp->rdma.remote_qpn = BF_MLX5_GET(qpc, BF_QPC_REMOTE_QPN);
	qp->rdma.expected_psn = BF_MLX5_GET(qpc, BF_QPC_NEXT_RCV_PSN);
	qp->rdma.max_answers = (uint16_t)(1u << BF_MLX5_GET(qpc, BF_QPC_LOG_RRA_MAX));
	BF_MLX5_SET(kept, BF_QPC_LOG_RRA_MAX, BF_MLX5_GET(qpc, BF_QPC_LOG_RRA_MAX));
	take_access(qp, qpc, optional | OPTPAR_RNR_TIMEOUT);
	return BF_MLX5_CMD_OK;
}

/* A mailbox without a context asks for nothing, and nothing behind it may be read. */
static void take_requester(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t which)
{
	if (which & OPTPAR_ACK_TIMEOUT) {
		const uint32_t timeout = BF_MLX5_GET(qpc + BF_QPC_PATH, BF_PATH_ACK_TIMEOUT);

		qp->rdma.ack_timeout = bf_rdma_is_unreliable(&qp->rdma) ? 0 : (uint8_t)timeout;
		BF_MLX5_SET(kept + BF_QPC_PATH, BF_PATH_ACK_TIMEOUT, timeout);
	}
	if (which & OPTPAR_RETRY_COUNT)
		qp->rdma.retry_count = qp->rdma.retries_left = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_RETRY_COUNT);
	if (which & OPTPAR_RNR_RETRY)
		qp->rdma.rnr_retry = qp->rdma.rnr_left = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_RNR_RETRY);
	if (which & OPTPAR_SRA_MAX) {
		qp->rdma.max_rdatomic = (uint16_t)(1u << BF_MLX5_GET(qpc, BF_QPC_LOG_SRA_MAX));
		BF_MLX5_SET(kept, BF_QPC_LOG_SRA_MAX, BF_MLX5_GET(qpc, BF_QPC_LOG_SRA_MAX));
	}
}

static void record_path(const struct bf_mlx5_qp *qp)
{
	BF_EMIT(qp->dev->sim, qp->rdma.actor, qp_path, .qpn = qp->rdma.qpn, .remote_qpn = qp->rdma.remote_qpn,
		.remote_ipv4 = qp->rdma.remote_ipv4, .ipv4 = qp->port->ipv4, .max_reads = qp->rdma.max_rdatomic,
		.max_answers = qp->rdma.max_answers, .mtu = 1u << qp->rdma.mtu_shift, .access = qp->rdma.access,
		.retries = qp->rdma.retry_count, .rnr_retries = qp->rdma.rnr_retry, .timeout = qp->rdma.ack_timeout,
		.min_rnr_timer = qp->rdma.min_rnr_nak);
}

static uint8_t rtr_to_rts(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	qp->rdma.send_psn = qp->rdma.tx_psn = qp->rdma.una_psn = BF_MLX5_GET(qpc, BF_QPC_NEXT_SEND_PSN);
	take_requester(qp, kept, qpc, OPTPAR_ACK_TIMEOUT | OPTPAR_RETRY_COUNT | OPTPAR_RNR_RETRY | OPTPAR_SRA_MAX);
	take_access(qp, qpc, optional);
	take_pkey(kept, qpc, optional);
	record_path(qp);
	return BF_MLX5_CMD_OK;
}

static uint8_t to_rst(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	(void)qpc;
	(void)optional;
	memset(kept + BF_QPC_PATH, 0, BF_PATH_LEN);
	bf_mlx5_qp_reset(qp);
	return BF_MLX5_CMD_OK;
}

static uint8_t rts_to_rts(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	take_access(qp, qpc, optional);
	take_pkey(kept, qpc, optional);
	return BF_MLX5_CMD_OK;
}

/* A send queue that is drained may be given all that the way to RTS gave it (IBA vol. 1 section 11.2.5.3). */
static uint8_t sqd_to_rts(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	bool has_path = !qp->dci && qp->rdma.service != BF_RDMA_UD;

	if (optional & OPTPAR_PRIMARY_PATH && has_path && set_path(qp, kept, qpc + BF_QPC_PATH))
		return BF_MLX5_CMD_BAD_PARAM; /* said */
	if (optional & OPTPAR_RRA_MAX) {
		qp->rdma.max_answers = (uint16_t)(1u << BF_MLX5_GET(qpc, BF_QPC_LOG_RRA_MAX));
		BF_MLX5_SET(kept, BF_QPC_LOG_RRA_MAX, BF_MLX5_GET(qpc, BF_QPC_LOG_RRA_MAX));
	}
	take_requester(qp, kept, qpc, optional);
	return rts_to_rts(qp, kept, qpc, optional);
}

/* The path stays but for the port from which packets say they come: routers spread flows by it. */
static uint8_t change_source_port(struct bf_mlx5_qp *qp, uint32_t udp_port)
{
	uint8_t kept[BF_QPC_LEN], path[BF_PATH_LEN];

	if (qp->dci || qp->rdma.service == BF_RDMA_UD)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM,
				      "udp_sport %u: DC initiators and datagrams have no path to change", udp_port);
	bf_mlx5_unpack(qp->context, kept, sizeof(kept));
	memcpy(path, kept + BF_QPC_PATH, sizeof(path));
	BF_MLX5_SET(path, BF_PATH_UDP_SPORT, udp_port);
	return set_path(qp, kept, path) ? BF_MLX5_CMD_BAD_PARAM : bf_mlx5_qp_keep(qp, kept);
}

static uint8_t reset_stream(struct bf_mlx5_qp *qp, const struct bf_mlx5_mail *m)
{
	if (!BF_MLX5_GET(m->in, BF_MODIFY_QP_EXT) || !qp->dci)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM,
				      "a stream to reset: needs qpc_ext, of a DC initiator");
	if (m->in_len < BF_MODIFY_QP_EXT_STREAM_END)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_INP_LEN, "a mailbox of %zu bytes: qpc_ext ends at %u",
				      m->in_len, (unsigned)BF_MODIFY_QP_EXT_STREAM_END);
	return bf_mlx5_dci_stream_reset(qp, BF_MLX5_GET(m->in, BF_MODIFY_QP_EXT_STREAM));
}

/* What the optional parameters beyond the first 32 ask for, as far as it is modelled. */
static uint8_t take_more(struct bf_mlx5_qp *qp, const struct bf_mlx5_mail *m)
{
	uint64_t mask = 0;
	uint8_t status = BF_MLX5_CMD_OK;

	if (m->in_len >= BF_MODIFY_QP_EXT_MASK + sizeof(mask))
		mask = bf_get_be64(m->in + BF_MODIFY_QP_EXT_MASK);
	if (mask & ~(BF_MODIFY_QP_EXT_MASK_STREAM | BF_MODIFY_QP_EXT_MASK_UDP_SPORT))
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM,
				      "opt_param_mask_95_32 0x%" PRIx64 ": must be within 0x%" PRIx64, mask,
				      (uint64_t)(BF_MODIFY_QP_EXT_MASK_STREAM | BF_MODIFY_QP_EXT_MASK_UDP_SPORT));
	if (mask & BF_MODIFY_QP_EXT_MASK_UDP_SPORT)
		status = change_source_port(qp, BF_MLX5_GET(m->in + BF_QP_QPC + BF_QPC_PATH, BF_PATH_UDP_SPORT));
	if (!status && mask & BF_MODIFY_QP_EXT_MASK_STREAM)
		status = reset_stream(qp, m);
	return status;
}

#define FROM(s) (1u << BF_MLX5_QPS_##s)
#define FROM_ANY 0xffu

/* Which states a command starts from, and where it leads (docs/hardware/mlx5.md#qp-states). */
static const struct transition {
	uint16_t opcode;
	uint8_t from, to;
	uint8_t (*step)(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional);
} transitions[] = {
	{ BF_MLX5_CMD_RST2INIT_QP, FROM(RST), BF_MLX5_QPS_INIT, rst_to_init },
	{ BF_MLX5_CMD_INIT2INIT_QP, FROM(INIT), BF_MLX5_QPS_INIT, init_to_init },
	{ BF_MLX5_CMD_INIT2RTR_QP, FROM(INIT), BF_MLX5_QPS_RTR, init_to_rtr },
	{ BF_MLX5_CMD_RTR2RTS_QP, FROM(RTR), BF_MLX5_QPS_RTS, rtr_to_rts },
	{ BF_MLX5_CMD_RTS2RTS_QP, FROM(RTS), BF_MLX5_QPS_RTS, rts_to_rts },
	{ BF_MLX5_CMD_SQERR2RTS_QP, FROM(SQER), BF_MLX5_QPS_RTS, rts_to_rts },
	{ BF_MLX5_CMD_RTS2SQD_QP, FROM(RTS), BF_MLX5_QPS_SQD, NULL },
	{ BF_MLX5_CMD_SQD_RTS_QP, FROM(SQD), BF_MLX5_QPS_RTS, sqd_to_rts },
	{ BF_MLX5_CMD_2ERR_QP, FROM_ANY, BF_MLX5_QPS_ERR, NULL },
	{ BF_MLX5_CMD_2RST_QP, FROM_ANY, BF_MLX5_QPS_RST, to_rst },
};

static const struct transition *find_transition(uint32_t opcode)
{
	const struct transition *t = transitions;

	while (t->opcode != opcode)
		t++;
	return t; /* the table of commands lists no other */
}

static void enter(struct bf_mlx5_qp *qp, uint8_t state)
{
	/* A queue pair that never left RESET has no rings to flush. */
	if (state == BF_MLX5_QPS_ERR && qp->rdma.state != BF_MLX5_QPS_RST)
		bf_mlx5_qp_error(qp, BF_MLX5_BY_COMMAND);
	else if (state != qp->rdma.state)
		bf_mlx5_qp_set_state(qp, state, BF_MLX5_BY_COMMAND);
	bf_mlx5_sq_run(qp);
}

/* A step changes the context that QUERY shows, whether it ends well or not. */
static uint8_t do_step(struct bf_mlx5_qp *qp, const struct transition *t, const struct bf_mlx5_mail *m)
{
	const uint32_t optional = m->in_len >= BF_QP_QPC + BF_QPC_LEN ? BF_MLX5_GET(m->in, OPT_PARAM_MASK) : 0;
	uint8_t kept[BF_QPC_LEN], status;

	bf_mlx5_unpack(qp->context, kept, sizeof(kept));
	status = t->step(qp, kept, m->in + BF_QP_QPC, optional);
	return bf_mlx5_qp_keep(qp, kept) ? BF_MLX5_CMD_NO_RES : status;
}

uint8_t bf_mlx5_cmd_modify_qp(struct bf_mlx5_mail *m)
{
	const struct transition *t = find_transition(m->opcode);
	struct bf_mlx5_qp *qp = bf_mlx5_table_get(&m->dev->qps, m->number);
	uint8_t status = BF_MLX5_CMD_OK;

	if (!qp || qp->raw)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "qpn 0x%x: there is no such queue pair", m->number);
	if (!(t->from >> qp->rdma.state & 1))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_QP_STATE,
				      "QP 0x%x is in state %u; the command starts from state %d", m->number,
				      qp->rdma.state, __builtin_ctz(t->from));
	if (t->step)
		status = do_step(qp, t, m);
	if (!status && m->opcode == BF_MLX5_CMD_RTS2RTS_QP)
		status = take_more(qp, m);
	if (!status)
		enter(qp, t->to);
	return status;
}
