#!/bin/sh
# The Debian package on clean systems: a fresh Debian 12 and 13 each, with nothing but the package and what it depends on
# and recommends. Its tools work from PATH, and what `belfry new` writes is built and fails as it is to. Needs root,
# debootstrap, a mirror and some minutes, so CI does not run it.
#
#	BELFRY_BUILD_DIR=build/release tests/long/debian.sh [SUITE...]
set -eu
skip() {
	echo "SKIPPED debian: $1"
	exit 77
}
[ -n "${BELFRY_BUILD_DIR-}" ] || skip "takes minutes: run it with BELFRY_BUILD_DIR set"
[ "$(id -u)" -eq 0 ] || skip "not root"
command -v debootstrap >/dev/null || skip "no debootstrap (Debian: apt-get install debootstrap)"
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d)
root=
away() {
	[ -z "$root" ] || umount "$root/proc" 2>/dev/null || :
	rm -rf --one-file-system "$work"
}
trap away EXIT

cpack --config "$BELFRY_BUILD_DIR/CPackConfig.cmake" -B "$work/deb" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cat >"$work/try" <<'S'
set -eu
mkdir /tmp/tried
cd /tmp/tried
belfry --version
belfry doctor >log
for workload in ibgda-put nvme-verify sdma-copy mbarrier-ring gin-put; do
	belfry run $workload >log || { cat log; exit 1; }
done
! belfry explore ibgda-put --bug cta-fence >log
grep -q 'rule: MLX5-FENCE-SCOPE' log
belfry exec -- true >log 2>&1
for project in trial nvme cuda device; do
	belfry new $project $project >log
	(cd $project && cmake -S . -B build && cmake --build build) >log 2>&1 || { cat log; exit 1; }
done
! (cd trial && build/trial) >log
grep -q MLX5-ENTRY-ORDER log
! (cd nvme && build/trial) >log
grep -q NVME-ENTRY-ORDER log
! (cd cuda && build/trial) >log
grep -q MLX5-ENTRY-ORDER log
device/build/belfry run ring64-copy >log
belfry export trial/trial.bft --to html -o page.html >log
belfry lint trial/trial.bft >log || [ $? -eq 3 ]
for command in $(belfry help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	belfry $command --help >log || { echo "belfry $command --help"; exit 1; }
done
S
[ $# -gt 0 ] || set -- bookworm trixie
for suite; do
	root=$work/$suite
	debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/log" 2>&1 || { tail -n 3 "$work/log"; skip "no $suite from $mirror"; }
	mount --bind /proc "$root/proc"
	cp "$work"/deb/belfry_*.deb "$work/try" "$root/tmp"
	chroot "$root" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq /tmp/belfry_*.deb' \
	>"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
	chroot "$root" sh /tmp/try || { echo "debian: $suite failed"; exit 1; }
	umount "$root/proc"
	echo "$suite: good"
done
