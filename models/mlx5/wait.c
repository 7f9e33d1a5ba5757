/*
 * WAIT: a companion's send queue stands until another CQ has got enough entries (core-direct).
 *
 * The count is that of CQEs, not of WQEs: who waits for WQE i relies on each WQE before it having asked for one
 * (docs/hardware/mlx5.md#gpu-initiated-8).
 */
#include "models/mlx5/device_internal.h"

static const struct bf_mlx5_err err_wait = { BF_MLX5_SYND_LOCAL_QP_OP, 0x61, 0x01 };

/* Entry `index` of the CQ is there. A CQE that was lost on its way counts: the device has made it. */
static bool has_entry(const struct bf_mlx5_cq *cq, uint32_t index)
{
	const struct bf_mlx5_traits *traits = &cq->dev->profile.traits;
	const uint32_t count = cq->producer - (traits->wait_for_good ? cq->extra->errors : 0);

	return traits->wait_16 ? (int16_t)(count - index) > 0 : (int32_t)(count - index) > 0;
}

void bf_mlx5_wait_forget(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_qp **link;

	if (!qp->wait_cq)
		return;
	for (link = &qp->wait_cq->extra->waiters; *link != qp; link = &(*link)->wait_next)
		;
	*link = qp->wait_next;
	qp->wait_cq = NULL;
}

void bf_mlx5_wait_forget_cq(struct bf_mlx5_cq *cq)
{
	while (cq->extra && cq->extra->waiters)
		bf_mlx5_wait_forget(cq->extra->waiters);
}

/* Each leaves the line before it runs; who has to wait on stands at its end again. */
void bf_mlx5_wait_wake(struct bf_mlx5_cq *cq)
{
	uint32_t n = 0;

	for (const struct bf_mlx5_qp *qp = cq->extra->waiters; qp; qp = qp->wait_next)
		n++;
	while (n-- && cq->extra->waiters) {
		struct bf_mlx5_qp *qp = cq->extra->waiters;

		bf_mlx5_wait_forget(qp);
		bf_mlx5_sq_run(qp);
	}
}

static void stand_in_line(struct bf_mlx5_qp *qp, struct bf_mlx5_cq *cq)
{
	struct bf_mlx5_qp **link = &cq->extra->waiters;

	while (*link)
		link = &(*link)->wait_next;
	*link = qp;
	qp->wait_cq = cq;
	qp->wait_next = NULL;
}

bool bf_mlx5_wait_over(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	const struct bf_mlx5_traits *traits = &qp->dev->profile.traits;
	const struct bf_mlx5_wait *seg;
	struct bf_mlx5_cq *cq;
	uint8_t bytes[sizeof(*seg)];

	bf_mlx5_copy_wqe(qp, s, sizeof(struct bf_mlx5_ctrl), bytes, sizeof(bytes));
	seg = (const void *)bytes;
	cq = bf_mlx5_table_get(&qp->dev->cqs, bf_be32(seg->cqn) & 0xffffff);
	if (!traits->core_direct || (traits->wait_needs_master && !qp->companion)) {
		bf_mlx5_send_fail(qp, s, err_wait, "WAIT, not a companion");
		return false;
	}
	if (!cq || !bf_mlx5_cq_extend(cq)) {
		bf_mlx5_send_fail(qp, s, err_wait, "WAIT for a CQ that is not");
		return false;
	}
	if (has_entry(cq, bf_be32(seg->index)))
		return true;
	if (!qp->wait_cq)
		stand_in_line(qp, cq);
	return false;
}
