# Sourced by the tests of `belfry check`, behind form=FORM: a folder of their own, and what the command must end with.
command -v xz >/dev/null || { echo "xz is not here"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
samples=$BELFRY_SOURCE_DIR/traces/samples

# check WORD...: what it says is in "out", its exit code in `got`.
check() {
	got=0
	# shellcheck disable=SC2154 # form is the test's
	"$BELFRY" check "$form" "$@" >"$work/out" 2>&1 || got=$?
}
# is EXIT TEXT: it ended with that code, and said that text.
is() {
	if [ "$got" != "$1" ] || ! grep -qF -- "$2" "$work/out"; then
		echo "FAILED: exit code $got (wanted $1), or '$2' is not in:" >&2
		tail -n 40 "$work/out" >&2
		exit 1
	fi
}
