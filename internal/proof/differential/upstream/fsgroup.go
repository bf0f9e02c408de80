package upstream

import (
	"os"
	"strings"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	_ "k8s.io/kubernetes/pkg/volume"
)

// changeFile changes the group of one file: the last step of what a volume plugin does with the files of a volume.
//
//go:linkname changeFile k8s.io/kubernetes/pkg/volume.filePermissionChangeFunc
var changeFile func(path string, group *int64, readOnly bool, info os.FileInfo) error

// realChangeFile is the original function.
var realChangeFile = changeFile

// roots are the machines by their root directories.
var roots sync.Map

func init() {
	changeFile = func(path string, group *int64, readOnly bool, info os.FileInfo) error {
		var of *machine
		roots.Range(func(root, m any) bool {
			if strings.HasPrefix(path, root.(string)+"/") {
				of = m.(*machine)
			}
			return of == nil
		})
		if of != nil {
			return of.changeFile(path, group, readOnly, info)
		}
		return realChangeFile(path, group, readOnly, info)
	}
}

// changeFile changes a file on a machine. A mounted volume has no file but its root, which takes as long as all files of a real one.
func (m *machine) changeFile(path string, group *int64, readOnly bool, info os.FileInfo) error {
	volume := m.filesAt(path)
	if volume == "" {
		return realChangeFile(path, group, readOnly, info)
	}
	m.mu.Lock()
	k := m.kubelet
	m.mu.Unlock()
	if k == nil {
		<-m.cluster.Context.Done()
		return errDead
	}
	if d := m.cluster.cfg.GroupChange; d > 0 {
		before, over := k.endsAt(time.Now().Add(d))
		defer over()
		select {
		case <-time.After(d):
		case <-k.ctx.Done():
		}
		k.endAfter(before)
	}
	if err := k.live(); err != nil {
		return err
	}
	if err := realChangeFile(path, group, readOnly, info); err != nil {
		return err
	}
	m.cluster.setGroup(volume, *group)
	return nil
}

// groupOf returns the group of a volume's files.
func (c *Cluster) groupOf(volume string) (group int64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	group, known = c.groups[volume]
	return group, known
}

// setGroup sets the group of a volume's files, wherever it is mounted.
func (c *Cluster) setGroup(volume string, group int64) {
	c.mu.Lock()
	c.groups[volume] = group
	c.mu.Unlock()
	for _, m := range c.machines {
		points, err := m.mounter.List()
		if err != nil {
			continue
		}
		for _, p := range points {
			if m.files(p) == volume {
				own(p.Path, group)
			}
		}
	}
}

// own gives a directory to a group, as the kubelet does with files of a volume.
func own(dir string, group int64) {
	_ = os.Chown(dir, -1, int(group))
	_ = os.Chmod(dir, 0o770|os.ModeSetgid)
}
