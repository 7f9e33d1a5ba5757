/* belfry record: a program on a real ConnectX, with what it gives its queues and gets from them written as a capture.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cli/cli.h"
#include "tools/exec/target.h"
#include "tools/record/record.h"

#define EXIT_EXEC 127 /* as shells */

static void set_preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char value[3 * PATH_MAX];

	snprintf(value, sizeof(value), "%s%s%s", library, others && *others ? ":" : "", others ? others : "");
	setenv("LD_PRELOAD", value, 1);
}

/* Absolute, since programs change their folder. */
static int set_capture(const char *name, struct bf_error *err)
{
	char cwd[PATH_MAX], path[2 * PATH_MAX] = "";

	if (name[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return bf_fail(err, -errno, "-o %s: %s", name, strerror(errno));
	snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : cwd, name[0] == '/' ? "" : "/", name);
	setenv(BF_RECORD_ENV_FILE, path, 1);
	return 0;
}

static void become(const struct bf_args *args, const char *program)
{
	const unsigned words = bf_arg_positional_count(args);
	const char **argv = calloc(words + 1, sizeof(*argv));
	union {
		const char **from;
		char *const *to;
	} plain = { .from = argv }; /* execv() promises not to write */

	for (unsigned i = 0; argv && i < words; i++)
		argv[i] = bf_arg_positional(args, i);
	if (argv)
		execv(program, plain.to);
	free(argv);
}

static int run_record(const struct bf_args *args)
{
	const char *name = bf_arg_positional(args, 0);
	char program[PATH_MAX], library[PATH_MAX];
	struct bf_error err = { 0 };
	int rc = bf_exec_target_find(name, program);

	if (rc)
		return bf_cli_error(args, EXIT_EXEC, "cannot run %s: %s", name, strerror(-rc));
	rc = bf_exec_target_check(program, &err);
	if (!rc)
		rc = bf_exec_library("libbelfry-record.so", library, &err);
	if (!rc)
		rc = set_capture(bf_arg_text(args, "o"), &err);
	if (rc)
		return bf_cli_error(args, rc == -ENOTSUP ? BF_EXIT_UNAVAILABLE : BF_EXIT_USAGE, "%s", err.text);
	set_preload(library);
	fflush(stdout);
	become(args, program);
	return bf_cli_error(args, EXIT_EXEC, "cannot run %s: %s", program, strerror(errno));
}

static const struct bf_opt options[] = {
	{ .name = "o",
	  .kind = BF_OPT_OUT,
	  .arg = "FILE",
	  .initial = "capture.%p.jsonl",
	  .help = "file for the capture; %p is the process id; without it, the last of several processes "
		  "overwrites it" },
	{ .name = NULL },
};

const struct bf_command bf_cmd_record = {
	.name = "record",
	.usage = "record [options] -- COMMAND [ARGUMENT...]",
	.summary = "capture what a program exchanges with a real ConnectX",
	.details = "The program runs on this machine's device as usual. A library that is loaded into it reads "
		   "the rings that its provider fills: the doorbell record and the new entries after each post, the "
		   "completions at "
		   "each poll. It writes them as a capture for import, replay, lint and dump. It covers RC queue "
		   "pairs with ibv_post_send(), ibv_wr_start() and related calls, ibv_post_recv(), "
		   "ibv_post_srq_recv(), ibv_poll_cq() and ibv_start_poll(). It misses completion queues that are "
		   "resized, and rings that programs fill themselves (UCX, GPUs).\n"
		   "\n"
		   "Exit code: the program's; 1: the program succeeded and called exit(), but the capture is "
		   "incomplete (it holds every event before the one that could not be written); 127: there is no such "
		   "program; 77: no library can be "
		   "loaded into it.\n"
		   "\n"
		   "Examples:\n"
		   "  belfry record -o c.jsonl -- ib_write_bw -x 3 server && belfry replay c.jsonl\n"
		   "  belfry exec -- belfry record -o c.jsonl -- ./my_program",
	.options = options,
	.min_args = 1,
	.max_args = 4096,
	.run = run_record,
	.ranks = true,
};
