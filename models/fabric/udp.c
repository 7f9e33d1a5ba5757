/*
 * RoCEv2 by UDP: to other machines, and to whatever else speaks it. A datagram has what lies between the UDP header and
 * the end of the ICRC; the headers before it are the kernel's on the way out and are rebuilt on the way in, so that
 * the model sees what a NIC would see.
 *
 * The ICRC is over those headers as they are on the wire, so it is always computed here, whether the model did or not:
 *   identification  0: the kernel's choice for a socket that is not connected and does not fragment (Linux ip_output.c,
 *                   ip_select_ident_segs). That rules out UDP_SEGMENT, which numbers the segments.
 *   flags           "don't fragment", by IP_PMTUDISC_DO; annex A17 wants that.
 *   source port     the socket's, 4791. The model's, which differs from one queue pair to the next so that switches
 *                   spread them, would take a socket for each queue pair; receivers take any (annex A17).
 * And on the way in it is checked, since only there the headers are rebuilt (udp_receive.c; udp_id.c finds what is not
 * known).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "models/fabric/outside_internal.h"
#include "models/fabric/roce.h"
#include "models/fabric/udp_internal.h"
#include "models/fabric/udp_pace_internal.h"
#include "sim/bytes.h"

#define HEADERS 80u        /* room for all of a packet's, as soft-RoCE reckons */
#define MULTICAST_HOPS 64u /* as core/cma.c cma_iboe_join_multicast() has it of a group's address */

static int trouble(struct bf_sim *sim, const char *what, uint32_t ipv4, uint16_t port)
{
	int rc = -errno;

	return bf_fail(&sim->error, rc, "outside: cannot %s UDP %u.%u.%u.%u port %u: %s", what, ipv4 >> 24,
		       ipv4 >> 16 & 0xff, ipv4 >> 8 & 0xff, ipv4 & 0xff, port, strerror(-rc));
}

static void init_batch(struct bf_udp_batch *b)
{
	for (uint32_t i = 0; i < UDP_BATCH; i++) {
		struct msghdr *h = &b->heads[i].msg_hdr;

		h->msg_name = &b->at[i];
		h->msg_iov = &b->iov[i];
		h->msg_iovlen = 1;
	}
}

static void enqueue(struct bf_outside *o, struct bf_packet *pkt);

/* What the pacer has kept, and may go now. */
static void paced(void *owner, struct bf_packet *chain)
{
	while (chain) {
		struct bf_packet *pkt = chain;

		chain = pkt->next;
		enqueue(owner, pkt);
	}
}

int bf_udp_open(struct bf_outside *o, uint32_t ipv4, uint16_t port, uint64_t bits_per_s)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ipv4) };
	const struct ip_mreqn here = { .imr_address = at.sin_addr };
	int df = IP_PMTUDISC_DO, room = UDP_SOCKET_BUFFER, hops = MULTICAST_HOPS;
	struct bf_udp *u = calloc(1, sizeof(*u));

	if (!u)
		return bf_fail(&o->sim->error, -ENOMEM, "outside: no memory");
	o->udp = u;
	u->own.ipv4 = ipv4;
	u->port = port;
	u->own.fd = -1;
	u->pacer = bits_per_s ? bf_pacer_create(o->sim, bits_per_s, paced, o) : NULL;
	if (bits_per_s && !u->pacer)
		return bf_fail(&o->sim->error, -ENOMEM, "outside: no memory");
	init_batch(&u->tx);
	init_batch(&u->rx);
	u->own.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (u->own.fd < 0)
		return trouble(o->sim, "open", ipv4, port);
	if (setsockopt(u->own.fd, IPPROTO_IP, IP_MTU_DISCOVER, &df, sizeof(df)) || bf_udp_set_receive(u->own.fd))
		return trouble(o->sim, "set up", ipv4, port);
	if (setsockopt(u->own.fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		setsockopt(u->own.fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (bind(u->own.fd, (struct sockaddr *)&at, sizeof(at)))
		return trouble(o->sim, "bind", ipv4, port);
	setsockopt(u->own.fd, IPPROTO_IP, IP_MULTICAST_IF, &here, sizeof(here));
	setsockopt(u->own.fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof(hops));
	if (!bf_udp_mtu(o))
		return bf_fail(&o->sim->error, -EMSGSIZE,
			       "outside: the interface of the UDP address carries no packet of 256 bytes and headers");
	return bf_meet_watch_udp(o, u->own.fd, ipv4, false) ? trouble(o->sim, "watch", ipv4, port) : 0;
}

static void lose_chain(struct bf_outside *o, struct bf_packet *chain)
{
	while (chain) {
		struct bf_packet *pkt = chain;

		chain = pkt->next;
		bf_outside_lose(o, pkt, BF_FRAME_NO_ROUTE);
	}
}

void bf_udp_close(struct bf_outside *o)
{
	struct bf_udp *u = o->udp;

	if (!u)
		return;
	lose_chain(o, u->first);
	lose_chain(o, bf_pacer_free(u->pacer));
	for (uint32_t i = 0; i < UDP_BATCH; i++)
		if (u->rx.packets[i])
			bf_packet_free(u->rx.packets[i]);
	if (u->own.fd >= 0)
		close(u->own.fd);
	free(u);
	o->udp = NULL;
}

/* The header fields that the kernel will send, and the ICRC that is right with them. */
static void make_true(const struct bf_udp *u, struct bf_packet *pkt)
{
	uint8_t *frame = pkt->data;
	uint32_t icrc_at = pkt->len - BF_ROCE_ICRC_LEN, icrc;

	bf_put_be16(frame + UDP_IP + 4, 0);
	bf_put_be16(frame + UDP_IP + 6, 0x4000);
	bf_put_be16(frame + UDP_HEAD, u->port);
	bf_put_be16(frame + UDP_HEAD + 2, u->port);
	icrc = bf_roce_icrc(frame, icrc_at);
	if (BF_UNLIKELY(pkt->verdict == BF_FRAME_CORRUPTED))
		icrc ^= 1; /* the frame is not what it was: it must not look as if it were */
	bf_put_le32(frame + icrc_at, icrc);
}

static bool can_be_sent(const struct bf_udp *u, const struct bf_packet *pkt)
{
	return pkt->len >= UDP_BODY + UDP_BODY_MIN && bf_get_be16(pkt->data + UDP_IP + 2) == pkt->len - UDP_IP &&
	       bf_get_be32(pkt->data + UDP_IP + 12) == u->own.ipv4;
}

void bf_udp_send(struct bf_outside *o, struct bf_packet *pkt)
{
	struct bf_udp *u = o->udp;

	if (!can_be_sent(u, pkt)) {
		bf_outside_lose(o, pkt, BF_FRAME_NO_ROUTE);
		return;
	}
	if ((u->full && o->held >= OUTSIDE_HELD_MAX) || bf_pacer_waiting(u->pacer) >= OUTSIDE_HELD_MAX) {
		bf_outside_lose(o, pkt, BF_FRAME_OVERFLOW);
		return;
	}
	make_true(u, pkt);
	if (!u->pacer || bf_pacer_passes(u->pacer, bf_get_be32(pkt->data + BF_IP_DST), pkt))
		enqueue(o, pkt);
	else
		o->count.udp_paced++;
}

/*
 * Waits for the flush, however many there are: the data that an acknowledgement answers for is in memory at the end of
 * the step, and whoever the acknowledgement wakes may look at it.
 */
static void enqueue(struct bf_outside *o, struct bf_packet *pkt)
{
	struct bf_udp *u = o->udp;

	pkt->next = NULL;
	if (u->first)
		u->last->next = pkt;
	else
		u->first = pkt;
	u->last = pkt;
	u->waiting++;
	if (u->full) {
		o->held++;
		o->count.held++;
	}
}

static void fill(struct bf_udp *u, uint32_t i, struct bf_packet *pkt)
{
	struct msghdr *h = &u->tx.heads[i].msg_hdr;
	struct cmsghdr *c = (struct cmsghdr *)(void *)u->tx.control[i];
	int tos = pkt->data[UDP_IP + 1];

	u->tx.packets[i] = pkt;
	u->tx.iov[i] = (struct iovec){ pkt->data + UDP_BODY, pkt->len - UDP_BODY };
	u->tx.at[i].sin_family = AF_INET;
	u->tx.at[i].sin_port = htons(u->port);
	u->tx.at[i].sin_addr.s_addr = htonl(bf_get_be32(pkt->data + BF_IP_DST));
	h->msg_namelen = sizeof(u->tx.at[i]);
	h->msg_control = tos ? c : NULL;
	h->msg_controllen = tos ? UDP_CONTROL_LEN : 0;
	if (!tos)
		return;
	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = IP_TOS;
	c->cmsg_len = CMSG_LEN(sizeof(tos));
	memcpy(CMSG_DATA(c), &tos, sizeof(tos));
}

static struct bf_packet *take_first(struct bf_outside *o)
{
	struct bf_packet *pkt = o->udp->first;

	o->udp->first = pkt->next;
	o->udp->waiting--;
	if (o->held && o->udp->full)
		o->held--;
	return pkt;
}

/* The kernel will not have the first one of those that wait. True: the next one may do better. */
static bool refused(struct bf_outside *o, int error)
{
	struct bf_udp *u = o->udp;
	uint32_t to = bf_get_be32(u->first->data + BF_IP_DST);
	struct bf_packet *pkt;

	if (error == EAGAIN || error == ENOBUFS || error == EINTR)
		return false;
	pkt = take_first(o);
	o->count.udp_errors++;
	if (error != EMSGSIZE || !u->told_mtu)
		bf_fail(&o->error, -error, "outside: UDP to %u.%u.%u.%u: %s%s", to >> 24, to >> 16 & 0xff,
			to >> 8 & 0xff, to & 0xff, strerror(error),
			error == EMSGSIZE ? "; the way there takes no packet as long as the queue pairs' path MTU and "
					    "headers: choose a smaller path MTU, or raise the interface's MTU"
					  : "");
	u->told_mtu |= error == EMSGSIZE;
	bf_outside_lose(o, pkt, BF_FRAME_NO_ROUTE);
	return true;
}

static void set_full(struct bf_outside *o, bool full)
{
	struct bf_udp *u = o->udp;

	if (u->full == full)
		return;
	u->full = full;
	o->held += full ? u->waiting : 0;
	o->count.held += full ? u->waiting : 0;
	bf_meet_watch_udp(o, u->own.fd, u->own.ipv4, full);
}

void bf_udp_flush(struct bf_outside *o)
{
	struct bf_udp *u = o->udp;

	while (u->first) {
		struct bf_packet *pkt = u->first;
		uint32_t n = 0;
		int sent;

		for (; pkt && n < UDP_BATCH; pkt = pkt->next)
			fill(u, n++, pkt);
		sent = sendmmsg(u->own.fd, u->tx.heads, n, MSG_NOSIGNAL);
		if (sent < 0 && !refused(o, errno)) {
			set_full(o, true);
			return;
		}
		for (int i = 0; i < sent; i++)
			bf_packet_free(take_first(o));
		o->count.udp_tx += sent > 0 ? (uint32_t)sent : 0;
	}
	set_full(o, false);
}

/* The MTU of the interface that has the address; 0 when the system does not tell. */
static uint32_t interface_mtu(const struct bf_udp *u)
{
	struct ifreq request = { 0 };
	struct ifaddrs *all;

	if (getifaddrs(&all))
		return 0;
	for (struct ifaddrs *i = all; i; i = i->ifa_next) {
		struct sockaddr_in at;

		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&at, i->ifa_addr, sizeof(at));
		/* All of 127/8 is the loopback's. */
		if (ntohl(at.sin_addr.s_addr) == u->own.ipv4 ||
		    (i->ifa_flags & IFF_LOOPBACK && u->own.ipv4 >> 24 == 127))
			snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", i->ifa_name);
	}
	freeifaddrs(all);
	if (!request.ifr_name[0] || ioctl(u->own.fd, SIOCGIFMTU, &request) || request.ifr_mtu < 0)
		return 0;
	return (uint32_t)request.ifr_mtu;
}

/* The kernel's list of sockets: its address and port in hexadecimal, a word as it lies in memory, and what it has. */
bool bf_udp_unread(const struct bf_outside *o, uint32_t ipv4)
{
	const uint32_t address = htonl(ipv4);
	FILE *f = fopen("/proc/net/udp", "re");
	unsigned int at, port, has;
	bool unread = false;
	char line[256];

	while (f && !unread && fgets(line, sizeof(line), f))
		unread = sscanf(line, " %*u: %8x:%4x %*8x:%*4x %*2x %*8x:%8x", &at, &port, &has) == 3 &&
			 at == address && port == o->udp->port && has;
	if (f)
		fclose(f);
	return unread;
}

uint32_t bf_udp_mtu(const struct bf_outside *o)
{
	const uint32_t whole = interface_mtu(o->udp);
	uint32_t mtu = ROCE_MTU_MAX;

	while (whole && mtu >= 256 && mtu + HEADERS > whole)
		mtu /= 2;
	return mtu >= 256 ? mtu : 0;
}

uint32_t bf_udp_paced(const struct bf_outside *o)
{
	return o->udp ? bf_pacer_waiting(o->udp->pacer) : 0;
}

uint32_t bf_udp_held(const struct bf_outside *o, uint32_t qpn)
{
	return o->udp ? bf_pacer_held(o->udp->pacer, qpn) : 0;
}
