package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// What CSI drivers get beside the volume: the content of Secrets, and tokens of the pod's service account (MNT-314, MNT-315).

// secret reads the content of a Secret from the API server, nil for no reference.
func (c csiPlugin) secret(p *engine.Process, ref *corev1.SecretReference) (map[string]string, error) {
	if ref == nil || c.h.Silent {
		// The volumes of an adopted pod are mounted already.
		return nil, nil
	}
	content, err := c.h.API.Secret(p, ref)
	if err != nil {
		return nil, fmt.Errorf("kubernetes.io/csi: failed to find the secret %s in the namespace %s with error: %w", ref.Name, ref.Namespace, err)
	}
	return content, nil
}

const tokensKey = "csi.storage.k8s.io/serviceAccount.tokens"

// addTokens adds the tokens that the driver asks for to a request, as JSON by audience.
func (c csiPlugin) addTokens(p *engine.Process, driver string, pod *corev1.Pod, req *storage.NodeRequest) error {
	object := c.h.API.CSIDriver(driver)
	if object == nil || len(object.Spec.TokenRequests) == 0 || c.h.Silent {
		return nil
	}
	type status struct {
		Token               string    `json:"token"`
		ExpirationTimestamp time.Time `json:"expirationTimestamp"`
	}
	tokens := map[string]status{}
	for _, request := range object.Spec.TokenRequests {
		token, expires, err := c.h.API.Token(p, pod, request)
		if err != nil {
			// MNT-315, MNT-241: without a token the driver is not called.
			return volumes.TransientError{Err: fmt.Errorf("kubernetes.io/csi: mounter.SetUpAt failed to get service accoount token attributes: %w", err)}
		}
		tokens[request.Audience] = status{token, expires}
	}
	text, err := json.Marshal(tokens)
	if err != nil {
		return err
	}
	// MNT-315: the tokens are part of the volume context, or of the secrets if the driver asks for that.
	into := &req.Context
	if inSecrets := object.Spec.ServiceAccountTokenInSecrets; inSecrets != nil && *inSecrets {
		into = &req.Secrets
	}
	if *into = maps.Clone(*into); *into == nil {
		*into = map[string]string{}
	}
	(*into)[tokensKey] = string(text)
	return nil
}
