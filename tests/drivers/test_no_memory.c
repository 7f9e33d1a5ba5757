/*
 * Memory runs out at the n-th request, for every n: once, or from then on. Whatever was under way ends with a negative
 * errno and a text, or goes on without; nothing leaks (with AddressSanitizer) and nothing crashes. The linker sends the
 * library's calls here (--wrap in tests/CMakeLists.txt).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "rig.h"
#include "sim/fault.h"
#include "sim/iommufd.h"
#include "traces/import/capture.h"
#include "traces/import/ftrace.h"
#include "traces/replay/nvme.h"
#include "traces/replay/mlx5.h"
#include "traces/container/trace.h"

static struct {
	uint64_t requests;
	uint64_t fails_at; /* number of the request, from 1; 0: none */
	bool for_good;
} memory;

static bool refused(void)
{
	memory.requests++;
	if (!memory.fails_at || memory.requests < memory.fails_at)
		return false;
	errno = ENOMEM;
	return memory.for_good || memory.requests == memory.fails_at;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
char *__real_strdup(const char *text);
void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
char *__wrap_strdup(const char *text);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset);

void *__wrap_malloc(size_t size)
{
	return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return refused() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return refused() ? NULL : __real_aligned_alloc(align, size);
}

char *__wrap_strdup(const char *text)
{
	return refused() ? NULL : __real_strdup(text);
}

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return refused() ? MAP_FAILED : __real_mmap(at, len, prot, flags, fd, offset);
}

/* Something from its beginning to its end, all freed. Returns what the caller of the library gets to see. */
typedef int scenario(struct bf_error *err);

/* Runs `what` with each request of it refused; with every `stride`-th when there are many. */
static void starve(scenario *what, uint64_t stride)
{
	struct bf_error err = { 0 };
	uint64_t requests;

	memory.requests = memory.fails_at = 0;
	ck_assert_msg(what(&err) == 0, "%s", err.text);
	requests = memory.requests;
	ck_assert_uint_gt(requests, 0);
	for (uint64_t n = 1; n <= requests; n += stride) {
		for (int for_good = 0; for_good < 2; for_good++) {
			int rc;

			err = (struct bf_error){ 0 };
			memory.requests = 0;
			memory.fails_at = n;
			memory.for_good = for_good;
			rc = what(&err);
			memory.fails_at = 0; /* Check wants memory, too */
			ck_assert_msg(rc <= 0, "request %lu: %d", (unsigned long)n, rc);
			ck_assert_msg(!rc || (err.code == rc && *err.text), "request %lu: %d without a text",
				      (unsigned long)n, rc);
		}
	}
}

#define NOTE_FIELDS (u64, value, DEC)
BF_RECORD_DECLARE(note, 901, BF_CLASS_META, NOTE_FIELDS);
BF_RECORD_DEFINE(note, NOTE_FIELDS);

/* Two actors, a record that is longer than the stream's buffer among small ones. */
static int write_trace(const struct bf_trace_options *options, FILE *file, struct bf_error *err)
{
	static uint8_t tail[20000];
	struct bf_stream st = { 0 };
	struct bf_trace_writer *w;
	uint64_t clock = 0;
	int rc = bf_trace_writer_open("trace", file, options, &w, err), recorded, written;

	if (rc)
		return rc;
	rc = bf_trace_meta(w, "seed", "7");
	if (!rc)
		rc = bf_stream_open(&st, &clock, BF_CLASS_ALL, bf_trace_sink(w));
	for (uint32_t i = 0; !rc && i < 40; i++) {
		struct bf_rec_note r = { .value = i };

		bf_record(&st, &bf_rec_note_schema, bf_stream_actor(&st, "kind", i % 2 ? "a" : "b"), &r, tail,
			  i % 8 ? i : sizeof(tail));
	}
	recorded = bf_stream_close(&st);
	bf_stream_fini(&st);
	written = bf_trace_writer_close(w);
	if (written)
		return written;
	rc = rc ? rc : recorded;
	return rc ? bf_fail(err, rc, "the stream, which has no texts, failed") : 0;
}

static int read_trace(const char *bytes, size_t len, struct bf_error *err)
{
	struct bf_trace_record rec;
	struct bf_trace *t;
	int rc = bf_trace_open_memory(bytes, len, &t, err);

	if (rc)
		return rc;
	while ((rc = bf_trace_next(t, &rec)) == 1)
		;
	if (!rc)
		rc = bf_trace_seek_time(t, 0);
	bf_trace_close(t);
	return rc;
}

static const struct bf_trace_options small_chunks = { .chunk_bytes = 4096 };
static const struct bf_trace_options jsonl = { .jsonl = true };

static int through_trace(const struct bf_trace_options *options, struct bf_error *err)
{
	char *bytes;
	size_t len;
	FILE *file = open_memstream(&bytes, &len);
	int rc = write_trace(options, file, err);

	fclose(file);
	if (!rc)
		rc = read_trace(bytes, len, err);
	free(bytes);
	return rc;
}

static int through_binary(struct bf_error *err)
{
	return through_trace(&small_chunks, err);
}

static int through_jsonl(struct bf_error *err)
{
	int rc = through_trace(&jsonl, err);

	return rc == -ENOTSUP ? 0 : rc;
}

START_TEST(test_traces)
{
	starve(through_binary, 1);
	starve(through_jsonl, 1);
}
END_TEST

static int parse_plan(struct bf_error *err)
{
	struct bf_fault_plan *plan;
	int rc = bf_fault_plan_parse("drop;drop;drop;drop;drop;drop;drop;drop;delay delay=1us", 1, err, &plan);

	if (!rc)
		bf_fault_plan_destroy(plan);
	return rc;
}

START_TEST(test_fault_plan)
{
	starve(parse_plan, 1);
}
END_TEST

static int replay_capture(struct bf_error *err)
{
	const struct bf_replay_opts opts = { .seed = 1, .record_mask = BF_CLASS_ALL };
	struct bf_replay_result *result;
	struct bf_capture *c;
	int rc = bf_capture_load(BELFRY_SOURCE_DIR "/traces/samples/rc_pingpong.client.jsonl", &c, err);

	if (!rc)
		rc = bf_replay_run(c, &opts, &result, err);
	if (!rc)
		bf_replay_free(result);
	bf_capture_free(c);
	return rc;
}

START_TEST(test_replay)
{
	starve(replay_capture, 1);
}
END_TEST

/* A machine from nothing to the end of a run of two warps, with weak memory and records. */
static int run_world(struct bf_error *err)
{
	const struct bf_backend *be = bf_backend_find("sim");
	const struct bf_world_opts opts = { .seed = 1,
					    .npes = 2,
					    .limit_ps = BF_MS,
					    .ordering = BF_ORDER_GPU,
					    .faults = "drop skip=1",
					    .record_mask = BF_CLASS_ALL };
	struct bf_ibgda_shape shape = bf_ibgda_shape_default;
	struct bf_ibgda_host_opts host = { .qp_depth = 16 };
	struct bf_ibgda_job job[2];
	struct bf_ibgda_host *h;
	struct bf_ibgda_layout at;
	struct bf_world *w;
	struct bf_world_result result;
	int rc = be->open(&opts, err, &w);

	if (rc)
		return rc;
	h = NULL;
	shape.messages = 4;
	rc = bf_ibgda_shape_check(&shape, BF_IBGDA_PUT, 2, host.flavour, 2, host.qp_depth, err);
	bf_ibgda_layout(&shape, 2, &at);
	host.heap_bytes = at.end;
	if (!rc)
		rc = bf_ibgda_host_open(be, w, 2, &host, err, &h);
	for (uint32_t i = 0; !rc && i < 2; i++) {
		job[i] = (struct bf_ibgda_job){ .state = bf_ibgda_host_state(h, i), .shape = shape };
		rc = be->launch(w, i, 1, 1, bf_ibgda_kernels(be->platform)->run[BF_IBGDA_PUT], &job[i]);
	}
	if (!rc)
		rc = be->run(w, &result);
	bf_ibgda_host_close(h);
	be->close(w);
	return rc;
}

START_TEST(test_world)
{
	starve(run_world, 1);
}
END_TEST

/* Areas enough that the copy's table grows in the middle of it; a copy that fails leaves nothing behind. */
static int copy_areas(struct bf_sim *sim, struct bf_iommufd *fd, struct bf_region *ram)
{
	const uint32_t flags = BF_IOMMUFD_READABLE | BF_IOMMUFD_FIXED_IOVA;
	uint32_t from, to;
	uint64_t iova, unmapped;
	int rc = bf_iommufd_ioas_alloc(fd, &from);

	rc = rc ? rc : bf_iommufd_ioas_alloc(fd, &to);
	for (uint64_t i = 0; !rc && i < 40; i++) {
		iova = i * BF_PAGE;
		rc = bf_iommufd_map(fd, from, flags, ram->va + (i % 2) * BF_PAGE, BF_PAGE, &iova);
	}
	if (rc)
		return rc;
	iova = 0;
	rc = bf_iommufd_copy(fd, to, from, flags, 40 * BF_PAGE, 0, &iova);
	if (rc && bf_iommufd_unmap(fd, to, 0, 40 * BF_PAGE, &unmapped) != -ENOENT)
		return 1;
	return rc ? bf_fail(&sim->error, rc, "the copy failed") : 0;
}

static int copy_ioas(struct bf_error *err)
{
	const struct bf_region_opts opts = { .name = "ram", .size = 2 * BF_PAGE };
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_region *ram;
	struct bf_iommufd *fd;
	int rc = bf_sim_create(1, &sim);

	if (rc)
		return bf_fail(err, rc, "no simulation");
	rc = bf_space_init(&space, sim, "host", 0);
	if (!rc) {
		rc = bf_region_create(&space, &opts, &ram);
		rc = rc ? rc : bf_iommufd_open(sim, &space, &fd);
		if (!rc) {
			rc = copy_areas(sim, fd, ram);
			bf_iommufd_close(fd);
		}
		bf_space_fini(&space);
	}
	if (rc < 0)
		bf_fail(err, rc, "%s", sim->error.text);
	bf_sim_destroy(sim);
	return rc;
}

START_TEST(test_iommufd_copy)
{
	starve(copy_ioas, 1);
}
END_TEST

/* An NVMe controller with a host that brings it up, makes queues and reads. */
static int replay_nvme(struct bf_error *err)
{
	static const char text[] =
	    "a-1 [0] 1.0: nvme_setup_cmd: nvme0: qid=0, cmdid=1, nsid=0, flags=0x0, meta=0x0, "
	    "cmd=(nvme_admin_identify cns=1, ctrlid=0)\n"
	    "a-1 [0] 1.1: nvme_complete_rq: nvme0: qid=0, cmdid=1, res=0x0, retries=0, flags=0x0, status=0x0\n"
	    "a-1 [0] 1.2: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=2, nsid=1, flags=0x0, meta=0x0, "
	    "cmd=(nvme_cmd_read slba=0, len=255, ctrl=0x0, dsmgmt=0, reftag=0)\n"
	    "a-1 [0] 1.3: nvme_complete_rq: nvme0: disk=nvme0n1, qid=1, cmdid=2, res=0x0, retries=0, flags=0x0, "
	    "status=0x0\n";
	const struct bf_nvme_replay_opts opts = { .seed = 1, .record_mask = BF_CLASS_ALL };
	struct bf_nvme_replay_result *result;
	struct bf_ftrace *t;
	int rc = bf_ftrace_parse(text, sizeof(text) - 1, &t, err);

	if (rc)
		return rc;
	rc = bf_nvme_replay_run(t, &opts, &result, err);
	if (!rc)
		bf_nvme_replay_free(result);
	bf_ftrace_free(t);
	return rc;
}

START_TEST(test_nvme)
{
	starve(replay_nvme, 1);
}
END_TEST

RIG_MAIN("no memory", test_traces, test_fault_plan, test_replay, test_world, test_iommufd_copy, test_nvme)
