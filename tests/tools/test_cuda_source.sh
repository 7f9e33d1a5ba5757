#!/bin/sh
# CUDA by source (tools/plain/cuda.h): .cu files compiled by each C++ compiler here run in trials as they are, and what is
# left out of them is found and named with its line. tests/examples/cuda is a project that finds Belfry installed.
set -eu
cached() {
	sed -n "s/^$1:[A-Z]*=//p" "$BELFRY_BUILD_DIR/CMakeCache.txt"
}
[ -z "$(cached BELFRY_SANITIZE)" ] || { echo "skipped: the library is sanitized, and so would be its users"; exit 77; }
[ "$(cached BUILD_SHARED_LIBS)" != ON ] || { echo "skipped: libbelfry-plain comes with the archive"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 compilers=0

fail() {
	echo "$*" >&2
	failed=1
}

cmake --install "$BELFRY_BUILD_DIR" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }

# built COMPILER [MISTAKE]: the example's program is $work/b/cuda_trials
built() {
	cmake -S "$BELFRY_SOURCE_DIR/tests/examples/cuda" -B "$work/b" -DCMAKE_PREFIX_PATH="$work/prefix" \
		-DCMAKE_CXX_COMPILER="$1" -DMISTAKE="${2-}" >"$work/log" 2>&1 &&
		cmake --build "$work/b" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	! grep -q 'warning:' "$work/log" || { cat "$work/log"; fail "$1 warns"; }
}

# found TRIAL RULE LINE: that rule, and a finding of lint at that line.
found() {
	if "$work/b/cuda_trials" "$1" "$work/t.bft" >"$work/out"; then
		fail "$1: $2 is not found"
	fi
	grep -q "cause: $2 " "$work/out" || { cat "$work/out"; fail "$1: nothing about $2"; }
	"$BELFRY" lint "$work/t.bft" >"$work/lint" || [ $? -eq 3 ]
	grep -Eq "at .*/$3" "$work/lint" || { cat "$work/lint"; fail "$1: nothing about $3"; }
}

# The line of a source that has the text.
line() {
	grep -nF "$2" "$BELFRY_SOURCE_DIR/tests/examples/cuda/$1" | head -n 1 | cut -d : -f 1
}

for cxx in clang++ g++; do
	command -v $cxx >/dev/null || continue
	compilers=$((compilers + 1))
	rm -rf "$work/b"
	built $cxx
	for trial in put read sum; do
		"$work/b/cuda_trials" $trial >"$work/out" || { cat "$work/out"; fail "$cxx: $trial is not good"; }
	done
done
[ $compilers -gt 0 ] || { echo "skipped: no C++ compiler"; exit 77; }

# What is left out, with its line; libdw has none of what clang compiled.
command -v g++ >/dev/null || exit $failed
built g++ NO_DOORBELL_FENCE
found put MLX5-DBREC-ORDER "put.cu:$(line put.cu '(q.dbrec) =')"
built g++ NO_FENCE
found read NVME-ENTRY-ORDER "read.cu:"
built g++ NO_SYNC
! "$work/b/cuda_trials" sum >"$work/out" || fail "a sum without a barrier is right"
grep -q 'the sum is' "$work/out" || { cat "$work/out"; fail "nothing about the sum"; }
exit $failed
