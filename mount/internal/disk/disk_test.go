package disk

import (
	"errors"
	"io/fs"
	"testing"
)

func TestDisk(t *testing.T) {
	d := New()
	file := Metadata{SpecName: "pv1", Driver: "d", Handle: "h1"}
	if err := d.WriteMetadata("/k/pods/u/x/vol_data.json", file); err != nil {
		t.Fatal(err)
	}
	if err := d.Mount(Mount{Path: "/k/pods/u/x/mount", Volume: "h1"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Link("/k/pods/u/y", "/dev/x"); err != nil {
		t.Fatal(err)
	}
	want(t, "MNT-030: tree", d.Paths(), []string{"/k/", "/k/pods/", "/k/pods/u/", "/k/pods/u/x/", "/k/pods/u/x/mount/",
		"/k/pods/u/x/vol_data.json", "/k/pods/u/y -> /dev/x"})
	want(t, "children", d.Children("/k/pods/u"), []string{"x", "y"})
	got, err := d.ReadMetadata("/k/pods/u/x/vol_data.json")
	want(t, "MNT-260: metadata", got, file)
	want(t, "MNT-260: error", err, nil)

	for _, tc := range []struct {
		rule, path string
		want       error
	}{
		{"MNT-481", "/k/pods/u/x", ErrNotEmpty},
		{"MNT-480", "/k/pods/u/x/mount", ErrBusy},
		{"MNT-270", "/k/pods/u/nothing", fs.ErrNotExist},
	} {
		if err := d.Remove(tc.path); !errors.Is(err, tc.want) {
			t.Errorf("%s: Remove(%s) = %v, want %v", tc.rule, tc.path, err, tc.want)
		}
	}
	if err := d.RemoveAll("/k/pods/u"); err == nil {
		t.Errorf("MNT-480: what is mounted was removed")
	}
	// A mount point is a directory of its own; others stay without mounts.
	if err := d.Mount(Mount{Path: "/k/pods/u/x", Volume: "h2"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Mount(Mount{Path: "/k/pods/u/x", Volume: "h3"}); err != nil {
		t.Fatal(err)
	}
	d.Lock("/k/pods", true)
	want(t, "MNT-227: a directory is not locked", d.Locked("/k/pods") || d.Locked("/k"), false)
	want(t, "mounts", d.Mounts(), []Mount{{Path: "/k/pods/u/x", Volume: "h3"}, {Path: "/k/pods/u/x/mount", Volume: "h1"}})
	if err := d.Unmount("/k/pods/u/x"); err != nil {
		t.Fatal(err)
	}
	want(t, "mounts after one unmount", d.Mounts(), []Mount{{Path: "/k/pods/u/x/mount", Volume: "h1"}})
	d.Reboot()
	want(t, "MNT-485: mounts after a reboot", d.Mounts(), nil)
	want(t, "MNT-485: files after a reboot", d.Exists("/k/pods/u/x/vol_data.json"), true)
	if err := d.RemoveAll("/k/pods/u"); err != nil {
		t.Errorf("MNT-480: removeAll = %v", err)
	}
	bad := errors.New("input/output error")
	d.Break("/k/pods", bad)
	if err := d.Remove("/k/pods"); !errors.Is(err, bad) {
		t.Errorf("Remove of a broken path = %v, want %v", err, bad)
	}
	d.Break("/k/pods", nil)
	if err := d.Remove("/k/pods"); err != nil {
		t.Errorf("Remove of a mended path = %v", err)
	}
}
