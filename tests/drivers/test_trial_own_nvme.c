/* A user's own NVMe driver that says nothing of what it does: each mistake has its name from stores, loads and the
 * controller alone. */
#include "own_nvme.h"
#include "trial_rig.h"

struct own {
	struct own_nvme q;
	struct bf_memory data;
	uint32_t commands, errors;
};

static void writer(struct bf_thread *t, void *arg)
{
	struct own *o = arg;

	while (o->q.posted < o->commands && !o->errors) {
		for (uint32_t i = 0; i < o->q.window && o->q.posted < o->commands; i++)
			own_nvme_put(t, &o->q);
		o->errors += own_nvme_drain(t, &o->q) != 0;
	}
}

static int setup(struct bf_trial *t, void *state)
{
	const enum own_nvme_mistake *mistake = bf_trial_arg(t);
	struct own *o = state;
	int rc = bf_trial_nvme(t, 0, &(struct bf_trial_nvme_opts){ .entries = 16 });

	if (!rc)
		rc = bf_trial_nvme_queue(t, 0, 0, &o->q.hw);
	o->commands = (uint32_t)bf_trial_size(t, 0);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, o->commands * o->q.hw.block_bytes, "data", &o->data);
	if (rc)
		return rc;
	o->q.data = o->data.va;
	o->q.mistake = *mistake;
	o->q.window = *mistake == OWN_NVME_TWENTY ? 20 : 8;
	return bf_trial_launch(t, 0, 1, 1, writer, o);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct own *o = state;

	bf_trial_check(t, o->errors == 0, "a write failed");
	return 0;
}

static void ends_in(enum own_nvme_mistake mistake, const char *rule)
{
	static const struct bf_trial_size sizes[] = { { "commands", 80, 1 } };
	const struct bf_trial_spec spec = {
		.name = "own NVMe",
		.world = { .seed = 1, .devices = BF_DEVICE_NVME, .lanes = 1 },
		.setup = setup,
		.verify = verify,
		.state_bytes = sizeof(struct own),
		.arg = &mistake,
		.sizes = sizes,
		.nsizes = 1,
	};

	trial_ends_in(&spec, 10, rule);
}

static const struct {
	enum own_nvme_mistake mistake;
	const char *rule;
} named[] = {
	{ OWN_NVME_NONE, NULL },
	{ OWN_NVME_NO_FENCE, "NVME-ENTRY-ORDER" },
	{ OWN_NVME_PLAIN, "MACHINE-UNSEEN" },
	{ OWN_NVME_PHASE_STAYS, "NVME-PHASE-WRAP" },
	{ OWN_NVME_PHASE_INVERTED, "NVME-PHASE" },
	{ OWN_NVME_PHASE_IGNORED, "NVME-PHASE-WRAP" },
	{ OWN_NVME_PHASE_BIT, "NVME-COMPLETION-UNSEEN" },
	{ OWN_NVME_WEAK_POLL, "NVME-WEAK-POLL" },
	{ OWN_NVME_HEAD_NEVER, "NVME-CQ-NOT-RUNG" },
	{ OWN_NVME_HEAD_AHEAD, "NVME-HEAD-PAST-TAIL" },
	{ OWN_NVME_HEAD_FIRST, "NVME-CQ-FREED" },
	{ OWN_NVME_HEAD_COUNTS, "NVME-WRITE-IGNORED" },
	{ OWN_NVME_TWENTY, "NVME-SQ-OVERRUN" },
};

START_TEST(each_mistake_has_its_name)
{
	ends_in(named[_i].mistake, named[_i].rule);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("nvme");

	tcase_add_loop_test(tc, each_mistake_has_its_name, 0, BF_ARRAY_LEN(named));
	return trial_rig_run(tc, "own NVMe driver");
}
