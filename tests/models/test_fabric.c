/* Ports and wires: when frames arrive, in which order, and what faults do to them. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "models/fabric/fabric_internal.h"
#include "models/fabric/roce.h"

#define PORTS 4u
#define WIRE 24u
#define MANY 64u

static struct bf_sim *sim;
static struct bf_fabric *fabric;
static struct bf_port *ports[PORTS];

/* What arrived, in order. */
static struct arrival {
	uint64_t when, id;
	uint32_t port, len, tag;
} seen[4096];
static uint32_t arrivals;
static bool echo;
static uint32_t owners[PORTS] = { 0, 1, 2, 3 };

static void send_to(uint32_t from, uint32_t to, uint32_t len, uint32_t tag);

static void on_frame(void *owner, struct bf_packet *pkt)
{
	uint32_t at = *(const uint32_t *)owner;
	struct arrival *a = &seen[arrivals++ % 4096];

	*a = (struct arrival){ sim->now_ps, pkt->id, at, pkt->len, bf_get_le32(pkt->data + 60) };
	bf_packet_free(pkt);
	if (echo && a->tag < 100)
		send_to(at, (at + 1) % PORTS, a->len, a->tag + 1);
}

/* One picosecond a byte, 1000 ps of latency for each half. */
static void setup(void)
{
	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	ck_assert_int_eq(bf_fabric_create(sim, &fabric), 0);
	for (uint32_t i = 0; i < PORTS; i++) {
		static const char *const names[PORTS] = { "nic0.p1", "nic1.p1", "nic2.p1", "nic3.p1" };
		struct bf_port_opts opts = {
			.name = names[i],
			.ipv4 = 0x0a000004 - i, /* not in order of creation */
			.latency_ps = 1000,
			.ps_per_kib = 1024,
			.rx = on_frame,
			.owner = &owners[i],
		};

		ck_assert_int_eq(bf_fabric_attach(fabric, &opts, &ports[i]), 0);
	}
	arrivals = 0;
	echo = false;
}

static void teardown(void)
{
	bf_fault_plan_destroy(sim->faults);
	bf_fabric_destroy(fabric);
	bf_sim_destroy(sim);
}

static struct bf_packet *make_frame(uint32_t to, uint32_t len, uint32_t tag)
{
	struct bf_packet *pkt = bf_packet_alloc(fabric);

	ck_assert_ptr_nonnull(pkt);
	ck_assert_uint_eq((uintptr_t)pkt->data % 64, 0);
	ck_assert_uint_eq(pkt->len, 0);
	memset(pkt->data, 0, len > 64 ? len : 64);
	bf_put_be16(pkt->data + 12, 0x0800);
	bf_put_be32(pkt->data + 30, 0x0a000004 - to);
	bf_put_be16(pkt->data + 36, BF_ROCE_UDP_PORT);
	bf_put_be24(pkt->data + 47, 0x40 + to);
	bf_put_le32(pkt->data + 60, tag);
	pkt->len = len;
	return pkt;
}

static void send_to(uint32_t from, uint32_t to, uint32_t len, uint32_t tag)
{
	bf_port_send(ports[from], make_frame(to, len, tag));
}

static struct bf_port_info info(uint32_t port)
{
	struct bf_port_info i;

	bf_port_info(ports[port], &i);
	return i;
}

static void plan(const char *text)
{
	ck_assert_msg(!bf_fault_plan_parse(text, 3, &sim->error, &sim->faults), "%s", sim->error.text);
}

START_TEST(a_frame_takes_two_links)
{
	send_to(0, 1, 100, 7);
	ck_assert_uint_eq(bf_port_tx_free_ps(ports[0]), 124);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(arrivals, 1);
	ck_assert_uint_eq(seen[0].when, 2 * (100 + WIRE) + 2000);
	ck_assert_uint_eq(seen[0].port, 1);
	ck_assert_uint_eq(seen[0].tag, 7);
	ck_assert_uint_eq(seen[0].id, 0x0a000004ull << 32 | 1);
	ck_assert_uint_eq(info(0).tx_packets, 1);
	ck_assert_uint_eq(info(0).tx_bytes, 100);
	ck_assert_uint_eq(info(1).rx_bytes, 100);
	ck_assert_uint_eq(info(1).dropped + info(0).dropped, 0);
}
END_TEST

START_TEST(frames_of_one_sender_stay_in_order_and_pipeline)
{
	for (uint32_t i = 0; i < 1000; i++)
		send_to(0, 1, 100 + i % 50, i);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(arrivals, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(seen[i].tag, i);
	/* all wire times once, the last (or a longer one before it) twice */
	ck_assert_uint_ge(seen[999].when, 1000 * (124 + 24) + 500 + 2000 + 149);
	ck_assert_uint_le(seen[999].when, 1000 * (124 + 25) + 2000 + 2 * 173);
}
END_TEST

START_TEST(senders_share_a_receivers_link)
{
	for (uint32_t i = 0; i < MANY; i++)
		for (uint32_t from = 1; from < PORTS; from++)
			send_to(from, 0, 1000, from);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(arrivals, 3 * MANY);
	/* first frames arrive at the switch together and queue; then the link never idles */
	ck_assert_uint_eq(seen[0].when, 2 * 1024 + 2000);
	ck_assert_uint_eq(seen[3 * MANY - 1].when, 1024 + 3 * MANY * 1024 + 2000);
	for (uint32_t i = 0; i < 3 * MANY; i++)
		ck_assert_uint_eq(seen[i].tag, 3 - i % 3); /* by address */
}
END_TEST

START_TEST(an_earlier_arrival_at_the_switch_goes_first)
{
	send_to(1, 0, 4000, 1); /* sent first, but longer on its own link */
	send_to(2, 0, 100, 2);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(seen[0].tag, 2);
	ck_assert_uint_eq(seen[0].when, 2 * 124 + 2000);
	ck_assert_uint_eq(seen[1].when, 2 * 4024 + 2000);
}
END_TEST

START_TEST(receivers_may_send_and_talk_to_themselves)
{
	echo = true;
	for (uint32_t i = 0; i < PORTS; i++)
		send_to(i, i, 64, 0);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(arrivals, PORTS * 101);
}
END_TEST

START_TEST(frames_for_nobody)
{
	struct bf_packet *arp = make_frame(1, 64, 0), *stub = make_frame(1, 20, 0), *huge = make_frame(1, 64, 0);

	send_to(0, 77, 100, 0);
	bf_put_be16(arp->data + 12, 0x0806);
	bf_port_send(ports[0], arp);
	bf_port_send(ports[0], stub);
	huge->len = BF_PACKET_MAX + 1;
	bf_port_send(ports[0], huge);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(arrivals, 0);
	ck_assert_uint_eq(info(0).dropped, 4);
}
END_TEST

START_TEST(addresses)
{
	struct bf_port_opts opts = { .name = "twin", .ipv4 = 0x0a000001, .rx = on_frame };
	struct bf_port *p;
	uint8_t mac[6];

	ck_assert_int_eq(bf_fabric_attach(fabric, &opts, &p), -EEXIST);
	ck_assert_int_eq(bf_fabric_resolve(fabric, 0x0a0000ff, mac), -ENOENT);
	ck_assert_int_eq(bf_fabric_resolve(fabric, 0x0a000003, mac), 0);
	ck_assert_mem_eq(mac, info(1).mac, 6);
	ck_assert_uint_eq(mac[0], 0x02);
	ck_assert_uint_eq(bf_get_be32(mac + 2), 0x0a000003);
	ck_assert_str_eq(info(2).name, "nic2.p1");
	opts.ipv4 = 1;
	memcpy(opts.mac, "\x11\x22\x33\x44\x55\x66", 6);
	ck_assert_int_eq(bf_fabric_attach(fabric, &opts, &p), 0);
	ck_assert_int_eq(bf_fabric_resolve(fabric, 1, mac), 0);
	ck_assert_mem_eq(mac, opts.mac, 6);
}
END_TEST

START_TEST(a_cut_link_loses_what_is_on_it)
{
	send_to(0, 1, 100, 0); /* has left nic0 when that is cut */
	send_to(0, 1, 400, 1); /* is leaving */
	send_to(0, 1, 100, 1); /* waits behind it */
	send_to(2, 3, 100, 2); /* on its way from the switch when nic3 is cut */
	bf_sim_run(sim, 124);
	bf_port_set_link(ports[0], false);
	bf_sim_run(sim, 1500);
	bf_port_set_link(ports[3], false);
	ck_assert(!info(3).up);
	send_to(0, 1, 100, 3); /* own link is down */
	send_to(1, 0, 100, 4); /* receiver's link is down */
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(arrivals, 1);
	ck_assert_uint_eq(seen[0].tag, 0);
	ck_assert_uint_eq(info(0).dropped, 3);
	ck_assert_uint_eq(info(1).dropped, 1);
	ck_assert_uint_eq(info(2).dropped, 1);
	bf_port_set_link(ports[0], true);
	send_to(0, 1, 100, 5);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(arrivals, 2);
	ck_assert_uint_eq(seen[1].tag, 5);
}
END_TEST

START_TEST(drop_by_queue)
{
	plan("drop on=nic0* qp=0x42 skip=1 count=2");
	for (uint32_t i = 0; i < 5; i++) {
		send_to(0, 1, 100, i);
		send_to(0, 2, 100, i);
		send_to(3, 2, 100, i);
	}
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(arrivals, 13);
	ck_assert_uint_eq(info(0).dropped, 2);
	ck_assert_uint_eq(info(2).rx_packets, 8);
}
END_TEST

START_TEST(duplicate_arrives_twice)
{
	plan("duplicate skip=1");
	for (uint32_t i = 0; i < 3; i++)
		send_to(0, 1, 100, i);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(arrivals, 4);
	ck_assert_uint_eq(seen[1].tag, 1);
	ck_assert_uint_eq(seen[2].tag, 1);
	ck_assert_uint_eq(seen[1].id, seen[2].id);
	ck_assert_uint_eq(seen[3].tag, 2);
}
END_TEST

START_TEST(delay_keeps_the_order)
{
	plan("delay skip=1 delay=1us");
	for (uint32_t i = 0; i < 4; i++)
		send_to(0, 1, 100, i);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(seen[0].when, 2 * 124 + 2000);
	ck_assert_uint_eq(seen[1].when, 3 * 124 + 2000 + 1000000);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_uint_eq(seen[i].tag, i);
}
END_TEST

START_TEST(reorder_lets_others_pass)
{
	plan("reorder skip=1 count=2");
	for (uint32_t i = 0; i < 5; i++)
		send_to(0, 1, 100, i);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(arrivals, 5);
	ck_assert_uint_eq(seen[1].tag, 3);
	ck_assert_uint_eq(seen[3].tag, 1);
	ck_assert_uint_eq(seen[3].when, 3 * 124 + 2000 + BF_FABRIC_REORDER_PS);
	ck_assert_uint_eq(seen[4].tag, 2);
}
END_TEST

static struct bf_packet *kept;

static void keep_frame(void *owner, struct bf_packet *pkt)
{
	(void)owner;
	kept = pkt;
}

START_TEST(corruption_breaks_the_icrc_and_nothing_else)
{
	struct bf_port_opts opts = { .name = "keeper", .ipv4 = 9, .rx = keep_frame };
	struct bf_roce_path_opts path_opts = { .dst_ipv4 = 9, .udp_src_port = 0xc000, .ttl = 64 };
	struct bf_roce r = { .opcode = BF_RC_WRITE_ONLY, .payload_len = 32 }, back;
	struct bf_roce_path path;
	struct bf_port *p;

	plan("corrupt prob=1");
	ck_assert_int_eq(bf_fabric_attach(fabric, &opts, &p), 0);
	bf_roce_path_init(&path, &path_opts);
	for (int i = 0; i < 2000; i++) {
		struct bf_packet *pkt = bf_packet_alloc(fabric);
		uint8_t sent[200];
		uint32_t flipped = 0, at = bf_roce_build(pkt->data, &path, &r);

		memset(pkt->data + at, i, 32);
		pkt->len = bf_roce_finish(pkt->data, &r, at, true);
		memcpy(sent, pkt->data, pkt->len);
		bf_port_send(ports[0], pkt);
		bf_sim_run(sim, BF_NEVER);
		for (uint32_t k = 0; k < kept->len; k++)
			flipped += (uint32_t)__builtin_popcount(sent[k] ^ kept->data[k]);
		ck_assert_uint_eq(flipped, 1);
		ck_assert_mem_eq(sent, kept->data, BF_ROCE_BTH_OFFSET);
		ck_assert_int_lt(bf_roce_parse(kept->data, kept->len, true, &back, NULL), 0);
		bf_packet_free(kept);
	}
}
END_TEST

START_TEST(an_injected_outage_ends)
{
	plan("link-down on=nic1* skip=1 delay=3us");
	send_to(1, 0, 100, 0); /* still on the wire when the link goes down */
	send_to(1, 0, 100, 1);
	ck_assert(!info(1).up);
	send_to(0, 1, 100, 2);
	bf_sim_run(sim, 2900000);
	ck_assert(!info(1).up);
	ck_assert_uint_eq(arrivals, 0);
	bf_sim_run(sim, BF_NEVER);
	ck_assert(info(1).up);
	ck_assert_uint_eq(sim->now_ps, 3000000);
	send_to(1, 0, 100, 3);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(arrivals, 1);
	ck_assert_uint_eq(info(1).dropped, 2);
	ck_assert_uint_eq(info(0).dropped, 1);
}
END_TEST

static uint64_t hash_of_run(uint64_t slice)
{
	uint64_t hash;

	setup();
	plan("reorder prob=0.1; duplicate prob=0.1\ndrop prob=0.1; corrupt prob=0.1; delay prob=0.05 delay=2ns");
	ck_assert_int_eq(bf_stream_open(&sim->rec, &sim->now_ps, BF_CLASS_ALL, NULL), 0);
	for (uint32_t i = 0; i < 400; i++)
		send_to(i % PORTS, (i / 3) % PORTS, 64 + i, i);
	while (bf_sim_run(sim, slice ? sim->now_ps + slice : BF_NEVER) == BF_RUN_LIMIT)
		;
	ck_assert_uint_gt(arrivals, 300);
	hash = bf_stream_hash(&sim->rec);
	bf_stream_close(&sim->rec);
	teardown();
	return hash;
}

START_TEST(slicing_a_run_changes_nothing)
{
	uint64_t whole;

	teardown();
	whole = hash_of_run(0);
	ck_assert_uint_eq(hash_of_run(0), whole);
	ck_assert_uint_eq(hash_of_run(13), whole);
	setup();
}
END_TEST

START_TEST(the_pool_is_reused)
{
	struct bf_packet *first = bf_packet_alloc(fabric), *again;

	bf_packet_free(first);
	again = bf_packet_alloc(fabric);
	ck_assert_ptr_eq(again, first);
	bf_packet_free(again);
	for (uint32_t i = 0; i < 100; i++)
		send_to(0, 1, 64, i);
	/* destroyed with frames in flight: nothing leaks */
}
END_TEST

/* Each has room for what was asked for, and goes back to its own kind. */
START_TEST(packets_for_little_payload_are_small)
{
	struct bf_packet *small[3], *large = bf_packet_alloc_for(fabric, 4096), *copy;

	for (uint32_t i = 0; i < 3; i++) {
		small[i] = bf_packet_alloc_for(fabric, 64);
		small[i]->len = BF_PACKET_HEADERS + 64;
		memset(small[i]->data, (int)i + 1, small[i]->len);
	}
	memset(large->data, 9, BF_PACKET_MAX);
	copy = bf_packet_copy(small[1]);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t at = 0; at < small[i]->len; at++)
			ck_assert_uint_eq(small[i]->data[at], i + 1);
	ck_assert_uint_eq(copy->len, small[1]->len);
	ck_assert_mem_eq(copy->data, small[1]->data, copy->len);
	bf_packet_free(large);
	bf_packet_free(small[2]);
	ck_assert_ptr_eq(bf_packet_alloc_for(fabric, 0), small[2]);
	ck_assert_ptr_eq(bf_packet_alloc_for(fabric, 65), large);
	for (uint32_t i = 0; i < 3; i++)
		bf_packet_free(small[i]);
	bf_packet_free(large);
	bf_packet_free(copy);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fabric");
	TCase *t = tcase_create("fabric");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_frame_takes_two_links);
	tcase_add_test(t, frames_of_one_sender_stay_in_order_and_pipeline);
	tcase_add_test(t, senders_share_a_receivers_link);
	tcase_add_test(t, an_earlier_arrival_at_the_switch_goes_first);
	tcase_add_test(t, receivers_may_send_and_talk_to_themselves);
	tcase_add_test(t, frames_for_nobody);
	tcase_add_test(t, addresses);
	tcase_add_test(t, a_cut_link_loses_what_is_on_it);
	tcase_add_test(t, drop_by_queue);
	tcase_add_test(t, duplicate_arrives_twice);
	tcase_add_test(t, delay_keeps_the_order);
	tcase_add_test(t, reorder_lets_others_pass);
	tcase_add_test(t, corruption_breaks_the_icrc_and_nothing_else);
	tcase_add_test(t, an_injected_outage_ends);
	tcase_add_test(t, slicing_a_run_changes_nothing);
	tcase_add_test(t, the_pool_is_reused);
	tcase_add_test(t, packets_for_little_payload_are_small);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
