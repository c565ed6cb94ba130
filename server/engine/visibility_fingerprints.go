package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// fingerprints are what authorizations depend on, by the names of documents.
type fingerprints struct {
	policies map[decision.DocumentName]*tables.VisibilityPolicy
	public   decision.Fingerprints
}

// Fingerprints identify what the engine's authorizations depend on.
func (e *Engine) Fingerprints() *decision.Fingerprints { return &e.fingerprints().public }

// fingerprints computes the fingerprints of the tables.
func (v *views) fingerprints(revision string) *fingerprints {
	f := fingerprints{make(map[decision.DocumentName]*tables.VisibilityPolicy, len(v.tables.Policies)), decision.Fingerprints{
		Revision: revision,
		Policies: make(map[decision.DocumentName]decision.PolicyFingerprint, len(v.tables.Policies)),
		Sources:  make(map[decision.DocumentName]decision.SourceFingerprint, len(v.tables.Sources)),
	}}
	for i := range v.tables.Policies {
		p := &v.tables.Policies[i]
		name := decision.DocumentName{Namespace: p.Namespace, Name: p.Name}
		f.policies[name] = p
		f.public.Policies[name] = decision.PolicyFingerprint{
			Hash: policyHash(p), Names: p.Users, Groups: p.Groups,
		}
	}
	for i := range v.tables.Sources {
		s := v.tables.Sources[i]
		s.Source = ""
		f.public.Sources[decision.DocumentName{Namespace: s.Namespace, Name: s.Name}] = decision.SourceFingerprint{Hash: hash(s), Type: s.Type}
	}
	return &f
}

// policyHash identifies the policy's content and ignores its position.
func policyHash(p *tables.VisibilityPolicy) string {
	content := *p
	content.Source, content.DefaultSource = "", ""
	content.Rules = slices.Clone(p.Rules)
	for i := range content.Rules {
		content.Rules[i].Source = ""
	}
	return hash(content)
}

func hash(table any) string {
	text, err := json.Marshal(table)
	if err != nil {
		panic(err) // tables came out of JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Revalidate looks up the policy and the rule of an authorization of an earlier
// revision: their positions may have changed.
func (e *Engine) Revalidate(a decision.Authorization) (decision.Authorization, bool) {
	a.Basis, a.Revision = nil, e.revision
	if a.EvaluationError != "" || a.Decision != decision.VisibleNone && len(a.Matched) != 1 {
		return a, false
	}
	a.Matched = slices.Clone(a.Matched) // callers share the old one
	known := e.fingerprints()
	for i := range a.Matched {
		source, found := known.position(&a.Matched[i])
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

// position is the source of the rule that matched, false if there is no such rule.
func (f *fingerprints) position(m *decision.Matched) (string, bool) {
	p := f.policies[decision.DocumentName{Namespace: m.Namespace, Name: m.Name}]
	switch {
	case p == nil || m.Rule >= len(p.Rules):
		return "", false
	case m.Rule < 0:
		return p.DefaultSource, true
	}
	return p.Rules[m.Rule].Source, true
}
