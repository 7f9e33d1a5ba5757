/* belfry import: foreign captures into traces. */
#include <string.h>

#include "tools/input.h"

#include "tools/cli.h"

static int import(const struct bf_args *args)
{
	const char *form = bf_arg_positional(args, 0), *path = bf_arg_positional(args, 1),
		   *out = bf_arg_text(args, "o");
	struct bf_error err = { 0 }, damage = { 0 };
	struct bf_capture *c;
	struct bf_json j;
	int rc, damaged;

	if (strcmp(form, "mlx5-capture") != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "there is no form '%s'; mlx5-capture is known", form);
	if (!out)
		return bf_cli_error(args, BF_EXIT_USAGE, "where shall the trace go? -o FILE");
	if (strcmp(out, "-") == 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "-o wants a file; 'belfry export' writes to standard output");
	damaged = bf_capture_load(path, &c, &damage);
	if (!c || c->count == 0) {
		bf_capture_free(c);
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", damaged ? damage.text : "the capture is empty");
	}
	size_t count = c->count;
	rc = bf_input_import(c, path, out, NULL, &err);
	bf_capture_free(c);
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (damaged)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s; the %zu event%s in front of it %s in %s", damage.text,
				    count, count == 1 ? "" : "s", count == 1 ? "is" : "are", out);
	if (!bf_arg_json(args)) {
		printf("%s: %zu event%s\n", out, count, count == 1 ? "" : "s");
		return BF_EXIT_GOOD;
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "trace", out);
	bf_json_u64(&j, "events", count);
	bf_json_close(&j, '}');
	bf_json_end(&j);
	return BF_EXIT_GOOD;
}

static const struct bf_opt options[] = {
	{ .name = "o", .kind = BF_OPT_TEXT, .arg = "FILE", .help = "the trace to write; *.jsonl: as JSON Lines" },
	{ 0 },
};

const struct bf_command bf_cmd_import = {
	.name = "import",
	.usage = "import mlx5-capture FILE -o TRACE",
	.summary = "turn a capture of queue traffic into a trace",
	.details =
	    "mlx5-capture is JSON Lines with one event a line: registered keys, queue pairs, doorbells, entries and\n"
	    "completions as raw bytes. Lines in front of damage are imported; the damage is then reported.\n"
	    "\n"
	    "  belfry import mlx5-capture traces/samples/mix_1.client.jsonl -o mix.bft\n"
	    "  belfry dump mix.bft",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = import,
};
