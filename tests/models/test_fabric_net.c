/* Topologies of several switches: routes, queues, marks, pauses, broken links, and the same on several ranks. */
#include <errno.h>

#include "tests/models/fabric_rig.h"

#define DATA 0x6a /* DSCP 26, ECT(0): priority 3 */
#define LEAF_SPINE "leaf-spine leaves=4 spines=4 hosts-per-leaf=4 "

/* Sums and maxima over links whose name begins like this. */
struct total {
	const char *prefix;
	struct bf_fabric_link sum;
	uint32_t links, used;
};

static void add_link(void *arg, const struct bf_fabric_link *l)
{
	struct total *t = arg;

	if (strncmp(l->name, t->prefix, strlen(t->prefix)) != 0)
		return;
	t->links++;
	t->used += l->packets != 0;
	t->sum.packets += l->packets;
	t->sum.bytes += l->bytes;
	t->sum.dropped += l->dropped;
	t->sum.marked += l->marked;
	t->sum.pauses += l->pauses;
	t->sum.pause_ps += l->pause_ps;
	t->sum.busy_ps += l->busy_ps;
	t->sum.queue_max = l->queue_max > t->sum.queue_max ? l->queue_max : t->sum.queue_max;
	t->sum.queue_mean += l->queue_mean;
	t->sum.up |= l->up;
}

static struct total total(const struct rig *r, const char *prefix)
{
	struct total t = { .prefix = prefix };

	bf_fabric_links(r->fabric[0], add_link, &t);
	return t;
}

static void expect_all(const struct rig *r, uint64_t frames)
{
	uint64_t got = 0, lost = 0;

	for (uint32_t h = 0; h < r->hosts; h++) {
		got += r->ports[h].frames;
		lost += rig_info(r, h).dropped;
		ck_assert(!r->ports[h].disordered);
	}
	ck_assert_uint_eq(got + lost, frames);
}

START_TEST(all_pairs_reach_each_other)
{
	static const char *const texts[] = { "switch", LEAF_SPINE, "rail rails=4 leaves=2 spines=3 hosts-per-leaf=2",
					     "leaf-spine leaves=1 spines=0 hosts-per-leaf=16" };
	struct rig *r = rig_new(texts[_i], 16, 1, NULL);

	for (uint32_t a = 0; a < 16; a++)
		for (uint32_t b = 0; b < 16; b++)
			rig_send(r, a, b, 0, 100 + a, DATA, b + 1);
	ck_assert(rig_run(r, BF_NEVER));
	for (uint32_t h = 0; h < 16; h++)
		ck_assert_uint_eq(r->ports[h].frames, 16);
	expect_all(r, 256);
	rig_free(r);
}
END_TEST

START_TEST(a_frame_takes_as_long_as_its_links)
{
	struct rig *r = rig_new(LEAF_SPINE "latency=1us uplink=100G", 16, 1, NULL);
	uint64_t wire;

	rig_send(r, 0, 1, 0, 1000, DATA, 1);
	wire = ((1000 + 42 + 28 + 4 + 24) * 20480ull + 1023) / 1024;
	rig_run(r, BF_NEVER);
	ck_assert_uint_eq(r->sim[0]->now_ps, 2 * (wire + BF_US));
	rig_free(r);
	r = rig_new(LEAF_SPINE "latency=1us uplink=100G", 16, 1, NULL);
	rig_send(r, 0, 15, 0, 1000, DATA, 1);
	rig_run(r, BF_NEVER);
	ck_assert_uint_eq(r->sim[0]->now_ps, 2 * (wire + BF_US) + 2 * (wire * 4 + BF_US));
	ck_assert_uint_eq(total(r, "leaf0-host0").sum.packets, 0);
	ck_assert_uint_eq(total(r, "leaf3-host15").sum.packets, 1);
	ck_assert_uint_eq(total(r, "leaf0-spine").used, 1);
	rig_free(r);
}
END_TEST

START_TEST(rails_without_spines_are_apart)
{
	struct rig *r = rig_new("rail rails=4 spines=0 hosts-per-leaf=4", 16, 1, NULL);

	rig_send(r, 0, 4, 0, 100, DATA, 1); /* host 0 to host 1, both rail 0 */
	rig_send(r, 0, 1, 0, 100, DATA, 1); /* rail 0 to rail 1 */
	rig_run(r, BF_NEVER);
	ck_assert_uint_eq(r->ports[4].frames, 1);
	ck_assert_uint_eq(r->ports[1].frames, 0);
	ck_assert_uint_eq(rig_info(r, 0).dropped, 1);
	rig_free(r);
}
END_TEST

START_TEST(flows_spread_and_stay_in_order)
{
	struct rig *r = rig_new(LEAF_SPINE, 16, 1, NULL);
	struct total t;

	for (uint32_t i = 0; i < 4000; i++)
		rig_send(r, i % 4, 4 + i % 12, i / 48 % 64, 256, DATA, i + 1);
	rig_run(r, BF_NEVER);
	expect_all(r, 4000);
	t = total(r, "leaf0-spine");
	ck_assert_uint_eq(t.used, 4);
	ck_assert_uint_eq(t.sum.packets, 4000);
	for (uint32_t s = 0; s < 4; s++) {
		char name[16];

		snprintf(name, sizeof(name), "leaf0-spine%u", s);
		ck_assert_uint_ge(total(r, name).sum.packets, 600);
		ck_assert_uint_le(total(r, name).sum.packets, 1400);
	}
	rig_free(r);
}
END_TEST

/* Fifteen senders, one receiver. */
static struct rig *incast(const char *text, uint32_t frames, uint8_t tos, const char *faults, uint32_t ranks)
{
	struct rig *r = rig_new(text, 16, ranks, faults);

	for (uint32_t i = 0; i < frames; i++)
		for (uint32_t h = 1; h < 16; h++)
			rig_send(r, h, 0, 0, 4096, tos, i + 1);
	rig_run(r, BF_NEVER);
	return r;
}

START_TEST(a_hot_receiver_overflows_a_lossy_switch)
{
	struct rig *r = incast(LEAF_SPINE "buffer=1M queue=256K pfc=off ecn=off", 200, DATA, NULL, 1);

	expect_all(r, 15 * 200);
	ck_assert_uint_lt(r->ports[0].frames, 15 * 200);
	ck_assert_uint_gt(total(r, "leaf0-host0").sum.dropped, 100);
	ck_assert_uint_le(total(r, "leaf0-host0").sum.queue_max, 256 * 1024 + 4352);
	ck_assert_uint_gt(total(r, "leaf0-host0").sum.queue_max, 240 * 1024);
	ck_assert_uint_eq(total(r, "").sum.pauses, 0);
	ck_assert_uint_eq(total(r, "").sum.marked, 0);
	rig_free(r);
}
END_TEST

START_TEST(pauses_lose_nothing_and_end)
{
	struct rig *r = incast(LEAF_SPINE "buffer=2M xoff=64K xon=32K ecn=off", 200, DATA, NULL, 1);
	struct total all = total(r, "");

	expect_all(r, 15 * 200);
	ck_assert_uint_eq(r->ports[0].frames, 15 * 200);
	ck_assert_uint_eq(all.sum.dropped, 0);
	ck_assert_uint_gt(all.sum.pauses, 15);
	/* They spread: from the hot leaf over the spines to the senders' leaves, and to hosts. */
	ck_assert_uint_gt(total(r, "spine").sum.pause_ps, 0);
	ck_assert_uint_gt(total(r, "leaf1-spine").sum.pause_ps, 0);
	ck_assert_uint_gt(total(r, "host5").sum.pause_ps, 0);
	ck_assert_uint_eq(total(r, "leaf0-host0").sum.pause_ps, 0);
	/* The receiver's link never idles: 3000 frames, one after the other. */
	ck_assert_uint_ge(r->sim[0]->now_ps, total(r, "leaf0-host0").sum.busy_ps);
	ck_assert_uint_le(r->sim[0]->now_ps - total(r, "leaf0-host0").sum.busy_ps, 5 * BF_US);
	rig_free(r);
}
END_TEST

START_TEST(a_paused_priority_lets_others_pass)
{
	struct rig *r = rig_new(LEAF_SPINE "buffer=2M xoff=64K xon=32K", 16, 1, NULL);

	for (uint32_t i = 0; i < 200; i++)
		for (uint32_t h = 1; h < 16; h++)
			rig_send(r, h, 0, 0, 4096, DATA, i + 1);
	rig_run(r, 20 * BF_US);
	ck_assert_uint_gt(total(r, "host5").sum.pauses, 0);
	rig_send(r, 5, 9, 1, 64, 0xc0, 1); /* priority 6: control */
	rig_run(r, 23 * BF_US);
	ck_assert_uint_eq(r->ports[9].frames, 1);
	rig_send(r, 5, 9, 1, 64, DATA, 1); /* head of line: its way is free, its priority is not */
	rig_run(r, 26 * BF_US);
	ck_assert_uint_eq(r->ports[9].frames, 1);
	ck_assert(rig_run(r, BF_NEVER));
	ck_assert_uint_eq(r->ports[9].frames, 2);
	rig_free(r);
}
END_TEST

START_TEST(congestion_marks_who_can_be_marked)
{
	struct rig *r = incast(LEAF_SPINE "kmin=64K kmax=256K pmax=20", 100, DATA, NULL, 1), *deaf;
	uint64_t marked = r->ports[0].marked;

	ck_assert_uint_gt(marked, 300);
	ck_assert_uint_lt(marked, 1500);
	ck_assert_uint_le(marked, total(r, "").sum.marked); /* a frame may be marked again */
	rig_free(r);
	deaf = incast(LEAF_SPINE "kmin=64K kmax=256K pmax=20", 100, DATA & 0xfc, NULL, 1);
	ck_assert_uint_eq(deaf->ports[0].frames, 1500);
	ck_assert_uint_eq(deaf->ports[0].marked, 0);
	rig_free(deaf);
	/* Far below kmax: about one in a hundred at a depth of a tenth of the way and pmax 10. */
	r = incast(LEAF_SPINE "kmin=64K kmax=4M pmax=10 xoff=1M", 100, DATA, NULL, 1);
	ck_assert_uint_gt(r->ports[0].marked, 5);
	ck_assert_uint_lt(r->ports[0].marked, 150);
	rig_free(r);
}
END_TEST

/* Fifteen senders that keep 2 us of work in their port, for 2 ms. Bytes that the receiver got. */
static struct rig *keep_sending(const char *text, uint32_t ranks)
{
	struct rig *r = rig_new(text, 16, ranks, NULL);
	uint32_t n = 0;

	for (uint64_t t = BF_US; t <= 2 * BF_MS; t += BF_US) {
		for (uint32_t h = 1; h < 16; h++)
			while (bf_port_tx_free_ps(r->ports[h].port) < t + BF_US)
				rig_send(r, h, 0, 0, 4096, DATA, ++n);
		rig_run(r, t);
	}
	ck_assert(rig_run(r, BF_NEVER));
	return r;
}

START_TEST(senders_slow_down)
{
	static const char text[] = LEAF_SPINE "buffer=8M xoff=256K xon=128K kmin=50K kmax=200K";
	struct rig *off = keep_sending(text, 1), *on, *again;
	char with[256];

	snprintf(with, sizeof(with), "%s cc=on", text);
	on = keep_sending(with, 1);
	ck_assert_uint_gt(total(off, "").sum.pauses, 500);
	ck_assert_uint_lt(total(on, "").sum.pauses, total(off, "").sum.pauses / 4);
	ck_assert_uint_lt(total(on, "leaf0-host0").sum.queue_mean, total(off, "leaf0-host0").sum.queue_mean / 2);
	/* The price: alpha starts at one and falls slowly, so that for a start each CNP halves a rate. */
	ck_assert_uint_gt(total(on, "leaf0-host0").sum.bytes, total(off, "leaf0-host0").sum.bytes * 4 / 10);
	ck_assert_uint_eq(total(on, "").sum.dropped, 0);
	ck_assert_uint_gt(rig_info(on, 0).tx_packets, 100); /* CNPs */
	ck_assert_uint_eq(rig_info(off, 0).tx_packets, 0);
	ck_assert(!on->ports[0].disordered);
	again = keep_sending(with, 1);
	for (uint32_t h = 0; h < 16; h++)
		ck_assert_uint_eq(on->ports[h].chain, again->ports[h].chain);
	rig_free(off);
	rig_free(on);
	rig_free(again);
}
END_TEST

static uint32_t bad_frames;

static void parse_it(void *owner, struct bf_packet *pkt)
{
	struct bf_roce q;

	*(uint64_t *)owner += (pkt->data[15] & 3) == 3;
	bad_frames += bf_roce_parse(pkt->data, pkt->len, true, &q, NULL) != 0;
	bf_packet_free(pkt);
}

START_TEST(a_marked_frame_still_checks)
{
	struct rig *r = rig_new(LEAF_SPINE "kmin=0 kmax=8K pmax=100", 15, 1, NULL);
	uint64_t marked = 0;
	struct bf_port_opts opts = {
		.name = "judge", .ipv4 = 0x0a000010, .rx = parse_it, .owner = &marked, .host = 15
	};
	struct bf_port *judge;

	bad_frames = 0;
	ck_assert_int_eq(bf_fabric_attach(r->fabric[0], &opts, &judge), 0);
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t h = 0; h < 15; h++)
			rig_send(r, h, 15, i, 100 + i, (uint8_t)(i << 5 | 1), i);
	rig_run(r, BF_NEVER);
	ck_assert_uint_gt(marked, 500);
	ck_assert_uint_eq(bad_frames, 0);
	rig_free(r);
}
END_TEST

START_TEST(a_broken_link_is_routed_around)
{
	struct rig *r = rig_new(LEAF_SPINE "detect=20us", 16, 1, NULL);
	uint64_t before, lost;

	ck_assert_int_eq(bf_fabric_set_link(r->fabric[0], "leaf0-spine9", false), -ENOENT);
	ck_assert_int_eq(bf_fabric_set_link(r->fabric[0], "leaf0-spine1", false), 0);
	for (uint32_t i = 0; i < 64; i++) {
		rig_send(r, 0, 4 + i % 12, i, 256, DATA, 1);
		rig_send(r, 4 + i % 12, 0, i, 256, DATA, 1);
	}
	rig_run(r, 30 * BF_US);
	lost = 128 - total(r, "leaf").sum.packets + total(r, "leaf").sum.packets - r->ports[0].frames;
	ck_assert_uint_gt(lost, 0);
	lost = rig_info(r, 0).dropped;
	ck_assert_uint_gt(lost, 4); /* some of the 64 flows go that way, and nobody knows */
	ck_assert_uint_lt(lost, 32);
	before = r->ports[0].frames;
	ck_assert_uint_lt(before, 64);
	for (uint32_t i = 0; i < 64; i++) {
		rig_send(r, 0, 4 + i % 12, i, 256, DATA, 2);
		rig_send(r, 4 + i % 12, 0, i, 256, DATA, 2);
	}
	rig_run(r, 60 * BF_US);
	ck_assert_uint_eq(rig_info(r, 0).dropped, lost);
	ck_assert_uint_eq(r->ports[0].frames, before + 64);
	ck_assert_uint_eq(total(r, "leaf0-spine1").sum.packets + total(r, "spine1-leaf0").sum.packets, 0);
	ck_assert(!total(r, "spine1-leaf0").sum.up);
	bf_fabric_set_link(r->fabric[0], "spine1-leaf0", true); /* either name is that of the cable */
	rig_run(r, 90 * BF_US);
	ck_assert(total(r, "leaf0-spine1").sum.up && total(r, "spine1-leaf0").sum.up);
	for (uint32_t i = 0; i < 64; i++)
		rig_send(r, 0, 4 + i % 12, i, 256, DATA, 3);
	rig_run(r, BF_NEVER);
	ck_assert_uint_gt(total(r, "leaf0-spine1").sum.packets, 0);
	ck_assert_uint_eq(rig_info(r, 0).dropped, lost);
	rig_free(r);
}
END_TEST

START_TEST(a_link_flaps_under_load)
{
	static const char faults[] = "link-down on=leaf0-spine1 skip=50 count=3 delay=30us\n"
				     "link-down on=spine0-leaf2 skip=20 delay=5us\n"
				     "drop on=leaf1-host5 skip=3 count=2\n"
				     "link-down on=nic3.p1 skip=100 delay=40us";
	struct rig *r = rig_new(LEAF_SPINE "detect=10us buffer=4M xoff=64K xon=32K", 16, 1, faults);
	uint32_t sent = 0;

	for (uint32_t round = 0; round < 40; round++) {
		for (uint32_t i = 0; i < 16 * 8; i++, sent++)
			rig_send(r, i % 16, (i * 7 + round) % 16, i % 5, 2048, DATA, sent + 1);
		rig_run(r, (round + 1) * 6 * BF_US);
	}
	ck_assert(rig_run(r, BF_NEVER));
	expect_all(r, sent);
	ck_assert_uint_gt(total(r, "").sum.dropped, 10);
	ck_assert_uint_eq(bf_fault_plan_fired(r->plan[0], 0), 3);
	ck_assert_uint_eq(bf_fault_plan_fired(r->plan[0], 1), 1);
	ck_assert_uint_eq(bf_fault_plan_fired(r->plan[0], 3), 1);
	ck_assert_uint_eq(r->ports[3].downs, 1);
	ck_assert_uint_eq(r->ports[3].ups, 1);
	for (uint32_t h = 0; h < 16; h++)
		ck_assert(rig_info(r, h).up);
	rig_free(r);
}
END_TEST

START_TEST(a_switch_can_cut_a_host_off)
{
	struct rig *r = rig_new(LEAF_SPINE, 16, 1, NULL);

	ck_assert_int_eq(bf_fabric_set_link(r->fabric[0], "leaf1-host5", false), 0);
	rig_run(r, 299 * BF_NS);
	ck_assert(rig_info(r, 5).up); /* not seen yet */
	rig_run(r, 301 * BF_NS);
	ck_assert(!rig_info(r, 5).up);
	ck_assert_uint_eq(r->ports[5].downs, 1);
	rig_send(r, 5, 6, 0, 100, DATA, 1);
	rig_send(r, 6, 5, 0, 100, DATA, 1);
	rig_run(r, 10 * BF_US);
	ck_assert_uint_eq(r->ports[6].frames + r->ports[5].frames, 0);
	bf_fabric_set_link(r->fabric[0], "leaf1-host5", true);
	rig_run(r, 20 * BF_US);
	rig_send(r, 5, 6, 0, 100, DATA, 2);
	rig_send(r, 6, 5, 0, 100, DATA, 2);
	rig_run(r, BF_NEVER);
	ck_assert_uint_eq(r->ports[6].frames, 1);
	ck_assert_uint_eq(r->ports[5].frames, 1);
	ck_assert_uint_eq(r->ports[5].ups, 1);
	rig_free(r);
}
END_TEST

START_TEST(a_pause_outlives_a_flap)
{
	struct rig *r = rig_new(LEAF_SPINE "buffer=2M xoff=64K xon=32K", 16, 1, NULL);
	uint64_t pauses, frames;

	for (uint32_t i = 0; i < 200; i++)
		for (uint32_t h = 1; h < 16; h++)
			rig_send(r, h, 0, 0, 4096, DATA, i + 1);
	rig_run(r, 20 * BF_US);
	pauses = total(r, "host5").sum.pauses;
	ck_assert_uint_gt(pauses, 0);
	ck_assert_int_eq(bf_fabric_set_link(r->fabric[0], "host5-leaf1", false), 0);
	bf_fabric_set_link(r->fabric[0], "host5-leaf1", true);
	for (uint32_t i = 0; i < 200; i++)
		rig_send(r, 5, 0, 0, 4096, DATA, 300 + i);
	frames = total(r, "host5").sum.packets;
	rig_run(r, 21 * BF_US);
	ck_assert_uint_gt(total(r, "host5").sum.pauses, pauses); /* told again: it had forgotten */
	rig_run(r, 26 * BF_US);
	ck_assert_uint_lt(total(r, "host5").sum.packets, frames + 50); /* and heeds it: 60 would have fitted */
	ck_assert(rig_run(r, BF_NEVER));
	ck_assert_uint_eq(total(r, "leaf").sum.dropped + total(r, "spine").sum.dropped, 0);
	expect_all(r, 15 * 200 + 200);
	rig_free(r);
}
END_TEST

/* The same traffic on so many ranks; what each port saw goes into `seen`. */
static uint64_t spread(const char *text, const char *faults, uint32_t ranks, uint64_t seen[16])
{
	struct rig *r = rig_new(text, 16, ranks, faults);
	uint64_t messages;
	uint32_t n = 0;

	for (uint32_t round = 0; round < 12; round++) {
		for (uint32_t i = 0; i < 16 * 20; i++)
			rig_send(r, i % 16, i % 3 ? (i * 5 + round) % 16 : 0, i % 7, 64 + i % 1000 * 4, DATA, ++n);
		rig_run(r, (round + 1) * 7 * BF_US);
	}
	ck_assert(rig_run(r, BF_NEVER));
	for (uint32_t h = 0; h < 16; h++) {
		struct rig_port *p = &r->ports[h];

		seen[h] = bf_hash_bytes((uint64_t[]){ p->chain, p->frames, p->marked, p->downs, p->ups }, 40);
	}
	messages = r->messages_sent;
	rig_free(r);
	return messages;
}

START_TEST(ranks_see_what_one_process_sees)
{
	static const struct {
		const char *text, *faults;
	} cases[] = {
		{ "switch", NULL },
		{ "switch", "reorder on=nic2.p1 prob=0.1; delay on=nic9.p1 prob=0.1; duplicate on=nic4.p1 prob=0.1;"
			    "link-down on=nic12.p1 skip=30 delay=9us" },
		{ LEAF_SPINE "buffer=2M xoff=64K xon=32K kmin=16K kmax=64K", NULL },
		{ "leaf-spine leaves=3 spines=2 hosts-per-leaf=6 buffer=1M pfc=off queue=128K", NULL },
		{ "rail rails=4 leaves=2 spines=2 hosts-per-leaf=2 buffer=2M xoff=32K xon=16K", NULL },
		{ LEAF_SPINE "buffer=2M xoff=64K xon=32K kmin=8K kmax=32K cc=on", NULL },
		{ LEAF_SPINE "buffer=2M xoff=64K xon=32K detect=5us kmin=8K kmax=32K cc=on",
		  "link-down on=leaf1-spine0 skip=40 delay=11us; link-down on=spine2-leaf3 skip=30 delay=20us;"
		  "link-down on=nic6.p1 skip=60 delay=8us; link-down on=leaf3-host14 skip=50 delay=8us" },
	};
	uint64_t one[16], many[16];

	ck_assert_uint_eq(spread(cases[_i].text, cases[_i].faults, 1, one), 0);
	for (uint32_t ranks = 2; ranks <= 4; ranks += 2) {
		ck_assert_uint_gt(spread(cases[_i].text, cases[_i].faults, ranks, many), 500);
		for (uint32_t h = 0; h < 16; h++)
			ck_assert_msg(one[h] == many[h], "%u ranks, host %u: another sequence", ranks, h);
	}
	spread(cases[_i].text, cases[_i].faults, 1, many);
	ck_assert_mem_eq(one, many, sizeof(one));
}
END_TEST

static struct rig_message *stolen;

START_TEST(bad_messages_are_refused)
{
	struct rig *r = rig_new(_i ? LEAF_SPINE : "switch", 16, 2, NULL);
	uint8_t bytes[BF_FABRIC_MESSAGE_MAX] = { 0 };
	uint32_t refused = 0;

	rig_send(r, 0, 15, 0, 64, DATA, 1);
	for (uint64_t t = 1000; !r->messages; t += 1000)
		bf_sim_run(r->sim[0], t);
	stolen = r->messages;
	for (size_t len = 0; len < stolen->len; len++)
		ck_assert_int_eq(bf_fabric_deliver(r->fabric[1], stolen->bytes, len), -EBADMSG);
	for (size_t at = 0; at < 52; at++) {
		memcpy(bytes, stolen->bytes, stolen->len);
		bytes[at] ^= 0xff;
		refused += bf_fabric_deliver(r->fabric[1], bytes, stolen->len) == -EBADMSG;
	}
	ck_assert_uint_gt(refused, 15);
	ck_assert_int_eq(bf_fabric_deliver(r->fabric[1], stolen->bytes, stolen->len), 0);
	bf_sim_run(r->sim[1], BF_MS);
	ck_assert_int_eq(bf_fabric_deliver(r->fabric[1], stolen->bytes, stolen->len), -EBADMSG); /* late */
	free(stolen);
	r->messages = NULL;
	r->tail = &r->messages;
	rig_free(r);
}
END_TEST

START_TEST(places_that_are_none)
{
	struct rig *r = rig_new("rail rails=2 leaves=1 spines=1 hosts-per-leaf=8", 16, 1, NULL);
	struct bf_port_opts opts = { .name = "x", .ipv4 = 1, .rx = rig_rx, .host = 8 };
	struct bf_topology t;
	struct bf_port *p;

	ck_assert_int_eq(bf_fabric_attach(r->fabric[0], &opts, &p), -EINVAL);
	ck_assert_ptr_null(p);
	opts.host = 7;
	opts.rail = 2;
	ck_assert_int_eq(bf_fabric_attach(r->fabric[0], &opts, &p), -EINVAL);
	ck_assert_ptr_nonnull(strstr(r->sim[0]->error.text, "no host 7, rail 2"));
	ck_assert_int_eq(bf_topology_parse(NULL, &t, NULL), 0);
	ck_assert_int_eq(bf_fabric_set_topology(r->fabric[0], &t), -EBUSY);
	rig_send(r, 0, 15, 0, 64, DATA, 1); /* the refused ones left nothing behind */
	rig_run(r, BF_NEVER);
	ck_assert_uint_eq(r->ports[15].frames, 1);
	rig_free(r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fabric_net");
	TCase *t = tcase_create("fabric_net");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_loop_test(t, all_pairs_reach_each_other, 0, 4);
	tcase_add_test(t, a_frame_takes_as_long_as_its_links);
	tcase_add_test(t, rails_without_spines_are_apart);
	tcase_add_test(t, flows_spread_and_stay_in_order);
	tcase_add_test(t, a_hot_receiver_overflows_a_lossy_switch);
	tcase_add_test(t, pauses_lose_nothing_and_end);
	tcase_add_test(t, a_paused_priority_lets_others_pass);
	tcase_add_test(t, congestion_marks_who_can_be_marked);
	tcase_add_test(t, senders_slow_down);
	tcase_add_test(t, a_marked_frame_still_checks);
	tcase_add_test(t, a_broken_link_is_routed_around);
	tcase_add_test(t, a_link_flaps_under_load);
	tcase_add_test(t, a_switch_can_cut_a_host_off);
	tcase_add_test(t, a_pause_outlives_a_flap);
	tcase_add_loop_test(t, ranks_see_what_one_process_sees, 0, 7);
	tcase_add_loop_test(t, bad_messages_are_refused, 0, 2);
	tcase_add_test(t, places_that_are_none);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
