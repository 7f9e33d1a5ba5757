/* Event descriptors of `belfry exec`: what a program reads is what was put, one event a read, however many are unread.
 */
#include <check.h>
#include <fcntl.h>
#include <poll.h>

#include "tools/exec/channels.c"

static struct bf_sim *sim;
static struct bf_channels *channels;

static void begin(void)
{
	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	ck_assert_int_eq(bf_channels_create(sim, &channels), 0);
}

static void end(void)
{
	bf_channels_destroy(channels);
	bf_sim_destroy(sim);
}

static int open_channel(void)
{
	const int fd = bf_channel_open(channels);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

static void put_number(int fd, uint64_t n)
{
	ck_assert_int_eq(bf_channel_put(channels, fd, &n, sizeof(n)), 0);
}

/* With a buffer for more than one: a channel gives one at a time. */
static void expect_number(int fd, uint64_t n)
{
	uint64_t got[4] = { 0 };

	ck_assert_int_eq(read(fd, got, sizeof(got)), (int)sizeof(n));
	ck_assert_uint_eq(got[0], n);
}

static void expect_none(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t got;

	ck_assert_int_eq(poll(&p, 1, 0), 0);
	ck_assert_int_eq(read(fd, &got, sizeof(got)), -1);
	ck_assert_int_eq(errno, EAGAIN);
}

static bool is_odd(const void *event, void *seen)
{
	uint64_t n;

	memcpy(&n, event, sizeof(n));
	++*(int *)seen;
	return n & 1;
}

START_TEST(each_read_gives_one_event)
{
	const int fd = open_channel();
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const uint64_t pair[2] = { 5, 6 };
	uint64_t got[2];

	expect_none(fd);
	put_number(fd, 1);
	put_number(fd, 2);
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	expect_number(fd, 1);
	expect_number(fd, 2);
	expect_none(fd);
	ck_assert_int_eq(bf_channel_put(channels, fd, pair, sizeof(pair)), 0);
	ck_assert_int_eq(read(fd, got, sizeof(got)), (int)sizeof(pair));
	ck_assert_uint_eq(got[1], 6);
	close(fd);
}
END_TEST

START_TEST(thousands_stay_unread_in_order)
{
	const int fd = open_channel();

	for (uint64_t i = 0; i < 3000; i++)
		put_number(fd, i);
	ck_assert_uint_gt(channels->list->nwaiting, 0); /* or this tests the kernel's buffer only */
	for (uint64_t i = 0; i < 3000; i++) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, 0) == 0) /* what the clock of the simulation does */
			bf_sim_run(sim, sim->now_ps + RETRY_PS);
		expect_number(fd, i);
	}
	bf_sim_run(sim, BF_NEVER);
	expect_none(fd);
	close(fd);
}
END_TEST

START_TEST(only_unread_events_are_taken_back)
{
	const int fd = open_channel();
	int seen = 0;

	for (uint64_t i = 0; i < 2000; i++)
		put_number(fd, i);
	for (uint64_t i = 0; i < 100; i++)
		expect_number(fd, i);
	ck_assert_int_eq(bf_channel_take(channels, fd, is_odd, &seen), 950);
	ck_assert_int_eq(seen, 1900);
	for (uint64_t i = 100; i < 2000; i += 2) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, 0) == 0)
			bf_sim_run(sim, sim->now_ps + RETRY_PS);
		expect_number(fd, i);
	}
	expect_none(fd);
	ck_assert_int_eq(bf_channel_take(channels, fd, is_odd, &seen), 0);
	close(fd);
}
END_TEST

START_TEST(a_number_that_is_used_again_is_another_channel)
{
	int fd = open_channel(), again;

	put_number(fd, 1);
	close(fd);
	again = open_channel();
	ck_assert_int_eq(again, fd);
	expect_none(again);
	put_number(again, 2);
	expect_number(again, 2);
	ck_assert_ptr_null(channels->list->next);
	close(again);
}
END_TEST

START_TEST(released_is_at_its_end)
{
	const int fd = open_channel();
	uint64_t got;

	put_number(fd, 3);
	bf_channel_release(channels, fd);
	expect_number(fd, 3);
	ck_assert_int_eq(read(fd, &got, sizeof(got)), 0);
	ck_assert_int_eq(bf_channel_put(channels, fd, &got, sizeof(got)), -EBADF);
	bf_channel_release(channels, fd);
	close(fd);
}
END_TEST

START_TEST(odd_sizes_are_refused)
{
	const int fd = open_channel();
	const uint8_t bytes[BF_UVERBS_EVENT_MAX + 1] = { 0 };

	ck_assert_int_eq(bf_channel_put(channels, fd, bytes, 0), -EINVAL);
	ck_assert_int_eq(bf_channel_put(channels, fd, bytes, sizeof(bytes)), -EINVAL);
	expect_none(fd);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exec_channels");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, each_read_gives_one_event);
	tcase_add_test(tc, thousands_stay_unread_in_order);
	tcase_add_test(tc, only_unread_events_are_taken_back);
	tcase_add_test(tc, a_number_that_is_used_again_is_another_channel);
	tcase_add_test(tc, released_is_at_its_end);
	tcase_add_test(tc, odd_sizes_are_refused);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
