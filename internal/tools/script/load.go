package script

import (
	"errors"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/dump"
)

// readLoad reads a line that loads objects as they are, or a dump.
func readLoad(s *Script, args []string) (step, error) {
	a, err := readArguments(args, fileOption)
	if err != nil {
		return nil, err
	}
	names, err := readFiles(s, "load", a)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, name := range names {
		f, err := s.file(name)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Name: name, Data: f.Data})
	}
	if isDump(files) {
		return readDump(s, files)
	}
	return forObjects(s, names, "", func(r *runner, obj api.Object) error {
		if err := r.cluster.Load(obj); err != nil {
			return err
		}
		r.printf("%s loaded\n", displayName(api.RefTo(obj)))
		return nil
	})
}

// readDump reads a line after which the cluster continues from a dump. The cluster is made for it.
func readDump(s *Script, files []File) (step, error) {
	if s.parsed {
		return nil, errors.New("the cluster was not made for this dump; load it in the script, with file names that are not variables")
	}
	if s.dump != nil {
		return nil, errors.New("a script loads one dump; name all its files in one line: load -f FILE -f FILE")
	}
	var all []dump.File
	for _, f := range files {
		all = append(all, dump.File{Name: f.Name, Data: f.Data})
	}
	d, err := dump.ReadFiles(all...)
	if err != nil {
		return nil, located(err)
	}
	err = s.add(func(u *setup) error {
		c, err := d.Prepare(&u.config)
		if err != nil {
			return err
		}
		u.dump = c
		for _, b := range c.Backends {
			if b, ok := b.(scriptBackend); ok {
				u.backends[b.Name()] = b
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.dump = d
	return func(r *runner) error {
		// With an explicit start, the cluster may be older than the dump.
		if left := d.Newest().Sub(r.cluster.Now()); left > 0 {
			if err := r.cluster.Advance(left); err != nil {
				return err
			}
		}
		if err := r.dump.Continue(r.cluster); err != nil {
			return located(err)
		}
		r.printf("%d objects loaded, at %s\n", len(d.Objects), r.cluster.Now().Format(time.RFC3339))
		for _, note := range r.dump.Notes {
			r.printf("%s\n", note)
		}
		return nil
	}, nil
}

// located converts an error of a dump to one of this package.
func located(err error) error {
	if at := (*dump.Error)(nil); errors.As(err, &at) {
		return &fileErrorAt{at.File, at.Line, at.Err}
	}
	return err
}

// Dump returns the dump from which the cluster of the script continues; nil for none.
func (s *Script) Dump() *dump.Dump { return s.dump }
