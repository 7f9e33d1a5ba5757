/* Facts of low-latency exchanges, and the list of their rules. */
#include "traces/rules/ll/ll.h"

#include <stdlib.h>

/* Open addressing; never more than half full. */
struct run {
	struct bf_ll_exchange *table;
	uint32_t cap, n;
	bool combines;
};

const char *bf_ll_kernel(uint64_t phase)
{
	return phase ? "combine" : "dispatch";
}

static uint32_t place(const struct run *run, const struct bf_ll_exchange *x)
{
	const uint64_t h = ((uint64_t)x->src << 40 ^ (uint64_t)x->dst << 20 ^ (uint64_t)x->expert << 3 ^
			    (uint64_t)(x->round % BF_LL_ROUNDS) << 1 ^ x->phase) *
			   0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 33) & (run->cap - 1);
}

static struct bf_ll_exchange *slot(const struct run *run, const struct bf_ll_exchange *key)
{
	for (uint32_t i = place(run, key);; i = (i + 1) & (run->cap - 1)) {
		struct bf_ll_exchange *x = &run->table[i];

		if (!x->used || (x->src == key->src && x->dst == key->dst && x->expert == key->expert &&
				 x->phase == key->phase && x->round % BF_LL_ROUNDS == key->round % BF_LL_ROUNDS))
			return x;
	}
}

static bool grow(struct run *run)
{
	struct run grown = { .cap = run->cap ? run->cap * 2 : 1024, .n = run->n, .combines = run->combines };

	grown.table = calloc(grown.cap, sizeof(*grown.table));
	if (!grown.table)
		return false;
	for (uint32_t i = 0; i < run->cap; i++)
		if (run->table[i].used)
			*slot(&grown, &run->table[i]) = run->table[i];
	free(run->table);
	*run = grown;
	return true;
}

static struct bf_ll_exchange key_of(const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_ll_recv)
		return (struct bf_ll_exchange){ .src = (uint32_t)e->ll_recv.src,
						.dst = e->pe,
						.expert = (uint32_t)e->ll_recv.expert,
						.phase = e->ll_recv.phase != 0,
						.round = (uint32_t)e->ll_recv.round };
	if (e->kind == BF_SEEN_ll_count)
		return (struct bf_ll_exchange){ .src = e->pe,
						.dst = (uint32_t)e->ll_count.dst,
						.expert = (uint32_t)e->ll_count.expert,
						.phase = e->ll_count.phase != 0,
						.round = (uint32_t)e->ll_count.round };
	return (struct bf_ll_exchange){ .src = e->pe,
					.dst = (uint32_t)e->ll_send.dst,
					.expert = (uint32_t)e->ll_send.expert,
					.phase = e->ll_send.phase != 0,
					.round = (uint32_t)e->ll_send.round };
}

/* The place of what the record is about, emptied if it held an earlier round; NULL: no memory. */
static struct bf_ll_exchange *make(struct run *run, const struct bf_seen *e)
{
	struct bf_ll_exchange key = key_of(e), *x;

	if (run->n * 2 >= run->cap && !grow(run))
		return NULL;
	x = slot(run, &key);
	run->n += !x->used;
	if (!x->used || x->round != key.round) {
		key.used = true;
		*x = key;
	}
	return x;
}

const struct bf_ll_exchange *bf_ll_exchange_of(struct bf_rules *r, const struct bf_seen *e, uint32_t before)
{
	const struct run *run = bf_rule_run_facts(r, &bf_rules_ll);
	struct bf_ll_exchange key = key_of(e), *x;

	if (!run->cap || key.round < before)
		return NULL;
	key.round -= before;
	x = slot(run, &key);
	return x->used && x->round == key.round ? x : NULL;
}

const struct bf_ll_exchange *bf_ll_exchange_next(struct bf_rules *r, const struct bf_ll_exchange *x)
{
	const struct run *run = bf_rule_run_facts(r, &bf_rules_ll);

	for (x = x ? x + 1 : run->table; x && x < run->table + run->cap; x++)
		if (x->used)
			return x;
	return NULL;
}

bool bf_ll_combines(struct bf_rules *r)
{
	return ((const struct run *)bf_rule_run_facts(r, &bf_rules_ll))->combines;
}

static void on(struct bf_rules *r, void *facts, const struct bf_seen *e)
{
	struct bf_ll_exchange *x = make(facts, e);

	(void)r;
	if (x && x->phase)
		((struct run *)facts)->combines = true;
	if (x && e->kind == BF_SEEN_ll_send) {
		x->messages++;
		x->qpn = (uint32_t)e->ll_send.qpn;
		x->actor = e->actor;
		x->sent_ps = e->time_ps;
		x->sent_record = e->number;
	} else if (x && e->kind == BF_SEEN_ll_recv) {
		x->taken = true;
	} else if (x) {
		x->counted = true;
		x->value = (int32_t)e->ll_count.value;
		x->count_qpn = (uint32_t)e->ll_count.qpn;
		x->count_actor = e->actor;
		x->count_ps = e->time_ps;
		x->count_record = e->number;
	}
}

static void forget_run(void *facts)
{
	free(((struct run *)facts)->table);
}

extern const struct bf_rule bf_rule_ll_send_early, bf_rule_ll_count_first, bf_rule_ll_count_qp, bf_rule_ll_count_value,
    bf_rule_ll_count_stale, bf_rule_ll_count_unseen;
static const struct bf_rule *const rules[] = { &bf_rule_ll_send_early,
					       &bf_rule_ll_count_first,
					       &bf_rule_ll_count_qp,
					       &bf_rule_ll_count_value,
					       &bf_rule_ll_count_stale,
					       &bf_rule_ll_count_unseen,
					       NULL };

static const uint16_t signs[] = { BF_SEEN_ll_send, BF_SEEN_ll_recv, 0 };
static const uint16_t records[] = { BF_SEEN_ll_send, BF_SEEN_ll_count, BF_SEEN_ll_recv, 0 };

const struct bf_rule_family bf_rules_ll = {
	.name = "ll",
	.classes = BF_CLASS_DRIVER,
	.rules = rules,
	.signs = signs,
	.records = records,
	.run_bytes = sizeof(struct run),
	.on = on,
	.forget_run = forget_run,
};
