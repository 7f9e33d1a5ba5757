/* What findings about order say. */
#include <inttypes.h>
#include <stdio.h>

#include "sim/view.h"
#include "traces/rules/order/order.h"

static const char *const scopes[] = { "block", "GPU", "system" };

struct bf_order_when bf_order_when(uint64_t at_ps, uint64_t record)
{
	struct bf_order_when w;

	snprintf(w.text, sizeof(w.text), "at %s (record %" PRIu64 ")", bf_span_of(at_ps).text, record);
	return w;
}

struct bf_finding *bf_order_find(struct bf_rule_run *r, const struct bf_seen *e, const struct bf_order_race *race,
				 bool queue)
{
	const struct bf_ring *ring = bf_stores_ring_at(bf_rule_stores(r->rules), race->store.va);
	struct bf_finding *f = bf_rule_find(r, e, queue && ring ? ring->queue : NULL);

	if (!f)
		return NULL;
	bf_finding_since(f, race->store.at_ps, race->store.record);
	bf_finding_say(f, "%s stored %u bytes at 0x%" PRIx64 " %s", race->by->name, race->store.len, race->store.va,
		       bf_order_when(race->store.at_ps, race->store.record).text);
	if (ring && ring->bytes && ring->entries > 1)
		bf_finding_say(f, ", in slot %" PRIu64 " of %s", (race->store.va - ring->va) / ring->bytes,
			       bf_rule_queue_name(r->rules, ring->queue));
	return f;
}

const char *bf_order_wanted(const struct bf_order_race *race)
{
	return !race->by->block ? "any" : race->vram ? "GPU" : "system";
}

void bf_order_say_remedy(struct bf_finding *f, const struct bf_order_race *race)
{
	const struct bf_order_thread *t = race->by;
	const char *wide = bf_order_wanted(race);

	if (t->fence.record > race->store.record && t->block &&
	    t->fence.scope < (race->vram ? BF_SCOPE_GPU : BF_SCOPE_SYS))
		bf_finding_say(f, "; its fence %s has %s scope, and a fence of %s scope would have ordered the two",
			       bf_order_when(t->fence.at_ps, t->fence.record).text, scopes[t->fence.scope], wide);
	else if (t->arrived.stores >= race->store.count || t->ring.stores >= race->store.count)
		bf_finding_say(
		    f, "; a fence of %s scope by %s between this store and its doorbell would have ordered the two",
		    wide, t->name);
	else if (race->rang && race->rang != t)
		bf_finding_say(f,
			       "; the doorbell was rung by %s %s: a release by %s behind its store, an acquire of the "
			       "same location by %s and a fence of %s scope before that doorbell would have ordered "
			       "the two, or a release to what the device itself polls",
			       race->rang->name,
			       bf_order_when(race->rang->arrived.at_ps, race->rang->arrived.record).text, t->name,
			       race->rang->name, wide);
	else
		bf_finding_say(f,
			       "; a fence of %s scope by %s behind this store, and a doorbell behind that fence, would "
			       "have ordered the two",
			       wide, t->name);
}
