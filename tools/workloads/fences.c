/*
 * belfry explore --weaken: what each fence, release, acquire and scope of a workload's code is good for.
 *
 * A first pass finds the places, by the records of accesses with their code addresses. Then each place is made weaker
 * by the fault plan (fence-none, fence-cta, fence-gpu), and the search through all runs with delays says whether that
 * harms (drivers/trial/exhaust.h).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/trial/exhaust.h"
#include "sim/records_agent.h"
#include "tools/report/source_line.h"
#include "tools/workloads/family.h"

#define PLACES 64u
#define SITES 16u
#define CALLS 512u
#define IMAGES 256u
#define FIRST_RUNS 4u /* by seed: places that one of them comes by */

enum what { FENCE, RELEASE, ACQUIRE, ATOMIC };
static const char *const whats[] = { "fence", "release", "acquire", "atomic" };
static const char *const scopes[] = { "block", "GPU", "system" };

/* One call, where the compiler put it. */
struct call {
	uint64_t offset, times;
	uint32_t image, scope;
	enum what what;
};

/* A line of code; several calls of it when a compiler has inlined its function more than once. */
struct place {
	struct bf_source_line line;
	enum what what;
	uint32_t scope;
	uint64_t site[SITES];
	uint32_t nsites;
	uint64_t times;
};

struct image {
	char path[4096];
	uint64_t build_id;
};

struct fences {
	struct bf_sink sink;
	bf_take_fn *take[BF_RECORD_TYPES];
	const struct bf_args *args;
	const struct bf_family *f;
	struct bf_exhaust_opts opts;
	void *w, *result;
	struct bf_sources *sources;
	struct image *images;
	struct bf_rec_where where; /* of the access that comes next */
	uint32_t where_actor;
	struct call call[CALLS];
	uint32_t ncalls;
	struct place place[PLACES];
	uint32_t nplaces;
	bool more; /* than there is room for */
	struct bf_json *j;
	uint32_t needed, stronger, redundant, open;
};

/* ---- the places ---- */

static int take_image(struct bf_sink *s, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		      const void *fixed, const void *tail)
{
	struct fences *x = BF_CONTAINER_OF(s, struct fences, sink);
	struct bf_rec_image rec;

	(void)schema;
	memcpy(&rec, fixed, sizeof(rec));
	if (rec.image >= IMAGES)
		return 0;
	x->images[rec.image].build_id = rec.build_id;
	snprintf(x->images[rec.image].path, sizeof(x->images[rec.image].path), "%.*s", (int)head->tail,
		 (const char *)tail);
	return 0;
}

static int take_where(struct bf_sink *s, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		      const void *fixed, const void *tail)
{
	struct fences *x = BF_CONTAINER_OF(s, struct fences, sink);

	(void)schema;
	(void)tail;
	memcpy(&x->where, fixed, sizeof(x->where));
	x->where_actor = head->actor;
	return 0;
}

/* On the stack of an agent: no more than a note. */
static void meet(struct fences *x, uint32_t actor, enum what what, uint32_t scope)
{
	struct call *c = x->call;

	if (x->where_actor != actor)
		return;
	x->where_actor = 0;
	while (c < x->call + x->ncalls && (c->offset != x->where.offset || c->image != x->where.image))
		c++;
	if (c == x->call + x->ncalls) {
		x->more |= x->ncalls == CALLS;
		if (x->ncalls == CALLS)
			return;
		x->ncalls++;
		*c = (struct call){ .offset = x->where.offset, .image = (uint32_t)x->where.image, .what = what };
	}
	c->times++;
	c->scope = scope > c->scope ? scope : c->scope;
}

/* The place whose line this is; NULL: no room. */
static struct place *place_of(struct fences *x, const struct bf_source_line *line, const struct call *c)
{
	struct place *p = x->place;

	for (; p < x->place + x->nplaces; p++)
		if (p->line.line == line->line && strcmp(p->line.file, line->file) == 0 && p->what == c->what &&
		    p->nsites < SITES)
			return p;
	x->more |= x->nplaces == PLACES;
	if (x->nplaces == PLACES)
		return NULL;
	x->nplaces++;
	*p = (struct place){ .line = *line, .what = c->what };
	return p;
}

static int by_line(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	const int file = strcmp(x->line.file, y->line.file);

	return file ? file : x->line.line != y->line.line ? x->line.line - y->line.line : (int)x->what - (int)y->what;
}

static void place_calls(struct fences *x)
{
	for (const struct call *c = x->call; c < x->call + x->ncalls; c++) {
		const struct image *m = c->image < IMAGES ? &x->images[c->image] : NULL;
		const struct bf_place at = { .path = m ? m->path : "",
					     .build_id = m ? m->build_id : 0,
					     .offset = c->offset };
		struct bf_source_line line = { .line = 0 };
		struct place *p;

		if (!bf_source_line(x->sources, &at, &line, NULL))
			snprintf(line.file, sizeof(line.file), "%.200s+0x%" PRIx64, at.path, at.offset);
		p = place_of(x, &line, c);
		if (!p)
			continue;
		p->site[p->nsites++] = c->offset;
		p->times += c->times;
		p->scope = c->scope > p->scope ? c->scope : p->scope;
	}
	qsort(x->place, x->nplaces, sizeof(x->place[0]), by_line);
}

static int take_fence(struct bf_sink *s, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		      const void *fixed, const void *tail)
{
	struct bf_rec_fence rec;

	(void)schema;
	(void)tail;
	memcpy(&rec, fixed, sizeof(rec));
	meet(BF_CONTAINER_OF(s, struct fences, sink), head->actor, FENCE, rec.scope);
	return 0;
}

static int take_store(struct bf_sink *s, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		      const void *fixed, const void *tail)
{
	struct bf_rec_store rec;

	(void)schema;
	(void)tail;
	memcpy(&rec, fixed, sizeof(rec));
	if (rec.sem == BF_RELEASE || rec.sem == BF_ACQ_REL)
		meet(BF_CONTAINER_OF(s, struct fences, sink), head->actor, RELEASE, rec.scope);
	return 0;
}

static int take_load(struct bf_sink *s, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		     const void *fixed, const void *tail)
{
	struct bf_rec_load rec;

	(void)schema;
	(void)tail;
	memcpy(&rec, fixed, sizeof(rec));
	if (rec.sem == BF_ACQUIRE || rec.sem == BF_ACQ_REL)
		meet(BF_CONTAINER_OF(s, struct fences, sink), head->actor, ACQUIRE, rec.scope);
	return 0;
}

static int take_atomic(struct bf_sink *s, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		       const void *fixed, const void *tail)
{
	struct bf_rec_atomic rec;

	(void)schema;
	(void)tail;
	memcpy(&rec, fixed, sizeof(rec));
	if (rec.scope != BF_SCOPE_CTA)
		meet(BF_CONTAINER_OF(s, struct fences, sink), head->actor, ATOMIC, rec.scope);
	return 0;
}

static int find_places(struct fences *x, struct bf_error *err)
{
	const struct bf_search_part *seed = &x->f->search.seed;
	const uint64_t first = bf_member_get(x->w, seed->offset, seed->size);
	int rc = 0;

	x->sink = (struct bf_sink){ .declare_actor = bf_sink_ignore_actor, .take = x->take };
	x->take[BF_REC_ID_image] = take_image;
	x->take[BF_REC_ID_where] = take_where;
	x->take[BF_REC_ID_fence] = take_fence;
	x->take[BF_REC_ID_store] = take_store;
	x->take[BF_REC_ID_load] = take_load;
	x->take[BF_REC_ID_atomic] = take_atomic;
	for (uint32_t i = 0; i < FIRST_RUNS && !rc; i++) {
		bf_member_set(x->w, seed->offset, seed->size, first + i);
		rc = bf_family_again(x->f, x->w, BF_CLASS_MEM | BF_CLASS_WHERE, &x->sink, err);
	}
	bf_member_set(x->w, seed->offset, seed->size, first);
	place_calls(x);
	return rc;
}

/* ---- the verdicts ---- */

static void set_plan(struct fences *x, char *plan)
{
	memcpy((char *)x->w + x->f->faults.offset, &plan, sizeof(plan));
}

/* "fence-none site=0x12; fence-none site=0x34" */
static void write_plan(const struct place *p, const char *kind, char *buf, size_t cap)
{
	size_t len = 0;

	for (uint32_t i = 0; i < p->nsites && len < cap; i++)
		len += (size_t)snprintf(buf + len, cap - len, "%s%s site=0x%" PRIx64, i ? "; " : "", kind, p->site[i]);
}

/* The search with `p` as weak as `kind`. 1: some run fails. */
static int weaken(struct fences *x, const struct place *p, const char *kind, struct bf_exhaust_result *r, char *plan,
		  size_t cap, struct bf_error *err)
{
	int rc;

	write_plan(p, kind, plan, cap);
	set_plan(x, plan);
	rc = bf_explore_exhaust(x->args, &x->opts, x->w, x->result, r, err);
	return rc;
}

static void command_of(const struct fences *x, const struct bf_exhaust_result *r, char *buf, size_t cap)
{
	bf_family_command(x->f, x->w, buf, cap);
	if (r->list[0])
		bf_command_append(buf, cap, "choices", r->list);
}

static const char *verdict_of(const struct fences *x)
{
	const uint32_t v = x->f->search.verdict(x->result);

	return v ? x->f->verdict_name(v) : "a rule's finding";
}

static void place_name(const struct place *p, char *buf, size_t cap)
{
	if (p->line.line)
		snprintf(buf, cap, "%.200s:%d", p->line.file, p->line.line);
	else
		snprintf(buf, cap, "%.200s", p->line.file);
}

static void tell(struct fences *x, const struct place *p, const char *verdict, const char *detail, const char *command)
{
	char at[256];

	place_name(p, at, sizeof(at));
	if (x->j) {
		bf_json_open(x->j, NULL, '{');
		bf_json_text(x->j, "place", at);
		bf_json_text(x->j, "function", p->line.function);
		bf_json_text(x->j, "what", whats[p->what]);
		bf_json_text(x->j, "scope", scopes[p->scope]);
		bf_json_u64(x->j, "times", p->times);
		bf_json_text(x->j, "verdict", verdict);
		bf_json_text(x->j, "detail", detail);
		if (command[0])
			bf_json_text(x->j, "command", command);
		bf_json_close(x->j, '}');
		return;
	}
	printf("%s %s: %s, %s scope: %s\n    %s\n", at, p->line.function, whats[p->what], scopes[p->scope], verdict,
	       detail);
	if (command[0])
		printf("    %s\n", command);
}

static int judge(struct fences *x, const struct place *p, struct bf_error *err)
{
	static const char *const kinds[] = { "fence-none", "fence-cta", "fence-gpu" };
	static const char *const forms[] = { "without it", "at block scope", "at GPU scope" };
	const uint32_t first = p->what == ATOMIC ? 1 : 0;
	char plan[64 * SITES], command[2048] = "", detail[512] = "";
	struct bf_exhaust_result r;
	uint32_t k;
	int rc = 1;

	for (k = first; k <= p->scope && rc == 1; k++) {
		rc = weaken(x, p, kinds[k], &r, plan, sizeof(plan), err);
		if (rc < 0)
			break;
		if (rc == 1) {
			snprintf(detail, sizeof(detail), "%s: %s after %" PRIu64 " runs", forms[k], verdict_of(x),
				 r.runs);
			command_of(x, &r, command, sizeof(command));
		}
	}
	set_plan(x, NULL);
	if (rc < 0)
		return rc;
	if (rc == 1) {
		x->needed++;
		tell(x, p, "needed", detail, command);
		return 0;
	}
	k--;
	snprintf(detail + strlen(detail), sizeof(detail) - strlen(detail), "%s%s: %s %" PRIu64 " runs are good",
		 detail[0] ? "; " : "", forms[k], r.whole ? "all" : "not finished,", r.runs);
	if (!r.whole) {
		x->open++;
		tell(x, p, "not decided", detail, command);
	} else if (k == 0) {
		x->redundant++;
		tell(x, p, "redundant at this size", detail, "");
	} else {
		x->stronger++;
		tell(x, p, "stronger than needed at this size", detail, command);
	}
	return 0;
}

/* As it is, it must be good: something is missing otherwise. 1: it is not. */
static int judge_whole(struct fences *x, struct bf_error *err)
{
	struct bf_exhaust_result r;
	char command[2048];
	const int rc = bf_explore_exhaust(x->args, &x->opts, x->w, x->result, &r, err);

	if (rc < 0)
		return rc;
	command_of(x, &r, command, sizeof(command));
	if (x->j) {
		bf_json_bool(x->j, "good", !rc);
		bf_json_u64(x->j, "runs", r.runs);
		bf_json_bool(x->j, "whole", r.whole);
		if (rc)
			bf_json_text(x->j, "command", command);
	} else if (rc) {
		printf("as it is: %s after %" PRIu64 " runs: something is missing\n    %s\n", verdict_of(x), r.runs,
		       command);
	} else {
		printf("as it is: %s %" PRIu64 " runs with at most %u delays, %u of them stalls, are good\n",
		       r.whole ? "all" : "not finished,", r.runs, x->opts.delays, x->opts.stalls);
	}
	return rc;
}

static int judge_all(struct fences *x)
{
	struct bf_error err = { 0 };
	int rc = find_places(x, &err);

	if (!rc)
		rc = judge_whole(x, &err);
	if (rc < 0)
		return bf_cli_error(x->args, BF_EXIT_USAGE, "%s", err.text);
	if (rc == 1)
		return BF_EXIT_FAILED;
	if (x->j)
		bf_json_open(x->j, "places", '[');
	for (uint32_t i = 0; i < x->nplaces && !rc; i++)
		rc = judge(x, &x->place[i], &err);
	if (x->j)
		bf_json_close(x->j, ']');
	if (rc < 0)
		return bf_cli_error(x->args, BF_EXIT_USAGE, "%s", err.text);
	if (!x->j)
		printf("%u places: %u needed, %u stronger than needed, %u redundant, %u not decided%s\n", x->nplaces,
		       x->needed, x->stronger, x->redundant, x->open, x->more ? "; there are more" : "");
	return BF_EXIT_GOOD;
}

int bf_explore_fences(const struct bf_args *args, const struct bf_family *f, const void *w,
		      const struct bf_exhaust_opts *opts)
{
	struct fences *x = calloc(1, sizeof(*x));
	struct bf_json j;
	int code;

	if (!f->faults.size || !f->search.chooser.size || bf_family_faults(f, w)) {
		free(x);
		return bf_cli_error(args, BF_EXIT_USAGE, "--weaken: %s",
				    bf_family_faults(f, w) ? "the fault plan is its own"
							   : "these workloads have no fault plan");
	}
	if (x) {
		x->args = args;
		x->f = f;
		x->opts = *opts;
		x->w = malloc(f->search.choice_bytes);
		x->result = calloc(1, f->search.result_bytes);
		x->images = calloc(IMAGES, sizeof(*x->images));
		x->sources = bf_sources_open();
	}
	if (x && x->w && x->result && x->images) {
		memcpy(x->w, w, f->search.choice_bytes);
		bf_member_set(x->w, f->search.ordering.offset, f->search.ordering.size, BF_ORDER_ADVERSARIAL);
		bf_member_set(x->w, f->records.offset, f->records.size, opts->rules ? BF_CLASS_ALL : 0);
		bf_member_set(x->w, f->counts.offset, f->counts.size, false);
		if (bf_arg_json(args)) {
			x->j = &j;
			bf_json_begin(&j, stdout);
			bf_json_open(&j, NULL, '{');
			bf_json_text(&j, "workload", bf_family_work(f, w)->name);
		}
		code = judge_all(x);
		if (x->j) {
			bf_json_close(&j, '}');
			bf_json_end(&j);
		}
	} else {
		code = bf_cli_error(args, BF_EXIT_USAGE, "no memory for a search");
	}
	if (x) {
		bf_sources_free(x->sources);
		free(x->images);
		free(x->result);
		free(x->w);
	}
	free(x);
	return code;
}
