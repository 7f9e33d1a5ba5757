#!/bin/sh
# What Linux printed of real NVMe devices: checked, imported, replayed; and traces that were tampered with are caught.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
vectors=$BELFRY_SOURCE_DIR/traces/samples/nvme_captures.jsonl

# is EXIT TEXT COMMAND...: the command ends with that code and prints that text.
is() {
	code=$1 text=$2
	shift 2
	got=0
	"$@" >"$work/out" 2>&1 || got=$?
	if [ "$got" != "$code" ] || ! grep -qF -- "$text" "$work/out"; then
		echo "FAILED: $* exited with $got (wanted $code) or does not say '$text':" >&2
		cat "$work/out" >&2
		exit 1
	fi
}

is 0 '24 captures: 24 correct, 0 not' "$BELFRY" check nvme "$vectors"
is 0 '242 fields of Identify data and logs: 242 print as captured, 242 printed from the model' "$BELFRY" check nvme "$vectors"
"$BELFRY" check nvme "$vectors" --json | jq -e '.captures == 24 and .mismatches == 0 and .completions_different == 0 and
	.completions_same == 30 and (.vectors | length) == 24' >/dev/null

# Each trace by itself, raw and imported.
jq -r 'select(.kind | startswith("ftrace")) | @json' "$vectors" >"$work/traces"
n=0
while IFS= read -r line; do
	n=$((n + 1))
	printf '%s' "$line" | jq -r .text >"$work/t$n.txt"
	is 0 'The model agrees with the trace.' "$BELFRY" replay "$work/t$n.txt"
	cp "$work/out" "$work/raw"
	is 0 ' event' "$BELFRY" import ftrace "$work/t$n.txt" -o "$work/t$n.bft"
	is 0 'The model agrees with the trace.' "$BELFRY" replay "$work/t$n.bft"
	cmp -s "$work/raw" "$work/out" || { echo "FAILED: trace $n replays differently when imported" >&2; exit 1; }
done <"$work/traces"
[ "$n" = 12 ] || { echo "FAILED: $n traces instead of 12" >&2; exit 1; }
"$BELFRY" replay - <"$work/t1.txt" >/dev/null
"$BELFRY" replay "$work/t1.txt" --trace "$work/replay.bft" >/dev/null
"$BELFRY" dump "$work/replay.bft" | grep -q 'opcode' || { echo "FAILED: the replay's trace has no commands" >&2; exit 1; }

# Tampered with: a status, a register, a head.
sed 's/status=0x0$/status=0x80/' "$work/t1.txt" >"$work/bad"
is 1 'status differs' "$BELFRY" replay "$work/bad"
sed 's/cmdid=8, res=0x1/cmdid=8, res=0x3/' "$work/t2.txt" >"$work/bad"
is 1 'register differs' "$BELFRY" replay "$work/bad"
cat >"$work/bad" <<'TRACE'
a [0] . 1.000001: nvme_setup_cmd: nvme0: qid=1, cmdid=1, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=0, len=7, ctrl=0x0, dsmgmt=0, reftag=0)
a [0] . 1.000002: nvme_sq: nvme0: qid=1, head=5, tail=5
a [0] . 1.000003: nvme_complete_rq: nvme0: qid=1, cmdid=1, res=0x0, retries=0, flags=0x0, status=0x0
a [0] . 1.000004: nvme_setup_cmd: nvme0: qid=1, cmdid=2, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=8, len=7, ctrl=0x0, dsmgmt=0, reftag=0)
a [0] . 1.000005: nvme_complete_rq: nvme0: qid=1, cmdid=2, res=0x0, retries=0, flags=0x0, status=0x0
a [0] . 1.000006: nvme_sq: nvme0: qid=1, head=5, tail=6
TRACE
is 1 'the head moved by 0 while 1 commands ended' "$BELFRY" replay "$work/bad"

# Damage and wrong words.
printf 'a [0] . 1.1: nvme_sq: nvme0: qid=1, head=1, tail=1\na [0] . 1.2: nvme_sq: nvme0: qid=1, head=, tail=1\n' >"$work/bad"
is 2 'line 2, column 42: a number is expected here' "$BELFRY" import ftrace "$work/bad" -o "$work/bad.bft"
is 2 'the 1 event in front of it is in' "$BELFRY" import ftrace "$work/bad" -o "$work/bad.bft"
is 2 'there is no event of an NVMe driver in it' "$BELFRY" import ftrace /dev/null -o "$work/x.bft"
is 2 '--life is for replays of mlx5-capture' "$BELFRY" replay "$work/t1.txt" --life 1:2
is 2 'no NVMe profile' "$BELFRY" replay "$work/t1.txt" --profile cx7
printf '{"kind":"smart","source":"x","text":"temperature : warm"}\n' >"$work/bad"
is 1 'MISMATCH' "$BELFRY" check nvme "$work/bad"
printf '{"kind":"smart","source":"x"}\n' >"$work/bad"
is 2 'line 1: there is no text "text"' "$BELFRY" check nvme "$work/bad"
