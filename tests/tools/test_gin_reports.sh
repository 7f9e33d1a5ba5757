#!/bin/sh
# The reports of docs/gin.md: each row's command is run, and its rule is the one that names the cause.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
rows=0

fail() {
	echo "$*" >&2
	failed=1
}

sed -n '/^## Reports, and how to get them/,/^## /p' "$BELFRY_SOURCE_DIR/docs/gin.md" |
	sed -n 's/^|.*| `belfry \(.*\)` | \([A-Z0-9-]*\) |$/\2 \1/p' >"$work/rows"
while read -r rule command; do
	rows=$((rows + 1))
	case $command in
	run*)
		eval "timeout 60 $BELFRY $command --trace $work/t.bft" >"$work/said" 2>&1 || :
		"$BELFRY" lint "$work/t.bft" >"$work/found" 2>&1 || :
		grep -qE "^error: $rule, the root cause|^note: $rule " "$work/found" ||
			fail "belfry $command: not $rule: $(cat "$work/said" "$work/found")"
		;;
	*)
		eval "timeout 100 $BELFRY $command" >"$work/found" 2>&1 || :
		grep -q "^rule: $rule$" "$work/found" || fail "belfry $command: not $rule: $(cat "$work/found")"
		;;
	esac
done <"$work/rows"
[ $rows -ge 31 ] || fail "$rows rows"
exit $failed
