package fake

// MountGroup is an option that makes a driver with VOLUME_MOUNT_GROUP.
func MountGroup() MemoryOption { return func(m *Memory) { m.mountGroup = true } }

// MountsWithGroup is what the option MountGroup says; false without it.
func (m *Memory) MountsWithGroup() bool { return m.mountGroup }
