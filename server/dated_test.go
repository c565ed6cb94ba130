package server

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const datedDocuments = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: visit, annotations: {writ.dev/not-after: "2026-03-01T12:00:00Z"}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: User, name: eve}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: view}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: BreakglassSession
metadata: {name: s1}
spec: {cluster: prod-1, user: bob, grantedGroup: root}
status: {state: Approved, approvedAt: "2026-03-01T09:00:00Z", expiresAt: "2026-03-01T10:00:00Z"}
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: BreakglassSession
metadata: {name: s2}
spec: {cluster: prod-1, user: bob, grantedGroup: root}
status: {state: Pending, approvedAt: "2026-03-01T09:00:00Z", expiresAt: "2026-03-01T09:30:00Z"}
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DebugSession
metadata: {name: d1}
spec: {cluster: prod-1}
status: {state: Active, expiresAt: "2026-03-01T11:00:00Z"}
`

// The clock alone changes what the status and the metrics report.
func TestStatusFollowsTheClock(t *testing.T) {
	h := newHouse(t)
	h.write("policies/dated.yaml", datedDocuments)
	var now atomic.Pointer[time.Time]
	set := func(text string) {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		now.Store(&at)
	}
	set("2026-03-01T08:59:59.999999999Z")
	h.config.Now = func() time.Time { return *now.Load() }
	r := h.run()
	r.eventually("ready", r.isReady)
	for _, row := range []struct{ at, status, sessions, debug, next string }{
		{"2026-03-01T08:59:59.999999999Z", `"dated":{"documents":1,"sessions":0,"debugSessions":1,"endSoon":2,"next":"2026-03-01T09:00:00Z"}`, "0", "1", "1.7723556e+09"},
		{"2026-03-01T09:00:00Z", `"dated":{"documents":1,"sessions":1,"debugSessions":1,"endSoon":3,"next":"2026-03-01T10:00:00Z"}`, "1", "1", "1.7723592e+09"},
		{"2026-03-01T10:00:00Z", `"dated":{"documents":1,"sessions":0,"debugSessions":1,"endSoon":2,"next":"2026-03-01T11:00:00Z"}`, "0", "1", "1.7723628e+09"},
		{"2026-03-01T11:00:00Z", `"dated":{"documents":1,"sessions":0,"debugSessions":0,"endSoon":1,"next":"2026-03-01T12:00:00Z"}`, "0", "0", "1.7723664e+09"},
		{"2026-03-01T12:00:00Z", `"dated":{"documents":1,"sessions":0,"debugSessions":0,"endSoon":0,"next":null}`, "0", "0", ""},
	} {
		set(row.at)
		if _, body := r.get("/v1/status"); !strings.Contains(strings.Join(strings.Fields(body), ""), row.status) {
			t.Errorf("%s: got %s, want %s", row.at, body, row.status)
		}
		_, metrics := r.get("/metrics")
		for _, line := range []string{
			`writ_sessions_in_force{kind="BreakglassSession"} ` + row.sessions + "\n",
			`writ_sessions_in_force{kind="DebugSession"} ` + row.debug + "\n",
		} {
			if !strings.Contains(metrics, line) {
				t.Errorf("%s: the metrics lack %s", row.at, line)
			}
		}
		if got := strings.Contains(metrics, "\nwrit_dated_next_timestamp_seconds "+row.next+"\n"); got != (row.next != "") {
			t.Errorf("%s: the next time in the metrics is not %q", row.at, row.next)
		}
	}
}
