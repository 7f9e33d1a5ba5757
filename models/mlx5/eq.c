/*
 * Event queues: entries, the owner bit, arming and interrupts; and the commands that make and destroy them.
 *
 * An entry is written behind everything that it tells of, and its interrupt comes behind the entry. Sources: Linux
 * drivers/net/ethernet/mellanox/mlx5/core/eq.c, include/linux/mlx5/device.h.
 */
#include "models/mlx5/device_internal.h"

#include <inttypes.h>
#include <stdlib.h>

/* EQC.status (mlx5_ifc.h MLX5_EQC_STATUS_*). */
enum { EQ_STATUS_OK = 0, EQ_STATUS_WRITE_FAIL = 10 };

#define LOG_SIZE_MAX 22u

static bool full(const struct bf_mlx5_eq *eq)
{
	return ((eq->producer - eq->consumer) & 0xffffff) > eq->mask;
}

static void interrupt(struct bf_dma_op *op)
{
	struct bf_mlx5_xfer *x = BF_CONTAINER_OF(op, struct bf_mlx5_xfer, op);
	struct bf_mlx5 *dev = x->dev;
	const uint32_t vector = x->vector;

	bf_mlx5_xfer_put(dev, x);
	dev->count.interrupts++;
	if (dev->irq)
		dev->irq(dev->irq_owner, vector);
}

/*
 * An interrupt is a message that comes behind the entry. The round trip of a read that nothing passes stands for its
 * way to the processor (assumed).
 */
static void send_interrupt(struct bf_mlx5_eq *eq)
{
	struct bf_mlx5_xfer *x = bf_mlx5_xfer_get(eq->dev);

	eq->armed = false;
	if (!x)
		return; /* lost, as a device may lose one: the next arming finds the entries */
	x->op = (struct bf_dma_op){ .done = interrupt };
	x->dev = eq->dev;
	x->vector = eq->vector;
	bf_dma_read(&eq->dev->dma, &x->op);
}

static void record_eqe(const struct bf_mlx5_eq *eq, const struct bf_mlx5_eqe *e, uint32_t number, uint64_t iova,
		       uint8_t verdict)
{
	BF_EMIT_TAIL(eq->dev->sim, eq->actor, eqe, e, sizeof(*e), .iova = iova, .eqn = eq->eqn, .count = eq->producer,
		     .number = number, .event = e->type, .sub_type = e->sub_type,
		     .interrupt = eq->armed && verdict == BF_MLX5_EQE_WRITTEN, .verdict = verdict);
}

/* A full queue loses the entry, unless it was created to overwrite old ones. */
static void put(struct bf_mlx5_eq *eq, struct bf_mlx5_eqe *e, uint32_t number)
{
	struct bf_mlx5 *dev = eq->dev;
	uint8_t verdict = BF_MLX5_EQE_WRITTEN;
	uint64_t iova;
	uint32_t run;

	e->owner = (eq->producer & (eq->mask + 1)) != 0;
	iova = bf_mlx5_buf_iova(&eq->buf, (uint64_t)(eq->producer & eq->mask) * sizeof(*e), sizeof(*e), &run);
	if (full(eq) && !eq->ignore_overrun)
		verdict = BF_MLX5_EQE_OVERFLOW;
	else if (bf_dma_write(&dev->dma, iova, e, sizeof(*e), 0))
		verdict = BF_MLX5_EQE_FAILED;
	record_eqe(eq, e, number, iova, verdict);
	if (verdict == BF_MLX5_EQE_FAILED)
		eq->status = EQ_STATUS_WRITE_FAIL;
	if (verdict != BF_MLX5_EQE_WRITTEN) {
		dev->count.events_lost++;
		return;
	}
	dev->count.events++;
	eq->producer++;
	if (eq->armed)
		send_interrupt(eq);
}

/* The queue for asynchronous events of a type: the first that asked for them. */
static struct bf_mlx5_eq *listener(const struct bf_mlx5 *dev, enum bf_mlx5_event type)
{
	struct bf_mlx5_eq *eq;

	for (uint32_t n = 0; (eq = bf_mlx5_table_next(&dev->eqs, &n)); n++)
		if (eq->types >> type & 1)
			return eq;
	return NULL;
}

static void put_number(struct bf_mlx5_eq *eq, enum bf_mlx5_event type, uint8_t sub_type, uint32_t at, uint32_t number)
{
	struct bf_mlx5_eqe e = { .type = (uint8_t)type, .sub_type = sub_type };

	bf_put_be32(e.data + at, number);
	put(eq, &e, number);
}

void bf_mlx5_event_comp(struct bf_mlx5_cq *cq)
{
	if (cq->extra && cq->extra->eq)
		put_number(cq->extra->eq, BF_MLX5_EVENT_COMP, 0, BF_EQE_COMP_CQN, cq->cqn);
}

void bf_mlx5_event_cq_error(struct bf_mlx5_cq *cq, uint8_t syndrome)
{
	struct bf_mlx5_eq *eq = listener(cq->dev, BF_MLX5_EVENT_CQ_ERROR);
	struct bf_mlx5_eqe e = { .type = BF_MLX5_EVENT_CQ_ERROR };

	if (!eq)
		return;
	bf_put_be32(e.data + BF_EQE_CQ_ERR_CQN, cq->cqn);
	e.data[BF_EQE_CQ_ERR_SYNDROME] = syndrome;
	put(eq, &e, cq->cqn);
}

/* A responder context speaks for its DC target; a stream channel is no object that software knows. */
void bf_mlx5_event_qp(struct bf_mlx5_qp *qp, enum bf_mlx5_event type)
{
	struct bf_mlx5_eq *eq = listener(qp->dev, type);
	struct bf_mlx5_eqe e = { .type = (uint8_t)type };

	if (!eq || (qp->dci && qp->dci->parent))
		return;
	e.data[BF_EQE_QP_SRQ_TYPE] = qp->context_of              ? BF_EQE_QUEUE_DCT
				     : qp->raw == BF_MLX5_RAW_SQ ? BF_EQE_QUEUE_SQ
				     : qp->raw == BF_MLX5_RAW_RQ ? BF_EQE_QUEUE_RQ
								 : BF_EQE_QUEUE_QP;
	bf_put_be32(e.data + BF_EQE_QP_SRQ_NUMBER, qp->rdma.qpn);
	put(eq, &e, qp->rdma.qpn);
}

/* IBA vol. 1 section 11.6.3.1: what a responder's consumer hears when no completion can tell. */
void bf_mlx5_event_refused(struct bf_mlx5_qp *qp, uint8_t nak)
{
	bf_mlx5_event_qp(qp, nak == BF_AETH_NAK_INV_REQ  ? BF_MLX5_EVENT_WQ_INVAL_REQ_ERROR
			     : nak == BF_AETH_NAK_ACCESS ? BF_MLX5_EVENT_WQ_ACCESS_ERROR
							 : BF_MLX5_EVENT_WQ_CATAS_ERROR);
}

void bf_mlx5_event_number(struct bf_mlx5 *dev, enum bf_mlx5_event type, uint32_t number)
{
	struct bf_mlx5_eq *eq = listener(dev, type);

	BF_STATIC_ASSERT(BF_EQE_DCTN == BF_EQE_QP_SRQ_NUMBER, "one place for SRQs and DC targets");
	if (eq)
		put_number(eq, type, 0, BF_EQE_QP_SRQ_NUMBER, number);
}

void bf_mlx5_event_port(struct bf_mlx5_port *port, bool up)
{
	struct bf_mlx5 *dev = port->dev;
	struct bf_mlx5_eq *eq = listener(dev, BF_MLX5_EVENT_PORT_CHANGE);
	struct bf_mlx5_eqe e = { .type = BF_MLX5_EVENT_PORT_CHANGE };
	const uint32_t number = (uint32_t)(port - dev->ports) + 1;

	if (!eq)
		return;
	e.sub_type = up ? BF_EQE_PORT_ACTIVE : BF_EQE_PORT_DOWN;
	e.data[BF_EQE_PORT_NUMBER] = (uint8_t)(number << 4);
	put(eq, &e, number);
}

/* The memory scheme: the event names the key and the addresses, whatever wanted them. */
void bf_mlx5_event_page_fault(struct bf_mlx5 *dev, uint32_t key, uint64_t va, uint64_t len, uint32_t token)
{
	struct bf_mlx5_eq *eq = listener(dev, BF_MLX5_EVENT_PAGE_FAULT);
	struct bf_mlx5_eqe e = { .type = BF_MLX5_EVENT_PAGE_FAULT, .sub_type = BF_EQE_PAGE_FAULT_MEMORY };
	const uint64_t pages = ((va + len - 1) / BF_PAGE) - va / BF_PAGE + 1;

	if (!eq)
		return;
	e.data[0] = BF_EQE_PAGE_FAULT_LAST;
	bf_put_be32(e.data + BF_EQE_PAGE_FAULT_TOKEN, token);
	bf_put_be32(e.data + BF_EQE_PAGE_FAULT_PAGES, (uint32_t)(pages < 0xfffff ? pages : 0xfffff) << 12);
	bf_put_be32(e.data + BF_EQE_PAGE_FAULT_MKEY, key);
	bf_put_be64(e.data + BF_EQE_PAGE_FAULT_VA, va);
	put(eq, &e, key);
}

bool bf_mlx5_event_wanted(const struct bf_mlx5 *dev, enum bf_mlx5_event type)
{
	return listener(dev, type) != NULL;
}

void bf_mlx5_event_cmd(struct bf_mlx5 *dev, uint32_t entries)
{
	struct bf_mlx5_eq *eq = listener(dev, BF_MLX5_EVENT_CMD);

	if (eq)
		put_number(eq, BF_MLX5_EVENT_CMD, 0, BF_EQE_CMD_VECTOR, entries);
}

/* Entries that the driver had not seen when it armed interrupt at once. */
void bf_mlx5_eq_update(struct bf_mlx5_uar *uar, uint32_t word, bool arm)
{
	struct bf_mlx5 *dev = uar->dev;
	struct bf_mlx5_eq *eq = bf_mlx5_table_get(&dev->eqs, word >> 24);
	uint8_t verdict = !eq                     ? BF_MLX5_EQ_UPDATE_NO_EQ
			  : eq->uar != uar->index ? BF_MLX5_EQ_UPDATE_WRONG_UAR
						  : BF_MLX5_EQ_UPDATE_OK;

	BF_EMIT(dev->sim, eq ? eq->actor : dev->actor, eq_update, .eqn = word >> 24, .consumer = word & 0xffffff,
		.arm = arm, .verdict = verdict);
	if (verdict)
		return;
	eq->consumer = word & 0xffffff;
	if (!arm)
		return;
	eq->armed = true;
	if ((eq->producer - eq->consumer) & 0xffffff)
		send_interrupt(eq);
}

static uint8_t eq_ring(struct bf_mlx5_eq *eq, const struct bf_mlx5_mail *m, const uint8_t *eqc)
{
	uint64_t bytes = (uint64_t)sizeof(struct bf_mlx5_eqe) << BF_MLX5_GET(eqc, BF_EQC_LOG_SIZE);
	uint32_t log_page = BF_MLX5_GET(eqc, BF_EQC_LOG_PAGE_SIZE) + 12;
	uint64_t pages = (bytes + (1ull << log_page) - 1) >> log_page;
	uint8_t status;

	if (pages > (m->in_len - BF_CREATE_EQ_PAS) / 8)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_INP_LEN,
				      "a ring of %" PRIu64 " pages of 2^%u bytes: the mailbox has addresses of %zu",
				      pages, log_page, (m->in_len - BF_CREATE_EQ_PAS) / 8);
	status = bf_mlx5_umem_make(m->dev, m->in + BF_CREATE_EQ_PAS, (uint32_t)pages, log_page, 0, &eq->pages);
	return status ? status : bf_mlx5_buf_in(&eq->buf, eq->pages, 0, bytes);
}

static void record_config(const struct bf_mlx5_eq *eq)
{
	BF_EMIT(eq->dev->sim, eq->actor, eq_config, .mask = eq->types, .eqn = eq->eqn, .eqes = eq->mask + 1,
		.vector = eq->vector, .uar = eq->uar);
}

void bf_mlx5_eq_free(struct bf_mlx5_eq *eq)
{
	if (eq->pages)
		bf_mlx5_umem_free(eq->dev, eq->pages);
	free(eq);
}

uint8_t bf_mlx5_cmd_create_eq(struct bf_mlx5_mail *m)
{
	struct bf_mlx5 *dev = m->dev;
	const uint8_t *eqc = m->in + BF_EQ_EQC;
	uint32_t log_size = BF_MLX5_GET(eqc, BF_EQC_LOG_SIZE);
	struct bf_mlx5_uar *uar = bf_mlx5_uar_find(dev, BF_MLX5_GET(eqc, BF_EQC_UAR_PAGE));
	struct bf_mlx5_eq *eq;
	char name[64];
	uint8_t status;

	if (!uar)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "uar_page 0x%x: there is no such page",
				      BF_MLX5_GET(eqc, BF_EQC_UAR_PAGE));
	if (log_size > LOG_SIZE_MAX)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "log_eq_size %u: must be %u at most", log_size,
				      LOG_SIZE_MAX);
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return BF_MLX5_CMD_NO_RES;
	eq->dev = dev;
	eq->uar = uar->index;
	eq->mask = (1u << log_size) - 1;
	eq->vector = BF_MLX5_GET(eqc, BF_EQC_INTR);
	eq->ignore_overrun = BF_MLX5_GET(eqc, BF_EQC_OI);
	eq->types = bf_get_be64(m->in + BF_CREATE_EQ_MASK);
	memcpy(eq->context, eqc, sizeof(eq->context));
	status = eq_ring(eq, m, eqc);
	if (!status && bf_mlx5_table_add(&dev->eqs, eq, &eq->eqn))
		status = BF_MLX5_CMD_LIM;
	if (status) {
		bf_mlx5_eq_free(eq);
		return status;
	}
	uar->users++;
	snprintf(name, sizeof(name), "%s.eq%u", dev->name, eq->eqn);
	eq->actor = bf_stream_actor(&dev->sim->rec, "queue", name);
	record_config(eq);
	m->number = eq->eqn;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_destroy_eq(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_eq *eq = bf_mlx5_table_get(&m->dev->eqs, m->number);

	if (!eq)
		return BF_MLX5_CMD_BAD_RES;
	if (eq->users)
		return BF_MLX5_CMD_RES_BUSY;
	m->dev->uars[eq->uar]->users--;
	bf_mlx5_table_remove(&m->dev->eqs, eq->eqn);
	bf_mlx5_eq_free(eq);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_eq(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_eq *eq = bf_mlx5_table_get(&m->dev->eqs, m->number);
	uint8_t *eqc = m->out + BF_EQ_EQC;

	if (!eq)
		return BF_MLX5_CMD_BAD_RES;
	memcpy(eqc, eq->context, sizeof(eq->context));
	BF_MLX5_SET(eqc, BF_EQC_STATUS, eq->status);
	BF_MLX5_SET(eqc, BF_EQC_ST, eq->armed ? BF_EQC_ST_ARMED : BF_EQC_ST_FIRED);
	BF_MLX5_SET(eqc, BF_EQC_CONSUMER, eq->consumer);
	BF_MLX5_SET(eqc, BF_EQC_PRODUCER, eq->producer & 0xffffff);
	return BF_MLX5_CMD_OK;
}
