/* The vfio-user server: interrupts, resets, and what lasts longer than a connection. */
#include <fcntl.h>
#include <sys/epoll.h>

#include "tests/models/vfio_user_client.h"

/* Interrupts ------------------------------------------------------------------------------------------------------ */

static uint32_t set_irqs(uint32_t flags, uint32_t index, uint32_t start, uint32_t count, const void *data, size_t len,
			 const int *fds, uint32_t nfds)
{
	uint8_t p[20 + 64];

	bf_put_le32(p, (uint32_t)(20 + len));
	bf_put_le32(p + 4, flags);
	bf_put_le32(p + 8, index);
	bf_put_le32(p + 12, start);
	bf_put_le32(p + 16, count);
	if (len)
		memcpy(p + 20, data, len);
	return ask_fds(BF_VFU_SET_IRQS, p, 20 + len, fds, nfds);
}

static void interrupt(uint32_t vector)
{
	post(0, REG_LEN, vector, 8);
	post(0, REG_GO, GO_INTERRUPT, 8);
	rig_pump(&r);
}

/* The cycle that QEMU makes when a driver binds; what is due without a descriptor comes when there is one. */
START_TEST(vectors_get_descriptors_as_qemu_gives_them)
{
	int fd[3];

	for (int i = 0; i < 3; i++)
		fd[i] = eventfd(0, EFD_NONBLOCK);
	begin();
	set_master();
	set_vectors(NULL, 0, 1);
	ck_assert_uint_eq(set_irqs(BF_VFU_SET_NONE | BF_VFU_SET_TRIGGER, 2, 0, 0, NULL, 0, NULL, 0), 0);
	set_vectors(fd, 0, 1);
	interrupt(0);
	ck_assert_uint_eq(fired(fd[0]), 1);
	ck_assert_uint_eq(set_irqs(BF_VFU_SET_NONE | BF_VFU_SET_TRIGGER, 2, 0, 0, NULL, 0, NULL, 0), 0);
	interrupt(0);
	interrupt(2);
	ck_assert_uint_eq(fired(fd[0]), 0);
	ck_assert_uint_eq(bar_value(0x3000), 5); /* pending bits */
	set_vectors(fd, 0, 3);
	ck_assert_uint_eq(bar_value(0x3000), 0);
	ck_assert_uint_eq(fired(fd[0]), 1);
	ck_assert_uint_eq(fired(fd[1]), 0);
	ck_assert_uint_eq(fired(fd[2]), 1);
	set_vectors(NULL, 1, 2);
	interrupt(2);
	interrupt(0);
	ck_assert_uint_eq(fired(fd[0]), 1);
	ck_assert_uint_eq(fired(fd[2]), 0);
	set_vectors(&fd[1], RIG_VECTORS - 1, 1);
	interrupt(RIG_VECTORS - 1);
	interrupt(RIG_VECTORS);
	ck_assert_uint_eq(fired(fd[1]), 1);
	ck_assert_uint_eq(stat_of("interrupts"), 5);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
}
END_TEST

START_TEST(interrupts_need_bus_mastering)
{
	const int fd = eventfd(0, EFD_NONBLOCK);

	begin();
	set_vectors(&fd, 0, 1);
	interrupt(0);
	ck_assert_uint_eq(fired(fd), 0);
	set_master();
	ck_assert_uint_eq(fired(fd), 1);
	close(fd);
}
END_TEST

START_TEST(clients_may_fire_vectors)
{
	const uint8_t bools[3] = { 1, 0, 1 };
	int fd[3];

	for (int i = 0; i < 3; i++)
		fd[i] = eventfd(0, EFD_NONBLOCK);
	begin();
	set_vectors(fd, 0, 3);
	ck_assert_uint_eq(set_irqs(BF_VFU_SET_BOOL | BF_VFU_SET_TRIGGER, 2, 0, 3, bools, 3, NULL, 0), 0);
	ck_assert_uint_eq(fired(fd[0]), 1);
	ck_assert_uint_eq(fired(fd[1]), 0);
	ck_assert_uint_eq(fired(fd[2]), 1);
	ck_assert_uint_eq(set_irqs(BF_VFU_SET_NONE | BF_VFU_SET_TRIGGER, 2, 1, 2, NULL, 0, NULL, 0), 0);
	ck_assert_uint_eq(fired(fd[1]), 1);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
}
END_TEST

START_TEST(interrupt_settings_that_make_no_sense_are_refused)
{
	const uint32_t trigger = BF_VFU_SET_TRIGGER, eventfds = BF_VFU_SET_EVENTFD | trigger;
	const uint8_t bools[4] = { 1, 1, 1, 1 };
	int fd = eventfd(0, 0), pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	begin();
	ck_assert_uint_eq(set_irqs(eventfds, 2, 0, 2, NULL, 0, &fd, 1), EINVAL);
	ck_assert_uint_eq(set_irqs(eventfds, 2, RIG_VECTORS, 1, NULL, 0, &fd, 1), EINVAL);
	ck_assert_uint_eq(set_irqs(eventfds, 2, UINT32_MAX, 2, NULL, 0, NULL, 0), EINVAL);
	ck_assert_uint_eq(set_irqs(eventfds, 2, 1, UINT32_MAX, NULL, 0, NULL, 0), EINVAL);
	ck_assert_uint_eq(set_irqs(eventfds, 0, 0, 1, NULL, 0, &fd, 1), EINVAL);
	ck_assert_uint_eq(set_irqs(eventfds, 5, 0, 0, NULL, 0, NULL, 0), EINVAL);
	ck_assert_uint_eq(set_irqs(eventfds, 2, 0, 1, NULL, 0, pair, 1), EINVAL);
	ck_assert_uint_eq(set_irqs(BF_VFU_SET_NONE | trigger, 2, 0, 1, NULL, 0, &fd, 1), EINVAL);
	ck_assert_uint_eq(set_irqs(BF_VFU_SET_BOOL | trigger, 2, 0, 5, bools, 4, NULL, 0), EINVAL);
	ck_assert_uint_eq(set_irqs(trigger, 2, 0, 1, NULL, 0, NULL, 0), EINVAL);
	ck_assert_uint_eq(set_irqs(BF_VFU_SET_NONE, 2, 0, 1, NULL, 0, NULL, 0), EINVAL);
	ck_assert_uint_eq(set_irqs(BF_VFU_SET_NONE | BF_VFU_SET_BOOL | trigger, 2, 0, 1, bools, 1, NULL, 0), EINVAL);
	ck_assert_uint_eq(set_irqs(BF_VFU_SET_NONE | trigger | 0x40, 2, 0, 1, NULL, 0, NULL, 0), EINVAL);
	ck_assert_uint_eq(set_irqs(BF_VFU_SET_NONE | BF_VFU_SET_MASK, 2, 0, 1, NULL, 0, NULL, 0), ENOTSUP);
	ck_assert_uint_eq(set_irqs(BF_VFU_SET_NONE | trigger, 0, 0, 0, NULL, 0, NULL, 0), 0); /* QEMU does */
	close(fd);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

/* The counter of the client's eventfd is full and blocks: we do not. */
START_TEST(a_full_eventfd_does_not_block)
{
	const uint64_t most = UINT64_MAX - 1;
	const int fd = eventfd(0, 0);

	begin();
	set_master();
	set_vectors(&fd, 0, 1);
	ck_assert_int_eq(write(fd, &most, 8), 8);
	interrupt(0);
	ck_assert_uint_eq(bar_value(REG_A), 0);
	close(fd);
}
END_TEST

/* Flags belong to the open file, which the client has, too: it makes its descriptor block after we took it. */
START_TEST(a_client_that_unsets_nonblock_does_not_hold_us)
{
	const uint64_t most = UINT64_MAX - 1;
	const int fd = eventfd(0, EFD_NONBLOCK);

	begin();
	set_master();
	set_vectors(&fd, 0, 1);
	ck_assert_int_eq(fcntl(fd, F_SETFL, 0), 0);
	ck_assert_int_eq(write(fd, &most, 8), 8);
	interrupt(0);
	interrupt(0);
	ck_assert_uint_eq(bar_value(REG_A), 0);
	ck_assert_uint_eq(stat_of("interrupts"), 2);
	ck_assert_uint_ge(fired(fd), most);
	interrupt(0); /* and rings again once there is room */
	ck_assert_uint_eq(fired(fd), 1);
	close(fd);
}
END_TEST

/* What is no file, socket or pipe passes for an eventfd until it is rung. */
START_TEST(a_descriptor_that_takes_no_event_is_said)
{
	const int fd = epoll_create1(0);

	begin();
	set_master();
	set_vectors(&fd, 0, 1);
	interrupt(0);
	ck_assert_str_eq(r.log, "vector 0: its descriptor takes no event");
	close(fd);
}
END_TEST

/* Resets and connections ------------------------------------------------------------------------------------------ */

START_TEST(resets_keep_what_is_the_connections)
{
	const int fd = eventfd(0, EFD_NONBLOCK), mem = memory(0x1000);
	const uint16_t flr = 0xa830;

	begin();
	set_master();
	set_vectors(&fd, 0, 1);
	ck_assert_uint_eq(map(3, 0, 0x10000, 0x1000, mem), 0);
	post(0, REG_A, 9, 8);
	ck_assert_uint_eq(ask(BF_VFU_RESET, NULL, 0), 0);
	ck_assert_uint_eq(r.resets, 1);
	ck_assert_uint_eq(bar_value(REG_A), 0);
	ck_assert_uint_eq(region_read(BF_VFU_REGION_CONFIG, BF_PCI_COMMAND, 2), 0);
	ck_assert_uint_eq(bf_get_le16(m.payload + 16), 0);
	set_master();
	ck_assert_uint_eq(region_write(BF_VFU_REGION_CONFIG, 0x68, &flr, 2), 0);
	ck_assert_uint_eq(r.resets, 2);
	ck_assert_uint_eq(region_read(BF_VFU_REGION_CONFIG, 0x68, 2), 0);
	ck_assert_uint_eq(bf_get_le16(m.payload + 16) & 0x8000, 0);
	set_master();
	ck_assert_int_eq(dma(GO_READ, 0x10000, 16), 0);
	ck_assert_uint_eq(fired(fd), 1);
	close(fd);
	close(mem);
}
END_TEST

START_TEST(the_next_client_finds_the_device_as_it_was)
{
	const int fd = eventfd(0, EFD_NONBLOCK), mem = memory(0x1000);
	int other[2];

	begin();
	set_master();
	set_vectors(&fd, 0, 1);
	ck_assert_uint_eq(map(3, 0, 0x10000, 0x1000, mem), 0);
	post(0, REG_A, 77, 8);
	rig_pump(&r);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	ck_assert_int_eq(bf_vfio_user_adopt(r.server, other[0]), -EBUSY);
	close(other[1]);
	close(r.fd);
	r.fd = -1;
	rig_pump(&r);
	ck_assert_uint_eq(r.ended, 1);
	ck_assert_uint_eq(r.ioas.count, 0);
	bf_pci_interrupt(r.fn, 0); /* nobody is there */
	bf_sim_run(r.sim, BF_NEVER);
	ck_assert_int_eq(rig_connect(&r), 0);
	begin(); /* from VERSION on */
	ck_assert_uint_eq(bar_value(REG_A), 77);
	ck_assert_uint_eq(region_read(BF_VFU_REGION_CONFIG, BF_PCI_COMMAND, 2), 0);
	ck_assert_uint_eq(bf_get_le16(m.payload + 16), BF_PCI_COMMAND_MASTER);
	ck_assert_int_eq(dma(GO_READ, 0x10000, 8), -EFAULT);
	ck_assert_uint_eq(fired(fd), 0);
	set_vectors(&fd, 0, 1);
	ck_assert_uint_eq(fired(fd), 1); /* it was pending */
	ck_assert_uint_eq(stat_of("sessions"), 2);
	close(fd);
	close(mem);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("vfio-user interrupts");
	TCase *t = client_case(s, "interrupts");

	tcase_add_test(t, vectors_get_descriptors_as_qemu_gives_them);
	tcase_add_test(t, interrupts_need_bus_mastering);
	tcase_add_test(t, clients_may_fire_vectors);
	tcase_add_test(t, interrupt_settings_that_make_no_sense_are_refused);
	tcase_add_test(t, a_full_eventfd_does_not_block);
	tcase_add_test(t, a_client_that_unsets_nonblock_does_not_hold_us);
	tcase_add_test(t, a_descriptor_that_takes_no_event_is_said);
	tcase_add_test(t, resets_keep_what_is_the_connections);
	tcase_add_test(t, the_next_client_finds_the_device_as_it_was);
	return client_run(s);
}
