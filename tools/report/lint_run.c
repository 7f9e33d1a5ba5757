#include "tools/report/lint_run.h"

#include <errno.h>

int bf_lint_run_begin(const struct bf_args *args, uint32_t records, struct bf_lint_run *l)
{
	struct bf_error err = { 0 };

	*l = (struct bf_lint_run){ .records = records };
	if (!bf_arg_flag(args, "lint"))
		return BF_EXIT_GOOD;
	if (!records)
		return bf_cli_error(args, BF_EXIT_USAGE, "--lint: rules read records, and there are none");
	if (bf_rules_create(NULL, &l->rules, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	return BF_EXIT_GOOD;
}

struct bf_sink *bf_lint_run_sink(struct bf_lint_run *l, struct bf_sink *other)
{
	if (!l->rules)
		return other;
	if (!other)
		return bf_rules_sink(l->rules);
	bf_sink_tee_init(&l->tee, other, bf_rules_sink(l->rules));
	return &l->tee.sink;
}

int bf_lint_run_end(struct bf_lint_run *l, bool good, struct bf_cause *cause, const struct bf_family *again,
		    const void *w)
{
	struct bf_error err = { 0 };

	if (!l->rules)
		return 0;
	if (bf_rules_finish(l->rules, true))
		return -ENOMEM;
	if (!good)
		bf_cause_take(l->rules, cause);
	if (again && (l->records & BF_CLASS_WHERE) && bf_rules_count(l->rules) &&
	    bf_places_open(l->rules, &l->places) == 0)
		bf_family_again(again, w, l->records, bf_places_sink(l->places), &err);
	return 0;
}

void bf_lint_run_print(FILE *out, const struct bf_lint_run *l)
{
	if (!l->rules)
		return;
	if (!bf_rules_problems(l->rules))
		fputs("lint: nothing found\n", out);
	bf_findings_print(out, l->rules, l->places, false);
}

void bf_lint_run_json(struct bf_json *j, const struct bf_lint_run *l)
{
	if (!l->rules)
		return;
	bf_json_open(j, "lint", '{');
	bf_findings_json(j, l->rules, l->places);
	bf_json_close(j, '}');
}

int bf_lint_run_code(const struct bf_lint_run *l)
{
	return l->rules && bf_rules_problems(l->rules) ? BF_EXIT_FINDINGS : BF_EXIT_GOOD;
}

void bf_lint_run_free(struct bf_lint_run *l)
{
	bf_places_free(l->places);
	bf_rules_destroy(l->rules);
	*l = (struct bf_lint_run){ 0 };
}
