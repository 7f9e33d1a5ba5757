/*
 * Rows about pinned host memory. The sync unit has no part in them: they test what a GPU thread's accesses cost in
 * every simulation (bf_cost_gpu, sim/view.h).
 */
#include "sim/view.h"
#include "tools/calibrate/hopper_rows.h"

#define ENTRY_WORDS 12u /* 48 bytes, stored word by word */
#define PHASES 64u

/* One lane stores an entry and its sequence number with a system fence between. */
void bf_row_gpu_post_host(struct bf_row *row)
{
	const struct bf_cost *c = &bf_cost_gpu;
	const int64_t each = (int64_t)(ENTRY_WORDS * (uint64_t)c->store + c->fence_sys + c->store);

	bf_row_compare(row, "ns_each", bf_row_number(row, "ns_each"), each);
}

/*
 * The thread stores a flag and polls another, one load after the other; the CPU polls and answers. A store takes half
 * as long to host memory as a load there and back. The answer meets the polling loads at any phase: the mean.
 */
void bf_row_gpu_cpu_pingpong(struct bf_row *row)
{
	const uint64_t load = bf_cost_gpu.load_dram, way = load / 2;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PHASES; i++) {
		const uint64_t answered = bf_cost_gpu.store + way + bf_cost_cpu.poll + bf_cost_cpu.store;
		const uint64_t first = load * i / PHASES; /* a load is at the host's memory, then one every `load` */
		const uint64_t missed = answered > first ? (answered - first + load - 1) / load : 0;

		sum += first + missed * load + way;
	}
	bf_row_compare(row, "ns_round_trip", bf_row_number(row, "ns_round_trip"), (int64_t)(sum / PHASES));
}
