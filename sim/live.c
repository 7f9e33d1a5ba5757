/* The live loop. live.h says what a turn is; the functions below stand in the order of one. */
#include "sim/live.h"

#include <errno.h>

#ifdef BELFRY_HAVE_LIBUV

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "sim/sim_internal.h"

/* A busy loop looks at its descriptors only so often: a look is a system call. */
#define TURNS_PER_FD_LOOK 64

struct poller {
	int (*poll)(void *arg);
	void *arg;
};

struct watched_fd {
	uv_poll_t handle;
	struct bf_live *live;
	struct watched_fd *next;
	void (*ready)(void *arg, int fd);
	void *arg;
	int fd;
	int events; /* UV_READABLE, UV_WRITABLE */
};

struct live_call {
	uv_work_t request;
	struct bf_live *live;
	struct bf_live_work *work;
	struct live_call *next; /* free ones */
};

struct bf_live {
	struct bf_sim *sim;
	uv_loop_t loop;
	uv_async_t wake; /* keeps the loop alive, and wakes it */
	uv_timer_t timer;
	struct poller pollers[BF_LIVE_POLLERS];
	uint32_t npollers;
	struct watched_fd *fds;
	struct live_call *calls; /* free ones */
	uint32_t working;        /* calls whose `done` has not run */
	uint32_t running;        /* calls whose `run` has not returned; under `lock` */
	uv_mutex_t lock;
	uv_cond_t settled;
	uint64_t origin_ns; /* wall clock and ... */
	uint64_t origin_ps; /* ... simulated time at the start of this run */
	bool called;        /* libuv called us in this look: that counts as work */
	atomic_bool stop;   /* the only field that other threads touch, beside what uv_async_send() does */
};

static void on_wake(uv_async_t *handle)
{
	struct bf_live *l = handle->data;

	l->called = true;
}

static void on_timer(uv_timer_t *handle)
{
	(void)handle; /* it only ends the sleep */
}

static void on_ready(uv_poll_t *handle, int status, int events)
{
	struct watched_fd *w = BF_CONTAINER_OF(handle, struct watched_fd, handle);
	struct bf_live *l = w->live;

	(void)events;
	l->called = true;
	w->ready(w->arg, w->fd);
	/* libuv stops at POLLERR, which on a datagram socket is just one more thing to read. */
	if (status < 0 && !uv_is_closing((uv_handle_t *)handle) && w->events)
		uv_poll_start(handle, w->events, on_ready);
}

int bf_live_create(struct bf_sim *sim, struct bf_live **out)
{
	struct bf_live *l = calloc(1, sizeof(*l));
	int rc;

	*out = NULL;
	if (!l)
		return bf_fail(&sim->error, -ENOMEM, "no memory for the live loop");
	l->sim = sim;
	rc = uv_loop_init(&l->loop);
	if (rc)
		goto fail_loop;
	rc = uv_async_init(&l->loop, &l->wake, on_wake);
	if (rc)
		goto fail_async;
	l->wake.data = l;
	rc = uv_mutex_init(&l->lock);
	if (rc)
		goto fail_lock;
	rc = uv_cond_init(&l->settled);
	if (rc)
		goto fail_cond;
	uv_timer_init(&l->loop, &l->timer);
	atomic_init(&l->stop, false);
	*out = l;
	return 0;

fail_cond:
	uv_mutex_destroy(&l->lock);
fail_lock:
	uv_close((uv_handle_t *)&l->wake, NULL);
	uv_run(&l->loop, UV_RUN_DEFAULT);
fail_async:
	uv_loop_close(&l->loop);
fail_loop:
	free(l);
	return bf_fail(&sim->error, rc, "event loop: %s", uv_strerror(rc));
}

void bf_live_destroy(struct bf_live *l)
{
	if (!l)
		return;
	while (l->fds)
		bf_live_remove_fd(l, l->fds->fd);
	uv_close((uv_handle_t *)&l->wake, NULL);
	uv_close((uv_handle_t *)&l->timer, NULL);
	uv_run(&l->loop, UV_RUN_DEFAULT); /* lets calls end and the handles finish closing */
	uv_loop_close(&l->loop);
	uv_cond_destroy(&l->settled);
	uv_mutex_destroy(&l->lock);
	while (l->calls) {
		struct live_call *next = l->calls->next;

		free(l->calls);
		l->calls = next;
	}
	free(l);
}

int bf_live_add_poller(struct bf_live *l, int (*poll)(void *arg), void *arg)
{
	if (l->npollers == BF_LIVE_POLLERS)
		return bf_fail(&l->sim->error, -ENOSPC, "more than %d pollers", BF_LIVE_POLLERS);
	l->pollers[l->npollers++] = (struct poller){ poll, arg };
	return 0;
}

void bf_live_remove_poller(struct bf_live *l, int (*poll)(void *arg), void *arg)
{
	for (uint32_t i = 0; i < l->npollers; i++) {
		if (l->pollers[i].poll != poll || l->pollers[i].arg != arg)
			continue;
		l->npollers--;
		memmove(&l->pollers[i], &l->pollers[i + 1], (l->npollers - i) * sizeof(l->pollers[0]));
		return;
	}
}

int bf_live_add_fd(struct bf_live *l, int fd, void (*ready)(void *arg, int fd), void *arg)
{
	struct watched_fd *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return bf_fail(&l->sim->error, -ENOMEM, "no memory to watch descriptor %d", fd);
	w->live = l;
	w->ready = ready;
	w->arg = arg;
	w->fd = fd;
	rc = fd < 0 ? UV_EBADF : uv_poll_init(&l->loop, &w->handle, fd);
	if (rc) {
		free(w);
		return bf_fail(&l->sim->error, rc, "descriptor %d: %s", fd, uv_strerror(rc));
	}
	w->events = UV_READABLE;
	uv_poll_start(&w->handle, w->events, on_ready);
	w->next = l->fds;
	l->fds = w;
	return 0;
}

void bf_live_watch(struct bf_live *l, int fd, uint32_t events)
{
	for (struct watched_fd *w = l->fds; w; w = w->next) {
		if (w->fd != fd)
			continue;
		w->events = (events & BF_LIVE_READ ? UV_READABLE : 0) | (events & BF_LIVE_WRITE ? UV_WRITABLE : 0);
		if (w->events)
			uv_poll_start(&w->handle, w->events, on_ready);
		else
			uv_poll_stop(&w->handle);
	}
}

static void on_closed(uv_handle_t *handle)
{
	free(BF_CONTAINER_OF(handle, struct watched_fd, handle));
}

void bf_live_remove_fd(struct bf_live *l, int fd)
{
	for (struct watched_fd **link = &l->fds; *link; link = &(*link)->next) {
		struct watched_fd *w = *link;

		if (w->fd != fd)
			continue;
		*link = w->next;
		uv_close((uv_handle_t *)&w->handle, on_closed);
		return;
	}
}

static void on_call(uv_work_t *request)
{
	struct live_call *c = BF_CONTAINER_OF(request, struct live_call, request);
	struct bf_live *l = c->live;

	c->work->run(c->work);
	uv_mutex_lock(&l->lock);
	if (--l->running == 0)
		uv_cond_broadcast(&l->settled);
	uv_mutex_unlock(&l->lock);
}

static void on_called(uv_work_t *request, int status)
{
	struct live_call *c = BF_CONTAINER_OF(request, struct live_call, request);
	struct bf_live *l = c->live;

	(void)status; /* nobody cancels */
	c->next = l->calls;
	l->calls = c;
	l->working--;
	l->called = true;
	c->work->done(c->work);
}

int bf_live_work(struct bf_live *l, struct bf_live_work *w)
{
	struct live_call *c = l->calls ? l->calls : malloc(sizeof(*c));

	if (!c)
		return bf_fail(&l->sim->error, -ENOMEM, "no memory for a call in the thread pool");
	if (c == l->calls)
		l->calls = c->next;
	c->live = l;
	c->work = w;
	uv_mutex_lock(&l->lock);
	l->running++;
	uv_mutex_unlock(&l->lock);
	l->working++;
	uv_queue_work(&l->loop, &c->request, on_call, on_called);
	return 0;
}

void bf_live_settle(struct bf_live *l)
{
	uv_mutex_lock(&l->lock);
	while (l->running)
		uv_cond_wait(&l->settled, &l->lock);
	uv_mutex_unlock(&l->lock);
}

static uint64_t wall_ps(const struct bf_live *l)
{
	return l->origin_ps + (uv_hrtime() - l->origin_ns) * BF_NS;
}

static bool stopping(const struct bf_live *l)
{
	return l->sim->stopped || atomic_load_explicit(&l->stop, memory_order_acquire);
}

/* Fires what is due and sets the clock to now. */
static bool run_events(struct bf_live *l)
{
	struct bf_sim *sim = l->sim;
	const uint64_t before = sim->events, now = wall_ps(l);

	bf_sim_fire_due(sim, now);
	if (now > sim->now_ps && !sim->stopped)
		sim->now_ps = now;
	return sim->events != before;
}

static bool run_pollers(struct bf_live *l)
{
	bool worked = false;

	for (uint32_t i = 0; i < l->npollers && !l->sim->stopped; i++)
		if (l->pollers[i].poll(l->pollers[i].arg))
			worked = true;
	return worked;
}

static bool look_at_fds(struct bf_live *l, uv_run_mode mode)
{
	l->called = false;
	uv_run(&l->loop, mode);
	return l->called;
}

/*
 * How long the loop may sleep: whole milliseconds, which is what epoll and libuv's timers know. An event that is due
 * sooner is waited for awake.
 */
static uint64_t sleep_ms(const struct bf_live *l)
{
	const uint64_t next = bf_sim_next(l->sim), now = wall_ps(l);
	const uint64_t most = l->npollers ? 1 : UINT64_MAX;
	uint64_t ms;

	if (next == BF_NEVER)
		return most;
	ms = next > now ? (next - now) / BF_MS : 0;
	return ms < most ? ms : most;
}

/*
 * A stop or wake that came since the turn began has made the loop's descriptor readable, so the sleep ends at once. The
 * timer repeats, because libuv fires what is due before it goes to sleep: of a thread that lost its processor right
 * here a timer of one shot would be gone by then, and the sleep without end.
 */
static bool sleep_in_kernel(struct bf_live *l)
{
	const uint64_t ms = sleep_ms(l);

	if (ms == 0)
		return false;
	if (ms != UINT64_MAX) {
		uv_update_time(&l->loop);
		uv_timer_start(&l->timer, on_timer, ms, 1);
	}
	look_at_fds(l, UV_RUN_ONCE);
	uv_timer_stop(&l->timer);
	return l->called;
}

int bf_live_run(struct bf_live *l, uint32_t idle_us)
{
	struct bf_sim *sim = l->sim;
	uint64_t idle_since;
	uint32_t turn = 0;

	sim->stopped = false;
	sim->shared = true;
	l->origin_ns = uv_hrtime();
	l->origin_ps = idle_since = sim->now_ps;
	while (!stopping(l)) {
		bool worked = run_events(l);

		worked |= run_pollers(l);
		if ((l->fds || l->working) && (!worked || ++turn % TURNS_PER_FD_LOOK == 0))
			worked |= look_at_fds(l, UV_RUN_NOWAIT);
		if (worked)
			idle_since = sim->now_ps;
		else if (idle_us == 0 || sim->now_ps - idle_since < idle_us * BF_US)
			bf_cpu_relax();
		else if (!stopping(l) && sleep_in_kernel(l))
			idle_since = wall_ps(l);
	}
	sim->shared = false;
	atomic_store_explicit(&l->stop, false, memory_order_relaxed);
	return 0;
}

void bf_live_stop(struct bf_live *l)
{
	atomic_store_explicit(&l->stop, true, memory_order_release);
	uv_async_send(&l->wake);
}

void bf_live_wake(struct bf_live *l)
{
	uv_async_send(&l->wake);
}

#else

int bf_live_create(struct bf_sim *sim, struct bf_live **out)
{
	*out = NULL;
	return bf_fail(&sim->error, -ENOTSUP, "this build has no live mode (libuv was not found)");
}

/* Nobody gets a loop, so nobody can call these with one. */
void bf_live_destroy(struct bf_live *l)
{
	(void)l;
}

int bf_live_add_poller(struct bf_live *l, int (*poll)(void *arg), void *arg)
{
	(void)l, (void)poll, (void)arg;
	return -ENOTSUP;
}

void bf_live_remove_poller(struct bf_live *l, int (*poll)(void *arg), void *arg)
{
	(void)l, (void)poll, (void)arg;
}

int bf_live_add_fd(struct bf_live *l, int fd, void (*ready)(void *arg, int fd), void *arg)
{
	(void)l, (void)fd, (void)ready, (void)arg;
	return -ENOTSUP;
}

void bf_live_watch(struct bf_live *l, int fd, uint32_t events)
{
	(void)l, (void)fd, (void)events;
}

void bf_live_remove_fd(struct bf_live *l, int fd)
{
	(void)l, (void)fd;
}

int bf_live_work(struct bf_live *l, struct bf_live_work *w)
{
	(void)l;
	(void)w;
	return -ENOTSUP;
}

void bf_live_settle(struct bf_live *l)
{
	(void)l;
}

int bf_live_run(struct bf_live *l, uint32_t idle_us)
{
	(void)l, (void)idle_us;
	return -ENOTSUP;
}

void bf_live_stop(struct bf_live *l)
{
	(void)l;
}

void bf_live_wake(struct bf_live *l)
{
	(void)l;
}

#endif
