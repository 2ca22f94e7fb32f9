#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The benchmark at native speed (UML) and in the machine a user has (stock kernel, QEMU), one
# after the other, because they would slow each other down; what many allocations cost needs more
# VRAM, and so machines of its own. out/bench.tsv has it all; a metric's name begins with the
# rig's, or with simulate, where the policy is compared with what TRACES move otherwise. Lines that
# begin with goal. behind that are what was asked for: reached where the ratio is 1 or more.
. "$(dirname "$0")/lib.sh"
vm=$TOP/selftests/rigs

# Room for 100000 pages, and some.
export CROWD_VRAM_MB=512

cache_lock check
kernel=$(KERNEL=6.12 "$vm/kernels.sh" uml bench)
"$vm/programs.sh"
failed=0

# measure <rig> <step>, a script of guest/ and the program of its name
measure() {
	local append=
	if [[ $1 != uml ]]; then
		"$vm/machine.sh" "$1" "$2"
		return
	fi
	[[ -x $OUT/selftests/$2 ]] || die "no benchmark: selftests/tools/bench/$2.c"
	[[ $2 != crowd ]] || append=pagoda_vgpu.vram_mb=$CROWD_VRAM_MB
	"$vm/vm.py" --rig uml --kernel "$kernel" --name "uml.$2" --memory 3G \
		--append "$append" --file "$OUT/selftests/$2:/bin/$2" "$vm/guest/$2.sh"
}

# What simulate found, as goals: the least share is compared as 1 plus it, because it may be negative.
policy() {
	"$vm/simulate.sh" >"$LOGS/bench-simulate.log" 2>&1 || failed=1
	python3 - "$OUT/simulate.json" <<-'PYTHON'
		import json, sys
		found = json.load(open(sys.argv[1]))
		for row in found["rows"]:
		    moved = {who: row[who]["in"] + row[who]["out"] for who in ("lru", "policy")}
		    print(f"simulate.{row['trace']}.{row['base']}.{row['percent']}%\t{moved['policy'] >> 20}\tMiB"
		          f"\t{moved['lru'] >> 20}\t{moved['policy'] / max(moved['lru'], 1):.3f}")
		for name, value, wanted in (("mean_share", found["mean"], found["mean_wanted"]),
		                            ("1_plus_least_share", 1 + found["lowest"], 1 + found["lowest_wanted"])):
		    print(f"simulate.goal.{name}\t{1000 * value:.0f}\tthousandths\t{1000 * wanted:.0f}\t{value / wanted:.3f}")
		# Of processor time: at most three times that of plain LRU.
		lru = max(found["time_lru_ns"], 0.1)
		for name, ns in (("use", found["time_policy_ns"]), ("use_queued", found["time_queued_ns"])):
		    print(f"simulate.{name}\t{ns:.1f}\tns\t{lru:.1f}\t{ns / lru:.3f}")
		    print(f"simulate.goal.{name}\t{1000 * ns / lru:.0f}\tthousandths\t3000\t{3 * lru / max(ns, 0.1):.3f}")
	PYTHON
}

for rig in uml stock; do
	for step in bench crowd; do measure "$rig" "$step" || failed=1; done
done

printf 'metric\tvalue\tunit\tbaseline\tratio\n' >"$OUT/bench.tsv"
for rig in uml stock; do
	for step in bench crowd; do
		sed "/^metric\t/d; s/^/$rig./" "$OUT/vm/$rig.$step/bench.tsv" >>"$OUT/bench.tsv" || failed=1
	done
done
policy >>"$OUT/bench.tsv" || failed=1
column -t -s $'\t' "$OUT/bench.tsv"
exit "$failed"
