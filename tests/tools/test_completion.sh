#!/bin/bash
# What bash completes with the script that `belfry completion bash` writes, and manual pages that a formatter takes
# without a warning.
set -u
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$BELFRY" completion bash >"$work/belfry" || exit 1
source "$work/belfry" || exit 1
compopt() { :; }
cd "$work" || exit 1

# completes WANTED WORD...: the last word is the one being typed.
completes() {
	local wanted=$1
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_belfry
	[ "${COMPREPLY[*]}" = "$wanted" ] && return
	echo "$*: completed '${COMPREPLY[*]}', wanted '$wanted'"
	failed=1
}

completes "export" belfry expor
completes "ibgda-put" belfry run ibgda-p
completes "--seed=" belfry run ibgda-put --see
completes "sc" belfry run ibgda-put --ordering = sc
completes "gpu" belfry run ibgda-put --ordering g
completes "gpu cpu cuda ptx" belfry run nvme-read --agent = ""
completes "hopper-mbarrier hopper-timing" belfry check hopper
completes "belfry" belfry dump bel
completes "cta-fence" belfry run ibgda-put --bug = cta
completes "phase-inverted" belfry run nvme-verify --bug phase-i
completes "drop" belfry run ibgda-put --faults = dr
completes "cx7 cx7-timed" belfry run gin-put --profile cx7
completes "v7 v7.1" belfry run sdma-copy --profile v7
completes "dbrec" belfry dump --type = dbr
completes "queue" belfry run ibgda-put --records q
completes "sim" belfry run nvme-read --backend = s
completes "MLX5-FENCE-SCOPE" belfry rules MLX5-FENCE-S
completes "MLX5-FENCE-SCOPE" belfry lint --rule = MLX5-FENCE-S

for shell in zsh fish; do
	"$BELFRY" completion $shell | grep -q 'nvme-read' || { echo "$shell: no workloads"; failed=1; }
done
"$BELFRY" completion tcsh 2>&1 | grep -q 'bash, zsh or fish' || { echo "tcsh: no error"; failed=1; }

for command in "" $("$BELFRY" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
	"$BELFRY" man $command >"$work/page" || { echo "man $command failed"; failed=1; }
	grep -q '^\.SH SYNOPSIS' "$work/page" || { echo "man $command: no synopsis"; failed=1; }
	command -v groff >/dev/null || continue
	groff -man -Tutf8 -ww "$work/page" 2>&1 >/dev/null | sed "s/^/man $command: /" >"$work/warnings"
	[ ! -s "$work/warnings" ] || { cat "$work/warnings"; failed=1; }
done
exit $failed
