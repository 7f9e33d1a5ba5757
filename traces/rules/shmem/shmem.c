/* Facts of NVSHMEM-style callers, and the list of their rules. */
#include "traces/rules/shmem/shmem.h"

#include <stdlib.h>

#include "sim/grow.h"
#include "traces/container/number_map_internal.h"

#define ANY_PE UINT32_MAX

/* A warp's puts by PE. The one with pe ANY_PE is its last put, whatever the PE. */
struct run {
	struct bf_number_map at; /* of a warp and a PE: the place of its put, plus one */
	struct bf_shmem_put *puts;
	uint32_t n, cap;
};

static struct bf_shmem_put *find(const struct run *run, uint32_t actor, uint32_t pe)
{
	const uint64_t at = bf_number_get(&run->at, (const uint64_t[]){ actor, pe, 0 });

	return at ? &run->puts[at - 1] : NULL;
}

/* Pointers to others are not valid behind it. */
static struct bf_shmem_put *make(struct run *run, uint32_t actor, uint32_t pe)
{
	struct bf_shmem_put *p = find(run, actor, pe);

	if (p)
		return p;
	if (BF_GROW(run->puts, run->cap, run->n + 1) ||
	    bf_number_put(&run->at, (const uint64_t[]){ actor, pe, 0 }, run->n + 1))
		return NULL;
	p = &run->puts[run->n++];
	p->actor = actor;
	p->pe = pe;
	return p;
}

const struct bf_shmem_put *bf_shmem_open_put(struct bf_rules *r, const struct bf_seen *e, bool any_pe)
{
	const struct run *run = bf_rule_run_facts(r, &bf_rules_shmem);
	const struct bf_shmem_put *last = find(run, e->actor, ANY_PE), *p;

	if (!last || (any_pe && !last->opens))
		return NULL;
	if (any_pe)
		return last;
	p = find(run, e->actor, (uint32_t)e->shmem_call.pe);
	/* The facts are ahead of the rules: the signal in question has closed it already. */
	return p && p->epoch == last->epoch && (p->open || p->signal_record == e->number) ? p : NULL;
}

const struct bf_shmem_put *bf_shmem_warp(struct bf_rules *r, const struct bf_seen *e)
{
	return find(bf_rule_run_facts(r, &bf_rules_shmem), e->actor, ANY_PE);
}

static void note_put(struct run *run, const struct bf_seen *e)
{
	struct bf_shmem_put *last = make(run, e->actor, ANY_PE), *p;
	struct bf_shmem_put put = { .actor = e->actor,
				    .qpn = (uint32_t)e->shmem_call.qpn,
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
	*find(run, e->actor, ANY_PE) = put; /* the list may have moved */
}

static void close_put(struct run *run, const struct bf_seen *e)
{
	struct bf_shmem_put *last = make(run, e->actor, ANY_PE), *p;

	p = last ? find(run, e->actor, (uint32_t)e->shmem_call.pe) : NULL;
	if (!p || !p->open || p->epoch != last->epoch)
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
	struct run *run = facts;

	bf_number_map_free(&run->at);
	free(run->puts);
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
