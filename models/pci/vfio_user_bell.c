/*
 * Ringing an eventfd that somebody else holds, without ever waiting for them.
 *
 * The other end shares the open file: it can clear O_NONBLOCK and fill the counter at any moment, also between a check
 * and a write(). The kernel itself signals eventfds without waiting when an asynchronous read completes (io_submit(2),
 * IOCB_FLAG_RESFD; a full counter stays full), so a read of one byte of /dev/zero carries the signal. Where a kernel
 * has no asynchronous I/O, poll(2) looks before the write; then a client that wins the race can hold the server up.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "models/pci/vfio_user_internal.h"

#define DONE_MAX 64 /* completed reads that the kernel keeps for us */

void bf_vfu_bell_init(struct bf_vfu_bell *b)
{
	*b = (struct bf_vfu_bell){ .zero = -1 };
}

/* At the first ring, since giving it up waits for all processors. */
static void open_bell(struct bf_vfu_bell *b)
{
	b->opened = true;
	b->zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (b->zero >= 0 && syscall(SYS_io_setup, DONE_MAX, &b->context) != 0) {
		close(b->zero);
		b->zero = -1;
	}
}

void bf_vfu_bell_close(struct bf_vfu_bell *b)
{
	if (b->zero < 0)
		return;
	syscall(SYS_io_destroy, b->context);
	close(b->zero);
	b->zero = -1;
}

static bool ring_by_write(int fd)
{
	struct pollfd look = { .fd = fd, .events = POLLOUT };
	const uint64_t one = 1;

	if (poll(&look, 1, 0) < 0 || look.revents & (POLLERR | POLLNVAL))
		return false;
	return !(look.revents & POLLOUT) || write(fd, &one, sizeof(one)) == sizeof(one) || errno == EAGAIN;
}

bool bf_vfu_bell_ring(struct bf_vfu_bell *b, int fd)
{
	uint8_t byte;
	struct iocb read_zero = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_buf = (uintptr_t)&byte,
		.aio_nbytes = sizeof(byte),
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = (uint32_t)fd,
	};
	struct iocb *list[] = { &read_zero };
	struct io_event done[DONE_MAX];
	struct timespec at_once = { 0 };

	if (!b->opened)
		open_bell(b);
	if (b->zero < 0)
		return ring_by_write(fd);
	read_zero.aio_fildes = (uint32_t)b->zero;
	if (syscall(SYS_io_submit, b->context, 1L, list) != 1)
		return false;
	syscall(SYS_io_getevents, b->context, 0L, (long)DONE_MAX, done, &at_once);
	return true;
}
