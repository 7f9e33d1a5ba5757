/*
 * IBGDA with many PEs: what a queue pair costs in memory and in time to start, and what a message costs, against the
 * world of 8 PEs of the same run.
 *
 *   bench_ibgda_scale [--quick|--start] [rc:PES|dc:PES]...
 *   bench_ibgda_scale --count MESSAGES rc:PES|dc:PES
 *
 * Without worlds: rc:64 rc:512 dc:4096; with --quick rc:64 dc:512; with --start no traffic, and dc:64 to dc:4096.
 *
 * RC worlds are full meshes with two queue pairs for each pair of PEs (NVSHMEM's default); DC worlds have its default
 * of one initiator and two targets on each PE. The traffic is an all-to-all in two forms: each PE's one lane puts 64
 * bytes to every other PE in turn, with one queue pair of each two in one round and the other in the next; `bursts`:
 * sixteen times, then quiet, then the next PE; `singles`: once, and quiet after a round. The second form is the worst
 * there can be for a cache: each message finds its two queue pairs and their rings as cold as hundreds of thousands of
 * others have left them. All rings were touched before a run is timed. (In big worlds a timed round is a part of one; a
 * PE then goes on where it stopped.)
 *
 * Memory is what the process grew by while connecting, when no ring has been touched. What each PE has and what each
 * queue pair has are told apart by comparing a world with the one before; "besides" is without CQEs and doorbell
 * records. Times are of the processor, since one thread does it all. Each world has a process of its own. Exit code 1:
 * a figure misses its limit.
 *
 * With --count, one world in this process, and so many messages in bursts, without a run before: for tools that count
 * instructions or cache misses. The difference between two runs is the messages' alone.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drivers/platform/platform_sim.h"

#include "drivers/backend/backend.h"
#include "drivers/ibgda/device.h"
#include "drivers/ibgda/host.h"
#include "tests/bench/limit.h"

#define QPS_PER_PAIR 2u
#define MESSAGE 64u
#define MESSAGES_MAX 400000u /* in all, of a timed run */
/* What the driver itself has of each in the PE's memory: its descriptions, two CQ entries, two doorbell records. */
#define DRIVER_BYTES (sizeof(struct bf_ibgda_qp) + 2 * sizeof(struct bf_ibgda_cq) + CQES_AND_DBRECS)
#define CQES_AND_DBRECS (2 * 64 + 2 * 8)
/*
 * What must not get worse: bytes besides CQEs and doorbell records in a world of so many queues (what each PE has once
 * weighs more in a small one); speed of 64 PEs in bursts, as a part of 8 PEs'.
 */
#define SMALL_WORLD 8000u
#define SMALL_WORLD_LIMIT 2048.0
#define LARGE_WORLD 100000u
#define LARGE_WORLD_LIMIT 1900.0
#define START_LIMIT 2.0 /* time to start a queue with --start, as a part of the first world's */
#define SPEED_LIMIT 0.5
#define SPEED_LIMIT_PES 64u
#define BURST 16u

struct figures {
	bool dc;
	uint32_t npes;
	uint64_t qps;
	double open_s, connect_s, world_bytes, bytes, driver_bytes;
	double bursts, singles; /* messages a second */
};

struct job {
	const struct bf_ibgda_state *state;
	uint8_t *heap; /* [npes] messages to send, then [npes] received */
	uint32_t next; /* message number, over all runs */
	uint32_t count, round, burst;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * What the process has of its own, to the page (the counters of statm come in batches), and of images that PEs share
 * once. Not what is read of its program when it connects for the first time, a quarter of a megabyte.
 */
static double resident_bytes(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[128];
	double sum = 0;

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long kib = 0;

		if (sscanf(line, "Pss_Anon: %lu", &kib) == 1 || sscanf(line, "Pss_Shmem: %lu", &kib) == 1)
			sum += (double)kib * 1024;
	}
	if (f)
		fclose(f);
	return sum;
}

static void fail(const char *what, const struct bf_error *err)
{
	fprintf(stderr, "bench_ibgda_scale: %s: %s\n", what, err->text);
	exit(2);
}

static void all_to_all(struct bf_thread *t, void *arg)
{
	struct job *j = arg;
	const struct bf_ibgda_state *st = j->state;
	uint8_t *to = j->heap + (uint64_t)(st->npes + st->mype) * MESSAGE;

	for (uint32_t n = 1; n <= j->count; n++, j->next++) {
		const uint32_t turn = j->next / j->burst;
		const uint32_t peer = (st->mype + 1 + turn % (st->npes - 1)) % st->npes;
		const uint8_t *from = j->heap + (uint64_t)peer * MESSAGE;
		const uint32_t handle = turn / (st->npes - 1) % QPS_PER_PAIR * st->npes;
		int status = bf_ibgda_pe_put_nbi(t, 1, st, peer, handle, to, from, MESSAGE);

		if (n % j->round == 0 || n == j->count)
			status |= j->burst > 1 && st->num_rc_per_pe
				      ? bf_ibgda_quiet(t, st, bf_ibgda_rc_by_handle(t, st, peer, handle))
				      : bf_ibgda_pe_quiet(t, 1, st);
		if (status)
			return;
	}
}

static uint64_t pattern(uint32_t from, uint32_t to)
{
	return ((uint64_t)from << 32 | to) * 0x9e3779b97f4a7c15ull;
}

/* Starts a run on all PEs; how long it took. */
static double run_once(const struct bf_backend *be, struct bf_world *w, struct job *job, uint32_t npes, uint32_t count)
{
	struct bf_world_result result;
	const double began = now_s();

	for (uint32_t pe = 0; pe < npes; pe++) {
		job[pe].count = count;
		be->launch(w, pe, 1, 1, all_to_all, &job[pe]);
	}
	if (be->run(w, &result) || result.end != BF_END_DONE) {
		fprintf(stderr, "bench_ibgda_scale: %u PEs: end %d\n%s", npes, (int)result.end, result.report);
		exit(2);
	}
	return now_s() - began;
}

static void check(const struct job *job, uint32_t npes, uint32_t sent)
{
	for (uint32_t pe = 0; pe < npes; pe++) {
		for (uint32_t k = 0; k < sent && k < npes - 1; k++) {
			const uint32_t peer = (pe + 1 + k) % npes;
			uint64_t got;

			memcpy(&got, job[peer].heap + (uint64_t)(npes + pe) * MESSAGE, sizeof(got));
			if (got == pattern(pe, peer))
				continue;
			fprintf(stderr, "bench_ibgda_scale: PE %u did not get PE %u's message\n", peer, pe);
			exit(2);
		}
	}
}

/* `counted` not 0: so many messages in bursts and nothing else. */
static void run_traffic(const struct bf_backend *be, struct bf_world *w, struct bf_ibgda_host *h, uint32_t counted,
			struct figures *f)
{
	const uint32_t npes = f->npes, rounds = QPS_PER_PAIR * (npes - 1);
	const uint32_t count = (counted ? counted : MESSAGES_MAX) / npes;
	struct job *job = calloc(npes, sizeof(*job));

	if (!job)
		exit(2);
	for (uint32_t pe = 0; pe < npes; pe++) {
		job[pe].state = bf_ibgda_host_state(h, pe);
		job[pe].heap = bf_ibgda_host_heap(h, pe).ptr;
		job[pe].round = npes - 1 < count ? npes - 1 : count;
		job[pe].burst = 1;
		for (uint32_t peer = 0; peer < npes; peer++) {
			const uint64_t v = pattern(pe, peer);

			memcpy(job[pe].heap + (uint64_t)peer * MESSAGE, &v, sizeof(v));
		}
	}
	if (!counted) {
		run_once(be, w, job, npes, rounds);
		f->singles = (double)npes * count / run_once(be, w, job, npes, count);
		check(job, npes, count);
	}
	for (uint32_t pe = 0; pe < npes; pe++) {
		job[pe].next = 0;
		job[pe].round = job[pe].burst = BURST;
	}
	f->bursts = (double)npes * count / run_once(be, w, job, npes, count);
	free(job);
}

static struct figures measure(bool dc, uint32_t npes, bool traffic, uint32_t counted)
{
	const struct bf_backend *be = bf_backend_find("sim");
	const struct bf_world_opts wo = { .seed = 1, .npes = npes, .lanes = 1 };
	struct bf_ibgda_host_opts ho = { .num_rc_per_pe = QPS_PER_PAIR,
					 .rc_room = QPS_PER_PAIR,
					 .no_rc = dc,
					 .no_dc = !dc,
					 .heap_bytes = 2ull * npes * MESSAGE };
	struct figures f = { .dc = dc, .npes = npes };
	struct bf_ibgda_host *h;
	struct bf_world *w;
	struct bf_error err = { 0 };
	double at = now_s(), rss = resident_bytes();

	f.qps = dc ? 3ull * npes : (uint64_t)npes * (npes - 1) * QPS_PER_PAIR;
	if (be->open(&wo, &err, &w))
		fail("world", &err);
	f.open_s = now_s() - at;
	f.world_bytes = resident_bytes() - rss;
	at = now_s();
	rss = resident_bytes();
	if (bf_ibgda_host_open(be, w, npes, &ho, &err, &h))
		fail("connecting", &err);
	f.connect_s = now_s() - at;
	f.bytes = resident_bytes() - rss;
	f.driver_bytes = (double)bf_ibgda_host_bytes(h) + (double)f.qps * DRIVER_BYTES;
	if (traffic)
		run_traffic(be, w, h, counted, &f);
	bf_ibgda_host_close(h);
	be->close(w);
	return f;
}

/* In a process of its own, so that memory that an earlier world has left free does not hide what this one takes. */
static struct figures measure_apart(bool dc, uint32_t npes, bool traffic)
{
	struct figures f = { 0 };
	int ends[2], status = 0;
	pid_t child;

	if (pipe(ends) || (child = fork()) < 0)
		exit(2);
	if (!child) {
		f = measure(dc, npes, traffic, 0);
		_exit(write(ends[1], &f, sizeof(f)) == (ssize_t)sizeof(f) ? 0 : 2);
	}
	close(ends[1]);
	if (read(ends[0], &f, sizeof(f)) != (ssize_t)sizeof(f))
		exit(2);
	close(ends[0]);
	waitpid(child, &status, 0);
	return f;
}

/* True when the limit holds, which RC queue pairs have in worlds of thousands. */
static bool show_start(const struct figures *f)
{
	const double each = f->bytes / (double)f->qps, own = f->driver_bytes / (double)f->qps;
	const double total = each - CQES_AND_DBRECS;
	const bool fits =
	    f->dc || f->qps < SMALL_WORLD || total <= (f->qps < LARGE_WORLD ? SMALL_WORLD_LIMIT : LARGE_WORLD_LIMIT);

	printf("%s %5u PEs %7llu queues: world %.0f KiB/PE in %.3f s; connected in %.3f s, %.2f us and %.0f B a queue "
	       "(%.0f besides: model's %.0f, driver's %.0f; %u of CQEs and doorbell records)%s",
	       f->dc ? "DC" : "RC", f->npes, (unsigned long long)f->qps, f->world_bytes / 1024 / f->npes, f->open_s,
	       f->connect_s, f->connect_s * 1e6 / (double)f->qps, each, total, each - own, own - CQES_AND_DBRECS,
	       CQES_AND_DBRECS, fits ? "" : " (TOO MUCH)");
	return fits;
}

/* What is the PEs' and what the queue pairs', by two worlds of different size. */
static void show_split(const struct figures *f, const struct figures *before)
{
	const double qps = (double)f->qps / f->npes, qps_before = (double)before->qps / before->npes;
	const double pe = f->bytes / f->npes, pe_before = before->bytes / before->npes;
	const double each = (pe - pe_before) / (qps - qps_before);

	if (f->dc || f->npes <= before->npes)
		return;
	printf("; beside %u PEs: each PE %.0f KiB, and %.0f B for a queue more, besides", before->npes,
	       (pe - each * qps) / 1024, each - CQES_AND_DBRECS);
}

/* `first`: the same in a world of 8 PEs. */
static void show_traffic(const struct figures *f, const struct figures *first)
{
	const double ratio = f->bursts / first->bursts;

	printf("; messages: %.0f k/s in bursts, %.2f of 8 PEs', %.0f k/s as singles, %.2f", f->bursts * 1e-3, ratio,
	       f->singles * 1e-3, f->singles / first->singles);
}

/* Of what is limited: how fast a world of a few PEs is, or how the start-up of a queue grows. True when that holds. */
static bool judge(const struct figures *f, const struct figures *first, bool traffic)
{
	const char *kind = f->dc ? "DC" : "RC";
	char what[64];

	if (!traffic) {
		snprintf(what, sizeof(what), "start-up of a queue, %u PEs, %s", f->npes, kind);
		return bench_at_most(what, f->connect_s * (double)first->qps / (first->connect_s * (double)f->qps),
				     START_LIMIT, "of the first");
	}
	if (f->npes <= first->npes || f->npes > SPEED_LIMIT_PES)
		return true;
	snprintf(what, sizeof(what), "messages in bursts, %u PEs, %s", f->npes, kind);
	return bench_at_least(what, f->bursts / first->bursts, SPEED_LIMIT, "of 8 PEs'");
}

static bool show(const struct figures *f, const struct figures *first, const struct figures *before, bool traffic)
{
	bool good = show_start(f);

	show_split(f, before);
	if (traffic)
		show_traffic(f, first);
	putchar('\n');
	good = judge(f, first, traffic) && good;
	fflush(stdout);
	return good;
}

static bool is_dc(const char *world)
{
	return !strncmp(world, "dc:", 3);
}

static uint32_t pes_of(const char *world)
{
	return (uint32_t)strtoul(world + 3, NULL, 10);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = { "rc:64", "rc:512", "dc:4096", NULL };
	static const char *const quick[] = { "rc:64", "dc:512", NULL };
	static const char *const starts[] = { "dc:64", "dc:256", "dc:1024", "dc:4096", NULL };
	const bool is_quick = argc > 1 && !strcmp(argv[1], "--quick"), traffic = argc < 2 || strcmp(argv[1], "--start");
	const int given = 1 + (is_quick || !traffic);
	const char *const *which = is_quick ? quick : traffic ? usual : starts;
	struct figures first[2] = { 0 }, before[2];
	bool good = true;

	if (argc == 4 && !strcmp(argv[1], "--count")) {
		measure(is_dc(argv[3]), pes_of(argv[3]), true, (uint32_t)strtoul(argv[2], NULL, 10));
		return 0;
	}
	if (argc > given)
		which = (const char *const *)argv + given;
	for (int dc = 0; traffic && dc < 2; dc++) {
		first[dc] = measure_apart(dc, 8, true);
		before[dc] = first[dc];
		good &= show(&first[dc], &first[dc], &before[dc], true);
	}
	for (; *which; which++) {
		const bool dc = is_dc(*which);
		const struct figures f = measure_apart(dc, pes_of(*which), traffic);

		if (!first[dc].npes)
			first[dc] = before[dc] = f;
		good &= show(&f, &first[dc], &before[dc], traffic);
		before[dc] = f;
	}
	return good ? 0 : 1;
}
