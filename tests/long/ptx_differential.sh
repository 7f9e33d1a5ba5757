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
for set in forms random; do
	part=0
	while [ $part -lt "$parts" ]; do
		"$work/ptx_gpu" "$work/$set.jsonl" $part "$parts" >"$work/$set.$part" &
		part=$((part + 1))
	done
	wait
	cat "$work/$set".[0-9]* >"$work/$set.results"
	[ -s "$work/$set.results" ] || { echo "no GPU ran them"; exit 77; }
	echo "$set: $(wc -l <"$work/$set.jsonl") kernels, $(wc -l <"$work/$set.results") of which a GPU ran"
	"$belfry" check ptx "$work/$set.results"
done
