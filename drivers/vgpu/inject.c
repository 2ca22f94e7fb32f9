// SPDX-License-Identifier: GPL-2.0
/*
 * Misbehaviour on request, for tests of drivers. Not part of the device ABI.
 *
 * A rule is a line written to the debugfs file "inject", words of key=value:
 *
 *	queue=NAME	paging (default) or execN
 *	action=delay us=N		execute N us later; without nth: every request
 *	action=drop			execute, never complete
 *	action=lost_interrupt		complete, never interrupt
 *	action=reorder			complete after the next request
 *	action=fail [packet=N] [middle]	DEVICE_FAILURE at packet or command N (default
 *					0), with middle after half of its effect
 *	action=corrupt field=seqno|status|length|packets|fault value=N
 *	action=hang [packet=N]		stop before packet or command N until the queue
 *					is reset
 *	action=fail_reset		RESET_QUEUE of the queue is refused; with
 *					queue=control RESET_ADAPTER is. nth and count
 *					then refer to such commands
 *	action=late_reset us=N		the queue's thread goes on N microseconds after it
 *					answered its part of a reset
 *	nth=N		the rule applies to the Nth request from now on (default 1)
 *	count=N		the rule applies to N requests from there on (default 1); for fail
 *			and hang: to that request N times, as often as the driver replays it
 *
 * "action=poison on" and "off" switch the poisoning of discarded content;
 * "action=reset" makes the device do a RESET_ADAPTER unasked, and send an event;
 * "action=break" makes the device need a reset, as after a malformed ring;
 * "clear" removes all rules and ends poisoning.
 */
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "vgpu.h"

enum pagoda_inject_action {
	PAGODA_INJECT_NONE,
	PAGODA_INJECT_DELAY,
	PAGODA_INJECT_DROP,
	PAGODA_INJECT_LOST_INTERRUPT,
	PAGODA_INJECT_REORDER,
	PAGODA_INJECT_FAIL,
	PAGODA_INJECT_CORRUPT,
	PAGODA_INJECT_HANG,
	PAGODA_INJECT_POISON,
	PAGODA_INJECT_FAIL_RESET,
	PAGODA_INJECT_LATE_RESET,
	PAGODA_INJECT_RESET,
	PAGODA_INJECT_BREAK,
};

/* What a rule applies to, and counts: requests, resets that begin, or answered parts of resets. */
enum inject_event {
	INJECT_REQUEST,
	INJECT_RESET,
	INJECT_RESET_ANSWERED,
};

static const char *const inject_actions[] = {
	[PAGODA_INJECT_NONE] = "none",
	[PAGODA_INJECT_DELAY] = "delay",
	[PAGODA_INJECT_DROP] = "drop",
	[PAGODA_INJECT_LOST_INTERRUPT] = "lost_interrupt",
	[PAGODA_INJECT_REORDER] = "reorder",
	[PAGODA_INJECT_FAIL] = "fail",
	[PAGODA_INJECT_CORRUPT] = "corrupt",
	[PAGODA_INJECT_HANG] = "hang",
	[PAGODA_INJECT_POISON] = "poison",
	[PAGODA_INJECT_FAIL_RESET] = "fail_reset",
	[PAGODA_INJECT_LATE_RESET] = "late_reset",
	[PAGODA_INJECT_RESET] = "reset",
	[PAGODA_INJECT_BREAK] = "break",
};

static const char *const inject_fields[] = {
	[PAGODA_VGPU_CORRUPT_NOTHING] = "nothing",
	[PAGODA_VGPU_CORRUPT_SEQNO] = "seqno",
	[PAGODA_VGPU_CORRUPT_STATUS] = "status",
	[PAGODA_VGPU_CORRUPT_LENGTH] = "length",
	[PAGODA_VGPU_CORRUPT_PACKETS] = "packets",
	[PAGODA_VGPU_CORRUPT_FAULT] = "fault",
};

/*
 * A rule. Constant while it is on the list, except for @seen, @seqno and @hits, which change under
 * inject_lock.
 */
struct pagoda_injection {
	struct list_head link;
	u32 queue;
	enum pagoda_inject_action action;
	u64 nth;		/* 0 = every request */
	u64 count;
	u32 us;
	u32 packet;
	bool middle;
	bool on;
	enum pagoda_vgpu_corrupt field;
	u64 value;
	u64 seen;		/* requests or resets compared with the rule */
	u64 seqno;		/* fail, hang: first request that was hit */
	u64 hits;
};

/* The longest delay, shorter than the kernel's hung task timeout. */
#define PAGODA_INJECT_MAX_US	(30u * USEC_PER_SEC)

static int inject_queue(struct pagoda_vgpu *vgpu, const char *name, u32 *index)
{
	u32 i;

	for (i = 0; i < vgpu->nr_queues; i++) {
		if (i != VIRTIO_PAGODA_QUEUE_EVENT && !strcmp(vgpu->queues[i].name, name)) {
			*index = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int inject_number(struct pagoda_injection *rule, const char *key, const char *text)
{
	u64 value;

	if (kstrtou64(text, 0, &value))
		return -EINVAL;
	if (!strcmp(key, "nth"))
		rule->nth = value;
	else if (!strcmp(key, "count"))
		rule->count = value;
	else if (!strcmp(key, "value"))
		rule->value = value;
	else if (!strcmp(key, "us") && value <= PAGODA_INJECT_MAX_US)
		rule->us = value;
	else if (!strcmp(key, "packet") && value < PAGODA_ENGINE_NEVER)
		rule->packet = value;
	else
		return -EINVAL;
	return 0;
}

static int inject_word(struct pagoda_vgpu *vgpu, struct pagoda_injection *rule, char *word)
{
	char *value = strchr(word, '=');
	int index;

	if (!value) {
		if (!strcmp(word, "middle"))
			rule->middle = true;
		else if (!strcmp(word, "on"))
			rule->on = true;
		else if (strcmp(word, "off"))
			return -EINVAL;
		return 0;
	}
	*value++ = '\0';
	if (!strcmp(word, "queue"))
		return inject_queue(vgpu, value, &rule->queue);
	if (!strcmp(word, "action")) {
		index = match_string(inject_actions, ARRAY_SIZE(inject_actions), value);
		if (index <= PAGODA_INJECT_NONE)
			return -EINVAL;
		rule->action = index;
		if (rule->action == PAGODA_INJECT_DELAY && rule->nth == 1)
			rule->nth = 0;
		return 0;
	}
	if (!strcmp(word, "field")) {
		index = match_string(inject_fields, ARRAY_SIZE(inject_fields), value);
		if (index <= PAGODA_VGPU_CORRUPT_NOTHING)
			return -EINVAL;
		rule->field = index;
		return 0;
	}
	return inject_number(rule, word, value);
}

static int inject_parse(struct pagoda_vgpu *vgpu, struct pagoda_injection *rule, char *line)
{
	char *word;
	int err;

	rule->queue = VIRTIO_PAGODA_QUEUE_PAGING;
	rule->nth = 1;
	rule->count = 1;
	while ((word = strsep(&line, " \t\n"))) {
		if (!*word)
			continue;
		err = inject_word(vgpu, rule, word);
		if (err)
			return err;
	}
	if (rule->action == PAGODA_INJECT_NONE ||
	    (!rule->nth && rule->action != PAGODA_INJECT_DELAY) ||
	    (rule->queue == VIRTIO_PAGODA_QUEUE_CONTROL &&
	     rule->action != PAGODA_INJECT_FAIL_RESET) ||
	    (rule->field && rule->action != PAGODA_INJECT_CORRUPT) ||
	    (!rule->field && rule->action == PAGODA_INJECT_CORRUPT))
		return -EINVAL;
	return 0;
}

/* Removes all rules and ends the poisoning of discarded content. */
void pagoda_vgpu_inject_clear(struct pagoda_vgpu *vgpu)
{
	struct pagoda_injection *rule, *next;
	LIST_HEAD(rules);

	WRITE_ONCE(vgpu->engine.poison_discarded, false);
	scoped_guard(spinlock, &vgpu->inject_lock)
		list_splice_init(&vgpu->injections, &rules);
	list_for_each_entry_safe(rule, next, &rules, link)
		kfree(rule);
}

/* Carries out an action that takes effect at once. Returns false if @rule has to be kept. */
static bool inject_now(struct pagoda_vgpu *vgpu, const struct pagoda_injection *rule)
{
	switch (rule->action) {
	case PAGODA_INJECT_POISON:
		WRITE_ONCE(vgpu->engine.poison_discarded, rule->on);
		return true;
	case PAGODA_INJECT_RESET:
		pagoda_vgpu_queues_trouble(vgpu, PAGODA_VGPU_RESETS);
		return true;
	case PAGODA_INJECT_BREAK:
		pagoda_vgpu_queues_trouble(vgpu, PAGODA_VGPU_BREAKS);
		return true;
	default:
		return false;
	}
}

/*
 * Carries out @line of the inject file, and modifies it. Returns 0, -ENOMEM, or -EINVAL for a
 * line that isn't valid as a whole.
 */
ssize_t pagoda_vgpu_inject_write(struct pagoda_vgpu *vgpu, char *line)
{
	struct pagoda_injection *rule;
	int err;

	if (sysfs_streq(line, "clear")) {
		pagoda_vgpu_inject_clear(vgpu);
		return 0;
	}
	rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	if (!rule)
		return -ENOMEM;
	err = inject_parse(vgpu, rule, line);
	if (err || inject_now(vgpu, rule)) {
		kfree(rule);
		return err;
	}
	scoped_guard(spinlock, &vgpu->inject_lock)
		list_add_tail(&rule->link, &vgpu->injections);
	return 0;
}

/*
 * Counts this request or reset. Returns whether @rule applies; a rule that fails or hangs a
 * request also applies when the driver replays the request, which keeps its number.
 */
static bool inject_hits(struct pagoda_injection *rule, u64 seqno)
{
	bool replays = rule->action == PAGODA_INJECT_FAIL || rule->action == PAGODA_INJECT_HANG;

	rule->seen++;
	if (!rule->nth)
		return true;
	if (replays && rule->hits)
		return seqno == rule->seqno && rule->hits < rule->count;
	if (replays)
		return rule->seen == rule->nth && rule->count;
	return rule->seen >= rule->nth && rule->seen - rule->nth < rule->count;
}

static void inject_apply(const struct pagoda_injection *rule, struct pagoda_vgpu_mischief *mischief)
{
	switch (rule->action) {
	case PAGODA_INJECT_DELAY:
		mischief->delay_us = rule->us;
		break;
	case PAGODA_INJECT_DROP:
		mischief->drop = true;
		break;
	case PAGODA_INJECT_LOST_INTERRUPT:
		mischief->lost_interrupt = true;
		break;
	case PAGODA_INJECT_REORDER:
		mischief->reorder = true;
		break;
	case PAGODA_INJECT_FAIL:
		mischief->fail_at = rule->packet;
		mischief->fail_middle = rule->middle;
		break;
	case PAGODA_INJECT_CORRUPT:
		mischief->corrupt = rule->field;
		mischief->value = rule->value;
		break;
	case PAGODA_INJECT_HANG:
		mischief->hang_at = rule->packet;
		break;
	case PAGODA_INJECT_FAIL_RESET:
		mischief->fail_reset = true;
		break;
	case PAGODA_INJECT_LATE_RESET:
		mischief->delay_us = rule->us;
		break;
	default:
		break;
	}
}

static enum inject_event inject_event_of(const struct pagoda_injection *rule)
{
	switch (rule->action) {
	case PAGODA_INJECT_FAIL_RESET:
		return INJECT_RESET;
	case PAGODA_INJECT_LATE_RESET:
		return INJECT_RESET_ANSWERED;
	default:
		return INJECT_REQUEST;
	}
}

/* Sets @mischief to what all rules demand that apply to this event of a queue. */
static void inject_look(struct pagoda_vgpu_queue *queue, u64 seqno, enum inject_event event,
			struct pagoda_vgpu_mischief *mischief)
{
	struct pagoda_vgpu *vgpu = queue->vgpu;
	struct pagoda_injection *rule;

	*mischief = (struct pagoda_vgpu_mischief) {
		.fail_at = PAGODA_ENGINE_NEVER,
		.hang_at = PAGODA_ENGINE_NEVER,
	};
	spin_lock(&vgpu->inject_lock);
	list_for_each_entry(rule, &vgpu->injections, link) {
		if (rule->queue != queue->index || inject_event_of(rule) != event ||
		    !inject_hits(rule, seqno))
			continue;
		rule->seqno = seqno;
		rule->hits++;
		inject_apply(rule, mischief);
	}
	spin_unlock(&vgpu->inject_lock);
}

/*
 * Collects the misbehaviour for the next request of a queue; @seqno is the number that the driver
 * gave to the request. Runs in the queue's thread; takes inject_lock.
 */
void pagoda_vgpu_inject_next(struct pagoda_vgpu_queue *queue, u64 seqno,
			     struct pagoda_vgpu_mischief *mischief)
{
	inject_look(queue, seqno, INJECT_REQUEST, mischief);
}

/*
 * Returns whether a reset of the queue, or of the adapter for the control queue, has to be refused.
 * Runs in the control queue's thread; takes inject_lock.
 */
bool pagoda_vgpu_inject_reset(struct pagoda_vgpu_queue *queue)
{
	struct pagoda_vgpu_mischief mischief;

	inject_look(queue, 0, INJECT_RESET, &mischief);
	return mischief.fail_reset;
}

/*
 * Returns the microseconds after which the queue's thread goes on after its answer to a reset. Runs
 * in the queue's thread; takes inject_lock.
 */
u32 pagoda_vgpu_inject_late(struct pagoda_vgpu_queue *queue)
{
	struct pagoda_vgpu_mischief mischief;

	inject_look(queue, 0, INJECT_RESET_ANSWERED, &mischief);
	return mischief.delay_us;
}

/* Lists the rules and the times that each applied. */
void pagoda_vgpu_inject_show(struct pagoda_vgpu *vgpu, struct seq_file *file)
{
	struct pagoda_injection *rule;

	seq_printf(file, "poison %s\n", READ_ONCE(vgpu->engine.poison_discarded) ? "on" : "off");
	spin_lock(&vgpu->inject_lock);
	list_for_each_entry(rule, &vgpu->injections, link)
		seq_printf(file, "queue=%s action=%s nth=%llu count=%llu seen=%llu hits=%llu\n",
			   vgpu->queues[rule->queue].name, inject_actions[rule->action],
			   rule->nth, rule->count, rule->seen, rule->hits);
	spin_unlock(&vgpu->inject_lock);
}
