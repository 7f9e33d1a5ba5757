#!/bin/bash
# NVSHMEM and DeepEP under `belfry exec --gpu`, without a GPU: puts, gets, atomics and signals of NVSHMEM's IBGDA transport
# from kernels, and DeepEP's low-latency dispatch and combine, unmodified, between 2, 4, 8 and 16 processes. What arrives
# is compared byte by byte. Needs nvcc 13, what cuda/nvshmem_build.sh makes, and for the second part DeepEP's source:
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. NVSHMEM_HOME=DIR DEEPEP_SOURCE=DIR tests/long/exec_nvshmem_gpu.sh
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tests=$BELFRY_SOURCE_DIR/tests/long

skip() {
	echo "SKIPPED exec_nvshmem_gpu: $1"
	exit 77
}

export CUDA_HOME=${CUDA_HOME:-/usr/local/cuda} PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin"
command -v nvcc >/dev/null && nvcc --version | grep -q 'release 13' || skip 'no nvcc 13'
home=${NVSHMEM_HOME:-}
[ -e "$home/device/transfer_device.o" ] || skip 'NVSHMEM_HOME has nothing that tests/long/cuda/nvshmem_build.sh made'
nvcc="nvcc -std=c++17 -O2 -rdc=true -lineinfo -gencode arch=compute_90,code=compute_90 -I$home/include -I$BELFRY_SOURCE_DIR"

# link NAME OBJECT...
link() {
	local name=$1
	shift
	"$tests/cuda/device_link.sh" "$work/$name.link.o" "$@" "$home"/device/*.o &&
		g++ -o "$work/$name" "$@" "$work/$name.link.o" -L"$home/lib" -lnvshmem_device -lnvshmem_host \
			-L"$CUDA_HOME/lib64" -lcudart -ldl -lpthread -lrt
}

export LD_LIBRARY_PATH=$home/lib:$CUDA_HOME/lib64
export NVSHMEM_IB_ENABLE_IBGDA=1 NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_DISABLE_P2P=1 NVSHMEM_DISABLE_NVLS=1
export NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo NVSHMEM_SYMMETRIC_SIZE=64M MLX5_SCATTER_TO_CQE=0
export NVSHMEM_IBGDA_NUM_RC_PER_PE=1 NVSHMEM_MAX_TEAMS=7
export NVSHMEM_DISABLE_LOCAL_ONLY_PROXY=1 # a thread that polls a word, where there is no processor for it
failed=0

# ranks N OPTIONS -- PROGRAM ARGUMENTS: the program gets the file for the id as its first argument.
ranks() {
	local n=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -f "$work/id"
	timeout -s KILL 600 "$BELFRY" launch -n "$n" -- "$BELFRY" exec --gpu 1 --blueflame --net "nvshmem-$$" \
		"${options[@]}" -- "$work/$1" "$work/id" "${@:2}" >"$work/out" 2>&1
}

# good NAME N: each of the N processes has said that its data are right.
good() {
	if [ "$3" = 0 ] && [ "$(grep -c 'good$' "$work/out")" = "$2" ]; then
		echo "ok $1"
		return
	fi
	echo "FAILED: $1"
	grep -v '^$' "$work/out" | tail -20
	failed=1
}

$nvcc -c -o "$work/put.o" "$tests/nvshmem_put.cu" && link put "$work/put.o" || exit 1
ranks 2 -- put 10
good 'nvshmem: put, put with signal, atomic, get by 2 ranks' 2 $?
grep 'a second' "$work/out"
ranks 2 --ordering gpu -- put 0
good 'nvshmem: the same with the ordering of a GPU' 2 $?

$nvcc -c -o "$work/wqe.o" "$tests/cuda/nvshmem_wqe.cu" && link wqe "$work/wqe.o" || exit 1
ranks 2 -- wqe
if [ $? = 0 ]; then
	grep 'calls post the same bytes' "$work/out"
else
	echo 'FAILED: NVSHMEM and drivers/ibgda post other entries'
	grep -v '^$' "$work/out" | tail -20
	failed=1
fi

[ -e "${DEEPEP_SOURCE:-}/csrc/kernels/legacy/internode_ll.cu" ] || {
	echo 'SKIPPED deepep: DEEPEP_SOURCE has no csrc/kernels/legacy/internode_ll.cu'
	exit $failed
}
nvcc="$nvcc --expt-relaxed-constexpr --extended-lambda --diag-suppress=128,2417 -I$DEEPEP_SOURCE/deep_ep/include"
nvcc="$nvcc -I$DEEPEP_SOURCE/csrc"
$nvcc -c -o "$work/kernels.o" "$DEEPEP_SOURCE/csrc/kernels/legacy/internode_ll.cu" &&
	$nvcc -c -o "$work/host.o" "$tests/cuda/deepep_ll.cu" && link deepep "$work/host.o" "$work/kernels.o" || exit 1
for n in 2 4 8 16; do
	begin=$(date +%s)
	if [ $n -lt 16 ]; then
		ranks $n -- deepep 2 16 1 $((n < 4 ? n : 4)) 8
	else
		ranks $n -- deepep 1 8 1 4 4
	fi
	good "deepep: dispatch and combine by $n ranks" $n $?
	echo "$(($(date +%s) - begin)) s in all"
	grep '^round' "$work/out"
done
# Under late stores its data are right, too, and no rule of order finds anything; docs/exec-gpu.md lists what rules find.
ranks 2 --ordering adversarial --lint -- deepep 1 4 1 2 4
if [ "$(grep -c 'good$' "$work/out")" = 2 ] && ! grep -q 'ORDER-' "$work/out"; then
	echo 'ok deepep: --ordering adversarial --lint'
else
	echo 'FAILED: deepep with --ordering adversarial --lint'
	grep -v '^$' "$work/out" | tail -60
	failed=1
fi
# Without the release at its doorbell the missing fence is named, with the line that stores the record.
cp -r "$DEEPEP_SOURCE/csrc" "$work/csrc"
sed -i 's|st_na_release(bf_ptr, \(.*\));$|*reinterpret_cast<volatile uint64_t*>(bf_ptr) = \1;|' \
	"$work/csrc/kernels/legacy/ibgda_device.cuh"
cmp -s "$work/csrc/kernels/legacy/ibgda_device.cuh" "$DEEPEP_SOURCE/csrc/kernels/legacy/ibgda_device.cuh" && {
	echo 'FAILED: the release at the doorbell of this DeepEP was not found'
	exit 1
}
$nvcc -c -o "$work/broken.o" "$work/csrc/kernels/legacy/internode_ll.cu" && link broken "$work/host.o" "$work/broken.o" || exit 1
ranks 2 --ordering adversarial --lint -- broken 1 4 1 2 4
if grep -A 12 'ORDER-DOORBELL' "$work/out" | grep -q 'at .*/utils.cuh:'; then
	echo 'ok deepep: a doorbell without its release is named'
else
	echo 'FAILED: the missing release was not named'
	grep -v '^$' "$work/out" | tail -60
	failed=1
fi
ranks 4 -- deepep 2 16 1 4 8 fp8
good 'deepep: dispatch with FP8 by 4 ranks' 4 $?
exit $failed
