/*
 * belfry launch: the same program N times, as processes that find each other.
 *
 * One loop waits for signals, output and time. Each process leads a group of its own, so that ending it ends what it
 * has started, too; and it dies with this one, however that ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/bootstrap/pmi.h"
#include "drivers/bootstrap/socket.h"
#include "sim/clock.h"
#include "sim/sim.h"
#include "tools/cli/cli.h"

#define EXIT_TIMEOUT 124 /* as timeout(1) */
#define EXIT_EXEC 127    /* as shells */
#define KILL_AFTER_MS 2000u
#define LINE_MAX_BYTES 4096u

/* One of the two streams of a process whose lines get its number in front. */
struct lines {
	int fd; /* -1: it goes its own way, or has ended */
	FILE *to;
	uint32_t rank, len;
	char text[LINE_MAX_BYTES];
};

struct process {
	pid_t pid; /* 0: ended */
	int pidfd; /* -1: none */
	int pmi;   /* our end of its PMI_FD, -1: none */
	int code;  /* as a shell says it */
	struct lines out, err;
};

struct launch {
	const struct bf_args *args;
	uint32_t n, running;
	struct process *processes;
	struct bf_pmi *pmi;
	struct pollfd *polls; /* signals first, then three of each process */
	sigset_t before;      /* signals that processes start with */
	int signals, code;
	int deaths;  /* epoll of the processes' descriptors, which become ready in the order in which processes end */
	bool ending; /* one has failed, or we were told to end */
	uint64_t term_ms; /* when those that are left are told to end; 0: not decided */
	uint64_t kill_ms; /* when they are killed */
	char dir[64], address[80];
};

static uint64_t now_ms(void)
{
	return bf_monotonic_ns() / 1000000;
}

/* ---- starting ---- */

static int make_address(struct launch *l)
{
	const char *tmp = getenv("TMPDIR");

	if (bf_arg_given(l->args, "tcp")) {
		snprintf(l->address, sizeof(l->address), "tcp:%" PRIu64, bf_arg_u64(l->args, "tcp"));
		return 0;
	}
	if (!tmp || !*tmp || strlen(tmp) > sizeof(l->dir) - 16)
		tmp = "/tmp";
	snprintf(l->dir, sizeof(l->dir), "%s/belfry-XXXXXX", tmp);
	if (!mkdtemp(l->dir)) {
		const int rc = -errno;

		l->dir[0] = '\0';
		return rc;
	}
	snprintf(l->address, sizeof(l->address), "unix:%s", l->dir);
	return 0;
}

/* Processes take their sockets away when all have come; those that did not get that far leave them. */
static void remove_address(const struct launch *l)
{
	char path[96];

	if (!l->dir[0])
		return;
	for (uint32_t i = 0; i < l->n; i++) {
		snprintf(path, sizeof(path), "%s/%" PRIu32, l->dir, i);
		unlink(path);
	}
	rmdir(l->dir);
}

static void set_number(const char *name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, value);
	setenv(name, text, 1);
}

/* In the new process. `pmi`: its end; `out` and `err`: the pipes' ends for what it writes, -1: as it is. */
static void become(const struct launch *l, uint32_t rank, pid_t parent, int pmi, int out, int err)
{
	const unsigned words = bf_arg_positional_count(l->args);
	const char **argv = calloc(words + 1, sizeof(*argv));
	const int null = open("/dev/null", O_RDONLY);
	union {
		const char **from;
		char *const *to;
	} plain = { .from = argv }; /* execvp() promises not to write */

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_EXEC);
	sigprocmask(SIG_SETMASK, &l->before, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	if (bf_arg_json(l->args)) /* standard output is for one document */
		dup2(STDERR_FILENO, STDOUT_FILENO);
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	if (err >= 0)
		dup2(err, STDERR_FILENO);
	set_number("BELFRY_RANK", rank);
	set_number("BELFRY_RANKS", l->n);
	setenv("BELFRY_BOOT", l->address, 1);
	fcntl(pmi, F_SETFD, 0);
	set_number("PMI_FD", (uint32_t)pmi);
	set_number("PMI_RANK", rank);
	set_number("PMI_SIZE", l->n);
	for (unsigned i = 0; argv && i < words; i++)
		argv[i] = bf_arg_positional(l->args, i);
	if (argv)
		execvp(bf_arg_positional(l->args, 0), plain.to);
	fprintf(stderr, "belfry launch: cannot run %s: %s\n", bf_arg_positional(l->args, 0), strerror(errno));
	_exit(EXIT_EXEC);
}

static int open_lines(struct lines *lines, FILE *to, uint32_t rank, int *child)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*lines = (struct lines){ .fd = ends[0], .to = to, .rank = rank };
	*child = ends[1];
	return 0;
}

static void watch(struct launch *l, uint32_t rank)
{
	struct epoll_event when_ended = { .events = EPOLLIN, .data.u32 = rank };
	struct process *p = &l->processes[rank];

	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd >= 0 && epoll_ctl(l->deaths, EPOLL_CTL_ADD, p->pidfd, &when_ended)) {
		close(p->pidfd);
		p->pidfd = -1;
	}
}

static int start(struct launch *l, uint32_t rank)
{
	struct process *p = &l->processes[rank];
	const pid_t parent = getpid();
	int out = -1, err = -1, pmi[2] = { -1, -1 }, rc = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pmi))
		rc = -errno;
	p->pmi = pmi[0];
	if (!rc && bf_arg_flag(l->args, "prefix")) {
		rc = open_lines(&p->out, bf_arg_json(l->args) ? stderr : stdout, rank, &out);
		if (!rc)
			rc = open_lines(&p->err, stderr, rank, &err);
	}
	if (!rc) {
		p->pid = fork();
		if (p->pid == 0)
			become(l, rank, parent, pmi[1], out, err);
		if (p->pid < 0) {
			rc = -errno;
			p->pid = 0;
		} else {
			setpgid(p->pid, p->pid); /* here as well, before anything can be sent to the group */
			watch(l, rank);
			l->running++;
		}
	}
	if (pmi[1] >= 0)
		close(pmi[1]);
	if (out >= 0)
		close(out);
	if (err >= 0)
		close(err);
	return rc;
}

/* ---- ending ---- */

static void tell_all(const struct launch *l, int number)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->processes[i].pid)
			kill(-l->processes[i].pid, number);
}

/* The first reason to end decides the exit code; the others get `grace_ms` to end by themselves. */
static void begin_end(struct launch *l, int code, uint64_t grace_ms)
{
	if (l->ending)
		return;
	l->ending = true;
	l->code = code;
	l->term_ms = now_ms() + grace_ms;
	l->kill_ms = l->term_ms + KILL_AFTER_MS;
}

static void on_time(struct launch *l, uint64_t deadline_ms)
{
	const uint64_t now = now_ms();

	if (deadline_ms && now >= deadline_ms && !l->ending) {
		fprintf(stderr, "belfry launch: the time is over\n");
		begin_end(l, EXIT_TIMEOUT, 0);
	}
	if (l->term_ms && now >= l->term_ms) {
		tell_all(l, SIGTERM);
		l->term_ms = 0;
	}
	if (l->ending && now >= l->kill_ms)
		tell_all(l, SIGKILL);
}

static void say_end(const struct launch *l, uint32_t rank, int status)
{
	if (l->ending)
		return; /* what follows from the first is no news */
	if (WIFSIGNALED(status))
		fprintf(stderr, "belfry launch: rank %" PRIu32 " was killed by signal %d (%s)\n", rank,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		fprintf(stderr, "belfry launch: rank %" PRIu32 " ended with exit code %d\n", rank, WEXITSTATUS(status));
}

static void on_ended(struct launch *l, uint32_t rank, int status)
{
	struct process *p = &l->processes[rank];

	kill(-p->pid, SIGKILL); /* what it leaves behind */
	p->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	p->pid = 0;
	l->running--;
	say_end(l, rank, status);
	if (p->code)
		begin_end(l, p->code, bf_arg_u64(l->args, "grace") / BF_MS);
}

static void take(struct launch *l, uint32_t rank)
{
	struct process *p = &l->processes[rank];
	int status;

	if (!p->pid || waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
	on_ended(l, rank, status);
}

/*
 * In the order in which they ended: who fails because another one did ends later, however late we are. By rank where
 * the kernel has no descriptors of processes (before Linux 5.3).
 */
static void reap(struct launch *l)
{
	struct epoll_event ended[16];
	int n;

	do {
		n = epoll_wait(l->deaths, ended, (int)BF_ARRAY_LEN(ended), 0);
		for (int i = 0; i < n; i++)
			take(l, ended[i].data.u32);
	} while (n == (int)BF_ARRAY_LEN(ended));
	for (uint32_t i = 0; i < l->n; i++)
		if (l->processes[i].pidfd < 0)
			take(l, i);
}

static void on_signals(struct launch *l)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		tell_all(l, (int)info.ssi_signo);
		begin_end(l, 128 + (int)info.ssi_signo, KILL_AFTER_MS);
	}
	reap(l);
}

/* ---- PMI ---- */

static int send_pmi(void *ctx, uint32_t rank, const char *line, size_t len)
{
	struct launch *l = ctx;
	const int fd = l->processes[rank].pmi;
	const ssize_t n = fd < 0 ? -1 : send(fd, line, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (fd < 0 || (n < 0 && (errno == EPIPE || errno == ECONNRESET)))
		return 0;                       /* it is gone, which is seen elsewhere */
	return n == (ssize_t)len ? 0 : -EAGAIN; /* it reads none of its replies */
}

static void close_pmi(struct launch *l, uint32_t rank)
{
	if (l->processes[rank].pmi < 0)
		return;
	close(l->processes[rank].pmi);
	l->processes[rank].pmi = -1;
	bf_pmi_gone(l->pmi, rank);
}

static void on_pmi(struct launch *l, uint32_t rank)
{
	struct bf_error err = { 0 };
	char bytes[4096];
	const ssize_t n = recv(l->processes[rank].pmi, bytes, sizeof(bytes), MSG_DONTWAIT);
	int rc;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		close_pmi(l, rank);
		return;
	}
	rc = bf_pmi_take(l->pmi, rank, bytes, (size_t)n, &err);
	if (!rc)
		return;
	if (!l->ending)
		fprintf(stderr, "belfry launch: PMI of rank %" PRIu32 ": %s\n", rank, err.text);
	begin_end(l, rc == -ECANCELED ? bf_pmi_abort_code(l->pmi) : EXIT_FAILURE, 0);
	close_pmi(l, rank);
}

/* Who has ended comes to no barrier. */
static void look_at_barrier(struct launch *l)
{
	if (l->ending || l->running == l->n || !l->running || bf_pmi_waiting(l->pmi) < l->running)
		return;
	fprintf(stderr,
		"belfry launch: %" PRIu32 " of %" PRIu32 " ranks wait at PMI's barrier, the others have ended\n",
		l->running, l->n);
	begin_end(l, EXIT_FAILURE, 0);
}

/* ---- output ---- */

static void put_line(struct lines *lines, uint32_t len)
{
	fprintf(lines->to, "[%" PRIu32 "] %.*s\n", lines->rank, (int)len, lines->text);
	fflush(lines->to);
}

static void put_lines(struct lines *lines)
{
	char *end;

	while ((end = memchr(lines->text, '\n', lines->len))) {
		const uint32_t len = (uint32_t)(end - lines->text);

		put_line(lines, len);
		lines->len -= len + 1;
		memmove(lines->text, end + 1, lines->len);
	}
	if (lines->len == LINE_MAX_BYTES) {
		put_line(lines, lines->len);
		lines->len = 0;
	}
}

static void on_output(struct lines *lines)
{
	const ssize_t n = read(lines->fd, lines->text + lines->len, LINE_MAX_BYTES - lines->len);

	if (n > 0) {
		lines->len += (uint32_t)n;
		put_lines(lines);
		return;
	}
	if (n < 0 && errno == EINTR)
		return;
	if (lines->len)
		put_line(lines, lines->len);
	close(lines->fd);
	lines->fd = -1;
}

/* ---- the loop ---- */

static bool any_output(const struct launch *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->processes[i].out.fd >= 0 || l->processes[i].err.fd >= 0)
			return true;
	return false;
}

/* How long to sleep: until the next time that means something. */
static int sleep_ms(const struct launch *l, uint64_t deadline_ms)
{
	const uint64_t now = now_ms();
	uint64_t until = l->ending ? l->kill_ms : deadline_ms;

	if (l->term_ms && l->term_ms < until)
		until = l->term_ms;
	if (!until)
		return -1;
	return until <= now ? 10 : until - now > 60000 ? 60000 : (int)(until - now);
}

static void supervise(struct launch *l)
{
	const uint64_t timeout_ms = bf_arg_u64(l->args, "timeout") / BF_MS;
	const uint64_t deadline_ms = timeout_ms ? now_ms() + timeout_ms : 0;

	while (l->running || any_output(l)) {
		l->polls[0] = (struct pollfd){ .fd = l->signals, .events = POLLIN };
		for (uint32_t i = 0; i < l->n; i++) {
			l->polls[1 + 3 * i] = (struct pollfd){ .fd = l->processes[i].out.fd, .events = POLLIN };
			l->polls[2 + 3 * i] = (struct pollfd){ .fd = l->processes[i].err.fd, .events = POLLIN };
			l->polls[3 + 3 * i] = (struct pollfd){ .fd = l->processes[i].pmi, .events = POLLIN };
		}
		poll(l->polls, 1 + 3 * (nfds_t)l->n, sleep_ms(l, deadline_ms));
		for (uint32_t i = 0; i < l->n; i++) {
			if (l->processes[i].out.fd >= 0 && l->polls[1 + 3 * i].revents)
				on_output(&l->processes[i].out);
			if (l->processes[i].err.fd >= 0 && l->polls[2 + 3 * i].revents)
				on_output(&l->processes[i].err);
			if (l->processes[i].pmi >= 0 && l->polls[3 + 3 * i].revents)
				on_pmi(l, i);
		}
		if (ferror(stdout) || ferror(stderr)) /* nobody reads any more: what SIGPIPE would have done */
			begin_end(l, 128 + SIGPIPE, 0);
		on_signals(l);
		look_at_barrier(l);
		on_time(l, deadline_ms);
	}
}

static void tell_json(const struct launch *l)
{
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, "ranks", '[');
	for (uint32_t i = 0; i < l->n; i++)
		bf_json_u64(&j, NULL, (uint64_t)l->processes[i].code);
	bf_json_close(&j, ']');
	bf_json_u64(&j, "exit", (uint64_t)l->code);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

static int run_all(struct launch *l)
{
	int rc = 0;

	fflush(stdout);
	for (uint32_t i = 0; i < l->n; i++)
		l->processes[i].out.fd = l->processes[i].err.fd = l->processes[i].pidfd = l->processes[i].pmi = -1;
	for (uint32_t i = 0; !rc && i < l->n; i++) {
		rc = start(l, i);
		if (rc)
			fprintf(stderr, "belfry launch: rank %" PRIu32 " cannot be started: %s\n", i, strerror(-rc));
	}
	if (rc)
		begin_end(l, BF_EXIT_USAGE, 0);
	supervise(l);
	for (uint32_t i = 0; i < l->n; i++)
		close_pmi(l, i);
	if (bf_arg_json(l->args))
		tell_json(l);
	return l->code;
}

static int run_launch(const struct bf_args *args)
{
	static const int watched[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	struct launch l = { .args = args, .n = (uint32_t)bf_arg_u64(args, "n"), .signals = -1, .deaths = -1 };
	int code = BF_EXIT_USAGE, rc;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < BF_ARRAY_LEN(watched); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, &l.before);
	signal(SIGPIPE, SIG_IGN); /* who reads our texts may go; processes and directory are still ours to end */
	l.processes = calloc(l.n, sizeof(*l.processes));
	l.polls = calloc(1 + 3 * (size_t)l.n, sizeof(*l.polls));
	l.pmi = bf_pmi_new(l.n, &(struct bf_pmi_out){ .send = send_pmi, .ctx = &l });
	l.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	l.deaths = epoll_create1(EPOLL_CLOEXEC);
	rc = !l.processes || !l.polls || !l.pmi ? -ENOMEM : l.signals < 0 || l.deaths < 0 ? -errno : make_address(&l);
	if (rc)
		code = bf_cli_error(args, BF_EXIT_USAGE, "cannot prepare to launch: %s", strerror(-rc));
	else
		code = run_all(&l);
	remove_address(&l);
	if (l.signals >= 0)
		close(l.signals);
	if (l.deaths >= 0)
		close(l.deaths);
	bf_pmi_free(l.pmi);
	free(l.processes);
	free(l.polls);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "n",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "2",
	  .help = "processes",
	  .min = 1,
	  .max = BF_BOOT_RANKS_MAX },
	{ .name = "prefix", .kind = BF_OPT_FLAG, .help = "prefix each output line with the number of its process" },
	{ .name = "timeout",
	  .kind = BF_OPT_TIME,
	  .arg = "TIME",
	  .initial = "0s",
	  .help = "end all processes after this time; 0s: never" },
	{ .name = "grace",
	  .kind = BF_OPT_TIME,
	  .arg = "TIME",
	  .initial = "5s",
	  .help = "how long the others may take to exit after one has failed" },
	{ .name = "tcp",
	  .kind = BF_OPT_U64,
	  .arg = "PORT",
	  .help = "let the processes meet at ports PORT.. of 127.0.0.1 instead of in a directory",
	  .min = 1,
	  .max = 65535 },
	{ .name = NULL },
};

const struct bf_command bf_cmd_launch = {
	.name = "launch",
	.usage = "launch -n N [options] -- COMMAND [ARGUMENT...]",
	.summary = "start a command as several processes that find each other",
	.details = "Each process gets BELFRY_RANK (0 to N-1), BELFRY_RANKS and BELFRY_BOOT. With these, `belfry "
		   "run` and programs that use Belfry's bootstrap find the other processes on this machine. `belfry "
		   "run ibgda-put`, -get, -amo and -mixed spread their PEs over the processes: rank 0 prints the "
		   "result, and every PE does the same as in one process. `belfry exec` runs in each process. Other "
		   "commands refuse, because each process would do all of the work. For several machines, use "
		   "mpirun instead.\n"
		   "\n"
		   "Programs that ask PMI for the others find them, too: MPICH's, and NVSHMEM's with its default "
		   "bootstrap. PMI_FD, PMI_RANK and PMI_SIZE are set (PMI-1), for one such program in each process. It "
		   "cannot start further processes.\n"
		   "\n"
		   "If one process fails, or this program is told to end, the others are ended: first they have "
		   "time to exit by themselves (--grace), then they get SIGTERM, and 2 s later SIGKILL. Signals "
		   "INT, TERM, HUP, QUIT, USR1 and USR2 are passed on. With --json the processes' output goes to "
		   "standard error.\n"
		   "\n"
		   "Exit code: that of the process that failed first, or 128 + N if signal N ended it; 124: "
		   "timeout; 127: the command cannot be run; 0: all succeeded.\n"
		   "\n"
		   "Examples:\n"
		   "  belfry launch -n 2 -- belfry run ibgda-put --pes 8 --hashes\n"
		   "  belfry launch -n 4 --prefix --timeout 60s -- ./my_program",
	.options = options,
	.min_args = 1,
	.max_args = 4096,
	.run = run_launch,
};
