package kubectl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// other describes a kind without a layout of its own: all its fields, with their names as words.
func (d *description) other(obj api.Object) {
	d.meta(obj)
	gvk := store.GroupVersionKind(api.KindOf(obj))
	if gvk.Empty() {
		gvk = obj.GetObjectKind().GroupVersionKind()
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	doc := make(map[string]any)
	if decoder.Decode(&doc) != nil {
		return
	}
	doc["apiVersion"], doc["kind"] = gvk.GroupVersion().String(), gvk.Kind
	if meta, ok := doc["metadata"].(map[string]any); ok {
		for _, shown := range []string{"name", "namespace", "labels", "annotations", "managedFields"} {
			delete(meta, shown)
		}
	}
	d.fields(doc, "")
}

// quota describes a ResourceQuota: the usage of each limit.
func (d *description) quota(q *corev1.ResourceQuota) {
	if len(q.Spec.Scopes) > 0 {
		d.field("Scopes", "%s", strings.Trim(fmt.Sprint(slices.Sorted(slices.Values(q.Spec.Scopes))), "[]"))
	}
	fmt.Fprint(d, "Resource\tUsed\tHard\n--------\t----\t----\n")
	for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
		used, hard := q.Status.Used[name], q.Status.Hard[name]
		if used.Format != hard.Format {
			used = *resource.NewQuantity(used.Value(), hard.Format)
		}
		fmt.Fprintf(d, "%s\t%s\t%s\n", name, used.String(), hard.String())
	}
}

// fields writes the fields of a map. Nested fields are indented.
func (d *description) fields(doc map[string]any, indent string) {
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		switch v := doc[key].(type) {
		case map[string]any:
			fmt.Fprintf(d, "%s%s:\n", indent, inWords(key))
			d.fields(v, indent+"  ")
		case []any:
			fmt.Fprintf(d, "%s%s:\n", indent, inWords(key))
			for _, element := range v {
				if fields, ok := element.(map[string]any); ok {
					d.fields(fields, indent+"  ")
				} else {
					fmt.Fprintf(d, "%s  %v\n", indent, element)
				}
			}
		case nil:
		default:
			fmt.Fprintf(d, "%s%s:\t%v\n", indent, inWords(key), v)
		}
	}
}

// acronyms are the words of field names that kubectl writes in capital letters.
var acronyms = []string{"API", "URL", "UID", "GUID"}

// inWords splits the name of a field into words: attachRequired becomes Attach Required. Names with other characters than letters and
// hyphens stay as they are.
func inWords(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }) {
		return name
	}
	var words []string
	start := 0
	runes := []rune(name)
	for i := 1; i <= len(runes); i++ {
		if i < len(runes) && (!unicode.IsUpper(runes[i]) || unicode.IsUpper(runes[i-1])) {
			continue
		}
		word := string(runes[start:i])
		if slices.Contains(acronyms, strings.ToUpper(word)) {
			word = strings.ToUpper(word)
		} else {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		words = append(words, word)
		start = i
	}
	return strings.Join(words, " ")
}
