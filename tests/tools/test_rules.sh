#!/bin/sh
# Every rule: its example is named by it and by no other as the root cause, and the same done right has no finding. Rules
# without an example name the test that makes one.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

complain() {
	echo "$*" >&2
	bad=$((bad + 1))
}

# lint COMMAND: runs a command line of belfry with a trace and prints what lint makes of it, as JSON.
lint() {
	rm -f "$work/t.bft"
	# The words of an example are those of a shell.
	eval "set -- $1"
	"$BELFRY" "$@" --trace "$work/t.bft" >"$work/out" 2>&1 || [ $? -eq 1 ] || {
		cat "$work/out" >&2
		return 1
	}
	"$BELFRY" lint "$work/t.bft" --json >"$work/lint.json" || [ $? -eq 3 ]
}

"$BELFRY" rules --json >"$work/rules.json"
python3 - "$work/rules.json" >"$work/list" <<'PY'
import json, sys
for r in json.load(open(sys.argv[1])):
    for field in ("id", "family", "severity", "title", "hardware", "wrong", "fix", "sources"):
        if not r[field]:
            sys.exit("%s says nothing about its %s" % (r["id"], field))
    if bool(r["example"]) == bool(r["test"]) or bool(r["example"]) != bool(r["twin"]):
        sys.exit("%s has neither an example with its twin nor a test" % r["id"])
    if bool(r["test"]) != bool(r["why_no_example"]):
        sys.exit("%s does not say why it has no example" % r["id"])
    print(r["id"], r["severity"], r["test"] or "-", r["example"] or "-", r["twin"] or "-", sep="\t")
PY
[ "$(wc -l <"$work/list")" -gt 40 ]

tab=$(printf '\t')
while IFS="$tab" read -r id severity test example twin; do
	if [ "$test" != - ]; then
		grep -q "\"$id\"" "$BELFRY_SOURCE_DIR/$test" || complain "$id: $test does not show it"
		continue
	fi
	if ! lint "$example"; then
		complain "$id: its example does not run: belfry $example"
		continue
	fi
	said=$(python3 - "$work/lint.json" "$id" "$severity" <<'PY'
import json, sys
lint = json.load(open(sys.argv[1]))["files"][0]
roots = [f["rule"] for f in lint["findings"] if f["root"]]
found = sorted({f["rule"] for f in lint["findings"]})
if sys.argv[3] == "note":
    print("good" if sys.argv[2] in found and not roots else "finds %s" % " ".join(found))
else:
    print("good" if roots == [sys.argv[2]] else "root cause %s, of %s" % (roots, " ".join(found)))
PY
	)
	[ "$said" = good ] || complain "$id: belfry $example: $said"
	if ! lint "$twin"; then
		complain "$id: its twin does not run: belfry $twin"
		continue
	fi
	said=$(python3 - "$work/lint.json" "$id" <<'PY'
import json, sys
lint = json.load(open(sys.argv[1]))["files"][0]
wrong = [f["rule"] for f in lint["findings"] if f["severity"] != "note" or f["rule"] == sys.argv[2]]
print("good" if not wrong else "finds " + " ".join(wrong))
PY
	)
	[ "$said" = good ] || complain "$id: its twin, belfry $twin: $said"
done <"$work/list"

# The symptoms of docs/rules.md: each row's command is named by its rule, or refused for its reason. Commands that are
# the rule's own example have been run above.
sed -n '/<!-- symptoms/,/<!-- end of symptoms/p' "$BELFRY_SOURCE_DIR/docs/rules.md" |
	sed -n 's/^| \([0-9]*\) |.*| `\(.*\)` | \([A-Za-z0-9-]*\) |$/\1\t\2\t\3/p' >"$work/rows"
[ "$(cut -f 1 "$work/rows" | sort -un | wc -l)" -eq 30 ] || complain "docs/rules.md does not have 30 rows of symptoms"
while IFS="$tab" read -r row command rule; do
	if grep -qF "$rule$tab" "$work/list" && cut -f 4 "$work/list" | grep -qxF -- "$command"; then
		continue
	fi
	case $rule in
	[A-Z]*)
		lint "$command" || complain "row $row: belfry $command does not run"
		grep -q "\"root\": *\"$rule\"" "$work/lint.json" || complain "row $row: belfry $command is not named $rule"
		;;
	*)
		rc=0
		eval "\"$BELFRY\" $command" >"$work/out" 2>&1 || rc=$?
		[ $rc -eq 2 ] && grep -q ": $rule: " "$work/out" || complain "row $row: belfry $command is not refused for $rule"
		;;
	esac
done <"$work/rows"
[ $bad -eq 0 ]
