/* belfry import: foreign captures into traces. */
#include "tools/imports/import.h"

#include <string.h>

#include "tools/cli/input.h"

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

int bf_import_end(const struct bf_args *args, const char *out, size_t count, int rc, const struct bf_error *err,
		  const struct bf_error *damage)
{
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	if (damage->text[0])
		return bf_cli_error(args, BF_EXIT_USAGE, "%s; the %zu event%s in front of it %s in %s", damage->text,
				    count, count == 1 ? "" : "s", count == 1 ? "is" : "are", out);
	return tell(args, out, count);
}

int bf_import_write(const char *form, const char *path, const char *out,
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

static int import(const struct bf_args *args)
{
	const char *name = bf_arg_positional(args, 0), *path = bf_arg_positional(args, 1),
		   *out = bf_arg_text(args, "o");
	const struct bf_import_form *form;
	char known[128] = "";

	for (unsigned i = 0; (form = bf_import_form_at(i)) != NULL && strcmp(name, form->form.name) != 0; i++) {
		size_t n = strlen(known);

		snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", form->form.name);
	}
	if (!form)
		return bf_cli_error(args, BF_EXIT_USAGE, "there is no form '%s'; known: %s", name, known);
	if (!out)
		return bf_cli_error(args, BF_EXIT_USAGE, "where shall the trace go? -o FILE");
	if (strcmp(out, "-") == 0)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "-o expects a file; 'belfry export' writes to standard output");
	return form->import(args, path, out);
}

static const struct bf_command_form *form_at(unsigned i)
{
	const struct bf_import_form *form = bf_import_form_at(i);

	return form ? &form->form : NULL;
}

static const struct bf_opt options[] = {
	{ .name = "o", .kind = BF_OPT_OUT, .arg = "FILE", .help = "the trace to write; *.jsonl: as JSON Lines" },
	{ 0 },
};

const struct bf_command bf_cmd_import = {
	.name = "import",
	.usage = "import FORM FILE -o TRACE",
	.summary = "convert a capture of queue traffic into a trace",
	.details = "If a line is damaged, the lines before it are imported and the damage is reported.",
	.form = form_at,
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = import,
};
