#!/bin/sh
# belfry launch: exit codes, endings, signals and output; and that a simulation spread over processes does the same.
set -eu
# shellcheck disable=SC2016 # the processes expand their own variables
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TMPDIR=$work/tmp
export TMPDIR
mkdir "$TMPDIR"

fail() {
	echo "$1" >&2
	[ ! -s "$work/out" ] || cat "$work/out" >&2
	[ ! -s "$work/err" ] || cat "$work/err" >&2
	exit 1
}

# expect CODE ARGUMENTS...: launches, keeps the outputs, compares the exit code; nothing may be left behind.
expect() {
	want=$1
	shift
	code=0
	"$BELFRY" launch "$@" >"$work/out" 2>"$work/err" || code=$?
	[ "$code" -eq "$want" ] || fail "belfry launch $*: exit code $code, not $want"
	[ -z "$(ls -A "$TMPDIR")" ] || fail "belfry launch $*: left $(ls -A "$TMPDIR")"
}

says() {
	grep -qF -- "$1" "$work/out" "$work/err" || fail "the output does not say '$1'"
}

"$BELFRY" launch -n 2 -- "$BELFRY" run ibgda-put --messages 1 >"$work/out" 2>&1 ||
	if grep -q 'libuv was not found' "$work/out"; then
		echo "this build has no libuv"
		exit 77
	else
		fail "two processes do not run"
	fi

# What processes get and how their output comes.
expect 0 -n 3 -- sh -c 'echo "$BELFRY_RANK of $BELFRY_RANKS in ${BELFRY_BOOT%%:*}"'
[ "$(sort "$work/out")" = "0 of 3 in unix
1 of 3 in unix
2 of 3 in unix" ] || fail "the environment is not correct"
expect 0 -n 2 --tcp 23456 -- sh -c '[ "$BELFRY_BOOT" = tcp:23456 ]'
expect 0 -n 2 --prefix -- sh -c 'echo hello; echo trouble >&2; printf "no newline"'
[ "$(sort "$work/out")" = "[0] hello
[0] no newline
[1] hello
[1] no newline" ] || fail "standard output is not prefixed correct"
[ "$(sort "$work/err")" = "[0] trouble
[1] trouble" ] || fail "standard error is not prefixed correct"
expect 0 -n 2 -- sh -c '! read -r line' </dev/null

# The first failure is the exit code, and the others do not outlive it.
expect 7 -n 3 --grace 0s -- sh -c '[ "$BELFRY_RANK" = 1 ] && exit 7; exec sleep 100'
says 'rank 1 ended with exit code 7'
expect 7 -n 2 --grace 10s -- sh -c '[ "$BELFRY_RANK" = 1 ] && exit 7; sleep 0.2; touch "'"$work"'/ended"; exit 9'
[ -e "$work/ended" ] || fail "there was no grace"
expect 5 -n 2 --grace 0s -- sh -c '[ "$BELFRY_RANK" = 0 ] && exit 5; trap "" TERM; sleep 100 & wait; sleep 100'
# Who ended first was the first, also where launch looks late: it is stopped while rank 2, then 1, then 0 end.
(
	"$BELFRY" launch -n 3 --grace 20s -- sh -c '
		echo $$ >"$0/pid$BELFRY_RANK"
		until [ -e "$0/go$BELFRY_RANK" ]; do sleep 0.01; done
		exit $((BELFRY_RANK + 4))' "$work" 2>"$work/late" || echo $? >"$work/code"
) &
until [ -s "$work/pid0" ] && [ -s "$work/pid1" ] && [ -s "$work/pid2" ]; do sleep 0.01; done
launcher=$(ps -o ppid= -p "$(cat "$work/pid0")" | tr -d ' ')
kill -STOP "$launcher"
for rank in 2 1 0; do
	touch "$work/go$rank"
	until [ "$(ps -o stat= -p "$(cat "$work/pid$rank")" | cut -c1)" = Z ]; do sleep 0.01; done
done
kill -CONT "$launcher"
wait
[ "$(cat "$work/code")" -eq 6 ] && grep -q 'rank 2 ended with exit code 6' "$work/late" ||
	fail "rank 2 ended first: exit code $(cat "$work/code"), $(cat "$work/late")"
expect 127 -n 2 -- "$work/nothing"
says 'cannot run'
expect 0 -n 2 --json -- sh -c 'echo text'
grep -q '"exit": *0' "$work/out" || fail "no JSON document"
! grep -q text "$work/out" || fail "the processes write into the document"
expect 2 -n 0 -- true
expect 2 -n 2

# PMI: who is there, what each has put, and those that never come to the barrier.
cat >"$work/pmi.bash" <<'END'
ask() {
	echo "$1" >&"$PMI_FD" && read -r reply <&"$PMI_FD" && case $reply in *"$2"*) ;; *) echo "$1: $reply"; exit 9 ;; esac
}
ask 'cmd=init pmi_version=1 pmi_subversion=1' 'cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0'
ask 'cmd=get_universe_size' "size=$PMI_SIZE"
ask "cmd=put kvsname=belfry key=$PMI_RANK value=of-$PMI_RANK" rc=0
[ "$1.$PMI_RANK" != leave.1 ] || exit 0
[ "$1.$PMI_RANK" != abort.1 ] || echo 'cmd=abort exitcode=5' >&"$PMI_FD"
[ "$1.$PMI_RANK" != nonsense.1 ] || echo 'nonsense' >&"$PMI_FD"
ask cmd=barrier_in cmd=barrier_out
for rank in $(seq 0 $((PMI_SIZE - 1))); do
	ask "cmd=get kvsname=belfry key=$rank" "value=of-$rank"
done
ask cmd=finalize cmd=finalize_ack
echo found all
END
expect 0 -n 4 -- bash "$work/pmi.bash"
[ "$(grep -c 'found all' "$work/out")" = 4 ] || fail 'not all ranks have found all by PMI'
expect 1 -n 3 -- bash "$work/pmi.bash" leave
says "2 of 3 ranks wait at PMI's barrier"
expect 5 -n 3 -- bash "$work/pmi.bash" abort
says 'PMI of rank 1: it asked for the end of all (exit code 5)'
expect 1 -n 3 -- bash "$work/pmi.bash" nonsense
says 'PMI of rank 1: a line that does not begin with cmd='

# One that is killed names itself; in the middle of a simulation the others hear of it instead of waiting.
expect 137 -n 2 --grace 5s -- sh -c '[ "$BELFRY_RANK" = 1 ] && kill -9 $$; exec sleep 100'
says 'rank 1 was killed by signal 9'
expect 137 -n 3 --grace 20s --timeout 60s --prefix -- sh -c '
	if [ "$BELFRY_RANK" = 2 ]; then
		"'"$BELFRY"'" run ibgda-put --pes 6 --messages 1000000 --records none >/dev/null &
		pid=$!
		# Some time of its own: it is at work with the others then, however busy the machine.
		while [ "$(cut -d " " -f 14 /proc/$pid/stat)" -lt 20 ]; do
			sleep 0.1
		done
		kill -9 $pid
		wait $pid
	else
		exec "'"$BELFRY"'" run ibgda-put --pes 6 --messages 1000000 --records none
	fi'
says 'rank 2 is gone'

# A reader that goes away ends the processes, as it would end one, and leaves nothing.
"$BELFRY" launch -n 2 --prefix --grace 0s -- sh -c 'while echo text && echo trouble >&2; do :; done' 2>&1 | head -n 1 >/dev/null
"$BELFRY" launch -n 2 --grace 0s -- sh -c 'while echo text; do :; done' 2>&1 | head -n 1 >/dev/null
[ -z "$(ls -A "$TMPDIR")" ] || fail "a launch whose reader went away left $(ls -A "$TMPDIR")"

# Time and signals.
expect 124 -n 2 --timeout 200ms -- sleep 100
says 'the time is over'
"$BELFRY" launch -n 2 --prefix -- sh -c 'trap "echo told; exit 0" TERM; echo ready; while :; do sleep 0.05; done' \
	>"$work/out" 2>"$work/err" &
pid=$!
for _ in $(seq 200); do
	[ "$(grep -c ready "$work/out")" = 2 ] && break
	sleep 0.05
done
kill -TERM $pid
code=0
wait $pid || code=$?
[ "$code" -eq 143 ] || fail "after SIGTERM the exit code is $code, not 143"
[ "$(grep -c told "$work/out")" = 2 ] || fail "the signal was not passed on"
[ -z "$(ls -A "$TMPDIR")" ] || fail "a launch that was told to end left $(ls -A "$TMPDIR")"

# The same hash of each PE, the same time and the same verdict on 1, 2 and 4 processes, and on 3 threads of one.
result() {
	grep -E '^(good|wrong|deadlock|time limit|error|simulated|PE |all PEs|  .* fired)' "$work/out" |
		sed 's/, [0-9]* events//'
}
same() {
	code=0
	"$BELFRY" run "$@" --hashes >"$work/out" 2>&1 || code=$?
	alone=$(result)
	[ -n "$alone" ] || fail "belfry run $*: says nothing"
	threads=0
	"$BELFRY" run "$@" --hashes --cores 3 >"$work/out" 2>&1 || threads=$?
	[ "$(result) $threads" = "$alone $code" ] || fail "belfry run $*: 3 threads do something else than
$alone"
	for n in 1 2 4; do
		expect "$code" -n $n --grace 60s -- "$BELFRY" run "$@" --hashes
		[ "$(result)" = "$alone" ] || {
			echo "$alone" >&2
			fail "belfry run $*: $n processes do something else"
		}
	done
}
# Every workload and every ordering; an ordering is a matter of each PE's own memory, whatever moves the data.
for case in 'put sc' 'get tso' 'mixed gpu' 'put adversarial' 'get adversarial' 'amo adversarial' 'mixed adversarial'; do
	same "ibgda-${case% *}" --ordering "${case#* }" --pes 4 --warps 2 --messages 30 --route all
done
same ibgda-put --pes 8 --size 20000 --messages 8 --qps 2 --depth 32 --batch 8
same ibgda-amo --pes 4 --fetch --op cas --messages 20 --warps 2 --counters 3
same ibgda-mixed --pes 8 --warps 2 --messages 40 --ack-timeout 6 \
	--faults 'drop prob=0.02; duplicate prob=0.02; reorder prob=0.02; delay prob=0.02; corrupt prob=0.01'
same ibgda-put --pes 4 --messages 60 --ack-timeout 6 --faults 'drop on=nic2 skip=7 count=2; link-down prob=0.01 delay=9us'
same ibgda-put --pes 4 --fill --messages 40 --ordering adversarial --bug dbrec-index
same ibgda-put --pes 4 --messages 100 --limit 20us

# Paths die: supervisors of other processes hear of it when those of this one do.
for workload in put get amo; do
	same ibgda-$workload --pes 4 --nics 2 --backup --messages 100 --ack-timeout 4 --stats --faults \
		'link-down on=nic1.0.p1 after=20us delay=150us; link-down on=nic2.1.p1 after=120us delay=100us'
	grep -Eq 'failover.pe1.moved +[1-9]' "$work/out" || fail "ibgda-$workload: nothing moved"
done
same ibgda-amo --ordering adversarial --pes 4 --ports 2 --backup --messages 100 --ack-timeout 4 \
	--faults 'link-down on=nic1.p1 after=20us delay=150us'

# Statistics of all come together.
"$BELFRY" run ibgda-put --pes 4 --messages 20 --stats | sed -n '/^statistics/,$p' >"$work/alone"
expect 0 -n 4 -- "$BELFRY" run ibgda-put --pes 4 --messages 20 --stats
sed -n '/^statistics/,$p' "$work/out" | diff "$work/alone" - >&2 || fail "the statistics differ"

"$BELFRY" run ibgda-put --pes 4 --messages 20 --stats --cores 3 | sed -n '/^statistics/,$p' |
	diff "$work/alone" - >&2 || fail "the statistics of threads differ"

# What cannot be spread is refused with the reason.
refuses() { # TEXT ARGUMENTS...
	text=$1
	shift
	code=0
	"$BELFRY" run ibgda-put "$@" >"$work/out" 2>"$work/err" || code=$?
	[ "$code" -eq 2 ] || fail "belfry run ibgda-put $*: exit code $code, not 2"
	says "$text"
}
refuses 'cannot be spread over 3 cores' --cores 3
refuses 'need the records of all PEs in one order' --cores 2 --lint
refuses 'in the order of all PEs, so one core' --cores 2 --choices 1:1
refuses 'has threads of its own' --cores 2 --backend live
expect 2 -n 2 -- "$BELFRY" run ibgda-put --pes 4 --faults 'drop skip=3'
says 'on=NAME'
expect 2 -n 2 -- "$BELFRY" run ibgda-put --trace "$work/t.bft"
says '--trace'
[ ! -e "$work/t.bft" ] || fail "a trace was begun"
expect 2 -n 2 -- "$BELFRY" run ibgda-put --backend live
says 'cannot be spread over processes'
for workload in nvme-read sdma-copy ll-dispatch shmem-put mbarrier-pipeline; do
	expect 2 -n 2 -- "$BELFRY" run $workload
	says 'cannot be spread over 2 processes'
done
for workload in ibgda-put ibgda-mixed nvme-read sdma-copy mbarrier-pipeline; do
	expect 2 -n 2 -- "$BELFRY" explore $workload --seeds 2
	says 'cannot be spread over 2 processes'
	[ ! -s "$work/out" ] || fail "something was explored"
done
# Of every other command one process is enough, however few words it needs; those that run in each of them say so by
# what they do with the words.
"$BELFRY" run ibgda-put --messages 2 --trace "$work/t.bft" >/dev/null
for command in "replay $work/t.bft" "explain $work/t.bft" "stats $work/t.bft" "lint $work/t.bft" rules \
	"import ftrace $work/t.bft -o $work/i.bft" "dump $work/t.bft" "diff $work/t.bft $work/t.bft" \
	"export $work/t.bft --to vcd -o $work/t.vcd" "decode mlx5-cqe 00" "check hopper-mbarrier $work/t.bft" \
	"serve nvme --socket $work/s" "lab run -- true" "launch -n 2 -- true"; do
	# shellcheck disable=SC2086 # commands are words
	expect 2 -n 2 -- "$BELFRY" $command
	says 'cannot be spread over 2 processes'
	# shellcheck disable=SC2086
	expect 2 -n 2 --json -- "$BELFRY" $command --json
	says 'cannot be spread over 2 processes'
done
for file in i.bft t.vcd s; do
	[ ! -e "$work/$file" ] || fail "a refused command made $file"
done
expect 0 -n 1 -- "$BELFRY" dump "$work/t.bft"
expect 0 -n 2 -- "$BELFRY" dump --help
expect 0 -n 2 -- "$BELFRY" doctor
expect 2 -n 4 -- "$BELFRY" run ibgda-put --pes 2
says 'ranks'
expect 2 -n 3 -- sh -c '[ $BELFRY_RANK = 2 ] && more="--messages 17"; exec "$0" run ibgda-put --pes 3 $more' "$BELFRY"
says 'rank 2 has other options than rank 0'
expect 2 -n 0 -- true
says ' -n expects'
