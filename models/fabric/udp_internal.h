/*
 * UDP's inside: udp.c sends, udp_receive.c receives, at the port's address and those of multicast groups; udp_id.c says
 * what a UDP socket does not show of a datagram's IP header, by its ICRC.
 */
#ifndef BELFRY_MODELS_FABRIC_UDP_INTERNAL_H
#define BELFRY_MODELS_FABRIC_UDP_INTERNAL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "models/fabric/roce.h"

#define UDP_BATCH 32u
#define UDP_SOCKET_BUFFER (4 * 1024 * 1024)
#define UDP_IP BF_ROCE_ETH_LEN
#define UDP_HEAD (UDP_IP + 20u)
#define UDP_BODY BF_ROCE_BTH_OFFSET
#define UDP_BODY_MIN 16u                        /* BTH and ICRC */
#define UDP_CONTROL_LEN CMSG_SPACE(sizeof(int)) /* one integer: the type of service */

/* Remembers what was computed for a length; a zeroed one is empty. */
struct bf_id_finder {
	struct {
		uint32_t len, factor;
	} known[16];
};

struct bf_packet;
struct bf_pacer;

/* Room for a batch of datagrams, of which only the parts that change are set for each. */
struct bf_udp_batch {
	struct mmsghdr heads[UDP_BATCH];
	struct iovec iov[UDP_BATCH];
	struct sockaddr_in at[UDP_BATCH];
	uint8_t control[UDP_BATCH][UDP_CONTROL_LEN] __attribute__((aligned(8)));
	struct bf_packet *packets[UDP_BATCH];
};

/* A socket that receives, at one address. */
struct bf_udp_in {
	struct bf_udp_in *next;
	int fd;
	uint32_t ipv4;
	bool readable;  /* as the kernel said last */
	bool burst;     /* many have arrived at once since its drops were counted */
	uint32_t drops; /* as it counts them */
};

struct bf_udp {
	struct bf_udp_in own; /* which sends, too; groups follow it */
	uint16_t port;
	bool full; /* as the kernel said last */
	bool told_mtu;
	struct bf_packet *first, *last; /* to be sent */
	uint32_t waiting;
	struct bf_pacer *pacer; /* NULL: no rate */
	struct bf_udp_batch tx, rx;
	struct bf_id_finder ids;
};

int bf_udp_set_receive(int fd); /* udp_receive.c: what a socket that receives needs; 0, or -1 and errno */

/*
 * The IP identification (wire order, as two bytes at `id`) with which a frame of `len` bytes, all of it right but
 * for that, has the ICRC `icrc`, when `with_zero` is what it has with an identification of 0. False when there is none:
 * the frame is broken.
 */
bool bf_find_ip_id(struct bf_id_finder *f, uint32_t len, uint32_t with_zero, uint32_t icrc, uint8_t id[2]);

#endif
