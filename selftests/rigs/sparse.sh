#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# CHECK for the build of a whole kernel: sparse, but only for what is ours.
case $* in
*/drivers/gpu/drm/pagoda/*) exec sparse "$@" ;;
esac
