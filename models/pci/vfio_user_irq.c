/*
 * Interrupts: the client's eventfds, and what becomes due.
 *
 * A vector without a descriptor keeps its pending bit and fires when it gets one. Several interrupts of a vector at one
 * time are one write: the client could not tell them apart. No interrupt overtakes the data that it announces: while a
 * DMA_WRITE is not confirmed all of them wait.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/pci/vfio_user_internal.h"

static void set_fd(struct bf_vfio_user *s, uint32_t vector, int fd)
{
	if (s->irq[vector] >= 0)
		close(s->irq[vector]);
	s->irq[vector] = fd;
}

void bf_vfu_irqs_close(struct bf_vfio_user *s)
{
	for (uint32_t i = 0; i < bf_pci_vectors(s->o.fn); i++)
		set_fd(s, i, -1);
}

/* A full counter is the client's business. */
static void fire(struct bf_vfio_user *s, uint32_t vector)
{
	s->count.interrupts++;
	if (!bf_vfu_bell_ring(&s->bell, s->irq[vector]))
		bf_vfu_log(s, "vector %u: its descriptor takes no event", vector);
}

void bf_vfu_deliver(struct bf_vfio_user *s)
{
	if (s->writes_out || !bf_pci_is_master(s->o.fn))
		return;
	for (int32_t v = bf_pci_next_pending(s->o.fn, 0); v >= 0; v = bf_pci_next_pending(s->o.fn, (uint32_t)v + 1)) {
		if (s->irq[v] < 0)
			continue;
		bf_pci_sent(s->o.fn, (uint32_t)v);
		fire(s, (uint32_t)v);
	}
}

/* Anonymous inodes have no file type; sockets, pipes and files, on which a write would block or raise SIGPIPE, do. */
static bool is_eventfd(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && !(st.st_mode & S_IFMT);
}

static int assign(struct bf_vfio_user *s, struct bf_vfu_message *m, uint32_t start, uint32_t count)
{
	if (m->nfds && m->nfds != count)
		return bf_vfu_refuse(s, -EINVAL, "SET_IRQS: %u descriptors for %u vectors", m->nfds, count);
	for (uint32_t i = 0; i < m->nfds; i++)
		if (!is_eventfd(m->fd[i]))
			return bf_vfu_refuse(s, -EINVAL, "SET_IRQS: descriptor %u is no eventfd", i);
	for (uint32_t i = 0; i < count; i++) {
		set_fd(s, start + i, m->nfds ? m->fd[i] : -1);
		if (m->nfds)
			m->fd[i] = -1;
	}
	bf_vfu_work_later(s);
	return 0;
}

/* The client fires vectors itself, to test them. */
static int trigger(struct bf_vfio_user *s, const uint8_t *bools, uint32_t start, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if ((!bools || bools[i]) && s->irq[start + i] >= 0)
			fire(s, start + i);
	return 0;
}

int bf_vfu_set_irqs(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct bf_vfu_set_irqs *a = (const void *)m->payload;
	const uint32_t argsz = bf_get_le32(a->argsz.b), flags = bf_get_le32(a->flags.b);
	const uint32_t index = bf_get_le32(a->index.b), start = bf_get_le32(a->start.b),
		       count = bf_get_le32(a->count.b);
	const uint32_t data = flags & (BF_VFU_SET_NONE | BF_VFU_SET_BOOL | BF_VFU_SET_EVENTFD);
	const uint32_t action = flags & ~data;
	const uint32_t have = index == BF_VFU_IRQ_MSIX ? bf_pci_vectors(s->o.fn) : 0;

	if (argsz < sizeof(*a) || index >= BF_VFU_IRQS || !data || data & (data - 1))
		return bf_vfu_refuse(s, -EINVAL, "SET_IRQS: type %u, flags 0x%x, argsz %u", index, flags, argsz);
	if (start > have || count > have - start)
		return bf_vfu_refuse(s, -EINVAL, "SET_IRQS: vectors %u to %llu of type %u, which has %u", start,
				     (unsigned long long)start + count, index, have);
	if (m->nfds && data != BF_VFU_SET_EVENTFD)
		return bf_vfu_refuse(s, -EINVAL, "SET_IRQS: descriptors, but flags 0x%x", flags);
	if (data == BF_VFU_SET_BOOL && m->len - sizeof(*a) < count)
		return bf_vfu_refuse(s, -EINVAL, "SET_IRQS: %u values in %zu bytes", count, m->len - sizeof(*a));
	if (action == BF_VFU_SET_MASK || action == BF_VFU_SET_UNMASK)
		return bf_vfu_refuse(s, -ENOTSUP, "SET_IRQS: masking is the client's business");
	if (action != BF_VFU_SET_TRIGGER)
		return bf_vfu_refuse(s, -EINVAL, "SET_IRQS: flags 0x%x", flags);
	if (data == BF_VFU_SET_EVENTFD)
		return assign(s, m, start, count);
	if (data == BF_VFU_SET_NONE && !count) {
		for (uint32_t i = 0; i < have; i++)
			set_fd(s, i, -1);
		return 0;
	}
	return trigger(s, data == BF_VFU_SET_BOOL ? m->payload + sizeof(*a) : NULL, start, count);
}
