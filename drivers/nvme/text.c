#include <stdio.h>

#include "drivers/nvme/host.h"
#include "models/nvme/prm.h"

/* NVM Express Base Specification 2.0, section 3.3.3.2.1; NVM Command Set Specification 1.0, section 3.1.2. */
static const struct {
	int status;
	const char *text;
} statuses[] = {
	{ BF_NVME_DRV_TIMEOUT, "no answer in time" },
	{ BF_NVME_DRV_GONE, "registers read all ones: the device is gone" },
	{ BF_NVME_DRV_FATAL, "controller fatal status" },
	{ BF_NVME_DRV_UNSUITED, "the controller cannot do this" },
	{ BF_NVME_DRV_STRAY, "a completion for a command that is not in flight" },
	{ BF_NVME_DRV_FULL, "no room for the PRP list" },
	{ BF_NVME_SC_SUCCESS, "success" },
	{ BF_NVME_SC_INVALID_OPCODE, "invalid command opcode" },
	{ BF_NVME_SC_INVALID_FIELD, "invalid field in command" },
	{ BF_NVME_SC_CID_CONFLICT, "command ID conflict" },
	{ BF_NVME_SC_DATA_TRANSFER, "data transfer error" },
	{ BF_NVME_SC_INTERNAL, "internal error" },
	{ BF_NVME_SC_ABORT_REQUESTED, "command abort requested" },
	{ BF_NVME_SC_ABORT_SQ_DELETION, "command aborted due to SQ deletion" },
	{ BF_NVME_SC_FAILED_FUSED, "command aborted due to failed fused command" },
	{ BF_NVME_SC_MISSING_FUSED, "command aborted due to missing fused command" },
	{ BF_NVME_SC_INVALID_NS_OR_FORMAT, "invalid namespace or format" },
	{ BF_NVME_SC_SEQUENCE, "command sequence error" },
	{ BF_NVME_SC_CMB_USE, "invalid use of controller memory buffer" },
	{ BF_NVME_SC_PRP_OFFSET, "PRP offset invalid" },
	{ BF_NVME_SC_NS_WRITE_PROTECTED, "namespace is write protected" },
	{ BF_NVME_SC_LBA_RANGE, "LBA out of range" },
	{ BF_NVME_SC_CAPACITY, "capacity exceeded" },
	{ BF_NVME_SC_NS_NOT_READY, "namespace not ready" },
	{ BF_NVME_SC_CQ_INVALID, "completion queue invalid" },
	{ BF_NVME_SC_QID, "invalid queue identifier" },
	{ BF_NVME_SC_QUEUE_SIZE, "invalid queue size" },
	{ BF_NVME_SC_VECTOR, "invalid interrupt vector" },
	{ BF_NVME_SC_LOG_PAGE, "invalid log page" },
	{ BF_NVME_SC_FORMAT, "invalid format" },
	{ BF_NVME_SC_QUEUE_DELETION, "invalid queue deletion" },
	{ BF_NVME_SC_READ_ONLY_RANGE, "attempted write to read only range" },
	{ BF_NVME_SC_WRITE_FAULT, "write fault" },
	{ BF_NVME_SC_UNRECOVERED_READ, "unrecovered read error" },
	{ BF_NVME_SC_COMPARE, "compare failure" },
	{ BF_NVME_SC_DEALLOCATED, "deallocated or unwritten logical block" },
};

const char *bf_nvme_drv_failure_text(int failure, char *buf, size_t cap)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(statuses); i++)
		if (statuses[i].status == failure)
			return statuses[i].text;
	snprintf(buf, cap, "status 0x%03x", (unsigned)failure);
	return buf;
}

const char *bf_nvme_drv_step_name(uint32_t step)
{
	static const char *const names[BF_NVME_DRV_STEPS] = {
		[BF_NVME_DRV_STEP_START] = "start",
		[BF_NVME_DRV_STEP_DISABLE] = "disable",
		[BF_NVME_DRV_STEP_PAGE_SIZE] = "page size and queue sizes",
		[BF_NVME_DRV_STEP_CMB] = "controller memory buffer",
		[BF_NVME_DRV_STEP_ENABLE] = "enable",
		[BF_NVME_DRV_STEP_IDENTIFY] = "Identify Controller",
		[BF_NVME_DRV_STEP_NAMESPACES] = "Identify, namespace list",
		[BF_NVME_DRV_STEP_NAMESPACE] = "Identify Namespace",
		[BF_NVME_DRV_STEP_QUEUE_COUNT] = "Set Features, number of queues",
		[BF_NVME_DRV_STEP_DBBUF] = "Doorbell Buffer Config",
		[BF_NVME_DRV_STEP_CREATE_CQ] = "Create I/O Completion Queue",
		[BF_NVME_DRV_STEP_CREATE_SQ] = "Create I/O Submission Queue",
		[BF_NVME_DRV_STEP_READY] = "ready",
		[BF_NVME_DRV_STEP_DELETE_SQ] = "Delete I/O Submission Queue",
		[BF_NVME_DRV_STEP_DELETE_CQ] = "Delete I/O Completion Queue",
		[BF_NVME_DRV_STEP_SHUTDOWN] = "shutdown",
	};

	return step < BF_NVME_DRV_STEPS ? names[step] : "?";
}
