package apiserver

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/ownership"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/store"
)

// apply carries out a server-side apply: it merges the configuration into the object, or creates it.
func (s *Server) apply(r *request, opts metav1.PatchOptions) ([]byte, int, error) {
	code := http.StatusOK
	dryRun := len(opts.DryRun) > 0
	applied, err := s.write(r, r.ref(), dryRun, func() (api.Object, error) {
		live, err := s.live(r)
		created := apierrors.IsNotFound(err)
		if err != nil && !created {
			return nil, err
		}
		if created && r.subresource != "" {
			return nil, err
		}
		obj, err := s.applied(r, live, created, opts)
		if err != nil {
			return nil, err
		}
		if err := r.checkIdentity(obj); err != nil {
			return nil, err
		}
		previous := live
		if created {
			previous = nil
		}
		if err := s.checkSchemaAtOnce(r, obj, previous); err != nil {
			return nil, err
		}
		if !created {
			return s.fields.Keep(func() (api.Object, error) { return s.replace(r, obj, store.UpdateOptions{Patched: true}) })
		}
		if uid := obj.GetUID(); uid != "" {
			return nil, apierrors.NewConflict(schema.GroupResource{Group: r.resource.Group, Resource: r.resource.Resource}, r.name,
				fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		if !dryRun {
			obj.SetResourceVersion("") // whatever it is, there is no object to compare it with
		}
		code = http.StatusCreated
		return s.fields.Keep(func() (api.Object, error) {
			return s.store.CreateWith(obj, store.CreateOptions{DryRun: dryRun, Admit: s.admit})
		})
	})
	if err != nil {
		return nil, 0, err
	}
	data, err := s.represent(r, applied)
	return data, code, err
}

// applied returns the object with the configuration of the request applied, and with its managedFields.
func (s *Server) applied(r *request, live api.Object, create bool, opts metav1.PatchOptions) (api.Object, error) {
	current := s.fields.Empty(r.resource)
	if !create {
		var err error
		if current, err = s.fields.Stored(r.resource, live); err != nil {
			return nil, err
		}
	}
	obj, err := s.merged(r, current, opts)
	if err != nil {
		return nil, err
	}
	if obj, err = s.storable(r.resource, obj); err != nil {
		return nil, err
	}
	if _, err := s.resources.Definition(r.resource).Conform(obj, true); err != nil {
		return nil, err
	}
	return obj, nil
}

// merged applies the configuration of the request to an object in the Go type and the version of the resource.
func (s *Server) merged(r *request, current runtime.Object, opts metav1.PatchOptions) (api.Object, error) {
	if err := manifests.CheckAliases(r.body, maxExpansion); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: error converting YAML to JSON: %v", err))
	}
	configuration := &unstructured.Unstructured{Object: map[string]any{}}
	// API-553: whole numbers keep their digits.
	if err := yaml.Unmarshal(r.body, &configuration.Object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	obj, err := s.fields.Apply(ownership.Write{Resource: r.resource, Subresource: r.subresource, Manager: opts.FieldManager}, current, configuration,
		opts.Force != nil && *opts.Force)
	if err != nil {
		return nil, err
	}
	if opts.FieldValidation != metav1.FieldValidationIgnore {
		if err := yaml.UnmarshalStrict(r.body, &map[string]any{}); err != nil {
			if opts.FieldValidation == metav1.FieldValidationStrict {
				return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding YAML: %v", err))
			}
			r.warnings = append(r.warnings, fieldWarnings([]error{err})...)
		}
	}
	return obj, nil
}

// newTracker returns a tracker of managedFields.
func (s *Server) newTracker() *ownership.Tracker {
	cfg := ownership.Config{Resources: s.resources, Documents: s.documents, Now: s.cfg.Backend.Now, InVersion: s.inVersion, Convert: s.convertTo}
	if a, ok := s.cfg.Backend.(Attributor); ok {
		cfg.Writer = a.Writer
	}
	return ownership.New(cfg)
}
