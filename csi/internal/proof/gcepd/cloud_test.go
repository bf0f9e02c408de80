package gcepd

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/GoogleCloudPlatform/k8s-cloud-provider/pkg/cloud/meta"
	spec "github.com/container-storage-interface/spec/lib/go/csi"
	compute "google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"
	gce "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/gce-cloud-provider/compute"
	"sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/parameters"

	"github.com/volsim/volsim/csi"
)

const (
	project = "test-project"
	zone    = "country-region-zone"
)

// cloud is the fake cloud of the driver, with what the real one does and the fake lacks: it can be used concurrently, a disk in use cannot
// be deleted or attached to a second instance, disks list their users and do not shrink, a disk is at least as large as its snapshot, and
// instances can be deleted. Operations that take long in the real cloud call csi.Pause.
type cloud struct {
	*gce.FakeCloudProvider
	mu        sync.Mutex
	instances []*compute.Instance
}

func newCloud(nodes ...string) (*cloud, error) {
	fake, err := gce.CreateFakeCloudProvider(project, zone, nil)
	if err != nil {
		return nil, err
	}
	c := &cloud{FakeCloudProvider: fake}
	for _, node := range nodes {
		c.start(node)
	}
	return c, nil
}

// start creates an instance.
func (c *cloud) start(node string) {
	link := fmt.Sprintf("%sprojects/%s/zones/%s/instances/%s", gce.BasePath, project, zone, node)
	i := &compute.Instance{Name: node, SelfLink: link}
	c.instances = append(c.instances, i)
	c.InsertInstance(i, zone, node)
}

// remove deletes an instance. Its disks remain.
func (c *cloud) remove(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.instances = slices.DeleteFunc(c.instances, func(i *compute.Instance) bool { return i.Name == node })
}

// users returns the instances to which a disk is attached, and whether one of them can write to it.
func (c *cloud) users(disk string) (users []string, writes bool) {
	for _, i := range c.instances {
		for _, d := range i.Disks {
			if d.DeviceName == disk {
				users, writes = append(users, i.SelfLink), writes || d.Mode != "READ_ONLY"
			}
		}
	}
	return users, writes
}

// inUse is the error of the real cloud for a disk that instances use.
func inUse(disk string, users []string) error {
	return &googleapi.Error{
		Code: http.StatusBadRequest, Message: fmt.Sprintf("The disk resource '%s' is already being used by '%s'", disk, strings.Join(users, ", ")),
		Errors: []googleapi.ErrorItem{{Reason: "resourceInUseByAnotherResource"}},
	}
}

func (c *cloud) GetDisk(ctx context.Context, project string, key *meta.Key) (*gce.CloudDisk, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.FakeCloudProvider.GetDisk(ctx, project, key)
}

func (c *cloud) RepairUnderspecifiedVolumeKey(ctx context.Context, project string, key *meta.Key, fallback string) (string, *meta.Key, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.FakeCloudProvider.RepairUnderspecifiedVolumeKey(ctx, project, key, fallback)
}

func (c *cloud) InsertDisk(ctx context.Context, project string, key *meta.Key, params parameters.DiskParameters, size int64,
	limits *spec.CapacityRange, replicas []string, snapshot, source string, multiWriter bool, mode string) error {
	csi.Pause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, err := c.FakeCloudProvider.GetSnapshot(ctx, project, path.Base(snapshot)); err == nil && s.DiskSizeGb<<30 > size {
		return &googleapi.Error{Code: http.StatusBadRequest, Message: fmt.Sprintf("Requested disk size cannot be smaller than the snapshot size (%d GB)", s.DiskSizeGb)}
	}
	return c.FakeCloudProvider.InsertDisk(ctx, project, key, params, size, limits, replicas, snapshot, source, multiWriter, mode)
}

func (c *cloud) DeleteDisk(ctx context.Context, project string, key *meta.Key) error {
	csi.Pause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if users, _ := c.users(key.Name); len(users) > 0 {
		return inUse(key.Name, users)
	}
	return c.FakeCloudProvider.DeleteDisk(ctx, project, key)
}

func (c *cloud) UpdateDisk(ctx context.Context, project string, key *meta.Key, disk *gce.CloudDisk, params parameters.ModifyVolumeParameters) error {
	csi.Pause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.FakeCloudProvider.UpdateDisk(ctx, project, key, disk, params)
}

func (c *cloud) ResizeDisk(ctx context.Context, project string, key *meta.Key, size int64) (int64, error) {
	csi.Pause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	disk, err := c.FakeCloudProvider.GetDisk(ctx, project, key)
	if err != nil {
		return -1, &googleapi.Error{Code: http.StatusNotFound, Message: err.Error()} // the error of the fake has no code
	}
	if disk.GetSizeGb()<<30 >= size {
		return disk.GetSizeGb(), nil // the fake shrinks disks
	}
	return c.FakeCloudProvider.ResizeDisk(ctx, project, key, size)
}

// ListSnapshots has a filter of the form "sourceDisk eq .*DISK$". The fake returns the snapshots of all other disks.
func (c *cloud) ListSnapshots(ctx context.Context, filter string) ([]*compute.Snapshot, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, next, err := c.FakeCloudProvider.ListSnapshots(ctx, "")
	if disk, ok := strings.CutPrefix(filter, "sourceDisk eq .*"); ok {
		all = slices.DeleteFunc(all, func(s *compute.Snapshot) bool { return !strings.HasSuffix(s.SourceDisk, strings.TrimSuffix(disk, "$")) })
	}
	return all, next, err
}

func (c *cloud) AttachDisk(ctx context.Context, project string, key *meta.Key, mode, kind, zone, instance string, force bool) error {
	csi.Pause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if users, writes := c.users(key.Name); len(users) > 0 && (writes || mode != "READ_ONLY") {
		return inUse(key.Name, users)
	}
	return c.FakeCloudProvider.AttachDisk(ctx, project, key, mode, kind, zone, instance, force)
}

func (c *cloud) DetachDisk(ctx context.Context, project, device, zone, instance string) error {
	csi.Pause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.FakeCloudProvider.DetachDisk(ctx, project, device, zone, instance)
}

func (c *cloud) GetInstanceOrError(_ context.Context, _, _, name string) (*compute.Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range c.instances {
		if i.Name == name {
			return i, nil
		}
	}
	return nil, &googleapi.Error{Code: http.StatusNotFound, Errors: []googleapi.ErrorItem{{Reason: "notFound"}}}
}

func (c *cloud) ListInstances(context.Context, []googleapi.Field) ([]*compute.Instance, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.instances), "", nil
}

// ListDisks lists the disks by name, with their users if the fields include them.
func (c *cloud) ListDisks(ctx context.Context, fields []googleapi.Field) ([]*compute.Disk, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, token, err := c.FakeCloudProvider.ListDisks(ctx, fields)
	for _, d := range all {
		if slices.Contains(fields, "items/users") {
			d.Users, _ = c.users(d.Name)
		}
	}
	slices.SortFunc(all, func(a, b *compute.Disk) int { return strings.Compare(a.Name, b.Name) })
	return all, token, err
}
