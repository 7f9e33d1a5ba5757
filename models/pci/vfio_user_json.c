/*
 * The JSON text of VERSION, of which we want two values. Strict about the grammar, deaf to what it does not know.
 */
#include <string.h>

#include "models/pci/vfio_user_internal.h"

#define DEPTH_MAX 16

struct scan {
	const char *at, *end;
	struct bf_vfu_capabilities *caps;
};

/* A scalar as far as we care: a number's integer part (saturated), 1 for true, else 0. */
struct scalar {
	uint64_t number;
	bool is_number, is_true;
};

static bool value(struct scan *s, int depth, bool in_capabilities, struct scalar *out);

static char peek(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
	return s->at < s->end ? *s->at : 0;
}

static bool take(struct scan *s, char c)
{
	if (peek(s) != c)
		return false;
	s->at++;
	return true;
}

static bool escape(struct scan *s)
{
	if (s->at == s->end)
		return false;
	if (*s->at != 'u')
		return strchr("\"\\/bfnrt", *s->at++) != NULL;
	if (s->end - s->at < 5)
		return false;
	for (int i = 1; i <= 4; i++)
		if (bf_hex_digit(s->at[i]) < 0)
			return false;
	s->at += 5;
	return true;
}

/* `*text` and `*len` get what is between the quotes, escapes as they stand. */
static bool string(struct scan *s, const char **text, size_t *len)
{
	if (!take(s, '"'))
		return false;
	*text = s->at;
	while (s->at < s->end && *s->at != '"') {
		if ((unsigned char)*s->at < 0x20)
			return false;
		if (*s->at++ == '\\' && !escape(s))
			return false;
	}
	*len = (size_t)(s->at - *text);
	return take(s, '"');
}

static bool digits(struct scan *s, uint64_t *number)
{
	const char *begin = s->at;

	for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
		const uint64_t digit = (uint64_t)(*s->at - '0');

		*number = *number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *number * 10 + digit;
	}
	return s->at > begin;
}

static bool number(struct scan *s, struct scalar *out)
{
	uint64_t unused = 0;
	const bool negative = take(s, '-');
	const char *begin = s->at;

	if (!digits(s, &out->number) || (*begin == '0' && s->at - begin > 1))
		return false;
	if (s->at < s->end && *s->at == '.') {
		s->at++;
		if (!digits(s, &unused))
			return false;
	}
	if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
		s->at++;
		if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
			s->at++;
		if (!digits(s, &unused))
			return false;
	}
	out->is_number = true;
	if (negative)
		out->number = 0;
	return true;
}

static bool word(struct scan *s, const char *text)
{
	const size_t len = strlen(text);

	if ((size_t)(s->end - s->at) < len || memcmp(s->at, text, len))
		return false;
	s->at += len;
	return true;
}

static bool is(const char *text, size_t len, const char *name)
{
	return len == strlen(name) && !memcmp(text, name, len);
}

static bool member(struct scan *s, int depth, bool in_capabilities)
{
	struct scalar v = { 0 };
	const char *key;
	size_t len;

	if (!string(s, &key, &len) || !take(s, ':') || !value(s, depth, depth == 1 && is(key, len, "capabilities"), &v))
		return false;
	if (in_capabilities && v.is_number && is(key, len, "max_data_xfer_size"))
		s->caps->max_transfer = v.number;
	if (in_capabilities && is(key, len, "write_multiple"))
		s->caps->write_multiple = v.is_true;
	return true;
}

static bool object(struct scan *s, int depth, bool in_capabilities)
{
	if (!take(s, '{') || depth > DEPTH_MAX)
		return false;
	if (take(s, '}'))
		return true;
	do
		if (!member(s, depth, in_capabilities))
			return false;
	while (take(s, ','));
	return take(s, '}');
}

static bool array(struct scan *s, int depth)
{
	struct scalar ignored = { 0 };

	if (!take(s, '[') || depth > DEPTH_MAX)
		return false;
	if (take(s, ']'))
		return true;
	do
		if (!value(s, depth, false, &ignored))
			return false;
	while (take(s, ','));
	return take(s, ']');
}

static bool value(struct scan *s, int depth, bool in_capabilities, struct scalar *out)
{
	const char *text;
	size_t len;

	switch (peek(s)) {
	case '{':
		return object(s, depth + 1, in_capabilities);
	case '[':
		return array(s, depth + 1);
	case '"':
		return string(s, &text, &len);
	case 't':
		return out->is_true = word(s, "true");
	case 'f':
		return word(s, "false");
	case 'n':
		return word(s, "null");
	default:
		return number(s, out);
	}
}

bool bf_vfu_parse_capabilities(const char *text, size_t len, struct bf_vfu_capabilities *caps)
{
	struct scan s = { .at = text, .end = text + len, .caps = caps };

	return object(&s, 1, false) && !peek(&s) && s.at == s.end;
}
