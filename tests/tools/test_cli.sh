#!/bin/sh
# The frame of belfry: help from the option tables, errors that name what they want, exit codes, output that can end early.
set -u
failed=0

# is CODE TEXT command...: the exit code is CODE, and TEXT (a regular expression) is in the output.
is() {
	want=$1 text=$2
	shift 2
	code=0
	out=$("$@" 2>&1) || code=$?
	if [ "$code" -ne "$want" ]; then
		echo "FAIL: $*: exit code $code, not $want: $out" >&2
		failed=1
	elif ! printf '%s\n' "$out" | grep -Eq -e "$text"; then
		echo "FAIL: $*: no '$text' in: $out" >&2
		failed=1
	fi
}

commands=$("$BELFRY" help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
for command in run replay explore explain import dump diff export decode check doctor; do
	echo "$commands" | grep -qx "$command" || {
		echo "FAIL: help does not list $command" >&2
		failed=1
	}
done
for command in $commands; do
	is 0 "^usage: belfry $command" "$BELFRY" "$command" --help
	is 0 "^usage: belfry $command" "$BELFRY" help "$command"
	is 0 "^usage: belfry $command" "$BELFRY" "$command" -h
	is 0 '^  --json ' "$BELFRY" "$command" --help
	is 2 "^belfry $command: there is no option --no-such-thing" "$BELFRY" "$command" --no-such-thing
	long=$("$BELFRY" "$command" --help | awk 'length > 100 || / $/')
	[ -z "$long" ] || {
		echo "FAIL: belfry $command --help is too wide or ends in blanks: $long" >&2
		failed=1
	}
done
is 2 "'belfry run sdma- --help' lists them" "$BELFRY" run sdma-copy --no-such-thing

is 0 '^belfry [0-9]+\.[0-9]+\.[0-9]+$' "$BELFRY" --version
is 2 '^usage: belfry COMMAND' "$BELFRY"
is 0 '^usage: belfry COMMAND' "$BELFRY" --help
is 2 "did you mean 'replay'" "$BELFRY" replya x
is 2 "'belfry help' lists them" "$BELFRY" quux
is 2 "there is no command 'dmup'; did you mean 'dump'" "$BELFRY" help dmup
is 2 'workload "ibgda-ptu" is not known; did you mean ibgda-put\?' "$BELFRY" run ibgda-ptu
is 2 'workload "nvmeread" is not known; did you mean nvme-read\?' "$BELFRY" explore nvmeread
is 2 'did you mean nvme-gpu-poll' "$BELFRY" run nvme-gpu-pol
is 2 'bug "cta-fenc" is not known; did you mean cta-fence\?' "$BELFRY" run ibgda-put --bug cta-fenc
is 2 'bug "phase" is not known; did you mean phase-inverted\?' "$BELFRY" run nvme-verify --bug phase
is 2 'bug "zzz" is not known; `belfry' "$BELFRY" run ibgda-put --bug zzz
is 2 'not a known kind of fault; did you mean drop\? There are drop, duplicate' "$BELFRY" run ibgda-put --faults dorp
is 2 "got 'adversaril'; did you mean adversarial\?" "$BELFRY" run ibgda-put --ordering adversaril
is 2 'backend "smi" is not known; did you mean sim\? `belfry doctor` lists them' "$BELFRY" run ibgda-put --backend smi
is 2 'record class "quue" is not known; did you mean queue\? There are meta' "$BELFRY" run ibgda-put --records quue
is 2 "no form 'mlx5-wqq'; did you mean mlx5-wqe\?" "$BELFRY" decode mlx5-wqq 00
is 2 'profile "cx7timed" is not known; did you mean cx7-timed\?' "$BELFRY" run ibgda-put --profile cx7timed
is 2 'no NVMe profile "970por"; did you mean 970pro\?' "$BELFRY" run nvme-read --profile 970por
is 2 'profile "v44" is not known; did you mean v4\?' "$BELFRY" run sdma-copy --profile v44
is 2 'profile "h20" is not known; did you mean h200\?' "$BELFRY" run mbarrier-ring --profile h20
is 2 'there is no rule "MLX5-FENCE-SCPOE"; did you mean MLX5-FENCE-SCOPE\?' "$BELFRY" rules MLX5-FENCE-SCPOE
is 2 'there is no rule "mlx5-fence-scpoe"; did you mean MLX5-FENCE-SCOPE\?' "$BELFRY" lint f --rule mlx5-fence-scpoe
is 2 'there is no rule "NVME-PHSAE"; did you mean NVME-PHASE\?' "$BELFRY" lint f --suppress NVME-PHSAE=why
is 0 "has the type 'capture_doorbel'; did you mean capture_doorbell\?" "$BELFRY" dump \
	"$BELFRY_SOURCE_DIR/traces/samples/write_lat_inline.client.jsonl" --type capture_doorbel
is 2 'did you mean --seed' "$BELFRY" replay x --sede=1
is 2 "belfry replay: --seed expects a number, got 'x'" "$BELFRY" replay f --seed=x
is 2 "belfry replay: --seed expects a number, got '-1'" "$BELFRY" replay f --seed=-1
is 2 "belfry replay: --seed expects a number, got '7Q'" "$BELFRY" replay f --seed 7Q
is 2 'does not fit into 64 bits' "$BELFRY" replay f --seed=99999999999999999999
is 2 'does not fit into 64 bits' "$BELFRY" replay f --seed=18014398509481984G
is 2 '--mtu expects 256 to 4096, got 64' "$BELFRY" replay f --mtu=64
is 2 'an MTU is 256' "$BELFRY" replay "$BELFRY_SOURCE_DIR/traces/samples/write_lat_inline.client.jsonl" --mtu=300
is 2 '--seed is given twice' "$BELFRY" replay f --seed=1 --seed=2
is 2 '--seed expects a value' "$BELFRY" replay f --seed
is 2 '--tails takes no value' "$BELFRY" dump f --tails=yes
is 2 '--from expects a time such as 10us' "$BELFRY" dump f --from=10
is 2 '--to expects one of pcapng\|jsonl' "$BELFRY" export f --to=gif
is 2 'an argument is missing' "$BELFRY" replay
is 2 "unexpected argument 'b'" "$BELFRY" replay a b
is 2 'cannot open /nonexistent' "$BELFRY" replay /nonexistent
is 2 'cannot open /nonexistent' "$BELFRY" dump /nonexistent
is 2 '--from expects a value: TIME' "$BELFRY" dump f --from --json
is 2 '--trace expects a value: FILE' "$BELFRY" run ibgda-put --trace --json
is 2 '--trace expects a value: FILE' "$BELFRY" run ibgda-put --trace=
is 2 '--trace expects a file: standard output has the results' "$BELFRY" run ibgda-put --trace -
is 2 '-o expects a file' "$BELFRY" import mlx5-capture f -o -
is 2 '^belfry import: -o is given twice' "$BELFRY" import mlx5-capture f -o a -o b
is 2 '--limit expects 1 to ' "$BELFRY" dump f --limit 0
is 2 'cannot read /: Is a directory' "$BELFRY" dump /
is 2 "there is no form '\?\[31m\?'" "$BELFRY" decode "$(printf '\033[31m\177')" 00
is 2 'no option -q' "$BELFRY" dump f -q
is 2 'cannot open --help' "$BELFRY" dump -- --help
is 0 '"error":"--seed expects a number' sh -c '"$BELFRY" replay f --seed=x --json 2>/dev/null || [ $? -eq 2 ]'

# Results on standard output, errors on standard error.
[ -z "$("$BELFRY" replay /nonexistent 2>/dev/null)" ] || { echo "FAIL: an error on standard output" >&2; failed=1; }
[ -z "$("$BELFRY" --help 2>&1 >/dev/null)" ] || { echo "FAIL: help on standard error" >&2; failed=1; }

# A reader that leaves early, and a disk that is full.
sample=$BELFRY_SOURCE_DIR/traces/samples/mix_1.client.jsonl
err=$( (trap '' PIPE; "$BELFRY" dump "$sample" --tails 2>&3 | head -1 >/dev/null) 3>&1)
[ -z "$err" ] || { echo "FAIL: dump | head says '$err'" >&2; failed=1; }
if [ -w /dev/full ]; then
	is 2 'cannot write' sh -c '"$BELFRY" dump "$0" >/dev/full' "$sample"
fi
# A file that may not grow; names that are empty; a profile that says nothing.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
is 2 'File too large' sh -c 'ulimit -f 8; "$BELFRY" run ibgda-put --messages 200 --trace "$0/t.bft"' "$folder"
is 2 '--net expects a value' "$BELFRY" exec --net '' -- true
echo '{"comment": "nothing"}' >"$folder/p.json"
is 2 'a profile names its base or a field' "$BELFRY" run mbarrier-pipeline --profile "$folder/p.json"

# A terminal: its width, and colours unless NO_COLOR is set; a pipe has neither.
if command -v script >/dev/null; then
	"$BELFRY" run ibgda-put --bug dbrec-index --trace "$folder/t.bft" >/dev/null
	on_terminal() {
		TERM=xterm script -qec "stty cols $1; $2" /dev/null | tr -d '\r'
	}
	story="\"\$BELFRY\" explain $folder/t.bft 0x101:0"
	[ "$(on_terminal 70 "$story" | wc -L)" -le 70 ] || { echo "FAIL: a story wider than its terminal of 70" >&2; failed=1; }
	[ "$(on_terminal 150 "$story" | wc -L)" -gt 100 ] || { echo "FAIL: a story that does not use 150 columns" >&2; failed=1; }
	red=$(printf '\033[1;31merror:')
	on_terminal 100 "\"\$BELFRY\" lint $folder/t.bft" | grep -qF "$red" || { echo "FAIL: no colour" >&2; failed=1; }
	! on_terminal 100 "NO_COLOR=1 \"\$BELFRY\" lint $folder/t.bft" | grep -q "$(printf '\033')" ||
		{ echo "FAIL: colours in spite of NO_COLOR" >&2; failed=1; }
	! "$BELFRY" lint "$folder/t.bft" | grep -q "$(printf '\033')" || { echo "FAIL: colours in a pipe" >&2; failed=1; }
fi
exit $failed
