#include "tools/exec/traces.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/grow.h"
#include "tools/exec/identity.h"

#define PROCESSES_MAX 65536u

/* ---- names ---- */

int bf_exec_put_rank(const char *text, char *to, size_t cap)
{
	const char *rank = bf_exec_own_rank();
	size_t n = 0;

	for (; *text; text++) {
		const bool mark = text[0] == '%' && text[1] == 'r';
		const char *from = mark ? rank ? rank : "0" : text;
		const size_t len = mark ? strlen(from) : 1;

		if (n + len >= cap)
			return -ENAMETOOLONG;
		memcpy(to + n, from, len);
		n += len;
		text += mark;
	}
	to[n] = '\0';
	return 0;
}

/* "t.bft" with `what` before its suffix: "t.WHAT.bft". */
static int put_before_suffix(const char *path, const char *what, char *to, size_t cap)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	const size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - path) : strlen(path);

	return (size_t)snprintf(to, cap, "%.*s.%s%s", (int)stem, path, what, path + stem) < cap ? 0 : -ENAMETOOLONG;
}

/* Names are absolute, since programs change their folder. */
int bf_exec_name_traces(struct bf_exec_traces *t, const char *given, const char *dir, struct bf_error *err)
{
	const char *ranks = getenv("BELFRY_RANKS");
	char path[PATH_MAX], ranked[PATH_MAX], cwd[PATH_MAX], *slash;
	struct stat st;
	int rc = 0;

	if (!given)
		return snprintf(t->pattern, sizeof(t->pattern), "%s/%%p.bft", dir) > 0 ? 0 : -EINVAL;
	rc = bf_exec_put_rank(given, path, sizeof(path));
	snprintf(ranked, sizeof(ranked), "%s", path);
	if (!rc && !strstr(given, "%r") && !strstr(given, "%p") && ranks && strcmp(ranks, "1") != 0 &&
	    bf_exec_own_rank())
		rc = put_before_suffix(path, bf_exec_own_rank(), ranked, sizeof(ranked));
	if (!rc && ranked[0] == '/')
		snprintf(t->wanted, sizeof(t->wanted), "%s", ranked);
	else if (!rc && (!getcwd(cwd, sizeof(cwd)) ||
			 snprintf(t->wanted, sizeof(t->wanted), "%s/%s", cwd, ranked) >= (int)sizeof(t->wanted)))
		rc = -ENAMETOOLONG;
	if (rc)
		return bf_fail(err, rc, "--trace %s: %s", given, strerror(-rc));
	slash = strrchr(t->wanted, '/');
	*slash = '\0';
	if (access(slash == t->wanted ? "/" : t->wanted, W_OK))
		rc = bf_fail(err, -errno, "--trace %s: %s: %s", given, slash == t->wanted ? "/" : t->wanted,
			     strerror(errno));
	*slash = '/';
	if (rc)
		return rc;
	/* A trace takes its name when all is over: /dev/null would be a device no more. */
	if (stat(t->wanted, &st) == 0 && !S_ISREG(st.st_mode))
		return bf_fail(err, -EINVAL, "--trace %s: there is something that is not a file", given);
	if (!strstr(t->wanted, "%p"))
		return put_before_suffix(t->wanted, "%p", t->pattern, sizeof(t->pattern));
	memcpy(t->pattern, t->wanted, sizeof(t->pattern));
	t->wanted[0] = '\0';
	return 0;
}

/* ---- afterwards ---- */

static int compare_processes(const void *a, const void *b)
{
	const struct bf_exec_process *p = a, *q = b;

	return (p->pid > q->pid) - (p->pid < q->pid);
}

static int trace_of(const struct bf_exec_traces *t, uint32_t pid, char path[PATH_MAX])
{
	const char *mark = strstr(t->pattern, "%p");

	return snprintf(path, PATH_MAX, "%.*s%" PRIu32 "%s", (int)(mark - t->pattern), t->pattern, pid, mark + 2) <
		       PATH_MAX
		   ? 0
		   : -ENAMETOOLONG;
}

static int add_process(struct bf_exec_traces *t, uint32_t pid)
{
	struct bf_exec_process *process;
	char path[PATH_MAX];

	if (BF_GROW(t->processes, t->processes_cap, t->nprocesses + 1))
		return -ENOMEM;
	process = &t->processes[t->nprocesses];
	*process = (struct bf_exec_process){ .pid = pid };
	if (t->pattern[0] && trace_of(t, pid, path) == 0 && access(path, F_OK) == 0) {
		process->trace = strdup(path);
		t->ntraces++;
	}
	t->nprocesses++;
	return 0;
}

void bf_exec_collect_traces(struct bf_exec_traces *t, const char *dir)
{
	char path[PATH_MAX];
	struct dirent *d;
	DIR *seen;

	snprintf(path, sizeof(path), "%s/seen", dir);
	seen = opendir(path);
	while (seen && t->nprocesses < PROCESSES_MAX && (d = readdir(seen))) {
		const unsigned long pid = strtoul(d->d_name, NULL, 10);

		t->looked = t->looked || strcmp(d->d_name, "looked") == 0;
		if (pid && add_process(t, (uint32_t)pid) != 0)
			break;
	}
	if (seen)
		closedir(seen);
	if (t->nprocesses)
		qsort(t->processes, t->nprocesses, sizeof(*t->processes), compare_processes);
	/* One trace gets the name that was asked for. */
	for (uint32_t i = 0; t->wanted[0] && t->ntraces == 1 && i < t->nprocesses; i++) {
		struct bf_exec_process *p = &t->processes[i];
		char *name;

		if (!p->trace || !(name = strdup(t->wanted)))
			continue;
		if (rename(p->trace, name) == 0) {
			free(p->trace);
			p->trace = name;
		} else {
			free(name);
		}
	}
}

void bf_exec_free_traces(struct bf_exec_traces *t)
{
	for (uint32_t i = 0; i < t->nprocesses; i++)
		free(t->processes[i].trace);
	free(t->processes);
}
