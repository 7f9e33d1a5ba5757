#include <inttypes.h>

#include "traces/rules/shmem/shmem.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->shmem_call.call == BF_SHMEM_CALL_SIGNAL && !bf_shmem_open_put(r->rules, e, false)
				   ? bf_rule_find(r, e, NULL)
				   : NULL;

	if (f)
		bf_finding_say(
		    f, "%s sent a signal to PE %" PRIu64 " by QP 0x%" PRIx64 " before the put that it stands for",
		    bf_rule_actor(r->rules, e->actor), e->shmem_call.pe, e->shmem_call.qpn);
}

const struct bf_rule bf_rule_shmem_signal = {
	.about = {
		.id = "SHMEM-SIGNAL-FIRST",
		.family = "shmem",
		.title = "a signal is sent before its put",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The signal of a put-with-signal is an atomic behind the WRITE on the same queue pair, "
			    "which is what makes it arrive behind the data.",
		.wrong = "The signal went first, so a thread that waits for it reads the data too early.",
		.fix = "Post the put, then the signal, on the same queue pair.",
		.sources = "OpenSHMEM 1.5, 9.8 Signaling Operations; NVIDIA/nvshmem ibgda_device.cuh "
			    "nvshmemi_ibgda_put_signal",
		.example = "run shmem-put-signal --size 65536 --bug shmem-signal-first",
		.twin = "run shmem-put-signal --size 65536",
	},
	.rank = BF_RANK_DATA - 1,
	.records = BF_SEES(shmem_call),
	.on = on,
};
