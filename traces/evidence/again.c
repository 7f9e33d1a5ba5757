/*
 * Text as it reaches a tool, read without what is not its author's: as UTF-16, with colours and escapes of terminals
 * and JSON, with what forums make of characters. Then, for pastes: as a ring of bare words where nothing else is known,
 * and with lines joined that a terminal has wrapped. A log of megabytes needs none of the latter.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

#define RING_MAX (4u << 20)
#define WRAPPED_MAX (64u << 10) /* bytes of which each line is read with those behind it */
#define ESCAPED '\x1e'          /* a newline that is not there: an escape stands for it */
#define NARROWEST 60u           /* characters of a terminal, or of mail */

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

/* Characters as others write them. What an escape becomes may begin a terminal's sequence. */
static const struct {
	const char *text;
	char is;
} written[] = {
	{ "\\u001b", '\x1b' },   { "\\x1b", '\x1b' }, { "\\x1B", '\x1b' }, { "\\033", '\x1b' }, { "#033", '\x1b' },
	{ "^[", '\x1b' },        { "\\n", ESCAPED },  { "\\r", ' ' },      { "\\t", ' ' },      { "\\u003c", '<' },
	{ "\\u003e", '>' },      { "\\u0026", '&' },  { "&lt;", '<' },     { "&gt;", '>' },     { "&nbsp;", ' ' },
	{ "&amp;", '&' },        { "&quot;", '"' },   { "&#39;", '\'' },   { "&#x27;", '\'' },  { "\xc2\xa0", ' ' },
	{ "\xe2\x80\x8b", ' ' },
};

/* A character of what is written at `p`, and its length; 0: it is nothing of that kind. */
static size_t is_written(const char *p, const char *end, char *is)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(written); i++) {
		const size_t n = strlen(written[i].text);

		if ((size_t)(end - p) < n || memcmp(p, written[i].text, n) != 0)
			continue;
		*is = written[i].is;
		return n;
	}
	return 0;
}

/* Colours go, and what is written of characters becomes them. In place; returns the length that is left. */
static size_t without_escapes(char *text, size_t len)
{
	const char *p = text, *end = text + len;
	size_t n = 0;

	while (p < end) {
		const bool may = *p == '\\' || *p == '&' || *p == '#' || *p == '^' || *p == '\xc2' || *p == '\xe2';
		char is = 0;
		const size_t w = may ? is_written(p, end, &is) : 0;

		if (*p == '\x1b' || is == '\x1b') /* skip_escape() goes on behind the last character of ESC itself */
			p = skip_escape(w ? p + w - 1 : p, end);
		else if (w)
			text[n++] = is, p += w;
		else
			text[n++] = *p++;
	}
	return n;
}

/* Whether anything would go: most logs are plain, and are read where they stand. */
static bool has_escapes(const char *text, size_t len)
{
	static const char begins[] = "\\&#^\xc2\xe2";
	const char *end = text + len;
	char is;

	if (memchr(text, '\x1b', len))
		return true;
	for (const char *b = begins; *b; b++)
		for (const char *p = text; (p = memchr(p, *b, (size_t)(end - p))) != NULL; p++)
			if (is_written(p, end, &is))
				return true;
	return false;
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
	for (uint32_t i = 0; i < BF_LINES_JOINED && at < len; i++) {
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

/* ---- lines that a terminal has wrapped ---- */

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct wrapped {
	struct bf_evidence_list *list;
	uint64_t *told; /* lines of which evidence speaks, in order */
	size_t ntold;
};

/* None of the lines of which one is to be made has said something as it stands. */
static bool may_join(const struct wrapped *w, const char *text, size_t len, size_t at, uint64_t number)
{
	struct bf_line l = { .at = text + at, .number = number };

	for (uint32_t i = 0; w->ntold && i < BF_LINES_JOINED && at < len; i++, l.number++) {
		const char *newline = memchr(text + at, '\n', len - at);

		l.at = text + at;
		l.end = newline ? newline : text + len;
		if (bsearch(&l.number, w->told, w->ntold, sizeof(*w->told), by_number) || bf_line_has_row(&l) ||
		    (i == 0 && l.end - l.at < (ptrdiff_t)NARROWEST))
			return false;
		at = newline ? (size_t)(newline + 1 - text) : len;
	}
	return true;
}

static int read_joined(struct wrapped *w, const char *text, size_t len, uint64_t first)
{
	struct bf_evidence_list *list = w->list;
	char *line = malloc(len + BF_LINES_JOINED);
	int rc = line ? 0 : -ENOMEM;
	size_t at = 0;

	for (uint64_t number = first; !rc && at < len; number++) {
		const size_t before = list->count;
		size_t n, next = len, to = join(text, len, at, line, &n, &next);

		list->lines = number;
		if (may_join(w, text, len, at, number + 1))
			rc = bf_evidence_read_plain(line, n, list);
		while (list->count > before && list->item[list->count - 1].kind == BF_EVIDENCE_ANNOUNCED)
			list->count--; /* known as it stands */
		number += list->count > before ? BF_LINES_JOINED - 1 : 0;
		at = list->count > before ? to : next;
	}
	free(line);
	return rc;
}

static int read_wrapped(const char *text, size_t len, uint64_t first, size_t from, struct bf_evidence_list *list)
{
	struct wrapped w = { .list = list, .ntold = list->count - from };
	int rc;

	w.told = malloc((w.ntold ? w.ntold : 1) * sizeof(*w.told));
	if (!w.told)
		return -ENOMEM;
	w.ntold = 0;
	for (size_t i = from; i < list->count; i++)
		if (list->item[i].kind != BF_EVIDENCE_ANNOUNCED)
			w.told[w.ntold++] = list->item[i].line;
	qsort(w.told, w.ntold, sizeof(*w.told), by_number);
	rc = read_joined(&w, text, len, first);
	free(w.told);
	return rc;
}

/* More than that something is to follow. */
static bool says_something(const struct bf_evidence_list *list, size_t from)
{
	while (from < list->count && list->item[from].kind == BF_EVIDENCE_ANNOUNCED)
		from++;
	return from < list->count;
}

static int read_clean(const char *text, size_t len, uint64_t first, struct bf_evidence_list *list)
{
	const size_t count = list->count;
	int rc = bf_evidence_read_plain(text, len, list);

	if (!rc && !says_something(list, count) && len <= RING_MAX)
		rc = bf_evidence_ring(text, len, first, list);
	if (!rc && len <= WRAPPED_MAX)
		rc = read_wrapped(text, len, first, count, list);
	return rc ? rc : bf_evidence_put_in_order(list, count);
}

int bf_evidence_read_text(const char *text, size_t len, struct bf_evidence_list *list)
{
	const uint64_t first = list->lines;
	const size_t count = list->count;
	const bool wide = is_utf16(text, len);
	uint64_t *stands_in, lines = first;
	char *copy;
	size_t n;
	int rc;

	while (!wide && len && text[len - 1] == '\0') /* texts out of C come with their ends */
		len--;
	for (const char *p = text; p && p < text + len; lines++) {
		p = memchr(p, '\n', len - (size_t)(p - text));
		p = p ? p + 1 : NULL;
	}
	if (!wide && !has_escapes(text, len)) {
		rc = read_clean(text, len, first, list);
		list->lines = lines;
		return rc;
	}
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	if (!wide)
		memcpy(copy, text, len);
	n = without_escapes(copy, wide ? from_utf16(text, len, copy) : len);
	stands_in = break_lines(copy, n);
	rc = stands_in ? read_clean(copy, n, first, list) : -ENOMEM;
	for (size_t i = count; stands_in && i < list->count; i++)
		list->item[i].line = first + stands_in[list->item[i].line - first - 1];
	list->lines = lines;
	free(stands_in);
	free(copy);
	return rc;
}
