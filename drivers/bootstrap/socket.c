/* Collective calls over the connections of socket_connect.c. */
#include "drivers/bootstrap/socket.h"

#include <errno.h>

#ifdef BELFRY_HAVE_LIBUV

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/socket_internal.h"

/* How long messages that are under way when everything ends may take to leave. */
#define FAREWELL_MS 1000u

/* What a call does with one peer. */
struct leg {
	const void *out;
	size_t out_bytes;
	void *in;
	size_t in_bytes;
	struct bf_boot_buf *room; /* instead of `in` */
};

static struct bf_sockets *sockets_of(struct bf_boot *b)
{
	return BF_CONTAINER_OF(b, struct bf_sockets, boot);
}

static void on_late(uv_timer_t *t)
{
	(void)t; /* it only ends the wait */
}

static void on_told(uv_write_t *w, int status)
{
	struct bf_conn *c = BF_CONTAINER_OF(w, struct bf_conn, farewell);

	(void)status;
	c->all->writing--;
}

/*
 * The end of all calls: the others hear why, then the connections close. Messages of the call in progress belong to its
 * caller, so nothing may be under way when this returns.
 */
static int give_up(struct bf_sockets *s, int rc, const char *why)
{
	const size_t len = strlen(why) < BF_WIRE_TEXT ? strlen(why) : BF_WIRE_TEXT;
	uint64_t until;

	s->broken = rc;
	for (uint32_t r = 0; r < s->boot.npes; r++) {
		struct bf_conn *c = s->peer[r];
		uv_buf_t buf;

		if (!c || c->closing)
			continue;
		uv_read_stop(&c->u.stream);
		bf_wire_put_head(c->last, BF_WIRE_ABORT, rc, 0, len);
		memcpy(c->last + BF_WIRE_HEAD, why, len);
		buf = uv_buf_init((char *)c->last, (unsigned)(BF_WIRE_HEAD + len));
		s->writing += uv_write(&c->farewell, &c->u.stream, &buf, 1, on_told) == 0;
	}
	uv_update_time(&s->loop);
	until = uv_now(&s->loop) + FAREWELL_MS;
	uv_timer_start(&s->timer, on_late, FAREWELL_MS, 0);
	while (s->writing && uv_now(&s->loop) < until)
		uv_run(&s->loop, UV_RUN_ONCE);
	uv_timer_stop(&s->timer);
	for (struct bf_conn *c = s->conns; c; c = c->next)
		bf_conn_close(c);
	while (s->conns)
		uv_run(&s->loop, UV_RUN_ONCE);
	s->waiting = 0;
	return rc;
}

static void lose(struct bf_conn *c, int why)
{
	struct bf_sockets *s = c->all;

	if (s->broken)
		return;
	s->broken = bf_fail(s->err, -ECONNRESET, "rank %" PRIu32 " is gone (%s)", c->rank,
			    why == UV_EOF ? "it closed its connection" : uv_strerror(why));
}

static void take_stash(struct bf_conn *c)
{
	struct bf_sockets *s = c->all;
	const int64_t used = bf_inbox_take(&c->in, c->stash + c->stash_at, c->stash_len, s->err);

	if (used < 0) {
		s->broken = s->broken ? s->broken : (int)used;
		return;
	}
	c->stash_at += (uint32_t)used;
	c->stash_len -= (uint32_t)used;
}

static void alloc_room(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	struct bf_conn *c = h->data;
	uint8_t *at;
	const uint64_t left = bf_inbox_direct(&c->in, &at);

	(void)hint;
	if (left >= BF_CONN_STASH)
		*buf = uv_buf_init((char *)at, left < 1u << 30 ? (unsigned)left : 1u << 30);
	else
		*buf = uv_buf_init((char *)c->stash, BF_CONN_STASH);
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct bf_conn *c = stream->data;

	if (n < 0) {
		uv_read_stop(stream);
		lose(c, (int)n);
		return;
	}
	if ((uint8_t *)buf->base != c->stash) {
		bf_inbox_written(&c->in, (uint64_t)n);
	} else {
		c->stash_at = 0;
		c->stash_len = (uint32_t)n;
		take_stash(c);
	}
	if (c->in.done) {
		uv_read_stop(stream);
		c->all->waiting--;
	}
}

/*
 * A peer does not take this call's message. It cannot have ended the call without, so what comes next from it is why it
 * gave up, or its end.
 */
static void hear_last(struct bf_conn *c)
{
	struct bf_sockets *s = c->all;
	int rc;

	bf_inbox_expect(&c->in, BF_WIRE_ABORT, s->seq, NULL, 0, NULL);
	take_stash(c);
	rc = s->broken ? 0 : uv_read_start(&c->u.stream, alloc_room, on_bytes);
	s->waiting++; /* for what can only end the call */
	if (rc)
		lose(c, rc);
}

static void on_written(uv_write_t *w, int status)
{
	struct bf_conn *c = BF_CONTAINER_OF(w, struct bf_conn, write);

	c->all->writing--;
	c->all->write_failed |= status < 0;
	/* The reader sees what a peer that is gone has said last, but nobody reads when its message is complete. */
	if (status < 0 && c->in.done && !c->all->broken)
		hear_last(c);
}

static int send_to(struct bf_conn *c, uint32_t op, const struct leg *leg)
{
	uv_buf_t bufs[2] = { uv_buf_init((char *)c->head, BF_WIRE_HEAD) };
	union {
		const void *from;
		char *to;
	} data = { .from = leg->out }; /* libuv only reads it */
	int rc;

	bf_wire_put_head(c->head, op, 0, c->all->seq, leg->out_bytes);
	bufs[1] = uv_buf_init(data.to, (unsigned)leg->out_bytes);
	rc = uv_write(&c->write, &c->u.stream, bufs, leg->out_bytes ? 2 : 1, on_written);
	c->all->writing += rc == 0;
	return rc;
}

static void receive_from(struct bf_conn *c, uint32_t op, const struct leg *leg)
{
	bf_inbox_expect(&c->in, op, c->all->seq, leg->in, leg->in_bytes, leg->room);
	take_stash(c);
	if (c->in.done)
		return;
	c->all->waiting++;
	uv_read_start(&c->u.stream, alloc_room, on_bytes);
}

/* A message to each peer and one from each. `legs`: [ranks]. */
static int transfer(struct bf_sockets *s, uint32_t op, const struct leg *legs)
{
	s->seq++;
	for (uint32_t i = 1; i < s->boot.npes && !s->broken; i++) {
		struct bf_conn *c = s->peer[(s->boot.pe + i) % s->boot.npes];
		const int rc = send_to(c, op, &legs[c->rank]);

		if (rc)
			lose(c, rc);
		else
			receive_from(c, op, &legs[c->rank]);
	}
	while (!s->broken && (s->waiting || s->writing))
		uv_run(&s->loop, UV_RUN_ONCE);
	return s->broken ? give_up(s, s->broken, s->err ? s->err->text : "a process gave up") : 0;
}

static int call(struct bf_sockets *s, uint32_t op, const struct leg *legs)
{
	sigset_t before;
	int rc;

	bf_sigpipe_hold(&before);
	s->write_failed = false;
	rc = transfer(s, op, legs);
	/* Also of a call that has gone well: a peer may have sent its part and died before it took ours. */
	bf_sigpipe_release(&before, s->broken || s->write_failed);
	return rc;
}

/* The same for a failure outside a call. */
static int fail(struct bf_sockets *s, int rc, const char *why)
{
	sigset_t before;

	bf_sigpipe_hold(&before);
	give_up(s, rc, why);
	bf_sigpipe_release(&before, true);
	return rc;
}

static struct leg *new_legs(struct bf_sockets *s, size_t bytes)
{
	struct leg *legs = bytes <= BF_BOOT_BYTES_MAX ? calloc(s->boot.npes, sizeof(*legs)) : NULL;

	if (!legs)
		fail(s,
		     bf_fail(s->err, bytes <= BF_BOOT_BYTES_MAX ? -ENOMEM : -EINVAL,
			     "rank %" PRIu32 ": no room for messages of %zu bytes", s->boot.pe, bytes),
		     s->err ? s->err->text : "");
	return legs;
}

/* Both fixed-size calls; they differ in what goes to whom. */
static int fixed(struct bf_boot *b, enum bf_boot_op op, const uint8_t *in, uint8_t *out, size_t bytes)
{
	struct bf_sockets *s = sockets_of(b);
	const size_t stride = op == BF_BOOT_ALLTOALL ? bytes : 0;
	struct leg *legs;
	int rc = s->broken;

	if (rc)
		return rc;
	legs = new_legs(s, bytes);
	if (!legs)
		return s->broken;
	for (uint32_t r = 0; bytes && r < b->npes; r++)
		legs[r] = (struct leg){
			.out = in + r * stride, .out_bytes = bytes, .in = out + r * bytes, .in_bytes = bytes
		};
	if (bytes)
		memcpy(out + b->pe * bytes, in + b->pe * stride, bytes);
	rc = call(s, op, legs);
	free(legs);
	return rc;
}

static int socket_allgather(struct bf_boot *b, const void *in, void *out, size_t bytes)
{
	return fixed(b, BF_BOOT_ALLGATHER, in, out, bytes);
}

static int socket_alltoall(struct bf_boot *b, const void *in, void *out, size_t bytes)
{
	return fixed(b, BF_BOOT_ALLTOALL, in, out, bytes);
}

static int socket_barrier(struct bf_boot *b)
{
	return fixed(b, BF_BOOT_BARRIER, NULL, NULL, 0);
}

static int socket_exchange(struct bf_boot *b, const struct bf_boot_part *out, struct bf_boot_buf *in)
{
	struct bf_sockets *s = sockets_of(b);
	struct leg *legs;
	size_t most = 0;
	int rc = s->broken;

	if (rc)
		return rc;
	for (uint32_t r = 0; r < b->npes; r++)
		most = out[r].bytes > most ? out[r].bytes : most;
	legs = new_legs(s, most);
	if (!legs)
		return s->broken;
	for (uint32_t r = 0; r < b->npes; r++)
		legs[r] = (struct leg){ .out = out[r].data, .out_bytes = out[r].bytes, .room = &in[r] };
	rc = bf_boot_buf_reserve(&in[b->pe], out[b->pe].bytes);
	if (!rc && out[b->pe].bytes)
		memcpy(in[b->pe].data, out[b->pe].data, out[b->pe].bytes);
	rc = rc ? fail(s, bf_fail(s->err, rc, "no memory for a message to itself"), "no memory")
		: call(s, BF_WIRE_EXCHANGE, legs);
	free(legs);
	return rc;
}

/* The others hear what this process knows of its failure. */
static void socket_abort(struct bf_boot *b)
{
	struct bf_sockets *s = sockets_of(b);
	char why[BF_WIRE_TEXT + 1];

	if (s->broken)
		return;
	snprintf(why, sizeof(why), "rank %" PRIu32 " gave up%s%.160s", b->pe, s->err && s->err->code ? ": " : "",
		 s->err && s->err->code ? s->err->text : "");
	fail(s, -ECONNRESET, why);
}

static void socket_close(struct bf_boot *b)
{
	bf_sockets_free(sockets_of(b));
}

int bf_boot_socket_open(const struct bf_boot_socket_opts *opts, struct bf_error *err, struct bf_boot **out)
{
	struct bf_sockets *s;
	int rc;

	*out = NULL;
	if (opts->ranks < 1 || opts->ranks > BF_BOOT_RANKS_MAX || opts->rank >= opts->ranks)
		return bf_fail(err, -EINVAL, "rank %" PRIu32 " of %" PRIu32 ": must be 1 to %u processes", opts->rank,
			       opts->ranks, BF_BOOT_RANKS_MAX);
	s = calloc(1, sizeof(*s));
	if (s)
		s->peer = calloc(opts->ranks, sizeof(struct bf_conn *));
	if (!s || !s->peer) {
		free(s);
		return bf_fail(err, -ENOMEM, "no memory for %" PRIu32 " connections", opts->ranks);
	}
	s->err = err;
	s->boot = (struct bf_boot){ .pe = opts->rank,
				    .npes = opts->ranks,
				    .allgather = socket_allgather,
				    .alltoall = socket_alltoall,
				    .barrier = socket_barrier,
				    .exchange = socket_exchange,
				    .abort = socket_abort,
				    .close = socket_close };
	rc = bf_sockets_connect(s, opts->address, opts->wait_ms);
	if (rc) {
		bf_sockets_free(s);
		return rc;
	}
	*out = &s->boot;
	return 0;
}

#else

int bf_boot_socket_open(const struct bf_boot_socket_opts *opts, struct bf_error *err, struct bf_boot **out)
{
	(void)opts;
	*out = NULL;
	return bf_fail(err, -ENOTSUP, "this build has no sockets between processes (libuv was not found)");
}

#endif
