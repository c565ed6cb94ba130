package session

import (
	"fmt"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

// resolution are the sessions of a directory, in the order of positions, each name once.
type resolution struct {
	Sessions []sessionDocument
	Debug    []debugDocument
	Cluster  string // the only one whose requests are decided; empty for all
	// Prefixes are those of groups under which a session's group counts as well.
	Prefixes []string
}

// sessionDocument is a session with its owner, which may be nil.
type sessionDocument struct {
	Document *BreakglassSession
	Owner    *syntax.Header
	Wrong    bool
}

// Meta implements syntax.Document.
func (s sessionDocument) Meta() *syntax.Header { return s.Document.Meta() }

// Meta implements syntax.Document.
func (s debugDocument) Meta() *syntax.Header { return s.Document.Meta() }

// debugDocument is a DebugSession.
type debugDocument struct {
	Document *DebugSession
	Wrong    bool
}

// resolver follows the references of one directory.
type resolver struct {
	*directory.Directory
}

func resolve(d *directory.Directory) *resolution {
	r := resolver{d}
	out := &resolution{Cluster: d.Cluster, Prefixes: d.SessionGroupPrefixes}
	sessions := directory.DocumentsOf[*BreakglassSession](d)
	named := make(map[string]*BreakglassSession, len(sessions))
	for _, s := range sessions {
		if first := named[s.Name]; first != nil {
			r.repeated(&s.Header, &first.Header)
			continue
		}
		named[s.Name] = s
		isDangling := r.checkPolicies(s)
		out.Sessions = append(out.Sessions, sessionDocument{s, r.owner(s), s.Wrong || isDangling})
	}
	debug := make(map[directory.Identity]*DebugSession)
	for _, s := range directory.DocumentsOf[*DebugSession](d) {
		id := directory.IdentityOf(&s.Header)
		if first := debug[id]; first != nil {
			r.repeated(&s.Header, &first.Header)
			continue
		}
		debug[id] = s
		out.Debug = append(out.Debug, debugDocument{s, s.Wrong})
	}
	return out
}

// repeated reports a session with the name of an earlier one, which is left out. Requests
// name a session without its namespace.
func (r *resolver) repeated(second, first *syntax.Header) {
	r.List.Add(diag.Diagnostic{
		Position: second.At, Severity: second.DanglingSeverity(), Code: diag.Duplicate,
		Message: fmt.Sprintf("%s %q is declared twice; the first is at %s", second.Kind, second.Name, first.At.Source()),
		Hint:    "remove one of them, or give it a name of its own",
		Related: []diag.Related{{Position: first.At, Message: "the first is here"}},
	})
}

// owner returns the first of the owners that is an escalation of the session's namespace.
func (r *resolver) owner(s *BreakglassSession) *syntax.Header {
	for _, o := range s.Owners {
		e := r.named(kindEscalation, o.Name)
		if e != nil && e.Given != nil && e.Given.In == s.Namespace && (e.Given.UID == o.UID || e.Given.UID == "" || o.UID == "") {
			return e
		}
	}
	return nil
}

// checkPolicies reports policies of an approved session that do not exist, and whether
// there are any.
func (r *resolver) checkPolicies(s *BreakglassSession) (isDangling bool) {
	if s.State != StateApproved {
		return false
	}
	for _, ref := range s.DenyPolicyRefs {
		if r.named(kindDenyPolicy, ref.Value) != nil {
			continue
		}
		isDangling = true
		if r.IsUndecoded(ref.At, kindDenyPolicy, ref.Value) {
			continue
		}
		d := ref.Diagnostic(s.DanglingSeverity(), diag.DanglingPolicy, "declare it in this directory",
			"denyPolicyRefs names the %s %q, which is not declared", kindDenyPolicy, ref.Value)
		isPolicy := func(h *syntax.Header) bool { return h.Kind == kindDenyPolicy }
		if near := directory.Near(r.Directory, ref.Value, r.Documents(), isPolicy); near != nil {
			d.Hint, d.Related = fmt.Sprintf("did you mean %q?", near.Name), directory.Related(near)
		}
		r.List.Add(d)
	}
	return isDangling
}

// named returns the header of a document that sessions refer to, or nil.
func (r *resolver) named(kind, name string) *syntax.Header {
	if d := r.Find(directory.Identity{Family: references, Kind: kind, Name: name}); d != nil {
		return d.Meta()
	}
	return nil
}
