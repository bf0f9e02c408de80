// Package envtest replaces the test environment of controller-runtime (sigs.k8s.io/controller-runtime/pkg/envtest) by a simulated cluster.
// It starts in milliseconds and needs no binaries, and the controllers of Kubernetes run: claims are bound, protected and deleted.
//
//	env := &envtest.Environment{CRDDirectoryPaths: []string{"config/crd/bases"}}
//	cfg, err := env.Start()
//	...
//	defer env.Stop()
//
// Time passes at the pace of real time; after each write the controllers finish their work at once. Requests of clients go
// through admission webhooks and policies. There is no authentication.
package envtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/apiserver/clock"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/tools/standard"
	"github.com/volsim/volsim/storage"
)

// Environment is a cluster that is served on a port of the loopback interface. The zero value can be started.
type Environment struct {
	// Config is that of clients. Start sets it.
	Config *rest.Config
	// Scheme has the types of custom kinds. Definitions of kinds that it can convert (conversion.Hub and conversion.Convertible of controller-runtime)
	// get the conversion webhook that the test serves; those of other kinds get none, whatever the manifest says. Without one, it is scheme.Scheme
	// of client-go.
	Scheme *runtime.Scheme
	// BinaryAssetsDirectory is ignored: there are no binaries. It is for suites that set it.
	BinaryAssetsDirectory string
	// CRDDirectoryPaths are files, and folders with files, of CustomResourceDefinitions in YAML or JSON. Start stores their objects, and skips
	// those of other kinds.
	CRDDirectoryPaths []string
	// ErrorIfCRDPathMissing makes Start fail if one of the paths does not exist. By default it is ignored.
	ErrorIfCRDPathMissing bool
	// CRDInstallOptions has further paths, and may have another scheme.
	CRDInstallOptions CRDInstallOptions
	// WebhookInstallOptions has configurations of admission webhooks, and says where the test serves them and conversion webhooks.
	WebhookInstallOptions WebhookInstallOptions

	// Backends are the storage systems of the cluster; see package fake. With none, the default, only volumes that exist can be bound.
	Backends []storage.Backend
	// Kubelets gives each Node object a simulated node with a kubelet, which runs pods. By default, false, a Node object is data, as with a
	// bare API server, and controllers that delete what belongs to absent objects do not run (garbage collection of objects and pods, node
	// lifecycle, taint eviction).
	Kubelets bool

	cluster *volsim.Cluster
	server  *apiserver.Server
	http    *http.Server
	cancel  context.CancelFunc
}

// CRDInstallOptions are further definitions to store.
type CRDInstallOptions struct {
	// Scheme is like Environment.Scheme, and comes first.
	Scheme *runtime.Scheme
	// Paths are like Environment.CRDDirectoryPaths.
	Paths []string
	// ErrorIfPathMissing is like Environment.ErrorIfCRDPathMissing.
	ErrorIfPathMissing bool
}

// Start starts the cluster and returns Config. It is an error if the environment was started before.
func (env *Environment) Start() (*rest.Config, error) {
	if env.cluster != nil {
		return nil, errors.New("start environment: it was started before; use another one")
	}
	// Clients expect that the default namespaces exist, and no other.
	cfg := volsim.Config{Start: time.Now().UTC().Truncate(time.Second), Backends: env.Backends, StrictNamespaces: true}
	if !env.Kubelets {
		cfg.ManualNodes = true
		cfg.Without = []string{actors.GarbageCollector, actors.PodGC, actors.NodeLifecycle, actors.TaintEviction}
	}
	c, err := volsim.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("start environment: %w", err)
	}
	// Real environments have the default roles and priority classes.
	objects, _ := standard.New(standard.APIServer, nil)
	if err = c.AddController(objects); err != nil {
		c.Close()
		return nil, fmt.Errorf("start environment: %w", err)
	}
	// The server validates the definitions.
	server, clock := apiserver.NewWithClock(
		apiserver.Config{
			Backend: apiserver.ForEngine(internals.Engine(c)), TaintNodes: true, PodPriority: true, StoredRoles: true, Inject: c.Faults.Inject,
			Webhooks: webhooks.NewClient(nil),
		},
		internals.Engine(c), clock.Pace{Settle: true, Factor: 1},
	)
	hooks := &env.WebhookInstallOptions
	if err = hooks.prepare(); err == nil {
		err = env.install(c)
	}
	var listener net.Listener
	if err == nil {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("start environment: %w", errors.Join(err, hooks.remove()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	env.cluster, env.server, env.cancel = c, server, cancel
	// Streams end with ctx, so that the server can be closed.
	env.http = &http.Server{
		Handler: server, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	server.ReviewControllers(ctx)
	go clock.Run(ctx)
	go func() { _ = env.http.Serve(listener) }() // it ends in Stop
	env.Config = &rest.Config{
		Host: "http://" + listener.Addr().String(), QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}
	return env.Config, nil
}

// install stores the objects of the manifests.
func (env *Environment) install(c *volsim.Cluster) error {
	if env.Scheme == nil {
		env.Scheme = scheme.Scheme
	}
	if env.CRDInstallOptions.Scheme == nil {
		env.CRDInstallOptions.Scheme = env.Scheme
	}
	i := &installer{hooks: &env.WebhookInstallOptions}
	if len(env.CRDDirectoryPaths)+len(env.CRDInstallOptions.Paths) > 0 {
		i.convertible = convertible(env.CRDInstallOptions.Scheme)
	}
	return errors.Join(
		i.applyDefinitions(c, env.CRDDirectoryPaths, env.ErrorIfCRDPathMissing),
		i.applyDefinitions(c, env.CRDInstallOptions.Paths, env.CRDInstallOptions.ErrorIfPathMissing),
		env.WebhookInstallOptions.applyConfigurations(c),
	)
}

// Stop ends the cluster. It does nothing if the environment was not started.
func (env *Environment) Stop() error {
	if env.cluster == nil {
		return nil
	}
	env.cancel()
	err := env.http.Close()
	env.Do(func(c *volsim.Cluster) { c.Close() })
	env.cluster = nil
	return errors.Join(err, env.WebhookInstallOptions.remove())
}

// Do calls fn with the cluster while no request is answered, for example to let time pass or to add a fault. fn must not make requests.
func (env *Environment) Do(fn func(c *volsim.Cluster)) {
	env.server.Do(func() { fn(env.cluster) })
}

// applyDefinitions stores the CustomResourceDefinitions of files, and of the files in folders, in the order of their names. Other documents are
// skipped, such as a kustomization.yaml.
func (i *installer) applyDefinitions(c *volsim.Cluster, paths []string, mustExist bool) error {
	for _, path := range paths {
		files, err := manifests(path)
		if errors.Is(err, fs.ErrNotExist) && !mustExist {
			continue
		}
		if err != nil {
			return err
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err == nil {
				data, err = i.definitions(data)
			}
			if err == nil {
				err = c.Apply(data)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

// definitions returns the documents of a manifest that are CustomResourceDefinitions, with the conversion that they have in the test.
func (i *installer) definitions(manifest []byte) ([]byte, error) {
	var kept [][]byte
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return bytes.Join(kept, []byte("\n---\n")), nil
		}
		if err != nil {
			return nil, err
		}
		obj := &unstructured.Unstructured{}
		if err := utilyaml.Unmarshal(document, &obj.Object); err != nil {
			return nil, err
		}
		if obj.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if i.setConversion(obj) {
			if document, err = yaml.Marshal(obj.Object); err != nil {
				return nil, err
			}
		}
		kept = append(kept, document)
	}
}

// manifests returns the path if it is a file, or the manifests in the folder.
func manifests(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	var files []string
	for _, entry := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) && !entry.IsDir() {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, err
}
