#include "sim/spell.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SPELT_MAX 40u /* longer words are never a slip of the pen */
#define BEGINNING 3u  /* fewer letters begin too many names */

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The optimal string alignment distance. */
static unsigned distance(const char *a, size_t la, const char *b, size_t lb)
{
	unsigned d[SPELT_MAX + 1][SPELT_MAX + 1];

	for (unsigned i = 0; i <= la; i++)
		d[i][0] = i;
	for (unsigned k = 0; k <= lb; k++)
		d[0][k] = k;
	for (size_t i = 1; i <= la; i++) {
		for (size_t k = 1; k <= lb; k++) {
			unsigned best = d[i - 1][k - 1] + !same(a[i - 1], b[k - 1]);

			if (d[i - 1][k] + 1 < best)
				best = d[i - 1][k] + 1;
			if (d[i][k - 1] + 1 < best)
				best = d[i][k - 1] + 1;
			if (i > 1 && k > 1 && same(a[i - 1], b[k - 2]) && same(a[i - 2], b[k - 1]) &&
			    d[i - 2][k - 2] + 1 < best)
				best = d[i - 2][k - 2] + 1;
			d[i][k] = best;
		}
	}
	return d[la][lb];
}

/* One that shares less than two thirds of the word (half of four letters), and does not begin with it, is no help. */
void bf_spell_try(struct bf_spell *s, const char *name)
{
	const size_t len = name ? strlen(name) : 0;
	const unsigned far = s->len < 4 ? 1 : 1 + (unsigned)s->len / 3;
	unsigned d;

	if (!len || !s->len || s->len > SPELT_MAX || len > SPELT_MAX)
		return;
	d = distance(s->word, s->len, name, len);
	if ((d > far || d >= s->len) && s->len >= BEGINNING && strncasecmp(name, s->word, s->len) == 0)
		d = far + 1;
	else if (d > far || d >= s->len)
		return;
	if (!s->best || d < s->distance) {
		s->distance = d;
		s->best = name;
	}
}

const char *bf_spell_hint(const struct bf_spell *s, char *buf, size_t cap)
{
	if (s->best)
		snprintf(buf, cap, "; did you mean %s?", s->best);
	else
		*buf = '\0';
	return buf;
}
