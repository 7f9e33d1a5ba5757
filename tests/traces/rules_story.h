/* Records made by hand, put before all rules: what a story's rules find. */
#ifndef BELFRY_TESTS_TRACES_RULES_STORY_H
#define BELFRY_TESTS_TRACES_RULES_STORY_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "traces/rules/rules.h"

struct story {
	uint64_t now, seq;
	struct bf_stream st;
	struct bf_rules *rules;
};

/* `sink`: bf_rules_sink or bf_rules_only_sink. */
static void story_begin_by(struct story *s, struct bf_sink *(*sink)(struct bf_rules *r))
{
	*s = (struct story){ 0 };
	ck_assert_int_eq(bf_rules_create(NULL, &s->rules, NULL), 0);
	ck_assert_int_eq(bf_stream_open(&s->st, &s->now, BF_CLASS_ALL, sink(s->rules)), 0);
}

static inline void story_begin(struct story *s)
{
	story_begin_by(s, bf_rules_sink);
}

static uint32_t story_actor(struct story *s, const char *kind, const char *name)
{
	return bf_stream_actor(&s->st, kind, name);
}

/* A record of `type` by `who`, a picosecond after the one before. */
#define STORY(s, type, who, ...)                                                                                       \
	do {                                                                                                           \
		const struct bf_rec_##type rec_ = { __VA_ARGS__ };                                                     \
		bf_record(&(s)->st, &bf_rec_##type##_schema, (who), &rec_, NULL, 0);                                   \
		(s)->now++;                                                                                            \
	} while (0)

#define STORY_TAIL(s, type, who, bytes, len, ...)                                                                      \
	do {                                                                                                           \
		const struct bf_rec_##type rec_ = { __VA_ARGS__ };                                                     \
		bf_record(&(s)->st, &bf_rec_##type##_schema, (who), &rec_, (bytes), (len));                            \
		(s)->now++;                                                                                            \
	} while (0)

/* Ends the story: `id` is the root cause (or, being a note, is found), with `text` in its words. */
static void story_ends(struct story *s, const char *id, const char *text)
{
	const struct bf_found *f = NULL;

	ck_assert_int_eq(bf_stream_close(&s->st), 0);
	bf_rules_finish(s->rules, true);
	for (uint32_t i = 0; id && i < bf_rules_count(s->rules); i++)
		if (strcmp(bf_rules_found(s->rules, i)->rule->id, id) == 0 && !f)
			f = bf_rules_found(s->rules, i);
	if (!id) {
		f = bf_rules_root(s->rules);
		ck_assert_msg(!f, "%s: %s", f ? f->rule->id : "", f ? f->text : "");
	} else {
		ck_assert_msg(f != NULL, "%s is not found, but %s", id,
			      bf_rules_root(s->rules) ? bf_rules_root(s->rules)->rule->id : "nothing");
		ck_assert_msg(f->root || f->rule->severity == BF_SEVERITY_NOTE, "%s is not the root cause, but %s", id,
			      bf_rules_root(s->rules)->rule->id);
		ck_assert_msg(strstr(f->text, text) != NULL, "\"%s\" is not in: %s", text, f->text);
	}
	bf_stream_fini(&s->st);
	bf_rules_destroy(s->rules);
}

#endif
