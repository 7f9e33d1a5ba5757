/* Rings between the processes of a network: ends in one process, and what a hostile one may do. */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "models/fabric/records.h"
#include "models/fabric/shm_ring_internal.h"
#include "outside_rig.h"

#define TINY 0x10000u /* the smallest ring */

START_TEST(test_slots)
{
	struct end a, b, c;

	end_open(&a, 0);
	end_open(&b, 0);
	ck_assert_uint_eq(bf_outside_slot(a.outside), 0);
	ck_assert_uint_eq(bf_outside_slot(b.outside), 1);
	end_close(&a);
	end_open(&a, 0);
	end_open(&c, 0);
	ck_assert_uint_eq(bf_outside_slot(a.outside), 0);
	ck_assert_uint_eq(bf_outside_slot(c.outside), 2);
	end_close(&a);
	end_close(&b);
	end_close(&c);
}
END_TEST

START_TEST(test_network_names)
{
	struct bf_outside_opts opts = { .network = "" };
	struct bf_outside *o;
	char longer[200];
	struct end e;

	end_open(&e, 0);
	ck_assert_int_eq(bf_outside_open(e.sim, e.fabric, &opts, &o), -EINVAL);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	opts.network = longer;
	ck_assert_int_eq(bf_outside_open(e.sim, e.fabric, &opts, &o), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.sim->error.text, "name of a network"));
	end_close(&e);
}
END_TEST

START_TEST(test_other_network)
{
	const struct bf_outside_opts opts = { .network = "test-elsewhere-of-nobody-else" };
	struct end a, b;

	end_open(&a, 0);
	end_open_with(&b, &opts, NULL);
	ck_assert_uint_eq(bf_outside_slot(b.outside), 0); /* the same number, in another network */
	end_send_to(&a, END_IPV4, end_qpn(1, 0), 0, 64);
	end_pump(&a, 10);
	end_pump(&b, 10);
	ck_assert_uint_eq(b.frames, 0);
	ck_assert_uint_eq(end_stat(&a, "outside.lost"), 1);
	ck_assert_uint_eq(end_stat(&a, "p1.lost_no_route"), 1);
	end_close(&a);
	end_close(&b);
}
END_TEST

START_TEST(test_own_frames_stay)
{
	struct end a, b;

	end_open(&a, 0);
	end_open(&b, 0);
	end_send(&b, &b, 0, 64);
	ck_assert_uint_eq(b.frames, 1);
	ck_assert_uint_eq(end_stat(&b, "outside.tx_frames"), 0);
	/* An address that nobody has, and a queue pair of our own: no way there. */
	end_send_to(&b, 0x0a0000ff, end_qpn(1, 0), 1, 64);
	ck_assert_uint_eq(end_stat(&b, "p1.lost_no_route"), 1);
	end_close(&a);
	end_close(&b);
}
END_TEST

START_TEST(test_order_under_a_tiny_ring)
{
	enum { FRAMES = 20000 };
	uint32_t random = 1, blocked = 0;
	struct end a, b;

	end_open(&a, TINY);
	end_open(&b, TINY);
	for (uint32_t i = 0; i < FRAMES; i++) {
		random = random * 1664525 + 1013904223;
		end_send(&a, &b, random >> 8 & 7, 8 + (random >> 12) % 4089);
		if (random >> 24 < 40)
			bf_outside_flush(a.outside);
		blocked += bf_outside_blocked(a.outside);
		if (random >> 24 < 30 || i > FRAMES - 2)
			end_pump(&b, random >> 16 & 63);
	}
	for (uint32_t i = 0; bf_outside_blocked(a.outside) || i < 4; i++) {
		ck_assert_uint_lt(i, 100000);
		end_pump(&a, 100);
		end_pump(&b, 100);
	}
	ck_assert_uint_gt(blocked, 100);
	ck_assert_uint_eq(end_stat(&a, "outside.lost"), 0);
	ck_assert_uint_eq(end_stat(&a, "outside.tx_frames"), FRAMES);
	ck_assert_uint_eq(b.frames, FRAMES);
	ck_assert_uint_eq(b.broken + b.disordered + b.skipped, 0);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* One queue pair has filled the ring and more; another one's first frame does not wait for all of that. */
START_TEST(test_queue_pairs_take_turns)
{
	struct end a, b;
	uint32_t before;

	end_open(&a, TINY);
	end_open(&b, TINY);
	for (int i = 0; i < 500; i++)
		end_send(&a, &b, 0, 4096);
	end_send(&a, &b, 1, 4096);
	bf_outside_flush(a.outside);
	ck_assert(bf_outside_blocked(a.outside));
	while (!b.arrived[1]) {
		end_pump(&b, 1);
		end_pump(&a, 1);
	}
	before = b.arrived[0];
	ck_assert_uint_lt(before, 40);
	for (int i = 0; i < 1000; i++) {
		end_pump(&b, 10);
		end_pump(&a, 10);
	}
	ck_assert_uint_eq(b.arrived[0], 500);
	ck_assert_uint_eq(b.skipped + b.disordered, 0);
	end_close(&a);
	end_close(&b);
}
END_TEST

START_TEST(test_slow_process_stops_nobody_else)
{
	struct end a, slow, quick;

	end_open(&a, TINY);
	end_open(&slow, TINY);
	end_open(&quick, TINY);
	for (int i = 0; i < 2000; i++) {
		end_send(&a, &slow, 0, 4096);
		end_send(&a, &quick, 1, 4096);
		bf_outside_flush(a.outside);
		end_pump(&quick, 10);
	}
	/* On a busy machine the two may have met late; the slow one still takes nothing. */
	for (int i = 0; i < 2000 && quick.arrived[1] < 2000; i++) {
		end_pump(&a, 10);
		end_pump(&quick, 10);
	}
	ck_assert(bf_outside_blocked(a.outside));
	ck_assert_uint_eq(quick.arrived[1], 2000);
	ck_assert_uint_eq(quick.skipped, 0);
	end_close(&slow); /* it goes: what was held for it is lost */
	end_pump(&a, 10);
	for (int i = 0; i < 1000 && bf_outside_blocked(a.outside); i++)
		end_wait(&a);
	ck_assert(!bf_outside_blocked(a.outside));
	ck_assert_uint_gt(end_stat(&a, "outside.lost"), 1900);
	end_close(&quick);
	end_close(&a);
}
END_TEST

START_TEST(test_senders_are_asked_to_wait)
{
	struct end a, b;

	end_open(&a, TINY);
	end_open(&b, TINY);
	for (int i = 0; i < 900; i++)
		end_send(&a, &b, 0, 4096);
	ck_assert_uint_le(bf_port_tx_free_ps(a.port), a.sim->now_ps);
	for (int i = 0; i < 200; i++)
		end_send(&a, &b, 0, 4096);
	ck_assert_uint_eq(bf_port_tx_free_ps(a.port), a.sim->now_ps + BF_UPLINK_BUSY_PS);
	/* Those of other queue pairs need not wait: each has its share. */
	ck_assert_uint_ge(bf_port_tx_held(a.port, end_qpn(bf_outside_slot(b.outside), 0)), 1024);
	ck_assert_uint_eq(bf_port_tx_held(a.port, end_qpn(bf_outside_slot(b.outside), 1)), 0);
	ck_assert_uint_eq(bf_port_tx_held(a.port, UINT32_MAX), 0);
	ck_assert_uint_eq(bf_port_tx_free_for_ps(a.port, end_qpn(bf_outside_slot(b.outside), 0)),
			  a.sim->now_ps + BF_UPLINK_BUSY_PS);
	ck_assert_uint_le(bf_port_tx_free_for_ps(a.port, end_qpn(bf_outside_slot(b.outside), 1)), a.sim->now_ps);
	while (bf_outside_blocked(a.outside)) {
		end_pump(&b, 100);
		end_pump(&a, 100);
	}
	ck_assert_uint_le(bf_port_tx_free_ps(a.port), a.sim->now_ps);
	ck_assert_uint_eq(bf_port_tx_held(a.port, end_qpn(bf_outside_slot(b.outside), 0)), 0);
	for (int i = 0; i < 40000; i++) /* who does not wait loses in the end */
		end_send(&a, &b, 0, 4096);
	ck_assert_uint_gt(end_stat(&a, "p1.lost_overflow"), 3000);
	ck_assert_uint_lt(end_stat(&a, "p1.lost_overflow"), 40000 - 32768 + 1);
	end_close(&a);
	end_close(&b);
}
END_TEST

START_TEST(test_faults_of_the_plan)
{
	const struct bf_outside_opts opts = { .network = end_network() };
	struct end a, b;

	end_open_with(&a, &opts, "drop skip=10 count=5; duplicate skip=20 count=3; corrupt skip=30 count=2");
	end_open(&b, 0);
	for (int i = 0; i < 100; i++)
		end_send(&a, &b, 0, 256);
	bf_outside_flush(a.outside);
	ck_assert_uint_eq(end_stat(&a, "p1.lost_injected"), 5);
	end_receive(&b, 98);
	ck_assert_uint_eq(b.disordered, 3); /* the second copies */
	ck_assert_uint_eq(b.broken, 2);
	/* Without an ICRC nobody would notice the wrong bit: such a frame does not arrive. */
	end_close(&a);
	end_open_with(&a, &opts, "corrupt");
	a.icrc = b.icrc = false;
	memset(b.arrived, 0, sizeof(b.arrived));
	b.frames = b.broken = b.skipped = 0;
	end_send(&a, &b, 0, 256);
	end_send(&a, &b, 0, 256);
	bf_outside_flush(a.outside);
	end_receive(&b, 1);
	ck_assert_uint_eq(b.broken, 0);
	end_close(&a);
	end_close(&b);
}
END_TEST

START_TEST(test_link_down)
{
	struct end a, b;

	end_open(&a, 0);
	end_open(&b, 0);
	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	end_receive(&b, 1);
	bf_port_set_link(b.port, false);
	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	end_pump(&b, 10);
	ck_assert_uint_eq(b.frames, 1);
	bf_port_set_link(b.port, true);
	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	end_pump(&b, 10);
	ck_assert_uint_eq(b.frames, 2);
	end_close(&a);
	end_close(&b);
}
END_TEST

struct seen {
	struct bf_sink sink;
	uint64_t ids[4];
	uint32_t peers[4], tails[4], n;
};

static int see_type(struct bf_sink *sink, const struct bf_rec_schema *schema)
{
	(void)sink;
	(void)schema;
	return 0;
}

static int see_actor(struct bf_sink *sink, uint32_t actor, const char *kind, const char *name)
{
	(void)sink;
	(void)actor;
	(void)kind;
	(void)name;
	return 0;
}

static int see(struct bf_sink *sink, const void *records, size_t len)
{
	struct seen *s = BF_CONTAINER_OF(sink, struct seen, sink);
	const uint8_t *at = records;

	while (len) {
		const struct bf_rec_header *head = (const void *)at;
		const struct bf_rec_packet *r = (const void *)(head + 1);

		if (head->type == BF_REC_ID_packet && r->dir == 1 && s->n < 4) {
			s->ids[s->n] = r->packet;
			s->peers[s->n] = r->peer;
			s->tails[s->n++] = head->tail;
		}
		at += bf_record_span(head);
		len -= bf_record_span(head);
	}
	return 0;
}

/* Nobody here has recorded the frame when it was sent: its bytes are in the record of its arrival. */
START_TEST(test_records)
{
	struct seen seen = { .sink = { .declare_type = see_type, .declare_actor = see_actor, .write = see } };
	struct end a, b;

	end_open(&a, 0);
	end_open(&b, 0);
	ck_assert_int_eq(bf_stream_open(&b.sim->rec, &b.sim->now_ps, BF_CLASS_NET, &seen.sink), 0);
	end_send(&a, &b, 0, 64);
	end_send(&a, &b, 0, 128);
	bf_outside_flush(a.outside);
	end_receive(&b, 2);
	ck_assert_int_eq(bf_stream_close(&b.sim->rec), 0);
	ck_assert_uint_eq(seen.n, 2);
	ck_assert_uint_eq(seen.ids[0], (uint64_t)END_IPV4 << 32 | 0x80000000u);
	ck_assert_uint_eq(seen.ids[1], seen.ids[0] + 1);
	ck_assert_uint_eq(seen.peers[0], END_IPV4);
	ck_assert_uint_eq(seen.tails[0], 64 + 62 + 12);
	ck_assert_uint_eq(seen.tails[1], 128 + 62 + 12);
	end_close(&a);
	end_close(&b);
}
END_TEST

static void *answer(void *arg)
{
	struct end *e = arg;

	for (uint32_t turn = 1; turn <= 2000; turn++) {
		while (e->arrived[0] < turn)
			end_wait(e);
		end_send_to(e, END_IPV4, end_qpn(0, 0), 0, 8);
		bf_outside_flush(e->outside);
	}
	return NULL;
}

/* Two threads that sleep whenever there is nothing: nobody may miss the other's frame. */
START_TEST(test_sleepers_are_woken)
{
	struct end a, b;
	pthread_t other;

	end_open(&a, 0);
	end_open(&b, 0);
	ck_assert_int_eq(pthread_create(&other, NULL, answer, &b), 0);
	for (uint32_t turn = 1; turn <= 2000; turn++) {
		end_send_to(&a, END_IPV4, end_qpn(1, 0), 0, 8);
		bf_outside_flush(a.outside);
		while (a.arrived[0] < turn)
			end_wait(&a);
	}
	pthread_join(other, NULL);
	ck_assert_uint_eq(a.frames, 2000);
	ck_assert_uint_eq(b.frames, 2000);
	end_close(&a);
	end_close(&b);
}
END_TEST

static void *send_much(void *arg)
{
	struct end *e = arg;

	for (uint32_t i = 0; i < 5000; i++) {
		end_send_to(e, END_IPV4, end_qpn(0, i % 4), i % 4, 4096);
		if (i % 16 == 15)
			bf_outside_flush(e->outside);
		while (bf_outside_blocked(e->outside))
			end_wait(e);
	}
	bf_outside_flush(e->outside);
	return NULL;
}

/* Who waits for room sleeps, too, and is told when there is some. */
START_TEST(test_room_wakes_the_sender)
{
	struct end a, b;
	pthread_t other;

	end_open(&a, TINY);
	end_open(&b, TINY);
	ck_assert_int_eq(pthread_create(&other, NULL, send_much, &b), 0);
	while (a.frames < 5000)
		end_wait(&a);
	pthread_join(other, NULL);
	ck_assert_uint_gt(end_stat(&b, "outside.held"), 0);
	ck_assert_uint_eq(a.broken + a.disordered + a.skipped, 0);
	end_close(&a);
	end_close(&b);
}
END_TEST

static void *wake(void *arg)
{
	struct end *e = arg;

	bf_outside_wake(e->outside);
	return NULL;
}

/* Whoever looks by itself is not woken, as long as it has said so lately. */
START_TEST(test_lookers_are_not_woken)
{
	struct end a, b;
	uint32_t *word, value;

	end_open(&a, 0);
	end_open(&b, 0);
	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	end_receive(&b, 1);
	end_wait(&a); /* now it knows where the other one sleeps */
	ck_assert(bf_outside_has_sources(b.outside) && !bf_outside_has_sources(a.outside));
	ck_assert(!bf_outside_has_news(b.outside));
	while (!bf_outside_sleep(b.outside, &word, &value))
		end_pump(&b, 1);                       /* its sockets have something, too */
	bf_outside_looking(b.outside, UINT64_MAX / 2); /* for a long time */
	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	ck_assert(bf_outside_has_news(b.outside));
	ck_assert_uint_eq(*word, value);
	bf_outside_looking(b.outside, 0);
	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	ck_assert_uint_ne(*word, value);
	bf_outside_awake(b.outside);
	end_pump(&b, 1);
	ck_assert(bf_outside_has_news(b.outside)); /* there is more than was asked for */
	end_pump(&b, 100);
	ck_assert(!bf_outside_has_news(b.outside));
	ck_assert_uint_eq(b.frames, 3);
	end_close(&a);
	end_close(&b);
}
END_TEST

START_TEST(test_wake)
{
	uint32_t *word, value;
	pthread_t other;
	struct end e;

	end_open(&e, 0);
	/* A wake before the sleep is not lost. */
	bf_outside_wake(e.outside);
	ck_assert(!bf_outside_sleep(e.outside, &word, &value));
	/* One between the decision and the wait changes the word; one during the wait ends it. */
	ck_assert(bf_outside_sleep(e.outside, &word, &value));
	ck_assert_uint_eq(*word, value);
	ck_assert_int_eq(pthread_create(&other, NULL, wake, &e), 0);
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
	pthread_join(other, NULL);
	bf_outside_awake(e.outside);
	ck_assert(bf_outside_sleep(e.outside, &word, &value));
	end_close(&e);
}
END_TEST

/* The ring alone: what a consumer makes of what a producer should not do. */
struct ring_pair {
	struct bf_shm_ring tx, rx;
	uint8_t frame[BF_PACKET_MAX];
};

static void pair_open(struct ring_pair *p)
{
	int fd;

	ck_assert_int_eq(bf_ring_create(&p->tx, 1, &fd), 0);
	ck_assert_uint_eq(p->tx.size, BF_RING_MIN);
	ck_assert_int_eq(bf_ring_map(&p->rx, fd), 0);
	close(fd);
}

static void pair_close(struct ring_pair *p)
{
	bf_ring_unmap(&p->tx);
	bf_ring_unmap(&p->rx);
}

START_TEST(test_spoilt_rings)
{
	static const struct {
		uint64_t tail;
		uint16_t len;
		int found;
	} cases[] = {
		{ 64, 62, 62 },
		{ 64, 63, -EBADMSG },
		{ 64, 0, -EBADMSG },
		{ 65536, 4352, 4352 },
		{ 65536, 4353, -EBADMSG },
		{ 65536, 65535, -EBADMSG },
		{ 65600, 62, -EBADMSG },
		{ 1, 1, -EBADMSG },
		{ 63, 10, -EBADMSG },
		{ ~0ull, 1, -EBADMSG },
		{ -(uint64_t)64, 1, -EBADMSG },
		{ 1ull << 63, 1, -EBADMSG },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		struct ring_pair p;

		pair_open(&p);
		p.tx.shared->tail = cases[i].tail;
		bf_put_le16(p.tx.bytes, cases[i].len);
		ck_assert_msg(bf_ring_take(&p.rx, p.frame) == cases[i].found, "case %zu", i);
		pair_close(&p);
	}
}
END_TEST

START_TEST(test_spoilt_heads)
{
	static const uint64_t heads[] = { 1ull << 40, 70000, -(uint64_t)70000 };

	for (size_t i = 0; i < BF_ARRAY_LEN(heads); i++) {
		struct ring_pair p;
		int rc = 0;

		pair_open(&p);
		memset(p.frame, 7, sizeof(p.frame));
		for (int k = 0; k < 16 && !rc; k++)
			rc = bf_ring_put(&p.tx, p.frame, 4000);
		ck_assert_int_eq(rc, 0);
		ck_assert_int_eq(bf_ring_put(&p.tx, p.frame, BF_PACKET_MAX), -EAGAIN);
		p.tx.shared->head = heads[i];
		ck_assert_int_eq(bf_ring_put(&p.tx, p.frame, BF_PACKET_MAX), -EBADMSG);
		pair_close(&p);
	}
}
END_TEST

START_TEST(test_memory_that_is_no_ring)
{
	int plain = memfd_create("plain", MFD_CLOEXEC), file = fileno(tmpfile()), fd;
	struct bf_door *door;
	struct bf_shm_ring r;

	ck_assert_int_eq(ftruncate(plain, BF_RING_HEAD + BF_RING_MIN), 0);
	ck_assert_int_eq(bf_ring_map(&r, plain), -EBADMSG); /* its size could change */
	ck_assert_int_eq(bf_ring_map(&r, file), -EBADMSG);
	ck_assert_int_eq(bf_door_map(&door, plain), -EBADMSG);
	ck_assert_int_eq(bf_door_create(&door, &fd), 0);
	ck_assert_int_eq(bf_ring_map(&r, fd), -EBADMSG);
	ck_assert_int_ne(ftruncate(fd, 0), 0);
	close(fd);
	bf_door_unmap(door);
	close(plain);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("outside");
	TCase *c = tcase_create("rings");
	SRunner *r;
	int failed;

	tcase_set_timeout(c, 120);
	tcase_add_test(c, test_slots);
	tcase_add_test(c, test_network_names);
	tcase_add_test(c, test_other_network);
	tcase_add_test(c, test_own_frames_stay);
	tcase_add_test(c, test_order_under_a_tiny_ring);
	tcase_add_test(c, test_queue_pairs_take_turns);
	tcase_add_test(c, test_slow_process_stops_nobody_else);
	tcase_add_test(c, test_senders_are_asked_to_wait);
	tcase_add_test(c, test_faults_of_the_plan);
	tcase_add_test(c, test_link_down);
	tcase_add_test(c, test_records);
	tcase_add_test(c, test_sleepers_are_woken);
	tcase_add_test(c, test_room_wakes_the_sender);
	tcase_add_test(c, test_lookers_are_not_woken);
	tcase_add_test(c, test_wake);
	tcase_add_test(c, test_spoilt_rings);
	tcase_add_test(c, test_spoilt_heads);
	tcase_add_test(c, test_memory_that_is_no_ring);
	suite_add_tcase(s, c);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
