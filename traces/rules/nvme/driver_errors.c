/* What the controller says that its driver did wrong, where its record says it all: a rule for each. */
#include "traces/life/label.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->nvme_driver_error.wrong == r->rule->is ? bf_rule_find(r, e, e->queue) : NULL;
	char text[sizeof(f->text)];

	if (!f)
		return;
	bf_label_make(r->rule->says, e->type, e->fixed, text, sizeof(text));
	bf_finding_say(f, "%s", text);
}

const struct bf_rule bf_rule_nvme_config_enabled = {
	.about = {
		.id = "NVME-CONFIG-ENABLED",
		.family = "nvme",
		.title = "the controller was configured after it had been enabled",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "AQA, ASQ, ACQ and the fields CSS, MPS and AMS of CC are looked at when CC.EN goes to 1, "
			    "and must not change while it is 1.",
		.wrong = "The write came too late: the controller starts with what stood there before.",
		.fix = "Program AQA, ASQ, ACQ and CC first, set CC.EN last.",
		.sources = "NVM Express Base 2.0, Controller Initialization; MoatLab/FEMU#96",
		.example = "run nvme-verify --commands 8 --size 512 --bug aqa-after-enable",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(nvme_driver_error),
	.is = BF_NVME_WRONG_CONFIG,
	.says = "a register of the configuration was written while CC.EN was 1 ($#value)",
	.on = on,
};

const struct bf_rule bf_rule_nvme_reset_early = {
	.about = {
		.id = "NVME-RESET-EARLY",
		.family = "nvme",
		.title = "the controller was enabled again before it had stopped",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "After CC.EN = 0 a controller stops, and says so by CSTS.RDY = 0. Setting CC.EN before "
			    "that is undefined.",
		.wrong = "CSTS.RDY is still 1 from before: the driver takes the controller for ready, and it is not.",
		.fix = "After CC.EN = 0 wait until CSTS.RDY is 0, at most CAP.TO, then program AQA, ASQ, ACQ and CC.",
		.sources = "NVM Express Base 2.0, 3.1.3.5 and Controller Initialization",
		.example = "run nvme-verify --commands 8 --size 512 --bug reset-no-wait",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(nvme_driver_error),
	.is = BF_NVME_WRONG_ENABLE,
	.says = "CC was set to $#value (EN = 1) while CSTS was $#limit: the reset was not waited for",
	.on = on,
};

const struct bf_rule bf_rule_nvme_not_ready = {
	.about = {
		.id = "NVME-NOT-READY",
		.family = "nvme",
		.title = "a doorbell was rung before the controller was ready",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "CC.EN = 1 begins an initialisation that takes up to CAP.TO; queues exist when CSTS.RDY "
			    "is 1 and until a reset or shutdown.",
		.wrong = "The command was announced to a controller that ignores doorbells, so it is never fetched.",
		.fix = "Poll CSTS until RDY is 1 (and CFS 0) before the first admin command.",
		.sources = "NVM Express Base 2.0, Controller Initialization",
		.example = "run nvme-verify --commands 8 --size 512 --bug enable-no-wait",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 2,
	.records = BF_SEES(nvme_driver_error),
	.is = BF_NVME_WRONG_NOT_READY,
	.says = "queue $qid got a doorbell ($value+0) while CSTS.RDY was 0",
	.on = on,
};

const struct bf_rule bf_rule_nvme_no_queue = {
	.about = {
		.id = "NVME-NO-QUEUE",
		.family = "nvme",
		.title = "a doorbell was rung for a queue that does not exist",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A queue exists from the completion of Create I/O Submission (or Completion) Queue to its "
			    "deletion or a reset. Doorbells of others are ignored.",
		.wrong = "The queue was never created, its creation failed or was not waited for, or its number is "
			 "another one.",
		.fix = "Ring only queues whose creation has completed with status 0.",
		.sources = "NVM Express Base 2.0, Queue Model and Asynchronous Event Request; "
			   "docs/hardware/nvme.md#other-controllers-2",
		.example = "run nvme-verify --commands 8 --size 512 --bug queue-not-created",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 6,
	.records = BF_SEES(nvme_driver_error),
	.is = BF_NVME_WRONG_NO_QUEUE,
	.says = "queue $qid got a doorbell ($value+0), and the controller has no such queue",
	.on = on,
};

const struct bf_rule bf_rule_nvme_doorbell_unchanged = {
	.about = {
		.id = "NVME-DOORBELL-UNCHANGED",
		.family = "nvme",
		.title = "a doorbell was rung with its old value",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A doorbell that changes nothing is an invalid write: the controller ignores it and "
			    "reports an asynchronous event (error, invalid doorbell value).",
		.wrong = "Either the doorbell was rung twice, or a whole lap of entries was announced at once, which "
			 "looks like none.",
		.fix = "Ring only when the tail has moved, and announce at most one entry less than the ring has.",
		.sources = "NVM Express Base 2.0, Asynchronous Event Request (invalid doorbell write value)",
		.example = "run nvme-verify --commands 8 --size 512 --bug doorbell-twice",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_INDEX + 2,
	.records = BF_SEES(nvme_driver_error),
	.is = BF_NVME_WRONG_UNCHANGED,
	.says = "doorbell of queue $qid was rung with $value+0, the value that it had already",
	.on = on,
};

const struct bf_rule bf_rule_nvme_head_past_tail = {
	.about = {
		.id = "NVME-HEAD-PAST-TAIL",
		.family = "nvme",
		.title = "completion slots are freed that were never posted",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The head doorbell of a completion queue gives slots back to the controller.",
		.wrong = "It passes the last posted entry: the driver takes old entries for new ones, so its phase "
			 "is wrong.",
		.fix = "Advance the head only past entries whose phase tag is the one of this lap.",
		.sources = "NVM Express Base 2.0, Queue Model and Asynchronous Event Request; "
			   "docs/hardware/nvme.md#doorbells-2; tianocore/edk2#6912",
		.example = "run nvme-verify --commands 60 --depth 8 --size 512 --timeout 10ms --bug cq-ring-ahead",
		.twin = "run nvme-verify --commands 60 --depth 8 --size 512 --timeout 10ms",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(nvme_driver_error),
	.is = BF_NVME_WRONG_HEAD_PAST_TAIL,
	.says = "head $value+0 on CQ $qid gives back entries that were never posted: the driver took old entries for "
		"new ones, or counts further than it took",
	.on = on,
};

const struct bf_rule bf_rule_nvme_cid_in_use = {
	.about = {
		.id = "NVME-CID-IN-USE",
		.family = "nvme",
		.title = "a command identifier was used again while in flight",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Queue and identifier together name a command until it completes. Commands complete in "
			    "any order.",
		.wrong = "Two commands with one identifier are in flight: their completions cannot be told apart. A "
			 "slot may be free (SQHD has passed it) long before its command is done.",
		.fix = "Take identifiers from a list of free ones, not from the slot's number.",
		.sources = "NVM Express Base 2.0, Queue Model and Asynchronous Event Request; "
			   "docs/hardware/nvme.md#queues-3; spdk/spdk#1795",
		.example = "run nvme-mixed --commands 300 --depth 8 --size 512 --bug cid-by-tail",
		.twin = "run nvme-mixed --commands 300 --depth 8 --size 512",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(nvme_driver_error),
	.is = BF_NVME_WRONG_CID,
	.says = "command identifier $#value was used again on SQ $qid while a command with it was in flight: a "
		"free slot does not mean a free identifier",
	.on = on,
};

const struct bf_rule bf_rule_nvme_fused_half = {
	.about = {
		.id = "NVME-FUSED-HALF",
		.family = "nvme",
		.title = "half of a fused pair comes alone",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Two fused commands lie in neighbouring slots of one queue, FUSE 1 then 2, and one "
			    "doorbell announces both.",
		.wrong = "The partner is missing, is another command, or was announced later: both end with Command "
			 "Aborted due to Missing Fused Command.",
		.fix = "Reserve both slots at once, fill both, ring once. A pair may wrap from the last slot to slot "
		       "0.",
		.sources = "NVM Express Base 2.0, Fused Operations",
		.example = "run nvme-mixed --commands 60 --size 512 --bug fused-half",
		.twin = "run nvme-mixed --commands 60 --size 512",
	},
	.rank = BF_RANK_ENTRY + 6,
	.records = BF_SEES(nvme_driver_error),
	.is = BF_NVME_WRONG_FUSED,
	.says = "command $#value on SQ $qid says that it is half of a fused pair, and the next slot does not hold "
		"the other half",
	.on = on,
};
