#!/bin/sh
# belfry run mbarrier-...: every workload comes out right, the same twice; wrong variants are found, with who is missing;
# options, profiles and traces.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
	echo "$*" >&2
	failed=1
}

# expect CODE TEXT OPTION...: the run ends with that code and says that text.
expect() {
	code=$1 text=$2
	shift 2
	rc=0
	"$BELFRY" run "$@" >"$work/out" 2>&1 || rc=$?
	[ "$rc" -eq "$code" ] || fail "run $*: exit $rc, not $code: $(head -n 3 "$work/out")"
	grep -qF -- "$text" "$work/out" || fail "run $*: nothing about \"$text\": $(cat "$work/out")"
}

for work_name in pipeline ring pingpong cluster ampere stress; do
	expect 0 "all correct" "mbarrier-$work_name" --iterations 5
	grep -E 'hash' "$work/out" >"$work/first"
	expect 0 "all correct" "mbarrier-$work_name" --iterations 5
	grep -E 'hash' "$work/out" | cmp -s - "$work/first" || fail "mbarrier-$work_name does not repeat itself"
done
expect 0 "655360 bytes" mbarrier-pipeline --ctas 4 --stages 8 --bytes 16K --iterations 10
expect 0 "all correct" mbarrier-cluster --cluster 8 --stages 2 --iterations 4
expect 0 "all correct" mbarrier-pipeline --style guide --profile patent
expect 0 "all correct" mbarrier-ampere --by-barrier --profile h200,cache_lines=4

expect 1 "empty[0] of block 0, phase 0 (parity 0): 4 of 4 arrivals and 0 bytes missing; waits: warp 0" \
	mbarrier-pipeline --bug first-phase
grep -q "consumers, warp 1 of block 0, has arrived 0 of 1 times; it waits for full\[0\] of block 0" "$work/out" ||
	fail "the report does not name who should have come: $(cat "$work/out")"
expect 1 "full[0] of block 0 expects 16 bytes that no copy brings" mbarrier-pipeline --bug tx-over
expect 1 "by another block of the cluster before its init: a cluster barrier" mbarrier-cluster --bug no-entry-sync
expect 1 "rule: HOPPER-ENTRY-SYNC" mbarrier-cluster --bug no-entry-sync
# Where one lane of a warp stands for others, the report is as if each waited by itself.
for records in agent none; do
	expect 1 "time limit" mbarrier-pipeline --ordering sc --records $records --limit 1us --iterations 200
	grep ' waits for ' "$work/out" >"$work/$records"
done
grep -q "w1.l9' waits for" "$work/agent" || fail "nobody waits: $(cat "$work/agent")"
cmp "$work/agent" "$work/none" || fail "who waits depends on what is recorded"

# What a GPU's profile changes is timing: the words and tokens of a run stay.
"$BELFRY" run mbarrier-stress --ordering sc --iterations 3 --json >"$work/a.json"
cat >"$work/my.json" <<'JSON'
{ "profile": "mine", "base": "h200", "device": "a remark", "arrive_mc": 90000, "cache_lines": 8 }
JSON
"$BELFRY" run mbarrier-stress --ordering sc --iterations 3 --profile "$work/my.json" --json >"$work/b.json"
grep -q '"profile":"mine"' "$work/b.json" || fail "the profile has no name: $(cat "$work/b.json")"
field() { sed -n "s/.*\"$2\":\"\{0,1\}\([0-9a-fx]*\).*/\1/p" "$work/$1.json"; }
[ "$(field a cycles)" != "$(field b cycles)" ] || fail "--profile changes no time"
[ -n "$(field a verified_words)" ] && [ "$(field a verified_words)" = "$(field b verified_words)" ] ||
	fail "--profile changes what is compared"

for bad in '{' '{"arrive_mc": -1}' '{"no_such": 1}' '{"cache_lines": 1000}' '{"base": "tesla"}' '{} x' '{"arrive_mc": 1' \
	'{"arrive_mc": 99999999999999999999}'; do
	printf '%s' "$bad" >"$work/bad.json"
	expect 2 "bad.json" mbarrier-stress --profile "$work/bad.json"
done
expect 2 "no-such.json" mbarrier-stress --profile "$work/no-such.json"
expect 2 "is not known" mbarrier-stress --profile tesla
expect 2 "no field" mbarrier-stress --profile h200,wings=2
expect 2 "is not FIELD=N" mbarrier-stress --profile h200,cache_lines
expect 2 "does not apply to" mbarrier-stress --bug first-phase
expect 2 "is not known" mbarrier-stress --bug wings
expect 2 "is not known" mbarrier-wings
expect 2 "shared memory" mbarrier-pipeline --stages 16 --bytes 64K
expect 0 "first-phase" mbarrier-ring --list

"$BELFRY" run mbarrier-ring --iterations 2 --trace "$work/t.bft" >"$work/out"
"$BELFRY" dump "$work/t.bft" >"$work/dump"
grep -q "hopper_op" "$work/dump" || fail "the trace has no barrier operations"
"$BELFRY" run mbarrier-ring --iterations 2 --stats | grep -q "gpu0" || fail "--stats says nothing of the GPU"
exit $failed
