/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_LIST_H
#define PAGODA_FUZZ_LIST_H

#include <linux/types.h>

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};

#ifndef container_of
#define container_of(at, type, member) ((type *)((char *)(at) - offsetof(type, member)))
#endif
#define list_entry(at, type, member)		container_of(at, type, member)
#define list_first_entry(head, type, member)	list_entry((head)->next, type, member)
#define list_last_entry(head, type, member)	list_entry((head)->prev, type, member)
#define list_for_each_entry(at, head, member) \
	for (at = list_first_entry(head, typeof(*at), member); &at->member != (head); \
	     at = list_entry(at->member.next, typeof(*at), member))

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void __list_link(struct list_head *prev, struct list_head *next)
{
	prev->next = next;
	next->prev = prev;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	__list_link(entry, head->next);
	__list_link(head, entry);
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	__list_link(head->prev, entry);
	__list_link(entry, head);
}

static inline void list_del_init(struct list_head *entry)
{
	__list_link(entry->prev, entry->next);
	INIT_LIST_HEAD(entry);
}

static inline void list_move(struct list_head *entry, struct list_head *head)
{
	__list_link(entry->prev, entry->next);
	list_add(entry, head);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	__list_link(entry->prev, entry->next);
	list_add_tail(entry, head);
}

static inline bool list_is_last(const struct list_head *entry, const struct list_head *head)
{
	return entry->next == head;
}

static inline bool list_is_head(const struct list_head *at, const struct list_head *head)
{
	return at == head;
}

#endif
