/* belfry import: foreign captures into traces. */
#include <string.h>

#include "tools/cli/cli.h"
#include "tools/cli/input.h"
#include "traces/import/ftrace.h"
#include "traces/import/sdma_dump.h"

/* What is in a trace that was just written. */
static int tell(const struct bf_args *args, const char *out, size_t count)
{
	struct bf_json j;

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

/* Damage is told after what stands in front of it was imported. */
static int end_import(const struct bf_args *args, const char *out, size_t count, int rc, const struct bf_error *err,
		      const struct bf_error *damage)
{
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	if (damage->text[0])
		return bf_cli_error(args, BF_EXIT_USAGE, "%s; the %zu event%s in front of it %s in %s", damage->text,
				    count, count == 1 ? "" : "s", count == 1 ? "is" : "are", out);
	return tell(args, out, count);
}

static int import_mlx5(const struct bf_args *args, const char *path, const char *out)
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
	return end_import(args, out, count, rc, &err, &damage);
}

/* Writes a trace of one source by `emit`. */
static int write_trace(const char *form, const char *path, const char *out,
		       int (*emit)(const void *source, struct bf_sink *sink, struct bf_error *err), const void *source,
		       struct bf_error *err)
{
	const struct bf_trace_options o = { .jsonl = bf_input_is_jsonl(out) };
	struct bf_trace_writer *w;
	int rc = bf_trace_writer_open(out, NULL, &o, &w, err), closed;

	if (rc)
		return rc;
	rc = bf_trace_meta(w, "imported-from", form);
	if (!rc && bf_trace_meta(w, "source", path) != 0)
		rc = 0; /* a file name that is not UTF-8 */
	if (!rc)
		rc = emit(source, bf_trace_sink(w), err);
	closed = bf_trace_writer_close(w);
	return rc ? rc : closed;
}

static int emit_ftrace(const void *source, struct bf_sink *sink, struct bf_error *err)
{
	return bf_ftrace_emit(source, sink, err);
}

static int import_ftrace(const struct bf_args *args, const char *path, const char *out)
{
	struct bf_error err = { 0 }, damage = { 0 };
	struct bf_ftrace *t;
	size_t count;
	int rc;

	bf_ftrace_load(path, &t, &damage);
	if (!t || t->count == 0) {
		bf_ftrace_free(t);
		return bf_cli_error(args, BF_EXIT_USAGE, "%s",
				    damage.text[0] ? damage.text : "there is no event of an NVMe driver in it");
	}
	count = t->count;
	rc = write_trace("ftrace", path, out, emit_ftrace, t, &err);
	bf_ftrace_free(t);
	return end_import(args, out, count, rc, &err, &damage);
}

static int emit_dump(const void *source, struct bf_sink *sink, struct bf_error *err)
{
	return bf_sdma_dump_emit(source, sink, err);
}

static int import_ring(const struct bf_args *args, const char *path, const char *out)
{
	struct bf_error err = { 0 }, damage = { 0 };
	struct bf_sdma_dump *d = NULL;
	char head[1];
	size_t n;
	FILE *f;
	int rc;

	if (bf_input_peek(path, &f, head, sizeof(head), &n, &damage) == 0) {
		bf_sdma_dump_load_file(f, path, &d, &damage);
		fclose(f);
	}
	if (!d || d->count == 0) {
		bf_sdma_dump_free(d);
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", damage.text);
	}
	n = d->count;
	rc = write_trace("sdma-ring", path, out, emit_dump, d, &err);
	bf_sdma_dump_free(d);
	return end_import(args, out, n, rc, &err, &damage);
}

static const struct {
	const char *name;
	int (*import)(const struct bf_args *args, const char *path, const char *out);
} forms[] = {
	{ "mlx5-capture", import_mlx5 },
	{ "ftrace", import_ftrace },
	{ "sdma-ring", import_ring },
};

static int import(const struct bf_args *args)
{
	const char *form = bf_arg_positional(args, 0), *path = bf_arg_positional(args, 1),
		   *out = bf_arg_text(args, "o");
	size_t i = 0;

	while (i < BF_ARRAY_LEN(forms) && strcmp(form, forms[i].name) != 0)
		i++;
	if (i == BF_ARRAY_LEN(forms))
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "there is no form '%s'; mlx5-capture, ftrace and sdma-ring are known", form);
	if (!out)
		return bf_cli_error(args, BF_EXIT_USAGE, "where shall the trace go? -o FILE");
	if (strcmp(out, "-") == 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "-o wants a file; 'belfry export' writes to standard output");
	return forms[i].import(args, path, out);
}

static const struct bf_opt options[] = {
	{ .name = "o", .kind = BF_OPT_OUT, .arg = "FILE", .help = "the trace to write; *.jsonl: as JSON Lines" },
	{ 0 },
};

const struct bf_command bf_cmd_import = {
	.name = "import",
	.usage = "import mlx5-capture|ftrace|sdma-ring FILE -o TRACE",
	.summary = "convert a capture of queue traffic into a trace",
	.details = "mlx5-capture is JSON Lines with one event a line: registered keys, queue pairs, doorbells, "
		   "entries and\n"
		   "completions as raw bytes. ftrace is what Linux prints for the tracepoints of its nvme and "
		   "nvmet\n"
		   "drivers (old and new forms, trace-cmd's too), or what blkparse prints. sdma-ring is a dump of a "
		   "copy\n"
		   "engine's ring: as umr prints it, or dwords in hexadecimal. If a line is damaged, the lines "
		   "before it are imported and the damage is reported.\n"
		   "\n"
		   "  belfry import mlx5-capture traces/samples/mix_1.client.jsonl -o mix.bft\n"
		   "  belfry dump mix.bft\n"
		   "  belfry import ftrace trace.txt -o nvme.bft",
	.words = "mlx5-capture|ftrace|sdma-ring",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = import,
};
