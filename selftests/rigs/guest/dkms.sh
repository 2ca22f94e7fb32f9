#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2317 # run() calls the functions by name
# What dkms.sh runs in its container: installs dkms, then tries what a user does. Prints TAP; what a test objects to
# is in the log, which is standard error. The argument is the folder in which packages are kept.
. "$(dirname "$0")/../lib.sh"
debs=$1
release=$STOCK_RELEASE
updates=/lib/modules/$release/updates/dkms
tmp=$(mktemp -d)
export DEBIAN_FRONTEND=noninteractive LC_ALL=C HOME=/root

apt() {
	apt-get -q -y -o APT::Sandbox::User=root -o APT::Keep-Downloaded-Packages=true \
		-o Dir::Cache::archives="$debs" "$@" >&2
}

# Index files are fetched only if the packages that they name are gone.
get_dkms() {
	mkdir -p "$debs/partial"
	apt install --no-install-recommends dkms || { apt update && apt install --no-install-recommends dkms; }
}

if ! get_dkms; then
	printf '1..1\nok 1 dkms # SKIP dkms is not installable: apt-get fails, see out/logs/dkms.log\n'
	exit 0
fi

fail() { echo "# $*" >&2; return 1; }
source_dir() { echo /usr/src/pagoda-*; }
version() { basename /usr/src/pagoda-* | sed 's/^pagoda-//'; }
install_dkms() { make -C "$TOP" install-dkms >&2; }
dkms_run() { dkms "$@" -k "$release" >&2 || { cat /var/lib/dkms/pagoda/*/build/make.log >&2 2>/dev/null; return 1; }; }
# is <state>: added, built or installed, or empty: DKMS doesn't know Pagoda
is() {
	local state
	state=$(dkms status -m pagoda)
	[[ $state == "${1:+pagoda/$(version), $release, $(uname -m): }$1" || $state == "pagoda/$(version): $1" ]] || fail "dkms status: $state instead of $1"
}

# Copies are what git knows of the folders that belong there, and a dkms.conf that git doesn't know.
same_as_source() {
	local dir
	dir=$(source_dir)
	diff <(cd "$TOP" && find Kbuild Kconfig LICENSE include drivers \
		\( -name '*.[ch]' ! -name '*.mod.c' -o -name 'K*' -o -name LICENSE \) -type f | sort; echo dkms.conf) \
		<(cd "$dir" && find . -type f -printf '%P\n' | grep -vx dkms.conf | sort; cd "$dir" && ls dkms.conf) >&2
	diff -r -x README.md "$TOP/drivers" "$dir/drivers" >&2
	diff -r -x README.md "$TOP/include" "$dir/include" >&2
}

install_copies() {
	install_dkms
	same_as_source
	[[ ! -e $TOP/dkms.conf ]] || fail "dkms.conf is in the source"
	bash -nu "$(source_dir)/dkms.conf"
}

dkms_add() { is added; }

# A source that isn't what was added is replaced.
install_changed() {
	local dir
	dir=$(source_dir)
	echo '#error' >>"$dir/drivers/pagoda/module.c"
	touch "$dir/drivers/left_over.c"
	install_dkms
	same_as_source
	is added
}

dkms_build() {
	dkms_run build "pagoda/$(version)"
	is built
}

# DKMS compresses modules if the kernel's are.
installed() { echo "$updates/$1".ko*; }

# depends_on <module> <module>...
depends_on() {
	local depends module=$1
	depends=,$(modinfo -F depends "$(installed "$1")"),
	shift
	for module in "$@"; do [[ $depends == *,$module,* ]] || fail "depends: $depends, without $module"; done
}

dkms_install() {
	local module
	dkms_run install "pagoda/$(version)"
	is installed
	[[ $(find "$updates" -type f | wc -l) == 2 ]] || fail "in $updates: $(ls "$updates")"
	for module in pagoda pagoda_vgpu; do
		[[ $(modinfo -F vermagic "$(installed "$module")") == "$release "* ]] || fail "vermagic of $module"
		[[ $(modprobe -S "$release" --show-depends "$module") == *"insmod $(installed "$module")"* ]] ||
			fail "modprobe doesn't find $module"
	done
	depends_on pagoda drm ttm gpu-sched drm_exec drm_gpuvm
}

install_twice() {
	local before
	before=$(stat -c '%i %Y' "$updates"/*)
	install_dkms
	is installed
	dkms_run install "pagoda/$(version)"
	is installed
	[[ $(stat -c '%i %Y' "$updates"/*) == "$before" ]] || fail "modules were installed again"
}

# DKMS would refuse to install a module over that of an older version.
install_upgrade() {
	local old
	old=$(version)
	mkdir "$tmp/other"
	cp -r "$TOP"/{Makefile,Kbuild,Kconfig,LICENSE,include,drivers,selftests} "$tmp/other"/
	git -C "$tmp/other" init -q
	git -C "$tmp/other" -c user.name=x -c user.email=x commit -q --allow-empty -m x
	make -C "$tmp/other" install-dkms >&2
	is added
	[[ $(version) != "$old" ]] || fail "version: $(version) after $old"
	[[ ! -e $updates ]] || fail "left: $(ls "$updates")"
}

# excluded <release> <configuration>...
excluded() {
	local dir=/lib/modules/$1 rc=0
	mkdir -p "$dir/build/include"
	printf '%s\n' "${@:2}" >"$dir/build/.config"
	dkms build "pagoda/$(version)" -k "$1" >"$tmp/excluded" 2>&1 || rc=$?
	cat "$tmp/excluded" >&2
	rm -rf "$dir"
	((rc)) && grep -q BUILD_EXCLUSIVE "$tmp/excluded"
}

# Kernels that can't have the modules are passed over, so that their installation doesn't fail.
dkms_excludes() {
	local all
	mapfile -t all < <(grep -E '^CONFIG_(64BIT|MMU|VIRTIO|DRM[A-Z_]*)=' "$STOCK_KDIR/.config")
	excluded 6.1.0-1-amd64 "${all[@]}"
	excluded 6.13.0-small "${all[@]/CONFIG_DRM_GPUVM=*/}"
}

uninstall() {
	make -C "$TOP" uninstall-dkms >&2
	is ''
	find /usr/src /var/lib/dkms /lib/modules -name '*pagoda*' | tee "$tmp/left" >&2
	[[ ! -s "$tmp/left" ]]
	# What was never installed is no error.
	make -C "$TOP" uninstall-dkms >&2
}

# A source that was removed by hand leaves DKMS with a version of which it can't read the configuration.
uninstall_lost() {
	install_dkms
	rm -rf "$(source_dir)"
	uninstall
}

destdir() {
	local before
	before=$(ls /usr/src)
	make -C "$TOP" install-dkms DESTDIR="$tmp/dest" >&2
	[[ -e $(echo "$tmp/dest"/usr/src/pagoda-*/dkms.conf) && $(ls /usr/src) == "$before" ]]
	is ''
	make -C "$TOP" uninstall-dkms DESTDIR="$tmp/dest" >&2
	[[ ! $(ls "$tmp/dest"/usr/src) ]]
}

# Without DKMS. The software GPU is enough: the driver takes longer to build, and depends on nothing else here.
install_modules() {
	local tree=$tmp/tree module
	module=$tree/lib/modules/$release/updates/pagoda_vgpu.ko
	INSTALL_MOD_PATH=$tree "$TOP/selftests/rigs/install.sh" "$STOCK_KDIR" CONFIG_DRM_PAGODA_VGPU=m >&2
	[[ $(modprobe -d "$tree" -S "$release" --show-depends pagoda_vgpu) == *"insmod $module"* ]] ||
		fail "modprobe doesn't find $(ls -R "$tree")"
	# The kernel's own Makefile compresses modules if the kernel's are.
	module=$(echo "$module"*)
	[[ $(modinfo -F author "$module") && $(modinfo -F version "$module") ]] || fail "no author or version"
	[[ ! $(find /lib/modules -name 'pagoda*') ]] || fail "installed outside of $tree"
}

# The stock headers, but for the compiler that they want.
make_headers() {
	rm -rf "$1"
	mkdir "$1"
	ln -s "$STOCK_KDIR"/* "$STOCK_KDIR/.config" "$1/"
	sed "s/gcc-[0-9]*/$2/" "$STOCK_KDIR/.kernelvariables" >"$1/.kernelvariables"
}

# says <pattern> <command>...: fails with the pattern in its only line on standard error, but for what make says
says() {
	local pattern=$1
	shift
	"$@" 2>&1 >/dev/null | grep -v '^make: \*\*\*' >"$tmp/says" || true
	cat "$tmp/says" >&2
	[[ $(wc -l <"$tmp/says") == 1 ]] && grep -qE "$pattern" "$tmp/says"
}

wrong_compiler() {
	make_headers "$tmp/headers" gcc-none
	says 'error: these headers want [a-z0-9_-]*gcc-none, which is not installed' \
		make -C "$TOP" modules KDIR="$tmp/headers"
	! make -C "$TOP" modules KDIR="$tmp/headers" >/dev/null 2>&1
}

# A compiler that can't do what the headers ask of it.
old_compiler() {
	printf '#!/bin/sh\ncase " $* " in *" -c "*) echo "gcc: error: no such flag" >&2; exit 1;; esac\nexec gcc "$@"\n' \
		>/usr/local/bin/gcc-ancient
	chmod +x /usr/local/bin/gcc-ancient
	make_headers "$tmp/headers" gcc-none
	says 'error: no module can be built with these headers .*: gcc: error: no such flag' \
		make -C "$TOP" modules KDIR="$tmp/headers" CC=gcc-ancient
}

# The compiler in CC is taken instead of the missing one. It has no more to build than what tries the headers.
other_compiler() {
	local cc probe
	make_headers "$tmp/headers" gcc-none
	cc=$(sed -n 's/^CONFIG_CC_VERSION_TEXT="\?\([^ "]*\).*/\1/p' "$STOCK_KDIR/include/config/auto.conf")
	probe=$OUT/build/$(<"$tmp/headers/include/config/kernel.release").probe
	rm -rf "$probe"
	"$TOP/selftests/rigs/modules.sh" "$tmp/headers" CC="$cc" CONFIG_DRM_PAGODA=n >&2
	[[ -e $probe/probe.ko ]]
}

tests=(
	install.copies install_copies
	dkms.add dkms_add
	install.changed install_changed
	dkms.build dkms_build
	dkms.install dkms_install
	install.twice install_twice
	install.upgrade install_upgrade
	dkms.excludes dkms_excludes
	uninstall uninstall
	uninstall.lost uninstall_lost
	install.destdir destdir
	install.modules install_modules
	modules.wrong_compiler wrong_compiler
	modules.old_compiler old_compiler
	modules.other_compiler other_compiler
)

failed=0 number=0
echo "1..$((${#tests[@]} / 2))"
# A process of its own for each: errexit is off in functions below a condition.
for ((i = 0; i < ${#tests[@]}; i += 2)); do
	verdict=ok rc=0 number=$((number + 1)) begin=$SECONDS
	echo "== ${tests[i]}" >&2
	set +e
	(set -e; "${tests[i + 1]}")
	rc=$?
	set -e
	((rc == 0)) || verdict='not ok' failed=1
	echo "$verdict $number ${tests[i]}"
	echo "== ${tests[i]}: $verdict, $((SECONDS - begin)) s" >&2
done
exit "$failed"
