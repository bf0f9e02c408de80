package volsim

import "github.com/volsim/volsim/fake"

// Faults is all that can go wrong in a cluster. The embedded rules say which calls of controllers, kubelets and sidecars to the API
// server and to backends fail, wait, lose their reply or crash the caller; the methods crash controllers, and stop and cut off nodes.
type Faults struct {
	*fake.Faults
	cluster *Cluster
}

// StopKubelet ends the kubelet of a node at once. Containers run on and what is mounted stays.
func (f *Faults) StopKubelet(node string) error {
	m, err := f.cluster.Machine(node)
	if err != nil {
		return err
	}
	m.Stop()
	return nil
}

// PowerOff stops a node: its kubelet, its containers and all its mounts are gone; files stay.
func (f *Faults) PowerOff(node string) error {
	m, err := f.cluster.Machine(node)
	if err != nil {
		return err
	}
	m.PowerOff()
	return nil
}

// Start brings a node or its kubelet back. One that runs is left alone.
func (f *Faults) Start(node string) error {
	m, err := f.cluster.Machine(node)
	if err != nil {
		return err
	}
	m.Start()
	return nil
}

// Reboot is PowerOff and Start.
func (f *Faults) Reboot(node string) error {
	m, err := f.cluster.Machine(node)
	if err != nil {
		return err
	}
	m.PowerOff()
	m.Start()
	return nil
}

// Partition cuts a node off from the API server, or ends that. Its containers run on and can reach the storage.
func (f *Faults) Partition(node string, cut bool) error {
	m, err := f.cluster.Machine(node)
	if err != nil {
		return err
	}
	m.Partition(cut)
	return nil
}

// CrashController stops a controller, by its actor name, at once, wherever it is. What it kept in memory is lost; what it wrote stays.
func (f *Faults) CrashController(controller string) error { return f.cluster.Crash(controller) }

// RestartController starts a controller that crashed; it knows only what the API says.
func (f *Faults) RestartController(controller string) error { return f.cluster.Restart(controller) }
