/*
 * What a process that dies leaves of its trace: killed, all but the last moment; by a signal that it catches, all. The
 * process is a child of this one, and dies after each number of records in turn.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "sim/sim.h"
#include "traces/container/keep.h"

#define STEP_PS (7 * BF_MS) /* between records; no divisor of the keeper's period */

static struct bf_trace_keeper keeper;

static void on_signal(int number)
{
	signal(number, SIG_DFL);
	bf_trace_rescue(&keeper);
	raise(number);
}

/* In the child: `n` records, one each STEP_PS, then the end by `number`. */
static void record_and_die(const char *path, const struct bf_trace_options *options, unsigned n, int number)
{
	struct bf_trace_writer *w;
	struct bf_sim *sim;

	if (bf_sim_create(1, &sim) || bf_trace_writer_open(path, NULL, options, &w, NULL) ||
	    bf_trace_meta(w, "seed", "7") || bf_stream_open(&sim->rec, &sim->now_ps, BF_CLASS_ALL, bf_trace_sink(w)))
		_exit(1);
	bf_trace_keep(&keeper, sim, w);
	for (unsigned i = 0; i < n; i++) {
		const struct bf_rec_fix_read read = { .iova = i, .len = i };
		const struct bf_rec_fix_packet packet = { .packet = i };
		static const uint8_t tail[300];
		uint32_t actor = i % 4 ? 0 : bf_stream_actor(&sim->rec, "queue", "sq");

		bf_sim_run(sim, i * STEP_PS);
		sim->now_ps = i * STEP_PS;
		if (i % 2)
			bf_record(&sim->rec, &bf_rec_fix_read_schema, actor, &read, NULL, 0);
		else
			bf_record(&sim->rec, &bf_rec_fix_packet_schema, actor, &packet, tail, sizeof(tail));
	}
	if (number != SIGKILL)
		signal(number, on_signal);
	raise(number);
	_exit(1);
}

/* What is in the file of a child that died by `number`: records, all as they were made; stretches of damage. */
static unsigned left(const struct bf_trace_options *options, unsigned n, int number, unsigned *damage)
{
	char path[] = "/tmp/belfry-keep-XXXXXX";
	const int fd = mkstemp(path);
	struct bf_trace_record rec;
	struct bf_trace *t;
	unsigned count = 0;
	int status, rc;
	pid_t pid;

	ck_assert_int_ge(fd, 0);
	close(fd);
	pid = fork();
	if (!pid)
		record_and_die(path, options, n, number);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == number);
	ck_assert_int_eq(bf_trace_open(path, NULL, &t, NULL), 0);
	*damage = 0;
	while ((rc = bf_trace_next(t, &rec)) != 0) {
		if (rc < 0) {
			++*damage;
			continue;
		}
		ck_assert_uint_eq(rec.time_ps, count * STEP_PS);
		ck_assert_str_eq(rec.type->name, count % 2 ? "fix_read" : "fix_packet");
		count++;
	}
	if (!*damage)
		ck_assert_str_eq(bf_trace_meta_get(t, "seed"), "7");
	bf_trace_close(t);
	unlink(path);
	return count;
}

/* Of 1024 bytes a chunk holds some records; the keeper writes every fifteenth or so. */
static const struct bf_trace_options small = { .chunk_bytes = 1024 };

START_TEST(a_killed_process_loses_the_last_moment)
{
	for (unsigned n = 0; n < 100; n++) {
		unsigned damage, count = left(_i ? &small : NULL, n, SIGKILL, &damage);
		const uint64_t last = n ? (n - 1) * STEP_PS : 0;

		ck_assert_uint_eq(damage, 1); /* it has no end, and says so */
		ck_assert_uint_le(count, n);
		/* Nothing is missing that is older than the keeper's period. */
		ck_assert_msg(count == n || count * STEP_PS + BF_TRACE_KEEP_PS >= last, "%u of %u records", count, n);
		ck_assert_msg(last < BF_TRACE_KEEP_PS || count, "nothing of %u records", n);
	}
}
END_TEST

START_TEST(a_process_that_catches_its_end_loses_nothing)
{
	static const int ends[] = { SIGSEGV, SIGABRT, SIGBUS, SIGTERM };

	for (unsigned n = 0; n < 100; n++) {
		unsigned damage, count = left(_i ? &small : NULL, n, ends[n % 4], &damage);

		ck_assert_uint_eq(damage, 0);
		ck_assert_uint_eq(count, n);
	}
}
END_TEST

/* Lines are not for a signal handler: the trace ends where it did, and nothing worse happens. */
START_TEST(lines_end_where_they_were_flushed)
{
	static const struct bf_trace_options lines = { .jsonl = true };
	unsigned damage, count;

	count = left(&lines, 50, SIGSEGV, &damage);
	ck_assert_uint_le(count, 50);
	ck_assert_uint_ge(count, 50 - 1 - (unsigned)(BF_TRACE_KEEP_PS / STEP_PS));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("keep");
	TCase *c = tcase_create("keep");
	tcase_add_loop_test(c, a_killed_process_loses_the_last_moment, 0, 2);
	tcase_add_loop_test(c, a_process_that_catches_its_end_loses_nothing, 0, 2);
	tcase_add_test(c, lines_end_where_they_were_flushed);
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
