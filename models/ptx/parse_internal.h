/* The reader's own: the program with what only reading and linking need, tokens, and the parts of the parser. */
#ifndef BELFRY_PTX_PARSE_INTERNAL_H
#define BELFRY_PTX_PARSE_INTERNAL_H

#include "models/ptx/module.h"
#include "models/ptx/names_internal.h"

/* Bytes of an initialiser that lie together. */
struct bf_ptx_run {
	struct bf_ptx_run *next;
	uint64_t offset;
	uint32_t len;
	unsigned char bytes[];
};

/* An address in an initialiser: `width` bytes at `offset` get (address + addend) >> shift. */
struct bf_ptx_reloc {
	struct bf_ptx_reloc *next;
	uint64_t offset;
	int64_t addend;
	uint32_t index; /* variable, or function when `func` */
	uint8_t width, shift;
	bool func, generic;
};

struct bf_ptx_var_block {
	struct bf_ptx_var pub;
	struct bf_ptx_run *runs;
	struct bf_ptx_reloc *relocs;
	uint64_t kernels; /* layout: how many kernels reach it */
};

/* Something that a body speaks of, for what a kernel can reach. */
enum bf_ptx_ref_kind {
	BF_PTX_REF_CALL,     /* index: a function that is called by name */
	BF_PTX_REF_TAKEN,    /* index: a function whose value is taken */
	BF_PTX_REF_VAR,      /* index: a variable of the module */
	BF_PTX_REF_INDIRECT, /* an indirect call; index: prototype or table of the function, or BF_PTX_NONE */
	BF_PTX_REF_REFUSED,  /* index: a statement that the vocabulary refuses */
};

struct bf_ptx_ref {
	struct bf_ptx_ref *next;
	enum bf_ptx_ref_kind kind;
	uint32_t index, stmt;
};

struct bf_ptx_func_block {
	struct bf_ptx_func pub;
	struct bf_ptx_ref *refs; /* in the order of the text */
	uint32_t alias;          /* the function that .alias makes of this one, or BF_PTX_NONE */
};

struct bf_ptx_program_block {
	struct bf_ptx_program pub;
	struct bf_ptx_arena arena;
	struct bf_ptx_names names;
	uint32_t module_room, func_room, var_room, form_room;
};

enum bf_ptx_token_kind {
	BF_PTX_TOKEN_END,
	BF_PTX_TOKEN_NAME,   /* %r1, $L__BB0_2, foo, _ */
	BF_PTX_TOKEN_DOT,    /* .b32: text without the dot */
	BF_PTX_TOKEN_INT,    /* bits; `is_unsigned` */
	BF_PTX_TOKEN_REAL,   /* real; `single` and width */
	BF_PTX_TOKEN_STRING, /* text without the quotes, escapes as written */
	BF_PTX_TOKEN_PUNCT,  /* punct: one character, or two-character operators as below */
};

enum {
	BF_PTX_SHL = 256,
	BF_PTX_SHR,
	BF_PTX_EQEQ,
	BF_PTX_NOTEQ,
	BF_PTX_LESSEQ,
	BF_PTX_MOREEQ,
	BF_PTX_ANDAND,
	BF_PTX_OROR
};

struct bf_ptx_formal_decl;
struct bf_ptx_loc_block;
struct bf_ptx_file;
struct bf_ptx_string;

struct bf_ptx_token {
	enum bf_ptx_token_kind kind;
	int punct;
	const char *text;
	uint32_t len;
	uint32_t line, column;
	uint64_t bits;
	double real;
	uint32_t single;
	uint8_t width; /* REAL: 32 or 64 */
	bool is_unsigned;
};

/* A reference to a label or a table of this function that may stand further down. */
struct bf_ptx_fixup {
	struct bf_ptx_name *name;
	struct bf_ptx_operand *operand; /* what becomes a LABEL or PROTO, or NULL: */
	uint32_t *target;               /* an element of .branchtargets */
	bool table;                     /* a table is meant, not a label */
	uint32_t line, column;
};

/* A block of a body. */
struct bf_ptx_text_block {
	struct bf_ptx_local *locals;
	uint32_t first_fixup;
	uint32_t call_size; /* of the frame of call blocks where the block began: what it adds is used again */
};

struct bf_ptx_reader {
	struct bf_ptx_program_block *p;
	struct bf_ptx_module *module;
	uint32_t number; /* of the module */
	jmp_buf leave;
	const char *name;
	struct bf_ptx_strays *strays; /* NULL: a statement outside of functions is an error */
	uint32_t stray_line;

	/* Text. */
	const char *at, *end, *line_start;
	uint32_t line;
	struct bf_ptx_token tok; /* the one looked at */
	uint32_t nesting;        /* of an expression's parentheses */

	/* The function that is read, and what is its only while it is. */
	struct bf_ptx_func_block *func;
	struct bf_ptx_ref **last_ref;
	uint32_t loc;
	uint32_t call_size;
	struct bf_ptx_local *free_locals;
	struct bf_ptx_fixup label; /* the label or table that the operands just read speak of; name NULL: none */
	struct bf_ptx_stmt *stmts;
	struct bf_ptx_label *labels;
	struct bf_ptx_reg_range *ranges;
	struct bf_ptx_proto *protos;
	struct bf_ptx_fixup *fixups;
	struct bf_ptx_text_block *blocks;
	struct bf_ptx_operand *operands;
	struct bf_ptx_formal_decl *formals;
	uint32_t *vars;
	uint32_t stmt_count, label_count, range_count, proto_count, fixup_count, block_count, operand_count,
	    formal_count, var_count;
	uint32_t stmt_room, label_room, range_room, proto_room, fixup_room, block_room, operand_room, formal_room,
	    var_room;

	/* Places in the source. */
	struct bf_ptx_loc_block *locs;
	struct bf_ptx_file *files;
	struct bf_ptx_string *strings; /* labels of .debug_str */
	char *debug_texts;
	uint32_t loc_count, file_count, string_count, debug_text_count;
	uint32_t loc_room, file_room, string_room, debug_text_room;
};

/* Where the text is wrong. */
_Noreturn void bf_ptx_fail(struct bf_ptx_reader *r, uint32_t line, uint32_t column, const char *fmt, ...)
    BF_PRINTF(4, 5);
/* The same at the token looked at; says what is there when `fmt` is NULL. */
_Noreturn void bf_ptx_fail_here(struct bf_ptx_reader *r, const char *fmt, ...) BF_PRINTF(2, 3);
/* "`what` expected, here is `token`". */
_Noreturn void bf_ptx_expected(struct bf_ptx_reader *r, const char *what);

/* lex.c: goes on to the next token. */
void bf_ptx_next(struct bf_ptx_reader *r);

static inline bool bf_ptx_is(const struct bf_ptx_reader *r, int punct)
{
	return r->tok.kind == BF_PTX_TOKEN_PUNCT && r->tok.punct == punct;
}

/* Takes the token if it is that one. */
bool bf_ptx_take(struct bf_ptx_reader *r, int punct);
void bf_ptx_want(struct bf_ptx_reader *r, int punct, const char *what);
/* Whether the token is this directive or modifier (`word` without its dot); and takes it. */
bool bf_ptx_is_dot(const struct bf_ptx_reader *r, const char *word);
bool bf_ptx_take_dot(struct bf_ptx_reader *r, const char *word);
/* An integer, a name, a string: taken. */
uint64_t bf_ptx_want_int(struct bf_ptx_reader *r, uint64_t most, const char *what);
struct bf_ptx_name *bf_ptx_want_name(struct bf_ptx_reader *r, const char *what);
struct bf_ptx_name *bf_ptx_token_name(struct bf_ptx_reader *r);

/* form.c */
struct bf_ptx_form *bf_ptx_form_get(struct bf_ptx_reader *r, const char *text, size_t len);
void bf_ptx_form_operands(const struct bf_ptx_form *f, uint32_t *least, uint32_t *most);

/* A value of a constant expression. */
struct bf_ptx_const_value {
	bool real, is_unsigned;
	uint64_t bits; /* integers */
	double number; /* real ones */
	uint32_t single;
	uint8_t width; /* real: 32 for a literal of 0f, 64 */
	/* Of initialisers: an address, to which `bits` is added. */
	enum bf_ptx_symbol_kind symbol;
	uint32_t index;
	bool generic;
	uint8_t shift; /* 0xFF00(...): 8, of one byte */
	bool masked;
};

/* expr.c: a constant expression; `symbols`: of an initialiser, names of variables and functions may stand in it. */
struct bf_ptx_const_value bf_ptx_expression(struct bf_ptx_reader *r, bool symbols);
/* One that is an integer. */
int64_t bf_ptx_integer(struct bf_ptx_reader *r);
/* What follows a name in an address: + and - with products of constants, as many as there are. */
int64_t bf_ptx_displacement(struct bf_ptx_reader *r);

/* What stands before the name of a declaration. */
struct bf_ptx_decl {
	enum bf_ptx_linkage linkage;
	enum bf_ptx_space space;
	enum bf_ptx_type type;
	uint32_t vec;   /* 1, 2, 4, 8 */
	uint32_t align; /* never less than the type's own */
	bool managed;
	uint32_t line, column; /* of the name */
};

/* parse_var.c. The space is taken: reads .align, .attribute, .ptr, .v2 and the type. */
void bf_ptx_parse_decl(struct bf_ptx_reader *r, struct bf_ptx_decl *d);
/* Behind .attribute. */
void bf_ptx_parse_attribute(struct bf_ptx_reader *r, struct bf_ptx_decl *d);
/* [16], [2][3], [] behind a name: how many elements, 1 for none. Strides of each dimension, in elements, for braces. */
struct bf_ptx_dims {
	uint32_t count;
	bool unsized; /* its first is empty */
	uint64_t elements;
	uint64_t strides[8];
};
void bf_ptx_parse_dims(struct bf_ptx_reader *r, const struct bf_ptx_decl *d, struct bf_ptx_dims *dims);
uint64_t bf_ptx_decl_bytes(struct bf_ptx_reader *r, const struct bf_ptx_decl *d, uint64_t elements);
/* The whole declaration of one or several variables, behind its space, to the semicolon. */
void bf_ptx_parse_vars(struct bf_ptx_reader *r, struct bf_ptx_decl *d);
/* A new variable of the module or of the function that is read; the caller places and names it. */
struct bf_ptx_var_block *bf_ptx_new_var(struct bf_ptx_reader *r, struct bf_ptx_name *name, const struct bf_ptx_decl *d,
					uint64_t size);

/* parse_init.c: the initialiser of a variable, behind `=`. How many elements it gives. */
uint64_t bf_ptx_parse_init(struct bf_ptx_reader *r, struct bf_ptx_var_block *v, const struct bf_ptx_decl *d,
			   const struct bf_ptx_dims *dims);

/* parse_reg.c: `.reg` to its semicolon; one register or a range of them; what a name means. */
void bf_ptx_parse_regs(struct bf_ptx_reader *r);
uint32_t bf_ptx_new_regs(struct bf_ptx_reader *r, struct bf_ptx_name *name, const struct bf_ptx_decl *d, uint32_t count,
			 bool single);
/* What the name looked at means within the function; *index: the register itself. NULL: nothing. */
const struct bf_ptx_local *bf_ptx_find_local(struct bf_ptx_reader *r, uint32_t *index);

/* scope.c */
void bf_ptx_block_open(struct bf_ptx_reader *r);
void bf_ptx_block_close(struct bf_ptx_reader *r);
void bf_ptx_declare(struct bf_ptx_reader *r, struct bf_ptx_name *name, enum bf_ptx_local_kind kind, uint32_t index,
		    uint32_t count, const struct bf_ptx_token *where);
/* `name` is a label or a table that may be declared further down: to be found when its block ends. */
void bf_ptx_fixup_later(struct bf_ptx_reader *r, const struct bf_ptx_fixup *f);
/* Notes for bf_ptx_link() that the function speaks of something. */
void bf_ptx_refer(struct bf_ptx_reader *r, enum bf_ptx_ref_kind kind, uint32_t index);

/* parse_func.c: behind .entry or .func; the record of a function of this module, made when missing. */
void bf_ptx_parse_func(struct bf_ptx_reader *r, enum bf_ptx_linkage linkage, bool entry);
struct bf_ptx_func_block *bf_ptx_func_named(struct bf_ptx_reader *r, struct bf_ptx_name *name);
/* Behind .pragma: read over. */
void bf_ptx_parse_pragma(struct bf_ptx_reader *r);

/* parse_signature.c: formals in parentheses; they stand in r->formals from `first` on until they are kept. */
struct bf_ptx_formal_decl {
	struct bf_ptx_formal pub;
	struct bf_ptx_name *name; /* NULL for _ */
	struct bf_ptx_decl decl;
};
void bf_ptx_parse_formals(struct bf_ptx_reader *r, bool *variadic);
/* `label: .callprototype` and its like, behind the colon. */
void bf_ptx_parse_proto(struct bf_ptx_reader *r, struct bf_ptx_name *name, const struct bf_ptx_token *where);

/* parse_body.c: from `{` to its `}`. */
void bf_ptx_parse_body(struct bf_ptx_reader *r);

/* parse_call.c, parse_operand.c: operands of one statement, pushed to r->operands. */
void bf_ptx_parse_call(struct bf_ptx_reader *r);
void bf_ptx_parse_operand(struct bf_ptx_reader *r, const struct bf_ptx_form *form);
struct bf_ptx_operand bf_ptx_operand(struct bf_ptx_reader *r, const struct bf_ptx_form *form);
const struct bf_ptx_operand *bf_ptx_keep_operands(struct bf_ptx_reader *r, const struct bf_ptx_operand *from,
						  uint32_t count);
_Noreturn void bf_ptx_not_declared(struct bf_ptx_reader *r);

/* parse_loc.c */
void bf_ptx_parse_file(struct bf_ptx_reader *r);
void bf_ptx_parse_loc(struct bf_ptx_reader *r);
void bf_ptx_skip_loc(struct bf_ptx_reader *r);
void bf_ptx_parse_section(struct bf_ptx_reader *r);
/* At the end of the module: files and functions by name. */
void bf_ptx_resolve_locs(struct bf_ptx_reader *r);

/* In bf_ptx_program_block. */
void bf_ptx_add_form(struct bf_ptx_reader *r, struct bf_ptx_form *f);

#define BF_PTX_PUSH(r, what)                                                                                           \
	(bf_ptx_grow(&(r)->p->arena, (void **)&(r)->what##s, &(r)->what##_room, (r)->what##_count,                     \
		     sizeof(*(r)->what##s)),                                                                           \
	 &(r)->what##s[(r)->what##_count++])

#endif
