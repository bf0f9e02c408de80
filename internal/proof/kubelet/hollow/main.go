// Command hollow is the kubelet of Kubernetes, unaltered, with containers, images, mounts and cgroups that are made of memory, as in Kubernetes'
// own tests of large clusters (kubemark).
package main

import (
	"context"
	"flag"
	"os"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	remote "k8s.io/cri-client/pkg"
	fakeremote "k8s.io/cri-client/pkg/fake"
	"k8s.io/klog/v2"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubemark"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
)

func main() {
	klog.InitFlags(nil)
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	node := flag.String("node", "", "name of the node")
	root := flag.String("root", "", "directory of the kubelet")
	driver := flag.String("driver", "", "name of a CSI driver on the node")
	flag.Parse()
	if err := run(*kubeconfig, *node, *root, *driver); err != nil {
		klog.ErrorS(err, "The kubelet cannot run")
		os.Exit(1)
	}
}

// run runs the kubelet until the program ends.
func run(kubeconfig, node, root, driver string) error {
	ctx := context.Background()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	endpoint, err := fakeremote.GenerateEndpoint()
	if err != nil {
		return err
	}
	containers := fakeremote.NewFakeRemoteRuntime()
	if err := containers.Start(endpoint); err != nil {
		return err
	}
	service, err := remote.NewRemoteRuntimeService(ctx, endpoint, 15*time.Second, noop.NewTracerProvider(), false)
	if err != nil {
		return err
	}
	if err := serveDriver(root, driver, node); err != nil {
		return err
	}
	if err := os.Setenv("TMPDIR", root); err != nil { // for the directories that the next call makes
		return err
	}
	options, settings := kubemark.GetHollowKubeletConfig(&kubemark.HollowKubeletOptions{NodeName: node, MaxPods: 110})
	options.RootDirectory = root
	settings.EnableServer = false
	settings.ClusterDNS = []string{"10.96.0.10"}
	// As in an ordinary cluster, and not as in kubemark.
	settings.EnableControllerAttachDetach = true
	settings.SyncFrequency.Duration = time.Minute
	// All scenarios begin together.
	settings.RegistryPullQPS, settings.EventRecordQPS = 0, 0
	k := kubemark.NewHollowKubelet(options, settings, client, client, &cadvisortest.Fake{NodeName: node}, containers.ImageService,
		runtime{service, containers.RuntimeService}, cm.NewStubContainerManager())
	k.KubeletDeps.ProbeManager = nil // the real one
	k.KubeletDeps.HostUtil = hostutil.NewHostUtil()
	k.KubeletDeps.Recorder, k.KubeletDeps.EventClient = nil, client.CoreV1()
	k.Run(ctx)
	return nil
}
