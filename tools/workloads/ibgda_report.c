/*
 * What went wrong in a run, for people and as JSON.
 */
#include <inttypes.h>
#include <string.h>

#include "models/mlx5/wqe.h"
#include "tools/workloads/ibgda.h"

const char *bf_verdict_name(uint32_t v)
{
	static const char *const names[] = {
		[BF_VERDICT_GOOD] = "good",
		[BF_VERDICT_WRONG_DATA] = "wrong data",
		[BF_VERDICT_ERROR] = "error completion",
		[BF_VERDICT_DEADLOCK] = "deadlock",
		[BF_VERDICT_LIMIT] = "time limit",
	};

	return names[v];
}

/* The first step of a queue that has not caught up with the one before it: that is where to look. */
static const char *stuck_at(const struct bf_queue_standing *q)
{
	if (q->syndrome)
		return bf_mlx5_syndrome_text((uint8_t)q->syndrome);
	if (q->ready < q->reserved)
		return "slots were reserved and not published";
	if (q->doorbelled < q->ready)
		return "published entries were never handed to a doorbell";
	if (q->dbrec != (uint16_t)q->doorbelled)
		return "the doorbell record does not hold the producer index";
	if ((uint16_t)(q->cqe_counter + 1) != (uint16_t)q->doorbelled)
		return "the device has not completed what the doorbell covers";
	return "completed, but never polled";
}

static void print_queue(FILE *out, const struct bf_queue_standing *q)
{
	fprintf(out, "  %2" PRIu32 " -> %-2" PRIu32 " #%-3" PRIu32 " 0x%-5" PRIx32, q->pe, q->peer, q->index, q->qpn);
	fprintf(out, " %9" PRIu64 " %9" PRIu64 " %10" PRIu64 " %6" PRIu16, q->reserved, q->ready, q->doorbelled,
		q->dbrec);
	if (q->cqe_opcode == BF_MLX5_CQE_INVALID)
		fprintf(out, "      -");
	else
		fprintf(out, " %6" PRIu16, q->cqe_counter);
	fprintf(out, " %9" PRIu64 "  ", q->completed);
	if (q->syndrome)
		fprintf(out, "a poller saw syndrome 0x%02" PRIx32 ", ", q->syndrome);
	fprintf(out, "%s\n", stuck_at(q));
}

void bf_run_print_failure(FILE *out, const void *result)
{
	const struct bf_run_result *r = result;

	if (r->base.verdict == BF_VERDICT_GOOD)
		return;
	if (r->mismatch.count) {
		fprintf(out, "wrong: %" PRIu64 " place%s, the first on PE %" PRIu32 " at heap offset 0x%" PRIx64 "\n",
			r->mismatch.count, r->mismatch.count == 1 ? "" : "s", r->mismatch.pe, r->mismatch.offset);
		bf_print_lines(out, r->mismatch.text);
	}
	if (r->nqueues) {
		fprintf(out, "queues with work left or an error (%" PRIu32 "):\n", r->unfinished);
		fprintf(out, "  PE       #   QPN      reserved published doorbelled  DBREC    CQE   noticed\n");
		for (uint32_t i = 0; i < r->nqueues; i++)
			print_queue(out, &r->queues[i]);
		if (r->unfinished > r->nqueues)
			fprintf(out, "  and %" PRIu32 " more\n", r->unfinished - r->nqueues);
	}
	if (r->world.report[0]) {
		fprintf(out, "at the end:\n");
		bf_print_lines(out, r->world.report);
	}
}

static void json_queue(struct bf_json *j, const struct bf_queue_standing *q)
{
	bf_json_open(j, NULL, '{');
	bf_json_u64(j, "pe", q->pe);
	bf_json_u64(j, "peer", q->peer);
	bf_json_u64(j, "index", q->index);
	bf_json_hex(j, "qpn", q->qpn);
	bf_json_u64(j, "reserved", q->reserved);
	bf_json_u64(j, "published", q->ready);
	bf_json_u64(j, "doorbelled", q->doorbelled);
	bf_json_u64(j, "dbrec", q->dbrec);
	if (q->cqe_opcode != BF_MLX5_CQE_INVALID)
		bf_json_u64(j, "cqe_counter", q->cqe_counter);
	bf_json_u64(j, "noticed", q->completed);
	if (q->syndrome)
		bf_json_hex(j, "syndrome", q->syndrome);
	bf_json_text(j, "stuck", stuck_at(q));
	bf_json_close(j, '}');
}

void bf_run_json_failure(struct bf_json *j, const void *result)
{
	const struct bf_run_result *r = result;

	if (r->base.verdict == BF_VERDICT_GOOD)
		return;
	if (r->mismatch.count) {
		bf_json_open(j, "wrong", '{');
		bf_json_u64(j, "places", r->mismatch.count);
		bf_json_u64(j, "pe", r->mismatch.pe);
		bf_json_hex(j, "offset", r->mismatch.offset);
		bf_json_text(j, "first", r->mismatch.text);
		bf_json_close(j, '}');
	}
	bf_json_open(j, "queues", '[');
	for (uint32_t i = 0; i < r->nqueues; i++)
		json_queue(j, &r->queues[i]);
	bf_json_close(j, ']');
	bf_json_u64(j, "unfinished_queues", r->unfinished);
	if (r->world.report[0])
		bf_json_text(j, "report", r->world.report);
}
