#!/bin/sh
# Our device code as nvcc compiles it, run as PTX: the workloads end well under every ordering, and the device fetches
# the same entries as from the C code, byte for byte, and a missing fence is found by its rule, with its line.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ptx=$BELFRY_BUILD_DIR/tools/belfry-drivers.ptx
if [ ! -e "$ptx" ]; then
	nvcc=$(command -v nvcc || true)
	[ -n "$nvcc" ] || nvcc=/usr/local/cuda/bin/nvcc
	[ -x "$nvcc" ] || { echo "no belfry-drivers.ptx, and no nvcc (CUDA toolkit) to make it"; exit 77; }
	ptx=$work/drivers.ptx
	"$nvcc" -std=c++17 -O1 -arch=sm_90 -lineinfo -ptx -I "$BELFRY_SOURCE_DIR" -o "$ptx" \
		"$BELFRY_SOURCE_DIR/drivers/backend/ptx_agent.cu"
fi
cd "$work"

fail() {
	echo "$1" >&2
	cat out >&2
	exit 1
}

run() {
	"$BELFRY" run "$@" >out 2>&1
}

for ordering in sc tso gpu adversarial; do
	for kind in put get amo mixed; do
		run ibgda-$kind --agent ptx --ptx "$ptx" --ordering $ordering --records none ||
			fail "ibgda-$kind --agent ptx fails under $ordering"
	done
done

# What the device fetched, without times. Where a thread of the CPU rings, how far it had rung by then is one, too.
fetched() {
	"$BELFRY" dump "$1" --type=wqe_fetch --tails | grep -E 'wqe_fetch|^ +[0-9a-f]{6} ' |
		sed "s/^ *[0-9.]* ns *//; $rung" >"$2"
	[ "$(wc -l <"$2")" -gt 20 ] || fail "$1 has no entries"
}
rung=
same() {
	case $1 in *proxy*) rung='s/producer=[0-9]* //' ;; esac
	fetched c.bft c
	fetched ptx.bft ptx
	sort c >c.sorted
	sort ptx >ptx.sorted
	cmp c.sorted ptx.sorted || fail "$1: the entries are not those of the C code"
}
for shape in "ibgda-put --messages 8" "ibgda-mixed --messages 24" "ibgda-amo --op cas --fetch"; do
	# shellcheck disable=SC2086
	run $shape --ordering sc --trace c.bft && run $shape --agent ptx --ptx "$ptx" --ordering sc --trace ptx.bft ||
		fail "$shape"
	same "$shape"
done

# GIN's queues: the same, and the proxy's thread on the CPU rings for PTX.
for shape in "gin-hybrid --messages 24 --batch 4" "gin-counter --handler bf" "gin-get --handler no-record --profile cx8" \
	"gin-exchange --handler proxy --pes 3"; do
	# shellcheck disable=SC2086
	run $shape --agent ptx --ptx "$ptx" --ordering adversarial --records none || fail "$shape --agent ptx fails"
	# shellcheck disable=SC2086
	run $shape --ordering sc --trace c.bft && run $shape --agent ptx --ptx "$ptx" --ordering sc --trace ptx.bft ||
		fail "$shape"
	same "$shape"
done

# The NVMe driver: entries of queues with one command in flight, whose order says which identifier each has.
for ordering in sc adversarial; do
	for work in "read --size 16384" "mixed --threads 8" "verify --threads 16 --share 4 --batch 4" admin; do
		# shellcheck disable=SC2086
		run nvme-$work --agent ptx --ptx "$ptx" --ordering $ordering --records none ||
			fail "nvme-$work --agent ptx fails under $ordering"
	done
done
commands() {
	"$BELFRY" dump "$1" --type=nvme_fetch --tails | sed -n 's/^ *[0-9.]* ns *//; s/sqhd=[0-9]* //
		/nvme_fetch/p; /^ *[0-9a-f]\{6\} /p' | awk '/nvme_fetch/ { head = $0 } { print head, $0 }' | sort >"$2"
	[ "$(wc -l <"$2")" -gt 500 ] || fail "$1 has no commands"
}
for shape in "nvme-mixed --threads 8 --depth 1" "nvme-write --threads 4 --depth 1"; do
	# shellcheck disable=SC2086
	run $shape --ordering sc --trace c.bft && run $shape --agent ptx --ptx "$ptx" --ordering sc --trace ptx.bft ||
		fail "$shape"
	commands c.bft c
	commands ptx.bft ptx
	cmp c ptx || fail "$shape: the commands are not those of the C code"
done

# The barrier driver: every workload under every ordering; where words and tokens depend on no race, those of the C code.
for work in pipeline ring pingpong cluster ampere "ampere --by-barrier" stress "pipeline --style guide"; do
	for ordering in sc gpu adversarial; do
		# shellcheck disable=SC2086
		run mbarrier-$work --agent ptx --ptx "$ptx" --ordering $ordering --records none ||
			fail "mbarrier-$work --agent ptx fails under $ordering"
	done
done
for work in pingpong cluster ampere stress; do
	run mbarrier-$work --ordering sc --records none && grep 'words and tokens' out >c
	run mbarrier-$work --agent ptx --ptx "$ptx" --ordering sc --records none && grep 'words and tokens' out >ptx
	cmp c ptx || fail "mbarrier-$work: words and tokens are not those of the C code"
done
# A phase that completes while the lane that polls for it has not gone to sleep yet is not lost.
run mbarrier-pipeline --bug split-arrive --agent ptx --ptx "$ptx" --records none || fail "lanes that arrive one by one hang"
# Mistakes end as they do in C.
ends() {
	! run mbarrier-$1 --agent ptx --ptx "$ptx" --ordering adversarial --records all --lint && grep -q "^$2" out ||
		fail "mbarrier-$1 does not end as $2"
}
ends "pipeline --bug first-phase" deadlock
ends "pipeline --bug no-proxy-fence" 'wrong data'
ends "cluster --bug trips" deadlock
ends "ring --bug count-arrive" fault

# The fence that is left out, and where.
if run ibgda-put --agent ptx --ptx "$ptx" --bug cta-fence --ordering adversarial --records all,where --lint; then
	fail "the run is good without its fence"
fi
grep -q 'MLX5-FENCE-SCOPE, the root cause' out || fail "the rule is not the root cause"
grep -qE '^    at .*drivers/ibgda/[a-z_]+\.h:[0-9]+' out || fail "no line"
