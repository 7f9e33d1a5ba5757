/*
 * The thread that sleeps at the sockets, so that whoever sleeps at the door hears of them. It touches nothing: it says
 * that there is something and waits until it is armed again. While the simulation's thread is busy it looks by itself.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "models/fabric/outside_internal.h"

static bool stopping(struct bf_outside *o)
{
	return __atomic_load_n(&o->stop, __ATOMIC_ACQUIRE) != 0;
}

static void *watch(void *arg)
{
	struct bf_outside *o = arg;
	struct pollfd fds[2] = { { .fd = o->epoll, .events = POLLIN }, { .fd = o->stop_fd, .events = POLLIN } };

	while (!stopping(o)) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (stopping(o) || !(fds[0].revents & POLLIN))
			continue;
		__atomic_store_n(&o->ready, 1, __ATOMIC_RELEASE);
		bf_door_knock(o->door);
		while (__atomic_load_n(&o->ready, __ATOMIC_ACQUIRE) && !stopping(o))
			syscall(SYS_futex, &o->ready, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	}
	return NULL;
}

void bf_watch_arm(struct bf_outside *o)
{
	if (!__atomic_load_n(&o->ready, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&o->ready, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, &o->ready, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

int bf_watch_start(struct bf_outside *o)
{
	sigset_t all, before;
	int rc;

	o->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (o->stop_fd < 0)
		return bf_fail(&o->sim->error, -errno, "outside: cannot make an eventfd: %s", strerror(errno));
	sigfillset(&all); /* signals are for the program's own threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&o->watcher, NULL, watch, o);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
		return 0;
	close(o->stop_fd);
	o->stop_fd = -1;
	return bf_fail(&o->sim->error, -rc, "outside: cannot make a thread: %s", strerror(rc));
}

void bf_watch_stop(struct bf_outside *o)
{
	uint64_t one = 1;

	if (o->stop_fd < 0)
		return;
	__atomic_store_n(&o->stop, 1, __ATOMIC_RELEASE);
	/* Whether it sleeps at the sockets or until it is armed. */
	if (write(o->stop_fd, &one, sizeof(one)) == (ssize_t)sizeof(one)) {
		__atomic_store_n(&o->ready, 1, __ATOMIC_RELEASE);
		bf_watch_arm(o);
		pthread_join(o->watcher, NULL);
	}
	close(o->stop_fd);
	o->stop_fd = -1;
}
