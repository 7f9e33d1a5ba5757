#!/bin/sh
# A folder includes only headers of folders below it: sim < models < traces < drivers < tools. Drivers see of the models
# only the layouts that hardware documents (prm.h); a backend, which joins a driver to a model, sees all of them, and
# belfry.h has the profiles (profile.h) for those who choose one. Of the models, fabric knows no other, and the RDMA
# transport only fabric: any NIC can stand on it. What every provider of verbs has knows none of them.
# Includes in quotes are written from the root of the project, so that their folder can be read off.
set -eu

# Prints "FILE: include of "HEADER": why" for each include of the tree at $1 that points upward.
upward_includes() {
	(cd "$1" && find sim models traces drivers tools -name '*.[chS]' -o -name '*.def' -o -name '*.cu' -o \
		-name '*.hip' | LC_ALL=C sort |
		xargs grep -HE '^[[:space:]]*#[[:space:]]*(include|define[[:space:]]+BF_RECORDS_DEF)[[:space:]]*["<]' /dev/null) |
	sed -E 's/^([^:]+):[[:space:]]*#[[:space:]]*(include|define[[:space:]]+BF_RECORDS_DEF)[[:space:]]*(["<])([^">]*)[">].*/\1 \4 \3/' |
	awk '
	BEGIN {
		below["fabric"] = " fabric "; below["rdma"] = " fabric rdma "
		level["sim"] = 1; level["models"] = 2; level["traces"] = 3; level["drivers"] = 4; level["tools"] = 5
	}
	{
		file = $1; header = $2; system_header = $3 == "<"
		split(file, f, "/"); split(header, h, "/")
		common_verbs = f[1] == "models" && f[2] == "uverbs" && f[3] != "mlx5"
		if (common_verbs && (header ~ /^models\/(mlx5|uverbs\/mlx5)\// || header ~ /^rdma\/mlx5/)) {
			printf "%s: include of \"%s\": what every provider of verbs has knows none of them\n", file, header
			next
		}
		if (!(h[1] in level) && system_header)
			next
		if (!(h[1] in level))
			why = "not written from the root of the project"
		else if (level[h[1]] > level[f[1]])
			why = f[1] "/ knows nothing of " h[1] "/"
		else if (f[1] == "models" && h[1] == "models" && f[2] in below && index(below[f[2]], " " h[2] " ") == 0)
			why = "models/" f[2] "/ knows nothing of models/" h[2] "/"
		else if (f[1] == "drivers" && f[2] != "backend" && h[1] == "models" && header !~ /\/prm\.h$/ && !(file == "drivers/belfry.h" && header ~ /\/profile\.h$/))
			why = "outside drivers/backend only prm.h of a model may be included"
		else
			next
		printf "%s: include of \"%s\": %s\n", file, header, why
	}'
}

# The check itself must be able to fail: a made-up tree with one wrong include of each kind and the right ones beside.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in sim models/mlx5 models/rdma models/uverbs/mlx5 traces drivers/ibgda drivers/backend tools; do
	mkdir -p "$work/$folder"
done
printf '#include <stdio.h>\n#include "sim/sim.h"\n' >"$work/sim/good.c"
printf '#include "models/mlx5/mlx5.h"\n' >"$work/sim/bad.c"
printf '  #  include <traces/container/trace.h>\n' >"$work/models/mlx5/bad.h"
printf '#include "models/fabric/roce.h"\n#include "models/rdma/rdma.h"\n' >"$work/models/rdma/good.c"
printf '#include "models/mlx5/prm.h"\n' >"$work/models/rdma/bad.c"
printf '#include "models/rdma/rdma.h"\n' >"$work/models/mlx5/good.c"
printf '#include <rdma/mlx5-abi.h>\n' >"$work/models/uverbs/bad.c"
printf '#include <rdma/mlx5-abi.h>\n#include "models/mlx5/mlx5.h"\n' >"$work/models/uverbs/mlx5/good.c"
printf '#include "tools/cli/cli.h"\n' >"$work/traces/bad.c"
printf '#define BF_RECORDS_DEF "drivers/ibgda/records.def"\n' >"$work/traces/bad.def"
printf '#include "models/mlx5/prm.h"\n#include "models/mlx5/mlx5.h"\n' >"$work/drivers/ibgda/bad.h"
printf '#include "models/mlx5/mlx5.h"\n#include "traces/container/trace.h"\n' >"$work/drivers/backend/good.c"
printf '#include "cli.h"\n' >"$work/tools/bad.c"
expected='drivers/ibgda/bad.h models/mlx5/bad.h models/rdma/bad.c models/uverbs/bad.c sim/bad.c tools/bad.c traces/bad.c traces/bad.def'
found=$(upward_includes "$work" | sed 's/:.*//' | LC_ALL=C sort | tr '\n' ' ')
if [ "$found" != "$expected " ]; then
	echo "the check is broken: in the made-up tree it found '$found' instead of '$expected'" >&2
	exit 1
fi

wrong=$(upward_includes "$BELFRY_SOURCE_DIR")
if [ -n "$wrong" ]; then
	echo "$wrong" >&2
	exit 1
fi
files=$(find "$BELFRY_SOURCE_DIR/sim" "$BELFRY_SOURCE_DIR/models" "$BELFRY_SOURCE_DIR/drivers" -name '*.[ch]' | wc -l)
[ "$files" -gt 20 ] || { echo "only $files sources found below $BELFRY_SOURCE_DIR" >&2; exit 1; }
