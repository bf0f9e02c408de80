// Package testdriver is a small CSI 1.11 driver in memory, with bugs that can be switched on.
//
// Without bugs it follows the CSI specification. The comment of a [Bug] names the report of a real driver on which it is modelled, if there
// is one; the tests of this module prove that a story finds it. The storage system (volumes, snapshots and attachments) and the mounts of
// the nodes outlive the driver: [Driver.Restart] loses only what the driver has in memory, [Driver.Reboot] also the mounts of a node.
//
// IDs of volumes and snapshots are numbered, so the same calls give the same replies.
package testdriver
