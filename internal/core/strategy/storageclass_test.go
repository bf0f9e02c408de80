package strategy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/strategy/sample"
)

// many is a map of n entries.
func many(n int) map[string]string {
	m := make(map[string]string, n)
	for i := range n {
		m[fmt.Sprint("k", i)] = ""
	}
	return m
}

// topologies makes terms of lists of "key=value,value" expressions.
func topologies(terms ...[]string) func(*storageClass) {
	return func(class *storageClass) {
		class.AllowedTopologies = make([]corev1.TopologySelectorTerm, len(terms))
		for i, expressions := range terms {
			for _, expression := range expressions {
				key, values, _ := strings.Cut(expression, "=")
				req := corev1.TopologySelectorLabelRequirement{Key: key}
				if values != "" {
					req.Values = strings.Split(values, ",")
				}
				class.AllowedTopologies[i].MatchLabelExpressions = append(class.AllowedTopologies[i].MatchLabelExpressions, req)
			}
		}
	}
}

var classRows = []row[*storageClass]{
	{"API-160", "no provisioner", func(c *storageClass) { c.Provisioner = "" }, "provisioner R"},
	{"API-160", "bad provisioner", func(c *storageClass) { c.Provisioner = "a/b/c" }, "provisioner I"},
	{"API-160", "a provisioner in capitals is fine", func(c *storageClass) { c.Provisioner = "Example.COM/Disk" }, ""},
	{"API-161", "no parameters", func(c *storageClass) { c.Parameters = nil }, ""},
	{"API-161", "512 parameters", func(c *storageClass) { c.Parameters = many(512) }, ""},
	{"API-161", "too many, and too long", func(c *storageClass) {
		c.Parameters = many(513)
		c.Parameters[""] = strings.Repeat("x", 256<<10)
	}, "parameters L"},
	{"API-161", "too long, and nameless", func(c *storageClass) { c.Parameters = map[string]string{"": strings.Repeat("x", 256<<10+1)} },
		"parameters I; parameters L"},
	{"API-162", "recycling", func(c *storageClass) { c.ReclaimPolicy = new(corev1.PersistentVolumeReclaimRecycle) }, "reclaimPolicy N"},
	{"API-162", "retaining", func(c *storageClass) { c.ReclaimPolicy = new(corev1.PersistentVolumeReclaimRetain) }, ""},
	{"API-162", "an empty policy", func(c *storageClass) { c.ReclaimPolicy = new(corev1.PersistentVolumeReclaimPolicy("")) }, ""},
	{"API-163", "unknown mode", func(c *storageClass) { c.VolumeBindingMode = new(storagev1.VolumeBindingMode("Later")) },
		"volumeBindingMode N"},
	{"API-163", "an empty mode", func(c *storageClass) { c.VolumeBindingMode = new(storagev1.VolumeBindingMode("")) }, "volumeBindingMode N"},
	{"API-163", "waiting", func(c *storageClass) { c.VolumeBindingMode = new(storagev1.VolumeBindingWaitForFirstConsumer) }, ""},
	{"API-164", "no values", topologies([]string{"zone="}), "allowedTopologies[0].matchLabelExpressions[0].values R"},
	{"API-164", "a value twice", topologies([]string{"zone=a,b,a"}), "allowedTopologies[0].matchLabelExpressions[0].values[2] D"},
	{"API-164", "bad key", topologies([]string{"a/b/c=x"}), "allowedTopologies[0].matchLabelExpressions[0].key I"},
	{"API-164", "a key twice", topologies([]string{"zone=a", "zone=b"}), "allowedTopologies[0].matchLabelExpressions[1].key D"},
	{"API-165", "a term twice", topologies([]string{"zone=a,b", "rack=1"}, []string{"zone=a"}, []string{"rack=1", "zone=b,a"}),
		"allowedTopologies[2].matchLabelExpressions D"},
	{"API-165", "a term without expressions", topologies(nil), "allowedTopologies[0].matchLabelExpressions D"},
	{"API-165", "two terms", topologies([]string{"zone=a"}, []string{"zone=b"}), ""},
	{"API-166", "any option", func(c *storageClass) { c.MountOptions, c.AllowVolumeExpansion = []string{""}, new(true) }, ""},
	{"API-093", "good", func(*storageClass) {}, ""},
}

func TestClassCreate(t *testing.T) {
	checkCreates(t, StorageClass, sample.Class, classRows)
	class := &storageClass{}
	defaultClass(class)
	want := &storageClass{ReclaimPolicy: new(corev1.PersistentVolumeReclaimDelete), VolumeBindingMode: new(storagev1.VolumeBindingImmediate)}
	if diff := cmp.Diff(want, class); diff != "" {
		t.Errorf("API-093: defaults: -want +got\n%s", diff)
	}
	if got := sample.Faults(validateClass(&storageClass{Provisioner: "a"})); got != "volumeBindingMode R" {
		t.Errorf("API-163: without defaults: %q, want the mode to be missing", got)
	}
}

var classChanges = []change[*storageClass]{
	{rule: "API-230", name: "what makes a volume", after: func(c *storageClass) {
		c.Parameters, c.Provisioner = nil, "other.example.com"
		c.ReclaimPolicy, c.VolumeBindingMode = new(corev1.PersistentVolumeReclaimRetain), new(storagev1.VolumeBindingWaitForFirstConsumer)
	}, want: "parameters I; provisioner I; reclaimPolicy I; volumeBindingMode I"},
	{rule: "API-230", name: "missing fields get their defaults",
		before: func(c *storageClass) { c.ReclaimPolicy = new(corev1.PersistentVolumeReclaimRetain) },
		after:  func(c *storageClass) { c.ReclaimPolicy = nil }, want: "reclaimPolicy I"},
	{rule: "API-230", name: "one parameter", after: func(c *storageClass) { c.Parameters = map[string]string{"tier": "lead"} },
		want: "parameters I"},
	{rule: "API-230", name: "empty parameters for none", before: func(c *storageClass) { c.Parameters = nil },
		after: func(c *storageClass) { c.Parameters = map[string]string{} }},
	{rule: "API-230", name: "what may change", after: func(c *storageClass) {
		c.AllowVolumeExpansion, c.MountOptions = new(true), []string{"ro"}
		topologies([]string{"zone=a"})(c)
	}},
	{rule: "API-230", name: "what is new is validated", after: topologies(nil), want: "allowedTopologies[0].matchLabelExpressions D"},
}

func TestClassUpdate(t *testing.T) { checkUpdates(t, StorageClass, sample.Class, classChanges, false) }

var attributesClassRows = []row[*volumeAttributesClass]{
	{"API-160", "no driver", func(c *volumeAttributesClass) { c.DriverName = "" }, "driverName R"},
	{"API-160", "bad driver", func(c *volumeAttributesClass) { c.DriverName = "-a" }, "driverName I"},
	{"API-161", "no parameters", func(c *volumeAttributesClass) { c.Parameters = map[string]string{} }, "parameters R"},
	{"API-161", "nameless parameter", func(c *volumeAttributesClass) { c.Parameters[""] = "x" }, "parameters I"},
	{"API-161", "too many", func(c *volumeAttributesClass) { c.Parameters = many(600) }, "parameters L"},
	{"API-100", "good", func(*volumeAttributesClass) {}, ""},
}

func TestAttributesClassCreate(t *testing.T) {
	checkCreates(t, VolumeAttributesClass, sample.AttributesClass, attributesClassRows)
	if VolumeAttributesClass.Defaults != nil {
		t.Error("API-100: a VolumeAttributesClass has defaults, want none")
	}
}

var attributesClassChanges = []change[*volumeAttributesClass]{
	{rule: "API-231", name: "driver", after: func(c *volumeAttributesClass) { c.DriverName = "other" }, want: "driverName F"},
	{rule: "API-231", name: "parameters", after: func(c *volumeAttributesClass) { c.Parameters = map[string]string{"iops": "1"} },
		want: "parameters F"},
	{rule: "API-231", name: "no parameters", after: func(c *volumeAttributesClass) { c.Parameters = nil }, want: "parameters F; parameters R"},
	{rule: "API-231", name: "labels", after: func(c *volumeAttributesClass) { c.Labels = map[string]string{"a": "b"} }},
}

func TestAttributesClassUpdate(t *testing.T) {
	checkUpdates(t, VolumeAttributesClass, sample.AttributesClass, attributesClassChanges, false)
}
