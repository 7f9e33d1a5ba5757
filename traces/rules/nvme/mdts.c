#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

#define LARGE (128u << 10)

/* Data of a read, write or compare, in blocks of at least 512 bytes. */
static uint64_t bytes_of(const struct bf_nvme_rule_answer *a)
{
	const bool moves =
	    a->entry[0] == BF_NVME_IO_WRITE || a->entry[0] == BF_NVME_IO_READ || a->entry[0] == BF_NVME_IO_COMPARE;

	return moves ? ((bf_nvme_rule_dword(a, 12) & 0xffff) + 1ull) << 9 : 0;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, false);
	struct bf_finding *f;

	if (!a || !(a->code == BF_NVME_SC_INVALID_FIELD && bytes_of(a) > LARGE && !(a->entry[1] >> 6)))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f,
			       "opcode %02xh for %" PRIu64
			       " KiB or more was refused with Invalid Field: longer than MDTS allows",
			       a->entry[0], bytes_of(a) >> 10);
}

const struct bf_rule bf_rule_nvme_mdts = {
	.about = {
		.id = "NVME-MDTS",
		.family = "nvme",
		.title = "a transfer is longer than the controller accepts",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "MDTS of Identify Controller limits one command to 2^MDTS pages of CAP.MPSMIN (not "
			    "CC.MPS); 0 means no limit.",
		.wrong = "The command was refused as a whole with Invalid Field in Command.",
		.fix = "Split transfers at MDTS.",
		.sources = "NVM Express Base 2.0, Identify Controller data structure",
		.example = "run nvme-verify --commands 2 --size 4M --bug mdts-ignored",
		.twin = "run nvme-verify --commands 2 --size 2M",
	},
	.rank = BF_RANK_REFUSED + 2,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
