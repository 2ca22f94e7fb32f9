// SPDX-License-Identifier: GPL-2.0
/*
 * A network simplex for flows along a line. Node t begins time t, which is the arc of the line to
 * the next node; a stay is an arc from the node that begins its first time to the node that ends
 * its last. At each time as many bytes flow as there is room: along the stays, for which they gain
 * something, or along the line, for nothing. The basis is a spanning tree, at first the line
 * itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "simulate_flow.h"

#define NO_NODE		UINT32_MAX

/* Most pivots per arc: then prices are taken as they are, because any prices give a bound. */
#define PATIENCE	64

/*
 * @capacity: most bytes of flow, UINT64_MAX = no limit, on the line; @gain: per byte, 0 on the line
 * @in_tree: the arc is in the spanning tree
 */
struct arc {
	uint32_t from;
	uint32_t to;
	uint64_t capacity;
	uint64_t flow;
	int64_t gain;
	bool in_tree;
};

/*
 * A node of the spanning tree. @child: the first one; @next, @previous: siblings.
 * @arc: index of the arc between the node and @parent; @down: the arc leads from @parent to node
 * @potential: what a byte gains on its way from the root to the node, negated
 */
struct node {
	uint32_t parent;
	uint32_t child;
	uint32_t next;
	uint32_t previous;
	uint32_t arc;
	uint32_t depth;
	int64_t potential;
	bool down;
};

struct flow {
	struct arc *arcs;
	struct node *nodes;
	uint32_t *stack;
	uint32_t nr_arcs;
	uint32_t nr_nodes;
};

/*
 * What limits the flow along a cycle. @bytes: most that can flow
 * @node: the arc between the node and its parent has that limit; NO_NODE = the arc that enters has
 * @at_source: @node is on the source's side of the cycle
 */
struct limit {
	uint64_t bytes;
	uint32_t node;
	bool at_source;
};

/* Returns what one byte more along the arc loses; less than 0 if it gains. */
static int64_t loss(const struct flow *f, const struct arc *arc)
{
	return f->nodes[arc->from].potential - f->nodes[arc->to].potential - arc->gain;
}

static void attach(struct flow *f, uint32_t node, uint32_t parent, uint32_t arc)
{
	struct node *n = &f->nodes[node];

	n->parent = parent;
	n->arc = arc;
	n->down = f->arcs[arc].from == parent;
	n->previous = NO_NODE;
	n->next = f->nodes[parent].child;
	if (n->next != NO_NODE)
		f->nodes[n->next].previous = node;
	f->nodes[parent].child = node;
}

static void detach(struct flow *f, uint32_t node)
{
	struct node *n = &f->nodes[node];

	if (n->next != NO_NODE)
		f->nodes[n->next].previous = n->previous;
	if (n->previous != NO_NODE)
		f->nodes[n->previous].next = n->next;
	else
		f->nodes[n->parent].child = n->next;
}

/*
 * Hangs the subtree of @top, which leaves its parent, below @parent: by @arc, at @node, which
 * becomes the root of the subtree.
 */
static void hang(struct flow *f, uint32_t node, uint32_t top, uint32_t parent, uint32_t arc)
{
	while (true) {
		uint32_t old_parent = f->nodes[node].parent, old_arc = f->nodes[node].arc;

		detach(f, node);
		attach(f, node, parent, arc);
		if (node == top)
			return;
		parent = node;
		arc = old_arc;
		node = old_parent;
	}
}

/* Sets depth and potential of a node and of all below it, from those of its parent. */
static void refresh(struct flow *f, uint32_t node)
{
	uint32_t count = 0, child;

	f->stack[count++] = node;
	while (count) {
		struct node *n = &f->nodes[f->stack[--count]];
		const struct node *parent = &f->nodes[n->parent];
		int64_t gain = f->arcs[n->arc].gain;

		n->depth = parent->depth + 1;
		n->potential = parent->potential + (n->down ? -gain : gain);
		for (child = n->child; child != NO_NODE; child = f->nodes[child].next)
			f->stack[count++] = child;
	}
}

static uint32_t meet(const struct flow *f, uint32_t a, uint32_t b)
{
	while (a != b) {
		if (f->nodes[a].depth >= f->nodes[b].depth)
			a = f->nodes[a].parent;
		else
			b = f->nodes[b].parent;
	}
	return a;
}

/*
 * Returns how many bytes more may flow between a node and its parent: to the node if @to_node, else
 * to the parent.
 */
static uint64_t slack(const struct flow *f, const struct node *n, bool to_node)
{
	const struct arc *arc = &f->arcs[n->arc];

	if (to_node != n->down)
		return arc->flow;
	return arc->capacity == UINT64_MAX ? UINT64_MAX : arc->capacity - arc->flow;
}

static void find_limit(const struct flow *f, uint32_t source, uint32_t target, uint32_t top,
		       struct limit *limit)
{
	uint32_t at;
	uint64_t bytes;

	for (at = source; at != top; at = f->nodes[at].parent) {
		bytes = slack(f, &f->nodes[at], true);
		if (bytes < limit->bytes)
			*limit = (struct limit){ bytes, at, true };
	}
	for (at = target; at != top; at = f->nodes[at].parent) {
		bytes = slack(f, &f->nodes[at], false);
		if (bytes <= limit->bytes)
			*limit = (struct limit){ bytes, at, false };
	}
}

static void push(struct flow *f, uint32_t from, uint32_t top, uint64_t bytes, bool to_node)
{
	for (; from != top; from = f->nodes[from].parent) {
		struct node *n = &f->nodes[from];

		if (to_node == n->down)
			f->arcs[n->arc].flow += bytes;
		else
			f->arcs[n->arc].flow -= bytes;
	}
}

/*
 * Sends as many bytes as the cycle with the tree allows along an arc that isn't in the tree, or
 * back if the arc is full. The arc replaces the arc of the tree that allows no more, if any does.
 */
static void pivot(struct flow *f, uint32_t entering)
{
	struct arc *arc = &f->arcs[entering];
	bool back = arc->flow > 0;
	uint32_t source = back ? arc->to : arc->from, target = back ? arc->from : arc->to;
	uint32_t top = meet(f, source, target);
	struct limit limit = { arc->capacity, NO_NODE };

	find_limit(f, source, target, top, &limit);
	push(f, source, top, limit.bytes, true);
	push(f, target, top, limit.bytes, false);
	arc->flow = back ? arc->flow - limit.bytes : arc->flow + limit.bytes;
	if (limit.node == NO_NODE)
		return;
	f->arcs[f->nodes[limit.node].arc].in_tree = false;
	arc->in_tree = true;
	if (!limit.at_source) {
		uint32_t other = source;

		source = target;
		target = other;
	}
	hang(f, source, limit.node, target, entering);
	refresh(f, source);
}

static bool gains(const struct flow *f, const struct arc *arc)
{
	if (arc->in_tree)
		return false;
	return arc->flow ? loss(f, arc) > 0 : loss(f, arc) < 0;
}

/*
 * Pivots the arc of each block that gains most; ends after a round in which no arc gains, or after
 * PATIENCE pivots per arc.
 */
static void improve(struct flow *f)
{
	uint64_t pivots = 0, patience = (uint64_t)PATIENCE * f->nr_arcs;
	uint32_t block = f->nr_arcs / 16 + 32, at = 0, idle = 0, n, best;

	while (idle < f->nr_arcs && pivots < patience) {
		int64_t most = 0;

		for (n = 0, best = UINT32_MAX; n < block; n++) {
			if (gains(f, &f->arcs[at]) && llabs(loss(f, &f->arcs[at])) > most) {
				most = llabs(loss(f, &f->arcs[at]));
				best = at;
			}
			at = at + 1 < f->nr_arcs ? at + 1 : 0;
		}
		idle += block;
		if (best == UINT32_MAX)
			continue;
		pivot(f, best);
		pivots++;
		idle = 0;
	}
}

static void set_up(struct flow *f, const struct sim_stay *stays, size_t count,
		   const uint64_t *room, uint32_t times)
{
	uint32_t t;
	size_t n;

	for (t = 0; t <= times; t++)
		f->nodes[t] = (struct node){ .parent = NO_NODE, .child = NO_NODE, .next = NO_NODE,
					     .previous = NO_NODE };
	for (t = 0; t < times; t++) {
		f->arcs[t] = (struct arc){ .from = t, .to = t + 1, .capacity = UINT64_MAX,
					   .flow = room[t], .in_tree = true };
		attach(f, t + 1, t, t);
	}
	for (n = 0; n < count; n++)
		f->arcs[times + n] = (struct arc){ .from = stays[n].first, .to = stays[n].end,
						   .capacity = stays[n].bytes,
						   .gain = stays[n].gain };
	if (times)
		refresh(f, 1);
}

int sim_flow_prices(const struct sim_stay *stays, size_t count, const uint64_t *room,
		    uint32_t times, int64_t *prices)
{
	struct flow f = { .nr_arcs = times + count, .nr_nodes = times + 1 };
	uint32_t t;
	int ret = 0;

	f.arcs = calloc(f.nr_arcs + 1ul, sizeof(*f.arcs));
	f.nodes = calloc(f.nr_nodes, sizeof(*f.nodes));
	f.stack = calloc(f.nr_nodes, sizeof(*f.stack));
	if (f.arcs && f.nodes && f.stack) {
		set_up(&f, stays, count, room, times);
		improve(&f);
		for (t = 0; t < times; t++) {
			prices[t] = f.nodes[t].potential - f.nodes[t + 1].potential;
			if (prices[t] < 0)
				prices[t] = 0;
		}
	} else {
		ret = -ENOMEM;
	}
	free(f.arcs);
	free(f.nodes);
	free(f.stack);
	return ret;
}
