package dump

import (
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

// Newest returns the newest timestamp in the objects, an estimate of when the dump was made; zero if there is none. Deadlines, such as the
// end of a grace period, do not count.
func (d *Dump) Newest() time.Time { return d.newest }

// newestOf computes Dump.Newest.
func newestOf(d *Dump) time.Time {
	find := times{}
	var newest time.Time
	for _, obj := range d.Objects {
		newest = later(newest, find.in(reflect.ValueOf(withoutDeadlines(obj))))
	}
	for _, lease := range d.Leases {
		newest = later(newest, find.in(reflect.ValueOf(lease)))
	}
	return newest.UTC()
}

// withoutDeadlines returns the object with the time of the deletion request in place of the end of the grace period.
func withoutDeadlines(obj api.Object) api.Object {
	at := obj.GetDeletionTimestamp()
	if at == nil {
		return obj
	}
	obj = obj.DeepCopyObject().(api.Object)
	var grace int64
	if pod, ok := obj.(*corev1.Pod); ok && pod.DeletionGracePeriodSeconds != nil {
		grace = *pod.DeletionGracePeriodSeconds
	}
	begun := metav1.NewTime(at.Add(-time.Duration(grace) * time.Second))
	obj.SetDeletionTimestamp(&begun)
	return obj
}

// times finds timestamps in values. It has, for each struct type, the indexes of the fields that may contain one.
type times map[reflect.Type][]int

var (
	timeType      = reflect.TypeFor[metav1.Time]()
	microTimeType = reflect.TypeFor[metav1.MicroTime]()
)

// in returns the newest time in a value.
func (t times) in(v reflect.Value) time.Time {
	switch v.Type() {
	case timeType:
		return v.Interface().(metav1.Time).Time
	case microTimeType:
		return v.Interface().(metav1.MicroTime).Time
	}
	var newest time.Time
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			newest = t.in(v.Elem())
		}
	case reflect.Struct:
		for _, i := range t.fields(v.Type()) {
			newest = later(newest, t.in(v.Field(i)))
		}
	case reflect.Slice:
		for i := range v.Len() {
			newest = later(newest, t.in(v.Index(i)))
		}
	}
	return newest
}

// fields returns the exported fields of a struct type that may contain a time.
func (t times) fields(of reflect.Type) []int {
	if known, ok := t[of]; ok {
		return known
	}
	t[of] = nil // a type that contains itself
	var found []int
	for i := range of.NumField() {
		if field := of.Field(i); field.IsExported() && t.possible(field.Type) {
			found = append(found, i)
		}
	}
	t[of] = found
	return found
}

// possible reports whether values of a type may contain a time.
func (t times) possible(of reflect.Type) bool {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		return t.possible(of.Elem())
	case reflect.Struct:
		return of == timeType || of == microTimeType || len(t.fields(of)) > 0
	}
	return false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
