#include <string.h>

#include "traces/rules/machine/machine.h"

/* Of the threads in a deadlock: one that waits for others of its group; and whether any waits for something else. */
struct state {
	uint64_t since_ps, at_ps, number;
	uint32_t actor;
	char text[200];
	bool met, other;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	char what[40];

	bf_seen_text(e, "what", what, sizeof(what));
	if (strcmp(what, "its team") != 0) {
		s->other = true;
	} else if (!s->met) {
		const size_t len = e->tail_len < sizeof(s->text) ? e->tail_len : sizeof(s->text) - 1;

		memcpy(s->text, e->tail, len);
		s->text[len] = '\0';
		s->actor = e->actor;
		s->since_ps = e->deadlock.since;
		s->at_ps = e->time_ps;
		s->number = e->number;
		s->met = true;
	}
}

static void end(struct bf_rule_run *r, bool complete)
{
	const struct state *s = r->state;
	struct bf_finding *f;

	if (!complete || !s->met || s->other)
		return;
	f = bf_rule_find(r, NULL, NULL);
	if (!f)
		return;
	f->actor = s->actor;
	f->found.at_ps = s->at_ps;
	bf_finding_since(f, s->since_ps, s->number);
	bf_finding_say(f, "%s: the others have not called what it waits in, and no thread waits for anything else",
		       s->text);
}

const struct bf_rule bf_rule_machine_meeting = {
	.about = {
		.id = "MACHINE-MEETING",
		.family = "machine",
		.title = "a thread waits for others of its group, which do not come",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "All threads that a barrier or a warp operation names must call it. A thread that took "
			    "another path, or has ended, never will.",
		.wrong = "A library's call synchronizes a group that is wider than its callers: a whole warp or block, "
			 "in code that only some of its threads run.",
		.fix = "Pass the caller's own group to each call that takes one, or make the call where all threads of "
		       "the group come by.",
		.sources = "NVIDIA/nccl#1893; CUDA C++ Programming Guide, __syncwarp() and __syncthreads()",
		.example = "run gin-put --messages 2 --bug gin-group",
		.twin = "run gin-put --messages 2",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(deadlock),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
