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
 * And on the way in it is checked here, since only here the headers are rebuilt (udp_id.c finds what is not known).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/sock_diag.h>
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

#define BATCH 32u
#define HEADERS 80u /* room for all of a packet's, as soft-RoCE reckons */
#define SOCKET_BUFFER (4 * 1024 * 1024)
#define IP BF_ROCE_ETH_LEN
#define UDP (IP + 20u)
#define IP_DST (IP + 16u)
#define BODY BF_ROCE_BTH_OFFSET
#define BODY_MIN 16u /* BTH and ICRC */

#define CONTROL_LEN CMSG_SPACE(sizeof(int)) /* one integer: the type of service */

/* Room for a batch of datagrams, of which only the parts that change are set for each. */
struct batch {
	struct mmsghdr heads[BATCH];
	struct iovec iov[BATCH];
	struct sockaddr_in at[BATCH];
	uint8_t control[BATCH][CONTROL_LEN] __attribute__((aligned(8)));
	struct bf_packet *packets[BATCH];
};

struct bf_udp {
	int fd;
	uint32_t ipv4;
	uint16_t port;
	bool readable, full;    /* as the kernel said last */
	bool burst;             /* many have arrived at once since its drops were counted */
	bool told_mtu;
	struct bf_packet *first, *last; /* to be sent */
	uint32_t waiting;
	struct bf_pacer *pacer; /* NULL: no rate */
	struct batch tx, rx;
	struct bf_id_finder ids;
};

static int trouble(struct bf_sim *sim, const char *what, uint32_t ipv4, uint16_t port)
{
	int rc = -errno;

	return bf_fail(&sim->error, rc, "outside: cannot %s UDP %u.%u.%u.%u port %u: %s", what, ipv4 >> 24,
		       ipv4 >> 16 & 0xff, ipv4 >> 8 & 0xff, ipv4 & 0xff, port, strerror(-rc));
}

static void init_batch(struct batch *b)
{
	for (uint32_t i = 0; i < BATCH; i++) {
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
	bf_udp_flush(owner);
}

int bf_udp_open(struct bf_outside *o, uint32_t ipv4, uint16_t port, uint64_t bits_per_s)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ipv4) };
	int on = 1, df = IP_PMTUDISC_DO, room = SOCKET_BUFFER;
	struct bf_udp *u = calloc(1, sizeof(*u));

	if (!u)
		return bf_fail(&o->sim->error, -ENOMEM, "outside: no memory");
	o->udp = u;
	u->ipv4 = ipv4;
	u->port = port;
	u->fd = -1;
	u->pacer = bits_per_s ? bf_pacer_create(o->sim, bits_per_s, paced, o) : NULL;
	if (bits_per_s && !u->pacer)
		return bf_fail(&o->sim->error, -ENOMEM, "outside: no memory");
	init_batch(&u->tx);
	init_batch(&u->rx);
	u->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (u->fd < 0)
		return trouble(o->sim, "open", ipv4, port);
	if (setsockopt(u->fd, IPPROTO_IP, IP_MTU_DISCOVER, &df, sizeof(df)) ||
	    setsockopt(u->fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on)))
		return trouble(o->sim, "set up", ipv4, port);
	/* All of it with CAP_NET_ADMIN, else as much as the administrator allows (net.core.rmem_max, wmem_max). */
	if (setsockopt(u->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		setsockopt(u->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (setsockopt(u->fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		setsockopt(u->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (bind(u->fd, (struct sockaddr *)&at, sizeof(at)))
		return trouble(o->sim, "bind", ipv4, port);
	if (!bf_udp_mtu(o))
		return bf_fail(&o->sim->error, -EMSGSIZE,
			       "outside: the interface of the UDP address carries no packet of 256 bytes and headers");
	return bf_meet_watch_udp(o, u->fd, false) ? trouble(o->sim, "watch", ipv4, port) : 0;
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
	for (uint32_t i = 0; i < BATCH; i++)
		if (u->rx.packets[i])
			bf_packet_free(u->rx.packets[i]);
	if (u->fd >= 0)
		close(u->fd);
	free(u);
	o->udp = NULL;
}

/* The header fields that the kernel will send, and the ICRC that is right with them. */
static void make_true(const struct bf_udp *u, struct bf_packet *pkt)
{
	uint8_t *frame = pkt->data;
	uint32_t icrc_at = pkt->len - BF_ROCE_ICRC_LEN, icrc;

	bf_put_be16(frame + IP + 4, 0);
	bf_put_be16(frame + IP + 6, 0x4000);
	bf_put_be16(frame + UDP, u->port);
	bf_put_be16(frame + UDP + 2, u->port);
	icrc = bf_roce_icrc(frame, icrc_at);
	if (BF_UNLIKELY(pkt->verdict == BF_FRAME_CORRUPTED))
		icrc ^= 1; /* the frame is not what it was: it must not look as if it were */
	bf_put_le32(frame + icrc_at, icrc);
}

static bool can_be_sent(const struct bf_udp *u, const struct bf_packet *pkt)
{
	return pkt->len >= BODY + BODY_MIN && bf_get_be16(pkt->data + IP + 2) == pkt->len - IP &&
	       bf_get_be32(pkt->data + IP + 12) == u->ipv4;
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
	if (!u->pacer || bf_pacer_passes(u->pacer, bf_get_be32(pkt->data + IP_DST), pkt))
		enqueue(o, pkt);
	else
		o->count.udp_paced++;
}

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
	} else if (u->waiting >= BATCH) {
		bf_udp_flush(o);
	}
}

static void fill(struct bf_udp *u, uint32_t i, struct bf_packet *pkt)
{
	struct msghdr *h = &u->tx.heads[i].msg_hdr;
	struct cmsghdr *c = (struct cmsghdr *)(void *)u->tx.control[i];
	int tos = pkt->data[IP + 1];

	u->tx.packets[i] = pkt;
	u->tx.iov[i] = (struct iovec){ pkt->data + BODY, pkt->len - BODY };
	u->tx.at[i].sin_family = AF_INET;
	u->tx.at[i].sin_port = htons(u->port);
	u->tx.at[i].sin_addr.s_addr = htonl(bf_get_be32(pkt->data + IP_DST));
	h->msg_namelen = sizeof(u->tx.at[i]);
	h->msg_control = tos ? c : NULL;
	h->msg_controllen = tos ? CONTROL_LEN : 0;
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
	uint32_t to = bf_get_be32(u->first->data + IP_DST);
	struct bf_packet *pkt;

	if (error == EAGAIN || error == ENOBUFS || error == EINTR)
		return false;
	pkt = take_first(o);
	o->count.udp_errors++;
	if (error != EMSGSIZE || !u->told_mtu)
		bf_fail(&o->error, -error, "outside: UDP to %u.%u.%u.%u: %s%s", to >> 24, to >> 16 & 0xff, to >> 8 & 0xff,
			to & 0xff, strerror(error),
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
	bf_meet_watch_udp(o, u->fd, full);
}

void bf_udp_flush(struct bf_outside *o)
{
	struct bf_udp *u = o->udp;

	while (u->first) {
		struct bf_packet *pkt = u->first;
		uint32_t n = 0;
		int sent;

		for (; pkt && n < BATCH; pkt = pkt->next)
			fill(u, n++, pkt);
		sent = sendmmsg(u->fd, u->tx.heads, n, MSG_NOSIGNAL);
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

void bf_udp_ready(struct bf_outside *o, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLERR))
		o->udp->readable = true;
	if (events & EPOLLOUT)
		bf_udp_flush(o);
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
		if (ntohl(at.sin_addr.s_addr) == u->ipv4 || (i->ifa_flags & IFF_LOOPBACK && u->ipv4 >> 24 == 127))
			snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", i->ifa_name);
	}
	freeifaddrs(all);
	if (!request.ifr_name[0] || ioctl(u->fd, SIOCGIFMTU, &request) || request.ifr_mtu < 0)
		return 0;
	return (uint32_t)request.ifr_mtu;
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

bool bf_udp_idle(const struct bf_outside *o)
{
	return !o->udp || !o->udp->readable;
}

static uint8_t tos_of(struct msghdr *h)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(h);

	return c && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS ? *CMSG_DATA(c) : 0;
}

/* The frame as it would have been on a wire. False: its ICRC is wrong. */
static bool rebuild(struct bf_udp *u, const struct bf_port *to, struct bf_packet *pkt, const struct sockaddr_in *from,
		    uint8_t tos)
{
	struct bf_roce_path_opts opts = { .src_mac = { 0x02 },
					  .src_ipv4 = ntohl(from->sin_addr.s_addr),
					  .dst_ipv4 = u->ipv4,
					  .udp_src_port = ntohs(from->sin_port),
					  .dscp = tos >> 2,
					  .ecn = tos & 3,
					  .ttl = 64 };
	uint32_t icrc_at = pkt->len - BF_ROCE_ICRC_LEN, icrc = bf_get_le32(pkt->data + icrc_at), own;
	struct bf_roce_path path;

	bf_put_be32(opts.src_mac + 2, opts.src_ipv4);
	memcpy(opts.dst_mac, to->info.mac, 6);
	bf_roce_path_init(&path, &opts);
	memcpy(pkt->data, path.headers, sizeof(path.headers));
	bf_roce_set_lengths(pkt->data, pkt->len);
	bf_put_be16(pkt->data + UDP + 2, u->port);
	own = bf_roce_icrc(pkt->data, icrc_at);
	if (own != icrc && !bf_find_ip_id(&u->ids, pkt->len, own, icrc, pkt->data + IP + 4))
		return false;
	bf_put_be16(pkt->data + UDP + 2, BF_ROCE_UDP_PORT);
	bf_roce_set_lengths(pkt->data, pkt->len); /* now that the identification is known */
	return true;
}

static void arrived(struct bf_outside *o, uint32_t i)
{
	struct bf_udp *u = o->udp;
	struct msghdr *h = &u->rx.heads[i].msg_hdr;
	struct bf_packet *pkt = u->rx.packets[i];
	struct bf_port *to = bf_fabric_find(o->fabric, u->ipv4);

	u->rx.packets[i] = NULL;
	pkt->len = BODY + u->rx.heads[i].msg_len;
	if (BF_UNLIKELY(!to || h->msg_flags & MSG_TRUNC || pkt->len < BODY + BODY_MIN ||
			!rebuild(u, to, pkt, &u->rx.at[i], tos_of(h)))) {
		o->count.udp_errors++;
		bf_packet_free(pkt);
		return;
	}
	o->count.udp_rx++;
	bf_port_receive(to, pkt);
}

/* Packets for up to `n` datagrams; as many as there is memory for. */
static uint32_t prepare(struct bf_outside *o, uint32_t n)
{
	struct batch *b = &o->udp->rx;

	for (uint32_t i = 0; i < n; i++) {
		if (!b->packets[i])
			b->packets[i] = bf_packet_alloc(o->fabric);
		if (!b->packets[i])
			return i;
		b->iov[i] = (struct iovec){ b->packets[i]->data + BODY, BF_PACKET_MAX - BODY };
		b->heads[i].msg_hdr.msg_namelen = sizeof(b->at[i]);
		b->heads[i].msg_hdr.msg_control = b->control[i];
		b->heads[i].msg_hdr.msg_controllen = CONTROL_LEN;
	}
	return n;
}

/* What found no room in the socket. Nobody is told of that; it happens only where many wait to be received. */
static void count_drops(struct bf_outside *o)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	o->udp->burst = false;
	if (!getsockopt(o->udp->fd, SOL_SOCKET, SO_MEMINFO, info, &len))
		o->count.udp_dropped = info[SK_MEMINFO_DROPS];
}

uint32_t bf_udp_receive(struct bf_outside *o, uint32_t budget)
{
	struct bf_udp *u = o->udp;
	uint32_t n = 0;

	while (u->readable && n < budget) {
		uint32_t want = prepare(o, budget - n < BATCH ? budget - n : BATCH);
		int got = want ? recvmmsg(u->fd, u->rx.heads, want, MSG_DONTWAIT, NULL) : 0;

		/* Fewer than asked for were all; an error is one of an earlier datagram, and over with this. */
		u->readable = got == (int)want || (got < 0 && errno != EAGAIN);
		for (int i = 0; i < got; i++)
			arrived(o, (uint32_t)i);
		if (got <= 0)
			break;
		n += (uint32_t)got;
		u->burst |= got == BATCH;
	}
	if (u->burst && !u->readable)
		count_drops(o);
	return n;
}
