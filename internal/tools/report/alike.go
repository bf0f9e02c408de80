package report

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/volsim/volsim/explain"
)

// alike is a group of explanations that differ only in their objects.
type alike []*explain.Explanation

// manyAlike is the number of explanations from which a group is written once, and maxNames the number of names that are then written.
const manyAlike, maxNames = 5, 3

// groupAlike returns the explanations in groups, in the order of the first of each.
func groupAlike(all []explain.Explanation) []alike { return mergeAlike(groupEqual(all)) }

// groupEqual groups the explanations without related objects that are equal but for their objects. It is fast for very many.
func groupEqual(all []explain.Explanation) []alike {
	type words struct{ phase, rule, why, change string }
	var groups []alike
	same := map[words][]int{} // the groups with these words
next:
	for i := range all {
		x := &all[i]
		if len(x.Related) > 0 {
			groups = append(groups, alike{x})
			continue
		}
		key := words{x.Phase, x.Rule, x.Why, x.Changes.Text}
		for _, at := range same[key] {
			if isAlike(groups[at][0], x) {
				groups[at] = append(groups[at], x)
				continue next
			}
		}
		same[key] = append(same[key], len(groups))
		groups = append(groups, alike{x})
	}
	return groups
}

// mergeAlike merges groups whose texts differ only in the names of their objects, which include the related ones, and in times.
func mergeAlike(groups []alike) []alike {
	if len(groups) < manyAlike {
		return groups
	}
	at := map[string]int{}
	merged := groups[:0:0]
	for _, g := range groups {
		text := withoutNames(g[0])
		i, known := at[text]
		if !known {
			at[text] = len(merged)
			merged = append(merged, slices.Clip(g))
			continue
		}
		merged[i] = append(merged[i], g...)
	}
	return merged
}

// moments matches points in time, and the time until then.
var moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\(in [0-9hms]+\)|\bsince \d\d:\d\d\b|next by \d\d:\d\d:\d\d`)

// withoutNames returns the text of an explanation with a sign in place of each name of its objects, and of times.
func withoutNames(x *explain.Explanation) string {
	var names []string
	var add func(x *explain.Explanation)
	add = func(x *explain.Explanation) {
		_, key, _ := strings.Cut(x.Object, "/")
		_, name, namespaced := strings.Cut(key, "/")
		if !namespaced {
			name = key
		}
		names = append(names, name)
		for i := range x.Related {
			add(&x.Related[i])
		}
	}
	add(x)
	pairs := make([]string, 0, 2*len(names))
	for i, name := range names {
		pairs = append(pairs, name, fmt.Sprintf("<%d>", i))
	}
	return strings.NewReplacer(pairs...).Replace(moments.ReplaceAllString(x.String(), "<time>"))
}

// isAlike reports whether two explanations differ only in their objects. Candidates count as equal if they are shared.
func isAlike(a, b *explain.Explanation) bool {
	if len(a.Candidates) != len(b.Candidates) || len(a.Candidates) > 0 && &a.Candidates[0] != &b.Candidates[0] {
		return false
	}
	x, y := *a, *b
	x.Object, y.Object, x.Candidates, y.Candidates = "", "", nil, nil
	return reflect.DeepEqual(x, y)
}

// String returns the texts of the explanations. A large group has the text of the first, and the names of the others.
func (g alike) String() string {
	if len(g) < manyAlike {
		texts := make([]string, len(g))
		for i, x := range g {
			texts[i] = x.String()
		}
		return strings.Join(texts, "\n\n")
	}
	var names []string
	for _, x := range g[1 : 1+maxNames] {
		names = append(names, x.Object)
	}
	text := strings.Join(names, ", ")
	if more := len(g) - 1 - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s\n  the same   for %d others: %s", g[0], len(g)-1, text)
}
