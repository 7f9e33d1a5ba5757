#include <inttypes.h>

#include "traces/rules/shmem/shmem.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_shmem_put *put =
	    e->shmem_call.call == BF_SHMEM_CALL_OVERWRITE ? bf_shmem_open_put(r->rules, e, false) : NULL;
	struct bf_finding *f = put ? bf_rule_find(r, e, NULL) : NULL;

	if (!f)
		return;
	bf_finding_since(f, put->at_ps, put->record);
	bf_finding_say(f,
		       "%s stored to the source of its put to PE %" PRIu32 " by QP 0x%" PRIx32
		       " %s after the call, with no quiet between: the device may not have read it",
		       bf_rule_actor(r->rules, e->actor), put->pe, put->qpn, bf_span_of(e->time_ps - put->at_ps).text);
}

const struct bf_rule bf_rule_shmem_source = {
	.about = {
		.id = "SHMEM-SOURCE-REUSED",
		.family = "shmem",
		.title = "the source of a put is overwritten without a quiet",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A put only writes an entry. The NIC reads the source when it executes that, which may "
			    "be much later, and again when it has to retransmit.",
		.wrong = "The source was changed while the entry was under way: the peer gets the new bytes, the old "
			    "ones, or some of both.",
		.fix = "nvshmem_quiet() before the source is used again; a fence is not enough, it orders and does "
			    "not wait.",
		.sources = "OpenSHMEM 1.5, 9.5.1 SHMEM_PUT and 9.10.2 SHMEM_QUIET",
		.example = "run shmem-quiet --size 65536 --bug shmem-no-quiet",
		.twin = "run shmem-quiet --size 65536",
	},
	.rank = BF_RANK_DATA - 1,
	.records = BF_SEES(shmem_call),
	.on = on,
};
