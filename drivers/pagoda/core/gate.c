// SPDX-License-Identifier: GPL-2.0
/*
 * The gate: threads that work on the device's memory for user space stay outside while the device
 * is rebuilt or the machine sleeps, and a rebuild or sleep waits until threads inside are out.
 *
 * A thread that is inside may enter again: an ioctl may touch one of the driver's mappings, or
 * close a handle. No thread inside waits for a thread that has still to enter: workers that are
 * waited for only try to enter, and a thread that waits for a worker leaves meanwhile.
 */
#include <linux/sched.h>
#include "core.h"
#include "life.h"

/* Returns the entry of the current thread, NULL if the thread isn't inside. */
static struct pagoda_gate *gate_find(struct pagoda_reset *reset)
{
	struct pagoda_gate *gate, *found = NULL;

	spin_lock(&reset->inside_lock);
	list_for_each_entry(gate, &reset->inside, link) {
		if (gate->task == current) {
			found = gate;
			break;
		}
	}
	spin_unlock(&reset->inside_lock);
	return found;
}

static void gate_note(struct pagoda_reset *reset, struct pagoda_gate *gate)
{
	spin_lock(&reset->inside_lock);
	list_add(&gate->link, &reset->inside);
	spin_unlock(&reset->inside_lock);
}

static void gate_forget(struct pagoda_reset *reset, struct pagoda_gate *gate)
{
	spin_lock(&reset->inside_lock);
	list_del(&gate->link);
	spin_unlock(&reset->inside_lock);
}

/**
 * pagoda_gate_is_inside() - Whether the current thread is inside the gate
 * @vidmm: Memory manager
 *
 * Context: Any but interrupts.
 * Return: true if the thread is inside: then the thread must not wait for a rebuild.
 */
bool pagoda_gate_is_inside(struct pagoda_vidmm *vidmm)
{
	return gate_find(vidmm->reset);
}

/* A rebuild that is due closes the gate, too: paging begun before the rebuild is given up. */
static bool gate_is_closed(const struct pagoda_reset *reset)
{
	return READ_ONCE(reset->pending) || READ_ONCE(reset->shut);
}

/*
 * A thread that waits here for the machine to wake must be frozen before the machine sleeps, with
 * or without a signal. An ioctl then is in a drm_dev_enter() section, and only tasks that are
 * frozen themselves wait for that section.
 */
#define GATE_SLEEP	(TASK_UNINTERRUPTIBLE | TASK_FREEZABLE_UNSAFE)

static int gate_read(struct pagoda_reset *reset, bool interruptible)
{
	do {
		if (!interruptible) {
			wait_event_state(reset->rebuilt, !gate_is_closed(reset), GATE_SLEEP);
			down_read(&reset->gate);
		} else if (wait_event_interruptible(reset->rebuilt, !gate_is_closed(reset)) ||
			   down_read_interruptible(&reset->gate)) {
			return -ERESTARTSYS;
		}
		if (!gate_is_closed(reset))
			return 0;
		up_read(&reset->gate);
	} while (true);
}

/**
 * pagoda_gate_enter() - Keep the device from being rebuilt
 * @vidmm: Memory manager
 * @gate: Entry of the caller, on its stack
 * @interruptible: A signal ends the wait
 *
 * Waits for a rebuild that is running or due, and while the machine sleeps.
 *
 * Context: May sleep for long. Outside of all locks.
 * Return: 0 or -ERESTARTSYS.
 */
int pagoda_gate_enter(struct pagoda_vidmm *vidmm, struct pagoda_gate *gate, bool interruptible)
{
	struct pagoda_reset *reset = vidmm->reset;
	int ret;

	gate->task = NULL;
	if (gate_find(reset))
		return 0;
	ret = gate_read(reset, interruptible);
	if (ret)
		return ret;
	gate->task = current;
	gate_note(reset, gate);
	return 0;
}

/**
 * pagoda_gate_try() - pagoda_gate_enter() for callers that must not wait
 * @vidmm: Memory manager
 * @gate: Entry of the caller, on its stack
 *
 * Context: Any but interrupts.
 * Return: true if the caller is inside.
 */
bool pagoda_gate_try(struct pagoda_vidmm *vidmm, struct pagoda_gate *gate)
{
	struct pagoda_reset *reset = vidmm->reset;

	if (!down_read_trylock(&reset->gate))
		return false;
	if (READ_ONCE(reset->shut)) {
		up_read(&reset->gate);
		return false;
	}
	gate->task = current;
	gate_note(reset, gate);
	return true;
}

/**
 * pagoda_gate_leave() - Undo pagoda_gate_enter() or pagoda_gate_try()
 * @vidmm: Memory manager
 * @gate: Entry of the caller
 *
 * Context: The task that entered.
 */
void pagoda_gate_leave(struct pagoda_vidmm *vidmm, struct pagoda_gate *gate)
{
	struct pagoda_reset *reset = vidmm->reset;

	if (!gate->task)
		return;
	gate_forget(reset, gate);
	up_read(&reset->gate);
}

/**
 * pagoda_gate_pause() - Let a rebuild happen while the caller waits for other threads
 * @vidmm: Memory manager
 *
 * Context: Holds no lock that a rebuild takes.
 * Return: Argument for pagoda_gate_resume(); NULL if the caller isn't inside.
 */
struct pagoda_gate *pagoda_gate_pause(struct pagoda_vidmm *vidmm)
{
	struct pagoda_gate *gate = gate_find(vidmm->reset);

	if (gate) {
		gate_forget(vidmm->reset, gate);
		up_read(&vidmm->reset->gate);
	}
	return gate;
}

/**
 * pagoda_gate_resume() - Undo pagoda_gate_pause()
 * @vidmm: Memory manager
 * @gate: From pagoda_gate_pause()
 *
 * Context: May sleep for long; outside of all locks.
 */
void pagoda_gate_resume(struct pagoda_vidmm *vidmm, struct pagoda_gate *gate)
{
	struct pagoda_reset *reset = vidmm->reset;

	if (!gate)
		return;
	do {
		wait_event_state(reset->rebuilt, !READ_ONCE(reset->shut), GATE_SLEEP);
		down_read(&reset->gate);
		if (!READ_ONCE(reset->shut))
			break;
		up_read(&reset->gate);
	} while (true);
	gate_note(reset, gate);
}

/**
 * pagoda_gate_shut() - Keep all threads out until pagoda_gate_open()
 * @vidmm: Memory manager
 *
 * Context: Sleeps until all threads that are inside have left. The caller isn't inside, and no
 * rebuild is due.
 */
void pagoda_gate_shut(struct pagoda_vidmm *vidmm)
{
	struct pagoda_reset *reset = vidmm->reset;

	down_write(&reset->gate);
	WRITE_ONCE(reset->shut, true);
	up_write(&reset->gate);
}

/**
 * pagoda_gate_open() - Undo pagoda_gate_shut()
 * @vidmm: Memory manager; the caller kicks deferred work afterwards
 *
 * Context: May sleep.
 */
void pagoda_gate_open(struct pagoda_vidmm *vidmm)
{
	struct pagoda_reset *reset = vidmm->reset;

	down_write(&reset->gate);
	WRITE_ONCE(reset->shut, false);
	up_write(&reset->gate);
	wake_up_all(&reset->rebuilt);
}
