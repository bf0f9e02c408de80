package objname_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/objname"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"pvc/shop/data":                  "PersistentVolumeClaim/shop/data",
		"pvc/data":                       "PersistentVolumeClaim/default/data",
		"shop/data":                      "PersistentVolumeClaim/shop/data",
		"PersistentVolumeClaim/shop/d":   "PersistentVolumeClaim/shop/d",
		"po/shop/db-0":                   "Pod/shop/db-0",
		"pv/pv1":                         "PersistentVolume/pv1",
		"no/n1":                          "Node/n1",
		"volumeattachment/csi-1":         "VolumeAttachment/csi-1",
		"":                               `invalid object name "": want KIND/NAME or KIND/NAMESPACE/NAME, such as pvc/data or pod/shop/web-0`,
		"data":                           `invalid object name "data": want KIND/NAME or KIND/NAMESPACE/NAME, such as pvc/data or pod/shop/web-0`,
		"pv/default/pv1":                 `invalid PersistentVolume name "pv/default/pv1": want pv/name`,
		"pvc/a/b/c":                      `invalid PersistentVolumeClaim name "pvc/a/b/c": want pvc/namespace/name`,
		"deployment/default/web":         "Deployment.apps/default/web",
		"deployments.apps/web":           "Deployment.apps/default/web",
		"namespace/x":                    "Namespace/x",
		"deploment/default/web":          `unknown kind "deploment": want pvc, pv, pod, va, namespace or a workload such as deployment; did you mean "deployment"`,
		"pvc//data":                      `invalid object name "pvc//data": want KIND/NAME or KIND/NAMESPACE/NAME, such as pvc/data or pod/shop/web-0`,
		"storageclass/fast":              "StorageClass/fast",
		"csidriver/disk.example.com":     "CSIDriver/disk.example.com",
		"persistentvolumeclaims/default": "PersistentVolumeClaim/default/default",
	} {
		ref, err := objname.Parse(text)
		if err != nil {
			require.EqualError(t, err, want)
			continue
		}
		require.Equal(t, want, ref.String(), text)
	}
}

func TestParseArgs(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"pvc", "data", "logs"}, "[PersistentVolumeClaim/shop/data PersistentVolumeClaim/shop/logs]"},
		{[]string{"pod/db-0", "pv/pv1"}, "[Pod/shop/db-0 PersistentVolume/pv1]"},
		{[]string{"pvc/other/data"}, "[PersistentVolumeClaim/other/data]"},
		{[]string{"pv", "pv1"}, "[PersistentVolume/pv1]"},
		{nil, "[]"},
	} {
		refs, err := objname.ParseArgs("shop", test.args)
		require.NoError(t, err)
		require.Equal(t, test.want, fmt.Sprint(refs))
	}
	_, err := objname.ParseArgs("shop", []string{"foo", "bar"})
	require.EqualError(t, err, `unknown kind "foo": want pvc, pv, pod, va, namespace or a workload such as deployment`)
}
