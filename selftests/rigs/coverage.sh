#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Which lines the tests execute, of our files and of the parts of DRM that these are built on: KUnit suites under
# User-Mode Linux, programs in QEMU, both in the newest kernel, with counters. Beside it, what DRM's own suites execute
# in the same UML kernel, without a GPU of ours. coverage.py adds up, and says what is in out/coverage.tsv.
#
# A test that fails there is told, and makes this fail, but its lines count.
. "$(dirname "$0")/lib.sh"
vm=$TOP/selftests/rigs
unset FILTER CELLS KERNEL
export COUNTED=1

suites() {
	STEP=coverage.own FILTER='[dt][rt]m*' APPEND=pagoda_vgpu.vram_mb=0 "$vm/kunit.sh" ||
		say "not all of DRM's own suites passed"
	STEP=coverage.kunit "$vm/kunit.sh"
}

cache_lock coverage
failed=0
rm -rf "$OUT"/vm/coverage.*
suites 9>&- &
"$vm/machine.sh" coverage selftests suspend pressure 9>&- || failed=1
wait $! || failed=1
((failed == 0)) || say "tests failed: what they execute counts all the same"
"$vm/coverage.py" "$OUT"/vm/coverage.{own,kunit,selftests,suspend,pressure} || failed=1
exit "$failed"
