/*
 * The client of the vfio-user server's tests: it speaks bytes, and shares with the server only the numbers of the
 * protocol. One client `r` at a time, its last message in `m`.
 */
#ifndef BELFRY_TESTS_MODELS_VFIO_USER_CLIENT_H
#define BELFRY_TESTS_MODELS_VFIO_USER_CLIENT_H

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "sim/stats.h"
#include "tests/models/vfio_user_rig.h"

static struct rig r;
static struct rig_message m;
static int fds_before;

static inline int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static inline void set_up(void)
{
	fds_before = open_fds();
	ck_assert_int_eq(rig_open(&r, false), 0);
	ck_assert_int_eq(rig_connect(&r), 0);
}

static inline void set_up_window(void)
{
	fds_before = open_fds();
	ck_assert_int_eq(rig_open(&r, true), 0);
	ck_assert_int_eq(rig_connect(&r), 0);
}

/* Every test also tests that no descriptor is left. */
static inline void tear_down(void)
{
	rig_close(&r);
	ck_assert_int_eq(open_fds(), fds_before);
}

struct wanted {
	char name[64];
	uint64_t value;
};

static inline void match(void *arg, const char *name, const char *unit, const uint64_t *counter,
			 const struct bf_hist *hist)
{
	struct wanted *w = arg;

	(void)unit, (void)hist;
	if (counter && !strcmp(name, w->name))
		w->value = *counter;
}

static inline uint64_t stat_of(const char *name)
{
	struct wanted w = { .value = UINT64_MAX };

	snprintf(w.name, sizeof(w.name), "dev.vfio_user.%s", name);
	bf_stats_each(r.sim, match, &w);
	return w.value;
}

static inline void receive(void)
{
	ck_assert_msg(rig_receive(&r, &m), "no answer; the server's last word: %s", r.log);
}

static inline void no_message(void)
{
	ck_assert(!rig_receive(&r, &m));
}

/* A command with its answer in `m`; returns the answer's error. */
static inline uint32_t ask_fds(uint32_t command, const void *payload, size_t len, const int *fds, uint32_t nfds)
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

static inline uint32_t ask(uint32_t command, const void *payload, size_t len)
{
	return ask_fds(command, payload, len, NULL, 0);
}

#define QEMU_TEXT                                                                                                      \
	"{\"capabilities\": {\"max_msg_fds\": 16, \"max_data_xfer_size\": 1048576, \"max_dma_maps\": 65535, "          \
	"\"pgsizes\": 4096, \"write_multiple\": true, \"migration\": {\"pgsize\": 4096, \"max_bitmap_size\": "         \
	"268435456}}}"

static inline uint32_t version(uint32_t major, uint32_t minor, const char *text, size_t len)
{
	uint8_t payload[2048];

	bf_put_le16(payload, (uint16_t)major);
	bf_put_le16(payload + 2, (uint16_t)minor);
	memcpy(payload + 4, text, len);
	return ask(BF_VFU_VERSION, payload, 4 + len);
}

static inline void begin(void)
{
	ck_assert_uint_eq(version(0, 0, QEMU_TEXT, sizeof(QEMU_TEXT)), 0);
}

static inline size_t frame_access(uint8_t *out, uint32_t command, uint32_t flags, uint32_t region, uint64_t offset,
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

static inline uint32_t region_read(uint32_t region, uint64_t offset, uint32_t count)
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

static inline uint64_t bar_value(uint64_t offset)
{
	ck_assert_uint_eq(region_read(0, offset, 8), 0);
	return bf_get_le64(m.payload + 16);
}

static inline uint32_t region_write(uint32_t region, uint64_t offset, const void *data, uint32_t count)
{
	uint8_t frame[16 + 16 + 4096];
	size_t len = frame_access(frame, BF_VFU_REGION_WRITE, 0, region, offset, count, data);

	rig_send_raw(&r, frame, len, NULL, 0);
	rig_pump(&r);
	receive();
	ck_assert_uint_eq(m.id, r.id);
	return m.flags & BF_VFU_ERROR ? m.error : 0;
}

static inline void post(uint32_t region, uint64_t offset, uint64_t value, uint32_t count)
{
	uint8_t frame[64];
	size_t len = frame_access(frame, BF_VFU_REGION_WRITE, BF_VFU_NO_REPLY, region, offset, count, &value);

	rig_send_raw(&r, frame, len, NULL, 0);
}

static inline void set_master(void)
{
	const uint16_t command = BF_PCI_COMMAND_MASTER;

	ck_assert_uint_eq(region_write(BF_VFU_REGION_CONFIG, BF_PCI_COMMAND, &command, 2), 0);
}

static inline int memory(uint64_t size)
{
	int fd = memfd_create("guest", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static inline uint32_t map(uint32_t flags, uint64_t offset, uint64_t iova, uint64_t size, int fd)
{
	uint8_t p[32];

	bf_put_le32(p, 32);
	bf_put_le32(p + 4, flags);
	bf_put_le64(p + 8, offset);
	bf_put_le64(p + 16, iova);
	bf_put_le64(p + 24, size);
	return ask_fds(BF_VFU_DMA_MAP, p, 32, &fd, fd >= 0);
}

static inline uint32_t unmap(uint32_t flags, uint64_t iova, uint64_t size)
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
static inline void start_dma(uint64_t what, uint64_t iova, uint32_t len)
{
	post(0, REG_IOVA, iova, 8);
	post(0, REG_LEN, len, 8);
	post(0, REG_GO, what, 8);
	rig_pump(&r);
}

static inline int64_t dma(uint64_t what, uint64_t iova, uint32_t len)
{
	start_dma(what, iova, len);
	return (int64_t)r.regs[REG_STATUS / 8];
}

static inline void set_vectors(const int *fds, uint32_t start, uint32_t count)
{
	uint8_t p[20];

	bf_put_le32(p, 20);
	bf_put_le32(p + 4, BF_VFU_SET_EVENTFD | BF_VFU_SET_TRIGGER);
	bf_put_le32(p + 8, 2);
	bf_put_le32(p + 12, start);
	bf_put_le32(p + 16, count);
	ck_assert_uint_eq(ask_fds(BF_VFU_SET_IRQS, p, 20, fds, fds ? count : 0), 0);
}

static inline uint64_t fired(int fd)
{
	uint64_t n = 0;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

/* The checked fixture of most tests, and how a program of them ends. */
static inline TCase *client_case(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return t;
}

static inline int client_run(Suite *s)
{
	SRunner *runner = srunner_create(s);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

#endif
