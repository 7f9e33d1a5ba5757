/*
 * Another process that says anything: greetings with descriptors of all kinds, bytes in its ring, indexes that jump,
 * answers to our own greeting, a head that was never there. Each step is one byte kind, one byte length L and L bytes.
 * Nothing that it does may make this process fail, and a third one's frame must arrive in the end.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "models/fabric/outside_internal.h"
#include "models/fabric/roce.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NETWORK "fuzz-%d"
#define QPN 0x40u         /* of each; the first two are the kernel's */
#define GROUP 0xe0000001u /* the victim and the liar are in it */

struct end {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_port *port;
	struct bf_outside *outside;
	uint64_t frames;
};

struct fuzz {
	struct end victim, third;
	int fd;       /* to the victim's socket, or -1 */
	int listener; /* where the victim connects when it has a frame for slot 1 */
	int member;   /* the name by which slot 1 is in the group, once it was taken */
	int accepted;
	struct bf_shm_ring ring, back; /* ours, and the one that the victim made for us */
	struct bf_door *door;
	int ring_fd, door_fd, plain_fd;
};

static void receive(void *owner, struct bf_packet *pkt)
{
	++*(uint64_t *)owner;
	bf_packet_free(pkt);
}

static void end_open(struct end *e)
{
	char network[32];
	struct bf_outside_opts opts = { .network = network, .ring_bytes = BF_RING_MIN };
	struct bf_port_opts port = { .name = "p", .ipv4 = 1, .rx = receive, .owner = &e->frames };

	snprintf(network, sizeof(network), NETWORK, (int)getpid());
	e->frames = 0;
	if (bf_sim_create(1, &e->sim) || bf_fabric_create(e->sim, &e->fabric) ||
	    bf_fabric_attach(e->fabric, &port, &e->port) || bf_outside_open(e->sim, e->fabric, &opts, &e->outside))
		abort();
}

static void end_close(struct end *e)
{
	bf_outside_close(e->outside);
	bf_fabric_destroy(e->fabric);
	bf_sim_destroy(e->sim);
}

static void pump(struct end *e)
{
	for (int i = 0; i < 2; i++) {
		bf_meet_look(e->outside);
		bf_outside_poll(e->outside, 100);
		bf_sim_run(e->sim, BF_NEVER);
		bf_outside_flush(e->outside);
	}
}

static void send_to(struct end *e, uint32_t ipv4, uint32_t qpn, uint32_t len)
{
	struct bf_roce_path_opts opts = { .src_ipv4 = 1, .dst_ipv4 = ipv4 };
	struct bf_roce r = { .opcode = BF_RC_SEND_ONLY, .dest_qp = qpn, .payload_len = len };
	struct bf_packet *pkt = bf_packet_alloc(e->fabric);
	struct bf_roce_path path;

	if (!pkt)
		abort();
	bf_roce_path_init(&path, &opts);
	pkt->len = bf_roce_finish(pkt->data, &r, bf_roce_build(pkt->data, &path, &r), false);
	bf_port_send(e->port, pkt);
	bf_sim_run(e->sim, BF_NEVER);
}

static void send_frame(struct end *e, uint32_t slot, uint32_t len)
{
	send_to(e, 1, slot * BF_OUTSIDE_QPNS + QPN, len);
}

/* `what` is before the slot. */
static socklen_t name_of(const char *what, uint32_t slot, struct sockaddr_un *at)
{
	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(at->sun_path + 1, sizeof(at->sun_path) - 1, "belfry/%u/" NETWORK "/%s%u",
					    (unsigned int)geteuid(), (int)getpid(), what, slot));
}

static void hang_up(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void dial(struct fuzz *f)
{
	struct sockaddr_un at;
	socklen_t len = name_of("", 0, &at);

	hang_up(&f->fd);
	f->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	if (f->fd < 0 || connect(f->fd, (struct sockaddr *)&at, len))
		hang_up(&f->fd);
}

/* `which` chooses the descriptors, two bits each. */
static void say(const struct fuzz *f, int fd, const uint8_t *bytes, size_t len, uint32_t nfds, uint8_t which)
{
	const int choice[4] = { f->ring_fd, f->door_fd, f->plain_fd, fd };
	char room[CMSG_SPACE(8 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct cmsghdr *c = (struct cmsghdr *)(void *)room;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd < 0)
		return;
	if (nfds) {
		h.msg_control = room;
		h.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		for (uint32_t i = 0; i < nfds; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &choice[which >> 2 * i & 3], sizeof(int));
	}
	if (sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

static void greet(const struct fuzz *f, int fd, uint32_t kind, uint8_t which, uint32_t nfds)
{
	const uint32_t m[4] = { 0x314f4642, 2, kind, 1 };

	say(f, fd, (const uint8_t *)m, sizeof(m), nfds, which);
}

/* Takes the victim's greeting, and maps its ring to spoil its head. */
static void answer(struct fuzz *f, const uint8_t *bytes, size_t len)
{
	char room[CMSG_SPACE(2 * sizeof(int))] __attribute__((aligned(8)));
	uint8_t m[16];
	struct iovec iov = { .iov_base = m, .iov_len = sizeof(m) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	int fds[2];

	if (f->accepted < 0)
		f->accepted = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK);
	if (f->accepted < 0)
		return;
	if (recvmsg(f->accepted, &h, MSG_DONTWAIT) == sizeof(m) && h.msg_controllen == sizeof(room)) {
		memcpy(fds, CMSG_DATA((struct cmsghdr *)(void *)room), sizeof(fds));
		bf_ring_unmap(&f->back);
		if (bf_ring_map(&f->back, fds[0]))
			abort();
		close(fds[0]);
		close(fds[1]);
	}
	if (len && bytes[0] & 1)
		greet(f, f->accepted, 2, 1, 1);
	else
		say(f, f->accepted, bytes, len, (uint32_t)len % 3, len ? bytes[0] : 0);
}

static void spoil(struct bf_shm_ring *r, const uint8_t *bytes, size_t len, bool tail)
{
	uint64_t value = 0;

	if (!r->shared)
		return;
	memcpy(&value, bytes, len < 8 ? len : 8);
	if (tail)
		r->shared->tail += value;
	else
		r->shared->head += value;
	r->shared->want = (uint32_t)value;
}

static void put(struct fuzz *f, uint8_t kind, const uint8_t *bytes, size_t len)
{
	size_t at = (size_t)kind * 64 % BF_RING_MIN;

	memcpy(f->ring.bytes + at, bytes, len);
	__atomic_add_fetch(&f->ring.shared->tail, 64 * (len / 64 + 1), __ATOMIC_RELEASE);
}

/* The group: its name taken or given back, with and without a word, the victim's frames to it, and one for the victim.
 */
static void group(struct fuzz *f, uint8_t what)
{
	static const uint8_t frame[] = { 100, 0, [2 + 12] = 8, [2 + 30] = 0xe0, [2 + 33] = 1 };
	struct sockaddr_un at;

	if (what & 1) {
		hang_up(&f->member);
	} else if (f->member < 0) {
		f->member = socket(AF_UNIX, SOCK_DGRAM, 0);
		if (bind(f->member, (struct sockaddr *)&at, name_of("ge0000001/", 1, &at)))
			abort();
	}
	if (what & 2 && f->member >= 0)
		sendto(f->member, &what, 1, MSG_DONTWAIT, (struct sockaddr *)&at, name_of("news/", 0, &at));
	if (what & 4)
		put(f, (uint8_t)(f->ring.shared->tail / 64), frame, sizeof(frame));
	if (what & 8)
		send_to(&f->victim, GROUP, BF_ROCE_GROUP_QPN, what);
	if (what & 16)
		bf_port_join(f->victim.port, GROUP);
	if (what & 32)
		bf_port_leave(f->victim.port, GROUP);
}

static void step(struct fuzz *f, uint8_t kind, const uint8_t *bytes, size_t len)
{
	switch (kind % 11) {
	case 0:
		dial(f);
		break;
	case 1:
		greet(f, f->fd, 1, 4, 2); /* as it should be: the ring and the door */
		break;
	case 2:
		say(f, f->fd, bytes, len, kind / 11 % 8, kind);
		break;
	case 3:
		greet(f, f->fd, kind / 11 % 5, len ? bytes[0] : 0, kind / 55);
		break;
	case 4:
		put(f, kind, bytes, len);
		break;
	case 5:
		spoil(&f->ring, bytes, len, true);
		break;
	case 6:
		for (size_t i = 0; i <= len; i++)
			send_frame(&f->victim, 1, kind * 16u);
		break;
	case 7:
		answer(f, bytes, len);
		break;
	case 8:
		spoil(&f->back, bytes, len, kind & 1);
		break;
	case 9:
		hang_up(kind & 1 ? &f->fd : &f->accepted);
		break;
	case 10:
		f->door->sleeping = kind;
		for (size_t i = 0; i < len && i < 8; i++)
			group(f, bytes[i]);
		break;
	}
	pump(&f->victim);
}

static void start(struct fuzz *f)
{
	struct sockaddr_un at;

	memset(f, 0, sizeof(*f));
	f->fd = f->accepted = f->member = -1;
	end_open(&f->victim);
	f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	f->plain_fd = memfd_create("plain", MFD_CLOEXEC);
	if (f->listener < 0 || bind(f->listener, (struct sockaddr *)&at, name_of("", 1, &at)) ||
	    listen(f->listener, 8) || bf_ring_create(&f->ring, 0, &f->ring_fd) || bf_door_create(&f->door, &f->door_fd))
		abort();
	end_open(&f->third);
	if (bf_outside_slot(f->victim.outside) != 0 || bf_outside_slot(f->third.outside) != 2)
		abort();
}

static void finish(struct fuzz *f)
{
	uint64_t before;

	hang_up(&f->fd);
	pump(&f->victim);
	before = f->victim.frames;
	for (int i = 0; i < 3 && f->victim.frames == before; i++) {
		send_frame(&f->third, 0, 64);
		pump(&f->third);
		pump(&f->victim);
	}
	if (f->victim.frames == before)
		abort();
	hang_up(&f->accepted);
	hang_up(&f->listener);
	hang_up(&f->member);
	hang_up(&f->ring_fd);
	hang_up(&f->door_fd);
	hang_up(&f->plain_fd);
	bf_ring_unmap(&f->ring);
	bf_ring_unmap(&f->back);
	bf_door_unmap(f->door);
	end_close(&f->third);
	end_close(&f->victim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f;
	size_t at = 0;

	start(&f);
	while (at + 2 <= size) {
		size_t len = data[at + 1];

		if (len > size - at - 2)
			len = size - at - 2;
		step(&f, data[at], data + at + 2, len);
		at += 2 + len;
	}
	finish(&f);
	return 0;
}
