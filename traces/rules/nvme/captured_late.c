#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

/* Linux gives up on a command after so long: nvme_core.io_timeout and admin_timeout. */
#define IO_LIMIT (30 * 1000 * BF_MS)
#define ADMIN_LIMIT (60 * 1000 * BF_MS)
#define ADMIN_AER 0x0cu

#define FLYING 8192u

struct flight {
	uint32_t actor, cid;
	uint64_t at_ps, record, line;
	bool flies, io;
};

struct state {
	struct flight flight[FLYING]; /* by hash of queue and identifier; later ones replace earlier ones */
};

static struct flight *flight_of(struct state *s, uint32_t actor, uint64_t cid)
{
	return &s->flight[(uint32_t)(((uint64_t)actor << 16 ^ cid) * 0x9e3779b97f4a7c15ull >> 40) % FLYING];
}

static uint64_t limit_of(const struct flight *f)
{
	return f->io ? IO_LIMIT : ADMIN_LIMIT;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const bool setup = e->kind == BF_SEEN_ftrace_setup;
	struct flight *x = flight_of(r->state, e->actor, setup ? e->ftrace_setup.cid : e->ftrace_complete.cid);
	struct bf_finding *f;

	if (setup) {
		/* An event request waits for as long as it likes. */
		*x = (struct flight){ .actor = e->actor,
				      .cid = (uint32_t)e->ftrace_setup.cid,
				      .at_ps = e->time_ps,
				      .record = e->number,
				      .line = e->ftrace_setup.line,
				      .io = e->ftrace_setup.qid != 0,
				      .flies = e->ftrace_setup.qid || e->ftrace_setup.opcode != ADMIN_AER };
		return;
	}
	if (!x->flies || x->actor != e->actor || x->cid != e->ftrace_complete.cid)
		return;
	x->flies = false;
	f = e->time_ps - x->at_ps > limit_of(x) ? bf_rule_find(r, e, NULL) : NULL;
	if (!f)
		return;
	bf_finding_since(f, x->at_ps, x->record);
	bf_finding_say(f,
		       "command 0x%" PRIx64 " of queue %" PRIu64 " (line %" PRIu64
		       ") ended %s after it was set up (line %" PRIu64 "): Linux had given up on it by then",
		       e->ftrace_complete.cid, e->ftrace_complete.qid, e->ftrace_complete.line,
		       bf_span_of(e->time_ps - x->at_ps).text, x->line);
}

/* What had no end when the trace went on for longer than Linux waits. */
static void end(struct bf_rule_run *r, bool complete)
{
	const struct state *s = r->state;
	const uint64_t now = bf_rule_now(r->rules);

	(void)complete;
	for (uint32_t i = 0; i < FLYING; i++) {
		const struct flight *x = &s->flight[i];
		struct bf_finding *f = x->flies && now - x->at_ps > limit_of(x) ? bf_rule_find(r, NULL, NULL) : NULL;

		if (!f)
			continue;
		f->actor = x->actor;
		f->found.at_ps = x->at_ps;
		bf_finding_since(f, x->at_ps, x->record);
		bf_finding_say(f,
			       "command 0x%" PRIx32 " (line %" PRIu64 ") has no end in the %s that the trace goes on",
			       x->cid, x->line, bf_span_of(now - x->at_ps).text);
	}
}

const struct bf_rule bf_rule_nvme_captured_late = {
	.about = {
		.id = "NVME-CAPTURED-LATE",
		.family = "nvme",
		.title = "a captured command was not answered in time",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A drive answers in any order and after any time; Linux aborts an I/O command after 30 s "
			    "and an admin command after 60 s, and then resets the controller.",
		.wrong = "The drive was stuck, its completion did not come, or the interrupt for it was lost: then the "
			 "completion is in memory and \"completion polled\" is in the log.",
		.fix = "Look for what the log says at that time, and at PCIe errors, power states (APST) and interrupts "
		       "of the queue's vector.",
		.sources = "Linux drivers/nvme/host/pci.c nvme_timeout; VisionFive2#36",
		.test = "tests/traces/test_rules_errors.c",
		.why = "It speaks of traces of real drives.",
	},
	.rank = BF_RANK_EFFECT + 3,
	.records = BF_SEES(ftrace_setup, ftrace_complete),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
