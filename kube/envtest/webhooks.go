package envtest

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim"
)

// WebhookInstallOptions are configurations of admission webhooks that run in the test. Start chooses where the test serves them, and its conversion
// webhook at /convert, unless it is set. It stores the configurations with that address in the place of the service that they name.
type WebhookInstallOptions struct {
	// Paths are files, and folders with files, of MutatingWebhookConfigurations and ValidatingWebhookConfigurations in YAML or JSON.
	Paths []string
	// IgnoreSchemeConvertible gives all definitions the conversion webhook of the test, whatever types the scheme has.
	IgnoreSchemeConvertible bool
	// IgnoreErrorIfPathMissing lets Start ignore paths that do not exist. By default it fails.
	IgnoreErrorIfPathMissing bool
	// LocalServingHost and LocalServingPort are where the test has to serve the webhooks. The defaults are 127.0.0.1 and a port that is free.
	LocalServingHost string
	LocalServingPort int
	// LocalServingCertDir is a directory with tls.crt and tls.key, the certificate with which to serve. Start makes it, and Stop removes it.
	LocalServingCertDir string
	// LocalServingCAData is the authority of the certificate in PEM. Start sets it.
	LocalServingCAData []byte

	prepared bool
}

// prepare chooses an address, and makes a certificate for it, unless that is done.
func (o *WebhookInstallOptions) prepare() error {
	if o.prepared {
		return nil
	}
	if o.LocalServingHost == "" {
		o.LocalServingHost = "127.0.0.1"
	}
	if o.LocalServingPort == 0 {
		listener, err := net.Listen("tcp", net.JoinHostPort(o.LocalServingHost, "0"))
		if err != nil {
			return err
		}
		o.LocalServingPort = listener.Addr().(*net.TCPAddr).Port
		if err := listener.Close(); err != nil {
			return err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour), DNSNames: []string{"localhost"},
		IsCA: true, BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(o.LocalServingHost); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = append(template.DNSNames, o.LocalServingHost)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if o.LocalServingCertDir, err = os.MkdirTemp("", "envtest-serving-certs-"); err != nil {
		return err
	}
	o.prepared = true
	o.LocalServingCAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return errors.Join(
		os.WriteFile(filepath.Join(o.LocalServingCertDir, "tls.crt"), o.LocalServingCAData, 0o600),
		os.WriteFile(filepath.Join(o.LocalServingCertDir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	)
}

// remove removes the certificate of prepare.
func (o *WebhookInstallOptions) remove() error {
	if !o.prepared {
		return nil
	}
	o.prepared = false
	return os.RemoveAll(o.LocalServingCertDir)
}

// applyConfigurations stores the configurations in all files.
func (o *WebhookInstallOptions) applyConfigurations(c *volsim.Cluster) error {
	for _, path := range o.Paths {
		files, err := manifests(path)
		if errors.Is(err, fs.ErrNotExist) && o.IgnoreErrorIfPathMissing {
			continue
		}
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := o.apply(c, file); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

// apply stores the configurations in a file, and leaves out what else is in it.
func (o *WebhookInstallOptions) apply(c *volsim.Cluster, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &obj.Object); err != nil {
			return err
		}
		if kind := obj.GetKind(); kind != "MutatingWebhookConfiguration" && kind != "ValidatingWebhookConfiguration" {
			continue
		}
		o.redirect(obj.Object)
		if document, err = yaml.Marshal(obj.Object); err == nil {
			err = c.Apply(document)
		}
		if err != nil {
			return err
		}
	}
}

// redirect lets the webhooks of a configuration be where the test serves them.
func (o *WebhookInstallOptions) redirect(configuration map[string]any) {
	hooks, _ := configuration["webhooks"].([]any)
	for _, hook := range hooks {
		fields, _ := hook.(map[string]any)
		client, _ := fields["clientConfig"].(map[string]any)
		if client != nil { // otherwise validation refuses it
			client["caBundle"] = base64.StdEncoding.EncodeToString(o.LocalServingCAData)
		}
		if service, ok := client["service"].(map[string]any); ok {
			path, _ := service["path"].(string)
			delete(client, "service")
			client["url"] = o.url(path)
		}
	}
}

// url returns where the test serves the webhook of a path.
func (o *WebhookInstallOptions) url(path string) string {
	return "https://" + net.JoinHostPort(o.LocalServingHost, strconv.Itoa(o.LocalServingPort)) + "/" + strings.TrimPrefix(path, "/")
}
