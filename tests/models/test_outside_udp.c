/* RoCEv2 by UDP: between two ends, and against datagrams made by hand. */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "models/fabric/udp_pace_internal.h"
#include "outside_rig.h"

/* Addresses of this test's own, out of 127/8, all of which is here. */
static uint32_t address(uint32_t host)
{
	return 0x7f000000 | ((uint32_t)getppid() & 0x3fff) << 8 | host;
}

static void udp_open(struct end *e, uint32_t host, const char *faults)
{
	const struct bf_outside_opts opts = { .network = end_network(), .udp_ipv4 = address(host) };

	end_open_with(e, &opts, faults);
}

/* All queue pairs of another address are there, whatever their number says here. */
static void udp_send(struct end *e, const struct end *to, uint32_t flow, uint32_t len)
{
	end_send_to(e, to->ipv4, 0x40 + flow, flow, len);
}

START_TEST(test_frames_come_whole_and_in_order)
{
	static const uint32_t lens[] = { 8, 9, 10, 11, 64, 1000, 1024, 4095, 4096 };
	struct end a, b;

	udp_open(&a, 1, NULL);
	udp_open(&b, 2, NULL);
	for (uint32_t i = 0; i < 900; i++) {
		udp_send(&a, &b, i % 3, lens[i % 9]);
		if (i % 7 == 0)
			bf_outside_flush(a.outside);
		if (i % 50 == 49)
			end_receive(&b, i / 7 * 7 + 1);
	}
	bf_outside_flush(a.outside);
	end_receive(&b, 900);
	ck_assert_uint_eq(b.broken + b.disordered + b.skipped, 0);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_tx"), 900);
	ck_assert_uint_eq(end_stat(&b, "outside.udp_rx"), 900);
	ck_assert_uint_eq(end_stat(&b, "outside.udp_errors"), 0);
	/* What the sockets did shows in the headers: the ports are theirs. */
	ck_assert_uint_eq(bf_get_be16(b.last_headers + 34), BF_ROCE_UDP_PORT);
	ck_assert_uint_eq(bf_get_be16(b.last_headers + 36), BF_ROCE_UDP_PORT);
	ck_assert_uint_eq(bf_get_be32(b.last_headers + 26), a.ipv4);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* Nothing leaves in the middle of a step, or an acknowledgement could overtake the data that it answers for. */
START_TEST(test_frames_wait_for_the_flush)
{
	struct end a, b;

	udp_open(&a, 1, NULL);
	udp_open(&b, 2, NULL);
	for (uint32_t i = 0; i < 100; i++)
		udp_send(&a, &b, 0, 64);
	ck_assert_uint_eq(bf_outside_poll(b.outside, 100), 0);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_tx"), 0);
	bf_outside_flush(a.outside);
	end_receive(&b, 100);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_tx"), 100);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* The model may leave the ICRC out: it is computed, and checked, on the way. */
START_TEST(test_icrc_is_made_here)
{
	struct end a, b;

	udp_open(&a, 1, NULL);
	udp_open(&b, 2, NULL);
	a.icrc = false;
	udp_send(&a, &b, 0, 500);
	bf_outside_flush(a.outside);
	end_receive(&b, 1);
	ck_assert_uint_eq(b.broken, 0); /* b checks it once more */
	end_close(&a);
	end_close(&b);
}
END_TEST

/* Sockets at a port of the user's: the frame that comes out is RoCEv2's all the same, and its ICRC agrees. */
START_TEST(test_another_port)
{
	struct bf_outside_opts opts = { .network = end_network(), .udp_port = 5000 };
	struct end a, b;

	opts.udp_ipv4 = address(1);
	end_open_with(&a, &opts, "corrupt skip=1 count=1");
	opts.udp_ipv4 = address(2);
	end_open_with(&b, &opts, NULL);
	for (int i = 0; i < 3; i++)
		udp_send(&a, &b, 0, 500);
	bf_outside_flush(a.outside);
	end_receive(&b, 2);
	ck_assert_uint_eq(b.broken, 0);
	ck_assert_uint_eq(end_stat(&b, "outside.udp_errors"), 1);
	ck_assert_uint_eq(bf_get_be16(b.last_headers + 36), BF_ROCE_UDP_PORT);
	end_close(&a);
	end_close(&b);
}
END_TEST

START_TEST(test_corrupted_frames_are_found)
{
	struct end a, b;

	udp_open(&a, 1, "corrupt skip=1 count=3");
	udp_open(&b, 2, NULL);
	a.icrc = b.icrc = false; /* only the way itself checks */
	for (int i = 0; i < 6; i++)
		udp_send(&a, &b, 0, 500);
	bf_outside_flush(a.outside);
	end_receive(&b, 3);
	ck_assert_uint_eq(b.broken, 0);
	ck_assert_uint_eq(end_stat(&b, "outside.udp_errors"), 3);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* Nobody receives while more come than a socket holds, whatever the administrator allows: none is lost uncounted. */
START_TEST(test_full_socket_is_told)
{
	const uint32_t sent = 4000;
	uint64_t here = 0, dropped = 0;
	struct end a, b;

	udp_open(&a, 1, NULL);
	udp_open(&b, 2, NULL);
	for (uint32_t i = 0; i < sent; i++)
		udp_send(&a, &b, 0, 4096);
	bf_outside_flush(a.outside);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_tx"), sent);
	for (int i = 0; here + dropped < sent && i < 1000; i++) {
		end_wait(&b);
		here = end_stat(&b, "outside.udp_rx");
		dropped = end_stat(&b, "outside.udp_dropped");
	}
	ck_assert_uint_gt(dropped, 0);
	ck_assert_uint_eq(here + dropped, sent);
	ck_assert_uint_eq(b.broken + b.disordered, 0);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* Traffic class: the IP header's byte is what the sender's address vector wanted. */
START_TEST(test_type_of_service)
{
	struct bf_packet *pkt;
	struct end a, b;

	udp_open(&a, 1, NULL);
	udp_open(&b, 2, NULL);
	pkt = end_frame(&a, b.ipv4, 0x40, 0, 64);
	pkt->data[15] = 0x6a; /* the IP checksum is the kernel's */
	bf_port_send(a.port, pkt);
	bf_sim_run(a.sim, BF_NEVER);
	bf_outside_flush(a.outside);
	end_receive(&b, 1);
	ck_assert_uint_eq(b.broken, 0);
	ck_assert_uint_eq(b.last_headers[15], 0x6a);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* A sender that numbers its packets: a datagram by hand, whose ICRC is over an IP header that is not Belfry's. */
struct by_hand {
	struct end to;
	int fd;
	uint16_t port;
	uint8_t frame[BF_PACKET_MAX];
};

static void hand_open(struct by_hand *h)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address(9)) };
	socklen_t len = sizeof(at);

	udp_open(&h->to, 2, NULL);
	h->fd = socket(AF_INET, SOCK_DGRAM, 0);
	ck_assert_int_eq(bind(h->fd, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(getsockname(h->fd, (struct sockaddr *)&at, &len), 0);
	h->port = ntohs(at.sin_port);
}

static void hand_close(struct by_hand *h)
{
	close(h->fd);
	end_close(&h->to);
}

static void hand_send(struct by_hand *h, uint32_t seq, uint16_t id, uint32_t payload, uint32_t spoil)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(BF_ROCE_UDP_PORT),
				  .sin_addr.s_addr = htonl(h->to.ipv4) };
	struct bf_roce_path_opts opts = { .src_ipv4 = address(9), .dst_ipv4 = h->to.ipv4, .udp_src_port = h->port };
	struct bf_roce q = { .opcode = BF_RC_SEND_ONLY, .payload_len = payload, .dest_qp = 0x40, .pkey = 0xffff };
	struct bf_roce_path path;
	uint32_t at, len;

	bf_roce_path_init(&path, &opts);
	at = bf_roce_build(h->frame, &path, &q);
	bf_put_be16(h->frame + 18, id);
	bf_put_le32(h->frame + at, seq);
	bf_put_le32(h->frame + at + 4, 0);
	for (uint32_t i = 8; i < payload; i++)
		h->frame[at + i] = (uint8_t)(seq + i);
	len = bf_roce_finish(h->frame, &q, at, true);
	h->frame[BF_ROCE_BTH_OFFSET + 12] ^= (uint8_t)spoil;
	ck_assert_int_eq(sendto(h->fd, h->frame + BF_ROCE_BTH_OFFSET, len - BF_ROCE_BTH_OFFSET, 0,
				(struct sockaddr *)&to, sizeof(to)),
			 (ssize_t)(len - BF_ROCE_BTH_OFFSET));
}

START_TEST(test_identification_is_found)
{
	static const uint16_t ids[] = { 0, 1, 0x100, 0x8000, 0x1234, 0xffff, 0x00ff, 0xabcd };
	static const uint32_t lens[] = { 8, 12, 64, 256, 1024, 4096 };
	struct by_hand h;
	uint32_t seq = 0;

	hand_open(&h);
	for (size_t i = 0; i < BF_ARRAY_LEN(ids); i++)
		for (size_t k = 0; k < BF_ARRAY_LEN(lens); k++) {
			hand_send(&h, ++seq, ids[i], lens[k], 0);
			end_receive(&h.to, seq);
			ck_assert_uint_eq(h.to.broken, 0);
			ck_assert_uint_eq(bf_get_be16(h.to.last_headers + 18), ids[i]);
			ck_assert_uint_eq(bf_get_be16(h.to.last_headers + 34), h.port);
		}
	hand_close(&h);
}
END_TEST

/* What is wrong is still found, whatever the identification might have been. */
START_TEST(test_broken_datagrams_are_dropped)
{
	static const uint8_t little[40];
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(BF_ROCE_UDP_PORT) };
	static uint8_t huge[BF_PACKET_MAX];
	struct by_hand h;
	uint64_t errors = 0;

	hand_open(&h);
	to.sin_addr.s_addr = htonl(h.to.ipv4);
	for (uint32_t bit = 0; bit < 8; bit++, errors++)
		hand_send(&h, 1, (uint16_t)(0x1111 * bit), 64 + bit, 1u << bit);
	for (size_t len = 0; len < sizeof(little); len++, errors++)
		ck_assert_int_ge(sendto(h.fd, little, len, 0, (struct sockaddr *)&to, sizeof(to)), 0);
	ck_assert_int_ge(sendto(h.fd, huge, sizeof(huge), 0, (struct sockaddr *)&to, sizeof(to)), 0);
	errors++;
	hand_send(&h, 1, 7, 64, 0);
	end_receive(&h.to, 1);
	ck_assert_uint_eq(h.to.broken, 0);
	ck_assert_uint_eq(end_stat(&h.to, "outside.udp_errors"), errors);
	hand_close(&h);
}
END_TEST

START_TEST(test_address_in_use)
{
	const struct bf_outside_opts opts = { .network = end_network(), .udp_ipv4 = address(1) };
	const struct bf_outside_opts far = { .network = end_network(), .udp_ipv4 = 0x01020304 };
	struct bf_outside *o;
	struct end a, b;

	udp_open(&a, 1, NULL);
	end_open(&b, 0);
	ck_assert_int_eq(bf_outside_open(b.sim, b.fabric, &opts, &o), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(b.sim->error.text, "port 4791"));
	ck_assert_int_eq(bf_outside_open(b.sim, b.fabric, &far, &o), -EADDRNOTAVAIL);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* A frame with another source than the socket's would be another's: receivers would not know it. */
START_TEST(test_only_from_its_own_address)
{
	struct bf_packet *pkt;
	struct end a, b;

	udp_open(&a, 1, NULL);
	udp_open(&b, 2, NULL);
	a.ipv4 = address(7);
	pkt = end_frame(&a, b.ipv4, 0x40, 0, 64);
	bf_port_send(a.port, pkt);
	bf_sim_run(a.sim, BF_NEVER);
	bf_outside_flush(a.outside);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_tx"), 0);
	ck_assert_uint_eq(end_stat(&a, "p1.lost_no_route"), 1);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* Broadcast is not allowed to such a socket: one of the errors that concern a frame and not the way. */
START_TEST(test_refused_frames_do_not_stop_others)
{
	struct end a, b;

	udp_open(&a, 1, NULL);
	udp_open(&b, 2, NULL);
	udp_send(&a, &b, 0, 64);
	end_send_to(&a, 0xffffffff, 0x40, 1, 64);
	udp_send(&a, &b, 0, 64);
	bf_outside_flush(a.outside);
	end_receive(&b, 2);
	ck_assert_uint_eq(b.skipped, 0);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_errors"), 1);
	ck_assert_ptr_nonnull(strstr(bf_outside_error(a.outside)->text, "UDP to 255.255.255.255"));
	end_close(&a);
	end_close(&b);
}
END_TEST

/* Both ways at the same address, and the rings beside: queue pairs of other processes here do not go by UDP. */
START_TEST(test_rings_beside)
{
	const struct bf_outside_opts plain = { .network = end_network() };
	struct end a, b, far;

	udp_open(&a, 1, NULL);
	end_open_with(&b, &plain, NULL);
	udp_open(&far, 2, NULL);
	a.icrc = b.icrc = far.icrc = false;
	end_send_to(&b, b.ipv4, end_qpn(0, 0), 0, 64); /* b has another address: it does not reach a's port */
	udp_send(&a, &far, 0, 64);
	bf_outside_flush(a.outside);
	bf_outside_flush(b.outside);
	end_receive(&far, 1);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_tx"), 1);
	ck_assert_uint_eq(a.frames, 0);
	end_close(&a);
	end_close(&b);
	end_close(&far);
}
END_TEST

/* When something leaves that comes at `now`, from a bucket of 100. */
static uint64_t leaves(struct bf_udp_bucket *b, uint64_t now, uint64_t cost)
{
	const uint64_t ready = bf_bucket_ready_ps(b, 100), at = ready > now ? ready : now;

	bf_bucket_take(b, at, cost);
	return at;
}

/* By a clock of our own: what was saved may go at once, the rest at the rate, and no more than 100 is saved. */
START_TEST(test_bucket)
{
	struct bf_udp_bucket b = { 0 };

	for (uint64_t i = 0; i < 3; i++)
		ck_assert_uint_eq(leaves(&b, 1000, 50), 1000); /* full again at 1050, 1100, 1150 */
	ck_assert_uint_eq(leaves(&b, 1000, 50), 1050);
	ck_assert_uint_eq(leaves(&b, 1000, 70), 1100);
	ck_assert_uint_eq(leaves(&b, 1000, 1), 1170);
	ck_assert_uint_eq(leaves(&b, 1171, 1), 1171);
	for (uint64_t i = 0; i < 3; i++)
		ck_assert_uint_eq(leaves(&b, 9000, 50), 9000);
	ck_assert_uint_eq(leaves(&b, 9000, 50), 9050);
	/* The rate in the long run, whatever the sizes are. */
	b = (struct bf_udp_bucket){ 0 };
	for (uint64_t i = 0, last = 0; i < 1000; i++) {
		const uint64_t at = leaves(&b, last, 1 + i % 90);

		ck_assert_uint_ge(at, last);
		last = at;
	}
	ck_assert_uint_ge(b.full_ps, 44000);
	ck_assert_uint_le(b.full_ps, 46000);
}
END_TEST

#define RATE 100000000ull /* bits a second */
#define PAYLOAD 1000u
#define PAUSE_PS (5 * BF_MS)

/* How many frames of `len` bytes may have left `waited` after the first of them, a full bucket in front. */
static uint64_t may_leave(uint64_t len, uint64_t waited)
{
	const uint64_t cost = len * 8 * BF_S / RATE, depth = 16384ull * 8 * BF_S / RATE;

	return (waited + depth) / cost + 1;
}

static void step(struct end *e, uint64_t until_ps)
{
	bf_sim_run(e->sim, until_ps);
	bf_outside_flush(e->outside);
}

/* On the simulation's clock: to each address no more than its rate, all of it in the end, in order. */
START_TEST(test_rate_to_each_address)
{
	const struct bf_outside_opts opts = { .network = end_network(),
					      .udp_ipv4 = address(1),
					      .udp_bits_per_s = RATE };
	struct end a, b, far;
	struct bf_packet *pkt;
	uint64_t len = 0, both;

	end_open_with(&a, &opts, NULL);
	udp_open(&b, 2, NULL);
	udp_open(&far, 3, NULL);
	for (uint32_t i = 0; i < 400; i++) {
		pkt = end_frame(&a, i % 2 ? far.ipv4 : b.ipv4, 0x40, i % 2, PAYLOAD);
		len = pkt->len;
		bf_port_send(a.port, pkt);
	}
	step(&a, a.sim->now_ps);
	both = 2 * may_leave(len, 0);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_tx"), both);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_paced"), 400 - both);
	ck_assert_uint_eq(bf_port_tx_held(a.port, 0x40), 400 - both);
	ck_assert(!bf_outside_blocked(a.outside)); /* its event comes by itself */
	step(&a, a.sim->now_ps + PAUSE_PS);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_tx"), 2 * may_leave(len, PAUSE_PS));
	/* A clock that jumps, as that of a thread that did not run: a bucketful, not all that the time would have
	 * given. */
	both = end_stat(&a, "outside.udp_tx");
	a.sim->now_ps += PAUSE_PS;
	step(&a, a.sim->now_ps);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_tx"), both + 2 * may_leave(len, 0));
	step(&a, BF_NEVER);
	ck_assert_uint_eq(bf_port_tx_held(a.port, 0x40), 0);
	end_receive(&b, 200);
	end_receive(&far, 200);
	ck_assert_uint_eq(b.broken + b.disordered + b.skipped + far.broken + far.disordered + far.skipped, 0);
	/* What waits at the end is lost, and nothing else is. */
	for (uint32_t i = 0; i < 50; i++)
		bf_port_send(a.port, end_frame(&a, b.ipv4, 0x40, 0, PAYLOAD));
	bf_sim_run(a.sim, a.sim->now_ps);
	end_close(&a);
	end_close(&b);
	end_close(&far);
}
END_TEST

/* The loopback carries everything; without UDP nothing is asked. */
START_TEST(test_path_mtu)
{
	struct end a, b;

	udp_open(&a, 1, NULL);
	end_open(&b, 0);
	ck_assert_uint_eq(bf_outside_mtu(a.outside), 4096);
	ck_assert_uint_eq(bf_outside_mtu(b.outside), 4096);
	end_close(&a);
	end_close(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("outside_udp");
	TCase *c = tcase_create("udp");
	SRunner *r;
	int failed;

	tcase_set_timeout(c, 60);
	tcase_add_test(c, test_frames_come_whole_and_in_order);
	tcase_add_test(c, test_frames_wait_for_the_flush);
	tcase_add_test(c, test_icrc_is_made_here);
	tcase_add_test(c, test_another_port);
	tcase_add_test(c, test_corrupted_frames_are_found);
	tcase_add_test(c, test_type_of_service);
	tcase_add_test(c, test_identification_is_found);
	tcase_add_test(c, test_broken_datagrams_are_dropped);
	tcase_add_test(c, test_address_in_use);
	tcase_add_test(c, test_only_from_its_own_address);
	tcase_add_test(c, test_refused_frames_do_not_stop_others);
	tcase_add_test(c, test_rings_beside);
	tcase_add_test(c, test_bucket);
	tcase_add_test(c, test_full_socket_is_told);
	tcase_add_test(c, test_rate_to_each_address);
	tcase_add_test(c, test_path_mtu);
	suite_add_tcase(s, c);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
