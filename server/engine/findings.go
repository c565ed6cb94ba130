package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/translator/tables"
)

// findings is OPA's answer about the hits of a request: the hits that hold, the
// warnings about hits that could not be decided, and the outcome of deny policies.
type findings struct {
	hold      []match.Hit
	undecided []string
	denial    denyOutcome
	// selected are the hits that hold because of a selector of the request.
	selected []match.Hit
	// sufficient ends the reason that no rule allows the request; it may be empty.
	sufficient string
}

// denyOutcome is the decision of deny policies on a request: the rule outcome of
// rego/writ/access/deny.
type denyOutcome struct {
	denied   bool
	reason   string
	matched  decision.Matched
	unknown  bool // a deny rule matched only because the namespace labels are unknown
	warnings []string
	pod      *decision.PodSecurity
	pods     []decision.PodOutcome
}

// denialBy returns the outcome of a denial by a rule whose entries alone decide, as the rule
// outcome words it.
func denialBy(d *match.Denial) *denyOutcome {
	until := d.Policy.Dates.End()
	reason := fmt.Sprintf("denied by DenyPolicy %s, rule %d", d.Policy.Name, d.Rule.Rule)
	if until != "" {
		reason += " until " + until
	}
	return &denyOutcome{denied: true, reason: reason, matched: decision.Matched{
		Kind: "DenyPolicy", Name: d.Policy.Name, Rule: d.Rule.Rule, Source: d.Rule.Source, Effect: tables.EffectDeny,
		APIVersion: tables.BreakglassVersion, Until: until,
	}}
}

// decision returns the decision on a request that a deny policy denies.
func (s *denyOutcome) decision(now time.Time) decision.Decision {
	d := decision.Decision{
		Denied:   true,
		Reason:   s.reason,
		Unknown:  decision.Facts{NamespaceLabels: s.unknown},
		Warnings: []string{},
		Matched:  []decision.Matched{s.matched},
	}
	s.addTo(&d, now)
	return d
}

// addTo adds warnings and the results of pod security to d. If a pod was evaluated, the
// decision is valid at this instant only, because the pod may change.
func (s *denyOutcome) addTo(d *decision.Decision, now time.Time) {
	d.Warnings = append(append([]string{}, s.warnings...), d.Warnings...)
	d.PodSecurity, d.Pods = s.pod, s.pods
	if len(s.pods) > 0 {
		d.Expires = now
	}
}

var (
	keyDenied        = ast.StringTerm("denied")
	keyReason        = ast.StringTerm("reason")
	keyMatched       = ast.StringTerm("matched")
	keyWarnings      = ast.StringTerm("warnings")
	keyPodSecurity   = ast.StringTerm("podSecurity")
	keyPolicy        = ast.StringTerm("policy")
	keyAction        = ast.StringTerm("action")
	keyScore         = ast.StringTerm("score")
	keyPods          = ast.StringTerm("pods")
	keyLabelsUnknown = ast.StringTerm("labelsUnknown")
	keyOverride      = ast.StringTerm("override")
	keyFactors       = ast.StringTerm("factors")
	keySource        = ast.StringTerm("source")
	keyEffect        = ast.StringTerm("effect")
	keyAPIVersion    = ast.StringTerm("apiVersion")
	keyUntil         = ast.StringTerm("until")
)

// readFindings reads OPA's answer about hits. It returns an error if the answer is
// malformed: an incomplete answer must not be taken for "does not hold".
func readFindings(value ast.Value, hits []match.Hit) (findings, error) {
	answer, ok := value.(*ast.Array)
	if !ok || answer.Len() != 5 {
		return findings{}, errors.New("the findings must be a list of five elements")
	}
	var f findings
	var err error
	if f.hold, err = readHits(answer.Elem(0), hits); err != nil {
		return f, fmt.Errorf("the first of the findings: %w", err)
	}
	if f.selected, err = readHits(answer.Elem(3), hits); err != nil {
		return f, fmt.Errorf("the fourth of the findings: %w", err)
	}
	var r reader
	f.undecided = r.texts(answer.Elem(1))
	f.denial = r.denyOutcome(answer.Elem(2))
	f.sufficient = string(read[ast.String](&r, answer.Elem(4), "the end of the reason"))
	return f, r.err
}

// readHits reads positions of hits.
func readHits(term *ast.Term, hits []match.Hit) ([]match.Hit, error) {
	list, ok := term.Value.(*ast.Array)
	if !ok {
		return nil, errors.New("must be a list")
	}
	found := make([]match.Hit, list.Len())
	for i := range found {
		number, ok := list.Elem(i).Value.(ast.Number)
		position, isInteger := number.Int()
		if !ok || !isInteger || position < 0 || position >= len(hits) {
			return nil, fmt.Errorf("element %d must be the position of a rule", i)
		}
		found[i] = hits[position]
	}
	return found, nil
}

// reader reads values of which all members are required. It keeps the first error; what it
// returns after an error must not be used.
type reader struct{ err error }

// read returns a value that must be of type T.
func read[T ast.Value](r *reader, term *ast.Term, what any) (value T) {
	if term != nil {
		if value, ok := term.Value.(T); ok {
			return value
		}
	}
	if r.err == nil {
		r.err = fmt.Errorf("OPA's answer: %v is absent or of another type", what)
	}
	return value
}

func (r *reader) object(term *ast.Term, what any) members {
	value := read[ast.Object](r, term, what)
	if value == nil {
		value = noObject.Value.(ast.Object)
	}
	return members{r, value}
}

func (r *reader) texts(term *ast.Term) (texts []string) {
	list := read[*ast.Array](r, term, "a list of strings")
	if list == nil {
		return nil
	}
	for i := range list.Len() {
		texts = append(texts, string(read[ast.String](r, list.Elem(i), "an element of a list of strings")))
	}
	return texts
}

// members reads the members of an object.
type members struct {
	*reader
	of ast.Object
}

func (o members) text(key *ast.Term) string {
	return string(read[ast.String](o.reader, o.of.Get(key), key))
}

func (o members) boolean(key *ast.Term) bool {
	return bool(read[ast.Boolean](o.reader, o.of.Get(key), key))
}

func (o members) integer(key *ast.Term) int {
	number := read[ast.Number](o.reader, o.of.Get(key), key)
	n, isInteger := number.Int()
	if !isInteger && o.err == nil {
		o.err = fmt.Errorf("OPA's answer: %v must be an integer", key)
	}
	return n
}

func (o members) list(key *ast.Term) []string { return o.texts(o.of.Get(key)) }

func (r *reader) denyOutcome(term *ast.Term) denyOutcome {
	o := r.object(term, "the outcome")
	s := denyOutcome{denied: o.boolean(keyDenied), warnings: o.list(keyWarnings)}
	if pods := read[*ast.Array](r, o.of.Get(keyPods), "pods"); pods != nil {
		for i := range pods.Len() {
			s.pods = append(s.pods, r.object(pods.Elem(i), "an element of pods").podOutcome())
		}
	}
	if pod := o.of.Get(keyPodSecurity); pod != nil {
		p := r.object(pod, "podSecurity")
		s.pod = &decision.PodSecurity{
			Policy: p.text(keyPolicy), Action: p.text(keyAction), Score: p.integer(keyScore), Factors: append([]string{}, p.list(keyFactors)...),
		}
	}
	if s.denied {
		s.reason, s.unknown = o.text(keyReason), o.boolean(keyLabelsUnknown)
		m := r.object(o.of.Get(keyMatched), "matched")
		s.matched = decision.Matched{
			Kind: m.text(keyKind), Name: m.text(keyName), Rule: m.integer(keyRule), Source: m.text(keySource),
			Effect: m.text(keyEffect), APIVersion: m.text(keyAPIVersion),
		}
		if m.of.Get(keyUntil) != nil {
			s.matched.Until = m.text(keyUntil)
		}
	}
	return s
}

// podOutcome reads the outcome of one policy. A pod that is exempt, or unknown, has neither
// factors nor score.
func (o members) podOutcome() decision.PodOutcome {
	p := decision.PodOutcome{Policy: o.text(keyPolicy), Action: o.text(keyAction), Evaluated: o.of.Get(keyFactors) != nil}
	if p.Evaluated {
		p.Factors, p.Score = o.list(keyFactors), o.integer(keyScore)
		p.Override = o.of.Get(keyOverride) != nil && o.boolean(keyOverride)
	}
	return p
}
