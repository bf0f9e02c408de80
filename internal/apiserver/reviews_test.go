package apiserver_test

import "testing"

func TestReviews(t *testing.T) {
	f := newFixture(t)
	const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	review := `"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1"`
	f.expect("POST "+path, "{"+review+`,"spec":{"resourceAttributes":{"verb":"create","resource":"pods"}}}`, 201,
		"{"+review+`,"metadata":{},"spec":{"resourceAttributes":{"verb":"create","resource":"pods"}},"status":{"allowed":true}}`)
	f.expect("GET "+path, "", 405, failure("the server does not allow this method on the requested resource", `"reason":"MethodNotAllowed","details":{},"code":405`))
}
