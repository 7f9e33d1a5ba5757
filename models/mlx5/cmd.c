/*
 * The command interface: mailboxes in the shape of the PRM (rdma-core providers/mlx5/mlx5_ifc.h, Linux
 * drivers/net/ethernet/mellanox/mlx5/core/cmd.c). One table says which commands there are; PDs and UARs are
 * simple enough to live here.
 */
#include "models/mlx5/device_internal.h"
#include "models/mlx5/prm_eth.h"
#include "models/mlx5/prm_hca.h"

#include <stdarg.h>
#include <errno.h>
#include <stdlib.h>

#define MAIL_MIN 16u

struct command {
	uint16_t opcode;
	uint16_t in_min, out_min;
	const char *name;
	uint8_t (*run)(struct bf_mlx5_mail *m);
};

uint8_t bf_mlx5_cmd_add(struct bf_mlx5_mail *m, struct bf_mlx5_table *t, void *obj, uint32_t *number)
{
	if (bf_mlx5_table_add(t, obj, number)) {
		free(obj);
		return BF_MLX5_CMD_LIM;
	}
	m->number = *number;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_remove(struct bf_mlx5_mail *m, struct bf_mlx5_table *t)
{
	void *const obj = bf_mlx5_table_get(t, m->number);

	if (!obj)
		return BF_MLX5_CMD_BAD_RES;
	bf_mlx5_table_remove(t, m->number);
	free(obj);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_add_number(struct bf_mlx5_mail *m, struct bf_mlx5_table *t)
{
	return bf_mlx5_table_add(t, m->dev, &m->number) ? BF_MLX5_CMD_LIM : BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_remove_number(struct bf_mlx5_mail *m, struct bf_mlx5_table *t)
{
	if (!bf_mlx5_table_get(t, m->number))
		return BF_MLX5_CMD_BAD_RES;
	bf_mlx5_table_remove(t, m->number);
	return BF_MLX5_CMD_OK;
}

static uint8_t alloc_pd(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return BF_MLX5_CMD_NO_RES;
	return bf_mlx5_cmd_add(m, &m->dev->pds, pd, &pd->number);
}

static uint8_t dealloc_pd(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_pd *pd = bf_mlx5_table_get(&m->dev->pds, m->number);

	if (!pd)
		return BF_MLX5_CMD_BAD_RES;
	if (pd->users)
		return BF_MLX5_CMD_RES_BUSY;
	return bf_mlx5_cmd_remove(m, &m->dev->pds);
}

static uint8_t alloc_uar(struct bf_mlx5_mail *m)
{
	struct bf_mlx5 *dev = m->dev;
	struct bf_mlx5_uar *uar;

	while (bf_mlx5_uar_find(dev, dev->uar_free))
		dev->uar_free++;
	uar = bf_mlx5_uar_get(dev, dev->uar_free);
	if (!uar)
		return BF_MLX5_CMD_NO_RES;
	uar->allocated = true;
	uar->arm_half = false;
	for (struct bf_mlx5_bf *bf = uar->bf; bf; bf = bf->next)
		bf->have = 0, bf->whole = false;
	m->number = dev->uar_free++;
	return BF_MLX5_CMD_OK;
}

static uint8_t dealloc_uar(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_uar *uar = bf_mlx5_uar_find(m->dev, m->number);

	if (!uar)
		return BF_MLX5_CMD_BAD_RES;
	/*
	 * The kernel gives back the page of a program that has ended before the queues that it left, and logs it when
	 * that is refused, which nobody sees of hardware: the page goes, and nothing answers to it (assumed).
	 */
	if (uar->users && !m->dev->infiniband)
		return BF_MLX5_CMD_RES_BUSY;
	uar->allocated = false;
	if (m->number < m->dev->uar_free)
		m->dev->uar_free = m->number;
	return BF_MLX5_CMD_OK;
}

/* XRC domains have no use but to be named. */
static uint8_t alloc_xrcd(struct bf_mlx5_mail *m)
{
	return bf_mlx5_cmd_add_number(m, &m->dev->xrcds);
}

static uint8_t dealloc_xrcd(struct bf_mlx5_mail *m)
{
	return bf_mlx5_cmd_remove_number(m, &m->dev->xrcds);
}

/* Least lengths of input and output. */
#define IN(n) (n), MAIL_MIN
#define OUT(n) MAIL_MIN, (n)
#define SIMPLE MAIL_MIN, MAIL_MIN

static const struct command commands[] = {
	{ BF_MLX5_CMD_QUERY_HCA_CAP, SIMPLE, "QUERY_HCA_CAP", bf_mlx5_cmd_query_hca_cap },
	{ BF_MLX5_CMD_QUERY_ADAPTER, OUT(BF_QUERY_ADAPTER_LEN), "QUERY_ADAPTER", bf_mlx5_cmd_query_adapter },
	{ BF_MLX5_CMD_QUERY_ISSI, OUT(BF_QUERY_ISSI_LEN), "QUERY_ISSI", bf_mlx5_cmd_query_issi },
	{ BF_MLX5_CMD_SET_ISSI, SIMPLE, "SET_ISSI", bf_mlx5_cmd_set_issi },
	{ BF_MLX5_CMD_QUERY_SPECIAL_CONTEXTS, OUT(BF_SPECIAL_LEN), "QUERY_SPECIAL_CONTEXTS",
	  bf_mlx5_cmd_query_special_contexts },
	{ BF_MLX5_CMD_CREATE_MKEY, IN(BF_CREATE_MKEY_MKC + 64), "CREATE_MKEY", bf_mlx5_cmd_create_mkey },
	{ BF_MLX5_CMD_QUERY_MKEY, OUT(16 + 64), "QUERY_MKEY", bf_mlx5_cmd_query_mkey },
	{ BF_MLX5_CMD_DESTROY_MKEY, SIMPLE, "DESTROY_MKEY", bf_mlx5_cmd_destroy_mkey },
	{ BF_MLX5_CMD_PAGE_FAULT_RESUME, SIMPLE, "PAGE_FAULT_RESUME", bf_mlx5_cmd_page_fault_resume },
	{ BF_MLX5_CMD_ALLOC_MEMIC, IN(BF_ALLOC_MEMIC_LEN), "ALLOC_MEMIC", bf_mlx5_cmd_alloc_memic },
	{ BF_MLX5_CMD_DEALLOC_MEMIC, IN(BF_DEALLOC_MEMIC_LEN), "DEALLOC_MEMIC", bf_mlx5_cmd_dealloc_memic },
	{ BF_MLX5_CMD_CREATE_EQ, IN(BF_CREATE_EQ_PAS), "CREATE_EQ", bf_mlx5_cmd_create_eq },
	{ BF_MLX5_CMD_DESTROY_EQ, SIMPLE, "DESTROY_EQ", bf_mlx5_cmd_destroy_eq },
	{ BF_MLX5_CMD_QUERY_EQ, OUT(BF_EQ_EQC + BF_EQC_LEN), "QUERY_EQ", bf_mlx5_cmd_query_eq },
	{ BF_MLX5_CMD_CREATE_CQ, IN(BF_CREATE_CQ_CQC + 0x50), "CREATE_CQ", bf_mlx5_cmd_create_cq },
	{ BF_MLX5_CMD_DESTROY_CQ, SIMPLE, "DESTROY_CQ", bf_mlx5_cmd_destroy_cq },
	{ BF_MLX5_CMD_QUERY_CQ, OUT(16 + 64), "QUERY_CQ", bf_mlx5_cmd_query_cq },
	{ BF_MLX5_CMD_MODIFY_CQ, IN(BF_CREATE_CQ_CQC + 0x50), "MODIFY_CQ", bf_mlx5_cmd_modify_cq },
	{ BF_MLX5_CMD_CREATE_QP, IN(BF_CREATE_QP_LEN), "CREATE_QP", bf_mlx5_cmd_create_qp },
	{ BF_MLX5_CMD_DESTROY_QP, SIMPLE, "DESTROY_QP", bf_mlx5_cmd_destroy_qp },
	{ BF_MLX5_CMD_RST2INIT_QP, IN(BF_QP_QPC + BF_QPC_LEN), "RST2INIT_QP", bf_mlx5_cmd_modify_qp },
	{ BF_MLX5_CMD_INIT2INIT_QP, IN(BF_QP_QPC + BF_QPC_LEN), "INIT2INIT_QP", bf_mlx5_cmd_modify_qp },
	{ BF_MLX5_CMD_INIT2RTR_QP, IN(BF_QP_QPC + BF_QPC_LEN), "INIT2RTR_QP", bf_mlx5_cmd_modify_qp },
	{ BF_MLX5_CMD_RTR2RTS_QP, IN(BF_QP_QPC + BF_QPC_LEN), "RTR2RTS_QP", bf_mlx5_cmd_modify_qp },
	{ BF_MLX5_CMD_RTS2RTS_QP, IN(BF_QP_QPC + BF_QPC_LEN), "RTS2RTS_QP", bf_mlx5_cmd_modify_qp },
	{ BF_MLX5_CMD_SQERR2RTS_QP, SIMPLE, "SQERR2RTS_QP", bf_mlx5_cmd_modify_qp },
	{ BF_MLX5_CMD_2ERR_QP, SIMPLE, "2ERR_QP", bf_mlx5_cmd_modify_qp },
	{ BF_MLX5_CMD_2RST_QP, SIMPLE, "2RST_QP", bf_mlx5_cmd_modify_qp },
	{ BF_MLX5_CMD_QUERY_QP, OUT(BF_QP_QPC + BF_QPC_LEN), "QUERY_QP", bf_mlx5_cmd_query_qp },
	{ BF_MLX5_CMD_SQD_RTS_QP, SIMPLE, "SQD_RTS_QP", bf_mlx5_cmd_modify_qp },
	{ BF_MLX5_CMD_RTS2SQD_QP, SIMPLE, "RTS2SQD_QP", bf_mlx5_cmd_modify_qp },
	{ BF_MLX5_CMD_CREATE_SRQ, IN(BF_CREATE_SRQ_UMEM_END), "CREATE_SRQ", bf_mlx5_cmd_create_srq },
	{ BF_MLX5_CMD_DESTROY_SRQ, SIMPLE, "DESTROY_SRQ", bf_mlx5_cmd_destroy_srq },
	{ BF_MLX5_CMD_QUERY_SRQ, OUT(BF_SRQ_SRQC + BF_SRQC_LEN), "QUERY_SRQ", bf_mlx5_cmd_query_srq },
	{ BF_MLX5_CMD_ARM_RQ, SIMPLE, "ARM_RQ", bf_mlx5_cmd_arm_rq },
	{ BF_MLX5_CMD_CREATE_XRC_SRQ, IN(BF_CREATE_SRQ_UMEM_END), "CREATE_XRC_SRQ", bf_mlx5_cmd_create_srq },
	{ BF_MLX5_CMD_DESTROY_XRC_SRQ, SIMPLE, "DESTROY_XRC_SRQ", bf_mlx5_cmd_destroy_srq },
	{ BF_MLX5_CMD_QUERY_XRC_SRQ, OUT(BF_SRQ_SRQC + BF_SRQC_LEN), "QUERY_XRC_SRQ", bf_mlx5_cmd_query_srq },
	{ BF_MLX5_CMD_ARM_XRC_SRQ, SIMPLE, "ARM_XRC_SRQ", bf_mlx5_cmd_arm_rq },
	{ BF_MLX5_CMD_CREATE_RMP, IN(BF_CREATE_RMP_LEN), "CREATE_RMP", bf_mlx5_cmd_create_rmp },
	{ BF_MLX5_CMD_MODIFY_RMP, IN(BF_CREATE_RMP_LEN), "MODIFY_RMP", bf_mlx5_cmd_modify_rmp },
	{ BF_MLX5_CMD_DESTROY_RMP, SIMPLE, "DESTROY_RMP", bf_mlx5_cmd_destroy_srq },
	{ BF_MLX5_CMD_QUERY_RMP, OUT(BF_CREATE_RMP_LEN), "QUERY_RMP", bf_mlx5_cmd_query_rmp },
	{ BF_MLX5_CMD_CREATE_DCT, IN(BF_DCT_DCTC + BF_DCTC_LEN), "CREATE_DCT", bf_mlx5_cmd_create_dct },
	{ BF_MLX5_CMD_DESTROY_DCT, SIMPLE, "DESTROY_DCT", bf_mlx5_cmd_destroy_dct },
	{ BF_MLX5_CMD_DRAIN_DCT, SIMPLE, "DRAIN_DCT", bf_mlx5_cmd_drain_dct },
	{ BF_MLX5_CMD_QUERY_DCT, OUT(BF_DCT_DCTC + BF_DCTC_LEN), "QUERY_DCT", bf_mlx5_cmd_query_dct },
	{ BF_MLX5_CMD_QUERY_VPORT_STATE, SIMPLE, "QUERY_VPORT_STATE", bf_mlx5_cmd_query_vport_state },
	{ BF_MLX5_CMD_QUERY_NIC_VPORT_CONTEXT, OUT(BF_NIC_VPORT_LEN), "QUERY_NIC_VPORT", bf_mlx5_cmd_query_nic_vport },
	{ BF_MLX5_CMD_QUERY_ROCE_ADDRESS, OUT(BF_ROCE_ADDRESS_LEN), "QUERY_ROCE_ADDRESS",
	  bf_mlx5_cmd_query_roce_address },
	{ BF_MLX5_CMD_QUERY_HCA_VPORT_CONTEXT, OUT(BF_HCA_VPORT_LEN), "QUERY_HCA_VPORT", bf_mlx5_cmd_query_hca_vport },
	{ BF_MLX5_CMD_MODIFY_HCA_VPORT_CONTEXT, IN(BF_HCA_VPORT_LEN), "MODIFY_HCA_VPORT",
	  bf_mlx5_cmd_modify_hca_vport },
	{ BF_MLX5_CMD_QUERY_HCA_VPORT_GID, OUT(BF_HCA_VPORT_ENTRIES + 16), "QUERY_HCA_GID",
	  bf_mlx5_cmd_query_hca_vport_gid },
	{ BF_MLX5_CMD_QUERY_HCA_VPORT_PKEY, OUT(BF_HCA_VPORT_ENTRIES + 4), "QUERY_HCA_PKEY",
	  bf_mlx5_cmd_query_hca_vport_pkey },
	{ BF_MLX5_CMD_QUERY_VPORT_COUNTER, OUT(BF_VPORT_COUNTER_LEN), "QUERY_VPORT_CNT",
	  bf_mlx5_cmd_query_vport_counter },
	{ BF_MLX5_CMD_ALLOC_XRCD, SIMPLE, "ALLOC_XRCD", alloc_xrcd },
	{ BF_MLX5_CMD_DEALLOC_XRCD, SIMPLE, "DEALLOC_XRCD", dealloc_xrcd },
	{ BF_MLX5_CMD_ALLOC_PD, SIMPLE, "ALLOC_PD", alloc_pd },
	{ BF_MLX5_CMD_DEALLOC_PD, SIMPLE, "DEALLOC_PD", dealloc_pd },
	{ BF_MLX5_CMD_ALLOC_UAR, SIMPLE, "ALLOC_UAR", alloc_uar },
	{ BF_MLX5_CMD_DEALLOC_UAR, SIMPLE, "DEALLOC_UAR", dealloc_uar },
	{ BF_MLX5_CMD_ACCESS_REG, BF_ACCESS_REG_DATA + BF_PAOS_LEN, BF_ACCESS_REG_DATA + BF_PAOS_LEN, "ACCESS_REG",
	  bf_mlx5_cmd_access_reg },
	{ BF_MLX5_CMD_ALLOC_TRANSPORT_DOMAIN, SIMPLE, "ALLOC_DOMAIN", bf_mlx5_cmd_alloc_domain },
	{ BF_MLX5_CMD_DEALLOC_TRANSPORT_DOMAIN, SIMPLE, "DEALLOC_DOMAIN", bf_mlx5_cmd_dealloc_domain },
	{ BF_MLX5_CMD_CREATE_TIS, IN(BF_ETH_CONTEXT + 0xa0), "CREATE_TIS", bf_mlx5_cmd_create_tis },
	{ BF_MLX5_CMD_QUERY_TIS, OUT(BF_TIS_OUT_LEN), "QUERY_TIS", bf_mlx5_cmd_query_tis },
	{ BF_MLX5_CMD_DESTROY_TIS, SIMPLE, "DESTROY_TIS", bf_mlx5_cmd_destroy_tis },
	{ BF_MLX5_CMD_CREATE_SQ, IN(BF_ETH_LEN), "CREATE_SQ", bf_mlx5_cmd_create_sq },
	{ BF_MLX5_CMD_MODIFY_SQ, IN(BF_ETH_LEN), "MODIFY_SQ", bf_mlx5_cmd_modify_sq },
	{ BF_MLX5_CMD_QUERY_SQ, OUT(BF_ETH_LEN), "QUERY_SQ", bf_mlx5_cmd_query_sq },
	{ BF_MLX5_CMD_DESTROY_SQ, SIMPLE, "DESTROY_SQ", bf_mlx5_cmd_destroy_sq },
	{ BF_MLX5_CMD_CREATE_RQ, IN(BF_ETH_LEN), "CREATE_RQ", bf_mlx5_cmd_create_rq },
	{ BF_MLX5_CMD_MODIFY_RQ, IN(BF_ETH_LEN), "MODIFY_RQ", bf_mlx5_cmd_modify_rq },
	{ BF_MLX5_CMD_QUERY_RQ, OUT(BF_ETH_LEN), "QUERY_RQ", bf_mlx5_cmd_query_rq },
	{ BF_MLX5_CMD_DESTROY_RQ, SIMPLE, "DESTROY_RQ", bf_mlx5_cmd_destroy_rq },
	{ BF_MLX5_CMD_CREATE_RQT, IN(BF_ETH_LEN), "CREATE_RQT", bf_mlx5_cmd_create_rqt },
	{ BF_MLX5_CMD_DESTROY_RQT, SIMPLE, "DESTROY_RQT", bf_mlx5_cmd_destroy_rqt },
	{ BF_MLX5_CMD_CREATE_TIR, IN(BF_ETH_LEN), "CREATE_TIR", bf_mlx5_cmd_create_tir },
	{ BF_MLX5_CMD_DESTROY_TIR, SIMPLE, "DESTROY_TIR", bf_mlx5_cmd_destroy_tir },
	{ BF_MLX5_CMD_CREATE_FLOW_TABLE, IN(BF_FT_CREATE_LEN), "CREATE_FLOW_TBL", bf_mlx5_cmd_create_flow_table },
	{ BF_MLX5_CMD_MODIFY_FLOW_TABLE, IN(BF_FT_CREATE_LEN), "MODIFY_FLOW_TBL", bf_mlx5_cmd_modify_flow_table },
	{ BF_MLX5_CMD_DESTROY_FLOW_TABLE, IN(0x18), "DESTROY_FLOW_TBL", bf_mlx5_cmd_destroy_flow_table },
	{ BF_MLX5_CMD_SET_FLOW_TABLE_ROOT, IN(0x18), "SET_FLOW_ROOT", bf_mlx5_cmd_set_flow_root },
	{ BF_MLX5_CMD_CREATE_FLOW_GROUP, IN(BF_FG_LEN), "CREATE_FLOW_GRP", bf_mlx5_cmd_create_flow_group },
	{ BF_MLX5_CMD_DESTROY_FLOW_GROUP, IN(0x1c), "DESTROY_FLOW_GRP", bf_mlx5_cmd_destroy_flow_group },
	{ BF_MLX5_CMD_SET_FLOW_TABLE_ENTRY, IN(BF_FTE_LEN), "SET_FLOW_ENTRY", bf_mlx5_cmd_set_flow_entry },
	{ BF_MLX5_CMD_DELETE_FLOW_TABLE_ENTRY, IN(0x24), "DELETE_FLOW_ENT", bf_mlx5_cmd_delete_flow_entry },
	{ BF_MLX5_CMD_ALLOC_FLOW_COUNTER, SIMPLE, "ALLOC_FLOW_CNT", bf_mlx5_cmd_alloc_flow_counter },
	{ BF_MLX5_CMD_QUERY_FLOW_COUNTER, BF_FC_LEN, BF_FC_LEN, "QUERY_FLOW_CNT", bf_mlx5_cmd_query_flow_counter },
	{ BF_MLX5_CMD_DEALLOC_FLOW_COUNTER, SIMPLE, "DEALLOC_FLOW_CN", bf_mlx5_cmd_dealloc_flow_counter },
	{ BF_MLX5_CMD_QUERY_LAG, SIMPLE, "QUERY_LAG", bf_mlx5_cmd_query_lag },
	{ BF_MLX5_CMD_ATTACH_TO_MCG, IN(BF_MCG_LEN), "ATTACH_TO_MCG", bf_mlx5_cmd_attach_mcg },
	{ BF_MLX5_CMD_DETACH_FROM_MCG, IN(BF_MCG_LEN), "DETACH_FROM_MCG", bf_mlx5_cmd_detach_mcg },
	{ BF_MLX5_CMD_CREATE_GENERAL_OBJECT, SIMPLE, "CREATE_OBJECT", bf_mlx5_cmd_create_object },
	{ BF_MLX5_CMD_DESTROY_GENERAL_OBJECT, SIMPLE, "DESTROY_OBJECT", bf_mlx5_cmd_destroy_object },
	{ BF_MLX5_CMD_CREATE_UMEM, IN(BF_CREATE_UMEM_MTT), "CREATE_UMEM", bf_mlx5_cmd_create_umem },
	{ BF_MLX5_CMD_DESTROY_UMEM, SIMPLE, "DESTROY_UMEM", bf_mlx5_cmd_destroy_umem },
};

/*
 * One number stands for two commands: Linux has MAD_IFC where others have RTS2SQD_QP. Of a device for Linux it is that,
 * which is not modelled.
 */
static const struct command *find_command(const struct bf_mlx5 *dev, uint32_t opcode)
{
	if (dev->infiniband && opcode == BF_MLX5_CMD_RTS2SQD_QP)
		return NULL;
	for (size_t i = 0; i < BF_ARRAY_LEN(commands); i++)
		if (commands[i].opcode == opcode)
			return &commands[i];
	return NULL;
}

static uint8_t execute(struct bf_mlx5_mail *m, const struct command *c)
{
	if (!c)
		return BF_MLX5_CMD_BAD_OP;
	if (m->in_len < c->in_min)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_INP_LEN, "a mailbox of %zu bytes: must be %u at least",
				      m->in_len, c->in_min);
	if (m->out_len < c->out_min)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_OUTP_LEN,
				      "room for %zu bytes of answer: must be %u at least", m->out_len, c->out_min);
	return c->run(m);
}

#undef bf_mlx5_refuse
uint8_t bf_mlx5_refuse(struct bf_mlx5 *dev, uint8_t status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(dev->refusal, sizeof(dev->refusal), fmt, ap);
	va_end(ap);
	return status;
}

/* What a status says where the command said no more. Without any word are those by which drivers try what there is. */
static void say_status(struct bf_mlx5 *dev, uint8_t status, uint32_t number)
{
	switch (status) {
	case BF_MLX5_CMD_BAD_RES:
		bf_mlx5_refuse(dev, status, "0x%x: there is no such object of this command", number);
		break;
	case BF_MLX5_CMD_RES_BUSY:
		bf_mlx5_refuse(dev, status, "0x%x: others still use it; they must be destroyed first", number);
		break;
	case BF_MLX5_CMD_LIM:
		bf_mlx5_refuse(dev, status, "all numbers of such objects are given out");
		break;
	case BF_MLX5_CMD_NO_RES:
		bf_mlx5_refuse(dev, status, "no memory or room for another one");
		break;
	default:
		break;
	}
}

int bf_mlx5_cmd(struct bf_mlx5 *dev, const void *in, size_t in_len, void *out, size_t out_len)
{
	struct bf_mlx5_mail m = { .dev = dev, .in = in, .out = out, .in_len = in_len, .out_len = out_len };
	const struct command *c;
	uint8_t status;

	if (in_len < MAIL_MIN || out_len < MAIL_MIN)
		return bf_fail(&dev->sim->error, -EINVAL, "%s: command of %zu bytes in, %zu out: both need 16",
			       dev->name, in_len, out_len);
	m.opcode = BF_MLX5_GET(in, BF_CMD_OPCODE);
	m.number = BF_MLX5_GET(in, BF_CMD_IN_NUMBER);
	c = find_command(dev, m.opcode);
	memset(out, 0, out_len);
	dev->refusal[0] = '\0';
	status = execute(&m, c);
	if (status && !dev->refusal[0])
		say_status(dev, status, m.number);
	if (status)
		memset(out, 0, out_len);
	else if (c->out_min == MAIL_MIN)
		BF_MLX5_SET(out, BF_CMD_OUT_NUMBER, m.number);
	BF_MLX5_SET(out, BF_CMD_OUT_STATUS, status);
	BF_MLX5_SET(out, BF_CMD_OUT_SYNDROME, m.syndrome);
	if (status && dev->refusal[0] && bf_probe(dev->sim, BF_CLASS_QUEUE)) {
		struct bf_rec_cmd_refused rec = { .number = m.number, .opcode = (uint16_t)m.opcode, .status = status };

		snprintf(rec.name, sizeof(rec.name), "%s", c ? c->name : "?");
		BF_EMIT_MADE(dev->sim, dev->actor, cmd_refused, rec, dev->refusal, (uint32_t)strlen(dev->refusal));
	}
	if (bf_probe(dev->sim, BF_CLASS_QUEUE)) {
		struct bf_rec_cmd rec = {
			.number = m.number, .syndrome = m.syndrome, .opcode = (uint16_t)m.opcode, .status = status
		};

		snprintf(rec.name, sizeof(rec.name), "%s", c ? c->name : "?");
		BF_EMIT_MADE(dev->sim, dev->actor, cmd, rec, NULL, 0);
	}
	return 0;
}
