#include <inttypes.h>

#include "traces/rules/ll/ll.h"

#define SENT 8192u

/* When a token's last message left; the table forgets tokens that share a place. */
struct state {
	struct {
		uint32_t pe, token, round, expert, actor;
		uint64_t at_ps, record;
		bool used;
	} sent[SENT];
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const bool sends = e->kind == BF_SEEN_ll_send;
	const uint32_t token = (uint32_t)(sends ? e->ll_send.token : e->ll_cast.token);
	const uint32_t i = (e->pe * 1024 + token) % SENT;
	struct state *s = r->state;
	struct bf_finding *f;

	if (sends) {
		if (e->ll_send.phase)
			return;
		s->sent[i].pe = e->pe;
		s->sent[i].token = token;
		s->sent[i].round = (uint32_t)e->ll_send.round;
		s->sent[i].expert = (uint32_t)e->ll_send.expert;
		s->sent[i].actor = e->actor;
		s->sent[i].at_ps = e->time_ps;
		s->sent[i].record = e->number;
		s->sent[i].used = true;
		return;
	}
	if (!s->sent[i].used || s->sent[i].pe != e->pe || s->sent[i].token != token ||
	    s->sent[i].round != e->ll_cast.round || s->sent[i].at_ps >= e->time_ps)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	f->found.at_ps = s->sent[i].at_ps;
	bf_finding_since(f, s->sent[i].at_ps, s->sent[i].record);
	bf_finding_say(f,
		       "%s sent token %" PRIu32 " of round %" PRIu32 " to expert %" PRIu32
		       " %s before %s had stored its part of the message: no barrier stands between them",
		       bf_rule_actor(r->rules, s->sent[i].actor), token, s->sent[i].round, s->sent[i].expert,
		       bf_span_of(e->time_ps - s->sent[i].at_ps).text, bf_rule_actor(r->rules, e->actor));
}

const struct bf_rule bf_rule_ll_send_early = {
	.about = {
		.id = "LL-SEND-EARLY",
		.family = "ll",
		.title = "a message was sent while other warps were still writing it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC reads a message when it executes the entry, whoever is still writing.",
		.wrong = "All warps of a block cast parts of a token, and one of them sends: without a barrier "
			    "between, part of the message is an earlier round's.",
		.fix = "A block-wide barrier between the cast and the sends of a token (DeepEP: bar.sync of the "
			    "casting warps).",
		.sources = "deepseek-ai/DeepEP csrc/kernels/internode_ll.cu dispatch",
		.example = "run ll-dispatch --bug ll-no-barrier",
		.twin = "run ll-dispatch",
	},
	.rank = BF_RANK_DATA,
	.records = BF_SEES(ll_cast, ll_send),
	.state_bytes = sizeof(struct state),
	.on = on,
};
