/*
 * What was given up around a NIC: events of queues and ports by name, health of firmware, set-up that failed,
 * collectives that do not end.
 */
#include <string.h>

#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

/* rdma-core libibverbs/verbs.h enum ibv_event_type, Linux include/rdma/ib_verbs.h enum ib_event_type. */
static const struct {
	const char *text;
	uint8_t event;
} event_names[] = {
	{ "_EVENT_CQ_ERR", 0 },        { "_EVENT_QP_FATAL", 1 },     { "_EVENT_QP_REQ_ERR", 2 },
	{ "_EVENT_QP_ACCESS_ERR", 3 }, { "_EVENT_PATH_MIG_ERR", 7 }, { "_EVENT_DEVICE_FATAL", 8 },
	{ "_EVENT_PORT_ERR", 10 },     { "_EVENT_SRQ_ERR", 14 },
};

static bool take_event_name(const struct bf_line *l, struct bf_evidence *e)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(event_names); i++) {
		if (!bf_line_find(l, event_names[i].text))
			continue;
		e->fact[BF_FACT_EVENT] = event_names[i].event;
		return true;
	}
	return false;
}

/* Linux mlx5_core eq.c: "CQ error on CQN 0x40a, syndrom 0x1". */
static bool take_cq_error(const struct bf_line *l, struct bf_evidence *e)
{
	(void)l;
	e->fact[BF_FACT_EVENT] = 0;
	return e->fact[BF_FACT_CQN] >= 0;
}

static bool take_failed(const struct bf_line *l, struct bf_evidence *e)
{
	return (void)e, bf_line_find(l, "ailed|rror|err.|NULL value|Unable") != NULL;
}

static bool take_peermem(const struct bf_line *l, struct bf_evidence *e)
{
	return (void)e, bf_line_find(l, "'nvidia_peermem'|'nv_peer_mem'") != NULL;
}

/* DOCA's codes in a log; "return DOCA_ERROR_DRIVER;" is a source. */
static bool take_doca(const struct bf_line *l, struct bf_evidence *e)
{
	const char *p = bf_line_find(l, "DOCA_ERROR_");

	(void)e;
	while (p < l->end && ((*p >= 'A' && *p <= 'Z') || *p == '_'))
		p++;
	return p == l->end || *p != ';';
}

/* Of a driver that names itself: other devices have such words, too. */
static bool take_of_mlx5(const struct bf_line *l, struct bf_evidence *e)
{
	return (void)e, bf_line_find(l, "mlx5") != NULL;
}

#define MLX5 BF_EVIDENCE_NIC

static const struct bf_evidence_form forms[] = {
	{ "an asynchronous event",
	  "_EVENT_",
	  MLX5,
	  BF_EVIDENCE_EVENT,
	  { { " QP ", BF_FACT_QPN, 0 } },
	  take_event_name },
	{ "a completion queue's error event",
	  "CQ error on CQN ",
	  MLX5,
	  BF_EVIDENCE_EVENT,
	  { { "CQ error on CQN ", BF_FACT_CQN, 0 } },
	  take_cq_error },
	/* Linux drivers/infiniband/sw/rxe/rxe_qp.c */
	{ "a queue pair's way into error",
	  "moved to error state",
	  MLX5,
	  BF_EVIDENCE_EVENT,
	  { { "qp#", BF_FACT_QPN, 10 } },
	  NULL },
	/* Linux drivers/net/ethernet/mellanox/mlx5/core/{health,cmd,main}.c */
	{ "mlx5_core's health check",
	  "print_health_info",
	  MLX5,
	  BF_EVIDENCE_DOWN,
	  { { "synd 0x", BF_FACT_FIRMWARE, 16 } },
	  NULL },
	{ "mlx5_core's health check",
	  "firmware internal error",
	  MLX5,
	  BF_EVIDENCE_DOWN,
	  { { "synd ", BF_FACT_FIRMWARE, 0 } },
	  take_of_mlx5 },
	{ "mlx5_core's health check", "Fatal error ", MLX5, BF_EVIDENCE_DOWN, { { 0 } }, take_of_mlx5 },
	{ "mlx5_core's health check", "handling bad device here", MLX5, BF_EVIDENCE_DOWN, { { 0 } }, take_of_mlx5 },
	{ "mlx5_core's commands",
	  "failed to allocate command entry",
	  MLX5,
	  BF_EVIDENCE_DOWN,
	  { { 0 } },
	  bf_take_always },
	{ "mlx5_core's start", "wait_fw_init", MLX5, BF_EVIDENCE_DOWN, { { 0 } }, bf_take_always },
	/* NVIDIA/nvshmem src/host/transport, src/modules/transport */
	{ "NVSHMEM's set-up",
	  "non-zero status: ",
	  MLX5,
	  BF_EVIDENCE_CALL,
	  { { "non-zero status: ", BF_FACT_ERRNO, 10 } },
	  take_failed },
	/* NVIDIA/nvshmem ibgda_device.cuh, built with NVSHMEM_TIMEOUT_DEVICE_POLLING: three lines */
	{ "NVSHMEM's wait for a completion",
	  "ibgda_poll_cq timeout",
	  MLX5,
	  BF_EVIDENCE_UNDONE,
	  { { 0 } },
	  bf_take_always },
	{ "NVSHMEM's wait for a completion",
	  "cons_idx=",
	  MLX5,
	  BF_EVIDENCE_UNDONE,
	  { { "cons_idx=", BF_FACT_COMPLETED, 0 },
	    { "prod_idx=", BF_FACT_RUNG, 0 },
	    { "cqn=", BF_FACT_CQN, 0 },
	    { "qpn=", BF_FACT_QPN, 0 } },
	  NULL },
	{ "NVSHMEM's wait for a completion",
	  "resv_head=",
	  MLX5,
	  BF_EVIDENCE_UNDONE,
	  { { "resv_head=", BF_FACT_RESERVED, 0 },
	    { "ready_head=", BF_FACT_WRITTEN, 0 },
	    { "wqe_counter=", BF_FACT_COUNTER, 0 } },
	  NULL },
	/* DOCA and its users: NVIDIA/nccl transport/net_ib/gdaki, ai-dynamo/nixl */
	{ "a DOCA call", "DOCA_ERROR_", MLX5, BF_EVIDENCE_CALL, { { 0 } }, take_doca },
	{ "a DOCA call", "DOCA failure ", MLX5, BF_EVIDENCE_CALL, { { 0 } }, bf_take_always },
	{ "a DOCA call", "[DOCA][ERR]", MLX5, BF_EVIDENCE_CALL, { { 0 } }, bf_take_always },
	/* NVIDIA's peer memory module, as modprobe and the kernel name it */
	{ "a peer memory module",
	  "Unknown symbol ib_register_peer_memory_client",
	  MLX5,
	  BF_EVIDENCE_CALL,
	  { { "(err -", BF_FACT_ERRNO, 10 } },
	  bf_take_always },
	{ "a peer memory module", "could not insert 'nv", MLX5, BF_EVIDENCE_CALL, { { 0 } }, take_peermem },
	{ "NVSHMEM's set-up", "init failed for transport", MLX5, BF_EVIDENCE_CALL, { { 0 } }, bf_take_always },
	/* pytorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp */
	{ "PyTorch's watchdog", "collective operation timeout", MLX5, BF_EVIDENCE_RANKS, { { 0 } }, bf_take_always },
};
const struct bf_evidence_forms bf_forms_down = { forms, BF_ARRAY_LEN(forms) };
