/*
 * What the parts of the execution core share: decoded instructions, frames, groups.
 *
 * Slots. A frame's registers are rows of 32 lanes: of u32 for registers up to 32 bits (narrower ones zero-extended),
 * of u64 for 64 bits; predicates are masks of 32 bits. An operand is a reference: the byte offset of its row in the
 * frame, or with BF_PTX_REF_CONST set in the function's pool of constants, whose rows have all lanes alike.
 *
 * A handler executes one instruction for the lanes of core->mask and returns the next one, or NULL to hand over to the
 * scheduler (models/ptx/warp.c). With BF_PTX_THREADED it may have executed more of them: BF_PTX_GO(). There are three
 * for each: `full` may write garbage to lanes outside the mask (nobody else lives in the frame), `masked` keeps them,
 * `lane` has a single lane.
 */
#ifndef BELFRY_MODELS_PTX_CORE_INTERNAL_H
#define BELFRY_MODELS_PTX_CORE_INTERNAL_H

#include "models/ptx/exec.h"
#include "models/ptx/lanes_internal.h"
#include "models/ptx/module.h"

#define BF_PTX_REF_CONST 0x80000000u
#define BF_PTX_REF_NONE UINT32_MAX

struct bf_ptx_core;
struct bf_ptx_insn;

enum bf_ptx_kind { BF_PTX_KIND_FULL, BF_PTX_KIND_MASKED, BF_PTX_KIND_LANE, BF_PTX_KINDS };

typedef const struct bf_ptx_insn *bf_ptx_handler(struct bf_ptx_core *c, const struct bf_ptx_insn *i);

/* What a handler returns when it is done: the next instruction, or what that one returns. */
#ifdef BF_PTX_THREADED
#define BF_PTX_GO(c, i) ((i)->run[(c)->kind](c, i))
#define BF_PTX_GO_AS(kind, c, i) ((i)->run[kind](c, i))
#else
#define BF_PTX_GO(c, i) (i)
#define BF_PTX_GO_AS(kind, c, i) (i)
#endif

/* One instruction. What d to mode mean is the handler's; `stmt` and `count` are the same for all. */
struct bf_ptx_insn {
	bf_ptx_handler *run[BF_PTX_KINDS];
	uint32_t d, e, a, b, c; /* references */
	uint32_t mode;
	union {
		uint64_t imm;
		const struct bf_ptx_insn *target;
		const void *more; /* struct bf_ptx_access, bf_ptx_call ..., as the handler says */
	};
	uint32_t stmt;  /* in the function */
	uint32_t count; /* statements before this one, in the order of the code */
};
BF_STATIC_ASSERT(sizeof(struct bf_ptx_insn) == 64, "a cache line");

/* A row or predicate of an instruction with many operands. */
enum bf_ptx_piece_kind { BF_PTX_PIECE_32, BF_PTX_PIECE_64, BF_PTX_PIECE_PRED, BF_PTX_PIECE_SINK };
struct bf_ptx_piece {
	uint32_t ref;
	uint8_t kind;
	uint8_t extend; /* destinations: enum bf_ptx_extend */
};

/* What becomes of the low bits of a result on their way into a register. */
enum bf_ptx_extend {
	BF_PTX_EXTEND_NONE,
	BF_PTX_EXTEND_U8,
	BF_PTX_EXTEND_U16,
	BF_PTX_EXTEND_U32,
	BF_PTX_EXTEND_S8,
	BF_PTX_EXTEND_S16,
	BF_PTX_EXTEND_S32,
	BF_PTX_EXTEND_S8_16, /* into a register of 16 bits */
};

/* What is added to the constant part of an address when it is used. */
enum bf_ptx_origin {
	BF_PTX_ORIGIN_NONE,
	BF_PTX_ORIGIN_SHARED,  /* where the CTA's shared memory begins */
	BF_PTX_ORIGIN_DYNAMIC, /* where its dynamic part begins */
	BF_PTX_ORIGIN_LOCAL,   /* where the frame's local memory begins */
	BF_PTX_ORIGIN_PARAM,   /* the generic address of the entry's parameters */
};

/* An instruction of the machine's, or a load or store. */
struct bf_ptx_access {
	uint8_t space; /* loads and stores: enum bf_ptx_space, NONE: generic */
	uint8_t bytes; /* of an element */
	uint8_t count; /* elements */
	bool store;
	bool address;   /* `base` and `offset` are in[0] */
	bool base_wide; /* `base` is a row of 64 bits */
	uint8_t origin; /* enum bf_ptx_origin */
	uint32_t base;  /* reference, or NONE */
	uint64_t offset;
	uint8_t out_count, in_count; /* in_count: pieces behind the address */
	const struct bf_ptx_piece *out, *in;
	struct bf_ptx_prepared prepared;
};

/* `mode` of a quick load, besides bytes. */
#define BF_PTX_QUICK_WIDE 16u

/* An argument, formal or result: its pieces. */
struct bf_ptx_value {
	const struct bf_ptx_piece *pieces;
	uint32_t count;
};

struct bf_ptx_call {
	const struct bf_ptx_func *callee; /* NULL: by `value` */
	uint32_t value;                   /* reference of a row of 64 bits */
	uint32_t arg_count, ret_count;
	const struct bf_ptx_value *args, *rets;
	struct bf_ptx_body *body; /* of the callee, once it has been called */
};

struct bf_ptx_switch {
	uint32_t count;
	const struct bf_ptx_insn *targets[];
};

/* Rows to look at for one turn of a loop: those alive at its head. */
struct bf_ptx_back {
	uint32_t live_count;
	const struct bf_ptx_piece *live;
};

/* A decoded function. */
struct bf_ptx_body {
	struct bf_ptx_code *code;
	const struct bf_ptx_func *fn;
	struct bf_ptx_insn *insns;
	uint32_t insn_count;
	uint8_t *constants;
	uint32_t frame_bytes;             /* of slots, a multiple of 64 */
	const struct bf_ptx_piece *clear; /* what may be read before it is written */
	uint32_t clear_count;
	uint32_t local_bytes, local_align;
	const struct bf_ptx_value *params, *rets;
	uint32_t param_count, ret_count;
	const struct bf_ptx_back *backs;
	void *memory; /* what all the pointers lead to */
};

struct bf_ptx_code {
	struct bf_ptx_code_opts opts;
	struct bf_ptx_body **bodies; /* by number of function, NULL: not decoded yet */
	const struct bf_ptx_lanes *lanes;
};

/* An activation. Lanes of several groups may live in it; it ends when the last of them returns. */
struct bf_ptx_frame {
	struct bf_ptx_frame *parent; /* of the free list when unused */
	struct bf_ptx_body *body;
	const struct bf_ptx_insn *ret; /* where it returns to: the call in the parent */
	uint32_t lanes;
	uint32_t depth;
	uint32_t local;  /* address of its .local frame */
	uint32_t bottom; /* the lowest .local address in use: below lies what alloca took */
	uint32_t capacity;
	uint32_t instance; /* counts the warp's calls: no two are alike */
	uint32_t pad[4];
	uint8_t slots[];
};
BF_STATIC_ASSERT(offsetof(struct bf_ptx_frame, slots) == 64, "slots are aligned");

enum bf_ptx_state { BF_PTX_RUNS, BF_PTX_SUSPENDED, BF_PTX_MEETS };

/* Lanes at one place. */
struct bf_ptx_group {
	const struct bf_ptx_insn *pc;
	struct bf_ptx_frame *frame;
	uint32_t mask;
	uint32_t polls;    /* warp->polls at its last backward branch */
	uint32_t progress; /* warp->progress at the last one with which it polled */
	uint64_t stamp;    /* of its last rotation: the lowest one runs first */
	uint32_t turns;    /* backward branches since then: */
	uint32_t spins;    /* those of rounds that polled */
	uint8_t state;     /* enum bf_ptx_state */
	uint8_t meet;      /* MEETS: what it waits with: enum bf_ptx_op, */
	uint8_t meet_sub;  /* and enum bf_ptx_sub */
	uint32_t members;  /* MEETS: whom for */
};

#define BF_PTX_FRAME_CLASSES 20

/* Handlers by enum bf_ptx_lane_op, for one kind of processor. */
struct bf_ptx_lanes {
	bf_ptx_handler *run[BF_PTX_LANE_OPS][BF_PTX_KINDS];
};
extern const struct bf_ptx_lanes bf_ptx_lanes_plain, bf_ptx_lanes_avx2, bf_ptx_lanes_avx512;

struct bf_ptx_core {
	/* What handlers read. */
	uint8_t *base[2]; /* slots of the frame, constants */
	uint32_t mask;
	uint32_t kind;
	uint32_t lane;                  /* the first one of mask */
	uint32_t count;                 /* lanes in mask */
	const struct bf_ptx_insn *stop; /* the next place above where another group stands */
	struct bf_ptx_frame *frame;
	struct bf_ptx_warp *warp;

	uint32_t outer; /* mask before a guard narrowed it, else the same */
	uint32_t start; /* `count` of the first instruction that is not accounted for */
	uint32_t groups;
	uint32_t current;
	uint64_t epoch;
	uint32_t instances; /* of frames so far */
	uint32_t since;     /* instructions since time passed */
	bool fault;
	struct bf_ptx_group group[BF_PTX_LANES];

	/* Instructions among lanes that arrive in several groups: what each lane gave, and what it gets. */
	uint32_t met; /* lanes that have their result */
	uint32_t met_pred;
	uint32_t met_value[BF_PTX_LANES];
	uint32_t gave_pred;
	uint64_t gave_value[BF_PTX_LANES];
	uint32_t gave_lane[BF_PTX_LANES], gave_bounds[BF_PTX_LANES];

	struct bf_ptx_body *entry;
	struct bf_ptx_frame *free_frames[BF_PTX_FRAME_CLASSES];
	uint8_t *local;     /* words of 4 bytes, those of 32 lanes side by side */
	uint32_t local_low; /* the lowest address that is there */
	bf_ptx_row in[24], out[10];
};

static inline void *bf_ptx_slot(const struct bf_ptx_core *c, uint32_t ref)
{
	return c->base[ref >> 31] + (ref & ~BF_PTX_REF_CONST);
}
static inline uint32_t *bf_ptx_row32(const struct bf_ptx_core *c, uint32_t ref)
{
	return __builtin_assume_aligned(bf_ptx_slot(c, ref), 64);
}
static inline uint64_t *bf_ptx_row64(const struct bf_ptx_core *c, uint32_t ref)
{
	return __builtin_assume_aligned(bf_ptx_slot(c, ref), 64);
}
/* The same for a row that is written, which is no constant. */
static inline uint32_t *bf_ptx_target32(const struct bf_ptx_core *c, uint32_t ref)
{
	return __builtin_assume_aligned(c->base[0] + ref, 64);
}
static inline uint64_t *bf_ptx_target64(const struct bf_ptx_core *c, uint32_t ref)
{
	return __builtin_assume_aligned(c->base[0] + ref, 64);
}
/* Whether all lanes of a row have one value. */
static inline bool bf_ptx_alike32(const uint32_t *row)
{
	uint32_t differ = 0;

	for (uint32_t l = 0; l < BF_PTX_LANES; l++)
		differ |= row[l] ^ row[0];
	return differ == 0;
}
static inline bool bf_ptx_alike64(const uint64_t *row)
{
	uint64_t differ = 0;

	for (uint32_t l = 0; l < BF_PTX_LANES; l++)
		differ |= row[l] ^ row[0];
	return differ == 0;
}
static inline uint32_t *bf_ptx_pred(const struct bf_ptx_core *c, uint32_t ref)
{
	return bf_ptx_slot(c, ref);
}
static inline size_t bf_ptx_piece_bytes(const struct bf_ptx_piece *p)
{
	return p->kind == BF_PTX_PIECE_64     ? sizeof(uint64_t[BF_PTX_LANES])
	       : p->kind == BF_PTX_PIECE_PRED ? sizeof(uint32_t)
					      : sizeof(uint32_t[BF_PTX_LANES]);
}
static inline uint64_t bf_ptx_extended(uint8_t extend, uint64_t v)
{
	switch (extend) {
	case BF_PTX_EXTEND_U8:
		return (uint8_t)v;
	case BF_PTX_EXTEND_U16:
		return (uint16_t)v;
	case BF_PTX_EXTEND_U32:
		return (uint32_t)v;
	case BF_PTX_EXTEND_S8:
		return (uint64_t)(int64_t)(int8_t)v;
	case BF_PTX_EXTEND_S16:
		return (uint64_t)(int64_t)(int16_t)v;
	case BF_PTX_EXTEND_S32:
		return (uint64_t)(int64_t)(int32_t)v;
	case BF_PTX_EXTEND_S8_16:
		return (uint64_t)(int64_t)(int8_t)v & 0xffff;
	default:
		return v;
	}
}

/* Where in a lane's local memory an address lies; from warp->local_bytes up: nowhere. */
static inline uint64_t bf_ptx_local_offset(const struct bf_ptx_core *c, const struct bf_ptx_access *x, uint64_t address)
{
	if (x->space == BF_PTX_SPACE_NONE)
		address -= BF_PTX_LOCAL_WINDOW;
	return address - c->local_low;
}

static inline void bf_ptx_pred_set(const struct bf_ptx_core *c, uint32_t ref, uint32_t value)
{
	uint32_t *p = (uint32_t *)(void *)(c->base[0] + ref);
	*p = (*p & ~c->mask) | (value & c->mask);
}

/* Handlers that are the same for every processor, in the order of enum bf_ptx_control. */
enum bf_ptx_control {
	BF_PTX_CONTROL_MARK,   /* begin of a block: groups may meet here */
	BF_PTX_CONTROL_JUMP,   /* target */
	BF_PTX_CONTROL_BRANCH, /* where predicate d (mode 1: its complement) holds to target, a: its loop or NONE */
	BF_PTX_CONTROL_SKIP,   /* the same past one instruction, to a mark */
	BF_PTX_CONTROL_GUARD,  /* the next instruction for the lanes where predicate d (mode 1: not) holds, then: */
	BF_PTX_CONTROL_ALL,    /* for all lanes again */
	BF_PTX_CONTROL_SWITCH, /* more: struct bf_ptx_switch, c: index */
	BF_PTX_CONTROL_CALL,   /* more: struct bf_ptx_call */
	BF_PTX_CONTROL_RET,
	BF_PTX_CONTROL_EXIT,
	BF_PTX_CONTROL_TRAP,    /* mode: enum bf_ptx_trap, more: text */
	BF_PTX_CONTROL_PERFORM, /* more: struct bf_ptx_access */
	BF_PTX_CONTROL_SPECIAL, /* d: row of 32 (64: e 1), mode: enum bf_ptx_sreg, a: part */
	BF_PTX_CONTROL_PLACE,   /* d: row (64: e 1) = imm + origin `mode`; 4: + param_va */
	BF_PTX_CONTROL_PARAM,   /* d: row = mode bytes at offset imm of the entry's parameters; b: extend, e: 1 for 64
				   bits */
	BF_PTX_CONTROL_PRED,    /* predicates: d = a op b; mode: enum bf_ptx_pred_mode */
	BF_PTX_CONTROL_SPACE,   /* isspacep: d; a: row of 64 bits, mode: enum bf_ptx_space */
	BF_PTX_CONTROL_MEET,    /* among lanes, see models/ptx/meet.c */
	BF_PTX_CONTROL_ACTIVE,  /* activemask: d */
	BF_PTX_CONTROL_ALLOCA,  /* d: row of 64 = address, a: size, imm: alignment */
	BF_PTX_CONTROL_STACK,   /* mode 0: stacksave to d; 1: stackrestore of a; e: 64 bits */
	BF_PTX_CONTROLS
};
extern bf_ptx_handler *const bf_ptx_controls[BF_PTX_CONTROLS];

enum bf_ptx_pred_mode { BF_PTX_PRED_MOV, BF_PTX_PRED_NOT, BF_PTX_PRED_AND, BF_PTX_PRED_OR, BF_PTX_PRED_XOR };

/* models/ptx/warp.c: scheduling. All of these are for handlers. */

/* Takes note of what has been issued up to where `count` statements lie behind. */
static inline void bf_ptx_account(struct bf_ptx_core *c, uint32_t count)
{
	const uint32_t n = count - c->start;
	c->warp->issued += n;
	c->since += n;
	c->warp->lane_instructions += (uint64_t)n * c->count;
	c->start = count;
}

/* Makes `mask` of frame `f` what handlers see; `start` is where accounting begins. */
void bf_ptx_enter(struct bf_ptx_core *c, struct bf_ptx_frame *f, uint32_t mask);
/* Only `mask` changes. */
void bf_ptx_narrow(struct bf_ptx_core *c, uint32_t mask);
/* Lanes `mask` of the current group become a group of their own, at `pc`. The rest stays current. */
struct bf_ptx_group *bf_ptx_split(struct bf_ptx_core *c, uint32_t mask, const struct bf_ptx_insn *pc);
/* The current group goes on at `pc`, or another one does, or they join there. */
const struct bf_ptx_insn *bf_ptx_yield(struct bf_ptx_core *c, const struct bf_ptx_insn *pc);
/* The lanes of the mask wait at `pc`; those that a guard has left out go on behind it. */
const struct bf_ptx_insn *bf_ptx_suspend(struct bf_ptx_core *c, const struct bf_ptx_insn *pc, enum bf_ptx_state state);
/* Removes the current group. */
void bf_ptx_leave(struct bf_ptx_core *c);
/* The grid is dead. */
const struct bf_ptx_insn *bf_ptx_dead(struct bf_ptx_core *c);
const struct bf_ptx_insn *bf_ptx_trapped(struct bf_ptx_core *c, const struct bf_ptx_insn *i, enum bf_ptx_trap kind,
					 const char *text);
/* warp->at for the instruction. */
static inline void bf_ptx_at(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	c->warp->at = &c->frame->body->fn->stmts[i->stmt];
}

/* models/ptx/frames.c */
struct bf_ptx_frame *bf_ptx_frame_new(struct bf_ptx_core *c, struct bf_ptx_body *body, struct bf_ptx_frame *parent);
void bf_ptx_frame_free(struct bf_ptx_core *c, struct bf_ptx_frame *f);
bf_ptx_handler bf_ptx_do_call, bf_ptx_do_ret, bf_ptx_do_exit;

/* models/ptx/access.c: what the port does, and local memory lane by lane. */
bf_ptx_handler bf_ptx_access_slow, bf_ptx_do_perform;

/* models/ptx/special.c */
bf_ptx_handler bf_ptx_do_special, bf_ptx_do_place, bf_ptx_do_param, bf_ptx_do_space, bf_ptx_do_alloca, bf_ptx_do_stack;

/* models/ptx/meet.c: an instruction among lanes. Operands: */
struct bf_ptx_meet {
	uint8_t op;                        /* enum bf_ptx_op: VOTE, MATCH, SHFL, REDUX, ELECT, BAR_WARP_SYNC */
	uint8_t sub;                       /* enum bf_ptx_sub */
	bool negate;                       /* of the predicate of vote */
	bool is_signed;                    /* redux */
	bool is_float, nan_wins, absolute; /* redux.f32 */
	uint8_t kind;                      /* of `value`: enum bf_ptx_piece_kind */
	uint32_t value;                    /* row or predicate */
	uint32_t lane, bounds;             /* rows of shfl */
	uint32_t members;                  /* row */
	uint32_t to;                       /* row of 32 (predicate for vote without ballot), or NONE */
	uint32_t to_pred;                  /* second destination or NONE */
};
bf_ptx_handler bf_ptx_do_meet;

/* models/ptx/decode.c: the decoded function; NULL with *text saying why (static memory). */
struct bf_ptx_body *bf_ptx_body_get(struct bf_ptx_code *code, const struct bf_ptx_func *fn, const char **text);

#endif
