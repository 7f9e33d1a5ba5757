#include "drivers/trial/exhaust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/coro.h"
#include "sim/records_agent.h"

#define NONE UINT32_MAX

/* A run: that of `parent`, with one more delay behind all of its. */
struct node {
	uint32_t parent, at, taken, delays;
};

struct exhaust {
	struct bf_chooser chooser;
	struct bf_sink sink;
	const struct bf_exhaust_opts *opts;
	struct bf_exhaust_result *out;
	struct node *node;
	uint32_t nodes, cap;
	/* Of the run that goes on: what is taken where, in order; how many alternatives there were. */
	uint32_t at, list_at[16], list_taken[16], nlist, next;
	uint8_t *alternatives;
	uint32_t nalternatives, alternatives_cap;
	uint64_t print; /* of its records */
	uint64_t *seen; /* prints of earlier runs: a hash table, 0 is free */
	uint32_t nseen, seen_bits;
	bool no_memory;
};

#define DELAYS_MAX 16u

/* ---- one run ---- */

static uint32_t choose(struct bf_chooser *c, enum bf_choice_kind kind, uint32_t n)
{
	struct exhaust *x = BF_CONTAINER_OF(c, struct exhaust, chooser);
	const uint32_t at = x->at++;

	x->out->asked[kind]++;
	if (at == x->alternatives_cap) {
		const uint32_t cap = at ? 2 * at : 256;
		uint8_t *more = realloc(x->alternatives, cap);

		if (!more) {
			x->no_memory = true;
			x->at--;
			return 0;
		}
		x->alternatives = more;
		x->alternatives_cap = cap;
	}
	x->alternatives[at] = (uint8_t)(n < 255 ? n : 255);
	if (x->next == x->nlist || x->list_at[x->next] != at)
		return 0;
	return x->list_taken[x->next++];
}

/* All that can be noticed: not when a store became visible, nor what a fence had to push. */
static int print_records(struct bf_sink *s, const void *records, size_t len)
{
	struct exhaust *x = BF_CONTAINER_OF(s, struct exhaust, sink);
	const uint8_t *p = records, *end = p + len;

	while (p < end) {
		struct bf_rec_header head;
		size_t bytes;

		memcpy(&head, p, sizeof(head));
		bytes = (sizeof(head) + head.fixed + head.tail + 7) & ~(size_t)7;
		if (head.type != BF_REC_ID_store_visible && head.type != BF_REC_ID_fence)
			x->print = bf_hash_records(x->print, p, bytes);
		p += bytes;
	}
	return 0;
}

static int ignore_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	(void)s;
	(void)schema;
	return 0;
}

static int ignore_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	(void)s;
	(void)actor;
	(void)kind;
	(void)name;
	return 0;
}

static void take_list(struct exhaust *x, uint32_t node)
{
	x->nlist = x->node[node].delays;
	for (uint32_t i = x->nlist, n = node; i-- > 0; n = x->node[n].parent) {
		x->list_at[i] = x->node[n].at;
		x->list_taken[i] = x->node[n].taken;
	}
	x->at = x->next = 0;
	x->print = 1;
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

/* True: no earlier run was like this one. */
static bool is_new(struct exhaust *x)
{
	const uint64_t print = x->print ? x->print : 1;
	uint64_t at;

	if ((!x->seen || 2ull * x->nseen >= 1ull << x->seen_bits) && !grow_seen(x)) {
		x->no_memory = true;
		return true;
	}
	at = print >> (64 - x->seen_bits);
	for (; x->seen[at]; at = (at + 1) & ((1ull << x->seen_bits) - 1))
		if (x->seen[at] == print)
			return false;
	x->seen[at] = print;
	x->nseen++;
	return true;
}

static void add(struct exhaust *x, uint32_t parent, uint32_t at, uint32_t taken)
{
	if (x->nodes == x->cap) {
		const uint32_t cap = x->cap ? 2 * x->cap : 1024;
		struct node *more = realloc(x->node, cap * sizeof(*more));

		if (!more) {
			x->no_memory = true;
			return;
		}
		x->node = more;
		x->cap = cap;
	}
	x->node[x->nodes++] = (struct node){
		.parent = parent, .at = at, .taken = taken, .delays = parent == NONE ? 0 : x->node[parent].delays + 1
	};
}

static void tell_list(const struct exhaust *x, char *buf, size_t cap)
{
	size_t len = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < x->nlist && len < cap; i++)
		len += (size_t)snprintf(buf + len, cap - len, "%s%u:%u", i ? "," : "", x->list_at[i], x->list_taken[i]);
}

/* Runs a node and adds those that come after it. 1: it fails. */
static int run_node(struct exhaust *x, void *w, uint32_t node, void *result, struct bf_error *err)
{
	const struct bf_search_family *f = x->opts->family;
	struct bf_error told = { 0 };
	uint32_t from;
	int rc;

	take_list(x, node);
	rc = f->run(w, &x->sink, result, &told);
	x->out->runs++;
	if (rc)
		return bf_fail(err, rc, "%s", told.text);
	if (x->next != x->nlist)
		return bf_fail(err, -EIO, "a run did not repeat itself");
	if (node == 0)
		x->out->choices = x->at;
	if (f->verdict(result)) {
		tell_list(x, x->out->list, sizeof(x->out->list));
		return 1;
	}
	if (!is_new(x)) {
		x->out->equal++;
		return 0;
	}
	from = x->nlist ? x->list_at[x->nlist - 1] + 1 : 0;
	for (uint32_t at = from; at < x->at && !x->no_memory; at++)
		for (uint32_t k = 1; k < x->alternatives[at]; k++)
			add(x, node, at, k);
	return x->no_memory ? bf_fail(err, -ENOMEM, "no memory for a search") : 0;
}

static int search(struct exhaust *x, void *w, void *result, struct bf_error *err)
{
	const uint32_t most = x->opts->delays < DELAYS_MAX ? x->opts->delays : DELAYS_MAX;
	int rc = 0;

	add(x, NONE, 0, 0);
	for (uint32_t node = 0; node < x->nodes && !rc; node++) {
		if (x->node[node].delays > most) {
			x->out->whole = true;
			x->out->delays = most;
			return 0;
		}
		if (x->out->runs == x->opts->runs)
			return 0;
		x->out->delays = x->node[node].delays ? x->node[node].delays - 1 : 0;
		rc = run_node(x, w, node, result, err);
	}
	x->out->whole = x->out->all = !rc;
	x->out->delays = !rc ? most : x->out->delays;
	return rc;
}

int bf_exhaust(const struct bf_exhaust_opts *opts, const void *w, void *result, struct bf_exhaust_result *out,
	       struct bf_error *err)
{
	const struct bf_search_family *f = opts->family;
	struct exhaust x = {
		.chooser.choose = choose,
		.sink = { .declare_type = ignore_type, .declare_actor = ignore_actor, .write = print_records },
		.opts = opts,
		.out = out
	};
	struct bf_chooser *chooser = &x.chooser;
	struct bf_stacks stacks = { 0 }, *kept = &stacks;
	void *mine = malloc(f->choice_bytes);
	int rc;

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
	free(x.alternatives);
	free(x.seen);
	return rc;
}
