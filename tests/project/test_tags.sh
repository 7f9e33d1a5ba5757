#!/bin/sh
# A tag of a struct, union or enum names one thing: none is defined in two files, but for what each platform that code is
# compiled for has one of (drivers/platform). Names say whose they are: bf_DEVICE_ is the model's; bf_DEVICE_drv_ its
# driver's, bf_DEVICE_work_ of workloads, bf_DEVICE_rule_ of rules, bf_DEVICE_replay_ of replay.
set -eu

# Prints "TAG: FILES" for each tag that files below $1 define more than once.
twice() {
	(cd "$1" && find sim models traces drivers tools -name '*.[ch]' | LC_ALL=C sort |
		xargs grep -HE '^(static |const )*(struct|union|enum) bf_[a-z0-9_]+ \{' /dev/null) |
	sed -E 's/^([^:]+):.*(struct|union|enum) (bf_[a-z0-9_]+) \{.*/\3 \1/' |
	awk '
	$2 ~ /^drivers\/platform\/platform_[a-z]+\.h$/ { next }
	{ files[$1] = files[$1] " " $2; n[$1]++ }
	END { for (tag in n) if (n[tag] > 1) printf "%s:%s\n", tag, files[tag] }' | LC_ALL=C sort
}

# The check itself must be able to fail.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/sim" "$work/models/a" "$work/traces" "$work/drivers/platform" "$work/tools"
printf 'struct bf_one {\n};\nenum bf_two {\n};\nstruct bf_three {\n};\n' >"$work/sim/a.h"
printf 'struct bf_two {\n};\nstruct bf_three *f(struct bf_one *);\n' >"$work/models/a/b.c"
printf 'struct bf_thread {\n};\n' | tee "$work/drivers/platform/platform_sim.h" >"$work/drivers/platform/platform_hip.h"
found=$(twice "$work")
if [ "$found" != "bf_two: models/a/b.c sim/a.h" ]; then
	echo "the check is broken: in the made-up tree it found '$found'" >&2
	exit 1
fi

wrong=$(twice "$BELFRY_SOURCE_DIR")
if [ -n "$wrong" ]; then
	echo "defined more than once:" >&2
	echo "$wrong" >&2
	exit 1
fi
for old in bf_nvm_ BF_NVM_; do
	if (cd "$BELFRY_SOURCE_DIR" && grep -rnE "\\b$old" sim models traces drivers tools | head -5 | grep .) >&2; then
		echo "the driver of NVMe has the prefix bf_nvme_drv_" >&2
		exit 1
	fi
done
# What rules share of a device is no model's.
if (cd "$BELFRY_SOURCE_DIR" && grep -rhoE '^[a-z].*[ *]bf_(mlx5|nvme|sdma|hopper)_[a-z0-9_]+[({;]| bf_(mlx5|nvme|sdma|hopper)_[a-z0-9_]+ \{' \
	traces/rules --include='*.h' | grep -v '_rule_') >&2; then
	echo "names of rules' facts begin with bf_DEVICE_rule_" >&2
	exit 1
fi
