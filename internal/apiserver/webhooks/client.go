// Package webhooks calls the webhooks of a cluster over the network: those of admission, and those that convert custom objects.
package webhooks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/store"
)

// Client asks webhooks over the network. It is safe for concurrent use.
type Client struct {
	services map[string]string // addresses by NAMESPACE/NAME

	mu      sync.Mutex
	asked   uint64 // reviews so far
	clients map[string]*http.Client
}

// NewClient returns a client that finds services of the cluster outside of it: addresses has HOST:PORT by NAMESPACE/NAME, whatever the port of the
// service is.
func NewClient(addresses map[string]string) *Client {
	return &Client{services: addresses, clients: map[string]*http.Client{}}
}

// Webhook is a webhook of a configuration.
type Webhook struct {
	admissionregistrationv1.MutatingWebhook // those that validate have the same fields
	Mutating                                bool
}

// Answer is the answer of a webhook, or why the call failed.
type Answer struct {
	Failure  string         `json:"failure,omitempty"`
	Allowed  bool           `json:"allowed,omitempty"`
	Status   *metav1.Status `json:"status,omitempty"`
	Patch    []byte         `json:"patch,omitempty"`
	Type     string         `json:"type,omitempty"` // of the patch, "" for JSONPatch
	Warnings []string       `json:"warnings,omitempty"`
}

// maxReviewAnswer is how large the answer of a webhook may be.
const maxReviewAnswer = 16 << 20

// Ask sends a review to a webhook.
func (w *Client) Ask(ctx context.Context, h *Webhook, review *admissionv1.AdmissionReview) *Answer {
	failed := func(format string, args ...any) *Answer {
		return &Answer{Failure: fmt.Sprintf(format, args...)}
	}
	target, client, err := w.clientFor(&h.ClientConfig)
	if err != nil {
		return failed("could not get REST client: %v", err)
	}
	version := reviewVersion(h.AdmissionReviewVersions)
	if version == "" {
		return failed("could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)")
	}
	uid := w.newUID()
	sent := *review
	request := *review.Request
	request.UID = uid
	sent.Request = &request
	sent.Kind, sent.APIVersion = "AdmissionReview", admissionv1.GroupName+"/"+version
	data, err := json.Marshal(&sent)
	if err != nil {
		return failed("could not create admission objects: %v", err)
	}
	if h.TimeoutSeconds != nil {
		// API-398: it is real time.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*h.TimeoutSeconds)*time.Second)
		defer cancel()
	}
	body, err := post(ctx, client, target, data)
	if err != nil {
		return failed("failed to call webhook: %v", err)
	}
	answer, err := readAnswer(body, version)
	if err != nil {
		return failed("failed to call webhook: %v", err)
	}
	v, err := verified(answer, version, uid, h.Mutating)
	if err != nil {
		return failed("received invalid webhook response: %v", err)
	}
	return v
}

// newUID returns a uid that differs from that of every other review.
func (w *Client) newUID() types.UID {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	sum := sha256.Sum256(strconv.AppendUint(nil, w.asked, 10))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// reviewVersion returns the first version of AdmissionReview, or of ConversionReview, in the list of a webhook that the server knows, "" for none.
func reviewVersion(versions []string) string {
	for _, v := range versions {
		if v == "v1" || v == "v1beta1" {
			return v
		}
	}
	return ""
}

// post sends a review and returns the body of the answer.
func post(ctx context.Context, client *http.Client, target string, data []byte) ([]byte, error) {
	if deadline, ok := ctx.Deadline(); ok {
		left := max(time.Until(deadline), 0)
		if rest := left % time.Second; rest > 0 {
			left += time.Second - rest
		}
		target += "?timeout=" + left.String()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, */*")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "kube-apiserver-admission")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReviewAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < http.StatusOK || resp.StatusCode > http.StatusPartialContent {
		return nil, answerError(resp, body)
	}
	return body, nil
}

// answerError returns the error for an answer with another code than 200, as clients of Kubernetes describe it.
func answerError(resp *http.Response, body []byte) error {
	const longest = 2048
	if len(body) > longest {
		body = body[:longest]
	}
	text := "unknown"
	if kind := resp.Header.Get("Content-Type"); kind == "" || isText(kind) {
		text = strings.TrimSpace(string(body))
	}
	retryAfter, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // zero without
	return apierrors.NewGenericServerResponse(resp.StatusCode, http.MethodPost, schema.GroupResource{}, "", text, retryAfter, true)
}

func isText(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && strings.HasPrefix(media, "text/")
}

// reviewCodec decodes the answers of webhooks.
var reviewCodec = sync.OnceValue(func() runtime.Decoder {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{admissionv1.AddToScheme, admissionv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // the groups have disjoint types
		}
	}
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
})

// readAnswer decodes the answer of a webhook.
func readAnswer(body []byte, version string) (*admissionv1.AdmissionReview, error) {
	var into runtime.Object = &admissionv1.AdmissionReview{}
	if version == "v1beta1" {
		into = &admissionv1beta1.AdmissionReview{}
	}
	_, kind, err := reviewCodec().Decode(body, nil, into)
	if err != nil {
		return nil, err
	}
	if kind != nil && kind.Version != version && kind.Version != "" {
		return nil, fmt.Errorf("converting (%s.%s) to (%s.AdmissionReview): unknown conversion", kind.Version, kind.Kind, version)
	}
	answer := &admissionv1.AdmissionReview{}
	return answer, json.Unmarshal(body, answer) // both versions have the same fields
}

// verified returns what a webhook has answered, if it is an answer to the review with that uid (API-387).
func verified(answer *admissionv1.AdmissionReview, version string, uid types.UID, mutating bool) (*Answer, error) {
	r := answer.Response
	if r == nil {
		return nil, errors.New("webhook response was absent")
	}
	v := &Answer{Allowed: r.Allowed, Status: r.Result, Warnings: r.Warnings}
	if version == "v1beta1" {
		// API-387: the old version is not checked.
		if mutating {
			v.Patch = r.Patch
		}
		return v, nil
	}
	if r.UID != uid {
		return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, r.UID)
	}
	if want := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"); answer.GroupVersionKind() != want {
		return nil, fmt.Errorf("expected webhook response of %v, got %v", want, answer.GroupVersionKind())
	}
	if err := checkPatchType(r, mutating); err != nil {
		return nil, err
	}
	if v.Patch = r.Patch; r.PatchType != nil && *r.PatchType != admissionv1.PatchTypeJSONPatch {
		v.Type = string(*r.PatchType)
	}
	return v, nil
}

// checkPatchType requires a patch and its type together, and only of webhooks that change objects.
func checkPatchType(r *admissionv1.AdmissionResponse, mutating bool) error {
	switch {
	case !mutating && len(r.Patch) > 0:
		return errors.New("validating webhook may not return response.patch")
	case !mutating && r.PatchType != nil:
		return errors.New("validating webhook may not return response.patchType")
	case len(r.Patch) > 0 && r.PatchType == nil:
		return errors.New("webhook returned response.patch but not response.patchType")
	case len(r.Patch) == 0 && r.PatchType != nil:
		return errors.New("webhook returned response.patchType but not response.patch")
	case r.PatchType != nil && *r.PatchType == "":
		return fmt.Errorf("webhook returned invalid response.patchType of %q", *r.PatchType)
	}
	return nil
}

// clientFor returns where a webhook is, and the client to reach it.
func (w *Client) clientFor(c *admissionregistrationv1.WebhookClientConfig) (target string, client *http.Client, err error) {
	host, urlPath, service := "", "", ""
	switch {
	case c.Service != nil:
		host, service = c.Service.Name+"."+c.Service.Namespace+".svc", c.Service.Namespace+"/"+c.Service.Name
		port := int32(store.DefaultWebhookPort)
		if c.Service.Port != nil {
			port = *c.Service.Port
		}
		host = net.JoinHostPort(host, strconv.Itoa(int(port)))
		if c.Service.Path != nil {
			urlPath = *c.Service.Path
		}
	case c.URL != nil:
		u, err := url.Parse(*c.URL)
		if err != nil {
			return "", nil, fmt.Errorf("Unparsable URL: %w", err)
		}
		host, urlPath = u.Host, u.Path
	default:
		return "", nil, errors.New("webhook configuration must have either service or URL")
	}
	client, err = w.client(service, c.CABundle)
	return "https://" + host + path.Join("/", urlPath), client, err
}

// client returns the client of the webhooks that have a certificate of that authority, and that are reached through that service, "" for none.
func (w *Client) client(service string, authority []byte) (*http.Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := service + "\n" + string(authority)
	if known := w.clients[key]; known != nil {
		return known, nil
	}
	config := &tls.Config{}
	if len(authority) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authority) {
			return nil, errors.New("unable to load root certificates: unable to parse bytes as PEM block")
		}
	}
	transport := &http.Transport{TLSClientConfig: config, IdleConnTimeout: time.Minute}
	if service != "" {
		transport.DialContext = w.dialer(service)
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	w.clients[key] = client
	return client, nil
}

// dialer connects to a service of the cluster (API-397).
func (w *Client) dialer(service string) func(ctx context.Context, network, _ string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		address, ok := w.services[service]
		if !ok {
			return nil, fmt.Errorf("no address of service %s is known; volsim serve takes --service %s=HOST:PORT", service, service)
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
}
