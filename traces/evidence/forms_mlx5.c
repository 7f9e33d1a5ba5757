/* What is printed of NICs: completions of libraries and of Linux' driver, refused commands, events, verbs calls. */
#include <string.h>

#include "sim/bytes.h"
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

/* Texts of ibv_wc_status_str() (rdma-core libibverbs/verbs.c) and of those who print in their own words. */
static const struct {
	const char *text;
	uint8_t status;
} verbs_texts[] = {
	{ "local length error", 1 },
	{ "local QP operation err", 2 },
	{ "local protection error", 4 },
	{ "Work Request Flushed Error", 5 },
	{ "WORK REQUEST FLUSHED ERROR", 5 },
	{ "Work Request Flushed", 5 },
	{ "work request flushed", 5 },
	{ "memory bind operation error", 6 },
	{ "memory management operation error", 6 },
	{ "bad response error", 7 },
	{ "local access error", 8 },
	{ "remote invalid request error", 9 },
	{ "remote access error", 10 },
	{ "Remote access on", 10 },
	{ "remote operation error", 11 },
	{ "transport retry counter exceeded", 12 },
	{ "Transport retry count exceeded", 12 },
	{ "TRANSPORT RETRY COUNTER EXCEEDED", 12 },
	{ "RNR retry counter exceeded", 13 },
	{ "RNR RETRY EXCEEDED", 13 },
	{ "IBV_WC_LOC_LEN_ERR", 1 },
	{ "IBV_WC_LOC_QP_OP_ERR", 2 },
	{ "IBV_WC_LOC_PROT_ERR", 4 },
	{ "IBV_WC_WR_FLUSH_ERR", 5 },
	{ "IBV_WC_REM_INV_REQ_ERR", 9 },
	{ "IBV_WC_REM_ACCESS_ERR", 10 },
	{ "IBV_WC_REM_OP_ERR", 11 },
	{ "IBV_WC_RETRY_EXC_ERR", 12 },
	{ "IBV_WC_RNR_RETRY_EXC_ERR", 13 },
	{ "WR_FLUSH_ERR", 5 },
	{ "REMOTE_INVALID_REQUEST_ERR", 9 },
	{ "REMOTE_ACCESS_ERR", 10 },
};

/* Texts of ibv_event_type_str() (rdma-core libibverbs/enum_strs.c). */
static const struct {
	const char *text;
	uint8_t event;
} event_texts[] = {
	{ "CQ error", 0 },
	{ "local work queue catastrophic error", 1 },
	{ "invalid request local work queue error", 2 },
	{ "local access violation work queue error", 3 },
	{ "path migration request error", 7 },
	{ "local catastrophic error", 8 },
	{ "port error", 10 },
	{ "SRQ catastrophic error", 14 },
};

static bool take_event(const struct bf_line *l, struct bf_evidence *e)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(event_texts); i++) {
		if (!bf_line_find(l, event_texts[i].text))
			continue;
		e->fact[BF_FACT_EVENT] = event_texts[i].event;
		return true;
	}
	return false;
}

/* Linux mlx5_core: "cmd[22]: CREATE_DCT(0x710) No done completion", "CREATE_DCT(0x710) timeout. Will cause a leak". */
static bool take_command_time_out(const struct bf_line *l, struct bf_evidence *e)
{
	const char *p = bf_line_find(l, ") No done completion|) timeout. Will cause a leak"), *open;

	open = p ? memrchr(l->at, '(', (size_t)(p - l->at)) : NULL;
	while (open && bf_line_number(l, open + 1, 16) < 0 && open > l->at)
		open = memrchr(l->at, '(', (size_t)(open - l->at));
	e->fact[BF_FACT_OPCODE] = open ? bf_line_number(l, open + 1, 16) : -1;
	return e->fact[BF_FACT_OPCODE] >= 0;
}

/* NVSHMEM: "Error in mlx5dv_devx_obj_modify for INIT2RTR_QP with syndrome 764216". */
static bool take_devx(const struct bf_line *l, struct bf_evidence *e)
{
	static const struct {
		const char *name;
		uint16_t opcode;
	} commands[] = { { "RST2INIT_QP", 0x502 }, { "INIT2RTR_QP", 0x503 }, { "RTR2RTS_QP", 0x504 },
			 { "CREATE_QP", 0x500 },   { "CREATE_CQ", 0x400 },   { "CREATE_DCT", 0x710 },
			 { "(DCT)", 0x710 },       { "(QP)", 0x500 },        { "(CQ)", 0x400 },
			 { "(MKEY)", 0x200 },      { "(502)", 0x502 },       { "(503)", 0x503 },
			 { "(504)", 0x504 } };

	for (size_t i = 0; i < BF_ARRAY_LEN(commands); i++)
		if (bf_line_find(l, commands[i].name))
			e->fact[BF_FACT_OPCODE] = commands[i].opcode;
	return bf_line_find(l, "rror|ailed") != NULL;
}

/* A verbs call's name and that it failed. */
static bool take_call(const struct bf_line *l, struct bf_evidence *e)
{
	(void)e;
	return bf_line_find(l, "ailed|rror|Unable|NULL value") != NULL;
}

bool bf_take_verbs_text(const struct bf_line *l, struct bf_evidence *e)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(verbs_texts); i++) {
		if (!bf_line_find(l, verbs_texts[i].text))
			continue;
		if (e->fact[BF_FACT_VERBS] < 0)
			e->fact[BF_FACT_VERBS] = verbs_texts[i].status;
		return true;
	}
	return false;
}

/* A number of a status, or else its text. Success is no evidence. */
static bool take_verbs(const struct bf_line *l, struct bf_evidence *e)
{
	return e->fact[BF_FACT_VERBS] >= 0 ? e->fact[BF_FACT_VERBS] != 0 : bf_take_verbs_text(l, e);
}

/* Linux mlx5_cmd_out_err(): "RTR2RTS_QP(0x504) op_mod(0x0) failed, status bad parameter(0x3), syndrome (0x4bb88f)". */
static bool take_command(const struct bf_line *l, struct bf_evidence *e)
{
	const char *mod = bf_line_find(l, ") op_mod("), *status = bf_line_find(l, "failed, status "), *open;

	if (!mod || !status)
		return false;
	open = memrchr(l->at, '(', (size_t)(mod - 9 - l->at));
	e->fact[BF_FACT_OPCODE] = open ? bf_line_number(l, open + 1, 16) : -1;
	open = memchr(status, '(', (size_t)(l->end - status));
	e->fact[BF_FACT_REFUSED] = open ? bf_line_number(l, open + 1, 16) : -1;
	return e->fact[BF_FACT_OPCODE] >= 0;
}

/* Linux mlx5_ib: "QP 51291 error: local length error (0x8e 0x0 0x0)": vendor, hardware syndrome, its type. */
static bool take_qp_event(const struct bf_line *l, struct bf_evidence *e)
{
	const char *text = bf_line_find(l, " error: "),
		   *open = text ? memchr(text, '(', (size_t)(l->end - text)) : NULL;

	if (!open || e->fact[BF_FACT_QPN] < 0 || !bf_take_verbs_text(l, e))
		return false;
	e->fact[BF_FACT_VENDOR] = bf_line_number(l, open + 1, 16);
	open = memchr(open, ' ', (size_t)(l->end - open));
	e->fact[BF_FACT_HW] = open ? bf_line_number(l, open, 16) : -1;
	return true;
}

/*
 * NVIDIA DOCA GPUNetIO prints fields as they lie in memory: 65281 is 0xff01, entry 0x01ff; qpn ed020008 is opcode 8
 * behind QP 0x2ed, bytes reversed.
 */
static bool take_gpunetio(const struct bf_line *l, struct bf_evidence *e)
{
	const int64_t counter = e->fact[BF_FACT_COUNTER];
	const char *p = bf_line_find(l, "wqe_qpn=");
	const int64_t qpn = p ? bf_line_number(l, p, 16) : -1;

	(void)l;
	if (counter >= 0 && counter <= 0xffff)
		e->fact[BF_FACT_COUNTER] = (counter & 0xff) << 8 | counter >> 8;
	if (qpn >= 0 && qpn <= UINT32_MAX) {
		const uint32_t swapped = __builtin_bswap32((uint32_t)qpn);

		e->fact[BF_FACT_WQE_OPCODE] = swapped >> 24;
		e->fact[BF_FACT_QPN] = swapped & 0xffffff;
	}
	return e->fact[BF_FACT_SYNDROME] >= 0;
}

/* UCX: "RC QP 0x263a8 wqe[817]: RDMA_WRITE s-- [rva 0x11bc9f090 rkey 0x129c7] [va ... len ... lkey ...]". */
static bool take_ucx_entry(const struct bf_line *l, struct bf_evidence *e)
{
	return (void)l, e->fact[BF_FACT_COUNTER] >= 0 && e->fact[BF_FACT_QPN] >= 0;
}

static bool take_deepep(const struct bf_line *l, struct bf_evidence *e)
{
	return (void)e, bf_line_find(l, "timeout|time out|timed out") != NULL;
}

#define MLX5 BF_EVIDENCE_NIC

static const struct bf_evidence_form forms[] = {
	/* Linux mlx5e: drivers/net/ethernet/mellanox/mlx5/core/en/txrx.h */
	{ "mlx5e's error completion",
	  "rror cqe on cqn",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { ", syndrome ", BF_FACT_SYNDROME, 0 },
	    { "vendor syndrome ", BF_FACT_VENDOR, 0 },
	    { "cqn ", BF_FACT_CQN, 0 },
	    { ", qn ", BF_FACT_QPN, 0 },
	    { ", ci ", BF_FACT_COUNTER, 0 },
	    { ", opcode ", BF_FACT_CQE_OPCODE, 0 } },
	  NULL },
	/* Linux mlx5_ib: drivers/infiniband/hw/mlx5/cq.c */
	{ "mlx5_ib's error completion",
	  ", vendor syndrome ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { ": syndrome |, syndrome ", BF_FACT_SYNDROME, 0 }, { ", vendor syndrome ", BF_FACT_VENDOR, 0 } },
	  NULL },
	/* UCX: src/uct/ib/mlx5/ib_mlx5_log.c */
	{ "UCX's completion with error",
	  "(synd 0x",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "(synd ", BF_FACT_SYNDROME, 0 }, { " vend ", BF_FACT_VENDOR, 0 }, { "hw_synd ", BF_FACT_HW, 16 } },
	  NULL },
	{ "UCX's print of an entry",
	  " wqe[",
	  MLX5,
	  BF_EVIDENCE_ENTRY,
	  { { " wqe[", BF_FACT_COUNTER, 10 },
	    { "QP 0x|QP ", BF_FACT_QPN, 16 },
	    { "[rva ", BF_FACT_RADDR, 0 },
	    { " rkey ", BF_FACT_RKEY, 0 } },
	  take_ucx_entry },
	/* UCX over verbs: src/uct/ib/rc/verbs */
	{ "UCX's completion with error",
	  "vendor_err 0x",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "vendor_err ", BF_FACT_VENDOR, 0 }, { "qpn ", BF_FACT_QPN, 0 }, { "wrid ", BF_FACT_WR_ID, 0 } },
	  take_verbs },
	/* NVIDIA/nccl src/transport/net_ib.cc: all in decimal */
	{ "NCCL's completion with error",
	  " vendor err ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { " status=|with error |with status ", BF_FACT_VERBS, 10 }, { " vendor err ", BF_FACT_VENDOR, 10 } },
	  take_verbs },
	{ "NCCL's completion with error",
	  " vendor_err=",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "status=", BF_FACT_VERBS, 10 }, { " vendor_err=", BF_FACT_VENDOR, 10 } },
	  take_verbs },
	/* DOCA GPUNetIO: doca_gpunetio_dev_verbs_cq.cuh */
	{ "GPUNetIO's completion with error",
	  "vendor_err_synd=",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "syndrome=", BF_FACT_SYNDROME, 0 },
	    { "vendor_err_synd=", BF_FACT_VENDOR, 0 },
	    { "hw_err_synd=", BF_FACT_HW, 0 },
	    { "wqe_counter=", BF_FACT_COUNTER, 10 } },
	  take_gpunetio },
	/* NVSHMEM's device code: ibgda_device.cuh */
	{ "NVSHMEM's poll",
	  "ibgda_poll_cq failed",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "error=|error: ", BF_FACT_VERBS, 10 }, { "qpn=|qpn: ", BF_FACT_QPN, 0 } },
	  bf_take_always },
	/* UCX over verbs: src/uct/ib/dc/verbs */
	{ "UCX's completion with error",
	  "completion with error on qp ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "error on qp ", BF_FACT_QPN, 0 }, { " syndrome ", BF_FACT_VENDOR, 0 } },
	  bf_take_verbs_text },
	/* uccl-project/uccl collective/rdma/rdma_io.cc */
	{ "UCCL's completion with error",
	  "CQ state error: ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "CQ state error: ", BF_FACT_VERBS, 10 } },
	  take_verbs },
	/* ofiwg/libfabric prov/rxm */
	{ "libfabric's completion with error",
	  "prov_err: ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "err: ", BF_FACT_ERRNO, 10 } },
	  bf_take_verbs_text },
	/* ofiwg/libfabric prov/efa: no queue pair's error, but the event of one that nobody took */
	{ "libfabric's event that nobody reads",
	  "Unable to write to EQ",
	  MLX5,
	  BF_EVIDENCE_CALL,
	  { { "error (", BF_FACT_ERRNO, 10 } },
	  bf_take_always },
	/* spdk/spdk lib/nvmf/rdma.c nvmf_rdma_log_wc_status() */
	{ "SPDK's completion with error",
	  "Error on CQ ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "status: (", BF_FACT_VERBS, 10 } },
	  take_verbs },
	{ "SPDK's completion with error",
	  "CQ error on Queue Pair ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "Opcode ", BF_FACT_OPCODE, 10 } },
	  bf_take_verbs_text },
	/* perftest: src/perftest_communication.c */
	{ "perftest's completion with error",
	  "ailed status ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "ailed status ", BF_FACT_VERBS, 10 },
	    { "syndrom 0x|syndrome 0x", BF_FACT_VENDOR, 16 },
	    { "wr_id ", BF_FACT_WR_ID, 10 } },
	  take_verbs },
	/* Open MPI: opal/mca/btl/openib */
	{ "Open MPI's completion with error",
	  " status number ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { " status number ", BF_FACT_VERBS, 10 },
	    { "vendor error ", BF_FACT_VENDOR, 10 },
	    { " wr_id ", BF_FACT_WR_ID, 16 } },
	  take_verbs },
	/* spdk/spdk: RDMA transport of the target, lib/nvmf/rdma.c, and of the host */
	{ "SPDK's completion with error",
	  " error when processing WR",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { 0 } },
	  bf_take_verbs_text },
	{ "SPDK's completion with error",
	  "WC error",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "status: (|status (", BF_FACT_VERBS, 10 }, { "qid ", BF_FACT_QID, 10 } },
	  take_verbs },
	/* Linux: drivers/net/ethernet/mellanox/mlx5/core/cmd.c */
	{ "a command that the device refused",
	  ") op_mod(",
	  MLX5,
	  BF_EVIDENCE_COMMAND,
	  { { "syndrome (", BF_FACT_FIRMWARE, 16 } },
	  take_command },
	/* Linux: drivers/infiniband/hw/mlx5/qp.c */
	{ "a queue pair's error event",
	  " error: ",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "QP ", BF_FACT_QPN, 10 } },
	  take_qp_event },
	/* NVIDIA/nccl src/transport/net_ib.cc, kvcache-ai/Mooncake worker_pool.cpp: ibv_get_async_event() */
	{ "an asynchronous event", "async event", MLX5, BF_EVIDENCE_EVENT, { { 0 } }, take_event },
	{ "an asynchronous event", "async fatal event", MLX5, BF_EVIDENCE_EVENT, { { 0 } }, take_event },
	/* openucx/ucx src/uct/ib/base/ib_device.c */
	{ "an asynchronous event",
	  "Async event on ",
	  MLX5,
	  BF_EVIDENCE_EVENT,
	  { { " on QP ", BF_FACT_QPN, 0 } },
	  take_event },
	/* Linux: drivers/net/ethernet/mellanox/mlx5/core/{health,cmd,main}.c, en_main.c */
	{ "mlx5_core's health check",
	  "device's health compromised",
	  MLX5,
	  BF_EVIDENCE_DOWN,
	  { { 0 } },
	  bf_take_always },
	{ "mlx5_core's health check",
	  "irisc not responding",
	  MLX5,
	  BF_EVIDENCE_DOWN,
	  { { "synd ", BF_FACT_FIRMWARE, 0 } },
	  NULL },
	{ "mlx5_core's firmware assert",
	  "assert_exit_ptr ",
	  MLX5,
	  BF_EVIDENCE_DOWN,
	  { { "assert_exit_ptr ", BF_FACT_ADDRESS, 0 } },
	  NULL },
	{ "a command without an answer",
	  "No done completion",
	  MLX5,
	  BF_EVIDENCE_DOWN,
	  { { 0 } },
	  take_command_time_out },
	{ "a command without an answer",
	  "timeout. Will cause a leak",
	  MLX5,
	  BF_EVIDENCE_DOWN,
	  { { 0 } },
	  take_command_time_out },
	{ "mlx5_core's probe", "handle_hca_cap failed", MLX5, BF_EVIDENCE_DOWN, { { 0 } }, bf_take_always },
	{ "mlx5_core's probe",
	  "mlx5_load_one failed",
	  MLX5,
	  BF_EVIDENCE_DOWN,
	  { { "error code -", BF_FACT_ERRNO, 10 } },
	  bf_take_always },
	{ "mlx5e's time-out of a queue", "TX timeout detected", MLX5, BF_EVIDENCE_UNDONE, { { 0 } }, bf_take_always },
	{ "mlx5e's time-out of a queue",
	  "TX timeout on queue: ",
	  MLX5,
	  BF_EVIDENCE_UNDONE,
	  { { ", SQ: ", BF_FACT_QPN, 0 },
	    { ", CQ: ", BF_FACT_CQN, 0 },
	    { "SQ Cons: ", BF_FACT_COMPLETED, 0 },
	    { "SQ Prod: ", BF_FACT_WRITTEN, 0 } },
	  NULL },
	/* DEVX: NVIDIA/nvshmem ibgda.cpp, openucx/ucx; verbs calls in others' words */
	{ "a refused DEVX command",
	  "mlx5dv_devx_",
	  MLX5,
	  BF_EVIDENCE_COMMAND,
	  { { "syndrome ", BF_FACT_FIRMWARE, 0 } },
	  take_devx },
	{ "a verbs call", "mlx5dv_create_", MLX5, BF_EVIDENCE_CALL, { { 0 } }, take_call },
	{ "a verbs call", "ibv_create_", MLX5, BF_EVIDENCE_CALL, { { 0 } }, take_call },
	{ "a verbs call", "ibv_cmd_", MLX5, BF_EVIDENCE_CALL, { { " with ", BF_FACT_ERRNO, 10 } }, take_call },
	{ "UCX's look at a queue pair", "Failed to get mlx5", MLX5, BF_EVIDENCE_CALL, { { 0 } }, bf_take_always },
	{ "libfabric's registration",
	  "fi_mr_reg failed",
	  MLX5,
	  BF_EVIDENCE_CALL,
	  { { "ret is:-", BF_FACT_ERRNO, 10 } },
	  bf_take_always },
	{ "a verbs call", "ibv_modify_qp", MLX5, BF_EVIDENCE_CALL, { { "status: ", BF_FACT_ERRNO, 10 } }, take_call },
	{ "a verbs call", "ibv_post_", MLX5, BF_EVIDENCE_CALL, { { "with error ", BF_FACT_ERRNO, 10 } }, take_call },
	{ "a verbs call", "ibv_reg_mr", MLX5, BF_EVIDENCE_CALL, { { 0 } }, take_call },
	{ "a verbs call", "ibv_dealloc_pd", MLX5, BF_EVIDENCE_CALL, { { 0 } }, take_call },
	{ "a verbs call", "Unable to create ah", MLX5, BF_EVIDENCE_CALL, { { 0 } }, take_call },
	{ "GPUNetIO's completion with error",
	  "error CQE! poll_status",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { 0 } },
	  bf_take_always },
	{ "a verbs status in words",
	  "WR_FLUSH_ERR",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "qp_num=", BF_FACT_QPN, 0 } },
	  bf_take_verbs_text },
	{ "a verbs status in words", "_ACCESS_ERR", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	{ "a verbs status in words",
	  "INVALID_REQUEST_ERR",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { 0 } },
	  bf_take_verbs_text },
	{ "a verbs status in words", "IBV_WC_", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	/* deepseek-ai/DeepEP csrc/kernels */
	{ "DeepEP's time-out", "DeepEP ", MLX5, BF_EVIDENCE_TIMEOUT, { { 0 } }, take_deepep },
	{ "a verbs status", "local length error", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	{ "a verbs status", "local QP operation error", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	{ "a verbs status", "local protection error", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	{ "a verbs status", "equest Flushed", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	{ "a verbs status", "equest flushed", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	{ "a verbs status", "REQUEST FLUSHED", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	{ "a verbs status",
	  "remote invalid request error",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { 0 } },
	  bf_take_verbs_text },
	{ "a verbs status", "remote access error", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	{ "a verbs status", "remote operation error", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	{ "a verbs status", "retry counter exceeded", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	{ "a verbs status", "retry count exceeded", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	{ "a verbs status", "RETRY COUNTER EXCEEDED", MLX5, BF_EVIDENCE_COMPLETION, { { 0 } }, bf_take_verbs_text },
	/* kvcache-ai/Mooncake worker_pool.cpp */
	{ "Mooncake's transfer",
	  "Process failed for slice",
	  MLX5,
	  BF_EVIDENCE_COMPLETION,
	  { { "dest_addr: ", BF_FACT_RADDR, 0 }, { "dest_rkey: ", BF_FACT_RKEY, 0 } },
	  bf_take_always },
};
const struct bf_evidence_forms bf_forms_nic = { forms, BF_ARRAY_LEN(forms) };
