#!/bin/sh
# belfry doctor names every backend and says why those that do not work here do not.
set -eu

text=$("$BELFRY" doctor)
json=$("$BELFRY" doctor --json)

fail() {
	echo "$1" >&2
	echo "$text" >&2
	exit 1
}

echo "$text" | grep -Eq '^  sim +yes ' || fail "sim must work everywhere"
echo "$text" | grep -q tshark || fail "tshark is not mentioned"
echo "$text" | grep -Eq 'CUDA programs for belfry exec --gpu' || fail "the CUDA libraries are not mentioned"
echo "$text" | grep -q zstd || fail "zstd is not mentioned"

# Every backend that does not work has a reason.
command -v jq >/dev/null || exit 0
echo "$json" | jq -e '
	(.backends | length) >= 2 and
	(.backends | map(select(.name == "sim")) | .[0].usable) and
	all(.backends[]; .usable or (.why | length) > 10) and
	all(.libraries[], .programs[]; .here or (.get | length) > 5)' >/dev/null || {
	echo "$json" >&2
	fail "the JSON form is not correct"
}

# The reason is also what run answers, with exit code 77.
for name in $(echo "$json" | jq -r '.backends[] | select(.usable | not) | .name'); do
	code=0
	message=$("$BELFRY" run ibgda-put --backend "$name" 2>&1) || code=$?
	[ "$code" -eq 77 ] || fail "run --backend $name: exit code $code, not 77"
	why=$(echo "$json" | jq -r --arg n "$name" '.backends[] | select(.name == $n) | .why')
	case $message in
	*"$why"*) ;;
	*) fail "run --backend $name says '$message' and not '$why'" ;;
	esac
done

code=0
"$BELFRY" doctor --nonsense >/dev/null 2>&1 || code=$?
[ "$code" -eq 2 ] || fail "doctor --nonsense: exit code $code, not 2"
