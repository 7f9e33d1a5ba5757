/*
 * How processes of one network find each other. Each listens at a socket of the abstract name space that is named after
 * user, network and slot, so that the kernel gives slots away and takes them back. Who has a frame for a slot connects,
 * and hands over a ring and its door in a greeting; the answer brings the other's door, and until it has come frames
 * are announced by message. Then the connection only tells of the end: whoever is gone, however it went, hangs up.
 *
 * Names are open to everybody, so each side asks the kernel who the other is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "models/fabric/outside_internal.h"
#include "sim/bytes.h"
#include "sim/grow.h"

#define MAGIC 0x314f4642u /* "BFO1" */
#define VERSION 2u        /* of greetings and of what is in rings */
#define SOURCES_MAX (2 * BF_OUTSIDE_SLOTS)
#define FDS_MAX 4u

enum { LISTENER, PEER, SOURCE, UDP };         /* whose socket, in the upper half of an event's data */
enum { HELLO = 1, WELCOME, REFUSED, FRAMES }; /* kinds of messages */

struct message {
	struct bf_le32 magic, version, kind, slot;
};

/* A message as it came, with the descriptors that it brought. */
struct arrival {
	struct message m;
	int fds[FDS_MAX];
	uint32_t nfds;
};

static socklen_t name_of(const struct bf_outside *o, uint32_t slot, struct sockaddr_un *at)
{
	return bf_outside_name(o, at, "%u", slot);
}

static int seqpacket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static int watch(const struct bf_outside *o, int fd, uint32_t kind, uint32_t index)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = (uint64_t)kind << 32 | index };

	return epoll_ctl(o->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

int bf_meet_watch_udp(struct bf_outside *o, int fd, uint32_t ipv4, bool room)
{
	struct epoll_event ev = { .events = EPOLLIN | (room ? EPOLLOUT : 0), .data.u64 = (uint64_t)UDP << 32 | ipv4 };

	if (!epoll_ctl(o->epoll, EPOLL_CTL_MOD, fd, &ev) || !epoll_ctl(o->epoll, EPOLL_CTL_ADD, fd, &ev))
		return 0;
	return -errno;
}

static bool is_ours(int fd)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) && c.uid == geteuid();
}

/* The first slot that nobody has. */
static int take_slot(struct bf_outside *o)
{
	struct sockaddr_un at;

	for (o->slot = 0; o->slot < BF_OUTSIDE_SLOTS; o->slot++) {
		socklen_t len = name_of(o, o->slot, &at);

		if (!bind(o->listener, (struct sockaddr *)&at, len))
			return 0;
		if (errno != EADDRINUSE)
			return bf_fail(&o->sim->error, -errno, "outside: cannot bind a socket: %s", strerror(errno));
	}
	return bf_fail(&o->sim->error, -ENOSPC, "outside: all %u places of network '%s' are taken", BF_OUTSIDE_SLOTS,
		       o->network);
}

int bf_meet_open(struct bf_outside *o)
{
	int rc;

	o->epoll = epoll_create1(EPOLL_CLOEXEC);
	o->listener = seqpacket();
	if (o->epoll < 0 || o->listener < 0)
		return bf_fail(&o->sim->error, o->epoll < 0 ? -errno : o->listener, "outside: cannot make a socket: %s",
			       strerror(errno));
	rc = bf_door_create(&o->door, &o->door_fd);
	if (rc)
		return bf_fail(&o->sim->error, rc, "outside: cannot make shared memory: %s", strerror(-rc));
	rc = take_slot(o);
	if (rc)
		return rc;
	if (listen(o->listener, SOMAXCONN) || (rc = watch(o, o->listener, LISTENER, 0)) != 0)
		return bf_fail(&o->sim->error, rc ? rc : -errno, "outside: cannot listen: %s",
			       strerror(rc ? -rc : errno));
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void bf_meet_close(struct bf_outside *o)
{
	for (uint32_t i = 0; i < o->sources_cap; i++)
		if (o->sources[i])
			bf_meet_drop_source(o, o->sources[i]);
	free(o->sources);
	o->sources = NULL;
	o->sources_cap = 0;
	close_fd(&o->listener);
	close_fd(&o->epoll);
	close_fd(&o->door_fd);
	bf_door_unmap(o->door);
	o->door = NULL;
}

void bf_meet_hang_up(const struct bf_outside *o, int *fd)
{
	if (*fd >= 0)
		epoll_ctl(o->epoll, EPOLL_CTL_DEL, *fd, NULL); /* a fork may hold the connection for a moment longer */
	close_fd(fd);
}

static int say(const struct bf_outside *o, int fd, uint32_t kind, const int *fds, uint32_t nfds)
{
	struct message m = { bf_to_le32(MAGIC), bf_to_le32(VERSION), bf_to_le32(kind), bf_to_le32(o->slot) };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = &m, .iov_len = sizeof(m) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	memset(&control, 0, sizeof(control));
	if (nfds) {
		h.msg_control = control.room;
		h.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, nfds * sizeof(int));
	}
	return sendmsg(fd, &h, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void close_arrival(const struct arrival *a)
{
	for (uint32_t i = 0; i < a->nfds; i++)
		close(a->fds[i]);
}

static void take_fds(struct msghdr *h, struct arrival *a)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n && a->nfds < FDS_MAX; i++)
			memcpy(&a->fds[a->nfds++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
}

/*
 * Hears a message that brings `nfds` descriptors (more than asked for are the kernel's to close, or ours). 1; 0 when
 * none is there yet; -EPIPE at the end; -EBADMSG for what is none of ours, `why` says what is wrong.
 */
static int hear(int fd, uint32_t kind, uint32_t nfds, struct arrival *a, const char **why)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = &a->m, .iov_len = sizeof(a->m) };
	struct msghdr h = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)
	};
	ssize_t len = recvmsg(fd, &h, MSG_CMSG_CLOEXEC);

	a->nfds = 0;
	*why = "";
	if (len <= 0)
		return len == 0 ? -EPIPE : errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	take_fds(&h, a);
	if (len != sizeof(a->m) || h.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || bf_le32(a->m.magic) != MAGIC)
		*why = "what it says is no greeting";
	else if (bf_le32(a->m.version) != VERSION)
		*why = "it is of another version of Belfry";
	else if (bf_le32(a->m.kind) == REFUSED)
		*why = "it refused";
	else if (bf_le32(a->m.kind) != kind || a->nfds != nfds)
		*why = "its greeting is not complete";
	else if (bf_le32(a->m.slot) >= BF_OUTSIDE_SLOTS)
		*why = "it has a place that does not exist";
	else
		return 1;
	close_arrival(a);
	return -EBADMSG;
}

static int greet(struct bf_outside *o, struct bf_peer *p)
{
	int fds[2], rc;

	if (!is_ours(p->fd))
		return -EPERM;
	rc = bf_ring_create(&p->ring, o->ring_bytes, &fds[0]);
	if (rc)
		return rc;
	fds[1] = o->door_fd;
	rc = say(o, p->fd, HELLO, fds, 2);
	close(fds[0]);
	return rc ? rc : watch(o, p->fd, PEER, p->slot);
}

int bf_meet_connect(struct bf_outside *o, struct bf_peer *p)
{
	struct sockaddr_un at;
	socklen_t len = name_of(o, p->slot, &at);
	int rc;

	p->fd = seqpacket();
	if (p->fd < 0)
		return bf_fail(&o->error, p->fd, "outside: cannot make a socket: %s", strerror(-p->fd));
	rc = connect(p->fd, (struct sockaddr *)&at, len) ? -errno : greet(o, p);
	if (!rc) {
		o->count.peers++;
		return 0;
	}
	bf_meet_hang_up(o, &p->fd);
	bf_ring_unmap(&p->ring);
	if (rc != -ECONNREFUSED)
		bf_fail(&o->error, rc, "outside: cannot join process %u: %s", p->slot,
			rc == -EPERM ? "it is another user's" : strerror(-rc));
	return -ENOENT;
}

void bf_meet_knock(const struct bf_outside *o, const struct bf_peer *p)
{
	if (p->door)
		bf_door_tell(p->door);
	else
		say(o, p->fd, FRAMES, NULL, 0); /* when there is no room for that, it has not heard the last one yet */
}

static void look_at_peer(struct bf_outside *o, struct bf_peer *p)
{
	struct arrival a;
	const char *why;
	int rc = hear(p->fd, WELCOME, 1, &a, &why);

	if (!rc)
		return;
	if (rc > 0) {
		rc = p->door ? -EBADMSG : bf_door_map(&p->door, a.fds[0]);
		why = "its greeting makes no sense";
		close_arrival(&a);
	}
	if (!rc)
		return;
	if (rc != -EPIPE) {
		o->count.cut_off++;
		bf_fail(&o->error, rc, "outside: process %u is cut off: %s", p->slot, why);
	}
	bf_peer_gone(o, p);
}

static int place_for_source(struct bf_outside *o, uint32_t *index)
{
	for (*index = 0; *index < o->sources_cap; ++*index)
		if (!o->sources[*index])
			return 0;
	return *index < SOURCES_MAX ? BF_GROW(o->sources, o->sources_cap, *index + 1) : -ENOSPC;
}

/* False when nobody else waits. Who cannot be had is hung up on. */
static bool accept_one(struct bf_outside *o)
{
	int fd = accept4(o->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct bf_source *s;
	uint32_t index = 0;

	if (fd < 0)
		return false;
	s = is_ours(fd) && !place_for_source(o, &index) ? calloc(1, sizeof(*s)) : NULL;
	if (!s || watch(o, fd, SOURCE, index)) {
		free(s);
		close(fd);
		return true;
	}
	s->fd = fd;
	s->slot = BF_OUTSIDE_SLOTS;
	o->sources[index] = s;
	o->nsources++;
	return true;
}

/* Unless another one has the place already: then nobody can tell any more which of them is meant. */
static void tell_gone(struct bf_outside *o, uint32_t slot)
{
	bool taken = o->dead || !o->gone || slot >= BF_OUTSIDE_SLOTS;

	for (uint32_t i = 0; i < o->sources_cap && !taken; i++)
		taken = o->sources[i] && o->sources[i]->slot == slot;
	if (!taken)
		o->gone(o->kernel, slot);
}

void bf_meet_drop_source(struct bf_outside *o, struct bf_source *s)
{
	const uint32_t slot = s->slot;

	for (uint32_t i = 0; i < o->sources_cap; i++)
		if (o->sources[i] == s)
			o->sources[i] = NULL;
	o->nsources--;
	bf_meet_hang_up(o, &s->fd);
	bf_ring_unmap(&s->ring);
	bf_door_unmap(s->door);
	free(s);
	tell_gone(o, slot);
}

void bf_meet_cut_off(struct bf_outside *o, struct bf_source *s, const char *why)
{
	o->count.cut_off++;
	if (s->slot < BF_OUTSIDE_SLOTS)
		bf_fail(&o->error, -EBADMSG, "outside: process %u is cut off: %s", s->slot, why);
	else
		bf_fail(&o->error, -EBADMSG, "outside: a process is cut off: %s", why);
	bf_meet_drop_source(o, s);
}

static int welcome(struct bf_outside *o, struct bf_source *s, const struct arrival *a)
{
	int rc = bf_ring_map(&s->ring, a->fds[0]);

	if (!rc)
		rc = bf_door_map(&s->door, a->fds[1]);
	s->slot = bf_le32(a->m.slot);
	return rc ? rc : say(o, s->fd, WELCOME, &o->door_fd, 1);
}

static void look_at_source(struct bf_outside *o, struct bf_source *s)
{
	bool greeted = s->ring.shared != NULL;
	struct arrival a;
	const char *why;
	int rc = hear(s->fd, greeted ? FRAMES : HELLO, greeted ? 0 : 2, &a, &why);

	if (!rc || (rc > 0 && greeted))
		return;
	if (rc == -EPIPE) {
		bf_meet_hang_up(o, &s->fd); /* what it has sent is still to be taken */
		if (!s->ring.shared)
			bf_meet_drop_source(o, s);
		return;
	}
	if (rc > 0) {
		rc = welcome(o, s, &a);
		why = "its greeting makes no sense";
		close_arrival(&a);
	}
	if (!rc || rc == -EPIPE || rc == -ECONNRESET) /* who left before the answer will be noticed */
		return;
	say(o, s->fd, REFUSED, NULL, 0);
	bf_meet_cut_off(o, s, why);
}

bool bf_meet_look(struct bf_outside *o)
{
	struct epoll_event events[32];
	int n = epoll_wait(o->epoll, events, BF_ARRAY_LEN(events), 0);

	for (int i = 0; i < n; i++) {
		uint32_t index = (uint32_t)events[i].data.u64;

		switch (events[i].data.u64 >> 32) {
		case LISTENER:
			while (accept_one(o))
				continue;
			break;
		case PEER:
			if (o->peers[index]->fd >= 0)
				look_at_peer(o, o->peers[index]);
			break;
		case SOURCE:
			if (o->sources[index])
				look_at_source(o, o->sources[index]);
			break;
		case UDP:
			bf_udp_ready(o, index, events[i].events);
			break;
		}
	}
	return n > 0;
}
