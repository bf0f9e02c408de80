package mount

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
)

// podToken is a token of a pod's service account that the kubelet has cached.
type podToken struct {
	token   string
	refresh time.Time // when it is requested again
	expires time.Time
}

// tokenKey identifies a cached token. Tokens are bound to their pod.
type tokenKey struct {
	pod      types.UID
	account  string
	audience string
	seconds  int64
}

const (
	defaultTokenLife = time.Hour      // of a request without expirationSeconds
	maxTokenAge      = 24 * time.Hour // after which a token is requested again
)

// Token returns a token of the pod's service account, and when it expires.
func (k *kubelet) Token(p *engine.Process, pod *corev1.Pod, request storagev1.TokenRequest) (string, time.Time, error) {
	key := tokenKey{pod: pod.UID, account: pod.Spec.ServiceAccountName, audience: request.Audience}
	life := defaultTokenLife
	if request.ExpirationSeconds != nil {
		key.seconds = *request.ExpirationSeconds
		life = time.Duration(key.seconds) * time.Second
	}
	cached, ok := k.tokens[key]
	// MNT-315: a token is used until 80 % of its time are over, at most for 24 hours.
	if ok && !p.Now().After(cached.refresh) {
		return cached.token, cached.expires, nil
	}
	token, err := reach(k, func() (string, error) {
		return p.API().Token(p, pod.Namespace, pod.Spec.ServiceAccountName, request.Audience)
	})
	switch {
	case err == nil:
	case !ok:
		return "", time.Time{}, fmt.Errorf("failed to fetch token: %w", err)
	case p.Now().After(cached.expires):
		return "", time.Time{}, fmt.Errorf("token %s of pod %s expired and refresh failed: %w", key.audience, pod.Name, err)
	default:
		// MNT-315: if the request fails, an old token that is still valid is used.
		return cached.token, cached.expires, nil
	}
	now := p.Now()
	fresh := podToken{token: token, expires: now.Add(life), refresh: now.Add(min(life-life/5, maxTokenAge))}
	if k.tokens == nil {
		k.tokens = map[tokenKey]podToken{}
	}
	k.tokens[key] = fresh
	return fresh.token, fresh.expires, nil
}

// forgetTokens drops the tokens of a pod that is gone.
func (k *kubelet) forgetTokens(pod types.UID) {
	for key := range k.tokens {
		if key.pod == pod {
			delete(k.tokens, key)
		}
	}
}
