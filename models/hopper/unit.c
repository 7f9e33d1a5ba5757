#include "models/hopper/unit.h"

#include <errno.h>
#include <stdlib.h>

struct bf_sync_unit {
	struct bf_sim *sim;
	struct bf_sync_opts opts;
	struct bf_sync_counts counts;
};

const char *bf_sync_op_name(enum bf_sync_op op)
{
	static const char *const names[BF_SYNC_OPS] = {
		"init",	      "inval",	   "arrive",	"arrive_drop", "expect_tx", "complete_tx", "test_wait.parity",
		"test_wait", "try_wait.parity", "try_wait", "st.async",	   "load",	"store",       "add",
	};

	return (unsigned)op < BF_SYNC_OPS ? names[op] : "?";
}

int bf_sync_create(struct bf_sim *sim, const struct bf_sync_opts *opts, struct bf_sync_unit **out)
{
	struct bf_sync_unit *u = calloc(1, sizeof(*u));

	if (!u)
		return bf_fail(&sim->error, -ENOMEM, "out of memory");
	u->sim = sim;
	u->opts = *opts;
	*out = u;
	return 0;
}

void bf_sync_destroy(struct bf_sync_unit *unit)
{
	free(unit);
}

void bf_sync_issue(struct bf_sync_unit *unit, struct bf_sync_instr *instr)
{
	(void)unit;
	(void)instr;
}

void bf_sync_issue_sent(struct bf_sync_unit *unit, struct bf_sync_instr *instr, uint32_t own, uint64_t sent_ps)
{
	(void)unit, (void)instr, (void)own, (void)sent_ps;
}

uint64_t bf_sync_update(struct bf_sync_unit *unit, enum bf_sync_op op, uint32_t address, uint32_t count, uint32_t tx,
			uint32_t from, enum bf_mbar_fault *fault)
{
	*fault = BF_MBAR_OK;
	(void)op, (void)address, (void)count, (void)tx, (void)from;
	return unit->sim->now_ps;
}

void bf_sync_drop(struct bf_sync_unit *unit, uint32_t address, uint32_t bytes)
{
	(void)unit, (void)address, (void)bytes;
}

void bf_sync_kill(struct bf_sync_unit *unit)
{
	(void)unit;
}

uint64_t bf_sync_peek(const struct bf_sync_unit *unit, uint32_t address, bool *cached)
{
	(void)unit, (void)address;
	if (cached)
		*cached = false;
	return 0;
}

const struct bf_sync_instr *bf_sync_waiter(const struct bf_sync_unit *unit, uint32_t index)
{
	(void)unit, (void)index;
	return NULL;
}

const struct bf_sync_counts *bf_sync_counts(const struct bf_sync_unit *unit)
{
	return &unit->counts;
}

struct bf_sync_history bf_sync_history(const struct bf_sync_unit *unit, uint32_t address)
{
	(void)unit, (void)address;
	return (struct bf_sync_history){ .warp = UINT32_MAX };
}
