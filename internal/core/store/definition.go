package store

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
)

const (
	definitionKind      api.Kind = "CustomResourceDefinition.apiextensions.k8s.io"
	definitionFinalizer          = "customresourcecleanup.apiextensions.k8s.io"
)

// definition contains the fields of a CustomResourceDefinition that define its kind.
type definition struct {
	Spec struct {
		Group      string          `json:"group"`
		Scope      string          `json:"scope"`
		Names      definitionNames `json:"names"`
		Conversion struct {
			Strategy string `json:"strategy"`
		} `json:"conversion"`
		Versions []struct {
			Name               string  `json:"name"`
			Served             bool    `json:"served"`
			Storage            bool    `json:"storage"`
			Deprecated         bool    `json:"deprecated"`
			DeprecationWarning *string `json:"deprecationWarning"`
			Subresources       struct {
				Status *struct{} `json:"status"`
				Scale  *struct{} `json:"scale"`
			} `json:"subresources"`
		} `json:"versions"`
	} `json:"spec"`
}

type definitionNames struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular"`
	ShortNames []string `json:"shortNames"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind"`
	Categories []string `json:"categories"`
}

// readDefinition returns the fields of a CustomResourceDefinition, empty ones where they have another type.
func readDefinition(obj *plain.Object) definition {
	var d definition
	if data, err := json.Marshal(obj.Content()); err == nil {
		_ = json.Unmarshal(data, &d) // what cannot be decoded stays empty, and is then Required
	}
	return d
}

// kind returns the kind that the definition defines.
func (d definition) kind() *objkinds.Kind {
	names := d.Spec.Names
	k := &objkinds.Kind{
		Group:      d.Spec.Group,
		Kind:       names.Kind,
		Plural:     names.Plural,
		Singular:   names.Singular,
		Short:      names.ShortNames,
		Categories: names.Categories,
		Namespaced: d.Spec.Scope == "Namespaced",
		Generation: true,
		Custom:     true,
		Converted:  d.Spec.Conversion.Strategy == "Webhook",
	}
	for _, v := range d.Spec.Versions {
		if v.Served {
			k.Versions = append(k.Versions, v.Name)
		}
		k.Status = k.Status || v.Subresources.Status != nil
		k.Scale = k.Scale || v.Subresources.Scale != nil
	}
	// API-304: the newest stable version is preferred, then beta, then alpha.
	slices.SortFunc(k.Versions, func(a, b string) int { return -version.CompareKubeAwareVersionStrings(a, b) })
	return k
}

// completeDefinition sets the defaults of the names in a CustomResourceDefinition.
func completeDefinition(obj *plain.Object) {
	spec, _ := obj.Content()["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	kind, _ := names["kind"].(string)
	if kind == "" {
		return
	}
	names = maps.Clone(names)
	for name, value := range map[string]string{"singular": strings.ToLower(kind), "listKind": kind + "List"} {
		if text, _ := names[name].(string); text == "" {
			names[name] = value
		}
	}
	spec = maps.Clone(spec)
	spec["names"] = names
	spec["conversion"] = completeConversion(spec["conversion"])
	obj.SetContent(maps.Clone(obj.Content()))
	obj.Content()["spec"] = spec
}

// completeConversion sets the defaults of a conversion: none, and the port of a webhook's service.
func completeConversion(conversion any) any {
	if conversion == nil {
		return map[string]any{"strategy": "None"}
	}
	fields, _ := conversion.(map[string]any)
	webhook, _ := fields["webhook"].(map[string]any)
	client, _ := webhook["clientConfig"].(map[string]any)
	service, _ := client["service"].(map[string]any)
	if service == nil || service["port"] != nil {
		return conversion
	}
	service, client, webhook, fields = maps.Clone(service), maps.Clone(client), maps.Clone(webhook), maps.Clone(fields)
	service["port"], client["service"], webhook["clientConfig"], fields["webhook"] = int64(DefaultWebhookPort), service, client, webhook
	return fields
}

// DefaultWebhookPort is the port of a service at which a webhook is.
const DefaultWebhookPort = 443

func definitionCondition(name, reason, message string, now metav1.Time) map[string]any {
	return map[string]any{
		"type": name, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now.UTC().Format(time.RFC3339),
	}
}

// followDefinitions keeps the kinds of CustomResourceDefinitions. t is their table.
func followDefinitions(s *Store, t *table[*plain.Object]) {
	t.watchers = append(t.watchers, &watch[*plain.Object]{table: t, fn: func(c api.Change[*plain.Object]) {
		d, served := servedDefinition(c.Object)
		kind := d.kind()
		name := api.Kind(kind.Name())
		if c.Type == api.Deleted || !served {
			// API-333: another definition may have the kind.
			if known := s.others.custom[name]; known != nil && known.Plural == kind.Plural {
				delete(s.others.custom, name)
			}
			return
		}
		if HasTypedTable(name) || kind.Kind == "" {
			return
		}
		if s.others.custom == nil {
			s.others.custom = map[api.Kind]*objkinds.Kind{}
		}
		s.others.custom[name] = kind
		if custom, ok := s.others.tables[name]; ok {
			t := own(custom)
			rules := otherStrategy(kind)
			t.resource, t.strategy = otherResource(kind), &rules
		}
	}})
}

// deleteDefinition deletes a CustomResourceDefinition: first its objects (API-307), then, when the last of them is gone, itself.
func deleteDefinition(s *Store, t *table[*plain.Object], c *cell[*plain.Object]) *plain.Object {
	d, served := servedDefinition(c.obj)
	objects := s.others.tables[api.Kind(d.kind().Name())]
	if objects == nil || objects.Len() == 0 || !served {
		return t.deleteNow(c, c.obj.Finalizers)
	}
	custom := own(objects)
	if c.obj.DeletionTimestamp != nil {
		return c.obj
	}
	obj, now := t.strategy.Shallow(c.obj), clock(s.now())
	obj.Finalizers = append(slices.Clone(obj.Finalizers), definitionFinalizer)
	obj.SetContent(withCondition(obj.Content(),
		definitionCondition("Terminating", "InstanceDeletionInProgress", "CustomResource deletion is in progress", now)))
	obj.DeletionTimestamp, obj.DeletionGracePeriodSeconds = &now, new(int64)
	obj.Generation++
	t.put(c, obj)
	// API-307: the definition stays until a finalizer no longer keeps any of its objects.
	custom.watchers = append(custom.watchers, &watch[*plain.Object]{table: custom, fn: func(change api.Change[*plain.Object]) {
		if change.Type == api.Deleted && custom.Len() == 0 {
			finishDefinition(t, obj)
		}
	}})
	for _, instance := range custom.List() {
		custom.deleteNow(custom.cellOf(&instance.ObjectMeta), instance.Finalizers)
	}
	return obj
}

// finishDefinition removes the finalizer of a CustomResourceDefinition whose objects are gone.
func finishDefinition(t *table[*plain.Object], deleted *plain.Object) {
	c := t.cellOf(&deleted.ObjectMeta)
	if c == nil || c.obj.UID != deleted.UID || !slices.Contains(c.obj.Finalizers, definitionFinalizer) {
		return
	}
	obj := t.strategy.Shallow(c.obj)
	obj.Finalizers = slices.DeleteFunc(slices.Clone(obj.Finalizers), func(name string) bool { return name == definitionFinalizer })
	if !blocked(&obj.ObjectMeta) {
		t.remove(c)
		return
	}
	t.put(c, obj)
}

// withCondition returns content with a condition added to its status, or replaced there.
func withCondition(content map[string]any, condition map[string]any) map[string]any {
	status, _ := content["status"].(map[string]any)
	status = maps.Clone(status)
	if status == nil {
		status = map[string]any{}
	}
	old, _ := status["conditions"].([]any)
	conditions := slices.Clone(old)
	at := slices.IndexFunc(conditions, func(c any) bool {
		fields, _ := c.(map[string]any)
		return fields["type"] == condition["type"]
	})
	if at < 0 {
		at, conditions = len(conditions), append(conditions, nil)
	}
	conditions[at] = condition
	status["conditions"] = conditions
	return withStatus(content, map[string]any{"status": status})
}

// KindOfDefinition returns the kind that a CustomResourceDefinition defines, or nil for any other object.
func KindOfDefinition(obj api.Object) *objkinds.Kind {
	if obj == nil || api.KindOf(obj) != definitionKind {
		return nil
	}
	o, err := plain.From(obj)
	if err != nil {
		return nil
	}
	return readDefinition(o).kind()
}
