/*
 * Sentences of tables (traces/device.h): $names, @threads and [conditions] are replaced by what a record, or the story
 * so far, has under those names.
 */
#ifndef BELFRY_TRACES_LIFE_LABEL_H
#define BELFRY_TRACES_LIFE_LABEL_H

#include "sim/record.h"

/* A value, and the field that says how it is written; NULL: as a decimal number. */
struct bf_label_value {
	uint64_t value;
	const struct bf_rec_field *field;
	const void *fixed; /* of the field's record */
};

struct bf_label_scope {
	const struct bf_rec_schema *type; /* NULL: there is no record */
	const void *fixed;
	uint64_t time_ps;
	/* What else is known, of `of`; each may be NULL. False, NULL: nothing by that name. */
	bool (*number)(const void *of, const char *name, struct bf_label_value *out);
	const char *(*thread)(const void *of, const char *name);
	const void *of;
};

/* The sentence. Names that nobody knows leave nothing. Cut to `cap`. */
void bf_label_say(const struct bf_label_scope *s, const char *label, char *out, size_t cap);

/* The same from a record alone. An enum's value is its name, a hexadecimal field has 0x. */
void bf_label_make(const char *label, const struct bf_rec_schema *type, const void *fixed, char *out, size_t cap);

/* "index+len", "q0[31:16]": arithmetic with fields and numbers, from left to right. Unknown fields are 0. */
uint64_t bf_label_u64(const char *expression, const struct bf_rec_schema *type, const void *fixed);

/* "op!=0 indirect=0": all of it holds; a field alone has the value `is`. */
bool bf_label_holds(const char *conditions, uint64_t is, const struct bf_rec_schema *type, const void *fixed);

#endif
