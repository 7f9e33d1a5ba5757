#!/bin/sh
# The device code of the IBGDA, GIN, NVMe and SDMA drivers compiles as CUDA without a warning: for the H100's generation
# and for the oldest that nvcc knows; that of the barrier driver, and the tools that measure a GPU, for Hopper.
set -eu

nvcc=$(command -v nvcc || true)
[ -n "$nvcc" ] || nvcc=/usr/local/cuda/bin/nvcc
if [ ! -x "$nvcc" ]; then
	echo "skipped: no nvcc (CUDA toolkit) on this machine"
	exit 77
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat > "$dir/kernels.cu" <<'CU'
#include "drivers/platform/platform_cuda.h"

#include "drivers/ibgda/kernels_internal.h"

__global__ void work(const struct bf_ibgda_job *job, int what)
{
	struct bf_thread t;

	bf_ibgda_work(&t, job, (enum bf_ibgda_work)what);
}

/* What the workloads do not use. */
__global__ void rest(struct bf_ibgda_state *state, void *dst, void *src, uint64_t *out)
{
	struct bf_thread t;
	struct bf_ibgda_qp *qp = bf_ibgda_rc(state, 1, 0);

	bf_ibgda_p_warp(&t, state, qp, dst, 1, 8, BF_IBGDA_ALWAYS_POST);
	bf_ibgda_g(&t, BF_FULL_WARP, state, qp, src, 4, out);
	bf_ibgda_post_recv(&t, state, qp, 1);
	bf_ibgda_poll_recv(&t, state, qp, 1);
	bf_fence_sys(&t);
}

__global__ void by_pe(struct bf_ibgda_state *state, void *dst, void *src, struct bf_ibgda_signal *signal)
{
	struct bf_thread t;

	bf_ibgda_pe_put_signal(&t, BF_FULL_WARP, state, 1, BF_IBGDA_QP_ANY, dst, src, 64, signal);
	bf_ibgda_pe_fence(&t, BF_FULL_WARP, state);
	bf_ibgda_enforce_consistency(&t, state, 1);
}

__global__ void move(struct bf_ibgda_state *state, struct bf_ibgda_replay *out)
{
	struct bf_thread t;

	bf_ibgda_fail_over(&t, state, &state->globalmem.rcs[1], 0, out);
	bf_ibgda_reopen(&t, &state->globalmem.rcs[1]);
	bf_ibgda_fail_back(&t, state, &state->globalmem.backups[1]);
}
CU

cat > "$dir/gin.cu" <<'CU'
#include "drivers/platform/platform_cuda.h"

#include "drivers/gin/kernels_internal.h"

__global__ void work(const struct bf_gin_job *job)
{
	struct bf_thread t;

	bf_gin_issue(&t, job);
}
CU

cat > "$dir/sdma.cu" <<'CU'
#include "drivers/platform/platform_cuda.h"

#include "drivers/sdma/copy.h"
#include "drivers/sdma/kernels_internal.h"

__global__ void work(const struct bf_sdma_drv_job *job)
{
	struct bf_thread t;

	bf_sdma_drv_work(&t, job);
}

__global__ void build(const struct bf_sdma_drv_caps *caps, uint32_t *dw, const struct bf_sdma_drv_rect *rect, uint32_t *n)
{
	struct bf_sdma_drv_body b;

	bf_sdma_drv_body_begin(&b, caps, 0, dw, 64);
	bf_sdma_drv_copy(&b, 4096, 8192, 100);
	bf_sdma_drv_broadcast(&b, 4096, 8192, 16384, 100);
	bf_sdma_drv_fill(&b, 4096, 0, 25);
	bf_sdma_drv_order(&b);
	*n = bf_sdma_drv_rect_copy(&b, rect) == BF_SDMA_DRV_RECT_OK ? b.n : 0;
}
CU

cat > "$dir/nvme.cu" <<'CU'
#include "drivers/platform/platform_cuda.h"

#include "drivers/nvme/kernels_internal.h"

__global__ void io(const struct bf_nvme_drv_job *job, int what)
{
	struct bf_thread t;

	bf_nvme_drv_work_io(&t, job, (enum bf_nvme_drv_work)what);
}

__global__ void admin(const struct bf_nvme_drv_job *job)
{
	struct bf_thread t;

	bf_nvme_drv_work_admin(&t, job);
	bf_nvme_drv_work_ring(&t, job);
}

__global__ void bring_up(struct bf_nvme_drv_boot *boot)
{
	struct bf_thread t;

	bf_nvme_drv_bring_up(&t, boot);
	bf_nvme_drv_shut_down(&t, boot);
}
CU

cat > "$dir/mbarrier.cu" <<'CU'
#include "drivers/platform/platform_mbarrier_cuda.h"

#include "drivers/mbarrier/kernels_internal.h"

__global__ void __launch_bounds__(992) work(const __grid_constant__ struct bf_mbar_job job)
{
	struct bf_thread t;

	bf_mbar_work(&t, &job);
}

/* What the workloads do not use. */
__global__ void rest(struct bf_mbar_note *note)
{
	struct bf_thread t;
	const uint32_t a = bf_shared_base(&t), peer = bf_shared_map(&t, a, 0);

	bf_named_sync(&t, 1, 64);
	bf_tma_send(&t, peer + 1024, a + 1024, 16, peer);
	bf_bar_arrive_tx_cluster(&t, peer, 16);
	note->word = bf_bar_arrive_tx_token(&t, a, 16);
}
CU

# Barriers need Hopper.
"$nvcc" -Werror all-warnings -gencode arch=compute_90a,code=sm_90a -I "${BELFRY_SOURCE_DIR:-.}" -c -o "$dir/mbarrier.o" \
	"$dir/mbarrier.cu"
for tool in calibrate compare; do
	"$nvcc" -Werror all-warnings -std=c++17 -gencode arch=compute_90a,code=sm_90a -I "${BELFRY_SOURCE_DIR:-.}" -c \
		-o "$dir/$tool.o" "${BELFRY_SOURCE_DIR:-.}/tools/calibrate/$tool.cu"
done
echo "compiled for sm_90a"

# What the optimizer has to say it says of the newer one; for the oldest it is left out where nvcc can do without. The
# kernels of every workload of a NIC in one unit take it a minute, those of NVMe a quarter: test_ptx_agent.sh optimizes
# them, and runs them.
fast=
"$nvcc" --help | grep -q -e '--Ofast-compile' && fast=-Ofc=max
oldest=$("$nvcc" --list-gpu-code | head -n 1)
# compiled UNIT ARCH [OPTION...]
compiled() {
	unit=$1 arch=$2
	shift 2
	"$nvcc" -Werror all-warnings "$@" -arch="$arch" -I "${BELFRY_SOURCE_DIR:-.}" -c -o "$dir/$unit.o" "$dir/$unit.cu"
}
for unit in kernels gin nvme sdma; do
	compiled $unit "$oldest" $fast
done
echo "compiled for $oldest"
compiled kernels sm_90 $fast
compiled gin sm_90 $fast
compiled nvme sm_90 $fast
compiled sdma sm_90
echo "compiled for sm_90"
