package main

import "syscall"

// unmount unmounts a path, also if a process still uses it.
func unmount(path string) error {
	const noFollow = 8 // UMOUNT_NOFOLLOW
	return syscall.Unmount(path, syscall.MNT_DETACH|noFollow)
}
