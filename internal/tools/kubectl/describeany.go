package kubectl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// other describes a kind without a layout of its own: all its fields, with their names as words.
func (d *description) other(obj api.Object) error {
	d.meta(obj)
	gvk := store.GroupVersionKind(api.KindOf(obj))
	if gvk.Empty() {
		gvk = obj.GetObjectKind().GroupVersionKind()
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	doc := make(map[string]any)
	if err := decoder.Decode(&doc); err != nil {
		return err
	}
	doc["apiVersion"], doc["kind"] = gvk.GroupVersion().String(), gvk.Kind
	if meta, ok := doc["metadata"].(map[string]any); ok {
		for _, shown := range []string{"name", "namespace", "labels", "annotations", "managedFields"} {
			delete(meta, shown)
		}
	}
	d.fields(doc, "")
	return nil
}

// fields writes the fields of a map. Nested fields are indented.
func (d *description) fields(doc map[string]any, indent string) {
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		switch v := doc[key].(type) {
		case map[string]any:
			d.printf("%s%s:\n", indent, inWords(key))
			d.fields(v, indent+"  ")
		case []any:
			d.printf("%s%s:\n", indent, inWords(key))
			for _, element := range v {
				if fields, ok := element.(map[string]any); ok {
					d.fields(fields, indent+"  ")
				} else {
					d.printf("%s  %v\n", indent, element)
				}
			}
		case nil:
			d.printf("%s%s:\t<nil>\n", indent, inWords(key))
		default:
			d.printf("%s%s:\t%v\n", indent, inWords(key), v)
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
	parts := wordsOf(name)
	var words []string
	for i := 0; i < len(parts); i++ {
		word := parts[i]
		switch upper := strings.ToUpper(word); {
		case i+1 < len(parts) && len(word) > 1 && word == upper && unicode.IsUpper(rune(parts[i+1][0])):
			i++
			word += parts[i] // CSIDriver is one word
		case slices.Contains(acronyms, upper):
			word = upper
		case word == strings.ToLower(word):
			word = upper[:1] + word[1:]
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// wordsOf splits a name where the class of its letters changes: lower case, upper case, others. The last of several capital letters belongs to
// the word that follows.
func wordsOf(name string) []string {
	class := func(r rune) int {
		switch {
		case unicode.IsLower(r):
			return 0
		case unicode.IsUpper(r):
			return 1
		}
		return 2
	}
	var words []string
	start := 0
	runes := []rune(name)
	for i := 1; i < len(runes); i++ {
		now, before := class(runes[i]), class(runes[i-1])
		switch {
		case now == before, now == 0 && before == 1 && start == i-1:
			continue
		case now == 0 && before == 1:
			words = append(words, string(runes[start:i-1]))
			start = i - 1
		default:
			words = append(words, string(runes[start:i]))
			start = i
		}
	}
	return append(words, string(runes[start:]))
}

// notInBrowser are the kinds whose layouts the playground leaves out, because what the page loads first is limited.
var notInBrowser = []api.Kind{"CertificateSigningRequest.certificates.k8s.io", "ClusterRole.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io",
	"ConfigMap", "CronJob.batch", "DaemonSet.apps", "Deployment.apps", "EndpointSlice.discovery.k8s.io", "Endpoints", "HorizontalPodAutoscaler.autoscaling",
	"IPAddress.networking.k8s.io", "Ingress.networking.k8s.io", "IngressClass.networking.k8s.io", "Job.batch", "LimitRange", "Namespace",
	"NetworkPolicy.networking.k8s.io", api.Node, "PodDisruptionBudget.policy", "PriorityClass.scheduling.k8s.io", "ReplicaSet.apps", "ReplicationController",
	"Role.rbac.authorization.k8s.io", "RoleBinding.rbac.authorization.k8s.io", "Secret", "Service", "ServiceAccount", "ServiceCIDR.networking.k8s.io", "StatefulSet.apps"}

// withoutLayout returns an error for a kind that is described in a layout that is not here.
func withoutLayout(kind api.Kind) error {
	if slices.Contains(notInBrowser, kind) {
		return fmt.Errorf("describe %s: not available in the browser; use volsim run, or get -o yaml", resourceName(kind))
	}
	return nil
}
