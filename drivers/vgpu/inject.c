// SPDX-License-Identifier: GPL-2.0
/*
 * Misbehaviour that a test asks for, to test drivers. Not part of the device ABI.
 *
 * A rule is a line of key=value words, written to the debugfs file "inject":
 *
 *	queue=NAME	queue that the rule applies to: paging (default) or execN; control
 *			for fail_reset only
 *	action=delay us=N		execute a request N us later; without nth: every
 *					request
 *	action=drop			execute a request, but don't complete it before a reset
 *	action=lost_interrupt		complete a request without an interrupt
 *	action=reorder			complete a request after the next request
 *	action=fail [packet=N] [middle]	DEVICE_FAILURE at packet or command N (default
 *					0), with middle after half of its effect, as far
 *					as it has halves
 *	action=corrupt field=seqno|status|length|packets|fault value=N
 *					complete a request with N in that field
 *	action=hang [packet=N]		stop before packet or command N until the queue
 *					is reset
 *	action=fail_reset		refuse RESET_QUEUE of the queue, or with
 *					queue=control RESET_ADAPTER; count and nth
 *					number these commands instead of requests
 *	action=late_reset us=N		the queue's thread sleeps for N microseconds after
 *					it answered its part of a reset; count and nth
 *					number these answers instead of requests
 *	nth=N		the rule applies to the Nth request since the rule was written (default 1)
 *	count=N		the rule applies to N requests from the nth on (default 1); for fail
 *			and hang: to the nth request only, the first N times that it is sent
 *
 * "action=poison on" has DISCARD_CONTENT overwrite the discarded VRAM, "action=poison off" doesn't;
 * "action=reset" has the device carry out a RESET_ADAPTER unasked, and send an event;
 * "action=break" has the device need a reset by the driver, as after a malformed ring; a reset or
 * break is refused (EBUSY) while the device hasn't begun with the one before, and (ENODEV) if no
 * driver uses the device; "clear" removes all rules and ends poisoning.
 */
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "vgpu.h"

/* Value of &pagoda_injection.nth while a line is parsed in which no nth= was found yet. */
#define NTH_UNSAID	U64_MAX

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

/*
 * What a rule applies to and counts: requests to be executed, reset commands to be carried out, or
 * answers of a queue's thread to a reset.
 */
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
 * A rule of misbehaviour. Constant while the rule is in vgpu->injections, except for @seen, @seqno
 * and @hits, which change under inject_lock.
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
	u64 seen;		/* number of the rule's events since the rule was written */
	u64 seqno;		/* fail, hang: number of the request that was hit */
	u64 hits;		/* number of times that the rule has applied */
};

/* The longest delay in microseconds, shorter than the default of the hung task timeout. */
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
	rule->nth = NTH_UNSAID;
	rule->count = 1;
	while ((word = strsep(&line, " \t\n"))) {
		if (!*word)
			continue;
		err = inject_word(vgpu, rule, word);
		if (err)
			return err;
	}
	if (rule->nth == NTH_UNSAID)
		rule->nth = rule->action == PAGODA_INJECT_DELAY ? 0 : 1;
	if (rule->action == PAGODA_INJECT_NONE ||
	    (!rule->nth && rule->action != PAGODA_INJECT_DELAY) ||
	    (rule->queue == VIRTIO_PAGODA_QUEUE_CONTROL &&
	     rule->action != PAGODA_INJECT_FAIL_RESET) ||
	    (rule->field && rule->action != PAGODA_INJECT_CORRUPT) ||
	    (!rule->field && rule->action == PAGODA_INJECT_CORRUPT))
		return -EINVAL;
	return 0;
}

/* Removes all rules, and ends poisoning: DISCARD_CONTENT doesn't overwrite VRAM any more. */
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

/* Returns whether a rule's action takes effect at once, so that the rule isn't kept. */
static bool inject_is_now(const struct pagoda_injection *rule)
{
	return rule->action == PAGODA_INJECT_POISON || rule->action == PAGODA_INJECT_RESET ||
	       rule->action == PAGODA_INJECT_BREAK;
}

/*
 * Carries out a rule for which inject_is_now() returns true. Returns 0 or the error of
 * pagoda_vgpu_queues_trouble().
 */
static int inject_now(struct pagoda_vgpu *vgpu, const struct pagoda_injection *rule)
{
	if (rule->action == PAGODA_INJECT_RESET)
		return pagoda_vgpu_queues_trouble(vgpu, PAGODA_VGPU_RESETS);
	if (rule->action == PAGODA_INJECT_BREAK)
		return pagoda_vgpu_queues_trouble(vgpu, PAGODA_VGPU_BREAKS);
	WRITE_ONCE(vgpu->engine.poison_discarded, rule->on);
	return 0;
}

/*
 * Carries out @line, which was written to the debugfs file "inject", or keeps it as a rule;
 * modifies @line. Returns 0; or an error, and the line has no effect: -EINVAL if it is invalid,
 * -ENOMEM, or that of inject_now().
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
	if (err || inject_is_now(rule)) {
		err = err ?: inject_now(vgpu, rule);
		kfree(rule);
		return err;
	}
	scoped_guard(spinlock, &vgpu->inject_lock)
		list_add_tail(&rule->link, &vgpu->injections);
	return 0;
}

/*
 * Counts an event (enum inject_event) in rule->seen and returns whether @rule applies to the event.
 * A rule that fails or hangs a request also applies when the driver sends the request again, with
 * the same @seqno, until the rule has applied rule->count times.
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

/*
 * Counts an event of @queue in each rule of this queue for events of the kind @event, and stores in
 * @mischief the misbehaviour of the rules that apply, or no misbehaviour.
 */
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
 * Counts the next request of a queue in the queue's rules, and stores in @mischief the misbehaviour
 * of the rules that apply; @seqno is the number that the driver gave to the request. Runs in the
 * queue's thread; takes inject_lock.
 */
void pagoda_vgpu_inject_next(struct pagoda_vgpu_queue *queue, u64 seqno,
			     struct pagoda_vgpu_mischief *mischief)
{
	inject_look(queue, seqno, INJECT_REQUEST, mischief);
}

/*
 * Counts a RESET_QUEUE of @queue, or a RESET_ADAPTER if @queue is the control queue, in the
 * queue's rules with fail_reset, and returns whether one of these rules refuses the command. Runs
 * in the control queue's thread; takes inject_lock.
 */
bool pagoda_vgpu_inject_reset(struct pagoda_vgpu_queue *queue)
{
	struct pagoda_vgpu_mischief mischief;

	inject_look(queue, 0, INJECT_RESET, &mischief);
	return mischief.fail_reset;
}

/*
 * Counts an answer of the queue's thread to a reset in the queue's rules with late_reset, and
 * returns for how many microseconds the thread has to sleep after the answer; 0 if no rule applies.
 * Runs in the queue's thread; takes inject_lock.
 */
u32 pagoda_vgpu_inject_late(struct pagoda_vgpu_queue *queue)
{
	struct pagoda_vgpu_mischief mischief;

	inject_look(queue, 0, INJECT_RESET_ANSWERED, &mischief);
	return mischief.delay_us;
}

/* Writes to @file whether poisoning is on, all rules, and how often each rule has applied. */
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
