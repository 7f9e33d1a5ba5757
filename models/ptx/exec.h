/*
 * The execution core of the PTX machine: warps of 32 lanes over decoded code.
 *
 * A function is decoded when it is first called: to an array of instructions, each with the handlers that do it, over
 * slots (registers coloured by liveness) which lie lane by lane. A warp runs it in groups: lanes that are at the same
 * place of the same frame. A branch that lanes disagree about splits a group; groups that meet are joined again. The
 * group at the lowest place in reverse post-order goes first, so that the sides of a branch meet where they join; a
 * group that has turned too many rounds of a loop, or waits, gives way, so that no lane can starve another one.
 *
 * Registers, predicates, the carry flag, control flow, calls, the instructions among lanes (vote, match, shfl, redux,
 * elect, activemask, bar.warp.sync), .local memory and parameters of functions are the core's. Everything else is asked
 * for through the port: what has to do with shared and global memory, time, barriers, and the special registers that
 * are not in struct bf_ptx_warp.
 *
 * One thread per simulation. bf_ptx_warp_run() may be suspended inside a call of the port (it runs as an agent).
 */
#ifndef BELFRY_MODELS_PTX_EXEC_H
#define BELFRY_MODELS_PTX_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

#define BF_PTX_LANES 32u
#define BF_PTX_WINDOWS                                                                                                 \
	6u /* regions of global memory that the core reaches by itself: a driver's ring, records, state */

/*
 * Generic addresses: a window is its base + the address in the state space. Everything else is global. The generic
 * address of a .const or an entry's .param is constant_va or param_va + offset.
 */
#define BF_PTX_SHARED_WINDOW (1ull << 54) /* 4 GiB: 32-bit shared addresses with the rank of the CTA in bits 31:24 */
#define BF_PTX_LOCAL_WINDOW (BF_PTX_SHARED_WINDOW + (1ull << 40))
#define BF_PTX_LOCAL_SIZE (1ull << 24) /* .local addresses grow down from here */
#define BF_PTX_SHARED_FIRST 0x400u     /* address of the first static byte: the first 1 KiB is the system's */

struct bf_ptx_stmt; /* models/ptx/module.h */
struct bf_ptx_func;
struct bf_ptx_program;

struct bf_ptx_code;  /* a program, decoded function by function as they are called */
struct bf_ptx_entry; /* a kernel of it */
struct bf_ptx_warp;

enum bf_ptx_result {
	BF_PTX_DONE,
	BF_PTX_WAIT,  /* the lanes go on when their bits are in warp->ready */
	BF_PTX_FAULT, /* the grid is dead: bf_ptx_warp_run() returns at once */
};

/* What ends a grid, besides what the machine finds itself. */
enum bf_ptx_trap {
	BF_PTX_TRAP,        /* trap, brkpt */
	BF_PTX_TRAP_REFUSE, /* an instruction that is not there: `text` names it */
	BF_PTX_TRAP_CALL,   /* a call of something that is no function */
	BF_PTX_TRAP_STACK,  /* frames or .local memory of a thread do not fit */
	BF_PTX_TRAP_LOCAL,  /* an access outside .local memory, or misaligned there */
	BF_PTX_TRAP_MASK,   /* a lane executes an instruction among lanes whose member mask lacks it */
	BF_PTX_TRAP_MEMORY, /* the host has no memory left */
};

/* What the machine keeps with an instruction that is its own. Lives as long as the code. */
struct bf_ptx_prepared {
	const struct bf_ptx_stmt *stmt;
	uint32_t words[14]; /* the machine's: filled by prepare(), read by perform() */
	bool plain; /* a weak ld or st: the core may do it itself where the warp's windows permit (see `plain_store`) */
	char text[80]; /* why it was refused */
};

/* Rows of 32 lanes, one an operand. */
typedef uint64_t bf_ptx_row[BF_PTX_LANES];

/*
 * What the core asks of the machine. Calls during a run come from the warp's agent and may give way to others.
 *
 * Rows: destinations first (`out`), then the rest (`in`), in the order of the statement; a vector {a,b,c,d} is as many
 * rows, an operand of 128 bits two (low, high). Registers are zero-extended to 64 bits. The address operand
 * [reg+offset] is one row, added up, symbols resolved. A sink `_` keeps its row, which is ignored. Predicates are
 * rows of 0 and 1. A load gives raw bits, zero-extended: the core extends signs. An atomic gives the old value. A field
 * that the form may have and the statement leaves away (the count of bar.sync, a cache policy) has no row.
 */
struct bf_ptx_port {
	/*
	 * When a function is decoded, for each statement that is not the core's: fills op->words and returns 0, or
	 * writes op->text and returns -ENOTSUP; then it is refused when a lane gets there.
	 */
	int (*prepare)(void *machine, const struct bf_ptx_stmt *stmt, struct bf_ptx_prepared *op);

	/*
	 * Executes it for the lanes of `mask`. BF_PTX_WAIT: the lanes stay where they are; when all of them are in
	 * warp->ready, the bits are cleared and the same instruction is performed again with the same inputs.
	 */
	enum bf_ptx_result (*perform)(struct bf_ptx_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				      const bf_ptx_row *in, bf_ptx_row *out);

	/*
	 * A backward branch was taken, and warp->polls has changed since the last one of this group: it polls. `hash`
	 * covers the registers of its lanes: equal in two rounds, with warp->progress unchanged, is a pure spin.
	 * BF_PTX_WAIT as above, but nothing is performed again: the lanes go on at the branch's target.
	 */
	enum bf_ptx_result (*spin)(struct bf_ptx_warp *w, uint32_t mask, uint32_t target, uint64_t hash);

	/* A good while has passed without a call of the port: lets time pass. DONE or FAULT. */
	enum bf_ptx_result (*quantum)(struct bf_ptx_warp *w);

	/* Every group waits for the machine: blocks until warp->ready has something. DONE or FAULT. */
	enum bf_ptx_result (*idle)(struct bf_ptx_warp *w);

	/* Lanes have come to bar.warp.sync, which orders memory, while *slow is not 0. NULL: there is nothing to order.
	 */
	void (*synced)(struct bf_ptx_warp *w, uint32_t mask);

	/* Lanes have ended. Others may become ready by that. */
	enum bf_ptx_result (*exited)(struct bf_ptx_warp *w, uint32_t mask);

	/* The grid ends; returns BF_PTX_FAULT. `text` (borrowed) says more, or NULL. */
	enum bf_ptx_result (*trap)(struct bf_ptx_warp *w, uint32_t mask, enum bf_ptx_trap kind, const char *text);

	/*
	 * A call of a built-in function; `id` is its place in the list given to bf_ptx_link(). `in`: the parameters,
	 * one row each; `out`: the return value. DONE or FAULT.
	 */
	enum bf_ptx_result (*builtin)(struct bf_ptx_warp *w, uint32_t id, uint32_t mask, const bf_ptx_row *in,
				      bf_ptx_row *out);
};

/* Address a in [base, base + size) is host[a - base]. */
struct bf_ptx_window {
	uint8_t *host;
	uint64_t base;
	uint64_t size; /* 0: nothing */
};

struct bf_ptx_frame;
struct bf_ptx_core;

/*
 * A warp. The machine fills this before bf_ptx_warp_init(); what is marked "core" is the core's to fill.
 *
 * Plain accesses that the core makes itself, without a call: weak ld and st (volatile ones of shared memory, too) whose
 * addresses are aligned and, all lanes of them, inside one window: `shared` (stores only with `plain_store`),
 * `constant`, `param` (loads), and while *slow is 0 (for loads: has no bit of `loads_mind`) one of `global`.
 * All others go to perform(), which may fill global[].
 */
struct bf_ptx_warp {
	const struct bf_ptx_port *port;
	void *machine;
	const struct bf_ptx_stmt *at; /* core: what is being executed: perform, trap, spin, builtin, idle */

	struct bf_ptx_window shared;   /* of its own CTA: base is rank << 24 */
	struct bf_ptx_window constant; /* base 0 */
	struct bf_ptx_window param;    /* the entry's parameters, base 0 */
	struct bf_ptx_window global[BF_PTX_WINDOWS];
	const uint32_t *slow; /* 0: global memory is plain memory (&sim->slow) */
	uint32_t loads_mind;  /* bits of *slow with which loads go to perform(); stores mind all */
	uint64_t *charge;     /* += load_ps or store_ps once for each plain access of global memory */
	uint32_t load_ps, store_ps;
	bool plain_store; /* false: somebody listens to stores to shared memory */

	uint32_t
	    issued; /* core adds instructions that the warp has issued; the machine turns them into time, clears it */
	uint32_t polls;    /* machine: += 1 for each strong load, failed cas, test_wait that gave false */
	uint32_t progress; /* += 1 for each store */
	uint32_t ready;    /* machine sets: lanes that need not wait longer; core clears */

	uint32_t lanes; /* those that exist */
	uint32_t live;  /* core: those that have not ended */
	uint32_t tid[3][BF_PTX_LANES];
	uint32_t ntid[3], ctaid[3], nctaid[3];
	uint32_t clusterid[3], nclusterid[3], cluster_ctaid[3], cluster_nctaid[3];
	uint32_t cluster_ctarank, cluster_nctarank;
	bool explicit_cluster;
	uint32_t warpid;
	uint64_t gridid;
	uint32_t dynamic_smem, total_smem, aggr_smem;
	uint64_t constant_va, param_va;
	uint32_t local_bytes;    /* stack of one thread: .local memory */
	uint32_t dynamic_offset; /* the kernel's: dynamic shared memory begins at BF_PTX_SHARED_FIRST + this */

	uint64_t lane_instructions; /* core: instructions times lanes so far */
	struct bf_ptx_core *core;   /* core */
};

struct bf_ptx_code_opts {
	const struct bf_ptx_program *program; /* linked; borrowed for the life of the code */
	const struct bf_ptx_port *port;       /* for prepare() */
	void *machine;                        /* its first argument */
	uint64_t global_base, const_base;     /* generic addresses of the program's .global image and .const bank */
};

/* Decodes nothing yet. Returns 0 or -ENOMEM with `err` filled. */
int bf_ptx_code_create(const struct bf_ptx_code_opts *opts, struct bf_ptx_code **out, struct bf_error *err);
void bf_ptx_code_destroy(struct bf_ptx_code *code);

/*
 * Decodes kernel `fn` of the program if that is not done yet. Its functions follow when they are called. -ENOMEM, or
 * -EINVAL for what no statement can be blamed for.
 */
int bf_ptx_entry_get(struct bf_ptx_code *code, const struct bf_ptx_func *fn, struct bf_ptx_entry **out,
		     struct bf_error *err);

/*
 * What of function `fn` (with a body) would be refused when a lane gets there: the next such statement after place *at,
 * which is 0 before the first call, with the text that a trap would have. Decodes the function. False: no more.
 */
bool bf_ptx_code_refusal(struct bf_ptx_code *code, const struct bf_ptx_func *fn, uint32_t *at,
			 const struct bf_ptx_stmt **stmt, const char **text);

/*
 * Prepares a warp to run `entry` from its beginning; everything the machine fills must be filled. -ENOMEM. A warp that
 * has been finished with bf_ptx_warp_fini() may be initialised again.
 */
int bf_ptx_warp_init(struct bf_ptx_warp *w, struct bf_ptx_entry *entry);
void bf_ptx_warp_fini(struct bf_ptx_warp *w);

/* Self: runs until every lane has ended (BF_PTX_DONE) or the grid is dead (BF_PTX_FAULT). */
enum bf_ptx_result bf_ptx_warp_run(struct bf_ptx_warp *w);

/* The statement that `lane` executes next, NULL: it has ended. For reports. */
const struct bf_ptx_stmt *bf_ptx_warp_where(const struct bf_ptx_warp *w, uint32_t lane);

/*
 * Copies `len` bytes of a lane's .local memory from or to address `address` of that space (below BF_PTX_LOCAL_SIZE).
 * False: not all of them are there; nothing is copied.
 */
bool bf_ptx_warp_local_read(const struct bf_ptx_warp *w, uint32_t lane, uint64_t address, void *to, uint32_t len);
bool bf_ptx_warp_local_write(const struct bf_ptx_warp *w, uint32_t lane, uint64_t address, const void *from,
			     uint32_t len);

#endif
