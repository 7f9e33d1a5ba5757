/* belfry export: traces for other programs (tools/exports). */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli/cli.h"
#include "tools/cli/input.h"
#include "tools/exports/export.h"

static const char *form_name(const void *own, uint32_t i)
{
	const struct bf_export_form *form = bf_export_form_at(i);

	(void)own;
	return form ? form->form.name : NULL;
}

/* NULL: the command line names none, and that has been told. */
static const struct bf_export_form *asked(const struct bf_args *args)
{
	const char *to = bf_arg_text(args, "to"), *name;
	char known[128] = "";

	for (unsigned i = 0; (name = form_name(NULL, i)) != NULL; i++) {
		const size_t n = strlen(known);

		if (to && strcmp(to, name) == 0)
			return bf_export_form_at(i);
		snprintf(known + n, sizeof(known) - n, "%s%s", n ? "|" : "", name);
	}
	if (to)
		bf_cli_error(args, BF_EXIT_USAGE, "--to expects one of %s, got '%s'", known, to);
	else
		bf_cli_error(args, BF_EXIT_USAGE, "into which form? --to=%s", known);
	return NULL;
}

/* Those that take `option`, as in "for --to=perfetto and --to=html". */
static int option_is_for_others(const struct bf_args *args, const char *option)
{
	const struct bf_export_form *form;
	char others[128] = "";

	for (unsigned i = 0; (form = bf_export_form_at(i)) != NULL; i++) {
		const size_t n = strlen(others);

		if (form->option && strcmp(form->option, option) == 0)
			snprintf(others + n, sizeof(others) - n, "%s--to=%s", n ? " and " : "", form->form.name);
	}
	return bf_cli_error(args, BF_EXIT_USAGE, "--%s is for %s", option, others);
}

static int export_to(const struct bf_args *args, const struct bf_export_form *form, struct bf_input *in, FILE *out,
		     struct bf_error *err)
{
	const int rc = form->run(args, in, out, err);

	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	if (in->damage)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", in->damage_error.text);
	return BF_EXIT_GOOD;
}

/* What failed before its first byte leaves no file behind that looks like a result. */
static void drop_empty(FILE *out, const char *path)
{
	struct stat st;

	if (fflush(out) == 0 && lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
		unlink(path);
}

static int export(const struct bf_args *args)
{
	static const char *const special[] = { "both", "memory" };
	const char *path = bf_arg_text(args, "o");
	const bool to_file = path && strcmp(path, "-") != 0;
	const struct bf_export_form *form = asked(args);
	struct bf_error err = { 0 };
	struct bf_input in = { 0 };
	FILE *out = stdout;
	int code;

	if (!form)
		return BF_EXIT_USAGE;
	for (size_t i = 0; i < BF_ARRAY_LEN(special); i++)
		if (bf_arg_flag(args, special[i]) && (!form->option || strcmp(form->option, special[i]) != 0))
			return option_is_for_others(args, special[i]);
	if (form->folder && !to_file)
		return bf_cli_error(args, BF_EXIT_USAGE, "--to=%s makes a folder: -o says which", form->form.name);
	if (bf_input_open(bf_arg_positional(args, 0), &in, &err)) {
		bf_input_close(&in);
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	}
	if (to_file && !form->folder)
		out = fopen(path, "wb");
	if (!out)
		code = bf_cli_error(args, BF_EXIT_USAGE, "cannot write %s: %s", path, strerror(errno));
	else
		code = export_to(args, form, &in, out, &err);
	bf_input_close(&in);
	if (out && out != stdout && code != BF_EXIT_GOOD)
		drop_empty(out, path);
	if (out && out != stdout && bf_output_close(out, path, &err) != 0 && code == BF_EXIT_GOOD)
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (to_file && code == BF_EXIT_GOOD && bf_arg_json(args)) {
		struct bf_json j;

		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "written", path);
		bf_json_close(&j, '}');
		bf_json_end(&j);
	}
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "to", .kind = BF_OPT_TEXT, .arg = "FORM", .help = "the form", .names = form_name },
	{ .name = "o",
	  .kind = BF_OPT_OUT,
	  .arg = "FILE",
	  .help = "output file; default: standard output. ctf: the folder" },
	{ .name = "both", .kind = BF_OPT_FLAG, .help = "pcapng: also record packets where they arrive" },
	{ .name = "memory",
	  .kind = BF_OPT_FLAG,
	  .help = "perfetto, html: also show each store, load and atomic of drivers" },
	{ 0 },
};

static const struct bf_command_form *form_at(unsigned i)
{
	const struct bf_export_form *form = bf_export_form_at(i);

	return form ? &form->form : NULL;
}

const struct bf_command bf_cmd_export = {
	.name = "export",
	.usage = "export TRACE --to=FORM [-o FILE]",
	.summary = "convert a trace for another program",
	.form = form_at,
	.files = true,
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = export,
};
