package apiserver

import (
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// checkTimeout returns an error if the time that a client gives a request is no duration (API-516). A watch has none.
func checkTimeout(req *http.Request) error {
	if !strings.Contains(req.URL.RawQuery, "timeout=") {
		return nil
	}
	query := req.URL.Query()
	text := query.Get("timeout")
	if watch := query.Get("watch"); text == "" || watch == "true" || watch == "1" {
		return nil
	}
	if _, err := time.ParseDuration(text); err != nil {
		return apierrors.NewBadRequest("invalid timeout specified in the request URL - " + err.Error())
	}
	return nil
}
