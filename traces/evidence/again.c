/*
 * Text that says nothing as it stands, read once more: as UTF-16, without colours and escapes, as a ring of bare words,
 * and with lines joined that a terminal has wrapped. For pastes: a log of megabytes has evidence that needs none of
 * this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "traces/evidence/evidence_internal.h"

#define TEXT_MAX (4u << 20)
#define WRAPPED_MAX (64u << 10) /* bytes of which each line is read with those behind it */
#define ESCAPED '\x1e'          /* a newline that is not there: an escape stands for it */
#define JOINED 3u               /* lines that one of a terminal's width may have become */

/* As PowerShell writes files, with a mark. Characters beyond ASCII become blanks. */
static bool is_utf16(const char *text, size_t len)
{
	return len >= 4 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
}

static size_t from_utf16(const char *text, size_t len, char *out)
{
	const bool big = (uint8_t)text[0] == 0xfe;
	size_t n = 0;

	for (size_t i = 2; i + 1 < len; i += 2)
		out[n++] = text[i + !big] ? ' ' : text[i + big];
	return n;
}

/* Behind a terminal's escape sequence. */
static const char *skip_escape(const char *p, const char *end)
{
	p++;
	if (p == end || *p != '[')
		return p;
	for (p++; p < end && (*p < '@' || *p > '~'); p++)
		;
	return p < end ? p + 1 : p;
}

/* Colours go, hard blanks become blanks, and \n and \t of JSON and of string literals become what they stand for. */
static size_t without_escapes(char *text, size_t len)
{
	const char *p = text, *end = text + len;
	size_t n = 0;

	while (p < end) {
		if (*p == '\x1b') {
			p = skip_escape(p, end);
		} else if (end - p > 1 && p[0] == '\xc2' && p[1] == '\xa0') {
			text[n++] = ' ';
			p += 2;
		} else if (end - p > 1 && p[0] == '\\' && (p[1] == 'n' || p[1] == 't' || p[1] == 'r')) {
			text[n++] = p[1] == 'n' ? ESCAPED : ' ';
			p += 2;
		} else {
			text[n++] = *p++;
		}
	}
	return n;
}

/* Newlines of escapes become newlines. Returns for each line the one of the text that it stands in; NULL: no memory. */
static uint64_t *break_lines(char *text, size_t len)
{
	uint64_t *line, n = 0, stands_in = 1;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n' || text[i] == ESCAPED;
	line = malloc((n + 1) * sizeof(*line));
	if (!line)
		return NULL;
	*line = stands_in;
	n = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '\n' && text[i] != ESCAPED)
			continue;
		stands_in += text[i] == '\n';
		line[++n] = stands_in;
		text[i] = '\n';
	}
	return line;
}

/* The line at `at` and those behind it, in one. Returns where the last one ends, `*next` where the second begins. */
static size_t join(const char *text, size_t len, size_t at, char *line, size_t *n, size_t *next)
{
	*n = 0;
	for (uint32_t i = 0; i < JOINED && at < len; i++) {
		const char *newline = memchr(text + at, '\n', len - at);
		const size_t stop = newline ? (size_t)(newline - text) : len;

		while (i && at < stop && (text[at] == ' ' || text[at] == '\t'))
			at++;
		memcpy(line + *n, text + at, stop - at);
		*n += stop - at;
		while (*n && line[*n - 1] == '\r')
			--*n;
		line[(*n)++] = ' ';
		at = stop + 1;
		if (i == 0)
			*next = at;
	}
	return at;
}

static int read_joined(const char *text, size_t len, uint64_t first, struct bf_evidence_list *list)
{
	char *line = malloc(len + JOINED);
	int rc = line ? 0 : -ENOMEM;
	size_t at = 0;

	for (uint64_t number = first; !rc && at < len; number++) {
		const size_t before = list->count;
		size_t n, next = len, to = join(text, len, at, line, &n, &next);

		list->lines = number;
		rc = bf_evidence_read_plain(line, n, list);
		number += list->count > before ? JOINED - 1 : 0;
		at = list->count > before ? to : next;
	}
	free(line);
	return rc;
}

int bf_evidence_read_again(const char *text, size_t len, uint64_t first, struct bf_evidence_list *list)
{
	const uint64_t lines = list->lines;
	const size_t count = list->count;
	const bool wide = is_utf16(text, len);
	uint64_t *stands_in;
	char *copy;
	size_t n;
	int rc;

	if (len > TEXT_MAX)
		return 0;
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	if (!wide)
		memcpy(copy, text, len);
	n = without_escapes(copy, wide ? from_utf16(text, len, copy) : len);
	stands_in = break_lines(copy, n);
	rc = stands_in ? 0 : -ENOMEM;
	list->lines = first;
	if (!rc && n != len)
		rc = bf_evidence_read_plain(copy, n, list);
	if (!rc && list->count == count)
		rc = bf_evidence_ring(copy, n, first, list);
	if (!rc && list->count == count && n <= WRAPPED_MAX)
		rc = read_joined(copy, n, first, list);
	for (size_t i = count; stands_in && i < list->count; i++)
		list->item[i].line = first + stands_in[list->item[i].line - first - 1];
	list->lines = lines;
	free(stands_in);
	free(copy);
	return rc;
}
