#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Fuzzes printer, engine and CPU executor for FUZZ_SECONDS. It begins with what selftests/fuzz has: corpus
# is by hand, corpus.tar.gz the fewest inputs that reach all that earlier runs did. Inputs worth keeping
# collect in out/fuzz/corpus; one that fails is written to out/fuzz/ and named at the end.
# To see it fail again: out/fuzz/fuzz <the file>. Before that, what selftests/fuzz/recordings keeps of
# a driver's streams (made by machine.sh stock record) is built and executed again by out/fuzz/restream.
# Results are in out/vm/fuzz, as TAP.
. "$(dirname "$0")/lib.sh"
seconds=${FUZZ_SECONDS:-60}
fuzz=$OUT/fuzz
tap=$OUT/vm/fuzz/fuzz.tap

[[ $seconds =~ ^[1-9][0-9]{0,5}$ ]] || die "FUZZ_SECONDS: $seconds isn't a number of seconds"
rm -rf "$OUT/vm/fuzz"
rm -rf "$fuzz/seeds"
mkdir -p "$fuzz/corpus" "$fuzz/seeds" "$OUT/vm/fuzz"
tar -xzf "$TOP/selftests/fuzz/corpus.tar.gz" -C "$fuzz/seeds"
"$TOP/selftests/rigs/setup.sh" clang libclang-rt-14-dev
with_progress "building the fuzzer" "$LOGS/fuzz-build.log" \
	make -C "$TOP/selftests/fuzz" -j "$JOBS" OUT="$fuzz"

recordings=("$TOP"/selftests/fuzz/recordings/*.gz)
echo "1..$((1 + ${#recordings[@]}))" >"$tap"
failed=0 number=0
for recording in "${recordings[@]}"; do
	name=restream.$(basename "$recording" .gz)
	number=$((number + 1)) verdict=ok
	gunzip -c "$recording" | "$fuzz/restream" - >"$LOGS/$name.log" 2>&1 || verdict='not ok' failed=1
	tail -n 20 "$LOGS/$name.log" | sed 's/^/# /' | tee -a "$tap" >&2
	echo "$verdict $number $name" >>"$tap"
done

say "fuzzing for $seconds s"
rc=0
touch "$fuzz/started"
# Its own limits come first; the one around it is for a fuzzer that hangs itself.
timeout -k 5 $((seconds + 300)) "$fuzz/fuzz" -max_total_time="$seconds" -timeout=60 \
	-rss_limit_mb=1024 -print_final_stats=1 -reload=0 -verbosity=1 -artifact_prefix="$fuzz/" \
	"$fuzz/corpus" "$fuzz/seeds" "$TOP/selftests/fuzz/corpus" 2>&1 | tee "$LOGS/fuzz.log" >&2 || rc=$?
grep -a 'cov:' "$LOGS/fuzz.log" | tail -n 1 | sed 's/^/# /' >>"$tap"
grep -a '^stat::' "$LOGS/fuzz.log" | sed 's/^/# /' >>"$tap"
if ((rc)); then
	found=$(find "$fuzz" -maxdepth 1 -newer "$fuzz/started" \
		\( -name 'crash-*' -o -name 'timeout-*' -o -name 'oom-*' -o -name 'leak-*' \) -print)
	tail -n 20 "$LOGS/fuzz.log" | sed 's/^/# /' >>"$tap"
	echo "not ok $((number + 1)) fuzz" >>"$tap"
	say "failed ($rc) on: $found"
	exit 1
fi
echo "ok $((number + 1)) fuzz" >>"$tap"
say "nothing found in $seconds s"
exit "$failed"
