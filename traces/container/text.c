#include "traces/container/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"

static int no_memory(uint64_t line, struct bf_error *err)
{
	return bf_fail(err, -ENOMEM, "line %" PRIu64 ": out of memory", line);
}

static int too_long(uint64_t line, struct bf_error *err)
{
	return bf_fail(err, -EMSGSIZE, "line %" PRIu64 " is longer than %u MiB", line, BF_TEXT_LINE_MAX >> 20);
}

int bf_text_line(struct bf_text_lines *l, struct bf_error *err)
{
	int c;

	l->len = 0;
	l->number++;
	while ((c = getc_unlocked(l->f)) != EOF) {
		if (c != '\n' && l->len == BF_TEXT_LINE_MAX)
			return too_long(l->number, err);
		if (BF_GROW(l->text, l->cap, l->len + 1 + 1))
			return no_memory(l->number, err);
		if (c == '\n')
			break;
		l->text[l->len++] = (char)c;
	}
	if (ferror(l->f))
		return bf_fail(err, -EIO, "line %" PRIu64 ": cannot read: %s", l->number, strerror(errno));
	if (c == EOF && !l->len)
		return 0;
	l->text[l->len] = '\0';
	return 1;
}

/* Looks at what came last; `*begun` is where the line at hand begins. */
static int check_lines(const char *text, size_t from, size_t len, size_t *begun, uint64_t *line, struct bf_error *err)
{
	for (const char *newline; (newline = memchr(text + from, '\n', len - from)) != NULL; ++*line)
		from = *begun = (size_t)(newline - text) + 1;
	return len - *begun > BF_TEXT_LINE_MAX ? too_long(*line, err) : 0;
}

int bf_text_whole(FILE *f, const char *path, char **text, size_t *len, struct bf_error *err)
{
	size_t cap = 1 << 16, begun = 0;
	struct bf_error cause = { 0 };
	uint64_t line = 1;
	int rc = 0;

	*len = 0;
	*text = NULL;
	for (;; cap *= 2) {
		char *more = realloc(*text, cap);
		size_t got;

		if (!more)
			return bf_fail(err, -ENOMEM, "%s is too large for this machine's memory", path);
		*text = more;
		got = fread(*text + *len, 1, cap - 1 - *len, f);
		rc = check_lines(*text, *len, *len + got, &begun, &line, &cause);
		*len += got;
		if (rc)
			return bf_fail(err, rc, "%s: %s", path, cause.text);
		if (*len < cap - 1)
			break;
		if (cap > BF_TEXT_MAX)
			return bf_fail(err, -EMSGSIZE, "%s is longer than %llu GiB", path, BF_TEXT_MAX >> 30);
	}
	(*text)[*len] = '\0';
	return ferror(f) ? bf_fail(err, -EIO, "cannot read %s: %s", path, strerror(errno)) : 0;
}
