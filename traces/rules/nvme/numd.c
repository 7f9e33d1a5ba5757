#include <inttypes.h>

#include "sim/bytes.h"
#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;
	uint32_t numd;

	if (e->nvme_fetch.sqid || e->tail_len < BF_NVME_RULE_ENTRY || e->tail[0] != BF_NVME_ADM_GET_LOG)
		return;
	/* Buffers are a multiple of 64 bytes; one that is a dword longer was counted from 1. */
	numd = bf_get_le32(e->tail + 40) >> 16;
	if (!numd || numd % 16)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->nvme_fetch.slot);
	bf_finding_say(f,
		       "Get Log Page asked for NUMD %" PRIu32 ", which is %" PRIu32
		       " bytes: the count is from 0, so the controller writes 4 bytes more than the buffer has",
		       numd, (numd + 1) * 4);
}

const struct bf_rule bf_rule_nvme_numd = {
	.about = {
		.id = "NVME-NUMD",
		.family = "nvme",
		.title = "Get Log Page asks for one dword more than the buffer holds",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "NUMD counts dwords from 0: the controller writes NUMD + 1.",
		.wrong = "With the count of dwords there, the controller writes four bytes beyond the buffer.",
		.fix = "NUMD = bytes / 4 - 1.",
		.sources = "NVM Express Base 2.0, Get Log Page; docs/hardware/nvme.md#other-controllers-5",
		.example = "run nvme-admin --commands 13 --bug numd-off-by-one",
		.twin = "run nvme-admin --commands 13",
	},
	.rank = BF_RANK_ENTRY + 6,
	.records = BF_SEES(nvme_fetch),
	.on = on,
};
