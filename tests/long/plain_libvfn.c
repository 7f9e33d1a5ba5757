/* A trial of libvfn's NVMe queues, not a line of which is changed: libbelfry-plain takes its loads and stores. */
#include <stdio.h>
#include <stdlib.h>

#include <belfry.h>

#include "plain_libvfn.h"

struct state {
	struct vfn_job job;
	struct bf_memory data;
};

static void thread(struct bf_thread *t, void *arg)
{
	(void)t;
	vfn_run(arg);
}

static int setup(struct bf_trial *t, void *state)
{
	const struct bf_trial_nvme_opts opts = { .entries = 16 };
	struct bf_trial_nvme_queue q;
	struct state *s = state;
	int rc = bf_trial_nvme(t, 0, &opts);

	if (!rc)
		rc = bf_trial_nvme_queue(t, 0, 0, &q);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, 8 * q.block_bytes, "data", &s->data);
	if (rc)
		return rc;
	memset(s->data.ptr, 0x5a, 8 * q.block_bytes);
	s->job = (struct vfn_job){ .sq = q.sq,
				   .cq = q.cq,
				   .sq_tail = q.sq_tail,
				   .cq_head = q.cq_head,
				   .id = q.id,
				   .entries = q.entries,
				   .nsid = q.nsid,
				   .block_bytes = q.block_bytes,
				   .data_va = s->data.va,
				   .commands = (uint32_t)bf_trial_size(t, 0),
				   .window = 6,
				   .no_head = bf_trial_arg(t) != NULL };
	return bf_trial_launch_cpu(t, 0, 1, thread, s);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct state *s = state;

	bf_trial_check(t, s->job.errors == 0, "%u commands failed", s->job.errors);
	bf_trial_check(t, s->job.done == s->job.commands, "%u commands are done", s->job.done);
	return 0;
}

int main(int argc, char **argv)
{
	static const enum bf_ordering orderings[] = { BF_ORDER_SC, BF_ORDER_TSO, BF_ORDER_GPU };
	static const struct bf_trial_size sizes[] = { { "commands", 50, 1 } };
	const struct bf_trial_search_opts opts = { .seeds = 10, .orderings = orderings, .norderings = 3 };
	const struct bf_trial_spec spec = {
		.name = "libvfn",
		.world = { .seed = 1, .npes = 1, .devices = BF_DEVICE_NVME },
		.setup = setup,
		.verify = verify,
		.state_bytes = sizeof(struct state),
		.arg = argc > 1 ? argv[1] : NULL,
		.sizes = sizes,
		.nsizes = 1,
		.trace = "libvfn.bft",
	};
	struct bf_trial_result r;

	bf_trial_search(&spec, &opts, &r);
	puts(r.text);
	return r.ok ? 0 : 1;
}
