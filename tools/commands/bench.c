/*
 * belfry bench: the programs of tests/bench one after the other, and each figure that has a limit, or stands beside
 * another program's, in one table.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/clock.h"
#include "sim/grow.h"
#include "tools/cli/cli.h"

#define PREFIX "bench_"
/* Lines of tests/bench/limit.h; of four parts: what, value, limit or the other's, verdict or ratio. */
#define LIMIT "limit | "
#define PEER "peer | "
#define PARTS 4u

struct bench {
	const struct bf_args *args;
	char dir[PATH_MAX], self[PATH_MAX];
	struct bf_json json;
	uint32_t ran, failed, disturbed, limits, missed, doubtful;
};

/* What one program has said and what it took. */
struct outcome {
	char *text;
	size_t len, cap;
	double wall_s, cpu_s;
	int code;       /* as a shell says it */
	bool disturbed; /* it waited for a processor: its figures are those of a busy machine */
};

static double load_now(void)
{
	double load = 0;

	return getloadavg(&load, 1) == 1 ? load : 0;
}

/* ---- running one ---- */

static void become(const struct bench *b, const char *name, int out)
{
	char path[PATH_MAX + NAME_MAX + 1];

	snprintf(path, sizeof(path), "%s/%s", b->dir, name);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	/* A program for libibverbs finds a device there only. */
	if (!strcmp(name, "bench_exec"))
		execl(b->self, b->self, "exec", "--doorbells", "poll", "--", path, (char *)NULL);
	else if (!strcmp(name, "bench_exec_gpu") || !strcmp(name, "bench_exec_pair"))
		execl(path, path, b->self, (char *)NULL);
	else
		execl(path, path, (char *)NULL);
	dprintf(STDERR_FILENO, "%s: %s\n", path, strerror(errno));
	_exit(127);
}

/* All that comes, with a zero behind it. */
static int read_all(int fd, struct outcome *o)
{
	for (;;) {
		ssize_t n;

		if (BF_GROW(o->text, o->cap, o->len + 4096))
			return -ENOMEM;
		n = read(fd, o->text + o->len, o->cap - o->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			o->text[o->len] = '\0';
			return n ? -errno : 0;
		}
		o->len += (size_t)n;
	}
}

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

static int run_program(const struct bench *b, const char *name, struct outcome *o)
{
	const uint64_t begin_ns = bf_monotonic_ns();
	struct rusage used;
	int fds[2], rc, status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		become(b, name, fds[1]);
	rc = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (!rc)
		rc = read_all(fds[0], o);
	close(fds[0]);
	if (pid < 0)
		return rc;
	while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
		;
	o->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	o->wall_s = 1e-9 * (double)(bf_monotonic_ns() - begin_ns);
	o->cpu_s = seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime);
	/* No bench waits for anything else. */
	o->disturbed = o->wall_s > 1.2 * o->cpu_s + 0.1;
	return rc;
}

/* ---- what it says ---- */

/* Cuts a line of limit.h that begins like that at its bars; false: it is another. */
static bool parse_line(char *line, const char *begin, char *parts[PARTS])
{
	if (strncmp(line, begin, strlen(begin)))
		return false;
	line += strlen(begin);
	for (unsigned i = 0; i < PARTS; i++) {
		char *bar = strstr(line, " | ");

		if (!bar != (i == PARTS - 1))
			return false;
		parts[i] = line;
		if (bar) {
			*bar = '\0';
			line = bar + 3;
		}
	}
	return true;
}

static void show_limit(struct bench *b, const char *name, const struct outcome *o, char *parts[PARTS])
{
	const bool met = !strcmp(parts[3], "met");

	b->limits++;
	if (!met)
		*(o->disturbed ? &b->doubtful : &b->missed) += 1;
	if (bf_arg_json(b->args)) {
		bf_json_open(&b->json, NULL, '{');
		bf_json_text(&b->json, "what", parts[0]);
		bf_json_text(&b->json, "value", parts[1]);
		bf_json_text(&b->json, "limit", parts[2]);
		bf_json_bool(&b->json, "met", met);
		bf_json_close(&b->json, '}');
		return;
	}
	printf("%-13s %-42s %22s   %-28s %s%s\n", name, parts[0], parts[1], parts[2], parts[3],
	       o->disturbed ? ", disturbed" : "");
}

/* What another program reaches, beside ours: no limit, so it counts for nothing. */
static void show_peer(struct bench *b, const char *name, const struct outcome *o, char *parts[PARTS])
{
	if (bf_arg_json(b->args)) {
		bf_json_open(&b->json, NULL, '{');
		bf_json_text(&b->json, "what", parts[0]);
		bf_json_text(&b->json, "value", parts[1]);
		bf_json_text(&b->json, "peer", parts[2]);
		bf_json_text(&b->json, "ratio", parts[3]);
		bf_json_close(&b->json, '}');
		return;
	}
	printf("%-13s %-42s %22s   %s: %s%s\n", name, parts[0], parts[1], parts[2], parts[3],
	       o->disturbed ? ", disturbed" : "");
}

static void show_lines(struct bench *b, const char *name, struct outcome *o)
{
	const bool full = bf_arg_flag(b->args, "full") && !bf_arg_json(b->args);
	char *parts[PARTS], *next;

	for (char *line = o->text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (parse_line(line, LIMIT, parts))
			show_limit(b, name, o, parts);
		else if (parse_line(line, PEER, parts))
			show_peer(b, name, o, parts);
		else if (full || (o->code && o->code != BF_EXIT_FAILED && !bf_arg_json(b->args)))
			printf("%-13s   %s\n", name, line);
	}
}

static int run_one(struct bench *b, const char *file)
{
	const char *name = file + strlen(PREFIX);
	struct outcome o = { .code = 0 };
	const uint32_t before = b->limits;
	const int rc = run_program(b, file, &o);
	bool broken;

	if (rc) {
		free(o.text);
		return rc;
	}
	if (bf_arg_json(b->args)) {
		bf_json_open(&b->json, NULL, '{');
		bf_json_text(&b->json, "name", name);
		bf_json_number(&b->json, "processor_s", o.cpu_s);
		bf_json_number(&b->json, "wall_s", o.wall_s);
		bf_json_bool(&b->json, "disturbed", o.disturbed);
		bf_json_u64(&b->json, "exit", (uint64_t)o.code);
		bf_json_open(&b->json, "limits", '[');
	}
	show_lines(b, name, &o);
	/* A missed limit ends it with 1 as well. */
	broken = o.code && (o.code != BF_EXIT_FAILED || b->limits == before);
	if (bf_arg_json(b->args)) {
		bf_json_close(&b->json, ']');
		bf_json_close(&b->json, '}');
	} else if (broken) {
		printf("%-13s failed with exit code %d\n", name, o.code);
	} else if (b->limits == before) {
		printf("%-13s has no limit: see --full\n", name);
	}
	b->ran++;
	b->failed += broken;
	b->disturbed += o.disturbed;
	free(o.text);
	return 0;
}

/* ---- all of them ---- */

static bool wanted(const struct bench *b, const char *file)
{
	const unsigned n = bf_arg_positional_count(b->args);

	for (unsigned i = 0; i < n; i++) {
		const char *name = bf_arg_positional(b->args, i);

		if (!strcmp(file, name) || !strcmp(file + strlen(PREFIX), name))
			return true;
	}
	return n == 0;
}

static int is_bench(const struct dirent *d)
{
	return !strncmp(d->d_name, PREFIX, strlen(PREFIX)) && !strchr(d->d_name, '.');
}

static int find_folder(struct bench *b)
{
	char here[PATH_MAX];
	const char *dir = bf_arg_text(b->args, "dir");
	int len;

	if (bf_cli_folder(here))
		return -ENOENT;
	snprintf(b->self, sizeof(b->self), "%.*s/belfry", (int)sizeof(b->self) - 8, here);
	len = dir ? snprintf(b->dir, sizeof(b->dir), "%s", dir)
		  : snprintf(b->dir, sizeof(b->dir), "%s/../tests/bench", here);
	return len < (int)sizeof(b->dir) && !access(b->dir, R_OK | X_OK) ? 0 : -ENOENT;
}

/* The first name that is no bench's; NULL: all are. */
static const char *unknown(const struct bench *b)
{
	char path[2 * PATH_MAX];

	for (unsigned i = 0; i < bf_arg_positional_count(b->args); i++) {
		const char *name = bf_arg_positional(b->args, i);

		snprintf(path, sizeof(path), "%s/%s%s", b->dir, strncmp(name, PREFIX, strlen(PREFIX)) ? PREFIX : "",
			 name);
		if (access(path, X_OK))
			return name;
	}
	return NULL;
}

static int run_all(struct bench *b)
{
	struct dirent **found;
	const int n = scandir(b->dir, &found, is_bench, alphasort);
	int rc = n < 0 ? -errno : 0;

	for (int i = 0; i < n; i++) {
		if (!rc && wanted(b, found[i]->d_name))
			rc = run_one(b, found[i]->d_name);
		free(found[i]);
	}
	if (n >= 0)
		free(found);
	return rc;
}

static void show_end(struct bench *b)
{
	if (bf_arg_json(b->args)) {
		bf_json_close(&b->json, ']');
		bf_json_number(&b->json, "load_after", load_now());
		bf_json_close(&b->json, '}');
		bf_json_end(&b->json);
		return;
	}
	printf("%u benches, %u failed; of %u limits %u missed, and %u by programs that were disturbed; load %.1f\n",
	       b->ran, b->failed, b->limits, b->missed, b->doubtful, load_now());
	if (b->disturbed)
		printf("disturbed: it took more time than a processor's, so others had that. Run it again on a quiet "
		       "machine.\n");
}

static int run_bench(const struct bf_args *args)
{
	struct bench b = { .args = args };
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int rc;

	if (find_folder(&b))
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE,
				    "no benches in %s: they are built with -DBELFRY_BENCH=ON and not installed; --dir "
				    "names their folder",
				    b.dir);
	if (unknown(&b))
		return bf_cli_error(args, BF_EXIT_USAGE, "no bench '%s' in %s", unknown(&b), b.dir);
	if (bf_arg_json(args)) {
		bf_json_begin(&b.json, stdout);
		bf_json_open(&b.json, NULL, '{');
		bf_json_u64(&b.json, "processors", processors > 0 ? (uint64_t)processors : 0);
		bf_json_number(&b.json, "load_before", load_now());
		bf_json_open(&b.json, "benches", '[');
	} else {
		printf("%ld processors, load %.1f\n", processors, load_now());
	}
	rc = run_all(&b);
	show_end(&b);
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s: %s", b.dir, strerror(-rc));
	if (!b.ran)
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE, "no benches in %s", b.dir);
	return b.failed || b.missed ? BF_EXIT_FAILED : BF_EXIT_GOOD;
}

static const struct bf_opt options[] = {
	{ .name = "dir",
	  .kind = BF_OPT_TEXT,
	  .arg = "DIR",
	  .help = "the folder of the programs (default: this build's)" },
	{ .name = "full", .kind = BF_OPT_FLAG, .help = "print everything, not only figures with a limit" },
	{ .name = NULL },
};

const struct bf_command bf_cmd_bench = {
	.name = "bench",
	.usage = "bench [NAME...] [options]",
	.summary = "run the benchmarks of this build against their limits",
	.details =
	    "Runs the programs of tests/bench, or those that are named (bench record ptx), one after the other. The "
	    "table has a line for each figure with a limit, beside what other simulators reach. "
	    "docs/performance.md says what is measured.\n\n"
	    "A program that had to wait for a processor is marked as disturbed, and its misses do not count. "
	    "The exit code is 1 if a program fails or an undisturbed one misses a limit.",
	.options = options,
	.max_args = 64,
	.run = run_bench,
};
