/*
 * A trial of put.cu: the machine, the launch, and what must be true at the end.
 *
 *   build/trial             put.cu as g++ or clang has compiled it
 *   build/trial put.ptx     as nvcc -ptx has
 */
#include <belfry.h>

#include <cstdio>
#include <cstdlib>

#include "put.h"

extern "C" void put(struct queue *q, uint32_t count); // in put.cu

namespace
{

constexpr uint32_t message = 256;

struct state {
	struct bf_trial_mlx5_queue hw;
	struct bf_memory queue; // struct queue, where the GPU finds it
	uint32_t messages;
};

int launch(struct bf_trial *t, const char *ptx, const state *s)
{
	const uint64_t args[] = { (uint64_t)(uintptr_t)s->queue.ptr, s->messages };
	struct bf_ptx_library *library;
	int rc;

	if (!ptx)
		return belfry::launch(t, 0, 1, 32, 0, put, static_cast<queue *>(s->queue.ptr), s->messages);
	rc = bf_trial_ptx(t, 0, &ptx, 1, &library);
	return rc ? rc : bf_trial_ptx_launch(t, 0, library, "put", 1, 32, args, 2);
}

int setup(struct bf_trial *t, void *memory)
{
	auto *s = static_cast<state *>(memory);
	int rc = bf_trial_mlx5(t, nullptr);

	if (!rc)
		rc = bf_trial_mlx5_queue(t, 0, 1, 0, &s->hw);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_GPU, sizeof(queue), "queue", &s->queue);
	if (rc)
		return rc;
	s->messages = (uint32_t)bf_trial_size(t, 0);
	for (uint32_t i = 0; i < s->messages * message; i++)
		s->hw.local[i] = (uint8_t)(i * 7 + 1);
	*static_cast<queue *>(s->queue.ptr) = { s->hw.sq,
						s->hw.cq,
						s->hw.dbrec,
						s->hw.cq_dbrec,
						s->hw.doorbell,
						s->hw.local_va,
						s->hw.remote_va,
						s->hw.wqebbs,
						s->hw.cqes,
						s->hw.qpn,
						s->hw.lkey,
						s->hw.rkey,
						0 };
	return launch(t, static_cast<const char *>(bf_trial_arg(t)), s);
}

int verify(struct bf_trial *t, void *memory)
{
	auto *s = static_cast<state *>(memory);

	bf_trial_check(t, static_cast<queue *>(s->queue.ptr)->errors == 0, "a write failed");
	bf_trial_equal(t, "what arrived", bf_trial_heap(t, 1).ptr, s->hw.local, s->messages * message);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	static const struct bf_trial_size sizes[] = { { "messages", 8, 1 } };
	const char *trace = getenv("MY_TRACE");
	struct bf_trial_spec spec = {};
	static struct bf_trial_result r;

	spec.name = "trial";
	spec.world.seed = 1;
	spec.world.npes = 2;
	spec.setup = setup;
	spec.verify = verify;
	spec.state_bytes = sizeof(state);
	spec.arg = argc > 1 ? argv[1] : nullptr;
	spec.sizes = sizes;
	spec.nsizes = 1;
	spec.trace = trace ? trace : "trial.bft";
	bf_trial_search(&spec, nullptr, &r);
	puts(r.text);
	return r.ok ? 0 : 1;
}
