// GPUNetIO's device headers, unmodified, behind kernels that make the calls of tests/drivers/gin_original.h; and a kernel
// for each doubt about them. tests/long/gin_original.sh compiles and runs this.
#include <doca_gpunetio_dev_verbs_onesided.cuh>
#include <doca_gpunetio_dev_verbs_counter.cuh>

#include "gin_layout.cuh"

template <doca_gpu_dev_verbs_resource_sharing_mode mode>
__device__ void call(const gin_job &j, const gin_call &c, uint64_t *result)
{
	constexpr auto add = DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD;
	constexpr auto automatic = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
	constexpr auto thread = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD;
	Qp *qp = (Qp *)j.qp, *companion = (Qp *)j.companion;
	const Address remote = { c.remote, j.rkey }, local = { c.local, j.lkey };
	const Address signal = { j.signal, j.signal_key }, sink = { j.sink, j.sink_key };
	const Address counter = { j.counter, j.sink_key };
	doca_gpu_dev_verbs_ticket_t ticket = ~0ull;

	switch (c.op) {
	case GIN_PUT:
		doca_gpu_dev_verbs_put<mode>(qp, remote, local, c.bytes, &ticket, c.flags);
		break;
	case GIN_VALUE:
		doca_gpu_dev_verbs_p<uint64_t, mode>(qp, remote, c.bytes, &ticket, c.flags);
		break;
	case GIN_SIGNAL:
		doca_gpu_dev_verbs_signal<add, mode>(qp, signal, sink, 1, &ticket, c.flags);
		break;
	case GIN_PUT_SIGNAL:
		doca_gpu_dev_verbs_put_signal<add, mode>(qp, remote, local, c.bytes, signal, sink, 1, &ticket, c.flags);
		break;
	case GIN_GET:
		doca_gpu_dev_verbs_get<mode>(qp, remote, local, c.bytes, sink, &ticket, c.flags);
		break;
	case GIN_GET_VISIBLE:
		doca_gpu_dev_verbs_get<mode, automatic, thread, DOCA_GPUNETIO_VERBS_MCST_ENABLED>(
			qp, remote, local, c.bytes, sink, &ticket, c.flags);
		break;
	case GIN_COUNTER:
		doca_gpu_dev_verbs_put_counter<mode>(qp, remote, local, c.bytes, companion, counter, sink, 1, c.flags);
		break;
	case GIN_VALUE_SIGNAL:
		doca_gpu_dev_verbs_p_signal<uint64_t, add, mode>(qp, remote, c.bytes, signal, sink, 1, &ticket, c.flags);
		break;
	case GIN_SIGNAL_COUNTER:
		doca_gpu_dev_verbs_signal_counter<add, mode>(qp, signal, sink, 1, companion, counter, sink, 1, c.flags);
		break;
	case GIN_WAIT:
		doca_gpu_dev_verbs_wait<mode>(qp);
		break;
	case GIN_WAIT_TICKET:
		ticket = doca_gpu_dev_verbs_poll_cq_at<mode>(&qp->cq_sq, c.bytes);
		break;
	default:
		ticket = doca_gpu_dev_verbs_poll_one_cq_at<mode>(&qp->cq_sq, c.bytes);
	}
	*result = ticket;
}

template <doca_gpu_dev_verbs_resource_sharing_mode mode> __device__ void calls(const gin_job &j)
{
	for (uint32_t i = 0; i < j.calls; i++)
		call<mode>(j, j.call[i], (uint64_t *)j.result + i);
}

extern "C" __global__ void gin_original(const gin_job j)
{
	if (j.sharing == 0)
		calls<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(j);
	else if (j.sharing == 1)
		calls<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA>(j);
	else
		calls<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU>(j);
}

// ---- doubts: kernels for `belfry ptx trial`, which gives them a connection and judges the run ----

#define AGGREGATE DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING

// No doubt: puts, and a wait for each.
extern "C" __global__ void plain(CONNECTION, uint32_t n)
{
	Qp *qp = CONNECT;
	doca_gpu_dev_verbs_ticket_t ticket;

	for (uint32_t i = 0; i < n; i++) {
		doca_gpu_dev_verbs_put(qp, REMOTE(64 * i), LOCAL(64 * i), 64, &ticket);
		doca_gpu_dev_verbs_wait(qp, ticket);
	}
}

// The poll of a collapsed CQ, with the last entry's index, as GPUNetIO's write_lat has it (plus = 0), or with the number
// of entries (plus = 1). Then the CQE must tell of that entry.
extern "C" __global__ void collapsed(CONNECTION, uint32_t plus)
{
	Qp *qp = CONNECT;
	doca_gpu_dev_verbs_ticket_t ticket;
	uint32_t tail;

	doca_gpu_dev_verbs_put(qp, REMOTE(0), LOCAL(0), 64, &ticket);
	doca_gpu_dev_verbs_put(qp, REMOTE(64), LOCAL(64), 32768, &ticket);
	doca_gpu_dev_verbs_poll_cq_collapsed_at(qp, ticket + plus);
	tail = __byte_perm(*(volatile uint32_t *)(cq + 60), 0, 0x0123);
	assert(tail >> 16 == ticket);
}

// A CQ as GPUNetIO leaves it behind a queue pair's reset, after as many entries as it has room for: bytes 0xff, and the
// phase goes on. Nothing was posted since.
extern "C" __global__ void filler(CONNECTION)
{
	Qp *qp = CONNECT;

	*(volatile uint64_t *)&qp->cq_sq.cqe_rsvd = cqes;
	__threadfence_system();
	assert(doca_gpu_dev_verbs_poll_one_cq_at(&qp->cq_sq, 0) == EBUSY);
}

// A wait behind puts that nobody rang for.
extern "C" __global__ void unrung(CONNECTION, uint32_t flags)
{
	Qp *qp = CONNECT;
	doca_gpu_dev_verbs_ticket_t ticket;

	doca_gpu_dev_verbs_put(qp, REMOTE(0), LOCAL(0), 64, &ticket, AGGREGATE);
	doca_gpu_dev_verbs_put(qp, REMOTE(64), LOCAL(64), 64, &ticket, flags);
	doca_gpu_dev_verbs_wait(qp);
}

// A put with a key that the peer does not have: the wait ends as after a good one, the poll says that it is not.
extern "C" __global__ void error(CONNECTION, uint32_t look)
{
	Qp *qp = CONNECT;
	doca_gpu_dev_verbs_ticket_t ticket;

	rkey ^= 0x5500;
	doca_gpu_dev_verbs_put(qp, REMOTE(0), LOCAL(0), 64, &ticket);
	if (look)
		assert(doca_gpu_dev_verbs_poll_cq_at(&qp->cq_sq, ticket) == 0);
	else
		doca_gpu_dev_verbs_wait(qp, ticket);
}

// After an error the window of the poll stands still: entry e + cqes is never seen. `behind`: how far behind the error.
extern "C" __global__ void after_error(CONNECTION, uint32_t *cq_record, uint32_t behind)
{
	Qp *qp = CONNECT;
	doca_gpu_dev_verbs_ticket_t ticket;

	rkey ^= 0x5500;
	for (uint32_t i = 0; i <= behind; i++) {
		doca_gpu_dev_verbs_put(qp, REMOTE(0), LOCAL(0), 64, &ticket);
		*(volatile uint32_t *)cq_record = __byte_perm(i, 0, 0x0123);
	}
	assert(doca_gpu_dev_verbs_poll_cq_at(&qp->cq_sq, ticket) != 0);
}

// A reservation of more slots than there are.
extern "C" __global__ void too_many(CONNECTION, uint32_t n)
{
	doca_gpu_dev_verbs_reserve_wq_slots(CONNECT, n);
}

// A get of no bytes, behind `before` puts.
extern "C" __global__ void get_nothing(CONNECTION, uint32_t before)
{
	Qp *qp = CONNECT;
	doca_gpu_dev_verbs_ticket_t ticket = 0;

	for (uint32_t i = 0; i < before; i++)
		doca_gpu_dev_verbs_put(qp, REMOTE(64 * i), LOCAL(64 * i), 64, &ticket);
	doca_gpu_dev_verbs_get(qp, REMOTE(0), LOCAL(0), 0, LOCAL(0), &ticket);
	doca_gpu_dev_verbs_wait(qp, ticket);
}

// The entry by a bulk copy out of shared memory to the BlueFlame register, as GPUNetIO's write_lat does it: built twice.
extern "C" __global__ void blue_flame(CONNECTION, uint32_t n)
{
	constexpr auto exclusive = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
	__shared__ doca_gpu_dev_verbs_wqe copy;
	Qp *qp = CONNECT;

	for (uint32_t i = 0; i < n; i++) {
		const Address to = REMOTE(64 * i), from = LOCAL(64 * i);
		doca_gpu_dev_verbs_wqe *entries[] = { &copy, doca_gpu_dev_verbs_get_wqe_ptr(qp, i) };

		for (auto *entry : entries)
			doca_gpu_dev_verbs_wqe_prepare_write(qp, entry, i, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
							     DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, to.addr,
							     to.key, from.addr, from.key, 64);
		doca_gpu_dev_verbs_submit_bf<exclusive, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>(qp, i + 1, &copy);
		doca_gpu_dev_verbs_wait<exclusive>(qp, i);
	}
}
