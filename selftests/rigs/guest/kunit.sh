# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# The KUnit module runs its suites while it is loaded; debugfs keeps what they said.
. /guest/lib.sh

load_list /modules/deps.list || exit 1
# insmod waits for the longest case, which on a busy machine takes more than two minutes.
hung=/proc/sys/kernel/hung_task_timeout_secs
[ ! -e "$hung" ] || echo 400 > "$hung"
say "insmod pagoda_kunit"
insmod /modules/pagoda_kunit.ko || exit 1
failed=1
for suite in /sys/kernel/debug/kunit/pagoda*; do
	name=$(basename "$suite")
	cat "$suite/results" > "/out/kunit.$name.tap" || exit 1
	tail -n 1 "/out/kunit.$name.tap"
	failed=0
done
rmmod pagoda_kunit || failed=1
kmemleak_scan || failed=1
exit "$failed"
