/*
 * Rules as text, for fault plans and error maps: words between blanks, one rule a line or between ';', '#' comments.
 * Each parser is a loop of bf_rules_word() until it is empty, and bf_rules_next() for the next rule.
 */
#ifndef BELFRY_SIM_RULES_INTERNAL_H
#define BELFRY_SIM_RULES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/compiler.h"

struct bf_error;

/* `at` moves forward only; line and column of any pointer into the text follow from its start. */
struct bf_rule_text {
	const char *what; /* "fault plan", for messages */
	const char *text, *at;
	struct bf_error *err;
};

/* Neither blank nor separator; length 0 at the end of a rule. */
struct bf_rule_word {
	const char *at;
	size_t len;
};

/* -EINVAL, with line and column of `where` in front of the reason. */
int BF_PRINTF(3, 4) bf_rules_fail(const struct bf_rule_text *p, const char *where, const char *fmt, ...);

/* The same for a word that is no `what`, with the names that would be. */
int bf_rules_unknown(const struct bf_rule_text *p, struct bf_rule_word w, const char *what, const char *const *names,
		     size_t count);

struct bf_rule_word bf_rules_word(struct bf_rule_text *p);

/* Past the comment, if any, and the separator. False at the end of the text. */
bool bf_rules_next(struct bf_rule_text *p);

bool bf_word_is(struct bf_rule_word w, const char *text);

/*
 * These take what they know off the word's start: a prefix; a number, decimal or 0x; a decimal number as value *
 * 10^-places. False when it is not there or overflows.
 */
bool bf_word_take(struct bf_rule_word *w, const char *prefix);
bool bf_word_number(struct bf_rule_word *w, uint64_t *value);
bool bf_word_decimal(struct bf_rule_word *w, unsigned int max_places, uint64_t *value, unsigned int *places);

/* The whole word as a time with its unit; 0 or -EINVAL. */
int bf_rules_time(const struct bf_rule_text *p, struct bf_rule_word w, uint64_t *ps);

#endif
