/*
 * Litmus tests: small programs whose final states a memory model permits or forbids, one JSON object a line.
 *
 * The form is that of the vectors in tests/vectors/litmus (its README has every field): locations with their aliases,
 * threads with their place and their operations, an outcome, and whether some execution may end so. Nothing that is
 * unknown is stepped over: a test with an operation that is not understood is not the test that it says it is.
 */
#ifndef BELFRY_TRACES_IMPORT_LITMUS_H
#define BELFRY_TRACES_IMPORT_LITMUS_H

#include "sim/graph.h"
#include "traces/container/json_line.h"

#define BF_LITMUS_THREADS BF_GRAPH_THREADS
#define BF_LITMUS_OPS 64u /* of a thread */
#define BF_LITMUS_LOCATIONS BF_GRAPH_LOCATIONS
#define BF_LITMUS_REGISTERS 32u /* of a thread */
#define BF_LITMUS_NODES 128u    /* of an outcome */
#define BF_LITMUS_TEXT 32u

enum bf_litmus_kind {
	BF_LITMUS_LOAD,
	BF_LITMUS_STORE,
	BF_LITMUS_ATOMIC, /* atom and red */
	BF_LITMUS_FENCE,
	BF_LITMUS_FENCE_PROXY,
	BF_LITMUS_BARRIER,
	BF_LITMUS_COMPUTE, /* mov: a plus 0 */
	BF_LITMUS_LABEL,
	BF_LITMUS_BRANCH, /* a jump: 0 equals 0 */
};

enum bf_litmus_function {
	BF_LITMUS_ADD,
	BF_LITMUS_SUB,
	BF_LITMUS_MUL,
	BF_LITMUS_DIV,
	BF_LITMUS_AND,
	BF_LITMUS_OR,
	BF_LITMUS_XOR,
	BF_LITMUS_EXCH,
	BF_LITMUS_CAS,
};

enum bf_litmus_compare { BF_LITMUS_EQ, BF_LITMUS_NE, BF_LITMUS_LT, BF_LITMUS_LE, BF_LITMUS_GT, BF_LITMUS_GE };

/* A number or a register of the thread. */
struct bf_litmus_operand {
	bool is_register;
	uint32_t reg;
	int64_t number;
};

struct bf_litmus_op {
	enum bf_litmus_kind kind;
	enum bf_sem sem;
	enum bf_scope scope;
	enum bf_proxy proxy;
	enum bf_litmus_function function;
	enum bf_litmus_compare compare;
	bool sc, arrives, has_id, has_quorum, has_result;
	uint32_t location, result, target; /* result: a register; target: the op to go on with */
	int64_t instance;
	struct bf_litmus_operand a, b, id, quorum; /* value: a; what cas compares with: b */
};

struct bf_litmus_thread {
	uint32_t cta, gpu, nops, nregisters;
	struct bf_litmus_op op[BF_LITMUS_OPS];
	char reg[BF_LITMUS_REGISTERS][BF_LITMUS_TEXT];
	int64_t initial[BF_LITMUS_REGISTERS];
};

struct bf_litmus_location {
	char name[BF_LITMUS_TEXT];
	int64_t initial;
	uint32_t memory, generic; /* locations: whose bytes, whose generic address */
};

enum bf_litmus_node_kind { BF_LITMUS_AND_ALL, BF_LITMUS_OR_ANY, BF_LITMUS_NOT, BF_LITMUS_COMPARE };

struct bf_litmus_value {
	enum { BF_LITMUS_CONST, BF_LITMUS_REGISTER, BF_LITMUS_MEMORY } kind;
	uint32_t thread, index; /* index: the register or the location */
	int64_t number;
};

/* An outcome's nodes, each before its children: `next` is the one behind its subtree. */
struct bf_litmus_node {
	enum bf_litmus_node_kind kind;
	enum bf_litmus_compare compare;
	struct bf_litmus_value a, b;
	uint32_t next;
};

struct bf_litmus {
	char name[160];
	enum bf_ordering ordering; /* "model": gpu for "ptx" (the default), or tso */
	uint32_t nthreads, nlocations, nnodes;
	struct bf_litmus_thread thread[BF_LITMUS_THREADS];
	struct bf_litmus_location location[BF_LITMUS_LOCATIONS];
	struct bf_litmus_node node[BF_LITMUS_NODES];
	bool has_verdict, allowed;
};

/* Reads a line that was scanned. 0, or -EBADMSG with l->err naming line, column and what is wrong. */
int bf_litmus_read(struct bf_json_line *l, struct bf_litmus *out);

#endif
