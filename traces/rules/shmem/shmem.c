/* Facts of NVSHMEM-style callers, and the list of their rules. */
#include "traces/rules/shmem/shmem.h"

#include <stdlib.h>

#define ANY_PE UINT32_MAX

/* Open addressing, never more than half full. The entry of a warp with pe ANY_PE is its last put, whatever the PE. */
struct run {
	struct bf_shmem_put *table;
	uint32_t cap, n;
};

static struct bf_shmem_put *slot(const struct run *run, uint32_t actor, uint32_t pe)
{
	const uint64_t h = ((uint64_t)actor << 32 ^ pe) * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = (uint32_t)(h >> 33) & (run->cap - 1);; i = (i + 1) & (run->cap - 1)) {
		struct bf_shmem_put *p = &run->table[i];

		if (!p->used || (p->actor == actor && p->pe == pe))
			return p;
	}
}

static bool grow(struct run *run)
{
	struct run grown = { .cap = run->cap ? run->cap * 2 : 256, .n = run->n };

	grown.table = calloc(grown.cap, sizeof(*grown.table));
	if (!grown.table)
		return false;
	for (uint32_t i = 0; i < run->cap; i++)
		if (run->table[i].used)
			*slot(&grown, run->table[i].actor, run->table[i].pe) = run->table[i];
	free(run->table);
	*run = grown;
	return true;
}

static struct bf_shmem_put *make(struct run *run, uint32_t actor, uint32_t pe)
{
	struct bf_shmem_put *p;

	if (run->n * 2 >= run->cap && !grow(run))
		return NULL;
	p = slot(run, actor, pe);
	run->n += !p->used;
	p->used = true;
	p->actor = actor;
	p->pe = pe;
	return p;
}

const struct bf_shmem_put *bf_shmem_open_put(struct bf_rules *r, const struct bf_seen *e, bool any_pe)
{
	const struct run *run = bf_rule_run_facts(r, &bf_rules_shmem);
	const struct bf_shmem_put *last, *p;

	if (!run->cap)
		return NULL;
	last = slot(run, e->actor, ANY_PE);
	if (!last->used || (any_pe && !last->opens))
		return NULL;
	if (any_pe)
		return last;
	p = slot(run, e->actor, (uint32_t)e->shmem_call.pe);
	/* The facts are ahead of the rules: the signal in question has closed it already. */
	return p->used && p->epoch == last->epoch && (p->open || p->signal_record == e->number) ? p : NULL;
}

const struct bf_shmem_put *bf_shmem_warp(struct bf_rules *r, const struct bf_seen *e)
{
	const struct run *run = bf_rule_run_facts(r, &bf_rules_shmem);
	const struct bf_shmem_put *p = run->cap ? slot(run, e->actor, ANY_PE) : NULL;

	return p && p->used ? p : NULL;
}

static void note_put(struct run *run, const struct bf_seen *e)
{
	struct bf_shmem_put *last = make(run, e->actor, ANY_PE), *p;
	struct bf_shmem_put put = { .actor = e->actor,
				    .qpn = (uint32_t)e->shmem_call.qpn,
				    .used = true,
				    .open = true,
				    .at_ps = e->time_ps,
				    .record = e->number };

	if (!last)
		return;
	put.epoch = last->epoch;
	put.opens = last->opens;
	put.meets = last->meets;
	put.leaves = last->leaves;
	put.pe = (uint32_t)e->shmem_call.pe;
	p = make(run, e->actor, put.pe);
	if (!p)
		return;
	put.opens += !p->open || p->epoch != put.epoch;
	*p = put;
	put.pe = ANY_PE;
	*slot(run, e->actor, ANY_PE) = put; /* the table may have moved */
}

static void close_put(struct run *run, const struct bf_seen *e)
{
	struct bf_shmem_put *last = make(run, e->actor, ANY_PE), *p;

	p = last ? slot(run, e->actor, (uint32_t)e->shmem_call.pe) : NULL;
	if (!p || !p->used || !p->open || p->epoch != last->epoch)
		return;
	p->open = false;
	p->signal_record = e->number;
	last->opens--;
}

static void on(struct bf_rules *r, void *facts, const struct bf_seen *e)
{
	struct run *run = facts;
	struct bf_shmem_put *p;

	(void)r;
	if (e->shmem_call.call == BF_SHMEM_CALL_PUT) {
		note_put(run, e);
	} else if (e->shmem_call.call == BF_SHMEM_CALL_COMPLETE) {
		p = make(run, e->actor, ANY_PE);
		if (p) {
			p->epoch++;
			p->opens = 0;
		}
	} else if (e->shmem_call.call == BF_SHMEM_CALL_SIGNAL) {
		close_put(run, e);
	} else if (e->shmem_call.call == BF_SHMEM_CALL_MEET || e->shmem_call.call == BF_SHMEM_CALL_LEAVE) {
		p = make(run, e->actor, ANY_PE);
		if (p && e->shmem_call.call == BF_SHMEM_CALL_MEET)
			p->meets++;
		else if (p)
			p->leaves++;
	}
}

static void forget_run(void *facts)
{
	free(((struct run *)facts)->table);
}

extern const struct bf_rule bf_rule_shmem_flag, bf_rule_shmem_signal, bf_rule_shmem_source, bf_rule_shmem_meet,
    bf_rule_shmem_quiet_early, bf_rule_shmem_left_early, bf_rule_shmem_wait_early;
static const struct bf_rule *const rules[] = { &bf_rule_shmem_flag,        &bf_rule_shmem_signal,
					       &bf_rule_shmem_source,      &bf_rule_shmem_meet,
					       &bf_rule_shmem_quiet_early, &bf_rule_shmem_left_early,
					       &bf_rule_shmem_wait_early,  NULL };

static const uint16_t signs[] = { BF_SEEN_shmem_call, 0 };
static const uint16_t records[] = { BF_SEEN_shmem_call, 0 };

const struct bf_rule_family bf_rules_shmem = {
	.name = "shmem",
	.classes = BF_CLASS_DRIVER,
	.rules = rules,
	.signs = signs,
	.records = records,
	.run_bytes = sizeof(struct run),
	.on = on,
	.forget_run = forget_run,
};
