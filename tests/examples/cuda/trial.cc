/* Trials of put.cu, read.cu and sum.cu. */
#include <belfry.h>

#include <cstdio>
#include <cstring>

#include "put.h"
#include "read.h"
#include "sum.h"

namespace
{

struct put_state {
	struct bf_trial_mlx5_queue hw;
	struct bf_memory errors;
	uint32_t messages;
};

int put_setup(struct bf_trial *t, void *state)
{
	auto *p = static_cast<put_state *>(state);
	int rc = bf_trial_mlx5(t, nullptr);

	if (!rc)
		rc = bf_trial_mlx5_queue(t, 0, 1, 0, &p->hw);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_GPU, 4096, "errors", &p->errors);
	if (rc)
		return rc;
	p->messages = (uint32_t)bf_trial_size(t, 0);
	for (uint32_t i = 0; i < p->messages * 64; i++)
		p->hw.local[i] = (uint8_t)(i * 7 + 1);
	belfry::host host(t, 0); // what <<<>>> below starts
	start({ p->hw.sq, p->hw.cq, p->hw.dbrec, p->hw.cq_dbrec, p->hw.doorbell, p->hw.wqebbs, p->hw.cqes, p->hw.qpn,
		p->hw.lkey, p->hw.rkey, p->hw.local_va, p->hw.remote_va },
	      p->messages, 8, static_cast<uint32_t *>(p->errors.ptr));
	return host.error;
}

int put_verify(struct bf_trial *t, void *state)
{
	auto *p = static_cast<put_state *>(state);

	bf_trial_check(t, *static_cast<uint32_t *>(p->errors.ptr) == 0, "a write failed");
	bf_trial_equal(t, "what arrived", bf_trial_heap(t, 1).ptr, p->hw.local, p->messages * 64);
	return 0;
}

struct read_state {
	struct bf_trial_nvme_queue hw;
	struct bf_memory buffer, errors;
	uint32_t rounds;
};

int read_setup(struct bf_trial *t, void *state)
{
	auto *r = static_cast<read_state *>(state);
	struct bf_trial_nvme_opts opts = {};
	int rc;

	opts.entries = 128;
	opts.place = BF_PLACE_GPU;
	r->rounds = (uint32_t)bf_trial_size(t, 0);
	rc = bf_trial_nvme(t, 0, &opts);
	if (!rc)
		rc = bf_trial_nvme_queue(t, 0, 0, &r->hw);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_GPU, 32ull * r->rounds * r->hw.block_bytes, "buffer", &r->buffer);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_GPU, 4096, "errors", &r->errors);
	if (rc)
		return rc;
	memset(r->buffer.ptr, 0xee, r->buffer.size);
	const nvme_queue q = { r->hw.sq,      r->hw.cq,   r->hw.sq_tail,    r->hw.cq_head,
			       r->hw.entries, r->hw.nsid, r->hw.block_bytes };
	return belfry::launch(t, 0, 1, 32, 0, read, q, r->buffer.va, r->rounds, static_cast<uint32_t *>(r->errors.ptr));
}

int read_verify(struct bf_trial *t, void *state)
{
	auto *r = static_cast<read_state *>(state);
	const auto *bytes = static_cast<const uint8_t *>(r->buffer.ptr);

	bf_trial_check(t, *static_cast<uint32_t *>(r->errors.ptr) == 0, "a read failed");
	for (uint64_t i = 0; i < r->rounds * 32ull * r->hw.block_bytes; i++)
		if (!bf_trial_check(t, bytes[i] == 0, "byte %llu of an empty drive is 0x%02x", (unsigned long long)i,
				    bytes[i]))
			break;
	return 0;
}

struct sum_state {
	struct bf_memory in, out, blocks, positive;
};

constexpr int numbers = 256, nblocks = 3;

int sum_setup(struct bf_trial *t, void *state)
{
	auto *s = static_cast<sum_state *>(state);
	int rc = bf_trial_memory(t, 0, BF_PLACE_GPU, numbers * nblocks * sizeof(float), "in", &s->in);

	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_GPU, 4096, "out", &s->out);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_GPU, 4096, "blocks", &s->blocks);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_GPU, 4096, "positive", &s->positive);
	if (rc)
		return rc;
	for (int i = 0; i < numbers * nblocks; i++)
		static_cast<float *>(s->in.ptr)[i] = (float)(i % 5);
	belfry::host host(t, 0);
	start(static_cast<float *>(s->in.ptr), numbers, static_cast<float *>(s->out.ptr),
	      static_cast<unsigned *>(s->blocks.ptr), static_cast<int *>(s->positive.ptr), nblocks);
	return host.error;
}

int sum_verify(struct bf_trial *t, void *state)
{
	auto *s = static_cast<sum_state *>(state);
	float all = 0;
	int positive = 0;

	for (int i = 0; i < numbers * nblocks; i++)
		all += (float)(i % 5);
	for (int i = 0; i < 128; i++)
		positive += i % 5 > 0;
	bf_trial_check(t, *static_cast<float *>(s->out.ptr) == all, "the sum is %g, not %g",
		       (double)*static_cast<float *>(s->out.ptr), (double)all);
	bf_trial_check(t, *static_cast<int *>(s->positive.ptr) == positive, "%d positive, not %d",
		       *static_cast<int *>(s->positive.ptr), positive);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	static const struct bf_trial_size sizes[] = { { "messages", 40, 1 }, { "rounds", 6, 1 } };
	const char *what = argc > 1 ? argv[1] : "";
	struct bf_trial_spec spec = {};
	struct bf_trial_search_opts opts = {};
	static struct bf_trial_result r;

	spec.name = what;
	spec.world.seed = 1;
	spec.nsizes = 1;
	if (strcmp(what, "put") == 0) {
		spec.world.npes = 2;
		spec.setup = put_setup;
		spec.verify = put_verify;
		spec.state_bytes = sizeof(put_state);
		spec.sizes = &sizes[0];
	} else if (strcmp(what, "read") == 0) {
		spec.world.devices = BF_DEVICE_NVME;
		spec.setup = read_setup;
		spec.verify = read_verify;
		spec.state_bytes = sizeof(read_state);
		spec.sizes = &sizes[1];
	} else {
		spec.setup = sum_setup;
		spec.verify = sum_verify;
		spec.state_bytes = sizeof(sum_state);
		spec.nsizes = 0;
	}
	spec.trace = argc > 2 ? argv[2] : nullptr;
	opts.seeds = 5;
	bf_trial_search(&spec, &opts, &r);
	printf("%s\n", r.text);
	return !r.ok;
}
