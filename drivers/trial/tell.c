/* What a trial says to whoever reads the log of a test. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "drivers/trial/trial_internal.h"

const char *bf_trial_verdict_name(enum bf_trial_verdict v)
{
	static const char *const names[] = {
		[BF_TRIAL_GOOD] = "good",        [BF_TRIAL_WRONG] = "wrong result", [BF_TRIAL_STUCK] = "stuck",
		[BF_TRIAL_LIMIT] = "time limit", [BF_TRIAL_STOPPED] = "bad access", [BF_TRIAL_FOUND] = "right by luck",
		[BF_TRIAL_NOT_RUN] = "not run",
	};

	return (size_t)v < BF_ARRAY_LEN(names) ? names[v] : "?";
}

bool bf_trial_found(const struct bf_trial_result *r, const char *id)
{
	for (uint32_t i = 0; i < r->nfindings; i++)
		if (strcmp(r->finding[i].rule->id, id) == 0)
			return true;
	return false;
}

struct text {
	char *at;
	size_t cap, used;
};

static void say(struct text *x, const char *fmt, ...) BF_PRINTF(2, 3);
static void say(struct text *x, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (x->used + 1 >= x->cap)
		return;
	va_start(ap, fmt);
	n = vsnprintf(x->at + x->used, x->cap - x->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		x->used = x->used + (size_t)n < x->cap ? x->used + (size_t)n : x->cap - 1;
}

static void say_which(struct text *x, const struct bf_trial_spec *spec, const struct bf_trial_result *r)
{
	say(x, "seed %" PRIu64 ", ordering %s", r->seed, bf_ordering_name(r->ordering));
	for (uint32_t i = 0; i < spec->nsizes && i < BF_TRIAL_SIZES; i++)
		say(x, ", %s %" PRIu64, spec->sizes[i].name, r->size[i]);
}

void bf_trial_command(const struct bf_trial_spec *spec, const struct bf_trial_result *r, char *out, size_t cap)
{
	struct text x = { out, cap, 0 };

	say(&x, "trial %s, ", spec->name ? spec->name : "without a name");
	say_which(&x, spec, r);
}

static void say_findings(struct text *x, const struct bf_trial_result *r)
{
	for (uint32_t i = 0; i < r->nfindings; i++) {
		const struct bf_trial_finding *f = &r->finding[i];

		say(x, "\n%s: %s at %s: %s", f->root ? "cause" : bf_severity_name(f->rule->severity), f->rule->id,
		    f->where, f->text);
		if (f->root)
			say(x, "\nwhy: %s\nfix: %s", f->rule->wrong, f->rule->fix);
	}
	if (!r->nfindings && r->verdict != BF_TRIAL_NOT_RUN)
		say(x, "\ncause: no rule knows one");
}

static void say_lines(struct text *x, const char *what, const char *lines)
{
	while (*lines) {
		const int len = (int)strcspn(lines, "\n");

		if (len)
			say(x, "\n%s: %.*s", what, len, lines);
		lines += len + (lines[len] == '\n');
	}
}

/* As it is, without the last newline. */
static void say_more(struct text *x, const char *lines)
{
	size_t len = lines ? strlen(lines) : 0;

	while (len && lines[len - 1] == '\n')
		len--;
	if (len)
		say(x, "\n%.*s", (int)len, lines);
}

void bf_trial_tell(const struct bf_trial_spec *spec, const struct bf_trial_after *after, struct bf_trial_result *r)
{
	struct text x = { r->text, sizeof(r->text), 0 };

	say(&x, "%s: %s", spec->name ? spec->name : "trial", bf_trial_verdict_name(r->verdict));
	if (r->ok) {
		say(&x, " in %" PRIu64 " run%s", r->runs, r->runs == 1 ? "" : "s");
		return;
	}
	if (r->verdict != BF_TRIAL_NOT_RUN) {
		say(&x, " with ");
		say_which(&x, spec, r);
		if (r->runs > 1)
			say(&x, " (the smallest such run of %" PRIu64 ")", r->runs);
	}
	if (r->reason[0])
		say(&x, "\nwhat: %s", r->reason);
	say_findings(&x, r);
	say_lines(&x, "state", r->world.report);
	say_more(&x, after->more);
	if (after->traced)
		say(&x, "\ntrace: %s", spec->trace);
	else if (after->err.code)
		say(&x, "\ntrace: not written: %s", after->err.text);
}
