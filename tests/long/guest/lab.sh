# shellcheck shell=bash Sourced by tests/long/lab_*.sh. A check is a line "ok PART: NAME (N ms)" or "FAILED PART: NAME: why",
# from the host or a guest.

lab=$BELFRY_SOURCE_DIR/tools/lab
here=$BELFRY_SOURCE_DIR/tests/long
work=$(mktemp -d)
server=
trap 'stop_server; rm -rf "$work"' EXIT

# A lab that cannot be had is no failure of what is tested. Fetching and building is not counted against a guest's time.
need_images() {
	local image
	for image in "$@"; do
		"$lab/image" "$image" >"$work/image.log" 2>&1 && continue
		[ $? -ne 77 ] || { echo "SKIPPED lab: $(tail -n 1 "$work/image.log")" && exit 77; }
		cat "$work/image.log"
		echo "FAILED lab: the image $image cannot be made"
		exit 1
	done
}

# check PART NAME COMMAND...: a check on the host.
check() {
	local part=$1 name=$2 began=${EPOCHREALTIME/./}
	shift 2
	if "$@" >"$work/check.log" 2>&1; then
		result "ok $part: $name ($(((${EPOCHREALTIME/./} - began) / 1000)) ms)"
	else
		result "FAILED $part: $name: $* gave $?: $(tail -n 3 "$work/check.log" | tr '\n' ' ')"
	fi
}

result() {
	echo "$1" | tee -a "$work/results"
}

# results_of PART: what a guest has printed, its checks under the part's name.
results_of() {
	sed -E "s/^(ok|FAILED) /\1 $1: /" "$work/$1.out" | tee -a "$work/results"
}

# A guest that hangs ends then. On a machine with many other processes it may take ten times as long as it does alone.
limit=600

# As LD_PRELOAD of perftest's programs, which then take 0.2 s less (fake_clock.c); empty where it was not built.
clock=$(dirname "$BELFRY")/../tests/fake/clock.so
[ -e "$clock" ] || clock=

# guest PART RUN-ARGUMENTS...: the guest's checks under the part's name, and one more: that it came to its end.
guest() {
	local part=$1
	shift
	"$lab/run" --time $limit --logs "$work/$part" ${clock:+--add "$clock"} "$@" >"$work/$part.out" 2>"$work/$part.err"
	echo $? >"$work/$part.code"
	results_of "$part"
	check "$part" guest-ends grep -qx '[01]' "$work/$part.code"
	[ "$(cat "$work/$part.code")" -le 1 ] || tail -n 20 "$work/$part.err"
}

# sizes WORKLOAD: options for one that measures many sizes: fewer of them.
sizes() {
	case $1 in shmem-*-latency | shmem-*-bw) echo --max-size 1024 ;; esac
}

# rxe_additions: in `additions`, what a guest needs to run programs on soft-RoCE and on the model: this build's, and the
# host's libibverbs, which takes providers of its own version only. False: something is not here, and is said.
rxe_additions() {
	local tools provider
	tools=$(dirname "$BELFRY")
	additions=(--add "$BELFRY:/bin/belfry" --add "$here/guest/rxe_steps.sh")
	for provider in "$tools"/libbelfry-{exec,verbs}.so; do
		[ -e "$provider" ] || { echo "this build has no ${provider##*/} (Debian: libibverbs-dev)" && return 1; }
		additions+=(--add "$provider:/bin/${provider##*/}")
	done
	for provider in /usr/lib/x86_64-linux-gnu/libibverbs/lib{rxe,mlx5}-rdmav*.so; do
		[ -e "$provider" ] || { echo "ibverbs-providers is not installed" && return 1; }
		additions+=(--add "$provider:$provider")
	done
}

# start_server OPTIONS...: `belfry serve nvme` on $socket and $media, ready for a client.
start_server() {
	start_device nvme "$socket" --media "$media" "$@"
}

# start_device DEVICE SOCKET OPTIONS...: a server of any kind; $server is its process.
start_device() {
	local device=$1 at=$2
	shift 2
	rm -f "$at"
	"$BELFRY" serve "$device" --socket "$at" "$@" >"$work/server.log" 2>&1 &
	server=$!
	for _ in $(seq 100); do
		[ ! -S "$at" ] || return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	result "FAILED serve: the server does not listen: $(tail -n 3 "$work/server.log" | tr '\n' ' ')"
	exit 1
}

# stop_server: by a signal that lets it close the media; prints nothing, returns its exit code.
stop_server() {
	local code=0
	[ -n "$server" ] || return 0
	kill -TERM "$server" 2>/dev/null
	wait "$server" || code=$?
	server=
	return $code
}

# verdict: the last line of a script; its exit code tells whether all checks were good.
verdict() {
	local good bad
	good=$(grep -c '^ok ' "$work/results")
	bad=$(grep -c '^FAILED ' "$work/results")
	echo "${0##*/}: $good ok, $bad failed"
	[ "$good" -gt 0 ] && [ "$bad" -eq 0 ]
}
