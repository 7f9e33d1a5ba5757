#!/bin/sh
# NCCL under `belfry exec --gpu`, built from its public source with the shared runtime: tests/long/cuda/nccl_sums.cu
# compares each result with what the sum must be. Two ranks over NET/IB, then with GPUDirect RDMA, shared memory, and
# the peer's memory; then four ranks, and two and four GPUs of one process. NCCL_HOME is the build folder; the
# functions that the test needs are built with
#
#	make src.build BUILDDIR=$NCCL_HOME CUDARTLIB="cudart -lcudadevrt" \
#		NVCC_GENCODE="-gencode=arch=compute_90,code=compute_90" \
#		ONLY_FUNCS='AllReduce Sum f32 * *|AllReduce Sum i32 * *|AllGather * *|ReduceScatter Sum f32 * *|SendRecv'
#
# and those for sums of all types, which are compared if NCCL_TYPES=every, with
#
#		ONLY_FUNCS='AllReduce Sum * RING *|AllGather RING *|ReduceScatter Sum * RING *|SendRecv'
#
# A toolkit that has a nccl.h of its own shadows NCCL's headers: then CUDA_INC names a folder of links without it.
#
#	NCCL_HOME=... BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/exec_nccl.sh
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$PATH:/usr/local/cuda/bin"
skip() {
	echo "SKIPPED exec_nccl: $*"
	exit 77
}
command -v nvcc >/dev/null || skip 'no nvcc'
[ -e "${NCCL_HOME:-}/lib/libnccl.so" ] || skip 'NCCL_HOME names no folder where NCCL was built'

nvcc -O2 -std=c++17 -arch=sm_90 -cudart shared -I"$NCCL_HOME/include" -o "$work/nccl_sums" \
	"$BELFRY_SOURCE_DIR/tests/long/cuda/nccl_sums.cu" -L"$NCCL_HOME/lib" -lnccl
cat >"$work/rank" <<END
#!/bin/sh
exec "$work/nccl_sums" \$BELFRY_RANK \$RANKS \$IDENTITY \$COUNT ${NCCL_TYPES:-}
END
chmod +x "$work/rank"
export LD_LIBRARY_PATH="$NCCL_HOME/lib" NCCL_SOCKET_IFNAME=lo NCCL_IB_GID_INDEX=1
export NCCL_ALGO=RING NCCL_MAX_NCHANNELS=1 NCCL_SHM_DISABLE=1 NCCL_P2P_DISABLE=1

# run RANKS COUNT: each rank says that its sums are right.
run() {
	export RANKS=$1 COUNT=$2 IDENTITY="$work/identity.$1.$2.${NCCL_PROTO:-any}"
	timeout 100 "$BELFRY" launch -n "$1" -- "$BELFRY" exec --gpu 1 ${EXEC_OPTIONS:-} -- "$work/rank" >"$work/out" 2>&1 || {
		cat "$work/out"
		echo "$1 ranks, $2 numbers: failed"
		exit 1
	}
	[ "$(grep -c "^ok rank .* of $1, $2 each" "$work/out")" = "$1" ] || {
		cat "$work/out"
		echo "$1 ranks, $2 numbers: not all ranks say ok"
		exit 1
	}
}

run 2 1
for NCCL_PROTO in LL LL128 SIMPLE; do
	export NCCL_PROTO
	run 2 5000
done
unset NCCL_PROTO
run 4 1000
# How ranks reach each other is in NCCL's own words.
reached() {
	grep -q " via $1" "$work/out" || {
		cat "$work/out"
		echo "not by $1"
		exit 1
	}
}
export NCCL_DEBUG=INFO
# several GPUS HOW: as many threads of one process, each with a GPU.
several() {
	timeout 100 "$BELFRY" exec --gpu "$1" -- "$work/nccl_sums" 0 "$1" - 1000 ${NCCL_TYPES:-} >"$work/out" 2>&1 || {
		cat "$work/out"
		echo "$1 GPUs of one process: failed"
		exit 1
	}
	[ "$(grep -c "^ok rank .* of $1, 1000 each" "$work/out")" = "$1" ] || {
		cat "$work/out"
		echo "$1 GPUs of one process: not all say ok"
		exit 1
	}
	reached "$2"
}
several 2 NET/IB
NCCL_NET_GDR_LEVEL=SYS run 2 3000
reached 'NET/IB/0/GDRDMA'
unset NCCL_SHM_DISABLE
run 2 3001
reached SHM
run 4 3001
reached SHM
several 4 SHM
unset NCCL_P2P_DISABLE
run 2 3002
reached P2P/CUMEM
several 2 P2P/direct
export NCCL_P2P_LEVEL=SYS # for four GPUs it prefers shared memory
run 4 3002
reached P2P/CUMEM
several 4 P2P/direct
echo 'ok exec_nccl'
