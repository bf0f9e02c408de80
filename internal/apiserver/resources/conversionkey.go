package resources

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

// Conversion describes the conversion webhook of a definition.
type Conversion struct {
	Definition     string // name
	kind           schema.GroupKind
	Storage        string // version
	Client         admissionregistrationv1.WebhookClientConfig
	ReviewVersions []string
	Schemas        map[string]definition.Schema // by version
	identity       string                       // of all of the above
}

// complete sets the identity.
func (c *Conversion) complete() (err error) {
	c.identity, err = digest(c.Definition, c.kind, c.Storage, c.Client, c.ReviewVersions, c.Schemas)
	return err
}

func (c *Conversion) GroupVersion(version string) string {
	return schema.GroupVersion{Group: c.kind.Group, Version: version}.String()
}

// Key identifies what a webhook is asked: the object with what a webhook may change (API-483), and the version. The rest of the metadata stays as it
// is.
func (c *Conversion) Key(obj *plain.Object, version string) (string, error) {
	return digest(c.identity, obj.APIVersion, version, obj.Namespace, obj.Name, obj.Labels, obj.Annotations, obj.Content())
}

// Completed returns an object that may be stored as it is read before it is converted (API-484).
func (c *Conversion) Completed(obj *plain.Object) *plain.Object {
	version := obj.GroupVersionKind().Version
	if version != c.Storage || c.Schemas[version] == nil {
		return obj
	}
	out := obj.Copy()
	content := runtime.DeepCopyJSON(out.Content())
	if content == nil {
		content = map[string]any{}
	}
	c.Schemas[version].Prune(content, "", true)
	c.Schemas[version].Complete(content)
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
