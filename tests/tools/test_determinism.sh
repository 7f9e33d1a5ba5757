#!/bin/sh
# The same options and seed give the same records: twice here, and in every build and with every compiler, because the
# hashes in hashes.txt are those of all of them. After a change that is meant to change what happens:
#
#	BELFRY=build/release/tools/belfry tests/tools/test_determinism.sh --update
set -eu
here=$(dirname "$0")
goldens=$here/hashes.txt
faults='drop prob=0.02; duplicate prob=0.02; delay prob=0.02 delay=3us'

hash_of() {
	"$BELFRY" run --json "$@" | grep -o '"hash": *"0x[0-9a-f]*"' | grep -o '0x[0-9a-f]*'
}

# One line for each run: its options.
runs() {
	for ordering in sc tso gpu adversarial; do
		for workload in put get amo mixed; do
			echo "ibgda-$workload --ordering $ordering --seed 1"
			echo "ibgda-$workload --ordering $ordering --seed 2 --pes 3 --warps 2 --qps 2 --messages 20 --depth 32 --batch 8"
		done
	done
	echo "ibgda-amo --fetch --warps 4 --qp-choice first --place host"
	echo "ibgda-put --flavour deepep --messages 40 --depth 64 --fill"
	echo "ibgda-put --size 9000 --granule 4096 --granules-per-mr 1 --messages 3"
	echo "ibgda-get --plain-cq --blocking-get --messages 5"
	echo "ibgda-put --profile cx7,icrc=0 --records queue,net"
	# Without records of memory one lane acts for its warp.
	for ordering in sc gpu; do
		echo "ibgda-put --records agent,mmio,dma,queue,net,driver --ordering $ordering --pes 4 --warps 4 --qp-choice first --messages 40 --depth 64 --batch 4 --quiet-every 9"
		echo "ibgda-put --records agent,mmio,dma,queue,net,driver --ordering $ordering --flavour deepep --warps 3 --messages 50 --depth 64 --size 9000 --granule 16384 --granules-per-mr 1"
	done
	# Nor of agents: one lane stands for those beside it.
	for options in "mbarrier-pipeline --ctas 3 --iterations 40" "mbarrier-pipeline --warps 4 --lane-waits --pace 300ns" \
		"mbarrier-pingpong --warps 2 --stages 3"; do
		echo "$options --ordering sc --records queue,dma,net,driver"
	done
	for options in "ll-dispatch --rounds 3 --routing zipf" "ll-combine --rounds 2 --scales ue8m0 --blocks 2" \
		"ll-combine --dtype bf16 --rounds 3 --pes 3 --experts 9" \
		"ll-combine --pes 4 --tokens 20 --hidden 1024 --topk 4 --experts 32"; do
		echo "$options --ordering sc --records agent,mmio,dma,queue,net,driver"
	done
	for ordering in sc tso gpu adversarial; do
		echo "ll-dispatch --ordering $ordering --rounds 3 --routing zipf"
		echo "ll-combine --ordering $ordering --rounds 2 --scales ue8m0 --blocks 2"
		echo "shmem-ring --ordering $ordering --pes 3"
	done
	echo "ll-combine --dtype bf16 --routing hot --place host --layout l2"
	for work in put signal counter get barrier exchange hybrid; do
		echo "gin-$work --pes 3 --warps 2 --messages 20 --batch 4 --depth 32"
	done
	for handler in no-record bf proxy; do
		echo "gin-put --profile cx8 --handler $handler --ordering adversarial"
	done
	for workload in put get put-signal amo fence quiet barrier alltoall broadcast put-bw p-latency; do
		echo "shmem-$workload --pes 3 --warps 2 --rounds 2 --max-size 256"
	done
}

if [ "${1-}" = --update ]; then
	runs | while read -r options; do
		# shellcheck disable=SC2086 # options are words
		echo "$(hash_of $options) $options"
	done >"$goldens"
	echo "$(wc -l <"$goldens") hashes written to $goldens"
	exit 0
fi

bad=0
while read -r golden options; do
	# shellcheck disable=SC2086
	found=$(hash_of $options)
	if [ "$found" != "$golden" ]; then
		echo "belfry run $options: hash $found, not $golden" >&2
		bad=$((bad + 1))
	fi
done <"$goldens"

seen=$(mktemp)
trap 'rm -f "$seen"' EXIT
for seed in 11 12 13; do
	for ordering in sc tso gpu adversarial; do
		for workload in put get amo mixed; do
			set -- "ibgda-$workload" --seed "$seed" --ordering "$ordering" --warps 2 --ack-timeout 4 --faults "$faults"
			first=$(hash_of "$@")
			second=$(hash_of "$@")
			echo "$first" >>"$seen"
			if [ "$first" != "$second" ]; then
				echo "belfry run $*: hashes $first and $second" >&2
				bad=$((bad + 1))
			fi
		done
	done
done

# Recording, in part or not at all, must not change what happens.
course_of() {
	"$BELFRY" run --json "$@" | grep -oE '"(time_ps|events|messages_per_second)": *[0-9]+' | head -n 3
}
for ordering in sc tso gpu adversarial; do
	set -- ibgda-mixed --seed 21 --ordering "$ordering" --warps 2 --ack-timeout 4 --faults "$faults"
	full=$(course_of "$@")
	for records in none queue mem,fault; do
		if [ "$(course_of "$@" --records $records)" != "$full" ]; then
			echo "belfry run $*: --records $records takes another course" >&2
			bad=$((bad + 1))
		fi
	done
	echo "$full" | grep -q time_ps || bad=$((bad + 1))
	set -- ibgda-put --seed 22 --ordering "$ordering" --warps 2 --ack-timeout 4 --faults "$faults"
	if [ "$(course_of "$@" | grep time_ps)" != "$(course_of "$@" --records none | grep time_ps)" ]; then
		echo "belfry run $*: a lane that acts for its warp takes another time" >&2
		bad=$((bad + 1))
	fi
done

# Were the hash blind, equal hashes would mean nothing.
different=$(sort -u "$seen" | wc -l)
if [ "$different" -ne 48 ]; then
	echo "48 different runs have $different different hashes" >&2
	bad=$((bad + 1))
fi
[ "$bad" -eq 0 ]
