package engine

import (
	"errors"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
)

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

// decision returns the decision on a request that a deny policy denies.
func (s *denyOutcome) decision(now time.Time) decision.Decision {
	d := decision.Decision{
		Denied:        true,
		Reason:        s.reason,
		LabelsUnknown: s.unknown,
		Warnings:      []string{},
		Matched:       []decision.Matched{s.matched},
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
)

var errDenyOutcome = errors.New("deny policies returned a malformed outcome")

// readDenyOutcome reads the outcome. It returns an error if the outcome is malformed.
func readDenyOutcome(value ast.Value) (denyOutcome, error) {
	var s denyOutcome
	o, ok := value.(ast.Object)
	if !ok {
		return s, errDenyOutcome
	}
	denied, ok := member[ast.Boolean](o, keyDenied)
	warnings, ok2 := member[*ast.Array](o, keyWarnings)
	if !ok || !ok2 {
		return s, errDenyOutcome
	}
	s.denied = bool(denied)
	var err error
	if s.warnings, err = readStrings(warnings); err != nil {
		return s, err
	}
	if s.pods, err = readOutcomes(o); err != nil {
		return s, err
	}
	if pod, ok := member[ast.Object](o, keyPodSecurity); ok {
		if s.pod, err = readPod(pod); err != nil {
			return s, err
		}
	}
	if !s.denied {
		return s, nil
	}
	reason, ok := member[ast.String](o, keyReason)
	matched, ok2 := member[ast.Object](o, keyMatched)
	if !ok || !ok2 {
		return s, errDenyOutcome
	}
	unknown, ok := member[ast.Boolean](o, keyLabelsUnknown)
	if !ok {
		return s, errDenyOutcome
	}
	s.reason, s.unknown = string(reason), bool(unknown)
	s.matched, err = readMatched(matched)
	return s, err
}

func readOutcomes(o ast.Object) ([]decision.PodOutcome, error) {
	list, ok := member[*ast.Array](o, keyPods)
	if !ok {
		return nil, errDenyOutcome
	}
	var outcomes []decision.PodOutcome
	for i := range list.Len() {
		row, ok := list.Elem(i).Value.(ast.Object)
		if !ok {
			return nil, errDenyOutcome
		}
		policy, ok1 := member[ast.String](row, keyPolicy)
		action, ok2 := member[ast.String](row, keyAction)
		if !ok1 || !ok2 {
			return nil, errDenyOutcome
		}
		outcome := decision.PodOutcome{Policy: string(policy), Action: string(action)}
		if factors, ok := member[*ast.Array](row, keyFactors); ok {
			var err error
			if outcome.Factors, err = readStrings(factors); err != nil {
				return nil, err
			}
			outcome.Evaluated = true
			outcome.Score, _ = readInt(row, keyScore)
			override, _ := member[ast.Boolean](row, keyOverride)
			outcome.Override = bool(override)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

func readMatched(o ast.Object) (decision.Matched, error) {
	kind, ok1 := member[ast.String](o, keyKind)
	name, ok2 := member[ast.String](o, keyName)
	rule, ok3 := readInt(o, keyRule)
	source, ok4 := member[ast.String](o, keySource)
	effect, ok5 := member[ast.String](o, keyEffect)
	version, ok6 := member[ast.String](o, keyAPIVersion)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 {
		return decision.Matched{}, errDenyOutcome
	}
	return decision.Matched{
		Kind: string(kind), Name: string(name), Rule: rule, Source: string(source),
		Effect: string(effect), APIVersion: string(version),
	}, nil
}

func readPod(o ast.Object) (*decision.PodSecurity, error) {
	policy, ok1 := member[ast.String](o, keyPolicy)
	action, ok2 := member[ast.String](o, keyAction)
	score, ok3 := readInt(o, keyScore)
	factors, ok4 := member[*ast.Array](o, keyFactors)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return nil, errDenyOutcome
	}
	names, err := readStrings(factors)
	if err != nil {
		return nil, err
	}
	return &decision.PodSecurity{
		Policy: string(policy), Action: string(action), Score: score, Factors: append([]string{}, names...),
	}, nil
}

// member returns the value of a key; ok is false if the key is absent or its value has
// another type.
func member[T ast.Value](o ast.Object, key *ast.Term) (value T, ok bool) {
	if term := o.Get(key); term != nil {
		value, ok = term.Value.(T)
	}
	return value, ok
}

func readInt(o ast.Object, key *ast.Term) (int, bool) {
	number, ok := member[ast.Number](o, key)
	if !ok {
		return 0, false
	}
	return number.Int()
}
