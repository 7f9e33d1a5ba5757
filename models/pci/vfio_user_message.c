/* Messages: whether they make sense, which command they are, and what the device is. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/pci/vfio_user_internal.h"

static struct bf_le16 le16(uint32_t v)
{
	struct bf_le16 r;

	bf_put_le16(r.b, (uint16_t)v);
	return r;
}

static struct bf_le32 le32(uint32_t v)
{
	struct bf_le32 r;

	bf_put_le32(r.b, v);
	return r;
}

static struct bf_le64 le64(uint64_t v)
{
	struct bf_le64 r;

	bf_put_le64(r.b, v);
	return r;
}

int bf_vfu_refuse(struct bf_vfio_user *s, int code, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	s->count.refused++;
	if (s->o.log) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		bf_vfu_log(s, "refused: %s", text);
	}
	return code;
}

static uint8_t *put_header(struct bf_vfio_user *s, const struct bf_vfu_message *m, uint32_t payload, uint32_t flags,
			   uint32_t error, int fd)
{
	struct bf_vfu_header h = {
		.id = le16(m->id),
		.command = le16(m->command),
		.size = le32((uint32_t)sizeof(h) + payload),
		.flags = le32(BF_VFU_TYPE_REPLY | flags),
		.error = le32(error),
	};
	uint8_t *p = bf_vfu_put(s, sizeof(h) + payload, fd);

	if (!p)
		return NULL;
	memcpy(p, &h, sizeof(h));
	return p + sizeof(h);
}

uint8_t *bf_vfu_reply(struct bf_vfio_user *s, struct bf_vfu_message *m, uint32_t payload, int fd)
{
	m->replied = true;
	return m->posted ? NULL : put_header(s, m, payload, 0, 0, fd);
}

void bf_vfu_answer_error(struct bf_vfio_user *s, const struct bf_vfu_message *m, int code)
{
	if (!m->posted && (m->flags & BF_VFU_TYPE) != BF_VFU_TYPE_REPLY)
		put_header(s, m, 0, BF_VFU_ERROR, (uint32_t)-code, -1);
}

/* Version and capabilities. ------------------------------------------------------------------------------------- */

#define MAJOR 0u
#define MINOR 1u

/*
 * The largest text that is not longer than the client's own: QEMU takes the answer in the buffer of its request. What
 * is left out stands at its default on both sides.
 */
static void choose_text(const struct bf_vfu_capabilities *theirs, size_t room, char *text, size_t cap)
{
	int n = snprintf(text, cap,
			 "{\"capabilities\":{\"max_msg_fds\":%u,\"max_data_xfer_size\":%u,\"max_dma_maps\":%u,"
			 "\"pgsizes\":4096%s}}",
			 BF_VFU_MAX_FDS, BF_VFU_MAX_TRANSFER, BF_VFU_MAX_MAPS,
			 theirs->write_multiple ? ",\"write_multiple\":true" : "");

	if ((size_t)n >= room)
		n = snprintf(text, cap, "{\"capabilities\":{\"max_msg_fds\":%u}}", BF_VFU_MAX_FDS);
	if ((size_t)n >= room)
		n = snprintf(text, cap, "{}");
	if ((size_t)n >= room)
		*text = 0;
}

static int version(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct bf_vfu_version *v = (const void *)m->payload;
	struct bf_vfu_capabilities theirs = { .max_transfer = BF_VFU_MAX_TRANSFER };
	const char *json = (const char *)m->payload + sizeof(*v);
	const size_t len = m->len - sizeof(*v);
	char text[256];
	uint32_t major = bf_get_le16(v->major.b), minor = bf_get_le16(v->minor.b), size;
	uint8_t *p;

	if (s->negotiated)
		return bf_vfu_refuse(s, -EINVAL, "a second VERSION");
	if (major != MAJOR)
		return bf_vfu_refuse(s, -EINVAL, "protocol version %u.%u; we speak %u", major, minor, MAJOR);
	if (len && (json[len - 1] || !bf_vfu_parse_capabilities(json, strlen(json), &theirs)))
		return bf_vfu_refuse(s, -EINVAL, "the text of VERSION is no JSON object that ends with a zero byte");
	if (!theirs.max_transfer)
		return bf_vfu_refuse(s, -EINVAL, "VERSION: max_data_xfer_size is 0");
	s->max_transfer =
	    theirs.max_transfer < BF_VFU_MAX_TRANSFER ? (uint32_t)theirs.max_transfer : BF_VFU_MAX_TRANSFER;
	choose_text(&theirs, len, text, sizeof(text));
	s->negotiated = true;
	size = (uint32_t)(*text ? strlen(text) + 1 : 0);
	p = bf_vfu_reply(s, m, (uint32_t)sizeof(*v) + size, -1);
	if (!p)
		return 0;
	bf_put_le16(p, MAJOR);
	bf_put_le16(p + 2, (uint16_t)(minor < MINOR ? minor : MINOR));
	memcpy(p + sizeof(*v), text, size);
	return 0;
}

/* What the device is. -------------------------------------------------------------------------------------------- */

static int get_info(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct bf_vfu_info info = {
		.argsz = le32(sizeof(info)),
		.flags = le32(BF_VFU_INFO_RESET | BF_VFU_INFO_PCI),
		.regions = le32(BF_VFU_REGIONS),
		.irqs = le32(BF_VFU_IRQS),
	};
	uint8_t *p;

	if (bf_get_le32(m->payload) < sizeof(info))
		return bf_vfu_refuse(s, -EINVAL, "GET_INFO: argsz %u", bf_get_le32(m->payload));
	p = bf_vfu_reply(s, m, sizeof(info), -1);
	if (p)
		memcpy(p, &info, sizeof(info));
	return 0;
}

static void region_size(const struct bf_vfio_user *s, uint32_t index, uint64_t *size, uint32_t *flags)
{
	*size = index == BF_VFU_REGION_CONFIG ? BF_PCI_CONFIG_BYTES : bf_pci_bar_size(s->o.fn, index);
	*flags = *size ? BF_VFU_REGION_CAN_READ | BF_VFU_REGION_CAN_WRITE : 0;
}

/*
 * With a window the answer has a capability, which needs a second question with room for it; the first answer names
 * the room and where the capability will be, but brings no descriptor.
 */
static int region_info(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct bf_vfu_region_info *ask = (const void *)m->payload;
	const uint32_t argsz = bf_get_le32(ask->argsz.b), index = bf_get_le32(ask->index.b);
	const struct bf_pci_window *w = s->o.window && s->o.window->bar == index ? s->o.window : NULL;
	const uint32_t full = (uint32_t)(sizeof(*ask) + (w ? sizeof(struct bf_vfu_cap_sparse) : 0));
	const bool fits = argsz >= full;
	struct bf_vfu_region_info info = { .argsz = le32(full), .index = ask->index };
	uint64_t size;
	uint32_t flags;
	uint8_t *p;

	if (index >= BF_VFU_REGIONS || argsz < sizeof(*ask))
		return bf_vfu_refuse(s, -EINVAL, "REGION_INFO of region %u, argsz %u", index, argsz);
	region_size(s, index, &size, &flags);
	if (w) {
		flags |= BF_VFU_REGION_CAN_MMAP | BF_VFU_REGION_HAS_CAPS;
		info.cap_offset = le32(sizeof(info));
	}
	info.flags = le32(flags);
	info.size = le64(size); /* its offset, where the window's file would begin, is 0 */
	p = bf_vfu_reply(s, m, fits ? full : (uint32_t)sizeof(info), w && fits ? w->fd : -1);
	if (!p)
		return 0;
	memcpy(p, &info, sizeof(info));
	if (w && fits) {
		const struct bf_vfu_cap_sparse cap = {
			.id = le16(BF_VFU_CAP_SPARSE_MMAP),
			.version = le16(1),
			.areas = le32(1),
			.offset = le64(w->offset),
			.size = le64(w->bytes),
		};

		memcpy(p + sizeof(info), &cap, sizeof(cap));
	}
	return 0;
}

/* No part of a region has a descriptor of its own to write to: the list is empty. */
static int region_io_fds(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct bf_vfu_region_io_fds *ask = (const void *)m->payload;
	struct bf_vfu_region_io_fds none = { .argsz = le32(sizeof(none)), .index = ask->index };
	uint8_t *p;

	if (bf_get_le32(ask->argsz.b) < sizeof(*ask) || bf_get_le32(ask->flags.b) || bf_get_le32(ask->count.b) ||
	    bf_get_le32(ask->index.b) >= BF_VFU_REGIONS)
		return bf_vfu_refuse(s, -EINVAL, "REGION_IO_FDS of region %u", bf_get_le32(ask->index.b));
	p = bf_vfu_reply(s, m, sizeof(none), -1);
	if (p)
		memcpy(p, &none, sizeof(none));
	return 0;
}

static int irq_info(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct bf_vfu_irq_info *ask = (const void *)m->payload;
	const uint32_t index = bf_get_le32(ask->index.b);
	struct bf_vfu_irq_info info = { .argsz = le32(sizeof(info)), .index = ask->index };
	uint8_t *p;

	if (index >= BF_VFU_IRQS || bf_get_le32(ask->argsz.b) < sizeof(*ask))
		return bf_vfu_refuse(s, -EINVAL, "IRQ_INFO of type %u", index);
	if (index == BF_VFU_IRQ_MSIX) {
		info.flags = le32(BF_VFU_IRQ_EVENTFD | BF_VFU_IRQ_NORESIZE);
		info.count = le32(bf_pci_vectors(s->o.fn));
	}
	p = bf_vfu_reply(s, m, sizeof(info), -1);
	if (p)
		memcpy(p, &info, sizeof(info));
	return 0;
}

/* Dispatch. ------------------------------------------------------------------------------------------------------ */

struct command {
	const char *name;
	uint32_t least; /* bytes of payload */
	int (*run)(struct bf_vfio_user *s, struct bf_vfu_message *m);
	int code; /* without `run` */
	uint32_t fds;
};

static const struct command commands[] = {
	[BF_VFU_VERSION] = { "VERSION", sizeof(struct bf_vfu_version), version, 0, 0 },
	[BF_VFU_DMA_MAP] = { "DMA_MAP", sizeof(struct bf_vfu_dma_map), bf_vfu_dma_map, 0, 1 },
	[BF_VFU_DMA_UNMAP] = { "DMA_UNMAP", sizeof(struct bf_vfu_dma_unmap), bf_vfu_dma_unmap, 0, 0 },
	[BF_VFU_GET_INFO] = { "GET_INFO", sizeof(struct bf_vfu_info), get_info, 0, 0 },
	[BF_VFU_REGION_INFO] = { "REGION_INFO", sizeof(struct bf_vfu_region_info), region_info, 0, 0 },
	[BF_VFU_REGION_IO_FDS] = { "REGION_IO_FDS", sizeof(struct bf_vfu_region_io_fds), region_io_fds, 0, 0 },
	[BF_VFU_IRQ_INFO] = { "IRQ_INFO", sizeof(struct bf_vfu_irq_info), irq_info, 0, 0 },
	[BF_VFU_SET_IRQS] = { "SET_IRQS", sizeof(struct bf_vfu_set_irqs), bf_vfu_set_irqs, 0, BF_VFU_MAX_FDS },
	[BF_VFU_REGION_READ] = { "REGION_READ", sizeof(struct bf_vfu_region_access), bf_vfu_region_read, 0, 0 },
	[BF_VFU_REGION_WRITE] = { "REGION_WRITE", sizeof(struct bf_vfu_region_access), bf_vfu_region_write, 0, 0 },
	[BF_VFU_DMA_READ] = { "DMA_READ", 0, NULL, -EINVAL, 0 }, /* ours to send */
	[BF_VFU_DMA_WRITE] = { "DMA_WRITE", 0, NULL, -EINVAL, 0 },
	[BF_VFU_RESET] = { "RESET", 0, bf_vfu_reset, 0, 0 },
	[BF_VFU_DIRTY_PAGES] = { "DIRTY_PAGES", 0, NULL, -ENOSYS, 0 },
	[BF_VFU_REGION_WRITE_MULTI] = { "REGION_WRITE_MULTI", sizeof(struct bf_vfu_write_multi), bf_vfu_write_multi, 0,
					0 },
	[BF_VFU_FEATURE] = { "FEATURE", 0, NULL, -ENOTSUP, 0 }, /* no migration */
	[BF_VFU_MIG_READ] = { "MIG_READ", 0, NULL, -ENOTSUP, 0 },
	[BF_VFU_MIG_WRITE] = { "MIG_WRITE", 0, NULL, -ENOTSUP, 0 },
};

static int run_command(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct command *c = m->command < BF_ARRAY_LEN(commands) ? &commands[m->command] : NULL;

	if ((m->flags & BF_VFU_TYPE) != BF_VFU_TYPE_COMMAND)
		return bf_vfu_refuse(s, -EINVAL, "a message of type %u", m->flags & BF_VFU_TYPE);
	if (!c || !c->name)
		return bf_vfu_refuse(s, -ENOSYS, "unknown command %u", m->command);
	if (!c->run)
		return bf_vfu_refuse(s, c->code, "%s", c->name);
	if (!s->negotiated && m->command != BF_VFU_VERSION)
		return bf_vfu_refuse(s, -EINVAL, "%s before VERSION", c->name);
	if (m->len < c->least)
		return bf_vfu_refuse(s, -EINVAL, "%s of %u bytes", c->name, m->len);
	if (m->nfds > c->fds)
		return bf_vfu_refuse(s, -EINVAL, "%s with %u descriptors", c->name, m->nfds);
	return c->run(s, m);
}

void bf_vfu_handle(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	int rc;

	if ((m->flags & BF_VFU_TYPE) == BF_VFU_TYPE_REPLY) {
		bf_vfu_dma_answer(s, m);
		return;
	}
	rc = run_command(s, m);
	BF_EMIT(s->sim, s->actor, vfio_user_message, .size = m->len + (uint32_t)sizeof(struct bf_vfu_header),
		.fds = m->nfds, .status = rc, .id = m->id, .command = (uint8_t)m->command, .posted = m->posted);
	if (m->replied)
		return;
	if (rc)
		bf_vfu_answer_error(s, m, rc);
	else
		bf_vfu_reply(s, m, 0, -1);
}
