package api

// Ref names an object.
type Ref struct {
	Kind Kind
	Key  string
}

// RefTo names obj; the zero Ref for nil, also for the nil of a type.
func RefTo(obj Object) Ref {
	if IsNil(obj) {
		return Ref{}
	}
	return Ref{Kind: KindOf(obj), Key: KeyOf(obj)}
}

// String is Kind and key with a slash between them, "" for the zero Ref.
func (r Ref) String() string {
	if r == (Ref{}) {
		return ""
	}
	return string(r.Kind) + "/" + r.Key
}
