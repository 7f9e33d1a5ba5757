#!/bin/bash
# Numbers in files ask for what is there, not for as much as they are large: actors, rings, queues. Lines have an end,
# from a pipe too.
set -u
grep -q '^BELFRY_SANITIZE:[A-Z]*=.' "$BELFRY_BUILD_DIR/CMakeCache.txt" && { echo "a sanitizer takes memory of its own"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fail() {
	echo "FAIL: $*" >&2
	failed=1
}

# --- the same trace by other numbers of actors, 0 (nobody) aside: the same answers, in no more memory
"$BELFRY" run ibgda-put --bug no-dbrec-fence --ordering adversarial --records all --messages 8 --trace near.bft >/dev/null
"$BELFRY" export near.bft --to jsonl -o near.jsonl >/dev/null 2>&1 || fail "no JSON Lines"
sed -i '$s/"hash":"[^"]*"/"hash":"0x1"/' near.jsonl # both say the same of their end
awk '{
	if (match($0, /"declare":"actor","number":[1-9][0-9]*|"actor":[1-9][0-9]*/)) {
		at = substr($0, RSTART, RLENGTH)
		n = at
		sub(/.*:/, "", n)
		sub(/[0-9]*$/, 4194303 - n, at)
		$0 = substr($0, 1, RSTART - 1) at substr($0, RSTART + RLENGTH)
	}
	print
}' near.jsonl >far.jsonl
grep -q '"actor":41942' far.jsonl || fail "no large numbers"
# ask NAME WORD...: what is said of NAME.jsonl, which is F among the words, within 64 MiB of memory.
ask() {
	(
		name=$1
		shift
		cp "$name.jsonl" F
		ulimit -v 65536
		"$BELFRY" "$@" 2>&1
		echo "exit code $?"
	)
}
while read -r words; do
	# shellcheck disable=SC2086 # they are words
	ask near $words >near.out
	# shellcheck disable=SC2086
	ask far $words >far.out
	sed -n '$p' near.out | grep -q 'exit code [023]$' || fail "$words: $(tail -3 near.out)"
	sed -i 's/at offset [0-9]*//' near.out far.out
	cmp -s near.out far.out || fail "$words: other answers by large numbers: $(diff near.out far.out | head -5)"
done <<'ASKED'
lint F
explain F --stuck
explain F 0x101:0
stats F
dump F --limit 20
export F --to perfetto -o o
export F --to vcd -o o
diff F F
ASKED

# --- queues with one entry each, in the last slot of as many as there can be: memory for the entries, not for the slots
head='{"belfry_trace":1,"minor":0}
{"declare":"type","name":"nvme_fetch","id":301,"class":32,"size":16,"fields":[{"name":"nsid","size":4,"kind":"hex","unit":""},{"name":"sqid","size":2,"kind":"dec","unit":""},{"name":"slot","size":2,"kind":"dec","unit":""},{"name":"cid","size":2,"kind":"hex","unit":""},{"name":"sqhd","size":2,"kind":"dec","unit":""},{"name":"opcode","size":1,"kind":"hex","unit":""},{"name":"flags","size":1,"kind":"hex","unit":""},{"name":"batch","size":2,"kind":"dec","unit":""}]}
{"declare":"type","name":"nvm_ring","id":271,"class":256,"size":24,"fields":[{"name":"qid","size":4,"kind":"dec","unit":""},{"name":"queue","size":4,"kind":"enum","unit":"","names":"0=sq;1=cq"},{"name":"from","size":4,"kind":"dec","unit":""},{"name":"to","size":4,"kind":"dec","unit":""},{"name":"mmio","size":4,"kind":"enum","unit":"","names":"0=shadow only;1=yes"},{"name":"entries","size":4,"kind":"dec","unit":""}]}
{"declare":"actor","number":1,"kind":"device","name":"ssd0"}
{"declare":"actor","number":4,"kind":"agent","name":"cpu0"}
{"declare":"actor","number":6,"kind":"queue","name":"ssd0.sq0"}'
(
	echo "$head"
	for ((i = 1; i <= 100; i++)); do
		echo "{\"time_ps\":$i,\"actor\":6,\"type\":\"nvme_fetch\",\"fields\":{\"nsid\":\"0x1\",\"sqid\":$i,\"slot\":65535,\"cid\":\"0x0\",\"sqhd\":1,\"opcode\":\"0x6\",\"flags\":\"0x0\",\"batch\":1}}"
		echo "{\"time_ps\":$i,\"actor\":4,\"type\":\"nvm_ring\",\"fields\":{\"qid\":$i,\"queue\":\"sq\",\"from\":0,\"to\":65535,\"mmio\":\"yes\",\"entries\":65536}}"
	done
) >deep.jsonl
ask deep lint F >deep.out
grep -q 'no memory' deep.out && fail "slots of NVMe queues: $(cat deep.out)"
grep -q 'it has no end line' deep.out || fail "a trace with deep queues: $(cat deep.out)"

# --- a line that does not end, through a pipe that gives more than a disk has
for words in "replay -" "lint -" "why -" "dump -" "import sdma-ring - -o o.bft"; do
	# shellcheck disable=SC2086
	out=$(ulimit -f 200000 && yes | tr -d '\n' | "$BELFRY" $words 2>&1)
	case $out in
	*"line 1 is longer than 64 MiB"*) ;;
	*) fail "$words: $out" ;;
	esac
done
exit $failed
