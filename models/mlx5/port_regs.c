/* ACCESS_REG: registers of a port (whether it is up, how fast, how large packets are), and of the device. */
#include "models/mlx5/device_internal.h"
#include "models/mlx5/prm_hca.h"

#define MTU_MAX 4096u
#define WIDTH_4X 4u /* bits of PTYS (Linux include/linux/mlx5/port.h, include/rdma/ib_verbs.h) */
#define SPEED_NDR 128u
#define VLS_0_3 4u

struct reg {
	uint16_t id, len;
	bool of_port;
	/* `out` is zero. The port is NULL unless `of_port`. */
	uint8_t (*read)(struct bf_mlx5 *dev, const struct bf_mlx5_port *port, const uint8_t *in, uint8_t *out);
	uint8_t (*write)(struct bf_mlx5 *dev, const uint8_t *in);
};

static uint8_t read_paos(struct bf_mlx5 *dev, const struct bf_mlx5_port *port, const uint8_t *in, uint8_t *out)
{
	struct bf_port_info info;

	(void)dev;
	bf_port_info(port->port, &info);
	BF_MLX5_SET(out, BF_PAOS_PORT, BF_MLX5_GET(in, BF_PAOS_PORT));
	BF_MLX5_SET(out, BF_PAOS_ADMIN, BF_PAOS_UP); /* the model's ports are always enabled */
	BF_MLX5_SET(out, BF_PAOS_OPER, info.up ? BF_PAOS_UP : BF_PAOS_DOWN);
	return BF_MLX5_CMD_OK;
}

static uint8_t read_pmtu(struct bf_mlx5 *dev, const struct bf_mlx5_port *port, const uint8_t *in, uint8_t *out)
{
	(void)dev, (void)port;
	BF_MLX5_SET(out, BF_PAOS_PORT, BF_MLX5_GET(in, BF_PAOS_PORT));
	BF_MLX5_SET(out, BF_PMTU_MAX, MTU_MAX);
	BF_MLX5_SET(out, BF_PMTU_ADMIN, MTU_MAX);
	BF_MLX5_SET(out, BF_PMTU_OPER, MTU_MAX);
	return BF_MLX5_CMD_OK;
}

/* Four lanes of NDR: the 400 Gb/s of the profile. */
static uint8_t read_ptys(struct bf_mlx5 *dev, const struct bf_mlx5_port *port, const uint8_t *in, uint8_t *out)
{
	(void)port;
	if (!dev->infiniband || BF_MLX5_GET(in, BF_PTYS_PROTO_MASK) != BF_PTYS_PROTO_IB)
		return BF_MLX5_CMD_BAD_PARAM;
	BF_MLX5_SET(out, BF_PAOS_PORT, BF_MLX5_GET(in, BF_PAOS_PORT));
	BF_MLX5_SET(out, BF_PTYS_PROTO_MASK, BF_PTYS_PROTO_IB);
	BF_MLX5_SET(out, BF_PTYS_WIDTH_CAP, WIDTH_4X);
	BF_MLX5_SET(out, BF_PTYS_PROTO_CAP, SPEED_NDR);
	BF_MLX5_SET(out, BF_PTYS_WIDTH_ADMIN, WIDTH_4X);
	BF_MLX5_SET(out, BF_PTYS_PROTO_ADMIN, SPEED_NDR);
	BF_MLX5_SET(out, BF_PTYS_WIDTH_OPER, WIDTH_4X);
	BF_MLX5_SET(out, BF_PTYS_PROTO_OPER, SPEED_NDR);
	return BF_MLX5_CMD_OK;
}

static uint8_t read_pvlc(struct bf_mlx5 *dev, const struct bf_mlx5_port *port, const uint8_t *in, uint8_t *out)
{
	(void)port;
	if (!dev->infiniband)
		return BF_MLX5_CMD_BAD_PARAM;
	BF_MLX5_SET(out, BF_PAOS_PORT, BF_MLX5_GET(in, BF_PAOS_PORT));
	BF_MLX5_SET(out, BF_PVLC_CAP, VLS_0_3);
	BF_MLX5_SET(out, BF_PVLC_ADMIN, VLS_0_3);
	BF_MLX5_SET(out, BF_PVLC_OPER, VLS_0_3);
	return BF_MLX5_CMD_OK;
}

/* Errors of links, which do not happen here: all zero. */
static uint8_t read_ppcnt(struct bf_mlx5 *dev, const struct bf_mlx5_port *port, const uint8_t *in, uint8_t *out)
{
	(void)dev, (void)port;
	memcpy(out, in, 8);
	return BF_MLX5_CMD_OK;
}

static uint8_t read_description(struct bf_mlx5 *dev, const struct bf_mlx5_port *port, const uint8_t *in, uint8_t *out)
{
	(void)port, (void)in;
	memcpy(out, dev->description, sizeof(dev->description));
	return BF_MLX5_CMD_OK;
}

static uint8_t write_description(struct bf_mlx5 *dev, const uint8_t *in)
{
	memcpy(dev->description, in, sizeof(dev->description));
	return BF_MLX5_CMD_OK;
}

/* The host says how it keeps numbers; we keep ours. */
static uint8_t write_endianness(struct bf_mlx5 *dev, const uint8_t *in)
{
	(void)dev, (void)in;
	return BF_MLX5_CMD_OK;
}

static const struct reg regs[] = {
	{ BF_REG_PAOS, BF_PAOS_LEN, true, read_paos, NULL },
	{ BF_REG_PMTU, BF_PMTU_LEN, true, read_pmtu, NULL },
	{ BF_REG_PTYS, BF_PTYS_LEN, true, read_ptys, NULL },
	{ BF_REG_PPCNT, BF_PPCNT_LEN, true, read_ppcnt, NULL },
	{ BF_REG_PVLC, BF_PVLC_LEN, true, read_pvlc, NULL },
	{ BF_REG_NODE_DESC, BF_NODE_DESC_LEN, false, read_description, write_description },
	{ BF_REG_HOST_ENDIANNESS, BF_HOST_ENDIANNESS_LEN, false, NULL, write_endianness },
};

uint8_t bf_mlx5_cmd_access_reg(struct bf_mlx5_mail *m)
{
	const uint8_t *in = m->in + BF_ACCESS_REG_DATA;
	const uint32_t id = BF_MLX5_GET(m->in, BF_ACCESS_REG_ID), port = BF_MLX5_GET(in, BF_PAOS_PORT);
	const bool read = BF_MLX5_GET(m->in, BF_CMD_OP_MOD) == BF_ACCESS_REG_READ;
	const struct reg *r = regs;

	while (r < regs + BF_ARRAY_LEN(regs) && r->id != id)
		r++;
	if (r == regs + BF_ARRAY_LEN(regs) || (read ? !r->read : !r->write) ||
	    (r->of_port && port - 1 >= m->dev->port_count))
		return BF_MLX5_CMD_BAD_PARAM;
	if (m->in_len < BF_ACCESS_REG_DATA + (size_t)r->len)
		return BF_MLX5_CMD_BAD_INP_LEN;
	if (m->out_len < BF_ACCESS_REG_DATA + (size_t)r->len)
		return BF_MLX5_CMD_BAD_OUTP_LEN;
	if (!read)
		return r->write(m->dev, in);
	return r->read(m->dev, r->of_port ? &m->dev->ports[port - 1] : NULL, in, m->out + BF_ACCESS_REG_DATA);
}
