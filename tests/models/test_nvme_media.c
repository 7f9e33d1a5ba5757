/*
 * Media: the figures of the data sheet in virtual time, files that keep their bytes (in virtual time and live), and the
 * error map.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/nvme/media.h"
#include "sim/live.h"
#include "tests/models/nvme_host.h"

#define DNR 0x4000u

/*
 * Figures: a host keeps `depth` commands in flight on each of `queues` queues, polls every 200 ns, and counts. ------
 */
struct load {
	const char *name;
	uint8_t opcode;
	bool sequential;
	uint32_t queues, depth, bytes;
	uint64_t commands;
	double want; /* a second: commands, or MB when sequential */
};

/*
 * Samsung 970 PRO 1 TB, data sheet revision 1.0 (2018): random 4 KiB reads and writes a second at depth 1 with one
 * thread and depth 32 with four, sequential MB/s.
 */
static const struct load loads[] = {
	{ "random read, depth 1", BF_NVME_IO_READ, false, 1, 1, 4096, 2000, 15000 },
	{ "random write, depth 1", BF_NVME_IO_WRITE, false, 1, 1, 4096, 2000, 55000 },
	{ "random read, depth 32 x 4", BF_NVME_IO_READ, false, 4, 32, 4096, 20000, 500000 },
	{ "random write, depth 32 x 4", BF_NVME_IO_WRITE, false, 4, 32, 4096, 20000, 500000 },
	{ "sequential read, 128 KiB", BF_NVME_IO_READ, true, 1, 32, 131072, 4000, 3500 },
	{ "sequential write, 128 KiB", BF_NVME_IO_WRITE, true, 1, 32, 131072, 12000, 2700 },
};

#define LOAD_BYTES (256u << 20)

struct run {
	struct host h;
	const struct load *load;
	struct host_queue q[4];
	uint32_t inflight[4];
	struct bf_event poll;
	struct bf_rng rng;
	uint64_t data, list, posted, done, start_ps, middle_ps, end_ps;
};

static void post(struct run *r, uint32_t i)
{
	const struct load *l = r->load;
	struct host_queue *q = &r->q[i];
	uint32_t before = q->tail, blocks = l->bytes / 512;

	while (r->inflight[i] < l->depth && r->posted < l->commands) {
		uint64_t at = l->sequential ? r->posted : bf_rng_below(&r->rng, LOAD_BYTES / l->bytes);

		host_rw(&r->h, q, l->opcode, 1, at % (LOAD_BYTES / l->bytes) * blocks, blocks, r->data,
			l->bytes > 4096 ? r->list : 0);
		r->inflight[i]++;
		r->posted++;
	}
	if (q->tail != before)
		host_ring(&r->h, q);
}

static void on_poll(struct bf_event *ev)
{
	struct run *r = BF_CONTAINER_OF(ev, struct run, poll);
	struct bf_nvme_cqe c;

	for (uint32_t i = 0; i < r->load->queues; i++) {
		while (host_poll(&r->h, &r->q[i], &c)) {
			HOST_MUST(!host_status(&c));
			r->inflight[i]--;
			if (++r->done == r->load->commands / 2)
				r->middle_ps = r->h.sim->now_ps;
		}
		post(r, i);
	}
	if (r->done < r->load->commands)
		bf_sim_after(r->h.sim, ev, 200 * BF_NS);
	else
		r->end_ps = r->h.sim->now_ps;
}

/* Commands a second, or MB; of the second half, when the write cache has settled. */
static double measure(const struct load *l)
{
	const struct bf_nvme_ns_opts ns = { .bytes = LOAD_BYTES };
	struct host_opts o = { .seed = 1, .nvme = { .profile = &bf_nvme_970pro, .ns = &ns, .nns = 1 } };
	struct run r = { .load = l };
	uint8_t *data, *list;
	double seconds;

	host_open(&r.h, &o);
	for (uint32_t i = 0; i < l->queues; i++)
		host_queue_open(&r.h, &r.q[i], (uint16_t)(i + 1), 64);
	data = host_alloc(&r.h, 131072, 4096);
	list = host_alloc(&r.h, 4096, 4096);
	r.data = host_va(&r.h, data);
	r.list = host_prp2(&r.h, r.data, 131072, 4096, list);
	bf_rng_init(&r.rng, 1, "load");
	bf_event_init(&r.poll, on_poll);
	bf_sim_at(r.h.sim, &r.poll, r.h.sim->now_ps);
	host_run(&r.h);
	seconds = (double)(r.end_ps - r.middle_ps) * 1e-12;
	host_close(&r.h);
	return (double)(l->commands - l->commands / 2) / seconds * (l->sequential ? l->bytes / 1e6 : 1);
}

START_TEST(data_sheet)
{
	const struct load *l = &loads[_i];
	double got = measure(l), error = (got / l->want - 1) * 100;

	printf("%-28s %9.0f, data sheet %7.0f %s: %+.1f %%\n", l->name, got, l->want, l->sequential ? "MB/s" : "1/s",
	       error);
	fflush(stdout);
	ck_assert(error > -10 && error < 10);
}
END_TEST

/* One command's time from doorbell to idle. */
static uint64_t time_of(struct host *h, struct host_queue *q)
{
	uint64_t start = h->sim->now_ps;

	ck_assert_uint_eq(host_do(h, q, NULL), 0);
	return h->sim->now_ps - start;
}

/* A cached write is fast, FUA and Flush wait for the program; an instant profile takes no time. */
START_TEST(write_cache)
{
	const struct bf_nvme_profile *p = &bf_nvme_970pro;
	struct host_opts o = { .nvme = { .profile = p } };
	struct bf_nvme_sqe *e;
	struct host_queue q;
	struct host h;
	uint64_t va;

	host_open(&h, &o);
	host_queue_open(&h, &q, 1, 16);
	va = host_va(&h, host_alloc(&h, 4096, 4096));
	host_rw(&h, &q, BF_NVME_IO_FLUSH, 1, 0, 1, 0, 0);
	ck_assert_uint_lt(time_of(&h, &q), 10 * BF_US); /* nothing to do */
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, va, 0);
	ck_assert_uint_lt(time_of(&h, &q), 30 * BF_US);
	host_rw(&h, &q, BF_NVME_IO_FLUSH, 1, 0, 1, 0, 0);
	ck_assert_uint_gt(time_of(&h, &q), p->program_ps);
	e = host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, va, 0);
	bf_put_le32(e->cdw12.b, 7 | 1u << 30);
	ck_assert_uint_gt(time_of(&h, &q), p->program_ps);
	/* Without the cache (feature 06h) each write is one with FUA. */
	e = host_slot(&h, &h.admin, BF_NVME_ADM_SET_FEATURES, 0);
	bf_put_le32(e->cdw10.b, 6);
	ck_assert_uint_eq(host_do(&h, &h.admin, NULL), 0);
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, va, 0);
	ck_assert_uint_gt(time_of(&h, &q), p->program_ps);
	host_close(&h);
}
END_TEST

/* A read that begins where the last one ended has been read ahead, by a drive that does so; any other has not. */
START_TEST(read_ahead)
{
	static const uint32_t block[] = { 64, 65, 66, 70, 65, 66 };
	static const bool ahead[] = { false, true, true, false, false, true };
	struct bf_nvme_profile p = bf_nvme_970pro;
	struct host_opts o = { .nvme = { .profile = &p } };
	struct host_queue q;
	struct host h;
	uint64_t va;

	p.ahead_ps = _i ? 5 * BF_US : 0;
	host_open(&h, &o);
	host_queue_open(&h, &q, 1, 16);
	va = host_va(&h, host_alloc(&h, 4096, 4096));
	for (size_t i = 0; i < BF_ARRAY_LEN(block); i++) {
		uint64_t took;

		host_rw(&h, &q, BF_NVME_IO_READ, 1, block[i], 1, va, 0);
		took = time_of(&h, &q);
		if (_i && ahead[i])
			ck_assert_uint_lt(took, 20 * BF_US);
		else
			ck_assert_uint_gt(took, p.read_ps);
	}
	host_close(&h);
}
END_TEST

/* Memory is used where it is written, whatever the capacity. */
START_TEST(sparse)
{
	const struct bf_nvme_ns_opts ns = { .bytes = 1ull << 40, .lba = BF_NVME_LBA_4096 };
	struct host_opts o = { .nvme = { .profile = &bf_nvme_instant, .ns = &ns, .nns = 1 } };
	struct host_queue q;
	struct host h;
	uint8_t *p;

	host_open(&h, &o);
	host_queue_open(&h, &q, 1, 16);
	p = host_alloc(&h, 8192, 4096);
	for (uint64_t lba = 3; lba < 1ull << 28; lba = lba * 3 + 1) {
		memset(p, (int)(lba & 0x7f) + 1, 4096);
		host_rw(&h, &q, BF_NVME_IO_WRITE, 1, lba, 1, host_va(&h, p), 0);
		ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	}
	for (uint64_t lba = 3; lba < 1ull << 28; lba = lba * 3 + 1) {
		host_rw(&h, &q, BF_NVME_IO_READ, 1, lba, 1, host_va(&h, p), 0);
		ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
		host_rw(&h, &q, BF_NVME_IO_READ, 1, lba + 1, 1, host_va(&h, p) + 4096, 0);
		ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
		for (uint32_t i = 0; i < 4096; i++)
			ck_assert(p[i] == (lba & 0x7f) + 1 && !p[4096 + i]);
	}
	host_close(&h);
}
END_TEST

/* Files. ----------------------------------------------------------------------------------------------------------- */

struct file_rig {
	char path[64];
	struct host h;
	struct host_queue q;
	uint8_t *p, *list;
};

static void make_path(struct file_rig *r)
{
	int fd;

	snprintf(r->path, sizeof(r->path), "/tmp/belfry-media-XXXXXX");
	fd = mkstemp(r->path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void file_open(struct file_rig *r, uint64_t bytes, enum bf_nvme_lba lba, struct bf_live *live)
{
	const struct bf_nvme_ns_opts ns = { .bytes = bytes, .lba = lba, .file = r->path };
	struct host_opts o = { .nvme = { .profile = &bf_nvme_instant, .ns = &ns, .nns = 1, .live = live } };

	host_open(&r->h, &o);
	host_queue_open(&r->h, &r->q, 1, 64);
	r->p = host_alloc(&r->h, 1u << 20, 4096);
	r->list = host_alloc(&r->h, 65536, 4096);
}

static uint32_t file_io(struct file_rig *r, uint8_t opcode, uint64_t slba, uint32_t blocks)
{
	uint64_t va = host_va(&r->h, r->p);

	host_rw(&r->h, &r->q, opcode, 1, slba, blocks, va, host_prp2(&r->h, va, blocks * 512ull, 4096, r->list));
	return host_do(&r->h, &r->q, NULL);
}

static void fill(uint8_t *p, size_t len, uint32_t salt)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 31 + (i >> 9) * 7 + salt);
}

START_TEST(file_survives)
{
	uint8_t bytes[8192], want[8192];
	struct file_rig r;
	struct stat st;
	int fd;

	make_path(&r);
	file_open(&r, 1u << 20, BF_NVME_LBA_512, NULL);
	fill(r.p, 100 * 512, 1);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_WRITE, 7, 100), 0);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_COMPARE, 7, 100), 0);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_COMPARE, 8, 100), BF_NVME_SC_COMPARE | DNR);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_VERIFY, 0, 2048), 0);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_FLUSH, 0, 1), 0);
	host_close(&r.h);
	/* The bytes lie in the file at their places. */
	fd = open(r.path, O_RDONLY);
	ck_assert(!fstat(fd, &st) && st.st_size == 1 << 20);
	fill(want, sizeof(want), 1);
	ck_assert_int_eq(pread(fd, bytes, sizeof(bytes), 7 * 512), sizeof(bytes));
	ck_assert(!memcmp(bytes, want, sizeof(want)));
	close(fd);
	/* The next controller finds them; capacity is the file's. */
	file_open(&r, 0, BF_NVME_LBA_512, NULL);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_READ, 2047, 1), 0);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_READ, 2048, 1), BF_NVME_SC_LBA_RANGE | DNR);
	memset(r.p, 0xee, 51200);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_READ, 7, 100), 0);
	ck_assert(!memcmp(r.p, want, sizeof(want)));
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_WRITE_ZEROES, 8, 1), 0);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_READ, 7, 3), 0);
	memset(want + 512, 0, 512);
	ck_assert(!memcmp(r.p, want, 3 * 512));
	/* Another controller may not have it at the same time. */
	{
		const struct bf_nvme_ns_opts ns = { .file = r.path };
		struct host_opts o = { .nvme = { .ns = &ns, .nns = 1 } };
		struct host other;

		ck_assert_int_eq(host_try_open(&other, &o), -EBUSY);
		ck_assert(strstr(other.sim->error.text, "in use"));
		host_close(&other);
	}
	host_close(&r.h);
	unlink(r.path);
}
END_TEST

START_TEST(file_refused)
{
	static const struct {
		uint64_t size, bytes;
		enum bf_nvme_lba lba;
		const char *why;
	} cases[] = {
		{ 0, 0, BF_NVME_LBA_512, "is empty" },
		{ 1000, 0, BF_NVME_LBA_512, "not a multiple of the block size 512" },
		{ 4608, 0, BF_NVME_LBA_4096, "not a multiple of the block size 4096" },
		{ 4096, 8192, BF_NVME_LBA_512, "too short" },
		{ 8192, 1000, BF_NVME_LBA_512, "multiple of 4096" },
	};
	struct file_rig r;

	make_path(&r);
	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		const struct bf_nvme_ns_opts ns = { .file = r.path, .bytes = cases[i].bytes, .lba = cases[i].lba };
		struct host_opts o = { .nvme = { .ns = &ns, .nns = 1 } };

		ck_assert(!truncate(r.path, (off_t)cases[i].size));
		ck_assert_int_eq(host_try_open(&r.h, &o), -EINVAL);
		ck_assert_msg(strstr(r.h.sim->error.text, cases[i].why) != NULL, "%s", r.h.sim->error.text);
		host_close(&r.h);
	}
	unlink(r.path);
	{
		const struct bf_nvme_ns_opts ns = { .file = r.path }, dir = { .file = "/tmp" };
		struct host_opts o = { .nvme = { .ns = &ns, .nns = 1 } };

		ck_assert_int_eq(host_try_open(&r.h, &o), -ENOENT);
		host_close(&r.h);
		o.nvme.ns = &dir;
		ck_assert_int_lt(host_try_open(&r.h, &o), 0);
		host_close(&r.h);
	}
}
END_TEST

/* What goes wrong with the file is the media's failure. */
START_TEST(file_fails)
{
	struct file_rig r;

	make_path(&r);
	file_open(&r, 1u << 20, BF_NVME_LBA_512, NULL);
	ck_assert(!truncate(r.path, 4096));
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_READ, 0, 8), 0);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_READ, 0, 9), BF_NVME_SC_UNRECOVERED_READ);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_VERIFY, 0, 9), BF_NVME_SC_UNRECOVERED_READ);
	ck_assert_uint_eq(file_io(&r, BF_NVME_IO_COMPARE, 8, 1), BF_NVME_SC_UNRECOVERED_READ);
	host_close(&r.h);
	unlink(r.path);
}
END_TEST

/* Live: operations in the thread pool. A poller of the loop is the driver. */
struct live_rig {
	struct file_rig f;
	struct bf_live *live;
	struct bf_rng rng;
	uint8_t want[64][4096];
	uint32_t posted, done, rounds;
};

static void live_post(struct live_rig *l)
{
	struct file_rig *f = &l->f;
	bool write = l->rounds % 2 == 0;

	for (uint32_t i = 0; i < 32; i++) {
		uint8_t *p = f->p + i * 4096u;

		if (write) {
			fill(l->want[i], 4096, (uint32_t)bf_rng_next(&l->rng));
			memcpy(p, l->want[i], 4096);
		} else {
			memset(p, 0, 4096);
		}
		host_rw(&f->h, &f->q, write ? BF_NVME_IO_WRITE : BF_NVME_IO_READ, 1, i * 8u, 8, host_va(&f->h, p), 0);
	}
	host_ring(&f->h, &f->q);
	l->posted = 32;
	l->done = 0;
}

static int live_poll(void *arg)
{
	struct live_rig *l = arg;
	struct bf_nvme_cqe c;
	int worked = 0;

	while (host_poll(&l->f.h, &l->f.q, &c)) {
		HOST_MUST(!host_status(&c));
		l->done++;
		worked = 1;
	}
	if (l->done < l->posted)
		return worked;
	for (uint32_t i = 0; i < 32 && l->posted && l->rounds % 2; i++)
		HOST_MUST(!memcmp(l->f.p + i * 4096u, l->want[i], 4096));
	if (l->posted)
		l->rounds++;
	if (l->rounds == 20)
		bf_live_stop(l->live);
	else
		live_post(l);
	return 1;
}

START_TEST(file_live)
{
	static struct live_rig l;
	struct bf_nvme_ns_opts ns = { .bytes = 1u << 20, .file = l.f.path };
	struct host_opts o = { .nvme = { .profile = &bf_nvme_instant, .ns = &ns, .nns = 1 } };
	struct bf_nvme_opts nvme;

	make_path(&l.f);
	/* The loop needs the simulation that the controller needs the loop for: the controller comes again. */
	ck_assert(!host_try_open(&l.f.h, &o));
	bf_nvme_destroy(l.f.h.dev);
	l.f.h.dev = NULL;
	if (bf_live_create(l.f.h.sim, &l.live) == -ENOTSUP) {
		host_close(&l.f.h);
		unlink(l.f.path);
		return;
	}
	nvme = o.nvme;
	nvme.name = "ssd0";
	nvme.space = &l.f.h.space;
	nvme.ioas = &l.f.h.ioas;
	nvme.live = l.live;
	ck_assert(!bf_nvme_create(l.f.h.sim, &nvme, &l.f.h.dev));
	host_queue_memory(&l.f.h, &l.f.h.admin, 0, 16);
	host_enable(&l.f.h, 0);
	host_queue_open(&l.f.h, &l.f.q, 1, 64);
	l.f.p = host_alloc(&l.f.h, 64 * 4096, 4096);
	bf_rng_init(&l.rng, 1, "live");
	ck_assert(!bf_live_add_poller(l.live, live_poll, &l));
	ck_assert(!bf_live_run(l.live, 100));
	ck_assert_uint_eq(l.rounds, 20);
	/* The device goes while operations are under way. */
	live_post(&l);
	bf_sim_run(l.f.h.sim, l.f.h.sim->now_ps + BF_US);
	bf_nvme_destroy(l.f.h.dev);
	l.f.h.dev = NULL;
	bf_live_destroy(l.live);
	host_close(&l.f.h);
	unlink(l.f.path);
}
END_TEST

/* The error map. --------------------------------------------------------------------------------------------------- */

START_TEST(map_text)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "read-eror 5", "line 1, column 1" },
		{ "read-error", "line 1, column 11" },
		{ "read-error 5\n  write-error 9-3", "line 2, column 15" },
		{ "read-error 5 count=0", "line 1, column 21" },
		{ "read-error 5 count", "line 1, column 14" },
		{ "read-error 5 ns=0", "line 1, column 18" },
		{ "slow=5 7", "line 1, column 7" },
		{ "slow=5xs 7", "line 1, column 7" },
		{ "slow=99999999999s 7", "out of range" },
		{ "read-error 5x", "line 1, column 13" },
		{ "read-error 5-", "line 1, column 14" },
		{ "read-error 99999999999999999999", "line 1, column 12" },
	};
	struct bf_nvme_error_map *map;
	struct bf_error err;
	uint64_t lba = 0, delay = 0;

	for (size_t i = 0; i < BF_ARRAY_LEN(bad); i++) {
		ck_assert_int_eq(bf_nvme_error_map_parse(bad[i].text, &err, &map), -EINVAL);
		ck_assert(!map);
		ck_assert_msg(strstr(err.text, bad[i].why) != NULL, "'%s': %s", bad[i].text, err.text);
	}
	ck_assert(!bf_nvme_error_map_parse(NULL, &err, &map));
	ck_assert(bf_nvme_error_map_empty(map));
	bf_nvme_error_map_destroy(map);
	ck_assert(!bf_nvme_error_map_parse("# nothing\n ; read-error 10-0x14 count=2; slow=20us 12 ns=2 # x\n"
					   "write-error 18446744073709551615",
					   &err, &map));
	ck_assert_uint_eq(bf_nvme_error_map_check(map, 1, 0, 10, false, &lba, &delay), 0);
	ck_assert_uint_eq(bf_nvme_error_map_check(map, 1, 21, 10, false, &lba, &delay), 0);
	ck_assert_uint_eq(bf_nvme_error_map_check(map, 1, 0, 64, true, &lba, &delay), 0);
	ck_assert_uint_eq(bf_nvme_error_map_check(map, 1, 5, 16, false, &lba, &delay), BF_NVME_SC_UNRECOVERED_READ);
	ck_assert(lba == 10 && !delay);
	ck_assert_uint_eq(bf_nvme_error_map_check(map, 2, 12, 1, false, &lba, &delay), BF_NVME_SC_UNRECOVERED_READ);
	ck_assert(lba == 12 && delay == 20 * BF_US);
	ck_assert_uint_eq(bf_nvme_error_map_check(map, 2, 12, 1, false, &lba, &delay), 0);
	ck_assert(delay == 40 * BF_US);
	ck_assert_uint_eq(bf_nvme_error_map_check(map, 1, UINT64_MAX, 1, true, &lba, &delay), BF_NVME_SC_WRITE_FAULT);
	bf_nvme_error_map_destroy(map);
}
END_TEST

START_TEST(map_in_use)
{
	struct host_opts o = { .nvme = { .profile = &bf_nvme_instant,
					 .media_errors =
					     "read-error 100-101\nwrite-error 200 count=1\nslow=1ms 300" } };
	struct bf_nvme_cqe c;
	struct host_queue q;
	struct host h;
	uint64_t va, start;

	host_open(&h, &o);
	host_queue_open(&h, &q, 1, 16);
	va = host_va(&h, host_alloc(&h, 4096, 4096));
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 96, 8, va, 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 96, 8, va, 0);
	ck_assert_uint_eq(host_do(&h, &q, &c), BF_NVME_SC_UNRECOVERED_READ);
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 96, 4, va, 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 200, 1, va, 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), BF_NVME_SC_WRITE_FAULT);
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 200, 1, va, 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	start = h.sim->now_ps;
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 300, 1, va, 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	ck_assert_uint_eq(h.sim->now_ps - start, BF_MS);
	host_close(&h);
	o.nvme.media_errors = "read-error x";
	ck_assert_int_eq(host_try_open(&h, &o), -EINVAL);
	ck_assert(strstr(h.sim->error.text, "line 1, column 12"));
	host_close(&h);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme_media");
	TCase *tc = tcase_create("media");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, data_sheet, 0, BF_ARRAY_LEN(loads));
	tcase_add_test(tc, write_cache);
	tcase_add_loop_test(tc, read_ahead, 0, 2);
	tcase_add_test(tc, sparse);
	tcase_add_test(tc, file_survives);
	tcase_add_test(tc, file_refused);
	tcase_add_test(tc, file_fails);
	tcase_add_test(tc, file_live);
	tcase_add_test(tc, map_text);
	tcase_add_test(tc, map_in_use);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
