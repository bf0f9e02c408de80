// Command objectstore is a plugin of Velero that keeps backups in a directory. Each bucket is a directory in the one that `config.directory` of a
// BackupStorageLocation names.
package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/vmware-tanzu/velero/pkg/plugin/framework"
)

func main() {
	framework.NewServer().
		RegisterObjectStore("example.com/directory", func(logrus.FieldLogger) (any, error) { return &store{}, nil }).
		Serve()
}

type store struct{ dir string }

func (s *store) Init(config map[string]string) error {
	if s.dir = config["directory"]; s.dir == "" {
		return errors.New("config.directory is empty")
	}
	return nil
}

func (s *store) file(bucket, key string) string {
	return filepath.Join(s.dir, bucket, filepath.FromSlash(key))
}

func (s *store) PutObject(bucket, key string, body io.Reader) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	name := s.file(bucket, key)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o600)
}

func (s *store) ObjectExists(bucket, key string) (bool, error) {
	_, err := os.Stat(s.file(bucket, key))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (s *store) GetObject(bucket, key string) (io.ReadCloser, error) {
	return os.Open(s.file(bucket, key))
}

func (s *store) ListObjects(bucket, prefix string) ([]string, error) {
	root := filepath.Join(s.dir, bucket)
	keys := []string{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing is in the bucket
		}
		if err != nil || entry.IsDir() {
			return err
		}
		key, err := filepath.Rel(root, name)
		if key = filepath.ToSlash(key); err == nil && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
		return err
	})
	return keys, err
}

func (s *store) ListCommonPrefixes(bucket, prefix, delimiter string) ([]string, error) {
	keys, err := s.ListObjects(bucket, prefix)
	prefixes := []string{}
	for _, key := range keys {
		if part, _, ok := strings.Cut(key[len(prefix):], delimiter); ok {
			prefixes = append(prefixes, prefix+part+delimiter)
		}
	}
	return slices.Compact(prefixes), err // the walk is in the order of names
}

func (s *store) DeleteObject(bucket, key string) error {
	return os.Remove(s.file(bucket, key))
}

func (s *store) CreateSignedURL(bucket, key string, _ time.Duration) (string, error) {
	return "file://" + s.file(bucket, key), nil
}
