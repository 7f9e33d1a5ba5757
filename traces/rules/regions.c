#include "traces/rules/regions.h"

void bf_rule_regions_note(struct bf_rule_regions *s, const struct bf_seen *e)
{
	struct bf_rule_region *x = s->n < BF_RULE_REGIONS ? &s->region[s->n++] : NULL;

	if (!x)
		return;
	x->va = e->region.va;
	x->end = e->region.va + e->region.size;
	bf_seen_text(e, "name", x->name, sizeof(x->name));
}

const struct bf_rule_region *bf_rule_regions_left(const struct bf_rule_regions *s, uint64_t va, uint64_t bytes)
{
	for (uint32_t i = s->n; i-- > 0;) {
		const struct bf_rule_region *x = &s->region[i];

		if (va >= x->va && va < x->end)
			return va + bytes > x->end ? x : NULL;
	}
	return NULL;
}
