/*
 * What the operations of PTX's mbarrier family do to a barrier's word: pure functions of bits.
 *
 * A phase completes when the pending count and the transaction count are both zero after an operation that changed one
 * of them: the phase bit flips and the pending count becomes the expected count (PTX ISA 9.0, sections 9.7.13.15.2 to
 * 9.7.13.15.5; equality, not "at most zero": a negative transaction count keeps a phase open). Thread-safe.
 */
#ifndef BELFRY_MODELS_HOPPER_WORD_H
#define BELFRY_MODELS_HOPPER_WORD_H

#include <stdbool.h>

#include "models/hopper/prm.h"

/* Why the unit faults (the kernel dies with an unspecified launch failure). */
enum bf_mbar_fault {
	BF_MBAR_OK,
	BF_MBAR_FAULT_UNINITIALISED, /* the word is zero, which no initialised one is */
	BF_MBAR_FAULT_INIT_COUNT,    /* expected count 0 or above 2^20 - 1 */
	BF_MBAR_FAULT_ARRIVE_COUNT,  /* count above 2^20 - 1 */
	BF_MBAR_FAULT_OVER_ARRIVAL,  /* more arrivals than are pending */
	BF_MBAR_FAULT_TX_COUNT,      /* bytes of one operation above 2^20 - 1 */
	BF_MBAR_FAULT_TX_RANGE,      /* the sum leaves its field */
	BF_MBAR_FAULT_DROP,          /* a drop leaves no expected arrivals */
	BF_MBAR_FAULTS
};
const char *bf_mbar_fault_name(enum bf_mbar_fault f); /* "more arrivals than are pending" */

static inline uint32_t bf_mbar_phase(uint64_t word)
{
	return (uint32_t)(word >> 63);
}
uint32_t bf_mbar_pending(uint64_t word);
uint32_t bf_mbar_expected(uint64_t word);
int32_t bf_mbar_tx(uint64_t word);

/* The word with these contents; counts must fit their fields. */
uint64_t bf_mbar_word(uint32_t phase, uint32_t pending, int32_t tx, uint32_t expected);

/*
 * The operations. Each changes `*word` unless it faults, and says in `*completed` (may be NULL) whether it completed a
 * phase. An arrival's token is the word from before; only its upper half is defined.
 *
 * arrive() does all forms at once: `tx` bytes are expected, `count` arrivals come, `drop` of them for good; noComplete
 * forms are the same to the unit (one that would complete does).
 */
enum bf_mbar_fault bf_mbar_init(uint64_t *word, uint32_t count);
enum bf_mbar_fault bf_mbar_arrive(uint64_t *word, uint32_t count, bool drop, uint32_t tx, bool *completed);
enum bf_mbar_fault bf_mbar_expect_tx(uint64_t *word, uint32_t bytes, bool *completed);
enum bf_mbar_fault bf_mbar_complete_tx(uint64_t *word, uint32_t bytes, bool *completed);

/* Whether a wait for the phase of a token, or with a parity (only bit 0 counts), is over. */
enum bf_mbar_fault bf_mbar_test_state(uint64_t word, uint64_t token, bool *done);
enum bf_mbar_fault bf_mbar_test_parity(uint64_t word, uint32_t parity, bool *done);

#endif
