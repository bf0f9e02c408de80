package schedule

import "slices"

// podList is a set of pods in the queue. With less it is a heap, whose least pod min returns; without, the pods are in no order.
type podList struct {
	less  func(a, b *queuedPod) bool
	items []*queuedPod
}

func (l *podList) len() int { return len(l.items) }

// min returns the least pod, nil if there is none.
func (l *podList) min() *queuedPod {
	if len(l.items) == 0 {
		return nil
	}
	return l.items[0]
}

func (l *podList) add(item *queuedPod) {
	l.items = append(l.items, item)
	item.at = len(l.items) - 1
	l.rise(item)
}

func (l *podList) remove(item *queuedPod) {
	at, n := item.at, len(l.items)-1
	last := l.items[n]
	l.items[n] = nil
	l.items = l.items[:n]
	if item == last {
		return
	}
	l.items[at], last.at = last, at
	l.sink(last)
}

// rise moves a pod towards the front until none before it is greater.
func (l *podList) rise(item *queuedPod) {
	for l.less != nil && item.at > 0 {
		parent := l.items[(item.at-1)/2]
		if !l.less(item, parent) {
			return
		}
		l.swap(item, parent)
	}
}

// sink moves a pod towards the end. It goes the whole way, and rises from there: the pod was the last one, and seldom belongs elsewhere.
func (l *podList) sink(item *queuedPod) {
	for l.less != nil && 2*item.at+1 < len(l.items) {
		child := l.items[2*item.at+1]
		if right := 2*item.at + 2; right < len(l.items) && l.less(l.items[right], child) {
			child = l.items[right]
		}
		l.swap(item, child)
	}
	l.rise(item)
}

func (l *podList) swap(a, b *queuedPod) {
	a.at, b.at = b.at, a.at
	l.items[a.at], l.items[b.at] = a, b
}

// sorted returns the pods by less.
func (l *podList) sorted(less func(a, b *queuedPod) bool) []*queuedPod {
	items := slices.Clone(l.items)
	sortPods(items, less)
	return items
}

func sortPods(items []*queuedPod, less func(a, b *queuedPod) bool) {
	slices.SortFunc(items, func(a, b *queuedPod) int {
		switch {
		case a == b:
			return 0
		case less(a, b):
			return -1
		}
		return 1
	})
}
