/*
 * The ioctl ABI: a header, attributes, and the table of the method that they name. What is wrong is answered as Linux
 * drivers/infiniband/core/uverbs_ioctl.c and rdma_core.c do, in their order.
 */
#include "models/uverbs/uverbs_internal.h"

#include <string.h>

#define INLINE_MAX 8u /* bytes that lie in the attribute itself */

/* The program's attributes, copied once: what it changes meanwhile is not looked at. */
struct list {
	uint32_t count;
	struct ib_uverbs_attr attr[(BF_UV_PAGE - sizeof(struct ib_uverbs_ioctl_hdr)) / sizeof(struct ib_uverbs_attr)];
};

static const struct bf_uv_spec uhw_in = { UVERBS_ATTR_UHW_IN, BF_UV_IN, true, 0, 0, 0 };
static const struct bf_uv_spec uhw_out = { UVERBS_ATTR_UHW_OUT, BF_UV_OUT, true, 0, 0, 0 };

static int take_in(struct bf_uv_call *c, const struct bf_uv_spec *spec, struct bf_uv_attr *a)
{
	uint8_t scratch[1];

	if (a->bytes.len < spec->min)
		return -EINVAL;
	/* What lies beyond the known part must be zero: a later ABI's request is refused, not half understood. */
	if (spec->max && a->bytes.len > spec->max) {
		struct bf_uv_bytes rest = a->bytes;

		if (rest.local)
			rest.local += spec->max;
		rest.address += spec->max;
		rest.len -= spec->max;
		return bf_uv_get_strict(c, &rest, scratch, 0);
	}
	return 0;
}

static int take_handle(struct bf_uv_call *c, const struct bf_uv_spec *spec, struct bf_uv_attr *a)
{
	if (a->bytes.len)
		return -EINVAL;
	switch (spec->kind) {
	case BF_UV_FD:
		a->object = (struct bf_uv_object *)bf_uv_channel_find(c->f, spec->object, a->data);
		return a->object ? 0 : -EBADF;
	case BF_UV_RAW_FD:
		return a->data < INT32_MIN || a->data > INT32_MAX ? -EINVAL : 0;
	case BF_UV_READ:
	case BF_UV_DESTROY:
		if (a->data < 0 || a->data > UINT32_MAX)
			return a->data < 0 ? -EINVAL : -ENOENT;
		if (c->handle == BF_UV_NO_HANDLE)
			c->handle = (uint32_t)a->data;
		return bf_uv_lookup(c->f, spec->object, (uint32_t)a->data, &a->object);
	default:
		return 0;
	}
}

static int take(struct bf_uv_call *c, const struct bf_uv_spec *spec, const struct ib_uverbs_attr *from,
		struct bf_uv_attr *a, uint16_t place)
{
	if (a->present || from->attr_data.reserved)
		return -EINVAL;
	*a = (struct bf_uv_attr){ .present = true, .place = place, .flags = from->flags, .data = from->data_s64 };
	a->bytes.len = from->len;
	a->bytes.address = from->data;
	switch (spec->kind) {
	case BF_UV_IN:
		if (from->len <= INLINE_MAX)
			a->bytes.local = (const uint8_t *)&from->data;
		return take_in(c, spec, a);
	case BF_UV_OUT:
		return from->len < spec->min ? -EINVAL : 0;
	case BF_UV_ARRAY:
		if (from->len <= INLINE_MAX)
			a->bytes.local = (const uint8_t *)&from->data;
		return from->len % sizeof(uint32_t) ? -EINVAL : 0;
	default:
		return take_handle(c, spec, a);
	}
}

static int take_attr(struct bf_uv_call *c, const struct ib_uverbs_attr *from, uint16_t place)
{
	const struct bf_uv_method *m = c->method;

	if (m->uhw && from->attr_id == UVERBS_ATTR_UHW_IN)
		return take(c, &uhw_in, from, &c->uhw[0], place);
	if (m->uhw && from->attr_id == UVERBS_ATTR_UHW_OUT)
		return take(c, &uhw_out, from, &c->uhw[1], place);
	for (uint16_t i = 0; i < m->nspecs; i++)
		if (m->specs[i].id == from->attr_id)
			return take(c, &m->specs[i], from, &c->attr[i], place);
	if (!(from->flags & UVERBS_ATTR_F_MANDATORY))
		return 0;
	bf_uv_unknown_record(c, 0, from->attr_id, -EPROTONOSUPPORT);
	return -EPROTONOSUPPORT;
}

/* A method that destroys does so before its handler runs. */
static int destroy(struct bf_uv_call *c)
{
	for (uint16_t i = 0; i < c->method->nspecs; i++)
		if (c->method->specs[i].kind == BF_UV_DESTROY)
			return bf_uv_destroy(c->attr[i].object, false);
	return 0;
}

static int run(struct bf_uv_call *c, const struct list *l)
{
	int err = 0;

	for (uint32_t i = 0; i < l->count && !err; i++)
		err = take_attr(c, &l->attr[i], (uint16_t)i);
	for (uint16_t i = 0; i < c->method->nspecs && !err; i++)
		if (!c->method->specs[i].optional && !c->attr[i].present)
			err = -EINVAL;
	if (err)
		return err;
	c->uhw_in = c->uhw[0].bytes;
	c->uhw_out = c->uhw[1].bytes;
	/* Without a context there are no objects, and only few questions. */
	if (!c->f->context && c->object_id != UVERBS_OBJECT_DEVICE)
		return -EINVAL;
	/* Methods that destroy answer what the object knew: they do it themselves. */
	err = c->method->run ? c->method->run(c) : destroy(c);
	if (!err && c->uhw[1].present) {
		const struct bf_uverbs_host *h = &c->u->opts.host;
		uint16_t flags = c->uhw[1].flags | UVERBS_ATTR_F_VALID_OUTPUT;

		if (h->copy_out(h->arg,
				c->attrs_at + (uint64_t)c->uhw[1].place * sizeof(struct ib_uverbs_attr) +
				    offsetof(struct ib_uverbs_attr, flags),
				&flags, sizeof(flags)))
			return -EFAULT;
	}
	return err;
}

int bf_uverbs_ioctl(struct bf_uverbs_file *f, uint64_t request, uint64_t arg)
{
	struct bf_uv_call c = { .u = f->u, .f = f, .handle = BF_UV_NO_HANDLE, .attrs_at = arg + 24 };
	const struct bf_uverbs_host *h = &f->u->opts.host;
	struct ib_uverbs_ioctl_hdr head;
	struct list l;
	int err;

	if (f->u->opts.no_ioctl || (uint32_t)request != RDMA_VERBS_IOCTL)
		return -ENOTTY;
	if (c.attrs_at < arg || h->copy_in(h->arg, &head, arg, sizeof(head)))
		return -EFAULT;
	l.count = head.num_attrs;
	if (head.length > BF_UV_PAGE || head.length != sizeof(head) + l.count * sizeof(l.attr[0]))
		return -EINVAL;
	if (head.reserved1 || head.reserved2)
		return -EPROTONOSUPPORT;
	if (head.driver_id != bf_uv_provider(f->u)->driver_id)
		return -EINVAL;
	c.object_id = head.object_id;
	c.method_id = head.method_id;
	c.method = bf_uv_method_find(f->u, head.object_id, head.method_id);
	if (!c.method) {
		bf_uv_unknown_record(&c, 0, 0xffff, -EPROTONOSUPPORT);
		return -EPROTONOSUPPORT;
	}
	c.name = c.method->name;
	if (l.count && h->copy_in(h->arg, l.attr, c.attrs_at, (uint32_t)(l.count * sizeof(l.attr[0]))))
		return -EFAULT;
	err = run(&c, &l);
	bf_uv_call_record(&c, err);
	return err;
}
