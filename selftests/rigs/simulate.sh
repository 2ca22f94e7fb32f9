#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What plain LRU, the driver's policy and an optimum that knows the future move, of every trace in
# TRACES (a folder with .rtrace and .rtrace.gz files; default: those of the repository) and of programs
# that were made up, at 25, 50 and 75 % of the largest and of the usual frame. Fails if the policy
# doesn't close as much of the gap as it should. The table is out/simulate.txt, the same as JSON
# out/simulate.json; the verdict is in out/vm/simulate, as TAP.
. "$(dirname "$0")/lib.sh"
folder=${TRACES:-$TOP/selftests/traces}
tap=$OUT/vm/simulate/simulate.tap
work=$OUT/simulate-traces

src=$("$TOP/selftests/rigs/kernels.sh" source)
headers=$("$TOP/selftests/rigs/kernels.sh" headers)
make -C "$TOP/selftests" KSRC="$src" KHDR="$headers" OUT="$OUT/selftests" \
	"$OUT/selftests/simulate" >"$LOGS/simulate-build.log" 2>&1 ||
	die "the simulator wasn't built: $LOGS/simulate-build.log"

rm -rf "$work" "$OUT/vm/simulate"
mkdir -p "$work" "$OUT/vm/simulate"
for trace in "$folder"/*.rtrace "$folder"/*.rtrace.gz; do
	[[ -f $trace ]] || continue
	gzip -dcf "$trace" >"$work/$(basename "$trace" .gz)"
done
traces=("$work"/*.rtrace)
[[ -f ${traces[0]} ]] || die "no traces in $folder"

verdict=ok rc=0
"$OUT/selftests/simulate" --check --patterns "${traces[@]}" 2>&1 | tee "$OUT/simulate.txt" ||
	verdict='not ok' rc=1
"$OUT/selftests/simulate" --json --patterns "${traces[@]}" >"$OUT/simulate.json" || verdict='not ok' rc=1
{
	echo 1..1
	grep '^mean' "$OUT/simulate.txt" | sed 's/^/# /' || true
	echo "$verdict 1 simulate"
} >"$tap"
rm -rf "$work"
exit "$rc"
