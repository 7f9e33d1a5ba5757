#include "tools/cause.h"
#include "tools/record_log.h"

/* More than this is no run that somebody reads. */
#define LOG_MAX ((size_t)1 << 30)

void bf_cause_of(const struct bf_workload *w, struct bf_cause *out)
{
	struct bf_workload again = *w;
	struct bf_record_log log;
	struct bf_run_result r;

	*out = (struct bf_cause){ 0 };
	if (w->backend->platform != BF_PLATFORM_SIM)
		return;
	again.records = BF_CLASS_ALL;
	again.counts = false;
	bf_record_log_init(&log, LOG_MAX);
	if (bf_workload_run(&again, &log.sink, &r, NULL) == 0 && !log.overflow)
		bf_cause_read(&log, w->depth, out);
	bf_record_log_free(&log);
}

void bf_cause_json(struct bf_json *j, const struct bf_cause *cause)
{
	bf_json_open(j, "cause", '{');
	bf_json_text(j, "text", cause->text);
	bf_json_u64(j, "begin_ps", cause->begin_ps);
	bf_json_u64(j, "end_ps", cause->end_ps);
	bf_json_u64(j, "records", cause->records);
	bf_json_close(j, '}');
}
