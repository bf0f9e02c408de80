package engine

import (
	"encoding/base64"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
)

// authority is the ConfigMap of each namespace with the authority of the cluster.
const authority = "kube-root-ca.crt"

// Files returns what some fields of a Secret or a ConfigMap have under a key, and whether the object exists. It makes no call: kubelets watch the
// objects that their pods name. SIM: the watch has no lag, and kube-root-ca.crt exists in each namespace.
func (e *Engine) Files(kind api.Kind, namespace, name string, fields ...string) (value func(key string) (string, bool), ok bool) {
	obj, stored := e.store.Lookup(kind, api.Key(namespace, name)).(*plain.Object)
	if !stored {
		assumed := e.unknown(kind, namespace) || kind == objects.ConfigMapKind && name == authority
		return func(string) (string, bool) { return "unknown", assumed }, assumed
	}
	return func(key string) (string, bool) {
		for _, field := range fields {
			files, _ := obj.Field(field).(map[string]any)
			if value, ok := files[key]; ok {
				text, _ := value.(string)
				if kind == objects.SecretKind {
					decoded, _ := base64.StdEncoding.DecodeString(text) // it is valid
					text = string(decoded)
				}
				return text, true
			}
		}
		return "", false
	}, true
}

// Secret reads the content of a Secret from the server; nil for a nil reference.
func (server *API) Secret(p *Process, ref *corev1.SecretReference) (map[string]string, error) {
	if ref == nil {
		return nil, nil
	}
	obj, err := server.Get(p, api.Ref{Kind: objects.SecretKind, Key: api.Key(ref.Namespace, ref.Name)})
	if apierrors.IsNotFound(err) && server.engine.unknown(objects.SecretKind, ref.Namespace) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	secret, ok := obj.(*plain.Object)
	if !ok {
		return nil, fmt.Errorf("read Secret %s/%s: unexpected type %T", ref.Namespace, ref.Name, obj)
	}
	content := map[string]string{}
	data, _ := secret.Content()["data"].(map[string]any)
	for key, value := range data {
		text, _ := value.(string)
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("read Secret %s/%s: key %s: %w", ref.Namespace, ref.Name, key, err)
		}
		content[key] = string(decoded)
	}
	return content, nil
}

// unknown reports whether objects of a kind in a namespace count as existing.
func (e *Engine) unknown(kind api.Kind, namespace string) bool {
	return e.assumeFiles != nil && e.assumeFiles(kind, namespace)
}

// Token requests a token of a service account, which always exists. The call can be delayed and can fail like any other one.
func (server *API) Token(p *Process, namespace, account, audience string) (token string, err error) {
	call := api.Call{Target: api.APIServer, Verb: "create", Kind: "TokenRequest", Key: api.Key(namespace, account)}
	fault, err := p.before(call, p.engine.latency)
	if err != nil {
		return "", err
	}
	server.tokens++
	token = fmt.Sprintf("token-%d.%s.%s.%s", server.tokens, namespace, account, audience)
	if lost := p.after(fault); lost != nil {
		return "", lost
	}
	return token, nil
}
