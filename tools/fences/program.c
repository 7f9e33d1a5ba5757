/*
 * belfry fences trial: a program with trials (drivers/trial/trial.h), run once for each search. What is asked of it,
 * and what it answers, is in drivers/trial/asked.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/compiler.h"
#include "tools/fences/fences.h"
#include "traces/container/trace.h"

#define FIRST_RUNS 4u
#define LINE 4096u

struct program {
	const struct bf_args *args;
	char **argv;
	char answer[PATH_MAX], records[PATH_MAX], name[128];
	char bounds[64];
};

/* The fields of an answer. */
enum { NAME, VERDICT, RUNS, WHOLE, CHOICES, WHY, FIELDS };

/* ---- one run ---- */

static int start(const struct program *p, pid_t *pid, struct bf_error *err)
{
	posix_spawn_file_actions_t quiet;
	int rc = posix_spawn_file_actions_init(&quiet);

	if (!rc)
		rc = posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (!rc && !bf_arg_flag(p->args, "show"))
		rc = posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!rc)
		rc = posix_spawnp(pid, p->argv[0], &quiet, NULL, p->argv, environ);
	posix_spawn_file_actions_destroy(&quiet);
	return rc ? bf_fail(err, -rc, "%s: %s", p->argv[0], strerror(rc)) : 0;
}

/* Splits a line at its tabs. */
static bool split(char *line, char *field[FIELDS])
{
	for (int i = 0; i < FIELDS; i++) {
		char *end = strchr(line, '\t');

		if (!end)
			return false;
		field[i] = line;
		*end = '\0';
		line = end + 1;
	}
	return true;
}

/* The one answer in the file; `line` has its fields. */
static int read_answer(struct program *p, char line[LINE], char *field[FIELDS], struct bf_error *err)
{
	FILE *in = fopen(p->answer, "r");
	char more[LINE], *other[FIELDS];
	int n = 0;

	while (in && fgets(n ? more : line, LINE, in)) {
		if (!split(n ? more : line, n ? other : field)) {
			n = -1;
			break;
		}
		if (n++ && strcmp(other[NAME], field[NAME]) != 0) {
			fclose(in);
			return bf_fail(err, -EINVAL, "it has several trials, among them '%s' and '%s': --trial NAME",
				       field[NAME], other[NAME]);
		}
	}
	if (in)
		fclose(in);
	if (n < 0)
		return bf_fail(err, -EINVAL, "its answer is none: is it linked with another Belfry?");
	if (n == 0 && p->name[0])
		return bf_fail(err, -EINVAL, "%s ran no trial '%s'", p->argv[0], p->name);
	if (n == 0)
		return bf_fail(err, -EINVAL, "%s ran no trial (bf_trial_run(), bf_trial_search(), ...)", p->argv[0]);
	if (n > 1)
		return bf_fail(err, -EINVAL, "it ran trial '%s' %d times: give each its name", field[NAME], n);
	return 0;
}

static int ask(struct program *p, const char *plan, char line[LINE], char *field[FIELDS], struct bf_error *err)
{
	pid_t pid = -1;
	int rc, status;

	unlink(p->answer);
	setenv("BELFRY_TRIAL_FAULTS", plan ? plan : "", 1);
	rc = start(p, &pid, err);
	if (rc)
		return rc;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return read_answer(p, line, field, err);
}

/* ---- what bf_fences() asks ---- */

static int hand_on(const char *path, struct bf_sink *records, struct bf_error *err)
{
	const struct bf_rec_schema *known[UINT8_MAX + 1] = { NULL };
	struct bf_trace_record rec;
	struct bf_trace *t;
	int rc = bf_trace_open(path, NULL, &t, err);

	if (rc)
		return rc;
	while ((rc = bf_trace_next(t, &rec)) > 0) {
		if (rec.type->id <= UINT8_MAX && known[rec.type->id] != rec.type) {
			known[rec.type->id] = rec.type;
			records->declare_type(records, rec.type);
		}
		records->write(records, rec.raw, bf_record_span(rec.raw));
	}
	bf_trace_close(t);
	return rc < 0 ? bf_fail(err, rc, "the records of the trial are damaged") : 0;
}

static int watch(void *own, uint32_t run, struct bf_sink *records, struct bf_error *err)
{
	struct program *p = own;
	char line[LINE], *field[FIELDS], seed[16];
	int rc;

	snprintf(seed, sizeof(seed), "%" PRIu32, run);
	setenv("BELFRY_TRIAL_SEED", seed, 1);
	setenv("BELFRY_TRIAL_RECORDS", p->records, 1);
	rc = ask(p, NULL, line, field, err);
	unsetenv("BELFRY_TRIAL_SEED");
	unsetenv("BELFRY_TRIAL_RECORDS");
	if (!rc && strcmp(field[VERDICT], "not run") == 0)
		rc = bf_fail(err, -EINVAL, "trial '%s': %s", field[NAME], field[WHY]);
	return rc ? rc : hand_on(p->records, records, err);
}

static int search(void *own, const char *plan, struct bf_fence_search *out, struct bf_error *err)
{
	struct program *p = own;
	char line[LINE], *field[FIELDS];
	size_t len;
	int rc = ask(p, plan, line, field, err);

	if (rc)
		return rc;
	if (strcmp(field[VERDICT], "not run") == 0)
		return bf_fail(err, -EINVAL, "trial '%s': %s", field[NAME], field[WHY]);
	out->runs = strtoull(field[RUNS], NULL, 10);
	out->whole = field[WHOLE][0] == '1';
	snprintf(out->cause, sizeof(out->cause), "%s", field[WHY]);
	if (strcmp(field[VERDICT], "good") == 0)
		return 0;
	snprintf(out->what, sizeof(out->what), "%s", field[VERDICT]);
	len = (size_t)snprintf(out->again, sizeof(out->again),
			       "BELFRY_TRIAL_ANSWER=/dev/stderr BELFRY_TRIAL='%s' BELFRY_TRIAL_FAULTS='%s' "
			       "BELFRY_TRIAL_CHOICES=%s",
			       field[NAME], plan ? plan : "", field[CHOICES][0] ? field[CHOICES] : "0:0");
	for (char **word = p->argv; *word && len < sizeof(out->again); word++)
		len += (size_t)snprintf(out->again + len, sizeof(out->again) - len, " %s", *word);
	return 1;
}

/* ---- the command ---- */

static int judge(const struct bf_args *args, struct program *p)
{
	const struct bf_fence_code code = { .name = p->argv[0],
					    .delays = (uint32_t)bf_arg_u64(args, "delays"),
					    .stalls = (uint32_t)bf_arg_u64(args, "stalls"),
					    .first_runs = FIRST_RUNS,
					    .own = p,
					    .watch = watch,
					    .search = search };
	const char *const trial = bf_arg_text(args, "trial");
	int rc;

	if (bf_cli_temporary("fences-answer", p->answer) || bf_cli_temporary("fences-records", p->records))
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE, "no room for temporary files");
	snprintf(p->bounds, sizeof(p->bounds), "%" PRIu32 " %" PRIu32 " %" PRIu64, code.delays, code.stalls,
		 bf_arg_u64(args, "runs"));
	snprintf(p->name, sizeof(p->name), "%s", trial ? trial : "");
	setenv("BELFRY_TRIAL_ANSWER", p->answer, 1);
	setenv("BELFRY_TRIAL_BOUNDS", p->bounds, 1);
	setenv("BELFRY_TRIAL", p->name, 1);
	rc = bf_fences(args, &code);
	unlink(p->answer);
	unlink(p->records);
	return rc;
}

static int run(const struct bf_args *args)
{
	struct program p = { .args = args };
	const unsigned n = bf_arg_positional_count(args) - 1;
	union {
		const char **from;
		char **to;
	} words = { .from = calloc(n + 1u, sizeof(char *)) };
	int rc;

	if (!words.from)
		return bf_cli_error(args, BF_EXIT_USAGE, "no memory for a command");
	for (unsigned i = 0; i < n; i++)
		words.from[i] = bf_arg_positional(args, i + 1);
	p.argv = words.to; /* posix_spawn() promises not to write */
	rc = judge(args, &p);
	free(words.to);
	return rc;
}

static const struct bf_opt options[] = {
	{ .name = "trial", .kind = BF_OPT_TEXT, .arg = "NAME", .help = "which one, if the program has several" },
	{ .name = "show", .kind = BF_OPT_FLAG, .help = "show what the program writes to standard error" },
	BF_FENCE_OPTIONS,
	{ 0 },
};

const struct bf_command bf_cmd_fences_trial = {
	.name = "fences",
	.usage = "fences trial [options] -- PROGRAM [ARG]...",
	.summary = "a verdict on each fence of your own code, in a program with a trial",
	.details =
	    "PROGRAM is your test with a trial (see belfry new trial), unchanged: linked with Belfry, and with\n"
	    "debug information for the lines. It runs once for each search, and its trial then goes through all\n"
	    "runs with at most --delays delays. Use small trials only: an entry or two, one or two threads.\n"
	    "\n"
	    "Exit code 0: the code is good as it is. 1: it fails, something is missing. 2: the program or the\n"
	    "options are wrong.\n"
	    "\n"
	    "  belfry fences trial -- build/my_test",
	.options = options,
	.min_args = 2,
	.max_args = 64,
	.run = run,
	.prefix = "trial",
};
