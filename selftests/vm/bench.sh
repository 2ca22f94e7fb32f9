#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The benchmark at native speed (UML) and in the machine a user has (stock kernel, QEMU), one
# after the other, because they would slow each other down. out/bench.tsv has both; a metric's
# name begins with the rig's.
. "$(dirname "$0")/lib.sh"
vm=$TOP/selftests/vm

cache_lock check
kernel=$("$vm/kernels.sh" uml bench)
"$vm/programs.sh"
[[ -x $OUT/selftests/bench ]] || die "no benchmark: selftests/tools/bench.c"

failed=0
"$vm/vm.py" --rig uml --kernel "$kernel" --name uml.bench --memory 2G --timeout "${LIMIT:-600}" \
	--file "$OUT/selftests/bench:/bin/bench" "$vm/guest/bench.sh" || failed=1
"$vm/machine.sh" stock bench || failed=1

printf 'metric\tvalue\tunit\tbaseline\tratio\n' >"$OUT/bench.tsv"
for rig in uml stock; do
	sed "/^metric\t/d; s/^/$rig./" "$OUT/vm/$rig.bench/bench.tsv" >>"$OUT/bench.tsv" || failed=1
done
column -t -s $'\t' "$OUT/bench.tsv"
exit "$failed"
