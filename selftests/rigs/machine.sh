#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds what a step needs and runs it in a machine of its own:
#
#   machine.sh stock|new|debug|coverage <step>...
#
# The kernel is Debian's own 6.12 (stock), the newest one as it is (new), the newest one that counts which lines are
# executed (coverage), or one with sanitizers (debug; KERNEL says of which source: new unless 6.12 is asked for).
#
# A step is the script of its name in guest/, up to a dash: selftests, pressure, suspend, kunit (debug only), replay,
# sum, record, bench, crowd, soak, hostile, igt (by igt.sh, which says what is put there). cells.py says in which modes
# its programs run. All steps run, whatever becomes of the others.
# FILTER chooses suites (kunit) or test programs, a glob; CELLS the modes; SHARE which part of a step that rotates
# with the commit (selftests-share); TRACE, FRAMES, VRAM, RIVAL, QUEUED and CAPTURE say what is replayed; TESTS and
# RECORD of which programs how many KiB of the stream are recorded; SOAK_SECONDS how long clients fight for VRAM.
. "$(dirname "$0")/lib.sh"
. "$OUT/rig.env"

rig=$1
shift
if (($# != 1)); then
	failed=0
	for step in "$@"; do "$0" "$rig" "$step" || failed=1; done
	exit "$failed"
fi
step=$1
vm=("$TOP/selftests/rigs/vm.py" --rig "${rig/coverage/new}" --smp "$("$TOP/selftests/rigs/cells.py" --processors "$rig.$step")")

case $rig in
stock) kdir=$STOCK_KDIR stage=$STOCK_RELEASE ;;
new) kdir=$(KERNEL=new "$TOP/selftests/rigs/kernels.sh" image plain) stage=new ;;
coverage) kdir=$(KERNEL=new "$TOP/selftests/rigs/kernels.sh" image coverage) stage=coverage ;;
debug) kdir=$(KERNEL=${KERNEL:-new} "$TOP/selftests/rigs/kernels.sh" image debug) stage=debug-${KERNEL:-new} ;;
*) die "machine.sh: no rig $rig" ;;
esac
[[ $rig == stock ]] || vm+=(--kernel "$kdir")

case $rig in
stock) how=("${STOCK_MODULES[@]}") ;;
coverage) how=("${COUNTED_MODULES[@]}") ;;
*) how=("${OTHER_MODULES[@]}") ;;
esac

# build_modules <folder below out/build> [<make argument>...]
build_modules() {
	stage=$1
	with_progress "building modules ($stage)" "$LOGS/modules.$stage.log" \
		"$TOP/selftests/rigs/modules.sh" "$kdir" --stage "$@" "${how[@]}"
}

# Names the stage's modules for vm.py.
drivers() { vm+=(--module "$OUT/build/$stage/pagoda_vgpu.ko" --module "$OUT/build/$stage/pagoda.ko"); }

tools() {
	local file
	"$TOP/selftests/rigs/programs.sh"
	for file in "$OUT"/selftests/*; do
		[[ ! -f $file || ! -x $file || $file == *_test ]] || vm+=(--file "$file:/bin/${file##*/}")
	done
}

# Puts a program of the host's into the machine, with the libraries that it loads.
packaged() {
	local file
	for file in "$(command -v "$1")" $(ldd "$(command -v "$1")" | grep -o '/[^ ]*'); do
		vm+=(--file "$file:$file")
	done
}

# The plan is a file of the machine's; the test programs in it are put there.
planned_programs() {
	local plan=$OUT/vm/$rig.$step.plan name
	mkdir -p "$OUT/vm"
	"$TOP/selftests/rigs/cells.py" "$rig.$step" >"$plan"
	[[ -s $plan ]] || die "$rig.$step: no program is called ${FILTER:-anything}"
	vm+=(--file "$plan:/guest/plan")
	"$TOP/selftests/rigs/programs.sh"
	for name in $(cut -d' ' -f2- "$plan" | tr ' ' '\n' | grep '_test$' | sort -u); do
		vm+=(--file "$OUT/selftests/$name:/tests/$name")
		[[ $name != trace_test ]] || packaged trace-cmd
	done
}

run_step() { "${vm[@]}" --name "$rig.$step" "$@" "$TOP/selftests/rigs/guest/${step%%-*}.sh"; }

case $step in
kunit)
	build_modules "$stage-kunit" CONFIG_DRM_PAGODA_KUNIT_TEST=m
	vm+=(--module "$OUT/build/$stage/pagoda_kunit.ko")
	run_step --append "kunit.filter_glob=${FILTER:-pagoda*} kunit.filter=speed>slow"
	;;
replay*)
	build_modules "$stage"
	drivers
	tools
	CELLS=${CELLS:-gpu_physical.mmu0.all}
	[[ ! ${CAPTURE:-} ]] || packaged trace-cmd
	[[ $step != replay-modes ]] || CELLS='gpu_virtual.mmu0.all gpu_physical.mmu1.all gpu_virtual.mmu1.none'
	traces=
	for trace in ${TRACE:-$TOP/selftests/traces/*.rtrace.gz}; do
		name=$(basename "$trace" .gz)
		vm+=(--file "$trace:/traces/$name")
		traces+=" /traces/$name"
	done
	run_step --env "CELLS=$CELLS" --env "TRACES=$traces" --env "FRAMES=${FRAMES:-}" \
		--env "VRAM=${VRAM:-0.5}" --env "CAPTURE=${CAPTURE:-}" --env "RIVAL=${RIVAL:-}" \
		--env "QUEUED=${QUEUED:-}"
	;;
bench | crowd)
	how=(W=1e)
	build_modules "$stage-bench" CONFIG_DRM_PAGODA_BENCH=y CONFIG_DRM_PAGODA=m CONFIG_DRM_PAGODA_VGPU=m
	drivers
	tools
	run_step --env "VRAM_MB=$CROWD_VRAM_MB"
	;;
sum | soak)
	build_modules "$stage"
	drivers
	tools
	run_step --env "SOAK_SECONDS=${SOAK_SECONDS:-300}"
	;;
# Pairs that have a row already are left out. A machine that an attack has stopped says nothing any more.
hostile)
	build_modules "$stage"
	drivers
	"$TOP/selftests/rigs/programs.sh"
	vm+=(--file "$OUT/selftests/hostile:/bin/hostile" --file "$OUT/hostile.tsv:/guest/done" --extra vgem --quiet 240)
	run_step --env "PAIRS=${PAIRS:-*}" --env "LIMIT=${LIMIT:-150}" --env "SAMPLE=${SAMPLE:-0}" \
		--env "TURN=$("$TOP/selftests/rigs/cells.py" --share)"
	;;
igt)
	build_modules "$stage"
	drivers
	tools
	while read -r file; do vm+=(--file "$file"); done <"$OUT/igt.files"
	vm+=(--module "$OUT/build/igt_sw_sync.ko")
	run_step
	;;
record)
	build_modules "$stage"
	drivers
	planned_programs
	run_step --env "RECORD=${RECORD:-128}"
	;;
# The stock kernel zeroes all pages that it gives away, unless it is told not to: a driver that forgot to wouldn't be
# noticed. What the machine has in /bin is in its memory, so there are no tools.
pressure*)
	build_modules "$stage"
	drivers
	planned_programs
	vm+=(--memory 256M --swap 192 --extra vgem --append init_on_alloc=0)
	[[ $rig != stock ]] || vm+=(--extra virtio_blk)
	run_step
	;;
*)
	[[ $step != selftests-kcov ]] || { how=("${KCOV_MODULES[@]}") stage+=-kcov; }
	build_modules "$stage"
	drivers
	planned_programs
	tools
	[[ $step != selftests* ]] || vm+=(--extra vgem)
	[[ $step != selftests-share && $step != selftests-options ]] || vm+=(--memory 6G)
	run_step --env "SOAK_SECONDS=${SOAK_SECONDS:-20}"
	;;
esac
