/*
 * A small PCI device behind a vfio-user server, and a client on the other end of a socket pair, all on one thread:
 * rig_pump() lets the server take what was sent and the simulation come to rest.
 */
#ifndef TESTS_MODELS_VFIO_USER_RIG_H
#define TESTS_MODELS_VFIO_USER_RIG_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "models/pci/vfio_user.h"
#include "models/pci/vfio_user_wire.h"
#include "sim/pcie.h"

#define RIG_VECTORS 70u /* more than one word of pending bits */

/* Registers of the device: 8 bytes each, readable and writable. A store to GO starts what it says. */
enum { REG_A = 0x00, REG_IOVA = 0x08, REG_LEN = 0x10, REG_GO = 0x18, REG_STATUS = 0x20, REG_STORES = 0x28 };
enum { GO_READ = 1, GO_WRITE = 2, GO_INTERRUPT = 3 }; /* into and from the buffer; vector in REG_LEN */
#define REG_BUSY 0x8000000000000000ull
#define RIG_BUFFER 0x400u /* offset of the buffer in the BAR */
#define RIG_BUFFER_BYTES 0x1000u
#define RIG_BAR_BYTES 0x2000u
#define RIG_BUFFER_MAX (256u << 10) /* a transfer may be longer than what the BAR shows */

struct rig {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_link link;
	struct bf_dma_port port;
	struct bf_dma_op op;
	struct bf_region *bar, *memory;
	struct bf_pci *fn;
	struct bf_vfio_user *server;
	struct bf_pci_window window;
	uint64_t regs[8];
	uint8_t *buffer;
	bool interrupt_after_write; /* vector 1 */
	uint32_t resets, master_calls;
	bool master;
	uint32_t ended;
	char log[512]; /* the last line */
	int fd;        /* the client's end */
	uint16_t id;
};

static inline struct rig *rig_of(struct bf_region *region)
{
	return region->owner;
}

static inline void rig_read_done(struct bf_dma_op *op)
{
	struct rig *r = BF_CONTAINER_OF(op, struct rig, op);

	r->regs[REG_STATUS / 8] = (uint64_t)(int64_t)op->status;
	bf_pci_interrupt(r->fn, 0);
}

static inline void rig_go(struct rig *r, uint64_t what)
{
	uint32_t len = (uint32_t)r->regs[REG_LEN / 8];

	if (what == GO_INTERRUPT) {
		bf_pci_interrupt(r->fn, len);
		return;
	}
	if (len > RIG_BUFFER_MAX || r->regs[REG_STATUS / 8] == REG_BUSY)
		return;
	if (what == GO_READ) {
		r->regs[REG_STATUS / 8] = REG_BUSY;
		r->op.iova = r->regs[REG_IOVA / 8];
		r->op.len = len;
		r->op.dst = r->buffer;
		r->op.done = rig_read_done;
		bf_dma_read(&r->port, &r->op);
	} else if (what == GO_WRITE) {
		r->regs[REG_STATUS / 8] =
		    (uint64_t)(int64_t)bf_dma_write(&r->port, r->regs[REG_IOVA / 8], r->buffer, len, 0);
		if (r->interrupt_after_write)
			bf_pci_interrupt(r->fn, 1);
	}
}

static inline void rig_store(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	struct rig *r = rig_of(region);

	r->regs[REG_STORES / 8]++;
	if (offset + len <= REG_STATUS)
		memcpy((uint8_t *)r->regs + offset, data, len);
	else if (offset >= RIG_BUFFER && offset + len <= RIG_BUFFER + RIG_BUFFER_BYTES)
		memcpy(r->buffer + offset - RIG_BUFFER, data, len);
	if (offset == REG_GO)
		rig_go(r, r->regs[REG_GO / 8]);
}

static inline uint64_t rig_load(struct bf_region *region, uint64_t offset, uint32_t len)
{
	struct rig *r = rig_of(region);
	uint64_t value = 0;

	if (offset + len <= sizeof(r->regs))
		memcpy(&value, (uint8_t *)r->regs + offset, len);
	else if (offset >= RIG_BUFFER && offset + len <= RIG_BUFFER + RIG_BUFFER_BYTES)
		memcpy(&value, r->buffer + offset - RIG_BUFFER, len);
	return value;
}

static inline void rig_reset(void *dev)
{
	struct rig *r = dev;

	r->resets++;
	r->regs[REG_A / 8] = 0;
	r->master = false;
}

static inline void rig_master(void *dev, bool on)
{
	struct rig *r = dev;

	r->master_calls++;
	r->master = on;
}

static inline void rig_log(void *arg, const char *text)
{
	struct rig *r = arg;

	snprintf(r->log, sizeof(r->log), "%s", text);
}

static inline void rig_ended(void *arg)
{
	struct rig *r = arg;

	r->ended++;
}

/* The device and its function, without a server. Returns 0 or what failed. */
static inline int rig_open_function(struct rig *r)
{
	static const struct bf_mmio_ops mmio = { .write = rig_store, .read = rig_load };
	static const struct bf_link_profile link = { .max_payload = 256, .max_read_request = 512 };
	static const struct bf_pci_ops ops = { .reset = rig_reset, .bus_master = rig_master };
	struct bf_pci_opts o = {
		.vendor = 0x1234,
		.device = 0x5678,
		.subsystem_vendor = 0x9abc,
		.subsystem = 0xdef0,
		.class_code = 0x010802,
		.revision = 7,
		.link_speed = 3,
		.link_width = 4,
		.vectors = RIG_VECTORS,
		.msix_bar = 0,
		.ops = &ops,
		.dev = r,
	};
	int rc;

	memset(r, 0, sizeof(*r));
	r->fd = r->window.fd = -1;
	r->buffer = calloc(1, RIG_BUFFER_MAX);
	rc = bf_sim_create(1, &r->sim);
	rc = rc ? rc : bf_space_init(&r->space, r->sim, "device", 0);
	rc = rc ? rc : bf_ioas_init(&r->ioas, r->sim, "guest", BF_PAGE);
	rc = rc ? rc : bf_link_init(&r->link, r->sim, "link", &link);
	rc = rc ? rc : bf_dma_port_init(&r->port, r->sim, "dev", &r->link, &r->ioas);
	rc = rc ? rc
		: bf_region_create(
		      &r->space,
		      &(struct bf_region_opts){
			  .name = "bar0", .kind = BF_MEM_MMIO, .size = RIG_BAR_BYTES, .mmio = &mmio, .owner = r },
		      &r->bar);
	rc = rc ? rc
		: bf_region_create(&r->space,
				   &(struct bf_region_opts){ .name = "bar2", .kind = BF_MEM_DRAM, .size = 0x3000 },
				   &r->memory);
	rc = rc ? rc : bf_pci_create(r->sim, "dev", &r->fn);
	o.bar[0] = r->bar;
	o.bar[2] = r->memory;
	return rc ? rc : bf_pci_attach(r->fn, &o);
}

/* With a server; `window`: the last page of BAR 0's device part is there for mmap. No client yet. */
static inline int rig_open(struct rig *r, bool window)
{
	struct bf_vfio_user_opts o = { .log = rig_log, .ended = rig_ended, .arg = r };
	int rc = rig_open_function(r);

	if (!rc && window)
		rc = bf_pci_window_open(r->fn, 0, 0x1000, 0x1000, &r->window);
	o.fn = r->fn;
	o.ioas = &r->ioas;
	o.window = window ? &r->window : NULL;
	return rc ? rc : bf_vfio_user_create(r->sim, &o, &r->server);
}

static inline void rig_close(struct rig *r)
{
	bf_vfio_user_destroy(r->server);
	if (r->fd >= 0)
		close(r->fd);
	bf_pci_destroy(r->fn);
	bf_pci_window_close(&r->window);
	bf_dma_port_fini(&r->port);
	bf_link_fini(&r->link);
	bf_ioas_fini(&r->ioas);
	bf_space_fini(&r->space);
	bf_sim_destroy(r->sim);
	free(r->buffer);
}

/* The server takes what has come; the simulation comes to rest. Several times: one may give the other work. */
static inline void rig_pump(struct rig *r)
{
	for (int i = 0; i < 4; i++) {
		bf_vfio_user_step(r->server);
		bf_sim_run(r->sim, BF_NEVER);
	}
}

static inline int rig_connect(struct rig *r)
{
	int pair[2];

	if (r->fd >= 0)
		close(r->fd);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	r->fd = pair[0];
	return bf_vfio_user_adopt(r->server, pair[1]);
}

/* One sendmsg(): `parts` of them, `lens` bytes each, with `nfds` descriptors. */
static inline void rig_send_raw(struct rig *r, const void *bytes, size_t len, const int *fds, uint32_t nfds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(32 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (nfds) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		control.align.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.align), fds, nfds * sizeof(int));
	}
	n = sendmsg(r->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)n; /* whoever cares sees it in the answers */
}

/* A message in `out`; returns its length. */
static inline size_t rig_frame(struct rig *r, uint8_t *out, uint32_t command, uint32_t flags, const void *payload,
			       size_t len)
{
	bf_put_le16(out, ++r->id);
	bf_put_le16(out + 2, (uint16_t)command);
	bf_put_le32(out + 4, (uint32_t)(16 + len));
	bf_put_le32(out + 8, flags);
	bf_put_le32(out + 12, 0);
	if (len)
		memcpy(out + 16, payload, len);
	return 16 + len;
}

static inline void rig_send(struct rig *r, uint32_t command, uint32_t flags, const void *payload, size_t len,
			    const int *fds, uint32_t nfds)
{
	uint8_t *frame = malloc(16 + len);

	rig_send_raw(r, frame, rig_frame(r, frame, command, flags, payload, len), fds, nfds);
	free(frame);
}

struct rig_message {
	uint16_t id, command;
	uint32_t size, flags, error;
	uint8_t payload[(1u << 20) + 64];
	uint32_t len;
	int fd; /* the caller's, -1: none */
};

/* The next message of the server as QEMU reads it: a header in one piece, then the payload. False: there is none. */
static inline bool rig_receive(struct rig *r, struct rig_message *m)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	uint8_t head[16];
	struct iovec iov = { head, sizeof(head) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(r->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	uint32_t at = 0;

	m->fd = -1;
	if (n != (ssize_t)sizeof(head))
		return false;
	if (msg.msg_controllen)
		memcpy(&m->fd, CMSG_DATA(&control.align), sizeof(int));
	m->id = bf_get_le16(head);
	m->command = bf_get_le16(head + 2);
	m->size = bf_get_le32(head + 4);
	m->flags = bf_get_le32(head + 8);
	m->error = bf_get_le32(head + 12);
	m->len = m->size - 16;
	while (at < m->len && m->len <= sizeof(m->payload)) {
		n = recv(r->fd, m->payload + at, m->len - at, MSG_DONTWAIT);
		if (n <= 0)
			bf_vfio_user_step(r->server); /* the rest of a long answer */
		else
			at += (uint32_t)n;
	}
	return true;
}

#endif
