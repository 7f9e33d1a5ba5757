/*
 * belfry check: the lines of a file, one after the other, compared with the models.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/checks/check.h"
#include "traces/container/text.h"

static int take_file(const struct bf_check_form *form, struct bf_check *t, FILE *f, struct bf_error *err)
{
	struct bf_text_lines lines = { .f = f };
	int rc = form->begin ? form->begin(t, err) : 0, more = 0;

	while (!rc && (more = bf_text_line(&lines, err)) > 0) {
		struct bf_json_line l = { .start = lines.text,
					  .p = lines.text,
					  .end = lines.text + lines.len,
					  .number = (uint32_t)lines.number,
					  .err = err };

		if (bf_json_line_blank(&l))
			continue;
		rc = bf_json_line_scan(&l);
		if (!rc)
			rc = form->take(t, &l);
	}
	rc = more < 0 ? more : rc;
	if (!rc && !t->taken)
		rc = bf_fail(err, -EBADMSG, "there is no %s in it", form->each);
	free(lines.text);
	return rc;
}

/* One JSON document, whether the file is read to its end or not. */
static int take_json(const struct bf_check_form *form, struct bf_check *t, FILE *f, struct bf_error *err)
{
	struct bf_json j;
	int rc;

	t->json = &j;
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, form->list, '[');
	rc = take_file(form, t, f, err);
	bf_json_close(&j, ']');
	form->summary(&j, t);
	if (rc)
		bf_json_text(&j, "error", err->text);
	bf_json_close(&j, '}');
	bf_json_end(&j);
	return rc;
}

static int check_file(const struct bf_args *args, const struct bf_check_form *form, const char *path, FILE *f)
{
	struct bf_check *t = calloc(1, form->tally_bytes);
	struct bf_error err = { 0 };
	int rc, code;

	if (!t)
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	t->path = path;
	rc = bf_arg_json(args) ? take_json(form, t, f, &err) : take_file(form, t, f, &err);
	if (!rc && !t->json)
		form->print(t);
	if (form->end)
		form->end(t);
	code = t->bad ? BF_EXIT_FAILED : BF_EXIT_GOOD;
	free(t);
	if (rc) {
		fflush(stdout);
		fprintf(stderr, "belfry check: %s: %s\n", path, err.text);
		return BF_EXIT_USAGE;
	}
	return code;
}

static int run_check(const struct bf_args *args)
{
	const char *name = bf_arg_positional(args, 0), *path = bf_arg_positional(args, 1);
	const struct bf_check_form *form;
	char known[128] = "";
	FILE *f;
	int code;

	for (unsigned i = 0; (form = bf_check_form_at(i)) != NULL; i++) {
		if (strcmp(name, form->form.name) != 0) {
			size_t n = strlen(known);

			snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", form->form.name);
			continue;
		}
		f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
		if (!f)
			return bf_cli_error(args, BF_EXIT_USAGE, "cannot open %s: %s", path, strerror(errno));
		code = check_file(args, form, path, f);
		if (f != stdin)
			fclose(f);
		return code;
	}
	return bf_cli_error(args, BF_EXIT_USAGE, "there is no form '%s'; known: %s", name, known);
}

static const struct bf_command_form *form_at(unsigned i)
{
	const struct bf_check_form *form = bf_check_form_at(i);

	return form ? &form->form : NULL;
}

static const struct bf_opt options[] = { { 0 } };

const struct bf_command bf_cmd_check = {
	.name = "check",
	.usage = "check FORM FILE",
	.summary = "compare the models with data from real devices",
	.form = form_at,
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = run_check,
};
