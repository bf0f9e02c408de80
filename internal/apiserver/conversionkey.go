package apiserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/core/plain"
)

// conversion describes the conversion webhook of a definition.
type conversion struct {
	definition     string // name
	kind           schema.GroupKind
	storage        string // version
	client         admissionregistrationv1.WebhookClientConfig
	reviewVersions []string
	schemas        map[string]definition.Schema // by version
	identity       string                       // of all of the above
}

// complete sets the identity.
func (c *conversion) complete() (err error) {
	c.identity, err = digest(c.definition, c.kind, c.storage, c.client, c.reviewVersions, c.schemas)
	return err
}

func (c *conversion) groupVersion(version string) string {
	return schema.GroupVersion{Group: c.kind.Group, Version: version}.String()
}

// key identifies what a webhook is asked: the object with what a webhook may change (API-483), and the version. The rest of the metadata stays as it
// is.
func (c *conversion) key(obj *plain.Object, version string) (string, error) {
	return digest(c.identity, obj.APIVersion, version, obj.Namespace, obj.Name, obj.Labels, obj.Annotations, obj.Content())
}

// completed returns an object that may be stored as it is read before it is converted (API-484).
func (c *conversion) completed(obj *plain.Object) *plain.Object {
	version := obj.GroupVersionKind().Version
	if version != c.storage || c.schemas[version] == nil {
		return obj
	}
	out := obj.Copy()
	content := runtime.DeepCopyJSON(out.Content())
	if content == nil {
		content = map[string]any{}
	}
	c.schemas[version].Prune(content, "", true)
	c.schemas[version].Complete(content)
	out.SetContent(content)
	return out
}

// digest returns a text that differs for different values.
func digest(values ...any) (string, error) {
	data, err := json.Marshal(values)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:18]), nil
}
