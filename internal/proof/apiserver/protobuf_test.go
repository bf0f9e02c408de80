package apiserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	kjson "sigs.k8s.io/json"

	"github.com/volsim/volsim/internal/apiserver/resources"
)

// messages are the types that have messages in protobuf.
var messages = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for gvk := range resources.Scheme().AllKnownTypes() {
		obj, err := resources.Scheme().New(gvk)
		if _, ok := obj.(runtime.ProtobufMarshaller); err == nil && ok {
			scheme.AddKnownTypeWithName(gvk, obj)
		}
	}
	if err := apiextensions.AddToScheme(scheme); err != nil {
		panic(err)
	}
	scheme.AddKnownTypeWithName(apidiscovery.SchemeGroupVersion.WithKind("APIGroupDiscoveryList"), &apidiscovery.APIGroupDiscoveryList{})
	scheme.AddKnownTypes(metav1.SchemeGroupVersion, &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadataList{})
	scheme.AddKnownTypes(metav1beta1.SchemeGroupVersion, &metav1beta1.PartialObjectMetadata{}, &metav1beta1.PartialObjectMetadataList{})
	for kind, obj := range map[string]runtime.Object{
		"APIVersions": &metav1.APIVersions{}, "APIGroupList": &metav1.APIGroupList{}, "APIGroup": &metav1.APIGroup{}, "APIResourceList": &metav1.APIResourceList{},
		"Status": &metav1.Status{},
	} {
		for _, version := range []string{"v1", runtime.APIVersionInternal} {
			scheme.AddKnownTypeWithName(schema.GroupVersion{Version: version}.WithKind(kind), obj)
		}
	}
	return scheme
}()

var messageSerializer = protobuf.NewSerializer(messages, messages)

// inProtobuf returns a request with its body in protobuf, if it has a message, and one that prefers such an answer.
func (r request) inProtobuf() request {
	has := func(name string) bool {
		return slices.ContainsFunc(r.header, func(h [2]string) bool { return h[0] == name })
	}
	r.header = slices.Clone(r.header)
	if !has("Accept") {
		r.header = append(r.header, [2]string{"Accept", "application/vnd.kubernetes.protobuf, application/json"})
	}
	if r.method == "PATCH" || has("Content-Type") {
		return r
	}
	var kind metav1.TypeMeta
	if err := json.Unmarshal([]byte(r.body), &kind); err != nil {
		return r
	}
	obj, err := messages.New(kind.GroupVersionKind())
	if err != nil {
		return r
	}
	if unknown, err := kjson.UnmarshalStrict([]byte(r.body), obj); err != nil || len(unknown) > 0 {
		return r // the errors are about JSON
	}
	var out bytes.Buffer
	if err := messageSerializer.Encode(obj, &out); err != nil {
		return r
	}
	r.body = out.String()
	r.header = append(r.header, [2]string{"Content-Type", runtime.ContentTypeProtobuf})
	return r
}

// fromProtobuf returns an answer in JSON, each event of a watch in a line. It says so if the answer is not exactly what its object is encoded to.
func fromProtobuf(contentType, body string) string {
	if !strings.Contains(contentType, "stream=watch") {
		return objectFromProtobuf([]byte(body))
	}
	var lines []string
	for data := []byte(body); len(data) > 0; {
		size := 4 + int(binary.BigEndian.Uint32(append(data[:min(4, len(data)):4], 0, 0, 0, 0)))
		if size > len(data) {
			lines = append(lines, fmt.Sprintf("an incomplete frame: %q", data))
			break
		}
		var event metav1.WatchEvent
		if err := event.Unmarshal(data[4:size]); err != nil {
			lines = append(lines, err.Error())
		}
		again, _ := event.Marshal()
		if !bytes.Equal(again, data[4:size]) {
			lines = append(lines, "an event encoded in another way")
		}
		lines = append(lines, event.Type, objectFromProtobuf(event.Object.Raw))
		data = data[size:]
	}
	return strings.Join(lines, "\n")
}

func objectFromProtobuf(data []byte) string {
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(bytes.TrimPrefix(data, []byte("k8s\x00"))); err != nil {
		return fmt.Sprintf("%v: %q", err, data)
	}
	gvk := envelope.GroupVersionKind()
	if gvk.Version == "" {
		gvk.Version = "v1" // discovery of the core group names none
	}
	obj, err := messages.New(gvk)
	if err != nil {
		return fmt.Sprintf("%v: %q", err, data)
	}
	if err := obj.(interface{ Unmarshal([]byte) error }).Unmarshal(envelope.Raw); err != nil {
		return fmt.Sprintf("%v: %q", err, data)
	}
	obj.GetObjectKind().SetGroupVersionKind(envelope.GroupVersionKind())
	var again bytes.Buffer
	if err := messageSerializer.Encode(obj, &again); err != nil {
		return err.Error()
	}
	out, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	if !bytes.Equal(again.Bytes(), data) {
		return fmt.Sprintf("encoded in another way: %q\n%s", data, out)
	}
	return string(out)
}

// TestProtobuf sends the requests of testdata to both servers, with bodies in protobuf, and with answers in protobuf.
func TestProtobuf(t *testing.T) {
	files, err := filepath.Glob("testdata/" + *only + ".txt")
	require.NoError(t, err)
	want, got := real(t, false), simulated(t)
	count, read, sent := 0, 0, 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for _, r := range readRequests(t, file) {
				if r.command == "" {
					r = r.inProtobuf()
				}
				count++
				expected, actual := want.answer(t, r), got.answer(t, r)
				// kube-apiserver reads roles from a cache, which may not know the last write yet.
				for end := time.Now().Add(5 * time.Second); expected != actual && r.asUser() && time.Now().Before(end); {
					time.Sleep(50 * time.Millisecond)
					expected = want.answer(t, r)
				}
				if strings.HasPrefix(r.body, "k8s\x00") {
					sent++
				}
				if head, _, _ := strings.Cut(expected, "\n"); strings.Contains(head, "protobuf") {
					read++
				}
				if expected != actual {
					t.Errorf("%s:%d: %s\n%s", file, r.line, r, difference(expected, actual))
				}
			}
		})
	}
	t.Logf("%d requests and command lines: %d bodies and %d answers in protobuf", count, sent, read)
}
