/*
 * Warps that run a program: what the experiments behind the measured vectors are, and benches.
 *
 * A warp is an agent (sim/agent.h) whose code is written as the CUDA probe's is: calls that take simulated time. All
 * lanes that take part do so together; a divergent warp is two of these with one slot.
 */
#ifndef BELFRY_MODELS_HOPPER_PROGRAM_H
#define BELFRY_MODELS_HOPPER_PROGRAM_H

#include "models/hopper/hopper.h"
#include "sim/agent.h"

struct bf_warp;
typedef void bf_warp_fn(struct bf_warp *w);

/* Read-only for programs but `instr`, and `exited`. */
struct bf_warp {
	struct bf_hopper_cta *cta;
	struct bf_agent *agent;
	struct bf_hopper *gpu;
	uint32_t warp;   /* number in its block */
	uint32_t active; /* lanes that the calls below use */
	uint32_t exited; /* lanes that have left */
	bf_warp_fn *main;
	void *arg;
	bool waits;  /* for `instr` to be done */
	bool killed; /* the kernel has ended in a fault: every call returns at once */
	struct bf_sync_instr instr;
};

struct bf_warp_opts {
	struct bf_hopper_cta *cta;
	uint32_t warp;
	uint32_t active; /* 0: all 32 */
	uint32_t exited;
	bf_warp_fn *main;
	void *arg;
};

/* The warp starts now; freed with bf_warp_destroy() after its program has ended or the simulation was given up. */
int bf_warp_create(const struct bf_warp_opts *opts, struct bf_warp **out);
void bf_warp_destroy(struct bf_warp *w);

/* Self: cycles of the SM clock since the simulation began; and time spent on instructions that nothing models. */
uint64_t bf_warp_clock(const struct bf_warp *w);
void bf_warp_spend(struct bf_warp *w, uint64_t cycles);

/*
 * Self: issues w->instr as it is filled in, and waits for the result; or only until the warp may issue again; or until
 * the registers of its operands may be written again, as a rolled loop must.
 */
void bf_warp_do(struct bf_warp *w);
void bf_warp_push(struct bf_warp *w);
void bf_warp_push_rolled(struct bf_warp *w);

/* Self: the operations with one address for all lanes; the token or result of the first lane. */
void bf_warp_init(struct bf_warp *w, uint32_t address, uint32_t count);
uint64_t bf_warp_arrive(struct bf_warp *w, uint32_t address);
bool bf_warp_test(struct bf_warp *w, uint32_t address, uint32_t parity);
bool bf_warp_try(struct bf_warp *w, uint32_t address, uint32_t parity);
uint64_t bf_warp_load(struct bf_warp *w, uint32_t address);

#endif
