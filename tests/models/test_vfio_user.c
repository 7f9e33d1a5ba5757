/*
 * The vfio-user server as a client sees it, well-behaved and not. The client is the rig's: it speaks bytes, and shares
 * with the server only the numbers of the protocol.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "sim/live.h"
#include "sim/stats.h"
#include "tests/models/vfio_user_rig.h"

static struct rig r;
static struct rig_message m;
static int fds_before;

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void set_up(void)
{
	fds_before = open_fds();
	ck_assert_int_eq(rig_open(&r, false), 0);
	ck_assert_int_eq(rig_connect(&r), 0);
}

static void set_up_window(void)
{
	fds_before = open_fds();
	ck_assert_int_eq(rig_open(&r, true), 0);
	ck_assert_int_eq(rig_connect(&r), 0);
}

/* Every test also tests that no descriptor is left. */
static void tear_down(void)
{
	rig_close(&r);
	ck_assert_int_eq(open_fds(), fds_before);
}

struct wanted {
	char name[64];
	uint64_t value;
};

static void match(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *hist)
{
	struct wanted *w = arg;

	(void)unit, (void)hist;
	if (counter && !strcmp(name, w->name))
		w->value = *counter;
}

static uint64_t stat_of(const char *name)
{
	struct wanted w = { .value = UINT64_MAX };

	snprintf(w.name, sizeof(w.name), "dev.vfio_user.%s", name);
	bf_stats_each(r.sim, match, &w);
	return w.value;
}

static void receive(void)
{
	ck_assert_msg(rig_receive(&r, &m), "no answer; the server's last word: %s", r.log);
}

static void no_message(void)
{
	ck_assert(!rig_receive(&r, &m));
}

/* A command with its answer in `m`; returns the answer's error. */
static uint32_t ask_fds(uint32_t command, const void *payload, size_t len, const int *fds, uint32_t nfds)
{
	rig_send(&r, command, 0, payload, len, fds, nfds);
	rig_pump(&r);
	receive();
	ck_assert_uint_eq(m.id, r.id);
	ck_assert_uint_eq(m.command, command);
	ck_assert_uint_eq(m.flags & BF_VFU_TYPE, BF_VFU_TYPE_REPLY);
	if (m.flags & BF_VFU_ERROR) {
		ck_assert_uint_eq(m.size, 16);
		ck_assert_uint_ne(m.error, 0);
		return m.error;
	}
	return 0;
}

static uint32_t ask(uint32_t command, const void *payload, size_t len)
{
	return ask_fds(command, payload, len, NULL, 0);
}

#define QEMU_TEXT                                                                                                      \
	"{\"capabilities\": {\"max_msg_fds\": 16, \"max_data_xfer_size\": 1048576, \"max_dma_maps\": 65535, "          \
	"\"pgsizes\": 4096, \"write_multiple\": true, \"migration\": {\"pgsize\": 4096, \"max_bitmap_size\": "         \
	"268435456}}}"

static uint32_t version(uint32_t major, uint32_t minor, const char *text, size_t len)
{
	uint8_t payload[2048];

	bf_put_le16(payload, (uint16_t)major);
	bf_put_le16(payload + 2, (uint16_t)minor);
	memcpy(payload + 4, text, len);
	return ask(BF_VFU_VERSION, payload, 4 + len);
}

static void begin(void)
{
	ck_assert_uint_eq(version(0, 0, QEMU_TEXT, sizeof(QEMU_TEXT)), 0);
}

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

static size_t frame_access(uint8_t *out, uint32_t command, uint32_t flags, uint32_t region, uint64_t offset,
			   uint32_t count, const void *data)
{
	uint8_t payload[16 + 4096];
	const size_t len = data ? 16 + count : 16;

	bf_put_le64(payload, offset);
	bf_put_le32(payload + 8, region);
	bf_put_le32(payload + 12, count);
	if (data)
		memcpy(payload + 16, data, count);
	return rig_frame(&r, out, command, flags, payload, len);
}

static uint32_t region_read(uint32_t region, uint64_t offset, uint32_t count)
{
	uint8_t frame[64];
	size_t len = frame_access(frame, BF_VFU_REGION_READ, 0, region, offset, count, NULL);

	rig_send_raw(&r, frame, len, NULL, 0);
	rig_pump(&r);
	receive();
	ck_assert_uint_eq(m.id, r.id);
	if (!(m.flags & BF_VFU_ERROR)) {
		ck_assert_uint_eq(m.len, 16 + count);
		ck_assert_uint_eq(bf_get_le64(m.payload), offset);
	}
	return m.flags & BF_VFU_ERROR ? m.error : 0;
}

static uint64_t bar_value(uint64_t offset)
{
	ck_assert_uint_eq(region_read(0, offset, 8), 0);
	return bf_get_le64(m.payload + 16);
}

static uint32_t region_write(uint32_t region, uint64_t offset, const void *data, uint32_t count)
{
	uint8_t frame[16 + 16 + 4096];
	size_t len = frame_access(frame, BF_VFU_REGION_WRITE, 0, region, offset, count, data);

	rig_send_raw(&r, frame, len, NULL, 0);
	rig_pump(&r);
	receive();
	ck_assert_uint_eq(m.id, r.id);
	return m.flags & BF_VFU_ERROR ? m.error : 0;
}

static void post(uint32_t region, uint64_t offset, uint64_t value, uint32_t count)
{
	uint8_t frame[64];
	size_t len = frame_access(frame, BF_VFU_REGION_WRITE, BF_VFU_NO_REPLY, region, offset, count, &value);

	rig_send_raw(&r, frame, len, NULL, 0);
}

static void set_master(void)
{
	const uint16_t command = BF_PCI_COMMAND_MASTER;

	ck_assert_uint_eq(region_write(BF_VFU_REGION_CONFIG, BF_PCI_COMMAND, &command, 2), 0);
}

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

/* Guest memory ---------------------------------------------------------------------------------------------------- */

static int memory(uint64_t size)
{
	int fd = memfd_create("guest", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static uint32_t map(uint32_t flags, uint64_t offset, uint64_t iova, uint64_t size, int fd)
{
	uint8_t p[32];

	bf_put_le32(p, 32);
	bf_put_le32(p + 4, flags);
	bf_put_le64(p + 8, offset);
	bf_put_le64(p + 16, iova);
	bf_put_le64(p + 24, size);
	return ask_fds(BF_VFU_DMA_MAP, p, 32, &fd, fd >= 0);
}

static uint32_t unmap(uint32_t flags, uint64_t iova, uint64_t size)
{
	uint8_t p[24];
	uint32_t error;

	bf_put_le32(p, 24);
	bf_put_le32(p + 4, flags);
	bf_put_le64(p + 8, iova);
	bf_put_le64(p + 16, size);
	error = ask(BF_VFU_DMA_UNMAP, p, 24);
	if (!error) {
		ck_assert_uint_eq(m.len, 24);
		ck_assert_mem_eq(m.payload, p, 24);
	}
	return error;
}

/* Starts a DMA of the device without waiting for it. */
static void start_dma(uint64_t what, uint64_t iova, uint32_t len)
{
	post(0, REG_IOVA, iova, 8);
	post(0, REG_LEN, len, 8);
	post(0, REG_GO, what, 8);
	rig_pump(&r);
}

static int64_t dma(uint64_t what, uint64_t iova, uint32_t len)
{
	start_dma(what, iova, len);
	return (int64_t)r.regs[REG_STATUS / 8];
}

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

/* Memory without a descriptor ------------------------------------------------------------------------------------- */

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

static void set_vectors(const int *fds, uint32_t start, uint32_t count)
{
	uint8_t p[20];

	bf_put_le32(p, 20);
	bf_put_le32(p + 4, BF_VFU_SET_EVENTFD | BF_VFU_SET_TRIGGER);
	bf_put_le32(p + 8, 2);
	bf_put_le32(p + 12, start);
	bf_put_le32(p + 16, count);
	ck_assert_uint_eq(ask_fds(BF_VFU_SET_IRQS, p, 20, fds, fds ? count : 0), 0);
}

static uint64_t fired(int fd)
{
	uint64_t n = 0;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

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

/* On a loop, with a socket in the file system --------------------------------------------------------------------- */

static char folder[64], path[128];
static struct bf_live *live;
static struct bf_vfio_user *server;

static void set_up_live(void)
{
	/* The first loop of a process opens descriptors that stay. */
	ck_assert_int_eq(bf_sim_create(1, &r.sim), 0);
	ck_assert_int_eq(bf_live_create(r.sim, &live), 0);
	bf_live_destroy(live);
	bf_sim_destroy(r.sim);
	fds_before = open_fds();
	strcpy(folder, "/tmp/vfio_user_XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/sock", folder);
	ck_assert_int_eq(rig_open_function(&r), 0);
	ck_assert_int_eq(bf_live_create(r.sim, &live), 0);
	ck_assert_int_eq(
	    bf_vfio_user_create(
		r.sim,
		&(struct bf_vfio_user_opts){
		    .fn = r.fn, .ioas = &r.ioas, .live = live, .log = rig_log, .ended = rig_ended, .arg = &r },
		&server),
	    0);
}

static void tear_down_live(void)
{
	struct stat st;

	bf_vfio_user_destroy(server);
	ck_assert_int_ne(lstat(path, &st), 0);
	bf_live_destroy(live);
	rig_close(&r);
	rmdir(folder);
	ck_assert_int_eq(open_fds(), fds_before);
}

static int dial(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	return connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ? close(fd), -1 : fd;
}

/* A blocking client in a thread of its own: `want` bytes come back for what it sends. */
static bool exchange(int fd, const void *out, size_t len, void *in, size_t want)
{
	size_t got = 0;

	if (send(fd, out, len, MSG_NOSIGNAL) != (ssize_t)len)
		return false;
	while (got < want) {
		ssize_t n = recv(fd, (uint8_t *)in + got, want - got, 0);

		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

struct client {
	uint32_t rounds;
	bool good, waits; /* waits: a second client in the queue is served after the first */
};

static void *client_main(void *arg)
{
	struct client *c = arg;
	int second = -1, fd = dial();
	uint8_t version_message[20] = { 1, 0, BF_VFU_VERSION, 0, 20 };
	uint8_t read_message[32] = { 2, 0, BF_VFU_REGION_READ, 0, 32 };
	uint8_t in[64];

	c->good = fd >= 0 && exchange(fd, version_message, 20, in, 20);
	read_message[16] = REG_A;
	read_message[28] = 8;
	for (uint32_t i = 0; c->good && i < c->rounds; i++)
		c->good = exchange(fd, read_message, 32, in, 40) && bf_get_le64(in + 32) == 0x4242;
	if (c->waits) {
		second = dial();
		c->good = c->good && second >= 0 && send(second, version_message, 20, 0) == 20;
		close(fd);
		c->good = c->good && recv(second, in, 20, MSG_WAITALL) == 20 && in[2] == BF_VFU_VERSION;
		fd = second;
	}
	close(fd);
	bf_live_stop(live);
	return NULL;
}

START_TEST(clients_are_served_one_after_another)
{
	struct client c = { .rounds = 200, .waits = true };
	pthread_t thread;

	r.regs[REG_A / 8] = 0x4242;
	ck_assert_int_eq(bf_vfio_user_listen(server, path), 0);
	ck_assert_int_eq(bf_vfio_user_listen(server, path), -EINVAL);
	ck_assert_int_eq(pthread_create(&thread, NULL, client_main, &c), 0);
	ck_assert_int_eq(bf_live_run(live, (uint32_t)_i), 0);
	pthread_join(thread, NULL);
	ck_assert(c.good);
	ck_assert_uint_ge(r.ended, 1);
}
END_TEST

START_TEST(sockets_of_the_dead_are_replaced)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	FILE *f;

	strcpy(addr.sun_path, path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(bf_vfio_user_listen(server, path), -EADDRINUSE);
	close(fd);
	ck_assert_int_eq(bf_vfio_user_listen(server, path), 0);
	bf_vfio_user_destroy(server);
	ck_assert_int_eq(bf_vfio_user_create(
			     r.sim, &(struct bf_vfio_user_opts){ .fn = r.fn, .ioas = &r.ioas, .live = live }, &server),
			 0);
	f = fopen(path, "w");
	fclose(f);
	ck_assert_int_eq(bf_vfio_user_listen(server, path), -EEXIST);
	unlink(path);
	memset(path, 'x', sizeof(path) - 1);
	ck_assert_int_eq(bf_vfio_user_listen(server, path), -ENAMETOOLONG);
	ck_assert_int_eq(bf_vfio_user_listen(server, ""), -ENAMETOOLONG);
	ck_assert_int_eq(bf_vfio_user_listen(server, "/no/such/folder/sock"), -ENOENT);
}
END_TEST

static void add_live_tests(Suite *s)
{
	TCase *t = tcase_create("live");

	tcase_add_checked_fixture(t, set_up_live, tear_down_live);
	tcase_add_loop_test(t, clients_are_served_one_after_another, 1, 3);
	tcase_add_test(t, sockets_of_the_dead_are_replaced);
	suite_add_tcase(s, t);
}

static void add_memory_tests(Suite *s)
{
	TCase *t = tcase_create("memory");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, dma_reaches_what_is_mapped);
	tcase_add_test(t, read_only_maps_fault_on_writes);
	tcase_add_test(t, maps_that_make_no_sense_are_refused);
	tcase_add_test(t, unmaps_sweep);
	tcase_add_test(t, many_maps_share_one_mapping);
	tcase_add_test(t, files_come_and_go);
	tcase_add_test(t, descriptors_stay_with_their_message);
	tcase_add_test(t, too_many_descriptors);
	tcase_add_test(t, far_memory_is_read_by_messages);
	tcase_add_test(t, far_reads_come_in_pieces);
	tcase_add_test(t, far_writes_come_before_their_interrupt);
	tcase_add_test(t, far_answers_that_are_wrong_fail_the_read);
	tcase_add_test(t, far_memory_goes_while_it_is_read);
	tcase_add_test(t, far_reads_of_a_port_that_goes);
	suite_add_tcase(s, t);
}

int main(void)
{
	Suite *s = suite_create("vfio-user");
	TCase *t = tcase_create("messages"), *w = tcase_create("window");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, set_up, tear_down);
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
	tcase_add_test(t, vectors_get_descriptors_as_qemu_gives_them);
	tcase_add_test(t, interrupts_need_bus_mastering);
	tcase_add_test(t, clients_may_fire_vectors);
	tcase_add_test(t, interrupt_settings_that_make_no_sense_are_refused);
	tcase_add_test(t, a_full_eventfd_does_not_block);
	tcase_add_test(t, resets_keep_what_is_the_connections);
	tcase_add_test(t, the_next_client_finds_the_device_as_it_was);
	suite_add_tcase(s, t);
	tcase_add_checked_fixture(w, set_up_window, tear_down);
	tcase_add_test(w, a_window_is_described_in_two_steps);
	suite_add_tcase(s, w);
	add_memory_tests(s);
	add_live_tests(s);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
