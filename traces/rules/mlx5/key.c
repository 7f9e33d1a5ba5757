#include "traces/rules/mlx5/key.h"

#include <inttypes.h>

void bf_mlx5_rule_key_finding(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = bf_rule_find(r, e, e->queue);
	char access[32], why[32];

	if (!f)
		return;
	bf_finding_index(f, e->mkey_error.index);
	bf_seen_text(e, "access", access, sizeof(access));
	bf_seen_text(e, "why", why, sizeof(why));
	if (e->mkey_error.access >= 4) /* remote: the responder has the request, not the entry */
		bf_finding_say(f, "%s refused a request", bf_rule_actor(r->rules, e->actor));
	else
		bf_finding_say(f, "WQE %" PRIu64 " on %s was refused", e->mkey_error.index,
			       bf_rule_actor(r->rules, e->actor));
	bf_finding_say(f,
		       ": %s, %s (%" PRIu64 " bytes at 0x%" PRIx64 ", key 0x%" PRIx64 " covers %" PRIu64
		       " bytes at 0x%" PRIx64 ")",
		       access, why, e->mkey_error.length, e->mkey_error.va, e->mkey_error.key, e->mkey_error.size,
		       e->mkey_error.start);
}
