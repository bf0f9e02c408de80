package strategy

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

func TestQuantityText(t *testing.T) {
	for _, test := range []struct{ rule, text, want string }{
		{"API-080", "1", "1"}, {"API-080", "1.", "1."}, {"API-080", ".5", "500m"}, {"API-080", "-1.5", "-1500m"}, {"API-080", "+2", "+2"},
		{"API-080", "3n", "3n"}, {"API-080", "3u", "3u"}, {"API-080", "3m", "3m"}, {"API-080", "3k", "3k"}, {"API-080", "3E", "3E"},
		{"API-080", "3Ki", "3Ki"}, {"API-080", "3Ei", "3Ei"}, {"API-080", "2e-3", "2e-3"}, {"API-080", "2E6", "2E6"},
		{"API-081", "1.5", "1500m"}, {"API-081", "1.5Gi", "1536Mi"}, {"API-081", "1024Mi", "1Gi"}, {"API-081", "1000Mi", "1000Mi"},
		{"API-081", "0.5Gi", "512Mi"}, {"API-081", "1e3", "1e3"}, {"API-081", "0Gi", "0"}, {"API-081", "0.25Ki", "256"},
		{"API-082", "0.1n", "1n"}, {"API-082", "-0.1n", "-1n"}, {"API-082", "100Ei", "9223372036854775807"},
		{"API-084", "-3Gi", "-3Gi"}, {"API-084", "0", "0"},
	} {
		var q apiresource.Quantity
		require.NoError(t, q.UnmarshalJSON([]byte(`"`+test.text+`"`)), "%s %s", test.rule, test.text)
		assert.Equal(t, test.want, q.String(), "%s %s", test.rule, test.text)
	}
	for _, text := range []string{"", "KB", "1KB", "1gb", "1K", "1 Gi", "1.2.3", "--1", "ten"} {
		var q apiresource.Quantity
		assert.Error(t, q.UnmarshalJSON([]byte(`"`+text+`"`)), "API-080 %q", text)
	}
	large := apiresource.MustParse("1000E")
	assert.Equal(t, "1", large.String(), "API-081: there is no suffix above E, and the zeros are lost")
	bare := apiresource.MustParse("Gi")
	assert.True(t, bare.IsZero(), "API-080: a suffix alone is zero, against the grammar")
	q := apiresource.MustParse("5")
	require.NoError(t, q.UnmarshalJSON([]byte("null")), "API-080 null")
	assert.True(t, q.IsZero(), "API-080 null is zero")
	require.NoError(t, q.UnmarshalJSON([]byte(`" 7 "`)), "API-080 blanks around")
	assert.Equal(t, "7", q.String(), "API-080 blanks around")
}

func TestQuantityCompares(t *testing.T) {
	a, b := apiresource.MustParse("1Gi"), apiresource.MustParse("1073741824")
	assert.Zero(t, a.Cmp(b), "API-083: the values are the same")
	assert.NotEqual(t, a.String(), b.String(), "API-083: the texts are not")
	assert.False(t, sameQuantity(a, b), "API-083: so writing one over the other is a write")
	assert.True(t, equalQuantity(a, b), "API-083: but no change to a field that may not change")
}

func TestRoundToMilli(t *testing.T) {
	for _, test := range []struct{ rule, text, want string }{
		{"API-082", "100u", "1m"}, {"API-082", "-100u", "-1m"}, {"API-082", "1n", "1m"}, {"API-082", "1000u", "1m"},
		{"API-082", "1.0005", "1001m"}, {"API-082", "10Gi", "10Gi"}, {"API-082", "1m", "1m"}, {"API-082", "0", "0"},
		{"API-082", "0.0001Ki", "103m"}, {"API-082", "12345678901234567890123456789n", "12345678901234567890124m"},
	} {
		list := corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse(test.text), corev1.ResourceCPU: apiresource.MustParse("2")}
		before := list.DeepCopy()
		rounded := roundToMilli(list)
		assert.Equal(t, test.want, rounded.Storage().String(), "%s %s", test.rule, test.text)
		assert.Equal(t, before, list, "%s %s: the list itself", test.rule, test.text)
		assert.True(t, SameMap(rounded, roundToMilli(rounded)), "%s %s: once is enough", test.rule, test.text)
	}
	assert.Nil(t, roundToMilli(nil))
	whole := corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("10Gi"), corev1.ResourceCPU: apiresource.MustParse("1500m")}
	assert.True(t, SameMap(whole, roundToMilli(whole)), "API-082: nothing to round, nothing copied")
	assert.Zero(t, testing.AllocsPerRun(100, func() { roundToMilli(whole) }), "allocations when there is nothing to round")
}

// Exponents of four digits and more make numbers that fill the memory, with us as with Kubernetes.
var hugeExponent = regexp.MustCompile(`[eE][+-]?\d{4}`)

func FuzzQuantity(f *testing.F) {
	for _, seed := range []string{"1", "1.5Gi", "-100u", "1e3", "0.0001Ki", ".5", "9223372036854775808", "1e-9", "12E", "7e99", "+1Mi",
		"1 Gi", "Ki"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 100 || hugeExponent.MatchString(text) {
			return
		}
		q, err := apiresource.ParseQuantity(text)
		if err != nil {
			return
		}
		// There is no suffix above E: Kubernetes writes 1000E as "1".
		magnitude := q.DeepCopy()
		if q.Sign() < 0 {
			magnitude.Neg()
		}
		if q.Format == apiresource.DecimalSI && magnitude.Cmp(apiresource.MustParse("1e21")) >= 0 {
			return
		}
		reparsed := func(q apiresource.Quantity) {
			t.Helper()
			again, err := apiresource.ParseQuantity(q.String())
			if err != nil {
				t.Fatalf("ParseQuantity(%q) = %q, which does not parse: %v", text, q.String(), err)
			}
			if q.Cmp(again) != 0 {
				t.Fatalf("ParseQuantity(%q) = %q, which parses to %q", text, q.String(), again.String())
			}
		}
		reparsed(q)
		list := corev1.ResourceList{corev1.ResourceStorage: q}
		rounded := roundToMilli(list)
		r := rounded[corev1.ResourceStorage]
		reparsed(r)
		if !SameMap(rounded, roundToMilli(rounded)) {
			t.Fatalf("roundToMilli of %q is not steady: %q", text, r.String())
		}
		// API-082: away from zero, by less than a thousandth.
		if q.Sign() != r.Sign() {
			t.Fatalf("roundToMilli(%q) = %q crosses zero", q.String(), r.String())
		}
		away := r.DeepCopy()
		away.Sub(q)
		if q.Sign() < 0 {
			away.Neg()
		}
		if away.Sign() < 0 || away.Cmp(apiresource.MustParse("1m")) >= 0 {
			t.Fatalf("roundToMilli(%q) = %q, off by %q", q.String(), r.String(), strings.TrimSpace(away.String()))
		}
	})
}
