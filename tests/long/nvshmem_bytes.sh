#!/bin/bash
# What NVSHMEM's own device functions leave in rings, doorbell records and doorbells (cuda/nvshmem_bytes.cu): on a GPU,
# and the same code under `belfry exec --gpu`, byte by byte. A GPU needs no NIC for it. tests/drivers/nvshmem_gpu.txt is
# what an H100 did, and drivers/ibgda is held against it by tests/drivers/test_ibgda_gpu_bytes.c. Needs nvcc 13 and what
# cuda/nvshmem_build.sh makes of NVSHMEM 3.5.1; without a GPU the comparison is with the recorded text:
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. NVSHMEM_HOME=DIR tests/long/nvshmem_bytes.sh
#
# On a machine with a GPU, `nvshmem_bytes.sh record FILE` writes what it did.
set -u
tests=$BELFRY_SOURCE_DIR/tests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
	echo "SKIPPED nvshmem_bytes: $1"
	exit 77
}
export CUDA_HOME=${CUDA_HOME:-/usr/local/cuda} PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin"
command -v nvcc >/dev/null && nvcc --version | grep -q 'release 13' || skip 'no nvcc 13'
[ -e "${NVSHMEM_HOME:-}/include/non_abi/device/pt-to-pt/transfer_device.cuh" ] ||
	skip 'NVSHMEM_HOME has nothing that tests/long/cuda/nvshmem_build.sh made'
nvcc="nvcc -std=c++17 -O2 -w -rdc=true -I$NVSHMEM_HOME/include -I$BELFRY_SOURCE_DIR"
source=$tests/long/cuda/nvshmem_bytes.cu
want=$tests/drivers/nvshmem_gpu.txt

if nvidia-smi -L >/dev/null 2>&1; then
	$nvcc -gencode arch=compute_90,code=sm_90 -cudart static -o "$work/on_gpu" "$source" || exit 1
	"$work/on_gpu" >"$work/gpu.txt" || { echo 'FAILED: nvshmem_bytes on the GPU'; exit 1; }
	[ "${1:-}" = record ] && exec cp "$work/gpu.txt" "$2"
	cmp "$work/gpu.txt" "$want" || { echo 'FAILED: this GPU does something else than the recorded one'; exit 1; }
	echo "ok nvshmem_bytes: as recorded, on $(nvidia-smi -L | sed 's/ (UUID.*//;1q')"
fi
$nvcc -gencode arch=compute_90,code=compute_90 -c -o "$work/ptx.o" "$source" &&
	"$tests/long/cuda/device_link.sh" "$work/link.o" "$work/ptx.o" &&
	g++ -o "$work/by_ptx" "$work/ptx.o" "$work/link.o" -L"$CUDA_HOME/lib64" -lcudart -ldl -lpthread -lrt || exit 1
for ordering in sc gpu adversarial; do
	"$BELFRY" exec --gpu 1 --ordering $ordering -- "$work/by_ptx" >"$work/ptx.txt" && cmp "$work/ptx.txt" "$want" || {
		echo "FAILED: nvshmem_bytes under belfry exec --gpu --ordering $ordering"
		diff "$want" "$work/ptx.txt" | head -20
		exit 1
	}
	echo "ok nvshmem_bytes: $(grep -c '^[^ ]' "$want") calls, the same bytes as on the GPU, --ordering $ordering"
done
