#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Everything that proves the driver, from a bare Debian 12 to the numbers in the last line:
#
#   check.sh          what each commit is held to; a part of it rotates with the commit
#   check.sh long     all of that, and all that rotates, at once
#
# README.md beside this file says what each step proves. Kernels are built first; then lanes run side by side,
# because a machine with two virtual processors is idle for a good part of its time. How long each step
# took, and what it took of the processors, is in out/steps.tsv.
. "$(dirname "$0")/lib.sh"
vm=$TOP/selftests/rigs
start=$SECONDS
which=${1:-short}
unset FILTER CELLS KERNEL

cache_lock check
rm -rf "$OUT/vm"
mkdir -p "$OUT/vm"
: >"$OUT/steps.tsv"

# A step that fails is counted by the report, from what it left behind or didn't. Seconds go to steps.tsv: of the
# step, of the processors.
step() {
	local name=$1 TIMEFORMAT='%R %U %S'
	shift
	{ time { "$@" 2>&3 || say "$name: FAILED" 2>&3; }; } 3>&2 2>"$OUT/vm/time.$BASHPID"
	awk -v name="$name" '{ printf "%s\t%.0f\t%.0f\n", name, $1, $2 + $3 }' "$OUT/vm/time.$BASHPID" >>"$OUT/steps.tsv"
	rm "$OUT/vm/time.$BASHPID"
	say "$name: $(tail -n 1 "$OUT/steps.tsv" | cut -f2) s, $((SECONDS - start)) s in all"
}

step "set-up" "$vm/setup.sh"
step "user headers" "$vm/kernels.sh" headers >/dev/null
# Two at a time, because linking keeps one processor busy. A UML build holds its source tree's lock to the end.
{
	step "kernel: new" env KERNEL=new "$vm/kernels.sh" image plain
	step "kernel: new, sanitizers" env KERNEL=new "$vm/kernels.sh" image debug
} >/dev/null 9>&- &
{
	step "kernel: UML, 6.12" env KERNEL=6.12 "$vm/kernels.sh" uml rig leaks
	step "kernel: UML, new, sanitizers" env KERNEL=new "$vm/kernels.sh" uml rig sanitizers
	step "test programs" "$vm/programs.sh"
} >/dev/null 9>&- &
wait

# name of the results|command. What takes longest comes first, so that no lane ends long before the others.
plan=(
	"uml.kunit-new|$vm/kunit.sh"
	"stock.selftests-share|$vm/machine.sh stock selftests-share"
	"debug.selftests-share|$vm/machine.sh debug selftests-share"
	"lint|$vm/lint.sh"
	"new.selftests|$vm/machine.sh new selftests"
	"uml.kunit-6.12|env KERNEL=6.12 $vm/kunit.sh"
	"stock.pressure-share|$vm/machine.sh stock pressure-share"
	"dkms|$vm/dkms.sh"
	"stock.replay|env VRAM=0.5 FRAMES=300 $vm/machine.sh stock replay"
	"fuzz|$vm/fuzz.sh"
	"stock.replay-modes|env VRAM=0.5 FRAMES=40 $vm/machine.sh stock replay-modes"
	"stock.suspend-share|$vm/machine.sh stock suspend-share"
	"stock.replay-picture|env FRAMES=60 STEP=replay-picture $vm/run.sh"
	"in-tree|$vm/intree.sh"
	"new.replay|env VRAM=0.5 FRAMES=40 $vm/machine.sh new replay"
	"simulate|env -u TRACES $vm/simulate.sh"
)
if [[ $which == long ]]; then
	# Shares are of what runs whole.
	for n in "${!plan[@]}"; do
		case ${plan[n]} in
		*-share\|*) unset "plan[n]" ;;
		fuzz\|*) plan[n]="fuzz|env FUZZ_SECONDS=${FUZZ_SECONDS:-3600} $vm/fuzz.sh" ;;
		in-tree\|*) plan[n]="in-tree|env LONG=1 $vm/intree.sh" ;;
		esac
	done
	plan=(
		"debug.selftests|$vm/machine.sh debug selftests"
		"debug.kunit|$vm/machine.sh debug kunit"
		"stock.selftests|$vm/machine.sh stock selftests"
		"stock.pressure|$vm/machine.sh stock pressure"
		"stock.suspend|$vm/machine.sh stock suspend"
		"stock.selftests-options|$vm/machine.sh stock selftests-options"
		"stock.selftests-deferred|$vm/machine.sh stock selftests-deferred"
		"stock.selftests-mmu0|$vm/machine.sh stock selftests-mmu0"
		"stock.selftests-mmu1|$vm/machine.sh stock selftests-mmu1"
		"debug.selftests-smp4|$vm/machine.sh debug selftests-smp4"
		"debug.selftests-kcov|$vm/machine.sh debug selftests-kcov"
		"stock.igt|$vm/igt.sh"
		"debug.soak|env SOAK_SECONDS=${SOAK_SECONDS:-300} $vm/machine.sh debug soak"
		"debug.suspend|$vm/machine.sh debug suspend"
		"uml.remap|env KERNEL=6.12 STEP=uml.remap FILTER=pagoda_remap APPEND=pagoda_kunit.remaps=1000000 $vm/kunit.sh"
		"${plan[@]}"
	)
fi

# Prints the number of the next step, or fails when there are no more.
take_step() {
	local next
	read -r next <"$OUT/next-step"
	echo $((next + 1)) >"$OUT/next-step"
	((next < ${#plan[@]})) && echo "$next"
}

lane() {
	local next command
	while next=$(exec 8>"$OUT/next-step.lock" && flock 8 && take_step); do
		read -ra command <<<"${plan[next]#*|}"
		step "${plan[next]%%|*}" "${command[@]}"
	done
}

# Most of a machine's time is one processor's at best, and some of it is waiting.
echo 0 >"$OUT/next-step"
for _ in {1..4}; do lane 9>&- & done
wait

say "everything took $((SECONDS - start)) s; the slowest steps, with their share of the processors' time:"
awk -F'\t' '{ sum += $3; line[NR] = $0 } END { for (n = 1; n <= NR; n++) { split(line[n], f, "\t");
	printf "%6d s %5.1f %%  %s\n", f[2], 100 * f[3] / sum, f[1] } }' "$OUT/steps.tsv" |
	sort -rn | head -n 10 | tee "$OUT/slowest.txt" >&2
"$vm/report.py" "${plan[@]%%|*}" | tee "$OUT/report.txt"
