package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

var _ decision.Renewer = (*Engine)(nil)

// grounds are what authorizations rest on, by the names of documents.
type grounds struct {
	policies map[decision.DocumentName]*tables.VisibilityPolicy
	told     decision.Grounds
}

// Grounds are what the engine's authorizations rest on.
func (e *Engine) Grounds() *decision.Grounds {
	told := e.grounds().told
	told.Revision = e.revision
	return &told
}

func (v *views) grounds() grounds {
	g := grounds{make(map[decision.DocumentName]*tables.VisibilityPolicy, len(v.tables.Policies)), decision.Grounds{
		Policies: make(map[decision.DocumentName]decision.PolicyGround, len(v.tables.Policies)),
		Sources:  make(map[decision.DocumentName]decision.SourceGround, len(v.tables.Sources)),
	}}
	for i := range v.tables.Policies {
		p := &v.tables.Policies[i]
		name := decision.DocumentName{Namespace: p.Namespace, Name: p.Name}
		g.policies[name] = p
		g.told.Policies[name] = decision.PolicyGround{
			Hash: policyHash(p), Names: p.Users, Groups: p.Groups,
		}
	}
	for i := range v.tables.Sources {
		s := v.tables.Sources[i]
		s.Source = ""
		g.told.Sources[decision.DocumentName{Namespace: s.Namespace, Name: s.Name}] = decision.SourceGround{Hash: hash(s), Type: s.Type}
	}
	return g
}

// policyHash is of what the policy says and not of where it stands.
func policyHash(p *tables.VisibilityPolicy) string {
	said := *p
	said.Source, said.DefaultSource = "", ""
	said.Rules = slices.Clone(p.Rules)
	for i := range said.Rules {
		said.Rules[i].Source = ""
	}
	return hash(said)
}

func hash(table any) string {
	text, err := json.Marshal(table)
	if err != nil {
		panic(err) // tables came out of JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Renew finds what an authorization of an earlier revision rests on in this one:
// the policy and its rule, which may stand on another line now.
func (e *Engine) Renew(a decision.Authorization) (decision.Authorization, bool) {
	a.Basis, a.Revision = nil, e.revision
	if a.Trouble != "" || a.Decision != decision.VisibleNone && len(a.Matched) != 1 {
		return a, false
	}
	a.Matched = slices.Clone(a.Matched) // callers share the old one
	known := e.grounds()
	for i := range a.Matched {
		source, found := known.place(&a.Matched[i])
		if !found {
			return a, false
		}
		a.Matched[i].Source = source
	}
	if a.Decision == decision.VisibleNone {
		return a, true
	}
	rule := e.views.rules[viewKey{a.Matched[0].Namespace, a.Matched[0].Name, a.Matched[0].Rule}]
	a.Basis = rule
	return a, rule != nil
}

// place is where the rule that matched stands.
func (g *grounds) place(m *decision.Matched) (string, bool) {
	p := g.policies[decision.DocumentName{Namespace: m.Namespace, Name: m.Name}]
	switch {
	case p == nil || m.Rule >= len(p.Rules):
		return "", false
	case m.Rule < 0:
		return p.DefaultSource, true
	}
	return p.Rules[m.Rule].Source, true
}
