/* The vfio-user server: guest memory without a descriptor, reached by messages. */
#include "tests/models/vfio_user_client.h"

/* The client's answer to DMA message `m`: `len` bytes of payload. */
static void answer(uint32_t flags, uint32_t error, const void *payload, size_t len)
{
	uint8_t *frame = malloc(16 + len);
	const uint16_t id = m.id;

	rig_frame(&r, frame, m.command, BF_VFU_TYPE_REPLY | flags, payload, len);
	bf_put_le16(frame, id);
	bf_put_le32(frame + 12, error);
	rig_send_raw(&r, frame, 16 + len, NULL, 0);
	free(frame);
	rig_pump(&r);
}

static void answer_read(uint8_t first)
{
	const uint32_t n = (uint32_t)bf_get_le64(m.payload + 8);
	uint8_t *p = malloc(16 + n);

	memcpy(p, m.payload, 16);
	for (uint32_t i = 0; i < n; i++)
		p[16 + i] = (uint8_t)(first + i);
	answer(0, 0, p, 16 + n);
	free(p);
}

START_TEST(far_memory_is_read_by_messages)
{
	begin();
	ck_assert_uint_eq(map(3, 0, 0x100000, 0x10000, -1), 0);
	start_dma(GO_READ, 0x100010, 100);
	receive();
	ck_assert_uint_eq(m.command, BF_VFU_DMA_READ);
	ck_assert_uint_eq(m.flags, 0);
	ck_assert_uint_eq(m.len, 16);
	ck_assert_uint_eq(bf_get_le64(m.payload), 0x100010);
	ck_assert_uint_eq(bf_get_le64(m.payload + 8), 100);
	{
		/* Meanwhile everything else is served, in order. */
		struct rig_message *dma_read = malloc(sizeof(*dma_read));

		memcpy(dma_read, &m, sizeof(m));
		ck_assert_uint_eq(bar_value(REG_STATUS), REG_BUSY);
		post(0, REG_A, 5, 8);
		ck_assert_uint_eq(bar_value(REG_A), 5);
		memcpy(&m, dma_read, sizeof(m));
		free(dma_read);
	}
	answer_read(3);
	ck_assert_uint_eq(r.regs[REG_STATUS / 8], 0);
	for (uint32_t i = 0; i < 100; i++)
		ck_assert_uint_eq(r.buffer[i], (uint8_t)(3 + i));
	ck_assert_uint_eq(stat_of("dma_reads"), 1);
}
END_TEST

/* A read over near and far memory, and one longer than a message may be. */
START_TEST(far_reads_come_in_pieces)
{
	const int fd = memory(0x1000);
	uint64_t expect = 0;
	uint32_t messages = 0;

	ck_assert_uint_eq(version(0, 0, "{\"capabilities\":{\"max_data_xfer_size\":4096}}", 45), 0);
	ck_assert_uint_eq(map(3, 0, 0x10000, 0x1000, fd), 0);
	ck_assert_uint_eq(map(3, 0, 0x11000, 0x8000, -1), 0);
	ck_assert_uint_eq(map(3, 0, 0x19000, 0x1000, fd), 0);
	memset(r.buffer, 0xff, 0xa000);
	start_dma(GO_READ, 0x10000, 0xa000);
	while (rig_receive(&r, &m)) {
		ck_assert_uint_eq(bf_get_le64(m.payload), 0x11000 + expect);
		ck_assert_uint_le(bf_get_le64(m.payload + 8), 4096);
		expect += bf_get_le64(m.payload + 8);
		messages++;
		answer_read((uint8_t)messages);
	}
	ck_assert_uint_eq(messages, 8);
	ck_assert_uint_eq(expect, 0x8000);
	ck_assert_uint_eq(r.regs[REG_STATUS / 8], 0);
	ck_assert_uint_eq(r.buffer[0], 0);
	ck_assert_uint_eq(r.buffer[0x1000], 1);
	ck_assert_uint_eq(r.buffer[0x8000], 8);
	ck_assert_uint_eq(r.buffer[0x9000], 0);
	close(fd);
}
END_TEST

/* An interrupt comes when the client has the data that it announces, and not before. */
START_TEST(far_writes_come_before_their_interrupt)
{
	const int fd[2] = { eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK) };

	begin();
	set_master();
	set_vectors(fd, 0, 2);
	ck_assert_uint_eq(map(3, 0, 0x100000, 0x40000, -1), 0);
	for (uint32_t i = 0; i < 0x20000; i++)
		r.buffer[i] = (uint8_t)(i >> 4);
	r.interrupt_after_write = true;
	ck_assert_int_eq(dma(GO_WRITE, 0x100800, 0x18000), 0);
	for (uint32_t at = 0; at < 0x18000;) {
		const uint32_t n = (receive(), (uint32_t)bf_get_le64(m.payload + 8));

		ck_assert_uint_eq(m.command, BF_VFU_DMA_WRITE);
		ck_assert_uint_eq(m.len, 16 + n);
		ck_assert_uint_eq(bf_get_le64(m.payload), 0x100800 + at);
		ck_assert_mem_eq(m.payload + 16, r.buffer + at, n);
		at += n;
		ck_assert_uint_eq(fired(fd[1]), 0);
		answer(0, 0, m.payload, at % 2 ? 16 : 0); /* with the address or without */
	}
	ck_assert_uint_eq(fired(fd[1]), 1);
	close(fd[0]);
	close(fd[1]);
}
END_TEST

START_TEST(far_answers_that_are_wrong_fail_the_read)
{
	uint8_t p[64] = { 0 };

	begin();
	ck_assert_uint_eq(map(1, 0, 0x100000, 0x10000, -1), 0);
	ck_assert_int_eq(dma(GO_WRITE, 0x100000, 8), -EFAULT); /* read-only */
	for (int i = 0; i < 4; i++) {
		start_dma(GO_READ, 0x100000, 32);
		receive();
		bf_put_le64(p + 8, i == 2 ? 31 : 32);
		answer(i == 0 ? BF_VFU_ERROR : 0, i == 0 ? EIO : 0, p, i == 0 ? 0 : i == 1 ? 47 : i == 2 ? 48 : 64);
		ck_assert_int_eq((int64_t)r.regs[REG_STATUS / 8], -EFAULT);
	}
	start_dma(GO_READ, 0x100000, 32); /* and goes on */
	receive();
	answer_read(1);
	ck_assert_int_eq((int64_t)r.regs[REG_STATUS / 8], 0);
	ck_assert_uint_eq(stat_of("dma_errors"), 4);
}
END_TEST

/* What waits for memory that goes away fails; an answer that comes too late hurts nobody. */
START_TEST(far_memory_goes_while_it_is_read)
{
	begin();
	ck_assert_uint_eq(map(3, 0, 0x100000, 0x10000, -1), 0);
	start_dma(GO_READ, 0x100000, 32);
	rig_send(&r, BF_VFU_RESET, 0, NULL, 0, NULL, 0);
	rig_pump(&r);
	receive(); /* the DMA_READ */
	{
		struct rig_message *late = malloc(sizeof(*late));

		memcpy(late, &m, sizeof(m));
		receive();
		ck_assert_uint_eq(m.command, BF_VFU_RESET);
		ck_assert_uint_eq(unmap(0, 0x100000, 0x10000), 0);
		ck_assert_int_eq((int64_t)r.regs[REG_STATUS / 8], -EFAULT);
		r.buffer[0] = 0x77;
		memcpy(&m, late, sizeof(m));
		free(late);
		answer_read(1);
		ck_assert_uint_eq(r.buffer[0], 0x77);
	}
	ck_assert_uint_eq(map(3, 0, 0x100000, 0x10000, -1), 0);
	start_dma(GO_READ, 0x100000, 32);
	ck_assert_uint_eq(r.regs[REG_STATUS / 8], REG_BUSY);
	close(r.fd);
	r.fd = -1;
	rig_pump(&r);
	ck_assert_int_eq((int64_t)r.regs[REG_STATUS / 8], -EFAULT);
	ck_assert(!bf_vfio_user_connected(r.server));
}
END_TEST

/* The device's port goes while a message of its is out, as when a model is destroyed. */
START_TEST(far_reads_of_a_port_that_goes)
{
	begin();
	ck_assert_uint_eq(map(3, 0, 0x100000, 0x10000, -1), 0);
	start_dma(GO_READ, 0x100000, 32);
	receive();
	bf_dma_port_fini(&r.port);
	answer_read(1);
	ck_assert_int_eq(bf_dma_port_init(&r.port, r.sim, "dev", &r.link, &r.ioas), 0);
	ck_assert_uint_eq(r.regs[REG_STATUS / 8], REG_BUSY);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("vfio-user far");
	TCase *t = client_case(s, "far");

	tcase_add_test(t, far_memory_is_read_by_messages);
	tcase_add_test(t, far_reads_come_in_pieces);
	tcase_add_test(t, far_writes_come_before_their_interrupt);
	tcase_add_test(t, far_answers_that_are_wrong_fail_the_read);
	tcase_add_test(t, far_memory_goes_while_it_is_read);
	tcase_add_test(t, far_reads_of_a_port_that_goes);
	return client_run(s);
}
