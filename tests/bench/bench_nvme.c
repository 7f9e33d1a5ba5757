/*
 * 4 KiB random reads and writes through the NVMe model, doorbell to completion: real queue entries, real DMA, no driver
 * code. A minimal host keeps each queue at its depth and rings one doorbell for what it put in.
 *
 * The limit in the same run is what the bytes cost at least: a copy of 4 KiB from a random place of a buffer as large
 * as the namespace. QEMU's NVMe with a polled guest driver does 0.05 to 0.3 M commands a second in a small VM.
 *
 * bench_nvme [million commands] [MiB of the namespace] [profile or "live"]
 */
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "sim/live.h"
#include "tests/bench/limit.h"
#include "tests/models/nvme_host.h"

#define BLOCK 4096u
#define QUEUES_MAX 16u

/* Processor time: other programs on the machine do not count. */
static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct bench {
	struct host h;
	struct host_queue q[QUEUES_MAX];
	struct bf_event poll;
	struct bf_rng rng;
	uint64_t period_ps, blocks, data;
	uint64_t total, posted, done;
	uint32_t queues, depth;
	uint32_t inflight[QUEUES_MAX];
	uint8_t opcode;
};

/* Fills the queue up and rings once. */
static void fill(struct bench *b, uint32_t i)
{
	struct host_queue *q = &b->q[i];
	uint32_t before = q->tail;

	while (b->inflight[i] < b->depth && b->posted < b->total) {
		uint64_t buffer = b->data + (uint64_t)(i * b->depth + q->tail % b->depth) * BLOCK;

		host_rw(&b->h, q, b->opcode, 1, bf_rng_below(&b->rng, b->blocks), 1, buffer, 0);
		b->inflight[i]++;
		b->posted++;
	}
	if (q->tail != before)
		host_ring(&b->h, q);
}

static void drain(struct bench *b, uint32_t i)
{
	struct host_queue *q = &b->q[i];
	uint32_t before = q->head;

	while ((bf_le16(q->cq[q->head].status) & 1u) == q->phase) {
		HOST_MUST(!(bf_le16(q->cq[q->head].status) >> 1));
		q->head = q->head + 1 == q->size ? 0 : q->head + 1;
		q->phase ^= !q->head;
		b->inflight[i]--;
		b->done++;
	}
	if (q->head != before)
		host_write32(&b->h, bf_nvme_cq_doorbell(q->qid, 0), q->head);
}

/* Looks at all queues every so often, as a polling thread does. */
static void on_poll(struct bf_event *ev)
{
	struct bench *b = BF_CONTAINER_OF(ev, struct bench, poll);

	for (uint32_t i = 0; i < b->queues; i++) {
		drain(b, i);
		fill(b, i);
	}
	if (b->done < b->total)
		bf_sim_after(b->h.sim, ev, b->period_ps);
}

/* Every block is written once, so that reads find memory. */
static void prepare(struct bench *b, uint64_t bytes)
{
	uint8_t *list = host_alloc(&b->h, 4096, 4096);

	for (uint64_t at = 0; at < bytes; at += 1u << 20) {
		host_rw(&b->h, &b->q[0], BF_NVME_IO_WRITE, 1, at / BLOCK, 256, b->data,
			host_prp2(&b->h, b->data, 1u << 20, 4096, list));
		HOST_MUST(!host_do(&b->h, &b->q[0], NULL));
	}
}

struct job {
	const char *profile;
	uint8_t opcode;
	uint32_t queues, depth, records;
};

static double run_model(const struct job *j, uint64_t bytes, uint64_t total)
{
	const struct bf_nvme_ns_opts ns = { .bytes = bytes, .lba = BF_NVME_LBA_4096 };
	const struct bf_nvme_profile *profile = *j->profile == 'i' ? &bf_nvme_instant : &bf_nvme_970pro;
	struct host_opts o = { .mem = 160u << 20, .nvme = { .profile = profile, .ns = &ns, .nns = 1 } };
	struct bench b = { .queues = j->queues, .depth = j->depth, .opcode = j->opcode, .total = total };
	uint32_t size = 2;
	double start;

	while (size < j->depth + 1)
		size *= 2;
	host_open(&b.h, &o);
	for (uint32_t i = 0; i < b.queues; i++)
		host_queue_open(&b.h, &b.q[i], (uint16_t)(i + 1), size);
	b.blocks = bytes / BLOCK;
	b.data = host_va(
	    &b.h, host_alloc(&b.h, (uint64_t)(b.queues * b.depth < 256 ? 256 : b.queues * b.depth) * BLOCK, 4096));
	prepare(&b, bytes);
	bf_rng_init(&b.rng, 1, "bench");
	b.period_ps = *j->profile == 'i' ? 100 * BF_NS : 5 * BF_US;
	bf_event_init(&b.poll, on_poll);
	if (j->records)
		HOST_MUST(!bf_stream_open(&b.h.sim->rec, &b.h.sim->now_ps, j->records, NULL));
	bf_sim_at(b.h.sim, &b.poll, b.h.sim->now_ps);
	start = now_s();
	host_run(&b.h);
	start = now_s() - start;
	HOST_MUST(b.done == total);
	host_close(&b.h);
	return start / (double)total * 1e9;
}

/*
 * Live: the model on a loop's thread, a driver that never sleeps on another. Wall-clock time. The driver touches memory
 * only: queue entries, and doorbells in the BAR's bytes.
 */
#define WINDOW 1000u

struct driver {
	struct bench *b;
	struct bf_live *live;
	double seconds;
	double *window; /* seconds that each WINDOW commands took */
	uint64_t windows;
};

static double wall_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void store_bell(struct bench *b, uint32_t offset, uint32_t value)
{
	__atomic_store_n((uint32_t *)(void *)(bf_nvme_bar0(b->h.dev)->bytes + offset), value, __ATOMIC_RELEASE);
}

static void *drive(void *arg)
{
	struct driver *d = arg;
	struct bench *b = d->b;
	struct host_queue *q = &b->q[0];
	double before;

	d->seconds = before = wall_s();
	while (b->done < b->total) {
		uint32_t head = q->head, tail = q->tail;

		if (b->done >= (d->windows + 1) * WINDOW) {
			const double now = wall_s();

			d->window[d->windows++] = now - before;
			before = now;
		}
		while ((__atomic_load_n((const uint16_t *)(const void *)&q->cq[q->head].status, __ATOMIC_ACQUIRE) &
			1u) == q->phase) {
			q->head = q->head + 1 == q->size ? 0 : q->head + 1;
			q->phase ^= !q->head;
			b->inflight[0]--;
			b->done++;
		}
		if (q->head != head)
			store_bell(b, bf_nvme_cq_doorbell(1, 0), q->head);
		while (b->inflight[0] < b->depth && b->posted < b->total) {
			host_rw(&b->h, q, b->opcode, 1, bf_rng_below(&b->rng, b->blocks), 1,
				b->data + (uint64_t)(q->tail % b->depth) * BLOCK, 0);
			b->inflight[0]++;
			b->posted++;
		}
		if (q->tail != tail)
			store_bell(b, bf_nvme_sq_doorbell(1, 0), q->tail);
	}
	d->seconds = wall_s() - d->seconds;
	bf_live_stop(d->live);
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Nanoseconds a command, or 0 when this build has no live mode. `*good`: in the tenth of all stretches of commands that
 * went best; two threads that spin need two processors, which a busy machine does not give them all the time.
 */
static double run_live(uint32_t depth, uint64_t bytes, uint64_t total, double *good)
{
	const struct bf_nvme_ns_opts ns = { .bytes = bytes, .lba = BF_NVME_LBA_4096 };
	struct host_opts o = { .nvme = { .profile = &bf_nvme_instant, .ns = &ns, .nns = 1 } };
	struct bench b = { .queues = 1, .depth = depth, .opcode = BF_NVME_IO_READ, .total = total };
	struct driver d = { .b = &b };
	struct bf_region *bar;
	pthread_t thread;

	d.window = calloc(total / WINDOW + 1, sizeof(*d.window));
	HOST_MUST(d.window);
	host_open(&b.h, &o);
	host_queue_open(&b.h, &b.q[0], 1, 2048);
	b.blocks = bytes / BLOCK;
	b.data = host_va(&b.h, host_alloc(&b.h, 1024 * BLOCK, 4096));
	prepare(&b, bytes);
	bf_rng_init(&b.rng, 1, "bench");
	if (bf_live_create(b.h.sim, &d.live)) {
		host_close(&b.h);
		free(d.window);
		return 0;
	}
	bar = bf_nvme_bar0(b.h.dev);
	HOST_MUST(!mprotect(bar->bytes, bar->size, PROT_READ | PROT_WRITE));
	bf_nvme_poll_bar(b.h.dev);
	/* What the queue pair's doorbells said before they were memory. */
	store_bell(&b, bf_nvme_sq_doorbell(1, 0), b.q[0].tail);
	store_bell(&b, bf_nvme_cq_doorbell(1, 0), b.q[0].head);
	HOST_MUST(!bf_live_add_poller(d.live, bf_nvme_poll_bar, b.h.dev));
	HOST_MUST(!pthread_create(&thread, NULL, drive, &d));
	HOST_MUST(!bf_live_run(d.live, 0));
	pthread_join(thread, NULL);
	bf_live_destroy(d.live);
	host_close(&b.h);
	qsort(d.window, d.windows, sizeof(*d.window), by_size);
	*good = d.windows ? d.window[d.windows / 10] / WINDOW * 1e9 : 0;
	free(d.window);
	return d.seconds / (double)total * 1e9;
}

static double run_limit(uint64_t bytes, uint64_t total)
{
	uint8_t *from = malloc(bytes), *to = malloc(64 * BLOCK);
	struct bf_rng rng;
	double start;

	bf_rng_init(&rng, 1, "bench");
	memset(from, 1, bytes);
	memset(to, 1, 64 * BLOCK);
	start = now_s();
	for (uint64_t i = 0; i < total; i++) {
		memcpy(to + i % 64 * BLOCK, from + bf_rng_below(&rng, bytes / BLOCK) * BLOCK, BLOCK);
		__asm__ volatile("" ::"r"(to) : "memory");
	}
	start = now_s() - start;
	free(from);
	free(to);
	return start / (double)total * 1e9;
}

int main(int argc, char **argv)
{
	static const struct job jobs[] = {
		{ "instant", BF_NVME_IO_READ, 1, 1, 0 },     { "instant", BF_NVME_IO_READ, 1, 32, 0 },
		{ "instant", BF_NVME_IO_READ, 1, 1024, 0 },  { "instant", BF_NVME_IO_READ, 16, 32, 0 },
		{ "instant", BF_NVME_IO_READ, 16, 1024, 0 }, { "instant", BF_NVME_IO_WRITE, 1, 32, 0 },
		{ "970pro", BF_NVME_IO_READ, 1, 1, 0 },      { "970pro", BF_NVME_IO_READ, 1, 32, 0 },
		{ "970pro", BF_NVME_IO_READ, 1, 1024, 0 },   { "970pro", BF_NVME_IO_READ, 16, 32, 0 },
		{ "970pro", BF_NVME_IO_WRITE, 1, 32, 0 },    { "970pro", BF_NVME_IO_READ, 1, 32, UINT32_MAX },
	};
	uint64_t total = (uint64_t)((argc > 1 ? atof(argv[1]) : 1.0) * 1e6);
	uint64_t bytes = (uint64_t)(argc > 2 ? atoi(argv[2]) : 64) << 20;
	const char *only = argc > 3 ? argv[3] : "";
	bool met = true;

	printf("%-8s %-6s %6s %6s %8s %9s %8s %14s %7s\n", "profile", "op", "queues", "depth", "records", "Mcmd/s",
	       "ns/cmd", "4K copy ns", "ratio");
	for (size_t i = 0; i < BF_ARRAY_LEN(jobs); i++) {
		double limit, ns;

		if (*only && strcmp(only, jobs[i].profile))
			continue;
		limit = run_limit(bytes, total);
		ns = run_model(&jobs[i], bytes, total);
		printf("%-8s %-6s %6u %6u %8s %9.2f %8.0f %14.0f %7.1f\n", jobs[i].profile,
		       jobs[i].opcode == BF_NVME_IO_READ ? "read" : "write", jobs[i].queues, jobs[i].depth,
		       jobs[i].records ? "on" : "off", 1e3 / ns, ns, limit, ns / limit);
		if (!strcmp(jobs[i].profile, "instant") && jobs[i].opcode == BF_NVME_IO_READ && jobs[i].queues == 1 &&
		    jobs[i].depth == 32 && !jobs[i].records)
			met = bench_at_least("random reads of 4 KiB, depth 32, one queue", 1e3 / ns, 2.5, "M/s");
	}
	for (uint32_t depth = 1; depth <= 1024 && (!*only || !strcmp(only, "live")); depth *= 32) {
		double good, limit = run_limit(bytes, total), ns = run_live(depth, bytes, total, &good);

		if (ns > 0)
			printf("%-8s %-6s %6u %6u %8s %9.2f %8.0f %14.0f %7.1f   undisturbed: %.2f\n", "live", "read",
			       1, depth, "off", 1e3 / ns, ns, limit, ns / limit, good > 0 ? 1e3 / good : 0);
	}
	return met ? 0 : 1;
}
