#include <inttypes.h>

#include "traces/rules/machine/machine.h"
#include "traces/rules/nvme/nvme.h"

#define CONTROLLERS 64u
#define SHUTDOWN 15u /* nvm_step */
#define CC_SHN 14u

/* A controller, and what its driver says that it does. By the number of the PE. */
struct state {
	struct {
		uint32_t actor, cc, queues, step;
		uint64_t at_ps, record;
		bool on;
	} of[CONTROLLERS];
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	const uint32_t i = e->pe % CONTROLLERS;

	if (e->kind == BF_SEEN_nvm_step) {
		s->of[i].step = (uint32_t)e->nvm_step.step;
		s->of[i].at_ps = e->time_ps;
		s->of[i].record = e->number;
	} else if (e->kind == BF_SEEN_nvme_queue) {
		s->of[i].queues += e->nvme_queue.what == BF_NVME_QUEUE_CREATED;
		s->of[i].queues -= e->nvme_queue.what == BF_NVME_QUEUE_DELETED && s->of[i].queues;
	} else {
		s->of[i].actor = e->actor;
		s->of[i].cc = (uint32_t)e->nvme_state.cc;
		if (e->nvme_state.state <= BF_NVME_SHUT_DOWN)
			s->of[i].on = e->nvme_state.state == BF_NVME_ON;
		if (!s->of[i].on)
			s->of[i].queues = 0;
	}
}

static void judge(struct bf_rule_run *r, const struct bf_machine *m, uint32_t i)
{
	const struct state *s = r->state;
	const bool waits = s->of[i].step == SHUTDOWN && m->ended < m->started;
	const bool left = s->of[i].queues && m->ended == m->started && s->of[i].step;
	struct bf_finding *f = waits || left ? bf_rule_find(r, NULL, NULL) : NULL;

	if (!f)
		return;
	f->actor = s->of[i].actor;
	bf_finding_since(f, s->of[i].at_ps, s->of[i].record);
	if (waits)
		bf_finding_say(
		    f,
		    "the driver waits for a shutdown to be complete, and %s was not told to shut down: CC is "
		    "0x%" PRIx32 ", with %" PRIu32 " in SHN",
		    bf_rule_actor(r->rules, s->of[i].actor), s->of[i].cc, s->of[i].cc >> CC_SHN & 3);
	else
		bf_finding_say(f,
			       "all threads have ended, and %s is still enabled (CC 0x%" PRIx32 ") with %" PRIu32
			       " I/O queues: it may still write to their memory",
			       bf_rule_actor(r->rules, s->of[i].actor), s->of[i].cc, s->of[i].queues);
}

static void end(struct bf_rule_run *r, bool complete)
{
	const struct state *s = r->state;
	const struct bf_machine *m = bf_rule_run_facts(r->rules, &bf_rules_machine);

	/* A driver that has given up for another reason leaves everything as it is. */
	if (!complete || !m || m->deadlocked || m->failed || !bf_rule_silent(r, NULL))
		return;
	for (uint32_t i = 0; i < CONTROLLERS; i++)
		if (s->of[i].on)
			judge(r, m, i);
}

const struct bf_rule bf_rule_nvme_left_on = {
	.about = {
		.id = "NVME-LEFT-ON",
		.family = "nvme",
		.title = "a controller is not shut down",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A controller keeps running until CC.SHN requests a shutdown and CC.EN is cleared. It "
			    "counts a stop without that as an unsafe shutdown, and writes completions to its queues as "
			    "long as they exist.",
		.wrong = "The driver exits, or waits for CSTS.SHST, without having requested a shutdown. Memory that "
			 "is used for something else may still be written, and data in the controller's cache may be "
			 "lost.",
		.fix = "On every exit path: delete I/O queues, set CC.SHN to 1, wait until CSTS.SHST is 2, clear "
		       "CC.EN.",
		.sources = "NVM Express Base 2.0, Controller Shutdown; docs/hardware/nvme.md",
		.test = "tests/traces/test_rules_nvme_more.c",
		.why = "Every workload shuts its controller down; one that fails is abandoned with its device.",
	},
	.rank = BF_RANK_LUCK,
	.net = 1,
	.records = BF_SEES(nvm_step, nvme_queue, nvme_state),
	.needs = BF_SEES(nvme_state),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
