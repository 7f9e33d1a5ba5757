#!/bin/bash
# Random programs under belfry exec with random fault plans: exec_faults.sh [RUNS [SEED]].
#
# Each run is drawn from its own number, which is printed when it fails, so that `exec_faults.sh 1 NUMBER` does it again.
# A program may fail as it does on a NIC that fails; it may not crash, nor wait where a NIC would have answered, and
# nothing may be left behind: no folder, no process, no shared memory.
set -u
. "$(dirname "$0")/../exec.sh"
runs=${1:-24}
seed=${2:-1}
verbs=${BELFRY_VERBS:-$(dirname "$BELFRY")/../tests/exec_verbs}
work=$(mktemp -d)
TMPDIR=$work/tmp
export TMPDIR
mkdir "$TMPDIR"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
command -v ib_write_bw >/dev/null && command -v ibv_rc_pingpong >/dev/null || {
	echo "perftest or ibverbs-utils is not installed"
	exit 77
}
[ -x "$verbs" ] || { echo "no $verbs"; exit 77; }
verbs=$(realpath "$verbs")
losses=0 good=0 ended=0 killed=0

pick() {
	local list=("$@")
	echo "${list[RANDOM % $#]}"
}

# True when a program may wait forever: what it waits for is lost for good.
hangs() {
	case "$1" in
	*lost-* | *cq-overrun*) return 0 ;; # pingpong and perftest read no asynchronous events
	*qp-error* | *access-error* | *dma-fault*) return 0 ;; # the other side hears of none of these
	esac
	case "$2" in
	ibv_ud_pingpong*) return 0 ;; # datagrams are not repeated
	*) return 1 ;;
	esac
}

draw_plan() {
	local rules=$((RANDOM % 3)) plan="" kind
	for ((r = 0; r <= rules; r++)); do
		kind=$((RANDOM % 7))
		[ $((RANDOM % 8)) -ne 0 ] || kind=$((7 + RANDOM % 6))
		case $kind in
		0) plan+="drop prob=0.0$((1 + RANDOM % 5)); " ;;
		1) plan+="duplicate prob=0.$((1 + RANDOM % 3)); " ;;
		2) plan+="delay prob=0.1 delay=$((1 + RANDOM % 900))us; " ;;
		3) plan+="corrupt prob=0.0$((1 + RANDOM % 3)); " ;;
		4) plan+="reorder prob=0.1 delay=$((1 + RANDOM % 50))us; " ;;
		5) plan+="link-down skip=$((RANDOM % 50)) count=1 delay=$((1 + RANDOM % 90))ms; " ;;
		6) plan+="device-stall prob=0.1 delay=50us; " ;;
		7) plan+="qp-error skip=$((RANDOM % 50)) count=1; " ;;
		8) plan+="cq-overrun skip=$((RANDOM % 50)) count=1; " ;;
		9) plan+="access-error skip=$((RANDOM % 50)) count=1; " ;;
		10) plan+="dma-fault skip=$((RANDOM % 200)) count=1; " ;;
		11) plan+="lost-completion skip=$((RANDOM % 50)) count=1; " ;;
		12) plan+="lost-doorbell skip=$((RANDOM % 50)) count=1; " ;;
		esac
	done
	echo "$plan"
}

complain() {
	echo "FAILED run $number: $1"
	echo "  program: $program; options: $options; plans: '$plan0' and '$plan1'"
	tail -n 5 server client 2>/dev/null | sed 's/^/  /'
	failed=$((failed + 1))
}

# Codes that no program gives by itself: signals other than the time's. 124: the time is over.
judge() {
	local code=$1
	if [ "$code" -eq 124 ]; then
		if hangs "$plan0 $plan1" "$program" || [ "$other_failed" = yes ]; then losses=$((losses + 1)); else
			complain "$2 waits forever"
		fi
	elif [ "$code" -ge 128 ] || [ "$code" -eq 77 ] || [ "$code" -eq 2 ]; then
		complain "$2 ended with $code"
	elif [ "$code" -ne 0 ]; then
		ended=$((ended + 1))
	else
		good=$((good + 1))
	fi
}

nothing_left() {
	[ -z "$(ls -A "$TMPDIR")" ] && ! pgrep -f "net soak-$$ " >/dev/null
}

left_behind() {
	within 20 nothing_left
	[ -z "$(ls -A "$TMPDIR")" ] || { complain "left $(ls -A "$TMPDIR")"; rm -rf "${TMPDIR:?}"/*; }
	! pgrep -f "net soak-$$ " >/dev/null || complain "a process is left: $(pgrep -af "net soak-$$ ")"
	! ls /dev/shm 2>/dev/null | grep -i belfry | grep -v "^belfry-fuzz-" || complain "something is left in /dev/shm"
}

# Programs that spin on memory make little headway where there are fewer processors than threads: that is no hang.
patience() {
	if hangs "$plan0 $plan1" "$program"; then limit=6; else limit=60; fi
}

run_pair() {
	local server client code victim=none
	next_port
	[ $((RANDOM % 10)) -ne 0 ] || victim=$(pick server client)
	[ $victim = none ] || limit=10 # a receiver whose sender is gone hears nothing, ever
	# shellcheck disable=SC2086 # options and programs are words
	LD_PRELOAD=$clock timeout -k 5 $limit "$BELFRY" exec --net soak-$$ $options --seed "$number" --faults "$plan0" -- $program -p $port >server 2>&1 &
	server=$!
	ready $port $server
	# shellcheck disable=SC2086
	LD_PRELOAD=$clock timeout -k 5 $limit "$BELFRY" exec --net soak-$$ $options --seed "$number" --faults "$plan1" -- $program -p $port 127.0.0.1 >client 2>&1 &
	client=$!
	other_failed=no
	if [ $victim != none ]; then
		sleep 0.$((RANDOM % 9 + 1))
		pkill -9 -P "${!victim}" && killed=$((killed + 1))
		other_failed=yes
	fi
	code=0
	{ wait $client || code=$?; } 2>/dev/null
	[ $victim = client ] || judge $code client
	[ $code -eq 0 ] || other_failed=yes # and this side may wait for what will not come
	code=0
	{ wait $server || code=$?; } 2>/dev/null
	[ $victim = server ] || judge $code server
}

run_alone() {
	local code=0
	other_failed=no
	: >server
	# shellcheck disable=SC2086
	timeout -k 5 $limit "$BELFRY" exec --net soak-$$ $options --seed "$number" --faults "$plan0" -- $program >client 2>&1 || code=$?
	judge $code program
}

for ((number = seed; number < seed + runs; number++)); do
	RANDOM=$number
	for _ in 1 2 3; do : $RANDOM; done # neighbouring seeds begin alike
	plan0=$(draw_plan)
	plan1=$([ $((RANDOM % 2)) -eq 0 ] && draw_plan)
	options=$(pick "" "--doorbells poll" "--blueflame" "--abi write" "")
	n=$((50 + RANDOM % 300))
	program=$(pick "ibv_rc_pingpong -g 1 -n $n -c" "ibv_rc_pingpong -g 1 -n $n -e" "ibv_srq_pingpong -g 1 -n $n" \
		"ibv_ud_pingpong -g 1 -n $n" "ib_write_bw -x 1 -n $n -s $((1 + RANDOM % 9000))" "ib_write_bw -x 1 -n $n -q 3" \
		"ib_read_bw -x 1 -n $n" "ib_send_bw -x 1 -n $n" "ib_atomic_bw -x 1 -n $n" "ib_write_lat -x 1 -n $((n / 4))" \
		"$verbs faulted" "$verbs faulted faulted")
	patience
	case $program in
	"$verbs"*) run_alone ;;
	*) run_pair ;;
	esac
	left_behind
done
echo "$runs runs: $good processes good, $ended ended with an error, $losses waited for what was lost, $killed were killed," \
	"$failed failures"
[ $failed -eq 0 ]
