package job

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// noIndex is the index of a pod without one.
const noIndex = -1

func (u *update) indexed() bool {
	return u.job.Spec.CompletionMode != nil && *u.job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// valid reports whether the Job has that index.
func (u *update) valid(index int) bool { return index >= 0 && index < int(*u.job.Spec.Completions) }

// indexOf returns the index of a pod.
func indexOf(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || n < 0 {
		return noIndex
	}
	return n
}

func sortedIndexes[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }

// indexes are completed indexes, in order.
type indexes []int

func (x indexes) total() int { return len(x) }

func (x indexes) has(n int) bool {
	_, found := slices.BinarySearch(x, n)
	return found
}

// with returns the union with other indexes.
func (x indexes) with(more ...int) indexes {
	all := append(slices.Clone(x), more...)
	slices.Sort(all)
	return slices.Compact(all)
}

// String formats indexes as the status has them (JOB-032): 0,2-4,6,7.
func (x indexes) String() string {
	var parts []string
	for i := 0; i < len(x); {
		j := i
		for j+1 < len(x) && x[j+1] == x[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			parts = append(parts, strconv.Itoa(x[i]))
		case 1:
			parts = append(parts, strconv.Itoa(x[i]), strconv.Itoa(x[j]))
		default:
			parts = append(parts, strconv.Itoa(x[i])+"-"+strconv.Itoa(x[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// parseIndexes reads what String wrote. It drops what is not valid, and indexes from completions on.
func parseIndexes(text string, completions int) indexes {
	var all indexes
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(to); err != nil {
				continue
			}
		}
		for n := first; n <= last && n < completions; n++ {
			all = append(all, n)
		}
	}
	return all.with()
}

// completed returns the completed indexes of the status, and those with the pods that have succeeded since.
func (u *update) completed() (before, done indexes) {
	before = parseIndexes(u.job.Status.CompletedIndexes, int(*u.job.Spec.Completions))
	done = before
	for _, pod := range u.pods {
		if index := indexOf(pod); pod.Status.Phase == corev1.PodSucceeded && u.valid(index) && tracked(pod) {
			done = done.with(index)
		}
	}
	return before, done
}

// pending returns the first n indexes that are neither completed nor failed, and have no pod (JOB-031).
func (u *update) pending(n int) []int {
	taken := u.covered()
	var free []int
	for index := 0; u.valid(index) && len(free) < n; index++ {
		if !taken.has(index) {
			free = append(free, index)
		}
	}
	return free
}
