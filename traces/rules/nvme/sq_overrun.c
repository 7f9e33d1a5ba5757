#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

/* Of a driver that says nothing: more is announced than completions have made room for. */
static void on_doorbell(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	const uint64_t under_way = q->silent.announced - q->silent.reported;
	struct bf_finding *f;

	if (e->nvme_doorbell.queue || !bf_nvme_rule_is_silent(e->queue) || under_way < q->silent.sqes)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(f,
			       "tail %" PRIu64 " on SQ %" PRIu64 " announces entry %" PRIu64 " of a ring of %" PRIu32
			       ", and SQHD of the completions so far has passed %" PRIu64
			       ": its slot may hold an entry that was not fetched; nobody looked at SQHD",
			       e->nvme_doorbell.value, e->queue->number, q->silent.announced - 1, q->silent.sqes,
			       q->silent.reported);
}

static void fetched(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f = q->fetch.what == BF_NVME_RULE_FETCHED_OVERWRITTEN ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, q->fetch.slot);
	bf_finding_since(f, q->fetch.next.at_ps, q->fetch.next.record);
	bf_finding_say(f,
		       "the entry in slot %" PRIu32 " of SQ %" PRIu64
		       " was overwritten by %s before the controller had "
		       "fetched it: the ring was full and nobody looked at SQHD",
		       q->fetch.slot, e->queue->number, bf_rule_actor(r->rules, q->fetch.next.actor));
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_nvme_doorbell)
		on_doorbell(r, e);
	else
		fetched(r, e);
}

/* Who takes old completions for new ones believes that there is room. */
static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	(void)r;
	f->dropped = bf_nvme_rule_of(f->queue)->silent.past_tail;
}

const struct bf_rule bf_rule_nvme_sq_overrun = {
	.about = {
		.id = "NVME-SQ-OVERRUN",
		.family = "nvme",
		.title = "an entry was overwritten before the controller had fetched it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A slot is free when SQHD, in a completion, has passed it. The controller keeps no copy "
			    "of entries that it has not fetched.",
		.wrong = "The ring was full and the driver stored the next lap's entry over one that was still due.",
		.fix = "Keep the last SQHD of each queue and wait while tail + 1 == SQHD.",
		.sources = "NVM Express Base 2.0, Queue Model; docs/hardware/nvme.md#queues-3",
		.example = "run nvme-read --depth 32 --entries 33 --threads 4 --share 4 --batch 32 --timeout 10ms "
			   "--size 512 --bug no-full-check",
		.twin = "run nvme-read --depth 32 --entries 33 --threads 4 --share 4 --batch 32 --timeout 10ms "
			"--size 512",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(nvme_fetch, nvme_doorbell),
	.when = BF_NVME_RULE_BAD_FETCH,
	.whens = 1,
	.on = on,
	.tell = tell,
};
