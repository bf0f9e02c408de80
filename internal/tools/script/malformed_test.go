package script_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/tools/script"
)

// claim is a manifest for scripts that need one.
const claim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

// malformedScript is a script that Parse rejects, with the line of the error and a part of its text.
type malformedScript struct {
	Name, Script, Want string
	Line               int
}

func malformedScripts(tb testing.TB) []malformedScript {
	data, err := os.ReadFile("testdata/malformed.yaml")
	require.NoError(tb, err)
	var scripts []malformedScript
	require.NoError(tb, yaml.UnmarshalStrict(data, &scripts))
	require.NotEmpty(tb, scripts)
	return scripts
}

func TestMalformed(t *testing.T) {
	for _, tt := range malformedScripts(t) {
		t.Run(tt.Name, func(t *testing.T) {
			_, err := script.Parse("x.txtar", []byte(tt.Script))
			var problem *script.Error
			require.ErrorAs(t, err, &problem)
			require.Contains(t, err.Error(), tt.Want)
			require.Equal(t, tt.Line, problem.Line, err)
			require.Equal(t, "x.txtar", problem.File)
			require.NotContains(t, strings.TrimSpace(err.Error()), "\n", "one line")
		})
	}
}

// failing holds valid scripts that fail at a line when they run.
var failing = []struct {
	name   string
	script string
	line   int
	want   string
}{
	{"a variable that is not there", "expect pvc/$x phase=Bound", 1, "variable x is not set; use set"},
	{"a dollar sign", "set X pvc/$ volume", 1, "use single quotes for a literal $"},
	{"a variable that makes a command wrong", "set X colour\nexpect pvc/a $X=red", 2, `unknown field "colour" of PersistentVolumeClaim`},
	{"an object that is not there", "\nexpect pvc/data phase=Bound", 2, `persistentvolumeclaims "data" not found`},
	{"a value", "apply -f c\nexpect pvc/data phase=Bound class=x\n-- c --\n" + claim, 2,
		`phase is Pending, want Bound; class is "", want x (`},
	{"values that cannot be compared", "apply -f c\nexpect pvc/data name>2\n-- c --\n" + claim, 2,
		`compare name: "data" and "2" must both be numbers`},
	{"too few", "apply -f c\nexpect pvc phase=Bound count=2\n-- c --\n" + claim, 2,
		"0 matching persistentvolumeclaims, want 2; not matching: default/data: phase is Pending, want Bound"},
	{"still there", "apply -f c\nexpect pvc/data gone\n-- c --\n" + claim, 2, "it exists and is not being deleted"},
	{"held", "apply -f c\ndelete pvc/data\nexpect pvc/data gone\n-- c --\n" + claim, 3,
		"it is being deleted, and finalizers [kubernetes.io/pvc-protection] remain"},
	{"a success that should be a failure", "! settle", 1, "the command succeeded, but must fail"},
	{"refused", "create -f c -f c\n-- c --\n" + claim, 1,
		`c:3: create PersistentVolumeClaim/default/data: persistentvolumeclaims "data" already exists`},
	{"events", "expect event reason=FailedMount", 1, "0 matching events, want >=1"},
	{"writes", "expect write count=3", 1, "0 matching entries of the trace, want 3"},
	{"a backend", "backend a.example.com\nexpect backend a.example.com volumes=1", 2, "volumes is 0, want 1"},
	{"the time", "advance 5s\nexpect now=6s", 2, "now is 5s, want 6s"},
	{"a controller that does not exist", "crash pv-controller", 1,
		`crash "pv-controller": there is no such controller; did you mean "persistentvolume-controller"`},
	{"a controller without the beginning of its name", "crash scheduler", 1, `there is no such controller; did you mean "kube-scheduler"`},
	{"a controller that starts later, misspelt", "crash statefulset", 1, `there is no such controller; did you mean "statefulset-controller"`},
	{"a controller of another name", "crash nobody", 1, "there is no such controller; there are persistentvolume-controller, pv-protection-controller, "},
	{"a controller where there is none", "config without=all\ncrash kube-scheduler", 2, "there is no such controller; there are none"},
	{"no error", "get pv\nstderr foo", 2, "no match: the previous command wrote nothing to stderr"},
	{"no invariant", "expect violation count=0", 1, "no invariant is checked"},
	{"no match", "get pv\nstdout Bound", 2, "no match in:\nNo resources found"},
	{"another output", "get pv\ncmp stdout want\n-- want --\nsomething\n", 2, "stdout and want differ:\n- something\n+ No resources found"},
	{"no object", "set X pvc/none name", 1, `persistentvolumeclaims "none" not found`},
	{"two objects", "apply -f c\nset X pvc phase~. name\nset X pvc phase=Lost name\n-- c --\n" + claim, 3,
		"0 objects match, want exactly one"},
	{"a kubelet", "expect kubelet n1 running=true", 1, `node "n1": there is no such node`},
	{"far away", "advance 1000000h\nadvance 1000000h", 2, "run would exceed 1752000h0m0s of virtual time"},
}

func TestFailing(t *testing.T) {
	for _, tt := range failing {
		t.Run(tt.name, func(t *testing.T) {
			s, err := script.Parse("x.txtar", []byte(tt.script))
			require.NoError(t, err)
			result, err := script.Run(s, script.Options{})
			require.Error(t, err)
			require.Contains(t, err.Error(), tt.want)
			require.Len(t, result.Failures, 1)
			require.Equal(t, tt.line, result.Failures[0].Line)
			require.True(t, errors.Is(err, error(result.Failures[0])))
			require.NotNil(t, result.Cluster)
		})
	}
}

func TestManifests(t *testing.T) {
	for _, tt := range []struct {
		name, manifest string
		line           int
		want           string
	}{
		{"empty", "", 1, "manifest contains no object"},
		{"no YAML", "a: b: c", 1, "x.yaml:1: "},
		{"an unknown kind", claim + "---\napiVersion: apps/v1\nkind: Daemon\nmetadata: {name: a}\n", 10, `did you mean DaemonSet (apps/v1)`},
		{"no apiVersion", claim + "---\nkind: StorageClass\nmetadata: {name: a}\n", 9, "apiVersion is missing; did you mean apiVersion storage.k8s.io/v1"},
		{"a tab", claim + "---\napiVersion: v1\nkind: Pod\nmetadata:\n\tname: a\n", 12, "a tab in the indentation"},
		{"a kind of another group", claim + "---\napiVersion: v1\nkind: StorageClass\nmetadata: {name: a}\n", 9,
			`no matches for kind "StorageClass" in version "v1"; did you mean apiVersion storage.k8s.io/v1`},
		{"an unknown field", claim + "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\ncolour: red\n", 12, "colour: unknown field"},
		{"a driver's name", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: a}\nprovisioner: api\n", 1, "api"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := script.FromManifests("x.yaml", script.File{Name: "x.yaml", Data: []byte(tt.manifest)})
			var problem *script.Error
			require.ErrorAs(t, err, &problem)
			require.Contains(t, err.Error(), tt.want)
			require.Equal(t, tt.line, problem.Line, err)
		})
	}
	t.Run("a driver in a pod template", func(t *testing.T) {
		s, err := script.FromManifests("x.yaml", script.File{Name: "x.yaml", Data: []byte(`
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web, volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, awsElasticBlockStore: {volumeID: vol-1}}]
`)})
		require.NoError(t, err)
		var out strings.Builder
		_, err = script.Run(s, script.Options{Out: &out})
		require.NoError(t, err)
		require.Regexp(t, `pod/web-\S+ +1/1 +Running`, out.String())
	})
	t.Run("refused", func(t *testing.T) {
		s, err := script.FromManifests("x.yaml",
			script.File{Name: "x.yaml", Data: []byte(claim + "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: b}\n")})
		require.NoError(t, err)
		_, err = script.Run(s, script.Options{})
		require.ErrorContains(t, err, `x.yaml:9: create PersistentVolumeClaim/default/b: PersistentVolumeClaim "b" is invalid: `)
	})
}
