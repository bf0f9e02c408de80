package disk

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
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

// A directory is that of path.Dir, also of paths that are not clean and of those in them (MNT-030).
func TestDirectories(t *testing.T) {
	paths := []string{"", "a", "a/b", "/", "/a", "/a/", "/a/b", "/a//b", "/a//b/c", "/a/.", "/a/./b", "/a/..", "/a/../b", "/a/../b/c", "/a/...", "/a/.../b",
		"//a", "//a/b", "/a/b/", "/a/b/c", "/a/b//c", "/a/b/./c"}
	for _, first := range paths {
		for _, second := range paths {
			for _, last := range []string{"", "/x", "/x/y"} {
				d, plain := New(), map[string]bool{}
				for i, p := range []string{first, second, second + last} {
					dir := p
					if i < 2 {
						_ = d.Mkdir(p)
					} else {
						_ = d.Link(p, "")
						plain[p], dir = true, path.Dir(p)
					}
					for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
						plain[dir] = true
					}
				}
				want(t, "paths after "+first+", "+second+" and "+last, slices.Sorted(maps.Keys(d.entries)), slices.Sorted(maps.Keys(plain)))
			}
		}
	}
}

// TestRandomTree compares a disk with a plain list of paths over random changes.
func TestRandomTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "a-b", "a.b", "b", "~"}
	path := func() string {
		p := "/k"
		for range rng.IntN(4) {
			p += "/" + names[rng.IntN(len(names))]
		}
		return p
	}
	for range 10 {
		d, plain, mounts := New(), map[string]bool{}, map[string]string{}
		under := func(dir string) (below []string) {
			for p := range plain {
				if p == dir || strings.HasPrefix(p, dir+"/") {
					below = append(below, p)
				}
			}
			slices.Sort(below)
			return below
		}
		mounted := func(p string) bool { return mounts[p] != "" }
		for range 300 {
			p := path()
			switch rng.IntN(6) {
			case 0, 1:
				_ = d.Mkdir(p)
				for dir := p; dir != "/"; dir = Parent(dir) {
					plain[dir] = true
				}
			case 2:
				source := path()
				_ = d.Mount(Mount{Path: p, Source: source})
				mounts[p] = source
				for dir := p; dir != "/"; dir = Parent(dir) {
					plain[dir] = true
				}
			case 3:
				_ = d.Unmount(p)
				delete(mounts, p)
			case 4:
				gone := plain[p] && len(under(p)) == 1 && !mounted(p)
				want(t, "Remove("+p+")", d.Remove(p) == nil, gone)
				if gone {
					delete(plain, p)
				}
			case 5:
				gone := !slices.ContainsFunc(under(p), mounted)
				want(t, "RemoveAll("+p+")", d.RemoveAll(p) == nil, gone)
				for _, below := range under(p) {
					if gone {
						delete(plain, below)
					}
				}
			}
			dir, source := path(), path()
			var paths, children, below, from []string
			for _, p := range slices.Sorted(maps.Keys(plain)) {
				paths = append(paths, p+"/")
				if Parent(p) == dir {
					children = append(children, p[len(dir)+1:])
				}
				if mounted(p) && slices.Contains(under(dir), p) {
					below = append(below, p)
				}
				if mounts[p] == source {
					from = append(from, p)
				}
			}
			want(t, "paths", d.Paths(), paths)
			want(t, "children of "+dir, d.Children(dir), children)
			want(t, "mounts from "+source, d.MountsFrom(source), from)
			var list []string
			for _, m := range d.MountsUnder(dir) {
				list = append(list, m.Path)
			}
			want(t, "mounts under "+dir, list, below)
			first := ""
			if m := d.FirstUnder(dir); m != nil {
				first = m.Path
			}
			want(t, "first mount under "+dir, first, append(below, "")[0])
		}
	}
}
