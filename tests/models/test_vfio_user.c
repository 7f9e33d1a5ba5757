/* The vfio-user server as a client sees it, well-behaved and not: messages, what the device is, its regions. */
#include "tests/models/vfio_user_client.h"

/* Version --------------------------------------------------------------------------------------------------------- */

START_TEST(version_is_negotiated_as_qemu_wants_it)
{
	begin();
	ck_assert_uint_eq(bf_get_le16(m.payload), 0);
	ck_assert_uint_eq(bf_get_le16(m.payload + 2), 0);
	ck_assert_uint_eq(m.payload[m.len - 1], 0);
	ck_assert_uint_le(m.len, 4 + sizeof(QEMU_TEXT));
	ck_assert_ptr_nonnull(strstr((char *)m.payload + 4, "\"max_msg_fds\":16"));
	ck_assert_ptr_nonnull(strstr((char *)m.payload + 4, "\"write_multiple\":true"));
	ck_assert_uint_eq(version(0, 0, QEMU_TEXT, sizeof(QEMU_TEXT)), EINVAL); /* a second one */
}
END_TEST

START_TEST(version_answers_are_not_longer_than_questions)
{
	static const struct {
		const char *text;
		size_t len, most;
		uint32_t minor;
	} cases[] = {
		{ "", 0, 0, 1 },
		{ "{}", 3, 3, 0 },
		{ "{\"capabilities\":{\"max_msg_fds\":8}} ", 36, 36, 1 },
		{ " {\"a\":[1,-2.5e3,\"\\u0041\\n\",null,true,{}]} ", 43, 43, 7 },
	};

	ck_assert_uint_eq(version(0, cases[_i].minor, cases[_i].text, cases[_i].len), 0);
	ck_assert_uint_le(m.len, 4 + cases[_i].most);
	ck_assert_uint_eq(bf_get_le16(m.payload + 2), cases[_i].minor < 1 ? cases[_i].minor : 1);
	ck_assert_ptr_null(strstr((char *)m.payload + 4, "write_multiple"));
}
END_TEST

START_TEST(versions_that_make_no_sense_are_refused)
{
	static const char *const texts[] = {
		"{",
		"[]",
		"{}x",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":01}",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\\u00g0\"}",
		"{\"a\":tru}",
		"{\"a\":1,}",
		"{\"a\":[1,]}",
		"\"",
		"",
		"{\"a\":\"\n\"}",
		"{\"a\":1.}",
		"{\"a\":1e}",
		"{\"a\":-}",
		"{\"capabilities\":{\"max_data_xfer_size\":0}}",
		"{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(texts); i++)
		ck_assert_msg(version(0, 0, texts[i], strlen(texts[i]) + 1) == EINVAL, "took %s", texts[i]);
	ck_assert_uint_eq(version(0, 0, "{}", 2), EINVAL); /* no zero byte */
	ck_assert_uint_eq(version(1, 0, "{}", 3), EINVAL);
	ck_assert_uint_eq(ask(BF_VFU_VERSION, "\0\0", 2), EINVAL);
	ck_assert_uint_eq(ask(BF_VFU_RESET, NULL, 0), EINVAL); /* not before VERSION */
	begin();
	ck_assert_uint_eq(ask(BF_VFU_RESET, NULL, 0), 0);
}
END_TEST

/* Framing --------------------------------------------------------------------------------------------------------- */

START_TEST(commands_that_are_not_there)
{
	static const struct {
		uint32_t command, error;
	} cases[] = {
		{ 0, ENOSYS },   { 11, EINVAL },  { 12, EINVAL }, { 14, ENOSYS },    { 16, ENOTSUP },
		{ 17, ENOTSUP }, { 18, ENOTSUP }, { 19, ENOSYS }, { 65535, ENOSYS },
	};
	uint8_t payload[64] = { 0 };

	begin();
	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++)
		ck_assert_uint_eq(ask(cases[i].command, payload, sizeof(payload)), cases[i].error);
	for (uint32_t c = 1; c <= 10; c++) /* all need more than 3 bytes */
		ck_assert_uint_eq(ask(c, payload, 3), EINVAL);
	ck_assert_uint_eq(stat_of("refused"), BF_ARRAY_LEN(cases) + 10);
	rig_send(&r, BF_VFU_GET_INFO, 5, payload, 16, NULL, 0); /* a message of type 5 */
	rig_pump(&r);
	receive();
	ck_assert_uint_eq(m.error, EINVAL);
	ck_assert_uint_eq(ask(BF_VFU_RESET, NULL, 0), 0);
}
END_TEST

START_TEST(nothing_is_said_to_posted_commands_and_replies)
{
	uint8_t payload[64] = { 0 };

	begin();
	rig_send(&r, 99, BF_VFU_NO_REPLY, NULL, 0, NULL, 0);
	rig_send(&r, BF_VFU_GET_INFO, BF_VFU_NO_REPLY, payload, 16, NULL, 0);
	rig_send(&r, BF_VFU_RESET, BF_VFU_NO_REPLY, NULL, 0, NULL, 0);
	rig_send(&r, BF_VFU_REGION_READ, BF_VFU_NO_REPLY, payload, 16, NULL, 0);
	rig_send(&r, BF_VFU_DMA_READ, BF_VFU_TYPE_REPLY, payload, 32, NULL, 0);
	rig_send(&r, 99, BF_VFU_TYPE_REPLY | BF_VFU_ERROR, NULL, 0, NULL, 0);
	rig_pump(&r);
	no_message();
	ck_assert(bf_vfio_user_connected(r.server));
	ck_assert_uint_eq(ask(BF_VFU_RESET, NULL, 0), 0);
	ck_assert_uint_eq(r.resets, 2);
}
END_TEST

/* Many messages in one send; then the same stream cut at each byte. */
START_TEST(messages_come_in_any_pieces)
{
	uint8_t stream[1024];
	uint64_t value;
	size_t len = 0;

	begin();
	for (uint32_t i = 1; i <= 5; i++) {
		value = i;
		len += frame_access(stream + len, BF_VFU_REGION_WRITE, BF_VFU_NO_REPLY, 0, REG_A, 8, &value);
		len += frame_access(stream + len, BF_VFU_REGION_READ, 0, 0, REG_A, 8, NULL);
	}
	for (size_t cut = 0; cut <= len; cut++) {
		rig_send_raw(&r, stream, cut, NULL, 0);
		rig_pump(&r);
		rig_send_raw(&r, stream + cut, len - cut, NULL, 0);
		rig_pump(&r);
		for (uint32_t i = 1; i <= 5; i++) {
			receive();
			ck_assert_uint_eq(bf_get_le64(m.payload + 16), i);
		}
		no_message();
	}
	for (size_t at = 0; at < len; at++) {
		rig_send_raw(&r, stream + at, 1, NULL, 0);
		bf_vfio_user_step(r.server);
	}
	for (uint32_t i = 1; i <= 5; i++)
		receive();
	no_message();
}
END_TEST

START_TEST(a_size_below_the_header_ends_the_connection)
{
	uint8_t frame[32] = { 0 };

	begin();
	bf_put_le16(frame + 2, BF_VFU_RESET);
	bf_put_le32(frame + 4, (uint32_t)_i);
	rig_send_raw(&r, frame, 16, NULL, 0);
	rig_pump(&r);
	ck_assert(!bf_vfio_user_connected(r.server));
	ck_assert_uint_eq(r.ended, 1);
	ck_assert_ptr_nonnull(strstr(r.log, "cannot be followed"));
}
END_TEST

START_TEST(a_message_that_is_too_long_is_skipped)
{
	const size_t big = (1u << 20) + 33;
	uint8_t *bytes = calloc(1, big + 16), frame[64];
	const int fd = eventfd(0, 0);
	size_t len;

	begin();
	rig_frame(&r, bytes, BF_VFU_REGION_WRITE, 0, bytes + 16, big);
	for (size_t at = 0; at < big + 16; at += 50000) {
		rig_send_raw(&r, bytes + at, big + 16 - at < 50000 ? big + 16 - at : 50000, &fd, at ? 0 : 1);
		rig_pump(&r);
	}
	receive();
	ck_assert_uint_eq(m.error, EMSGSIZE);
	len = frame_access(frame, BF_VFU_REGION_READ, 0, 0, REG_A, 8, NULL);
	rig_send_raw(&r, frame, len, NULL, 0);
	rig_pump(&r);
	receive();
	ck_assert_uint_eq(m.id, r.id);
	ck_assert_uint_eq(m.flags, BF_VFU_TYPE_REPLY);
	free(bytes);
	close(fd);
}
END_TEST

START_TEST(half_a_message_and_the_end)
{
	const int fd = eventfd(0, 0);
	uint8_t frame[64];

	begin();
	rig_frame(&r, frame, BF_VFU_DMA_MAP, 0, frame + 16, 32);
	rig_send_raw(&r, frame, 40, &fd, 1);
	rig_pump(&r);
	close(r.fd);
	r.fd = -1;
	rig_pump(&r);
	ck_assert(!bf_vfio_user_connected(r.server));
	close(fd);
}
END_TEST

/* The client asks for far more than it takes: we stop reading, and lose nothing. */
START_TEST(a_client_that_does_not_read)
{
	uint8_t frame[64];
	uint32_t sent = 0, got = 0;

	begin();
	for (; sent < 2000; sent++) {
		size_t len = frame_access(frame, BF_VFU_REGION_READ, 0, BF_VFU_REGION_CONFIG, 0, 4096, NULL);

		if (send(r.fd, frame, len, MSG_DONTWAIT) != (ssize_t)len)
			break;
		bf_vfio_user_step(r.server);
	}
	ck_assert_uint_gt(sent, 100);
	for (; got < sent; got++) {
		while (!rig_receive(&r, &m))
			ck_assert(bf_vfio_user_step(r.server));
		ck_assert_uint_eq(m.len, 16 + 4096);
		ck_assert_uint_eq(bf_get_le32(m.payload + 16), 0x56781234);
	}
	no_message();
}
END_TEST

/* What the device is ---------------------------------------------------------------------------------------------- */

static uint32_t ask_index(uint32_t command, uint32_t argsz, uint32_t index, size_t len)
{
	uint8_t payload[64] = { 0 };

	bf_put_le32(payload, argsz);
	bf_put_le32(payload + 8, index);
	return ask(command, payload, len);
}

START_TEST(the_device_describes_itself)
{
	static const uint64_t sizes[] = { 0x4000, 0, 0x4000, 0, 0, 0, 0, 4096, 0 };

	begin();
	ck_assert_uint_eq(ask_index(BF_VFU_GET_INFO, 16, 0, 16), 0);
	ck_assert_uint_eq(bf_get_le32(m.payload + 4), BF_VFU_INFO_PCI | BF_VFU_INFO_RESET);
	ck_assert_uint_eq(bf_get_le32(m.payload + 8), 9);
	ck_assert_uint_eq(bf_get_le32(m.payload + 12), 5);
	ck_assert_uint_eq(ask_index(BF_VFU_GET_INFO, 15, 0, 16), EINVAL);
	for (uint32_t i = 0; i < 9; i++) {
		ck_assert_uint_eq(ask_index(BF_VFU_REGION_INFO, 32, i, 32), 0);
		ck_assert_uint_eq(m.len, 32);
		ck_assert_uint_eq(bf_get_le32(m.payload + 4), sizes[i] ? 3 : 0);
		ck_assert_uint_eq(bf_get_le32(m.payload + 8), i);
		ck_assert_uint_eq(bf_get_le64(m.payload + 16), sizes[i]);
		ck_assert_uint_eq(ask_index(BF_VFU_REGION_IO_FDS, 16, i, 16), 0);
		ck_assert_uint_eq(m.len, 16);
		ck_assert_uint_eq(bf_get_le32(m.payload + 12), 0);
	}
	ck_assert_uint_eq(ask_index(BF_VFU_REGION_INFO, 32, 9, 32), EINVAL);
	ck_assert_uint_eq(ask_index(BF_VFU_REGION_INFO, 31, 0, 32), EINVAL);
	ck_assert_uint_eq(ask_index(BF_VFU_REGION_IO_FDS, 16, 9, 16), EINVAL);
	for (uint32_t i = 0; i < 5; i++) {
		ck_assert_uint_eq(ask_index(BF_VFU_IRQ_INFO, 16, i, 16), 0);
		ck_assert_uint_eq(bf_get_le32(m.payload + 4), i == 2 ? 9 : 0);
		ck_assert_uint_eq(bf_get_le32(m.payload + 12), i == 2 ? RIG_VECTORS : 0);
	}
	ck_assert_uint_eq(ask_index(BF_VFU_IRQ_INFO, 16, 5, 16), EINVAL);
}
END_TEST

/* First the size that is needed, with the capability's place but no descriptor; then all of it. */
START_TEST(a_window_is_described_in_two_steps)
{
	uint32_t *page;

	begin();
	ck_assert_uint_eq(ask_index(BF_VFU_REGION_INFO, 32, 0, 32), 0);
	ck_assert_uint_eq(m.len, 32);
	ck_assert_int_eq(m.fd, -1);
	ck_assert_uint_eq(bf_get_le32(m.payload), 64);
	ck_assert_uint_eq(bf_get_le32(m.payload + 4), 3 | 4 | 8);
	ck_assert_uint_eq(bf_get_le32(m.payload + 12), 32);
	ck_assert_uint_eq(ask_index(BF_VFU_REGION_INFO, 64, 0, 64), 0);
	ck_assert_uint_eq(m.len, 64);
	ck_assert_int_ge(m.fd, 0);
	ck_assert_uint_eq(bf_get_le16(m.payload + 32), 1);
	ck_assert_uint_eq(bf_get_le32(m.payload + 40), 1);
	ck_assert_uint_eq(bf_get_le64(m.payload + 48), 0x1000);
	ck_assert_uint_eq(bf_get_le64(m.payload + 56), 0x1000);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd,
		    (off_t)(bf_get_le64(m.payload + 24) + bf_get_le64(m.payload + 48)));
	ck_assert_ptr_ne(page, MAP_FAILED);
	page[1] = 77;
	ck_assert_uint_eq(bf_get_le32(r.bar->bytes + 0x1004), 77);
	munmap(page, 4096);
	close(m.fd);
	ck_assert_uint_eq(ask_index(BF_VFU_REGION_INFO, 64, 2, 64), 0); /* other regions have none */
	ck_assert_uint_eq(m.len, 32);
	ck_assert_int_eq(m.fd, -1);
}
END_TEST

/* Regions --------------------------------------------------------------------------------------------------------- */

START_TEST(regions_are_read_and_written)
{
	uint64_t value = 0x1122334455667788;
	uint8_t page[4096];

	begin();
	ck_assert_uint_eq(region_read(BF_VFU_REGION_CONFIG, 0, 4096), 0);
	ck_assert_uint_eq(bf_get_le32(m.payload + 16), 0x56781234);
	for (uint32_t n = 1; n <= 8; n *= 2) {
		r.regs[REG_A / 8] = 0;
		ck_assert_uint_eq(region_write(0, REG_A, &value, n), 0);
		ck_assert_uint_eq(m.len, 16);
		ck_assert_uint_eq(region_read(0, REG_A, n), 0);
		ck_assert_mem_eq(m.payload + 16, &value, n);
	}
	post(0, REG_A, 42, 8);
	ck_assert_uint_eq(bar_value(REG_A), 42); /* a read sees the posted write before it */
	memset(page, 0x5a, sizeof(page));
	ck_assert_uint_eq(region_write(2, 0x1000, page, sizeof(page)), 0);
	ck_assert_mem_eq(r.memory->bytes + 0x1000, page, sizeof(page));
}
END_TEST

START_TEST(accesses_outside_of_regions_are_refused)
{
	static const struct {
		uint32_t region;
		uint64_t offset;
		uint32_t count;
	} cases[] = {
		{ 0, 0x4000, 1 }, { 0, 0x3ffd, 4 }, { 0, UINT64_MAX, 4 }, { 0, UINT64_MAX - 3, 8 }, { 1, 0, 4 },
		{ 6, 0, 4 },      { 8, 0, 4 },      { 9, 0, 4 },          { UINT32_MAX, 0, 4 },     { 7, 4096, 1 },
		{ 7, 0, 4097 },   { 0, 0, 0 },      { 0, 0, UINT32_MAX }, { 7, 1ull << 32, 4 },
	};
	uint64_t value = 1;

	begin();
	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		ck_assert_uint_eq(region_read(cases[i].region, cases[i].offset, cases[i].count), EINVAL);
		if (cases[i].count <= 8)
			ck_assert_uint_eq(region_write(cases[i].region, cases[i].offset, &value, cases[i].count),
					  EINVAL);
	}
	ck_assert_uint_eq(r.regs[REG_STORES / 8], 0);
}
END_TEST

START_TEST(a_write_brings_as_many_bytes_as_it_says)
{
	uint8_t payload[40] = { 0 };

	begin();
	for (uint32_t count = 0; count <= 24; count++) {
		bf_put_le32(payload + 12, count);
		ck_assert_uint_eq(ask(BF_VFU_REGION_WRITE, payload, 16 + 8), count == 8 ? 0 : EINVAL);
	}
	ck_assert_uint_eq(r.regs[REG_STORES / 8], 1);
}
END_TEST

static void put_entry(uint8_t *p, uint32_t region, uint64_t offset, uint32_t count, uint64_t value)
{
	bf_put_le64(p, offset);
	bf_put_le32(p + 8, region);
	bf_put_le32(p + 12, count);
	bf_put_le64(p + 16, value);
}

START_TEST(several_writes_in_one_message)
{
	uint8_t p[8 + 3 * 24];
	uint64_t config;

	begin();
	bf_put_le64(p, 3);
	put_entry(p + 8, 0, REG_IOVA, 8, 0x1111);
	put_entry(p + 32, BF_VFU_REGION_CONFIG, BF_PCI_INTERRUPT_LINE, 1, 9);
	put_entry(p + 56, 0, REG_A, 4, 0x2222);
	rig_send(&r, BF_VFU_REGION_WRITE_MULTI, BF_VFU_NO_REPLY, p, sizeof(p), NULL, 0);
	ck_assert_uint_eq(bar_value(REG_IOVA), 0x1111);
	ck_assert_uint_eq(bar_value(REG_A), 0x2222);
	ck_assert_int_eq(bf_pci_config_read(r.fn, BF_PCI_INTERRUPT_LINE, &config, 1), 0);
	ck_assert_uint_eq(config & 0xff, 9);

	put_entry(p + 8, 0, REG_IOVA, 8, 0x3333);
	put_entry(p + 56, 0, 0x4000, 4, 0); /* the last is wrong: none is done */
	rig_send(&r, BF_VFU_REGION_WRITE_MULTI, BF_VFU_NO_REPLY, p, sizeof(p), NULL, 0);
	put_entry(p + 56, 0, REG_A, 9, 0);
	rig_send(&r, BF_VFU_REGION_WRITE_MULTI, 0, p, sizeof(p), NULL, 0); /* never answered, flag or not */
	bf_put_le64(p, 4);
	rig_send(&r, BF_VFU_REGION_WRITE_MULTI, BF_VFU_NO_REPLY, p, sizeof(p), NULL, 0);
	bf_put_le64(p, 0x0aaaaaaaaaaaaaabull); /* times 24 is 8, modulo 2^64 */
	rig_send(&r, BF_VFU_REGION_WRITE_MULTI, BF_VFU_NO_REPLY, p, 16, NULL, 0);
	ck_assert_uint_eq(bar_value(REG_IOVA), 0x1111);
	no_message();
	ck_assert_uint_eq(stat_of("refused"), 4);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("vfio-user");
	TCase *t = client_case(s, "messages"), *w = tcase_create("window");

	tcase_add_test(t, version_is_negotiated_as_qemu_wants_it);
	tcase_add_loop_test(t, version_answers_are_not_longer_than_questions, 0, 4);
	tcase_add_test(t, versions_that_make_no_sense_are_refused);
	tcase_add_test(t, commands_that_are_not_there);
	tcase_add_test(t, nothing_is_said_to_posted_commands_and_replies);
	tcase_add_test(t, messages_come_in_any_pieces);
	tcase_add_loop_test(t, a_size_below_the_header_ends_the_connection, 0, 16);
	tcase_add_test(t, a_message_that_is_too_long_is_skipped);
	tcase_add_test(t, half_a_message_and_the_end);
	tcase_add_test(t, a_client_that_does_not_read);
	tcase_add_test(t, the_device_describes_itself);
	tcase_add_test(t, regions_are_read_and_written);
	tcase_add_test(t, accesses_outside_of_regions_are_refused);
	tcase_add_test(t, a_write_brings_as_many_bytes_as_it_says);
	tcase_add_test(t, several_writes_in_one_message);
	tcase_add_checked_fixture(w, set_up_window, tear_down);
	tcase_add_test(w, a_window_is_described_in_two_steps);
	suite_add_tcase(s, w);
	return client_run(s);
}
