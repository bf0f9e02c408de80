package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
)

// conversionTimeout is how long, in real time, a conversion webhook may take (API-485).
const conversionTimeout = 30 * time.Second

// Conversion is an object that a webhook is to be asked about.
type Conversion struct {
	Key        string // the same for the same object
	Definition *resources.Conversion
	From       *plain.Object
	To         string // version
	Answer     *Converted
}

// Converted is the answer of a webhook for one object: the fields that it may change, or the error.
type Converted struct {
	Content     map[string]any    `json:"content,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Failure     string            `json:"failure,omitempty"`
}

// UnmarshalJSON keeps whole numbers integers, as those of stored objects are.
func (c *Converted) UnmarshalJSON(data []byte) error {
	type fields Converted
	return kjson.UnmarshalCaseSensitivePreserveInts(data, (*fields)(c))
}

// ConvertAll asks for each object at the same time, and a few at a time.
func (w *Client) ConvertAll(ctx context.Context, objs []*Conversion) {
	const atOnce = 16
	var all sync.WaitGroup
	tokens := make(chan struct{}, atOnce)
	asked := map[string]*Conversion{}
	for _, o := range objs {
		if asked[o.Key] != nil {
			continue
		}
		asked[o.Key] = o
		tokens <- struct{}{}
		all.Go(func() {
			defer func() { <-tokens }()
			var err error
			if o.Answer, err = w.convert(ctx, o); err != nil {
				o.Answer = &Converted{Failure: err.Error()}
			}
		})
	}
	all.Wait()
	for _, o := range objs {
		o.Answer = asked[o.Key].Answer
	}
}

// convert asks a webhook to convert one object.
func (w *Client) convert(ctx context.Context, o *Conversion) (*Converted, error) {
	c, gvk := o.Definition, o.From.GroupVersionKind()
	version := reviewVersion(c.ReviewVersions)
	if version == "" {
		return nil, errors.New("no supported conversion review versions")
	}
	failed := func(err error) error { return fmt.Errorf("conversion webhook for %v failed: %w", gvk, err) }
	target, client, err := w.clientFor(&c.Client)
	if err != nil {
		return nil, err
	}
	uid := w.newUID()
	// Both versions of ConversionReview have the same fields.
	data, err := json.Marshal(&apiextensions.ConversionReview{
		TypeMeta: metav1.TypeMeta{Kind: "ConversionReview", APIVersion: apiextensions.GroupName + "/" + version},
		Request:  &apiextensions.ConversionRequest{UID: uid, DesiredAPIVersion: c.GroupVersion(o.To), Objects: []runtime.RawExtension{{Object: o.From}}},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, conversionTimeout)
	defer cancel()
	body, err := post(ctx, client, target, data)
	if err != nil {
		return nil, failed(err)
	}
	objs, err := convertedObjects(body, version, uid)
	if err != nil {
		return nil, failed(err)
	}
	if len(objs) != 1 {
		return nil, fmt.Errorf("conversion webhook for %v returned %d objects, expected 1", gvk, len(objs))
	}
	return accepted(o, objs[0].Raw)
}

// conversionCodec decodes the answers of webhooks.
var conversionCodec = sync.OnceValue(func() runtime.Decoder {
	return serializer.NewCodecFactory(resources.DefinitionScheme()).UniversalDeserializer()
})

// convertedObjects returns the objects in the answer of a webhook (API-482). The old version is not checked.
func convertedObjects(body []byte, version string, uid types.UID) ([]runtime.RawExtension, error) {
	answer := &apiextensions.ConversionReview{}
	var err error
	if version == "v1" {
		_, _, err = conversionCodec().Decode(body, nil, answer)
	} else {
		err = json.Unmarshal(body, answer)
	}
	if err != nil {
		return nil, err
	}
	want := apiextensions.SchemeGroupVersion.WithKind("ConversionReview")
	if got := answer.GroupVersionKind(); version == "v1" && got != want {
		return nil, fmt.Errorf("expected webhook response of %v, got %v", want, got)
	}
	r := answer.Response
	switch {
	case r == nil:
		return nil, errors.New("no response provided")
	case version == "v1" && r.UID != uid:
		return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, r.UID)
	case r.Result.Status != metav1.StatusSuccess && r.Result.Message != "":
		return nil, errors.New(r.Result.Message)
	case r.Result.Status != metav1.StatusSuccess:
		return nil, fmt.Errorf("response.result.status was '%s', not 'Success'", r.Result.Status)
	}
	return r.ConvertedObjects, nil
}

// accepted returns what a webhook may change of an object: everything but the metadata other than labels and annotations (API-483). Fields that the
// schema of the version does not know are dropped.
func accepted(o *Conversion, data []byte) (*Converted, error) {
	c, gvk := o.Definition, o.From.GroupVersionKind()
	invalid := func(what, format string, args ...any) error {
		return fmt.Errorf("conversion webhook for %v returned invalid %s: %s", gvk, what, fmt.Sprintf(format, args...))
	}
	var fields map[string]any
	out := &plain.Object{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &fields); err != nil {
		return nil, err
	}
	metadata, err := metadataOf(fields)
	if err != nil {
		return nil, invalid("metadata", "%v", err)
	}
	if err := out.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	got := out.GroupVersionKind()
	if want := (schema.GroupVersion{Group: gvk.Group, Version: o.To}); got.GroupVersion() != want {
		return nil, invalid("object at index 0", "invalid groupVersion (expected %v, received %v)", want, got.GroupVersion())
	}
	if got.Kind != gvk.Kind {
		return nil, invalid("object at index 0", "invalid kind (expected %v, received %v)", gvk.Kind, got.Kind)
	}
	for _, part := range []struct{ name, was, is string }{
		{"name", o.From.Name, out.Name}, {"namespace", o.From.Namespace, out.Namespace}, {"UID", string(o.From.UID), string(out.UID)},
	} {
		if part.was != part.is {
			return nil, invalid("object", "must have the same %s: %v != %v", part.name, part.was, part.is)
		}
	}
	if metadata == nil {
		return nil, invalid("metadata", "missing metadata in converted object")
	}
	var errs field.ErrorList
	if !maps.Equal(o.From.Labels, out.Labels) {
		errs = metav1validation.ValidateLabels(out.Labels, field.NewPath("metadata", "labels"))
	}
	if len(errs) == 0 && !maps.Equal(o.From.Annotations, out.Annotations) {
		errs = apivalidation.ValidateAnnotations(out.Annotations, field.NewPath("metadata", "annotation"))
	}
	if len(errs) > 0 {
		return nil, invalid("metadata", "%v", errs.ToAggregate())
	}
	content := runtime.DeepCopyJSON(out.Content())
	if n := c.Schemas[o.To]; n != nil {
		n.Prune(content, "", true)
		if o.To == c.Storage {
			n.Complete(content) // API-484: as when the stored object is read
		}
	}
	return &Converted{Content: content, Labels: out.Labels, Annotations: out.Annotations}, nil
}

// metadataOf returns the metadata of a converted object, nil for none. Its labels and annotations must be strings.
func metadataOf(fields map[string]any) (map[string]any, error) {
	value, ok := fields["metadata"]
	if !ok {
		return nil, nil
	}
	metadata, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("invalid metadata of type %T in converted object", value)
	}
	for _, name := range []string{"labels", "annotations"} {
		value := metadata[name]
		entries, ok := value.(map[string]any)
		if !ok && value != nil {
			return nil, fmt.Errorf("invalid metadata.%s of type %T in converted object", name, value)
		}
		for key, value := range entries {
			if _, ok := value.(string); !ok {
				return nil, fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object", name, key, value)
			}
		}
	}
	return metadata, nil
}
