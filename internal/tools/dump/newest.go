package dump

import (
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

// Newest is the newest timestamp in the objects: the time at which the dump was made, as near as it tells. Zero if there is none. A time
// that lies ahead, such as the end of a grace period, does not count.
func (d *Dump) Newest() time.Time {
	var newest time.Time
	for _, obj := range d.Objects {
		newest = latest(newest, walkTimes(reflect.ValueOf(withoutDeadlines(obj))))
	}
	return newest.UTC()
}

// withoutDeadlines is a copy of the object in which the time of deletion is that of the request.
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

// walkTimes finds the newest time in a value.
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
				newest = latest(newest, walkTimes(v.Field(i)))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		for i := range v.Len() {
			newest = latest(newest, walkTimes(v.Index(i)))
		}
	}
	return newest
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
