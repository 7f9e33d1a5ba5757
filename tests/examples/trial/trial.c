/*
 * A trial: submission code that writes messages from PE 0 into the heap of PE 1, over an mlx5 queue pair, and a check
 * of what arrives. It has a mistake, which the trial finds and names.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <belfry.h>

#define MESSAGE 256u
#define WINDOW 4u /* entries under way at a time */

/* The mistake: false leaves out a fence. Set it to true, and the trial is good. */
static const bool entry_fence = false;

struct state {
	struct bf_trial_mlx5_queue hw;
	uint32_t messages, produced, consumed, errors;
};

/* ---- the code under test: put yours here ---- */

static struct bf_vec128 words(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return (struct bf_vec128){ .w = { bf_htobe32(a), bf_htobe32(b), bf_htobe32(c), bf_htobe32(d) } };
}

/* One RDMA WRITE: the entry, the doorbell record, the doorbell. */
static void post(struct bf_thread *t, struct state *s, uint64_t offset)
{
	const struct bf_trial_mlx5_queue *hw = &s->hw;
	const uint64_t from = hw->local_va + offset, to = hw->remote_va + offset;
	const uint32_t first = (s->produced & 0xffff) << 8 | BF_MLX5_OP_RDMA_WRITE, second = hw->qpn << 8 | 3;
	uint8_t *slot = hw->sq + (s->produced & (hw->wqebbs - 1)) * BF_MLX5_WQEBB;

	bf_st_weak128(t, slot, words(first, second, BF_MLX5_CTRL_CQ_UPDATE, 0));
	bf_st_weak128(t, slot + 16, words((uint32_t)(to >> 32), (uint32_t)to, hw->rkey, 0));
	bf_st_weak128(t, slot + 32, words(MESSAGE, hw->lkey, (uint32_t)(from >> 32), (uint32_t)from));
	s->produced++;
	if (entry_fence)
		bf_fence_sys(t);
	bf_st_relaxed32(t, hw->dbrec, bf_htobe32(s->produced & 0xffff), BF_AT_SYS);
	bf_fence_sys(t);
	bf_mmio_st64(t, hw->doorbell, (uint64_t)bf_htobe32(second) << 32 | bf_htobe32(first));
}

/* The opcode of the next completion: 0 is good. */
static uint32_t wait_for_one(struct bf_thread *t, struct state *s)
{
	const struct bf_trial_mlx5_queue *hw = &s->hw;
	const uint8_t *last = hw->cq + (s->consumed & (hw->cqes - 1)) * 64 + 60;
	const uint32_t owner = s->consumed / hw->cqes & 1;
	uint32_t word = bf_ld_acquire32(t, last, BF_AT_SYS);

	while (word >> 28 == BF_MLX5_CQE_INVALID || (word >> 24 & BF_MLX5_CQE_OWNER) != owner) {
		bf_spin(t, last, "completion");
		word = bf_ld_acquire32(t, last, BF_AT_SYS);
	}
	s->consumed++;
	bf_st_relaxed32(t, hw->cq_dbrec, bf_htobe32(s->consumed & 0xffffff), BF_AT_SYS);
	return word >> 28;
}

static void kernel(struct bf_thread *t, void *arg)
{
	struct state *s = arg;

	while (s->consumed < s->messages && !s->errors) {
		while (s->produced < s->messages && s->produced - s->consumed < WINDOW)
			post(t, s, (uint64_t)s->produced * MESSAGE);
		s->errors += wait_for_one(t, s) != 0;
	}
}

/* ---- the machine, and what must be true at the end ---- */

static int setup(struct bf_trial *t, void *state)
{
	struct state *s = state;
	int rc = bf_trial_mlx5(t, NULL);

	if (!rc)
		rc = bf_trial_mlx5_queue(t, 0, 1, 0, &s->hw);
	if (rc)
		return rc;
	s->messages = (uint32_t)bf_trial_size(t, 0);
	for (uint32_t i = 0; i < s->messages * MESSAGE; i++)
		s->hw.local[i] = (uint8_t)(i * 7 + 1);
	return bf_trial_launch(t, 0, 1, 1, kernel, s);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct state *s = state;

	bf_trial_check(t, s->errors == 0, "a write failed");
	bf_trial_equal(t, "what arrived", bf_trial_heap(t, 1).ptr, s->hw.local, s->messages * MESSAGE);
	return 0;
}

int main(void)
{
	static const struct bf_trial_size sizes[] = { { "messages", 8, 1 } };
	const struct bf_trial_spec spec = {
		.name = "trial",
		.world = { .seed = 1, .npes = 2, .lanes = 1 },
		.setup = setup,
		.verify = verify,
		.state_bytes = sizeof(struct state),
		.sizes = sizes,
		.nsizes = 1,
		.trace = getenv("MY_TRACE") ? getenv("MY_TRACE") : "trial.bft",
	};
	struct bf_trial_result r;

	bf_trial_search(&spec, NULL, &r);
	puts(r.text);
	return r.ok ? 0 : 1;
}
