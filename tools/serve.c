#include "tools/serve.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "sim/fault.h"
#include "tools/counts.h"
#include "tools/input.h"
#include "tools/top.h"
#include "tools/workload.h"

/* Without a spin the loop sleeps as soon as it finds nothing to do; its least time to look for work is this. */
#define NO_SPIN_US 1u

/* Building the machine ------------------------------------------------------------------------------------------- */

static void command_of(const struct bf_serve *s, char *text, size_t size)
{
	snprintf(text, size, "belfry serve %s", s->device->name);
}

static int open_trace(struct bf_serve *s)
{
	const char *path = bf_arg_text(s->args, "trace");
	char command[40];
	uint32_t mask;
	int rc;

	if (!path)
		return 0;
	rc = bf_records_parse(bf_arg_text(s->args, "records"), &mask, &s->sim->error);
	if (!rc) {
		const struct bf_trace_options opts = { .jsonl = bf_input_is_jsonl(path) };

		rc = bf_trace_create(path, NULL, &opts, &s->trace, &s->trace_err);
		if (rc)
			return bf_fail(&s->sim->error, rc, "%s", s->trace_err.text);
		command_of(s, command, sizeof(command));
		bf_trace_meta(s->trace, "command", command);
		rc = bf_stream_open(&s->sim->rec, &s->sim->now_ps, mask, bf_trace_sink(s->trace));
	}
	return rc;
}

static int parse_plan(struct bf_serve *s)
{
	const char *option = bf_arg_text(s->args, "faults");
	char *text;
	int rc;

	if (!option)
		return 0;
	rc = bf_faults_text(option, &text, &s->sim->error);
	if (rc)
		return rc;
	rc = bf_fault_plan_parse(text, s->sim->seed, &s->sim->error, &s->plan);
	free(text);
	s->sim->faults = s->plan;
	return rc;
}

static void log_line(void *arg, const char *text)
{
	struct bf_serve *s = arg;

	if (bf_arg_flag(s->args, "verbose"))
		fprintf(stderr, "belfry serve: %s\n", text);
}

/* A machine that goes takes the power with it: the next client finds a device that has just been switched on. */
static void client_ended(void *arg)
{
	struct bf_serve *s = arg;

	s->device->power_cycle(s);
	bf_pci_reset(s->fn, BF_PCI_RESET_CONVENTIONAL);
	if (bf_arg_flag(s->args, "once"))
		bf_live_stop(s->live);
}

static int open_server(struct bf_serve *s)
{
	const struct bf_vfio_user_opts opts = {
		.fn = s->fn,
		.ioas = &s->ioas,
		.live = s->live,
		.window = s->window,
		.log = log_line,
		.ended = client_ended,
		.arg = s,
	};
	int rc = bf_vfio_user_create(s->sim, &opts, &s->server);

	return rc ? rc : bf_vfio_user_listen(s->server, bf_arg_text(s->args, "socket"));
}

/* Running -------------------------------------------------------------------------------------------------------- */

static void on_signal(void *arg, int fd)
{
	struct bf_serve *s = arg;
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		bf_live_stop(s->live);
}

/* Before anything starts a thread: threads inherit the mask, and only the loop is to hear of these signals. */
static int catch_signals(struct bf_serve *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return bf_fail(&s->sim->error, -errno, "signals: %s", strerror(errno));
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0)
		return bf_fail(&s->sim->error, -errno, "signals: %s", strerror(errno));
	return bf_live_add_fd(s->live, s->signals, on_signal, s);
}

static int build(struct bf_serve *s)
{
	int rc = open_trace(s);

	rc = rc ? rc : parse_plan(s);
	rc = rc ? rc : bf_live_create(s->sim, &s->live);
	rc = rc ? rc : catch_signals(s);
	rc = rc ? rc : bf_space_init(&s->space, s->sim, "device", 0);
	rc = rc ? rc : bf_ioas_init(&s->ioas, s->sim, "guest", BF_PAGE);
	rc = rc ? rc : s->device->build(s);
	return rc ? rc : open_server(s);
}

/*
 * Do not take the processor from the guest that has just rung: it goes on to submit, and what it submits is taken in
 * one go. With as many processors as threads nothing changes; with fewer, deep queues gain a quarter. Not having it is
 * no error.
 */
static void be_patient(void)
{
	const struct sched_param param = { 0 };

	(void)sched_setscheduler(0, SCHED_BATCH, &param);
}

static uint32_t spin_us(const struct bf_serve *s)
{
	const uint64_t asked = bf_arg_u64(s->args, "spin") / BF_US;

	if (s->spin_us && !bf_arg_given(s->args, "spin"))
		return s->spin_us;
	return asked ? (uint32_t)asked : NO_SPIN_US;
}

static void tear_down(struct bf_serve *s)
{
	bf_vfio_user_destroy(s->server);
	s->device->tear_down(s);
	bf_pci_destroy(s->fn);
	bf_ioas_fini(&s->ioas);
	bf_space_fini(&s->space);
	bf_live_destroy(s->live);
	if (s->signals >= 0)
		close(s->signals);
}

static void report(const struct bf_serve *s, const struct bf_counts *counts)
{
	const bool stats = bf_arg_flag(s->args, "stats");
	struct bf_json j;

	if (!counts)
		return;
	if (!bf_arg_json(s->args)) {
		if (s->device->report)
			s->device->report(s, NULL);
		bf_counts_print_faults(stdout, counts);
		if (stats)
			bf_counts_print_stats(stdout, counts);
		return;
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "device", s->device->name);
	bf_json_text(&j, "socket", bf_arg_text(s->args, "socket"));
	if (s->device->report)
		s->device->report(s, &j);
	bf_counts_json_faults(&j, counts);
	bf_counts_json_stats(&j, counts);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

/* Whoever starts us waits for this line; with --json standard output is one document at the end. */
static void say_ready(const struct bf_serve *s)
{
	FILE *out = bf_arg_json(s->args) ? stderr : stdout;

	fprintf(out, "listening on %s\n", bf_arg_text(s->args, "socket"));
	fflush(out);
}

static int serve(struct bf_serve *s)
{
	struct bf_counts *counts = NULL;
	char command[40];
	int rc = build(s), trace_rc = 0;

	command_of(s, command, sizeof(command));
	if (!rc) {
		struct bf_top *top;

		be_patient();
		say_ready(s);
		top = bf_arg_flag(s->args, "top") ? bf_top_start(s->sim, command) : NULL;
		rc = bf_live_run(s->live, spin_us(s));
		bf_top_stop(top);
	}
	tear_down(s);
	if (!rc)
		counts = bf_counts_take(s->sim); /* with what the devices left */
	if (s->trace) {
		bf_stream_close(&s->sim->rec);
		trace_rc = bf_trace_close(s->trace);
	}
	if (!rc && !trace_rc)
		report(s, counts);
	bf_counts_free(counts);
	if (trace_rc)
		return bf_cli_error(s->args, BF_EXIT_USAGE, "%s", s->trace_err.text);
	if (rc)
		return bf_cli_error(s->args, rc == -ENOTSUP ? BF_EXIT_UNAVAILABLE : BF_EXIT_USAGE, "%s",
				    s->sim->error.text);
	return BF_EXIT_GOOD;
}

int bf_serve_run(const struct bf_args *args, const struct bf_serve_device *device)
{
	struct bf_serve s = { .args = args, .device = device, .signals = -1 };
	int code;

	if (!bf_arg_text(args, "socket"))
		return bf_cli_error(args, BF_EXIT_USAGE, "--socket PATH is needed");
	s.state = calloc(1, device->size);
	if (!s.state || bf_sim_create(1, &s.sim)) {
		free(s.state);
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	}
	code = serve(&s);
	s.sim->faults = NULL;
	bf_fault_plan_destroy(s.plan);
	bf_sim_destroy(s.sim);
	free(s.state);
	return code;
}
