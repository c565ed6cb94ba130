package auth

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"testing"
)

func TestExtra(t *testing.T) {
	header := http.Header{
		"X-Remote-Extra-Scopes":                                   {"a", "b"},
		"X-Remote-Extra-Authentication.kubernetes.io%2fnode-Name": {"n"},
		"X-Remote-Extra-%zz":                                      {"c"},
		"X-Remote-Extra-":                                         {"d"},
		"X-Other":                                                 {"e"},
		"Impersonate-Extra-Scopes":                                {"f"},
	}
	got := fmt.Sprint(extraOf(header, []string{"x-remote-extra-"}))
	if want := "map[%zz:[c] authentication.kubernetes.io/node-name:[n] scopes:[a b]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What is trusted may not be known yet: that is not the caller's mistake.
func TestFrontProxyWithoutTrust(t *testing.T) {
	f := NewFrontProxy(func() *FrontProxyTrust { return nil })
	if caller, err := f.Authenticate(t.Context(), Credentials{Header: http.Header{"X-Remote-User": {"a"}}}); caller != nil || !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, %v", caller, err)
	}
	f = NewFrontProxy(func() *FrontProxyTrust {
		return &FrontProxyTrust{Authorities: x509.NewCertPool(), UserHeaders: []string{"X-Remote-User"}}
	})
	if caller, err := f.Authenticate(t.Context(), Credentials{Header: http.Header{"X-Remote-User": {"a"}}}); caller != nil || err != nil {
		t.Errorf("without TLS: got %v, %v", caller, err)
	}
}
