/*
 * Failover under load: links are cut while traffic runs, and afterwards every byte is where it belongs and every atomic
 * is accounted for. BELFRY_FAILOVER_SEEDS and BELFRY_FAILOVER_FIRST say how many random runs there are (default 50,
 * from seed 1); see tests/long/failover.sh.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/platform/platform_sim.h"

#include "drivers/ibgda/device.h"
#include "drivers/ibgda/failover_host.h"
#include "sim/fault.h"
#include "sim/rng.h"
#include "tests/drivers/rig.h"

enum traffic { PUTS, GETS, ADDS, SIGNALS, TRAFFICS };
static const char *const traffic_names[] = { "puts", "gets", "adds", "puts with signals" };

#define MESSAGES 60u /* of each warp */
#define WARPS 2u
#define QUIET_EVERY 8u
#define DEPTH 128u

struct run {
	/* In. */
	const char *backend, *faults;
	enum traffic traffic;
	uint64_t seed;
	enum bf_ordering ordering;
	uint32_t npes, ports, bytes, pace_ns;
	bool no_fail_back, plain_cq;
	/* Out. */
	struct bf_ibgda_failover_totals totals;
	struct bf_world_result result;
	struct bf_ibgda_mismatch bad;
	uint64_t wanted, found; /* of atomics: what counters would hold if all were done, and what they hold */
	uint64_t cuts;
};

static struct run run_default(enum traffic traffic)
{
	return (struct run){ .backend = "sim", .traffic = traffic, .seed = 1, .npes = 2, .ports = 1, .bytes = 1000 };
}

/* ---- puts with signals ---- */

struct signals {
	struct bf_ibgda_state *state;
	uint8_t *heap;
	uint32_t bytes, pace_ns;
};

/* Heap: what is put, what was put by PE and warp, a counter for each PE and warp. */
static uint64_t signal_slot(const struct signals *s, uint32_t pe, uint32_t warp, uint32_t message)
{
	return ((uint64_t)(pe * WARPS + warp) * MESSAGES + message) * s->bytes;
}
static uint64_t signal_source(const struct signals *s)
{
	return signal_slot(s, s->state->npes, 0, 0);
}
static uint64_t signal_word(const struct signals *s, uint32_t pe, uint32_t warp)
{
	return (2 * signal_source(s) + 63) / 64 * 64 + (uint64_t)(pe * WARPS + warp) * 8;
}

static void signal_kernel(struct bf_thread *t, void *arg)
{
	const struct signals *s = arg;
	const struct bf_ibgda_state *st = s->state;
	const uint32_t me = st->mype, warp = bf_warp(t);

	for (uint32_t m = 0; m < MESSAGES; m++) {
		const uint32_t peer = (me + 1 + m % (st->npes - 1)) % st->npes, i = m / 3 % st->num_rc_per_pe;
		const uint64_t slot = signal_slot(s, me, warp, m);
		const struct bf_ibgda_signal signal = { s->heap + signal_word(s, me, warp), 1, BF_IBGDA_AMO_ADD };
		struct bf_ibgda_qp *qp =
		    &st->globalmem.rcs[bf_ibgda_rc_index(st->layout, st->npes, st->num_rc_per_pe, peer, i)];

		if (s->pace_ns)
			bf_pause(t, s->pace_ns);
		bf_ibgda_put_signal_warp_to(t, st, bf_ibgda_to_rc(qp), s->heap + slot,
					    s->heap + signal_source(s) + slot, s->bytes, &signal, m);
		bf_warp_sync(t, BF_FULL_WARP);
		if ((m + 1) % QUIET_EVERY && m + 1 < MESSAGES)
			continue;
		for (uint32_t p = 0; bf_lane(t) == 0 && p < st->npes * st->num_rc_per_pe; p++)
			if (st->globalmem.rcs[p].qpn != BF_IBGDA_UNUSED)
				bf_ibgda_quiet(t, st, &st->globalmem.rcs[p]);
		bf_warp_sync(t, BF_FULL_WARP);
	}
}

static void prepare_signals(const struct signals *s)
{
	for (uint64_t i = 0; i < signal_source(s); i++)
		s->heap[signal_source(s) + i] = (uint8_t)(i * 7 + s->state->mype + i / 251);
}

static void check_signals(struct run *r, const struct signals *all)
{
	for (uint32_t pe = 0; pe < r->npes; pe++) {
		for (uint32_t from = 0; from < r->npes; from++) {
			for (uint32_t warp = 0; from != pe && warp < WARPS; warp++) {
				const uint64_t count = bf_get_le64(all[pe].heap + signal_word(&all[pe], from, warp));
				uint64_t sent = 0;

				for (uint32_t m = 0; m < MESSAGES; m++) {
					const uint64_t slot = signal_slot(&all[pe], from, warp, m);

					if ((from + 1 + m % (r->npes - 1)) % r->npes != pe)
						continue;
					sent++;
					r->bad.count +=
					    memcmp(all[pe].heap + slot,
						   all[from].heap + signal_source(&all[from]) + slot, r->bytes) != 0;
				}
				ck_assert_uint_le(count, sent); /* never one twice */
				r->wanted += sent;
				r->found += count;
			}
		}
	}
}

/* ---- a run ---- */

static struct bf_ibgda_shape shape_of(const struct run *r)
{
	struct bf_ibgda_shape s = bf_ibgda_shape_default;

	s.warps = WARPS;
	s.messages = MESSAGES;
	s.bytes = r->bytes;
	s.quiet_every = QUIET_EVERY;
	s.route = r->npes > 2 ? BF_IBGDA_ALL : BF_IBGDA_RING;
	s.choice = BF_IBGDA_QP_BY_MESSAGE;
	s.fill = r->traffic == PUTS;
	s.pace_ns = r->pace_ns;
	s.seed = r->seed;
	return s;
}

static void count_adds(struct run *r, const struct bf_ibgda_shape *s, const struct bf_ibgda_layout *at, void **heap)
{
	for (uint32_t pe = 0; pe < r->npes; pe++)
		for (uint32_t c = 0; c < s->counters; c++)
			r->found += bf_get_le64((uint8_t *)heap[pe] + at->counter + c * 8ull);
	r->wanted = (uint64_t)r->npes * at->issuers * s->messages;
}

static void run(struct run *r)
{
	static const enum bf_ibgda_work works[] = { BF_IBGDA_PUT, BF_IBGDA_GET, BF_IBGDA_AMO, BF_IBGDA_PUT };
	const struct bf_backend *be = bf_backend_find(r->backend);
	const enum bf_ibgda_work work = works[r->traffic];
	const struct bf_world_opts wo = { .seed = r->seed,
					  .ordering = r->ordering,
					  .npes = r->npes,
					  .nics = r->ports == 1 ? 2 : 1,
					  .ports = r->ports,
					  .faults = r->faults,
					  .limit_ps = strcmp(r->backend, "sim") ? 30 * BF_S : 3 * BF_S };
	struct bf_ibgda_host_opts ho = { .backup = true,
					 .devices = 2,
					 .no_dc = true,
					 .ack_timeout = 3,
					 .retry_count = 3,
					 .qp_depth = DEPTH,
					 .plain_cq = r->plain_cq };
	const struct bf_ibgda_failover_opts fo = { .no_fail_back = r->no_fail_back };
	struct bf_ibgda_shape shape = shape_of(r);
	struct bf_ibgda_layout at;
	struct bf_ibgda_job job[RIG_PES];
	struct signals signals[RIG_PES];
	void *heap[RIG_PES];
	struct bf_error err = { 0 };
	struct bf_ibgda_failover *f;
	struct bf_ibgda_host *h;
	struct bf_world *w;

	ck_assert_int_eq(bf_ibgda_shape_check(&shape, work, r->npes, BF_IBGDA_NVSHMEM, 4, DEPTH, &err), 0);
	bf_ibgda_layout(&shape, r->npes, &at);
	ho.heap_bytes = at.end + 2ull * r->npes * WARPS * MESSAGES * r->bytes + 4096;
	ck_assert_msg(!be->open(&wo, &err, &w), "%s", err.text);
	ck_assert_msg(!bf_ibgda_host_open(be, w, r->npes, &ho, &err, &h), "%s", err.text);
	ck_assert_msg(!bf_ibgda_failover_open(be, w, h, r->npes, &fo, &err, &f), "%s", err.text);
	for (uint32_t pe = 0; pe < r->npes; pe++) {
		heap[pe] = bf_ibgda_host_heap(h, pe).ptr;
		job[pe] = (struct bf_ibgda_job){ bf_ibgda_host_state(h, pe), shape };
		signals[pe] = (struct signals){ job[pe].state, heap[pe], r->bytes, r->pace_ns };
		if (r->traffic == SIGNALS)
			prepare_signals(&signals[pe]);
	}
	if (r->traffic != SIGNALS)
		bf_ibgda_prepare(work, &shape, r->npes, heap);
	for (uint32_t pe = 0; pe < r->npes; pe++) {
		const bool own = r->traffic == SIGNALS;
		bf_kernel_fn *kernel = own ? signal_kernel : bf_ibgda_kernels(be->platform)->run[work];
		void *arg = own ? (void *)&signals[pe] : &job[pe];

		ck_assert_int_eq(bf_ibgda_failover_launch(f, pe, 1, WARPS, kernel, arg), 0);
	}
	ck_assert_msg(!be->run(w, &r->result), "%s", err.text);
	bf_ibgda_failover_totals(f, UINT32_MAX, &r->totals);
	for (uint32_t i = 0; be->sim(w)->faults && i < bf_fault_plan_rules(be->sim(w)->faults); i++)
		r->cuts += bf_fault_plan_fired(be->sim(w)->faults, i);
	if (r->traffic == SIGNALS)
		check_signals(r, signals);
	else if (r->traffic == ADDS)
		count_adds(r, &shape, &at, heap);
	else
		bf_ibgda_verify(work, &shape, r->npes, heap, &r->bad);
	bf_ibgda_failover_close(f);
	bf_ibgda_host_close(h);
	be->close(w);
}

/* It ended, all bytes are there, no atomic was done twice, and those that are missing are among those in doubt. */
static bool is_good(const struct run *r)
{
	return r->result.end == BF_END_DONE && !r->bad.count && !r->totals.lost && !r->totals.no_key &&
	       r->found <= r->wanted && r->wanted - r->found <= r->totals.unknown;
}

#define GOOD(r)                                                                                                        \
	do {                                                                                                           \
		run(r);                                                                                                \
		ck_assert_msg(is_good(r),                                                                              \
			      "%s, seed %llu, '%s': end %d, %llu wrong (%s), lost %llu, no key %llu, "                 \
			      "%llu of %llu atomics, %llu in doubt\n%.1500s",                                          \
			      traffic_names[(r)->traffic], (unsigned long long)(r)->seed, (r)->faults,                 \
			      (int)(r)->result.end, (unsigned long long)(r)->bad.count, (r)->bad.text,                 \
			      (unsigned long long)(r)->totals.lost, (unsigned long long)(r)->totals.no_key,            \
			      (unsigned long long)(r)->found, (unsigned long long)(r)->wanted,                         \
			      (unsigned long long)(r)->totals.unknown, (r)->result.report);                            \
	} while (0)

/* ---- one thing at a time ---- */

START_TEST(nothing_happens)
{
	for (uint32_t i = 0; i < TRAFFICS; i++) {
		struct run r = run_default((enum traffic)i);

		GOOD(&r);
		ck_assert_uint_eq(r.found, r.wanted);
		ck_assert_uint_eq(r.totals.stopped + r.totals.moved + r.totals.back + r.totals.reconnected, 0);
	}
}
END_TEST

/* A NIC's link goes and does not come back: everything moves to the other NIC, once, and stays there. */
START_TEST(link_stays_down)
{
	for (uint32_t ports = 1; ports <= 2; ports++) {
		struct run r = run_default(PUTS);

		r.ports = ports;
		r.faults =
		    ports == 1 ? "link-down on=nic0.0.p1 skip=30 delay=1s" : "link-down on=nic0.p1 skip=30 delay=1s";
		GOOD(&r);
		ck_assert_uint_eq(r.cuts, 1);
		/* Of each PE two RCs and the backups of the other two, all of which have an end at the dead port. */
		ck_assert_uint_eq(r.totals.stopped, 8);
		ck_assert_uint_eq(r.totals.moved, 4);
		ck_assert_uint_eq(r.totals.back, 0);
		/* The peer's ports are up: its ends come back, and wait. */
		ck_assert_uint_eq(r.totals.reconnected, 4);
		ck_assert_uint_gt(r.totals.replayed, 0);
	}
}
END_TEST

/* It comes back while traffic goes on: so does the traffic, and for that nothing is repeated. */
START_TEST(fail_back)
{
	struct run r = run_default(PUTS), stays = run_default(PUTS);

	r.faults = stays.faults = "link-down on=nic1.0.p1 skip=30 delay=150us";
	r.pace_ns = stays.pace_ns = 20000;
	stays.no_fail_back = true;
	GOOD(&r);
	ck_assert_uint_eq(r.totals.moved, 4);
	ck_assert_uint_eq(r.totals.back, 4);
	ck_assert_uint_eq(r.totals.reconnected, r.totals.stopped);
	GOOD(&stays);
	ck_assert_uint_eq(stays.totals.back, 0);
	ck_assert_uint_eq(stays.totals.replayed, r.totals.replayed);
}
END_TEST

/* A cut that is over before anybody gives the port up is RC's own business. */
START_TEST(short_flap)
{
	struct run r = run_default(PUTS);

	r.faults = "link-down on=nic0.0.p1 skip=30 delay=5us";
	GOOD(&r);
	ck_assert_uint_eq(r.cuts, 1);
	ck_assert_uint_eq(r.totals.stopped, 0);
}
END_TEST

/* Both paths of a PE are away for a while: its traffic waits, and is whole in the end. */
START_TEST(both_paths_at_once)
{
	for (uint32_t ports = 1; ports <= 2; ports++) {
		struct run r = run_default(PUTS);

		r.ports = ports;
		r.faults =
		    ports == 1
			? "link-down on=nic0.0.p1 skip=20 delay=400us; link-down on=nic0.1.p1 skip=25 delay=600us"
			: "link-down on=nic0.p1 skip=20 delay=400us; link-down on=nic0.p2 skip=25 delay=600us";
		GOOD(&r);
		ck_assert_uint_eq(r.cuts, 2);
		ck_assert_uint_gt(r.totals.moved, 0);
		ck_assert_uint_gt(r.result.time_ps, 400 * BF_US);
	}
}
END_TEST

/* Atomics in flight are in doubt; what is missing is among them, and nothing is there twice. */
START_TEST(atomics_in_doubt)
{
	uint64_t unknown = 0, missing = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct run r = run_default(seed % 2 ? ADDS : SIGNALS);
		char faults[64];

		snprintf(faults, sizeof(faults), "link-down on=nic*.0.p1 skip=%u delay=1s", (unsigned)(20 + 7 * seed));
		r.faults = faults;
		r.seed = seed;
		GOOD(&r);
		unknown += r.totals.unknown;
		missing += r.wanted - r.found;
	}
	ck_assert_uint_gt(unknown, 0);
	ck_assert_uint_gt(missing, 0);
	ck_assert_uint_gt(unknown, missing); /* some were done although nobody could tell */
}
END_TEST

START_TEST(plain_cqs)
{
	struct run r = run_default(SIGNALS);

	r.plain_cq = true;
	r.faults = "link-down on=nic0.*.p1 skip=30 prob=0.01 count=3 delay=200us";
	GOOD(&r);
	ck_assert_uint_gt(r.totals.moved, 0);
}
END_TEST

START_TEST(refused)
{
	const struct bf_backend *be = bf_backend_find("sim");
	const struct bf_world_opts wo = { .npes = 2, .nics = 2 };
	const struct bf_ibgda_host_opts ho = { .heap_bytes = 4096 };
	struct bf_ibgda_failover *f;
	struct bf_error err = { 0 };
	struct bf_ibgda_host *h;
	struct bf_world *w;

	ck_assert_int_eq(be->open(&wo, &err, &w), 0);
	ck_assert_int_eq(bf_ibgda_host_open(be, w, 2, &ho, &err, &h), 0);
	ck_assert_int_eq(bf_ibgda_failover_open(be, w, h, 2, NULL, &err, &f), -EINVAL);
	ck_assert_ptr_null(f);
	ck_assert_ptr_nonnull(strstr(err.text, "backups"));
	bf_ibgda_host_close(h);
	be->close(w);
}
END_TEST

/* Real threads, and a device whose commands are another thread's to execute. */
START_TEST(live)
{
	struct run r = run_default(PUTS);
	char why[200];

	if (bf_backend_find("live")->probe(why, sizeof(why)))
		return;
	r.backend = "live";
	r.faults = "link-down on=nic*.p1 skip=20 prob=0.01 count=3 delay=2ms";
	GOOD(&r);
}
END_TEST

/* ---- anything ---- */

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* One to three rules, each for some ports, at a random moment or again and again, for a random time. */
static void random_plan(struct bf_rng *rng, char *text, size_t cap)
{
	const uint32_t rules = 1 + (uint32_t)bf_rng_below(rng, 3);

	text[0] = '\0';
	for (uint32_t i = 0; i < rules; i++) {
		static const char *const where[] = { "nic0*", "nic1*", "nic*", "nic*.p1", "nic0.*" };
		const size_t used = strlen(text);
		const unsigned on = (unsigned)bf_rng_below(rng, BF_ARRAY_LEN(where));
		const unsigned after = (unsigned)bf_rng_below(rng, 400), delay = 1 + (unsigned)bf_rng_below(rng, 500);

		if (bf_rng_below(rng, 2))
			snprintf(text + used, cap - used, "%slink-down on=%s after=%uus delay=%uus", i ? "; " : "",
				 where[on], after, delay);
		else
			snprintf(text + used, cap - used,
				 "%slink-down on=%s after=%uus prob=0.00%u count=%u delay=%uus", i ? "; " : "",
				 where[on], after, 1 + (unsigned)bf_rng_below(rng, 9),
				 1 + (unsigned)bf_rng_below(rng, 6), delay);
	}
}

START_TEST(random_cuts)
{
	const uint64_t first = number_of("BELFRY_FAILOVER_FIRST", 1),
		       seeds = number_of("BELFRY_FAILOVER_SEEDS", BELFRY_WIDE ? 50 : 10);
	uint64_t cuts = 0, moved = 0, back = 0, replayed = 0, unknown = 0, missing = 0, atomics = 0;

	for (uint64_t seed = first; seed < first + seeds; seed++) {
		struct run r = run_default((enum traffic)(seed % TRAFFICS));
		struct bf_rng rng;
		char plan[400];

		bf_rng_init(&rng, seed, "failover");
		random_plan(&rng, plan, sizeof(plan));
		r.seed = seed;
		r.faults = plan;
		r.npes = 2 + (uint32_t)bf_rng_below(&rng, 3);
		r.ports = 1 + (uint32_t)bf_rng_below(&rng, 2);
		r.ordering = (enum bf_ordering)bf_rng_below(&rng, 4);
		r.bytes = 1 + (uint32_t)bf_rng_below(&rng, 3000);
		r.pace_ns = (uint32_t)bf_rng_below(&rng, 3) * 4000;
		GOOD(&r);
		cuts += r.cuts;
		moved += r.totals.moved;
		back += r.totals.back;
		replayed += r.totals.replayed;
		unknown += r.totals.unknown;
		atomics += r.wanted;
		missing += r.wanted - r.found;
	}
	printf(
	    "%llu runs: %llu cuts, %llu moves, %llu moves back, %llu entries replayed; of %llu atomics %llu in doubt, "
	    "%llu of them not done\n",
	    (unsigned long long)seeds, (unsigned long long)cuts, (unsigned long long)moved, (unsigned long long)back,
	    (unsigned long long)replayed, (unsigned long long)atomics, (unsigned long long)unknown,
	    (unsigned long long)missing);
	ck_assert_uint_gt(moved, 0);
}
END_TEST

RIG_MAIN("ibgda_failover", nothing_happens, link_stays_down, fail_back, short_flap, both_paths_at_once,
	 atomics_in_doubt, plain_cqs, refused, live, random_cuts)
