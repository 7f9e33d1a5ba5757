/* belfry diff: where two traces part. */

#include <errno.h>

#include "tools/cli/cli.h"
#include "tools/replay/completion_diff.h"
#include "tools/cli/input.h"
#include "tools/replay/queue_diff.h"
#include "traces/container/diff.h"

/* A comparison of queue pairs: 0: alike, 1: not, or a negative errno. That both traces have nothing is none. */
typedef int compare_fn(struct bf_input *a, struct bf_input *b, struct bf_json *j, struct bf_error *err);

static int diff_queues(struct bf_input *a, struct bf_input *b, struct bf_json *j, struct bf_error *err)
{
	struct bf_queue_diff r;
	int rc = bf_queue_diff(a->trace, b->trace, stdout, j, &r, err);

	if (rc >= 0 && !r.queues && !r.unmatched)
		return bf_fail(err, -ENOENT, "--queues: neither trace has a queue pair of mlx5");
	return rc;
}

static int diff_completions(struct bf_input *a, struct bf_input *b, struct bf_json *j, struct bf_error *err)
{
	struct bf_completion_diff r;
	int rc = bf_completion_diff(a->trace, b->trace, stdout, j, &r, err);

	if (rc >= 0 && !r.completions)
		return bf_fail(err, -ENOENT, "--completions: the first trace has none of mlx5's");
	return rc;
}

static int compare_queues(const struct bf_args *args, compare_fn *compare, struct bf_input *a, struct bf_input *b,
			  struct bf_error *err)
{
	struct bf_json j;
	int rc;

	if (!bf_arg_json(args)) {
		rc = compare(a, b, NULL, err);
	} else {
		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		rc = compare(a, b, &j, err);
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
	int rc = bf_input_open(bf_arg_positional(args, 0), a, &err);

	if (!rc)
		rc = bf_input_open(bf_arg_positional(args, 1), b, &err);
	if (!rc && bf_arg_flag(args, "queues"))
		return compare_queues(args, diff_queues, a, b, &err);
	if (!rc && bf_arg_flag(args, "completions"))
		return compare_queues(args, diff_completions, a, b, &err);
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

const struct bf_command bf_cmd_diff = {
	.name = "diff",
	.usage = "diff TRACE TRACE [options]",
	.summary = "compare two traces record by record",
	.details = "Actors, types and fields are compared by name. Exit code 0: equal, 1: not. With --json each "
		   "divergence is one line with a JSON object.\n"
		   "\n"
		   "--queues compares runs whose tables have different orders (belfry run --layout). Queue pairs "
		   "are matched by what they connect. Differing numbers of queue pairs, completion queues and table "
		   "entries are listed; entries and completions must be equal. belfry replay TRACE --layout runs "
		   "and compares in one step.\n"
		   "\n"
		   "--completions compares a model with a real device, or two devices, for one driver. Queue pairs "
		   "are matched in order of creation, and each must have the same completions in order: opcodes, "
		   "entries, byte counts, syndromes, owner bits. If threads filled a ring in another order, each "
		   "kind of entry must have the same answers, the same number of times. If the entries themselves "
		   "differ, the exit code is 1, and \"other work\" says that the answers to each kind are the same "
		   "in both.\n"
		   "\n"
		   "  belfry run ibgda-mixed --trace l3.bft\n"
		   "  belfry run ibgda-mixed --layout l2 --trace l2.bft\n"
		   "  belfry diff --queues l3.bft l2.bft\n"
		   "  belfry exec --trace mlx5.bft -- belfry run ibgda-mixed --backend mlx5\n"
		   "  belfry diff --completions l3.bft mlx5.bft",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = diff,
};
