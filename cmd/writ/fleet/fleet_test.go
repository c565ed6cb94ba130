package fleet

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name         string
		replicas     []replica
		newest       string
		disagreement float64
		unanswered   int
	}{
		{"all agree", []replica{{Revision: "a", Age: 90, Ready: true}, {Revision: "a", Age: 1, Ready: true}}, "a", 0, 0},
		{"one has not followed", []replica{{Revision: "a", Age: 900}, {Revision: "b", Age: 40}, {Revision: "b", Age: 60}}, "b", 60, 0},
		{"one restarted with the old revision", []replica{{Revision: "a", Age: 900, Sequence: 1}, {Revision: "a", Age: 5, Sequence: 1}, {Revision: "b", Age: 60, Sequence: 2}}, "b", 60, 0},
		{"all with the old revision restarted", []replica{{Revision: "a", Age: 5, Sequence: 1}, {Revision: "b", Age: 60, Sequence: 2}}, "b", 60, 0},
		{"one serves nothing yet", []replica{{Revision: "", Age: 0}, {Revision: "b", Age: 60}}, "b", 60, 0},
		{"one does not answer", []replica{{Error: "refused"}, {Revision: "b", Age: 60}}, "b", 0, 1},
		{"none answers", []replica{{Error: "refused"}}, "", 0, 1},
		{"equal ages", []replica{{Revision: "a", Age: 7}, {Revision: "b", Age: 7}}, "b", 7, 0},
	} {
		for range 3 { // the order of the map does not matter
			got := compare(tt.replicas)
			if got.Newest != tt.newest || got.Disagreement != tt.disagreement || got.Unanswered != tt.unanswered {
				t.Errorf("%s: got %+v", tt.name, got)
			}
		}
	}
}

func TestClient(t *testing.T) {
	now := time.Now().Add(-time.Hour).UTC() // the clock of the server is late
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", now.Format(http.TimeFormat))
		switch {
		case r.URL.Path != "/v1/status":
			http.Redirect(w, r, "/v1/status", http.StatusFound)
		case r.Header.Get("Authorization") != "Bearer good":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprintf(w, `{"ready":true,"revision":"r1","since":%q,"bundle":{"sequence":7},"errors":2}`, now.Add(-time.Minute).Format(time.RFC3339Nano))
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ca, good, bad := file("ca.crt", string(authority)), file("good", "good\n"), file("bad", "bad")
	for _, tt := range []struct {
		name, url string
		o         connection
		err       string
	}{
		{"right", server.URL, connection{TokenFile: good, CA: ca}, ""},
		{"a slash at the end", server.URL + "/", connection{TokenFile: good, CA: ca}, ""},
		{"wrong token", server.URL, connection{TokenFile: bad, CA: ca}, "does not accept the credentials"},
		{"unknown authority", server.URL, connection{TokenFile: good}, "certificate"},
		{"a redirection on the server", server.URL + "/below", connection{TokenFile: good, CA: ca}, ""},
	} {
		c, err := newClient(tt.o)
		if err != nil {
			t.Fatal(err)
		}
		report := c.Ask(t.Context(), []string{tt.url})
		r := report.Replicas[0]
		if tt.err == "" && (r.Error != "" || r.Revision != "r1" || r.Sequence != 7 || r.Age < 59 || r.Age > 61 || r.Errors != 2) {
			t.Errorf("%s: got %+v", tt.name, r)
		}
		if tt.err != "" && (!strings.Contains(r.Error, tt.err) || report.Unanswered != 1) {
			t.Errorf("%s: got %+v", tt.name, r)
		}
	}
	for name, o := range map[string]connection{
		"no token file": {TokenFile: filepath.Join(dir, "none")}, "an empty token": {TokenFile: file("empty", "\n")},
		"no authority": {CA: filepath.Join(dir, "none")}, "not PEM": {CA: good}, "no key": {Cert: ca}, "not a key": {Cert: ca, Key: ca},
	} {
		if _, err := newClient(o); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	for _, text := range []string{"", "writ:8686", "ftp://writ", "https://", "https://u:p@writ", "https://writ?a=b"} {
		if checkServer(text) == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
