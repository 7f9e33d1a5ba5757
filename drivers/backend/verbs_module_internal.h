/* What the files of libbelfry-verbs.so share. */
#ifndef BELFRY_DRIVERS_BACKEND_VERBS_MODULE_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_VERBS_MODULE_INTERNAL_H

#include <infiniband/verbs.h>

#include "drivers/backend/verbs_internal.h"

struct bf_verbs_dev {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* of all queue pairs; NULL before the first */
	struct ibv_srq *srq;
	bool mlx5;
};

/* libibverbs leaves the reason in errno; where it does not, there is one nevertheless. */
int bf_verbs_errno(void);

int bf_verbs_mr_create(struct bf_verbs_dev *d, void *at, size_t bytes, uint32_t access, uint32_t *lkey, uint32_t *rkey,
		       void **mr);
int bf_verbs_mr_destroy(void *mr);
int bf_verbs_qp_create(struct bf_verbs_dev *d, const struct bf_verbs_qp_opts *opts, uint32_t *qpn,
		       struct bf_verbs_qp **out);
int bf_verbs_qp_modify(struct bf_verbs_qp *qp, uint8_t state, const struct bf_verbs_path *path);
int bf_verbs_qp_destroy(struct bf_verbs_qp *qp);
int bf_verbs_send(struct bf_verbs_qp *qp, const struct bf_verbs_wr *wr);
int bf_verbs_receive(struct bf_verbs_qp *qp, uint64_t id, const struct bf_verbs_sge *sge, uint32_t n);
int bf_verbs_poll(struct bf_verbs_dev *d, struct bf_verbs_wc *out, uint32_t max);

#endif
