#!/bin/sh
# GPUNetIO's and NCCL's device headers, unmodified, as judges of drivers/gin: for the same calls the same steps as
# tests/drivers/gin_original.txt and gin_nccl.txt, which test_drivers_gin_original holds drivers/gin to. Then each doubt
# about them, shown or cleared by a kernel of tests/long/cuda/gin_original.cu and gin_nccl.cu. Needs nvcc 13 and checkouts
# of NVIDIA-DOCA/gpunetio (467c76a) and, for its part, NVIDIA/nccl (5067397) with the nccl.h that its build makes:
#
#	GPUNETIO=../gpunetio NCCL=../nccl NCCL_H=../nccl/build/include BELFRY=build/release/tools/belfry \
#	BELFRY_SOURCE_DIR=. tests/long/gin_original.sh [--update]
set -eu
sources=$BELFRY_SOURCE_DIR/tests/long/cuda
recorded=$BELFRY_SOURCE_DIR/tests/drivers
compare=$(dirname "$BELFRY")/../tests/test_drivers_gin_original
export PATH="$PATH:/usr/local/cuda/bin"
skip() {
	echo "SKIPPED gin_original: $1"
	exit 77
}
[ -f "${GPUNETIO:-}/include/device/doca_gpunetio_dev_verbs_qp.cuh" ] || skip 'GPUNETIO names no checkout of gpunetio'
command -v nvcc >/dev/null || skip 'no nvcc'
nvcc --version | grep -q 'release 13' || skip 'not CUDA 13'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compile OUT ARCH HEADERS SOURCE OPTION...
compile() {
	out=$1 arch=$2 headers=$3 source=$4
	shift 4
	nvcc -ptx --std=c++17 -arch=sm_$arch -lineinfo -I "$BELFRY_SOURCE_DIR/tests/drivers" "$@" -I "$headers" \
		-I "$headers/host" -I "$headers/device" -I "$headers/common" -o "$work/$out.ptx" "$sources/$source.cu"
}
# same FLAVOUR PTX FILE
same() {
	"$compare" "$1" "$work/$2.ptx" >"$work/$3"
	[ "$update" = 0 ] || cp "$work/$3" "$recorded/$3"
	cmp "$recorded/$3" "$work/$3"
	echo "ok $1: the same $(wc -l <"$work/$3") lines"
}
update=0
[ "${1:-}" != --update ] || update=1
compile 80 80 "$GPUNETIO/include" gin_original
compile 90 90 "$GPUNETIO/include" gin_original
same gpunetio 90 gin_original.txt
nccl=0
if [ -f "${NCCL:-}/src/include/nccl_device.h" ] && [ -f "${NCCL_H:-}/nccl.h" ]; then
	nccl=1
	# Its headers ask for its copy of GPUNetIO as doca_gpunetio/.
	ln -s "$(cd "$NCCL/src/transport/net_ib/gdaki/doca-gpunetio/include" && pwd)" "$work/doca_gpunetio"
	compile nccl 90 "$work/doca_gpunetio" gin_nccl --expt-relaxed-constexpr -I "$work" -I "$NCCL_H" -I "$NCCL/src/include"
	same nccl nccl gin_nccl.txt
else
	echo 'SKIPPED the part of NCCL: NCCL and NCCL_H name no checkout'
fi

failed=0
# doubt PTX EXPECTED KERNEL OPTIONS: what the trial says of it, in its words.
doubt() {
	arch=$1 expected=$2 kernel=$3
	shift 3
	"$BELFRY" ptx trial "$work/$arch.ptx" --kernel "$kernel" --arg mlx5:sq --arg mlx5:cq --arg mlx5:dbrec \
		--arg mlx5:doorbell --arg mlx5:qpn --arg mlx5:wqebbs --arg mlx5:cqes --arg mlx5:local-va --arg mlx5:lkey \
		--arg mlx5:remote-va --arg mlx5:rkey "$@" >"$work/out" 2>&1 || true
	if grep -qE -- "$expected" "$work/out"; then
		echo "ok $arch $kernel $*: $expected"
	else
		echo "FAILED $arch $kernel $*: not '$expected':"
		cat "$work/out"
		failed=1
	fi
}

doubt 90 '^plain: good in' plain --arg u32:8 --same 512
# A collapsed CQ: with the last index the poll ends one entry early, with the number of entries it does not.
doubt 90 'assertion .tail >> 16 == ticket' collapsed --collapsed --arg u32:0
doubt 90 '^collapsed: good in' collapsed --collapsed --arg u32:1
# Bytes 0xff of a reset CQ: taken for a success where only the owner bit is looked at.
doubt 90 'assertion .*EBUSY' filler
doubt 80 '^filler: good in' filler
# A wait behind aggregated puts alone.
doubt 90 '^unrung: stuck' unrung --arg u32:4
doubt 90 '^unrung: good in' unrung --arg u32:0 --same 128
# A wait ends as if all were well, the poll below it does not.
doubt 90 "^what: the peer's memory" error --arg u32:0 --same 64
doubt 90 'assertion .*poll_cq_at.* == 0' error --arg u32:1
# One ring of CQEs behind an error the poll sees nothing any more.
doubt 90 '^after_error: right by luck' after_error --arg mlx5:cq-dbrec --arg u32:127
doubt 90 '^after_error: stuck' after_error --arg mlx5:cq-dbrec --arg u32:128
doubt 90 '^too_many: good in' too_many --arg u32:64
doubt 90 '^too_many: stuck' too_many --arg u32:65
# A get of nothing: the first one waits forever, a later one publishes a slot that was not built.
doubt 90 '^get_nothing: stuck' get_nothing --arg u32:0
doubt 90 'MLX5-ENTRY-INDEX, the root cause' get_nothing --arg u32:3
# The entry in shared memory is copied by the async proxy, and no fence says so.
doubt 90 'HOPPER-PROXY-FENCE, the root cause' blue_flame --arg u32:8 --same 512
# Below sm_90 a fence is a release store to the stack, which by PTX's model orders nothing behind itself.
doubt 80 'MLX5-DOORBELL-FIRST, the root cause' blue_flame --arg u32:8 --same 512
if [ $nccl = 1 ]; then
	doubt nccl '^nccl_flush: stuck' nccl_flush --arg u32:4
	doubt nccl '^nccl_flush: good in' nccl_flush --arg u32:0 --same 128
	# An error: without a flag for abort the flush ends as if all were well, with one it spins.
	doubt nccl "^what: the peer's memory" nccl_error --arg u32:0 --same 64
	doubt nccl '^nccl_error: time limit' nccl_error --arg u32:1
fi
[ $failed = 0 ] && echo 'ok gin_original'
exit $failed
