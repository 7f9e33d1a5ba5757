/*
 * PTX modules as read, and a program linked from several of them.
 *
 * bf_ptx_program_add() reads one module's text, all of it, with its line and column for each mistake. bf_ptx_link()
 * joins modules as nvlink does (strong, weak, common, extern), gives variables their places, evaluates initialisers and
 * finds what each kernel can reach. What the machine cannot run is no error of either: it is told when a kernel is
 * asked for that can reach it (bf_ptx_next_refusal()).
 *
 * Everything belongs to the program and lives until bf_ptx_program_destroy(). Nothing changes after bf_ptx_link():
 * then any number of threads may read. Functions and variables have numbers that count over all modules; each
 * declaration has one, `def` leads from it to the definition that was linked.
 *
 * Sources: PTX ISA 9.2, chapters 4 (syntax), 5 (state spaces, types, variables), 7 (calls), 11 (directives).
 */
#ifndef BELFRY_PTX_MODULE_H
#define BELFRY_PTX_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/ptx/vocabulary.h"
#include "sim/error.h"

#define BF_PTX_NONE UINT32_MAX /* no register, variable, function, label, place in the source */

/* A spelling of an instruction without its operands, once for each program: `ld.relaxed.gpu.global.u32`. */
struct bf_ptx_form {
	const char *text;
	uint32_t number; /* counts the program's forms */
	enum bf_ptx_op op;
	uint8_t type_count;
	uint8_t vec;         /* 1, or 2, 4, 8 of .v2 .v4 .v8 */
	uint8_t types[4];    /* enum bf_ptx_type, in the order written: cvt.u64.u32 has U64, U32 */
	uint8_t space;       /* enum bf_ptx_space: the first named one */
	uint8_t space2;      /* the second: sources of cp.async.bulk, cp.async and their like */
	uint8_t sem;         /* enum bf_ptx_sem */
	uint8_t scope;       /* enum bf_ptx_scope */
	uint8_t round;       /* enum bf_ptx_round */
	uint8_t cmp;         /* enum bf_ptx_cmp */
	uint8_t sub;         /* enum bf_ptx_sub */
	uint64_t flags;      /* BF_PTX_FLAG(...) */
	const char *unknown; /* the first word that BF_PTX_OPS and the modifiers' lists lack, or NULL */
	uint32_t uses;       /* statements of all modules that have it */
};

enum bf_ptx_operand_kind {
	BF_PTX_OPERAND_REG,     /* index: register of the function; `negate` for !%p; select for %r.b1 (video) */
	BF_PTX_OPERAND_SREG,    /* index: enum bf_ptx_sreg; part 0..3 for .x to .w; offset: its number in a family */
	BF_PTX_OPERAND_IMM,     /* bits; `real`: an f64 or f32 literal, see struct bf_ptx_operand */
	BF_PTX_OPERAND_SINK,    /* _ */
	BF_PTX_OPERAND_VAR,     /* the address of a variable: index, offset; in its own space */
	BF_PTX_OPERAND_FUNC,    /* a function's value, or the callee: index */
	BF_PTX_OPERAND_LABEL,   /* index: label of the function */
	BF_PTX_OPERAND_PROTO,   /* index: .callprototype, .calltargets, .branchtargets of the function */
	BF_PTX_OPERAND_VECTOR,  /* {a, b}: elems, count */
	BF_PTX_OPERAND_PAIR,    /* d|p: elems[0], elems[1] */
	BF_PTX_OPERAND_LIST,    /* (a, b) of a call: elems, count, which may be 0 */
	BF_PTX_OPERAND_AT_REG,  /* [%r+offset]: index is the register */
	BF_PTX_OPERAND_AT_VAR,  /* [name+offset]: index is the variable */
	BF_PTX_OPERAND_AT_IMM,  /* [imm]: offset is the address */
	BF_PTX_OPERAND_AT_LIST, /* [a, {b, c}] of textures and tensors: elems */
	BF_PTX_OPERAND_NAME,    /* a word that is no symbol, of forms that are refused: elems NULL */
};

struct bf_ptx_operand {
	uint8_t kind;  /* enum bf_ptx_operand_kind */
	uint8_t part;  /* SREG: 0..3 */
	bool negate;   /* !%p or -%r (video instructions) */
	bool real;     /* IMM: a floating-point literal. `bits` are those of a double, exact for 0f literals as well */
	uint8_t width; /* IMM, real: 32 for 0f literals, whose own bits are `single`; 64 otherwise */
	bool unified;  /* AT_*: .unified */
	uint8_t count; /* VECTOR, PAIR, LIST, AT_LIST */
	uint32_t index;
	uint32_t single; /* IMM of 0f: the 32 bits as written */
	union {
		int64_t offset;
		uint64_t bits; /* IMM */
		const struct bf_ptx_operand *elems;
	};
};

struct bf_ptx_stmt {
	const struct bf_ptx_form *form;
	/*
	 * As written, from the left. Calls have always three or four: LIST of what returns, callee (FUNC or REG), LIST
	 * of arguments, and for an indirect one its PROTO or the VAR that is a table of callees.
	 */
	const struct bf_ptx_operand *operands;
	uint8_t operand_count;
	bool guard_negate; /* @!%p */
	uint16_t column;   /* from 1; 65535 for what is beyond */
	uint32_t guard;    /* register, or BF_PTX_NONE */
	uint32_t line;     /* of the PTX text, from 1 */
	uint32_t loc;      /* place in the source: bf_ptx_loc() of the module, or BF_PTX_NONE */
};

/* `.loc`: where the source is. Lines and columns count from 1, 0 where the compiler had none. */
struct bf_ptx_loc {
	const char *file; /* as `.file` named it; "?" for a number that no .file has */
	uint32_t line;
	uint32_t column;
	const char *function; /* what was inlined here: a label into .debug_str resolved to its text, or NULL */
	uint32_t inlined_at;  /* the place of the call that was inlined, another loc, or BF_PTX_NONE */
};

/* `.reg .b32 %r<100>;`: registers first to first + count - 1 are %r0 to %r99. A single one has `single` set. */
struct bf_ptx_reg_range {
	const char *name;
	uint32_t first, count;
	uint8_t type; /* enum bf_ptx_type */
	uint8_t vec;  /* registers of .v2 and .v4 lie side by side: 2 or 4, else 1 */
	bool single;
};

struct bf_ptx_label {
	const char *name;
	uint32_t stmt; /* the statement that follows; the number of statements at the end of the body */
	uint32_t line;
	bool target; /* a branch or a table of targets names it: only those end a basic block */
};

/* .callprototype, .calltargets (functions) and .branchtargets (labels). */
enum bf_ptx_proto_kind { BF_PTX_PROTO_CALL, BF_PTX_PROTO_CALL_TARGETS, BF_PTX_PROTO_BRANCH_TARGETS };

/* A formal parameter or what returns: its storage in bytes. */
struct bf_ptx_formal {
	uint32_t size;
	uint32_t align;
	uint32_t var;    /* its variable in space PARAM, or BF_PTX_NONE: in a register, or of a prototype */
	uint32_t reg;    /* its register for `.reg` formals, or BF_PTX_NONE */
	uint32_t offset; /* entries: in the block of parameters that a launch gives */
	uint8_t type;    /* enum bf_ptx_type of one element */
	bool array;      /* .b8 name[20] */
};

struct bf_ptx_signature {
	const struct bf_ptx_formal *returns, *params;
	uint32_t return_count, param_count;
	bool variadic; /* its last parameter is an array without a size */
};

struct bf_ptx_proto {
	const char *name;
	enum bf_ptx_proto_kind kind;
	struct bf_ptx_signature signature; /* CALL */
	const uint32_t *targets;           /* functions or labels */
	uint32_t target_count;
};

enum bf_ptx_linkage {
	BF_PTX_LINK_LOCAL, /* no word: the module's own */
	BF_PTX_LINK_EXTERN,
	BF_PTX_LINK_VISIBLE,
	BF_PTX_LINK_WEAK,
	BF_PTX_LINK_COMMON,
};

struct bf_ptx_var {
	const char *name;
	uint32_t number, module;
	uint32_t def;  /* the variable that this name means after linking (mostly itself), or BF_PTX_NONE: unresolved */
	uint32_t func; /* the function it is declared in, or BF_PTX_NONE */
	uint8_t space; /* enum bf_ptx_space: GLOBAL, CONST, SHARED, LOCAL, PARAM */
	uint8_t type;  /* of one element */
	uint8_t linkage;
	bool dynamic;   /* `.extern .shared name[]`: begins where the static shared memory of the launch ends */
	bool managed;   /* .attribute(.managed) */
	bool addressed; /* its address is taken by other than [name+offset] */
	bool formal;    /* a parameter or return value of its function, not a block for a call */
	uint32_t align; /* a power of two */
	uint64_t size;  /* bytes; 0 for one without a size */
	/*
	 * Where it lies: GLOBAL and CONST in the program's image of that space; SHARED from the begin of the static
	 * shared memory of any kernel that reaches it; LOCAL in the function's local frame; PARAM of an entry in the
	 * block of parameters; PARAM of a function in its parameter frame. A dynamic one: its kernel's
	 * `dynamic_offset`.
	 */
	uint64_t offset;
	uint32_t line;
	uint16_t column;
};

struct bf_ptx_kernel;

struct bf_ptx_func {
	const char *name;
	uint32_t number, module;
	uint32_t def; /* the definition that calls reach: of this or another module, an alias' aim, or BF_PTX_NONE */
	/* Where `def` is BF_PTX_NONE: the place of its name in the list of built-in functions, or BF_PTX_NONE. */
	uint32_t builtin;
	bool entry;
	bool defined; /* has a body */
	bool noreturn;
	bool addressed; /* a function's value that a register or a variable may hold */
	uint8_t linkage;
	struct bf_ptx_signature signature;

	const struct bf_ptx_stmt *stmts;
	uint32_t stmt_count;
	uint32_t label_count;
	const struct bf_ptx_label *labels;
	const struct bf_ptx_reg_range *ranges; /* in order of `first` */
	const struct bf_ptx_proto *protos;
	const uint8_t *reg_types; /* enum bf_ptx_type by register */
	uint32_t reg_count, range_count, proto_count;
	const uint32_t *vars; /* variables declared in it, formals among them */
	uint32_t var_count;

	uint32_t local_size, local_align; /* frame of .local variables */
	uint32_t param_size, param_align; /* formals: for an entry the block that a launch gives */
	uint32_t call_size, call_align;   /* the blocks of its calls, .param variables that its body declares */

	/* Directives; 0 where there are none. */
	uint32_t reqntid[3], maxntid[3], cluster[3];
	uint32_t max_cluster_rank, min_ctas_per_sm, max_regs;
	bool explicit_cluster, blocks_are_clusters;

	uint32_t line;
	uint16_t column;
	const struct bf_ptx_kernel *kernel; /* entries, after bf_ptx_link() */
};

/* What an entry can reach: over calls, and over indirect calls to every function of that shape whose value is taken. */
struct bf_ptx_kernel {
	uint32_t func;
	const uint32_t *funcs; /* definitions, the entry first, then by number */
	uint32_t func_count;
	bool indirect;  /* makes an indirect call */
	bool recursive; /* a function can be in progress twice */
	uint32_t static_shared;
	uint32_t dynamic_align;  /* of dynamic shared variables, 0: it has none */
	uint32_t dynamic_offset; /* static_shared rounded up to that */
};

struct bf_ptx_module {
	const char *name; /* as given to bf_ptx_program_add() */
	uint32_t version_major, version_minor;
	uint32_t sm;      /* 90 of sm_90a */
	char sm_suffix;   /* 'a', 'f' or 0 */
	bool debug;       /* .target debug */
	uint32_t pointer; /* .address_size: 32 or 64 */
	const struct bf_ptx_loc *locs;
	uint32_t loc_count;
	uint32_t lines;
	uint64_t bytes;
};

struct bf_ptx_program {
	struct bf_ptx_module **modules;
	struct bf_ptx_func **funcs;
	struct bf_ptx_var **vars;
	struct bf_ptx_form **forms;
	uint32_t module_count, func_count, var_count, form_count;
	bool linked;

	uint64_t global_size, const_size; /* images of the spaces, after linking */
	uint32_t global_align;
	struct bf_error error; /* text of the last failure */
};

/* An empty program. NULL on lack of memory. */
struct bf_ptx_program *bf_ptx_program_create(void);

/* NULL is fine. */
void bf_ptx_program_destroy(struct bf_ptx_program *p);

/*
 * Reads a module of `len` bytes, which are copied; blank lines before and NUL bytes behind are fine, as fat binaries
 * have them. `name` is for messages. 0, -EINVAL with "name:line:column: reason" in the program's error (the program is
 * then good for destruction only), -ENOMEM, -EBUSY after linking.
 */
int bf_ptx_program_add(struct bf_ptx_program *p, const char *name, const char *text, size_t len);

/* What was passed over because it stands in no function: bodies without their heads. All 0: nothing. */
struct bf_ptx_strays {
	uint32_t count, line; /* how many, and where the first begins */
	uint32_t lines;       /* with something on them */
};

/*
 * The same for a text that was cut out of a larger one: statements that stand outside of any function are passed over,
 * up to the brace that would end their body, and counted. `strays` is zeroed by the caller.
 */
int bf_ptx_program_add_excerpt(struct bf_ptx_program *p, const char *name, const char *text, size_t len,
			       struct bf_ptx_strays *strays);

/* The same for a file, "-" for standard input; `strays` NULL: as bf_ptx_program_add(). -ENOENT and its like, -EIO, too.
 */
int bf_ptx_program_add_file(struct bf_ptx_program *p, const char *path, struct bf_ptx_strays *strays);

struct bf_ptx_link_opts {
	const char *const
	    *builtins; /* names of functions that the machine provides, to be called where no module has them */
	uint32_t builtin_count;
	bool allow_unresolved; /* leave what nobody defines unresolved, to be told by bf_ptx_next_refusal() */
};

/*
 * Links. 0; -EEXIST for a symbol defined twice, -ENOENT for one that nobody defines, -E2BIG for more than 64 KiB of
 * .const, -EINVAL for what does not fit together; the text names the symbol and the places. `opts` may be NULL.
 */
int bf_ptx_link(struct bf_ptx_program *p, const struct bf_ptx_link_opts *opts);

/* A kernel or function, a variable by name, the module's own ones (without .visible) too; NULL: there is none. */
const struct bf_ptx_func *bf_ptx_find_func(const struct bf_ptx_program *p, const char *name);
const struct bf_ptx_var *bf_ptx_find_var(const struct bf_ptx_program *p, const char *name);

/*
 * The value that a pointer to this function has: 8, 16, ... by the number of its definition, as small as on an H100;
 * and back: NULL for a value that is none.
 */
uint64_t bf_ptx_func_value(const struct bf_ptx_program *p, uint32_t func);
const struct bf_ptx_func *bf_ptx_func_of_value(const struct bf_ptx_program *p, uint64_t value);

/*
 * The first contents of .global (or .const): all of the space's image to `out`, with the addresses that initialisers
 * speak of. global_base is where the program's .global image will lie, const_base the generic address of the .const
 * bank; a bare name of a constant means its offset in the bank.
 */
void bf_ptx_image(const struct bf_ptx_program *p, enum bf_ptx_space space, uint64_t global_base, uint64_t const_base,
		  void *out);

/*
 * Why the vocabulary refuses a form, one line in static memory; NULL: it does not. Only statements of forms that are
 * not refused have as many operands as BF_PTX_OPS says.
 */
const char *bf_ptx_form_refusal(const struct bf_ptx_form *f);

/* Something that a kernel can reach and the machine refuses. */
struct bf_ptx_refusal {
	const struct bf_ptx_func *func;
	const struct bf_ptx_stmt *stmt; /* the statement that has it, or speaks of it */
	const char *what;               /* the instruction, or the symbol */
	const char *reason;             /* one line */
	/* Where to go on. */
	uint32_t at;
	const void *next;
};

/*
 * The next refusal, by the vocabulary and by unresolved symbols, among what a kernel or (`k` NULL) any function of the
 * program can reach. `it` is zeroed before the first call. False: there are no more. What a decoder refuses beyond
 * that, it tells itself.
 */
bool bf_ptx_next_refusal(const struct bf_ptx_program *p, const struct bf_ptx_kernel *k, struct bf_ptx_refusal *it);

/* The place in the source of a statement: its own loc, or NULL. */
const struct bf_ptx_loc *bf_ptx_loc(const struct bf_ptx_program *p, const struct bf_ptx_func *f,
				    const struct bf_ptx_stmt *s);

/* "kernel.cu:41" by .loc, else "module.ptx:120"; returns buf. */
const char *bf_ptx_where(const struct bf_ptx_program *p, const struct bf_ptx_func *f, const struct bf_ptx_stmt *s,
			 char *buf, size_t cap);

/* A register's name; returns buf. */
const char *bf_ptx_reg_name(const struct bf_ptx_func *f, uint32_t reg, char *buf, size_t cap);

#endif
