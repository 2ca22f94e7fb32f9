#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In minutes: what the change since HEAD~1 concerns (touched.txt says what that is). Its KUnit suites under the newest
# kernel's UML, a smoke test and its programs on the stock kernel, lint of its files. Kernels have to be there, from
# an earlier run.
. "$(dirname "$0")/lib.sh"
vm=$TOP/selftests/rigs
unset CELLS KERNEL

rm -rf "$OUT/vm"
mkdir -p "$OUT/vm"
"$vm/setup.sh"
suites=$("$vm/touched.py" suites | paste -sd,)
runs=(stock.selftests-quick lint)

"$vm/machine.sh" stock selftests-quick 9>&- &
if [[ $suites ]]; then
	FILTER=$suites "$vm/kunit.sh" || say "KUnit: FAILED"
	for run in "$OUT"/vm/uml.kunit-new*/; do runs+=("$(basename "$run")"); done
else
	say "no KUnit suite is concerned"
fi
"$vm/lint.sh" changed || say "lint: FAILED"
wait || true
"$vm/report.py" --some "${runs[@]}"
