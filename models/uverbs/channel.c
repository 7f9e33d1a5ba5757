/*
 * Descriptors that programs read events from, and the counts that objects keep of theirs.
 *
 * libibverbs does not come back from destroying an object before its program has acknowledged as many events as the
 * answer reports: those that were read, never those that still wait (Linux core/uverbs_main.c counts in
 * ib_uverbs_event_read()).
 */
#include "models/uverbs/uverbs_internal.h"

#include <stdlib.h>

static void unlink_channel(struct bf_uv_channel *ch)
{
	struct bf_uv_object **at = (struct bf_uv_object **)&ch->o.file->channels;

	while (*at != &ch->o)
		at = &(*at)->next;
	*at = ch->o.next;
}

static void release(struct bf_uv_channel *ch)
{
	struct bf_uverbs_file *f = ch->o.file;

	if (f->async == ch)
		f->async = NULL;
	bf_uv_provider(ch->o.file->u)->channel_gone(ch);
	unlink_channel(ch);
	f->u->count.channels--;
	free(ch);
}

/* The number was given out again, so the program has closed the one that had it. */
static void forget(struct bf_uverbs_file *f, int fd)
{
	for (struct bf_uv_object *o = (struct bf_uv_object *)f->channels, *next; o; o = next) {
		struct bf_uv_channel *ch = (struct bf_uv_channel *)o;

		next = o->next;
		if (ch->fd != fd || ch->closed)
			continue;
		ch->closed = true;
		bf_uv_provider(ch->o.file->u)->channel_gone(ch);
		if (!o->users)
			release(ch);
	}
}

struct bf_uv_channel *bf_uv_channel_new(struct bf_uv_call *c, uint16_t type, int *error)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;
	struct bf_uv_channel *ch = calloc(1, sizeof(*ch));

	*error = -ENOMEM;
	if (!ch)
		return NULL;
	ch->fd = h->channel_open(h->arg);
	if (ch->fd < 0) {
		*error = ch->fd;
		free(ch);
		return NULL;
	}
	for (struct bf_uverbs_file *f = c->u->files; f; f = f->next)
		forget(f, ch->fd);
	ch->o.file = c->f;
	ch->o.type = type;
	ch->o.next = (struct bf_uv_object *)c->f->channels;
	c->f->channels = ch;
	c->u->count.channels++;
	return ch;
}

struct bf_uv_channel *bf_uv_channel_find(struct bf_uverbs_file *f, uint16_t type, int64_t fd)
{
	for (struct bf_uv_object *o = (struct bf_uv_object *)f->channels; o; o = o->next) {
		struct bf_uv_channel *ch = (struct bf_uv_channel *)o;

		if (ch->fd == fd && !ch->closed && o->type == type)
			return ch;
	}
	return NULL;
}

void bf_uv_channel_use(struct bf_uv_channel *ch)
{
	ch->o.users++;
}

void bf_uv_channel_drop(struct bf_uv_channel *ch)
{
	if (!--ch->o.users && ch->closed)
		release(ch);
}

void bf_uv_channel_destroy(struct bf_uv_channel *ch)
{
	const struct bf_uverbs_host *h = &ch->o.file->u->opts.host;

	if (!ch->closed)
		h->channel_release(h->arg, ch->fd);
	release(ch);
}

void bf_uv_events_start(struct bf_uv_events *e, struct bf_uv_channel *ch, uint64_t user_handle)
{
	*e = (struct bf_uv_events){ .channel = ch, .user_handle = user_handle };
	if (ch)
		bf_uv_channel_use(ch);
}

/* Both kinds of event begin with what the program called its object. */
static bool of_object(const void *event, void *what)
{
	return bf_get_le64(event) == *(const uint64_t *)what;
}

uint32_t bf_uv_events_end(struct bf_uverbs_file *f, struct bf_uv_events *e)
{
	const struct bf_uverbs_host *h = &f->u->opts.host;
	uint32_t read = e->put;

	if (!e->channel)
		return 0;
	if (e->put && !e->channel->closed)
		read -= (uint32_t)h->channel_take(h->arg, e->channel->fd, of_object, &e->user_handle);
	bf_uv_channel_drop(e->channel);
	e->channel = NULL;
	return read;
}

static void record_event(struct bf_uverbs_file *f, const struct bf_uv_channel *ch, uint64_t element, uint32_t number,
			 uint32_t type, int status)
{
	BF_EMIT(f->u->sim, f->u->actor, uverbs_event, .element = element, .status = status, .number = number,
		.fd = ch->fd, .type = (uint16_t)type, .file = (uint16_t)f->number);
}

static int put(struct bf_uverbs_file *f, struct bf_uv_channel *ch, const void *event, uint32_t len, uint32_t number,
	       uint32_t type)
{
	const struct bf_uverbs_host *h = &f->u->opts.host;
	int err = ch->closed ? -EBADF : h->channel_put(h->arg, ch->fd, event, len);

	record_event(f, ch, bf_get_le64(event), number, type, err);
	return err;
}

void bf_uv_put_comp(struct bf_uverbs_file *f, struct bf_uv_cq *cq)
{
	struct ib_uverbs_comp_event_desc event = { .cq_handle = cq->comp.user_handle };

	if (cq->comp.channel && !put(f, cq->comp.channel, &event, sizeof(event), cq->cqn, 0xffff))
		cq->comp.put++;
}

void bf_uv_put_async(struct bf_uverbs_file *f, struct bf_uv_events *e, uint32_t number, uint32_t type)
{
	struct ib_uverbs_async_event_desc event = { .element = e->user_handle, .event_type = type };

	if (e->channel && !put(f, e->channel, &event, sizeof(event), number, type))
		e->put++;
}

void bf_uv_put_port(struct bf_uverbs_file *f, uint32_t port, uint32_t type)
{
	struct ib_uverbs_async_event_desc event = { .element = port, .event_type = type };

	if (f->async)
		put(f, f->async, &event, sizeof(event), port, type);
}

void bf_uv_put_raw(struct bf_uv_channel *ch, const void *event, uint32_t len, uint32_t number, uint32_t type)
{
	put(ch->o.file, ch, event, len, number, type);
}

int bf_uv_create_comp_channel(struct bf_uv_call *c)
{
	struct ib_uverbs_create_comp_channel_resp resp = { 0 };
	struct ib_uverbs_create_comp_channel cmd;
	struct bf_uv_channel *ch;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	ch = bf_uv_channel_new(c, UVERBS_OBJECT_COMP_CHANNEL, &err);
	if (!ch)
		return err;
	resp.fd = (uint32_t)ch->fd;
	err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_channel_destroy(ch);
	return err;
}

/* A file's first one takes the events of the port and of objects that name none. */
int bf_uv_alloc_async(struct bf_uv_call *c)
{
	struct bf_uv_channel *ch;
	int err;

	ch = bf_uv_channel_new(c, UVERBS_OBJECT_ASYNC_EVENT, &err);
	if (!ch)
		return err;
	err = bf_uv_attr_handle(c, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, ch->fd);
	if (err) {
		bf_uv_channel_destroy(ch);
		return err;
	}
	if (!c->f->async)
		c->f->async = ch;
	return 0;
}
