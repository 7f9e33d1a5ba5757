/*
 * belfry lab: a command in a guest with a real kernel. The scripts of tools/lab do it; this command finds them and
 * knows what of Belfry a guest needs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/cli/cli.h"
#include "tools/lab/guests.h"

#define WORDS_MAX 512u

struct words {
	char *word[WORDS_MAX + 1];
	unsigned n;
	bool too_many;
};

static void add_word(struct words *w, const char *text)
{
	char *copy = w->n < WORDS_MAX ? strdup(text) : NULL;

	if (copy)
		w->word[w->n++] = copy;
	else
		w->too_many = true;
}

static void free_words(struct words *w)
{
	while (w->n)
		free(w->word[--w->n]);
}

/* As it is installed, and as it is built: the build folder has a link to them beside the program. */
static int find_script(char path[PATH_MAX])
{
	static const char *const places[] = { BELFRY_UP_TO_LAB, "lab" };
	const char *named = getenv("BELFRY_LAB");
	char self[PATH_MAX];

	if (named && *named)
		return snprintf(path, PATH_MAX, "%s/run", named) < PATH_MAX && !access(path, X_OK) ? 0 : -ENOENT;
	if (bf_cli_folder(self))
		return -ENOENT;
	for (size_t i = 0; i < BF_ARRAY_LEN(places); i++)
		if (snprintf(path, PATH_MAX, "%s/%s/run", self, places[i]) < PATH_MAX && !access(path, X_OK))
			return 0;
	return -ENOENT;
}

static void add_belfry(struct words *w)
{
	static const char *const files[] = { "belfry", "libbelfry-exec.so", "libbelfry-verbs.so" };
	static const char *const folders[] = { "", "/" BELFRY_UP_TO_LIBRARIES };
	char self[PATH_MAX], file[PATH_MAX], addition[2 * PATH_MAX];

	if (bf_cli_folder(self))
		return;
	for (size_t f = 0; f < BF_ARRAY_LEN(files); f++)
		for (size_t i = 0; i < BF_ARRAY_LEN(folders); i++) {
			if (snprintf(file, sizeof(file), "%s%s/%s", self, folders[i], files[f]) >= (int)sizeof(file) ||
			    access(file, R_OK))
				continue;
			snprintf(addition, sizeof(addition), "%s:/bin/%s", file, files[f]);
			add_word(w, "--add");
			add_word(w, addition);
			break;
		}
}

static void make_words(const struct bf_args *args, const char *script, struct words *w)
{
	static const char *const singles[] = { "image", "out", "time", "smp", "memory", "logs" };
	static const char *const several[] = {
#define NAME(name, arg, help) name,
		"add", BF_LAB_DEVICES(NAME) "append", "qemu"
#undef NAME
	};
	static const char *const flags[] = { "viommu", "reboot", "shell" };
	char option[32];

	add_word(w, script);
	for (size_t i = 0; i < BF_ARRAY_LEN(singles); i++) {
		snprintf(option, sizeof(option), "--%s", singles[i]);
		if (!bf_arg_given(args, singles[i]))
			continue;
		add_word(w, option);
		add_word(w, bf_arg_text(args, singles[i]));
	}
	for (size_t i = 0; i < BF_ARRAY_LEN(several); i++)
		for (unsigned n = 0; n < bf_arg_count(args, several[i]); n++) {
			snprintf(option, sizeof(option), "--%s", several[i]);
			add_word(w, option);
			add_word(w, bf_arg_nth(args, several[i], n));
		}
	for (size_t i = 0; i < BF_ARRAY_LEN(flags); i++) {
		snprintf(option, sizeof(option), "--%s", flags[i]);
		if (bf_arg_flag(args, flags[i]))
			add_word(w, option);
	}
	if (bf_arg_flag(args, "belfry"))
		add_belfry(w);
	if (bf_arg_positional_count(args) > 1)
		add_word(w, "--");
	for (unsigned i = 1; i < bf_arg_positional_count(args); i++)
		add_word(w, bf_arg_positional(args, i));
}

/* With --json standard output is for one document; otherwise the script takes this process's place. */
static int run_script(const struct bf_args *args, const struct words *w)
{
	struct bf_json j;
	int status;
	pid_t pid = 0;

	fflush(stdout);
	if (bf_arg_json(args)) {
		pid = fork();
		if (pid < 0)
			return bf_cli_error(args, BF_EXIT_USAGE, "cannot fork: %s", strerror(errno));
		if (!pid)
			dup2(STDERR_FILENO, STDOUT_FILENO);
	}
	if (!pid) {
		execv(w->word[0], w->word);
		fprintf(stderr, "belfry lab: %s: %s\n", w->word[0], strerror(errno));
		_exit(BF_EXIT_UNAVAILABLE);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_u64(&j, "exit", (uint64_t)status);
	bf_json_close(&j, '}');
	bf_json_end(&j);
	return status;
}

static int run_lab(const struct bf_args *args)
{
	const bool shell = bf_arg_flag(args, "shell"), command = bf_arg_positional_count(args) > 1;
	char script[PATH_MAX];
	struct words w = { .n = 0 };
	int code;

	if (strcmp(bf_arg_positional(args, 0), "run"))
		return bf_cli_error(args, BF_EXIT_USAGE, "there is only: belfry lab run");
	if (shell && command)
		return bf_cli_error(args, BF_EXIT_USAGE, "--shell takes no command");
	if (!shell && !command)
		return bf_cli_error(args, BF_EXIT_USAGE, "no command (belfry lab run -- COMMAND)");
	if (shell && bf_arg_json(args))
		return bf_cli_error(args, BF_EXIT_USAGE, "--shell has no use for --json");
	if (find_script(script))
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE,
				    "the lab's scripts are neither in BELFRY_LAB nor beside this program");
	make_words(args, script, &w);
	if (w.too_many)
		code = bf_cli_error(args, BF_EXIT_USAGE, "more than %u words", WORDS_MAX);
	else
		code = run_script(args, &w);
	free_words(&w);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "image", .kind = BF_OPT_TEXT, .arg = "NAME", .help = "what to boot: " BF_LAB_IMAGES },
	{ .name = "belfry",
	  .kind = BF_OPT_FLAG,
	  .help = "copy this belfry into the guest, with what belfry exec needs" },
	{ .name = "add",
	  .kind = BF_OPT_MULTI,
	  .arg = "FILE[:PATH]",
	  .help = "copy a file into the guest, to PATH or /bin, with the libraries that a program needs" },
	{ .name = "out", .kind = BF_OPT_TEXT, .arg = "DIR", .help = "copy what the command leaves in /out to DIR" },
#define OPTION(word, words, what) { .name = (word), .kind = BF_OPT_MULTI, .arg = (words), .help = (what) },
	BF_LAB_DEVICES(OPTION)
#undef OPTION
	    { .name = "viommu", .kind = BF_OPT_FLAG, .help = "put the devices behind an Intel IOMMU" },
	{ .name = "time", .kind = BF_OPT_TEXT, .arg = "SECONDS", .help = "time limit for the whole run (default 120)" },
	{ .name = "smp", .kind = BF_OPT_TEXT, .arg = "N", .help = "number of processors (default 2)" },
	{ .name = "memory", .kind = BF_OPT_TEXT, .arg = "MIB", .help = "memory in MiB (default 768)" },
	{ .name = "append", .kind = BF_OPT_MULTI, .arg = "WORD", .help = "add to the kernel's command line" },
	{ .name = "qemu", .kind = BF_OPT_MULTI, .arg = "ARGUMENT", .help = "for QEMU" },
	{ .name = "reboot", .kind = BF_OPT_FLAG, .help = "if the guest reboots, boot it again" },
	{ .name = "logs",
	  .kind = BF_OPT_TEXT,
	  .arg = "DIR",
	  .help = "keep the logs of the console and of QEMU in DIR" },
	{ .name = "shell", .kind = BF_OPT_FLAG, .help = "a shell in the guest instead of a command" },
	{ .name = NULL },
};

const struct bf_command bf_cmd_lab = {
	.name = "lab",
	.usage = "lab run [options] -- COMMAND [ARGUMENT...]",
	.summary = "run a command in a guest with a real kernel",
	.details = "QEMU boots a stock Debian kernel and runs the command in it; its output and exit code are "
		   "returned. This needs neither root nor KVM and installs nothing. The first run fetches packages "
		   "from this machine's Debian mirror into a cache (BELFRY_LAB_CACHE, or ~/.cache/belfry-lab); "
		   "later a guest boots in seconds. Set BELFRY_LAB to the folder with the lab's scripts if they are "
		   "not installed.\n"
		   "\n"
		   "Exit code: the command's; 124: it took too long; 125: the guest ended without a result, or part "
		   "of /out is lost; 77: the lab does not work here; 2: bad options. With --json the command's "
		   "output goes to standard error.\n"
		   "\n"
		   "Examples:\n"
		   "  belfry lab run -- uname -r\n" BF_LAB_EXAMPLES,
	.options = options,
	.min_args = 1,
	.max_args = 4096,
	.words = "run",
	.run = run_lab,
};
