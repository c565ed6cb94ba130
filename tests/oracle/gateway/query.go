package gateway

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Kinds are the kinds of policies that can be asked for.
var Kinds = []string{"AuthPolicy", "RateLimitPolicy", "TokenRateLimitPolicy"}

// version is the apiVersion of a kind of policies.
func version(kind string) string {
	if kind == "TokenRateLimitPolicy" {
		return "kuadrant.io/v1alpha1"
	}
	return "kuadrant.io/v1"
}

// fold is Fold, computed once a path and kind.
func (w *World) fold(path Path, kind string) *Fold {
	key := kind + " " + path.String()
	if w.folds[key] == nil {
		w.folds[key] = w.Fold(path, kind)
	}
	return w.folds[key]
}

// losses are the replaced rules of a fold as JSON has them.
func (f *Fold) losses() []any {
	list := []any{}
	for _, l := range f.Replaced {
		by := []any{}
		for _, name := range l.By {
			by = append(by, name)
		}
		list = append(list, map[string]any{"rule": l.Rule, "policy": l.Policy.locator(), "how": l.How, "by": by})
	}
	return list
}

// parts are the rules, sources, policies and replaced of an effective policy.
func (f *Fold) parts() map[string]any {
	rules, sources, policies := map[string]any{}, map[string]any{}, []any{}
	for key, value := range f.Rules {
		rules[key], sources[key] = plainValue(value), f.Sources[key].locator()
	}
	for _, p := range f.Policies {
		policies = append(policies, p.locator())
	}
	return map[string]any{"rules": rules, "sources": sources, "policies": policies, "replaced": f.losses()}
}

// through keeps the paths through a Gateway's target string; empty keeps all.
func through(paths []Path, via string) []Path {
	var kept []Path
	for _, p := range paths {
		if via == "" || via == p.Gateway.target() || via == p.gateway() {
			kept = append(kept, p)
		}
	}
	return kept
}

// Targets are the target strings of everything that policies can target.
func (w *World) Targets() []string {
	var targets []string
	for _, g := range w.Gateways {
		targets = append(targets, g.target())
		for _, l := range g.Listeners {
			targets = append(targets, g.target()+"#"+l.Name)
		}
	}
	for _, r := range w.Routes {
		targets = append(targets, r.target())
		for i := range r.Rules {
			targets = append(targets, r.target()+"#"+r.rule(i))
		}
	}
	return targets
}

// Effective answers what is in force on a target, as JSON has it.
func (w *World) Effective(kind, target, via string) map[string]any {
	object, section, _ := strings.Cut(target, "#")
	for _, g := range w.Gateways {
		if g.target() == object {
			return w.effectiveGateway(kind, target, g, section)
		}
	}
	for _, r := range w.Routes {
		if r.target() == object {
			return w.effectiveRoute(kind, target, r, section, via)
		}
	}
	panic("no target " + target)
}

func (w *World) effectiveGateway(kind, target string, g *Gateway, section string) map[string]any {
	path := Path{Gateway: g}
	var sections []gateSection
	for i, l := range g.Listeners {
		if section == l.Name {
			path.Listener = l
		}
		if section == "" || section == l.Name {
			s := gateSection{name: fmt.Sprintf("listeners.%d", i)}
			for _, p := range through(w.Paths(), g.target()+"#"+l.Name) {
				for _, source := range w.fold(p, kind).Sources {
					if source.TargetKind == "Gateway" {
						s.policies = append(s.policies, source)
					}
				}
			}
			sections = append(sections, s)
		}
	}
	untargeted := []string{}
	for _, p := range through(w.Paths(), target) {
		targeted := slices.ContainsFunc(w.policies(p, kind), func(q *Policy) bool { return q.TargetKind != "Gateway" })
		if !targeted && !slices.Contains(untargeted, p.route()) {
			untargeted = append(untargeted, p.route())
		}
	}
	slices.Sort(untargeted)
	answer := w.fold(path, kind).parts()
	answer["kind"], answer["target"], answer["paths"], answer["untargeted"] = kind, target, []any{target}, untargeted
	answer["conditions"] = []Condition{affected(kind, sections)}
	conditions := map[string]any{}
	for _, p := range w.Policies {
		if p.Kind == kind && p.TargetKind == "Gateway" && p.Namespace == g.Namespace && p.TargetName == g.Name &&
			(section == "" || p.Section == "" || p.Section == section) {
			conditions[p.locator()] = w.conditions(p)
		}
	}
	answer["policyConditions"] = conditions
	return answer
}

func (w *World) effectiveRoute(kind, target string, r *Route, section, via string) map[string]any {
	var sections []gateSection
	for i := range r.Rules {
		if section == "" || section == r.rule(i) {
			sections = append(sections, gateSection{name: fmt.Sprintf("rules.%d", i)})
		}
	}
	var variants []map[string]any
	conditions := map[string]any{}
	for _, p := range through(w.Paths(), via) {
		if p.Route != r || section != "" && section != r.rule(p.Rule) {
			continue
		}
		f := w.fold(p, kind)
		for i := range sections {
			if sections[i].name == fmt.Sprintf("rules.%d", p.Rule) {
				for _, source := range f.Sources {
					sections[i].policies = append(sections[i].policies, source)
				}
			}
		}
		for _, policy := range f.Policies {
			conditions[policy.locator()] = w.conditions(policy)
		}
		parts := f.parts()
		i := slices.IndexFunc(variants, func(v map[string]any) bool {
			for key := range parts {
				if !reflect.DeepEqual(parts[key], v[key]) {
					return false
				}
			}
			return true
		})
		if i < 0 {
			i = len(variants)
			parts["paths"] = []any{}
			variants = append(variants, parts)
		}
		variants[i]["paths"] = append(variants[i]["paths"].([]any), p.String())
	}
	answer := map[string]any{}
	switch len(variants) {
	case 0:
		answer["rules"], answer["sources"] = map[string]any{}, map[string]any{}
		answer["policies"], answer["replaced"], answer["paths"] = []any{}, []any{}, []any{}
	case 1:
		answer = variants[0]
	default:
		answer["variants"] = variants
	}
	answer["kind"], answer["target"], answer["policyConditions"] = kind, target, conditions
	answer["conditions"] = []Condition{affected(kind, sections)}
	return answer
}

// EveryPath answers every path's effective policy.
func (w *World) EveryPath(kind string) []map[string]any {
	var all []map[string]any
	for _, p := range w.Paths() {
		all = append(all, w.Effective(kind, p.route(), p.gateway()))
	}
	return all
}

// Reach answers where a rule named so is in force.
func (w *World) Reach(kind, rule string) map[string]any {
	reach := []any{}
	for _, p := range w.Paths() {
		if source := w.fold(p, kind).Sources[rule]; source != nil {
			reach = append(reach, map[string]any{"path": p.String(), "source": source.locator()})
		}
	}
	return map[string]any{"kind": kind, "rule": rule, "reach": reach}
}

// Replaced answers which rules lost on any path: those of a policy, NAMESPACE/NAME,
// or all.
func (w *World) Replaced(kind, policy string) []any {
	out := []any{}
	for _, p := range w.Paths() {
		for _, loss := range w.fold(p, kind).losses() {
			entry := map[string]any{"path": p.String()}
			maps.Copy(entry, loss.(map[string]any))
			if policy == "" || entry["policy"] == kind+"/"+policy {
				out = append(out, entry)
			}
		}
	}
	return out
}

// Keys are the keys of all rules of all policies of a kind.
func (w *World) Keys(kind string) []string {
	var keys []string
	for _, p := range w.Policies {
		if p.Kind == kind {
			keys = append(keys, p.keys()...)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
