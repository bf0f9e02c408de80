package conformance_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/conformance"
)

// Limits of TestAlteredNodes: changes of each sort per scenario, and in all.
const (
	changesEach = 2
	changesAll  = 30
)

// alteration runs a scenario once, and compares it with altered recordings.
type alteration struct {
	t        *testing.T
	scenario conformance.NodeScenario
	got      []conformance.NodeObservation
	made     map[string]int // changes of each sort in this scenario
	all      map[string]int // and in all of them
}

// TestAlteredNodes alters node recordings, one value at a time; none of the altered recordings may pass.
func TestAlteredNodes(t *testing.T) {
	docs, err := conformance.ReadLines[map[string]any]("testdata/node.jsonl.gz")
	require.NoError(t, err)
	all := map[string]int{}
	for _, doc := range docs {
		s := decode[conformance.NodeScenario](t, doc)
		a := &alteration{t: t, scenario: s, made: map[string]int{}, all: all}
		compared := conformance.Compared(s.Steps, s.Observations)
		for i := range s.Steps {
			// An Event after a step that is not compared could as well have come before it.
			if !compared[i] || i > 0 && !compared[i-1] {
				continue
			}
			a.alterState(i, doc["observations"].([]any)[i].(map[string]any))
			a.alterCalls(i)
		}
	}
	for _, sort := range []string{
		".atMs", ".nodes.*.exists", ".nodes.*.ready", ".nodes.*.volumesAttached[]", ".nodes.*.volumesInUse[]", ".nodes.*.staged[]",
		".nodes.*.published[]", ".nodes.* gone", ".nodes more", ".pods.*.phase", ".pods.*.deleting", ".pods.*.mounted.*",
		".pods.* more deleting", ".pods more", ".volumeAttachments[].node", ".volumeAttachments[].pv", ".volumeAttachments[].attached",
		".volumeAttachments[].deleting", ".volumeAttachments[].attachError", ".volumeAttachments[] more detachError",
		".volumeAttachments[] gone", ".events[][]", ".events[] gone", ".events more",
		"call of calls", "volume of calls", "node of calls", "pod of calls", "result of calls", "calls gone", "calls more",
		"times too early", "times too late", "times missing", "order reversed", "order of no calls",
	} {
		if all[sort] == 0 {
			t.Errorf("nothing was altered: %s", sort)
		}
	}
}

// try compares with another observation of step i.
func (a *alteration) try(sort string, i int, what string, observation func() conformance.NodeObservation) {
	if a.made[sort] >= changesEach || a.all[sort] >= changesAll {
		return
	}
	a.made[sort]++
	a.all[sort]++
	if a.got == nil {
		got, err := a.scenario.Run(conformance.Options{})
		require.NoError(a.t, err, a.scenario.Name)
		require.Empty(a.t, a.scenario.Check(got), a.scenario.Name)
		a.got = got
	}
	altered := slices.Clone(a.scenario.Observations)
	altered[i] = observation()
	if len(conformance.CompareNodes(a.scenario.Steps, altered, a.got)) == 0 {
		a.t.Errorf("%s: passes with observations[%d]%s altered", a.scenario.Name, i, what)
	}
}

// moreOf lists optional fields of an observed object, and what may be added to maps and lists.
var moreOf = map[string]map[string]any{
	".nodes":               {"none": map[string]any{"exists": true}},
	".pods":                {"default/none": map[string]any{"phase": "Pending"}},
	".pods.*":              {"deleting": true},
	".pods.*.mounted":      {"none": true},
	".volumeAttachments[]": {"deleting": true, "attachError": true, "detachError": true},
}

var nameIn = regexp.MustCompile(`^(\.pods\.\*\.mounted|\.nodes|\.pods)\.[^. ]+`)

// sortOf returns the path of a value, without indexes and names.
func sortOf(path string) string {
	path = index.ReplaceAllString(path, "[]")
	for range 2 {
		path = nameIn.ReplaceAllString(path, "$1.*")
	}
	return path
}

// alterState alters everything in an observation except its calls.
func (a *alteration) alterState(i int, doc map[string]any) {
	walk(doc, "", func(path string, node any, set func(any)) {
		if strings.HasPrefix(path, ".call") || strings.HasPrefix(path, ".marginMs") {
			return
		}
		sort := sortOf(path)
		try := func(change string, v any) {
			name := sort
			if change != "" {
				name += " " + strings.Fields(change)[0]
				if more, ok := strings.CutPrefix(change, "more "); ok && sort != ".nodes" && sort != ".pods" && sort != ".pods.*.mounted" {
					name += " " + more
				}
			}
			a.try(name, i, path+" "+change, func() conformance.NodeObservation {
				set(v)
				defer set(node)
				return decode[conformance.NodeObservation](a.t, doc)
			})
		}
		switch value := node.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				// False fields and empty lists may as well be absent.
				if v := reflect.ValueOf(value[key]); v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
					continue
				}
				less := maps.Clone(value)
				delete(less, key)
				a.try(sortOf(path+"."+key)+" gone", i, path+" without "+key, func() conformance.NodeObservation {
					set(less)
					defer set(node)
					return decode[conformance.NodeObservation](a.t, doc)
				})
			}
			for _, key := range slices.Sorted(maps.Keys(moreOf[sort])) {
				if _, has := value[key]; !has {
					more := maps.Clone(value)
					more[key] = moreOf[sort][key]
					try("more "+key, more)
				}
			}
		case []any:
			for j := range value {
				a.try(sort+"[] gone", i, fmt.Sprintf("%s without [%d]", path, j), func() conformance.NodeObservation {
					set(slices.Delete(slices.Clone(value), j, j+1))
					defer set(node)
					return decode[conformance.NodeObservation](a.t, doc)
				})
			}
			var more any = "none"
			switch sort {
			case ".events":
				more = []any{"Pod", "default/none", "Normal", "None"}
			case ".volumeAttachments":
				more = map[string]any{"node": "none"}
			}
			try("more", append(slices.Clone(value), more))
		default:
			try("", altered(path, value))
		}
	})
}

// alterCalls alters the calls of an observation, their times and their order.
func (a *alteration) alterCalls(i int) {
	recorded := a.scenario.Observations[i]
	// copied returns the observation with lists that may be changed.
	try := func(sort, what string, change func(o *conformance.NodeObservation)) {
		a.try(sort, i, what, func() conformance.NodeObservation {
			o := recorded
			o.Calls, o.CallTimesMs, o.CallOrder = slices.Clone(o.Calls), slices.Clone(o.CallTimesMs), slices.Clone(o.CallOrder)
			change(&o)
			return o
		})
	}
	slack := int(conformance.Slack.Milliseconds())
	for j, c := range recorded.Calls {
		what := fmt.Sprintf(".calls[%d]", j)
		for _, field := range []struct {
			name string
			of   func(*conformance.NodeCall) *string
		}{
			{"call", func(c *conformance.NodeCall) *string { return &c.Call }},
			{"volume", func(c *conformance.NodeCall) *string { return &c.Volume }},
			{"node", func(c *conformance.NodeCall) *string { return &c.Node }},
			{"pod", func(c *conformance.NodeCall) *string { return &c.Pod }},
			{"result", func(c *conformance.NodeCall) *string { return &c.Result }},
		} {
			try(field.name+" of calls", what, func(o *conformance.NodeObservation) { *field.of(&o.Calls[j]) += "x" })
		}
		try("calls gone", what, func(o *conformance.NodeObservation) {
			o.Calls, o.CallTimesMs = slices.Delete(o.Calls, j, j+1), slices.Delete(o.CallTimesMs, j, j+1)
			o.CallOrder = nil
		})
		try("calls more", what, func(o *conformance.NodeObservation) {
			o.Calls, o.CallTimesMs = append(o.Calls, c), append(o.CallTimesMs, o.CallTimesMs[j])
		})
		times := recorded.CallTimesMs[j]
		width := times[1] - times[0] + 2*slack + 1
		try("times too early", what, func(o *conformance.NodeObservation) {
			o.CallTimesMs[j] = conformance.Pair{times[0] - width, times[1] - width}
		})
		try("times too late", what, func(o *conformance.NodeObservation) {
			o.CallTimesMs[j] = conformance.Pair{times[0] + width, times[1] + width}
		})
		try("times missing", what, func(o *conformance.NodeObservation) {
			o.CallTimesMs = slices.Delete(o.CallTimesMs, j, j+1)
		})
	}
	for j, pair := range recorded.CallOrder {
		what := fmt.Sprintf(".callOrder[%d]", j)
		try("order reversed", what, func(o *conformance.NodeObservation) { o.CallOrder[j] = conformance.Pair{pair[1], pair[0]} })
		try("order of no calls", what, func(o *conformance.NodeObservation) { o.CallOrder[j][1] = len(o.Calls) })
	}
}
