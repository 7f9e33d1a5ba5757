#!/bin/bash
# A real GPU's threads against the models: the drivers' device code on an NVIDIA GPU posts to a modelled NIC and a
# modelled SSD on the processor. Needs a GPU and a build with -DBELFRY_CUDA=ON:
#
#	cmake -S . -B build/cuda -G Ninja -DBELFRY_CUDA=ON && cmake --build build/cuda
#	BELFRY=build/cuda/tools/belfry BELFRY_SOURCE_DIR=. tests/long/gpu_loop.sh
set -u

why=$("$BELFRY" run ibgda-put --backend=cuda --messages 1 2>&1)
if [ $? -eq 77 ]; then
	echo "SKIPPED gpu_loop: ${why#*does not work here: }"
	exit 77
fi
failed=0
good() {
	local out
	out=$("$BELFRY" run "$@" --records none --limit 30s 2>&1)
	if [ $? -ne 0 ] || ! grep -q '^good: ' <<<"$out"; then
		echo "FAILED: belfry run $*"
		echo "$out"
		failed=1
		return
	fi
	echo "$* : $(grep '^elapsed' <<<"$out" | sed 's/^elapsed time *//')"
}

for work in put get amo mixed; do
	good ibgda-$work --backend=live --agent=cuda --pes 4 --qps 2 --blocks 2 --warps 4 --messages 200
done
for work in read write verify mixed file; do
	good nvme-$work --backend=cuda --threads 64 --commands 100
done
good nvme-admin --backend=cuda

# How many doorbells a second the models keep up with: each command has one of its own.
command -v jq >/dev/null || { echo "no jq: doorbells are not counted"; exit $failed; }
rate() {
	jq -er --arg what "$1" '([.stats | to_entries[] | select(.key | endswith(".doorbells")) | .value] | add) as $n |
		"doorbells of \($what): \($n * 1000000000 / .wall.ns | floor) a second"'
}
"$BELFRY" run nvme-read --backend=cuda --threads 256 --depth 1 --commands 1000 --size 512 --profile instant \
	--records none --stats --json | rate 'NVMe queues' || failed=1
"$BELFRY" run ibgda-put --backend=cuda --qps 16 --blocks 4 --warps 4 --messages 500 --quiet-every 1 --size 8 \
	--records none --stats --json | rate 'send queues' || failed=1
exit $failed
