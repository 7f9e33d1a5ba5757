/* What a difference between a captured completion and the model's means. */
#include "traces/replay/nvme_internal.h"

const char *bf_nvme_replay_verdict_name(enum bf_nvme_replay_verdict v)
{
	static const char *const names[BF_NVME_REPLAY_VERDICTS] = {
		[BF_NVME_REPLAY_SAME] = "same",
		[BF_NVME_REPLAY_STATUS_DIFFERS] = "status differs",
		[BF_NVME_REPLAY_RESULT_DIFFERS] = "register differs",
		[BF_NVME_REPLAY_HEAD_DIFFERS] = "head differs",
		[BF_NVME_REPLAY_NO_COMPLETION] = "no completion",
		[BF_NVME_REPLAY_REORDERED] = "other order",
		[BF_NVME_REPLAY_DEVICE_OWN] = "device's own",
		[BF_NVME_REPLAY_OPTIONAL] = "optional",
		[BF_NVME_REPLAY_ORPHAN] = "command not in the trace",
		[BF_NVME_REPLAY_NOT_SENT] = "not sent",
	};

	return (size_t)v < BF_NVME_REPLAY_VERDICTS ? names[v] : "?";
}

bool bf_nvme_replay_verdict_bad(enum bf_nvme_replay_verdict v)
{
	return v == BF_NVME_REPLAY_STATUS_DIFFERS || v == BF_NVME_REPLAY_RESULT_DIFFERS ||
	       v == BF_NVME_REPLAY_HEAD_DIFFERS || v == BF_NVME_REPLAY_NO_COMPLETION;
}

/* Faults inside of the captured device, and what Linux makes up when it gives up on one (host path errors). */
bool bf_nvme_replay_device_own(uint32_t status)
{
	const uint32_t code = status & 0x7ff;

	return code == BF_NVME_SC_INTERNAL || code == BF_NVME_SC_ABORT_REQUESTED ||
	       code == BF_NVME_SC_ABORT_SQ_DELETION || (code >> 8 >= 2 && code != BF_NVME_SC_COMPARE);
}

static bool refuses(uint32_t status)
{
	const uint32_t code = status & 0x7ff;

	return code == BF_NVME_SC_INVALID_OPCODE || code == BF_NVME_SC_INVALID_FIELD || code == BF_NVME_SC_LOG_PAGE;
}

/* Commands and pages that a controller may lack: everything but what each must have since version 1.0. */
static bool is_optional(const struct bf_ftrace_event *ev, const struct bf_nvme_replay_flight *f)
{
	const uint32_t cdw10 = bf_le32(f->sqe.cdw10);
	const bool directive = f->opcode == BF_NVME_IO_WRITE && (bf_le32(f->sqe.cdw12) >> 20 & 0xf) != 0;

	if (ev->qid)
		return directive ||
		       (f->opcode != BF_NVME_IO_FLUSH && f->opcode != BF_NVME_IO_READ && f->opcode != BF_NVME_IO_WRITE);
	switch (f->opcode) {
	case BF_NVME_ADM_IDENTIFY:
		return (cdw10 & 0xff) >= 2;
	case BF_NVME_ADM_GET_LOG:
		return (cdw10 & 0xff) > 3;
	case BF_NVME_ADM_SET_FEATURES:
	case BF_NVME_ADM_GET_FEATURES:
		return (cdw10 & 0xff) > 0xb;
	default:
		return f->opcode > BF_NVME_ADM_ASYNC_EVENT;
	}
}

/* CAP and VS are what the device is; the rest is what it does. */
enum bf_nvme_replay_verdict bf_nvme_replay_judge_register(const struct bf_nvme_replay_flight *f, uint64_t captured)
{
	const uint32_t offset = bf_le32(f->sqe.cdw11);

	if (f->fctype != BF_NVME_REPLAY_FABRICS_GET || f->result == captured)
		return BF_NVME_REPLAY_SAME;
	return offset == BF_NVME_CAP || offset == BF_NVME_VS ? BF_NVME_REPLAY_DEVICE_OWN
							     : BF_NVME_REPLAY_RESULT_DIFFERS;
}

enum bf_nvme_replay_verdict bf_nvme_replay_judge_status(const struct bf_ftrace_event *ev,
							const struct bf_nvme_replay_flight *f)
{
	/* More points at the error log, which devices fill as they like; CRD at delays that only some have. */
	const uint32_t mine = f->status & 0x47ff, theirs = ev->complete.status & 0x47ff;

	if (mine == theirs)
		return BF_NVME_REPLAY_SAME;
	if (bf_nvme_replay_device_own(theirs))
		return BF_NVME_REPLAY_DEVICE_OWN;
	if ((refuses(mine) || refuses(theirs)) && is_optional(ev, f))
		return BF_NVME_REPLAY_OPTIONAL;
	/* Whether a retry is useless is the device's opinion; the code is not. */
	return (mine & 0x7ff) == (theirs & 0x7ff) ? BF_NVME_REPLAY_SAME : BF_NVME_REPLAY_STATUS_DIFFERS;
}
