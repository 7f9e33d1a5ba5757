#!/bin/bash
# tools/lab/run itself: a guest's exit code, output and files come back as they are; a guest that hangs or dies is
# told from one whose command failed.
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/lab_run.sh
set -u
. "$BELFRY_SOURCE_DIR/tests/long/guest/lab.sh"

# gives CODE RUN-ARGUMENTS...
gives() {
	local wanted=$1 code=0
	shift
	"$lab/run" --smp 1 --time $limit "$@" >"$work/out" 2>"$work/err" || code=$?
	[ $code -eq "$wanted" ] || {
		echo "exit code $code instead of $wanted"
		tail -n 2 "$work/err"
		return 1
	}
}

need_images nvme
head -c 3000000 /dev/urandom >"$work/sent"
check run exit-code-and-program-with-libraries gives 41 --add "$(command -v xz)" -- sh -c '/bin/xz --version && exit 41'
check run words-stay-words gives 0 --add "$work/sent" --out "$work/back" -- \
	sh -c 'printf "%s|" "$@"; cp /bin/sent /out/copy; echo; head -c 4096 /bin/sent' sh "it's" 'a  b' '$HOME' ''
check run arguments grep -qaxF "it's|a  b|\$HOME||" "$work/out"
check run binary-output cmp <(tail -c 4096 "$work/out") <(head -c 4096 "$work/sent")
check run file-comes-back cmp "$work/sent" "$work/back/copy"
check run time-limit gives 124 --time 9 -- sleep 60
check run kernel-panic gives 125 -- sh -c 'echo c >/proc/sysrq-trigger; sleep 60'
check run power-cut gives 125 -- poweroff -f
check run qemu-refuses gives 125 --qemu -no-such-option -- true
check run no-file gives 2 --nvme "$work/none" -- true
check run no-socket gives 2 --vfio-user "$work/none" -- true
check run no-number gives 2 --memory none -- true
check run files-too-large gives 125 --out "$work/back" -- dd if=/dev/zero of=/out/large bs=1M count=256

by_belfry() {
	local code=0
	BELFRY_LAB=$lab "$BELFRY" lab run --smp 1 --time $limit --belfry -- belfry help >"$work/out" 2>"$work/err" || code=$?
	[ $code -eq 0 ] && grep -q '^  lab ' "$work/out"
}
check run belfry-in-a-guest-by-belfry by_belfry
verdict
