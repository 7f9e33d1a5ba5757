/*
 * What comes by UDP: to the port's address, and to those of the multicast groups that it has joined, each of which has
 * a socket of its own, since that alone says what a datagram was sent to. The headers before the BTH are made again as
 * they were on the wire, and the ICRC that covers them is checked.
 */
#include <errno.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "models/fabric/outside_internal.h"
#include "models/fabric/udp_internal.h"
#include "sim/bytes.h"

static uint8_t tos_of(struct msghdr *h)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(h);

	return c && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS ? *CMSG_DATA(c) : 0;
}

static bool is_group(const struct bf_udp_in *in)
{
	return IN_MULTICAST(in->ipv4);
}

/* Where the frame goes on Ethernet: to the port, or to its group (RFC 1112 section 6.4). */
static void put_mac(uint8_t mac[6], const struct bf_udp_in *in, const struct bf_port *port)
{
	if (!is_group(in)) {
		memcpy(mac, port->info.mac, 6);
		return;
	}
	bf_put_be16(mac, 0x0100);
	bf_put_be32(mac + 2, 0x5e000000 | (in->ipv4 & 0x7fffff));
}

/* The frame as it would have been on a wire. False: its ICRC is wrong. */
static bool rebuild(struct bf_udp *u, const struct bf_udp_in *in, const struct bf_port *to, struct bf_packet *pkt,
		    const struct sockaddr_in *from, uint8_t tos)
{
	struct bf_roce_path_opts opts = { .src_mac = { 0x02 },
					  .src_ipv4 = ntohl(from->sin_addr.s_addr),
					  .dst_ipv4 = in->ipv4,
					  .udp_src_port = ntohs(from->sin_port),
					  .dscp = tos >> 2,
					  .ecn = tos & 3,
					  .ttl = 64 };
	uint32_t icrc_at = pkt->len - BF_ROCE_ICRC_LEN, icrc = bf_get_le32(pkt->data + icrc_at), own;
	struct bf_roce_path path;

	bf_put_be32(opts.src_mac + 2, opts.src_ipv4);
	put_mac(opts.dst_mac, in, to);
	bf_roce_path_init(&path, &opts);
	memcpy(pkt->data, path.headers, sizeof(path.headers));
	bf_roce_set_lengths(pkt->data, pkt->len);
	bf_put_be16(pkt->data + UDP_HEAD + 2, u->port);
	own = bf_roce_icrc(pkt->data, icrc_at);
	if (own != icrc && !bf_find_ip_id(&u->ids, pkt->len, own, icrc, pkt->data + UDP_IP + 4))
		return false;
	bf_roce_set_lengths(pkt->data, pkt->len); /* now that the identification is known */
	if (BF_UNLIKELY(u->port != BF_ROCE_UDP_PORT)) {
		/* Behind the sockets there is RoCEv2's port alone, and the ICRC covers it. */
		bf_put_be16(pkt->data + UDP_HEAD + 2, BF_ROCE_UDP_PORT);
		bf_put_le32(pkt->data + icrc_at, bf_roce_icrc(pkt->data, icrc_at));
	}
	return true;
}

/* The system hands what leaves for a group to this process, too, whose members have it already. */
static bool is_echo(const struct bf_udp *u, const struct bf_udp_in *in, const struct sockaddr_in *from)
{
	return is_group(in) && ntohl(from->sin_addr.s_addr) == u->own.ipv4 && ntohs(from->sin_port) == u->port;
}

static void arrived(struct bf_outside *o, const struct bf_udp_in *in, uint32_t i)
{
	struct bf_udp *u = o->udp;
	struct msghdr *h = &u->rx.heads[i].msg_hdr;
	struct bf_packet *pkt = u->rx.packets[i];
	struct bf_port *to = bf_fabric_find(o->fabric, u->own.ipv4);

	if (BF_UNLIKELY(is_echo(u, in, &u->rx.at[i])))
		return;
	u->rx.packets[i] = NULL;
	pkt->len = UDP_BODY + u->rx.heads[i].msg_len;
	if (BF_UNLIKELY(!to || h->msg_flags & MSG_TRUNC || pkt->len < UDP_BODY + UDP_BODY_MIN ||
			!rebuild(u, in, to, pkt, &u->rx.at[i], tos_of(h)))) {
		o->count.udp_errors++;
		bf_packet_free(pkt);
		return;
	}
	o->count.udp_rx++;
	if (BF_LIKELY(!is_group(in)))
		bf_port_receive(to, pkt);
	else
		bf_group_receive(o->fabric, pkt);
}

/* Packets for up to `n` datagrams; as many as there is memory for. */
static uint32_t prepare(struct bf_outside *o, uint32_t n)
{
	struct bf_udp_batch *b = &o->udp->rx;

	for (uint32_t i = 0; i < n; i++) {
		if (!b->packets[i])
			b->packets[i] = bf_packet_alloc(o->fabric);
		if (!b->packets[i])
			return i;
		b->iov[i] = (struct iovec){ b->packets[i]->data + UDP_BODY, BF_PACKET_MAX - UDP_BODY };
		b->heads[i].msg_hdr.msg_namelen = sizeof(b->at[i]);
		b->heads[i].msg_hdr.msg_control = b->control[i];
		b->heads[i].msg_hdr.msg_controllen = UDP_CONTROL_LEN;
	}
	return n;
}

/* What found no room in the socket. Nobody is told of that; it happens only where many wait to be received. */
static void count_drops(struct bf_outside *o, struct bf_udp_in *in)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	in->burst = false;
	if (getsockopt(in->fd, SOL_SOCKET, SO_MEMINFO, info, &len))
		return;
	o->count.udp_dropped += info[SK_MEMINFO_DROPS] - in->drops;
	in->drops = info[SK_MEMINFO_DROPS];
}

static uint32_t receive(struct bf_outside *o, struct bf_udp_in *in, uint32_t budget)
{
	struct bf_udp *u = o->udp;
	uint32_t n = 0;

	while (in->readable && n < budget) {
		uint32_t want = prepare(o, budget - n < UDP_BATCH ? budget - n : UDP_BATCH);
		int got = want ? recvmmsg(in->fd, u->rx.heads, want, MSG_DONTWAIT, NULL) : 0;

		/* Fewer than asked for were all; an error is one of an earlier datagram, and over with this. */
		in->readable = got == (int)want || (got < 0 && errno != EAGAIN);
		for (int i = 0; i < got; i++)
			arrived(o, in, (uint32_t)i);
		if (got <= 0)
			break;
		n += (uint32_t)got;
		in->burst |= got == UDP_BATCH;
	}
	if (in->burst && !in->readable)
		count_drops(o, in);
	return n;
}

uint32_t bf_udp_receive(struct bf_outside *o, uint32_t budget)
{
	uint32_t n = 0;

	for (struct bf_udp_in *in = &o->udp->own; in; in = in->next)
		n += receive(o, in, budget - n);
	return n;
}

bool bf_udp_idle(const struct bf_outside *o)
{
	for (const struct bf_udp_in *in = o->udp ? &o->udp->own : NULL; in; in = in->next)
		if (in->readable)
			return false;
	return true;
}

void bf_udp_ready(struct bf_outside *o, uint32_t ipv4, uint32_t events)
{
	struct bf_udp_in *in = &o->udp->own;

	while (in && in->ipv4 != ipv4)
		in = in->next;
	if (in && events & (EPOLLIN | EPOLLERR))
		in->readable = true;
	if (events & EPOLLOUT)
		bf_udp_flush(o);
}

/* ---- sockets ---- */

int bf_udp_set_receive(int fd)
{
	int on = 1, room = UDP_SOCKET_BUFFER;

	/* All of it with CAP_NET_ADMIN, else as much as the administrator allows (net.core.rmem_max). */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	return setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on));
}

/* Other processes of this machine may be in the group, too: each gets all that comes. */
static int listen_to(const struct bf_udp *u, const struct bf_udp_in *in)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(u->port),
					.sin_addr.s_addr = htonl(in->ipv4) };
	const struct ip_mreqn group = { .imr_multiaddr = at.sin_addr, .imr_address.s_addr = htonl(u->own.ipv4) };
	const int on = 1, off = 0;

	if (setsockopt(in->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    setsockopt(in->fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof(off)) || bf_udp_set_receive(in->fd) ||
	    bind(in->fd, (const struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(in->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)))
		return -errno;
	return 0;
}

int bf_udp_join(struct bf_outside *o, uint32_t ipv4)
{
	struct bf_udp_in *in = calloc(1, sizeof(*in));
	int rc;

	if (!in)
		return -ENOMEM;
	in->ipv4 = ipv4;
	in->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = in->fd < 0 ? -errno : listen_to(o->udp, in);
	rc = rc ? rc : bf_meet_watch_udp(o, in->fd, ipv4, false);
	if (rc) {
		if (in->fd >= 0)
			close(in->fd);
		free(in);
		return rc;
	}
	in->next = o->udp->own.next;
	o->udp->own.next = in;
	return 0;
}

void bf_udp_leave(struct bf_outside *o, uint32_t ipv4)
{
	struct bf_udp_in **at = &o->udp->own.next, *in;

	while (*at && (*at)->ipv4 != ipv4)
		at = &(*at)->next;
	in = *at;
	if (!in)
		return;
	*at = in->next;
	bf_meet_hang_up(o, &in->fd);
	free(in);
}
