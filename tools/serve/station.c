#include "tools/serve/station.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "sim/fault.h"
#include "tools/report/counts.h"
#include "tools/cli/input.h"
#include "tools/report/top.h"
#include "tools/serve/crash.h"
#include "tools/workloads/choice.h"

/* Without a spin the loop sleeps as soon as it finds nothing to do; its least time to look for work is this. */
#define NO_SPIN_US 1u

static int open_trace(struct bf_station *s)
{
	const char *path = bf_arg_text(s->args, "trace");
	uint32_t mask;
	int rc;

	if (!path)
		return 0;
	rc = bf_records_parse(bf_arg_text(s->args, "records"), &mask, &s->sim->error);
	if (!rc) {
		const struct bf_trace_options opts = { .jsonl = bf_input_is_jsonl(path) };

		rc = bf_trace_writer_open(path, NULL, &opts, &s->trace, &s->trace_err);
		if (rc)
			return bf_fail(&s->sim->error, rc, "%s", s->trace_err.text);
		bf_trace_meta(s->trace, "command", s->command);
		rc = bf_stream_open(&s->sim->rec, &s->sim->now_ps, mask, bf_trace_sink(s->trace));
		if (!rc)
			bf_trace_keep(&s->keeper, s->sim, s->trace);
	}
	return rc;
}

static int parse_plan(struct bf_station *s)
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

static void on_signal(void *arg, int fd)
{
	struct bf_station *s = arg;
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		bf_live_stop(s->live);
}

/* Before anything starts a thread: threads inherit the mask, and only the loop is to hear of these signals. */
static int catch_signals(struct bf_station *s)
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

int bf_station_open(struct bf_station *s)
{
	int rc = open_trace(s);

	if (!rc) {
		rc = bf_crash_watch(&s->keeper);
		if (rc)
			bf_fail(&s->sim->error, rc, "signals: %s", strerror(-rc));
	}
	rc = rc ? rc : parse_plan(s);
	rc = rc ? rc : bf_live_create(s->sim, &s->live);
	return rc ? rc : catch_signals(s);
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

/* Whoever starts us waits for this line; with --json standard output is one document at the end. */
int bf_station_run(struct bf_station *s, const char *ready, uint32_t spin_us)
{
	const uint64_t asked = bf_arg_u64(s->args, "spin") / BF_US;
	FILE *out = bf_arg_json(s->args) ? stderr : stdout;
	struct bf_top *top;
	int rc;

	if (!spin_us || bf_arg_given(s->args, "spin"))
		spin_us = asked ? (uint32_t)asked : NO_SPIN_US;
	be_patient();
	fprintf(out, "%s\n", ready);
	fflush(out);
	top = bf_arg_flag(s->args, "top") ? bf_top_start(s->sim, s->command) : NULL;
	rc = bf_live_run(s->live, spin_us);
	bf_top_stop(top);
	return rc;
}

static void report(const struct bf_station *s, const struct bf_counts *counts,
		   void (*more)(const void *arg, struct bf_json *j), const void *arg)
{
	struct bf_json j;

	if (!counts)
		return;
	if (!bf_arg_json(s->args)) {
		bf_counts_print_faults(stdout, counts);
		if (bf_arg_flag(s->args, "stats"))
			bf_counts_print_stats(stdout, counts);
		return;
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	more(arg, &j);
	bf_counts_json_faults(&j, counts);
	bf_counts_json_stats(&j, counts);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

int bf_station_close(struct bf_station *s, int rc, void (*more)(const void *arg, struct bf_json *j), const void *arg)
{
	struct bf_counts *counts = NULL;
	int trace_rc = 0, code = BF_EXIT_GOOD;

	bf_crash_forget();
	bf_live_destroy(s->live);
	if (s->signals > 0)
		close(s->signals);
	if (!rc)
		counts = bf_counts_take(s->sim); /* with what the devices left */
	if (s->trace) {
		bf_trace_keep_stop(&s->keeper);
		bf_stream_close(&s->sim->rec);
		trace_rc = bf_trace_writer_close(s->trace);
	}
	if (!rc && !trace_rc)
		report(s, counts, more, arg);
	bf_counts_free(counts);
	if (trace_rc)
		code = bf_cli_error(s->args, BF_EXIT_USAGE, "%s", s->trace_err.text);
	else if (rc)
		code = bf_cli_error(s->args, rc == -ENOTSUP ? BF_EXIT_UNAVAILABLE : BF_EXIT_USAGE, "%s",
				    s->sim->error.text);
	s->sim->faults = NULL;
	bf_fault_plan_destroy(s->plan);
	bf_sim_destroy(s->sim);
	return code;
}
