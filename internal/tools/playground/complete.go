package playground

import (
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/tools/script"
)

type completeArgs struct {
	// Text is the text before the cursor, and Rest the text after it.
	Text string `json:"text"`
	Rest string `json:"rest"`
}

// option is one proposal. Detail is shown beside it.
type option struct {
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
	Info   string `json:"info,omitempty"`
}

// completeAnswer has the proposals for the word that ends at the cursor and begins From bytes before it.
type completeAnswer struct {
	From    int      `json:"from"`
	Options []option `json:"options"`
}

// complete proposes commands, kinds and fields.
func (s *Server) complete(a completeArgs) (any, error) {
	lines := strings.Split(a.Text, "\n")
	line := lines[len(lines)-1]
	begins := func(l string) bool {
		return len(l) > len("--  --") && strings.HasPrefix(l, "-- ") && strings.HasSuffix(l, " --")
	}
	if slices.ContainsFunc(lines[:len(lines)-1], begins) {
		return inManifest(lines), nil
	}
	var files []string
	for _, l := range strings.Split(a.Rest, "\n") {
		if begins(l) {
			files = append(files, strings.TrimSpace(l[len("-- "):len(l)-len(" --")]))
		}
	}
	return inScript(line, script.Completion{Above: lines[:len(lines)-1], Files: files}), nil
}

// inScript proposes how a line of commands continues.
func inScript(line string, place script.Completion) completeAnswer {
	fields := strings.Fields(line)
	word := ""
	if len(fields) > 0 && !strings.HasSuffix(line, " ") {
		word = fields[len(fields)-1]
		fields = fields[:len(fields)-1]
	}
	for len(fields) > 0 && slices.Contains([]string{"!", "?", "some"}, fields[0]) {
		fields = fields[1:]
	}
	answer := completeAnswer{From: len(word), Options: []option{}}
	if len(fields) == 0 {
		for _, c := range script.Usages() {
			answer.Options = append(answer.Options, option{Label: c.Name, Detail: c.Usage, Info: c.Help})
		}
		return answer
	}
	place.Words, place.Word = fields, word
	for _, label := range place.Proposals() {
		answer.Options = append(answer.Options, option{Label: label})
	}
	return answer
}

// types are the objects whose fields are proposed in manifests, by kind.
var types = map[string]struct {
	version string
	object  any
}{
	"PersistentVolume":      {"v1", corev1.PersistentVolume{}},
	"PersistentVolumeClaim": {"v1", corev1.PersistentVolumeClaim{}},
	"Pod":                   {"v1", corev1.Pod{}},
	"Node":                  {"v1", corev1.Node{}},
	"Namespace":             {"v1", corev1.Namespace{}},
	"ResourceQuota":         {"v1", corev1.ResourceQuota{}},
	"StorageClass":          {"storage.k8s.io/v1", storagev1.StorageClass{}},
	"CSIDriver":             {"storage.k8s.io/v1", storagev1.CSIDriver{}},
	"VolumeAttachment":      {"storage.k8s.io/v1", storagev1.VolumeAttachment{}},
	"VolumeAttributesClass": {"storage.k8s.io/v1", storagev1.VolumeAttributesClass{}},
	"StatefulSet":           {"apps/v1", appsv1.StatefulSet{}},
	"Deployment":            {"apps/v1", appsv1.Deployment{}},
	"DaemonSet":             {"apps/v1", appsv1.DaemonSet{}},
	"Job":                   {"batch/v1", batchv1.Job{}},
}

// kindNames are the keys of types, in order.
func kindNames() []string {
	var all []string
	for name := range types {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// inManifest proposes fields, kinds and versions in a file, from the lines up to the cursor.
func inManifest(lines []string) completeAnswer {
	line := lines[len(lines)-1]
	start := 0
	for i, l := range lines {
		if strings.HasPrefix(l, "---") || strings.HasPrefix(l, "-- ") {
			start = i + 1
		}
	}
	document := lines[min(start, len(lines)-1):]
	answer := completeAnswer{Options: []option{}}
	trimmed := strings.TrimLeft(line, " ")
	key, value, isValue := strings.Cut(strings.TrimPrefix(trimmed, "- "), ":")
	if isValue {
		value = strings.TrimLeft(value, " ")
		answer.From = len(value)
		switch key {
		case "kind":
			for _, name := range kindNames() {
				answer.Options = append(answer.Options, option{Label: name, Detail: types[name].version})
			}
		case "apiVersion":
			for _, v := range []string{"v1", "apps/v1", "batch/v1", "storage.k8s.io/v1", "snapshot.storage.k8s.io/v1"} {
				answer.Options = append(answer.Options, option{Label: v})
			}
		}
		return answer
	}
	answer.From = len(key)
	path, kind := pathTo(document)
	known, ok := types[kind]
	if !ok {
		for _, name := range []string{"apiVersion", "kind", "metadata", "spec"} {
			answer.Options = append(answer.Options, option{Label: name + ":"})
		}
		return answer
	}
	t := reflect.TypeOf(known.object)
	for _, key := range path {
		if t = fieldOf(t, key); t == nil {
			return answer
		}
	}
	for _, f := range fieldsOf(t) {
		answer.Options = append(answer.Options, option{Label: f.name + ":", Detail: f.kind})
	}
	return answer
}

// pathTo returns the keys above the last line of a document, outermost first, and the kind of the document.
func pathTo(document []string) (path []string, kind string) {
	indent := func(l string) int { return len(l) - len(strings.TrimLeft(l, " -")) }
	for _, l := range document {
		if name, ok := strings.CutPrefix(l, "kind:"); ok {
			kind = strings.TrimSpace(name)
		}
	}
	at := indent(document[len(document)-1])
	for i := len(document) - 2; i >= 0 && at > 0; i-- {
		l := document[i]
		key, _, ok := strings.Cut(strings.TrimLeft(l, " -"), ":")
		// The items of a list may stand at the level of its key.
		if n := indent(l); ok && n < at {
			path = append(path, key)
			at = n
		}
	}
	slices.Reverse(path)
	return path, kind
}

type fieldName struct{ name, kind string }

// fieldsOf lists the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) []fieldName {
	t = plain(t)
	if t.Kind() != reflect.Struct {
		return nil
	}
	var all []fieldName
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all = append(all, fieldsOf(f.Type)...)
		case name != "" && name != "-" && name != "managedFields":
			all = append(all, fieldName{name, plain(f.Type).Name()})
		}
	}
	return all
}

// fieldOf returns the type of a field; nil if there is none.
func fieldOf(t reflect.Type, key string) reflect.Type {
	t = plain(t)
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == key {
			return f.Type
		}
		if f.Anonymous && name == "" {
			if found := fieldOf(f.Type, key); found != nil {
				return found
			}
		}
	}
	return nil
}

// plain returns what pointers and lists are made of.
func plain(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}
