#!/bin/bash
# NVIDIA's public CUDA samples under `belfry exec --gpu`: compiled with nvcc and the shared runtime, each run in its
# folder; what exec_samples.txt says of a sample must come out. Needs nvcc and a copy of
# https://github.com/NVIDIA/cuda-samples (commit c94ff366), takes half an hour and is not part of CI:
#
#	BELFRY=build/release/tools/belfry SAMPLES=cuda-samples tests/long/exec_samples.sh [NAME...]
#
# LIMIT is how many seconds a sample may take (60), BUILT a folder that keeps what was compiled.
set -u
source=$(cd "$(dirname "$0")" && pwd)
export PATH="$PATH:/usr/local/cuda/bin"
command -v nvcc >/dev/null && [ -d "${SAMPLES:-}/Samples" ] || {
	echo 'SKIPPED exec_samples: no nvcc, or SAMPLES is no copy of cuda-samples'
	exit 77
}
samples=$(cd "$SAMPLES" && pwd)
belfry=$(realpath "$BELFRY")
work=$(mktemp -d)
built=${BUILT:-$work}
trap 'rm -rf "$work"' EXIT
common="-std=c++17 -O2 -lineinfo -w -arch=sm_90 --extended-lambda -cudart shared -I$samples/Common"

# compile FOLDER NAME: to $built/NAME
compile() {
	local files more='-lcuda' kernel code
	files=$(cd "$1" && find . -name '*.cu' -o -name '*.cpp' -o -name '*.cc' -o -name '*.c' | sort)
	grep -qs 'helper_multiprocess' "$1/CMakeLists.txt" && files="$files $samples/Common/helper_multiprocess.cpp"
	grep -qs 'Common/multithreading' "$1/CMakeLists.txt" && files="$files $samples/Common/multithreading.cpp"
	grep -qsi 'openmp' "$1/CMakeLists.txt" && more="$more -Xcompiler -fopenmp"
	grep -qs 'cuda_std_17\|SEPARABLE_COMPILATION ON' "$1/CMakeLists.txt" && grep -qs 'cdp' <<<"$2" &&
		more="$more -rdc=true -lcudadevrt"
	grep -qs 'cudaGraphSetConditional\|cudaGraphLaunch(.*cudaStreamGraph' "$1"/*.cu && more="$more -rdc=true -lcudadevrt"
	# Samples of the driver API load a kernel's file.
	kernel=$(sed -n 's/.*CMAKE_CURRENT_BINARY_DIR}\/\([^"]*64\.[a-z]*\)".*/\1/p' "$1/CMakeLists.txt" | head -1)
	code=$(sed -n 's/.*KERNEL_SOURCE.*CMAKE_CURRENT_SOURCE_DIR}\/\([^"]*\.cu\)".*/\1/p' "$1/CMakeLists.txt" | head -1)
	if [ -n "$kernel" ] && [ -n "$code" ]; then
		files=$(printf '%s\n' $files | grep -v "/$code\$")
		nvcc "-${kernel##*.}" -arch=sm_90 -O2 -std=c++17 -I"$samples/Common" -o "$1/$kernel" "$1/$code" || return 1
	fi
	(cd "$1" && nvcc $common -Iinc -o "$built/$2" $files $more)
}

# result NAME: what came of it, in a word or two.
result() {
	local code=$1
	if grep -q 'is not there: called' "$work/err"; then
		echo "refused: $(sed -n 's/.*GPU: \(.*\) is not there: called.*/\1/p' "$work/err" | sort -u | paste -sd, | sed 's/,/, /g')"
	elif grep -q 'can reach ' "$work/err"; then
		echo "refused: $(sed -n 's/.*can reach \([a-zA-Z0-9_]*\).*/\1/p' "$work/err" | head -1)"
	elif grep -q 'static CUDA runtime' "$work/err"; then
		echo 'refused: static runtime'
	elif [ "$code" = 124 ] || [ "$code" = 137 ]; then
		echo 'slow'
	elif [ "$code" = 0 ]; then
		echo 'ok'
	elif [ "$code" = 2 ] && grep -qi 'waiv\|requires\|not supported' "$work/out" "$work/err"; then
		echo 'waived'
	else
		echo "exit code $code"
	fi
}

failed=0
while read -r folder want; do
	name=${folder##*/}
	case $folder in '#'* | '') continue ;; esac
	[ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
	[ -x "$built/$name" ] || compile "$samples/Samples/$folder" "$name" >"$work/log" 2>&1 || {
		echo "$folder | not compiled: $(grep -m1 -i 'error' "$work/log")"
		[ "$want" = 'not compiled' ] || failed=1
		continue
	}
	begin=$(date +%s.%N)
	(cd "$samples/Samples/$folder" && timeout -k 5 "${LIMIT:-60}" "$belfry" exec --gpu 1 -- "$built/$name") \
		>"$work/out" 2>"$work/err" </dev/null
	is=$(result $?)
	printf '%s | %s | %.1f s\n' "$folder" "$is" "$(echo "$(date +%s.%N) - $begin" | bc)"
	[ -z "${KEEP:-}" ] || cp "$work/out" "$KEEP/$name.out"
	[ -z "${KEEP:-}" ] || cp "$work/err" "$KEEP/$name.err"
	# What was slow once may be in time on another machine.
	[ "$is" = "$want" ] || [ "$want $is" = "slow ok" ] || failed=1
done <"${LIST:-$source/exec_samples.txt}"
[ $failed = 0 ] && echo 'ok exec_samples'
exit $failed
