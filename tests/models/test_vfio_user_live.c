/* The vfio-user server on a live loop, with a socket in the file system. */
#include <pthread.h>
#include <sys/un.h>

#include "sim/live.h"
#include "tests/models/vfio_user_client.h"

static char folder[64], path[128];
static struct bf_live *live;
static struct bf_vfio_user *server;

static void set_up_live(void)
{
	/* The first loop of a process opens descriptors that stay. */
	ck_assert_int_eq(bf_sim_create(1, &r.sim), 0);
	ck_assert_int_eq(bf_live_create(r.sim, &live), 0);
	bf_live_destroy(live);
	bf_sim_destroy(r.sim);
	fds_before = open_fds();
	strcpy(folder, "/tmp/vfio_user_XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/sock", folder);
	ck_assert_int_eq(rig_open_function(&r), 0);
	ck_assert_int_eq(bf_live_create(r.sim, &live), 0);
	ck_assert_int_eq(
	    bf_vfio_user_create(
		r.sim,
		&(struct bf_vfio_user_opts){
		    .fn = r.fn, .ioas = &r.ioas, .live = live, .log = rig_log, .ended = rig_ended, .arg = &r },
		&server),
	    0);
}

static void tear_down_live(void)
{
	struct stat st;

	bf_vfio_user_destroy(server);
	ck_assert_int_ne(lstat(path, &st), 0);
	bf_live_destroy(live);
	rig_close(&r);
	rmdir(folder);
	ck_assert_int_eq(open_fds(), fds_before);
}

static int dial(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	return connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ? close(fd), -1 : fd;
}

/* A blocking client in a thread of its own: `want` bytes come back for what it sends. */
static bool exchange(int fd, const void *out, size_t len, void *in, size_t want)
{
	size_t got = 0;

	if (send(fd, out, len, MSG_NOSIGNAL) != (ssize_t)len)
		return false;
	while (got < want) {
		ssize_t n = recv(fd, (uint8_t *)in + got, want - got, 0);

		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

struct client {
	uint32_t rounds;
	bool good, waits; /* waits: a second client in the queue is served after the first */
};

static void *client_main(void *arg)
{
	struct client *c = arg;
	int second = -1, fd = dial();
	uint8_t version_message[20] = { 1, 0, BF_VFU_VERSION, 0, 20 };
	uint8_t read_message[32] = { 2, 0, BF_VFU_REGION_READ, 0, 32 };
	uint8_t in[64];

	c->good = fd >= 0 && exchange(fd, version_message, 20, in, 20);
	read_message[16] = REG_A;
	read_message[28] = 8;
	for (uint32_t i = 0; c->good && i < c->rounds; i++)
		c->good = exchange(fd, read_message, 32, in, 40) && bf_get_le64(in + 32) == 0x4242;
	if (c->waits) {
		second = dial();
		c->good = c->good && second >= 0 && send(second, version_message, 20, 0) == 20;
		close(fd);
		c->good = c->good && recv(second, in, 20, MSG_WAITALL) == 20 && in[2] == BF_VFU_VERSION;
		fd = second;
	}
	close(fd);
	bf_live_stop(live);
	return NULL;
}

START_TEST(clients_are_served_one_after_another)
{
	struct client c = { .rounds = 200, .waits = true };
	pthread_t thread;

	r.regs[REG_A / 8] = 0x4242;
	ck_assert_int_eq(bf_vfio_user_listen(server, path), 0);
	ck_assert_int_eq(bf_vfio_user_listen(server, path), -EINVAL);
	ck_assert_int_eq(pthread_create(&thread, NULL, client_main, &c), 0);
	ck_assert_int_eq(bf_live_run(live, (uint32_t)_i), 0);
	pthread_join(thread, NULL);
	ck_assert(c.good);
	ck_assert_uint_ge(r.ended, 1);
}
END_TEST

START_TEST(sockets_of_the_dead_are_replaced)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	FILE *f;

	strcpy(addr.sun_path, path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(bf_vfio_user_listen(server, path), -EADDRINUSE);
	close(fd);
	ck_assert_int_eq(bf_vfio_user_listen(server, path), 0);
	bf_vfio_user_destroy(server);
	ck_assert_int_eq(bf_vfio_user_create(
			     r.sim, &(struct bf_vfio_user_opts){ .fn = r.fn, .ioas = &r.ioas, .live = live }, &server),
			 0);
	f = fopen(path, "w");
	fclose(f);
	ck_assert_int_eq(bf_vfio_user_listen(server, path), -EEXIST);
	unlink(path);
	memset(path, 'x', sizeof(path) - 1);
	ck_assert_int_eq(bf_vfio_user_listen(server, path), -ENAMETOOLONG);
	ck_assert_int_eq(bf_vfio_user_listen(server, ""), -ENAMETOOLONG);
	ck_assert_int_eq(bf_vfio_user_listen(server, "/no/such/folder/sock"), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("vfio-user live");
	TCase *t = tcase_create("live");

	tcase_add_checked_fixture(t, set_up_live, tear_down_live);
	tcase_add_loop_test(t, clients_are_served_one_after_another, 1, 3);
	tcase_add_test(t, sockets_of_the_dead_are_replaced);
	suite_add_tcase(s, t);
	return client_run(s);
}
