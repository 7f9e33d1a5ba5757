#!/bin/sh
# Memory runs out at the n-th request of a command, once or from then on, for n spread over all that it makes. It ends as
# if nothing were missing, or with exit code 2 and a text: no signal, no verdict without what it would need, no file that
# says less and ends well.
#
# Of a run that shuts a device down, each of the last requests fails once: few enough that steps go past them.
#
#	BELFRY=build/release/tools/belfry tests/tools/test_no_memory.sh [REQUESTS_OF_EACH_COMMAND]
set -eu
samples=${1-24}
grep -q '^BELFRY_SANITIZE:[A-Z]*=.' "$BELFRY_BUILD_DIR/CMakeCache.txt" && { echo "a sanitizer has its own malloc()"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fake=$BELFRY_BUILD_DIR/tests/fake/memory.so
shipped=$BELFRY_SOURCE_DIR/traces/samples
cd "$work"

"$BELFRY" run ibgda-put --bug no-dbrec-fence --ordering adversarial --records all --trace bad.bft >good.out || [ $? -eq 1 ]
printf '01020304 05060708\n00000000 00000000\n' >bytes.txt
printf 'mlx5_0: NVSHMEM: status=12 opcode=1 len=0 vendor err 129\n' >pasted.log
bad=0

# Everything that a run leaves, without what the wall clock says.
left() {
	sed '/^wall clock/d; s/"wall":{[^}]*}//' "$1.out"
	for made in made.*; do
		case $made in
		*'*') ;;
		*.bft) "$BELFRY" dump "$made" ;; # chunks may be stored as they are
		*) cksum <"$made" ;;
		esac
	done
}

# command EXIT_CODE WORD...: files that it makes are called made.*
command() {
	expected=$1
	shift
	rm -f made.* && code=0
	run good "$@" || code=$?
	if [ $code -ne "$expected" ]; then
		echo "belfry $*: exit code $code, not $expected" >&2
		cat good.err >&2
		exit 1
	fi
	left good >good.left
	requests=$(cat good.count)
	step=$(((requests + samples - 1) / samples))
	[ $step -ge 1 ] || step=1
	n=1
	while [ "$n" -le "$requests" ]; do
		for how in "$n" "$n+"; do
			one "$how" "$@"
		done
		n=$((n + step))
	done
	echo "belfry $*: $requests requests"
}

# last N WORD...: command() came before with the same words, and each of its last N requests fails.
last() {
	n=$((requests - $1))
	shift
	while [ "$n" -le "$requests" ]; do
		one "$n" "$@"
		n=$((n + 1))
	done
}

# run NAME WORD...: how it ended; what it says is under NAME.
run() {
	as=$1
	shift
	FAKE_MEMORY_COUNT=$as.count LD_PRELOAD=$fake "$BELFRY" "$@" <pasted.log >"$as.out" 2>"$as.err"
}

one() {
	how=$1
	shift
	rm -f made.* && code=0
	FAKE_MEMORY_FAIL=$how run short "$@" || code=$?
	if [ $code -eq "$expected" ] && left short | cmp -s - good.left; then
		return
	fi
	if [ $code -eq 2 ] && [ -s short.err ]; then
		return
	fi
	# A failure is one, even where memory to say why is missing.
	if [ $code -eq "$expected" ] && [ $code -eq 1 ] && grep -q '^cause: not known' short.out; then
		return
	fi
	bad=$((bad + 1))
	echo "FAILED belfry $* without request $how: exit code $code" >&2
	tail -n 2 short.out short.err >&2
}

command 0 rules MLX5-DBREC-ORDER
command 0 rules 13/88
command 0 run ibgda-put --messages 4 --lint
command 0 run ibgda-amo --messages 4 --json
command 0 run ibgda-put --pes 3 --messages 2 --trace made.bft
command 0 run nvme-write --lint
last 48 run nvme-write --lint
command 0 run sdma-copy --lint
command 0 run mbarrier-pipeline --lint
command 1 explore ibgda-put --bug no-dbrec-fence --orderings adversarial --seeds 4
command 3 lint bad.bft
command 3 lint bad.bft --sarif made.sarif --junit made.xml
command 0 explain bad.bft 0x101:0
command 0 stats bad.bft
command 0 dump bad.bft --limit 50
command 0 diff bad.bft bad.bft
command 0 export bad.bft --to html -o made.html
command 0 export bad.bft --to vcd -o made.vcd
command 0 export bad.bft --to perfetto -o made.json
command 3 why
command 0 check hopper-mbarrier "$shipped/hopper_mbarrier_edges_h200.jsonl"
command 0 check mlx5-cqe "$shipped/mlx5_cqe_dumps.jsonl"
command 0 replay "$shipped/mix_1.client.jsonl"
command 0 import mlx5-capture "$shipped/mix_1.client.jsonl" -o made.bft
echo "$bad failed"
[ $bad -eq 0 ]
