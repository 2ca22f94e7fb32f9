#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2317 # with_progress and once() call functions by name
#
# Debian's igt-gpu-tools on the stock kernel: those of its tests that a driver without a display and without an ABI of its
# own in there can pass, igt_runner and gputop. out/igt.tsv says what passes, and what skips and why. igt.tsv beside this
# file is what is expected: a row that differs is a failure, unless sid has got another version, whose new rows are none
# and whose reasons may have other words. When a change is meant to be, out/igt.tsv becomes the expected table.
#
# FILTER chooses programs, a glob: then only their rows are written and compared.
#
# The packages of sid come into the cache as backports.sh has apt fetch, and are unpacked there: their programs run with
# sid's own libraries, in the machine. Tests make fences with sw_sync, which Debian's kernel hasn't got: it is compiled
# from the kernel's sources, as a module.
. "$(dirname "$0")/lib.sh"
vm=$TOP/selftests/rigs
dir=$CACHE/igt
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
SUITE=sid
LIBEXEC=/usr/libexec/igt-gpu-tools
LIBRARIES=/usr/lib/x86_64-linux-gnu
LOADER=/lib64/ld-linux-x86-64.so.2
# core_hotunplug comes last: it gives the device another minor.
TESTS=(
	core_auth core_debugfs core_getclient core_getstats core_getversion core_setmaster core_setmaster_vs_auth core_sysfs
	syncobj_basic syncobj_wait syncobj_timeline syncobj_eventfd core_hotunplug
)
PROGRAMS=(gputop igt_runner)
FILTER=${FILTER:-*}

# No package counts as installed: what the programs need comes from sid, down to the C library.
apt_options=(
	-o "Dir::Etc::SourceList=$dir/sources.list"
	-o "Dir::Etc::SourceParts=/dev/null"
	-o "Dir::Etc::Preferences=/dev/null"
	-o "Dir::Etc::PreferencesParts=/dev/null"
	-o "Dir::State::Lists=$dir/lists"
	-o "Dir::State::Status=$dir/status"
	-o "Dir::Cache=$dir/cache"
	-o "APT::Architecture=amd64"
	-o "APT::Sandbox::User=$(id -un)"
	-o "APT::Get::List-Cleanup=false"
	-o "Acquire::Languages=none"
)

# Of all that the tests' package depends on, the libraries. What else there is, is for scripts.
wanted() {
	apt-get -q "${apt_options[@]}" -s --no-install-recommends install igt-gpu-tools-tests |
		awk '/^Inst (lib|zlib1g|igt-)/ && $2 !~ /^libpython/ { print $2 }'
}

# fetch <folder>: an empty one, for the packages
fetch() {
	local packages
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	[[ -f $KEYRING ]] || die "no $KEYRING to check Debian's $SUITE with (package debian-archive-keyring)"
	echo "deb [signed-by=$KEYRING] http://deb.debian.org/debian $SUITE main" >"$dir/sources.list"
	: >"$dir/status"
	apt-get -q "${apt_options[@]}" update || return
	mapfile -t packages < <(wanted)
	[[ ${packages[*]} == *igt-gpu-tools-tests* ]] || return
	(cd "$1" && apt-get -q "${apt_options[@]}" download "${packages[@]}")
}

# Packages a day old will do; without a network, those that are there.
newest_packages() {
	[[ ! $(find "$dir/debs/looked" -mtime -1 2>/dev/null) ]] || return 0
	rm -rf "$dir/new"
	mkdir -p "$dir/new"
	if with_progress "fetching igt-gpu-tools of Debian's $SUITE" "$LOGS/igt.fetch.log" fetch "$dir/new"; then
		touch "$dir/new/looked"
		rm -rf "$dir/debs"
		mv "$dir/new" "$dir/debs"
	else
		say "going on with what there is"
	fi
	[[ -e $dir/debs/looked ]] || die "no igt-gpu-tools of $SUITE: see $LOGS/igt.fetch.log"
}

# unpack <folder>
unpack() {
	local deb
	for deb in "$dir"/debs/*.deb; do dpkg-deb -x "$deb" "$1"; done
}

# sw_sync_source <folder>: a module's, of two files of the kernel's, which don't expect to be one's. The trace header is
# named by a path relative to the kernel's include/trace.
sw_sync_source() {
	local src
	src=$("$vm/kernels.sh" source)
	mkdir -p "$1/drivers/dma-buf" "$1/include/trace"
	cp "$src"/drivers/dma-buf/{sw_sync.c,sync_debug.c,sync_debug.h,sync_trace.h} "$1/drivers/dma-buf/"
	cat >"$1/rest.c" <<-'C'
		#include <linux/module.h>
		#include <linux/sync_file.h>

		/* The kernel's own isn't exported, and no file is ever in the list that this is called for. */
		char *sync_file_get_name(struct sync_file *sync_file, char *buf, int len)
		{
			strscpy(buf, "", len);
			return buf;
		}

		MODULE_DESCRIPTION("Fences that a program signals");
		MODULE_LICENSE("GPL");
	C
	# shellcheck disable=SC2016 # for make
	printf '%s\n' 'obj-m := igt_sw_sync.o' \
		'igt_sw_sync-y := rest.o drivers/dma-buf/sw_sync.o drivers/dma-buf/sync_debug.o' \
		'ccflags-y := -I$(src)/include/trace -include linux/module.h' >"$1/Kbuild"
}

# once <folder> <function>...: makes the folder if it isn't there, and calls the functions with it
once() {
	local made=$1 function
	shift
	[[ ! -e $made/ready ]] || return 0
	rm -rf "$made"
	mkdir -p "$made"
	for function in "$@"; do "$function" "$made"; done
	touch "$made/ready"
}

sw_sync_build() {
	with_progress "building sw_sync" "$LOGS/igt.sw_sync.log" make -C "$STOCK_KDIR" M="$1" -j"$JOBS" modules
}

# loaded <program>...: the libraries that they load, by the name that they look for. Sid's loader lists them.
loaded() {
	local program
	for program in "$@"; do
		"$root/usr$LOADER" --library-path "$root$LIBRARIES" --list "$program"
	done | awk -v "root=$root$LIBRARIES/" 'index($3, root) == 1 { print $1 }' | sort -u
}

# What is put into the machine, as host's file:machine's file.
files() {
	local program library paths=()
	paths=("${TESTS[@]/#/$LIBEXEC/}" "${PROGRAMS[@]/#//usr/bin/}")
	for program in "${paths[@]}" "$LIBEXEC/test-list.txt"; do echo "$root$program:$program"; done
	# Threads that end load the last one.
	{ loaded "${paths[@]/#/$root}"; echo libgcc_s.so.1; } >"$OUT/igt.libraries"
	while read -r library; do echo "$root$LIBRARIES/$library:$LIBRARIES/$library"; done <"$OUT/igt.libraries"
	echo "$root/usr$LOADER:$LOADER"
	echo "$OUT/igt.programs:/guest/igt"
}

cache_lock igt
"$vm/setup.sh"
. "$OUT/rig.env"
newest_packages
root=$dir/root-$(key "$(ls "$dir/debs")" "$(declare -f unpack)")
once "$root" unpack
sw_sync=$dir/sw_sync-$(key "$STOCK_KDIR" "$("$vm/kernels.sh" source)" "$(declare -f sw_sync_source)")
once "$sw_sync" sw_sync_source sw_sync_build
mkdir -p "$OUT/build"
cp "$sw_sync/igt_sw_sync.ko" "$OUT/build/"
# shellcheck disable=SC2053 # a glob
for program in "${PROGRAMS[@]}" "${TESTS[@]}"; do
	[[ $program != $FILTER ]] || echo "$program"
done >"$OUT/igt.programs"
[[ -s $OUT/igt.programs ]] || die "no program is called $FILTER"
files >"$OUT/igt.files"
flock -u 9

failed=0
"$vm/machine.sh" stock igt || failed=1
version=$(basename "$dir"/debs/igt-gpu-tools-tests_*_amd64.deb _amd64.deb)
"$vm/igt.py" "${version#*_}" "$OUT/igt.programs" "$OUT/vm/stock.igt" "$vm/igt.tsv" "$OUT/igt.tsv" || failed=1
exit "$failed"
