/* Processes on sockets: bytes arrive, deaths are named, strangers and nonsense are turned away, nothing is left behind.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/bootstrap/socket.h"
#include "drivers/bootstrap/wire_internal.h"
#include "sim/bytes.h"

#define RANKS 4u

static char dir[64], address[80];

static void make_dir(void)
{
	snprintf(dir, sizeof(dir), "/tmp/bf-boot-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(address, sizeof(address), "unix:%s", dir);
}

/* Sockets must be gone by now. */
static void remove_dir(void)
{
	ck_assert_msg(rmdir(dir) == 0, "%s: %s", dir, strerror(errno));
}

static struct bf_boot *join(uint32_t rank, uint32_t ranks, struct bf_error *err)
{
	const struct bf_boot_socket_opts o = { .rank = rank, .ranks = ranks, .address = address, .wait_ms = 20000 };
	struct bf_boot *b;

	ck_assert_msg(!bf_boot_socket_open(&o, err, &b), "%s", err->text);
	return b;
}

/* ---- each process a thread of this one ---- */

struct one {
	pthread_t thread;
	uint32_t rank, ranks;
	void (*main)(struct bf_boot *b, struct bf_error *err);
};

static void *one_main(void *arg)
{
	struct one *o = arg;
	struct bf_error err = { 0 };
	struct bf_boot *b = join(o->rank, o->ranks, &err);

	o->main(b, &err);
	bf_boot_close(b);
	return NULL;
}

static void run(uint32_t ranks, void (*fn)(struct bf_boot *b, struct bf_error *err))
{
	struct one all[8];

	for (uint32_t i = 0; i < ranks; i++) {
		all[i] = (struct one){ .rank = i, .ranks = ranks, .main = fn };
		ck_assert_int_eq(pthread_create(&all[i].thread, NULL, one_main, &all[i]), 0);
	}
	for (uint32_t i = 0; i < ranks; i++)
		pthread_join(all[i].thread, NULL);
}

static uint8_t pattern(uint32_t from, uint32_t to, size_t i)
{
	return (uint8_t)(from * 31 + to * 7 + i * 3 + i / 251);
}

static void fill(uint8_t *p, size_t n, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < n; i++)
		p[i] = pattern(from, to, i);
}

static void check(const uint8_t *p, size_t n, uint32_t from, uint32_t to)
{
	size_t i = 0;

	while (i < n && p[i] == pattern(from, to, i))
		i++;
	ck_assert_msg(i == n, "byte %zu of %zu from %u to %u", i, n, from, to);
}

static void move_bytes(struct bf_boot *b, struct bf_error *err)
{
	static const size_t sizes[] = { 0, 1, 8, 1000, 16384, 16385, 5000000 };
	const uint32_t n = b->npes, me = b->pe;

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		const size_t bytes = sizes[s];
		uint8_t *in = malloc(bytes * n + 1), *out = malloc(bytes * n + 1);
		struct bf_boot_part part[RANKS];
		struct bf_boot_buf room[RANKS] = { 0 };

		fill(in, bytes, me, 0);
		ck_assert_msg(!b->allgather(b, in, out, bytes), "%s", err->text);
		for (uint32_t i = 0; i < n; i++)
			check(out + i * bytes, bytes, i, 0);
		for (uint32_t i = 0; i < n; i++)
			fill(in + i * bytes, bytes, me, i);
		ck_assert_msg(!b->alltoall(b, in, out, bytes), "%s", err->text);
		for (uint32_t i = 0; i < n; i++)
			check(out + i * bytes, bytes, i, me);
		ck_assert_msg(!b->barrier(b), "%s", err->text);
		for (uint32_t i = 0; i < n; i++)
			part[i] = (struct bf_boot_part){ in + i * bytes, (me + i) % 2 ? bytes * (me + 1) / n : 0 };
		for (int turn = 0; turn < 2; turn++) { /* rooms are used again */
			ck_assert_msg(!bf_boot_exchange(b, part, room), "%s", err->text);
			for (uint32_t i = 0; i < n; i++) {
				ck_assert_uint_eq(room[i].bytes, (me + i) % 2 ? bytes * (i + 1) / n : 0);
				check(room[i].data, room[i].bytes, i, me);
			}
		}
		for (uint32_t i = 0; i < n; i++)
			free(room[i].data);
		free(in);
		free(out);
	}
}

START_TEST(all_calls_move_all_bytes)
{
	make_dir();
	run(1, move_bytes);
	run(2, move_bytes);
	run(RANKS, move_bytes);
	remove_dir();
}
END_TEST

static bool port_is_free(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	const int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	bool is_free;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	is_free = bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
	close(fd);
	return is_free;
}

/* Somebody else on this machine may have some of the ports. */
START_TEST(tcp_does_the_same)
{
	int port = 20000 + (int)(getpid() % 10000);

	while (port < 32000 && !(port_is_free(port) && port_is_free(port + 1) && port_is_free(port + 2)))
		port++;
	snprintf(address, sizeof(address), "tcp:%d", port);
	run(3, move_bytes);
}
END_TEST

/* One that is a call ahead of the others does not disturb them. */
static void run_ahead(struct bf_boot *b, struct bf_error *err)
{
	for (uint32_t i = 0; i < 300; i++) {
		uint64_t mine = (uint64_t)b->pe << 32 | i, all[RANKS];

		if (b->pe == i % b->npes)
			usleep(100);
		ck_assert_msg(!b->allgather(b, &mine, all, sizeof(mine)), "%s", err->text);
		for (uint32_t r = 0; r < b->npes; r++)
			if (all[r] != ((uint64_t)r << 32 | i))
				ck_abort_msg("rank %u in call %u: 0x%llx", r, i, (unsigned long long)all[r]);
	}
}

START_TEST(calls_do_not_mix)
{
	make_dir();
	run(RANKS, run_ahead);
	remove_dir();
}
END_TEST

/* ---- failures ---- */

static void one_gives_up(struct bf_boot *b, struct bf_error *err)
{
	ck_assert_int_eq(b->barrier(b), 0);
	if (b->pe == 2) {
		bf_fail(err, -ENOSPC, "no room for %d pigeons", 7);
		b->abort(b);
		ck_assert_int_eq(b->barrier(b), -ECONNRESET);
		return;
	}
	ck_assert_int_eq(b->barrier(b), -ECONNRESET);
	ck_assert_str_eq(err->text, "rank 2 gave up: no room for 7 pigeons");
	ck_assert_int_eq(b->barrier(b), -ECONNRESET); /* and stays so */
}

START_TEST(giving_up_is_told_with_its_reason)
{
	make_dir();
	run(RANKS, one_gives_up);
	remove_dir();
}
END_TEST

static void one_differs(struct bf_boot *b, struct bf_error *err)
{
	uint32_t in[RANKS] = { 0 }, out[RANKS];
	int rc;

	ck_assert_int_eq(b->barrier(b), 0);
	rc = b->pe == 1 ? b->alltoall(b, in, out, 4) : b->allgather(b, in, out, 4);
	ck_assert_msg(rc == -EPROTO || rc == -ECONNRESET, "%d", rc);
	ck_assert_ptr_nonnull(strstr(err->text, "alltoall of 4 bytes"));
	ck_assert_ptr_nonnull(strstr(err->text, "allgather of 4 bytes"));
}

START_TEST(different_calls_are_noticed)
{
	make_dir();
	run(RANKS, one_differs);
	remove_dir();
}
END_TEST

/* A process of its own that is killed in mid-run, in the middle of a long message or before a call. */
static pid_t start_victim(uint32_t rank, uint32_t ranks, size_t bytes)
{
	const pid_t pid = fork();
	struct bf_error err = { 0 };
	struct bf_boot *b;
	uint8_t *in, *out;

	if (pid)
		return pid;
	b = join(rank, ranks, &err);
	in = calloc(1, bytes + 1);
	out = malloc(bytes * ranks + 1);
	if (b->barrier(b) == 0 && bytes == 0)
		kill(getpid(), SIGKILL);
	for (;;)
		b->allgather(b, in, out, bytes); /* until killed */
}

static void survive(uint32_t ranks, size_t bytes, bool kill_it)
{
	const pid_t victim = start_victim(ranks - 1, ranks, bytes);
	struct bf_error err = { 0 };
	uint8_t *in = calloc(1, bytes + 1), *out = malloc(bytes * ranks + 1);
	struct bf_boot *b = join(0, ranks, &err);
	int status, rc = b->barrier(b);

	ck_assert_msg(!rc, "%s", err.text);
	for (uint32_t i = 0; !rc; i++) {
		if (kill_it && i == 3)
			kill(victim, SIGKILL);
		rc = b->allgather(b, in, out, bytes);
	}
	ck_assert_int_eq(rc, -ECONNRESET);
	ck_assert_ptr_nonnull(strstr(err.text, "rank 1 is gone"));
	ck_assert_int_eq(waitpid(victim, &status, 0), victim);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	bf_boot_close(b);
	free(in);
	free(out);
}

START_TEST(a_killed_process_is_named)
{
	signal(SIGPIPE, SIG_DFL); /* must not matter */
	make_dir();
	survive(2, 0, false);
	survive(2, 100, true);
	survive(2, 3000000, true);
	remove_dir();
}
END_TEST

START_TEST(who_does_not_come_is_named)
{
	const struct bf_boot_socket_opts o = { .rank = 0, .ranks = 3, .wait_ms = 50, .address = address };
	const struct bf_boot_socket_opts above = { .rank = 2, .ranks = 3, .wait_ms = 50, .address = address };
	struct bf_error err = { 0 };
	struct bf_boot *b;

	make_dir();
	ck_assert_int_eq(bf_boot_socket_open(&o, &err, &b), -ETIMEDOUT);
	ck_assert_str_eq(err.text, "rank 0: 1 of 3 processes came, not rank 1");
	ck_assert_int_eq(bf_boot_socket_open(&above, &err, &b), -ETIMEDOUT);
	ck_assert_str_eq(err.text, "rank 2: 1 of 3 processes came, not rank 0");
	remove_dir();
}
END_TEST

START_TEST(bad_addresses_are_refused)
{
	static const char *const bad[] = { "",          "unix:",   "unix",     "tcp:",   "tcp:0",
					   "tcp:65535", "tcp:12x", "pigeon:1", "tcp:-1", "unix:/nonexistent/dir" };
	char longer[200] = "unix:/tmp/";
	struct bf_boot_socket_opts o = { .rank = 0, .ranks = 2, .wait_ms = 20 };
	struct bf_error err;
	struct bf_boot *b;

	memset(longer + 10, 'x', 150);
	for (size_t i = 0; i <= sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct bf_error){ 0 };
		o.address = i < sizeof(bad) / sizeof(bad[0]) ? bad[i] : longer;
		ck_assert_msg(bf_boot_socket_open(&o, &err, &b) < 0, "%s", o.address);
		ck_assert_ptr_null(b);
		ck_assert_msg(err.text[0], "%s", o.address);
	}
	o = (struct bf_boot_socket_opts){ .rank = 2, .ranks = 2, .address = "unix:/tmp" };
	ck_assert_int_eq(bf_boot_socket_open(&o, &err, &b), -EINVAL);
	o = (struct bf_boot_socket_opts){ .rank = 0, .ranks = BF_BOOT_RANKS_MAX + 1, .address = "unix:/tmp" };
	ck_assert_int_eq(bf_boot_socket_open(&o, &err, &b), -EINVAL);
}
END_TEST

/* ---- strangers ---- */

static int dial(uint32_t rank)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s/%u", dir, rank);
	for (int i = 0; i < 2000; i++) {
		if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
			return fd;
		usleep(1000);
	}
	ck_abort_msg("nobody listens at %s", to.sun_path);
}

static void *late_peer(void *arg)
{
	struct bf_error err = { 0 };
	struct bf_boot *b;

	(void)arg;
	usleep(200000); /* the strangers come first */
	b = join(1, 2, &err);
	ck_assert_msg(!b->barrier(b), "%s", err.text);
	bf_boot_close(b);
	return NULL;
}

static void *annoy(void *arg)
{
	const struct bf_wire_greeting wrong[] = {
		{ BF_WIRE_VERSION + 1, 2, 1 },
		{ BF_WIRE_VERSION, 3, 1 },
		{ BF_WIRE_VERSION, 2, 0 },
		{ BF_WIRE_VERSION, 2, 9 },
	};
	uint8_t bytes[BF_WIRE_GREETING], reply[BF_WIRE_GREETING];

	(void)arg;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct bf_wire_greeting g;
		int fd = dial(0);

		bf_wire_put_greeting(bytes, &wrong[i]);
		ck_assert_int_eq(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
		ck_assert_int_eq(recv(fd, reply, sizeof(reply), MSG_WAITALL), sizeof(reply)); /* who it met */
		ck_assert_int_eq(bf_wire_get_greeting(reply, &g), 0);
		ck_assert_uint_eq(g.version, BF_WIRE_VERSION);
		ck_assert_uint_eq(g.rank, 0);
		ck_assert_int_eq(read(fd, reply, 1), 0); /* and out */
		close(fd);
	}
	for (size_t n = 0; n < 40; n += 13) {
		int fd = dial(0);

		memset(bytes, 0xa5, sizeof(bytes));
		ck_assert_int_ge(write(fd, bytes, n < sizeof(bytes) ? n : sizeof(bytes)), 0);
		close(fd);
	}
	return NULL;
}

START_TEST(strangers_are_turned_away)
{
	pthread_t stranger, peer;
	struct bf_error err = { 0 };
	struct bf_boot *b;

	make_dir();
	pthread_create(&stranger, NULL, annoy, NULL);
	pthread_create(&peer, NULL, late_peer, NULL);
	b = join(0, 2, &err);
	ck_assert_msg(!b->barrier(b), "%s", err.text);
	bf_boot_close(b);
	pthread_join(stranger, NULL);
	pthread_join(peer, NULL);
	remove_dir();
}
END_TEST

/* Says both calls' parts and why it gives up in one go, and closes: who comes later can send it nothing. */
static void *gives_up_ahead(void *arg)
{
	static const char why[] = "no room for 7 pigeons";
	const struct bf_wire_greeting g = { BF_WIRE_VERSION, 2, 1 };
	uint8_t bytes[BF_WIRE_GREETING], said[3 * BF_WIRE_HEAD + sizeof(why) - 1];
	int fd = dial(0);

	(void)arg;
	bf_wire_put_greeting(bytes, &g);
	ck_assert_int_eq(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	ck_assert_int_eq(recv(fd, bytes, sizeof(bytes), MSG_WAITALL), sizeof(bytes));
	bf_wire_put_head(said, BF_BOOT_BARRIER, 0, 1, 0);
	bf_wire_put_head(said + BF_WIRE_HEAD, BF_BOOT_BARRIER, 0, 2, 0);
	bf_wire_put_head(said + 2 * BF_WIRE_HEAD, BF_WIRE_ABORT, -ECONNRESET, 0, sizeof(why) - 1);
	memcpy(said + 3 * BF_WIRE_HEAD, why, sizeof(why) - 1);
	ck_assert_int_eq(write(fd, said, sizeof(said)), sizeof(said));
	close(fd);
	return NULL;
}

START_TEST(the_reason_comes_before_the_broken_pipe)
{
	pthread_t peer;
	struct bf_error err = { 0 };
	struct bf_boot *b;

	make_dir();
	pthread_create(&peer, NULL, gives_up_ahead, NULL);
	b = join(0, 2, &err);
	pthread_join(peer, NULL);
	ck_assert_msg(!b->barrier(b), "%s", err.text);
	ck_assert_int_eq(b->barrier(b), -ECONNRESET);
	ck_assert_str_eq(err.text, "no room for 7 pigeons");
	bf_boot_close(b);
	remove_dir();
}
END_TEST

/* A listener of another version, at the address that we were given. */
static void *other_version(void *arg)
{
	const struct bf_wire_greeting g = { BF_WIRE_VERSION + 7, 2, 0 };
	uint8_t bytes[BF_WIRE_GREETING];
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), peer;

	(void)arg;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/0", dir);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	peer = accept(fd, NULL, NULL);
	bf_wire_put_greeting(bytes, &g);
	ck_assert_int_eq(write(peer, bytes, sizeof(bytes)), sizeof(bytes));
	while (read(peer, bytes, sizeof(bytes)) > 0)
		continue;
	close(peer);
	close(fd);
	unlink(at.sun_path);
	return NULL;
}

START_TEST(another_version_is_named)
{
	const struct bf_boot_socket_opts o = { .rank = 1, .ranks = 2, .wait_ms = 10000, .address = address };
	struct bf_error err = { 0 };
	struct bf_boot *b;
	pthread_t t;

	make_dir();
	pthread_create(&t, NULL, other_version, NULL);
	ck_assert_int_eq(bf_boot_socket_open(&o, &err, &b), -EPROTO);
	ck_assert_str_eq(err.text, "rank 1: rank 0 speaks version 8, this one 1");
	pthread_join(t, NULL);
	remove_dir();
}
END_TEST

/* A peer that greets well and then sends `bytes`. */
struct liar {
	pthread_t thread;
	const uint8_t *bytes;
	size_t len;
};

static void *lie(void *arg)
{
	const struct liar *l = arg;
	const struct bf_wire_greeting g = { BF_WIRE_VERSION, 2, 1 };
	uint8_t bytes[BF_WIRE_GREETING];
	int fd = dial(0);

	bf_wire_put_greeting(bytes, &g);
	ck_assert_int_eq(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	ck_assert_int_eq(recv(fd, bytes, sizeof(bytes), MSG_WAITALL), sizeof(bytes));
	ck_assert_int_ge(send(fd, l->bytes, l->len, MSG_NOSIGNAL), 0);
	while (read(fd, bytes, sizeof(bytes)) > 0)
		continue;
	close(fd);
	return NULL;
}

START_TEST(nonsense_ends_the_connection)
{
	static const struct {
		uint32_t op;
		uint64_t seq, bytes;
		int want;
	} heads[] = {
		{ BF_BOOT_ALLGATHER, 2, 8, -EPROTO },     { BF_BOOT_ALLGATHER, 1, 9, -EPROTO },
		{ BF_BOOT_ALLTOALL, 1, 8, -EPROTO },      { 77, 1, 8, -EPROTO },
		{ BF_WIRE_ABORT, 0, 1u << 20, -EPROTO },  { BF_WIRE_ABORT, 0, 3, -ECONNRESET },
		{ BF_BOOT_ALLGATHER, 1, ~0ull, -EPROTO },
	};

	make_dir();
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		uint8_t bytes[BF_WIRE_HEAD + 8] = { 0 };
		struct liar l = { .bytes = bytes, .len = sizeof(bytes) };
		struct bf_error err = { 0 };
		uint64_t mine = 1, all[2];
		struct bf_boot *b;

		bf_wire_put_head(bytes, heads[i].op, 0, heads[i].seq, heads[i].bytes);
		memcpy(bytes + BF_WIRE_HEAD, "a\x01z", 3);
		pthread_create(&l.thread, NULL, lie, &l);
		b = join(0, 2, &err);
		ck_assert_int_eq(b->allgather(b, &mine, all, 8), heads[i].want);
		if (heads[i].want == -ECONNRESET)
			ck_assert_str_eq(err.text, "a.z"); /* what cannot be printed does not reach the terminal */
		bf_boot_close(b);
		pthread_join(l.thread, NULL);
	}
	remove_dir();
}
END_TEST

/* ---- messages ---- */

START_TEST(messages_come_in_any_pieces)
{
	uint8_t wire[2 * BF_WIRE_HEAD + 20], to[20], want[20];

	fill(want, sizeof(want), 1, 0);
	bf_wire_put_head(wire, BF_BOOT_ALLGATHER, 0, 5, sizeof(want));
	memcpy(wire + BF_WIRE_HEAD, want, sizeof(want));
	bf_wire_put_head(wire + BF_WIRE_HEAD + sizeof(want), BF_BOOT_BARRIER, 0, 6, 0);
	for (size_t cut = 0; cut <= sizeof(wire); cut++) {
		struct bf_inbox in = { .rank = 1 };
		struct bf_error err = { 0 };
		const size_t parts[] = { cut, sizeof(wire) };
		size_t at = 0;

		bf_inbox_expect(&in, BF_BOOT_ALLGATHER, 5, to, sizeof(to), NULL);
		for (size_t p = 0; p < 2; p++)
			while (at < parts[p]) {
				const int64_t n = bf_inbox_take(&in, wire + at, parts[p] - at, &err);

				ck_assert_msg(n >= 0, "%s", err.text);
				at += (size_t)n;
				if (in.done && in.op == BF_BOOT_ALLGATHER) {
					ck_assert_uint_eq(at, BF_WIRE_HEAD + sizeof(want));
					ck_assert_mem_eq(to, want, sizeof(want));
					bf_inbox_expect(&in, BF_BOOT_BARRIER, 6, NULL, 0, NULL);
				}
			}
		ck_assert(in.done);
		ck_assert_uint_eq(in.op, BF_BOOT_BARRIER);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("boot_socket");
	TCase *t = tcase_create("boot_socket");
	SRunner *sr = srunner_create(s);
	struct bf_boot_socket_opts o = { .rank = 0, .ranks = 1, .address = "pigeon" };
	struct bf_error err = { 0 };
	struct bf_boot *b;
	int failed;

	if (bf_boot_socket_open(&o, &err, &b) == -ENOTSUP) {
		puts("this build has no libuv");
		return 77;
	}
	tcase_set_timeout(t, 120);
	tcase_add_test(t, all_calls_move_all_bytes);
	tcase_add_test(t, tcp_does_the_same);
	tcase_add_test(t, calls_do_not_mix);
	tcase_add_test(t, giving_up_is_told_with_its_reason);
	tcase_add_test(t, different_calls_are_noticed);
	tcase_add_test(t, a_killed_process_is_named);
	tcase_add_test(t, who_does_not_come_is_named);
	tcase_add_test(t, bad_addresses_are_refused);
	tcase_add_test(t, the_reason_comes_before_the_broken_pipe);
	tcase_add_test(t, strangers_are_turned_away);
	tcase_add_test(t, another_version_is_named);
	tcase_add_test(t, nonsense_ends_the_connection);
	tcase_add_test(t, messages_come_in_any_pieces);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
