/*
 * Any bytes as datagrams for the UDP receiver of `belfry exec --udp`. Each is one byte kind, one byte length L and L
 * bytes: sent as they are by a stranger (even), or as the transport part of a frame by a peer, who gives it the ICRC
 * that is right (odd). A good frame of the peer must arrive after each input.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "models/fabric/outside_internal.h"
#include "models/fabric/roce.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VICTIM 0x7f000001u
#define PEER 0x7f000002u
#define STRANGER 0x7f000003u
#define QPN 0x40u
#define GOOD_LEN 200u

struct end {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_port *port;
	struct bf_outside *outside;
	uint64_t good; /* frames of GOOD_LEN bytes */
};

/* Made once: each input finds what those before it have left, as a receiver does. */
static struct end victim, peer;
static int stranger = -1;
static struct sockaddr_in to;

static void receive(void *owner, struct bf_packet *pkt)
{
	struct end *e = owner;
	struct bf_roce r;

	if (!bf_roce_parse(pkt->data, pkt->len, false, &r, NULL) && r.dest_qp == QPN && r.payload_len == GOOD_LEN)
		e->good++;
	bf_packet_free(pkt);
}

static void end_open(struct end *e, uint32_t ipv4, uint16_t udp_port)
{
	char network[32];
	struct bf_outside_opts opts = { .network = network, .udp_ipv4 = ipv4, .udp_port = udp_port };
	struct bf_port_opts port = { .name = "p", .ipv4 = ipv4, .rx = receive, .owner = e };

	snprintf(network, sizeof(network), "fuzz-udp-%d-%x", (int)getpid(), ipv4);
	if (bf_sim_create(1, &e->sim) || bf_fabric_create(e->sim, &e->fabric) ||
	    bf_fabric_attach(e->fabric, &port, &e->port) || bf_outside_open(e->sim, e->fabric, &opts, &e->outside)) {
		fprintf(stderr, "%s\n", e->sim ? e->sim->error.text : "no memory");
		abort();
	}
}

static void end_close(struct end *e)
{
	bf_outside_close(e->outside);
	bf_fabric_destroy(e->fabric);
	bf_sim_destroy(e->sim);
}

static void close_all(void)
{
	end_close(&victim);
	end_close(&peer);
	close(stranger);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const uint16_t udp_port = (uint16_t)(10000 + (uint32_t)getpid() % 20000);
	const struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(STRANGER) };

	(void)argc, (void)argv;
	end_open(&victim, VICTIM, udp_port);
	end_open(&peer, PEER, udp_port);
	to = (struct sockaddr_in){ .sin_family = AF_INET,
				   .sin_port = htons(udp_port),
				   .sin_addr.s_addr = htonl(VICTIM) };
	stranger = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (stranger < 0 || bind(stranger, (const struct sockaddr *)&from, sizeof(from)))
		abort();
	return atexit(close_all);
}

static void pump(struct end *e)
{
	bf_meet_look(e->outside);
	bf_outside_poll(e->outside, 1000);
	bf_sim_run(e->sim, BF_NEVER);
	bf_outside_flush(e->outside);
}

/* A frame of the peer's whose transport part begins with `bytes`, or a good one. */
static void send_frame(const uint8_t *bytes, uint32_t len)
{
	const struct bf_roce_path_opts opts = { .src_ipv4 = PEER, .dst_ipv4 = VICTIM };
	struct bf_roce r = { .opcode = BF_RC_SEND_ONLY, .dest_qp = QPN, .payload_len = bytes ? len : GOOD_LEN };
	struct bf_packet *pkt = bf_packet_alloc(peer.fabric);
	struct bf_roce_path path;
	uint32_t at;

	if (!pkt)
		abort();
	bf_roce_path_init(&path, &opts);
	at = bf_roce_build(pkt->data, &path, &r);
	memset(pkt->data + at, 0, r.payload_len);
	if (bytes)
		memcpy(pkt->data + BF_ROCE_BTH_OFFSET, bytes, len);
	pkt->len = bf_roce_finish(pkt->data, &r, at, true);
	bf_port_send(peer.port, pkt);
	bf_sim_run(peer.sim, BF_NEVER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t before = victim.good;
	size_t at = 0;

	while (at + 2 <= size) {
		size_t len = data[at + 1];

		if (len > size - at - 2)
			len = size - at - 2;
		if (data[at] & 1)
			send_frame(data + at + 2, (uint32_t)len);
		else if (sendto(stranger, data + at + 2, len, MSG_DONTWAIT, (const struct sockaddr *)&to, sizeof(to)) <
			 0)
			break; /* no room: less of it */
		at += 2 + len;
	}
	pump(&peer);
	pump(&victim);
	send_frame(NULL, 0);
	pump(&peer);
	for (int i = 0; i < 1000 && victim.good == before; i++) /* the socket tells of it a moment later */
		pump(&victim);
	if (victim.good == before)
		abort();
	return 0;
}
