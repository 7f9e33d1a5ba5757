/* Collective calls of PEs in one process: coroutines, threads, agents, and both spread over "processes" that are PEs.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/agents.h"
#include "drivers/bootstrap/bootstrap.h"
#include "sim/sim.h"

#define PES_MAX 16u

/* What a PE does wrong, in its second round. */
enum fault { GOOD, RETURNS_ERROR, ABORTS, ENDS_EARLY, OTHER_CALL, OTHER_SIZE, NO_EXCHANGE };

struct script {
	enum fault fault;
	uint32_t guilty;
	size_t bytes;
	int result[PES_MAX]; /* of the call that failed, 0: none did */
	uint32_t order[PES_MAX], started;
};

static uint8_t pattern(uint32_t from, uint32_t to, size_t i, uint32_t round)
{
	return (uint8_t)(from * 31 + to * 7 + i * 3 + i / 251 + round * 101);
}

/* `n` bytes that PE `from` sent to PE `to`. One assertion for all of them: each costs a system call. */
static void check_bytes(const uint8_t *p, size_t n, uint32_t from, uint32_t to, uint32_t round)
{
	size_t i = 0;

	while (i < n && p[i] == pattern(from, to, i, round))
		i++;
	ck_assert_msg(i == n, "byte %zu of %zu from %u to %u", i, n, from, to);
}

static int gather(struct bf_boot *b, size_t bytes, uint32_t round)
{
	uint8_t *in = malloc(bytes + 1), *out = malloc(bytes * b->npes + 1);
	int rc;

	for (size_t i = 0; i < bytes; i++)
		in[i] = pattern(b->pe, 0, i, round);
	out[bytes * b->npes] = 0x5a;
	rc = b->allgather(b, in, out, bytes);
	for (uint32_t from = 0; !rc && from < b->npes; from++)
		check_bytes(out + from * bytes, bytes, from, 0, round);
	ck_assert_uint_eq(out[bytes * b->npes], 0x5a);
	free(in);
	free(out);
	return rc;
}

static int transpose(struct bf_boot *b, size_t bytes, uint32_t round)
{
	uint8_t *in = malloc(bytes * b->npes + 1), *out = malloc(bytes * b->npes + 1);
	int rc;

	for (uint32_t to = 0; to < b->npes; to++)
		for (size_t i = 0; i < bytes; i++)
			in[to * bytes + i] = pattern(b->pe, to, i, round);
	out[bytes * b->npes] = 0x5a;
	rc = b->alltoall(b, in, out, bytes);
	for (uint32_t from = 0; !rc && from < b->npes; from++)
		check_bytes(out + from * bytes, bytes, from, b->pe, round);
	ck_assert_uint_eq(out[bytes * b->npes], 0x5a);
	free(in);
	free(out);
	return rc;
}

/* Messages of lengths that differ by sender and receiver, some of them empty. */
static int exchange(struct bf_boot *b, size_t bytes, uint32_t round)
{
	struct bf_boot_part out[PES_MAX];
	struct bf_boot_buf in[PES_MAX] = { 0 };
	int rc;

	for (uint32_t to = 0; to < b->npes; to++) {
		uint8_t *data = malloc(bytes + 1);
		const size_t n = (b->pe + to) % 3 ? bytes * (b->pe + 1) / b->npes : 0;

		for (size_t i = 0; i < n; i++)
			data[i] = pattern(b->pe, to, i, round);
		out[to] = (struct bf_boot_part){ data, n };
	}
	rc = bf_boot_exchange(b, out, in);
	for (uint32_t from = 0; !rc && from < b->npes; from++) {
		ck_assert_uint_eq(in[from].bytes, (from + b->pe) % 3 ? bytes * (from + 1) / b->npes : 0);
		check_bytes(in[from].data, in[from].bytes, from, b->pe, round);
	}
	for (uint32_t i = 0; i < b->npes; i++) {
		union {
			const void *from;
			void *to;
		} data = { .from = out[i].data };

		free(data.to);
		free(in[i].data);
	}
	return rc;
}

static int misbehave(struct bf_boot *b, const struct script *s)
{
	switch (s->fault) {
	case RETURNS_ERROR:
		return -EIO;
	case ABORTS:
		b->abort(b);
		ck_assert_int_eq(b->barrier(b), -ECONNRESET);
		return 0;
	case OTHER_CALL:
		return b->barrier(b);
	case OTHER_SIZE:
		return gather(b, s->bytes + 1, 1);
	case GOOD:
	case ENDS_EARLY:
	case NO_EXCHANGE:
	default:
		return 0;
	}
}

static int play(struct bf_boot *b, void *arg)
{
	struct script *s = arg;
	int rc = 0;

	if (s->fault == GOOD)
		s->order[__atomic_fetch_add(&s->started, 1, __ATOMIC_RELAXED) % PES_MAX] = b->pe;
	for (uint32_t round = 0; !rc && round < 3; round++) {
		if (round == 1 && s->fault != GOOD && s->fault != NO_EXCHANGE && b->pe == s->guilty)
			return misbehave(b, s);
		rc = gather(b, s->bytes, round);
		if (!rc)
			rc = transpose(b, s->bytes, round);
		if (!rc)
			rc = b->barrier(b);
		if (!rc && s->fault == NO_EXCHANGE && round == 1 && b->pe == s->guilty)
			rc = b->barrier(b);
		else if (!rc && (s->fault == GOOD || s->fault == NO_EXCHANGE))
			rc = exchange(b, s->bytes, round);
	}
	if (rc)
		s->result[b->pe] = rc;
	return rc;
}

/* ---- the kinds ---- */

typedef int run_fn(uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err);

struct nested {
	uint32_t npes;
	bf_boot_fn *fn;
	void *arg;
	struct bf_error err[PES_MAX];
};

/* Ranks of unequal parts. */
static int rank_main(struct bf_boot *ranks, void *arg)
{
	struct nested *n = arg;
	const uint32_t first = n->npes * ranks->pe / ranks->npes, end = n->npes * (ranks->pe + 1) / ranks->npes;

	return bf_boot_ranks_run(ranks, n->npes, first, end - first, n->fn, n->arg, &n->err[ranks->pe]);
}

static int run_in_ranks(run_fn *run, uint32_t ranks, uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err)
{
	struct nested n = { .npes = npes, .fn = fn, .arg = arg };
	struct bf_error outer = { 0 };
	int rc;

	if (ranks > npes)
		ranks = npes;
	rc = run(ranks, rank_main, &n, &outer);
	*err = n.err[0];
	for (uint32_t i = 1; rc && i < ranks; i++) /* all tell the same */
		ck_assert_str_eq(n.err[i].text, n.err[0].text);
	return rc;
}

/* Coroutines of coroutines, but for TSan, whose fibers do not nest. */
static int run_3_ranks(uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err)
{
#ifdef __SANITIZE_THREAD__
	return run_in_ranks(bf_boot_threads_run, 3, npes, fn, arg, err);
#else
	return run_in_ranks(bf_boot_local_run, 3, npes, fn, arg, err);
#endif
}

static int run_4_threads_as_ranks(uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err)
{
	return run_in_ranks(bf_boot_threads_run, 4, npes, fn, arg, err);
}

struct agent_arg {
	struct bf_boot_agents *g;
	struct script *s;
	uint32_t pe;
	uint64_t end_ps;
	int rc;
};

static void agent_main(struct bf_agent *self, void *arg)
{
	struct agent_arg *a = arg;
	struct bf_boot *b = bf_boot_agents_join(a->g, a->pe, self);

	bf_agent_delay(self, (a->pe * 7 % 5) * BF_US); /* they come in no order of theirs */
	a->rc = play(b, a->s);
	if (a->rc || a->s->fault == ENDS_EARLY)
		b->abort(b);
	a->end_ps = bf_agent_now(self);
}

static int run_agents(uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err)
{
	struct agent_arg a[PES_MAX];
	struct bf_boot_agents *g;
	struct bf_sim *sim;
	uint64_t hash[2];
	int rc = 0;

	(void)fn;
	for (int turn = 0; turn < 2; turn++) { /* the same twice */
		ck_assert_int_eq(bf_sim_create(1, &sim), 0);
		ck_assert_int_eq(bf_stream_open(&sim->rec, &sim->now_ps, BF_CLASS_ALL, NULL), 0);
		ck_assert_int_eq(bf_boot_agents_create(sim, npes, NULL, err, &g), 0);
		for (uint32_t i = 0; i < npes; i++) {
			const struct bf_agent_opts o = { .name = "pe", .main = agent_main, .arg = &a[i] };

			a[i] = (struct agent_arg){ .g = g, .s = arg, .pe = i };
			ck_assert_int_eq(bf_agent_create(sim, &o, NULL), 0);
		}
		ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
		hash[turn] = bf_stream_hash(&sim->rec);
		for (uint32_t i = 0; i < npes; i++)
			if (a[i].rc && (!rc || rc == -ECONNRESET))
				rc = a[i].rc;
		bf_boot_agents_destroy(g);
		bf_sim_destroy(sim);
	}
	ck_assert_uint_eq(hash[0], hash[1]);
	return rc;
}

static const struct {
	const char *name;
	run_fn *run;
} kinds[] = {
	{ "local", bf_boot_local_run },
	{ "threads", bf_boot_threads_run },
	{ "agents", run_agents },
	{ "3 ranks", run_3_ranks },
	{ "4 threads as ranks", run_4_threads_as_ranks },
};

#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

START_TEST(all_calls_move_all_bytes)
{
	static const size_t sizes[] = { 0, 1, 8, 1000, BELFRY_WIDE ? 300001 : 70001 };
	static const uint32_t npes[] = { 1, 2, 5, 16 };

	for (size_t n = 0; n < sizeof(npes) / sizeof(npes[0]); n++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct script s = { .bytes = sizes[i] };
			struct bf_error err = { 0 };

			if (npes[n] == 16 && sizes[i] > 1000)
				continue;
			ck_assert_msg(!kinds[_i].run(npes[n], play, &s, &err), "%s: %s", kinds[_i].name, err.text);
		}
}
END_TEST

/* Nobody hangs, everybody else hears of it, and the guilty one's failure is the outcome. */
START_TEST(failures_are_told_to_all)
{
	for (uint32_t guilty = 0; guilty < 5; guilty += 2)
		for (enum fault f = RETURNS_ERROR; f <= NO_EXCHANGE; f++) {
			struct script s = { .fault = f, .guilty = guilty, .bytes = 24 };
			struct bf_error err = { 0 };
			const int rc = kinds[_i].run(5, play, &s, &err);
			const int want = f == RETURNS_ERROR                   ? -EIO
					 : f == OTHER_CALL || f >= OTHER_SIZE ? -EPROTO
									      : -ECONNRESET;

			ck_assert_msg(rc == want, "%s, fault %d: %d, not %d: %s", kinds[_i].name, (int)f, rc, want,
				      err.text);
			for (uint32_t pe = 0; pe < 5; pe++)
				if (pe != guilty)
					ck_assert_msg(s.result[pe] == (want == -EPROTO ? want : -ECONNRESET) ||
							  s.result[pe] == -ECONNRESET,
						      "%s, fault %d: PE %u got %d", kinds[_i].name, (int)f, pe,
						      s.result[pe]);
		}
}
END_TEST

START_TEST(texts_name_who_is_gone)
{
	struct script s = { .fault = ENDS_EARLY, .guilty = 3, .bytes = 8 };
	struct bf_error err = { 0 };

	ck_assert_int_eq(bf_boot_local_run(5, play, &s, &err), -ECONNRESET);
	ck_assert_str_eq(err.text, "PE 3 ended before the others");
	s.fault = ABORTS;
	ck_assert_int_eq(bf_boot_threads_run(5, play, &s, &err), -ECONNRESET);
	ck_assert_str_eq(err.text, "PE 3 gave up");
	s.fault = OTHER_SIZE;
	ck_assert_int_eq(run_3_ranks(5, play, &s, &err), -EPROTO);
	ck_assert_ptr_nonnull(
	    strstr(err.text, "PE 3 calls allgather of 9 bytes while PE 4 calls allgather of 8 bytes"));
}
END_TEST

START_TEST(local_pes_run_in_order)
{
	struct script s = { .bytes = 8 };
	struct bf_error err = { 0 };

	ck_assert_int_eq(bf_boot_local_run(PES_MAX, play, &s, &err), 0);
	for (uint32_t i = 0; i < PES_MAX; i++)
		ck_assert_uint_eq(s.order[i], i);
}
END_TEST

static int only_barrier(struct bf_boot *b, void *arg)
{
	(void)arg;
	return b->barrier(b);
}

START_TEST(bad_numbers_are_refused)
{
	struct bf_error err = { 0 };

	ck_assert_int_eq(bf_boot_local_run(0, only_barrier, NULL, &err), -EINVAL);
	ck_assert_int_eq(bf_boot_threads_run(0, only_barrier, NULL, &err), -EINVAL);
	ck_assert_int_eq(bf_boot_ranks_run(NULL, 4, 0, 2, only_barrier, NULL, &err), -EINVAL);
	ck_assert_int_eq(bf_boot_ranks_run(NULL, 4, 3, 4, only_barrier, NULL, &err), -EINVAL);
}
END_TEST

struct parts {
	uint32_t first[2], count[2];
};

/* Parts that overlap, leave PEs out or are empty. */
static int rank_with_bad_parts(struct bf_boot *ranks, void *arg)
{
	const struct parts *p = arg;
	struct bf_error err = { 0 };
	const int rc = bf_boot_ranks_run(ranks, 4, p->first[ranks->pe], p->count[ranks->pe], only_barrier, NULL, &err);

	ck_assert_int_eq(rc, -EPROTO);
	return 0;
}

START_TEST(parts_must_fit_together)
{
	struct parts bad[] = {
		{ { 0, 3 }, { 2, 1 } }, { { 0, 1 }, { 2, 3 } }, { { 0, 2 }, { 2, 1 } }, { { 0, 4 }, { 4, 0 } }
	};
	struct bf_error err = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!bf_boot_local_run(2, rank_with_bad_parts, &bad[i], &err), "%s", err.text);
}
END_TEST

/* ---- agents: time ---- */

struct timed {
	struct bf_boot_agents *g;
	uint64_t start_ps, end_ps[2];
	uint32_t pe;
};

static void timed_main(struct bf_agent *self, void *arg)
{
	struct timed *t = arg;
	struct bf_boot *b = bf_boot_agents_join(t->g, t->pe, self);
	uint64_t all[8];

	bf_agent_delay(self, t->start_ps);
	ck_assert_int_eq(b->allgather(b, &t->start_ps, all, sizeof(t->start_ps)), 0);
	t->end_ps[0] = bf_agent_now(self);
	ck_assert_int_eq(b->barrier(b), 0);
	t->end_ps[1] = bf_agent_now(self);
}

START_TEST(agents_pay_from_the_last_arrival)
{
	static const struct bf_boot_cost cost = { .step_ps = BF_US, .ps_per_kib = 1024 * 10 };
	struct timed t[8];
	struct bf_boot_agents *g;
	struct bf_error err;
	struct bf_sim *sim;

	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	ck_assert_int_eq(bf_boot_agents_create(sim, 8, &cost, &err, &g), 0);
	for (uint32_t i = 0; i < 8; i++) {
		const struct bf_agent_opts o = { .name = "pe", .main = timed_main, .arg = &t[i] };

		t[i] = (struct timed){ .g = g, .pe = i, .start_ps = (i * 5 % 8) * 100 * BF_NS };
		ck_assert_int_eq(bf_agent_create(sim, &o, NULL), 0);
	}
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	for (uint32_t i = 0; i < 8; i++) {
		/* Three steps, and 8 bytes of each of 8 PEs at 10 ps. */
		ck_assert_uint_eq(t[i].end_ps[0], 700 * BF_NS + 3 * BF_US + 640);
		ck_assert_uint_eq(t[i].end_ps[1], t[i].end_ps[0] + 3 * BF_US);
	}
	bf_boot_agents_destroy(g);
	bf_sim_destroy(sim);
}
END_TEST

/* Of each process one PE is given what is gathered, and the others look at it. */
struct shared {
	uint8_t *all[PES_MAX]; /* by the first PE of a process */
	uint32_t processes;
};

static int gather_once(struct bf_boot *b, void *arg)
{
	struct shared *s = arg;
	uint32_t first = 0;
	uint8_t in[100];
	int rc = 0;

	for (uint32_t k = 0; k < s->processes; k++)
		if (b->npes * k / s->processes <= b->pe)
			first = b->npes * k / s->processes;
	for (uint32_t round = 0; !rc && round < 3; round++) {
		for (size_t i = 0; i < sizeof(in); i++)
			in[i] = pattern(b->pe, 0, i, round);
		rc = b->allgather(b, in, b->pe == first ? s->all[first] : NULL, sizeof(in));
		for (uint32_t from = 0; !rc && from < b->npes; from++)
			check_bytes(s->all[first] + from * sizeof(in), sizeof(in), from, 0, round);
		if (!rc)
			rc = b->barrier(b); /* all have looked */
	}
	return rc;
}

START_TEST(one_of_a_process_gathers)
{
	static const struct {
		run_fn *run;
		uint32_t processes;
	} runs[] = {
		{ bf_boot_local_run, 1 },
		{ bf_boot_threads_run, 1 },
		{ run_3_ranks, 3 },
		{ run_4_threads_as_ranks, 4 },
	};
	struct shared s = { .processes = runs[_i].processes };
	struct bf_error err = { 0 };

	for (uint32_t pe = 0; pe < 10; pe++)
		s.all[pe] = malloc(10 * 100);
	ck_assert_msg(!runs[_i].run(10, gather_once, &s, &err), "%s", err.text);
	for (uint32_t pe = 0; pe < 10; pe++)
		free(s.all[pe]);
}
END_TEST

/* ---- finding others ---- */

START_TEST(nobody_else_is_no_error)
{
	struct bf_error err = { 0 };
	struct bf_boot *b = (struct bf_boot *)&err;

	unsetenv("BELFRY_BOOT");
	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("PMIX_RANK");
	unsetenv("PMI_RANK");
	ck_assert_int_eq(bf_boot_env_open("auto", &err, &b), 0);
	ck_assert_ptr_null(b);
	ck_assert_int_eq(bf_boot_env_open("none", &err, &b), 0);
	ck_assert_ptr_null(b);
	ck_assert_int_eq(bf_boot_env_open("socket", &err, &b), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "BELFRY_RANK"));
	ck_assert_int_eq(bf_boot_env_open("pigeon", &err, &b), -EINVAL);
	setenv("BELFRY_BOOT", "unix:/tmp", 1);
	setenv("BELFRY_RANK", "x", 1);
	setenv("BELFRY_RANKS", "2", 1);
	ck_assert_int_eq(bf_boot_env_open("auto", &err, &b), -EINVAL);
	ck_assert_int_eq(bf_boot_env_open("none", &err, &b), 0);
	bf_boot_close(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("boot");
	TCase *t = tcase_create("boot");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, all_calls_move_all_bytes, 0, KINDS);
	tcase_add_loop_test(t, failures_are_told_to_all, 0, KINDS);
	tcase_add_test(t, texts_name_who_is_gone);
	tcase_add_test(t, local_pes_run_in_order);
	tcase_add_test(t, bad_numbers_are_refused);
	tcase_add_test(t, parts_must_fit_together);
	tcase_add_loop_test(t, one_of_a_process_gathers, 0, 4);
	tcase_add_test(t, agents_pay_from_the_last_arrival);
	tcase_add_test(t, nobody_else_is_no_error);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
