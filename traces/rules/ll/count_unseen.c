#include <inttypes.h>
#include <string.h>

#include "traces/rules/ll/ll.h"
#include "traces/rules/mlx5/mlx5.h"

struct state {
	struct bf_pe_set waits; /* one of its threads waits for a count, forever */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	char what[48];

	bf_seen_text(e, "what", what, sizeof(what));
	if (strstr(what, "count") || strstr(what, "flag"))
		bf_pe_set_add(&s->waits, e->pe);
}

/* A count that means "not yet", or whose queue pair stands still with something in it, is not there to be found. */
static bool arrived(struct bf_rules *r, const struct bf_ll_exchange *x)
{
	struct bf_rule_queue *queue =
	    x->count_qpn ? bf_rule_queue(r, &bf_rules_mlx5, x->src, x->count_qpn, false) : NULL;
	const struct bf_mlx5_rule_queue *q = queue ? bf_mlx5_rule_of(queue) : NULL;

	return x->value && (!q || (!q->failed && q->done.upto >= q->reserved.upto));
}

/*
 * The first of those that nobody took. Receivers go from one count to the next: where one lacks a count that has not
 * arrived, it has not looked for the others.
 */
static const struct bf_ll_exchange *first_untaken(struct bf_rules *r, const struct state *s, uint32_t *more)
{
	const struct bf_ll_exchange *x, *first = NULL;
	struct bf_pe_set lacks = { 0 };

	*more = 0;
	for (x = NULL; (x = bf_ll_exchange_next(r, x)) != NULL;)
		if (x->counted && !x->taken && !arrived(r, x))
			bf_pe_set_add(&lacks, x->dst);
	for (x = NULL; (x = bf_ll_exchange_next(r, x)) != NULL;) {
		if (!x->counted || x->taken || !bf_pe_set_has(&s->waits, x->dst) || bf_pe_set_has(&lacks, x->dst))
			continue;
		if (first)
			++*more;
		if (!first || x->count_record < first->count_record)
			first = x;
	}
	return first;
}

static void end(struct bf_rule_run *r, bool complete)
{
	uint32_t more;
	const struct bf_ll_exchange *x = complete ? first_untaken(r->rules, r->state, &more) : NULL;
	struct bf_seen e;
	struct bf_finding *f;

	if (!x)
		return;
	e = (struct bf_seen){ .actor = x->count_actor, .time_ps = x->count_ps, .number = x->count_record };
	f = bf_rule_find(r, &e, NULL);
	if (!f)
		return;
	bf_finding_say(f,
		       "in the %s of round %" PRIu32 " %s sent PE %" PRIu32 " the count for expert %" PRIu32
		       ", %" PRIi32 ", and PE %" PRIu32
		       " waits forever without having found it: it looks at another word, or the "
		       "word was cleared after the count had come",
		       bf_ll_kernel(x->phase), x->round, bf_rule_actor(r->rules, x->count_actor), x->dst, x->expert,
		       x->value, x->dst);
	if (more)
		bf_finding_say(f, "; so it is with %" PRIu32 " more", more);
}

const struct bf_rule bf_rule_ll_count_unseen = {
	.about = {
		.id = "LL-COUNT-UNSEEN",
		.family = "ll",
		.title = "a count was sent, but its receiver never finds it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The sender chooses the word that its count lands in, and the receiver the one that it "
			    "polls. They are the same word only if both sides compute it the same way.",
		.wrong = "The two disagree about the buffer of this round, the expert or the source; or somebody "
			 "cleared the word when the count was there already.",
		.fix = "Derive the word from round, expert and source in one place for both sides, and clear the "
		       "other buffer's words, never those of the round that is under way.",
		.sources = "deepseek-ai/DeepEP csrc/kernels/internode_ll.cu dispatch (rdma_recv_count, next_clean)",
		.example = "run ll-dispatch --bug ll-count-set",
		.twin = "run ll-dispatch",
	},
	.rank = BF_RANK_STUCK + 1,
	.records = BF_SEES(deadlock),
	.needs = BF_SEES(ll_count),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
