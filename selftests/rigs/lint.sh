#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2317 # check() calls the functions by name
# Style and static checks, one line of TAP each; what a check objects to is in out/logs/lint.<name>.log.
# lint.sh changed: what can be said of the files that changed since HEAD~1 alone, without building anything.
. "$(dirname "$0")/lib.sh"
. "$OUT/rig.env"
cd "$TOP"

only=${1:-}
src=$("$TOP/selftests/rigs/kernels.sh" source)
tap=$OUT/vm/lint/lint.tap
rm -rf "$OUT/vm/lint"
mkdir -p "$OUT/vm/lint"
count=0 failed=0

# check <name> <command>...: passes if the command succeeds and prints nothing.
check() {
	local name=$1 log=$LOGS/lint.$1.log verdict=ok
	shift
	("$@") >"$log" 2>&1 || verdict='not ok'
	[[ -s $log ]] && verdict='not ok'
	count=$((count + 1))
	echo "$verdict $count $name" | tee -a "$tap"
	if [[ $verdict != ok ]]; then
		failed=1
		head -n 40 "$log" >&2
	fi
}

# Those that changed are told by name.
sources() {
	if [[ $only ]]; then selftests/rigs/touched.py files; else git ls-files -co --exclude-standard; fi |
		{ grep -E '\.[ch]$' || true; } | { grep -E "$1" || true; }
}

# checkpatch knows by their paths that user ABI and user programs may not use the kernel's own
# macros and types (nor static_assert, which it takes for CamelCase), so it sees a copy laid out as in the kernel tree. Ignored, and why:
#   everywhere, MACRO_ARG_*, COMPLEX_MACRO: tables written as X-macros can have no parentheses
#                  around them, and use a column here, another there; a member has none either
#   LLVMFuzzer*: names that libFuzzer asks for
#   in user programs, BIT_MACRO, PREFER_FALLTHROUGH: there are no such macros in user space;
#                  EMBEDDED_FUNCTION_NAME: a program may print its own name
#   in trace headers, the rest: TRACE_EVENT is laid out as all of include/trace is
TABLES=MACRO_ARG_UNUSED,MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE,COMPLEX_MACRO
USER=BIT_MACRO,PREFER_FALLTHROUGH,EMBEDDED_FUNCTION_NAME
TRACE=OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,LINE_SPACING
checkpatch_sources() {
	local stage=$OUT/build/checkpatch
	rm -rf "$stage"
	mkdir -p "$stage"/{include,drivers,kunit,tools/testing}
	sources '^(include|drivers|kunit)/.*\.[ch]$' | rsync -a --files-from=- . "$stage/"
	sources '^selftests/.*\.[ch]$' | rsync -a --files-from=- . "$stage/tools/testing/"
	cd "$stage"
	{
		find include drivers kunit -name '*.[ch]' ! -name '*trace*.h' | sort | run_checkpatch "$TABLES"
		find include drivers -name '*trace*.h' | sort | run_checkpatch "$TABLES,$TRACE"
		find tools -name '*.[ch]' | sort | run_checkpatch "$TABLES,$USER"
	} | sed 's|^tools/testing/||' | grep -vE 'CamelCase: <(_Static_assert|LLVMFuzzer\w+)>'
	return 0
}

# A file that nothing was found in isn't read again until it, checkpatch or what is ignored changes: checksums of
# those are kept in the cache.
run_checkpatch() {
	local clean list=$OUT/build/checkpatch.list
	clean=$CACHE/checkpatch-$(key "$src/scripts/checkpatch.pl" "$src/scripts/spelling.txt" "$1")
	touch "$clean"
	xargs -r sha256sum | { grep -vxFf "$clean" || true; } >"$list"
	cut -c67- "$list" | xargs -r perl "$src/scripts/checkpatch.pl" --root="$src" --no-tree --strict --quiet \
		--terse --no-summary --show-types --max-line-length=100 --ignore "$1" -f >"$list.found" || true
	cut -d: -f1 "$list.found" | sort -u | { grep -vFf - "$list" || true; } >>"$clean"
	cat "$list.found"
}

# The compiler with W=1 and sparse: as the stock kernel's modules are built, and the newest kernel that has the suites
# built in. Whoever comes first builds them; what a warning stopped is built again.
w1_and_sparse() {
	{
		"$TOP/selftests/rigs/modules.sh" "$STOCK_KDIR" --stage "$STOCK_RELEASE" "${STOCK_MODULES[@]}"
		KERNEL=new "$TOP/selftests/rigs/kernels.sh" uml rig sanitizers
	} 2>&1 >/dev/null | grep -E 'warning|WARNING|error|ERROR|\*\*\*'
	return 0
}

kernel_doc() {
	sources '^(include|drivers|kunit)/' | xargs -r perl "$src/scripts/kernel-doc" -none -Wall 2>&1 |
		grep -E 'warning|error'
	return 0
}

names_at_the_top() {
	git ls-files | cut -d/ -f1 | sort -u |
		grep -vxE 'README.md|LICENSE|Makefile|Kbuild|Kconfig|include|drivers|kunit|selftests|\..*'
	return 0
}

# The client that the README shows is the one that is built.
readme_client() {
	awk '/^```c$/ {on = 1; next} /^```$/ {on = 0} on' README.md | diff - selftests/tools/examples/client.c
}

# The table of operations in drivers/pagoda/paging/README.md is the one in the sources.
readme_operations() { selftests/tools/optable.py --check; }

# Rooms call down only; what was counted is told at the end.
layers() {
	"$TOP/selftests/rigs/layers.py" "$CACHE/modules-$STOCK_RELEASE-$(key "$STOCK_KDIR")" 2>"$LOGS/lint.layers.counted"
}

check checkpatch checkpatch_sources
[[ $only ]] || check w1-and-sparse w1_and_sparse
check kernel-doc kernel_doc
check names-at-the-top names_at_the_top
check readme-client readme_client
check readme-operations readme_operations
check syzkaller-test selftests/fuzz/syzlang_test.py
check syzkaller selftests/fuzz/syzlang.py
check report "$TOP/selftests/rigs/report_test.py"
check rooms-test "$TOP/selftests/rigs/layers_test.py"
[[ $only ]] || check rooms layers
check coverage-test "$TOP/selftests/rigs/coverage_test.py"
check igt-test "$TOP/selftests/rigs/igt_test.py"
check mutants-test "$TOP/selftests/rigs/mutate/mutants_test.py"
check words "$TOP/selftests/rigs/words_test.py"
check points "$TOP/selftests/rigs/words.py" points
check language "$TOP/selftests/rigs/words.py" language
sed -i "1i 1..$count" "$tap"
[[ $only ]] || say "rooms: $(<"$LOGS/lint.layers.counted")"
exit "$failed"
