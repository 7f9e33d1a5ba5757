/* belfry lint: what rules find in traces and captures. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/grow.h"
#include "tools/cli/cli.h"
#include "tools/cli/input.h"
#include "tools/report/lint.h"
#include "traces/life/last.h"
#include "tools/replay/kind.h"

extern const struct bf_command bf_cmd_rules;

/* ---- which files ---- */

static int add_file(struct bf_lint *l, const char *path, struct bf_error *err)
{
	char *copy = strdup(path);

	if (!copy || BF_GROW(l->files, l->files_cap, l->nfiles + 1)) {
		free(copy);
		return bf_fail(err, -ENOMEM, "no memory for a list of files");
	}
	l->files[l->nfiles++] = (struct bf_lint_file){ .path = copy };
	return 0;
}

static bool is_trace_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (strcmp(dot, ".bft") == 0 || strcmp(dot, ".jsonl") == 0);
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct bf_lint_file *)a)->path, ((const struct bf_lint_file *)b)->path);
}

/* All *.bft and *.jsonl in it, by name. */
static int add_folder(struct bf_lint *l, const char *path, struct bf_error *err)
{
	const uint32_t first = l->nfiles;
	DIR *dir = opendir(path);
	struct dirent *d;
	char full[4096];
	int rc = 0;

	if (!dir)
		return bf_fail(err, -errno, "%s: %s", path, strerror(errno));
	while (!rc && (d = readdir(dir)) != NULL) {
		if (!is_trace_name(d->d_name))
			continue;
		if ((size_t)snprintf(full, sizeof(full), "%s/%s", path, d->d_name) >= sizeof(full))
			rc = bf_fail(err, -ENAMETOOLONG, "%s/%s: too long", path, d->d_name);
		else
			rc = add_file(l, full, err);
	}
	closedir(dir);
	if (!rc && l->nfiles == first)
		return bf_fail(err, -ENOENT, "%s: no *.bft and no *.jsonl in there", path);
	if (l->nfiles > first)
		qsort(l->files + first, l->nfiles - first, sizeof(*l->files), compare_paths);
	return rc;
}

static int add_path(struct bf_lint *l, const char *path, struct bf_error *err)
{
	struct stat st;

	if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return add_folder(l, path, err);
	return add_file(l, path, err);
}

/* ---- reading ---- */

const char *bf_lint_name(const struct bf_lint_file *f, char *text, size_t cap)
{
	snprintf(text, cap, "%s%s", f->path, f->replayed ? ", replayed" : "");
	return text;
}

/*
 * What was captured is put through the model, whose records say more than a capture holds. One that cannot be replayed
 * says so by itself; what the model does in another way than the device is `belfry replay`'s to tell.
 */
static int replay(struct bf_lint *l, const char *path, const struct bf_input *in, const struct bf_rules_opts *opts,
		  struct bf_error *err)
{
	struct bf_lint_file *f;
	int rc = add_file(l, path, err);

	if (rc)
		return rc;
	f = &l->files[l->nfiles - 1];
	f->replayed = true;
	rc = bf_rules_create(opts, &f->rules, err);
	if (rc)
		return rc;
	rc = bf_replay_again(in, bf_rules_sink(f->rules), &f->err);
	if (bf_rules_finish(f->rules, !rc))
		rc = -ENOMEM;
	f->unreadable = rc != 0;
	return rc == -ENOMEM ? bf_fail(err, rc, "no memory to replay %s", path) : 0;
}

/* What stands behind a gap is not judged; errors that stand there are told all the same. */
static void tell_behind(struct bf_lint_file *f)
{
	const struct bf_rules_behind *b = bf_rules_behind(f->rules);
	const size_t used = strlen(f->err.text);

	if (!b->records)
		return;
	snprintf(f->err.text + used, sizeof(f->err.text) - used,
		 "; %" PRIu64 " records behind that are not judged, for what they rest on may be missing", b->records);
}

/* A trace that holds an error is never "nothing found". */
static int tell_errors_behind(struct bf_lint_file *f)
{
	const struct bf_rules_behind *b = bf_rules_behind(f->rules);

	if (!b->errors || f->failed || bf_rules_problems(f->rules))
		return 0;
	if (asprintf(&f->failed, "%" PRIu64 " record%s of errors behind the gap, first %s", b->errors,
		     b->errors == 1 ? "" : "s", b->first) < 0)
		f->failed = NULL;
	f->story = f->failed ? strdup("") : NULL;
	return f->story ? 0 : bf_fail(&f->err, -ENOMEM, "no memory for what stands behind a gap");
}

/* What a capture does not show may have happened all the same. */
static int read_input(struct bf_lint_file *f, struct bf_input *in)
{
	int rc = bf_rules_trace(f->rules, in->trace, &f->err);

	tell_behind(f);
	if (!rc && in->damage)
		f->err = in->damage_error;
	else if (!rc)
		f->err = (struct bf_error){ 0 };
	if (bf_rules_finish(f->rules, !f->err.code && !in->is_capture))
		return bf_fail(&f->err, -ENOMEM, "no memory for rules");
	return rc == -EBADMSG ? 0 : rc;
}

/* The lines of code behind what was found. */
static int find_places(struct bf_lint_file *f, const struct bf_input *in)
{
	int rc = bf_places_open(f->rules, &f->places);

	if (!rc)
		rc = bf_places_trace(f->places, in->trace);
	if (!rc)
		return 0;
	bf_places_free(f->places);
	f->places = NULL;
	/* A pipe cannot be read again: findings without lines. */
	return rc == -ENOMEM ? bf_fail(&f->err, rc, "no memory for lines of code") : 0;
}

/*
 * A run that failed although no rule says why, or only that it is stuck: its own words, what has not happened, and the
 * life of the last entry. "Nothing found" must not look like "good".
 */
static int read_failure(struct bf_lint_file *f, const struct bf_input *in)
{
	const char *verdict = bf_last_failed(in->trace, f->rules);
	size_t len;
	FILE *out;

	if (!verdict)
		return 0;
	f->failed = strdup(verdict);
	out = open_memstream(&f->story, &len);
	if (!f->failed || !out)
		return bf_fail(&f->err, -ENOMEM, "no memory for the story of a failed run");
	bf_last_story(in->trace, out);
	return fclose(out) ? bf_fail(&f->err, -ENOMEM, "no memory for the story of a failed run") : 0;
}

/* Of several files one that is no trace is named among the results; `alone` it is an error. */
static int read_file(struct bf_lint *l, uint32_t i, const struct bf_rules_opts *opts, bool alone, struct bf_error *err)
{
	struct bf_lint_file *f = &l->files[i];
	struct bf_input in;
	int rc = bf_rules_create(opts, &f->rules, err);

	if (rc)
		return rc;
	/* The trace keeps the place for its later failures. */
	rc = bf_input_open(f->path, &in, &f->err);
	if (!rc)
		rc = read_input(f, &in);
	if (!rc && bf_rules_count(f->rules) && bf_trace_type(in.trace, "where"))
		rc = find_places(f, &in);
	/* Who asks for one rule gets what that says. */
	if (!rc && !in.is_capture && !opts->nonly)
		rc = read_failure(f, &in);
	if (!rc && !opts->nonly)
		rc = tell_errors_behind(f);
	if (!rc && (in.capture || in.ftrace))
		rc = replay(l, f->path, &in, opts, &f->err);
	f = &l->files[i];
	bf_input_close(&in);
	if (!rc)
		return 0;
	if (alone)
		return bf_fail(err, rc, "%s", f->err.text);
	f->err.code = rc;
	f->unreadable = true;
	bf_rules_finish(f->rules, false);
	return 0;
}

/* "ID=reason", or "@FILE" with one a line. */
static int add_suppression(struct bf_suppressions *s, const char *text, struct bf_error *err)
{
	const char *equals = strchr(text, '=');
	char id[64], *file;
	size_t len = 0;
	FILE *in;
	int rc;

	if (text[0] != '@') {
		if (!equals || (size_t)(equals - text) >= sizeof(id))
			return bf_fail(err, -EINVAL, "--suppress %s: ID=reason or @FILE", text);
		snprintf(id, sizeof(id), "%.*s", (int)(equals - text), text);
		return bf_suppress(s, id, equals + 1, err);
	}
	in = fopen(text + 1, "r");
	file = calloc(1, (1u << 20) + 1);
	if (in && file)
		len = fread(file, 1, 1u << 20, in);
	rc = !in                                ? bf_fail(err, -errno, "%s: %s", text + 1, strerror(errno))
	     : !file                            ? bf_fail(err, -ENOMEM, "no memory for suppressions")
	     : ferror(in)                       ? bf_fail(err, -EIO, "%s: cannot be read", text + 1)
	     : strlen(file) != len || !feof(in) ? bf_fail(err, -EINVAL, "%s: no text, or too long", text + 1)
						: bf_suppress_text(s, file, text + 1, err);
	if (in)
		fclose(in);
	free(file);
	return rc;
}

/* ---- reporting ---- */

/* A failure that is among no findings counts as one. */
static bool unexplained(const struct bf_lint_file *f)
{
	return f->failed && !bf_rules_problems(f->rules);
}

static uint32_t problems(const struct bf_lint *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->nfiles; i++)
		n += bf_rules_problems(l->files[i].rules) + unexplained(&l->files[i]);
	return n;
}

static void print_text(const struct bf_lint *l, FILE *out)
{
	for (uint32_t i = 0; i < l->nfiles; i++) {
		const struct bf_lint_file *f = &l->files[i];
		const uint32_t n = bf_rules_problems(f->rules);
		char name[4200];

		fprintf(out, "%s%s: ", i ? "\n" : "", bf_lint_name(f, name, sizeof(name)));
		if (n)
			fprintf(out, "%" PRIu32 " finding%s\n", n, n == 1 ? "" : "s");
		else if (f->unreadable)
			fprintf(out, "cannot be %s: %s\n", f->replayed ? "replayed" : "read", f->err.text);
		else if (!f->failed)
			fputs("nothing found\n", out);
		else
			fprintf(out, "the run failed (%s), and no rule knows why\n", f->failed);
		if (f->err.code && !f->unreadable)
			fprintf(out, "the trace is damaged: %s\n", f->err.text);
		bf_findings_print(out, f->rules, f->places, l->unjudged);
		if (f->failed)
			fputs(f->story, out);
	}
}

/* As members of the open object. */
static void print_json(const struct bf_lint *l, struct bf_json *j)
{
	bf_json_u64(j, "problems", problems(l));
	bf_json_open(j, "files", '[');
	for (uint32_t i = 0; i < l->nfiles; i++) {
		bf_json_open(j, NULL, '{');
		bf_json_text(j, "path", l->files[i].path);
		bf_json_bool(j, "replayed", l->files[i].replayed);
		if (l->files[i].err.code)
			bf_json_text(j, "damage", l->files[i].err.text);
		if (l->files[i].failed) {
			bf_json_text(j, "failed", l->files[i].failed);
			bf_json_text(j, "story", l->files[i].story);
		}
		bf_findings_json(j, l->files[i].rules, l->files[i].places);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

static int exit_code(const struct bf_lint *l)
{
	if (problems(l))
		return BF_EXIT_FINDINGS;
	for (uint32_t i = 0; i < l->nfiles; i++) {
		if (l->files[i].err.code &&
		    !l->files[i].replayed) /* nothing found in a part is no clean bill for the whole */
			return BF_EXIT_USAGE;
	}
	return BF_EXIT_GOOD;
}

static void free_files(struct bf_lint *l)
{
	for (uint32_t i = 0; i < l->nfiles; i++) {
		bf_places_free(l->files[i].places);
		bf_rules_destroy(l->files[i].rules);
		free(l->files[i].path);
		free(l->files[i].failed);
		free(l->files[i].story);
	}
	free(l->files);
}

int bf_lint_paths(const char *const *paths, uint32_t n, FILE *out, struct bf_json *j, struct bf_error *err)
{
	const struct bf_rules_opts opts = { 0 };
	struct bf_lint l = { 0 };
	int rc = 0, code;

	for (uint32_t i = 0; !rc && i < n; i++)
		rc = add_file(&l, paths[i], err);
	for (uint32_t i = 0, given = l.nfiles; !rc && i < given; i++)
		rc = read_file(&l, i, &opts, given == 1, err);
	if (!rc && j)
		print_json(&l, j);
	else if (!rc)
		print_text(&l, out);
	code = rc ? rc : exit_code(&l);
	free_files(&l);
	return code;
}

static int report(const struct bf_args *args, const struct bf_lint *l, struct bf_error *err)
{
	const char *sarif = bf_arg_text(args, "sarif"), *junit = bf_arg_text(args, "junit");

	if (sarif && junit && strcmp(sarif, junit) == 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "--sarif and --junit name the same file");
	if ((sarif && bf_lint_sarif(l, sarif, err) != 0) || (junit && bf_lint_junit(l, junit, err) != 0))
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	if (bf_arg_json(args)) {
		struct bf_json j;

		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		print_json(l, &j);
		bf_json_close(&j, '}');
		bf_json_end(&j);
	} else {
		print_text(l, stdout);
	}
	return exit_code(l);
}

/* ---- the command ---- */

static int read_all(const struct bf_args *args, struct bf_lint *l, struct bf_suppressions *s, struct bf_error *err)
{
	struct bf_rules_opts opts = { .suppress = s };
	const char *only[64];
	int rc = 0;

	for (unsigned i = 0; !rc && i < bf_arg_count(args, "suppress"); i++)
		rc = add_suppression(s, bf_arg_nth(args, "suppress", i), err);
	if (!rc && bf_arg_count(args, "rule") > BF_ARRAY_LEN(only))
		rc = bf_fail(err, -EINVAL, "--rule: at most %zu of them", BF_ARRAY_LEN(only));
	for (unsigned i = 0; !rc && i < bf_arg_count(args, "rule"); i++) {
		only[opts.nonly++] = bf_arg_nth(args, "rule", i);
		opts.only = only;
	}
	for (unsigned i = 0; !rc && i < bf_arg_positional_count(args); i++)
		rc = add_path(l, bf_arg_positional(args, i), err);
	for (uint32_t i = 0, given = l->nfiles; !rc && i < given; i++)
		rc = read_file(l, i, &opts, given == 1, err);
	return rc;
}

static int run_lint(const struct bf_args *args)
{
	struct bf_suppressions *s;
	struct bf_error err = { 0 };
	struct bf_lint l = { .unjudged = bf_arg_flag(args, "unjudged") };
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_cmd_rules.run(args);
	if (!bf_arg_positional_count(args))
		return bf_cli_error(args, BF_EXIT_USAGE, "which traces? Files, folders, or '-' for standard input");
	if (bf_suppressions_create(&s) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "no memory for suppressions");
	if (read_all(args, &l, s, &err) != 0)
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	else
		code = report(args, &l, &err);
	free_files(&l);
	bf_suppressions_destroy(s);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "rule", .kind = BF_OPT_MULTI, .arg = "ID", .help = "check only this rule", .names = bf_rule_names },
	{ .name = "suppress",
	  .kind = BF_OPT_MULTI,
	  .arg = "ID=REASON|@FILE",
	  .help = "ignore findings of this rule, for this reason; or a file with an id and a reason per line" },
	{ .name = "sarif",
	  .kind = BF_OPT_OUT,
	  .arg = "FILE",
	  .help = "write the findings as SARIF 2.1.0, for code review" },
	{ .name = "junit", .kind = BF_OPT_OUT, .arg = "FILE", .help = "write the findings as JUnit XML, for CI" },
	{ .name = "unjudged",
	  .kind = BF_OPT_FLAG,
	  .help = "list each rule that cannot judge because the trace lacks records, and which" },
	{ .name = "list", .kind = BF_OPT_FLAG, .help = "list the rules" },
	{ .name = NULL },
};

const struct bf_command bf_cmd_lint = {
	.name = "lint",
	.usage = "lint TRACE|CAPTURE|FOLDER|-... [options]",
	.summary = "find what is wrong in traces and captures, and why",
	.details =
	    "Checks traces of any length, in both forms, raw captures and Linux traces against all rules. "
	    "The latter two are replayed as well, and the records of the replay are judged. In a folder, all "
	    "*.bft and *.jsonl files are read. Each finding names its rule, the queue and entry, the "
	    "time, and the evidence. One finding of each trace is the root cause; the others follow from it. "
	    "If a run failed and no finding is the cause, lint prints what has not happened and the life of "
	    "the last entry; that counts as a finding. Rules that cannot judge because the trace lacks records are "
	    "counted; --unjudged and --json list them.\n"
	    "\n"
	    "Exit code 0: nothing found. 2: bad options, or a file is not a trace or is damaged. 3: "
	    "findings.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry run ibgda-put --bug dbrec-index --trace put.bft; belfry lint put.bft\n"
	    "  belfry lint traces/ --sarif belfry.sarif --junit belfry.xml\n"
	    "  belfry lint put.bft --suppress 'ORDER-WEAK-FLAG=the other thread is not there yet'",
	.options = options,
	.min_args = 0,
	.max_args = 1000,
	.run = run_lint,
};
