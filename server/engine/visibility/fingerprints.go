package visibility

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// Fingerprints returns fingerprints of the policies and sources of this revision.
func (p *Policies) Fingerprints() *decision.Fingerprints { return p.fingerprints() }

// computeFingerprints computes the fingerprints of the tables.
func (x *index) computeFingerprints(revision string) *decision.Fingerprints {
	f := &decision.Fingerprints{
		Revision: revision,
		Policies: make(map[decision.DocumentName]decision.PolicyFingerprint, len(x.tables.Policies)),
		Sources:  make(map[decision.DocumentName]decision.SourceFingerprint, len(x.tables.Sources)),
	}
	for i := range x.tables.Policies {
		p := &x.tables.Policies[i]
		name := decision.DocumentName{Namespace: p.Namespace, Name: p.Name}
		f.Policies[name] = decision.PolicyFingerprint{
			Hash: policyHash(p), Names: p.Users, Groups: p.Groups,
		}
	}
	for i := range x.tables.Sources {
		s := x.tables.Sources[i]
		s.Source = ""
		f.Sources[decision.DocumentName{Namespace: s.Namespace, Name: s.Name}] = decision.SourceFingerprint{Hash: hash(s), Type: s.Type}
	}
	return f
}

// policyHash identifies the policy's content and ignores its position.
func policyHash(p *tables.VisibilityPolicy) string {
	return hash(p.WithoutSources())
}

func hash(table any) string {
	text, err := json.Marshal(table)
	if err != nil {
		panic(err) // cannot happen: the tables were read from JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Revalidate converts an authorization of an earlier revision: it looks up the policy
// and the rule, whose positions in files may have changed.
func (p *Policies) Revalidate(a decision.Authorization) (decision.Authorization, bool) {
	a.Basis, a.Revision = nil, p.revision
	if a.EvaluationError != "" || a.Decision != decision.VisibleNone && len(a.Matched) != 1 {
		return a, false
	}
	a.Matched = slices.Clone(a.Matched) // other callers share the original
	for i := range a.Matched {
		rule := p.rule(&a.Matched[i])
		if rule == nil {
			return a, false
		}
		a.Matched[i].Source = rule.Source
		if a.Decision != decision.VisibleNone {
			a.Basis = rule
		}
	}
	return a, true
}
