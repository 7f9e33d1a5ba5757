#!/bin/sh
# Dumps of SDMA rings: as umr prints them and as plain dwords, imported, replayed; where an engine stops is said.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
corpus=$BELFRY_SOURCE_DIR/tests/fuzz/corpus/sdma_dump

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

is 0 'The model executes all of it.' "$BELFRY" replay "$corpus/plain.txt" --profile v4
grep -q 'COPY_LINEAR .* 4096 bytes  executed' "$work/out"
is 0 '2 packets, 4096 bytes moved' "$BELFRY" replay - --profile v4 <"$corpus/plain.txt"

# The FENCE's address is misaligned: the engine stops there, whatever comes behind.
is 1 'The engine stopped at place 519: ' "$BELFRY" replay "$corpus/umr.txt" --profile v4
grep -q 'which the dumped engine had not fetched' "$work/out"
cp "$work/out" "$work/umr"
is 0 'umr.bft: 20 events' "$BELFRY" import sdma-ring "$corpus/umr.txt" -o "$work/umr.bft"
is 1 'The engine stopped at place 519: ' "$BELFRY" replay "$work/umr.bft" --profile v4
cmp -s "$work/umr" "$work/out" || { echo "FAILED: replays differently when imported" >&2; exit 1; }
printf '\033[34mvega10.sdma0.ring[\033[0m 0] == \033[33m0x00000000\033[0m\n' | "$BELFRY" replay - >/dev/null

# With the address put right, the poll behind it finds what it waits for, and nothing holds the engine.
sed 's/0x00600002/0x00600000/' "$corpus/umr.txt" >"$work/good"
is 0 'what held the dumped engine is not in these packets' "$BELFRY" replay "$work/good" --profile v4
# A poll for something that cannot be: less than 0.
sed 's/0xb0000008/0x90000008/; s/== 0x00000007/== 0x00000000/' "$work/good" >"$work/stuck"
is 1 'The engine waits at place 523: POLL_REGMEM' "$BELFRY" replay "$work/stuck" --profile v4
"$BELFRY" replay "$work/stuck" --profile v4 --json >"$work/json" || :
jq -e '.all_executed == false and .waits == "POLL_REGMEM" and (.packets | length) == 3' "$work/json" >/dev/null
is 1 'packet longer than what was published' "$BELFRY" replay - --profile v6 <<'DUMP'
00000002 00001000 00000001 00000010 11111111
DUMP

# An indirect buffer is not in the dump: NOPs. The INDIRECT ends on a multiple of eight dwords.
is 0 'INDIRECT                   6 dwords' "$BELFRY" replay - <<'DUMP'
0 0 00000004 00100000 0 10 0 0
DUMP
grep -q 'executed' "$work/out"
# gfx90a's counts have 30 bits: cut and executed alike.
is 0 '1 packets, 16777216 bytes moved' "$BELFRY" replay - --profile v4 <<'DUMP'
00000001 00ffffff 0 01000000 0 04000000 0
DUMP
is 2 'more than 1024 MiB' "$BELFRY" replay - --profile v6 <<'DUMP'
00000001 3fffffff 0 01000000 0 80000000 0
DUMP

# A ring that the dump goes round: 256 dwords, the copy stands over the end, which no packet may.
awk 'BEGIN { for (i = 250; i < 256; i++) printf "x.sdma0.ring[%4d] == 0x%08x    ...\n", i, i == 253 ? 1 : i == 254 ? 255 : 0
	for (i = 0; i < 8; i++) printf "x.sdma0.ring[%4d] == 0x%08x    ...\n", i, i == 0 ? 4194304 : i == 2 ? 5242880 : 0 }' >"$work/lap"
is 1 'packet crosses the end of the ring' "$BELFRY" replay "$work/lap"

is 2 'line 2, column 1: 32 bits in hexadecimal is expected here' "$BELFRY" import sdma-ring - -o "$work/x.bft" <<'DUMP'
00000000
zero
DUMP
is 2 'does not follow the one before' "$BELFRY" import sdma-ring - -o "$work/x.bft" <<'DUMP'
0: 00000000
8: 00000000
DUMP
is 2 'there is no dword in it' "$BELFRY" import sdma-ring /dev/null -o "$work/x.bft"
is 2 'is no SDMA generation' "$BELFRY" replay "$corpus/plain.txt" --profile v9
