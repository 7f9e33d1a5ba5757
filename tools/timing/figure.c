#include "tools/timing/figure.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SIZE_LIMIT (1ull << 40)
#define COUNT_LIMIT (1ull << 24)

static int missing(struct bf_json_line *l, const char *name)
{
	return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": no \"%s\"", l->number, name);
}

static bool is_null(const struct bf_json_member *m)
{
	return !m || (m->token == BF_JSON_OTHER && m->value_len == 4 && !memcmp(m->value, "null", 4));
}

static int read_text(struct bf_json_line *l, const char *name, bool needed, char *out, size_t cap)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);
	int64_t n;

	out[0] = '\0';
	if (is_null(m))
		return needed ? missing(l, name) : 0;
	if (m->token != BF_JSON_STRING)
		return bf_json_line_fail(l, m, name, "is not text");
	n = bf_json_line_text(l, m, name, out, cap);
	if (n == -E2BIG)
		return bf_json_line_fail(l, m, name, "is too long");
	return n < 0 ? (int)n : 0;
}

static int read_count(struct bf_json_line *l, const char *name, uint64_t max, uint64_t *out, bool *there)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);

	*out = 0;
	if (there)
		*there = !is_null(m);
	return is_null(m) ? 0 : bf_json_line_integer(l, m, name, BF_JSON_DECIMAL, max, out);
}

/* strtod() wants an end, and takes more than JSON does ("inf", "0x1p3"): the scanner has seen a number here. */
static bool number_of(const struct bf_json_member *m, double *out)
{
	char digits[64], *end;

	if (m->token != BF_JSON_NUMBER || m->value_len >= sizeof(digits))
		return false;
	memcpy(digits, m->value, m->value_len);
	digits[m->value_len] = '\0';
	*out = strtod(digits, &end);
	return !*end && isfinite(*out);
}

static int read_value(struct bf_json_line *l, double *out)
{
	const struct bf_json_member *m = bf_json_line_find(l, "value");

	if (is_null(m))
		return missing(l, "value");
	if (!number_of(m, out) || *out < 0)
		return bf_json_line_fail(l, m, "value", "is not a number that a measurement can give");
	return 0;
}

static int read_confidence(struct bf_json_line *l, enum bf_confidence *out)
{
	static const char *const names[] = { "high", "medium", "low" };
	char text[16];
	int rc = read_text(l, "confidence", true, text, sizeof(text));

	if (rc)
		return rc;
	for (unsigned i = 0; i < BF_ARRAY_LEN(names); i++)
		if (!strcmp(text, names[i])) {
			*out = (enum bf_confidence)i;
			return 0;
		}
	return bf_json_line_fail(l, bf_json_line_find(l, "confidence"), "confidence", "is not high, medium or low");
}

static int read_primary(struct bf_json_line *l, bool *out)
{
	const struct bf_json_member *m = bf_json_line_find(l, "primary");

	if (!m)
		return missing(l, "primary");
	*out = m->value_len == 4 && !memcmp(m->value, "true", 4);
	if (m->token != BF_JSON_OTHER || (!*out && !(m->value_len == 5 && !memcmp(m->value, "false", 5))))
		return bf_json_line_fail(l, m, "primary", "is not true or false");
	return 0;
}

static int read_conditions(struct bf_json_line *l, struct bf_figure *f)
{
	const struct bf_json_member *m = bf_json_line_find(l, "conditions");

	f->conditions[0] = '\0';
	if (is_null(m))
		return 0;
	if (m->token != BF_JSON_OTHER || m->value[0] != '{')
		return bf_json_line_fail(l, m, "conditions", "is not an object");
	if (m->value_len >= sizeof(f->conditions))
		return bf_json_line_fail(l, m, "conditions", "is too long");
	memcpy(f->conditions, m->value, m->value_len);
	f->conditions[m->value_len] = '\0';
	return 0;
}

int bf_figure_read(struct bf_json_line *l, struct bf_figure *f)
{
	int rc;

	memset(f, 0, sizeof(*f));
	f->line = l->number;
	/* What names the figure and says whether it counts comes first: that is there even if the rest cannot be read.
	 */
	if ((rc = read_text(l, "id", true, f->id, sizeof(f->id))) ||
	    (rc = read_text(l, "device", true, f->device, sizeof(f->device))) ||
	    (rc = read_confidence(l, &f->confidence)) || (rc = read_primary(l, &f->primary)) ||
	    (rc = read_text(l, "metric", true, f->metric, sizeof(f->metric))) ||
	    (rc = read_text(l, "unit", true, f->unit, sizeof(f->unit))) ||
	    (rc = read_text(l, "source", true, f->source, sizeof(f->source))) ||
	    (rc = read_text(l, "op", false, f->op, sizeof(f->op))) ||
	    (rc = read_text(l, "hardware", false, f->hardware, sizeof(f->hardware))))
		return rc;
	if ((rc = read_count(l, "size_bytes", SIZE_LIMIT, &f->size, &f->has_size)) ||
	    (rc = read_count(l, "qps", COUNT_LIMIT, &f->qps, NULL)) ||
	    (rc = read_count(l, "depth", COUNT_LIMIT, &f->depth, NULL)) ||
	    (rc = read_count(l, "ranks", COUNT_LIMIT, &f->ranks, NULL)))
		return rc;
	rc = read_value(l, &f->value);
	return rc ? rc : read_conditions(l, f);
}

/* Finds the member of the conditions; `l` is left for what reads it. */
static const struct bf_json_member *condition(const struct bf_figure *f, const char *name, struct bf_json_line *l)
{
	const struct bf_json_member *m;

	*l = (struct bf_json_line){ .start = f->conditions, .p = f->conditions };
	l->end = l->start + strlen(f->conditions);
	if (bf_json_line_blank(l) || bf_json_line_scan(l))
		return NULL;
	m = bf_json_line_find(l, name);
	return is_null(m) ? NULL : m;
}

bool bf_figure_condition(const struct bf_figure *f, const char *name, char *out, size_t cap)
{
	struct bf_json_line l;
	const struct bf_json_member *m = condition(f, name, &l);

	out[0] = '\0';
	if (!m)
		return false;
	if (m->token == BF_JSON_STRING)
		return bf_json_line_text(&l, m, name, out, cap) >= 0;
	if (m->value_len >= cap)
		return false;
	memcpy(out, m->value, m->value_len);
	out[m->value_len] = '\0';
	return true;
}

double bf_figure_condition_number(const struct bf_figure *f, const char *name, double otherwise)
{
	struct bf_json_line l;
	const struct bf_json_member *m = condition(f, name, &l);
	double value;

	return m && number_of(m, &value) ? value : otherwise;
}

bool bf_figure_says(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (; *text; text++)
		if (!strncasecmp(text, word, n))
			return true;
	return false;
}
