/*
 * DMA by messages, for memory that came without a descriptor.
 *
 * Messages go out on the one socket in the order in which the device's requests are at the memory, and the client
 * handles them in that order: so a read sees the writes before it. Answers may come in any order between the client's
 * own commands, which are handled as ever meanwhile.
 */
#include <errno.h>
#include <stdlib.h>

#include "models/pci/vfio_user_internal.h"
#include "sim/pcie.h"

/* Small enough for even latency, and for one piece on the socket. */
#define PIECE 32768u

static struct bf_vfio_user *server_of(const struct bf_region *region)
{
	const struct bf_vfu_far *far = region->owner;

	return far->server;
}

static uint32_t piece(const struct bf_vfio_user *s, uint32_t len)
{
	const uint32_t most = s->max_transfer < PIECE ? s->max_transfer : PIECE;

	return len < most ? len : most;
}

static bool reserve(struct bf_vfio_user *s)
{
	const uint32_t cap = s->dma_cap ? s->dma_cap * 2 : 64;
	struct bf_vfu_dma *grown;

	if (s->dma_tail - s->dma_head < s->dma_cap)
		return true;
	grown = cap > 65536 ? NULL : malloc(cap * sizeof(*grown)); /* as many as there are message ids */
	if (!grown)
		return false;
	for (uint32_t i = s->dma_head; i != s->dma_tail; i++)
		grown[i & (cap - 1)] = s->dma[i & (s->dma_cap - 1)];
	free(s->dma);
	s->dma = grown;
	s->dma_cap = cap;
	return true;
}

/* Puts a message of `extra` bytes behind the address into the output and notes that an answer is to come. */
static uint8_t *ask(struct bf_region *region, uint16_t command, uint64_t offset, uint32_t len, uint32_t extra)
{
	const struct bf_vfu_far *far = region->owner;
	struct bf_vfio_user *s = far->server;
	const uint32_t size = (uint32_t)(sizeof(struct bf_vfu_header) + sizeof(struct bf_vfu_dma_access)) + extra;
	struct bf_vfu_header *h;
	struct bf_vfu_dma_access *a;
	uint8_t *p;

	if (s->dead || !reserve(s)) {
		if (!s->dead)
			bf_vfu_hang_up(s, "the client leaves %u DMA messages unanswered", s->dma_tail - s->dma_head);
		return NULL;
	}
	p = bf_vfu_put(s, size, -1);
	if (!p)
		return NULL;
	h = (void *)p;
	a = (void *)(p + sizeof(*h));
	memset(p, 0, sizeof(*h) + sizeof(*a));
	bf_put_le16(h->id.b, s->next_id);
	bf_put_le16(h->command.b, command);
	bf_put_le32(h->size.b, size);
	bf_put_le64(a->iova.b, far->iova + offset);
	bf_put_le64(a->count.b, len);
	s->dma[s->dma_tail++ & (s->dma_cap - 1)] =
	    (struct bf_vfu_dma){ .id = s->next_id, .len = len, .region = region, .read = command == BF_VFU_DMA_READ };
	s->next_id++;
	bf_vfu_work_later(s);
	return (uint8_t *)(a + 1);
}

static int64_t far_read(struct bf_region *region, uint64_t offset, void *dst, uint32_t len, struct bf_dma_port *port)
{
	struct bf_vfio_user *s = server_of(region);
	struct bf_vfu_dma *d;

	len = piece(s, len);
	if (!ask(region, BF_VFU_DMA_READ, offset, len, 0))
		return -EFAULT;
	d = &s->dma[(s->dma_tail - 1) & (s->dma_cap - 1)];
	d->port = port;
	d->dst = dst;
	s->count.dma_reads++;
	return len;
}

static void far_write(struct bf_region *region, uint64_t offset, const void *src, uint32_t len)
{
	struct bf_vfio_user *s = server_of(region);

	for (uint32_t at = 0; at < len;) {
		const uint32_t n = piece(s, len - at);
		uint8_t *p = ask(region, BF_VFU_DMA_WRITE, offset + at, n, n);

		if (!p)
			return;
		memcpy(p, (const uint8_t *)src + at, n);
		s->writes_out++;
		s->count.dma_writes++;
		at += n;
	}
}

static void far_cancel(struct bf_region *region, struct bf_dma_port *port)
{
	struct bf_vfio_user *s = server_of(region);

	for (uint32_t i = s->dma_head; i != s->dma_tail; i++)
		if (s->dma[i & (s->dma_cap - 1)].port == port)
			s->dma[i & (s->dma_cap - 1)].port = NULL;
}

const struct bf_far_ops bf_vfu_far_ops = { .read = far_read, .write = far_write, .cancel = far_cancel };

/* Nobody makes loads and stores here: guest memory is in no host's view. */
static void ignore_store(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	(void)region, (void)offset, (void)data, (void)len;
}

const struct bf_mmio_ops bf_vfu_far_mmio = { .write = ignore_store };

/* The message that `id` answers, taken out of the ring; false when there is none. */
static bool take(struct bf_vfio_user *s, uint16_t id, bool read, struct bf_vfu_dma *out)
{
	const uint32_t mask = s->dma_cap - 1;
	uint32_t i = s->dma_head;

	while (i != s->dma_tail && (s->dma[i & mask].id != id || s->dma[i & mask].read != read))
		i++;
	if (i == s->dma_tail)
		return false;
	*out = s->dma[i & mask];
	for (; i != s->dma_head; i--)
		s->dma[i & mask] = s->dma[(i - 1) & mask];
	s->dma_head++;
	return true;
}

/* Good answers of a write are bare headers (QEMU) or repeat the address (the protocol's text). */
static int read_answer(struct bf_vfio_user *s, const struct bf_vfu_message *m, const struct bf_vfu_dma *d)
{
	const struct bf_vfu_dma_access *a = (const void *)m->payload;

	if (m->flags & BF_VFU_ERROR)
		return bf_vfu_refuse(s, -EFAULT, "the client fails a DMA of %u bytes with error %u", d->len, m->error);
	if (!d->read)
		return 0;
	if (m->len != sizeof(*a) + d->len || bf_get_le64(a->count.b) != d->len)
		return bf_vfu_refuse(s, -EFAULT, "the client answers a DMA_READ of %u bytes with %u", d->len, m->len);
	if (d->port)
		memcpy(d->dst, a + 1, d->len);
	return 0;
}

void bf_vfu_dma_answer(struct bf_vfio_user *s, const struct bf_vfu_message *m)
{
	struct bf_vfu_dma d;
	int rc;

	if ((m->command != BF_VFU_DMA_READ && m->command != BF_VFU_DMA_WRITE) ||
	    !take(s, m->id, m->command == BF_VFU_DMA_READ, &d)) {
		bf_vfu_refuse(s, -EINVAL, "a reply to nothing: command %u, id %u", m->command, m->id);
		return;
	}
	rc = read_answer(s, m, &d);
	s->count.dma_errors += rc != 0;
	if (!d.read && !--s->writes_out)
		bf_vfu_work_later(s);
	if (d.port)
		bf_dma_answer(d.port, rc);
}

void bf_vfu_dma_abandon(struct bf_vfio_user *s, const struct bf_region *region)
{
	for (uint32_t i = s->dma_head; i != s->dma_tail; i++) {
		struct bf_vfu_dma *d = &s->dma[i & (s->dma_cap - 1)];
		struct bf_dma_port *port = d->port;

		if (d->region != region || !port)
			continue;
		d->port = NULL;
		s->count.dma_errors++;
		bf_dma_answer(port, -EFAULT);
	}
}

void bf_vfu_dma_close(struct bf_vfio_user *s)
{
	for (uint32_t i = 0; i < s->nmaps; i++)
		if (!s->maps[i].file)
			bf_vfu_dma_abandon(s, s->maps[i].region);
	s->dma_head = s->dma_tail = 0;
	s->writes_out = 0;
}
