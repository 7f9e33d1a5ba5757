#!/bin/bash
# NVSHMEM's own perftest programs, unmodified, under `belfry launch -n N -- belfry exec --gpu 1`: each must end with exit code 0
# (several compare what arrived). They find each other by PMI, NVSHMEM's default. Needs nvcc 13, what cuda/nvshmem_build.sh
# made, and ten minutes of a core to compile the programs once, which PERFTEST_BUILD keeps:
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. NVSHMEM_HOME=DIR [PERFTEST_BUILD=DIR] \
#		tests/long/exec_nvshmem_perftest.sh [NAME...]
set -u
skip() {
	echo "SKIPPED exec_nvshmem_perftest: $1"
	exit 77
}
export CUDA_HOME=${CUDA_HOME:-/usr/local/cuda} PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin"
command -v nvcc >/dev/null && nvcc --version | grep -q 'release 13' || skip 'no nvcc 13'
home=${NVSHMEM_HOME:-}
[ -e "$home/source/perftest/common/utils.cu" ] || skip 'NVSHMEM_HOME has nothing that tests/long/cuda/nvshmem_build.sh made'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=${PERFTEST_BUILD:-$work}
mkdir -p "$build"
build=$(cd "$build" && pwd)
sources=$home/source/perftest
common=$sources/common

# object SOURCE NAME
object() {
	[ -e "$build/$2.o" ] && return
	nvcc -std=c++17 -O2 -rdc=true -lineinfo -gencode arch=compute_90,code=compute_90 -I"$home/include" -I"$home/nvml" \
		-I"$common" -c -o "$build/$2.new.o" "$1" && mv "$build/$2.new.o" "$build/$2.o"
}

# program SOURCE NAME
program() {
	[ -e "$build/$2" ] && return
	object "$sources/common/utils.cu" utils && object "$1" "$2" &&
		"$BELFRY_SOURCE_DIR/tests/long/cuda/device_link.sh" "$build/$2.link.o" "$build/$2.o" "$build/utils.o" \
			"$home"/device/*.o &&
		g++ -o "$build/$2" "$build/$2.o" "$build/utils.o" "$build/$2.link.o" -L"$home/lib" -lnvshmem_device \
			-lnvshmem_host -L"$CUDA_HOME/lib64" -L"$CUDA_HOME/lib64/stubs" -lcudart -lcuda -ldl -lpthread -lrt
}

export LD_LIBRARY_PATH=$home/lib:$CUDA_HOME/lib64
export NVSHMEM_IB_ENABLE_IBGDA=1 NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_DISABLE_P2P=1 NVSHMEM_DISABLE_NVLS=1
export NVSHMEM_DISABLE_NCCL=1 NVSHMEM_SYMMETRIC_SIZE=64M NVSHMEM_MAX_TEAMS=7 MLX5_SCATTER_TO_CQE=0
export NVSHMEM_DISABLE_LOCAL_ONLY_PROXY=1 # a thread that polls a word, where there is no processor for it
failed=0

# ranks N NAME SOURCE OPTIONS...
ranks() {
	local n=$1 name=$2 source=$3
	shift 3
	program "$sources/$source" "$name" || exit 1
	if timeout -s KILL 300 "$BELFRY" launch -n "$n" -- "$BELFRY" exec --gpu 1 --blueflame --net "perftest-$$" -- \
		"$build/$name" "$@" >"$work/out" 2>&1; then
		echo "ok $name, $n ranks"
		return
	fi
	echo "FAILED: $name, $n ranks"
	tail -20 "$work/out"
	failed=1
}

# Of a library built without-reductions these names are missing.
reductions() {
	! grep -qs 'rdxn_on_stream_kernelIf' "$home/build/missing"
}

# It clears its flag behind a barrier and begins without another one, so it hangs when a process is late. In a copy that
# has the barrier nothing else is changed.
ping_pong() {
	cp -r "$sources/common" "$work/common"
	sed -i 's/cudaEventRecord(start, stream);/nvshmem_barrier_all(); &/' "$work/common/atomic_ping_pong_common.h"
	common=$work/common
	ranks 2 atomic_ping_pong_with_barrier "$1" "${@:2}"
	common=$sources/common
}

wanted=" $* "
for source in "$sources"/device/pt-to-pt/*.cu "$sources"/device/coll/*.cu "$sources"/host/coll/*.cpp "$sources"/host/pt-to-pt/*.cpp; do
	source=${source#"$sources/"}
	name=$(basename "${source%.*}")
	[ "$wanted" = '  ' ] || [[ $wanted = *" $name "* ]] || continue
	case $source in
	*redmaxloc*) continue ;; # docs/exec-gpu.md says why
	*bcast* | host/coll/red*) reductions || {
		echo "SKIPPED $name: NVSHMEM was built without-reductions"
		continue
	} ;;
	esac
	case $source in
	*shmem_atomic_ping_pong_latency.cu) ping_pong "$source" -b 8 -e 8 -n 10 -w 1 -c 1 -t 32 ;;
	host/coll/red*)
		ranks 2 "$name" "$source" -b 8 -e 64 -n 3 -w 1 -c 1 -t 32
		ranks 4 "$name" "$source" -b 8 -e 64 -n 3 -w 1 -c 1 -t 32 -d float -o max
		;;
	device/pt-to-pt/* | host/pt-to-pt/*) ranks 2 "$name" "$source" -b 8 -e 64 -n 10 -w 1 -c 1 -t 32 ;;
	device/coll/*)
		ranks 2 "$name" "$source" -b 8 -e 16 -n 3 -w 1 -c 1 -t 32
		ranks 4 "$name" "$source" -b 8 -e 16 -n 3 -w 1 -c 1 -t 32
		;;
	host/coll/*)
		ranks 2 "$name" "$source" -b 8 -e 64 -n 3 -w 1 -c 1 -t 32
		ranks 4 "$name" "$source" -b 8 -e 64 -n 3 -w 1 -c 1 -t 32
		;;
	esac
done
[ $failed = 0 ] && echo 'ok exec_nvshmem_perftest'
exit $failed
