package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/columns"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

// Objects as Tables and as PartialObjectMetadata.

// convert returns an object in the format and the type that the request asks for.
func (s *Server) convert(r *request, obj api.Object) ([]byte, error) {
	switch r.format.as.Kind {
	case "Table":
		opts, err := tableOptions(r)
		if err != nil {
			return nil, err
		}
		return s.table(r, []api.Object{obj}, metav1.ListMeta{ResourceVersion: obj.GetResourceVersion()}, opts)
	case "PartialObjectMetadata":
		return r.encodePartial(obj)
	}
	if r.resource.Custom {
		return nil, errors.New("content is not a list") // API-588
	}
	return nil, errNotConvertible(fmt.Sprintf("you requested PartialObjectMetadataList, but the requested object is not a list (*%s.%s)",
		internalPackage(r.resource.Group), r.resource.KindName))
}

// convertList is convert for a list.
func (s *Server) convertList(r *request, items []api.Object, list metav1.ListMeta) ([]byte, error) {
	switch r.format.as.Kind {
	case "Table":
		opts, err := tableOptions(r)
		if err != nil {
			return nil, err
		}
		return s.table(r, items, list, opts)
	case "PartialObjectMetadataList":
		gv := r.format.as.GroupVersion()
		partials := metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: gv.String()}, ListMeta: list,
		}
		for _, obj := range items {
			partials.Items = append(partials.Items, *partial(obj, gv))
		}
		if gv == metav1beta1.SchemeGroupVersion {
			// API-586: the message of the older list has its fields in another order.
			return r.format.encode(&metav1beta1.PartialObjectMetadataList{TypeMeta: partials.TypeMeta, ListMeta: list, Items: partials.Items}, gv.WithKind(partials.Kind))
		}
		return r.format.encode(&partials, gv.WithKind(partials.Kind))
	}
	listType := internalPackage(r.resource.Group) + "." + r.resource.KindName + "List"
	if r.resource.Custom {
		listType = "unstructured.UnstructuredList" // API-588
	}
	return nil, errNotConvertible(fmt.Sprintf("you requested PartialObjectMetadata, but the requested object is a list (*%s)", listType))
}

func errNotConvertible(message string) error {
	return mediaError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, message)
}

func tableOptions(r *request) (metav1.TableOptions, error) {
	var opts metav1.TableOptions
	if err := internalscheme.ParameterCodec.DecodeParameters(r.query, metav1.SchemeGroupVersion, &opts); err != nil {
		return opts, err
	}
	switch errs := metav1validation.ValidateTableOptions(&opts); len(errs) {
	case 0:
		return opts, nil
	case 1:
		return opts, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs[0]))
	default:
		return opts, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs))
	}
}

// table returns the JSON of a Table.
func (s *Server) table(r *request, items []api.Object, list metav1.ListMeta, opts metav1.TableOptions) ([]byte, error) {
	shown := columns.Of(r.resource.Kind)
	if v := s.resources.Definition(r.resource); v != nil {
		shown = kubectl.CustomColumns(r.resource.Kind, v.Columns)
	}
	table := metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: r.format.as.GroupVersion().String()}, ListMeta: list, Rows: []metav1.TableRow{},
	}
	if !opts.NoHeaders { // API-488
		table.ColumnDefinitions = columns.Definitions(shown)
	}
	for _, obj := range columns.InOrder(r.resource.Kind, items) {
		row := metav1.TableRow{Conditions: columns.Conditions(obj)}
		for _, c := range shown {
			row.Cells = append(row.Cells, c.Cell(obj, s.cfg.Backend.Now()))
		}
		if r.resource.Kind == "IPAddress.networking.k8s.io" { // API-568: a cell without a column
			row.Cells = append(row.Cells, kubectl.Age(s.cfg.Backend.Now(), obj))
		}
		switch opts.IncludeObject {
		case metav1.IncludeNone:
		case metav1.IncludeObject:
			data, err := s.encode(r.resource, obj)
			if err != nil {
				return nil, err
			}
			row.Object = runtime.RawExtension{Raw: data}
		default:
			row.Object = runtime.RawExtension{Object: partial(obj, r.format.as.GroupVersion())}
		}
		table.Rows = append(table.Rows, row)
	}
	return json.Marshal(table)
}

// partial returns the metadata of an object.
func partial(obj api.Object, gv schema.GroupVersion) *metav1.PartialObjectMetadata {
	p := meta.AsPartialObjectMetadata(obj)
	if obj.GetObjectKind().GroupVersionKind().Kind == "DaemonSet" && p.Annotations[appsv1.DeprecatedTemplateGeneration] != "" { // API-568: the server keeps it in a field of DaemonSets
		p.Annotations = maps.Clone(p.Annotations)
		delete(p.Annotations, appsv1.DeprecatedTemplateGeneration)
	}
	p.SetGroupVersionKind(gv.WithKind("PartialObjectMetadata"))
	return p
}

// encodePartial returns the metadata of an object in the format of the request.
func (r *request) encodePartial(obj api.Object) ([]byte, error) {
	p := partial(obj, r.format.as.GroupVersion())
	return r.format.encode(p, p.GroupVersionKind())
}

// watchConverter returns the encoder of a watch whose events have another type. Only the first Table has headers.
func (s *Server) watchConverter(r *request) (encoder, error) {
	if r.format.as.Kind != "Table" {
		return r.encodePartial, nil
	}
	opts, err := tableOptions(r)
	if err != nil {
		return nil, err
	}
	return func(obj api.Object) ([]byte, error) {
		data, err := s.table(r, []api.Object{obj}, metav1.ListMeta{ResourceVersion: obj.GetResourceVersion()}, opts)
		opts.NoHeaders = true
		return data, err
	}, nil
}
