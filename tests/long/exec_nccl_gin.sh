#!/bin/sh
# NCCL's GIN under `belfry exec --gpu`: its GDAKI backend makes the queues by DEVX, and its unmodified device code posts.
# tests/long/cuda/nccl_gin.cu calls all of the device API; then NCCL's own examples of pure GIN and of GIN with memory
# between ranks (docs/examples/06_device_api) run as they are. 2 and 4 ranks, with GDAKI and with NCCL's proxy; last,
# what lint and `explain --stuck` say of them. NCCL is built as tests/long/exec_nccl.sh says; NCCL_SRC is its checkout.
#
#	NCCL_SRC=... NCCL_HOME=... BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/exec_nccl_gin.sh
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$PATH:/usr/local/cuda/bin"
skip() {
	echo "SKIPPED exec_nccl_gin: $*"
	exit 77
}
command -v nvcc >/dev/null || skip 'no nvcc'
[ -e "${NCCL_HOME:-}/lib/libnccl.so" ] || skip 'NCCL_HOME names no folder where NCCL was built'
examples=${NCCL_SRC:-}/docs/examples
[ -d "$examples/06_device_api" ] || skip 'NCCL_SRC names no checkout of NCCL with its examples'

cuda=$BELFRY_SOURCE_DIR/tests/long/cuda
# compile PROGRAM SOURCE...
compile() {
	program=$1
	shift
	nvcc -O2 -std=c++17 -gencode=arch=compute_90,code=compute_90 -lineinfo -cudart shared -I"$NCCL_HOME/include" \
		-I"$examples/common/include" -I"$cuda" -o "$work/$program" "$@" -L"$NCCL_HOME/lib" -lnccl
}
compile calls "$cuda/nccl_gin.cu"
for example in 02_alltoall_gin 03_alltoall_hybrid; do
	compile "$example" "$examples/06_device_api/$example/c/main.cu" "$cuda/nccl_example.cc"
done
cat >"$work/rank" <<END
#!/bin/sh
exec "$work/\$PROGRAM" \$BELFRY_RANK \$RANKS \$IDENTITY
END
chmod +x "$work/rank"
export LD_LIBRARY_PATH="$NCCL_HOME/lib" NCCL_SOCKET_IFNAME=lo NCCL_IB_GID_INDEX=1 NCCL_GIN_ENABLE=1 NCCL_DEBUG=INFO
export NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1

echo 'qp-mute skip=300 count=1' >"$work/plan"
runs=0
# start PROGRAM RANKS BACKEND
start() {
	runs=$((runs + 1))
	export PROGRAM=$1 RANKS=$2 IDENTITY="$work/identity.$runs"
	case $3 in
	gdaki) export NCCL_GIN_TYPE=3 ;;
	proxy) export NCCL_GIN_TYPE=2 NAP=500000 ;;
	esac
	# shellcheck disable=SC2086
	timeout "${LIMIT:-100}" "$BELFRY" launch -n "$2" -- "$BELFRY" exec --gpu 1 ${EXEC_OPTIONS:-} -- "$work/rank" \
		>"$work/out" 2>&1
}
failed() {
	grep -v 'machine code (sm_100)' "$work/out" | tail -n 40
	echo "$*"
	exit 1
}
# run PROGRAM RANKS BACKEND: each rank says that what arrived is right.
run() {
	start "$@" || failed "$*: failed"
	[ "$(grep -c "^ok rank .* of $2" "$work/out")" = "$2" ] || failed "$*: not all ranks say ok"
	! grep -q FAILED "$work/out" || failed "$*: the example says FAILED"
	echo "ok $*${EXEC_OPTIONS:+ ($EXEC_OPTIONS)}"
}

run calls 2 gdaki
grep -q 'Assigned plugin GIN_IB_GDAKI' "$work/out" || failed 'not by GDAKI'
run calls 2 proxy
for ranks in 2 4; do
	run 02_alltoall_gin $ranks gdaki
	run 03_alltoall_hybrid $ranks gdaki
done
run calls 4 gdaki
EXEC_OPTIONS='--ordering gpu' run calls 2 gdaki

# Nothing is wrong with it, and lint finds no error. That the last acknowledgement may be on its way is a warning.
EXEC_OPTIONS="--trace $work/good.%r.bft" run calls 2 gdaki
for rank in 0 1; do
	"$BELFRY" lint "$work/good.$rank.bft" >"$work/lint" 2>&1 || :
	! grep '^error' "$work/lint" || {
		cat "$work/lint"
		failed 'lint accuses NCCL'
	}
done

# NVIDIA/nccl#2383: the answers of one queue pair never come. Its kernels go on waiting, and the trace says for what, and why.
export NCCL_IB_TIMEOUT=15 NCCL_IB_RETRY_CNT=2
LIMIT=25 EXEC_OPTIONS="--trace $work/mute.%r.bft --faults @$work/plan" start calls 2 gdaki && failed 'ended without answers'
for rank in 0 1; do
	"$BELFRY" explain "$work/mute.$rank.bft" --stuck >"$work/stuck" 2>&1 || :
	grep -q 'MLX5-RETRY-EXCEEDED' "$work/stuck" || {
		cat "$work/stuck"
		failed "explain --stuck, rank $rank: not why"
	}
	grep -q 'memory that it polls' "$work/stuck" || {
		cat "$work/stuck"
		failed "explain --stuck, rank $rank: not who waits"
	}
done
echo 'ok exec_nccl_gin'
