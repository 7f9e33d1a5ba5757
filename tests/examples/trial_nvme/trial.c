/*
 * A trial: code that drives an NVMe queue pair writes blocks and reads them back, one command at a time, polled. It has
 * a mistake, which the trial finds and names.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <belfry.h>

/* The mistake: false leaves out a fence. Set it to true, and the trial is good. */
static const bool entry_fence = false;

struct state {
	struct bf_trial_nvme_queue hw;
	struct bf_memory out, in; /* what is written, what was read */
	uint32_t blocks, tail, head, phase, failed;
};

/* ---- the code under test: put yours here ---- */

/* One command: the entry, the doorbell, the completion. Returns its status; 0 is good. */
static uint32_t command(struct bf_thread *t, struct state *s, uint32_t opcode, uint64_t data, uint64_t lba)
{
	uint32_t dw[16] = { opcode | s->tail << 16, s->hw.nsid }, status;
	uint8_t *sqe = s->hw.sq + s->tail * 64;
	const uint8_t *cqe = s->hw.cq + s->head * 16;

	bf_put_le64(&dw[6], data); /* PRP1; one block fits a page, so there is no PRP2 */
	bf_put_le64(&dw[10], lba);
	for (uint32_t i = 0; i < 16; i++)
		bf_st_weak32(t, sqe + i * 4, dw[i]);
	s->tail = (s->tail + 1) % s->hw.entries;
	if (entry_fence)
		bf_fence_sys(t);
	bf_mmio_st32(t, s->hw.sq_tail, s->tail);

	status = bf_ld_acquire32(t, cqe + 12, BF_AT_SYS);
	while ((status >> 16 & 1) != s->phase) {
		bf_spin(t, cqe + 12, "completion");
		status = bf_ld_acquire32(t, cqe + 12, BF_AT_SYS);
	}
	s->head = (s->head + 1) % s->hw.entries;
	s->phase ^= s->head == 0;
	bf_mmio_st32(t, s->hw.cq_head, s->head);
	return status >> 17;
}

static void kernel(struct bf_thread *t, void *arg)
{
	struct state *s = arg;

	for (uint32_t i = 0; i < s->blocks && !s->failed; i++) {
		const uint64_t at = (uint64_t)i * s->hw.block_bytes;

		s->failed = command(t, s, BF_NVME_IO_WRITE, s->out.va + at, i);
		if (!s->failed)
			s->failed = command(t, s, BF_NVME_IO_READ, s->in.va + at, i);
	}
}

/* ---- the machine, and what must be true at the end ---- */

static int setup(struct bf_trial *t, void *state)
{
	struct state *s = state;
	int rc = bf_trial_nvme(t, 0, &(struct bf_trial_nvme_opts){ .entries = 16 });

	if (!rc)
		rc = bf_trial_nvme_queue(t, 0, 0, &s->hw);
	if (rc)
		return rc;
	s->phase = 1;
	s->blocks = (uint32_t)bf_trial_size(t, 0);
	rc = bf_trial_memory(t, 0, BF_PLACE_HOST, s->blocks * s->hw.block_bytes, "out", &s->out);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, s->blocks * s->hw.block_bytes, "in", &s->in);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < s->blocks * s->hw.block_bytes; i++)
		((uint8_t *)s->out.ptr)[i] = (uint8_t)(i * 13 + 5);
	return bf_trial_launch_cpu(t, 0, 1, kernel, s);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct state *s = state;

	bf_trial_check(t, s->failed == 0, "a command ended with status 0x%x", s->failed);
	bf_trial_equal(t, "what was read", s->in.ptr, s->out.ptr, s->blocks * s->hw.block_bytes);
	return 0;
}

int main(void)
{
	static const struct bf_trial_size sizes[] = { { "blocks", 24, 1 } };
	const struct bf_trial_spec spec = {
		.name = "trial",
		.world = { .seed = 1, .devices = BF_DEVICE_NVME },
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
