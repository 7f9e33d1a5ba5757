/*
 * Processes that wait for a processor: a time-out there is not the peer's fault before that one has come to what was
 * sent to it, and its answer has been taken here. One that is gone, or does nothing for too long, is at fault.
 */
#include "outside_rig.h"
#include "models/fabric/outside_internal.h"

#define SOON_PS BF_MS

static struct end a, b;

static void setup(void)
{
	end_open(&a, 0);
	end_open(&b, 0);
	end_send(&a, &b, 0, 64); /* they have met */
	end_pump(&a, 10);
	end_receive(&b, 1);
	end_send(&b, &a, 0, 64);
	end_pump(&b, 10);
	end_receive(&a, 1);
}

static void teardown(void)
{
	end_close(&a);
	end_close(&b);
}

/* Asks as a time-out does that is due, and again in a moment as long as it is to wait, but no more than `times`. */
static bool at_fault(struct bf_fabric_wait *wait, uint32_t times)
{
	const uint32_t qpn = end_qpn(1, 0);

	while (!bf_port_tx_unanswered(a.port, b.ipv4, qpn, wait)) {
		if (!times--)
			return false;
		a.sim->now_ps += SOON_PS;
	}
	return true;
}

START_TEST(nothing_was_sent_lately)
{
	struct bf_fabric_wait wait = { 0 };

	ck_assert(at_fault(&wait, 1));
}
END_TEST

/* Each step that the peer may be stopped before: it takes the frame, it answers, the answer is taken here. */
START_TEST(until_the_answer_is_taken)
{
	struct bf_fabric_wait wait = { 0 };

	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	ck_assert(!at_fault(&wait, 100));
	bf_outside_poll(b.outside, 10);
	ck_assert_uint_eq(b.frames, 2);
	ck_assert(!at_fault(&wait, 100));
	end_send(&b, &a, 0, 64);
	ck_assert(!at_fault(&wait, 100));
	bf_outside_flush(b.outside);
	ck_assert(!at_fault(&wait, 100));
	end_pump(&a, 10);
	ck_assert_uint_eq(a.frames, 2);
	ck_assert(at_fault(&wait, 0));
}
END_TEST

/* The frame before this process's own thread got a processor: it is in the ring, and nobody was told. */
START_TEST(what_has_not_left)
{
	struct bf_fabric_wait wait = { 0 };

	end_send(&a, &b, 0, 64);
	ck_assert(!at_fault(&wait, 100));
	bf_outside_poll(b.outside, 10);
	ck_assert_uint_eq(b.frames, 1);
}
END_TEST

/* Others who go on sending, both ways, are no reason to wait for ever. */
START_TEST(others_go_on)
{
	struct bf_fabric_wait wait = { 0 };

	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	ck_assert(!at_fault(&wait, 1));
	end_send(&b, &a, 1, 64);
	end_pump(&b, 10);
	ck_assert(!at_fault(&wait, 1));
	end_send(&a, &b, 1, 64);
	end_pump(&a, 10);
	end_send(&b, &a, 1, 64);
	bf_outside_flush(b.outside);
	ck_assert(at_fault(&wait, 0));
}
END_TEST

/* Its answer waits for room: it has not said all that it has to say. */
START_TEST(answers_held_back)
{
	struct bf_fabric_wait wait = { 0 };
	uint32_t n = 0;

	while (!bf_outside_blocked(b.outside) && ++n < 10000)
		end_send(&b, &a, 1, 4096);
	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	end_pump(&b, 10);
	end_send(&b, &a, 0, 64);
	end_pump(&b, 10);
	ck_assert(!at_fault(&wait, 100));
	bf_outside_poll(a.outside, 10000);
	ck_assert(!at_fault(&wait, 100));
	for (uint32_t i = 0; i < 10 && bf_outside_blocked(b.outside); i++) {
		end_pump(&b, 10);
		end_pump(&a, 10000);
	}
	ck_assert_uint_eq(a.arrived[0], 2);
	ck_assert(at_fault(&wait, 1));
}
END_TEST

START_TEST(it_has_gone)
{
	struct bf_fabric_wait wait = { 0 };

	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	ck_assert(!at_fault(&wait, 1));
	end_send(&b, &a, 0, 64);
	end_close(&b);
	end_open(&b, 0); /* and another one has its place */
	memset(&wait, 0, sizeof(wait));
	ck_assert(!bf_port_tx_unanswered(a.port, b.ipv4, end_qpn(1, 0), &wait)); /* it hears of that just now */
	end_pump(&a, 10);
	ck_assert(at_fault(&wait, 0));
}
END_TEST

/* Its last words count. */
START_TEST(it_has_answered_and_gone)
{
	struct bf_fabric_wait wait = { 0 };

	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	bf_outside_poll(b.outside, 10);
	end_send(&b, &a, 0, 64);
	bf_outside_flush(b.outside);
	end_close(&b);
	end_open(&b, 0);
	ck_assert(!at_fault(&wait, 100));
	end_pump(&a, 10);
	ck_assert_uint_eq(a.frames, 2);
	ck_assert(at_fault(&wait, 0));
}
END_TEST

/* Stopped, or in a debugger: its peers give up in the end; not when it only goes on slowly. */
START_TEST(it_stands_still)
{
	struct bf_fabric_wait wait = { 0 };
	const uint32_t patience = BF_UPLINK_PATIENCE_PS / SOON_PS;

	for (int i = 0; i < 4; i++)
		end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	for (int i = 0; i < 3; i++) {
		ck_assert(!at_fault(&wait, patience - 10));
		end_pump(&b, 1);
	}
	ck_assert_uint_eq(b.frames, 4);
	ck_assert(!at_fault(&wait, patience - 10));
	ck_assert(at_fault(&wait, 10));
	end_pump(&b, 1); /* and is alive all the same */
	memset(&wait, 0, sizeof(wait));
	ck_assert(at_fault(&wait, 0));
	end_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	memset(&wait, 0, sizeof(wait));
	ck_assert(!at_fault(&wait, patience - 10));
}
END_TEST

/* What a peer does to its account spoils its own cause. */
START_TEST(spoilt_accounts)
{
	const uint64_t accounts[] = { 1, UINT64_MAX, (uint64_t)1 << 63 };
	struct bf_shm_ring *ring = &a.outside->peers[1]->ring;
	struct bf_fabric_wait wait = { 0 };

	for (size_t i = 0; i < BF_ARRAY_LEN(accounts); i++) {
		end_send(&a, &b, 0, 64);
		bf_outside_flush(a.outside);
		ring->shared->answered = accounts[i];
		memset(&wait, 0, sizeof(wait));
		ck_assert_int_eq(at_fault(&wait, 10), i > 0);
	}
	end_pump(&b, 10);
	ck_assert_uint_eq(b.frames, 1 + BF_ARRAY_LEN(accounts));
}
END_TEST

/* By UDP the kernel says what lies in another socket of this machine. */
START_TEST(unread_datagrams)
{
	const struct bf_outside_opts one = { .network = end_network(), .udp_ipv4 = 0x7f000102, .udp_port = 14791 };
	const struct bf_outside_opts other = { .network = end_network(), .udp_ipv4 = 0x7f000103, .udp_port = 14791 };
	struct bf_fabric_wait wait = { 0 };

	teardown();
	end_open_with(&a, &one, NULL);
	end_open_with(&b, &other, NULL);
	ck_assert(at_fault(&wait, 1));
	end_send_to(&a, b.ipv4, end_qpn(0, 0), 0, 64);
	bf_outside_flush(a.outside);
	memset(&wait, 0, sizeof(wait));
	ck_assert(!at_fault(&wait, 100));
	end_receive(&b, 1);
	ck_assert(at_fault(&wait, 0));
	end_send_to(&a, b.ipv4, end_qpn(0, 0), 0, 64);
	bf_outside_flush(a.outside);
	memset(&wait, 0, sizeof(wait));
	ck_assert(!at_fault(&wait, 100));
	a.sim->now_ps += BF_UPLINK_PATIENCE_PS;
	ck_assert(at_fault(&wait, 0));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("outside_starved");
	TCase *c = tcase_create("time-outs");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_set_timeout(c, 120);
	tcase_add_test(c, nothing_was_sent_lately);
	tcase_add_test(c, until_the_answer_is_taken);
	tcase_add_test(c, what_has_not_left);
	tcase_add_test(c, others_go_on);
	tcase_add_test(c, answers_held_back);
	tcase_add_test(c, it_has_gone);
	tcase_add_test(c, it_has_answered_and_gone);
	tcase_add_test(c, it_stands_still);
	tcase_add_test(c, spoilt_accounts);
	tcase_add_test(c, unread_datagrams);
	suite_add_tcase(s, c);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
