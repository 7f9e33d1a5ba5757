#include "tools/replay/mlx5_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/replay/mlx5_queue_diff.h"
#include "traces/container/trace.h"

#define WORDS_MAX 128

/* Splits a command into words in place, as a shell does with what bf_command_append() writes. */
static int split(char *text, char **words, int max)
{
	int n = 0;

	while (*text) {
		bool quoted = false;
		char *to = text;

		if (n == max)
			return -1;
		words[n++] = to;
		for (; *text && (quoted || *text != ' '); text++) {
			if (*text == '\'') {
				quoted = !quoted;
				continue;
			}
			if (*text == '\\' && !quoted && text[1])
				text++;
			*to++ = *text;
		}
		text += strspn(text, " ");
		*to = '\0';
	}
	return n;
}

/* "belfry run ibgda-put ..." as arguments for this program, with another layout and a trace of its own. */
static int arguments(char *command, const char *layout, const char *trace, char **argv)
{
	char *words[WORDS_MAX];
	const int n = split(command, words, WORDS_MAX - 8);
	int argc = 0;

	if (n < 3 || strcmp(words[0], "belfry") != 0 || strcmp(words[1], "run") != 0 ||
	    (strncmp(words[2], "ibgda-", 6) != 0 && strncmp(words[2], "ll-", 3) != 0 &&
	     strncmp(words[2], "shmem-", 6) != 0))
		return -EINVAL;
	for (int i = 0; i < n; i++) {
		if (strcmp(words[i], "--layout") == 0)
			i++;
		else
			argv[argc++] = words[i];
	}
	argv[argc++] = "--layout";
	argv[argc++] = (char *)(uintptr_t)layout;
	argv[argc++] = "--trace";
	argv[argc++] = (char *)(uintptr_t)trace;
	argv[argc] = NULL;
	return 0;
}

/* Runs this program; what it prints is not wanted. Its exit code, or a negative errno. */
static int run_self(char **argv)
{
	posix_spawn_file_actions_t actions;
	int rc, status = 0;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	rc = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (rc == 0)
		rc = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		return -rc;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

static int compare(const struct bf_args *args, struct bf_trace *a, const char *path)
{
	struct bf_error err = { 0 };
	struct bf_queue_diff r;
	struct bf_trace *b;
	struct bf_json j;
	int rc = bf_trace_open(path, NULL, &b, &err);

	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (bf_arg_json(args)) {
		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
	}
	rc = bf_queue_diff(a, b, stdout, bf_arg_json(args) ? &j : NULL, &r, &err);
	if (bf_arg_json(args)) {
		bf_json_close(&j, '}');
		bf_json_end(&j);
	}
	bf_trace_close(b);
	if (rc < 0 && !bf_arg_json(args))
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text[0] ? err.text : "the trace is damaged");
	return rc < 0 ? BF_EXIT_USAGE : rc ? BF_EXIT_FAILED : BF_EXIT_GOOD;
}

/* The layouts as the option's text has them, two letters each. */
static const char *layout_name(const struct bf_args *args)
{
	static const char *const names[] = { "l1", "l2", "l3" };

	return names[bf_arg_u64(args, "layout")];
}

static int replay(const struct bf_args *args, struct bf_trace *t, const char *path, const char *temporary)
{
	const char *command = bf_trace_meta_get(t, "command");
	char *argv[WORDS_MAX], *copy = strdup(command ? command : "");
	int rc = copy ? arguments(copy, layout_name(args), temporary, argv) : -ENOMEM;

	if (rc == 0)
		rc = run_self(argv);
	free(copy);
	if (rc == -EINVAL)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "%s: --layout expects the trace of a run with IBGDA, whose command it holds", path);
	if (rc < 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "cannot run again: %s", strerror(-rc));
	if (rc > BF_EXIT_FAILED)
		return bf_cli_error(args, rc, "the run of %s does not start with --layout %s", path, layout_name(args));
	return compare(args, t, temporary);
}

/* The command that the trace holds says everything but the layout. */
static const char *useless(const struct bf_args *args)
{
	static const char *const others[] = { "life", "seed", "profile", "mtu", "limit", "stats", "trace", "pcapng" };

	for (size_t i = 0; i < BF_ARRAY_LEN(others); i++)
		if (bf_arg_given(args, others[i]))
			return others[i];
	return NULL;
}

int bf_replay_layout(const struct bf_args *args, const char *path, FILE *f)
{
	const char *other = useless(args);
	struct bf_error err = { 0 };
	char temporary[PATH_MAX];
	struct bf_trace *t;
	int code, rc;

	if (other)
		return bf_cli_error(args, BF_EXIT_USAGE, "--%s does not go with --layout", other);
	if (bf_trace_open(path, f, &t, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	rc = bf_cli_temporary("layout", temporary);
	if (rc) {
		code = bf_cli_error(args, BF_EXIT_USAGE, "no temporary file: %s", strerror(-rc));
	} else {
		code = replay(args, t, path, temporary);
		unlink(temporary);
	}
	bf_trace_close(t);
	return code;
}
