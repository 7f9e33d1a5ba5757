#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, false);
	struct bf_finding *f;

	if (!a || !(a->code == BF_NVME_SC_LBA_RANGE))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f,
			       "opcode %02xh asked for block %" PRIu64 " and %" PRIu32
			       " more, which is beyond the end of the namespace",
			       a->entry[0], (uint64_t)bf_nvme_rule_dword(a, 11) << 32 | bf_nvme_rule_dword(a, 10),
			       bf_nvme_rule_dword(a, 12) & 0xffff);
}

const struct bf_rule bf_rule_nvme_lba_range = {
	.about = {
		.id = "NVME-LBA-RANGE",
		.family = "nvme",
		.title = "a command goes beyond the end of the namespace",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "SLBA and NLB count blocks of the current format (LBADS of LBAF[FLBAS]); SLBA + NLB + 1 "
			    "must not pass NSZE.",
		.wrong = "Blocks were counted in another unit, most often 512 bytes on a namespace of 4096, or NLB "
			 "was taken as counted from 1.",
		.fix = "Divide by 1 << LBADS of the format in use.",
		.sources = "NVM Command Set 1.0, I/O commands",
		.example = "run nvme-verify --commands 64 --threads 4 --capacity 1048576 --lba 4096 --bug lba-units",
		.twin = "run nvme-verify --commands 64 --threads 4 --capacity 1048576 --lba 4096",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
