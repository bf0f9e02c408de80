package storage

// MountGrouper is a driver that can mount volumes with their files belonging to a group (VOLUME_MOUNT_GROUP). Kubelets leave it to
// such a driver, and change no files themselves.
type MountGrouper interface {
	MountsWithGroup() bool
}

// MountsWithGroup is what a [MountGrouper] says; false for any other backend.
func MountsWithGroup(b Backend) (yes bool) {
	g, ok := b.(MountGrouper)
	if !ok {
		return false
	}
	if err := Safely(b.Name(), "MountsWithGroup", func() error { yes = g.MountsWithGroup(); return nil }); err != nil {
		return false
	}
	return yes
}
