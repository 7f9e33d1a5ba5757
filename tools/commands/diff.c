/* belfry diff: where two traces part. */

#include <errno.h>

#include "tools/cli/cli.h"
#include "tools/cli/input.h"
#include "tools/replay/compare.h"
#include "traces/container/diff.h"

static int compare_queues(const struct bf_args *args, const struct bf_compare_form *form, struct bf_input *a,
			  struct bf_input *b, struct bf_error *err)
{
	struct bf_json j;
	int rc;

	if (!bf_arg_json(args)) {
		rc = form->compare(a->trace, b->trace, stdout, NULL, err);
	} else {
		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		rc = form->compare(a->trace, b->trace, stdout, &j, err);
		if (rc < 0)
			bf_json_text(&j, "error", err->text);
		bf_json_close(&j, '}');
		bf_json_end(&j);
	}
	if (rc < 0 && bf_arg_json(args))
		return BF_EXIT_USAGE;
	if (rc < 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	return rc ? BF_EXIT_FAILED : BF_EXIT_GOOD;
}

/* Which comparison of queues an option asks for; NULL: all records are compared. */
static const struct bf_compare_form *asked(const struct bf_args *args)
{
	const struct bf_compare_form *form;

	for (unsigned i = 0; (form = bf_compare_form_at(i)) != NULL; i++)
		if (bf_arg_flag(args, form->form.name + 2))
			return form;
	return NULL;
}

static int compare(const struct bf_args *args, struct bf_input *a, struct bf_input *b)
{
	const struct bf_diff_options o = {
		.ignore_types = bf_arg_text(args, "ignore-types"),
		.ignore_fields = bf_arg_text(args, "ignore-fields"),
		.limit = bf_arg_u64(args, "limit"),
		.context = (unsigned)bf_arg_u64(args, "context"),
		.json = bf_arg_json(args),
	};
	struct bf_error err = { 0 };
	struct bf_diff_result r = { 0 };
	const struct bf_compare_form *form;
	int rc = bf_input_open(bf_arg_positional(args, 0), a, &err);

	if (!rc)
		rc = bf_input_open(bf_arg_positional(args, 1), b, &err);
	form = asked(args);
	if (!rc && form)
		return compare_queues(args, form, a, b, &err);
	if (!rc)
		rc = bf_diff(a->trace, b->trace, &o, stdout, &r, &err);
	if (rc < 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (!o.json)
		printf("%llu records equal, %llu changed, %llu only in the first, %llu only in the second\n",
		       (unsigned long long)r.equal, (unsigned long long)r.changed, (unsigned long long)r.only_a,
		       (unsigned long long)r.only_b);
	if (a->damage || b->damage)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", a->damage ? a->damage_error.text : b->damage_error.text);
	return rc ? BF_EXIT_FAILED : BF_EXIT_GOOD;
}

static int diff(const struct bf_args *args)
{
	struct bf_input a = { 0 }, b = { 0 };
	int code = compare(args, &a, &b);

	bf_input_close(&a);
	bf_input_close(&b);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "queues",
	  .kind = BF_OPT_FLAG,
	  .help = "compare the work of each queue pair and ignore queue numbers" },
	{ .name = "completions",
	  .kind = BF_OPT_FLAG,
	  .help = "compare what two devices completed and ignore addresses, keys and numbers" },
	{ .name = "ignore-types", .kind = BF_OPT_TEXT, .arg = "NAMES", .help = "ignore records of these types" },
	{ .name = "ignore-fields",
	  .kind = BF_OPT_TEXT,
	  .arg = "NAMES",
	  .help = "fields that may differ: FIELD, TYPE.FIELD, time, tail" },
	{ .name = "limit",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "10",
	  .help = "divergences to print",
	  .min = 1,
	  .max = UINT64_MAX },
	{ .name = "context",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "0",
	  .help = "equal records to print before each",
	  .min = 0,
	  .max = 16 },
	{ 0 },
};

static const struct bf_command_form *form_at(unsigned i)
{
	const struct bf_compare_form *form = bf_compare_form_at(i);

	return form ? &form->form : NULL;
}

const struct bf_command bf_cmd_diff = {
	.name = "diff",
	.usage = "diff TRACE TRACE [options]",
	.summary = "compare two traces record by record",
	.details = "Actors, types and fields are compared by name. Exit code 0: equal, 1: not. With --json each "
		   "divergence is one line with a JSON object.",
	.form = form_at,
	.files = true,
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = diff,
};
