package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// Access decides one request, which the caller has validated.
func (e *Engine) Access(ctx context.Context, r *decision.Request) decision.Decision {
	return e.decide(ctx, evaluation{request: r})
}

// decide returns the decision; an evaluation error denies.
func (e *Engine) decide(ctx context.Context, v evaluation) decision.Decision {
	d, err := e.decideAt(ctx, v, e.now())
	if err != nil {
		d = d.Failed(err.Error())
	}
	d.Revision = e.loaded.Revision
	return d.For(v.request)
}

// decideAt is the only caller of evaluate: requests of callers and of gateway rules are
// both about the cluster of the bundle.
func (e *Engine) decideAt(ctx context.Context, v evaluation, now time.Time) (decision.Decision, error) {
	if e.byOPA.at(decision.Access) != nil && !v.request.IsAlone() {
		return e.accessByOPA(ctx, v.request, now)
	}
	if err := tables.CheckCluster(e.access.Cluster, v.request.Cluster); err != nil {
		return decision.Decision{}, err
	}
	v.request = e.named(v.request)
	return e.evaluate(ctx, v, now)
}

// named returns the request with the cluster that it is about, and the tenant of that.
func (e *Engine) named(r *decision.Request) *decision.Request {
	was := r.Scope()
	scope := was
	scope.Cluster = cmp.Or(e.access.Cluster, was.Cluster)
	if scope = e.tenants.In(scope); scope == was {
		return r
	}
	named := *r
	named.SetScope(scope)
	return &named
}

// evaluate makes the access decision in five steps:
//
//  0. A DebugSession that lets the user into the pod decides alone.
//  1. The tables give the rules that match the request, the hits; those of bindings that do
//     not hold now are left out.
//  2. OPA reports which hits hold, if a rule among them reads the request, and what deny
//     policies decide, if their entries alone do not say it.
//  3. A deny policy that denies decides alone.
//  4. Otherwise the first of the hits that hold decides, in the order of evaluation.
func (e *Engine) evaluate(ctx context.Context, v evaluation, now time.Time) (decision.Decision, error) {
	at := dates.Of(now)
	now = at.Time()           // OPA's clock has no other instants
	if !v.request.IsAlone() { // a question about all principals is not about a session
		v.lent = e.lend(v.request, at)
	}
	if v.lent.debug != nil {
		return v.lent.decision(v.request), nil
	}
	var span dates.Span
	v.hits, span = holding(v.lent.find(e.tree, v.request), at, v.lent.span)
	isAboutDenials := false
	if e.features.Has(tables.FeatureDenyPolicies) {
		v.forms = match.FormsOf(v.request, e.queries.denyResources)
		span = e.denials.Around(span, at, v.request, v.forms, v.lent.valid)
		denies, isKnown := e.denials.First(v.request, v.forms, v.lent.valid, at)
		if denies != nil {
			return v.denied(denialBy(denies), span, now), nil
		}
		if isAboutDenials = !isKnown; isAboutDenials {
			v.sendRequest = true
			v.leaveSessions = len(v.lent.valid) > 0 && !e.denials.ReadsSessions(v.request, v.forms)
		}
	}
	found, err := e.findings(ctx, isAboutDenials, v, now)
	if err != nil {
		return decision.Decision{}, err
	}
	if found.denial.denied {
		return v.denied(&found.denial, span, now), nil
	}
	d := decideByRules(v.request, found, &v.lent)
	d.Span = span
	if len(found.undecided) > 0 {
		d.Unknown = unknownFacts(v.request, v.hits)
	}
	found.denial.addTo(&d, now)
	d.Warnings = v.lent.warnings(d.Warnings)
	if e.access.ReadsClock && slices.ContainsFunc(v.hits, callsExtension) {
		// Some extension reads the clock. Whether it is this one, and until when its
		// answer is valid, is unknown: the decision is valid at this instant only.
		d.Expires = now
	}
	return d, nil
}

// denied returns the decision that deny policies make.
func (v *evaluation) denied(by *denyOutcome, span dates.Span, now time.Time) decision.Decision {
	d := by.decision(now)
	d.Span, d.Warnings = span, v.lent.warnings(d.Warnings)
	return d
}

// findings asks OPA about hits, and about deny policies if they are not known to allow the
// request. Otherwise, where no rule reads the request, all hits hold, and OPA would say so.
func (e *Engine) findings(ctx context.Context, isAboutDenials bool, v evaluation, now time.Time) (findings, error) {
	if !isAboutDenials && !slices.ContainsFunc(v.hits, func(h match.Hit) bool { return h.Restrictions() != nil }) {
		return findings{hold: v.hits}, decision.CheckContext(ctx)
	}
	queries, err := e.queries.wait(ctx)
	if err != nil {
		return findings{}, err
	}
	query := &queries.grants
	if isAboutDenials {
		query = &queries.findings
	}
	value, err := e.query(ctx, query, v, now)
	if err != nil {
		return findings{}, err
	}
	return readFindings(value, v.hits)
}

// holding returns the hits of bindings that hold at an instant, in place, and the part of a
// span in which the same ones do.
func holding(hits []match.Hit, at dates.Instant, span dates.Span) ([]match.Hit, dates.Span) {
	kept := hits[:0]
	for _, h := range hits {
		span = span.Around(at, h.Binding.Dates)
		if h.Binding.Dates.Holds(at) {
			kept = append(kept, h)
		}
	}
	return kept, span
}

// decideByRules decides by the first hit that holds, an allow or a denial; without
// hits, the request is not allowed. The decision equals that of
// rego/writ/access/access.rego.
func decideByRules(r *decision.Request, f findings, l *lent) decision.Decision {
	hits, undecided := f.hold, f.undecided
	slices.SortFunc(hits, compareHits)
	slices.Sort(undecided)
	d := decision.Decision{
		Warnings: append([]string{}, slices.Compact(undecided)...),
		Matched:  make([]decision.Matched, len(hits)),
	}
	for i, h := range hits {
		d.Matched[i] = matched(h)
		end(&d.Matched[i], h, l.of(h))
		if slices.Contains(f.selected, h) {
			d.Matched[i].Selector = "implied"
		}
	}
	if len(hits) > 0 {
		d.Allowed, d.Denied = !hits[0].Deny(), hits[0].Deny()
	}
	d.Sufficient = f.sufficient
	d.Reason = reason(r, hits, d.Matched, l) + f.sufficient
	return d
}

// compareHits defines the order of evaluation over all families: the step, then the
// names of binding and rule, so that the order depends on the documents alone.
func compareHits(a, b match.Hit) int {
	first, _ := a.Number()
	second, _ := b.Number()
	return cmp.Or(
		cmp.Compare(a.Binding.Step(a.Deny()), b.Binding.Step(b.Deny())),
		cmp.Compare(a.Binding.Kind, b.Binding.Kind),
		cmp.Compare(a.Binding.Namespace, b.Binding.Namespace),
		cmp.Compare(a.Binding.Name, b.Binding.Name),
		cmp.Compare(first, second),
		cmp.Compare(a.Binding.APIVersion, b.Binding.APIVersion),
	)
}

// reason explains a decision by rules: it names the first hit and, for a denial, the
// first one that would allow.
func reason(r *decision.Request, hits []match.Hit, all []decision.Matched, l *lent) string {
	if len(hits) == 0 {
		return decision.NoRuleReason(r)
	}
	if !hits[0].Deny() {
		return "allowed by " + ruleText(&all[0], l.of(hits[0]))
	}
	text := "denied by " + ruleText(&all[0], l.of(hits[0]))
	if i := slices.IndexFunc(hits, func(h match.Hit) bool { return !h.Deny() }); i >= 0 {
		text += "; would be allowed by " + ruleText(&all[i], l.of(hits[i]))
	}
	return text
}

// matched describes a hit.
func matched(h match.Hit) decision.Matched {
	number, source := h.Number()
	effect := tables.EffectAllow
	if h.Deny() {
		effect = tables.EffectDeny
	}
	return decision.Matched{
		Kind:       h.Binding.Kind,
		Namespace:  h.Binding.Namespace,
		Name:       h.Binding.Name,
		Rule:       number,
		Source:     source,
		Effect:     effect,
		APIVersion: h.Binding.APIVersion,
		Role:       &decision.RoleRef{Kind: h.Role().Kind, Namespace: h.Role().Namespace, Name: h.Role().Name},
		Binding:    decision.BindingRef{Source: h.Binding.Source},
		Until:      h.Binding.Dates.End(),
	}
}

// ruleText names the rule of a match, through which session it applies, and until when.
func ruleText(m *decision.Matched, via []match.Session) string {
	var through, name, until string
	if len(via) > 0 {
		through, name = " via session ", latest(via).Name
	}
	if m.Until != "" {
		until = " until "
	}
	return m.RuleText() + through + name + until + m.Until // at once: strings are copied
}
