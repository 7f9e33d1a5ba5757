#!/bin/sh
# CUDA programs that nvcc compiles, under `belfry exec --gpu`: what they print must be what an H100 prints (cuda/*.txt,
# recorded with driver 580.159 and CUDA 13.0). Then start-up, launches and instructions a second. Needs nvcc 12 or 13:
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
# Calls of some programs differ in CUDA 12; the others print the same there.
names='vector streams memory pools linked faults'
packed=-Xfatbinary=-compress-all
nvcc --version | grep -q 'release 13' && {
	names="$names groups graphs capture perthread conditions forms"
	packed=--compress-mode=speed
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

for name in $names; do
	case $name in
	linked) compile linked -rdc=true "$sources/linked.cu" "$sources/linked_more.cu" ;;
	perthread) compile perthread -default-stream per-thread "$sources/perthread.cu" -lcuda ;;
	conditions) compile conditions -rdc=true "$sources/conditions.cu" -lcudadevrt ;;
	forms) compile forms "$sources/forms.cu" -lcuda ;;
	*) compile $name "$sources/$name.cu" ;;
	esac
done
compile linked_packed -rdc=true $packed "$sources/linked.cu" "$sources/linked_more.cu"
for ordering in sc gpu adversarial; do
	for name in $names; do
		same $name $name --ordering $ordering
	done
	same linked_packed linked --ordering $ordering
done
compile speed "$sources/speed.cu"
"$BELFRY" exec --gpu 1 -- "$work/speed"
[ $failed = 0 ] && echo 'ok exec_cuda'
exit $failed
