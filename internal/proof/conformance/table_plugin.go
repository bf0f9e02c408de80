package conformance

import (
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// scriptedPlugin is an in-tree plugin that returns scripted results, and records every call without one.
type scriptedPlugin struct {
	script pluginScript
	wrong  []string
}

func (p *scriptedPlugin) Name() string { return p.script.Name }

// Supports returns true for every source, because there is no other plugin.
func (p *scriptedPlugin) Supports(*corev1.PersistentVolumeSource) bool { return true }

func (p *scriptedPlugin) Create(req storage.CreateRequest) (storage.Volume, error) {
	if len(p.script.Provision) == 0 {
		return storage.Volume{}, p.unexpected("provision", req.Name)
	}
	next := p.script.Provision[0]
	p.script.Provision = p.script.Provision[1:]
	if diff := cmp.Diff(next.ExpectedParameters, req.Parameters, cmpopts.EquateEmpty()); diff != "" {
		p.wrong = append(p.wrong, fmt.Sprintf("provision %s: parameters, -recorded +observed:\n%s", req.Name, diff))
	}
	if next.Error != nil {
		return storage.Volume{}, errors.New(*next.Error)
	}
	source := corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{}}
	return storage.Volume{ID: req.Name, Source: source}, nil
}

func (p *scriptedPlugin) Delete(req storage.DeleteRequest) error {
	return p.next("delete", req.ID, &p.script.Delete)
}

func (p *scriptedPlugin) Recycle(id string, _ *corev1.PersistentVolumeSource) error {
	return p.next("recycle", id, &p.script.Recycle)
}

func (p *scriptedPlugin) next(operation, id string, results *[]*string) error {
	if len(*results) == 0 {
		return p.unexpected(operation, id)
	}
	text := (*results)[0]
	*results = (*results)[1:]
	if text == nil {
		return nil
	}
	return errors.New(*text)
}

func (p *scriptedPlugin) unexpected(operation, id string) error {
	err := fmt.Errorf("%s %s: the plugin must not be called", operation, id)
	p.wrong = append(p.wrong, err.Error())
	return err
}

// failingRequests is an injector that lets requests to the API server fail. Each error is used for the first request that it matches.
type failingRequests []requestError

func (f *failingRequests) Inject(call api.Call) api.Fault {
	if len(*f) == 0 || call.Target != api.APIServer {
		return api.Fault{}
	}
	next := (*f)[0]
	resource, _ := meta.UnsafeGuessKindToResource(store.GroupVersionKind(api.Kind(call.Kind)))
	if call.Verb != next.Verb || resource.Resource != next.Resource {
		return api.Fault{}
	}
	*f = (*f)[1:]
	return api.Fault{Err: apiError(next)}
}

// apiError returns an error with that text, in the API server's form.
func apiError(e requestError) error {
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: e.Resource}, "")
	if exists.Error() == e.Error {
		return exists
	}
	return errors.New(e.Error)
}
