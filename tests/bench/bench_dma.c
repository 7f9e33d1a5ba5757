/*
 * What a DMA operation costs, beside what it stands for: a memcpy of the same bytes.
 *
 * Rounds of a NIC's small work (two reads of 64 bytes, then two writes of 64 bytes, from callbacks, `depth` rounds in
 * flight) and lone kinds of operation. Each line: nanoseconds per operation, of memcpy, and the ratio.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/pcie.h"
#include "tests/bench/limit.h"

#define RAM (1u << 20)
#define DEPTH 64u

struct round {
	struct bf_dma_op first, second;
	struct machine *m;
	uint8_t bytes[2][4096];
};

struct machine {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_region *ram;
	struct bf_link link;
	struct bf_ioas ioas;
	struct bf_dma_port port;
	struct round rounds[DEPTH];
	uint64_t left, at;
	uint32_t len, reads, writes;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t next_iova(struct machine *m)
{
	m->at = (m->at + 4096 + 64) & (RAM / 2 - 64);
	return m->ram->va + m->at;
}

static void start_round(struct round *r)
{
	struct machine *m = r->m;

	if (!m->left)
		return;
	m->left--;
	for (uint32_t i = 0; i < m->reads; i++) {
		struct bf_dma_op *op = i ? &r->second : &r->first;

		op->iova = next_iova(m);
		bf_dma_read(&m->port, op);
	}
}

static void nothing(struct bf_dma_op *op)
{
	(void)op;
}

static void finish_round(struct bf_dma_op *op)
{
	struct round *r = BF_CONTAINER_OF(op, struct round, second);
	struct machine *m = r->m;

	for (uint32_t i = 0; i < m->writes; i++)
		bf_dma_write(&m->port, next_iova(m), r->bytes[i], m->len, 0);
	start_round(r);
}

/* One kind of round; `reads` is 2 or the writes go out by themselves. */
static double measure(uint32_t len, uint32_t reads, uint32_t writes, uint64_t rounds)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct bf_region_opts opts = { .name = "ram", .size = RAM };
	double start, took;

	if (!m || bf_sim_create(1, &m->sim) || bf_space_init(&m->space, m->sim, "host", 0) ||
	    bf_region_create(&m->space, &opts, &m->ram) || bf_ioas_init(&m->ioas, m->sim, "ioas", 4096) ||
	    bf_ioas_map_region(&m->ioas, m->ram, 3) ||
	    bf_link_init(&m->link, m->sim, "link", &bf_link_profile_gen5_x16) ||
	    bf_dma_port_init(&m->port, m->sim, "dev", &m->link, &m->ioas))
		exit(1);
	m->len = len;
	m->reads = reads;
	m->writes = writes;
	m->left = rounds;
	memset(m->ram->bytes, 1, RAM);
	start = now_ns();
	for (uint32_t i = 0; reads && i < DEPTH; i++) {
		struct round *r = &m->rounds[i];

		r->m = m;
		r->first = (struct bf_dma_op){ .len = len, .dst = r->bytes[0], .done = nothing };
		r->second = (struct bf_dma_op){ .len = len, .dst = r->bytes[1], .done = finish_round };
		start_round(r);
	}
	for (uint64_t i = 0; !reads && i < rounds * writes; i++) {
		bf_dma_write(&m->port, next_iova(m), m->rounds[0].bytes[0], len, 0);
		if (i % DEPTH == DEPTH - 1)
			bf_sim_run(m->sim, BF_NEVER);
	}
	bf_sim_run(m->sim, BF_NEVER);
	took = now_ns() - start;
	bf_dma_port_fini(&m->port);
	bf_link_fini(&m->link);
	bf_ioas_fini(&m->ioas);
	bf_space_fini(&m->space);
	bf_sim_destroy(m->sim);
	free(m);
	return took / (double)(rounds * (reads + writes));
}

static double measure_memcpy(uint32_t len, uint64_t times)
{
	static uint8_t to[4096];
	uint8_t *ram = calloc(1, RAM);
	double start = now_ns(), took;
	uint64_t at = 0;

	if (!ram)
		exit(1);
	for (uint64_t i = 0; i < times; i++) {
		at = (at + 4096 + 64) & (RAM / 2 - 64);
		memcpy(to, ram + at, len);
		__asm__ volatile("" : : "r"(to) : "memory");
	}
	took = (now_ns() - start) / (double)times;
	free(ram);
	return took;
}

/* One translation, alternating between four maps as a NIC does between its ring, record, payload and completions. */
static double measure_translation(uint64_t times)
{
	struct bf_region_opts opts = { .name = "ram", .size = 1u << 16 };
	struct bf_region *regions[4], *region;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_sim *sim;
	uint64_t bytes = 0;
	double start;
	void *host;

	if (bf_sim_create(1, &sim) || bf_space_init(&space, sim, "host", 0) || bf_ioas_init(&ioas, sim, "ioas", 4096))
		exit(1);
	for (int i = 0; i < 4; i++)
		if (bf_region_create(&space, &opts, &regions[i]) || bf_ioas_map_region(&ioas, regions[i], 3))
			exit(1);
	start = now_ns();
	for (uint64_t i = 0; i < times; i++)
		bytes += (uint64_t)bf_ioas_translate(&ioas, regions[i % 4]->va + i % 1021 * 64, 64, BF_IOMMU_READ, 1,
						     &host, &region);
	start = now_ns() - start;
	if (bytes != times * 64)
		exit(1);
	bf_ioas_fini(&ioas);
	bf_space_fini(&space);
	bf_sim_destroy(sim);
	return start / (double)times;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint32_t len, reads, writes;
	} kinds[] = {
		{ "2 reads + 2 writes", 64, 2, 2 },   { "reads", 64, 2, 0 },   { "writes", 64, 0, 2 },
		{ "2 reads + 2 writes", 4096, 2, 2 }, { "reads", 4096, 2, 0 }, { "writes", 4096, 0, 2 },
	};
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
	bool met = true;

	printf("%-20s %6s %12s %12s %8s\n", "operation", "bytes", "ns each", "memcpy ns", "ratio");
	for (size_t i = 0; i < BF_ARRAY_LEN(kinds); i++) {
		double each = 1e9, copy = 1e9;

		for (int run = 0; run < 3; run++) {
			double t = measure(kinds[i].len, kinds[i].reads, kinds[i].writes, rounds);
			double c = measure_memcpy(kinds[i].len, rounds);

			each = t < each ? t : each;
			copy = c < copy ? c : copy;
		}
		printf("%-20s %6u %12.1f %12.1f %8.1f\n", kinds[i].name, kinds[i].len, each, copy, each / copy);
		if (kinds[i].len == 64 && kinds[i].reads + kinds[i].writes == 2)
			met &= bench_at_most(kinds[i].reads ? "DMA read of 64 bytes" : "DMA write of 64 bytes", each,
					     30, "ns");
	}
	printf("%-20s %6u %12.1f\n", "translation", 64u, measure_translation(rounds));
	return met ? 0 : 1;
}
