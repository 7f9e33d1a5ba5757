#!/bin/sh
# PTX kernels at random, on a GPU and on the model: every register of every thread must be the same.
#
#	BELFRY=build/release/tools/belfry tests/long/ptx_differential.sh [FIRST [COUNT]]
#
# Needs nvcc and a GPU of compute capability 9.0. Without them: ptx_kernels.py prints the kernels, ptx_gpu.cu runs them
# elsewhere, and `belfry check ptx` compares what comes back.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
belfry=${BELFRY:?the program to test}
command -v nvcc >/dev/null || { echo "nvcc is not here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nvcc -O2 -o "$work/ptx_gpu" "$here/ptx_gpu.cu" -lcuda
"$here/ptx_kernels.py" forms >"$work/forms.jsonl"
"$here/ptx_kernels.py" random "${1:-0}" "${2:-10000}" >"$work/random.jsonl"
parts=$(nproc)

# on_gpu SET LEVEL: its kernels, as the driver compiles them at that level of its optimiser.
on_gpu() {
	part=0
	while [ $part -lt "$parts" ]; do
		"$work/ptx_gpu" "$work/$1.jsonl" $part "$parts" "$2" >"$work/part.$part" &
		part=$((part + 1))
	done
	wait
	cat "$work"/part.[0-9]* >"$work/$1.results"
	rm "$work"/part.[0-9]*
	[ -s "$work/$1.results" ] || { echo "no GPU ran them"; exit 77; }
	echo "$1: $(wc -l <"$work/$1.jsonl") kernels, $(wc -l <"$work/$1.results") of which a GPU ran, level $2"
}

# The optimiser is wrong about some kernels: one that differs at level 0 is compared at level 4, too. What differs from
# the model at both, it does not do as the GPU.
bad=0
for set in forms random; do
	on_gpu $set 0
	"$belfry" check ptx "$work/$set.results" >"$work/out" && { tail -n 1 "$work/out"; continue; }
	cat "$work/out"
	sed -n 's/^MISMATCH  kernel \([0-9]*\):.*/"id": \1,/p' "$work/out" >"$work/ids"
	grep -Ff "$work/ids" "$work/$set.jsonl" >"$work/again.jsonl"
	on_gpu again 4
	"$belfry" check ptx "$work/again.results" || bad=1
done
exit $bad
