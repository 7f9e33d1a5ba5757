/*
 * One line of JSON Lines, as far as captures and vectors need it, or an object of a file of its own: its members as
 * spans of the text, nested values stepped over (RFC 8259). No allocation and no library; hostile text is safe.
 * Messages name line and column. One thread per line.
 */
#ifndef BELFRY_TRACES_CONTAINER_JSON_LINE_H
#define BELFRY_TRACES_CONTAINER_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

#define BF_JSON_MEMBERS 64

enum bf_json_token { BF_JSON_STRING, BF_JSON_NUMBER, BF_JSON_OTHER };

/* Names and strings without their quotes, escapes as they stand; other values from first to last character. */
struct bf_json_member {
	const char *name, *value;
	size_t name_len, value_len;
	enum bf_json_token token;
};

/* Set `start` and `p` to the line's first character, `end` behind its last, `number` and `err` (may be NULL). */
struct bf_json_line {
	const char *start, *p, *end;
	uint32_t number;
	struct bf_error *err;
	struct bf_json_member members[BF_JSON_MEMBERS];
	unsigned count;
};

/* Steps over white space; true when nothing else is left. */
bool bf_json_line_blank(struct bf_json_line *l);

/* Finds the members of the one object that the line must be. 0 or -EBADMSG; members before the damage are there. */
int bf_json_line_scan(struct bf_json_line *l);

/* The member called `name`, or NULL. */
const struct bf_json_member *bf_json_line_find(const struct bf_json_line *l, const char *name);

/* The member's value as a line of its own, for messages with the column of the whole: bf_json_line_scan() for an
 * object. */
struct bf_json_line bf_json_line_within(const struct bf_json_line *l, const struct bf_json_member *m);

/*
 * The next element of an array whose value bf_json_line_within() has made a line, its name empty. 1, 0 at the end, or
 * -EBADMSG.
 */
int bf_json_line_element(struct bf_json_line *array, struct bf_json_member *out);

/* The next member of an object, of which there may be any number, likewise. */
int bf_json_line_member(struct bf_json_line *object, struct bf_json_member *out);

/* Fails with -EBADMSG: line and column of the member, and `what` about field `name`. */
int bf_json_line_fail(struct bf_json_line *l, const struct bf_json_member *m, const char *name, const char *what);

/*
 * The text of a string member with its escapes resolved, NUL-terminated; others than ASCII become
 * UTF-8. Its length, or -EBADMSG for an escape that does not exist or a NUL, -E2BIG when it does not fit into `cap`.
 */
int64_t bf_json_line_text(struct bf_json_line *l, const struct bf_json_member *m, const char *name, char *out,
			  size_t cap);

/* How integers are written: 12, or "0x1000". */
enum bf_json_form { BF_JSON_DECIMAL, BF_JSON_HEX };

/* The member as an integer of at most `max`. 0 or -EBADMSG. */
int bf_json_line_integer(struct bf_json_line *l, const struct bf_json_member *m, const char *name,
			 enum bf_json_form form, uint64_t max, uint64_t *out);

#endif
