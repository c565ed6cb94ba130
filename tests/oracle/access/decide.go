package access

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/writ-policy/writ/tests/oracle"
)

// The steps of the families that grant.
const (
	stepMasterDeny = iota + 3
	stepMasterAllow
	stepLocalDeny
	stepLocalAllow
)

// Decide answers one request.
func (w *World) Decide(r oracle.Request) oracle.Decision {
	d, listed := w.decide(r)
	if d.Invalid == "" && !d.Allowed && !d.Denied && len(d.Matched) == 0 {
		d.Reason += w.sufficient(r, listed)
	}
	return d
}

// decide returns the decision, and the rules of Origin whose lists fit the request.
func (w *World) decide(r oracle.Request) (d oracle.Decision, listed []conditional) {
	if err := r.Valid(); err != nil {
		return oracle.Decision{Invalid: err.Error()}, nil
	}
	d = oracle.Decision{Named: w.Named(r)}
	if w.LetIn(r, &d) || w.Denied(r, &d) {
		return d, nil
	}
	for _, b := range w.OriginBindings {
		if fits, via := w.through(b.applies, r); fits && b.Dates.Hold(w.Now) {
			listed = append(listed, w.tryOrigin(b, r, via, &d)...)
		}
	}
	for _, b := range w.KubernetesBindings {
		if fits, via := w.through(b.applies, r); fits && b.Dates.Hold(w.Now) {
			w.tryKubernetes(b, r, via, &d)
		}
	}
	slices.SortFunc(d.Matched, compareEntries)
	slices.SortFunc(d.Undecidable, func(a, b oracle.Undecided) int { return compareEntries(a.Entry, b.Entry) })
	if len(d.Matched) > 0 {
		d.Denied = d.Matched[0].Effect == "deny"
		d.Allowed = !d.Denied
	}
	d.Reason = reason(r, d)
	return d, listed
}

// through reports whether a binding applies to the request, and the sessions through which
// alone it does.
func (w *World) through(applies func(oracle.Request) bool, r oracle.Request) (fits bool, via []*oracle.Session) {
	if applies(r) {
		return true, nil
	}
	for _, s := range w.Valid(r) {
		member := r
		member.User, member.Groups = "", []string{s.Group}
		for _, prefix := range w.Prefixes {
			member.Groups = append(member.Groups, prefix+s.Group)
		}
		if applies(member) {
			via = append(via, s)
		}
	}
	return len(via) > 0, via
}

// tryOrigin adds the rules of a binding that match, and returns all whose lists fit.
func (w *World) tryOrigin(b *OriginBinding, r oracle.Request, via []*oracle.Session, d *oracle.Decision) (listed []conditional) {
	master := b.Namespace == w.Master
	if !master && b.Namespace != r.Namespace {
		return nil
	}
	for _, role := range w.OriginRoles {
		if role.Namespace != b.RoleNamespace || role.Name != b.RoleName {
			continue
		}
		for i, rule := range role.Rules {
			if !rule.lists(r) {
				continue
			}
			entry := oracle.Entry{
				Kind: "RoleBinding", Namespace: b.Namespace, Name: b.Name, Rule: i, Source: rule.Source,
				Effect: "allow", APIVersion: OriginVersion,
				Role: oracle.RoleRef{Kind: "Role", Namespace: role.Namespace, Name: role.Name}, Step: originStep(master, rule.Deny),
				Binding: oracle.BindingRef{Source: b.Source}, Until: b.Dates.Until(),
			}
			if rule.Deny {
				entry.Effect = "deny"
			}
			entry.Through(via)
			labels, fields := rule.Restrictions.open(r)
			listed = append(listed, conditional{entry, labels, fields})
			truth, names := rule.Restrictions.holds(w, r)
			if truth == oracle.Yes && rule.Restrictions.bySelector(r) {
				entry.Selector = "implied"
			}
			if truth == oracle.Undecidable {
				d.Undecidable = append(d.Undecidable, oracle.Undecided{Entry: entry, Restrictions: names})
			}
			if truth == oracle.Yes || truth == oracle.Undecidable && rule.Deny {
				d.Matched = append(d.Matched, entry)
			}
		}
	}
	return listed
}

func originStep(master, deny bool) int {
	switch {
	case master && deny:
		return stepMasterDeny
	case master:
		return stepMasterAllow
	case deny:
		return stepLocalDeny
	}
	return stepLocalAllow
}

func (w *World) tryKubernetes(b *KubernetesBinding, r oracle.Request, via []*oracle.Session, d *oracle.Decision) {
	role := w.role(b)
	if role == nil || b.Namespace != "" && b.Namespace != r.Namespace {
		return
	}
	entry := oracle.Entry{
		Kind: "ClusterRoleBinding", Name: b.Name, Effect: "allow", APIVersion: KubernetesVersion,
		Role: oracle.RoleRef{Kind: b.RoleKind, Namespace: role.Namespace, Name: role.Name}, Step: stepMasterAllow,
		Binding: oracle.BindingRef{Source: b.Source}, Until: b.Dates.Until(),
	}
	if b.Namespace != "" {
		entry.Kind, entry.Namespace, entry.Step = "RoleBinding", b.Namespace, stepLocalAllow
	}
	entry.Through(via)
	for i, rule := range w.effective(role) {
		if rule.fits(r) {
			entry.Rule, entry.Source = i, rule.Source
			d.Matched = append(d.Matched, entry)
		}
	}
}

// compareEntries sorts by step, kind, namespace, name and rule. Two RoleBindings
// of one name in the two families are told apart by their API version last.
func compareEntries(a, b oracle.Entry) int {
	return cmp.Or(
		cmp.Compare(a.Step, b.Step), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.APIVersion, b.APIVersion),
	)
}

// reason is the sentence of a decision.
func reason(r oracle.Request, d oracle.Decision) string {
	switch {
	case d.Allowed:
		return "allowed by " + d.Matched[0].Words()
	case d.Denied:
		text := "denied by " + d.Matched[0].Words()
		if i := slices.IndexFunc(d.Matched, func(e oracle.Entry) bool { return e.Effect == "allow" }); i >= 0 {
			text += "; would be allowed by " + d.Matched[i].Words()
		}
		return text
	case r.Path != "":
		return fmt.Sprintf("not allowed: no rule allows %s %s", r.Verb, r.Path)
	}
	what := r.Resource
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	where := "at cluster scope"
	if r.Namespace != "" {
		where = "in " + r.Namespace
	}
	return fmt.Sprintf("not allowed: no rule allows %s %s %s", r.Verb, what, where)
}
