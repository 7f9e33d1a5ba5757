/* Captures of queues, as tests of RDMA programs record them. */
#include "tools/cli/input.h"
#include "tools/imports/import.h"

static int import_capture(const struct bf_args *args, const char *path, const char *out)
{
	struct bf_error err = { 0 }, damage = { 0 };
	struct bf_capture *c;
	size_t count;
	int rc;

	bf_capture_load(path, &c, &damage);
	if (!c || c->count == 0) {
		bf_capture_free(c);
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", damage.text[0] ? damage.text : "the capture is empty");
	}
	count = c->count;
	rc = bf_input_import(c, path, out, NULL, &err);
	bf_capture_free(c);
	return bf_import_end(args, out, count, rc, &err, &damage);
}

extern const struct bf_import_form bf_import_mlx5_capture;
const struct bf_import_form bf_import_mlx5_capture = {
	.form = { .name = BF_CAPTURE_FORM,
		  .details = "JSON Lines with one event a line: registered keys, queue pairs, doorbells, entries and "
			     "completions as raw bytes.",
		  .example = "  belfry import mlx5-capture traces/samples/mix_1.client.jsonl -o mix.bft\n"
			     "  belfry dump mix.bft" },
	.import = import_capture,
};
