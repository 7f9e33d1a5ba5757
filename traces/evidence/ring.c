/*
 * A ring without a word about it: rows of hexadecimal words as debuggers and printf loops print memory, perhaps with
 * addresses or offsets in front. What the words are shows in themselves: entries whose fields fit, one behind the
 * other. Big-endian rings are printed as bytes stand (as libraries dump completions) or as little-endian processors
 * read words (gdb's x/xw): both are tried.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/grow.h"
#include "traces/evidence/evidence_internal.h"

/* ---- from text ---- */

/* A word of 8 digits, or of 16 that is two; what it is printed as. Returns how many, 0: it is none. */
static uint32_t word_at(const char **p, const char *end, uint32_t dw[2])
{
	const char *at = *p;
	uint64_t v = 0;
	uint32_t n = 0;

	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	for (; at < end && n < 17 && bf_hex_digit(*at) >= 0; at++, n++)
		v = v << 4 | (uint64_t)bf_hex_digit(*at);
	if ((n != 8 && n != 16) || (at < end && *at != ' ' && *at != '\t' && *at != ',' && *at != ';'))
		return 0;
	*p = at;
	dw[0] = (uint32_t)v; /* the lower half lies first where a processor reads 64 bits */
	dw[1] = (uint32_t)(v >> 32);
	return n / 8;
}

static bool is_gap(char c)
{
	return c == ' ' || c == '\t' || c == ',' || c == ';';
}

/* Where the words of a line begin: behind its last colon, "0x7f00:" or "[12.3] ring:". */
static const char *begin_of_words(const struct bf_line *l)
{
	const char *colon = memrchr(l->at, ':', (size_t)(l->end - l->at));

	return colon ? colon + 1 : l->at;
}

/* All words of a line that has nothing else. */
static int take_words(struct bf_ring_words *w, const struct bf_line *l)
{
	const char *p = begin_of_words(l);
	const size_t before = w->count;

	for (;;) {
		uint32_t dw[2], n;

		while (p < l->end && is_gap(*p))
			p++;
		if (p == l->end)
			return 0;
		n = word_at(&p, l->end, dw);
		if (!n) {
			w->count = before;
			return 0;
		}
		if (BF_GROW(w->dw, w->room, w->count + n) || BF_GROW(w->line, w->line_room, w->count + n))
			return -ENOMEM;
		for (uint32_t i = 0; i < n; i++) {
			w->line[w->count] = l->number;
			w->dw[w->count++] = dw[i];
		}
	}
}

/* ---- what they are ---- */

struct bf_evidence *bf_words_add(struct bf_evidence_list *list, const struct bf_ring_words *w, size_t at,
				 const char *form, enum bf_evidence_device device)
{
	struct bf_evidence *e = bf_evidence_add(list);
	struct bf_line l = { .number = w->line[at / 4] };

	if (!e)
		return NULL;
	bf_evidence_begin(e, form, device, BF_EVIDENCE_ENTRY, &l);
	memcpy(e->bytes, w->bytes + at, BF_RING_SLOT);
	e->have = UINT64_MAX;
	snprintf(e->text, sizeof(e->text), "%08x %08x %08x %08x ...", bf_get_be32(e->bytes), bf_get_be32(e->bytes + 4),
		 bf_get_be32(e->bytes + 8), bf_get_be32(e->bytes + 12));
	return e;
}

/* Both ways in which words are printed, and each kind of ring. */
static int recognise(struct bf_ring_words *w, struct bf_evidence_list *list)
{
	int rc = -1;

	w->bytes = malloc(w->count * 4);
	if (!w->bytes)
		return -ENOMEM;
	for (uint32_t order = 0; order < 2 && rc == -1; order++) {
		for (size_t i = 0; i < w->count; i++) {
			if (order)
				bf_put_le32(w->bytes + i * 4, w->dw[i]);
			else
				bf_put_be32(w->bytes + i * 4, w->dw[i]);
		}
		rc = bf_words_completions(w, list);
		if (rc == -1)
			rc = bf_words_sends(w, list);
		if (rc == -1)
			rc = bf_words_commands(w, list);
	}
	free(w->bytes);
	return rc == -1 ? 0 : rc;
}

int bf_evidence_ring(const char *text, size_t len, uint64_t first_line, struct bf_evidence_list *list)
{
	struct bf_ring_words w = { 0 };
	struct bf_line l = { .at = text, .number = first_line };
	const char *end = text + len;
	int rc = 0;

	while (!rc && l.at < end) {
		const char *newline = memchr(l.at, '\n', (size_t)(end - l.at));

		l.end = newline ? newline : end;
		l.number++;
		while (l.end > l.at && (l.end[-1] == '\r' || is_gap(l.end[-1])))
			l.end--;
		if (*l.at != '#')
			rc = take_words(&w, &l);
		l.at = newline ? newline + 1 : end;
	}
	if (!rc && w.count >= BF_RING_SLOT / 4)
		rc = recognise(&w, list);
	free(w.dw);
	free(w.line);
	return rc;
}
