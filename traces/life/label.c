/* A sentence is read once, from left to right: text, values, and conditions with a text for either case. */
#include "traces/life/label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 48u

struct text {
	char *out;
	size_t used, cap;
};

static void put(struct text *t, const char *bytes, size_t len)
{
	const size_t room = t->cap - t->used - 1;

	len = len < room ? len : room;
	memcpy(t->out + t->used, bytes, len);
	t->used += len;
}

/* ---- names and values ---- */

static bool is_letter(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A name at `c`, "index" or "ring64_fetch.index", to `name`; where it ends. */
static const char *take_name(const char *c, char name[NAME_MAX_LEN])
{
	size_t len = 0;

	while (len + 1 < NAME_MAX_LEN && (is_letter(*c) || is_digit(*c) || (*c == '.' && is_letter(c[1]))))
		name[len++] = *c++;
	name[len] = '\0';
	return c;
}

static bool value_of(const struct bf_label_scope *s, const char *name, struct bf_label_value *out)
{
	const struct bf_rec_field *f = s->type ? bf_schema_field(s->type, name) : NULL;

	*out = (struct bf_label_value){ .field = f, .fixed = s->fixed };
	if (f) {
		out->value = f->kind == BF_FIELD_TEXT ? *((const char *)s->fixed + f->offset) != '\0'
						      : bf_field_u64(f, s->fixed);
		return true;
	}
	if (s->type && strcmp(name, "time") == 0) {
		out->value = s->time_ps;
		return true;
	}
	return s->number && s->number(s->of, name, out);
}

/* A number or a name at `c`; NULL when it is neither, or unknown. */
static const char *take_operand(const struct bf_label_scope *s, const char *c, struct bf_label_value *out)
{
	char name[NAME_MAX_LEN], *end;

	if (is_digit(*c)) {
		*out = (struct bf_label_value){ .value = strtoull(c, &end, 0) };
		return end;
	}
	c = take_name(c, name);
	return value_of(s, name, out) ? c : NULL;
}

/* "[31:16]" behind a value. */
static const char *take_bits(const char *c, struct bf_label_value *v)
{
	unsigned long high, low;
	char *end;

	if (*c != '[' || !is_digit(c[1]))
		return c;
	high = strtoul(c + 1, &end, 10);
	if (*end != ':')
		return c;
	low = strtoul(end + 1, &end, 10);
	if (*end != ']' || high > 63 || low > high)
		return c;
	*v = (struct bf_label_value){ .value = v->value >> low & (UINT64_MAX >> (63 - (high - low))) };
	return end + 1;
}

/* The value at `c` with all that is added to it, and of that some bits; where it ends. Unknown names leave 0 and no
 * field. */
static const char *take_value(const struct bf_label_scope *s, const char *c, struct bf_label_value *v, bool *known)
{
	const char *end = take_operand(s, c, v), *next;
	struct bf_label_value other;
	char name[NAME_MAX_LEN];

	*known = end != NULL;
	if (!end) {
		*v = (struct bf_label_value){ 0 };
		end = take_name(c, name);
	}
	c = take_bits(end, v);
	while (*c && strchr("+-*/", *c) && (is_letter(c[1]) || is_digit(c[1])) &&
	       (next = take_operand(s, c + 1, &other)) != NULL) {
		const uint64_t x = v->value, y = other.value;

		*v = (struct bf_label_value){ .value = *c == '+'   ? x + y
						       : *c == '-' ? x - y
						       : *c == '*' ? x * y
						       : y         ? x / y
								   : 0 };
		c = next;
	}
	return take_bits(c, v);
}

static void put_value(struct text *t, const struct bf_label_value *v, bool hex)
{
	const struct bf_rec_field *f = v->field;
	char number[24];
	const char *name;
	size_t len;

	if (f && f->kind == BF_FIELD_TEXT) {
		const char *text = (const char *)v->fixed + f->offset;

		len = strnlen(text, f->size);
		if (len + 1 < f->size) {
			put(t, text, len);
			return;
		}
		/* The field had no room for more. */
		while (len && text[len - 1] == ' ')
			len--;
		put(t, text, len);
		put(t, "...", 3);
		return;
	}
	name = f && f->kind == BF_FIELD_ENUM ? bf_field_enum_name(f, v->value, &len) : NULL;
	if (name) {
		put(t, name, len);
		return;
	}
	hex = hex || (f && f->kind == BF_FIELD_HEX);
	put(t, number, (size_t)snprintf(number, sizeof(number), hex ? "0x%llx" : "%llu", (unsigned long long)v->value));
}

/* ---- conditions ---- */

/* "op!=0", "ring", "@publish" at `c`: whether it holds; where it ends. */
static const char *take_condition(const struct bf_label_scope *s, const char *c, uint64_t is, bool nonzero, bool *holds)
{
	char name[NAME_MAX_LEN];
	struct bf_label_value v;
	bool known, negated;

	if (*c == '@') {
		c = take_name(c + 1, name);
		*holds = s->thread && s->thread(s->of, name);
		return c;
	}
	c = take_value(s, c, &v, &known);
	*holds = nonzero ? known && v.value : v.value == is;
	negated = *c == '!' && c[1] == '=';
	if (negated || *c == '=') {
		char *end;
		const uint64_t want = strtoull(c + (negated ? 2 : 1), &end, 0);

		*holds = (v.value == want) != negated;
		c = end;
	}
	return c;
}

/* The first `what` of this bracket at `c`, not of one inside; `end` when there is none. */
static const char *find(const char *c, const char *end, char what)
{
	for (unsigned depth = 0; c < end; c++) {
		if (*c == what && !depth)
			return c;
		depth += *c == '[';
		depth -= *c == ']' && depth;
	}
	return end;
}

/* ---- sentences ---- */

static void expand(const struct bf_label_scope *s, const char *c, const char *end, struct text *t);

/* What follows '$'. */
static const char *expand_value(const struct bf_label_scope *s, const char *c, struct text *t)
{
	const bool hex = *c == '#';
	struct bf_label_value v;
	bool known;

	c = take_value(s, c + hex, &v, &known);
	if (known)
		put_value(t, &v, hex);
	return c;
}

/* What follows '[', up to its bracket. False when that is no condition. */
static bool expand_choice(const struct bf_label_scope *s, const char *c, const char *end, struct text *t)
{
	const char *yes, *no = find(c, end, '|');
	bool holds;

	yes = take_condition(s, c, 0, true, &holds);
	if (*yes++ != '?')
		return false;
	if (holds)
		expand(s, yes, no, t);
	else if (no < end)
		expand(s, no + 1, end, t);
	return true;
}

static void expand(const struct bf_label_scope *s, const char *c, const char *end, struct text *t)
{
	char name[NAME_MAX_LEN];
	const char *close;

	while (c < end && *c) {
		if (*c == '$') {
			c = expand_value(s, c + 1, t);
		} else if (*c == '@' && s->thread && is_letter(c[1])) {
			const char *who;

			c = take_name(c + 1, name);
			who = s->thread(s->of, name);
			put(t, who ? who : "nobody", who ? strlen(who) : 6);
		} else if (*c == '[' && (close = find(c + 1, end, ']')) < end && expand_choice(s, c + 1, close, t)) {
			c = close + 1;
		} else {
			put(t, c++, 1);
		}
	}
}

void bf_label_say(const struct bf_label_scope *s, const char *label, char *out, size_t cap)
{
	struct text t = { .out = out, .cap = cap };

	expand(s, label, label + strlen(label), &t);
	out[t.used] = '\0';
}

void bf_label_make(const char *label, const struct bf_rec_schema *type, const void *fixed, char *out, size_t cap)
{
	const struct bf_label_scope s = { .type = type, .fixed = fixed };

	bf_label_say(&s, label, out, cap);
}

uint64_t bf_label_u64(const char *expression, const struct bf_rec_schema *type, const void *fixed)
{
	const struct bf_label_scope s = { .type = type, .fixed = fixed };
	struct bf_label_value v;
	bool known;

	take_value(&s, expression, &v, &known);
	return v.value;
}

bool bf_label_holds(const char *conditions, uint64_t is, const struct bf_rec_schema *type, const void *fixed)
{
	const struct bf_label_scope s = { .type = type, .fixed = fixed };
	bool holds = true;

	while (holds && *conditions) {
		conditions = take_condition(&s, conditions, is, false, &holds);
		conditions += strspn(conditions, " ");
	}
	return holds;
}
