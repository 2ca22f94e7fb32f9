#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of syzlang.py: each change of the header or of the description alone is found."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import syzlang  # noqa: E402

# Where (0: description, 1: header), what, by what it is replaced, and a word of the objection.
CHANGES = (
    (1, "\t__u32 pad2;\n\t__u64 fence_value;", "\t__u32 wanted;\n\t__u64 fence_value;", "make_resident"),
    (1, "\t__u64 window;\n};", "\t__u64 window;\n\t__u64 more;\n};", "bind_entry"),
    (1, "\t__s64 timeout_ns;\n};", "\t__s32 timeout_ns;\n};", "allocation_wait"),
    (1, "@job: Out: number of the job in", "@job: number of the job in", "submit"),
    (1, "\tDRM_PAGODA_EVENTS,\n", "\tDRM_PAGODA_EVENTS,\n\tDRM_PAGODA_MORE,\n", "DRM_PAGODA_MORE"),
    (1, "\tDRM_PAGODA_BIND_MAP_FENCE = 7,\n", "\tDRM_PAGODA_BIND_MAP_FENCE = 7,\n\tDRM_PAGODA_BIND_X = 8,\n", "BIND_X"),
    (1, "#define DRM_PAGODA_BIND_CHOOSE", "#define DRM_PAGODA_BIND_X\t(1u << 3)\n#define DRM_PAGODA_BIND_CHOOSE", "BIND_X"),
    (1, "struct drm_pagoda_vm_destroy {", "struct drm_pagoda_vm_end {", "vm_end"),
    (0, "[in, drm_pagoda_sync, 16]", "[in, drm_pagoda_sync, 24]", "stride"),
    (0, "\tpitch\t\tflags[pagoda_pitches, int32]\n", "", "allocation_create"),
    (0, "\tcontext\t\tpagoda_context\t(out)\n", "\tcontext\t\tint32\t(out)\n", "pagoda_context"),
    (0, "DRM_PAGODA_BIND_COPY, ", "DRM_PAGODA_BIND_COPIES, ", "BIND_COPIES"),
    (0, "arg ptr[inout, drm_pagoda_offer])", "arg ptr[inout, drm_pagoda_evict])", "IOCTL_PAGODA_OFFER"),
    (0, "\tflags\tflags[drm_pagoda_sync_flags, int32]\n", "\tflags\tflags[drm_pagoda_other_flags, int32]\n", "other_flags"),
)


def objections(texts):
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("description", "header")]
        for path, text in zip(paths, texts):
            with open(path, "w") as f:
                f.write(text)
        return subprocess.run([syzlang.__file__, *paths], capture_output=True, text=True, check=False).stdout


def main():
    texts = [open(path).read() for path in (syzlang.DESCRIPTION, syzlang.HEADER)]
    wrong = [objections(texts)] if objections(texts) else []
    for which, old, new, word in CHANGES:
        changed = list(texts)
        changed[which] = texts[which].replace(old, new, 1)
        if changed == texts:
            wrong.append(f"nothing to change: {old!r}")
        elif word not in objections(changed):
            wrong.append(f"not found: {new!r} instead of {old!r}")
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
