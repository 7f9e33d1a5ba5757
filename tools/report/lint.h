/* What `belfry lint` has found in several traces, and the forms in which it is handed on. */
#ifndef BELFRY_TOOLS_REPORT_LINT_H
#define BELFRY_TOOLS_REPORT_LINT_H

#include "tools/report/findings.h"

struct bf_lint_file {
	char *path;
	struct bf_rules *rules;   /* finished */
	struct bf_places *places; /* NULL: the trace does not tell where in the code */
	/*
	 * A run that says of itself that it failed, and what happened in it when no rule knows why: "stuck", lines.
	 * Both NULL: it was good, says nothing of itself, or has its cause among the findings.
	 */
	char *failed, *story;
	struct bf_error err; /* of a damaged trace, whose rest was read, or of one that could not be */
	bool unreadable;
	bool replayed; /* what the model did with the capture that stands before it */
};

struct bf_lint {
	struct bf_lint_file *files;
	bool unjudged; /* the text lists rules that could not judge, instead of a count */
	uint32_t nfiles, files_cap;
};

struct bf_json;

/* "file.jsonl", or "file.jsonl, replayed". Valid until the next call with the same buffer. */
const char *bf_lint_name(const struct bf_lint_file *f, char *text, size_t cap);

/*
 * Puts traces before all rules and says what they found, as `belfry lint` does: as text to `out`, or with `j` as
 * members of its open object. Returns the exit code of `belfry lint`, or a negative errno with `err` set and nothing
 * said.
 */
int bf_lint_paths(const char *const *paths, uint32_t n, FILE *out, struct bf_json *j, struct bf_error *err);

/* SARIF 2.1.0, for code review: one run, whose artifacts are the traces. 0 or -errno with `err` set. */
int bf_lint_sarif(const struct bf_lint *l, const char *path, struct bf_error *err);

/* JUnit XML, for CI: a suite for each trace, a case for each rule that looked at it. */
int bf_lint_junit(const struct bf_lint *l, const char *path, struct bf_error *err);

#endif
