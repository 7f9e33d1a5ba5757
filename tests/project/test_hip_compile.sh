#!/bin/sh
# The device code of the IBGDA, GIN, NVMe and SDMA drivers compiles for AMD GPUs without a warning: clang alone, without
# ROCm, so what platform_hip.h takes from its header is declared here.
set -eu

clang=$(command -v clang++ || true)
[ -n "$clang" ] || { echo "skipped: no clang++"; exit 77; }
"$clang" -print-targets | grep -q amdgcn || { echo "skipped: this clang knows no AMD GPU"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

mkdir "$dir/hip"
cat > "$dir/hip/hip_runtime.h" <<'HIP'
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __forceinline__ inline __attribute__((always_inline))
struct coordinate {
	unsigned x;
};
#define threadIdx (coordinate{ __builtin_amdgcn_workitem_id_x() })
#define blockIdx (coordinate{ __builtin_amdgcn_workgroup_id_x() })
#define blockDim (coordinate{ __builtin_amdgcn_workgroup_size_x() })
#define gridDim (coordinate{ __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x() })
static inline __device__ long long wall_clock64()
{
	return (long long)__builtin_amdgcn_s_memrealtime();
}
HIP

# unit HEADER JOB CALL OPTIONS: a kernel that does that. The large one is read only: to optimize it takes a minute.
unit() {
	cat > "$dir/unit.hip" <<HIP
#include "drivers/platform/platform_hip.h"

#include "drivers/$1"

__global__ void work(const struct $2 *job, int what)
{
	struct bf_thread t;

	(void)what;
	$3;
}
HIP
	# shellcheck disable=SC2086 # options are words
	"$clang" -x hip --offload-arch=gfx1030 --cuda-device-only -nogpulib -nogpuinc -std=c++17 -Wall -Werror \
		-I "${BELFRY_SOURCE_DIR:-.}" -I "$dir" $4 "$dir/unit.hip"
	echo "compiled $1"
}

unit ibgda/kernels_internal.h bf_ibgda_job 'bf_ibgda_work(&t, job, (enum bf_ibgda_work)what)' -fsyntax-only
unit gin/kernels_internal.h bf_gin_job 'bf_gin_issue(&t, job)' -fsyntax-only
unit nvme/kernels_internal.h bf_nvme_drv_job 'bf_nvme_drv_work_io(&t, job, (enum bf_nvme_drv_work)what)' "-O1 -S -o $dir/unit.s"
unit sdma/kernels_internal.h bf_sdma_drv_job 'bf_sdma_drv_work(&t, job)' "-O1 -S -o $dir/unit.s"
