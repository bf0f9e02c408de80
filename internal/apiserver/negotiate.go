package apiserver

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// bodyTypes are the media types of request bodies, the default first.
var bodyTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}

// streamTypes are those of watches.
var streamTypes = []string{runtime.ContentTypeJSON + ";stream=watch", runtime.ContentTypeProtobuf + ";stream=watch"}

// format is the representation of an answer: JSON, YAML or protobuf.
type format struct {
	yaml, protobuf bool
	pretty         bool // indented JSON
	raw            bool // indented JSON without a line break at its end
	// as is the type to convert objects to, Table for example; nil converts nothing. Discovery has types of its own.
	as *schema.GroupVersionKind
}

func (f format) contentType() string {
	switch {
	case f.yaml:
		return runtime.ContentTypeYAML
	case f.protobuf:
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}

// asIs reports whether write adds no more than the end.
func (f format) asIs() bool { return f.protobuf || !f.yaml && !f.pretty && !f.raw }

// end returns what an answer ends with.
func (f format) end() string {
	if f.protobuf {
		return ""
	}
	return "\n"
}

// write returns the bytes of an answer from its JSON, or its protobuf. It may append to data.
func (f format) write(data []byte) ([]byte, error) {
	if f.protobuf {
		return data, nil
	}
	if f.yaml {
		return yaml.JSONToYAML(data)
	}
	if f.pretty || f.raw {
		var out bytes.Buffer
		if err := json.Indent(&out, data, "", "  "); err != nil {
			return nil, err
		}
		data = out.Bytes()
	}
	if f.raw {
		return data, nil
	}
	if n := len(data); cap(data) > n && data[:n+1][n] == '\n' {
		return data[:n+1], nil // as encodeTyped left it; others may be reading it
	}
	return append(data, '\n'), nil
}

// endpoint says in which formats a path is answered.
type endpoint struct {
	// allows reports whether it answers in a media type, with objects converted to a type unless that is nil. Without it there is nothing to choose.
	allows func(mediaType string, as *schema.GroupVersionKind) bool
	// route are the media types of its route, which refuses requests that accept none of them; nil if it does not.
	route []string
}

// negotiate chooses the format of the answer from the Accept header (API-587).
func negotiate(req *http.Request, e endpoint) (format, error) {
	f := format{pretty: wantsPretty(req)}
	header := req.Header.Get("Accept")
	if header == "" || header == runtime.ContentTypeJSON || header == "*/*" {
		return f, nil
	}
	if e.route != nil && !acceptsRoute(header, e.route) {
		return f, serverError(http.StatusNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: "+strings.Join(e.route, ", "))
	}
	if e.allows == nil {
		return f, nil
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		wanted := clause.Type + "/" + clause.SubType
		for _, mediaType := range bodyTypes {
			if wanted != mediaType && wanted != "application/*" && wanted != "*/*" {
				continue
			}
			as := convertTo(clause.Params)
			if stream := clause.Params["stream"]; stream != "" && (stream != "watch" || mediaType == runtime.ContentTypeYAML) || !e.allows(mediaType, as) {
				continue
			}
			f.yaml, f.protobuf, f.as = mediaType == runtime.ContentTypeYAML, mediaType == runtime.ContentTypeProtobuf, as
			f.pretty = f.pretty || clause.Params["pretty"] == "1"
			return f, nil
		}
	}
	return f, errAccept(bodyTypes)
}

// acceptsRoute reports whether a route answers a request: it does not know application/*.
func acceptsRoute(header string, route []string) bool {
	for part := range strings.SplitSeq(header, ",") {
		mediaType, _, _ := strings.Cut(part, ";")
		if mediaType = strings.TrimSpace(mediaType); mediaType == "*/*" || slices.Contains(route, mediaType) {
			return true
		}
	}
	return false
}

// convertTo returns the type that a clause of an Accept header asks for, or nil.
func convertTo(params map[string]string) *schema.GroupVersionKind {
	kind, hasKind := params["as"]
	group, hasGroup := params["g"]
	version, hasVersion := params["v"]
	if !hasKind && !hasGroup && !hasVersion {
		return nil
	}
	return &schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

func errAccept(accepted []string) error {
	return mediaError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+strings.Join(accepted, ", "))
}

// wantsPretty reports whether the answer is indented: if the request asks for it, or comes from a browser or from curl.
func wantsPretty(req *http.Request) bool {
	if strings.Contains(req.URL.RawQuery, "pretty") {
		if text := req.URL.Query().Get("pretty"); text != "" {
			pretty, err := strconv.ParseBool(text)
			return err == nil && pretty
		}
	}
	for _, agent := range []string{"curl", "Wget", "Mozilla/5.0"} {
		if strings.HasPrefix(req.UserAgent(), agent) {
			return true
		}
	}
	return false
}

// endpoint returns the endpoint of a request for objects. Custom objects have no messages in protobuf, and their route does not refuse anything
// (API-571).
func (r *request) endpoint() endpoint {
	e := endpoint{route: bodyTypes}
	switch {
	case r.resource.Custom:
		e.route = nil
	case r.verb == resources.VerbList || r.verb == resources.VerbWatch:
		e.route = append(slices.Clip(bodyTypes), streamTypes...)
	}
	e.allows = func(mediaType string, as *schema.GroupVersionKind) bool {
		switch {
		case as == nil:
			return mediaType != runtime.ContentTypeProtobuf || hasMessages(r.resource)
		case as.Group != metav1.GroupName || as.Version != "v1" && as.Version != "v1beta1":
			return false
		case as.Kind == "Table":
			return mediaType != runtime.ContentTypeProtobuf && r.hasTable()
		}
		return as.Kind == "PartialObjectMetadata" || as.Kind == "PartialObjectMetadataList"
	}
	return e
}

// hasTable reports whether the objects of a request have Tables (API-440, API-566, API-581).
func (r *request) hasTable() bool {
	withoutStatus := r.resource.Kind == kinds.APIService || r.resource.Kind == kinds.ResourceClaim
	return !r.resource.Review && (r.subresource != string(api.Status) || !withoutStatus)
}

// unconverted answers in all formats.
var unconverted = endpoint{allows: func(_ string, as *schema.GroupVersionKind) bool { return as == nil }}

// mediaTypeOf returns the media type of a request body.
func mediaTypeOf(header string) (string, error) {
	if header == "" || header == bodyTypes[0] {
		return bodyTypes[0], nil // the rest need not be parsed
	}
	if mediaType, _, err := mime.ParseMediaType(header); err == nil {
		for _, known := range bodyTypes {
			if mediaType == known {
				return known, nil
			}
		}
	}
	return "", errMediaType(bodyTypes)
}

func errMediaType(accepted []string) error {
	return mediaError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+strings.Join(accepted, ", "))
}
