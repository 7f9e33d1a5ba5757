/* Frames to multicast groups at the ideal switch: who gets them, what faults do to them, and what an uplink hears. */
#include <check.h>
#include <errno.h>

#include "models/fabric/fabric.h"
#include "models/fabric/roce.h"
#include "sim/stats.h"

#define PORTS 4u
#define GROUP 0xe0000007u
#define ANOTHER 0xefffffffu

static struct bf_sim *sim;
static struct bf_fabric *fabric;
static struct bf_port *ports[PORTS];
static bool spoilt; /* frames are */
static uint32_t got[PORTS], owners[PORTS] = { 0, 1, 2, 3 };
static uint64_t when[PORTS];

static void on_frame(void *owner, struct bf_packet *pkt)
{
	const uint32_t at = *(const uint32_t *)owner;

	ck_assert_uint_eq(pkt->len, 100);
	for (uint32_t i = 60; i < 100 && !spoilt; i++)
		ck_assert_uint_eq(pkt->data[i], i);
	got[at]++;
	when[at] = sim->now_ps;
	bf_packet_free(pkt);
}

static void setup(void)
{
	static const char *const names[PORTS] = { "nic0.p1", "nic1.p1", "nic2.p1", "nic3.p1" };

	memset(got, 0, sizeof(got));
	spoilt = false;
	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	ck_assert_int_eq(bf_fabric_create(sim, &fabric), 0);
	for (uint32_t i = 0; i < PORTS; i++) {
		const struct bf_port_opts opts = { .name = names[i],
						   .ipv4 = 0x0a000001 + i,
						   .latency_ps = 1000,
						   .ps_per_kib = 1024,
						   .rx = on_frame,
						   .owner = &owners[i] };

		ck_assert_int_eq(bf_fabric_attach(fabric, &opts, &ports[i]), 0);
	}
}

static void teardown(void)
{
	bf_fault_plan_destroy(sim->faults);
	bf_fabric_destroy(fabric);
	bf_sim_destroy(sim);
}

static void send_as(uint32_t from, uint32_t group, uint32_t qpn)
{
	struct bf_packet *pkt = bf_packet_alloc(fabric);

	memset(pkt->data, 0, 60);
	for (uint32_t i = 60; i < 100; i++)
		pkt->data[i] = (uint8_t)i;
	bf_put_be16(pkt->data + 12, 0x0800);
	bf_put_be32(pkt->data + 26, 0x0a000001 + from);
	bf_put_be32(pkt->data + 30, group);
	bf_put_be16(pkt->data + 36, BF_ROCE_UDP_PORT);
	bf_put_be24(pkt->data + 47, qpn);
	pkt->len = 100;
	bf_port_send(ports[from], pkt);
	bf_sim_run(sim, BF_NEVER);
}

static void send(uint32_t from)
{
	send_as(from, GROUP, 0xffffff);
}

static void expect(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const uint32_t want[PORTS] = { a, b, c, d };

	ck_assert_mem_eq(got, want, sizeof(want));
}

static uint64_t lost(uint32_t port)
{
	struct bf_port_info i;

	bf_port_info(ports[port], &i);
	return i.dropped;
}

START_TEST(those_who_want_it_get_one_each)
{
	send(0);
	expect(0, 0, 0, 0);
	ck_assert_uint_eq(lost(0), 1);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(bf_port_join(ports[i], GROUP), 0);
	ck_assert_int_eq(bf_port_join(ports[3], ANOTHER), 0);
	send(0);
	expect(1, 1, 1, 0);
	ck_assert_uint_eq(when[1], when[2]); /* each by its own link */
	send(3);                             /* no member has to be in it to send */
	expect(2, 2, 2, 0);
	send_as(1, ANOTHER, 0xffffff);
	expect(2, 2, 2, 1);
	send_as(1, GROUP, 0x40); /* a group has no queue pair of its own */
	expect(2, 2, 2, 1);
	ck_assert_uint_eq(lost(1), 1);
}
END_TEST

START_TEST(a_port_leaves_as_often_as_it_joined)
{
	ck_assert_int_eq(bf_port_join(ports[1], GROUP), 0);
	ck_assert_int_eq(bf_port_join(ports[1], GROUP), 0);
	bf_port_leave(ports[1], ANOTHER);
	bf_port_leave(ports[2], GROUP);
	bf_port_leave(ports[1], GROUP);
	send(0);
	expect(0, 1, 0, 0);
	bf_port_leave(ports[1], GROUP);
	send(0);
	expect(0, 1, 0, 0);
	ck_assert_uint_eq(lost(0), 1);
}
END_TEST

/* What a fault does to a frame it does to every copy, since all leave by one link. */
START_TEST(faults_concern_all_copies)
{
	static const struct {
		const char *plan;
		uint32_t each;
		uint64_t late_ps;
	} cases[] = {
		{ "drop count=1", 0, 0 },
		{ "duplicate count=1", 2, 124 },
		{ "delay count=1 delay=9us", 1, 9 * BF_US },
		{ "reorder count=1 delay=7us", 1, 7 * BF_US },
	};
	const uint64_t usual = 2 * (1000 + 124);

	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(bf_port_join(ports[i], GROUP), 0);
	ck_assert_msg(!bf_fault_plan_parse(cases[_i].plan, 3, &sim->error, &sim->faults), "%s", sim->error.text);
	send(0);
	expect(cases[_i].each, cases[_i].each, cases[_i].each, 0);
	ck_assert_uint_eq(lost(0), !cases[_i].each);
	for (uint32_t i = 0; i < 3 && cases[_i].each; i++)
		ck_assert_uint_eq(when[i], usual + cases[_i].late_ps);
}
END_TEST

/* Whichever bit is wrong, that of the queue pair's number too: only receivers look there. */
START_TEST(spoilt_frames_arrive)
{
	spoilt = true;
	ck_assert_int_eq(bf_port_join(ports[1], GROUP), 0);
	ck_assert_msg(!bf_fault_plan_parse("corrupt prob=1", 3, &sim->error, &sim->faults), "%s", sim->error.text);
	for (uint32_t i = 0; i < 200; i++)
		send(0);
	expect(0, 200, 0, 0);
}
END_TEST

START_TEST(a_link_that_is_down_loses_its_copy)
{
	ck_assert_int_eq(bf_port_join(ports[1], GROUP), 0);
	ck_assert_int_eq(bf_port_join(ports[2], GROUP), 0);
	bf_port_set_link(ports[1], false);
	send(0);
	expect(0, 0, 1, 0);
	ck_assert_uint_eq(lost(0), 1);
}
END_TEST

/* ---- an uplink ---- */

struct beyond {
	uint32_t in, out, sent, group;
	bool wants;
	int says;
};

static bool takes(void *owner, uint32_t ipv4, const struct bf_packet *pkt)
{
	const struct beyond *b = owner;

	(void)pkt;
	return ipv4 == GROUP && b->wants;
}

static void take(void *owner, struct bf_packet *pkt)
{
	struct beyond *b = owner;

	b->sent++;
	bf_packet_free(pkt);
}

static int group(void *owner, uint32_t ipv4, bool in)
{
	struct beyond *b = owner;

	b->group = ipv4;
	b->in += in;
	b->out += !in;
	return b->says;
}

START_TEST(an_uplink_hears_of_the_first_and_the_last)
{
	struct beyond b = { .wants = true };
	const struct bf_fabric_uplink uplink = { .takes = takes, .send = take, .group = group, .owner = &b };

	ck_assert_int_eq(bf_port_join(ports[0], GROUP), 0);
	ck_assert_int_eq(bf_port_join(ports[1], GROUP), 0);
	ck_assert_int_eq(bf_fabric_set_uplink(fabric, &uplink), 0);
	ck_assert_uint_eq(b.in, 1); /* of what was there before */
	ck_assert_uint_eq(b.group, GROUP);
	send(0);
	expect(1, 1, 0, 0);
	ck_assert_uint_eq(b.sent, 1);
	bf_port_leave(ports[0], GROUP);
	ck_assert_uint_eq(b.out, 0);
	bf_port_leave(ports[1], GROUP);
	ck_assert_uint_eq(b.out, 1);
	send(0);
	ck_assert_uint_eq(b.sent, 2);
	ck_assert_uint_eq(lost(0), 0);
	b.wants = false;
	send(0);
	ck_assert_uint_eq(b.sent, 2);
	ck_assert_uint_eq(lost(0), 1);
	b.says = -ENODEV;
	ck_assert_int_eq(bf_port_join(ports[2], ANOTHER), -ENODEV);
	b.says = 0;
	ck_assert_int_eq(bf_port_join(ports[2], ANOTHER), 0); /* nothing was left of the first try */
	ck_assert_uint_eq(b.in, 3);
	ck_assert_int_eq(bf_fabric_set_uplink(fabric, NULL), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fabric_group");
	TCase *tc = tcase_create("groups");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, those_who_want_it_get_one_each);
	tcase_add_test(tc, a_port_leaves_as_often_as_it_joined);
	tcase_add_loop_test(tc, faults_concern_all_copies, 0, 4);
	tcase_add_test(tc, spoilt_frames_arrive);
	tcase_add_test(tc, a_link_that_is_down_loses_its_copy);
	tcase_add_test(tc, an_uplink_hears_of_the_first_and_the_last);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
