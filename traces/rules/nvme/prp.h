/* PRP lists of commands, for the rules about them. */
#ifndef BELFRY_TRACES_RULES_NVME_PRP_H
#define BELFRY_TRACES_RULES_NVME_PRP_H

#include "sim/bytes.h"
#include "traces/rules/nvme/nvme.h"

/* The list of an I/O command that moves data; `entries` 0: it has none. Blocks of 512 bytes. */
struct bf_nvme_rule_prp {
	uint64_t prp1, prp2, entries;
	uint64_t end; /* the last slot of the list's first page */
};

static inline struct bf_nvme_rule_prp bf_nvme_rule_prp_of(const struct bf_seen *e)
{
	struct bf_nvme_rule_prp p = { 0 };
	uint64_t bytes;

	if (!e->nvme_fetch.sqid || e->tail_len < BF_NVME_RULE_ENTRY ||
	    (e->tail[0] != 1 && e->tail[0] != 2 && e->tail[0] != 5)) /* Write, Read, Compare */
		return p;
	p.prp1 = bf_get_le64(e->tail + 24);
	p.prp2 = bf_get_le64(e->tail + 32);
	bytes = (bf_get_le16(e->tail + 48) + 1ull) << 9;
	p.end = (p.prp2 | (BF_NVME_RULE_PAGE - 1)) - 7;
	/* Up to two pages need no list (NVM Express Base 2.0, Physical Region Page Entry and List). */
	if (p.prp2 && bytes > 2 * BF_NVME_RULE_PAGE)
		p.entries = (p.prp1 % BF_NVME_RULE_PAGE + bytes + BF_NVME_RULE_PAGE - 1) / BF_NVME_RULE_PAGE - 1;
	return p;
}

#endif
