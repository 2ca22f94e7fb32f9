#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds what a step needs and runs it in a machine of its own:
#
#   machine.sh stock|debug <step>...        steps: kunit (debug only), selftests, replay, bench
#
# A step is the script of its name in guest/. All steps run, whatever becomes of the others.
# FILTER chooses suites (kunit) or test programs (selftests), a glob; TRACE, FRAMES, VRAM and
# CAPTURE say what is replayed; WINDOWS which sizes of the CPU's window are tested.
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

case $rig in
stock) kdir=$STOCK_KDIR stage=() limit=900 windows='all some none' ;;
debug)
	kdir=$("$TOP/selftests/vm/kernels.sh" debug)
	# With part of VRAM in the CPU's window, both what it can and what it can't reach is tested.
	stage=(--stage debug) limit=1200 windows=some
	vm+=(--kernel "$kdir")
	;;
*) die "machine.sh: no rig $rig" ;;
esac

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
			vm+=(--file "$file:/bin/${file##*/}")
		elif [[ ${file##*/} == ${FILTER:-*} ]]; then
			vm+=(--file "$file:/tests/${file##*/}")
		fi
	done
}

run_step() {
	"${vm[@]}" --name "$rig.$step" --timeout "${LIMIT:-$limit}" "$@" "$TOP/selftests/vm/guest/$step.sh"
}

case $step in
kunit)
	build_modules kunit --stage "$rig-kunit" CONFIG_DRM_PAGODA_KUNIT_TEST=m
	vm+=(--module "$OUT/build/$rig-kunit/pagoda_kunit.ko")
	run_step --append "kunit.filter_glob=${FILTER:-pagoda*}"
	;;
replay)
	build_modules "" "${stage[@]}"
	drivers
	programs
	traces=
	for trace in ${TRACE:-$TOP/selftests/traces/*.rtrace.gz}; do
		name=$(basename "$trace" .gz)
		vm+=(--file "$trace:/traces/$name")
		traces+=" /traces/$name"
	done
	run_step --env "TRACES=$traces" --env "FRAMES=${FRAMES:-}" \
		--env "VRAM=${VRAM:-0.5}" --env "CAPTURE=${CAPTURE:-}"
	;;
bench)
	stage=(--stage "$rig-bench")
	build_modules bench "${stage[@]}" CONFIG_DRM_PAGODA_BENCH=y CONFIG_DRM_PAGODA=m \
		CONFIG_DRM_PAGODA_VGPU=m
	drivers
	programs
	run_step
	;;
*)
	build_modules "" "${stage[@]}"
	drivers
	programs
	run_step --env "WINDOWS=${WINDOWS:-$windows}"
	;;
esac
