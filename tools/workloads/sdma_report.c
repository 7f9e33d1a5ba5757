/* What went wrong in a run of an SDMA workload, as text and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "tools/workloads/sdma.h"

const char *bf_sdma_work_verdict_name(uint32_t v)
{
	static const char *const names[] = {
		[BF_SDMA_WORK_GOOD] = "good",
		[BF_SDMA_WORK_WRONG_DATA] = "wrong data",
		[BF_SDMA_WORK_STOPPED] = "queue stopped",
		[BF_SDMA_WORK_DEADLOCK] = "deadlock",
		[BF_SDMA_WORK_LIMIT] = "time limit",
		[BF_SDMA_WORK_REFUSED] = "submission refused",
	};

	return names[v];
}

/* The first step of a queue that has not caught up with the one before it: that is where to look. */
static const char *stuck_at(const struct bf_sdma_work_queue_standing *q)
{
	if (q->engine.stopped[0])
		return q->engine.stopped;
	if (q->engine.paused)
		return "the queue is paused";
	if (q->published < q->reserved)
		return "bytes of the ring were reserved and not published";
	if (q->engine.doorbell < q->published)
		return "what was published was never handed to a doorbell";
	if (q->engine.fetched < q->engine.doorbell)
		return "the engine has not fetched what the doorbell covers";
	return "the engine has not finished what it fetched";
}

static void print_queues(FILE *out, const struct bf_sdma_work_result *r)
{
	if (!r->nqueues)
		return;
	fprintf(out, "queues with work left or stopped (%" PRIu32 "), in bytes:\n", r->unfinished);
	fprintf(out, "  PE queue    reserved   published    doorbell     fetched     retired        RPTR\n");
	for (uint32_t i = 0; i < r->nqueues; i++) {
		const struct bf_sdma_work_queue_standing *q = &r->queues[i];

		fprintf(out,
			"  %2" PRIu32 " %5" PRIu32 " %11" PRIu64 " %11" PRIu64 " %11" PRIu64 " %11" PRIu64 " %11" PRIu64
			" %11" PRIu64 "  %s%s%s\n",
			q->pe, q->queue, q->reserved, q->published, q->engine.doorbell, q->engine.fetched,
			q->engine.retired, q->rptr, stuck_at(q), q->engine.waits[0] ? ": waits for " : "",
			q->engine.waits);
	}
	if (r->unfinished > r->nqueues)
		fprintf(out, "  and %" PRIu32 " more\n", r->unfinished - r->nqueues);
}

void bf_sdma_work_print_failure(FILE *out, const void *result)
{
	const struct bf_sdma_work_result *r = result;

	if (r->base.verdict == BF_SDMA_WORK_GOOD)
		return;
	if (r->wrong)
		fprintf(out, "wrong: %" PRIu64 " place%s, the first: %s\n", r->wrong, r->wrong == 1 ? "" : "s",
			r->wrong_text);
	print_queues(out, r);
	if (r->world.report[0]) {
		fprintf(out, "at the end:\n");
		bf_print_lines(out, r->world.report);
	}
}

void bf_sdma_work_json_failure(struct bf_json *j, const void *result)
{
	const struct bf_sdma_work_result *r = result;

	if (r->base.verdict == BF_SDMA_WORK_GOOD)
		return;
	if (r->wrong) {
		bf_json_open(j, "wrong", '{');
		bf_json_u64(j, "places", r->wrong);
		bf_json_text(j, "first", r->wrong_text);
		bf_json_close(j, '}');
	}
	bf_json_open(j, "queues", '[');
	for (uint32_t i = 0; i < r->nqueues; i++) {
		const struct bf_sdma_work_queue_standing *q = &r->queues[i];

		bf_json_open(j, NULL, '{');
		bf_json_u64(j, "pe", q->pe);
		bf_json_u64(j, "queue", q->queue);
		bf_json_u64(j, "reserved", q->reserved);
		bf_json_u64(j, "published", q->published);
		bf_json_u64(j, "doorbell", q->engine.doorbell);
		bf_json_u64(j, "fetched", q->engine.fetched);
		bf_json_u64(j, "retired", q->engine.retired);
		bf_json_u64(j, "rptr", q->rptr);
		if (q->engine.waits[0])
			bf_json_text(j, "waits_for", q->engine.waits);
		bf_json_text(j, "stuck", stuck_at(q));
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
	bf_json_u64(j, "unfinished_queues", r->unfinished);
	if (r->world.report[0])
		bf_json_text(j, "report", r->world.report);
}
