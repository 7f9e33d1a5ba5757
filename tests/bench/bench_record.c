/*
 * The cost of records: a probe that is off, a record that is on, the trace writer and reader, beside a plain copy of
 * the same bytes in the same run.
 *
 *   bench_record [RECORDS]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/limit.h"
#include "traces/container/trace.h"

#define BENCH_DMA_FIELDS (u64, iova, HEX), (u32, len, DEC, "B"), (u32, status, DEC)
BF_RECORD_DECLARE(bench_dma, 990, BF_CLASS_DMA, BENCH_DMA_FIELDS);
BF_RECORD_DEFINE(bench_dma, BENCH_DMA_FIELDS);

struct bench {
	struct bf_stream rec;
	uint64_t now_ps;
	uint64_t n;
	uint64_t work; /* keeps loops from being optimised away */
	uint8_t tail[64];
};

static double now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* The least of five runs: the one that was disturbed least. */
static double best(void (*run)(struct bench *b), struct bench *b)
{
	double least = 0;
	for (int i = 0; i < 5; i++) {
		double start = now_ns();
		run(b);
		double took = (now_ns() - start) / (double)b->n;
		if (!i || took < least)
			least = took;
	}
	return least;
}

static BF_NOINLINE void step(struct bench *b)
{
	b->work = b->work * 3 + 1;
	b->now_ps += 7;
}

static BF_NOINLINE void step_probed(struct bench *b)
{
	b->work = b->work * 3 + 1;
	b->now_ps += 7;
	if (bf_probe(b, BF_CLASS_DMA)) {
		struct bf_rec_bench_dma r = { .iova = b->work, .len = 64 };
		bf_record(&b->rec, &bf_rec_bench_dma_schema, 1, &r, NULL, 0);
	}
}

static BF_NOINLINE void step_tail(struct bench *b)
{
	b->work = b->work * 3 + 1;
	b->now_ps += 7;
	if (bf_probe(b, BF_CLASS_DMA)) {
		struct bf_rec_bench_dma r = { .iova = b->work, .len = 64 };
		bf_record(&b->rec, &bf_rec_bench_dma_schema, 1, &r, b->tail, sizeof(b->tail));
	}
}

/* What storing 40 bytes costs at least: the same record put together and copied into a ring of the buffer's size. */
static uint8_t ring[16384];

static BF_NOINLINE void step_copy(struct bench *b)
{
	b->work = b->work * 3 + 1;
	b->now_ps += 7;
	struct bf_rec_header head = { .time_ps = b->now_ps, .actor = 1, .type = 990, .fixed = 16 };
	struct bf_rec_bench_dma r = { .iova = b->work, .len = 64 };
	uint8_t *p = ring + b->now_ps % 256 * 40;
	memcpy(p, &head, sizeof(head));
	memcpy(p + sizeof(head), &r, sizeof(r));
}

#define LOOP(name, one)                                                                                                \
	static void name(struct bench *b)                                                                              \
	{                                                                                                              \
		for (uint64_t i = 0; i < b->n; i++)                                                                    \
			one(b);                                                                                        \
	}
LOOP(run_plain, step)
LOOP(run_probed, step_probed)
LOOP(run_tail, step_tail)
LOOP(run_copy, step_copy)

static int sink_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	(void)s, (void)schema;
	return 0;
}

static int sink_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	(void)s, (void)actor, (void)kind, (void)name;
	return 0;
}

static uint8_t kept[1 << 20];

static int sink_write(struct bf_sink *s, const void *records, size_t len)
{
	(void)s;
	memcpy(kept, records, len);
	return 0;
}

static double recorded(struct bench *b, struct bf_sink *sink, void (*run)(struct bench *))
{
	bf_stream_open(&b->rec, &b->now_ps, BF_CLASS_ALL, sink);
	double ns = best(run, b);
	bf_stream_close(&b->rec);
	return ns;
}

/* Records of a plausible run into `w`: MB of records a second. */
static void bench_writer(struct bench *b, const char *what, const struct bf_trace_options *options, double copy_gbs)
{
	FILE *null = fopen("/dev/null", "wb");
	struct bf_trace_writer *w;
	if (!null || bf_trace_writer_open(NULL, null, options, &w, NULL))
		exit(1);
	double start = now_ns();
	bf_stream_open(&b->rec, &b->now_ps, BF_CLASS_ALL, bf_trace_sink(w));
	uint64_t n = options->jsonl ? b->n / 20 : b->n;
	for (uint64_t i = 0; i < n; i++) {
		b->tail[i % 64] = (uint8_t)i;
		if (i % 4)
			step_probed(b);
		else
			step_tail(b);
	}
	bf_stream_close(&b->rec);
	bf_trace_writer_close(w);
	double took = now_ns() - start, bytes = (double)n * (40 + 64.0 / 4);
	printf("writer, %-22s %8.2f ns a record %8.0f MB/s   %6.3f of a copy\n", what, took / (double)n,
	       bytes / took * 1e3, bytes / took / copy_gbs);
	fclose(null);
}

/* The same records read back, from memory. */
static void bench_reader(struct bench *b, double copy_gbs)
{
	char *bytes;
	size_t size;
	FILE *file = open_memstream(&bytes, &size);
	struct bf_trace_writer *w;
	struct bf_trace *t;
	if (!file || bf_trace_writer_open(NULL, file, NULL, &w, NULL))
		exit(1);
	bf_stream_open(&b->rec, &b->now_ps, BF_CLASS_ALL, bf_trace_sink(w));
	for (uint64_t i = 0; i < b->n / 4; i++)
		step_probed(b);
	bf_stream_close(&b->rec);
	bf_trace_writer_close(w);
	fclose(file);
	if (bf_trace_open_memory(bytes, size, &t, NULL))
		exit(1);
	struct bf_trace_record rec;
	uint64_t n = 0;
	double start = now_ns();
	while (bf_trace_next(t, &rec) == 1)
		n++;
	double took = now_ns() - start, moved = (double)n * 40;
	printf("reader, zstd                  %8.2f ns a record %8.0f MB/s   %6.3f of a copy\n", took / (double)n,
	       moved / took * 1e3, moved / took / copy_gbs);
	bf_trace_close(t);
	free(bytes);
}

/* Bytes a nanosecond that a copy of 64 MiB in pieces of 16 KiB moves. */
static double copy_speed(struct bench *b)
{
	size_t total = 0;
	double start = now_ns();
	for (unsigned i = 0; i < 16384; i++) {
		ring[i % sizeof(ring)]++;
		memcpy(kept + (i % 63) * sizeof(ring), ring, sizeof(ring));
		total += sizeof(ring);
		b->work += kept[i];
	}
	return (double)total / (now_ns() - start);
}

int main(int argc, char **argv)
{
	struct bench *b = calloc(1, sizeof(*b));
	if (!b)
		return 1;
	b->n = argc > 1 ? strtoull(argv[1], NULL, 0) : 4000000;
	bf_stream_actor(&b->rec, "queue", "sq0");
	struct bf_sink memory = { .declare_type = sink_type, .declare_actor = sink_actor, .write = sink_write };
	double plain = best(run_plain, b), off = best(run_probed, b), copy = best(run_copy, b);
	double hash_only = recorded(b, NULL, run_probed), kept_on = recorded(b, &memory, run_probed);
	double tail = recorded(b, &memory, run_tail);
	printf("probe off                     %8.2f ns\n", off - plain);
	printf("record on, hash only          %8.2f ns\n", hash_only - plain);
	printf("record on, memory sink        %8.2f ns   %.2f of a plain copy, loop included\n", kept_on - plain,
	       kept_on / copy);
	printf("record with a tail of 64 B    %8.2f ns\n", tail - plain);
	double speed = copy_speed(b);
	bench_writer(b, "zstd level 1", &(struct bf_trace_options){ 0 }, speed);
	bench_writer(b, "uncompressed", &(struct bf_trace_options){ .level = -1 }, speed);
	bench_writer(b, "JSON Lines", &(struct bf_trace_options){ .jsonl = true }, speed);
	bench_reader(b, speed);
	printf("(%" PRIu64 ")\n", b->work % 10);
	bf_stream_fini(&b->rec);
	free(b);
	bool met = bench_at_most("probe that is off", off - plain, 1, "ns");
	met &= bench_at_most("record that is on", kept_on - plain, 15, "ns");
	return met ? 0 : 1;
}
