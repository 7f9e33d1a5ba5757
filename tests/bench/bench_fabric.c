/*
 * What a packet costs: building it, its ICRC, its way through the fabric, parsing it; beside a memcpy of its bytes.
 * Then its way alone, in fabrics of many ports: every port sends to every other in turn, and no receiver looks at
 * anything.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "models/fabric/fabric.h"
#include "models/fabric/roce.h"
#include "models/fabric/topology.h"

#define BURST 32u
#define PORTS_MAX 4096u

struct setup {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_port *ports[2];
	struct bf_roce_path path;
	uint64_t received;
	bool icrc;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void receive(void *owner, struct bf_packet *pkt)
{
	struct setup *s = owner;
	struct bf_roce r;

	if (bf_roce_parse(pkt->data, pkt->len, s->icrc, &r, NULL))
		exit(1);
	s->received++;
	bf_packet_free(pkt);
}

static void send_one(struct setup *s, const uint8_t *payload, uint32_t len, uint32_t psn)
{
	struct bf_roce r = { .opcode = BF_RC_WRITE_ONLY,
			     .pkey = 0xffff,
			     .dest_qp = 0x41,
			     .psn = psn,
			     .ack_req = true,
			     .va = 0x10000000000ull,
			     .rkey = 0x1100,
			     .dma_len = len,
			     .payload_len = len };
	struct bf_packet *pkt = bf_packet_alloc(s->fabric);
	uint32_t at;

	if (!pkt)
		exit(1);
	at = bf_roce_build(pkt->data, &s->path, &r);
	memcpy(pkt->data + at, payload, len);
	pkt->len = bf_roce_finish(pkt->data, &r, at, s->icrc);
	bf_port_send(s->ports[0], pkt);
}

static double measure(uint32_t len, bool icrc, uint64_t packets)
{
	static const uint8_t payload[4096] = { 1, 2, 3 };
	struct setup s = { .icrc = icrc };
	struct bf_roce_path_opts path = { .dst_ipv4 = 1, .udp_src_port = 0xc000, .ttl = 64 };
	double start, took;

	if (bf_sim_create(1, &s.sim) || bf_fabric_create(s.sim, &s.fabric))
		exit(1);
	for (uint32_t i = 0; i < 2; i++) {
		struct bf_port_opts opts = { .name = i ? "b" : "a",
					     .ipv4 = i,
					     .latency_ps = 500 * BF_NS,
					     .ps_per_kib = 20480,
					     .rx = receive,
					     .owner = &s };

		if (bf_fabric_attach(s.fabric, &opts, &s.ports[i]))
			exit(1);
	}
	bf_roce_path_init(&s.path, &path);
	start = now_ns();
	for (uint64_t i = 0; i < packets; i++) {
		send_one(&s, payload, len, (uint32_t)i);
		if (i % BURST == BURST - 1)
			bf_sim_run(s.sim, BF_NEVER);
	}
	bf_sim_run(s.sim, BF_NEVER);
	took = now_ns() - start;
	if (s.received != packets)
		exit(1);
	bf_fabric_destroy(s.fabric);
	bf_sim_destroy(s.sim);
	return took / (double)packets;
}

static double measure_memcpy(uint32_t len, uint64_t times)
{
	static uint8_t from[4096], to[4096];
	double start = now_ns();

	for (uint64_t i = 0; i < times; i++) {
		memcpy(to, from, len);
		__asm__ volatile("" : : "r"(to), "r"(from) : "memory");
	}
	return (now_ns() - start) / (double)times;
}

static void ignore(void *owner, struct bf_packet *pkt)
{
	++*(uint64_t *)owner;
	bf_packet_free(pkt);
}

struct many {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_port *ports[PORTS_MAX];
	uint64_t received;
	uint32_t nports;
};

static void build_many(struct many *m, const char *text, uint32_t nports)
{
	struct bf_topology t;

	*m = (struct many){ .nports = nports };
	if (bf_topology_parse(text, &t, NULL) || bf_sim_create(1, &m->sim) || bf_fabric_create(m->sim, &m->fabric) ||
	    bf_fabric_set_topology(m->fabric, &t))
		exit(1);
	for (uint32_t i = 0; i < nports; i++) {
		char name[20];
		struct bf_port_opts opts = { .name = name,
					     .ipv4 = i + 1,
					     .latency_ps = 150 * BF_NS,
					     .ps_per_kib = 20480,
					     .rx = ignore,
					     .owner = &m->received,
					     .host = i };

		snprintf(name, sizeof(name), "nic%u.p1", i);
		if (bf_fabric_attach(m->fabric, &opts, &m->ports[i]))
			exit(1);
	}
}

/* Port i sends to i + 1, then to i + 2, and so on: nobody is hot, as in an all-to-all done well. */
static void all_to_all(struct many *m, uint64_t packets)
{
	const struct bf_roce r = { .opcode = BF_RC_ACK };
	struct bf_roce_path path;

	bf_roce_path_init(&path, &(struct bf_roce_path_opts){ .ttl = 64, .udp_src_port = 0xc000 });
	for (uint64_t sent = 0, round = 1; sent < packets; round++) {
		for (uint32_t i = 0; i < m->nports; i++, sent++) {
			struct bf_packet *pkt = bf_packet_alloc(m->fabric);

			if (!pkt)
				exit(1);
			pkt->len = bf_roce_build(pkt->data, &path, &r) + BF_ROCE_ICRC_LEN;
			bf_put_be32(pkt->data + 26, i + 1);
			bf_put_be32(pkt->data + 30, (uint32_t)((i + round) % m->nports) + 1);
			bf_port_send(m->ports[i], pkt);
		}
		bf_sim_run(m->sim, m->sim->now_ps + 100 * BF_NS);
	}
	bf_sim_run(m->sim, BF_NEVER);
}

static void measure_many(const char *text, uint32_t nports, uint64_t packets)
{
	static struct many m;
	double built = now_ns(), best = 1e18;

	build_many(&m, text, nports);
	built = now_ns() - built;
	all_to_all(&m, packets / 4); /* pools grow to their size */
	for (int run = 0; run < 3; run++) {
		double start = now_ns(), took;

		m.received = 0;
		all_to_all(&m, packets);
		took = (now_ns() - start) / (double)m.received;
		best = took < best ? took : best;
	}
	printf("%-6u %-58s %10.1f %10.2f\n", nports, text, best, built / 1e6);
	bf_fabric_destroy(m.fabric);
	bf_sim_destroy(m.sim);
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = { 64, 1024, 4096 };
	uint64_t packets = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;

	printf("%-12s %6s %12s %12s %8s\n", "packet", "bytes", "ns each", "memcpy ns", "ratio");
	for (size_t i = 0; i < 2 * BF_ARRAY_LEN(sizes); i++) {
		bool icrc = i % 2;
		double each = 1e9, copy = 1e9;

		for (int run = 0; run < 3; run++) {
			double t = measure(sizes[i / 2], icrc, packets), c = measure_memcpy(sizes[i / 2], packets);

			each = t < each ? t : each;
			copy = c < copy ? c : copy;
		}
		printf("%-12s %6u %12.1f %12.1f %8.1f\n", icrc ? "with ICRC" : "no ICRC", sizes[i / 2], each, copy,
		       each / copy);
	}
	printf("\n%-6s %-58s %10s %10s\n", "ports", "topology", "ns each", "set-up ms");
	for (uint32_t n = 8; n <= PORTS_MAX; n *= 8)
		measure_many("switch", n, packets);
	measure_many("leaf-spine leaves=2 spines=2 hosts-per-leaf=4", 8, packets);
	measure_many("leaf-spine leaves=4 spines=8 hosts-per-leaf=16", 64, packets);
	measure_many("leaf-spine leaves=16 spines=16 hosts-per-leaf=32", 512, packets);
	measure_many("leaf-spine leaves=64 spines=32 hosts-per-leaf=64", 4096, packets);
	return 0;
}
