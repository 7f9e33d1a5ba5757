/*
 * Replay of a Linux NVMe trace, in the order of its lines: a command is posted, a completion is waited for and
 * compared.
 */
#include "traces/replay/nvme.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/replay/nvme_host_internal.h"
#include "traces/replay/nvme_internal.h"

#define CTRLS 16u
#define NAMESPACES 16u
#define IO_ENTRIES 1024u /* Linux's default depth */

struct queue {
	struct bf_nvme_replay_flight *flights;
	uint32_t count, cap;
	uint64_t posted, completed; /* by the trace */
	uint64_t arrived;           /* completions of the model */
	uint64_t last_order;
	/* The head as the trace told it first and since; what had been posted and completed then. */
	bool anchored;
	uint32_t head;
	uint64_t moved, posted0, completed0;
	bool own; /* the trace creates it */
};

struct ctrl {
	char name[16];
	struct bf_nvme_replay_host host;
	struct queue queue[BF_NVME_REPLAY_HOST_QUEUES];
	uint64_t reach[NAMESPACES]; /* blocks of 512 bytes */
	bool enables;               /* the trace sets CC itself */
	bool up;
};

struct replay {
	const struct bf_ftrace *trace;
	const struct bf_nvme_replay_opts *opts;
	struct bf_sim *sim;
	struct ctrl *ctrl[CTRLS];
	uint32_t nctrls;
	struct bf_nvme_replay_result *r;
	struct bf_error *err;
};

/* ---- findings ---- */

static int note(struct replay *p, const struct bf_ftrace_event *ev, const struct bf_nvme_replay_flight *f,
		enum bf_nvme_replay_verdict v, uint64_t captured, uint64_t simulated, const char *text)
{
	struct bf_nvme_replay_result *r = p->r;
	struct bf_nvme_replay_finding *out;
	const char *name;

	r->tally[v]++;
	if (BF_GROW(r->findings, r->findings_cap, r->nfindings + 1))
		return bf_fail(p->err, -ENOMEM, "out of memory at line %" PRIu32, ev->line);
	out = &r->findings[r->nfindings++];
	*out = (struct bf_nvme_replay_finding){ .verdict = v,
						.line = ev->line,
						.qid = ev->qid,
						.cid = ev->cid,
						.captured = captured,
						.simulated = simulated };
	snprintf(out->ctrl, sizeof(out->ctrl), "%s", ev->ctrl);
	snprintf(out->text, sizeof(out->text), "%s", text);
	if (!f)
		return 0;
	name = bf_ftrace_command_name(ev->qid, f->opcode, f->fctype);
	if (name)
		snprintf(out->command, sizeof(out->command), "%s", name);
	else
		snprintf(out->command, sizeof(out->command), "0x%02" PRIx32, f->opcode);
	return 0;
}

/* ---- what the trace needs ---- */

static struct ctrl *find_ctrl(struct replay *p, const char *name)
{
	for (uint32_t i = 0; i < p->nctrls; i++)
		if (strcmp(p->ctrl[i]->name, name) == 0)
			return p->ctrl[i];
	return NULL;
}

static int add_ctrl(struct replay *p, const struct bf_ftrace_event *ev, struct ctrl **out)
{
	*out = find_ctrl(p, ev->ctrl);
	if (*out)
		return 0;
	if (p->nctrls == CTRLS)
		return bf_fail(p->err, -E2BIG, "line %" PRIu32 ": more than %u controllers", ev->line, CTRLS);
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return bf_fail(p->err, -ENOMEM, "out of memory");
	memcpy((*out)->name, ev->ctrl, sizeof(ev->ctrl));
	p->ctrl[p->nctrls++] = *out;
	return 0;
}

static bool moves_blocks(const struct bf_ftrace_event *ev)
{
	const uint32_t op = ev->setup.opcode;

	return ev->qid && ev->setup.fctype < 0 &&
	       (op == BF_NVME_IO_READ || op == BF_NVME_IO_WRITE || op == BF_NVME_IO_COMPARE ||
		op == BF_NVME_IO_WRITE_ZEROES || op == BF_NVME_IO_VERIFY || op == BF_NVME_IO_WRITE_UNCORRECTABLE);
}

static int look_at_command(struct replay *p, struct ctrl *c, const struct bf_ftrace_event *ev)
{
	const struct bf_nvme_sqe *s = &ev->setup.sqe;
	const uint64_t slba = bf_le32(s->cdw10) | (uint64_t)bf_le32(s->cdw11) << 32;
	const uint64_t end = slba + (bf_le32(s->cdw12) & 0xffff) + 1;
	const uint32_t nsid = bf_le32(s->nsid), qid = bf_le32(s->cdw10) & 0xffff;

	if (ev->setup.fctype == BF_NVME_REPLAY_FABRICS_SET && bf_le32(s->cdw11) == BF_NVME_CC)
		c->enables = true;
	if (ev->qid == 0 && ev->setup.fctype < 0 && ev->setup.opcode == BF_NVME_ADM_CREATE_CQ &&
	    qid < BF_NVME_REPLAY_HOST_QUEUES)
		c->queue[qid].own = true;
	if (!moves_blocks(ev) || nsid == 0 || nsid > NAMESPACES)
		return 0;
	if (end < slba || end > 1ull << 48)
		return bf_fail(p->err, -E2BIG, "line %" PRIu32 ": block %" PRIu64 " is beyond every disk", ev->line,
			       slba);
	if (end > c->reach[nsid - 1])
		c->reach[nsid - 1] = end;
	return 0;
}

static int look(struct replay *p)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->trace->count; i++) {
		const struct bf_ftrace_event *ev = &p->trace->events[i];
		struct ctrl *c;

		if (ev->qid >= BF_NVME_REPLAY_HOST_QUEUES)
			return bf_fail(p->err, -E2BIG, "line %" PRIu32 ": queue %" PRIu32 "; a replay has %u", ev->line,
				       ev->qid, BF_NVME_REPLAY_HOST_QUEUES);
		rc = add_ctrl(p, ev, &c);
		if (!rc && ev->kind == BF_FTRACE_SETUP)
			rc = look_at_command(p, c, ev);
	}
	return rc;
}

/* One namespace for each that the trace addresses, and those in front of it; each a little larger than it needs. */
static int open_ctrl(struct replay *p, struct ctrl *c, uint32_t index)
{
	struct bf_nvme_ns_opts ns[NAMESPACES] = { 0 };
	uint32_t nns = 1;
	int rc;

	for (uint32_t i = 0; i < NAMESPACES; i++) {
		const uint64_t bytes = c->reach[i] * 512;

		ns[i].bytes = bytes < 64u << 20 ? 64u << 20 : (bytes + (1u << 20)) & ~(uint64_t)0xfffff;
		nns = c->reach[i] ? i + 1 : nns;
	}
	rc = bf_nvme_replay_host_init(&c->host, p->sim, index, c->name, p->opts->profile, ns, nns);
	if (!rc && c->enables)
		rc = bf_nvme_replay_host_prepare(&c->host);
	else if (!rc)
		rc = bf_nvme_replay_host_enable(&c->host);
	c->up = !c->enables;
	return rc ? bf_fail(p->err, rc, "%s: %.200s", c->name, p->sim->error.text) : 0;
}

/* A queue gets memory when the trace first needs it, and is created unless the trace does that. */
static int need_queue(struct replay *p, struct ctrl *c, uint32_t qid, bool create)
{
	struct bf_nvme_replay_host_queue *q = &c->host.queue[qid];
	int rc;

	if (qid == 0 || (q->sq && (q->ready || !create)))
		return 0;
	rc = bf_nvme_replay_host_queue(&c->host, qid, IO_ENTRIES, create);
	return rc ? bf_fail(p->err, rc, "%s: queue %" PRIu32 ": %.200s", c->name, qid, p->sim->error.text) : 0;
}

/* ---- commands ---- */

static uint64_t data_bytes(const struct bf_ftrace_event *ev)
{
	const struct bf_nvme_sqe *s = &ev->setup.sqe;
	const uint32_t cdw10 = bf_le32(s->cdw10);

	if (moves_blocks(ev))
		return ((bf_le32(s->cdw12) & 0xffffull) + 1) * 512;
	if (ev->qid == 0 && ev->setup.opcode == BF_NVME_ADM_GET_LOG)
		return (((uint64_t)(bf_le32(s->cdw11) & 0xffff) << 16 | cdw10 >> 16) + 1) * 4;
	return BF_PAGE;
}

/* Queue commands need the memory that the trace does not print. */
static int point_at_memory(struct replay *p, struct ctrl *c, const struct bf_ftrace_event *ev, struct bf_nvme_sqe *s)
{
	const uint32_t qid = bf_le32(s->cdw10) & 0xffff;
	int rc = 0;

	if (ev->qid == 0 && (ev->setup.opcode == BF_NVME_ADM_CREATE_CQ || ev->setup.opcode == BF_NVME_ADM_CREATE_SQ)) {
		if (qid && qid < BF_NVME_REPLAY_HOST_QUEUES)
			rc = need_queue(p, c, qid, false);
		if (!rc && qid && qid < BF_NVME_REPLAY_HOST_QUEUES)
			s->prp1 = bf_to_le64(ev->setup.opcode == BF_NVME_ADM_CREATE_CQ ? c->host.queue[qid].cq->va
										       : c->host.queue[qid].sq->va);
		return rc;
	}
	s->flags &= (uint8_t)~BF_NVME_PSDT; /* the pointer that is made up is a PRP */
	bf_nvme_replay_host_data(&c->host, s, data_bytes(ev));
	return 0;
}

static struct bf_nvme_replay_flight *add_flight(struct queue *q, const struct bf_ftrace_event *ev)
{
	struct bf_nvme_replay_flight *f;

	if (BF_GROW(q->flights, q->cap, q->count + 1))
		return NULL;
	f = &q->flights[q->count++];
	*f = (struct bf_nvme_replay_flight){ .cid = ev->cid,
					     .line = ev->line,
					     .opcode = ev->setup.opcode,
					     .fctype = ev->setup.fctype,
					     .sqe = ev->setup.sqe };
	return f;
}

/* The oldest command with that identifier which has not ended, here (`simulated`) or in the trace. */
static struct bf_nvme_replay_flight *find_flight(struct queue *q, uint32_t cid, bool simulated)
{
	for (uint32_t i = 0; i < q->count; i++)
		if (q->flights[i].cid == cid && !(simulated && q->flights[i].done))
			return &q->flights[i];
	return NULL;
}

/* Takes the model's completions of a queue; true when there was one. */
static bool take_completions(struct ctrl *c, uint32_t qid)
{
	struct queue *q = &c->queue[qid];
	struct bf_nvme_cqe cqe;
	bool any = false;

	while (c->host.queue[qid].ready && bf_nvme_replay_host_poll(&c->host, qid, &cqe)) {
		struct bf_nvme_replay_flight *f = find_flight(q, bf_le16(cqe.cid), true);

		any = true;
		if (!f)
			continue;
		f->done = true;
		f->order = ++q->arrived;
		f->status = bf_le16(cqe.status) >> 1;
		f->sqhd = bf_le16(cqe.sqhd);
		f->result = bf_le32(cqe.dw0) | (uint64_t)bf_le32(cqe.dw1) << 32;
	}
	return any;
}

/* A property command is an access to the register at its offset. */
static int access_register(struct replay *p, struct ctrl *c, struct bf_nvme_replay_flight *f)
{
	const uint32_t offset = bf_le32(f->sqe.cdw11), len = bf_le32(f->sqe.cdw10) & 1 ? 8 : 4;
	const uint64_t value = bf_le32(f->sqe.cdw12) | (uint64_t)bf_le32(f->sqe.cdw13) << 32;

	if (offset >= BF_NVME_DOORBELLS || offset % len)
		return 0;
	p->r->registers++;
	f->done = true;
	if (f->fctype == BF_NVME_REPLAY_FABRICS_GET) {
		f->result = bf_nvme_replay_host_read(&c->host, offset, len);
		return 0;
	}
	bf_nvme_replay_host_write(&c->host, offset, value, len);
	bf_sim_run(p->sim, BF_NEVER);
	c->up = (bf_nvme_replay_host_read(&c->host, BF_NVME_CSTS, 4) & BF_NVME_CSTS_RDY) != 0;
	c->host.queue[0].ready = c->up;
	return 0;
}

/* A connect to an I/O queue creates it; one to the admin queue has no counterpart. */
static int take_fabrics(struct replay *p, struct ctrl *c, const struct bf_ftrace_event *ev,
			struct bf_nvme_replay_flight *f)
{
	const uint32_t qid = bf_le32(f->sqe.cdw10) >> 16;

	if (f->fctype == BF_NVME_REPLAY_FABRICS_SET || f->fctype == BF_NVME_REPLAY_FABRICS_GET)
		return access_register(p, c, f);
	if (f->fctype == BF_NVME_REPLAY_FABRICS_CONNECT && qid && qid < BF_NVME_REPLAY_HOST_QUEUES && c->up) {
		f->done = true;
		return need_queue(p, c, qid, true);
	}
	return note(p, ev, f, BF_NVME_REPLAY_NOT_SENT, 0, 0, "a fabrics command without counterpart on PCI Express");
}

static int take_setup(struct replay *p, const struct bf_ftrace_event *ev)
{
	struct ctrl *c = find_ctrl(p, ev->ctrl);
	struct queue *q = &c->queue[ev->qid];
	struct bf_nvme_sqe sqe = ev->setup.sqe;
	struct bf_nvme_replay_flight *f;
	int rc;

	if (!c->up && ev->setup.fctype < 0)
		return note(p, ev, NULL, BF_NVME_REPLAY_NOT_SENT, 0, 0, "the trace has not enabled the controller");
	rc = ev->setup.fctype < 0 ? need_queue(p, c, ev->qid, !q->own) : 0;
	if (!rc)
		rc = point_at_memory(p, c, ev, &sqe);
	if (rc)
		return rc;
	if (c->host.queue[ev->qid].sq && q->count + 2 >= c->host.queue[ev->qid].entries)
		take_completions(c, ev->qid);
	f = add_flight(q, ev);
	if (!f)
		return bf_fail(p->err, -ENOMEM, "out of memory at line %" PRIu32, ev->line);
	if (f->fctype >= 0)
		return take_fabrics(p, c, ev, f);
	q->posted++;
	p->r->commands++;
	bf_nvme_replay_host_post(&c->host, ev->qid, &sqe);
	/* What the trace itself creates is ready once its command has been through. */
	if (ev->qid == 0 && ev->setup.opcode == BF_NVME_ADM_CREATE_SQ) {
		const uint32_t made = bf_le32(sqe.cdw10) & 0xffff;

		take_completions(c, 0);
		f = find_flight(q, ev->cid, false);
		if (f && f->done && f->status == 0 && made < BF_NVME_REPLAY_HOST_QUEUES)
			c->host.queue[made].ready = true;
	}
	return 0;
}

/* ---- completions ---- */

static int compare(struct replay *p, const struct bf_ftrace_event *ev, struct bf_nvme_replay_flight *f)
{
	const bool is_register = f->fctype == BF_NVME_REPLAY_FABRICS_GET || f->fctype == BF_NVME_REPLAY_FABRICS_SET;
	const enum bf_nvme_replay_verdict v =
	    is_register ? bf_nvme_replay_judge_register(f, ev->complete.result) : bf_nvme_replay_judge_status(ev, f);
	char text[160];

	p->r->completions++;
	if (v == BF_NVME_REPLAY_SAME) {
		p->r->tally[v]++;
		return 0;
	}
	if (is_register) {
		snprintf(text, sizeof(text), "register 0x%" PRIx32 ": captured 0x%" PRIx64 ", model 0x%" PRIx64,
			 bf_le32(f->sqe.cdw11), ev->complete.result, f->result);
		return note(p, ev, f, v, ev->complete.result, f->result, text);
	}
	snprintf(text, sizeof(text), "captured status 0x%" PRIx32 ", model 0x%" PRIx32, ev->complete.status, f->status);
	return note(p, ev, f, v, ev->complete.status, f->status, text);
}

static void remove_flight(struct queue *q, struct bf_nvme_replay_flight *f)
{
	const uint32_t index = (uint32_t)(f - q->flights);

	memmove(f, f + 1, (q->count - index - 1) * sizeof(*f));
	q->count--;
}

static int take_complete(struct replay *p, const struct bf_ftrace_event *ev)
{
	struct ctrl *c = find_ctrl(p, ev->ctrl);
	struct queue *q = &c->queue[ev->qid];
	struct bf_nvme_replay_flight *f = find_flight(q, ev->cid, false);
	int rc;

	if (!f)
		return note(p, ev, NULL, BF_NVME_REPLAY_ORPHAN, ev->complete.status, 0,
			    "its command is not in the trace");
	if (!f->done)
		take_completions(c, ev->qid);
	f = find_flight(q, ev->cid, false);
	if (f->done)
		rc = compare(p, ev, f);
	else if (f->fctype >= 0)
		rc = 0; /* noted when it was not sent */
	else if (bf_nvme_replay_device_own(ev->complete.status))
		rc =
		    note(p, ev, f, BF_NVME_REPLAY_DEVICE_OWN, ev->complete.status, 0, "the captured device gave it up");
	else
		rc = note(p, ev, f, BF_NVME_REPLAY_NO_COMPLETION, ev->complete.status, 0,
			  "the model posted no completion");
	if (!rc && f->done && f->fctype < 0) {
		if (f->order < q->last_order)
			rc = note(p, ev, f, BF_NVME_REPLAY_REORDERED, f->order, q->last_order,
				  "the model completed it before one that the trace has in front of it");
		q->last_order = f->order > q->last_order ? f->order : q->last_order;
		q->completed++;
	}
	remove_flight(q, f);
	return rc;
}

/*
 * The head that a completion told. Between two of them it moves by what was fetched: at least as far as commands ended
 * that had not been posted at the first, at most as far as commands were posted that had not ended then.
 */
static int take_sq(struct replay *p, const struct bf_ftrace_event *ev)
{
	struct queue *q = &find_ctrl(p, ev->ctrl)->queue[ev->qid];
	const uint32_t entries = ev->sq.head >= IO_ENTRIES ? 65536 : ev->qid ? IO_ENTRIES : 32;
	char text[160];

	if (q->anchored) {
		q->moved += (ev->sq.head - q->head) & (entries - 1);
		if (q->moved > q->posted - q->completed0) {
			q->anchored = false; /* the trace lacks commands: begin again */
		} else if (q->completed > q->posted0 && q->moved < q->completed - q->posted0) {
			snprintf(text, sizeof(text), "the head moved by %" PRIu64 " while %" PRIu64 " commands ended",
				 q->moved, q->completed - q->posted0);
			q->head = ev->sq.head;
			return note(p, ev, NULL, BF_NVME_REPLAY_HEAD_DIFFERS, q->moved, q->completed - q->posted0,
				    text);
		} else {
			p->r->heads++;
		}
	}
	q->head = ev->sq.head;
	if (!q->anchored) {
		q->anchored = true;
		q->moved = 0;
		q->posted0 = q->posted;
		q->completed0 = q->completed;
	}
	return 0;
}

/* ---- the whole ---- */

static int walk(struct replay *p)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->trace->count; i++) {
		const struct bf_ftrace_event *ev = &p->trace->events[i];

		switch (ev->kind) {
		case BF_FTRACE_SETUP:
			rc = take_setup(p, ev);
			break;
		case BF_FTRACE_SQ:
			rc = take_sq(p, ev);
			break;
		case BF_FTRACE_COMPLETE:
			rc = take_complete(p, ev);
			break;
		case BF_FTRACE_AEN: /* what the captured device said by itself */
		case BF_FTRACE_KINDS:
		default:
			break;
		}
	}
	return rc;
}

static void finish(struct replay *p)
{
	struct bf_nvme_replay_result *r = p->r;

	for (uint32_t i = 0; i < p->nctrls; i++)
		for (uint32_t q = 0; q < BF_NVME_REPLAY_HOST_QUEUES; q++)
			r->unfinished += p->ctrl[i]->queue[q].count;
	r->time_ps = p->sim->now_ps;
	r->events = p->sim->events;
	bf_stream_flush(&p->sim->rec);
	r->records = p->sim->rec.count;
	r->hash = bf_stream_hash(&p->sim->rec);
}

static void free_ctrls(struct replay *p)
{
	for (uint32_t i = 0; i < p->nctrls; i++) {
		bf_nvme_replay_host_fini(&p->ctrl[i]->host);
		for (uint32_t q = 0; q < BF_NVME_REPLAY_HOST_QUEUES; q++)
			free(p->ctrl[i]->queue[q].flights);
		free(p->ctrl[i]);
	}
}

int bf_nvme_replay_run(const struct bf_ftrace *t, const struct bf_nvme_replay_opts *opts,
		       struct bf_nvme_replay_result **out, struct bf_error *err)
{
	struct replay p = { .trace = t, .opts = opts, .err = err };
	int rc = bf_sim_create(opts->seed, &p.sim), closed;

	*out = NULL;
	p.r = calloc(1, sizeof(*p.r));
	if (rc || !p.r) {
		bf_sim_destroy(p.sim);
		free(p.r);
		return bf_fail(err, -ENOMEM, "out of memory");
	}
	if (opts->record_mask)
		rc = bf_stream_open(&p.sim->rec, &p.sim->now_ps, opts->record_mask, opts->sink);
	if (rc)
		bf_fail(err, rc, "no memory for records");
	if (!rc)
		rc = look(&p);
	for (uint32_t i = 0; !rc && i < p.nctrls; i++)
		rc = open_ctrl(&p, p.ctrl[i], i);
	if (!rc)
		rc = walk(&p);
	if (!rc && p.sim->error.code == -ENOMEM)
		rc = bf_fail(err, -ENOMEM, "the replay was stopped: %s", p.sim->error.text);
	if (!rc)
		finish(&p);
	free_ctrls(&p);
	closed = bf_stream_close(&p.sim->rec);
	if (!rc && closed)
		rc = bf_fail(err, closed, "cannot write the records: %s", strerror(-closed));
	bf_sim_destroy(p.sim);
	if (rc)
		bf_nvme_replay_free(p.r);
	else
		*out = p.r;
	return rc;
}

void bf_nvme_replay_free(struct bf_nvme_replay_result *r)
{
	if (r)
		free(r->findings);
	free(r);
}
