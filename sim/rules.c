#include "sim/rules_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/sim.h"
#include "sim/spell.h"

int bf_rules_fail(const struct bf_rule_text *p, const char *where, const char *fmt, ...)
{
	unsigned int line = 1, column = 1;
	char reason[sizeof(p->err->text)];
	va_list args;

	for (const char *c = p->text; c < where; c++) {
		column = *c == '\n' ? 1 : column + 1;
		line += *c == '\n';
	}
	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	return bf_fail(p->err, -EINVAL, "%s: line %u, column %u: %s", p->what, line, column, reason);
}

int bf_rules_unknown(const struct bf_rule_text *p, struct bf_rule_word w, const char *what, const char *const *names,
		     size_t count)
{
	struct bf_spell s = { .word = w.at, .len = w.len };
	char list[sizeof(p->err->text)] = "", hint[64];
	size_t len = 0;

	for (size_t i = 0; i < count; i++)
		bf_spell_try(&s, names[i]);
	bf_spell_hint(&s, hint, sizeof(hint));
	for (size_t i = 0; i < count && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
					i        ? ", "
					: s.best ? " There are "
						 : "; there are ",
					names[i]);
	return bf_rules_fail(p, w.at, "'%.*s' is not a known %s%s%s", (int)(w.len < 40 ? w.len : 40), w.at, what, hint,
			     list);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool ends_rule(char c)
{
	return c == '\0' || c == '\n' || c == ';' || c == '#';
}

struct bf_rule_word bf_rules_word(struct bf_rule_text *p)
{
	struct bf_rule_word w;

	while (is_blank(*p->at))
		p->at++;
	w.at = p->at;
	while (!is_blank(*p->at) && !ends_rule(*p->at))
		p->at++;
	w.len = (size_t)(p->at - w.at);
	return w;
}

bool bf_rules_next(struct bf_rule_text *p)
{
	if (*p->at == '#')
		while (*p->at && *p->at != '\n')
			p->at++;
	return *p->at++ != '\0';
}

bool bf_word_is(struct bf_rule_word w, const char *text)
{
	return strlen(text) == w.len && !memcmp(w.at, text, w.len);
}

bool bf_word_take(struct bf_rule_word *w, const char *prefix)
{
	const size_t n = strlen(prefix);

	if (w->len < n || memcmp(w->at, prefix, n) != 0)
		return false;
	w->at += n;
	w->len -= n;
	return true;
}

static int digit_of(char c, unsigned int base)
{
	int d = bf_hex_digit(c);

	return d < (int)base ? d : -1;
}

static bool take_digits(struct bf_rule_word *w, unsigned int base, uint64_t *value)
{
	const char *start = w->at;

	*value = 0;
	for (; w->len && digit_of(*w->at, base) >= 0; w->at++, w->len--)
		if (__builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, (uint64_t)digit_of(*w->at, base), value))
			return false;
	return w->at != start;
}

bool bf_word_number(struct bf_rule_word *w, uint64_t *value)
{
	const bool hex = w->len > 2 && (bf_word_take(w, "0x") || bf_word_take(w, "0X"));

	return take_digits(w, hex ? 16 : 10, value);
}

bool bf_word_decimal(struct bf_rule_word *w, unsigned int max_places, uint64_t *value, unsigned int *places)
{
	uint64_t part;

	*places = 0;
	if (!take_digits(w, 10, value))
		return false;
	if (!w->len || *w->at != '.')
		return true;
	for (w->at++, w->len--; w->len && digit_of(*w->at, 10) >= 0; w->at++, w->len--) {
		part = (uint64_t)digit_of(*w->at, 10);
		if (++*places > max_places || __builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, part, value))
			return false;
	}
	return *places > 0;
}

int bf_rules_time(const struct bf_rule_text *p, struct bf_rule_word w, uint64_t *ps)
{
	static const struct {
		const char *name;
		uint64_t ps;
	} units[] = { { "ps", BF_PS }, { "ns", BF_NS }, { "us", BF_US }, { "ms", BF_MS }, { "s", BF_S } };
	const char *start = w.at;
	unsigned int places;
	uint64_t unit = 0;

	if (!bf_word_decimal(&w, 12, ps, &places))
		return bf_rules_fail(p, start, "expected a time such as 1.5us");
	for (size_t i = 0; i < BF_ARRAY_LEN(units); i++)
		if (bf_word_is(w, units[i].name))
			unit = units[i].ps;
	if (!unit)
		return bf_rules_fail(p, w.at, "expected a unit: ps, ns, us, ms or s");
	for (; places; places--) {
		if (unit % 10)
			return bf_rules_fail(p, start, "time is finer than a picosecond");
		unit /= 10;
	}
	if (__builtin_mul_overflow(*ps, unit, ps))
		return bf_rules_fail(p, start, "time is out of range");
	return 0;
}
