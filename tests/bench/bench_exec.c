/*
 * RDMA WRITE of a stock libibverbs program under `belfry exec`: this program, two of its own queue pairs, nothing else.
 *
 *   belfry exec --doorbells poll -- bench_exec [bytes [window [signal every [million]]]]
 *
 * Each work request is posted by a call of its own and rings; the window is how many are under way.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/must.h"

struct bench {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	union ibv_gid gid;
	uint32_t gid_index;
	uint8_t *data;
	uint32_t size, window, every;
	uint64_t total;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The RoCEv2 address that is made of an IPv4 one. */
static void choose_gid(struct bench *b)
{
	bool found = false;

	for (uint32_t i = 0; i < 16 && !found; i++) {
		struct ibv_gid_entry e;

		if (ibv_query_gid_ex(b->ctx, 1, i, &e, 0) || e.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    e.gid.raw[10] != 0xff)
			continue;
		b->gid = e.gid;
		b->gid_index = i;
		found = true;
	}
	MUST(found);
}

static void open_qp(struct bench *b, uint32_t i)
{
	struct ibv_qp_init_attr init = {
		.send_cq = b->cq,
		.recv_cq = b->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2 * b->window, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	b->qp[i] = ibv_create_qp(b->pd, &init);
	MUST(b->qp[i]);
}

static void connect_qp(struct bench *b, uint32_t i)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	MUST(!ibv_modify_qp(b->qp[i], &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				  .path_mtu = IBV_MTU_4096,
				  .dest_qp_num = b->qp[!i]->qp_num,
				  .max_dest_rd_atomic = 1,
				  .min_rnr_timer = 12,
				  .ah_attr = {
				      .is_global = 1, .port_num = 1, .grh = { .dgid = b->gid, .hop_limit = 1 } } };
	a.ah_attr.grh.sgid_index = (uint8_t)b->gid_index;
	MUST(!ibv_modify_qp(b->qp[i], &a,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1
	};
	MUST(!ibv_modify_qp(b->qp[i], &a,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				IBV_QP_MAX_QP_RD_ATOMIC));
}

static void open_bench(struct bench *b)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	MUST(list && list[0]);
	b->ctx = ibv_open_device(list[0]);
	MUST(b->ctx);
	ibv_free_device_list(list);
	b->pd = ibv_alloc_pd(b->ctx);
	MUST(b->pd && !posix_memalign((void **)&b->data, 4096, 2 * (size_t)b->size + 4096));
	memset(b->data, 0x5a, b->size);
	b->mr =
	    ibv_reg_mr(b->pd, b->data, 2 * (size_t)b->size + 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	b->cq = ibv_create_cq(b->ctx, 2 * (int)b->window, NULL, NULL, 0);
	MUST(b->mr && b->cq);
	choose_gid(b);
	for (uint32_t i = 0; i < 2; i++)
		open_qp(b, i);
	for (uint32_t i = 0; i < 2; i++)
		connect_qp(b, i);
}

static void post(struct bench *b, uint64_t i)
{
	struct ibv_sge sge = { .addr = (uintptr_t)b->data, .length = b->size, .lkey = b->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE }, *bad;

	wr.send_flags = (i + 1) % b->every == 0 || i + 1 == b->total ? IBV_SEND_SIGNALED : 0;
	wr.wr_id = i + 1;
	wr.wr.rdma.remote_addr = (uintptr_t)b->data + b->size;
	wr.wr.rdma.rkey = b->mr->rkey;
	MUST(!ibv_post_send(b->qp[0], &wr, &bad));
}

static double run(struct bench *b)
{
	uint64_t posted = 0, done = 0;
	double start = now_s();

	while (done < b->total) {
		struct ibv_wc wc[16];
		int n;

		while (posted < b->total && posted - done < b->window)
			post(b, posted++);
		n = ibv_poll_cq(b->cq, 16, wc);
		for (int i = 0; i < n; i++) {
			MUST(wc[i].status == IBV_WC_SUCCESS);
			done = wc[i].wr_id;
		}
	}
	return (now_s() - start) / (double)b->total * 1e9;
}

static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise)
{
	return i < argc ? strtoull(argv[i], NULL, 0) : otherwise;
}

static double decimal(int argc, char **argv, int i, double otherwise)
{
	return i < argc ? strtod(argv[i], NULL) : otherwise;
}

int main(int argc, char **argv)
{
	struct bench b = { .size = (uint32_t)argument(argc, argv, 1, 64),
			   .window = (uint32_t)argument(argc, argv, 2, 64),
			   .every = (uint32_t)argument(argc, argv, 3, 16) };
	double ns;

	b.total = (uint64_t)(decimal(argc, argv, 4, 1) * 1e6);
	if (b.every > b.window)
		b.every = b.window;
	MUST(b.size && b.window && b.every && b.total);
	open_bench(&b);
	ns = run(&b);
	MUST(!memcmp(b.data, b.data + b.size, b.size));
	printf("%u bytes, %u under way, every %u signalled: %.2f M/s, %.0f ns each\n", b.size, b.window, b.every,
	       1e3 / ns, ns);
	return 0;
}
