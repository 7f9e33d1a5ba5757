#include <inttypes.h>
#include <math.h>

#include "tools/cli/cli.h"

/* Above this, readers that keep numbers in doubles would round (RFC 8259, section 6). */
#define JSON_EXACT (1ull << 53)

/* Bytes of the well-formed UTF-8 sequence at `s` (RFC 3629, section 4), 0 when there is none. */
static unsigned utf8_sequence(const unsigned char *s)
{
	unsigned len, low = 0x80, high = 0xbf;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;
	/* No overlong forms, no surrogates, nothing above U+10FFFF. */
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	for (unsigned i = 1; i < len; i++) {
		if (s[i] < low || s[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

static void write_string(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	putc('"', out);
	while (*s) {
		unsigned len = utf8_sequence(s);

		if (len == 0) {
			fputs("\\ufffd", out);
			s++;
			continue;
		}
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (*s == '\n')
			fputs("\\n", out);
		else if (*s == '\t')
			fputs("\\t", out);
		else if (*s < 0x20)
			fprintf(out, "\\u%04x", *s);
		else
			fwrite(s, 1, len, out);
		s += len;
	}
	putc('"', out);
}

static void write_key(struct bf_json *j, const char *key)
{
	if (j->comma)
		putc(',', j->out);
	j->comma = true;
	if (key) {
		write_string(j->out, key);
		putc(':', j->out);
	}
}

void bf_json_begin(struct bf_json *j, FILE *out)
{
	*j = (struct bf_json){ .out = out };
}

void bf_json_open(struct bf_json *j, const char *key, char bracket)
{
	write_key(j, key);
	putc(bracket, j->out);
	j->depth++;
	j->comma = false;
}

void bf_json_close(struct bf_json *j, char bracket)
{
	putc(bracket, j->out);
	j->depth--;
	j->comma = true;
}

void bf_json_text(struct bf_json *j, const char *key, const char *value)
{
	write_key(j, key);
	if (value)
		write_string(j->out, value);
	else
		fputs("null", j->out);
}

void bf_json_u64(struct bf_json *j, const char *key, uint64_t value)
{
	write_key(j, key);
	fprintf(j->out, value > JSON_EXACT ? "\"%" PRIu64 "\"" : "%" PRIu64, value);
}

void bf_json_number(struct bf_json *j, const char *key, double value)
{
	write_key(j, key);
	if (isfinite(value))
		fprintf(j->out, "%.6g", value);
	else
		fputs("null", j->out);
}

void bf_json_hex(struct bf_json *j, const char *key, uint64_t value)
{
	write_key(j, key);
	fprintf(j->out, "\"0x%" PRIx64 "\"", value);
}

void bf_json_bool(struct bf_json *j, const char *key, bool value)
{
	write_key(j, key);
	fputs(value ? "true" : "false", j->out);
}

void bf_json_end(struct bf_json *j)
{
	putc('\n', j->out);
}
