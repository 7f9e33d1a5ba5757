/*
 * Facts about DeepEP's low-latency exchange: for each count that a PE sends to a receiver, the messages it stands for.
 * Of each sender, receiver and expert the last BF_LL_ROUNDS rounds are known; buffers alternate, so no kernel looks
 * further back.
 */
#ifndef BELFRY_TRACES_RULES_LL_LL_H
#define BELFRY_TRACES_RULES_LL_LL_H

#include "traces/rules/rule.h"

#define BF_LL_ROUNDS 4u

/* What one PE sends to another for (dispatch) or from (combine) one expert in one round. */
struct bf_ll_exchange {
	uint32_t src, dst, expert, phase, round;
	bool used;
	uint32_t messages;
	uint32_t qpn, actor; /* of the last message */
	uint64_t sent_ps, sent_record;
	bool counted;
	int32_t value;
	uint32_t count_qpn, count_actor;
	uint64_t count_ps, count_record;
	bool taken; /* the receiver has found a count */
};

extern const struct bf_rule_family bf_rules_ll;

/*
 * What a record of a message or count (`src` is who said it), or of a receiver, is about, or the same `before` rounds
 * earlier; NULL: nothing is known of it.
 */
const struct bf_ll_exchange *bf_ll_exchange_of(struct bf_rules *r, const struct bf_seen *e, uint32_t before);

/* All that are known, one after the other: the first behind NULL; NULL behind the last. */
const struct bf_ll_exchange *bf_ll_exchange_next(struct bf_rules *r, const struct bf_ll_exchange *x);

/* Whether there was a combine. Each kernel takes the other set of buffers. */
bool bf_ll_combines(struct bf_rules *r);

const char *bf_ll_kernel(uint64_t phase); /* "dispatch", "combine" */

#endif
