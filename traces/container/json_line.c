#include "traces/container/json_line.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sim/bytes.h"

#define MAX_DEPTH 32

/* The line of a place in the text, and its column. An object of a file of its own may stand on several lines. */
static uint32_t line_of(const struct bf_json_line *l, const char *where, size_t *column)
{
	const char *begin = l->start;
	uint32_t number = l->number;

	for (const char *p; (p = memchr(begin, '\n', (size_t)(where - begin))) != NULL; begin = p + 1)
		number++;
	*column = (size_t)(where - begin) + 1;
	return number;
}

static int fail_at(struct bf_json_line *l, const char *where, const char *what)
{
	size_t column;
	const uint32_t number = line_of(l, where, &column);

	return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ", column %zu: %s", number, column, what);
}

static void skip_space(struct bf_json_line *l)
{
	while (l->p < l->end && (*l->p == ' ' || *l->p == '\t' || *l->p == '\r' || *l->p == '\n'))
		l->p++;
}

static int scan_string(struct bf_json_line *l, const char **text, size_t *len)
{
	const char *quote = l->p++;

	*text = l->p;
	while (l->p < l->end && *l->p != '"') {
		if (*l->p == '\\')
			l->p++;
		l->p++;
	}
	if (l->p >= l->end) {
		l->p = l->end;
		return fail_at(l, quote, "the text has no end");
	}
	*len = (size_t)(l->p - *text);
	l->p++;
	return 0;
}

static int scan_word(struct bf_json_line *l)
{
	const char *first = l->p;

	while (l->p < l->end && !strchr(",]} \t\r\n", *l->p))
		l->p++;
	size_t n = (size_t)(l->p - first);
	if ((n == 4 && (memcmp(first, "true", 4) == 0 || memcmp(first, "null", 4) == 0)) ||
	    (n == 5 && memcmp(first, "false", 5) == 0))
		return 0;
	if (n && (*first == '-' || (*first >= '0' && *first <= '9')))
		return 0;
	return fail_at(l, first, "a value was expected");
}

/* Steps over nested arrays and objects, which no field of ours is: brackets must match, strings may hold any. */
static int skip_nested(struct bf_json_line *l)
{
	char open[MAX_DEPTH];
	unsigned depth = 0;

	do {
		char ch = *l->p;

		if (ch == '"') {
			const char *text;
			size_t len;
			int rc = scan_string(l, &text, &len);

			if (rc)
				return rc;
			continue;
		}
		if (ch == '[' || ch == '{') {
			if (depth == MAX_DEPTH)
				return fail_at(l, l->p, "nested too deeply");
			open[depth++] = ch;
		} else if (ch == ']' || ch == '}') {
			if (open[--depth] != (ch == ']' ? '[' : '{'))
				return fail_at(l, l->p, "this bracket closes nothing");
		}
		l->p++;
	} while (depth && l->p < l->end);
	return depth ? fail_at(l, l->p, "the line ends inside a value") : 0;
}

static int scan_value(struct bf_json_line *l, struct bf_json_member *m)
{
	int rc;

	if (l->p == l->end)
		return fail_at(l, l->p, "the line ends where a value was expected");
	m->value = l->p;
	if (*l->p == '"') {
		m->token = BF_JSON_STRING;
		return scan_string(l, &m->value, &m->value_len);
	}
	m->token = *l->p == '-' || (*l->p >= '0' && *l->p <= '9') ? BF_JSON_NUMBER : BF_JSON_OTHER;
	rc = *l->p == '[' || *l->p == '{' ? skip_nested(l) : scan_word(l);
	m->value_len = (size_t)(l->p - m->value);
	return rc;
}

/* "name": */
static int scan_name(struct bf_json_line *l, struct bf_json_member *m)
{
	int rc;

	if (l->p == l->end || *l->p != '"')
		return fail_at(l, l->p, "a field name in quotes was expected");
	rc = scan_string(l, &m->name, &m->name_len);
	if (rc)
		return rc;
	skip_space(l);
	if (l->p == l->end || *l->p != ':')
		return fail_at(l, l->p, "a colon was expected");
	l->p++;
	skip_space(l);
	return 0;
}

static int scan_member(struct bf_json_line *l)
{
	struct bf_json_member *m = &l->members[l->count];
	int rc;

	if (l->count == BF_JSON_MEMBERS)
		return fail_at(l, l->p, "more fields than any event has");
	rc = scan_name(l, m);
	if (rc)
		return rc;
	rc = scan_value(l, m);
	l->count++;
	skip_space(l);
	return rc;
}

int bf_json_line_scan(struct bf_json_line *l)
{
	int rc;

	l->count = 0;
	skip_space(l);
	if (l->p == l->end || *l->p != '{')
		return fail_at(l, l->p, "an object was expected");
	l->p++;
	skip_space(l);
	while (l->p < l->end && *l->p != '}') {
		if (l->count) {
			if (*l->p != ',')
				return fail_at(l, l->p, "a comma or the end of the object was expected");
			l->p++;
			skip_space(l);
		}
		rc = scan_member(l);
		if (rc)
			return rc;
	}
	if (l->p == l->end)
		return fail_at(l, l->p, "the line ends inside an object");
	l->p++;
	skip_space(l);
	return l->p == l->end ? 0 : fail_at(l, l->p, "the object is followed by something else");
}

const struct bf_json_member *bf_json_line_find(const struct bf_json_line *l, const char *name)
{
	size_t len = strlen(name);

	for (unsigned i = 0; i < l->count; i++) {
		if (l->members[i].name_len == len && memcmp(l->members[i].name, name, len) == 0)
			return &l->members[i];
	}
	return NULL;
}

struct bf_json_line bf_json_line_within(const struct bf_json_line *l, const struct bf_json_member *m)
{
	return (struct bf_json_line){
		.start = l->start, .p = m->value, .end = m->value + m->value_len, .number = l->number, .err = l->err
	};
}

/* Up to the next thing between these brackets. 1, 0 at the end, or -EBADMSG. */
static int step_inside(struct bf_json_line *l, char open, char close, const char *what)
{
	const bool first = l->count == 0;

	if (l->p == l->end || (first && *l->p != open))
		return fail_at(l, l->p, what);
	l->p += first;
	skip_space(l);
	if (l->p < l->end && *l->p == close)
		return 0;
	l->count = 1;
	if (first)
		return 1;
	if (l->p == l->end || *l->p != ',')
		return fail_at(l, l->p, "a comma or a closing bracket was expected");
	l->p++;
	skip_space(l);
	return 1;
}

int bf_json_line_element(struct bf_json_line *array, struct bf_json_member *out)
{
	int rc = step_inside(array, '[', ']', "an array was expected");

	*out = (struct bf_json_member){ .name = "" };
	if (rc > 0 && scan_value(array, out))
		rc = -EBADMSG;
	skip_space(array);
	return rc;
}

int bf_json_line_member(struct bf_json_line *object, struct bf_json_member *out)
{
	int rc = step_inside(object, '{', '}', "an object was expected");

	*out = (struct bf_json_member){ .name = "" };
	if (rc > 0 && (scan_name(object, out) || scan_value(object, out)))
		rc = -EBADMSG;
	skip_space(object);
	return rc;
}

bool bf_json_line_blank(struct bf_json_line *l)
{
	skip_space(l);
	return l->p == l->end;
}

int bf_json_line_fail(struct bf_json_line *l, const struct bf_json_member *m, const char *name, const char *what)
{
	size_t column;
	const uint32_t number = line_of(l, m->value, &column);

	return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ", column %zu: field \"%s\" %s", number, column, name, what);
}

int bf_json_line_integer(struct bf_json_line *l, const struct bf_json_member *m, const char *name,
			 enum bf_json_form form, uint64_t max, uint64_t *out)
{
	const uint64_t base = form == BF_JSON_HEX ? 16 : 10;
	const char *p = m->value;
	size_t n = m->value_len;

	if (form == BF_JSON_HEX) {
		if (m->token != BF_JSON_STRING || n < 3 || p[0] != '0' || p[1] != 'x')
			return bf_json_line_fail(l, m, name, "wants a text such as \"0x1000\"");
		p += 2;
		n -= 2;
	} else if (m->token != BF_JSON_NUMBER) {
		return bf_json_line_fail(l, m, name, "wants a number");
	}
	*out = 0;
	for (; n; n--, p++) {
		int digit = bf_hex_digit(*p);

		if (digit < 0 || (uint64_t)digit >= base)
			return bf_json_line_fail(l, m, name,
						 form == BF_JSON_HEX ? "has a character that is not a hex digit"
								     : "wants a whole number, not negative");
		if (*out > (UINT64_MAX - (uint64_t)digit) / base)
			return bf_json_line_fail(l, m, name, "is too large");
		*out = *out * base + (uint64_t)digit;
	}
	return *out > max ? bf_json_line_fail(l, m, name, "is too large") : 0;
}

/* Four hexadecimal digits; -1 when they are not there. */
static int32_t read_u16(const char *p, const char *end)
{
	int32_t v = 0;

	for (int i = 0; i < 4; i++) {
		if (p + i >= end || bf_hex_digit(p[i]) < 0)
			return -1;
		v = v << 4 | bf_hex_digit(p[i]);
	}
	return v;
}

/* The character behind a backslash and `u` at `*p`, which moves behind it; surrogates in pairs (RFC 8259, section 7).
 */
static int32_t read_unicode(const char **p, const char *end)
{
	int32_t v = read_u16(*p, end), low;

	*p += 4;
	if (v < 0xd800 || v > 0xdfff)
		return v;
	if (v > 0xdbff || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return -1;
	low = read_u16(*p + 2, end);
	*p += 6;
	return low < 0xdc00 || low > 0xdfff ? -1 : 0x10000 + ((v & 0x3ff) << 10) + (low & 0x3ff);
}

static size_t put_utf8(uint32_t c, char *out)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(n == 1 ? c : (0xf0u << (4 - n) & 0xff) | c);
	return n;
}

int64_t bf_json_line_text(struct bf_json_line *l, const struct bf_json_member *m, const char *name, char *out,
			  size_t cap)
{
	static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *p = m->value, *end = p + m->value_len, *known;
	size_t used = 0;

	while (p < end) {
		int32_t c = (unsigned char)*p++;

		if (used + 5 > cap)
			return bf_fail(l->err, -E2BIG, "line %" PRIu32 ": \"%s\" is too long", l->number, name);
		if (c != '\\') {
			out[used++] = (char)c;
			continue;
		}
		known = p < end && *p ? strchr(escapes, *p) : NULL;
		if (known) {
			out[used++] = meanings[known - escapes];
			p++;
			continue;
		}
		if (p == end || *p++ != 'u' || (c = read_unicode(&p, end)) <= 0)
			return bf_json_line_fail(l, m, name, "has an escape that does not exist");
		used += put_utf8((uint32_t)c, out + used);
	}
	out[used] = '\0';
	return (int64_t)used;
}
