/*
 * What a packet costs: building it, its ICRC, its way through the fabric, parsing it; beside a memcpy of its bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "models/fabric/fabric.h"
#include "models/fabric/roce.h"

#define BURST 32u

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
	return 0;
}
