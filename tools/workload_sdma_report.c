/* What a run of an SDMA workload prints, as text and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "tools/workload_sdma.h"

const char *bf_sdma_verdict_name(enum bf_sdma_verdict v)
{
	static const char *const names[] = {
		[BF_SDMA_GOOD] = "good",
		[BF_SDMA_WRONG_DATA] = "wrong data",
		[BF_SDMA_STOPPED] = "queue stopped",
		[BF_SDMA_DEADLOCK] = "deadlock",
		[BF_SDMA_LIMIT] = "time limit",
		[BF_SDMA_REFUSED] = "submission refused",
	};

	return names[v];
}

static uint64_t rate(uint64_t n, uint64_t ns)
{
	return ns ? (uint64_t)((bf_u128)n * 1000000000u / ns) : 0;
}

/* The first step of a queue that has not caught up with the one before it: that is where to look. */
static const char *stuck_at(const struct bf_sdma_queue_standing *q)
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

static void print_lines(FILE *out, const char *text)
{
	while (*text) {
		const size_t len = strcspn(text, "\n");

		fprintf(out, "  %.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

static void print_queues(FILE *out, const struct bf_sdma_result *r)
{
	if (!r->nqueues)
		return;
	fprintf(out, "queues with work left or stopped (%" PRIu32 "), in bytes:\n", r->unfinished);
	fprintf(out, "  PE queue    reserved   published    doorbell     fetched     retired        RPTR\n");
	for (uint32_t i = 0; i < r->nqueues; i++) {
		const struct bf_sdma_queue_standing *q = &r->queues[i];

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

void bf_sdma_print_failure(FILE *out, const struct bf_sdma_result *r)
{
	if (r->wrong)
		fprintf(out, "wrong: %" PRIu64 " place%s, the first: %s\n", r->wrong, r->wrong == 1 ? "" : "s",
			r->wrong_text);
	print_queues(out, r);
	if (r->world.report[0]) {
		fprintf(out, "at the end:\n");
		print_lines(out, r->world.report);
	}
	bf_cause_print(out, &r->cause);
}

void bf_sdma_print_result(const struct bf_sdma_workload *w, const struct bf_sdma_result *r, const struct bf_lint_run *lint,
			  bool stats)
{
	const uint64_t ns = r->world.time_ps / BF_NS;
	char command[2048];

	bf_sdma_workload_command(w, command, sizeof(command));
	printf("%s\n%s%s", command, r->info, bf_sdma_verdict_name(r->verdict));
	if (r->verdict == BF_SDMA_GOOD)
		printf(": %" PRIu64 " submissions, %" PRIu64 " bytes moved, %" PRIu64 " compared, all as they must be",
		       r->submissions, r->moved, r->verified);
	printf("\n%s %llu.%03llu us",
	       w->backend->platform == BF_PLATFORM_SIM ? "simulated time         " : "elapsed time           ",
	       r->world.time_ps / BF_US, r->world.time_ps % BF_US / BF_NS);
	printf(", %" PRIu64 " submissions/s, %" PRIu64 " MB/s, %" PRIu64 " events\n", rate(r->submissions, ns),
	       rate(r->moved, ns) / 1000000, r->world.events);
	if (w->records)
		printf("records                 %" PRIu64 ", hash %016" PRIx64 "\n", r->world.records, r->world.hash);
	printf("wall clock              %" PRIu64 ".%03" PRIu64 " ms, %" PRIu64 " submissions/s\n",
	       r->wall_ns / 1000000, r->wall_ns / 1000 % 1000, rate(r->submissions, r->wall_ns));
	if (r->verdict != BF_SDMA_GOOD)
		bf_sdma_print_failure(stdout, r);
	bf_lint_run_print(stdout, lint);
	if (r->counts)
		bf_counts_print_faults(stdout, r->counts);
	if (r->counts && stats)
		bf_counts_print_stats(stdout, r->counts);
}

void bf_sdma_json_failure(struct bf_json *j, const struct bf_sdma_result *r)
{
	if (r->wrong) {
		bf_json_open(j, "wrong", '{');
		bf_json_u64(j, "places", r->wrong);
		bf_json_text(j, "first", r->wrong_text);
		bf_json_close(j, '}');
	}
	bf_json_open(j, "queues", '[');
	for (uint32_t i = 0; i < r->nqueues; i++) {
		const struct bf_sdma_queue_standing *q = &r->queues[i];

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
	if (r->cause.text[0])
		bf_cause_json(j, &r->cause);
}

void bf_sdma_json_result(const struct bf_sdma_workload *w, const struct bf_sdma_result *r, const struct bf_lint_run *lint,
			 bool stats)
{
	const uint64_t ns = r->world.time_ps / BF_NS;
	char command[2048];
	struct bf_json j;

	bf_sdma_workload_command(w, command, sizeof(command));
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "workload", bf_sdma_work_name(w->work));
	bf_json_text(&j, "backend", w->backend->name);
	bf_json_text(&j, "command", command);
	bf_sdma_workload_json(&j, w);
	if (r->info[0])
		bf_json_text(&j, "info", r->info);
	bf_json_text(&j, "verdict", bf_sdma_verdict_name(r->verdict));
	bf_json_u64(&j, "submissions", r->submissions);
	bf_json_u64(&j, "packets", r->packets);
	bf_json_u64(&j, "moved_bytes", r->moved);
	bf_json_u64(&j, "verified_bytes", r->verified);
	bf_json_u64(&j, "time_ps", r->world.time_ps);
	bf_json_u64(&j, "submissions_per_second", rate(r->submissions, ns));
	bf_json_u64(&j, "bytes_per_second", rate(r->moved, ns));
	bf_json_u64(&j, "events", r->world.events);
	bf_json_u64(&j, "records", r->world.records);
	if (w->records)
		bf_json_hex(&j, "hash", r->world.hash);
	if (r->verdict != BF_SDMA_GOOD)
		bf_sdma_json_failure(&j, r);
	bf_lint_run_json(&j, lint);
	if (r->counts)
		bf_counts_json_faults(&j, r->counts);
	if (r->counts && stats)
		bf_counts_json_stats(&j, r->counts);
	bf_json_open(&j, "wall", '{');
	bf_json_u64(&j, "ns", r->wall_ns);
	bf_json_u64(&j, "submissions_per_second", rate(r->submissions, r->wall_ns));
	bf_json_close(&j, '}');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}
