/* What went wrong in a run of an NVMe workload, for people and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "tools/workloads/nvme.h"

const char *bf_nvme_work_outcome_name(uint32_t v)
{
	switch (v) {
	case BF_NVME_WORK_RUN_GOOD:
		return "good";
	case BF_NVME_WORK_RUN_WRONG_DATA:
		return "wrong data";
	case BF_NVME_WORK_RUN_ERROR:
		return "error completion";
	case BF_NVME_WORK_RUN_TIMEOUT:
		return "timeout";
	case BF_NVME_WORK_RUN_NOT_READY:
		return "controller not ready";
	case BF_NVME_WORK_RUN_DEADLOCK:
		return "deadlock";
	case BF_NVME_WORK_RUN_LIMIT:
	default:
		return "time limit";
	}
}

static const char *opcode_name(uint32_t opcode)
{
	switch (opcode) {
	case BF_NVME_IO_FLUSH:
		return "flush";
	case BF_NVME_IO_WRITE:
		return "write";
	case BF_NVME_IO_READ:
		return "read";
	case BF_NVME_IO_COMPARE:
		return "compare";
	case BF_NVME_IO_WRITE_ZEROES:
		return "write zeroes";
	default:
		return "admin command";
	}
}

/* What became of the thread, in words. */
static void thread_text(const struct bf_nvme_work_standing *s, char *out, size_t cap)
{
	const struct bf_nvme_drv_result *r = &s->result;
	char buf[32];
	size_t used = 0;

	*out = '\0';
	if (!r->ended)
		used = (size_t)snprintf(out, cap, "did not end");
	else if (r->failure == BF_NVME_DRV_TIMEOUT)
		used = (size_t)snprintf(out, cap, "gave up with %" PRIu32 " in flight", r->inflight);
	else if (r->failure == BF_NVME_DRV_STRAY)
		used = (size_t)snprintf(out, cap, "%s", bf_nvme_drv_failure_text(r->failure, buf, sizeof(buf)));
	else if (r->failure)
		used = (size_t)snprintf(out, cap, "%s at block %" PRIu64 ": %s", opcode_name(r->failed_opcode),
					r->failed_block, bf_nvme_drv_failure_text(r->failure, buf, sizeof(buf)));
	if (r->mismatches && used < cap)
		snprintf(out + used, cap - used,
			 "%s%" PRIu64 " wrong words, the first in block %" PRIu64 " at byte %" PRIu32
			 " of its command: 0x%016" PRIx64 ", must be 0x%016" PRIx64,
			 used ? "; " : "", r->mismatches, r->block, r->offset, r->found, r->wanted);
}

void bf_nvme_work_run_print_failure(FILE *out, const void *result)
{
	const struct bf_nvme_work_run_result *r = result;

	if (r->base.verdict == BF_NVME_WORK_RUN_GOOD)
		return;
	if (r->base.verdict == BF_NVME_WORK_RUN_NOT_READY)
		fprintf(out, "%s\n", r->bring_up.text);
	if (r->nstandings) {
		fprintf(out, "threads that failed (%" PRIu32 "), and their queue pairs as they see them:\n",
			r->bad_threads);
		fprintf(out, "  thread  SQ/CQ  SQ head  tail  rung  CQ head  phase  completed\n");
	}
	for (uint32_t i = 0; i < r->nstandings; i++) {
		const struct bf_nvme_work_standing *s = &r->standings[i];
		char name[16], what[256];

		snprintf(name, sizeof(name), "%" PRIu32, s->thread);
		thread_text(s, what, sizeof(what));
		fprintf(out,
			"  %-7s %-6" PRIu32 " %-8" PRIu32 " %-5" PRIu32 " %-5" PRIu32 " %-8" PRIu32 " %-6" PRIu32
			" %" PRIu64 "\n    %s\n",
			s->thread == UINT32_MAX ? "check" : name, s->qid, s->sq_head, s->sq_tail, s->sq_rung,
			s->cq_head, s->cq_phase, s->result.completed, what);
		if (s->unmapped.prp)
			fprintf(out,
				"    slot %" PRIu32 ", command %" PRIu32 ": PRP%" PRIu32 " is 0x%" PRIx64
				", and nothing was ever mapped there\n",
				s->unmapped.slot, s->unmapped.cid, s->unmapped.prp, s->unmapped.iova);
	}
	if (r->bad_threads > r->nstandings)
		fprintf(out, "  and %" PRIu32 " more\n", r->bad_threads - r->nstandings);
	if (!r->nstandings && r->mismatches)
		fprintf(out, "wrong: %" PRIu64 " words of 8 bytes in memory are not what the medium was given\n",
			r->mismatches);
	if (r->world.report[0])
		fprintf(out, r->device[0] ? "what else is known:\n" : "the controller's view:\n");
	bf_print_lines(out, r->world.report);
}

static void json_standing(struct bf_json *j, const struct bf_nvme_work_standing *s)
{
	char what[256];

	bf_json_open(j, NULL, '{');
	if (s->thread != UINT32_MAX)
		bf_json_u64(j, "thread", s->thread);
	bf_json_u64(j, "qid", s->qid);
	bf_json_u64(j, "sq_head", s->sq_head);
	bf_json_u64(j, "sq_tail", s->sq_tail);
	bf_json_u64(j, "sq_rung", s->sq_rung);
	bf_json_u64(j, "cq_head", s->cq_head);
	bf_json_u64(j, "cq_phase", s->cq_phase);
	bf_json_u64(j, "completed", s->result.completed);
	bf_json_u64(j, "in_flight", s->result.inflight);
	if (s->result.failure > 0)
		bf_json_hex(j, "status", (uint64_t)s->result.failure);
	thread_text(s, what, sizeof(what));
	bf_json_text(j, "what", what);
	if (s->unmapped.prp)
		bf_json_hex(j, "unmapped_iova", s->unmapped.iova);
	bf_json_close(j, '}');
}

void bf_nvme_work_run_json_failure(struct bf_json *j, const void *result)
{
	const struct bf_nvme_work_run_result *r = result;

	if (r->base.verdict == BF_NVME_WORK_RUN_GOOD)
		return;
	if (r->base.verdict == BF_NVME_WORK_RUN_NOT_READY)
		bf_json_text(j, "bring_up", r->bring_up.text);
	bf_json_u64(j, "wrong_words", r->mismatches);
	bf_json_open(j, "threads", '[');
	for (uint32_t i = 0; i < r->nstandings; i++)
		json_standing(j, &r->standings[i]);
	bf_json_close(j, ']');
	bf_json_u64(j, "failed_threads", r->bad_threads);
	if (r->world.report[0])
		bf_json_text(j, "report", r->world.report);
}
