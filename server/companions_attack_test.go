package server

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Each of these makes reviews strict with the next probe, and the right answer defers again.
func TestCompanionsThatAreNotInForce(t *testing.T) {
	a := newAdmitted(t)
	a.wants(t, "in force", true)
	proxy := httptest.NewServer(http.RedirectHandler(a.one.URL+"/api/v1/namespaces/probes/configmaps?dryRun=All", http.StatusTemporaryRedirect))
	t.Cleanup(proxy.Close)
	hung := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	t.Cleanup(func() { close(hung); slow.Close() })
	answering := func(code int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	status := func(code int, reason string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`, reason, code, refusal(1, a.digest))
	}
	says := func(message string) func() {
		return func() { a.two.say(message) }
	}
	listed := func(address string) func() {
		return func() {
			a.list(t, fmt.Sprintf("companion: true, companionAddresses: [%q, %q]", a.one.URL, address))
			if changed, err := a.clusters.Reload(); !changed || err != nil {
				t.Fatal(changed, err)
			}
			a.wants(t, "listed anew, not probed", false)
		}
	}
	other := strings.Repeat("a", 64)
	for _, row := range []struct {
		name  string
		spoil func()
	}{
		{"deleted", func() { a.one.message.Store(nil); a.two.message.Store(nil) }},
		{"deleted on one API server", func() { a.two.message.Store(nil) }},
		{"of another revision", says(refusal(1, other))},
		{"of another slice", says(refusal(2, a.digest))},
		{"two digests", says(refusal(1, other) + " " + refusal(1, a.digest))},
		{"said by RBAC about a user with that name", says(fmt.Sprintf(`configmaps is forbidden: User "%s" cannot create resource "configmaps"`, refusal(1, a.digest)))},
		{"said of another object", says(strings.Replace(refusal(1, a.digest), "writ-companion-probe", "x", 1))},
		{"by a binding of another policy", says(strings.Replace(refusal(1, a.digest), "binding 'writ-companion-1'", "binding 'x'", 1))},
		{"by another policy", says(strings.ReplaceAll(refusal(1, a.digest), "'writ-companion-1'", "'mine'"))},
		{"more text", says(refusal(1, a.digest) + "0")},
		{"a webhook", says("admission webhook \"x\" denied the request: writ companion " + a.digest)},
		{"unanswered", listed(slow.URL)},
		{"no API server", listed("http://127.0.0.1:1")},
		{"redirected", listed(proxy.URL)},
		{"with 500", listed(answering(500, status(403, "Forbidden")))},
		{"with 200", listed(answering(200, status(403, "Forbidden")))},
		{"a status of 422", listed(answering(403, status(422, "Invalid")))},
		{"text", listed(answering(403, refusal(1, a.digest)))},
	} {
		row.spoil()
		a.probeCompanions(t.Context())
		a.wants(t, row.name, false)
		a.one.refuse(a.digest)
		a.two.refuse(a.digest)
		if a.list(t, fmt.Sprintf("companion: true, companionAddresses: [%q, %q]", a.one.URL, a.two.URL)); row.name != "" {
			if _, err := a.clusters.Reload(); err != nil {
				t.Fatal(err)
			}
		}
		a.probeCompanions(t.Context())
		a.wants(t, row.name+", mended", true)
	}
	a.two.say(strings.ReplaceAll(refusal(1, a.digest), "'writ-companion-1'", "'writ-companion-1.static.k8s.io'"))
	a.probeCompanions(t.Context())
	a.wants(t, "static", true)
}

// A success ends, and a clock that jumps ends it too.
func TestSuccessesEnd(t *testing.T) {
	a := newAdmitted(t)
	a.pass(29 * time.Second)
	a.wants(t, "within 30 seconds", true)
	a.pass(time.Second)
	a.wants(t, "after 30 seconds", false)
	a.probeCompanions(t.Context())
	a.wants(t, "probed again", true)
	a.pass(-time.Second)
	a.wants(t, "a clock that jumps back", false)
	a.pass(time.Second)
	a.wants(t, "and forth", true)
	began := time.Now()
	p := success{at: began}
	for _, later := range []time.Time{began.Add(time.Hour), began.Add(time.Hour).Round(0), began.Add(-time.Hour), {}} {
		if p.isFresh(later) {
			t.Errorf("the success of %s must not be fresh at %s", began, later)
		}
	}
	if !p.isFresh(began) {
		t.Error("a success must be fresh when it is made")
	}
}
