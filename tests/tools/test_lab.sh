#!/bin/bash
# `belfry lab`: what it hands to the lab's script, which is replaced here; tests/long/lab_run.sh boots guests.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/lab"
cat >"$work/lab/run" <<'RUN'
#!/bin/sh
printf '<%s>' "$@"
echo
exit 41
RUN
chmod +x "$work/lab/run"
export BELFRY_LAB=$work/lab
failed=0

# gives CODE TEXT ARGUMENTS...: exit code and output of belfry lab.
gives() {
	local code=$1 text=$2 found
	shift 2
	found=$("$BELFRY" lab "$@" 2>"$work/err")
	set -- $? "$@"
	[ "$1" -eq "$code" ] && [ "$found" = "$text" ] && return
	echo "FAILED: belfry lab ${*:2}: exit code $1, $found $(cat "$work/err")"
	failed=1
}

gives 41 "<--><ls><-l><a  b>" run -- ls -l "a  b"
gives 41 "<--image><rxe><--time><9><--add><x><--add><y:/z><--viommu><--><true>" \
	run --add x --viommu --image rxe --add y:/z --time 9 -- true
gives 41 "<--shell>" run --shell
gives 41 '{"exit":41}' run --json -- true
gives 2 "" run
gives 2 "" run --shell -- true
gives 2 "" walk -- true
"$BELFRY" lab run --belfry -- true | grep -q "<--add><[^>]*/belfry:/bin/belfry>" || { echo "FAILED: --belfry" && failed=1; }
BELFRY_LAB=$work/nowhere gives 77 "" run -- true
# Built and not installed: the scripts themselves, which know no such image.
unset BELFRY_LAB
gives 2 "" run --image nowhere -- true
grep -q "nowhere" "$work/err" || { echo "FAILED: the scripts are not found" && failed=1; }
exit $failed
