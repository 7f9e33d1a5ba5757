#include "tools/replay/mlx5_queue_steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"

static uint64_t field(const struct bf_trace_record *rec, const char *name)
{
	uint64_t v = 0;

	bf_trace_field_u64(rec, name, &v);
	return v;
}

/* The part of "nic0.qp0x101" that names the device. */
static void device_of(struct bf_trace *t, const struct bf_trace_record *rec, char *out, size_t cap)
{
	const char *name = bf_trace_actor_name(t, rec->actor), *end = strstr(name, ".qp");

	if (!end)
		end = strstr(name, ".cq");
	snprintf(out, cap, "%.*s", end ? (int)(end - name) : (int)strlen(name), name);
}

/* The latest of that number: numbers come again. */
static struct bf_step_queue *find(struct bf_queue_side *s, const char *device, uint32_t qpn)
{
	for (size_t i = s->n; i-- > 0;)
		if (s->queue[i].qpn == qpn && strcmp(s->queue[i].device, device) == 0)
			return &s->queue[i];
	return NULL;
}

static struct bf_queue_cq *find_cq(struct bf_queue_side *s, const char *device, uint32_t cqn)
{
	for (size_t i = s->ncqs; i-- > 0;)
		if (s->cq[i].cqn == cqn && strcmp(s->cq[i].device, device) == 0)
			return &s->cq[i];
	return NULL;
}

static int take_config(struct bf_queue_side *s, struct bf_trace *t, const struct bf_trace_record *rec)
{
	struct bf_step_queue *q;

	if (BF_GROW(s->queue, s->cap, s->n + 1))
		return -ENOMEM;
	q = &s->queue[s->n++];
	*q = (struct bf_step_queue){ .qpn = (uint32_t)field(rec, "qpn"),
				     .send_cqn = (uint32_t)field(rec, "send_cqn"),
				     .recv_cqn = (uint32_t)field(rec, "recv_cqn"),
				     .pd = (uint32_t)field(rec, "pd") };
	device_of(t, rec, q->device, sizeof(q->device));
	return 0;
}

static int take_cq(struct bf_queue_side *s, struct bf_trace *t, const struct bf_trace_record *rec)
{
	struct bf_queue_cq *cq;

	if (BF_GROW(s->cq, s->cqs_cap, s->ncqs + 1))
		return -ENOMEM;
	cq = &s->cq[s->ncqs++];
	*cq = (struct bf_queue_cq){ .cqn = (uint32_t)field(rec, "cqn"),
				    .entries = (uint32_t)field(rec, "cqes"),
				    .feeder = UINT32_MAX };
	device_of(t, rec, cq->device, sizeof(cq->device));
	return 0;
}

static void take_path(struct bf_queue_side *s, struct bf_step_queue *q, const struct bf_trace_record *rec)
{
	const uint32_t remote = (uint32_t)field(rec, "remote_ipv4");

	if (q->connected)
		return;
	for (size_t i = 0; i < s->n; i++)
		q->nth +=
		    s->queue[i].connected && s->queue[i].remote == remote && strcmp(s->queue[i].device, q->device) == 0;
	q->remote = remote;
	q->connected = true;
	if (remote && q->nth + 1 > s->rcs)
		s->rcs = q->nth + 1;
}

static int take_entry(struct bf_step_queue *q, const struct bf_trace_record *rec)
{
	struct bf_queue_entries *to = &q->entries;
	struct bf_queue_entry *e;
	const uint32_t len = rec->tail_len < sizeof(e->bytes) ? rec->tail_len : sizeof(e->bytes);

	if (BF_GROW(to->at, to->cap, to->n + 1))
		return -ENOMEM;
	e = &to->at[to->n++];
	*e = (struct bf_queue_entry){ .len = len,
				      .length = (uint32_t)field(rec, "length"),
				      .index = (uint16_t)field(rec, "index"),
				      .opcode = (uint8_t)field(rec, "opcode"),
				      .flags = (uint8_t)field(rec, "fm_ce_se") };
	memcpy(e->bytes, rec->tail, len);
	memset(e->bytes + 4, 0, 3); /* the control segment's QP number */
	return 0;
}

static int take_completion(struct bf_queue_side *s, struct bf_step_queue *q, const struct bf_trace_record *rec)
{
	struct bf_queue_completions *to = &q->completions;
	struct bf_queue_completion *c;
	struct bf_queue_cq *cq = find_cq(s, q->device, (uint32_t)field(rec, "cqn"));
	const uint32_t feeder = (uint32_t)(q - s->queue);

	if (BF_GROW(to->at, to->cap, to->n + 1))
		return -ENOMEM;
	c = &to->at[to->n++];
	*c = (struct bf_queue_completion){ .byte_cnt = field(rec, "syndrome") ? 0 : (uint32_t)field(rec, "byte_cnt"),
					   .cq = cq ? (uint32_t)(cq - s->cq) : UINT32_MAX,
					   .index = (uint16_t)field(rec, "index"),
					   .opcode = (uint8_t)field(rec, "opcode"),
					   .wqe_opcode = (uint8_t)field(rec, "wqe_opcode"),
					   .syndrome = (uint8_t)field(rec, "syndrome"),
					   .op_own = rec->tail_len >= 64 ? rec->tail[63] : 0 };
	if (!cq)
		return 0;
	cq->shared |= cq->feeder != UINT32_MAX && cq->feeder != feeder;
	cq->feeder = feeder;
	return 0;
}

/* What one record adds to the picture. */
static int take(struct bf_queue_side *s, struct bf_trace *t, const struct bf_trace_record *rec)
{
	const char *type = rec->type->name;
	struct bf_step_queue *q;
	char device[32];

	if (strcmp(type, "cq_config") == 0)
		return take_cq(s, t, rec);
	if (strcmp(type, "qp_config") == 0)
		return take_config(s, t, rec);
	if (strcmp(type, "qp_path") != 0 && strcmp(type, "wqe_fetch") != 0 && strcmp(type, "cqe") != 0)
		return 0;
	device_of(t, rec, device, sizeof(device));
	q = find(s, device, (uint32_t)field(rec, "qpn"));
	if (!q)
		return 0;
	if (strcmp(type, "wqe_fetch") == 0)
		return take_entry(q, rec);
	if (strcmp(type, "cqe") == 0)
		return take_completion(s, q, rec);
	take_path(s, q, rec);
	return 0;
}

static const char *layout_of(struct bf_trace *t)
{
	const char *command = bf_trace_meta_get(t, "command"), *at = command ? strstr(command, "--layout l") : NULL;

	return !at ? "l3" : at[10] == '1' ? "l1" : at[10] == '2' ? "l2" : "l3";
}

int bf_queue_side_read(struct bf_trace *t, struct bf_queue_side *s, struct bf_error *err)
{
	struct bf_trace_record rec;
	int rc;

	while ((rc = bf_trace_next(t, &rec)) != 0) {
		if (rc < 0)
			return rc;
		if (take(s, t, &rec) != 0)
			return bf_fail(err, -ENOMEM, "no memory to compare queues");
	}
	s->layout = layout_of(t);
	for (size_t i = 0; i < s->n; i++)
		if (s->queue[i].remote && (s->queue[i].remote & 0xffff) > s->npes)
			s->npes = s->queue[i].remote & 0xffff;
	return 0;
}

void bf_queue_side_free(struct bf_queue_side *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->queue[i].entries.at);
		free(s->queue[i].completions.at);
	}
	free(s->queue);
	free(s->cq);
}

void bf_queue_name(const struct bf_step_queue *q, char *buf, size_t cap)
{
	const uint32_t ip = q->remote;

	if (ip)
		snprintf(buf, cap, "%s to %u.%u.%u.%u #%" PRIu32, q->device, ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
			 ip & 255, q->nth);
	else
		snprintf(buf, cap, "%s DC #%" PRIu32, q->device, q->nth);
}
