// SPDX-License-Identifier: GPL-2.0
/* Sends control commands to the device; computes VRAM's size without reserve and invalid ranges. */
#include "core.h"
#include "info.h"
#include "transport.h"

/**
 * pagoda_vidmm_command_locked() - Have the device execute a control command
 * @vidmm: The manager
 * @command: Command
 *
 * Context: pagoda_vidmm.control_lock is held; sleeps until the device answers or a timeout.
 * Return: 0 when the device has executed the command, -EINVAL if the device refuses, -ETIMEDOUT,
 * -EIO if the answer is invalid, or -ENODEV, also once the device is being removed.
 */
int pagoda_vidmm_command_locked(struct pagoda_vidmm *vidmm, const struct pagoda_command *command)
{
	lockdep_assert_held(&vidmm->control_lock);
	if (!vidmm->transport)
		return -ENODEV;
	return vidmm->transport->ops->control(vidmm->transport, command);
}

/**
 * pagoda_vidmm_command() - Have the device execute a control command
 * @vidmm: The manager
 * @command: Command
 *
 * Context: Takes pagoda_vidmm.control_lock; sleeps until the device answers or a timeout.
 * Return: 0 when the device has executed the command, -EINVAL if the device refuses, -ETIMEDOUT,
 * -EIO if the answer is invalid, or -ENODEV, also once the device is being removed.
 */
int pagoda_vidmm_command(struct pagoda_vidmm *vidmm, const struct pagoda_command *command)
{
	int ret;

	mutex_lock(&vidmm->control_lock);
	ret = pagoda_vidmm_command_locked(vidmm, command);
	mutex_unlock(&vidmm->control_lock);
	return ret;
}

/**
 * pagoda_vidmm_segment_size() - Size of VRAM less the reserve, &pagoda_vidmm.reserve_size
 * @vidmm: The manager
 *
 * Return: Bytes.
 */
u64 pagoda_vidmm_segment_size(struct pagoda_vidmm *vidmm)
{
	return vidmm->info->vram_size - vidmm->reserve_size;
}

/**
 * pagoda_vidmm_vram_size() - Size of VRAM that clients can use
 * @vidmm: The manager
 *
 * Return: Bytes: pagoda_vidmm_segment_size() less the ranges that the device reported as invalid.
 */
u64 pagoda_vidmm_vram_size(struct pagoda_vidmm *vidmm)
{
	u64 size = pagoda_vidmm_segment_size(vidmm);
	u32 i;

	for (i = 0; i < vidmm->info->nr_invalid; i++)
		size -= vidmm->info->invalid[i].size;
	return size;
}
