/*
 * The life of the process: the engine starts at the first open of a device and stops at exit; a forked child has none
 * until it opens a device itself; what is executed is to have this library as well.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "tools/exec/exec_internal.h"
#include "tools/exec/real_internal.h"

#define KEPT_MAX 24
#define ENVIRONMENT_MAX 4096 /* longer ones are passed on as they are */
#define PRELOAD_MAX 4096

static struct {
	_Atomic(struct bf_engine *) engine;
	atomic_int pid;      /* of the process that it runs in: one that vfork() made shares this memory */
	atomic_bool stopped; /* whichever of the ways out came first */
	pthread_mutex_t starting;
	const char *kept[KEPT_MAX]; /* variables that children are to have: "NAME=VALUE" */
	unsigned nkept;
	const char *preload; /* the value among them */
} process = { .starting = PTHREAD_MUTEX_INITIALIZER };

/* ---- the engine ---- */

void bf_exec_note(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/seen/%s", bf_exec_dir(), name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

static struct bf_engine *start(void)
{
	struct bf_engine *e;
	char why[512] = "", pid[16];
	int rc;

	rc = bf_engine_start(&e, why, sizeof(why));
	if (rc) {
		fprintf(stderr, "belfry exec: the device cannot be started: %s\n", why[0] ? why : strerror(-rc));
		errno = -rc;
		return NULL;
	}
	atomic_store(&process.pid, (int)getpid());
	bf_exec_signals_start();
	atomic_store(&process.engine, e);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	bf_exec_note(pid);
	return e;
}

struct bf_engine *bf_exec_engine(void)
{
	struct bf_engine *e = bf_exec_running();

	if (e)
		return e;
	if (!bf_exec_dir()[0]) {
		errno = ENODEV;
		return NULL;
	}
	pthread_mutex_lock(&process.starting);
	e = bf_exec_running();
	if (!e)
		e = start();
	pthread_mutex_unlock(&process.starting);
	return e;
}

struct bf_engine *bf_exec_maybe_running(void)
{
	return atomic_load_explicit(&process.engine, memory_order_acquire);
}

struct bf_engine *bf_exec_running(void)
{
	struct bf_engine *e = atomic_load_explicit(&process.engine, memory_order_acquire);

	return e && atomic_load_explicit(&process.pid, memory_order_relaxed) == (int)getpid() ? e : NULL;
}

/* The engine stays where it was, dead: other threads and destructors still call it and ring. */
void bf_exec_stop(void)
{
	struct bf_engine *e = bf_exec_running();

	if (e && !atomic_exchange(&process.stopped, true))
		bf_engine_stop(e);
}

/* ---- fork ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&process.starting);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&process.starting);
}

/* What the child has open is dead, since the engine's thread and the other processes' rings are the parent's. */
static void in_child(void)
{
	struct bf_engine *e = atomic_exchange(&process.engine, NULL);

	if (e)
		bf_engine_forked(e);
	atomic_store(&process.stopped, false);
	pthread_mutex_unlock(&process.starting);
}

/* ---- the way in and the ways out ---- */

static void keep_variables(void)
{
	for (char **v = environ; v && *v && process.nkept < KEPT_MAX; v++) {
		if (strncmp(*v, "LD_PRELOAD=", 11) == 0)
			process.preload = *v + 11;
		else if (strncmp(*v, "BELFRY_EXEC_", 12) && strncmp(*v, BF_EXEC_ENV_SYSFS "=", 11))
			continue;
		process.kept[process.nkept] = strdup(*v);
		if (process.kept[process.nkept])
			process.nkept++;
	}
}

__attribute__((constructor)) static void enter(void)
{
	const char *dir = getenv(BF_EXEC_ENV_DIR);

	if (!dir || !*dir)
		return;
	bf_exec_set_dir(dir);
	keep_variables();
	pthread_atfork(before_fork, in_parent, in_child);
	at_quick_exit(bf_exec_stop);
}

__attribute__((destructor)) static void leave(void)
{
	bf_exec_stop();
}

/* The C library's headers name the parameters of what follows by identifiers that are reserved to it. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

/* exit() ends in the destructor; this is for those who do not call it. */
void _exit(int code)
{
	bf_exec_stop();
	BF_CALL_REAL(_exit)(code);
	__builtin_unreachable();
}

void _Exit(int code)
{
	_exit(code);
}

/* ---- exec ---- */

static bool is_variable(const char *v, const char *kept)
{
	const size_t len = strcspn(kept, "=") + 1;

	return strncmp(v, kept, len) == 0;
}

/* LD_PRELOAD with ours in front of what the caller wants; as it is where ours is there already. */
static const char *join_preload(const char *theirs, char *to)
{
	const char *value = strchr(theirs, '=') + 1;

	if (strstr(value, process.preload))
		return theirs;
	if (snprintf(to, PRELOAD_MAX, "LD_PRELOAD=%s:%s", process.preload, value) >= PRELOAD_MAX)
		return theirs;
	return to;
}

/*
 * `from` with the variables that this library needs: tools such as mpirun and test runners give their children
 * environments of their own making. Everything lies in the caller's frame, for this may be a child of vfork().
 */
static char *const *with_kept(char *const *from, const char **to, char *preload)
{
	union {
		const char **made;
		char *const *wanted; /* nobody writes to the texts */
	} list = { .made = to };
	unsigned n = 0;

	while (from && from[n]) {
		if (n + process.nkept + 1 >= ENVIRONMENT_MAX)
			return from;
		to[n] = process.preload && strncmp(from[n], "LD_PRELOAD=", 11) == 0 ? join_preload(from[n], preload)
										    : from[n];
		n++;
	}
	for (unsigned k = 0, own = n; k < process.nkept; k++) {
		unsigned i = 0;

		while (i < own && !is_variable(to[i], process.kept[k]))
			i++;
		if (i == own)
			to[n++] = process.kept[k];
	}
	to[n] = NULL;
	return list.wanted;
}

#define WITH_KEPT(env)                                                                                                 \
	const char *list[ENVIRONMENT_MAX];                                                                             \
	char preload[PRELOAD_MAX];                                                                                     \
	char *const *all = with_kept(env, list, preload)

int execve(const char *path, char *const argv[], char *const env[])
{
	WITH_KEPT(env);

	return BF_CALL_REAL(execve)(path, argv, all);
}

int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

int execvpe(const char *name, char *const argv[], char *const env[])
{
	WITH_KEPT(env);

	return BF_CALL_REAL(execvpe)(name, argv, all);
}

int execvp(const char *name, char *const argv[])
{
	return execvpe(name, argv, environ);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
		char *const argv[], char *const env[])
{
	WITH_KEPT(env);

	return BF_CALL_REAL(posix_spawn)(pid, path, actions, attr, argv, all);
}

int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
		 char *const argv[], char *const env[])
{
	WITH_KEPT(env);

	return BF_CALL_REAL(posix_spawnp)(pid, name, actions, attr, argv, all);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
