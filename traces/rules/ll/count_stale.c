#include <inttypes.h>

#include "traces/rules/ll/ll.h"

/* An earlier round's count in the same set of buffers: with a combine in each round, a kernel has the same in all. */
static bool was_there(struct bf_rules *r, const struct bf_seen *e, int32_t value)
{
	const uint32_t step = bf_ll_combines(r) ? 1 : 2;

	for (uint32_t before = step; before < BF_LL_ROUNDS; before += step) {
		const struct bf_ll_exchange *x = bf_ll_exchange_of(r, e, before);

		if (x && x->counted && x->value == value)
			return true;
	}
	return false;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_ll_exchange *x = bf_ll_exchange_of(r->rules, e, 0);
	const int32_t value = (int32_t)e->ll_recv.value;
	struct bf_finding *f;

	if (x && x->counted && x->value == value && x->count_ps <= e->time_ps)
		return;
	if (!was_there(r->rules, e, value))
		return;
	f = bf_rule_find(r, e, NULL);
	if (f)
		bf_finding_say(
		    f,
		    "in the %s of round %" PRIu64 " %s took %" PRIi32 " for the count of expert %" PRIu64
		    " from PE %" PRIu64 ", which %s: the buffer's counts were not cleared after their last use",
		    bf_ll_kernel(e->ll_recv.phase), e->ll_recv.round, bf_rule_actor(r->rules, e->actor), value,
		    e->ll_recv.expert, e->ll_recv.src, !x || !x->counted ? "had sent none" : "had sent another one");
}

const struct bf_rule bf_rule_ll_count_stale = {
	.about = {
		.id = "LL-COUNT-STALE",
		.family = "ll",
		.title = "a receiver used the count of an earlier round",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Memory keeps what was written there. A polled word tells of an event only if it was "
			    "reset before.",
		.wrong = "The count of an earlier use of the buffer was still there, so the receiver did not wait, "
			    "and read the earlier round's messages.",
		.fix = "Clear the next buffer's counts in each round, before the barrier that lets peers write there.",
		.sources = "deepseek-ai/DeepEP csrc/kernels/internode_ll.cu dispatch (next_clean)",
		.example = "run ll-dispatch --rounds 3 --bug ll-no-clean",
		.twin = "run ll-dispatch --rounds 3",
	},
	.rank = BF_RANK_DATA + 1,
	.records = BF_SEES(ll_recv),
	.on = on,
};
