#include "drivers/trial/exhaust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/coro.h"
#include "sim/grow.h"
#include "sim/records_agent.h"

#define NONE UINT32_MAX
#define DELAYS_MAX 64u

/* A run: that of `parent`, with one more delay. */
struct node {
	uint32_t parent, taken, delays, stalls;
	uint64_t key;
};

/* One choice of the run that goes on. */
struct asked {
	uint64_t key;
	uint32_t n, taken;
	uint8_t kind;
	bool noticed;
};

struct exhaust {
	struct bf_chooser chooser;
	struct bf_sink sink;
	bf_take_fn *take[BF_RECORD_TYPES];
	const struct bf_exhaust_opts *opts;
	struct bf_exhaust_result *out;
	struct node *node;
	uint32_t nodes, nodes_cap;
	/* Of the run that goes on. */
	uint64_t late_key[DELAYS_MAX];
	uint32_t late_taken[DELAYS_MAX], nlate;
	struct asked *asked;
	uint32_t nasked, asked_cap;
	uint32_t unnamed[BF_CHOICE_KINDS];
	uint64_t print; /* of its records */
	uint64_t *seen; /* sets of delays that have a node: a hash table, 0 is free */
	uint32_t nseen, seen_bits;
	uint32_t *by_key; /* choices of the run by name, plus 1: a hash table */
	uint32_t by_key_bits;
	bool no_memory, bounded, stalled;
};

/* ---- one run ---- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

static uint32_t taken_of(const struct exhaust *x, uint64_t key)
{
	for (uint32_t i = 0; i < x->nlate; i++)
		if (x->late_key[i] == key)
			return x->late_taken[i];
	return 0;
}

/* Where the choices called `key` begin in the table. */
static uint64_t slot_of(const struct exhaust *x, uint64_t key)
{
	return mix(key) >> (64 - x->by_key_bits);
}

static uint64_t next_slot(const struct exhaust *x, uint64_t at)
{
	return (at + 1) & ((1ull << x->by_key_bits) - 1);
}

static void index_choice(struct exhaust *x, uint32_t i)
{
	uint64_t at = slot_of(x, x->asked[i].key);

	while (x->by_key[at])
		at = next_slot(x, at);
	x->by_key[at] = i + 1;
}

static bool grow_asked(struct exhaust *x)
{
	uint32_t bits = 1, *table;

	if (BF_GROW(x->asked, x->asked_cap, x->asked_cap + 1))
		return false;
	while (1u << bits < 2 * x->asked_cap)
		bits++;
	table = calloc((size_t)1 << bits, sizeof(*table));
	if (!table)
		return false;
	free(x->by_key);
	x->by_key = table;
	x->by_key_bits = bits;
	for (uint32_t i = 0; i < x->nasked; i++)
		index_choice(x, i);
	return true;
}

static uint32_t choose(struct bf_chooser *c, enum bf_choice_kind kind, uint32_t n)
{
	struct exhaust *x = BF_CONTAINER_OF(c, struct exhaust, chooser);
	const uint64_t key = c->key ? c->key : (uint64_t)(kind + 1) << 60 | 1ull << 59 | x->unnamed[kind]++;

	x->out->asked[kind]++;
	if (x->nasked == x->asked_cap && !grow_asked(x)) {
		x->no_memory = true;
		return 0;
	}
	x->asked[x->nasked] = (struct asked){
		.key = key, .n = n, .taken = taken_of(x, key), .kind = (uint8_t)kind, .noticed = !c->watched
	};
	index_choice(x, x->nasked);
	return x->asked[x->nasked++].taken;
}

static void noticed(struct bf_chooser *c, uint64_t key)
{
	struct exhaust *x = BF_CONTAINER_OF(c, struct exhaust, chooser);

	for (uint64_t at = slot_of(x, key); x->by_key[at]; at = next_slot(x, at))
		if (x->asked[x->by_key[at] - 1].key == key)
			x->asked[x->by_key[at] - 1].noticed = true;
}

/*
 * All that can be noticed, in its order: not when a store became visible, nor what a fence had to push, nor times (what
 * comes after the last store, the clean-up of a run, is late when that is).
 */
static int print_record(struct bf_sink *s, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
			const void *fixed, const void *tail)
{
	struct exhaust *x = BF_CONTAINER_OF(s, struct exhaust, sink);

	x->print = mix(x->print + ((uint64_t)head->actor << 32 | head->type)) + bf_hash_bytes(tail, head->tail);
	for (uint32_t i = 0; i < schema->nfields; i++) {
		const struct bf_rec_field *f = &schema->fields[i];

		if (f->kind != BF_FIELD_TIME)
			x->print = mix(x->print + bf_hash_bytes((const char *)fixed + f->offset, f->size));
	}
	return 0;
}

static void take_delays(struct exhaust *x, uint32_t node)
{
	x->nlate = 0;
	for (uint32_t n = node; x->node[n].parent != NONE; n = x->node[n].parent) {
		x->late_key[x->nlate] = x->node[n].key;
		x->late_taken[x->nlate++] = x->node[n].taken;
	}
}

static int run_once(struct exhaust *x, void *w, struct bf_sink *sink, void *result, struct bf_error *err)
{
	struct bf_error told = { 0 };
	int rc;

	x->nasked = 0;
	x->print = 1;
	memset(x->unnamed, 0, sizeof(x->unnamed));
	if (x->by_key)
		memset(x->by_key, 0, sizeof(*x->by_key) << x->by_key_bits);
	rc = x->opts->family->run(w, sink, result, &told);
	if (rc)
		return bf_fail(err, rc, "%s", told.text);
	return x->no_memory ? bf_fail(err, -ENOMEM, "no memory for a search") : 0;
}

/* The same, with rules that judge it. `*bad`: it is not good. */
static int run_judged(struct exhaust *x, void *w, void *result, bool *bad, struct bf_error *err)
{
	struct bf_rules *rules;
	const struct bf_found *root;
	int rc = bf_rules_create(NULL, &rules, err);

	if (rc)
		return rc;
	rc = run_once(x, w, bf_rules_only_sink(rules), result, err);
	if (!rc)
		rc = bf_rules_finish(rules, true);
	*bad = !rc && (x->opts->family->verdict(result) || bf_rules_problems(rules));
	root = *bad ? bf_rules_root(rules) : NULL;
	if (root)
		snprintf(x->out->found, sizeof(x->out->found), "%s: %s", root->rule->id, root->text);
	bf_rules_destroy(rules);
	return rc;
}

/* ---- all runs ---- */

static bool grow_seen(struct exhaust *x)
{
	const uint32_t bits = x->seen_bits ? x->seen_bits + 1 : 12;
	uint64_t *more = calloc((size_t)1 << bits, sizeof(*more));

	if (!more)
		return false;
	for (uint64_t i = 0; x->seen && i < 1ull << x->seen_bits; i++) {
		uint64_t at = x->seen[i] >> (64 - bits);

		while (x->seen[i] && more[at])
			at = (at + 1) & ((1ull << bits) - 1);
		if (x->seen[i])
			more[at] = x->seen[i];
	}
	free(x->seen);
	x->seen = more;
	x->seen_bits = bits;
	return true;
}

/* True: no node has this set of delays. */
static bool is_new(struct exhaust *x, uint64_t print)
{
	uint64_t at;

	print = print ? print : 1;
	if ((!x->seen || 2ull * x->nseen >= 1ull << x->seen_bits) && !grow_seen(x)) {
		x->no_memory = true;
		return false;
	}
	at = print >> (64 - x->seen_bits);
	for (; x->seen[at]; at = (at + 1) & ((1ull << x->seen_bits) - 1))
		if (x->seen[at] == print)
			return false;
	x->seen[at] = print;
	x->nseen++;
	return true;
}

static void add(struct exhaust *x, const struct node *n)
{
	if (BF_GROW(x->node, x->nodes_cap, x->nodes + 1)) {
		x->no_memory = true;
		return;
	}
	x->node[x->nodes++] = *n;
}

static uint64_t delay_print(uint64_t key, uint32_t taken)
{
	return mix(mix(key) + taken);
}

/* The same for sets with the same delays, in whatever order. */
static uint64_t set_print(const struct exhaust *x)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < x->nlate; i++)
		sum += delay_print(x->late_key[i], x->late_taken[i]);
	return sum;
}

static void add_child(struct exhaust *x, uint32_t parent, const struct asked *a, uint32_t taken)
{
	const struct node *p = &x->node[parent];
	const struct node n = { .parent = parent,
				.taken = taken,
				.delays = p->delays + 1,
				.stalls = p->stalls + (a->kind == BF_CHOICE_SCHEDULE),
				.key = a->key };

	if (n.stalls > x->opts->stalls)
		x->stalled = true;
	else if (n.delays > x->opts->delays || n.delays > DELAYS_MAX)
		x->bounded = true;
	else if (is_new(x, set_print(x) + delay_print(a->key, taken)))
		add(x, &n);
}

static void add_children(struct exhaust *x, uint32_t parent)
{
	for (uint32_t i = 0; i < x->nasked && !x->no_memory; i++) {
		const struct asked *a = &x->asked[i];

		if (a->taken)
			continue;
		x->out->unnoticed += !a->noticed;
		for (uint32_t k = 1; a->noticed && k < a->n; k++)
			add_child(x, parent, a, k);
	}
}

static void tell_list(const struct exhaust *x, char *buf, size_t cap)
{
	size_t len = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < x->nasked && len < cap; i++)
		if (x->asked[i].taken)
			len += (size_t)snprintf(buf + len, cap - len, "%s%u:%u", len ? "," : "", i, x->asked[i].taken);
}

/* A store or a copy that is late may change nothing in the records; a stall shifts times, but not how the run ends. */
static int doubt_one(struct exhaust *x, void *w, const struct asked *a, uint64_t print, void *result,
		     struct bf_error *err)
{
	int rc;

	x->late_key[x->nlate] = a->key;
	x->late_taken[x->nlate++] = 1;
	rc = run_once(x, w, &x->sink, result, err);
	x->nlate--;
	x->out->doubted++;
	if (rc)
		return rc;
	if (!x->opts->family->verdict(result) && (a->kind == BF_CHOICE_SCHEDULE || x->print == print))
		return 0;
	tell_list(x, x->out->list, sizeof(x->out->list));
	return bf_fail(err, -EIO, "a delay (%s) that nobody noticed changes the run: the last one of choices %s",
		       bf_choice_name((enum bf_choice_kind)a->kind), x->out->list);
}

/* Delays of the run that was just made that nobody noticed, tried all the same. */
static int doubt(struct exhaust *x, void *w, void *result, struct bf_error *err)
{
	const uint32_t n = x->nasked;
	const uint64_t print = x->print;
	struct asked *mine = malloc((n ? n : 1) * sizeof(*mine));
	int rc = mine ? 0 : bf_fail(err, -ENOMEM, "no memory for a search");

	if (mine)
		memcpy(mine, x->asked, n * sizeof(*mine));
	for (uint32_t i = 0; i < n && !rc && x->nlate < DELAYS_MAX && x->out->doubted < x->opts->doubts; i++)
		if (!mine[i].noticed && !mine[i].taken)
			rc = doubt_one(x, w, &mine[i], print, result, err);
	free(mine);
	return rc;
}

/* Runs a node and adds those that come after it. 1: it fails. */
static int run_node(struct exhaust *x, void *w, uint32_t node, void *result, struct bf_error *err)
{
	bool bad = false;
	int rc;

	take_delays(x, node);
	x->out->runs++;
	if (x->opts->rules)
		rc = run_judged(x, w, result, &bad, err);
	else
		rc = run_once(x, w, x->opts->doubts ? &x->sink : NULL, result, err);
	if (rc)
		return rc;
	if (node == 0)
		x->out->choices = x->nasked;
	if (bad || x->opts->family->verdict(result)) {
		tell_list(x, x->out->list, sizeof(x->out->list));
		return 1;
	}
	add_children(x, node);
	if (x->no_memory)
		return bf_fail(err, -ENOMEM, "no memory for a search");
	return x->out->doubted < x->opts->doubts && !x->opts->rules ? doubt(x, w, result, err) : 0;
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int search(struct exhaust *x, void *w, void *result, struct bf_error *err)
{
	const uint64_t end = x->opts->ns ? wall_ns() + x->opts->ns : UINT64_MAX;
	int rc = 0;

	add(x, &(struct node){ .parent = NONE });
	for (uint32_t node = 0; node < x->nodes && !rc; node++) {
		x->out->delays = x->node[node].delays ? x->node[node].delays - 1 : 0;
		if (x->out->runs == x->opts->runs || (x->opts->ns && wall_ns() >= end))
			return 0;
		if (x->opts->progress)
			x->opts->progress(x->opts->owner, node, x->nodes);
		rc = run_node(x, w, node, result, err);
	}
	x->out->whole = !rc;
	x->out->all = !rc && !x->bounded && !x->stalled;
	x->out->stalled = !rc && !x->bounded && x->stalled;
	x->out->delays = !rc ? x->opts->delays : x->out->delays;
	return rc;
}

int bf_exhaust(const struct bf_exhaust_opts *opts, const void *w, void *result, struct bf_exhaust_result *out,
	       struct bf_error *err)
{
	const struct bf_search_family *f = opts->family;
	struct exhaust x = { .chooser = { .choose = choose, .noticed = noticed },
			     .sink = { .declare_actor = bf_sink_ignore_actor, .take = x.take },
			     .opts = opts,
			     .out = out };
	struct bf_chooser *chooser = &x.chooser;
	struct bf_stacks stacks = { 0 }, *kept = &stacks;
	void *mine = malloc(f->choice_bytes);
	int rc;

	for (uint32_t i = 0; i < BF_RECORD_TYPES; i++)
		x.take[i] = i == BF_REC_ID_store_visible || i == BF_REC_ID_fence ? NULL : print_record;
	memset(out, 0, sizeof(*out));
	if (!f->chooser.size)
		rc = bf_fail(err, -ENOTSUP, "these workloads have no choices to enumerate");
	else
		rc = mine ? 0 : bf_fail(err, -ENOMEM, "no memory for a search");
	if (!rc) {
		memcpy(mine, w, f->choice_bytes);
		memcpy((char *)mine + f->chooser.offset, &chooser, sizeof(chooser));
		if (f->stacks.size)
			memcpy((char *)mine + f->stacks.offset, &kept, sizeof(kept));
		rc = search(&x, mine, result, err);
	}
	bf_stacks_free(&stacks);
	free(mine);
	free(x.node);
	free(x.asked);
	free(x.by_key);
	free(x.seen);
	return rc;
}
