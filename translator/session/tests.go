package session

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/tables"
)

// stranger is a user, a cluster, an issuer and a pod that no document names.
const stranger = "writ:other"

// testRow is one row of a generated test: what the sessions of a request are at an instant.
type testRow struct {
	note    string
	Of      [2]string      `json:"of"` // namespace and name of the session
	Request map[string]any `json:"request"`
	Now     dates.Instant  `json:"now"`
	Want    []any          `json:"want"`
}

// sessionTests returns two files: who holds sessions and what they lend, and who may use which
// pods. Requests are made at each bound and one nanosecond before it.
func sessionTests(t *tables.Sessions) map[string][]byte {
	files := make(map[string][]byte)
	var valid, named, debug []testRow
	tested := 0
	for _, s := range t.Sessions.All() {
		if tested++; tested > emit.TestedRoles {
			break
		}
		valid = append(valid, validRows(s)...)
		named = append(named, namedRows(s)...)
	}
	tested = 0
	for _, s := range t.Debug.All() {
		if tested++; tested > emit.TestedRoles {
			break
		}
		debug = append(debug, debugRows(s)...)
	}
	if len(valid)+len(named) > 0 {
		files["compiled/tests/sessions/breakglass_test.rego"] = testModule(breakglassTests, "_valid", valid, "_named", named)
	}
	if len(debug) > 0 {
		files["compiled/tests/sessions/debug_test.rego"] = testModule(debugTests, "_pods", debug)
	}
	return files
}

// samples returns instants within a period and out of it, at each bound and one nanosecond before.
func samples(p *dates.Period) (within, out []dates.Instant) {
	if p == nil {
		return []dates.Instant{0}, nil
	}
	return p.Samples()
}

// rows are the rows about one session.
type rows struct {
	of   [2]string
	list []testRow
}

func (r *rows) add(note string, request map[string]any, now dates.Instant, want ...any) {
	name := strings.TrimPrefix(r.of[0]+"/"+r.of[1], "/")
	r.list = append(r.list, testRow{fmt.Sprintf("%s, %s at %s", name, note, now), r.of, request, now, elements.NotNil(want)})
}

// ofUser is a request of a user on a cluster, whom an issuer has authenticated.
func ofUser(user, cluster string, by ...string) map[string]any {
	r := map[string]any{"user": user, "cluster": cluster, "verb": "get", "resource": "pods"}
	if len(by) > 0 {
		r["extra"] = map[string]any{tables.IssuerKey: by}
	}
	return r
}

// validRows are when and for whom a session is valid, with what it lends.
func validRows(s *tables.Session) []testRow {
	r := &rows{of: [2]string{s.Namespace, s.Name}}
	lends := []any{s.Groups, s.Owner, append([]string{}, s.Policies...)}
	if !s.MayHold() {
		r.add("never valid", ofUser(s.User, s.Cluster), 0)
		return r.list
	}
	own := ofUser(s.User, s.Cluster, s.Issuer)
	within, out := samples(s.Dates)
	for _, now := range within {
		r.add("valid", own, now, lends)
	}
	for _, now := range out {
		r.add("not valid", own, now)
	}
	if len(within) == 0 {
		return r.list
	}
	now := within[0]
	r.add("another user", ofUser(stranger, s.Cluster, s.Issuer), now)
	r.add("another cluster", ofUser(s.User, stranger, s.Issuer), now)
	r.add("no issuer", ofUser(s.User, s.Cluster), now, lends)
	foreign := ofUser(s.User, s.Cluster, s.Issuer, stranger)
	if s.AnyIssuer {
		r.add("another issuer as well", foreign, now, lends)
	} else {
		r.add("another issuer as well", foreign, now)
	}
	return r.list
}

// namedRows are the warnings of requests that name a session.
func namedRows(s *tables.Session) []testRow {
	r := &rows{of: [2]string{s.Namespace, s.Name}}
	asks := func(user string) map[string]any {
		request := ofUser(user, s.Cluster)
		request["session"] = s.Name
		return request
	}
	within, out := samples(s.Dates)
	for _, now := range slices.Concat(within, out) {
		var want []any
		if why := s.Invalid(now); why != "" {
			want = append(want, warning(s.Name, why))
		}
		r.add("named", asks(s.User), now, want...)
	}
	if !s.Unreadable {
		r.add("named by another user", asks(stranger), append(within, out...)[0], warning(s.Name, "for another user or cluster"))
	}
	return r.list
}

func warning(name, why string) string { return name + ": session is not valid: " + why }

// debugRows are which participants a session lets into which pods, and when.
func debugRows(s *tables.DebugSession) []testRow {
	r := &rows{of: [2]string{s.Namespace, s.Name}}
	within, out := samples(s.Dates)
	pods := slices.DeleteFunc(slices.Clone(s.Pods), func(p tables.PodName) bool { return p.Namespace == "" || p.Name == "" })
	if len(pods)*len(s.Subresources)*len(s.Participants) == 0 {
		return nil // no user is let in
	}
	pod, first := pods[0], s.Participants[0]
	asks := func(user, cluster, subresource string, pod tables.PodName) map[string]any {
		request := ofUser(user, cluster)
		request["subresource"], request["namespace"], request["name"] = subresource, pod.Namespace, pod.Name
		return request
	}
	own := asks(first.User, s.Cluster, s.Subresources[0], pod)
	for _, now := range within {
		r.add("let in", own, now, entry(first))
	}
	for _, now := range out {
		r.add("not let in", own, now)
	}
	if len(within) == 0 {
		return r.list
	}
	now := within[0]
	for i, p := range s.Participants {
		if i == slices.IndexFunc(s.Participants, func(other tables.Participant) bool { return other.User == p.User }) {
			r.add("participant "+p.User, asks(p.User, s.Cluster, s.Subresources[0], pod), now, entry(p))
		}
	}
	for i, other := range pods {
		if i == slices.Index(pods, other) {
			r.add("pod "+other.Namespace+"/"+other.Name, asks(first.User, s.Cluster, s.Subresources[0], other), now, entry(first))
		}
	}
	for _, o := range operations {
		var want []any
		if slices.Contains(s.Subresources, o.subresource) {
			want = append(want, entry(first))
		}
		r.add(o.subresource, asks(first.User, s.Cluster, o.subresource, pod), now, want...)
	}
	r.add("another user", asks(stranger, s.Cluster, s.Subresources[0], pod), now)
	r.add("another cluster", asks(first.User, stranger, s.Subresources[0], pod), now)
	r.add("another pod", asks(first.User, s.Cluster, s.Subresources[0], tables.PodName{Namespace: pod.Namespace, Name: "writ-other"}), now)
	r.add("another namespace", asks(first.User, s.Cluster, s.Subresources[0], tables.PodName{Namespace: "writ-other", Name: pod.Name}), now)
	return r.list
}

// entry is a participant as a test states it.
func entry(p tables.Participant) []any { return []any{p.Index, p.Role} }

const breakglassTests = `# METADATA
# description: |
#   Who holds BreakglassSessions, when, and what they lend: groups, the escalation that owns the
#   session, and deny policies. Generated from the sessions.
package compiled.tests.sessions.breakglass_test

_lent(row) := [[session.groups, object.get(session, "owner", ""), object.get(session, "policies", [])] |
	some session in data.writ.access.sessions.valid with input as row.request with time.now_ns as row.now
	[session.namespace, session.name] == row.of
]

test_valid[note] if {
	some note, row in _valid
	_lent(row) == row.want
}

test_named[note] if {
	some note, row in _named
	warnings := data.writ.access.sessions.warnings with input as row.request with time.now_ns as row.now
	warnings == row.want
}
`

const debugTests = `# METADATA
# description: |
#   Whom DebugSessions let into which pods, and when: each participant by position and
#   role. Generated from the sessions.
package compiled.tests.sessions.debug_test

_lets(row) := [[participant.index, participant.role] |
	some [session, participant] in data.writ.access.sessions.covering with input as row.request with time.now_ns as row.now
	[session.namespace, session.name] == row.of
]

test_pods[note] if {
	some note, row in _pods
	_lets(row) == row.want
}
`

// testModule returns a module with names of rows and rows in turn.
func testModule(text string, named ...any) []byte {
	out := bytes.NewBufferString(text)
	for i := 0; i < len(named); i += 2 {
		emit.WriteRows(out, named[i].(string), named[i+1].([]testRow), func(row testRow) (string, any) { return row.note, row })
	}
	return out.Bytes()
}
