#!/bin/sh
# Traces that an earlier program wrote read as they did: tests/traces/old has some, with what dump printed then, and what lint
# found, where and when. So the layouts, names and texts of records stay.
set -eu
command -v xz >/dev/null || { echo "xz is not here"; exit 77; }
old=$BELFRY_SOURCE_DIR/tests/traces/old
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
	echo "FAIL: $*" >&2
	failed=1
}

cd "$old"
count=0
for trace in *.bft; do
	name=${trace%.bft}
	count=$((count + 1))
	"$BELFRY" dump "$trace" >"$work/dump" || fail "dump of $trace"
	xz -dc "$name.dump.xz" | cmp - "$work/dump" || fail "$trace is dumped otherwise"
	"$BELFRY" lint "$trace" >"$work/lint" || [ $? -eq 3 ] || fail "lint of $trace"
	sed -nE 's/^[a-z]+: ([A-Z0-9-]+).* at (.*, [0-9]+ ps)$/\1 \2/p' "$work/lint" >"$work/found"
	diff "$name.lint" "$work/found" >&2 || fail "$trace is judged otherwise"
done
[ "$count" -ge 3 ] || fail "only $count old traces"

# A field that the writer did not have yet reads 0, and rules work with the others.
"$BELFRY" export sdma.bft --to=jsonl -o "$work/whole.jsonl"
sed '/"sdma_fault"/s/"dword"/"unheard_of"/; /"hash"/d' "$work/whole.jsonl" >"$work/lacks.jsonl"
grep -q unheard_of "$work/lacks.jsonl" || fail "the field is still there"
"$BELFRY" lint "$work/whole.jsonl" >"$work/lint" 2>&1 || :
grep -q 'SDMA-ALIGN' "$work/lint" && grep -q 'by dword 1' "$work/lint" || fail "whole: $(cat "$work/lint")"
"$BELFRY" lint "$work/lacks.jsonl" >"$work/lint" 2>&1 || :
grep -q 'SDMA-ALIGN' "$work/lint" && grep -q 'by dword 0' "$work/lint" || fail "without a field: $(cat "$work/lint")"
exit $failed
