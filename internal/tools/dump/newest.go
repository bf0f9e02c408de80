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
func (d *Dump) Newest() time.Time {
	var newest time.Time
	for _, obj := range d.Objects {
		newest = later(newest, walkTimes(reflect.ValueOf(withoutDeadlines(obj))))
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

// walkTimes returns the newest time in a value.
func walkTimes(v reflect.Value) time.Time {
	switch at := v.Interface().(type) {
	case metav1.Time:
		return at.Time
	case metav1.MicroTime:
		return at.Time
	}
	var newest time.Time
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			newest = walkTimes(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				newest = later(newest, walkTimes(v.Field(i)))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		for i := range v.Len() {
			newest = later(newest, walkTimes(v.Index(i)))
		}
	}
	return newest
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
