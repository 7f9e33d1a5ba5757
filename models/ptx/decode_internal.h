/*
 * Decoding a function, in the order in which it goes: statements become operations on virtual registers (lower*.c,
 * select.c), operations become blocks in reverse post-order (flow.c), registers get slots by liveness (live.c), and
 * operations become instructions (decode.c).
 */
#ifndef BELFRY_MODELS_PTX_DECODE_INTERNAL_H
#define BELFRY_MODELS_PTX_DECODE_INTERNAL_H

#include "models/ptx/core_internal.h"

/* A virtual register, a constant (BF_PTX_REF_CONST and its place in the pool), or BF_PTX_REF_NONE. */
typedef uint32_t bf_ptx_value_id;

enum bf_ptx_role { BF_PTX_ROLE_NONE, BF_PTX_ROLE_RAW, BF_PTX_ROLE_USE, BF_PTX_ROLE_DEF, BF_PTX_ROLE_BOTH };

/* An operand of an operation with a list; where `patch` points its reference is written. */
struct bf_ptx_list_entry {
	uint32_t v;
	uint32_t *patch;
	uint8_t role;
};

enum bf_ptx_field { BF_PTX_FIELD_D, BF_PTX_FIELD_E, BF_PTX_FIELD_A, BF_PTX_FIELD_B, BF_PTX_FIELD_C, BF_PTX_FIELDS };

struct bf_ptx_operation {
	bool control; /* `op` is an enum bf_ptx_control, else an enum bf_ptx_lane_op */
	bool simple;  /* arithmetic: a guard may narrow the mask for it */
	bool negate;  /* of the guard */
	bool mark;    /* a mark follows: groups may stand there */
	uint8_t roles[BF_PTX_FIELDS];
	uint16_t op;
	uint32_t v[BF_PTX_FIELDS];
	uint32_t mode;
	uint64_t imm;
	const void *more;
	uint32_t guard; /* predicate, or BF_PTX_REF_NONE */
	uint32_t stmt;
	uint32_t label; /* branches and jumps */
	uint32_t list, list_count;
};

enum bf_ptx_class { BF_PTX_CLASS_32, BF_PTX_CLASS_64, BF_PTX_CLASS_PRED, BF_PTX_CLASSES };

struct bf_ptx_vreg {
	uint8_t cls;
	bool global;    /* alive between blocks: `index` is its bit */
	bool set;       /* by an operation before this one, while that is looked for */
	uint32_t block; /* the only one it is in */
	uint32_t index;
	uint32_t first, last; /* positions; first > last: never alive */
	uint32_t ref;
};

struct bf_ptx_basic_block {
	uint32_t first, end;                /* operations */
	uint32_t next[2];                   /* successors: what follows, and a branch's target; BF_PTX_NONE: none */
	const struct bf_ptx_proto *targets; /* of brx.idx */
	uint32_t order;                     /* place in the order of the code */
	uint32_t header;                    /* of its innermost loop, or BF_PTX_NONE */
	uint32_t depth;                     /* of loops */
	uint32_t path;                      /* while it is on the walk's path */
	bool seen, is_header;
	uint32_t insn;   /* its mark */
	uint32_t branch; /* the instruction that leads on to `jump`, or BF_PTX_NONE */
	uint32_t jump;
	uint32_t over; /* the jump behind a branch, to what it falls through to, or 0 */
	uint32_t back; /* rows alive at its begin, for branches back to it, or BF_PTX_REF_NONE */
	uint64_t *live_in, *live_out, *made, *used;
};

/* How a .param variable of a function is kept: pieces of 32 bits, or one of 64; or in local memory. */
struct bf_ptx_param {
	uint32_t first; /* virtual register of the first piece, BF_PTX_REF_NONE: not met yet */
	uint32_t count;
	bool wide;
	bool local; /* at `offset` of the local frame */
	uint32_t offset;
};

struct bf_ptx_constant_key {
	uint64_t bits;
	uint32_t cls;
	uint32_t at; /* place in the pool + 1, 0: unused */
};

struct bf_ptx_decoder {
	struct bf_ptx_code *code;
	const struct bf_ptx_program *program;
	const struct bf_ptx_func *fn;
	struct bf_ptx_body *body;
	bool failed; /* no memory */

	struct bf_ptx_operation *ops;
	struct bf_ptx_operation nowhere; /* filled in by those who have no memory for one */
	uint32_t op_count, op_cap;
	struct bf_ptx_list_entry *list;
	uint32_t list_count, list_cap;
	struct bf_ptx_vreg *vregs;
	uint32_t vreg_count, vreg_cap;
	uint32_t program_vregs; /* those below are the program's registers and parameters, the others temporary */
	uint32_t *globals;      /* by index, registers alive between blocks */
	uint32_t global_count;
	uint64_t *sets;              /* memory of the blocks' */
	uint32_t *reg_first;         /* by register of the function: its virtual register */
	struct bf_ptx_param *params; /* by place in fn->vars */
	uint32_t carry;              /* the carry flag, or BF_PTX_REF_NONE */
	uint32_t *stmt_op;           /* by statement: its first operation */

	uint8_t *constants;
	uint32_t constant_bytes, constant_cap;
	struct bf_ptx_constant_key *constant_table; /* open hash */
	uint32_t constant_table_size, constant_count;

	struct bf_ptx_basic_block *blocks;
	uint32_t block_count;
	uint32_t *block_of_label;
	uint32_t *order; /* blocks in the order of the code */
	uint32_t order_count;
	uint32_t frame_bytes;
	uint32_t local_bytes;

	/* While a statement is lowered. */
	uint32_t stmt;
	uint32_t guard;
	bool negate;
	const char *refused; /* why the statement cannot be run, or NULL */
};

/* Memory that lives as long as the body. NULL: none left, d->failed is set. Zeroed. */
void *bf_ptx_body_alloc(struct bf_ptx_decoder *d, size_t bytes);
/* An array that grows: 0 or -1. */
int bf_ptx_reserve(struct bf_ptx_decoder *d, void **array, uint32_t *cap, uint32_t count, size_t element);

/* lower.c, lower_value.c */
void bf_ptx_lower(struct bf_ptx_decoder *d);
uint32_t bf_ptx_vreg_new(struct bf_ptx_decoder *d, enum bf_ptx_class cls);
uint32_t bf_ptx_constant(struct bf_ptx_decoder *d, enum bf_ptx_class cls, uint64_t bits);
/* A new operation; all of its operands are absent. */
struct bf_ptx_operation *bf_ptx_emit(struct bf_ptx_decoder *d, bool control, uint32_t op);
void bf_ptx_field(struct bf_ptx_operation *o, enum bf_ptx_field field, enum bf_ptx_role role, uint32_t v);
void bf_ptx_list_add(struct bf_ptx_decoder *d, uint32_t v, enum bf_ptx_role role, uint32_t *patch);
/* d = op(a, b, c) of elementwise operation `op`; sources may be BF_PTX_REF_NONE. */
struct bf_ptx_operation *bf_ptx_emit_lanes(struct bf_ptx_decoder *d, uint32_t op, uint32_t to, uint32_t a, uint32_t b,
					   uint32_t c);
/* An operand as read by an instruction for a value of `type`: register, constant, or what is computed into one. */
uint32_t bf_ptx_read(struct bf_ptx_decoder *d, const struct bf_ptx_operand *o, enum bf_ptx_type type);
/* The same for predicates, !p included. */
uint32_t bf_ptx_read_pred(struct bf_ptx_decoder *d, const struct bf_ptx_operand *o);
/* The register that an operand writes; a fresh one for `_`. */
uint32_t bf_ptx_written(struct bf_ptx_decoder *d, const struct bf_ptx_operand *o, enum bf_ptx_class cls);
enum bf_ptx_class bf_ptx_class_of(uint32_t type);
uint32_t bf_ptx_bits(uint32_t type);
/* Low `bits` of v, extended, into `to`, which is `to_bits` wide. */
void bf_ptx_emit_extend(struct bf_ptx_decoder *d, uint32_t to, uint32_t to_bits, uint32_t v, uint32_t bits, bool sign);
/* The address of a variable into `to` (a fresh row if BF_PTX_REF_NONE) of class cls. */
uint32_t bf_ptx_emit_place(struct bf_ptx_decoder *d, uint32_t var, int64_t offset, bool generic, uint32_t to,
			   enum bf_ptx_class cls);
/* For a variable: the constant part of its address, and enum bf_ptx_origin. */
uint64_t bf_ptx_var_address(struct bf_ptx_decoder *d, uint32_t var, int64_t offset, uint8_t *origin);

/* A special register of the core's into `to`; false: it is the machine's. */
bool bf_ptx_emit_special(struct bf_ptx_decoder *d, const struct bf_ptx_operand *s, uint32_t to, enum bf_ptx_class cls);

/* lower_memory.c */
void bf_ptx_lower_access(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
void bf_ptx_lower_perform(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
/* lower_param.c */
void bf_ptx_lower_formals(struct bf_ptx_decoder *d);
void bf_ptx_lower_param(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
void bf_ptx_lower_call(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
void bf_ptx_lower_ret(struct bf_ptx_decoder *d);
bool bf_ptx_is_func_param(struct bf_ptx_decoder *d, const struct bf_ptx_operand *o, struct bf_ptx_param **out);
/* lower_move.c */
void bf_ptx_lower_mov(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
void bf_ptx_lower_cvt(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
void bf_ptx_lower_cvta(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
/* lower_lanes.c; those that say false have no such form */
void bf_ptx_lower_setp(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
void bf_ptx_lower_set(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
void bf_ptx_lower_selp(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
void bf_ptx_lower_pred(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s, enum bf_ptx_pred_mode mode);
void bf_ptx_lower_carry(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
void bf_ptx_lower_lop3(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
bool bf_ptx_lower_f32x2(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
bool bf_ptx_lower_lanes(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);
/* lower_meet.c */
void bf_ptx_lower_meet(struct bf_ptx_decoder *d, const struct bf_ptx_stmt *s);

/* select.c: the elementwise operation of a form, and its operands' types. */
struct bf_ptx_pick {
	uint16_t op;
	uint32_t mode;
	bool swap; /* the first two sources */
	uint8_t sources;
	uint8_t types[5]; /* destination, sources */
};
bool bf_ptx_select(const struct bf_ptx_form *f, uint32_t operands, struct bf_ptx_pick *out);
/* A comparison of values of `type`. */
bool bf_ptx_select_compare(const struct bf_ptx_form *f, enum bf_ptx_type type, struct bf_ptx_pick *out);
/* The mode of floating-point forms (float.h). */
uint32_t bf_ptx_mode_of(const struct bf_ptx_form *f);

/* flow.c */
int bf_ptx_flow(struct bf_ptx_decoder *d);
/* live.c */
int bf_ptx_colour(struct bf_ptx_decoder *d);

#endif
