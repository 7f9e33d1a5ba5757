/* An NVMe data path under test: writes blocks and reads them back, one command at a time, polled. */
#include <stdlib.h>

#include <belfry.h>

struct my_nvme {
	struct bf_trial_nvme_queue hw;
	struct bf_memory out, in;
	uint32_t tail, head, phase, failed;
	int no_fence; /* the mistake: MY_BUG=no-entry-fence */
};

#define BLOCKS 24u

static uint32_t do_command(struct bf_thread *t, struct my_nvme *m, uint32_t opcode, uint64_t data, uint64_t lba)
{
	uint32_t dw[16] = { opcode | m->tail << 16, m->hw.nsid };
	uint8_t *sqe = m->hw.sq + m->tail * 64, *cqe = m->hw.cq + m->head * 16;
	uint32_t status;

	bf_put_le64(&dw[6], data); /* PRP1; one block fits a page, so there is no PRP2 */
	bf_put_le64(&dw[10], lba);
	for (uint32_t i = 0; i < 16; i++)
		bf_st_weak32(t, sqe + i * 4, dw[i]);
	m->tail = (m->tail + 1) % m->hw.entries;
	if (!m->no_fence)
		bf_fence_sys(t);
	bf_mmio_st32(t, m->hw.sq_tail, m->tail);

	status = bf_ld_acquire32(t, cqe + 12, BF_AT_SYS);
	while ((status >> 16 & 1) != m->phase) {
		bf_spin(t, cqe + 12, "completion");
		status = bf_ld_acquire32(t, cqe + 12, BF_AT_SYS);
	}
	m->head = (m->head + 1) % m->hw.entries;
	m->phase ^= m->head == 0;
	bf_mmio_st32(t, m->hw.cq_head, m->head);
	return status >> 17;
}

static void kernel(struct bf_thread *t, void *arg)
{
	struct my_nvme *m = arg;

	for (uint32_t i = 0; i < BLOCKS && !m->failed; i++) {
		const uint64_t at = (uint64_t)i * m->hw.block_bytes;

		m->failed = do_command(t, m, BF_NVME_IO_WRITE, m->out.va + at, i);
		if (!m->failed)
			m->failed = do_command(t, m, BF_NVME_IO_READ, m->in.va + at, i);
	}
}

static int setup(struct bf_trial *t, void *state)
{
	struct my_nvme *m = state;
	const char *bug = getenv("MY_BUG");
	int rc = bf_trial_nvme(t, 0, &(struct bf_trial_nvme_opts){ .entries = 16 });

	if (!rc)
		rc = bf_trial_nvme_queue(t, 0, 0, &m->hw);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, BLOCKS * m->hw.block_bytes, "out", &m->out);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, BLOCKS * m->hw.block_bytes, "in", &m->in);
	if (rc)
		return rc;
	m->phase = 1;
	m->no_fence = bug && strcmp(bug, "no-entry-fence") == 0;
	for (uint32_t i = 0; i < BLOCKS * m->hw.block_bytes; i++)
		((uint8_t *)m->out.ptr)[i] = (uint8_t)(i * 13 + 5);
	return bf_trial_launch(t, 0, 1, 1, kernel, m);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct my_nvme *m = state;

	bf_trial_check(t, m->failed == 0, "a command ended with status 0x%x", m->failed);
	bf_trial_equal(t, "what was read", m->in.ptr, m->out.ptr, BLOCKS * m->hw.block_bytes);
	return 0;
}

int main(void)
{
	const struct bf_trial_spec spec = {
		.name = "my_nvme",
		.world = { .seed = 1, .devices = BF_DEVICE_NVME, .lanes = 1 },
		.setup = setup,
		.verify = verify,
		.state_bytes = sizeof(struct my_nvme),
		.trace = getenv("MY_TRACE"),
	};
	struct bf_trial_result r;

	bf_trial_search(&spec, NULL, &r);
	puts(r.text);
	return r.ok ? 0 : 1;
}
