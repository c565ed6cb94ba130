package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// serveStatus returns the URL of a server whose status has these members.
func serveStatus(t *testing.T, revision string, age time.Duration, members string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		since := time.Now().Add(-age).UTC().Format(time.RFC3339)
		fmt.Fprintf(w, `{"revision":%q,"since":%q,"source":"documents"%s}`, revision, since, members)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// runWrit returns the exit status and the two outputs.
func runWrit(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	var out, messages strings.Builder
	cmd := exec.CommandContext(t.Context(), "writ", args...)
	cmd.Stdout, cmd.Stderr = &out, &messages
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), messages.String()
}

func TestStatusCommands(t *testing.T) {
	const ready = `,"ready":true`
	good := serveStatus(t, "aaaaaaaaaaaaaaaa", time.Hour, ready+`,"bundle":{"sequence":7,"commit":"c0ffee"},"version":"v1"`)
	same := serveStatus(t, "aaaaaaaaaaaaaaaa", time.Minute, ready+`,"bundle":{"sequence":7}`)
	old := serveStatus(t, "bbbbbbbbbbbbbbbb", time.Minute, ready+`,"degraded":true,"bundle":{"sequence":6},"errors":1,"lastError":"1 error",
		"diagnostics":[{"file":"a.yaml","line":3,"column":7,"severity":"error","code":"dangling-role","message":"role \u001b[2Jx is not declared"}]`)
	revoked := serveStatus(t, "aaaaaaaaaaaaaaaa", time.Hour, ready+`,"bundle":{"sequence":7},"keys":{"signedBy":"old","state":"revoked"}`)
	unread := serveStatus(t, "aaaaaaaaaaaaaaaa", time.Hour, ready+`,"degraded":true,"sources":[{"location":"kube:prod","error":"connection refused"}],
		"warnings":1,"diagnostics":[{"file":"kube:Role/shop/view","line":0,"column":0,"field":"rules[0]","severity":"warning","code":"unknown-verb","message":"m"}]`)
	starting := serveStatus(t, "", 0, `,"ready":false`)
	for _, tt := range []struct {
		name string
		args []string
		exit int
		out  []string // parts of the output
		err  string   // a part of the messages
	}{
		{"status", []string{"status", good}, 0, []string{"state      ready", "aaaaaaaaaaaaaaaa", "active     1h0m", "commit     c0ffee", "sequence   7", "0 errors, 0 warnings"}, ""},
		{"status of an older revision", []string{"status", old}, 1, []string{"degraded", `a.yaml:3:7: error[dangling-role]: role \u001b[2Jx`, "last error  1 error", "1 error, 0 warnings"}, "degraded"},
		{"status before the first revision", []string{"status", starting}, 1, []string{"not ready"}, "not ready"},
		{"status as JSON", []string{"status", old, "-o", "json"}, 1, []string{`"revision":"bbbbbbbbbbbbbbbb"`}, "degraded"},
		{"status of a revoked key", []string{"status", revoked}, 1, []string{`state      revoked key: the active bundle is signed by "old"`}, "revoked key"},
		{"status of a source that is down", []string{"status", "--server", unread}, 1,
			[]string{"degraded: a source cannot be read", "cannot read  kube:prod: connection refused", "kube:Role/shop/view:rules[0]: warning[unknown-verb]: m"}, "degraded"},
		{"status of two servers", []string{"status", "--server", good, good}, 2, nil, "named twice"},
		{"status of no server", []string{"status"}, 2, nil, "name a server"},
		{"a fleet with a revoked key", []string{"fleet", "status", good, revoked}, 1, []string{"ready, revoked key"}, "1 of 2 replicas serve a bundle of a revoked key"},
		{"status of nothing", []string{"status", "http://127.0.0.1:1"}, 2, nil, "ask the server"},
		{"status of no URL", []string{"status", "127.0.0.1:1"}, 2, nil, "must be a URL"},
		{"a fleet", []string{"fleet", "status", good, same}, 0, []string{"REPLICA", "aaaaaaaaaaaa  7", "ready\n"}, ""},
		{"a fleet that disagrees", []string{"fleet", "status", good, old}, 1, []string{"bbbbbbbbbbbb  6", "degraded, not the newest revision, 1 error in documents"}, "replicas disagree for 1h0m"},
		{"a fleet that may disagree", []string{"fleet", "status", good, old, "--max-disagree", "3h"}, 0, []string{"not the newest revision"}, ""},
		{"a fleet as JSON", []string{"fleet", "status", good, old, "-o", "json"}, 1, []string{`"revisions": 2`, `"newest": "aaaaaaaaaaaaaaaa"`}, "disagree"},
		{"a fleet with a replica that is down", []string{"fleet", "status", good, "http://127.0.0.1:1"}, 1, []string{"refused"}, "1 of 2 replicas do not answer"},
		{"a fleet with a replica that starts", []string{"fleet", "status", good, starting}, 1, []string{"not ready"}, "1 of 2 replicas are not ready"},
		{"a fleet of none", []string{"fleet", "status"}, 2, nil, "name the servers: their URLs"},
		{"another command of fleet", []string{"fleet", "statu"}, 2, nil, `did you mean "status"`},
	} {
		exit, out, messages := runWrit(t, tt.args...)
		if exit != tt.exit || !strings.Contains(messages, tt.err) || tt.err == "" && messages != "" {
			t.Errorf("%s: got status %d, %q, want %d, %q", tt.name, exit, messages, tt.exit, tt.err)
		}
		for _, part := range tt.out {
			if !strings.Contains(out, part) {
				t.Errorf("%s: got\n%s\nwithout %q", tt.name, out, part)
			}
		}
		if strings.Contains(out, "\x1b") && !strings.Contains(tt.name, "JSON") {
			t.Errorf("%s: the output acts on the terminal", tt.name)
		}
	}
}
