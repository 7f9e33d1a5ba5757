/*
 * How processes come together: each listens, calls those of lower rank, and is called by those of higher rank. Whoever
 * calls greets first. Who is not there yet is called again until the time is over.
 */
#include "drivers/bootstrap/socket.h"

#ifdef BELFRY_HAVE_LIBUV

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/socket_internal.h"

#define RETRY_MS 5u
#define WAIT_MS 30000u

static int call_peer(struct bf_sockets *s, uint32_t rank);

void bf_sigpipe_hold(sigset_t *before)
{
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, before);
}

void bf_sigpipe_release(const sigset_t *before, bool take)
{
	const struct timespec now = { 0 };
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	if (take && !sigismember(before, SIGPIPE))
		while (sigtimedwait(&pipe, NULL, &now) == SIGPIPE)
			continue;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void on_conn_closed(uv_handle_t *h)
{
	struct bf_conn *c = h->data, **link = &c->all->conns;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	free(c);
}

void bf_conn_close(struct bf_conn *c)
{
	if (c->closing)
		return;
	c->closing = true;
	if (c->rank < c->all->boot.npes && c->all->peer[c->rank] == c)
		c->all->peer[c->rank] = NULL;
	uv_close(&c->u.handle, on_conn_closed);
}

static struct bf_conn *new_conn(struct bf_sockets *s, uint32_t rank)
{
	struct bf_conn *c = calloc(1, sizeof(*c));
	int rc = -ENOMEM;

	if (c)
		rc = s->port ? uv_tcp_init(&s->loop, &c->u.tcp) : uv_pipe_init(&s->loop, &c->u.pipe, 0);
	if (rc) {
		free(c);
		return NULL;
	}
	c->all = s;
	c->rank = rank;
	c->u.handle.data = c;
	c->next = s->conns;
	s->conns = c;
	return c;
}

static void stop_connecting(struct bf_sockets *s, int rc)
{
	s->broken = s->broken ? s->broken : rc;
	uv_stop(&s->loop);
}

/* One more is there. */
static void welcome(struct bf_conn *c, uint32_t rank)
{
	struct bf_sockets *s = c->all;

	uv_read_stop(&c->u.stream);
	c->rank = c->in.rank = rank;
	c->stash_len = 0;
	s->peer[rank] = c;
	if (++s->present == s->boot.npes)
		uv_stop(&s->loop);
}

static void turn_away(struct bf_conn *c, const char *why)
{
	snprintf(c->all->refused, sizeof(c->all->refused), "%s", why);
	bf_conn_close(c);
}

static void on_greeted(uv_write_t *w, int status)
{
	(void)w;
	(void)status; /* reading tells */
}

static void greet(struct bf_conn *c)
{
	struct bf_sockets *s = c->all;
	const struct bf_wire_greeting g = { BF_WIRE_VERSION, s->boot.npes, s->boot.pe };
	uv_buf_t buf = uv_buf_init((char *)c->greeting, BF_WIRE_GREETING);

	bf_wire_put_greeting(c->greeting, &g);
	uv_write(&c->farewell, &c->u.stream, &buf, 1, on_greeted);
}

/*
 * An answer to our call comes from whoever holds the address that we were given, so a wrong one ends it all. A caller
 * may be anybody; it hears who we are, to tell its user, and is turned away.
 */
static void on_greeting(struct bf_conn *c)
{
	struct bf_sockets *s = c->all;
	struct bf_wire_greeting g;
	char why[160] = "";

	if (bf_wire_get_greeting(c->stash, &g))
		snprintf(why, sizeof(why), "somebody speaks another language than Belfry");
	else if (g.version != BF_WIRE_VERSION)
		snprintf(why, sizeof(why), "rank %" PRIu32 " speaks version %" PRIu32 ", this one %u", g.rank,
			 g.version, BF_WIRE_VERSION);
	else if (g.ranks != s->boot.npes)
		snprintf(why, sizeof(why), "rank %" PRIu32 " is one of %" PRIu32 " processes, this one of %" PRIu32,
			 g.rank, g.ranks, s->boot.npes);
	else if (c->outgoing ? g.rank != c->rank : g.rank <= s->boot.pe || g.rank >= s->boot.npes)
		snprintf(why, sizeof(why), "rank %" PRIu32 " is not expected here", g.rank);
	else if (!c->outgoing && s->peer[g.rank])
		snprintf(why, sizeof(why), "rank %" PRIu32 " comes twice", g.rank);
	if (!c->outgoing)
		greet(c);
	if (why[0] && c->outgoing)
		stop_connecting(s, bf_fail(s->err, -EPROTO, "rank %" PRIu32 ": %s", s->boot.pe, why));
	else if (why[0])
		turn_away(c, why);
	else
		welcome(c, g.rank);
}

static void alloc_greeting(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	struct bf_conn *c = h->data;

	(void)hint;
	*buf = uv_buf_init((char *)c->stash + c->stash_len, BF_WIRE_GREETING - c->stash_len);
}

static void on_greeting_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct bf_conn *c = stream->data;
	const uint32_t rank = c->rank;
	struct bf_sockets *s = c->all;

	(void)buf;
	if (n < 0) {
		bf_conn_close(c);
		if (rank != BF_CONN_STRANGER) /* it refused us, or fell: it will tell, or not come back */
			call_peer(s, rank);
		return;
	}
	c->stash_len += (uint32_t)n;
	if (c->stash_len == BF_WIRE_GREETING)
		on_greeting(c);
}

static void on_connected(uv_connect_t *req, int status)
{
	struct bf_conn *c = BF_CONTAINER_OF(req, struct bf_conn, connect);

	if (status == UV_ECANCELED)
		return;
	if (status) { /* not there yet: the timer calls again */
		bf_conn_close(c);
		return;
	}
	greet(c);
	uv_read_start(&c->u.stream, alloc_greeting, on_greeting_bytes);
}

static void socket_path(const struct bf_sockets *s, uint32_t rank, char path[108])
{
	snprintf(path, 108, "%s/%" PRIu32, s->dir, rank);
}

static int call_peer(struct bf_sockets *s, uint32_t rank)
{
	struct bf_conn *c = new_conn(s, rank);
	struct sockaddr_in to;
	char path[108];

	if (!c)
		return bf_fail(s->err, -ENOMEM, "no memory for a connection to rank %" PRIu32, rank);
	c->outgoing = true;
	if (s->port) {
		uv_ip4_addr("127.0.0.1", (int)(s->port + rank), &to);
		uv_tcp_nodelay(&c->u.tcp, 1);
		return uv_tcp_connect(&c->connect, &c->u.tcp, (const struct sockaddr *)&to, on_connected);
	}
	socket_path(s, rank, path);
	uv_pipe_connect(&c->connect, &c->u.pipe, path, on_connected);
	return 0;
}

static bool being_called(const struct bf_sockets *s, uint32_t rank)
{
	for (const struct bf_conn *c = s->conns; c; c = c->next)
		if (c->outgoing && c->rank == rank && !c->closing)
			return true;
	return false;
}

static void name_missing(struct bf_sockets *s)
{
	uint32_t first = 0;

	while (first == s->boot.pe || s->peer[first])
		first++;
	bf_fail(s->err, -ETIMEDOUT,
		"rank %" PRIu32 ": %" PRIu32 " of %" PRIu32 " processes came, not rank %" PRIu32 "%s%s", s->boot.pe,
		s->present, s->boot.npes, first, s->refused[0] ? "; turned away: " : "", s->refused);
}

static void on_retry(uv_timer_t *t)
{
	struct bf_sockets *s = t->data;
	int rc = 0;

	if (uv_now(&s->loop) >= s->deadline_ms) {
		name_missing(s);
		stop_connecting(s, -ETIMEDOUT);
	}
	for (uint32_t r = 0; !rc && !s->broken && r < s->boot.pe; r++)
		if (!s->peer[r] && !being_called(s, r))
			rc = call_peer(s, r);
	if (rc)
		stop_connecting(s, rc);
}

static void on_caller(uv_stream_t *listener, int status)
{
	struct bf_sockets *s = listener->data;
	struct bf_conn *c = status ? NULL : new_conn(s, BF_CONN_STRANGER);

	if (!c)
		return;
	if (uv_accept(listener, &c->u.stream) || uv_read_start(&c->u.stream, alloc_greeting, on_greeting_bytes))
		bf_conn_close(c);
	else if (s->port)
		uv_tcp_nodelay(&c->u.tcp, 1);
}

static int start_listening(struct bf_sockets *s)
{
	struct sockaddr_in at;
	char path[108];
	int rc;

	s->listening = true;
	s->listener.handle.data = s;
	if (s->port) {
		uv_tcp_init(&s->loop, &s->listener.tcp);
		uv_ip4_addr("127.0.0.1", (int)(s->port + s->boot.pe), &at);
		rc = uv_tcp_bind(&s->listener.tcp, (const struct sockaddr *)&at, 0);
		snprintf(path, sizeof(path), "port %" PRIu32, s->port + s->boot.pe);
	} else {
		uv_pipe_init(&s->loop, &s->listener.pipe, 0);
		socket_path(s, s->boot.pe, path);
		rc = uv_pipe_bind(&s->listener.pipe, path);
	}
	s->listener.handle.data = s;
	if (!rc)
		rc = uv_listen(&s->listener.stream, (int)BF_BOOT_RANKS_MAX, on_caller);
	return rc ? bf_fail(s->err, rc, "cannot listen at %s: %s", path, uv_strerror(rc)) : 0;
}

static int parse_address(struct bf_sockets *s, const char *address)
{
	char *end;

	if (!strncmp(address, "unix:", 5)) {
		if (strlen(address + 5) >= sizeof(s->dir) || !address[5])
			return bf_fail(s->err, -EINVAL, "address \"%s\": a directory's name of 1 to %zu bytes", address,
				       sizeof(s->dir) - 1);
		snprintf(s->dir, sizeof(s->dir), "%s", address + 5);
		return 0;
	}
	if (!strncmp(address, "tcp:", 4)) {
		const unsigned long port = strtoul(address + 4, &end, 10);

		if (*end || end == address + 4 || port < 1 || port + s->boot.npes > 65536)
			return bf_fail(s->err, -EINVAL, "address \"%s\": a port from which %" PRIu32 " are free",
				       address, s->boot.npes);
		s->port = (uint32_t)port;
		return 0;
	}
	return bf_fail(s->err, -EINVAL, "address \"%s\": must be unix:DIRECTORY or tcp:PORT", address);
}

/* Strangers and the listener are not needed any more. Closing takes a turn of the loop. */
static void end_connecting(struct bf_sockets *s)
{
	if (s->listening)
		uv_close(&s->listener.handle, NULL);
	s->listening = false;
	uv_timer_stop(&s->timer);
	for (struct bf_conn *c = s->conns; c; c = c->next)
		if (c->rank >= s->boot.npes || s->peer[c->rank] != c)
			bf_conn_close(c);
	uv_run(&s->loop, UV_RUN_NOWAIT);
}

int bf_sockets_connect(struct bf_sockets *s, const char *address, uint64_t wait_ms)
{
	int rc = uv_loop_init(&s->loop);
	sigset_t before;

	if (rc)
		return bf_fail(s->err, rc, "event loop: %s", uv_strerror(rc));
	uv_timer_init(&s->loop, &s->timer);
	s->has_timer = true;
	s->timer.data = s;
	s->present = 1;
	rc = parse_address(s, address);
	if (!rc)
		rc = start_listening(s);
	if (!rc && s->boot.npes > 1) {
		uv_update_time(&s->loop);
		s->deadline_ms = uv_now(&s->loop) + (wait_ms ? wait_ms : WAIT_MS);
		uv_timer_start(&s->timer, on_retry, 0, RETRY_MS);
		bf_sigpipe_hold(&before);
		uv_run(&s->loop, UV_RUN_DEFAULT);
		bf_sigpipe_release(&before, true);
		rc = s->broken;
	}
	end_connecting(s);
	return rc;
}

void bf_sockets_free(struct bf_sockets *s)
{
	if (s->has_timer) {
		uv_close((uv_handle_t *)&s->timer, NULL);
		for (struct bf_conn *c = s->conns; c; c = c->next)
			bf_conn_close(c);
		uv_run(&s->loop, UV_RUN_DEFAULT);
		uv_loop_close(&s->loop);
	}
	free(s->peer);
	free(s);
}

#endif
