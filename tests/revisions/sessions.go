package revisions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/server/engine"
)

// Clock is the time of some revisions. The zero value is the zero time.
type Clock struct{ Time time.Time }

// Set sets the time.
func (c *Clock) Set(at time.Time) { c.Time = at }

// At translates documents and activates them by a clock.
func (c *Clock) At(t *testing.T, documents []string) *diff.Side {
	t.Helper()
	side, list := activated(t, files(documents), engine.Options{Now: func() time.Time { return c.Time }})
	if side == nil {
		t.Fatalf("%v\n%s", list, strings.Join(documents, "\n"))
	}
	return side
}

// Hour is an hour of the day on which Sessions begin and end.
func Hour(hour int) time.Time { return time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC) }

func (random Random) hour() string { return Hour(random.IntN(6)).Format(time.RFC3339) }

// Sessions returns sessions of the users of Request, on its clusters, with the policies that
// they bring into scope. Each may be replaced by the one at its index in others.
func (random Random) Sessions() []string {
	const api = "apiVersion: breakglass.t-caas.telekom.com/v1alpha1"
	var out []string
	for i, policies := range []string{"of-e0", ""} {
		out = append(out, fmt.Sprintf("{kind: BreakglassEscalation, %s, metadata: {name: e%d}, spec: {escalatedGroup: g0, allowed: {clusters: [\"*\"], groups: [g1]}, approvers: {groups: [g2]}, denyPolicyRefs: [%s]}}", api, i, policies))
	}
	for _, p := range [][2]string{{"of-e0", "sessions: [none]"}, {"of-s", "sessions: [s0, s2]"}, {"attached", "escalationRefs: [e1]"}} {
		out = append(out, fmt.Sprintf("{kind: DenyPolicy, %s, metadata: {name: %s}, spec: {appliesTo: {%s}, rules: [{verbs: %s, apiGroups: [\"\"], resources: %s}]}}",
			api, p[0], p[1], random.some("get", "delete", "list"), random.some("pods", "secrets")))
	}
	for i := range 3 {
		spec := fmt.Sprintf("cluster: %s, user: %s, grantedGroup: %s", random.Pick("prod-1", "lab"), random.Pick("u0", "u1", "u2"), random.Pick("g0", "g1", "g2"))
		spec += random.Pick("", ", allowIDPMismatch: true", ", identityProviderIssuer: a") + random.Pick("", "", ", denyPolicyRefs: [attached]")
		owner := random.Pick("", ", ownerReferences: [{"+api+", kind: BreakglassEscalation, name: e0}]")
		out = append(out, fmt.Sprintf("{kind: BreakglassSession, %s, metadata: {name: s%d%s}, spec: {%s}, status: {state: %s, approvedAt: %q, expiresAt: %q}}",
			api, i, owner, spec, random.Pick("Approved", "Approved", "Approved", "Pending"), random.hour(), Hour(2+random.IntN(5)).Format(time.RFC3339)))
	}
	for i := range 2 {
		out = append(out, fmt.Sprintf("{kind: DebugSession, %s, metadata: {name: d%d}, spec: {cluster: %s}, status: {state: Active, startsAt: %q, allowedPods: [{namespace: shop, name: %s}, {namespace: lab, name: b}], participants: [{user: %s, role: owner}, {user: %s, role: viewer}]}}",
			api, i, random.Pick("prod-1", "lab"), random.hour(), random.Pick("a", "b"), random.Pick("u0", "u1", "u2"), random.Pick("u0", "u1")))
	}
	return out
}

// SessionRequest returns a request like Request, of the users of sessions and their issuers.
func (random Random) SessionRequest() map[string]any {
	r := random.Request()
	r["user"] = random.Pick("u0", "u1", "u2")
	if random.IntN(2) == 0 {
		r["groups"] = []string{}
	}
	if random.IntN(3) == 0 {
		r["extra"] = map[string]any{"identity.t-caas.telekom.com/issuer": []any{random.Pick("a", "b"), random.Pick("", "a")}}
	}
	if random.IntN(4) == 0 {
		r["session"] = random.Pick("s0", "s1", "other")
	}
	if random.IntN(4) == 0 {
		r["resource"], r["apiGroup"], r["subresource"], r["name"] = "pods", "", "exec", random.Pick("a", "b")
		r["namespace"] = random.Pick("shop", "lab")
	}
	return r
}
