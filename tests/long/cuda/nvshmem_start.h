/*
 * How the programs for NVSHMEM here begin: rank and count from BELFRY_RANK and BELFRY_RANKS, the unique id through a
 * file.
 */
#ifndef BELFRY_TESTS_NVSHMEM_START_H
#define BELFRY_TESTS_NVSHMEM_START_H

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <unistd.h>

static int rank, ranks;

static void need(bool good, const char *what)
{
	if (good)
		return;
	printf("%d: FAILED: %s (%s)\n", rank, what, cudaGetErrorString(cudaGetLastError()));
	fflush(stdout);
	_exit(1);
}

static void start(const char *file)
{
	nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
	nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
	char made[4096];
	int gpus;
	FILE *f;

	rank = atoi(getenv("BELFRY_RANK"));
	ranks = atoi(getenv("BELFRY_RANKS"));
	setvbuf(stdout, NULL, _IOLBF, 0);
	need(!cudaGetDeviceCount(&gpus) && !cudaSetDevice(rank % gpus), "no GPU");
	if (!rank) {
		need(!nvshmemx_get_uniqueid(&id), "unique id");
		snprintf(made, sizeof(made), "%s.new", file);
		f = fopen(made, "w");
		need(f && fwrite(&id, sizeof(id), 1, f) == 1 && !fclose(f) && !rename(made, file), file);
	} else {
		while (!(f = fopen(file, "r")))
			usleep(10000);
		need(fread(&id, sizeof(id), 1, f) == 1, file);
		fclose(f);
	}
	nvshmemx_set_attr_uniqueid_args(rank, ranks, &id, &attr);
	need(!nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr), "nvshmemx_init_attr");
}

#endif
