/* Two devices with queue pairs between them. Not installed. */
#ifndef BELFRY_TOOLS_TIMING_RDMA_INTERNAL_H
#define BELFRY_TOOLS_TIMING_RDMA_INTERNAL_H

#include "tools/timing/rdma.h"

struct bf_perf_qp {
	uint32_t qpn, bf_half, cqe_at, recv_at;
	uint8_t *sq, *rq, *dbr, *cq, *cq_dbr, *rcq, *rcq_dbr;
	uint16_t sq_pi, rq_pi;
	uint64_t posted, done;
};

struct bf_perf_node {
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_mlx5 *dev;
	struct bf_region *host, *vram;
	uint64_t host_used, vram_used;
	uint32_t pd, uar, key;
	uint8_t *out, *in; /* what is sent, and where it arrives */
	uint64_t out_va, in_va;
	struct bf_perf_qp *qp;
	bool opened;
};

struct bf_perf_pair {
	struct bf_perf_run run;
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_perf_node node[2];
	uint32_t log_sq;
	struct bf_error *err;
};

int bf_perf_pair_open(struct bf_perf_pair *p, const struct bf_perf_run *run, struct bf_error *err);
void bf_perf_pair_close(struct bf_perf_pair *p);

/* Node `from` posts one message on queue pair `qi` and rings; `mark` is its last byte, where data are copied. */
void bf_perf_post(struct bf_perf_pair *p, uint32_t from, uint32_t qi, bool signalled, uint8_t mark);
void bf_perf_post_recv(struct bf_perf_pair *p, uint32_t i, uint32_t qi);

/* Completions of sends, or of receives, that are new since the last call. -EIO: one tells of an error. */
int bf_perf_sends_done(struct bf_perf_pair *p, uint32_t n, uint32_t q);
int bf_perf_recvs_done(struct bf_perf_pair *p, uint32_t n, uint32_t q);

#endif
