/* What agents cost the machine that simulates: switches, syncs, sleeps, shuffles, stores. Records are off. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "drivers/platform/platform_sim.h"

#include "sim/agent.h"
#include "sim/coro.h"
#include "sim/mem.h"
#include "sim/sanitizers.h"
#include "sim/sim.h"
#include "sim/team.h"
#include "sim/view.h"
#include "tests/bench/limit.h"

#define ROUNDS 2000000u
#define ACTED 1000000u /* meetings in which one acts for others: so many that 32 new stacks do not count */
#define REPEATS 5

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The smallest of several runs of `fn`, for one of its `n` operations. */
static double best(double (*fn)(void), double n)
{
	double b = 1e30;

	for (int i = 0; i < REPEATS; i++) {
		const double t = fn();

		b = t < b ? t : b;
	}
	return b / n;
}

static struct bf_coro *coro;

static void leave_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		bf_coro_leave(coro);
}

static double coro_switches(void)
{
	double t;

	if (bf_coro_create(&coro, leave_for_ever, NULL, 65536))
		exit(1);
	t = now_ns();
	for (unsigned i = 0; i < ROUNDS; i++)
		bf_coro_enter(coro);
	t = now_ns() - t;
	bf_coro_destroy(coro);
	return t;
}

static ucontext_t inside, outside;

static void swap_for_ever(void)
{
	for (;;)
		swapcontext(&inside, &outside);
}

static double ucontext_switches(void)
{
	static char stack[65536];
	double t;

	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	makecontext(&inside, swap_for_ever, 0);
	t = now_ns();
	for (unsigned i = 0; i < ROUNDS; i++)
		swapcontext(&outside, &inside);
	return now_ns() - t;
}

/* A simulation in which `agents` agents run `fn`, timed from start to end. */
struct rig {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_region *mem;
	struct bf_view *view;
	struct bf_team *team;
	double ns;
};

struct lane {
	struct rig *rig;
	uint32_t id;
};

static double simulate(uint32_t agents, bf_agent_fn *fn, enum bf_ordering ordering)
{
	struct rig r = { 0 };
	struct lane lane[64];
	struct bf_view_opts vo = { .cost = &bf_cost_gpu, .space = &r.space, .ordering = ordering, .name = "v" };
	const struct bf_region_opts ro = { .name = "mem", .kind = BF_MEM_VRAM, .size = 65536 };
	double t;

	if (bf_sim_create(1, &r.sim) || bf_space_init(&r.space, r.sim, "pe0", 0) ||
	    bf_region_create(&r.space, &ro, &r.mem) || bf_view_create(r.sim, &vo, &r.view) ||
	    bf_team_create(r.sim, 32, "warp", &r.team))
		exit(1);
	for (uint32_t i = 0; i < agents; i++) {
		struct bf_agent_opts o = { .name = "a", .main = fn, .arg = &lane[i], .view = r.view };

		lane[i] = (struct lane){ &r, i };
		if (bf_agent_create(r.sim, &o, NULL))
			exit(1);
	}
	t = now_ns();
	if (bf_sim_run(r.sim, BF_NEVER) != BF_RUN_IDLE)
		exit(1);
	t = now_ns() - t;
	bf_team_destroy(r.team);
	bf_view_destroy(r.view);
	bf_space_fini(&r.space);
	bf_sim_destroy(r.sim);
	return r.ns > 0 ? r.ns : t;
}

static void sync_only(struct bf_agent *a, void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < ROUNDS; i++)
		bf_agent_delay(a, 1000);
}

static double syncs_alone(void)
{
	return simulate(1, sync_only, BF_ORDER_SC);
}

static double syncs_in_turns(void)
{
	return simulate(2, sync_only, BF_ORDER_SC);
}

static void ping_pong(struct bf_agent *a, void *arg)
{
	const struct lane *l = arg;
	const void *line = l->rig->mem->bytes;

	for (uint64_t i = 0; i < ROUNDS / 4; i++) {
		uint64_t v;

		for (;;) {
			bf_load(a, line, &v, 8, BF_ACQUIRE, BF_SCOPE_GPU);
			if (v % 2 == l->id)
				break;
			bf_agent_wait(a, &line, 1, BF_NEVER, 1000, "its turn");
		}
		v++;
		bf_store(a, l->rig->mem->bytes, &v, 8, BF_RELEASE, BF_SCOPE_GPU);
	}
}

static double waits(void)
{
	return simulate(2, ping_pong, BF_ORDER_SC);
}

static void shuffle(struct bf_agent *a, void *arg)
{
	const struct lane *l = arg;
	uint64_t v = l->id;

	for (unsigned i = 0; i < 20000; i++)
		v += bf_team_shuffle(l->rig->team, a, l->id, 0xffffffff, v, i % 32);
}

static double shuffles(void)
{
	return simulate(32, shuffle, BF_ORDER_SC);
}

/* The same by a warp that goes on together, of which one lane acts for all (bf_lead()). */
static void shuffle_led(struct bf_agent *a, void *arg)
{
	static struct bf_sim_warp warp;
	const struct lane *l = arg;
	struct bf_thread t = { .agent = a, .team = &warp, .lane = l->id };
	uint32_t done = 0;

	warp.team = l->rig->team;
	if (bf_lead(&t, BF_FULL_WARP, &done) != BF_LEADS)
		return;
	for (unsigned i = 0; i < ACTED; i++)
		done += (uint32_t)bf_shfl64(&t, BF_FULL_WARP, done, i % 32);
	bf_lead_end(&t, BF_FULL_WARP, done);
}

static double led_shuffles(void)
{
	return simulate(32, shuffle_led, BF_ORDER_SC);
}

/* And where it acts for all in the order in which they would for themselves (bf_act()). */
static void shuffle_acted(struct bf_agent *a, void *arg)
{
	static struct bf_sim_warp warp;
	const struct lane *l = arg;
	struct bf_thread t = { .agent = a, .team = &warp, .lane = l->id };
	uint32_t sum = 0;

	warp.team = l->rig->team;
	if (bf_act(&t, 0) != BF_LEADS)
		return;
	for (unsigned i = 0; i < ACTED; i++)
		sum += (uint32_t)bf_shfl64(&t, BF_FULL_WARP, sum, i % 32);
	bf_act_end(&t);
}

static double acted_shuffles(void)
{
	return simulate(32, shuffle_acted, BF_ORDER_SC);
}

/* Meetings of a warp in which one lane stands for all but the first and the last (bf_stand()). */
static void meet_stood(struct bf_agent *a, void *arg)
{
	const struct lane *l = arg;
	struct bf_team *team = l->rig->team;

	if (l->id > 1 && l->id < 31) {
		bf_team_stood(team, a, l->id);
		return;
	}
	if (l->id == 1)
		bf_team_stand(team, a, 1, 0x7ffffffe);
	for (unsigned i = 0; i < 20000; i++)
		bf_team_sync(team, a, l->id, BF_FULL_WARP);
	if (l->id == 1)
		bf_team_stand_end(team, a);
}

static double stood_meetings(void)
{
	return simulate(32, meet_stood, BF_ORDER_SC);
}

/* ---- what 32 stacks cost at the least ---- */

#define STACKS 32u
#define TURNS 20000u

#if defined(__x86_64__) && !BF_ASAN && !BF_TSAN
static void *stack_at[STACKS + 1];
static uint64_t brought[STACKS];
static unsigned born;

/*
 * The least that a change of stacks can be: its pointer and the two registers that a compiler will not give up. All
 * else is spilled where it lives.
 */
static inline __attribute__((always_inline)) void change_stack(void **save, void *load)
{
	__asm__ volatile("leaq -128(%%rsp), %%rsp\n\t" /* past the red zone */
			 "pushq %%rbp\n\t"
			 "pushq %%rbx\n\t"
			 "leaq 1f(%%rip), %%rax\n\t"
			 "pushq %%rax\n\t"
			 "movq %%rsp, (%0)\n\t"
			 "movq %1, %%rsp\n\t"
			 "popq %%rax\n\t"
			 "jmpq *%%rax\n"
			 "1:\n\t"
			 "popq %%rbx\n\t"
			 "popq %%rbp\n\t"
			 "leaq 128(%%rsp), %%rsp"
			 : "+D"(save), "+S"(load)
			 :
			 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
}

/* Each lays a value down and takes another's, as in a shuffle, with no team and no time. */
static __attribute__((noinline)) void turns(unsigned self)
{
	uint64_t sum = self;

	for (unsigned i = 0;; i++) {
		const bool last = self == STACKS - 1 && i == TURNS - 1;

		brought[self] = sum;
		change_stack(&stack_at[self], stack_at[last ? STACKS : (self + 1) % STACKS]);
		sum += brought[i % STACKS];
	}
}

static void begin_turns(void)
{
	turns(born++);
}

static double bare_changes(void)
{
	static uint64_t room[STACKS][512 + 16] __attribute__((aligned(64)));
	double t;

	born = 0;
	for (unsigned i = 0; i < STACKS; i++) {
		uint64_t *top = &room[i][512 - i % 16 * 8];

		*--top = 0;
		*--top = (uint64_t)(uintptr_t)begin_turns;
		stack_at[i] = top;
	}
	t = now_ns();
	change_stack(&stack_at[STACKS], stack_at[0]);
	return now_ns() - t;
}
#define HAVE_BARE_CHANGES 1
#else
#define HAVE_BARE_CHANGES 0
static double bare_changes(void)
{
	return 0;
}
#endif

static void store_through_view(struct bf_agent *a, void *arg)
{
	struct rig *r = ((struct lane *)arg)->rig;
	uint8_t *p = r->mem->bytes;
	const double t = now_ns();

	for (uint64_t i = 0; i < ROUNDS; i++) {
		bf_store(a, p + (i * 16 & 65535), &(uint64_t[2]){ i, i }, 16, BF_WEAK, BF_SCOPE_CTA);
		__asm__ volatile("" ::: "memory");
	}
	r->ns = now_ns() - t;
}

static void store_plainly(struct bf_agent *a, void *arg)
{
	struct rig *r = ((struct lane *)arg)->rig;
	uint8_t *p = r->mem->bytes;
	const double t = now_ns();

	(void)a;
	for (uint64_t i = 0; i < ROUNDS; i++) {
		memcpy(p + (i * 16 & 65535), &(uint64_t[2]){ i, i }, 16);
		__asm__ volatile("" ::: "memory");
	}
	r->ns = now_ns() - t;
}

static double sc_stores(void)
{
	return simulate(1, store_through_view, BF_ORDER_SC);
}

static double gpu_stores(void)
{
	return simulate(1, store_through_view, BF_ORDER_GPU);
}

static double plain_stores(void)
{
	return simulate(1, store_plainly, BF_ORDER_SC);
}

static void nothing(struct bf_agent *a, void *arg)
{
	(void)a;
	(void)arg;
}

static double births(void)
{
	struct bf_sim *sim;
	double t;

	if (bf_sim_create(1, &sim))
		exit(1);
	t = now_ns();
	for (int i = 0; i < 2048; i++) {
		if (bf_agent_create(sim, &(struct bf_agent_opts){ .name = "lane", .main = nothing }, NULL))
			exit(1);
	}
	bf_sim_run(sim, BF_NEVER);
	t = now_ns() - t;
	bf_sim_destroy(sim);
	return t;
}

int main(void)
{
	const double asm_ns = best(coro_switches, 2.0 * ROUNDS), uc_ns = best(ucontext_switches, 2.0 * ROUNDS);
	const double sc = best(sc_stores, ROUNDS), plain = best(plain_stores, ROUNDS);
	const double led = best(led_shuffles, ACTED), acted = best(acted_shuffles, ACTED);
	const double stood = best(stood_meetings, 20000);
	bool met;

	printf("switch, one way            %8.2f ns   swapcontext %.2f ns: %.1f times as fast\n", asm_ns, uc_ns,
	       uc_ns / asm_ns);
	printf("sync, nothing due          %8.2f ns\n", best(syncs_alone, ROUNDS));
	printf("sync, two in turns         %8.2f ns   event, enter and leave\n", best(syncs_in_turns, 2.0 * ROUNDS));
	printf("wait and wake              %8.2f ns   load, sleep, store, wake, load\n", best(waits, ROUNDS / 2));
	printf("shuffle of 32 lanes        %8.2f ns   %.1f switches\n", best(shuffles, 20000),
	       best(shuffles, 20000) / asm_ns);
	if (HAVE_BARE_CHANGES)
		printf("                           %8.2f ns   the least for 32 stacks: their pointers alone\n",
		       best(bare_changes, TURNS));
	printf("                           %8.2f ns   where one lane leads the others\n", led);
	printf("                           %8.2f ns   where it does in the order of each for itself\n", acted);
	printf("                           %8.2f ns   where one stands for 30; a meeting\n", stood);
	printf("store of 16 bytes, sc      %8.2f ns   plain store %.2f ns: ratio %.2f\n", sc, plain, sc / plain);
	printf("store of 16 bytes, gpu     %8.2f ns   with its drain scheduled\n", best(gpu_stores, ROUNDS));
	printf("agent, born and dead       %8.2f ns   2048 at once\n", best(births, 2048));
	met = bench_at_most("switch of an agent, one way", asm_ns, 25, "ns");
	met &= bench_at_most("shuffle of a warp of ibgda-put: one lane leads", led, 60, "ns");
	met &= bench_at_most("shuffle of a warp of ll-*: one lane acts", acted, 60, "ns");
	return met ? 0 : 1;
}
