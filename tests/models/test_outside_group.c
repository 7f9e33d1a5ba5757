/* Multicast groups between processes: by rings and by UDP, joined and left, and by those who are killed. */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "outside_rig.h"

#define GROUP 0xef010000u /* and the test's number, so that tests at one time have their own */

static uint32_t group(void)
{
	static uint32_t mine; /* a child of the test's has the same */

	if (!mine)
		mine = GROUP | ((uint32_t)getppid() & 0xffff);
	return mine;
}

static uint32_t address(uint32_t host)
{
	return 0x7f000000 | ((uint32_t)getppid() & 0x3fff) << 8 | host;
}

static void udp_open(struct end *e, uint32_t host)
{
	const struct bf_outside_opts opts = { .network = end_network(), .udp_ipv4 = address(host) };

	end_open_with(e, &opts, NULL);
}

static void join(struct end *e)
{
	ck_assert_int_eq(bf_port_join(e->port, group()), 0);
}

static void leave(struct end *e)
{
	bf_port_leave(e->port, group());
}

static void send_to_group(struct end *e)
{
	end_send_to(e, group(), BF_ROCE_GROUP_QPN, 0, 500);
	bf_outside_flush(e->outside);
}

/* Whoever joined before a frame is sent gets it, whoever left before does not. */
START_TEST(test_members_of_now)
{
	struct end e[4];

	for (int i = 0; i < 4; i++)
		end_open(&e[i], 0);
	send_to_group(&e[0]);
	ck_assert_uint_eq(end_stat(&e[0], "p1.lost_no_route"), 1);
	for (uint64_t i = 1; i < 4; i++) {
		join(&e[i]);
		send_to_group(&e[0]);
		for (uint64_t j = 1; j <= i; j++)
			end_receive(&e[j], i - j + 1);
	}
	leave(&e[2]);
	send_to_group(&e[0]);
	end_receive(&e[1], 4);
	end_receive(&e[3], 2);
	join(&e[0]); /* one of them sends: the others get it by ring, and its own port has it */
	send_to_group(&e[1]);
	ck_assert_uint_eq(e[1].frames, 5);
	end_receive(&e[0], 1);
	end_receive(&e[3], 3);
	join(&e[0]); /* twice the same: one frame */
	send_to_group(&e[1]);
	end_receive(&e[0], 2);
	ck_assert_uint_eq(e[2].frames, 2);
	end_close(&e[3]);
	send_to_group(&e[2]);
	end_receive(&e[0], 3);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(e[i].broken, 0);
		ck_assert_uint_eq(end_stat(&e[i], "outside.lost"), 0);
		ck_assert_int_eq(bf_outside_error(e[i].outside)->code, 0);
		end_close(&e[i]);
	}
}
END_TEST

/* More groups than a sender remembers. */
START_TEST(test_many_groups)
{
	struct end a, b;

	end_open(&a, 0);
	end_open(&b, 0);
	for (uint32_t i = 0; i < 100; i += 9)
		ck_assert_int_eq(bf_port_join(b.port, GROUP + i), 0);
	for (uint32_t i = 0; i < 200; i++)
		end_send_to(&a, GROUP + i % 100, BF_ROCE_GROUP_QPN, 0, 64);
	bf_outside_flush(a.outside);
	end_receive(&b, 24);
	ck_assert_uint_eq(end_stat(&a, "p1.lost_no_route"), 176);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* A frame that no checksum covers does not go on when a bit of it is wrong. */
START_TEST(test_corrupted_frames_stay)
{
	const struct bf_outside_opts opts = { .network = end_network() };
	struct end a, b;

	end_open_with(&a, &opts, "corrupt count=1");
	end_open(&b, 0);
	a.icrc = b.icrc = false;
	join(&b);
	send_to_group(&a);
	send_to_group(&a);
	end_receive(&b, 1);
	ck_assert_uint_eq(b.broken, 0);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* A process that is in the group, and nothing else. */
static pid_t start_member(void)
{
	char network[32], c;
	int fds[2];
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	snprintf(network, sizeof(network), "%s", end_network()); /* before the fork: both are named after a parent */
	group();
	pid = fork();
	if (!pid) {
		const struct bf_outside_opts opts = { .network = network };
		struct end e;

		end_open_with(&e, &opts, NULL);
		join(&e);
		while (write(fds[1], "x", 1) == 1)
			pause();
	}
	ck_assert_int_eq(read(fds[0], &c, 1), 1);
	return pid;
}

static void kill_and_wait(pid_t pid)
{
	int status;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

/* A member that is killed is none any more, and who gets its place is none either until it joins. */
START_TEST(test_killed)
{
	struct end a, next;
	const pid_t pid = start_member();

	end_open(&a, 0);
	ck_assert_uint_eq(bf_outside_slot(a.outside), 1);
	send_to_group(&a);
	ck_assert_uint_eq(end_stat(&a, "outside.tx_frames"), 1);
	kill_and_wait(pid);
	for (int i = 0; i < 1000 && end_stat(&a, "outside.peers"); i++)
		end_wait(&a);
	send_to_group(&a);
	ck_assert_uint_eq(end_stat(&a, "p1.lost_no_route"), 1);
	end_open(&next, 0);
	ck_assert_uint_eq(bf_outside_slot(next.outside), 0);
	send_to_group(&a);
	ck_assert_uint_eq(end_stat(&a, "p1.lost_no_route"), 2);
	ck_assert_uint_eq(end_stat(&a, "outside.lost"), 0); /* nobody was taken for a member */
	join(&next);
	send_to_group(&a);
	end_receive(&next, 1);
	end_close(&next);
	end_close(&a);
}
END_TEST

/* One that is killed after it was found, and before anything was sent to it, is looked for no more than once. */
START_TEST(test_killed_early)
{
	const struct bf_outside_opts opts = { .network = end_network() };
	const pid_t pid = start_member();
	struct end a;

	end_open_with(&a, &opts, "drop count=1");
	send_to_group(&a);
	ck_assert_uint_eq(end_stat(&a, "p1.lost_injected"), 1);
	kill_and_wait(pid);
	for (int i = 0; i < 3; i++)
		send_to_group(&a);
	ck_assert_uint_eq(end_stat(&a, "outside.lost"), 1);
	ck_assert_uint_eq(end_stat(&a, "p1.lost_no_route"), 3);
	end_close(&a);
}
END_TEST

/* A child of fork() is in no group, and what it closes remains its parent's. */
START_TEST(test_fork)
{
	struct end a, b;
	int status;
	pid_t pid;

	end_open(&a, 0);
	end_open(&b, 0);
	join(&b);
	send_to_group(&a);
	end_receive(&b, 1);
	pid = fork();
	if (!pid) {
		bf_outside_forked(a.outside);
		bf_outside_forked(b.outside);
		leave(&b);
		join(&b);
		send_to_group(&a);
		end_close(&a);
		end_close(&b);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	send_to_group(&a);
	end_receive(&b, 2);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* ---- UDP ---- */

/* One frame each, whether by the system's own loop or not, and none of one's own a second time. */
START_TEST(test_udp)
{
	struct end e[3];

	for (uint32_t i = 0; i < 3; i++) {
		udp_open(&e[i], i + 1);
		e[i].icrc = i == 2; /* as the socket makes it */
		join(&e[i]);
	}
	send_to_group(&e[0]);
	end_receive(&e[1], 1);
	end_receive(&e[2], 1);
	ck_assert_uint_eq(e[0].frames, 1);
	ck_assert_uint_eq(bf_get_be32(e[2].last_headers + 30), group());
	ck_assert_uint_eq(bf_get_be32(e[2].last_headers + 26), e[0].ipv4);
	ck_assert_mem_eq(e[2].last_headers, "\x01\x00\x5e", 3);
	ck_assert_uint_eq(bf_get_be24(e[2].last_headers + 3), group() & 0x7fffff);
	leave(&e[1]);
	send_to_group(&e[2]);
	end_receive(&e[0], 2);
	end_send(&e[2], &e[0], 1, 64); /* one's own frame and all others before it have been taken by now */
	end_send_to(&e[0], e[2].ipv4, 0x40, 1, 64);
	bf_outside_flush(e[0].outside);
	end_receive(&e[2], 3);
	join(&e[1]);
	send_to_group(&e[0]);
	end_receive(&e[1], 2);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(e[i].broken + end_stat(&e[i], "outside.udp_errors"), 0);
		ck_assert_int_eq(bf_outside_error(e[i].outside)->code, 0);
		end_close(&e[i]);
	}
}
END_TEST

/* More than one batch, among frames of its own address. */
START_TEST(test_udp_burst)
{
	struct end a, b;

	udp_open(&a, 1);
	udp_open(&b, 2);
	join(&b);
	for (uint32_t i = 0; i < 300; i++) {
		end_send_to(&a, i % 3 ? group() : b.ipv4, i % 3 ? BF_ROCE_GROUP_QPN : 0x40, i % 3 ? 0 : 1, 64);
		if (i % 50 == 49)
			bf_outside_flush(a.outside);
	}
	end_receive(&b, 300);
	ck_assert_uint_eq(b.broken + b.skipped + b.disordered, 0);
	end_close(&a);
	end_close(&b);
}
END_TEST

/* A datagram to the group that is no packet of ours is counted, and no more. */
START_TEST(test_udp_noise)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(BF_ROCE_UDP_PORT),
				  .sin_addr.s_addr = htonl(group()) };
	struct ip_mreqn by;
	struct end a;
	int fd;

	udp_open(&a, 1);
	join(&a);
	by = (struct ip_mreqn){ .imr_address.s_addr = htonl(a.ipv4) };
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	ck_assert_int_eq(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by)), 0);
	ck_assert_int_eq(
	    sendto(fd, "this is no packet of RoCEv2, or is it?", 38, 0, (struct sockaddr *)&to, sizeof(to)), 38);
	for (int i = 0; i < 1000 && !end_stat(&a, "outside.udp_errors"); i++)
		end_wait(&a);
	ck_assert_uint_eq(end_stat(&a, "outside.udp_errors"), 1);
	ck_assert_uint_eq(a.frames, 0);
	close(fd);
	end_close(&a);
}
END_TEST

/* Who has no UDP reaches a member that has, by its ring; the other way UDP alone is taken. */
START_TEST(test_ring_to_udp)
{
	struct end plain, udp;

	end_open(&plain, 0);
	udp_open(&udp, 1);
	join(&plain);
	join(&udp);
	send_to_group(&plain);
	end_receive(&udp, 1);
	send_to_group(&udp);
	ck_assert_uint_eq(end_stat(&udp, "outside.tx_frames"), 0);
	ck_assert_uint_eq(end_stat(&udp, "outside.udp_tx"), 1);
	ck_assert_uint_eq(plain.frames, 1); /* its own */
	end_close(&plain);
	end_close(&udp);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("outside_group");
	TCase *rings = tcase_create("rings"), *udp = tcase_create("udp");

	tcase_set_timeout(rings, 60);
	tcase_set_timeout(udp, 60);
	tcase_add_test(rings, test_members_of_now);
	tcase_add_test(rings, test_many_groups);
	tcase_add_test(rings, test_corrupted_frames_stay);
	tcase_add_test(rings, test_killed);
	tcase_add_test(rings, test_killed_early);
	tcase_add_test(rings, test_fork);
	tcase_add_test(udp, test_udp);
	tcase_add_test(udp, test_udp_burst);
	tcase_add_test(udp, test_udp_noise);
	tcase_add_test(udp, test_ring_to_udp);
	suite_add_tcase(s, rings);
	suite_add_tcase(s, udp);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
