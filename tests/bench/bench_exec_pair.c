/*
 * perftest, as distributions have it, between two processes under `belfry exec`, beside what the same machine needs to
 * hand a word from process to process in the same minute.
 *
 *   bench_exec_pair BELFRY [ROUNDS]
 *
 * Two programs that poll and their two devices want two processors; on fewer, or beside other load, this measures the
 * scheduler, so each figure is the best of ROUNDS (5), and what others needed lies between the lines. The hand-overs:
 * both processes look at a word in shared memory, and both sleep at a socket. Figures for a soft-RoCE device come from
 * the same three perftest commands in a guest (tests/long/lab_rxe.sh).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/compiler.h"
#include "tests/bench/limit.h"
#include "tests/bench/must.h"

#define HANDOVERS 20000u
#define BLOCK 65536u
#define BLOCKS 4000u

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- what the machine can do ---- */

/* This side of HANDOVERS words to the other process and back. */
static void hand_by_memory(uint32_t *word, uint32_t parity)
{
	for (uint32_t i = 0; i < HANDOVERS; i++) {
		const uint32_t mine = 2 * i + parity;

		while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != mine)
			bf_cpu_relax();
		__atomic_store_n(word, mine + 1, __ATOMIC_RELEASE);
	}
}

static void hand_by_socket(int fd, bool first)
{
	char byte = 0;

	for (uint32_t i = 0; i < HANDOVERS; i++) {
		if (first)
			MUST(write(fd, &byte, 1) == 1);
		MUST(read(fd, &byte, 1) == 1);
		if (!first)
			MUST(write(fd, &byte, 1) == 1);
	}
}

/* One way, in us. */
static double hand_over(bool memory)
{
	uint32_t *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double begin, took;
	int fds[2], status;
	pid_t pid;

	MUST(word != MAP_FAILED && !socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	begin = now_s();
	pid = fork();
	MUST(pid >= 0);
	if (memory)
		hand_by_memory(word, !pid);
	else
		hand_by_socket(fds[!pid], pid != 0);
	if (!pid)
		_exit(0);
	took = now_s() - begin;
	MUST(waitpid(pid, &status, 0) == pid && !status);
	close(fds[0]);
	close(fds[1]);
	munmap(word, 4096);
	return took / HANDOVERS / 2 * 1e6;
}

/* Copies of 64 KiB from block to block of 8 MiB, in GB/s. */
static double copy_rate(void)
{
	const size_t size = 128 * (size_t)BLOCK;
	uint8_t *from = malloc(size), *to = malloc(size);
	double begin;

	MUST(from && to);
	memset(from, 1, size);
	memset(to, 2, size);
	begin = now_s();
	for (uint32_t i = 0; i < BLOCKS; i++)
		memcpy(to + i % 128 * (size_t)BLOCK, from + i * 7 % 128 * (size_t)BLOCK, BLOCK);
	begin = now_s() - begin;
	MUST(to[BLOCK] == 1);
	free(from);
	free(to);
	return (double)BLOCKS * BLOCK / begin / 1e9;
}

/* ---- perftest ---- */

/* Field `field` (0 up) of the last line of figures, those of the client; 0: it did not end well. */
static double run_pair(const char *belfry, const char *mode, const char *command, int field)
{
	char line[512], text[1024];
	double value = 0;
	bool table = false;
	FILE *f;

	snprintf(text, sizeof(text),
		 "p=$((20000 + $$ %% 20000)); e='%s exec --net bench-pair-'$$' --doorbells %s --'\n"
		 "timeout 30 $e %s -x 1 -F -p $p >/dev/null 2>&1 & sleep 0.6\n"
		 "timeout 30 $e %s -x 1 -F -p $p 127.0.0.1 2>&1; kill $! 2>/dev/null; wait",
		 belfry, mode, command, command);
	fflush(stdout);
	f = popen(text, "re");
	MUST(f);
	while (fgets(line, sizeof(line), f)) {
		char *at = line, *end;

		table |= strstr(line, "#bytes") != NULL;
		if (!table)
			continue;
		for (int i = 0; i <= field; i++, at = end) {
			const double v = strtod(at, &end);

			if (end == at)
				break;
			if (i == field)
				value = v;
		}
	}
	pclose(f);
	return value;
}

struct figure {
	const char *what, *command;
	int field;    /* of perftest's line */
	bool smaller; /* is better */
};

/* By bytes, iterations, ...: MB/s is field 3, millions of messages 4; of latencies the typical one is 4, the mean 5. */
enum { SMALL_WRITES, READS, WRITES, LATENCY, FIGURES };

static const struct figure figures[FIGURES] = {
	[SMALL_WRITES] = { "writes of 8 bytes, M/s", "ib_write_bw -s 8 -n 200000", 4, false },
	[READS] = { "reads of 64 KiB, MB/s", "ib_read_bw -s 65536 -n 5000", 3, false },
	[WRITES] = { "writes of 64 KiB, MB/s", "ib_write_bw -s 65536 -n 5000", 3, false },
	[LATENCY] = { "latency of 2 bytes, mean, us", "ib_write_lat -s 2 -n 10000", 5, true },
};

static double better(double a, double b, bool smaller)
{
	if (a <= 0 || b <= 0)
		return a > 0 ? a : b;
	return (a < b) == smaller ? a : b;
}

int main(int argc, char **argv)
{
	static const char *const modes[] = { "trap", "poll" };
	const uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 5;
	double got[2][FIGURES] = { 0 }, word = 0, byte = 0, copy = 0;

	MUST(argc > 1 && rounds);
	if (system("command -v ib_write_bw ib_read_bw ib_write_lat >/dev/null")) {
		printf("perftest is not here\n");
		return 77;
	}
	for (uint32_t r = 0; r < rounds; r++) {
		word = better(word, hand_over(true), true);
		byte = better(byte, hand_over(false), true);
		copy = better(copy, copy_rate(), false);
		for (int f = 0; f < FIGURES; f++)
			for (int m = 0; m < 2; m++)
				got[m][f] =
				    better(got[m][f], run_pair(argv[1], modes[m], figures[f].command, figures[f].field),
					   figures[f].smaller);
	}
	printf("a word by memory %.2f us, a byte by a socket %.2f us, one way; 64 KiB copied at %.0f MB/s\n", word,
	       byte, copy * 1e3);
	for (int f = 0; f < FIGURES; f++)
		printf("%-30s trap %9.2f  poll %9.2f\n", figures[f].what, got[0][f], got[1][f]);
	printf("latency in words handed over: trap %.0f, poll %.0f; in bytes by a socket: %.2f, %.2f\n",
	       got[0][LATENCY] / word, got[1][LATENCY] / word, got[0][LATENCY] / byte, got[1][LATENCY] / byte);
	printf("64 KiB as against a copy: writes %.2f, %.2f; reads %.2f, %.2f\n", got[0][WRITES] / copy / 1e3,
	       got[1][WRITES] / copy / 1e3, got[0][READS] / copy / 1e3, got[1][READS] / copy / 1e3);
	for (int m = 0; m < 2; m++)
		for (int f = 0; f < FIGURES; f++)
			MUST(got[m][f] > 0); /* perftest did not end well, not once */
	bench_at_least("perftest, writes of 8 bytes, trap", got[0][SMALL_WRITES], 0.4, "M/s");
	bench_at_least("perftest, writes of 8 bytes, poll", got[1][SMALL_WRITES], 2, "M/s");
	bench_at_least("perftest, reads of 64 KiB as against writes, trap", got[0][READS] / got[0][WRITES], 0.95, "");
	bench_at_least("perftest, reads of 64 KiB as against writes, poll", got[1][READS] / got[1][WRITES], 0.95, "");
	bench_at_most("perftest, latency in poll mode as against trap", got[1][LATENCY] / got[0][LATENCY], 1, "");
	return 0;
}
