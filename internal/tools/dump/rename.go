package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
)

// checkName remembers a name of an object, or of its namespace, that no object can have: someone replaced the true one.
func (r *reader) checkName(obj api.Object) {
	if !store.HasTypedTable(api.KindOf(obj)) && api.KindOf(obj) != store.NamespaceKind {
		return // other kinds may have other names
	}
	if isInvalid(obj.GetName()) {
		r.invalid[obj.GetName()] = true
	}
	if isInvalid(obj.GetNamespace()) {
		r.invalid[obj.GetNamespace()] = true
	}
}

func isInvalid(name string) bool { return name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 }

// isRedacted reports whether the name of an object hides the true one.
func isRedacted(obj api.Object) bool {
	return isInvalid(obj.GetName()) || strings.Contains(obj.GetName(), "redacted")
}

// rename returns a document in which the texts that are exactly such a name are replaced, also where other objects refer to it.
func (r *reader) rename(data []byte) []byte {
	for _, pair := range r.renamed {
		data = bytes.ReplaceAll(data, pair[0], pair[1])
	}
	return data
}

// quoted returns names as texts of JSON, in which some characters may be escaped.
func quoted(names map[string]string) (pairs [][2][]byte) {
	for _, from := range slices.Sorted(maps.Keys(names)) {
		var plain bytes.Buffer
		writer := json.NewEncoder(&plain)
		writer.SetEscapeHTML(false)
		escaped, err := json.Marshal(from)
		if err != nil || writer.Encode(from) != nil {
			continue // a string has a text
		}
		to := []byte(`"` + names[from] + `"`)
		pairs = append(pairs, [2][]byte{bytes.TrimSpace(plain.Bytes()), to}, [2][]byte{escaped, to})
	}
	return pairs
}

// maxLabel is the length of the longest name of a namespace.
const maxLabel = 63

// validNames returns, for each name that no object can have, one that no object has.
func (r *reader) validNames() map[string]string {
	names, taken := map[string]string{}, map[string]bool{}
	for ref := range r.seen {
		namespace, name := objects.SplitKey(ref.Key)
		taken[namespace], taken[name] = true, true
	}
	for _, name := range slices.Sorted(maps.Keys(r.invalid)) {
		valid := strings.Trim(strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, strings.ToLower(name)), "-")
		if valid == "" {
			valid = "unnamed"
		}
		base := strings.TrimRight(valid[:min(len(valid), maxLabel-10)], "-")
		valid = base
		for n := 2; taken[valid]; n++ {
			valid = fmt.Sprintf("%s-%d", base, n)
		}
		names[name], taken[valid] = valid, true
	}
	return names
}
