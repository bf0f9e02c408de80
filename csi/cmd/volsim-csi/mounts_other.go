//go:build !linux

package main

import "errors"

// unmount is not needed: only Linux has mountinfo.
func unmount(string) error { return errors.ErrUnsupported }
