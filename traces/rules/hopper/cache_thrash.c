#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

#define ENOUGH 256u

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	const struct bf_hopper_rule_sm *s =
	    n->bar && n->bar->sm < BF_HOPPER_SMS ? bf_hopper_rule_run(r)->sm[n->bar->sm] : NULL;
	struct bf_finding *f;

	if (!s || e->hopper_op.hit || s->ops < ENOUGH || s->misses * 3 < s->ops)
		return;
	f = bf_rule_find(r, e, NULL);
	if (f)
		bf_finding_say(
		    f, "of the first %" PRIu64 " operations on barriers of %s %" PRIu64 " missed the barrier cache",
		    s->ops, bf_rule_actor(r->rules, e->actor), s->misses);
}

const struct bf_rule bf_rule_hopper_cache_thrash = {
	.about = {
		.id = "HOPPER-CACHE-THRASH",
		.family = "hopper",
		.title = "more hot barriers than the unit caches",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "An H200 caches 16 pairs of barriers (16 bytes each) an SM; every further pair in use costs a miss of 9 cycles at each operation.",
		.wrong = "A third or more of the operations on an SM missed the barrier cache.",
		.fix = "Put barriers that are used together side by side: two share a pair, so 32 adjacent ones fit.",
		.sources = "docs/hardware/hopper.md#barrier-cache-1",
		.example = "run mbarrier-stress --profile h200,cache_lines=2",
		.twin = "run mbarrier-stress",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(hopper_op),
	.on = on,
};
