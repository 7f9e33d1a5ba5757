/*
 * GPU threads with a queue pair each: what a command and a thread cost as there are more of them. Each thread writes
 * blocks of 4 KiB and reads them back with one command in flight, by the driver's own code.
 *
 * The limit is what the first row costs: twice the threads or commands should take twice the time. Memory is what the
 * process has grown by, without the threads' data and the medium; 8 KiB of it for each thread are the pages of its two
 * rings.
 *
 * bench_nvme_threads [commands of each thread]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drivers/backend/nvme_world.h"
#include "drivers/nvme/host.h"
#include "models/nvme/nvme.h"
#include "tests/bench/limit.h"
#include "tests/bench/must.h"

#define BLOCK 4096u

struct row {
	double seconds;
	uint64_t commands, resident;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t resident(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	MUST(f && fscanf(f, "%*u %llu", &pages) == 1);
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct rig {
	const struct bf_backend *be;
	struct bf_world *world;
	struct bf_nvme_drv_host *host;
	struct bf_nvme_drv_job job;
};

static struct bf_nvme_drv_room room(struct rig *r, uint64_t bytes)
{
	struct bf_nvme_drv_room out;

	MUST(!bf_nvme_drv_host_room(r->host, BF_PLACE_HOST, bytes, "bench", &out));
	return out;
}

static void rig_open(struct rig *r, enum bf_ordering ordering, uint32_t threads, uint32_t commands)
{
	struct bf_nvme_profile profile = bf_nvme_970pro;
	const struct bf_nvme_ns_opts ns = { .bytes = (uint64_t)threads * commands * BLOCK, .lba = BF_NVME_LBA_4096 };
	const struct bf_nvme_world_opts nvme = { .profile = &profile, .ns = &ns };
	const struct bf_world_opts opts = { .seed = 1,
					    .ordering = ordering,
					    .devices = BF_DEVICE_NVME,
					    .device_opts[BF_DEVICE_AT_NVME] = &nvme,
					    .npes = 1,
					    .limit_ps = BF_NEVER,
					    .system_scope = true };
	const struct bf_nvme_drv_host_opts host = { .nqps = threads, .entries = 2, .timeout_ns = 1000000000u };
	struct bf_error err = { 0 };

	profile.max_io_queues = threads + 1;
	*r = (struct rig){ .be = bf_backend_find("sim") };
	MUST(r->be && !r->be->open(&opts, &err, &r->world));
	MUST(!bf_nvme_drv_host_open(r->be, r->world, 0, &host, &err, &r->host));
	r->job.ctrl = bf_nvme_drv_host_ctrl(r->host);
	r->job.qps = bf_nvme_drv_host_qps(r->host);
	r->job.work = BF_NVME_DRV_VERIFY;
	r->job.slots = r->job.requests = 1;
	r->job.shape = (struct bf_nvme_drv_shape){ .threads = threads,
						   .lanes = threads < 32 ? threads : 32,
						   .share = 1,
						   .depth = 1,
						   .batch = 1,
						   .commands = commands,
						   .span = commands,
						   .bytes = BLOCK,
						   .check = 1,
						   .seed = 1 };
	r->job.data_stride = bf_nvme_drv_data_stride(&r->job.shape, r->job.ctrl->page);
	r->job.list_stride = bf_nvme_drv_list_stride(&r->job.shape, r->job.ctrl->page);
	r->job.data = room(r, threads * (uint64_t)r->job.data_stride);
	r->job.lists = room(r, (uint64_t)threads * (r->job.list_stride ? r->job.list_stride : 8));
	r->job.request = (void *)room(r, threads * sizeof(*r->job.request)).vaddr;
	r->job.result = (void *)room(r, threads * sizeof(*r->job.result)).vaddr;
	r->job.version = (void *)room(r, (uint64_t)threads * commands * sizeof(uint32_t)).vaddr;
}

static struct row measure(enum bf_ordering ordering, uint32_t threads, uint32_t commands)
{
	const uint32_t warps = (threads + 31) / 32, each = warps < 4 ? warps : 4;
	const uint64_t before = resident();
	struct bf_world_result result;
	struct row row = { 0 };
	struct rig r;

	rig_open(&r, ordering, threads, commands);
	MUST(!r.be->launch(r.world, 0, (warps + each - 1) / each, each,
			   bf_nvme_drv_kernels(r.be->platform)->run[BF_NVME_DRV_VERIFY], &r.job));
	row.seconds = now_s();
	MUST(!r.be->run(r.world, &result) && result.end == BF_END_DONE);
	row.seconds = now_s() - row.seconds;
	/* What the threads had is free again, and still the process's. */
	row.resident = resident() - before - threads * (uint64_t)BLOCK * (1 + commands);
	for (uint32_t t = 0; t < threads; t++) {
		MUST(r.job.result[t].ended && !r.job.result[t].failure && !r.job.result[t].mismatches);
		row.commands += r.job.result[t].completed;
	}
	MUST(!bf_nvme_drv_host_close(r.host));
	r.be->close(r.world);
	return row;
}

/* In a process of its own, so that memory that an earlier row left behind does not count. */
static struct row measure_apart(enum bf_ordering ordering, uint32_t threads, uint32_t commands)
{
	struct row row;
	int fds[2], status;
	pid_t pid;

	MUST(!pipe(fds));
	pid = fork();
	MUST(pid >= 0);
	if (!pid) {
		row = measure(ordering, threads, commands);
		MUST(write(fds[1], &row, sizeof(row)) == (ssize_t)sizeof(row));
		_exit(0);
	}
	MUST(read(fds[0], &row, sizeof(row)) == (ssize_t)sizeof(row));
	MUST(waitpid(pid, &status, 0) == pid && !status);
	close(fds[0]);
	close(fds[1]);
	return row;
}

static bool run_rows(enum bf_ordering ordering, uint32_t commands)
{
	static const uint32_t threads[] = { 64, 1024, 4096 };
	double first = 0;
	uint64_t most = 0;

	for (size_t i = 0; i < 2 * BF_ARRAY_LEN(threads); i++) {
		const uint32_t n = threads[i / 2], m = i % 2 ? 2 * commands : commands;
		const struct row r = measure_apart(ordering, n, m);
		const double ns = r.seconds / (double)r.commands * 1e9;

		if (!i)
			first = ns;
		printf("%-8s %7u %9u %9.0f %7.2f %9.1f %11.1f\n", bf_ordering_name(ordering), n, m, ns, ns / first,
		       (double)r.resident / (1 << 20), (double)r.resident / n / 1024);
		most = r.resident > most ? r.resident : most;
	}
	return bench_at_most("memory of 4096 threads and queue pairs", (double)most / (1 << 20), 64, "MiB");
}

int main(int argc, char **argv)
{
	const uint32_t commands = argc > 1 ? (uint32_t)atoi(argv[1]) : 8;
	bool met;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%-8s %7s %9s %9s %7s %9s %11s\n", "ordering", "threads", "commands", "ns/cmd", "ratio", "MiB",
	       "KiB/thread");
	met = run_rows(BF_ORDER_SC, commands ? commands : 8);
	met &= run_rows(BF_ORDER_GPU, commands ? commands : 8);
	return met ? 0 : 1;
}
