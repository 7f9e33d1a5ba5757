/*
 * belfry exec: an unmodified RDMA program on the ConnectX model.
 *
 * The command makes a folder in which programs find the devices, starts the program with a library in it that plays the
 * kernel and the device (tools/exec), waits, and says what came of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/fault.h"
#include "sim/sanitizers.h"
#include "tools/workloads/choice.h"
#include "tools/cli/cli.h"
#include "tools/exec/engine.h"
#include "tools/exec/gpu.h"
#include "tools/exec/identity.h"
#include "tools/exec/target.h"
#include "tools/exec/traces.h"
#include "tools/exec/tree.h"
#include "tools/report/lint.h"

#define EXIT_EXEC 127     /* as shells */
#define FAULTS_MAX 65536u /* the environment has 128 KiB for a variable */

struct exec {
	const struct bf_args *args;
	struct bf_exec_tree tree;
	struct bf_exec_traces traces;
	char library[PATH_MAX];
	char cuda[PATH_MAX]; /* libcuda.so.1 of ours, with --gpu */
	char program[PATH_MAX];
	uint32_t udp_ipv4;
	bool not_found;
	int code; /* the program's */
};

/* ---- the environment ---- */

static void set_number(const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	setenv(name, text, 1);
}

/* Empty where nothing is asked for: what the environment has may be that of a belfry exec around this one. */
static void set_text(const char *name, const char *value)
{
	setenv(name, value ? value : "", 1);
}

#if BF_ASAN
/* A sanitized library wants its runtime to be the first of all; this program has it. */
static int find_runtime(struct dl_phdr_info *info, size_t size, void *found)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libasan.so") && !strstr(info->dlpi_name, "libclang_rt.asan"))
		return 0;
	snprintf(found, PATH_MAX, "%s:", info->dlpi_name);
	return 1;
}

static void set_runtime(char first[PATH_MAX])
{
	dl_iterate_phdr(find_runtime, first);
}
#else
static void set_runtime(char first[PATH_MAX])
{
	first[0] = '\0';
}
#endif

static void set_preload(const struct exec *x)
{
	const char *others = getenv("LD_PRELOAD");
	char first[PATH_MAX] = "", value[3 * PATH_MAX];

	set_runtime(first);
	snprintf(value, sizeof(value), "%s%s%s%s", first, x->library, others && *others ? ":" : "",
		 others ? others : "");
	setenv("LD_PRELOAD", value, 1);
}

/*
 * The runtime of a program that was built with gcc's AddressSanitizer refuses to start behind another library unless it
 * is told that this is meant. What the caller says goes on to count.
 */
static void set_asan(void)
{
	const char *others = getenv("ASAN_OPTIONS");
	char value[PATH_MAX];

	if (others && strstr(others, "verify_asan_link_order"))
		return;
	if (snprintf(value, sizeof(value), "verify_asan_link_order=0%s%s", others ? ":" : "", others ? others : "") <
	    (int)sizeof(value))
		setenv("ASAN_OPTIONS", value, 1);
}

/* The folder of our CUDA libraries comes first in the way that programs look for theirs; a machine's own stay out. */
static void set_gpu(struct exec *x)
{
	static const char *const orderings[] = { [BF_ORDER_SC] = "sc",
						 [BF_ORDER_TSO] = "tso",
						 [BF_ORDER_GPU] = "gpu",
						 [BF_ORDER_ADVERSARIAL] = "adversarial" };
	const char *others = getenv("LD_LIBRARY_PATH");
	char *slash = strrchr(x->cuda, '/'), value[2 * PATH_MAX];

	set_text(BF_EXEC_ENV_GPU, bf_arg_text(x->args, "gpu"));
	set_text(BF_EXEC_ENV_ORDERING, orderings[bf_arg_u64(x->args, "ordering")]);
	if (!slash)
		return;
	snprintf(value, sizeof(value), "%.*s%s%s", (int)(slash - x->cuda), x->cuda, others && *others ? ":" : "",
		 others ? others : "");
	setenv("LD_LIBRARY_PATH", value, 1);
}

static int set_faults(const struct exec *x, struct bf_error *err)
{
	const char *given = bf_arg_text(x->args, "faults");
	const uint64_t seed = bf_arg_u64(x->args, "seed");
	struct bf_fault_plan *plan;
	char option[PATH_MAX], *text;
	int rc;

	set_text(BF_EXEC_ENV_FAULTS, NULL);
	if (!given)
		return 0;
	/* Of "@FILE" the name may have the rank in it; a plan has no use for one. */
	if (given[0] == '@' && bf_exec_put_rank(given, option, sizeof(option)))
		return bf_fail(err, -ENAMETOOLONG, "--faults: the name is too long");
	rc = bf_faults_text(given[0] == '@' ? option : given, &text, err);
	if (rc)
		return rc;
	rc = bf_fault_plan_parse(text, seed, err, &plan);
	if (!rc) {
		bf_fault_plan_destroy(plan);
		if (strlen(text) >= FAULTS_MAX)
			rc = bf_fail(err, -E2BIG, "--faults: a plan of at most %u bytes", FAULTS_MAX - 1);
		else
			setenv(BF_EXEC_ENV_FAULTS, text, 1);
	}
	free(text);
	return rc;
}

static int set_environment(struct exec *x, struct bf_error *err)
{
	static const char *const doorbells[] = {
		[BF_EXEC_TRAP] = "trap", [BF_EXEC_POLL] = "poll", [BF_EXEC_DIRECT] = "direct"
	};
	const struct bf_args *args = x->args;
	char sysfs[PATH_MAX];

	snprintf(sysfs, sizeof(sysfs), "%s/sys", x->tree.dir);
	setenv(BF_EXEC_ENV_DIR, x->tree.dir, 1);
	setenv(BF_EXEC_ENV_SYSFS, sysfs, 1);
	/* A kernel that is loaded while another one runs makes the model's copies of GPU memory wait for that one. */
	setenv("CUDA_MODULE_LOADING", "EAGER", 0);
	setenv(BF_EXEC_ENV_DOORBELLS, doorbells[bf_arg_u64(args, "doorbells")], 1);
	set_number(BF_EXEC_ENV_BLUEFLAME, bf_arg_flag(args, "blueflame"));
	set_number(BF_EXEC_ENV_NO_PATCH, bf_arg_flag(args, "no-patch"));
	set_number(BF_EXEC_ENV_SEED, bf_arg_u64(args, "seed"));
	set_number(BF_EXEC_ENV_DEVICES, bf_arg_u64(args, "devices"));
	set_number(BF_EXEC_ENV_STATS, bf_arg_flag(args, "stats"));
	set_text(BF_EXEC_ENV_TRACE, x->traces.pattern);
	set_text(BF_EXEC_ENV_NET, bf_arg_text(args, "net"));
	set_text(BF_EXEC_ENV_UDP, bf_arg_text(args, "udp"));
	set_number(BF_EXEC_ENV_UDP_RATE, bf_arg_u64(args, "udp-rate"));
	set_text(BF_EXEC_ENV_LINK, bf_arg_u64(args, "link") ? "ib" : NULL);
	set_text(BF_EXEC_ENV_ABI, bf_arg_u64(args, "abi") ? "write" : NULL);
	set_text(BF_EXEC_ENV_IDLE, NULL);
	if (bf_arg_given(args, "idle-us"))
		set_number(BF_EXEC_ENV_IDLE, bf_arg_u64(args, "idle-us"));
	set_gpu(x);
	set_preload(x);
	set_asan();
	return set_faults(x, err);
}

/* ---- the program ---- */

static void become(const struct exec *x, const sigset_t *before, pid_t parent)
{
	const unsigned words = bf_arg_positional_count(x->args);
	const char **argv = calloc(words + 1, sizeof(*argv));
	union {
		const char **from;
		char *const *to;
	} plain = { .from = argv }; /* execv() promises not to write */

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_EXEC);
	sigprocmask(SIG_SETMASK, before, NULL);
	if (bf_arg_json(x->args)) /* standard output is for one document */
		dup2(STDERR_FILENO, STDOUT_FILENO);
	for (unsigned i = 0; argv && i < words; i++)
		argv[i] = bf_arg_positional(x->args, i);
	if (argv)
		execvp(x->program, plain.to);
	fprintf(stderr, "belfry exec: cannot run %s: %s\n", x->program, strerror(errno));
	_exit(EXIT_EXEC);
}

/* What a terminal sends goes to both processes by itself. */
static void pass_on(pid_t pid, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo != SIGCHLD && info->ssi_code <= 0)
		kill(pid, (int)info->ssi_signo);
}

static int wait_for(pid_t pid, int signals)
{
	struct signalfd_siginfo info;
	int status;

	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		if (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			pass_on(pid, &info);
	}
}

static int run_program(struct exec *x, struct bf_error *err)
{
	static const int watched[] = { SIGCHLD, SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
				       SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH };
	const pid_t parent = getpid();
	sigset_t set, before;
	int signals;
	pid_t pid;

	sigemptyset(&set);
	for (size_t i = 0; i < BF_ARRAY_LEN(watched); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	fflush(stdout);
	pid = signals < 0 ? -1 : fork();
	if (pid == 0)
		become(x, &before, parent);
	if (pid < 0) {
		const int rc = -errno;

		if (signals >= 0)
			close(signals);
		return bf_fail(err, rc, "cannot start %s: %s", x->program, strerror(-rc));
	}
	/* The program reads the terminal and writes to it; what is left for us to say can wait until it is over. */
	x->code = wait_for(pid, signals);
	close(signals);
	unsetenv("LD_PRELOAD");
	return 0;
}

/* ---- afterwards ---- */

static int judge(const struct exec *x, struct bf_json *j, struct bf_error *err)
{
	const char **paths = calloc(x->traces.ntraces + 1u, sizeof(*paths));
	uint32_t n = 0;
	int rc;

	if (!paths)
		return bf_fail(err, -ENOMEM, "no memory for a list of traces");
	for (uint32_t i = 0; i < x->traces.nprocesses; i++)
		if (x->traces.processes[i].trace)
			paths[n++] = x->traces.processes[i].trace;
	rc = bf_lint_paths(paths, n, stderr, j, err);
	free(paths);
	return rc;
}

static void tell(const struct exec *x)
{
	const char *name = bf_arg_positional(x->args, 0);

	if (!x->traces.nprocesses && x->traces.looked)
		fprintf(stderr, "belfry exec: %s looked for RDMA devices, but opened none\n", name);
	else if (!x->traces.nprocesses && x->code != EXIT_EXEC)
		fprintf(stderr,
			"belfry exec: %s did not look for RDMA devices. It may not use libibverbs, have it linked "
			"statically, or start a static program that does\n",
			name);
	for (uint32_t i = 0; bf_arg_given(x->args, "trace") && i < x->traces.nprocesses; i++)
		if (x->traces.processes[i].trace)
			fprintf(stderr, "belfry exec: trace of process %" PRIu32 ": %s\n", x->traces.processes[i].pid,
				x->traces.processes[i].trace);
}

static void tell_json(const struct exec *x, struct bf_json *j)
{
	bf_json_u64(j, "exit", (uint64_t)x->code);
	bf_json_open(j, "processes", '[');
	for (uint32_t i = 0; i < x->traces.nprocesses; i++) {
		bf_json_open(j, NULL, '{');
		bf_json_u64(j, "pid", x->traces.processes[i].pid);
		if (bf_arg_given(x->args, "trace"))
			bf_json_text(j, "trace", x->traces.processes[i].trace);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

/* The program's own failure is the more important news. */
static int report(const struct exec *x, struct bf_error *err)
{
	const bool lint = bf_arg_flag(x->args, "lint");
	int verdict = BF_EXIT_GOOD;

	if (bf_arg_json(x->args)) {
		struct bf_json j;

		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		tell_json(x, &j);
		if (lint) {
			bf_json_open(&j, "lint", '{');
			verdict = judge(x, &j, err);
			bf_json_close(&j, '}');
		}
		bf_json_close(&j, '}');
		bf_json_end(&j);
	} else {
		tell(x);
		if (lint)
			verdict = judge(x, NULL, err);
	}
	if (verdict < 0) {
		fprintf(stderr, "belfry exec: %s\n", err->text);
		verdict = BF_EXIT_USAGE;
	}
	return x->code ? x->code : verdict;
}

/* ---- the command ---- */

static int prepare(struct exec *x, struct bf_error *err)
{
	const char *name = bf_arg_positional(x->args, 0), *udp = bf_arg_text(x->args, "udp");
	struct bf_exec_tree_opts tree = { .devices = (uint32_t)bf_arg_u64(x->args, "devices"),
					  .infiniband = bf_arg_u64(x->args, "link") != 0 };
	const char *gpus = bf_arg_text(x->args, "gpu");
	char why[128];
	uint16_t port;
	int rc;

	if (udp && bf_exec_parse_udp(udp, &x->udp_ipv4, &port))
		return bf_fail(err, -EINVAL,
			       "--udp %s: expects an address of this machine such as 10.0.0.1 or 10.0.0.1:4791", udp);
	if (udp && tree.infiniband)
		return bf_fail(err, -EINVAL, "--link ib: InfiniBand does not go over UDP, RoCE does; leave out --udp");
	tree.udp_ipv4 = x->udp_ipv4;
	rc = gpus ? bf_exec_gpu_parse(gpus, &tree.gpus, NULL, why, sizeof(why)) : 0;
	if (rc)
		return bf_fail(err, rc, "--gpu %s: %s", gpus, why);
	if (!gpus && bf_arg_given(x->args, "ordering"))
		return bf_fail(err, -EINVAL, "--ordering is for GPUs: it needs --gpu");
	rc = bf_exec_target_find(name, x->program);
	x->not_found = rc != 0;
	if (rc)
		return bf_fail(err, rc, "cannot run %s: %s", name, strerror(-rc));
	rc = bf_exec_target_check(x->program, err);
	if (!rc)
		rc = bf_exec_library("libbelfry-exec.so", x->library, err);
	if (!rc && gpus)
		rc = bf_exec_library("belfry-gpu/libcuda.so.1", x->cuda, err);
	if (!rc)
		rc = bf_exec_tree_make(&x->tree, &tree, err);
	if (!rc && (bf_arg_given(x->args, "trace") || bf_arg_flag(x->args, "lint")))
		rc = bf_exec_name_traces(&x->traces, bf_arg_text(x->args, "trace"), x->tree.dir, err);
	return rc ? rc : set_environment(x, err);
}

static int run_exec(const struct bf_args *args)
{
	struct exec x = { .args = args, .tree = { .lock = -1, .alive = -1 } };
	struct bf_error err = { 0 };
	int rc = prepare(&x, &err), code;

	if (rc)
		code = bf_cli_error(args,
				    x.not_found      ? EXIT_EXEC
				    : rc == -ENOTSUP ? BF_EXIT_UNAVAILABLE
						     : BF_EXIT_USAGE,
				    "%s", err.text);
	else if (run_program(&x, &err) != 0)
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	else {
		bf_exec_collect_traces(&x.traces, x.tree.dir);
		code = report(&x, &err);
	}
	bf_exec_tree_remove(&x.tree);
	bf_exec_free_traces(&x.traces);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "doorbells",
	  .kind = BF_OPT_ENUM,
	  .arg = "trap|poll|direct",
	  .initial = "trap",
	  .help = "how doorbells are detected: each store faults (exact and in order); a thread polls the pages "
		  "(more messages per second, and stores by GPUs); or the program calls belfry_exec_ring()" },
	{ .name = "blueflame",
	  .kind = BF_OPT_FLAG,
	  .help = "offer BlueFlame registers: small entries travel with the doorbell" },
	{ .name = "no-patch",
	  .kind = BF_OPT_FLAG,
	  .help = "trap: leave the program's code alone; otherwise an instruction that rings often is replaced by "
		  "a jump, which avoids the faults" },
	{ .name = "gpu",
	  .kind = BF_OPT_TEXT,
	  .arg = "N[:PROFILE]",
	  .help = "N GPUs that run the program's CUDA kernels from their PTX; profiles: h100 (default), h200, cc120" },
	{ .name = "ordering",
	  .kind = BF_OPT_ENUM,
	  .arg = "sc|tso|gpu|adversarial",
	  .initial = "sc",
	  .help = "with --gpu: how late stores of kernels become visible to others" },
	{ .name = "trace",
	  .kind = BF_OPT_OUT,
	  .arg = "FILE",
	  .help = "write a trace; with several processes, one file each (%p: process id, %r: rank)" },
	{ .name = "lint",
	  .kind = BF_OPT_FLAG,
	  .help = "check the trace against all rules afterwards; exit code 3 if they find something" },
	{ .name = "faults",
	  .kind = BF_OPT_TEXT,
	  .arg = "PLAN|@FILE",
	  .help = "fault plan, as in belfry run; %r in the file's name is the rank",
	  .names = bf_fault_names },
	{ .name = "seed", .kind = BF_OPT_U64, .arg = "N", .initial = "1", .help = "seed of the fault plan" },
	{ .name = "net",
	  .kind = BF_OPT_TEXT,
	  .arg = "NAME",
	  .help = "name of the network: processes on this machine with the same name reach each other; without: "
		  "one for all" },
	{ .name = "udp",
	  .kind = BF_OPT_TEXT,
	  .arg = "ADDRESS[:PORT]",
	  .help = "reach other machines by RoCEv2 over UDP (port 4791) from this address of this machine" },
	{ .name = "udp-rate",
	  .kind = BF_OPT_U64,
	  .arg = "MBITS",
	  .initial = "0",
	  .help = "limit the UDP rate to each address, in Mbit/s; 0: no limit",
	  .min = 0,
	  .max = BF_EXEC_UDP_MBITS_MAX },
	{ .name = "devices",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "1",
	  .help = "devices: mlx5_0 and up",
	  .min = 1,
	  .max = BF_EXEC_DEVICES_MAX },
	{ .name = "link",
	  .kind = BF_OPT_ENUM,
	  .arg = "roce|ib",
	  .initial = "roce",
	  .help = "what the ports are; ib: InfiniBand, with LIDs, for programs that give no GID" },
	{ .name = "abi",
	  .kind = BF_OPT_ENUM,
	  .arg = "ioctl|write",
	  .initial = "ioctl",
	  .help = "kernel interface; write: as kernels before 4.20, without DEVX" },
	{ .name = "stats",
	  .kind = BF_OPT_FLAG,
	  .help = "print the counters of each process on standard error when it ends" },
	{ .name = "idle-us",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .help = "with --doorbells poll: microseconds that the thread sleeps if it finds nothing",
	  .max = 1000000 },
	{ .name = NULL },
};

const struct bf_command bf_cmd_exec = {
	.name = "exec",
	.usage = "exec [options] -- COMMAND [ARGUMENT...]",
	.summary = "run an unmodified RDMA or CUDA program on device models",
	.details = "The program uses the installed libibverbs and libmlx5. Nothing is rebuilt, and neither RDMA in "
		   "the kernel nor root nor a device is needed. A library that is loaded into the program (and its "
		   "children) takes the place of the kernel and the device: mlx5_0, RoCE, one port. Processes on "
		   "this machine reach each other; with --udp also other machines and any other RoCEv2 peer.\n"
		   "\n"
		   "Programs that are statically linked, make system calls directly (Go without cgo) or are setuid "
		   "cannot run this way; a message says so. docs/exec.md lists what else the device refuses.\n"
		   "\n"
		   "Signals INT, TERM, HUP, QUIT, USR1, USR2, ALRM and CONT are passed on. With --json the "
		   "program's output goes to standard error.\n"
		   "\n"
		   "Exit code: the program's, or 128 + N if signal N ended it; 127: there is no such program; 77: "
		   "no library can be loaded into it; 2: bad options; 3: the program succeeded, but --lint found "
		   "something.\n"
		   "\n"
		   "Examples:\n"
		   "  belfry exec -- ibv_devinfo -v\n"
		   "  belfry exec --trace t.bft --lint -- ./my_program\n"
		   "  belfry launch -n 2 -- belfry exec --faults 'drop prob=0.01' -- ./my_program\n"
		   "  belfry exec --doorbells poll -- mpirun -n 2 ./my_mpi_program",
	.options = options,
	.min_args = 1,
	.max_args = 4096,
	.run = run_exec,
	.ranks = true,
};
