#!/bin/sh
# CUDA programs that nvcc compiles, under `belfry exec --gpu`: what they print must be what an H100 prints (cuda/*.txt,
# recorded with driver 580.159 and CUDA 13.0). Then start-up, launches and instructions a second. Needs nvcc 13:
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/exec_cuda.sh
set -eu
sources=$BELFRY_SOURCE_DIR/tests/long/cuda
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$PATH:/usr/local/cuda/bin"
command -v nvcc >/dev/null || {
	echo 'SKIPPED exec_cuda: no nvcc'
	exit 77
}
nvcc --version | grep -q 'release 13' || {
	echo 'SKIPPED exec_cuda: not CUDA 13'
	exit 77
}

# compile NAME OPTIONS FILES
compile() {
	name=$1
	shift
	nvcc -O2 -lineinfo -arch=sm_90 -cudart shared -o "$work/$name" "$@"
}

failed=0
# same NAME EXPECTED OPTIONS: prints what the GPU printed.
same() {
	name=$1 expected=$2
	shift 2
	"$BELFRY" exec --gpu 1 "$@" -- "$work/$name" >"$work/out" 2>"$work/err" || {
		echo "$name $*: exit code $?"
		cat "$work/err"
		failed=1
	}
	diff "$sources/$expected.txt" "$work/out" >"$work/diff" || {
		echo "$name $*: not what an H100 prints"
		cat "$work/diff" "$work/err"
		failed=1
	}
}

for name in vector streams groups memory graphs capture pools; do
	compile $name "$sources/$name.cu"
done
compile forms "$sources/forms.cu" -lcuda
compile faults "$sources/faults.cu"
compile perthread -default-stream per-thread "$sources/perthread.cu" -lcuda
compile conditions -rdc=true "$sources/conditions.cu" -lcudadevrt
compile linked -rdc=true "$sources/linked.cu" "$sources/linked_more.cu"
compile linked_lz4 -rdc=true --compress-mode=speed "$sources/linked.cu" "$sources/linked_more.cu"
for ordering in sc gpu adversarial; do
	for name in vector streams groups memory graphs capture pools linked perthread conditions forms faults; do
		same $name $name --ordering $ordering
	done
	same linked_lz4 linked --ordering $ordering
done
compile speed "$sources/speed.cu"
"$BELFRY" exec --gpu 1 -- "$work/speed"
[ $failed = 0 ] && echo 'ok exec_cuda'
exit $failed
