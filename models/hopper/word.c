#include "models/hopper/word.h"

#define TX_MASK ((1u << 21) - 1)
#define TX_MAX (1 << 20)
#define TX_MIN (-((1 << 20) - 1)) /* what the field holds: minus the count, 21 bits in two's complement */

const char *bf_mbar_fault_name(enum bf_mbar_fault f)
{
	static const char *const names[BF_MBAR_FAULTS] = {
		[BF_MBAR_OK] = "none",
		[BF_MBAR_FAULT_UNINITIALISED] = "not initialised",
		[BF_MBAR_FAULT_INIT_COUNT] = "initial count not in 1 to 2^20 - 1",
		[BF_MBAR_FAULT_ARRIVE_COUNT] = "arrival count above 2^20 - 1",
		[BF_MBAR_FAULT_OVER_ARRIVAL] = "more arrivals than are pending",
		[BF_MBAR_FAULT_TX_COUNT] = "transaction count of an operation above 2^20 - 1",
		[BF_MBAR_FAULT_TX_RANGE] = "sum of transaction counts out of range",
		[BF_MBAR_FAULT_DROP] = "drop leaves no expected arrivals",
	};

	return (unsigned)f < BF_MBAR_FAULTS ? names[f] : "?";
}

uint32_t bf_mbar_pending(uint64_t word)
{
	return (uint32_t)-BF_FIELD_GET(BF_MBAR_PENDING, word) & BF_MBAR_COUNT_MAX;
}

uint32_t bf_mbar_expected(uint64_t word)
{
	return (uint32_t)-BF_FIELD_GET(BF_MBAR_EXPECTED, word) & BF_MBAR_COUNT_MAX;
}

int32_t bf_mbar_tx(uint64_t word)
{
	const int32_t minus = (int32_t)(BF_FIELD_GET(BF_MBAR_TX, word) << 11) >> 11;

	return -minus;
}

uint64_t bf_mbar_word(uint32_t phase, uint32_t pending, int32_t tx, uint32_t expected)
{
	return BF_FIELD_PREP(BF_MBAR_PHASE, phase) | BF_FIELD_PREP(BF_MBAR_PENDING, -(uint64_t)pending) |
	       BF_FIELD_PREP(BF_MBAR_TX, (uint64_t) - (int64_t)tx) |
	       BF_FIELD_PREP(BF_MBAR_EXPECTED, -(uint64_t)expected);
}

/* Stores the new state; a phase that is complete gives way to the next. */
static enum bf_mbar_fault settle(uint64_t *word, uint32_t pending, int32_t tx, uint32_t expected, bool *completed)
{
	const bool done = pending == 0 && tx == 0;

	if (completed)
		*completed = done;
	*word = bf_mbar_word(bf_mbar_phase(*word) ^ done, done ? expected : pending, tx, expected);
	return BF_MBAR_OK;
}

enum bf_mbar_fault bf_mbar_init(uint64_t *word, uint32_t count)
{
	if (count == 0 || count > BF_MBAR_COUNT_MAX)
		return BF_MBAR_FAULT_INIT_COUNT;
	*word = bf_mbar_word(0, count, 0, count);
	return BF_MBAR_OK;
}

static enum bf_mbar_fault add_tx(int32_t *tx, uint32_t bytes, int32_t sign)
{
	if (bytes > BF_MBAR_COUNT_MAX)
		return BF_MBAR_FAULT_TX_COUNT;
	*tx += sign * (int32_t)bytes;
	return *tx > TX_MAX || *tx < TX_MIN ? BF_MBAR_FAULT_TX_RANGE : BF_MBAR_OK;
}

enum bf_mbar_fault bf_mbar_arrive(uint64_t *word, uint32_t count, bool drop, uint32_t tx_bytes, bool *completed)
{
	const uint32_t pending = bf_mbar_pending(*word);
	uint32_t expected = bf_mbar_expected(*word);
	int32_t tx = bf_mbar_tx(*word);
	enum bf_mbar_fault fault;

	if (*word == 0)
		return BF_MBAR_FAULT_UNINITIALISED;
	fault = add_tx(&tx, tx_bytes, 1);
	if (fault)
		return fault;
	if (count > BF_MBAR_COUNT_MAX)
		return BF_MBAR_FAULT_ARRIVE_COUNT;
	if (drop && count >= expected)
		return BF_MBAR_FAULT_DROP;
	if (count > pending)
		return BF_MBAR_FAULT_OVER_ARRIVAL;
	expected -= drop ? count : 0;
	return settle(word, pending - count, tx, expected, completed);
}

static enum bf_mbar_fault change_tx(uint64_t *word, uint32_t bytes, int32_t sign, bool *completed)
{
	int32_t tx = bf_mbar_tx(*word);
	enum bf_mbar_fault fault = *word ? add_tx(&tx, bytes, sign) : BF_MBAR_FAULT_UNINITIALISED;

	return fault ? fault : settle(word, bf_mbar_pending(*word), tx, bf_mbar_expected(*word), completed);
}

enum bf_mbar_fault bf_mbar_expect_tx(uint64_t *word, uint32_t bytes, bool *completed)
{
	return change_tx(word, bytes, 1, completed);
}

enum bf_mbar_fault bf_mbar_complete_tx(uint64_t *word, uint32_t bytes, bool *completed)
{
	return change_tx(word, bytes, -1, completed);
}

enum bf_mbar_fault bf_mbar_test_state(uint64_t word, uint64_t token, bool *done)
{
	*done = bf_mbar_phase(word) != bf_mbar_phase(token);
	return word ? BF_MBAR_OK : BF_MBAR_FAULT_UNINITIALISED;
}

enum bf_mbar_fault bf_mbar_test_parity(uint64_t word, uint32_t parity, bool *done)
{
	*done = bf_mbar_phase(word) != (parity & 1);
	return word ? BF_MBAR_OK : BF_MBAR_FAULT_UNINITIALISED;
}
