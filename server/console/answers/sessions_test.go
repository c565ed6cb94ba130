package answers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// dated is a revision of drawn documents, with a clock.
type dated struct {
	*testing.T
	now      time.Time
	active   decision.Policies
	explorer *Explorer
}

func newDated(t *testing.T, files map[string]string) *dated {
	t.Helper()
	d := &dated{T: t}
	var snapshot source.Snapshot
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := []byte(files[name])
		snapshot.Files = append(snapshot.Files, source.NewFile(name, content))
	}
	result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatalf("the documents do not compile: %+v", list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return d.now }
	if d.active, err = engine.Activate(t.Context(), b, engine.Options{Now: clock}); err != nil {
		t.Fatal(err)
	}
	d.explorer = New(Options{Current: func() decision.Policies { return d.active }, Now: clock})
	d.explorer.Activate(b)
	return d
}

func (d *dated) decide(request string) decision.Decision {
	d.Helper()
	r, err := decision.Decode[decision.Request]([]byte(request))
	if err != nil {
		d.Fatalf("%s: %v", request, err)
	}
	return d.active.Access(context.Background(), r)
}

// named are the sessions because of which a decision is made, by kind and name.
func named(d *decision.Decision) (list []string) {
	for _, m := range d.Matched {
		if m.Kind == kindDebug {
			list = append(list, m.Kind+" "+m.Namespace+"/"+m.Name)
		}
		for _, via := range m.Via {
			list = append(list, via.Kind+" "+via.Namespace+"/"+via.Name)
		}
	}
	return list
}

// In random worlds, around the times at which sessions begin and end, the request of each
// session that holds is allowed by a decision that names the session; no decision names one
// that does not hold, or that has no such request; and the reason why it does not hold is that
// of a decision on a request which names it.
func TestSessionsAreThoseOfDecisions(t *testing.T) {
	instants := access.Instants()
	asked, unasked, because, refused := 0, 0, 0, 0
	for seed := uint64(1); seed <= uint64(gate.Worlds(max(12, gate.Times(1)))); seed++ {
		files, world := access.GenerateDated(seed)
		d := newDated(t, files)
		requests := world.Requests(60)
		for i := int(seed % 5); i < len(instants); i += 5 {
			d.now = instants[i]
			where := fmt.Sprintf("world %d at %s", seed, d.now.Format(time.RFC3339Nano))
			found, err := d.explorer.Now().Sessions(t.Context(), all, console.SessionsQuery{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			states, requestless := make(map[string]string), make(map[string]bool)
			for _, s := range found.Sessions {
				name := s.Kind + " " + s.Namespace + "/" + s.Name
				states[name] = s.State
				switch {
				case s.Request != nil:
					got := d.decide(string(s.Request))
					if asked++; s.State != console.SessionHolds || !got.Allowed || !slices.Contains(named(&got), name) {
						t.Errorf("%s: %s %s: the decision on %s is %s", where, name, s.State, s.Request, got.Reason)
					}
				case s.State == console.SessionHolds:
					requestless[name] = true
					unasked++
				case s.Kind == kindSession:
					got := d.decide(text(t, map[string]any{"user": s.Users[0], "cluster": s.Cluster, "verb": "get", "resource": "pods", "session": s.Name}))
					if want := s.Name + ": session is not valid: " + s.Why; s.Cluster != "" && (len(got.Warnings) == 0 || got.Warnings[0] != want) {
						t.Errorf("%s: got the warnings %q, want %q", where, got.Warnings, want)
					}
					refused++
				}
				if (s.Why == "") != (s.State == console.SessionHolds) {
					t.Errorf("%s: %s is %s because %q", where, name, s.State, s.Why)
				}
			}
			for _, r := range requests {
				if _, err := decision.Decode[decision.Request]([]byte(r.JSON())); err != nil {
					continue
				}
				got := d.decide(r.JSON())
				for _, name := range named(&got) {
					if got.Allowed && requestless[name] {
						t.Errorf("%s: %s has no request, and decides %s", where, name, r.JSON())
					}
					if because++; states[name] != console.SessionHolds {
						t.Errorf("%s: %s is %q, and decides %s: %s", where, name, states[name], r.JSON(), got.Reason)
					}
				}
			}
		}
	}
	t.Logf("%d requests were asked, %d sessions have none, %d decisions name a session, %d are refused", asked, unasked, because, refused)
	if asked < gate.Worlds(20) || because < gate.Worlds(20) || refused < gate.Worlds(100) {
		t.Error("which proves little")
	}
}

// The states, ends and filters of sessions, and the escalations beside them.
func TestSessions(t *testing.T) {
	s := newSite(t, "== sessions.yaml\n"+strings.Join([]string{
		session("holds", "ada", "one", `{state: Approved, approvedAt: "2026-11-22T08:00:00Z", expiresAt: "2026-11-22T10:00:00Z"}`),
		session("long", "bob", "two", `{state: Approved, expiresAt: "2026-11-24T10:00:00Z"}`),
		session("later", "ada", "one", `{state: Approved, approvedAt: "2026-11-22T09:30:00Z", expiresAt: "2026-11-22T10:00:00Z"}`),
		session("waits", "ada", "one", `{state: WaitingForScheduledTime, expiresAt: "2026-11-22T10:00:00Z"}`),
		session("over", "ada", "one", `{state: Approved, expiresAt: "2026-11-22T09:00:00Z"}`),
		`{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassEscalation, metadata: {name: fix, namespace: bg},
 spec: {escalatedGroup: root, allowed: {clusters: [one], groups: [sre]}, approvers: {groups: [leads]}}}`,
	}, "\n---\n"))
	ask := func(q console.SessionsQuery) (text string, found *console.Sessions) {
		t.Helper()
		found, err := s.explorer.Now().Sessions(t.Context(), all, q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range found.Sessions {
			text += found.Sessions[i].Name + " " + found.Sessions[i].State + ": " + found.Sessions[i].Why + "; "
		}
		return text, found
	}
	got, found := ask(console.SessionsQuery{})
	const want = "holds holds: ; long holds: ; later begins: begins 2026-11-22T09:30:00Z; waits refused: state WaitingForScheduledTime; over ended: ended 2026-11-22T09:00:00Z; "
	if got != want || found.EndSoon != 1 || found.Total != 5 || found.At != "2026-11-22T09:00:00Z" || len(found.Escalations) != 1 {
		t.Errorf("got %s%+v\nwant %s", got, found, want)
	}
	for query, want := range map[console.SessionsQuery]string{
		{User: "AD", State: console.SessionHolds}: "holds holds: ; ",
		{Cluster: "two"}:       "long holds: ; ",
		{Cluster: "on"}:        "",
		{Limit: 1, After: "2"}: "later begins: begins 2026-11-22T09:30:00Z; ",
	} {
		if got, found := ask(query); got != want || found.States[console.SessionHolds] != 2 || (query.Cluster != "") != (len(found.Escalations) == 0) {
			t.Errorf("%+v: got %s%+v, want %s", query, got, found, want)
		}
	}
	if _, err := s.explorer.Now().Sessions(t.Context(), console.Caller{User: "ada"}, console.SessionsQuery{}); reasonOf(err) != console.Forbidden {
		t.Errorf("a caller who is not an auditor: got %v", err)
	}
	if _, err := s.explorer.Now().Sessions(t.Context(), all, console.SessionsQuery{State: "Active"}); reasonOf(err) != console.Invalid {
		t.Errorf("another state: got %v", err)
	}
}

// session is a BreakglassSession.
func session(name, user, cluster, status string) string {
	return fmt.Sprintf("{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassSession, metadata: {name: %s},\n spec: {cluster: %s, user: %s, grantedGroup: root}, status: %s}", name, cluster, user, status)
}

// The step of debug sessions is the first one where documents have such a session, and lists no
// deny policy. A match states when it ends, and through which session.
func TestStepsOfSessions(t *testing.T) {
	const debug = `{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DebugSession, metadata: {name: crash, namespace: bg}, spec: {cluster: one},
 status: {state: Active, expiresAt: "2026-11-22T10:00:00Z", allowedPods: [{namespace: shop, name: web}], participants: [{user: eve, role: owner}]}}`
	lent := session("lent", "bob", "one", `{state: Approved, expiresAt: "2026-11-22T10:00:00Z"}`)
	lent = strings.Replace(lent, "grantedGroup: root", "grantedGroup: ops", 1)
	s := newSite(t, policies+"== sessions.yaml\n"+debug+"\n---\n"+lent+"\n")
	e := s.explain("access", `{"user":"eve","verb":"create","resource":"pods","subresource":"exec","namespace":"shop","name":"web","cluster":"one"}`)
	first := e.Steps[0]
	if len(e.Steps) != 7 || first.Step != 0 || first.State != console.Decides || len(first.Matched) != 1 || first.Matched[0].Until != "2026-11-22T10:00:00Z" || len(first.Policies) > 0 {
		t.Errorf("got the first step %+v of %d", first, len(e.Steps))
	}
	for _, step := range e.Steps[1:] {
		if step.State != console.NotAsked || len(step.Matched) > 0 || slices.ContainsFunc(step.Policies, func(p console.StepPolicy) bool { return p.State != console.NotAsked }) {
			t.Errorf("got the step %+v after a debug session decided", step)
		}
	}
	e = s.explain("access", `{"user":"bob","verb":"get","resource":"nodes","cluster":"one"}`)
	i := slices.IndexFunc(e.Steps, func(s console.Step) bool { return s.State == console.Decides })
	if m := e.Steps[i].Matched[0]; m.Until != "2026-11-22T10:00:00Z" || len(m.Via) != 1 || m.Via[0].Name != "lent" || e.Steps[0].State != console.NoMatch {
		t.Errorf("got %+v", e.Steps[i])
	}
	m := s.matrix(console.MatrixQuery{Resource: "nodes", Search: "bob"})
	if got := m.Rows[0].Cells[0]; got.Title != "ClusterRoleBinding admins via session lent" || got.Until != "2026-11-22T10:00:00Z" || got.Outcome != console.Depends {
		t.Errorf("got the cell %+v", got)
	}
	if steps := newSite(t, policies).explain("access", `{"user":"bob","verb":"get","resource":"nodes"}`).Steps; len(steps) != 6 || steps[0].Step != 1 {
		t.Errorf("without a debug session: got %+v", steps)
	}
}

// A step lists the rules that match at another time alone, with when they begin or ended, also
// where a denial at that time hides them from decisions.
func TestStepsAtOtherTimes(t *testing.T) {
	binding := func(name, group, dates string) string {
		return `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: ` + name + `, annotations: {` + dates + `}},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodes}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: ` + group + `}]}
---
`
	}
	lent := func(name, from, until string) string {
		s := session(name, "bob", "one", `{state: Approved, approvedAt: "`+from+`", expiresAt: "`+until+`"}`)
		return strings.Replace(s, "grantedGroup: root", "grantedGroup: night", 1) + "\n---\n"
	}
	documents := `== p.yaml
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: nodes}, rules: [{verbs: [get], apiGroups: [""], resources: [nodes]}]}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: frozen, annotations: {writ.dev/not-before: "2026-11-22T11:00:00Z", writ.dev/not-after: "2026-11-22T12:00:00Z"}},
 spec: {rules: [{verbs: [get], apiGroups: [""], resources: [nodes]}]}}
---
` + binding("early", "ops", `writ.dev/not-after: "2026-11-22T08:00:00Z"`) +
		binding("now", "ops", `writ.dev/not-after: "2026-11-22T10:00:00Z"`) +
		binding("late", "ops", `writ.dev/not-before: "2026-11-22T11:30:00Z"`) +
		binding("night", "night", `writ.dev/not-before: "2026-11-22T07:00:00Z"`) +
		lent("earlier", "2026-11-22T06:00:00Z", "2026-11-22T07:30:00Z") + lent("later", "2026-11-22T13:00:00Z", "2026-11-22T14:00:00Z")
	s := newSite(t, documents)
	dated := func(request string, c console.Caller) (list []string) {
		e, err := s.explorer.Now().Explain(t.Context(), c, decision.Access, []byte(request), now)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range e.Steps {
			for _, d := range step.Dated {
				list = append(list, fmt.Sprintf("%d %s %s", step.Step, d.Name, d.Why))
			}
		}
		return list
	}
	auditor := console.Caller{User: "auditor", SeesAll: true}
	bob := console.Caller{User: "bob", Groups: []string{"ops"}}
	denial := "1 frozen begins 2026-11-22T11:00:00Z"
	grants := []string{"4 early ended 2026-11-22T08:00:00Z", "4 late begins 2026-11-22T11:30:00Z"}
	for _, row := range []struct {
		request string
		caller  console.Caller
		want    []string
	}{
		{`{"user":"eve","groups":["ops"],"verb":"get","resource":"nodes"}`, auditor, slices.Concat([]string{denial}, grants)},
		{`{"user":"bob","verb":"get","resource":"nodes","cluster":"one"}`, auditor, []string{denial, "4 night begins 2026-11-22T13:00:00Z", "4 night ended 2026-11-22T07:30:00Z"}},
		{`{"user":"bob","verb":"get","resource":"nodes","cluster":"two"}`, auditor, []string{denial}},
		{`{"user":"bob","groups":["ops"],"verb":"get","resource":"nodes"}`, bob, grants},
		{`{"user":"bob","verb":"list","resource":"nodes"}`, auditor, nil},
	} {
		got := dated(row.request, row.caller)
		slices.Sort(got)
		if !slices.Equal(got, row.want) {
			t.Errorf("%s by %s: got %q, want %q", row.request, row.caller.User, got, row.want)
		}
	}
}
