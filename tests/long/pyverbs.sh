#!/bin/sh
# rdma-core's own Python tests, unmodified, on the ConnectX model: which pass and which are skipped has to be what
# pyverbs.txt says, with doorbells trapped and polled. "optional" there: skipped or passed as the machine has huge pages.
#
#	BELFRY=build/release/tools/belfry tests/long/pyverbs.sh [--reasons]
#
# --reasons tells why tests are skipped, and how many for each reason.
set -eu
here=${BELFRY_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/long
suite=/usr/share/doc/rdma-core/tests
python=/usr/bin/python3 # Debian's, which python3-pyverbs is for
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
	echo "SKIPPED pyverbs: $1"
	exit 77
}

"$python" -c 'import pyverbs' 2>/dev/null || skip "no python3-pyverbs; tools/setup pyverbs installs it"
# dpkg leaves documentation out in some images; the package still has it.
[ -f "$suite/run_tests.py" ] || {
	(cd "$work" && apt-get download python3-pyverbs && dpkg-deb -x python3-pyverbs_*.deb deb) >"$work/why" 2>&1 || true
	suite=$work/deb/$suite
	[ -f "$suite/run_tests.py" ] || skip "no $suite: $(tail -n 1 "$work/why")"
}
version=$(dpkg-query -W -f '${Version}' python3-pyverbs)
case $version in
44.*) ;;
*) skip "pyverbs.txt is of rdma-core 44, and here is $version" ;;
esac

cp -r "$suite" "$work/tests"
gunzip -f "$work"/tests/*.gz

# once DOORBELLS SEED: outcomes of all tests, one a line, are in $work/outcomes.
once() {
	rm -f "$work/raw"
	timeout 300 "$BELFRY" exec --doorbells "$1" -- "$python" "$here/pyverbs_run.py" "$work/tests" "$work/raw" "$2" \
		--dev mlx5_0 -v >"$work/log" 2>&1 || true
	touch "$work/raw"
	cut -d ' ' -f 1,2 "$work/raw" | LC_ALL=C sort >"$work/outcomes"
}

# What the list says of the machine's choice becomes what happened here.
expected() {
	awk 'FNR == NR { got[$1] = $2; next }
		/^#/ || !NF { next }
		$2 == "optional" && (got[$1] == "passed" || got[$1] == "skipped") { $2 = got[$1] }
		{ print $1, $2 }' "$work/outcomes" "$here/pyverbs.txt" | LC_ALL=C sort
}

bad=0
for seed in 1 2; do
	[ $seed -eq 1 ] && how="trap" || how="poll"
	once $how $seed
	expected >"$work/want"
	for outcome in passed failed skipped; do
		eval "$outcome=$(grep -c " $outcome\$" "$work/outcomes" || true)"
	done
	echo "doorbells $how, seed $seed: $passed passed, $failed failed, $skipped skipped"
	cmp -s "$work/want" "$work/outcomes" && continue
	bad=1
	echo "not as in $here/pyverbs.txt (< it says, > it is):"
	diff "$work/want" "$work/outcomes" | grep '^[<>]' | head -n 20
	grep -A 30 -E '^(ERROR|FAIL): ' "$work/log" | head -n 120 || tail -n 20 "$work/log"
done
if [ "${1-}" = --reasons ]; then
	awk '$2 == "skipped" { $1 = $2 = ""; print }' "$work/raw" | LC_ALL=C sort | uniq -c | sort -rn
fi
exit $bad
