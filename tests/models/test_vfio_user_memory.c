/* The vfio-user server: guest memory with a descriptor, and where descriptors belong. */
#include <signal.h>

#include "tests/models/vfio_user_client.h"

START_TEST(dma_reaches_what_is_mapped)
{
	const int fd = memory(0x10000);
	uint8_t *guest = mmap(NULL, 0x10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	begin();
	for (uint32_t i = 0; i < 0x10000; i++)
		guest[i] = (uint8_t)(i * 7 + i / 256);
	ck_assert_uint_eq(map(3, 0x4000, 0x100000, 0x8000, fd), 0);
	ck_assert_int_eq(dma(GO_READ, 0x100ffc, 0x2000), 0);
	ck_assert_mem_eq(r.buffer, guest + 0x4ffc, 0x2000);
	memset(r.buffer, 0xee, 0x100);
	ck_assert_int_eq(dma(GO_WRITE, 0x107f00, 0x100), 0);
	ck_assert_mem_eq(guest + 0xbf00, r.buffer, 0x100);
	ck_assert_int_eq(dma(GO_WRITE, 0x107f01, 0x100), -EFAULT);
	ck_assert_int_eq(dma(GO_READ, 0xfffff, 1), -EFAULT);
	ck_assert_uint_eq(unmap(0, 0x100000, 0x8000), 0);
	ck_assert_int_eq(dma(GO_READ, 0x100000, 8), -EFAULT);
	munmap(guest, 0x10000);
	close(fd);
}
END_TEST

START_TEST(read_only_maps_fault_on_writes)
{
	const int fd = memory(0x2000);
	char path[64];
	int read_only;

	begin();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_only = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_uint_eq(map(1, 0, 0x1000, 0x1000, fd), 0);
	ck_assert_uint_eq(map(1, 0, 0x2000, 0x1000, read_only), 0);
	ck_assert_uint_eq(map(2, 0x1000, 0x3000, 0x1000, fd), 0);
	ck_assert_uint_eq(map(3, 0x1000, 0x4000, 0x1000, read_only), EACCES);
	for (uint64_t iova = 0x1000; iova <= 0x2000; iova += 0x1000) {
		ck_assert_int_eq(dma(GO_READ, iova, 64), 0);
		ck_assert_int_eq(dma(GO_WRITE, iova, 64), -EFAULT);
	}
	ck_assert_int_eq(dma(GO_READ, 0x3000, 64), -EFAULT);
	ck_assert_int_eq(dma(GO_WRITE, 0x3000, 64), 0);
	close(read_only);
	close(fd);
}
END_TEST

START_TEST(maps_that_make_no_sense_are_refused)
{
	const int fd = memory(0x10000);
	int pair[2], two[2] = { fd, fd }, append;
	uint8_t p[32] = { 0 };

	begin();
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	append = open("/dev/null", O_RDWR | O_CLOEXEC);
	ck_assert_uint_eq(map(0, 0, 0x1000, 0x1000, fd), EINVAL);
	ck_assert_uint_eq(map(7, 0, 0x1000, 0x1000, fd), EINVAL);
	ck_assert_uint_eq(map(3, 0, 0x1000, 0, fd), EINVAL);
	ck_assert_uint_eq(map(3, 0, 0x1000, 0x800, fd), EINVAL);
	ck_assert_uint_eq(map(3, 0, 0x1800, 0x1000, fd), EINVAL);
	ck_assert_uint_eq(map(3, 0x800, 0x1000, 0x1000, fd), EINVAL);
	ck_assert_uint_eq(map(3, 0, UINT64_MAX - 0xfff, 0x2000, fd), EINVAL);
	ck_assert_uint_eq(map(3, UINT64_MAX - 0xfff, 0x1000, 0x1000, fd), EINVAL);
	ck_assert_uint_eq(map(3, 0xf000, 0x1000, 0x2000, fd), EINVAL); /* longer than the file */
	ck_assert_uint_eq(map(3, 0, 0x1000, 1ull << 50, fd), EINVAL);
	ck_assert_uint_eq(map(3, 0, 0x1000, 1ull << 55, -1), ENOMEM);
	ck_assert_uint_eq(map(1, 0, 0x1000, 0x1000, pair[0]), EINVAL);
	ck_assert_uint_eq(map(1, 0, 0x1000, 0x1000, append), EINVAL);
	ck_assert_uint_eq(ask_fds(BF_VFU_DMA_MAP, p, 32, two, 2), EINVAL);
	bf_put_le32(p, 31);
	ck_assert_uint_eq(ask_fds(BF_VFU_DMA_MAP, p, 32, two, 1), EINVAL);
	ck_assert_uint_eq(map(3, 0, 0x4000, 0x2000, fd), 0);
	ck_assert_uint_eq(map(3, 0, 0x5000, 0x2000, fd), EEXIST);
	ck_assert_uint_eq(map(3, 0, 0x3000, 0x2000, fd), EEXIST);
	ck_assert_uint_eq(map(3, 0, 0x3000, 0x9000, -1), EEXIST);
	ck_assert_uint_eq(map(3, 0, UINT64_MAX - 0xfff, 0x1000, fd), 0); /* the last page there is */
	ck_assert_int_eq(dma(GO_READ, UINT64_MAX - 0xfff, 0x1000), 0);
	close(fd);
	close(append);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

START_TEST(unmaps_sweep)
{
	const int fd = memory(0x10000);

	begin();
	ck_assert_uint_eq(unmap(0, 0, 1ull << 63), 0); /* nothing there */
	ck_assert_uint_eq(unmap(0, 1ull << 63, 1ull << 63), 0);
	for (uint64_t i = 0; i < 8; i++)
		ck_assert_uint_eq(map(3, i * 0x1000, 0x10000 + i * 0x2000, 0x1000, i % 3 ? fd : -1), 0);
	ck_assert_uint_eq(unmap(0, 0x10000, 0x800), EINVAL); /* cuts a map */
	ck_assert_uint_eq(unmap(0, 0x10800, 0x10000), EINVAL);
	ck_assert_uint_eq(unmap(0, 0x10000, 0), EINVAL);
	ck_assert_uint_eq(unmap(0, UINT64_MAX, 2), EINVAL);
	ck_assert_uint_eq(unmap(1, 0x10000, 0x1000), EINVAL);
	ck_assert_uint_eq(unmap(2, 0x10000, 0x1000), EINVAL);
	ck_assert_uint_eq(r.ioas.count, 8);
	ck_assert_uint_eq(unmap(0, 0x11000, 0x4000), 0); /* two maps and holes */
	ck_assert_uint_eq(r.ioas.count, 6);
	ck_assert_int_eq(dma(GO_READ, 0x12000, 8), -EFAULT);
	ck_assert_uint_eq(map(3, 0, UINT64_MAX - 0xfff, 0x1000, fd), 0);
	ck_assert_uint_eq(map(3, 0, 0, 0x1000, fd), 0);
	ck_assert_uint_eq(unmap(2, 0, 0), 0);
	ck_assert_uint_eq(r.ioas.count, 0);
	ck_assert_uint_eq(stat_of("maps"), 10);
	ck_assert_uint_eq(stat_of("unmaps"), 10);
	close(fd);
}
END_TEST

/* One map a page, as with a virtual IOMMU: the file is mapped once, whatever its maps. */
START_TEST(many_maps_share_one_mapping)
{
	enum { PAGES = 8000 };
	const int fd = memory((uint64_t)PAGES * 4096);
	uint8_t *guest = mmap(NULL, (size_t)PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	begin();
	for (uint64_t i = 0; i < PAGES; i++) {
		const uint64_t page = (i * 4999) % PAGES; /* every page once, in disorder */

		ck_assert_uint_eq(map(3, page * 4096, 0x1000000 + (PAGES - page) * 8192, 4096, fd), 0);
	}
	ck_assert_uint_eq(r.ioas.count, PAGES);
	ck_assert_uint_eq(r.space.count, 2); /* the device's; the guest's space is the server's */
	guest[4711 * 4096] = 99;
	ck_assert_int_eq(dma(GO_READ, 0x1000000 + (PAGES - 4711) * 8192, 1), 0);
	ck_assert_uint_eq(r.buffer[0], 99);
	for (uint64_t i = 0; i < PAGES; i += 2)
		ck_assert_uint_eq(unmap(0, 0x1000000 + (PAGES - i) * 8192, 4096), 0);
	ck_assert_uint_eq(r.ioas.count, PAGES / 2);
	ck_assert_uint_eq(unmap(0, 0, 1ull << 40), 0);
	ck_assert_uint_eq(r.ioas.count, 0);
	munmap(guest, (size_t)PAGES * 4096);
	close(fd);
}
END_TEST

START_TEST(files_come_and_go)
{
	int fd[80];

	begin();
	for (uint64_t i = 0; i < 80; i++) {
		fd[i] = memory(0x1000);
		ck_assert_uint_eq(map(3, 0, 0x100000 + i * 0x1000, 0x1000, fd[i]), i < 64 ? 0 : ENOSPC);
	}
	ck_assert_uint_eq(unmap(0, 0x100000, 0x1000), 0);
	ck_assert_uint_eq(map(3, 0, 0x200000, 0x1000, fd[70]), 0); /* an unused file makes room */
	ck_assert_int_eq(ftruncate(fd[70], 0x3000), 0);
	ck_assert_uint_eq(map(3, 0x2000, 0x201000, 0x1000, fd[70]), ENOSPC); /* it has grown: a new mapping */
	ck_assert_uint_eq(unmap(0, 0x101000, 0x1000), 0);
	ck_assert_uint_eq(map(3, 0x2000, 0x201000, 0x1000, fd[70]), 0);
	ck_assert_int_eq(dma(GO_WRITE, 0x201000, 0x1000), 0);
	for (int i = 0; i < 80; i++)
		close(fd[i]);
}
END_TEST

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (!bf_vfio_user_mend(r.server, info->si_addr))
		signal(number, SIG_DFL);
}

/* Nobody is taken down by a client that takes memory back: its connection ends, and the next one is served. */
START_TEST(files_that_become_shorter)
{
	const struct sigaction a = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	const int fd = memory(0x8000), other = memory(0x1000);

	begin();
	sigaction(SIGBUS, &a, NULL);
	ck_assert_uint_eq(map(3, 0, 0x10000, 0x8000, fd), 0);
	ck_assert_int_eq(dma(GO_WRITE, 0x10000, 0x1000), 0);
	ck_assert_int_eq(ftruncate(fd, 0x2000), 0);
	post(0, REG_IOVA, 0x13ff8, 8);
	post(0, REG_LEN, 0x1000, 8);
	post(0, REG_GO, _i ? GO_READ : GO_WRITE, 8);
	rig_pump(&r);
	rig_pump(&r);
	ck_assert(!bf_vfio_user_connected(r.server));
	ck_assert_ptr_nonnull(strstr(r.log, "has become shorter"));
	ck_assert_uint_eq(r.ended, 1);
	close(r.fd);
	close(fd);
	ck_assert_int_eq(rig_connect(&r), 0);
	begin();
	ck_assert_uint_eq(map(3, 0, 0x10000, 0x1000, other), 0);
	ck_assert_int_eq(dma(GO_WRITE, 0x10000, 0x1000), 0);
	close(other);
}
END_TEST

/* Descriptors belong to the message that they came with, also when it is read together with others. */
START_TEST(descriptors_stay_with_their_message)
{
	const int first = memory(0x1000), second = memory(0x1000);
	uint8_t p[32] = { 0 }, frame[64], *bytes;
	size_t len;

	begin();
	bf_put_le32(p, 32);
	bf_put_le32(p + 4, 3);
	bf_put_le64(p + 24, 0x1000);
	post(0, REG_A, 1, 8);
	bf_put_le64(p + 16, 0x10000);
	rig_send(&r, BF_VFU_DMA_MAP, 0, p, 32, &first, 1);
	post(0, REG_A, 2, 8);
	bf_put_le64(p + 16, 0x20000);
	rig_send(&r, BF_VFU_DMA_MAP, 0, p, 32, NULL, 0);
	bf_put_le64(p + 16, 0x30000);
	len = rig_frame(&r, frame, BF_VFU_DMA_MAP, 0, p, 32);
	rig_send_raw(&r, frame, 5, &second, 1); /* a header in two pieces */
	rig_send_raw(&r, frame + 5, len - 5, NULL, 0);
	rig_send(&r, BF_VFU_RESET, 0, NULL, 0, &first, 1); /* wants none */
	rig_pump(&r);
	for (int i = 0; i < 3; i++) {
		receive();
		ck_assert_msg(m.flags == BF_VFU_TYPE_REPLY, "%d: %s", i, r.log);
	}
	receive();
	ck_assert_uint_eq(m.error, EINVAL);
	memset(r.buffer, 0xa1, 16);
	ck_assert_int_eq(dma(GO_WRITE, 0x10000, 16), 0);
	memset(r.buffer, 0xb2, 16);
	ck_assert_int_eq(dma(GO_WRITE, 0x30000, 16), 0);
	bytes = mmap(NULL, 0x1000, PROT_READ, MAP_SHARED, first, 0);
	ck_assert_uint_eq(bytes[0], 0xa1);
	munmap(bytes, 0x1000);
	bytes = mmap(NULL, 0x1000, PROT_READ, MAP_SHARED, second, 0);
	ck_assert_uint_eq(bytes[0], 0xb2);
	munmap(bytes, 0x1000);

	len = rig_frame(&r, frame, BF_VFU_RESET, 0, NULL, 0);
	rig_send_raw(&r, frame, 5, NULL, 0);
	rig_pump(&r);
	rig_send_raw(&r, frame + 5, len - 5, &first, 1); /* in the middle of a message: nobody's */
	rig_pump(&r);
	receive();
	ck_assert_uint_eq(m.flags, BF_VFU_TYPE_REPLY);
	close(first);
	close(second);
}
END_TEST

START_TEST(too_many_descriptors)
{
	int fds[20];
	uint8_t p[20] = { 0 };

	begin();
	for (int i = 0; i < 20; i++)
		fds[i] = eventfd(0, 0);
	bf_put_le32(p, 20);
	bf_put_le32(p + 4, BF_VFU_SET_EVENTFD | BF_VFU_SET_TRIGGER);
	bf_put_le32(p + 8, 2);
	bf_put_le32(p + 16, 16);
	ck_assert_uint_eq(ask_fds(BF_VFU_SET_IRQS, p, 20, fds, 20), EINVAL);
	ck_assert_uint_eq(ask_fds(BF_VFU_SET_IRQS, p, 20, fds, 16), 0);
	for (int i = 0; i < 20; i++)
		close(fds[i]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("vfio-user memory");
	TCase *t = client_case(s, "memory");

	tcase_add_test(t, dma_reaches_what_is_mapped);
	tcase_add_test(t, read_only_maps_fault_on_writes);
	tcase_add_test(t, maps_that_make_no_sense_are_refused);
	tcase_add_test(t, unmaps_sweep);
	tcase_add_test(t, many_maps_share_one_mapping);
	tcase_add_test(t, files_come_and_go);
	tcase_add_loop_test(t, files_that_become_shorter, 0, 2);
	tcase_add_test(t, descriptors_stay_with_their_message);
	tcase_add_test(t, too_many_descriptors);
	return client_run(s);
}
