/* The bytes of a request: what a handler reads and answers, whichever way the request came. */
#include "models/uverbs/uverbs_internal.h"

#include <stdio.h>
#include <string.h>

#define ATTR_FLAGS offsetof(struct ib_uverbs_attr, flags)
#define ATTR_DATA offsetof(struct ib_uverbs_attr, data)

static int copy_in(struct bf_uv_call *c, const struct bf_uv_bytes *from, uint32_t at, void *to, uint32_t len)
{
	if (!len)
		return 0;
	if (from->local) {
		memcpy(to, from->local + at, len);
		return 0;
	}
	if (from->address + at < from->address)
		return -EFAULT;
	return c->u->opts.host.copy_in(c->u->opts.host.arg, to, from->address + at, len);
}

int bf_uv_get(struct bf_uv_call *c, const struct bf_uv_bytes *from, void *to, uint32_t size)
{
	uint32_t len = from->len < size ? from->len : size;

	memset((uint8_t *)to + len, 0, size - len);
	return copy_in(c, from, 0, to, len);
}

int bf_uv_get_strict(struct bf_uv_call *c, const struct bf_uv_bytes *from, void *to, uint32_t size)
{
	uint8_t rest[256];

	for (uint32_t at = size; at < from->len;) {
		uint32_t len = from->len - at < sizeof(rest) ? from->len - at : (uint32_t)sizeof(rest);

		if (copy_in(c, from, at, rest, len))
			return -EFAULT;
		for (uint32_t i = 0; i < len; i++)
			if (rest[i])
				return -EOPNOTSUPP;
		at += len;
	}
	return bf_uv_get(c, from, to, size);
}

int bf_uv_put(struct bf_uv_call *c, const struct bf_uv_bytes *to, const void *from, uint32_t size)
{
	static const uint8_t zeros[256];
	const struct bf_uverbs_host *h = &c->u->opts.host;
	uint32_t len = to->len < size ? to->len : size;

	if (to->address + to->len < to->address)
		return -EFAULT;
	if (len && h->copy_out(h->arg, to->address, from, len))
		return -EFAULT;
	while (len < to->len) {
		uint32_t n = to->len - len < sizeof(zeros) ? to->len - len : (uint32_t)sizeof(zeros);

		if (h->copy_out(h->arg, to->address + len, zeros, n))
			return -EFAULT;
		len += n;
	}
	return 0;
}

struct bf_uv_attr *bf_uv_attr(struct bf_uv_call *c, uint16_t id)
{
	uint16_t i = 0;

	while (c->method->specs[i].id != id)
		i++; /* handlers ask for what their method's table lists */
	return &c->attr[i];
}

int bf_uv_attr_get(struct bf_uv_call *c, uint16_t id, void *to, uint32_t size)
{
	const struct bf_uv_attr *a = bf_uv_attr(c, id);

	if (a->present)
		return bf_uv_get(c, &a->bytes, to, size);
	memset(to, 0, size);
	return 0;
}

static int mark(struct bf_uv_call *c, const struct bf_uv_attr *a)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;
	uint64_t at = c->attrs_at + (uint64_t)a->place * sizeof(struct ib_uverbs_attr);
	uint16_t flags = a->flags | UVERBS_ATTR_F_VALID_OUTPUT;

	return h->copy_out(h->arg, at + ATTR_FLAGS, &flags, sizeof(flags)) ? -EFAULT : 0;
}

int bf_uv_attr_mark(struct bf_uv_call *c, uint16_t id)
{
	return mark(c, bf_uv_attr(c, id));
}

int bf_uv_attr_put(struct bf_uv_call *c, uint16_t id, const void *from, uint32_t size)
{
	const struct bf_uv_attr *a = bf_uv_attr(c, id);

	if (!a->present)
		return 0;
	return bf_uv_put(c, &a->bytes, from, size) || mark(c, a) ? -EFAULT : 0;
}

int bf_uv_attr_handle(struct bf_uv_call *c, uint16_t id, int64_t value)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;
	const struct bf_uv_attr *a = bf_uv_attr(c, id);
	uint64_t at = c->attrs_at + (uint64_t)a->place * sizeof(struct ib_uverbs_attr);

	return h->copy_out(h->arg, at + ATTR_DATA, &value, sizeof(value)) ? -EFAULT : 0;
}

int bf_uv_request(struct bf_uv_call *c, void *to, uint32_t size)
{
	return bf_uv_get_strict(c, &c->core_in, to, size);
}

int bf_uv_response(struct bf_uv_call *c, const void *from, uint32_t size)
{
	return bf_uv_put(c, &c->core_out, from, size);
}

int bf_uv_dmabuf(struct bf_uv_call *c, int fd, uint64_t *address, uint64_t len)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;

	return h->dmabuf ? h->dmabuf(h->arg, fd, *address, len, address) : -EOPNOTSUPP;
}

int bf_uv_done(struct bf_uv_call *c)
{
	(void)c;
	return 0;
}

int bf_uv_refuse(struct bf_uv_call *c)
{
	(void)c;
	return -EOPNOTSUPP;
}

void bf_uv_call_record(struct bf_uv_call *c, int status)
{
	struct bf_rec_uverbs_call rec = {
		.status = status,
		.handle = c->handle,
		.number = c->number,
		.object = c->object_id,
		.method = c->method_id,
		.file = (uint16_t)c->f->number,
		.abi = c->abi,
	};

	c->u->count.commands++;
	if (!bf_probe(c->u->sim, BF_CLASS_QUEUE))
		return;
	snprintf(rec.name, sizeof(rec.name), "%s", c->name ? c->name : "?");
	BF_EMIT_MADE(c->u->sim, c->u->actor, uverbs_call, rec, NULL, 0);
}

void bf_uv_unknown_record(struct bf_uv_call *c, uint32_t command, uint16_t attr, int status)
{
	struct bf_rec_uverbs_unknown rec = { .status = status,
					     .command = command,
					     .object = c->object_id,
					     .method = c->method_id,
					     .attr = attr,
					     .abi = c->abi };

	c->u->count.unknown++;
	if (bf_probe(c->u->sim, BF_CLASS_QUEUE))
		BF_EMIT_MADE(c->u->sim, c->u->actor, uverbs_unknown, rec, NULL, 0);
}
