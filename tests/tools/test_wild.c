/* Threads that crash: the run ends with an error that names them, and the process goes on. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/mem.h"
#include "sim/sanitizers.h"
#include "sim/sim.h"
#include "sim/view.h"
#include "tools/workloads/wild.c"

struct world {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_region *ring, *registers;
	volatile uint32_t *at; /* what is touched; NULL with `divides`: nothing */
	volatile int one, zero;
	bool divides;
	int behind; /* how many came past it */
};

static void touches(struct bf_agent *a, void *arg)
{
	struct world *w = arg;

	(void)a;
	if (w->divides)
		w->zero = w->one / w->zero;
	else
		*w->at = 1;
	w->behind++;
}

static void waits(struct bf_agent *a, void *arg)
{
	struct world *w = arg;

	bf_agent_delay(a, BF_US);
	w->behind++;
}

static const struct bf_mmio_ops no_ops;

static void begin(struct world *w, bf_agent_fn *fn)
{
	const struct bf_region_opts ring = { .name = "ring", .kind = BF_MEM_DRAM, .size = 4096 }, registers = {
		.name = "doorbells", .kind = BF_MEM_MMIO, .size = 4096, .mmio = &no_ops
	};
	struct bf_view *view;

	*w = (struct world){ 0 };
	ck_assert_int_eq(bf_sim_create(1, &w->sim), 0);
	ck_assert_int_eq(bf_space_init(&w->space, w->sim, "pe0", 0), 0);
	ck_assert_int_eq(bf_region_create(&w->space, &ring, &w->ring), 0);
	ck_assert_int_eq(bf_region_create(&w->space, &registers, &w->registers), 0);
	ck_assert_int_eq(
	    bf_view_create(w->sim, &(struct bf_view_opts){ .cost = &bf_cost_zero, .space = &w->space, .name = "v" },
			   &view),
	    0);
	ck_assert_int_eq(
	    bf_agent_create(
		w->sim, &(struct bf_agent_opts){ .name = "pe0.b0.w0.l0", .main = fn, .arg = w, .view = view }, NULL),
	    0);
	ck_assert_int_eq(
	    bf_agent_create(
		w->sim, &(struct bf_agent_opts){ .name = "pe0.b0.w1.l0", .main = waits, .arg = w, .view = view }, NULL),
	    0);
	bf_wild_watch();
}

static void ends(struct world *w, const char *text)
{
	ck_assert_int_eq(bf_sim_run(w->sim, BF_NEVER), BF_RUN_STOPPED);
	bf_wild_forget();
	ck_assert_int_eq(w->sim->error.code, -EFAULT);
	ck_assert_msg(strstr(w->sim->error.text, text) != NULL, "\"%s\" is not in: %s", text, w->sim->error.text);
	ck_assert_int_eq(w->behind, 0);
	bf_sim_destroy(w->sim);
}

START_TEST(an_address_where_nothing_lies)
{
	struct world w;

	begin(&w, touches);
	w.at = _i == 0   ? (uint32_t *)0x18
	       : _i == 1 ? (uint32_t *)(void *)(w.ring->bytes + 4096 + 64)
			 : (uint32_t *)(void *)w.registers->bytes;
	ends(&w, _i == 0   ? "agent 'pe0.b0.w0.l0': access to 1 bytes at 0x18: it comes from a pointer that is 0"
		 : _i == 1 ? "64 beyond the end of ring (4096 bytes)"
			   : "are device registers, not memory");
}
END_TEST

START_TEST(a_division_by_zero)
{
	struct world w;

	begin(&w, touches);
	w.divides = true;
	w.one = 1;
	ends(&w, "agent 'pe0.b0.w0.l0': a division by zero");
}
END_TEST

static void goes_on(struct bf_agent *a, void *arg)
{
	struct world *w = arg;

	while (bf_agent_now(a) < BF_S) {
		bf_agent_delay(a, BF_US);
		if (++w->behind == 100)
			raise(SIGINT);
	}
}

/* Who asks for the end of a run gets one that has run into its time limit. */
START_TEST(a_run_is_interrupted)
{
	struct world w;

	begin(&w, goes_on);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_LIMIT);
	ck_assert(bf_wild_asked());
	bf_wild_forget();
	ck_assert_int_eq(w.sim->error.code, 0);
	ck_assert_int_le(w.behind, 102);
	bf_sim_destroy(w.sim);
}
END_TEST

static int host_code(void *arg)
{
	struct world *w = arg;

	if (w->at)
		*w->at = 1;
	return 7;
}

/* Host code crashes (0), or does not (1). */
START_TEST(host_code_crashes)
{
	struct world w = { .at = _i ? NULL : (uint32_t *)0x18 };
	struct bf_error err = { 0 };
	bool crashed;

	bf_wild_watch();
	ck_assert_int_eq(bf_wild_guard(host_code, &w, &crashed, &err), _i ? 7 : -EFAULT);
	bf_wild_forget();
	ck_assert_int_eq(crashed, !_i);
	ck_assert_int_eq(err.code, _i ? 0 : -EFAULT);
	ck_assert(_i || strstr(err.text, "code of the host") != NULL);
}
END_TEST

/* Nothing of the handlers is left, and what goes well goes well. */
START_TEST(nothing_is_wrong)
{
	struct world w;

	begin(&w, touches);
	w.at = (uint32_t *)(void *)w.ring->bytes;
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_IDLE);
	bf_wild_forget();
	ck_assert_int_eq(w.behind, 2);
	bf_sim_destroy(w.sim);
}
END_TEST

int main(void)
{
	Suite *s;
	TCase *t;
	SRunner *sr;
	int failed;

	if (BF_ASAN || BF_TSAN) {
		puts("a sanitizer has handlers of its own");
		return 77;
	}
	s = suite_create("wild");
	t = tcase_create("wild");
	tcase_add_loop_test(t, an_address_where_nothing_lies, 0, 3);
#if defined(__x86_64__)
	tcase_add_test(t, a_division_by_zero); /* on others it gives 0 */
#endif
	tcase_add_test(t, a_run_is_interrupted);
	tcase_add_loop_test(t, host_code_crashes, 0, 2);
	tcase_add_test(t, nothing_is_wrong);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
