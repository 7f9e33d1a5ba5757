/*
 * Litmus tests of PCIe: a device's DMA and a processor, or a second device, as threads, and the ordering rules of the
 * PCIe Base Specification 5.0 (section 2.4.1, table 2-41) as verdict. Each test runs in every way: each step waits for
 * one of several times, relaxed writes come late or do not, buffered stores drain late or do not. What the rules forbid
 * is never seen. What they permit is seen, or the test says that this machine does not show it.
 */
#include <stdlib.h>

#include "sim/agent.h"
#include "sim/choice.h"
#include "sim/view.h"
#include "tests/sim/pcie_rig.h"

#define STEPS 4u
#define TIMES 4u
#define APART (70 * BF_NS)
#define PATIENCE (2 * BF_US)

enum { X, Y };

/*
 * Of the device: posted writes of 1 and reads, additions of 1. Of the processor: stores of 1 and loads, a fence, a
 * store to the device (of `place`), a load from it (how many of its steps it has begun), a load that waits for
 * something else than 0.
 */
enum what { END, WRITE, RELAXED, READ, ADD, ADD_RELAXED, STORE, LOAD, FENCE, BELL, ASK, POLL };

struct step {
	enum what what;
	unsigned place, to; /* what it finds goes into result `to` */
};

enum verdict { FORBIDDEN, ALLOWED, UNSHOWN };

struct litmus {
	const char *name, *rule;
	struct step device[STEPS], cpu[STEPS];
	uint64_t r0, r1; /* the outcome asked for */
	enum verdict verdict;
	enum bf_ordering ordering; /* of the processor's stores; sc: `cpu` is what a second device does */
	bool at_bell;              /* the device begins when the doorbell arrives */
};

#define TSO BF_ORDER_TSO
#define WEAK BF_ORDER_ADVERSARIAL
#define DEVICE BF_ORDER_SC

static const struct litmus tests[] = {
	/* A posted write and the posted writes before it. */
	{ "MP",
	  "A2a",
	  { { WRITE, X, 0 }, { WRITE, Y, 0 } },
	  { { POLL, Y, 0 }, { LOAD, X, 1 } },
	  1,
	  0,
	  FORBIDDEN,
	  TSO,
	  false },
	{ "MP, data relaxed",
	  "A2a",
	  { { RELAXED, X, 0 }, { WRITE, Y, 0 } },
	  { { POLL, Y, 0 }, { LOAD, X, 1 } },
	  1,
	  0,
	  FORBIDDEN,
	  TSO,
	  false },
	{ "MP, both relaxed",
	  "A2b",
	  { { RELAXED, X, 0 }, { RELAXED, Y, 0 } },
	  { { POLL, Y, 0 }, { LOAD, X, 1 } },
	  1,
	  0,
	  ALLOWED,
	  TSO,
	  false },
	{ "MP, flag relaxed",
	  "A2b",
	  { { WRITE, X, 0 }, { RELAXED, Y, 0 } },
	  { { POLL, Y, 0 }, { LOAD, X, 1 } },
	  1,
	  0,
	  UNSHOWN,
	  TSO,
	  false },
	{ "MP, another device looks",
	  "A2a",
	  { { WRITE, X, 0 }, { WRITE, Y, 0 } },
	  { { READ, Y, 0 }, { READ, X, 1 } },
	  1,
	  0,
	  FORBIDDEN,
	  DEVICE,
	  false },
	{ "MP, another device looks, both relaxed",
	  "A2b",
	  { { RELAXED, X, 0 }, { RELAXED, Y, 0 } },
	  { { READ, Y, 0 }, { READ, X, 1 } },
	  1,
	  0,
	  ALLOWED,
	  DEVICE,
	  false },
	/* A read and the posted writes before it. */
	{ "CoWR", "B2a", { { WRITE, X, 0 }, { READ, X, 0 } }, { { END, 0, 0 } }, 0, 0, FORBIDDEN, TSO, false },
	{ "SB, fenced",
	  "B2a",
	  { { WRITE, X, 0 }, { READ, Y, 0 } },
	  { { STORE, Y, 0 }, { FENCE, 0, 0 }, { LOAD, X, 1 } },
	  0,
	  0,
	  FORBIDDEN,
	  TSO,
	  false },
	{ "SB",
	  "x86-TSO",
	  { { WRITE, X, 0 }, { READ, Y, 0 } },
	  { { STORE, Y, 0 }, { LOAD, X, 1 } },
	  0,
	  0,
	  ALLOWED,
	  TSO,
	  false },
	{ "SB, relaxed write",
	  "B2a",
	  { { RELAXED, X, 0 }, { READ, Y, 0 } },
	  { { STORE, Y, 0 }, { FENCE, 0, 0 }, { LOAD, X, 1 } },
	  0,
	  0,
	  FORBIDDEN,
	  TSO,
	  false },
	{ "SB of two devices",
	  "B2a",
	  { { WRITE, X, 0 }, { READ, Y, 0 } },
	  { { WRITE, Y, 0 }, { READ, X, 1 } },
	  0,
	  0,
	  FORBIDDEN,
	  DEVICE,
	  false },
	/* A posted write may pass reads, and a read other reads. */
	{ "LB",
	  "A3",
	  { { READ, X, 0 }, { WRITE, Y, 0 } },
	  { { POLL, Y, 1 }, { STORE, X, 0 } },
	  1,
	  1,
	  ALLOWED,
	  TSO,
	  false },
	{ "reads",
	  "B3",
	  { { READ, Y, 0 }, { READ, X, 1 } },
	  { { STORE, X, 0 }, { STORE, Y, 0 } },
	  1,
	  0,
	  UNSHOWN,
	  TSO,
	  false },
	/* Atomics are requests that are not posted. */
	{ "atomic behind a write",
	  "C2a",
	  { { WRITE, X, 0 }, { ADD, X, 0 } },
	  { { END, 0, 0 } },
	  0,
	  0,
	  FORBIDDEN,
	  TSO,
	  false },
	{ "atomic behind a relaxed write",
	  "C2a",
	  { { RELAXED, X, 0 }, { ADD, X, 0 } },
	  { { END, 0, 0 } },
	  0,
	  0,
	  FORBIDDEN,
	  TSO,
	  false },
	{ "relaxed atomic behind a relaxed write",
	  "C2b",
	  { { RELAXED, X, 0 }, { ADD_RELAXED, X, 0 } },
	  { { END, 0, 0 } },
	  0,
	  0,
	  ALLOWED,
	  TSO,
	  false },
	{ "two atomics add up", "6.15", { { ADD, X, 0 } }, { { ADD, X, 1 } }, 0, 0, FORBIDDEN, DEVICE, false },
	/* The completion of a load from the device, and the device's posted writes before it. */
	{ "MMIO load", "D2a", { { WRITE, X, 0 } }, { { ASK, 0, 0 }, { LOAD, X, 1 } }, 1, 0, FORBIDDEN, TSO, false },
	{ "MMIO load, relaxed write",
	  "D2a",
	  { { RELAXED, X, 0 } },
	  { { ASK, 0, 0 }, { LOAD, X, 1 } },
	  1,
	  0,
	  FORBIDDEN,
	  TSO,
	  false },
	/* Stores to the device are posted writes of the processor; it reads what was stored before. */
	{ "bells", "A2a", { { END, 0, 0 } }, { { BELL, 1, 0 }, { BELL, 2, 0 } }, 2, 0, FORBIDDEN, TSO, false },
	{ "bell", "A2a, x86-TSO", { { READ, X, 0 } }, { { STORE, X, 0 }, { BELL, 1, 0 } }, 0, 0, FORBIDDEN, TSO, true },
	{ "bell of a weak processor",
	  "PTX",
	  { { READ, X, 0 } },
	  { { STORE, X, 0 }, { BELL, 1, 0 } },
	  0,
	  0,
	  ALLOWED,
	  WEAK,
	  true },
	{ "bell, fenced",
	  "A2a, PTX",
	  { { READ, X, 0 } },
	  { { STORE, X, 0 }, { FENCE, 0, 0 }, { BELL, 1, 0 } },
	  0,
	  0,
	  FORBIDDEN,
	  WEAK,
	  true },
	/* A load from the device pushes the bell before it. */
	{ "MMIO load behind a bell",
	  "B2a",
	  { { END, 0, 0 } },
	  { { BELL, 1, 0 }, { ASK, 0, 1 } },
	  0,
	  0,
	  FORBIDDEN,
	  TSO,
	  false },
};

/* A device and how far it is. */
struct device {
	const struct step *step;
	struct bf_dma_port *port;
	struct bf_event next;
	struct bf_dma_op op[STEPS];
	uint64_t got[STEPS], one;
	uint32_t at;
	bool waits; /* for each of its reads */
};

static struct device first, second;
static uint64_t result[2];
static struct bf_link other_link;
static struct bf_dma_port other_port;
static struct bf_region *bar;
static const struct litmus *test;

static uint64_t pause(void)
{
	return bf_choose(sim, BF_CHOICE_SCHEDULE, TIMES) * APART;
}

static uint64_t iova_of(unsigned where)
{
	return IOVA + where * BF_PAGE;
}

static uint8_t *at(unsigned where)
{
	return ram->bytes + where * BF_PAGE;
}

static void go_on(struct device *d)
{
	if (d->at < STEPS && d->step[d->at].what != END)
		bf_sim_at(sim, &d->next, sim->now_ps + pause());
}

static void has_read(struct bf_dma_op *op)
{
	struct device *d = &first;
	uint32_t i;

	if (op >= second.op && op < second.op + STEPS)
		d = &second;
	i = (uint32_t)(op - d->op);
	ck_assert_int_eq(op->status, 0);
	result[d->step[i].to] = d->got[i];
	if (d->waits)
		go_on(d);
}

static void add_one(struct bf_dma_op *op, void *bytes)
{
	(void)op;
	bf_put_le64(bytes, bf_get_le64(bytes) + 1);
}

static void device_step(struct bf_event *ev)
{
	struct device *d = BF_CONTAINER_OF(ev, struct device, next);
	const struct step *s = &d->step[d->at];
	struct bf_dma_op *op = &d->op[d->at];
	const bool posted = s->what == WRITE || s->what == RELAXED;

	*op = (struct bf_dma_op){ .iova = iova_of(s->place), .len = 8, .dst = &d->got[d->at], .done = has_read };
	op->modify = s->what == ADD || s->what == ADD_RELAXED ? add_one : NULL;
	op->passes_relaxed = s->what == ADD_RELAXED;
	d->at++;
	if (posted)
		ck_assert_int_eq(bf_dma_write(d->port, op->iova, &d->one, 8, s->what == RELAXED ? BF_DMA_RELAXED : 0),
				 0);
	else
		bf_dma_read(d->port, op);
	if (posted || !d->waits)
		go_on(d);
}

static void rung(struct bf_region *r, uint64_t offset, const void *data, uint32_t len)
{
	(void)r, (void)offset, (void)len;
	if (test->at_bell)
		go_on(&first);
	else if (!result[0])
		result[0] = bf_get_le64(data);
}

/* How far it is: steps, or bells. */
static uint64_t asked(struct bf_region *r, uint64_t offset, uint32_t len)
{
	(void)r, (void)offset, (void)len;
	return first.at ? first.at : result[0];
}

static void cpu_step(struct bf_agent *a, const struct step *s)
{
	const void *line = at(s->place);

	switch (s->what) {
	case STORE:
		bf_store(a, at(s->place), &(uint64_t){ 1 }, 8, BF_WEAK, BF_SCOPE_SYS);
		break;
	case POLL:
		bf_load(a, line, &result[s->to], 8, BF_RELAXED, BF_SCOPE_SYS);
		while (!result[s->to] && !bf_agent_wait(a, &line, 1, PATIENCE, 0, "y"))
			bf_load(a, line, &result[s->to], 8, BF_RELAXED, BF_SCOPE_SYS);
		break;
	case LOAD:
		bf_load(a, line, &result[s->to], 8, BF_RELAXED, BF_SCOPE_SYS);
		break;
	case FENCE:
		bf_fence(a, BF_SCOPE_SYS);
		break;
	case BELL:
		bf_mmio_store(a, bar->bytes, &(uint64_t){ s->place }, 8, BF_RELAXED);
		break;
	default:
		result[s->to] = bf_mmio_read(a, bar->bytes, 8);
		break;
	}
}

static void cpu(struct bf_agent *a, void *arg)
{
	(void)arg;
	for (const struct step *s = test->cpu; s < test->cpu + STEPS && s->what != END; s++) {
		bf_agent_delay(a, pause());
		cpu_step(a, s);
	}
}

static void run_once(struct bf_chooser *chooser)
{
	static const struct bf_mmio_ops ops = { .write = rung, .read = asked };
	const struct bf_region_opts opts = {
		.name = "bar", .kind = BF_MEM_MMIO, .size = BF_PAGE, .mmio = &ops, .link = &link_
	};
	const struct bf_view_opts sight = {
		.ordering = test->ordering, .space = &space, .cost = &bf_cost_zero, .name = "cpu"
	};
	struct bf_view *view = NULL;
	struct bf_agent *agent;
	struct bf_link_profile late = profile;

	late.relaxed_ps = 600 * BF_NS; /* longer than another device takes to read twice */
	start(&late);
	ck_assert_int_eq(bf_ioas_map(&ioas, IOVA, ram, 0, RAM_PAGES * BF_PAGE, 3), 0);
	bf_sim_chosen_by(sim, chooser);
	ck_assert_int_eq(bf_link_init(&other_link, sim, "link1", &profile), 0);
	ck_assert_int_eq(bf_dma_port_init(&other_port, sim, "dev1", &other_link, &ioas), 0);
	ck_assert_int_eq(bf_region_create(&space, &opts, &bar), 0);
	memset(result, 0, sizeof(result));
	first = (struct device){ .step = test->device, .port = &port, .one = 1 };
	second = (struct device){ .step = test->cpu, .port = &other_port, .one = 1, .waits = true };
	bf_event_init(&first.next, device_step);
	bf_event_init(&second.next, device_step);
	if (!test->at_bell)
		go_on(&first);
	if (test->ordering == DEVICE) {
		go_on(&second);
	} else {
		ck_assert_int_eq(bf_view_create(sim, &sight, &view), 0);
		ck_assert_int_eq(
		    bf_agent_create(sim, &(struct bf_agent_opts){ .name = "cpu", .main = cpu, .view = view }, &agent),
		    0);
	}
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	bf_sim_chosen_by(sim, NULL);
	bf_view_destroy(view);
	bf_dma_port_fini(&other_port);
	bf_region_destroy(bar);
	bf_link_fini(&other_link);
	teardown();
}

START_TEST(the_table_holds)
{
	struct bf_enumeration e;
	uint64_t runs = 0, seen = 0;

	test = &tests[_i];
	bf_enumeration_init(&e, BF_CHOICE_ALL);
	do {
		bf_enumeration_begin(&e);
		run_once(&e.chooser);
		seen += result[0] == test->r0 && result[1] == test->r1;
		runs++;
	} while (bf_enumeration_next(&e));
	ck_assert(!e.failed);
	bf_enumeration_fini(&e);
	ck_assert_uint_ge(runs, TIMES);
	ck_assert_msg((test->verdict == ALLOWED) == (seen > 0), "%s (%s): %lu of %lu runs end with %lu, %lu",
		      test->name, test->rule, seen, runs, test->r0, test->r1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("litmus tests of PCIe");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, the_table_holds, 0, BF_ARRAY_LEN(tests));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
