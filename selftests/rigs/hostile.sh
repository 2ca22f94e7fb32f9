#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Attackers beside victims, on the stock kernel with two processors:
#
#   PAIRS    attacker:victim, a glob (default: all)
#   SAMPLE   so many of all pairs; which ones rotates with the commit (SHARE)
#   LIMIT    seconds that the samples of a pair may take
#
# out/hostile.tsv has a row for each pair, out/hostile-ordinary.tsv what an ordinary neighbour costs, and
# out/hostile-memory.tsv what the kernel holds for an attacker; out/hostile.log has the reasons of what failed.
#
# An attack may stop the machine. Then the pair has failed, and the pairs that are left go on in another machine.
. "$(dirname "$0")/lib.sh"
vm=$TOP/selftests/rigs
rows=$OUT/hostile.tsv
console=$LOGS/stock.hostile.console.log
export PAIRS SAMPLE LIMIT

cache_lock hostile
header() { printf '%s\t' "$@" | sed 's/\t$/\n/'; }
header attacker victim samples p50_alone p50_ordinary p50_attack p50_ratio p99_ratio max_ratio subtracted attacker_ops \
	verdict >"$rows"
header victim samples_alone p50_alone p99_alone max_alone samples_ordinary p50_ordinary p99_ordinary max_ordinary \
	p99_ratio reason >"$OUT/hostile-ordinary.tsv"
header attacker clients kernel_kib charged_kib beyond_kib left_kib verdict >"$OUT/hostile-memory.tsv"
: >"$OUT/hostile.log"

# said <kind>: what the program said of one kind, without what the kernel puts before it.
said() { tr -d '\r' <"$console" | sed -n "s/^.*pagoda-vm: hostile $1[\t ]//p"; }

# The pair that a machine was at when it stopped has failed.
stopped() {
	local pair
	pair=$(said begin | tail -n 1)
	[[ $pair ]] && ! grep -q "^$pair	" "$rows" || return 0
	printf '%s\t0\t0\t0\t0\t0\t0\t0\t0\t0\tfailed\n' "$pair" >>"$rows"
	echo "${pair/	/ x }: the machine stopped" >>"$OUT/hostile.log"
}

collect() {
	said row >>"$rows"
	said ordinary >>"$OUT/hostile-ordinary.tsv"
	said memory >>"$OUT/hostile-memory.tsv"
	said '#' >>"$OUT/hostile.log"
	cp "$console" "$LOGS/stock.hostile.$1.console.log"
	stopped
}

for ((machine = 1; ; machine++)); do
	before=$(wc -l <"$rows")
	rm -f "$console"
	"$vm/machine.sh" stock hostile || true
	[[ -f $console ]] || die "there was no machine"
	collect "$machine"
	! grep -q 'pagoda-vm: hostile done' "$console" || break
	say "machine $machine was stopped by an attack; $(($(wc -l <"$rows") - 1)) pairs have a row"
	(($(wc -l <"$rows") > before)) || die "no pair could be measured, see $console"
done
"$OUT/selftests/hostile" --report "$rows"
