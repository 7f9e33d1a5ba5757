#include "tools/workload_nvme.h"
void bf_nvme_cause_read(const struct bf_record_log *log, struct bf_cause *out)
{
	(void)log;
	*out = (struct bf_cause){ 0 };
}
