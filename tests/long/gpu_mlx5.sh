#!/bin/bash
# Backend mlx5 with a real GPU: heaps and rings in its memory, its threads ring, all on the modelled ConnectX of
# `belfry exec`. Needs an NVIDIA GPU, libmlx5 and a build with -DBELFRY_CUDA=ON; what needs no GPU's threads runs without
# that.
#
#	cmake -S . -B build/cuda -G Ninja -DBELFRY_CUDA=ON && cmake --build build/cuda
#	BELFRY=build/cuda/tools/belfry tests/long/gpu_mlx5.sh
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

skip() {
	echo "SKIPPED gpu_mlx5: $1"
	exit 77
}
case $BELFRY in
/*) ;;
*) BELFRY=$OLDPWD/$BELFRY ;;
esac
export LD_LIBRARY_PATH=${BELFRY%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
"$BELFRY" exec --help >/dev/null 2>&1 || skip "this build has no belfry exec"

on() {
	timeout -s KILL 60 "$BELFRY" exec --doorbells poll --net "gpu-$$" "${@}" >out 2>&1
}
on -- "$BELFRY" run ibgda-put --backend mlx5 --heap gpu
[ $? -ne 77 ] || skip "$(cat out)"

failed=0 trace=(--trace mlx5.bft)
# good WHAT OPTION...: data correct.
good() {
	local what=$1
	shift
	if ! on "${trace[@]}" -- "$BELFRY" run "$@" --backend mlx5 --limit 30s || ! grep -q '^good: ' out; then
		echo "FAILED: $what: belfry run $*"
		cat out
		failed=1
		return
	fi
	echo "$what: $1: $(sed -n 's/^elapsed time *//p' out), $(sed -n 's/^device *//p' out)"
}
# same OPTION...: the latest run completed what the model in virtual time does.
same() {
	"$BELFRY" run "$@" --trace model.bft --records queue >out 2>&1 &&
		"$BELFRY" diff --completions model.bft mlx5.bft >out 2>&1 && return
	echo "FAILED: the completions differ: belfry run $*"
	cat out
	failed=1
}

for workload in ibgda-put ibgda-get ibgda-amo ibgda-mixed; do
	good 'processor, heap in the GPU' $workload --heap gpu
	same $workload
done
on -- "$BELFRY" run ibgda-put --backend mlx5 --agent cuda
if [ $? -eq 77 ]; then
	echo "the GPU's threads are left out: $(cat out)"
	exit $failed
fi
for workload in ibgda-put ibgda-get ibgda-amo ibgda-mixed; do
	for where in 'host host' 'host gpu' 'gpu host' 'gpu gpu'; do
		set -- $where
		good "GPU, rings in ${where/ / and heap in }" $workload --agent cuda --place "$1" --heap "$2"
		same $workload --place "$1"
	done
done
trace=()
big=(--pes 4 --qps 2 --blocks 2 --warps 4 --messages 200)
good 'GPU' ibgda-mixed --agent cuda --transport dc
good 'GPU' ibgda-mixed --agent cuda --plain-cq
good 'GPU' ibgda-put --agent cuda --flavour deepep --depth 64 --messages 24
good 'GPU' ibgda-put --agent cuda --size 100000
good 'processor, heap in host' ibgda-put --heap host "${big[@]}"
good 'processor, heap in gpu' ibgda-put --heap gpu "${big[@]}"
good 'GPU, rings in host and heap in host' ibgda-put --agent cuda --place host --heap host "${big[@]}"
good 'GPU, rings in host and heap in gpu' ibgda-put --agent cuda --place host "${big[@]}"
good 'GPU, rings in gpu and heap in gpu' ibgda-put --agent cuda "${big[@]}"
good 'GPU, rings in gpu and heap in gpu' ibgda-mixed --agent cuda "${big[@]}"
exit $failed
