#include "tools/findings.h"
#include "tools/workload.h"

int bf_workload_again(const void *w, uint32_t classes, struct bf_sink *sink)
{
	struct bf_workload again = *(const struct bf_workload *)w;
	struct bf_run_result r;

	again.records = classes;
	again.counts = false;
	again.hashes = false;
	return bf_workload_run(&again, sink, &r, NULL);
}

void bf_cause_of(const struct bf_workload *w, struct bf_cause *out)
{
	*out = (struct bf_cause){ 0 };
	if (w->backend->platform == BF_PLATFORM_SIM)
		bf_cause_find(bf_workload_again, w, out);
}
