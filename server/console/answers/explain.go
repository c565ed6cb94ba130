package answers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// Explain implements console.Viewer.
func (v *viewer) Explain(ctx context.Context, c console.Caller, point string, request []byte, at time.Time) (*console.Explanation, error) {
	if err := v.needRevision(); err != nil {
		return nil, err
	}
	found, ok := decision.FindPoint(point)
	if !ok {
		return nil, console.Errorf(console.NotFound, "unknown point %q", point)
	}
	if !c.SeesAll {
		var err error
		if request, err = limited(c, point, request); err != nil {
			return nil, err
		}
	}
	q, err := found.Decode(request, v.x.o.ClusterLabels)
	if err != nil {
		return nil, invalid(err)
	}
	policies := v.policies
	if !at.IsZero() {
		policies = policies.At(at)
	}
	if r, isAccess := q.(*decision.Request); isAccess {
		q = r.Completed(policies)
	}
	began := time.Now()
	answer, refused := q.Decide(ctx, policies)
	took := time.Since(began)
	if refused != nil {
		return nil, invalid(refused)
	}
	outcome := answer.Settle()
	e := &console.Explanation{Decision: answer.AppendJSON(nil), Request: request, Facts: factsOf(point, answer, outcome)}
	e.Revision, e.Microseconds = v.Revision(), micros(took)
	v.explain(ctx, c, point, e, q, at)
	return e, nil
}

// explain adds to a decision what explains it.
func (v *viewer) explain(ctx context.Context, c console.Caller, point string, e *console.Explanation, q decision.Question, at time.Time) {
	e.PodSecurity, e.Nearest, e.Excerpts = []console.Score{}, []console.Nearest{}, []console.Excerpt{}
	if c.SeesAll {
		e.Excerpts, e.Note = v.excerpts(e.Matched)
	}
	at = cmp.Or(at, v.x.o.Now())
	r, isAccess := q.(*decision.Request)
	if !isAccess {
		e.Steps = v.considered(ctx, c, q, e, at)
		if r, isVisibility := q.(*decision.VisibilityRequest); isVisibility {
			v.items(ctx, r, e, at)
		}
		e.WhatIf = v.whatIf(ctx, c, point, q, e, at)
		return
	}
	then := v.policies.At(at)
	d := then.Access(ctx, r)
	e.Request = r.Encode()
	e.Steps = v.ladder(&d)
	v.addDated(ctx, c, e.Steps, r, &d, dates.Of(at))
	if c.SeesAll {
		i := slices.IndexFunc(e.Steps, func(s console.Step) bool { return s.Step == tables.StepDenyPolicy })
		e.Steps[i].Policies, e.Steps[i].MorePolicies = v.denyPolicies(&e.Steps[i], dates.Of(at))
	}
	e.PodSecurity = v.scores(&d, r)
	e.WhatIf = v.whatIf(ctx, c, point, q, e, at)
	if e.Outcome == console.None || e.Outcome == console.Deny {
		e.Nearest = v.nearest(ctx, r, then)
	}
}

// invalid converts the error of a request that cannot be decided.
func invalid(err error) *console.Error {
	e := decision.AsInvalidRequest(err)
	return &console.Error{Reason: console.Invalid, Message: e.Error(), Field: e.Field, Code: e.Code}
}

// limited returns the request of a caller who may ask about itself: its user and groups
// are those of the caller.
func limited(c console.Caller, point string, request []byte) ([]byte, error) {
	if point != decision.Access && point != decision.Visibility {
		return nil, console.ErrForbidden // its requests have identities of their own
	}
	value, err := decision.Parse(request)
	if err != nil {
		return nil, invalid(err)
	}
	if !value.IsObject() {
		return nil, invalid(errors.New("the request is not a JSON object"))
	}
	members := make(map[string]json.RawMessage)
	for key, member := range value.Members() {
		members[key] = member.Bytes()
	}
	groups := append([]string{}, c.Groups...)
	// encoding/json would take "User" for "user".
	user, asked := c.User, groups
	if err := errors.Join(unmarshal(members["user"], &user), unmarshal(members["groups"], &asked)); err != nil {
		return nil, invalid(errors.New("user must be a string and groups a list of strings"))
	}
	if user != c.User || members["serviceAccount"] != nil || !slices.Equal(sorted(asked), sorted(groups)) {
		return nil, console.Errorf(console.Forbidden, "only auditors may ask about others; about yourself, leave out user and groups")
	}
	members["user"], members["groups"] = jsontext.Marshal(c.User), jsontext.Marshal(groups)
	return jsontext.Marshal(members), nil
}

// unmarshal reads a member; one that is absent leaves the value.
func unmarshal(member json.RawMessage, to any) error {
	if member == nil {
		return nil
	}
	return json.Unmarshal(member, to)
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// factsOf reads what decisions of all points have.
func factsOf(point string, answer decision.Answer, outcome decision.Outcome) console.Facts {
	var d struct {
		Decision string            `json:"decision"`
		Reason   string            `json:"reason"`
		Warnings []string          `json:"warnings"`
		Matched  []console.Matched `json:"matched"`
		Deciding []console.Matched `json:"decidedBy"` // at the gateway point
	}
	if err := json.Unmarshal(answer.AppendJSON(nil), &d); err != nil {
		panic(err) // decisions of all points have these members or lack them
	}
	f := console.Facts{Outcome: outcomeWord(outcome), Reason: d.Reason, Warnings: elements.NotNil(d.Warnings), Matched: elements.NotNil(d.Matched)}
	if point == decision.Visibility && outcome != decision.EvaluationError {
		f.Outcome = d.Decision // allow, partial or deny
	}
	if len(f.Matched) == 0 && len(d.Deciding) > 0 {
		f.Matched = d.Deciding
	}
	_, f.Cached = answer.DecidedBy()
	return f
}

// rungs are the steps of evaluation at the access point, by their number.
var rungs = []struct {
	step  int
	title string
}{
	{tables.StepDebug, "Debug sessions"},
	{tables.StepDenyPolicy, "Deny policies"},
	{tables.StepClusterDeny, "Deny rules of the master namespace"},
	{tables.StepClusterAllow, "Cluster-wide grants"},
	{tables.StepLocalDeny, "Deny rules of the namespace"},
	{tables.StepLocalAllow, "Grants in the namespace"},
	{tables.StepNone, "Not allowed"},
}

// ladder returns the steps of evaluation with the rules that matched.
func (v *viewer) ladder(d *decision.Decision) []console.Step {
	deciding := tables.StepNone
	debug := tables.Of[*tables.Sessions](v.revision.tables)
	by := make(map[int][]console.Matched)
	for i := range d.Matched {
		step := v.stepOf(&d.Matched[i])
		if i == 0 {
			deciding = step
		}
		by[step] = append(by[step], matchedView(&d.Matched[i]))
	}
	failed := d.EvaluationError != ""
	steps := make([]console.Step, 0, len(rungs))
	for _, rung := range rungs {
		if rung.step == tables.StepDebug && (debug == nil || debug.Debug.Len() == 0) {
			continue // documents have no such step
		}
		s := console.Step{Step: rung.step, Title: rung.title, State: console.NoMatch, Matched: elements.NotNil(by[rung.step])}
		switch {
		case failed:
			s.State = console.NotAsked
		case rung.step == deciding:
			s.State = console.Decides
		case rung.step > deciding && len(s.Matched) > 0:
			s.State = console.Late
		case rung.step > deciding && (deciding <= tables.StepDenyPolicy || rung.step == tables.StepNone):
			// A debug session or a deny policy ends the evaluation before grants are looked for.
			s.State = console.NotAsked
		}
		steps = append(steps, s)
	}
	return steps
}

// maxPolicies is how many deny policies a step lists.
const maxPolicies = 50

// denyPolicies lists the deny policies in the order of evaluation, at most maxPolicies about
// the one that decides, and how many are left out.
func (v *viewer) denyPolicies(s *console.Step, at dates.Instant) (list []console.StepPolicy, more int) {
	deny := tables.Of[*tables.Deny](v.revision.tables)
	if deny == nil {
		return nil, 0
	}
	deciding := len(deny.Policies)
	for i := range deny.Policies {
		p := &deny.Policies[i]
		row := console.StepPolicy{Name: p.Name, Precedence: p.Precedence, Source: p.Source, State: console.NoMatch, Why: p.Dates.Status(at)}
		switch {
		case s.State == console.Decides && p.Name == s.Matched[0].Name:
			deciding, row.State = i, console.Decides
		case i > deciding, s.State == console.NotAsked:
			row.State = console.NotAsked
		}
		list = append(list, row)
	}
	first := max(0, min(deciding+1, len(list))-maxPolicies)
	shown := list[first:min(first+maxPolicies, len(list))]
	return shown, len(list) - len(shown)
}

// stepOf returns the step at which a rule decides.
func (v *viewer) stepOf(m *decision.Matched) int {
	switch {
	case m.Kind == kindDebug:
		return tables.StepDebug
	case m.Role == nil:
		return tables.StepDenyPolicy
	}
	access := tables.Of[*tables.Access](v.revision.tables)
	return access.StepOf(m.APIVersion, m.Namespace, m.Name, m.Effect == tables.EffectDeny)
}

func matchedView(m *decision.Matched) console.Matched {
	out := console.Matched{
		Kind: m.Kind, Namespace: m.Namespace, Name: m.Name, Rule: m.Rule, Source: m.Source, Effect: m.Effect, APIVersion: m.APIVersion,
		Binding: console.Written(m.Binding), Until: m.Until,
	}
	for _, via := range m.Via {
		out.Via = append(out.Via, console.Via(via))
	}
	if m.Role != nil {
		out.Role = &console.Named{Kind: m.Role.Kind, Namespace: m.Role.Namespace, Name: m.Role.Name}
	}
	return out
}

// repeated stands for factors that a pod has more than once.
const repeated = "further occurrences"

// scores returns the pod security of each policy that scored the pod, the decisive one
// first.
func (v *viewer) scores(d *decision.Decision, r *decision.Request) []console.Score {
	scores := []console.Score{}
	deny := tables.Of[*tables.Deny](v.revision.tables)
	for i := range d.Pods {
		pod := &d.Pods[i]
		if !pod.Evaluated {
			continue
		}
		s := console.Score{Policy: pod.Policy, Action: pod.Action, Score: pod.Score, Factors: []console.Factor{}, Overrides: []string{}, Thresholds: []console.Threshold{}}
		weights := make(map[string]int)
		if policy := policyOf(deny, pod.Policy); policy != nil && policy.Pod != nil {
			for _, f := range policy.Pod.Factors {
				weights[f.Name] = f.Weight
			}
			for _, t := range policy.Pod.Thresholds {
				s.Thresholds = append(s.Thresholds, console.Threshold{MaxScore: t.MaxScore, Action: t.Action})
			}
		}
		rest := pod.Score
		for _, name := range pod.Factors {
			s.Factors = append(s.Factors, console.Factor{Factor: name, Points: weights[name]})
			rest -= weights[name]
		}
		if rest != 0 {
			s.Factors = append(s.Factors, console.Factor{Factor: repeated, Points: rest})
		}
		if pod.Override {
			s.Overrides = append(s.Overrides, r.Escalation)
		}
		if d.PodSecurity != nil && d.PodSecurity.Policy == pod.Policy {
			scores = slices.Insert(scores, 0, s)
			continue
		}
		scores = append(scores, s)
	}
	return scores
}

func policyOf(deny *tables.Deny, name string) *tables.DenyPolicy {
	if deny == nil {
		return nil
	}
	at := slices.IndexFunc(deny.Policies, func(p tables.DenyPolicy) bool { return p.Name == name })
	if at < 0 {
		return nil
	}
	return &deny.Policies[at]
}
