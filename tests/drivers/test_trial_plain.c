/* libbelfry-plain: plain C, compiled with -fsanitize=thread, stores and loads as a simulated thread does. */
#include <endian.h>

#include "plain_mlx5.h"
#include "trial_rig.h"

#define MESSAGE 64u

struct config {
	enum plain_mistake mistake;
	bool cpu;
};

struct plain {
	struct plain_qp qp;
	struct bf_trial_mlx5_queue hw;
	struct bf_memory counter;
	uint32_t messages, window, errors;
};

static void writer(struct bf_thread *t, void *arg)
{
	struct plain *p = arg;

	(void)t;
	while (p->qp.polled < p->messages && !p->errors) {
		while (p->qp.posted < p->messages && p->qp.posted - p->qp.polled < p->window) {
			const uint64_t at = (uint64_t)p->qp.posted * MESSAGE;

			plain_put(&p->qp, p->hw.remote_va + at, p->hw.local_va + at, MESSAGE);
		}
		p->errors += plain_poll(&p->qp) != 0;
	}
	for (uint32_t i = 0; i < p->messages; i++)
		plain_count(p->counter.ptr);
}

static void counter(struct bf_thread *t, void *arg)
{
	struct plain *p = arg;

	(void)t;
	for (uint32_t i = 0; i < p->messages; i++)
		plain_count(p->counter.ptr);
}

static int setup(struct bf_trial *t, void *state)
{
	const struct bf_trial_mlx5_opts opts = { .wqebbs = 16 };
	const struct config *c = bf_trial_arg(t);
	struct plain *p = state;
	int rc = bf_trial_mlx5(t, &opts);

	if (!rc)
		rc = bf_trial_mlx5_queue(t, 0, 1, 0, &p->hw);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, 4096, "counter", &p->counter);
	if (rc)
		return rc;
	p->messages = (uint32_t)bf_trial_size(t, 0);
	/* With one at a time each poll comes before its completion. */
	p->window = c->mistake == PLAIN_TWENTY ? 20 : c->mistake < PLAIN_OWNER_IGNORED ? 8 : 1;
	p->qp = (struct plain_qp){ .sq = (void *)p->hw.sq,
				   .cq = (void *)p->hw.cq,
				   .dbrec = p->hw.dbrec,
				   .cq_dbrec = p->hw.cq_dbrec,
				   .doorbell = p->hw.doorbell,
				   .qpn = p->hw.qpn,
				   .wqebbs = p->hw.wqebbs,
				   .cqes = p->hw.cqes,
				   .lkey = p->hw.lkey,
				   .rkey = p->hw.rkey,
				   .mistake = c->mistake };
	for (uint32_t i = 0; i < p->messages * MESSAGE; i++)
		p->hw.local[i] = (uint8_t)(i * 7 + 1);
	if (c->cpu) {
		rc = bf_trial_launch_cpu(t, 0, 1, writer, p);
		return rc ? rc : bf_trial_launch_cpu(t, 0, 1, counter, p);
	}
	rc = bf_trial_launch(t, 0, 1, 1, writer, p);
	return rc ? rc : bf_trial_launch(t, 0, 1, 1, counter, p);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct plain *p = state;
	const uint32_t *counted = p->counter.ptr;

	bf_trial_check(t, p->errors == 0, "a write failed");
	bf_trial_check(t, *counted == 2 * p->messages, "%u counted", *counted);
	bf_trial_equal(t, "what arrived", bf_trial_heap(t, 1).ptr, p->hw.local, p->messages * MESSAGE);
	return 0;
}

static void ends_in(struct config c, const char *rule)
{
	static const struct bf_trial_size sizes[] = { { "messages", 80, 1 } };
	const struct bf_trial_spec spec = {
		.name = "plain",
		.world = { .seed = 1, .npes = 2, .lanes = 1 },
		.setup = setup,
		.verify = verify,
		.state_bytes = sizeof(struct plain),
		.arg = &c,
		.sizes = sizes,
		.nsizes = 1,
	};

	trial_ends_in(&spec, 10, rule);
}

START_TEST(right_code_is_good)
{
	ends_in((struct config){ .cpu = _i }, NULL);
}
END_TEST

static const struct {
	enum plain_mistake mistake;
	const char *rule;
} named[] = {
	{ PLAIN_NO_ENTRY_FENCE, "MLX5-ENTRY-ORDER" }, { PLAIN_NO_DOORBELL_FENCE, "MLX5-DBREC-ORDER" },
	{ PLAIN_RKEY_ORDER, "MLX5-KEY-UNKNOWN" },     { PLAIN_OWNER_WRAP, "MLX5-CQE-OWNER" },
	{ PLAIN_OWNER_IGNORED, "MLX5-CQE-OWNER" },    { PLAIN_WEAK_POLL, "MLX5-WEAK-POLL" },
	{ PLAIN_RECORD_ORDER, "MLX5-DBREC-ENDIAN" },  { PLAIN_TWENTY, "MLX5-RING-OVERRUN" },
	{ PLAIN_NO_FENCES, "MLX5-DBREC-ORDER" },
};

/* As a GPU's thread would run it: on a CPU the order of stores needs no fence, and no copy is stale. */
START_TEST(each_mistake_has_its_name)
{
	ends_in((struct config){ .mistake = named[_i].mistake }, named[_i].rule);
}
END_TEST

/* Outside of a machine it is the same code. */
START_TEST(elsewhere_nothing_changes)
{
	struct plain_wqe sq[16] = { 0 };
	struct plain_cqe cq[16] = { 0 };
	uint32_t dbrec = 0, cq_dbrec = 0, n = 4;
	uint64_t doorbell = 0;
	struct plain_qp q = { .sq = sq,
			      .cq = cq,
			      .dbrec = &dbrec,
			      .cq_dbrec = &cq_dbrec,
			      .doorbell = &doorbell,
			      .qpn = 5,
			      .wqebbs = 16,
			      .cqes = 16 };

	plain_put(&q, 1, 2, 3);
	ck_assert_uint_eq(be32toh(sq[0].bytes), 3);
	ck_assert_uint_eq(be32toh(dbrec), 1);
	ck_assert_mem_eq(&doorbell, sq, sizeof(doorbell));
	ck_assert_uint_eq(plain_poll(&q), 0);
	ck_assert_uint_eq(plain_count(&n), 4);
	ck_assert_uint_eq(n, 5);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("mlx5");

	tcase_add_loop_test(tc, right_code_is_good, 0, 2);
	tcase_add_loop_test(tc, each_mistake_has_its_name, 0, BF_ARRAY_LEN(named));
	tcase_add_test(tc, elsewhere_nothing_changes);
	return trial_rig_run(tc, "plain code");
}
