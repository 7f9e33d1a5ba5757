#!/bin/sh
# NVMe workloads from the command line: all of them good under every ordering and twenty seeds, the same run twice is
# the same to the last record, and each known mistake is found and named while its correct twin is clean.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
	echo "$*" >&2
	exit 1
}

# good OPTIONS: must run well.
good() {
	"$BELFRY" run "$@" --records none >out 2>&1 || { cat out >&2; fail "belfry run $* failed"; }
}

seeds=20
[ "${BELFRY_WIDE-1}" = 1 ] || seeds=1
for ordering in sc tso gpu adversarial; do
	for seed in $(seq 1 $seeds); do
		for kind in read write verify mixed admin file; do
			good nvme-$kind --ordering $ordering --seed "$seed" --threads 3 --depth 6 --commands 24 --size 512
		done
	done
	# The shapes that the loop leaves out.
	for shape in "--size 512 --depth 6 --share 4 --threads 8 --batch 3" "--queues-in gpu --data-in gpu --threads 33" \
		"--queues-in cmb --threads 2 --depth 6" "--queues-in cmb --threads 4 --share 2 --depth 6" \
		"--agent cpu --threads 4" "--agent cpu --threads 6 --share 3 --size 512" \
		"--size 64K --list-offset 4000 --scatter --offset 512" "--dbbuf --threads 4" "--lba 4096 --size 8K" \
		"--entries 48 --depth 40 --batch 5 --size 512" "--profile instant --page 16384 --size 128K --threads 3" \
		"--profile instant,dstrd=2 --threads 3" "--queues-in vram-uc --data-in vram-uc" \
		"--queues-in vram --data-in vram" "--data-in vram-uc" "--queues-in vram-uc --share 4 --threads 8 --size 512" \
		"--entries 9 --share 4 --threads 4 --depth 4 --size 512" "--cq-entries 7 --depth 12 --size 512"; do
		# shellcheck disable=SC2086 # options are several words
		good nvme-verify --ordering $ordering --commands 20 $shape
	done
	good nvme-admin --ordering $ordering --data-in vram-uc --commands 150
done

# The same options and seed: the same records, and another seed others.
hash_of() {
	"$BELFRY" run nvme-mixed --threads 4 --commands 40 --size 512 --ordering adversarial "$@" | sed -n 's/.*hash //p'
}
[ "$(hash_of)" = "$(hash_of)" ] || fail "two runs differ"
[ "$(hash_of)" != "$(hash_of --seed 2)" ] || fail "the seed makes no difference"
# Records cost no simulated time.
time_of() {
	"$BELFRY" run nvme-mixed --threads 4 --commands 40 --size 512 "$@" | grep 'simulated time'
}
[ "$(time_of)" = "$(time_of --records none)" ] || fail "records change the run"

# bug NAME EXPECTED OPTIONS: the run fails, or --lint says what is wrong, and the cause has the EXPECTED words; without
# the bug the same run is good and --lint finds nothing.
bug() {
	name=$1 expected=$2
	shift 2
	rc=0
	"$BELFRY" run "$@" --lint --bug "$name" >out 2>&1 || rc=$?
	[ $rc -eq 1 ] || [ $rc -eq 3 ] || { cat out >&2; fail "$name was not found (exit code $rc)"; }
	tr -s '\n ' '  ' <out | grep -q "the root cause.*$expected" || { cat out >&2; fail "$name: the cause does not say \"$expected\""; }
	"$BELFRY" run "$@" --lint >out 2>&1 || { cat out >&2; fail "the twin of $name is not clean"; }
	grep -qx 'lint: nothing found' out || { cat out >&2; fail "the twin of $name is blamed"; }
	bugs="$bugs $name"
}
bugs=
bug aqa-swapped 'AQA are exchanged' nvme-admin --commands 100
bug opcode-mask 'lost its bit 7' nvme-admin --commands 13
bug stale-cdw12 'did not write that field' nvme-mixed --commands 60 --size 512
bug prp-no-chain 'not chained' nvme-verify --size 64K --list-offset 4032 --commands 4
bug prp-list-offset 'list begins 512 bytes into' nvme-verify --size 64K --list-offset 512 --commands 4
bug numd-off-by-one '4 bytes more than the buffer' nvme-admin --commands 13
bug phase-inverted 'other phase tag' nvme-verify --commands 8 --size 512
bug sq-update-by-count 'counts completions' nvme-verify --commands 40 --size 512
bug no-fence-before-doorbell 'no fence stands between' nvme-verify --commands 8 --size 512
bug cq-head-never-rung 'never rang its head doorbell' nvme-verify --commands 60 --depth 8 --size 512
bug doorbell-per-n 'never announced' nvme-verify --commands 30 --batch 4 --depth 8 --size 512
bug cid-by-tail 'used again' nvme-mixed --commands 300 --depth 8 --size 512
bug plain-load-poll 'acquiring load' nvme-verify --commands 8 --size 512
bug plain-load-poll 'L2 serves from an old copy' nvme-verify --queues-in vram --commands 8 --size 512 --timeout 1ms
bug no-invalidate 'nobody invalidated' nvme-verify --queues-in vram-uc --commands 8 --size 512 --timeout 1ms
bug wrong-flush-type 'only a heavyweight one' nvme-verify --queues-in vram-uc --commands 8 --size 512 --timeout 1ms
bug cached-sq 'mapped cached' nvme-verify --queues-in vram-uc --commands 8 --size 512 --timeout 1ms
bug moved-buffer 'buffer moved' nvme-verify --commands 8 --size 512
bug no-full-check 'ring was full' nvme-read --depth 32 --entries 33 --threads 4 --share 4 --batch 32 --timeout 10ms --size 512
bug unmapped-buffer 'PRP1 of the entry in slot 0 of SQ 1 is 0x1000, and nothing is mapped' nvme-verify --commands 8 --size 512
bug cq-deleted-first 'CQ 1 was deleted while SQ 1 still used it' nvme-verify --commands 8 --size 512
bug feature-no-nsid 'opcode 0ah of the admin queue 0 named namespace 0x0' nvme-admin --commands 13
bug shadow-no-fence 'is in the shadow doorbell' nvme-verify --commands 60 --depth 8 --size 512 --dbbuf --timeout 10ms
bug shadow-not-cleared 'still has tail 0' nvme-verify --commands 60 --depth 8 --size 512 --dbbuf --timeout 10ms
bug flush-no-vmid 'VMID mask 0x0' nvme-verify --queues-in vram-uc --commands 8 --size 512 --timeout 1ms
# The others are examples of rules, which are run as such.
examples=$("$BELFRY" rules --json | grep -o 'run nvme-[^"]*' | grep -o -e '--bug [a-z0-9-]*' | cut -d' ' -f2 | sort -u | tr '\n' ' ')
for name in $("$BELFRY" run nvme- --list --json | tr -d ' \n' | grep -o '"name":"[a-z0-9-]*"' | cut -d'"' -f4); do
	case " $bugs $examples" in
	*" $name "*) ;;
	*) fail "bug $name has no test" ;;
	esac
done

# A block that cannot be read: an error completion, and wrong data for the one who looks away.
rc=0
"$BELFRY" run nvme-verify --media-errors 'read-error 3' --size 512 >out || rc=$?
[ $rc -eq 1 ] && grep -q 'unrecovered read error' out || { cat out >&2; fail "a bad block was not reported"; }
rc=0
"$BELFRY" run nvme-verify --media-errors 'read-error 3' --size 512 --bug ignore-status >out || rc=$?
[ $rc -eq 1 ] && grep -q 'wrong data' out || { cat out >&2; fail "a bad block was overlooked"; }

# A medium in a file keeps its data; a file is written and read back as it is.
head -c 100000 /dev/urandom >input
good nvme-file --file input --threads 8 --size 4K --media disk --capacity 1M
head -c 100000 disk | cmp - input || fail "the medium does not hold the file"
good nvme-verify --media disk --threads 2 --size 4K

# What does not fit is said, with exit code 2.
refused() {
	expected=$1
	shift
	rc=0
	"$BELFRY" run "$@" >out 2>&1 || rc=$?
	[ $rc -eq 2 ] && grep -q -e "$expected" out || { cat out >&2; fail "belfry run $*: not refused with \"$expected\""; }
}
refused 'not a multiple of the block size' nvme-read --size 1000
refused 'more than --depth' nvme-read --batch 33
refused 'grants 128 I/O queue pairs' nvme-read --threads 1000
refused 'pages of 4096 to 4096 bytes' nvme-read --page 8K
refused 'transfers at most' nvme-read --size 4M
refused 'too small' nvme-file --threads 100 --capacity 1M --commands 1000
refused 'is not known' nvme-reed
refused 'no NVMe profile' nvme-read --profile cx7
refused 'is not known' nvme-read --bug cta-fence
refused '--file does not apply to nvme-read' nvme-read --file input
refused 'no devices to choose from' nvme-read --device 0000:01:00.0

# Live: the same driver and model on the wall clock.
good nvme-verify --backend live --profile instant --threads 4 --commands 50
good nvme-mixed --backend live --profile instant --threads 4 --share 2 --agent cpu --commands 50 --depth 8

# JSON is one document with the figures that the text has.
"$BELFRY" run nvme-read --commands 10 --json --stats >out
grep -q '"verdict": *"good"' out && grep -q '"mean_ps"' out || fail "JSON lacks the result"
