#include "sim/bytes.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (e->nvme_fetch.sqid || e->tail_len < BF_NVME_RULE_ENTRY || e->tail[0] != 0 || !bf_get_le32(e->tail + 4))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->nvme_fetch.slot);
	bf_finding_say(
	    f, "the controller got opcode 00h (Delete I/O Submission Queue) with a namespace: opcode 80h (Format "
	       "NVM) lost its bit 7");
}

const struct bf_rule bf_rule_nvme_opcode_bit7 = {
	.about = {
		.id = "NVME-OPCODE-BIT7",
		.family = "nvme",
		.title = "an opcode lost its bit 7",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Opcodes are eight bits; from 80h on they are commands of the command set and of "
			    "vendors.",
		.wrong = "With bit 7 masked off, Format NVM (80h) is Delete I/O Submission Queue (00h).",
		.fix = "Keep opcodes in eight bits.",
		.sources = "NVM Express Base 2.0, figure 138 (opcodes for admin commands); docs/hardware/nvme.md#entries-5",
		.example = "run nvme-admin --commands 13 --bug opcode-mask",
		.twin = "run nvme-admin --commands 13",
	},
	.rank = BF_RANK_ENTRY + 6,
	.records = BF_SEES(nvme_fetch),
	.on = on,
};
