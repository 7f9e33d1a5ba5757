// How the ranks of an NCCL program meet without MPI: the first writes the communicator's identity into a file.
#ifndef BELFRY_TESTS_LONG_CUDA_NCCL_START_H
#define BELFRY_TESTS_LONG_CUDA_NCCL_START_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <nccl.h>
#include <string>
#include <unistd.h>

#define CK(x)                                                                                                          \
	do {                                                                                                           \
		cudaError_t e_ = (x);                                                                                  \
		if (e_ != cudaSuccess) {                                                                               \
			printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                     \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)
#define NK(x)                                                                                                          \
	do {                                                                                                           \
		ncclResult_t e_ = (x);                                                                                 \
		if (e_ != ncclSuccess) {                                                                               \
			printf("line %d: %s\n", __LINE__, ncclGetErrorString(e_));                                     \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

// Rank 0 brings `id`; the others get it.
static inline void share_identity(int rank, const std::string &path, ncclUniqueId *id)
{
	const std::string made = path + ".new";

	if (!rank) {
		FILE *f = fopen(made.c_str(), "wb");

		if (!f || fwrite(id, sizeof(*id), 1, f) != 1 || fclose(f) || rename(made.c_str(), path.c_str())) {
			printf("%s: cannot be written\n", made.c_str());
			exit(1);
		}
		return;
	}
	for (;;) {
		FILE *f = fopen(path.c_str(), "rb");

		if (f) {
			if (fread(id, sizeof(*id), 1, f) != 1)
				exit(1);
			fclose(f);
			return;
		}
		usleep(10000);
	}
}

static inline ncclUniqueId identity(int rank, const std::string &path)
{
	ncclUniqueId id;

	if (!rank)
		NK(ncclGetUniqueId(&id));
	share_identity(rank, path, &id);
	return id;
}

#endif
