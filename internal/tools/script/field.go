package script

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/similar"
	"github.com/volsim/volsim/internal/tools/jsonpath"
)

// field returns a value of the document of an object, as text.
type field func(doc *jsonpath.Document) string

// shorthand is a short name for a field.
type shorthand struct {
	name   string
	path   string // alternative to read
	read   field
	values []string // possible values; nil allows any

	isQuantity bool
}

// Values of fields that have few. A missing field is empty.
var (
	booleans   = []string{"false", "true"}
	statuses   = []string{"True", "False", "Unknown", ""}
	eventTypes = []string{"Normal", "Warning", ""}

	volumePhases = []string{"Pending", "Available", "Bound", "Released", "Failed", ""}
	claimPhases  = []string{"Pending", "Bound", "Lost", ""}
	podPhases    = []string{"Pending", "Running", "Succeeded", "Failed", "Unknown", ""}
)

// common holds the shorthands of all kinds.
var common = []shorthand{
	{name: "name", path: ".metadata.name"},
	{name: "namespace", path: ".metadata.namespace"},
	{name: "uid", path: ".metadata.uid"},
	{name: "version", path: ".metadata.resourceVersion"},
	{name: "finalizers", path: ".metadata.finalizers[*]"},
	{name: "owner", path: ".metadata.ownerReferences[*].name"},
	{name: "deleting", values: booleans,
		read: func(doc *jsonpath.Document) string { return strconv.FormatBool(doc.Value(deletionTimestamp) != "") }},
}

// shorthands holds the additional shorthands of each kind.
var shorthands = map[api.Kind][]shorthand{
	api.PersistentVolume: {
		{name: "phase", path: ".status.phase", values: volumePhases},
		{name: "claim", read: func(doc *jsonpath.Document) string {
			if name := doc.Value(claimName); name != "" {
				return doc.Value(claimNamespace) + "/" + name
			}
			return ""
		}},
		{name: "class", path: ".spec.storageClassName"},
		{name: "policy", path: ".spec.persistentVolumeReclaimPolicy"},
		{name: "capacity", path: ".spec.capacity.storage", isQuantity: true},
		{name: "modes", path: ".spec.accessModes[*]"},
		{name: "handle", path: ".spec.csi.volumeHandle"},
		{name: "reason", path: ".status.reason"},
		{name: "message", path: ".status.message"},
	},
	api.PersistentVolumeClaim: {
		{name: "phase", path: ".status.phase", values: claimPhases},
		{name: "volume", path: ".spec.volumeName"},
		{name: "class", path: ".spec.storageClassName"},
		{name: "request", path: ".spec.resources.requests.storage", isQuantity: true},
		{name: "capacity", path: ".status.capacity.storage", isQuantity: true},
		{name: "modes", path: ".spec.accessModes[*]"},
		{name: "resize", path: ".status.allocatedResourceStatuses.storage"},
		{name: "node", path: ".metadata.annotations[volume.kubernetes.io/selected-node]"},
	},
	api.Pod: {
		{name: "phase", path: ".status.phase", values: podPhases},
		{name: "node", path: ".spec.nodeName"},
		{name: "ready", values: statuses, path: `.status.conditions[?(@.type=="Ready")].status`},
		{name: "reason", path: ".status.reason"},
		{name: "message", path: ".status.message"},
	},
	api.Node: {
		{name: "ready", values: statuses, path: `.status.conditions[?(@.type=="Ready")].status`},
		{name: "unschedulable", values: booleans,
			read: isTrue(".spec.unschedulable")},
		{name: "taints", path: ".spec.taints[*].key"},
		{name: "attached", path: ".status.volumesAttached[*].name"},
		{name: "inuse", path: ".status.volumesInUse[*]"},
	},
	api.VolumeAttachment: {
		{name: "attached", values: booleans, read: isTrue(".status.attached")},
		{name: "volume", path: ".spec.source.persistentVolumeName"},
		{name: "node", path: ".spec.nodeName"},
		{name: "attacher", path: ".spec.attacher"},
		{name: "error", read: func(doc *jsonpath.Document) string {
			return doc.Value(attachError) + doc.Value(detachError)
		}},
	},
	api.StorageClass: {
		{name: "provisioner", path: ".provisioner"},
		{name: "policy", path: ".reclaimPolicy"},
		{name: "mode", path: ".volumeBindingMode"},
		{name: "expandable", values: booleans,
			read: isTrue(".allowVolumeExpansion")},
	},
	api.CSINode: {{name: "drivers", path: ".spec.drivers[*].name"}},
	api.Event: {
		{name: "reason", path: ".reason"},
		{name: "type", values: eventTypes, path: ".type"},
		{name: "message", path: ".message"},
		{name: "by", path: ".source.component"},
		{name: "count", path: ".count"},
		{name: "object", read: func(doc *jsonpath.Document) string {
			return doc.Value(involvedKind) + "/" + doc.Value(involvedName)
		}},
	},
}

// The paths that shorthands read.
var (
	deletionTimestamp          = jsonpath.Must(".metadata.deletionTimestamp")
	claimNamespace, claimName  = jsonpath.Must(".spec.claimRef.namespace"), jsonpath.Must(".spec.claimRef.name")
	attachError, detachError   = jsonpath.Must(".status.attachError.message"), jsonpath.Must(".status.detachError.message")
	involvedKind, involvedName = jsonpath.Must(".involvedObject.kind"), jsonpath.Must(".involvedObject.name")
)

// isTrue returns a field that is true or false: the latter also if it is missing.
func isTrue(text string) field {
	p := jsonpath.Must(text)
	return func(doc *jsonpath.Document) string { return strconv.FormatBool(doc.Value(p) == "true") }
}

// conditionPrefix begins a field that is the status of a condition: condition.Resizing=True.
const conditionPrefix = "condition."

// fieldOf returns a field of a kind by its shorthand or path.
func fieldOf(kind api.Kind, name string) (field, error) {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "[") {
		p, err := jsonpath.Read(name)
		return func(doc *jsonpath.Document) string { return doc.Value(p) }, err
	}
	if strings.HasPrefix(name, "{") {
		read, err := jsonpath.ReadTemplate(name)
		return func(doc *jsonpath.Document) string {
			text, err := read(doc.All())
			if err != nil {
				return "" // as a path that selects nothing
			}
			return text
		}, err
	}
	if condition, ok := strings.CutPrefix(name, conditionPrefix); ok && condition != "" {
		return func(doc *jsonpath.Document) string { return doc.ConditionStatus(condition) }, nil
	}
	for _, s := range slices.Concat(shorthands[kind], common) {
		if s.name != name {
			continue
		}
		if s.read != nil {
			return s.read, nil
		}
		return fieldOf(kind, s.path)
	}
	if hint := similar.Hint(name, fieldNames(kind)); hint != "" {
		return nil, fmt.Errorf("unknown field %q of %s%s", name, kind, hint)
	}
	return nil, fmt.Errorf("unknown field %[2]q of %[1]s: want one of %[3]s, condition.NAME, or a path such as .metadata.name", kind, name,
		strings.Join(fieldNames(kind), ", "))
}

// checkValue rejects a comparison of a field with a value that it cannot have.
func checkValue(kind api.Kind, c condition) error {
	if strings.HasPrefix(c.field, conditionPrefix) {
		return c.isOneOf(statuses)
	}
	for _, s := range slices.Concat(shorthands[kind], common) {
		switch {
		case s.name != c.field:
		case s.isQuantity:
			return c.isQuantity()
		default:
			return c.isOneOf(s.values)
		}
	}
	return nil
}

func fieldNames(kind api.Kind) []string {
	names := make(map[string]bool)
	for _, s := range slices.Concat(shorthands[kind], common) {
		names[s.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// fieldCheck is a condition on a field of an object.
type fieldCheck struct {
	condition
	read field
}

// readChecks reads conditions on objects of a kind.
func readChecks(kind api.Kind, words []string) ([]fieldCheck, error) {
	checks := make([]fieldCheck, len(words))
	for i, w := range words {
		c, ok, err := readCondition(w)
		if err != nil {
			return nil, err
		}
		if !ok && i > 0 {
			return nil, fmt.Errorf("invalid condition %q: want FIELD=VALUE, such as phase=Bound; put a value with blanks in single quotes", w)
		}
		if !ok {
			return nil, fmt.Errorf("invalid condition %q: want FIELD=VALUE, such as phase=Bound", w)
		}
		read, err := fieldOf(kind, c.field)
		if err != nil {
			return nil, err
		}
		if err := checkValue(kind, c); err != nil {
			return nil, err
		}
		checks[i] = fieldCheck{c, read}
	}
	return checks, nil
}

// unmet describes the checks that do not hold for an object; "" if all hold.
func unmet(doc *jsonpath.Document, checks []fieldCheck) (string, error) {
	var wrong []string
	for _, c := range checks {
		got := c.read(doc)
		ok, err := c.holds(got)
		if err != nil {
			return "", err
		}
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s is %s, want %s", c.field, quoted(got), c.want()))
		}
	}
	return strings.Join(wrong, "; "), nil
}

// notMet is the error for an object that does not meet checks. Its text is made when it is read: stored objects never change.
type notMet struct {
	doc    *jsonpath.Document
	checks []fieldCheck
}

// Error is the text of unmet.
func (e *notMet) Error() string {
	text, _ := unmet(e.doc, e.checks)
	return text
}

// meets returns a *notMet unless the object meets the checks.
func meets(doc *jsonpath.Document, checks []fieldCheck) error {
	for _, c := range checks {
		if ok, err := c.holds(c.read(doc)); err != nil {
			return err
		} else if !ok {
			return &notMet{doc, checks}
		}
	}
	return nil
}
