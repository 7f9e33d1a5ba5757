/*
 * The manager, its files with the events that wait in them, and identifiers: what core/ucma.c keeps. The descriptor of
 * a file is a channel with one message in it as long as events wait; the events themselves are asked for by command.
 */
#include <stdlib.h>

#include "models/rdmacm/rdmacm_internal.h"
#include "sim/grow.h"

#define OPTION_MAX 8u

/* ---- the manager ---- */

/* The devices' datagrams come here from now on. */
static int take_devices(struct bf_rdmacm *cm)
{
	int err = 0;

	for (; cm->opened < cm->opts.devices && !err; cm->opened += !err) {
		const struct bf_rdmacm_device *d = &cm->opts.device[cm->opened];
		struct bf_cm_agent *a = &cm->agent[cm->opened];

		*a = (struct bf_cm_agent){ cm, d };
		err = bf_uverbs_mad_open(d->uverbs, bf_cm_receive, a);
	}
	return err;
}

int bf_rdmacm_create(struct bf_sim *sim, const struct bf_rdmacm_opts *opts, struct bf_rdmacm **out)
{
	struct bf_rdmacm *cm;
	int err;

	*out = NULL;
	if (!opts->devices || opts->devices > BF_RDMACM_DEVICES)
		return bf_fail(&sim->error, -EINVAL, "rdma_cm: 1 to %u devices", BF_RDMACM_DEVICES);
	cm = calloc(1, sizeof(*cm));
	if (!cm)
		return bf_fail(&sim->error, -ENOMEM, "rdma_cm: no memory");
	cm->sim = sim;
	cm->opts = *opts;
	cm->slot = opts->outside ? bf_outside_slot(opts->outside) : 0;
	cm->last_id = opts->salt & ((1u << BF_CM_SLOT_SHIFT) - 1);
	cm->actor = bf_stream_actor(&sim->rec, "kernel", "rdma_cm");
	bf_rng_init(&cm->rng, sim->seed ^ opts->salt, "rdma_cm");
	err = take_devices(cm);
	if (err) {
		bf_rdmacm_destroy(cm);
		return err;
	}
	if (opts->outside)
		bf_outside_set_kernel(opts->outside, bf_cm_whose, bf_cm_gone, cm);
	*out = cm;
	return 0;
}

void bf_rdmacm_close_all(struct bf_rdmacm *cm)
{
	for (struct bf_rdmacm_file *f = cm->files, *next; f; f = next) {
		next = f->next;
		bf_rdmacm_close(f);
	}
}

void bf_rdmacm_destroy(struct bf_rdmacm *cm)
{
	if (!cm)
		return;
	bf_rdmacm_close_all(cm);
	if (cm->opts.outside)
		bf_outside_set_kernel(cm->opts.outside, NULL, NULL, NULL);
	while (cm->opened)
		bf_uverbs_mad_close(cm->opts.device[--cm->opened].uverbs);
	free(cm->ids);
	free(cm);
}

void bf_rdmacm_counts(const struct bf_rdmacm *cm, struct bf_rdmacm_counts *out)
{
	*out = cm->count;
}

/* ---- files ---- */

int bf_rdmacm_open(struct bf_rdmacm *cm, struct bf_rdmacm_file **out, int *fd)
{
	const struct bf_uverbs_host *h = &cm->opts.host;
	struct bf_rdmacm_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->fd = h->channel_open(h->arg);
	if (f->fd < 0) {
		const int err = f->fd;

		free(f);
		return err;
	}
	f->cm = cm;
	f->last = &f->first;
	f->next = cm->files;
	cm->files = f;
	cm->count.files++;
	*out = f;
	*fd = f->fd;
	return 0;
}

static bool always(const void *event, void *what)
{
	(void)event;
	(void)what;
	return true;
}

/* The descriptor says whether events wait. */
static void show(struct bf_rdmacm_file *f)
{
	static const uint64_t token = 1;
	const struct bf_uverbs_host *h = &f->cm->opts.host;

	if (f->first && !f->readable)
		f->readable = !h->channel_put(h->arg, f->fd, &token, sizeof(token));
	else if (!f->first && f->readable)
		f->readable = !h->channel_take(h->arg, f->fd, always, NULL);
}

static void append(struct bf_rdmacm_file *f, struct bf_cm_event *e)
{
	e->next = NULL;
	*f->last = e;
	f->last = &e->next;
	f->cm->count.events++;
}

/* Takes out the first event, or the first of `id`, or of `group`; NULL: there is none. */
static struct bf_cm_event *take_event(struct bf_rdmacm_file *f, const struct bf_cm_id *id,
				      const struct bf_cm_group *group)
{
	struct bf_cm_event **at = &f->first, *e;

	while (*at && ((id && (*at)->id != id) || (group && (*at)->group != group)))
		at = &(*at)->next;
	e = *at;
	if (!e)
		return NULL;
	*at = e->next;
	if (f->last == &e->next)
		f->last = at;
	f->cm->count.events--;
	return e;
}

/* A program may guess the number of a request's identifier before it reads the event. */
static void forget_fresh(const struct bf_cm_id *id)
{
	for (struct bf_rdmacm_file *f = id->cm->files; f; f = f->next)
		for (struct bf_cm_event *e = f->first; e; e = e->next)
			if (e->fresh == id)
				e->fresh = NULL;
}

/* An identifier goes with what the program has not read of it, and requests that nobody has seen. */
static void destroy(struct bf_cm_id *id)
{
	struct bf_rdmacm_file *f = id->file;
	struct bf_cm_event *e;

	forget_fresh(id);
	bf_cm_leave_groups(id);
	while ((e = take_event(f, id, NULL))) {
		if (e->fresh)
			destroy(e->fresh);
		free(e);
	}
	show(f);
	bf_cm_leave(id);
	bf_cm_id_free(id);
}

void bf_rdmacm_close(struct bf_rdmacm_file *f)
{
	struct bf_rdmacm *cm = f->cm;
	const struct bf_uverbs_host *h = &cm->opts.host;
	struct bf_rdmacm_file **at = &cm->files;

	for (uint32_t i = 0; i < cm->room; i++)
		if (cm->ids[i] && cm->ids[i]->file == f)
			destroy(cm->ids[i]);
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	cm->count.files--;
	h->channel_release(h->arg, f->fd);
	free(f);
}

/* ---- identifiers ---- */

static bool give_number(struct bf_cm_id *id)
{
	struct bf_rdmacm *cm = id->cm;
	uint32_t n = 0;

	while (n < cm->room && cm->ids[n])
		n++;
	if (n == BF_CM_IDS_MAX || BF_GROW(cm->ids, cm->room, n + 1))
		return false;
	cm->ids[n] = id;
	id->number = n;
	return true;
}

struct bf_cm_id *bf_cm_id_new(struct bf_rdmacm_file *f, uint64_t uid, uint16_t ps, uint8_t qp_type)
{
	struct bf_cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	*id = (struct bf_cm_id){ .cm = f->cm, .file = f, .uid = uid, .ps = ps, .qp_type = qp_type };
	id->conn.psn = (uint32_t)bf_rng_below(&f->cm->rng, 1u << 24);
	if (!give_number(id)) {
		free(id);
		return NULL;
	}
	f->cm->count.ids++;
	return id;
}

void bf_cm_id_free(struct bf_cm_id *id)
{
	bf_cm_stop(id);
	bf_cm_unregister(id);
	bf_cm_port_give(id);
	id->cm->ids[id->number] = NULL;
	id->cm->count.ids--;
	free(id);
}

int bf_cm_find(struct bf_cm_call *c, uint32_t number, struct bf_cm_id **out)
{
	*out = number < c->cm->room ? c->cm->ids[number] : NULL;
	c->number = number;
	if (!*out)
		return -ENOENT;
	return (*out)->file == c->f ? 0 : -EINVAL;
}

int bf_cm_find_ready(struct bf_cm_call *c, uint32_t number, struct bf_cm_id **out)
{
	int err = bf_cm_find(c, number, out);

	return err ? err : (*out)->device ? 0 : -EINVAL;
}

static int qp_type_of(const struct rdma_ucm_create_id *cmd, uint8_t *type)
{
	switch (cmd->ps) {
	case RDMA_PS_TCP:
		*type = BF_CM_QPT_RC;
		return 0;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		*type = BF_CM_QPT_UD;
		return 0;
	case RDMA_PS_IB:
		*type = cmd->qp_type;
		return 0;
	default:
		return -EINVAL;
	}
}

int bf_cm_create_id(struct bf_cm_call *c)
{
	const struct rdma_ucm_create_id cmd = c->in.create_id;
	struct rdma_ucm_create_id_resp resp;
	struct bf_cm_id *id;
	uint8_t type;
	int err = qp_type_of(&cmd, &type);

	if (err)
		return err;
	id = bf_cm_id_new(c->f, cmd.uid, cmd.ps, type);
	if (!id)
		return -ENOMEM;
	resp.id = c->number = id->number;
	err = bf_cm_answer(c, cmd.response, &resp, sizeof(resp));
	if (err)
		destroy(id);
	return err;
}

int bf_cm_destroy_id(struct bf_cm_call *c)
{
	const struct rdma_ucm_destroy_id cmd = c->in.destroy_id;
	struct rdma_ucm_destroy_id_resp resp;
	struct bf_cm_id *id;
	int err = bf_cm_find(c, cmd.id, &id);

	if (err)
		return err;
	resp.events_reported = id->reported;
	destroy(id);
	return bf_cm_answer(c, cmd.response, &resp, sizeof(resp));
}

static struct bf_rdmacm_file *file_of(const struct bf_rdmacm *cm, uint32_t fd)
{
	struct bf_rdmacm_file *f = cm->files;

	while (f && (uint32_t)f->fd != fd)
		f = f->next;
	return f;
}

/* Events that wait move along; the program counts those that it has read already. */
int bf_cm_migrate_id(struct bf_cm_call *c)
{
	const struct rdma_ucm_migrate_id cmd = c->in.migrate_id;
	struct bf_rdmacm_file *to = c->f, *from = file_of(c->cm, cmd.fd);
	struct rdma_ucm_migrate_resp resp;
	struct bf_cm_event *e;
	struct bf_cm_id *id;
	int err;

	if (!from)
		return -ENOENT;
	c->f = from;
	err = bf_cm_find(c, cmd.id, &id);
	if (err)
		return err;
	if (from != to) {
		id->file = to;
		for (uint32_t n = c->cm->count.events; n && (e = take_event(from, id, NULL)); n--) {
			if (e->fresh)
				e->fresh->file = to;
			append(to, e);
		}
		show(from);
		show(to);
	}
	resp.events_reported = id->reported;
	return bf_cm_answer(c, cmd.response, &resp, sizeof(resp));
}

/* ---- events ---- */

static void record(const struct bf_cm_id *id, const struct rdma_ucm_event_resp *resp)
{
	BF_EMIT(id->cm->sim, id->cm->actor, cm_event, .id = resp->id, .status = (int32_t)resp->status,
		.event = resp->event, .port = bf_cm_addr_port(&id->src.sa));
}

static bool put(const struct bf_cm_event *what)
{
	struct bf_cm_event *e = malloc(sizeof(*e));
	struct bf_cm_id *id = what->id;

	if (!e)
		return false;
	*e = *what;
	append(id->file, e);
	show(id->file);
	record(id, &e->resp);
	return true;
}

void bf_cm_tell(struct bf_cm_id *id, uint32_t event, int32_t status, const struct rdma_ucm_event_resp *resp)
{
	struct bf_cm_event e = { .id = id };

	if (!id->uid)
		return; /* the program has not accepted it yet, and will fail to */
	if (resp)
		e.resp = *resp;
	e.resp.uid = id->uid;
	e.resp.id = id->number;
	e.resp.event = event;
	e.resp.status = (uint32_t)status;
	put(&e);
}

void bf_cm_tell_group(struct bf_cm_group *g, uint32_t event, const struct rdma_ucm_event_resp *resp)
{
	struct bf_cm_event e = { .id = g->id, .group = g, .resp = *resp };

	e.resp.uid = g->uid;
	e.resp.id = g->number;
	e.resp.event = event;
	put(&e);
}

void bf_cm_forget_events(const struct bf_cm_group *g)
{
	struct bf_cm_event *e;

	while ((e = take_event(g->id->file, NULL, g)))
		free(e);
	show(g->id->file);
}

bool bf_cm_tell_request(struct bf_cm_id *listener, struct bf_cm_id *fresh, struct rdma_ucm_event_resp *resp)
{
	struct bf_cm_event e = { .id = listener, .fresh = fresh, .resp = *resp };

	if (!listener->backlog)
		return false;
	e.resp.uid = listener->uid;
	e.resp.id = fresh->number;
	e.resp.event = BF_CM_CONNECT_REQUEST;
	if (!put(&e))
		return false;
	listener->backlog--;
	return true;
}

int bf_cm_get_event(struct bf_cm_call *c)
{
	struct bf_cm_event *e = c->f->first;
	int err;

	if (!e)
		return -EAGAIN;
	c->number = e->resp.id;
	err = bf_cm_answer(c, c->in.get_event.response, &e->resp, sizeof(e->resp));
	if (err)
		return err;
	take_event(c->f, NULL, NULL);
	show(c->f);
	e->id->reported++;
	if (e->group)
		e->group->reported++;
	if (e->resp.event == BF_CM_CONNECT_REQUEST)
		e->id->backlog++;
	free(e);
	return 0;
}

/* ---- options ---- */

static int set_flag(bool *flag, const uint8_t *value, uint32_t len)
{
	int32_t n;

	if (len != sizeof(n))
		return -EINVAL;
	memcpy(&n, value, sizeof(n));
	*flag = n != 0;
	return 0;
}

static int set_byte(uint8_t *byte, bool *set, const uint8_t *value, uint32_t len)
{
	if (len != 1)
		return -EINVAL;
	*byte = *value;
	*set = true;
	return 0;
}

static int set_option(struct bf_cm_id *id, uint32_t name, const uint8_t *value, uint32_t len)
{
	int err;

	switch (name) {
	case RDMA_OPTION_ID_TOS:
		return set_byte(&id->tos, &id->tos_set, value, len);
	case RDMA_OPTION_ID_REUSEADDR: /* not any more once it listens */
		return id->cma == BF_CMA_LISTEN ? -EINVAL : set_flag(&id->reuse, value, len);
	case RDMA_OPTION_ID_AFONLY:
		if (id->cma != BF_CMA_IDLE && id->cma != BF_CMA_BOUND)
			return -EINVAL;
		err = set_flag(&id->afonly, value, len);
		id->afonly_set = !err || id->afonly_set;
		return err;
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		return id->qp_type == BF_CM_QPT_RC ? set_byte(&id->ack_timeout, &id->ack_timeout_set, value, len)
						   : -EINVAL;
	default:
		return -ENOSYS;
	}
}

/* Paths come from addresses here; nobody else can know one. */
int bf_cm_set_option(struct bf_cm_call *c)
{
	const struct bf_uverbs_host *h = &c->cm->opts.host;
	const struct rdma_ucm_set_option cmd = c->in.set_option;
	uint8_t value[OPTION_MAX] = { 0 };
	struct bf_cm_id *id;
	int err = bf_cm_find(c, cmd.id, &id);

	if (err)
		return err;
	if (cmd.level != RDMA_OPTION_ID)
		return -ENOSYS;
	if (cmd.optlen > sizeof(value))
		return -EINVAL;
	if (h->copy_in(h->arg, value, cmd.optval, cmd.optlen))
		return -EFAULT;
	return set_option(id, cmd.optname, value, cmd.optlen);
}
