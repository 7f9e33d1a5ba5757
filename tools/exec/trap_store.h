/*
 * Stores that faulted: which instruction it was, what it would have stored and where.
 *
 * The processor says only that an access failed, and where; what it would have done stands in the instruction and in
 * the registers, both of which a signal's context has. An instruction that is in no table is not guessed at: trap.c
 * lets it run by itself then, one step, with the page open.
 *
 * x86-64: trap_x86.c (Intel SDM vol. 2), aarch64: trap_a64.c (Arm ARM, C4 and C6). Thread-safe, no allocation.
 */
#ifndef BELFRY_TOOLS_EXEC_TRAP_STORE_H
#define BELFRY_TOOLS_EXEC_TRAP_STORE_H

#include <stdbool.h>
#include <stdint.h>

#define BF_STORE_MAX 64u      /* bytes of one store */
#define BF_STORE_CODE_MAX 15u /* bytes of one instruction */

/* Where the signal frame keeps vector registers; the same for all threads. */
struct bf_store_cpu {
	uint32_t ymm_high, zmm_high, zmm_upper; /* offsets in the XSAVE area (CPUID leaf 0xd); 0: this CPU has none */
};
void bf_store_cpu_init(struct bf_store_cpu *cpu);

enum bf_store_kind {
	BF_STORE_UNKNOWN, /* an instruction that is not known here */
	BF_STORE_STORE,
	BF_STORE_LOAD,     /* a general register is to get a value */
	BF_STORE_EXCHANGE, /* both */
};

/* One access. For repeated stores it is the first of `count`, each `step` bytes after the last (negative: before). */
struct bf_trap_store {
	enum bf_store_kind kind;
	uint64_t address;
	uint32_t len;   /* bytes */
	uint32_t code;  /* length of the instruction */
	uint64_t count; /* 1, or what REP leaves to do; 0: nothing happens */
	int32_t step;
	uint8_t reg;     /* load: general register ... */
	uint8_t reg_len; /* ... and how many of its bytes change: 1, 2, 4 (the rest becomes zero) or 8 */
	bool reg_high;   /* ... the second lowest byte (AH to BH) */
	bool string;     /* MOVS, STOS: address registers go along */
	bool repeats;    /* REP: the counter, too */
	bool moves;      /* the data come from memory at `source`: MOVS, MOVDIR64B */
	uint64_t source;
	uint8_t data[BF_STORE_MAX];
};

/*
 * Decodes the instruction that the signal's `context` (ucontext_t) stands at; `fault` is the address that failed.
 * False: unknown, or it does not touch `fault`. Reads the program's memory at the instruction, and at `source`.
 */
bool bf_store_decode(const struct bf_store_cpu *cpu, const void *context, uint64_t fault, struct bf_trap_store *out);

/*
 * The same for bytes that were at the context's instruction pointer once, and with no address to compare. x86-64 only:
 * elsewhere the address comes with the fault.
 */
bool bf_store_decode_code(const struct bf_store_cpu *cpu, const uint8_t *code, uint32_t len, const void *context,
			  struct bf_trap_store *out);

/*
 * The instruction has been carried out, of a repeated one `s->count` times: moves the instruction pointer and what else
 * goes along. A load reads zeros.
 */
void bf_store_finish(const struct bf_trap_store *s, void *context);

/* Instruction pointer of a context. */
uint64_t bf_store_ip(const void *context);

/* Was the access that failed a write? */
bool bf_store_was_write(const void *context);

/* Switches single steps on or off in a context. False: this processor cannot do that from a signal handler. */
bool bf_store_single_step(void *context, bool on);

#endif
