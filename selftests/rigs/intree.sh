#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The driver as part of a kernel tree, the way any other is tested there: kunit.py configures, builds and runs what
# kunit/.kunitconfig asks for in the newest kernel. LONG=1: from nothing, all suites; otherwise in the folder that the
# check's own kernel was built in, and one suite. The results are in out/vm/in-tree.
. "$(dirname "$0")/lib.sh"
export KERNEL=new
vm=$TOP/selftests/rigs
share=$OUT/vm/in-tree
rm -rf "$share"
mkdir -p "$share"

src=$("$vm/kernels.sh" source)
if [[ ${LONG:-} ]]; then
	dir=$share/build
	kunit=(--kunitconfig "$TOP/kunit" 'pagoda*')
else
	dir=$("$vm/kernels.sh" uml rig sanitizers)
	# As kernels.sh had it compiled.
	export PAGODA_UNITS=1
	kunit=(--kunitconfig "$TOP/kunit" --kunitconfig "$TOP/kunit/rig.kunitconfig"
		--kunitconfig "$TOP/kunit/sanitizers.kunitconfig" --kernel_args seccomp=on --kernel_args ncpus=2
		pagoda_paging)
fi
# Nobody else's driver may come into the tree meanwhile.
cache_lock "$(basename "$src")"
rc=0
(cd "$src" && until_quiet 600 "$LOGS/in-tree.log" tools/testing/kunit/kunit.py run --build_dir "$dir" --jobs "$JOBS" \
	--timeout 86400 "${kunit[@]}") || rc=$?
tail -n 3 "$LOGS/in-tree.log" >&2
verdict=ok
((rc == 0)) && grep -qE 'Ran [1-9][0-9]* tests: passed: [0-9]+(, |$)' "$LOGS/in-tree.log" || verdict='not ok'
printf '1..1\n%s 1 kunit.py run\n' "$verdict" >"$share/in-tree.tap"
rm -rf "$share/build"
[[ $verdict == ok ]]
