#include <inttypes.h>
#include <string.h>

#include "traces/rules/nvme/nvme.h"

struct state {
	uint64_t va, since_ps, record;
	uint32_t actor, waiting;
	bool others; /* somebody waits for something else, which may be why */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	char what[40];

	if (!strstr(bf_seen_text(e, "what", what, sizeof(what)), "lock")) {
		s->others = true;
		return;
	}
	if (s->waiting++ && e->deadlock.since >= s->since_ps)
		return;
	s->va = e->deadlock.va;
	s->since_ps = e->deadlock.since;
	s->record = e->number;
	s->actor = e->actor;
}

/* Locks of threads that drive no NVMe queue are not this rule's. */
static bool any_queue(struct bf_rules *r)
{
	const struct bf_rule_queue *q;

	for (uint32_t i = 0; (q = bf_rule_queue_at(r, i)) != NULL; i++)
		if (q->family == &bf_rules_nvme)
			return true;
	return false;
}

static void end(struct bf_rule_run *r, bool complete)
{
	const struct state *s = r->state;
	struct bf_finding *f;

	if (!complete || !s->waiting || s->others || !s->va || !any_queue(r->rules))
		return;
	f = bf_rule_find(r, NULL, NULL);
	if (!f)
		return;
	f->actor = s->actor;
	f->found.at_ps = s->since_ps;
	bf_finding_since(f, s->since_ps, s->record);
	bf_finding_say(f,
		       "%" PRIu32 " thread%s for the lock at 0x%" PRIx64
		       " forever, %s first, and all others have ended: whoever had it did not give it back",
		       s->waiting, s->waiting == 1 ? " waits" : "s wait", s->va, bf_rule_actor(r->rules, s->actor));
}

const struct bf_rule bf_rule_nvme_lock_held = {
	.about = {
		.id = "NVME-LOCK-HELD",
		.family = "nvme",
		.title = "a queue's lock is never released",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A queue pair has one tail and one head. Threads that share it take turns by a lock of the "
			    "driver. The controller does not know that lock.",
		.wrong = "A thread left the critical section without releasing the lock, so all others wait forever.",
		.fix = "Release the lock on every path, after a fence that makes the work under the lock visible.",
		.sources = "ZaidQureshi/bam nvm_parallel_queue.h",
		.example = "run nvme-read --threads 4 --share 4 --commands 8 --size 512 --bug lock-kept",
		.twin = "run nvme-read --threads 4 --share 4 --commands 8 --size 512",
	},
	.rank = BF_RANK_STUCK - 1,
	.records = BF_SEES(deadlock),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
