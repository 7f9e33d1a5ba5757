/* What GPUs there are for `belfry exec --gpu`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compiler.h"
#include "tools/exec/gpu.h"

/*
 * h100, h200: CUDA device attributes of these GPUs as their driver reports them. cc120: a GPU of compute capability
 * 12.0, for libraries that carry PTX of their newest architecture only; limits by the CUDA C++ Programming Guide, table
 * "Technical Specifications per Compute Capability", the number of SMs and the memory assumed.
 */
static const struct bf_exec_gpu_profile profiles[] = {
	{ "h100", "Belfry H100", 9, 0, 132, 2048, 32, 228u << 10, 227u << 10, 1980000, 2619000, 5120, 50u << 20,
	  80ull << 30 },
	{ "h200", "Belfry H200", 9, 0, 132, 2048, 32, 228u << 10, 227u << 10, 1980000, 3201000, 6144, 60u << 20,
	  141ull << 30 },
	{ "cc120", "Belfry CC 12.0", 12, 0, 84, 1536, 24, 100u << 10, 99u << 10, 2000000, 14001000, 256, 64u << 20,
	  32ull << 30 },
};

int bf_exec_gpu_parse(const char *text, uint32_t *count, const struct bf_exec_gpu_profile **profile, char *why,
		      size_t cap)
{
	char *end;
	const unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || !n || n > BF_EXEC_GPUS_MAX || (*end && *end != ':')) {
		snprintf(why, cap, "must be N or N:PROFILE, N from 1 to %u", BF_EXEC_GPUS_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i < BF_ARRAY_LEN(profiles); i++)
		if (!*end || !strcmp(end + 1, profiles[i].name)) {
			if (count)
				*count = (uint32_t)n;
			if (profile)
				*profile = &profiles[i];
			return 0;
		}
	snprintf(why, cap, "no GPU profile '%s': there are h100, h200 and cc120", end + 1);
	return -EINVAL;
}
