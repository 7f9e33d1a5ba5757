/* Litmus tests of what a device sees: doorbells, write combining, copies that go stale; and that runs repeat. */
#include "tests/sim/litmus.h"

/* The driver's way to the device: entry, doorbell record, doorbell. */
static void ring(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	for (unsigned i = 0; i < 8; i += 2) {
		const uint64_t v[2] = { 0x1111 * (i + 1), 0x1111 * (i + 2) };

		bf_store(a, var(w, 0) + i, v, sizeof(v), BF_WEAK, BF_SCOPE_CTA);
	}
	publish(w, a, flag(w, 0), 7);
	fence(w, a);
	bf_mmio_store(a, w->bar->bytes, &(uint64_t){ 42 }, 8, w->c.release ? BF_RELEASE : BF_WEAK);
	if (w->c.release)
		ck_assert_uint_eq(w->writes, 1); /* a release does not linger */
}

static bool ring_bad(struct world *w)
{
	ck_assert_uint_eq(w->writes, 1);
	ck_assert_uint_eq(w->got[0], 42);
	return w->r[0] || w->r[1];
}

static bool entry_bad(struct world *w)
{
	return w->r[0] != 0;
}

static bool torn(struct world *w)
{
	return w->r[0] != 0 && w->r[0] != 8;
}

static bool record_bad(struct world *w)
{
	return w->r[1] != 0;
}

static thread_fn *const ringer[] = { ring };

START_TEST(doorbell_order)
{
	struct config c = { .ordering = _i & 1 ? BF_ORDER_ADVERSARIAL : BF_ORDER_GPU,
			    .kind = _i & 2 ? BF_MEM_DRAM : BF_MEM_VRAM };

	c.scope = NO_FENCE;
	expect("entry behind doorbell", &c, count(&c, ringer, 1, entry_bad), true);
	expect("half an entry", &c, count(&c, ringer, 1, torn), true);
	expect("record behind doorbell", &c, count(&c, ringer, 1, record_bad), true);
	c.scope = BF_SCOPE_CTA;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), true);
	c.scope = BF_SCOPE_GPU;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), c.kind == BF_MEM_DRAM);
	c.scope = BF_SCOPE_SYS;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), false);
	c.release = true;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), false);
}
END_TEST

START_TEST(doorbell_order_on_a_cpu)
{
	struct config c = { .place = { CPU }, .scope = NO_FENCE };

	c.ordering = BF_ORDER_SC;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), false);
	c.ordering = BF_ORDER_TSO;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), false);
	c.ordering = BF_ORDER_GPU;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), true);
	c.scope = BF_SCOPE_SYS;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), false);
}
END_TEST

/* BlueFlame: the entry itself goes through the write-combining page. */
static void blue_flame(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	put(a, flag(w, 0), 7, BF_WEAK, BF_SCOPE_CTA);
	fence(w, a);
	for (unsigned i = 0; i < 8; i++) {
		var(w, 0)[i] = 0x1111 * (i + 1);
		bf_wc_store(a, w->bar->bytes + 8 * i, &(uint64_t){ i + 1 }, 8);
		bf_agent_delay(a, 20 * BF_NS);
	}
}

static void check_blue_flame(struct world *w)
{
	for (unsigned i = 0; i < 64; i++)
		ck_assert_uint_eq(w->got[i], i % 8 ? 0 : i / 8 + 1);
}

static bool in_pieces(struct world *w)
{
	check_blue_flame(w);
	ck_assert(w->writes > 1 || w->widest == 64);
	return w->writes > 1;
}

static bool in_one(struct world *w)
{
	return w->writes == 1 && w->widest == 64;
}

static thread_fn *const bf[] = { blue_flame };

START_TEST(write_combining)
{
	struct config c = { .ordering = (enum bf_ordering)_i, .scope = NO_FENCE, .place = { CPU } };
	const bool weak = c.ordering != BF_ORDER_SC;

	expect("blue flame in pieces", &c, count(&c, bf, 1, in_pieces), weak);
	expect("blue flame in one", &c, count(&c, bf, 1, in_one), true);
	expect("record behind blue flame", &c, count(&c, bf, 1, record_bad), weak);
	c.scope = BF_SCOPE_SYS;
	expect("record behind blue flame", &c, count(&c, bf, 1, record_bad), false);
}
END_TEST

static void half_blue_flame(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	bf_wc_store(a, w->bar->bytes + 4, &(uint64_t){ 0x0807060504030201 }, 8);
	if (w->c.scope == BF_SCOPE_SYS)
		bf_fence(a, BF_SCOPE_SYS);
	else if (w->c.scope == BF_SCOPE_GPU)
		bf_wc_flush(a);
	w->r[4] = w->writes;
}

static bool half_bad(struct world *w)
{
	/* Pieces end at 8-byte boundaries: bytes 4 to 7 and 8 to 11. */
	ck_assert_uint_eq(w->writes, 2);
	ck_assert_uint_eq(w->widest, 4);
	for (unsigned i = 0; i < 12; i++)
		ck_assert_uint_eq(w->got[i], i < 4 ? 0 : i - 3);
	return w->r[4] != 2;
}

static thread_fn *const half[] = { half_blue_flame };

START_TEST(write_combining_flush)
{
	struct config c = { .ordering = (enum bf_ordering)_i, .scope = NO_FENCE, .place = { CPU } };

	expect("left alone", &c, count(&c, half, 1, half_bad), true);
	c.scope = BF_SCOPE_GPU;
	expect("flushed", &c, count(&c, half, 1, half_bad), false);
	c.scope = BF_SCOPE_SYS;
	expect("fenced", &c, count(&c, half, 1, half_bad), false);
}
END_TEST

/* A device writes behind a block's copy: weak loads may miss it, and a loop of weak loads sees it in the end. */
struct dma {
	struct bf_event ev;
	struct world *w;
};

static void dma_lands(struct bf_event *ev)
{
	struct world *w = BF_CONTAINER_OF(ev, struct dma, ev)->w;

	*var(w, 0) = 5;
	*flag(w, 0) = 1;
	bf_mem_touched(w->mem, var(w, 0), 8);
	bf_mem_touched(w->flags, flag(w, 0), 8);
}

static void poll_weakly(struct world *w, struct bf_agent *a, unsigned id)
{
	const void *line = var(w, 0);

	(void)id;
	while (get(a, var(w, 0), BF_WEAK, BF_SCOPE_CTA) != 5)
		bf_agent_wait(a, &line, 1, BF_NEVER, 0, "data");
}

static unsigned count_dma(const struct config *c, thread_fn *fn)
{
	unsigned hits = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w;
		struct dma d = { .w = &w };

		open_world(&w, c, seed);
		start(&w, 0, fn);
		bf_event_init(&d.ev, dma_lands);
		bf_sim_at(w.sim, &d.ev, BF_US);
		close_world(&w);
		hits += fn == mp_read ? w.r[0] != 5 : w.end_ps > 2 * BF_US;
		free_world(&w);
	}
	return hits;
}

START_TEST(stale_copies)
{
	struct config c = { .ordering = _i ? BF_ORDER_ADVERSARIAL : BF_ORDER_GPU, .kind = BF_MEM_VRAM };

	c.scope = NO_FENCE;
	expect("copy older than a completion", &c, count_dma(&c, mp_read), true);
	c.scope = BF_SCOPE_CTA;
	expect("copy older than a completion", &c, count_dma(&c, mp_read), true);
	c.scope = BF_SCOPE_GPU;
	expect("copy older than a completion", &c, count_dma(&c, mp_read), false);
	c.release = true;
	expect("copy older than a completion", &c, count_dma(&c, mp_read), false);
	expect("late end of a weak loop", &c, count_dma(&c, poll_weakly), true);
}
END_TEST

/* A run is a function of its seed, and recording it changes nothing. */
START_TEST(deterministic)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		static const uint32_t masks[] = { BF_CLASS_ALL, BF_CLASS_ALL, 0, BF_CLASS_MEM };
		struct config c = { .ordering = (enum bf_ordering)_i,
				    .scope = BF_SCOPE_GPU,
				    .place = { BLOCK_A, BLOCK_B, BLOCK_A, CPU } };
		uint64_t hash[4], end[4];

		for (int i = 0; i < 4; i++) {
			struct world w;

			c.record_mask = masks[i];
			open_world(&w, &c, seed);
			for (unsigned t = 0; t < 4; t++)
				start(&w, t, t == 3 ? half_blue_flame : locked_add);
			close_world(&w);
			hash[i] = w.hash;
			end[i] = w.end_ps;
			free_world(&w);
		}
		ck_assert_uint_eq(hash[0], hash[1]);
		ck_assert_uint_ne(hash[0], hash[3]);
		for (int i = 1; i < 4; i++)
			ck_assert_uint_eq(end[0], end[i]);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("view_device");
	TCase *t = tcase_create("litmus");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 240);
	tcase_add_loop_test(t, doorbell_order, 0, 4);
	tcase_add_test(t, doorbell_order_on_a_cpu);
	tcase_add_loop_test(t, write_combining, 0, 4);
	tcase_add_loop_test(t, write_combining_flush, 0, 4);
	tcase_add_loop_test(t, stale_copies, 0, 2);
	tcase_add_loop_test(t, deterministic, 0, 4);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
