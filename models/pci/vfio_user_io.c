/*
 * Bytes and descriptors on the socket.
 *
 * One recvmsg() takes as many messages as there are. The kernel ends a read behind the send that carried descriptors
 * (unix_stream_read_generic() in Linux net/unix/af_unix.c), and a client sends them with the first byte of a message of
 * its own: so they belong to the last message that begins in the bytes of that read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "models/pci/vfio_user_internal.h"
#include "sim/grow.h"

/* Enough for a burst of doorbells; a message that is longer makes the buffer grow. */
#define IN_START 65536u

/* Rounds of one turn of the loop: events and timers come in between. */
#define ROUNDS 16

/* Input. --------------------------------------------------------------------------------------------------------- */

static void close_fds(struct bf_vfu_fds *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (set->fd[i] >= 0)
			close(set->fd[i]);
	set->count = 0;
}

static void drop_fds(struct bf_vfio_user *s, uint32_t which)
{
	close_fds(&s->fds[which]);
	memmove(&s->fds[which], &s->fds[which + 1], (s->nfds - which - 1) * sizeof(s->fds[0]));
	s->nfds--;
}

/* Room behind the tail: at least for the rest of the message at the head. */
static bool make_room(struct bf_vfio_user *s)
{
	const size_t have = s->in_tail - s->in_head;
	size_t want = IN_START;

	if (s->in_head) {
		memmove(s->in, s->in + s->in_head, have);
		for (uint32_t i = 0; i < s->nfds; i++)
			s->fds[i].at -= s->in_head;
		s->in_head = 0;
		s->in_tail = have;
	}
	if (have >= sizeof(struct bf_vfu_header)) {
		const size_t size = bf_get_le32(s->in + offsetof(struct bf_vfu_header, size));

		if (size <= BF_VFU_MESSAGE_MAX && size + IN_START / 2 > want)
			want = size + IN_START / 2;
	}
	if (!BF_GROW(s->in, s->in_cap, want))
		return true;
	bf_vfu_hang_up(s, "no memory for a message of %zu bytes", want);
	return false;
}

/* Where the last message begins that has its first byte at or behind `from`; SIZE_MAX: none. */
static size_t last_beginning(const struct bf_vfio_user *s, size_t from)
{
	size_t at = s->in_head, found = SIZE_MAX;

	if (s->skip) {
		if (s->skip >= s->in_tail - at)
			return SIZE_MAX;
		at += (size_t)s->skip;
	}
	while (at < s->in_tail) {
		uint64_t size;

		if (at >= from)
			found = at;
		if (s->in_tail - at < sizeof(struct bf_vfu_header))
			break;
		size = bf_get_le32(s->in + at + offsetof(struct bf_vfu_header, size));
		if (size < sizeof(struct bf_vfu_header) || size > s->in_tail - at)
			break;
		at += (size_t)size;
	}
	return found;
}

static void take_fds(struct bf_vfio_user *s, struct msghdr *msg, size_t from)
{
	struct bf_vfu_fds set = { .truncated = msg->msg_flags & MSG_CTRUNC };

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		const size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (set.count < BF_VFU_MAX_FDS) {
				set.fd[set.count++] = fd;
			} else {
				close(fd);
				set.truncated = true;
			}
		}
	}
	if (!set.count && !set.truncated)
		return;
	s->count.descriptors += set.count;
	set.at = last_beginning(s, from);
	if (set.at == SIZE_MAX || s->nfds == BF_ARRAY_LEN(s->fds)) {
		bf_vfu_log(s, "%u descriptors in the middle of a message are closed", set.count);
		s->count.refused++;
		close_fds(&set);
		return;
	}
	s->fds[s->nfds++] = set;
}

/* Returns 1 when there may be more, 0 when not; the connection may be over then. */
static int receive(struct bf_vfio_user *s)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(BF_VFU_MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	const size_t from = s->in_tail;
	ssize_t n;

	iov = (struct iovec){ s->in + s->in_tail, s->in_cap - s->in_tail };
	s->count.receives++;
	n = recvmsg(s->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n <= 0) {
		if (n == 0)
			bf_vfu_hang_up(s, "the client has gone");
		else if (errno != EAGAIN && errno != EINTR)
			bf_vfu_hang_up(s, "receiving: %s", strerror(errno));
		return 0;
	}
	s->in_tail += (size_t)n;
	if (msg.msg_controllen || msg.msg_flags & MSG_CTRUNC)
		take_fds(s, &msg, from);
	/* A read that control data ended was short with more behind it. */
	return (size_t)n == iov.iov_len || msg.msg_controllen;
}

/* Takes the bytes of a message that is too long to keep off the input. */
static void skip_bytes(struct bf_vfio_user *s)
{
	const size_t have = s->in_tail - s->in_head;
	const size_t n = s->skip < have ? (size_t)s->skip : have;

	s->in_head += n;
	s->skip -= n;
}

static void handle(struct bf_vfio_user *s, const uint8_t *at, uint32_t size, uint32_t available)
{
	const struct bf_vfu_header *h = (const void *)at;
	struct bf_vfu_fds none = { 0 }, *set = &none;
	struct bf_vfu_message m = {
		.id = bf_get_le16(h->id.b),
		.command = bf_get_le16(h->command.b),
		.flags = bf_get_le32(h->flags.b),
		.error = bf_get_le32(h->error.b),
		.payload = at + sizeof(*h),
		.len = available - (uint32_t)sizeof(*h),
	};

	if (s->nfds && s->fds[0].at == (size_t)(at - s->in))
		set = &s->fds[0];
	m.fd = set->fd;
	m.nfds = set->count;
	m.posted = m.flags & BF_VFU_NO_REPLY;
	s->count.messages++;
	s->count.posted += m.posted;
	if (size > BF_VFU_MESSAGE_MAX)
		bf_vfu_answer_error(s, &m, bf_vfu_refuse(s, -EMSGSIZE, "command %u has %u bytes", m.command, size));
	else if (set->truncated)
		bf_vfu_answer_error(s, &m, bf_vfu_refuse(s, -EINVAL, "command %u has too many descriptors", m.command));
	else
		bf_vfu_handle(s, &m);
	if (set != &none)
		drop_fds(s, 0);
}

/* Handles the complete message at the head, if there is one. */
static bool handle_next(struct bf_vfio_user *s)
{
	size_t have;
	uint32_t size, available;

	if (s->skip)
		skip_bytes(s);
	have = s->in_tail - s->in_head;
	if (have < sizeof(struct bf_vfu_header))
		return false;
	size = bf_get_le32(s->in + s->in_head + offsetof(struct bf_vfu_header, size));
	if (size < sizeof(struct bf_vfu_header)) {
		bf_vfu_hang_up(s, "a message says that it has %u bytes: the stream cannot be followed", size);
		return false;
	}
	available = size > have ? (uint32_t)have : size;
	if (size > have && size <= BF_VFU_MESSAGE_MAX)
		return false;
	handle(s, s->in + s->in_head, size, available);
	s->in_head += available;
	s->skip = size - available;
	return true;
}

/* Handles what has come, as long as the client takes the answers. */
static void handle_all(struct bf_vfio_user *s)
{
	while (!s->dead && !s->paused && handle_next(s))
		if (s->out_bytes > BF_VFU_OUT_PAUSE)
			bf_vfu_flush(s);
	bf_vfu_flush(s);
}

void bf_vfu_serve(struct bf_vfio_user *s)
{
	int more = 1;

	if (s->out || s->paused) {
		bf_vfu_flush(s);
		handle_all(s);
	}
	for (int round = 0; round < ROUNDS && more && !s->dead && !s->paused && make_room(s); round++) {
		more = receive(s);
		handle_all(s);
	}
}

/* Output. -------------------------------------------------------------------------------------------------------- */

static struct bf_vfu_chunk *new_chunk(struct bf_vfio_user *s, size_t len)
{
	struct bf_vfu_chunk *c = s->spare;

	if (c && len <= c->cap) {
		s->spare = NULL;
	} else {
		const size_t cap = len < BF_VFU_CHUNK ? BF_VFU_CHUNK : len;

		c = malloc(sizeof(*c) + cap);
		if (!c) {
			bf_vfu_hang_up(s, "no memory for %zu bytes of output", len);
			return NULL;
		}
		c->cap = cap;
	}
	c->next = NULL;
	c->len = c->sent = 0;
	c->fd = -1;
	if (s->out_last)
		s->out_last->next = c;
	else
		s->out = c;
	s->out_last = c;
	return c;
}

/* Whole messages up to this size go out in one piece or not at all, which QEMU's 16-byte header reads rely on. */
uint8_t *bf_vfu_put(struct bf_vfio_user *s, size_t len, int fd)
{
	struct bf_vfu_chunk *c = s->out_last;
	uint8_t *p;

	if (s->dead || s->fd < 0)
		return NULL;
	if (s->out_bytes + len > BF_VFU_OUT_LIMIT) {
		bf_vfu_hang_up(s, "the client does not take its answers: %zu bytes wait", s->out_bytes);
		return NULL;
	}
	if (!c || fd >= 0 || c->fd >= 0 || c->cap - c->len < len)
		c = new_chunk(s, len);
	if (!c)
		return NULL;
	c->fd = fd;
	p = c->bytes + c->len;
	c->len += len;
	s->out_bytes += len;
	return p;
}

static void free_chunk(struct bf_vfio_user *s, struct bf_vfu_chunk *c)
{
	if (!s->spare && c->cap == BF_VFU_CHUNK)
		s->spare = c;
	else
		free(c);
}

static ssize_t send_chunk(struct bf_vfio_user *s, struct bf_vfu_chunk *c)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { c->bytes + c->sent, c->len - c->sent };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (c->fd >= 0 && !c->sent) {
		memset(&control, 0, sizeof(control));
		control.align = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.align), &c->fd, sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	s->count.sends++;
	return sendmsg(s->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* What the loop is to tell us: that there is more to read, unless we wait for the client, and room to write. */
static void watch(struct bf_vfio_user *s)
{
	const uint32_t events = (s->paused ? 0 : BF_LIVE_READ) | (s->out ? BF_LIVE_WRITE : 0);

	if (s->o.live && events != s->watched)
		bf_live_watch(s->o.live, s->fd, events);
	s->watched = events;
}

/* Sends what the client takes now. */
void bf_vfu_flush(struct bf_vfio_user *s)
{
	while (s->out && !s->dead) {
		struct bf_vfu_chunk *c = s->out;
		ssize_t n = c->len > c->sent ? send_chunk(s, c) : 0;

		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN)
				bf_vfu_hang_up(s, "sending: %s", strerror(errno));
			break;
		}
		c->sent += (size_t)n;
		s->out_bytes -= (size_t)n;
		if (c->sent < c->len)
			continue;
		s->out = c->next;
		if (!s->out)
			s->out_last = NULL;
		free_chunk(s, c);
	}
	s->paused = s->out_bytes > BF_VFU_OUT_PAUSE;
	if (!s->dead)
		watch(s);
}

void bf_vfu_io_close(struct bf_vfio_user *s)
{
	while (s->nfds)
		drop_fds(s, 0);
	while (s->out) {
		struct bf_vfu_chunk *c = s->out;

		s->out = c->next;
		free(c);
	}
	s->out_last = NULL;
	free(s->spare);
	s->spare = NULL;
	s->out_bytes = 0;
	free(s->in);
	s->in = NULL;
	s->in_cap = s->in_head = s->in_tail = 0;
	s->skip = 0;
}
