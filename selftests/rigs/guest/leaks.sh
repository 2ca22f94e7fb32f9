# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# What KUnit suites that ran while the kernel booted have left behind.
. /guest/lib.sh
kmemleak_scan
