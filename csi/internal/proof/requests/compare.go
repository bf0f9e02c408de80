package requests

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
)

// Compare compares the last requests of these methods. Paths below root are paths of a kubelet.
func Compare(t *testing.T, real, ours *Driver, root string, methods ...string) {
	t.Helper()
	for _, method := range methods {
		want, got := real.Request(method), ours.Request(method)
		require.NotNil(t, want, "%s of the real code", method)
		require.NotNil(t, got, "%s of volsim", method)
		if diff := cmp.Diff(withRoot(want, root), got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-real +volsim):\n%s", method, diff)
		}
	}
}

// CompareCall compares the request of the real code with that of a story.
func CompareCall(t *testing.T, real *Driver, c *Call, root string) {
	t.Helper()
	want := real.Request(c.Method)
	if want == nil {
		t.Errorf("%s: the real code does not make the call %s %v", c.Story, c.Method, c.Request)
		return
	}
	if diff := cmp.Diff(withRoot(want, root), c.Request, protocmp.Transform()); diff != "" {
		t.Errorf("%s: %s (-real +volsim):\n%s", c.Story, c.Method, diff)
	}
}

const kubelet = "/var/lib/kubelet"

// withRoot replaces the directory of the test by that of a kubelet.
func withRoot(m proto.Message, root string) proto.Message {
	m = proto.Clone(m)
	r := m.ProtoReflect()
	r.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Kind() == protoreflect.StringKind && !f.IsList() && !f.IsMap() {
			r.Set(f, protoreflect.ValueOfString(under(v.String(), root)))
		}
		return true
	})
	return m
}

// under replaces root at the begin of a path.
func under(path, root string) string {
	if rest, ok := strings.CutPrefix(path, root); ok && root != "" {
		return kubelet + rest
	}
	return path
}
