/* Processes of a network that come and go, killed ones too, and those that say what they should not. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "models/fabric/shm_ring_internal.h"
#include "outside_rig.h"

static void tell(int fd)
{
	ck_assert_int_eq(write(fd, "x", 1), 1);
}

static void hear(int fd)
{
	char c;

	ck_assert_int_eq(read(fd, &c, 1), 1);
}

/*
 * A child that runs `body` with its end of a socket pair; `*fd` is ours. Before this process has threads, and what
 * opens an end waits to be told.
 */
static pid_t start(void (*body)(const char *network, int fd), int *fd)
{
	const char *network = end_network(); /* before the fork: it is named after this process's parent */
	int pair[2];
	pid_t pid;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		close(pair[0]);
		body(network, pair[1]);
		_exit(0);
	}
	close(pair[1]);
	*fd = pair[0];
	return pid;
}

static void child_open(struct end *e, const char *network, int fd)
{
	const struct bf_outside_opts opts = { .network = network };

	hear(fd);
	end_open_with(e, &opts, NULL);
}

static void kill_and_wait(pid_t pid)
{
	int status;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
}

/* Sends 100 frames to process 0 and then does nothing more. */
static void send_and_stay(const char *network, int fd)
{
	struct end e;

	child_open(&e, network, fd);
	for (int i = 0; i < 100; i++)
		end_send_to(&e, END_IPV4, end_qpn(0, 0), 0, 1000);
	bf_outside_flush(e.outside);
	while (end_stat(&e, "outside.peers") && e.frames < 1)
		end_wait(&e);
	tell(fd);
	for (;;)
		pause();
}

START_TEST(test_killed)
{
	struct end a, next;
	pid_t pid;
	int fd;

	pid = start(send_and_stay, &fd);
	end_open(&a, 0);
	tell(fd);
	while (!end_stat(&a, "outside.rx_frames"))
		end_wait(&a);
	end_send_to(&a, END_IPV4, end_qpn(1, 0), 0, 64);
	bf_outside_flush(a.outside);
	hear(fd);
	kill_and_wait(pid);
	end_receive(&a, 100); /* what had left still arrives */
	ck_assert_uint_eq(a.skipped, 0);
	/* What is sent now is lost, and its place is free again. */
	for (int i = 0; i < 1000 && end_stat(&a, "outside.peers"); i++)
		end_wait(&a);
	ck_assert_uint_eq(end_stat(&a, "outside.peers"), 0);
	for (int i = 0; i < 10; i++)
		end_send_to(&a, END_IPV4, end_qpn(1, 0), 0, 64);
	ck_assert_uint_eq(end_stat(&a, "p1.lost_no_route"), 10);
	ck_assert(!bf_outside_blocked(a.outside));
	ck_assert_int_eq(bf_outside_error(a.outside)->code, 0); /* that somebody goes is no trouble */
	end_open(&next, 0);
	ck_assert_uint_eq(bf_outside_slot(next.outside), 1);
	usleep(2000); /* where nobody was is looked at again after a millisecond */
	end_send_to(&a, END_IPV4, end_qpn(1, 0), 1, 64);
	bf_outside_flush(a.outside);
	end_receive(&next, 1);
	end_close(&next);
	end_close(&a);
}
END_TEST

/* Fills process 0's ring and more, so that frames are held when it is killed. */
static void flood_and_stay(const char *network, int fd)
{
	struct end e;

	child_open(&e, network, fd);
	for (int i = 0; i < 3000; i++)
		end_send_to(&e, END_IPV4, end_qpn(0, (uint32_t)i % 4), (uint32_t)i % 4, 4096);
	bf_outside_flush(e.outside);
	tell(fd);
	for (;;)
		end_wait(&e);
}

START_TEST(test_killed_while_it_sends)
{
	struct end a;
	pid_t pid;
	int fd;

	pid = start(flood_and_stay, &fd);
	end_open(&a, 0);
	tell(fd);
	hear(fd);
	while (a.frames < 300)
		end_wait(&a);
	kill_and_wait(pid);
	for (int i = 0; i < 100; i++) {
		bf_outside_wake(a.outside); /* there may be nothing left */
		end_wait(&a);
	}
	ck_assert_uint_eq(a.broken + a.disordered + a.skipped, 0);
	ck_assert_int_eq(bf_outside_error(a.outside)->code, 0);
	end_close(&a);
}
END_TEST

/* Answers each frame until one says that it is the last. */
static void echo(const char *network, int fd)
{
	struct end e;

	child_open(&e, network, fd);
	tell(fd);
	for (uint64_t done = 0; done < 20000;) {
		end_wait(&e);
		for (; done < e.frames; done++)
			end_send_to(&e, END_IPV4, end_qpn(0, 0), 0, 64);
		bf_outside_flush(e.outside);
	}
	end_close(&e);
}

START_TEST(test_echo)
{
	struct end a;
	pid_t pid;
	int fd, status;

	pid = start(echo, &fd);
	end_open(&a, 0);
	tell(fd);
	hear(fd);
	for (uint64_t sent = 0; a.frames < 20000;) {
		for (; sent < 20000 && sent < a.frames + 64; sent++)
			end_send_to(&a, END_IPV4, end_qpn(1, 0), 0, 64);
		bf_outside_flush(a.outside);
		end_wait(&a);
	}
	ck_assert_uint_eq(a.skipped + a.disordered + a.broken, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	end_close(&a);
}
END_TEST

/* After fork() the child has nothing, and its end does not concern the others. */
START_TEST(test_fork)
{
	struct end a, b;
	int status;
	pid_t pid;

	end_open(&a, 0);
	end_open(&b, 0);
	end_send(&a, &b, 0, 64);
	end_send(&b, &a, 0, 64);
	bf_outside_flush(a.outside);
	bf_outside_flush(b.outside);
	end_receive(&b, 1);
	end_receive(&a, 1);
	pid = fork();
	if (!pid) {
		uint32_t *word, value;

		bf_outside_forked(a.outside);
		bf_outside_forked(b.outside);
		end_send(&a, &b, 0, 64);
		end_pump(&b, 10);
		bf_outside_wake(b.outside);
		bf_outside_awake(b.outside);
		if (b.frames != 1 || bf_outside_blocked(a.outside) || !bf_outside_sleep(a.outside, &word, &value) ||
		    *word != value)
			_exit(1);
		end_close(&a);
		end_close(&b);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	for (uint32_t i = 2; i < 50; i++) {
		end_send(&a, &b, 0, 64);
		bf_outside_flush(a.outside);
		end_receive(&b, i);
	}
	ck_assert_uint_eq(b.skipped, 0);
	ck_assert_uint_eq(end_stat(&a, "outside.peers"), 1);
	end_close(&b);
	for (int i = 0; i < 1000 && end_stat(&a, "outside.peers"); i++)
		end_wait(&a);
	ck_assert_uint_eq(end_stat(&a, "outside.peers"), 0); /* the child did not keep the connection alive */
	end_close(&a);
}
END_TEST

static socklen_t name_of(uint32_t uid, const char *network, uint32_t slot, struct sockaddr_un *at)
{
	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(at->sun_path + 1, sizeof(at->sun_path) - 1, "belfry/%u/%s/%u", uid, network,
					    slot));
}

/* Somebody else sits where a process of ours would be. */
static void squat(const char *network, int fd)
{
	struct sockaddr_un at;
	uint32_t uid = geteuid();
	int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	if (seteuid(65534) || bind(s, (struct sockaddr *)&at, name_of(uid, network, 0, &at)) || listen(s, 5))
		_exit(1);
	tell(fd);
	hear(fd);
}

static void intrude(const char *network, int fd)
{
	struct sockaddr_un at;
	uint32_t uid = geteuid();
	int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	char c;

	/* Connecting works, names are open to all; but there is nothing but the end of it. */
	if (seteuid(65534) || connect(s, (struct sockaddr *)&at, name_of(uid, network, 1, &at)) || read(s, &c, 1) != 0)
		_exit(1);
	tell(fd);
}

START_TEST(test_other_users)
{
	int squatter, intruder;
	struct end a;
	pid_t pid;

	if (geteuid() != 0)
		return; /* only root can play two users */
	pid = start(squat, &squatter);
	hear(squatter);
	end_open(&a, 0);
	ck_assert_uint_eq(bf_outside_slot(a.outside), 1);
	end_send_to(&a, END_IPV4, end_qpn(0, 0), 0, 64);
	ck_assert_uint_eq(end_stat(&a, "p1.lost_no_route"), 1);
	ck_assert_ptr_nonnull(strstr(bf_outside_error(a.outside)->text, "another user"));
	tell(squatter);
	waitpid(pid, NULL, 0);
	pid = start(intrude, &intruder);
	for (int i = 0; i < 100 && waitpid(pid, NULL, WNOHANG) == 0; i++) {
		usleep(1000);
		end_pump(&a, 10);
	}
	hear(intruder);
	end_close(&a);
}
END_TEST

/* A process that speaks for itself, byte by byte. */
struct liar {
	int fd;
	struct bf_shm_ring ring;
	int ring_fd, door_fd;
	struct bf_door *door;
};

static void lie_open(struct liar *l, uint32_t slot)
{
	struct sockaddr_un at;
	socklen_t len = name_of(geteuid(), end_network(), slot, &at);

	l->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(l->fd, (struct sockaddr *)&at, len), 0);
	ck_assert_int_eq(bf_ring_create(&l->ring, 0, &l->ring_fd), 0);
	ck_assert_int_eq(bf_door_create(&l->door, &l->door_fd), 0);
}

static void lie_close(struct liar *l)
{
	close(l->fd);
	bf_ring_unmap(&l->ring);
	bf_door_unmap(l->door);
	close(l->ring_fd);
	close(l->door_fd);
}

static void lie_say(const struct liar *l, const void *bytes, size_t len, const int *fds, size_t nfds)
{
	char room[CMSG_SPACE(8 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct cmsghdr *c = (struct cmsghdr *)(void *)room;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		h.msg_control = room;
		h.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	ck_assert_int_eq(sendmsg(l->fd, &h, MSG_NOSIGNAL), (ssize_t)len);
}

/* Magic, version, kind, slot. */
static const uint32_t hello[4] = { 0x314f4642, 2, 1, 5 };

START_TEST(test_greetings_that_are_none)
{
	static const uint32_t magic[4] = { 0x314f4643, 2, 1, 5 }, version[4] = { 0x314f4642, 1, 1, 5 },
			      kind[4] = { 0x314f4642, 2, 2, 5 }, slot[4] = { 0x314f4642, 2, 1, 1024 },
			      longer[5] = { 0x314f4642, 2, 1, 5, 0 };
	struct {
		const void *bytes;
		size_t len, nfds;
		bool swapped, plain;
		const char *why;
	} cases[] = {
		{ magic, 16, 2, false, false, "no greeting" },
		{ version, 16, 2, false, false, "another version" },
		{ kind, 16, 2, false, false, "not complete" },
		{ slot, 16, 2, false, false, "does not exist" },
		{ longer, 20, 2, false, false, "no greeting" },
		{ hello, 15, 2, false, false, "no greeting" },
		{ hello, 16, 1, false, false, "not complete" },
		{ hello, 16, 0, false, false, "not complete" },
		{ hello, 16, 3, false, false, "not complete" },
		{ hello, 16, 8, false, false, "no greeting" }, /* more than there is room for */
		{ hello, 16, 2, true, false, "makes no sense" },
		{ hello, 16, 2, false, true, "makes no sense" },
	};
	struct end a;

	end_open(&a, 0);
	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		int plain = memfd_create("plain", MFD_CLOEXEC);
		struct liar l;

		lie_open(&l, 0);
		int fds[8] = {
			cases[i].plain ? plain : l.ring_fd, l.door_fd, plain, plain, plain, plain, plain, plain
		};
		if (cases[i].swapped) {
			fds[0] = l.door_fd;
			fds[1] = l.ring_fd;
		}
		lie_say(&l, cases[i].bytes, cases[i].len, fds, cases[i].nfds);
		while (end_stat(&a, "outside.cut_off") <= i)
			end_wait(&a);
		ck_assert_msg(strstr(bf_outside_error(a.outside)->text, cases[i].why) != NULL, "case %zu: %s", i,
			      bf_outside_error(a.outside)->text);
		lie_close(&l);
		close(plain);
	}
	end_close(&a);
}
END_TEST

START_TEST(test_lies_in_a_ring)
{
	struct end a, b;

	end_open(&a, 0);
	end_open(&b, 0);
	for (int i = 0; i < 4; i++) {
		uint64_t cut = (uint64_t)i, before = a.frames;
		struct liar l;

		lie_open(&l, 0);
		lie_say(&l, hello, sizeof(hello), (int[]){ l.ring_fd, l.door_fd }, 2);
		memset(l.ring.bytes, i == 3 ? 0 : 0xff, 128);
		if (i == 2)
			bf_put_le16(l.ring.bytes, 50); /* a frame, but none for anybody */
		l.ring.shared->tail = i == 1 ? 63 : 128;
		while (end_stat(&a, "outside.cut_off") <= cut)
			end_wait(&a);
		ck_assert_ptr_nonnull(strstr(bf_outside_error(a.outside)->text, "process 5 is cut off: its ring"));
		ck_assert_uint_eq(a.frames, before);
		/* Others are not concerned. */
		end_send(&b, &a, 0, 64);
		bf_outside_flush(b.outside);
		end_receive(&a, before + 1);
		lie_close(&l);
	}
	end_close(&a);
	end_close(&b);
}
END_TEST

/* It says hello twice, or anything else after that. */
START_TEST(test_talkative)
{
	struct liar l;
	struct end a;

	end_open(&a, 0);
	lie_open(&l, 0);
	lie_say(&l, hello, sizeof(hello), (int[]){ l.ring_fd, l.door_fd }, 2);
	lie_say(&l, hello, sizeof(hello), (int[]){ l.ring_fd, l.door_fd }, 2);
	while (!end_stat(&a, "outside.cut_off"))
		end_wait(&a);
	lie_close(&l);
	end_close(&a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("outside_processes");
	TCase *c = tcase_create("processes");
	SRunner *r;
	int failed;

	tcase_set_timeout(c, 120);
	tcase_add_test(c, test_killed);
	tcase_add_test(c, test_killed_while_it_sends);
	tcase_add_test(c, test_echo);
	tcase_add_test(c, test_fork);
	tcase_add_test(c, test_other_users);
	tcase_add_test(c, test_greetings_that_are_none);
	tcase_add_test(c, test_lies_in_a_ring);
	tcase_add_test(c, test_talkative);
	suite_add_tcase(s, c);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
