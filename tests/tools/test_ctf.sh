#!/bin/sh
# belfry export --to=ctf: babeltrace2 reads every record, with its time, actor and fields, and has nothing to complain of.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "$*" >&2
	exit 1
}

# What needs no reader: a folder is asked for, and a trace that was cut gives what comes before.
"$BELFRY" run ibgda-put --messages 400 --trace "$work/long.bft" >/dev/null
"$BELFRY" export "$work/long.bft" --to=ctf >"$work/out" 2>&1 && fail "an export without a folder"
grep -q "makes a folder" "$work/out" || fail "it does not say why: $(cat "$work/out")"
size=$(wc -c <"$work/long.bft")
head -c $((size / 2)) "$work/long.bft" >"$work/half.bft"
rc=0
"$BELFRY" export "$work/half.bft" --to=ctf -o "$work/half" >"$work/out" 2>&1 || rc=$?
[ $rc -eq 2 ] || fail "half of a trace: exit code $rc"
[ -s "$work/half/metadata" ] && [ -s "$work/half/records" ] || fail "half of a trace gives no folder"

command -v babeltrace2 >/dev/null || {
	echo "babeltrace2 is not here: tools/setup pictures"
	exit 77
}

# compare NAME: each record of NAME.bft is an event of the folder NAME.
compare() {
	babeltrace2 --clock-cycles --no-delta "$work/$1" >"$work/$1.txt" 2>"$work/$1.err" || fail "$1: $(cat "$work/$1.err")"
	[ ! -s "$work/$1.err" ] || fail "$1: $(cat "$work/$1.err")"
	"$BELFRY" dump "$work/$1.bft" --json >"$work/$1.json" 2>/dev/null || [ $? -eq 2 ]
	python3 - "$work/$1.json" "$work/$1.txt" <<'PY' || fail "$1: babeltrace2 reads something else"
import json, re, sys
FIELD = re.compile(r'(\w+) = (?:\( ((?:"(?:[^"\\]|\\.)*"(?:, )?)+|<unknown>) : container = (\d+) \)|"((?:[^"\\]|\\.)*)"'
                   r'|(0x[0-9A-F]+|-?\d+)|(\[.*?\])(?=[,} ]))')
def number(v):
    return int(v, 0) if isinstance(v, str) and re.fullmatch(r"-?\d+|0x[0-9a-f]+", v) else v
n = tails = 0
with open(sys.argv[1]) as wanted, open(sys.argv[2], errors="replace") as found:
    records = (r for r in map(json.loads, wanted) if "type" in r and "fields" in r)
    for record, line in zip(records, found):
        n += 1
        head = re.match(r'\[(\d+)\] (\w+): \{ actor = "([^"]*)" \}(.*)$', line)
        assert head, line
        assert (number(record["time_ps"]), record["actor"], record["type"]) == (int(head[1]), head[3], head[2]), line
        fields = {}
        for m in FIELD.finditer(head[4]):
            fields[m[1]] = (m[2].strip('"') if m[2] and m[2] != "<unknown>" else int(m[3])) if m[3] is not None \
                else m[4] if m[4] is not None else int(m[5], 0) if m[5] else m[6]
        for name, value in record["fields"].items():
            assert number(value) == fields[name.replace(".", "_").replace("-", "_")], (name, value, fields, line)
        if "tail" in record:
            tails += 1
            assert fields["_tail_bytes"] * 2 == len(record["tail"]), line
            data = re.findall(r"\[\d+\] = 0x([0-9A-F]+)", head[4])
            assert "".join("%02x" % int(b, 16) for b in data) == record["tail"], line
    assert next(records, None) is None and found.readline() == "", "not as many"
assert n > 100, n
print(n, "records,", tails, "with tails")
PY
}

run() {
	name=$1
	shift
	"$BELFRY" run "$@" --trace "$work/$name.bft" >/dev/null || [ $? -eq 1 ]
	"$BELFRY" export "$work/$name.bft" --to=ctf -o "$work/$name" >"$work/out" || fail "$name: $(cat "$work/out")"
	compare "$name"
}

run ibgda ibgda-put --messages 8
run fault ibgda-put --messages 4 --bug lkey-swapped
run nvme nvme-mixed --commands 30
run sdma sdma-fence
run hopper mbarrier-cluster --iterations 2
run ll ll-dispatch

# More than a packet, and the trace that was cut.
"$BELFRY" export "$work/long.bft" --to=ctf -o "$work/long" >/dev/null
[ "$(wc -c <"$work/long/records")" -gt 1000000 ] || fail "the long trace has but one packet"
compare long
compare half
