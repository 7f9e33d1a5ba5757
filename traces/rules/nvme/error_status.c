#include <inttypes.h>

#include "models/nvme/text.h"
#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

#define CODE 0x7ffu

#define CREATE_SQ 0x01u
#define CREATE_CQ 0x05u
#define DBBUF 0x7cu

/* What a command that makes queues asked for, and what may be asked for. */
static void say_fields(struct bf_finding *f, const struct bf_nvme_rule_answer *a)
{
	const uint64_t prp1 = bf_get_le64(a->entry + 24), prp2 = bf_get_le64(a->entry + 32);
	const uint32_t dw10 = bf_nvme_rule_dword(a, 10), dw11 = bf_nvme_rule_dword(a, 11);

	if (a->entry[0] == CREATE_SQ || a->entry[0] == CREATE_CQ) {
		bf_finding_say(
		    f, ": queue %" PRIu32 " of %" PRIu32 " entries at 0x%" PRIx64 ", flags 0x%" PRIx32 ", %s %" PRIu32,
		    dw10 & 0xffff, (dw10 >> 16) + 1, prp1, dw11 & 0xffff,
		    a->entry[0] == CREATE_SQ ? "CQ" : "interrupt vector", dw11 >> 16);
		bf_finding_say(
		    f, ". Allowed: numbers from 1 to those granted by Set Features, 2 to CAP.MQES + 1 entries, "
		       "an address that is a multiple of the page (CC.MPS), and PC (bit 0) where CAP.CQR is set");
	} else if (a->entry[0] == DBBUF) {
		bf_finding_say(f,
			       ": shadow doorbells at 0x%" PRIx64 ", event indices at 0x%" PRIx64
			       ". Allowed: two different pages (CC.MPS), neither of them 0",
			       prp1, prp2);
	}
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const uint16_t code = (uint16_t)(e->nvme_completion.status & CODE);
	const char *text;
	struct bf_finding *f;

	/* That a comparison failed is an answer. */
	if (!code || code == BF_NVME_SC_COMPARE)
		return;
	text = bf_nvme_status_text(code);
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->nvme_completion.sqslot);
	bf_finding_say(f,
		       "the controller answered opcode %02" PRIx64 "h in slot %" PRIu64 " of SQ %" PRIu64
		       " with status 0x%03x, %s",
		       e->nvme_completion.opcode, e->nvme_completion.sqslot, e->nvme_completion.sqid, (unsigned)code,
		       text ? text : "which is not known");
	if (bf_nvme_rule_refused(r, true))
		say_fields(f, bf_nvme_rule_refused(r, true));
}

const struct bf_rule bf_rule_nvme_error_status = {
	.about = {
		.id = "NVME-ERROR-STATUS",
		.family = "nvme",
		.title = "the controller answered with an error",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "Each completion carries a status code; anything but 0 means that the command did not "
			    "do what it says.",
		.wrong = "The medium, a limit or an earlier mistake of the driver made a command fail.",
		.fix = "Look the status up; a driver that goes on as if the command had succeeded uses data that "
		       "never came.",
		.sources = "NVM Express Base 2.0, 3.3.3.2.1",
		.example = "run nvme-verify --media-errors 'read-error 3' --size 512",
		.twin = "run nvme-verify --size 512",
	},
	.rank = BF_RANK_EFFECT + 5,
	.records = BF_SEES(nvme_completion),
	.on = on,
};
