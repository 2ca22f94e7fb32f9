#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Fuzzes printer, engine and CPU executor for FUZZ_SECONDS. Inputs worth keeping collect in
# out/fuzz/corpus from run to run; one that fails is written to out/fuzz/ and named at the end.
# To see it fail again: out/fuzz/fuzz <the file>.
. "$(dirname "$0")/lib.sh"
seconds=${FUZZ_SECONDS:-60}
fuzz=$OUT/fuzz

[[ $seconds =~ ^[1-9][0-9]{0,5}$ ]] || die "FUZZ_SECONDS: $seconds isn't a number of seconds"
"$TOP/selftests/vm/setup.sh" clang libclang-rt-14-dev
mkdir -p "$fuzz/corpus"
with_progress "building the fuzzer" "$LOGS/fuzz-build.log" \
	make -C "$TOP/selftests/fuzz" -j "$JOBS" OUT="$fuzz"

say "fuzzing for $seconds s"
rc=0
touch "$fuzz/started"
# Its own limits come first; the one around it is for a fuzzer that hangs itself.
timeout -k 5 $((seconds + 60)) "$fuzz/fuzz" -max_total_time="$seconds" -timeout=10 \
	-rss_limit_mb=1024 -print_final_stats=1 -reload=0 -verbosity=1 -artifact_prefix="$fuzz/" \
	"$fuzz/corpus" "$TOP/selftests/fuzz/corpus" || rc=$?
if ((rc)); then
	say "failed ($rc) on: $(find "$fuzz" -maxdepth 1 -newer "$fuzz/started" \
		\( -name 'crash-*' -o -name 'timeout-*' -o -name 'oom-*' -o -name 'leak-*' \) -print)"
	exit 1
fi
say "nothing found in $seconds s"
