/* The story on paper: when, how long after the step before, who, what. */
#include <inttypes.h>
#include <string.h>

#include "traces/life/explain_internal.h"

#define WHO_COLUMN 25u
#define WHO_WIDTH 12u /* at least; threads have longer names */
#define WHO_MAX 28u
#define RUN_MAX 8u  /* packets in a row that are shown in full */
#define RUN_HEAD 3u /* of a longer run: the first ... */
#define RUN_TAIL 2u /* ... and the last */

const char *bf_explain_place_name(enum bf_explain_place p)
{
	static const char *const names[] = { "software", "device", "wire", "remote", "capture", "memory" };

	return names[p];
}

/* Where it is printed. */
struct page {
	FILE *out;
	unsigned columns, width; /* in all; of the names of those who do something */
};

/* Breaks a line that is too long between words. */
static void print_text(const struct page *page, const char *text, unsigned column, unsigned indent)
{
	size_t room = page->columns - column - indent;
	FILE *out = page->out;

	fprintf(out, "%*s", (int)indent, "");
	while (strlen(text) > room) {
		size_t n = room;

		while (n > room / 2 && text[n] != ' ')
			n--;
		fprintf(out, "%.*s\n%*s", (int)n, text, (int)(column + indent + 2), "");
		text += n + (text[n] == ' ');
		room = page->columns - column - indent - 2;
	}
	fprintf(out, "%s\n", text);
}

/* Five digits and one behind the point at most, in the smallest unit that does. */
static void delta_text(uint64_t ps, char *buf, size_t cap)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	uint64_t scale = 1000;
	unsigned u = 0;

	while (u < 3 && ps / scale >= 100000) {
		scale *= 1000;
		u++;
	}
	snprintf(buf, cap, "+%" PRIu64 ".%" PRIu64 " %s", ps / scale, ps % scale / (scale / 10), units[u]);
}

static const char *who_text(const struct bf_explain_step *s, char *buf, size_t cap)
{
	if (s->actor[0])
		snprintf(buf, cap, "%s", s->actor);
	else if (s->place == BF_EXPLAIN_SOFTWARE || s->place == BF_EXPLAIN_CAPTURE || !s->device[0])
		snprintf(buf, cap, "%s", bf_explain_place_name(s->place));
	else
		snprintf(buf, cap, "%s%s", s->device, s->far ? " (peer)" : "");
	return buf;
}

static void print_step(const struct page *page, const struct bf_explain_step *s, const struct bf_explain_step *before)
{
	const unsigned width = page->width;
	FILE *out = page->out;

	char who[64], delta[48] = "";
	/* How late the recorder saw its own device's completion says nothing about this one. */
	uint64_t ps =
	    before && s->place != BF_EXPLAIN_CAPTURE && s->time_ps > before->time_ps ? s->time_ps - before->time_ps : 0;

	if (s->detail) {
		fprintf(out, "%*s", (int)(WHO_COLUMN + width), "");
		print_text(page, s->text, WHO_COLUMN + width, 2);
		return;
	}
	if (ps)
		delta_text(ps, delta, sizeof(delta));
	fprintf(out, "%7" PRIu64 ".%03" PRIu64 " %11s  %-*.*s", s->time_ps / 1000000, s->time_ps % 1000000 / 1000,
		delta, (int)width, (int)width - 1, who_text(s, who, sizeof(who)));
	print_text(page, s->text, WHO_COLUMN + width, 0);
}

static size_t run_of_packets(const struct bf_explain_step *s, size_t n)
{
	size_t run = 0;

	while (run < n && s[run].place == BF_EXPLAIN_WIRE)
		run++;
	return run;
}

static unsigned who_width(const struct bf_explain_step *s, size_t n)
{
	unsigned width = WHO_WIDTH;
	char who[64];

	for (size_t i = 0; i < n; i++) {
		const size_t len = strlen(who_text(&s[i], who, sizeof(who))) + 1;

		if (len > width)
			width = len < WHO_MAX ? (unsigned)len : WHO_MAX;
	}
	return width;
}

/* Nothing is known of the entry, but perhaps of others. */
static void print_nothing(const struct bf_explain *l, FILE *out)
{
	const struct bf_life_story story = { .q = &l->queue, .entry = &l->facts };
	const char *unheard = l->target.life ? l->target.life->unheard : NULL;
	char text[160] = "";

	if (unheard)
		bf_life_say(&story, NULL, NULL, 0, unheard, text, sizeof(text));
	if (text[0]) {
		fprintf(out, "  %s\n", text);
		return;
	}
	fprintf(out, "  nothing is known of it: no record is about it%s",
		l->nothers ? "; there are doorbells for" : "\n");
	for (uint32_t i = 0; i < l->nothers; i++)
		if (i < BF_EXPLAIN_OTHERS)
			fprintf(out, "%s 0x%" PRIx64 "%s", i ? "," : "", l->others[i], i + 1 == l->nothers ? "\n" : "");
		else
			fprintf(out, " and others\n");
}

void bf_explain_print(const struct bf_explain *l, FILE *out, unsigned columns)
{
	struct page page = { .out = out, .columns = columns };
	const struct bf_explain_step *before = NULL;
	size_t n, run = 0, left = 0;
	const struct bf_explain_step *s = bf_explain_steps(l, &n);

	if (n == 0) {
		print_nothing(l, out);
		return;
	}
	page.width = who_width(s, n);
	fprintf(out, "%11s %11s  %-*s%s\n", "time (us)", "", (int)page.width, "who", "what");
	for (size_t i = 0; i < n; i++) {
		if (left == 0) {
			run = run_of_packets(s + i, n - i);
			left = run;
		}
		if (run > RUN_MAX && left == run - RUN_HEAD) {
			fprintf(out, "%*s... %zu packet steps more ...\n", (int)(WHO_COLUMN + page.width), "",
				run - RUN_HEAD - RUN_TAIL);
			i += run - RUN_HEAD - RUN_TAIL;
			left = RUN_TAIL;
			before = &s[i - 1];
		}
		print_step(&page, &s[i], before);
		/* What the recorder saw, and when, is no step of the device's. */
		if (!s[i].detail && s[i].place != BF_EXPLAIN_CAPTURE)
			before = &s[i];
		left -= left != 0;
	}
}
