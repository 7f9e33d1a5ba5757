/* A user's own driver that says nothing of what it does: each mistake has its name from stores, loads and the device
 * alone. */
#include "own_mlx5.h"
#include "trial_rig.h"

#define MESSAGE 64u

struct own {
	struct own_qp qp;
	uint32_t messages, errors;
};

static void writer(struct bf_thread *t, void *arg)
{
	struct own *o = arg;

	while (o->qp.polled < o->messages && !o->errors) {
		while (o->qp.posted < o->messages && o->qp.posted - o->qp.polled < o->qp.window)
			own_put(t, &o->qp, (uint64_t)o->qp.posted * MESSAGE, MESSAGE);
		o->errors += own_poll(t, &o->qp) != 0;
	}
}

static int setup(struct bf_trial *t, void *state)
{
	const struct bf_trial_mlx5_opts opts = { .wqebbs = 16 };
	const enum own_mistake *mistake = bf_trial_arg(t);
	struct own *o = state;
	int rc = bf_trial_mlx5(t, &opts);

	if (!rc)
		rc = bf_trial_mlx5_queue(t, 0, 1, 0, &o->qp.hw);
	if (rc)
		return rc;
	o->messages = (uint32_t)bf_trial_size(t, 0);
	o->qp.mistake = *mistake;
	o->qp.window = *mistake == OWN_TWENTY ? 20 : 8;
	for (uint32_t i = 0; i < o->messages * MESSAGE; i++)
		o->qp.hw.local[i] = (uint8_t)(i * 7 + 1);
	return bf_trial_launch(t, 0, 1, 1, writer, o);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct own *o = state;

	bf_trial_check(t, o->errors == 0, "a write failed");
	bf_trial_equal(t, "what arrived", bf_trial_heap(t, 1).ptr, o->qp.hw.local, o->messages * MESSAGE);
	return 0;
}

static const struct bf_trial_size sizes[] = { { "messages", 80, 1 } };

static void ends_in(enum own_mistake mistake, const char *rule)
{
	const struct bf_trial_spec spec = {
		.name = "own",
		.world = { .seed = 1, .npes = 2, .lanes = 1 },
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
	enum own_mistake mistake;
	const char *rule;
} named[] = {
	{ OWN_NONE, NULL },
	{ OWN_NO_ENTRY_FENCE, "MLX5-ENTRY-ORDER" },
	{ OWN_NO_DOORBELL_FENCE, "MLX5-DBREC-ORDER" },
	{ OWN_RKEY_ORDER, "MLX5-KEY-UNKNOWN" },
	{ OWN_OWNER_WRAP, "MLX5-CQE-OWNER" },
	{ OWN_OWNER_IGNORED, "MLX5-CQE-OWNER" },
	{ OWN_WEAK_POLL, "MLX5-WEAK-POLL" },
	{ OWN_RECORD_ORDER, "MLX5-DBREC-ENDIAN" },
	{ OWN_TWENTY, "MLX5-RING-OVERRUN" },
	{ OWN_PLAIN, "MLX5-ENTRY-UNSEEN" },
};

START_TEST(each_mistake_has_its_name)
{
	ends_in(named[_i].mistake, named[_i].rule);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("mlx5");

	tcase_add_loop_test(tc, each_mistake_has_its_name, 0, BF_ARRAY_LEN(named));
	return trial_rig_run(tc, "own driver");
}
