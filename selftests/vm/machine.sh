#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds what a step needs and runs it in a machine of its own:
#
#   machine.sh stock|debug <step>...        steps: kunit (debug only), selftests, pressure (stock only),
#                                           suspend, replay, sum, record, bench, crowd, soak
#
# A step is the script of its name in guest/, up to a dash: selftests-mmu1 is the same script with
# another choice of cells, selftests-smp4 with four processors and the programs that have much
# executed. All steps run, whatever becomes of the others.
# FILTER chooses suites (kunit) or test programs (selftests), a glob; TRACE, FRAMES, VRAM,
# RIVAL and CAPTURE say what is replayed; TESTS and RECORD of which programs how many KiB of the stream are
# recorded; SOAK_SECONDS how long clients fight for VRAM, which selftests on the debug kernel have them
# do too; LIMIT after how many seconds a machine is killed. CELLS says in which modes selftests and
# replay run, as words:
# <update mode>.mmu<0 or 1>.<visible>[.<more parameters of the GPU>], and reload for the test of
# loading and unloading.
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
vm=("$TOP/selftests/vm/vm.py" --rig "$rig")

# The longest steps take 25 minutes beside two others: a machine that hangs costs no more than twice that.
limit=2700

case $rig in
stock) kdir=$STOCK_KDIR stage=() ;;
debug)
	kdir=$("$TOP/selftests/vm/kernels.sh" debug)
	stage=(--stage debug)
	vm+=(--kernel "$kdir")
	;;
*) die "machine.sh: no rig $rig" ;;
esac

# Devices unlike the default one, each with the programs that use page tables and move memory most.
OPTION_CELLS='gpu_physical.mmu0.all.dual_pte=1 gpu_virtual.mmu0.all.cache_invalid=1
	gpu_virtual.mmu0.all.pt_levels=2 cpu_virtual.mmu0.all.pt_levels=5'
SHORT='residency_test evict_test bind_test bind_queue_test submit_test fence_test'
# Those that are recorded, unless others are asked for.
RECORDED='residency_test evict_test bind_test'
# Those that need a machine with little memory and swap; and those for which one cell will do.
SHORT_OF_MEMORY='@(isolation|pressure)_test'
ONCE='@(events|pagodactl|unplug_storm)_test'
# Nobody else's machine sleeps.
AWAKE='!(suspend_test)'
LEFT_OUT=$SHORT_OF_MEMORY
# What is executed, by several at once: the programs of the steps with more processors. Those of the sanitizer
# kernel have the most of them to themselves; what is recorded is needed with fewer, too.
ALONE='@(bind_queue|submit|overcommit|fence|unplug|unplug_storm)_test'
EXECUTION="@(bind_test|$ALONE)"

build_modules() {
	with_progress "building modules ($rig${1:+, $1})" "$LOGS/modules.$rig${1:+-$1}.log" \
		"$TOP/selftests/vm/modules.sh" "$kdir" "${@:2}"
}

# Names the stage's modules for vm.py, and the programs of selftests/ and selftests/tools/.
drivers() {
	local dir=$OUT/build/${stage[1]:-$STOCK_RELEASE}
	vm+=(--module "$dir/pagoda_vgpu.ko" --module "$dir/pagoda.ko")
}

programs() {
	local file
	"$TOP/selftests/vm/programs.sh"
	for file in "$OUT"/selftests/*; do
		[[ -f $file && -x $file ]] || continue
		if [[ $file != *_test ]]; then
			# What a machine has in /bin is in its memory: one with little has none for that.
			[[ $step == pressure ]] || vm+=(--file "$file:/bin/${file##*/}")
		elif [[ ${file##*/} == ${FILTER:-*} && ${file##*/} != $LEFT_OUT ]]; then
			vm+=(--file "$file:/tests/${file##*/}")
		fi
	done
}

run_step() {
	"${vm[@]}" --name "$rig.$step" --timeout "${LIMIT:-$limit}" "$@" \
		"$TOP/selftests/vm/guest/${step%%-*}.sh"
}

# cells <device-MMU mode> <visible>...: that column of the matrix, in all update modes
cells() {
	local mmu=$1 visible mode
	shift
	for mode in gpu_physical gpu_virtual cpu_virtual; do
		for visible in "$@"; do echo "$mode.mmu$mmu.$visible"; done
	done
}

# With part of VRAM in the CPU's window, both what it can and what it can't reach is tested.
case $rig.$step in
*.selftests-mmu*)
	default=$(cells "${step#*-mmu}" all none)
	LEFT_OUT="@($SHORT_OF_MEMORY|$ONCE)"
	;;
stock.selftests) default="gpu_physical.mmu0.some $OPTION_CELLS reload" ;;
*.selftests-smp*)
	default=gpu_physical.mmu0.some
	FILTER=${FILTER:-$EXECUTION}
	vm+=(--smp "${step#*-smp}")
	;;
# What is emulated and checked is slow: the second cell says its levels, and so gets the short list. What the
# other step has on four processors isn't repeated on two.
debug.selftests)
	default='gpu_physical.mmu0.some gpu_virtual.mmu1.some.pt_levels=4 reload'
	SHORT=$RECORDED
	[[ ${FILTER:-} ]] || LEFT_OUT="@($SHORT_OF_MEMORY|$ALONE)"
	;;
# Without VRAM for the CPU, and with a GPU that forgets nothing when it is reset. The stock kernel zeroes
# all pages it gives away, unless it is told not to: then a driver that forgot to wouldn't be noticed.
stock.pressure)
	default='gpu_physical.mmu0.some gpu_virtual.mmu1.none.reset_vram=keep'
	FILTER=${FILTER:-$SHORT_OF_MEMORY}
	SHORT=isolation_test LEFT_OUT=
	vm+=(--memory 320M --swap 256 --extra virtio_blk --append init_on_alloc=0)
	;;
# Nothing else runs in a machine that sleeps: it lets go of the host's folder meanwhile.
*.suspend)
	default='gpu_physical.mmu0.some gpu_virtual.mmu1.none cpu_virtual.mmu0.all.preserve=half'
	[[ $rig != debug ]] || default='gpu_virtual.mmu1.some gpu_physical.mmu0.some.preserve=standby'
	FILTER=suspend_test limit=2000
	;;
*.replay-modes) default='gpu_virtual.mmu0.all gpu_physical.mmu1.all gpu_virtual.mmu1.none' ;;
*) default=gpu_physical.mmu0.all ;;
esac
CELLS=${CELLS:-$default}
[[ $step != selftests* ]] || FILTER=${FILTER:-$AWAKE}

case $step in
kunit)
	build_modules kunit --stage "$rig-kunit" CONFIG_DRM_PAGODA_KUNIT_TEST=m
	vm+=(--module "$OUT/build/$rig-kunit/pagoda_kunit.ko")
	# What needs no second processor and takes long is UML's.
	run_step --append "kunit.filter_glob=${FILTER:-pagoda*} kunit.filter=speed>slow"
	;;
replay*)
	build_modules "" "${stage[@]}"
	drivers
	programs
	traces=
	for trace in ${TRACE:-$TOP/selftests/traces/*.rtrace.gz}; do
		name=$(basename "$trace" .gz)
		vm+=(--file "$trace:/traces/$name")
		traces+=" /traces/$name"
	done
	run_step --env "CELLS=$CELLS" --env "TRACES=$traces" --env "FRAMES=${FRAMES:-}" \
		--env "VRAM=${VRAM:-0.5}" --env "CAPTURE=${CAPTURE:-}" --env "RIVAL=${RIVAL:-}"
	;;
bench | crowd)
	stage=(--stage "$rig-bench")
	build_modules bench "${stage[@]}" CONFIG_DRM_PAGODA_BENCH=y CONFIG_DRM_PAGODA=m \
		CONFIG_DRM_PAGODA_VGPU=m
	drivers
	programs
	run_step --env "VRAM_MB=$CROWD_VRAM_MB"
	;;
soak)
	build_modules "" "${stage[@]}"
	drivers
	programs
	limit=$((limit + ${SOAK_SECONDS:-300}))
	run_step --env "SOAK_SECONDS=${SOAK_SECONDS:-300}"
	;;
*)
	build_modules "" "${stage[@]}"
	drivers
	programs
	[[ $step != selftests* && $step != pressure ]] || vm+=(--extra vgem)
	[[ $rig.$step != debug.selftests || $FILTER != "$AWAKE" ]] || soak=20
	run_step --env "CELLS=$CELLS" --env "SHORT=$SHORT" --env "TESTS=${TESTS:-$RECORDED}" \
		--env "RECORD=${RECORD:-128}" --env "SOAK_SECONDS=${soak:-}"
	;;
esac
