#include "tools/report/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tools/report/findings.h"
#include "traces/device.h"

bool bf_explain_entry(const char *text, uint32_t *qpn, uint16_t *index)
{
	struct bf_explain_target t;

	if (!bf_explain_parse(text, &t) || !t.life || !t.life->queue || t.device[0] || t.index > 0xffff)
		return false;
	*qpn = (uint32_t)t.queue;
	*index = (uint16_t)t.index;
	return true;
}

/* ---- a life ---- */

static void step_json(struct bf_json *j, const struct bf_explain_step *s)
{
	bf_json_open(j, NULL, '{');
	bf_json_u64(j, "time_ps", s->time_ps);
	bf_json_text(j, "who", bf_explain_place_name(s->place));
	bf_json_text(j, "device", s->device);
	bf_json_text(j, "actor", s->actor);
	bf_json_text(j, "what", s->what);
	bf_json_bool(j, "detail", s->detail);
	bf_json_bool(j, "missing", s->missing);
	bf_json_text(j, "text", s->text);
	bf_json_close(j, '}');
}

void bf_explain_json(struct bf_json *j, const struct bf_explain *l)
{
	const struct bf_explain_target *t = bf_explain_target_of(l);
	size_t n;
	const struct bf_explain_step *s = bf_explain_steps(l, &n);
	char text[80];

	bf_json_open(j, "life", '{');
	bf_json_text(j, "of", bf_explain_target_text(t, text, sizeof(text)));
	if (t->life && t->life->key)
		bf_json_hex(j, t->life->key, t->queue);
	bf_json_u64(j, "index", t->index);
	bf_json_bool(j, "ended", bf_explain_ended(l));
	bf_json_open(j, "steps", '[');
	for (size_t i = 0; i < n; i++)
		step_json(j, &s[i]);
	bf_json_close(j, ']');
	bf_json_open(j, "unknown", '[');
	for (unsigned i = 0; bf_explain_unknown(l, i); i++)
		bf_json_text(j, NULL, bf_explain_unknown(l, i));
	bf_json_close(j, ']');
	bf_json_close(j, '}');
}

static void print_title(const struct bf_explain *l)
{
	const struct bf_explain_target *t = bf_explain_target_of(l);
	char text[80];

	if (t->life && t->life->queue)
		printf("The life of %s %" PRIu64 " of %s 0x%" PRIx64 ":\n\n", bf_explain_thing(t), t->index,
		       t->life->queue, t->queue);
	else
		printf("The life of %s %s:\n\n", bf_explain_thing(t), bf_explain_target_text(t, text, sizeof(text)));
}

int bf_explain_out(const struct bf_args *args, const struct bf_explain *l, const char *error)
{
	size_t n;

	bf_explain_steps(l, &n);
	if (bf_arg_json(args)) {
		struct bf_json j;

		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		bf_explain_json(&j, l);
		if (error)
			bf_json_text(&j, "error", error);
		bf_json_close(&j, '}');
		bf_json_end(&j);
	} else {
		print_title(l);
		bf_explain_print(l, stdout, bf_cli_columns(stdout));
		if (bf_explain_unknown(l, 0))
			puts("\nnot known:");
		for (unsigned i = 0; bf_explain_unknown(l, i); i++) {
			printf("  ");
			bf_cli_wrap(stdout, bf_explain_unknown(l, i), 4, 2);
		}
	}
	return n ? BF_EXIT_GOOD : BF_EXIT_FAILED;
}

/* ---- what is stuck ---- */

static void group_json(struct bf_json *j, const struct bf_stuck_group *g)
{
	char text[80];

	bf_json_open(j, NULL, '{');
	bf_json_text(j, "where", g->where);
	bf_json_text(j, "kind", g->kind);
	bf_json_text(j, "missing", g->missing);
	bf_json_u64(j, "count", g->count);
	bf_json_u64(j, "since_ps", g->since_ps);
	if (g->explained)
		bf_json_text(j, "oldest", bf_explain_target_text(&g->oldest, text, sizeof(text)));
	bf_json_text(j, "text", g->text);
	bf_json_close(j, '}');
}

static void stuck_json(const struct bf_stuck *s, const struct bf_rules *r, const char *damage)
{
	const struct bf_found *root = bf_rules_root(r);
	const char *fault;
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	if (root) {
		bf_json_open(&j, "cause", '{');
		bf_json_text(&j, "rule", root->rule->id);
		bf_json_text(&j, "where", root->where);
		bf_json_text(&j, "text", root->text);
		bf_json_close(&j, '}');
	}
	if (bf_rules_faults(r, &fault))
		bf_json_text(&j, "fault", fault);
	bf_json_open(&j, "stuck", '[');
	for (uint32_t i = 0; i < bf_stuck_count(s); i++)
		group_json(&j, bf_stuck_group(s, i));
	bf_json_close(&j, ']');
	bf_json_open(&j, "unknown", '[');
	for (uint32_t i = 0; bf_stuck_unknown(s, i); i++)
		bf_json_text(&j, NULL, bf_stuck_unknown(s, i));
	bf_json_close(&j, ']');
	bf_json_u64(&j, "end_ps", bf_stuck_end_ps(s));
	if (damage)
		bf_json_text(&j, "error", damage);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

/* "3 send entries" */
static void print_count(const struct bf_stuck_group *g)
{
	const size_t len = strlen(g->kind);

	if (g->count == 1)
		printf("1 %s", g->kind);
	else if (len && g->kind[len - 1] == 'y')
		printf("%" PRIu64 " %.*sies", g->count, (int)len - 1, g->kind);
	else
		printf("%" PRIu64 " %ss", g->count, g->kind);
}

static void print_group(const char *trace, const struct bf_stuck_group *g)
{
	char oldest[80] = "";

	if (g->explained)
		bf_explain_target_text(&g->oldest, oldest, sizeof(oldest));
	printf("\n%s: ", g->where);
	print_count(g);
	printf(", first missing step: %s, since %s\n", g->missing, bf_span_of(g->since_ps).text);
	printf("  ");
	bf_cli_wrap(stdout, g->text, 2, 2);
	if (*oldest)
		printf("  the oldest: belfry explain %s %s\n", trace, oldest);
}

static void print_cause(const struct bf_rules *r, const char *what)
{
	const struct bf_found *root = bf_rules_root(r);
	const char *fault;
	char text[1200];

	if (root)
		snprintf(text, sizeof(text), "%s: %s [%s]", what, root->text, root->rule->id);
	else
		snprintf(text, sizeof(text), "no rule names a root cause");
	bf_cli_wrap(stdout, text, 2, 0);
	if (bf_rules_faults(r, &fault))
		bf_cli_wrap(stdout, fault, 2, 0);
}

int bf_stuck_out(const struct bf_args *args, const struct bf_stuck *s, const struct bf_rules *r, const char *damage)
{
	const uint32_t n = bf_stuck_count(s);

	if (bf_arg_json(args)) {
		stuck_json(s, r, damage);
		return n ? BF_EXIT_FINDINGS : BF_EXIT_GOOD;
	}
	if (damage) {
		bf_cli_wrap(stdout, "the trace is damaged or cut, and what is unfinished here may have gone on:", 2, 0);
		printf("  %s\n", damage);
	}
	if (n)
		print_cause(r, "root cause");
	else
		printf("nothing is stuck: all that began has ended by %s\n", bf_span_of(bf_stuck_end_ps(s)).text);
	if (!n && bf_rules_root(r))
		print_cause(r, "wrong all the same");
	for (uint32_t i = 0; i < n; i++)
		print_group(bf_arg_positional(args, 0), bf_stuck_group(s, i));
	if (bf_stuck_unknown(s, 0))
		puts("\nnot known:");
	for (uint32_t i = 0; bf_stuck_unknown(s, i); i++) {
		printf("  ");
		bf_cli_wrap(stdout, bf_stuck_unknown(s, i), 4, 2);
	}
	return n ? BF_EXIT_FINDINGS : BF_EXIT_GOOD;
}
