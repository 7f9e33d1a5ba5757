#include "tools/fences/fences.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compiler.h"
#include "sim/grow.h"
#include "sim/records_agent.h"
#include "sim/view.h"

#define SITES 32u
#define IMAGES 256u

enum what { FENCE, RELEASE, ACQUIRE, ORDER, SCOPE };
static const char *const whats[] = { "fence", "release", "acquire", "order of an atomic", "atomic" };
static const char *const scopes[] = { "block", "GPU", "system" };

/* How weak a place is made, the weakest first. */
static const char *const kinds[] = { "fence-none", "fence-cta", "fence-gpu" };
static const char *const forms[] = { "without it", "at block scope", "at GPU scope" };

/* One call, where the compiler put it. */
struct call {
	uint64_t offset, times;
	uint32_t image, scope;
	enum what what;
};

/* A line of code; several calls of it when a compiler has inlined its function more than once. */
struct place {
	struct bf_source_line line;
	char text[160];
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

enum known { IMAGE, WHERE, FENCED, STORE, LOAD, ATOMIC, MMIO, KNOWN };

struct fences {
	struct bf_sink sink;
	uint16_t type[KNOWN]; /* of the stream */
	const struct bf_args *args;
	const struct bf_fence_code *code;
	struct bf_sources *sources;
	struct image *images;
	struct bf_rec_where where; /* of the access that comes next */
	uint32_t where_actor;
	struct call *call;
	uint32_t ncalls, calls_cap;
	struct place *place;
	uint32_t nplaces, places_cap;
	bool no_memory;
	struct bf_json *j;
	uint32_t needed, stronger, redundant, open;
};

/* ---- the places ---- */

static void take_image(struct fences *x, const uint8_t *fixed, const char *tail, uint32_t len)
{
	struct bf_rec_image rec;

	memcpy(&rec, fixed, sizeof(rec));
	if (rec.image >= IMAGES)
		return;
	x->images[rec.image].build_id = rec.build_id;
	snprintf(x->images[rec.image].path, sizeof(x->images[rec.image].path), "%.*s", (int)len, tail);
}

static void meet(struct fences *x, enum what what, uint32_t scope)
{
	struct call *c;
	uint32_t i = 0;

	while (i < x->ncalls &&
	       (x->call[i].offset != x->where.offset || x->call[i].image != x->where.image || x->call[i].what != what))
		i++;
	if (BF_GROW(x->call, x->calls_cap, i + 1)) {
		x->no_memory = true;
		return;
	}
	c = &x->call[i];
	if (i == x->ncalls) {
		x->ncalls++;
		*c = (struct call){ .offset = x->where.offset, .image = (uint32_t)x->where.image, .what = what };
	}
	c->times++;
	c->scope = scope > c->scope ? scope : c->scope;
}

static void take_atomic(struct fences *x, const struct bf_rec_atomic *rec)
{
	if (rec->scope != BF_SCOPE_CTA)
		meet(x, SCOPE, rec->scope);
	if (rec->sem == BF_RELEASE || rec->sem == BF_ACQUIRE || rec->sem == BF_ACQ_REL)
		meet(x, ORDER, rec->scope);
}

/* Whether it is one. */
static bool take_access(struct fences *x, uint16_t type, const uint8_t *fixed)
{
	const union {
		const uint8_t *bytes;
		const struct bf_rec_fence *fence;
		const struct bf_rec_store *store;
		const struct bf_rec_load *load;
		const struct bf_rec_atomic *atomic;
		const struct bf_rec_mmio_store *mmio;
	} rec = { fixed };

	if (type == x->type[FENCED])
		meet(x, FENCE, rec.fence->scope);
	else if (type == x->type[STORE] && (rec.store->sem == BF_RELEASE || rec.store->sem == BF_ACQ_REL))
		meet(x, RELEASE, rec.store->scope);
	else if (type == x->type[LOAD] && (rec.load->sem == BF_ACQUIRE || rec.load->sem == BF_ACQ_REL))
		meet(x, ACQUIRE, rec.load->scope);
	else if (type == x->type[ATOMIC])
		take_atomic(x, rec.atomic);
	else if (type == x->type[MMIO] && (rec.mmio->sem == BF_RELEASE || rec.mmio->sem == BF_ACQ_REL))
		meet(x, RELEASE, BF_SCOPE_SYS); /* its record has no scope */
	return type == x->type[FENCED] || type == x->type[STORE] || type == x->type[LOAD] || type == x->type[ATOMIC] ||
	       type == x->type[MMIO];
}

static int take_records(struct bf_sink *s, const void *records, size_t len)
{
	struct fences *x = BF_CONTAINER_OF(s, struct fences, sink);
	const uint8_t *at = records, *end = at + len;

	for (; at < end; at += bf_record_span((const void *)at)) {
		const struct bf_rec_header *head = (const void *)at;
		const uint8_t *fixed = (const uint8_t *)(head + 1);

		if (head->type == x->type[IMAGE]) {
			take_image(x, fixed, (const char *)fixed + sizeof(struct bf_rec_image), head->tail);
		} else if (head->type == x->type[WHERE]) {
			memcpy(&x->where, fixed, sizeof(x->where));
			x->where_actor = head->actor;
		} else if (head->actor == x->where_actor && take_access(x, head->type, fixed)) {
			x->where_actor = 0;
		}
	}
	return 0;
}

static int take_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	static const char *const names[KNOWN] = { "image", "where", "fence", "store", "load", "atomic", "mmio_store" };
	struct fences *x = BF_CONTAINER_OF(s, struct fences, sink);

	for (uint32_t i = 0; i < KNOWN; i++)
		if (strcmp(schema->name, names[i]) == 0)
			x->type[i] = schema->id;
	return 0;
}

/* The place whose line this is, a new one if need be; NULL: no memory. */
static struct place *place_of(struct fences *x, const struct bf_source_line *line, const struct call *c)
{
	struct place *p;

	for (uint32_t i = 0; i < x->nplaces; i++) {
		p = &x->place[i];
		if (p->line.line == line->line && strcmp(p->line.file, line->file) == 0 && p->what == c->what &&
		    p->nsites < SITES)
			return p;
	}
	if (BF_GROW(x->place, x->places_cap, x->nplaces + 1)) {
		x->no_memory = true;
		return NULL;
	}
	p = &x->place[x->nplaces++];
	*p = (struct place){ .line = *line, .what = c->what };
	return p;
}

static int by_line(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	const int file = strcmp(x->line.file, y->line.file);

	return file ? file : x->line.line != y->line.line ? x->line.line - y->line.line : (int)x->what - (int)y->what;
}

/* False: nothing to judge. */
static bool line_of(struct fences *x, const struct bf_place *at, struct bf_source_line *line, char *text, size_t cap,
		    uint32_t *scope)
{
	*text = '\0';
	if (x->code->line)
		return x->code->line(x->code->own, at, line, text, cap, scope);
	if (!bf_source_line(x->sources, at, line, NULL))
		snprintf(line->file, sizeof(line->file), "%.200s+0x%" PRIx64, at->path, at->offset);
	return true;
}

static void place_calls(struct fences *x)
{
	for (uint32_t i = 0; i < x->ncalls; i++) {
		const struct call *c = &x->call[i];
		const struct image *m = c->image < IMAGES ? &x->images[c->image] : NULL;
		const struct bf_place at = { .path = m ? m->path : "",
					     .build_id = m ? m->build_id : 0,
					     .offset = c->offset };
		struct bf_source_line line = { .line = 0 };
		char text[sizeof(x->place->text)];
		uint32_t scope = c->scope;
		struct place *p;

		if (!line_of(x, &at, &line, text, sizeof(text), &scope))
			continue;
		p = place_of(x, &line, c);
		if (!p)
			return;
		memcpy(p->text, text, sizeof(p->text));
		p->site[p->nsites++] = c->offset;
		p->times += c->times;
		p->scope = scope > p->scope ? scope : p->scope;
	}
	if (x->nplaces)
		qsort(x->place, x->nplaces, sizeof(x->place[0]), by_line);
}

static int find_places(struct fences *x, struct bf_error *err)
{
	int rc = 0;

	x->sink =
	    (struct bf_sink){ .declare_type = take_type, .declare_actor = bf_sink_ignore_actor, .write = take_records };
	for (uint32_t i = 0; i < x->code->first_runs && !rc; i++) {
		memset(x->type, 0xff, sizeof(x->type));
		x->where_actor = 0;
		rc = x->code->watch(x->code->own, i, &x->sink, err);
	}
	if (!rc)
		place_calls(x);
	return !rc && x->no_memory ? bf_fail(err, -ENOMEM, "no memory for places") : rc;
}

/* ---- the verdicts ---- */

/* "fence-none site=0x12; fence-none site=0x34" */
static void write_plan(const struct place *p, const char *kind, char *buf, size_t cap)
{
	size_t len = 0;

	for (uint32_t i = 0; i < p->nsites && len < cap; i++)
		len += (size_t)snprintf(buf + len, cap - len, "%s%s site=0x%" PRIx64, i ? "; " : "", kind, p->site[i]);
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
		if (p->text[0])
			bf_json_text(x->j, "text", p->text);
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
	printf("%s %s: %s, %s scope: %s\n", at, p->line.function, whats[p->what], scopes[p->scope], verdict);
	if (p->text[0])
		printf("    %s\n", p->text);
	printf("    %s\n", detail);
	if (command[0])
		printf("    %s\n", command);
	fflush(stdout);
}

/* The forms to try, from the first to the last. */
static void forms_of(const struct place *p, uint32_t *first, uint32_t *last)
{
	*first = p->what == SCOPE ? 1 : 0;
	*last = p->what == ORDER ? 0 : p->scope;
}

static void tell_good(struct fences *x, const struct place *p, uint32_t form, const struct bf_fence_search *r,
		      char *detail, size_t cap, const char *command)
{
	const size_t len = strlen(detail);

	snprintf(detail + len, cap - len, "%s%s: %s %" PRIu64 " runs are good", len ? "; " : "",
		 p->what == ORDER ? "relaxed" : forms[form], r->whole ? "all" : "not finished,", r->runs);
	if (!r->whole) {
		x->open++;
		tell(x, p, "not decided", detail, command);
	} else if (form == 0) {
		x->redundant++;
		tell(x, p, "redundant at this size", detail, "");
	} else {
		x->stronger++;
		tell(x, p, "stronger than needed at this size", detail, command);
	}
}

static int judge(struct fences *x, const struct place *p, struct bf_error *err)
{
	char plan[48 * SITES], command[2048] = "", detail[1600] = "";
	struct bf_fence_search r;
	uint32_t k, last;

	for (forms_of(p, &k, &last); k <= last; k++) {
		int rc;

		write_plan(p, kinds[k], plan, sizeof(plan));
		memset(&r, 0, sizeof(r));
		rc = x->code->search(x->code->own, plan, &r, err);
		if (rc < 0)
			return rc;
		if (rc == 0) {
			tell_good(x, p, k, &r, detail, sizeof(detail), command);
			return 0;
		}
		snprintf(detail, sizeof(detail), "%s: %s after %" PRIu64 " runs%s%s",
			 p->what == ORDER ? "relaxed" : forms[k], r.what, r.runs, r.cause[0] ? ": " : "", r.cause);
		memcpy(command, r.again, sizeof(command));
	}
	x->needed++;
	tell(x, p, "needed", detail, command);
	return 0;
}

/* As it is, it must be good: something is missing otherwise. 1: it is not. */
static int judge_whole(struct fences *x, struct bf_error *err)
{
	const struct bf_fence_code *code = x->code;
	struct bf_fence_search r = { 0 };
	const int rc = code->search(code->own, NULL, &r, err);

	if (rc < 0)
		return rc;
	if (x->j) {
		bf_json_bool(x->j, "good", !rc);
		bf_json_u64(x->j, "runs", r.runs);
		bf_json_bool(x->j, "whole", r.whole);
		bf_json_u64(x->j, "delays", code->delays);
		bf_json_u64(x->j, "stalls", code->stalls);
		if (rc)
			bf_json_text(x->j, "verdict", r.what);
		if (r.cause[0])
			bf_json_text(x->j, rc ? "cause" : "luck", r.cause);
		if (rc)
			bf_json_text(x->j, "command", r.again);
		return rc;
	}
	if (rc)
		printf("as it is: %s after %" PRIu64 " runs: something is missing\n    %s\n", r.what, r.runs, r.again);
	else
		printf("as it is: %s %" PRIu64 " runs with at most %u delays, %u of them stalls, are good\n",
		       r.whole ? "all" : "not finished,", r.runs, code->delays, code->stalls);
	if (r.cause[0]) {
		printf("%s: ", rc ? "cause" : "may be missing");
		bf_cli_wrap(stdout, r.cause, 4, 4);
	}
	fflush(stdout);
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
		printf("%u places: %u needed, %u stronger than needed, %u redundant, %u not decided\n", x->nplaces,
		       x->needed, x->stronger, x->redundant, x->open);
	return BF_EXIT_GOOD;
}

int bf_fences(const struct bf_args *args, const struct bf_fence_code *code)
{
	struct fences x = { .args = args, .code = code, .images = calloc(IMAGES, sizeof(*x.images)) };
	struct bf_json j;
	int rc;

	if (!x.images)
		return bf_cli_error(args, BF_EXIT_USAGE, "no memory for places");
	x.sources = bf_sources_open();
	if (bf_arg_json(args)) {
		x.j = &j;
		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "code", code->name);
	}
	rc = judge_all(&x);
	if (x.j) {
		bf_json_close(&j, '}');
		bf_json_end(&j);
	}
	bf_sources_free(x.sources);
	free(x.images);
	free(x.call);
	free(x.place);
	return rc;
}
