/* What the files of the machine share: device, grids, blocks, warps and what they wait for. Not installed. */
#ifndef BELFRY_MODELS_PTX_MACHINE_INTERNAL_H
#define BELFRY_MODELS_PTX_MACHINE_INTERNAL_H

#include "models/hopper/bulk.h"
#include "models/hopper/ldgsts.h"
#include "models/ptx/exec.h"
#include "models/ptx/launch.h"
#include "models/ptx/module.h"
#include "sim/agent.h"
#include "sim/rng.h"

#define BF_PTX_BARRIERS 16u
#define BF_PTX_POLLS 16u              /* accesses of one lane in a round of a loop that polls */
#define BF_PTX_LOOPS 8u               /* loops of one warp that poll at the same time and are told apart */
#define BF_PTX_REGIONS BF_PTX_WINDOWS /* regions that a warp has met last */
#define BF_PTX_PARAM_SLOT 32768u      /* bytes: the most that a launch takes (PTX ISA, .entry) */

/* ---- what an instruction is, for perform(): words of struct bf_ptx_prepared ---- */

enum bf_ptx_does {
	BF_PTX_DOES_NOTHING, /* a hint; destinations get 0 */
	BF_PTX_DOES_LOAD,
	BF_PTX_DOES_STORE,
	BF_PTX_DOES_ATOMIC,
	BF_PTX_DOES_FENCE,
	BF_PTX_DOES_INIT_FENCE,
	BF_PTX_DOES_PROXY_FENCE,
	BF_PTX_DOES_BARRIER,
	BF_PTX_DOES_CLUSTER_ARRIVE,
	BF_PTX_DOES_CLUSTER_WAIT,
	BF_PTX_DOES_SLEEP,
	BF_PTX_DOES_SREG,
	BF_PTX_DOES_MBARRIER,
	BF_PTX_DOES_PENDING_COUNT,
	BF_PTX_DOES_ST_ASYNC, /* red.async, too: W_SUB says what it does */
	BF_PTX_DOES_COPY,
	BF_PTX_DOES_COPY_ARRIVE,
	BF_PTX_DOES_COPY_COMMIT,
	BF_PTX_DOES_COPY_WAIT,
	BF_PTX_DOES_BULK,
	BF_PTX_DOES_STORE_ZEROS, /* st.bulk */
	BF_PTX_DOES_TRY_CANCEL,  /* clusterlaunchcontrol */
	BF_PTX_DOES_BULK_COMMIT,
	BF_PTX_DOES_BULK_WAIT,
};

enum bf_ptx_order { BF_PTX_PLAIN, BF_PTX_STRONG, BF_PTX_MMIO_ONLY };

/* words[], by name. */
enum {
	BF_PTX_W_DOES,
	BF_PTX_W_SPACE, /* enum bf_ptx_space: NONE (generic), GLOBAL, SHARED, CONST, PARAM */
	BF_PTX_W_SEM,   /* enum bf_sem */
	BF_PTX_W_SCOPE, /* enum bf_scope */
	BF_PTX_W_BYTES, /* of an element */
	BF_PTX_W_ELEMS,
	BF_PTX_W_SUB,  /* enum bf_ptx_sub */
	BF_PTX_W_TYPE, /* enum bf_ptx_type */
	BF_PTX_W_FLAGS,
	BF_PTX_W_OUTS, /* destination rows */
	BF_PTX_W_MORE, /* by instruction */
	BF_PTX_W_MORE2,
};

/* ---- the machine ---- */

/* What is known of a kernel, once it has been launched. */
struct bf_ptx_traits {
	uint64_t local_bytes; /* of variables and parameters on a thread's stack, without recursion */
	bool known;
	bool stack;         /* it may take more than that */
	bool copies_shared; /* copies read its shared memory: plain stores must be told to the copy engine */
};

/* Modules that were read once for several devices, and their code where global memory begins alike. */
struct bf_ptx_shared {
	struct bf_ptx_program *program;
	struct bf_ptx_code *code; /* NULL: none yet */
	uint64_t global_base, const_base;
	uint32_t users;
};

struct bf_ptx_library {
	struct bf_ptx_library *next;
	struct bf_ptx_device *device;
	struct bf_ptx_shared *shared;
	struct bf_ptx_program *program; /* shared->program */
	struct bf_ptx_code *code;       /* shared->code, or its own */
	struct bf_region *globals, *constants;
	const struct bf_ptx_func **by_stmts; /* functions with statements, by where those lie */
	uint32_t nfuncs;
	struct bf_ptx_traits *traits; /* by number of function */
};

/* A view or a block's level that outlives its block. */
struct bf_ptx_left {
	struct bf_ptx_left *next;
	struct bf_view *view;
	struct bf_domain *domain;
};

struct bf_ptx_grid {
	struct bf_ptx_grid *next; /* of the device, in order of launch */
	struct bf_ptx_device *device;
	struct bf_ptx_library *lib;
	const struct bf_ptx_func *fn;
	struct bf_ptx_entry *entry;
	struct bf_ptx_launch launch;
	uint32_t grid[3], block[3], cluster[3]; /* cluster: blocks in each direction, 1 without */
	uint32_t ctas;                          /* of a cluster */
	uint32_t clusters, started, ended;      /* clusters: all, made resident; blocks that have ended */
	uint32_t warps, threads;                /* of a block */
	uint32_t shared_bytes;                  /* of a block, static and dynamic, as programs see them */
	uint32_t local_bytes;
	uint32_t param_slot;
	uint64_t number;
	bool running, explicit_cluster, copies_shared;
	struct bf_ptx_cluster *live;
	/* Of blocks that have ended: what they stored late is late still, until the grid ends. */
	struct bf_ptx_left *views, *domains;
};

struct bf_ptx_cluster {
	struct bf_ptx_cluster *next, **link; /* of the grid's */
	struct bf_ptx_grid *grid;
	struct bf_ptx_block *block[BF_HOPPER_CLUSTER_MAX]; /* by rank; NULL: has ended */
	uint32_t left, live, come, round;                  /* blocks; lanes; arrivals of this round */
	uint32_t number;
};

struct bf_ptx_barrier {
	uint32_t come;    /* warps */
	uint32_t expects; /* warps; 0: all */
	uint32_t popc;    /* of predicates, for red */
	bool all, any;
};

struct bf_ptx_block {
	struct bf_ptx_block *next, **link; /* on the same SM */
	struct bf_ptx_cluster *cluster;
	struct bf_ptx_grid *grid;
	struct bf_hopper_cta *cta; /* NULL: has ended */
	struct bf_domain *domain;
	/* What .nc loads see: a level that no fence empties of its copies. NULL: there has been none. */
	struct bf_domain *nc_domain;
	struct bf_view *nc_view;
	uint8_t *shared; /* what is at address BF_PTX_SHARED_FIRST */
	uint32_t index, rank, sm, base;
	uint32_t ctaid[3];
	uint32_t alive;     /* warps that have not ended */
	uint32_t listeners; /* warps that sleep until shared memory changes */
	uint64_t phases;    /* of the barriers on its SM that have completed since it came */
	uint32_t nwarps;
	struct bf_ptx_barrier barrier[BF_PTX_BARRIERS];
	struct bf_ptx_machine_warp **warp;
};

/* What a lane has looked at lately. Numbers count the rounds of all loops of its warp. */
struct bf_ptx_look {
	void *at; /* host address; NULL: a barrier's phase, `value`: how many had completed before */
	uint32_t len;
	bool shared;
	uint8_t value[16];
	uint64_t round;   /* in which it looked there last */
	uint64_t changed; /* in which it found something else than before */
};

/* A loop that polls: how it stood when it went round last. Other loops may have gone round inside of it since. */
struct bf_ptx_loop {
	uint32_t mask, target, progress;
	uint64_t hash, looks, since_ps;
	uint64_t from; /* the first round behind that time */
};

enum bf_ptx_waits { BF_PTX_AWAKE, BF_PTX_AT_BARRIER, BF_PTX_AT_UNIT, BF_PTX_POLLING, BF_PTX_SLEEPING };

/* Something that the Hopper GPU does for lanes of a warp; its memory is theirs until then. */
struct bf_ptx_flight {
	struct bf_sync_instr instr;
	struct bf_copy_wait wait;
	struct bf_ptx_machine_warp *warp;
	struct bf_ptx_flight *all;
	uint32_t lanes;
	bool busy;
};

struct bf_ptx_machine_lane {
	struct bf_view *view; /* NULL: it has not needed one */
	uint32_t actor;
	uint8_t waits;   /* enum bf_ptx_waits */
	uint8_t barrier; /* that it waits at */
	uint32_t party;  /* lanes that wait together with it: they go on together */
	uint32_t cluster_round;
	bool cluster_come;
	uint64_t until_ps; /* SLEEPING, POLLING: no longer; BF_NEVER */
	uint64_t from;     /* POLLING: for a change of what it has looked at since that round */
	uint64_t timed;    /* the round in which it read a clock */
	uint64_t lost;     /* the last round of which it has forgotten a look */
	uint64_t phases;   /* how many the block had seen when its last wait was issued */
	uint64_t result;
};

struct bf_ptx_machine_warp {
	struct bf_ptx_warp core;
	struct bf_ptx_block *block;
	struct bf_agent *agent;
	struct bf_ptx_device *device;
	uint32_t index;
	uint32_t actor;                 /* the agent's own */
	uint32_t live;                  /* lanes that have not ended */
	uint32_t pending;               /* lanes whose instruction is performed for the second time next */
	uint32_t come[BF_PTX_BARRIERS]; /* lanes that have come to each barrier; all of the warp is one arrival */
	uint32_t barred;                /* barriers that the warp as a whole has arrived at and that are not complete */
	bool polls_shared, polls_phase, asleep;
	struct bf_rng stalls;
	struct {
		struct bf_region *region;
		uint64_t base; /* by which programs address it */
	} met[BF_PTX_REGIONS];
	const struct bf_ptx_stmt *placed;          /* whose line is in the agent */
	struct bf_ptx_look (*looks)[BF_PTX_POLLS]; /* [32], when it has polled; a lane's last ones */
	uint8_t nlooks[BF_PTX_LANES];              /* of each lane */
	uint8_t oldest[BF_PTX_LANES];              /* which of them goes next */
	uint64_t round;                            /* from 1 on */
	struct bf_ptx_loop loops[BF_PTX_LOOPS];
	uint32_t next_loop;
	struct bf_ptx_flight *flights; /* all that it has, in use or not */
	struct bf_ptx_machine_lane lane[BF_PTX_LANES];
};

struct bf_ptx_heap;

/* What is on an SM. */
struct bf_ptx_sm {
	struct bf_ptx_block *blocks;
	uint32_t warps, bytes; /* slots, and shared memory with what the system has of it */
};

struct bf_ptx_device {
	struct bf_sim *sim;
	struct bf_ptx_device_opts opts;
	char name[24];
	struct bf_cost cost; /* of lanes: nothing, instructions are paid for by their warp */
	const struct bf_cost *pays;
	struct bf_view *view; /* of the warps' agents */
	struct bf_domain *domain;
	bool owns_domain;
	struct bf_hopper *gpu;
	struct bf_bulk *bulk;
	struct bf_ptx_library *libraries;
	struct bf_ptx_grid *grids, **last_grid;
	struct bf_ptx_sm *sm; /* [SMs] */
	uint32_t next_sm, nsms;
	uint64_t next_grid;
	struct bf_region **params; /* regions of slots */
	uint8_t *slots;            /* in use, a byte each */
	uint32_t nparams, params_cap, slots_cap;
	struct bf_ptx_heap *heap;
	struct bf_ptx_fault fault;
	bool scheduling;
	struct bf_ptx_counts counts;
};

static inline struct bf_ptx_machine_warp *bf_ptx_machine_of(struct bf_ptx_warp *w)
{
	return BF_CONTAINER_OF(w, struct bf_ptx_machine_warp, core);
}

/* grid.c: bf_ptx_library_refusal() of a kernel; bytes of .local of all functions that it can reach. */
int bf_ptx_refusal_text(const struct bf_ptx_program *p, const struct bf_ptx_func *f, char *why, size_t cap);
uint64_t bf_ptx_local_bytes(const struct bf_ptx_program *p, const struct bf_ptx_kernel *k);

static inline bool bf_ptx_is_dead(const struct bf_ptx_device *d)
{
	return d->fault.kind != BF_PTX_FAULT_NONE;
}

extern const struct bf_ptx_port bf_ptx_machine_port;

/* The functions that no module has to bring, by number of builtin(). */
extern const char *const bf_ptx_builtins[];
extern const uint32_t bf_ptx_builtin_count;

/* ---- machine.c: what instructions have in common ---- */

/* What was issued is time now. */
void bf_ptx_settle(struct bf_ptx_machine_warp *w);

/*
 * A warp that ends waits for its bulk stores: they read the shared memory of its block, and what they write is there
 * when the grid has ended. (DeepEP ends its combine kernel with stores under way and reads what they wrote.)
 */
void bf_ptx_drain_stores(struct bf_ptx_machine_warp *w);

/* Under the weak orderings the warp may stand still here for a while. */
void bf_ptx_stall(struct bf_ptx_machine_warp *w);

/* The agent acts for a lane, with its view and its line of code, until bf_ptx_as_warp(). False: no memory. */
bool bf_ptx_as_lane(struct bf_ptx_machine_warp *w, uint32_t lane);
void bf_ptx_as_warp(struct bf_ptx_machine_warp *w);

/* After bf_ptx_as_lane(): its load is non-coherent, so what the block has found there before may be found again. */
bool bf_ptx_as_nc(struct bf_ptx_machine_warp *w);

/* Each lane fences, where it makes a difference. */
void bf_ptx_fence_lanes(struct bf_ptx_machine_warp *w, uint32_t mask, enum bf_scope scope);

/* Lanes need not wait longer. From wherever. */
void bf_ptx_ready(struct bf_ptx_machine_warp *w, uint32_t lanes);

/* Lanes of a warp wait for something now; those that poll go on with what follows, the others perform once more. */
enum bf_ptx_result bf_ptx_wait(struct bf_ptx_machine_warp *w, uint32_t mask, enum bf_ptx_waits why);

/* Second time around: takes the lanes out of `pending`. False: it is the first time. */
bool bf_ptx_again(struct bf_ptx_machine_warp *w, uint32_t mask);

/* ---- place.c ---- */

struct bf_ptx_place {
	enum bf_ptx_space space;    /* GLOBAL, SHARED, LOCAL; NONE: nothing is there */
	uint8_t *host;              /* NULL: LOCAL, which the core has */
	uint64_t local;             /* LOCAL: address in that space */
	struct bf_region *region;   /* GLOBAL */
	struct bf_ptx_block *block; /* SHARED */
	uint32_t offset;            /* SHARED: address in the block */
};

/* Where `len` bytes at `address` of a space are, for a lane. False: a fault was told. */
bool bf_ptx_place(struct bf_ptx_machine_warp *w, uint32_t lane, uint32_t space, uint64_t address, uint32_t len,
		  bool writes, struct bf_ptx_place *out);

/* The shared::cluster address that an operand of a space means: NONE (generic) or shared. False: told. */
bool bf_ptx_shared_address(struct bf_ptx_machine_warp *w, uint32_t lane, uint32_t space, uint64_t address,
			   uint32_t *out);

/* A generic address as the simulated address that it has in records and for copies; 0: none. */
uint64_t bf_ptx_global_va(struct bf_ptx_machine_warp *w, uint64_t address);

/* Text at a generic address, as printf's %s has it. */
void bf_ptx_read_text(struct bf_ptx_machine_warp *w, uint32_t lane, uint64_t address, char *out, size_t cap);

/* Plain bytes at a generic address, without records or time; zeros where there is nothing. */
void bf_ptx_peek(struct bf_ptx_machine_warp *w, uint32_t lane, uint64_t address, void *out, uint32_t len);

/* Something plain went to shared memory of a block: who sleeps on that looks again. */
void bf_ptx_shared_changed(struct bf_ptx_block *b);

/* ---- families of instructions ---- */

enum bf_ptx_result bf_ptx_do_load(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				  const bf_ptx_row *in, bf_ptx_row *out);
enum bf_ptx_result bf_ptx_do_store(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				   const bf_ptx_row *in);
enum bf_ptx_result bf_ptx_do_store_zeros(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
					 const bf_ptx_row *in);
enum bf_ptx_result bf_ptx_do_atomic(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				    const bf_ptx_row *in, bf_ptx_row *out);
/* Whether there is such an atomic; its operands' bytes are words already. */
bool bf_ptx_atomic_known(uint32_t sub, uint32_t type);
/* Asynchronous reductions, for models/hopper: `how` is bf_ptx_how(). */
void bf_ptx_combine(uint32_t how, bool shared, void *at, const void *data, uint32_t len);
static inline uint32_t bf_ptx_how(const struct bf_ptx_prepared *op)
{
	return op->words[BF_PTX_W_SUB] << 8 | op->words[BF_PTX_W_TYPE];
}
enum bf_ptx_result bf_ptx_do_barrier(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				     const bf_ptx_row *in, bf_ptx_row *out);
enum bf_ptx_result bf_ptx_do_cluster_arrive(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op,
					    uint32_t mask);
enum bf_ptx_result bf_ptx_do_cluster_wait(struct bf_ptx_machine_warp *w, uint32_t mask);
enum bf_ptx_result bf_ptx_do_sync_unit(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				       const bf_ptx_row *in, bf_ptx_row *out);
enum bf_ptx_result bf_ptx_do_copy(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				  const bf_ptx_row *in);
void bf_ptx_do_sreg(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask, bf_ptx_row *out);
enum bf_ptx_result bf_ptx_do_builtin(struct bf_ptx_warp *core, uint32_t id, uint32_t mask, const bf_ptx_row *in,
				     bf_ptx_row *out);

/* Room for what the Hopper GPU does for lanes; NULL on lack of memory. */
struct bf_ptx_flight *bf_ptx_flight(struct bf_ptx_machine_warp *w, uint32_t lanes);
/* A shared address as models/hopper has it: windows begin at 0 there. False: told. */
bool bf_ptx_window_address(struct bf_ptx_machine_warp *w, uint32_t lane, uint32_t space, uint64_t address,
			   uint32_t *out);

/* Lanes have ended: barriers may be complete without them. */
void bf_ptx_barriers_exited(struct bf_ptx_machine_warp *w, uint32_t mask);

/* prepare.c */
int bf_ptx_prepare(void *machine, const struct bf_ptx_stmt *stmt, struct bf_ptx_prepared *op);

/* ---- poll.c ---- */

/* A lane has looked, strongly, at memory that others write. `at` NULL: at a barrier's phase, in vain. */
void bf_ptx_looked(struct bf_ptx_machine_warp *w, uint32_t lane, void *at, uint32_t len, const void *value,
		   bool shared);
enum bf_ptx_result bf_ptx_spin(struct bf_ptx_warp *core, uint32_t mask, uint32_t target, uint64_t hash);
enum bf_ptx_result bf_ptx_idle(struct bf_ptx_warp *core);

/* The line of a statement; true: it is the user's source, false: of the PTX. */
bool bf_ptx_line(const struct bf_ptx_library *lib, const struct bf_ptx_stmt *stmt, const char **file, uint32_t *line);
/* The line of the PTX. */
void bf_ptx_line_of_text(const struct bf_ptx_library *lib, const struct bf_ptx_stmt *stmt, const char **file,
			 uint32_t *line);
const struct bf_ptx_func *bf_ptx_func_of(const struct bf_ptx_library *lib, const struct bf_ptx_stmt *stmt);

/* ---- report.c ---- */

/* Ends the device's life: what the lowest lane of `mask` did. Returns BF_PTX_FAULT. */
enum bf_ptx_result bf_ptx_fault_at(struct bf_ptx_machine_warp *w, uint32_t mask, enum bf_ptx_fault_kind kind,
				   uint64_t address, const char *fmt, ...) BF_PRINTF(5, 6);
/* The Hopper GPU has faulted: the same, in its words. */
enum bf_ptx_result bf_ptx_fault_hopper(struct bf_ptx_machine_warp *w, uint32_t mask);
/* For lack of memory: a fault of the GPU, and the end of a run in virtual time (sim->error). */
#define BF_PTX_NO_MEMORY "the host has no memory left"
enum bf_ptx_result bf_ptx_fault_memory(struct bf_ptx_machine_warp *w, uint32_t mask);
int bf_ptx_describe(const struct bf_agent *a, void *arg, char *buf, size_t cap);

/* ---- launch.c ---- */

/* The parameters of a launch. */
uint8_t *bf_ptx_param_bytes(const struct bf_ptx_grid *g);
uint64_t bf_ptx_param_va(const struct bf_ptx_grid *g);
/* The address of a cooperative grid's workspace; 0: it is none. */
uint64_t bf_ptx_workspace(const struct bf_ptx_grid *g);

/* ---- grid.c ---- */

/* Starts what streams and SMs permit. */
void bf_ptx_schedule(struct bf_ptx_device *d);
/* All that waits ends: the device is dead. */
void bf_ptx_give_up(struct bf_ptx_device *d);
void bf_ptx_grid_free(struct bf_ptx_grid *g);

/* ---- memory of a device: heap.c ---- */

uint64_t bf_ptx_malloc(struct bf_ptx_device *d, uint64_t bytes);
bool bf_ptx_free(struct bf_ptx_device *d, uint64_t va);
void bf_ptx_heap_destroy(struct bf_ptx_heap *h);

#endif
