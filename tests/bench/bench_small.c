/*
 * Small runs: from exec to exit of `belfry run ibgda-put`, and runs a second of a search on one core, of the smallest
 * case: one warp of each of two PEs puts one byte. The first is the wall clock, the best of several, with loading and
 * the program's end; the second is processor time.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/clock.h"
#include "tests/bench/limit.h"

#define STARTS 50
#define SEEDS "500"
#define RUNS 2000.0 /* four orderings of each seed */

struct taken {
	double wall_s, cpu_s;
};

/* `belfry` of the same build, two folders above this program's. */
static void find_belfry(char *path, size_t cap)
{
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *at;

	self[n > 0 ? n : 0] = '\0';
	for (int i = 0; i < 3; i++) {
		at = strrchr(self, '/');
		if (at)
			*at = '\0';
	}
	snprintf(path, cap, "%s/tools/belfry", self);
}

static struct taken run(char *const argv[])
{
	const uint64_t began = bf_monotonic_ns();
	struct taken t = { 0 };
	struct rusage used;
	const pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) < 0 || status) {
		fprintf(stderr, "bench_small: %s %s: status %d\n", argv[0], argv[1], status);
		exit(2);
	}
	t.wall_s = 1e-9 * (double)(bf_monotonic_ns() - began);
	t.cpu_s = (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec + (double)used.ru_stime.tv_sec +
		  1e-6 * (double)used.ru_stime.tv_usec;
	return t;
}

int main(void)
{
	char belfry[PATH_MAX + 16], *start[] = { belfry, "run", "ibgda-put", NULL };
	char *search[] = { belfry, "explore", "ibgda-put", "--blocks", "1", "--warps", "1",   "--messages",
			   "1",    "--size",  "1",         "--jobs",   "1", "--seeds", SEEDS, NULL };
	struct taken best = { 1e9, 1e9 }, t;
	bool met;

	find_belfry(belfry, sizeof(belfry));
	for (int i = 0; i < STARTS; i++) {
		t = run(start);
		best.wall_s = t.wall_s < best.wall_s ? t.wall_s : best.wall_s;
	}
	for (int i = 0; i < 3; i++) {
		t = run(search);
		best.cpu_s = t.cpu_s < best.cpu_s ? t.cpu_s : best.cpu_s;
	}
	met = bench_at_most("belfry run ibgda-put, exec to exit", 1e3 * best.wall_s, 5, "ms");
	return bench_at_least("belfry explore, smallest case, one core", RUNS / best.cpu_s, 2000, "runs/s") && met ? 0
														   : 1;
}
