#!/bin/sh
# belfry run and explore ll-...: good runs, the same twice; each mistake is named; options, figures, JSON and traces.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
	echo "$*" >&2
	failed=1
}

# expect CODE TEXT ARGUMENT...: belfry ends with that code and says that text (a pattern).
expect() {
	code=$1 text=$2
	shift 2
	rc=0
	"$BELFRY" "$@" >"$work/out" 2>&1 || rc=$?
	[ "$rc" -eq "$code" ] || fail "$*: exit $rc, not $code: $(head -n 3 "$work/out")"
	grep -qE -- "$text" "$work/out" || fail "$*: nothing about \"$text\": $(cat "$work/out")"
}

for name in dispatch combine; do
	expect 0 'all correct' run "ll-$name" --rounds 3
	grep hash "$work/out" >"$work/first"
	expect 0 'all correct' run "ll-$name" --rounds 3
	grep hash "$work/out" | cmp -s - "$work/first" || fail "ll-$name does not repeat itself"
done
for routing in uniform zipf hot; do
	expect 0 'all correct' run ll-combine --routing "$routing" --dtype bf16
	expect 0 'all correct' run ll-combine --routing "$routing" --scales ue8m0 --ordering adversarial
done
for ordering in sc gpu adversarial; do
	expect 0 'all correct' run ll-combine --zero-copy --rounds 3 --ordering $ordering --lint
done
expect 0 'tokens of an expert +[0-9]+ to 32' run ll-dispatch --routing hot
expect 0 'all correct' run ll-combine --faults 'drop prob=0.02' --ack-timeout 4 --rounds 3
expect 0 'all correct' run ll-combine --flavour nvshmem --place host --layout l1

# Each mistake is named, and what is printed runs again.
expect 1 'cause: .*published the entries of QP .* nobody rang' run ll-dispatch --bug ll-no-final-post
expect 1 'cause: .*where -[0-9]+ - 1 belongs' run ll-dispatch --bug ll-sentinel --tokens 2
expect 1 'cause: .*counts were not cleared' run ll-dispatch --bug ll-no-clean --rounds 3
expect 1 'cause: in the (dispatch|combine) .*counts were not cleared' run ll-combine --bug ll-no-clean --rounds 2
expect 1 'cause: .*no barrier stands between' run ll-dispatch --bug ll-no-barrier
expect 1 'cause: .*nothing orders one queue pair after another' run ll-dispatch --bug ll-count-qp --blocks 2 --hidden 4096
if [ "${BELFRY_WIDE-1}" = 1 ]; then
	expect 1 'cause: in the dispatch of round 0 .*before .* sent the last' explore ll-dispatch --bug ll-count-early \
		--blocks 2 --seeds 20
	command=$(sed -n 's/^  belfry run /run /p' "$work/out" | head -n 1)
	rc=0
	eval "\"$BELFRY\" $command" >"$work/again" || rc=$?
	[ "$rc" -eq 1 ] && grep -q 'sent the last' "$work/again" || fail "'$command' does not fail for this reason"
	expect 0 'no failure in 12 runs of ll-combine' explore ll-combine --seeds 3 --rounds 2
fi
expect 1 'cause: ' explore ll-dispatch --bug dbrec-index --seeds 2

# DeepEP's own shape says what it is next to; figures in JSON.
"$BELFRY" run ll-dispatch --pes 2 --experts 4 --json >"$work/json"
if command -v jq >/dev/null; then
	jq -e '.verdict == "good" and .dispatch.mean_ns > 0 and .options.hidden == 512 and (.command | startswith("belfry run ll-dispatch"))' \
		"$work/json" >/dev/null || fail "--json lacks what it must have: $(cat "$work/json")"
fi
[ "${BELFRY_WIDE-1}" != 1 ] || expect 0 'DeepEP on H800 and CX7, EP8: 163 us' run ll-dispatch --pes 8 --tokens 128 --hidden 7168 --topk 8 --experts 64 \
	--qps 2 --blocks 2 --warps 5 --ordering sc --records none --profile cx7,icrc=0

expect 2 'hidden 768' run ll-dispatch --hidden 768
expect 2 'multiple of the 3 PEs' run ll-dispatch --pes 3
expect 2 'need a ring of 36' run ll-dispatch --qps 1 --depth 32
expect 2 'is not known' run ll-gather
expect 2 'is not known' run ll-dispatch --bug wings
expect 0 'll-no-final-post' run ll- --list

# A trace runs again on another layout: other numbers, the same work.
"$BELFRY" run ll-combine --trace "$work/t.bft" >"$work/out"
"$BELFRY" dump "$work/t.bft" >"$work/dump"
grep -q 'll_count' "$work/dump" || fail "the trace lacks the kernels' records"
expect 0 'with other numbers; 0 without a match' replay "$work/t.bft" --layout l2
grep -qE 'entries compared: 0 different.*completions: 0 different' "$work/out" || fail "another layout, other work: $(cat "$work/out")"
grep -q 'layout l3 -> l2' "$work/out" || fail "the layouts are not named"
grep -qE 'receive CQ 0x[0-9a-f]+ -> ' "$work/out" && grep -qE 'table entry 0x[0-9a-f]+ -> ' "$work/out" ||
	fail "what differs is not named: $(cat "$work/out")"
"$BELFRY" run ll-combine --seed 2 --trace "$work/u.bft" >"$work/out"
expect 1 'entries compared: [1-9][0-9]* different' diff --queues "$work/t.bft" "$work/u.bft"
"$BELFRY" run nvme-read --commands 1 --trace "$work/n.bft" >"$work/out"
expect 2 'expects the trace of a run' replay "$work/n.bft" --layout l2

# So does one whose plan has lines and quotes; what is printed is a command for a shell. One too long for that says so.
printf "drop prob=0.1 # it's\n\nlink-down on=nic0.p1 after=5us delay=10us\n" >"$work/plan"
"$BELFRY" run ibgda-put --faults "@$work/plan" --ack-timeout 4 --trace "$work/p.bft" >"$work/out"
sed '/^good/,$d; 1s/^belfry/"$BELFRY"/' "$work/out" >"$work/again"
[ "$(sh "$work/again" | grep '^records')" = "$(grep '^records' "$work/out")" ] ||
	fail "what is printed is another command: $(cat "$work/again")"
expect 0 '; 0 without a match' replay "$work/p.bft" --layout l2
seq -f '# %100g' 30 >>"$work/plan"
"$BELFRY" run ibgda-put --faults "@$work/plan" --ack-timeout 4 --trace "$work/p.bft" >"$work/out"
grep -q '^belfry run ibgda-put .* \.\.\.$' "$work/out" || fail "a command is cut: $(cat "$work/out")"
expect 2 'unexpected argument' replay "$work/p.bft" --layout l2
exit $failed
