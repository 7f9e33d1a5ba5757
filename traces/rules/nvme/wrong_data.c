#include <inttypes.h>

#include "models/nvme/prm.h"
#include "sim/bytes.h"
#include "traces/rules/nvme/nvme.h"

#define KEPT 2048u

/* A command that moved blocks, as the controller got it. */
struct moved {
	uint64_t slba, prp1, at_ps, record;
	uint32_t blocks, qid, cid;
	bool read;
};

struct state {
	struct moved moved[KEPT];
	uint64_t n; /* in all; the last ones are kept */
};

static void note(struct state *s, const struct bf_seen *e)
{
	if (e->tail_len < BF_NVME_RULE_ENTRY || !e->nvme_fetch.sqid ||
	    (e->tail[0] != BF_NVME_IO_READ && e->tail[0] != BF_NVME_IO_WRITE))
		return;
	s->moved[s->n++ % KEPT] = (struct moved){ .slba = bf_get_le64(e->tail + 40),
						  .prp1 = bf_get_le64(e->tail + 24),
						  .at_ps = e->time_ps,
						  .record = e->number,
						  .blocks = bf_get_le16(e->tail + 48) + 1u,
						  .qid = (uint32_t)e->nvme_fetch.sqid,
						  .cid = (uint32_t)e->nvme_fetch.cid,
						  .read = e->tail[0] == BF_NVME_IO_READ };
}

/* The last read or write of the block; NULL: none is known. */
static const struct moved *last(const struct state *s, uint64_t block, bool read)
{
	for (uint64_t back = 1; back <= s->n && back <= KEPT; back++) {
		const struct moved *m = &s->moved[(s->n - back) % KEPT];

		if (m->read == read && block - m->slba < m->blocks)
			return m;
	}
	return NULL;
}

static void say(struct bf_finding *f, const char *what, const struct moved *m)
{
	if (!m) {
		bf_finding_say(f, "; no command %s that block", what);
		return;
	}
	bf_finding_say(f,
		       "; the last that %s it is command 0x%" PRIx32 " of SQ %" PRIu32 ", %" PRIu32
		       " blocks from %" PRIu64 " with PRP1 0x%" PRIx64,
		       what, m->cid, m->qid, m->blocks, m->slba, m->prp1);
	bf_finding_since(f, m->at_ps, m->record);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (e->kind == BF_SEEN_nvme_fetch) {
		note(r->state, e);
		return;
	}
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	if (!e->nvm_mismatch.va && !e->nvm_mismatch.qid) { /* in an answer, not in memory */
		bf_finding_say(
		    f,
		    "%s was answered 0x%" PRIx64 " by the controller in place of 0x%" PRIx64
		    ": the admin command asked for something else, or the one that set it said something else",
		    bf_rule_actor(r->rules, e->actor), e->nvm_mismatch.found, e->nvm_mismatch.wanted);
		return;
	}
	bf_finding_say(f,
		       "%s found 0x%" PRIx64 " in place of 0x%" PRIx64 " at 0x%" PRIx64 ", byte %" PRIu64
		       " of what it read from block %" PRIu64 " on",
		       bf_rule_actor(r->rules, e->actor), e->nvm_mismatch.found, e->nvm_mismatch.wanted,
		       e->nvm_mismatch.va, e->nvm_mismatch.offset, e->nvm_mismatch.block);
	say(f, "wrote", last(r->state, e->nvm_mismatch.block, false));
	say(f, "read", last(r->state, e->nvm_mismatch.block, true));
}

const struct bf_rule bf_rule_nvme_wrong_data = {
	.about = {
		.id = "NVME-WRONG-DATA",
		.family = "nvme",
		.title = "a read brought something else than was written",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The controller moves the blocks that a command names, from and to the pages that it names.",
		.wrong = "All commands were carried out and the data are wrong: a block number, a count, an address of a buffer or a "
			 "slot of the driver's own table belongs to another command.",
		.fix = "Compare blocks and addresses of the commands that are named with what the requests asked for; then the "
		       "driver's tables: one entry for each request, a buffer of its own for each slot.",
		.sources = "docs/rules.md",
		.test = "tests/traces/test_rules_nvme_more.c",
		.why = "Every mistake that our workloads offer has a rule that says more.",
	},
	.rank = BF_RANK_NET - 2,
	.records = BF_SEES(nvme_fetch, nvm_mismatch),
	.state_bytes = sizeof(struct state),
	.on = on,
};
