#!/bin/bash
# Verdicts on the fences of device code that others wrote: NVSHMEM's IBGDA, DeepEP's posting, GPUNetIO's put, unmodified,
# as nvcc compiles them, two blocks on one queue pair (cuda/fences_*.cu call them), with rings in the GPU's memory and in
# the host's. docs/memory-model.md has the table; here the verdicts that its text rests on are compared. Needs nvcc 13 and
# checkouts of NVIDIA/nvshmem (2d7d25f), deepseek-ai/DeepEP (dd758ca) and NVIDIA-DOCA/gpunetio (467c76a):
#
#	NVSHMEM=DIR DEEPEP=DIR GPUNETIO=DIR BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/fences_originals.sh
set -u
export PATH="$PATH:/usr/local/cuda/bin"
skip() {
	echo "SKIPPED fences_originals: $1"
	exit 77
}
[ -f "${NVSHMEM:-}/src/include/nvshmem.h" ] || skip 'NVSHMEM names no checkout of nvshmem'
[ -f "${DEEPEP:-}/csrc/kernels/legacy/ibgda_device.cuh" ] || skip 'DEEPEP names no checkout of DeepEP'
[ -f "${GPUNETIO:-}/include/device/doca_gpunetio_dev_verbs_qp.cuh" ] || skip 'GPUNETIO names no checkout of gpunetio'
command -v nvcc >/dev/null || skip 'no nvcc'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# compile NAME SOURCE OPTION...
compile() {
	local name=$1 source=$2
	shift 2
	nvcc -ptx -w --std=c++17 -arch=sm_90 --expt-relaxed-constexpr --extended-lambda -lineinfo "$@" -o "$work/$name.ptx" \
		"$BELFRY_SOURCE_DIR/tests/long/cuda/fences_$source.cu" || exit 1
}
compile nvshmem nvshmem -rdc=true -I"$NVSHMEM/src/include"
compile nvshmem_host nvshmem -rdc=true -I"$NVSHMEM/src/include" -DHOST
compile deepep deepep -rdc=true -I"$DEEPEP/deep_ep/include" -I"$DEEPEP/csrc" -I"$NVSHMEM/src/include"
compile gpunetio gpunetio -I"$GPUNETIO/include" -I"$GPUNETIO/include/host" -I"$GPUNETIO/include/device" -I"$GPUNETIO/include/common"

# verdicts NAME OPTION...: in $work/out
verdicts() {
	local name=$1
	shift
	echo "== $name $*"
	"$BELFRY" fences ptx "$work/$name.ptx" --kernel post --prepare prepare --grid 2 --same 32 --collapsed "$@" \
		--arg mlx5:sq --arg mlx5:dbrec --arg mlx5:doorbell --arg mlx5:cq --arg mlx5:qpn --arg mlx5:wqebbs \
		--arg mlx5:local --arg mlx5:local-va --arg mlx5:lkey --arg mlx5:remote-va --arg mlx5:rkey >"$work/out" 2>&1
	grep -vE '^    belfry ' "$work/out" | sed "s|$work/||; s/: ORDER-.*//" | cut -c 1-240
}
# has VERDICT TEXT...: each line of source that ends so has that verdict.
has() {
	local verdict=$1 text
	shift
	for text; do
		grep -B1 -F "$text" "$work/out" | head -1 | grep -q ": $verdict" || { echo "FAILED: '$text' is not '$verdict'"; failed=1; }
	done
}

verdicts deepep
has needed 'membar.gl at ibgda_device.cuh:153' 'st.release.gpu.global.L1::no_allocate.b64 at utils.cuh:264'
has redundant 'st.release.gpu.global.L1::no_allocate.b32 at utils.cuh:260'
verdicts deepep --rings-in-host
grep -q '^as it is: .*something is missing' "$work/out" || { echo 'FAILED: nothing is missing'; failed=1; }
verdicts nvshmem
has needed 'membar.gl at ibgda_device.cuh:227 in ibgda_device.cuh:1676' 'membar.gl at ibgda_device.cuh:241 in ibgda_device.cuh:1631'
has redundant 'membar.gl at ibgda_device.cuh:241 in ibgda_device.cuh:1629'
verdicts nvshmem_host --rings-in-host
has needed 'membar.sys at ibgda_device.cuh:243 in ibgda_device.cuh:1631'
verdicts gpunetio
has needed 'doca_gpunetio_dev_verbs_qp.cuh:139' 'doca_gpunetio_dev_verbs_qp.cuh:293'
verdicts gpunetio --rings-in-host
exit $failed
