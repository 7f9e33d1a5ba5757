/*
 * What could have come in another order, on records made by hand.
 *
 * A case is a row of steps, each of a letter for who, one for what, and one for where. Threads: a and c are warps of
 * one block, e is another lane of a, b is of another block, p is a processor, n is the device. Steps of threads: w
 * stores plainly, s with relaxed, r with release and q with release of block scope; l loads with relaxed, k with
 * acquire; t is a relaxed atomic; 0, 1 and 2 are fences of block, GPU and system scope; d rings, D rings with release.
 * Of the device: ! a doorbell arrives, ? it reads, = it writes. Places: x and y are entries, i an index, u and v flags
 * in the GPU's memory; h is in the host's.
 */
#include "sim/bytes.h"
#include "sim/mem.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "sim/view.h"
#include "tests/traces/rules_story.h"

#define VRAM 0x10000000000ull
#define DRAM 0x10000100000ull
#define BELL 0x10000200800ull

static uint64_t place(char c)
{
	return c == 'h' ? DRAM : VRAM + (uint64_t)(c - 'a') * 256;
}

struct cast {
	struct story s;
	uint32_t a, b, c, e, p, n, link;
	uint64_t rung, arrived;
};

static void begin(struct cast *x, const struct bf_rules_opts *opts)
{
	*x = (struct cast){ 0 };
	ck_assert_int_eq(bf_rules_create(opts, &x->s.rules, NULL), 0);
	ck_assert_int_eq(bf_stream_open(&x->s.st, &x->s.now, BF_CLASS_ALL, bf_rules_sink(x->s.rules)), 0);
	STORY(&x->s, region, 0, .va = VRAM, .size = 65536, .kind = BF_MEM_VRAM, .id = 1, .name = "heap",
	      .space = "pe0");
	STORY(&x->s, region, 0, .va = DRAM, .size = 4096, .kind = BF_MEM_DRAM, .id = 2, .name = "host", .space = "pe0");
	x->a = story_actor(&x->s, "agent", "pe0.b0.w0.l0");
	x->c = story_actor(&x->s, "agent", "pe0.b0.w1.l7");
	x->e = story_actor(&x->s, "agent", "pe0.b0.w0.l3");
	x->b = story_actor(&x->s, "agent", "pe0.b1.w0.l0");
	x->p = story_actor(&x->s, "agent", "pe0.cpu0");
	x->n = story_actor(&x->s, "device", "nic0.dma");
	x->link = story_actor(&x->s, "link", "nic0.pcie");
}

static void store(struct cast *x, uint32_t who, uint64_t va, uint16_t sem, uint16_t scope)
{
	const uint8_t bytes[8] = { 1 };

	STORY_TAIL(&x->s, store, who, bytes, 8, .va = va, .seq = ++x->s.seq, .len = 8, .sem = sem, .scope = scope);
}

static void load(struct cast *x, uint32_t who, uint64_t va, uint16_t sem)
{
	STORY(&x->s, load, who, .va = va, .value = x->s.now, .len = 8, .sem = sem, .scope = BF_SCOPE_GPU);
}

static void ring(struct cast *x, uint32_t who, uint32_t sem)
{
	uint8_t bytes[8];

	bf_put_le64(bytes, ++x->rung);
	STORY_TAIL(&x->s, mmio_store, who, bytes, 8, .va = BELL, .seq = ++x->s.seq, .len = 8, .sem = sem);
}

static void device_does(struct cast *x, char what, uint64_t va)
{
	uint8_t bytes[64] = { 0 };

	if (what == '!') {
		bf_put_le64(bytes, ++x->arrived);
		STORY_TAIL(&x->s, mmio_arrive, x->link, bytes, 8, .va = BELL, .offset = 0x800, .region = 3, .len = 8);
	} else if (what == 'e') { /* an entry */
		STORY_TAIL(&x->s, dma_read, x->n, bytes, 64, .iova = va, .va = va, .len = 64, .done_ps = x->s.now);
	} else if (what == '?') {
		STORY_TAIL(&x->s, dma_read, x->n, bytes, 8, .iova = va, .va = va, .len = 8, .done_ps = x->s.now);
	} else {
		STORY_TAIL(&x->s, dma_write, x->n, bytes, 8, .iova = va, .va = va, .len = 8);
	}
}

static void thread_does(struct cast *x, uint32_t who, char what, uint64_t va)
{
	switch (what) {
	case 'w':
		store(x, who, va, BF_WEAK, BF_SCOPE_CTA);
		break;
	case 's':
		store(x, who, va, BF_RELAXED, BF_SCOPE_GPU);
		break;
	case 'r':
		store(x, who, va, BF_RELEASE, BF_SCOPE_GPU);
		break;
	case 'q':
		store(x, who, va, BF_RELEASE, BF_SCOPE_CTA);
		break;
	case 'l':
		load(x, who, va, BF_RELAXED);
		break;
	case 'k':
		load(x, who, va, BF_ACQUIRE);
		break;
	case 't':
		STORY(&x->s, atomic, who, .va = va, .old = 0, .operand = 1, .op = BF_ATOMIC_ADD, .len = 8,
		      .sem = BF_RELAXED, .scope = BF_SCOPE_GPU);
		break;
	case 'd':
		ring(x, who, BF_RELAXED);
		break;
	case 'D':
		ring(x, who, BF_RELEASE);
		break;
	default:
		STORY(&x->s, fence, who, .scope = (uint32_t)(what - '0'));
		break;
	}
}

static void play(struct cast *x, const char *steps)
{
	const uint32_t threads[] = { x->a, x->b, x->c, 0, x->e };

	for (const char *p = steps; *p; p += strspn(p, " ")) {
		const size_t len = strcspn(p, " ");
		const uint64_t va = len > 2 ? place(p[2]) : 0;

		if (*p == 'n')
			device_does(x, p[1], va);
		else
			thread_does(x, *p == 'p' ? x->p : threads[*p - 'a'], p[1], va);
		p += len;
	}
}

static const struct {
	const char *steps, *id, *text;
} cases[] = {
	/* One thread: the fence, its place and its scope. */
	{ "awx a1 ad n! n?x", NULL, NULL },
	{ "awx aD n! n?x", NULL, NULL },
	{ "awx ad n! n?x", "ORDER-DEVICE-READ",
	  "a fence of GPU scope by pe0.b0.w0 between this store and its doorbell" },
	{ "a2 awx ad n! n?x", "ORDER-DEVICE-READ", "pe0.b0.w0 stored 8 bytes at 0x10000001700" },
	{ "awx ad a1 n! n?x", "ORDER-DEVICE-READ", "nic0.dma read them" },
	{ "awx a0 ad n! n?x", "ORDER-DEVICE-READ", "has block scope, and a fence of GPU scope" },
	{ "awh a1 ad n! n?h", "ORDER-DEVICE-READ", "has GPU scope, and a fence of system scope" },
	{ "awh a2 ad n! n?h", NULL, NULL },
	{ "pwh p0 pd n! n?h", NULL, NULL },
	{ "pwh pd n! n?h", "ORDER-DEVICE-READ", "a fence of any scope by pe0.cpu0" },
	/* It wrote there itself since. */
	{ "awx n=x ad n! n?x", NULL, NULL },
	/* The index in memory. */
	{ "awx a1 asi a1 ad n! n?i n?x", NULL, NULL },
	{ "awx a1 asi ad n! n?i", "ORDER-DOORBELL",
	  "a fence of GPU scope by pe0.b0.w0 between this store and its doorbell" },
	{ "awx a1 asi ad a1 n! n?i", "ORDER-DOORBELL", "with no other doorbell to come" },
	{ "awx asi a1 ad n! n?i n?x", NULL, NULL },
	{ "awx a1 asi a1 ad n! awy asi a1 ad n?i n! n?i n?y", "ORDER-INDEX",
	  "A fence of GPU scope between the two stores" },
	{ "awx a1 asi a1 ad n! awy a1 asi a1 ad n?i n! n?i n?y", NULL, NULL },
	/* Entries may be strong stores, too: they tell no device how far it may go. */
	{ "awx a1 asi a1 ad n! awy asi a1 ad nei n! nei n?y", NULL, NULL },
	/* A release orders what came before it. */
	{ "awx a1 asi a1 ad n! awy ari a1 ad n?i n! n?i n?y", NULL, NULL },
	{ "awx a1 asi a1 ad n! awy aqi a1 ad n?i n! n?i n?y", "ORDER-INDEX", "between the two stores" },
	/* e, another lane of a's warp, announces its own entry, and a's is still to come. */
	{ "awx a1 asi a1 ad n! awy esi n?i a1 asj ad n! n?y", NULL, NULL },
	/* The earlier doorbell is known to be served. */
	{ "awx a1 asi a1 ad n! n?i n?x n=v alv awy asi a1 ad n! n?i n?y", NULL, NULL },
	/* The index was read for the doorbell before: it orders by itself. */
	{ "awx a1 asi a1 ad n! awy a1 asi n?i n?y", NULL, NULL },
	/* Another thread rings. */
	{ "awx aru bku b1 bd n! n?x", NULL, NULL },
	{ "awx a1 asu blu b1 bd n! n?x", NULL, NULL },
	{ "awx a1 atu btu b1 bd n! n?x", NULL, NULL },
	{ "awx asu bku b1 bd n! n?x", "ORDER-DEVICE-READ", "a release by pe0.b0.w0 behind its store" },
	{ "awx a0 asu blu b1 bd n! n?x", "ORDER-DEVICE-READ", "has block scope" },
	{ "awx aqu bku b1 bd n! n?x", "ORDER-DEVICE-READ", "the doorbell was rung by pe0.b1.w0" },
	{ "awx aqu cku c1 cd n! n?x", NULL, NULL },
	{ "awx aru b1 bd n! n?x", "ORDER-DEVICE-READ", "an acquire of the same location by pe0.b1.w0" },
	{ "awx aru bku brv ckv c1 cd n! n?x", NULL, NULL },
	/* What was released further than the ringer needs is there when he has acquired it. */
	{ "awx aru bku bd n! n?x", NULL, NULL },
	/* A processor rings: what lies in the GPU's memory lies there before what the thread stores later. */
	{ "awx a1 asu pku pd n! n?x", NULL, NULL },
	{ "awx a1 ash plh p0 pd n! n?x", NULL, NULL },
	{ "awx aru plu pD n! n?x", NULL, NULL },
	{ "awx a1 asu pku ptv pkv pd n! n?x", NULL, NULL },
	{ "awx a1 atu ptu ptu p0 pd n! n?x", NULL, NULL },
	{ "awx asu a1 pku pd n! n?x", "ORDER-DEVICE-READ", "the doorbell was rung by pe0.cpu0" },
	{ "awx a0 asu pku pd n! n?x", "ORDER-DEVICE-READ", "has block scope" },
	{ "awx a1 asu plu pd n! n?x", "ORDER-DEVICE-READ", "the doorbell was rung by pe0.cpu0" },
	{ "awh a1 asu pku pd n! n?h", "ORDER-DEVICE-READ", "has GPU scope, and a fence of system scope" },
	/* Flags. */
	{ "awu blu", "ORDER-WEAK-FLAG", "pe0.b0.w0 stored 8 bytes" },
	{ "asu blu", NULL, NULL },
	{ "awu arv bkv blu", NULL, NULL },
	{ "awu alu", NULL, NULL },
};

START_TEST(order_is_judged)
{
	struct cast x;

	begin(&x, NULL);
	play(&x, cases[_i].steps);
	story_ends(&x.s, cases[_i].id, cases[_i].text);
}
END_TEST

/* On machines that keep the order of stores themselves. */
START_TEST(processors_may_keep_order)
{
	const struct bf_rules_opts opts = { .processors_keep_order = true };
	struct cast x;

	begin(&x, &opts);
	play(&x, _i ? "awh ad n! n?h" : "pwh pd n! n?h");
	story_ends(&x.s, _i ? "ORDER-DEVICE-READ" : NULL, "a fence of system scope");
}
END_TEST

/* Kernels' threads are called by block and warp alone: blocks are of one GPU, and GPU scope holds them. */
START_TEST(blocks_share_a_gpu)
{
	struct cast x;

	begin(&x, NULL);
	x.a = story_actor(&x.s, "agent", "b0.w0.l0");
	x.b = story_actor(&x.s, "agent", "b1.w0.l0");
	play(&x, _i ? "awx a0 atu btu b1 bd n! n?x" : "awx a1 atu btu b1 bd n! n?x");
	story_ends(&x.s, _i ? "ORDER-DEVICE-READ" : NULL, "has block scope, and a fence of GPU scope");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules on what could come in another order");
	TCase *tc = tcase_create("rules");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, order_is_judged, 0, BF_ARRAY_LEN(cases));
	tcase_add_loop_test(tc, processors_may_keep_order, 0, 2);
	tcase_add_loop_test(tc, blocks_share_a_gpu, 0, 2);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
